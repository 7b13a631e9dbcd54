"""Cubic equations of state, mixing by van der Waals' rule or by pseudo-critical pairs, textbook double sums; SI units.

Amounts `n` (ns, points) say what the results are for: mole fractions give molar ones, moles per kg (Y_i/W_i) those per
kg, with R the gas constant of the same amount. Peng & Robinson, Ind. Eng. Chem. Fundam. 15 (1976) 59; alpha for heavy
species: Robinson & Peng 1978; Soave, Chem. Eng. Sci. 27 (1972) 1197; Peneloux, Rauzy & Freze, Fluid Phase Equilib. 8
(1982) 7 (originals not seen; the numbers are those several independent codes agree on). The cubic is written in u = Z -
B, whose physical roots all lie in (0, 1], and solved by bisection between its stationary points: slow, and hard to get
wrong.
"""

from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from .species import OMEGA_A, OMEGA_B, ZC, R
from .tracked import LD, Tracked, value

ROOT2, CBRT2 = np.sqrt(LD(2)), np.cbrt(LD(2))


def _soave(kappa):
    """f, f', f'' of sqrt(alpha) = |f|, f = 1 + kappa (1 - sqrt(Tr)), as a function of T, Tc, sp, option alpha.

    alpha = smooth: from x = kappa (sqrt(Tr) - 1) = 3/4 on f is (1 - y)/(4 (1 - y^4)), y = 4 x - 3, the geometric sum of
    four terms, and at y = 1 a sixteenth.
    """

    def f(T, Tc, sp, alpha):
        k, root = kappa(sp.omega, alpha)[:, None], np.sqrt(T / Tc)
        x, dx, d2x = k * (root - 1), k * root / (2 * T), -k * root / (4 * T * T)
        if alpha != "smooth":
            return 1 - x, -dx, -d2x

        if isinstance(x, Tracked):
            # Kernels form x as the difference of kappa sqrt(Tr) and kappa, each rounded.
            x = Tracked(x.val, x.err + 2 * (np.abs(value(k)) * (1 + value(root))).astype(float))
        bent = value(x) > 0.75
        y = np.where(bent, 4 * x - 3, 0 * x)
        terms = [y**0, y, y * y, y * y * y]
        P, P_y, P_yy = sum(terms), 1 + 2 * y + 3 * terms[2], 2 + 6 * y

        # dF/dx = 4 dF/dy, F = 1/(4 P)
        F, F_x, F_xx = 1 / (4 * P), -P_y / P**2, 4 * (2 * P_y * P_y / P - P_yy) / P**2
        F, F_x, F_xx = np.where(bent, F, 1 - x), np.where(bent, F_x, -1 + 0 * x), np.where(bent, F_xx, 0 * x)
        if isinstance(F, Tracked):
            # Kernels add the bend to 1 - x, whose terms are larger than F: a few roundings of each.
            size = np.where(bent, 1 + np.abs(value(k)) * (1 + value(root)), 0).astype(float)
            F = Tracked(F.val, F.err + 8 * size)

        return F, F_x * dx, F_xx * dx * dx + F_x * d2x

    return f


def _pr_kappa(omega, alpha):
    light = LD("0.37464") + LD("1.54226") * omega - LD("0.26992") * omega**2
    if alpha == "cantera":
        heavy = LD("0.374642") + LD("1.487503") * omega - LD("0.164423") * omega**2 + LD("0.016666") * omega**3
    elif alpha == "pr76":
        heavy = light
    elif alpha in ("smooth", "published"):
        heavy = LD("0.379642") + LD("1.48503") * omega - LD("0.164423") * omega**2 + LD("0.016666") * omega**3
    else:
        raise ValueError(f"alpha {alpha!r}")

    return np.where(omega <= LD("0.491"), light, heavy)


def _srk_kappa(omega, alpha):
    return LD("0.480") + LD("1.574") * omega - LD("0.176") * omega**2


def _rk_f(T, Tc, sp, alpha):
    f = np.sqrt(np.sqrt(Tc / T))
    return f, -f / (4 * T), 5 * f / (16 * T * T)


def _vdw_f(T, Tc, sp, alpha):
    return 1 + 0 * (T / Tc), 0 * (T / Tc), 0 * (T / Tc)


