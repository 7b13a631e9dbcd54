"""Peng-Robinson with van der Waals mixing, textbook double sums; molar SI units (mol, m3, Pa, K, J).

Peng & Robinson, Ind. Eng. Chem. Fundam. 15 (1976) 59; alpha for heavy species: Robinson & Peng 1978 (originals not
seen; the numbers are those several independent codes agree on). The cubic is written in u = Z - B, whose physical
roots all lie in (0, 1], and solved by bisection between its stationary points, then Newton: slow, and hard to get wrong.
"""
from types import SimpleNamespace

import numpy as np

from .species import OMEGA_A, OMEGA_B, R, ZC
from .tracked import LD, Tracked, value

SQRT2 = np.sqrt(LD(2))


def alpha_kappa(omega, alpha):
    light = LD("0.37464") + LD("1.54226")*omega - LD("0.26992")*omega**2
    if alpha == "cantera":
        heavy = LD("0.374642") + LD("1.487503")*omega - LD("0.164423")*omega**2 + LD("0.016666")*omega**3
    elif alpha == "pr78":
        heavy = LD("0.379642") + LD("1.48503")*omega - LD("0.164423")*omega**2 + LD("0.016666")*omega**3
    else:
        raise ValueError(f"alpha {alpha!r}")
    return np.where(omega <= LD("0.491"), light, heavy)


def pair_energy(sp):
    """a_ij = sqrt(a_i a_j) (1 - k_ij), the matrix (ns, ns)."""
    return np.sqrt(sp.a[:, None]*sp.a[None, :])*(1 - sp.kij)


def mixture_ab(T, X, sp, alpha="pr78"):
    """a, a', a'' [Pa m6/mol2, /K, /K2] and b [m3/mol] at T (n), X (ns, n)."""
    Tc = (sp.a*OMEGA_B/(sp.b*OMEGA_A*R))[:, None]
    kappa = alpha_kappa(sp.omega, alpha)[:, None]
    root = np.sqrt(T/Tc)
    f = 1 + kappa*(1 - root)
    sign = np.where(value(f) >= 0, LD(1), LD(-1))
    df = -kappa*root/(2*T)
    d2f = kappa*root/(4*T*T)
    z, dz, d2z = X*f*sign, X*df*sign, X*d2f*sign
    A = pair_energy(sp)
    a = (z*(A @ z)).sum(0)
    da = 2*(dz*(A @ z)).sum(0)
    d2a = 2*(dz*(A @ dz)).sum(0) + 2*(d2z*(A @ z)).sum(0)
    return a, da, d2a, (X*sp.b[:, None]).sum(0)


def pseudo_critical(X, sp):
    """T [K], p [Pa], v [m3/mol] of the pseudo-critical point: a and b of the mixture with alpha = 1."""
    a = (X*(pair_energy(sp) @ X)).sum(0)
    b = (X*sp.b[:, None]).sum(0)
    Tc = a*OMEGA_B/(b*OMEGA_A*R)
    pc = OMEGA_B*R*Tc/b
    return Tc, pc, ZC*R*Tc/pc


def _bisect(f, lo, hi, rising):
    for _ in range(200):
        mid = (lo + hi)/2
        left = (f(mid) < 0) == rising
        lo, hi = np.where(left, mid, lo), np.where(left, hi, mid)
        if np.all((hi - lo) <= 4*np.finfo(LD).eps*hi):
            break
    return (lo + hi)/2


def roots(A, B):
    """Smallest and largest physical root u = Z - B > 0 of the cubic, for plain longdouble A = a p/(RT)^2, B = b p/RT.

    u^3 + c2 u^2 + c1 u + c0 = 0 from 1 = 1/u - A/(u^2 + 4 B u + 2 B^2). f(0) = -2 B^2 < 0 <= f(1), so there is always one.
    """
    A, B = np.broadcast_arrays(np.asarray(A, LD), np.asarray(B, LD))
    c2, c1, c0 = 4*B - 1, 2*B*B - 4*B + A, -2*B*B

    def f(u):
        return ((u + c2)*u + c1)*u + c0
    with np.errstate(invalid="ignore"):
        bend = np.sqrt(c2*c2 - 3*c1)
    # stationary points, max then min; the stable pair of formulas of a quadratic 3u^2 + 2 c2 u + c1
    q = -(c2 + np.where(c2 >= 0, bend, -bend))
    s1 = q/3
    with np.errstate(all="ignore"):
        s2 = np.where(q == 0, 0, c1/q)
    top, bottom = np.minimum(s1, s2), np.maximum(s1, s2)
    folded = np.isfinite(bend) & (top > 0)
    with np.errstate(invalid="ignore"):
        has_small = folded & (f(np.where(folded, top, 0)) >= 0)
        has_large = ~folded | (f(np.where(folded, bottom, 0)) <= 0)
    small = _bisect(f, np.zeros_like(A), np.where(has_small, top, 1), True)
    large = _bisect(f, np.where(has_large & folded, bottom, 0), np.ones_like(A), True)
    small = np.where(has_small, small, large)
    large = np.where(has_large, large, small)
    return small, large


def residual_gibbs(A, B, u):
    """g_res/RT of the root u = Z - B: Z - 1 - ln(Z - B) - A L', L' = ln[(Z+(1+sqrt2)B)/(Z+(1-sqrt2)B)]/(2 sqrt2 B)."""
    Z = u + B
    return Z - 1 - np.log(u) - A*np.log1p(2*SQRT2*B/(Z + (1 - SQRT2)*B))/(2*SQRT2*B)


