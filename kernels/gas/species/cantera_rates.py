"""Rate coefficients of reactions in a Cantera YAML file, in SI units with mol. Each reader takes the reaction's map and
the number of concentrations that the coefficient goes with, and raises MixtureError."""

from __future__ import annotations

import math

import numpy as np

from .cantera_file import Node
from .reactions import Arrhenius, Chebyshev, Falloff, Plog
from .units import short

# Form of falloff: (required numbers, {optional number: default}).
BLENDS = {
    "Troe": (("A", "T3", "T1"), {"T2": 0.0}),
    "SRI": (("A", "B", "C"), {"D": 1.0, "E": 0.0}),
    "Tsang": (("A", "B"), {}),
}
CONSTANTS = ("rate-constant", "low-P-rate-constant", "high-P-rate-constant")
CHECKED = (300.0, 500.0, 1000.0, 2000.0, 5000.0, 10000.0)  # K; a sum of P-log terms has to be positive here


def yes(node, key) -> bool:
    """The truth value of a key; False if absent."""
    value = node.data.get(key, False)
    node.refuse(not isinstance(value, bool), f"{key} is {short(value)}, wanted true or false.")
    return value


def _energy(node, key):
    """Activation energy over R [K]."""
    value = node.need(key, "an activation energy")
    try:
        return node.units.energy_over_R(value)
    except ValueError as error:
        node.fail(f"{key}: {error}.")


def _arrhenius(node, order) -> Arrhenius:
    """A, b and Ea of a map. order: number of concentrations in the rate."""
    power = order - 1
    unit = f"m^{3 * power!r}*kmol^{-power!r}/s"
    return Arrhenius(node.number("A", unit) * 1e-3**power, node.number("b"), _energy(node, "Ea"))


def _rate(node, key, order) -> Arrhenius:
    """A rate constant {A, b, Ea} or [A, b, Ea]; A >= 0 unless the reaction says `negative-A`."""
    given = node.need(key, "a rate constant {A, b, Ea} or [A, b, Ea]")
    node.refuse(isinstance(given, list) and len(given) != 3, f"{key}: got {short(given)}, wanted A, b and Ea.")
    data = dict(zip(("A", "b", "Ea"), given)) if isinstance(given, list) else given

    block = _in_units_of(node, data, key)
    block.only("A", "b", "Ea", "note")
    rate = _arrhenius(block, order)
    block.refuse(
        rate.A < 0 and not yes(node, "negative-A"), f"A is {short(data['A'])}, wanted `negative-A: true` with it."
    )
    return rate


def _in_units_of(node, data, key) -> Node:
    """A map inside a reaction, in the units of the reaction: Cantera 3.2 ignores `units` inside a rate constant."""
    if isinstance(data, dict):
        data = {name: value for name, value in data.items() if name != "units"}
    return Node(data, f"{node.where}: {key}", node.units)


def has_own_units(node) -> bool:
    """Whether a rate constant of a reaction has a key `units`."""
    entries = node.data.get("rate-constants")
    if not isinstance(entries, list):
        entries = []
    constants = [node.data.get(key) for key in CONSTANTS]
    return any(isinstance(data, dict) and "units" in data for data in (*constants, *entries))


def plain(node, order) -> Arrhenius:
    """The rate constant of an elementary or three-body reaction."""
    return _rate(node, "rate-constant", order)


def blended(node, order) -> Falloff:
    """A falloff or chemically activated reaction.

    order: number of concentrations without the collider. This is the order of the high-pressure limit of a falloff
    reaction, and of the low-pressure limit of a chemically activated reaction.
    """
    # The two limits.
    activated = node.data["type"] == "chemically-activated"
    low = _rate(node, "low-P-rate-constant", order if activated else order + 1)
    high = _rate(node, "high-P-rate-constant", order - 1 if activated else order)
    node.refuse(low.A * high.A < 0, "low-P- and high-P-rate-constant have different signs.")

    # The blending function.
    forms = [form for form in BLENDS if node.has(form)]
    node.refuse(len(forms) > 1, f"has {' and '.join(forms)}, wanted one of them.")
    if not forms:
        return Falloff(low, high, activated=activated)

    block = node.child(forms[0])
    needed, optional = BLENDS[forms[0]]
    block.only(*needed, *optional, "note")
    numbers = [block.number(key, _unit(forms[0], key)) for key in needed]
    numbers += [block.number(key, _unit(forms[0], key), default=value) for key, value in optional.items()]
    if forms[0] == "SRI":
        block.refuse(block.has("D") != block.has("E"), "has one of D and E, wanted both or neither.")
        block.refuse(numbers[2] < 0 or numbers[3] < 0, "C and D: wanted no negative number.")
    return Falloff(low, high, forms[0], tuple(numbers), activated)


def _unit(form, key):
    """Unit of a number of a blending function."""
    is_temperature = (form == "Troe" and key != "A") or (form == "SRI" and key in "BC")
    return "K" if is_temperature else "1"


def plog(node, order) -> Plog:
    """A P-log reaction. Raises MixtureError also if k is not positive."""
    # Arrhenius terms by pressure.
    groups: dict[float, list[Arrhenius]] = {}
    for number, data in enumerate(node.items("rate-constants", "a list of {P, A, b, Ea}", least=1), 1):
        block = Node(data, f"{node.where}: rate-constants, entry {number}", node.units)
        block.only("P", "A", "b", "Ea", "units", "note")
        term = _arrhenius(_in_units_of(node, data, f"rate-constants, entry {number}"), order)
        groups.setdefault(block.positive("P", "Pa"), []).append(term)

    # Positive sums: ln k is interpolated.
    for p, terms in groups.items():
        T = np.array(CHECKED)
        wrong = T[~(sum(term.at(T) for term in terms) > 0)]
        if wrong.size:
            node.fail(f"rate-constants: at {p:g} Pa their sum is not positive at {wrong[0]:g} K.")

    pressures = tuple(sorted(groups))
    return Plog(pressures, tuple(tuple(groups[p]) for p in pressures))


def chebyshev(node, order, unit_order) -> Chebyshev:
    """A Chebyshev reaction. unit_order: number of concentrations in the unit of k; it exceeds `order` if + M has no
    effect on the rate."""

    def span(key, unit):
        values = node.items(key, f"two numbers in {unit}", 2, 2)
        block = Node(dict(enumerate(values)), f"{node.where}: {key}", node.units)
        ends = block.positive(0, unit), block.positive(1, unit)
        block.refuse(not ends[0] < ends[1], f"got {short(values)}, wanted an ascending pair.")
        return ends

    rows = node.items("data", "rows of numbers", least=1)
    good = all(isinstance(row, list) and row for row in rows) and len({len(row) for row in rows}) == 1
    node.refuse(not good, f"data: got {short(rows)}, wanted rows of the same length.")

    data = []
    for row in rows:
        data.append([node.finite("data", value, "numbers") for value in row])

    # The unit of k is a factor of k, a term of log10 k.
    power = unit_order - 1
    factor = node.units.convert(1.0, f"m^{3 * power!r}*kmol^{-power!r}/s") * 1e-3 ** (order - 1)
    data[0][0] += math.log10(factor)

    return Chebyshev(span("temperature-range", "K"), span("pressure-range", "Pa"), tuple(map(tuple, data)))
