"""Shu and Osher's shock that runs into a density wave (1989, example 8; original not seen): the wave behind the shock
is steep and short, and schemes that damp lose it. The reference is a scheme of its own on a fine grid, in plain NumPy.
"""

import numpy as np

from .ideal_tubes import UNIT
from .tools import GAMMA, IDEAL, P0, RHO0, T0, advance, curves, figure, flow_of, line, rows

LEFT = 3.857143, 2.629369, 10.33333  # rho, u, p behind a shock of Mach 3, at x < -4
LOW, HIGH, END = -5.0, 5.0, 1.8
WAVE = 0.5, 2.2  # where the short wave is at the end


def _weno(f):
    """Values at faces i + 1/2 from those of cells i - 2 ... i + 2, of fifth order (Jiang & Shu 1996); f: (5, ...)."""
    a, b, c, d, e = f
    smooth = (
        13 / 12 * (a - 2 * b + c) ** 2 + (a - 4 * b + 3 * c) ** 2 / 4,
        13 / 12 * (b - 2 * c + d) ** 2 + (b - d) ** 2 / 4,
        13 / 12 * (c - 2 * d + e) ** 2 + (3 * c - 4 * d + e) ** 2 / 4,
    )

    parts = (2 * a - 7 * b + 11 * c) / 6, (-b + 5 * c + 2 * d) / 6, (2 * c + 5 * d - e) / 6
    weights = [g / (1e-6 + s) ** 2 for g, s in zip((0.1, 0.6, 0.3), smooth)]

    return sum(w * q for w, q in zip(weights, parts)) / sum(weights)


def reference(cells):
    """x and density at the end: finite differences, fluxes split by Lax and Friedrichs, three stages of Runge-Kutta."""
    h = (HIGH - LOW) / cells
    x = LOW + (np.arange(cells) + 0.5) * h
    behind = x < -4

    rho, u, p = (np.where(behind, v, w) for v, w in zip(LEFT, (1 + 0.2 * np.sin(5 * x), 0.0, 1.0)))
    U, time = np.stack([rho, rho * u, p / (GAMMA - 1) + 0.5 * rho * u * u]), 0.0

    def state(U):
        u = U[1] / U[0]
        return u, (GAMMA - 1) * (U[2] - 0.5 * U[1] * u)

    def speed(U):
        u, p = state(U)
        return np.abs(u).max() + np.sqrt(GAMMA * p / U[0]).max()

    def rate(U):
        U = np.pad(U, ((0, 0), (3, 3)), "edge")
        u, p = state(U)
        F, most = np.stack([U[1], U[1] * u + p, (U[2] + p) * u]), speed(U)
        up, down = 0.5 * (F + most * U), 0.5 * (F - most * U)

        # of cells -3 ... n + 2 there are faces between -1 and n
        def stencil(f):
            return np.stack([f[:, k : k + cells + 1] for k in range(5)])

        flux = _weno(stencil(up)) + _weno(stencil(down[:, ::-1]))[:, ::-1]

        return (flux[:, :-1] - flux[:, 1:]) / h

    while time < END * (1 - 1e-12):
        dt = min(0.5 * h / speed(U), END - time)
        V = U + dt * rate(U)
        V = 0.75 * U + 0.25 * (V + dt * rate(V))
        U, time = U / 3 + 2 / 3 * (V + dt * rate(V)), time + dt

    return x, U[0]


def shu_osher(quick, pictures):
    """The default scheme. Densities [kg/m3] as in the original; pressures are 1e6 times and velocities 1e3 times it."""
    fine = 800 if quick else 3200
    x_fine, known = reference(fine)

    if not quick:
        x_half, half = reference(fine // 2)
        own = np.abs(known.reshape(-1, 2).mean(1) - half)
        yield from rows("Shu-Osher", (f"the reference: L1 of rho, {fine // 2} beside {fine} cells", own.mean(), 0.005))

    rho, u, p = LEFT
    unit, T = UNIT**0.5, lambda rho, p: T0 * (p * UNIT / P0) / (rho / RHO0)
    initial = dict(
        rho=f"where(x < -4, {rho}, 1 + 0.2*sin(5*x))",
        p=f"where(x < -4, {p * UNIT}, {UNIT})",
        u=f"where(x < -4, {u * unit}, 0)",
    )

    inlet = dict(kind="supersonic_inlet", T=T(rho, p), p=p * UNIT, velocity=[u * unit, 0, 0], X={"gas": 1})

    sides = {"x_low": inlet, "x_high": "supersonic_outlet"}
    drawn = []

    # Without the limiter, whose bounds of the molar density take the tops of short waves for overshoots.
    for cells, limiter in ((200, True),) if quick else ((200, True), (400, True), (400, False)):
        flow = flow_of(
            [cells], [LOW], [HIGH], initial, END / unit, mixture=IDEAL, boundary=sides, cfl=0.5, limiter=limiter
        )

        got = line(advance(flow, END / unit), "rho")
        x, same = reference(cells)
        exact = known.reshape(cells, -1).mean(1)
        short = (x > WAVE[0]) & (x < WAVE[1])

        def error(a, exact=exact):
            return float(np.abs(a - exact).mean())

        size = float(got[short].std() / exact[short].std())  # of the wave: 1 where none of it is lost
        bound = {200: (0.08, 0.3), 400: (0.048, 0.58)}[cells] if limiter else (0.026, 0.95)
        yield from rows(
            f"Shu-Osher, {cells} cells" + ("" if limiter else ", no limiter"),
            ("L1 of rho beside the fine grid", error(got), bound[0]),
            ("the same, over that of the reference's scheme on as many cells", error(got) / error(same), 1.2),
            ("size of the short wave", size, bound[1], "above"),
        )

        drawn.append((x, got, "o" if cells == 200 else ".", f"{cells} cells" + ("" if limiter else ", no limiter")))

    if pictures:
        with figure(pictures / "shu_osher.png", figsize=(8, 4)) as axis:
            curves(axis, (x_fine, known, "k-", f"WENO, {fine} cells"), *drawn, xlabel="x", ylabel="density")
