"""Random strings of einsum by hand. PYTHONPATH=tests, then

    python tests/contractions/fuzz_einsum.py 1000 [cpu|cuda|gpu] [first seed] [processes]

cuda: on the stand-in of a device; gpu: on a device.
"""

import concurrent.futures
import contextlib
import functools
import os
import pathlib
import sys
import tempfile

from fuzz_tensors import read_ahead
from reference import einsum as reference
from tensor_cases import on_stand_in

from kernels import contract, get_backend

EACH = 5  # random strings of a seed


def some_strings(where: str, folder: str, seed: int) -> int:
    """EACH random strings of one seed, in a process of its own. Returns how many agree."""
    with contextlib.ExitStack() as stack:
        if where == "cuda":
            backend = stack.enter_context(on_stand_in(pathlib.Path(folder)))
        else:
            backend = get_backend({"gpu": "cuda"}.get(where, where))
        return reference.check_random(contract, backend, seed, count=EACH)


def main(count: int, where: str = "cpu", first: int = 1000, jobs: int = 1) -> None:
    """So many random strings on a backend. first: the first seed; a run that was ended goes on from what it told last.

    The strings of a process that fails are told by its AssertionError.
    """
    seeds = range(first, first - (-count // EACH))
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        os.environ |= {"FRAME_CACHE": f"{folder}/cache"}
        if where == "cpu":
            os.environ |= {"FRAME_CXX": str(read_ahead(pathlib.Path(folder)))}

        done = 0
        for seed, more in zip(seeds, pool.map(functools.partial(some_strings, where, folder), seeds)):
            done += more
            print(f"{where}: {done} strings agree with einsum; about to seed {seed + 1}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:3], *map(int, sys.argv[3:5]))
