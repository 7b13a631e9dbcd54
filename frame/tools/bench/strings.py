"""`bench tensor --strings`: strings of einsum as users write them, beside numpy.einsum and opt_einsum, on one core.

Calls are whole calls, einsum(string, arrays), which come again: the time of short calls is what it takes to find the
plan and to start it. Arrays stay in the caches if they fit. Values are checked first; then all run in turns, and
medians of processor time count.
"""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from collections.abc import Callable

import numpy as np

from kernels import contract, einsum, get_backend
from kernels.contractions import repeats, small_products

from ...errors import FrameError
from .. import tables
from . import report
from .clocks import FAR_OFF, in_turns, processor_seconds
from .string_cases import OTHERS, STRINGS, String

LEVEL = 0.97  # of the best rival's pace
PLAIN = 3e8  # multiply-adds that numpy.einsum does without an order of evaluation
ROUNDINGS = 16  # of a value, beside one for each term of a sum
TYPES = {"d": "float64", "f": "float32", "z": "complex128", "c": "complex64"}
ORGANISATIONS = ("rows", "folded", "lanes", "sweep", "direct", "library", "apart")


class Call:
    """A string on arrays of a type, random numbers from -0.5 to 0.5. xp: the arrays' module, NumPy's or CuPy's."""

    def __init__(self, string: String, dtype: str, xp=np):
        self.string, self.dtype, self.xp = string, np.dtype(dtype), xp
        self.sizes: dict[str, tuple[int, ...]] = {}  # of an ellipsis several

        for word in string.extents.split():
            index, _, extents = word.partition("=")
            self.sizes[index] = tuple(map(int, extents.split("x")))

        rng = np.random.default_rng(0)
        parts = string.text.split("->")[0].split(",")
        lies = string.lie or "C" * len(parts)
        self.operands = [_laid(xp, rng, self._shape(part), self.dtype, lie) for part, lie in zip(parts, lies)]

    @property
    def name(self) -> str:
        return f"{self.string.text} {self.string.lie}".strip()

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of all loops at once."""
        return math.prod(itertools.chain.from_iterable(self.sizes.values()))

    def _shape(self, part: str) -> tuple[int, ...]:
        before, dots, after = part.partition("...")
        names = [*before, *([dots] if dots else []), *after]
        return tuple(itertools.chain.from_iterable(self.sizes[name] for name in names))

    # ---- works
    @functools.cached_property
    def ours(self) -> Callable:
        """Called as the rivals are: nothing of Python's stands in between."""
        return functools.partial(einsum, self.string.text, *self.operands)

    def by(self, how: str):
        """By an organisation."""
        return contract(self.string.text, *self.operands, how=how)

    def rivals(self) -> dict[str, Callable]:
        """The rivals that this machine has. Plain loops only where they end."""
        text, operands = self.string.text, self.operands
        found: dict[str, Callable] = {"numpy, optimize": functools.partial(np.einsum, text, *operands, optimize=True)}
        if self.multiply_adds < PLAIN:
            found["numpy"] = functools.partial(np.einsum, text, *operands)
        try:
            import opt_einsum
        except ImportError:
            return found
        return {**found, "opt_einsum": functools.partial(opt_einsum.contract, text, *operands)}

    # ---- values
    def check(self) -> float:
        """The largest difference from numpy.einsum in double precision, in eps of the sum of the terms' sizes. Raises
        FrameError above a rounding for each term of a sum and some more."""
        xp = self.xp
        wide = [a.astype(np.result_type(a.dtype, np.float64)) for a in self.operands]
        wanted = xp.einsum(self.string.text, *wide, optimize=True)
        terms = xp.einsum(self.string.text, *map(abs, wide), optimize=True)
        summed = self.multiply_adds // max(wanted.size, 1)

        eps = float(np.finfo(self.dtype).eps)
        off = float((abs(self.ours() - wanted) / xp.maximum(terms, np.finfo(float).tiny)).max()) / eps
        if not off <= summed + ROUNDINGS:
            raise FrameError(f"{self.name}, {self.dtype}: off by {off:.3g} eps, wanted {summed + ROUNDINGS} at most.")
        return off


