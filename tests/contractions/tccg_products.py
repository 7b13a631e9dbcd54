"""The 48 products of the public TCCG benchmark in the rows' own notation, out-left-right, and their values by
numpy.einsum.

Tolerance: 4 K eps times the sum of the terms' sizes (K terms; reference/tensor.py). Single precision goes through the
TF32 units of a GPU in two parts, whose products are exact to 2^-22 of each term: another 2 eps of the same sum.
"""

import numpy as np

TCCG = """
    abc-bda-dc abc-dca-bd abcd-dbea-ec abcd-deca-be abcd-ebad-ce abcde-efbad-cf abcde-ecbfa-fd abcde-efcad-bf
    abcd-ea-ebcd abcd-eb-aecd abcd-ec-abed ab-ac-cb ab-acd-dbc ab-cad-dcb abc-acd-db abc-ad-bdc abc-adc-bd abc-adc-db
    abc-adec-ebd abcd-aebf-dfce abcd-aebf-fdec abcd-aecf-bfde abcd-aecf-fbed abcd-aedf-bfce abcd-aedf-fbec
    abcd-aefb-fdce abcd-aefc-fbed abcd-eafb-fdec abcd-eafc-bfde abcd-eafd-fbec abcdef-dega-gfbc abcdef-degb-gfac
    abcdef-degc-gfab abcdef-dfga-gebc abcdef-dfgb-geac abcdef-dfgc-geab abcdef-efga-gdbc abcdef-efgb-gdac
    abcdef-efgc-gdab abcdef-gdab-efgc abcdef-gdac-efgb abcdef-gdbc-efga abcdef-geab-dfgc abcdef-geac-dfgb
    abcdef-gebc-dfga abcdef-gfab-degc abcdef-gfac-degb abcdef-gfbc-dega
""".split()
EPS = {name: np.finfo(name).eps for name in ("float64", "float32")}


def text_of(row: str, adds: bool = False, number: float = 1) -> str:
    """The statement of a row of the benchmark."""
    out, left, right = (" ".join(indices) for indices in row.split("-"))
    return f"C[{out}] {'+' if adds else ''}= {number} A[{left}] B[{right}]"


def random_arrays(row: str, sizes, dtype, seed: int) -> dict[str, np.ndarray]:
    """Factors in [-1, 1], and an output full of NaN."""
    rng = np.random.default_rng(seed)
    out, left, right = ([sizes[i] for i in indices] for indices in row.split("-"))
    factors = {name: rng.uniform(-1, 1, shape).astype(dtype) for name, shape in (("A", left), ("B", right))}
    return {**factors, "C": np.full(out, np.nan, dtype)}


def computed(backend, plan, arrays) -> np.ndarray:
    """The output, from copies of the arrays on the backend."""
    held = {name: backend.from_host(array.copy(), array.dtype) for name, array in arrays.items()}
    plan.bind(held)()
    return np.array(backend.to_host(held["C"]))


def wanted(row: str, arrays) -> tuple[np.ndarray, np.ndarray]:
    """(the product, the largest error that rounding explains), in double precision."""
    out, left, right = row.split("-")
    a, b = (arrays[name].astype(np.float64) for name in "AB")
    text = f"{left},{right}->{out}"
    sums = np.prod([a.shape[left.index(i)] for i in left if i not in out])
    eps = EPS[arrays["A"].dtype.name]
    return np.einsum(text, a, b), (4 * sums + 2) * eps * np.einsum(text, abs(a), abs(b))


def assert_close(found, product, error, what=""):
    worst = np.abs(found - product) - error
    assert np.all(worst <= 0), (what, np.nanmax(worst), np.count_nonzero(~(worst <= 0)))
