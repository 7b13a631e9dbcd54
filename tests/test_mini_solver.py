"""The mini solver as a user meets it: the quick checks, ranks, restarts, signals, output, wrong cases. Two to three
minutes, half of it ranks and compiling.

What its checks measure is in examples/mini_solver/verify/; there each has its own exact solution and bound.
"""

import copy
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree as xml

import numpy as np
import pytest
from mixtures_for_tests import ROOT

from examples.mini_solver import output, verify
from examples.mini_solver.__main__ import main
from examples.mini_solver.case import Case, Expression
from examples.mini_solver.errors import CaseError, FlowError
from examples.mini_solver.flow import Flow
from examples.mini_solver.grid import Line
from examples.mini_solver.ranks import choose_grid, share
from examples.mini_solver.run import Run
from examples.mini_solver.verify import axis, tools
from kernels.errors import FrameError

CASES = sorted((ROOT / "examples/mini_solver/cases").glob("*.toml"))
h5py = pytest.importorskip("h5py")

SMALL = """
[mixture]
file = "examples/mixtures/ch4_o2.yaml"
species = ["CH4", "O2"]
[domain]
cells = [19, 14, 9]
upper = [2e-3, 1e-3, 1e-3]
[initial]
p = 100e5
X = {{O2 = "0.5*(1 - tanh((y - 0.5e-3 + 5e-5*sin(2*pi*x/2e-3))/1e-4))", CH4 = "rest"}}
T = "120 + 90*(1 + tanh((y - 0.5e-3)/1e-4))"
u = "30*tanh((y - 0.5e-3)/1e-4)"
w = "0.3*sin(2*pi*z/1e-3)"
[boundary]
y_low = {{kind = "wall", T = 130.0}}
y_high = {{kind = "outlet", p = 100e5}}
[numerics]
viscous = true
scheme = "{scheme}"
[time]
steps = {steps}
[output]
report = 2
restart = {restart}
averages = 1
history = 1
"""


def small(tmp_path, steps=4, restart=2, scheme="double_flux"):
    path = tmp_path / f"small-{scheme}-{steps}.toml"
    path.write_text(SMALL.format(steps=steps, restart=restart, scheme=scheme))
    return path


def command(*arguments, ranks=0, **more):
    """Environment and words of a run in a process of its own."""
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "FRAME_BACKEND": "cpu",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
        "OMPI_MCA_odls_base_sigkill_timeout": "8",  # seconds from a signal to SIGTERM, and from there to SIGKILL
        **more,
    }
    launcher = ["mpirun", "-n", str(ranks)] if ranks else []
    return [*launcher, sys.executable, "-m", "examples.mini_solver", *map(str, arguments)], env


def run(*arguments, ranks=0, **more):
    words, env = command(*arguments, ranks=ranks, **more)
    return subprocess.run(words, env=env, cwd=ROOT, capture_output=True, text=True, timeout=120)


def restart_of(folder):
    with h5py.File(folder / "restart.h5") as file:
        return {k: values[:] for k, values in file.items()} | {k: file.attrs[k] for k in ("time", "steps", "dt")}


def same(a, b):
    return all(np.array_equal(a[k], b[k]) for k in a)


# ---------------------------------------------------------------- physics


@pytest.mark.parametrize("name", sorted(verify.CHECKS))
def test_quick_check(name):
    rows = verify.run(name, quick=True)
    assert rows and not [
        f"{what}: {value:.3e}, bound {bound:.3g}" for what, value, bound, _, passed in rows if not passed
    ]


def test_rates_of_change_around_an_axis(monkeypatch):
    """The part of the check `axisymmetric` that make test keeps."""
    monkeypatch.setitem(verify.CHECKS, "rates", lambda quick, pictures: axis.rates(quick))
    rows = verify.run("rates", quick=True)
    assert len(rows) == 2 and all(passed for *_, passed in rows), rows


def test_blocks_and_grids():
    assert [share(11, 3, k) for k in range(3)] == [(0, 4), (4, 4), (8, 3)]
    assert choose_grid(4, (64, 64, 1), 2) in ((2, 2, 1), (1, 4, 1), (4, 1, 1))
    assert int(np.prod(choose_grid(12, (100, 20, 30), 3))) == 12
    with pytest.raises(CaseError, match="fewer than 3 cells"):
        choose_grid(7, (16, 1, 1), 1)
    with pytest.raises(CaseError, match="makes 6 ranks; the run has 4"):
        choose_grid(4, (64, 64, 1), 2, (2, 3))


def test_order_four_and_the_other_runge_kutta():
    """Both are options; the vortex with them stays the vortex, at the lower order's error."""
    W, U = 0.028, (8.314462618 * 300 / 0.028) ** 0.5
    r0 = 1e5 * W / (8.31446261815324 * 300)
    tail = "(1 - 0.4*25/(8*1.4*pi**2)*exp(1 - x**2 - y**2))"
    errors = {}
    for order in (4, 6):
        f = verify.flow_of(
            [64, 64],
            [-10.0] * 2,
            [10.0] * 2,
            dict(
                rho=f"{r0}*{tail}**2.5",
                p=f"1e5*{tail}**3.5",
                u=f"{U}*(1 - 5/(2*pi)*exp((1 - x**2 - y**2)/2)*y)",
                v=f"{U}*(1 + 5/(2*pi)*exp((1 - x**2 - y**2)/2)*x)",
            ),
            1 / U,
            mixture={"ideal_gas": {"gamma": 1.4, "W": W}},
            dissipation="none",
            order=order,
            runge_kutta="ssp43",
            cfl=0.9,
        )
        verify.advance(f, 1 / U)
        x, y, _ = f.coordinates()
        exact = (1 - 0.4 * 25 / (8 * 1.4 * np.pi**2) * np.exp(1 - (x - 1) ** 2 - (y - 1) ** 2)) ** 2.5
        errors[order] = float(np.abs(f.field("rho") / r0 - exact).mean())
    assert errors[6] < 3e-5 and errors[6] < errors[4] / 3 < 1e-3


@pytest.mark.parametrize("scheme", ["double_flux", "apec"])
def test_walls_let_nothing_through(scheme):
    """A viscous swirl of CH4 and O2 between an isothermal, a moving and two slip walls: mass of each species to
    rounding."""
    f = verify.flow_of(
        [20, 16],
        [0.0] * 2,
        [1e-5] * 2,
        dict(
            T="220 + 60*sin(6e5*x)*cos(3e5*y)",
            p=1e7,
            u="20*sin(4e5*y)",
            v="15*cos(5e5*x)",
            X={"O2": "0.5 + 0.4*sin(5e5*x + 4e5*y)", "CH4": "rest"},
        ),
        1e-9,
        mixture={"file": verify.CH4_O2, "species": ["CH4", "O2"]},
        boundary={
            "x": "slip_wall",
            "y_low": {"kind": "wall", "T": 150.0},
            "y_high": {"kind": "wall", "velocity": [10.0, 0, 0]},
        },
        viscous=True,
        scheme=scheme,
    )
    start = f.sums()
    for _ in range(60):
        f.step()
    assert (
        np.abs(f.sums()[:2] / start[:2] - 1).max() < 60 * 16 * np.finfo(float).eps
    )  # a rounding or so of each sum a stage
    assert np.abs(f.sums()[-2] - start[-2]) / start[-1] > 1e-6  # heat does pass the cold wall


def advected(limiter, **how):
    """Sharp O2 in H2-free CH4, carried over a coarse grid by the central flux alone: it rings."""
    edge = "where(abs(x - 0.5) < 0.2, 1.0, 0.0)"
    case = dict(p=1e7, u=60, T=f"300 - 150*{edge}", X={"O2": edge, "CH4": "rest"})
    mixture = {"file": verify.CH4_O2, "species": ["CH4", "O2"]}
    return verify.flow_of([32], [0.0], [1.0], case, 1e-3, mixture=mixture, limiter=limiter, **how)


GAP = dict(viscous=True, mu=1e-3, lam=0.1)  # dense N2 in a gap of 1 um


def test_an_adiabatic_wall_keeps_the_heat_of_friction():
    """Couette flow between a wall at 300 K and one that moves and is adiabatic: T = 300 K + mu V^2/lam (s - s^2/2) is
    steady, 18 K at the latter. It starts there and has a third of the gap's thermal time to leave it."""
    H, N, V = 1e-6, 10, 60.0
    rise = 1e-3 * V * V / 0.1
    start = dict(p=5e6, v=f"{V / H!r}*x", T=f"300 + {rise}*(x/{H} - (x/{H})**2/2)")
    walls = {"x_low": {"kind": "wall", "T": 300.0}, "x_high": {"kind": "wall", "velocity": [0, V, 0]}}
    f = verify.flow_of([N], [0.0], [H], start, 1.0, boundary=walls, **GAP)
    verify.advance(f, 0.33 * H * H * float(f.field("cv_vol").mean()) / 0.1)
    s, T = (np.arange(N) + 0.5) / N, f.field("T")[0, 0]
    # walls are of second order: rise/(8 N^2), which is what a parabola differs by from its chord over a cell
    assert np.abs(T - 300 - rise * (s - s * s / 2)).max() < rise / (8 * N * N)
    assert np.abs(f.field("v")[0, 0] / V - s).max() < 2e-3


