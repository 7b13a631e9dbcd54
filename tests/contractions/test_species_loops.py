"""The species loops and other outer products at a point: every organisation, layout, type and odd sizes against one
oracle; what the tuner finds.

CUDA runs on the stand-in (cuda_on_cpu; teams of threads as fibres), and with `pytest -m gpu` on the device. Every
check starts from outputs that are NaN and compares every element, the padding of rows included (Fields.check).
"""

import argparse
import concurrent.futures
import dataclasses
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
from frame.tools.bench.species_fields import LAYOUTS, READS, Fields, WrongResult, oracle, plan
from frame.tools.bench.species_loops import default_of, tune_loops, variants_of
from kernels import Contraction, get_backend
from kernels.contractions import table as organisations
from kernels.contractions.organisations import OUTER, outer
from kernels.contractions.organisations.outer import STRATEGIES
from kernels.contractions.organisations.outer_packs import OuterPacks
from kernels.engine import backend as backends, tune
from kernels.engine.backend import cuda
from kernels.engine.errors import ArgumentError, FrameError, VariantUnsuitable

POINTS = 67  # several vectors, a team's worth and a rest
NS = (1, 3, 8, 16, 50)
TYPES = ("float64", "float32")
machine_code = cuda.machine_code  # the real one: the stand-in puts another in its place
GPU_NS = (1, 3, 8, 16, 50, 53, 64)


def run_all(backend, ns, dtype, choose=lambda variants: variants, n=POINTS):
    """Chosen variants of both layouts on poisoned outputs; compiled several at a time. Returns all of them, and what
    was left out as unsuitable."""
    done, left_out = [], []
    for layout in LAYOUTS:
        field = Fields(backend, layout, ns, n, dtype)
        variants = choose(variants_of(backend, layout, ns, dtype))
        plans = [plan(backend, layout, ns, dtype, how) for how in variants]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda p: p.compile(), plans))

        for made in plans:
            done.append(made.how)
            try:
                field.poison()
                field.bind(made)()
                field.check()
            except VariantUnsuitable:
                left_out.append(made.how)
            except WrongResult as error:
                pytest.fail(f"{organisations.written(made.how)}, {layout}, NS = {ns}, {dtype}: {error}")

    return done, left_out


def one_each(variants):
    """The last case of each label, which has the widest vectors, and the case that streams."""
    return list({v.label: v for v in variants}.values())


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("ns", NS)
@pytest.mark.quick(ns=3, dtype="float32")
def test_on_the_cpu(ns, dtype):
    done, left_out = run_all(get_backend("cpu"), ns, dtype, one_each)
    assert {v.name for v in done} == set(STRATEGIES) - {"occupancy"} or ns < 2
    assert not left_out


def test_on_two_threads():
    """The same bits as on one, at a number of points that two threads do not share evenly."""
    one, two = (get_backend("cpu", threads=t) for t in (1, 2))
    for layout in LAYOUTS:
        fields = Fields(one, layout, 8, 1003, "float64")
        for variant in [v for v in variants_of(one, layout, 8, "float64") if v.name == "block"]:
            results = []
            for backend in (one, two):
                fields.poison()
                fields.bind(plan(backend, layout, 8, "float64", variant))()
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
@pytest.mark.quick(ns=3)
def test_cuda_on_the_stand_in(stand_in, ns, dtype):
    done, left_out = run_all(stand_in, ns, dtype, one_each)
    assert not left_out
    assert {v.name for v in done} == set(STRATEGIES) or ns != 16


def test_what_a_device_lacks(stand_in, monkeypatch):
    """Bulk stores need compute capability 9, and any team its shared memory: the tuner passes over them."""
    bulk = next(v for v in variants_of(stand_in, "right", 3, "float64") if v.form == "bulk_team")
    fields, made = Fields(stand_in, "right", 3, POINTS, "float64"), plan(stand_in, "right", 3, "float64", bulk)
    facts = stand_in.facts
    monkeypatch.setattr(stand_in, "facts", dataclasses.replace(facts, shared_of_block=bulk.block.shared - 1))

    with pytest.raises(VariantUnsuitable, match="bytes of shared memory"):
        fields.bind(made)

    monkeypatch.setattr(stand_in, "facts", dataclasses.replace(facts, generation=8))
    with pytest.raises(VariantUnsuitable, match="compute capability 9, this is 8"):
        fields.bind(made)

    assert [get_backend("cuda", arch=arch).generation for arch in ("sm_80", "sm_90a", "sm_120")] == [8, 9, 12]


