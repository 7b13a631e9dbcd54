"""Laws that results must obey among themselves, with any equation of state and transport model.

To add a law, add a line to ALGEBRA (one state), DIFFERENTIAL (derivatives) or LIMITS (p -> 0).
"""

import itertools

import numpy as np

from kernels.gas.equations.mapped_numbers import coldest
from kernels.gas.equations.records import MAPPED

from .report import Row
from .scale import EPS, scales
from .states import KINDS, P_RANGE, blocks, draw, part, with_root
from .wide import TOLERANCE, reachable

BLOCK = 100_000
SUBSET = 2000  # states for derivatives (quadruple precision, 36 evaluations) and for the limit p -> 0

# Law: (quantities, residual). The effect of rounding on the residual follows from the scales of the quantities.
ALGEBRA = {
    "e = h - p/rho": ("e h rho", lambda q: q["h"] - q["e"] - q["p"] / q["rho"]),
    "p W = rho Z R T": ("W rho Z", lambda q: q["p"] * q["W"] - q["rho"] * q["Z"] * q["R"] * q["T"]),
    "gamma cv = cp": ("gamma cv cp", lambda q: q["gamma"] * q["cv"] - q["cp"]),
    "h_T = cp": ("h_T cp", lambda q: q["h_T"] - q["cp"]),
    "cp - cv = T rho_T^2/(rho^2 rho_p)": (
        "cp cv rho rho_p rho_T",
        lambda q: q["cp"] - q["cv"] - q["T"] * q["rho_T"] ** 2 / (q["rho"] ** 2 * q["rho_p"]),
    ),
    "h_p = v - T v_T": ("h_p rho rho_T", lambda q: q["h_p"] - (1 + q["T"] * q["rho_T"] / q["rho"]) / q["rho"]),
    "e_p = h_p - v - p v_p": (
        "e_p h_p rho rho_p",
        lambda q: q["e_p"] - q["h_p"] + (1 - q["p"] * q["rho_p"] / q["rho"]) / q["rho"],
    ),
    "e_T = cp - p v_T": ("e_T cp rho rho_T", lambda q: q["e_T"] - q["cp"] - q["p"] * q["rho_T"] / q["rho"] ** 2),
    "s_p = -v_T": ("s_p rho rho_T", lambda q: q["s_p"] - q["rho_T"] / q["rho"] ** 2),
    "T s_T = cp": ("s_T cp", lambda q: q["T"] * q["s_T"] - q["cp"]),
    "c^2 = gamma/rho_p": ("c gamma rho_p", lambda q: q["c"] ** 2 - q["gamma"] / q["rho_p"]),
    "c^-2 = rho_p + rho_T (1 - rho h_p)/(rho h_T)": (
        "c rho rho_p rho_T h_p h_T",
        lambda q: q["c"] ** -2 - q["rho_p"] - q["rho_T"] * (1 - q["rho"] * q["h_p"]) / (q["rho"] * q["h_T"]),
    ),
    "h0 = h + u^2/2": ("h0 h", lambda q: q["h0"] - q["h"] - (q["u"] ** 2 + q["v"] ** 2 + q["w"] ** 2) / 2),
}
GIVEN = ("T", "p", "Y", "u", "v", "w")
# All quantities of all laws, so that a single compiled program is enough.
THERMAL = "W Z rho h e s cp cv gamma c rho_p rho_T h_p h_T e_p e_T s_p s_T h0 X cp_ig h_ig s_ig".split()
POSITIVE = "rho rho_p cv c gamma mu lam D".split()
# Both sides share intermediate results, whose errors cancel. There remain the roundings of the last formulas and of the
# law: three to eight on each side, of values that do not exceed the scale.
ALGEBRA_TOLERANCE = 8.0
# In these laws the prescribed p stands beside results of v. v solves the equation for p up to the rounding of v - b,
# which is v/20 in a cold liquid: the tolerance is that of a single result.
SOLVED = ("e_p = h_p - v - p v_p", "e_T = cp - p v_T")

