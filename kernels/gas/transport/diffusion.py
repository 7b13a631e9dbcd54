"""Binary and mixture-averaged diffusion coefficients."""

import functools

import numpy as np

from ..declare import constants, option, point_kernel, quantity, species_number
from ..records import Constants
from ..species.kinetic_theory import binary_fit, friction_fit

option(
    "diffusion",
    {
        "kinetic": r"$p D_{ij} = \frac{3}{16} \sqrt{2\pi (k T)^3/m_{ij}}\,/\,(\pi \sigma_{ij}^2\,\Omega^{(1,1)}_{ij})$ "
        r"with the integrals of Monchick & Mason 1961 and the reduced mass $m_{ij}$ (originals not seen). "
        r"$1/(p D_{ij})$ is a polynomial, fitted once for a mixture.",
        "fuller": r"$D_{ij}\,[\mathrm{cm^2/s}] = 0.00143\,T^{1.75}/(p\,[\mathrm{bar}]\,M_{ij}^{1/2} "
        r"(v_i^{1/3} + v_j^{1/3})^2)$, $M_{ij} = 2/(1/M_i + 1/M_j)$ in g/mol. Fuller, Schettler & Giddings 1966; "
        "original not seen.",
        "cantera": r"As `kinetic`, with Cantera's polynomial of $p\,D_{ij}/T^{3/2}$ in $\ln T$ over the phase's range.",
    },
    "binary diffusion: kinetic theory, Fuller's volumes, Cantera's fit",
)
option(
    "takahashi",
    {
        "smooth": r"$D_{ij}\,p/(D_{ij}\,p)_0 = D\,(1 - A\,T_r^{-B})(1 - C\,T_r^{-E})$, linear between rows of $p_r$ "
        r"and from 1 at $p_r = 0$; brackets below 0 count as 0, the factor is at least 0.01. Takahashi 1975, "
        "Table 11-3 of Poling et al.; original not seen.",
        "table": "As Cantera has it: 1 below $p_r = 0.1$, with a step there; brackets may be negative, the "
        "factor is at least 1e-20.",
        "off": "The factor is 1.",
    },
    "correction of D for pressure: without steps, as in Cantera, or none",
)
species_number("lewis", 1.0, "Lewis numbers of D_lewis")
species_number("schmidt", 0.7, "Schmidt numbers of D_schmidt")

# Name, unit, meaning, rows at each point (one number if absent)
for name, unit, meaning, *per in (
    ("D_ij", "m2/s", "binary diffusion coefficients, row i, column j", "ns*ns"),
    ("D", "m2/s", "mixture-averaged diffusion coefficients, mole-fraction gradient, mass-averaged frame", "ns"),
    ("D_mole", "m2/s", "mixture-averaged diffusion coefficients, mole-fraction gradient, mole-averaged frame", "ns"),
    ("D_mass", "m2/s", "mixture-averaged diffusion coefficients, mass-fraction gradient, mass-averaged frame", "ns"),
    ("D_lewis", "m2/s", "diffusion coefficients from conductivity and constant Lewis numbers", "ns"),
    ("D_schmidt", "m2/s", "diffusion coefficients from viscosity and constant Schmidt numbers", "ns"),
):
    quantity(name, unit, meaning, *per)

# Constants of the kernels that sum over pairs; `?`: only some options have it.
CONSTANTS = (
    "inv_W W Tc? pc? friction_fit takahashi_cubics? takahashi_D? takahashi_A? takahashi_B? takahashi_C? takahashi_E?"
)
SOURCE = (
    "Chapman-Enskog with Monchick-Mason integrals, or Fuller 1966; pressure: Takahashi 1975, Table 11-3 of "
    "Poling et al. as other codes have it (original not seen)"
)
NOTE = (
    "mole fractions are at least 1e-20 (D: 1e-20 mol/kg), so a pure point has a limit; one species: self-diffusion. "
    "takahashi = smooth: tables in single precision, absolute error of the factor below 6e-7"
)

