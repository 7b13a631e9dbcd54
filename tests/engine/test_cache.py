"""The cache of compiled kernels on the CPU: one compilation among ranks that start at once, broken entries, folders
that cannot be written."""

import contextlib
import hashlib
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import pytest
from hosts import ROOT

from kernels.engine.backend import cache, cpu
from kernels.engine.errors import BackendError

PROGRAM = """
import numpy as np
from kernels import Mixture, get_backend
from kernels.marshal import Block, Marshal
mix = Mixture.from_yaml("examples/mixtures/n2.yaml")
print(mix.properties("rho", T=300.0, p=1e7, Y=[1.0], backend="cpu")["rho"])
backend, host = get_backend("cpu"), np.arange(8.0)
view = backend.empty((1, backend.pad(8)))
Marshal(backend).gather(Block(host.ctypes.data, (8, 1, 1, 1), (1, 8, 8, 8), (0, 0, 0, 0), (8, 1, 1, 1)), 0, 8, view)
print(view[0, :8].tolist() == host.tolist())
"""


def start(folder, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "FRAME_CACHE": str(folder), **environment},
    )


def finish(process) -> str:
    out, err = process.communicate()
    assert process.returncode == 0 and out.endswith("True\n"), out + err
    return out


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A cache that holds a program and the marshal, and the output of PROGRAM."""
    folder = tmp_path_factory.mktemp("filled")
    return folder, finish(start(folder))


@pytest.fixture
def counted(tmp_path):
    """A compiler that counts its runs: (its path, function that returns the count)."""
    log, wrapper = tmp_path / "runs", tmp_path / "counted-g++"
    wrapper.write_text(f'#!/bin/sh\necho run >> {log}\nexec {shutil.which(cpu.compiler())} "$@"\n')
    wrapper.chmod(0o755)
    return wrapper, lambda: log.read_text().count("run") if log.exists() else 0


def test_processes_that_start_at_once_compile_once(tmp_path, counted):
    compiler, runs = counted
    started = [start(tmp_path / "cache", FRAME_CXX=str(compiler)) for _ in range(4)]

    assert len({finish(process) for process in started}) == 1
    assert runs() == 2  # the program and the marshal

    finish(start(tmp_path / "cache", FRAME_CXX=str(compiler)))
    assert runs() == 2  # a filled cache starts no compiler

    assert not [
        f
        for f in (tmp_path / "cache").iterdir()
        if f.suffix not in (".so", ".sha256", ".lock") and "compiler-" not in f.name
    ]


LOADED = (
    "from kernels.engine.backend import cpu; "
    "print(cpu.CpuBackend().compile(cpu.Source('tiny', {text!r}, quick=True)).name)"
)
TINY_KERNEL = LOADED.format(text='extern "C" int tiny(const void *, long, int) { return 0; }')


def loaded(folder, **environment):
    """Compiles and loads a kernel of one line in a process of its own: (exit status, output)."""
    process = subprocess.run(
        [sys.executable, "-c", TINY_KERNEL],
        cwd=ROOT,
        text=True,
        capture_output=True,
        env={**os.environ, "FRAME_CACHE": str(folder), **environment},
    )

    return process.returncode, process.stdout + process.stderr


@pytest.mark.parametrize(
    "command",
    ["{cxx} -m64", "{wrapper} {cxx}", "/usr/bin/env A=1 {cxx} -g0", "{blank}/c++", "  ", "'{blank}/c++' -DX='a b'"],
)
def test_a_compiler_with_arguments_or_a_wrapper(command, tmp_path):
    """As modules and CI set CXX."""
    cxx, wrapper, blank = shutil.which(cpu.compiler()), tmp_path / "ccache", tmp_path / "a folder"
    blank.mkdir()

    for path, line in ((wrapper, 'exec "$@"'), (blank / "c++", f'exec {cxx} "$@"')):
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)

    command = command.format(cxx=cxx, wrapper=wrapper, blank=blank)
    for _ in range(2):  # made, and found again
        assert loaded(tmp_path / "cache", FRAME_CXX=command) == (0, "tiny\n")
    assert len(list((tmp_path / "cache").glob("*.so"))) == 1


@pytest.mark.parametrize(
    "command, words",
    [
        ("true", "C++ compiler 'true' ended without an error, and made nothing of 'tiny': is it a compiler"),
        ("absent g++", "C++ compiler 'absent g++': 'absent' is not on PATH"),
        ("absent", "C++ compiler 'absent' is not on PATH"),
        ("g++ 'x", "No closing quotation; set FRAME_CXX"),
        ("{broken}", "cannot be started"),
        ("env absent-g++", "compiling 'tiny' failed (env absent-g++)"),
    ],
)
def test_a_compiler_that_makes_nothing_is_named(command, words, tmp_path):
    broken = tmp_path / "broken"
    broken.write_text("no program")
    broken.chmod(0o755)
    status, text = loaded(tmp_path / "cache", FRAME_CXX=command.format(broken=broken))
    assert status == 1 and words in text and "cannot be written" not in text


@pytest.mark.parametrize("home_is_full", [False, True])
def test_a_disk_that_is_full(home_is_full, tmp_path):
    """The linker says so on a disk with room for the text of a kernel and not for its code. The user's default folder
    takes the kernel; if it is full, too, the message names the folder, and shows no source."""
    cxx, full = shutil.which(cpu.compiler()), tmp_path / "c++"
    where = "*" if home_is_full else f"*{tmp_path}/cache*"
    full.write_text(
        f'#!/bin/sh\ncase "$*" in {where}) echo "ld: No space left on device" >&2; exit 1;; esac\nexec {cxx} "$@"'
    )
    full.chmod(0o755)

    status, text = loaded(tmp_path / "cache", FRAME_CXX=str(full), HOME=str(tmp_path / "home"))

    if home_is_full:
        assert status == 1 and "cannot write the kernel cache entry" in text and "No space left on device" in text
        assert "set FRAME_CACHE to a writable folder" in text and "CompileError" not in text
    else:
        assert status == 0 and text.startswith("tiny\n") and "No space left on device" in text
        assert list((tmp_path / "home").rglob("*.so")) and not list((tmp_path / "cache").glob("*.so"))


def test_a_compiler_that_crashes(tmp_path):
    """As a stack of 256 KiB (ulimit -s) makes it."""
    broken = tmp_path / "c++"
    broken.write_text(
        "#!/bin/sh\necho 'c++: internal compiler error: Segmentation fault signal terminated program' >&2; exit 4"
    )
    broken.chmod(0o755)
    status, text = loaded(tmp_path / "cache", FRAME_CXX=str(broken))
    assert status == 1 and "the compiler itself ended: it may lack memory, or stack (ulimit -s)." in text


def test_a_job_without_a_path(tmp_path):
    """The compiler finds the linker all the same. A compiler given by its path needs no PATH itself."""
    environment = {"FRAME_CACHE": str(tmp_path / "cache"), "FRAME_CXX": shutil.which(cpu.compiler())}
    command = [sys.executable, "-c", TINY_KERNEL]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, env=environment)
    assert (done.returncode, done.stdout) == (0, "tiny\n"), done.stderr


def test_a_folder_without_a_path_while_the_process_goes_to_another(tmp_path):
    """FRAME_CACHE=. : the loader would look for a name without a path among the system's libraries."""
    (tmp_path / "elsewhere").mkdir()
    code = f"import os, sys\nsys.path.insert(0, {str(ROOT)!r})\n" + TINY_KERNEL
    code += "\nos.chdir('elsewhere')\n" + TINY_KERNEL.replace("tiny", "small")
    environment = {**os.environ, "FRAME_CACHE": "."}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, text=True, capture_output=True, env=environment)

    assert (done.returncode, done.stdout) == (0, "tiny\nsmall\n"), done.stderr
    assert len(list(tmp_path.glob("*.so"))) == 2 and not list((tmp_path / "elsewhere").iterdir())


