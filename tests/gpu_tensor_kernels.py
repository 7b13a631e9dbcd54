"""Runs every kernel of `bench tensor`'s table once, with few entries, and products of two tensors by tiles and by the
library with copies: what gpu_tensor_sanitize.sh looks at.

python tests/gpu_tensor_kernels.py compile     fills the cache of kernels and ends
python tests/gpu_tensor_kernels.py run         runs them
A further word `chosen`: only the organisations that are taken without tuning. `products`: no other than products.
`strings`: the strings of `bench tensor --strings --backend cuda` with small extents, by every organisation.
"""

import concurrent.futures
import contextlib
import itertools
import os
import sys

import numpy as np

from frame.tools.bench import device_strings, tccg, tensor
from kernels import ComplexContraction, Contraction, get_backend
from kernels.contractions.organisations import direct, family, library
from kernels.engine.errors import ArgumentError

OLD = ("team", "tiles", "slices")  # of the triples kernels: minutes under a checker

# Products of TCCG, some of whose factors and outputs run along different indices; extents that tiles do not divide.
PRODUCTS = ("abc-bda-dc", "abcd-dbea-ec", "ab-cad-dcb", "abcd-aedf-fbec", "abcdef-degb-gfac", "abcdef-gdac-efgb")
EXTENTS = dict(zip("abcdefg", (12, 7, 9, 20, 6, 5, 23)))
PRODUCT_ENTRIES, STRING_ENTRIES = 11, 9
SMALL = (7, 5, 33, 3, 6, 4)  # extents of strings, in turn
TYPES = {"d": "float64", "f": "float32", "z": "complex128", "c": "complex64"}


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

    return [*found, *sums(backend), *moments(backend), *columns(backend)]


def sums(backend) -> list[Contraction]:
    """Long sums of few numbers, in parts."""
    text, sizes = "o[c l] += a[c l p] b[c p]", dict(l=3, p=1000)
    found = []

    for dtype, near in (("float64", 1), ("float64", 2), ("float32", 4)):
        how = f"sums threads=256 lanes=32 near={near} parts=8"
        found.append(Contraction(text, sizes, dtype, backend=backend, how=how))

    return found


def moments(backend) -> list[Contraction]:
    """The same by a thread for all numbers: neighbours of a row at once, of a sum, none; complex numbers."""
    found = []
    for text, near in (("o[i j] = a[p i] b[p j]", 2), ("o[i j] = a[i p] b[j p]", 2), ("o[i j] += a[i p] b[p j]", 1)):
        sizes, how = dict(i=4, j=6, p=1004), f"moments threads=64 near={near} parts=5"
        found.append(Contraction(text, sizes, backend=backend, batch="", how=how))

    complex_how = "moments threads=64 parts=5"
    text, sizes = "o[i j] = a[p i] b[p j]", dict(i=4, j=6, p=1004)
    found.append(ComplexContraction(text, sizes, backend=backend, batch="", how=complex_how))
    return found


def columns(backend) -> list[Contraction]:
    """Sums over the rows of a matrix, by 16 bytes, in parts."""
    found = []
    for dtype, near in (("float64", 2), ("float32", 4)):
        sizes, how = dict(i=7, p=1003), f"columns threads=256 near={near} parts=5"
        found.append(Contraction("o[i] += w[p] a[p i]", sizes, dtype, backend=backend, batch="", how=how))

    return found


def strings(backend) -> list[Contraction]:
    """Each string, in its first type, by every organisation that serves it; an ellipsis stands for two indices."""
    texts = {string.text: TYPES[string.types[0]] for string in device_strings.STRINGS}
    found = []

    for text, dtype in texts.items():
        kind = ComplexContraction if dtype.startswith("complex") else Contraction
        sizes = dict(zip(sorted(filter(str.isalpha, set(text))), itertools.cycle(SMALL)))
        if "..." in text:
            sizes["..."] = (3, 2)

        for how in family(backend.style).kinds:
            with contextlib.suppress(ArgumentError):  # it does not serve the string
                found.append(kind(text, sizes, dtype, backend=backend, how=how))

    return found


def table(backend, which: str) -> list[tuple[Contraction, int]]:
    """The plans of `bench tensor`'s table, each with its entries; without the slowest organisations of the triples."""
    found = []
    for case in tensor.device_cases():
        triples = case.entries == 16
        plans = tensor.ways(case, backend)[: 1 if which == "chosen" else None]
        found += [(plan, 16 if triples else 5) for plan in plans if not (triples and plan.how.name in OLD)]

    return found


def chosen(backend, which: str) -> list[tuple[Contraction, int]]:
    """The plans that the command's word asks for, each with its entries."""
    if which == "strings":
        return [(plan, STRING_ENTRIES if plan.expression.batch else 1) for plan in strings(backend)]
    found = [(plan, PRODUCT_ENTRIES if plan.expression.batch else 1) for plan in products(backend)]
    return found if which == "products" else found + table(backend, which)


def run(plan: Contraction, entries: int, backend, rng) -> None:
    """A run on random arrays."""
    arrays = {}
    for name in dict.fromkeys((*plan.expression.inputs, *plan.expression.outputs)):
        arrays[name] = backend.from_host(rng.random(plan.shape(name, entries)), plan.dtype)
    plan.bind(arrays, entries)()


def main(what: str = "run", which: str = "all") -> None:
    backend = get_backend("cuda")
    todo = chosen(backend, which)

    if what == "compile":
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda pair: pair[0].compile_ahead(), todo))
        return

    rng = np.random.default_rng(0)
    for plan, entries in todo:
        run(plan, entries, backend, rng)
        backend.synchronize()

    print(f"{len(todo)} kernels ran", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
