"""Comparison with CoolProp's cubic backends. Its fluids are made from the mixture's own constants."""

import json
import math

from kernels.species import GAS_CONSTANT as R

from .others import comparable, compare_departures, equation, not_installed

SUBSET = 5000
BACKENDS = {"pr": "PR", "srk": "SRK"}
OMEGA_LIMIT = 0.491  # beyond it CoolProp keeps the alpha of 1976
# CoolProp writes the equation as a Helmholtz energy in tau and delta and multiplies its derivatives back together. In a
# cold liquid p and its slopes are differences of terms that are 10 to 100 times larger (1/(1 - b rho) up to 30, squared
# in dp/dv), with a dozen roundings each.
TOLERANCE = 16384.0


def missing(mixture) -> str | None:
    if equation(mixture) not in BACKENDS:
        return f"it has no equation {equation(mixture)}"
    if equation(mixture) == "pr" and mixture.species.omega.max() > OMEGA_LIMIT:
        return f"its alpha is that of 1976 for acentric factors above {OMEGA_LIMIT} too"
    return not_installed("CoolProp", "CoolProp")


_registered: set[str] = set()


def _register(CP, backend, species):
    """Names of CoolProp fluids with these constants. Their ideal-gas part is arbitrary: only departures are
    compared."""
    names = []
    for s in range(species.ns):
        constants = (float(species.Tc[s]), float(species.pc[s]), float(species.omega[s]))
        name = f"FRAME{abs(hash((backend, species.names[s], *constants))):X}"
        names.append(name)
        fluid = {
            "name": name,
            "CAS": name,
            "aliases": [],
            "Tc": float(species.Tc[s]),
            "Tc_units": "K",
            "pc": float(species.pc[s]),
            "pc_units": "Pa",
            "acentric": float(species.omega[s]),
            "molemass": float(species.W[s]),
            "molemass_units": "kg/mol",
            "rhomolarc": float(species.pc[s] / (0.3 * R * species.Tc[s])),
            "rhomolarc_units": "mol/m^3",
            "alpha0": [
                {"type": "IdealGasHelmholtzLead", "a1": 0.0, "a2": 0.0},
                {"type": "IdealGasHelmholtzLogTau", "a": 2.5},
            ],
        }
        if name not in _registered:
            CP.add_fluids_as_JSON(backend, json.dumps([fluid]))
            _registered.add(name)
    return names


def run(job):
    import CoolProp.CoolProp as CP

    mixture = comparable(job.mixture, alpha="pr78", mixing="vdw")
    backend = BACKENDS[equation(mixture)]
    names = _register(CP, backend, mixture.species)
    fluid = CP.AbstractState(backend, "&".join(names))
    for i in range(mixture.ns):
        for j in range(i):
            if mixture.species.kij[i, j]:
                fluid.set_binary_interaction_double(i, j, "kij", float(mixture.species.kij[i, j]))
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

    return compare_departures(
        job,
        mixture,
        evaluate,
        "coolprop",
        job.subset(SUBSET),
        TOLERANCE,
        f"tolerance {TOLERANCE:g} eps of the conditioned scale: the {backend} backend writes the same equation as a "
        "Helmholtz energy "
        "in tau and delta; left out: phase changes, some sqrt(alpha) < 0.02",
    )
