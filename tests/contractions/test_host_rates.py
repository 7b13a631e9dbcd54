"""Rates of a core, of which prices on a CPU are made: measured once, kept in the kernel cache, read by all."""

import itertools
import json

import numpy as np
import pytest

from frame.tools.bench import tccg
from kernels import Contraction, get_backend
from kernels.contractions import host_rates
from kernels.contractions.host_rates import HostRates
from kernels.contractions.organisations import direct_host
from kernels.contractions.organisations.direct_host import HostDirect
from kernels.engine.backend import cpu
from kernels.engine.errors import ArgumentError, BackendError, CompileError

TEXT, SIZES = "C[i j] = A[i k] B[k j]", dict(i=500, j=500, k=500)


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    """As in a new process with an empty cache."""
    monkeypatch.setenv("FRAME_CACHE", str(tmp_path))
    monkeypatch.setenv("FRAME_RATES", "measured")
    monkeypatch.setattr(host_rates, "_known", {})
    return tmp_path


def test_rates_are_measured_once_and_read_by_the_next_process(fresh, monkeypatch):
    """By trials that take known times: each rate comes out as it went in."""
    true = HostRates(1e10, 6e9, 3e10, 5e-10, 4e10, 8e-10, 3e-9)

    def times(copy, trials):
        found = {"copy": (copy.read + copy.written) / true.memory}
        for key, trial in trials.items():
            moved = trial.read / true.memory
            if key == "turned":
                found[key] = (trial.read + trial.written) / true.copies
            elif key in host_rates.PRODUCTS:
                packed = trial.numbers * true.factor * (key == "long")
                found[key] = moved + trial.flops / true.library + packed + trial.written / true.memory
            else:
                slow = {"panels": 0.0, "gather": true.gather, "scatter": true.scatter}[key]
                moved += trial.written / true.memory
                found[key] = max(trial.flops / true.panels, moved) + trial.numbers * slow
        return found

    monkeypatch.setattr(host_rates, "_least_times", times)
    assert host_rates.of("float64") == pytest.approx(true, rel=1e-2)

    # The file is readable, serves the next process, and is measured anew when it is gone.
    (file,) = fresh.glob("rates-float64-*.json")
    assert json.loads(file.read_text())["panels"] == pytest.approx(true.panels, rel=1e-2)
    monkeypatch.setattr(host_rates, "_known", {})
    monkeypatch.setattr(host_rates, "measured", lambda dtype, before: pytest.fail("measured again"))
    assert host_rates.of("complex128") == host_rates.of("float64") == pytest.approx(true, rel=1e-2)

    file.unlink()
    monkeypatch.setattr(host_rates, "_known", {})
    monkeypatch.setattr(host_rates, "measured", lambda dtype, before: (true, {}))
    assert host_rates.of("float64") == true


def test_rates_of_a_core_that_others_used_are_measured_again(fresh, monkeypatch):
    """A trial took twice as long as it should in each measurement, another one each time. So the least times of two
    measurements are those of a quiet core. There are a few measurements, each after a longer while than the one before;
    a process that comes earlier reads what is there."""
    trials = ("copy", "turned", *host_rates.PRODUCTS, *host_rates.DIRECT)
    now, disturbed, measurements = 1e9, "panels", []

    def times(copy, given):
        measurements.append(now)
        return {key: 1e-2 * (2 if key == disturbed else 1) for key in trials}

    def rates():
        monkeypatch.setattr(host_rates, "_known", {})
        return host_rates.of("float32")

    monkeypatch.setattr(host_rates, "_least_times", times)
    monkeypatch.setattr(host_rates.time, "time", lambda: now)
    monkeypatch.setattr(host_rates, "_bounded", lambda rate, like: rate)
    loaded = rates()

    now, disturbed = now + host_rates.AGAIN[0] / 2, "large"
    assert rates() == loaded
    now += host_rates.AGAIN[0]
    assert rates().panels == 2 * loaded.panels and rates().library == loaded.library

    for wait in (*host_rates.AGAIN[1:], *host_rates.AGAIN):
        now += wait + 1
        rates()
    assert len(measurements) == 1 + len(host_rates.AGAIN)


def test_rates_that_cannot_be_written_again_stay(fresh, monkeypatch):
    true = host_rates.USUAL["float64"]
    monkeypatch.setattr(host_rates, "measured", lambda dtype, before: (true, {}))
    host_rates.of("float64")

    def refuse(dtype, before):
        raise BackendError("no compiler")

    monkeypatch.setattr(host_rates, "_known", {})
    monkeypatch.setattr(host_rates, "AGAIN", (-1.0,))
    monkeypatch.setattr(host_rates, "measured", refuse)
    assert host_rates.of("float64") == true


def test_the_clock_measures(monkeypatch):
    """All trials run. The paces of memory, library and panels are within 100 times those of a usual processor. The
    other rates are differences of times, which two turns on a shared machine do not settle."""
    monkeypatch.setattr(host_rates, "TURNS", 2)
    monkeypatch.setattr(host_rates, "_bounded", lambda rate, like: rate)
    (rates, _), usual = host_rates.measured("float64", {}), host_rates.usual("float64")
    for name in ("memory", "library", "panels"):
        assert 0.01 < getattr(rates, name) / getattr(usual, name) < 100, name


