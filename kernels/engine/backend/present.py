"""Whether memory of the host is there: an address that a host has freed is refused before a copy ends the process."""

from __future__ import annotations

import ctypes
import functools
import os

from ..errors import ArgumentError


def refuse_absent(low: int, high: int) -> None:
    """Raises ArgumentError unless the process may read the first and the last of the bytes low .. high - 1."""
    for address in (low, high - 1) if low < high else ():
        if not _readable(address):
            raise ArgumentError(
                f"no memory is at {address:#x}: was the array freed, or is it of another process or device?"
            )


def _readable(address: int) -> bool:
    """Whether a byte can be read. The kernel of the system tries it; true where it cannot be asked."""
    file = _file()
    if file is None:
        return True

    try:
        os.pwrite(file, (ctypes.c_char * 1).from_address(address), 0)
    except OSError:  # EFAULT
        return False
    return True


@functools.cache
def _file() -> int | None:
    """A file in memory, of one byte."""
    try:
        return os.memfd_create("frame-present")
    except (AttributeError, OSError):
        return None
