"""Low-pressure binary diffusion coefficients and viscosities from kinetic theory (Chapman-Enskog).

Binary diffusion has two polynomial fits: p D_ij in ln T, as Cantera, and 1/(p D_ij) in T^(-1/4).

    p D_ij = (3/16) sqrt(2 pi/m_ij) (k T)^(3/2) / (pi sigma_ij^2 Omega11(T*_ij, delta*_ij))                    [Pa m2/s]

m_ij is the reduced mass, T* = k T/eps_ij, delta* = mu_i mu_j/(2 (4 pi eps_0) eps_ij sigma_ij^3). Combining rules:
sigma_ij the arithmetic mean, eps_ij the geometric mean, both corrected when one partner is polar and the other is not
(Hirschfelder, Curtiss & Bird 1954, sec. 8.6; original not seen). Tables, interpolation and fit follow Cantera's
GasTransport, so that D can be compared with Cantera digit by digit.
"""

from functools import lru_cache

import numpy as np

from ...engine.errors import MixtureError, refuse
from . import monchick_mason as mm

BOLTZMANN = 1.380649e-23  # J/K, exact (SI 2019)
AVOGADRO = 6.02214076e23  # 1/mol, exact (SI 2019)
EPSILON_0 = 8.8541878128e-12  # F/m, CODATA 2018
DEBYE = 1e-21 / 299792458.0  # C m

N_TEMPERATURES = 50  # equally spaced in T, ends included: Cantera's choice
DEGREE = 4  # degree of binary_fit
FRICTION_NODES = 60  # temperatures of friction_fit
FRICTION_DEGREE = 3  # degree of friction_fit
SLAB = 4096  # pairs fitted at a time: a pair takes 12 kB, all pairs of 4000 species would take 90 GB


@lru_cache(maxsize=1)
def _delta_polynomials():
    """Degree-6 least-squares polynomials in delta* through each row of the tables: (37, 7) for Omega22 and for A*."""
    vandermonde = np.vander(mm.DELTA, 7, increasing=True)
    return tuple(np.linalg.lstsq(vandermonde, table.T, rcond=None)[0].T for table in (mm.OMEGA22, mm.A_STAR))


def _table_rows(delta, table, polynomials):
    """Values at all tabulated T* for each delta*: (n, 37). For delta* = 0 the table's own column is used."""
    rows = np.vander(delta, 7, increasing=True) @ polynomials.T
    rows[delta == 0.0] = table[:, 0]
    return rows


def _omega22_a_star(t_star, delta):
    """Omega(2,2)* and A* (n, m) for t_star (n, m) and delta (n,).

    Each table is interpolated by a parabola in ln T* through three neighbouring rows and extrapolated beyond its ends
    (0.1 and 100). delta* above 2.5 is outside the tables.
    """
    t_star = np.asarray(t_star, float)
    delta = np.asarray(delta, float)

    # The three rows of the tables around each T*.
    above = np.searchsorted(mm.T_STAR, t_star, side="right")  # rows with T*_row <= t_star
    first = np.clip(above - 1, 0, len(mm.T_STAR) - 4)
    rows = first[..., None] + np.arange(3)

    # Lagrange weights of the parabola in ln T*.
    x = np.log(t_star)
    log_t = np.log(mm.T_STAR)
    x1, x2, x3 = log_t[first], log_t[first + 1], log_t[first + 2]
    w = np.stack(
        [
            (x - x2) * (x - x3) / ((x1 - x2) * (x1 - x3)),
            (x - x1) * (x - x3) / ((x2 - x1) * (x2 - x3)),
            (x - x1) * (x - x2) / ((x3 - x1) * (x3 - x2)),
        ],
        axis=-1,
    )

    # Both tables at delta*.
    poly22, poly_a = _delta_polynomials()
    pair = np.arange(len(delta))[:, None, None]
    o22 = _table_rows(delta, mm.OMEGA22, poly22)[pair, rows]
    a = _table_rows(delta, mm.A_STAR, poly_a)[pair, rows]
    return (w * o22).sum(-1), (w * a).sum(-1)


def omega11(t_star, delta):
    """Reduced collision integral Omega(1,1)* = Omega(2,2)*/A*, (n, m) for t_star (n, m) and delta (n,)."""
    o22, a = _omega22_a_star(t_star, delta)
    return o22 / a


