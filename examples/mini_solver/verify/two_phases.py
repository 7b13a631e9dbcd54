"""A shock tube of liquid N2 that boils, beside the exact solution of the homogeneous equilibrium model; a closed box of
CH4 and O2 in which two phases come and go."""

import numpy as np

from kernels import Mixture

from .. import riemann
from ..riemann_phases import PhasesGas
from .tools import CH4_O2, N2, ROOT, advance, curves, figure, flow_of, line, lost, order, rows

EQUILIBRIUM = {"phases": "equilibrium", "equation": "pr"}  # as the exact solution has it
# Liquid under pressure beside warm gas: the fan goes from the liquid into two phases, where sound is ten times slower.
LEFT, RIGHT = (110.0, 4e6), (150.0, 3e5)  # T [K], p [Pa]
END = 8e-4  # s
BOUNDS = {50: (1.1e-2, 0.10, 0.025), 100: (8e-3, 0.052, 0.014), 200: (4.6e-3, 0.032, 7.5e-3)}  # L1 of rho, u, p


def boiling_tube(quick, pictures):
    exact = riemann.Riemann(PhasesGas(Mixture.from_yaml(ROOT / N2).species), *map(side, (LEFT, RIGHT)))
    yield from rows("boiling tube", *of_layer(exact))

    cells = (50, 100) if quick else (50, 100, 200)
    for dissipation in ("always", "sensor"):
        flows = {N: tube(N, dissipation) for N in cells}
        errors = {N: errors_of(flow, exact) for N, (flow, _) in flows.items()}

        for N, (flow, start) in flows.items():
            of = f"boiling tube, {dissipation}, {N} cells"
            yield from rows(of, *zip(("L1 rho", "L1 u", "L1 p"), errors[N], BOUNDS[N]))
            yield from rows(of, *balances(flow, start), *of_cold_search(flow))

        for what, number in (("rho", 0), ("u", 1), ("p", 2)):
            found = order([errors[N][number] for N in (cells[0], cells[-1])], (cells[0], cells[-1]))
            yield from rows(f"boiling tube, {dissipation}", (f"order of {what}", found, 0.4, "above"))

    if pictures:
        draw(pictures / "boiling_tube.png", flows[cells[-1]][0], exact)


def side(state):
    """(rho, u, p) of T and p, a root of the equation away from saturation."""
    T, p = state
    gas = PhasesGas(Mixture.from_yaml(ROOT / N2).species)
    rho = riemann.density(gas.one, T, p, 600.0 if state == LEFT else p * gas.W / riemann.R / T)
    return float(rho), 0.0, p


def tube(N, dissipation):
    """(flow at its end, sums at the start) of N cells."""
    initial = {key: f"where(x < 0, {a}, {b})" for key, a, b in zip("Tp", LEFT, RIGHT)}
    how = dict(scheme="apec", dissipation=dissipation, cfl=0.5, boundary={"x": "supersonic_outlet"})
    flow = flow_of([N], [-0.5], [0.5], initial, END, mixture={"file": N2, "options": EQUILIBRIUM}, **how)
    start = flow.sums()

    return advance(flow, END), start


def errors_of(flow, exact) -> list[float]:
    """L1 of rho, u, p over the difference of the sides, and over the velocity between the waves."""
    x = flow.coordinates()[0][0, 0]
    sizes = exact.left[0] - exact.right[0], exact.u, exact.left[2] - exact.right[2]
    found = zip((line(flow, name) for name in ("rho", "u", "p")), exact.sample(x / END), sizes)

    return [float(np.abs(ours - wanted).mean()) / size for ours, wanted, size in found]


