"""Speed of the link to a GPU, alone and by copies, pieces and threads: figures behind the constants of
frame/impl/pieces.py and kernels/marshal. On a machine with a GPU: tests/gpu_link.sh runs it; about a minute.

Prints, for T, p, 10 Y in and rho, h, c, mu, lam, 10 D out: plain copies of each direction and of both; the marshal
kernels across the link with several shapes, without fringe and with one of 3; block calls by copies in other pieces,
and in one launch across the link, of arrays that begin at the same and at different places of a line; packing with
other numbers of threads, into memory that copy engines bring or kernels read.
"""

import functools
import os
import time

import numpy as np

import frame.impl.block_calls
import frame.impl.pieces
import frame.impl.queues
import kernels.gas.program
import kernels.marshal
from frame.tools.bench import blocks_rank
from kernels.engine.backend import get_backend
from kernels.engine.backend.base import IN, OUT, Ends, Shape
from kernels.engine.backend.pinned import in_own_pages
from kernels.marshal import Block, Marshal

ROWS = ROWS_IN, ROWS_OUT = 12, 15
OFTEN, NEVER = 15, 10**9
os.environ["FRAME_BACKEND"] = "cuda"
be = get_backend("cuda")
pipe = be.pipeline(4)
steps = [pipe.step(IN), pipe.step(OUT)]
ways = ((1, 0), (0, 1), (1, 1))


def median(work, often=OFTEN):
    taken = []
    for _ in range(often):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)

    return sorted(taken)[often // 2]


def pinned(*shape):
    array = in_own_pages(shape, np.dtype(float))
    array[...] = 1.0
    be.pin(array.ctypes.data, array.nbytes)
    return array


def said(points, both, seconds):
    moved = sum(8 * points * rows for rows, on in zip(ROWS, both) if on)
    what = {(1, 0): "in", (0, 1): "out", (1, 1): "both"}[both]
    return f"{what} {1e6 * seconds:.0f} us, {1e-9 * moved / seconds:.1f} GB/s, {1e9 * seconds / points:.2f} ns a point"


def both_ways(works):
    """{way: a function that queues these works side by side and waits}"""

    def run(way):
        for step, work, on in zip(steps, works, way):
            if on:
                with step:
                    work()
        pipe.wait()

    return {way: lambda way=way: run(way) for way in ways}


def copies(points):
    hosts = [pinned(rows, points) for rows in ROWS]
    there = [be.empty(host.size) for host in hosts]
    ends = [Ends.of_row(be.address(t), h.ctypes.data) for t, h in zip(there, hosts)]
    copiers = be.copier(ends[:1], True), be.copier(ends[1:], False)
    works = [functools.partial(copy, 0, 0, host.nbytes) for copy, host in zip(copiers, hosts)]

    for way, run in both_ways(works).items():
        print(f"{points} points, plain copies:", said(points, way, median(run)), flush=True)
    for host in hosts:
        be.unpin(host.ctypes.data, host.nbytes)


def marshalling(shape, fringe):
    whole, points = [n + 2 * fringe for n in shape], int(np.prod(shape))
    all_points = int(np.prod(whole))
    hosts = [pinned(rows, all_points) for rows in ROWS]
    views = [be.empty((rows, be.pad(points))) for rows in ROWS]

    blocks = [
        Block(
            host.ctypes.data,
            (*whole, rows),
            (1, whole[0], whole[0] * whole[1], all_points),
            (fringe, fringe, fringe, 0),
            (*shape, rows),
        )
        for host, rows in zip(hosts, ROWS)
    ]

    before = kernels.marshal.ACROSS
    for threads, resident in ((128, 1), (256, 1), (256, 2), (256, 4), (256, 0)):
        kernels.marshal.ACROSS = Shape(threads, resident=resident)
        marshal = Marshal(be)
        moves = [marshal.moves(name, [pair]) for name, pair in zip(("gather", "scatter"), zip(blocks, views))]
        works = [lambda m=m: m.run(0, points) for m in moves]
        told = "; ".join(said(points, way, median(run)) for way, run in both_ways(works).items())
        print(f"{shape}, fringe {fringe}, {threads} threads x {resident}: {told}", flush=True)

    kernels.marshal.ACROSS = before
    for host in hosts:
        be.unpin(host.ctypes.data, host.nbytes)


class Placed:
    """NumPy as blocks_rank uses it: arrays in pages of their own, each begins `apart` numbers further than the last."""

    def __init__(self, apart):
        self.apart, self.first = apart, 2  # as malloc places large arrays: 16 bytes behind the beginning

    def __getattr__(self, name):
        return getattr(np, name)

    def full(self, shape, value, order):
        count = int(np.prod(shape))
        flat = in_own_pages((count + self.first,), np.dtype(float))[self.first :]
        self.first = (self.first + self.apart) % 16
        flat[...] = value
        return flat.reshape(shape, order=order)


def calls(shape, fringe, memory, way="block", chunk=131072, parts=3, copied=0, across=1, threads=0):
    """copied: points from which whole pinned arrays go by copies. across: blocks of a multiprocessor below that."""
    frame.impl.pieces.PARTS = frame.impl.queues.PARTS = parts
    frame.impl.block_calls.COPIED_FROM, kernels.gas.program.ACROSS = copied, across

    if threads:
        os.environ["FRAME_THREADS"] = str(threads)
    else:
        os.environ.pop("FRAME_THREADS", None)

    rank = blocks_rank.Rank()
    rank.case(way, memory, *shape, *[fringe] * 6, 10, chunk, 0.1)
    seconds = median(rank.once, OFTEN if way == "block" else 5)

    print(
        f"{way} {shape}, fringe {fringe}, {memory}, chunk {chunk}, {parts} parts, copies from {copied} points, "
        f"{across} blocks across, threads {threads or 'own'}: {1e6 * seconds:.0f} us, "
        f"{1e9 * seconds / rank.block.points:.2f} ns a point",
        flush=True,
    )

    rank.release()
    rank.frame.finalize()


CUBES = [(n,) * 3 for n in (32, 64, 80, 128)]
if __name__ == "__main__":
    for n in (32**3, 131072, 80**3):
        copies(n)
    for cube in (CUBES[0], CUBES[2]):
        for width in (0, 3):
            marshalling(cube, width)
    for cube in CUBES:
        for parts in (2, 3, 4):
            calls(cube, 0, "pinned", parts=parts)
        for width in (0, 3):
            for across in (1, 2, 4):
                calls(cube, width, "pinned", copied=NEVER, across=across)
    for apart in (0, 2):
        print(f"arrays in pages of their own, each begins {8 * apart} bytes further in its page", flush=True)
        blocks_rank.np = Placed(apart)
        for cube in CUBES:
            calls(cube, 0, "pinned", copied=NEVER, across=1)
            calls(cube, 0, "pinned")
    blocks_rank.np = np
    for least in (kernels.marshal.COPIED_FROM, NEVER):
        print(f"packed rows from {least} bytes go by copy engines, shorter ones by kernels", flush=True)
        kernels.marshal.COPIED_FROM = least
        for threads in (1, 2, 4, 8, 16):
            for cube in CUBES[1:3]:
                calls(cube, 0, "pageable", threads=threads)
    for chunk in (12288, 32768, 131072):
        for way in ("loop", "queue"):
            for memory in ("pinned", "pageable"):
                calls(CUBES[2], 0, memory, way, chunk)
