"""Rate coefficients of reactions in a Cantera YAML file, in SI units with mol. Each reader takes the reaction's map and
the number of concentrations that the coefficient goes with, and raises MixtureError."""

from __future__ import annotations

import math

import numpy as np

from .cantera_file import Node
from .reactions import Arrhenius, BlowersMasel, BurkeCollider, Chebyshev, Falloff, LinearBurke, Plog
from .units import short

# Form of falloff: (required numbers, {optional number: default}).
BLENDS = {
    "Troe": (("A", "T3", "T1"), {"T2": 0.0}),
    "SRI": (("A", "B", "C"), {"D": 1.0, "E": 0.0}),
    "Tsang": (("A", "B"), {}),
}
CONSTANTS = ("rate-constant", "low-P-rate-constant", "high-P-rate-constant")
OF_PRESSURE = ("pressure-dependent-Arrhenius", "Chebyshev", "falloff")  # rates of colliders, linear Burke
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


def _factor(node, order) -> float:
    """A of a map. order: number of concentrations in the rate."""
    power = order - 1
    return node.number("A", f"m^{3 * power!r}*kmol^{-power!r}/s") * 1e-3**power


def _arrhenius(node, order) -> Arrhenius:
    """A, b and Ea of a map; Ea is 0 if absent. order: number of concentrations in the rate."""
    E = _energy(node, "Ea") if node.has("Ea") else 0.0
    return Arrhenius(_factor(node, order), node.number("b"), E)


def _rate(node, key, order) -> Arrhenius:
    """A rate constant {A, b, Ea} or [A, b, Ea], Ea if there is one; A >= 0 unless the reaction says `negative-A`."""
    block = _constant(node, key, ("A", "b", "Ea"), least=2)
    rate = _arrhenius(block, order)
    _check_sign(node, block, rate.A)
    return rate


def _constant(node, key, names, least=4) -> Node:
    """The numbers of a rate constant, a map or a list of them, of which it has so many, as a map."""
    listed = ", ".join(names)
    given = node.need(key, f"a rate constant {{{listed}}} or [{listed}]")
    wrong = isinstance(given, list) and not least <= len(given) <= len(names)
    node.refuse(wrong, f"{key}: got {short(given)}, wanted {', '.join(names[:-1])} and {names[-1]}.")
    data = dict(zip(names, given)) if isinstance(given, list) else given

    block = _in_units_of(node, data, key)
    block.only(*names, "note")
    return block


def _check_sign(node, block, A):
    """A >= 0 unless the reaction says `negative-A`."""
    wrong = A < 0 and not yes(node, "negative-A")
    block.refuse(wrong, f"A is {short(block.data['A'])}, wanted `negative-A: true` with it.")


def _in_units_of(node, data, key) -> Node:
    """A map inside a reaction, in the units of the reaction: Cantera 3.2 ignores `units` inside a rate constant."""
    if isinstance(data, dict):
        data = {name: value for name, value in data.items() if name != "units"}
    return Node(data, f"{node.where}: {key}", node.units)


def has_own_units(node) -> bool:
    """Whether a rate constant of a reaction has a key `units`."""
    return any(isinstance(data, dict) and "units" in data for data in _constants_of(node))


def lacks_energy(node) -> bool:
    """Whether a rate constant of a reaction has no Ea."""
    for data in _constants_of(node):
        listed = isinstance(data, list) and len(data) == 2
        if listed or isinstance(data, dict) and data.get("Ea") is None and "Ea0" not in data:
            return True
    return False


def _constants_of(node) -> list:
    """The rate constants of a reaction, those of a P-log list too."""
    entries = node.data.get("rate-constants")
    constants = [node.data.get(key) for key in CONSTANTS]
    return [*constants, *(entries if isinstance(entries, list) else [])]


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


