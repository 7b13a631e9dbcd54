"""Phase equilibrium on a device: what the CPU finds, cold and warm, whatever the neighbours are."""

# ruff: noqa: F811  the fixture `be` is an argument here

from functools import lru_cache

import numpy as np
import pytest
from device_for_tests import be, is_gpu  # noqa: F401

from frame.tools.bench import phases as bench
from kernels import Mixture, registry
from kernels.gas.plan import Launch
from kernels.gas.program import Program, Wanted
from kernels.gas.schedules import sorted as sorted_points

WAYS = ("T p", "e rho", "h p", "s p", "rho T", "p rho")
START = ("ln_kappa", "eta")


@lru_cache
def known(n, equation="pr"):
    """States of two species, about half of them two phases, with what the CPU finds there."""
    gas = bench.GASES[equation](2)
    state = gas.states(n, "random")
    names = "T p e h s rho vol beta phases_status"
    return gas.mixture().properties(names, backend="cpu", **state) | state


def warm(way, backend, n, equation="pr"):
    """The collection's program with all starts, and starts that say nothing."""
    c = registry.collections[f"phases_from_{way.replace(' ', '_')}"]
    starts = [name for name in ("T_start",) if name in c.optional]
    program = bench.GASES[equation](2).mixture().program(c.outputs, [*c.given, *starts, *START], backend=backend)
    return program, {name: np.zeros((program.plan.rows(name), n)) for name in START}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.quick(way="e rho")
