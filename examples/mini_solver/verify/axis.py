"""Flows around an axis: a uniform stream, rates of change against the equations, a supersonic source, a pipe."""

import math

import numpy as np

from .orders import refined
from .tools import (
    GAMMA,
    IDEAL,
    P0,
    RHO0,
    SOUND,
    T0,
    R,
    W,
    advance,
    duct,
    flow_of,
    mass_row,
    nitrogen_of_layer,
    off,
    order,
    rows,
)

GROWING = {"y": "s + 0.3*s**2"}


def stream(quick):
    """A uniform stream along the axis, gas at rest in a closed pipe: both stay as they are."""
    for scheme in ("double_flux",) if quick else ("double_flux", "apec"):
        f = flow_of(
            [12, 10],
            [0.0] * 2,
            [1e-4] * 2,
            dict(T=300, p=5e6, u=40),
            1.0,
            mixture=IDEAL if quick else None,
            boundary={"y": "slip_wall"},
            scheme=scheme,
            viscous=not quick,
            stretch=GROWING,
            axisymmetric=True,
        )

        f.take(50)
        worst = max(off(name, value)(f) for name, value in (("p", 5e6), ("T", 300), ("u", 40)))
        across = float(np.abs(f.field("v")).max()) / 40
        # a rounding of p over the cells at each stage makes u a rounding of the sound speed
        yield from rows(f"around an axis, {scheme}", ("a uniform stream after 50 steps", max(worst, across), 1e-13))


class Smooth:
    """Smooth fields of an ideal gas around the axis, and the rates that the equations give them. Derivatives by complex
    steps: of the fields, and with fourth-order central differences of those."""

    L, MU, CP = 1.0, 30.0, GAMMA / (GAMMA - 1) * R / W  # m, Pa s: friction and convection are of one size

    def __init__(self):
        self.lam = self.MU * self.CP / 0.7

    def fields(self, x, r):
        """rho, u, v, p: even in r, v odd."""
        k = 2 * math.pi / self.L
        wave, bell = np.sin(k * x), np.cos(2 * r**2)
        rho, p = RHO0 * (1 + 0.1 * wave * bell), P0 * (1 + 0.1 * np.cos(k * x) * np.cos(1.5 * r**2))

        return rho, SOUND * (0.3 + 0.1 * wave * bell), SOUND * 0.2 * r * np.cos(k * x + r**2), p

    def slopes(self, x, r):
        """d/dx and d/dr of rho, u, v, p."""
        h = 1e-30

        def at(x, r):
            return np.array(self.fields(x, r))

        return at(x + 1j * h, r + 0j).imag / h, at(x + 0j, r + 1j * h).imag / h

    def fluxes(self, x, r, viscous):
        """Fluxes of mass, of momentum in x and r and of energy: along x, along r; and tau_theta."""
        rho, u, v, p = self.fields(x, r)
        (rho_x, u_x, v_x, p_x), (rho_r, u_r, v_r, p_r) = self.slopes(x, r)
        energy = p / (GAMMA - 1) + 0.5 * rho * (u * u + v * v)

        along = np.array([rho * u, rho * u * u + p, rho * u * v, (energy + p) * u])
        outward = np.array([rho * v, rho * u * v, rho * v * v + p, (energy + p) * v])
        about = 0 * u

        if viscous:
            mu, third = self.MU, 2 / 3 * (u_x + v_r + v / r)
            xx, rr, xr, about = (
                mu * (2 * u_x - third),
                mu * (2 * v_r - third),
                mu * (u_r + v_x),
                mu * (2 * v / r - third),
            )

            def T(p_d, rho_d):
                return (p_d / rho - p * rho_d / rho**2) * W / R

            zero = 0 * u
            along -= np.array([zero, xx, xr, xx * u + xr * v + self.lam * T(p_x, rho_x)])
            outward -= np.array([zero, xr, rr, xr * u + rr * v + self.lam * T(p_r, rho_r)])

        return along, outward, about

    def rates(self, x, r, viscous):
        h = 1e-3

        def central(f):
            return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)

        d_x = central(lambda s: self.fluxes(x + s, r, viscous)[0])
        d_r = central(lambda s: (r + s) * self.fluxes(x, r + s, viscous)[1]) / r
        found = -d_x - d_r
        found[2] += (self.fields(x, r)[3] - self.fluxes(x, r, viscous)[2]) / r

        return found


