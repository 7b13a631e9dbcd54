"""Shock tubes of liquids that boil, N2 and CH4/O2, beside exact solutions of the homogeneous equilibrium model; a
closed box of CH4 and O2 in which two phases come and go."""

import dataclasses
import functools

import numpy as np

from kernels import Mixture

from .. import riemann
from ..riemann_mixture import BoilingMixture
from ..riemann_phases import PhasesGas
from .tools import CH4_O2, N2, ROOT, advance, curves, figure, flow_of, largest, line, lost, off, order, rows

EQUILIBRIUM = {"phases": "equilibrium", "equation": "pr"}  # as the exact solutions have it


@dataclasses.dataclass(frozen=True)
class Tube:
    """Liquid under pressure beside warm gas of the same composition: the fan goes from the liquid into two phases,
    where sound is ten times slower or more."""

    name: str
    file: str
    X: dict[str, float]  # mole fractions
    left: tuple[float, float]  # T [K], p [Pa]
    right: tuple[float, float]
    liquid: float  # kg/m3, near the density of the left side
    end: float  # s
    bounds: dict[int, tuple[float, float, float]]  # by cells: L1 of rho, u, p

    @functools.cached_property
    def species(self):
        return Mixture.from_yaml(ROOT / self.file, equation="pr").species.subset(list(self.X))

    @functools.cached_property
    def exact(self):
        """The exact solution."""
        X = np.array(list(self.X.values()))
        gas = PhasesGas(self.species) if X.size == 1 else BoilingMixture(self.species, X)
        liquid, thin = self.liquid, self.right[1] * gas.W / riemann.R / self.right[0]
        sides = zip((self.left, self.right), (liquid, thin))
        return riemann.Riemann(gas, *((float(riemann.density(gas.one, *s, start)), 0.0, s[1]) for s, start in sides))

    def flow(self, N, dissipation):
        """(flow at its end, sums at the start) of N cells."""
        initial = {key: f"where(x < 0, {a}, {b})" for key, a, b in zip("Tp", self.left, self.right)} | {"X": self.X}
        mixture = {"file": self.file, "species": list(self.X), "options": EQUILIBRIUM}
        how = dict(scheme="apec", dissipation=dissipation, cfl=0.5, boundary={"x": "supersonic_outlet"})
        flow = flow_of([N], [-0.5], [0.5], initial, self.end, mixture=mixture, **how)
        start = flow.sums()

        return advance(flow, self.end), start

    def errors_of(self, flow) -> list[float]:
        """L1 of rho, u, p over the difference of the sides, and over the velocity between the waves."""
        exact, x = self.exact, flow.coordinates()[0][0, 0]
        sizes = exact.left[0] - exact.right[0], exact.u, exact.left[2] - exact.right[2]
        found = zip((line(flow, name) for name in ("rho", "u", "p")), exact.sample(x / self.end), sizes)

        return [float(np.abs(ours - wanted).mean()) / size for ours, wanted, size in found]

    def of_layer(self):
        """Rows: the states of the exact fan beside those that the layer finds from their density and temperature."""
        rho, T, p, _, c = self.exact.waves[0].table.T
        n = np.array(list(self.X.values())) * self.species.W
        Y = np.repeat((n / n.sum())[:, None], rho.size, axis=1)

        mixture = Mixture(self.species, **EQUILIBRIUM)
        found = mixture.properties("p s c e phases_status", rho=rho, T=T, Y=Y)
        again = mixture.properties("T", e=found["e"], rho=rho, Y=Y)["T"]
        two = found["phases_status"] == 1

        # Many states of the table have two phases. Its pieces have different steps, so the exact share says nothing
        yield "share of two phases in the states of the fan", float(two.mean()), 0.1, "above"
        yield "p by the layer, of the left side's", float(np.abs(found["p"] - p).max() / self.left[1]), 1e-8
        yield "speed of sound by the layer, two phases", float(np.abs(found["c"] / c - 1)[two].max()), 1e-8
        yield "entropy by the layer", float(np.abs(found["s"] / found["s"][0] - 1).max()), 1e-8
        yield "T by the layer of its e and rho", float(np.abs(again / T - 1).max()), 1e-9


