"""Kernels of kokkos.h for a Fortran host: a scan, logical arrays, whole numbers, a league with scratch."""

from kernels import League, Range, Scan, team_kernel


def declared(name, over, body="", **more):
    team_kernel(f"host_{name}", over, header="kokkos.h", body=body or name, **more)


declared(
    "kept",
    Scan("n"),
    body="compacted",
    arrays="x(n) place(n):whole value(n,2)",
    writes="place value",
    results="count:whole",
)
declared("by_flags", Range("n"), arrays="x(n) y(n) a(n):logical b(n):logical", writes="y b", results="count:whole")
declared("whole_functions", Range("n"), arrays="k(n):int32 big(n):whole f(9,n):whole", writes="f")
declared("sorted", League("E", team=16, scratch={"team 0": "s(n)"}), arrays="x(E,n)", writes="x")
