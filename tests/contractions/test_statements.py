"""Statements that read what earlier ones wrote, at other indices; nobody names a batch index.

Numbers are whole and small, so any order of the sums is exact, and values are those of numpy.einsum, statement by
statement.
"""

import numpy as np
import pytest
from tensor_cases import organisations, run

from kernels import Contraction, contract
from kernels.contractions.text import parse
from kernels.engine.errors import ArgumentError

N = 5  # extent of every index
INPUTS = {"A": 2, "B": 2, "x": 1}  # dimensions

# Statements as (output, terms), a reference as (name, indices). All read T or S at indices of their own.
STATEMENTS = (
    (("T", "ij"), [[("A", "ik"), ("B", "kj")]]),
    (("S", "ij"), [[("T", "ji")]]),
    (("both_ways", "ij"), [[("T", "ik"), ("A", "kj")], [("T", "ki"), ("B", "kj")]]),
    (("diagonal", "ij"), [[("T", "ii"), ("B", "ij")]]),
    (("trace", "i"), [[("T", "kk"), ("x", "i")]]),
    (("of_two", "ij"), [[("S", "ik"), ("T", "jk")]]),
    (("sums", "i"), [[("A", "ij"), ("x", "j")]]),
    (("summed", "i"), [[("B", "ik"), ("sums", "k")]]),
)


@pytest.fixture(scope="module")
def be(every_backend):
    return every_backend


def written(statements) -> str:
    """The text of statements."""
    lines = []
    for out, terms in statements:
        products = [" ".join(f"{name}[{' '.join(indices)}]" for name, indices in factors) for factors in terms]
        lines.append(f"{out[0]}[{' '.join(out[1])}] = {' + '.join(products)}")

    return "\n".join(lines)


def values(statements, arrays) -> dict:
    """All arrays, by numpy.einsum."""
    found = dict(arrays)
    for (name, indices), terms in statements:
        total = np.zeros((N,) * len(indices))
        for factors in terms:
            string = ",".join(own for _, own in factors)
            missing = "".join(i for i in indices if i not in string)
            ones = [np.ones((N,) * len(missing))] if missing else []
            string += f",{missing}" * len(ones)
            total += np.einsum(f"{string}->{indices}", *(found[factor] for factor, _ in factors), *ones)

        found[name] = total

    return found


def some_arrays(rng, most=3) -> dict:
    return {name: rng.integers(-most, most + 1, (N,) * rank).astype(float) for name, rank in INPUTS.items()}


def random_statements(rng) -> list:
    """Two to four statements of one or two terms of one to three factors."""
    ranks, statements = dict(INPUTS), []
    for k in range(rng.integers(2, 5)):
        terms = []
        for _ in range(rng.integers(1, 3)):
            names = rng.choice(list(ranks), rng.integers(1, 4))
            terms.append([(str(name), "".join(rng.choice(list("ijkl"), ranks[name]))) for name in names])

        used = sorted({i for factors in terms for _, indices in factors for i in indices})
        out = "".join(rng.permutation(used)[: rng.integers(1, 4)])
        statements.append(((f"T{k}", out), terms))
        ranks[f"T{k}"] = len(out)

    return statements


def check_all(be, statements, local, seed=0):
    """Every organisation that serves the statements has numpy's values."""
    arrays = some_arrays(np.random.default_rng(seed))
    wanted = values(statements, arrays)
    e = parse(written(statements), local=local)
    sizes = {i: N for i in e.indices if i != e.batch}
    arrays |= {name: np.full(np.shape(wanted[name]), np.nan) for name in e.outputs}

    plans = list(organisations(written(statements), sizes, be, local=local))
    for plan in plans:
        for name, found in run(plan, arrays, N if e.batch else 1).items():
            assert np.array_equal(found, wanted[name]), (str(plan.how), name, written(statements), local)

    assert plans


@pytest.mark.parametrize("local", ["", "T sums"])
def test_arrays_that_are_read_at_other_indices(be, local):
    check_all(be, STATEMENTS, local)


@pytest.mark.parametrize("seed", range(3))
def test_random_statements(be, seed):
    rng = np.random.default_rng(seed)
    statements = random_statements(rng)
    check_all(be, statements, f"T{rng.integers(len(statements) - 1)}", seed)


def test_the_batch_is_an_index_that_entries_do_not_share():
    """The first one of the first output that each written array has in one place; none if there is none."""
    text = "T[i j] = A[i k] B[k j]; V[i j] = T[{}] B[k j]"
    assert parse(text.format("i k")).batch == "i"
    assert parse(text.format("k i")).batch is None
    assert parse(text.format("k i"), local="T").batch is None
    assert parse("V[i j] = D[i k] x[k j]", constant="D").batch == "j"
    assert parse("V[i j] = a[i k] x[k j]", symmetric="a").batch == "j"
    assert parse("m[j] = A[i j] x[i]; V[i j] = m[j] B[i j]", local="m").batch == "j"

    why = "local 'T' has the batch index 'i' in several places"
    with pytest.raises(ArgumentError, match=why):
        parse(text.format("k i"), "i", local="T")


def test_extents_follow_from_what_was_written():
    """An index that only arrays of the statements have."""
    A, B = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    found = contract("T[i j] = A[i k] B[k j]; V[l m] = T[m l]; W[p q] = 2 V[p q]; local T V", A=A, B=B, quick=True)
    assert np.array_equal(found, 2 * (A @ B).T)
    with pytest.raises(ArgumentError, match="array 'o', index 'j': no other array has it"):
        contract("o[i j] = a[i]", a=A[0])


def test_a_symmetric_array_is_square():
    """Half of it is read as the other half: numbers beside the array, if it is not square."""
    for text, shape in (("o[b e i] = a[b e i]", (2, 5, 4)), ("o[e i] = a[e i]", (5, 4))):
        with pytest.raises(ArgumentError, match="'a' is named symmetric and has 5 x 4 numbers"):
            contract(text, a=np.ones(shape), symmetric="a")
    with pytest.raises(ArgumentError, match="'a' is named symmetric and has 3 x 2 numbers"):
        Contraction("o[i j t] = a[i j t]", dict(i=3, j=2), symmetric="a", batch="t")
