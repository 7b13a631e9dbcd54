"""For every test: options of the C++ compiler, the order of the files, and what `make test` leaves out.

Test files are shared out to several processes by pytest-xdist (`-n`), the file that takes longest first. How long each
takes is kept in seconds.json: CPU seconds with nothing cached, from `pytest --record-seconds tests/seconds.json`.

`make test` has every law at some sizes and options, `make test-full` at all. A test's marks say which, by values of its
parameters (a list: any of its values; an object goes by its `name`). Several marks of a kind add up.

    @pytest.mark.quick(ns=10, kij="dense")   make test runs the case with these two values, and no other case
    @pytest.mark.long(ns=[20, 53])           make test leaves these cases out
    @pytest.mark.full                        make test leaves the whole test out
"""

import contextlib
import json
import os
import pathlib
import resource
import shlex
import shutil
import subprocess
import tempfile
import zlib

import numpy as np
import pytest

import kernels
from kernels.engine.backend import cache, cpu

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = HERE / "seconds.json"
# One pack a value, less of the optimiser, and a quicker linker: a third of the compiler's time. Products and sums
# become FMAs, as by -O3. What users compile is tested by `make test-full`, the wheel, and
# test_every_width_of_vectors_agrees.
QUICK = (
    "-DQUAD=vec -O1 -fexpensive-optimizations -fno-tree-loop-optimize -fira-region=one -fno-schedule-insns "
    "-fno-sched-pressure -fno-tree-ccp -fno-tree-bit-ccp -fno-tree-pta -fno-tree-dominator-opts -fno-tree-vrp "
    "-fno-tree-pre -fno-tree-reassoc -fno-tree-slsr -fno-code-hoisting -fno-tree-phiprop -fno-ssa-phiopt -fno-tree-ch"
)
GOLD = "-fuse-ld=gold"
HEADERS = ("pack.h", "box.h")  # with which programs begin: 0.3 s less of 0.6 to 2 s where they are precompiled
UNKNOWN = 60.0  # seconds; a new file starts early
GPU_PROCESSES = 8  # `pytest -m gpu` waits for compilers most of the time

os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")  # ranks that wait leave the cores to other tests
os.environ.setdefault("FRAME_ACCURACY", "chosen")  # the oracles are of models that a test names; see test_accuracy.py
os.environ.setdefault("FRAME_RATES", "usual")  # choices of organisations that do not depend on the machine
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # several processes, each with as many threads as there are cores


def pytest_addoption(parser):
    parser.addoption("--record-seconds", metavar="FILE", help="write the CPU seconds of each test file to FILE (JSON)")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """`pytest -m gpu` takes several processes unless -n or --pdb is given; such a process starts no further ones."""
    option = config.option
    started = hasattr(config, "workerinput")  # xdist calls this hook in the processes that it starts, too
    if option.markexpr == "gpu" and not started and not option.usepdb and getattr(option, "numprocesses", 0) is None:
        option.numprocesses, option.dist = min(GPU_PROCESSES, os.cpu_count()), "worksteal"


def pytest_configure(config):
    """FRAME_CXXFLAGS for what the tests compile, unless it is set: its processes inherit it."""
    if "FRAME_CXXFLAGS" in os.environ or "g++" not in cpu.compiler() or not shutil.which(cpu.compiler()):
        return
    flags = []
    if "not full" in config.option.markexpr:
        flags = [*QUICK.split(), *[GOLD] * bool(shutil.which("ld.gold"))]
    os.environ["FRAME_CXXFLAGS"] = shlex.join([*flags, "-iquote", str(precompiled(flags))])


def precompiled(flags) -> pathlib.Path:
    """The folder of precompiled headers for these flags, made if it is not there. g++ itself sees whether flags of a
    program differ, or a macro is defined that the header asks for, and then reads the header as it is.

    It lies beside the kernel cache: its path is in the options of the compiler, and so in the names of kernels. All
    checkouts share it, and the kernels that they have in common.
    """
    numbers = pathlib.Path(cpu.HERE) / "engine/numbers"
    command = [cpu.compiler(), *cpu.FLAGS, f"-march={cpu.target()}", *cpu.INTERLEAVED, *flags]

    texts = b"".join(path.read_bytes() for path in sorted(numbers.glob("*.h")))
    name = f"{zlib.crc32(texts + shlex.join([*command, *HEADERS]).encode()):08x}"
    folder = cache.folder() / "test_headers" / name
    if folder.is_dir():
        return folder

    folder.parent.mkdir(parents=True, exist_ok=True)
    part = pathlib.Path(tempfile.mkdtemp(dir=folder.parent))
    (part / "engine/numbers").mkdir(parents=True)

    for header in HEADERS:
        (part / "head.h").write_text(f'#include "engine/numbers/{header}"\n')
        made = part / "engine/numbers" / f"{header}.gch"
        subprocess.run([*command, f"-I{cpu.HERE}", "-x", "c++-header", part / "head.h", "-o", made], check=True)

    with contextlib.suppress(OSError):  # another run of pytest was quicker
        part.rename(folder)
    return folder