def test_a_wall_that_swings_in_its_plane():
    """Stokes' second problem, u = U cos(w t - k y) exp(-k y) with k^2 = w rho/(2 mu): a wall's formula of t."""
    H, N, U, k = 1e-6, 36, 2.0, 6e6
    start, far = dict(p=5e6, T=300, v=f"{U}*exp(-{k}*x)*cos({k}*x)"), "slip_wall"
    rho = float(tools.nitrogen_of_layer("rho", 300.0)["rho"])
    w = 2 * k * k * 1e-3 / rho
    walls = {"x_low": {"kind": "wall", "velocity": [0, f"{U}*cos({w!r}*t)", 0]}, "x_high": far}
    f = verify.flow_of([N], [0.0], [H], start, 1.0, boundary=walls, **GAP)
    verify.advance(f, 1.5 / w)
    x = (np.arange(N) + 0.5) * H / N
    exact = U * np.cos(1.5 - k * x) * np.exp(-k * x)
    # walls are of second order: 0.033, 0.0091, 0.0024 of U with 18, 36, 72 cells; the formula lags by half a step
    assert np.abs(f.field("v")[0, 0] - exact).max() < U * (0.5 * (k * H / N) ** 2 + 0.5 * w * f.dt)


def test_a_wall_whose_temperature_swings():
    """A heat wave T - T0 = A cos(w t - k y) exp(-k y), k^2 = w rho cp/(2 lam), of an isothermal wall's formula of t.
    The other side is open and holds the pressure."""
    H, N, k = 1e-6, 18, 6e6
    q = tools.nitrogen_of_layer("rho cp", 300.0)
    w = 2 * k * k * 0.1 / (q["rho"] * q["cp"])
    start = dict(p=5e6, T=f"300 + exp(-{k}*x)*cos({k}*x)")
    sides = {"x_low": {"kind": "wall", "T": f"300 + cos({w!r}*t)"}, "x_high": {"kind": "outlet", "p": 5e6}}
    sides["x_high"]["length"] = H / 20
    f = verify.flow_of([N], [0.0], [H], start, 1.0, boundary=sides, **GAP)
    verify.advance(f, 1.5 / w)
    x = (np.arange(N) + 0.5) * H / N
    exact = 300 + np.cos(1.5 - k * x) * np.exp(-k * x)
    # a mirrored value is off by dx^2 T''/8 at the wall, T'' = 2 k^2; 0.014, 0.004 K with 18, 36 cells
    assert np.abs(f.field("T")[0, 0] - exact).max() < (k * H / N) ** 2 / 4


@pytest.mark.parametrize("how", [{}, {"runge_kutta": "ssp43", "cfl": 1.2}, {"viscous": True, "D": 1e-3, "mu": 1e-5}])
def test_species_stay_within_0_and_1(how):
    """Without dissipation and limiter they do not; with the limiter mass is kept and p and u stay uniform, too."""
    f = advected(False, dissipation="none", **how)
    with pytest.raises(FlowError):
        for _ in range(60):
            f.step()
    f, extremes = advected(True, dissipation="none", **how), []
    start = f.sums()
    for _ in range(60):
        f.step()
        Y = np.stack([f.field(f"Y_{n}") for n in f.mixture.names])
        extremes.append((Y.min(), Y.max() - 1))
    assert np.min(extremes, 0)[0] >= -1e-15 and np.max(extremes, 0)[1] <= 4e-15
    assert np.abs(f.sums()[:2] / start[:2] - 1).max() < 60 * 12 * np.finfo(float).eps  # a rounding of each sum a stage
    if "viscous" not in how:
        assert np.abs(f.field("p") / 1e7 - 1).max() < 1e-11 and np.abs(f.field("u") / 60 - 1).max() < 1e-11


def test_bounds_hold_around_an_axis():
    """Sharp liquid O2 in a closed can, driven to and from its axis by the central flux until its pressure is next to
    nothing: Y stays within 0 and 1, and no mass is lost."""
    edge = "where(hypot(x - 0.5, y) < 0.25, 1.0, 0.0)"
    f = verify.flow_of(
        [24, 16],
        [0.0] * 2,
        [1.0, 0.6],
        dict(p=1e7, u="80*sin(2*pi*x)", v="-60*sin(pi*y/0.6)", T=f"300 - 150*{edge}", X={"O2": edge, "CH4": "rest"}),
        1.0,
        mixture={"file": verify.CH4_O2, "species": ["CH4", "O2"]},
        boundary={"x": "slip_wall", "y": "slip_wall"},
        dissipation="none",
        axisymmetric=True,
        stretch={"y": "s + 0.2*s*s"},
    )
    start, low, high = f.sums(), 0.0, 0.0
    for _ in range(80):
        f.step()
        Y = np.stack([f.field(f"Y_{n}") for n in f.mixture.names])
        low, high = min(low, Y.min()), max(high, Y.max() - 1)
    assert low >= -1e-15 and high <= 4e-15 and f.field("p").min() > 0
    assert np.abs(f.sums()[:2] / start[:2] - 1).max() < 80 * 12 * np.finfo(float).eps
    ring = np.pi * 0.6**2
    assert f.block.measure([0, 1]).sum() == pytest.approx(ring, rel=1e-14)


def test_the_limiter_leaves_smooth_flow_alone():
    """Smooth species far from their bounds, a wave of sound: the same bits with and without it."""
    states = []
    for limiter in (True, False):
        f = verify.flow_of(
            [48, 48],
            [0.0] * 2,
            [1.0, 0.5],
            dict(
                p="1e7*(1 + 1e-3*sin(2*pi*x))",
                u=60,
                v=10,
                T="250 + 10*sin(2*pi*x)*cos(4*pi*y)",
                X={"O2": "0.5 + 0.2*sin(2*pi*x + 4*pi*y)", "CH4": "rest"},
            ),
            1e-3,
            mixture={"file": verify.CH4_O2, "species": ["CH4", "O2"]},
            limiter=limiter,
        )
        for _ in range(30):
            f.step()
        states.append(f.state())
    assert same(*states)


@pytest.mark.parametrize("scheme", ["double_flux", "apec"])
def test_an_inlet_with_sigma_comes_to_its_velocity_as_its_relaxation_says(scheme):
    """u - u_given = (u_0 - u_given) exp(-K t), K = sigma c (1 - M^2)/(2 length), while no wave comes back."""
    inlet = {"kind": "inlet", "T": 300, "velocity": [33, 7, 0], "sigma": 0.27, "length": 0.1}
    start, sides = dict(T=300, p=5e6, u=30), {"x_low": inlet, "x_high": {"kind": "outlet", "p": 5e6}}
    f = verify.flow_of([60], [0.0], [1.0], start, 1.0, scheme=scheme, boundary=sides)
    c, rho = f.field("mach").mean(), f.field("rho").mean()
    c = 30 / c
    for end in (0.25, 0.5, 1.0):
        verify.advance(f, end / c)
        u, p = f.field("u")[0, 0, 0], f.field("p")[0, 0, 0]
        left = np.exp(-0.135 * c * (1 - (u / c) ** 2) / 0.1 * f.time)
        assert (33 - u) / 3 == pytest.approx(left, abs=2e-3)  # a cell of 60 is crossed in 2 % of the time 1/K
        assert p - 5e6 == pytest.approx(rho * c * (u - 30), rel=1e-2)  # a wave that goes in; M changes by 0.9 %
    assert f.field("v")[0, 0, 0] == pytest.approx(7, rel=2e-2)  # 5.5 cells have come in: exp(-5.5) is left


def test_what_comes_in_by_an_inlet_with_sigma():
    """Cold oxygen behind warm methane: p and u stay uniform, temperatures between the two, balances close."""
    inlet = {"kind": "inlet", "T": 160, "velocity": [50, 0, 0], "X": {"O2": 0.9, "CH4": 0.1}, "sigma": 0.27}
    sides = {"x_low": inlet, "x_high": {"kind": "outlet", "p": 1e7}}
    start = dict(p=1e7, T=300, u=50, X={"CH4": 1})
    f = verify.flow_of([60], [0.0], [1.0], start, 1.0, mixture=tools.OXYGEN_METHANE, boundary=sides)
    before, T = f.sums(), []
    verify.advance(f, 0.2 / 50, lambda f: T.append([f.field("T").min(), f.field("T").max()]))
    assert np.abs(f.field("p") / 1e7 - 1).max() < 1e-11 and np.abs(f.field("u") / 50 - 1).max() < 1e-11
    assert 159 < np.min(T) and np.max(T) < 301
    Y = 0.9 * f.mixture.species.W[1] / (f.mixture.species.W @ [0.1, 0.9])
    assert np.abs(f.field("Y_O2")[0, 0, :3] / Y - 1).max() < 1e-3 and abs(f.field("T")[0, 0, 0] - 160) < 0.1
    changed = f.sums()[:3] - before[:3] - f.balance.passed()[:3]
    assert np.abs(changed[:2]).max() < 1e-13 * before[:2].sum() and abs(changed[2]) < 1e-13 * 1e7 * f.time


