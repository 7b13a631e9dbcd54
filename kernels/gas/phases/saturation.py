"""Where a mixture of given composition begins to boil or to condense: searches on the flash.

All take arrays; a composition is X (ns,) of moles, or X (ns, ...) of a composition for each point. A user may give
masses, Y, for moles. A boundary is found between two states of the flash by bisection, so that it is as sharp as the
test of stability: some 1e-9 of T and 1e-8 of p, less next to the critical point. Two liquids boil within 1e-9 of T over
the share of the smaller one.
"""

from __future__ import annotations

import copy
import dataclasses
import warnings

import numpy as np

from ...engine.errors import ArgumentError, StateError, refuse
from ...engine.values import real_array
from .. import check
from ..composition import fractions, refuse_both, shown
from ..labelled import labels_of, plain_composition
from .two_liquids import boiling_place

SCAN = 240  # states at which a line is looked at before the bisection
DENSE_SCAN = 40  # states more at higher pressures, where a light gas dissolves in a heavy liquid
ISOTHERM = 200  # densities at which an isotherm is looked at
JUMP = 1e-3  # relative difference of density at which a pure species boils; less is a fluid above its critical point
# Pa; where a scan of p begins: at 1e-9 Pa the liquid's root of a cubic, p (v - b)/(RT) of some 1e-16, is lost beside 1
LOWEST_P = 1e-7
THIN_P = 1e-4  # Pa; up to which there are further states:
THIN_SCAN = 60
MIDDLE_P = 8.0  # of the largest pc; where it ends, and that of dense states begins
HIGHEST_P = 2e8  # Pa
# Relative distance from a point to one that is colder, or at lower p, and that has more two phases; states between
# their ends at which such a point is looked at again. Found are points up to 1e-6 below the highest T, or p.
BESIDE, FINE_SCAN = 3e-3, 100
COLDEST = 20.0  # K, of the models, which end at species.T_end
TEMPERATURES = 0.25, 1.4  # of the smallest and of the largest Tc: ends of a scan of T
ENVELOPE_SCAN, ENVELOPE_BISECTIONS = 100, 12  # temperatures at which ends of an envelope are looked for: to some 2 mK
NAMES = "phases_status beta rho"
BEHIND = 1e-6  # relative distance from a boundary to a state of two phases
MAYBE_LIQUID = 0.05  # of the density of the heavier phase, from which the lighter one may be a liquid


def given_composition(X, Y) -> dict:
    """{"X": X} or {"Y": Y}, as it came; {"X": None} without any. Raises ArgumentError where both came."""
    came = {name: given for name, given in (("X", X), ("Y", Y)) if given is not None}
    refuse_both(came)
    return came or {"X": None}


def moles(mixture, name: str, given):
    """Amounts of moles (ns, ...) of a composition without labels, which is X (moles) or Y (mass): an array, a text, a
    dict; None for a pure species. Masks and NaN stay; amounts that rounding made negative become 0. Raises
    ArgumentError for another shape, or no composition."""
    refuse(
        mixture.options["phases"] != "equilibrium",
        "bubble and dew points need a mixture with phases = 'equilibrium'; "
        f"phases = '{mixture.options['phases']}' came.",
    )
    refuse(given is None and mixture.ns > 1, f"the composition X or Y of {', '.join(mixture.names)} is missing.")

    amounts = [1.0] if given is None else fractions(name, given, mixture.names)
    if not isinstance(amounts, np.ma.MaskedArray):
        amounts = real_array(name, amounts)
    fault = _fault(np.ma.filled(amounts, 1.0), mixture.ns)
    of = "moles" if name == "X" else "mass"
    wanted = f"wanted {mixture.ns} amounts of {of}, one for each of {', '.join(mixture.names)}"
    refuse(fault, f"{name} = {given!r}{fault}; {wanted}.")

    amounts = np.maximum(amounts, 0.0)
    if name == "X":
        return amounts
    W = mixture.species.W.reshape(-1, *[1] * (amounts.ndim - 1))
    return amounts / W


