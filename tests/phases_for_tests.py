"""Mixtures and random states with two phases, for tests."""

from functools import lru_cache

import numpy as np

from kernels import Mixture, SpeciesData

R = 8.31446261815324
# Tc [K], pc [Pa], omega, W [kg/mol], cp/R
NUMBERS = {
    "N2": (126.192, 33.958e5, 0.0372, 28.0134e-3, 3.5),
    "C12H26": (658.1, 18.17e5, 0.574, 170.33e-3, 40.0),
    "CH4": (190.564, 45.992e5, 0.01142, 16.0428e-3, 4.3),
    "O2": (154.581, 50.43e5, 0.0222, 31.9988e-3, 3.5),
    "CO2": (304.1282, 73.773e5, 0.22394, 44.0098e-3, 4.5),
    "H2O": (647.096, 220.64e5, 0.3443, 18.01528e-3, 4.0),
    "iC4": (407.81, 36.29e5, 0.184, 58.1222e-3, 11.7),
    "nC4": (425.125, 37.96e5, 0.201, 58.1222e-3, 11.9),
    "nC5": (469.7, 33.7e5, 0.251, 72.1488e-3, 14.5),
    "nC6": (507.82, 30.34e5, 0.299, 86.1754e-3, 17.2),
}
NUMBERS["N2b"] = NUMBERS["N2"]  # the same under another name
KIJ = {("N2", "C12H26"): 0.19, ("CH4", "CO2"): 0.0978, ("O2", "CO2"): 0.1, ("CO2", "H2O"): 0.0952}
CRITICAL_Z = {"N2": 0.289, "C12H26": 0.25, "CH4": 0.286}  # for Vc, which rkpr needs; 0.27 of the others

SPRAY, ALKANES, PRODUCTS = ("N2", "C12H26"), ("iC4", "nC4", "nC5", "nC6"), ("CH4", "O2", "CO2", "H2O")
RANGES = {SPRAY: (300, 650, 1e5, 2e7), ALKANES: (300, 420, 1e5, 2e6), PRODUCTS: (280, 550, 1e5, 2e7)}
# What `flash` asks for: always the same, so that a mixture has one program for each set of given names
FOUND = "T p vol rho h e s Y Y_l Y_v rho_l rho_v beta beta_mass beta_volume phases_status ln_kappa eta phases_steps"


@lru_cache
def species(names, kij="file"):
    """SpeciesData with constant heat capacities, h = 0 at 0 K. kij: as above, or none."""
    Tc, pc, omega, W, cp = np.array([NUMBERS[name] for name in names]).T
    nasa = np.zeros((len(names), 7))
    nasa[:, 0] = cp
    k = np.array([[KIJ.get((a, b), KIJ.get((b, a), 0.0)) for b in names] for a in names])
    Vc = np.array([CRITICAL_Z.get(name, 0.27) for name in names]) * R * Tc / pc
    return SpeciesData.from_arrays(
        names,
        W,
        omega,
        nasa,
        nasa,
        1000.0,
        Tc=Tc,
        pc=pc,
        kij=0 * k if kij == "none" else k,
        Vc=Vc,
        T_min=20.0,
        T_max=6e3,
    )


@lru_cache
def mixture(names, kij="file", **options):
    return Mixture(species(names, kij), phases="equilibrium", **options)


@lru_cache
def states(names, n=400, seed=1):
    """T, p and X (ns, n) at random over the mixture's dome and around it."""
    low, high, p_low, p_high = RANGES[names]
    random = np.random.default_rng(seed)
    T = random.uniform(low, high, n)
    p = np.exp(random.uniform(np.log(p_low), np.log(p_high), n))
    return T, p, random.dirichlet(np.ones(len(names)), n).T.copy()


def moles(names, Y):
    n = Y / species(names).W[:, None]
    return n / n.sum(0)


def flash(mix, **given):
    """FOUND of a mixture from other quantities."""
    return mix.properties(FOUND, **given)


@lru_cache
def results(names):
    """FOUND at the states of a mixture."""
    T, p, X = states(names)
    return flash(mixture(names), T=T, p=p, X=X)
