"""Rate coefficients of reactions in a Cantera YAML file, in SI units with mol. Each reader takes the reaction's map and
the number of concentrations that the coefficient goes with, and raises MixtureError."""

from __future__ import annotations

import math

import numpy as np

from .cantera_file import Node
from .reactions import Arrhenius, Chebyshev, Falloff, Plog
from .units import short

BLENDS = {  # numbers of each form: those that must be there, those that may be absent, with their values
    "Troe": (("A", "T3", "T1"), {"T2": 0.0}),
    "SRI": (("A", "B", "C"), {"D": 1.0, "E": 0.0}),
    "Tsang": (("A", "B"), {}),
}
CONSTANTS = ("rate-constant", "low-P-rate-constant", "high-P-rate-constant")
CHECKED = (300.0, 500.0, 1000.0, 2000.0, 5000.0, 10000.0)  # K, where a sum of P-log terms has to be positive


def yes(node, key) -> bool:
    value = node.data.get(key, False)
    node.refuse(not isinstance(value, bool), f"{key} is {short(value)}, wanted true or false.")
    return value


def _energy(node, key):
    """An activation energy over R [K]."""
    try:
        return node.units.energy_over_R(node.need(key, "an activation energy"))
    except ValueError as error:
        node.fail(f"{key}: {error}.")


def _arrhenius(node, order) -> Arrhenius:
    """A, b and Ea of a map. order: concentrations that the rate has."""
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
    """A map within a reaction, without units of its own: those of a rate constant are of no effect in Cantera 3.2."""
    own = {name: value for name, value in data.items() if name != "units"} if isinstance(data, dict) else data
    return Node(own, f"{node.where}: {key}", node.units)


def has_own_units(node) -> bool:
    """Whether a rate constant of a reaction has units of its own."""
    entries = node.data.get("rate-constants")
    entries = entries if isinstance(entries, list) else []
    constants = [node.data.get(key) for key in CONSTANTS]
    return any(isinstance(data, dict) and "units" in data for data in (*constants, *entries))


def plain(node, order) -> Arrhenius:
    return _rate(node, "rate-constant", order)


def blended(node, order) -> Falloff:
    """order: that of the high-pressure limit of a falloff, of the low-pressure limit of a chemically activated one."""
    activated = node.data["type"] == "chemically-activated"
    low = _rate(node, "low-P-rate-constant", order if activated else order + 1)
    high = _rate(node, "high-P-rate-constant", order - 1 if activated else order)
    node.refuse(low.A * high.A < 0, "low-P- and high-P-rate-constant have different signs.")
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
        block.refuse(numbers[2] < 0 or numbers[3] < 0, "C and D: wanted no negative number.")
    return Falloff(low, high, forms[0], tuple(numbers), activated)


def _unit(form, key):
    return "K" if form == "Troe" and key != "A" or form == "SRI" and key in "BC" else "1"


def plog(node, order) -> Plog:
    groups: dict[float, list[Arrhenius]] = {}
    for number, data in enumerate(node.items("rate-constants", "a list of {P, A, b, Ea}", least=1), 1):
        block = Node(data, f"{node.where}: rate-constants, entry {number}", node.units)
        block.only("P", "A", "b", "Ea", "units", "note")
        term = _arrhenius(_in_units_of(node, data, f"rate-constants, entry {number}"), order)
        groups.setdefault(block.positive("P", "Pa"), []).append(term)
    for p, terms in groups.items():
        T = np.array(CHECKED)
        wrong = T[~(sum(term.at(T) for term in terms) > 0)]
        if wrong.size:
            node.fail(f"rate-constants: at {p:g} Pa their sum is not positive at {wrong[0]:g} K.")
    return Plog(tuple(sorted(groups)), tuple(tuple(groups[p]) for p in sorted(groups)))


def chebyshev(node, order, unit_order) -> Chebyshev:
    """unit_order: how many concentrations the unit of k counts; one more than `order` where + M is of no effect."""

    def span(key, unit):
        values = node.items(key, f"two numbers in {unit}", 2, 2)
        block = Node(dict(enumerate(values)), f"{node.where}: {key}", node.units)
        ends = block.positive(0, unit), block.positive(1, unit)
        block.refuse(not ends[0] < ends[1], f"got {short(values)}, wanted an ascending pair.")
        return ends

    rows = node.items("data", "rows of numbers", least=1)
    good = all(isinstance(row, list) and row for row in rows) and len({len(row) for row in rows}) == 1
    node.refuse(not good, f"data: got {short(rows)}, wanted rows of the same length.")
    data = [[node.finite("data", value, "numbers") for value in row] for row in rows]
    power = unit_order - 1
    factor = node.units.convert(1.0, f"m^{3 * power!r}*kmol^{-power!r}/s") * 1e-3 ** (order - 1)
    data[0][0] += math.log10(factor)
    return Chebyshev(span("temperature-range", "K"), span("pressure-range", "Pa"), tuple(map(tuple, data)))