def _rkpr_f(T, Tc, sp, alpha):
    """(3/(2 + Tr))^(k/2)."""
    Z, w = rkpr_Z(sp), sp.omega
    k = (-LD("2.4407") * Z + LD("0.0017")) * w**2 + (LD("7.4513") * Z + LD("1.9681")) * w
    half = ((k + LD("12.5040") * Z - LD("2.7238")) / 2)[:, None]
    over = 2 * Tc + T
    f = np.exp(half * np.log(3 * Tc / over))

    return f, -half * f / over, half * (half + 1) * f / (over * over)


def rkpr_Z(sp):
    """1.168 times the measured Z_c, at most the end of the correlations."""
    Z = LD("1.168") * sp.pc * sp.Vc / (R * sp.Tc)
    return np.where(value(Z) < LD("0.338426"), Z, LD("0.338426") * Z**0)


def rkpr_delta(sp):
    below = LD("0.338426") - rkpr_Z(sp)
    safe = np.where(value(below) > 0, below, below + 1)
    there = np.where(value(below) > 0, LD(1), LD(0))
    return LD("0.428363") + there * (LD("18.496215") * safe ** LD("0.66") + LD("789.723105") * safe ** LD("2.512392"))


def critical_constants(delta1, delta2):
    """Omega_a, Omega_b, Z_c, with bounds that a few roundings give."""
    u, w = (np.asarray(value(x), LD) for x in (delta1 + delta2, delta1 * delta2))
    out = _critical_constants(np.broadcast(u, w).shape, u.tobytes(), w.tobytes())
    tracked = isinstance(delta1, Tracked)

    return [Tracked(x, (20 * np.abs(x)).astype(float) + 5 * delta1.err) if tracked else x for x in out]


@lru_cache(None)
def _critical_constants(shape, u, w):
    """Critical constants by u = delta1 + delta2 and w = delta1 delta2 (bytes of longdoubles), from dp/dv = d2p/dv2 = 0
    at Tc, pc. In eta = b/v these are two equations for eta, solved by bisection of their common condition."""
    u, w = (np.frombuffer(x, LD).reshape(shape) for x in (u, w))
    low, high = np.zeros(shape, LD), np.ones(shape, LD)

    def parts(eta):
        D, D1 = 1 + u * eta + w * eta**2, 2 + u * eta  # D/v^2, v D'/v^2
        return D, D1, 2 * D1**2 / D**3 - 2 / D**2

    for _ in range(70):  # halves the interval to a rounding of longdouble
        eta = (low + high) / 2
        D, D1, second = parts(eta)
        # RT/(v - b)^2 = a D'/D^2 in the curvature: 2 RT/(v - b)^3 - a (2 D'^2/D^3 - D''/D^2), positive in a gas
        f = 2 * D1 / D**2 / (1 - eta) - second
        low, high = np.where(f < 0, eta, low), np.where(f < 0, high, eta)

    D, D1, _ = parts(eta)
    over = D**2 / (D1 * (1 - eta) ** 2)  # a/(R T v)
    Z = 1 / (1 - eta) - over / D

    return over * Z, eta * Z, Z


def _one(delta1, delta2, total, product, omega_a, omega_b, Zc, f, slope=None, zero=None, critical=None):
    """delta1, delta2 with their sum and product; translation: c = slope (zero - Z_RA) R Tc/pc. critical: a function
    that gives the equation's own Tc and pc."""
    return SimpleNamespace(**locals())


# D = (v + delta1 b)(v + delta2 b). One line an equation.
RK = dict(
    delta1=LD(1), delta2=LD(0), total=1, product=0, omega_a=1 / (9 * (CBRT2 - 1)), omega_b=(CBRT2 - 1) / 3, Zc=LD(1) / 3
)
EQUATIONS = {
    "pr": _one(1 + ROOT2, 1 - ROOT2, 2, -1, OMEGA_A, OMEGA_B, ZC, _soave(_pr_kappa), LD("0.50033"), LD("0.25969")),
    "srk": _one(**RK, f=_soave(_srk_kappa), slope=LD("0.40768"), zero=LD("0.29441")),
    "rk": _one(**RK, f=_rk_f),
    "vdw": _one(LD(0), LD(0), 0, 0, LD(27) / 64, LD(1) / 8, LD(3) / 8, _vdw_f),
    "rkpr": _one(rkpr_delta, None, None, None, None, None, None, _rkpr_f),  # delta1 by species: see shape
}
PR = EQUATIONS["pr"]