def of_layer(exact):
    """Rows: the exact states beside those that the layer finds from their energy and density."""
    speed = np.linspace(-500, 500, 400)
    rho, _, p, T = exact.sample(speed)
    e = np.array([exact.gas.at(*state)[1] for state in zip(T, rho)])

    mixture = Mixture.from_yaml(ROOT / N2, **EQUILIBRIUM)
    found = mixture.properties("T p phases_status", e=e, rho=rho, Y=np.ones((1, len(rho))))
    two = found["phases_status"] == 1

    # sample() interpolates between 1500 states of a fan: its p is off by some 1e-6 of the left side's
    yield "states of two phases of 400", float(two.sum()), 30.0, "above"
    yield "T by the layer", float(np.abs(found["T"] / T - 1).max()), 1e-6
    yield "p by the layer, of the left side's", float(np.abs(found["p"] - p).max() / exact.left[2]), 1e-5


def balances(flow, start):
    """Rows: mass and energy less what passed through the ends."""
    now, passed = flow.sums(), flow.balance.passed()
    yield "mass less what passed", float(abs(now[0] - start[0] - passed[0]) / start[0]), 2e-14
    yield "energy less what passed", float(abs(now[-2] - start[-2] - passed[-1]) / start[-1]), 2e-13


def of_cold_search(flow):
    """A row: T and p of the cells beside those of a search that starts from nothing."""
    rho = line(flow, "rho")
    Y = np.stack([line(flow, f"Y_{name}") for name in flow.mixture.names])
    found = flow.mixture.properties("T p", e=line(flow, "e_vol") / rho, rho=rho, Y=Y)
    off = max(float(np.abs(found[name] / line(flow, name) - 1).max()) for name in ("T", "p"))

    # 1e-9: in a liquid a pressure is a small difference, rho c^2/p is 100 here
    yield "T and p beside a cold search", off, 1e-9


def draw(path, flow, exact):
    x, fine = flow.coordinates()[0][0, 0], np.linspace(-0.5, 0.5, 4000)
    wanted = exact.sample(fine / END)
    with figure(path, 4, 1, figsize=(7, 9), sharex=True) as axes:
        for number, (name, scale, label) in enumerate(
            (("rho", 1, "density [kg/m$^3$]"), ("u", 1, "velocity [m/s]"), ("p", 1e-6, "pressure [MPa]"))
        ):
            ours = x, line(flow, name) * scale, "o", f"{len(x)} cells"
            there = fine, wanted[number] * scale, "k-", "exact (homogeneous equilibrium)"
            curves(axes[number], there, ours, legend=number == 0, ylabel=label)

        share = x, line(flow, "beta_volume"), "o", ""
        curves(axes[3], share, legend=False, ylabel="vapour, share\nof the volume [-]", xlabel="x [m]")


def closed_box(quick, pictures):
    """Streams of CH4/O2 at 20 bar in a box of slip walls, from gas into two phases and back, in two dimensions."""
    mixture = {"file": CH4_O2, "species": ["CH4", "O2"], "options": EQUILIBRIUM}
    initial = dict(
        p="2e6*(1 + 0.3*sin(2*pi*x)*cos(pi*y))",
        T="135 + 25*cos(pi*x)*cos(2*pi*y)",
        u="20*sin(pi*x)",
        v="-15*sin(pi*y)",
        X={"CH4": "0.5 + 0.3*cos(pi*y)", "O2": "rest"},
    )

    N = 16 if quick else 32
    flow = flow_of(
        [N, N], [0.0, 0.0], [1.0, 1.0], initial, 5e-3, mixture, {"x": "slip_wall", "y": "slip_wall"}, scheme="apec"
    )
    start, before = flow.sums(), flow.field("phases_status").copy()
    advance(flow, 5e-3)
    after = flow.field("phases_status")

    energy = float(abs(flow.sums()[-2] - start[-2]) / start[-1])
    yield from rows(
        f"closed box of CH4/O2, {N} x {N} cells",
        ("cells that became two phases", float(((before == 0) & (after == 1)).sum()), 1.0, "above"),
        ("cells that became one phase", float(((before == 1) & (after == 0)).sum()), 1.0, "above"),
        ("species' mass", lost(flow, start), 2e-14),
        ("energy", energy, 2e-14),
    )
