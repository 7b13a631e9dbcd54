"""Viscosity and conductivity by residual-entropy scaling, as double and single sums over the species; SI inside.

    mu = eta0 + u sqrt(W k T/N_A) (exp(P) - 1),  u = (N_A/(v s+))^(2/3),  P = s+ (n1 + n2 s+)/(1 + n3 s+) (1 + n4/T)
    lam = eta0/M_m (15/4 R + f (cv0 - 3/2 R)) + k u sqrt(k T N_A/W) s+ (b1 + b2 s+)/(1 + b3 s+)

Coefficients are means by mole fractions; sigma, eps, M_m of eta0 follow Chung's rules (chung.pair_rules). A species
without a row of fluids.csv has a universal curve of s+ over s+ at its critical point.
"""

from types import SimpleNamespace

import numpy as np

from . import chung, cubic, mapped
from .species import R
from .tracked import LD, Tracked, value

BOLTZMANN, AVOGADRO = LD("1.380649e-23"), LD("6.02214076e23")
NAMES = ("n1", "n2", "n3", "n4", "b1", "b2", "b3", "f0", "f1", "Tc")


def species_numbers(sp):
    """The columns by name, (ns,) each, with sigma [A], eps [K]; n4 [K]."""
    out = {name: [] for name in (*NAMES, "sigma", "eps")}
    critical = critical_entropy(sp)

    for s, name in enumerate(sp.names):
        row = mapped.rows().get(mapped.ROWS.get(name.upper(), name))
        own = of_row(row) if row else universal(sp, s, critical[s])
        for column, numbers in out.items():
            numbers.append(own[column])

    tracked = isinstance(sp.W, Tracked)
    return {column: _column(numbers, tracked) for column, numbers in out.items()}


def _column(numbers, tracked):
    if not tracked:
        return np.array(numbers, LD)
    return np.stack([number if isinstance(number, Tracked) else Tracked(LD(number)) for number in numbers])


def of_row(row):
    out = {column: row[column] for column in (*NAMES, "sigma", "eps")}
    out["n4"] = out["n4"] * out["Tc"]
    return out


def universal(sp, s, critical):
    """Species s of a mixture; critical: its s+ at the critical point."""
    Vc, Tc = chung.critical_volume(sp, "polefree")[s] * 1e6, sp.Tc[s]
    mu_r = LD("131.3") * sp.dipole[s] / np.sqrt(Vc * Tc)
    F_c = 1 - LD("0.2756") * sp.omega[s] + LD("0.059035") * mu_r**4 + sp.kappa_assoc[s]
    z = LD("0.95") / critical

    return dict(
        n1=LD("0.05") * z,
        n2=LD("0.30") * z * z,
        n3=LD("0.22") * z,
        n4=LD(0),
        b1=LD("0.8"),
        b2=LD("1.4"),
        b3=LD(0),
        f0=LD("1.15"),
        f1=LD(0),
        Tc=Tc,
        sigma=LD("0.809") * np.cbrt(Vc) / np.sqrt(F_c),
        eps=Tc / LD("1.2593"),
    )


def critical_entropy(sp):
    """s+ of equation mapped at the critical point of each species, (ns,). Z_c of the cubic gives w; alpha is 1."""
    q = mapped.numbers(sp)
    eos = cubic.shape("mapped", q.d1)
    a, b = cubic.ab(sp, "mapped")
    w = eos.Zc * R * q.Tc / q.pc
    x = b / w

    c = [b * P for P in q.P]
    tau, tau_T = b * q.Q, -b * q.Q / (LD("1.4") * q.Tc)  # 1.4/(1 + 0.4) = 1
    v = w - mapped.polynomial(c, x) + tau
    a_T = 2 * a * (q.g - q.m / (1 + q.c)) / q.Tc

    # The integrals by quadrature; the kernels' recursions lose two to three digits.
    L, I, _ = mapped.quadratures(mapped.Map([value(ck) for ck in c], value(b), value(q.d1)), value(x))
    if isinstance(b, Tracked):
        L, I = (Tracked(part, 100 * np.abs(part).astype(float)) for part in (L, I))
    return -np.log((w - b) / v) + I - (a_T * L - q.pc * tau_T) / R


def mixture(X, sp):
    """sigma3 [A3], eps [K], M [g/mol] of the dilute gas, and the means n1 .. Tc by mole fractions X (ns, n)."""
    own = species_numbers(sp)
    means = {name: (X * own[name][:, None]).sum(0) for name in NAMES}
    return SimpleNamespace(**chung_rules(X, own["sigma"], own["eps"], sp.W * 1000), **means)


def chung_rules(X, sigma, eps, M):
    """Chung's rules for sigma3, eps and M as double sums."""
    s_ij, e_ij = np.sqrt(sigma[:, None] * sigma), np.sqrt(eps[:, None] * eps)
    M_ij = 2 * M[:, None] * M / (M[:, None] + M)

    def double_sum(pair):
        return (X * (pair @ X)).sum(0)

    sigma3 = double_sum(s_ij**3)
    e = double_sum(e_ij * s_ij**3) / sigma3
    M_m = (double_sum(e_ij * s_ij**2 * np.sqrt(M_ij)) / (e * np.cbrt(sigma3) ** 2)) ** 2

    return dict(sigma3=sigma3, eps=e, M=M_m)


