"""Equation `mapped` by its definition, SI units: a cubic in w, v = w - C(T, w).

    p = R T/(w - b) - a/D,  D = (w + d1 b)(w + d2 b),  C = sum_k c_k x^k - tau(T),  x = b/w

The integrals L of h/D and I of (h - 1)/(w - b), h = dv/dw, are quadratures in longdouble; derivatives in the amounts
are complex steps on A(T, V, n) and E(T, V, n). Closed forms serve as bounds of rounding only. Amounts as in cubic.py.
"""

import csv
import functools
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import cubic, ideal_gas
from .species import R
from .tracked import LD, Tracked, value

TABLE = Path(__file__).resolve().parents[2] / "kernels/gas/species/fluids.csv"

# Names of species, and the rows of the table that have other names.
ROWS = dict(AR="Ar", HE="He", NC4H10="nC4", C4H10="nC4", NC5H12="nC5", NC6H14="nC6", NC7H16="nC7", C7H16="nC7")
ROWS |= dict(NC8H18="nC8", NC9H20="nC9", NC10H22="nC10", NC12H26="nC12", PH2="pH2", AIR="Air")
# Of the species sets of the tests: radicals and fleeting molecules, by name
RADICALS = "H O OH HO2 HCO CH3 C N NH NH2 NNH CH CH2 CH2(S) CH2OH CH3O C2H C2H3 C2H5 HCCO CN NCO HNO".split()
RADICALS += "HOCN HCNO HCCOH C3H7 CH2CHO H2CN HCNN".split()
POLAR_FROM = LD("0.022")  # reduced dipole moment of Lucas

NODES, WEIGHTS = (np.asarray(part, LD) for part in np.polynomial.legendre.leggauss(80))


def _polished():
    """Gauss-Legendre nodes and weights to the digits of longdouble: Newton's method on P_80."""
    x, n = NODES, NODES.size
    for _ in range(3):
        before, here = np.ones(n, LD), x
        for k in range(1, n):
            before, here = here, ((2 * k + 1) * x * here - k * before) / (k + 1)
        slope = n * (x * here - before) / (x * x - 1)
        x = x - here / slope
    return (x + 1) / 2, 1 / ((1 - x * x) * slope * slope)


NODES, WEIGHTS = _polished()


@functools.cache
def rows():
    """{fluid: {column: number}} of the table's parameters, the columns up to f1."""
    lines = [line for line in TABLE.read_text().splitlines() if not line.startswith("#")]
    reader = csv.DictReader(lines)
    columns = reader.fieldnames[1 : reader.fieldnames.index("f1") + 1]
    return {row["fluid"]: {k: LD(row[k]) for k in columns} for row in reader}


def _kappa(w):
    """kappa of Robinson & Peng 1978 (original not seen)."""
    if w <= LD("0.491"):
        return LD("0.37464") + LD("1.54226") * w - LD("0.26992") * w**2
    return LD("0.379642") + LD("1.48503") * w - LD("0.164423") * w**2 + LD("0.016666") * w**3


def numbers(sp):
    """Tc, pc, delta_1, alpha's c, g, m, P (4, ns), Q of the species; Tracked where sp is."""
    table, species = rows(), []
    tracked = isinstance(sp.Tc, Tracked)
    plain = {name: value(getattr(sp, name)) for name in ("Tc", "pc", "omega", "volume_translation", "dipole")}
    associates = value(sp.kappa_assoc) > 0
    reduced = LD("52.46") * plain["dipole"] ** 2 * (plain["pc"] / 100000) / plain["Tc"] ** 2

    for s, name in enumerate(sp.names):
        row = table.get(ROWS.get(name.upper(), name))
        Tc, pc, w = (plain[field][s] for field in ("Tc", "pc", "omega"))
        if row:
            P = [row[f"P{k}"] for k in range(4)]
            Q = row["Q"] if row["Q"] > LD("1e-9") else LD(0)  # a fit that ended at its bound
            species.append([row[k] for k in ("Tc", "pc", "d1", "alpha_c", "alpha_g", "alpha_m")] + P + [Q])
            continue

        polar = associates[s] or reduced[s] > POLAR_FROM or not sp.dipole_known[s]
        correlated = name not in RADICALS and not polar and Tc > 50 and LD("-0.05") <= w <= LD("0.6")
        if correlated:
            slope = LD("0.2360") + LD("0.8314") * w - LD("0.0676") * w * w
            P = [
                LD("-0.2076") + LD("1.8878") * w,
                LD("2.2344") - LD("4.5771") * w,
                LD("-5.9269") + LD("5.2326") * w,
                LD("3.9739") - LD("2.3842") * w,
            ]
        else:
            slope = _kappa(w) / 2
            c = cubic.PR.slope * (cubic.PR.zero - (LD("0.29056") - LD("0.08775") * w)) * R * Tc / pc
            given = plain["volume_translation"][s]
            c = c if np.isnan(given) else given
            P = [c / (cubic.OMEGA_B * R * Tc / pc), LD(0), LD(0), LD(0)]

        # y = (16 S - sqrt(max(32 S^2 - 224 0.268 S^2, 0)))/112: the root is 0
        y = 16 * slope / 112
        species.append([Tc, pc, 1 + np.sqrt(LD(2)), 1 / y - 1, 8 * y - slope, LD(8), *P, LD(0)])

    columns = np.array(species, LD).T
    made = [Tracked(column, 4 * np.abs(column).astype(float)) if tracked else column for column in columns]
    Tc, pc, d1, c, g, m = made[:6]
    return SimpleNamespace(Tc=Tc, pc=pc, d1=d1, c=c, g=g, m=m, P=made[6:10], Q=made[10])