def by_species(equation):
    return callable(EQUATIONS[equation].delta1)


def delta_mixture(n, sp, equation):
    """delta_1 of the amounts n, weighted by moles; None where it is the same for all species."""
    if not by_species(equation):
        return None
    return (n * EQUATIONS[equation].delta1(sp)[:, None]).sum(0) / n.sum(0)


def shape(equation, delta=None):
    """The record with numbers for delta1, delta2, their sum and product: its own, or those that belong to delta_1."""
    if delta is None:
        return EQUATIONS[equation]
    other = (1 - delta) / (1 + delta)
    omega_a, omega_b, Zc = critical_constants(delta, other)
    return _one(delta, other, delta + other, delta * other, omega_a, omega_b, Zc, EQUATIONS[equation].f)


def shape_at(q, o):
    """The record at q.delta_mix, which only equations with a delta_1 of each species have."""
    return shape(o["equation"], getattr(q, "delta_mix", None))


def plain(eos):
    """The same without bounds."""
    return SimpleNamespace(**{k: v.val if isinstance(v, Tracked) else v for k, v in vars(eos).items()})


def of_mixture(n, sp, o):
    return shape(o["equation"], delta_mixture(n, sp, o["equation"]))


def alpha_kappa(omega, alpha, equation="pr"):
    """NaN where sqrt(alpha) has no zero."""
    kappas = {"pr": _pr_kappa, "srk": _srk_kappa}
    return kappas[equation](omega, alpha) if equation in kappas else omega * np.nan


def corners(sp, alpha, equation="pr"):
    """T [K] (ns,) where the form of alpha changes: smooth: x = 3/4; else x = 1, where f = 0. NaN: nowhere."""
    kappa = alpha_kappa(sp.omega, alpha, equation)
    return sp.Tc * (1 + (LD("0.75") if alpha == "smooth" else 1) / kappa) ** 2


def ab(sp, equation="pr"):
    """a_i, b_i: as they are given for pr, from Tc and pc for another equation."""
    if equation == "pr":
        return sp.a, sp.b
    eos = shape(equation, EQUATIONS[equation].delta1(sp) if by_species(equation) else None)
    own = EQUATIONS[equation].critical
    at = sp if own is None else own(sp)
    return eos.omega_a * (R * at.Tc) * (R * at.Tc) / at.pc, eos.omega_b * R * at.Tc / at.pc


def pair_energy(sp, equation="pr"):
    """a_ij = sqrt(a_i a_j) (1 - k_ij), the matrix (ns, ns)."""
    a, _ = ab(sp, equation)
    return np.sqrt(a[:, None] * a[None, :]) * (1 - sp.kij)


def root_alpha(T, sp, alpha, equation):
    """|f|, sign(f) f', sign(f) f'' of each species, (ns, points)."""
    Tc = (sp.Tc if equation != "pr" else sp.a * OMEGA_B / (sp.b * OMEGA_A * R))[:, None]
    f = EQUATIONS[equation].f(T, Tc, sp, alpha)
    sign = np.where(value(f[0]) >= 0, LD(1), LD(-1))
    return [part * sign for part in f]


def pseudocritical_pairs(sp, alpha="published", equation="pr"):
    """a_ij at alpha = 1, kappa_ij and Tc_ij, (ns, ns), of every pair as a substance of its own (Miller, Harstad &
    Bellan, Int. J. Multiphase Flow 27 (2001) 1605; original not seen)."""
    Vc = np.where(np.isnan(value(sp.Vc)), ZC * R * sp.Tc / sp.pc, sp.Vc)
    Zc, root = sp.pc * Vc / (R * sp.Tc), np.cbrt(Vc)
    Tc = np.sqrt(sp.Tc[:, None] * sp.Tc) * (1 - sp.kij)
    Vc, Zc = (root[:, None] + root) ** 3 / 8, (Zc[:, None] + Zc) / 2
    pc = Zc * R * Tc / Vc
    kappa = alpha_kappa((sp.omega[:, None] + sp.omega) / 2, alpha, equation)

    return EQUATIONS[equation].omega_a * (R * Tc) * (R * Tc) / pc, kappa, Tc