def test_the_benchmark_on_the_stand_in(stand_in, monkeypatch):
    """The path that a GPU takes: 16-byte vectors and a rest, teams, the array library's copy and its broadcasting."""
    few = lambda layout: [
        v for v in one_each(variants_of(stand_in, layout, 3, "float32")) if v.name in ("naive", "jam", "block")
    ]
    chosen = {layout: few(layout) for layout in LAYOUTS}
    monkeypatch.setattr(bench_species, "variants_of", lambda be, layout, ns, dtype: chosen[layout])
    args = argparse.Namespace(backend="cuda", ns=[3], points=2503, types=["float32"], rounds=1)
    made = bench_species.rows(args)

    assert {r["case"] for r in made} == {*(v.label for some in chosen.values() for v in some), "CuPy broadcasting"}
    assert all(r["seconds"] > 0 and r["copy_bytes_per_s"] > 0 and r["backend"] == "cuda" for r in made)


@pytest.mark.parametrize("ns, dtype", [(3, "float32"), (16, "float64")])
@pytest.mark.quick(dtype="float32")
def test_every_cuda_variant_compiles(ns, dtype, monkeypatch):
    """For sm_90; and no registers spilled by what is chosen without tuning."""
    monkeypatch.setattr(cuda, "machine_code", machine_code)
    target = get_backend("cuda", arch="sm_90")

    for layout in LAYOUTS:
        variants = variants_of(target, layout, ns, dtype)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            report = lambda v, layout=layout: plan(target, layout, ns, dtype, v).compile().report["contraction"]
            reports = dict(zip(variants, pool.map(report, variants)))

        chosen = reports[default_of(target, layout, ns, dtype)]
        assert chosen["spill_stores"] == chosen["spill_loads"] == 0 and chosen["registers"] <= 255, chosen
        assert all(r["stack"] > 0 for v, r in reports.items() if v.name == "local"), "local arrays ended in registers"


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("ns", GPU_NS)
def test_cuda_on_a_gpu(ns, dtype):
    """Every variant, at a number of points that leaves a rest everywhere."""
    backend = get_backend("cuda")
    _, left_out = run_all(backend, ns, dtype, n=2003)
    assert all(v.block.shared > backend.shared_memory for v in left_out), left_out


# ---- the declared kernel and its callers


@pytest.mark.parametrize("layout", LAYOUTS)
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