def root_alpha(T, Tc, sp, alpha):
    """F = ((1 + c)/(t + c))^m (1 + g (t - 1)) with its two derivatives in T."""
    q = numbers(sp)
    Tc, c, g, m = (getattr(q, name)[:, None] for name in ("Tc", "c", "g", "m"))
    t = T / Tc
    r = 1 / (t + c)
    u = ((1 + c) * r) * ((1 + c) * r)
    k = np.where(value(m) == 8, (u * u) * (u * u), u)
    n = 1 + g * (t - 1)
    return k * n, k * (g - m * n * r) / Tc, k * r * (m * (m + 1) * n * r - 2 * m * g) / (Tc * Tc)


def shape_of(delta):
    """d1 + d2 and d1 d2 with d2 = (1 - d1)/(1 + d1)."""
    other = (1 - delta) / (1 + delta)
    return delta + other, delta * other


def map_of(T, n, sp):
    """c_0 .. c_3, tau, tau', tau'' of the amounts n (ns, points)."""
    q = numbers(sp)
    b = cubic.ab(sp, "mapped")[1]
    c = [(n * (b * P)[:, None]).sum(0) for P in q.P]
    y = 1 / (T / q.Tc[:, None] + LD("0.4"))
    weight = n * (LD("1.4") * b * q.Q)[:, None]
    tau = (
        (weight * y).sum(0),
        -(weight * y * y / q.Tc[:, None]).sum(0),
        2 * (weight * y * y * y / (q.Tc * q.Tc)[:, None]).sum(0),
    )
    return c, tau


def polynomial(c, x):
    return c[0] + x * (c[1] + x * (c[2] + x * c[3]))


def moment(c, x):
    """sum_k k c_k x^k"""
    return x * (c[1] + x * (2 * c[2] + x * 3 * c[3]))


def _over(x, integrand):
    """The integral from 0 to x of integrand(y), by quadrature; x (points), complex or not."""
    y = NODES[:, None] * x
    return x * (WEIGHTS[:, None] * integrand(y)).sum(0)


@dataclass(frozen=True)
class Map:
    """The volume map of a mixture, with the numbers of the cubic that its integrals need."""

    c: list  # c_0 .. c_3
    b: Any  # covolume
    delta: Any  # delta_1

    @property
    def eos(self):
        return cubic.shape("mapped", self.delta)


def quadratures(m, x):
    """L, I and dL/d delta of a Map at constant w, b, c, plain numbers."""
    c, b, delta = m.c, m.b, m.delta
    total, product = shape_of(delta)

    def Delta(y):
        return 1 + total * y + product * y * y

    L = _over(x, lambda y: (1 + y * moment(c, y) / b) / Delta(y)) / b
    I = _over(x, lambda y: moment(c, y) / (b * (1 - y)))
    slope = 1 - 2 / ((1 + delta) * (1 + delta))  # d total/d delta, and d product = -d total
    L_d = -slope * _over(x, lambda y: (1 + y * moment(c, y) / b) * (y - y * y) / (Delta(y) * Delta(y))) / b
    return L, I, L_d


