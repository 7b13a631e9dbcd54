"""Each kernel of equation `mapped` alone. q: the declared reads of the kernel by name, as reads.at_once hands them."""

from types import SimpleNamespace

import numpy as np

from . import cubic, ideal_gas
from .mapped import (
    Map,
    by_amounts,
    compressibility,
    integrals,
    map_of,
    moment,
    numbers,
    polynomial,
    pseudo_critical,
    recursion,
    tracked_free,
)
from .reads import at_once
from .species import R
from .tracked import LD, Tracked, value


def _map(q):
    """The Map of the reads; c_0 = 0 for kernels that do not read it."""
    return Map([getattr(q, "map_0", LD(0)), q.map_1, q.map_2, q.map_3], q.b_mix, q.delta_mix)


def mapped_mixture(sp, o, T, Y):
    n = Y / sp.W[:, None]
    a, a_T, a_TT, b = cubic.mixture_ab(T, n, sp, o["alpha"], "mapped")
    c, tau = map_of(T, n, sp)
    return dict(
        a_mix=a,
        a_T=a_T,
        a_TT=a_TT,
        b_mix=b,
        map_0=c[0] - tau[0],
        map_1=c[1],
        map_2=c[2],
        map_3=c[3],
        shift_T=-tau[1],
        shift_TT=-tau[2],
    )


def mapped_critical_state(sp, o, Y, R_s, delta_mix):
    T, p, v = pseudo_critical(Y / sp.W[:, None] * (R / R_s), sp)
    return dict(Tc_mix=T, pc_mix=p, vc_mix=v)


def mapped_root(sp, o, q):
    RT = q.R_s * q.T
    A, B, m = q.a_mix * q.p / (RT * RT), q.b_mix * q.p / RT, _map(q)
    u, undecided = compressibility(A, B, o["root"], m)
    free = u * RT / q.p
    w = free + q.b_mix
    shift, shift_w = polynomial(m.c, q.b_mix / w), -moment(m.c, q.b_mix / w) / w
    return dict(
        Z=u + B - shift * q.p / RT, vol=w - shift, v_free=free, shift_mix=shift, shift_w=shift_w, undecided=undecided
    )


def mapped_pressure_slopes(sp, o, q):
    _, D_w = cubic.attraction(q.v_free + q.b_mix, q.b_mix, cubic.shape_at(q, o))
    slope = 1 - q.shift_w
    attractive = q.a_mix * D_w * q.inv_D * q.inv_D / slope
    repulsive = -q.R_s * q.T * q.inv_free * q.inv_free / slope
    p_v = attractive + repulsive
    return dict(
        p_v_attractive=attractive,
        p_v_repulsive=repulsive,
        p_v=p_v,
        p_T=q.R_s * q.inv_free - q.a_T * q.inv_D + p_v * q.shift_T,
        v_p=1 / p_v,
    )


def mapped_departure(sp, o, q):
    L, I, _ = integrals(_map(q), q.v_free)
    return dict(cubic_L=L, map_I=I)


def mapped_enthalpy(sp, o, q):
    residual = (q.T * q.a_T - q.a_mix) * q.cubic_L
    return dict(h=q.h_ig + q.R_s * q.T * (q.Z - 1) + residual + q.T * q.p * q.shift_T)


def mapped_entropy(sp, o, q):
    free = np.log(q.p * q.v_free / (q.R_s * q.T)) - q.map_I
    return dict(s=q.s_ig + q.R_s * free + q.a_T * q.cubic_L + q.p * q.shift_T)


def mapped_residual_entropy(sp, o, q):
    free = np.log(q.vol * q.inv_free)
    return dict(residual_entropy=free - q.a_T * q.cubic_L / q.R_s + q.map_I - q.p * q.shift_T / q.R_s)


def mapped_enthalpy_slopes(sp, o, q):
    # v p_v + T p_T over p_v, without the ideal parts
    attractive = (q.v_free + q.b_mix) * q.p_v_attractive
    work = attractive - q.T * q.a_T * q.inv_D + (q.b_mix + q.shift_w * q.v_free) * q.p_v_repulsive
    return dict(h_p=work * q.v_p + q.T * q.shift_T - q.shift_mix, h_T=q.cp)


