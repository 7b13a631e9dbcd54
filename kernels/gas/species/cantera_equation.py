"""The equation of a reaction, as Cantera 3.2 reads it: species, coefficients, direction, and its third body."""

from __future__ import annotations

import dataclasses
import math
import re

from .cantera_file import Node
from .units import short

ARROWS = {"<=>": True, "=": True, "=>": False}  # word: whether reversible
Side = dict[str, float]  # {species: coefficient}


@dataclasses.dataclass
class Equation:
    """A reaction equation. Species have the names that the file writes."""

    reactants: Side  # without the collider
    products: Side
    reversible: bool
    collider: str | None  # the third body: M, or a species
    in_brackets: bool  # written (+M): the collider does not multiply the rate

    @property
    def multiplied(self) -> bool:
        """Whether the concentration of a collider multiplies the rate."""
        return self.collider is not None and not self.in_brackets

    @property
    def written(self) -> str:
        """The collider as the equation has it."""
        return f"(+{self.collider})" if self.in_brackets else f"+ {self.collider}"


def read_equation(node: Node, kind: str) -> Equation:
    """The equation of a reaction of a type. Raises MixtureError that names the reaction and the term."""
    words = re.sub(r"\(\+\s+", "(+", node.data["equation"]).split()
    arrows = [k for k, word in enumerate(words) if word in ARROWS]
    node.refuse(len(arrows) != 1, f"wanted one of {', '.join(ARROWS)} between blanks.")

    reactants, left = _side(node, words[: arrows[0]])
    products, right = _side(node, words[arrows[0] + 1 :])
    node.refuse(left != right, f"(+{left or right}) stands on one side only, wanted it on both.")
    reversible = ARROWS[words[arrows[0]]]

    if left is not None:
        node.refuse(kind == "elementary", f"an elementary reaction has no (+{left}).")
        return Equation(reactants, products, reversible, left, True)

    collider = _collider(node, kind, reactants, products)
    if collider is not None:
        _take_off(reactants, collider)
        _take_off(products, collider)
    return Equation(reactants, products, reversible, collider, False)


def _side(node: Node, words: list[str]) -> tuple[Side, str | None]:
    """({species: coefficient}, collider in (+ ) or None) of the words of a side. Coefficients may be 0."""
    side: Side = {}
    bracket = None
    term: list[str] = []
    for word in [*words, "+"]:
        inside = re.fullmatch(r"\(\+(\S+)\)", word)
        if word != "+" and not inside:
            term.append(word)
            continue

        # The end of a term. After a bracket there may be none.
        if term or bracket is None or inside:
            coefficient, name = _term(node, term)
            side[name] = side.get(name, 0.0) + coefficient
            term = []
        if inside:
            node.refuse(bracket is not None, f"{word}: wanted one third body on a side.")
            bracket = inside[1]
    return side, bracket


def _term(node: Node, words: list[str]) -> tuple[float, str]:
    """(coefficient, species) of "H2" or "2 H2"."""
    number, name = words if len(words) == 2 else ("1", " ".join(words))
    try:
        coefficient = float(number)
    except ValueError:
        coefficient = math.nan

    good = 0 <= coefficient < math.inf and name and " " not in name
    got = short(" ".join(words))
    node.refuse(not good, f"got {got} in the equation, wanted a species, or a number and a species.")
    return coefficient, name


def _collider(node: Node, kind: str, reactants: Side, products: Side) -> str | None:
    """The third body of an equation without (+ ): M, or a species on both sides; None where there is none."""
    if "M" in reactants or "M" in products:
        node.refuse(reactants.get("M") != 1 or products.get("M") != 1, "wanted one M on each side.")
        node.refuse(kind == "elementary", "an elementary reaction has no M.")
        return "M"
    if kind == "elementary":
        return None

    three_body = kind.startswith("three-body")
    both = [name for name in reactants if reactants[name] and products.get(name)]
    node.refuse(three_body and not both, "a three-body reaction has M, or one species, on both sides.")
    if not both:
        return None

    # A species that counts twice or more on both sides is a collider and a participant: two readings.
    readings = len(both) + sum(1 for name in both if reactants[name] > 1 and products[name] > 1)
    if readings > 1:
        return _named_collider(node, three_body, both)
    return both[0] if three_body or _of_three(reactants, products) else None


def _named_collider(node: Node, three_body: bool, both: list[str]) -> str | None:
    """The collider that `efficiencies` names, if several species may be the collider; None if it names no species."""
    named = list(node.child("efficiencies").data)
    strange = named and (len(named) != 1 or named[0] not in both)
    node.refuse(strange, "efficiencies: wanted that of the collider only.")
    node.refuse(
        three_body and not named,
        f"any of {', '.join(both)} may be the collider; `efficiencies` can name it.",
    )
    return named[0] if named else None


def _of_three(reactants: Side, products: Side) -> bool:
    """Whether all coefficients are integers and one side adds up to three. A species on both sides is then a
    collider."""
    coefficients = [*reactants.values(), *products.values()]
    integers = all(nu == round(nu) for nu in coefficients)
    return integers and 3 in (sum(reactants.values()), sum(products.values()))


def _take_off(side: Side, collider: str) -> None:
    """Removes the collider from a side."""
    side[collider] -= 1
    if not side[collider]:
        del side[collider]
