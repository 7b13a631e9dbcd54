"""Hydrogen and oxygen beside Cantera: a uniform box that ignites, and a premixed flame. Cantera's results are kept in
h2_o2_cantera.json; with_cantera.py makes them."""

import numpy as np

from ..errors import wanted
from . import with_cantera
from .tools import curves, figure, flow_of, line, rows
from .with_cantera import END, FRESH, IGNITION, LAM, LENGTH, MECHANISM, OFF, STEP, T_FRESH

MU, MARK = 5e-5, 1000.0  # Pa s; K, where the flame is
PRESSURE = with_cantera.PRESSURES[0]


def ignition(quick, pictures):
    """Peng-Robinson, 10 bar, by steps of a fortieth of the delay. Of T and p at every step the distance from Cantera's
    reactor is measured in what 1e-4 of the time and 1e-6 of the value make."""
    there = with_cantera.kept()["ignition"]
    f = flow_of(
        [4],
        [0.0],
        [1e-3],
        IGNITION,
        END,
        mixture={
            "file": str(MECHANISM),
            "phase": "real",
            "options": {"alpha": "cantera", "takahashi": "off", "kinetics": "fugacity"},
        },
        chemistry={"kind": "volume", "rtol": 1e-6},
        time_step=STEP,
    )

    seen, farthest = [], np.zeros(2)
    for time, *values in zip(there["t"], there["T"], there["p"]):
        f.step()
        wanted(abs(f.time / time - 1) < OFF / 100, f"the solver is at {f.time:g} s, Cantera's results at {time:g} s.")
        before, exact, after = np.array(values).T
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


class Flame:
    """Cantera's flame at a pressure [Pa] between the two that are kept, mixed of both by ln p.
    speed [m/s] of the fresh gas. x [m], T [K], u [m/s] and Y by name: the profiles at the lower pressure."""

    def __init__(self, pressure):
        kept = with_cantera.kept()
        low, high = kept["lower flame"], kept["upper flame"]
        said = f"the flame's pressure, {pressure:g} Pa, is not between {low['p']:g} and {high['p']:g}."
        wanted(low["p"] <= pressure <= high["p"], said)

        self.share = np.log(pressure / low["p"]) / np.log(high["p"] / low["p"])
        self.speed = (1 - self.share) * low["u"][0] + self.share * high["u"][0]
        self.x, self.T, self.u = (np.array(low[name]) for name in ("x", "T", "u"))
        self.Y = {name: np.array(values) for name, values in low["Y"].items()}
        self._flames = low, high

    def behind(self, distance):
        """T [K] at a distance [m] behind the place of MARK."""
        low, high = (np.interp(distance + np.interp(MARK, f["T"], f["x"]), f["x"], f["T"]) for f in self._flames)
        return (1 - self.share) * low + self.share * high


def tube(cells, end, start):
    """A flow through a tube with the profile of a flame in it; the gas comes in at the flame's speed."""
    f = flow_of(
        [cells],
        [0.0],
        [LENGTH],
        dict(T=T_FRESH, p=PRESSURE, X=FRESH),
        end,
        mixture={
            "file": str(MECHANISM),
            "phase": "real",
            "options": {"takahashi": "off", "diffusion": "cantera", "kinetics": "fugacity"},
        },
        boundary={
            "x_low": {"kind": "inlet", "velocity": [start.speed, 0.0, 0.0], "T": T_FRESH, "X": FRESH},
            "x_high": {"kind": "outlet", "p": PRESSURE},
        },
        chemistry={"kind": "volume"},
        viscous=True,
        lam=LAM,
        mu=MU,
    )

    x, origin = f.coordinates()[0][0, 0], np.interp(MARK, start.T, start.x)

    def profile(values):
        return np.interp(x - 0.4 * LENGTH + origin, start.x, values)[None, None]

    Y = np.array([profile(start.Y[name]) for name in f.mixture.names])
    u = profile(start.u)
    f.start(dict(velocity=np.array([u, 0 * u, 0 * u]), Y=Y / Y.sum(0), T=profile(start.T), p=np.full_like(u, PRESSURE)))
    return f


def flame(quick, pictures):
    """Speed of a flame: the speed of the fresh gas less the speed of the front.

    The flame starts from Cantera's profile. Its speed is taken over the second half of the time, and compared with
    Cantera's flame at the pressure that the fresh gas then has."""
    cells, end = (80, 3e-5) if quick else (160, 6e-5)
    start = Flame(PRESSURE)
    speed = start.speed
    f = tube(cells, end, start)
    x, fields = f.coordinates()[0][0, 0], []

    while f.time < end:
        f.take(64)
        fields.append((f.time, np.interp(MARK, line(f, "T"), x), line(f, "p")[0]))

    t, front, p = np.array(fields[len(fields) // 2 :]).T
    found = speed - np.polyfit(t, front, 1)[0]
    there = Flame(float(p.mean()))
    Y_low = min(float(f.field(f"Y_{name}").min()) for name in f.mixture.names)
    burnt = line(f, "T")[-1] / there.behind(x[-1] - front[-1])
    yield from rows(
        "premixed flame of H2/O2 beside Cantera",
        ("its speed, relative", abs(found / there.speed - 1), 0.03 if quick else 0.01),
        ("the burnt gas' temperature, relative", abs(burnt - 1), 0.01),
        ("lowest mass fraction", -Y_low, 1e-11),  # the integration's atol is 1e-12
    )

    if pictures:
        with figure(pictures / "flame.png", 1, 2, figsize=(9, 3.5)) as axes:
            shift = np.interp(MARK, there.T, there.x) - front[-1]
            for axis, name, exact in zip(axes, ("T", "Y_OH"), (there.T, there.Y["OH"])):
                drawn = (x * 1e3, line(f, name), "o", f"solver, {found:.3g} m/s")
                other = ((there.x - shift) * 1e3, exact, "-", f"Cantera, {there.speed:.3g} m/s")
                curves(axis, drawn, other, xlabel="x [mm]", title=name)
                axis.set_xlim(0, LENGTH * 1e3)
