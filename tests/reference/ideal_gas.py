"""Composition and NASA-7 ideal-gas properties, molar [J/mol, J/mol/K].

Gordon & McBride, NASA SP-273 (original not seen); coefficient order of Cantera's NASA7: a0..a4 of cp/R, a5 of h/RT, a6
of s/R.
"""

import csv
from functools import lru_cache
from pathlib import Path

import numpy as np

from .species import R
from .tracked import LD, Tracked, value

COLD_RANGES = Path(__file__).resolve().parents[2] / "kernels/gas/species/cold_ranges.csv"


def mole_fractions(Y, W):
    """X (ns, n) and the mean molar mass [kg/mol] from mass fractions Y (ns, n); sum(Y) need not be exactly 1."""
    moles = Y / _col(W, Y)
    total = moles.sum(0)
    return moles / total, Y.sum(0) / total


def mean_molar_mass(X, W):
    return (X * _col(W, X)).sum(0)


def nasa(T, sp):
    """cp/R, h/(RT), s/R of every species (ns, n) at 1 atm; at T_mid by the lower polynomial. With sp.cold (option
    cold_cp = fitted) below T_min by the cold range of a species that has one."""
    high = T > _pad(sp.T_mid, T)
    a = [np.where(high, _pad(sp.nasa_high[:, k], T), _pad(sp.nasa_low[:, k], T)) for k in range(7)]
    T2, T3, T4 = T * T, T * T * T, T * T * T * T
    cp = a[0] + a[1] * T + a[2] * T2 + a[3] * T3 + a[4] * T4
    h = a[0] + a[1] * T / 2 + a[2] * T2 / 3 + a[3] * T3 / 4 + a[4] * T4 / 5 + a[5] / T
    s = a[0] * np.log(T) + a[1] * T + a[2] * T2 / 2 + a[3] * T3 / 3 + a[4] * T4 / 4 + a[6]

    if getattr(sp, "cold", False):
        cp, h, s = _with_cold_ranges(T, sp, (cp, h, s))
    return cp, h, s


@lru_cache(None)
def cold_table():
    """{name of the fluid: (T_low, T_high, coefficients of cp/R)}"""
    lines = [line for line in COLD_RANGES.read_text().splitlines() if not line.startswith("#")]
    return {
        row["fluid"]: (float(row["T_low"]), float(row["T_high"]), [LD(row[f"a{k}"]) for k in range(5)])
        for row in csv.DictReader(lines)
    }


def _with_cold_ranges(T, sp, of_polynomials):
    """cp/R, h/RT, s/R where cp below T_min is that of the cold range. h and s are its integrals from T_min down, by
    quadrature, which is exact for the powers of T and good to 1e-18 for the cp/T of 20 K and more."""
    rows = [[part[s] for s in range(sp.ns)] for part in of_polynomials]
    x, weight = (np.asarray(part, LD) for part in np.polynomial.legendre.leggauss(60))
    at = np.asarray(value(T), LD)

    for s, name in enumerate(sp.names):
        row, T_min = cold_table().get(name), LD(value(sp.T_min)[s])
        if row is None or not row[0] < T_min <= row[1]:
            continue

        # cp/R = a(T) + d t^3 + e t^4, t = T/T_min: cp and its slope are the polynomial's at T_min.
        low = [LD(c) for c in value(sp.nasa_low)[s]]
        lack = sum((c - a) * T_min**k for k, (c, a) in enumerate(zip(low, row[2])))
        lack_of_slope = sum(k * (c - a) * T_min**k for k, (c, a) in enumerate(zip(low, row[2])))
        d, e = 4 * lack - lack_of_slope, lack_of_slope - 3 * lack

        coefficients = [*row[2][:3], row[2][3] + d / T_min**3, row[2][4] + e / T_min**4]

        # Integrals over ln T, in which cp/T and cp are smooth.
        cold = at < T_min
        inside = at[cold]
        wide = np.log(T_min / inside)
        y = inside * np.exp((x[:, None] + 1) / 2 * wide)
        cp = _polynomial(coefficients, y)
        of_s = (weight[:, None] * cp).sum(0) * wide / 2
        of_h = (weight[:, None] * cp * y).sum(0) * wide / 2

        above = sum(c * T_min ** (k + 1) / (k + 1) for k, c in enumerate(low[:5])) + low[5]
        s_above = low[0] * np.log(T_min) + sum(c * T_min**k / k for k, c in enumerate(low[1:5], 1)) + low[6]
        made = _polynomial(coefficients, inside), (above - of_h) / inside, s_above - of_s

        for part, found in zip(rows, made):
            new = np.zeros(at.shape, LD)
            new[cold] = found
            part[s] = np.where(cold, _rounded(new, part[s], cold), part[s])

    return tuple(np.stack(part) for part in rows)


def _polynomial(coefficients, T):
    """The sum of c_k T^k, by Horner's rule: powers of longdouble are slow."""
    out = np.full(np.shape(T), coefficients[-1])
    for c in coefficients[-2::-1]:
        out = out * T + c
    return out


def _rounded(new, old, cold):
    """`new` with the rounding bound of the polynomial `old`, twice: the cold range is added to the polynomial."""
    if not isinstance(old, Tracked):
        return new
    return Tracked(new, np.where(cold, 2 * old.err + 8 * np.abs(new).astype(float), 0))


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
