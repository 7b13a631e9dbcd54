"""Texts of a declaration: arrays such as A(N,M):left, and extents by formulas of names."""

from __future__ import annotations

import ast
import dataclasses
import re

import numpy as np

from ..engine.errors import ArgumentError, refuse

KINDS = {"real": "scalar", "whole": "long"}  # of numbers, and their types in C++
ELEMENTS = {"int32": "i4", "logical": "i4", "real32": "f4", "real64": "f8", "whole": "i8"}  # of arrays: NumPy's types
TYPES = KINDS | {"int32": "int", "logical": "int", "real32": "float", "real64": "double"}  # of elements, in C++
MARKS = ("left", "scatter", "stream")
_WORD = re.compile(r"\s*(\w+)\s*\(([^()]*)\)((?::\w+)*)")
_OPERATORS = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}


@dataclasses.dataclass(frozen=True)
class Array:
    """An array or a piece of scratch."""

    name: str
    extents: tuple[str, ...]  # numbers, names or formulas
    kind: str = "real"  # the type of the call, float64 or float32; or one of ELEMENTS. A logical is true unless it is 0
    layout: str = "RIGHT"  # the last index is the fastest in memory; LEFT: the first
    written: bool = False
    scattered: bool = False  # the body only adds to elements, any thread to any
    streamed: bool = False  # the body only assigns to elements, and nobody reads them soon
    level: int = 0  # of scratch: 0, shared memory, or 1
    of_member: bool = False  # of scratch: a piece for each member of a team

    def has_row_for_each(self, extent: str) -> bool:
        """Whether it is read, and the rows of neighbours along this extent follow each other in memory."""
        rows = self.layout == "RIGHT" and len(self.extents) > 1 and self.extents[0] == extent
        return rows and not self.written

    def dtype(self, real) -> np.dtype:
        """The type of its elements. real: the type of real numbers."""
        return np.dtype(ELEMENTS[self.kind]) if self.kind in ELEMENTS else real


def arrays_of(where: str, text: str, **also) -> list[Array]:
    """The arrays that a text such as "A(N,M) h(bins):whole B(N,M):left" names. where: start of the messages. also:
    further fields of each Array. Raises ArgumentError."""
    found, at = [], 0
    text = text.strip()

    while at < len(text):
        word = _WORD.match(text, at)
        if not word:
            raise ArgumentError(f"{where}: '{text[at:]}', wanted words such as A(N,M) or h(bins):whole.")

        marks = word[3].split(":")[1:]
        kinds = [mark for mark in marks if mark in ELEMENTS]
        wrong = [mark for mark in marks if mark not in (*MARKS, *ELEMENTS)] or kinds[1:]
        refuse(
            wrong,
            f"{where}: '{word[1]}' is marked {wrong}, wanted {', '.join(MARKS)}, or one of {', '.join(ELEMENTS)}.",
        )
        refuse(
            {"scatter", "stream"} <= set(marks),
            f"{where}: '{word[1]}' is marked scatter and stream: a body that adds to elements reads them.",
        )

        extents = tuple(part.strip() for part in word[2].split(","))
        kind = kinds[0] if kinds else "real"
        layout = "LEFT" if "left" in marks else "RIGHT"
        uses = {"scattered": "scatter" in marks, "streamed": "stream" in marks}
        found.append(Array(word[1], extents, kind, layout, **uses, **also))
        at = word.end()

    return found


def value_of(text: str, names: dict, where: str) -> int:
    """The whole number that a formula of names, numbers and + - * // % gives. Raises ArgumentError."""

    def of(node):
        if isinstance(node, ast.Expression):
            return of(node.body)
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name) and node.id in names:
            return names[node.id]

        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -of(node.operand)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            left, right = of(node.left), of(node.right)
            refuse(
                isinstance(node.op, (ast.FloorDiv, ast.Mod)) and not right, f"{where}: division by zero in '{text}'."
            )
            return _OPERATORS[type(node.op)](left, right)

        what = f"'{node.id}' is not known" if isinstance(node, ast.Name) else "wanted numbers, names and + - * // %"
        raise ArgumentError(f"{where}: '{text}': {what}; known: {', '.join(names) or 'nothing'}.")

    return int(of(parsed(where, text)))


def parsed(where: str, text: str) -> ast.Expression:
    """A formula, whose names may mean something or not. Raises ArgumentError for a text that is none."""
    try:
        return ast.parse(text, mode="eval")
    except SyntaxError:
        raise ArgumentError(f"{where}: '{text}', wanted numbers, names and + - * // %.") from None
