"""The rival of `bench layouts`: conserved_temperature.f90 of fortran_stub/rivals, T and p of conserved variables as a
code with COMMON blocks computes them."""

from __future__ import annotations

import cffi
import numpy as np

from . import fortran

NAME = "Newton in Fortran, -O3"
BEFORE = 0.99  # T of the step before over T
READS = ("rhoY", "rhou", "rhov", "rhow", "rhoE")

ffi = cffi.FFI()
ffi.cdef("""void conserved_setup(int, double, double *, double *, double *, double *);
            void conserved_points(int, int, double *, double *, double *, double *, double *, double *, double *,
                                  double *);""")


class Fortran:
    """The subroutine on arrays of a host, one thread. state: conserved variables and T, (n,) or (ns, n)."""

    def __init__(self, mixture, state: dict):
        self._library = ffi.dlopen(str(fortran.library("conserved", "-O3")))
        self._use(mixture)

        n = state["T"].size
        self.T, self.p = np.full((2, n), np.nan)
        given = [np.ascontiguousarray(state[name]) for name in READS]
        self._arrays = [*given, BEFORE * state["T"], self.T, self.p]
        self._arguments = [n, mixture.ns, *map(_pointer, self._arrays)]

    def _use(self, mixture) -> None:
        """Hands the polynomials of the mixture over: they are in a COMMON block."""
        data = mixture.species
        tables = [np.ascontiguousarray(field) for field in (data.W, data.T_mid, data.nasa_low, data.nasa_high)]
        self._library.conserved_setup(mixture.ns, float(data.R), *map(_pointer, tables))

    def work(self) -> None:
        """T and p of all points."""
        self._library.conserved_points(*self._arguments)


def _pointer(array):
    return ffi.from_buffer("double[]", array)
