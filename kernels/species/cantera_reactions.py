"""Reads the reactions of a Cantera YAML phase: all gas-phase kinds of Cantera 3.2 but those in NOT_READ.

A species file is loaded without them; `ReactionText.read` parses and checks them when a rate is first asked for. Rules
of Cantera's that are easily missed: a species on both sides of a reaction is its collider where the coefficients are
whole and one side adds up to three; units count by value, reaction and section; duplicates have to be marked.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import re

import numpy as np

from ..errors import MixtureError, closest
from .cantera_file import File, Node
from .reactions import Arrhenius, Chebyshev, Collider, Falloff, Mechanism, Plog, Reaction
from .units import short

KINETICS, RULES = ("gas", "bulk"), ("all", "declared-species", "none")
TWINS = ("warn", "error", "mark-duplicate", "modify-efficiency")
PLAIN = ("", "elementary", "three-body", "Arrhenius", "three-body-Arrhenius")
PLOG = ("pressure-dependent-Arrhenius", "three-body-pressure-dependent-Arrhenius")
CHEBYSHEV = ("Chebyshev", "three-body-Chebyshev")
BLENDED = ("falloff", "chemically-activated")
READ = (*PLAIN, *PLOG, *CHEBYSHEV, *BLENDED)
NOT_READ = (  # known to Cantera 3.2; for the message only
    "Blowers-Masel",
    "linear-Burke",
    "two-temperature-plasma",
    "electron-collision-plasma",
    "custom-rate-function",
    "extensible",
    "interface-Arrhenius",
    "interface-Blowers-Masel",
    "sticking-Arrhenius",
    "sticking-Blowers-Masel",
)
KEYS = (
    "equation type rate-constant low-P-rate-constant high-P-rate-constant Troe SRI Tsang efficiencies "
    "default-efficiency rate-constants temperature-range pressure-range data orders negative-orders "
    "nonreactant-orders negative-A duplicate id note units"
).split()
BLENDS = {  # numbers of each form: those that must be there, those that may be absent, with their values
    "Troe": (("A", "T3", "T1"), {"T2": 0.0}),
    "SRI": (("A", "B", "C"), {"D": 1.0, "E": 0.0}),
    "Tsang": (("A", "B"), {}),
}
CHECKED = (300.0, 500.0, 1000.0, 2000.0, 5000.0, 10000.0)  # K, where a sum of P-log terms has to be positive
ARROWS = {"<=>": True, "=": True, "=>": False}
BALANCE = 1e-4  # of the atoms of an element


@dataclasses.dataclass(eq=False)
class ReactionText:
    """The reactions of a phase as its file has them, unread.

    file, phase: the parsed file, without the sections that were passed over, and the phase's map. names: species of the
    mixture; composition: {species: {element: atoms}}. without: species of the phase that the mixture leaves out.
    """

    file: File
    phase: Node
    names: tuple[str, ...]
    composition: dict[str, dict[str, float]]
    without: tuple[str, ...]

    def only(self, names) -> ReactionText:
        """The same for some of the species."""
        rest = tuple(name for name in self.names if name not in names)
        return dataclasses.replace(self, names=tuple(names), without=(*self.without, *rest))

    @functools.cached_property
    def _read(self) -> Mechanism | MixtureError:
        try:
            return _Reader(self).mechanism()
        except MixtureError as error:
            return error

    def read(self) -> Mechanism:
        """The reactions, parsed and checked once. Raises MixtureError that names file, reaction and what is wrong."""
        if isinstance(self._read, MixtureError):
            raise self._read
        return self._read


class _Reader:
    """What one phase's reactions need while they are read."""

    def __init__(self, text: ReactionText):
        self.text, self.phase = text, text.phase
        self.index = {name: s for s, name in enumerate(text.names)}
        self.elements = list(dict.fromkeys(e for name in text.names for e in text.composition[name]))
        self.count = 0  # reactions so far
        self.notes: list[str] = []
        self.left: dict[str, list[str]] = {}  # why reactions are left out: their equations

    def mechanism(self) -> Mechanism:
        phase = self.phase
        kinetics = phase.data.get("kinetics")
        wanted = f"wanted {' or '.join(KINETICS)}"
        phase.refuse(kinetics in (None, "none"), f"has no kinetics, {wanted}.")
        phase.refuse(kinetics not in KINETICS, f"kinetics is {short(kinetics)}, {wanted}.")
        reactions = self._multiplied([r for section, rule in self._sections() for r in self._of(section, rule)])
        reactions = self._without_twins(reactions)
        for why, those in self.left.items():
            self.notes.append(
                f"{len(those)} reactions left out, {why}: {'; '.join(those[:3])}{', ...' * (len(those) > 3)}."
            )
        atoms = [[self.text.composition[name].get(e, 0.0) for e in self.elements] for name in self.text.names]
        return Mechanism(self.text.names, np.array(atoms), tuple(reactions), tuple(self.notes))

    # ---- which reactions
    def _sections(self):
        """[([Node of an entry], rule)]"""
        chosen = self.phase.data.get("reactions", ["reactions"])
        if isinstance(chosen, str):
            self.phase.refuse(
                chosen not in RULES, f"reactions: got {short(chosen)}, wanted {', '.join(RULES)} or a list."
            )
            chosen = [] if chosen == "none" else [{"reactions": chosen}]
        self.phase.refuse(not isinstance(chosen, list), f"reactions: got {short(chosen)}, wanted a rule or a list.")
        out = []
        for item in chosen:
            for name, rule in item.items() if isinstance(item, dict) else ((item, "all"),):
                known = rule in ("all", "declared-species", "none") and isinstance(name, str)
                self.phase.refuse(
                    not known, f"reactions: got {short(item)}, wanted sections with all or declared-species."
                )
                if rule != "none":
                    folder, _, section = name.rpartition("/")
                    file = File(folder, self.text.file.path.parent) if folder else self.text.file
                    out.append((file.reactions(section), rule))
        return out

    def _multiplied(self, reactions):
        given = self.phase.child("rate-multipliers")
        factors = {key: given.number(key) for key in given.data}
        for key in factors:
            known = key == "default" or key.isdecimal() and int(key) < len(reactions)
            given.refuse(not known, f"got {short(key)}, wanted default or the number of a reaction, from 0 on.")
        default = factors.get("default", 1.0)
        return [dataclasses.replace(r, multiplier=factors.get(str(r.number), default)) for r in reactions]

    def _of(self, entries, rule):
        """The reactions of a section."""
        for node in entries:
            reaction = self._reaction(node, rule)
            if reaction is not None:
                yield dataclasses.replace(reaction, number=self.count)
                self.count += 1

    def _known(self, node, names, rule) -> bool:
        """Whether the mixture has all these species; if not, whether the reaction may be left out, or an error."""
        foreign = next((name for name in names if name not in self.index), None)
        if foreign is None:
            return True
        if foreign in self.text.without:
            self.left.setdefault("as the mixture leaves out their species", []).append(node.data["equation"])
        elif rule == "declared-species":
            self.left.setdefault("as their species are not in the phase", []).append(node.data["equation"])
        else:
            node.fail(f"species {short(foreign)} is not in the phase{closest(foreign, self.index)}.")
        return False

    # ---- one reaction
    def _reaction(self, node, rule):
        kind = node.data.get("type", "")
        readable = f"wanted none or one of {', '.join(READ[1:])}."
        node.refuse(kind in NOT_READ, f"type {short(kind)} is not read by this program, {readable}")
        node.refuse(kind not in READ, f"type is {short(kind)}, {readable}")
        for key in [key for key in node.data if key not in KEYS]:
            like = closest(key, KEYS)
            node.refuse(like, f"unknown key {short(key)}{like}?")
        reactants, products, reversible, inside = _sides(node)
        collider = inside or _collider(node, kind, reactants, products)
        blended = kind in BLENDED
        node.refuse(blended and not inside, "a falloff reaction has (+M) or (+ a species) on both sides.")
        node.refuse(inside and not blended, f"(+{inside}) belongs to the types {' and '.join(BLENDED)}.")
        if collider:
            for side in () if inside else (reactants, products):
                side[collider] -= 1
                if not side[collider]:
                    del side[collider]
        named = [*reactants, *products, *([collider] if collider and collider != "M" else [])]
        if not self._known(node, named, rule):
            return None
        orders = self._orders(node, reactants, reversible)
        order = sum(orders.values())
        third = None if collider is None else self._efficiencies(node, collider)
        by_index = lambda side: {self.index[name]: value for name, value in side.items()}
        self._balanced(node, by_index(reactants), by_index(products))
        make = _blended if blended else _plog if kind in PLOG else _chebyshev if kind in CHEBYSHEV else _plain
        rate = make(node, order + (third is not None and not blended))
        return Reaction(
            number=-1,
            equation=node.data["equation"],
            reactants=by_index(reactants),
            products=by_index(products),
            orders=by_index(orders),
            reversible=reversible,
            rate=rate,
            collider=third,
            duplicate=_yes(node, "duplicate"),
        )

    def _orders(self, node, reactants, reversible):
        orders, given = dict(reactants), node.child("orders")
        given.refuse(
            given.data and reversible, "a reversible reaction has the orders of its equation; wanted => in it."
        )
        for name in given.data:
            given.refuse(
                name not in self.index, f"species {short(name)} is not in the phase{closest(name, self.index)}."
            )
            other = name not in reactants and not _yes(node, "nonreactant-orders")
            given.refuse(other, f"species {short(name)} is no reactant, wanted `nonreactant-orders: true` with it.")
            orders[name] = given.number(name)
            below = orders[name] < 0 and not _yes(node, "negative-orders")
            given.refuse(below, f"{name}: got {orders[name]:g}, wanted `negative-orders: true` with it.")
        return {name: order for name, order in orders.items() if order}

    def _efficiencies(self, node, collider) -> Collider:
        given = node.child("efficiencies")
        default = node.number("default-efficiency", default=1.0 if collider == "M" else 0.0)
        factors = {name: given.number(name) for name in given.data}
        if collider != "M":
            strange = default != 0 or set(factors) - {collider}
            node.refuse(strange, f"{collider} is the collider: wanted no other efficiencies, and none by default.")
            factors = factors or {collider: 1.0}
        skip = bool(self.phase.data.get("skip-undeclared-third-bodies"))
        for name in [name for name in factors if name not in self.index]:
            known = skip or name in self.text.without
            given.refuse(not known, f"species {short(name)} is not in the phase{closest(name, self.index)}.")
            del factors[name]
        return Collider(collider, default, {self.index[name]: factor for name, factor in factors.items()})

    def _balanced(self, node, reactants, products):
        atoms = lambda side, e: sum(
            nu * self.text.composition[self.text.names[s]].get(e, 0.0) for s, nu in side.items()
        )
        for element in self.elements:
            left, right = atoms(reactants, element), atoms(products, element)
            wrong = abs(left - right) > BALANCE * max(abs(left), abs(right))
            node.refuse(wrong, f"{element} is not balanced: {left:g} on the left, {right:g} on the right.")

    # ---- duplicates
    def _without_twins(self, reactions):
        """Refuses two reactions of the same species and kind unless both are marked. Between M and an explicit collider
        the phase's `explicit-third-body-duplicates` decides."""
        rule = self.phase.data.get("explicit-third-body-duplicates", "warn")
        self.phase.refuse(
            rule not in TWINS, f"explicit-third-body-duplicates is {short(rule)}, wanted {', '.join(TWINS)}."
        )
        places: dict[tuple, list[int]] = {}
        paired: set[int] = set()
        ns = len(self.text.names)
        reactions = list(reactions)
        for i, one in enumerate(reactions):
            key = (one.kind, frozenset((*one.reactants, *one.products)))
            for j in places.setdefault(key, []):
                other = reactions[j]
                same, reverse = _multiple(one, other, False), _multiple(one, other, True)
                if not same and not (reverse and (one.reversible or other.reversible)):
                    continue
                if one.collider and not (reactions[i].collider.weights(ns) * other.collider.weights(ns)).any():
                    continue
                if one.duplicate and other.duplicate:
                    paired |= {i, j}
                    continue
                said = f"reactions {other.number + 1} and {one.number + 1}, {one.equation}, are duplicates"
                explicit = one.collider and (one.collider.name == "M") != (other.collider.name == "M")
                self.phase.refuse(not explicit or rule == "error", f"{said}; wanted `duplicate: true` in both.")
                if rule == "warn":
                    self.notes.append(f"{said} in part, by their colliders; their rates add.")
                elif rule == "modify-efficiency":
                    general, special = (i, j) if one.collider.name == "M" else (j, i)
                    third = reactions[general].collider
                    none = dict.fromkeys(reactions[special].collider.of, 0.0)
                    reactions[general] = dataclasses.replace(
                        reactions[general], collider=dataclasses.replace(third, of=third.of | none)
                    )
            places[key].append(i)
        for i, one in enumerate(reactions):
            alone = one.duplicate and i not in paired
            self.phase.refuse(
                alone, f"reaction {one.number + 1}, {one.equation}, is marked duplicate and has no partner."
            )
        return reactions


