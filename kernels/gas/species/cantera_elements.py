"""Elements of a phase in a Cantera YAML file: which it has, and their atomic weights.

A phase without `elements` has the standard ones. `elements: [O, Ar]` takes them from the file's section `elements`,
where it has them, else the standard ones. `elements: [{isotopes: [Ar]}, {other.yaml/section: [O]}, {default: [H]}]`
takes them from those sections; `default` are the standard ones. The file's section `elements` is of no effect
otherwise. All as in Cantera 3.2.
"""

from __future__ import annotations

import dataclasses

from .atomic_weights import ATOMIC_WEIGHT
from .cantera_file import File, Node
from .units import short


@dataclasses.dataclass(frozen=True)
class Elements:
    """The elements that species of a phase may have."""

    weights: dict[str, float]  # g/mol, by symbol
    listed: bool  # by the phase: a species of another element is an error
    skip: bool  # instead, such a species is left out

    def leaves_out(self, composition: Node) -> bool:
        """Whether a species is left out. Raises MixtureError where its element is not in the phase."""
        if not self.listed:
            return False

        foreign = [symbol for symbol in composition.data if symbol not in self.weights]
        if foreign and not self.skip:
            composition.fail(
                f"element {short(foreign[0])} is not among the phase's elements {sorted(self.weights)}; wanted it "
                "there, or `skip-undeclared-elements: true` in the phase."
            )

        return bool(foreign)

    def mass(self, composition: Node) -> float:
        """Molar mass [g/mol] of a species. Raises MixtureError for an unknown element, or no mass."""
        mass = 0.0
        for symbol in composition.data:
            composition.refuse(
                symbol not in self.weights,
                f"element {short(symbol)} has no atomic weight; a section of elements that the phase takes can give "
                "it one.",
            )
            mass += self.weights[symbol] * composition.number(symbol)

        composition.refuse(not mass > 0, f"got {short(composition.data)}, wanted elements with positive counts.")
        return mass


def read_elements(file: File, phase: Node) -> Elements:
    """The elements of a phase. Raises MixtureError that names the phase, the section and the element."""
    skip = bool(phase.data.get("skip-undeclared-elements"))
    if not phase.has("elements"):
        return Elements(ATOMIC_WEIGHT, False, skip)

    weights: dict[str, float] = {}
    for source, symbols in _sources(phase):
        section = _section(file, phase, source)
        for symbol in symbols:
            weight = _weight(phase, source, section, symbol)
            phase.refuse(
                weights.setdefault(symbol, weight) != weight,
                f"elements: {symbol} has the weights {weights[symbol]:g} and {weight:g}, wanted one.",
            )

    return Elements(weights, True, skip)


def _sources(phase: Node) -> list[tuple[str, list[str]]]:
    """[(section, symbols)] of a phase; section "" for symbols without a section."""
    given = phase.data["elements"]
    wanted = "wanted symbols, or sections with their symbols: [O, Ar], [{isotopes: [Ar]}, {default: [O]}]"
    phase.refuse(not isinstance(given, list), f"elements: got {short(given)}, {wanted}.")
    if all(isinstance(symbol, str) for symbol in given):
        return [("", given)]

    out = []
    for item in given:
        good = isinstance(item, dict) and len(item) == 1
        phase.refuse(not good, f"elements: got {short(item)}, {wanted}.")
        ((source, symbols),) = item.items()
        good = isinstance(symbols, list) and all(isinstance(symbol, str) for symbol in symbols)
        phase.refuse(not good, f"elements: {source}: got {short(symbols)}, {wanted}.")
        out.append((str(source), symbols))

    return out


def _section(file: File, phase: Node, source: str) -> dict[str, float] | None:
    """{symbol: weight} of a section. None: the standard weights."""
    if not source:
        return _weights(file, "elements") if file.top.has("elements") else None

    folder, _, name = source.rpartition("/")
    if folder:
        return _weights(file.beside(folder), name)
    if file.top.has(source):
        return _weights(file, source)

    phase.refuse(source != "default", f"elements: there is no section {short(source)} in {file.path}.")
    return None


def _weights(file: File, section: str) -> dict[str, float]:
    """{symbol: weight} of a section of elements."""
    weights = {}
    for item in file.top.items(section, "a list of elements"):
        node = Node(item, f"{file.path}: {section}", file.top.units)
        symbol = node.text("symbol", "an element symbol")
        # Cantera takes the standard weight for a weight of 0.
        weights[symbol] = node.number("atomic-weight") or ATOMIC_WEIGHT.get(symbol, 0.0)

    return weights


def _weight(phase: Node, source: str, section: dict[str, float] | None, symbol: str) -> float:
    """The weight of an element of a section. Only symbols without a section may fall back on the standard weights."""
    if section is not None and symbol in section:
        return section[symbol]

    phase.refuse(
        section is not None and source,
        f"elements: {short(symbol)} is not in section {short(source)}.",
    )

    phase.refuse(
        symbol not in ATOMIC_WEIGHT,
        f"elements: {short(symbol)} has no atomic weight; a section of elements can give it one.",
    )

    return ATOMIC_WEIGHT[symbol]
