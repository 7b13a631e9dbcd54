"""The CPU backend: generated C++, compiled by the C++ compiler of the system, loaded through cffi.

No other file runs the compiler.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from typing import Any

import cffi
import numpy as np

from ..errors import ArgumentError, BackendError, CompileError, refuse
from . import cache, explain
from .base import Backend, Module, Source
from .entry import PACKS

HERE = pathlib.Path(__file__).resolve().parents[2]
MOST = 2**62  # items of a launch without a limit
ADDRESS = 8  # bytes
FULL = "No space left on device"  # as compiler and linker say it

# Single options, never -ffast-math: NaN and the order of sums are kept. Contraction to FMA follows IEEE and is wanted.
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
# Vectors that the compiler makes of a point's own sums take their lanes apart again, to keep the order of the sums.
SPELLED = ("-fno-tree-vectorize",)
# Kernels are long chains of dependent operations. These options of g++ interleave independent chains, so that more
# operations run at the same time.
INTERLEAVED = ("-fschedule-insns", "-fsched-pressure")

# Where a text has its vectors and unrolled loops as they run, g++ takes half the time with these options, and its code
# runs as fast as that of -O3.
WRITTEN_OUT = (
    "-O1",
    "-fno-tree-vectorize",
    "-fexpensive-optimizations",
    "-fgcse",
    "-frerun-cse-after-loop",
    "-fstrict-aliasing",
)

# Lines of /proc/cpuinfo that identify a processor.
CPU_FACTS = ("model name", "flags", "Features", "CPU part", "cpu family", "model")

ffi = cffi.FFI()
ffi.cdef("extern const char frame_instructions[];")  # engine/numbers/instructions.h
WHOLE = ffi.typeof("intptr_t")
_cast, _buffer = ffi.cast, ffi.from_buffer
_orphan: list[bool] = []  # not empty: this process was forked, and OpenMP's threads stayed in the parent


def default_threads() -> int:
    """FRAME_THREADS, else 1. Raises ArgumentError unless it is an integer from 1 to 4096."""
    text = os.environ.get("FRAME_THREADS") or "1"
    refuse(
        not text.isdecimal() or not 1 <= int(text) <= 4096,
        f"FRAME_THREADS = {text!r}; wanted a whole number of threads, 1 to 4096.",
    )

    return int(text)


def compiler() -> str:
    """The C++ compiler: FRAME_CXX, else CXX, else g++.

    A program, or a command with arguments or a wrapper in front, such as "g++ -m64", "ccache g++".
    """
    command = os.environ.get("FRAME_CXX", "").strip()
    usual = os.environ.get("CXX", "").strip()
    return command or usual or "g++"


def words(command: str) -> list[str]:
    """The words of a compiler's command, as a shell reads them. A program whose path has blanks is a single word.

    Raises BackendError for quotes that do not end.
    """
    if shutil.which(command):
        return [command]
    try:
        return shlex.split(command)
    except ValueError as error:
        raise BackendError(f"C++ compiler {command!r}: {error}; set FRAME_CXX to a command.") from None


def programs(command: str) -> list[str]:
    """Paths of the programs in a command: wrappers first, the compiler last. Empty if the first word is no program."""
    found: list[str] = []
    for word in words(command):
        is_assignment = found and "=" in word and not word.startswith("-")  # of a wrapper `env`
        if is_assignment:
            continue

        path = shutil.which(word)
        if word.startswith("-") or not path:
            break
        found.append(path)

    return found


def target() -> str:
    """FRAME_ARCH (such as x86-64-v3), else native."""
    return os.environ.get("FRAME_ARCH") or "native"


def added_flags() -> list[str]:
    """FRAME_CXXFLAGS: options of the user. They come last on the command line, so they prevail."""
    return shlex.split(os.environ.get("FRAME_CXXFLAGS") or "")


def added_sets() -> list[str]:
    """The options of the user that choose instructions, such as -mavx2."""
    return [flag for flag in added_flags() if flag.startswith("-m")]


@functools.lru_cache(None)
def vector_bytes(arch: str) -> int:
    """Bytes of the widest vectors of a target, for models of costs; 64 where it is not known."""
    known = {"x86-64": 16, "x86-64-v2": 16, "x86-64-v3": 32, "x86-64-v4": 64}
    if arch != "native":
        return known.get(arch, 64)

    flags = set(processor(arch).split())
    if not flags & {"sse2", "avx"}:
        return 16 if platform.machine() in ("aarch64", "arm64") else 64
    if "avx512f" in flags:
        return 64
    return 32 if "avx" in flags else 16


@functools.lru_cache(None)
def has_whole_vectors(arch: str) -> bool:
    """Whether a target works on vectors of 64 bytes at once, for models of costs. AMD's family 25 (Zen 4) does not."""
    facts = processor(arch)
    in_halves = "AMD" in facts and re.search(r"cpu family\s*:\s*25\b", facts) is not None
    return vector_bytes(arch) == 64 and not in_halves