def choice(mark, name) -> list:
    """The values of a parameter that a mark names."""
    values = mark.kwargs[name]
    return values if isinstance(values, list) else [values]


def agrees(item, mark) -> bool:
    """Whether the case has values that the mark names. Errors: UsageError if the test has no such parameter."""
    given = item.callspec.params if hasattr(item, "callspec") else {}
    for name in mark.kwargs:
        if name not in given:
            raise pytest.UsageError(f"{item.nodeid}: mark '{mark.name}' names '{name}', which is no parameter.")
        value = given[name]
        if value not in (wanted := choice(mark, name)) and getattr(value, "name", None) not in wanted:
            return False

    return True


def in_make_test(item) -> bool:
    """Whether `make test` runs this case."""
    if any(agrees(item, mark) for mark in item.iter_markers("long")):
        return False
    quick = list(item.iter_markers("quick"))
    return not quick or any(agrees(item, mark) for mark in quick)


def check_marks(items) -> None:
    """Errors: UsageError for a mark that agrees with no case: its value is wrong, or has been renamed."""
    marks, used = {}, set()
    for item in items:
        for mark in (*item.iter_markers("quick"), *item.iter_markers("long")):
            marks[id(mark)] = item.nodeid.split("[")[0], mark
            if agrees(item, mark):
                used.add(id(mark))

    for number, (test, mark) in marks.items():
        if number not in used:
            raise pytest.UsageError(f"{test}: no case agrees with its mark {mark.name}{mark.kwargs}.")


@pytest.hookimpl(tryfirst=True)  # -m looks at the marks afterwards
def pytest_collection_modifyitems(config, items):
    known = json.loads(SECONDS.read_text())
    items.sort(key=lambda item: -known.get(item.path.name, UNKNOWN))

    if all(os.path.isdir(a) for a in config.args):  # and not some files or cases, which may lack those of a mark
        check_marks(items)

    for item in items:
        if not item.get_closest_marker("gpu") and not in_make_test(item):
            item.add_marker("full")


@pytest.fixture
def registry():
    """Declarations of a test end with it: a host's kernel would take part in later programs of the process."""
    with kernels.registry.temporary():
        yield kernels.registry


@pytest.fixture
def any_temperature(monkeypatch):
    """`properties` takes temperatures beyond the models, too."""
    from kernels.gas import state

    monkeypatch.setattr(state, "COLDEST", 0.0)
    monkeypatch.setattr(state, "HOTTEST", np.inf)


@pytest.fixture
def plain_tolerances():
    """Tolerances of `react` are as declared after a test, whatever it sets."""
    yield
    for name in ("react_rtol", "react_atol", "react_most"):
        kernels.set_constant(name, kernels.registry.settable[name].default[0])


def used():
    """CPU seconds of this process and of those that it started and that have ended."""
    return sum(
        r.ru_utime + r.ru_stime for r in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


BEFORE = pytest.StashKey[float]()
taken: dict[str, float] = {}  # by file, in the process that reports


def pytest_collection_finish(session):  # what collecting takes is no test's
    session.config.stash[BEFORE] = used()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """A report carries the CPU seconds since the one before, also from one process to another."""
    report = yield
    now = used()
    report.cpu_seconds, item.config.stash[BEFORE] = now - item.config.stash[BEFORE], now
    return report


def pytest_runtest_logreport(report):
    name = pathlib.Path(report.location[0]).name
    taken[name] = taken.get(name, 0.0) + getattr(report, "cpu_seconds", 0.0)  # none where a process has crashed


def pytest_sessionfinish(session):
    file = session.config.option.record_seconds
    if file and not hasattr(session.config, "workerinput"):
        known = json.loads(SECONDS.read_text()) | {name: round(seconds, 1) for name, seconds in taken.items()}
        pathlib.Path(file).write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")