def test_several_boundaries_on_a_side_and_what_they_let_in():
    """An injector in a faceplate, opening with time: exactly what it is given enters."""
    inlet = dict(
        kind="inlet", where="abs(y - 0.5) < 0.25", T=300, X={"O2": 1}, velocity=["20*minimum(t/1e-4, 1)", 0, 0]
    )
    f = verify.flow_of(
        [16, 16],
        [0.0] * 2,
        [1.0] * 2,
        dict(T=300, p=1e7, X={"CH4": 1}),
        1.0,
        mixture={"file": verify.CH4_O2, "species": ["CH4", "O2"]},
        boundary={"x_low": [inlet, "wall"], "x_high": {"kind": "outlet", "p": 1e7}, "y": "slip_wall"},
    )
    start, entered, rho = f.sums(), 0.0, None
    for _ in range(40):
        rho = f.mixture.properties("rho", T=np.array([300.0]), p=1e7, Y=np.array([[0.0], [1.0]]))["rho"][0]
        entered += f.step() * 20 * min((f.time - f.dt) / 1e-4, 1)  # formulas of t are held over a step
    changed, passed = f.sums()[:6] - start[:6], f.balance.passed()[:6]
    assert abs(changed[1] / passed[1] - 1) < 1e-12
    assert f.field("Y_O2")[0, 8, 0] > 0.3 and f.field("Y_O2")[0, :2].max() < 1e-3  # beside the faceplate next to none
    assert passed[1] == pytest.approx(0.5 * rho * entered, rel=6e-2)  # the density follows the pressure inside
    assert np.abs(changed[2:4] - passed[2:4]).max() < 1e-12 * np.abs(passed[2:4]).max()


@pytest.mark.parametrize("periodic", [True, False])
def test_a_line_of_cells(periodic):
    """Widths add up to the domain; what is linear in x has the right slope in every cell, at walls too."""
    line = Line(1.0, 3.0, 12, lambda s: s + 0.1 * np.sin(2 * np.pi * s), periodic)
    number = np.arange(-3, 15)
    x, inner = line.centres(number), np.arange(12)
    assert (np.diff(x) > 0).all() and line.widths(inner).sum() == pytest.approx(2, rel=1e-15)
    assert line.faces()[0] == 1 and line.faces()[-1] == 3 and (np.diff(line.faces()) > 0).all()
    assert [line.cell(v) for v in line.centres(inner)] == list(inner) and line.cell(3.0) == 11
    mirrored = x[15:][::-1] - 2 if periodic else 2 - x[3:6][::-1]
    assert np.allclose(x[:3], x[12:15] - 2 if periodic else mirrored, rtol=0, atol=1e-14)
    even = Line(1.0, 3.0, 12)
    assert np.array_equal(even.centres(inner), 1 + (inner + 0.5) * even.dx) and even.widths(inner).max() == even.dx


def test_fields_and_balances_of_a_stretched_grid(tmp_path):
    """Corners of the cells, probes, integrals; a swirl between walls keeps its mass."""
    stretch = {"x": "tanh(2*s - 1)", "y": "exp(s)"}
    data = dict(
        mixture={"file": "examples/mixtures/n2.yaml"},
        domain=dict(cells=[14, 10], upper=[1.0, 0.5], stretch=stretch),
        initial=dict(T="300 + 20*x", p=5e6, u="40*y", v=0),
        boundary={"x": "slip_wall", "y": "wall"},
        time={"steps": 20},
        output=dict(fields=20, history=20, frames=20, frame=["T"], probes=[[0.9, 0.01]], precision="double"),
    )
    run = Run(Case(data), folder=tmp_path, out=io.StringIO())
    f = run.flow
    assert run() == 0
    widths = [line.widths(np.arange(line.count)) for line in f.case.lines[:2]]
    x, y, rho = f.coordinates()[0].ravel(), f.coordinates()[1].ravel(), None
    with h5py.File(tmp_path / "history.h5") as file, h5py.File(tmp_path / "fields-00000000.h5") as first:
        rho, T = (first[n][:].reshape(10, 14) for n in ("rho", "T"))
        assert np.abs(T / (300 + 20 * x) - 1).max() < 1e-12
        assert file["mass"][0, 0] == pytest.approx(widths[1] @ rho @ widths[0], rel=1e-14)
        assert file["mass"][1, 0] == pytest.approx(file["mass"][0, 0], rel=1e-14)
        motion = widths[1] @ (rho * (40 * y[:, None]) ** 2 / 2) @ widths[0]
        assert file["kinetic_energy"][0] == pytest.approx(motion, rel=1e-12)
        inside = abs(x - 0.9).argmin(), abs(y - 0.01).argmin()
        assert f.case.lines[0].cell(0.9) == inside[0] and file["probe_T"][0, 0] == T[inside[1], inside[0]]
    with h5py.File(tmp_path / "mesh.h5") as file:
        corners = next(v[:] for v in file.values() if v.ndim == 2 and v.shape[1] in (2, 3) and v.dtype.kind == "f")
    assert np.allclose(np.unique(corners[:, 0]), f.case.lines[0].faces())
    assert np.allclose(np.unique(corners[:, 1]), f.case.lines[1].faces())


def test_misuse_of_boundaries_and_schemes_is_told(tmp_path):
    def lines(**data):
        out = io.StringIO()
        base = dict(mixture={"file": "examples/mixtures/n2.yaml"}, time={"steps": 3}, output={"report": 1})
        assert Run(Case(base | data), folder=tmp_path, out=out)() == 0
        return out.getvalue()

    wrong = lines(
        domain=dict(cells=[16], upper=[1.0]),
        initial=dict(T=300, p=5e6, u=30),
        boundary={"x": "supersonic_outlet"},
    )
    assert (
        "warning: [boundary] x_low: flow enters through 1 faces of a supersonic outlet" in wrong
        and "x_high" not in wrong
    )
    tube = dict(rho="where(x < 0.5, 800.0, 80.0)", p="where(x < 0.5, 60e6, 6e6)")
    apec = dict(scheme="apec", dissipation="always")
    closed = dict(domain=dict(cells=[40], upper=[1.0]), boundary={"x": "slip_wall"})
    assert "warning: rho c^2/p changes by a factor of" in lines(initial=tube, numerics=apec, **closed)
    assert "warning" not in lines(initial=tube, **closed)
    assert "warning" not in lines(initial=dict(T="300 - 5*sin(2*pi*x)", p=5e6), numerics=apec, **closed)


# ---------------------------------------------------------------- ranks, restarts, signals


def waves(scheme, queue=1):
    """A smooth viscous flow of CH4 and O2 between walls, with formulas that take no time."""
    case = dict(T="250 + 60*sin(6e5*x)", p="1e7*(1 + 0.05*sin(6e5*x))", u=20, v="5*cos(6e5*x)")
    case["X"] = {"O2": 0.5, "CH4": 0.5}
    f = verify.flow_of(
        [12, 8],
        [0.0] * 2,
        [1e-5] * 2,
        case,
        1e-9,
        mixture={"file": verify.CH4_O2, "species": ["CH4", "O2"]},
        boundary={"y_low": {"kind": "wall", "T": 200.0}, "y_high": {"kind": "outlet", "p": 1e7}},
        viscous=True,
        scheme=scheme,
    )
    f.queue = queue
    return f


@pytest.mark.parametrize("scheme", ["double_flux", "apec"])
def test_any_number_of_queued_steps_gives_the_same_bits(scheme):
    """Steps that are queued beyond the time asked for change nothing: neither fields nor balances."""
    ends = [1.3e-9, 1.31e-9, 2.9e-9]
    alone = waves(scheme)
    for end in ends:
        while alone.time < end * (1 - 1e-12):
            alone.step(end - alone.time)
    for queue in (3, 50):
        f, calls = waves(scheme, queue), []
        for end in ends:
            while f.time < end * (1 - 1e-12):
                calls.append(f.advance(queue, end, end * (1 - 1e-12)))
        assert (f.time, f.steps, f.dt, f.cfl) == (alone.time, alone.steps, alone.dt, alone.cfl)
        assert same(alone.state(), f.state()) and np.array_equal(alone.balance.passed(), f.balance.passed())
        assert sum(calls) == f.steps and min(calls) < queue  # some of them had steps to spare
    assert f.steps > 5


def test_a_run_that_queues_steps_writes_the_same_files(tmp_path):
    for queue in (1, 5):
        case = Case.from_file(small(tmp_path, steps=9, restart=4))
        case.parallel["queue"], case.output["fields_time"], case.output["history"] = queue, 5e-8, 2
        assert Run(case, folder=tmp_path / str(queue), out=io.StringIO())() == 0
    one, five = (tmp_path / str(queue) for queue in (1, 5))
    assert same(restart_of(one), restart_of(five))
    names = [sorted(p.name for p in folder.iterdir()) for folder in (one, five)]
    assert names[0] == names[1] and sum(n.startswith("fields-") for n in names[0]) > 3
    for name in (n for n in names[0] if n.endswith(".h5")):
        with h5py.File(one / name) as a, h5py.File(five / name) as b:
            assert all(np.array_equal(a[key][()], b[key][()]) for key in a), name


@pytest.mark.parametrize("scheme", ["double_flux", "apec"])
def test_a_flow_that_fails_among_queued_steps_stays_there(scheme):
    """What is told of it, time and number of the step included, is what steps one by one tell."""
    told, states = [], []
    for queue in (1, 20):
        f = waves(scheme, queue)
        f.take(2)
        state = f.state()
        state["U"][f.ns][0, 4, 7] *= 4e3  # its velocity becomes 80 km/s
        state["Q"][0][0, 4, 7] *= 4e3
        f.set_state(state["U"], state["Q"])
        with pytest.raises(FlowError, match="it began there") as caught:
            f.take(20)
        told.append(str(caught.value))
        states.append((f.time, f.steps))
    assert told[0] == told[1] and states[0] == states[1] and 2 < f.steps < 10


