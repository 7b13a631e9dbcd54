"""The CUDA backend: on a GPU with `pytest -m gpu`, otherwise the same tests on a stand-in that runs the CUDA on the
CPU.

The stand-in (cuda_on_cpu.py) executes the real CUDA C++ and the real cuda.py. Only a GPU shows the device's own exp,
log and FMA, and the order of operations in time.
"""

import functools
import os
import shutil
import subprocess
import sys

import cuda_on_cpu
import numpy as np
import pytest
from conditioning import assert_close
from kernel_cases import N, compare, expected, mixture, project_kernels, states
from mixtures_for_tests import ROOT, species_set
from reference import derivatives, diffusion as diffusion_oracle, oracle, species, value
from states import impossible_states, random_states

from frame.stripe import Field
from frame.tools.bench import inputs
from kernels import Mixture, get_backend
from kernels.engine import backend as backends
from kernels.engine.backend import cuda
from kernels.engine.errors import ArgumentError, BackendError
from kernels.marshal import Block, Marshal

STAND_IN = "stand-in"
NAMES = "phase_flag W Z rho h e s cp cv gamma c rho_p rho_T h_p h_T h0 X mu lam D D_mass"


@pytest.fixture(scope="module", params=[STAND_IN, pytest.param("gpu", marks=pytest.mark.gpu)])
def be(request, tmp_path_factory):
    """The CUDA backend."""
    if request.param == "gpu":
        yield get_backend("cuda")
        return

    if not shutil.which("g++"):
        pytest.skip("the stand-in needs g++")
    machine_code = cuda_on_cpu.compiler(cuda_on_cpu.shared_folder(tmp_path_factory.getbasetemp()))

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupy", cuda_on_cpu.make())
        patch.setattr(backends, "_made", functools.cache(backends._made.__wrapped__))
        patch.setattr(cuda, "machine_code", machine_code)
        yield get_backend("cuda")


def is_gpu(be):
    return be.arrays.__version__ != STAND_IN


def bound(be, program, n, given):
    """Device arrays for a program: inputs filled, outputs NaN."""
    rows = {a: program.plan.rows(a) for a in program.plan.arguments}
    arrays = {a: be.from_host(np.full((rows[a], be.pad(n)), np.nan)) for a in rows}

    for name, values in given.items():
        if name in arrays:
            full = np.full((rows[name], be.pad(n)), np.nan)
            full[:, :n] = values
            arrays[name] = be.from_host(full)

    return arrays


# ---- programs


@pytest.mark.parametrize("ns", [1, 2, 10, 53])
@pytest.mark.quick(ns=10)
def test_against_oracle_and_cpu(be, ns):
    """Thermal and viscous properties at random states: against the oracle, and against the CPU backend."""
    n = (10_000 if ns < 20 else 2000) if is_gpu(be) else 400  # the oracle's pairs at NS = 53 take gigabytes
    on_cpu, on_gpu = (mixture(ns).properties(NAMES, **states(ns, n), backend=b) for b in ("cpu", be))
    q = expected(ns, n)
    print(f"NS={ns}, error over bound:", {k: f"{r:.2f}" for k, r in compare(NAMES, on_gpu, q, f"NS={ns} cuda").items()})

    for name in NAMES.split():
        # each is within N of the oracle's bound
        assert_close(
            on_gpu[name],
            on_cpu[name],
            2 * N,
            scale=getattr(q, name).err,
            what=f"NS={ns} cuda-cpu {name}",
            skip=q.undecided,
        )


@pytest.mark.parametrize("kij", ["none", "dense", "low_rank", "sparse"])
@pytest.mark.parametrize("ns", [2, 10, 53])
@pytest.mark.quick(ns=53)
def test_every_structure_of_kij(be, ns, kij):
    names = "rho h cp c Tc_mix"
    got = mixture(ns, kij).properties(names, **{k: states(ns, 300)[k] for k in "TpY"}, backend=be)
    compare(names, got, expected(ns, 300, kij, False), f"NS={ns} {kij} cuda")


@pytest.mark.parametrize(
    "option",
    [
        "root=vapour",
        "root=liquid",
        "equation=srk",
        "translation=peneloux",
        "mixing=pseudocritical",
        "alpha=cantera",
        "chung=published",
        "chung=cantera",
        "diffusion=fuller",
        "diffusion=cantera",
        "viscosity=lucas",
        "takahashi=table",
        "takahashi=off",
    ],
)
@pytest.mark.long(option=["root=liquid", "root=vapour", "takahashi=off", "translation=peneloux"])
@pytest.mark.long(option=["chung=cantera", "diffusion=cantera"])
def test_every_option(be, option):
    options = dict([option.split("=")])
    got = mixture(10, **options).properties("rho cp mu lam D", **{k: states(10, 300)[k] for k in "TpY"}, backend=be)
    compare("rho cp mu lam D", got, expected(10, 300, **options), f"{option} cuda")


