"""Team kernels: each primitive for teams of many sizes, the exercises of examples/hierarchy, errors, a Fortran host.

On the CPU and on the stand-in that runs CUDA on it, which poisons scratch and knows who waits at a barrier; `pytest -m
gpu` runs the exercises on the device at their own sizes.
"""

import argparse
import contextlib
import functools
import importlib
import json
import pathlib
import re
import sys

import cuda_on_cpu
import numpy as np
import pytest
from hosts import BUILD, ROOT, compiled, library, run
from test_interop import told

import kernels
from frame import teams
from frame.impl import Sizes, TVImpl
from frame.stripe import Field
from frame.tools import names, precompile
from kernels import ArgumentError, UniqueToken, get_backend, team_kernel
from kernels.engine import backend as backends
from kernels.engine.backend import cache, cuda
from kernels.engine.backend.entry import THREADS
from kernels.engine.errors import CompileError
from kernels.teams.render import render

HEADER = pathlib.Path(__file__).with_name("teams.h")
HOST_KERNEL = ROOT / "examples/own_kernel/rows.py"
EXERCISES = ROOT / "examples" / "hierarchy"
MACHINE_CODE = cuda.machine_code
EPS = np.finfo(float).eps


@pytest.fixture(scope="module", autouse=True)
def folder():
    sys.path.insert(0, str(EXERCISES))
    yield
    sys.path.remove(str(EXERCISES))


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The folder of the stand-in's programs."""
    return tmp_path_factory.mktemp("cuda")