def dilute(T, m):
    """eta0 [Pa s]."""
    return LD("26.69e-7") * np.sqrt(m.M * T) / (np.cbrt(m.sigma3) ** 2 * chung.neufeld(T / m.eps))


def unit(T, rho, W, entropy):
    """u sqrt(W k T/N_A) [Pa s], u = (N_A/(v s+))^(2/3); v s+ from 5e-7 to 0.03276 m3/mol."""
    volume = np.minimum(np.maximum(entropy * W / rho, LD("5e-7")), LD("8e-6") * 4095)
    return (AVOGADRO / np.cbrt(AVOGADRO)) / np.cbrt(volume) ** 2 * np.sqrt(W * BOLTZMANN / AVOGADRO * T)


def viscosity(T, entropy, eta0, unit, m):
    """mu [Pa s] from the parts."""
    s = np.maximum(entropy, LD(0))
    P = s * (m.n1 + m.n2 * s) / (1 + m.n3 * s) * (1 + m.n4 / T)
    return eta0 + unit * np.expm1(np.minimum(P, LD(80)))


def conductivity(T, W, cp_mol, entropy, eta0, unit, m):
    """lam [W/m/K] from the parts; cp_mol [J/mol/K] of the ideal gas."""
    s = np.maximum(entropy, LD(0))
    x = np.log(T / m.Tc)
    bound = np.where(value(x) < 0, LD(1), LD(3))
    f = m.f0 + m.f1 * (x / np.sqrt(np.sqrt(1 + (x / bound) ** 4)))
    internal = np.maximum(cp_mol - R * LD("2.5"), LD(0))

    dilute_part = eta0 / (m.M / 1000) * (R * LD("3.75") + f * internal)
    return dilute_part + R / W * unit * s * (m.b1 + m.b2 * s) / (1 + m.b3 * s)


def transport(T, rho, W, cp_mol, entropy, m):
    """mu and lam at T [K], rho [kg/m3], mean molar mass W [kg/mol], s+, with m = mixture(...)."""
    eta0, scale = dilute(T, m), unit(T, rho, W, entropy)
    return viscosity(T, entropy, eta0, scale, m), conductivity(T, W, cp_mol, entropy, eta0, scale, m)


# ---- each kernel alone


def inputs(T, rho, W, entropy, m):
    """Intermediate results of the kernels, by name."""
    return mixture_inputs(m) | coefficients(m) | dict(eta0=dilute(T, m), excess_unit=unit(T, rho, W, entropy))


def mixture_inputs(m):
    """Outputs of residual_mixture, by name."""
    sigma2 = np.cbrt(m.sigma3) ** 2
    return dict(inv_eps_m=1 / m.eps, inv_M_m=1 / m.M, scale_m=np.sqrt(m.M) / sigma2)


def coefficients(m):
    """Outputs of residual_coefficients, by name."""
    return {f"{name}_m": getattr(m, name) for name in NAMES[:-1]} | dict(Tc_mean=m.Tc)


def _means(**given):
    return SimpleNamespace(**{name.removesuffix("_m").removesuffix("_mean"): number for name, number in given.items()})


def _of_fractions(sp, Y, W):
    return mixture(Y * W / sp.W[:, None], sp)


def _dilute(sp, o, T, inv_eps_m, scale_m):
    m = SimpleNamespace(M=scale_m**2, eps=1 / inv_eps_m, sigma3=LD(1))  # M and sigma enter as sqrt(M)/sigma^2
    return dict(eta0=dilute(T, m))


def _viscosity(sp, o, T, residual_entropy, eta0, excess_unit, **means):
    return dict(mu=viscosity(T, residual_entropy, eta0, excess_unit, _means(**means)))


def _conductivity(sp, o, T, W, cp_ig, residual_entropy, inv_M_m, eta0, excess_unit, **means):
    m = _means(**means)
    m.M = 1 / inv_M_m
    return dict(lam=conductivity(T, W, cp_ig * W, residual_entropy, eta0, excess_unit, m))


KERNELS = {
    "residual_mixture": lambda sp, o, Y, W: mixture_inputs(_of_fractions(sp, Y, W)),
    "residual_coefficients": lambda sp, o, Y, W: coefficients(_of_fractions(sp, Y, W)),
    "residual_dilute": _dilute,
    "residual_scale": lambda sp, o, T, rho, W, residual_entropy: dict(excess_unit=unit(T, rho, W, residual_entropy)),
    "residual_viscosity": _viscosity,
    "residual_conductivity": _conductivity,
    "residual_background": lambda sp, o, **given: dict(lam_background=_conductivity(sp, o, **given)["lam"]),
}
