"""Declarations of the host's own kernels in air.h: frame_registerkernel('.../air.py'), then frame_launch by name.

A body reads its arguments in the order of `reads`, then those of `writes`; a name in both is updated in place.
"""

from kernels import collection, point_kernel

point_kernel(
    "air_ideal_gas",
    header="air.h",
    reads="rho e T",
    writes="T p",
    source="definition, cv linear in T",
    valid="rho > 0, T > 0 within a factor 2 of the result",
    note="T comes in as the start value",
)
point_kernel(
    "air_sutherland", header="air.h", reads="T", writes="mu", source="Sutherland 1893, constants for air", valid="T > 0"
)
collection("air", given="rho e T", outputs="T p mu", what="both in one launch")