def _pair_mixture(T, n, sp, alpha, equation):
    """a, a', a'' of the amounts n: a_ij = ac_ij (1 + kappa_ij (1 - sqrt(T/Tc_ij)))^2. The bounds are those of that
    square written out as a quadratic in sqrt(T), whose terms cancel where it is small."""
    ac, kappa, Tc = (x[:, :, None] for x in pseudocritical_pairs(sp, alpha, equation))
    root = np.sqrt(T / Tc)
    f, df, d2f = 1 + kappa * (1 - root), -kappa * root / (2 * T), kappa * root / (4 * T * T)
    weight = n[:, None] * n * ac
    sums = [(weight * term).sum(0).sum(0) for term in (f * f, 2 * f * df, 2 * (df * df + f * d2f))]
    g, q = np.abs(value(1 + kappa)), np.abs(value(kappa * root))

    for k, terms in enumerate(((g + q) ** 2, q * (g + q) / value(T), q * g / value(T) ** 2)):
        if isinstance(sums[k], Tracked):
            # a few roundings of constants and products in each term
            sums[k] = Tracked(sums[k].val, sums[k].err + 4 * (value(weight) * terms).sum((0, 1)).astype(float))

    return sums


def _phase_mixture(T, n, sp):
    """The same of a Redlich-Kwong phase's own a_ij = (a0_ij + a1_ij T)/sqrt(T)."""
    a0, a1 = ((n * (matrix @ n)).sum(0) for matrix in sp.rk_a)
    root = np.sqrt(T)
    return (a0 + a1 * T) / root, (a1 - a0 / T) / (2 * root), (3 * a0 / T - a1) / (4 * T * root)


def mixture_ab(T, n, sp, alpha="smooth", equation="pr", mixing="vdw"):
    """a, a', a'' and b of the amounts n (ns, points) at T."""
    if mixing == "pseudocritical":
        return (*_pair_mixture(T, n, sp, alpha, equation), (n * ab(sp, equation)[1][:, None]).sum(0))
    if equation == "rk" and getattr(sp, "rk_a", None) is not None:
        return (*_phase_mixture(T, n, sp), (n * ab(sp, equation)[1][:, None]).sum(0))

    z, dz, d2z = (n * part for part in root_alpha(T, sp, alpha, equation))
    A = pair_energy(sp, equation)
    a = (z * (A @ z)).sum(0)
    da = 2 * (dz * (A @ z)).sum(0)
    d2a = 2 * (dz * (A @ dz)).sum(0) + 2 * (d2z * (A @ z)).sum(0)

    return a, da, d2a, (n * ab(sp, equation)[1][:, None]).sum(0)


def shift(n, sp, o):
    """Volume translation of the amounts n with the options o."""
    return (n * shift_of_species(sp, o)[:, None]).sum(0)


def shift_of_species(sp, o):
    """c_i as given, else Peneloux's correlation with Z_RA of Yamada & Gunn; `fitted`: v - W/rho of a measured liquid,
    where there is one."""
    equation = o["equation"]
    eos = EQUATIONS[equation]
    Z_RA = LD("0.29056") - LD("0.08775") * sp.omega
    c = np.where(
        np.isnan(value(sp.volume_translation)), eos.slope * (eos.zero - Z_RA) * R * sp.Tc / sp.pc, sp.volume_translation
    )
    if o["translation"] == "peneloux":
        return c

    T, p, rho = value(sp.liquid).T
    (a, b), kappa = (tuple(value(x) for x in ab(sp, equation)), alpha_kappa(value(sp.omega), o["alpha"], equation))
    RT = R * np.where(np.isnan(T), LD(300), T)
    A = a * (1 + kappa * (1 - np.sqrt(RT / R / value(sp.Tc)))) ** 2 * p / RT**2
    known = np.isfinite(rho)
    u, _ = roots(np.where(known, A, LD("0.1")), np.where(known, b * p / RT, LD("0.01")), eos)
    v = u * RT / p + b

    # v is as sensitive as 1/(1 - b/v) = 10 of a liquid makes it to a and b, each some roundings off
    fitted = Tracked(v - value(sp.W) / rho, 30 * np.abs(v).astype(float)) if isinstance(c, Tracked) else v - sp.W / rho
    return np.where(known, fitted, c)


