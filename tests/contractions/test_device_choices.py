"""What a GPU's model chooses for strings, beside times that were measured on an H200."""

import numpy as np
import pytest

from frame.tools.bench import tccg
from kernels import Contraction, get_backend
from kernels.contractions import fold, products
from kernels.contractions.organisations import library_costs, sums

TYPES = ("float64", "float32")
NEAR = 1.15  # times the fastest of those that were measured

# statement, extents of its indices, type: microseconds by organisation, of calls that come again
MEASURED = [
    # Small factors stay in the first cache; neighbours of a sum are read one by one.
    ("o[u v] = a[u v p] b[p]", dict(u=150, v=150, p=1001), "float64", dict(sums=47.2, library=52.7, moments=63.0)),
    ("o[u v] = a[u v p] b[p]", dict(u=150, v=150, p=1001), "float32", dict(sums=26.3, library=32.8, moments=30.3)),
    ("o[p q] = a[p s q r] b[r s]", dict.fromkeys("psqr", 50), "float64", dict(sums=19.6, moments=22.0, library=50.8)),
    # Terms of a diagonal have lines of their own.
    ("o[n] = a[n i i]", dict(n=50000, i=16), "float64", dict(sums=16.8, flat=22.2, team=16.9)),
    # Rows of more columns than a block of `columns` reads well.
    ("o[i] = a[n i] w[n]", dict(n=100000, i=128), "float64", dict(sums=30.8, columns=36.6, library=34.0)),
    ("o[i] = a[n i] w[n]", dict(n=500000, i=30), "float64", dict(sums=40.3, columns=36.3, library=42.5)),
    ("o[j] = a[i j] w[i]", dict(i=50000, j=200), "float32", dict(sums=11.7, columns=13.4, library=20.7)),
    # Sums of single precision that a library cuts into parts; both factors run along them, in one order or in two.
    ("o[i k] = a[i j] b[k j]", dict(i=300, j=60000, k=300), "float32", dict(direct=237.7, library=349.2)),
    ("o[i l] = a[i j k] b[l k j]", dict(i=1000, j=40, k=50, l=1000), "float32", dict(direct=127.8, library=105.0)),
    # A library does not cut the long sums of a batch into parts.
    ("o[x p q] = a[x g p] b[g q]", dict(x=3, g=20000, p=60, q=60), "float64", dict(direct=31.0, library=147.5)),
    # Numbers that are copied one by one.
    ("o[n r] = a[n s] b[s r]", dict(n=200000, s=53, r=53), "float32", dict(direct=59.9, library=55.7)),
    ("o[i k] = a[i j] b[j k]", dict(i=1009, j=1013, k=997), "float32", dict(direct=91.5, library=51.9)),
    # Registers keep a row of a factor for all terms.
    ("o[n] = a[n i] m[i j] b[n j]", dict(n=800000, i=8, j=8), "float64", dict(flat=46.1, lines=55.0, apart=64.8)),
    ("o[n] = a[n i] m[i j] b[n j]", dict(n=800000, i=8, j=8), "float32", dict(flat=24.0, lines=29.8, apart=35.7)),
    # Lines in registers; numbers of an output that is small while loads are waited for.
    (
        "o[e l j k] = a[e i j k] m[l i]",
        dict(e=32000, i=8, j=8, k=8, l=8),
        "float64",
        dict(lines=66.9, stages=72.4, flat=84.7),
    ),
    ("o[i j k] = a[n i] b[n j] c[n k]", dict(n=100000, i=3, j=3, k=3), "float64", dict(moments=7.2, apart=13.5)),
    # A sum of two steps waits for its numbers.
    ("o[e q] = a[q k] b[e k]", dict(e=70001, q=14, k=10), "float64", dict(direct=13.4, library=10.5, stages=13.9)),
]


@pytest.mark.parametrize(("text", "extents", "dtype", "times"), MEASURED)
def test_choices_are_near_the_fastest(text, extents, dtype, times):
    backend, sizes = get_backend("cuda", arch="sm_90"), dict(extents)
    if np.prod([extents[i] for i in text[2 : text.index("]")].split()]) < 1024:
        plan = Contraction(text, sizes, dtype, backend=backend, batch="")
    else:
        entries = sizes.pop(text[2])
        plan = Contraction(text, sizes, dtype, backend=backend, entries=entries)
    assert times[plan.how.name] <= NEAR * min(times.values()), plan.how


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_library_transposes_its_second_factor(dtype):
    """5184 numbers each way on an H200: 4.92 ms in double precision, neither 5.03, the first 5.09; 5.62, 6.00, 5.86 in
    single precision. The other factors are copied anyway, in either order."""
    sizes = dict.fromkeys("abcdef", 72)
    steps = [fold.dense(indices, sizes) for indices in ("dcba", "fdea", "cebf")]
    ways = [way for way in fold.ways(fold.fold(sizes, *steps)) if not way.loops and not way.sums]
    best = min(ways, key=lambda way: library_costs.seconds("threads", dtype, way))
    assert products.transposed(best) == (False, True)


def triples(name, dtype):
    """The plan of a contraction of TCCG at its own extents."""
    sizes = tccg.extents(name)
    entries = sizes.pop(name.split("-")[0][-1])
    return Contraction(tccg.text(name), sizes, dtype, backend=get_backend("cuda", arch="sm_90"), entries=entries)


@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name in tccg.TRIPLES.split() for dtype in TYPES])
def test_triples_go_straight_to_the_output(name, dtype):
    """float64 89 to 93 us, by stages 100 to 115; float32 56 to 61, through a finished tile 68 to 87."""
    flow = triples(name, dtype).how.flow
    assert flow.straight and flow.holds


def test_large_products_and_ragged_tiles_do_not_go_straight():
    """A long sum, an output that is no larger than its factors, tiles that the extents do not fill."""
    target = get_backend("cuda", arch="sm_90")
    for sizes in (dict(i=960, j=960, k=960), dict(i=9600, j=96, k=24), dict(i=1601, j=1601, k=24)):
        plan = Contraction("o[i j] = a[i k] b[k j]", sizes, backend=target, batch="")
        assert not any(getattr(how, "flow", None) and how.flow.straight for _, how, _ in plan.candidates), sizes


def test_blocks_that_hold_a_factor():
    """A sum of 64 terms leaves room for three."""
    text, sizes = "o[b d x] = a[b c x] w[c d]", dict(d=128, c=64, x=784)
    plan = Contraction(text, sizes, "float32", backend=get_backend("cuda", arch="sm_90"), entries=32)
    assert plan.how.flow.holds and plan.how.flow.blocks == 3


def test_loads_that_are_under_way_together_divide_a_sum():
    """33 terms: three times 11, not two times 16 and one."""
    assert [sums._even(turns, 16) for turns in (1, 16, 17, 33, 1000)] == [1, 16, 9, 11, 16]
    sizes = dict(i=33, j=65)
    plan = Contraction(
        "o[b j] = a[b i j]", sizes, "float32", get_backend("cuda", arch="sm_90"), how="sums", entries=3000
    )
    assert "u < 11" in plan.source.text
