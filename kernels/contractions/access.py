"""Where the statements of a plan by stages read and write their arrays: pointers, steps, and C++ of places."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING

from .expression import Reference
from .plan import FAR, Loop, loops_over, step_text, steps, turns

if TYPE_CHECKING:
    from .stages.plan import Factors, Plan


@dataclasses.dataclass
class Access:
    """Where a reference is read: a pointer to what the team has, and the step of each index."""

    pointer: str
    steps: dict[str, int]
    ld: str  # C++ of the length of a row
    shared: bool  # in shared memory


def digits(loops: tuple[Loop, ...], number: str, letter: str, unsigned: bool = True) -> list[str]:
    """C++ of `number` as a turn of each loop: letter0, letter1, ..., the slowest first.

    unsigned: divisions by powers of two are unsigned, which take fewer instructions.
    """
    lines, size = [], 1
    for d in reversed(range(len(loops))):
        extent = loops[d].extent
        u = "u" if unsigned and size & (size - 1) == extent & (extent - 1) == 0 else ""

        value = f"unsigned({number})" if u else f"({number})"
        over = f" / {size}{u}" if size > 1 else ""
        rest = f" % {extent}{u}" if d else ""
        lines.append(f"const int {letter}{d} = {value}{over}{rest};")
        size *= extent

    return lines


def offset(loops: tuple[Loop, ...], letter: str, k: int, access: Access) -> str:
    """C++ of where array k of the loops is read, at the turns letter0, letter1, ..."""
    parts = []
    for d, loop in enumerate(loops):
        if loop.step[k]:
            step = step_text(loop.step[k], access.ld)
            parts.append(f"{letter}{d}" if step == "1" else f"{letter}{d} * ({step})")

    return " + ".join(parts) or "0"


def side_by_side(loops: tuple[Loop, ...]) -> bool:
    """Whether the numbers of an array alone lie side by side, in the order of its loops."""
    return len(loops) == 1 and loops[0].step == (1,)


class Accesses:
    """References with their accesses, and loops in which each reference has a step. sizes: extent of each index."""

    def __init__(self, sizes: dict[str, int], found: dict[Reference, Access]):
        self.sizes, self._found = sizes, found
        self._place = {r: k for k, r in enumerate(found)}

    def __contains__(self, r: Reference) -> bool:
        return r in self._found

    def __getitem__(self, r: Reference) -> Access:
        return self._found[r]

    def loops(self, indices) -> tuple[Loop, ...]:
        """Loops over indices, the slowest first."""
        return loops_over(indices, self.sizes, [x.steps for x in self._found.values()])

    def only(self, references) -> Accesses:
        """Some of the references, for loops of their own. References without an access are left out."""
        return Accesses(self.sizes, {r: self._found[r] for r in references if r in self._found})

    def step(self, r: Reference, loop: Loop) -> int:
        """The step of a reference along a loop."""
        return loop.step[self._place[r]]

    def at(self, r: Reference, loops: tuple[Loop, ...], letter: str) -> str:
        """C++ of where a reference is read from its pointer, at the turns letter0, letter1, ..."""
        return offset(loops, letter, self._place[r], self._found[r])


class Sum:
    """The sum of a product as four lanes read it: four numbers a step, or eight in two steps, pairs of neighbours.

    all_accesses: of the statement. sides: loops over its rows, columns and others. given: the rows' factor is in
    registers.
    """

    def __init__(self, writer, all_accesses: Accesses, term: Factors, sides, given: bool = False):
        self.term = term
        self.accesses = all_accesses.only((term.rows, term.columns))
        self.loops = self.accesses.loops(term.sums)
        self.extent = turns(self.loops)
        self.paired: list[Reference] = []  # factors of which a lane reads two neighbours at once

        if not given and writer.how.warp.paired and len(self.loops) == 1 and self.extent % 2 == 0:
            for r in dict.fromkeys((term.rows, term.columns)):
                if self._may_pair(writer.plan, all_accesses, r, sides):
                    self.paired.append(r)
                    writer.even.add(r.name)

    def _may_pair(self, plan: Plan, all_accesses: Accesses, r: Reference, sides) -> bool:
        """Whether pairs of a factor are read at once: an argument that lies along the sum, with rows at even places."""
        if self.accesses[r].shared or self.accesses.step(r, self.loops[0]) != 1:
            return False

        a = plan.arrays[r.name]
        near = [all_accesses.step(r, loop) for loop in itertools.chain(*sides)]
        near += [s for i, s in steps(r, a, plan.batch, far=True).items() if i in plan.entry]
        if a.mixed and plan.batch in r.indices:
            near.append(plan.batch_step(r))

        return all(s % FAR % 2 == 0 for s in near)

    @property
    def unit(self) -> int:
        """Numbers that four lanes read together."""
        return 8 if self.paired else 4

    def steps(self, numbers: int) -> int:
        """Steps for so many numbers, the last of which may be beyond the end."""
        return self.unit // 4 * -(-numbers // self.unit)

    @property
    def count(self) -> int:
        """Steps of the whole sum."""
        return self.steps(self.extent)

    def number(self, step: int) -> str:
        """C++ of the number of the sum that a lane has in a step."""
        return f"{8 * (step // 2)} + 2 * c + {step % 2}" if self.paired else f"{4 * step} + c"

    def strides(self, r: Reference) -> int:
        """Steps of which a lane reads the numbers of a factor at once."""
        return 2 if r in self.paired else 1

    def at(self, r: Reference) -> str:
        """C++ of where number k of the sum of a factor lies behind its row or column."""
        return self.accesses.at(r, self.loops, "k")
