"""Random tensor expressions by every organisation against numpy.einsum, by hand. PYTHONPATH=tests, then

    python tests/contractions/fuzz_tensors.py 10000 [cpu|cuda|gpu|both] [processes] [first seed]

cuda: on the stand-in; gpu: on a device; both: cpu and cuda.
"""

import concurrent.futures
import contextlib
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile

from tensor_cases import check_random, on_stand_in

from kernels import get_backend
from kernels.engine.backend import cpu

ONE_LEVEL = """\
#!/bin/sh
case " $* " in
    *" -O1 "*) exec {compiler} -include {header} "$@" ;;
    *) exec {compiler} "$@" ;;
esac
"""


def one_kernel(where: str, folder, seed: int):
    """(expressions, comparisons) of one seed on one backend, in a process of its own."""
    with contextlib.ExitStack() as stack:
        if where == "cuda":
            return check_random(stack.enter_context(on_stand_in(pathlib.Path(folder))), seed, told=True)
        return check_random(get_backend({"gpu": "cuda"}.get(where, where)), seed, told=True, alone=6 * (where == "gpu"))


def read_ahead(folder: pathlib.Path) -> pathlib.Path:
    """A compiler that has read the system's headers before: half of its time for a small kernel. Kernels that are not
    compiled in haste have another level of optimisation, for which GCC 12 breaks down on what was read at this one."""
    header, program = folder / "ahead.h", folder / "ahead"
    header.write_text("".join(f"#include <{name}.h>\n" for name in ("immintrin", "math", "omp", "stdlib", "string")))
    flags = [*cpu.FLAGS, "-march=" + cpu.target(), "-O1"]  # of a kernel compiled in haste
    subprocess.run([cpu.compiler(), *flags, "-x", "c++-header", header, "-o", f"{header}.gch"], check=True)
    program.write_text(ONE_LEVEL.format(compiler=cpu.compiler(), header=header))
    program.chmod(0o700)

    return program


def main(count: int, where: str = "both", jobs: int = os.cpu_count() or 1, first: int = 1000):
    """So many random expressions on each backend, six in a kernel, each by every organisation. first: seed of the first
    kernel; a run that was ended goes on from the seed that it told last."""
    backends_ = ("cpu", "cuda") if where == "both" else (where,)
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        os.environ |= {"FRAME_CACHE": f"{folder}/cache"}
        if "cpu" in backends_:
            os.environ |= {"FRAME_CXX": str(read_ahead(pathlib.Path(folder)))}

        for name in backends_:
            expressions, compared, seeds = 0, 0, itertools.count(first)
            waiting: set = set()
            kernels_done = 0

            while expressions < count:
                while len(waiting) < 2 * jobs:
                    waiting.add(pool.submit(one_kernel, name, folder, next(seeds)))

                done, waiting = concurrent.futures.wait(waiting, return_when="FIRST_COMPLETED")
                for future in done:
                    more = future.result()  # raises what a process found
                    expressions, compared = expressions + more[0], compared + more[1]

                kernels_done += len(done)
                told = f"{name}: {expressions} expressions, {compared} results agree with einsum"
                print(f"{told}; about to seed {first + kernels_done}", flush=True)

            for future in waiting:
                future.cancel()

            concurrent.futures.wait(waiting)
            for future in waiting:
                if not future.cancelled():
                    future.result()


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:3], *map(int, sys.argv[3:5]))
