"""Partial properties of cubic mixtures, the Jacobian of conserved variables, temperatures by bisection.

Amounts are moles per kg n_k = Y_k/W_k in the volume of a kg, so that p(T, V, n) is the textbook's molar formula with
double sums. Michelsen & Mollerup, Thermodynamic Models, ch. 3 (book not at hand; derived here from p and the departure
functions).
"""

from types import SimpleNamespace

import numpy as np

from . import cubic, ideal_gas, mapped, mapped_kernels
from .reads import at_once
from .species import R
from .tracked import LD, Tracked, value

NAMES = ("v_Y", "h_Y", "e_Y", "ln_phi", "g_Y", "s_Y", "rho_Y", "eps_k", "e_p", "e_T", "s_p", "s_T")


def attraction(T, n, sp, o):
    """S_k = sum_i n_i a_ik and its T-derivative, (ns, points), molar a_ik."""
    equation = o["equation"]
    if o["mixing"] == "pseudocritical":
        return _of_pairs(T, n, sp, o)

    if equation == "rk" and getattr(sp, "rk_a", None) is not None:
        (a0, a1), root = (matrix @ n for matrix in sp.rk_a), np.sqrt(T)
        return (a0 + a1 * T) / root, (a1 - a0 / T) / (2 * root)

    size, slope, _ = cubic.root_alpha(T, sp, o["alpha"], equation)
    A = cubic.pair_energy(sp, equation)
    of_z, of_dz = A @ (n * size), A @ (n * slope)

    return size * of_z, slope * of_z + size * of_dz


def _of_pairs(T, n, sp, o):
    """The same of pseudo-critical pairs, with the bounds of a quadratic in sqrt(T)."""
    ac, kappa, Tc = (x[:, :, None] for x in cubic.pseudocritical_pairs(sp, o["alpha"], o["equation"]))
    root = np.sqrt(T / Tc)
    f, weight = 1 + kappa * (1 - root), n[:, None] * ac
    sums = [(weight * f * f).sum(0), (-weight * f * kappa * root / T).sum(0)]
    g, q = np.abs(value(1 + kappa)), np.abs(value(kappa * root))

    for k, terms in enumerate(((g + q) ** 2, q * (g + q) / value(T))):
        if isinstance(sums[k], Tracked):
            sums[k] = Tracked(sums[k].val, sums[k].err + 4 * (value(weight) * terms).sum(0).astype(float))

    return sums


def shape_slopes(eos, n, sp, o, v, b, L):
    """How D and L move with the amount of each species at constant v and b: 0 but where delta_1 is one of each, by the
    chain rule through delta_1 and delta_2 = (1 - delta_1)/(1 + delta_1)."""
    if not cubic.by_species(o["equation"]):
        return 0 * n, 0 * n
    d1_n = (cubic.EQUATIONS[o["equation"]].delta1(sp)[:, None] - eos.delta1) / n.sum(0)
    d2_n = -2 * d1_n / ((1 + eos.delta1) * (1 + eos.delta1))
    first, second, gap = v + eos.delta1 * b, v + eos.delta2 * b, eos.delta1 - eos.delta2

    return b * (second * d1_n + first * d2_n), ((1 / first - L) * d1_n + (L - 1 / second) * d2_n) / gap


def translation(sp, o):
    """c_k, molar, or None."""
    return cubic.shift_of_species(sp, o) if o["translation"] != "none" else None


