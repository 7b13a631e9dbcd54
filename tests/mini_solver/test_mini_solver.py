"""The mini solver's flows: the quick checks, walls, inlets, several boundaries on a side, the limiter, stretched grids.

What its checks measure is in examples/mini_solver/verify/; there each has its own exact solution and bound.
"""

import io

import numpy as np
import pytest
from mini_solver_runs import same

from examples.mini_solver import verify
from examples.mini_solver.case import Case
from examples.mini_solver.errors import CaseError, FlowError
from examples.mini_solver.grid import Line
from examples.mini_solver.run import Run
from examples.mini_solver.verify import axis, shock_tubes, tools

h5py = pytest.importorskip("h5py")


@pytest.mark.parametrize("name", sorted(verify.CHECKS))
@pytest.mark.quick(
    name=[
        "interface",
        "outlet",
        "reflection",
        "shock_tubes",
        "vortex",
    ]
)
def test_quick_check(name):
    rows = verify.run(name, quick=True)
    assert rows and not [
        f"{what}: {value:.3e}, bound {bound:.3g}" for what, value, bound, _, passed in rows if not passed
    ]


def test_apec_at_a_jump_between_liquid_and_gas():
    """The tube S2 by equation mapped: rho c^2/p is 14 beside 1.6. The error says that the scheme cannot, and which
    can."""
    with pytest.raises(FlowError, match=r"(?s)no sound speed.*changes by a factor of.*'double_flux' is meant"):
        shock_tubes.tube(shock_tubes.S2, None, "apec", "always", 1.0, 100, (), tools.MAPPED)


def test_rates_of_change_around_an_axis(monkeypatch):
    """The part of the check `axisymmetric` that make test keeps."""
    monkeypatch.setitem(verify.CHECKS, "rates", lambda quick, pictures: axis.rates(quick))
    rows = verify.run("rates", quick=True)
    assert len(rows) == 2 and all(passed for *_, passed in rows), rows


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
@pytest.mark.long(scheme="apec")
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
@pytest.mark.quick(how={"viscous": True, "D": 0.001, "mu": 1e-05})
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


def test_checks_in_processes_give_the_same_table(tmp_path):
    for jobs in (1, 2):
        assert verify.main(True, ["acoustic", "outlet"], tmp_path / str(jobs), jobs) == 0
    assert (tmp_path / "1/verify.md").read_text() == (tmp_path / "2/verify.md").read_text()

    with pytest.raises(CaseError, match="--jobs -1: wanted 1 or more"):
        verify.main(True, [], tmp_path, -1)


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