@contextlib.contextmanager
def on_stand_in(programs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupy", cuda_on_cpu.make())
        patch.setattr(backends, "_made", functools.cache(backends._made.__wrapped__))
        patch.setattr(cuda, "machine_code", cuda_on_cpu.compiler(programs))
        yield get_backend("cuda")


@pytest.fixture(scope="module", params=["cpu", "stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
def be(request, programs):
    if request.param == "stand-in":
        with on_stand_in(programs) as backend:
            yield backend
    else:
        yield get_backend("cpu" if request.param == "cpu" else "cuda")


def is_stand_in(be):
    return getattr(be.arrays, "__version__", "") == "stand-in"


def on(be, **arrays):
    return {name: be.from_host(np.ascontiguousarray(a), a.dtype) for name, a in arrays.items()}


def kernel(name, **more):
    return team_kernel(name, header=HEADER, **more)


# ---- primitives -----------------------------------------------------------------------------------------------------

# members x lanes: parts of warps, whole ones, several, and a last one that is not whole
TEAMS = [(1, 1), (3, 1), (1, 8), (3, 16), (8, 4), (1, 32), (33, 1), (40, 2), (5, 16), (128, 1), (4, 32)]
LEVELS = [
    kernel(
        f"levels_{team}x{vector}",
        body="levels",
        arrays="v(E,n) out(E,5) prefix(E,n) twice(E,n)",
        writes="out prefix twice",
        sums="total squares",
        league="E",
        team=team,
        vector=vector,
    )
    for team, vector in TEAMS
]
NEAR = {
    name: kernel(
        f"shifted_{name}",
        body="shifted_without" if name == "without" else "shifted_with",
        arrays="v(n) out(n)",
        writes="out",
        league="1",
        scratch={"team 0": "s(n)"},
        team=32 if name == "narrow" else 64,
    )
    for name in ("with", "without", "narrow")
}
ONE_WRITES = kernel("one_writes", arrays="out(E,n)", writes="out", league="E", scratch={"team 0": "s(1)"}, team=64)
ASTRAY = kernel("astray", arrays="out(1)", writes="out", league="1", team=64)
PARTS = {
    body: kernel(
        body, arrays="v(n) out(P,n)", writes="out", league="1", scratch={"team 0": "s(P,n)"}, team=16, vector=8
    )
    for body in ("two_parts", "four_parts", "parts_without")
}
ATOMICS = kernel(
    "atomics",
    arrays="real(3) whole(4):whole taken(n):whole bins(n)",
    writes="real whole taken bins",
    range="n",
)
POOL = kernel("pool", arrays="id(n):whole", writes="id", range="n", tokens={"ids": None})
FLAT = kernel("flat_sum", arrays="v(n)", numbers="factor:real", sums="total", range="n")


@pytest.mark.parametrize("body, parts", [("two_parts", 2), ("four_parts", 4)])
def test_parts_of_a_team_wait_for_themselves(be, body, parts):
    """Of two warps, of one; each part goes its own number of turns, so that no barrier of the whole team would do."""
    v = np.arange(77.0)
    arrays = on(be, v=v, out=np.full((parts, 77), np.nan))
    PARTS[body].run(arrays, be, quick=True)
    wanted = np.roll(v, -1) + np.arange(parts)[:, None]
    np.testing.assert_array_equal(be.to_host(arrays["out"]), wanted)


def test_a_missing_barrier_of_a_part_is_found(programs):
    """On the stand-in: what a warp beside has not yet written is NaN."""
    with on_stand_in(programs) as stand_in:
        arrays = on(stand_in, v=np.arange(77.0), out=np.full((2, 77), np.nan))
        PARTS["parts_without"].run(arrays, stand_in, quick=True)
        assert np.isnan(arrays["out"]).any()


def levels_of(be, k, v):
    E, n = v.shape
    arrays = on(be, v=v, out=np.full((E, 5), np.nan, v.dtype), prefix=np.full((E, n), np.nan, v.dtype))
    arrays |= on(be, twice=np.full((E, n), np.nan, v.dtype))
    run = k.bind(arrays, be, quick=True)
    run()

    return run, {name: np.array(be.to_host(a)) for name, a in run.arrays.items()}


@pytest.mark.parametrize("n", [0, 1, 5, 37])
@pytest.mark.quick(n=[0, 37])
def test_levels(be, n):
    """Whole numbers: every sum is exact, in any order."""
    v = np.random.default_rng(n).integers(-50, 50, (3, n)).astype(float)
    for k, (team, _) in zip(LEVELS, TEAMS):
        _, got = levels_of(be, k, v)
        sums = v.sum(1)
        least = np.minimum(v.min(1, initial=1e30), 1e30)
        wanted = np.stack([sums, sums, sums, least, sums], 1)

        np.testing.assert_array_equal(got["out"], wanted, err_msg=k.name)
        np.testing.assert_array_equal(got["prefix"], np.cumsum(v, 1) - v, err_msg=k.name)
        np.testing.assert_array_equal(got["twice"], 2 * v, err_msg=k.name)

        members = 1 if be.style == "packs" else team
        assert (got["total"], got["squares"]) == (sums.sum(), 3 * members), k.name


def test_a_league_of_none(be):
    """And a range of none: sums are 0."""
    _, got = levels_of(be, LEVELS[3], np.zeros((0, 5)))
    assert got["total"] == 0 == got["squares"]
    assert FLAT.run(on(be, v=np.zeros(0)), be, factor=2.0, quick=True) == {"total": 0}


def test_single_precision(be):
    """Whole numbers below 2^24."""
    A, B = (np.random.default_rng(3).integers(-50, 50, s).astype(np.float32) for s in ((3, 5, 37), (3, 37)))
    arrays = on(be, A=A, B=B, result=np.full((3, 5), np.nan, np.float32))
    run = importlib.import_module("scratch").SCRATCH_FIELD.bind(arrays, be, quick=True)
    run()
    wanted = np.einsum("eqi,ei->eq", A, B)

    np.testing.assert_array_equal(be.to_host(arrays["result"]), wanted)
    assert run.arrays["total"].dtype == np.float32 and run.value("total") == wanted.sum()


def test_sums_have_the_same_bits_every_time(be):
    """Random numbers: launches agree to the last bit, on a CPU also for other numbers of threads; the value is within
    n eps of the sum of sizes."""
    v = np.random.default_rng(4).random((40, 37)) - 0.5
    seen = set()
    others = [get_backend("cpu", threads=t) for t in (2, 3)] if be.style == "packs" else []

    for backend in (be, be, *others):
        for k in LEVELS[3:5]:
            run, got = levels_of(backend, k, v)
            seen.add((k.name * (be.style != "packs"), got["total"].tobytes(), got["out"].tobytes()))
            assert abs(got["total"] - v.sum()) <= v.size * EPS * abs(v).sum()
            run()
            assert np.array(be.to_host(run.arrays["total"])).tobytes() == got["total"].tobytes()

    assert len(seen) == (1 if be.style == "packs" else 2)


def test_atomics(be):
    n = 1000
    arrays = on(be, real=np.zeros(3), whole=np.zeros(4, np.int64), taken=np.zeros(n, np.int64), bins=np.zeros(n))
    ATOMICS.run(arrays, be, quick=True)
    got = {name: be.to_host(a) for name, a in arrays.items()}

    np.testing.assert_array_equal(got["real"], [96, n / 2, n * (n - 1) / 2])
    np.testing.assert_array_equal(got["whole"], [-1, 1, n - 1, n])
    np.testing.assert_array_equal(got["taken"], np.ones(n))  # each old value was given to one
    np.testing.assert_array_equal(got["bins"], np.ones(n))


def test_timers_have_the_name_of_the_kernel(be):
    """As of every other kernel. Items are teams, indices or tiles."""
    arrays = on(be, v=np.arange(40.0))
    with kernels.timed() as times:
        run = FLAT.bind(arrays, be, quick=True, factor=2.0)
        run()
        run()

    assert list(times) == [FLAT.name]
    assert times[FLAT.name].calls == 2 and times[FLAT.name].items == 2 * run.items


def test_the_pool_of_a_launch(be):
    """Its size follows from what can be held at once; ids are below it, and all are free at the end."""
    arrays = on(be, id=np.full(5000, -1))
    run = POOL.bind(arrays, be, quick=True)
    run()
    ids, pool = be.to_host(arrays["id"]), run.tokens["ids"]
    at_once = run.resident * (1 if be.style == "packs" else run.team * run.vector)

    assert at_once < pool.size <= 1.2 * at_once + 1 and pool.held == 0
    assert ids.min() >= 0 and ids.max() < pool.size


# ---- what the stand-in finds ----------------------------------------------------------------------------------------


@pytest.fixture
def stand_in(programs):
    with on_stand_in(programs) as backend:
        yield backend


def test_a_missing_barrier_is_found(stand_in):
    """What is read before it is written is NaN; with the barrier nothing is."""
    v = np.arange(200.0)
    for name, k in NEAR.items():
        arrays = on(stand_in, v=v, out=np.zeros(200))
        k.run(arrays, stand_in, quick=True)
        out = stand_in.to_host(arrays["out"])

        assert np.isnan(out).any() == (name == "without")
        if name != "without":
            np.testing.assert_array_equal(out, np.roll(v, -1))


def test_a_missing_barrier_behind_the_first_thread_is_found(stand_in):
    """Its threads begin with the last one in every other block."""
    arrays = on(stand_in, out=np.zeros((2, 64)))
    ONE_WRITES.run(arrays, stand_in, quick=True)
    assert np.isnan(stand_in.to_host(arrays["out"])).any()


def test_a_barrier_that_some_do_not_reach_is_found(stand_in):
    with pytest.raises(AssertionError, match="run_astray: threads wait at a barrier that others"):
        ASTRAY.run(on(stand_in, out=np.zeros(1)), stand_in, quick=True)


def test_a_missing_barrier_in_exercise_9(stand_in):
    assert importlib.import_module("scratch").scratch_race(stand_in, E=3, quick=True)


# ---- the exercises --------------------------------------------------------------------------------------------------

FILES = ("matrix_vector", "scratch", "primitives", "tokens", "contractions9")
SMALL = {  # sizes of the exercises, and of the stand-in where it takes longer
    "yax_flat": dict(N=300, M=50),
    "yax_atomic": dict(N=30, M=40),
    "yax_layout": dict(N=70, M=40),
    "yax_team": dict(N=30, M=300),
    "yax_rows_first": dict(N=5, M=300),
    "yax_vector": dict(E=7),
    "quiz": {},
    "scratch_field": dict(E=7),
    "scratch_levels": dict(E=3),
    "slicing": dict(N=3, M=13),
    "unique_token_pool": dict(N=3000, M=64),
    "unique_token_team": dict(E=20),
    "mdrange": dict(N=37, M=29),
    "subview": dict(N=5, M=9, E=12),
    "scan": {},
    "single": dict(E=5),
    "scatter": dict(N=20000),
    "nested_adjoint": dict(N=30, M=45),
    "contractions9": dict(N=2, M=5, E=3),
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.quick(
    name=[
        "mdrange",
        "scan",
        "scatter",
        "scratch_field",
        "scratch_levels",
        "unique_token_pool",
        "unique_token_team",
        "yax_vector",
    ]
)
@pytest.mark.quick(
    be="cpu",
    name=[
        "contractions9",
        "mdrange",
        "scan",
        "scatter",
        "scratch_field",
        "scratch_levels",
        "subview",
        "unique_token_pool",
        "unique_token_team",
        "yax_vector",
    ],
)
def test_exercise(be, name):
    (exercise,) = (getattr(module, name) for module in map(importlib.import_module, FILES) if hasattr(module, name))
    if be.style == "packs" or is_stand_in(be):
        exercise(be, **SMALL[name], nrepeat=1, quick=True)
    else:
        exercise(be)


def test_an_exercise_that_is_wrong_raises():
    common = importlib.import_module("common")
    with pytest.raises(common.WrongResult, match="x: .*wanted"):
        common.check("x", 1.0, 2.0)
    with pytest.raises(common.WrongResult, match="read before written"):
        common.check("x", np.nan, 2.0)


@pytest.mark.parametrize("name", [*FILES, "teams"])
@pytest.mark.quick(name=["contractions9", "tokens"])
def test_sources_compile_for_a_device(name):
    """NVRTC, sm_90; a thread spills 64 bytes at most, no more than a few numbers."""
    if name == "teams":
        declared = [k for k in kernels.registry.team_kernels.values() if k.header == HEADER]
    else:
        module = importlib.import_module(name)
        declared = [
            k
            for k in kernels.registry.team_kernels.values()
            if k.header == pathlib.Path(module.__file__).with_suffix(".h")
        ]

    if declared:
        path = MACHINE_CODE(render(declared, THREADS, np.float64), "sm_90")
        found = json.loads(cache.report(path))
        assert set(found) == {f"run_{k.name}" for k in declared}
        assert {name: told for name, told in found.items() if told["spill_stores"] > 64} == {}


# ---- numbers, tokens ------------------------------------------------------------------------------------------------


def test_a_number_follows_its_constant(be, registry):
    kernels.constant("factor", "1", "of a test")
    bound = lambda: FLAT.bind(on(be, v=np.arange(10.0)), be, quick=True)
    with pytest.raises(kernels.StateError, match="reads the constant 'factor'"):
        bound()

    kernels.set_constant("factor", 2.0)
    run = bound()

    for factor in (2.0, 3.0):
        kernels.set_constant("factor", factor)
        run()
        assert run.value("total") == 45 * factor


def test_a_token_of_another_backend():
    other = get_backend("cpu", threads=2)
    with pytest.raises(ArgumentError, match="token 'ids' is .*wanted a UniqueToken of backend cpu"):
        POOL.bind({"id": np.zeros(3, np.int64), "ids": UniqueToken(3, other)}, "cpu", quick=True)
    with pytest.raises(ArgumentError, match="unique token: size 0, wanted 1 or more"):
        UniqueToken(0, "cpu")


# ---- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more, words",
    [
        (dict(arrays="v(n", range="n"), "'v.n', wanted words such as A.N,M."),
        (dict(arrays="v(n):middle", range="n"), "'v' is marked .'middle'., wanted left or whole"),
        (dict(arrays="v(n)", writes="w", range="n"), "writes .'w'., which are not among its arrays"),
        (dict(arrays="v(n)"), "wanted one of league, range, extents"),
        (dict(arrays="v(n)", range="n", league="n"), "wanted one of league, range, extents"),
        (dict(extents="I J", tile=(8,)), "tile .8,. for 2 extents, wanted as many"),
        (dict(extents="I J", tile=(64, 32)), "1024 together at most"),
        (dict(extents="I J", tile=(8, 8), order="up"), "order 'up', wanted right or left"),
        (dict(arrays="v(n)", range="n", scratch={"team 0": "s(n)"}), "scratch is for leagues of teams"),
        (dict(league="1", scratch={"team 2": "s(4)"}), "scratch of 'team 2', wanted team 0, team 1"),
        (dict(league="1", numbers="n:long"), "a number is marked .'long'., wanted real or whole"),
        (dict(league="1", arrays="v(n)", numbers="v"), "the name 'v' is there twice"),
        (dict(league="1", vector=3), "members of 3 lanes; wanted 1, 2, 4, 8, 16 or 32"),
        (dict(league="1", team=512, vector=4), "512 members of 4 lanes; wanted .*1024"),
        (dict(league="1", header="none.h"), "none.h' does not exist"),
    ],
)
def test_declarations_that_are_refused(more, words):
    with pytest.raises(ArgumentError, match=words):
        team_kernel("refused", **{"header": HEADER, **more})


def test_a_name_that_is_taken():
    with pytest.raises(ArgumentError, match="team kernel 'flat_sum': the name is taken"):
        kernel("flat_sum", arrays="v(n)", range="n")
    with pytest.raises(ArgumentError, match="team kernel 'thermal': the name is taken"):
        kernel("thermal", league="1")


GOOD = dict(v=np.ones((3, 5)), out=np.zeros((3, 5)), prefix=np.zeros((3, 5)), twice=np.zeros((3, 5)))


@pytest.mark.parametrize(
    "more, words",
    [
        (dict(v=None), "array 'v' is missing"),
        (dict(w=np.zeros(3)), "has no array 'w'; it has v, out, prefix, twice, total, squares"),
        (dict(v=[1.0]), "'v' is list, wanted an array"),
        (dict(v=np.ones(3)), "array 'v' has 1 dimensions .3,., wanted 2: .E, n."),
        (dict(v=np.ones((3, 5), int)), "type int64, wanted float64 or float32"),
        (dict(twice=np.ones((3, 5), np.float32)), "array 'twice' has type float32, wanted float64"),
        (dict(prefix=np.zeros((3, 6))), "array 'prefix', extent n: 6, wanted 5"),
        (dict(out=np.zeros((3, 4))), "array 'out', extent 5: 4, wanted 5"),
        (dict(v=np.ones((3, 10))[:, ::2]), "array 'v', extent n: neighbours are 16 bytes apart, wanted 8"),
        (dict(v=np.ones((5, 3)).T), "array 'v', extent n: neighbours are 24 bytes apart"),
        (dict(prefix=GOOD["out"], out=GOOD["out"]), "'out' is written and shares memory with 'prefix'"),
        (dict(v=np.float64(1)), "'v' is float64, wanted an array"),
        (dict(v=np.ones((3, 5), complex)), "type complex128, wanted float64 or float32"),
        (dict(twice=np.ones((3, 5), complex)), "array 'twice' has type complex128, wanted float64"),
        (dict(v=np.ma.array(np.ones((3, 5)))), "array 'v' is masked, and a kernel reads no masks"),
        (dict(total=np.zeros(2)), "sum 'total' has shape .2,., type float64, wanted .1,., float64"),
    ],
)
def test_arrays_that_are_refused(more, words):
    arrays = {name: a for name, a in {**GOOD, **more}.items() if a is not None}
    with pytest.raises(ArgumentError, match=words):
        LEVELS[0].bind(arrays, "cpu")


def test_numbers_and_formulas_that_are_refused():
    v = np.ones(3)
    with pytest.raises(ArgumentError, match="the number 'factor' is missing: give it, or declare constant"):
        FLAT.bind({"v": v}, "cpu")
    with pytest.raises(ArgumentError, match="has no number 'n'; it has factor"):
        FLAT.bind({"v": v}, "cpu", n=3, factor=1.0)

    for wrong, words in (
        (1j, "'factor': type complex128, wanted real"),
        ("1", "not text"),
        ([1.0], "is an array of shape"),
    ):
        with pytest.raises(ArgumentError, match=words):
            FLAT.bind({"v": v}, "cpu", factor=wrong)

    with pytest.raises(ArgumentError, match="read-only, and written"):
        frozen = np.zeros(3, np.int64)
        frozen.flags.writeable = False
        POOL.bind({"id": frozen}, "cpu")

    for text, words in {
        "n // (n - 3)": "division by zero",
        "k + 1": "'k' is not known; known: n",
        "n ** 2": "wanted numbers, names and",
        "n +": "wanted numbers, names and",
        "n - 9": "league of .-6., wanted 0 or more",
    }.items():
        try:
            wrong = kernel("wrong", body="astray", arrays="out(n)", writes="out", league=text)
            with pytest.raises(ArgumentError, match=words):
                wrong.bind({"out": v}, "cpu")
        finally:
            kernels.registry.team_kernels.pop("wrong", None)


@pytest.mark.parametrize("name, fits", [("narrow", 29056), ("with", 28992)])
def test_level_0_is_full(be, name, fits):
    """227 KiB; a team of several warps has 512 bytes for its sums among them."""
    arrays = on(be, v=np.arange(fits, dtype=float), out=np.zeros(fits))
    NEAR[name].run(arrays, be, quick=True)
    np.testing.assert_array_equal(be.to_host(arrays["out"]), np.roll(np.arange(fits), -1))

    more = on(be, v=np.zeros(fits + 1), out=np.zeros(fits + 1))
    with pytest.raises(ArgumentError, match=r"scratch of level 0 is \d+ bytes a team.*wanted 232448 .227 KiB."):
        NEAR[name].bind(more, be, quick=True)


def test_a_body_that_does_not_compile(tmp_path):
    (tmp_path / "slip.h").write_text(
        "template <class M, class Team> POINT_FN void slip(const M &m, const Team &team) {\n"
        "    team.for_vector(m.n, [&](auto i) { m.out(i) = tanh(m.v(i)); });\n}\n"
    )

    slip = team_kernel("slip", header=tmp_path / "slip.h", arrays="v(n) out(n)", writes="out", league="1")
    try:
        with pytest.raises(CompileError, match=r"kernel 'slip' \(slip.h, line 2\)"):
            slip.bind({"v": np.zeros(3), "out": np.zeros(3)}, "cpu", quick=True)
    finally:
        kernels.registry.team_kernels.pop("slip")


# ---- hosts ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def rows():
    with kernels.registry.temporary():
        kernels.load_declarations(HOST_KERNEL)
        yield kernels.registry.team_kernels["rows"]


def test_a_fortran_host_calls_a_team_kernel_by_its_name():
    done = run(compiled("teams.f90"), HOST_KERNEL)
    got = told(done)
    for call in ("register", "init", "run", "again", "finalize"):
        assert got[call] == (0, ""), got[call]

    assert re.findall(r"^(.*) right = *(.*)$", done.stdout, re.M) == [("run", "T T T"), ("again", "T T T")]

    for call, words in {
        "lo": "team kernel 'rows' takes no lo and hi.",
        "extent": "array 'x', extent M: 100, wanted 101.",
        "section": "array 'A', extent M: neighbours are 16 bytes apart, wanted 8: contiguous, the last index fastest.",
        "in": "'y' is written, so it is given by frame_out.",
        "shared": "'y' is written and shares memory with 'largest'.",
        "unknown": "has no array 'z'; it has A, x, y, largest, total.",
        "missing": "array 'y' is missing.",
        "launch": "'rows' is a team kernel, which works on whole arrays: call frame_block('rows', ",
    }.items():
        assert got[call][0] == 3 and words in got[call][1], got[call]


BY_ADDRESS = """
import ctypes, sys
import numpy as np
frame = ctypes.CDLL(sys.argv[1])
A, x = np.arange(12.0).reshape(4, 3), np.ones(3)
y, largest, total = np.full(4, np.nan), np.full(4, np.nan), np.full(1, np.nan)
arrays = [A, x, y, largest, total]
names, extents = b"A, x, y, largest, total", [3, 4, 3, 4, 4, 1]
addresses = (ctypes.c_void_p * 5)(*[a.ctypes.data for a in arrays])
assert frame.frame_registerkernel_(sys.argv[2].encode()) == 0
assert frame.frame_initialize_(-1, 1, 1, 1, 0) == 0
def call(tag=b"rows", names=names, extents=extents, size=8):
    return frame.frame_team_(tag, names, addresses, 5, (ctypes.c_int * len(extents))(*extents), len(extents), size)
for _ in range(2):
    assert call() == 0
    assert (y == A.sum(1)).all() and (largest == A.max(1)).all() and total == A.sum()
    A *= -2
text = ctypes.create_string_buffer(400)
for wrong in (dict(tag=b"row"), dict(names=names.replace(b"x", b"z")), dict(extents=[3, 4, 3, 5, 4, 1]),
              dict(extents=[3, 4]), dict(size=2), dict(extents=[3, 4, 3, 4, 4, 2])):
    frame_status = call(**wrong)
    frame.frame_lasterror_(text, 399)
    print(frame_status, text.value.decode().strip())
"""


def test_a_team_kernel_by_names_and_addresses(tmp_path):
    """As C and old-style Fortran call it; the second call repeats the first with other values."""
    done = run(sys.executable, "-c", BY_ADDRESS, library(), HOST_KERNEL, FRAME_ON_ERROR="return")
    assert done.returncode == 0, done.stdout + done.stderr

    lines = done.stdout.strip().splitlines()
    for line, words in zip(
        lines,
        (
            "unknown team kernel 'row', did you mean 'rows'",
            "team kernel 'rows': no array 'z'; it has A, x, y, largest, total",
            "array 'y', extent N: 5, wanted 4",
            "2 extents, wanted 6: 2 of 'A', 1 of 'x'",
            "bytes = 2, wanted 8 or 4",
            "'total'",
        ),
    ):
        assert line.startswith("3 ") and words in line, line

    source = tmp_path / "old.f90"
    source.write_text(OLD_STYLE)
    done = run(compiled(source), HOST_KERNEL)

    assert done.stdout.split() == ["3.0", "12.0", "15.0"], done.stdout + done.stderr


OLD_STYLE = """program old
  use, intrinsic :: iso_c_binding
  implicit none
  real(8), target :: A(3, 2) = reshape([0d0, 1d0, 2d0, 3d0, 4d0, 5d0], [3, 2]), x(3) = 1, y(2), largest(2), total(1)
  character(300) :: file
  type(c_ptr) :: at(5)
  integer :: extents(6) = [3, 2, 3, 2, 2, 1]
  call get_command_argument(1, file)
  call frame_registerkernel(trim(file)//char(0))
  call frame_initialize(%VAL(-1), %VAL(1), %VAL(1), %VAL(1), %VAL(0))
  at = [c_loc(A), c_loc(x), c_loc(y), c_loc(largest), c_loc(total)]
  call frame_team('rows'//char(0), 'A, x, y, largest, total'//char(0), at, %VAL(5), extents, %VAL(6), %VAL(8))
  print '(3f6.1)', y, total
  call frame_finalize()
end program
"""


def test_the_table_of_names_has_it(rows):
    (line,) = [line for line in names.teams() if line.startswith("| rows ")]
    assert line == "| rows | league N | A(N,M) x(M) | y(N) largest(N) total | factor |  |"


def test_it_is_compiled_ahead(rows, capsys):
    """`python -m frame compile --register`, for a device that is not here too."""
    given = argparse.Namespace(
        only=None,
        register=[HOST_KERNEL],
        backend="cuda",
        arch="sm_90",
        kernels=False,
        ns=1,
        precision="double",
        block=[],
        contraction=[],
    )

    kernels.registry.team_kernels.pop("rows")
    assert precompile.main(given, None) == 0
    assert "cuda  rows\n" in capsys.readouterr().out


def blocks_of(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page, re.S)


def test_the_page_shows_what_runs(rows, monkeypatch):
    page = (ROOT / "docs/howto/team_kernels.md").read_text()
    declaration, call = blocks_of(page, "python")

    assert blocks_of(page, "cpp") == [HOST_KERNEL.with_suffix(".h").read_text()]
    assert declaration == HOST_KERNEL.read_text()

    monkeypatch.chdir(ROOT)
    exec(call, {})
    source = BUILD / "tests" / "call_rows.f90"
    source.parent.mkdir(parents=True, exist_ok=True)
    (text,) = blocks_of(page, "fortran")
    if not source.exists() or source.read_text() != text:
        source.write_text(text)
    done = run(compiled(source), cwd=ROOT)

    assert done.stdout.split() == "12.0 44.0 76.0 3.0 7.0 11.0 132.0".split(), done.stdout + done.stderr


def test_arrays_of_a_host_beside_a_device(be, rows):
    """Pageable ones are copied there and back at every call; those of the device are worked on where they are."""
    rng = np.random.default_rng(8)
    host = {n: np.asfortranarray(rng.integers(-9, 9, s).astype(float)) for n, s in (("A", (5, 7)), ("x", (5,)))}
    host |= {"y": np.zeros(7), "largest": np.zeros(7), "total": np.zeros(1)}

    def fields(arrays, address):
        return [
            Field(n, n not in ("A", "x"), address(a), a.shape, host[n].strides, (1,) * a.ndim, 8)
            for n, a in arrays.items()
        ]

    state = TVImpl(be, Sizes(1, 1)).state
    again = teams.bind(rows, fields(host, lambda a: a.ctypes.data), state)
    again()

    for _ in range(2):
        wanted = host["x"] @ host["A"]
        np.testing.assert_array_equal(host["y"], wanted)
        assert host["total"] == wanted.sum() and (host["largest"] == host["A"].max(0)).all()
        host["x"] *= -1
        again()

    there = {n: be.from_host(np.ascontiguousarray(a.T), a.dtype).T for n, a in host.items()}
    there["y"][...] = 0
    teams.bind(rows, fields(there, lambda a: be.address(a)), state)()
    be.synchronize()

    np.testing.assert_array_equal(be.to_host(there["y"]), host["x"] @ host["A"])
