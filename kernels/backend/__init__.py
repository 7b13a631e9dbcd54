"""Backends: the same verbs on CPU vector units and on CUDA devices."""

from __future__ import annotations

import os
import warnings

from ..errors import ArgumentError, BackendError
from .base import Backend

NAMES = ("auto", "cpu", "cuda")
_made: dict = {}


def get_backend(
    name: str | None = None, device: int | None = None, threads: int | None = None, arch: str | None = None
) -> Backend:
    """The backend `name` ("auto", "cpu", "cuda"; default FRAME_BACKEND, else auto = cuda where a device is, else cpu).

    device: CUDA device number. threads: OpenMP threads of the CPU backend (default FRAME_THREADS, else 1).
    arch: a CUDA target such as "sm_90" that need not be here; such a backend compiles and does nothing else.
    Raises ArgumentError for another name, BackendError when cuda was asked for and cannot be had.
    """
    name = name or os.environ.get("FRAME_BACKEND") or "auto"
    if name not in NAMES:
        raise ArgumentError(f"backend '{name}'; wanted one of {', '.join(NAMES)}.")
    if arch:
        from .cuda import CudaTarget

        return CudaTarget(arch)
    if name == "auto":
        name = "cuda" if _cuda_devices() else "cpu"
    if name == "cpu":
        from .cpu import CpuBackend, default_threads

        threads = default_threads() if threads is None else threads
        key = ("cpu", threads)
        make = lambda: CpuBackend(threads)  # noqa: E731
    else:
        from .cuda import CudaBackend

        key = ("cuda", 0 if device is None else device)
        make = lambda: CudaBackend(key[1])  # noqa: E731
    if key not in _made:
        _made[key] = make()
    return _made[key]


def _cuda_devices() -> int:
    if not os.path.exists("/dev/nvidiactl") and not os.path.exists("/dev/dxg"):
        return 0  # no driver: spare a CPU run the import of CuPy
    from .cuda import device_count

    try:
        return device_count()
    except BackendError as error:  # a machine that was bought for its GPU: not in silence
        warnings.warn(
            f"backend auto takes the CPU, though an NVIDIA driver is here: {error}", RuntimeWarning, stacklevel=3
        )
        return 0
