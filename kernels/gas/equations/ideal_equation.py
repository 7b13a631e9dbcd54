"""The ideal gas as an equation of state (option equation = ideal), with the quantities of the cubic equations."""

import functools

from ..declare import option, point_kernel
from . import cubic  # noqa: F401

option("equation", {"ideal": r"$v = R T/p$."})

kernel = functools.partial(
    point_kernel,
    header="gas/equations/ideal_equation.h",
    packs=4,
    valid="T > 0, p > 0; low density",
    when={"equation": "ideal"},
)

kernel(
    "ideal_equation",
    reads="T p R_s cp_ig h_ig",
    writes="Z vol rho h cp cv p_v p_T v_p h_p h_T",
    source="definition, vol = R_s T/p",
)
kernel(
    "ideal_equation_entropy",
    reads="s_ig",
    writes="s",
    source="definition",
)
kernel(
    "ideal_phase_flag",
    reads="vol",
    writes="phase_flag",
    source="definition, 0",
)
