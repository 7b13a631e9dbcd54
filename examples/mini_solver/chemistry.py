"""Chemistry: every cell of a block a closed adiabatic reactor at constant volume over a part of a step, by the layer's
integration. Strang's splitting (1968, original not seen): half a step of it before the flow's, half after.

Density, momentum and total energy of a cell stay as they are; its composition changes, and p and T with it."""

import numpy as np

from kernels import FrameError

from .errors import wanted
from .layer import of_equation

ROWS = (
    "T",
    "p",
    "e_vol",
    "reaction_time",
    "reaction_status",
    "reaction_steps",
)  # of the batch, as chemistry.h has them
WHY = {
    1: "it took more than most = {most:g} steps",
    2: "its steps became too small",
    4: "its temperature left the range of the reactions",
    5: "its temperature is outside the range of the reactions, its state has Y below -1e-8, or is not a number",
}


def arrays(ns) -> dict:
    """{name: rows} of the arrays that the reactions need."""
    return {"batch": len(ROWS) + ns, "failed": 1}


class Chemistry:
    """Launches over the block's own cells, which lie together in a batch without fringe. Nothing waits for the host: a
    cell whose integration came to no end stops the clock. bind(name): a stencil kernel over the block."""

    def __init__(self, block, bind):
        self.block, self.frame, self.mixture = block, block.frame, block.frame.mixture
        self.given = block.case.chemistry
        a, n = block.arrays, int(np.prod(block.cells))
        a["failed"][...] = 0.0

        self._gather, self._scatter = bind("gather"), bind("scatter")
        batch = dict(zip(ROWS, a["batch"])) | {"rho_k": a["batch"][len(ROWS) :]}
        try:
            react = self.frame.bind(batch, kernels=[of_equation("cell_reactor", self.mixture)])
        except FrameError as error:
            wanted(False, f"[chemistry] kind = '{self.given['kind']}': {error}")

        self._react = lambda: react(n)

    def hold(self):
        """The case's tolerances, before some steps: they belong to the process, and another flow may have others."""
        for name in ("rtol", "atol", "most"):
            self.frame.set_constant(f"react_{name}", float(self.given[name]))

    def __call__(self, share):
        """This share of a step, whose length is read from memory."""
        with self.frame.timed("chemistry"):
            self._gather(*self.block.box(), share=share, coldest=self.given["coldest"])
            self._react()
            self._scatter(*self.block.box())

    def steps(self) -> np.ndarray:
        """How many steps the cells took when they last reacted, (nz, ny, nx)."""
        nx, ny, nz = self.block.cells
        row = self.block.host(self.block.arrays["batch"][ROWS.index("reaction_steps")])
        return row[: nx * ny * nz].reshape(nz, ny, nx)

    def atoms(self) -> np.ndarray:
        """Moles of each element in a kilogram of each species, (ns, elements)."""
        return self.mixture.species.mechanism.composition / self.mixture.species.W[:, None]

    def complaint(self, field) -> str:
        """A text about the first cell whose integration failed, with its state; "" without such a cell.
        field(name): a field on the host."""
        failed = self.block.host(self.block.interior("failed")[0])
        if not failed.any():
            return ""
        k, j, i = (int(v) for v in np.unravel_index(np.argmax(failed > 0), failed.shape))
        at, where = self.block.place(i, j, k)
        why = WHY[int(failed[k, j, i])].format(most=self.given["most"])
        state = ", ".join(f"{name} {field(name)[k, j, i]:.6g}" for name in ("T", "p", "rho"))
        Y = ", ".join(f"{name} {field(f'Y_{name}')[k, j, i]:.4g}" for name in self.mixture.names)

        return (
            f"rank {self.block.ranks.rank}, cell ({at[0]}, {at[1]}, {at[2]}) at ({where[0]:.6g}, {where[1]:.6g}, "
            f"{where[2]:.6g}) m: its reactions could not be integrated (status {failed[k, j, i]:.0f}: {why}). Before "
            f"them: {state}; Y: {Y}."
        )
