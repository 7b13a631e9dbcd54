"""A plan as a C function of a single point: straight code, for loops of a host's own. See one_point.h."""

from __future__ import annotations

import dataclasses

from ...engine.backend.base import Source
from ..plan import Plan
from ..records import PointKernel
from ..registry import registry
from ..structure import structure
from .text import bodies, call, defines, discarded, dropped, folders, include, spelled_headers, start

ALONE = "engine/numbers/alone.h"  # doubles of a point by itself
FUNCTION = """\
HOSTS_FN void {name}(const double *__restrict__ numbers_in, double *__restrict__ numbers_out) {{
    const Arithmetic plain;
    const PointMixture &m = the_mixture();
    (void)numbers_in, (void)m;
    {body}
}}
"""


@dataclasses.dataclass(frozen=True)
class PointLayout:
    """The name of a function of one point, and the places of its numbers."""

    given: dict[str, int]  # place of each input's first number
    made: dict[str, int]  # place of each output's first number
    name: str = "frame_point"


def render_point(p: Plan, layout: PointLayout, constants: str) -> Source:
    """The source of a plan for one point at a time, in precision "alone", or "scalar" for a device.

    constants: definition of a macro: of the constants themselves, or of a text that differs where they do.
    """
    text = [
        f"#define {constants}\n{defines(p)}{_packs(p)}{include(ALONE)}typedef double real;\n",
        structure(p) + spelled_headers(p) + include("gas/schedules/one_point.h"),
        FUNCTION.format(name=layout.name, body="\n    ".join(_body(p, layout))),
    ]
    return Source(
        p.name,
        "\n".join(text),
        folders(p),
        spelled_vectors=True,
        bodies=bodies(p),
        pieces=p.pieces,
        entry=layout.name,
    )


def _packs(p: Plan) -> str:
    """The macro of narrower packs, for functions with a root of a cubic or steps of Newton's method.

    These are long chains of single doubles. A processor of Intel's has half of its units for single doubles while it
    works on packs of 512 bits.
    """
    iterates = any("unconverged" in kernel.writes for kernel in p.kernels)
    return "" if p.flags["equation_ideal"] and not iterates else "#define NARROW_PACKS\n"


def _body(p: Plan, layout: PointLayout) -> list[str]:
    """Inputs, calls in their order, results."""
    lines, lost = [], dropped(p)
    declared = set(p.reads)
    for name in p.reads:
        lines += _input(p, layout, name)

    for kernel in _composition_first(p):
        lines += discarded(p, kernel, lost[kernel], "real")

        for name in kernel.writes:
            if name not in declared and name not in lost[kernel]:
                declared.add(name)
                lines.append(_result(p, layout, kernel, name))

        lines.append(call(p, kernel, lost[kernel], "real").text())

    for name in p.writes:
        if not _has_rows(name):
            lines.append(f"numbers_out[{layout.made[name]}] = {name};")
    return lines


def _composition_first(p: Plan) -> list[PointKernel]:
    """The kernels in their order, those that need the composition alone first: the rest waits for T and a root."""
    written = {name for kernel in p.kernels for name in kernel.writes}
    known = {name for name in p.reads if _has_rows(name)} - written

    first, others = [], []
    for kernel in p.kernels:
        if known.issuperset(kernel.reads):
            first.append(kernel)
            known.update(kernel.writes)
        else:
            others.append(kernel)
    return first + others


def _input(p: Plan, layout: PointLayout, name: str) -> list[str]:
    """The declaration of an input. An input that is updated is copied to its place among the results."""
    place = layout.given[name]
    if not _has_rows(name):
        return [f"real {name} = numbers_in[{place}];"]
    if name not in p.writes:
        return [f"const EvenRows<real, 1> {name}{{(real *)numbers_in + {place}}};"]

    made = layout.made[name]
    return [
        f"for (int k = 0; k < {p.rows(name)}; ++k) numbers_out[{made} + k] = numbers_in[{place} + k];",
        f"const EvenRows<real, 1> {name}{{numbers_out + {made}}};",
    ]


def _result(p: Plan, layout: PointLayout, kernel: PointKernel, name: str) -> str:
    """The declaration of a kernel's results: a number, rows of an output, or rows that other kernels read. All rows
    have one type, since a body may have one for several of its arguments."""
    if not _has_rows(name):
        return f"real {name}{start(kernel)};"
    if name in p.writes:
        return f"const EvenRows<real, 1> {name}{{numbers_out + {layout.made[name]}}};"
    return f"real numbers_{name}[{p.rows(name)}]; const EvenRows<real, 1> {name}{{numbers_{name}}};"


def _has_rows(name: str) -> bool:
    return bool(registry.quantities[name].per)