def _fault(X, ns: int) -> str:
    """The fault of amounts of moles, in words; empty where they are compositions, or NaN."""
    if X.shape[:1] != (ns,):
        return f" has shape {X.shape}"
    if np.isinf(X).any():
        return " is not finite"
    total = X.sum(0)
    if (X < -check.SUM_Y * np.abs(total)).any():
        return " has negative amounts"
    return " sums to 0" if (total <= 0).any() else ""


def compositions(mixture, X) -> np.ndarray:
    """Mole fractions (ns, ...) of amounts of moles."""
    X = np.asarray(moles(mixture, "X", X))
    return X / X.sum(0)


def composition(mixture, X, Y=None) -> np.ndarray:
    """Mole fractions (ns,) of one composition, X or Y, also with labels. Errors as `moles`."""
    ((name, given),) = given_composition(X, Y).items()
    X = moles(mixture, name, plain_composition(mixture, given, name))
    refuse(X.ndim > 1, f"{name} has shape {X.shape}; wanted one composition, {mixture.ns} amounts.")
    refuse(np.isnan(X).any(), f"{name} = {given!r} has a NaN; wanted {mixture.ns} amounts.")
    return X / X.sum(0)


def as_one_phase(mixture):
    """The mixture without phase equilibrium."""
    return type(mixture)(mixture.species, **{**mixture.options, "phases": "single"})


