"""The text of products on the FP64 matrix units: what a warp does for 16 rows of a statement (see stages.py).

A lane reads what the units want from it straight from where it lies: its number of 16 rows, of 8 columns, of four
values of the sum. Columns of a tile are numbered so that the results of four lanes lie side by side. So a lane's
results are also what it has to give where a second product sums over them: they stay in registers.
"""

from __future__ import annotations

import dataclasses
import math

from .plan import FAR, Loop, step_text, steps
from .text import Reference, Statement


@dataclasses.dataclass
class Access:
    """Where a reference is read: a pointer to what the team has, and the step of each index."""

    pointer: str
    steps: dict[str, int]
    ld: str
    shared: bool


def digits(loops: tuple[Loop, ...], number: str, letter: str, unsigned: bool = True) -> list[str]:
    """`number` as a turn of each loop: letter0, letter1, ..., the slowest first. unsigned: divisions by powers of two
    are so, which take fewer steps."""
    lines, size = [], 1
    for d in reversed(range(len(loops))):
        extent = loops[d].extent
        u = "u" if unsigned and size & (size - 1) == extent & (extent - 1) == 0 else ""
        over, rest = f" / {size}{u}" if size > 1 else "", f" % {extent}{u}" if d else ""
        lines.append(f"const int {letter}{d} = {f'unsigned({number})' if u else f'({number})'}{over}{rest};")
        size *= extent
    return lines


def offset(loops: tuple[Loop, ...], letter: str, k: int, access: Access) -> str:
    """Of array k of the loops, at those turns."""
    parts = []
    for d, loop in enumerate(loops):
        if loop.step[k]:
            step = step_text(loop.step[k], access.ld)
            parts.append(f"{letter}{d}" if step == "1" else f"{letter}{d} * ({step})")
    return " + ".join(parts) or "0"


def pairs(writer, f: Reference, g: Reference, accesses, loops, sides, place):
    """Factors of which a lane reads two neighbours at once: arguments whose sum runs along memory, and whose rows
    begin at even places. None: the sum is read number by number. sides: loops over rows, columns and others."""
    if not writer.how.paired or len(loops) != 1 or loops[0].extent % 2:
        return None
    plan, found = writer.plan, []
    for k, r in enumerate((f, g)):
        x = accesses[r]
        if x.shared or loops[0].step[k] != 1:
            continue
        near = [loop.step[place[r]] for group in sides for loop in group]
        a = plan.arrays[r.name]
        near += [s for i, s in steps(r, a, plan.batch, far=True).items() if i in plan.entry]
        if a.mixed and plan.batch in r.indices:
            near.append(plan.batch_step(r))
        if all((s % FAR) % 2 == 0 for s in near):
            found.append(r)
    writer.even |= {r.name for r in found}
    return found or None


