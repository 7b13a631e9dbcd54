"""Vortices and shear layers: kinetic energy, beside incompressible spectral runs; conservation over many steps."""

import math
import pathlib

import numpy as np

from .. import incompressible
from ..case import Case
from ..flow import Flow
from .tools import GAMMA, P0, RHO0, SOUND, T0, advance, changed, curves, figure, flow_of, lost, rows, viscous_ideal


def kinetic(flow, V) -> float:
    """Mean kinetic energy of the ideal gas, over rho V^2."""
    u = np.stack([flow.field(n) for n in "uvw"])
    return float((0.5 * flow.field("rho") * (u * u).sum(0)).mean()) / (RHO0 * V * V)


def taylor_green(quick, pictures):
    """Re 1600, M 0.1, ideal gas. Kinetic energy of incompressible pseudo-spectral runs on 96^3 and 128^3 (they agree to
    3e-5 up to t = 6); 1 % allowed for compressibility and for this grid."""
    N, times = (24, (2.0, 4.0)) if quick else (64, (2.0, 4.0, 6.0))
    reference = {2.0: 0.123917, 4.0: 0.121509, 6.0: 0.113450}
    V = 0.1 * SOUND
    initial = dict(
        rho=RHO0,
        p=f"{P0} + {RHO0 * V * V / 16!r}*(cos(2*x) + cos(2*y))*(cos(2*z) + 2)",
        u=f"{V!r}*sin(x)*cos(y)*cos(z)",
        v=f"-{V!r}*cos(x)*sin(y)*cos(z)",
    )

    how = viscous_ideal(RHO0 * V / 1600) | {"transport": "step"}

    f = flow_of([N] * 3, [0.0] * 3, [2 * math.pi] * 3, initial, times[-1] / V, **how)
    history = [(0.0, kinetic(f, V))]

    def watch(f):
        if f.steps % 20 == 0:
            history.append((f.time * V, kinetic(f, V)))

    for at in times:
        error = abs(kinetic(advance(f, at / V, watch), V) / reference[at] - 1)
        yield from rows(f"Taylor-Green, {N}^3", (f"kinetic energy at t = {at:g}", error, 1e-2))

    if pictures:
        with figure(pictures / "taylor_green.png", figsize=(5.5, 3.4)) as axis:
            ours = *np.array(history).T, "-", f"mini solver, {N}$^3$, M = 0.1"
            spectral = list(reference), list(reference.values()), "ko", "pseudo-spectral 128$^3$"
            words = dict(xlabel="t V/L", ylabel="kinetic energy/V$^2$", title="Taylor-Green vortex, Re = 1600")
            curves(axis, ours, spectral, size=5, **words)


def taylor_green_2d(quick, pictures):
    """Re 100, M 0.05, ideal gas, beside the exact incompressible decay exp(-2 t/Re) of the velocity; it differs by
    compressibility, M^2."""
    N, end, M, Re = 32, (1.0 if quick else 5.0), 0.05, 100.0
    V = M * SOUND
    initial = dict(
        rho=RHO0,
        p=f"{P0} + {RHO0 * V * V / 4!r}*(cos(2*x) + cos(2*y))",
        u=f"{V!r}*sin(x)*cos(y)",
        v=f"-{V!r}*cos(x)*sin(y)",
    )

    how = viscous_ideal(RHO0 * V / Re) | {"transport": "step"}
    f = advance(flow_of([N] * 2, [0.0] * 2, [2 * math.pi] * 2, initial, end / V, **how), end / V)
    x, y, _ = f.coordinates()
    left = math.exp(-2 * end / Re)

    return rows(
        f"Taylor-Green, {N}^2",
        (f"kinetic energy at t = {end:g}", abs(kinetic(f, V) / (0.25 * left**2) - 1), M * M),
        ("velocity", float(np.abs(f.field("u") / V - left * np.sin(x) * np.cos(y)).max()), M * M),
    )


def shear_velocity(n):
    """(u, v) of two shear layers that begin to roll up, (n, n)."""
    y, x = np.meshgrid(*[(np.arange(n) + 0.5) / n] * 2, indexing="ij")
    u = np.tanh(30 * np.where(y < 0.5, y - 0.25, 0.75 - y))
    v = 0.05 * np.sin(2 * math.pi * (x + 0.25))
    return u, v


