"""Duplicate reactions of a phase, by the rules of Cantera 3.2 (Kinetics::checkDuplicates).

Two reactions with the mark `duplicate: true` are partners if they have the same participants; types, directions and
colliders may differ. A mark without a partner is an error.

Two reactions without a mark in both are an error if three conditions hold: same type; same coefficients up to a factor,
in the same direction, or in opposite directions if one of them is reversible; some species is a collider of both. If
one has the collider M and the other a species, the phase's `explicit-third-body-duplicates` decides.
"""

from __future__ import annotations

import dataclasses

from .cantera_file import Node
from .reactions import Collider, Falloff, Reaction
from .units import short

RULES = ("warn", "error", "mark-duplicate", "modify-efficiency")
SAME = 1e-8  # relative difference up to which ratios of coefficients are equal


@dataclasses.dataclass
class Candidate:
    """A reaction during the search for duplicates."""

    reaction: Reaction
    third: Collider | None  # third body, whether it multiplies the rate or not
    key: int  # key of the participants, see `participants`
    marked: bool  # has `duplicate: true`
    place: int  # index in the phase, from 0, counting reactions that the mixture leaves out

    @property
    def type(self) -> tuple:
        """Equal for two reactions of the same Cantera type."""
        rate = self.reaction.rate
        if isinstance(rate, Falloff):
            return Falloff, rate.form, rate.activated
        return type(rate), self.third is not None

    def shares_collider(self, other: Candidate, ns: int) -> bool:
        """Whether some species is a collider of both reactions. True if a reaction has no third body."""
        if self.third is None or other.third is None:
            return True
        return bool((self.third.weights(ns) * other.third.weights(ns)).any())


def participants(species) -> int:
    """Cantera's key of the participants (indices of species). Different participants may have the same key, as in
    Cantera: every file that Cantera accepts is accepted."""
    return sum(s * (s + 1) for s in species)


class Duplicates:
    """Checks the reactions of a phase of ns species."""

    def __init__(self, phase: Node, ns: int):
        self.phase, self.ns = phase, ns
        self.rule = phase.data.get("explicit-third-body-duplicates", "warn")
        self.notes: list[str] = []

        phase.refuse(
            self.rule not in RULES,
            f"explicit-third-body-duplicates is {short(self.rule)}, wanted {', '.join(RULES)}.",
        )

    def check(self, candidates: list[Candidate], alone: bool) -> list[Reaction]:
        """The reactions; rule modify-efficiency changes efficiencies of some.

        alone: a mark without a partner is no error. Raises MixtureError with the reactions.
        """
        # Compare each reaction with the reactions before it that have the same key.
        related: dict[int, list[Candidate]] = {}
        paired: set[int] = set()

        for candidate in candidates:
            for other in related.setdefault(candidate.key, []):
                if candidate.marked and other.marked:
                    paired |= {candidate.reaction.number, other.reaction.number}
                elif self._alike(candidate, other):
                    self._unmarked(candidate, other)
            related[candidate.key].append(candidate)

        # Marks without a partner.
        for candidate in candidates:
            reaction = candidate.reaction
            lonely = reaction.duplicate and reaction.number not in paired
            self.phase.refuse(
                lonely and not alone,
                f"reaction {reaction.number + 1}, {reaction.equation}, is marked duplicate and has no partner.",
            )

        return [candidate.reaction for candidate in candidates]

    def _alike(self, one: Candidate, other: Candidate) -> bool:
        """Whether two reactions are duplicates, so that both need a mark."""
        if one.type != other.type:
            return False

        a, b = one.reaction, other.reaction
        same = _multiple(a, b, False)
        reverse = _multiple(a, b, True) and (a.reversible or b.reversible)

        return (same or reverse) and one.shares_collider(other, self.ns)

    def _unmarked(self, one: Candidate, other: Candidate) -> None:
        """Applies the rule of the phase to two duplicates without marks. Raises MixtureError."""
        message = (
            f"reactions {other.reaction.number + 1} and {one.reaction.number + 1}, {one.reaction.equation}, "
            "are duplicates"
        )

        general = [each for each in (one, other) if each.third and each.third.name == "M"]
        explicit = one.third is not None and len(general) == 1
        self.phase.refuse(not explicit or self.rule == "error", f"{message}; wanted `duplicate: true` in both.")

        if self.rule == "warn":
            self.notes.append(f"{message} in part, by their colliders; their rates add.")
        elif self.rule == "mark-duplicate":
            one.marked = other.marked = True
        else:
            special = other if general[0] is one else one
            _take_out(general[0], special.third)


def _take_out(general: Candidate, special: Collider | None) -> None:
    """Sets the efficiency of an explicit collider in M to 0."""
    if general.third is None or special is None:
        return

    of = general.third.of | dict.fromkeys(special.of, 0.0)
    general.third = dataclasses.replace(general.third, of=of)
    if general.reaction.collider is not None:
        general.reaction = dataclasses.replace(general.reaction, collider=general.third)


def _multiple(one, other, reverse):
    """Whether the coefficients of two reactions differ only by a factor. reverse: compare opposite directions."""
    sides = (other.products, other.reactants) if reverse else (other.reactants, other.products)
    pairs = list(zip((one.reactants, one.products), sides))
    if any(set(a) != set(b) for a, b in pairs):
        return False

    ratios = []
    for a, b in pairs:
        ratios += [a[s] / b[s] for s in a]
    return all(abs(r / ratios[0] - 1) < SAME for r in ratios)
