"""The species loops: every strategy, layout, type and odd sizes against one oracle; what the tuner finds.

CUDA runs on the stand-in (cuda_on_cpu.py; teams of threads as fibres), and with `pytest -m gpu` on the device. Every
check starts from outputs that are NaN and compares every element, the padding of rows included (Fields.check).
"""

import argparse
import concurrent.futures
import functools
import json
import os
import shutil
import sys

import cuda_on_cpu
import numpy as np
import pytest

from frame.tools import cli
from frame.tools.bench import species_loops as bench_species
from kernels import backend as backends, get_backend, species_loops
from kernels.backend import cuda
from kernels.codegen import tune
from kernels.errors import ArgumentError, FrameError, VariantUnsuitable
from kernels.species_loops import READS, STRATEGIES, Fields, SpeciesLoop, WrongResult, oracle, packs, threads

POINTS = 67  # several vectors, a team's worth and a rest
NS = (1, 3, 8, 16, 50)
TYPES = ("float64", "float32")
machine_code = cuda.machine_code  # the real one: the stand-in puts another in its place
GPU_NS = (1, 3, 8, 16, 50, 53, 64)


def run_all(backend, ns, dtype, variants, n=POINTS):
    """Each variant on poisoned outputs; compiled several at a time. Returns what was left out as unsuitable."""
    left_out = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda v: backend.compile(v.source(ns, dtype)), variants))
    fields = {layout: Fields(backend, layout, ns, n, dtype) for layout in species_loops.LAYOUTS}
    for variant in variants:
        try:
            field = fields[variant.layout]
            field.poison()
            species_loops.bind(backend, variant, ns, field.arrays, n)()
            field.check()
        except VariantUnsuitable:
            left_out.append(variant)
        except WrongResult as error:
            pytest.fail(f"{variant.id}, NS = {ns}, {dtype}: {error}")
    return left_out


def one_each(variants):
    """Of each header, label and layout the last one, which has the widest vectors, and where it streams."""
    return list({(v.label, v.layout): v for v in variants}.values())


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("ns", NS)
def test_on_the_cpu(ns, dtype):
    variants = packs.variants(ns, dtype)
    assert {v.strategy for v in variants} == set(STRATEGIES) - {"tiled, reduced occupancy"} or ns < 2
    assert not run_all(get_backend("cpu"), ns, dtype, one_each(variants))


def test_on_two_threads():
    """The same bits as on one, at a number of points that two threads do not share evenly."""
    one, two = (get_backend("cpu", threads=t) for t in (1, 2))
    for layout in species_loops.LAYOUTS:
        fields = Fields(one, layout, 8, 1003, "float64")
        for variant in [v for v in packs.variants(8, "float64") if v.layout == layout and v.strategy == "block team"]:
            results = []
            for backend in (one, two):
                fields.poison()
                species_loops.bind(backend, variant, 8, fields.arrays, 1003)()
                fields.check()
                results.append(fields.arrays["out"][:, :1003].copy())
            assert np.array_equal(*results)


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory):
    """The CUDA backend on the stand-in."""
    if not shutil.which("g++"):
        pytest.skip("the stand-in needs g++")
    with pytest.MonkeyPatch.context() as patch:
        cupy = cuda_on_cpu.make()
        cupy.copyto = np.copyto
        patch.setitem(sys.modules, "cupy", cupy)
        patch.setattr(backends, "_made", functools.cache(backends._made.__wrapped__))
        patch.setattr(cuda, "machine_code", cuda_on_cpu.compiler(tmp_path_factory.mktemp("cuda")))
        yield get_backend("cuda")


@pytest.mark.parametrize(
    "ns, dtype", [(1, "float64"), (3, "float64"), (8, "float32"), (16, "float64"), (50, "float32")]
)
def test_cuda_on_the_stand_in(stand_in, ns, dtype):
    left_out = run_all(stand_in, ns, dtype, one_each(threads.variants(ns, dtype)))
    assert not left_out
    if ns == 16:
        assert {v.strategy for v in threads.variants(ns, dtype)} == set(STRATEGIES)


def test_what_a_device_lacks(stand_in, monkeypatch):
    """Bulk stores need compute capability 9, and any team its shared memory: the tuner passes over them."""
    bulk = next(v for v in threads.variants(3, "float64") if v.header == "bulk_team.h")
    fields = Fields(stand_in, "right", 3, POINTS, "float64")
    monkeypatch.setattr(stand_in, "shared_memory", bulk.shared - 1)
    with pytest.raises(VariantUnsuitable, match="bytes of shared memory"):
        species_loops.bind(stand_in, bulk, 3, fields.arrays, POINTS)
    monkeypatch.setattr(stand_in, "generation", 8)
    with pytest.raises(VariantUnsuitable, match="compute capability 9, this is 8"):
        species_loops.bind(stand_in, bulk, 3, fields.arrays, POINTS)
    assert [get_backend("cuda", arch=arch).generation for arch in ("sm_80", "sm_90a", "sm_120")] == [8, 9, 12]


