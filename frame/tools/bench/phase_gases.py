"""Gases and states of `bench phases`: Peng-Robinson with the constants of ThermoPack, or equation `mapped`."""

from __future__ import annotations

import dataclasses
from typing import ClassVar, NamedTuple

import numpy as np

from kernels import Mixture, SpeciesData

from . import phase_rivals


class Substance(NamedTuple):
    """ThermoPack's own constants: it takes no others."""

    Tc: float  # K
    pc: float  # Pa
    omega: float
    W: float  # kg/mol


SUBSTANCES = {
    "N2": Substance(126.161, 3394400, 0.04, 0.028013),
    "C12H26": Substance(658.1, 1817000, 0.574, 0.17034),
    "CH4": Substance(190.555, 4598837, 0.01131, 0.0160425),
    "CO2": Substance(304.2, 7376500, 0.225, 0.04401),
    "C2H6": Substance(305.4, 4883900, 0.098, 0.03007),
    "C3H8": Substance(369.8, 4245500, 0.152, 0.044097),
    "iC4": Substance(408.1, 3647700, 0.176, 0.058124),
    "nC4": Substance(425.2, 3799700, 0.193, 0.058124),
    "iC5": Substance(460.4, 3384300, 0.227, 0.072151),
    "nC5": Substance(469.6, 3374100, 0.251, 0.072151),
    "nC6": Substance(507.4, 2968800, 0.296, 0.086178),
}
MANY = "N2 C12H26 CH4 CO2 C2H6 C3H8 iC4 nC4 iC5 nC5".split()
WITH_A_ROW = "N2 NC12H26 CH4 CO2 C2H6 C3H8 NC4H10 NC5H12 NC6H14 NC7H16".split()  # fluids of equation `mapped`
HEAVY_IN_N2, OTHER_PAIRS = 0.19, 0.05  # k_ij


def species(names, kij: np.ndarray) -> SpeciesData:
    """Species with constant heat capacities."""
    ns = len(names)
    Tc, pc, omega, W = np.array([SUBSTANCES[name] for name in names]).T
    nasa = np.zeros((ns, 7))
    nasa[:, 0], nasa[:, 1] = 4.0, 0.01
    return SpeciesData.from_arrays(names, W, omega, nasa, nasa, 1000.0, Tc=Tc, pc=pc, kij=kij, T_min=20.0, T_max=6e3)


@dataclasses.dataclass(frozen=True)
class Gas:
    """The first ns of MANY with Peng-Robinson and the alpha of 1976, which the rivals have."""

    ns: int

    CALLS: ClassVar[tuple[str, ...]] = ()  # that are timed; (): all
    KINDS: ClassVar[tuple[str, ...]] = ("random", "ordered")  # of states
    HAS_FIELD: ClassVar[bool] = True

    def species(self) -> SpeciesData:
        """N2 and dodecane with a k_ij of their own."""
        kij = np.where(np.eye(self.ns) > 0, 0.0, OTHER_PAIRS)
        kij[0, 1] = kij[1, 0] = HEAVY_IN_N2
        return species(MANY[: self.ns], kij)

    def mixture(self, phases: str = "equilibrium") -> Mixture:
        """The mixture with this value of the option `phases`."""
        return Mixture(self.species(), phases=phases, alpha="pr76")

    def rivals(self, call: str) -> list[phase_rivals.Rival]:
        """Codes that have the equation and such a call."""
        return phase_rivals.installed(self.species(), call)

    @property
    def what(self) -> str:
        """Name in messages."""
        return f"NS = {self.ns}"

    def states(self, n: int, kind: str) -> dict:
        """T [K], p [Pa], Y (ns, n), about half of them two phases. kind: ordered, as in a field, or random."""
        random = np.random.default_rng(1)
        i = np.arange(n)
        if kind == "ordered":
            a, p, share = i / n, 6e6 * (1 + 0.3 * np.sin(i * 1e-4)), 0.5 + 0.45 * np.sin(i * 3e-3)
        else:
            a, p, share = random.random(n), 1e5 * 200.0 ** random.random(n), random.random(n)

        X = np.stack([share, 1 - share, *(0.05 * random.random(n) for _ in range(self.ns - 2))])
        return dict(T=300 + 500 * a, p=p, Y=masses(self, X))


