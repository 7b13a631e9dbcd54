"""Sides of the domain: outlets, inlets, walls."""

import math

import numpy as np

from .tools import OXYGEN_METHANE, advance, duct, flow_of, largest, line, mass_row, nitrogen_of_layer, off, rows


def outlet(quick, pictures):
    """A sound pulse in N2 (5 MPa, 300 K, M 0.1) leaves through the non-reflecting outlet: what comes back."""
    pulse = dict(T=300, p="5e6*(1 + 1e-4*exp(-((x - 0.5)/0.05)**2))", u=30)
    f = flow_of([200], [0.0], [1.0], pulse, 6e-3, boundary={"x": {"kind": "outlet", "p": 5e6}})
    start = off("p", 5e6)(f)
    advance(f, 4e-3)  # the waves need 1.5e-3 s and 1.7e-3 s to the sides

    return rows("outlet", ("|p - p0| left of a pulse", off("p", 5e6)(f) / start, 2e-2))


def reflection(quick, pictures):
    """A sound pulse in N2 (5 MPa, M 0.1) meets an outlet, an inlet with sigma, an inlet without: what comes back, over
    the pulse. At 130 K sound is 20 % faster than in an ideal gas.

    Waves w+, w- = p +- rho c u: the relaxation alone is w-_t = -K (w+ + w-), K = sigma c (1 - M^2)/(2 L). A pulse
    a exp(-(x/width)^2) that comes at c (1 + M) leaves a K sqrt(pi) width/(c (1 + M)) behind (1 - M on an inlet). That
    much has to come back, or nothing would hold the mean pressure or velocity: 1.08 and 1.32 % here. The bound is a
    tenth more, for waves of the scheme, which has 10 cells for the pulse's width.
    """
    width, mach, sigma, size = 0.05, 0.1, 0.27, 1e-4 * 5e6
    for T in (130.0,) if quick else (130.0, 300.0):
        q = nitrogen_of_layer("rho c", T)
        c, rho = q["c"], q["rho"]

        outlet = {"kind": "outlet", "p": 5e6, "sigma": sigma}
        inlet = {"kind": "inlet", "T": T, "velocity": [mach * c, 0, 0]}
        pulse = f"{size!r}*exp(-((x - 0.5)/{width})**2)"

        def back(towards, inlet, T=T, outlet=outlet, pulse=pulse, c=c, rho=rho):
            """towards: 1 the outlet, -1 the inlet."""
            velocity = f"{mach * c!r} + {towards / (rho * c)!r}*{pulse}"
            start = dict(rho=f"{rho!r} + {pulse}/{c * c!r}", p=f"5e6 + {pulse}", u=velocity)
            f = flow_of([200], [0.0], [1.0], start, 1.0, boundary={"x_low": inlet, "x_high": outlet})
            # all of it has met the side, and what came back is on its way to the other
            advance(f, (0.5 + 5 * width) / (c * (1 + towards * mach)) + 0.15 / c)

            return off("p", 5e6)(f) * 5e6 / size

        def alone(towards):
            return 0.5 * sigma * (1 - towards * mach) * math.sqrt(math.pi) * width

        yield from rows(
            f"sound pulse, N2 at {T:g} K",
            ("back from an outlet", back(1, inlet), 1.1 * alone(1)),
            ("back from an inlet with sigma", back(-1, inlet | {"sigma": sigma}), 1.1 * alone(-1)),
            ("back from an inlet that holds its velocity", back(-1, inlet), 0.99, "above"),
        )

    for degrees in () if quick else (0, 30, 45):
        # one-dimensional relations send (1 - cos)/(1 + cos) back; a side of second order, (k dx)^2/3
        cos, dx = math.cos(math.radians(degrees)), 1 / 200
        bound = (1 - cos) / (1 + cos) + (2 * math.pi / 16) ** 2 / 3
        yield from rows("waves of 16 cells", (f"back from an outlet at {degrees} degrees", slanted(degrees, dx), bound))


def slanted(degrees, dx):
    """A packet of waves of 16 cells along x goes to an outlet that relaxes next to nothing, at an angle: what comes
    back."""
    q = nitrogen_of_layer("rho c", 300.0)
    c, rho, k, angle = q["c"], q["rho"], 2 * math.pi / (16 * dx), math.radians(degrees)
    high = 16 * dx / math.tan(angle) if degrees else 8 * dx
    wave = f"500*exp(-((x - 0.5)/0.1)**2)*cos({k!r}*x + {k * math.tan(angle)!r}*y)"
    velocity = {n: f"{s / (rho * c)!r}*{wave}" for n, s in (("u", math.cos(angle)), ("v", math.sin(angle)))}
    start = dict(rho=f"{rho!r} + {wave}/{c * c!r}", p=f"5e6 + {wave}", **velocity)
    sides = {"x": {"kind": "outlet", "p": 5e6, "sigma": 1e-9}}
    cells, size = [round(1 / dx), round(high / dx)], [1.0, high]
    f = flow_of(cells, [0.0] * 2, size, start, 1.0, dissipation="none", boundary=sides)
    advance(f, 1 / (c * math.cos(angle)))

    return off("p", 5e6)(f) * 5e6 / 500


def channel(quick, pictures):
    """Plane channel of N2 at 5 MPa: parabolic inlet by velocity and enthalpy, isothermal no-slip walls, non-reflecting
    outlet; steady: the pressure falls by 8 mu u_max/H^2, mass in equals mass out."""
    return channel_flow("channel", 16, (8 if quick else 25))