def _multiple(one, other, reverse):
    """Whether the species of two reactions are in one ratio, in the same or in opposite directions."""
    sides = (other.products, other.reactants) if reverse else (other.reactants, other.products)
    pairs = list(zip((one.reactants, one.products), sides))
    if any(set(a) != set(b) for a, b in pairs):
        return False
    ratios = [a[s] / b[s] for a, b in pairs for s in a]
    return all(abs(r / ratios[0] - 1) < 1e-8 for r in ratios)


def _yes(node, key):
    value = node.data.get(key, False)
    node.refuse(not isinstance(value, bool), f"{key} is {short(value)}, wanted true or false.")
    return value


def _sides(node):
    """({reactant: coefficient}, {product: coefficient}, whether reversible, what stands in (+ ))"""
    words = re.sub(r"\(\+\s+", "(+", node.data["equation"]).split()
    arrows = [k for k, word in enumerate(words) if word in ARROWS]
    node.refuse(len(arrows) != 1, f"wanted one of {', '.join(ARROWS)} between blanks.")
    sides, inside = [], []
    for part in (words[: arrows[0]], words[arrows[0] + 1 :]):
        found = re.fullmatch(r"\(\+(\S+)\)", part[-1]) if part else None
        inside.append(found[1] if found else None)
        side: dict[str, float] = {}
        for term in " ".join(part[:-1] if found else part).split(" + "):
            number, name = [*term.split()] if len(term.split()) == 2 else ["1", term.strip()]
            try:
                coefficient = float(number)
            except ValueError:
                coefficient = math.nan
            good = coefficient > 0 and math.isfinite(coefficient) and name and " " not in name
            node.refuse(not good, f"got {short(term)} in the equation, wanted a species, or a number and a species.")
            side[name] = side.get(name, 0.0) + coefficient
        sides.append(side)
    node.refuse(inside[0] != inside[1], f"(+{inside[0] or inside[1]}) stands on one side only, wanted it on both.")
    return *sides, ARROWS[words[arrows[0]]], inside[0]


