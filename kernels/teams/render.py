"""The C++ of team kernels: a record of arguments, the struct in which a body finds its operands, the kernel."""

from __future__ import annotations

import numpy as np

from ..engine.backend.base import Source
from ..engine.backend.entry import Entry
from ..engine.backend.record import structure
from . import texts
from .declaration import Declaration
from .words import TYPES, Array

LEAGUE = (
    "items:whole shares:address arena:address bytes:whole:2 pieces:address piece_count:whole ended:address "
    "report:address line:address"
)

LONG_PACK = 1024  # bytes of several vectors side by side, which follow columns of memory
LARGE = 2**20  # extent of an index where it is not known yet

OPERANDS = """\
struct operands_{name} {{
{fields}{constructor}
{methods}}};"""

OF_THREAD = """\
POINT_FN operands_{name} of_thread() const {{
operands_{name} own = *this;
{copies}return own;
}}
"""

PROBE = """\
TEAM_PROBE probe_{name}(const arguments_{name} &a, long number, char *const (&level)[2]) {{
const operands_{name} m(a);
probe<{one}, {results}>(number, a.items, level, {call});
}}
"""

BY_THREAD = "by_thread([m] {{ return {call}; }})"

KERNEL = """\
{record}
{operands}
{probe}KERNEL(run_{name}, arguments_{name}, {threads}) {{
{ahead}const operands_{name} m(a);
const League league{{(char *)a.shares, (char *)a.arena, {{a.bytes[0], a.bytes[1]}},
                    {{(unsigned *)a.pieces, a.piece_count}}, (unsigned *)a.ended, (Report *)a.report, a.chunk,
                    (const void *)a.line}};
const Place totals[] = {{{totals}}};
{tile}{begin}{answer}{loop}({arguments}, {call}{behind});
{end}}}"""


def members_of(k: Declaration) -> str:
    """The record of a kernel."""
    count = len(k.items.extents)
    words = [LEAGUE, f"chunk:whole begin:whole:{count} extent:whole:{count}", k.items.members()]

    for a in k.arrays:
        words.append(f"at_{a.name}:address extent_{a.name}:whole:{len(a.extents)}")
        if a.name in k.copied:
            words.append(f"copies_{a.name}:whole")
        elif a.scattered:
            words.append(f"copies_{a.name}:address")
    for a in k.outputs:
        words.append(f"at_{a.name}:address")

    for name, kind in k.numbers:
        words.append(f"n_{name}:{kind}")
    for name in k.inferred():
        words.append(f"n_{name}:whole")

    for a in k.scratch:
        words.append(f"start_{a.name}:whole piece_{a.name}:whole extent_{a.name}:whole:{len(a.extents)}")
    for name, _ in k.tokens:
        words.append(f"at_{name}:address size_{name}:whole")

    return " ".join(words)


