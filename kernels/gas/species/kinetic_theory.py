"""Low-pressure binary diffusion coefficients and viscosities from kinetic theory. Binary diffusion has two polynomial
fits: Cantera's in ln T, and one of the reciprocal in T^(-1/4).

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
DEGREE = 4  # of binary_fit
FRICTION_NODES = 60  # temperatures of friction_fit
FRICTION_DEGREE = 3
SLAB = 4096  # pairs that are fitted at a time: each takes 12 kB on the way, those of 4000 species 90 GB


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
    t_star, delta = np.asarray(t_star, float), np.asarray(delta, float)
    poly22, poly_a = _delta_polynomials()
    above = np.searchsorted(mm.T_STAR, t_star, side="right")  # rows with T*_row <= t_star
    first = np.clip(above - 1, 0, len(mm.T_STAR) - 4)
    rows = first[..., None] + np.arange(3)
    pair = np.arange(len(delta))[:, None, None]
    log_t = np.log(mm.T_STAR)
    x, x1, x2, x3 = np.log(t_star), log_t[first], log_t[first + 1], log_t[first + 2]
    # Lagrange weights of the parabola
    w = np.stack(
        [
            (x - x2) * (x - x3) / ((x1 - x2) * (x1 - x3)),
            (x - x1) * (x - x3) / ((x2 - x1) * (x2 - x3)),
            (x - x1) * (x - x2) / ((x3 - x1) * (x3 - x2)),
        ],
        axis=-1,
    )
    o22 = _table_rows(delta, mm.OMEGA22, poly22)[pair, rows]
    a = _table_rows(delta, mm.A_STAR, poly_a)[pair, rows]
    return (w * o22).sum(-1), (w * a).sum(-1)


def omega11(t_star, delta):
    """Reduced collision integral Omega(1,1)* = Omega(2,2)*/A*, (n, m) for t_star (n, m) and delta (n,)."""
    o22, a = _omega22_a_star(t_star, delta)
    return o22 / a


def species_viscosity(species, T):
    """Low-pressure viscosities of the species [Pa s], (ns, nT), at T [K] (nT,). Chapman-Enskog:
    mu_i = 5/16 sqrt(pi m k T)/(pi sigma^2 Omega22(T*, delta*))."""
    each = np.arange(len(species.names))
    mass, diameter, depth, delta = pair_parameters(species, each, each)
    mass = (2 * mass)[:, None]  # of one molecule, not the reduced mass of two
    return (
        5
        / 16
        * np.sqrt(np.pi * mass * BOLTZMANN * T)
        / (np.pi * diameter[:, None] ** 2 * _omega22_a_star(T / depth[:, None], delta)[0])
    )


def viscosity_fit(species, law, T_low, T_high):
    """(factor, constant), each (ns,), of mu = factor T^1.5/(T + constant) (law "sutherland") or factor T^constant
    ("powerlaw") [Pa s].

    Least squares against species_viscosity at 50 temperatures from T_low to T_high [K]: relative residuals for
    Sutherland's law, ln mu for the power law. Sutherland's constant is at least -T_low/2, so that no pole lies in the
    range. Species without data get nan. Raises MixtureError unless 0 < T_low < T_high."""
    refuse(
        not 0 < T_low < T_high < np.inf,
        f"viscosity fit: temperature range is ({T_low}, {T_high}) K, wanted 0 < low < high.",
        MixtureError,
    )
    T = np.geomspace(T_low, T_high, N_TEMPERATURES)
    out = np.full((2, len(species.names)), np.nan)
    for s in np.flatnonzero(np.isfinite(species.diameter) & np.isfinite(species.well_depth)):
        mu = species_viscosity(species.subset([species.names[s]]), T)[0]
        if law == "powerlaw":
            exponent, log_factor = np.polyfit(np.log(T), np.log(mu), 1)
            out[:, s] = np.exp(log_factor), exponent
        else:
            # T^1.5/mu = (T + S)/factor is linear in T; each equation is divided by T^1.5/mu: relative residuals
            whole = T**1.5 / mu
            (slope, at_zero), *_ = np.linalg.lstsq(np.stack([T / whole, 1 / whole], 1), np.ones(T.size), rcond=None)
            S = max(at_zero / slope, -0.5 * T_low)
            out[:, s] = 1 / np.mean(whole / (T + S)), S
    return out


def pair_parameters(species, i, j):
    """Reduced mass [kg], diameter [m], well depth [K] and delta* [-] of the pairs (i, j), each (pairs,); i and j are
    index arrays (pairs,). Raises MixtureError where a species lacks the data."""
    species.require("diameter", "well_depth", "dipole", "polarizability", purpose="kinetic-theory diffusion")
    sigma, eps, dipole = species.diameter, species.well_depth, species.dipole * DEBYE
    mass = species.W[i] * species.W[j] / (AVOGADRO * (species.W[i] + species.W[j]))
    diameter = 0.5 * (sigma[i] + sigma[j])
    depth = np.sqrt(eps[i] * eps[j])
    delta = 0.5 * dipole[i] * dipole[j] / (4 * np.pi * EPSILON_0 * BOLTZMANN * depth * diameter**3)
    # one polar, one not: the dipole of the one induces a dipole in the other, and the well becomes deeper and narrower
    polar, plain = np.where(dipole[i] > 0, i, j), np.where(dipole[i] > 0, j, i)
    mu_star2 = dipole[polar] ** 2 / (4 * np.pi * EPSILON_0 * BOLTZMANN * eps[polar] * sigma[polar] ** 3)
    xi = 1 + 0.25 * species.polarizability[plain] / sigma[plain] ** 3 * mu_star2 * np.sqrt(eps[polar] / eps[plain])
    xi = np.where((dipole[i] > 0) != (dipole[j] > 0), xi, 1.0)
    return mass, diameter * xi ** (-1 / 6), depth * xi**2, delta


def binary_diffusion(species, T, i, j):
    """p D_ij [Pa m2/s], (pairs, nT), from the collision integrals without a fit; T [K] (nT,), i and j (pairs,)."""
    T, i, j = np.asarray(T, float), np.asarray(i), np.asarray(j)
    mass, diameter, depth, delta = (v[:, None] for v in pair_parameters(species, i, j))
    return (
        3
        / 16
        * np.sqrt(2 * np.pi / mass)
        * (BOLTZMANN * T) ** 1.5
        / (np.pi * diameter**2 * omega11(T / depth, delta[:, 0]))
    )


def binary_fit(species, T_low, T_high):
    """Coefficients (5, ns, ns) of p D_ij = T^1.5 sum_k coeff[k, i, j] ln(T)^k [Pa m2/s]; symmetric in i, j.

    Least squares of the relative residuals at 50 temperatures equally spaced from T_low to T_high [K]. Below T_low and
    above T_high the polynomial is an extrapolation. Raises MixtureError where a species lacks Lennard-Jones data, or
    unless 0 < T_low < T_high.
    """
    _check_range(T_low, T_high)
    ns = len(species.names)
    i, j = np.triu_indices(ns)
    T = np.linspace(T_low, T_high, N_TEMPERATURES)
    log_low, log_high = np.log(T_low), np.log(T_high)
    middle, half = 0.5 * (log_high + log_low), 0.5 * (log_high - log_low)
    value = lambda i, j: binary_diffusion(species, T, i, j) / T**1.5
    return _symmetric(_relative_fit(np.log(T), value, i, j, middle, half, DEGREE), i, j, ns)


def friction_fit(species, T_low, T_high):
    """Coefficients (4, ns, ns) of the reciprocal, T^1.5/(p D_ij) = sum_k coeff[k, i, j] T^(-k/4) [K^1.5/(Pa m2/s)].

    Sums over pairs need this reciprocal, the friction of a pair: the fit gives it without a division. T^(1/4) takes two
    square roots. Least squares of the relative residuals at Chebyshev points of T^(-1/4): the largest residual is then
    nearly the smallest possible. Largest difference from the collision integrals: 1.8 % over 80 to 3500 K (pairs with
    water), 0.32 % over 300 to 3000 K; binary_fit, with one degree more, has 2.5 and 0.17 %. Beyond the range the
    reciprocal stays positive: T^(-1/4) hardly changes there. Arguments and errors as binary_fit.
    """
    _check_range(T_low, T_high)
    ns = len(species.names)
    i, j = np.triu_indices(ns)
    ends = T_low**-0.25, T_high**-0.25
    middle, half = 0.5 * (ends[0] + ends[1]), 0.5 * (ends[0] - ends[1])
    tau = middle + half * np.cos(np.pi * (np.arange(FRICTION_NODES) + 0.5) / FRICTION_NODES)
    T = tau**-4
    value = lambda i, j: T**1.5 / binary_diffusion(species, T, i, j)
    return _symmetric(_relative_fit(tau, value, i, j, middle, half, FRICTION_DEGREE), i, j, ns)


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


def _relative_fit(x, value, i, j, middle, half, degree):
    """Coefficients (pairs, degree + 1), in powers of x, of the least-squares fits to value(i, j) (pairs, points) with
    relative residuals. The fit is done in (x - middle)/half, which lies in [-1, 1]: in powers of ln T itself the
    condition number exceeds 1e7."""
    columns = np.vander((x - middle) / half, degree + 1, increasing=True)
    fit = np.empty((len(i), degree + 1))
    for slab in (slice(k, k + SLAB) for k in range(0, len(i), SLAB)):
        # divide each row by its value, so that the right-hand side is one
        q, r = np.linalg.qr(columns / value(i[slab], j[slab])[:, :, None])
        fit[slab] = np.linalg.solve(r, q.sum(axis=1)[..., None])[..., 0]
    shift = np.zeros((degree + 1, degree + 1))  # powers of (x - middle)/half written in x
    power = np.array([1.0])
    for k in range(degree + 1):
        shift[k, : k + 1] = power
        power = np.convolve(power, [-middle / half, 1 / half])
    return fit @ shift


def _symmetric(fit, i, j, ns):
    coeff = np.empty((fit.shape[1], ns, ns))
    coeff[:, i, j] = coeff[:, j, i] = fit.T
    return coeff