def recursion(b, x, delta, free, log1p=np.log1p):
    """J_k, I_k and dJ_k/d total by the recursions, for the bounds of their roundings. free: 1 - x; log1p: as the kernel
    forms ln(1 + z) of the shape."""
    total, product = shape_of(delta)
    other = (1 - delta) / (1 + delta)
    Delta = 1 + x * (total + product * x)

    I = [-np.log(free)]
    for k in (1, 2, 3):
        I.append(I[-1] - x**k / k)

    J = [log1p((delta - other) * x / (1 + other * x)) / (delta - other)]
    J.append((log1p(x * (total + product * x)) - total * J[0]) / (2 * product))
    for k in (2, 3, 4):
        J.append((x ** (k - 1) / (k - 1) - total * J[-1] - J[-2]) / product)

    # dJ0/d total is -integral of (y - y^2)/Delta^2, which closed forms make from its ends
    dJ = [_slope_of_first(x, Delta, total, product, J[0])]
    dJ.append((((x - x * x) / Delta - J[0] - total * dJ[0]) / 2 + J[1]) / product)
    for k in (2, 3, 4):
        dJ.append((J[k] - J[k - 1] - total * dJ[-1] - dJ[-2]) / product)
    return J, I, dJ


def _slope_of_first(x, Delta, total, product, J0):
    """dJ0/d total, its value with a bound of 30 roundings of its two terms."""
    gap2 = value(total * total - 4 * product)
    val = -_over(value(x), lambda y: (y - y * y) / (1 + value(total) * y + value(product) * y * y) ** 2)
    size = 30 * (np.abs(value(J0)) + np.abs(value(x / Delta))) * (1 + np.abs(value(total))) / gap2
    return Tracked(val, size.astype(float)) if isinstance(x, Tracked) else val


def integrals(m, free):
    """L, I and dL/d delta of a Map at w = free + b: values by quadrature, bounds by the closed forms."""
    c, b, delta = m.c, m.b, m.delta
    w = free + b
    x = b / w
    L, I, L_d = quadratures(Map([value(part) for part in c], value(b), value(delta)), value(x))
    if not isinstance(b, Tracked):
        return L, I, L_d

    _, free_I, dJ = recursion(b, x, delta, free / w)
    J, _, _ = recursion(b, x, delta, free / w, lambda z: np.log(1 + z))  # mapped_departure writes logarithms out
    of_L = (J[0] + (c[1] * J[2] + 2 * c[2] * J[3] + 3 * c[3] * J[4]) / b) / b
    of_I = (c[1] * free_I[1] + 2 * c[2] * free_I[2] + 3 * c[3] * free_I[3]) / b
    of_d = (dJ[0] + (c[1] * dJ[2] + 2 * c[2] * dJ[3] + 3 * c[3] * dJ[4]) / b) / b
    slope = np.abs(1 - 2 / value((1 + delta) * (1 + delta))).astype(float)
    return Tracked(L, of_L.err), Tracked(I, of_I.err), Tracked(L_d, slope * of_d.err + 3 * np.abs(L_d).astype(float))


def compressibility(A, B, root, m):
    """u = p (w - b)/(R T) by option root, and where it cannot be decided in float64. As cubic.compressibility, with the
    residual Gibbs energy of the Map m: ln phi of each root."""
    u, undecided = cubic.compressibility(A, B, "liquid" if root == "liquid" else "vapour", m.eos)
    if root != "gibbs":
        return u, undecided

    small, folded = cubic.compressibility(A, B, "liquid", m.eos)
    gap = gibbs(A, B, u, m) - gibbs(A, B, small, m)
    two = value(small) < value(u)
    undecided = undecided | folded | (two & (np.abs(gap) < 1e-9))
    return np.where(two & (gap > 0), small, u), undecided


def gibbs(A, B, u, m):
    """ln phi of a root but for tau and c_0, the same of all: -ln u + I - a L/(R T) + Z - 1, plain."""
    A, B, u, b, delta = (value(part) for part in (A, B, u, m.b, m.delta))
    c = [value(part) / b for part in m.c]  # in units of b: w = (u + B)/B
    x = B / (u + B)
    L, I, _ = quadratures(Map(c, LD(1), delta), x)
    return -np.log(u) + I - A / B * L + u + B - 1 - B * (polynomial(c, x) - c[0])


@dataclass(frozen=True, kw_only=True)
class Sums(cubic.Sums):
    """The numbers of the equation for an amount of mixture."""

    c: list  # c_0 .. c_3
    tau: tuple  # with its two derivatives in T
    delta: Any  # delta_1

    @property
    def map(self):
        return Map(self.c, self.b, self.delta)


