"""`python -m frame fit`: parameters of a fluid for equation `mapped` and residual-entropy transport, from its states;
k_ij of two species, from their bubble and dew points.

States and points are those of CoolProp's reference equations, or of a file, which columns.py reads. Of a fluid:
data.py has the states, equation.py and transport.py the fits, model.py the equations, report.py errors, table.py the
file that is written. Of a pair: pair_points.py has the points, interaction.py the fit, pair.py prints and draws. No
host's path comes here.
"""

from __future__ import annotations

import importlib.util
import pathlib
import time

import numpy as np

import kernels
from kernels.gas.species import GAS_CONSTANT as R
from kernels.gas.species.fluids import Fluid, fluids

from ...errors import ArgumentError
from .. import model_options
from ..reference_fluids import FLUIDS, Reference, States
from . import equation, pair, report, table, transport
from .data import Data, constants, read
from .interaction import fit_kij as fit_kij  # for use from Python

SEED = 20270101  # of the states by which a fit to CoolProp is judged
JUDGED = 3000
EVERY = 5  # of a file's states are judged and not fitted: each fifth, if there are MANY
MANY = 200
ALL = "all"
OF_A_MIXTURE = ("mixture", "phase", "without", "substance", "fluid_table", "gas_constant")  # options

COMMAND = dict(
    help="fit a fluid's parameters of equation mapped and residual-entropy transport, or k_ij of two species",
    description="Of one name: fits a fluid's parameters to CoolProp's reference equations, or to a file of states; "
    "prints the errors by region and writes a row. Of two names, N2/C12H26: fits their k_ij to bubble and dew points "
    "of CoolProp's reference mixtures, or of a file, for an equation of state; prints k_ij and the deviations.",
    epilog="examples: python -m frame fit N2 --from coolprop --plot n2.png; python -m frame fit mine --data mine.csv "
    "--Tc 400 --pc 4e6 --W 0.05 --omega 0.2; python -m frame fit N2/C12H26 --data points.csv --equation pr",
)
NEEDS_MIXTURE = False  # of a pair; its species are the package's without a file
ARGUMENTS = {
    "name": dict(
        metavar="NAME",
        help=f"name of the row and of the species; with --from coolprop of {', '.join(FLUIDS)}, a name of CoolProp, or "
        f"{ALL}: all of the table; or two species, N2/C12H26",
    ),
    "--from": dict(dest="origin", choices=("coolprop",), help="reference equations of CoolProp"),
    "--data": dict(
        type=pathlib.Path,
        metavar="FILE.csv",
        help="states: a line of names, then T [K], p [Pa], rho [kg/m3], and any of cp [J/kg/K], c [m/s], mu [Pa s], "
        "lam [W/m/K], cp0 [J/kg/K] (of the ideal gas; cp, c and lam need it). Of two species points: T, p, and mole "
        "fractions in the liquid, x_N2, or the vapour, y_N2, or both",
    ),
    "--thermo": dict(metavar="FILE", help="Cantera YAML whose species NAME gives cp0 where --data does not"),
    "--Tc": dict(type=float, metavar="K", help="critical temperature (default: of the substance with this name)"),
    "--pc": dict(type=float, metavar="Pa", help="critical pressure"),
    "--W": dict(type=float, metavar="kg/mol", help="molar mass"),
    "--omega": dict(type=float, metavar="1", help="acentric factor"),
    "--rho-c": dict(type=float, metavar="kg/m3", help="critical density (default: estimated)"),
    "--seed": dict(type=int, help=f"of the states by which the fit is judged (default: {SEED})"),
    "--out": dict(
        type=pathlib.Path, metavar="FILE.csv", help="table into which the row is written (default: NAME.csv)"
    ),
    "--plot": dict(type=pathlib.Path, metavar="FILE.png", help="picture of the errors over T and p"),
}


def main(given, mixture) -> None:
    """Runs the command. Raises ArgumentError."""
    if (given.origin is None) == (given.data is None):
        raise ArgumentError("give --from coolprop or --data FILE.csv, one of the two.")

    if pair.is_pair(given.name):
        pair.main(given, mixture)
    else:
        _fit_fluids(given)


