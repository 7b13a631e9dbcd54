"""The Python side of the C shim: every row of the table becomes an `extern "Python"` function that calls Frame."""

from __future__ import annotations

import os

import numpy as np

from . import mpi
from .entry import ENTRIES, Entry
from .errors import DONE, FAILED, status_of, text_of
from .frame import Frame

_CONVERTED = ("tag", "text", "doubles", "fields", "corner")


def serve(ffi, lib, build_folder: str) -> Frame:
    """Bind the table to one Frame, the one of this process."""
    # os.fork takes the lock before it takes Python's for imports, which a thread inside libframe may wait for
    os.register_at_fork(before=lib.frame_lock, after_in_parent=lib.frame_unlock)
    mpi.libmpi_folder = os.path.join(build_folder, "mpich")
    frame = Frame()

    def on_error(_kind, error, _traceback):
        lib.frame_set_error(text_of(error).encode("utf-8", "replace"))
        return status_of(error)

    for entry in ENTRIES:
        ffi.def_extern(name=f"py_{entry.name}", error=FAILED, onerror=on_error)(
            _bind(ffi, entry, getattr(frame, entry.serves))
        )
    return frame


def _bind(ffi, entry: Entry, method):
    """Turn C arguments into Python ones. No pointer into the host's memory is kept after the call."""
    if all(a.kind not in _CONVERTED for a in entry.args):

        def numbers(*values):
            method(*values)
            return DONE

        return numbers
    if entry.args[0].kind == "tag" and all(a.kind not in _CONVERTED for a in entry.args[1:]):
        string = ffi.string  # local name, looked up faster: these functions are called for every chunk

        def name_and_numbers(tag, *values):
            method(string(tag).decode("ascii"), *values)
            return DONE

        return name_and_numbers

    at = {a.name: i for i, a in enumerate(entry.args)}  # each fields argument is followed by its count

    def array(address, dims, values):
        shape = tuple(int(d) if d.isdigit() else values[at[d]] for d in dims)
        buffer = ffi.buffer(ffi.cast("double *", address), 8 * int(np.prod(shape)))
        return np.frombuffer(buffer, dtype=np.float64).reshape(shape, order="F")

    def field(f):
        rank = f.rank
        return (
            ffi.string(f.tag).decode("ascii"),
            bool(f.way),
            f.address,
            tuple(ffi.unpack(f.extent, rank)) if rank else (),
            tuple(ffi.unpack(f.stride, rank)) if rank else (),
            f.size,
        )

    def call(*values):
        given = iter(values)
        out = []
        for arg in entry.args:
            value = next(given)
            if arg.kind in ("tag", "text"):
                value = ffi.string(value).decode("utf-8", "replace")
            elif arg.kind == "fields":
                value = [field(value[i]) for i in range(next(given))]
            elif arg.kind == "corner":
                value = tuple(ffi.unpack(value, 4))
            elif arg.kind == "doubles":
                value = array(value, arg.dims, values)
            out.append(value)
        method(*out)
        return DONE

    return call
