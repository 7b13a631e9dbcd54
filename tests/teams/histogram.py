"""A histogram of a host's integers, logicals and single-precision numbers."""

from kernels import team_kernel

team_kernel(
    "histogram",
    header="histogram.h",
    arrays="bin(n):int32 taken(n):logical weight(n):real32 counts(bins):whole weights(bins):real64 odd(bins):logical",
    writes="counts weights odd",
    sums="total:whole",
    reduces="heaviest:maxloc",
    numbers="first last",
    league="1",
    scratch={"team 0": "own(bins):whole heavy(bins):real64"},
    team=64,
)
