"""Times of kernels by name, from Python and of a frame, the names that a profiler of a device shows, ranges of NVTX."""

import re
import sys
import types

import numpy as np
import pytest
from frame_host import state

import kernels
from frame.report import table
from frame.watch import HOST, Label, Watch
from kernels.engine.backend.base import Source
from kernels.engine.timers import watched

MIXTURE = "examples/mixtures/ch4_o2_4.yaml"
TARGET = "sm_90"


def properties(names, points=5, **options):
    mixture = kernels.Mixture.from_yaml(MIXTURE)
    Y = np.full((mixture.ns, points), 1 / mixture.ns)
    return mixture.properties(names, T=np.full(points, 500.0), p=1e7, Y=Y, **options)


def test_times_by_name():
    with kernels.timed() as times:
        properties("rho mu")
        properties("rho mu", points=7)
        kernels.contract("c(i,k) = a(i,k) b(i,k)", a=np.ones((3, 3)), b=np.ones((3, 3)))

    assert list(times) == ["rho+mu", "c_from_a_b"]
    assert (times["rho+mu"].calls, times["rho+mu"].items) == (2, 12) and times["rho+mu"].seconds > 0

    properties("rho mu")

    assert times["rho+mu"].calls == 2  # the context has ended


def test_results_are_the_same_with_timers():
    plain = properties("rho")["rho"]
    with kernels.timed():
        np.testing.assert_array_equal(properties("rho")["rho"], plain)


def test_contexts_within_each_other():
    with kernels.timed() as outer:
        properties("rho")
        with kernels.timed() as inner:
            properties("mu")
        properties("rho")
    assert list(outer) == ["rho"] and outer["rho"].calls == 2 and list(inner) == ["mu"]


def test_seconds_are_those_of_the_clock():
    marks = iter([1.0, 3.0, 10.0, 10.5])
    clock = types.SimpleNamespace(mark=lambda: next(marks), elapsed=lambda begin, end: end - begin)

    with kernels.timed() as times:
        run = watched(lambda items: None, "work", clock)
        run(4)
        run(5)

    assert (times["work"].seconds, times["work"].items) == (2.5, 9)
    assert times["work"].seconds == 2.5  # read twice, counted once


def test_a_kernel_that_fails_is_not_counted():
    def fail(items):
        raise kernels.BackendError("no")

    with kernels.timed() as times, pytest.raises(kernels.BackendError):
        watched(fail, "work", types.SimpleNamespace(mark=lambda: 0.0))(1)

    assert not times


@pytest.mark.parametrize(
    "name, title, symbol",
    [
        ("thermal_viscous", "", "thermal_viscous__frame_run"),
        ("rho+mu", "", "rho_mu__frame_run"),
        ("tensor-slices", "ur_from_D_u", "ur_from_D_u__frame_run"),
        ("x" * 200, "", "x" * 60 + "__frame_run"),
        ("+", "", "kernel__frame_run"),
        ("1d", "", "kernel_1d__frame_run"),
        ("a__b", "", "a_b__frame_run"),
        ("émile", "", "mile__frame_run"),
    ],
)
def test_symbols_are_identifiers(name, title, symbol):
    made = Source(name, "", entry="frame_run", title=title).symbol
    assert made == symbol and re.fullmatch(r"[A-Za-z_]\w*", made, re.ASCII)


def test_machine_code_of_a_device_has_the_names():
    """NVRTC compiles it here; the report is found by the kernel's own name, and the symbol says what it computes."""
    try:
        backend = kernels.get_backend("cuda", arch=TARGET)
        mixture = kernels.Mixture.from_yaml(MIXTURE)
        program = kernels.Program(mixture, kernels.Wanted(["rho"], ["T", "p", "Y"], name="density"), backend=backend)
    except kernels.BackendError as error:
        pytest.skip(str(error))

    module = program.module

    assert "density__frame_run" in module.report
    assert module.report["frame_run"] == module.report["density__frame_run"]
    assert module.report["frame_run"]["registers"] > 0


def test_cached_code_of_earlier_versions_keeps_its_names(monkeypatch, tmp_path):
    from kernels.engine.backend import cuda

    monkeypatch.setattr(cuda.cache, "report", lambda path: '{"frame_run": {"registers": 40}}')
    report, symbols = cuda._report(tmp_path)
    assert symbols == {"frame_run": "frame_run"} and report == {"frame_run": {"registers": 40}}


def test_ranges_for_a_profiler(monkeypatch):
    """They have the names of the timers; without the package, and with timers off, there are none."""
    said = []
    made = types.SimpleNamespace(push_range=lambda name: said.append(name), pop_range=lambda: said.append("end"))
    monkeypatch.setitem(sys.modules, "nvtx", made)
    watch = Watch(kernels.get_backend("cpu"))
    watch.time(True)
    watch.run(Label(HOST, "block pack"), 1, 0, lambda: said.append("work"))

    with pytest.raises(ZeroDivisionError):
        watch.run(Label(HOST, "thermal"), 1, 0, lambda: 1 / 0)

    assert said == ["block pack", "work", "end", "thermal", "end"]

    monkeypatch.setitem(sys.modules, "nvtx", None)  # importing it is an error
    other = Watch(kernels.get_backend("cpu"))
    other.time(True)

    assert other.run(Label(HOST, "thermal"), 1, 0, lambda: 7) == 7 and len(said) == 5


def test_timers_by_name(host, capsys):
    host.put("Q", state())
    host.frame.report()

    assert "timers are off" in capsys.readouterr().out and host.impl.timers is None

    host.frame.set_parameter("timers", 1)

    for _ in range(600):  # more than the marks that are kept
        host.put("Q", state())
        host.launch("thermal", 10)

    timer = host.impl.timers["thermal"]

    assert (timer.calls, timer.points) == (600, 6000) and 0 < timer.seconds < 60

    host.frame.report()
    out = capsys.readouterr().out

    assert "put Q" in out and "thermal" in out and "600" in out

    host.frame.set_parameter("timers", 0)

    assert host.impl.timers is None


def test_report_over_ranks():
    kernel, copy = (0, "kernels"), (5 * 10**9, "copies in")
    ranks = [{"a": (1, 10, 1.0, *kernel), "b": (2, 20, 3.0, *copy)}, {"a": (3, 30, 2.0, *kernel)}]
    text = table(ranks, "cpu")
    rows = [line.split() for line in text.splitlines()]

    assert ["ranks", "a", "4", "1.000000", "1.500000", "2.000000"] in rows
    assert ["ranks", "b", "2", "0.000000", "1.500000", "3.000000"] in rows  # rank 1 never launched it
    assert ["0", "a", "1", "10", "1.000000", "100000000.0", "-"] in rows and "link" not in text

    with_link = [line.split() for line in table(ranks, "cuda", (5e9, 1e9)).splitlines()]

    # 5 GB in 3 s across a link of 5 GB/s
    assert ["0", "b", "2", "20", "3.000000", "150000000.0", "1.67", "33", "%"] in with_link
