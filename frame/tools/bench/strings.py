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
from typing import NamedTuple

import numpy as np

from kernels import contract, einsum, get_backend
from kernels.contractions import repeats

from ...errors import FrameError
from .. import tables
from . import report
from .clocks import FAR_OFF, in_turns, processor_seconds

LEVEL = 0.97  # of the best rival's pace
PLAIN = 3e8  # multiply-adds that numpy.einsum does without an order of evaluation
ROUNDINGS = 16  # of a value, beside one for each term of a sum
TYPES = {"d": "float64", "f": "float32", "z": "complex128", "c": "complex64"}
ORGANISATIONS = ("rows", "folded", "lanes", "sweep", "direct", "library", "apart")


# How an array lies. C: its last index is fastest. F: the first one is. T: the first and the last index are exchanged in
# memory. N: the last index runs backwards. G: every other number. 0: one number for all values of the first index.
class String(NamedTuple):
    """A string with its arrays."""

    field: str  # who writes it
    text: str
    extents: str  # of the indices: "i=3 j=4"; an ellipsis: "...=2x3"
    lie: str = ""  # a letter for each operand; "": all C
    types: str = "d"  # letters of TYPES, a row each


STRINGS = (
    # Derivatives, interpolation, geometry, quadrature on elements
    String("elements", "il,eljk->eijk", "e=500 i=8 j=8 k=8 l=8", types="df"),
    String("elements", "jl,eilk->eijk", "e=500 i=8 j=8 k=8 l=8"),
    String("elements", "kl,eijl->eijk", "e=500 i=8 j=8 k=8 l=8", types="df"),
    String("elements", "kl,eijl->eijk", "e=64 i=12 j=12 k=12 l=12"),
    String("elements", "il,jm,kn,elmn->eijk", "e=200 i=8 j=8 k=8 l=6 m=6 n=6"),
    String("elements", "il,jm,elm->eij", "e=2000 i=5 j=5 l=4 m=4"),
    String("elements", "eijk,eijk->e", "e=500 i=8 j=8 k=8"),
    String("elements", "eq,eqij,eqi->eqj", "e=500 q=27 i=3 j=3"),
    String("elements", "q,eqi,eqj->eij", "e=1000 q=8 i=8 j=8"),
    String("elements", "eqia,eqib,eq->eab", "e=500 q=8 i=3 a=8 b=8"),
    # Batches of tiny matrices
    String("tiny", "bij,bjk->bik", "b=100000 i=2 j=2 k=2"),
    String("tiny", "bij,bjk->bik", "b=50000 i=3 j=3 k=3", types="dfz"),
    String("tiny", "bij,bjk->bik", "b=50000 i=4 j=4 k=4", types="df"),
    String("tiny", "bij,bj->bi", "b=100000 i=3 j=3", types="df"),
    String("tiny", "ijb,jb->ib", "b=100000 i=3 j=3"),
    String("tiny", "ijb,jkb->ikb", "b=50000 i=3 j=3 k=3"),
    String("tiny", "bij,bkj->bik", "b=50000 i=3 j=3 k=3"),
    String("tiny", "bii->b", "b=100000 i=3", types="df"),
    String("tiny", "bii->bi", "b=100000 i=3"),
    String("tiny", "bi,bij,bj->b", "b=100000 i=3 j=3"),
    String("tiny", "ab,bc,cd->ad", "a=4 b=4 c=4 d=4"),
    String("tiny", "ab,bc,cd,de,ef->af", "a=3 b=3 c=3 d=3 e=3 f=3"),
    String("tiny", "ij,j->i", "i=3 j=3"),
    String("tiny", "ij,jk->ik", "i=8 j=8 k=8", types="dz"),
    String("tiny", "i,i->", "i=10"),
    String("tiny", "b,bij->ij", "b=50000 i=3 j=3"),
    String("tiny", "pij,pkj,kl->pil", "p=20000 i=3 j=3 k=3 l=3"),
    # Traces, diagonals, repeated indices
    String("diagonals", "ii->", "i=2000"),
    String("diagonals", "ii->i", "i=2000"),
    String("diagonals", "bii->b", "b=1000 i=64"),
    String("diagonals", "bii->bi", "b=1000 i=64"),
    String("diagonals", "iib->b", "b=1000 i=64"),
    String("diagonals", "ijij->ij", "i=40 j=50"),
    String("diagonals", "ijj->i", "i=500 j=300"),
    String("diagonals", "ii,ij->j", "i=1000 j=800"),
    String("diagonals", "bij,bij->b", "b=1000 i=30 j=30"),
    String("diagonals", "ij,ji->", "i=1000 j=1000", types="df"),
    String("diagonals", "ij,ij->", "i=1000 j=1000"),
    String("diagonals", "ij,jk,ki->", "i=200 j=200 k=200"),
    String("diagonals", "aij,bji->ab", "a=30 b=30 i=40 j=40"),
    # Sums, moves, scalings
    String("sums", "ij->i", "i=2000 j=1500"),
    String("sums", "ij->j", "i=2000 j=1500", types="df"),
    String("sums", "ijk->j", "i=100 j=200 k=150"),
    String("sums", "ijk->kji", "i=120 j=130 k=140", types="df"),
    String("sums", "ij->ji", "i=1500 j=1400"),
    String("sums", "ij,j->ij", "i=1500 j=1000", types="df"),
    String("sums", "ij,i->ij", "i=1500 j=1000"),
    String("sums", "ij,j->ji", "i=1500 j=1000"),
    String("sums", "ij,ij->ij", "i=1500 j=1000", types="dz"),
    String("sums", "ij,ij->ij", "i=1500 j=1000", "CF"),
    String("sums", "ij,ij,ij->i", "i=1500 j=1000"),
    String("sums", ",ij->ij", "i=1500 j=1000"),
    String("sums", "ij,ij->ij", "i=1500 j=1000", "NG"),
    String("sums", "ij->i", "i=2000 j=1500", "F"),
    String("sums", "i,ij->ij", "i=1500 j=1000", "C0"),
    # Statistics
    String("statistics", "n,ni,nj->ij", "n=100000 i=8 j=8", types="df"),
    String("statistics", "n,ni,nj->ij", "n=5000 i=50 j=50"),
    String("statistics", "ni,nj->ij", "n=20000 i=30 j=30"),
    String("statistics", "ki,kj->ij", "k=100000 i=16 j=16"),
    String("statistics", "ik,jk->ij", "k=100000 i=16 j=16"),
    String("statistics", "ki,kj->ij", "k=2000 i=300 j=300", "FF"),
    String("statistics", "ni,ij,nj->n", "n=20000 i=20 j=20", types="df"),
    String("statistics", "i,ij,j->", "i=1000 j=1000"),
    String("statistics", "n,ni->i", "n=50000 i=20"),
    String("statistics", "ni,nj,nk->ijk", "n=20000 i=8 j=8 k=8"),
    String("statistics", "nk,nki->ki", "n=20000 k=5 i=8"),
    String("statistics", "nk,ni,nj->kij", "n=10000 k=4 i=6 j=6"),
    # Machine learning
    String("learning", "bhqd,bhkd->bhqk", "b=4 h=8 q=128 k=128 d=64", types="f"),
    String("learning", "bhqk,bhkd->bhqd", "b=4 h=8 q=128 k=128 d=64", types="f"),
    String("learning", "bqhd,bkhd->bhqk", "b=4 h=8 q=128 k=128 d=64", types="f"),
    String("learning", "bhqk,bkhd->bqhd", "b=4 h=8 q=128 k=128 d=64", types="f"),
    String("learning", "...i,ij->...j", "...=16x64 i=256 j=256", types="f"),
    String("learning", "...i,oi->...o", "...=8x32 i=128 o=512", types="fd"),
    String("learning", "btd,dhk->bthk", "b=4 t=128 d=256 h=8 k=32", types="f"),
    String("learning", "nd,kd->nk", "n=5000 d=32 k=64", types="f"),
    String("learning", "ijd,ij->id", "i=50 j=60 d=64", types="df"),
    String("learning", "bi,io,bo->", "b=64 i=256 o=128", types="f"),
    String("learning", "nchw,oc->nohw", "n=8 c=64 h=28 w=28 o=32", types="f"),
    String("learning", "bn,anm,bm->ba", "b=64 a=20 n=40 m=40"),
    String("learning", "ecd,ed->ec", "e=64 c=40 d=128", types="f"),
    # Quantum chemistry
    String("chemistry", "pqrs,rs->pq", "p=40 q=40 r=40 s=40"),
    String("chemistry", "prqs,rs->pq", "p=40 q=40 r=40 s=40"),
    String("chemistry", "pqrs,pi,qj,rk,sl->ijkl", "p=16 q=16 r=16 s=16 i=10 j=10 k=10 l=10"),
    String("chemistry", "pqQ,pi,qa->iaQ", "p=60 q=60 Q=100 i=10 a=50"),
    String("chemistry", "iaQ,jbQ->iajb", "i=8 j=8 a=30 b=30 Q=80"),
    String("chemistry", "iajb,ijab->", "i=12 j=12 a=30 b=30"),
    String("chemistry", "ijcd,abcd->ijab", "i=8 j=8 a=24 b=24 c=24 d=24"),
    String("chemistry", "ikac,kcjb->ijab", "i=10 j=10 k=10 a=20 b=20 c=20"),
    String("chemistry", "mi,mn,nj->ij", "m=100 n=100 i=100 j=100", types="dz"),
    String("chemistry", "pi,qi,i->pq", "p=120 q=120 i=30"),
    # Tensor networks
    String("networks", "abc,cde->abde", "a=32 b=2 c=32 d=2 e=32", types="dz"),
    String("networks", "ab,acd,bce->de", "a=50 b=50 c=2 d=50 e=50", types="dz"),
    String("networks", "ab,asc,stde,btf->cdf", "a=24 b=24 s=2 c=24 t=2 d=2 e=1 f=24"),
    String("networks", "lab,lwr,awsx,rsd->bxd", "l=16 a=5 b=16 w=2 r=16 s=2 x=5 d=16"),
    String("networks", "ai,bij,cjk,dk->abcd", "a=4 b=4 c=4 d=4 i=10 j=10 k=10"),
    String("networks", "ia,ajb,bkc,cl->ijkl", "i=20 a=5 j=20 b=5 k=20 c=5 l=20"),
    String("networks", "ijk,il,jm,kn->lmn", "i=60 j=60 k=60 l=8 m=8 n=8"),
    String("networks", "abcd,de,bf->aecf", "a=8 b=8 c=8 d=8 e=8 f=8"),
    # Decompositions of tensors
    String("decompositions", "ir,jr->ijr", "i=200 j=200 r=20", types="df"),
    String("decompositions", "ijk,jr,kr->ir", "i=100 j=100 k=100 r=16", types="df"),
    String("decompositions", "ijk,ir,kr->jr", "i=100 j=100 k=100 r=16"),
    String("decompositions", "ijk,ir,jr->kr", "i=100 j=100 k=100 r=16"),
    String("decompositions", "ir,jr,kr->ijk", "i=80 j=80 k=80 r=16"),
    String("decompositions", "abc,ia,jb,kc->ijk", "a=8 b=8 c=8 i=60 j=60 k=60"),
    String("decompositions", "ij,kl->ikjl", "i=40 j=40 k=30 l=30"),
    String("decompositions", "ir,ir->r", "i=5000 r=20"),
    # Outer products
    String("outer", "i,j->ij", "i=1500 j=1500", types="dfz"),
    String("outer", "i,j->ij", "i=30 j=30"),
    String("outer", "i,j,k->ijk", "i=120 j=120 k=120"),
    String("outer", "bi,bj->bij", "b=5000 i=20 j=20"),
    String("outer", "bi,bj->bij", "b=50000 i=3 j=3"),
    # Matrices in all layouts
    String("matrices", "ij,jk->ik", "i=300 j=300 k=300", "FC"),
    String("matrices", "ij,jk->ik", "i=300 j=300 k=300", "TN"),
    String("matrices", "ij,jk->ik", "i=60 j=60 k=60", types="df"),
    String("matrices", "ij,j->i", "i=1000 j=1000", types="df"),
    String("matrices", "ji,j->i", "i=1000 j=1000"),
    String("matrices", "ij,j->i", "i=1000 j=1000", "GN"),
    String("matrices", "bij,bjk->bik", "b=200 i=20 j=20 k=20", types="dc"),
    String("matrices", "bij,jk->bik", "b=200 i=20 j=20 k=20", "TC"),
    String("matrices", "bij,bjk->bik", "b=100 i=30 j=30 k=30", "0C"),
    String("matrices", "ij,kj->ik", "i=64 j=2000 k=64"),
)


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
        """Of all loops at once."""
        return math.prod(itertools.chain.from_iterable(self.sizes.values()))

    def _shape(self, part: str) -> tuple[int, ...]:
        before, dots, after = part.partition("...")
        names = [*before, *([dots] if dots else []), *after]
        return tuple(itertools.chain.from_iterable(self.sizes[name] for name in names))

    # ---- works
    def ours(self):
        return einsum(self.string.text, *self.operands)

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
    """The organisation that the call takes; "view" where nothing is computed."""
    found = repeats.of_string((call.string.text, *call.operands))
    if found is None:
        return "view"
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
    for string in asked_for(STRINGS, given.cases):
        rows += [measure(Call(string, TYPES[letter]), given.rounds) for letter in string.types]
    head = f"strings of einsum, one core: {rows[0]['device']}"
    report.show([head, "", table(rows), "", *summary(rows)], rows, given.json)
    return rows
