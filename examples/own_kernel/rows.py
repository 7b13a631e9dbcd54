"""A team kernel of a host's own: a team for each row. Fortran's A(M, N) is A(N,M) here."""

from kernels import League, constant, team_kernel

constant("factor", "1", "in y = factor A x", default=1.0)
team_kernel(
    "rows",
    League("N", team="auto 64"),
    header="rows.h",
    arrays="A(N,M) x(M) y(N) largest(N)",
    writes="y largest",
    results="total",
    numbers="factor:real",
)
