"""Threads, blocks and forks of compiled hosts: each thread has its own views, a block's inputs do not serve the next,
and neither the GIL nor a fork stops a host."""

import functools
import os
import re
import subprocess
import sys

import cuda_on_cpu
import pytest
from hosts import BUILD, MODULE, ROOT, SOURCES, compiled, library, need, run

from kernels import get_backend
from kernels.engine import backend as backends
from kernels.engine.backend import cuda
from kernels.engine.errors import BackendError

N2 = ROOT / "examples" / "mixtures" / "n2.yaml"
CALL = re.compile(r"^([^:\n]+): (-?\d+) ?(?:frame_\w+: (.*\S))? *$", re.M)  # name, status, message
NEVER = "'rho' was never filled: populate it or launch 'thermal' or 'thermal_viscous' or 'rho_h0_from_T_p'."
FOREIGN = "was never filled by this thread, another thread filled its own: populate it here"


@pytest.fixture(scope="module")
def c_host(tmp_path_factory):
    """The compiled threads.c; called with a case and its arguments it returns the calls' (status, message) in order."""
    made = tmp_path_factory.mktemp("host") / "threads"
    library()
    flags = ["-O1", "-g", "-Wall", "-fopenmp", f"-I{BUILD}", f"-L{BUILD}", f"-Wl,-rpath,{BUILD}"]
    subprocess.run(["cc", str(SOURCES / "threads.c"), *flags, "-lframe", "-lpthread", "-o", str(made)], check=True)

    return lambda case, *arguments, **environment: run(made, case, N2, *arguments, **environment)


def told(done) -> list[tuple[str, int, str]]:
    assert done.returncode == 0, done.stdout + done.stderr
    return [(m[1], int(m[2]), m[3] or "") for m in CALL.finditer(done.stdout)]


def messages(done) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}

    for call, status, message in told(done):
        assert (status == 0) == (message == ""), (call, status, message)
        assert status in (0, 4), (call, status, message)
        out.setdefault(call, []).append(message)

    return out


# ---- threads ------------------------------------------------------------------------------------------------------


def test_threads_of_a_c_host_work_side_by_side(c_host):
    """12 000 sequences on four threads have the serial numbers to the bit. The report counts all threads' calls."""
    done = c_host("sequences", 3000, FRAME_TIMERS="1")
    assert "12000 sequences: 0 wrong, 0 failed" in done.stdout, done.stdout + done.stderr
    for name in ("put T", "put p", "put Y", "thermal", "get rho"):
        assert re.search(rf"^ *0 {name} +24000 +{24000 * 24} ", done.stdout, re.M), done.stdout


def test_threads_of_a_fortran_host_work_side_by_side():
    done = run(compiled("threads.f90", "-O1", "-fopenmp"), N2, 4000)

    assert "4000 sequences: 0 wrong, 0 failed" in done.stdout, done.stdout + done.stderr

    got = messages(done)

    assert got["T"] == [""]

    assert got["launch"] == [
        "'thermal' cannot run: "
        "'Y' holds another block's points ('T' has been filled from another array since): populate 'Y' for this block; "
        "'p' holds another block's points ('T' has been filled from another array since): populate 'p' for this block."
    ]

    assert got["get"] == [
        "'rho' is stale: 'thermal' computed it for another block ('T' has been filled from another array since)."
    ]


def test_a_module_that_is_compiled_with_static_variables(tmp_path):
    """-fno-automatic, as old codes need it, makes variables of procedures static: threads would share those of the
    module."""
    library()
    compiler = need("gfortran")
    free = "-ffree-line-length-none"
    subprocess.run([compiler, "-O1", "-fno-automatic", free, "-c", MODULE], check=True, cwd=tmp_path)

    host = ["-O1", "-fopenmp", "-cpp", free, SOURCES / "threads.f90", "frame_interface.o", "-o", "threads"]
    link = [f"-L{BUILD}", "-lframe", f"-Wl,-rpath,{BUILD}"]
    subprocess.run([compiler, *host, *link], check=True, cwd=tmp_path)
    done = run(tmp_path / "threads", N2, 1000)

    assert "1000 sequences: 0 wrong, 0 failed" in done.stdout, done.stdout + done.stderr


