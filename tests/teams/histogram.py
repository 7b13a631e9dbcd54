"""A histogram of a host's integers, logicals and single-precision numbers."""

from kernels import League, team_kernel

team_kernel(
    "histogram",
    League("1", team=64, scratch={"team 0": "own(bins):whole heavy(bins):real64"}),
    header="histogram.h",
    arrays="bin(n):int32 taken(n):logical weight(n):real32 counts(bins):whole weights(bins):real64 odd(bins):logical",
    writes="counts weights odd",
    results="total:whole heaviest:maxloc",
    numbers="first last",
)