NITROGEN = Tube(
    name="boiling tube",
    file=N2,
    X={"N2": 1.0},
    left=(110.0, 4e6),
    right=(150.0, 3e5),
    liquid=600.0,
    end=8e-4,
    bounds={50: (1.1e-2, 0.10, 0.025), 100: (8e-3, 0.052, 0.014), 200: (4.6e-3, 0.032, 7.5e-3)},
)
OXYGEN_METHANE = Tube(
    name="boiling tube of CH4/O2",
    file=CH4_O2,
    X={"CH4": 0.4, "O2": 0.6},
    left=(125.0, 4e6),
    right=(200.0, 3e5),
    liquid=800.0,
    end=7e-4,
    bounds={50: (1.2e-2, 0.166, 0.034), 100: (7.8e-3, 0.086, 0.0175), 200: (4.7e-3, 0.055, 9.7e-3)},
)


def boiling_tube(quick, pictures):
    yield from of_tube(NITROGEN, quick, pictures and pictures / "boiling_tube.png")


def boiling_mixture(quick, pictures):
    yield from of_tube(OXYGEN_METHANE, quick, pictures and pictures / "boiling_mixture.png")


def of_tube(tube, quick, picture):
    """Rows of a tube: with little and with much dissipation, and how fast the errors fall."""
    yield from rows(tube.name, *tube.of_layer())

    cells = (50, 100) if quick else (50, 100, 200)
    for dissipation in ("always", "sensor"):
        flows = {N: tube.flow(N, dissipation) for N in cells}
        errors = {N: tube.errors_of(flow) for N, (flow, _) in flows.items()}

        for N, (flow, start) in flows.items():
            of = f"{tube.name}, {dissipation}, {N} cells"
            yield from rows(of, *zip(("L1 rho", "L1 u", "L1 p"), errors[N], tube.bounds[N]))
            yield from rows(of, *balances(flow, start), *of_cold_search(flow))

        for what, number in (("rho", 0), ("u", 1), ("p", 2)):
            found = order([errors[N][number] for N in (cells[0], cells[-1])], (cells[0], cells[-1]))
            yield from rows(f"{tube.name}, {dissipation}", (f"order of {what}", found, 0.4, "above"))

    if picture:
        draw(picture, flows[cells[-1]][0], tube)


def balances(flow, start):
    """Rows: mass and energy less what passed through the ends."""
    now, passed = flow.sums(), flow.balance.passed()
    n = flow.mixture.ns
    mass = np.abs(now[:n] - start[:n] - passed[:n]) / start[:n]
    yield "mass less what passed", float(mass.max()), 2e-14
    yield "energy less what passed", float(abs(now[-2] - start[-2] - passed[-1]) / start[-1]), 2e-13


def of_cold_search(flow):
    """A row: T and p of the cells beside those of a search that starts from nothing."""
    rho = line(flow, "rho")
    Y = np.stack([line(flow, f"Y_{name}") for name in flow.mixture.names])
    found = flow.mixture.properties("T p", e=line(flow, "e_vol") / rho, rho=rho, Y=Y)
    off = max(float(np.abs(found[name] / line(flow, name) - 1).max()) for name in ("T", "p"))

    # 1e-9: in a liquid a pressure is a small difference, rho c^2/p is 100 here
    yield "T and p beside a cold search", off, 1e-9


def draw(path, flow, tube):
    x, fine = flow.coordinates()[0][0, 0], np.linspace(-0.5, 0.5, 4000)
    wanted = tube.exact.sample(fine / tube.end)

    with figure(path, 4, 1, figsize=(7, 9), sharex=True) as axes:
        for number, (name, scale, label) in enumerate(
            (("rho", 1, "density [kg/m$^3$]"), ("u", 1, "velocity [m/s]"), ("p", 1e-6, "pressure [MPa]"))
        ):
            ours = x, line(flow, name) * scale, "o", f"{len(x)} cells"
            there = fine, wanted[number] * scale, "k-", "exact (homogeneous equilibrium)"
            curves(axes[number], there, ours, legend=number == 0, ylabel=label)

        share = x, line(flow, "beta_volume"), "o", ""
        curves(axes[3], share, legend=False, ylabel="vapour, share\nof the volume [-]", xlabel="x [m]")


