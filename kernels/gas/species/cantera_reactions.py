"""Reads the reactions of a Cantera YAML phase: all gas-phase types of Cantera 3.2 except those in NOT_READ.

A mixture is loaded without reactions. `ReactionText.read` parses and checks them when a rate is first needed. Readers
of the parts: cantera_equation.py, cantera_rates.py, cantera_duplicates.py.

Rules of Cantera that are easily missed:
- A species on both sides is the collider if the coefficients are integers and one side adds up to three.
- Units may be set for a value, a reaction or a section.
- Duplicates must be marked.
- Letter case of species does not matter if only one species can be meant.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from ...engine.errors import MixtureError, closest
from . import cantera_rates as rates
from .cantera_duplicates import Candidate, Duplicates, participants
from .cantera_equation import Equation, Side, read_equation
from .cantera_file import File, Node
from .names import Names
from .reactions import Collider, Mechanism, Reaction
from .units import short

KINETICS, RULES = ("gas", "bulk"), ("all", "declared-species", "none")
PLAIN = ("", "elementary", "three-body", "Arrhenius", "three-body-Arrhenius")
PLOG = ("pressure-dependent-Arrhenius", "three-body-pressure-dependent-Arrhenius")
CHEBYSHEV = ("Chebyshev", "three-body-Chebyshev")
BLENDED = ("falloff", "chemically-activated")
BLOWERS_MASEL = ("Blowers-Masel", "three-body-Blowers-Masel")
LINEAR_BURKE = ("linear-Burke", "three-body-linear-Burke")
READ = (*PLAIN, *PLOG, *CHEBYSHEV, *BLENDED, *BLOWERS_MASEL, *LINEAR_BURKE)
NOT_READ = (  # known to Cantera 3.2; for the message only
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
    "nonreactant-orders negative-A duplicate id note units colliders"
).split()
STICKING = "has a sticking-coefficient: it is a reaction on a surface"
BALANCE = 1e-4  # relative difference of an element's atoms on both sides that is accepted
SHOWN = 3  # equations listed in a note


@dataclasses.dataclass(eq=False)
class ReactionText:
    """The reactions of a phase as text of the file, not yet parsed."""

    file: File
    phase: Node  # map of the phase
    names: tuple[str, ...]  # species of the mixture
    composition: dict[str, dict[str, float]]  # {species: {element: atoms}}
    without: tuple[str, ...]  # species of the phase that the mixture leaves out

    def only(self, names) -> ReactionText:
        """The same for a mixture with only these species."""
        rest = tuple(name for name in self.names if name not in names)
        return dataclasses.replace(self, names=tuple(names), without=(*self.without, *rest))

    @functools.cached_property
    def _read(self) -> Mechanism | MixtureError:
        try:
            return _Reader(self).mechanism()
        except MixtureError as error:
            return error

    def read(self) -> Mechanism:
        """The reactions, parsed and checked at the first call. Raises MixtureError with file, reaction and problem."""
        if isinstance(self._read, MixtureError):
            raise self._read
        return self._read


class _Reader:
    """Reads the reactions of a phase."""

    def __init__(self, text: ReactionText):
        self.text, self.phase = text, text.phase
        self.index = {name: s for s, name in enumerate(text.names)}
        self.names = Names((*text.names, *text.without))
        self.elements = list(dict.fromkeys(e for name in text.names for e in text.composition[name]))
        self.skips_third_bodies = bool(text.phase.data.get("skip-undeclared-third-bodies"))
        self.count = 0  # reactions of the phase so far, with those that the mixture leaves out
        self.remarks: dict[str, list[str]] = {}  # {remark: equations}

    def mechanism(self) -> Mechanism:
        self._check_kinetics()

        candidates: list[Candidate] = []
        for entries, rule in self._sections():
            for node in entries:
                candidate = self._candidate(node, rule, number=len(candidates))
                if candidate is not None:
                    candidates.append(candidate)
        self._multiply(candidates)

        # A mark without a partner is no error if the mixture leaves out species: the partner may be left out too.
        duplicates = Duplicates(self.phase, len(self.text.names))
        reactions = duplicates.check(candidates, alone=bool(self.text.without))

        notes = (*duplicates.notes, *self._remarks())
        atoms = [[self.text.composition[name].get(e, 0.0) for e in self.elements] for name in self.text.names]
        return Mechanism(self.text.names, np.array(atoms), tuple(reactions), notes)

    def _check_kinetics(self):
        kinetics = self.phase.data.get("kinetics")
        wanted = f"wanted {' or '.join(KINETICS)}"
        self.phase.refuse(kinetics in (None, "none"), f"has no kinetics, {wanted}.")
        self.phase.refuse(kinetics not in KINETICS, f"kinetics is {short(kinetics)}, {wanted}.")

    # ---- notes
    def _remark(self, text, node):
        self.remarks.setdefault(text, []).append(node.data["equation"])

    def _remarks(self):
        """A note for each remark: the number of reactions, and some of their equations."""
        for text, equations in self.remarks.items():
            more = ", ..." if len(equations) > SHOWN else ""
            yield f"{len(equations)} reactions {text}: {'; '.join(equations[:SHOWN])}{more}."

    # ---- which reactions
    def _sections(self):
        """Yields ([Node of an entry], rule) for each section of reactions of the phase."""
        for item in self._chosen():
            for name, rule in item.items() if isinstance(item, dict) else ((item, "all"),):
                known = rule in RULES and isinstance(name, str)
                self.phase.refuse(
                    not known, f"reactions: got {short(item)}, wanted sections with all or declared-species."
                )
                if rule != "none":
                    folder, _, section = name.rpartition("/")
                    file = self.text.file.beside(folder) if folder else self.text.file
                    yield file.reactions(section), rule

    def _chosen(self) -> list:
        """The sections of reactions that the phase names: names, or maps {name: rule}."""
        chosen = self.phase.data.get("reactions", ["reactions"])
        if isinstance(chosen, str):
            self.phase.refuse(
                chosen not in RULES, f"reactions: got {short(chosen)}, wanted {', '.join(RULES)} or a list."
            )
            return [] if chosen == "none" else [{"reactions": chosen}]

        self.phase.refuse(not isinstance(chosen, list), f"reactions: got {short(chosen)}, wanted a rule or a list.")
        return chosen

    def _multiply(self, candidates):
        """Applies the rate multipliers of the phase."""
        given = self.phase.child("rate-multipliers")
        factors = {key: given.number(key) for key in given.data}
        for key in factors:
            known = key == "default" or key.isdecimal() and int(key) < self.count
            given.refuse(not known, f"got {short(key)}, wanted default or the number of a reaction, from 0 on.")

        default = factors.get("default", 1.0)
        for candidate in candidates:
            multiplier = factors.get(str(candidate.place), default)
            candidate.reaction = dataclasses.replace(candidate.reaction, multiplier=multiplier)

    # ---- one reaction
    def _candidate(self, node, rule, number) -> Candidate | None:
        """The reaction of an entry; None if it is left out."""
        # Type, equation, species, third body.
        kind = node.data.get("type", "")
        self._check_keys(node, kind)

        equation = read_equation(node, kind)
        if not self._has_species(node, equation, rule):
            return None
        place = self.count - 1
        self._check_third_body(node, kind, equation)
        third = self._third_body(node, kind, equation)

        reactants = self._by_index(equation.reactants)
        products = self._by_index(equation.products)
        self._check_balance(node, reactants, products)

        if rates.has_own_units(node):
            self._remark("with units within a rate constant, where they are of no effect; wanted beside it", node)

        if rates.lacks_energy(node):
            self._remark("without Ea, which counts as 0", node)

        # The rate: the unit of A depends on the number of concentrations.
        orders = self._orders(node, equation, reactants)
        order = sum(orders.values()) + equation.multiplied
        reaction = Reaction(
            number=number,
            equation=node.data["equation"],
            reactants=_present(reactants),
            products=_present(products),
            orders=_present(orders),
            reversible=equation.reversible,
            rate=self._rate(node, kind, order, equation.multiplied and third is None),
            collider=third if equation.multiplied or kind in BLENDED else None,
            duplicate=rates.yes(node, "duplicate"),
        )
        return Candidate(reaction, third, participants([*reactants, *products]), reaction.duplicate, place)

    def _check_keys(self, node, kind):
        readable = f"wanted none or one of {', '.join(READ[1:])}."
        node.refuse(kind in NOT_READ, f"type {short(kind)} is not read by this program, {readable}")
        node.refuse(kind not in READ, f"type is {short(kind)}, {readable}")
        node.refuse(node.has("sticking-coefficient"), f"{STICKING}, which is not read by this program.")
        for key in [key for key in node.data if key not in KEYS]:
            like = closest(key, KEYS)
            node.refuse(like, f"unknown key {short(key)}{like}?")

    def _rate(self, node, kind, order, drops):
        """The rate coefficient.

        order: number of concentrations in its unit; for a falloff reaction without the collider. drops: M is written,
        but its concentration does not multiply the rate.
        """
        if kind in BLENDED:
            return rates.blended(node, order)
        if kind in PLOG:
            return rates.plog(node, order)
        if kind in CHEBYSHEV:
            return rates.chebyshev(node, order - drops, order)
        if kind in BLOWERS_MASEL:
            return rates.blowers_masel(node, order)
        if kind in LINEAR_BURKE:
            return rates.linear_burke(node, order, lambda name: self._known(node, name))
        return rates.plain(node, order)

    # ---- species
    def _has_species(self, node, equation: Equation, rule) -> bool:
        """Whether the mixture has all species of a reaction; if not, the reaction is left out.

        Raises MixtureError for a species that is not in the phase, unless the phase skips such reactions.
        """
        collider = [equation.collider] if equation.collider not in (None, "M") else []
        orders = node.child("orders").data
        names = (*equation.reactants, *equation.products, *orders, *collider)

        for name in names:
            if self.names.find(name) is not None:
                continue
            skipped = rule == "declared-species" or name in collider and self.skips_third_bodies
            skipped = skipped and not self.names.is_ambiguous(name)
            node.refuse(not skipped, f"{'orders: ' if name in orders else ''}{self.names.absent(name)}")
            self._remark("left out, as their species are not in the phase", node)
            return False

        self.count += 1
        if all(self.names.find(name) in self.index for name in names):
            return True
        self._remark("left out, as the mixture leaves out their species", node)
        return False

    def _by_index(self, side: Side) -> dict[int, float]:
        """{index of a species: coefficient} of a side."""
        out: dict[int, float] = {}
        for name, coefficient in side.items():
            s = self.index[self.names[name]]
            out[s] = out.get(s, 0.0) + coefficient
        return out

    def _orders(self, node, equation: Equation, reactants) -> dict[int, float]:
        """Forward orders {species: order}: the coefficients of the reactants, changed by the map `orders`."""
        orders = dict(reactants)
        given = node.child("orders")
        given.refuse(
            given.data and equation.reversible, "a reversible reaction has the orders of its equation; wanted => in it."
        )

        for name in given.data:
            s = self.index[self.names[name]]
            given.refuse(
                s in reactants and name not in equation.reactants,
                f"species {short(name)} has another letter case than in the equation.",
            )

            other = s not in reactants and not rates.yes(node, "nonreactant-orders")
            given.refuse(other, f"species {short(name)} is no reactant, wanted `nonreactant-orders: true` with it.")

            orders[s] = given.number(name)
            below = orders[s] < 0 and not rates.yes(node, "negative-orders")
            given.refuse(below, f"{name}: got {orders[s]:g}, wanted `negative-orders: true` with it.")
        return orders

    def _check_balance(self, node, reactants, products):
        for element in self.elements:
            left, right = self._atoms(reactants, element), self._atoms(products, element)
            wrong = abs(left - right) > BALANCE * max(abs(left), abs(right))
            node.refuse(wrong, f"{element} is not balanced: {left:g} on the left, {right:g} on the right.")

    def _atoms(self, side, element) -> float:
        atoms = [self.text.composition[self.text.names[s]].get(element, 0.0) for s in side]
        return sum(nu * count for nu, count in zip(side.values(), atoms))

    # ---- third bodies
    def _check_third_body(self, node, kind, equation: Equation):
        """Raises MixtureError for a third body that does not fit the type. A remark says if it has no effect."""
        if kind in BLENDED:
            good = equation.collider is not None and equation.in_brackets
            node.refuse(not good, "a falloff reaction has (+M) or (+ a species) on both sides.")
            return

        if equation.collider is None:
            for key in ("efficiencies", "default-efficiency"):
                node.refuse(node.has(key), f"has {key}, but no third body that they could be of.")
            return

        generic = equation.collider == "M"
        node.refuse(
            kind in PLOG and generic,
            f"{equation.written} has no place in a P-log reaction, whose rate depends on p; wanted none.",
        )
        if equation.in_brackets:
            self._remark(f"of type {kind or 'Arrhenius'} with (+ ), which is of no effect", node)
        elif kind in CHEBYSHEV and generic:
            self._remark(f"of type {kind} with + M, which is of no effect but on the unit of k", node)

    def _third_body(self, node, kind, equation: Equation) -> Collider | None:
        """The third body with its efficiencies; None without a third body, and for M of a Chebyshev reaction, which
        Cantera ignores."""
        if equation.collider is None or kind in CHEBYSHEV and equation.collider == "M":
            return None

        given, name = node.child("efficiencies"), equation.collider
        default = node.number("default-efficiency", default=1.0 if name == "M" else 0.0)
        factors = {key: given.number(key) for key in given.data}
        for key, factor in [("default-efficiency", default), *factors.items()]:
            node.refuse(factor < 0, f"efficiencies: {key} is {factor:g}, wanted 0 or more.")
        if name != "M":
            strange = default != 0 or set(factors) - {name}
            node.refuse(strange, f"{name} is the collider: wanted no other efficiencies, and none by default.")
            name = self.names[name]
            factors = factors or {name: 1.0}

        return Collider(name, default, self._efficiencies(given, factors))

    def _known(self, node, name) -> int | None:
        """The index of a collider; None if it is left out."""
        found = self.names.find(name)
        node.refuse(found is None and not self.skips_third_bodies, self.names.absent(name))
        return None if found is None else self.index.get(found)

    def _efficiencies(self, given, factors) -> dict[int, float]:
        """{species: efficiency} for species of the mixture."""
        out: dict[int, float] = {}
        for key, factor in factors.items():
            name = self.names.find(key)
            if name is None:
                given.refuse(not self.skips_third_bodies, self.names.absent(key))
            elif name in self.index:
                s = self.index[name]
                given.refuse(s in out, f"species {name} is there more than once, with another letter case.")
                out[s] = factor
        return out


def _present(side) -> dict[int, float]:
    """The species whose coefficient is not 0."""
    return {s: number for s, number in side.items() if number}
