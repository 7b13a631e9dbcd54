"""Calls of programs on whole arrays of NumPy or CuPy: checks of shapes, broadcasting, copies."""

from __future__ import annotations

import numpy as np

from .backend import get_backend
from .codegen.plan import dtype_of
from .declare import quantities
from .errors import ArgumentError, refuse


def _on_device(array) -> bool:
    return hasattr(array, "__cuda_array_interface__")


def call(mixture, what, names, arrays, backend, precision) -> dict:
    """Run a program on named arrays; returns {name: array} for `names`.

    what: keywords of Mixture.program that choose the program. Shapes, units and errors: see Mixture.properties.
    backend: a Backend, its name, or None (that of the arrays).
    """
    unknown = [n for n in [*names, *arrays] if n not in quantities]
    if unknown:
        raise ArgumentError(f"unknown quantity '{unknown[0]}'; known: {', '.join(sorted(quantities))}.")
    refuse(
        "X" in arrays and "Y" in arrays and "kernels" not in what,
        "both X and Y were given: they may contradict each other; give one.",
    )
    refuse(not names, "no quantities asked for.")
    device = any(_on_device(a) for a in arrays.values())
    if backend is None:
        backend = "cuda" if device else "cpu"
    backend = get_backend(backend)
    refuse(device and backend.memory != "device", f"arrays on a device were given, but backend is '{backend}'.")
    dtype = dtype_of(precision)
    inputs, points = {}, ()
    for name, array in arrays.items():
        rows = quantities[name].rows(mixture.ns)
        # NumPy would make NaN of None
        refuse(array is None, f"'{name}' is None, wanted numbers.")
        if not _on_device(array):
            try:
                array = np.asarray(array, dtype=dtype)
            except (TypeError, ValueError) as error:
                raise ArgumentError(f"'{name}': wanted numbers ({error}).") from None
        else:
            array = backend.from_host(array, dtype)
        per = quantities[name].per
        refuse(
            per and (array.ndim == 0 or array.shape[0] != rows),
            f"'{name}': shape {tuple(array.shape)}, wanted ({rows}, ...): one row for each of {per} = {rows}.",
        )
        inputs[name] = array
        shape = tuple(array.shape[1:] if per else array.shape)
        try:
            points = np.broadcast_shapes(points, shape)
        except ValueError:
            raise ArgumentError(
                f"'{name}': shape {shape} after the species axis does not broadcast with {points} of the arrays "
                "before it."
            ) from None
    n = int(np.prod(points))
    made = [x for x in names if x not in inputs]
    out = {x: inputs[x] for x in names if x in inputs and "kernels" not in what}
    if "kernels" in what:
        made = list(names)
    if made:
        program = mixture.program(
            **{**what, **({} if "kernels" in what else {"outputs": made})}, backend=backend, precision=precision
        )
        bound = {}
        for name in program.reads:
            rows, array = quantities[name].rows(mixture.ns), inputs[name]
            full = (rows, *points) if quantities[name].per else points
            array = backend.from_host(array, dtype)
            if quantities[name].per:
                array = array.reshape(rows, *(1,) * (len(points) - array.ndim + 1), *array.shape[1:])
            bound[name] = _contiguous(backend.arrays, array, full, copy=name in program.writes).reshape(rows, n)
        fresh = {
            name: backend.empty((quantities[name].rows(mixture.ns), n), dtype)
            for name in program.writes
            if name not in bound
        }
        bound.update(fresh)
        if n:
            program.bind(bound)(n)
        for name in program.writes:
            result = bound[name].reshape(
                (quantities[name].rows(mixture.ns), *points) if quantities[name].per else points
            )
            out[name] = result if device else backend.to_host(result)
    return {name: out[name] for name in names}


def _contiguous(xp, array, shape, copy):
    """The array broadcast to `shape`, with contiguous rows. It is copied only where needed, or where `copy` asks for it
    (a kernel updates it). xp: NumPy or CuPy."""
    if tuple(array.shape) == tuple(shape) and array.flags.c_contiguous:
        return array.copy() if copy else array
    return (
        xp.ascontiguousarray(xp.broadcast_to(array, shape))
        if not copy
        else xp.array(xp.broadcast_to(array, shape), order="C")
    )