def partial_properties(sp, o, q):
    T, p, n, W = q.T, q.p, q.Y / sp.W[:, None], sp.W[:, None]
    eos, b = cubic.shape_at(q, o), cubic.ab(sp, o["equation"])[1][:, None]
    v = q.v_free + q.b_mix
    S, S_T = attraction(T, n, sp, o)
    D_n, L_n = shape_slopes(eos, n, sp, o, v, q.b_mix, q.cubic_L)

    # The pressure's slope in the amounts at constant v
    D_b = eos.total * q.v_free + (eos.total + 2 * eos.product) * q.b_mix  # dD/db at constant v
    repulsive = R * T * q.inv_free + q.R_s * T * b * q.inv_free * q.inv_free
    p_n = repulsive - 2 * S * q.inv_D + q.a_mix * D_b * b * q.inv_D * q.inv_D
    p_n = p_n + q.a_mix * D_n * q.inv_D * q.inv_D
    v_n = -p_n * q.v_p

    departure = T * q.a_T - q.a_mix
    h_n = (
        R * T * ideal_gas.nasa(T, sp)[1]
        - R * T
        + 2 * q.cubic_L * (T * S_T - S)
        + b / q.b_mix * departure * (v * q.inv_D - q.cubic_L)
        + departure * L_n
        + T * q.p_T * v_n
    )

    e_n, c = h_n - p * v_n, translation(sp, o)
    if c is not None:
        v_n, h_n = v_n - c[:, None], h_n - p * c[:, None]
    return dict(v_Y=v_n / W, h_Y=h_n / W, e_Y=e_n / W)


def fugacity(sp, o, q):
    T, p, n, b = q.T, q.p, q.Y / sp.W[:, None], cubic.ab(sp, o["equation"])[1][:, None]
    S, _ = attraction(T, n, sp, o)
    v = q.v_free + q.b_mix
    residual = b * q.R_s * T * q.inv_free - 2 * S * q.cubic_L - q.a_mix * b / q.b_mix * (v * q.inv_D - q.cubic_L)
    out = -np.log(p * q.v_free / (q.R_s * T)) + residual / (R * T)
    _, L_n = shape_slopes(cubic.shape_at(q, o), n, sp, o, v, q.b_mix, q.cubic_L)
    out = out - q.a_mix * L_n / (R * T)
    c = translation(sp, o)

    return dict(ln_phi=out if c is None else out - p * c[:, None] / (R * T))


def chemical_potentials(sp, o, T, p, Y, W, ln_phi):
    _, h, s = ideal_gas.nasa(T, sp)
    x = np.maximum(Y * W / sp.W[:, None], LD("1e-300"))
    return dict(g_Y=R * T * (h - s + np.log(x) + np.log(p / sp.p_ref) + ln_phi) / sp.W[:, None])


def of_state(q, sp, o):
    """NAMES at an oracle result q."""
    if o["equation"] == "mapped":
        of_amounts = mapped_kernels.fugacity(sp, o, q) | mapped_kernels.partial_properties(sp, o, q)
        of_energy = mapped_kernels.mapped_energy_slopes(sp, o, q)
    else:
        of_amounts = fugacity(sp, o, q) | partial_properties(sp, o, q)
        of_energy = energy_slopes(sp, o, q)

    out = SimpleNamespace(**of_amounts)
    out.g_Y = chemical_potentials(sp, o, q.T, q.p, q.Y, q.W, out.ln_phi)["g_Y"]
    out.rho_Y = -q.rho * q.rho * out.v_Y
    out.eps_k = out.h_Y + q.cp * q.rho * q.rho / q.rho_T * out.v_Y
    out.s_Y = (out.h_Y - out.g_Y) / q.T

    vars(out).update(of_energy | entropy_slopes(sp, o, q.T, q.p_T, q.v_p, q.cp))

    return out


def energy_slopes(sp, o, q):
    """de = cv dT + (T p_T - p) dv, and dv = v_p (dp - p_T dT)."""
    e_v = (q.a_mix - q.T * q.a_T) * q.inv_D
    return dict(e_p=e_v * q.v_p, e_T=q.cv - e_v * q.v_p * q.p_T)


def entropy_slopes(sp, o, T, p_T, v_p, cp):
    return dict(s_p=v_p * p_T, s_T=cp / T)


def helmholtz_side(T, density, sp, o):
    """p and rho e of partial densities (ns, points), explicit in T and density: no root, no partial derivative."""
    n = density / sp.W[:, None]
    a, a_T, _, b = cubic.mixture_ab(T, n, sp, o["alpha"], o["equation"], o["mixing"])
    v = LD(1)
    c = translation(sp, o)
    if c is not None:
        v = v + (n * c[:, None]).sum(0)
    eos = cubic.of_mixture(n, sp, o)
    D, _ = cubic.attraction(v, b, eos)
    energy = (n * R * T * (ideal_gas.nasa(T, sp)[1] - 1)).sum(0) + (T * a_T - a) * cubic.departure_log(v, b, eos)

    return n.sum(0) * R * T / (v - b) - a / D, energy