@functools.lru_cache(None)
def second_cache() -> int:
    """Bytes of a core's second cache; 512 KB where the system does not say."""
    return _cache(2, 512 << 10)


@functools.lru_cache(None)
def third_cache() -> int:
    """Bytes of the cache that cores share; 8 MB where the system does not say."""
    return _cache(3, 8 << 20)


def _cache(level: int, usual: int) -> int:
    try:
        text = pathlib.Path(f"/sys/devices/system/cpu/cpu0/cache/index{level}/size").read_text().strip()
    except OSError:
        return usual
    kilobytes = text.removesuffix("K")
    return int(kilobytes) << 10 if kilobytes.isdigit() else usual


@functools.lru_cache(None)
def processor(arch: str) -> str:
    """Text that identifies the processor for which a target compiles; a part of the cache's key.

    native: architecture, model and instruction sets of this node, so that different nodes do not share machine code.
    A named target: the architecture only. A login node can so fill the cache for compute nodes.
    """
    if arch != "native":
        return platform.machine()

    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.machine() + platform.processor()

    first_core = text.split("\n\n")[0]
    lines = [platform.machine()]

    for line in first_core.splitlines():
        if line.split("\t")[0].strip() in CPU_FACTS:
            lines.append(line)

    return "\n".join(lines)


def lacking_instructions(library) -> list[str]:
    """The sets of instructions that a loaded library was compiled for and this processor lacks, named as in
    /proc/cpuinfo. Empty for the target native, which the compiler read from the processor."""
    if target() == "native" and not added_sets():
        return []

    known = set(processor("native").split())
    if not known & {"sse2", "asimd"}:  # the system lists no sets
        return []

    try:
        compiled_for = ffi.string(library.frame_instructions).decode()
    except AttributeError:  # a source without the headers of the layer
        return []

    return [name for name in compiled_for.split() if name not in known]


def shared_object(source: Source) -> pathlib.Path:
    """Path of the shared library of `source`: from the cache, else compiled. A filled cache starts no process.

    Raises CompileError if the compiler refuses the source, BackendError if there is no compiler.
    """
    wanted = compiler()
    flags = _flags(source, wanted)
    folders = [HERE, *source.folders]

    def make(path):
        file, rule = path.with_suffix(".cpp"), path.with_suffix(".d")
        command = [*_program(source, wanted), *flags, f"-I{HERE}"]
        command += [f"-idirafter{folder}" for folder in source.folders]
        command += [str(file), "-o", str(path), "-MMD", f"-MF{rule}"]
        command += [f"-l{name}" for name in source.libraries]

        try:
            file.write_text(source.text)
            done = _compiled(command, wanted)
            if rule.is_file():
                cache.note(noted, rule, {file.resolve(), *cache.included(source.text, folders)})
        finally:
            file.unlink(missing_ok=True)
            rule.unlink(missing_ok=True)

        if done.returncode:
            _refuse_full_disk(done.stderr)
            cause = explain.cause(source, done.stderr)
            raise CompileError(f"{cause}compiling '{source.name}' failed ({wanted}):\n{done.stderr[:4000]}")

        refuse(
            not path.is_file(),
            f"C++ compiler '{wanted}' ended without an error, and made nothing of '{source.name}': is it a compiler? "
            "Set FRAME_CXX to one.",
            BackendError,
        )

    # The key, with the headers that the compiler found beside those that `cache.included` finds.
    texts = cache.texts(source.text, folders)
    key = cache.key(*texts, " ".join(flags), wanted, _version(wanted), processor(target()))
    noted = cache.noted(key, source.folders)

    while True:
        with contextlib.suppress(cache.MoreIncluded):
            return cache.entry(f"{source.name[:40]}-{cache.with_noted(key, noted)}", ".so", make)


