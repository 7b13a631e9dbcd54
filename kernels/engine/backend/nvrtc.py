"""NVRTC, CUDA's run-time compiler, called through ctypes. It compiles without a GPU, a driver or CuPy.

A login node can therefore fill the cache for compute nodes, and a machine without a GPU can compile every CUDA source
in tests.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import pathlib
import re

from ..errors import BackendError, CompileError


def _candidates():
    """Paths of libnvrtc in the order of search."""
    # NVIDIA's wheels in this Python.
    spec = importlib.util.find_spec("nvidia")
    roots = spec.submodule_search_locations if spec else None

    for root in roots or []:
        for pattern in ("cu1[0-9]/lib/libnvrtc.so.*", "cuda_nvrtc/lib/libnvrtc.so.*"):
            yield from sorted(map(str, pathlib.Path(root).glob(pattern)), reverse=True)

    # The path of the system's loader.
    yield from ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")

    # A CUDA toolkit.
    for home in filter(None, (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda")):
        yield from sorted(map(str, pathlib.Path(home).glob("lib64/libnvrtc.so*")))


def _load_builtins(path: str) -> None:
    """Loads the library that NVRTC opens by its name alone. Wheels of CUDA 13.0 do not tell the loader where it is."""
    for builtins in pathlib.Path(path).parent.glob("libnvrtc-builtins.so.*"):
        ctypes.CDLL(str(builtins))


@functools.cache
def library() -> ctypes.CDLL:
    """The loaded libnvrtc. Raises BackendError if none is found."""
    for path in _candidates():
        try:
            _load_builtins(path)
            lib = ctypes.CDLL(path)
        except OSError:
            continue
        lib.nvrtcGetErrorString.restype = ctypes.c_char_p
        return lib

    raise BackendError("NVRTC not found (libnvrtc.so): install the wheel nvidia-cuda-nvrtc, or set CUDA_HOME.")


def _check(code: int, step: str) -> None:
    """Raises BackendError with NVRTC's words for a status that is not 0."""
    if code:
        raise BackendError(f"NVRTC, {step}: {library().nvrtcGetErrorString(code).decode()}")


@functools.cache
def version() -> str:
    """NVRTC's version, such as "13.0"."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    _check(library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)), "version")
    return f"{major.value}.{minor.value}"


def compile_cubin(source: str, arch: str, options=(), name: str = "kernels.cu") -> tuple[bytes, str]:
    """Compiles CUDA C++ to machine code for `arch` ("sm_90"). Returns (cubin, the compiler's log).

    options: flags of the compiler. name: file name in messages. Raises CompileError, with the log, if the source does
    not compile; BackendError if there is no NVRTC.
    """
    lib = library()
    prog = ctypes.c_void_p()
    _check(lib.nvrtcCreateProgram(ctypes.byref(prog), source.encode(), name.encode(), 0, None, None), "create")

    try:
        flags = [f"--gpu-architecture={arch}".encode(), *(o.encode() for o in options)]

        code = lib.nvrtcCompileProgram(prog, len(flags), (ctypes.c_char_p * len(flags))(*flags))
        log = _fetch(lib.nvrtcGetProgramLogSize, lib.nvrtcGetProgramLog, prog).rstrip(b"\0").decode(errors="replace")

        if code:
            raise CompileError(f"NVRTC {version()} for {arch}, {name}:\n{log.strip()[:4000]}")

        return _fetch(lib.nvrtcGetCUBINSize, lib.nvrtcGetCUBIN, prog), log
    finally:
        lib.nvrtcDestroyProgram(ctypes.byref(prog))


def compile_reported(source: str, arch: str, options=(), name: str = "kernels.cu") -> tuple[bytes, str]:
    """As `compile_cubin`, past NVRTC's own cache: what that finds in ~/.nv comes without REPORT's lines, and all ranks
    would share its files. A version that does not know the option compiles without it."""
    try:
        return compile_cubin(source, arch, [*options, NO_CACHE], name)
    except CompileError:
        return compile_cubin(source, arch, options, name)


def _fetch(size_of, read, prog) -> bytes:
    """A result of a program: size_of asks for the number of bytes, read copies them."""
    size = ctypes.c_size_t()
    _check(size_of(prog, ctypes.byref(size)), "read size")
    text = ctypes.create_string_buffer(size.value)
    _check(read(prog, text), "read")
    return text.raw


def resources(log: str) -> dict[str, dict[str, int]]:
    """Resources of each kernel, from the compiler's log: {kernel: {"registers": ..., ...}}, keys as in _FIGURES.

    Registers are a number, all others are bytes. The source must be compiled with the option REPORT.
    """
    out: dict[str, dict[str, int]] = {}
    for part in re.split(r"Compiling entry function '", log)[1:]:
        kernel = part.split("'")[0]
        out[kernel] = {}
        for key, pattern in _FIGURES.items():
            found = re.search(pattern, part)
            out[kernel][key] = int(found.group(1)) if found else 0

    return out


REPORT = "--ptxas-options=-v"
NO_CACHE = "--no-cache"
# Name of a resource: pattern in the log.
_FIGURES = {
    "registers": r"Used (\d+) registers",
    "stack": r"(\d+) bytes stack frame",
    "spill_stores": r"(\d+) bytes spill stores",
    "spill_loads": r"(\d+) bytes spill loads",
    "constant": r"(\d+) bytes cmem\[3\]",
}