def test_the_compiler_behind_a_wrapper_decides_the_key(monkeypatch, tmp_path):
    monkeypatch.setenv("FRAME_CACHE", str(tmp_path / "cache"))
    plain = cpu._version(shutil.which("g++"))
    assert plain and cpu._version("/usr/bin/env g++ -m64") == plain


NOEXEC = """
import os, sys
real = os.statvfs
class Mounted:
    def __init__(self, path):
        self.f_flag = real(path).f_flag | os.ST_NOEXEC * any(str(path).startswith(p) for p in sys.argv[1:])
os.statvfs = Mounted
"""


def on_noexec(folder, own, *mounted):
    process = subprocess.run(
        [sys.executable, "-c", NOEXEC + TINY_KERNEL, *map(str, mounted)],
        cwd=ROOT,
        text=True,
        capture_output=True,
        env={**os.environ, "FRAME_CACHE": str(folder), "XDG_CACHE_HOME": str(own)},
    )

    return process.returncode, process.stdout + process.stderr


def test_a_folder_mounted_noexec(tmp_path):
    """The user's own folder takes its place, with a warning; where that is mounted so as well, the error says it."""
    folder, own = tmp_path / "cache", tmp_path / "own"
    status, text = on_noexec(folder, own, folder)

    assert status == 0 and f"{folder} is on a file system mounted noexec" in text and str(own) in text
    assert not list(folder.glob("*.so")) and len(list((own / "castles-frame").glob("*.so"))) == 1

    status, text = on_noexec(folder, own, folder, own)
    assert status == 1 and "BackendError" in text and "mounted noexec: no compiled kernel can be loaded from it" in text
    assert "Set FRAME_CACHE to a folder where programs may run" in text