def _flags(source: Source, wanted: str) -> list[str]:
    """The compiler's options for a source."""
    flags = [*FLAGS, "-march=" + target()]
    if source.quick:
        flags.append("-O1")
    elif source.written_out and "clang" not in _version(wanted):
        flags += WRITTEN_OUT
    else:
        if source.spelled_vectors:
            flags += SPELLED
        if "clang" not in _version(wanted):
            flags += INTERLEAVED

    return flags + added_flags()


def _program(source: Source, wanted: str) -> list[str]:
    """The compiler's command, the program by its path. Raises BackendError if the program is not on PATH."""
    program, *arguments = words(wanted)
    path = shutil.which(program)

    if path is None:
        detail = f": '{program}'" if arguments else ""
        raise BackendError(
            f"C++ compiler '{wanted}'{detail} is not on PATH and '{source.name}' is not in the kernel cache "
            f"{cache.folder()}: install g++, or fill the cache beforehand with python -m frame compile."
        )

    return [path, *arguments]


def _compiled(command: list[str], wanted: str) -> subprocess.CompletedProcess:
    """Runs the compiler. Raises BackendError if it cannot be started."""
    environment = {"PATH": os.defpath}  # a job without a PATH: the compiler looks for the linker there
    environment |= os.environ
    environment["LC_ALL"] = "C"  # explain.py reads English

    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)
    except OSError as error:
        raise BackendError(f"C++ compiler '{wanted}' cannot be started ({error}).") from None


def _refuse_full_disk(text: str) -> None:
    """A full disk is no fault of the source. Raises OSError: the cache then takes another folder, or says so."""
    if FULL in text:
        raise OSError(errno.ENOSPC, f"{FULL}, there or in {tempfile.gettempdir()}")


@functools.lru_cache(None)
def _version(command: str) -> str:
    """Identity of the compiler: name and size of the program. It is not started: no fork inside an MPI job.

    A node without a compiler takes the identity that the cache noted last, so that it finds kernels compiled ahead.
    """
    # The note in the cache.
    names = [pathlib.Path(word).name for word in words(command)]
    note = cache.folder() / f"compiler-{re.sub('[^A-Za-z0-9.+_-]', '_', '-'.join(names))[:100]}"

    found = programs(command)
    if not found:
        return note.read_text() if note.is_file() else ""

    real = os.path.realpath(found[-1])
    identity = f"{os.path.basename(real)} {os.stat(real).st_size}"

    with contextlib.suppress(OSError):  # another user's cache may be read-only
        if not note.is_file() or note.read_text() != identity:
            part = note.with_name(f"{note.name}.{platform.node()}.{os.getpid()}")
            part.write_text(identity)
            part.replace(note)

    return identity


def at_work(threads: int) -> int:
    """Threads of a launch: one after a fork."""
    return 1 if _orphan else threads


def opened(source: Source):
    """The loaded library of a source. Raises CompileError, BackendError."""
    return _opened(shared_object(source))


@functools.lru_cache(None)
def _opened(path: pathlib.Path):
    """A loaded library. Each is loaded once: the loader keeps some memory for every load. It stays until the process
    ends: a library that it brings with it may have work to do then, as libxsmm has."""
    return ffi.dlopen(str(path), ffi.RTLD_NOW | ffi.RTLD_NODELETE)


def address(array) -> int:
    """Address of an array's first element. A contiguous array's buffer gives it in half the time."""
    try:
        return int(_cast(WHOLE, _buffer(array)))
    except ValueError:  # not contiguous
        return array.__array_interface__["data"][0]


class Again:
    """run(arrays): a launch with members of a copy of the record set to the arrays' addresses."""

    def __init__(self, call, record: np.ndarray, places: dict[str, int], items: int, threads: int, name: str, keep):
        self.call, self.record, self.items, self.threads = call, record, items, threads
        self.name, self.keep = name, keep
        fields: Any = record.dtype.fields
        self.places = sorted((fields[member][1], place) for member, place in places.items())

        # The record in pieces: bytes, and an address behind each but the last.
        held, begin = record.tobytes(), 0
        self._pieces = []
        for at, place in self.places:
            self._pieces.append((held[begin:at], place))
            begin = at + ADDRESS
        self._rest = held[begin:]

    def __call__(self, arrays) -> None:
        parts: list[bytes] = []
        for piece, place in self._pieces:
            parts += piece, address(arrays[place]).to_bytes(ADDRESS, sys.byteorder)
        parts.append(self._rest)
        if self.call(b"".join(parts), self.items, at_work(self.threads)):
            raise BackendError(f"'{self.name}': no memory for the scratch of a kernel.")


