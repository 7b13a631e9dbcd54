"""Reference data of pure fluids where CoolProp is not installed: Cantera's equations of state (Reynolds 1979) and
correlations of the viscosity.

Viscosity: Lemmon & Jacobsen, Int. J. Thermophys. 25 (2004) 21 for nitrogen and oxygen; Quinones-Cisneros & Deiters, J.
Phys. Chem. B 110 (2006) 12820 (friction theory) for methane (originals not seen; coefficients as CoolProp has them);
Cantera's own for water.
"""

import functools

import numpy as np

from kernels.gas.species import GAS_CONSTANT as R

NAMES = {"N2": "nitrogen", "O2": "oxygen", "CH4": "methane", "H2": "hydrogen", "CO2": "carbon-dioxide", "H2O": "water"}
# eps/k [K], sigma [nm], Tc [K], rho_c [mol/m3], M [g/mol], then (coefficient [uPa s], t, d, l)
LEMMON_JACOBSEN = {
    "N2": (
        98.94,
        0.3656,
        126.192,
        11183.9,
        28.01348,
        ((10.72, 0.1, 2, 0), (0.03989, 0.25, 10, 1), (0.001208, 3.2, 12, 1), (-7.402, 0.9, 2, 2), (4.620, 0.3, 1, 3)),
    ),
    "O2": (
        118.5,
        0.3428,
        154.581,
        13630.0,
        31.9988,
        ((17.67, 0.05, 1, 0), (0.4042, 0.0, 5, 0), (0.0001077, 2.10, 12, 0), (0.3510, 0.0, 8, 1), (-13.67, 0.5, 1, 2)),
    ),
}


def lemmon_jacobsen(name, T, density):
    """mu [Pa s] of N2 or O2 at T [K], density [mol/m3]."""
    eps, sigma, Tc, critical, M, terms = LEMMON_JACOBSEN[name]
    log = np.log(T / eps)
    omega = np.exp(0.431 + log * (-0.4623 + log * (0.08406 + log * (0.005341 - 0.00331 * log))))
    tau, delta = Tc / T, density / critical
    dense = sum(n * tau**t * delta**d * np.exp(-(delta**l) if l else 0.0) for n, t, d, l in terms)

    return 1e-6 * (0.0266958 * np.sqrt(M * T) / (sigma**2 * omega) + dense)


def methane(T, p, density, p_T):
    """mu [Pa s] of CH4 at T [K], p [Pa], density [mol/m3]; p_T [Pa/K] = dp/dT at constant density."""
    Tr, tau = T / 190.564, 190.564 / T
    psi = np.exp(tau) - 1
    dilute = 2.60536e-6 - 1.85247e-5 * Tr**0.25 + 2.34216e-5 * Tr**0.5
    repulsive, ideal = T * p_T * 1e-5, density * R * T * 1e-5  # bar
    attractive, rest = p * 1e-5 - repulsive, repulsive - ideal
    linear = (
        (-3.12118e-8 + 1.99422e-10 * psi) * attractive
        + (5.98858e-8 - 4.91143e-8 * psi) * rest
        + (3.49668e-8 - 1.73176e-8 * psi) * ideal
    )
    square = (
        (-8.52992e-13 - 3.58009e-13 * psi) * attractive**2
        + (1.60099e-11 + 8.50221e-13 * psi) * rest**2
        + (-3.55631e-10 + 2.80326e-10 * psi) * ideal**2
    )

    return dilute + linear * tau + square * tau**3


@functools.cache
def fluid(name):
    """Cantera's pure fluid of this name."""
    import cantera as ct

    return ct.Water(backend="Reynolds") if name == "H2O" else ct.PureFluid("liquidvapor.yaml", NAMES[name])


class Fluid:
    """A pure fluid: limits, critical point, and `at(T, p)`."""

    def __init__(self, name):
        self.name, self.known = name, fluid(name)
        self.T_range, self.p_highest = (self.known.min_temp, self.known.max_temp), np.inf
        self.Tc, self.rho_c = self.known.critical_temperature, self.known.critical_density

    def at(self, T, p):
        """rho, cp, c, rho_p, mu, lam in SI units, NaN where not known; None where the solver gives up."""
        import cantera as ct

        f = self.known
        try:
            f.TP = T, p
        except ct.CanteraError:
            return None

        rho, rho_p, mu, lam = f.density, f.density * f.isothermal_compressibility, np.nan, np.nan
        moles = 1e3 * rho / f.mean_molecular_weight
        if self.name in LEMMON_JACOBSEN:
            mu = lemmon_jacobsen(self.name, T, moles)
        elif self.name == "CH4":
            mu = methane(T, p, moles, f.thermal_expansion_coeff / f.isothermal_compressibility)
        elif self.name == "H2O":
            mu, lam = f.viscosity, f.thermal_conductivity

        return rho, f.cp_mass, np.sqrt(f.cp_mass / (f.cv_mass * rho_p)), rho_p, mu, lam