# ---- conserved variables


def _columns(rows):
    return Tracked(np.stack([r.val for r in rows]), np.stack([np.broadcast_to(r.err, r.shape) for r in rows]))


def gamma(q):
    """Gamma as (nq, nq, n), Tracked: derivatives of the products that U consists of."""
    rho, velocity, Y = q.rho, (q.u, q.v, q.w), q.Y
    ns = len(Y)
    zero = Tracked(np.zeros(rho.shape), exact=True)
    one = Tracked(np.ones(rho.shape), exact=True)
    d_rho = [q.rho_p_prime, zero, zero, zero, q.rho_T, *(q.rho_Y[k] - q.rho_Y[ns - 1] for k in range(ns - 1))]
    d_h = [q.h_p, zero, zero, zero, q.h_T, *(q.h_Y[k] - q.h_Y[ns - 1] for k in range(ns - 1))]
    rows = [d_rho]

    # Momentum
    for at, component in enumerate(velocity, start=1):
        rows.append([component * d + (rho if j == at else zero) for j, d in enumerate(d_rho)])

    # Total energy rho H - p
    H = q.h + (q.u * q.u + q.v * q.v + q.w * q.w) / 2
    energy = []
    for j, (d, e) in enumerate(zip(d_rho, d_h)):
        kinetic = rho * velocity[j - 1] if j in (1, 2, 3) else zero
        energy.append(H * d + rho * e + kinetic - (one if j == 0 else zero))
    rows.append(energy)

    # Partial densities but the last
    for s in range(ns - 1):
        rows.append([Y[s] * d + (rho if j == 5 + s else zero) for j, d in enumerate(d_rho)])

    return _columns([_columns([lift(x, rho.shape) for x in row]) for row in rows])


def lift(x, shape):
    return Tracked(np.broadcast_to(x.val, shape), np.broadcast_to(x.err, shape))


def inverse(matrix):
    """Gauss-Jordan with row pivoting in longdouble, then a step of refinement; (m, m, n) -> (m, m, n)."""
    m, _, n = matrix.shape
    work = np.concatenate(
        [
            matrix / np.abs(matrix).max(1, keepdims=True),
            np.eye(m, dtype=LD)[:, :, None] / np.abs(matrix).max(1, keepdims=True),
        ],
        1,
    )

    points = np.arange(n)
    for k in range(m):
        pick = k + np.abs(work[k:, k]).argmax(0)
        swap = work[pick, :, points].T.copy()
        work[pick, :, points] = work[k].T
        work[k] = swap / swap[k]

        for i in range(m):
            if i != k:
                work[i] = work[i] - work[i, k] * work[k]

    made = work[:, m:]
    rest = np.eye(m, dtype=LD)[:, :, None] - np.einsum("ijn,jkn->ikn", matrix, made)
    return made + np.einsum("ijn,jkn->ikn", made, rest)


def flat(x):
    return Tracked(x.val.reshape(-1, x.shape[-1]), x.err.reshape(-1, x.shape[-1]))


def _bounds(G):
    I = inverse(G.val)
    a, b = np.abs(I).astype(float), np.abs(G.val).astype(float)
    # what roundings of Gamma's entries, as many as they carry, do to its inverse: |I| |dGamma| |I|
    return I, np.einsum("ijn,jkn->ikn", a, np.maximum(G.err, b)), a


def gamma_inverse(sp, o, q):
    I, left, a = _bounds(gamma(q))
    return dict(gamma_inverse=flat(Tracked(I, np.einsum("ijn,jkn->ikn", left, a))))


def gamma_product(sp, o, q):
    G, dQ = gamma(q), q.dQ
    x = np.abs(dQ.val).astype(float)
    size = np.abs(G.val).astype(float)
    return dict(dU=Tracked(np.einsum("ijn,jn->in", G.val, dQ.val), np.einsum("ijn,jn->in", G.err + 3 * size, x)))


