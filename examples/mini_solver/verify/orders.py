"""Orders of convergence: flows with a known solution on ever finer grids, and ever smaller time steps."""

import math

import numpy as np

from kernels import Mixture

from .. import manufactured, riemann
from .tools import (
    CH4_O2,
    GAMMA,
    IDEAL,
    OXYGEN_METHANE,
    P0,
    RHO0,
    ROOT,
    advance,
    flow_of,
    line,
    nitrogen,
    off,
    order,
    rows,
)

SWIRL = 5.0  # strength of the vortices


def refined(of, what, error, cells, bound, lowest):
    """Rows: error(N) on the finest of the grids, and the order."""
    errors = [error(N) for N in cells]
    return rows(of, (what, errors[-1], bound), ("order", order(errors, cells), lowest, "above"))


def vortex_flow(N, U, initial, **how):
    """N x N cells of a vortex that the speed U carries by 2 in a box of 20, with dt ~ dx^2."""
    how |= dict(dissipation="none", time_step=0.12 * (20 / N) ** 2 / U)
    return flow_of([N, N], [-10.0] * 2, [10.0] * 2, initial, 2 / U, **how)


def carried(flow):
    """x and y at the end, relative to the centre of the vortex."""
    return ((c - 2 + 10) % 20 - 10 for c in flow.coordinates()[:2])


def vortex(quick, pictures):
    """Isentropic vortex (Shu 1998) in an ideal gas, box 20, carried by 2 radii: order of the central scheme, dt ~
    dx^2."""
    g, b, U = GAMMA, SWIRL, math.sqrt(P0 / RHO0)
    tail = "(1 - (g - 1)*b**2/(8*g*pi**2)*exp(1 - x**2 - y**2))"
    initial = dict(
        rho=f"r0*{tail}**(1/(g - 1))",
        p=f"p0*{tail}**(g/(g - 1))",
        u="U*(1 - b/(2*pi)*exp((1 - x**2 - y**2)/2)*y)",
        v="U*(1 + b/(2*pi)*exp((1 - x**2 - y**2)/2)*x)",
        constants=dict(g=g, b=b, p0=P0, r0=RHO0, U=U),
    )

    cells = (40, 80) if quick else (40, 80, 160)
    for scheme in ("double_flux",) if quick else ("double_flux", "apec"):

        def error(N):
            f = advance(vortex_flow(N, U, initial, mixture=IDEAL, scheme=scheme), 2 / U)
            x, y = carried(f)
            exact = (1 - (g - 1) * b**2 / (8 * g * math.pi**2) * np.exp(1 - x**2 - y**2)) ** (1 / (g - 1))
            return float(np.abs(f.field("rho") / RHO0 - exact).mean())

        yield from refined(
            f"vortex, {scheme}", f"L1 of rho on {cells[-1]}^2", error, cells, 4e-6 if quick else 7e-8, 5.5
        )