@pytest.mark.skipif(not shutil.which("mpirun"), reason="needs mpirun")
@pytest.mark.parametrize("scheme, numbers", [("double_flux", ()), ("double_flux", (2, 4)), ("apec", (2, 3))])
def test_the_same_bits_on_any_number_of_ranks_and_across_restarts(tmp_path, scheme, numbers):
    """Files of several ranks hold what those of one do: rank 0 writes them, or all ranks together where h5py has
    parallel HDF5. Two ranks go half the way and three the rest; each of `numbers` goes all of it."""
    pytest.importorskip("mpi4py")
    case = small(tmp_path, scheme=scheme)
    case.write_text(case.read_text() + "fields = 2\n")
    assert main([str(case), "--folder", str(tmp_path / "one")]) == 0
    one = restart_of(tmp_path / "one")
    names = [path.name for path in (tmp_path / "one").glob("*.h5") if path.name != "history.h5"]  # which has sums
    assert {"averages.h5", "fields-00000002.h5", "restart.h5"} < set(names)
    half = tmp_path / "half.toml"
    half.write_text(case.read_text().replace("steps = 4", "steps = 2"))
    assert run(half, "--folder", tmp_path / "half", ranks=2).returncode == 0
    whole = [("rest", 3, ("--restart", tmp_path / "half/restart.h5")), *((f"r{n}", n, ()) for n in numbers)]
    for folder, ranks, words in whole:
        done = run(case, "--folder", tmp_path / folder, *words, ranks=ranks)
        assert done.returncode == 0, done.stderr
        for name in names:
            here = tmp_path / folder / name
            if words and not here.exists():  # written on the first half of the way
                here = tmp_path / "half" / name
            with h5py.File(tmp_path / "one" / name) as a, h5py.File(here) as b:
                assert list(a) == list(b) and all(a[k].dtype == b[k].dtype for k in a)
                assert all(np.array_equal(a[k][:], b[k][:]) for k in a), f"{ranks} ranks: {name}"
        assert same(one, restart_of(tmp_path / folder))


AROUND = """
[mixture]
file = "examples/mixtures/ch4_o2.yaml"
species = ["CH4", "O2"]
[domain]
cells = [20, 18]
upper = [2e-3, 1e-3]
axisymmetric = true
stretch = {y = "s + 0.3*s*s"}
[initial]
p = 100e5
T = 300.0
X = {CH4 = 1.0}
[[boundary.x_low]]
kind = "inlet"
where = "y < 0.25e-3"
velocity = ["30*minimum(t/1e-6, 1)", 0, 0]
T = 120.0
Y = {O2 = 1.0}
[[boundary.x_low]]
kind = "wall"
[boundary.x_high]
kind = "outlet"
p = 100e5
[boundary.y_low]
kind = "slip_wall"
[boundary.y_high]
kind = "wall"
T = 400.0
[numerics]
viscous = true
[time]
steps = 40
[output]
report = 20
restart = 40
"""


@pytest.mark.skipif(not shutil.which("mpirun"), reason="needs mpirun")
@pytest.mark.parametrize("what", ["shipped", "around an axis"])
def test_a_jet_has_the_same_bits_on_several_ranks(tmp_path, what):
    """Several boundaries on a side, formulas of t, limited cells at the ranks' sides, a stretched grid; so have its
    balances."""
    pytest.importorskip("mpi4py")
    if what == "shipped":
        case, ranks = ROOT / "examples/mini_solver/cases/lox_h2_jet.toml", [3, 1]
        changes = ["domain.cells=[24, 16]", "time.steps=30", "output.restart=30", "output.frames_time=1.0"]
        changes.append('domain.stretch={x="exp(s)"}')
    else:
        case, ranks, changes = tmp_path / "jet.toml", [2, 2], []
        case.write_text(AROUND)
    words = [case, *(w for c in changes for w in ("--set", c))]
    assert main([*map(str, words), "--folder", str(tmp_path / "one")]) == 0
    done = run(*words, "--folder", tmp_path / "many", "--set", f"parallel.ranks={ranks}", ranks=int(np.prod(ranks)))
    assert done.returncode == 0, done.stderr
    assert same(*(restart_of(tmp_path / name) for name in ("one", "many")))
    a, b = (h5py.File(tmp_path / name / "restart.h5").attrs["passed"] for name in ("one", "many"))
    assert np.abs(a - b).max() <= 1e-14 * np.abs(a).max()  # sums over the faces, in another order