def seal(path: pathlib.Path) -> None:
    """Write the checksum of the present content."""
    path.with_suffix(".sha256").write_text(hashlib.sha256(path.read_bytes()).hexdigest())


HARMS = {
    "truncated": lambda so: so.write_bytes(so.read_bytes()[:100]),
    "empty": lambda so: so.write_bytes(b""),
    "gone": lambda so: so.unlink(),
    "no checksum": lambda so: so.with_suffix(".sha256").unlink(),
    "other checksum": lambda so: so.with_suffix(".sha256").write_text("?"),
    "not loadable": lambda so: (so.write_bytes(b"of another system"), seal(so)),
}


@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.quick(harm="truncated")
def test_a_broken_entry_is_rebuilt(filled, harm, tmp_path):
    folder, wanted = filled
    copy = tmp_path / "cache"
    shutil.copytree(folder, copy)
    entries = sorted(copy.glob("*.so"))

    assert [e.name.split("-")[0] for e in entries] == ["marshal", "rho"]
    for entry in entries:
        HARMS[harm](entry)
    assert finish(start(copy)) == wanted

    for entry in entries:
        assert entry.with_suffix(".sha256").read_text().split("\n")[0] == hashlib.sha256(entry.read_bytes()).hexdigest()


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    """/proc/sys refuses new files from root too. The user's own folder cannot be made there either."""
    (tmp_path / "file").touch()
    for folder in ("/proc/sys/kernel", tmp_path / "file"):
        process = start(folder, XDG_CACHE_HOME="/proc/sys/kernel")
        _, err = process.communicate()
        assert process.returncode == 1 and "BackendError" in err and str(folder) in err and "set FRAME_CACHE" in err, (
            err
        )


TINY = """
from kernels.engine.backend import cache
import os, sys, time
if len(sys.argv) > 2:
    os.setgroups([])
    os.setgid(int(sys.argv[2]))
    os.setuid(int(sys.argv[2]))
def make(path):
    path.write_text("made")
    print("making", flush=True)
    time.sleep(float(sys.argv[1]))
print(cache.entry("tiny", ".so", make), flush=True)
"""


def tiny(folder, seconds=0, user=None, **environment):
    """Starts a process that makes the entry `tiny` in so many seconds; user: another one than this."""
    return subprocess.Popen(
        [sys.executable, "-W", "always", "-c", TINY, str(seconds), *([] if user is None else [str(user)])],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "FRAME_CACHE": str(folder), **environment},
    )


def told(process) -> tuple[int, str]:
    """(exit status, output); a process that hangs fails the test."""
    out, err = process.communicate(timeout=60)
    return process.returncode, out + err


def names(folder):
    return sorted(f.name for f in folder.iterdir())


def test_the_folder_is_the_users_alone(tmp_path):
    assert told(tiny(tmp_path / "a" / "cache")) == (0, f"making\n{tmp_path / 'a' / 'cache' / 'tiny.so'}\n")
    assert (tmp_path / "a" / "cache").stat().st_mode & 0o777 == 0o700
    assert names(tmp_path / "a" / "cache") == ["tiny.sha256", "tiny.so"]


