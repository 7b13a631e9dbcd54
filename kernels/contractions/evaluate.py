"""A tensor expression statement by statement with a library's einsum: what kernels are held against."""

from __future__ import annotations

import numpy as np

from ..engine.errors import ArgumentError, FrameError, refuse

ROUNDINGS = 200  # in eps of the sum of the terms' sizes: sums of up to 64 terms, thrice


def evaluate(e, arrays, einsum, sign=lambda number: number) -> list:
    """Values of the outputs, in the text's order. arrays: name -> array, of NumPy, CuPy or torch; outputs that are
    added to are changed in place. einsum(text, *arrays) of the library; sign(number): what a term's number counts as.
    Raises ArgumentError for a map, whose function is C++."""

    def value(s, t, held):
        if all(f.indices == s.out.indices for f in t.factors):  # pointwise
            product = 1.0
            for f in t.factors:
                product = product * held[f.name]
        else:
            letters: dict[str, str] = {}
            for f in (*t.factors, s.out):
                for i in f.indices:
                    letters.setdefault(i, chr(ord("a") + len(letters)))
            word = lambda f: "".join(letters[i] for i in f.indices)
            factors = [held[f.name] for f in t.factors]
            product = einsum(f"{','.join(map(word, t.factors))}->{word(s.out)}", *factors)
        number = sign(t.number)
        return product if number == 1 else -product if number == -1 else number * product

    held = dict(arrays)
    for s in e.statements:
        refuse(s.function, f"'{s}' is a map: its function is C++.", ArgumentError)
        for k, t in enumerate(s.terms):
            if s.add or k:
                held[s.out.name] += value(s, t, held)  # in place, as `+=` says
            else:
                found = value(s, t, held)
                held[s.out.name] = found + 0 if any(found is x for x in held.values()) else found
    return [held[name] for name in e.outputs]


def worst(found, wanted, sizes, eps: float = float(np.finfo(float).eps)) -> float:
    """The largest error over the size of the terms. Raises FrameError above ROUNDINGS eps, and for NaN."""
    off = max(float((abs(f - w) / (s + (s == 0))).max()) if f.size else 0.0 for f, w, s in zip(found, wanted, sizes))
    refuse(not off <= ROUNDINGS * eps, f"off by {off:.1e} of the terms' size.", FrameError)
    return off
