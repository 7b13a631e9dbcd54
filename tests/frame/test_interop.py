"""Fortran calling embedded Python: each failure that was seen in practice, from a compiled program."""

import importlib.util
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import sysconfig

import pytest
from hosts import BUILD, FORTRAN, OWN_KERNEL, ROOT, SOURCES, compile_with_module, compiled, library, run

N2 = ROOT / "examples" / "mixtures" / "n2.yaml"
RETURN = {"FRAME_ON_ERROR": "return"}
NAME = "wanted a name: up to 63 characters of printable ASCII, no blanks."


def traps(case, *arguments, flags=(), mpi=None, **options):
    return run(compiled("traps.f90", *flags, mpi=mpi), case, *arguments, mpi=mpi, **options)


def told(done) -> dict:
    """The host's output: {call: (status, message)}."""
    assert done.returncode == 0, done.stdout + done.stderr
    return {m[1]: (int(m[2]), m[3].strip()) for m in re.finditer(r"^(.+?): (-?\d+) ?(.*)$", done.stdout, re.M)}


def python_file(folder: pathlib.Path, text: str) -> pathlib.Path:
    path = folder / "code.py"
    path.write_text(text)
    return path


# ---- failures come back as statuses -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code, status, message",
    [
        ("raise ValueError('boom')", 3, "boom"),
        ("import sys; sys.exit(0)", 4, "SystemExit"),
        ("raise KeyboardInterrupt", 4, "KeyboardInterrupt"),
        ("from kernels import StateError\nclass Odd(BaseException): pass\nraise Odd('odd one')", 4, "odd one"),
        ("syntax error here", 3, "SyntaxError"),
        ("raise MemoryError('gone')", 3, "gone"),
    ],
)
def test_an_exception_is_a_status_with_its_text(tmp_path, code, status, message):
    done = traps("python", python_file(tmp_path, code))
    got = told(done)["file"]
    assert got[0] == status and message in got[1]
    assert "host goes on" in done.stdout  # stat= was given: the host decides


@pytest.mark.parametrize("code", ["raise ValueError('boom')", "import sys; sys.exit(0)"])
def test_without_stat_a_failure_ends_the_run(tmp_path, code):
    done = traps("python_old", python_file(tmp_path, code))
    assert done.returncode == 70 + (3 if "boom" in code else 4)
    assert "host goes on" not in done.stdout
    assert "frame_registerkernel" in done.stderr


def test_on_error_return_hands_the_status_to_the_host(tmp_path):
    done = traps("python_old", python_file(tmp_path, "raise ValueError('boom')"), **RETURN)
    assert told(done)["file"][0] == 3 and "host goes on" in done.stdout


def test_python_that_cannot_start_is_status_1():
    done = traps("early", FRAME_PYTHON="/nowhere/python3")
    assert told(done)["launch"][0] == 1
    assert "/nowhere/python3" in told(done)["put"][1] and "FRAME_PYTHON" in told(done)["put"][1]
    assert traps("early_old", FRAME_PYTHON="/nowhere/python3").returncode == 71


@pytest.mark.parametrize("what", ["/bin/true", "/tmp", str(pathlib.Path(sys.executable).with_name("pip"))])
def test_what_is_no_interpreter_is_status_1(what):
    """Python itself would start: it only derives the places of its packages from the name."""
    if not pathlib.Path(what).exists():
        pytest.skip(f"no {what}")

    assert told(traps("early", FRAME_PYTHON=what))["put"] == (
        1,
        f"frame_put: FRAME_PYTHON = {what} is no Python interpreter.",
    )
    assert traps("early_old", FRAME_PYTHON=what).returncode == 71


@pytest.mark.parametrize("has, word", [((), "cffi"), (("_cffi_backend",), "No module named 'numpy'")])
def test_python_without_the_packages_is_status_1(tmp_path, has, word):
    """An interpreter that starts, but whose virtual environment is empty or has cffi alone."""
    folder = tmp_path / "empty"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)

    for module in has:
        file = pathlib.Path(importlib.util.find_spec(module).origin)
        (next(folder.glob("lib/python*/site-packages")) / file.name).symlink_to(file)

    done = traps("early", FRAME_PYTHON=str(folder / "bin" / "python"))
    status, message = told(done)["launch"]

    assert status == 1 and word in message and "ModuleNotFoundError" in done.stderr


def test_before_initialize_is_status_2():
    assert told(traps("early")) == {
        "launch": (2, "frame_launch: called before frame_initialize."),
        "put": (2, "frame_put: called before frame_initialize."),
    }
    assert told(traps("early_old", **RETURN))["launch"][0] == 2
    assert traps("early_old").returncode == 72


