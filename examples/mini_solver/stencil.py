"""Stencil kernels: one C++ source for CPU vector units and for CUDA, run over a box of a block.

A body (kernels/*.h) is a function template over the number type for one cell; on a CPU the number is a pack of
neighbours in x. engine/numbers/box.h puts the loop over the box around it.
"""

import functools
import math
import pathlib

from kernels.engine.backend.base import Shape, Source
from kernels.engine.backend.record import record, structure

HERE = pathlib.Path(__file__).resolve().parent / "kernels"
# as engine/numbers/box.h has it
BOX = "lo:whole:3 hi:whole:3 stride:whole:3 tile:whole:3 tiles:whole:2 by_tiles:whole:2"
# directions, how much wider the box is in each, and where the tiles begin
FACES = "from:whole to:whole below:whole above:whole before:whole"
OVER_FACES = ("convective", "viscous", "limit")  # kernels of several directions
# kernels that look again at the few cells which ask for it: what follows
THEN = {"convective": "upwind", "bounds": "shares_of", "limit": "take_back"}
ONLY_READ = ("convective.h", "viscous.h")  # no kernel of these headers writes what it reads with `at`
PLAIN = ("limiter.h",)  # on a device: with divisions and roots that take fewer registers
# On a device, by kernel: log2 of the cells of a block's tile in x, y, z, and the blocks of a multiprocessor, which
# share its registers, up to MANY species and above. None: as many registers as the compiler wants. x is long, for whole
# lines of memory. Above MANY species kernels over faces have a direction a launch. Measured on an H200, 128^3 cells.
TILES = {
    "convective": ((4, 1, 2), 4, None),
    "viscous": ((4, 2, 1), 8, None),
    "update": ((5, 1, 1), 4, 2),
    "bounds": ((6, 1, 0), 6, 2),
    "limit": ((6, 1, 0), 12, 4),
}
TILE, MANY = ((5, 1, 1), 8, 4), 4
BESIDE = "direction:whole side:whole edge:whole plane:whole"  # numbers of kernels at a side of the domain
LIMITED = "Q gamma_c e_vol flux_x flux_y flux_z viscous_x viscous_y viscous_z open shares"
# of a stretched grid, for the kernels that METRICS changes
METRICS = "inv_width_x inv_width_y inv_width_z inv_apart_x inv_apart_y inv_apart_z"
AXISYMMETRIC = "radius_y centre_y inv_ring_y around"  # the same for a grid around an axis
# kernel: (header, arrays, numbers as members of a record, switches it depends on)
KERNELS = {
    "convective": (
        "convective.h",
        "Q gamma_c flux_x flux_y flux_z e_vol eps_k asks rough length",
        f"{FACES} room:real:3 inv_threshold:real",
        "ORDER DISSIPATION CONSERVATIVE",
    ),
    "average": ("averages.h", "Q T mean moments", "share:real weight:real", ""),
    "viscous": (
        "viscous.h",
        "Q T mu lam D h_Y viscous_x viscous_y viscous_z asks length",
        f"{FACES} inv_dx:real:3 room:real:3",
        "DIMENSIONS INV_W METRICS AXISYMMETRIC",
    ),
    "gather": ("chemistry.h", "Q T e_vol length batch", "share:real coldest:real", ""),
    "scatter": ("chemistry.h", "Q batch failed rate", "", "CONSERVATIVE"),
    "update": (
        "update.h",
        "Q momentum U0 gamma_c gruneisen eps_k e_vol flux_x flux_y flux_z viscous_x viscous_y viscous_z source length "
        "kept",
        "inv_dx:real:3 w0:real w1:real first:whole",
        "CONSERVATIVE VISCOUS SOURCE DIMENSIONS METRICS AXISYMMETRIC",
    ),
    "around": ("update.h", "Q mu", "inv_dx:real:3", "VISCOUS METRICS AXISYMMETRIC"),
    "keep": ("update.h", "Q length kept", "", ""),
    "rates": (
        "update.h",
        "Q gamma_c mu lam cv_vol D rate",
        "inv_dx:real:3",
        "CONSERVATIVE VISCOUS DIMENSIONS METRICS AXISYMMETRIC",
    ),
    "bounds": (
        "limiter.h",
        f"{LIMITED} length rough",
        "inv_dx:real:3 scale:real",
        "DISSIPATION CONSERVATIVE VISCOUS DIMENSIONS INV_W METRICS AXISYMMETRIC",
    ),
    "limit": ("limiter.h", f"{LIMITED} eps_k", FACES, "CONSERVATIVE VISCOUS DIMENSIONS INV_W"),
    "side_mirror": ("sides.h", "Q given Y_in slab_rho_k slab_Y slab_p", BESIDE, "CONSERVATIVE"),
    "side_temperature": ("sides.h", "given slab_T slab_T_h", BESIDE, ""),
    "side_state": ("sides.h", "Q given slab_rho slab_T slab_Y", BESIDE, "CONSERVATIVE"),
    "side_flux": (
        "sides.h",
        "Q gamma_c gruneisen eps_k e_vol flux viscous_flux length given through asks",
        f"{BESIDE} inv_dx:real:3 share:real",
        "CONSERVATIVE VISCOUS METRICS AXISYMMETRIC",
    ),
}