class Line:
    """States along T at constant p, or along p at constant T. Each point has its fixed p or T and its composition."""

    BISECTIONS = 60  # to neighbours in double precision

    def __init__(self, mixture, X, along: str, fixed):
        self.mixture, self.along = mixture, along
        other = "p" if along == "T" else "T"
        given, X = real_array(other, fixed), compositions(mixture, X)
        wrong = given[~(np.isfinite(given) & (given > 0))]
        refuse(wrong.size, f"{other} = {wrong[:1].sum()}; wanted positive numbers.")

        self.shape = _common_shape(other, given.shape, X.shape)
        self.fixed = np.broadcast_to(given, self.shape).reshape(-1)
        self.X = np.broadcast_to(_aligned(X, self.shape), (mixture.ns, *self.shape)).reshape(mixture.ns, -1)
        self.scan = self._scan()

    def _scan(self) -> np.ndarray:
        """The states (some, points) at which a line is looked at first."""
        species, there = self.mixture.species, self.X > 0
        Tc, pc = species.Tc[:, None], species.pc[:, None]
        if self.along == "p":
            middle = MIDDLE_P * np.where(there, pc, 0.0).max(0)
            dense = np.geomspace(middle, np.maximum(middle, HIGHEST_P), DENSE_SCAN + 1)
            thin = np.broadcast_to(np.geomspace(LOWEST_P, THIN_P, THIN_SCAN + 1)[:-1, None], (THIN_SCAN, middle.size))
            return np.concatenate([thin, np.geomspace(THIN_P, middle, SCAN), dense[1:]])

        coldest = TEMPERATURES[0] * np.where(there, Tc, np.inf).min(0)
        hottest = TEMPERATURES[1] * np.where(there, Tc, 0.0).max(0)
        return np.linspace(np.maximum(coldest, COLDEST), np.minimum(hottest, species.T_end), SCAN)

    def T_and_p(self, place) -> tuple[np.ndarray, np.ndarray]:
        """T and p of states at T, or p, of this shape; the points are its last axis."""
        fixed = np.broadcast_to(self.fixed, np.shape(place))
        return (place, fixed) if self.along == "T" else (fixed, place)

    def X_at(self, place) -> np.ndarray:
        """The compositions (ns, ...) of such states."""
        return np.broadcast_to(_aligned(self.X, np.shape(place)), (len(self.X), *np.shape(place)))

    def at(self, place, names: str = NAMES) -> dict:
        """Quantities of such states. In check mode a third phase may be reported: the two count."""
        T, p = self.T_and_p(place)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a scan passes places without a state
            found = self.mixture.properties(names, T=T, p=p, X=self.X_at(place), backend="cpu")
        status = found["phases_status"]
        return found | {"phases_status": np.where(status == 3, 1, status)}

    def end_of(self, beta: float, from_high: bool) -> np.ndarray:
        """The place where one phase with this beta (0 liquid, 1 vapour) ends, coming from one end of the scan. NaN
        where it does not end there, or changes smoothly into the other: above the critical pressure or temperature.
        Liquids that are two at lower temperatures or higher pressures are one next to the place that is meant, the
        last on the way to the gas."""
        found = self._end_on_scan(beta, from_high)

        # Next to the highest T or p of two phases the scan may pass by them
        passed = self._of_points(np.isnan(found))
        if passed.fixed.size and passed.looks_closer():
            found[np.isnan(found)] = passed._end_on_scan(beta, from_high)

        if beta == 0.0:
            self._let_two_liquids_boil(found, from_high)
        return found.reshape(self.shape)

    def _let_two_liquids_boil(self, found, from_high: bool) -> None:
        """Puts the first vapour of two liquids into `found` (points,), in the place of nothing, or of that where one
        liquid splits into two."""
        wanted, there = np.isnan(found), np.isfinite(found)
        if there.any():
            place = found[there] * (1 - BEHIND if from_high else 1 + BEHIND)
            behind = self._of_points(there).at(place, "phases_status rho_l rho_v")
            wanted[there] = (behind["phases_status"] == 1) & (behind["rho_v"] > MAYBE_LIQUID * behind["rho_l"])

        points = np.flatnonzero(wanted)
        if points.size:
            line = self._of_points(points)
            boils = boiling_place(line, line.scan[::-1] if from_high else line.scan)
            found[points] = np.where(np.isnan(boils), found[points], boils)

    def _of_points(self, some_points) -> Line:
        """The line of some of the points: a mask (points,), or their numbers."""
        some = copy.copy(self)
        some.fixed, some.X, some.scan = self.fixed[some_points], self.X[:, some_points], self.scan[:, some_points]
        return some

    def looks_closer(self) -> bool:
        """Adds places to the scan between the ends of two phases that are only a little colder, or at a lower pressure.
        Whether there are such points."""
        beside = copy.copy(self)
        beside.fixed = self.fixed * (1 - BESIDE)
        there, here = (line.at(self.scan)["phases_status"] == 1 for line in (beside, self))
        more = there & ~here
        last = len(more) - 1
        first_place = np.maximum(np.argmax(more, axis=0) - 1, 0)
        last_place = np.minimum(last - np.argmax(more[::-1], axis=0) + 1, last)

        # Points without such states get their first place again
        points = np.arange(self.fixed.size)
        low = self.scan[first_place, points]
        high = np.where(more.any(0), self.scan[last_place, points], low)
        self.scan = np.sort(np.concatenate([self.scan, np.geomspace(low, high, FINE_SCAN)]), axis=0)
        return bool(more.any())

    def _end_on_scan(self, beta: float, from_high: bool) -> np.ndarray:
        """`end_of` of each point (points,), as the scan shows it."""
        order = self.scan[::-1] if from_high else self.scan
        side = Side.of(self, order, beta)

        pair, ends = side.last_pair(order)
        pair = self._bisected(side, pair)
        before, behind = self.at(pair.mine), self.at(pair.other)
        there = ends & _is_boundary(before, behind)

        # A dense gas that condenses, or a liquid that splits into two
        dense = there & (before["beta"] == 0)
        if beta == 1.0 and dense.any():
            there &= ~(dense & self._is_liquid(pair.mine, before["rho"]))
        return np.where(there, np.sqrt(pair.mine * pair.other), np.nan)

    def _bisected(self, side: Side, pair: Pair) -> Pair:
        """The pair as near to each other as double precision has it."""
        for _ in range(self.BISECTIONS):
            middle = np.sqrt(pair.mine * pair.other)
            here = side.has(self.at(middle))
            pair = Pair(np.where(here, middle, pair.mine), np.where(here, pair.other, middle))
        return pair

    def boils(self, order, found) -> np.ndarray:
        """Whether a liquid becomes a gas between two neighbours of a scan, and two phases are seen elsewhere (points,):
        where the density changes most it jumps, or two phases lie between. found: NAMES at `order` (some, points)."""
        flips = _liquid_beside_gas(found) & (found["phases_status"] == 1).any(0)
        boils = np.asarray(flips.any(0))
        if not boils.any():
            return boils

        change = np.where(flips, np.abs(np.diff(np.log(found["rho"]), axis=0)), 0.0)[:, boils]
        points, number = np.flatnonzero(boils), np.argmax(change, axis=0)
        pair = Pair(order[number, points], order[number + 1, points])
        side = Side(found["beta"][number, points], np.zeros(points.shape, bool), {})
        line = self._of_points(boils)
        pair = line._bisected(side, pair)
        boils[points] = _is_boundary(line.at(pair.mine), line.at(pair.other))
        return boils

    def _is_liquid(self, place, density) -> np.ndarray:
        """Whether one phase of this density is a liquid: on its isotherm, at the same composition, p falls somewhere
        between a thin gas and this density."""
        parts = np.linspace(1 / ISOTHERM, 1.0, ISOTHERM)[:, None]
        rho = parts * density
        T = np.broadcast_to(place if self.along == "T" else self.fixed, rho.shape)
        p = as_one_phase(self.mixture).properties("p", T=T, rho=rho, X=self.X_at(rho), backend="cpu")["p"]
        return (np.diff(p, axis=0) < 0).any(0)


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two neighbouring places of each point, T [K] or p [Pa] (points,): on the side that is followed, and beyond."""

    mine: np.ndarray
    other: np.ndarray


@dataclasses.dataclass(frozen=True)
class Side:
    """The states of one phase that a boundary ends: the liquid, or the gas."""

    beta: float | np.ndarray  # 0 liquid, 1 vapour; (points,) where some follow one and some the other
    any_phase: np.ndarray  # points whose other side are two phases: there each single phase is of this side
    found: dict[str, np.ndarray]  # NAMES (some, points) on the scan, from the side's own end

    @classmethod
    def of(cls, line: Line, order, beta: float) -> Side:
        """Where two phases are seen on the scan they are the other side. Else a gas is the other side of a liquid: it
        boils between two places of the scan, and two liquids are seen elsewhere."""
        found = line.at(order)
        two = (found["phases_status"] == 1).any(0)
        return cls(beta, two & ~line.boils(order, found), found)

    def has(self, state) -> np.ndarray:
        """Whether states are of this side."""
        return (state["phases_status"] == 0) & (self.any_phase | (state["beta"] == self.beta))

    def last_pair(self, order) -> tuple[Pair, np.ndarray]:
        """The last state of this side on the way to a gas, or the first of a gas, with its neighbour; whether there is
        one. order: the places (some, points)."""
        same = self.has(self.found)
        ends = same[:-1] & ~same[1:]
        if self.beta == 0.0:
            inside, number = ends.any(0), len(ends) - 1 - np.argmax(ends[::-1], axis=0)
        else:
            inside, number = same[0] & ends.any(0), np.argmax(ends, axis=0)

        points = np.arange(number.size)
        return Pair(order[number, points], order[number + 1, points]), inside


def _is_boundary(before, behind) -> np.ndarray:
    """Whether there are two phases behind a side's last state, or the density jumps."""
    ratio = np.abs(np.log(before["rho"] / behind["rho"]))
    return (behind["phases_status"] == 1) | (ratio > JUMP)


