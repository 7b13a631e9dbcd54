"""CPU vector units: generated C++, compiled by the system's compiler, loaded through cffi. Nothing else runs the
compiler."""

from __future__ import annotations

import contextlib
import functools
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess

import cffi

from ..errors import ArgumentError, BackendError, CompileError, refuse
from . import cache, explain
from .base import Backend, Module, Source

HERE = pathlib.Path(__file__).resolve().parents[2]
MOST = 2**62  # items of a launch that knows no limit
# Named one by one, never -ffast-math: NaN and the order of sums are kept. Contraction to FMA is IEEE and wanted.
FLAGS = [
    "-std=gnu++17",
    "-O3",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
    "-fPIC",
    "-shared",
    "-fopenmp",
    "-fno-semantic-interposition",
    "-Wno-psabi",
]
# Kernels are long chains of dependent operations; put side by side where they are independent of one another, more of
# them run at once.
INTERLEAVED = ("-fschedule-insns", "-fsched-pressure")  # g++ only

ffi = cffi.FFI()
_orphan: list[bool] = []  # not empty: this process was forked from one with OpenMP threads, and they stayed there


def default_threads() -> int:
    """FRAME_THREADS, else 1. Raises ArgumentError where it is no whole number of 1 to 4096."""
    text = os.environ.get("FRAME_THREADS") or "1"
    refuse(
        not text.isdecimal() or not 1 <= int(text) <= 4096,
        f"FRAME_THREADS = {text!r}; wanted a whole number of threads, 1 to 4096.",
    )
    return int(text)


def compiler() -> str:
    """The C++ compiler: FRAME_CXX, CXX, else g++. A program, or a command with arguments or a wrapper in front, such
    as "g++ -m64", "ccache g++"."""
    own, usual = os.environ.get("FRAME_CXX", ""), os.environ.get("CXX", "")
    return own.strip() or usual.strip() or "g++"


def words(command: str) -> list[str]:
    """The words of a compiler's command, as a shell reads them; a program whose path has blanks is one word. Raises
    BackendError for quotes that do not end."""
    if shutil.which(command):
        return [command]
    try:
        return shlex.split(command)
    except ValueError as error:
        raise BackendError(f"C++ compiler {command!r}: {error}; set FRAME_CXX to a command.") from None


def programs(command: str) -> list[str]:
    """The programs that a command names, by their paths: the compiler is the last one, wrappers stand before it.
    Assignments of `env` are left out. Empty where the first word is no program."""
    found: list[str] = []
    for word in words(command):
        if found and "=" in word and not word.startswith("-"):
            continue
        path = shutil.which(word)
        if word.startswith("-") or not path:
            break
        found.append(path)
    return found


def target() -> str:
    """FRAME_ARCH (such as x86-64-v3), else what this processor has."""
    return os.environ.get("FRAME_ARCH") or "native"


def added_flags() -> list[str]:
    """FRAME_CXXFLAGS: the user's options, which come after the layer's own and so win over them."""
    return shlex.split(os.environ.get("FRAME_CXXFLAGS") or "")


@functools.lru_cache(None)
def processor(arch: str) -> str:
    """What -march=native stands for on this node, so that nodes that differ do not share machine code. A named target
    says it all: then a login node can fill the cache for compute nodes with another processor."""
    if arch != "native":
        return platform.machine()
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
        keep = [
            line
            for line in lines
            if line.split("\t")[0].strip() in ("model name", "flags", "Features", "CPU part", "cpu family", "model")
        ]
        return platform.machine() + "\n" + "\n".join(keep)
    except OSError:
        return platform.machine() + platform.processor()


def shared_object(source: Source) -> pathlib.Path:
    """Compile `source` unless the cache has it; a filled cache starts no process."""
    wanted = compiler()
    scheduling = () if "clang" in _version(wanted) else INTERLEAVED
    flags = [*FLAGS, "-march=" + target(), *(("-O1",) if source.quick else scheduling), *added_flags()]
    folders = [HERE, *source.folders]

    def make(path):
        program, *more = words(wanted)
        refuse(
            not shutil.which(program),
            f"C++ compiler '{wanted}'{_unless_alone(program, more)} is not on PATH and '{source.name}' is not in the "
            f"kernel cache {cache.folder()}: install g++, or fill the cache beforehand with python -m frame compile.",
            BackendError,
        )
        file, rule = path.with_suffix(".cpp"), path.with_suffix(".d")
        where = [f"-I{HERE}", *(f"-idirafter{folder}" for folder in source.folders)]
        command = [shutil.which(program), *more, *flags, *where, str(file), "-o", str(path)]
        try:
            file.write_text(source.text)
            done = _compiled([*command, "-MMD", f"-MF{rule}", *(f"-l{name}" for name in source.libraries)], wanted)
            if rule.is_file():
                cache.note(noted, rule, {file.resolve(), *cache.included(source.text, folders)})
        finally:
            file.unlink(missing_ok=True)
            rule.unlink(missing_ok=True)
        if done.returncode:
            said = explain.cause(source, done.stderr)
            raise CompileError(f"{said}compiling '{source.name}' failed ({wanted}):\n{done.stderr[:4000]}")
        refuse(
            not path.is_file(),
            f"C++ compiler '{wanted}' ended without an error, and made nothing of '{source.name}': is it a compiler? "
            "Set FRAME_CXX to one.",
            BackendError,
        )

    texts = cache.texts(source.text, folders)
    key = cache.key(*texts, " ".join(flags), wanted, _version(wanted), processor(target()))
    noted = cache.noted(key, source.folders)
    while True:
        with contextlib.suppress(cache.MoreIncluded):
            return cache.entry(f"{source.name[:40]}-{cache.with_noted(key, noted)}", ".so", make)


