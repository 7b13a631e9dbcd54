"""Chung's dense-gas viscosity and conductivity as double sums over the species pairs, in three forms.

Chung, Ajlan, Lee & Starling, Ind. Eng. Chem. Res. 27 (1988) 671, equation numbers of Poling, Prausnitz & O'Connell,
5th ed. (originals not seen). Inside: cm3/mol, Angstrom, debye, g/mol, mol/cm3; at the interface SI.
form "published": as printed. "polefree" (default): in E_1..E_10 only, omega' = max(omega_m, 0),
mu_r'^4 = min(mu_r^4, m*(omega')/2) and kappa' = 0, m* the smallest positive root of E_1 E_4 + E_2 + E_3 = 0; E_2 >= 0,
B_7 >= 0. "cantera": c_6 = 4.958, a_1 = 2.44166, Vc from Tc and pc, kappa = 0, molar density by the pseudo molar mass,
real-gas cv.
"""

from types import SimpleNamespace

import numpy as np

from .species import ZC, R
from .tracked import LD, value

E_TABLE = """
 6.324     50.412    -51.680    1189.0
 1.210e-3  -1.154e-3 -6.257e-3  0.03728
 5.283     254.209   -168.48    3898.0
 6.623     38.096    -8.464     31.42
 19.745    7.630     -14.354    31.53
-1.900    -12.537    4.985     -18.15
 24.275    3.450     -11.291    69.35
 0.7972    1.117     0.01235   -4.117
-0.2382    0.06770   -0.8163    4.025
 0.06863   0.3479    0.5926    -0.727
"""
B_TABLE = """
 2.4166    0.74824  -0.91858   121.72
-0.50924  -1.5094   -49.991    69.983
 6.6107    5.6207    64.760    27.039
 14.543   -8.9139   -5.6379    74.344
 0.79274   0.82019  -0.69369   6.3173
-5.8634    12.801    9.5893    65.529
 91.089    128.11   -54.217    523.81
"""


def _table(text):
    return [[LD(number) for number in line.split()] for line in text.strip().splitlines()]


def tables(form):
    E, B = _table(E_TABLE), _table(B_TABLE)
    if form == "cantera":
        E[5][2], B[0][0] = LD("4.958"), LD("2.44166")
    return E, B


def critical_volume(sp, form):
    """Vc [m3/mol]: measured, or ZC R Tc/pc where unknown and always in form cantera."""
    estimate = ZC * R * sp.Tc / sp.pc
    if form == "cantera":
        return estimate
    known = np.isfinite(value(sp.Vc))
    return np.where(known, np.where(known, sp.Vc, sp.one), estimate)


def pair_rules(X, sp, form="polefree"):
    """The mixture parameters: sigma3 [A3], eps [K], M_m [g/mol], omega, mu4 [debye4], kappa, Tc, Vc [cm3/mol], mur4."""
    Vc = critical_volume(sp, form) * 1e6
    sigma = LD("0.809") * np.cbrt(Vc)
    eps = sp.Tc / LD("1.2593")
    M = sp.W * 1000
    mu = sp.dipole
    kappa = 0 * sp.kappa_assoc if form == "cantera" else sp.kappa_assoc

    def i(v):
        return v[:, None]

    def j(v):
        return v[None, :]

    s_ij, e_ij = np.sqrt(i(sigma) * j(sigma)), np.sqrt(i(eps) * j(eps))
    w_ij, M_ij = (i(sp.omega) + j(sp.omega)) / 2, 2 * i(M) * j(M) / (i(M) + j(M))

    def SS(pair):
        return (X * (pair @ X)).sum(0)

    sigma3 = SS(s_ij**3)
    e = SS(e_ij * s_ij**3) / sigma3
    M_m = (SS(e_ij * s_ij**2 * np.sqrt(M_ij)) / (e * np.cbrt(sigma3) ** 2)) ** 2
    w = SS(w_ij * s_ij**3) / sigma3
    mu4 = sigma3 * SS(i(mu) ** 2 * j(mu) ** 2 / s_ij**3)
    kappa_m = SS(np.sqrt(i(kappa) * j(kappa)))
    Tc = LD("1.2593") * e
    Vc_m = sigma3 / LD("0.809") ** 3
    mur4 = LD("131.3") ** 4 * mu4 / (Vc_m * Tc) ** 2

    return SimpleNamespace(sigma3=sigma3, eps=e, M=M_m, omega=w, mu4=mu4, kappa=kappa_m, Tc=Tc, Vc=Vc_m, mur4=mur4)


def pole(omega):
    """m*(omega): the smallest positive root in mu_r^4 of E1 E4 + E2 + E3 = 0 at kappa = 0, omega >= 0."""
    E = _table(E_TABLE)
    (a1, b1, c1, _), (a2, b2, c2, _), (a3, b3, c3, _), (a4, b4, c4, _) = E[:4]
    e1, e2, e3, e4 = a1 + b1 * omega, a2 + b2 * omega, a3 + b3 * omega, a4 + b4 * omega
    square = c1 * c4
    linear = c1 * e4 + c4 * e1 + c2 + c3
    const = e1 * e4 + e2 + e3

    # square > 0, linear < 0, const > 0: both roots positive; the smaller one without cancellation
    return 2 * const / (-linear + np.sqrt(linear * linear - 4 * square * const))


