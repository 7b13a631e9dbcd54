"""Stencil kernels: one C++ source for CPU vector units and for CUDA, run over a box of a block.

A body (kernels/*.h) is a function template over the number type for one cell; on a CPU the number is a pack of
neighbours in x. engine/numbers/box.h puts the loop over the box around it.
"""

import dataclasses
import functools
import math
import pathlib

from kernels.engine.backend.base import Shape, Source
from kernels.engine.backend.record import record, structure

HERE = pathlib.Path(__file__).resolve().parent / "kernels"
MANY = 4  # species; with more, kernels over faces have a direction a launch
UNROLLED = 24  # species; with more, loops over them are unrolled in part

# Members of the records of arguments, as engine/numbers/box.h has them: the box; of kernels over faces the directions,
# how much wider the box is in each, and where the tiles begin.
BOX = "lo:whole:3 hi:whole:3 stride:whole:3 tile:whole:3 tiles:whole:2 by_tiles:whole:2"
FACES = "from:whole to:whole below:whole above:whole before:whole"
BESIDE = "direction:whole side:whole edge:whole plane:whole"  # of kernels at a side of the domain

# Arrays of several kernels: of the limiter, of a stretched grid, of a grid around an axis.
LIMITED = "Q gamma_c e_vol flux_x flux_y flux_z viscous_x viscous_y viscous_z open shares"
METRICS = "inv_width_x inv_width_y inv_width_z inv_apart_x inv_apart_y inv_apart_z"
AXISYMMETRIC = "radius_y centre_y inv_ring_y around"

# Headers.
ONLY_READ = ("convective.h", "viscous.h")  # no kernel of these headers writes what it reads with `at`
PLAIN = ("limiter.h",)  # on a device: with divisions and roots that take fewer registers