def test_initialize_again():
    got = told(traps("twice", OWN_KERNEL))
    assert [got[k][0] for k in ("first", "same", "other", "finalize", "between", "again")] == [0, 0, 5, 0, 2, 0]
    assert "11" in got["other"][1] and "10" in got["other"][1]
    assert got["launch"][0] == got["get"][0] == 0  # works after finalize: Python was not finalised


def test_finalize_first_does_nothing():
    assert told(traps("finalize_first")) == {"finalize": (0, "")}


def test_lasterror_is_empty_after_a_success():
    shown = re.findall(r"(.*): \[(.*)\]", traps("lasterror").stdout)
    assert [(call, bool(text)) for call, text in shown] == [("at first", False), ("failure", True), ("success", False)]


# ---- output streams -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [">&-", ">/dev/full", "2>&-", "2>/dev/full", ">&- 2>&-", "<&- >&- 2>&-", "| true"])
def test_streams_that_are_closed_or_full(end):
    """frame_report and frame_finalize go on. stop 5: the host came to its end."""
    text = f"set -o pipefail; sleep 0.1; $0 report {end}"
    done = run("bash", "-c", text, compiled("traps.f90"))
    assert done.returncode == 5, done.stdout + done.stderr
    assert ("timers are off" in done.stdout) == end.startswith("2"), done.stdout


# ---- which Python, and what the host's environment does to it -----------------------------------------------------


def test_the_interpreter_is_the_one_of_the_build(tmp_path):
    """PATH, VIRTUAL_ENV, PYTHONHOME and PYTHONPATH of the job have no effect."""
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "python3").symlink_to("/bin/false")
    (tmp_path / "numpy.py").write_text("raise SystemExit('wrong numpy')")
    code = python_file(tmp_path, "import sys\nprint('python is', sys.executable, sys.prefix)")

    done = traps(
        "python",
        code,
        PATH=f"{fake}:/usr/bin:/bin",
        PYTHONHOME=str(tmp_path),
        PYTHONPATH=str(tmp_path),
        VIRTUAL_ENV=str(tmp_path),
    )

    assert told(done)["file"][0] == 0
    assert f"python is {sys.executable} {sys.prefix}" in done.stdout


def test_names_and_paths_of_any_form(tmp_path):
    """Blanks in front do not count, bytes of a path are taken as they are. New-style calls never hear of char(0). After
    a start that failed a call has a status of its own, and the next start is as the first."""
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/of_\xe4")
    os.mkdir(folder)
    shutil.copy(ROOT / "examples/mechanisms/h2_o2.yaml", folder)
    made, host = compile_with_module("gfortran", tmp_path, "messages.f90", f"-I{SOURCES}")
    assert made.returncode == 0, made.stderr

    done = run(host, folder, FRAME_BACKEND=None, CUDA_VISIBLE_DEVICES="", **RETURN)
    assert "char(0)" not in done.stdout and "Traceback" not in done.stdout + done.stderr
    got = told(done)
    failed = {
        "failing start": (4, "cuda"),
        "block after it": (2, "called before frame_initialize"),
        "an option in UTF-8": (3, "frame_setoption: tag begins with the byte 0xC3, wanted a name in printable ASCII."),
        "another parameter": (3, "'timers'"),
        "no name of a file": (3, "frame_loadmixture: file is empty, wanted the name of a mixture's file."),
        "no mixture": (4, "call frame_loadmixture or frame_populatepreosshareddata first (by symbol, "),
        "no file": (3, "cannot be read (No such file or directory)"),
        "no name": (3, "collection is empty, wanted a name"),
        "another name": (3, "'thermic'"),
        "an array with a blank within": (3, f"the name of an array is 'T of it', {NAME}"),
        "a collection with a blank within": (3, f"collection is 'thermal viscous', {NAME}"),
        "a view with blanks within": (3, f"the name of an array is 'Y  O2', {NAME}"),
        "a parameter with a blank within": (3, f"tag is 'check point', {NAME}"),
        "a view in UTF-8": (3, f"the name of an array is 'T\N{LATIN SMALL LETTER A WITH DIAERESIS}', {NAME}"),
        "a long name": (3, f"{63 * 'A'}', {NAME}"),
    }
    for what, (status, words) in failed.items():
        assert got[what][0] == status and words in got[what][1], (what, got[what])
    for what in (
        "start",
        "blanks before an option",
        "an integer parameter",
        "a logical parameter",
        "blanks before a path",
        "blanks before names",
        "an end of line behind a name",
        "NUL behind a name",
    ):
        assert got[what] == (0, ""), what


