"""Team kernels on arrays of a host: the arrays as the body of the kernel finds them.

A declaration calls a Fortran array A(M, N) either A(N,M), the last index fastest, or A(M,N):left.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import kernels

from ..errors import ArgumentError, refuse
from ..stripe import IN, OUT, Field, Listed, listed
from .launchers import ArrayLauncher, Transfer
from .small_arrays import Small, SmallArrays, is_small
from .state import ThreadState


def fields(kernel, arrays: Listed) -> list[Field]:
    """The arrays of an old-style call (stripe.listed); the declaration of the kernel says which arrays are written."""
    declared = {a.name: a for a in kernel.operands}

    def what(name):
        a = declared.get(name)
        if a is None:
            raise ArgumentError(f"no array '{name}'; it has {', '.join(declared)}.")
        way = OUT if a.written else IN
        if a.kind == "real":
            return len(a.extents), way

        dtype = a.dtype(None)
        return len(a.extents), way, dtype.itemsize, dtype.kind

    try:
        return listed(arrays, what)
    except ArgumentError as error:
        raise ArgumentError(f"team kernel '{kernel.name}': {error}") from None


def _refuse_shared(kernel, declared: dict, fields) -> None:
    """Raises ArgumentError for an array that is written and shares memory with another: copies on a device would not
    show it."""
    ranges = [(f, *f.range) for f in fields if all(f.extent)]
    for f, low, high in ranges:
        written = f.name in declared and declared[f.name].written
        for other, begin, end in ranges:
            refuse(
                written and other is not f and low < end and begin < high,
                f"team kernel '{kernel.name}': '{f.name}' is written and shares memory with '{other.name}'.",
            )


class _Copy(NamedTuple):
    """An array of the host that is copied to the device and, if it is written, back."""

    name: str
    host: np.ndarray  # the last index fastest
    left: bool  # the body finds it transposed
    written: bool
    small: bool  # it goes with others


class _Number(NamedTuple):
    """A number of the host, which is read at each call."""

    name: str
    at: np.ndarray


def bind(kernel, fields, state: ThreadState):
    """run() of a team kernel on these arrays and numbers, which must stay where they are.

    Arrays that the backend reaches are worked on in place. Others are copied in and, if they are written, back. A field
    of one element with the name of a number is that number, as it is at each call; so are `team` and `vector`, members
    of a team and lanes of a member. Errors: ArgumentError for a name that the kernel does not have or that comes twice;
    for frame_in of an array that is written, frame_out of an array that is read; and as TeamKernel.bind.
    """
    backend = state.shared.backend
    declared = {array.name: array for array in kernel.operands}
    arrays: dict[str, Any] = {}
    copies: list[_Copy] = []
    numbers: list[_Number] = []

    for field in fields:
        if field.name not in declared and field.name in _numbers_of(kernel):
            numbers.append(_number(kernel, field))
            continue

        _check_field(kernel, declared, field, arrays)
        array = declared[field.name]
        left = array.layout == "LEFT"
        step = 1 if left else -1
        shape, strides = field.extent[::step], field.stride[::step]

        low, high = field.range
        if low == high:  # no elements, and no address
            arrays[field.name] = backend.empty(shape, field.dtype)
            continue

        reach = field.reach(backend)
        if reach == "own":
            arrays[field.name] = backend.at(field.address, shape, strides, field.dtype)
            continue

        host = kernels.get_backend("cpu").at(field.address, shape, strides, field.dtype)
        small_enough = is_small(host.nbytes, reach)
        copies.append(_Copy(field.name, host.T if left else host, left, array.written, small_enough))
        arrays[field.name] = None  # of the device, see below

    _refuse_shared(kernel, declared, fields)
    copied = _room(backend, copies)
    for copy in copies:
        device = copied.there[copy.name]
        arrays[copy.name] = device.T if copy.left else device

    launch = _with_numbers(kernel, arrays, backend, numbers)
    return _launcher(kernel.name, launch, copied, state)


class _Copies(NamedTuple):
    """The copies of a call."""

    all: list[_Copy]
    large: list[_Copy]  # copied one by one
    small: SmallArrays | None  # copied together; None: there are none
    there: dict[str, Any]  # arrays of the device


def _room(backend, copies: list[_Copy]) -> _Copies:
    """Room on the device for these arrays."""
    large, wanted = [], []
    for copy in copies:
        if copy.small:
            wanted.append(Small(copy.name, copy.host.shape, copy.host.dtype, read=True, written=copy.written))
        else:
            large.append(copy)

    small = SmallArrays(backend, wanted) if wanted else None
    there = {copy.name: backend.empty(copy.host.shape, copy.host.dtype) for copy in large}
    return _Copies(copies, large, small, {**there, **(small.arrays if small else {})})


def _numbers_of(kernel) -> list[str]:
    """Names of what a call may give beside arrays: the kernel's numbers, and sizes of a league's teams."""
    return [*[name for name, _ in kernel.numbers], *_sizes_of(kernel)]


def _sizes_of(kernel) -> list[str]:
    """Names of sizes that a call may give."""
    taken = [name for name, _ in kernel.numbers]
    return [name for name in ("team", "vector") if kernel.items.has_teams and name not in taken]


def _number(kernel, field: Field) -> _Number:
    where = f"team kernel '{kernel.name}': '{field.name}'"
    refuse(field.way != IN, f"{where} is a number, so it is given by frame_in.")
    low, high = field.range
    refuse(high - low != field.size, f"{where} is a number, and is given with the extents {list(field.extent)}.")
    return _Number(field.name, kernels.get_backend("cpu").at(field.address, (1,), (field.size,), field.dtype))


def _with_numbers(kernel, arrays: dict, backend, numbers: list[_Number]):
    """The launch; with numbers of the host it is bound again when one of them has changed."""
    if not numbers:
        return kernel.bind(arrays, backend)

    bound: dict[tuple, Any] = {}

    def launch() -> None:
        values = tuple([number.at[0].item() for number in numbers])
        if values not in bound:
            given = dict(zip([number.name for number in numbers], values))
            sizes = kernels.Sizes(**{name: given.pop(name) for name in _sizes_of(kernel) if name in given})
            bound.clear()
            bound[values] = kernel.bind(arrays, backend, sizes, **given)
        bound[values]()

    return launch


def _check_field(kernel, declared: dict, field: Field, arrays: dict) -> None:
    """Raises ArgumentError unless the kernel has this array, in this way, and it did not come before."""
    array = declared.get(field.name)
    if array is None:
        names = ", ".join([*declared, *_numbers_of(kernel)])
        raise ArgumentError(f"team kernel '{kernel.name}' has no array '{field.name}'; it has {names}.")

    refuse(field.name in arrays, f"team kernel '{kernel.name}': array '{field.name}' is given twice.")
    refuse(
        array.written != bool(field.way),
        f"team kernel '{kernel.name}': '{field.name}' is {'written' if array.written else 'read'}, so it is given by "
        f"{'frame_out' if array.written else 'frame_in'}.",
    )


def _launcher(name: str, launch, copies: _Copies, state: ThreadState) -> ArrayLauncher:
    """The launch, with its copies if the arrays are not where kernels reach them."""
    if not copies.all:
        return ArrayLauncher(state, name, 1, launch)

    backend, small, there = state.shared.backend, copies.small, copies.there
    hosts = {copy.name: copy.host for copy in copies.all}
    put_small = small.put(hosts) if small else None
    unpack = small.unpack(hosts) if small else None
    written = [copy for copy in copies.all if copy.written]

    def put() -> None:
        if put_small:
            put_small()
        for copy in copies.large:
            there[copy.name][...] = backend.from_host(np.ascontiguousarray(copy.host), copy.host.dtype)

    def get() -> None:
        if small and unpack:
            small.get()
            backend.synchronize()
            unpack()
        for copy in copies.large:
            if copy.written:
                copy.host[...] = backend.to_host(there[copy.name])

    bytes_in = sum([copy.host.nbytes for copy in copies.all])
    bytes_out = sum([copy.host.nbytes for copy in written])
    return ArrayLauncher(
        state,
        name,
        1,
        launch,
        put=Transfer(put, bytes_in),
        get=Transfer(get, bytes_out) if written else None,
    )
