"""The text of a tensor program by stages (see stages.py): what its teams of warps do, around what stages.h has.

Products are render_units.py's. Bulk copies are asked for first and waited for where they are read; barriers stand where
steps meet in memory. In a ring a block asks for the copies of its next entries before it works on this one.
"""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from ..engine.backend.base import Shape, Source
from ..engine.backend.record import record, structure
from . import render_lines
from .plan import Loop, Program, joined, pointers, step_text, steps, view
from .render_units import Access, Tile, digits, offset, pairs
from .stages import FEW, Stages, Step
from .text import Reference, Statement

signed = functools.partial(digits, unsigned=False)  # of orbits: with others the compiler spills more registers


class Writer:
    """Text of one plan."""

    def __init__(self, plan: Stages):
        self.plan, self.p, self.how = plan, plan.p, plan.how
        self.team = 32 * self.how.warps
        self.pointers: dict[Reference, str] = {}
        self.even: set[str] = set()  # arguments of which 16 bytes are read at once
        self.once: dict[str, str] = {}  # names of factors that lanes hold, by the text that reads them
        self.of_once: set[Reference] = set()
        self.number = "scalar" if plan.narrow else "double"  # in shared memory
        self.sum = "scalar" if self.how.split or self.how.line else "double"  # in registers

    def constant(self, number: float) -> str:
        return repr(number) if self.sum == "double" else f"scalar({number!r})"

    def held(self, name: str) -> str:
        return f"{self.number} *const h_{name} = ({self.number} *)shared_memory + {self.plan.held[name].at}"

    def access(self, r: Reference) -> Access:
        h = self.plan.held.get(r.name)
        if h:
            own: dict[str, int] = {}
            for d, s in zip(h.kept, h.strides):
                own[r.indices[d]] = own.get(r.indices[d], 0) + s
            return Access(f"h_{r.name}", own, "", True)
        a = self.plan.arrays[r.name]
        all_steps = steps(r, a, self.plan.batch, far=True)
        self.pointers.setdefault(r, f"p{len(self.pointers)}")
        own = {i: s for i, s in all_steps.items() if i not in self.plan.entry}
        return Access(self.pointers[r], own, f"a.ld_{r.name}", False)

    def pointer_lines(self, walk: bool, only=None) -> list[str]:
        """Of every reference to an argument, or of some, at this team's entry. walk: of those that have the index of
        the walk."""
        lines = []
        for r, name in self.pointers.items():
            if only is not None and r not in only:
                continue
            if (bool(self.plan.walk) and self.plan.walk in r.indices) != walk:
                continue
            a = self.plan.arrays[r.name]
            all_steps = steps(r, a, self.plan.batch, far=True)
            parts = [f"at_{view(r, a, self.plan.batch)}"]
            parts += [
                f"e_{i} * ({step_text(all_steps[i], f'a.ld_{r.name}')})" for i in self.plan.entry if i in all_steps
            ]
            kind = "scalar" if r.name in self.p.expression.outputs else "const scalar"
            lines.append(f"{kind} *const {name} = {' + '.join(parts)};")
        return lines

    def loops(self, indices, accesses) -> tuple[Loop, ...]:
        return joined([Loop(self.p.sizes[i], tuple(x.steps.get(i, 0) for x in accesses)) for i in indices])

    # ---- statements number by number
    def each(self, number: int, step: Step) -> tuple[list[str], list[str]]:
        """(what is asked for at the entry's beginning, the step)."""
        plan = self.plan
        own, size = plan.own(step.statements[0]), plan.numbers(step.statements[0].out)
        count = -(-size // self.team)
        refs = list(dict.fromkeys(r for s in step.statements for t in s.terms for r in (*t.factors, s.out)))
        accesses = {r: self.access(r) for r in refs}
        order = list(accesses.values())
        loops = self.loops(own, order)
        split = digits(loops, "x", "x")
        place = {r: k for k, r in enumerate(refs)}
        where = lambda r: f"{accesses[r].pointer}[{offset(loops, 'x', place[r], accesses[r])}]"
        plain = not any(t.sums(s.out) for s in step.statements for t in s.terms)
        outs = {s.out.name for s in step.statements}
        elsewhere = {s.out.name for other in plan.steps if other is not step for s in other.statements}
        loaded: list[Reference] = []
        if plain:
            first = {}
            for s in step.statements:
                for r in (*(f for t in s.terms for f in t.factors), *([s.out] if s.add else [])):
                    if not accesses[r].shared and r.name not in elsewhere and r.name not in first:
                        loaded.append(r)
                first[s.out.name] = s
            loaded = list(dict.fromkeys(loaded))
        guard = lambda body: body if size % self.team == 0 else f"if (x < {size}) {{ {body} }}"
        head = f"for (int i = 0; i < {count}; ++i) {{ const int x = me + i * {self.team}; (void)x;"
        batch = count * len(loaded) <= FEW and bool(loaded)
        early: list[str] = []
        lines = [f"// {'; '.join(map(str, step.statements))}"]
        value = lambda r: f"v{number}_{loaded.index(r)}[i]" if batch and r in loaded else where(r)
        if batch:
            ahead = early if not step.before else lines
            ahead += [f"scalar v{number}_{k}[{count}];" for k in range(len(loaded))]
            loads = " ".join(f"v{number}_{k}[i] = {where(r)};" for k, r in enumerate(loaded))
            ahead.append(f"UNROLL {head} {guard(' '.join([*split, loads]))} }}")
        elif plain and loaded and not step.before and not all(r.name in outs for r in loaded):
            for r in loaded:  # too many for registers: at least the second cache has them in time
                one = self.loops(own, [accesses[r]])
                if len(one) == 1 and one[0].step == (1,):
                    line = 128 // np.dtype(self.p.dtype).itemsize
                    once = size <= self.team * line
                    head_ = f"if (x < {size})" if once else f"UNROLL_BY(1) for (; x < {size}; x += {self.team * line})"
                    early.append(f"{{ int x = me * {line}; {head_} ask({accesses[r].pointer} + x); }}")
        body, stores = list(split), []
        done: dict[str, str] = {}
        for j, s in enumerate(step.statements):
            begun = s.add or bool(s.terms[0].sums(s.out)) or s.terms[0].number < 0
            if begun:
                body.append(f"{self.sum} sum{j} = {value(s.out) if s.add else 0};")
            for t in s.terms:
                sums = t.sums(s.out)
                if not sums:
                    words = [done.get(f.name) or value(f) for f in t.factors]
                else:
                    inner = [self.access(f) for f in t.factors]
                    turns = self.loops(sums, inner)
                    body += [f"for (int k{d} = 0; k{d} < {loop.extent}; ++k{d})" for d, loop in enumerate(turns)]
                    words = []
                    for q, f in enumerate(t.factors):
                        k_part = offset(turns, "k", q, inner[q])
                        words.append(f"{accesses[f].pointer}[{offset(loops, 'x', place[f], accesses[f])} + {k_part}]")
                words = [*([self.constant(t.number)] if abs(t.number) != 1 or not words else []), *words]
                sign = "-=" if t.number == -1 and t.factors else "+="
                body.append(f"{f'sum{j} {sign}' if begun else f'{self.sum} sum{j} ='} {' * '.join(words)};")
                begun = True
            done[s.out.name] = f"sum{j}"
            stores.append(self.store(s.out, where(s.out), f"sum{j}"))
        body += stores
        unroll = "UNROLL" if batch else "UNROLL_BY(2)"
        lines.append(f"{unroll} {head} {guard(chr(10).join(body))} }}")
        return early, lines

    def copy(self, step: Step) -> list[str]:
        """Copies of a slice: in bulk, run by run, asked for by the first warp; with lines apart by all threads."""
        (s,) = step.statements
        r, plan = s.terms[0].factors[0], self.plan
        h, x = plan.held[s.out.name], self.access(r)
        own = [r.indices[k] for k in plan.kept(r)]
        run, extent = 1, len(own)
        while extent and x.steps[own[extent - 1]] == run == h.strides[extent - 1]:
            extent -= 1
            run *= self.p.sizes[own[extent]]
        self.even.add(r.name)
        loops = [Loop(self.p.sizes[i], (x.steps[i], h.strides[k])) for k, i in enumerate(own[:extent])]
        turned = joined(loops)
        runs = math.prod(loop.extent for loop in turned)
        to = Access(f"h_{s.out.name}", {}, "", True)
        if self.how.apart:  # pieces of 16 bytes
            turned = joined([*loops, Loop(run // plan.grain, (plan.grain, plan.grain))])
            runs *= run // plan.grain
        split = " ".join(digits(turned, "x", "x"))
        ends = f"{to.pointer} + {offset(turned, 'x', 1, to)}, {x.pointer} + {offset(turned, 'x', 0, x)}"
        if self.how.apart:
            return [f"// {s}", f"for (int x = me; x < {runs}; x += {self.team}) {{ {split} copy_piece({ends}); }}"]
        return [
            f"// {s}",
            f"{'if (me < 32) for (' if runs > 32 else '{ '}int x = me; "
            f"{f'x < {runs}; x += 32)' if runs > 32 else f'if (x < {runs})'} {{ {split} bulk({ends}, {run}, gate); }}"
            + "}"
            * (runs <= 32),
        ]

    def store(self, out: Reference, where: str, value: str) -> str:
        reads = {f.name for step in self.plan.steps for s in step.statements for t in s.terms for f in t.factors}
        if out.name in self.plan.held or out.name in reads:
            return f"{where} = {value};"
        return f"leave(&{where}, {value});"

    # ---- products on the units
    def units(self, step: Step) -> list[str]:
        """A warp's tiles, one after the other. Of two statements the second goes on with the numbers of the first."""
        *first, last = step.statements
        inner = [Tile(self, s, step, "_before") for s in first]
        tile = Tile(self, last, step, given=bool(first))
        made = [tile, *inner]
        lines = [f"// {'; '.join(map(str, step.statements))}"]
        for t in made:
            lines += t.hoist(self.once)
        turns = -(-tile.jobs // self.how.warps)
        exact = tile.jobs % self.how.warps == 0
        lines.append(
            f"UNROLL_BY({min(turns, self.how.ahead)}) for (int turn = 0; turn < {turns}; ++turn) {{ "
            f"const int job = warp + turn * {self.how.warps};" + ("" if exact else f" if (job < {tile.jobs}) {{")
        )
        lines.append(
            f"const int tile = job % {tile.tiles}, chunk = job / {tile.tiles} % {tile.chunks}, "
            f"other = job / {tile.tiles * tile.chunks};"
        )
        lines += ["(void)chunk, (void)other;", "const int m_a = tile * 16 + row, m_b = m_a + 8;"]
        for t in inner:
            lines += [f"{self.sum} given[{t.width}][4];", "{", *t.rows(), *t.start(), *t.sums(), *t.give(), "}"]
        lines += [*tile.rows(), *tile.start(), *tile.sums(), *tile.leave()]
        lines.append("}" if exact else "} }")
        return lines

    # ---- products by threads
    def lines(self, number: int, step: Step) -> list[str]:
        """A thread's rows, one after the other. Of two statements the second goes on with the numbers of the first."""
        made = [render_lines.Lines(self, s, step, number + k, given=k > 0) for k, s in enumerate(step.statements)]
        m, rows = made[0].m, made[0].rows
        lines = [
            f"// {'; '.join(map(str, step.statements))}",
            f"UNROLL_BY(1) for (int x = me; x < {m}; x += {rows * self.team}) {{",
        ]
        for row in range(rows):
            x = f"x + {row * self.team}"
            whole = m % (rows * self.team) == 0 or row == 0
            lines.append(f"const bool on{row} = {'true' if whole else f'{x} < {m}'};")
            lines.append(f"const int x{row} = {x if whole else f'min({x}, {m} - 1)'};")
        for k, one in enumerate(made):
            result = "given" if k < len(made) - 1 else "sum"
            lines += [f"scalar {result}[{rows}][{one.n}];", "{", *one.text(result), "}"]
        return [*lines, "}"]

    # ---- all orders of an entry's indices
    def place_of(self, r: Reference, values: dict[str, str]) -> str:
        """A pointer to what a reference reads where the entry's indices have these values."""
        a, parts, step = self.plan.arrays[r.name], [], 1
        near = steps(r, a, self.plan.batch, far=True)
        for d in reversed(range(len(r.indices))):
            i = r.indices[d]
            if i == self.plan.batch:
                parts.append(f"{values[i]} * {f'(long){step}' if a.mixed else f'a.step_{r.name}'}")
            elif i in values:
                parts.append(f"{values[i]} * ({step_text(near[i], f'a.ld_{r.name}')})")
            step *= a.extents[d] or 1
        kind = "scalar" if r.name in self.p.expression.outputs else "const scalar"
        return f"(({kind} *)a.at_{r.name} + {' + '.join(parts) or '0'})"

    def orbits(self) -> list[str]:
        plan = self.plan
        names, terms, uses = plan.orbit
        first, last = (step.statements[0] for step in plan.steps)
        local = plan.held[first.out.name]
        values = [f"y{k}" for k in range(len(names))]
        all_orders = [dict(zip(names, order)) for order in itertools.permutations(values)]
        number_of = {tuple(order[i] for i in names): k for k, order in enumerate(all_orders)}
        threads = self.team
        lines = [
            f"KERNEL(contraction, Arguments, {threads}, 1) {{",
            "const int me = threadIdx.x, warp = me >> 5, row = (me & 31) >> 2, c = me & 3;",
            "if (blockIdx.x >= items) return;\nlong g = items - 1 - blockIdx.x;",
        ]
        lines += self._orbit_set(values)
        lines.append(f"{self.number} *const h_{local.name} = ({self.number} *)shared_memory;")
        is_new = []
        for k, order in enumerate(all_orders):
            same = [" && ".join(f"{order[i]} == {other[i]}" for i in names) for other in all_orders[:k]]
            lines.append(f"const bool new{k} = !({' || '.join(f'({x})' for x in same) or 'false'});")
            is_new.append(f"new{k}")
            one = self.loops(plan.own(last), [self.access(last.out)])
            if len(one) == 1 and one[0].step == (1,):
                size = plan.numbers(last.out)
                to = self.place_of(last.out, order)
                lines.append(f"if (new{k}) for (int x = me * 16; x < {size}; x += {threads * 16}) ask({to} + x);")
        lines += self._orbit_products(first, all_orders, number_of, uses, local)
        lines += self._orbit_sums(last, all_orders, is_new, local)
        return [*lines, "}"]

    def _orbit_set(self, values) -> list[str]:
        """The g-th set of values, from the smallest up; blocks begin at the other end. Sets with equal values, which
        are less work, stand between the others: blocks fall out of step, so that some compute while others wait for
        memory. The smallest sets are mostly such: what the last blocks do is short."""
        n, lines = self.plan.extent, []
        for k, value in enumerate(values):
            left = len(values) - k - 1
            size = {0: "1", 1: f"({n} - {value})", 2: f"({n} - {value}) * ({n + 1} - {value}) / 2"}[left]
            lines.append(f"int {value} = {values[k - 1] if k else 0};")
            lines.append(f"while (g >= {size}) {{ g -= {size}; ++{value}; }}")
        return lines

    def _orbit_products(self, s: Statement, all_orders, number_of, uses, local) -> list[str]:
        """Products of all orders on the units, each once, and their sums into shared memory."""
        plan = self.plan
        names, first = plan.orbit[0], next(iter(uses))
        others, rows, columns, terms = plan.layout(s)
        refs = list(dict.fromkeys([s.out, *(r for _, f, g, _ in terms for r in (f, g))]))
        accesses = {r: self.access(r) for r in refs}
        order, place = list(accesses.values()), {r: k for k, r in enumerate(refs)}
        row_loops, column_loops = self.loops(rows, order), self.loops(columns, order)
        m, n, width = plan.extent_of(rows), plan.extent_of(columns), self.how.columns
        tiles, chunks = -(-m // 16), -(-n // (8 * width))
        jobs, warps = tiles * chunks, self.how.warps
        at = lambda r, what, letter: offset(what, letter, place[r], accesses[r])
        lines = [f"UNROLL_BY(1) for (int job = warp; job < {jobs}; job += {warps}) {{"]
        lines += [f"const int chunk = job % {chunks}, tile = job / {chunks}; (void)chunk;"]
        for half in "ab":
            row = "row" if half == "a" else "row + 8"
            lines.append(f"const int m_{half} = tile * 16 + {row}, m{half} = min(m_{half}, {m - 1});")
            lines += signed(row_loops, f"m{half}", f"r{half}")
        for t in range(width):
            lines.append(f"const int n_{t} = min((chunk * {width} + {t}) * 8 + column_of(row), {n - 1}); (void)n_{t};")
            lines += signed(column_loops, f"n_{t}", f"c{t}_")
        lines.append(f"double acc[{len(all_orders)}][{width}][4];")
        lines.append(
            f"UNROLL for (int o = 0; o < {len(all_orders)}; ++o) UNROLL for (int t = 0; t < {width}; ++t) "
            "UNROLL for (int i = 0; i < 4; ++i) acc[o][t][i] = 0;"
        )
        for sign, f, g, sums in terms:
            k_loops = self.loops(sums, [accesses[f], accesses[g]])
            k = math.prod(loop.extent for loop in k_loops)
            paired = pairs(self, f, g, accesses, k_loops, (row_loops, column_loops), place)
            count = 2 * -(-k // 8) if paired else -(-k // 4)
            uneven = k % (8 if paired else 4) != 0

            def load(r, base, to, which, k_loops=k_loops, k=k, paired=paired, count=count, uneven=uneven, number=1.0):
                """Statements that fill to[step] from a pointer."""
                vector, made = bool(paired) and r in paired, []
                for step_ in range(0, count, 2 if vector else 1):
                    k_text = f"{8 * (step_ // 2)} + 2 * c + {step_ % 2}" if paired else f"{4 * step_} + c"
                    put = [f"const int k = {k_text}; (void)k;", *signed(k_loops, "k", "k")]
                    from_ = f"{base} + {offset(k_loops, 'k', which, accesses[r])}"
                    inside = f"k < {k}" if uneven else ""
                    if vector:
                        both = f"pair({from_}, {to(step_)}, {to(step_ + 1)});"
                        put.append(
                            f"if ({inside}) {{ {both} }} else {to(step_)} = {to(step_ + 1)} = 0;" if inside else both
                        )
                    else:
                        put.append(f"{to(step_)} = {f'{inside} ? *({from_}) : 0' if inside else f'*({from_})'};")
                    if number != 1:
                        put.append(" ".join(f"{to(step_ + x)} *= {number!r};" for x in range(2 if vector else 1)))
                    made.append("{ " + " ".join(put) + " }")
                return made

            known: dict[str, list[int]] = {}  # orders by the part of the rows' factor that they read
            for o, values in enumerate(all_orders):
                known.setdefault(self.place_of(f, values), []).append(o)
            for rows_at, members in known.items():
                lines.append(f"{{ double fa[{count}][2];")
                for h, half in enumerate("ab"):
                    base = f"{rows_at} + {at(f, row_loops, f'r{half}')}"
                    lines += load(f, base, lambda x, h=h: f"fa[{x}][{h}]", 0)
                for o in members:
                    columns_at = self.place_of(g, all_orders[o])
                    lines.append(f"{{ double fb[{width}][{count}];")
                    for t in range(width):
                        base = f"{columns_at} + {at(g, column_loops, f'c{t}_')}"
                        lines += load(g, base, lambda x, t=t: f"fb[{t}][{x}]", 1, number=sign)
                        lines.append(f"multiply_add<{count}>(acc[{o}][{t}], fa, fb[{t}]);")
                    lines.append("}")
                lines.append("}")
        for o, values in enumerate(all_orders):
            for t in range(width):
                for i in range(4):
                    half, second = "ab"[i // 2], i % 2
                    parts = ""
                    for use, number in uses.items():
                        assigned = dict(zip(first, (values[x] for x in use)))
                        turned = tuple(assigned[x] for x in names)
                        sign = "- " if number == -1 else f"+ {number!r} * " if number != 1 else "+ " if parts else ""
                        parts += f" {sign}acc[{number_of[turned]}][{t}][{i}]"
                    test = [f"m_{half} < {m}"] * (m % 16 > 0) + [f"nn < {n}"] * (n % (8 * width) > 0)
                    both = f"if ({' && '.join(test)})" if test else ""
                    lines.append(
                        f"{{ const int nn = (chunk * {width} + {t}) * 8 + {4 * second} + c; {both} {{ "
                        f"{' '.join(signed(column_loops, 'nn', 'n'))} h_{local.name}[{o * plan.room + local.at} + "
                        f"{at(s.out, row_loops, f'r{half}')} + {at(s.out, column_loops, 'n')}] ={parts}; }} }}"
                    )
        return [*lines, "}"]

    def _orbit_sums(self, s: Statement, all_orders, is_new, local) -> list[str]:
        """The output's numbers of each order, each a sum out of shared memory; the old ones are read an order ahead."""
        plan = self.plan
        size = plan.numbers(s.out)
        count = -(-size // self.team)
        refs = list(dict.fromkeys([*(f for t in s.terms for f in t.factors), s.out]))
        accesses = {r: self.access(r) for r in refs}
        loops = self.loops(plan.own(s), list(accesses.values()))
        split = signed(loops, "x", "x")
        place = {r: k for k, r in enumerate(refs)}
        away = lambda r: offset(loops, "x", place[r], accesses[r])
        guard = lambda body: body if size % self.team == 0 else f"if (x < {size}) {{ {body} }}"
        head = f"for (int i = 0; i < {count}; ++i) {{ const int x = me + i * {self.team}; {' '.join(split)}"

        def read(o: int) -> list[str]:
            if not s.add or o == len(all_orders):
                return []
            body = guard(f"old{o}[i] = {self.place_of(s.out, all_orders[o])}[{away(s.out)}];")
            return [f"scalar old{o}[{count}];", f"if ({is_new[o]}) UNROLL {head} {body} }}"]

        lines = [*read(0), "__syncthreads();"]
        for o, values in enumerate(all_orders):
            lines += read(o + 1)
            lines += [f"if ({is_new[o]}) {{", f"scalar *const to = {self.place_of(s.out, values)};"]
            parts = f"old{o}[i]" if s.add else "0"
            for t in s.terms:
                words = [f"h_{local.name}[{o * plan.room + local.at} + {away(f)}]" for f in t.factors]
                sign = "-" if t.number == -1 else "+" if t.number == 1 else f"+ {t.number!r} *"
                parts += f" {sign} {' * '.join(words)}"
            lines.append(f"UNROLL {head} {guard(f'leave(&to[{away(s.out)}], {parts});')} }}\n}}")
        return lines

    # ---- the kernel
    def text(self) -> list[str]:
        plan, how = self.plan, self.how
        if how.orbit:
            return self.orbits()
        early, bodies = [], []
        for k, step in enumerate(plan.steps):
            if step.kind == "units":
                bodies.append(self.lines(k, step) if how.line else self.units(step))
            elif step.kind == "copy":
                bodies.append(self.copy(step))
            else:
                ahead, lines = self.each(k, step)
                early += ahead
                bodies.append(lines)
        threads = self.team * plan.entries
        lines = [
            *render_lines.declared(self.p, plan.matrices),
            f"KERNEL(contraction, Arguments, {threads}{f', {how.blocks}' if how.blocks else ''}) {{",
            f"const int me = threadIdx.x{f' % {self.team}' if plan.entries > 1 else ''}, warp = me >> 5;",
            "const int row = (me & 31) >> 2, c = me & 3;",
            "(void)warp, (void)row, (void)c;",
        ]
        copies = [k for k, step in enumerate(plan.steps) if step.kind == "copy"]
        copied = {plan.steps[k].statements[0].out.name for k in copies}
        numbers = sum(math.prod(plan.held[x].extents) for x in copied)
        ask = [] if how.apart else [f"if (me == 0) gate_expect(gate, {numbers});", "__syncwarp();"]
        ask += [line for k in copies for line in ("{", *bodies[k], "}")]
        open_ = (
            f"unsigned long long *const gates = (unsigned long long *)(({self.number} *)shared_memory + {plan.gate});"
        )
        opened = [open_, f"if (me == 0) for (int x = 0; x < {how.ring}; ++x) gate_open(gates + x);", "__syncthreads();"]
        slots = [f"{self.held(x)} + slot * {plan.slot(x)};" for x in copied]
        sources = {plan.steps[k].statements[0].terms[0].factors[0] for k in copies}
        if how.ring > 1:  # the block stays: the copies of the next entries are under way while it works
            if self.once:
                lines += [*pointers(self.p, "0L"), *self.pointer_lines(False, self.of_once), *self.once.values()]
            lines += [*opened, "const auto fetch = [&](long g, int slot) {", *self.begins(sources), *slots]
            lines += ["unsigned long long *const gate = gates + slot;", *ask, "};"]
            lines.append(
                f"for (int x = 0; x < {how.ring - 1}; ++x) if (blockIdx.x + x * (long)gridDim.x < items) "
                "fetch(blockIdx.x + x * (long)gridDim.x, x);\nint lap = 0;"
            )
            lines += [
                "UNROLL_BY(1) for (long g = blockIdx.x; g < items; g += gridDim.x, ++lap) {",
                f"const long next = g + {how.ring - 1} * (long)gridDim.x;",
                f"if (next < items) fetch(next, (lap + {how.ring - 1}) % {how.ring});",
                f"const int slot = lap % {how.ring};\nunsigned long long *const gate = gates + slot;",
            ]
        else:
            team = f" * {plan.entries}L + threadIdx.x / {self.team}" if plan.entries > 1 else ""
            lines += [f"const long g = blockIdx.x{team};", "if (g >= items) return;"]
        lines += self.begins()
        lines += list(self.once.values()) if how.ring == 1 else []
        lines += slots if how.ring > 1 else []
        held = [x for x in plan.held if how.ring == 1 or x not in copied]
        lines += [f"{self.held(x)};" for x in held]
        if copies and how.ring == 1:  # asked for first, waited for where they are read
            lines += [*([] if how.apart else [*opened, "unsigned long long *const gate = gates;"]), *ask]
        arrived = f"gate_wait(gate, {'0' if how.ring == 1 else f'lap / {how.ring} & 1'});"
        arrived = "pieces_wait(); __syncthreads();" if how.apart else arrived
        waited = not copies
        dirty_read: list = []
        dirty_write: list = []

        def guarded(k):
            """A barrier where a step touches what others of the team have read or written since the last one; the wait
            for the copies where one is read."""
            nonlocal dirty_read, dirty_write, waited
            step = plan.steps[k]
            wait = []
            if not waited and copied & {f.name for s in step.statements for t in s.terms for f in t.factors}:
                waited, wait = True, [arrived]
            reads = [self.memory(f) for s in step.statements for t in s.terms for f in t.factors]
            reads += [self.memory(s.out) for s in step.statements if s.add]
            writes = [self.memory(s.out) for s in step.statements]
            reads, writes = [x for x in reads if x], [x for x in writes if x]
            meets = lambda x, others: any(x[0] == y[0] and x[1] < y[2] and y[1] < x[2] for y in others)
            needed = any(meets(x, dirty_write) for x in reads + writes) or any(meets(x, dirty_read) for x in writes)
            if needed:
                dirty_read, dirty_write = [], []
            dirty_read, dirty_write = dirty_read + reads, dirty_write + writes
            return [*wait, *(["__syncthreads();"] if needed else [])]

        for k, step in enumerate(plan.steps):
            if step.before and step.kind != "copy":
                lines += [*guarded(k), "{", *bodies[k], "}"]
        inner = []
        for k, step in enumerate(plan.steps):
            if not step.before and step.kind != "copy":
                inner += [*guarded(k), "{", *bodies[k], "}"]
        if plan.walk:
            if copies:
                lines.append(arrived)
                inner = [line for line in inner if line != arrived]
            extent = self.p.sizes[plan.walk]
            per = -(-extent // how.parts)
            i = f"e_{plan.walk}"
            lines.append(
                f"UNROLL_BY(1) for (int {i} = part * {per}; {i} < min({extent}, (part + 1) * {per}); ++{i}) {{"
            )
            lines += [*self.pointer_lines(walk=True), *early, *inner, "__syncthreads();", "}"]
        else:
            lines += [*early, *inner, *(["__syncthreads();", "}"] if how.ring > 1 else [])]
        return [*lines, "}"]

    def begins(self, only=None) -> list[str]:
        """Which entry item g is, and where its arrays begin; only: those references."""
        plan, size, lines = self.plan, 1, []
        if plan.walk:
            lines.append(f"const int part = int(g % {self.how.parts});")
            size = self.how.parts
        for i in reversed([i for i in plan.entry if i != plan.walk]):
            extent = self.p.sizes[i]
            lines.append(f"const int e_{i} = int(g{f' / {size}' if size > 1 else ''} % {extent});")
            size *= extent
        lines += [f"const long b = g{f' / {size}' if size > 1 else ''};", "(void)b;", *pointers(self.p, "b")]
        return lines + self.pointer_lines(False, only)

    def memory(self, r: Reference):
        """(kind, begin, end) of what other threads of the team may touch too; None for what is only read."""
        h = self.plan.held.get(r.name)
        if h:
            return "shared", h.at, h.at + h.size
        return (r.name, 0, 1) if r.name in self.plan.written else None


def render(p: Program, how, members: str, headers, folders, quick: bool) -> Source:
    """The Source of a program by stages. members: of the record of arguments. headers, folders: C++ of maps."""
    text = [
        *(["#define FRAME_SINGLE"] if p.dtype == "float32" else []),
        '#include "contractions/stages.h"',
        *(f'#include "{h}"' for h in headers),
        structure("Arguments", members),
        *Writer(Stages(p, how)).text(),
        "",
    ]
    return Source("tensor-stages", "\n".join(text), tuple(folders), quick=quick, entry="contraction", title=p.title)


def launch(plan, arrays, values, n: int, members: str):
    """run() of a bound plan. Arrays that do not begin at 16 bytes, or whose entries do not, are read number by
    number."""
    how = plan.how
    writer = Writer(Stages(plan.program, how))
    writer.text()
    grain = writer.plan.grain
    if any(values[f"at_{x}"] % 16 or values[f"step_{x}"] % grain or values[f"ld_{x}"] % grain for x in writer.even):
        how = how.singly
    module = plan.backend.compile(plan.render(plan.program, how))
    stages = Stages(plan.program, how)
    items = stages.items(n) if n else 0
    shape = Shape(32 * how.warps * stages.entries, stages.entries, stages.bytes, -1 if how.ring > 1 else 0)
    render_lines.fill(module, plan, stages.matrices, arrays)
    values = {key: x for key, x in values.items() if key != "past"}
    return functools.partial(
        module.bind("contraction", shape, record(members, n=n, **values), keep=list(arrays.values())), items
    )
