"""Finite-rate chemistry: rates of the mixture's reactions, production of its species, heat release."""

from __future__ import annotations

import collections
import itertools

import numpy as np

from ..declare import Constants, constants, option, point_kernel, quantity
from ..equations.records import FAMILY
from ..reactors import lanes as reactor_lanes
from ..species import GAS_CONSTANT as R
from ..species.reactions import Arrhenius, Chebyshev, Falloff, Plog, Reaction
from ..thermal.ideal_gas import NASA
from . import crew as kinetics_crew

option(
    "kinetics",
    {
        "consistent": r"$q = k_f \prod C^{\nu'} \left[1 - \prod (\gamma C)^{\nu}/K_c\right]$, $\gamma_k = \phi_k Z$: "
        "measured rate constants as they are, and the equilibrium of the equation of state.",
        "fugacity": r"$q = k_f \left[\prod (\gamma C)^{\nu'} - \prod (\gamma C)^{\nu''}/K_c\right]$: Cantera's, "
        "fugacities on both sides.",
        "concentration": r"$q = k_f \left[\prod C^{\nu'} - \prod C^{\nu''}/K_c\right]$: the ideal gas's, which most "
        "flow solvers have; it settles at another equilibrium than that of a real gas.",
    },
    "what a real gas's rates go with; of an ideal gas the three are one",
)
option(
    "chebyshev",
    {
        "extrapolate": "The polynomials as they are, also beyond their ranges of T and p (as Cantera).",
        "clamp": "Beyond the ranges of a reaction the values at their ends.",
    },
    "Chebyshev rate coefficients beyond the ranges of T and p for which they are given",
)

for name, unit, what, *per in (
    ("ln_gamma", "1", "ln of gamma_k = phi_k Z, fugacity over C_k R T; what rates of a real gas count with", "ns"),
    ("omega_mol", "mol/m3/s", "net production of the species by reactions, in moles", "ns"),
    ("omega", "kg/m3/s", "net production of the species by reactions", "ns"),
    ("creation", "kg/m3/s", "production of the species, both directions of a reaction apart", "ns"),
    ("destruction", "kg/m3/s", "consumption of the species, both directions of a reaction apart", "ns"),
    ("heat_release", "W/m3", "heat release of the reactions at constant p, -sum h_Y omega"),
    (
        "tau_chem",
        "s",
        "smallest rho Y_k/destruction_k of species with Y_k > 1e-6; 1e30 where nothing is consumed",
    ),
    ("rate_f", "mol/m3/s", "forward rates of the reactions, in the file's order", "nr"),
    ("rate_r", "mol/m3/s", "reverse rates of the reactions", "nr"),
    ("rate_net", "mol/m3/s", "net rates of the reactions", "nr"),
    ("Kc", "SI", "equilibrium constants of the reactions in concentrations, (mol/m3)^(sum nu)", "nr"),
):
    quantity(name, unit, what, *per)

STATE = "T p rho Y ln_gamma?"
TABLES = (
    "reaction_shift reaction_potentials reaction_exponents reaction_colliders reaction_falloffs "
    "reaction_plogs reaction_chebyshevs reaction_factors reaction_pairs reaction_others reaction_net"
)
# the reactions again, as a crew of warps takes them: their net rates; both directions
CREW, CREW_APART = (f"{steps} reaction_weights" for steps in (kinetics_crew.STEPS, kinetics_crew.STEPS_APART))
# what the lanes of a warp read of the tables
LANES = (
    f"{reactor_lanes.REACTIONS} {reactor_lanes.RATES} {reactor_lanes.SLOPES} {reactor_lanes.EFFICIENCIES} "
    "reaction_weights reaction_shift "
    "reaction_potentials reaction_exponents reaction_falloffs reaction_plogs reaction_chebyshevs reaction_others "
)
SLOPE_TABLES = "reaction_defaults reaction_specials reaction_elimination"  # for derivatives
SOURCE = (
    "mass action; falloff: Lindemann, Troe (Gilbert, Luther & Troe 1983), SRI (Stewart, Larson & Golden 1989), Tsang; "
    "P-log, Chebyshev as Cantera 3.2 has them (originals not seen)"
)
VALID = "T >= 200 K; below, the coefficients at 200 K"
DOUBLE = "rate coefficients and equilibrium constants are beyond the range of single precision"


