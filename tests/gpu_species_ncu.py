"""Cache hits, occupancy and registers of the species loops, as NVIDIA's profiler ncu counts them. Both halves are for
tests/gpu_species_ncu.sh:

    ncu ... python gpu_species_ncu.py run NS TYPE ORDER.json       launches each organisation once, compiled before
    python gpu_species_ncu.py table NCU.csv ORDER.json OUT.json    a row for each launch, in the order of the launches
"""

import csv
import json
import pathlib
import sys

METRICS = {  # of ncu: name here
    "l1tex__t_sector_hit_rate.pct": "l1_hits",
    "lts__t_sector_hit_rate.pct": "l2_hits",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "achieved_occupancy",
    "launch__registers_per_thread": "registers",
    "dram__bytes.sum": "dram_bytes",
}
FACTS = ("label", "layout", "ns", "type", "variant")


def launch_all(ns: int, dtype: str, order: pathlib.Path) -> None:
    """Every organisation of both layouts, once, a megapoint or what fits 1 GB of output; writes what was launched."""
    from frame.tools.bench.species_fields import Fields, plan
    from frame.tools.bench.species_loops import variants_of
    from kernels import FrameError, get_backend
    from kernels.contractions import table

    backend = get_backend("cuda")
    points = min(2**20, 2**30 // (ns * ns * 8) // 2048 * 2048)
    done = []
    for layout in ("left", "right"):
        fields = Fields(backend, layout, ns, points, dtype)
        for how in variants_of(backend, layout, ns, dtype):
            try:
                run = fields.bind(plan(backend, layout, ns, dtype, how))
            except FrameError:
                continue
            run()
            backend.synchronize()
            done.append(dict(zip(FACTS, (how.label, layout, ns, dtype, table.written(how)))))

    order.write_text(json.dumps(done))


def table_of(file: pathlib.Path, order: pathlib.Path, out: pathlib.Path) -> None:
    """Joins ncu's CSV, a line for each launch and metric, with what was launched. Raises SystemExit if they differ."""
    lines = [line for line in file.read_text().splitlines() if line.startswith('"')]
    launches: dict[str, dict] = {}
    for cells in csv.DictReader(lines):
        if cells["Metric Name"] in METRICS:
            value = float(cells["Metric Value"].replace(",", ""))
            launches.setdefault(cells["ID"], {})[METRICS[cells["Metric Name"]]] = value

    done = json.loads(order.read_text())
    if len(done) != len(launches):
        raise SystemExit(f"{file}: {len(launches)} launches of 'contraction', wanted {len(done)} as {order} has them.")

    rows = [{**facts, **counted} for facts, counted in zip(done, launches.values())]
    out.write_text(json.dumps(rows, indent=1) + "\n")
    head = (*FACTS[:3], *METRICS.values())
    for row in [dict(zip(head, head)), *rows]:
        print("  ".join(f"{row.get(name, '-')!s:<24}" for name in head))


if __name__ == "__main__":
    if sys.argv[1] == "run":
        launch_all(int(sys.argv[2]), sys.argv[3], pathlib.Path(sys.argv[4]))
    else:
        table_of(*map(pathlib.Path, sys.argv[2:5]))
