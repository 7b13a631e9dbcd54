"""A team kernel of a host's own: a team for each row. Fortran's A(M, N) is A(N,M) here."""

from kernels import constant, team_kernel

constant("factor", "1", "in y = factor A x", default=1.0)
team_kernel(
    "rows",
    header="rows.h",
    arrays="A(N,M) x(M) y(N) largest(N)",
    writes="y largest",
    sums="total",
    numbers="factor:real",
    league="N",
    team="auto 64",
)