@dataclasses.dataclass(frozen=True)
class Tile:
    """On a device: the cells of a block of threads, and the blocks of a multiprocessor, which share its registers.
    x is long, for whole lines of memory. Measured on an H200, 128^3 cells."""

    cells: tuple[int, int, int] = (5, 1, 1)  # log2 of their numbers in x, y, z
    few: int | None = 8  # blocks, up to MANY species; None: as many registers as the compiler wants
    many: int | None = 4  # blocks, above MANY species

    @property
    def threads(self) -> int:
        return 2 ** sum(self.cells)

    def bounds(self, ns) -> str:
        """Threads of a block and blocks of a multiprocessor, as the macros of box.h take them."""
        blocks = self.few if ns <= MANY else self.many
        return f"{self.threads}, {blocks}" if blocks else str(self.threads)


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A stencil kernel of kernels/*.h."""

    header: str
    arrays: str  # names
    numbers: str  # further members of the record of arguments
    switches: str  # compile-time numbers that change its code
    macro: str = "BOX_KERNEL"  # of box.h, which puts the loop around the body
    then: str = ""  # the body for the few cells that ask for a second look
    largest: str = ""  # what the macro takes for a kernel that looks for the largest values
    tile: Tile = Tile()

    @property
    def over_faces(self) -> bool:
        """Whether a launch has several directions."""
        return self.macro.startswith("FACE_")

    def depends_on(self, switch) -> bool:
        return switch in self.switches.split()

    def arrays_for(self, switches) -> list[str]:
        """Names of the arrays that the kernel takes."""
        names = self.arrays.split()
        for switch, more in (("METRICS", METRICS), ("AXISYMMETRIC", AXISYMMETRIC)):
            if switches.get(switch) and self.depends_on(switch):
                names += more.split()

        return list(dict.fromkeys(names))

    def members(self, switches) -> str:
        """Members of the record of arguments: address and row length of each array, numbers, box, strides, tiles."""
        rows = " ".join(f"{name}:address ld_{name}:whole" for name in self.arrays_for(switches))
        return f"{rows} {self.numbers} {BOX}"


KERNELS = {
    "convective": Kernel(
        "convective.h",
        "Q gamma_c flux_x flux_y flux_z e_vol eps_k asks rough length",
        f"{FACES} room:real:3 inv_threshold:real",
        "ORDER DISSIPATION CONSERVATIVE",
        macro="FACE_BOX_KERNEL_THEN",
        then="upwind",
        tile=Tile((4, 1, 2), 4, None),
    ),
    "average": Kernel("averages.h", "Q T mean moments", "share:real weight:real", ""),
    "viscous": Kernel(
        "viscous.h",
        "Q T mu lam D h_Y viscous_x viscous_y viscous_z asks length",
        f"{FACES} inv_dx:real:3 room:real:3",
        "DIMENSIONS INV_W METRICS AXISYMMETRIC",
        macro="FACE_BOX_KERNEL",
        tile=Tile((4, 2, 1), 8, None),
    ),
    "gather": Kernel("chemistry.h", "Q T e_vol length batch", "share:real coldest:real", ""),
    "scatter": Kernel("chemistry.h", "Q batch failed rate", "", "CONSERVATIVE"),
    "update": Kernel(
        "update.h",
        "Q momentum U0 gamma_c gruneisen eps_k e_vol flux_x flux_y flux_z viscous_x viscous_y viscous_z source length "
        "kept",
        "inv_dx:real:3 w0:real w1:real first:whole",
        "CONSERVATIVE VISCOUS SOURCE DIMENSIONS METRICS AXISYMMETRIC PHASES",
        tile=Tile((5, 1, 1), 4, 2),
    ),
    "around": Kernel("update.h", "Q mu", "inv_dx:real:3", "VISCOUS METRICS AXISYMMETRIC"),
    "keep": Kernel("update.h", "Q length kept", "", "PHASES"),
    "rates": Kernel(
        "update.h",
        "Q gamma_c mu lam cv_vol D rate",
        "inv_dx:real:3",
        "CONSERVATIVE VISCOUS DIMENSIONS METRICS AXISYMMETRIC",
        macro="BOX_LARGEST_KERNEL",
        largest="1 + VISCOUS, rate",
    ),
    "bounds": Kernel(
        "limiter.h",
        f"{LIMITED} length rough",
        "inv_dx:real:3 scale:real",
        "DISSIPATION CONSERVATIVE VISCOUS DIMENSIONS INV_W METRICS AXISYMMETRIC",
        macro="BOX_KERNEL_THEN",
        then="shares_of",
        tile=Tile((6, 1, 0), 6, 2),
    ),
    "limit": Kernel(
        "limiter.h",
        f"{LIMITED} eps_k",
        FACES,
        "CONSERVATIVE VISCOUS DIMENSIONS INV_W",
        macro="FACE_BOX_KERNEL_WHERE",
        then="take_back",
        tile=Tile((6, 1, 0), 12, 4),
    ),
    "side_mirror": Kernel("sides.h", "Q given Y_in slab_rho_k slab_Y slab_p slab_T", BESIDE, "CONSERVATIVE PHASES"),
    "side_temperature": Kernel("sides.h", "given slab_T slab_T_h", BESIDE, ""),
    "side_state": Kernel(
        "sides.h",
        "Q given slab_rho slab_T slab_Y slab_ln_kappa slab_eta slab_phases_status",
        BESIDE,
        "CONSERVATIVE PHASES",
    ),
    "side_flux": Kernel(
        "sides.h",
        "Q gamma_c gruneisen eps_k e_vol flux viscous_flux length given through asks",
        f"{BESIDE} inv_dx:real:3 share:real",
        "CONSERVATIVE VISCOUS METRICS AXISYMMETRIC",
    ),
}


def source(name, switches, inv_W) -> Source:
    """C++ of a kernel and of all others of its header, for which a compiler takes as long. switches: compile-time
    numbers, by name. inv_W: 1/W of each species [mol/kg]."""
    header, ns = KERNELS[name].header, len(inv_W)
    together = {other: kernel for other, kernel in KERNELS.items() if kernel.header == header}
    lines = definitions(header, together.values(), switches, inv_W)

    for other, kernel in together.items():
        types = dict.fromkeys(kernel.arrays_for(switches), "double *")
        lines.append(structure(f"{other}_arguments", kernel.members(switches), types))

    lines.append(f'#include "{header}"')

    for other, kernel in together.items():
        bodies = ", ".join(filter(None, (other, kernel.then, kernel.largest)))
        lines.append(f"{kernel.macro}({other}_box, {other}_arguments, {bodies}, {kernel.tile.bounds(ns)})")

    return Source(f"flow-{header.removesuffix('.h')}", "\n".join([*lines, ""]), (HERE,))


def definitions(header, kernels, switches, inv_W) -> list[str]:
    """Lines before the structures: macros and constants that the kernels of a header read. A switch that changes none
    of them is 0: cases that differ in it alone share the machine code."""
    ns = len(inv_W)
    lines = [
        f"#define FACES_APART {int(ns > MANY)}",
        f"#define SPECIES_UNROLL {ns + 5 if ns <= UNROLLED else 4}",
    ]
    if header in PLAIN:
        lines.append("#define THREAD_NUMBER double")
    lines += ['#include "engine/numbers/box.h"', f"constexpr int NS = {ns};"]

    for switch, value in switches.items():
        used = any(kernel.depends_on(switch) for kernel in kernels)
        lines.append(f"#define {switch} {int(value) if used else 0}")
    lines += [f"#define ONLY_READ {int(header in ONLY_READ)}", f"#define NS_GT_1 {int(ns > 1)}"]

    if any(kernel.depends_on("INV_W") for kernel in kernels):
        values = ", ".join(float(x).hex() for x in inv_W)
        lines.append(f"CONSTANT_TABLE double INV_W[NS] = {{{values}}};")

    return lines


@functools.lru_cache(4096)
def tiling(cells, wanted):
    """(members of the record, items of the launch) for a box of so many cells in x, y, z. wanted: log2 of the cells of
    a large box's tile; where the box is thinner, the tile is longer elsewhere."""
    most = [(n - 1).bit_length() for n in cells]
    tile = [min(pair) for pair in zip(wanted, most)]
    for d in range(3):
        tile[d] += min(sum(wanted) - sum(tile), most[d] - tile[d])
    tile[2] += sum(wanted) - sum(tile)  # threads without a cell
    tiles = [-(-n // 2**t) for n, t in zip(cells, tile)]
    by_tiles = [-(-(2**38) // n) for n in tiles[:2]]

    return dict(tile=tile, tiles=tiles[:2], by_tiles=by_tiles), math.prod(tiles) * 2 ** sum(wanted)


class Stencil:
    """A stencil kernel of a compiled module. `bind(stride, arrays)` gives run(lo, hi, **numbers)."""

    def __init__(self, name, backend, module, switches, ns):
        self.name, self.kernel, self.backend = name, KERNELS[name], backend
        self._module, self._switches, self._ns = module, switches, ns

    def bind(self, stride, arrays):
        """stride: of x, y, z in cells. arrays: name -> array (rows, cells) or (cells,); those the switches leave out
        may be None.

        run(lo, hi, **numbers) takes every cell (or face) with lo <= (i, j, k) < hi; an empty box is left alone. With
        directions `from` to below `to`, the box has `below` and `above` cells more at both ends of each of them.
        """
        filled, keep = record(self.kernel.members(self._switches), stride=stride), []
        for name in self.kernel.arrays_for(self._switches):
            array = arrays.get(name)
            if array is not None:
                filled[name] = self.backend.address(array)
                filled[f"ld_{name}"] = array.strides[0] // 8 if array.ndim == 2 else 0
                keep.append(array)

        apart = self.kernel.over_faces and self._ns > MANY
        wanted, threads = self.kernel.tile.cells, self.kernel.tile.threads
        to_do = 8 + 24 * threads if self.kernel.then else 0  # bytes: TO_DO in engine/numbers/box.h
        shape = Shape(threads, shared=to_do)

        launch = self._module.bind(f"{self.name}_box", shape, filled, keep=keep)

        def run(lo, hi, **numbers):
            if apart and numbers["to"] > numbers["from"] + 1:
                for d in range(numbers["from"], numbers["to"]):
                    run(lo, hi, **{**numbers, "from": d, "to": d + 1})
                return

            cells = [max(high - low, 0) for low, high in zip(lo, hi)]
            if not all(cells):
                return
            if "to" in numbers:
                line = self.backend.line
                numbers["before"] = -(-numbers["below"] // line) * line

            for d in range(numbers.get("from", 0), numbers.get("to", 0)):
                cells[d] += numbers["below" if d else "before"] + numbers["above"]
            how, items = tiling(tuple(cells), wanted)
            for name, value in dict(numbers, lo=lo, hi=hi, **how).items():
                filled[name] = value
            launch(items)

        return run