class Operands:
    """The struct in which a body finds its arrays and numbers: members, and how the record `a` fills them. by_thread:
    the scattered arrays of which threads may have copies. ahead: {name: view} of the arrays of which accesses ask for
    lines ahead."""

    def __init__(self, kernel: Declaration, by_thread: list[str], ahead: dict[str, str]):
        self.kernel, self.by_thread, self.ahead = kernel, by_thread, ahead
        self.fields: list[str] = []
        self.filled: list[str] = []

        for array in kernel.arrays:
            self._array(array)
        for name, kind in kernel.numbers:
            self._number(name, "double" if kind == "real" else "long")
        for name in kernel.inferred():
            self._number(name, "long")

        for piece in kernel.scratch:
            self._scratch(piece)
        for name, _ in kernel.tokens:
            self._token(name)

    def _array(self, a: Array) -> None:
        view = f"View<{TYPES[a.kind]}, {len(a.extents)}, {a.layout}>"
        if a.scattered:
            address = f"({TYPES[a.kind]} *)a.at_{a.name}"
            kind = "ScatterInBlock" if a.name in self.kernel.copied else "Scatter"
            self.fields.append(f"{kind}<{view}> {a.name};")
            self.filled.append(f"{a.name}{{{view}({address}, a.extent_{a.name}), a.copies_{a.name}}}")
            return

        kind = TYPES[a.kind] if a.written else f"const {TYPES[a.kind]}"
        template = self.ahead.get(a.name, "View")
        view = f"{template}<{kind}, {len(a.extents)}, {a.layout}>"
        of_record = f"{view}(({kind} *)a.at_{a.name}, a.extent_{a.name})"
        if self.kernel.is_checked:
            self.fields.append(f"CheckedArray<{view}> {a.name};")
            self.filled.append(f"{a.name}({of_record}, {_told(a)})")
        elif a.streamed:
            self.fields.append(f"Streamed<{view}> {a.name};")
            self.filled.append(f"{a.name}{{{of_record}}}")
        else:
            self.fields.append(f"{view} {a.name};")
            self.filled.append(f"{a.name}({of_record})")

    def _number(self, name: str, kind: str) -> None:
        self.fields.append(f"{kind} {name};")
        self.filled.append(f"{name}(a.n_{name})")

    def _scratch(self, a: Array) -> None:
        self.fields.append(f"Scratch<{TYPES[a.kind]}, {len(a.extents)}, {a.level}, {_flag(a.of_member)}> {a.name};")
        told = f", {_told(a)}" if self.kernel.is_checked else ""
        self.filled.append(f"{a.name}(a.start_{a.name}, a.piece_{a.name}, a.extent_{a.name}{told})")

    def _token(self, name: str) -> None:
        self.fields.append(f"Token {name};")
        self.filled.append(f"{name}{{(unsigned *)a.at_{name}, a.size_{name}}}")

    def text(self) -> str:
        """The struct in C++."""
        name = self.kernel.name
        constructor = f"POINT_FN explicit operands_{name}(const arguments_{name} &a)"
        if self.filled:
            constructor += f" : {', '.join(self.filled)} {{}}"
        else:
            constructor += " { (void)a; }"

        fields = "".join([f"{field}\n" for field in self.fields])
        return OPERANDS.format(name=name, fields=fields, constructor=constructor, methods=self._methods())

    def _methods(self) -> str:
        """of_thread(): with this thread's copies of scattered arrays."""
        if not self.by_thread:
            return ""
        copies = "".join([f"own.{name} = this->{name}.of_thread();\n" for name in self.by_thread])
        return OF_THREAD.format(name=self.kernel.name, copies=copies)


def _told(a: Array) -> str:
    """C++ in check mode: where a problem is reported, and the array's name."""
    return f'Told{{(Report *)a.report, "{a.name}"}}'


def _flag(value) -> str:
    return "true" if value else "false"


def chosen(k: Declaration, entry: Entry) -> bool:
    """Whether the number of a team's members is chosen at the launch: a CPU's, if any number does."""
    return not entry.in_blocks and k.items.has_teams and k.any_team


