"""Newton's equations of the amounts by few vectors (gas/phases/few_vectors.h) against elimination with
fractions."""

from fractions import Fraction

import numpy as np
import pytest

import kernels
from kernels import registry

NS = 6  # species; three vectors have a matrix of six numbers, too
N = 3
LOWER = [(i, j) for i in range(N) for j in range(i + 1)]
STATES = 60
EPS = np.finfo(float).eps
ALIKE = 1e-3  # relative difference of the vectors of isomers

HEADER = """#include "gas/phases/few_vectors.h"
template <class M, class R, class Rows, class Out>
POINT_FN void few_changes(const M &, const Rows &weight, const Rows &residual, const Rows &second, const Rows &third,
                          const Rows &few_c, Out &change, R &few_definite) {
    FewVectors<3, R> few;
    R t[3] = {R(0.0), R(0.0), R(0.0)};
    clear_vectors(few);
    for (int i = 0; i < 6; ++i) few.c[i] = few_c[i];
    for (int k = 0; k < M::NS; ++k) {
        const R u[3] = {R(1.0), second[k], third[k]};
        add_species(R(weight[k]), u, few);
        for (int r = 0; r < 3; ++r) t[r] += weight[k] * residual[k] * u[r];
    }
    factorise_vectors(few);
    solve_vectors(few, t);
    for (int k = 0; k < M::NS; ++k) change.set(k, R(residual[k] + t[0] + second[k] * t[1] + third[k] * t[2]));
    few_definite = select(few.definite, R(1.0), R(0.0));
}
"""
DECLARATION = """from kernels import point_kernel, quantity
for name in ("weight", "residual", "second", "third", "few_c", "change"):
    quantity(name, "1", "of a species", "ns")
quantity("few_definite", "1", "whether the matrix is positive definite")
point_kernel("few_changes", header="few.h", reads="weight residual second third few_c", writes="change few_definite",
             source="test", valid="everywhere")
"""


@pytest.fixture(scope="module")
def solve(tmp_path_factory):
    """Calls the kernel with arrays (NS, n) of the five inputs."""
    folder = tmp_path_factory.mktemp("few")
    (folder / "few.h").write_text(HEADER)
    (folder / "few.py").write_text(DECLARATION)
    mix = kernels.Mixture.from_names("N2 O2 CH4 CO2 C2H6 C3H8", equation="pr")
    with registry.temporary():
        kernels.load_declarations(folder / "few.py")
        yield lambda **given: mix.kernel("few_changes")(**given)


def systems(kind, seed):
    """Inputs, (NS, n) each. The third vector is like sqrt(a), the second like b; c is that of a liquid in size."""
    random = np.random.default_rng(seed)
    shape = (NS, STATES)
    weight = random.dirichlet(np.full(NS, 0.7), STATES).T
    second = random.uniform(0.5, 3.0, shape)
    third = random.uniform(0.3, 4.0, shape)
    c = np.stack([random.uniform(-4.0, 4.0, STATES) for _ in LOWER])

    if kind == "traces":
        weight[:2] *= np.array([[0.0], [1e-30]])
    elif kind == "nearly pure":
        weight[1:] *= 1e-18
    elif kind == "alike":
        second = 1.0 + ALIKE * second
        third = second + ALIKE * third
    elif kind == "the same":
        second[:] = 0.3
        third[:] = 0.7
    elif kind == "near critical":
        c = nearly_singular(weight, second, third, c)
    return dict(weight=weight, residual=random.normal(size=shape), second=second, third=third, few_c=c)


def vectors_of(second, third):
    """(NS, N)."""
    return np.stack([np.ones(NS), second, third], 1)


def full(c):
    """(N, N) of the six numbers."""
    matrix = np.zeros((N, N))
    for value, (i, j) in zip(c, LOWER):
        matrix[i, j] = matrix[j, i] = value
    return matrix


def nearly_singular(weight, second, third, c):
    """c in such units that the least eigenvalue of the symmetric matrix is 1e-6, as next to a critical point."""
    out = c.copy()
    for s in range(STATES):
        U = vectors_of(second[:, s], third[:, s])
        root = np.sqrt(weight[:, s])[:, None] * U
        least = np.linalg.eigvalsh(root @ full(c[:, s]) @ root.T)[0]
        out[:, s] *= -(1 - 1e-6) / least
    return out


def solution(matrix, right):
    """Elimination with pivots, of fractions: no rounding errors."""
    rows = [[*map(Fraction, row), Fraction(b)] for row, b in zip(matrix, right)]
    for k in range(len(rows)):
        pivot = max(range(k, len(rows)), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(len(rows)):
            if i != k:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k])]
    return np.array([float(row[-1] / row[k]) for k, row in enumerate(rows)])


def exact(given, s):
    """The changes, and the eigenvalues, of state s."""
    weight = [Fraction(w) for w in given["weight"][:, s]]
    u = [[Fraction(x) for x in row] for row in vectors_of(given["second"][:, s], given["third"][:, s])]
    c = [[Fraction(x) for x in row] for row in full(given["few_c"][:, s])]
    c_u = [[sum(c[i][j] * row[j] for j in range(N)) for row in u] for i in range(N)]
    matrix = [
        [int(i == j) + sum(u[i][r] * c_u[r][j] for r in range(N)) * weight[j] for j in range(NS)] for i in range(NS)
    ]
    y = solution(matrix, given["residual"][:, s])

    root = np.sqrt(given["weight"][:, s])[:, None] * vectors_of(given["second"][:, s], given["third"][:, s])
    return y, np.linalg.eigvalsh(np.eye(NS) + root @ full(given["few_c"][:, s]) @ root.T)


@pytest.mark.parametrize("kind", ("plain", "traces", "nearly pure", "alike", "the same", "near critical"))
def test_changes_are_those_of_the_whole_matrix(solve, kind):
    """Errors are those of the sums G and c G, some 20 eps of the sizes of their terms, times the condition of the
    symmetric matrix. Vectors that are alike leave as much less of their difference."""
    given = systems(kind, 1)
    got = solve(**given)
    errors = 20 * EPS / (ALIKE if kind == "alike" else 1.0)

    decided = 0
    for s in range(STATES):
        wanted, eigenvalues = exact(given, s)
        least = eigenvalues.min()
        if abs(least) < 1e-9:
            continue
        assert got["few_definite"][s] == (least > 0), s
        if least < 0:
            continue

        decided += 1
        U = np.abs(vectors_of(given["second"][:, s], given["third"][:, s]))
        terms = U @ np.abs(full(given["few_c"][:, s])) @ U.T * given["weight"][:, s]
        size = np.abs(given["residual"][:, s]) + terms @ np.abs(wanted)
        condition = (1 + np.abs(eigenvalues).max()) / min(least, 1.0)
        off = np.abs(got["change"][:, s] - wanted)
        assert (off <= errors * condition * size.max()).all(), (s, off, condition, size)
    assert decided > STATES / 10


def test_nan_is_not_definite(solve):
    """A NaN stays in its state."""
    given = systems("plain", 2)
    given["few_c"][2, 7] = np.nan
    got = solve(**given)

    assert got["few_definite"][7] == 0 and np.isnan(got["change"][:, 7]).all()
    assert np.isfinite(np.delete(got["change"], 7, 1)).all()