point_kernel(
    "binary_diffusion",
    header="gas/transport/diffusion.h",
    reads="T p Y W",
    writes="D_ij",
    constants=CONSTANTS,
    source=SOURCE,
    valid="T > 0, p > 0",
)
point_kernel(
    "mixture_diffusion",
    header="gas/transport/diffusion.h",
    reads="T p Y W",
    writes="D",
    constants=CONSTANTS + " least_mass friction_tiles?",
    sweeps="pairs",
    instead={"friction_tiles": "friction_fit Tc pc"},
    source="D_k = (1 - Y_k)/sum_{j != k} x_j/D_kj; binaries: " + SOURCE,
    valid="T > 0, p > 0",
    note=NOTE,
)
point_kernel(
    "mixture_diffusion_mole",
    header="gas/transport/diffusion.h",
    reads="Y W D",
    writes="D_mole",
    constants="inv_W W",
    source="D_k = (1 - x_k)/sum_{j != k} x_j/D_kj, Kee, Coltrin & Glarborg 2003, 12.176 (original not seen)",
    valid="as D",
)
point_kernel(
    "mixture_diffusion_mass",
    header="gas/transport/diffusion.h",
    reads="T p Y W",
    writes="D_mass",
    constants=CONSTANTS + " friction_tiles?",
    sweeps="pairs",
    source="1/D_k = sum_{j != k} x_j/D_kj + x_k/(W - x_k W_k) sum_{j != k} x_j W_j/D_kj, Kee, Coltrin & Glarborg "
    "2003, 12.178 "
    "(original not seen); binaries: " + SOURCE,
    valid="T > 0, p > 0",
    note=NOTE,
)
point_kernel(
    "lewis_diffusion",
    header="gas/transport/diffusion.h",
    reads="lam rho cp",
    writes="D_lewis",
    constants="inv_lewis",
    source="D_k = lam/(rho cp Le_k)",
    valid="as lam and cp",
    note="Le_k by the mixture's `lewis`, 1 unless given",
)
point_kernel(
    "schmidt_diffusion",
    header="gas/transport/diffusion.h",
    reads="mu rho",
    writes="D_schmidt",
    constants="inv_schmidt",
    source="D_k = mu/(rho Sc_k)",
    valid="as mu",
    note="Sc_k by the mixture's `schmidt`, 0.7 unless given",
)

# Takahashi 1975, Table 11-3 of Poling et al. as other codes have it (original not seen). The first row is added here:
# factor 1 at Pr = 0.
# Columns: Pr, D0, A, B, C, E of the factor D0 (1 - A Tr^-B)(1 - C Tr^-E).
TAKAHASHI = np.array(
    [
        (0.0, 1.00, 0.0, 1.0, 0.0, 1.0),
        (0.1, 1.01, 0.038042, 1.52267, 0.0, 1.0),
        (0.2, 1.01, 0.067433, 2.16794, 0.0, 1.0),
        (0.3, 1.01, 0.098317, 2.42910, 0.0, 1.0),
        (0.4, 1.01, 0.137610, 2.77605, 0.0, 1.0),
        (0.5, 1.01, 0.175081, 2.98256, 0.0, 1.0),
        (0.6, 1.01, 0.216376, 3.11384, 0.0, 1.0),
        (0.8, 1.01, 0.314051, 3.50264, 0.0, 1.0),
        (1.0, 1.02, 0.385736, 3.07773, 0.141211, 13.45454),
        (1.2, 1.02, 0.514553, 3.54744, 0.278407, 14.0),
        (1.4, 1.02, 0.599184, 3.61216, 0.372683, 10.00900),
        (1.6, 1.02, 0.557725, 3.41882, 0.504894, 8.57519),
        (1.8, 1.03, 0.593007, 3.18415, 0.678469, 10.37483),
        (2.0, 1.03, 0.696001, 3.37660, 0.665702, 11.21674),
        (2.5, 1.04, 0.790770, 3.27984, 0.0, 1.0),
        (3.0, 1.05, 0.502100, 3.39031, 0.602907, 6.19043),
        (4.0, 1.06, 0.837452, 3.23513, 0.0, 1.0),
        (5.0, 1.07, 0.890390, 3.13001, 0.0, 1.0),
    ]
)


WINDOWS = 512  # windows of 1/(1 + Tr) in the table below