def _kernel(k: Declaration, entry: Entry, number: int) -> str:
    """The text of a kernel `run_NAME`. number: its number in the source, from 1."""
    members, lanes = k.organisation()
    threads = members * lanes

    # The loop over the items, and the body as it calls it.
    team = f"Team<{members}, {lanes}, true>" if _reads_ahead(k, entry) else f"Team<{members}, {lanes}>"
    one = f"Team<1, {lanes}, {number}, {len(k.arrays)}>" if chosen(k, entry) else team
    of_results = f"Results<{', '.join([result.type for result in k.results])}>"
    loop = k.items.loop.format(
        team=team,
        one=one,
        threads=threads,
        results=of_results,
        copies=_flag(k.copied),
        scratch=_flag(k.scratch),
        level_1=_flag(any(a.level for a in k.scratch)),
        writes=_flag(any(a.written for a in k.arrays)),
        in_packs=_flag(_scans_in_packs(k, entry)),
        **k.items.text(str(threads) if entry.in_blocks else ""),
    )
    by_thread = [a.name for a in k.arrays if a.scattered and not entry.in_blocks]
    lines_ahead = [] if entry.in_blocks or k.is_checked else k.items.ahead_of(bool(by_thread))
    call = BY_THREAD.format(call=_call(k, "m = m.of_thread()")) if by_thread else _call(k, "m")
    begin = [f"m.{name}.begin()" for name in k.copied]
    end = _end(k, by_thread)

    # A probe of the body's loops over members, for a CPU that chooses their number.
    probe = PROBE.format(name=k.name, one=one, results=of_results, call=call) if chosen(k, entry) else ""

    # How much there is to do stands in the record: a launch without any still writes its results.
    work = ["a.items" if word == "items" else word for word in entry.work]

    return KERNEL.format(
        name=k.name,
        record=structure(f"arguments_{k.name}", members_of(k)),
        operands=Operands(k, by_thread, _asked_ahead(k, entry)).text(),
        probe=probe,
        threads=k.items.bounds(threads),
        ahead=entry.record.format(type=f"arguments_{k.name}"),
        totals=_totals(k),
        tile=k.items.ahead(),
        answer="const int failed = " if end and entry.answer else entry.answer,
        begin=_statements(begin),
        end=_statements(end),
        loop=loop,
        arguments=", ".join([*work, "league", "totals", *k.items.arguments]),
        call=call,
        behind="".join([f", {array}" for array in lines_ahead]),
    )


def _asked_ahead(k: Declaration, entry: Entry) -> dict[str, str]:
    """{name: view} of the arrays of which a CPU's accesses ask for lines ahead."""
    if entry.in_blocks or k.is_checked:
        return {}

    view = k.items.view_beside_atomics
    if view and texts.has_atomics(k.header, k.other_bodies()):
        return {a.name: view for a in k.arrays if not a.written}
    return dict.fromkeys(k.items.asked_ahead(), k.items.view_ahead)


def _call(k: Declaration, captured: str) -> str:
    """The body as the loop calls it. captured: its operands, in C++."""
    results = "".join([f", results.template at<{n}>()" for n in range(len(k.results))])
    return k.items.call.format(body=k.body, captured=captured, arguments_of_results=results)


def _totals(k: Declaration) -> str:
    """Where the results lie, and the indices of those that are located."""
    totals = []
    for result in k.results:
        at = f"(long *)a.at_{result.at}" if result.located else "nullptr"
        totals.append(f"{{a.at_{result.name}, {at}}}")

    return ", ".join([*totals, "{nullptr, nullptr}"])


def _end(k: Declaration, by_thread: list[str]) -> list[str]:
    """Statements behind the loop: copies of scattered arrays are added up. by_thread: those of a CPU's threads."""
    end = [f"m.{name}.contribute()" for name in k.copied]
    end += [f"m.{name}.contribute(threads)" for name in by_thread]
    if k.is_checked:
        end.append("return failed || league.report->problem[0]")
    elif by_thread:
        end.append("return failed")

    return end


def _statements(lines: list[str]) -> str:
    return "".join([f"{line};\n" for line in lines])


def together(kernel: Declaration, entry: Entry) -> list[Declaration]:
    """The kernels of its header that share a source with it.

    On a CPU leagues whose number of members is chosen are apart from the others: what the others do with atomics
    would count as if these did it. So are kernels that count the lanes at work, and those that go through packs lane by
    lane. A kernel whose tile follows from the extents is by itself.
    """
    if not kernel.items.is_sized:
        return [kernel.sized([LARGE] * len(kernel.items.extents), entry.in_blocks, lambda _: LARGE)]

    def source(k: Declaration) -> tuple[bool, ...]:
        return chosen(k, entry), counts_lanes(k, entry), goes_lane_by_lane(k, entry)

    return [k for k in kernel.of_header() if k.items.is_sized and source(k) == source(kernel)]