def closed_box(quick, pictures):
    """Streams of CH4/O2 at 20 bar in a box of slip walls, from gas into two phases and back, in two dimensions."""
    mixture = {"file": CH4_O2, "species": ["CH4", "O2"], "options": EQUILIBRIUM}
    initial = dict(
        p="2e6*(1 + 0.3*sin(2*pi*x)*cos(pi*y))",
        T="135 + 25*cos(pi*x)*cos(2*pi*y)",
        u="20*sin(pi*x)",
        v="-15*sin(pi*y)",
        X={"CH4": "0.5 + 0.3*cos(pi*y)", "O2": "rest"},
    )

    N = 16 if quick else 32
    flow = flow_of(
        [N, N], [0.0, 0.0], [1.0, 1.0], initial, 5e-3, mixture, {"x": "slip_wall", "y": "slip_wall"}, scheme="apec"
    )
    start, before = flow.sums(), flow.field("phases_status").copy()
    advance(flow, 5e-3)
    after = flow.field("phases_status")

    energy = float(abs(flow.sums()[-2] - start[-2]) / start[-1])
    yield from rows(
        f"closed box of CH4/O2, {N} x {N} cells",
        ("cells that became two phases", float(((before == 0) & (after == 1)).sum()), 1.0, "above"),
        ("cells that became one phase", float(((before == 1) & (after == 0)).sum()), 1.0, "above"),
        ("species' mass", lost(flow, start), 2e-14),
        ("energy", energy, 2e-14),
    )


# Liquid n-dodecane of 363 K in nitrogen of 900 K at 60 bar, as in spray A, carried along at 20 m/s. x in m.
CONTACT_MIXTURE = {"species": ["N2", "NC12H26"], "options": EQUILIBRIUM}
CONTACT_P, CONTACT_U = 6e6, 20.0
FUEL = "0.5*(tanh((x - 0.25)/0.1) - tanh((x - 0.75)/0.1))"
CONTACT = dict(p=CONTACT_P, u=CONTACT_U, T=f"900 - 537*{FUEL}", Y={"NC12H26": FUEL, "N2": "rest"})


def contact(quick, pictures):
    """A contact through the dome, carried along: the pressure should stay uniform. No conservative scheme keeps it so
    (Abgrall 1996, original not seen). Beside it the pressure of the exact solution's averages over cells."""
    end = (0.02 if quick else 0.25) / CONTACT_U
    for N, bound in ((50, 6.1e-2), (100, 3.2e-2))[: 1 if quick else 2]:
        flow = flow_of([N], [0.0], [1.0], CONTACT, end, mixture=CONTACT_MIXTURE, scheme="apec")
        start = flow.sums()
        p, u = largest(flow, end, off("p", CONTACT_P), off("u", CONTACT_U))

        yield from rows(
            f"contact N2/C12H26 in equilibrium, {N} cells",
            ("|p/p0 - 1|", p, bound),
            ("|u/u0 - 1|", u, 4 * bound),
            *balances(flow, start),
        )
        if not quick:
            worst = p / averaged(flow)
            yield from rows(f"contact, {N} cells", ("|p/p0 - 1| over that of exact averages", worst, 1.5))


def averaged(flow) -> float:
    """|p/p0 - 1| of the exact contact's averages over cells: the largest of all places of the contact in a cell."""
    N, parts = flow.case.cells[0], 64
    x = (np.arange(N * parts) + 0.5) / (N * parts)
    fuel = 0.5 * (np.tanh((x - 0.25) / 0.1) - np.tanh((x - 0.75) / 0.1))
    Y = np.array([1 - fuel, fuel])
    found = flow.mixture.properties("rho e", T=900 - 537 * fuel, p=CONTACT_P, Y=Y)
    fine = np.array([*(found["rho"] * Y), found["rho"] * found["e"]])

    worst = 0.0
    for shift in range(0, parts, 8):
        *rho, e_vol = np.roll(fine, shift, axis=1).reshape(3, N, parts).mean(2)
        total = rho[0] + rho[1]
        p = flow.mixture.properties("p", e=e_vol / total, rho=total, Y=np.array(rho) / total)["p"]
        worst = max(worst, float(np.abs(p / CONTACT_P - 1).max()))
    return worst
