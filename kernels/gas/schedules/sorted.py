"""CUDA: a thread a point, points of one kind side by side. sorted.h has the loop over points."""

from __future__ import annotations

from ...engine.backend.base import Shape
from ...engine.backend.facts import REFERENCE
from ..plan import Launch, Plan
from .text import MOST_KINDS, MOST_LISTS, key_of, kinds
from .thread import PointText, Thread

WINDOWS = (8192, 4096, 2048, 1024)  # points that a block sorts at a time: the first that fits
LISTED = 1024  # points of a list, from which on a block works on them
GROUP = 32  # points that a warp takes; few points go to as many multiprocessors as there are groups
MOST_THREADS = 1024  # of a block

LOOP = """\
    const auto key_at = [=](const long first) {{
        const {prefix}Place here(first, n, box);
        return double({prefix}Field<>{{{{at_{key}, ld_{key}}}, here}}[0].v);
    }};
    const auto work = [=](const auto &m, const long first, outside *const column, const auto &arrived) {{
        (void)column;
        {body}
        return double({key}.v);
    }};
    run_sorted<How, Program>(constants, n, key_at, work);"""


class Sorted(Thread):
    """A thread a point at a time, of points that a block has sorted by their kind. A multiprocessor has one large block
    in place of the launch's several: the more points are sorted together, the fewer warps meet two kinds."""

    name = "sorted"
    frame = "gas/schedules/sorted.h"

    def takes(self, how: Launch | None, kernels) -> bool:
        return super().takes(how, kernels) and bool(key_of(kernels))

    # ---- launch

    def threads(self, p: Plan) -> int:
        blocks = min(p.launch.blocks or 1, MOST_THREADS // p.launch.threads)
        return p.launch.threads * blocks

    def blocks(self, p: Plan) -> int:
        return 1

    def ahead(self, p: Plan) -> int:
        """Units of 8 bytes of shared memory ahead of the order of points."""
        return -(-self.shared_bytes(p) // 8)

    def window(self, p: Plan) -> int:
        """Points that a block sorts at a time."""
        room = REFERENCE.shared_of_block - 8 * self.ahead(p)
        return next((window for window in WINDOWS if order_bytes(window) <= room), WINDOWS[-1])

    def shape(self, p: Plan) -> Shape:
        shared = 8 * self.ahead(p) + order_bytes(self.window(p))
        return Shape(self.threads(p), covers=GROUP, shared=shared, resident=-1)

    def skips_points(self, p: Plan) -> bool:
        return False

    # ---- text

    def macros(self, p: Plan) -> str:
        return super().macros(p) + "#define POINTS_PUT_OFF\n"

    def sizes(self, p: Plan) -> dict[str, int]:
        return {"AHEAD": self.ahead(p), "WINDOW": self.window(p), "LISTED": LISTED}

    def declarations(self, p: Plan) -> str:
        members = "\n    ".join(kinds(p, {name: i for i, name in enumerate(p.arguments)}))
        return f"struct Program {{\n    {members}\n}};\n"

    def loop(self, p: Plan) -> str:
        body = "\n        ".join(PointText(self, p).lines())
        return LOOP.format(body=body, key=key_of(p.kernels), prefix=self.prefix)


def order_bytes(window: int) -> int:
    """Bytes of the order of points in shared memory."""
    counters = MOST_KINDS + 1 + MOST_LISTS
    return 4 * (counters + window + MOST_LISTS * (window + 2 * LISTED))


SORTED = Sorted()