@pytest.mark.skipif(not sysconfig.get_config_var("Py_ENABLE_SHARED"), reason="Python has no shared library")
@pytest.mark.parametrize("has_packages", [True, False])
def test_a_host_with_a_python_of_its_own(has_packages, tmp_path):
    """The layer works in it, with the lock of the interpreter held or not. Where packages lack, a line says whose
    count."""
    library()
    host, place = tmp_path / "host", sysconfig.get_config_var("LIBDIR")
    libraries = [f"-L{BUILD}", "-lframe", f"-L{place}", f"-lpython{sysconfig.get_config_var('LDVERSION')}"]
    folders = [f"-Wl,-rpath,{BUILD}", f"-Wl,-rpath,{place}", f"-I{BUILD}", f"-I{sysconfig.get_path('include')}"]
    source = [str(SOURCES / "own_python.c"), "-o", str(host)]
    subprocess.run(["cc", "-O1", "-Wall", "-Werror", *source, *folders, *libraries], check=True)

    packages = filter(None, sys.path) if has_packages else []
    done = run(host, N2, PYTHONHOME=sys.base_prefix, PYTHONPATH=":".join(packages), **RETURN)
    got = told(done)
    assert got["and the host"] == (0, "goes on") and got["finalize"] == (0, "")
    for when in ("with the lock", "without the lock"):
        if has_packages:
            assert got[when] == (0, "1")
        else:
            assert got[when][0] and f"The host has started Python {platform.python_version()}" in got[when][1]
            assert "so its packages count" in got[when][1]


def test_prints_arrive_through_a_pipe(tmp_path):
    assert "hello from inside" in traps("python", python_file(tmp_path, "print('hello from inside')")).stdout


def test_one_thread_and_few_imports(tmp_path):
    code = python_file(
        tmp_path,
        "import os, sys\nprint('threads', len(os.listdir('/proc/self/task')))\n"
        "print('blas', os.environ['OPENBLAS_NUM_THREADS'])\n"
        "print('loaded', [m for m in ('cupy', 'mpi4py', 'cantera', 'matplotlib') if m in sys.modules])",
    )

    done = traps("python", code, OPENBLAS_NUM_THREADS=None)

    assert "threads 1\n" in done.stdout and "blas 1\n" in done.stdout and "loaded []" in done.stdout
    assert "blas 2\n" in traps("python", code, OPENBLAS_NUM_THREADS="2").stdout  # the user's value has priority


def test_ctrl_c_still_stops_the_host(tmp_path):
    """Python's handler of SIGINT only sets a flag for the interpreter loop, which does not run while the host
    computes."""
    before = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a test run in the background may have it ignored,

    try:  # which programs inherit
        done = traps("python", python_file(tmp_path, "import os, signal\nos.kill(os.getpid(), signal.SIGINT)"))
    finally:
        signal.signal(signal.SIGINT, before)

    assert done.returncode == -signal.SIGINT and "host goes on" not in done.stdout


DRIVER_WITHOUT_CUPY = """
import sys
import kernels
kernels.engine.backend.DRIVER = (__file__,)  # a driver is here
sys.modules["cupy"] = None  # and CuPy is not
"""


def test_a_host_hears_that_auto_takes_the_cpu(tmp_path):
    """On a machine with an NVIDIA driver whose Python has no CuPy: one message, which names the package to install."""
    file = python_file(tmp_path, DRIVER_WITHOUT_CUPY)
    done = traps("python_first", file, FRAME_BACKEND=None, CUDA_VISIBLE_DEVICES=None)

    assert [told(done)[call] for call in ("file", "init", "again")] == [(0, "")] * 3
    assert done.stderr.count("backend auto takes the CPU") == 1
    assert "needs CuPy" in done.stderr and "install the project's extra 'cuda'" in done.stderr

    status, message = told(traps("python_first", file, FRAME_BACKEND="cuda"))["init"]

    assert status == 4 and "needs CuPy" in message and "install the project's extra 'cuda'" in message
    assert traps("python_first", file, FRAME_BACKEND="cpu").stderr == ""


# ---- floating point -----------------------------------------------------------------------------------------------


def test_a_host_with_floating_point_traps(tmp_path):
    """Start-up, a Python overflow and a NaN in a kernel do not trap; the host's own traps work afterwards."""
    code = tmp_path / "air.py"
    code.write_text(
        OWN_KERNEL.read_text().replace("from kernels import", "assert 1e300*1e300 == float('inf')\nfrom kernels import")
    )
    shutil.copy(OWN_KERNEL.with_suffix(".h"), tmp_path)
    done = traps("fpe", code, flags=("-O1", "-ffpe-trap=invalid,zero,overflow"))

    assert "init: 0" in done.stdout and "get: 0" in done.stdout
    assert "now the host divides by zero" in done.stdout and "HOST TRAP LOST" not in done.stdout
    assert done.returncode in (-signal.SIGFPE, 128 + signal.SIGFPE)