@functools.lru_cache(None)
def takahashi_cubics() -> np.ndarray:
    """Takahashi's factor minus 1 as cubics: (WINDOWS, 19, 4) in single precision, 152 KB.

    Each window of 1/(1 + Tr) and each row of the table above have a cubic in x, the position in the window,
    -1/2 <= x < 1/2. It passes through the formula at Chebyshev points. Most factors are near 1; subtracting 1 keeps
    more digits in single precision. The absolute error of the factor is below 2e-7 (tests), rounding to single
    precision included. For a pair of two species x comes from rounded sums, and the error is up to 6e-7 (tests).

    A row is 0 below the temperature at which one of its brackets becomes 0. In the window that contains this
    temperature the cubic follows the unbounded formula.
    """
    # Chebyshev points of each window, as 1/(1 + Tr) and as 1/Tr: (WINDOWS, 1, 4).
    nodes = 0.5 - 0.5 * np.cos((np.arange(4) + 0.5) * np.pi / 4)
    w = (np.arange(WINDOWS)[:, None, None] + nodes) / WINDOWS
    z = w / (1 - w)

    # Rows with a bracket that is not positive already where the window starts.
    _, D, A, B, C, E = TAKAHASHI.T[:, None, :, None]
    z_start = (np.arange(WINDOWS) / (WINDOWS - np.arange(WINDOWS)))[:, None, None]
    gone = (1 - A * z_start**B <= 0) | (1 - C * z_start**E <= 0)
    with np.errstate(over="ignore"):
        rows = np.where(gone, 0.0, D * (1 - A * z**B) * (1 - C * z**E)) - 1

    # The last row again: the kernel also reads the row after the row that it needs.
    rows = np.concatenate([rows, rows[:, -1:]], axis=1)

    powers = np.vander(nodes - 0.5, increasing=True)
    return np.linalg.solve(powers, rows[..., None])[..., 0].astype(np.float32)


def takahashi(species, options) -> Constants:
    """Takahashi's table, with the critical properties by which T and p are reduced.

    Raises MixtureError if a species has no critical properties.
    """
    species.refuse_without_critical()
    result = Constants({"Tc": species.Tc, "pc": species.pc})

    for name, column in zip(("D", "A", "B", "C", "E"), TAKAHASHI.T[1:]):
        result.values[f"takahashi_{name}"] = column

    if options["takahashi"] == "smooth":
        result.tables["takahashi_cubics"] = takahashi_cubics()
        result.sizes["TAKAHASHI_WINDOWS"] = WINDOWS

    if options["equation"] == "ideal":
        result.notes.append(
            "ideal gas with Takahashi's pressure correction of D; takahashi = off leaves the correction out."
        )
    return result


def fuller_friction(species) -> np.ndarray:
    """1/(p D_ij) by Fuller's law, without the factor T^-1.75: (1, ns, ns). Raises MixtureError if a species has no
    diffusion volume."""
    root_volume = np.cbrt(species.fuller_volume)
    species.refuse(~np.isfinite(root_volume), "a Fuller diffusion volume")

    M = species.W * 1e3
    M_ij = 2 / (1 / M[:, None] + 1 / M)
    # D [cm2/s] = 0.00143 T^1.75/(p [bar] M_ij^(1/2) (v_i^(1/3) + v_j^(1/3))^2); in m2/s and Pa: 1e-4 and 1e5
    friction = np.sqrt(M_ij) * (root_volume[:, None] + root_volume) ** 2 / (0.00143 * 1e-4 * 1e5)
    return friction[None]


def kinetic_friction(species, model) -> np.ndarray:
    """Polynomials from kinetic theory, (terms, ns, ns): of p D_ij for model "cantera", of 1/(p D_ij) for "kinetic".
    Raises MixtureError if a species has no transport data."""
    known = np.isfinite(species.diameter) & np.isfinite(species.well_depth)
    species.refuse(~known, "transport data (diameter, well depth)")

    fit = binary_fit if model == "cantera" else friction_fit
    return fit(species, *species.T_fit)


def friction(species, options) -> Constants:
    """Coefficients of f_ij = 1/(p D_ij), with diffusion = cantera of p D_ij: (pairs, terms).

    The pairs are those of the lower triangle, i >= j, row by row. Raises MixtureError if a species lacks the data of
    the chosen model.
    """
    model = options["diffusion"]
    fit = fuller_friction(species) if model == "fuller" else kinetic_friction(species, model)

    i, j = np.tril_indices(species.ns)
    result = Constants({"friction_fit": fit[:, i, j].T, "least_mass": 1e-20 * species.W})
    result.sizes["FRICTION_TERMS"] = len(fit)

    # Without Takahashi's factor f_ij is a polynomial, and the sums over j != i are matrix products.
    if options["takahashi"] == "off" and model != "cantera":
        result.pairs["friction_tiles"] = fit * (1 - np.eye(species.ns))
    return result


def constant_ratios(species, options) -> Constants:
    """Reciprocals of the Lewis and Schmidt numbers (ns,)."""
    return Constants({"inv_lewis": 1 / options["lewis"], "inv_schmidt": 1 / options["schmidt"]})


constants(
    "Tc pc takahashi_cubics takahashi_D takahashi_A takahashi_B takahashi_C takahashi_E",
    takahashi,
    when={"takahashi": "smooth table"},
)
constants("friction_fit friction_tiles least_mass", friction)
constants("inv_lewis inv_schmidt", constant_ratios)