def vortex_real(quick, pictures):
    """The same vortex in N2 at 10 MPa and 150 K, where Z is 0.53; exact for any equation of state:
    h = h_inf - U^2 (b/2 pi)^2 exp(1 - r^2)/2 at constant entropy, on an isentrope of the textbook equation."""
    gas = nitrogen()
    T, U, b = 150.0, 100.0, SWIRL
    rho = riemann.density(gas, T, 1e7, 700.0)
    p, e, c, _, _ = gas.at(T, rho)
    depth = U * U * (b / (2 * math.pi)) ** 2 * math.e / 2
    table = riemann.isentrope(gas, rho, T, rho * math.exp(-1.6 * depth / c**2), 1)
    h = np.array([gas.at(row[1], row[0])[1] + row[2] / row[0] for row in table])
    rho_of, p_of = (np.polynomial.Chebyshev.fit(h, table[:, k], 16) for k in (0, 2))
    misfit = max(float(np.abs(f(h) / table[:, k] - 1).max()) for f, k in ((rho_of, 0), (p_of, 2)))
    yield from rows(
        "vortex in dense N2",
        ("isentrope and its fit", misfit, 1e-12),
        ("fall of p in its core, relative", 1 - float(p_of(e + p / rho - depth)) / p, 0.3, "above"),
    )

    def state(x, y):
        r2 = x * x + y * y
        enthalpy, swirl = e + p / rho - depth * np.exp(-r2), U * b / (2 * math.pi) * np.exp((1 - r2) / 2)

        return dict(
            rho=rho_of(enthalpy),
            p=p_of(enthalpy),
            velocity=np.stack([U - swirl * y, U + swirl * x, 0 * r2]),
            Y=np.ones((1, *r2.shape)),
        )

    cells = (40, 80) if quick else (40, 80, 160)
    for scheme in ("apec",) if quick else ("double_flux", "apec"):

        def error(N):
            f = vortex_flow(N, U, dict(T=T, p=p), scheme=scheme, freeze="stage")
            f.start(state(*f.coordinates()[:2]))
            advance(f, 2 / U)
            exact = state(*carried(f))

            return float(
                np.abs(f.field("rho") / exact["rho"] - 1).mean()
                + np.abs(f.field("u") - exact["velocity"][0]).mean() / U
                + np.abs(f.field("p") / exact["p"] - 1).mean()
            )

        what, bound = f"L1 of rho, u, p on {cells[-1]}^2", 4e-5 if quick else 7e-7
        yield from refined(f"vortex in dense N2, {scheme}", what, error, cells, bound, 5.5)


def acoustic(quick, pictures):
    """A sound wave in N2 at 5 MPa, 130 K (real gas, c from finite differences of the textbook equation of state): one
    period."""
    gas = nitrogen()
    rho = riemann.density(gas, 130.0, 5e6, 600.0)
    p, _, c, _, _ = gas.at(130.0, rho)
    A = 1e-6 * c
    wave = dict(
        rho=f"{rho!r}*(1 + {A / c!r}*sin(2*pi*x))", p=f"{p!r} + {rho * c * A!r}*sin(2*pi*x)", u=f"{A!r}*sin(2*pi*x)"
    )

    def error(N):
        f = advance(flow_of([N], [0.0], [1.0], wave, 1 / c, time_step=0.02 * (8 / N) ** 2 / c * 1.0), 1 / c)
        return float(np.abs(line(f, "u") / A - np.sin(2 * np.pi * f.coordinates()[0][0, 0])).max())

    return refined("sound wave, N2 130 K", "error after a period, 16 cells", error, (8, 16), 3e-4, 5.5)


def time_order(quick, pictures):
    """A large wave in N2 at 8 MPa, 130 to 170 K, with ever smaller steps: order in time, against the finest."""
    wave = dict(T="150 + 20*sin(2*pi*x)", p="8e6 + 5e5*cos(2*pi*x)", u="20*sin(2*pi*x)")
    for what, lowest, options in (
        ("double_flux", 0.9, {}),
        ("double_flux, freeze = stage", 2.8, {"freeze": "stage"}),
        ("apec", 2.8, {"scheme": "apec"}),
    ):
        flows = (
            flow_of([48], [0.0], [1.0], wave, 1e-3, dissipation="none", time_step=1.25e-5 / n, **options)
            for n in (1, 2, 16)
        )

        *found, finest = (line(advance(f, 1e-3), "p") for f in flows)
        errors = [float(np.abs(p - finest).max()) for p in found]
        yield from rows(f"time step, {what}", ("order", order(errors, (1, 2)), lowest, "above"))