def _laid(xp, rng, shape, dtype: np.dtype, lie: str):
    """An array of random numbers that lies so."""

    def numbers(extents):
        values = rng.random(extents) - 0.5
        if dtype.kind == "c":
            values = values + 1j * (rng.random(extents) - 0.5)
        return xp.asarray(values, dtype)

    if lie == "F":
        return xp.asfortranarray(numbers(shape))
    if lie == "T":
        return numbers((shape[-1], *shape[1:-1], shape[0])).swapaxes(0, -1)
    if lie == "N":
        return numbers(shape)[..., ::-1]
    if lie == "G":
        return numbers((*shape[:-1], 2 * shape[-1]))[..., ::2]
    if lie == "0":
        return xp.broadcast_to(numbers(shape[1:]), shape)
    return numbers(shape)


# ---- measuring ------------------------------------------------------------------------------------------------------


def measure(call: Call, rounds: int) -> dict:
    """A row: ours, the best rival, and the fastest of our organisations. Raises FrameError for a wrong value."""
    off = call.check()
    works: dict[str, Callable] = {"ours": call.ours}

    for how in ORGANISATIONS:
        if _serves(call, how):
            works[f"by {how}"] = functools.partial(call.by, how)

    rivals = call.rivals()

    clocks = (processor_seconds,)
    times = in_turns({name: (work, clocks) for name, work in {**works, **rivals}.items()}, rounds, FAR_OFF)
    medians = {name: float(np.median(found)) for name, found in times.items()}
    best = min(rivals, key=lambda name: medians[name])
    fastest = min(works, key=lambda name: medians[name])

    backend = get_backend("cpu")
    return {
        "bench": "tensor",
        "field": call.string.field,
        "case": call.name,
        "extents": call.string.extents,
        "dtype": call.dtype.name,
        "seconds": medians["ours"],
        "how": chosen(call),
        "rival": best,
        "rival_seconds": medians[best],
        "ratio": medians[best] / medians["ours"],
        "fastest": fastest.removeprefix("by "),
        "fastest_seconds": medians[fastest],
        "off": off,
        "backend": str(backend),
        "device": backend.product,
    }


def _serves(call: Call, how: str) -> bool:
    try:
        call.by(how)
    except FrameError:
        return False
    return True


def chosen(call: Call) -> str:
    """The organisation that the call takes; "view" where nothing is computed, "numpy" of small products by NumPy."""
    found = repeats.of_string((call.string.text, *call.operands))
    if found is None:
        return "view"
    if isinstance(found, small_products.Call):
        return "numpy"
    plan = found.plan
    parts = getattr(plan, "products", None) or getattr(plan, "parts", plan)
    return parts.how.name


# ---- table ----------------------------------------------------------------------------------------------------------


def table(rows) -> str:
    """The rows as text."""
    lines = [("string", "type", "by", "us", "best rival", "us", "beside it", "fastest of ours", "us")]
    for row in rows:
        us, rival, fastest = (f"{row[key] * 1e6:.1f}" for key in ("seconds", "rival_seconds", "fastest_seconds"))
        ours = (row["case"], row["dtype"], row["how"], us)
        lines.append((*ours, row["rival"], rival, f"{row['ratio']:.2f}x", row["fastest"], fastest))

    return "\n".join(tables.to_the_left(lines))


def summary(rows) -> list[str]:
    """Lines: the geometric mean by fields, and of all."""
    lines = []
    for field in (*dict.fromkeys(row["field"] for row in rows), ""):
        ratios = [row["ratio"] for row in rows if field in ("", row["field"])]
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        below = sum(ratio < LEVEL for ratio in ratios)
        lines.append(
            f"{field or 'all'}: geometric mean {mean:.2f}, least {min(ratios):.2f}, "
            f"{below} of {len(ratios)} below {LEVEL}"
        )

    return lines


def asked_for(known: tuple[String, ...], cases: str) -> list[String]:
    """The strings whose field or text begins with a name that was asked for. Raises FrameError if there is none."""
    prefixes = tuple(cases.split("|"))
    found = [s for s in known if s.text.startswith(prefixes) or s.field.startswith(prefixes)]
    if not found:
        raise FrameError(f"--strings --cases '{cases}': wanted a field or the beginning of a string.")
    return found


def run(given) -> list[dict]:
    """Rows of the strings that were asked for, on a CPU. Raises FrameError for usage."""
    rows = []
    for string in asked_for((*STRINGS, *OTHERS), given.cases):
        rows += [measure(Call(string, TYPES[letter]), given.rounds) for letter in string.types]
    head = f"strings of einsum, one core: {rows[0]['device']}"
    report.show([head, "", table(rows), "", *summary(rows)], rows, given.json)
    return rows
