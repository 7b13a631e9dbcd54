"""Random calls of einsum with its whole grammar, and numpy.einsum in wider types as the oracle.

Tolerance: 4 K eps sum|terms|. K: the length of the sum, a rounding for each factor, twice that for complex numbers.
"""

import dataclasses
import math
import string

import numpy as np

MOST = 2000  # turns of all loops, but those of an ellipsis
EPS = {2: 2.0**-10, 4: 2.0**-23, 8: 2.0**-52}  # of half, single, double
WIDER = {"f": np.longdouble, "c": np.clongdouble, "i": np.longdouble, "u": np.longdouble, "b": np.longdouble}


@dataclasses.dataclass
class Call:
    """A call of einsum: its positional arguments, and what it asks for."""

    text: str
    operands: list
    listed: tuple | None  # the same as arrays and lists of indices; None: the string is used
    with_out: bool
    order: str  # of the result in memory

    @property
    def given(self):
        return self.listed if self.listed else (self.text, *self.operands)


TYPES = ["float64", "float32", "complex128", "complex64"]


def random_call(rng) -> Call:
    """Up to 7 operands and 6 letters; an ellipsis, repeated indices, broadcast extents, scalars, types, strides."""
    sizes = _random_sizes(rng)
    dots = [int(rng.choice([1, 2, 3])) for _ in range(rng.integers(0, 3))] if rng.random() < 0.4 else []
    kinds = str(rng.choice(["same", "mixed", "whole"], p=[0.6, 0.3, 0.1]))
    same = str(rng.choice(TYPES))

    words, operands = [], []
    for _ in range(rng.integers(1, 8 if rng.random() < 0.2 else 5)):
        word, shape = _random_operand(rng, sizes, dots)
        words.append(word)
        operands.append(_array(rng, shape, _random_type(rng, kinds, same)))
        if not shape and rng.random() < 0.3:
            operands[-1] = operands[-1].item()  # a number of Python's

    text = _random_text(rng, words)
    listed = _listed(text, operands) if rng.random() < 0.25 else None
    return Call(text, operands, listed, bool(rng.random() < 0.3), str(rng.choice(list("KKKCFA"))))


def _random_sizes(rng) -> dict[str, int]:
    """{letter: extent}, of at most MOST turns; few have no turn."""
    letters = list(rng.permutation(list("abcdefXY"))[: rng.integers(1, 7)])
    sizes = {letter: int(rng.choice([1, 2, 3, 4, 5, 8, 13])) for letter in letters}
    if rng.random() < 0.03:
        sizes[letters[0]] = 0

    while math.prod(sizes.values()) > MOST:
        sizes[max(sizes, key=sizes.__getitem__)] = 2

    return sizes


def _random_operand(rng, sizes, dots) -> tuple[str, list[int]]:
    """(indices, shape) of an operand. dots: extents of the ellipsis; an operand may have the last of them."""
    own = [letter for letter in sizes if rng.random() < 0.5]
    if own and rng.random() < 0.2:
        own.insert(int(rng.integers(0, len(own) + 1)), own[0])  # a diagonal
    own = list(rng.permutation(own)) if own else []

    shape = [sizes[letter] for letter in own]
    for place, letter in enumerate(own):
        if rng.random() < 0.1 and own.count(letter) == 1:
            shape[place] = 1  # broadcast

    word = "".join(own)
    if dots and rng.random() < 0.6:
        at = int(rng.integers(0, len(own) + 1))
        tail = dots[int(rng.integers(0, len(dots) + 1)) :]
        tail = [1 if rng.random() < 0.2 else extent for extent in tail]
        word = word[:at] + "..." + word[at:]
        shape = [*shape[:at], *tail, *shape[at:]]

    return word, shape


def _random_type(rng, kinds: str, same: str) -> str:
    """The type of an operand."""
    dtype = same if kinds == "same" else str(rng.choice(["int8", "int32", "bool"]))
    if kinds == "mixed":
        dtype = str(rng.choice([*TYPES, "int16", "float16"]))

    return dtype


def _random_text(rng, words: list[str]) -> str:
    """The string: the operands' indices, most times with an arrow and some of them in any order."""
    dots = "..." if any("..." in word for word in words) else ""
    used = sorted(set("".join(words)) - {"."})
    kept = [letter for letter in rng.permutation(used) if rng.random() < 0.5] if used else []
    at = int(rng.integers(0, len(kept) + 1))

    text = ",".join(words)
    if rng.random() < 0.8 or not text.strip(","):
        text += "->" + "".join(kept[:at]) + dots + "".join(kept[at:])

    return text


def _array(rng, shape, dtype):
    """Numbers of a type, in an array that lies in any way."""
    kind = np.dtype(dtype).kind
    if kind in "biu":
        x = rng.integers(0 if kind == "b" else -2, 2 if kind == "b" else 3, shape)
    else:
        x = np.asarray(rng.random(shape) - 0.5, dtype)
        if kind == "c":
            x = x + 1j * (rng.random(shape) - 0.5)
    x = np.asarray(x, dtype)

    if x.ndim and x.shape[0] and rng.random() < 0.15:
        return np.broadcast_to(x[:1], x.shape)
    lies = room(rng, x.shape, x.dtype)
    lies[...] = x
    lies.flags.writeable = bool(rng.random() < 0.9)
    return lies.view(Own) if rng.random() < 0.1 else lies


class Own(np.ndarray):
    """A class of a caller's: parts of its arrays keep all dimensions, as those of np.matrix do."""

    def __getitem__(self, key):
        found = np.asarray(self)[key]
        return np.atleast_2d(found) if self.ndim == 2 else found