def species_viscosity(species, T):
    """Low-pressure viscosities of the species [Pa s], (ns, nT), at T [K] (nT,).

    mu_i = 5/16 sqrt(pi m k T)/(pi sigma^2 Omega22(T*, delta*)), m the mass of a molecule.
    """
    each = np.arange(len(species.names))
    reduced_mass, diameter, depth, delta = pair_parameters(species, each, each)
    mass = (2 * reduced_mass)[:, None]

    omega22, _ = _omega22_a_star(T / depth[:, None], delta)
    return 5 / 16 * np.sqrt(np.pi * mass * BOLTZMANN * T) / (np.pi * diameter[:, None] ** 2 * omega22)


def viscosity_fit(species, law, T_low, T_high):
    """Viscosity laws of the species, fitted to species_viscosity: (2, ns), rows factor and constant, for Pa s.

    law "sutherland": mu = factor T^1.5/(T + constant); "powerlaw": mu = factor T^constant.
    Least squares at 50 temperatures from T_low to T_high [K]: relative residuals for Sutherland's law, ln mu for the
    power law. Sutherland's constant is at least -T_low/2, so that no pole lies in the range. Species without transport
    data get nan. Raises MixtureError unless 0 < T_low < T_high.
    """
    refuse(
        not 0 < T_low < T_high < np.inf,
        f"viscosity fit: temperature range is ({T_low}, {T_high}) K, wanted 0 < low < high.",
        MixtureError,
    )
    T = np.geomspace(T_low, T_high, N_TEMPERATURES)
    known = np.isfinite(species.diameter) & np.isfinite(species.well_depth)

    out = np.full((2, len(species.names)), np.nan)
    for s in np.flatnonzero(known):
        mu = species_viscosity(species.subset([species.names[s]]), T)[0]
        out[:, s] = _power_law(T, mu) if law == "powerlaw" else _sutherland(T, mu)
    return out


def _power_law(T, mu):
    """(factor, exponent) of mu = factor T^exponent, by least squares of ln mu."""
    exponent, log_factor = np.polyfit(np.log(T), np.log(mu), 1)
    return np.exp(log_factor), exponent


def _sutherland(T, mu):
    """(factor, S) of mu = factor T^1.5/(T + S), by least squares of relative residuals; S is at least -T[0]/2."""
    # T^1.5/mu = (T + S)/factor is linear in T. Each equation is divided by its left side: relative residuals.
    left = T**1.5 / mu
    columns = np.stack([T / left, 1 / left], 1)
    (slope, at_zero), *_ = np.linalg.lstsq(columns, np.ones(T.size), rcond=None)

    S = max(at_zero / slope, -0.5 * T[0])
    factor = 1 / np.mean(left / (T + S))
    return factor, S


def pair_parameters(species, i, j):
    """Reduced mass [kg], diameter [m], well depth over k [K] and delta* [-] of the pairs (i, j), each (pairs,).

    i, j: indices of species (pairs,). Raises MixtureError if a species lacks the data.
    """
    species.require("diameter", "well_depth", "dipole", "polarizability", purpose="kinetic-theory diffusion")
    sigma, eps = species.diameter, species.well_depth
    dipole = species.dipole * DEBYE

    # Combining rules.
    mass = species.W[i] * species.W[j] / (AVOGADRO * (species.W[i] + species.W[j]))
    diameter = 0.5 * (sigma[i] + sigma[j])
    depth = np.sqrt(eps[i] * eps[j])
    delta = 0.5 * dipole[i] * dipole[j] / (4 * np.pi * EPSILON_0 * BOLTZMANN * depth * diameter**3)

    # A polar and a nonpolar molecule: the induced dipole makes the well deeper and narrower, by powers of xi.
    polar = np.where(dipole[i] > 0, i, j)
    plain = np.where(dipole[i] > 0, j, i)
    mu_star2 = dipole[polar] ** 2 / (4 * np.pi * EPSILON_0 * BOLTZMANN * eps[polar] * sigma[polar] ** 3)
    xi = 1 + 0.25 * species.polarizability[plain] / sigma[plain] ** 3 * mu_star2 * np.sqrt(eps[polar] / eps[plain])
    xi = np.where((dipole[i] > 0) != (dipole[j] > 0), xi, 1.0)
    return mass, diameter * xi ** (-1 / 6), depth * xi**2, delta


def binary_diffusion(species, T, i, j):
    """p D_ij [Pa m2/s], (pairs, nT), from the collision integrals without a fit; T [K] (nT,), i and j (pairs,)."""
    T = np.asarray(T, float)
    mass, diameter, depth, delta = (v[:, None] for v in pair_parameters(species, np.asarray(i), np.asarray(j)))

    area = np.pi * diameter**2 * omega11(T / depth, delta[:, 0])
    return 3 / 16 * np.sqrt(2 * np.pi / mass) * (BOLTZMANN * T) ** 1.5 / area