def kernel(name, reads, writes, source, valid, sweeps="states", **more):
    """point_kernel of kinetics.h, in double or mixed precision."""
    point_kernel(
        name,
        header="gas/kinetics/rates.h",
        reads=reads,
        writes=writes,
        source=source,
        valid=valid,
        sweeps=sweeps,
        double_only=DOUBLE,
        **more,
    )


def rates(name, reads, writes, source=SOURCE, tables=TABLES, **more):
    """A kernel that reads the tables of the mechanism."""
    kernel(name, reads, writes, source, VALID, constants=f"inv_W W inv_p_ref {NASA} {tables}", **more)


kernel(
    "activity_coefficients",
    "Z ln_phi",
    "ln_gamma",
    "definition",
    "Z > 0",
    when={"equation": FAMILY, "kinetics": "consistent fugacity"},
    crew="",
)
rates("net_production", STATE, "omega_mol", sweeps="states production", crew=CREW)
rates("gross_production", STATE, "creation destruction", sweeps="states production", crew=CREW_APART)
rates("reaction_rates", STATE, "rate_f rate_r rate_net")
rates("equilibrium_constants", "T", "Kc", "Kc = exp(-sum nu g/RT) (p_ref/RT)^(sum nu)", "reaction_shift reaction_net")
kernel("mass_production", "omega_mol", "omega", "definition", "everywhere", constants="W", crew="")
kernel("chemical_heat", "h_Y omega", "heat_release", "definition, with partial enthalpies", "everywhere", crew="")
kernel("chemical_time", "rho Y destruction", "tau_chem", "definition", "everywhere", crew="")

# ---- the tables. All numbers are doubles; the bodies read them in the order in which they are written here.
T_GRID = np.geomspace(200.0, 6000.0, 60)  # K, over which exponentials have to stay in range
# FARTHEST: of |L_k| of kinetics.h, 50 less than its bound. MOST: of |sums of L_k| over species of a side, the exponents
# of products. Both leave room for ln gamma and for rate coefficients.
FARTHEST, MOST = 400.0, 500.0
FORMS = {"Lindemann": 0, "Troe": 1, "Tsang": 2, "SRI": 3}
NEVER, GONE = 1e10, 1e8  # 1/K, K: exponentials of -T times more, or of -1/T times more, are 0
# So many reactions are written out, more are loops over tables. On one core of an EPYC (AVX-512), net_production in ns
# a state, written and as a loop: 29 reactions 47 and 59, 201 reactions 470 and 383, 325 reactions 733 and 609.
WRITTEN = 100
# The linear systems of an integration are sparse where they have more unknowns than DENSE, and where the sparse form
# needs less than the part SPARSER of the dense one's multiplications. BORDERS: full rows and columns. (integration.h)
DENSE, SPARSER, BORDERS = 16, 0.9, 2
PATTERNS = tuple(itertools.product((1, 2, 3), (1, 2, 3)))


class _Numbered:
    """Things in the order in which they were first asked for."""

    def __init__(self):
        self.places: dict[tuple, int] = {}

    def __call__(self, thing) -> int:
        return self.places.setdefault(thing, len(self.places))


def _elements(species, mechanism):
    """(L (ns, T), shift (2, ns)): g/RT + ln(RT/p_ref) less the nearest sum over atoms of alpha + beta/T, which cancels
    in every reaction; and that sum's two coefficients for each species."""
    ideal = [species.polynomial(s, T_GRID) for s in range(species.ns)]
    g = np.array([h - entropy + np.log(R * T_GRID / species.p_ref) for _, h, entropy in ideal])
    atoms = mechanism.composition
    basis = np.stack([atoms[:, None] * np.ones_like(T_GRID)[:, None], atoms[:, None] / T_GRID[:, None]], axis=-1)
    columns = basis.reshape(g.size, -1)
    fit = np.linalg.lstsq(columns, g.ravel(), rcond=None)[0].reshape(-1, 2)
    shift = atoms @ fit
    return g - shift[:, :1] - shift[:, 1:] / T_GRID, shift.T