def _liquid_beside_gas(found) -> np.ndarray:
    """Whether one phase is a liquid and its neighbour on the scan (some - 1, points) a gas."""
    one = found["phases_status"] == 0
    return one[:-1] & one[1:] & (np.abs(np.diff(found["beta"], axis=0)) == 1)


def _common_shape(name: str, of_state, of_X) -> tuple[int, ...]:
    """The shape of the points. Raises ArgumentError where the shapes do not fit."""
    try:
        return np.broadcast_shapes(of_state, of_X[1:])
    except ValueError:
        text = f"X has shape {of_X} and {name} {of_state}: those behind the species do not fit each other."
        raise ArgumentError(text) from None


def _aligned(X, shape):
    """X (ns, ...) with as many axes behind the species as `shape` has."""
    return X.reshape(len(X), *[1] * (len(shape) + 1 - X.ndim), *X.shape[1:])


def bubble_T(mixture, p, X):
    """See Mixture.bubble_T."""
    return Line(mixture, X, "T", p).end_of(0.0, from_high=False)


def dew_T(mixture, p, X):
    """See Mixture.dew_T."""
    return Line(mixture, X, "T", p).end_of(1.0, from_high=True)


def bubble_p(mixture, T, X):
    """See Mixture.bubble_p."""
    return Line(mixture, X, "p", T).end_of(0.0, from_high=True)