def sums(T, n, sp, o):
    """The Sums of the amounts n at T."""
    delta = cubic.delta_mixture(n, sp, "mapped")
    a, a_T, a_TT, b = cubic.mixture_ab(T, n, sp, o["alpha"], "mapped")
    c, tau = map_of(T, n, sp)
    return Sums(a=a, a_T=a_T, a_TT=a_TT, b=b, eos=cubic.shape("mapped", delta), c=c, tau=tau, delta=delta)


def state(at, n, sp, o):
    """As cubic.state."""
    m = sums(at.T, n, sp, o)
    RT = at.R_s * at.T
    u, undecided = compressibility(m.a * at.p / (RT * RT), m.b * at.p / RT, o["root"], m.map)

    q = thermal(at, m, u)
    q.delta_mix = m.delta
    q.undecided = undecided
    return q


def thermal(at, m, u):
    """The thermal quantities, as cubic.thermal, of the root u = p (w - b)/(R T)."""
    T, p, Rs = at.T, at.p, at.R_s
    cp0, h0, s0 = at.ideal
    a, a_T, a_TT, b, c, tau = m.a, m.a_T, m.a_TT, m.b, m.c, m.tau

    RT = Rs * T
    free = u * RT / p
    w = free + b
    x = b / w
    D, D_w = cubic.attraction(w, b, m.eos)
    shift, shift_w, shift_T, shift_TT = polynomial(c, x) - tau[0], -moment(c, x) / w, -tau[1], -tau[2]
    slope = 1 - shift_w
    L, I, _ = integrals(m.map, free)

    # Mechanical: p_v, p_T at constant v
    Z, vol = u + b * p / RT - shift * p / RT, w - shift
    attractive, repulsive = a * D_w / (D * D) / slope, -RT / (free * free) / slope
    p_v = attractive + repulsive
    p_T_w = Rs / free - a_T / D
    p_T = p_T_w + p_v * shift_T

    # Caloric
    cv = cp0 - Rs + T * a_TT * L + T * (2 * p_T_w * shift_T + p_v * shift_T * shift_T + p * shift_TT)
    cp = cv - T * p_T * p_T / p_v
    h = h0 + RT * (Z - 1) + (T * a_T - a) * L + T * p * shift_T

    # v + T p_T/p_v, where the ideal parts cancel by hand
    h_p = (w * attractive - T * a_T / D + (b + shift_w * free) * repulsive) / p_v + T * shift_T - shift

    q = SimpleNamespace(T=T, p=p, R_s=Rs, a_mix=a, a_T=a_T, a_TT=a_TT, b_mix=b, v_free=free)
    q.cubic_L, q.u, q.Z, q.vol = L, u, Z, vol
    q.shift_mix, q.shift_w, q.shift_T, q.shift_TT = shift, shift_w, shift_T, shift_TT
    q.map_0, q.map_1, q.map_2, q.map_3, q.map_I = c[0] - tau[0], c[1], c[2], c[3], I
    q.p_v_attractive, q.p_v_repulsive = attractive, repulsive
    q.p_T, q.p_v, q.cv, q.cp, q.h, q.e, q.h_p = p_T, p_v, cv, cp, h, h - p * vol, h_p
    q.s = s0 + Rs * (np.log(u) - I) + a_T * L + p * shift_T
    q.residual_entropy = np.log(vol / free) - a_T * L / Rs + I - p * shift_T / Rs
    q.phase_flag = Tracked(cubic.phase_flag(q, m.eos)[0], exact=True)
    cubic.add_definitions(q, D, D_w)
    return q


def pseudo_critical(X, sp):
    """T, p and v of the cubic's critical point with alpha = 1, v mapped."""
    T, p, w = cubic.pseudo_critical(X, sp, "mapped")
    c, tau = map_of(T, X, sp)
    b = (X * cubic.ab(sp, "mapped")[1][:, None]).sum(0)
    return T, p, w - polynomial(c, b / w) + tau[0]


# ---- explicit in T and V: for derivatives by complex steps


def free_volume(c, tau, b, v):
    """w - b of w - C = v: Newton's method, damped below; of a complex v the imaginary part is the last step's."""
    free = np.maximum(np.real(v + polynomial(c, LD("0.5")) - tau - b), np.real(b) / 20)
    for _ in range(60):
        w = free + b
        x = b / w
        slope = 1 + moment(c, x) / w
        miss = w - polynomial(c, x) + tau - v
        newton = free - miss / slope
        low = np.real(free) / 5
        free = np.where(np.real(newton) > low, newton, low)
    return free