def test_a_host_whose_threads_trap():
    """The kernels run on OpenMP threads that the host has started with its traps on."""
    done = traps(
        "fpe_threads", OWN_KERNEL, flags=("-O1", "-fopenmp", "-ffpe-trap=invalid,zero,overflow"), FRAME_THREADS="2"
    )
    assert done.returncode == 0 and "negative T is NaN: T" in done.stdout, done.stdout + done.stderr


def test_subnormals():
    """libframe does not switch the host to flush-to-zero. In a host with flush-to-zero, the layer uses its own mode."""
    plain = traps("subnormal", SOURCES / "twice.py", flags=("-O1",)).stdout

    assert "before: host keeps subnormals T" in plain and "after: host keeps subnormals T" in plain
    assert "kept in the layer: T" in plain

    fast = traps("subnormal", SOURCES / "twice.py", flags=("-O1", "-ffast-math")).stdout

    assert "before: host keeps subnormals F" in fast and "after: host keeps subnormals F" in fast
    assert "kept in the layer: T" in fast


# ---- arguments ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case, call, word",
    [("no_val", "init", "device_id"), ("no_val_stripe", "stripe", "nx"), ("no_val_launch", "launch", "nActive")],
)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_a_forgotten_val_is_named(case, call, word, level):
    status, message = told(traps(case, flags=(level,), **RETURN))[call]
    assert status == 3 and "%VAL" in message
    assert word in message or level == "-O2"  # the argument that is refused first depends on where the host keeps them


def test_an_array_by_value_is_named():
    assert told(traps("array_by_val", **RETURN))["stripe"] == (
        3,
        "frame_castles_populateinputstripe: data has the address (nil), wanted an array by reference; is it passed "
        "with %VAL() or not allocated?",
    )


def test_bounds_outside_the_block():
    got = told(traps("bounds", **RETURN))

    for call, words in (
        ("beyond the block", "SptX, EptX = 1, 7"),
        ("zero", "SptX, EptX = 0, 6"),
        ("reversed", "SptX, EptX = 4, 3"),
        ("two variables", "2 given"),
        ("stripe", "1..7"),
    ):
        assert got[call][0] == 3 and words in got[call][1], got[call]

    assert got["right"][0] == 0


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_tags_without_an_end(level):
    """The read is bounded for any bytes after the literal. An unknown tag is refused, with the list of known ones."""
    got = told(traps("tags", flags=(level,), **RETURN))

    assert got["unknown"][0] == 3 and "python -m frame names" in got["unknown"][1] and "char(0)" in got["unknown"][1]
    assert got["close"][0] == 3 and "did you mean 'T'" in got["close"][1]
    assert got["no end"][0] == 3 and "A" * 63 + "'" in got["no end"][1]
    assert got["blank ends"][0] == 0
    assert got["no char(0)"][0] == 3
    assert got["option"][0] == 3 and "root" in got["option"][1]


def test_numbers_that_are_not_aligned():
    """Compiled loops would take for granted that they are."""
    library()

    code = """import ctypes, sys, numpy
frame, room, text = ctypes.CDLL(sys.argv[1]), numpy.zeros(100), ctypes.create_string_buffer(500)
assert frame.frame_initialize_(-1, 8, 1, 1, 0) == 0
for more in (4, 8):
    at = ctypes.c_void_p(room.ctypes.data + more)
    print(frame.frame_castles_populateinputstripe_(b"T", at, *(8, 1, 1), *(1, 8), *(1, 1) * 3, 1, 8))
    length = frame.frame_lasterror_(text, 500)
    print(text.raw[:length].decode())
"""

    done = run(sys.executable, "-c", code, BUILD / "libframe.so", **RETURN)
    wanted = r"3\n.*: data has the address 0x\w+, wanted a multiple of 8 bytes; .*\n0\n\n"

    assert re.fullmatch(wanted, done.stdout), done.stdout + done.stderr


