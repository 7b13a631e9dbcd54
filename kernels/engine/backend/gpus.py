"""The GPUs of a machine: how many, on which node, how fast. Nothing is compiled and no context is created.

CuPy is imported here and nowhere else.
"""

from __future__ import annotations

import pathlib

from ..errors import BackendError
from .base import Rates
from .pinned import DEVICE

# Numbers of CUDA's device attributes.
CLOCK = 13  # kHz
MEMORY_CLOCK = 36  # kHz
BUS = 37  # width of the memory bus, bits
SINGLE_TO_DOUBLE = 87  # ratio of the peak rates


def import_cupy():
    """CuPy. Raises BackendError if it is not installed."""
    try:
        import cupy
    except ImportError as error:
        raise BackendError(
            f"backend cuda needs CuPy ({error}): install the project's extra 'cuda' (CUDA 13) or 'cuda12'."
        ) from None

    return cupy


def device_count() -> int:
    """Number of devices that the driver shows; 0 without a driver. Raises BackendError without CuPy."""
    runtime = import_cupy().cuda.runtime
    try:
        return runtime.getDeviceCount()
    except runtime.CUDARuntimeError:
        return 0


def device_nodes(folder="/sys/bus/pci/devices") -> list[int]:
    """NUMA node of each device; -1 if the system does not know it."""
    nodes = []
    for device in range(device_count()):
        name = import_cupy().cuda.runtime.deviceGetPCIBusId(device).lower()
        try:
            nodes.append(int(pathlib.Path(folder, name, "numa_node").read_text()))
        except (OSError, ValueError):
            nodes.append(-1)

    return nodes


def on_device(address: int) -> bool:
    """Whether the address is in the memory of a device."""
    return import_cupy().cuda.runtime.pointerGetAttributes(address).type == DEVICE


def rates(device: int, folder="/sys/bus/pci/devices") -> Rates:
    """Peak rates of a device, from the driver and the system. Nothing is measured, and no CUDA context is created."""
    runtime = import_cupy().cuda.runtime
    facts = runtime.getDeviceProperties(device)
    place = runtime.deviceGetPCIBusId(device).lower()

    def attribute_of(attribute: int) -> int:
        """A device attribute; 0 if the driver does not know it."""
        try:
            return runtime.deviceGetAttribute(attribute, device)
        except runtime.CUDARuntimeError:
            return 0

    # Flops a second in double precision: an FMA counts 2, clocks are in kHz, 128 single-precision lanes each.
    lanes = 128 * facts["multiProcessorCount"]
    ratio = attribute_of(SINGLE_TO_DOUBLE)
    double = 2e3 * lanes * attribute_of(CLOCK) / ratio if ratio else 0.0

    # Bytes a second of the memory: two transfers a clock, 8 bits a byte.
    memory = 250 * attribute_of(MEMORY_CLOCK) * attribute_of(BUS)
    return Rates(facts["name"].decode(), place, _link_of(pathlib.Path(folder, place)), memory, double)


def _link_of(folder: pathlib.Path) -> float:
    """Bytes a second each way of a PCIe device; 0 if the system does not know it.

    Of 130 bits on the link 128 are data; up to 5 GT/s 4 of 5.
    """
    try:
        speed = float((folder / "max_link_speed").read_text().split()[0])
        lanes = int((folder / "current_link_width").read_text())
    except (OSError, ValueError, IndexError):
        return 0.0

    data = 0.8 if speed <= 5 else 128 / 130
    return 1e9 * speed * lanes / 8 * data