def mapped_energy_slopes(sp, o, q):
    e_p = (q.a_mix - q.T * q.a_T) * q.inv_D * q.v_p + q.T * q.shift_T
    return dict(e_p=e_p, e_T=q.cv - e_p * q.p_T)


def mapped_cv(sp, o, q):
    mapped = (2 * q.p_T - q.p_v * q.shift_T) * q.shift_T + q.p * q.shift_TT
    return dict(cv=q.cp_ig - q.R_s + (q.T * q.a_TT * q.cubic_L + q.T * mapped))


# ---- derivatives in the amounts


def _at(T, v, n, sp):
    """Derivatives in the amounts at T, v: A_n, p_n, E_n by complex steps, plain."""
    loose = SimpleNamespace(**{k: value(x) if isinstance(x, Tracked) else x for k, x in vars(sp).items()})
    return by_amounts(value(T), value(v), value(n), loose)


def attraction(T, n, sp):
    """S_k = sum_i n_i a_ik and its T-derivative."""
    size, slope, _ = cubic.root_alpha(T, sp, None, "mapped")
    A = cubic.pair_energy(sp, "mapped")
    of_z, of_dz = A @ (n * size), A @ (n * slope)
    return size * of_z, slope * of_z + size * of_dz


def _volume(q):
    """v from the reads: w - C(w)."""
    w = q.v_free + q.b_mix
    return w - polynomial(_map(q).c, q.b_mix / w)


def _sizes(n, sp, q):
    """Bounds of rounding of what the derivatives in the amounts are sums of, over R T, by the closed forms."""
    known, b = numbers(sp), cubic.ab(sp, "mapped")[1][:, None]
    c, b_mix, delta = _map(q).c, q.b_mix, q.delta_mix
    w = q.v_free + b_mix
    J, I, dJ = recursion(b_mix, b_mix / w, delta, q.v_free / w)
    P = [part[:, None] * b for part in known.P]
    y = LD("1.4") * (b * known.Q[:, None]) / (q.T / known.Tc[:, None] + LD("0.4"))

    # Coefficients of b_k, c_k, delta_k in L_k and I_k
    of_J, of_I = (sum(k * c[k] * part for k, part in parts) for parts in (zip((1, 2, 3), J[2:]), zip((1, 2, 3), I[1:])))
    L_b = (w * q.inv_D - q.cubic_L - of_J / (b_mix * b_mix)) / b_mix
    I_b = q.inv_free - of_I / (b_mix * b_mix)
    x = b_mix / w
    L_c = [k * J[k + 1] / (b_mix * b_mix) - x**k * q.inv_D if k else -q.inv_D for k in range(4)]
    I_c = [k * I[k] / b_mix - x**k * q.inv_free if k else -q.inv_free for k in range(4)]
    slope = 1 - 2 / ((1 + delta) * (1 + delta))
    L_d = slope * (dJ[0] + sum(k * c[k] * part for k, part in zip((1, 2, 3), dJ[2:])) / b_mix) / b_mix
    d_n = (known.d1[:, None] - delta) / n.sum(0)

    L_n = L_b * b + L_c[0] * (P[0] - y) + L_c[1] * P[1] + L_c[2] * P[2] + L_c[3] * P[3] + L_d * d_n
    I_n = I_b * b + I_c[0] * (P[0] - y) + I_c[1] * P[1] + I_c[2] * P[2] + I_c[3] * P[3]
    C_n = P[0] - y + x * (P[1] + x * (P[2] + x * P[3])) + moment(c, x) / b_mix * b
    return L_n, I_n, C_n, d_n * slope


def fugacity(sp, o, q):
    """ln phi_k = A_k/(R T) - ln Z from complex steps; the bound from the closed form."""
    T, p, n, v = q.T, q.p, q.Y / sp.W[:, None], _volume(q)
    A_n, _, _ = _at(T, v, n, sp)
    val = A_n / value(R * T) - np.log(value(p * v / (q.R_s * T)))

    L_n, I_n, _, _ = _sizes(n, sp, q)
    S, _ = attraction(T, n, sp)
    form = q.map_I - np.log(p * q.v_free / (q.R_s * T))
    form = form + (q.R_s * T * I_n - 2 * S * q.cubic_L - q.a_mix * L_n) / (R * T)
    return dict(ln_phi=Tracked(val, form.err))


