"""Tensor expressions by numpy.einsum in double precision, and random ones.

A statement is (out, operator, terms): out and factors are (name, indices), a term is (number, factors). An index is one
letter. Nothing of the layer is used.
"""

import math

import numpy as np


class Value:
    """value: by einsum. size: the sum of the terms' sizes, which rounding errors are relative to. steps: roundings in a
    row, at most."""

    def __init__(self, value, size=None, steps=0):
        self.value = np.asarray(value, np.float64)
        self.size = abs(self.value) if size is None else size
        self.steps = steps


def evaluate(statements, arrays) -> dict[str, Value]:
    """Values of all names that the statements write, from arrays by name (inputs, and old values)."""
    known = {name: Value(a) for name, a in arrays.items()}
    extents = {
        i: x
        for _, _, terms in statements
        for _, factors in terms
        for name, indices in factors
        if name in arrays
        for i, x in zip(indices, np.shape(arrays[name]))
    }

    for (name, indices), operator, terms in statements:
        shape = tuple(extents[i] for i in indices)
        total, size, steps = np.zeros(shape), np.zeros(shape), 0

        for number, factors in terms:
            left = ",".join(i for _, i in factors)
            kept = "".join(i for i in indices if i in left)
            spread = tuple(slice(None) if i in left else None for i in indices)
            values = [known[f] for f, _ in factors]
            product = lambda of: np.einsum(f"{left}->{kept}", *of, optimize=len(factors) > 2)[spread]
            total = total + number * product([v.value for v in values])
            size = size + abs(number) * product([v.size for v in values])
            summed = math.prod(extents[i] for i in {*left} - {*indices, ","})
            steps = max(steps, summed + len(factors) + sum(v.steps for v in values))

        steps += len(terms)
        if operator != "=":
            old = known[name]
            total = old.value + total if operator == "+=" else old.value - total
            size, steps = old.size + size, max(steps, old.steps) + 1

        known[name] = Value(total, size, steps)

    return {name: known[name] for (name, _), _, _ in statements}


def close(found, wanted: Value, eps: float) -> bool:
    """Within 4 K eps sum|terms|, K roundings in a row."""
    found = np.asarray(found, np.float64)
    return bool(np.all(np.abs(found - wanted.value) <= 4 * max(wanted.steps, 1) * eps * wanted.size))


def text(statements, brackets="[]") -> str:
    """As the layer reads it; with round brackets in Fortran's order."""

    def reference(name, indices):
        if brackets == "()":
            return f"{name}({','.join(reversed(indices))})"
        return f"{name}[{' '.join(indices)}]"

    lines = []
    for out, operator, terms in statements:
        right = " ".join(
            f"{'-' if number < 0 else '+'} {abs(number):g} {' '.join(reference(*f) for f in factors)}"
            for number, factors in terms
        )
        lines.append(f"{reference(*out)} {operator} {right.removeprefix('+ ')}")

    return "\n".join(lines)


def random_statements(rng, count: int, layout: str, most: int = 3000):
    """(statements, extents): each has up to 4 factors and 8 indices, its own names, and the batch index e in its
    output and at least one factor, first (layout "right") or last ("left"). Some factors are shared by the batch, some
    by several statements, some are diagonals."""
    made, extents, known = [], {}, []
    for number in range(count):
        letters = [chr(c) for c in rng.permutation(np.arange(ord("f"), ord("f") + 18))[: rng.integers(1, 8)]]
        while True:
            sizes = {i: int(rng.choice([1, 2, 3, 4, 5, 8, 9])) for i in letters}
            if math.prod(sizes.values()) <= most:
                break
            letters = letters[:-1]

        # names of indices are one letter each, so statements share letters: their extents have to agree
        sizes = {i: extents.get(i, x) for i, x in sizes.items()}
        if math.prod(sizes.values()) > most:
            continue

        with_e = lambda indices: "e" + indices if layout == "right" else indices + "e"
        terms, used = [], set()

        for t in range(rng.integers(1, 3)):
            many = int(rng.integers(1, 5))
            factors = []

            for k in range(many):
                own = "".join(i for i in rng.permutation(letters) if rng.random() < 0.6)
                if rng.random() < 0.2:  # a diagonal
                    own += str(rng.choice(letters))
                batched = k == 0 or rng.random() < 0.5
                factor = (f"a{number}{t}{k}", with_e(own) if batched else own or str(letters[0]))
                shared = [earlier for earlier in known if set(earlier[1]) <= {*letters, "e"}]
                if k and shared and rng.random() < 0.3:
                    factor = shared[rng.integers(len(shared))]
                factors.append(factor)

            terms.append((float(rng.choice([1.0, 1.0, -1.0, 0.5, -2.0])), tuple(factors)))
            have = {i for _, indices in factors for i in indices} - {"e"}
            used = have if t == 0 else used & have

        kept = "".join(i for i in rng.permutation(sorted(used)) if rng.random() < 0.6) if used else ""
        extents |= {i: sizes[i] for _, factors in terms for _, indices in factors for i in indices if i != "e"}
        known += [factor for _, factors in terms for factor in factors]
        made.append(((f"o{number}", with_e(kept)), str(rng.choice(["=", "=", "+=", "-="])), tuple(terms)))

    return made, extents


def random_arrays(rng, statements, extents, batch: int, dtype, whole=False):
    """Inputs of the statements, and NaN or old values in the outputs. whole: small whole numbers, so that sums are
    exact."""
    fill = lambda shape: (rng.integers(-3, 4, shape) if whole else rng.random(shape) - 0.5).astype(dtype)
    shape = lambda indices: tuple(batch if i == "e" else extents[i] for i in indices)
    arrays = {}

    for (name, indices), operator, terms in statements:
        for _, factors in terms:
            for factor, own in factors:
                arrays[factor] = fill(shape(own))
        arrays[name] = fill(shape(indices)) if operator != "=" else np.full(shape(indices), np.nan, dtype)

    return arrays
