"""A run of PyFR (the public flux-reconstruction solver, pyfr.org) for benchmarks/taylor_green.py, by a Python that
has PyFR 3.

python benchmarks/pyfr_run.py SETTINGS       SETTINGS: JSON, see `taylor_green.py`; the last line printed is the answer,
JSON.

Polynomials of degree p on (cells/(p + 1))^3 hexahedra: cells^3 solution points, Gauss-Legendre, DG (g from
Gauss-Legendre, Rusanov for convection, LDG with beta 0.5, tau 0.1 for diffusion, no anti-aliasing).
"""

import contextlib
import ctypes
import io
import json
import os
import sys
import tempfile
import time

import numpy as np

STAGES = {"tvd-rk3": 3, "rk4": 4, "rk45": 5}


def mesh(n, side, path):
    """A periodic cube of n^3 hexahedra as a PyFR mesh file."""
    from pyfr.progress import NullProgressSequence
    from pyfr.readers.gmsh import GmshReader

    number = 1 + np.arange((n + 1) ** 3).reshape((n + 1,) * 3)  # [z, y, x]
    corners = [
        number[k : k + n, j : j + n, i : i + n].ravel()
        for k, j, i in ((0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 0), (1, 0, 0), (1, 0, 1), (1, 1, 1), (1, 1, 0))
    ]

    rows = [(5, 1, np.stack(corners, 1))]
    for d in range(3):
        for end in (0, 1):
            sheet = np.take(number, end * n, axis=2 - d)
            rows.append(
                (
                    3,
                    2 + 2 * d + end,
                    np.stack([q.ravel() for q in (sheet[:-1, :-1], sheet[:-1, 1:], sheet[1:, 1:], sheet[1:, :-1])], 1),
                )
            )

    text = io.StringIO()
    text.write('$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n7\n3 1 "fluid"\n')

    for d in range(3):
        for end, word in enumerate("lr"):
            text.write(f'2 {2 + 2 * d + end} "periodic_{d}_{word}"\n')

    text.write(f"$EndPhysicalNames\n$Nodes\n{number.size}\n")
    at = np.arange(n + 1) * side / n
    z, y, x = np.meshgrid(at, at, at, indexing="ij")
    np.savetxt(text, np.stack([number.ravel(), x.ravel(), y.ravel(), z.ravel()], 1), fmt="%d %.17g %.17g %.17g")
    text.write(f"$EndNodes\n$Elements\n{sum(len(nodes) for _, _, nodes in rows)}\n")

    first = 1
    for kind, physical, nodes in rows:
        lead = np.broadcast_to([kind, 2, physical, physical], (len(nodes), 4))
        np.savetxt(text, np.hstack([np.arange(first, first + len(nodes))[:, None], lead, nodes]), fmt="%d")
        first += len(nodes)

    text.write("$EndElements\n")
    text.seek(0)
    GmshReader(text, NullProgressSequence()).write(path, 1e-5)


class Products:
    """PyFR's products of small constant matrices with rows of the fields, by GiMMiK and the C compiler, for machines
    without libxsmm. PyFR's GPU backends use GiMMiK, and the CPU backend did earlier."""

    def __init__(self, backend):
        self.compiler, self.made = backend.compiler, []
        lead = self.compiler.build(
            "void lead(void (*f)(const double *, double *), const double *b, double *c) { f(b, c); }"
        )
        self.libxsmm_fsspmdm_execute = lead.mod.lead
        self.libxsmm_timer_tick = lead.mod.lead
        self.keep = lead

    def libxsmm_init(self):
        pass

    libxsmm_finalize = libxsmm_init

    def libxsmm_fsspmdm_destroy(self, kernel):
        pass

    def libxsmm_fsspmdm_create(self, kind, m, n, k, lda, ldb, ldc, alpha, beta, a, nontemporal, tick):
        from gimmik import CMatMul

        A = np.ctypeslib.as_array(ctypes.cast(a, ctypes.POINTER(ctypes.c_double)), (m, k)) * alpha._obj.value
        source, _ = next(CMatMul(A, beta=beta._obj.value, n=n, ldb=ldb, ldc=ldc).kernels(np.float64, "product"))
        built = self.compiler.build(source)
        self.made.append(built)

        return ctypes.cast(built.mod.product, ctypes.c_void_p).value


