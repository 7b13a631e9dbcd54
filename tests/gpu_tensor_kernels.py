"""Runs every kernel of `bench tensor`'s table once, with few entries: what gpu_tensor_sanitize.sh looks at.

python tests/gpu_tensor_kernels.py compile     fills the cache of kernels and ends
python tests/gpu_tensor_kernels.py run         runs them
A further word `chosen`: only the organisations that are taken without tuning.
"""

import concurrent.futures
import os
import sys

import numpy as np

from frame.tools.bench import tensor
from kernels import get_backend

OLD = ("team", "tiles", "slices")  # of the triples kernels: minutes under a checker


def main(what: str = "run", which: str = "all") -> None:
    backend = get_backend("cuda")
    cases = tensor.device_cases()
    some = {case.name: tensor.ways(case, backend)[: 1 if which == "chosen" else None] for case in cases}

    if what == "compile":
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda plan: plan.compile(), (plan for plans in some.values() for plan in plans)))
        return

    rng, count = np.random.default_rng(0), 0
    for case in cases:
        triples = case.entries == 16
        entries = 16 if triples else 5
        for plan in some[case.name]:
            if triples and plan.how.name in OLD:
                continue
            arrays = {
                a.name: backend.from_host(rng.random(plan.shape(a.name, entries)), plan.dtype)
                for a in plan.program.arguments
            }

            plan.bind(arrays, entries)()
            backend.synchronize()
            count += 1

    print(f"{count} kernels ran", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