def gamma_inverse_product(sp, o, q):
    I, left, a = _bounds(gamma(q))
    size = np.einsum("ijn,jn->in", a, np.abs(q.dU.val).astype(float))
    return dict(dQ=Tracked(np.einsum("ijn,jn->in", I, q.dU.val), np.einsum("ijn,jn->in", left, size)))


def precondition(sp, o, V_p, rho, rho_T, h_p, h_T):
    return dict(rho_p_prime=1 / (V_p * V_p) - rho_T * (1 - rho * h_p) / (rho * h_T))


def sound_speed(sp, o, rho, rho_p, rho_T, h_p, h_T):
    return dict(c=np.sqrt(1 / (rho_p + rho_T * (1 - rho * h_p) / (rho * h_T))))


# ---- inversions


def plain(sp):
    return SimpleNamespace(**{k: value(v) if isinstance(v, Tracked) else v for k, v in vars(sp).items()})


def state_at(T, p, Y, R_s, sp, o):
    """Thermal quantities of a kg at T, p and whether the root is decided."""
    n = Y / sp.W[:, None]
    at = cubic.State(T, p, R_s, _ideal_of_a_kg(T, p, n, R_s, sp))
    of_equation = mapped if o["equation"] == "mapped" else cubic
    return of_equation.state(at, n, sp, o)


def _ideal_of_a_kg(T, p, n, R_s, sp):
    """cp, h, s of the ideal gas of n moles in a kg."""
    cp, h, s = ideal_gas.nasa(T, sp)
    x = n / (R_s / R)
    x_safe = np.where(value(x) > 0, x, LD(1) * x**0)
    s_mix = (n * R * s).sum(0) - R_s * ((x * np.log(x_safe)).sum(0) + np.log(p / sp.p_ref))
    return (n * R * cp).sum(0), T * (n * R * h).sum(0), s_mix


def energy_at(T, rho, Y, R_s, sp, o):
    """e and cv of a kg at T and density."""
    if o["equation"] == "mapped":
        return mapped.energy_at(T, rho, Y, R_s, sp, o)
    n = Y / sp.W[:, None]
    m = cubic.sums(T, n, sp, o)
    v = 1 / rho if m.shift is None else 1 / rho + m.shift
    L = cubic.departure_log(v, m.b, m.eos)
    cp, h, _ = ideal_gas.nasa(T, sp)

    e = T * (n * R * h).sum(0) - R_s * T + (T * m.a_T - m.a) * L
    return e, (n * R * cp).sum(0) - R_s + T * m.a_TT * L


def temperature(function, target, sp):
    """T between 20 and 6000 K where function(T, sp), which grows, is target, NaN where it lies beyond: bisection in
    longdouble, then the error bound."""
    low, high = np.full(target.shape, LD(20)), np.full(target.shape, LD(6000))
    loose = plain(sp)

    for _ in range(70):
        middle = (low + high) / 2
        below = value(function(middle, loose)[0]) < target
        low, high = np.where(below, middle, low), np.where(below, high, middle)

    T = (low + high) / 2
    f, slope, undecided = function(Tracked(T, exact=True), sp)
    with np.errstate(all="ignore"):
        err = f.err / np.abs(value(slope)).astype(float) + 4 * T.astype(float)
    beyond = (high == 6000) | (low == 20)

    return dict(
        T=Tracked(np.where(beyond, np.nan, T), err),
        unconverged=Tracked(np.where(beyond, LD(2), LD(0)), exact=True),
        undecided=undecided,
    )


def _with_errors_as(T, *others):
    """The other variables of a state: plain numbers if T is plain, with their errors if T is Tracked."""
    return others if isinstance(T, Tracked) else tuple(value(x) for x in others)


def t_from_h_p(sp, o, h, p, Y, R_s, T_start=None):
    def f(T, sp):
        q = state_at(T, *_with_errors_as(T, p, Y, R_s), sp, o)
        return q.h, q.cp, q.undecided

    return temperature(f, value(h), sp)


def t_from_s_p(sp, o, s, p, Y, W, R_s, T_start=None):
    def f(T, sp):
        q = state_at(T, *_with_errors_as(T, p, Y, R_s), sp, o)
        return q.s, q.cp / T, q.undecided

    return temperature(f, value(s), sp)


