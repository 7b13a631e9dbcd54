"""Ignition delays by `react`, from gases without radicals, beside CVODE through Cantera."""

import tempfile

import numpy as np

from kernels import Mixture, set_constant
from kernels.engine.registry import declared

from ..bench.kinetics import files
from .report import Row

METHANE = "CH4:1, O2:2"
# name: mechanism of `bench kinetics`, gas, {bar: K at the start}
GASES = {
    "H2 in air": ("h2o2", "H2:2, O2:1, N2:3.76", {1: 1000.0, 10: 1200.0, 100: 1300.0}),
    "H2 in O2": ("h2o2", "H2:2, O2:1", {10: 1100.0}),
    "CH4 in O2": ("CH4/O2", METHANE, {1: 1700.0, 10: 1600.0, 100: 1500.0}),
    "GRI-3.0 in air": ("GRI-3.0", f"{METHANE}, N2:7.52", {1: 1700.0, 10: 1600.0, 100: 1500.0}),
}
CASES = {}  # name: mechanism, X, T [K] at the start, p [Pa]
for _name, (_mechanism, _X, _starts) in GASES.items():
    for _bar, _T in _starts.items():
        CASES[f"{_name}, {_bar} bar"] = (_mechanism, _X, _T, _bar * 1e5)
LIMITS = {1e-4: 3e-4, 1e-6: 5e-5}  # by react_rtol, relative
RISE, CVODE, POINTS = 400.0, (1e-11, 1e-20), 65  # K, where it has ignited; relative and absolute tolerance
WHY = "delays: tolerance by react_rtol, CVODE has 1e-11; constant volume, until T is 400 K higher"


def of_cvode(path, X, T, p):
    """(delay [s], Y at the start) by CVODE, from T [K], p [Pa] and mole fractions X."""
    import cantera as ct

    gas = ct.Solution(str(path))
    gas.TPX = T, p, X
    Y = gas.Y
    reactor = ct.IdealGasReactor(gas, clone=False)
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol = CVODE
    before = at = (0.0, T)
    while at[1] < T + RISE:
        before, at = at, (net.step(), reactor.T)

    return np.interp(T + RISE, (before[1], at[1]), (before[0], at[0])), Y


def off(mixture, wanted, Y, T, p, rtol, backend=None) -> float:
    """Relative difference of the delay at react_rtol; NaN if it is more than twice the limit.

    All points start alike and have different dt, so their T is a curve over time.
    """
    usual = float(declared.constants.value_of("react_rtol")[0])
    set_constant("react_rtol", rtol)

    try:
        shares = 2 * LIMITS[rtol] * np.linspace(-1, 1, POINTS)
        reached = mixture.react(T, p, Y[:, None], wanted * (1 + shares), backend=backend)["T"]
    finally:
        set_constant("react_rtol", usual)

    return float(np.interp(T + RISE, reached, shares, left=np.nan, right=np.nan))


def rows(backend=None) -> list[Row]:
    """A row for each case and tolerance."""
    out, mixtures = [], {}
    with tempfile.TemporaryDirectory() as folder:
        paths = dict(files(folder))
        for name, (mechanism, X, T, p) in CASES.items():
            if mechanism not in mixtures:
                mixtures[mechanism] = Mixture.from_yaml(paths[mechanism], equation="ideal", takahashi="off")
            wanted, Y = of_cvode(paths[mechanism], X, T, p)

            for rtol, limit in LIMITS.items():
                row = Row("cantera", f"delay of {name}, {wanted:.4g} s; rtol {rtol:g}", limit, "relative", WHY)
                error = off(mixtures[mechanism], wanted, Y, T, p, rtol, backend)
                out.append(row.add(np.array([error]), 1.0, {"T": T, "p": p}))

    return out
