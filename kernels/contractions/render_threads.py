"""Tensor programs for CUDA: loops of statements, and C++ that the organisations by threads share, around threads.h."""

from __future__ import annotations

import functools

from .plan import FAR, Loop, Nest, Product, Program, arguments, names, nest, reads, step_text, turns

# ---- which programs -------------------------------------------------------------------------------------------------


@functools.lru_cache(64)
def nests(p: Program) -> tuple[Nest, ...]:
    """A nest of loops for each statement."""
    return tuple(nest(p, s, far=True) for s in p.statements)


size = turns  # of some loops


def effort(p: Program) -> int:
    """Accesses of an entry to real numbers: a complex number is two."""
    return 2 * work(p) if p.complex else work(p)


def work(p: Program) -> int:
    """Accesses of an entry if every factor of every term is loaded."""
    total = 0
    for n in nests(p):
        for q in n.products:
            total += n.size * size(q.sums) * max(len(q.factors), 1)

    return total


def terms(p: Program) -> int:
    """Terms of all sums of an entry: its multiply-adds, if products have two factors."""
    return sum(n.size * size(q.sums) for n in nests(p) for q in n.products)


def independent(p: Program) -> bool:
    """Whether each number of the outputs can be computed by itself: no locals, no copies, no output that is read."""
    if len(p.of_kind("argument")) < len(p.arrays) or p.expression.symmetric:
        return False

    read: set[str] = set()
    for s in p.statements:
        read |= names(reads(s))

    return not read & set(p.expression.outputs)


def waste(extent: int, tile: int) -> float:
    """How much more than `extent` whole tiles have."""
    return -(-extent // tile) * tile / extent


def unaligned(names, values, near: int) -> bool:
    """Whether some arrays do not begin at 16 bytes, or their entries or rows at multiples of `near` numbers."""
    return any(values[f"at_{x}"] % 16 or values[f"step_{x}"] % near or values[f"ld_{x}"] % near for x in names)


def whole_steps(loops, place: int, v: int) -> bool:
    """Whether an array makes steps of multiples of v numbers along all of some loops."""
    return all(loop.step[place] % FAR % v == 0 for loop in loops)


def near_at_once(n: Nest, q: Product, f: int, v: int) -> bool:
    """Whether v neighbours of a factor are read at once for v neighbours of the output."""
    *outer, last = n.loops
    return last.step[f] == 1 and whole_steps((*outer, *q.sums), f, v)


# ---- text -----------------------------------------------------------------------------------------------------------


def members(p: Program) -> str:
    """Members of the record of arguments: address, step and row length of each array; scratch memory; entries."""
    return arguments(p, "arena:address n:whole")


def without_past(values) -> dict:
    """Values of the record without `past`, which only CPUs have."""
    return {key: x for key, x in values.items() if key != "past"}


def row_length(n: Nest, place: int) -> str:
    """C++ of the length of a row of an array."""
    return f"a.ld_{n.names[place]}"


def split(loops, number: str, names) -> list[str]:
    """C++ that finds the turn of each loop from the number of an element."""
    lines, inner = [], 1
    for loop, name in zip(reversed(loops), reversed(names)):
        over = f" / {inner}" if inner > 1 else ""
        inner *= loop.extent
        lines.append(f"const int {name} = {number}{over} % {loop.extent};")

    return lines


def offset(n: Nest, place: int, loops, names) -> str:
    """C++ of where an array is read at some turns of the loops."""
    parts = []
    for loop, name in zip(loops, names):
        if loop.step[place]:
            parts.append(f"{name} * ({step_text(loop.step[place], row_length(n, place))})")

    return " + ".join(parts) or "0"


def number_at(n: Nest, place: int, loops, names) -> str:
    """C++ of a number of an array at some turns of the loops."""
    return f"at_{n.names[place]}[{offset(n, place, loops, names)}]"


def numbered(letter: str, loops) -> list[str]:
    """Names of the turns of some loops: letter0, letter1, ..."""
    return [f"{letter}{d}" for d in range(len(loops))]


def loop_heads(turns, loops) -> list[str]:
    """C++ of nested loops without their body."""
    return [f"for (int {k} = 0; {k} < {loop.extent}; ++{k})" for k, loop in zip(turns, loops)]


def number_text(q: Product) -> str:
    """C++ of a product's number."""
    return f"scalar({q.number!r})"


def product_words(q: Product, factors) -> list[str]:
    """Factors of a product as C++, its number first where it is not 1 or -1."""
    if abs(q.number) != 1 or not factors:
        return [number_text(q), *factors]
    return list(factors)


def sign_of(q: Product) -> str:
    """ "-" for a product that is subtracted."""
    return "-" if q.number == -1 and q.factors else "+"


def old_value(n: Nest, to: str = "to") -> str:
    """C++ of the number from which a statement that adds starts."""
    return f"{to} + " if n.statement.add else ""


def element(n: Nest, at: str) -> list[str]:
    """C++ of number `at` of a statement's output: sums in a register, then one store."""
    own = numbered("x", n.loops)
    lines = [f"// {n.statement}", *split(n.loops, at, own)]
    target = number_at(n, 0, n.loops, own)

    if n.statement.function:
        values = [number_at(n, f, n.loops, own) for f in n.products[0].factors]
        return [*lines, f"{target} = {n.statement.function}({', '.join(values)});"]

    lines += sum_of(n, own)
    lines.append(f"scalar &to = {target};\nto = {old_value(n)}sum;")
    return lines


def sum_of(n: Nest, own) -> list[str]:
    """C++ of `sum`: of all products of a statement, at some turns of its loops."""
    lines = ["scalar sum = 0;"]
    for q in n.products:
        inner = numbered("k", q.sums)
        lines += loop_heads(inner, q.sums)

        factors = [number_at(n, f, (*n.loops, *q.sums), (*own, *inner)) for f in q.factors]
        lines.append(f"    sum {sign_of(q)}= {' * '.join(product_words(q, factors))};")

    return lines


def block(lines) -> str:
    """C++ in braces."""
    return "{\n" + "\n".join(lines) + "\n}"


def scaled(loop: Loop, v: int) -> Loop:
    """A loop by v neighbours at a time."""
    return Loop(loop.extent // v, tuple(v * s for s in loop.step))
