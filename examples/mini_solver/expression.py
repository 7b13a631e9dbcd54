"""Formulas of a case: NumPy's functions of x, y, z and t, and nothing else that Python has."""

import ast
import math
from typing import NamedTuple

import numpy as np

from .errors import CaseError, check_known, wanted


def erf(x):
    """The error function of math.erf, for arrays."""
    return np.vectorize(math.erf, otypes=[float])(x)


FUNCTIONS = {
    n: getattr(np, n)
    for n in (
        "sin",
        "cos",
        "tan",
        "exp",
        "log",
        "sqrt",
        "tanh",
        "sinh",
        "cosh",
        "arctan",
        "abs",
        "where",
        "minimum",
        "maximum",
        "sign",
        "floor",
        "mod",
        "hypot",
        "heaviside",
    )
} | {"pi": math.pi, "erf": erf}
ALLOWED = (  # in an expression
    ast.Expression,
    ast.BinOp,
    ast.UnaryOp,
    ast.Compare,
    ast.Call,
    ast.Name,
    ast.Constant,
    ast.operator,
    ast.unaryop,
    ast.cmpop,
    ast.expr_context,
)


def is_number(x):
    return isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x)


class Expression:
    """A number, or a formula in x, y, z, the case's constants and, where it is asked for at a time, t, with NumPy's
    functions and no others."""

    def __init__(self, text, constants, where, takes_time=False, of=("x", "y", "z")):
        self.text, self.constants, self.where, self._of = text, constants, where, of
        names = (*of, "t") if takes_time else of

        if is_number(text):
            self._code = None
            return

        wanted(
            isinstance(text, str), f"{where} = {text!r}; wanted a finite number or an expression in {', '.join(of)}."
        )
        known = {*FUNCTIONS, *constants, *names}

        try:
            tree = ast.parse(text, mode="eval")
        except (SyntaxError, ValueError) as error:
            raise CaseError(f"{where}: {text!r} is not an expression ({getattr(error, 'msg', error)}).") from None

        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                said = f"{where}: {text!r} has t, but this formula is of x, y, z alone; those of a boundary take t."
                wanted(node.id != "t" or node.id in known, said)
                check_known([node.id], sorted(known), f"{where}: unknown name", f" in {text!r}")

            allowed = isinstance(node, ALLOWED) and (not isinstance(node, ast.Constant) or is_number(node.value))
            wanted(allowed, f"{where}: {type(node).__name__} is not allowed in the expression {text!r}.")

            if isinstance(node, ast.Call):
                function = isinstance(node.func, ast.Name) and callable(FUNCTIONS.get(node.func.id))
                names = ", ".join(k for k in FUNCTIONS if k != "pi")
                wanted(
                    function and not node.keywords, f"{where}: only the functions {names} may be called, in {text!r}."
                )

        self._code = compile(tree, where, "eval")

    @staticmethod
    def takes(text, name) -> bool:
        """Whether a formula has this name; False where it is no formula."""
        try:
            return any(
                isinstance(node, ast.Name) and node.id == name for node in ast.walk(ast.parse(text, mode="eval"))
            )
        except (SyntaxError, ValueError):
            return False

    def __call__(self, coordinates, time=0.0) -> np.ndarray:
        """coordinates: (x, y, z) or what else it is of, arrays that broadcast; time [s]. Raises CaseError where the
        value is not finite."""
        shape = np.broadcast_shapes(*(c.shape for c in coordinates))
        if self._code is None:
            return np.full(shape, float(self.text))

        scope = {**FUNCTIONS, **self.constants, **dict(zip(self._of, coordinates)), "t": time, "__builtins__": {}}
        try:
            with np.errstate(all="ignore"):
                # names and nodes were checked above
                value = np.array(np.broadcast_to(eval(self._code, scope), shape), float)
        except Exception as error:
            raise CaseError(f"{self.where}: {self.text!r} failed: {error}.") from None

        wanted(np.isfinite(value).all(), f"{self.where}: {self.text!r} is not finite everywhere.")

        return value


class Place(NamedTuple):
    """Where and when formulas are evaluated, and how messages name them."""

    where: str  # begin of a message, such as "[initial]"
    coordinates: list  # x, y, z: arrays that broadcast
    constants: dict  # of the case
    time: float | None = None  # s; None: the formulas have no t

    def value(self, key, text):
        """The values of a formula for a key. Errors: CaseError."""
        formula = Expression(text, self.constants, f"{self.where} {key}", self.time is not None)
        return formula(self.coordinates, self.time or 0.0)