def room(rng, shape, dtype):
    """An array to be filled: with gaps, backwards, Fortran's order, a section, in the other byte order, at any byte, a
    field of a structure."""
    shape, dtype = tuple(map(int, shape)), np.dtype(dtype)
    way = str(rng.choice(["plain", "gaps", "backwards", "Fortran", "section", "swapped", "any byte", "field"]))
    if way == "gaps" and shape:
        return np.ones((2 * shape[0], *shape[1:]), dtype)[::2]
    if way == "backwards" and shape:
        return np.ones(shape, dtype)[..., ::-1]
    if way == "Fortran":
        return np.ones(shape, dtype, order="F")
    if way == "section":
        return np.ones([n + 2 for n in shape], dtype)[(..., *(slice(1, 1 + n) for n in shape))]
    if way == "swapped":
        return np.ones(shape, dtype.newbyteorder())
    if way == "any byte":
        size = dtype.itemsize * math.prod(shape)
        return np.ones(size + 3, np.uint8)[3:].view(dtype).reshape(shape)
    if way == "field":
        return np.ones(shape, [("a byte", np.int8), ("value", dtype)])["value"]
    return np.ones(shape, dtype)


def _listed(text: str, operands):
    """The call as arrays and lists of indices."""
    left, arrow, right = text.partition("->")
    number = {letter: k for k, letter in enumerate(string.ascii_uppercase + string.ascii_lowercase)}

    def indices(word):
        before, dots, after = word.partition("...")
        return [number[c] for c in before] + [Ellipsis] * bool(dots) + [number[c] for c in after]

    made = []
    for word, array in zip(left.split(","), operands):
        made += [array, indices(word)]
    return (*made, indices(right)) if arrow else tuple(made)


def _wider(array):
    array = np.asarray(array)
    return array.astype(WIDER[array.dtype.kind])


def type_of(call: Call) -> np.dtype:
    """NumPy's type of the result. Python's numbers take the arrays' type."""
    return np.result_type(*(getattr(a, "dtype", a) for a in call.operands)).newbyteorder("=")


def expected(call: Call):
    """(values in a wider type, sum of the terms' sizes, NumPy's type of the result, length of the sum)."""
    dtype = type_of(call)
    value = np.einsum(call.text, *map(_wider, call.operands))
    size = np.einsum(call.text, *(abs(_wider(a)) for a in call.operands))
    terms = np.einsum(call.text, *(np.ones(np.shape(a)) for a in call.operands))
    return value, size, dtype, float(np.max(terms, initial=1.0))


def close(found, value, size, dtype, terms, factors: int) -> bool:
    """Within 4 K eps sum|terms|, for each part of a complex number; whole numbers exactly."""
    if found.dtype != dtype or found.shape != np.shape(value):
        return False
    if dtype.kind == "b":
        return np.array_equal(found, np.asarray(value) != 0)
    if dtype.kind in "iu":
        return np.array_equal(found, np.asarray(value).astype(dtype))

    eps = EPS[dtype.itemsize // (2 if dtype.kind == "c" else 1)]
    roundings = (terms + factors) * (2 if dtype.kind == "c" else 1)
    off = np.abs(_wider(found) - value)
    return bool(np.all(off <= 4 * roundings * eps * size))


def fits(call: Call) -> bool:
    """Whether whole numbers stay in NumPy's type of the result."""
    dtype = type_of(call)
    if dtype.kind not in "iu":
        return True
    value = np.asarray(np.einsum(call.text, *map(_wider, call.operands)))
    limits = np.iinfo(dtype)
    return bool(np.all((value >= limits.min) & (value <= limits.max)))


def with_a_nan(call: Call, rng):
    """(the call with a NaN in one number of an operand, which numbers of the result it may reach); None if no operand
    can have it."""
    able = [k for k, a in enumerate(call.operands) if np.size(a) and np.shape(a) and a.dtype.kind in "fc"]
    if not able or call.listed:
        return None
    k = int(rng.choice(able))
    place = tuple(int(rng.integers(n)) for n in call.operands[k].shape)

    changed = np.array(call.operands[k], order="K")
    changed[place] = np.nan
    alone = [np.ones(np.shape(a)) for a in call.operands]
    alone[k] = np.zeros(changed.shape)
    alone[k][place] = 1
    operands = [changed if j == k else a for j, a in enumerate(call.operands)]
    return dataclasses.replace(call, operands=operands), np.einsum(call.text, *alone) != 0


def check_random(contract, backend, seed: int, count: int) -> int:
    """`count` random calls on a backend, each made twice: the second one finds what the first one planned. Returns how
    many agree; raises AssertionError that shows the first that does not."""
    rng, done = np.random.default_rng(seed), 0
    while done < count:
        call = random_call(rng)
        if not fits(call):
            continue
        value, size, dtype, terms = expected(call)
        options = {"backend": backend, "order": call.order}
        if backend.memory == "device":
            options["quick"] = True
        if call.with_out:
            out = room(rng, np.shape(value), dtype)
            options["out"] = out if backend.memory == "host" else backend.from_host(out, dtype)

        def values(call, options=options):
            return np.array(backend.to_host(contract(*call.given, **options)))

        told = seed, call.text, [(np.shape(a), getattr(a, "strides", a), type(a)) for a in call.operands]
        for _ in range(2):
            if call.with_out and dtype.kind in "fc":
                options["out"][...] = np.nan
            found = values(call)
            native = found.astype(found.dtype.newbyteorder("="))
            assert close(native, value, size, dtype, terms, len(call.operands)), told

        spoiled = with_a_nan(call, rng)
        if spoiled:
            other, reached = spoiled
            apart = values(other)[~reached]
            assert np.array_equal(np.isnan(apart), np.isnan(found[~reached])), ("NaN", *told)
        done += 1
    return done
