"""Outer products at a point: eight organisations in two layouts, for texts such as
`out[y x] = ax[x] ay[y] + bx[x] by[y]` with the point index t (organisation.py says which). The headers do the work.

packs.py and threads.py list every variant worth a try on CPUs and on CUDA, and the one taken where nobody chose.
"""

from __future__ import annotations

from ...engine.backend.record import record
from ...engine.errors import VariantUnsuitable, refuse
from ..organisations import price_of
from ..plan import Program
from . import packs, threads
from .organisation import LAYOUTS, REST, STRATEGIES, Outer, Terms, members, source, terms_of

__all__ = ["LAYOUTS", "STRATEGIES", "Outer", "Terms", "choices", "launch", "source", "terms_of", "variants"]
KINDS: dict[str, type] = dict.fromkeys(STRATEGIES, Outer)
STYLES = {"packs": packs, "threads": threads}


def variants(t: Terms, dtype: str, style: str) -> list[Outer]:
    """Every variant worth a try; those that a device cannot hold say so when they are bound."""
    return STYLES[style].variants(t, dtype)


def choices(p: Program, style: str, least: float) -> list[tuple[float, Outer]]:
    """The default, and of every other organisation the first variant, where the program is an outer product. least: the
    price of the best organisation for anything."""
    t = terms_of(p)
    if t is None:
        return []
    default, found = STYLES[style].default(t, p.dtype), dict[str, Outer]()
    for v in variants(t, p.dtype, style):
        found.setdefault(v.name, v)
    found[default.name] = default
    best, rest = (least * price_of(name) for name in ("outer", "outer_rest"))
    return [(best if how == default else rest, how) for how in found.values()]


def launch(plan, how: Outer, arrays, values, n: int):
    """run(): all n points. Raises VariantUnsuitable where the arrays do not lie as the organisation needs, or where the
    device lacks what it needs."""
    p, backend = plan.program, plan.backend
    t = terms_of(p)
    assert t is not None
    size, names = plan.dtype.itemsize, [a.name for a in p.arguments]
    rows = {values[f"ld_{name}"] for name in names} if t.layout == "left" else {0}
    refuse(len(rows) > 1, f"{how.label}: rows of different lengths {sorted(rows)}.", VariantUnsuitable)
    apart = [name for name in names if t.layout == "right" and n > 1 and values[f"step_{name}"] != p.arrays[name].size]
    refuse(bool(apart), f"{how.label}: entries of '{''.join(apart[:1])}' lie apart.", VariantUnsuitable)
    refuse(
        any(place % how.aligned for place in (*(values[f"at_{x}"] for x in names), *(r * size for r in rows))),
        f"{how.label}: arrays are not aligned to {how.aligned} bytes.",
        VariantUnsuitable,
    )
    refuse(
        how.generation > backend.generation,
        f"{how.label}: it needs compute capability {how.generation}, this is {backend.generation}.",
        VariantUnsuitable,
    )
    module = backend.compile(plan.render(p, how))
    held = record(members(p), **{f"at_{x}": values[f"at_{x}"] for x in names}, **{f"ld_{t.out}": rows.pop()})
    keep = list(arrays.values())
    run = module.bind("contraction", how.shape, held, keep=keep)
    if n % t.vector(how) == 0:
        return lambda: run(n)
    rest = module.bind("contraction_rest", REST, held, keep=keep)
    return lambda: (run(n), rest(n))