@pytest.mark.parametrize("mode", [0o770, 0o757, 0o1777])
def test_a_folder_that_others_may_write_is_refused(mode, tmp_path):
    """A library that another user put there would run here."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(mode)
    status, text = told(tiny(tmp_path / "cache"))

    assert status == 1 and f"has mode {mode:04o} (chmod go-w" in text and "FRAME_CACHE_SHARED=1" in text
    assert names(tmp_path / "cache") == []
    assert told(tiny(tmp_path / "cache", FRAME_CACHE_SHARED="1"))[0] == 0


NOBODY = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="another user is needed, which root can start")


@as_root
def test_a_folder_or_an_entry_of_another_user_is_refused(tmp_path):
    folder = tmp_path / "cache"
    assert told(tiny(folder))[0] == 0

    os.chown(folder / "tiny.so", NOBODY, NOBODY)  # left there before the folder was closed to others
    assert told(tiny(folder))[1].startswith("making")

    os.chown(folder, NOBODY, NOBODY)
    status, text = told(tiny(folder))

    assert status == 1 and f"belongs to user {NOBODY}, this process to 0" in text and "FRAME_CACHE_SHARED=1" in text
    assert told(tiny(folder, FRAME_CACHE_SHARED="1")) == (0, f"{folder / 'tiny.so'}\n")


@pytest.mark.parametrize("what", ["link", "fifo", "folder"])
def test_a_lock_that_is_no_file(what, tmp_path):
    """A link is not followed (the file behind it was emptied), a fifo is not waited for."""
    lock, elsewhere = tmp_path / "tiny.lock", tmp_path / "elsewhere"
    elsewhere.write_text("precious")
    {"link": lambda: lock.symlink_to(elsewhere), "fifo": lambda: os.mkfifo(lock), "folder": lock.mkdir}[what]()
    assert told(tiny(tmp_path)) == (0, f"making\n{tmp_path / 'tiny.so'}\n")
    assert elsewhere.read_text() == "precious"


def test_what_a_killed_maker_leaves_is_removed(tmp_path):
    process = tiny(tmp_path, 60)
    assert process.stdout.readline() == "making\n"

    waits = tiny(tmp_path)
    process.kill()
    process.communicate()

    assert told(waits) == (0, f"making\n{tmp_path / 'tiny.so'}\n")
    assert names(tmp_path) == ["tiny.sha256", "tiny.so"]


@pytest.fixture
def open_path():
    """A folder that any user may enter. Those of pytest are its user's alone: each pytest that starts closes them."""
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name)
        path.chmod(0o755)
        yield path


@as_root
def test_two_users_of_a_shared_folder(open_path):
    """The second waits for an entry that the first makes. Where it may not write, it has a folder of its own."""
    folder, own = open_path / "cache", open_path / "own"
    folder.mkdir()
    own.mkdir()
    os.chown(own, NOBODY, NOBODY)
    second = dict(user=NOBODY, FRAME_CACHE_SHARED="1", XDG_CACHE_HOME=str(own))
    first = tiny(folder, 6)  # seconds: the second one has started by then on a busy machine too

    assert first.stdout.readline() == "making\n"
    status, text = told(tiny(folder, **second))

    assert status == 0 and text.startswith(f"{folder / 'tiny.so'}\n")
    assert f"compiles it (node and number: {platform.node()} {first.pid}) is waited for" in text
    assert told(first)[0] == 0

    (folder / "tiny.so").write_text("broken")
    status, text = told(tiny(folder, **second))
    made = own / "castles-frame" / "tiny.so"

    assert status == 0 and str(made) in text and f"folder {folder} cannot be written" in text
    assert told(tiny(folder, **second)) == (0, f"{made}\n")  # and found again without a word

    folder.chmod(0o777)  # now it may write there: both makers' files are the same
    assert told(tiny(folder, **second)) == (0, f"making\n{folder / 'tiny.so'}\n")


def test_a_named_target_is_the_same_on_every_processor(monkeypatch):
    """Compute nodes with another processor find the kernels that a login node compiled for FRAME_ARCH."""
    monkeypatch.setenv("FRAME_ARCH", "x86-64-v3")
    assert cpu.processor.__wrapped__(cpu.target()) == platform.machine()

    monkeypatch.setenv("FRAME_ARCH", "native")
    native = cpu.processor.__wrapped__(cpu.target())
    monkeypatch.delenv("FRAME_ARCH")

    assert cpu.processor.__wrapped__(cpu.target()) == native != platform.machine()


TINY_SOURCE = '#include "engine/numbers/kernel.h"\nKERNEL(tiny, void, 1) { return 0; }\n'
V2 = "pni ssse3 sse4_1 sse4_2 popcnt"
V3 = f"{V2} abm avx avx2 bmi1 bmi2 f16c fma movbe"
V4 = f"{V3} avx512f avx512bw avx512cd avx512dq avx512vl"
TARGETS = [  # target, sets of instructions of the processor, what the error says
    ("x86-64", "", ""),
    ("x86-64-v2", V2, ""),
    ("x86-64-v3", V3, ""),
    (
        "x86-64-v3",
        f"{V2} avx",
        "FRAME_ARCH = x86-64-v3: this processor has no abm, movbe, bmi1, bmi2, f16c, fma, avx2,",
    ),
    ("haswell", V3, ""),
    ("haswell", V2, "FRAME_ARCH = haswell: .*avx2"),
    ("skylake-avx512", V4, ""),
    ("cascadelake", V4, "FRAME_ARCH = cascadelake: this processor has no avx512_vnni, so"),
    ("sapphirerapids", V4, "FRAME_ARCH = sapphirerapids: .*avx_vnni.*avx512_fp16"),
    ("bdver1", V3, "xop.*fma4"),
]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the targets are those of x86-64")
@pytest.mark.parametrize("target, sets, words", TARGETS)
def test_a_target_that_the_processor_lacks_is_refused_before_a_kernel_runs(target, sets, words, monkeypatch, tmp_path):
    """The first instruction that it does not know would end the process. Compiling for other nodes is no error."""
    monkeypatch.setattr(cpu, "processor", lambda arch: f"x86_64\nflags\t: sse2 {sets}")
    monkeypatch.setenv("FRAME_CACHE", str(tmp_path))
    monkeypatch.setenv("FRAME_ARCH", target)

    module = cpu.CpuBackend().compile(cpu.Source("tiny", TINY_SOURCE, quick=True))

    with pytest.raises(BackendError, match=words) if words else contextlib.nullcontext():
        module.address("tiny")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the targets are those of x86-64")
