"""Lucas' viscosity of gas mixtures at low and high pressure, Poling, Prausnitz & O'Connell 5th ed., 9-4.15 to 9-4.18,
9-5.17 to 9-5.23 and 9-6.3 to 9-6.16 (as other codes have it; original not seen).

Species by name: He, H2, D2 are quantum gases. Above T_r = 40 the pressure correction is that of 40; liquid (T_r <= 1
and p not below the vapour pressure of Lee & Kesler 1975) and P_r > 100 give NaN. `cantera`: 0.6990 instead of 6.990.
"""

import numpy as np

from .species import R
from .tracked import LD, value

AVOGADRO = LD("6.02214076e23")
QUANTUM = {"He": LD("1.38"), "HE": LD("1.38"), "H2": LD("0.76"), "D2": LD("0.52")}


def polar_factor(Tr, dipole, Tc, pc, Zc):
    """F_P of one species at its own T_r; dipole [debye], pc [Pa]."""
    mu_r = LD("52.46") * dipole**2 * (pc * LD("1e-5")) / Tc**2
    departure = LD("30.55") * max(LD("0.292") - Zc, LD(0)) ** LD("1.72")
    if mu_r < LD("0.022"):
        return LD(1) + 0 * Tr
    return 1 + departure * (abs(LD("0.96") + LD("0.1") * (Tr - LD("0.7"))) if mu_r >= LD("0.075") else 1 + 0 * Tr)


def quantum_factor(Tr, Q, W):
    """F_Q of one species at its own T_r; W [kg/mol]."""
    away = Tr - 12
    power = np.exp(np.log(np.maximum(away * away, LD("1e-300"))) / (1000 * W))
    return LD("1.22") * Q ** LD("0.15") * (1 + LD("0.00385") * power * np.sign(away))


def vapour_pressure(Tr, omega):
    """p_vp/p_c by Lee & Kesler."""
    log, six = np.log(Tr), Tr**6
    return np.exp(
        LD("5.92714")
        - LD("6.09648") / Tr
        - LD("1.28862") * log
        + LD("0.169347") * six
        + omega * (LD("15.2518") - LD("15.6875") / Tr - LD("13.4721") * log + LD("0.43577") * six)
    )


def reduced(Z1, Tr, Pr, omega, cantera=False):
    """Z_2, Y = Z_2/Z_1, and where the correlation does not hold."""
    Th = np.minimum(np.maximum(Tr, LD(1)), LD(40))
    a = LD("1.245e-3") / Th * np.exp(LD("5.1726") * Th ** LD("-0.3286"))
    b = a * (LD("1.6553") * Th - LD("1.2723"))
    c = LD("0.4489") / Th * np.exp(LD("3.0578") * Th ** LD("-37.7332"))
    d = LD("1.7368") / Th * np.exp(LD("2.2310") * Th ** LD("-7.6351"))
    f = LD("0.9425") * np.exp(LD("-0.1853") * Th ** LD("0.4489"))
    hot = 1 + a * Pr ** LD("1.3088") / (b * Pr**f + 1 / (1 + c * Pr**d))
    Pc = np.minimum(Pr, LD(1))
    alpha, beta = LD("3.262") + LD("14.98") * Pc ** LD("5.508"), LD("1.390") + LD("5.746") * Pc
    cold = (
        LD("0.600") + LD("0.760") * Pc**alpha + (LD("0.6990" if cantera else "6.990") * Pc**beta - LD("0.6")) * (1 - Tr)
    )
    is_hot = value(Tr) > 1
    liquid = ~is_hot & ~(value(Pr) < value(vapour_pressure(np.minimum(Tr, LD(1)), omega)))
    Z2 = np.where(is_hot, Z1 * hot, cold)

    return Z2, np.where(is_hot, hot, Z2 / Z1), liquid | (value(Pr) > 100)


def viscosity(T, p, X, sp, Vc, cantera=False):
    """mu [Pa s]; X (ns, n), Vc [m3/mol] as Chung's."""
    Zc = sp.pc * Vc / (R * sp.Tc)
    M = (X * sp.W[:, None]).sum(0)
    Tc = (X * sp.Tc[:, None]).sum(0)
    pc = R * Tc * (X * Zc[:, None]).sum(0) / (X * Vc[:, None]).sum(0)
    FP, FQ = 0, 0

    for s, name in enumerate(sp.names):
        Tr = T / sp.Tc[s]
        FP = FP + X[s] * polar_factor(Tr, sp.dipole[s], sp.Tc[s], sp.pc[s], Zc[s])
        FQ = FQ + X[s] * (quantum_factor(Tr, QUANTUM[name], sp.W[s]) if name in QUANTUM else LD(1))

    W = value(sp.W)
    ratio = sp.W[int(np.argmax(W))] / sp.W[int(np.argmin(W))]
    heavy = value(X)[np.argmax(W)]
    if value(ratio) > 9:
        FQ = np.where((heavy > 0.05) & (heavy < 0.7), FQ * (1 - LD("0.01") * ratio ** LD("0.87")), FQ)
    Tr, Pr = T / Tc, p / pc
    xi = (R * Tc * AVOGADRO**2 / (M**3 * pc**4)) ** (LD(1) / 6)

    Z1 = (
        (
            LD("0.807") * Tr ** LD("0.618")
            - LD("0.357") * np.exp(LD("-0.449") * Tr)
            + LD("0.340") * np.exp(LD("-4.058") * Tr)
            + LD("0.018")
        )
        * FP
        * FQ
    )

    Z2, Y, outside = reduced(Z1, Tr, Pr, (X * sp.omega[:, None]).sum(0), cantera)
    high_P = (1 + (FP - 1) / Y**3) / FP
    high_Q = (1 + (FQ - 1) * (1 / Y - LD("0.007") * np.log(Y) ** 4)) / FQ

    return np.where(outside, LD("nan"), Z2 * high_P * high_Q / xi)
