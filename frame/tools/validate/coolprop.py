"""Comparison with CoolProp's cubic backends. Its fluids are made from the mixture's own constants."""

import functools
import json
import math

import numpy as np

from kernels.gas.species import GAS_CONSTANT as R

from . import others
from .others import Code, comparable, compare_departures

SUBSET = 5000
BACKENDS = {"pr": "PR", "srk": "SRK"}
OMEGA_LIMIT = 0.491  # beyond it CoolProp keeps the alpha of 1976
# CoolProp writes the equation as a Helmholtz energy in tau and delta and multiplies the derivatives back together. In a
# cold liquid p and its slopes are differences of terms that are 10 to 100 times larger (1/(1 - b rho) up to 30, squared
# in dp/dv), with a dozen roundings each.
TOLERANCE = 16384.0


def missing(mixture) -> str | None:
    """Why CoolProp cannot be compared with, or None."""
    heavy = mixture.options["equation"] == "pr" and mixture.species.omega.max() > OMEGA_LIMIT
    why = f"its alpha is that of 1976 for acentric factors above {OMEGA_LIMIT} too" if heavy else None
    return others.missing(mixture, BACKENDS, "CoolProp", why)


@functools.cache
def _register(CP, backend, species, Tc, pc, omega, W):
    """Name of a CoolProp fluid with these constants. Its ideal-gas part is arbitrary: only departures are compared."""
    name = f"FRAME{abs(hash((backend, species, Tc, pc, omega, W))):X}"
    fluid = {
        "name": name,
        "CAS": name,
        "aliases": [],
        "Tc": Tc,
        "Tc_units": "K",
        "pc": pc,
        "pc_units": "Pa",
        "acentric": omega,
        "molemass": W,
        "molemass_units": "kg/mol",
        "rhomolarc": pc / (0.3 * R * Tc),
        "rhomolarc_units": "mol/m^3",
        "alpha0": [
            {"type": "IdealGasHelmholtzLead", "a1": 0.0, "a2": 0.0},
            {"type": "IdealGasHelmholtzLogTau", "a": 2.5},
        ],
    }
    CP.add_fluids_as_JSON(backend, json.dumps([fluid]))

    return name


def run(job):
    """Rows against CoolProp's cubic equations at our T and molar volume."""
    import CoolProp.CoolProp as CP

    # The mixture in CoolProp.
    mixture = comparable(job.mixture, mixing="vdw")
    backend = BACKENDS[mixture.options["equation"]]
    species = mixture.species
    constants = zip(*(getattr(species, field).tolist() for field in ("Tc", "pc", "omega", "W")))
    names = [_register(CP, backend, name, *values) for name, values in zip(species.names, constants)]
    fluid = CP.AbstractState(backend, "&".join(names))
    for i, j in np.argwhere(np.tril(species.kij)):
        fluid.set_binary_interaction_double(int(i), int(j), "kij", float(species.kij[i, j]))
    fluid.specify_phase(CP.iphase_gas)  # avoids a flash: T and v are given

    def evaluate(T, v, X, p):
        if mixture.ns > 1:
            fluid.set_mole_fractions(X)
        fluid.update(CP.DmolarT_INPUTS, 1 / v, T)

        ideal = fluid.cp0molar()
        p_rho = fluid.first_partial_deriv(CP.iP, CP.iDmolar, CP.iT)

        # CoolProp's residual entropy is taken at constant T and rho, the departure at constant T and p
        return {
            "p": fluid.p(),
            "H": fluid.hmolar_residual(),
            "S": fluid.smolar_residual() + R * math.log(p * v / (R * T)),
            "Cp": fluid.cpmolar() - ideal,
            "Cv": fluid.cvmolar() - (ideal - R),
            "p_T": fluid.first_partial_deriv(CP.iP, CP.iT, CP.iDmolar),
            "p_v": -p_rho / v**2,
        }

    why = (
        f"tolerance {TOLERANCE:g} eps of the conditioned scale: the {backend} backend writes the same equation as a "
        "Helmholtz energy in tau and delta; left out: phase changes, some sqrt(alpha) < 0.02"
    )
    return compare_departures(job, mixture, Code("coolprop", evaluate, job.subset(SUBSET), TOLERANCE, why))