def test_the_benchmark_on_the_stand_in(stand_in, monkeypatch):
    """The path that a GPU takes: 16-byte vectors and a rest, teams, the array library's copy and its broadcasting."""
    few = [
        v for v in one_each(threads.variants(3, "float32")) if v.strategy in ("naive", "unroll and jam", "block team")
    ]
    monkeypatch.setattr(threads, "variants", lambda ns, dtype: few)
    args = argparse.Namespace(backend="cuda", ns=[3], points=2503, types=["float32"], rounds=1)
    made = bench_species.rows(args)
    assert {r["case"] for r in made} == {*(v.label for v in few), "CuPy broadcasting"}
    assert all(r["seconds"] > 0 and r["copy_bytes_per_s"] > 0 and r["backend"] == "cuda" for r in made)


@pytest.mark.parametrize("ns, dtype", [(3, "float32"), (16, "float64")])
def test_every_cuda_variant_compiles(ns, dtype, monkeypatch):
    """For sm_90; and no registers spilled by what is chosen without tuning."""
    monkeypatch.setattr(cuda, "machine_code", machine_code)
    target = get_backend("cuda", arch="sm_90")
    variants = threads.variants(ns, dtype)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        report = lambda v: target.compile(v.source(ns, dtype)).report["species_loop"]
        reports = dict(zip(variants, pool.map(report, variants)))
    for layout in species_loops.LAYOUTS:
        chosen = reports[threads.default(layout, ns, dtype)]
        assert chosen["spill_stores"] == chosen["spill_loads"] == 0 and chosen["registers"] <= 255, chosen
    assert all(r["stack"] > 0 for v, r in reports.items() if v.strategy == "local arrays"), (
        "local arrays ended in registers"
    )


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("ns", GPU_NS)
def test_cuda_on_a_gpu(ns, dtype):
    """Every variant, at a number of points that leaves a rest everywhere."""
    backend = get_backend("cuda")
    left_out = run_all(backend, ns, dtype, threads.variants(ns, dtype), n=2003)
    assert all(v.shared > backend.shared_memory for v in left_out), left_out


# ---- the declared kernel and its callers


@pytest.mark.parametrize("layout", species_loops.LAYOUTS)
def test_the_oracle_is_the_formula(layout):
    """By plain loops, at three points."""
    fields = Fields(get_backend("cpu"), layout, 3, 3, "float64")
    a = {name: fields.sample[name] if layout == "left" else fields.sample[name].T for name in READS}
    wanted = np.array(
        [
            [a["ax"][x, t] * a["ay"][y, t] + a["bx"][x, t] * a["by"][y, t] for t in range(3)]
            for y in range(3)
            for x in range(3)
        ]
    )
    got, size = oracle(layout, *(fields.sample[name] for name in READS))
    # each is two products and a sum of positive terms, in doubles
    assert np.allclose(got if layout == "left" else got.T, wanted, rtol=4e-16, atol=0) and np.array_equal(got, size)


def test_arrays_that_are_not_aligned_are_served():
    """A slice of a larger array, as hosts have them: the naive variant takes over."""
    rng, n, ns = np.random.default_rng(3), 101, 3
    arrays = {name: rng.random(ns * n + 1)[1:].reshape(ns, n) for name in READS}
    arrays["out"] = np.full(ns * ns * n + 1, np.nan)[1:].reshape(ns * ns, n)
    SpeciesLoop(ns, "left", backend="cpu").bind(arrays, n)()
    wanted, size = oracle("left", *(arrays[name] for name in READS))
    assert (abs(arrays["out"] - wanted) <= 2 * np.finfo(float).eps * size).all()  # two products, one sum


def test_wrong_arrays_are_named():
    loop = SpeciesLoop(3, "right", "float32", backend="cpu")
    arrays = {name: np.zeros((5, 3), np.float32) for name in READS}
    with pytest.raises(ArgumentError, match="'out' is missing"):
        loop.bind(arrays, 5)
    with pytest.raises(ArgumentError, match=r"'out' is \(5, 3\) float32, wanted \(5 or more, 9\)"):
        loop.bind({**arrays, "out": arrays["ax"]}, 5)
    with pytest.raises(ArgumentError, match="float64"):
        loop.bind({**arrays, "out": np.zeros((5, 9))}, 5)
    with pytest.raises(ArgumentError, match="layout 'up'"):
        SpeciesLoop(3, "up", backend="cpu")


# ---- tuning