def dew_p(mixture, T, X):
    """See Mixture.dew_p."""
    return Line(mixture, X, "p", T).end_of(1.0, from_high=False)


BOUNDARIES = {"bubble_T": bubble_T, "dew_T": dew_T, "bubble_p": bubble_p, "dew_p": dew_p}
ENDS = {
    "T": "where p is no positive number, at a pressure above the highest of a gas beside a liquid, or with a boundary "
    f"at none of the temperatures from {TEMPERATURES[0]:g} of the smallest Tc, {COLDEST:g} K at least, to "
    f"{TEMPERATURES[1]:g} of the largest",
    "p": "where T is no positive number, at a temperature above the highest of two phases or below "
    f"{COLDEST:g} K, or with a boundary below {LOWEST_P:g} Pa or above {HIGHEST_P:g} Pa",
}


def reported(name: str, mixture, given, X, Y):
    """BOUNDARIES[name] for a user, with the labels and the mask of his arrays: a RuntimeWarning with the number of
    points without a boundary, the first and its inputs; in check mode a StateError."""
    of = "p" if name.endswith("T") else "T"
    arrays = {of: given, **given_composition(X, Y)}
    labels = labels_of(mixture, arrays)
    if labels:
        arrays = labels.plain(arrays)

    given = arrays.pop(of)
    ((of_species, amounts),) = arrays.items()
    searched = Searched.of(of, given, moles(mixture, of_species, amounts))
    found = searched.results(BOUNDARIES[name], mixture)

    values = np.broadcast_to(searched.given, found.shape).reshape(1, -1)
    missing = np.isnan(np.ma.getdata(found)) & ~searched.silent
    notes = check.without_boundary(
        name, ENDS[name[-1]], missing.reshape(1, -1), check.Points(found.shape), {of: values}
    )

    _tell(notes, 4)
    return labels.one(name[-1], found) if labels else found


def _tell(notes, level: int) -> None:
    """Notes as warnings at the user's line, `level` calls above; in check mode as a StateError."""
    if notes and check.is_on():
        raise StateError(f"check: {notes[0]}")
    for note in notes:
        warnings.warn(note, RuntimeWarning, stacklevel=level)


