"""Organisation `lanes`: packs of entries that are not full, whatever the place of the batch index."""

import numpy as np
import pytest

from kernels import Contraction, get_backend

PLACES = {  # text, extents of the arrays in their order, e: the batch
    "slowest": ("c[e i] = a[e i j] b[e j]", "eij ej ei"),
    "fastest": ("c[i e] = a[i j e] b[j e]", "ije je ie"),
    "middle": ("c[i e k] = a[i e j k] b[e j]", "iejk ej iek"),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("place", PLACES)
def test_packs_that_are_not_full(place, dtype):
    """Memory beside the arrays is not read (a NaN there would be seen) and not written."""
    text, indices = PLACES[place]
    sizes = dict(i=19, j=17, k=3) if "k" in text else dict(i=19, j=17)
    plan = Contraction(text, sizes, dtype, backend=get_backend("cpu", threads=1), batch="e", how="lanes", quick=True)
    rng = np.random.default_rng(0)

    for n in (1, 2, 7, 9, 15, 16, 17, 31):
        held = {}
        for name, own in zip("abc", indices.split()):
            shape = [n if i == "e" else sizes[i] for i in own]
            room = np.full(int(np.prod(shape)) + 128, np.nan, dtype)
            held[name] = room[64:-64].reshape(shape)
            if name != "c":
                held[name][...] = rng.integers(-3, 4, shape)

        plan.bind(held, n)()
        left, right, out = indices.split()
        assert np.array_equal(held["c"], np.einsum(f"{left},{right}->{out}", held["a"], held["b"]))
        beside = np.delete(held["c"].base, np.s_[64:-64])
        assert np.isnan(beside).all()