@pytest.mark.parametrize("number, ranks", [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGINT, 2)])
def test_a_signal_leaves_a_restart_that_continues(tmp_path, number, ranks):
    if ranks and not shutil.which("mpirun"):
        pytest.skip("needs mpirun")
    text = SMALL.format(steps=5000, restart=0, scheme="double_flux")
    (tmp_path / "long.toml").write_text(text)
    words, env = command(tmp_path / "long.toml", "--folder", tmp_path / "long", ranks=ranks)
    process = subprocess.Popen(words, env=env, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = []
    while len(lines) < 12:  # it is stepping
        lines.append(process.stdout.readline())
        assert lines[-1], process.stderr.read()
    process.send_signal(number)
    rest, errors = process.communicate(timeout=60)
    assert process.returncode == (1 if ranks else 3) and "continue with --restart" in rest, errors  # 1: mpirun's own
    stopped = restart_of(tmp_path / "long")
    steps = int(stopped["steps"]) + 1
    (tmp_path / "more.toml").write_text(SMALL.format(steps=steps, restart=1, scheme="double_flux"))
    assert (
        main(
            [
                str(tmp_path / "more.toml"),
                "--folder",
                str(tmp_path / "a"),
                "--restart",
                str(tmp_path / "long/restart.h5"),
            ]
        )
        == 0
    )
    assert main([str(tmp_path / "more.toml"), "--folder", str(tmp_path / "b")]) == 0
    assert same(restart_of(tmp_path / "a"), restart_of(tmp_path / "b"))


@pytest.mark.skipif(not shutil.which("mpirun"), reason="needs mpirun")
def test_a_rank_that_fails_ends_the_run_and_leaves_the_last_restart(tmp_path):
    pytest.importorskip("mpi4py")
    case = small(tmp_path, steps=6)
    done = broken(
        tmp_path,
        (case, "--folder", tmp_path / "out"),
        """
advance = flow.Flow.advance
def tired(self, *given, **how):
    if self.steps == 3 and self.ranks.rank == 1:
        raise RuntimeError("this rank has had enough")
    return advance(self, *given, **how)
flow.Flow.advance = tired""",
        2,
    )
    assert done.returncode != 0 and "had enough" in done.stderr
    assert restart_of(tmp_path / "out")["steps"] == 2
    assert main([str(case), "--folder", str(tmp_path / "on"), "--restart", str(tmp_path / "out/restart.h5")]) == 0
    assert main([str(case), "--folder", str(tmp_path / "whole")]) == 0
    assert same(restart_of(tmp_path / "on"), restart_of(tmp_path / "whole"))


def test_a_restart_of_another_case_is_refused(tmp_path, capsys):
    assert main([str(small(tmp_path)), "--folder", str(tmp_path / "a")]) == 0
    other = tmp_path / "other.toml"
    for old, new, told in (
        ("cells = [19, 14, 9]", "cells = [19, 14, 8]", "cells"),
        ('["CH4", "O2"]', '["O2", "CH4"]', "species"),
        ("viscous = true", "viscous = false", "case"),
    ):
        other.write_text(SMALL.format(steps=4, restart=0, scheme="double_flux").replace(old, new))
        assert main([str(other), "--folder", str(tmp_path / "b"), "--restart", str(tmp_path / "a/restart.h5")]) == 1
        assert told in capsys.readouterr().err
    (tmp_path / "junk.h5").write_bytes(b"not HDF5")
    assert main([str(small(tmp_path)), "--restart", str(tmp_path / "junk.h5"), "--folder", str(tmp_path / "c")]) == 1
    assert "cannot be read" in capsys.readouterr().err


def broken(tmp_path, case, text, ranks):
    """Run the solver on a case after `text` has changed something in it."""
    (tmp_path / "break.py").write_text(
        "import sys\nfrom examples.mini_solver import flow, scaling, __main__\n"
        + text
        + "\nsys.exit(__main__.main(sys.argv[1:]))\n"
    )
    words, env = command(*case, ranks=ranks)
    words = [*words[: words.index("-m")], str(tmp_path / "break.py"), *words[words.index("-m") + 2 :]]
    return subprocess.run(words, env=env, cwd=ROOT, capture_output=True, text=True, timeout=120)


@pytest.mark.skipif(not shutil.which("mpirun"), reason="needs mpirun")
def test_scaling_measures_and_compares_bits(tmp_path):
    pytest.importorskip("mpi4py")
    done = run("scaling", "--cells", 9, "--steps", 2, "--json", tmp_path / "rows.json", ranks=3)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert [(r["kind"], r["ranks"]) for r in rows] == [(k, n) for k in ("strong", "weak") for n in (1, 2, 3)]
    strong, weak = rows[:3], rows[3:]
    assert {tuple(r["cells"]) for r in strong} == {(9, 9, 9)} and [int(np.prod(r["cells"])) for r in weak] == [
        729,
        1458,
        2187,
    ]
    assert len({r["digest"] for r in strong}) == 1 and done.stdout.count(" same") == 3
    for group in (strong, weak):
        for r in group:
            assert r["rate"] == pytest.approx(np.prod(r["cells"]) / r["step"])
            assert r["efficiency"] == pytest.approx(r["rate"] / group[0]["rate"] / r["ranks"])
            shares = [r[n] for n in ("properties", "fluxes", "exchange", "update", "rest")]
            # parts of one time; a timer holds a little of what it is read with
            assert (
                sum(shares) == pytest.approx(1)
                and min(shares) > 0
                and (r["ranks"] == 1) == (r["exchange_way"] == "none")
            )
    text = "digest = scaling.digest\nscaling.digest = lambda f: digest(f)[:-1] + str(f.ranks.size)"
    done = broken(tmp_path, ("scaling", "--cells", 8, "--steps", 1), text, 2)
    assert done.returncode != 0 and "OTHER" in done.stdout and "do NOT give the same bits" in done.stdout


def test_a_damaged_restart_is_refused_or_whole(tmp_path):
    """Bytes changed or cut off: the project's own error, or, where nothing of use was hit, the very state; never other
    numbers."""
    assert main([str(small(tmp_path, steps=2)), "--folder", str(tmp_path / "a")]) == 0
    raw, whole = (tmp_path / "a/restart.h5").read_bytes(), restart_of(tmp_path / "a")
    random, refused = np.random.default_rng(8), 0
    f = Flow(Case.from_file(small(tmp_path)))
    for n in range(200):
        damaged = bytearray(raw)
        if n % 5 == 0:
            del damaged[random.integers(len(raw)) :]
        for _ in range(random.integers(1, 5)):
            near = (
                (random.integers(len(damaged)), min(random.integers(4000), len(damaged) - 1))[n % 2]
                if damaged
                else None
            )
            if damaged:
                damaged[near] = random.integers(256)
        (tmp_path / "bad.h5").write_bytes(bytes(damaged))
        f.balance.start = f.sums()
        try:
            output.read_restart(f, tmp_path / "bad.h5")
        except CaseError as error:
            assert "bad.h5" in str(error)
            refused += 1
        else:
            state = f.state()
            assert np.array_equal(state["U"], whole["U"]) and np.array_equal(state["Q"], whole["Q"])
    assert 60 < refused < 200, refused


# ---------------------------------------------------------------- output


def test_fields_frames_and_the_report(tmp_path):
    pytest.importorskip("matplotlib")
    data = dict(
        mixture={"file": "examples/mixtures/n2.yaml"},
        domain=dict(cells=[24, 16], upper=[1.0, 0.5]),
        initial=dict(p=5e6, T="200 + 40*sin(2*pi*x)*cos(4*pi*y)", u=50, v=10),
        time={"end": 4e-4},
        output=dict(report=2, fields=4, frames_time=1e-4, frame=["rho", "T"], restart=100),
    )
    out = io.StringIO()
    assert Run(Case(data), folder=tmp_path, out=out)() == 0
    text = out.getvalue()
    lines = [line.split() for line in text.splitlines() if line[:8].strip().isdigit()]
    assert int(lines[0][0]) == 0 and float(lines[-1][1]) == pytest.approx(4e-4) and len(lines) > 3
    assert "point steps/s" in text and "flux" in text
    kept = text.split("less what came in through the sides: ")[1].splitlines()[0]
    assert [float(x) < 1e-14 for x in re.findall(r"(?:species|in [xy]) (\S+?)[, ]", kept)] == [
        True
    ] * 3 and "energy" in kept, kept
    tree = xml.parse(tmp_path / "fields.xmf")
    grids = tree.findall(".//Grid[@Name='block']")
    files = sorted(tmp_path.glob("fields-*.h5"))
    assert len(grids) == len(files) >= 2
    assert tree.getroot().get("Version") == "3.0" and grids[0].find("Topology").get("TopologyType") == "Quadrilateral"
    for grid in grids:
        for item in grid.findall(".//DataItem"):
            name, field = item.text.split(":/")
            with h5py.File(tmp_path / name) as file:
                assert file[field].shape == tuple(map(int, item.get("Dimensions").split()))
                assert np.isfinite(file[field][:]).all()
    with h5py.File(files[0]) as file:
        x = (np.arange(24) + 0.5) / 24
        y = (np.arange(16) + 0.5) / 32
        T = file["T"][:].reshape(file.attrs["cells"][::-1])
        # single precision
        assert np.allclose(T[0], 200 + 40 * np.sin(2 * np.pi * x) * np.cos(4 * np.pi * y)[:, None], rtol=1e-6)
    frames = sorted(tmp_path.glob("frame-*.png"))
    assert len(frames) == 5  # at 0, 1e-4, ..., 4e-4
    from PIL import Image

    with Image.open(tmp_path / "frames.gif") as gif:
        assert gif.n_frames == 5
    assert restart_of(tmp_path)["time"] == pytest.approx(4e-4)
    # a run that goes on adds to them; a run from the start replaces them
    data["time"]["end"] = 6e-4
    assert Run(Case(data), folder=tmp_path, out=io.StringIO(), restart=tmp_path / "restart.h5")() == 0
    assert len(list(tmp_path.glob("frame-*.png"))) == 7
    times = [float(t.get("Value")) for t in xml.parse(tmp_path / "fields.xmf").findall(".//Time")]
    assert times == sorted(set(times)) and len(times) > len(files)
    data["time"]["end"] = 1e-4
    with pytest.raises(FrameError, match="has results of an earlier run .*--restart.*--folder.*--overwrite"):
        Run(Case(data), folder=tmp_path, out=io.StringIO())
    assert len(list(tmp_path.glob("frame-*.png"))) == 7  # nothing is lost by asking
    assert Run(Case(data), folder=tmp_path, out=io.StringIO(), overwrite=True)() == 0
    assert len(list(tmp_path.glob("frame-*.png"))) == 2


def test_limits_of_pictures(tmp_path):
    """A frame has the limits of its own field; where the case fixes them below it, the map has one colour."""
    pytest.importorskip("matplotlib")
    from PIL import Image

    data = dict(
        mixture={"file": "examples/mixtures/n2.yaml"},
        domain=dict(cells=[24, 24], upper=[1.0, 1.0]),
        initial=dict(p=5e6, T="300 + 20*sin(2*pi*x)"),
        time={"steps": 1},
        output=dict(frames=10, frame=["T"]),
    )
    colours = {}
    for name, limits in (("own", {}), ("fixed", {"T": [100, 200]})):
        data["output"]["frame_limits"] = limits
        assert Run(Case(data), folder=tmp_path / name, out=io.StringIO())() == 0
        with Image.open(tmp_path / name / "frame-00000000.png") as picture:
            wide, high = picture.size
            middle = picture.convert("RGB").crop((wide // 3, high // 3, wide // 2, high * 2 // 3))
        colours[name] = {pixel for _, pixel in middle.getcolors(10**6)}
    assert len(colours["own"]) > 50 and len(colours["fixed"]) == 1


def test_a_mixture_beside_the_case_file(tmp_path, monkeypatch):
    """The file beside the case comes before one of that name in the working folder."""
    (tmp_path / "case").mkdir()
    text = (ROOT / "examples/mixtures/n2.yaml").read_text()
    (tmp_path / "case/mine.yaml").write_text(text)
    (tmp_path / "mine.yaml").write_text("nothing")
    case = '[mixture]\nfile = "mine.yaml"\n[domain]\ncells = [6]\nupper = [1.0]\n[initial]\nT = 300\np = 5e6\n'
    (tmp_path / "case/it.toml").write_text(case + "[time]\nsteps = 1\n")
    monkeypatch.chdir(tmp_path)
    assert Case.from_file("case/it.toml").make_mixture().names == ("N2",)


def sloping_field(tmp_path, cells, precision):
    """A run that leaves fields; T = 300 + 10 x + 20 y + 40 z at the start."""
    d = len(cells)
    data = dict(
        mixture={"file": "examples/mixtures/n2.yaml"},
        domain=dict(cells=cells, lower=[1.0] * d, upper=[2.0] * d),
        initial=dict(p=5e6, T="300 + 10*x" + " + 20*y" * (d > 1) + " + 40*z" * (d > 2)),
        boundary=dict.fromkeys("xyz"[:d], "slip_wall"),
        time={"steps": 1},
        output=dict(fields=1, averages=1, precision=precision),
    )
    assert Run(Case(data), folder=tmp_path, out=io.StringIO())() == 0


@pytest.mark.parametrize("cells", [[6], [6, 5], [6, 5, 4]])
def test_meshio_reads_the_fields(tmp_path, cells):
    """Each cell's value lies at the middle of its corners."""
    meshio = pytest.importorskip("meshio")
    d = len(cells)
    sloping_field(tmp_path, cells, "double")
    with meshio.xdmf.TimeSeriesReader(tmp_path / "fields.xmf") as reader:
        points, blocks = reader.read_points_cells()
        assert reader.num_steps == 2
        time, _, fields = reader.read_data(0)
    middle = points[blocks[0].data].mean(1)
    assert time == 0 and np.prod(cells) == len(middle)
    assert np.abs(fields["T"][0] - (300 + middle @ [10, 20, 40])).max() < 1e-9
    sizes = np.ptp(points[blocks[0].data], axis=1)[:, :d]
    assert np.allclose(sizes, 1 / np.array(cells))  # and not a twisted one
    with meshio.xdmf.TimeSeriesReader(tmp_path / "averages.xmf") as reader:
        reader.read_points_cells()
        assert np.abs(reader.read_data(0)[2]["mean_T"][0] - fields["T"][0]).max() < 1


@pytest.mark.parametrize("cells, precision", [([6], "single"), ([6, 5], "single"), ([6, 5, 4], "double")])
def test_vtk_reads_the_fields(tmp_path, cells, precision):
    """The reader of vtk, on which ParaView is built: times, types, values at the middle of the cells."""
    vtk_xdmf = pytest.importorskip("vtkmodules.vtkIOXdmf2")
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
    from vtkmodules.vtkFiltersCore import vtkCellCenters

    sloping_field(tmp_path, cells, precision)
    found = {}
    for name in ("fields", "averages"):
        reader = vtk_xdmf.vtkXdmfReader()
        reader.SetFileName(str(tmp_path / f"{name}.xmf"))
        reader.UpdateInformation()
        times = reader.GetOutputInformation(0).Get(vtkStreamingDemandDrivenPipeline.TIME_STEPS())
        reader.UpdateTimeStep(times[0])
        found[name] = times, reader.GetOutputDataObject(0)
    times, grid = found["fields"]
    assert len(times) == 2 and times[0] == 0 < times[1] == found["averages"][0][0]
    centres = vtkCellCenters()
    centres.SetInputData(grid)
    centres.Update()
    middle = vtk_to_numpy(centres.GetOutput().GetPoints().GetData())
    T = grid.GetCellData().GetArray("T")
    assert T.GetDataTypeAsString() == {"single": "float", "double": "double"}[precision]
    assert len(middle) == np.prod(cells)
    assert np.abs(vtk_to_numpy(T) - (300 + middle @ [10, 20, 40])).max() < 1e-9 + 400 * 1.2e-7 * (precision == "single")
    assert found["averages"][1].GetCellData().GetArray("mean_rho").GetNumberOfTuples() == len(middle)


def test_history_and_probes(tmp_path):
    """Kinetic energy and enstrophy of a Taylor-Green vortex at the start; a restart continues the rows."""
    V, k = 5.0, 2 * np.pi
    data = dict(
        mixture={"file": "examples/mixtures/n2.yaml"},
        domain=dict(cells=[48, 48], upper=[1.0, 1.0]),
        initial=dict(T=300, p=5e6, u=f"{V}*sin({k}*x)*cos({k}*y)", v=f"-{V}*cos({k}*x)*sin({k}*y)"),
        time={"steps": 4},
        output=dict(history=2, probes=[[0.25, 0.01], [0.99, 0.5]], restart=4),
    )
    run = Run(Case(data), folder=tmp_path, out=io.StringIO())
    rho = float(run.flow.field("rho").mean())
    u = run.flow.field("u")[0]
    assert run() == 0
    with h5py.File(tmp_path / "history.h5") as file:
        rows = {name: values[:] for name, values in file.items()}
    assert list(rows["step"]) == [0, 2, 4] and rows["mass"][:, 0] == pytest.approx(rho)
    assert rows["kinetic_energy"][0] == pytest.approx(rho * V * V / 4, rel=1e-12)
    assert rows["enstrophy"][0] == pytest.approx(k * k * V * V / 2, rel=2 * (k / 48) ** 2 / 6)  # second order
    assert list(rows["probe_u"][0]) == [u[0, 12], u[24, 47]]
    data["time"]["steps"] = 6
    assert Run(Case(data), folder=tmp_path, out=io.StringIO(), restart=tmp_path / "restart-before.h5")() == 0
    with h5py.File(tmp_path / "history.h5") as file:
        assert list(file["step"]) == [0, 2, 4, 6]
        assert np.array_equal(file["kinetic_energy"][:3], rows["kinetic_energy"])
    data["output"]["probes"] = [[3.0, 0.5]]
    with pytest.raises(CaseError, match="a point in the domain"):
        Run(Case(data), folder=tmp_path / "other", out=io.StringIO())


@pytest.mark.parametrize("scheme", ["double_flux", "apec"])
def test_averages_in_time(tmp_path, scheme):
    """Means, fluctuations and covariances of every second state against NumPy's over the same states; a run in two
    parts has the same bits, a later beginning leaves out what was before."""
    layer = "0.5*(1 - tanh((y - 0.5 + 0.1*sin(2*pi*x))/0.1))"
    data = dict(
        mixture={"file": verify.CH4_O2, "species": ["CH4", "O2"]},
        domain=dict(cells=[12, 10], upper=[1.0, 1.0]),
        initial=dict(T=f"300 - 100*{layer}", p=1e7, u=f"60*{layer}", w=5, X={"O2": layer, "CH4": "rest"}),
        numerics=dict(scheme=scheme),
        time={"steps": 9},
        output=dict(averages=2, restart=5, precision="double"),
    )
    run = Run(Case(data), folder=tmp_path, out=io.StringIO())
    names, states, flow = ["rho", "u", "v", "p", "T", "Y_CH4", "Y_O2"], [], run.flow
    add = flow.averages.add
    flow.averages.add = lambda: (states.append((flow.time, [flow.field(n) for n in names])), add())
    assert run() == 0 and len(states) == 4
    weights = np.diff([0.0, *(time for time, _ in states)])
    weights /= weights.sum()
    q = dict(zip(names, np.moveaxis([fields for _, fields in states], 1, 0)))
    over = lambda values: np.tensordot(weights, values, 1)
    mean = {n: over(q[n]) for n in names}
    away = {n: q[n] - mean[n] for n in names}
    with h5py.File(tmp_path / "averages.h5") as file:
        found = {n: values[:].reshape(q["rho"].shape[1:]) for n, values in file.items()}
    wanted = {f"mean_{n}": mean[n] for n in names} | {f"favre_{n}": over(q["rho"] * q[n]) / mean["rho"] for n in "uvT"}
    wanted |= {f"favre_{n}": over(q["rho"] * q[n]) / mean["rho"] for n in names[-2:]}
    assert found.keys() - wanted.keys() == {"cov_u_v", *(f"rms_{n}" for n in names)}
    largest = lambda n: np.abs(q[n.split("_", 1)[1]]).max()
    for n, values in wanted.items():  # four states: some ten roundings of the field
        assert np.abs(found[n] - values).max() <= 10 * 2.2e-16 * largest(n), n
    # a fluctuation is known to roundings of its field, its square to those times the fluctuation
    for n in names:
        error = np.abs(found[f"rms_{n}"] ** 2 - over(away[n] ** 2))
        assert (error <= 40 * 2.2e-16 * largest(f"_{n}") * np.abs(away[n]).max() + 1e-30).all(), n
        assert found[f"rms_{n}"].max() > 1e-5 * np.abs(q[n]).max()
    error = np.abs(found["cov_u_v"] - over(away["u"] * away["v"]))
    assert error.max() <= 40 * 2.2e-16 * largest("_u") * np.abs([away["u"], away["v"]]).max()

    whole = restart_of(tmp_path)
    again = Run(Case(data), folder=tmp_path / "rest", out=io.StringIO(), restart=tmp_path / "restart-before.h5")
    assert again.flow.steps == 5 and again() == 0 and same(whole, restart_of(tmp_path / "rest"))
    data["output"]["averages_from"] = states[2][0]
    late = Run(Case(data), folder=tmp_path / "late", out=io.StringIO(), restart=tmp_path / "restart-before.h5")
    assert late() == 0 and late.flow.averages.weight == pytest.approx(states[3][0] - states[2][0], rel=1e-12)
    assert late.flow.averages.fields(["p"])["rms_p"].max() < 1e-15 * 1e7  # of one state
    assert np.array_equal(late.flow.averages.fields(["p"])["mean_p"], states[3][1][3])
    assert (tmp_path / "late/averages.xmf").read_text().count("mean_Y_O2") == 2


@pytest.mark.parametrize("scheme", ["double_flux", "apec"])
def test_probes_have_the_values_of_their_cells(tmp_path, scheme):
    case = Case.from_file(small(tmp_path, steps=1, scheme=scheme))
    case.output["probes"] = [[1e-6, 1e-6, 1e-6], [1.2e-3, 0.5e-3, 0.99e-3]]
    run = Run(case, folder=tmp_path / "out", out=io.StringIO())
    assert run() == 0
    with h5py.File(tmp_path / "out/history.h5") as file:
        for name in ("rho", "u", "v", "w", "p", "T", "Y_CH4", "Y_O2"):
            field = run.flow.field(name)
            assert list(file[f"probe_{name}"][1]) == [field[0, 0, 0], field[8, 7, 11]], name


def test_folders_that_cannot_be_written_are_told_in_a_line(tmp_path, capsys):
    case = small(tmp_path, steps=4)
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file/below", "/proc/nowhere"):
        assert main([str(case), "--folder", str(folder)]) == 1
        told = capsys.readouterr()
        assert len(told.err.splitlines()) == 1 and "cannot be written" in told.err and "Traceback" not in told.err


def test_a_full_disk_ends_the_run_in_a_line_and_keeps_the_last_restart(tmp_path):
    """Files may have 300 kB: a restart of the smaller grid fits, the larger one's does not. HDF5 itself would crash."""
    limits = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))"
    small_case = (small(tmp_path), "--folder", tmp_path / "out", "--set", "output.averages=0")
    assert broken(tmp_path, small_case, limits, 0).returncode == 0
    kept = restart_of(tmp_path / "out")
    large = (*small_case, "--overwrite", "--set", "domain.cells=[40, 30, 20]")
    done = broken(tmp_path, large, limits, 0)
    assert done.returncode == 1 and "cannot be written: File too large" in done.stderr
    assert len(done.stderr.splitlines()) == 1 and same(kept, restart_of(tmp_path / "out"))
    assert not list((tmp_path / "out").glob("*.part"))


def test_shipped_cases_are_read():
    """All of them; make test starts those whose programs compile soon."""
    assert all(Case.from_file(path).make_mixture().names for path in CASES)


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
def test_shipped_cases_start(path):
    """Each shipped case is read, set up on a coarse grid and takes three steps."""
    case = Case.from_file(path)
    data = copy.deepcopy(case.data)
    data["domain"]["cells"] = [min(n, 24) for n in data["domain"]["cells"]]
    f = Flow(Case(data, path.parent, path.stem))
    for _ in range(3):
        f.step()
    assert all(np.isfinite(f.field(n)).all() for n in ("rho", "p", "T", "u"))


@pytest.mark.parametrize("scheme", ["double_flux", "apec"])
def test_a_flow_that_fails_names_the_cell_where_it_began(scheme):
    """One cell is given what no scheme survives; a step spreads it over a dozen cells, and the first is named."""
    f = verify.flow_of([40], [0.0], [1.0], dict(T=300, p=1e7, u=10), 1e-3, limiter=False, scheme=scheme)
    f.step()
    state = f.state()
    state["U"][f.ns][0, 0, 23] *= 4e3  # its velocity becomes 40 km/s
    state["Q"][0][0, 0, 23] *= 4e3
    f.set_state(state["U"], state["Q"])
    with pytest.raises(FlowError, match=r"step \d+, t = .*cell \(2[234], 0, 0\) at .*it began there(.|\n)*rho"):
        for _ in range(5):
            f.step()


def test_a_run_that_fails_leaves_status_1_and_its_last_good_restart(tmp_path, capsys, monkeypatch):
    case = small(tmp_path, steps=6, restart=2)
    advance, folder = Flow.advance, tmp_path / "out"

    def spoilt(self, *given):
        if self.steps == 3:
            self.block.interior("U")[0, 4, 5, 6] = np.nan
            self.block.interior("Q")[0, 4, 5, 6] = np.nan
        return advance(self, *given)

    monkeypatch.setattr(Flow, "advance", spoilt)
    assert main([str(case), "--folder", str(folder)]) == 1
    told = capsys.readouterr().err
    assert "the run failed" in told and "cell (6, 5, 4)" in told
    with h5py.File(folder / "history.h5") as file:  # all that was known before
        assert list(file["step"]) == [0, 1, 2, 3] and np.isfinite(file["kinetic_energy"]).all()
    assert restart_of(folder)["steps"] == 2 and np.isfinite(restart_of(folder)["U"]).all()


def test_the_last_two_restarts_stay(tmp_path):
    assert main([str(small(tmp_path, steps=5)), "--folder", str(tmp_path)]) == 0
    with h5py.File(tmp_path / "restart-before.h5") as file:
        assert (int(file.attrs["steps"]), int(restart_of(tmp_path)["steps"])) == (4, 5)


# ---------------------------------------------------------------- wrong cases

GOOD = dict(
    mixture={"file": "examples/mixtures/ch4_o2.yaml", "species": ["CH4", "O2"]},
    domain={"cells": [8, 8], "upper": [1.0, 1.0]},
    initial={"T": 300, "p": 1e7, "X": {"CH4": 1}},
    time={"steps": 1},
)


@pytest.mark.parametrize(
    "change, told",
    [
        ({"extra": {}}, "unknown section or key 'extra'"),
        ({"domain.cells": [8, 2]}, "4 or more"),
        ({"domain.cells": "8"}, "wanted 1 to 3 whole numbers"),
        ({"domain.cells": [10**6, 10**6]}, "takes .* GiB, the machine has"),
        ({"boundary": {"x": {"kind": ["wall"]}}}, "wanted one of"),
        ({"initial.X": {"CH4": float("inf"), "O2": "rest"}}, "wanted a finite number"),
        ({"domain.upper": [1.0]}, "wanted 2 numbers"),
        ({"domain.upper": [1.0, -1.0]}, "lower < upper"),
        ({"domain.upper": [1.0, "a"]}, "wanted 2 numbers"),
        ({"numerics.scheme": "magic"}, "wanted one of double_flux, apec"),
        ({"numerics.scheme": "doubleflux"}, "did you mean 'double_flux'"),
        ({"numerics.order": 5}, "wanted one of 4, 6"),
        ({"numerics.cfl": -1}, "a positive number"),
        ({"numerics.cfl": 1.1}, "unstable beyond 1.09"),
        ({"numerics.cfl": 1.4, "numerics.runge_kutta": "ssp43"}, "unstable beyond 1.36"),
        ({"numerics.time_step": 1.0}, r"time_step = 1 s is CFL .* at the start"),
        ({"initial.T": 5}, "lowest temperature 5 K; the models end at 20 K"),
        ({"initial.T": "300 + t"}, "has t, but this formula is of x, y, z alone"),
        ({"numerics.schema": "apec"}, "unknown key 'schema', did you mean 'scheme'"),
        ({"boundary": {"x": "inlte"}}, "kind 'inlte', did you mean 'inlet'"),
        ({"output.frame_limits": {"T": [1, 2]}}, "'T' is not drawn"),
        (
            {"boundary": {"x_low": [{"kind": "wall"}, {"kind": "slip_wall"}], "x_high": "wall"}},
            "the others need 'where'",
        ),
        (
            {"boundary": {"x_low": [{"kind": "wall", "where": "y < 0.5"}], "x_high": "wall"}},
            "the last boundary of a side takes",
        ),
        (
            {
                "boundary": {
                    "x_low": {"kind": "inlet", "T": 300, "velocity": ["-10*y", 0, 0], "X": {"O2": 1}},
                    "x_high": "wall",
                }
            },
            "points out of the domain",
        ),
        ({"numerics.viscous": 1}, "true or false"),
        ({"numerics.cfll": 1}, "unknown key 'cfll', did you mean 'cfl'; known: scheme"),
        ({"mixture.file": "nowhere.yaml"}, "nowhere.yaml': not found"),
        ({"mixture.species": ["CH4", "Xe"]}, "Xe"),
        ({"mixture.options": {"root": "solid"}}, "root"),
        ({"mixture.options": {"translation": "peneloux"}}, "translation = 'peneloux'"),
        (
            {"mixture.options": {"mixing": "pseudocritical"}},
            "mixing = 'pseudocritical'; the solver's kernels know 'vdw' only",
        ),
        ({"mixture.ideal_gas": {"gamma": 1.4}}, "one of them"),
        ({"initial.T": "300 +"}, "is not an expression"),
        ({"initial.T": "__import__('os')"}, "only the functions|not allowed|unknown name"),
        ({"initial.T": "x.real"}, "not allowed"),
        ({"initial.T": "[1, 2]"}, "not allowed"),
        ({"initial.T": "theta"}, "unknown name 'theta'"),
        ({"initial.T": "1/x*0 + log(-1)"}, "not finite"),
        ({"initial.T": -5}, "wanted positive"),
        ({"initial.rho": 5}, "two of T, p and rho"),
        ({"domain.stretch": {"z": "s"}}, "unknown direction 'z' in 2-D"),
        ({"domain.stretch": {"x": "-s"}}, "stretch x: the formula falls from -0 at s = 0 to -1"),
        ({"domain.stretch": {"x": "s + 0.5*sin(6*pi*s)"}}, "the width of cell . would be -.* wanted a formula that"),
        ({"domain.stretch": {"x": "y"}}, "unknown name 'y'"),
        ({"domain.stretch": {"x": ["s"]}}, "a finite number or an expression in s"),
        ({"domain.axisymmetric": True}, "y: periodic and periodic, around an axis; the axis itself wants"),
        ({"domain.axisymmetric": True, "domain.lower": [0, -1]}, "lower is -1 m in y, wanted 0 or more"),
        ({"domain.axisymmetric": True, "domain.lower": [0, 0.5]}, "a radius is not periodic"),
        ({"domain.axisymmetric": True, "domain.cells": [8], "domain.upper": [1.0]}, "wanted 2 directions"),
        (
            {"domain.axisymmetric": True, "boundary": {"y": "slip_wall"}, "initial.w": 3},
            "a velocity of 3 around the axis",
        ),
        ({"initial.X": {"Xe": 1}}, "'Xe' is not in the mixture"),
        ({"initial.X": {"ch4": 1}}, "which has CH4, O2, did you mean 'CH4'"),
        ({"mixture": {"ideal_gas": {"gama": 1.4}}}, "unknown key 'gama', did you mean 'gamma'"),
        ({"boundary": {"x": {"knd": "wall"}}}, "x_low: unknown key 'knd', did you mean 'kind'"),
        ({"boundary": {"x": {"T": 300.0}}}, "x_low: 'kind' is missing"),
        ({"initial.X": {"CH4": 0.5}}, "sum 1"),
        ({"initial.X": {"CH4": "rest", "O2": "rest"}}, "wanted for one species"),
        ({"initial.X": {"CH4": 1.5, "O2": "rest"}}, "fractions range"),
        ({"initial.X": {}}, "X or Y is missing"),
        ({"boundary": {"z": "periodic"}}, "unknown side 'z' in 2-D"),
        ({"boundary": {"x": "wallpaper"}}, "kind 'wallpaper'"),
        ({"boundary": {"x_low": "slip_wall"}}, "wanted both or none"),
        ({"boundary": {"x": "slip_wall", "x_low": "wall"}}, "both 'x' and 'x_low'"),
        ({"boundary": {"x_low": {"kind": "inlet", "velocity": [1, 0, 0]}, "x_high": "supersonic_outlet"}}, "T or h"),
        (
            {"boundary": {"x_low": {"kind": "inlet", "T": 300, "velocity": [1, 0]}, "x_high": "supersonic_outlet"}},
            "wanted 3 numbers",
        ),
        (
            {"boundary": {"x_low": {"kind": "inlet", "T": 300, "velocity": [1, 0, 0]}, "x_high": "supersonic_outlet"}},
            "X or Y is missing",
        ),
        ({"boundary": {"x_low": "supersonic_outlet", "x_high": {"kind": "outlet"}}}, "'p' is missing"),
        ({"time": {}}, "give end"),
        ({"time.steps": -1}, "0 or more"),
        ({"parallel.ranks": [2, 2]}, "makes 4 ranks; the run has 1"),
        ({"output.frame": ["enstrophy"]}, "unknown field 'enstrophy'"),
        ({"output.report": "often"}, "whole number"),
    ],
)
def test_a_wrong_case_is_told(change, told):
    data = copy.deepcopy(GOOD)
    for key, value in change.items():
        section, _, name = key.partition(".")
        if name:
            data.setdefault(section, {})[name] = value
        else:
            data[section] = value
    with pytest.raises(FrameError, match=told):
        Run(Case(data), out=io.StringIO())


def test_random_damage_gives_a_message_and_nothing_else(tmp_path):
    """A shipped case with characters lost, doubled or swapped: it is read, or refused with the project's own error."""
    text = (ROOT / "examples/mini_solver/cases/shear_layer_lox_ch4.toml").read_text()
    random, outcomes = np.random.default_rng(4), {"read": 0, "refused": 0}
    for _n in range(400):
        damaged = list(text)
        for _ in range(random.integers(1, 4)):
            at = int(random.integers(len(damaged)))
            damaged[at : at + 1] = [[], damaged[at] * 2, chr(int(random.integers(32, 127)))][
                int(random.integers(3))
            ] or []
        path = tmp_path / "damaged.toml"
        path.write_text("".join(damaged))
        try:
            Case.from_file(path)
            outcomes["read"] += 1
        except FrameError:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 20, outcomes


FUZZED = dict(
    GOOD,
    initial={"T": "300 + 20*x", "p": 1e7, "u": 30.0, "X": {"CH4": 0.5, "O2": "rest"}, "constants": {"k": 2.0}},
    numerics={"cfl": 0.5, "viscous": False, "scheme": "double_flux", "threshold": 0.4},
    boundary={
        "x_low": {"kind": "inlet", "T": 300.0, "velocity": [30, 0, 0], "X": {"CH4": 0.5, "O2": 0.5}},
        "x_high": {"kind": "outlet", "p": 1e7, "sigma": 0.3},
        "y": {"kind": "wall", "T": 310.0},
    },
    time={"steps": 2},
    parallel={"ranks": [1, 1]},
    output={"report": 1, "frame": ["rho"]},
)
WRONG = (
    -1,
    0,
    1,
    3,
    5,
    1e-300,
    1e300,
    -1e9,
    10**30,
    float("nan"),
    float("inf"),
    True,
    None,
    "",
    "x",
    "nonsense",
    "1/0*x",
    "exp(1e9)",
    "x(",
    "rest",
    [],
    [0],
    [1, 2, 3, 4],
    [-1.0, 1.0],
    [10**6, 10**6],
    ["a", 1],
    [[1], 2],
    {},
    {"kind": "outlet"},
    {"CH4": 1},
    {"O2": "rest", "CH4": "2*x"},
    {"a": {"b": 1}},
)


def places(data):
    """Every place in a nested table: (table, key)."""
    for key, value in data.items():
        yield data, key
        if isinstance(value, dict):
            yield from places(value)


@pytest.mark.parametrize("seed, count", ((4, 100), (3, 300)))
def test_random_values_give_a_message_or_a_flow(tmp_path, seed, count):
    """Values of any kind anywhere in a case, keys lost or invented: a run that ends, or the project's own error, told
    in words."""
    random, outcomes = np.random.default_rng(seed), {"ran": 0, "refused": 0, "failed": 0}
    for _n in range(count):
        data = copy.deepcopy(FUZZED)
        for _ in range(random.integers(1, 3)):
            everywhere = list(places(data))
            table, key = everywhere[random.integers(len(everywhere))]
            match random.integers(6):
                case 0:
                    del table[key]
                case 1:
                    table[f"{key}_"] = table.pop(key)
                case 2 | 3 if isinstance(table[key], float):
                    table[key] *= 10 ** random.uniform(-2, 1)
                case _:
                    table[key] = WRONG[random.integers(len(WRONG))]
        try:
            outcomes[
                "ran"
                if Run(Case(copy.deepcopy(data)), folder=tmp_path, out=io.StringIO(), overwrite=True)() == 0
                else "failed"
            ] += 1
        except FlowError:
            outcomes["failed"] += 1
        except FrameError as error:
            assert len(str(error)) > 20, data
            outcomes["refused"] += 1
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error} from {data}") from error
    assert outcomes["ran"] > count / 30 and outcomes["refused"] > count / 3, outcomes


