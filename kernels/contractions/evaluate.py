"""A tensor expression statement by statement with a library's einsum: what kernels are held against."""

from __future__ import annotations

import numpy as np

from ..engine.errors import ArgumentError, FrameError, refuse

ROUNDINGS = 200  # in eps of the sum of the terms' sizes: sums of up to 64 terms, thrice


def evaluate(e, arrays, einsum, sign=float) -> list:
    """Values of the outputs, in the text's order.

    arrays: name -> array, of NumPy, CuPy or torch; outputs that are added to are changed in place. einsum(text,
    *arrays): the library's. sign(number): the number that a term's number counts as. Raises ArgumentError for a map,
    whose function is C++.
    """
    held = dict(arrays)
    for s in e.statements:
        refuse(s.function, f"'{s}' is a map: its function is C++.", ArgumentError)
        for k, t in enumerate(s.terms):
            value = _times(sign(t.number), _product(s, t, held, einsum))
            if s.add or k:
                held[s.out.name] += value  # in place, as `+=` says
                continue

            is_alias = any(value is x for x in held.values())
            held[s.out.name] = value + 0 if is_alias else value

    return [held[name] for name in e.outputs]


def _times(number, product):
    """number * product; the product itself for 1."""
    if number == 1:
        return product
    return -product if number == -1 else number * product


def _product(s, t, held, einsum):
    """The product of a term's factors, summed over the indices that the output does not have."""
    factors = [held[f.name] for f in t.factors]
    if all(f.indices == s.out.indices for f in t.factors):
        product = 1.0
        for factor in factors:
            product = product * factor
        return product

    letters: dict[str, str] = {}
    words = []
    for f in (*t.factors, s.out):
        for i in f.indices:
            letters.setdefault(i, chr(ord("a") + len(letters)))
        words.append("".join(letters[i] for i in f.indices))
    *inputs, output = words
    return einsum(f"{','.join(inputs)}->{output}", *factors)


def worst(found, wanted, sizes, eps: float = float(np.finfo(float).eps)) -> float:
    """The largest error over the size of the terms. Raises FrameError above ROUNDINGS eps, and for NaN."""
    off = max(float((abs(f - w) / (s + (s == 0))).max()) if f.size else 0.0 for f, w, s in zip(found, wanted, sizes))
    refuse(not off <= ROUNDINGS * eps, f"off by {off:.1e} of the terms' size.", FrameError)
    return off