def compressibility(T, p, a, b, root="gibbs"):
    """u = Z - B by the stated rule, with its error bound if tracked, and where the rule cannot be decided in float64.

    gibbs: the root of lower residual Gibbs energy; vapour: the largest; liquid: the smallest. Returns (u, undecided).
    """
    RT = R*T
    A, B = a*p/(RT*RT), b*p/RT
    Av, Bv = value(A), value(B)
    small, large = roots(Av, Bv)
    gap = residual_gibbs(Av, Bv, large) - residual_gibbs(Av, Bv, small)
    if root == "gibbs":
        u = np.where(gap <= 0, large, small)
    elif root == "vapour":
        u = large
    elif root == "liquid":
        u = small
    else:
        raise ValueError(f"root {root!r}")
    slope = (3*u + 2*(4*Bv - 1))*u + (2*Bv*Bv - 4*Bv + Av)
    # three roots or one, or which of two: not decidable when the cubic is this flat or the energies this equal
    size = u*u*u + np.abs(4*Bv - 1)*u*u + np.abs(2*Bv*Bv - 4*Bv + Av)*u
    undecided = np.abs(slope*u) < 1e-7*size
    if root == "gibbs":
        undecided |= (small < large) & (np.abs(gap) < 1e-9)
    other = np.where(u == small, large, small)
    flat = (3*other + 2*(4*Bv - 1))*other + (2*Bv*Bv - 4*Bv + Av)
    undecided |= np.abs(flat*other) < 1e-7*size
    # a double root about to appear elsewhere changes the rule's answer too
    undecided |= near_fold(Av, Bv)
    if isinstance(A, Tracked) or isinstance(B, Tracked):
        exact = Tracked(u, np.zeros(u.shape))
        residual = ((exact + (4*B - 1))*exact + (2*B*B - 4*B + A))*exact - 2*B*B
        with np.errstate(all="ignore"):
            u = Tracked(u, residual.err/np.abs(slope).astype(float) + np.abs(u).astype(float) + 2*Bv.astype(float))
    return u, undecided


def near_fold(A, B):
    """True where the number of physical roots changes within rounding: f is 0 at one of its stationary points."""
    c2, c1, c0 = 4*B - 1, 2*B*B - 4*B + A, -2*B*B
    with np.errstate(invalid="ignore"):
        bend = np.sqrt(c2*c2 - 3*c1)
        near = np.zeros(A.shape, bool)
        for s in ((-c2 + bend)/3, (-c2 - bend)/3):
            f = ((s + c2)*s + c1)*s + c0
            size = np.abs(s)**3 + np.abs(c2)*s*s + np.abs(c1*s) + np.abs(c0)
            near |= (s > 0) & (np.abs(f) < 1e-12*size)
    return near


def state(T, p, X, M, ideal, sp, alpha="pr78", root="gibbs"):
    """All thermal quantities at T [K], p [Pa], X (ns, n), M [kg/mol]; `ideal` = molar (cp, h, s) of the ideal gas.

    Per kg: rho h e s cp cv gamma c rho_p rho_T h_p h_T; molar: a_mix a_T a_TT b_mix; Z; plus `undecided` (bool).
    """
    a, a_T, a_TT, b = mixture_ab(T, X, sp, alpha)
    u, undecided = compressibility(T, p, a, b, root)
    q = thermal(T, p, M, ideal, a, a_T, a_TT, b, u)
    q.undecided = undecided
    return q


def departure_log(v, b):
    """L = ln[(v+(1+sqrt2)b)/(v+(1-sqrt2)b)]/(2 sqrt2 b)."""
    return np.log1p(2*SQRT2*b/(v + (1 - SQRT2)*b))/(2*SQRT2*b)


def thermal(T, p, M, ideal, a, a_T, a_TT, b, u):
    """The thermal quantities once u = Z - B is known (v - b = u RT/p without cancellation)."""
    cp0, h0, s0 = ideal
    RT = R*T
    free = u*RT/p                              # v - b
    v = free + b
    Z = u + b*p/RT
    D = v*v + 2*b*v - b*b
    L = departure_log(v, b)
    p_T = R/free - a_T/D
    p_v = -RT/(free*free) + 2*a*(v + b)/(D*D)
    cv = cp0 - R + T*a_TT*L
    cp = cv - T*p_T*p_T/p_v
    h = h0 + RT*(Z - 1) + (T*a_T - a)*L
    s = s0 + R*np.log(u) + a_T*L
    rho = M/v
    kappa_T = -1/(v*p_v)
    beta = -p_T/(v*p_v)
    # v + T p_T/p_v over the common p_v, where the ideal parts cancel by hand
    h_p = (-RT*b/(free*free) + 2*a*v*(v + b)/(D*D) - T*a_T/D)/p_v
    return SimpleNamespace(
        a_mix=a, a_T=a_T, a_TT=a_TT, b_mix=b, Z=Z, rho=rho, h=h/M, e=(h - p*v)/M, s=s/M, cp=cp/M, cv=cv/M,
        gamma=cp/cv, c=v*np.sqrt(-(cp/cv)*p_v/M), rho_p=rho*kappa_T, rho_T=-rho*beta, h_p=h_p/M,
        h_T=cp/M, p_T=p_T, p_v=p_v, v=v, L=L, u=u)


def pressure(T, v, a, b):
    """p(T, v) of the equation of state, for checks."""
    return R*T/(v - b) - a/(v*v + 2*b*v - b*b)
