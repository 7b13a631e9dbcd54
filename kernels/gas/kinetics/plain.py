"""The mechanism as rates.h and slopes.h read it: for a thread, or a vector lane, that has a point to itself.

Small mechanisms are written out as C++ text, a call for each reaction; large ones are loops over tables.
"""

from __future__ import annotations

import numpy as np

from ..records import Constants
from . import tabled
from .tables import PATTERNS, ReactionTables

# So many reactions are written out, more are loops over tables. On one core of an EPYC (AVX-512), net_production in ns
# a state, written and as a loop: 29 reactions 47 and 59, 201 reactions 470 and 383, 325 reactions 733 and 609.
WRITTEN = 100
# For a point by itself, whose loop converts each index (Zen 4): 121 reactions 426 and 683.
WRITTEN_ALONE = 400

REACTIONS_TEXT = """\
template <class Use> static POINT_FN void written_reactions(const scalar *factor, const Use &use) {{
    (void)factor, (void)use;
{calls}}}
"""
REACTION_TEXT = "    use(factor[{place}], Indices<{numbers}>());\n"
SPECIALS_TEXT = """\
template <class Use> static POINT_FN void written_specials(const Use &use) {{
    (void)use;
{calls}}}
"""
SPECIAL_TEXT = "    use({place}, {collider}, {row}, {species});\n"
INDEX_TEXT = """\
static POINT_FN int {name}(const int place) {{
    static constexpr {type} numbers[] = {{{numbers}}};
    return numbers[place];
}}
"""


def is_written(tables: ReactionTables) -> bool:
    """Whether the reactions are written out."""
    return len(tables.reactions) <= WRITTEN


def encoded(tables: ReactionTables, species) -> Constants:
    """Tables, sizes and C++ text of the reactions. tables: sorted where the reactions are loops over tables."""
    factors, reactions_text = _written_reactions(tables, is_written(tables))
    defaults, specials, specials_text = _efficiencies(tables)

    values = _values(tables, species)
    values["reaction_factors"] = factors
    values["reaction_defaults"] = defaults
    values["reaction_specials"] = specials

    by_weight = [*tables.weighted, *tables.unweighted]
    members = [
        reactions_text,
        specials_text,
        index_text("collider_species", by_weight),
        index_text("falloff_base", [row.base for row in tables.falloffs]),
        index_text("falloff_collider", [row.collider for row in tables.falloffs]),
        index_text("mixed_place", _mixed_places(tables)),
        index_text("collider_place", sorted(range(tables.ns), key=by_weight.__getitem__)),
    ]

    # A C++ array has one element at least.
    arrays = {name: value if len(value) else [0.0] for name, value in values.items()}
    return Constants(arrays, sizes=_sizes(tables), members="".join(members))


def _values(tables: ReactionTables, species) -> dict:
    """The arrays that follow from the tables alone, by name."""
    ln_R = np.log(species.R / species.p_ref)
    shift = tables.shift

    paired: list[float] = []
    if not is_written(tables):
        for rows in tables.pairs.values():
            paired += _flat(row.numbers() for row in rows)

    return {
        "reaction_shift": [*(shift[0] - ln_R), *shift[1], -ln_R],
        "reaction_potentials": _potentials(species, shift, ln_R),
        "reaction_exponents": _flat(zip(*tables.exponents)),
        "reaction_colliders": tables.weights.T.ravel(),
        "reaction_falloffs": _flat(row.numbers() for row in tables.falloffs),
        "reaction_tabled": _flat(row.numbers for row in tables.tabled),
        "reaction_pairs": paired,
        "reaction_others": _flat(row.numbers() for row in tables.others),
        "reaction_net": _flat(_net_row(r) for r in tables.reactions),
        "reaction_weights": tables.weights[:, [*tables.weighted, tables.unweighted[0]]].ravel(),
    }