@pytest.mark.parametrize("ns", [2, 10, 53])
@pytest.mark.quick(ns=10)
def test_pseudocritical_pairs(be, ns):
    """All of thermal, partial properties and an inversion; 53 species go through the matrix units."""
    names, options = "rho h cp c Tc_mix", dict(mixing="pseudocritical")
    mix, s = mixture(ns, "dense", **options), {k: states(ns, 100)[k] for k in "TpY"}
    q = expected(ns, 100, "dense", False, **options)

    compare(names, mix.properties(names, **s, backend=be), q, f"NS={ns} pairs cuda")
    partial = derivatives.of_state(
        q, species.arrays(species_set(ns, "dense"), tracked=True), {**oracle.OPTIONS, **options}
    )
    partial.undecided = q.undecided

    compare(
        "v_Y h_Y ln_phi rho_Y", mix.properties("v_Y h_Y ln_phi rho_Y", **s, backend=be), partial, f"NS={ns} pairs cuda"
    )
    h = mix.properties("h", **s)["h"]
    on = [mix.properties("T", h=h, p=s["p"], Y=s["Y"], backend=b)["T"] for b in ("cpu", be)]
    scale = s["T"] + q.h.err / np.abs(value(q.cp)).astype(float)

    assert_close(on[1], on[0], 4 * N, scale=scale, what=f"NS={ns} pairs T of h", skip=q.undecided)


@pytest.mark.parametrize("ns", [13, 20])
@pytest.mark.parametrize("diffusion", ["kinetic", "fuller"])
@pytest.mark.quick(diffusion="fuller", ns=13)
def test_friction_by_matrix_units(be, ns, diffusion):
    """D without Takahashi for 13 species and more, with its matrices outside of the struct for `kinetic`, as on the
    CPU. All terms are positive."""
    mix = inputs.mixture(ns, "none", takahashi="off", diffusion=diffusion)
    given = {q: inputs.states(ns, 150, "smooth")[q] for q in "TpY"}
    program = mix.program(outputs=("D", "mu"), given=("T", "p", "Y"), backend=be)

    assert program.plan.how.pairs == "units" and "friction_tiles" in program.plan.values
    on_cpu, on_gpu = (mix.properties("D", **given, backend=b)["D"] for b in ("cpu", be))
    np.testing.assert_allclose(on_gpu, on_cpu, rtol=1e-13)

    if (ns, diffusion) != (13, "kinetic"):
        return

    # a box of 9 x 4 x 4 points in arrays of 12 x 5 x 5: the same bits, for which lanes read each other's points
    box, shape = np.s_[:, 1:5, :4, 2:11], (5, 5, 12)
    arrays = {a: np.full((program.plan.rows(a), *shape), -1.0) for a in program.plan.arguments}
    for name, values in given.items():
        arrays[name][box] = np.reshape(values[..., :144], (-1, 4, 4, 9))
    there = {a: be.from_host(array.reshape(len(array), -1)) for a, array in arrays.items()}
    first = 60 + 2
    program.bind({a: array[:, first:] for a, array in there.items()}, (9, 4, 1, 12, 60))(144)

    for name, wanted in mix.properties("D mu", **given, backend=be).items():
        got = be.to_host(there[name]).reshape(-1, *shape)
        np.testing.assert_array_equal(got[box].reshape(len(got), -1), np.reshape(wanted, (len(got), -1))[:, :144])
        got[box] = -1.0
        assert (got == -1.0).all()


@pytest.mark.parametrize("which", ["cpu", "cuda"])
@pytest.mark.quick(which="cuda")
def test_takahashi_of_pairs(be, which, any_temperature):
    """The tabulated factor of pairs in any ratio, most of them where it is steep, against the formula. To the table's
    own 2e-7 comes an error of position: reduced temperature and pressure of a pair are known to a few roundings of
    single precision, and between two rows the factor changes by up to 1."""
    mix, bare = mixture(10), mixture(10, takahashi="off")
    random, n = np.random.default_rng(7), 40_000 if which == "cpu" or is_gpu(be) else 1500
    Y = random.dirichlet(np.full(10, 0.2), n).T
    k = random.integers(0, 10, n)
    Tc, pc = mix.constant("Tc").array, mix.constant("pc").array
    T, p = random.uniform(0.6, 2.5, n) * Tc[k], random.uniform(0.05, 6, n) * pc[k]
    backend = "cpu" if which == "cpu" else be
    got, low, X = (
        m.properties(q, T=T, p=p, Y=Y, backend=backend)[q] for m, q in ((mix, "D_ij"), (bare, "D_ij"), (mix, "X"))
    )
    x = np.maximum(X, 1e-20)

    for i in range(10):
        for j in range(i + 1):
            y = x[i] / (x[i] + x[j])
            exact = diffusion_oracle.takahashi(
                T / (y * Tc[i] + (1 - y) * Tc[j]), p / (y * pc[i] + (1 - y) * pc[j]), "smooth"
            )
            assert np.abs(got[10 * i + j] / low[10 * i + j] - exact).max() < 6e-7, (i, j)


