"""Runs every kernel of `bench tensor`'s table once, with few entries, and products of two tensors by tiles and by the
library with copies: what gpu_tensor_sanitize.sh looks at.

python tests/gpu_tensor_kernels.py compile     fills the cache of kernels and ends
python tests/gpu_tensor_kernels.py run         runs them
A further word `chosen`: only the organisations that are taken without tuning. `products`: no other than products.
"""

import concurrent.futures
import os
import sys

import numpy as np

from frame.tools.bench import tccg, tensor
from kernels import Contraction, get_backend
from kernels.contractions.organisations import direct, library

OLD = ("team", "tiles", "slices")  # of the triples kernels: minutes under a checker

# Products of TCCG, some of whose factors and outputs run along different indices; extents that tiles do not divide.
PRODUCTS = ("abc-bda-dc", "abcd-dbea-ec", "ab-cad-dcb", "abcd-aedf-fbec", "abcdef-degb-gfac", "abcdef-gdac-efgb")
EXTENTS = dict(zip("abcdefg", (12, 7, 9, 20, 6, 5, 23)))
PRODUCT_ENTRIES = 11


def products(backend) -> list[Contraction]:
    """Each product by all tiles that serve it, in some parts too, and by the library's first ways."""
    found = []
    for dtype in ("float64", "float32"):
        for name in PRODUCTS:
            sizes = {index: EXTENTS[index] for index in sorted(set(name) - {"-"})}
            sizes.pop(name.split("-")[0][-1])
            make = lambda how, name=name, sizes=sizes, dtype=dtype: Contraction(
                tccg.text(name), sizes, dtype, backend=backend, how=how
            )
            p = make("direct").program
            tiles = direct.Direct.candidates(p)
            ways = [library.DeviceLibrary(rank) for rank in library.RANKS]
            found += [make(how) for how in (*tiles, *ways)]
    return [*found, *sums(backend)]


def sums(backend) -> list[Contraction]:
    """Long sums of few numbers, in parts."""
    text, sizes = "o[c l] += a[c l p] b[c p]", dict(l=3, p=1000)
    found = []
    for dtype, near in (("float64", 1), ("float64", 2), ("float32", 4)):
        how = f"sums threads=256 lanes=32 near={near} parts=8"
        found.append(Contraction(text, sizes, dtype, backend=backend, how=how))
    return found


def main(what: str = "run", which: str = "all") -> None:
    backend = get_backend("cuda")
    cases = [] if which == "products" else tensor.device_cases()
    some = {case.name: tensor.ways(case, backend)[: 1 if which == "chosen" else None] for case in cases}

    if what == "compile":
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            plans = [plan for plans in (*some.values(), products(backend)) for plan in plans]
            list(pool.map(lambda plan: plan.compile(), plans))
        return

    todo = [(plan, PRODUCT_ENTRIES) for plan in products(backend)]
    for case in cases:
        triples = case.entries == 16
        todo += [(plan, 16 if triples else 5) for plan in some[case.name] if not (triples and plan.how.name in OLD)]

    rng = np.random.default_rng(0)
    for plan, entries in todo:
        arrays = {
            a.name: backend.from_host(rng.random(plan.shape(a.name, entries)), plan.dtype)
            for a in plan.program.arguments
        }
        plan.bind(arrays, entries)()
        backend.synchronize()

    print(f"{len(todo)} kernels ran", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
