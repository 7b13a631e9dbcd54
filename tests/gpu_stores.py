"""How fast a GPU writes an array as large as the output of TCCG's triples, by the segments of a warp's store.

    python tests/gpu_stores.py

A block writes tiles of 64 rows of 768 bytes, one after the other; rows lie 49152 bytes apart. Prints microseconds and
bytes a second, medians with cold caches. It needs CuPy.
"""

import cupy as cp
import numpy as np

from frame.tools.bench.clocks import DeviceClock, in_turns
from kernels import get_backend

ROUNDS = 7
ROWS = COLUMNS = 6144  # numbers of float64: 302 MB
BLOCKS = 4  # on a multiprocessor
THREADS = 256
SEGMENTS = {  # bytes of a row that a warp's store writes: bytes of a lane
    512: 16,
    128: 16,
    64: 16,
    32: 8,
}

SOURCE = r"""
constexpr int ROW = 96;  // numbers of a tile's row
constexpr int TILE = 64; // rows of a tile
constexpr int TILES = 6144;
struct alignas(BYTES) Some { double v[BYTES / 8]; };

extern "C" __global__ void __launch_bounds__(256) fill(double *out, double x) {
    constexpr int NEAR = BYTES / 8, LANES = SEGMENT / BYTES, AT_ONCE = 32 / LANES;
    constexpr int SEGMENTS = ROW * 8 / SEGMENT; // of a row; of 512 bytes one and a half
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, first = long(TILES) * blockIdx.x / gridDim.x;
    const int behind = long(TILES) * (blockIdx.x + 1) / gridDim.x;
    Some some;
    for (int i = 0; i < NEAR; ++i) some.v[i] = x;

    for (int tile = first; tile < behind; ++tile) {
        double *const begin = out + tile / 64 * 64L * 6144 + tile % 64 * ROW;
        if (SEGMENT == 512) {
            for (int v = threadIdx.x; v < TILE * ROW / NEAR; v += 256)
                *(Some *)(begin + v / (ROW / NEAR) * 6144L + v % (ROW / NEAR) * NEAR) = some;
        } else {
            for (int rows = warp * AT_ONCE; rows < TILE; rows += 8 * AT_ONCE)
                for (int s = 0; s < SEGMENTS; ++s)
                    *(Some *)(begin + (rows + lane / LANES) * 6144L + s * SEGMENT / 8 + lane % LANES * NEAR) = some;
        }
    }
}
"""


def fill_by(segment: int, out):
    """run() that fills an array by segments of so many bytes."""
    options = ("-std=c++17", f"-DSEGMENT={segment}", f"-DBYTES={SEGMENTS[segment]}")
    kernel = cp.RawModule(code=SOURCE, options=options).get_function("fill")
    blocks = BLOCKS * cp.cuda.Device().attributes["MultiProcessorCount"]
    return lambda: kernel((blocks,), (THREADS,), (out, 1.0))


def main() -> None:
    backend = get_backend("cuda")
    clock, out = DeviceClock(backend), cp.empty(ROWS * COLUMNS)

    works = {"memset": lambda: out.data.memset_async(0, out.nbytes)}
    for segment in SEGMENTS:
        run = fill_by(segment, out)
        out.fill(0)
        run()
        assert float(out.min()) == 1.0, segment
        works[f"segments of {segment} bytes"] = run

    times = in_turns({name: (work, (clock.cold,)) for name, work in works.items()}, ROUNDS)
    for name, found in times.items():
        seconds = float(np.median(found))
        print(f"{name:24} {seconds * 1e6:6.1f} us {out.nbytes / seconds * 1e-12:5.2f} TB/s")


if __name__ == "__main__":
    main()