def double_shear_layer(quick, pictures):
    """Two shear layers roll up (Brown & Minion 1995, original not seen; the thick ones), Re 1e4, M 0.1, ideal gas:
    velocity beside an incompressible pseudo-spectral run on three times as many points; what differs is of the order of
    M^2."""
    N, end, M, Re = (48, 0.4, 0.2, 1e4) if quick else (128, 1.0, 0.1, 1e4)
    n = 3 * N
    reference = incompressible.Spectral(n, 1 / Re)
    first, last = reference.run(*shear_velocity(n), end)

    def coarse(q):
        return q[1::3, 1::3]

    V = M * SOUND
    how = viscous_ideal(RHO0 * V / Re) | {"dissipation": "none"}
    f = flow_of([N, N], [0.0] * 2, [1.0] * 2, dict(T=T0, p=P0), end / V, **how)
    u, v = (coarse(q) for q in reference.velocity(first))
    p = P0 + RHO0 * V * V * coarse(reference.pressure(first))
    f.start(
        dict(
            rho=(RHO0 * (p / P0) ** (1 / GAMMA))[None],
            p=p[None],
            velocity=V * np.stack([u, v, 0 * u])[:, None],
            Y=np.ones((1, 1, N, N)),
        )
    )

    def energy():
        return float((f.field("rho") * (f.field("u") ** 2 + f.field("v") ** 2)).mean()) / (RHO0 * V * V)

    history = [energy()]
    for k in range(1, 11):
        advance(f, k / 10 * end / V)
        history.append(energy())

    whole = reference.velocity(last)
    exact, got = [coarse(q) for q in whole], [f.field(n)[0] / V for n in "uv"]

    def size(fields):
        return sum(float((q**2).mean()) for q in fields)

    left = float(sum((q**2).mean() for q in whole))
    yield from rows(
        f"double shear layer, {N}^2",
        (
            "velocity against the spectral run",
            math.sqrt(size(a - b for a, b in zip(got, exact)) / size(exact)),
            2 * M * M,
        ),
        ("most that kinetic energy rises", float(np.diff(history).max()), 0.0),
        ("kinetic energy left, against the spectral run", abs(history[-1] / left - 1), M * M),
    )

    if pictures:
        drawn = {f"mini solver, M = {M}, {N}$^2$": got, f"incompressible, pseudo-spectral, {n}$^2$": exact}
        draw_vorticity(pictures / "double_shear_layer.png", drawn)


def draw_vorticity(path, drawn):
    """A picture of the vorticity of velocities (u, v) on a square of side 1, by title."""
    with figure(path, 1, 2, figsize=(9, 4.2)) as axes:
        for axis, (title, (u, v)) in zip(axes, drawn.items()):
            dx = 1 / len(u)
            dv_dx, du_dy = ((np.roll(q, -1, along) - np.roll(q, 1, along)) / (2 * dx) for q, along in ((v, 1), (u, 0)))
            axis.imshow(dv_dx - du_dy, origin="lower", extent=(0, 1, 0, 1), cmap="RdBu_r", vmin=-36, vmax=36)
            axis.set(title=title, xlabel="x", ylabel="y")

        axes[0].figure.suptitle("vorticity of a double shear layer, Re = 10 000, t = 1")


def shear_layer(quick, pictures):
    """The first steps of the shipped long run, by both schemes: what has to be conserved, to rounding."""
    path = pathlib.Path(__file__).parents[1] / "cases" / "shear_layer_long.toml"
    cells, steps = ([32, 32], 60) if quick else ([96, 64], 2000)
    # each cell rounds at random each stage: the root of the number of stages in a cell, that of cells less in their
    # mean
    rounding = 4 * np.finfo(float).eps * (1 + math.sqrt(3 * steps / math.prod(cells)))

    for scheme in ("double_flux", "apec"):
        f = Flow(Case.from_file(path, [f"domain.cells = {cells}", f"numerics.scheme = '{scheme}'"]))
        start, momentum = f.sums(), f.balance.momentum_scale()
        for _ in range(steps):
            f.step()

        formation = abs(start[-2]) / start[-1]  # these energies are the larger numbers
        yield from rows(
            f"LOX/CH4 layer, {scheme}, {steps} steps",
            ("species mass", lost(f, start), rounding),
            ("momentum along it", abs(f.sums()[2] - start[2]) / momentum, rounding),
            ("energy", changed(f, start), (1 + formation) * rounding if scheme == "apec" else 1e-3),
        )