def _coefficients(table, omega, mur4, kappa):
    return [a + b * omega + c * mur4 + d * kappa for a, b, c, d in table]


def neufeld(Ts):
    """Omega(2,2)* of Neufeld, Janzen & Aziz 1972; 0.3 <= T* <= 100."""
    return (
        LD("1.16145") * Ts ** LD("-0.14874")
        + LD("0.52487") * np.exp(LD("-0.77320") * Ts)
        + LD("2.16178") * np.exp(LD("-2.43787") * Ts)
    )


def _shape(C, y, G1):
    """G2 of 9-6.22 (C = E1..E5) and H2 of 10-5.8 (C = B1..B5); the first term has the limit C1 C4 at y = 0."""
    return (C[0] * (-np.expm1(-C[3] * y)) / y + C[1] * G1 * np.exp(C[4] * y) + C[2] * G1) / (C[0] * C[3] + C[1] + C[2])


def dilute(T, m):
    """eta0 [Pa s] (9-4.10), Fc and Omega."""
    omega_v = neufeld(T / m.eps)
    Fc = 1 - LD("0.2756") * m.omega + LD("0.059035") * m.mur4 + m.kappa
    return LD("26.69") * Fc * np.sqrt(m.M * T) / (np.cbrt(m.sigma3) ** 2 * omega_v) * LD("1e-7"), Fc, omega_v


def reduced_density(rho, M, m, form):
    """y = rho_mol Vc/6; molar density by the mean molar mass, by the pseudo molar mass in form cantera."""
    mass = m.M / 1000 if form == "cantera" else M
    return rho / mass * LD("1e-6") * m.Vc / 6


def viscosity(T, rho, M, m, form="polefree"):
    """mu [Pa s] at T [K], rho [kg/m3], mean molar mass M [kg/mol], m = pair_rules(...)."""
    _, Fc, omega_v = dilute(T, m)
    Ts, y = T / m.eps, reduced_density(rho, M, m, form)
    return reduced_viscosity(
        Ts, np.sqrt(Ts) / omega_v * Fc, np.sqrt(m.M * m.Tc) / np.cbrt(m.Vc) ** 2, y, 1 / (1 - y), m, form
    )


def reduced_viscosity(Ts, dilute_star, unit, y, inv_gap, m, form):
    """The same from T*, the low-pressure eta*, sqrt(M_m Tc_m)/Vc_m^(2/3), y and 1/(1 - y)."""
    omega, mur4, kappa = m.omega, m.mur4, m.kappa
    if form == "polefree":
        omega = np.maximum(omega, LD(0))
        mur4, kappa = np.minimum(mur4, pole(omega) / 2), 0 * kappa

    E = _coefficients(tables(form)[0], omega, mur4, kappa)
    if form == "polefree":
        E[1] = np.maximum(E[1], LD(0))
    G1 = (1 - y / 2) * inv_gap**3
    G2 = _shape(E, y, G1)
    dense = E[6] * y * y * G2 * np.exp(E[7] + E[8] / Ts + E[9] / (Ts * Ts))
    star = dilute_star * (1 / G2 + E[5] * y) + dense

    return star * LD("36.344") * unit * LD("1e-7")


def conductivity(T, rho, M, cv_mol, m, form="polefree"):
    """lam [W/m/K]; cv_mol [J/mol/K] of the ideal gas, of the real gas in form cantera."""
    q = LD("3.586e-3") * np.sqrt(m.Tc / (m.M / 1000)) / np.cbrt(m.Vc) ** 2
    Tr, y = T / m.Tc, reduced_density(rho, M, m, form)
    return reduced_conductivity(Tr, dilute(T, m)[0], q * np.sqrt(Tr), y, 1 / (1 - y), cv_mol, m, form)


def reduced_conductivity(Tr, eta0, q_root, y, inv_gap, cv_mol, m, form):
    """The same from T/Tc_m, eta0, q sqrt(Tr), y and 1/(1 - y)."""
    B = _coefficients(tables(form)[1], m.omega, m.mur4, m.kappa)
    if form == "polefree":
        B[6] = np.maximum(B[6], LD(0))
    G1 = (1 - y / 2) * inv_gap**3
    H2 = _shape(B, y, G1)
    alpha = cv_mol / R - LD("1.5")
    beta = LD("0.7862") - LD("0.7109") * m.omega + LD("1.3168") * m.omega**2
    zeta = 2 + LD("10.5") * Tr * Tr

    psi = 1 + alpha * (
        (LD("0.215") + LD("0.28288") * alpha - LD("1.061") * beta + LD("0.26665") * zeta)
        / (LD("0.6366") + beta * zeta + LD("1.061") * alpha * beta)
    )

    return LD("31.2") * eta0 * psi / (m.M / 1000) * (1 / H2 + B[5] * y) + q_root * B[6] * y * y * H2
