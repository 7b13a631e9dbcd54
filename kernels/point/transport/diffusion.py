"""Binary and mixture-averaged diffusion coefficients."""

import pathlib

from ...declare import point_kernel, quantity

HERE = pathlib.Path(__file__).parent

quantity("D_ij", "m2/s", "binary diffusion coefficients, row i, column j", per="ns*ns")
quantity("D", "m2/s", "mixture-averaged diffusion coefficients, mole-fraction gradient, mass-averaged frame", per="ns")
quantity(
    "D_mole", "m2/s", "mixture-averaged diffusion coefficients, mole-fraction gradient, mole-averaged frame", per="ns"
)
quantity(
    "D_mass", "m2/s", "mixture-averaged diffusion coefficients, mass-fraction gradient, mass-averaged frame", per="ns"
)
quantity("D_lewis", "m2/s", "diffusion coefficients from conductivity and constant Lewis numbers", per="ns")
quantity("D_schmidt", "m2/s", "diffusion coefficients from viscosity and constant Schmidt numbers", per="ns")

CONSTANTS = (
    "inv_W W Tc pc friction_fit takahashi_cubics? takahashi_D? takahashi_A? takahashi_B? takahashi_C? takahashi_E?"
)
SOURCE = "Chapman-Enskog with Monchick-Mason integrals, or Fuller 1966; pressure: Takahashi 1975, Table 11-3 of Poling et al. as other codes have it (original not seen)"
NOTE = (
    "mole fractions are floored at 1e-20 (D: 1e-20 mol/kg), so a pure point has a limit; one species: self-diffusion. "
    "Takahashi smooth: by tables in single precision, absolute error of the factor below 6e-7"
)

point_kernel(
    "binary_diffusion",
    header=HERE / "diffusion.h",
    reads="T p Y W",
    writes="D_ij",
    constants=CONSTANTS,
    source=SOURCE,
    valid="T > 0, p > 0",
)
point_kernel(
    "mixture_diffusion",
    header=HERE / "diffusion.h",
    reads="T p Y W",
    writes="D",
    constants=CONSTANTS + " least_mass friction_tiles?",
    source="D_k = (1 - Y_k)/sum_{j != k} x_j/D_kj; binaries: " + SOURCE,
    valid="T > 0, p > 0",
    note=NOTE,
)
point_kernel(
    "mixture_diffusion_mole",
    header=HERE / "diffusion.h",
    reads="Y W D",
    writes="D_mole",
    constants="inv_W W",
    source="D_k = (1 - x_k)/sum_{j != k} x_j/D_kj, Kee, Coltrin & Glarborg 2003, 12.176 (original not seen)",
    valid="as D",
)
point_kernel(
    "mixture_diffusion_mass",
    header=HERE / "diffusion.h",
    reads="T p Y W",
    writes="D_mass",
    constants=CONSTANTS + " friction_tiles?",
    source="1/D_k = sum_{j != k} x_j/D_kj + x_k/(W - x_k W_k) sum_{j != k} x_j W_j/D_kj, Kee, Coltrin & Glarborg "
    "2003, 12.178 "
    "(original not seen); binaries: " + SOURCE,
    valid="T > 0, p > 0",
    note=NOTE,
)
point_kernel(
    "lewis_diffusion",
    header=HERE / "diffusion.h",
    reads="lam rho cp",
    writes="D_lewis",
    constants="inv_lewis",
    source="D_k = lam/(rho cp Le_k)",
    valid="as lam and cp",
    note="Le_k by the mixture's `lewis`, 1 unless given",
)
point_kernel(
    "schmidt_diffusion",
    header=HERE / "diffusion.h",
    reads="mu rho",
    writes="D_schmidt",
    constants="inv_schmidt",
    source="D_k = mu/(rho Sc_k)",
    valid="as mu",
    note="Sc_k by the mixture's `schmidt`, 0.7 unless given",
)