def pseudo_critical(X, sp, equation="pr", mixing="vdw"):
    """T [K], p [Pa], v [m3/mol] of the pseudo-critical point: a and b of the mixture with alpha = 1."""
    eos = shape(equation, delta_mixture(X, sp, equation))
    pairs = pair_energy(sp, equation) if mixing == "vdw" else pseudocritical_pairs(sp, "published", equation)[0]
    a = (X * (pairs @ X)).sum(0)
    b = (X * ab(sp, equation)[1][:, None]).sum(0)
    Tc = a * eos.omega_b / (b * eos.omega_a * R)
    pc = eos.omega_b * R * Tc / b

    return Tc, pc, eos.Zc * R * Tc / pc


def _bisect(f, lo, hi, rising):
    for _ in range(200):
        mid = (lo + hi) / 2
        left = (f(mid) < 0) == rising
        lo, hi = np.where(left, mid, lo), np.where(left, hi, mid)
        if np.all((hi - lo) <= 4 * np.finfo(LD).eps * hi):
            break

    return (lo + hi) / 2


def coefficients(A, B, eos):
    """c2, c1, c0 of u^3 + c2 u^2 + c1 u + c0 = 0, from 1 = 1/u - A/D with D = u^2 + linear B u + constant B^2 (pr: 4,
    2)."""
    linear, constant = 2 + eos.total, 1 + eos.total + eos.product
    return linear * B - 1, constant * B * B - linear * B + A, -constant * B * B


def roots(A, B, eos=PR):
    """Smallest and largest physical root u = Z - B > 0 of the cubic, for plain longdouble A = a p/(RT)^2, B = b p/RT.

    f(0) < 0 <= f(1), so there is always one; f(1 - A) >= 0 where A < 0 (a Redlich-Kwong phase's own a, hot).
    """
    A, B = np.broadcast_arrays(np.asarray(A, LD), np.asarray(B, LD))
    c2, c1, c0 = coefficients(A, B, eos)

    def f(u):
        return ((u + c2) * u + c1) * u + c0

    with np.errstate(invalid="ignore"):
        bend = np.sqrt(c2 * c2 - 3 * c1)

    # stationary points, max then min; the stable pair of formulas of a quadratic 3u^2 + 2 c2 u + c1
    q = -(c2 + np.where(c2 >= 0, bend, -bend))
    s1 = q / 3
    with np.errstate(all="ignore"):
        s2 = np.where(q == 0, 0, c1 / q)
    top, bottom = np.minimum(s1, s2), np.maximum(s1, s2)
    folded = np.isfinite(bend) & (top > 0)

    with np.errstate(invalid="ignore"):
        has_small = folded & (f(np.where(folded, top, 0)) >= 0)
        has_large = ~folded | (f(np.where(folded, bottom, 0)) <= 0)

    highest = 1 + np.maximum(-A, 0)
    small = _bisect(f, np.zeros_like(A), np.where(has_small, top, highest), True)
    large = _bisect(f, np.where(has_large & folded, bottom, 0), highest, True)
    small = np.where(has_small, small, large)
    large = np.where(has_large, large, small)

    return small, large


def residual_gibbs(A, B, u, eos=PR):
    """g_res/RT of the root u = Z - B: Z - 1 - ln(Z - B) - A L', L' = ln[(Z + delta1 B)/(Z + delta2 B)]/((delta1 -
    delta2) B)."""
    return u + B - 1 - np.log(u) - A * departure_log(u + B, B, eos)