def test_calls_that_make_no_sense():
    """A part of what the script does by itself."""
    library()
    command = [sys.executable, ROOT / "tests" / "fuzz_calls.py", "--calls", "1500", "--seed", "5"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "1500 calls; statuses: {0: " in done.stdout, done.stdout + done.stderr[-3000:]


def test_a_section_that_came_as_a_temporary():
    """The data are copied in the call, so that the compiler may free its temporary afterwards."""
    done = traps("section", OWN_KERNEL)
    told(done)
    values = [float(x) for x in re.search(r"T =(.*)", done.stdout)[1].split()]
    assert values == [0, 320, 0, 320, 0, 320]  # printed to 1e-3; every second one through a section


def test_shapes_and_bounds():
    got = told(traps("shapes"))

    for call, words in (
        ("single", ""),
        ("not allocated", "not allocated"),
        ("bounds", "the bounds (1:6), which do not contain the box (1:7)"),
        ("bound 0", "the box (0:6)"),
        ("first 0", "stripe 0..3, wanted within 1..6"),
        ("a matrix is two directions", ""),
    ):
        assert got[call][0] == (3 if words else 0) and words in got[call][1], (call, got[call])

    assert got["assumed size"][0] == 0


def test_pinned_arrays():
    """The checks are the same without a GPU, where pin does nothing."""
    got = told(traps("pin", **RETURN))

    wrong = {
        "early": (2, "before frame_initialize"),
        "twice": (3, "is pinned already"),
        "part": (3, "88 bytes at"),
        "other size": (3, "is not pinned; pinned: 32000 bytes"),
        "unpinned twice": (3, "is not pinned; pinned: 48 bytes"),
        "not allocated": (3, "not allocated"),
        "old part": (3, "overlaps one that is pinned (32000 bytes"),
        "old other size": (3, "16000 bytes"),
        "negative": (3, "n = -1"),
    }

    for call, (status, words) in wrong.items():
        assert got[call][0] == status and words in got[call][1], (call, got[call])

    right = (
        "pin",
        "another",
        "the same memory",
        "nothing",
        "nothing again",
        "old",
        "old unpin",
        "after finalize",
        "finalize",
    )

    assert [got[call] for call in right] == [(0, "")] * len(right)


# ---- linking ------------------------------------------------------------------------------------------------------


def test_no_mpi_and_no_fast_math_in_the_library():
    needed = subprocess.run(["readelf", "-d", str(library())], capture_output=True, text=True, check=True).stdout
    assert "libmpi" not in needed and "libpython" in needed and "libframe.so" in needed
    symbols = subprocess.run(["nm", str(library())], capture_output=True, text=True, check=True).stdout
    assert "set_fast_math" not in symbols


def test_every_mangling_and_a_local_dlopen(tmp_path):
    """A C host opens libframe with RTLD_LOCAL: NumPy's extension modules still find libpython."""
    host = tmp_path / "host"
    subprocess.run(["cc", "-rdynamic", str(SOURCES / "host.c"), "-o", str(host), "-ldl"], check=True)
    done = run(host, library())
    assert (done.returncode, done.stdout) == (0, "initialize 0\nfinalize 0\n"), done.stdout + done.stderr


@pytest.mark.parametrize("flags", [("-fsecond-underscore",), ("-fno-underscoring",), ("-fdefault-integer-8",)])
def test_fortran_manglings_and_long_integers(flags, tmp_path):
    host = tmp_path / "host"
    library()

    subprocess.run(
        [
            FORTRAN,
            *flags,
            str(SOURCES / "manglings.f90"),
            "-o",
            str(host),
            f"-L{BUILD}",
            "-lframe",
            f"-Wl,-rpath,{BUILD}",
        ],
        check=True,
    )

    assert told(run(host, **RETURN)) == {"call": (0, ""), "function": (0, "")}


def test_libframe_comes_last_on_the_link_line(tmp_path):
    command = [FORTRAN, "-Wl,--as-needed", f"-L{BUILD}", f"-Wl,-rpath,{BUILD}", "-o", str(tmp_path / "host")]
    library()
    first = subprocess.run([*command, "-lframe", str(SOURCES / "manglings.f90")], capture_output=True, text=True)
    assert first.returncode != 0 and "undefined reference" in first.stderr

    subprocess.run([*command, str(SOURCES / "manglings.f90"), "-lframe"], check=True)


def test_the_header_compiles_as_c_and_cpp(tmp_path):
    library()
    for language in ("c", "c++"):
        done = subprocess.run(
            ["cc", "-x", language, "-Wall", "-Werror", "-fsyntax-only", str(BUILD / "frame.h")],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr


# ---- threads ------------------------------------------------------------------------------------------------------


def test_calls_from_openmp_threads():
    assert told(traps("threads", OWN_KERNEL, flags=("-O1", "-fopenmp")))["bad"][0] == 0
    assert told(traps("first_call_in_parallel", flags=("-O1", "-fopenmp")))["bad"][0] == 0