def _unless_alone(program: str, more: list[str]) -> str:
    return f": '{program}'" if more else ""


def _compiled(command: list[str], wanted: str) -> subprocess.CompletedProcess:
    """The compiler's run. Raises BackendError where it cannot be started."""
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            env={**os.environ, "LC_ALL": "C"},  # explain.py reads English
        )
    except OSError as error:
        raise BackendError(f"C++ compiler '{wanted}' cannot be started ({error}).") from None


@functools.lru_cache(None)
def _version(command: str) -> str:
    """Identity of the compiler without starting it (a filled cache must not fork inside an MPI job). A node that has no
    compiler takes the one that filled the cache, so that it finds what was compiled ahead for it."""
    names = [pathlib.Path(word).name for word in words(command)]
    note = cache.folder() / f"compiler-{re.sub('[^A-Za-z0-9.+_-]', '_', '-'.join(names))[:100]}"
    found = programs(command)
    if not found:
        return note.read_text() if note.is_file() else ""
    real = os.path.realpath(found[-1])
    identity = f"{os.path.basename(real)} {os.stat(real).st_size}"
    with contextlib.suppress(OSError):  # a cache filled by somebody else may be read-only
        if not note.is_file() or note.read_text() != identity:
            part = note.with_name(f"{note.name}.{platform.node()}.{os.getpid()}")
            part.write_text(identity)
            part.replace(note)
    return identity


@functools.lru_cache(None)
def _opened(path: pathlib.Path):
    """A library once loaded stays: the loader keeps some memory for each."""
    return ffi.dlopen(str(path))


class CpuModule(Module):
    """Kernels in a shared library. They run before `run` returns; OpenMP threads share the items."""

    report: dict[str, dict[str, int]] = {}

    def __init__(self, source, library, threads: int):
        self.name, self.titles = source.name, source.titles
        self._library, self._threads = library, threads

    def _function(self, name: str):
        with contextlib.suppress(cffi.FFIError):  # declared before
            _declare(name)
        try:
            return getattr(self._library, name)
        except AttributeError:
            raise BackendError(f"'{self.name}' has no kernel '{name}'.") from None

    def _bind(self, function, shape, record, most, keep):
        call, pointer, threads = self._function(function), ffi.cast("void *", record.ctypes.data), self._threads
        most = MOST if most is None else most
        if threads > 1:
            _expect_forks()

        def run(items, keep=(record, keep)):
            if items > most:
                raise ArgumentError(f"{items} points asked for, the arrays hold {most}.")
            if call(pointer, items, 1 if _orphan else threads):
                raise BackendError(f"'{self.name}': no memory for the scratch of a kernel.")

        return run

    def resident(self, function, shape):
        return self._threads


@functools.lru_cache(None)
def _expect_forks() -> None:
    """OpenMP would wait for ever for its threads in a forked child: there kernels run on one."""
    os.register_at_fork(after_in_child=lambda: _orphan.append(True))


@functools.lru_cache(None)
def _declare(name: str) -> None:
    ffi.cdef(f"int {name}(const void *record, long items, int threads);")


class CpuBackend(Backend):
    """Kernels on this process's cores. threads: OpenMP threads of a launch."""

    name, style, memory = "cpu", "packs", "host"
    threads: int

    def __init__(self, threads: int = 1):
        self.threads = threads

    def compile(self, source):
        path = shared_object(source)
        try:
            return CpuModule(source, _opened(path), self.threads)
        except OSError:  # sound by its checksum and yet not loadable: another system's library
            path.unlink(missing_ok=True)
            path = shared_object(source)
        try:
            return CpuModule(source, _opened(path), self.threads)
        except OSError as error:
            raise BackendError(
                f"the kernel {path} cannot be loaded ({error}), though it was just compiled: may programs run from "
                "that folder? Set FRAME_CACHE to another one."
            ) from None

    @property
    def compiler(self):
        """The program that the command leads to, by a name that has its version (g++-12), and the target."""
        return f"{(_version(compiler()) or pathlib.Path(words(compiler())[-1]).name).split()[0]} {target()}"

    @functools.cached_property
    def product(self):
        what = processor(target())
        names = [line.split(":")[1].strip() for line in what.splitlines() if line.startswith("model name")]
        return f"{(names or what.splitlines())[0]}, {cache.key(what)[:8]}, {self.threads} threads"

    def describe(self) -> dict:
        version = "none"
        if programs(compiler()):
            version = _compiled([*words(compiler()), "--version"], compiler()).stdout.split("\n")[0]
        return {
            "name": "cpu",
            "threads": self.threads,
            "compiler": version,
            "target": "-march=" + target(),
            "cores": os.cpu_count(),
        }

    def pad(self, n: int) -> int:
        return -(-max(n, 1) // 16) * 16 + 16  # whole packs; 64 bytes or more on top: rows are not a power of two apart
