"""Vapour and liquid in equilibrium by plain successive substitution, with Rachford & Rice's equation by bisection, in
longdouble. Slow, and sure: each step lowers the Gibbs energy. Fugacities are those of derivatives.py.

Arrays have the species axis first. o: options as oracle.OPTIONS has them.
"""

from types import SimpleNamespace

import numpy as np

from . import derivatives, species
from .oracle import OPTIONS, evaluate
from .tracked import LD, value

PLAIN = OPTIONS | {"translation": "none"}


def ln_phi(data, T, p, X, **o):
    """Logarithms of the fugacity coefficients (ns, n) of one phase: the root of lower Gibbs energy."""
    tracked = _needs_bounds(o)
    of_state = derivatives.of_state(_phase(data, T, p, X, **o), species.arrays(data, tracked), PLAIN | o)
    return value(of_state.ln_phi)


def _needs_bounds(o) -> bool:
    """The derivatives of equation mapped are written for numbers with a bound of their error."""
    return o.get("equation") == "mapped"


def _phase(data, T, p, X, **o):
    return evaluate(
        data, np.asarray(T, LD), np.asarray(p, LD), X=np.asarray(X, LD), tracked=_needs_bounds(o), transport=False, **o
    )


def wilson(data, T, p):
    """K (ns, n) of Wilson's correlation."""
    Tc, pc, omega = (np.asarray(getattr(data, k), LD)[:, None] for k in ("Tc", "pc", "omega"))
    return pc / p * np.exp(LD("5.373") * (1 + omega) * (1 - Tc / T))


def tangent_distance(data, T, p, X, steps=300, **o):
    """Least distance tm (n,) of trial phases from the tangent plane at X, and the trial W (ns, n) there: starts by
    Wilson's K, and rich in each species. tm is 0 for the feed itself."""
    with np.errstate(divide="ignore"):
        d = np.log(np.asarray(X, LD)) + ln_phi(data, T, p, X, **o)
    K, ns = wilson(data, T, p), len(X)
    starts = [X * K, X / K]
    for k in range(ns):
        rich = np.full(np.shape(X), LD("1e-3") / ns)
        rich[k] = LD("0.999")
        starts.append(rich)

    least, best = np.zeros(np.shape(T), LD), np.asarray(X, LD).copy()
    for W in starts:
        for _ in range(steps):
            last, W = W, np.exp(d - ln_phi(data, T, p, W / W.sum(0), **o))
            if np.abs(W - last).max() < 1e-15:
                break
        tm = 1 - W.sum(0)
        better = tm < least
        least, best = np.where(better, tm, least), np.where(better, W, best)
    return least, best


def rachford_rice(z, K):
    """beta (n,) in (0, 1), by bisection; the nearer end where there is none."""
    low, high = np.zeros(z.shape[1:], LD), np.ones(z.shape[1:], LD)
    for _ in range(80):
        beta = (low + high) / 2
        f = (z * (K - 1) / (1 + beta * (K - 1))).sum(0)
        low, high = np.where(f > 0, beta, low), np.where(f > 0, high, beta)
    return (low + high) / 2


def split(data, T, p, X, steps=4000, tolerance=1e-13, **o):
    """The state at T, p, X: two (bool, n), beta, x (liquid), y (vapour), K, and `left`, the last change of ln K."""
    X = np.asarray(X, LD)
    tm, W = tangent_distance(data, T, p, X, **o)
    two = tm < -1e-8

    with np.errstate(divide="ignore", invalid="ignore"):
        y_like = np.where(X > 0, W / X, 1)
    heavy = (np.asarray(data.W, LD)[:, None] * (W / W.sum(0) - X)).sum(0) > 0  # a trial that is heavier is the liquid
    ln_K = np.where(heavy, -1, 1) * np.log(y_like)
    left = np.zeros(np.shape(T), LD)
    for _ in range(steps):
        K = np.exp(ln_K)
        beta = rachford_rice(X, K)
        x = X / (1 + beta * (K - 1))
        y = K * x
        new = ln_phi(data, T, p, x / x.sum(0), **o) - ln_phi(data, T, p, y / y.sum(0), **o)
        left = np.abs(new - ln_K).max(0)
        ln_K = new
        if (left[two] < tolerance).all():
            break
    return SimpleNamespace(two=two, beta=beta, x=x / x.sum(0), y=y / y.sum(0), ln_K=ln_K, left=left, tm=tm)


def mixture_of(data, T, p, s, **o):
    """rho, h, s per kg of two phases in equilibrium, from those of each phase: masses and volumes add."""
    v, l = (_phase(data, T, p, x, **o) for x in (s.y, s.x))
    m_v, m_l = s.beta * v.W, (1 - s.beta) * l.W
    m = m_v + m_l
    return SimpleNamespace(
        rho=m / (m_v / v.rho + m_l / l.rho),
        h=(m_v * v.h + m_l * l.h) / m,
        s=(m_v * v.s + m_l * l.s) / m,
        beta_mass=m_v / m,
        rho_v=v.rho,
        rho_l=l.rho,
    )