def partial_properties(sp, o, q):
    """v_k = -p_k/p_v and h_k = E_k + T p_T v_k from complex steps; bounds from the closed forms."""
    T, p, n, W = q.T, q.p, q.Y / sp.W[:, None], sp.W[:, None]
    _, p_n, E_n = _at(T, _volume(q), n, sp)
    ideal = R * T * ideal_gas.nasa(T, sp)[1] - R * T
    v_val = -p_n * value(q.v_p)
    h_val = value(ideal) + E_n + value(T * q.p_T) * v_val

    # The bound of v_k
    L_n, _, C_n, s_n = _sizes(n, sp, q)
    b, eos = cubic.ab(sp, "mapped")[1][:, None], cubic.shape_at(q, o)
    S, S_T = attraction(T, n, sp)
    D_b = eos.total * q.v_free + (eos.total + 2 * eos.product) * q.b_mix
    p_w = R * T * q.inv_free + q.R_s * T * b * q.inv_free * q.inv_free - 2 * S * q.inv_D
    p_w = p_w + q.a_mix * (D_b * b + q.b_mix * q.v_free * s_n) * q.inv_D * q.inv_D
    v_n = -p_w * q.v_p - C_n

    # The bound of h_k
    known = numbers(sp)
    y = T / known.Tc[:, None] + LD("0.4")
    rate = LD("1.4") * b * known.Q[:, None] / (y * y * known.Tc[:, None])
    h_n = ideal + 2 * q.cubic_L * (T * S_T - S) + (T * q.a_T - q.a_mix) * L_n
    h_n = h_n + T * (q.p_T - q.p_v * q.shift_T) * v_n + T * p * rate

    v_out, h_out = Tracked(v_val, v_n.err), Tracked(h_val, h_n.err)
    return dict(v_Y=v_out / W, h_Y=h_out / W, e_Y=(h_out - p * v_out) / W)


# ---- states of a density


def pressure(sp, o, q):
    m = _map(q)
    free = tracked_free(m.c, q.b_mix, 1 / q.rho)
    w = free + q.b_mix
    D, _ = cubic.attraction(w, q.b_mix, m.eos)
    p = q.R_s * q.T / free - q.a_mix / D
    x = q.b_mix / w
    return dict(
        p=p,
        Z=p / q.rho / (q.R_s * q.T),
        vol=1 / q.rho,
        v_free=free,
        shift_mix=polynomial(m.c, x),
        shift_w=-moment(m.c, x) / w,
    )


def residual_entropy(sp, o, q):
    there = pressure(sp, o, q)
    free = there["v_free"]
    L, I, _ = integrals(_map(q), free)
    s = np.log(1 / (q.rho * free)) - q.a_T * L / q.R_s + I - there["p"] * q.shift_T / q.R_s
    return dict(residual_entropy=s)


THERMAL = {
    "mapped_mixture": mapped_mixture,
    "mapped_critical_state": mapped_critical_state,
    "mapped_root": at_once(mapped_root),
    "mapped_pressure_slopes": at_once(mapped_pressure_slopes),
    "mapped_departure": at_once(mapped_departure),
    "mapped_enthalpy": at_once(mapped_enthalpy),
    "mapped_entropy": at_once(mapped_entropy),
    "mapped_residual_entropy": at_once(mapped_residual_entropy),
    "mapped_cv": at_once(mapped_cv),
    "mapped_enthalpy_slopes": at_once(mapped_enthalpy_slopes),
}
DERIVED = {
    "mapped_partial_properties": at_once(partial_properties),
    "mapped_fugacity": at_once(fugacity),
    "mapped_energy_slopes": at_once(mapped_energy_slopes),
    "mapped_pressure": at_once(pressure),
    "mapped_residual_entropy_of_density": at_once(residual_entropy),
}
