"""Composition and NASA-7 ideal-gas properties, molar [J/mol, J/mol/K].

Gordon & McBride, NASA SP-273 (original not seen); coefficient order of Cantera's NASA7: a0..a4 of cp/R, a5 of h/RT, a6
of s/R.
"""

import numpy as np

from .species import R


def mole_fractions(Y, W):
    """X (ns, n) and the mean molar mass [kg/mol] from mass fractions Y (ns, n); sum(Y) need not be exactly 1."""
    moles = Y / _col(W, Y)
    total = moles.sum(0)
    return moles / total, Y.sum(0) / total


def mean_molar_mass(X, W):
    return (X * _col(W, X)).sum(0)


def nasa(T, sp):
    """cp/R, h/(RT), s/R of every species (ns, n) at 1 atm; at T_mid by the lower polynomial."""
    high = T > _pad(sp.T_mid, T)
    a = [np.where(high, _pad(sp.nasa_high[:, k], T), _pad(sp.nasa_low[:, k], T)) for k in range(7)]
    T2, T3, T4 = T * T, T * T * T, T * T * T * T
    cp = a[0] + a[1] * T + a[2] * T2 + a[3] * T3 + a[4] * T4
    h = a[0] + a[1] * T / 2 + a[2] * T2 / 3 + a[3] * T3 / 4 + a[4] * T4 / 5 + a[5] / T
    s = a[0] * np.log(T) + a[1] * T + a[2] * T2 / 2 + a[3] * T3 / 3 + a[4] * T4 / 4 + a[6]

    return cp, h, s


def mixture(T, p, X, sp):
    """Molar cp, h and s of the ideal-gas mixture at T, p; s with pressure and mixing terms."""
    cp, h, s = nasa(T, sp)
    X = sp.one * X
    x_safe = np.where(X > 0, X, sp.one)
    s_mix = (X * s).sum(0) - (X * np.log(x_safe)).sum(0) - np.log(p / sp.p_ref)
    return R * (X * cp).sum(0), R * T * (X * h).sum(0), R * s_mix


def _col(v, like):
    return v[(slice(None),) + (None,) * (like.ndim - 1)]


def _pad(v, T):
    return v[(slice(None),) + (None,) * T.ndim]