def _collider(node, kind, reactants, products):
    """The species, or M, that takes part in a reaction as a collider only; None where there is none."""
    said = kind.startswith("three-body")
    both = [name for name in reactants if name in products]
    count = sum(1 + (reactants[name] > 1 and products[name] > 1) for name in both)
    if "M" in reactants or "M" in products:
        node.refuse("M" not in both or reactants["M"] != 1 or products["M"] != 1, "wanted one M on each side.")
        node.refuse(kind == "elementary", "an elementary reaction has no M.")
        return "M"
    if kind == "elementary":
        return None
    node.refuse(said and not both, "a three-body reaction has M, or one species, on both sides.")
    if count > 1:
        named = list(node.child("efficiencies").data)
        node.refuse(
            named and (len(named) != 1 or named[0] not in both), "efficiencies: wanted that of the collider only."
        )
        node.refuse(said and not named, f"any of {', '.join(both)} may be the collider; `efficiencies` can name it.")
        return named[0] if named else None
    sums = [sum(side.values()) for side in (reactants, products)]
    whole = all(nu == round(nu) for side in (reactants, products) for nu in side.values())
    return both[0] if both and (said or whole and 3 in sums) else None


# ---- rates
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
    block = Node(data, f"{node.where}: {key}", node.units)
    block.only("A", "b", "Ea")
    rate = _arrhenius(block, order)
    block.refuse(
        rate.A < 0 and not _yes(node, "negative-A"), f"A is {short(data['A'])}, wanted `negative-A: true` with it."
    )
    return rate


