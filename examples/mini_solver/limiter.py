"""Limiter: keeps the bounds of a stage (kernels/limiter.h)."""

from .case import FRINGE
from .exchange import Exchange, Fringe


class Limiter:
    """Corrects the fluxes of a stage. sides: the domain's sides of this block, whose faces stay as they are."""

    def __init__(self, block, bind, sides, way, alarm):
        self.block, self.frame = block, block.frame
        block.arrays["open"][...] = 1.0

        block.arrays["shares"][...] = 1.0
        block.arrays["rough"][...] = 0.0
        opened = block.view("open")
        for side in sides:
            cut = [slice(None)] * 3
            cut[2 - side.d] = FRINGE + (block.cells[side.d] if side.side else 0)
            opened[(side.d, *cut)] = 0.0

        self._bounds = bind("bounds")
        self._limit = bind("limit")
        # a cell's shares are needed by the faces that it has in common with another block's cell
        shares = block.view("shares")
        fringe = Fringe(layers=1, corners=False, last_decides=True)
        self.exchange = Exchange(block.ranks, shares, block.backend, way, alarm, fringe)

    def __call__(self, scale):
        """scale: the part of the step that this stage goes ahead, before it is mixed with the state at the start."""
        block = self.block
        with self.frame.timed("limiter"):
            self._bounds(*block.box(), inv_dx=block.inv_dx, scale=scale)
        with self.frame.timed("exchange"):
            self.exchange.fill_all()
        with self.frame.timed("limiter"):
            self._limit(*block.box(), **{"from": 0, "to": block.dimensions, "below": 0, "above": 1})


def arrays(ns, dimensions) -> dict:
    """{name: rows} of the arrays that the limiter needs."""
    return {"open": dimensions, "shares": ns + 4, "rough": 1}