class Manufactured:
    """CH4/O2 near 10 MPa with gradients of everything: sources from textbook Peng-Robinson."""

    LENGTH, END = 2e-6, 4e-10  # cell Reynolds numbers of order 1: viscous errors show

    def __init__(self, dimensions):
        species = Mixture.from_yaml(ROOT / CH4_O2).species.subset(["CH4", "O2"])
        self.dimensions, self.flow = dimensions, manufactured.Flow(species, dimensions, self.LENGTH, 2e-2, 40.0, 1e-4)

    def error(self, N, scheme, viscous, **how):
        """Relative error of T, rho, u and Y at the end, on N cells a side."""
        flow, d = self.flow, self.dimensions
        if viscous:
            how |= dict(viscous=True, mu=flow.mu, lam=flow.lam, D=flow.D)
        f = flow_of(
            [N] * d,
            [0.0] * d,
            [self.LENGTH] * d,
            dict(T=300, p=1e7, X={"CH4": 0.5, "O2": "rest"}),
            self.END,
            mixture=OXYGEN_METHANE,
            source=lambda *x: flow.source(list(x), viscous),
            dissipation="none",
            scheme=scheme,
            fourier=0.2,
            cfl=0.3 * 12 / N,
            **how,
        )

        T, rho_k, u = flow.state(f.coordinates())
        rho = rho_k.sum(0)
        f.start(dict(T=T, rho=rho, Y=rho_k / rho, velocity=u))
        advance(f, self.END)
        exact = {"T": T, "rho": rho, "u": u[0], "Y_O2": rho_k[1] / rho}

        return float(sum(np.abs(f.field(name) / value - 1).mean() for name, value in exact.items()))


TERMS = (("inviscid", False, 5.5), ("viscous", True, 3.7))  # of the manufactured flow, and its order


def manufactured_flow(quick, pictures):
    """The manufactured flow: convection alone, then all terms."""
    dimensions, cells = (2, (16, 32)) if quick else (3, (12, 24, 48))
    made = Manufactured(dimensions)

    for scheme in ("double_flux", "apec"):
        for what, viscous, lowest in TERMS:

            def error(N, scheme=scheme, viscous=viscous):
                return made.error(N, scheme, viscous)

            of, said = f"manufactured, {scheme}, {what}, {dimensions}-D", f"error on {cells[-1]} cells a side"
            yield from refined(of, said, error, cells, 4e-6, lowest)


# Cells that differ by a factor of 2.7 in x, 2.3 in y.
WAVY = {"x": "s - 0.12*sin(2*pi*s)/pi*1.9", "y": "s + 0.05*sin(4*pi*s)/pi*2"}


def stretched(quick, pictures):
    """A stretched grid: a uniform stream stays uniform, and the manufactured flow keeps its order."""
    for scheme in ("double_flux",) if quick else ("double_flux", "apec"):
        stream = dict(T=300, p=1e7, u=40, v=20, X={"O2": 0.4, "CH4": 0.6})
        f = flow_of(
            [20, 16],
            [0.0] * 2,
            [1e-4] * 2,
            stream,
            1.0,
            mixture=OXYGEN_METHANE,
            scheme=scheme,
            viscous=True,
            stretch=WAVY,
        )

        start = f.sums()
        f.take(50 if quick else 500)
        # a rounding of the fluxes a step
        worst = max(off(name, value)(f) for name, value in (("p", 1e7), ("T", 300), ("u", 40), ("v", 20)))
        changed = float(np.abs(f.sums()[:4] / start[:4] - 1).max())
        yield from rows(
            f"stretched grid, {scheme}",
            (f"a uniform stream after {f.steps} steps", worst, 1e-14 * f.steps**0.5),
            ("its mass and momentum", changed, 1e-14 * f.steps**0.5),
        )

    made, cells = Manufactured(2), (16, 32) if quick else (16, 32, 64)
    for scheme in ("double_flux",) if quick else ("double_flux", "apec"):
        for what, viscous, lowest in TERMS[:1] if quick else TERMS:

            def error(N, scheme=scheme, viscous=viscous):
                return made.error(N, scheme, viscous, stretch=WAVY)

            of, said = f"stretched grid, manufactured, {scheme}, {what}", f"error on {cells[-1]} cells a side"
            yield from refined(of, said, error, cells, 1e-5 if quick else 2e-6, lowest)