def ahead_of_extents(kernel: Declaration, entry: Entry) -> list[list[Declaration]]:
    """The sources that serve a kernel whatever its extents are: see `together`, and that of many indices."""
    groups = [together(kernel, entry)]
    many = kernel.sized([LARGE] * len(kernel.items.extents), entry.in_blocks, lambda _: LARGE)
    if kernel.items.is_sized and many is not kernel:
        groups.append([many])

    return groups


def render(kernels, entry: Entry, dtype, quick=False) -> Source:
    """The source of kernels that share a header.

    entry: of the backend. dtype: of real numbers. quick: the compiler's time counts more than the code's.
    """
    header = kernels[0].header
    text = [f"#define {macro}" for macro in _macros(kernels, entry, dtype)]

    for name in (*entry.includes, "teams/team.h", header):
        text.append(f'#include "{name}"')

    for number, kernel in enumerate(kernels, 1):
        text.append(_kernel(kernel, entry, number))

    return Source(
        f"team-{header.stem}",
        "\n".join([*text, ""]),
        (header.parent,),
        quick=quick,
        bodies=_bodies(kernels),
        functions=tuple([(f"run_{kernel.name}", kernel.name) for kernel in kernels]),
    )


def _macros(kernels, entry: Entry, dtype) -> list[str]:
    """The macros that choose between the headers' variants."""
    first = kernels[0]
    wanted = {
        f"LONG_PACKS {LONG_PACK}": first.items.has_long_packs and not first.is_checked,
        "FRAME_SINGLE": np.dtype(dtype) == np.float32,
        "CHECK_SCRATCH": first.is_checked,
        "CALLS_OUT_OF_LINE": texts.has_functions_out_of_line(first.header),
        "COUNTS_LANES": any(counts_lanes(kernel, entry) for kernel in kernels),
        "SINGLE_LANES": any(goes_lane_by_lane(kernel, entry) for kernel in kernels),
    }
    return [macro for macro, is_wanted in wanted.items() if is_wanted]


def counts_lanes(k: Declaration, entry: Entry) -> bool:
    """Whether a kernel may change a single element by an atomic, or add to it in a copy: a CPU's packs then count the
    lanes at work, for which short loops pay."""
    if entry.in_blocks:
        return False
    if any(array.scattered for array in k.arrays):
        return True
    return texts.changes_in_packs(k.header, k.other_bodies())


def _scans_in_packs(k: Declaration, entry: Entry) -> bool:
    """Whether a CPU's scan may call a body for packs."""
    if entry.in_blocks or k.is_checked or goes_lane_by_lane(k, entry):
        return False
    return not texts.has_single_lanes(k.header, k.other_bodies())


def goes_lane_by_lane(k: Declaration, entry: Entry) -> bool:
    """Whether a CPU calls a kernel for one index after the other: each lane of a pack would get another answer."""
    return not entry.in_blocks and texts.asks_in_packs(k.header, k.other_bodies())


def _reads_ahead(k: Declaration, entry: Entry) -> bool:
    """Whether a device's kernel may change whole numbers of 32 bits in scratch by atomics; see by_fours."""
    has_words = any(piece.kind == "int32" for piece in k.scratch)
    return entry.in_blocks and has_words and texts.has_atomics(k.header, k.other_bodies())


def _bodies(kernels) -> tuple:
    """(body, header, what it takes) of each body, for a compiler's errors."""
    found = {}
    for kernel in kernels:
        taken = [kernel.items.takes]
        for result in kernel.results:
            plain = f", or `{result.value} &{result.name}`" if kernel.items.takes_plain_sum else ""
            taken.append(f"`S &{result.name}`{plain}")
        if kernel.items.takes_behind:
            taken.append(kernel.items.takes_behind)
        found[kernel.body] = (kernel.body, kernel.header, f"takes {', then '.join(taken)}")

    return tuple(found.values())