def explicit(T, V, n, sp):
    """A_res, p and E_res of amounts n in V, plain numbers, n and V complex or not."""
    known = cubic_numbers(sp)
    N = n.sum(0)
    b = (n * known.b[:, None]).sum(0)
    delta = (n * known.d1[:, None]).sum(0) / N
    total, product = shape_of(delta)
    f, f_T, _ = (known.root_a[:, None] * part for part in root_alpha(T, None, sp, None))
    y, z = n * f, n * f_T
    a, a_T = (y * (known.K @ y)).sum(0), 2 * (z * (known.K @ y)).sum(0)
    c, tau = map_of(T, n, sp)

    free = free_volume(c, tau[0], b, V)
    w = free + b
    L, I, _ = quadratures(Map(c, b, delta), b / w)
    p = N * R * T / free - a / (w * w + total * b * w + product * b * b)
    A = -N * R * T * np.log(free / V) + N * R * T * I - a * L
    E = (T * a_T - a) * L - T * p * tau[1]
    return A, p, E


def cubic_numbers(sp):
    q = numbers(sp)
    a, b = cubic.ab(sp, "mapped")
    return SimpleNamespace(b=b, d1=q.d1, root_a=np.sqrt(a), K=1 - sp.kij)


STEP = LD("1e-60")


def by_amounts(T, V, n, sp):
    """The derivatives of A_res, p and E_res in each n at constant T, V: three arrays (ns, points)."""
    out = [np.empty(n.shape, LD) for _ in range(3)]
    for k in range(len(n)):
        moved = n.astype(np.clongdouble)
        moved[k] += 1j * STEP
        for made, part in zip(out, explicit(T, V, moved, sp)):
            made[k] = np.imag(part) / STEP
    return out


# ---- states of a density


def tracked_free(c, b, v):
    """w - b of w - C = v, and the bound that the roundings of this equation leave."""
    plain = [value(part) for part in c]
    free = free_volume(plain, LD(0), value(b), value(v))
    exact = Tracked(free, exact=True)
    x = b / (exact + b)
    miss = exact + (b - v) - polynomial(c, x)
    slope = 1 + moment(plain, value(x)) / (free + value(b))
    return Tracked(free, (miss.err / slope).astype(float) + np.abs(free).astype(float))


def _at_density(T, rho, Y, R_s, sp, o):
    """The sums, w - b, p, and the slopes of p in T at constant w and in v, of a kg at T and density."""
    m = sums(T, Y / sp.W[:, None], sp, o)
    c = [m.c[0] - m.tau[0], *m.c[1:]]
    free = tracked_free(c, m.b, 1 / rho) if isinstance(T, Tracked) else free_volume(c, LD(0), m.b, 1 / rho)
    w = free + m.b
    D, D_w = cubic.attraction(w, m.b, m.eos)
    p, p_T_w = R_s * T / free - m.a / D, R_s / free - m.a_T / D
    p_v = (m.a * D_w / (D * D) - R_s * T / (free * free)) / (1 + moment(c, m.b / w) / w)
    return m, free, p, p_T_w, p_v


def pressure_at(T, rho, Y, R_s, sp, o):
    """p and its slope in T at constant density."""
    m, _, p, p_T_w, p_v = _at_density(T, rho, Y, R_s, sp, o)
    return p, p_T_w - p_v * m.tau[1]


def volumes_at(T, rho, Y, R_s, sp, o):
    """Results beside T of a search at a density."""
    m, free, *_ = _at_density(T, rho, Y, R_s, sp, o)
    w = free + m.b
    c, x = [m.c[0] - m.tau[0], *m.c[1:]], m.b / w
    return dict(v_free=free, shift_mix=polynomial(c, x), shift_w=-moment(c, x) / w)


def energy_at(T, rho, Y, R_s, sp, o):
    """e and cv of a kg at T and density."""
    m, free, p, p_T_w, p_v = _at_density(T, rho, Y, R_s, sp, o)
    tau, n = m.tau, Y / sp.W[:, None]
    L, _, _ = integrals(m.map, free)
    cp, h, _ = ideal_gas.nasa(T, sp)

    e = T * (n * R * h).sum(0) - R_s * T + (T * m.a_T - m.a) * L - T * p * tau[1]
    residual = T * m.a_TT * L + T * (-2 * p_T_w * tau[1] + p_v * tau[1] * tau[1] - p * tau[2])
    return e, (n * R * cp).sum(0) - R_s + residual


cubic.EQUATIONS["mapped"] = cubic._one(
    lambda sp: numbers(sp).d1, None, None, None, None, None, None, root_alpha, critical=lambda sp: numbers(sp)
)