# Law: (f, variable, right-hand side, size). The size is a sum of terms, so it is not 0 where the right-hand side is 0.
DIFFERENTIAL = {
    "dh/dT = cp": ("h", "T", lambda q: q["cp"], lambda q: q["cp"]),
    "dh/dp = h_p": ("h", "p", lambda q: q["h_p"], lambda q: abs(q["h_p"]) + 1 / q["rho"]),
    "drho/dT = rho_T": ("rho", "T", lambda q: q["rho_T"], lambda q: abs(q["rho_T"])),
    "drho/dp = rho_p": ("rho", "p", lambda q: q["rho_p"], lambda q: q["rho_p"]),
    "ds/dT = s_T": ("s", "T", lambda q: q["s_T"], lambda q: q["s_T"]),
    "ds/dp = s_p": ("s", "p", lambda q: q["s_p"], lambda q: abs(q["s_p"])),
    "de/dT = e_T": ("e", "T", lambda q: q["e_T"], lambda q: q["cp"] + abs(q["p"] * q["rho_T"]) / q["rho"] ** 2),
    "de/dp = e_p": (
        "e",
        "p",
        lambda q: q["e_p"],
        lambda q: abs(q["h_p"]) + 1 / q["rho"] + q["p"] * q["rho_p"] / q["rho"] ** 2,
    ),
    "dg/dp = 1/rho": ("g", "p", lambda q: 1 / q["rho"], lambda q: 1 / q["rho"]),
    "dg/dT = -s": ("g", "T", lambda q: -q["s"], lambda q: abs(q["s"]) + q["cp"]),
}
# Largest d ln rho/d ln T or p. States beyond are within some 1e-4 of the critical point, ten times the smallest step.
SHARP = 100.0
STEPS = (1e-2, 1e-3, 1e-4, 1e-5)
KNOWN = 1e-7  # relative error of a difference above which the state is left out
DIFFERENTIAL_TOLERANCE = 1e-7  # of derivatives; the median shows the usual error

# Law: (quantities, departure from the ideal gas, size). All departures go to 0 linearly in p.
LIMITS = {
    "Z -> 1": ("Z", lambda q: q["Z"] - 1, lambda q: 1.0),
    "rho -> p W/(R T)": ("rho W", lambda q: q["rho"] * q["R"] * q["T"] / (q["p"] * q["W"]) - 1, lambda q: 1.0),
    "h -> h_ig": ("h h_ig W", lambda q: q["h"] - q["h_ig"], lambda q: q["R"] * q["T"] / q["W"]),
    "s -> s_ig": ("s s_ig W", lambda q: q["s"] - q["s_ig"], lambda q: q["R"] / q["W"]),
    "cp -> cp_ig": ("cp cp_ig W", lambda q: q["cp"] - q["cp_ig"], lambda q: q["R"] / q["W"]),
    "cv -> cp_ig - R/W": ("cv cp_ig W", lambda q: q["cv"] - q["cp_ig"] + q["R"] / q["W"], lambda q: q["R"] / q["W"]),
    "c^2 -> gamma R T/W": (
        "c gamma W",
        lambda q: q["c"] ** 2 * q["W"] / (q["gamma"] * q["R"] * q["T"]) - 1,
        lambda q: 1.0,
    ),
    "rho_p -> W/(R T)": ("rho_p W", lambda q: q["rho_p"] * q["R"] * q["T"] / q["W"] - 1, lambda q: 1.0),
    "T rho_T/rho -> -1": ("rho rho_T", lambda q: q["T"] * q["rho_T"] / q["rho"] + 1, lambda q: 1.0),
}
LOW = 50.0  # Pa; pressures are 50, 100 and 200 Pa
# Extrapolated to p = 0 through three pressures the error is third order: (1e-3)^3, Z - 1 being at most 1e-3 at the
# largest; cancellation against h_ig (formation enthalpies of some 1e3 R T) leaves 15 eps 1e3 of R T.
LIMIT_TOLERANCE = 1e-8

# Binary mixtures in which the published viscosity of Chung has poles.
POLES = ("O2 H2", "H2 H2O", "CO2 H2O", "CO H2O", "O2 H2O", "CH4 H2O")
LINE_T, LINE_P = (150.0, 300.0, 700.0, 1500.0, 3000.0), (20e5, 100e5, 200e5, 300e5)
HALVINGS = 70  # of an interval of ln p, beyond the last digit
LINE = 2000  # intervals of a line
PHASE = 0.05  # change of ln rho in an interval that shows a phase boundary, where transport may jump

