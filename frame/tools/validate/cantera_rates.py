"""Reaction rates against Cantera's: of a phase, or of each phase that Cantera ships and the reader accepts."""

import pathlib
import warnings

import numpy as np

from kernels import Mixture
from kernels.gas.species import GAS_CONSTANT as R
from kernels.gas.species.cantera_yaml import cantera_data, gas_phases
from kernels.gas.species.reactions import BlowersMasel

from ...errors import ArgumentError, MixtureError
from ..progress import clear, progress
from . import delays, report
from .report import Row
from .scale import EPS

EQUATIONS = {"ideal-gas": "ideal", "Peng-Robinson": "pr", "Redlich-Kwong": "rk"}
SUBSET = 500  # states at most, and numbers of them at most: a state has as many as there are reactions
NUMBERS = 200_000
T_RANGE, LN_P_RANGE = (250.0, 3500.0), (np.log(3e3), np.log(4e7))
NOTHING = 1e-200  # smaller rates count as 0
OTHER_ROOT = 1e-6  # densities that differ by more are another root
TOLERANCE = 8192.0  # the largest seen is 3220, of hydrocarbons with enthalpies of 300 R T
CANCELLED = 1e-2  # of the loss where Cantera's [M] or Blowers-Masel's V - 2w cancels, in tolerances: 80 eps
WHY = (
    f"rates: tolerance {TOLERANCE:g} eps of the (gross) rates: they are exponentials of up to 300, sums of enthalpies "
    "and entropies that cancel; more where [M] is a small part of the concentrations: Cantera takes it as their sum "
    "less what does not count; left out: where Cantera has another root"
)
NAMES = "rate_f rate_r Kc omega_mol creation destruction heat_release"


def draw(ns: int, n: int, seed: int) -> dict:
    """T [K], p [Pa] (n,), Y (ns, n): all species are there, some with a mass fraction of 1e-9. Every fifth point is two
    species and traces."""
    random = np.random.default_rng([seed, ns])
    Y = random.dirichlet(np.full(ns, 0.5), n).T + 1e-9
    Y[:, ::5] = 1e-9
    for k in range(0, n, 5):
        Y[random.integers(0, ns, 2), k] = random.uniform(0.1, 1.0, 2)
    T, p = random.uniform(*T_RANGE, n), np.exp(random.uniform(*LN_P_RANGE, n))

    return {"T": T, "p": p, "Y": np.ascontiguousarray(Y / Y.sum(0))}


def phase(species, gas) -> Mixture:
    """The species with the phase's equation of state and Cantera's choices. Raises ArgumentError."""
    if gas.thermo_model not in EQUATIONS:
        raise ArgumentError(f"phase '{gas.name}': {gas.thermo_model}; wanted one of {', '.join(EQUATIONS)}.")

    options = dict(equation=EQUATIONS[gas.thermo_model], takahashi="off")
    if options["equation"] == "pr":
        options["alpha"] = "cantera"

    return Mixture.from_species(species, kinetics="fugacity", **options)


def sizes(mechanism, ns: int, C, rates) -> tuple:
    """The sizes that errors are measured in: (of the rates (nr, n), of the production of each species (ns, n))."""
    reactions, total = mechanism.reactions, C.sum(0)
    of_rates, gross = np.zeros((len(reactions), C.shape[1])), np.zeros((ns, C.shape[1]))
    for i, r in enumerate(reactions):
        of_rates[i] = 1
        if r.collider:
            weights = r.collider.weights(ns)
            with np.errstate(divide="ignore"):
                of_rates[i] += CANCELLED * (total + np.abs(weights - 1) @ C) / np.abs(weights @ C)

        if isinstance(r.rate, BlowersMasel) and r.rate.E0:
            of_rates[i] += CANCELLED * r.rate.w / abs(r.rate.E0)

        both = (np.abs(rates["rate_f"][i]) + np.abs(rates["rate_r"][i])) * of_rates[i]
        for side in (r.reactants, r.products):
            for s, nu in side.items():
                gross[s] += nu * both

    return of_rates, gross