def compressibility(A, B, root="gibbs", eos=PR):
    """u = Z - B by the stated rule, with its error bound if tracked, and where the rule cannot be decided in float64.

    gibbs: the root of lower residual Gibbs energy; vapour, largest: the largest; liquid: the smallest. Returns (u,
    undecided).
    """
    Av, Bv, known = value(A), value(B), plain(eos)
    small, large = roots(Av, Bv, known)
    gap = residual_gibbs(Av, Bv, large, known) - residual_gibbs(Av, Bv, small, known)

    if root == "gibbs":
        u = np.where(gap <= 0, large, small)
    elif root in ("vapour", "largest"):
        u = large
    elif root == "liquid":
        u = small
    else:
        raise ValueError(f"root {root!r}")

    c2, c1, c0 = coefficients(Av, Bv, known)
    slope = (3 * u + 2 * c2) * u + c1

    # three roots or one, or which of two: not decidable when the cubic is this flat or the energies this equal
    size = u * u * u + np.abs(c2) * u * u + np.abs(c1) * u
    undecided = np.abs(slope * u) < 1e-7 * size
    if root == "gibbs":
        undecided |= (small < large) & (np.abs(gap) < 1e-9)
    other = np.where(u == small, large, small)
    flat = (3 * other + 2 * c2) * other + c1
    undecided |= np.abs(flat * other) < 1e-7 * size

    # a double root about to appear elsewhere changes the rule's answer too
    undecided |= near_fold(c2, c1, c0)
    if isinstance(A, Tracked) or isinstance(B, Tracked):
        exact = Tracked(u, np.zeros(u.shape))
        c2, c1, c0 = coefficients(A, B, eos)
        residual = ((exact + c2) * exact + c1) * exact + c0
        with np.errstate(all="ignore"):
            u = Tracked(u, residual.err / np.abs(slope).astype(float) + np.abs(u).astype(float) + 2 * Bv.astype(float))

    return u, undecided


def phase_flag(q, eos=PR):
    """0: the only root; of several 1: the smallest, 2: the largest; 3: dp/dv >= 0. And where that cannot be decided in
    float64. q: T, p, R_s, a_mix, b_mix, v_free, p_v.

    At p <= 0 there is no largest: what is stable there is on the liquid's side of the spinodal.
    """
    given = (q.T, q.p, q.R_s, q.a_mix, q.b_mix, q.v_free, q.p_v)
    T, p, Rs, a, b, free, p_v = (value(x).astype(LD) for x in given)
    eos = plain(eos)
    RT, above = Rs * T, np.where(p > 0, p, LD(1))
    A, B = a * above / (RT * RT), b * above / RT
    small, large = roots(A, B, eos)
    u = above * free / RT

    flag = np.where(small == large, 0, np.where(np.abs(u - small) < np.abs(u - large), 1, 2))
    flag = np.where(p > 0, flag, 1)
    D, D_v = attraction(free + b, b, eos)
    cancelled = np.abs(p_v) < 1e-10 * (RT / free**2 + a * D_v / D**2)

    return np.where(p_v >= 0, 3, flag).astype(LD), cancelled | near_fold(*coefficients(A, B, eos)) & (p > 0)


def near_fold(c2, c1, c0):
    """True where the number of physical roots changes within rounding: f is 0 at one of its stationary points."""
    with np.errstate(invalid="ignore"):
        bend = np.sqrt(c2 * c2 - 3 * c1)
        near = np.zeros(c1.shape, bool)
        for s in ((-c2 + bend) / 3, (-c2 - bend) / 3):
            f = ((s + c2) * s + c1) * s + c0
            size = np.abs(s) ** 3 + np.abs(c2) * s * s + np.abs(c1 * s) + np.abs(c0)
            near |= (s > 0) & (np.abs(f) < 1e-12 * size)

    return near


def departure_log(v, b, eos=PR):
    """L = ln[(v + delta1 b)/(v + delta2 b)]/((delta1 - delta2) b)."""
    gap = eos.delta1 - eos.delta2
    if np.all(value(gap) == 0):
        return 1 / (v + eos.delta2 * b)
    return np.log1p(gap * b / (v + eos.delta2 * b)) / (gap * b)


def attraction(v, b, eos):
    """D = v^2 + total b v + product b^2 and dD/dv."""
    return v * v + eos.total * b * v + eos.product * b * b, 2 * v + eos.total * b


@dataclass(frozen=True)
class State:
    """Temperature, pressure, and the ideal gas of an amount of mixture: of a mole or of a kg."""

    T: Any  # K
    p: Any  # Pa
    R_s: Any  # gas constant of the amount [J/K]
    ideal: tuple  # cp, h, s of the ideal gas


