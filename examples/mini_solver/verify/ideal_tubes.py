"""Shock tubes of an ideal gas beside the textbook's exact solution: Toro's five tests and Lax' one. Strong shocks, a
near vacuum, blast waves."""

import math

import numpy as np

from .tools import GAMMA, IDEAL, advance, curves, figure, flow_of, line, rows

UNIT = 1e6  # Pa, of the pressures below: the coldest gas has then 34 K; density in kg/m3
# left and right (rho, u, p), place of the diaphragm, end (Toro 2009, table 4.1 and 6.1); Lax 1954 (originals not seen)
TUBES = {
    "Toro 1": ((1, 0.75, 1), (0.125, 0, 0.1), 0.3, 0.2),
    "Toro 2": ((1, -2, 0.4), (1, 2, 0.4), 0.5, 0.15),
    "Toro 3": ((1, 0, 1000), (1, 0, 0.01), 0.5, 0.012),
    "Toro 4": ((5.99924, 19.5975, 460.894), (5.99242, -6.19633, 46.0950), 0.4, 0.035),
    "Toro 5": ((1, -19.59745, 1000), (1, -19.59745, 0.01), 0.8, 0.012),
    "Lax": ((0.445, 0.698, 3.528), (0.5, 0, 0.571), 0.5, 0.14),
}
# L1 of rho, over the largest density of the exact solution, on 100 cells: first-order smearing of every wave would be
# three times as much
BOUNDS = {"Toro 1": 0.012, "Toro 2": 0.015, "Toro 3": 0.03, "Toro 4": 0.025, "Toro 5": 0.025, "Lax": 0.02}


def side(p, rho, p0, g=GAMMA):
    """Change of velocity across a wave from (rho, p0) to p, and its derivative."""
    if p > p0:
        A, B = 2 / ((g + 1) * rho), (g - 1) / (g + 1) * p0
        root = math.sqrt(A / (p + B))
        return (p - p0) * root, root * (1 - (p - p0) / (2 * (p + B)))

    c = math.sqrt(g * p0 / rho)

    return 2 * c / (g - 1) * ((p / p0) ** ((g - 1) / (2 * g)) - 1), (p / p0) ** (-(g + 1) / (2 * g)) / (rho * c)


def exact(left, right, speed, g=GAMMA):
    """rho, u, p of x/t (Toro 2009, chapter 4)."""
    (rl, ul, pl), (rr, ur, pr) = left, right
    p = max(1e-6, 0.5 * (pl + pr))

    for _ in range(200):
        fl, dl = side(p, rl, pl)
        fr, dr = side(p, rr, pr)
        p = max(p - (fl + fr + ur - ul) / (dl + dr), 0.1 * p)

    u = 0.5 * (ul + ur + side(p, rr, pr)[0] - side(p, rl, pl)[0])
    out = []

    for s in np.asarray(speed, float):
        sign, (r0, u0, p0) = (1, left) if s < u else (-1, right)  # mirrored, the right is a left
        v, w, us = sign * s, sign * u0, sign * u
        c = math.sqrt(g * p0 / r0)

        if p > p0:
            shock = w - c * math.sqrt((g + 1) / (2 * g) * p / p0 + (g - 1) / (2 * g))
            k = (g - 1) / (g + 1)
            state = (r0, w, p0) if v < shock else (r0 * (p / p0 + k) / (k * p / p0 + 1), us, p)
        else:
            inner = c * (p / p0) ** ((g - 1) / (2 * g))
            if v < w - c:
                state = r0, w, p0
            elif v > us - inner:
                state = r0 * (p / p0) ** (1 / g), us, p
            else:
                ratio = 2 / (g + 1) + (g - 1) / ((g + 1) * c) * (w - v)
                fan = 2 / (g + 1) * (c + (g - 1) / 2 * w + v)
                state = r0 * ratio ** (2 / (g - 1)), fan, p0 * ratio ** (2 * g / (g - 1))

        out.append((state[0], sign * state[1], state[2]))

    return np.array(out).T


def ideal_tubes(quick, pictures):
    """The default scheme with its limiter, 100 cells: L1 of density, and that density and pressure stay positive."""
    drawn, unit = [], math.sqrt(UNIT)  # of velocities
    for name in ("Toro 2", "Toro 3") if quick else TUBES:
        left, right, middle, end = TUBES[name]

        def value(k, by, left=left, right=right, middle=middle):
            return f"where(x < {middle}, {left[k] * by}, {right[k] * by})"

        start = dict(rho=value(0, 1.0), u=value(1, unit), p=value(2, UNIT))
        f = flow_of([100], [0.0], [1.0], start, end / unit, mixture=IDEAL, boundary={"x": "supersonic_outlet"}, cfl=0.4)
        least = []
        advance(f, end / unit, lambda f, least=least: least.append((line(f, "rho").min(), line(f, "p").min())))
        x = f.coordinates()[0][0, 0]
        known = exact(left, right, (x - middle) / end)
        got = line(f, "rho")
        error = float(np.abs(got - known[0]).mean() / known[0].max())
        yield from rows(
            name,
            ("L1 rho, 100 cells", error, BOUNDS[name]),
            ("lowest density [kg/m3]", float(np.min(least, 0)[0]), 0.0, "above"),
            ("lowest pressure [Pa]", float(np.min(least, 0)[1]), 0.0, "above"),
        )

        drawn.append((name, x, known[0], got))

    if pictures:
        with figure(pictures / "ideal_tubes.png", 2, 3, figsize=(11, 6)) as axes:
            for axis, (name, x, known, got) in zip(axes.flat, drawn):
                curves(axis, (x, known, "k-", "exact"), (x, got, "o", "100 cells"), title=name, legend=name == "Toro 1")
