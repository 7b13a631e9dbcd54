"""What `explain` says about organisations: the estimated time of each, the bound, and why the first was chosen.

Times on a CPU are of one core of this machine (host_rates.py), those of a device are an H100's, whatever device is
here.
"""

from __future__ import annotations

import numpy as np

from . import table
from .organisations import library_costs

MODELS = {"packs": "one core", "threads": "an H100"}  # where a style's rates were measured


def told(plan) -> list[str]:
    """Lines about a Contraction's organisations."""
    bound = Bound(plan)
    lines = [bound.told()]
    if plan.backend.style == "packs" and plan.backend.threads > 1:
        lines.append(f"times of organisations but the library are those of {plan.backend.threads} threads")
    for price, how, _ in plan.candidates:
        time = price * bound.unit
        mark = "  <- chosen" if how.name == plan.how.name else ""
        lines.append(f"organisation {how}: {shown(time)} an entry, {bound.times(time)}{mark}")
    lines += [f"step {line}" for line in plan.how.told(plan.program)]
    if plan.how.sums_by_a_vendor(plan.program):
        lines.append("a vendor's library adds up: last bits may depend on the batch.")
    return [*lines, _why(plan, bound)]


class Bound:
    """The least time of an entry: its bytes come from memory once, its flops run as fast as in large products."""

    def __init__(self, plan):
        self.plan = plan
        self.rates = library_costs.rates(plan.backend.style, plan.dtype.name)

        # Seconds.
        self.by_bytes = plan.bytes / self.rates.memory
        self.by_flops = plan.flops / self.rates.flops[plan.dtype.name]
        self.unit = library_costs.unit(plan.backend.style, plan.program)  # of a price, the same for all organisations

    @property
    def seconds(self) -> float:
        return max(self.by_bytes, self.by_flops)

    @property
    def name(self) -> str:
        """Name of the part that takes longer."""
        return "bytes" if self.by_bytes >= self.by_flops else "flops"

    def told(self) -> str:
        rates = self.rates
        flops = rates.flops[self.plan.dtype.name]
        return (
            f"bound of an entry on {MODELS[self.plan.backend.style]}: bytes alone {shown(self.by_bytes)} "
            f"({rates.memory * 1e-9:.4g} GB/s), flops alone {shown(self.by_flops)} ({flops * 1e-9:.4g} Gflop/s)"
        )

    def times(self, time: float) -> str:
        """A time beside the bound."""
        return f"{time / self.seconds:.3g} times {self.name} alone" if self.seconds else "no bound"


def _why(plan, bound: Bound) -> str:
    """The reason of the choice, in one sentence."""
    if plan.row:
        return f"chosen by {table.in_force()}, line {plan.row.line}: {plan.how}, order {plan.row.order}"

    cheapest = plan.candidates[0][1]
    other = f"; the model would take {cheapest.name}" if cheapest.name != plan.how.name else ", as the model would"
    if plan.free and plan.how.reads_extents(plan.program):
        return f"chosen: {plan.how}, because it reads extents when it runs: what is compiled serves all{other}."
    if plan.given:
        return f"chosen: {plan.how}, because the caller or the text names it{other}."
    if len(plan.candidates) == 1:
        return f"chosen: {plan.how.name}, because no other organisation serves it."

    price, second, _ = plan.candidates[1]
    ratio = f"{plan.price / price:.2g} of the time of {second.name}" if price else f"the time of {second.name}"
    return f"chosen: {plan.how.name}, because its estimate is the lowest, {ratio}; {bound.name} bound the entry."


def shown(seconds: float) -> str:
    """Microseconds, with three digits."""
    return f"{np.format_float_positional(seconds * 1e6, 3, fractional=False, trim='-')} us"