class Mapped(Gas):
    """The first ns of WITH_A_ROW with equation `mapped`. No rival has it."""

    def mixture(self, phases: str = "equilibrium") -> Mixture:
        return Mixture.from_names(" ".join(WITH_A_ROW[: self.ns]), equation="mapped", phases=phases)

    def rivals(self, call: str) -> list[phase_rivals.Rival]:
        return []

    @property
    def what(self) -> str:
        return f"NS = {self.ns}, mapped"


@dataclasses.dataclass(frozen=True)
class Alkanes(Gas):
    """Four alkanes of a published time, Clapeyron.jl's issue 314: 25.7 us a flash on its author's machine."""

    ns: int = 4

    CALLS = ("Tp cold",)
    KINDS = ("4 alkanes at 303 K, 1 bar", "4 alkanes, random")
    HAS_FIELD = False
    NAMES = ("iC4", "nC4", "nC5", "nC6")
    RANGE = 300.0, 420.0, 1e5, 2e6  # K, Pa

    def species(self) -> SpeciesData:
        return species(self.NAMES, np.zeros((self.ns, self.ns)))

    def states(self, n: int, kind: str) -> dict:
        """Equal moles at 303.15 K and 1 bar, as published; or random states."""
        if kind == self.KINDS[0]:
            return dict(T=np.full(n, 303.15), p=np.full(n, 1e5), Y=masses(self, np.ones((self.ns, n))))

        T_low, T_high, p_low, p_high = self.RANGE
        random = np.random.default_rng(1)
        T = random.uniform(T_low, T_high, n)
        p = p_low * (p_high / p_low) ** random.random(n)
        return dict(T=T, p=p, Y=masses(self, random.dirichlet(np.ones(self.ns), n).T))


GASES = {"pr": Gas, "mapped": Mapped}  # by option --equation


def masses(gas: Gas, X) -> np.ndarray:
    """Mass fractions (ns, n) of amounts X."""
    Y = X * gas.mixture().species.W[:, None]
    return Y / Y.sum(0)


@dataclasses.dataclass(frozen=True)
class Field:
    """Lines of cells across a stream of fuel in hot nitrogen, whose mixing layers hold the two-phase cells. All moves
    a tenth of a cell a step: half a cell in the time of a sound wave at a Mach number of 0.2."""

    gas: Gas
    n: int  # points
    width: float = 0.05  # of a layer, in lengths of a line

    CELLS: ClassVar[int] = 128  # of a line
    SHARE: ClassVar[float] = 0.2  # of the points that are to be two phases

    @classmethod
    def of(cls, gas: Gas, n: int) -> Field:
        """The field whose layers are so wide that SHARE of the points are two phases."""
        low, high = 0.02, 0.12
        for _ in range(8):
            width = (low + high) / 2
            state = cls(gas, 16 * cls.CELLS, width).state(0)
            two = gas.mixture().properties("phases_status", backend="cpu", **state)["phases_status"] == 1
            low, high = (width, high) if two.mean() < cls.SHARE else (low, width)
        return cls(gas, n, width)

    def state(self, step: int) -> dict:
        """T [K], p [Pa], Y (ns, n) after so many steps."""
        i = np.arange(self.n)
        line = i // self.CELLS
        x = (i % self.CELLS + 0.5 - 0.1 * step) / self.CELLS
        from_stream = np.abs((x + 0.02 * np.sin(0.37 * line)) % 1.0 - 0.5)
        fuel = 0.5 * (1 - np.tanh((from_stream - 0.25) / self.width))

        rest = self.gas.ns - 2
        stream = np.array([0.0, 0.97 if rest else 1.0, *[0.03 / max(rest, 1)] * rest])
        gas = np.array([1 - 0.02 * rest, 0.0, *[0.02] * rest])
        cp = 2800 * fuel + 1100 * (1 - fuel)
        T = (2800 * 550 * fuel + 1100 * 1000 * (1 - fuel)) / cp
        p = 6e6 * (1 + 0.01 * np.sin(0.1 * line + 2 * np.pi * x))
        return dict(T=T, p=p, Y=fuel * stream[:, None] + (1 - fuel) * gas[:, None])