def t_from_e_rho(sp, o, e, rho, Y, R_s, T_start=None):
    # By equation mapped e may fall with T far below freezing: there are then two T, or none.
    falls = np.zeros(e.shape, bool)
    if o["equation"] == "mapped":
        for cold in np.geomspace(20, 300, 12):
            given = (np.full(e.shape, LD(cold)), *(value(x) for x in (rho, Y, R_s)))
            falls |= energy_at(*given, plain(sp), o)[1] <= 0

    def f(T, sp):
        energy, cv = energy_at(T, *_with_errors_as(T, rho, Y, R_s), sp, o)
        return energy, cv, falls

    return temperature(f, value(e), sp)


def pressure_at(T, rho, Y, R_s, sp, o):
    """p and its slope in T of a kg at T and density."""
    if o["equation"] == "mapped":
        return mapped.pressure_at(T, rho, Y, R_s, sp, o)
    m, free = _sums_and_free(T, rho, Y, sp, o)
    D, _ = cubic.attraction(free + m.b, m.b, m.eos)
    return R_s * T / free - m.a / D, R_s / free - m.a_T / D


def _sums_and_free(T, rho, Y, sp, o):
    m = cubic.sums(T, Y / sp.W[:, None], sp, o)
    return m, (1 / rho if m.shift is None else 1 / rho + m.shift) - m.b


def t_from_p_rho(sp, o, p, rho, Y, R_s, T_start=None):
    # By equation mapped p of cold water falls with T: there are two T.
    falls = np.zeros(p.shape, bool)
    if o["equation"] == "mapped":
        given = tuple(value(x) for x in (rho, Y, R_s))
        for cold in np.geomspace(20, 300, 12):
            falls |= pressure_at(np.full(p.shape, LD(cold)), *given, plain(sp), o)[1] <= 0

    def f(T, sp):
        of_T, slope = pressure_at(T, *_with_errors_as(T, rho, Y, R_s), sp, o)
        return of_T, slope, falls

    found = temperature(f, value(p), sp)
    T = found["T"]
    if o["equation"] == "mapped":
        found |= mapped.volumes_at(T, rho, Y, R_s, sp, o)
    else:
        found["v_free"] = _sums_and_free(T, rho, Y, sp, o)[1]
    return found | dict(vol=1 / rho, Z=p / rho / (R_s * T))


def ideal_t_from_p_rho(sp, o, p, rho, R_s):
    T = p / (rho * R_s)
    beyond = (T.val < 20) | (T.val > 6000)
    return dict(
        T=Tracked(np.where(beyond, np.nan, T.val), T.err),
        unconverged=Tracked(np.where(beyond, LD(2), LD(0)), exact=True),
    )


def ideal_state(T, Y, sp):
    """h and cp of a kg."""
    per_kg = Y * R / sp.W[:, None]
    cp, h, _ = ideal_gas.nasa(T, sp)
    return T * (per_kg * h).sum(0), (per_kg * cp).sum(0)


def ideal_t_from_h(sp, o, h, Y):
    return temperature(
        lambda T, sp: (*ideal_state(T, Y if isinstance(T, Tracked) else value(Y), sp), np.zeros(T.shape, bool)),
        value(h),
        sp,
    )


def ideal_t_from_e(sp, o, e, Y, R_s):
    def f(T, sp):
        y, r = (x if isinstance(T, Tracked) else value(x) for x in (Y, R_s))
        h, cp = ideal_state(T, y, sp)
        return h - r * T, cp - r, np.zeros(T.shape, bool)

    return temperature(f, value(e), sp)


def ideal_t_from_s_p(sp, o, s, p, Y, W):
    def f(T, sp):
        p_, y, w = (x if isinstance(T, Tracked) else value(x) for x in (p, Y, W))
        return (
            ideal_gas.mixture(T, p_, y * w / sp.W[:, None], sp)[2] / w,
            ideal_state(T, y, sp)[1] / T,
            np.zeros(T.shape, bool),
        )

    return temperature(f, value(s), sp)


def ideal_partial(sp, o, T, p):
    W = sp.W[:, None]
    h = ideal_gas.nasa(T, sp)[1]
    return dict(v_Y=R * T / p / W, h_Y=R * T * h / W, e_Y=R * T * h / W - R * T / W)


