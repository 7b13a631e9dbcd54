"""The C++ of team kernels: a record of arguments, the struct in which a body finds its operands, the kernel."""

from __future__ import annotations

import typing

import numpy as np

from ..engine.backend.base import Source
from ..engine.backend.record import structure
from .words import KINDS

if typing.TYPE_CHECKING:
    from .declare import TeamKernel

LEAGUE = "shares:address arena:address bytes:whole:2 pieces:address piece_count:whole ended:address"


def members(k: TeamKernel) -> str:
    """The record of a kernel."""
    words = [LEAGUE, f"extent:whole:{len(k.count)}"]
    words += [f"at_{a.name}:address extent_{a.name}:whole:{len(a.extents)}" for a in k.arrays]
    words += [f"at_{name}:address" for name in k.sums]
    words += [f"n_{name}:{kind}" for name, kind in k.numbers]
    words += [f"n_{name}:whole" for name in k.inferred()]
    words += [f"start_{a.name}:whole piece_{a.name}:whole extent_{a.name}:whole:{len(a.extents)}" for a in k.scratch]
    words += [f"at_{name}:address size_{name}:whole" for name, _ in k.tokens]

    return " ".join(words)


def _operands(k: TeamKernel) -> str:
    """The struct that a body finds its arrays and numbers in."""
    fields, start = [], []
    for a in k.arrays:
        kind = f"{'' if a.written else 'const '}{KINDS[a.kind]}"
        fields.append(f"View<{kind}, {len(a.extents)}, {a.layout}> {a.name};")
        start.append(f"{a.name}(({kind} *)a.at_{a.name}, a.extent_{a.name})")

    for name, kind in k.numbers:
        fields.append(f"{'double' if kind == 'real' else 'long'} {name};")
        start.append(f"{name}(a.n_{name})")

    for name in k.inferred():
        fields.append(f"long {name};")
        start.append(f"{name}(a.n_{name})")

    for a in k.scratch:
        fields.append(
            f"Scratch<{KINDS[a.kind]}, {len(a.extents)}, {a.level}, {'true' if a.of_member else 'false'}> {a.name};"
        )
        start.append(f"{a.name}(a.start_{a.name}, a.piece_{a.name}, a.extent_{a.name})")

    for name, _ in k.tokens:
        fields.append(f"Token {name};")
        start.append(f"{name}{{(unsigned *)a.at_{name}, a.size_{name}}}")

    begin = f"POINT_FN explicit operands_{k.name}(const arguments_{k.name} &a)"
    return "\n".join(
        [
            f"struct operands_{k.name} {{",
            *fields,
            f"{begin} : {', '.join(start)} {{}}" if start else f"{begin} {{ (void)a; }}",
            "};",
        ]
    )


def _kernel(k: TeamKernel, style: str, team: int, vector: int) -> str:
    """One kernel `run_NAME` for a backend's style."""
    packs = style == "packs"
    team, vector = (1, 1) if packs else (team, vector)
    sums = "".join(f", sums[{n}]" for n in range(len(k.sums)))
    flag = lambda x: "true" if x else "false"

    own = {
        "league": f"for_league<Team<{team}, {vector}>, {len(k.sums)}, {flag(k.scratch)}, "
        f"{flag(any(a.level for a in k.scratch))}>",
        "range": f"for_range<{team * vector}, {len(k.sums)}>",
        "tiles": f"for_tiles<{len(k.sums)}, {len(k.count)}, {flag(k.order == 'right')}"
        + ("" if packs else f", {team * vector}")
        + ">",
    }[k.kind]

    call = {
        "league": f"[&](const auto &team, scalar *sums) {{ (void)sums, {k.body}(m, team{sums}); }}",
        "range": f"[&](const auto i, auto *sums) {{ (void)sums, {k.body}(m, i{sums}); }}",
        "tiles": f"[&](auto *sums, const auto... i) {{ (void)sums, {k.body}(m, i...{sums}); }}",
    }[k.kind]

    totals = ", ".join([*(f"(scalar *)a.at_{name}" for name in k.sums), "nullptr"])
    given = ["items", *(["threads"] if packs else []), "league", "totals"]
    more = ["a.extent", "tile"] if k.kind == "tiles" else []

    return "\n".join(
        [
            structure(f"arguments_{k.name}", members(k)),
            _operands(k),
            f"KERNEL(run_{k.name}, arguments_{k.name}, {team * vector}) {{",
            *([f"const arguments_{k.name} &a = *record;"] if packs else []),
            f"const operands_{k.name} m(a);",
            "const League league{(scalar *)a.shares, (char *)a.arena, {a.bytes[0], a.bytes[1]},",
            "                    {(unsigned *)a.pieces, a.piece_count}, (unsigned *)a.ended};",
            f"scalar *const totals[] = {{{totals}}};",
            *([f"const int tile[] = {{{', '.join(map(str, k.tile))}}};"] if more else []),
            f"{'return ' if packs else ''}{own}({', '.join([*given, *more])}, {call});",
            "}",
        ]
    )


def render(kernels, style: str, dtype, quick=False, team=None, vector=None) -> Source:
    """The source of kernels that share a header."""
    header = kernels[0].header
    text = [
        *(["#define FRAME_SINGLE"] if np.dtype(dtype) == np.float32 else []),
        *(['#include "engine/numbers/pack.h"'] if style == "packs" else []),
        '#include "teams/team.h"',
        f'#include "{header}"',
        *(_kernel(k, style, *k.organisation(team, vector)) for k in kernels),
        "",
    ]

    takes = {"league": "a team", "range": "an index", "tiles": "the indices"}
    bodies = {
        k.body: (k.body, header, f"takes {takes[k.kind]}" + "".join(f", then {x}" for x in k.sums)) for k in kernels
    }
    return Source(f"team-{header.stem}", "\n".join(text), (header.parent,), quick=quick, bodies=tuple(bodies.values()))