@pytest.mark.parametrize("where", ["cpu", "cuda"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.quick(layout="right")
def test_other_outer_products(stand_in, layout, where):
    """Three terms with signs and numbers, 5 columns x and 12 rows y, arrays read twice; exact in whole numbers, by one
    of each organisation; 77 points, of rows of 80 where they are fastest."""
    backend = stand_in if where == "cuda" else get_backend("cpu")
    nx, ny, n, rng = 5, 12, 77, np.random.default_rng(0)
    a = {k: rng.integers(-8, 9, (nx if k in "uv" else ny, n)).astype(float) for k in "uvpq"}
    room = 80 if layout == "left" else n
    wanted = -a["p"][:, None] * a["u"] - 0.5 * a["q"][:, None] * a["v"] + 2 * a["q"][:, None] * a["u"]
    text = "o[i j] = -u[j] p[i] - 0.5 q[i] v[j] + 2 u[j] q[i]"
    turn = lambda x: x if layout == "left" else np.ascontiguousarray(np.moveaxis(x, -1, 0))
    make = functools.partial(Contraction, text, dict(i=ny, j=nx), backend=backend, point="t", layout=layout, quick=True)
    first = make()

    for how in one_each(OUTER[backend.style].variants(outer.terms_of(first.program), "float64")):
        arrays = {k: backend.empty(turn(np.pad(x, ((0, 0), (0, room - n)))).shape) for k, x in a.items()}
        for k, x in a.items():
            arrays[k][...] = backend.from_host(turn(np.pad(x, ((0, 0), (0, room - n)))))

        arrays["o"] = backend.empty(first.shape("o", room))
        arrays["o"][...] = np.nan
        try:
            make(how=how).bind(arrays, n)()
        except VariantUnsuitable as reason:
            assert "bytes of shared memory" in str(reason) and how.form == "bulk_team"
            continue

        found = backend.to_host(arrays["o"])
        assert np.array_equal(found[..., :n] if layout == "left" else found, turn(wanted)), how
        assert np.isnan(found[..., n:]).all() or layout == "right"


@pytest.mark.parametrize(
    "text, options",
    [
        ("o[y x] += a[x] b[y]", {}),
        ("o[y x] = a[x] b[y] c[y]", {}),
        ("o[y x] = a[x] b[y] + a[x]", {}),
        ("o[y x] = a[y x] b[y]", {}),
        ("o[y x] = a[x] b[y]", {"constant": "b"}),
        ("o[y x] = a[x] b[y] + b[y] b[x]", {}),
        ("o[y t x] = a[t x] b[t y]", {"batch": "t", "point": None}),
        ("o[x] = a[x] b[x]", {}),
    ],
)
def test_what_is_no_outer_product(text, options):
    """Other organisations serve these; all but the sixth, where b has two roles, which is one."""
    made = Contraction(text, dict(x=4, y=4), backend="cpu", **{"point": "t", **options})
    assert (outer.terms_of(made.program) is not None) == ("b[x]" in text and "y" in text)

    if "b[x]" not in text:
        with pytest.raises(ArgumentError, match="no organisation 'jam' here"):
            Contraction(text, dict(x=4, y=4), backend="cpu", how="jam", **{"point": "t", **options})


def test_arrays_that_are_not_aligned_are_served():
    """A slice of a larger array, as hosts have them, and rows of different lengths: another organisation takes over,
    but not in place of one that was asked for."""
    rng, n, ns = np.random.default_rng(3), 101, 3
    for longer in (0, 7):
        arrays = {name: rng.random(ns * n + 1)[1:].reshape(ns, n) for name in READS}
        arrays["ax"] = np.pad(arrays["ax"], ((0, 0), (0, longer)))
        arrays["out"] = np.full(ns * ns * n + 1, np.nan)[1:].reshape(ns, ns, n)
        made = plan(get_backend("cpu"), "left", ns)
        made.bind(arrays, n)()
        wanted, size = oracle("left", *(arrays[name][:, :n] for name in READS))
        off = abs(arrays["out"].reshape(ns * ns, n) - wanted)

        assert (off <= 2 * np.finfo(float).eps * size).all()  # two products, one sum

        with pytest.raises(
            VariantUnsuitable, match="rows of different lengths" if longer else "not aligned to 64 bytes"
        ):
            plan(get_backend("cpu"), "left", ns, how=made.how).bind(arrays, n)


# ---- tuning


def broken(how):
    """A launch in place of that of outer products: block teams forget their work in one of three ways."""
    right = OuterPacks.launch

    def launch(variant, made, arrays, values, n):
        run = right(variant, made, arrays, values, n)
        if variant.name != "block":
            return run
        if how == "nothing":
            return lambda: None
        if how == "last":  # right at the small size that is checked whole, wrong in one value of the large
            return lambda: (run(), arrays["out"].__setitem__((0, 0, n // 2 + 1), 2.0) if n > 1000 else None)

        return lambda: (run(), arrays["out"].__imul__(1 + 1e-13))

    return launch


@pytest.mark.parametrize(
    "how, why", [("nothing", "were not written"), ("last", "sum of all outputs"), ("scaled", "of the terms' size")]
)
def test_a_wrong_variant_is_never_chosen(monkeypatch, how, why):
    monkeypatch.setattr(OuterPacks, "launch", broken(how))
    backend = get_backend("cpu")
    few = [v for v in variants_of(backend, "left", 3, "float64") if v.name in ("naive", "block")]
    outcomes, _ = tune_loops(backend, "left", 3, 20_011, "float64", rounds=1, variants=few)

    assert outcomes[0].variant.name == "naive" and outcomes[0].seconds > 0
    bad = [o for o in outcomes if o.variant.name == "block"]
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


def test_a_variant_by_its_line():
    """As tuning writes it; nobody else's choice is taken."""
    backend = get_backend("cpu")
    tiled = next(v for v in variants_of(backend, "left", 8, "float64") if v.label == "tiled by 4")
    line = organisations.written(tiled)

    assert line == "tiled form=tiled tile=4" and plan(backend, "left", 8, how=line).how == tiled
    default = plan(backend, "left", 8).how
    assert default == OuterPacks.default(outer.terms_of(plan(backend, "left", 8).program), "float64")

    with pytest.raises(ArgumentError, match="'tile=three' is no"):
        plan(backend, "left", 8, how="tiled tile=three")


@pytest.mark.parametrize("command", ["tune", "bench species-loops"])
def test_the_commands(tmp_path, monkeypatch, capsys, command):
    monkeypatch.setattr(bench_species, "points_for", lambda *_: 3000)
    chosen = {
        layout: [
            v for v in variants_of(get_backend("cpu"), layout, 3, "float64") if v.name in ("naive", "block", "warp")
        ]
        for layout in LAYOUTS
    }
    monkeypatch.setattr(bench_species, "variants_of", lambda be, layout, ns, dtype: chosen[layout])
    files = (
        ["--json", f"{tmp_path}/rows.json", "--png", f"{tmp_path}/rows.png", "--markdown", f"{tmp_path}/rows.md"]
        if command != "tune"
        else ["--out", f"{tmp_path}/found.csv"]
    )

    assert cli.main([*command.split(), "--backend", "cpu", "--ns", "3", *files]) == 0
    said = capsys.readouterr().out
    assert "% of copy" in said

    if command == "tune":
        monkeypatch.setenv("FRAME_ORGANISATIONS", str(tmp_path / "found.csv"))
        for layout in LAYOUTS:
            made = plan(get_backend("cpu"), layout, 3)
            assert made.row and made.how in chosen[layout] and organisations.written(made.how) == made.row.how
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
