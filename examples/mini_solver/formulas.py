"""A side's formulas of t as a kernel, so that nothing waits for the host to evaluate them."""

import ast
import math

import numpy as np

from kernels.engine.backend.base import Shape, Source
from kernels.engine.backend.record import record, structure

from .case import FRINGE, LOWEST_T
from .errors import CaseError
from .stencil import HERE

THREADS = 128
MEMBERS = (
    "given:address Y_in:address h_in:address place:address clock:address alarm:address ld_given:whole ld_Y_in:whole "
    "ld_place:whole plane:whole"
)
CALLS = {  # as C++ where it has another name
    "abs": "fabs",
    "arctan": "atan",
    "where": "chosen",
    "minimum": "least_of",
    "maximum": "most_of",
    "sign": "sign_of",
    "mod": "modulo",
    "heaviside": "step_at",
}
BETWEEN = {
    ast.Add: "({} + {})",
    ast.Sub: "({} - {})",
    ast.Mult: "({} * {})",
    ast.Div: "({} / {})",
    ast.FloorDiv: "floor({} / {})",
    ast.Mod: "modulo({}, {})",
    ast.Pow: "pow({}, {})",
    ast.BitAnd: "both_of({}, {})",
    ast.BitOr: "either_of({}, {})",
    ast.Lt: "is({} < {})",
    ast.LtE: "is({} <= {})",
    ast.Gt: "is({} > {})",
    ast.GtE: "is({} >= {})",
    ast.Eq: "is({} == {})",
    ast.NotEq: "is({} != {})",
}
BEFORE = {ast.USub: "(-{})", ast.UAdd: "{}", ast.Invert: "is({} == 0.0)"}


def translated(text, constants, where) -> str:
    """A formula in C++, of doubles x, y, z, t. text: a number, or a formula that Expression has checked. Raises
    CaseError for an operator of Python that C++ does not have."""

    def known(words, node):
        if type(node) not in words:
            raise CaseError(f"{where}: {type(node).__name__} in {text!r}: there is no word for it in a formula of t.")
        return words[type(node)]

    def of(node):
        match node:
            case ast.Constant():
                return number(node.value)
            case ast.Name():
                given = constants | {"pi": math.pi}
                return node.id if node.id in "xyzt" else number(given[node.id])
            case ast.UnaryOp():
                return known(BEFORE, node.op).format(of(node.operand))
            case ast.BinOp():
                return known(BETWEEN, node.op).format(of(node.left), of(node.right))
            case ast.Compare():
                sides = [of(side) for side in (node.left, *node.comparators)]
                parts = [known(BETWEEN, op).format(*pair) for op, *pair in zip(node.ops, sides, sides[1:])]
                return " * ".join(parts) if len(parts) == 1 else f"({' * '.join(parts)})"
            case ast.Call():
                name = node.func.id
                return f"{CALLS.get(name, name)}({', '.join(map(of, node.args))})"
        return known({}, node)

    def number(value):
        text = float(value).hex()
        return f"({text})" if value < 0 else text

    return of(ast.parse(text, mode="eval").body) if isinstance(text, str) else number(text)


def head(ns) -> str:
    """Constants that formulas.h wants."""
    return f"constexpr int NS = {ns}, FRINGE = {FRINGE};\n"


class Renewal:
    """The launch that evaluates a side's formulas of t at the clock's time. Nothing happens where no step was taken.

    lines: C++ of each boundary, [(number, statements)]. slab: arrays of the side by name. place: (4, points of the
    plane), rows x, y, z and the number of the boundary. A value that makes no sense stops the clock.
    """

    def __init__(self, block, lines, slab, place, ns):
        backend, a = block.backend, block.arrays
        text = structure("Given", MEMBERS, dict.fromkeys("given Y_in h_in place clock alarm".split(), "double *"))
        body = "".join(
            f"    if (part == {number}.0) {{\n{''.join(f'        {s}{chr(10)}' for s in said)}    }}\n"
            for number, said in lines
        )
        place = backend.from_host(np.ascontiguousarray(place))
        filled = record(
            MEMBERS,
            **{name: backend.address(slab[name]) for name in ("given", "Y_in", "h_in")},
            place=backend.address(place),
            clock=backend.address(a["clock"]),
            alarm=backend.address(a["rate"]),
            ld_given=slab["given"].strides[0] // 8,
            ld_Y_in=slab["Y_in"].strides[0] // 8,
            ld_place=place.shape[1],
            plane=place.shape[1],
        )

        source = Source("flow-formulas", head(ns) + text + '#include "formulas.h"\n' + ITEM % body, (HERE,))
        keep = (slab["given"], slab["Y_in"], slab["h_in"], place, a["clock"], a["rate"])
        launch = block.frame.compile(source).bind("renew", Shape(THREADS), filled, keep=keep)
        self._launch = lambda: launch(place.shape[1])

    def __call__(self):
        self._launch()


ITEM = f"""POINT_FN void renew_item(const Given &a, const long n) {{
    if (a.clock[0] == 0.0) return; // its length: no step was taken
    const double t = a.clock[1], *place = a.place + n, x = place[0], y = place[a.ld_place], z = place[2 * a.ld_place],
                 part = place[3 * a.ld_place];
    (void)t, (void)x, (void)y, (void)z;
    bool fits = true;
%s    if (!fits) a.alarm[0] = NOT_A_NUMBER;
}}
ITEM_KERNEL(renew, Given, {THREADS}, renew_item)
"""


def value(array, row, formula, fits="true") -> str:
    """C++ that puts a formula into a row of the slab; fits: what v has to be."""
    at = {"given": f"a.given + {row} * a.ld_given", "h_in": "a.h_in"}[array]
    return f"{{ const double v = {formula}; fits = fits && is_finite(v) && {fits}; set(a, {at}, n, v); }}"


def composition(rows, rest, weights) -> str:
    """C++ that puts a composition into the slab. rows: a formula for each species; rest: the species that takes the
    remainder, or None; weights: W of mole fractions, or None."""
    ns = len(rows)
    said = [f"double Y[NS] = {{{', '.join(rows)}}};"]
    if rest is not None:
        said.append(f"Y[{rest}] = 1.0 - sum_of(Y);")
    said.append("fits = fits && is_composition(Y);")
    if weights is not None:
        said.append(f"const double W[NS] = {{{', '.join(float(w).hex() for w in weights)}}};")
    said.append(f"as_mass(Y, {'nullptr' if weights is None else 'W'});")
    said.append(f"for (int k = 0; k < {ns}; ++k) set(a, a.Y_in + k * a.ld_Y_in, n, Y[k]);")

    return f"{{ {' '.join(said)} }}"


WARM = f"v >= {LOWEST_T!r}"
