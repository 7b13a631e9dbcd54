"""Rates of gas-phase reactions, textbook form, in longdouble: one reaction after the other, Kc from enthalpies and
entropies, no product pairs, no shared exponentials.

Reactions come as kernels.gas.species.reactions has them (SI with mol); what the reader makes of a file is compared with
Cantera elsewhere.
"""

from types import SimpleNamespace

import numpy as np

from .species import LD, R

TINY = LD("1e-300")


def nasa7(data, T):
    """h/RT and s/R at the reference pressure, (ns, n); T_mid belongs to the lower range."""
    h, s = [], []
    for low, high, mid in zip(data.nasa_low, data.nasa_high, data.T_mid):
        a = np.where(T <= LD(mid), np.asarray(low, LD)[:, None], np.asarray(high, LD)[:, None])
        h.append(a[0] + T * (a[1] / 2 + T * (a[2] / 3 + T * (a[3] / 4 + T * a[4] / 5))) + a[5] / T)
        s.append(a[0] * np.log(T) + T * (a[1] + T * (a[2] / 2 + T * (a[3] / 3 + T * a[4] / 4))) + a[6])

    return np.array(h), np.array(s)


def arrhenius(rate, T):
    return LD(rate.A) * T ** LD(rate.b) * np.exp(-LD(rate.E) / T)


def collisions(collider, C):
    """[M]"""
    return sum(LD(collider.of.get(s, collider.default)) * C[s] for s in range(len(C)))


def blending(rate, T, Pr):
    """F of a falloff."""
    log_Pr, n = np.log10(np.maximum(Pr, TINY)), [LD(x) for x in rate.numbers]
    if rate.form == "Lindemann":
        return np.ones_like(T)

    if rate.form == "SRI":
        a, b, c, d, e = n
        second = np.exp(-T / c) if c else LD(0)
        return d * T**e * (a * np.exp(-b / T) + second) ** (1 / (1 + log_Pr**2))

    if rate.form == "Tsang":
        centre = n[0] + n[1] * T
    else:
        a, T3, T1, T2 = n
        centre = (1 - a) * np.exp(-T / T3) if abs(T3) > TINY else LD(0)
        centre = centre + (a * np.exp(-T / T1) if abs(T1) > TINY else LD(0))
        centre = centre + (np.exp(-T2 / T) if T2 else LD(0))

    L = np.log10(np.maximum(centre, TINY))
    above = log_Pr - LD("0.4") - LD("0.67") * L
    f1 = above / (LD("0.75") - LD("1.27") * L - LD("0.14") * above)

    return 10 ** (L / (1 + f1**2))


def falloff(rate, T, M):
    low, high = arrhenius(rate.low, T), arrhenius(rate.high, T)
    Pr = low * M / high
    return (low if rate.activated else high * Pr) / (1 + Pr) * blending(rate, T, Pr)


def plog(rate, T, p):
    ln_k = [np.log(sum(arrhenius(term, T) for term in terms)) for terms in rate.terms]
    ln_p = [np.log(LD(x)) for x in rate.pressures]
    out = np.where(np.log(p) <= ln_p[0], ln_k[0], ln_k[-1])

    for j in range(len(ln_p) - 1):
        share = (np.log(p) - ln_p[j]) / (ln_p[j + 1] - ln_p[j])
        between = (share > 0) & (share <= 1)
        out = np.where(between, ln_k[j] + share * (ln_k[j + 1] - ln_k[j]), out)

    return np.exp(out)


def chebyshev(rate, T, p, clamp):
    (T0, T1), (p0, p1) = ([LD(x) for x in pair] for pair in (rate.temperatures, rate.pressures))
    x = (2 / T - 1 / T0 - 1 / T1) / (1 / T1 - 1 / T0)
    y = (2 * np.log10(p) - np.log10(p0) - np.log10(p1)) / (np.log10(p1) - np.log10(p0))
    if clamp:
        x, y = np.clip(x, -1, 1), np.clip(y, -1, 1)
    polynomials = lambda x, n: [np.ones_like(x), x][:n] if n < 3 else _recurrence(x, n)
    data = np.asarray(rate.data, LD)
    of_x, of_y = polynomials(x, len(data)), polynomials(y, data.shape[1])

    return 10 ** sum(data[i, j] * of_x[i] * of_y[j] for i in range(data.shape[0]) for j in range(data.shape[1]))


def _recurrence(x, n):
    out = [np.ones_like(x), x]
    while len(out) < n:
        out.append(2 * x * out[-1] - out[-2])
    return out


def blowers_masel(rate, T, dH):
    """dH: heat of the reaction over R, [K]."""
    E0, w = LD(rate.E0), LD(rate.w)
    V = 2 * w * (w + E0) / (w - E0)
    between = (w + dH / 2) * (V - 2 * w + dH) ** 2 / (V**2 - 4 * w**2 + dH**2)
    E = np.select([dH < -4 * E0, dH > 4 * E0], [np.zeros_like(T), dH], between)

    return LD(rate.A) * T ** LD(rate.b) * np.exp(-E / T)


