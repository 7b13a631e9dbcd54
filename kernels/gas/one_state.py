"""`Mixture.properties` of a state from plain numbers: a call that is bound once for its names, without the work that
arrays need.

All other calls go by arrays.py, with the same bits: arrays and lists, numbers of other types, other backends and
precisions, check mode. So do states that need a warning, a division of Y, or whose results are NaN.
"""

from __future__ import annotations

import math
import threading

import numpy as np

from ..engine.backend import get_backend
from ..engine.registry import split
from . import check
from .arrays import call
from .composition import fractions
from .registry import registry
from .species import NoSpecies
from .state import ROUNDED, WHOLE, range_of_models

TEXTS = 64  # compositions as texts that a call remembers
LARGEST = 2**53  # whole numbers up to this size are exact


def properties_of_one(mixture, names, arrays: dict) -> dict | None:
    """{name: array} as Mixture.properties returns it, on the CPU in double precision; None: not for this module."""
    for name, given in arrays.items():
        kind = type(given)
        if kind is float or kind is str or kind is np.float64:
            continue

        if kind is int:
            if -LARGEST <= given <= LARGEST:
                continue
        elif (kind is np.ndarray or kind is dict) and name in ("X", "Y"):
            continue

        return None

    key = ("one state", names if isinstance(names, str) else split(names), *arrays)
    bound = mixture._programs.get(key)
    if bound is None:
        bound = mixture._programs[key] = BoundState(mixture, key[1], arrays)
    return bound(arrays)


def _is_plain(name: str) -> bool:
    """Whether this is a quantity that is not carried from call to call."""
    return name in registry.quantities and not registry.quantities[name].carried


def _is_input(name: str) -> bool:
    """Whether this is a composition, or a plain quantity with one number at a point."""
    if not _is_plain(name):
        return False
    return registry.quantities[name].per == ("ns" if name in ("X", "Y") else "")


class BoundState:
    """A program on arrays of one point of its own, for these names of results and of inputs."""

    def __init__(self, mixture, names, arrays):
        self.mixture = mixture
        self.names = list(split(names))
        self.texts: dict = {}  # {(name, text): fractions}
        self.index = {name: s for s, name in enumerate(mixture.names)}
        self.busy = threading.Lock()
        self.backend = None

        # A call with other names goes the way of arrays, where it may be refused.
        is_new = bool(self.names) and not set(self.names) & set(arrays)
        self.fits = is_new and all(map(_is_plain, self.names)) and all(map(_is_input, arrays))

        species = mixture.species
        if isinstance(species, NoSpecies):
            self.T_low, self.T_high = -np.inf, np.inf
        else:
            self.T_low, T_high = range_of_models(species)
            self.T_high = min(T_high, species.T_max.min())

    def _bind(self, arrays) -> None:
        """The program of the present backend, on arrays of one point. Raises what the call of arrays raises."""
        backend = get_backend("cpu")
        call(self.mixture, self.names, arrays, None, "double", depth=None)  # refuses what contradicts, once
        program = self.mixture.program(outputs=self.names, given=list(arrays), backend=backend)

        rows = {name: self.mixture.rows(name) for name in (*program.reads, *program.writes)}
        results = np.full((sum(rows[name] for name in program.writes), 1), np.nan)
        views, self.places, first = {}, [], 0

        for name in program.writes:
            views[name] = results[first : first + rows[name]]
            if name in self.names:
                per = bool(registry.quantities[name].per)
                self.places.append((name, slice(first, first + rows[name]) if per else first))

            first += rows[name]

        self.inputs = {}
        for name in program.reads:
            views[name] = np.full((rows[name], 1), np.nan)
            self.inputs[name] = views[name][:, 0]

        self.places.sort(key=lambda place: self.names.index(place[0]))
        self.fits = set(program.reads) == set(arrays) and len(self.places) == len(set(self.names))
        self.results, self.run, self.backend = results[:, 0], program.bind(views), backend

    def __call__(self, arrays) -> dict | None:
        if not self.fits or check.is_on() or not self.busy.acquire(blocking=False):
            return None
        try:
            if self.backend is not get_backend("cpu"):
                self._bind(arrays)
            if not self.fits or not self._fill(arrays):
                return None
            self.run(1)
            values = self.results.copy()
            if math.isnan(values @ values):
                return None  # the call of arrays says why
        finally:
            self.busy.release()

        return {name: values[place, ...] for name, place in self.places}

    def _fill(self, arrays) -> bool:
        """Copy the inputs to the program's arrays; whether the call of arrays would take them as they are."""
        for name, given in arrays.items():
            into = self.inputs[name]
            if name in ("X", "Y"):
                if not self._fill_fractions(name, given, into):
                    return False
                continue

            if type(given) is str or (name == "T" and not self.T_low <= given <= self.T_high):
                return False
            into[0] = given

        return True

    def _fill_fractions(self, name: str, given, into) -> bool:
        if type(given) is dict:
            return self._fill_amounts(given, into)

        if type(given) is str:
            given = self._of_text(name, given)
        elif type(given) is not np.ndarray or given.shape != into.shape or given.dtype != np.float64:
            return False

        total = np.add.reduce(given)
        if np.minimum.reduce(given) < -ROUNDED * total:
            return False  # the call of arrays says which species

        if abs(total - 1) <= WHOLE:
            into[:] = given
        elif name == "X" and 0 < total < np.inf:
            np.divide(given, total, out=into)
        else:
            return False

        return True

    def _fill_amounts(self, given: dict, into) -> bool:
        """Amounts by name, divided by their sum."""
        total = 0.0
        for key, amount in given.items():
            if type(amount) not in (float, int) or not 0 <= amount < np.inf or key not in self.index:
                return False
            total += amount

        if not 0 < total < np.inf:
            return False
        into.fill(0.0)
        for key, amount in given.items():
            into[self.index[key]] = amount / total
        return True

    def _of_text(self, name: str, text: str) -> np.ndarray:
        """The fractions of a text, read once."""
        found = self.texts.get((name, text))
        if found is None:
            if len(self.texts) == TEXTS:
                self.texts.clear()
            found = self.texts[name, text] = fractions(name, text, self.mixture.names)

        return found
