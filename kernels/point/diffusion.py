"""Binary and mixture-averaged diffusion coefficients."""
from ..declare import point_kernel, quantity

quantity("D_ij", "m2/s", "binary diffusion coefficients, row i, column j", per="ns*ns")
quantity("D", "m2/s", "mixture-averaged diffusion coefficients, mole-fraction gradient, mass-averaged frame", per="ns")

CONSTANTS = ("inv_W W Tc pc binary_fit? fuller_pD? takahashi_lines? "
             "takahashi_D? takahashi_A? takahashi_B? takahashi_C? takahashi_E?")
SOURCE = "Chapman-Enskog with Monchick-Mason integrals, or Fuller 1966; pressure: Takahashi 1975, Table 11-3 of Poling et al. as other codes have it (original not seen)"

point_kernel("binary_diffusion", header="diffusion.h", reads="T p Y W", writes="D_ij", constants=CONSTANTS, source=SOURCE, valid="T > 0, p > 0")
point_kernel("mixture_diffusion", header="diffusion.h", reads="T p Y W", writes="D", constants=CONSTANTS,
             source="D_k = (1 - Y_k)/sum_{j != k} x_j/D_kj; binaries: " + SOURCE, valid="T > 0, p > 0",
             note="mole fractions are floored at 1e-20, so a pure point has a limit; one species: self-diffusion. Takahashi smooth: by tables, absolute error of the factor below 4e-8")