def _potentials(species, shift, ln_R):
    """Of each species and range of NASA-7 polynomials: coefficients of ln T, 1, T, T^2, T^3, T^4, 1/T in L_k of
    kinetics.h. One zero where the polynomials are others."""
    if species.nasa9 is not None:
        return [0.0]
    out = np.empty((species.ns, 2, 7))
    for at, rows in enumerate((species.nasa_low, species.nasa_high)):
        a = np.asarray(rows).T
        constant, over_T = a[0] - a[6] + ln_R - shift[0], a[5] - shift[1]
        out[:, at] = np.stack([1 - a[0], constant, -a[1] / 2, -a[2] / 6, -a[3] / 12, -a[4] / 20, over_T], -1)
    return out.ravel()


def _order(weights):
    """(species that some colliders count otherwise than most species, the others, of which there is one at least)."""
    if not weights.size:
        return [], list(range(weights.shape[1]))
    columns = [tuple(column) for column in weights.T]
    usual = max(columns, key=columns.count)
    own = [s for s, column in enumerate(columns) if column != usual]
    return own, [s for s in range(len(columns)) if s not in own]


def _blending(rate: Falloff):
    """Seven numbers of ln_blending in kinetics.h."""
    n = rate.numbers
    if rate.form == "SRI":
        a, b, c, d, e = n
        second = 1 / c if c and 1 / c <= NEVER else 0.0
        return [np.log(d) if d > 0 else -1e3, e, a if b < GONE else 0.0, min(b, GONE), second, 0.0, 0.0]
    if rate.form == "Tsang":
        return [*n, 0.0, 0.0, 0.0, 0.0, 0.0]
    if rate.form == "Lindemann":
        return [0.0] * 7
    a, T3, T1, T2 = n
    constant, out = 0.0, []
    for share, T in ((1 - a, T3), (a, T1)):
        inverse = 1 / T if abs(T) >= 1e-300 else np.inf
        if 0 <= inverse < 1e-25:
            constant += share  # exp(-T/T1) is 1
        gone = not 1e-25 <= abs(inverse) <= NEVER
        out += [0.0, 0.0] if gone else [share, inverse]
    return [constant, *out, float(T2 != 0 and T2 < GONE), min(T2, GONE)]


def _paired(reaction: Reaction, L) -> bool:
    """Whether the fast form serves: whole coefficients up to three a side, orders as they are, exponentials in range
    all along the products of a side."""
    sides = [_species(side) for side in (reaction.reactants, reaction.products)]
    return (
        all(nu == round(nu) for side in (reaction.reactants, reaction.products) for nu in side.values())
        and all(1 <= len(side) <= 3 for side in sides)
        and reaction.orders == reaction.reactants
        and all(np.abs(L[side]).max() < FARTHEST for side in sides)
        and all(
            max(np.maximum(l, 0).sum(0).max(), -np.minimum(l, 0).sum(0).min()) < MOST for l in (L[s] for s in sides)
        )
    )


def _sort(pairs, no_collider: int) -> None:
    """The rows of each pattern: those without a collider first; the more frequent reactant of a row first, and rows of
    the same one together."""
    often = collections.Counter(s for (left, _), rows in pairs.items() for row in rows for s in row[5 : 5 + left])
    for (left, _), rows in pairs.items():
        for row in rows:
            row[5 : 5 + left] = sorted(row[5 : 5 + left], key=lambda s: (-often[s], s))
        rows.sort(key=lambda row: (row[3] < no_collider, row[5:]))


def _species(side) -> list[int]:
    """Each species of a side as often as it counts."""
    return [s for s, nu in side.items() for _ in range(round(nu))]


