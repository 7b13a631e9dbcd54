"""Bodies of solvers: small systems, sparse products, charges on a grid, arrays of several types; against NumPy."""

import numpy as np
import pytest
from team_cases import EPS, HEADER, assert_arrays, kernel

import kernels
from kernels import League, Range, Sizes


def written(name, over, **more):
    return kernel(name, over, header=HEADER.with_name("users.h"), **more)


SUBSTITUTED = {
    (team, vector): written(
        f"substituted_{team}x{vector}",
        League(f"(E + {team - 1}) // {team}", team=team, vector=vector, scratch={"member 0": "s(N)"}),
        body="substituted",
        arrays="L(E,N,N) b(E,N) x(E,N)",
        writes="x",
    )
    for team, vector in ((1, 1), (4, 8), (3, 32))
}
SPARSE = written(
    "sparse_by_members",
    League("(n + rows - 1) // rows", team="auto 8", vector=4),
    body="sparse",
    arrays="row(n1):int32 column(entries):int32 value(entries) x(n) y(n)",
    writes="y",
    numbers="rows",
)
DEPOSITED = written(
    "deposited", Range("n"), arrays="cell(n):int32 weight(n) charge(cells):scatter count(1):int32:scatter"
)
OF_ALL_TYPES = written(
    "of_all_types",
    Range("n"),
    arrays="wide(n) narrow(n):real32 k(n):int32 big(n):whole",
    writes="wide narrow k big",
    results="sum",
)


@pytest.mark.parametrize("sizes", SUBSTITUTED)
@pytest.mark.parametrize("E", [0, 1, 31])
def test_small_systems_in_a_members_scratch(be, sizes, E):
    """Lanes read what the others have written, behind each loop over them."""
    N = 7
    rng = np.random.default_rng(E)
    L, b = np.tril(rng.random((E, N, N))) + 3 * np.eye(N), rng.random((E, N))
    arrays = be.placed(L=L, b=b, x=np.full((E, N), np.nan))
    SUBSTITUTED[sizes].run(arrays, be, quick=True)

    # A step of substitution adds N eps of the sizes that it sums (Higham 2002, theorem 8.5)
    x = be.to_host(arrays["x"])
    left = np.einsum("eij,ej->ei", L, x) - b
    assert (abs(left) <= 2 * N * EPS * np.einsum("eij,ej->ei", L, abs(x))).all()


@pytest.mark.parametrize("sizes", [Sizes(), Sizes(1, 1), Sizes(3, 32)], ids=["declared", "1x1", "3x32"])
@pytest.mark.parametrize("n", [0, 1, 101])
@pytest.mark.quick(n=[101])
def test_a_sparse_product(be, sizes, n):
    rng = np.random.default_rng(n)
    row = np.concatenate([[0], np.cumsum(rng.integers(0, 9, n))]).astype(np.int32)
    column = rng.integers(0, max(n, 1), row[-1]).astype(np.int32)
    value, x = rng.integers(-9, 9, row[-1]).astype(float), rng.integers(-9, 9, n).astype(float)
    arrays = be.placed(row=row, column=column, value=value, x=x, y=np.full(n, np.nan))
    SPARSE.run(arrays, be, sizes, rows=5, quick=True)

    wanted = np.zeros(n)
    np.add.at(wanted, np.repeat(np.arange(n), np.diff(row)), value * x[column])
    assert_arrays(be, arrays, y=wanted)


@pytest.mark.parametrize("n", [0, 1, 1009])
def test_charges_on_a_grid(be, n):
    rng = np.random.default_rng(n)
    cell, weight = rng.integers(0, 10, n).astype(np.int32), rng.integers(0, 5, n) / 4
    arrays = be.placed(cell=cell, weight=weight, charge=np.ones(11), count=np.zeros(1, np.int32))
    DEPOSITED.run(arrays, be, quick=True)

    charge = np.bincount(cell, 1 - weight, 11) + np.bincount(cell + 1, weight, 11)
    assert_arrays(be, arrays, charge=1 + charge)
    assert be.to_host(arrays["count"])[0] == n


@pytest.mark.parametrize("n", [0, 1, 101])
def test_arrays_of_several_types(be, n):
    rng = np.random.default_rng(n)
    narrow = rng.integers(0, 5, n).astype(np.float32) ** 2  # roots are exact
    k, big = rng.integers(-9, 9, n).astype(np.int32), rng.integers(0, 2**40, n)
    arrays = be.placed(wide=np.zeros(n), narrow=narrow.copy(), k=k.copy(), big=big.copy())
    found = OF_ALL_TYPES.run(arrays, be, quick=True)

    x = narrow.astype(float)
    wide = 2 * x + 0.5 * k + np.sqrt(x) + np.where(k > 1.5, x, 0.25) + np.maximum(x, 1)
    assert_arrays(be, arrays, wide=wide, narrow=wide - k, k=k * 3 + big % 7, big=(big >> 1) ^ 5)
    assert found == {"sum": (wide - k).sum()}


def test_rows_that_teams_ask_for_ahead():
    """Arrays that are read: contiguous rows, a row for each team; shorter rows, pack by pack."""
    arrays = "A(N,M) turned(N,M):left y(N) across(M,N) more(N+1,M) several(N,M,K) own(N,M)"
    others = {"A", "turned", "across", "more", "several"}
    with kernels.registry.temporary():
        for teams, rows, whole in (
            ("N", ("A", "several"), {"A"}),
            ("M", ("across",), {"across"}),
            ("(N + 3) // 4", (), set()),
            (7, (), set()),
        ):
            declared = written("rows_ahead", League(teams), arrays=arrays, writes="own", body="sparse")
            assert declared.items.rows == rows, teams
            assert set(declared.items.shorter_rows) == others - whole, teams
            kernels.registry.team_kernels.pop("rows_ahead")