def of_pressure(rate, T, p, clamp):
    """k of a function of T and p; of a falloff with [M] = p/RT."""
    kind = type(rate).__name__
    if kind == "Falloff":
        return falloff(rate, T, p / (R * T))
    return plog(rate, T, p) if kind == "Plog" else chebyshev(rate, T, p, clamp)


def linear_burke(rate, T, p, C, clamp):
    """Mole fractions and the pressure of a gas of one collider that would be as effective, species by species."""
    X = C / C.sum(0)
    eps, own = np.ones_like(X), {}
    for collider in rate.colliders:
        eps[collider.species] = arrhenius(collider.efficiency, T)
        own[collider.species] = collider.rate
    mean = (eps * X).sum(0)

    k = np.zeros_like(T)
    for s in range(len(X)):
        if own.get(s) is None:
            of_s = of_pressure(rate.reference, T, p * mean, clamp)
        else:
            of_s = of_pressure(own[s], T, p * mean / eps[s], clamp)
        k = k + of_s * eps[s] * X[s] / mean

    return k


def forward(reaction, T, p, C, h, clamp=False):
    """k_f; a collider that multiplies is in it. h: h_k/RT of the species, ideal gas."""
    rate, kind = reaction.rate, type(reaction.rate).__name__
    if kind == "Falloff":
        return LD(reaction.multiplier) * falloff(rate, T, collisions(reaction.collider, C))

    k = {
        "Arrhenius": lambda: arrhenius(rate, T),
        "BlowersMasel": lambda: blowers_masel(rate, T, sum(LD(nu) * h[s] for s, nu in reaction.net.items()) * T),
        "LinearBurke": lambda: linear_burke(rate, T, p, C, clamp),
        "Plog": lambda: plog(rate, T, p),
        "Chebyshev": lambda: chebyshev(rate, T, p, clamp),
    }[kind]()

    return LD(reaction.multiplier) * k * (collisions(reaction.collider, C) if reaction.collider else 1)


def _powers(c, orders, sides):
    """prod c^order: whole stoichiometric orders with the sign of c, others 0 where c <= 0."""
    out = np.ones(c.shape[1:], LD)
    for s, order in orders.items():
        if order == round(order) and sides.get(s) == order:
            out = out * c[s] ** int(order)
        else:
            safe = np.where(c[s] > 0, c[s], LD(1))
            out = out * np.where(c[s] > 0, safe ** LD(order), LD(0))

    return out


def evaluate(mechanism, data, T, p, C, gamma=None, form="consistent", clamp=False):
    """Rates at T [K], p [Pa] (n) and concentrations C [mol/m3] (ns, n); gamma (ns, n): f_k = gamma_k C_k R T.

    Returns rate_f, rate_r, rate_net, Kc (nr, n), omega_mol (ns, n), creation, destruction [kg/m3/s], `gross` (ns, n):
    what omega_mol is the small difference of, [mol/m3/s].
    """
    T, p, C = (np.asarray(x, LD) for x in (T, p, C))
    gamma = np.ones_like(C) if gamma is None or form == "concentration" else np.asarray(gamma, LD)
    h, s = nasa7(data, T)
    c = gamma * C if form == "fugacity" else C
    W = np.asarray(data.W, LD)[:, None]
    out = SimpleNamespace(rate_f=[], rate_r=[], Kc=[])
    gone, made, omega = np.zeros_like(C), np.zeros_like(C), np.zeros_like(C)

    for reaction in mechanism.reactions:
        net = reaction.net
        zero = np.zeros_like(T)
        ln_Kc = -sum((LD(nu) * (h[k] - s[k]) for k, nu in net.items()), zero)
        Kc = np.exp(ln_Kc) * (LD(data.p_ref) / (R * T)) ** sum(map(LD, net.values()))
        k = forward(reaction, T, p, C, h, clamp)
        f = k * _powers(c, reaction.orders, reaction.reactants)
        r = zero

        if reaction.reversible:
            r = k / Kc * _powers(c, reaction.products, reaction.products)
            if form == "consistent":
                for j, nu in net.items():
                    r = r * gamma[j] ** LD(nu)

        for j, nu in reaction.reactants.items():
            gone[j] += LD(nu) * f
            made[j] += LD(nu) * r

        for j, nu in reaction.products.items():
            made[j] += LD(nu) * f
            gone[j] += LD(nu) * r

        for j, nu in net.items():
            omega[j] += LD(nu) * (f - r)
        out.rate_f.append(f)
        out.rate_r.append(r)
        out.Kc.append(Kc)

    out.rate_f, out.rate_r, out.Kc = (np.array(x) for x in (out.rate_f, out.rate_r, out.Kc))
    out.rate_net, out.omega_mol, out.omega = out.rate_f - out.rate_r, omega, omega * W
    out.creation, out.destruction, out.gross = made * W, gone * W, np.abs(made) + np.abs(gone)

    return out