def test_the_command_tells_and_exits(tmp_path, capsys):
    assert main([str(tmp_path / "none.toml")]) == 1
    assert "No such file" in capsys.readouterr().err
    (tmp_path / "bad.toml").write_text("[domain\n")
    assert main([str(tmp_path / "bad.toml")]) == 1
    assert "not TOML" in capsys.readouterr().err
    assert main(["verify", "--only", "nothing"]) == 1
    assert "known: interface" in capsys.readouterr().err


def test_keys_of_a_case_by_the_command(tmp_path, capsys):
    case = small(tmp_path, restart=1)
    changes = ("time.steps=1", "numerics.scheme='apec'", "output.report=1")
    assert main([str(case), "--folder", str(tmp_path / "out"), *(w for c in changes for w in ("--set", c))]) == 0
    state = restart_of(tmp_path / "out")
    assert state["steps"] == 1 and len(state["Q"]) == 5  # velocity, p and, conservative alone, T
    for change, told in (
        ("numerics.scheme=apec", "texts in quotes"),
        ("numerics=1", "wanted a table"),
        ("time.steps.more=1", "not a table"),
        ("numerics.cfll=1", "unknown key 'cfll'"),
    ):
        assert main([str(case), "--set", change]) == 1
        assert told in capsys.readouterr().err


