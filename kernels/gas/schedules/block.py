"""CUDA: the warps of a block share its points. For production by large mechanisms, and the kernels around it."""

from __future__ import annotations

import dataclasses

from ...engine.backend.base import Shape
from ..plan import Plan
from ..records import PointKernel
from .schedule import has_constant
from .thread import Thread


@dataclasses.dataclass(frozen=True)
class Served:
    """A kernel whose body lets warps share its points: it writes the species that the warp owns (FOR_OWN), and reads
    no other species of quantities that kernels of the program make."""

    table: str = ""  # constant of a body of its own; its sizes have CREW_ROWS: numbers of a point, 0 without room
    header: str = ""  # with that body
    constants: tuple[str, ...] = ()  # that the body reads beside the kernel's
    facts: tuple[tuple[str, tuple[str, ...]], ...] = ()  # facts of a mixture that it is for; empty: all mixtures


PLAIN = Served()
SUMS_OVER_PAIRS = Served(facts=(("k_ij", ("none", "lowrank")),))  # whose sums over pairs of species warps share
CREW = "gas/kinetics/crew.h"

SERVED = {
    # composition and ideal gas
    "molar_mass": PLAIN,
    "ideal_gas": PLAIN,
    "ideal_equation": PLAIN,
    # equation of state
    "cubic_mixture": SUMS_OVER_PAIRS,
    "cubic_delta": PLAIN,
    "cubic_root": PLAIN,
    "cubic_reciprocals": PLAIN,
    "cubic_pressure_slopes": PLAIN,
    "cubic_departure": PLAIN,
    "cubic_enthalpy": PLAIN,
    "cubic_cv": PLAIN,
    "heat_capacity_p": PLAIN,
    "heat_capacity_ratio": PLAIN,
    "density_slopes": PLAIN,
    "enthalpy_slopes": PLAIN,
    "internal_energy": PLAIN,
    "cubic_partial_properties": SUMS_OVER_PAIRS,
    "cubic_fugacity": SUMS_OVER_PAIRS,
    "ideal_partial_properties": PLAIN,
    # reactions
    "activity_coefficients": PLAIN,
    "net_production": Served("reaction_steps", CREW, ("reaction_steps", "reaction_weights")),
    "gross_production": Served("reaction_steps_apart", CREW, ("reaction_steps_apart", "reaction_weights")),
    "mass_production": PLAIN,
    "chemical_heat": PLAIN,
    "chemical_time": PLAIN,
}


class Block(Thread):
    """The warps of a block share its points, of which each lane has `unroll`."""

    name = "crew"
    holds = ("crew",)
    sharers = "the warps of a block"
    numbers = "gas/schedules/block.h"
    real = "several"
    prefix = "Crew"

    def serves(self, kernels, mixture) -> bool:
        """Whether warps can share all kernels, one of them has tables for that, which the mixture has too, and nothing
        is updated in place."""
        if not all(kernel.name in SERVED and not set(kernel.reads) & set(kernel.writes) for kernel in kernels):
            return False

        served = [SERVED[kernel.name] for kernel in kernels]
        for entry in served:
            if any(mixture.facts[fact] not in words for fact, words in entry.facts):
                return False

        tables = [entry.table for entry in served if entry.table]
        return bool(tables) and all(_has_room(mixture, table) for table in tables)

    def constants(self, kernel: PointKernel) -> tuple[str, ...]:
        return kernel.constants + SERVED[kernel.name].constants

    # ---- launch

    def points(self, p: Plan) -> int:
        return 32 * p.launch.unroll

    def shape(self, p: Plan) -> Shape:
        """A block covers the points of one warp."""
        points = self.points(p)
        return Shape(p.launch.threads, covers=points, shared=8 * points * p.sizes["CREW_ROWS"] + p.sizes["CREW_BYTES"])

    def skips_points(self, p: Plan) -> bool:
        return False

    # ---- text

    def macros(self, p: Plan) -> str:
        return f"#define CREW {p.launch.threads // 32}\n#define LANE_POINTS {p.launch.unroll}\n"

    def cooperative_headers(self, p: Plan) -> list[str]:
        headers = [SERVED[kernel.name].header for kernel in p.kernels]
        return list(dict.fromkeys(filter(None, headers)))

    def species_values(self, rows: int) -> str:
        return f"Owned<{rows}>"

    def keeps_inputs(self, p: Plan) -> bool:
        return False

    def scalar_condition(self, p: Plan, number: int) -> str:
        """The warps take turns."""
        return f"if (crew_rank() == {number % (p.launch.threads // 32)}) "


def _has_room(mixture, table: str) -> bool:
    return has_constant(mixture, table) and bool(mixture.constant(table).of.sizes["CREW_ROWS"])


BLOCK = Block()