def test_collections_on_a_device(be, way):
    """From nothing, then from what that call left: phases as on the CPU, T and p to 1e-9 and 1e-7 (a cold liquid is
    stiff), beta to 1e-8. The second call takes fewer steps in two phases."""
    n = 20_000 if is_gpu(be) else 96
    q = known(n)
    program, carried = warm(way, be, n)
    given = {**q, "T_start": q["T"] * 1.002}

    steps = []
    for _ in range(2):
        found = bench.Work(program, {**given, **carried}).results()
        carried = {name: found[name] for name in START}
        steps.append(np.median(found["phases_steps"][q["phases_status"] == 1]))
        assert (found["phases_status"] == q["phases_status"]).all()
        np.testing.assert_allclose(found["beta"], q["beta"], rtol=0, atol=1e-8)
        if "T" in found:
            np.testing.assert_allclose(found["T"], q["T"], rtol=1e-9)
        if "p" in found:
            np.testing.assert_allclose(found["p"], q["p"], rtol=1e-7)
    if way != "s p":  # which finds two phases in brackets
        assert steps[1] < 0.7 * steps[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.quick(way="T p")
def test_what_a_point_needs_beyond_its_kind(be, way):
    """Points that carry what others found: two phases that are one now, rooms that they are not in, trials of other
    mixtures. They are put off by the first pass and done by the second."""
    n = 20_000 if is_gpu(be) else 700
    q = known(n)
    program, carried = warm(way, be, n)
    given = {**q, "T_start": q["T"]}
    before = bench.Work(program, {**given, **carried}).results()
    given |= {name: np.roll(before[name], 5, axis=-1) for name in START}
    assert (np.roll(q["phases_status"], 5) != q["phases_status"]).any()

    found = bench.Work(program, given).results()
    assert (found["phases_status"] == q["phases_status"]).all()
    np.testing.assert_allclose(found["beta"], q["beta"], rtol=0, atol=1e-8)
    assert (found["eta"] < 2.1e5).all()  # nothing stays put off


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.quick(way="T p")
def test_starts_that_are_no_numbers(be, way):
    """NaN in eta, in ln kappa, or in both says nothing of a point: its phases are those from nothing. A first pass of
    quick points took NaN in eta for two phases, and left the point as one phase."""
    n = 20_000 if is_gpu(be) else 700
    q = known(n)
    program, carried = warm(way, be, n)
    given = {**q, "T_start": q["T"]}
    start = bench.Work(program, {**given, **carried}).results()
    start = {name: start[name] for name in START}
    start["eta"][::2] = np.nan
    start["ln_kappa"][:, ::3] = np.nan

    found = bench.Work(program, {**given, **start}).results()
    assert (found["phases_status"] == q["phases_status"]).all()
    np.testing.assert_allclose(found["beta"], q["beta"], rtol=0, atol=1e-8)


@pytest.mark.parametrize("way", ["T p", "e rho"])
@pytest.mark.quick(way="e rho")
def test_pairs_of_a_start_that_another_phase_may_be_below(be, way):
    """Water and fuel: the first pass puts such pairs off with their start. The second keeps those that are the lowest,
    in fewer evaluations than a search from nothing takes."""
    n = 20_000 if is_gpu(be) else 200
    mix, random = Mixture.from_names("H2O NC7H16", equation="pr", phases="equilibrium"), np.random.default_rng(8)
    T, p, share = random.uniform(400, 560, n), 10 ** random.uniform(6, 7.5, n), random.random(n)
    q = mix.properties("T p e h s rho Y beta phases_status", T=T, p=p, X=np.stack([share, 1 - share]), backend="cpu")
    two = q["phases_status"] == 1
    assert two.sum() > 0.3 * n

    c = registry.collections[f"phases_from_{way.replace(' ', '_')}"]
    starts = [name for name in ("T_start",) if name in c.optional]
    program = mix.program(c.outputs, [*c.given, *starts, *START], backend=be)
    given = {**q, "T_start": T, **{name: np.zeros((program.plan.rows(name), n)) for name in START}}
    cold = bench.Work(program, given).results()
    warm = bench.Work(program, {**given, **{name: cold[name] for name in START}}).results()
    for found in (cold, warm):
        assert (found["phases_status"] == q["phases_status"]).all()
        np.testing.assert_allclose(found["beta"], q["beta"], rtol=0, atol=1e-7)
    assert (warm["eta"] < 2.1e5).all()  # nothing stays put off
    assert np.mean(warm["phases_steps"][two]) < 0.7 * np.mean(cold["phases_steps"][two])


def test_a_launch_for_many_species(be):
    """The table of launches has matrix units and copies in shared memory above 12 species. Points of two phases part in
    branches, where matrix units would wait for the whole warp: panels serve."""
    n = 20_000 if is_gpu(be) else 96
    q = known(n)
    how = Launch(128, "shared", 4, 2, "units", "shared")
    program = Program(
        bench.Gas(2).mixture(), Wanted(["vol", *START, "phases_status"], ["T", "p", "Y", *START]), backend=be, how=how
    )
    carried = {name: np.zeros((program.plan.rows(name), n)) for name in START}
    for _ in range(2):
        found = bench.Work(program, {**q, **carried}).results()
        carried = {name: found[name] for name in START}
        assert (found["phases_status"] == q["phases_status"]).all()
        np.testing.assert_allclose(found["vol"], q["vol"], rtol=1e-9)


def test_neighbours_on_a_device(be):
    """A point's bits do not depend on its place, though blocks sort points by what they carry: more than one window."""
    n = 20_000 if is_gpu(be) else 700
    q, order = known(n), np.random.default_rng(2).permutation(n)
    program, carried = warm("e rho", be, n)
    given = {name: {**q, **carried, "T_start": q["T"]}[name] for name in program.reads}
    before = bench.Work(program, given).results()
    given |= {name: before[name] for name in START}
    assert {0, 1} <= set((given["eta"] >= 1e4).astype(int))

    found = bench.Work(program, given).results()
    moved = bench.Work(program, {name: values[..., order] for name, values in given.items()}).results()
    for name in found:
        assert (moved[name] == found[name][..., order]).all(), name


@pytest.mark.parametrize("equation", ["pr", "mapped"])
def test_several_windows_of_a_block(be, monkeypatch, equation):
    """A block sorts its points in several windows. Points that were put off in one are worked on behind a later one."""
    monkeypatch.setattr(sorted_points, "WINDOWS", (64,))
    n = 20_000 if is_gpu(be) else 700
    q = known(n, equation)
    program, carried = warm("T p", be, n, equation)
    assert sorted_points.SORTED.window(program.plan) == 64
    before = bench.Work(program, {**q, **carried}).results()
    given = {**q, **{name: np.roll(before[name], 5, axis=-1) for name in START}}

    found = bench.Work(program, given).results()
    assert (found["phases_status"] == q["phases_status"]).all()
    np.testing.assert_allclose(found["beta"], q["beta"], rtol=0, atol=1e-8)
    assert (found["eta"] < 2.1e5).all()  # nothing stays put off