# The interval of the largest step is divided into 32, four times: down to a millionth.
ZOOM, LEVELS = 32, 4
# Largest part of the step that may remain. Smooth lines and kinks leave 1e-6, a square root 1e-3, a jump or a pole all.
LEFT = 0.01


def run(job) -> list[Row]:
    """Rows of all laws."""
    return [*_algebra(job), *_derivatives(job), *_limits(job), *_saturation(job), *_lines(job)]


OF_CV = {"cv", "gamma", "c"}  # quantities that need a positive heat capacity
NEARLY_PURE = 0.9  # mole fraction


def too_cold(mixture, states, X) -> np.ndarray:
    """States (n,) at which equation mapped says that cv of a nearly pure fluid may be negative, far below freezing."""
    if mixture.options["equation"] not in MAPPED:
        return np.zeros(states["T"].shape, bool)
    return ((X > NEARLY_PURE) & (states["T"] < coldest(mixture.species)[:, None])).any(0)


def unjudged(mixture) -> set[str]:
    """Quantities that are not judged: the transport model has no values, negative values, poles or steps there."""
    viscosity = mixture.options["viscosity"]
    published = mixture.options["chung"] != "polefree"

    out = set()
    if viscosity == "lucas" or (viscosity == "chung" and published):
        out.add("mu")
    if viscosity in ("chung", "lucas") and published:
        out.add("lam")

    return out


# ---- one state


def _algebra(job):
    mixture = job.mixture
    laws, signs = _laws(), _signs(mixture)
    sums = Row(
        "identities",
        "sum X = 1",
        8.0 + 2 * mixture.ns**0.5,
        "eps",
        "sum X: each X rounds three times, the sum ns times at random",
    )

    for states in blocks(mixture, job.states, job.seed, BLOCK):
        given = {k: states[k] for k in GIVEN}
        q = mixture.properties(THERMAL, backend=job.backend, **given)
        transport = [name for name in signs if name not in q]
        if transport:
            q |= mixture.properties(transport, backend=job.backend, **{k: states[k] for k in "TpY"})

        # Laws.
        scale, undecided = scales(mixture, THERMAL, given, job.backend)
        cold = too_cold(mixture, states, q["X"])

        for law, row in laws.items():
            needs = ALGEBRA[law][0].split()
            value = {**given, "R": mixture.species.R, **{name: q[name] for name in needs}}
            left_out = undecided | cold if OF_CV & set(needs) else undecided
            row.add(*_residual(law, value, scale), states, left_out)

        # Sums and signs.
        sums.add(q["X"].sum(0) - 1, EPS, states)
        for name, row in signs.items():
            row.add(np.where(q[name] > 0, 0.0, np.inf), 1.0, states, cold if name in OF_CV else False)

    return [*laws.values(), sums, *signs.values()]


def _laws() -> dict[str, Row]:
    """A row for each law of one state."""
    why = (
        f"one state: tolerance {ALGEBRA_TOLERANCE:g} eps of what the scales of its quantities may do to the law: both "
        "sides share their intermediates, so only the last formulas and the law itself round apart"
    )
    solved = (
        "one state, p given beside what follows from v, which solves it: "
        f"tolerance {TOLERANCE:g} eps of scale, a result's own"
    )

    rows = {}
    for law in ALGEBRA:
        tolerance, reason = (TOLERANCE, solved) if law in SOLVED else (ALGEBRA_TOLERANCE, why)
        rows[law] = Row("identities", law, tolerance, "eps of scale", reason)

    return rows


def _signs(mixture) -> dict[str, Row]:
    """A row for each quantity that is positive at every state."""
    why = (
        "positive: at every state; Chung's published form is known to fail, and Lucas' has no liquids: no failures; "
        "cv, gamma, c of equation mapped: not where nearly pure fluids are too cold for it"
    )

    rows = {}
    for name in POSITIVE:
        if name in reachable(mixture):
            tolerance = None if name in unjudged(mixture) else 0.0
            rows[name] = Row("identities", f"{name} > 0", tolerance, "0 or inf", why)

    return rows