def _fit_fluids(given) -> None:
    """Fits one fluid, or all of the table."""
    if importlib.util.find_spec("scipy") is None:
        raise ArgumentError("the Python package scipy is not installed: pip install scipy.")
    _refuse_a_mixture(given)

    names = list(FLUIDS) if given.name == ALL else [given.name]
    if given.name == ALL and given.data:
        raise ArgumentError(f"{ALL}: belongs to --from coolprop; --data has one fluid.")

    rows = []
    for name in names:
        begin = time.perf_counter()
        data = of_coolprop(name, SEED if given.seed is None else given.seed) if given.origin else _of_file(given)
        fluid, notes = fit(data, fluids().get(name))
        rows.append(fluid)
        _say(given, data, fluid, notes, time.perf_counter() - begin)

    out = given.out or pathlib.Path(f"{given.name}.csv")
    table.write(out, rows)
    print(f"written: {out}")


def _refuse_a_mixture(given) -> None:
    """Raises ArgumentError for options of a mixture, which a single fluid does not have."""
    others = [name for name in OF_A_MIXTURE if getattr(given, name)] + list(model_options(given))
    for name in others:
        raise ArgumentError(f"--{name.replace('_', '-')}: belongs to two species, such as N2/C12H26.")


def of_coolprop(name: str, seed: int = SEED) -> Data:
    """A grid of states to fit and random states to judge by, of the reference equations."""
    import CoolProp

    reference = Reference(name)
    source = f"CoolProp {CoolProp.__version__}: {reference.citation()}"
    return Data(reference.critical, reference.grid(), reference.random(JUDGED, seed), source, True)


def _of_file(given) -> Data:
    """States of the file that the options name."""
    keys = ("Tc", "pc", "W", "omega", "rho_c")
    critical = constants(given.name, {key: getattr(given, key) for key in keys})
    states = read(given.data, critical, _heat_capacity(given, critical.W))
    source = f"states of {given.data.name}"
    if states.size < MANY:
        return Data(critical, states, states, source, False)

    judged = np.arange(states.size) % EVERY == EVERY - 1
    return Data(critical, states.chosen(~judged), states.chosen(judged), source, True)


def _heat_capacity(given, W: float):
    """Function of T [K] that gives cp0 [J/kg/K] by the polynomial of --thermo; None without that option."""
    if given.thermo is None:
        return None

    species = kernels.Mixture.from_yaml(given.thermo, equation="ideal", critical="fill").species
    at = species.index(given.name)
    return lambda T: species.polynomial(at, T)[0] * R / W


def fit(data: Data, present: Fluid | None) -> tuple[Fluid, list[str]]:
    """(the row with its errors, notes on what the states did not fix). present: the fluid's row, a start."""
    start = report.parameters(present)[1] if present else None
    fitted = equation.fit(data.critical, data.fitted, start)
    laws, notes = transport.fit(data.critical, fitted.equation, data.fitted)

    # The errors are those of the numbers as the file has them.
    fluid = report.row(data.critical, fitted.equation, laws)
    errors = report.by_region(data.critical, data.judged, deviations(fluid, data.judged))
    return report.with_errors(fluid, data.fitted, data.source, errors), notes


def deviations(fluid: Fluid, states: States) -> dict:
    """{quantity: relative deviations (n,)} of a row at states."""
    return report.deviations(*report.parameters(fluid), states)


def _say(given, data: Data, fluid: Fluid, notes: list[str], seconds: float) -> None:
    """Prints the errors, and draws them."""
    judged = "random states that were not fitted" if given.origin else "states that were not fitted"
    if not data.held_out:
        judged = "the fitted states: too few to hold some back"
    deviation = deviations(fluid, data.judged)
    errors = report.by_region(data.critical, data.judged, deviation)

    print(f"{fluid.fluid}: {data.source}; {data.fitted.size} states, {seconds:.1f} s; {data.judged.size} {judged}")
    print(report.text(errors), flush=True)
    for note in notes:
        print(f"  {note}")

    if given.plot:
        path = given.plot
        if given.name == ALL:
            path = path.with_name(f"{path.stem}_{fluid.fluid}{path.suffix}")
        report.draw(path, data.critical, data.judged, deviation, f"{fluid.fluid}: errors of the fit")
        print(f"  drawn: {path}")