def rates(quick):
    """Rates of change of smooth fields in the first step, up to the axis, against the equations: order. (A flux times
    its face's radius is of second order, whatever the flux.)"""
    smooth = Smooth()
    for what, viscous in (("all terms", True),) if quick else (("convection", False), ("all terms", True)):

        def error(N, viscous=viscous):
            how = dict(viscous=True, mu=smooth.MU, lam=smooth.lam) if viscous else {}
            f = flow_of(
                [N, N],
                [0.0] * 2,
                [1.0] * 2,
                dict(T=T0, p=P0),
                1.0,
                mixture=IDEAL,
                boundary={"y": "slip_wall"},
                scheme="apec",
                dissipation="none",
                limiter=False,
                axisymmetric=True,
                **how,
            )

            x, r = np.broadcast_arrays(*(c[0] for c in f.coordinates()[:2]))
            rho, u, v, p = smooth.fields(x, r)
            f.start(dict(rho=rho[None], p=p[None], velocity=np.stack([u, v, 0 * u])[:, None], Y=np.ones((1, 1, N, N))))
            before = f.state()["U"]
            dt = f.step(1e-9)
            found = ((f.state()["U"] - before) / dt)[[0, 1, 2, 4], 0]
            known = smooth.rates(x, r, viscous)
            inner = slice(0, N - N // 4)  # the wall is another flow
            sizes = np.abs(known).reshape(4, -1).max(1)

            # over volumes: of rings
            def weigh(q):
                return (q * r)[:, inner].sum((1, 2)) / r[inner].sum()

            return float((weigh(np.abs(found - known)) / sizes).max())

        cells = (16, 32) if quick else (16, 32, 64)
        bound = 1e-3 if quick else 2e-4
        yield from refined(f"around an axis, {what}", f"rates on {cells[-1]}^2, relative", error, cells, bound, 1.8)


def source(quick):
    """Supersonic flow away from a line: r rho v is constant, and so are entropy and total enthalpy."""
    low, high, mach = 1.0, 2.0, 1.5
    total = 1 + (GAMMA - 1) / 2 * mach**2

    def exact(r):
        """rho/rho0 at radii, by Newton for the Mach number: r/r0 is an area ratio."""

        def area(m):
            return ((1 + (GAMMA - 1) / 2 * m * m) / total) ** 3 * mach / m  # exponent of gamma = 1.4

        m = np.full_like(r, mach)
        for _ in range(60):
            slope = (area(m + 1e-7) - area(m - 1e-7)) / 2e-7
            m = m - (area(m) - r / low) / slope

        return (total / (1 + (GAMMA - 1) / 2 * m * m)) ** 2.5

    def error(N):
        radii = low + (np.arange(N) + 0.5) / N * (high - low)
        f = flow_of(
            [4, N],
            [0.0, low],
            [1.0, high],
            dict(T=T0, p=P0, v=mach * SOUND),
            1.0,
            mixture=IDEAL,
            boundary={
                "y_low": dict(kind="supersonic_inlet", T=T0, p=P0, velocity=[0, mach * SOUND, 0], X={"gas": 1}),
                "y_high": "supersonic_outlet",
            },
            axisymmetric=True,
        )

        advance(f, 8 * (high - low) / SOUND)
        rho, keep = f.field("rho")[0, :, 0] / RHO0, slice(3, None)  # the inlet's face has what is given, no gradient

        return float(np.abs(rho / exact(radii) - 1)[keep].mean())

    cells = (20, 40) if quick else (20, 40, 80)

    return refined("supersonic source", f"L1 of rho, {cells[-1]} cells", error, cells, 1e-3 if quick else 3e-4, 1.8)


def spreading(quick):
    """Subsonic flow from an inlet, away from a line, to the non-reflecting outlet with the pressure of the exact flow
    there: r rho v, entropy and total enthalpy are constant. Sides are of first order.

    The order is that of the upwind flux alone: its error times cells is 3.45, 3.25, 3.17 on 16, 32, 64 cells. With the
    sensor this is 1.49, 1.37, 1.69, 1.60, 1.35 on 16 to 256: bounded, which is first order, but no constant, so from a
    grid to the next the order is 0.7 to 1.25. The inlet makes p alternate from cell to cell, and the error depends on
    how much of the flow is upwind there: it is 5.8/cells with the central flux alone (64 cells), which is too low, and
    3.2/cells with the upwind one, too high. In a steady flow an alternating part has p' = M rho c |u'|. Below 0.3
    that is turbulence to the sensor, which leaves it: on 32 cells it stands behind the first few, on 64 it hardly does.
    So with the sensor each grid has a bound, which goes with the width of its cells."""
    low, high, mach = 1.0, 2.0, 0.3

    total = 1 + (GAMMA - 1) / 2 * mach**2

    def ratio(m):
        return total / (1 + (GAMMA - 1) / 2 * m * m)  # T/T0

    def error(N, dissipation="sensor"):
        radii = np.concatenate([low + (np.arange(N) + 0.5) / N * (high - low), [high]])
        m = mach * low / radii
        for _ in range(200):  # r rho v = constant; rho c goes with T to the power 3, of gamma = 1.4
            m = mach * low / (radii * ratio(m) ** 3)

        p = P0 * ratio(m) ** 3.5
        f = flow_of(
            [4, N],
            [0.0, low],
            [1.0, high],
            dict(T=T0, p=P0, v=f"{mach * SOUND}/y"),
            1.0,
            mixture=IDEAL,
            boundary={
                "y_low": dict(kind="inlet", T=T0, velocity=[0, mach * SOUND, 0], X={"gas": 1}),
                "y_high": dict(kind="outlet", p=float(p[-1])),
            },
            axisymmetric=True,
            dissipation=dissipation,
        )

        advance(f, (20 if quick else 60) * (high - low) / SOUND)

        return float(np.abs(f.field("p")[0, :, 0] - p[:-1]).max() / (p[-1] - p[0]))

    cells = (8, 16) if quick else (16, 32, 64)
    upwind = [error(N, "always") for N in cells[-2:]]

    return rows(
        "subsonic source",
        *((f"p over its rise, {N} cells", error(N), 1.92 / N) for N in cells),
        ("upwind, order", order(upwind, cells), 0.9, "above"),
    )


def pipe(quick):
    """Pipe of N2 at 5 MPa, steady: the pressure falls by 8 mu U/a^2 for the mean velocity U, the profile is a
    parabola."""
    a, nx, ny = 0.5e-3, 36, 8 if quick else 12
    q = nitrogen_of_layer("rho h c", 300.0)
    top = 0.05 * q["c"]
    mu = q["rho"] * top * a / 15
    profile, length = f"{top!r}*(1 - y**2/{a**2!r})", 3e-3
    slope = 4 * mu * top / a**2
    end = (4 if quick else 20) * length / q["c"] / 0.25
    f, start = duct(
        [nx, ny],
        [length, a],
        dict(T=300, p=f"5e6 + {slope!r}*({length!r} - x)", u=profile),
        profile,
        q["h"],
        {"y_low": "slip_wall", "y_high": {"kind": "wall", "T": 300.0}},
        end,
        mu,
        axisymmetric=True,
    )

    p, u, rho = f.field("p")[0], f.field("u")[0], f.field("rho")[0]
    x, y, _ = f.coordinates()
    found = np.polyfit(x[0, 0][nx // 3 : -6], p.mean(0)[nx // 3 : -6], 1)[0]
    ring = f.block.measure([1])
    flux, y = ring @ (rho * u), y[0, :, 0]
    mean = ring @ u[:, nx // 2] / ring.sum()
    parabola = 2 * (1 - (y / a) ** 2)

    return rows(
        "pipe",
        ("area of the rings", abs(ring.sum() / (math.pi * a * a) - 1), 1e-14),
        ("pressure gradient against 8 mu U/a^2", abs(found / -slope - 1), 0.03),
        ("mass flow along the pipe", float(np.abs(flux / flux.mean() - 1).max()), 0.01),
        ("profile against the parabola", float(np.abs(u[:, nx // 2] / mean - parabola).max()), 0.03),
        mass_row(f, start),
    )


def axisymmetric(quick, pictures):
    yield from stream(quick)
    yield from rates(quick)
    yield from source(quick)
    yield from spreading(quick)
    if not quick:
        yield from pipe(quick)