def settings(s):
    """Text of PyFR's ini file."""
    return f"""
[backend]
precision = double
rank-allocator = linear
[constants]
gamma = {s["gamma"]}
mu = {s["mu"]!r}
Pr = {s["Pr"]!r}
[solver]
system = navier-stokes
order = {s["degree"]}
viscosity-correction = none
[solver-time-integrator]
formulation = std
scheme = {s["scheme"]}
controller = none
tstart = 0
tend = {s["times"][-1]!r}
dt = {s["dt"]!r}
[solver-interfaces]
riemann-solver = rusanov
ldg-beta = 0.5
ldg-tau = 0.1
[solver-interfaces-quad]
flux-pts = gauss-legendre
[solver-elements-hex]
soln-pts = gauss-legendre
[soln-ics]
rho = {s["rho"]}
u = {s["u"]}
v = {s["v"]}
w = 0
p = {s["p"]}
"""


def kinetic(solver, degree):
    """Mean of rho |u|^2/2 by the quadrature of the solution points."""
    U = np.concatenate(solver.soln, axis=2)  # points, variables, elements
    weight = np.polynomial.legendre.leggauss(degree + 1)[1] / 2
    weight = np.einsum("i,j,k", weight, weight, weight).ravel()

    return float((weight[:, None] * (U[:, 1:4] ** 2).sum(1) / (2 * U[:, 0])).sum() / U.shape[2])


def libraries(backend):
    """Names of the libraries of matrix products. On a CPU without libxsmm, Products take its place."""
    if backend != "openmp":
        return "GiMMiK and cuBLASLt"

    from pyfr.backends.openmp import xsmm

    try:
        xsmm.XSMMWrappers()
        return "libxsmm"
    except OSError:
        begin = xsmm.OpenMPXSMMKernels.__init__

        def with_products(self, backend):
            xsmm.XSMMWrappers = lambda: Products(backend)
            begin(self, backend)

        xsmm.OpenMPXSMMKernels.__init__ = with_products
        return "GiMMiK"


def main(s):
    import mpi4py

    mpi4py.rc.initialize = False  # PyFR must fork its compiler's process first
    from pyfr.mpiutil import init_mpi

    init_mpi()
    from pyfr._version import __version__
    from pyfr.backends import get_backend
    from pyfr.inifile import Inifile
    from pyfr.readers.native import NativeReader
    from pyfr.solvers import get_solver

    products = libraries(s["backend"])
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cube.pyfrm")
        mesh(s["cells"] // (s["degree"] + 1), s["side"], path)
        cfg = Inifile(settings(s))
        solver = get_solver(get_backend(s["backend"], cfg), NativeReader(path).mesh, None, cfg)

    energy = [kinetic(solver, s["degree"])]
    ready = time.perf_counter() - began
    solver.advance_to(s["dt"])  # kernels are made and bound at the first step
    solver.backend.wait()
    clock = time.process_time if s["backend"] == "openmp" else time.perf_counter

    seconds, steps = [], []
    for t in s["times"]:
        before, began = solver.nacptsteps, clock()
        solver.advance_to(t)
        solver.backend.wait()
        seconds.append(clock() - began)
        steps.append(solver.nacptsteps - before)
        energy.append(kinetic(solver, s["degree"]))
        if not np.isfinite(energy[-1]):
            break

    return {
        "version": __version__,
        "products": products,
        "stages": STAGES[s["scheme"]],
        "kinetic": energy,
        "seconds": seconds,
        "steps": steps,
        "set_up": ready,
    }


if __name__ == "__main__":
    answer = main(json.loads(sys.argv[1]))
    with contextlib.suppress(BrokenPipeError):
        print(json.dumps(answer), flush=True)
