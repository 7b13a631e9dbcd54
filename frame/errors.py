"""The exceptions of the layer and the statuses that the entry points make of them.

0 done; 1 Python could not start; 2 called before frame_initialize; 3 bad argument; 4 a failed kernel or an unexpected
exception; 5 initialize called again with other arguments. The C shim finds 1, 2 and 5.
"""

from __future__ import annotations

import traceback

from kernels.engine.backend import failure
from kernels.engine.errors import (
    ArgumentError,
    BackendError,
    FrameError,
    MixtureError,
    StateError,
    UndeclaredError,
    closest,
    refuse,
)
from kernels.gas.registry import LISTED

__all__ = [
    "ArgumentError",
    "BackendError",
    "BadNumber",
    "FrameError",
    "MixtureError",
    "StateError",
    "UndeclaredError",
    "UnknownName",
    "check_known",
    "closest",
    "refuse",
    "status_of",
    "text_of",
    "DONE",
    "FAILED",
    "MIXTURE_CALLS",
]

DONE = 1  # Python's answer to the shim for success; cffi's own 0 means a failure
FAILED = 4
MIXTURE_CALLS = (
    "frame_loadmixture or frame_populatepreosshareddata first (by symbol, frame_tvproperties_loadmixture or "
    "frame_tvproperties_populatepreosshareddata)"
)
LONGEST = 3900  # bytes: the shim's buffer less the name of the entry point


class UnknownName(ArgumentError):
    """A name that is not known. hint: what callers of the symbols may have forgotten; nobody else hears of it."""

    hint = " Is //char(0) missing?"


class BadNumber(ArgumentError):
    """A number that the entry point cannot use. hint: as of UnknownName."""

    hint = " Did the caller forget %VAL()?"


def check_known(what: str, name: str, known) -> None:
    """Raises UnknownName, with the nearest known names, unless `name` is known. what: the kind of thing that has the
    name."""
    if name not in known:
        near = closest(name, known) or LISTED
        raise UnknownName(f"unknown {what} '{name}'{near}.")


def status_of(error: BaseException) -> int:
    """The status for an exception: `status` of the layer's errors, 4 for any other, SystemExit included."""
    return error.status if isinstance(error, FrameError) else FAILED


def text_of(error: BaseException) -> str:
    """The message for frame_lasterror. The layer's errors and the device's are complete; other exceptions are followed
    by their traceback."""
    if isinstance(error, FrameError):
        return str(error)
    if said := failure(error):
        return said[:LONGEST]

    first = "".join(traceback.format_exception_only(error)).strip()
    trace = "".join(traceback.format_exception(error)).strip()
    return f"{first}\n{trace}"[:LONGEST]
