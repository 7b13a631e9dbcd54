"""The ideal gas: NASA-9 polynomials, the equation of state, and transport of dilute gases. Molar or per kg as named.

McBride, Zehe & Gordon, NASA TP-2002-211556; Sutherland 1893; Wilke, J. Chem. Phys. 18 (1950) 517; Mathur, Tondon &
Saxena, Mol. Phys. 12 (1967) 569; Eucken 1913 (originals not seen).
"""

import numpy as np

from . import ideal_gas
from .species import R


def nasa9(T, rows, T_break):
    """cp/R, h/RT, s/R (ns, n) of coefficient rows (ns, ranges, 9) with the ends of their ranges T_break (ns, ranges +
    1)."""
    a = [rows[:, 0, k][:, None] + 0 * T for k in range(9)]
    for r in range(1, rows.shape[1]):
        for k in range(9):
            a[k] = np.where(T >= T_break[:, r][:, None], rows[:, r, k][:, None], a[k])

    cp = a[0] / (T * T) + a[1] / T + a[2] + a[3] * T + a[4] * T**2 + a[5] * T**3 + a[6] * T**4
    h = (
        -a[0] / (T * T)
        + a[1] * np.log(T) / T
        + a[2]
        + a[3] * T / 2
        + a[4] * T**2 / 3
        + a[5] * T**3 / 4
        + a[6] * T**4 / 5
        + a[7] / T
    )

    s = (
        -a[0] / (2 * T * T)
        - a[1] / T
        + a[2] * np.log(T)
        + a[3] * T
        + a[4] * T**2 / 2
        + a[5] * T**3 / 3
        + a[6] * T**4 / 4
        + a[8]
    )

    return cp, h, s


def state(T, p, R_s, cp_ig, h_ig):
    """Properties of an ideal gas of specific gas constant R_s [J/kg/K] at T, p; h_p is zero."""
    v = R_s * T / p  # m3/kg
    zero = 0 * (T * p)

    return dict(
        Z=zero + 1,
        vol=v,
        rho=1 / v,
        h=h_ig,
        cp=cp_ig,
        cv=cp_ig - R_s,
        p_v=-p / v,
        p_T=p / T,
        v_p=-v / p,
        h_p=zero,
        h_T=cp_ig,
    )


def species_viscosity(T, law, factor, constant):
    """(ns, n): factor T^1.5/(T + constant), or factor T^constant; factor and constant (ns,)."""
    factor, constant = (ideal_gas._col(v, np.zeros((len(v), 1))) for v in (factor, constant))
    laws = {
        "sutherland": lambda: factor * (T * np.sqrt(T)) / (T + constant),
        "powerlaw": lambda: factor * np.exp(constant * np.log(T)),
    }

    return laws[law]()


def wilke(X, W, mu):
    """Mixture viscosity (n,) from X, mu (ns, n) and W (ns,): every pair as written."""
    total = 0
    for i in range(len(W)):
        below = 0
        for j in range(len(W)):
            phi = (1 + np.sqrt(mu[i] / mu[j]) * np.sqrt(np.sqrt(W[j] / W[i]))) ** 2 / np.sqrt(8 * (1 + W[i] / W[j]))
            below = below + X[j] * phi
        total = total + X[i] * mu[i] / below

    return total


def mathur(X, W, mu, cp):
    """Mixture conductivity (n,): mean of the series and the parallel one of Eucken's mu (cp + 5/4 R/W); cp (ns, n) per
    kg."""
    lam = mu * (cp + R * 5 / (4 * ideal_gas._col(W, X)))
    return ((X * lam).sum(0) + 1 / (X / lam).sum(0)) / 2
