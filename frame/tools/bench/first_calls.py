"""Time of the first call of a new contraction: `bench tccg --first`.

Each call has a process of its own and an empty cache, so nothing is compiled before it. The process has imported the
layer, and NumPy has the arrays. The processor's seconds count the compiler's, too: on a machine that other work shares
they say more than the clock's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from ...errors import FrameError
from .. import tables

PROGRAM = """
import json, os, sys, time
import numpy as np
from kernels import contract, get_backend

text, left, right, dtype, name = json.loads(sys.argv[1])
backend = get_backend(name)
arrays = [backend.from_host(np.ones(shape, dtype), dtype) for shape in (left, right)]
backend.synchronize()

before, begin = os.times(), time.perf_counter()
out = contract(text, *arrays, backend=backend)
backend.synchronize()
seconds, after = time.perf_counter() - begin, os.times()

used = sum(after[:4]) - sum(before[:4])
print(json.dumps({"seconds": seconds, "processor": used, "shape": out.shape}))
"""


def measured(name: str, sizes: dict[str, int], dtype: str, backend: str) -> dict:
    """A row for a contraction of tccg.py. Raises FrameError if the call fails."""
    out, left, right = (indices[::-1] for indices in name.split("-"))
    shapes = [[sizes[i] for i in indices] for indices in (left, right)]
    given = json.dumps([f"{left},{right}->{out}", *shapes, dtype, backend])

    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"FRAME_CACHE": folder}
        command = [sys.executable, "-c", PROGRAM, given]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise FrameError(f"{name}: the first call failed: {done.stderr.strip().splitlines()[-1]}")

    found = json.loads(done.stdout)
    return {
        "bench": "tccg",
        "case": name,
        "dtype": dtype,
        "first_seconds": found["seconds"],
        "first_processor_seconds": found["processor"],
        "backend": backend,
    }


def table(rows) -> str:
    """The rows as text, and the longest."""
    lines = [("case", "type", "first call s", "of processors s")]
    for row in rows:
        times = (f"{row[key]:.2f}" for key in ("first_seconds", "first_processor_seconds"))
        lines.append((row["case"], row["dtype"], *times))

    longest = max(row["first_seconds"] for row in rows)
    most = max(row["first_processor_seconds"] for row in rows)
    return "\n".join([*tables.to_the_left(lines), "", f"longest {longest:.2f} s, of processors {most:.2f} s"])