@dataclasses.dataclass(frozen=True)
class Searched:
    """Points of a caller's arrays. A point that is left out has the numbers of another point, and its result is NaN."""

    given: np.ndarray  # T [K] or p [Pa]
    X: np.ndarray  # amounts of moles (ns, ...)
    silent: np.ndarray  # points that are masked, or have a NaN: their result is NaN, and nothing is told
    left_out: np.ndarray  # these, and those whose T or p is no positive number
    masked: np.ndarray | None  # those that are masked; None where no masked array came

    @classmethod
    def of(cls, name: str, given, X) -> Searched:
        """name: of T or p. Raises ArgumentError where all points are masked."""
        given = given if isinstance(given, np.ma.MaskedArray) else real_array(name, given)
        shape = _common_shape(name, given.shape, X.shape)
        masked = None
        if any(isinstance(array, np.ma.MaskedArray) for array in (given, X)):
            masked = np.broadcast_to(np.ma.getmaskarray(given), shape) | np.ma.getmaskarray(X).any(axis=0)
            refuse(masked.all(), f"'{name}', 'X': all points are masked.")

        given, X = np.ma.getdata(given), np.ma.filled(X, 1.0)
        silent = np.isnan(given) | np.isnan(X).any(axis=0)
        if masked is not None:
            silent = silent | masked

        # Where no point has a state, the search refuses the numbers.
        no_state = ~((given > 0) & np.isfinite(given))
        left_out = silent if (silent | no_state).all() else silent | no_state
        if left_out.any() and not left_out.all():
            values = np.broadcast_to(given, shape)
            given = np.where(left_out, values[~left_out][0], values)
            X = np.where(np.isnan(X).any(axis=0), 1.0, X)
        return cls(given, X, np.broadcast_to(silent, shape), np.broadcast_to(left_out, shape), masked)

    def results(self, boundary, mixture) -> np.ndarray:
        """boundary(mixture, given, X) of the points, NaN at those that are left out; with the mask that came."""
        if self.left_out.all():
            found = np.full(self.left_out.shape, np.nan)
        else:
            found = np.where(self.left_out, np.nan, boundary(mixture, self.given, self.X))
        return found if self.masked is None else np.ma.array(found, mask=self.masked)


def _ends_of_dew_line(mixture, X) -> tuple[float, float]:
    """The lowest and the highest T of the dew points of one composition (ns,), and of its bubble points where it has
    some there. Raises ArgumentError where there are none."""

    def has_dew(T):
        return np.isfinite(dew_p(mixture, T, X))

    def has_bubble(T):
        return np.isfinite(bubble_p(mixture, T, X))

    Tc = mixture.species.Tc[X > 0]
    T = np.linspace(max(0.45 * Tc.min(), COLDEST), 1.1 * Tc.max(), ENVELOPE_SCAN)
    seen = np.flatnonzero(has_dew(T))
    refuse(seen.size == 0, f"X = {shown(X, mixture.names)}: no two phases found.")

    # Between the places seen and their neighbours, at which there are none
    first, last = seen[0], seen[-1]
    inside = T[[first, last]]
    outside = T[[max(first - 1, 0), min(last + 1, T.size - 1)]]
    has_no_upper = ~has_bubble(inside)  # a gas that hardly dissolves
    for _ in range(ENVELOPE_BISECTIONS):
        middle = (inside + outside) / 2
        here = has_dew(middle) & (has_bubble(middle) | has_no_upper)
        inside, outside = np.where(here, middle, inside), np.where(here, outside, middle)
    return float(inside[0]), float(inside[1])


def envelope(mixture, X, Y=None, points: int = 100) -> dict:
    """See Mixture.envelope."""
    refuse(
        not isinstance(points, (int, np.integer)) or points < 2,
        f"points = {points!r}; wanted a whole number, 2 or more.",
    )
    X = composition(mixture, X, Y)
    # As many points as asked for, between the ends of the dew line
    T = np.linspace(*_ends_of_dew_line(mixture, X), points)
    line = {"T": T, "p_low": dew_p(mixture, T, X), "p_high": bubble_p(mixture, T, X)}

    # Gases that hardly dissolve: no upper boundary
    open_ = np.isnan(line["p_high"]).reshape(1, -1)
    reason = f"where a gas hardly dissolves: none is seen up to {HIGHEST_P:g} Pa"
    _tell(check.without_boundary("p_high", reason, open_, check.Points(T.shape), {"T": T.reshape(1, -1)}), 4)
    return line
