"""A premixed flame of hydrogen and oxygen, beside Cantera's FreeFlame."""

import pathlib

import numpy as np

from ..errors import wanted
from .tools import curves, figure, flow_of, line, rows

MECHANISM = pathlib.Path(__file__).resolve().parents[1] / "cases" / "h2_o2_burning.yaml"
FRESH, T_FRESH, PRESSURE, LAM, MU = {"H2": 2 / 3, "O2": 1 / 3}, 300.0, 1e5, 0.2, 5e-5
LENGTH, MARK = 2e-3, 1000.0  # m; K, where the flame is


def cantera_flame(pressure):
    """FreeFlame of the ideal gas. Its conductivity is made constant, as the solver's; D are the same by their model."""
    try:
        import cantera as ct
    except ImportError:
        wanted(False, "the check 'flame' needs the package cantera.")
    ct.add_directory(str(MECHANISM.parent))
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
                cantera = ((there.grid - shift) * 1e3, exact, "-", f"Cantera, {there.velocity[0]:.3g} m/s")
                curves(axis, drawn, cantera, xlabel="x [mm]", title=name)
                axis.set_xlim(0, LENGTH * 1e3)
