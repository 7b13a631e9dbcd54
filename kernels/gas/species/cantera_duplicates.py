"""Duplicate reactions of a phase: Cantera's rules, Kinetics::checkDuplicates of version 3.2.

Two reactions that both are marked `duplicate: true` are partners if they have the same participants, whatever their
types, directions and colliders. A mark without a partner is an error. Two reactions that are not both marked are an
error if their types are the same, the coefficients of one are those of the other or a multiple, or those of its reverse
where one is reversible, and some species is a collider of both. For M beside an explicit collider the phase's
`explicit-third-body-duplicates` decides.
"""

from __future__ import annotations

import dataclasses

from .cantera_file import Node
from .reactions import Collider, Falloff, Reaction
from .units import short

RULES = ("warn", "error", "mark-duplicate", "modify-efficiency")
SAME = 1e-8  # how far ratios of coefficients may differ


@dataclasses.dataclass
class Candidate:
    """A reaction while duplicates are looked for."""

    reaction: Reaction
    third: Collider | None  # its third body, also where it does not multiply the rate
    key: int  # of the participants
    marked: bool
    place: int  # in the phase, from 0, before the mixture leaves any out

    @property
    def type(self) -> tuple:
        """Of Cantera's types, what tells them apart."""
        rate = self.reaction.rate
        if isinstance(rate, Falloff):
            return Falloff, rate.form, rate.activated
        return type(rate), self.third is not None

    def shares_collider(self, other: Candidate, ns: int) -> bool:
        """Whether some species is a collider of both; true where one has no colliders."""
        if self.third is None or other.third is None:
            return True
        return bool((self.third.weights(ns) * other.third.weights(ns)).any())


def participants(species) -> int:
    """Cantera's key of participants, species by number. Its collisions are kept: a file that Cantera takes is taken."""
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
        """The reactions, some with other efficiencies. alone: a mark may be without a partner. Raises MixtureError that
        names the reactions."""
        related: dict[int, list[Candidate]] = {}
        paired: set[int] = set()
        for one in candidates:
            for other in related.setdefault(one.key, []):
                if one.marked and other.marked:
                    paired |= {one.reaction.number, other.reaction.number}
                elif self._alike(one, other):
                    self._unmarked(one, other)
            related[one.key].append(one)

        for reaction in (candidate.reaction for candidate in candidates):
            lonely = reaction.duplicate and reaction.number not in paired
            self.phase.refuse(
                lonely and not alone,
                f"reaction {reaction.number + 1}, {reaction.equation}, is marked duplicate and has no partner.",
            )
        return [candidate.reaction for candidate in candidates]

    def _alike(self, one: Candidate, other: Candidate) -> bool:
        """Whether two reactions would have to be marked."""
        if one.type != other.type:
            return False

        a, b = one.reaction, other.reaction
        same = _multiple(a, b, False)
        turned = _multiple(a, b, True) and (a.reversible or b.reversible)
        return (same or turned) and one.shares_collider(other, self.ns)

    def _unmarked(self, one: Candidate, other: Candidate) -> None:
        """What becomes of two reactions that are alike."""
        said = (
            f"reactions {other.reaction.number + 1} and {one.reaction.number + 1}, {one.reaction.equation}, "
            "are duplicates"
        )
        general = [each for each in (one, other) if each.third and each.third.name == "M"]
        explicit = one.third is not None and len(general) == 1
        self.phase.refuse(not explicit or self.rule == "error", f"{said}; wanted `duplicate: true` in both.")

        if self.rule == "warn":
            self.notes.append(f"{said} in part, by their colliders; their rates add.")
        elif self.rule == "mark-duplicate":
            one.marked = other.marked = True
        else:
            special = other if general[0] is one else one
            _take_out(general[0], special.third)


def _take_out(general: Candidate, special: Collider | None) -> None:
    """Give M no efficiency of an explicit collider."""
    if general.third is None or special is None:
        return
    of = general.third.of | dict.fromkeys(special.of, 0.0)
    general.third = dataclasses.replace(general.third, of=of)
    if general.reaction.collider is not None:
        general.reaction = dataclasses.replace(general.reaction, collider=general.third)


def _multiple(one, other, reverse):
    """Whether the species of two reactions are in one ratio, in the same or in opposite directions."""
    sides = (other.products, other.reactants) if reverse else (other.reactants, other.products)
    pairs = list(zip((one.reactants, one.products), sides))
    if any(set(a) != set(b) for a, b in pairs):
        return False
    ratios = [a[s] / b[s] for a, b in pairs for s in a]
    return all(abs(r / ratios[0] - 1) < SAME for r in ratios)