def mechanism(species, options) -> Constants:
    """The reactions as tables. MixtureError where the species have none, or one cannot be read."""
    mech = species.mechanism
    reactions, ns = mech.reactions, species.ns
    L, shift = _elements(species, mech)
    exponents, colliders = _Numbered(), _Numbered()
    if not reactions:
        exponents((0.0, 0.0))  # a C++ array has one element at least
    falloffs = [(r, r.rate) for r in reactions if isinstance(r.rate, Falloff)]
    plogs = [(r, r.rate) for r in reactions if isinstance(r.rate, Plog)]
    chebyshevs = [(r, r.rate) for r in reactions if isinstance(r.rate, Chebyshev)]
    third = {r.number: colliders(tuple(r.collider.weights(ns))) for r, _ in falloffs if r.collider}
    logs = len(colliders.places)  # the body needs their logarithms
    third |= {r.number: colliders(tuple(r.collider.weights(ns))) for r in reactions if r.collider}
    at = {r.number: exponents((r.rate.b, r.rate.E)) for r in reactions if isinstance(r.rate, Arrhenius)}
    factor = {r.number: r.rate.A * r.multiplier for r in reactions if isinstance(r.rate, Arrhenius)}
    limits = [rate.low if rate.activated else rate.high for _, rate in falloffs]
    bases = [exponents((limit.b, limit.E)) for limit in limits]
    for place, (r, _) in enumerate([*falloffs, *plogs, *chebyshevs], len(exponents.places)):
        at[r.number], factor[r.number] = place, 1.0
    most = -(-len(colliders.places) // 4) * 4  # the body sums four at a time
    pairs: dict = {pattern: [] for pattern in PATTERNS}
    others = []
    for r in reactions:
        multiplies = r.number in third and not isinstance(r.rate, Falloff)
        head = [factor[r.number], r.number, at[r.number], third[r.number] if multiplies else most, r.reversible]
        if _paired(r, L):
            sides = [_species(side) for side in (r.reactants, r.products)]
            pairs[len(sides[0]), len(sides[1])].append([*head, *sides[0], *sides[1]])
        else:
            others.append(_other_row(r, head, shift))
    nets = [[len(r.net), *(x for pair in r.net.items() for x in pair)] for r in reactions]
    weights = np.zeros((most, ns))
    for weight, j in colliders.places.items():
        weights[j] = weight
    order = _order(weights)
    rows: list[set] = [set() for _ in range(most)]
    for r in reactions:
        if r.number in third:
            rows[third[r.number]] |= set(r.net)
    defaults, specials, use_specials = _efficiencies(weights, rows)
    elimination = _elimination(_coupled(reactions, ns))
    flat = lambda rows: [x for row in rows for x in row] or [0.0]
    ln_R = np.log(R / species.p_ref)
    sizes = {
        "NR": len(reactions),
        "RATE_EXPONENTS": len(exponents.places),
        "RATE_COLLIDERS": most,
        "RATE_LOGS": logs,
        "RATE_WEIGHTED": len(order[0]),
        "RATE_ELIMINATED": len(elimination),
        "RATE_FALLOFFS": len(falloffs),
        "RATE_PLOGS": len(plogs),
        "RATE_CHEBYSHEVS": len(chebyshevs),
        "RATE_OTHERS": len(others),
    }
    plog_rows = [_plog_row(rate, r.multiplier) for r, rate in plogs]
    chebyshev_rows = [_chebyshev_row(rate, r.multiplier) for r, rate in chebyshevs]
    blended = [(limit.b, limit.E, third[r.number]) for (r, _), limit in zip(falloffs, limits)]
    near = lambda r: np.abs(L[list(r.net)]).max(initial=0.0) < FARTHEST
    of_crew = kinetics_crew.tables(
        [r.net for r in reactions],
        *(ns, list(exponents.places), blended, plog_rows, chebyshev_rows),
        *(pairs, others, most, logs, len(order[0])),
    )
    if options["equation"] != "ideal" and any(row[4] and not near(reactions[row[1]]) for row in others):
        of_crew = kinetics_crew.none()  # ln gamma would be lost where L_k is at its bound

    sizes |= of_crew.sizes
    written = len(reactions) <= WRITTEN
    if not written:
        _sort(pairs, most)
    factors, members = _written(pairs) if written else ([], "")
    of_lanes = reactor_lanes.tables(
        [r.net for r in reactions],
        *(ns, pairs, others, len(exponents.places) + len(falloffs) + len(plogs) + len(chebyshevs)),
        *(len(exponents.places), [collider for *_, collider in blended], most, rows),
        [(_usual(row), {s: e - _usual(row) for s, e in enumerate(row) if e != _usual(row)}) for row in weights],
    )
    sizes |= of_lanes.sizes
    sizes |= {"RATES_WRITTEN": written}
    sizes |= {f"RATE_PAIRS_{a}{b}": 0 if written else len(pairs[a, b]) for a, b in PATTERNS}
    return Constants(
        dict(
            reaction_shift=[*(shift[0] - ln_R), *shift[1], -ln_R],
            reaction_potentials=_potentials(species, shift, ln_R),
            reaction_exponents=flat(exponents.places),
            reaction_colliders=flat(weights),
            reaction_falloffs=flat(
                _falloff_row(rate, r.multiplier, base, third[r.number]) for (r, rate), base in zip(falloffs, bases)
            ),
            reaction_plogs=flat(plog_rows),
            reaction_chebyshevs=flat(chebyshev_rows),
            reaction_factors=factors or [0.0],
            reaction_pairs=[0.0] if written else flat(row for pattern in PATTERNS for row in pairs[pattern]),
            reaction_others=flat(others),
            reaction_net=flat(nets),
            reaction_defaults=defaults or [0.0],
            reaction_specials=specials or [0.0],
            reaction_elimination=elimination or [0.0],
            reaction_weights=flat(weights[:, [*order[0], order[1][0]]]),
            **of_crew.values,
            **of_lanes.values,
        ),
        sizes=sizes,
        members=members
        + use_specials
        + _index("collider_species", [*order[0], *order[1]])
        + _index("falloff_base", bases)
        + _index("falloff_collider", [third[r.number] for r, _ in falloffs])
        + _index("summed_species", of_crew.order)
        + _index("collider_place", sorted(range(ns), key=[*order[0], *order[1]].__getitem__)),
        notes=list(mech.notes),
    )


def _efficiencies(weights, rows):
    """For each collider the efficiency that most species have; and as one table of all colliders the rows, species that
    reactions with it make or consume, the species that count otherwise, and how much more. And C++ text that calls
    use(place, collider, row, species) for each pair of these, with the place of the efficiency in the table."""
    defaults, table, calls = [], [], []
    for j, row in enumerate(weights):
        defaults.append(_usual(row))
        specials = [(s, e - defaults[-1]) for s, e in enumerate(row) if e != defaults[-1]]
        table += [len(rows[j]), len(specials), *sorted(rows[j])]
        places = [len(table) + 2 * n + 1 for n in range(len(specials))]
        calls += [f"    use({at}, {j}, {i}, {s});\n" for i in sorted(rows[j]) for at, (s, _) in zip(places, specials)]
        table += [x for pair in specials for x in pair]
    head = "template <class Use> static POINT_FN void written_specials(const Use &use) {\n    (void)use;\n"
    return defaults, table, f"{head}{''.join(calls)}}}\n"


def _usual(weights):
    """The efficiency that most species have."""
    values, counts = np.unique(weights, return_counts=True)
    return values[counts.argmax()]


def _coupled(reactions, ns):
    """(ns, ns): whether a reaction that makes or consumes species i goes with species j, but by the efficiency that its
    collider has of most species."""
    out = np.eye(ns, dtype=bool)
    for r in reactions:
        rows = [*r.reactants, *r.products]
        columns = {*r.orders, *r.reactants, *(r.products if r.reversible else ())}
        if r.collider:
            weights = np.array(r.collider.weights(ns))
            columns |= set(np.flatnonzero(weights != _usual(weights)))
        out[np.ix_(rows, sorted(columns))] = True
    return out


def _elimination(coupled):
    """Order and fill of Gauss' elimination without pivoting, by Markowitz: where each species' part begins, and there
    its number, how many rows and columns it has, these. Empty where the dense form is as good."""
    filled, left, parts, terms = coupled.copy(), np.ones(len(coupled), bool), [], 0
    row_has, column_has = filled.sum(1), filled.sum(0)
    for _ in coupled:
        best = int(np.where(left, (row_has - 1) * (column_has - 1), filled.size).argmin())
        left[best] = False
        rows, columns = (np.flatnonzero(line & left) for line in (filled[:, best], filled[best]))
        block = np.ix_(rows, columns)
        row_has[rows] += (~filled[block]).sum(1) - 1
        column_has[columns] += (~filled[block]).sum(0) - 1
        filled[block] = True
        terms += (rows.size + BORDERS) * (columns.size + BORDERS + 1)
        parts.append((best, rows.tolist(), columns.tolist()))
    n = len(coupled) + 1
    if n <= DENSE or terms > SPARSER * n**3 / 3:
        return []
    place = {s: at for at, (s, _, _) in enumerate(parts)}
    lists = [
        [s, len(rows), len(columns), *rows, *sorted(columns, key=lambda k: -place[k])] for s, rows, columns in parts
    ]
    starts = itertools.accumulate(map(len, lists), initial=len(lists))
    return [*itertools.islice(starts, len(lists)), *(x for part in lists for x in part)]


def _index(name, numbers):
    """C++ text of a function that looks a number up, at compile time where the place is known."""
    listed = ", ".join(map(str, numbers)) or "0"
    return (
        f"static POINT_FN int {name}(const int place) {{\n"
        f"    static constexpr unsigned short numbers[] = {{{listed}}};\n    return numbers[place];\n}}\n"
    )


def _written(pairs):
    """Factors of the reactions, and C++ text that calls use(factor, indices) for each."""
    rows = [(pattern, row) for pattern in PATTERNS for row in pairs[pattern]]
    calls = "".join(
        f"    use(factor[{i}], Indices<{', '.join(str(int(x)) for x in (*pattern, *row[1:]))}>());\n"
        for i, (pattern, row) in enumerate(rows)
    )
    head = "template <class Use> static POINT_FN void written_reactions(const scalar *factor, const Use &use) {\n"
    return [row[0] for _, row in rows], f"{head}    (void)factor, (void)use;\n{calls}}}\n"


def _falloff_row(rate: Falloff, multiplier: float, base: int, collider: int):
    low, high = rate.low, rate.high
    if not low.A * high.A:  # one limit is 0, and so is the rate
        return [0.0, base, 0.0, 0.0, 0.0, collider, 0.0, 0, *[0.0] * 7]
    factor = (low.A if rate.activated else high.A) * multiplier
    if rate.form == "SRI" and not rate.numbers[3]:
        factor = 0.0
    ratio = [np.log(low.A / high.A), low.b - high.b, low.E - high.E]
    return [factor, base, *ratio, collider, rate.activated, FORMS[rate.form], *_blending(rate)]


def _plog_row(rate: Plog, multiplier: float):
    row: list[float] = [multiplier, len(rate.pressures)]
    before = None
    for p, terms in zip(rate.pressures, rate.terms):
        row += [np.log(p), 1 / np.log(p / before) if before else 0.0, len(terms)]
        before = p
        row += [x for t in terms for x in (np.log(t.A) if len(terms) == 1 else t.A, t.b, t.E)]
    return row


def _chebyshev_row(rate: Chebyshev, multiplier: float):
    (T0, T1), (p0, p1) = rate.temperatures, rate.pressures
    x, y = 1 / T1 - 1 / T0, np.log(p1 / p0)
    data = np.log(10) * np.array(rate.data)
    along = [-(1 / T0 + 1 / T1) / x, 2 / x, -(np.log(p0) + np.log(p1)) / y, 2 / y]
    return [multiplier, *data.shape, *along, *data.ravel()]


def _other_row(r: Reaction, head, shift):
    whole = lambda s, order, side: order == side.get(s) and order == round(order)
    forward = [(s, order, whole(s, order, r.reactants)) for s, order in r.orders.items()]
    reverse = [(s, nu, nu == round(nu)) for s, nu in r.products.items()]
    left = sum(shift[:, s] * nu for s, nu in r.net.items()) if r.net else np.zeros(2)
    lists = [forward, reverse, r.reactants.items(), r.products.items(), r.net.items()]
    return [*head, *left, *map(len, lists), *(x for some in lists for term in some for x in term)]


constants(" ".join(dict.fromkeys(f"{TABLES} {CREW} {CREW_APART} {LANES} {SLOPE_TABLES}".split())), mechanism)