class Tile:
    """Text of one statement's products. tag: makes names differ from another's in the same loop. given: the factor of
    the rows is what the statement before has left in registers."""

    def __init__(self, writer, s: Statement, step, tag: str = "", given: bool = False):
        plan = self.plan = writer.plan
        self.writer, self.s, self.tag, self.given = writer, s, tag, given
        self.others, rows, self.columns_of, self.terms = plan.layout(s)
        self.rows_of = plan.order(rows, step)
        self.held: dict[int, str] = {}  # names of the columns' factors of all steps
        self.scale = plan.scale(s)
        self.points = [t for t in s.terms if not any({*t.factors[:2]} == {f, g} for _, f, g, _ in self.terms)]
        refs = [s.out, *(r for _, f, g, _ in self.terms for r in (f, g)), *(f for t in self.points for f in t.factors)]
        inner = {self.terms[0][1]} if given else set()
        inner |= {s.out} if s.out.name in plan.inner else set()
        refs = [r for r in dict.fromkeys([*refs, *([self.scale] if self.scale else [])]) if r not in inner]
        self.accesses = {r: writer.access(r) for r in refs}
        order, self.place = list(self.accesses.values()), {r: k for k, r in enumerate(refs)}
        self.row_loops, self.column_loops, self.other_loops = (
            writer.loops(x, order) for x in (self.rows_of, self.columns_of, self.others)
        )
        self.m, self.n, self.q = (plan.extent_of(x) for x in (self.rows_of, self.columns_of, self.others))
        self.tiles, all_columns = -(-self.m // 16), -(-self.n // 8)
        self.width = min(all_columns, writer.how.columns)
        self.chunks = -(-all_columns // self.width)
        self.jobs = self.tiles * self.q * self.chunks
        self.hoisted = plan.hoisted(s)
        self.k_loops = [
            writer.loops(sums, [self.accesses[r] for r in (f, g) if r in self.accesses]) for _, f, g, sums in self.terms
        ]
        self.extents = [math.prod(loop.extent for loop in loops) for loops in self.k_loops]
        sides = (self.row_loops, self.column_loops, self.other_loops)
        self.paired = [
            None if given else pairs(writer, f, g, self.accesses, loops, sides, self.place)
            for (_, f, g, _), loops in zip(self.terms, self.k_loops)
        ]
        self.count = [2 * -(-k // 8) if p else -(-k // 4) for k, p in zip(self.extents, self.paired)]

    def at(self, r: Reference, loops, letter: str) -> str:
        return offset(loops, letter, self.place[r], self.accesses[r])

    def fb(self, j: int) -> str:
        return self.held.get(j, f"fb{self.tag}{j}")

    # ---- what a lane reads for a product
    def load(self, j: int, first: str, steps_: int, guarded: bool, what: str) -> list[str]:
        """Of `steps_` steps from sum number `first`, the rows' factor ("a") or the columns' ("b")."""
        sign, f, g, _ = self.terms[j]
        loops, pair_, number = self.k_loops[j], self.paired[j], self.writer.constant(sign)
        r = f if what == "a" else g
        base = {"a": ("row_a", "row_b"), "b": tuple(f"column{t}" for t in range(self.width))}[what]
        made = []
        vector = pair_ and r in pair_
        for step_ in range(0, steps_, 2 if vector else 1):
            if what == "a" and self.given:
                t, second = divmod(step_, 2)
                made.append(f"fa[{step_}][0] = given[{t}][{second}]; fa[{step_}][1] = given[{t}][{second + 2}];")
                continue
            k = f"{first} + {8 * (step_ // 2)} + 2 * c + {step_ % 2}" if pair_ else f"{first} + {4 * step_} + c"
            inside = f"k < {self.extents[j]}" if guarded else ""
            put = [*([f"const int k = {k};"] if loops or inside else []), *digits(loops, "k", "k")]
            away = offset(loops, "k", 0 if what == "a" or self.given else 1, self.accesses[r])
            for t, b in enumerate(base):
                to = f"fa[{step_}][{t}]" if what == "a" else f"{self.fb(j)}[{t}][{step_}]"
                after = f"fa[{step_ + 1}][{t}]" if what == "a" else f"{self.fb(j)}[{t}][{step_ + 1}]"
                from_ = f"{self.accesses[r].pointer} + {b}_{j} + {away}"
                if vector:
                    load = f"pair({from_}, {to}, {after});"
                    if what == "b" and sign != 1:
                        load += f" {to} *= {number}, {after} *= {number};"
                    put.append(f"if ({inside}) {{ {load} }} else {to} = {after} = 0;" if inside else load)
                else:
                    read = f"*({from_})"
                    if what == "b" and sign != 1:
                        read = f"-{read}" if sign == -1 else f"{number} * {read}"
                    put.append(f"{to} = {inside + ' ? ' if inside else ''}{read}{' : 0' if inside else ''};")
            made.append("{ " + " ".join(put) + " }")
        return made

    def column_bases(self, j: int, chunk: str) -> list[str]:
        g, made = self.terms[j][2], []
        for t in range(self.width):
            number = f"min(({chunk} * {self.width} + {t}) * 8 + column_of(row), {self.n - 1})"
            made.append(
                f"long column{t}_{j}; {{ const int n = {number}; (void)n; "
                f"{' '.join(digits(self.column_loops, 'n', 'n'))} column{t}_{j} = {self.at(g, self.column_loops, 'n')}"
                f"{'' if self.hoisted else ' + ' + self.at(g, self.other_loops, 'o')}; }}"
            )
        return made

    # ---- what all tiles share
    def hoist(self, once: dict[str, str]) -> list[str]:
        """The columns' factors that all tiles of a warp share. once: text by a mark of those that are read at the
        kernel's beginning, for all steps that read the same."""
        lines = []
        for j in range(len(self.terms) if self.hoisted else 0):
            text = "\n".join(self.columns_held(j))
            _, _, g, _ = self.terms[j]
            if not self.writer.how.once or self.accesses[g].shared or g.name in self.plan.written or self.plan.walk:
                lines.append(text)
                continue
            mark = text.replace(self.fb(j), "").replace(f"_{j}", "")
            if not {self.plan.batch, *self.plan.entry} & set(g.indices):  # wherever it stands, it begins there
                mark = mark.replace(f"{self.accesses[g].pointer} +", g.name)
            if mark not in once:
                once[mark] = text.replace(self.fb(j), f"once{len(once)}")
            self.held[j] = f"once{list(once).index(mark)}"
            self.writer.of_once.add(g)
        return lines

    def columns_held(self, j: int) -> list[str]:
        guarded = self.extents[j] % (8 if self.paired[j] else 4) != 0
        loads = self.load(j, "0", self.count[j], guarded, "b")
        return [
            f"{self.writer.sum} {self.fb(j)}[{self.width}][{self.count[j]}];",
            "{ " + "\n".join([*self.column_bases(j, "0"), *loads]) + " }",
        ]

    # ---- the parts of a tile
    def rows(self) -> list[str]:
        """Where the tile's rows begin."""
        lines = digits(self.other_loops, "other", "o")
        for half in "ab":
            bound = f"min(m_{half}, {self.m - 1})" if self.m % 16 else f"m_{half}"
            lines.append(f"const int m{half} = {bound}; (void)m{half};")
            lines += digits(self.row_loops, f"m{half}", f"r{half}")
            for j, (_, f, _, _) in enumerate(self.terms):
                if f in self.accesses:
                    from_ = f"{self.at(f, self.row_loops, f'r{half}')} + {self.at(f, self.other_loops, 'o')}"
                    lines.append(f"const long row_{half}_{j} = {from_}; (void)row_{half}_{j};")
        return lines

    def spots(self):
        """Of a lane's four numbers of each tile of columns: (tile, number, half, what finds the column and its indices,
        the test that it exists); None for the test where no lane's does."""
        for t in range(self.width):
            for i in range(4):
                half, second = "ab"[i // 2], i % 2
                first_column = t * 8 + 4 * second
                if self.chunks == 1 and first_column >= self.n:
                    yield t, i, half, ("", ""), None
                    continue
                tests = [f"m_{half} < {self.m}"] if self.m % 16 else []
                if self.chunks > 1 or first_column + 3 >= self.n:
                    tests.append(f"nn < {self.n}")
                head = f"const int nn = (chunk * {self.width} + {t}) * 8 + {4 * second} + c; (void)nn; "
                find = " ".join(digits(self.column_loops, "nn", "n"))
                yield t, i, half, (head, find), f"if ({' && '.join(tests)}) " if tests else ""

    def spot(self, r: Reference, half: str) -> str:
        return (
            f"{self.accesses[r].pointer}[{self.at(r, self.row_loops, f'r{half}')} + "
            f"{self.at(r, self.column_loops, 'n')} + {self.at(r, self.other_loops, 'o')}]"
        )

    def start(self) -> list[str]:
        """What the sums begin with, and what they will be multiplied by: asked for before the products."""
        s, scale, width = self.s, self.scale, self.width
        unit = self.writer.sum
        lines = [f"{unit} acc[{width}][4];" + (f" {unit} scaled[{width}][4];" if scale else "")]
        for t, i, half, find, test in self.spots():
            lines.append(f"acc[{t}][{i}] = 0;" + (f" scaled[{t}][{i}] = 0;" if scale else ""))
            if test is None:
                continue
            begin = [self.spot(s.out, half)] if s.add and not scale else []
            for p in self.points:
                number = [self.writer.constant(p.number)] if p.number != 1 or not p.factors else []
                begin.append(" * ".join([*number, *(self.spot(f, half) for f in p.factors)]))
            loads = [f"acc[{t}][{i}] = {' + '.join(begin)};"] if begin else []
            loads += [f"scaled[{t}][{i}] = {self.spot(scale, half)};"] if scale else []
            if loads:
                lines.append(self.inside(find, test, " ".join(loads)))
        return lines

    @staticmethod
    def inside(find: tuple[str, str], test: str, body: str) -> str:
        """The body where the test holds; find: the column's number, and its indices."""
        number, indices = find
        return f"{{ {number} {test}{{ {indices} {body} }} }}"

    def value(self, t: int, i: int, half: str) -> str:
        if not self.scale:
            return f"acc[{t}][{i}]"
        return f"{f'{self.spot(self.s.out, half)} + ' if self.s.add else ''}scaled[{t}][{i}] * acc[{t}][{i}]"

    def leave(self) -> list[str]:
        return [
            self.inside(find, test, self.writer.store(self.s.out, self.spot(self.s.out, half), self.value(t, i, half)))
            for t, i, half, find, test in self.spots()
            if test is not None
        ]

    def give(self) -> list[str]:
        """The numbers stay with their lanes; those beyond the last column are zero."""
        lines = []
        for t, i, half, _, test in self.spots():
            if test is None:
                lines.append(f"given[{t}][{i}] = 0;")
                continue
            beyond = t * 8 + 4 * (i % 2) + 3 >= self.n
            value = self.value(t, i, half)
            column = f"{t * 8 + 4 * (i % 2)} + c < {self.n}"
            lines.append(f"given[{t}][{i}] = {f'{column} ? {value} : 0' if beyond else value};")
        return lines

    def sums(self) -> list[str]:
        lines = []
        for j, (k, size) in enumerate(zip(self.extents, self.count)):
            lines.append("{")
            if not self.hoisted:
                lines += self.column_bases(j, "chunk")
            per = size if self.hoisted or size <= self.writer.how.batch else self.writer.how.batch
            full = k // (4 * per) if per < size or k % (4 * per) == 0 else 0
            unit = 8 if self.paired[j] else 4
            if full > 1:
                lines += [
                    f"UNROLL_BY(1) for (int k0 = 0; k0 < {full * 4 * per}; k0 += {4 * per}) {{",
                    *self.product(j, "k0", per, False),
                    "}",
                ]
            elif full == 1:
                lines += ["{", *self.product(j, "0", per, False), "}"]
            left = k - full * 4 * per
            if left:
                steps_ = (2 if self.paired[j] else 1) * -(-left // unit)
                lines += ["{", *self.product(j, str(full * 4 * per), steps_, left % unit != 0), "}"]
            lines.append("}")
        return lines

    def product(self, j: int, first: str, steps_: int, guarded: bool) -> list[str]:
        fb, unit = self.fb(j), self.writer.sum
        made = [f"{unit} fa[{steps_}][2];", *([] if self.hoisted else [f"{unit} {fb}[{self.width}][{steps_}];"])]
        made += self.load(j, first, steps_, guarded, "a")
        if not self.hoisted:
            made += self.load(j, first, steps_, guarded, "b")
        made.append(f"UNROLL for (int t = 0; t < {self.width}; ++t) multiply_add<{steps_}>(acc[t], fa, {fb}[t]);")
        return made