def pressure(sp, o, q):
    free = 1 / q.rho + q.shift_mix - q.b_mix
    D, _ = cubic.attraction(free + q.b_mix, q.b_mix, cubic.shape_at(q, o))
    p = q.R_s * q.T / free - q.a_mix / D
    return dict(p=p, Z=p / q.rho / (q.R_s * q.T), vol=1 / q.rho, v_free=free)


def residual_entropy(sp, o, q):
    volume = 1 / q.rho + q.shift_mix
    L = cubic.departure_log(volume, q.b_mix, cubic.shape_at(q, o))
    return dict(residual_entropy=-np.log((volume - q.b_mix) * q.rho) - q.a_T * L / q.R_s)


DERIVED = {
    "compressibilities": lambda sp, o, rho, rho_p, rho_T: dict(kappa_T=rho_p / rho, alpha_p=-rho_T / rho),
    "joule_thomson": lambda sp, o, h_p, cp: dict(mu_JT=-h_p / cp),
    "gibbs_energy": lambda sp, o, T, h, s: dict(g=h - T * s),
    "mapped_temperature_from_h_p": t_from_h_p,
    "mapped_temperature_from_h_p_start": t_from_h_p,
    "mapped_temperature_from_s_p": t_from_s_p,
    "mapped_temperature_from_s_p_start": t_from_s_p,
    "mapped_temperature_from_e_rho": t_from_e_rho,
    "mapped_temperature_from_e_rho_start": t_from_e_rho,
    "mapped_temperature_from_p_rho": t_from_p_rho,
    "mapped_temperature_from_p_rho_start": t_from_p_rho,
    "cubic_partial_properties": at_once(partial_properties),
    "cubic_fugacity": at_once(fugacity),
    "chemical_potentials": chemical_potentials,
    "density_in_composition": lambda sp, o, rho, v_Y: dict(rho_Y=-rho * rho * v_Y),
    "energy_in_partial_density": lambda sp, o, rho, cp, rho_T, v_Y, h_Y: dict(eps_k=h_Y + cp * rho * rho / rho_T * v_Y),
    "partial_entropies": lambda sp, o, T, h_Y, g_Y: dict(s_Y=(h_Y - g_Y) / T),
    "energy_slopes": at_once(energy_slopes),
    "entropy_slopes": entropy_slopes,
    "ideal_energy_slopes": lambda sp, o, h_p, cv: dict(e_p=h_p, e_T=cv),
    "temperature_from_h_p": t_from_h_p,
    "temperature_from_h_p_start": t_from_h_p,
    "temperature_from_s_p": t_from_s_p,
    "temperature_from_s_p_start": t_from_s_p,
    "temperature_from_e_rho": t_from_e_rho,
    "temperature_from_e_rho_start": t_from_e_rho,
    "temperature_from_p_rho": t_from_p_rho,
    "temperature_from_p_rho_start": t_from_p_rho,
    "cubic_pressure": at_once(pressure),
    "cubic_residual_entropy_of_density": at_once(residual_entropy),
    "ideal_pressure": lambda sp, o, rho, T, R_s: dict(p=rho * R_s * T),
    "ideal_temperature_from_h": ideal_t_from_h,
    "ideal_temperature_from_e": ideal_t_from_e,
    "ideal_temperature_from_s_p": ideal_t_from_s_p,
    "ideal_temperature_from_p_rho": ideal_t_from_p_rho,
    "ideal_partial_properties": ideal_partial,
    "ideal_fugacity": lambda sp, o, T, p: dict(ln_phi=Tracked(np.zeros((sp.ns, T.shape[0])), exact=True)),
    "no_preconditioning": lambda sp, o, rho_p: dict(rho_p_prime=rho_p),
    "preconditioning": precondition,
    "sound_speed_from_density_and_enthalpy": sound_speed,
    "gamma_matrix": at_once(lambda sp, o, q: dict(gamma_jacobian=flat(gamma(q)))),
    "gamma_inverse_matrix": at_once(gamma_inverse),
    "gamma_product": at_once(gamma_product),
    "gamma_inverse_product": at_once(gamma_inverse_product),
    **mapped_kernels.DERIVED,
}