class CpuModule(Module):
    """Kernels in a shared library. `run` returns when they are done; OpenMP threads share the items."""

    report: dict[str, dict[str, int]] = {}

    def __init__(self, source, library, threads: int):
        self.name, self.titles = source.name, source.titles
        self._library, self._threads = library, threads

    def _function(self, name: str):
        self._refuse_foreign()
        with contextlib.suppress(cffi.FFIError):  # already declared
            _declare(name)
        try:
            return getattr(self._library, name)
        except AttributeError:
            raise BackendError(f"'{self.name}' has no kernel '{name}'.") from None

    @functools.cached_property
    def _lacking(self) -> list[str]:
        return lacking_instructions(self._library)

    def _refuse_foreign(self) -> None:
        """Raises BackendError if the kernels have instructions that this processor lacks, which end the process."""
        if not self._lacking:  # each call asks
            return
        added = f" with FRAME_CXXFLAGS = {' '.join(added_sets())}" if added_sets() else ""
        raise BackendError(
            f"FRAME_ARCH = {target()}{added}: this processor has no {', '.join(self._lacking)}, so the kernels of "
            f"'{self.name}' cannot run here. Set FRAME_ARCH to a target that the processor can run, or to native."
        )

    def address(self, function: str) -> int:
        """See Module.address. Libraries stay loaded, so it stays valid."""
        return int(ffi.cast("intptr_t", self._function(function)))

    def _bind(self, function, shape, record, most, keep):
        call = self._function(function)
        pointer = ffi.cast("void *", record.ctypes.data)
        threads = self._threads
        most = MOST if most is None else most
        if threads > 1:
            _expect_forks()

        def run(items, keep=(record, keep)):
            if not 0 <= items <= most:
                raise ArgumentError(f"{items} points asked for, the arrays hold {most}.")
            if call(pointer, items, at_work(threads)):
                raise BackendError(f"'{self.name}': no memory for the scratch of a kernel.")

        return run

    def again(self, function, record, places, items, keep=()):
        if self._threads > 1:
            _expect_forks()
        return Again(self._function(function), record, places, items, self._threads, self.name, keep)

    def resident(self, function, shape):
        return self._threads


@functools.lru_cache(None)
def _expect_forks() -> None:
    """After a fork, kernels of the child run on one thread: OpenMP would wait for the parent's threads for ever."""
    os.register_at_fork(after_in_child=lambda: _orphan.append(True))


@functools.lru_cache(None)
def _declare(name: str) -> None:
    """Declares a kernel to cffi."""
    ffi.cdef(f"int {name}(const void *record, long items, int threads);")


class CpuBackend(Backend):
    """Kernels on the cores of this process. threads: OpenMP threads of a launch."""

    name, style, memory = "cpu", "packs", "host"
    entry = PACKS
    threads: int

    def __init__(self, threads: int = 1):
        self.threads = threads

    def address(self, array) -> int:
        return super().address(array) if isinstance(array, np.generic) else address(array)

    def compile(self, source):
        path = shared_object(source)
        try:
            return CpuModule(source, _opened(path), self.threads)
        except OSError:  # the checksum is right, but the library was made on another system: compile again
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
        """Name of the compiler's program, with links followed so that it has a version (g++-12), and the target."""
        identity = _version(compiler())
        name = identity.split()[0] if identity else pathlib.Path(words(compiler())[-1]).name
        return f"{name} {target()}"

    @functools.cached_property
    def product(self):
        facts = processor(target())
        names = [line.split(":")[1].strip() for line in facts.splitlines() if line.startswith("model name")]
        name = names[0] if names else facts.splitlines()[0]
        return f"{name}, {cache.key(facts)[:8]}, {self.threads} threads"

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
        # Whole packs, and 64 or 128 bytes more, so that the distance of rows is no power of two.
        return -(-max(n, 1) // 16) * 16 + 16