def blowers_masel(node, order) -> BlowersMasel:
    """A Blowers-Masel reaction, elementary or three-body."""
    block = _constant(node, "rate-constant", ("A", "b", "Ea0", "w"))
    rate = BlowersMasel(_factor(block, order), block.number("b"), _energy(block, "Ea0"), _energy(block, "w"))
    _check_sign(node, block, rate.A)
    good = rate.w > 0 and rate.w != rate.E0
    block.refuse(not good, f"w is {short(block.data['w'])}, wanted a positive energy other than Ea0.")
    return rate


def linear_burke(node, order, species) -> LinearBurke:
    """A linear Burke reaction. species(name): index of a collider; None if the mixture leaves it out."""
    entries = node.items("colliders", "a list of colliders, M first", least=1)
    blocks = [Node(data, f"{node.where}: colliders, entry {n}", node.units) for n, data in enumerate(entries, 1)]
    names = [block.text("name", "the collider's name") for block in blocks]

    # M, in whose terms efficiencies are.
    first = blocks[0]
    first.refuse(names[0] != "M", f"name is {short(names[0])}, wanted M first.")
    first.need("type", f"one of {', '.join(OF_PRESSURE)}")
    key, base = _base_efficiency(first)
    reference = _of_pressure(first, order, key)

    # The other colliders.
    colliders: dict[int, BurkeCollider] = {}
    for block, name in zip(blocks[1:], names[1:]):
        efficiency = _relative_efficiency(block, key, base)
        rate = _of_pressure(block, order, key) if block.has("type") else None
        if rate is None:
            block.only("name", key, "note", "units")
        block.refuse(rate and not efficiency.A, f"{key}: A is 0, wanted a positive number with a rate.")

        s = species(name)
        block.refuse(s in colliders, f"species {short(name)} is there more than once.")
        if s is not None:
            colliders[s] = BurkeCollider(s, efficiency, rate)

    return LinearBurke(reference, tuple(colliders.values()))


def _base_efficiency(first) -> tuple[str, Arrhenius]:
    """(key of the colliders' efficiencies, M's own): its eig0, or 1."""
    one = Arrhenius(1.0, 0.0, 0.0)
    if not first.has("eig0"):
        own = _efficiency(first, "efficiency") if first.has("efficiency") else one
        first.refuse(own != one, "efficiency: that of M is {A: 1, b: 0, Ea: 0}, wanted none.")
        return "efficiency", one

    own = _efficiency(first, "eig0")
    first.refuse(not own.A > 0, f"eig0: A is {own.A:g}, wanted a positive number.")
    return "eig0", own


def _relative_efficiency(block, key, base: Arrhenius) -> Arrhenius:
    """A collider's efficiency over M's."""
    block.need(key, "one for each collider, as M has eig0" if key == "eig0" else "one for each collider but M")
    own = _efficiency(block, key)
    block.refuse(own.A < 0, f"{key}: A is {own.A:g}, wanted no negative number.")
    return Arrhenius(own.A / base.A, own.b - base.b, own.E - base.E)


def _efficiency(node, key) -> Arrhenius:
    """An efficiency {A, b, Ea}, without a unit."""
    block = _in_units_of(node, node.need(key, "{A, b, Ea}"), key)
    block.only("A", "b", "Ea", "note")
    return Arrhenius(block.number("A"), block.number("b"), _energy(block, "Ea"))


def _of_pressure(node, order, key) -> Plog | Chebyshev | Falloff:
    """The rate of a collider. key: that of its efficiency."""
    kind = node.choice("type", OF_PRESSURE, f"one of {', '.join(OF_PRESSURE)}")
    common = ("name", "type", key, "note", "units")
    if kind == "Chebyshev":
        node.only(*common, "temperature-range", "pressure-range", "data")
        return chebyshev(node, order, order)
    if kind == "falloff":
        node.only(*common, "low-P-rate-constant", "high-P-rate-constant", "Troe", "negative-A")
        node.need("Troe", "the numbers of Troe's form, the only falloff of a collider")
        return blended(node, order)
    node.only(*common, "rate-constants")
    return plog(node, order)
