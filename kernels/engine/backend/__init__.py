"""Backends: the same verbs on CPU vector units and on CUDA devices."""

from __future__ import annotations

import functools
import os
import warnings

from ..errors import ArgumentError, BackendError, closest, is_one_of
from .base import Backend, Rates

NAMES = ("auto", "cpu", "cuda")
DRIVER = ("/dev/nvidiactl", "/dev/dxg")  # a file of NVIDIA's driver, on Linux and on Windows' Linux


@functools.cache
def _made(name: str, number: int) -> Backend:
    """The one backend on this device, or with so many threads."""
    if name == "cpu":
        from .cpu import CpuBackend

        return CpuBackend(number)

    from .cuda import CudaBackend

    return CudaBackend(number)


def get_backend(
    name: str | Backend | None = None, device: int | None = None, threads: int | None = None, arch: str | None = None
) -> Backend:
    """The backend `name` ("auto", "cpu", "cuda"; default FRAME_BACKEND, else auto = cuda where a device is, else cpu).

    A Backend in place of a name is returned as it is. device: CUDA device number. threads: OpenMP threads of the CPU
    backend (default FRAME_THREADS, else 1). arch: a CUDA target such as "sm_90" that need not be here; such a backend
    compiles and does nothing else.
    Raises ArgumentError for another name, BackendError when cuda was asked for and cannot be had.
    """
    if isinstance(name, Backend):
        return name

    if name is None or is_one_of(name, ("",)):
        name = os.environ.get("FRAME_BACKEND") or "auto"
    if not is_one_of(name, NAMES):
        raise ArgumentError(f"backend '{name}'{closest(name, NAMES)}; wanted one of {', '.join(NAMES)}.")

    if arch:
        from .cuda import CudaTarget

        return CudaTarget(arch)

    if name == "auto":
        name = "cuda" if cuda_devices(name) else "cpu"
    if name == "cuda":
        return _made(name, device or 0)

    from .cpu import default_threads

    return _made(name, default_threads() if threads is None else threads)


def cuda_devices(name: str) -> int:
    """How many CUDA devices there are for backend `name`; for "auto" and "cpu" 0 means: take the CPU.

    With "auto" and an NVIDIA driver, but without CuPy or without a device that it shows, the answer is 0, and a
    warning on stderr says why, once: a machine with a GPU does not run on the CPU unnoticed. Devices that
    CUDA_VISIBLE_DEVICES hides are no reason for a warning. Raises BackendError with "cuda" and no CuPy.
    """
    if name == "cpu":
        return 0
    if name == "auto":
        return _devices_for_auto()

    from .gpus import device_count

    return device_count()


def device_nodes() -> list[int]:
    """The NUMA node of each CUDA device that the driver shows; -1 where the system does not tell."""
    from .gpus import device_nodes as nodes

    return nodes()


def device_rates(device: int) -> Rates:
    """The limits of this CUDA device."""
    from .gpus import rates

    return rates(device)


def on_device(address: int) -> bool:
    """Whether a CUDA device's memory is there. In a process that uses no device the question would be its first use."""
    from .gpus import on_device

    return on_device(address)


def has_driver() -> bool:
    """Whether NVIDIA's driver is on this machine."""
    return any(map(os.path.exists, DRIVER))


def may_be_device(name: str) -> bool:
    """Whether the backend `name` may turn out to be a device on this machine. No device is touched."""
    return name != "cpu" and has_driver()


def failure(error: BaseException) -> str:
    """The message for an error of CUDA's runtime or driver; '' for any other error."""
    if type(error).__name__ not in ("CUDARuntimeError", "CUDADriverError"):
        return ""

    told = f"the device failed ({error})"
    if "memory" in str(error).lower() and "alloc" in str(error).lower() or "OUT_OF_MEMORY" in str(error):
        return f"{told}: its memory is full; is the chunk (nGridPoints) too large, or do others hold it?"

    told += ", here or in what was queued before; this process cannot use it any more"
    if "mps" in str(error).lower() or mps_runs():
        told += (
            ". Ranks share it by CUDA's multi-process service: a fault of one of them, or the service's end, ends all; "
            "FRAME_MPS=off lets them take turns"
        )

    return f"{told}."


def mps_runs() -> bool:
    """Whether CUDA's multi-process service is reachable from this process."""
    from .peers import mps

    return mps().startswith("running")


@functools.cache
def _devices_for_auto() -> int:
    if not has_driver():
        return 0  # a CPU run is spared the import of CuPy

    from .gpus import device_count

    try:
        found, why = device_count(), "it shows no device; nvidia-smi tells more."
    except BackendError as error:
        found, why = 0, str(error)

    if not found and "CUDA_VISIBLE_DEVICES" not in os.environ:
        warnings.warn(
            f"backend auto takes the CPU, though an NVIDIA driver is here: {why}", RuntimeWarning, stacklevel=4
        )

    return found
