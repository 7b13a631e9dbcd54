"""Products that keep an index of their sum, which is added up afterwards.

Numbers are whole and small, so any order of the sums is exact and numpy.einsum's values are met bit for bit.
"""

import numpy as np
import pytest
from tensor_cases import machine_code

from kernels import Contraction, contract, get_backend
from kernels.engine.errors import ArgumentError

# string, the index that is kept
KEPT = (
    ("dca,cbd->ba", "c"),
    ("dca,cbd->ba", "d"),
    ("dac,bcd->ba", "d"),
    ("kij,jki->", "i"),
    ("xaybz,zybcx->xac", "y"),
    ("aij,bji->ab", "j"),
    ("ijab,jbi->a", "j"),
)
TEXT = "C[b a] = A[d c a] B[c b d]"


@pytest.fixture(scope="module")
def be(every_backend):
    return every_backend


def operands(text, dtype="float64"):
    rng = np.random.default_rng(list(map(ord, text)))
    inputs = text.split("->")[0].split(",")
    sizes = {i: int(rng.integers(1, 9)) for i in sorted(set("".join(inputs)))}
    return [rng.integers(-3, 4, [sizes[i] for i in own]).astype(dtype) for own in inputs]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("text", "index"), KEPT)
def test_values(be, text, index, dtype):
    arrays = operands(text, dtype)
    there = [be.from_host(a, a.dtype) for a in arrays]
    if be.style == "packs":
        with pytest.raises(ArgumentError, match="organisation 'later'; wanted one of"):
            contract(text, *there, backend=be, how=f"later index={index}")
        return

    found = contract(text, *there, backend=be, how=f"later index={index}", quick=True)
    assert np.array_equal(be.to_host(found), np.einsum(text, *arrays))


def test_numbers_and_sums_to_old_values(be):
    if be.style == "packs":
        pytest.skip("of a device")
    a, b = operands("dca,cbd->ba")
    old = np.arange(float(b.shape[1] * a.shape[2])).reshape(b.shape[1], a.shape[2])
    held = {name: be.from_host(array.copy(), array.dtype) for name, array in dict(A=a, B=b, C=old).items()}

    sizes = dict(d=a.shape[0], c=a.shape[1], a=a.shape[2])
    plan = Contraction("C[b a] += -2 A[d c a] B[c b d]", sizes, backend=be, how="later index=c", quick=True)
    plan.bind(held)()

    assert np.array_equal(be.to_host(held["C"]), old - 2 * np.einsum("dca,cbd->ba", a, b))


def test_long_sums_that_a_library_would_copy():
    # 92 352 terms, whose two indices lie in the other order in the second factor: measured on an H200, 424 us of the
    # product and 58 of the bytes of its sum beside 492 of the library
    plan = Contraction(TEXT, dict(d=312, c=296, a=312), backend=get_backend("cuda", arch="sm_90"), entries=296)
    assert plan.how.written() == "later index=c"
    assert "step C_by_c" in plan.explain()
    assert all(machine_code(source, "sm_90") for source in plan.sources())


def test_sums_that_a_library_takes_as_they_lie():
    text, sizes = "C[b a] = A[d c a] B[b d c]", dict(d=312, c=296, a=312)
    plan = Contraction(text, sizes, backend=get_backend("cuda", arch="sm_90"), entries=296)
    assert plan.how.name != "later"


@pytest.mark.parametrize(
    ("text", "how", "wanted"),
    [
        (TEXT, "later index=b", "index=d or c"),
        ("C[b a] = A[d a] B[b d]", "later index=d", "no organisation 'later' here"),
        ("C[b a] = A[d c a] B[b d c]", "later index=d", "no organisation 'later' here"),
        ("C[b a] = A[d c a] B[c b d] D[a]", "later index=d", "no organisation 'later' here"),
    ],
)
def test_what_is_not_served(text, how, wanted):
    sizes = dict.fromkeys("abcd", 4)
    with pytest.raises(ArgumentError, match=wanted):
        Contraction(text, sizes, backend=get_backend("cuda", arch="sm_90"), how=how)


def test_the_index_is_chosen():
    plan = Contraction(TEXT, dict.fromkeys("abcd", 4), backend=get_backend("cuda", arch="sm_90"), how="later")
    assert plan.how.index in "dc"


def test_two_statements_are_the_product():
    a, b = operands("dca,cbd->ba")
    text = "C[b a] = A[d c a] C_by_c[c b d]"  # the name of the kept product is taken
    sizes = dict(d=a.shape[0], c=a.shape[1], a=a.shape[2])
    plan = Contraction(text, sizes, backend=get_backend("cuda", arch="sm_90"), how="later index=c", quick=True)

    held = dict(A=a, C_by_c=b)
    for s in plan.how.made_of(plan.program).statements:
        (term,) = s.terms
        held[s.out.name] = np.einsum(evaluated(s), *(held[f.name] for f in term.factors))
    assert np.array_equal(held["C"], np.einsum("dca,cbd->ba", a, b))


def evaluated(s):
    """A statement as a string of einsum."""
    factors = ",".join("".join(f.indices) for f in s.terms[0].factors)
    return f"{factors}->{''.join(s.out.indices)}"
