"""The rivals in Fortran: the modules of fortran_stub/rivals, compiled here as shared libraries.

Three styles:
- "textbook": a point at a time, sums over pairs as in the book, pair parameters formed inside the sums;
- "tables": the same sums over tables of pairs that are made once; the demo's host compares with this style;
- "reduced": the layer's own algebra (products of single sums, sqrt(T) once, mixture coefficients first, the table of
  Takahashi's factor) over blocks of points, so that the compiler vectorises: the strongest plain Fortran that we could
  write.
"""

from __future__ import annotations

import functools
import os
import pathlib
import platform
import shutil
import subprocess
import tempfile

import cffi
import numpy as np

from kernels.engine.backend import cache
from kernels.engine.backend.cpu import processor
from kernels.gas.species.kinetic_theory import pair_fit

from ...errors import BackendError
from .inputs import ROOT

SHARED = ("species_tables", "peng_robinson", "chung", "diffusion")
STYLES = {  # style: modules, in the order in which they are compiled
    "textbook": (*SHARED, "textbook"),
    "tables": (*SHARED, "properties"),
    "reduced": (*SHARED, "reduced_tables", "reduced_thermal", "reduced_transport", "reduced"),
    "kinetics": ("kinetics",),
    "conserved": ("conserved_temperature",),
}
# gfortran uses vectors of half the length of AVX-512 by default. Scalar code gains nothing by longer vectors.
WIDE = ["-mprefer-vector-width=512"] if platform.machine() in ("x86_64", "AMD64") else []
# Indices in the array `scal` of the driver, and values of options: properties.f90, species_tables.f90.
NAMES = ("W", "Z", "rho", "h", "e", "cp", "cv", "gamma", "c", "rho_p", "rho_T", "h_p", "h_T", "h0", "mu", "lam")
OPTIONS = {
    "root": ("gibbs", "vapour", "liquid"),
    "alpha": ("smooth", "published", "cantera"),
    "chung": ("polefree", "published", "cantera"),
    "diffusion": ("kinetic", "fuller", "cantera"),
    "takahashi": ("smooth", "table", "off"),
}
PARTS = {"thermal": 1, "viscous": 2, "thermal_viscous": 3}
RIVALS = (("textbook", "-O3"), ("tables", "-O3"), ("tables", "-Ofast"), ("reduced", "-O3"), ("reduced", "-Ofast"))

ffi = cffi.FFI()
ffi.cdef("""int realgas_setup(int, double *, double *, double *, double *, double *, double *, double *, double *,
                              double *, double *, double *, double *, double *, int *);
            void realgas_points(int, int, double *, double *, double *, double *, double *);""")


@functools.lru_cache(None)
def compiler() -> tuple[str, str]:
    """Path and version line of the Fortran compiler (FC, else gfortran). Raises BackendError if there is none."""
    name = os.environ.get("FC") or "gfortran"
    path = shutil.which(name)
    if path is None:
        raise BackendError(
            f"the benchmark needs a Fortran compiler, and '{name}' is not on PATH: install gfortran, or set FC."
        )

    version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout.partition("\n")[0]
    return path, version


def run(command, what: str) -> None:
    """Run a compiler. what: for the message. Raises BackendError with the compiler's text."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise BackendError(f"compiling {what} failed ({command[0]}):\n{done.stderr[:3000]}")


def library(style: str, level: str) -> pathlib.Path:
    """The shared library of a style at an optimisation level, from the kernel cache or made now."""
    program, version = compiler()
    sources = [ROOT / "fortran_stub" / "rivals" / f"{name}.f90" for name in STYLES[style]]
    missing = [str(source) for source in sources if not source.is_file()]
    if missing:
        raise BackendError(f"{missing[0]} is not there: the benchmark's rival is compiled from the project's folder.")

    flags = [level, "-march=native", "-fPIC"]
    if style in ("reduced", "kinetics"):
        flags += WIDE

    def make(path):
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            objects = []
            for source in sources:
                objects.append(pathlib.Path(folder) / f"{source.stem}.o")
                run([program, *flags, "-J", folder, "-c", source, "-o", objects[-1]], source.name)

            # Linked without the level: -Ofast would link start-up code that makes this whole process flush denormals.
            run([program, "-shared", *objects, "-o", path], "the Fortran rival")

    texts = [source.read_bytes() for source in sources]
    return cache.entry(f"fortran-{cache.key(*texts, ' '.join(flags), version, processor('native'))}", ".so", make)


class Fortran:
    """The modules of a style at a level, set up for a mixture at a time: species are module variables."""

    def __init__(self, style: str = "tables", level: str = "-O3"):
        self.name = f"gfortran {level}, {style}"
        self._library = ffi.dlopen(str(library(style, level)))
        self._mixture = None

    def use(self, mixture) -> None:
        """Hands the species data of a mixture over, unless they are there. Raises BackendError."""
        if self._mixture is mixture:
            return

        fields = [np.array(field, dtype=float, order="C") for field in species_data(mixture)]
        pointers = [ffi.from_buffer("double[]", field) for field in fields]
        codes = ffi.new("int[]", [values.index(mixture.options[key]) + 1 for key, values in OPTIONS.items()])
        status = self._library.realgas_setup(mixture.ns, *pointers, codes)
        if status:
            raise BackendError(f"the Fortran rival refuses the mixture (status {status}).")

        self._mixture = mixture

    def prepare(self, mixture, collection: str, state: dict):
        """(work, results): work() runs the collection over the points of `state` and writes the arrays `results`, by
        name."""
        n = state["T"].size
        given = [np.ascontiguousarray(state[name]) for name in ("T", "p", "Y")]
        scalars, D = np.full((len(NAMES), n), np.nan), np.full((mixture.ns, n), np.nan)
        if "rho" in state:
            scalars[NAMES.index("rho")] = state["rho"]

        arrays = (*given, scalars, D)
        pointers = [ffi.from_buffer("double[]", array) for array in arrays]
        points, part = self._library.realgas_points, PARTS[collection]

        def work(keep=arrays):
            self.use(mixture)
            points(n, part, *pointers)

        return work, {**dict(zip(NAMES, scalars)), "D": D}


def species_data(mixture) -> list[np.ndarray]:
    """The arrays of realgas_setup, in order. There is no NaN: -Ofast assumes so."""
    data, diffusion = mixture.species, mixture.options["diffusion"]
    R = 8.31446261815324

    # An unknown Vc by the rule of both codes.
    Vc = np.where(np.isnan(data.Vc), 0.307401308698703833 * R * data.Tc / data.pc, data.Vc)

    # The Fortran tabulates Fuller's law in any case.
    is_fuller = diffusion == "fuller"
    fit = np.zeros((5, mixture.ns, mixture.ns)) if is_fuller else pair_fit(data, diffusion)
    fuller = data.fuller_volume if is_fuller else np.nan_to_num(data.fuller_volume, nan=1.0)

    return [
        *(data.W, data.Tc, data.pc, data.omega, Vc),
        *(np.nan_to_num(data.dipole), data.kappa_assoc, data.kij),
        *(data.nasa_low, data.nasa_high, data.T_mid),
        *(np.moveaxis(fit, 0, 2), fuller),
    ]
