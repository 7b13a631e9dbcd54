"""Viscosity, conduction and diffusion: waves that decay, layers that spread."""

import math

import numpy as np

from ..case import Case
from .tools import (
    N2,
    OXYGEN_METHANE,
    advance,
    changed,
    curves,
    figure,
    flow_of,
    line,
    lost,
    nitrogen_of_layer,
    off,
    rows,
)


def decay(quick, pictures):
    """A shear wave and a heat wave in dense N2 (5 MPa, 140 K) decay with mu k^2/rho and lam k^2/(rho cp); mu, lam, cp
    of the layer."""
    q = nitrogen_of_layer("rho mu lam cp c", 140.0)
    length, N = 4e-7, 32  # so small that diffusion is as quick as sound: few steps

    k, size = 2 * np.pi / length, 2e-4

    def wave(f, name):
        return 2 * float((line(f, name) * np.sin(k * f.coordinates()[0][0, 0])).mean())

    end = 1 / (q["mu"] / q["rho"] * k * k)
    f = flow_of([N], [0.0], [length], dict(T=140, p=5e6, v=f"0.5*sin({k!r}*x)"), end, viscous=True)
    left = wave(advance(f, end), "v") / (0.5 * math.exp(-1))
    # 4th order on 32 points: 3/640 (k dx)^4 = 7e-6 of the rate; the wave heats the fluid by v^2/2: 1e-6 of T
    yield from rows("shear wave", ("decay over one time, relative error", abs(left - 1), 1e-4))
    rate = q["lam"] / (q["rho"] * q["cp"]) * k * k
    end = 0.5 / rate
    f = flow_of([N], [0.0], [length], dict(T=f"140*(1 + {size}*sin({k!r}*x))", p=5e6), end, viscous=True)
    first = wave(f, "T")
    left = wave(advance(f, end), "T") / first / math.exp(-0.5)
    # the linear wave: corrections of the order of size, and of (rate/(c k))^2 by sound
    bound = 2e-3 + (rate / (q["c"] * k)) ** 2 * 4
    yield from rows("heat wave", ("decay over half a time, relative error", abs(left - 1), bound))


def species_layer(quick, pictures):
    """Two identical species: Y = (1 + erf(x/sqrt(4 D t)))/2 exactly, D the layer's self-diffusion; unlike ones: both
    schemes agree."""
    twins = {"file": N2, "species": ["N2", "N2"]}
    any_case = dict(domain=dict(cells=[8], upper=[1.0]), initial=dict(T=140, p=5e6), time={"steps": 1})
    mix = Case(dict(mixture=twins, **any_case)).make_mixture()
    D = float(mix.properties("D", T=np.array([140.0]), p=5e6, Y=np.full((2, 1), 0.5))["D"][0, 0])
    length = 1e-6
    t0 = (0.04 * length) ** 2 / D  # 0.08 and 0.14 lengths wide: the walls are out of reach
    end = 2 * t0
    layer = f"0.5*(1 + erf(x/{math.sqrt(4 * D * t0)!r}))"

    def box(initial, end, **how):
        return flow_of(
            [64], [-length / 2], [length / 2], initial, end, boundary={"x": "slip_wall"}, viscous=True, **how
        )

    f = advance(box(dict(T=140, p=5e6, X={"N2": layer, "N2_2": "rest"}), end, mixture=twins), end)
    x, got = f.coordinates()[0][0, 0], line(f, "Y_N2")
    exact = np.array([0.5 * (1 + math.erf(v / math.sqrt(4 * D * (t0 + end)))) for v in x])
    yield from rows(
        "species layer",
        ("largest error of Y", float(np.abs(got - exact).max()), 2e-5),  # fourth order, 5 points over the initial width
        ("p uniform", off("p", 5e6)(f), 1e-9),
    )

    ends, end = {}, 5e-8
    unlike = dict(T="200 + 50*tanh(x/8e-8)", p=1e7, X={"O2": "0.5 - 0.5*tanh(x/8e-8)", "CH4": "rest"})

    for scheme, bound in (("double_flux", 1e-5), ("apec", 1e-12)):
        g = box(unlike, end, mixture=OXYGEN_METHANE, scheme=scheme, runge_kutta="ssp43", cfl=1.2)
        start, first = g.sums(), line(g, "T")
        advance(g, end)
        ends[scheme] = {n: line(g, n) for n in ("T", "p")}
        of = f"CH4/O2 layer, {scheme}"
        yield from rows(of, ("species mass", lost(g, start), 1e-12), ("energy", changed(g, start), bound))

    a, b = ends["double_flux"], ends["apec"]
    # two ways to the same pressure: they differ by what double flux does to the energy, second order in the time step
    yield from rows(
        "CH4/O2 layer",
        ("change of T [K]", float(np.abs(a["T"] - first).max()), 5.0, "above"),
        ("T of both schemes [K]", float(np.abs(a["T"] - b["T"]).max()), 0.05),
        ("p of both schemes, relative", float(np.abs(a["p"] / b["p"] - 1).max()), 1e-4),
    )

    if pictures:
        with figure(pictures / "species_layer.png", 1, 2, figsize=(9, 3.2)) as axes:
            um = x * 1e6
            drawn = (um, exact, "k-", "exact"), (um, got, "o", "64 cells")
            curves(axes[0], *drawn, size=3, xlabel="x [µm]", ylabel="mass fraction", title="two identical species")
            drawn = (um, a["T"], "o", "double_flux"), (um, b["T"], "-", "apec"), (um, first, "k:", "start")
            curves(axes[1], *drawn, size=3, xlabel="x [µm]", ylabel="T [K]", title="CH$_4$/O$_2$ at 100 bar, 50 ns")