def _plain(node, order) -> Arrhenius:
    return _rate(node, "rate-constant", order)


def _blended(node, order) -> Falloff:
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
    block.only(*needed, *optional)
    numbers = [block.number(key, _unit(forms[0], key)) for key in needed]
    numbers += [block.number(key, _unit(forms[0], key), default=value) for key, value in optional.items()]
    if forms[0] == "SRI":
        block.refuse(numbers[2] < 0 or numbers[3] < 0, "C and D: wanted no negative number.")
    return Falloff(low, high, forms[0], tuple(numbers), activated)


def _unit(form, key):
    return "K" if form == "Troe" and key != "A" or form == "SRI" and key in "BC" else "1"


def _plog(node, order) -> Plog:
    groups: dict[float, list[Arrhenius]] = {}
    for number, data in enumerate(node.items("rate-constants", "a list of {P, A, b, Ea}", least=1), 1):
        block = Node(data, f"{node.where}: rate-constants, entry {number}", node.units)
        block.only("P", "A", "b", "Ea")
        groups.setdefault(block.positive("P", "Pa"), []).append(_arrhenius(block, order))
    for p, terms in groups.items():
        T = np.array(CHECKED)
        wrong = T[~(sum(term.at(T) for term in terms) > 0)]
        if wrong.size:
            node.fail(f"rate-constants: at {p:g} Pa their sum is not positive at {wrong[0]:g} K.")
    return Plog(tuple(sorted(groups)), tuple(tuple(groups[p]) for p in sorted(groups)))


def _chebyshev(node, order) -> Chebyshev:
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
    power = order - 1
    factor = node.units.convert(1.0, f"m^{3 * power!r}*kmol^{-power!r}/s") * 1e-3**power
    data[0][0] += math.log10(factor)
    return Chebyshev(span("temperature-range", "K"), span("pressure-range", "Pa"), tuple(map(tuple, data)))