def binary_fit(species, T_low, T_high):
    """Coefficients (5, ns, ns) of p D_ij = T^1.5 sum_k coeff[k, i, j] ln(T)^k [Pa m2/s]; symmetric in i, j.

    Least squares of the relative residuals at 50 temperatures equally spaced from T_low to T_high [K]. Below T_low and
    above T_high the polynomial is an extrapolation. Raises MixtureError if a species lacks Lennard-Jones data, or
    unless 0 < T_low < T_high.
    """
    _check_range(T_low, T_high)
    T = np.linspace(T_low, T_high, N_TEMPERATURES)

    def value(i, j):
        return binary_diffusion(species, T, i, j) / T**1.5

    return _pair_fit(len(species.names), np.log(T), value, (np.log(T_low), np.log(T_high)), DEGREE)


def friction_fit(species, T_low, T_high):
    """Coefficients (4, ns, ns) of the reciprocal, T^1.5/(p D_ij) = sum_k coeff[k, i, j] T^(-k/4) [K^1.5/(Pa m2/s)].

    Sums over pairs need this reciprocal, the friction of a pair. T^(1/4) takes two square roots. Least squares of the
    relative residuals at Chebyshev points of T^(-1/4): the largest residual is then nearly the smallest possible.
    Largest difference from the collision integrals: 1.8 % over 80 to 3500 K (pairs with water), 0.32 % over 300 to
    3000 K; binary_fit, with one degree more, has 2.5 and 0.17 %. Beyond the range the reciprocal stays positive:
    T^(-1/4) hardly changes there. Arguments and errors as binary_fit.
    """
    _check_range(T_low, T_high)

    # Chebyshev points of tau = T^(-1/4).
    low, high = T_high**-0.25, T_low**-0.25
    middle, half = 0.5 * (high + low), 0.5 * (high - low)
    tau = middle + half * np.cos(np.pi * (np.arange(FRICTION_NODES) + 0.5) / FRICTION_NODES)
    T = tau**-4

    def value(i, j):
        return T**1.5 / binary_diffusion(species, T, i, j)

    return _pair_fit(len(species.names), tau, value, (low, high), FRICTION_DEGREE)


def pair_fit(species, model):
    """Coefficients (5, ns, ns) of the pairs for a value of option `diffusion`, fitted over the species' T_fit:
    friction_fit for "kinetic" (the fifth is 0), binary_fit for "cantera"."""
    fit = {"kinetic": friction_fit, "cantera": binary_fit}[model](species, *species.T_fit)
    return np.concatenate([fit, np.zeros((5 - len(fit), *fit.shape[1:]))])


def _check_range(T_low, T_high):
    refuse(
        not (np.isfinite([T_low, T_high]).all() and 0 < T_low < T_high),
        f"diffusion fit: temperature range is ({T_low}, {T_high}) K, wanted 0 < low < high.",
        MixtureError,
    )


def _pair_fit(ns, x, value, ends, degree):
    """Coefficients (degree + 1, ns, ns), in powers of x, of fits to value(i, j) for all pairs; symmetric.

    x (points,) lies between the two ends; value(i, j) is (pairs, points) for indices (pairs,). Least squares of the
    relative residuals. The fit is in z = (x - middle)/half, which lies in [-1, 1]: in powers of ln T the condition
    number would exceed 1e7.
    """
    low, high = ends
    middle, half = 0.5 * (high + low), 0.5 * (high - low)
    i, j = np.triu_indices(ns)

    # Fits in z, SLAB pairs at a time. Each row is divided by its value, so that the right-hand side is 1.
    columns = np.vander((x - middle) / half, degree + 1, increasing=True)
    fit = np.empty((len(i), degree + 1))
    for first in range(0, len(i), SLAB):
        slab = slice(first, first + SLAB)
        q, r = np.linalg.qr(columns / value(i[slab], j[slab])[:, :, None])
        fit[slab] = np.linalg.solve(r, q.sum(axis=1)[..., None])[..., 0]

    # Row k: the coefficients of z^k in powers of x.
    in_x = np.zeros((degree + 1, degree + 1))
    power = np.array([1.0])
    for k in range(degree + 1):
        in_x[k, : k + 1] = power
        power = np.convolve(power, [-middle / half, 1 / half])

    coefficients = np.empty((degree + 1, ns, ns))
    coefficients[:, i, j] = coefficients[:, j, i] = (fit @ in_x).T
    return coefficients