def broken(how):
    """What binds in place of species_loops.bind: block teams forget their work in one of three ways."""
    right = species_loops.bind

    def bind(backend, variant, ns, arrays, n, module=None):
        run = right(backend, variant, ns, arrays, n, module)
        if variant.strategy != "block team":
            return run
        if how == "nothing":
            return lambda: None
        if how == "last":  # right at the small size that is checked whole, wrong in one value of the large
            return lambda: (run(), arrays["out"].__setitem__((0, n // 2 + 1), 2.0) if n > 1000 else None)
        return lambda: (run(), arrays["out"].__imul__(1 + 1e-13))

    return bind


@pytest.mark.parametrize(
    "how, why", [("nothing", "were not written"), ("last", "sum of all outputs"), ("scaled", "of the terms' size")]
)
def test_a_wrong_variant_is_never_chosen(monkeypatch, how, why):
    monkeypatch.setattr(species_loops, "bind", broken(how))
    variants = [v for v in packs.variants(3, "float64") if v.strategy in ("naive", "block team")]
    outcomes, _ = species_loops.tune_loops(
        get_backend("cpu"), "left", 3, 20_011, "float64", rounds=1, variants=variants
    )
    assert outcomes[0].variant.strategy == "naive" and outcomes[0].seconds > 0
    bad = [o for o in outcomes if o.variant.strategy == "block team"]
    assert len(bad) == 6 and all(o.seconds is None and "WrongResult" in o.why and why in o.why for o in bad), bad[0].why


def test_verified_before_timed_and_unsuitable_ones_are_passed_over():
    told = []

    def prepare(variant):
        if variant == "large":
            raise VariantUnsuitable("too much shared memory")
        return (lambda: told.append(("run", variant))), {}

    def verify(variant, run):
        told.append(("verify", variant))
        if variant == "wrong":
            raise FrameError("wrong")
        return 0.0

    def clock(run):
        run()
        return {"slow": 2.0, "fast": 1.0}[told[-1][1]]

    outcomes = tune.search(["slow", "large", "wrong", "fast"], prepare, verify, clock, rounds=3)
    assert [o.variant for o in outcomes] == ["fast", "slow", "large", "wrong"]
    assert told[:3] == [("verify", "slow"), ("verify", "wrong"), ("verify", "fast")] and ("run", "wrong") not in told
    assert outcomes[2].why == "unsuitable: too much shared memory" and outcomes[3].seconds is None


def test_a_variant_by_its_id():
    """As tuning writes it; nobody else's choice is taken."""
    tiled = next(v for v in packs.variants(8, "float64") if v.layout == "left" and v.label == "tiled by 4")
    assert SpeciesLoop(8, "left", backend="cpu", variant=tiled.id).variant == tiled
    assert SpeciesLoop(8, "left", backend="cpu").variant == packs.default("left", 8, "float64")
    with pytest.raises(ArgumentError, match="no variant 'left: tiled by 3"):
        SpeciesLoop(8, "left", backend="cpu", variant="left: tiled by 3")
    with pytest.raises(ArgumentError, match="for 8 species, layout 'right'"):
        SpeciesLoop(8, "right", backend="cpu", variant=tiled.id)


@pytest.mark.parametrize("command", ["tune", "bench species-loops"])
def test_the_commands(tmp_path, monkeypatch, capsys, command):
    monkeypatch.setattr(bench_species, "points_for", lambda *_: 3000)
    few = [v for v in packs.variants(3, "float64") if v.strategy in ("naive", "block team", "warp team")]
    monkeypatch.setattr(packs, "variants", lambda ns, dtype: few)
    files = (
        ["--json", f"{tmp_path}/rows.json", "--png", f"{tmp_path}/rows.png", "--markdown", f"{tmp_path}/rows.md"]
        if command != "tune"
        else ["--out", f"{tmp_path}/found.json"]
    )
    assert cli.main([*command.split(), "--backend", "cpu", "--ns", "3", *files]) == 0
    said = capsys.readouterr().out
    assert "% of copy" in said
    if command == "tune":
        found = json.loads((tmp_path / "found.json").read_text())
        assert [r["layout"] for r in found] == ["left", "right"]
        assert {v.id for v in few} >= {r["variant"] for r in found}
    else:
        made = [json.loads(line) for line in (tmp_path / "rows.json").read_text().splitlines()]
        assert {
            "bench",
            "case",
            "ns",
            "points",
            "backend",
            "seconds",
            "points_per_s",
            "rival",
            "rival_points_per_s",
            "ratio",
            "bound",
            "bound_fraction",
            "max_rel_diff",
        } <= set(made[0])
        assert {(r["case"], r["layout"]) for r in made} == {
            *((c, side) for c in ("naive", "block team") for side in ("left", "right")),
            ("warp team", "right"),
            ("NumPy broadcasting", "left"),
            ("NumPy broadcasting", "right"),
        }
        assert (tmp_path / "rows.png").stat().st_size > 1000 and "| naive | left |" in (
            tmp_path / "rows.md"
        ).read_text()
        assert "block team" in said