def _sizes(tables: ReactionTables) -> dict[str, int]:
    """Numbers that are known to the compiler."""
    written = is_written(tables)
    sizes = {
        "NR": len(tables.reactions),
        "RATE_EXPONENTS": len(tables.exponents),
        "RATE_COLLIDERS": len(tables.colliders),
        "RATE_LOGS": tables.logs,
        "RATE_WEIGHTED": len(tables.weighted),
        "RATE_FALLOFFS": len(tables.falloffs),
        "RATE_OTHERS": len(tables.others),
        "RATES_WRITTEN": written,
        "RATES_WRITTEN_ALONE": len(tables.reactions) <= WRITTEN_ALONE,
    }

    sizes |= tabled.sizes(tables.reactions)
    for (left, right), rows in tables.pairs.items():
        sizes[f"RATE_PAIRS_{left}{right}"] = 0 if written else len(rows)

    return sizes


def index_text(name: str, numbers) -> str:
    """C++ text of a function that looks up a number, at compile time where the place is known."""
    kind = "unsigned short" if max(numbers, default=0) < 2**16 else "unsigned"
    return INDEX_TEXT.format(name=name, type=kind, numbers=", ".join(map(str, numbers)) or "0")


def _mixed_places(tables: ReactionTables) -> list[int]:
    """Begins of the rows of rate coefficients that depend on concentrations, behind their kind."""
    places, at = [], 0
    for row in tables.tabled:
        if row.kind in tabled.MIXED:
            places.append(at + 1)
        at += len(row.numbers)
    return places


def _flat(rows) -> list[float]:
    out: list[float] = []
    for row in rows:
        out += row
    return out


def _net_row(reaction) -> list[float]:
    """Number of species, then (species, products less reactants) of each."""
    return [len(reaction.net), *_flat(reaction.net.items())]


def _potentials(species, shift, ln_R):
    """Coefficients of ln T, 1, T, T^2, T^3, T^4, 1/T in L_k of rates.h, of the lower and then the upper range of NASA-7
    polynomials, each for all species. Nothing for other polynomials."""
    if species.nasa9 is not None:
        return []

    out = np.empty((2, 7, species.ns))
    for at, rows in enumerate((species.nasa_low, species.nasa_high)):
        a = np.asarray(rows).T
        constant, over_T = a[0] - a[6] + ln_R - shift[0], a[5] - shift[1]
        out[at] = [1 - a[0], constant, -a[1] / 2, -a[2] / 6, -a[3] / 12, -a[4] / 20, over_T]

    return out.ravel()


def _written_reactions(tables: ReactionTables, written: bool):
    """(factors of the reactions, C++ text that calls use(factor, indices) for each). Where the reactions are loops over
    tables, the rows of these tables have the factors, and few programs use the text."""
    factors: list[float] = []
    calls, place = "", 0
    if len(tables.reactions) > WRITTEN_ALONE:
        return factors, ""

    for pattern in PATTERNS:
        for row in tables.pairs[pattern]:
            numbers = [*pattern, *row.numbers()[1:]]
            calls += REACTION_TEXT.format(place=place, numbers=", ".join(str(int(x)) for x in numbers))
            place += 1 if written else len(row.numbers())
            if written:
                factors.append(row.factor)

    return factors, REACTIONS_TEXT.format(calls=calls)


def _efficiencies(tables: ReactionTables):
    """(efficiency that most species have, for each collider; table of the other efficiencies; C++ text)

    Table, for each collider: how many species its reactions make or consume, how many species have another efficiency,
    the former, then (species, efficiency less the usual one). The text calls use(place, collider, row, species) for
    each pair of these, with the place of the efficiency in the table."""
    defaults: list[float] = []
    table: list[float] = []
    calls = ""

    for j, collider in enumerate(tables.colliders):
        touched, specials = sorted(collider.touched), collider.specials
        defaults.append(collider.usual)
        table += [len(touched), len(specials), *touched]
        places = range(len(table) + 1, len(table) + 1 + 2 * len(specials), 2)

        for i in touched:
            for place, s in zip(places, specials):
                calls += SPECIAL_TEXT.format(place=place, collider=j, row=i, species=s)

        table += _flat(specials.items())

    return defaults, table, SPECIALS_TEXT.format(calls=calls)