def _residual(law: str, value: dict, scale: dict) -> tuple[np.ndarray, np.ndarray]:
    """(residual of a law, size of its rounding): what each quantity does to it that changes by eps of its scale."""
    needs, residual = ALGEBRA[law]
    base = residual(value)
    error = np.zeros_like(base)
    for name in needs.split():
        perturbed = {**value, name: value[name] + 1e-6 * scale[name]}
        error = error + np.abs(residual(perturbed) - base) * 1e6

    return base, EPS * error + 1e-300


# ---- derivatives


def _stencil(mixture, states, by, backend):
    """{f: (slope, uncertainty)} of h, s, e, rho, g in T or p: central differences of sixth order, the best of STEPS at
    each state."""
    names = ["h", "s", "e", "rho"]
    slopes: dict = {f: [] for f in (*names, "g")}

    for step in STEPS:
        # Values (and sizes of their terms) at six places.
        values = {}
        for k in (-3, -2, -1, 1, 2, 3):
            there = {**states, by: states[by] * (1 + k * step)}
            out = mixture.properties(names, backend=backend, precision="wide", **{n: there[n] for n in "TpY"})
            out["g"] = out["h"] - there["T"] * out["s"]
            size = {n: np.abs(out[n]) for n in names}
            size["g"] = np.abs(out["h"]) + there["T"] * np.abs(out["s"])
            values[k] = out, size

        # Differences of sixth order; fourth order shows the truncation.
        h = states[by] * step
        for f, found in slopes.items():
            d1, d2, d3 = ((values[k][0][f] - values[-k][0][f]) / (2 * k * h) for k in (1, 2, 3))
            sixth, fourth = 1.5 * d1 - 0.6 * d2 + 0.1 * d3, (4 * d1 - d2) / 3
            rounding = EPS * (sum(size[f] for _, size in values.values()) / (2 * h) + np.abs(sixth) / step)
            found.append((sixth, np.abs(sixth - fourth) + rounding))

    # The best step at each state. Two orders differ by the truncation of the lower order. They may agree by chance, but
    # not at the next step too.
    out = {}
    for f, found in slopes.items():
        slope, unsure = (np.array(v) for v in zip(*found))
        apart = np.abs(np.diff(slope, axis=0))
        unsure = unsure + np.minimum(np.concatenate([apart, apart[-1:]]), np.concatenate([apart[:1], apart]))
        best = unsure.argmin(0)[None]
        out[f] = tuple(np.take_along_axis(v, best, 0)[0] for v in (slope, unsure))

    return out


def _junctions(species):
    """Temperatures at which polynomials of some species meet."""
    return np.unique(species.T_mid if species.nasa9 is None else species.T_break[:, 1:-1])


def _derivatives(job):
    mixture = job.mixture
    n = job.subset(SUBSET)
    states = draw(mixture, n, job.seed + 31)

    # At a kink of a formula symmetric differences of every order agree on the mean of two slopes.
    states = part(states, states["kind"] != KINDS.index("kinks"))
    size, undecided = scales(mixture, THERMAL, {k: states[k] for k in GIVEN}, job.backend)
    q = {**states, **mixture.properties(THERMAL, backend=job.backend, **{k: states[k] for k in GIVEN})}

    # So near the critical point all steps reach across it, and see the mean of both sides.
    undecided |= size["rho"] > SHARP * q["rho"]

    # Steps across a junction of polynomials see jumps of 1e-7 in cp, too small to show as a difference of two orders.
    undecided |= (np.abs(states["T"] / _junctions(mixture.species)[:, None] - 1) < 3.1 * STEPS[0]).any(0)

    slopes = {by: _stencil(mixture, states, by, job.threads) for by in "Tp"}
    why = (
        f"derivatives: sixth-order differences of the quadruple build, the best of {len(STEPS)} steps at each state; "
        "left out where "
        f"two orders differ by more than {KNOWN:g} of the size (critical point, phase change, branches of formulas "
        "within a step), "
        "and within 3 % of where polynomials meet"
    )

    def row(law, left, unsure, right, size):
        out = Row("identities", law, DIFFERENTIAL_TOLERANCE + KNOWN, "relative", why)
        return out.add(left - right, size, states, undecided | ~(unsure <= KNOWN * size))

    for law, (f, by, right, size) in DIFFERENTIAL.items():
        left, unsure = slopes[by][f]
        yield row(law, left, unsure, right(q), size(q))

    # At constant s: drho/dp = rho_p - rho_T s_p/s_T; at constant rho: de/dT = e_T - e_p rho_T/rho_p. Every slope is a
    # difference.
    (rho_T, u1), (rho_p, u2), (s_T, u3), (s_p, u4) = (
        slopes[by][f] for f, by in (("rho", "T"), ("rho", "p"), ("s", "T"), ("s", "p"))
    )
    (e_T, u5), (e_p, u6) = slopes["T"]["e"], slopes["p"]["e"]
    with np.errstate(all="ignore"):
        cross = rho_T * s_p / s_T
        yield row(
            "c^-2 = drho/dp at constant s",
            rho_p - cross,
            u2 + (np.abs(s_p) * u1 + np.abs(rho_T) * u4 + np.abs(cross) * u3) / np.abs(s_T),
            q["c"] ** -2,
            np.abs(rho_p) + np.abs(cross),
        )
        cross = e_p * rho_T / rho_p
        yield row(
            "cv = de/dT at constant rho",
            e_T - cross,
            u5 + (np.abs(rho_T) * u6 + np.abs(e_p) * u1 + np.abs(cross) * u2) / np.abs(rho_p),
            q["cv"],
            np.abs(e_T) + np.abs(cross),
        )


