"""CUDA: the lanes of a warp share a point, and take points from a queue. For reactors of large mechanisms."""

from __future__ import annotations

from ...engine.backend.base import Shape
from ...engine.backend.facts import REFERENCE
from ..plan import Plan
from ..records import PointKernel
from ..structure import structure_size
from .queue import Queue
from .schedule import Schedule, has_constant

HEADER = "gas/reactors/lanes.h"  # the bodies for lanes
TABLE = "lanes_reactions"  # its sizes have LANES_ROWS: numbers of a point in shared memory, 0 without room
RATES = (
    "lanes_reactions lanes_rates lanes_slopes lanes_efficiencies reaction_weights reaction_shift reaction_potentials "
    "reaction_exponents reaction_falloffs reaction_tabled reaction_others "
    "inv_W W inv_p_ref T_mid? T_mid_lowest? T_mid_highest? nasa_low? nasa_high? nasa_cold? T_cold? "
    "T_cold_highest? nasa9? nasa9_break?"
)
STEPS = f"{RATES} react_rtol react_atol react_most"

# The kernels that this schedule serves, launched alone, and the constants that their bodies for lanes read.
SERVED = {
    "ideal_volume_jacobian": RATES,
    "ideal_volume_implicit": RATES,
    "ideal_react_at_volume": STEPS,
    "ideal_react_at_pressure": STEPS,
}


class Warp(Queue):
    """The lanes of a warp share a point."""

    name = "lanes"
    holds = ("lanes",)
    sharers = "the lanes of a warp"
    frame = "gas/schedules/queue.h"
    numbers = "gas/schedules/warp.h"
    run = "warps_from_queue"

    def takes(self, how, kernels) -> bool:
        return Schedule.takes(self, how, kernels)

    def serves(self, kernels, mixture) -> bool:
        if len(kernels) != 1 or kernels[0].name not in SERVED or not has_constant(mixture, TABLE):
            return False

        return bool(mixture.constant(TABLE).of.sizes["LANES_ROWS"])

    def constants(self, kernel: PointKernel) -> tuple[str, ...]:
        return tuple(SERVED[kernel.name].split())

    # ---- launch: a block has as many warps as there is shared memory for, up to the launch's threads

    def warps(self, p: Plan) -> int:
        """Warps of a block."""
        room = (REFERENCE.shared_of_block // 8 - self.ahead(p)) // p.sizes["LANES_ROWS"]
        return max(min(p.launch.threads // 32, room), 1)

    def threads(self, p: Plan) -> int:
        return 32 * self.warps(p)

    def ahead(self, p: Plan) -> int:
        """Units of 8 bytes of shared memory ahead of the points' numbers: constants and the queue's counter. Even, so
        that two numbers of a point side by side are one access."""
        return (self.copied(p) + 2) // 2 * 2

    def copied(self, p: Plan) -> int:
        """The constants that are copied to shared memory; none if they leave no room for the points of two warps."""
        if structure_size(p) + 2 + 2 * p.sizes["LANES_ROWS"] > REFERENCE.shared_of_block // 8:
            return 0

        return super().copied(p)

    def shared_bytes(self, p: Plan) -> int:
        return 8 * (self.ahead(p) + self.warps(p) * p.sizes["LANES_ROWS"])

    def shape(self, p: Plan):
        """A warp covers a point."""
        return Shape(self.threads(p), covers=self.warps(p), shared=self.shared_bytes(p), resident=-1)

    # ---- text

    def macros(self, p: Plan) -> str:
        return f"#define AHEAD_OF_POINTS {self.ahead(p)}\n"

    def cooperative_headers(self, p: Plan) -> list[str]:
        return [HEADER]

    def keeps_inputs(self, p: Plan) -> bool:
        return False


WARP = Warp()