@dataclass(frozen=True, kw_only=True)
class Sums:
    """The numbers of the equation for an amount of mixture."""

    a: Any
    a_T: Any
    a_TT: Any
    b: Any
    eos: SimpleNamespace
    shift: Any = None  # volume translation c, v = v_eos - c; None without


def sums(T, n, sp, o):
    """The Sums of the amounts n at T."""
    a, a_T, a_TT, b = mixture_ab(T, n, sp, o["alpha"], o["equation"], o["mixing"])
    moved = shift(n, sp, o) if o["translation"] != "none" else None
    return Sums(a=a, a_T=a_T, a_TT=a_TT, b=b, eos=of_mixture(n, sp, o), shift=moved)


def state(at, n, sp, o):
    """The thermal quantities of the amounts n at a State, with `undecided`: whether float64 cannot decide the root."""
    m = sums(at.T, n, sp, o)
    RT = at.R_s * at.T
    u, undecided = compressibility(m.a * at.p / (RT * RT), m.b * at.p / RT, o["root"], m.eos)

    q = thermal(at, m, u)
    q.undecided = undecided
    q.shift_mix = 0 * m.b if m.shift is None else m.shift
    if by_species(o["equation"]):
        q.delta_mix = m.eos.delta1

    return q


def thermal(at, m, u):
    """The thermal quantities at a State of a mixture's Sums, once u = Z - B is known (v - b = u RT/p without
    cancellation)."""
    T, p, Rs = at.T, at.p, at.R_s
    cp0, h0, s0 = at.ideal
    a, a_T, b, c = m.a, m.a_T, m.b, m.shift

    RT = Rs * T
    free = u * RT / p
    v = free + b
    D, D_v = attraction(v, b, m.eos)
    L = departure_log(v, b, m.eos)
    p_T = Rs / free - a_T / D
    p_v = -RT / (free * free) + a * D_v / (D * D)
    cv = cp0 - Rs + T * m.a_TT * L
    cp = cv - T * p_T * p_T / p_v
    h = h0 + RT * (u + b * p / RT - 1) + (T * a_T - a) * L
    e = h - p * v

    # v + T p_T/p_v over the common p_v, where the ideal parts cancel by hand
    h_p = (-RT * b / (free * free) + a * v * D_v / (D * D) - T * a_T / D) / p_v
    Z, vol = u + b * p / RT, v
    if c is not None:
        Z, vol, h, h_p = Z - c * p / RT, v - c, h - p * c, h_p - c

    q = SimpleNamespace(T=T, p=p, R_s=Rs, a_mix=a, a_T=a_T, a_TT=m.a_TT, b_mix=b, v_free=free)
    q.cubic_L, q.u, q.Z, q.vol = L, u, Z, vol
    q.p_T, q.p_v, q.cv, q.cp, q.h, q.e, q.h_p = p_T, p_v, cv, cp, h, e, h_p
    q.s = s0 + Rs * np.log(u) + a_T * L
    q.residual_entropy = np.log(vol / free) - a_T * L / Rs
    q.phase_flag = Tracked(phase_flag(q, m.eos)[0], exact=True)
    add_definitions(q, D, D_v)
    return q


def add_definitions(q, D, D_v):
    """The quantities that follow by definition from vol, cp, cv, p_T, p_v and v_free of q. D_v: dD/dv."""
    q.rho = 1 / q.vol
    q.rho_p = -1 / (q.vol * q.vol * q.p_v)
    q.rho_T = q.p_T / (q.vol * q.vol * q.p_v)
    q.v_p = 1 / q.p_v
    q.h_T = q.cp
    q.inv_free, q.inv_D, q.inv_centred = 1 / q.v_free, 1 / D, 2 / D_v

    stable = value(q.cv) > 0  # equation mapped: it is not in carbon dioxide and water far below freezing
    q.gamma = np.where(stable, q.cp / q.cv, LD("nan"))
    q.c = q.vol * np.sqrt(np.where(stable, -(q.cp / q.cv) * q.p_v, LD("nan")))


def pressure(T, v, a, b):
    """p(T, v) of Peng-Robinson per mole, for checks."""
    return R * T / (v - b) - a / (v * v + 2 * b * v - b * b)