def test_instructions_of_added_flags_are_compared_too(monkeypatch, tmp_path):
    monkeypatch.setattr(cpu, "processor", lambda arch: f"x86_64\nflags\t: sse2 {V2}")
    monkeypatch.setenv("FRAME_CACHE", str(tmp_path))
    monkeypatch.setenv("FRAME_ARCH", "x86-64-v2")
    monkeypatch.setenv("FRAME_CXXFLAGS", "-mavx2")

    module = cpu.CpuBackend().compile(cpu.Source("tiny", TINY_SOURCE, quick=True))

    with pytest.raises(
        BackendError, match="x86-64-v2 with FRAME_CXXFLAGS = -mavx2: .* no avx, avx2, so the kernels of 'tiny'"
    ):
        module.address("tiny")


WIDTHS = """
import sys
import numpy as np
from kernels import Mixture
T, p = np.meshgrid(np.linspace(300, 3000, 37), [1e5, 1e7])
mix = Mixture.from_yaml(f"examples/mixtures/{sys.argv[2]}.yaml")
Y = np.full((mix.ns, 1, 1), 1 / mix.ns)
np.savez(sys.argv[1], **mix.properties("rho h cp c mu lam D", T=T, p=p, Y=Y, backend="cpu"))
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the targets are those of x86-64")
@pytest.mark.parametrize("mixture", ["h2_o2", "ch4_o2"])
@pytest.mark.quick(mixture="h2_o2")
def test_every_width_of_vectors_agrees(tmp_path, mixture):
    """SSE2, AVX2 and this processor's vectors give the same results up to the rounding of FMA, which SSE2 does not
    have; those of this processor as users compile them, with several packs a value. The states are away from the
    critical ridge; 1e-10 is 1e6 roundings. D contains Takahashi's factor, between 0.5 and 1 here. Its table is within
    2e-7, and a place near the end of a window may fall into the next one, since division differs between widths."""
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    got = {}

    for target in ("native", "x86-64", "x86-64-v3"):
        if target == "x86-64-v3" and "avx2" not in flags:
            continue
        flags_of_users = {"FRAME_CXXFLAGS": ""} if target == "native" else {}
        subprocess.run(
            [sys.executable, "-c", WIDTHS, tmp_path / f"{target}.npz", mixture],
            cwd=ROOT,
            check=True,
            env={**os.environ, "FRAME_ARCH": target, "FRAME_CACHE": str(tmp_path), **flags_of_users},
        )

        got[target] = np.load(tmp_path / f"{target}.npz")
        for name, values in got["native"].items():
            scale = np.abs(values).max() if name == "h" else np.abs(values)  # h crosses zero
            assert (np.abs(got[target][name] - values) <= (1e-6 if name == "D" else 1e-10) * scale).all(), (
                target,
                name,
            )


def test_a_stopped_process_that_compiles_does_not_hold_up_others(tmp_path, capfd):
    """It holds the lock; a line names it, and the entry is made without it."""
    code = (
        "import sys, time, pathlib\n"
        "from kernels.engine.backend import cache\n"
        "def make(path):\n"
        "    print('making', flush=True)\n"
        "    time.sleep(60)\n"
        "cache.entry('slow', '.txt', make)\n"
    )

    holder = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "FRAME_CACHE": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout.readline() == "making\n"
        holder.send_signal(signal.SIGSTOP)

        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("FRAME_CACHE", str(tmp_path))
            begin = time.monotonic()
            path = cache.entry("slow", ".txt", lambda path: path.write_text("made") and None)

        assert path.read_text() == "made" and time.monotonic() - begin < 20
        said = capfd.readouterr().err
        assert f"{holder.pid}) is not done, so this process compiles it too" in said
    finally:
        holder.kill()
        holder.wait()
