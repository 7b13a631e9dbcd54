"""The ideal gas as an equation of state (option equation = ideal), with the quantities of the cubic equations."""

from ..declare import option, point_kernel
from . import cubic  # noqa: F401

option("equation", {"ideal": r"$v = R T/p$."})

point_kernel(
    "ideal_equation",
    header="gas/equations/ideal_equation.h",
    packs=4,
    reads="T p R_s cp_ig h_ig",
    writes="Z vol rho h cp cv p_v p_T v_p h_p h_T",
    source="definition, vol = R_s T/p",
    valid="T > 0, p > 0; low density",
    when={"equation": "ideal"},
)
point_kernel(
    "ideal_equation_entropy",
    header="gas/equations/ideal_equation.h",
    packs=4,
    reads="s_ig",
    writes="s",
    source="definition",
    valid="T > 0, p > 0; low density",
    when={"equation": "ideal"},
)
point_kernel(
    "ideal_phase_flag",
    header="gas/equations/ideal_equation.h",
    packs=4,
    reads="vol",
    writes="phase_flag",
    source="definition, 0",
    valid="T > 0, p > 0; low density",
    when={"equation": "ideal"},
)
