"""Laws of the general product of two tensors, whatever works it out: tiles of a GPU (test_direct.py), blocks for two
caches of a CPU (test_direct_host.py). Tolerance: see tccg_products.py."""

import numpy as np
from tccg_products import EPS, assert_close, computed, random_arrays, text_of, wanted

from kernels import Contraction

RAGGED = (1, 2, 3, 4, 5, 7, 8)  # extents
BATCHES = {  # text: shapes of A, B, C for n entries
    "C[e i j] = A[e i k] B[e k j]": ("nik", "nkj", "nij"),  # in front
    "C[i e j] = A[k i e] B[j e k]": ("kin", "jnk", "inj"),  # between and behind
    "C[e i j] = A[e i k] B[k j]": ("nik", "kj", "nij"),  # of one factor: a row
    "C[e i j] = A[i k] B[e k j]": ("ik", "nkj", "nij"),  # a column
}


def ragged_extents_have_the_right_values(backend, how, row, dtype, seed):
    rng = np.random.default_rng(seed)
    sizes = {index: int(rng.choice(RAGGED)) for index in sorted(set(row) - {"-"})}
    arrays = random_arrays(row, sizes, dtype, seed)

    plan = Contraction(text_of(row), sizes, dtype, backend=backend, how=how)
    assert_close(computed(backend, plan, arrays), *wanted(row, arrays), (row, sizes))


def prime_extents_have_the_right_values(backend, how, row):
    """Extents beyond a tile or a panel."""
    primes = iter((11, 13, 5, 7, 3, 2, 17))
    sizes = {index: next(primes) for index in sorted(set(row) - {"-"})}
    arrays = random_arrays(row, sizes, "float64", 3)

    plan = Contraction(text_of(row), sizes, backend=backend, how=how)
    assert_close(computed(backend, plan, arrays), *wanted(row, arrays), (row, sizes))


def a_number_and_what_was_there(backend, how):
    """C += -0.5 A B, and C = ... of an output that was NaN."""
    row, sizes = "abc-bda-dc", dict(a=9, b=6, c=10, d=17)
    arrays = random_arrays(row, sizes, "float64", 5)
    product, error = wanted(row, arrays)

    fresh = Contraction(text_of(row, number=-0.5), sizes, backend=backend, how=how)
    assert_close(computed(backend, fresh, arrays), -0.5 * product, error)

    arrays["C"] = np.full(product.shape, 3.0)
    adding = Contraction(text_of(row, True, number=-0.5), sizes, backend=backend, how=how)
    assert_close(computed(backend, adding, arrays), 3 - 0.5 * product, error + 8 * EPS["float64"])


def an_entry_has_the_same_bits_in_any_batch(backend, how, text, shapes):
    """shapes: of A, B, C for n entries."""
    extents, rng = dict(i=5, j=6, k=9), np.random.default_rng(7)
    full = [rng.uniform(-1, 1, [7 if x == "n" else extents[x] for x in shape]) for shape in shapes[:2]]
    plan = Contraction(text, extents, batch="e", backend=backend, how=how)

    def some(n):
        """The output of the first n entries, those in front."""
        given = {"A": full[0], "B": full[1]}
        for name, shape in zip("AB", shapes):
            if "n" in shape:
                given[name] = np.ascontiguousarray(np.take(given[name], range(n), shape.index("n")))
        given["C"] = np.full([n if x == "n" else extents[x] for x in shapes[2]], np.nan)
        return np.moveaxis(computed(backend, plan, given), shapes[2].index("n"), 0)

    whole = some(7)
    einsum = ",".join(shapes[:2]) + "->" + shapes[2]
    product = np.moveaxis(np.einsum(einsum, *full), shapes[2].index("n"), 0)
    assert_close(whole, product, 4 * 9 * EPS["float64"] * 9 * np.ones_like(product))
    for n in (0, 1, 2, 4):
        assert np.array_equal(some(n), whole[:n]), n


def nan_stays_in_its_rows_and_columns(backend, how):
    row, sizes = "abcd-aebf-fdec", dict(a=3, b=5, c=4, d=6, e=3, f=7)
    arrays = random_arrays(row, sizes, "float64", 9)
    clean = wanted(row, arrays)
    arrays["A"][1, 2, 4, 6] = np.nan  # a = 1, b = 4
    arrays["B"][0, 5, 1, 3] = np.nan  # d = 5, c = 3

    plan = Contraction(text_of(row), sizes, backend=backend, how=how)
    found = computed(backend, plan, arrays)

    touched = np.zeros(found.shape, bool)
    touched[1, 4] = touched[:, :, 3, 5] = True
    assert np.array_equal(np.isnan(found), touched)
    assert_close(found[~touched], clean[0][~touched], clean[1][~touched])