# ---- p -> 0


def _limits(job):
    mixture = with_root(job.mixture, "vapour") or job.mixture
    states = draw(mixture, max(job.subset(10 * SUBSET), 64), job.seed + 57)

    # Three pressures.
    at = []
    for factor in (1, 2, 4):
        given = {**{k: states[k] for k in GIVEN}, "p": np.full(states["T"].shape, LOW * factor)}
        at.append({**given, "R": mixture.species.R, **mixture.properties(THERMAL, backend=job.backend, **given)})

    liquid = np.abs(at[2]["Z"] - 1) > 1e-3

    shown = {**states, "p": np.full(states["T"].shape, P_RANGE[0])}
    for law, (_, departure, size) in LIMITS.items():
        first, second, third = (departure(q) for q in at)
        row = Row(
            "identities",
            law,
            LIMIT_TOLERANCE,
            "of R T, R or 1",
            f"p -> 0: extrapolated from {LOW:g}, {2 * LOW:g}, {4 * LOW:g} Pa; left out where the cold gas departs "
            "from ideal by more than 1e-3",
        )
        yield row.add((8 * first - 6 * second + third) / 3, size(at[0]), shown, liquid)


# ---- saturation of pure species


def _switch(mixture, T, Y, dense, low, high):
    """The pressure at which the mixture's root changes from vapour to liquid, by bisection in ln p."""
    low, high = np.log(low), np.log(high)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        is_liquid = mixture.properties("rho", T=T, p=np.exp(middle), Y=Y, backend="cpu")["rho"] > dense
        low, high = np.where(is_liquid, low, middle), np.where(is_liquid, middle, high)

    return np.exp(0.5 * (low + high))


def _saturation(job):
    mixture = job.mixture
    phases = [with_root(mixture, root) for root in ("vapour", "liquid")]
    if phases[0] is None or mixture.options["root"] != "gibbs":
        return

    mapped = mixture.options["equation"] in MAPPED
    equal = Row(
        "identities",
        "g vapour = g liquid where the root switches",
        TOLERANCE if mapped else ALGEBRA_TOLERANCE,
        "eps of scale",
        "saturation: every species alone, 0.45 to 0.999 of its pseudo-critical temperature; g = h - T s by other "
        "kernels than the choice"
        + (f": {TOLERANCE:g}, a result's own, as the choice has integrals of the map of its own" if mapped else ""),
    )
    slope = Row(
        "identities",
        "dp/dT of the switch = (s_v - s_l)/(v_v - v_l)",
        1e-5,
        "relative",
        "Clapeyron: central difference over 2e-4 T, to 0.98 Tc; truncation (ln p)'''/6 (1e-4 T)^2 with ln p = -A "
        "Tc/T, A < 10: some 1e-6",
    )

    for s in range(mixture.ns):
        Y = np.zeros((mixture.ns, 60))
        Y[s] = 1
        at = mixture.properties("Tc_mix pc_mix vc_mix W", Y=Y, backend="cpu")
        T = at["Tc_mix"] * np.linspace(0.45, 0.999, 60)
        dense = at["W"] / at["vc_mix"]

        def switch(T):
            return _switch(mixture, T, Y, dense, 1e-12 * at["pc_mix"], at["pc_mix"])

        p = switch(T)
        states = {"T": T, "p": p, "Y": Y}
        v, l = (m.properties(["h", "s", "rho"], backend="cpu", **states) for m in phases)
        two = l["rho"] > 1.0001 * v["rho"]
        g = [x["h"] - T * x["s"] for x in (v, l)]
        sizes = [scales(m, ["h", "s"], states, "cpu")[0] for m in phases]
        limit = sum(x["h"] + T * x["s"] for x in sizes)
        equal.add(g[0] - g[1], EPS * limit, states, ~two)
        step = 1e-4
        found = (switch(T * (1 + step)) - switch(T * (1 - step))) / (2 * step * T)
        with np.errstate(invalid="ignore"):  # one root: left out
            wanted = (v["s"] - l["s"]) / (1 / v["rho"] - 1 / l["rho"])
        slope.add(found - wanted, np.abs(wanted), states, ~two | (T > 0.98 * at["Tc_mix"]) | (p < 1e-3))

    yield equal
    yield slope


