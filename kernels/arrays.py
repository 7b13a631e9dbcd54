"""Calls of programs on whole arrays of NumPy or CuPy: checks of shapes, broadcasting, copies."""

from __future__ import annotations

import numpy as np

from .backend import get_backend
from .codegen.plan import dtype_of
from .declare import quantities
from .errors import ArgumentError, refuse


def _on_device(array) -> bool:
    return hasattr(array, "__cuda_array_interface__")


def call(mixture, names, arrays, backend, precision, kernel=None) -> dict:
    """Run a program on named arrays; returns {name: array} for `names`.

    kernel: the name of the one to run; None: those that lead from the arrays to `names`. Shapes, units and errors: see
    Mixture.properties. backend: a Backend, its name, or None (that of the arrays).
    """
    unknown = [n for n in [*names, *arrays] if n not in quantities]
    if unknown:
        raise ArgumentError(f"unknown quantity '{unknown[0]}'; known: {', '.join(sorted(quantities))}.")
    refuse(
        "X" in arrays and "Y" in arrays and not kernel,
        "both X and Y were given: they may contradict each other; give one.",
    )
    refuse(not names, "no quantities asked for.")
    device = any(_on_device(a) for a in arrays.values())
    backend = get_backend(backend or ("cuda" if device else "cpu"))
    refuse(device and backend.memory != "device", f"arrays on a device were given, but backend is '{backend}'.")
    dtype = dtype_of(precision)
    inputs, points = {}, ()
    for name, array in arrays.items():
        rows, per = quantities[name].rows(mixture.ns), quantities[name].per
        # NumPy would make NaN of None
        refuse(array is None, f"'{name}' is None, wanted numbers.")
        try:
            array = backend.from_host(array, dtype) if _on_device(array) else np.asarray(array, dtype=dtype)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"'{name}': wanted numbers ({error}).") from None
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
    made = names if kernel else [x for x in names if x not in inputs]
    out = dict(inputs)
    if made:
        what = dict(kernels=[kernel]) if kernel else dict(outputs=made, given=list(arrays))
        program = mixture.program(**what, backend=backend, precision=precision)
        rows_of = {name: quantities[name].rows(mixture.ns) for name in program.reads + program.writes}
        shapes = {name: (rows_of[name], *points) if quantities[name].per else points for name in rows_of}
        bound = {name: backend.empty((rows_of[name], n), dtype) for name in program.writes if name not in program.reads}
        for name in program.reads:
            array = backend.from_host(inputs[name], dtype)
            if quantities[name].per:
                array = array.reshape(rows_of[name], *(1,) * (len(points) - array.ndim + 1), *array.shape[1:])
            array = backend.arrays.ascontiguousarray(backend.arrays.broadcast_to(array, shapes[name]))
            bound[name] = (array.copy() if name in program.writes else array).reshape(rows_of[name], n)
        if n:
            program.bind(bound)(n)
        for name in program.writes:
            result = bound[name].reshape(shapes[name])
            out[name] = result if device else backend.to_host(result)
    return {name: out[name] for name in names}
