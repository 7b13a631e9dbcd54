"""KinetiX as a rival of `bench kinetics`: C++ that it generates from a mechanism (Danciu & Frouzakis 2025, Comput.
Phys. Commun. 310, 109504), compiled with the flags of KinetiX's own example, a point at a time on one core.

The source is public (github.com/bogdandanciu/KinetiX, BSD-2). `--kinetix` names the folder that holds kinetix/. Without
the option, a module `kinetix` is looked for.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import cffi
import numpy as np

from ...errors import BackendError

ffi = cffi.FFI()
ffi.cdef("""const char *rival_species(void);
            void rival_points(long, const double *, const double *, const double *, const double *, double *);""")
UNITS = {"length": "cm", "quantity": "mol", "activation-energy": "cal/mol"}  # that KinetiX reads
FLAGS = ("-std=c++17", "-O3", "-march=native", "-ffast-math", "-shared", "-fPIC")
SOURCE = r"""
#include <cmath>
using std::exp; using std::log; using std::pow;
#define __KINETIX_DEVICE__
#define __KINETIX_CONST__ static const
#define __KINETIX_INLINE__ static inline
#define cfloat double
#define __KINETIX_EXP__ exp
#define __KINETIX_LOG10__ log10
#define __KINETIX_LOG__ log
#define __KINETIX_POW__ pow
#define CFLOAT_MAX 1e300
#define CFLOAT_MIN 1e-300
#include "mech.h"
#include "rates.cpp"
extern "C" const char *rival_species(void) { return species_names; }
extern "C" void rival_points(long n, const double *T, const double *p, const double *rho, const double *Y,
                             double *omega) {
    for (long t = 0; t < n; ++t) {
        double C[n_species], w[n_species] = {}; // it leaves out species without reactions
        const double x = T[t];
        for (int k = 0; k < n_species; ++k) C[k] = rho[t] * Y[k * n + t] * kinetix_rcp_molar_mass[k];
        kinetix_species_rates(log(x), x, x * x, x * x * x, x * x * x * x, 1 / x, ARGUMENTS C, w);
        for (int k = 0; k < n_species; ++k) omega[k * n + t] = w[k] * kinetix_molar_mass[k];
    }
}
"""


class KinetiX:
    """The generated code of a mechanism. Raises BackendError if KinetiX, Cantera (which writes the mechanism for it) or
    a compiler is not there, or if KinetiX refuses the mechanism."""

    name = "KinetiX"

    def __init__(self, path, folder, source=None):
        out = pathlib.Path(tempfile.mkdtemp(dir=folder))
        file = out / "mechanism.yaml"
        if importlib.util.find_spec("cantera") is None:
            raise BackendError("it needs Cantera, which writes the mechanism for it")

        import cantera as ct

        ct.Solution(str(path)).write_yaml(file, units=UNITS)
        _run([sys.executable, *_generator(source), "--mechanism", file, "--output", out / "code"])
        rates = (out / "code" / "rates.cpp").read_text()
        by_pressure = "const cfloat P," in rates.partition("{")[0]
        rival = out / "rival.cpp"
        rival.write_text(SOURCE.replace("ARGUMENTS", "p[t], log(p[t])," if by_pressure else ""))
        compiler = shutil.which(os.environ.get("CXX") or "g++")
        if compiler is None:
            raise BackendError("there is no C++ compiler: install g++, or set CXX")

        _run([compiler, *FLAGS, "-I", out / "code", rival, "-o", out / "rival.so"])
        self._library = ffi.dlopen(str(out / "rival.so"))
        self._species = ffi.string(self._library.rival_species()).decode().split()

    def prepare(self, mixture, state: dict):
        """(work, results): work() fills an array (ns, n); results() returns it in the order of the mixture."""
        order = [self._species.index(name) for name in mixture.species.names]
        Y = np.empty_like(state["Y"])
        Y[order] = state["Y"]
        arrays = [*(np.ascontiguousarray(state[name]) for name in ("T", "p", "rho")), Y, np.full(Y.shape, np.nan)]
        pointers = [ffi.from_buffer("double[]", array) for array in arrays]

        def work(keep=arrays):
            self._library.rival_points(Y.shape[1], *pointers)

        return work, lambda: arrays[-1][order]


def _generator(source) -> list[str]:
    """Command that starts Python. source: folder of KinetiX, or None. Raises BackendError if it does not exist."""
    if source:
        main = pathlib.Path(source).expanduser() / "kinetix" / "__main__.py"
        if not main.is_file():
            raise BackendError(f"--kinetix: no {str(main)!r}")
        return [str(main)]

    if importlib.util.find_spec("kinetix") is None:
        raise BackendError("--kinetix has to name a folder with its source (github.com/bogdandanciu/KinetiX)")
    return ["-m", "kinetix"]


def _run(command) -> None:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().rpartition("\n")[2]
        raise BackendError(f"{pathlib.Path(str(command[1])).name}: {last[:200]}")