def test_a_thread_launches_what_it_filled_itself(c_host):
    got = messages(c_host("other_thread"))
    nobody, foreign, with_T, later = got["launch"]

    assert nobody == "'thermal' has no inputs yet: populate Y, T, p."

    named = re.compile(rf"'(\w+)' {FOREIGN}")

    assert (
        foreign == later and foreign.startswith("'thermal' cannot run: ") and named.findall(foreign) == ["Y", "T", "p"]
    )
    assert with_T.startswith("'thermal' cannot run: ") and named.findall(with_T) == ["Y", "p"]
    assert got["get"] == [NEVER] * 4
    assert got["main"] == [""]  # what others did has no effect here


def test_a_mixture_and_finalize_are_for_all_threads(c_host):
    got = messages(c_host("for_all_threads"))
    assert got["after the mixture"] == ["'rho' is stale: 'thermal' computed it for the mixture before."]
    assert got["after finalize"] == ["'thermal' has no inputs yet: populate Y, T, p."]
    for call in ("start", "sequence", "mixture", "launched again", "finalize", "start again", "sequence again"):
        assert got[call] == [""], (call, got[call])


def test_threads_that_ended_leave_no_memory_behind(c_host):
    """A thread's views are 8 MB each here, and thermal has more than 20."""
    got = {call: status for call, status, _ in told(c_host("many_threads"))}
    assert got["failed"] == 0 and got["growth"] < 200, got  # MB, after 30 threads


# ---- blocks -------------------------------------------------------------------------------------------------------


def test_inputs_of_another_block_are_refused_by_name(c_host):
    done = c_host("second_block")
    got = messages(done)
    since = "('T' has been filled from another array since)"
    Y, p = (f"'{q}' holds another block's points {since}: populate '{q}' for this block" for q in "Yp")

    assert got["launch"] == [f"'thermal' cannot run: {Y}; {p}."]
    assert got["get"] == [f"'rho' is stale: 'thermal' computed it for another block {since}."]
    assert got["launch without Y"] == [f"'thermal' cannot run: {Y}."]

    for call in ("first", "T", "p", "all", "T of the same array", "two arrays before a launch"):
        assert got[call] == [""], (call, got[call])

    assert "other values 2" in done.stdout and "the same values 1" in done.stdout


# ---- the GIL ------------------------------------------------------------------------------------------------------


def python_host(*arguments) -> str:
    environment = {**os.environ, "FRAME_BACKEND": "cpu", "FRAME_ON_ERROR": "return"}
    script = ROOT / "tests" / "calls_with_the_gil.py"
    command = [sys.executable, str(script), str(library()), *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240).stdout.strip()


@pytest.mark.parametrize("gil", ["held", "free"])
@pytest.mark.parametrize("calls", [0, 20000])
def test_python_threads_do_not_deadlock(gil, calls):
    """calls 0: the first call alone, which starts the layer."""
    assert python_host("threads", gil, calls) == "hung 0 failed 0"


# ---- forks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("how", ["first", "own", "busy", "starting"])
@pytest.mark.quick(threads=2)
def test_a_forked_child_calls_on(c_host, how, threads):
    """threads: OpenMP's, which stay in the parent."""
    done = c_host("forks", how, 2 if how == "starting" else 10, FRAME_THREADS=str(threads))
    assert re.search(r"^\d+ forks: 0 hung, 0 failed$", done.stdout, re.M), done.stdout + done.stderr

    told = [line for line in done.stderr.splitlines() if not line.startswith("frame: compiling kernels")]
    assert "parent: 0 \n" in done.stdout and not told


@pytest.mark.parametrize("gil", ["held", "free"])
@pytest.mark.parametrize("calls", [0, 100])
def test_os_fork(gil, calls):
    """calls 100: while another thread is inside libframe."""
    assert python_host("forks", gil, calls) == "hung 0 failed 0"


def test_cuda_after_a_fork_is_refused_by_name(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "cupy", cuda_on_cpu.make())
    monkeypatch.setattr(backends, "_made", functools.cache(backends._made.__wrapped__))
    monkeypatch.setattr(cuda, "machine_code", cuda_on_cpu.compiler(tmp_path))
    be = get_backend("cuda")
    read, write = os.pipe()
    child = os.fork()

    if not child:
        try:
            be.empty(3)
        except BackendError as error:
            os.write(write, str(error).encode())
        os._exit(0)

    os.close(write)

    assert os.read(read, 4096).decode() == (
        "backend cuda: this process was forked from one that uses the device, and CUDA does not survive a fork; "
        "fork before frame_initialize, or let the parent do this work."
    )

    os.waitpid(child, 0)

    assert len(be.empty(3)) == 3