def test_memory_and_what_stays_in_the_long_case(tmp_path):
    """The shipped long run, shortened: nothing is lost, and no memory gained after the first hundred steps."""
    path = ROOT / "examples/mini_solver/cases/shear_layer_long.toml"
    out = io.StringIO()
    changes = (
        "domain.cells=[24, 16]",
        "time.steps=400",
        "output.frames=0",
        "output.fields=100",
        "numerics.scheme='apec'",
    )
    assert Run(Case.from_file(path, changes), folder=tmp_path, out=out)() == 0
    kept = re.search(
        r"mass of a species (\S+), momentum in x (\S+), momentum in y (\S+), energy (\S+)\n", out.getvalue()
    )
    mass, along, across, energy = map(float, kept.groups())
    assert max(mass, along, energy) < 5e-15, kept
    assert across < 5e-14  # the walls give and take 1000 times the flow's own momentum
    before, after = map(
        float, re.search(r"memory: (\S+) MiB after 100 steps, (\S+) MiB at the end", out.getvalue()).groups()
    )
    assert 10 < before and after < before + 2  # a row of a field kept each step would be 3 kB: 1 MiB


def test_expressions_are_formulas_only():
    e = Expression("a*sin(x) + where(y > 0, 1, 2)", {"a": 2.0}, "here")
    x, y = np.linspace(0, 1, 5).reshape(1, 1, 5), np.array([-1.0, 1.0]).reshape(1, 2, 1)
    assert np.allclose(e([x, y, np.zeros((1, 1, 1))]), 2 * np.sin(x) + np.where(y > 0, 1, 2))


def test_a_check_that_breaks_has_failed_and_the_others_go_on(tmp_path, monkeypatch):
    def breaks(quick, pictures):
        yield "its first row", 1.0, 2.0, "below"
        raise FlowError("no flow")

    def passes(quick, pictures):
        yield "a row", 3.0, 2.0, "above"

    monkeypatch.setattr(verify, "CHECKS", {"breaks": breaks, "passes": passes})
    assert verify.main(folder=tmp_path) == 2
    table = (tmp_path / "verify.md").read_text()
    assert "breaks: ended by an error | nan | <= 0 | FAILED" in table and "a row | 3.000e+00 | >= 2 | ok" in table
    assert verify.main(only=["passes"], folder=tmp_path) == 0
