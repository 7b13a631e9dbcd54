"""Against ThermoPack's cubic equations: the species in ThermoPack's data base, its constants and our k_ij in both
codes."""

import dataclasses
import itertools
import math

import numpy as np

from kernels.gas.species import GAS_CONSTANT as R, OMEGA_A, OMEGA_B

from . import others
from .others import Code, comparable, compare_departures
from .report import mole_fractions

SUBSET = 5000
# ThermoPack's name, its alpha, tolerance: ThermoPack solves for the constants by iteration, to some eps. Its van der
# Waals equation is left out: constants good to 1e-13 and no heat capacity.
EQUATIONS = {"pr": ("PR", "Classic", 256.0), "srk": ("SRK", "Classic", 256.0), "rk": ("SRK", "RK", 1024.0)}
# Beyond an acentric factor of 0.491 ThermoPack keeps the alpha of 1976. No species here is so heavy.
NAMES = {
    "N2": "N2",
    "O2": "O2",
    "H2": "H2",
    "CO2": "CO2",
    "CO": "CO",
    "H2O": "H2O",
    "AR": "AR",
    "AR*": "AR",
    "NH3": "NH3",
    "HE": "HE",
    "NO": "NO",
    "CH4": "C1",
    "C2H6": "C2",
    "C3H8": "C3",
    "C2H4": "C2_1",
    "NC4H10": "NC4",
    "NC5H12": "NC5",
    "NC6H14": "NC6",
    "NC7H16": "NC7",
}


def known(species) -> list[str]:
    """The species of which ThermoPack has data."""
    return [name for name in species.names if name.upper() in NAMES]


def missing(mixture) -> str | None:
    """Why ThermoPack cannot be compared with, or None."""
    why = None if known(mixture.species) else "its data base has none of the species"
    return others.missing(mixture, EQUATIONS, "thermopack", why)


def run(job):
    """Rows against ThermoPack's cubic equations, with its own critical data."""
    from thermopack.cubic import cubic

    species = job.mixture.species.subset(known(job.mixture.species))
    name, alpha, tolerance = EQUATIONS[job.mixture.options["equation"]]
    model = cubic(",".join(NAMES[n.upper()] for n in species.names), name, alpha=alpha)

    # Our mixture with ThermoPack's constants.
    numbers = range(1, species.ns + 1)
    Tc = np.array([model.critical_temperature(s) for s in numbers])
    pc = np.array([model.critical_pressure(s) for s in numbers])
    ours = {"Tc": Tc, "pc": pc, "omega": np.array([model.acentric_factor(s) for s in numbers])}
    if job.mixture.options["equation"] == "pr":
        ours |= {"a": OMEGA_A * (R * Tc) ** 2 / pc, "b": OMEGA_B * R * Tc / pc}
    with_constants = type(job.mixture).from_species(dataclasses.replace(species, **ours), **job.mixture.options)
    mixture = comparable(with_constants, mixing="vdw")

    # Our k_ij in ThermoPack.
    for i, j in itertools.permutations(range(mixture.ns), 2):
        model.set_kij(i + 1, j + 1, float(species.kij[i, j]))

    def evaluate(T, v, X, p):
        x = np.array(X)
        pressure, p_T, p_v = model.pressure_tv(T, v, x, dpdt=True, dpdv=True)
        energy, cv = model.internal_energy_tv(T, v, x, dedt=True, property_flag="R")
        (entropy,) = model.entropy_tv(T, v, x, property_flag="R")

        return {
            "p": pressure,
            "H": energy + p * v - R * T,
            "S": entropy + R * math.log(p * v / (R * T)),
            "Cv": cv,
            "Cp": cv - T * p_T**2 / p_v - R,
            "p_T": p_T,
            "p_v": p_v,
        }

    why = (
        f"tolerance {tolerance:g} eps of the conditioned scale: the same formulas, constants solved for by iteration; "
        f"{' '.join(mixture.names)} with ThermoPack's Tc, pc, omega; left out: phase changes, some sqrt(alpha) < 0.02"
    )
    rows = compare_departures(job, mixture, Code("thermopack", evaluate, job.subset(SUBSET), tolerance, why))
    mole_fractions(rows, mixture)

    return rows
