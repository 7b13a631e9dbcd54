"""Runs every kernel of `bench tensor`'s table once, with few entries: what gpu_tensor_sanitize.sh looks at.

python tests/gpu_tensor_kernels.py compile     fills the cache of kernels and ends
python tests/gpu_tensor_kernels.py run         runs them
"""

import sys

import numpy as np

from frame.tools.bench import tensor
from kernels import get_backend

OLD = ("team", "tiles", "slices")  # of the triples kernels: minutes under a checker


def main(what: str) -> None:
    backend = get_backend("cuda")
    cases = tensor.device_cases()
    if what == "compile":
        tensor.compile_ahead(cases, backend)
        return
    rng, count = np.random.default_rng(0), 0
    for case in cases:
        triples = case.entries == 16
        entries = 16 if triples else 5
        for plan in tensor.ways(case, backend):
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
    main(sys.argv[1] if len(sys.argv) > 1 else "run")
