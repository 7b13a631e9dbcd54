"""The part of `python -m frame info` on the machine: backends, devices, compilers, MPI, the kernel cache."""

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys

import kernels
from kernels.engine.backend import cache, gpus, peers

from ..config import Config
from ..errors import FrameError
from ..shipped import BUILD


def rows(config: Config) -> list[tuple[str, str]]:
    """Pairs (heading, finding), a pair for each line."""
    cpu = kernels.get_backend("cpu", threads=config.threads).describe()
    library = BUILD / "libframe.so"

    so = len(list(cache.folder().glob("*.so")))
    cubin = len(list(cache.folder().glob("*.cubin")))

    mpi4py = "not installed: a host that calls frame_setcomm needs it"
    if importlib.util.find_spec("mpi4py"):
        mpi4py = importlib.metadata.version("mpi4py")

    return [
        ("python", f"{sys.version.split()[0]}, {sys.executable}"),
        ("libframe", f"{library}" if library.exists() else "not built: python -m frame build"),
        ("FRAME_BACKEND", config.backend),
        ("backend cpu", ", ".join(f"{k} {v}" for k, v in cpu.items() if k != "name")),
        *_cuda(),
        ("MPS", peers.mps()),
        ("Fortran", _version(os.environ.get("FC") or "gfortran")),
        ("C", _version(os.environ.get("CC") or "cc")),
        ("mpirun", _version("mpirun")),
        ("MPICH", _version("mpiexec.mpich")),
        ("mpi4py", mpi4py),
        ("timers, check", f"{'on' if config.timers else 'off'}, {'on' if config.check else 'off'}"),
        ("kernel cache", f"{cache.folder()}, {so} for CPUs, {cubin} for GPUs"),
        ("collections", ", ".join(kernels.collections)),
    ]


def _version(program: str) -> str:
    """The first line with a digit that `program --version` prints; 'none' if the program is not installed."""
    if shutil.which(program) is None:
        return "none"

    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60)

    for line in (done.stdout + done.stderr).splitlines():
        if any(c.isdigit() for c in line):
            return line.strip()

    return "present, no version told"


def _cuda() -> list[tuple[str, str]]:
    """The lines on CUDA and its devices."""
    if importlib.util.find_spec("cupy") is None:
        return [("backend cuda", "no: CuPy is not installed")]

    try:
        count = gpus.device_count()
        if not count:
            return [("backend cuda", "no: no CUDA device is visible")]

        found = [("backend cuda", f"yes, {count} device{'s' * (count > 1)}")]
        found += [(f"device {device}", _facts(device)) for device in range(count)]
        return found
    except FrameError as error:
        return [("backend cuda", f"no: {error}")]


def _facts(device: int) -> str:
    """The facts of a CUDA device that are not those of the machine."""
    described = kernels.get_backend("cuda", device=device).describe()
    return ", ".join([f"{k} {v}" for k, v in described.items() if k not in ("name", "device", "devices", "MPS")])
