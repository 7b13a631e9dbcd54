"""CUDA: points that take unequal times. A thread that is done with a point takes the next from its block's queue."""

from __future__ import annotations

from ...engine.backend.base import Shape
from ..plan import Launch, Plan
from .text import Call
from .thread import PointText, Thread

# The kernels that this schedule serves, launched alone. The body {name}_from_queue(m, R(0.0), at, next) does all points
# of a thread: next() goes to the next point and returns whether there is one; at(use) calls use with the point's
# values, and writes them if use returns true.
SERVED = ("ideal_react_at_volume", "ideal_react_at_pressure", "cubic_react_at_volume", "cubic_react_at_pressure")

# first: the first point of the block if this thread's point were in the thread's place
LOOP = """\
    const auto work = [&](const Mixture &m, const auto &take) {{
        long first;
        const auto at = [&](const auto &use) {{
        {body}
        }};
        {kernel}_from_queue(m, real(0.0), at, [&] {{
            first = take() - threadIdx.x;
            return first + threadIdx.x < n;
        }});
    }};
    {run}<How>(constants, work);"""


class Queue(Thread):
    """A thread a point at a time, from a queue."""

    name = "queue"
    frame = "gas/schedules/queue.h"
    run = "points_from_queue"

    def takes(self, how: Launch | None, kernels) -> bool:
        return super().takes(how, kernels) and self.serves(kernels, None)

    def serves(self, kernels, mixture) -> bool:
        return len(kernels) == 1 and kernels[0].name in SERVED

    def shape(self, p: Plan) -> Shape:
        """As many blocks as are resident; the queue's counter behind the other shared memory."""
        return Shape(p.launch.threads, shared=self.shared_bytes(p) + 8, resident=-1)

    def loop(self, p: Plan) -> str:
        body = "\n        ".join(PointText(self, p).lines())
        return LOOP.format(body=body, kernel=p.kernels[0].name, run=self.run)

    def called(self, made: Call) -> str:
        return f"if (!use({', '.join(made.arguments)})) return;"

    def arrival(self) -> list[str]:
        return []


QUEUE = Queue()
