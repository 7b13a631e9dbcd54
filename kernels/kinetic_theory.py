"""Low-pressure binary diffusion coefficients from kinetic theory, as polynomials in ln T.

    p D_ij = (3/16) sqrt(2 pi/m_ij) (k T)^(3/2) / (pi sigma_ij^2 Omega11(T*_ij, delta*_ij))                    [Pa m2/s]

m_ij is the reduced mass, T* = k T/eps_ij, delta* = mu_i mu_j/(2 (4 pi eps_0) eps_ij sigma_ij^3). Combining rules: sigma_ij
the arithmetic mean, eps_ij the geometric mean, both corrected when one partner is polar and the other is not
(Hirschfelder, Curtiss & Bird 1954, sec. 8.6; original not seen). Tables, interpolation and fit follow Cantera's
GasTransport, so that D can be compared with Cantera digit by digit.
"""

from functools import lru_cache

import numpy as np

from . import monchick_mason as mm
from .errors import MixtureError

BOLTZMANN = 1.380649e-23            # J/K, exact (SI 2019)
AVOGADRO = 6.02214076e23            # 1/mol, exact (SI 2019)
EPSILON_0 = 8.8541878128e-12        # F/m, CODATA 2018
DEBYE = 1e-21/299792458.0           # C m

N_TEMPERATURES = 50                 # equally spaced in T, ends included: Cantera's choice
DEGREE = 4


@lru_cache(maxsize=1)
def _delta_polynomials():
    """Degree-6 least-squares polynomials in delta* through each row of the tables: (37, 7) for Omega22 and for A*."""
    vandermonde = np.vander(mm.DELTA, 7, increasing=True)
    return tuple(np.linalg.lstsq(vandermonde, table.T, rcond=None)[0].T for table in (mm.OMEGA22, mm.A_STAR))


def _table_rows(delta, table, polynomials):
    """Values at all tabulated T* for each delta*: (n, 37). The delta* = 0 column is used as it stands."""
    rows = np.vander(delta, 7, increasing=True) @ polynomials.T
    rows[delta == 0.0] = table[:, 0]
    return rows


def omega11(t_star, delta):
    """Reduced collision integral Omega(1,1)*, (n, m) for t_star (n, m) and delta (n,).

    Each table is interpolated by a parabola in ln T* through three neighbouring rows and extrapolated beyond its ends
    (0.1 and 100); Omega11 = Omega22/A*. delta* above 2.5 is outside the tables.
    """
    t_star, delta = np.asarray(t_star, float), np.asarray(delta, float)
    poly22, poly_a = _delta_polynomials()
    above = np.searchsorted(mm.T_STAR, t_star, side="right")         # rows with T*_row <= t_star
    first = np.clip(above - 1, 0, len(mm.T_STAR) - 4)
    rows = first[..., None] + np.arange(3)
    pair = np.arange(len(delta))[:, None, None]
    log_t = np.log(mm.T_STAR)
    x, x1, x2, x3 = np.log(t_star), log_t[first], log_t[first + 1], log_t[first + 2]
    # Lagrange weights of the parabola
    w = np.stack([(x - x2)*(x - x3)/((x1 - x2)*(x1 - x3)),
                  (x - x1)*(x - x3)/((x2 - x1)*(x2 - x3)),
                  (x - x1)*(x - x2)/((x3 - x1)*(x3 - x2))], axis=-1)
    o22 = _table_rows(delta, mm.OMEGA22, poly22)[pair, rows]
    a = _table_rows(delta, mm.A_STAR, poly_a)[pair, rows]
    return (w*o22).sum(-1)/(w*a).sum(-1)


def pair_parameters(species, i, j):
    """Reduced mass [kg], diameter [m], well depth [K] and delta* [-] of the pairs (i, j); index arrays of one length."""
    species.require("diameter", "well_depth", "dipole", "polarizability", purpose="kinetic-theory diffusion")
    sigma, eps, dipole = species.diameter, species.well_depth, species.dipole*DEBYE
    mass = species.W[i]*species.W[j]/(AVOGADRO*(species.W[i] + species.W[j]))
    diameter = 0.5*(sigma[i] + sigma[j])
    depth = np.sqrt(eps[i]*eps[j])
    delta = 0.5*dipole[i]*dipole[j]/(4*np.pi*EPSILON_0*BOLTZMANN*depth*diameter**3)
    # one polar, one not: the dipole induces one in its partner, which deepens and narrows the well
    polar, plain = np.where(dipole[i] > 0, i, j), np.where(dipole[i] > 0, j, i)
    mu_star2 = dipole[polar]**2/(4*np.pi*EPSILON_0*BOLTZMANN*eps[polar]*sigma[polar]**3)
    xi = 1 + 0.25*species.polarizability[plain]/sigma[plain]**3*mu_star2*np.sqrt(eps[polar]/eps[plain])
    xi = np.where((dipole[i] > 0) != (dipole[j] > 0), xi, 1.0)
    return mass, diameter*xi**(-1/6), depth*xi**2, delta


def binary_diffusion(species, T, i, j):
    """p D_ij [Pa m2/s], (pairs, nT), straight from the collision integrals; T [K] (nT,), i and j (pairs,)."""
    T, i, j = np.asarray(T, float), np.asarray(i), np.asarray(j)
    mass, diameter, depth, delta = (v[:, None] for v in pair_parameters(species, i, j))
    return (3/16*np.sqrt(2*np.pi/mass)*(BOLTZMANN*T)**1.5
            / (np.pi*diameter**2*omega11(T/depth, delta[:, 0])))


def binary_fit(species, T_low, T_high):
    """Coefficients (5, ns, ns) of p D_ij = T^1.5 sum_k coeff[k, i, j] ln(T)^k [Pa m2/s]; symmetric in i, j.

    Least squares over 50 temperatures equally spaced from T_low to T_high [K], relative residuals. Below T_low and above
    T_high the polynomial is an extrapolation. Raises MixtureError when a species lacks Lennard-Jones data or the range
    is no range.
    """
    if not (np.isfinite([T_low, T_high]).all() and 0 < T_low < T_high):
        raise MixtureError(f"diffusion fit: temperature range is ({T_low}, {T_high}) K, wanted 0 < low < high.")
    ns = len(species.names)
    i, j = np.triu_indices(ns)
    T = np.linspace(T_low, T_high, N_TEMPERATURES)
    value = binary_diffusion(species, T, i, j)/T**1.5
    # ln T mapped to [-1, 1] keeps the 5 columns well separated; in plain ln T their condition number exceeds 1e7
    middle, half = 0.5*(np.log(T_high) + np.log(T_low)), 0.5*(np.log(T_high) - np.log(T_low))
    columns = np.vander((np.log(T) - middle)/half, DEGREE + 1, increasing=True)
    # relative residuals: divide each row by its value, so that the right-hand side is one
    q, r = np.linalg.qr(columns/value[:, :, None])
    fit = np.linalg.solve(r, q.sum(axis=1)[..., None])[..., 0]
    shift = np.zeros((DEGREE + 1, DEGREE + 1))                     # powers of (ln T - middle)/half written in ln T
    power = np.array([1.0])
    for k in range(DEGREE + 1):
        shift[k, :k + 1] = power
        power = np.convolve(power, [-middle/half, 1/half])
    coeff = np.empty((DEGREE + 1, ns, ns))
    coeff[:, i, j] = coeff[:, j, i] = (fit @ shift).T
    return coeff