def arrays_of(name, switches) -> list[str]:
    """Arrays that a kernel takes."""
    _, arrays, _, depends = KERNELS[name]
    more = {"METRICS": METRICS, "AXISYMMETRIC": AXISYMMETRIC}
    asked = [more[switch] for switch in more if switches.get(switch) and switch in depends.split()]
    return list(dict.fromkeys(" ".join([arrays, *asked]).split()))


def members(name, switches) -> str:
    """Of the record of arguments: each array's address and row length, numbers, the box, strides in cells, tiles."""
    rows = " ".join(f"{a}:address ld_{a}:whole" for a in arrays_of(name, switches))
    return f"{rows} {KERNELS[name][2]} {BOX}"


def source(name, switches, inv_W) -> Source:
    """C++ of a kernel, and of all others of its header: a compiler takes as long for one. switches: compile-time
    numbers, by name. inv_W: 1/W of each species [mol/kg]."""
    header = KERNELS[name][0]
    together = {other: kernel for other, kernel in KERNELS.items() if kernel[0] == header}
    ns, used = len(inv_W), {switch for kernel in together.values() for switch in kernel[3].split()}
    # A switch that does not matter here is 0: cases that differ in it alone share the machine code.
    lines = [f"#define FACES_APART {int(ns > MANY)}"]
    lines += [f"#define SPECIES_UNROLL {ns + 5 if ns <= 24 else 4}"]
    if header in PLAIN:
        lines.append("#define THREAD_NUMBER double")
    lines += ['#include "engine/numbers/box.h"', f"constexpr int NS = {ns};"]
    lines += [f"#define {k} {int(v) if k in used else 0}" for k, v in switches.items()]
    lines += [f"#define ONLY_READ {int(header in ONLY_READ)}", f"#define NS_GT_1 {int(ns > 1)}"]
    if "INV_W" in used:
        lines.append(f"CONSTANT_TABLE double INV_W[NS] = {{{', '.join(float(x).hex() for x in inv_W)}}};")

    for other in together:
        types = dict.fromkeys(arrays_of(other, switches), "double *")
        lines.append(structure(f"{other}_arguments", members(other, switches), types))

    lines.append(f'#include "{header}"')

    for other in together:
        kind, bodies = "FACE_BOX_KERNEL" if other in OVER_FACES else "BOX_KERNEL", other
        if other in THEN:
            kind, bodies = f"{kind}_{'WHERE' if other == 'limit' else 'THEN'}", f"{other}, {THEN[other]}"
        if other == "rates":
            kind, bodies = "BOX_LARGEST_KERNEL", "rates, 1 + VISCOUS, rate"
        lines.append(f"{kind}({other}_box, {other}_arguments, {bodies}, {bounds(other, ns)})")

    return Source(f"flow-{header.removesuffix('.h')}", "\n".join([*lines, ""]), (HERE,))


def bounds(name, ns) -> str:
    """Threads of a block and blocks of a multiprocessor, as KERNEL takes them."""
    tile, few, many = TILES.get(name, TILE)
    blocks = few if ns <= MANY else many
    return str(2 ** sum(tile)) + (f", {blocks}" if blocks else "")


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
    """One stencil kernel of a compiled module; `bind(stride, arrays)` gives run(lo, hi, **numbers)."""

    def __init__(self, name, backend, module, switches, ns):
        self.name, self.backend, self._module, self._switches, self._ns = name, backend, module, switches, ns

    def bind(self, stride, arrays):
        """stride: of x, y, z in cells. arrays: name -> array (rows, cells) or (cells,); those the switches leave out
        may be None.

        run(lo, hi, **numbers) takes every cell (or face) with lo <= (i, j, k) < hi; an empty box is left alone. With
        directions `from` to below `to`, the box has `below` and `above` cells more at both ends of each of them.
        """
        filled, keep = record(members(self.name, self._switches), stride=stride), []
        for name in arrays_of(self.name, self._switches):
            array = arrays.get(name)
            if array is not None:
                filled[name] = self.backend.address(array)
                filled[f"ld_{name}"] = array.strides[0] // 8 if array.ndim == 2 else 0
                keep.append(array)

        wanted = TILES.get(self.name, TILE)[0]
        apart = self.name in OVER_FACES and self._ns > MANY
        threads = 2 ** sum(wanted)
        shape = Shape(threads, shared=8 + 24 * threads if self.name in THEN else 0)  # TO_DO in engine/numbers/box.h

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