def test_without_a_compiler_the_usual_rates_serve(fresh, monkeypatch):
    def refuse(dtype, before):
        raise BackendError("no compiler")

    monkeypatch.setattr(host_rates, "measured", refuse)
    assert host_rates.of("float32") == host_rates.usual("float32")
    assert not list(fresh.glob("rates-*"))


def test_wider_vectors_compute_faster_and_move_as_before(monkeypatch):
    monkeypatch.setattr(host_rates.cpu, "vector_bytes", lambda target: 64)
    wide, usual = host_rates.usual("float64"), host_rates.USUAL["float64"]
    assert wide.panels == 2 * usual.panels and wide.library == 2 * usual.library and wide.memory == usual.memory


@pytest.mark.parametrize("arch", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_large_products_go_to_blocks_or_to_the_library(monkeypatch, arch, dtype, caches_of_zen4):
    """`rows` has blocks for registers alone; with wide vectors its arithmetic is cheap beside what it moves."""
    monkeypatch.setenv("FRAME_ARCH", arch)
    names = ("abc-dca-bd", "abcd-aedf-bfce", "abcdef-dega-gfbc")
    for case in tccg.cases(names, 100.0, (dtype,), ()):
        plan = case.plan(get_backend("cpu"), entries=case.told)
        assert plan.how.name in ("direct", "library"), case.name


@pytest.mark.parametrize("rates, chosen", [({"library": 1e11}, "library"), ({"panels": 1e11}, "direct")])
def test_the_choice_follows_the_rates(fresh, monkeypatch, rates, chosen):
    found = host_rates.USUAL["float64"]._replace(**rates)
    monkeypatch.setattr(host_rates, "measured", lambda dtype, before: (found, {}))
    assert Contraction(TEXT, SIZES, batch="", backend=get_backend("cpu")).how.name == chosen


@pytest.mark.parametrize("copies, chosen", [(1e12, "library"), (1e9, "direct")])
def test_the_choice_follows_the_pace_of_copies(fresh, monkeypatch, copies, chosen):
    """A library that multiplies faster needs both factors in another order."""
    found = host_rates.USUAL["float64"]._replace(copies=copies, library=6e10)
    monkeypatch.setattr(host_rates, "measured", lambda dtype, before: (found, {}))
    (case,) = tccg.cases(["ab-cad-dcb"], 20.0, ("float64",), ())
    assert case.plan(get_backend("cpu"), entries=case.told).how.name == chosen


def test_rows_that_lie_are_not_gathered(monkeypatch):
    """Few columns meet rows whose packs lie side by side: their price has no numbers that lie apart."""
    (case,) = tccg.cases(["abc-bda-dc"], 20.0, ("float64",), ())
    plan = case.plan(get_backend("cpu"), entries=case.told, how="direct")
    as_they_lie = HostDirect().price(plan.program)
    monkeypatch.setattr(direct_host, "FEW_COLUMNS", 0)
    assert HostDirect().price(plan.program) > 1.05 * as_they_lie


def test_another_word_is_refused(monkeypatch):
    monkeypatch.setenv("FRAME_RATES", "guessed")
    with pytest.raises(ArgumentError, match="FRAME_RATES = 'guessed'; wanted measured or usual"):
        host_rates.of("float64")


@pytest.mark.parametrize(
    "text, sizes",
    [
        ("C[e i j] = A[e i k] B[e k j]", dict(i=8, j=8, k=8)),
        ("o[e f p] = D[e f q] L[e q p]", dict(f=10, q=27, p=27)),
        ("V[e i j k] = A[i l] U[e l j k]", dict(i=10, j=10, k=10, l=10)),
        ("V[e i] = A[e i l] U[e l]", dict(i=27, l=27)),
    ],
)
def test_small_products_of_many_do_not_go_to_direct(text, sizes):
    """Measured on a Zen 4: `direct` takes 1.3 to 15 times as long as the others. Which of them is the fastest depends
    on the machine."""
    assert Contraction(text, sizes, backend=get_backend("cpu"), batch="e").how.name != "direct"


def test_a_trial_that_finds_no_quiet_moment_is_looked_on(monkeypatch):
    """Two large products of the same size take about as long. Here others use the core during one of them, 12 times."""
    now = 0.0
    monkeypatch.setattr(host_rates.time, "thread_time", lambda: now)

    def taking(seconds):
        def run():
            nonlocal now
            now += next(seconds)

        return host_rates.Trial(run)

    disturbed = itertools.chain([2.0] * 12, itertools.repeat(1.0))
    trials = {"large": taking(itertools.repeat(1.0)), "panels": taking(disturbed)}
    assert host_rates._least_times(taking(itertools.repeat(0.5)), trials) == dict(copy=0.5, large=1.0, panels=1.0)

    # A library that always takes longer is no disturbance.
    trials = {"large": taking(itertools.repeat(2.0)), "panels": taking(itertools.repeat(1.0))}
    assert host_rates._least_times(taking(itertools.repeat(0.5)), trials) == dict(copy=0.5, large=2.0, panels=1.0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_compiles_the_libraries_of_a_first_call_before_the_trials(dtype, monkeypatch):
    """`direct`, the copy and the repeated calls are asked for before a trial runs. A compiler's error waits for the
    trial."""
    asked = []

    def refused(source):
        asked.append(source.name)
        raise CompileError("refused")

    monkeypatch.setattr(cpu, "shared_object", refused)
    host_rates._compile_side_by_side(dtype)

    size = np.dtype(dtype).itemsize
    assert sorted(set(asked)) == ["array-calls", f"permute-copy_{size}", "tensor-direct"]
