"""The choice of `auto` beside measurements of tests/gpu_tables.sh on this device: python tests/gpu_rule.py FOLDER

A line for each row of the GPU: its time, that of as many CPU ranks, what the rule takes, and how much longer that takes
than the faster side. Exit code 1 where it is more than 5 %.
"""

import json
import pathlib
import re
import sys

from frame.devices import rule
from kernels.engine.backend import device_rates

CLOSE = 1.05


def rows(file):
    """(ranks, way, chunk, memory, ns a point) of a file of `bench blocks`, which tells the chunk of loops alone."""
    other = "32768" if file.stem.endswith("_chunks") else "131072"
    for row in json.loads(file.read_text()):
        told = re.match(r"\S+, fringe \S+ (\w+), (\w+), (\d+) ranks?(?:, chunk (\d+))?", row["case"])
        memory, way, ranks, chunk = told.groups()
        yield int(ranks), way, int(chunk or other), memory, 1e9 / row["points_per_s"]


def main(folder) -> int:
    rates, wrong = device_rates(0), 0
    cores = {ranks: ns for ranks, _, _, _, ns in rows(folder / "cpu.json")}
    print(f"auto on {rates.product}{'' if rule.known(rates) else ', which is not in the table'}")

    for name in ("service", "turns", "service_chunks", "turns_chunks"):
        if not (folder / f"{name}.json").exists():
            continue
        for ranks, way, chunk, memory, gpu in rows(folder / f"{name}.json"):
            service = name.startswith("service") and ranks > 1
            work = rule.Work(10, "double", "chunks" if way == "loop" else "blocks", chunk)
            facts = rule.Facts(0, 1, 1, rates, work, True, service, False)
            taken, _ = rule.choose([facts] * ranks)
            loss = (gpu if taken else cores[ranks]) / min(gpu, cores[ranks])
            wrong += loss > CLOSE
            how = f"{ranks:3} rank{'s' * (ranks > 1)} {rule.HOW[rule.sharing_of(ranks, service)]} a GPU"
            side = "GPU" if taken else "CPU"

            print(
                f"{how}, {way}, chunk {chunk}, {memory}: GPU {gpu:.2f}, CPU {cores[ranks]:.1f} ns: {side}, "
                f"{100 * loss - 100:.0f} % over the faster"
            )

    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
