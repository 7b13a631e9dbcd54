"""Hydrogen and oxygen beside Cantera: a uniform box that ignites, and a premixed flame."""

import pathlib

import numpy as np

from ..errors import wanted
from .tools import curves, figure, flow_of, line, rows

MECHANISM = pathlib.Path(__file__).resolve().parents[1] / "cases" / "h2_o2_burning.yaml"
FRESH, T_FRESH, PRESSURE, LAM, MU = {"H2": 2 / 3, "O2": 1 / 3}, 300.0, 1e5, 0.2, 5e-5
LENGTH, MARK = 2e-3, 1000.0  # m; K, where the flame is


def cantera(check):
    """The package, which finds the mechanism."""
    try:
        import cantera as ct
    except ImportError:
        wanted(False, f"the check '{check}' needs the package cantera.")
    ct.add_directory(str(MECHANISM.parent))
    return ct


def ignition(quick, pictures):
    """Peng-Robinson, 10 bar, by steps of a fortieth of the delay. Of T and p at every step the distance from Cantera's
    reactor is measured in what 1e-4 of the time and 1e-6 of the value make."""
    ct = cantera("ignition")
    gas = ct.Solution(str(MECHANISM), "burning")
    X, step, end, off = {"H2": 0.6, "O2": 0.38, "H2O": 0.02}, 9e-8, 5e-6, 1e-4
    gas.TPX = 1300.0, 1e6, X
    reactor = ct.Reactor(gas, clone=False)
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol = 1e-10, 1e-18
    f = flow_of(
        [4],
        [0.0],
        [1e-3],
        dict(T=1300.0, p=1e6, X=X),
        end,
        mixture={
            "file": str(MECHANISM),
            "phase": "burning",
            "options": {"alpha": "cantera", "takahashi": "off", "kinetics": "fugacity"},
        },
        chemistry={"kind": "volume", "rtol": 1e-6},
        time_step=step,
    )
    seen, farthest = [], np.zeros(2)
    while f.time < end:
        f.step()
        there = []
        for t in f.time * (1 + off * np.array([-1, 0, 1])):
            net.advance(t)
            there.append((reactor.T, reactor.phase.P))
        before, exact, after = np.array(there)
        here = np.array([f.field("T")[0, 0], f.field("p")[0, 0]])
        allowed = np.maximum(np.abs(before - exact), np.abs(after - exact)) + 1e-6 * exact
        farthest = np.maximum(farthest, (np.abs(here - exact[:, None]) / allowed[:, None]).max(1))
        seen.append((f.time, *here[:, 0], *exact))
    risen = seen[-1][1] - 1300.0
    yield from rows(
        "a uniform box of H2/O2 ignites, beside Cantera",
        ("T, of what 1e-4 of the time and 1e-6 of the value make", farthest[0], 1.0),
        ("p, of the same", farthest[1], 1.0),
        ("T has risen by, K", risen, 1500.0, "above"),
    )
    if pictures:
        t, T, p, T_there, p_there = np.array(seen).T
        with figure(pictures / "ignition.png", 1, 2, figsize=(9, 3.5)) as axes:
            for axis, name, here, exact in zip(axes, ("T [K]", "p [bar]"), (T, p / 1e5), (T_there, p_there / 1e5)):
                drawn = (t * 1e6, here, "o", "solver"), (t * 1e6, exact, "-", "Cantera")
                curves(axis, *drawn, xlabel="time [us]", title=name)


def cantera_flame(pressure):
    """FreeFlame of the ideal gas. Its conductivity is made constant, as the solver's; D are the same by their model."""
    ct = cantera("flame")
    gas = ct.Solution(str(MECHANISM), "ideal")
    T = np.linspace(250, 3500, 400)
    fit = np.polyfit(np.log(T), LAM / np.sqrt(T), 4)[::-1]  # as Cantera writes a species' conductivity; to 1.3e-4
    for k in range(gas.n_species):
        gas.set_thermal_conductivity_polynomial(k, fit)
    gas.TPX = T_FRESH, pressure, FRESH
    flame = ct.FreeFlame(gas, width=2 * LENGTH)
    flame.set_refine_criteria(ratio=2, slope=0.02, curve=0.03)
    flame.solve(0, auto=True)
    return flame


def flame(quick, pictures):
    """Its speed is that of the gas that comes in, less that of the front. It starts from Cantera's profile; speed is
    taken from the second half of the time, with FreeFlame at the pressure that the fresh gas then has."""
    cells, end = (80, 3e-5) if quick else (160, 6e-5)
    start = cantera_flame(PRESSURE)
    speed = float(start.velocity[0])
    f = flow_of(
        [cells],
        [0.0],
        [LENGTH],
        dict(T=T_FRESH, p=PRESSURE, X=FRESH),
        end,
        mixture={
            "file": str(MECHANISM),
            "phase": "burning",
            "options": {"takahashi": "off", "diffusion": "cantera", "kinetics": "fugacity"},
        },
        boundary={
            "x_low": {"kind": "inlet", "velocity": [speed, 0.0, 0.0], "T": T_FRESH, "X": FRESH},
            "x_high": {"kind": "outlet", "p": PRESSURE},
        },
        chemistry={"kind": "volume"},
        viscous=True,
        lam=LAM,
        mu=MU,
    )
    x, origin = f.coordinates()[0][0, 0], np.interp(MARK, start.T, start.grid)
    profile = lambda values: np.interp(x - 0.4 * LENGTH + origin, start.grid, values)[None, None]
    Y = np.array([profile(start.Y[start.gas.species_index(name)]) for name in f.mixture.names])
    u = profile(start.velocity)
    f.start(dict(velocity=np.array([u, 0 * u, 0 * u]), Y=Y / Y.sum(0), T=profile(start.T), p=np.full_like(u, PRESSURE)))
    fields = []
    while f.time < end:
        f.take(64)
        fields.append((f.time, np.interp(MARK, line(f, "T"), x), line(f, "p")[0]))
    t, front, p = np.array(fields[len(fields) // 2 :]).T
    found = speed - np.polyfit(t, front, 1)[0]
    there = cantera_flame(float(p.mean()))
    Y_low = min(float(f.field(f"Y_{name}").min()) for name in f.mixture.names)
    burnt = line(f, "T")[-1] / np.interp(x[-1] - front[-1] + np.interp(MARK, there.T, there.grid), there.grid, there.T)
    yield from rows(
        "premixed flame of H2/O2 beside Cantera",
        ("its speed, relative", abs(found / there.velocity[0] - 1), 0.03 if quick else 0.01),
        ("the burnt gas' temperature, relative", abs(burnt - 1), 0.01),
        ("lowest mass fraction", -Y_low, 1e-11),  # the integration's atol is 1e-12
    )
    if pictures:
        with figure(pictures / "flame.png", 1, 2, figsize=(9, 3.5)) as axes:
            shift = np.interp(MARK, there.T, there.grid) - front[-1]
            for axis, name, exact in zip(axes, ("T", "Y_OH"), (there.T, there.Y[there.gas.species_index("OH")])):
                drawn = (x * 1e3, line(f, name), "o", f"solver, {found:.3g} m/s")
                other = ((there.grid - shift) * 1e3, exact, "-", f"Cantera, {there.velocity[0]:.3g} m/s")
                curves(axis, drawn, other, xlabel="x [mm]", title=name)
                axis.set_xlim(0, LENGTH * 1e3)
