"""Peng-Robinson phases for Cantera made from its gri30.yaml and nDodecane_Reitz.yaml, and their data as a record.

Critical constants: rounded values of the NIST WebBook and of Poling's appendix A as commonly tabulated; they only
have to be the same on both sides of a comparison.
"""

from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import cantera as ct
import numpy as np
from ruamel.yaml import YAML

from .species import OMEGA_A, OMEGA_B, R

#            Tc [K]   pc [Pa]   omega
CRITICAL = {
    "N2": (126.192, 3.3958e6, 0.0372),
    "O2": (154.581, 5.043e6, 0.0222),
    "CH4": (190.564, 4.5992e6, 0.01142),
    "CO2": (304.1282, 7.3773e6, 0.22394),
    "H2": (33.145, 1.2964e6, -0.219),
    "CO": (132.86, 3.494e6, 0.050),
    "H2O": (647.096, 22.064e6, 0.3443),
    "AR": (150.687, 4.863e6, -0.00219),
    "C2H6": (305.322, 4.8722e6, 0.0995),
    "c12h26": (658.1, 1.817e6, 0.574),
}

# of the size of n-dodecane; the file with its NASA polynomials has no transport data
LARGE_ALKANE = {
    "model": "gas",
    "geometry": "nonlinear",
    "well-depth": 790.0,
    "diameter": 7.05,
    "rotational-relaxation": 1.0,
}


def _kij(ns, seed):
    rng = np.random.default_rng(seed)
    k = np.triu(rng.uniform(-0.05, 0.15, (ns, ns)), 1)
    return k + k.T


def build(names, with_kij=False, thermo="Peng-Robinson"):
    """(ct.Solution, record) with a, b from the critical constants and, if asked, random k_ij given as binary-a."""
    loader = YAML(typ="safe")
    data = Path(ct.__file__).parent / "data"
    source = {}

    for file in ("nDodecane_Reitz.yaml", "gri30.yaml"):
        for entry in loader.load((data / file).read_text())["species"]:
            source[entry["name"]] = entry

    crit = np.array([CRITICAL[n] for n in names])
    Tc, pc, omega = crit.T
    r = float(R)
    a, b = float(OMEGA_A) * (r * Tc) ** 2 / pc, float(OMEGA_B) * r * Tc / pc
    kij = _kij(len(names), 7) if with_kij else np.zeros((len(names),) * 2)
    species, elements = [], {}

    for k, name in enumerate(names):
        entry = {key: source[name][key] for key in ("name", "composition", "thermo")}
        entry["transport"] = source[name].get("transport", LARGE_ALKANE)

        entry["equation-of-state"] = {
            "model": "Peng-Robinson",
            "a": f"{float(a[k])!r} Pa*m^6/mol^2",
            "b": f"{float(b[k])!r} m^3/mol",
            "acentric-factor": float(omega[k]),
        }
        if with_kij:
            entry["equation-of-state"]["binary-a"] = {
                other: f"{float(np.sqrt(a[k] * a[j]) * (1 - kij[k, j]))!r} Pa*m^6/mol^2"
                for j, other in enumerate(names)
                if j != k
            }

        entry["critical-parameters"] = {
            "critical-temperature": float(Tc[k]),
            "critical-pressure": float(pc[k]),
            "acentric-factor": float(omega[k]),
        }

        elements.update(dict.fromkeys(entry["composition"]))
        species.append(entry)

    phase = {
        "name": "gas",
        "thermo": thermo,
        "elements": list(elements),
        "species": list(names),
        "transport": "high-pressure-Chung",
        "state": {"T": 300.0, "P": 101325.0},
    }

    text = StringIO()
    YAML(typ="safe").dump({"phases": [phase], "species": species}, text)
    gas = ct.Solution(yaml=text.getvalue())

    return gas, record(gas, Tc, pc, omega, a, b, kij)


def record(gas, Tc, pc, omega, a, b, kij):
    """A SpeciesData look-alike from a Solution's own NASA coefficients, molar masses, dipoles and diffusion fits."""
    ns = gas.n_species
    coeffs = np.array([s.thermo.coeffs for s in gas.species()])  # T_mid, high 7, low 7
    fit = np.zeros((5, ns, ns))

    for i in range(ns):
        for j in range(ns):
            fit[:, i, j] = gas.get_binary_diff_coeffs_polynomial(i, j)

    nan = np.full(ns, np.nan)
    return SimpleNamespace(
        names=tuple(gas.species_names),
        W=gas.molecular_weights / 1000,
        Tc=Tc,
        pc=pc,
        omega=omega,
        a=a,
        b=b,
        kij=kij,
        Vc=nan,
        dipole=np.array([s.transport.dipole for s in gas.species()]) * 299792458e21,
        kappa_assoc=np.zeros(ns),
        T_mid=coeffs[:, 0],
        nasa_high=coeffs[:, 1:8],
        nasa_low=coeffs[:, 8:15],
        fuller_volume=nan,
        binary_fit=fit,
    )
