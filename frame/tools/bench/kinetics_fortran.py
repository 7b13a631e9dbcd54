"""The Fortran rivals of `bench kinetics`: kinetics.f90 of fortran_stub/rivals, with the tables of a mechanism."""

from __future__ import annotations

import cffi
import numpy as np

from kernels.gas.species.reactions import Arrhenius, Falloff

from ...errors import BackendError
from . import fortran

KINDS = ("elementary", "three-body", "Lindemann", "Troe")  # in the order of their numbers in kinetics.f90
STYLES, LEVELS = ("textbook", "reduced"), ("-O3", "-Ofast")
MOST = 3  # reactants or products of a reaction
NO_TROE = (0.0, 1.0, 1.0, 0.0)  # a, T3, T1, T2 for other reactions, so that nothing divides by 0

ffi = cffi.FFI()
ffi.cdef("""int kinetics_setup(int, int, int, int, int, int, double, double *, double *, double *, double *, double *,
                               double *, int *, int *, int *, int *, int *, double *, double *, double *, int *,
                               int *);
            void kinetics_points(int, int, double *, double *, double *, double *);""")


class Fortran:
    """kinetics.f90 in a style, set up for a mixture at a time."""

    def __init__(self, style: str, level: str):
        self.name, self._style = f"gfortran {level}, {style}", STYLES.index(style) + 1
        self._library = ffi.dlopen(str(fortran.library("kinetics", level)))
        self._mixture = None

    def use(self, mixture) -> None:
        """Hands the tables of a mixture over, unless they are there. Raises BackendError."""
        if self._mixture is mixture:
            return

        if self._library.kinetics_setup(*map(_as_c, tables(mixture))):
            raise BackendError("the Fortran rival has no reactions of a kind that the mechanism has.")
        self._mixture = mixture

    def prepare(self, mixture, state: dict):
        """(work, results): work() fills an array (ns, n), which results() returns."""
        n, omega = state["T"].size, np.full(state["Y"].shape, np.nan)
        arrays = [np.ascontiguousarray(state[name]) for name in ("T", "rho", "Y")]
        pointers = [_as_c(array) for array in (*arrays, omega)]

        def work(keep=arrays):
            self.use(mixture)
            self._library.kinetics_points(n, self._style, *pointers)

        return work, lambda: omega


def _as_c(value):
    """A number as it is, an array as a pointer."""
    if not isinstance(value, np.ndarray):
        return value
    return ffi.from_buffer("int[]" if value.dtype.kind == "i" else "double[]", value)


class _Numbered:
    """Distinct keys, numbered from 1 in the order in which they come."""

    def __init__(self):
        self.keys: dict = {}

    def number(self, key) -> int:
        return self.keys.setdefault(key, len(self.keys) + 1)


def tables(mixture) -> list:
    """The arguments of kinetics_setup: numbers, then arrays; species, exponents and colliders count from 1. Raises
    BackendError for reactions that kinetics.f90 does not know."""
    data, reactions = mixture.species, mixture.species.mechanism.reactions
    refuse_others(reactions)
    falloffs = [r for r in reactions if isinstance(r.rate, Falloff)]

    # Temperature exponents and activation energies (b, E): of all rates, then of the low-pressure limits.
    exponents = _Numbered()
    high = [r.rate.high if isinstance(r.rate, Falloff) else r.rate for r in reactions]
    at_high = [exponents.number((rate.b, rate.E)) for rate in high]
    count_high = len(exponents.keys)
    low = {r.number: exponents.number((r.rate.low.b, r.rate.low.E)) for r in falloffs}
    at_low = [low.get(r.number, 0) for r in reactions]

    # Third-body weights: of falloffs first, since these need their logarithm.
    colliders = _Numbered()
    for r in falloffs:
        colliders.number(_weights(r, data.ns))
    count_logs = len(colliders.keys)
    collider = [colliders.number(_weights(r, data.ns)) if r.collider else 0 for r in reactions]

    # Factors of the rates.
    A_high = [rate.A * r.multiplier for r, rate in zip(reactions, high)]
    A_low = [r.rate.low.A * r.multiplier if isinstance(r.rate, Falloff) else 0.0 for r in reactions]

    # In the order of kinetics_setup's arguments.
    sizes = [data.ns, len(reactions), count_high, len(exponents.keys), len(colliders.keys), count_logs]
    of_species = [data.W, data.T_mid, *_polynomials(mixture)]
    rows = [list(exponents.keys), list(colliders.keys)]
    kinds = [KINDS.index(_kind(r)) for r in reactions]
    reversible = [r.reversible for r in reactions]
    sides = [[_side(r.reactants) for r in reactions], [_side(r.products) for r in reactions]]

    return [
        *sizes,
        float(data.p_ref),
        *map(_doubles, of_species),
        *map(_doubles, rows),
        *map(_integers, (kinds, at_high, at_low, collider, reversible)),
        *map(_doubles, (A_high, A_low, [_troe(r) for r in reactions])),
        *map(_integers, sides),
    ]


def refuse_others(reactions) -> None:
    """Raises BackendError for a reaction that kinetics.f90 does not know."""
    for r in reactions:
        sides = [sum(side.values()) for side in (r.reactants, r.products)]
        plain = r.orders == r.reactants and max(sides) <= MOST and all(x == round(x) for x in sides)
        if _kind(r) not in KINDS or not plain:
            raise BackendError(f"the Fortran rival has no reaction such as '{r.equation}' ({r.kind}).")


def _polynomials(mixture) -> list[np.ndarray]:
    """NASA polynomials of the low and the high range without the part that cancels in every reaction, which would bring
    exponentials out of range."""
    data, shift = mixture.species, mixture.constant("reaction_shift").array
    of_s, of_h = np.reshape(shift[: 2 * data.ns], (2, data.ns))

    polynomials = [np.array(rows, float) for rows in (data.nasa_low, data.nasa_high)]
    for rows in polynomials:
        rows[:, 5] -= of_h
        rows[:, 6] += of_s - shift[-1]
    return polynomials


def _integers(values) -> np.ndarray:
    return np.array(values, np.int32, order="C")


def _doubles(values) -> np.ndarray:
    return np.array(values, float, order="C")


def _weights(reaction, ns: int) -> tuple:
    """The third-body weights of all species."""
    return tuple(reaction.collider.weights(ns))


def _side(species: dict) -> list[int]:
    """MOST numbers of the reactants or products, each as often as it takes part; 0: none."""
    numbers: list[int] = []
    for s, nu in species.items():
        numbers += [s + 1] * round(nu)
    return numbers + [0] * (MOST - len(numbers))


def _kind(reaction) -> str:
    rate = reaction.rate
    if isinstance(rate, Falloff):
        return "chemically activated" if rate.activated else rate.form
    if isinstance(rate, Arrhenius):
        return "three-body" if reaction.collider else "elementary"
    return reaction.kind


def _troe(reaction) -> tuple:
    """(a, T3, T1, T2) of Troe's form."""
    return reaction.rate.numbers if _kind(reaction) == "Troe" else NO_TROE