def channel_flow(name, ny, turns, stretch=""):
    """turns: how often the longest sound wave decays. stretch: formula of s across the channel."""
    H, nx = 1e-3, 48
    q = nitrogen_of_layer("rho h c", 300.0)
    top = 0.05 * q["c"]
    mu = q["rho"] * top * H / 30  # Re 30 on the largest velocity: the profile is Poiseuille's from the start
    profile = f"{4 * top / H**2!r}*y*({H!r} - y)"
    end = turns * 3 * H / q["c"] / 0.25
    f, start = duct(
        [nx, ny],
        [3 * H, H],
        dict(T=300, p=f"5e6 + {8 * mu * top / H**2!r}*({3 * H!r} - x)", u=profile),
        profile,
        q["h"],
        {"y": {"kind": "wall", "T": 300.0}},
        end,
        mu,
        stretch={"y": stretch} if stretch else {},
    )

    p, u, rho = f.field("p")[0], f.field("u")[0], f.field("rho")[0]
    x, y, _ = f.coordinates()
    slope = np.polyfit(x[0, 0][nx // 3 : -6], p.mean(0)[nx // 3 : -6], 1)[0]

    widths = f.case.lines[1].widths(np.arange(ny))

    def across(values):
        return widths @ values / H

    flux, middle, y = across(rho * u), u[:, nx // 2], y[0, :, 0]
    parabola = 6 * y / H * (1 - y / H)
    yield from rows(
        name,
        ("pressure gradient against 8 mu u_max/H^2", abs(slope / (-8 * mu * top / H**2) - 1), 0.03),
        ("mass flow along the channel", float(np.abs(flux / flux.mean() - 1).max()), 0.01),
        ("profile against the parabola", float(np.abs(middle / across(middle) - parabola).max()), 0.02),
        mass_row(f, start),
    )


def stretched_channel(quick, pictures):
    """The same with cells at the walls that are a third of those in the middle."""
    wide = "tanh(1.2*(2*s - 1))"
    return channel_flow("stretched channel", 12 if quick else 16, 4 if quick else 25, wide)


def supersonic(quick, pictures):
    """A layered stream of CH4 and O2 above Mach 2.6 drives a uniform one out: behind it p and u are uniform,
    and the domain holds the mass that entered."""
    layer = "0.5*(1 - tanh((y - 0.5)/0.1))"
    inlet = {
        "kind": "supersonic_inlet",
        "p": 1e7,
        "T": f"320 - 120*{layer}",
        "velocity": [1200, 0, 0],
        "X": {"O2": f"0.9*{layer}", "CH4": "rest"},
    }

    f = flow_of(
        [24, 24],
        [0.0] * 2,
        [1.0] * 2,
        dict(p=1e7, u=1200, T=300, X={"CH4": 1}),
        3 / 1200,
        mixture=OXYGEN_METHANE,
        boundary={"x_low": inlet, "x_high": "supersonic_outlet", "y": "slip_wall"},
    )

    p, u = largest(f, 3 / 1200, off("p", 1e7), off("u", 1200))
    X = 0.45 * (1 - np.tanh((f.coordinates()[1] - 0.5) / 0.1))
    W = f.mixture.species.W
    Y = X * W[1] / (X * W[1] + (1 - X) * W[0])

    return rows(
        "supersonic stream",
        ("|p/p0 - 1|", p, 1e-10),
        ("|u/u0 - 1|", u, 1e-10),
        ("lowest Mach number", float(f.field("mach").min()), 2.5, "above"),
        # the sharp front that passed left waves of the grid's length behind, which hardly move
        ("mass fraction of what entered", float(np.abs(f.field("Y_O2") - Y).max()), 1e-4),
        ("T of what entered", float(np.abs(f.field("T") / (320 - 120 * X / 0.9) - 1).max()), 1e-4),
    )


def couette(quick, pictures):
    """Dense N2 between a wall at rest and one that moves, both at 300 K: u straight, and T = 300 K + mu V^2/(2 lam) s
    (1 - s) by friction."""
    H, N, mu, lam, V = 1e-6, 10 if quick else 24, 1e-3, 0.1, 60.0
    walls = {"x_low": {"kind": "wall", "T": 300.0}, "x_high": {"kind": "wall", "T": 300.0, "velocity": [0, V, 0]}}
    start = dict(T=300, p=5e6, v=f"{V / H!r}*x")
    f = flow_of([N], [0.0], [H], start, 1.0, viscous=True, mu=mu, lam=lam, boundary=walls)
    heat = float((f.field("cv_vol") / f.field("rho")).mean())
    rho = float(f.field("rho").mean())
    slowest = max(1.6 * rho * heat / lam, rho / mu)  # cp is 1.6 cv at most here
    advance(f, 2.5 * H * H / math.pi**2 * slowest * (2 if quick else 3))
    s, T = (np.arange(N) + 0.5) / N, line(f, "T")
    rise = mu * V * V / (2 * lam) * s * (1 - s)

    return rows(
        "Couette flow",
        ("u against a straight line", float(np.abs(line(f, "v") / V - s).max()), 1e-3),
        ("warmest point [K] above the walls", float(T.max()) - 300, 4.0, "above"),
        ("T against friction's parabola", float(np.abs(T - 300 - rise).max() / rise.max()), 2e-2),
        ("p uniform", off("p", f.field("p").mean())(f), 1e-4),
    )