# ---- transport along composition lines


def _lines(job):
    mixture = job.mixture
    names = [name for name in ("mu", "lam", "D") if name in reachable(mixture)]

    for pair in POLES:
        ends = pair.split()
        if not set(ends) <= set(mixture.names):
            continue

        at = [mixture.names.index(name) for name in ends]
        rows = {
            name: Row(
                "identities",
                f"{name} along {'/'.join(ends)}",
                None if name in unjudged(mixture) else LEFT,
                "step left",
                f"lines: the largest change of ln in one of {LINE} intervals, what is left of it in a millionth of "
                "that interval; 1 is a jump or "
                "pole, infinite where not positive; across phase boundaries not judged",
            )
            for name in names
        }

        for T, p in itertools.product(LINE_T, LINE_P):
            line = _Line(mixture, at, names, T, p, job.backend)
            for name in names:
                line.judge(name, rows[name])

        yield from rows.values()


class _Line:
    """Compositions between two species at a T [K] and p [Pa]; names: the quantities along it. at: both indices."""

    def __init__(self, mixture, at, names, T: float, p: float, backend):
        self.mixture, self.at, self.names, self.T, self.p, self.backend = mixture, at, names, T, p, backend
        self.x = np.linspace(0, 1, LINE + 1)
        self.whole = self._sample(self.x)

    def _sample(self, x):
        """(Y (ns, n), {rho and names: ln of the values (rows, n)}) at shares x of the second species."""
        X = np.zeros((self.mixture.ns, x.size))
        X[self.at[0]], X[self.at[1]] = 1 - x, x
        Y = X * self.mixture.species.W[:, None]
        Y /= Y.sum(0)

        T = np.full(x.size, self.T)
        q = self.mixture.properties(["rho", *self.names], T=T, p=self.p, Y=Y, backend=self.backend)
        if "D" in q:
            q["D"] = q["D"][self.at]
        with np.errstate(invalid="ignore", divide="ignore"):
            return Y, {name: np.log(np.atleast_2d(values)) for name, values in q.items()}

    def judge(self, name: str, row) -> None:
        """Adds the share of the largest step of ln that is left after LEVELS divisions of its interval; infinite if a
        value is not positive."""
        Y, found = self.whole
        place, left = int(np.argmin(np.isfinite(found[name]).all(0))), np.inf
        if np.isfinite(found[name]).all():
            steps = np.abs(np.diff(found[name])).max(0)
            steps[np.abs(np.diff(found["rho"][0])) > PHASE] = 0
            if name == "D":  # at an end, D of the species that is left alone depends on the traces beside it
                steps[[0, -1]] = 0
            first = max(steps.max(), 1e-9)

            x, place = self.x, int(steps.argmax())

            for _ in range(LEVELS):
                x = np.linspace(x[place], x[place + 1], ZOOM + 1)
                Y, found = self._sample(x)
                steps = np.abs(np.diff(found[name])).max(0)
                place = int(steps.argmax())

            left = steps[place] / first

        state = {"T": np.array([self.T]), "p": np.array([self.p]), "Y": Y[:, place : place + 1]}
        row.add(np.array([left]), 1.0, state)
