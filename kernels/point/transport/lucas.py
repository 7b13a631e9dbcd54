"""Lucas' viscosity, the other model of option `viscosity`."""

import pathlib

from ...declare import point_kernel

HERE = pathlib.Path(__file__).parent

point_kernel(
    "lucas_viscosity",
    header=HERE / "lucas.h",
    reads="T p Y W",
    writes="mu",
    constants="inv_W Tc lucas_Zc lucas_Vc lucas_omega lucas_polar lucas_polar_warm lucas_tenth_over_Tc lucas_quantum "
    "lucas_heaviest",
    source="Lucas 1980 in Poling, Prausnitz & O'Connell 5th ed., 9-4.15 to 9-4.18, 9-5.17 to 9-5.23, 9-6.3 to 9-6.16 "
    "(as several codes "
    "have it; original not seen); vapour pressure: Lee & Kesler 1975",
    valid="gas: T_r > 1, or p below the vapour pressure; P_r <= 100",
    when={"viscosity": "lucas"},
    note="liquids give NaN; above T_r = 40 the pressure correction is that of 40. As published it has steps: at T_r = "
    "1, and, where the "
    "heaviest species weighs more than 9 times the lightest, where its mole fraction crosses 0.05 and 0.7",
)