@pytest.mark.parametrize("ns", [10, 13])
@pytest.mark.quick(ns=13)
def test_states_beyond_the_ends_of_takahashi_table(be, ns, any_temperature):
    """On a GPU too no temperature and no pressure leads out of the table. Results are compared with the formula in
    quadruple precision; the factor is 0.01 or more, with an error of 6e-7."""
    mix, (T, p, Y) = inputs.mixture(ns, "none"), impossible_states(ns)
    for name in ("D", "D_ij"):
        exact = mix.properties(name, T=T, p=p, Y=Y, backend="cpu", precision="wide")[name]
        assert np.abs(mix.properties(name, T=T, p=p, Y=Y, backend=be)[name] / exact - 1).max() < 6e-5, name


@pytest.mark.parametrize("which", ["cpu", "cuda"])
@pytest.mark.parametrize("ns", [5, 15, 26])
@pytest.mark.quick(ns=5)
@pytest.mark.quick(ns=[5, 15], which="cuda")
def test_what_is_unknown_leads_to_no_number(be, ns, which):
    """NaN, infinite or impossible T, p or one of Y: D_ij and D, whose factor comes from a table, are NaN there and
    nowhere else."""
    mix, n = inputs.mixture(ns, "none"), 64
    given = {q: inputs.states(ns, n)[q] for q in "TpY"}

    points = {
        3: ("T", np.nan),
        10: ("p", np.nan),
        17: ("Y", np.nan),
        24: ("T", -1.0),
        31: ("p", 0.0),
        38: ("T", np.inf),
        45: ("Y", np.inf),
    }

    for point, (name, bad) in points.items():
        given[name][..., point] = bad if name != "Y" else np.where(np.arange(ns) == ns // 2, bad, given["Y"][:, point])
    for name in ("D", "D_ij"):
        got = mix.properties(name, **given, backend="cpu" if which == "cpu" else be)[name]
        unknown = np.isnan(got).all(0) if name == "D" else np.isnan(got).any(0)
        assert {int(k) for k in np.flatnonzero(unknown)} == set(points), name
        assert np.isfinite(np.delete(got, list(points), axis=1)).all(), name


def test_bits_do_not_depend_on_the_place(be):
    """One launch, stripes of 37, and another row length give the same bits at every point."""
    mix, n = Mixture(species_set(10)), 333
    T, p, Y = random_states(10, n, seed=24)
    program = mix.program(outputs=("rho", "mu", "D"), given=("T", "p", "Y"), backend=be)

    def run(first, last):
        arrays = bound(be, program, last - first, {"T": T[first:last], "p": p[first:last], "Y": Y[:, first:last]})
        program.bind(arrays)(last - first)
        return [be.to_host(arrays[a])[:, : last - first] for a in ("rho", "mu", "D")]

    whole = run(0, n)
    parts = [np.concatenate(part, axis=1) for part in zip(*(run(i, min(i + 37, n)) for i in range(0, n, 37)))]
    for a, b in zip(whole, parts):
        assert np.array_equal(a, b) and np.isfinite(a).all()


def test_only_the_first_n_points_are_written(be):
    mix = Mixture(species_set(2))
    program = mix.program(outputs=("rho",), given=("T", "p", "Y"), backend=be)
    T, p, Y = random_states(2, 150, seed=25)
    arrays = bound(be, program, 150, {"T": T, "p": p, "Y": Y})
    run = program.bind(arrays)
    run(70)
    rho = be.to_host(arrays["rho"])[0]

    assert np.isfinite(rho[:70]).all() and np.isnan(rho[70:]).all()
    with pytest.raises(ArgumentError, match="the arrays hold"):
        run(be.pad(150) + 1)


def test_two_mixtures_keep_their_constants(be):
    """Programs of equal source have their own constants."""
    one, other = Mixture(species_set(10)), Mixture(species_set(10, "dense"))
    state = dict(T=200.0, p=1e7, Y=np.full(10, 0.1))
    third = Mixture(species_set(10).with_fit_range(200.0, 3000.0))
    first = {m: m.properties("rho D", **state, backend=be) for m in (one, other, third)}
    again = {m: m.properties("rho D", **state, backend=be) for m in (one, other, third)}

    for m in first:
        assert all(np.array_equal(first[m][q], again[m][q]) for q in ("rho", "D"))
        # 10 species, k_ij: some 50 roundings, far from the critical point
        assert_close(
            first[m]["rho"], m.properties("rho", **state, backend="cpu")["rho"], 50, scale=np.abs(first[m]["rho"])
        )

    assert not np.array_equal(first[one]["D"], first[third]["D"])


def test_device_arrays_stay_on_the_device(be):
    mix = Mixture(species_set(10))
    T, p, Y = random_states(10, 60, seed=26)
    host = mix.properties("rho D", T=T, p=p, Y=Y, backend=be)
    made = mix.properties("rho D", T=be.from_host(T), p=be.from_host(p), Y=be.from_host(Y))

    for name in host:
        assert isinstance(made[name], be.arrays.ndarray)
        assert np.array_equal(be.to_host(made[name]), host[name])


# ---- blocks and stripes


def random_block(rng):
    """A field in memory with a random layout, and a random selection: (array, lo, n)."""
    shape = tuple(int(x) for x in rng.integers(1, 12, 4))
    lo = tuple(int(rng.integers(0, s)) for s in shape)
    n = tuple(int(rng.integers(1, s - o + 1)) for s, o in zip(shape, lo))
    field = rng.random(shape[::-1]).T if rng.random() < 0.6 else rng.random(shape)
    return (field[:, ::-1] if rng.random() < 0.3 else field), lo, n


@pytest.mark.parametrize("where", ["pageable", "pinned", "device"])
@pytest.mark.parametrize("seed", range(12))
def test_gather_and_scatter(be, where, seed):
    """A random stripe of a random selection; the rest of the view and of the block is unchanged."""
    rng = np.random.default_rng(seed)
    field, lo, n = random_block(rng)
    points = n[0] * n[1] * n[2]
    start = int(rng.integers(0, points))
    count = int(rng.integers(1, points - start + 1))
    picked = np.arange(field.size).reshape(field.shape)[tuple(slice(a, a + m) for a, m in zip(lo, n))]
    stripe = picked.reshape(points, n[3], order="F")[start : start + count].T

    base = field if field.base is None else field.base
    base = base if base.base is None else base.base
    low, flat = base.ctypes.data, base.reshape(-1)
    strides = tuple(s // 8 for s in field.strides)
    before = field.copy()

    if where == "device":
        held = be.from_host(flat)
        address = held.data.ptr + (field.ctypes.data - low)
    else:
        address = field.ctypes.data

    if where == "pinned":
        be.arrays.cuda.runtime.hostRegister(low, base.nbytes, 0)
    try:
        block = Block(address, field.shape, strides, lo, n, on_device=where == "device")
        view = be.from_host(np.full((n[3], be.pad(count)), np.nan))
        Marshal(be).gather(block, start, count, view)
        got = be.to_host(view)

        assert np.array_equal(got[:, :count], before.reshape(-1)[stripe]) and np.isnan(got[:, count:]).all()
        Marshal(be).scatter(block, start, count, be.from_host(np.where(np.isnan(got), got, -got)))
    finally:
        if where == "pinned":
            be.synchronize()
            be.arrays.cuda.runtime.hostUnregister(low)

    if where == "device":
        flat[...] = be.to_host(held)
    after = before.copy()
    after.reshape(-1)[stripe] *= -1

    assert np.array_equal(field, after)


def test_stripes_in_a_row_do_not_mix(be):
    """Packing for the next stripe must wait for the copy of an earlier one: ten stripes, each into its own view."""
    field = np.asfortranarray(np.random.default_rng(5).random((40, 30, 20, 6)))
    block = Block(field.ctypes.data, field.shape, tuple(s // 8 for s in field.strides), (3, 2, 0, 0), (34, 26, 20, 6))
    views, step = [], 34 * 26 * 2

    for start in range(0, block.points, step):
        views.append(be.empty((6, be.pad(step))))
        Marshal(be).gather(block, start, step, views[-1])

    expected = field[3:37, 2:28].reshape(block.points, 6, order="F").T
    got = np.concatenate([be.to_host(v)[:, :step] for v in views], axis=1)
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("chunk", (3000, 9000, 40000))
def test_block_call_overlaps_and_agrees(be, chunk):
    """The layer's own chunk loop, in one lane and in two, on arrays large enough to be pinned. The results are those of
    one launch of all points, the fringe is unchanged, and nothing stays pinned."""
    from frame.impl import TVImpl

    shape, ns = (64, 50, 11), 10
    rng = np.random.default_rng(8)
    T, p, rho, D = (np.asfortranarray(rng.random((*shape, n))) for n in (1, 1, 1, ns))
    Y = np.asfortranarray(rng.dirichlet(np.ones(ns), shape))
    T[...], p[...] = 300 + 2000 * T, 1e6 + 1e7 * p
    rho_before, D_before = rho.copy(), D.copy()

    def block(field):
        return Block(
            field.ctypes.data,
            field.shape,
            tuple(s // 8 for s in field.strides),
            (2, 1, 0, 0),
            (60, 48, 11, field.shape[3]),
        )

    impl = TVImpl(be, chunk, ns, 1)
    impl.set_mixture(mixture(ns))
    impl.block(
        "thermal_viscous", [("T", block(T)), ("p", block(p)), ("Y", block(Y))], [("rho", block(rho)), ("D", block(D))]
    )
    inner = (slice(2, 62), slice(1, 49))
    state = {"T": T[inner][..., 0], "p": p[inner][..., 0], "Y": np.moveaxis(Y[inner], -1, 0)}
    want = mixture(ns).properties("rho D", backend=be, **state)  # the same program, so the same bits

    assert np.array_equal(rho[inner][..., 0], want["rho"]) and np.array_equal(np.moveaxis(D[inner], -1, 0), want["D"])

    for field, before in ((rho, rho_before), (D, D_before)):
        before[inner] = field[inner]
        assert np.array_equal(field, before)

    assert [be.arrays.cuda.runtime.pointerGetAttributes(f.ctypes.data).type for f in (T, Y, D)] == [0, 0, 0]


def kinds(be, field):
    """Memory types of the field's first and last element: 0 pageable, 1 pinned."""
    return [be.arrays.cuda.runtime.pointerGetAttributes(field.ctypes.data + at).type for at in (0, field.nbytes - 8)]


def test_pinned_arrays_may_share_pages(be):
    """Four adjacent arrays whose ends lie within pages. Each is copied correctly with any of them pinned, and a page
    stays pinned as long as one of its arrays is."""
    parts = np.split(np.random.default_rng(9).random(4 * 10000 + 8)[3:40003], 4)
    assert all(a.ctypes.data % 4096 for a in parts[1:])

    def reach():
        for a in parts:
            block = Block(a.ctypes.data, (100, 100, 1, 1), (1, 100, 10000, 10000), (2, 3, 0, 0), (90, 80, 1, 1))
            view, want = be.empty((1, be.pad(7000))), a.copy()
            Marshal(be).gather(block, 50, 7000, view)
            inner = want.reshape(100, 100)[3:83, 2:92]
            assert np.array_equal(be.to_host(view)[0, :7000], inner.reshape(-1)[50:7050])
            turned = inner.reshape(-1).copy()
            turned[50:7050] *= -1
            inner[...] = turned.reshape(80, 90)
            Marshal(be).scatter(block, 50, 7000, be.from_host(-be.to_host(view)))
            assert np.array_equal(a, want)

    pinned = set()
    for what, k in (
        ("pin", 0),
        ("pin", 2),
        ("pin", 1),
        ("unpin", 2),
        ("pin", 3),
        ("unpin", 0),
        ("unpin", 1),
        ("unpin", 3),
    ):
        getattr(be, what)(parts[k].ctypes.data, parts[k].nbytes)
        (pinned.add if what == "pin" else pinned.remove)(k)
        assert all(kinds(be, parts[j]) == [1, 1] for j in pinned)
        reach()

    assert kinds(be, parts[1]) == kinds(be, parts[2]) == [0, 0]


def test_an_array_between_pinned_ones_is_staged(be):
    """Its first and last page are shared with its neighbours and pinned; the pages between are not."""
    parts = np.split(np.random.default_rng(10).random(3 * 50000 + 8)[3:150003], 3)
    for k in (0, 2):
        be.pin(parts[k].ctypes.data, parts[k].nbytes)
    middle = Block(parts[1].ctypes.data, (50000, 1, 1, 1), (1, 50000, 50000, 50000), (0, 0, 0, 0), (50000, 1, 1, 1))

    assert be.reach(*middle.range) == "no"
    view = be.empty((1, be.pad(50000)))
    Marshal(be).gather(middle, 0, 50000, view)

    assert np.array_equal(be.to_host(view)[0, :50000], parts[1])
    for k in (0, 2):
        be.unpin(parts[k].ctypes.data, parts[k].nbytes)
    assert kinds(be, parts[0]) == kinds(be, parts[2]) == [0, 0]


def test_results_keep_off_pages_that_neighbours_pinned(be):
    for name in ("float64", "float32"):
        for shape in ((), (0,), (1,), (3, 1000)):
            got = be.to_host(be.arrays.asarray(np.ones(shape, name)))
            assert got.shape == shape and got.dtype == name and (got == 1).all() and got.ctypes.data % 4096 == 0

    rows = be.arrays.asarray(np.arange(30.0).reshape(3, 10))
    assert np.array_equal(be.to_host(rows[:, 5:9]), np.arange(30.0).reshape(3, 10)[:, 5:9])


def test_block_call_on_pinned_arrays(be):
    """The same bits as on arrays that are pinned for the call. Memory pinned before stays pinned, and is copied without
    a buffer."""
    from frame.impl import TVImpl

    shape, ns = (40, 40, 30), 10
    rng = np.random.default_rng(11)

    T, p, Y = (
        np.asfortranarray(x)
        for x in (
            300 + 2000 * rng.random((*shape, 1)),
            1e6 + 1e7 * rng.random((*shape, 1)),
            rng.dirichlet(np.ones(ns), shape),
        )
    )

    impl = TVImpl(be, 20000, ns, 1)
    impl.set_mixture(mixture(ns))
    block = lambda f: Block(
        f.ctypes.data, f.shape, tuple(s // 8 for s in f.strides), (1, 0, 0, 0), (38, 40, 30, f.shape[3])
    )
    found = []

    for pinned in ((), (Y,), (T, p, Y)):
        rho, D = np.zeros((*shape, 1), order="F"), np.zeros((*shape, ns), order="F")
        held = [*pinned, D] if pinned else []
        for f in held:
            be.pin(f.ctypes.data, f.nbytes)

        impl.block(
            "thermal_viscous",
            [("T", block(T)), ("p", block(p)), ("Y", block(Y))],
            [("rho", block(rho)), ("D", block(D))],
        )
        for f in held:
            assert kinds(be, f) == [1, 1]
            be.unpin(f.ctypes.data, f.nbytes)

        found.append((rho, D))

    for rho, D in found[1:]:
        assert np.array_equal(rho, found[0][0]) and np.array_equal(D, found[0][1])
    assert found[0][1].any() and kinds(be, Y) == [0, 0]


def test_a_host_pins_and_finalize_unpins(be):
    from frame.frame import Frame

    field, frame = np.zeros((50, 40, 30), order="F"), Frame()
    frame.set_option("backend", "cuda")
    frame.initialize(-1, 1000, 1, 6, 0)
    frame.pin(field.ctypes.data, field.size)

    assert kinds(be, field) == [1, 1]
    with pytest.raises(ArgumentError, match="overlaps"):
        frame.pin_array([Field("pin", True, field.ctypes.data + 80, (50, 40), (8, 400), (1, 1), 8)])

    frame.finalize()
    assert kinds(be, field) == [0, 0]

    frame.set_option("backend", "cuda")
    frame.initialize(-1, 1000, 1, 6, 0)

    # a section in reverse order, every second plane: pinned from its lowest to its highest byte
    frame.pin_array([Field("pin", True, field[-1].ctypes.data, (50, 40, 15), (-8, 400, 32000), (1, 1, 1), 8)])
    frame.unpin(field.ctypes.data, field.size - 2000)
    assert kinds(be, field) == [0, 0]

    frame.finalize()


def test_a_refusal_to_pin(be, monkeypatch):
    field, runtime = np.zeros(10000), be.arrays.cuda.runtime

    def refuse(*_):
        raise runtime.CUDARuntimeError(2)

    with monkeypatch.context() as patch:
        patch.setattr(runtime, "hostRegister", refuse)
        with pytest.raises(BackendError, match="refuses to pin 80000 bytes .*ulimit"):
            be.pin(field.ctypes.data, field.nbytes)

    be.pin(field.ctypes.data, field.nbytes)
    assert kinds(be, field) == [1, 1]

    be.unpin(field.ctypes.data, field.nbytes)

    # memory that the host has pinned itself stays under its control
    runtime.hostRegister(field.ctypes.data, field.nbytes, 0)
    be.pin(field.ctypes.data, field.nbytes)
    be.unpin(field.ctypes.data, field.nbytes)

    assert kinds(be, field) == [1, 1]
    runtime.hostUnregister(field.ctypes.data)


def test_memory_of_which_a_part_is_pinned(be):
    """The driver refuses to copy such memory in one piece: the part beyond a pinned array's last page is copied
    separately, to the device and back."""
    page, runtime = 4096, be.arrays.cuda.runtime
    raw = np.zeros(8 * page, np.uint8)
    start = -raw.ctypes.data % page
    half = raw[start + page : start + 5 * page].view(np.float64)
    half[:] = np.arange(half.size)
    runtime.hostRegister(half.ctypes.data, 2 * page, 0)

    try:
        if not is_gpu(be):  # versions of CuPy differ in the copies that they make without a buffer
            with pytest.raises(runtime.CUDARuntimeError, match="InvalidValue"):
                be.arrays.asarray(half)

        there = be.from_host(half)
        assert np.array_equal(be.to_host(there), np.arange(half.size))

        assert np.array_equal(
            be.to_host(be.from_host(half.astype(np.float32)[::2], np.float32)),
            np.arange(half.size, dtype=np.float32)[::2],
        )
    finally:
        runtime.hostUnregister(half.ctypes.data)


def test_view_of_one_row(be):
    field = np.random.default_rng(6).random(50)
    block = Block(field.ctypes.data, (50, 1, 1, 1), (1, 50, 50, 50), (5, 0, 0, 0), (40, 1, 1, 1))
    view = be.empty(64)
    Marshal(be).gather(block, 10, 20, view)

    assert np.array_equal(be.to_host(view)[:20], field[15:35])
    with pytest.raises(ArgumentError, match="65 points"):
        Marshal(be).gather(block, 0, 65, view)


# ---- the rest


def test_refusals(be):
    with pytest.raises(BackendError, match="device 99 asked for"):
        get_backend("cuda", device=99)
    with pytest.raises(ArgumentError, match="'wide' is for the CPU"):
        Mixture(species_set(1)).properties("rho", T=300.0, p=1e5, Y=[1.0], backend=be, precision="wide")


def test_facts(be):
    facts = be.describe()
    assert facts["arch"].startswith("sm_") and facts["devices"] >= 1 and "MPS" in facts


def test_time_between_marks(be):
    first = be.mark()
    mix = Mixture(species_set(10))
    mix.properties("rho", T=np.full(1000, 300.0), p=np.full(1000, 1e6), Y=np.full((10, 1000), 0.1), backend=be)
    last = be.mark()
    assert 0 < be.elapsed(first, last) < 100


@pytest.mark.gpu
def test_shapes_broadcast_on_the_device():
    import cupy

    mix = Mixture(species_set(10))
    T, Y = np.linspace(100, 3000, 24).reshape(2, 3, 4), np.full((10, 1, 4), 0.1)
    host = mix.properties("rho X", T=T, p=1e7, Y=Y, backend="cuda")
    device = mix.properties("rho X", T=cupy.asarray(T), p=1e7, Y=cupy.asarray(Y))

    assert host["rho"].shape == (2, 3, 4) and host["X"].shape == (10, 2, 3, 4)
    for name in host:
        assert np.array_equal(cupy.asnumpy(device[name]), host[name])


@pytest.mark.gpu
def test_ranks_that_start_at_once_share_one_compilation(tmp_path):
    """Four processes, one empty cache, one device: one cubin, equal bits."""
    code = (
        "import numpy as np, sys; sys.path[:0] = %r; from kernels import Mixture; from mixtures_for_tests import "
        "species_set;"
        "r = Mixture(species_set(10)).properties('rho mu', T=np.linspace(90, 3000, 500), p=1e7, Y=np.full(10, 0.1), "
        "backend='cuda');"
        "print(r['rho'].tobytes().hex()[:2000], r['mu'].tobytes().hex()[:2000])"
    ) % [str(ROOT), str(ROOT / "tests")]

    env = {**os.environ, "FRAME_CACHE": str(tmp_path)}
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=env) for _ in range(4)]
    texts = {process.communicate()[0] for process in running}

    assert len(texts) == 1 and len(texts.pop()) > 1000
    assert all(process.returncode == 0 for process in running)
    assert len(list(tmp_path.glob("*.cubin"))) == 1


@pytest.mark.gpu
def test_every_kernel_alone():
    """Each declared kernel on the results of the collections, against the CPU. Diffusion without Takahashi's table: the
    place in it is computed in single precision, so that both backends are within 2e-7 of the formula
    (test_against_oracle_and_cpu), but not of each other."""
    have = dict(states(10, 2000))
    for name, kernel in project_kernels().items():
        if kernel.header.name in ("rates.h", "reactor.h"):  # with reactions: test_kinetics.py, test_reactor.py
            continue
        mix = mixture(
            10,
            takahashi="off" if "diffusion" in name else "smooth",
            **{option: values[0] for option, values in kernel.when},
        )

        missing = [r for r in kernel.reads if r not in have]
        if missing:  # a start value, a velocity, and changes of vectors come from the host
            own = dict(
                T_start=np.full(2000, 400.0),
                V_p=np.full(2000, 50.0),
                muT=np.full(2000, 1e-4),
                dQ=np.ones((14, 2000)),
                dU=np.ones((14, 2000)),
            )
            have.update({r: own[r] for r in missing if r in own})
            missing = [r for r in missing if r not in own]

        if missing:
            have.update(mix.properties(missing, **{k: have[k] for k in ("T", "p", "Y", "u", "v", "w")}, backend="cpu"))
        on_cpu, on_gpu = (mix.kernel(name)(backend=b, **{r: have[r] for r in kernel.reads}) for b in ("cpu", "cuda"))

        for w in kernel.writes:
            # With equal inputs the results differ by some 50 roundings and by functions good to 1 or 2 ulp. The worst
            # sums, h of NASA-7 and a_T, cancel to a hundredth. A wrong formula differs in the first digits. In a
            # liquid, pressure at given density is a small difference of two large terms, and so is Z.
            size = np.abs(on_cpu[w]) + (1e-2 if name == "cubic_pressure" and w in "pZ" else 1e-6) * np.nanmax(
                np.abs(on_cpu[w])
            )
            assert_close(on_gpu[w], on_cpu[w], 5000, scale=size, what=f"{name} {w}")


GIVEN = {"h": "h p Y", "s": "s p Y", "e": "e rho Y"}


@pytest.mark.parametrize("kij", ["none", "dense", "low_rank", "sparse"])
@pytest.mark.parametrize("ns", [2, 10, 53])
@pytest.mark.quick(ns=10, kij="low_rank")
def test_partial_properties_and_inversions(be, ns, kij):
    """The device against the CPU: each of them is within N of the oracle's bound, see test_derivatives.py,
    test_inversions.py."""
    n = 2000 if is_gpu(be) else 150
    mix, s = mixture(ns, kij), {k: states(ns, n)[k] for k in "TpY"}
    q = expected(ns, n, kij, False)
    d = derivatives.of_state(q, species.arrays(species_set(ns, kij), tracked=True), oracle.OPTIONS)
    names = "v_Y h_Y e_Y ln_phi g_Y rho_Y eps_k"
    d.undecided = q.undecided

    compare(names, mix.properties(names, **s, backend=be), d, f"NS={ns} {kij} cuda")
    base = mix.properties("h s e rho cp cv", **s)

    for name, slope in (("h", base["cp"]), ("s", base["cp"] / s["T"]), ("e", base["cv"])):
        have = {**s, **base}
        got = mix.properties("T unconverged", **{k: have[k] for k in GIVEN[name].split()}, backend=be)
        err = q.e.err + s["p"] / base["rho"] ** 2 * q.rho.err if name == "e" else getattr(q, name).err

        assert not got["unconverged"][~q.undecided].any()
        assert_close(
            got["T"],
            s["T"],
            N,
            scale=2 * err / slope + 4 * s["T"],
            what=f"NS={ns} {kij} T({name}) cuda",
            skip=q.undecided,
        )


@pytest.mark.parametrize("ns", [1, 10, 53])
@pytest.mark.quick(ns=53)
def test_gamma(be, ns):
    """Gamma times a vector, its inverse, and both as matrices, on the device. Tolerance: roundings of each term; terms
    as in test_derivatives.py."""
    n, nq = 60, ns + 4
    mix, s = mixture(ns), states(ns, n)
    dQ = np.random.default_rng(4).normal(size=(nq, n))
    both = mix.properties("gamma_jacobian gamma_inverse rho h h_p", **s, backend=be)
    G, I = (both[k].reshape(nq, nq, n) for k in ("gamma_jacobian", "gamma_inverse"))

    moved = np.abs(
        np.concatenate(
            [
                np.stack(
                    [np.ones(n), s["u"], s["v"], s["w"], both["h"] + (s["u"] ** 2 + s["v"] ** 2 + s["w"] ** 2) / 2]
                ),
                s["Y"][:-1],
            ]
        )
    )

    terms = np.abs(G) + 2 * moved[:, None] * np.abs(G[0])
    terms[4, 0] += both["rho"] * np.abs(both["h_p"]) + 1
    scale = (nq + 8) * 2.2e-16 * np.einsum("ijn,jkn->ikn", np.abs(I), terms)

    assert (np.abs(np.einsum("ijn,jkn->ikn", I, G) - np.eye(nq)[:, :, None]) <= scale).all()
    dU = mix.properties("dU", **s, dQ=dQ, backend=be)["dU"]
    assert (
        np.abs(dU - np.einsum("ijn,jn->in", G, dQ)) <= (nq + 8) * 2.2e-16 * np.einsum("ijn,jn->in", terms, np.abs(dQ))
    ).all()

    back = mix.properties("dQ", **s, dU=dU, backend=be)["dQ"]
    assert (np.abs(back - dQ) <= (nq + 8) * 2.2e-16 * np.einsum("ijn,jkn,kn->in", np.abs(I), terms, np.abs(dQ))).all()
