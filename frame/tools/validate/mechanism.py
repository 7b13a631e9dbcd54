"""A mechanism of the user against Cantera: `validate --mechanism FILE`.

Of each gas phase of the file: thermodynamics; of its reactions: rates, equilibrium constants, net production, heat
release.
"""

import warnings
from dataclasses import dataclass, field

import numpy as np

from kernels import Mixture
from kernels.gas.species.cantera_yaml import gas_phases

from ...errors import ArgumentError, MixtureError, closest, refuse
from ..progress import clear, progress
from . import cantera_rates, report
from .others import not_installed
from .report import Row
from .scale import EPS, scales

GETTERS = {
    "h": "enthalpy_mass",
    "e": "int_energy_mass",
    "s": "entropy_mass",
    "cp": "cp_mass",
    "cv": "cv_mass",
    "c": "sound_speed",
}
SUBSET = 500  # states of the thermodynamics
TOLERANCE = 128.0  # as of the properties of Peng-Robinson phases, see cantera.py
# Relative error of Cantera's Omega_a and Omega_b of Redlich-Kwong, 12 digits each, from which a and b follow: the
# conditioned scale carries it on as it does a rounding.
OMEGAS = 8e-13
WHY = (
    f"thermodynamics: tolerance {TOLERANCE:g} eps of the conditioned scale: the same polynomials and equation of "
    "state, summed species by species; p is Cantera's at our density, so that neither code chooses a root; of "
    f"Redlich-Kwong's equation {OMEGAS:g} in place of {TOLERANCE:g} eps, as Cantera has its Omega_a and Omega_b in 12 "
    "digits"
)


@dataclass
class Found:
    """Results for the phases of a file."""

    rows: list[Row] = field(default_factory=list)
    not_read: list[str] = field(default_factory=list)  # a phase and the reason, of the layer or of Cantera


def thermodynamics(name: str, mixture: Mixture, gas, n: int, seed: int, backend) -> list[Row]:
    """Rows of p, h, e, s, cp, cv and c at random states. name: stands behind the quantities; may be empty."""
    states = cantera_rates.draw(mixture.ns, min(n, SUBSET), seed + 1)
    given = {key: states[key] for key in "TpY"}
    wanted = [*GETTERS, "rho", "rho_p"]
    ours = mixture.properties(wanted, backend=backend, **given)

    theirs = {key: np.empty(states["T"].size) for key in ("p", *GETTERS)}

    for k in range(states["T"].size):
        gas.TDY = states["T"][k], ours["rho"][k], states["Y"][:, k]
        theirs["p"][k] = gas.P
        for key, getter in GETTERS.items():
            theirs[key][k] = getattr(gas, getter)

    # The density's own conditioning reaches the pressure through 1/rho_p.
    scale, undecided = scales(mixture, wanted, given, backend)
    unit = OMEGAS / TOLERANCE if mixture.options["equation"] == "rk" else EPS
    size = {key: unit * scale[key] for key in GETTERS}
    size["p"] = unit * (given["p"] + scale["rho"] / ours["rho_p"])
    ours["p"] = given["p"]

    rows = []
    for key in ("p", *GETTERS):
        title = "p at our rho" if key == "p" else key
        row = Row("cantera", f"{title}{name and f' of {name}'}", TOLERANCE, "eps of scale", WHY)
        rows.append(row.add(ours[key] - theirs[key], size[key], states, undecided))

    return rows


def compare(path, phase: str, thermo: str, label: str, job) -> tuple[Mixture, list[Row]]:
    """The mixture of a phase, and its rows. job: states, seed, backend. Raises MixtureError, which says who cannot read
    the phase."""
    import cantera as ct

    equation = cantera_rates.EQUATIONS.get(thermo, "ideal")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # polynomials that do not meet: `info` reports them
        try:
            species = Mixture.from_yaml(path, phase, equation=equation, takahashi="off").species
            has_reactions = species.reactions is not None and bool(species.mechanism.reactions)
        except MixtureError as error:
            raise MixtureError(f"the layer cannot read it: {error}") from None

    reason = cantera_rates.other_rates(species, thermo) if has_reactions else ""
    if reason:
        raise MixtureError(reason)

    try:
        gas = ct.Solution(str(path), phase)
    except (ct.CanteraError, ValueError, RuntimeError) as error:
        raise MixtureError(f"Cantera cannot read it: {first_words(error)}") from None

    if list(gas.species_names) != list(species.names):
        raise MixtureError(f"Cantera has other species: {', '.join(gas.species_names[:8])}, ...")

    mixture = cantera_rates.phase(species, gas)
    rows = thermodynamics(label, mixture, gas, job.states, job.seed, job.backend)
    if has_reactions:
        rows += cantera_rates.compare(label, mixture, gas, job.states, job.seed, job.backend)
    report.mole_fractions(rows, mixture)

    return mixture, rows


def first_words(error: Exception, most=4) -> str:
    """The first lines of a message of Cantera, without its rules of stars."""
    lines = [line.strip() for line in str(error).splitlines()]
    lines = [line for line in lines if line and not line.startswith("***")]
    return " ".join(lines[:most])


def sweep(path, wanted: str | None, job, say) -> Found:
    """Compare the gas phases of a file, or the wanted one. A phase that the layer or Cantera cannot read is reported,
    the others go on. Raises ArgumentError where Cantera is not installed or the file has no such phase, MixtureError
    for a file that is no mechanism."""
    reason = not_installed("cantera", "cantera")
    refuse(reason is not None, f"--mechanism: {reason}.", ArgumentError)
    import cantera as ct

    ct.suppress_thermo_warnings()
    phases = dict(gas_phases(path))
    refuse(not phases, f"{path}: has no gas phase, wanted one of {', '.join(cantera_rates.EQUATIONS)}.", ArgumentError)
    if wanted is not None:
        like = closest(wanted, phases)
        refuse(wanted not in phases, f"{path}: has no gas phase {wanted!r}{like}; it has {', '.join(phases)}.")
        phases = {wanted: phases[wanted]}

    found = Found()
    for phase, thermo in progress("validate", list(phases.items())):
        try:
            mixture, rows = compare(path, phase, thermo, phase if len(phases) > 1 else "", job)
        except MixtureError as error:
            clear()
            found.not_read.append(f"phase '{phase}': {error}")
            say(f"\nnot compared: {found.not_read[-1]}")
            continue

        clear()
        count = len(mixture.species.mechanism.reactions) if mixture.species.reactions is not None else 0
        say(f"\nphase '{phase}': {mixture.ns} species, {count} reactions{report.table(rows)}")
        found.rows += rows

    return found
