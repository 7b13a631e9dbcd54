"""python -m examples.mini_solver.verify.with_cantera: computes h2_o2_cantera.json, which the checks `ignition` and
`flame` compare with. Needs Cantera; the checks do not."""

import json
import pathlib

import numpy as np

MECHANISM = pathlib.Path(__file__).resolve().parents[2] / "mechanisms" / "h2_o2.yaml"
FILE = pathlib.Path(__file__).with_name("h2_o2_cantera.json")
# A uniform box that ignites, at constant volume.
IGNITION = {"T": 1300.0, "p": 1e6, "X": {"H2": 0.6, "O2": 0.38, "H2O": 0.02}}
STEP, END = 9e-8, 5e-6  # s, of the solver
OFF = 1e-4  # of the time: how much another result may be early or late
# A premixed flame with one constant conductivity.
FRESH, T_FRESH, LAM = {"H2": 2 / 3, "O2": 1 / 3}, 300.0, 0.2
PRESSURES = 1.0e5, 1.06e5  # the fresh gas of the solver's flame is between
LENGTH = 2e-3  # m
DIGITS = 9


def times(step=STEP, end=END) -> list[float]:
    """The ends of the solver's steps; the last one passes `end`."""
    return [(n + 1) * step for n in range(int(np.ceil(end / step)))]


def ignition() -> dict:
    """T and p of the real gas at the ends of the steps, and OFF before and behind: (steps, 3) each."""
    import cantera as ct

    gas = ct.Solution(str(MECHANISM), "real")
    gas.TPX = IGNITION["T"], IGNITION["p"], IGNITION["X"]
    reactor = ct.Reactor(gas, clone=False)

    net = ct.ReactorNet([reactor])
    net.rtol, net.atol = 1e-10, 1e-18

    found = {"t": times(), "T": [], "p": []}

    for time in found["t"]:
        T, p = [], []
        for at in time * (1 + OFF * np.array([-1, 0, 1])):
            net.advance(at)
            T.append(reactor.T)
            p.append(reactor.phase.P)

        found["T"].append(T)
        found["p"].append(p)

    return found


def flame(pressure) -> dict:
    """FreeFlame of the ideal gas. Its conductivity is made constant, as the solver's; D are the same by their model."""
    import cantera as ct

    gas = ct.Solution(str(MECHANISM), "ideal")
    T = np.linspace(250, 3500, 400)
    fit = np.polyfit(np.log(T), LAM / np.sqrt(T), 4)[::-1]  # as Cantera writes a species' conductivity; to 1.3e-4
    for k in range(gas.n_species):
        gas.set_thermal_conductivity_polynomial(k, fit)

    gas.TPX = T_FRESH, pressure, FRESH
    found = ct.FreeFlame(gas, width=2 * LENGTH)
    found.set_refine_criteria(ratio=2, slope=0.02, curve=0.03)
    found.solve(0, auto=True)
    Y = {name: found.Y[gas.species_index(name)] for name in gas.species_names}

    return {"p": pressure, "x": found.grid, "T": found.T, "u": found.velocity, "Y": Y}


def rounded(value):
    """Lists of numbers with DIGITS digits, for JSON."""
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    if np.ndim(value):
        return [rounded(part) for part in value]

    return value if isinstance(value, str) else float(f"{value:.{DIGITS}g}")


def computed() -> dict:
    """All results, as the file has them."""
    import cantera as ct

    lower, upper = [flame(pressure) for pressure in PRESSURES]
    found = {
        "made by": f"Cantera {ct.__version__}",
        "ignition": ignition(),
        "lower flame": lower,
        "upper flame": {name: upper[name] for name in ("p", "x", "T", "u")},
    }

    return rounded(found)


def kept() -> dict:
    """The file's results."""
    return json.loads(FILE.read_text())


if __name__ == "__main__":
    FILE.write_text(json.dumps(computed()) + "\n")
    print(FILE)