def compare(name: str, mixture: Mixture, gas, n: int, seed: int, backend) -> list[Row]:
    """Rows of a phase; no rows if it has no reactions. name: stands behind the quantities; empty for nothing."""
    mechanism, ns = mixture.species.mechanism, mixture.ns
    if not mechanism.reactions:
        return []

    # Ours, Cantera's, and the sizes that errors are measured in.
    states = draw(ns, max(5, min(n, SUBSET, NUMBERS // len(mechanism.reactions))), seed)
    given = {k: states[k] for k in "TpY"}
    ours = mixture.properties([*NAMES.split(), "rho"], backend=backend, **given)
    theirs = _theirs(gas, mixture, states, ours)
    W = mixture.species.W[:, None]
    of_rates, gross = sizes(mechanism, ns, ours["rho"] * states["Y"] / W, theirs)
    scale = dict(
        rate_f=np.abs(theirs["rate_f"]) * of_rates,
        rate_r=np.abs(theirs["rate_r"]) * of_rates,
        Kc=theirs["Kc"],
        omega_mol=gross,
        creation=gross * W,
        destruction=gross * W,
        # An enthalpy passes through zero. Its error is the error of its terms, which are about R T or more.
        heat_release=((np.abs(theirs["enthalpies"]) + R * states["T"]) * gross).sum(0),
    )

    other_root = np.abs(ours["rho"] / theirs["rho"] - 1) > OTHER_ROOT

    rows = []
    for key in NAMES.split():
        # Products of small exponentials underflow, and constants beyond the inverse are cut off.
        beyond = (np.abs(ours[key]) > 1 / NOTHING) & (np.abs(theirs[key]) > 1 / NOTHING)
        error = np.where(beyond, 0, ours[key] - np.where(beyond, 0, theirs[key]))
        error = np.where(np.abs(error) < NOTHING, 0, error)

        row = Row("cantera", f"{key}{name and f' of {name}'}", TOLERANCE, "eps of scale", WHY)
        rows.append(row.add(error, EPS * np.maximum(scale[key], NOTHING), states, other_root))

    return rows


def _theirs(gas, mixture: Mixture, states: dict, ours: dict) -> dict[str, np.ndarray]:
    """Cantera's values in SI units, with the shapes of ours; enthalpies [J/mol] (ns, n) too."""
    count = states["T"].size
    theirs = {key: np.empty(value.shape) for key, value in ours.items()}
    theirs["enthalpies"] = np.empty((mixture.ns, count))
    change = (gas.product_stoich_coeffs - gas.reactant_stoich_coeffs).sum(0)  # of moles

    with np.errstate(over="ignore"):
        for k in range(count):
            gas.TPY = states["T"][k], states["p"][k], states["Y"][:, k]
            theirs["rho"][k] = gas.density
            theirs["rate_f"][:, k] = gas.forward_rates_of_progress * 1e3
            theirs["rate_r"][:, k] = gas.reverse_rates_of_progress * 1e3
            theirs["Kc"][:, k] = gas.equilibrium_constants * 1e3**change
            theirs["omega_mol"][:, k] = gas.net_production_rates * 1e3
            theirs["creation"][:, k] = gas.creation_rates * 1e3
            theirs["destruction"][:, k] = gas.destruction_rates * 1e3
            theirs["heat_release"][k] = gas.heat_release_rate
            theirs["enthalpies"][:, k] = gas.partial_molar_enthalpies / 1e3

    for key in ("creation", "destruction"):
        theirs[key] *= mixture.species.W[:, None]
    return theirs


def other_rates(species, thermo: str) -> str:
    """Why rates of a phase are others than Cantera's by definition; "" where they are the same."""
    real = EQUATIONS.get(thermo, "ideal") != "ideal"
    if not real or not any(isinstance(reaction.rate, BlowersMasel) for reaction in species.mechanism.reactions):
        return ""
    return "Blowers-Masel rates go with heats of reaction of the real gas in Cantera, of the ideal gas in the layer"


def phases(folder=None):
    """(path, phase, species, None) of the gas phases with reactions of a folder's files, by default Cantera's own; with
    the reason instead of None, and without species, where they are refused. Raises ArgumentError."""
    folder = folder or cantera_data()
    if folder is None:
        raise ArgumentError("--against cantera: Cantera is not installed.")

    for path in sorted(pathlib.Path(folder).rglob("*.yaml")):
        for name, thermo in gas_phases(path):
            try:
                species = _species(path, name, EQUATIONS.get(thermo, "ideal"))
                has_reactions = species.reactions is not None and species.mechanism.reactions
            except MixtureError as error:
                yield path, name, None, str(error)
                continue

            if not has_reactions:
                continue
            reason = other_rates(species, thermo)
            yield (path, name, None, reason) if reason else (path, name, species, None)


def _species(path, phase: str, equation: str):
    """The species of a phase, without warnings of polynomials that do not meet: `info` reports them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Mixture.from_yaml(path, phase, equation=equation, takahashi="off").species


def sweep(say, states: int, seed: int, backend, folder=None):
    """Rows of all phases. `say` prints each table, and the phases that are left out."""
    wanted = list(phases(folder))
    import cantera as ct

    ct.suppress_thermo_warnings()

    rows, left_out = [], []
    for path, name, species, reason in progress("validate", wanted):
        if reason:
            left_out.append(f"{path.name} {name}: {reason}")
            continue

        gas = ct.Solution(str(path), name)
        mixture = phase(species, gas)
        found = compare(f"{path.name} {name}", mixture, gas, states, seed, backend)
        report.mole_fractions(found, mixture)
        clear()
        say(f"\n{path.name} {name}: {mixture.ns} species, {mixture.nr} reactions{report.table(found)}")
        rows += found

    for text in left_out:
        say(f"\nleft out: {text}")
    if folder is None:
        found = delays.rows(backend)
        say(report.table(found))
        rows += found

    return rows
