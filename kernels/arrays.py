"""Calls of programs on whole arrays of NumPy or CuPy: checks of shapes, broadcasting, copies."""

from __future__ import annotations

import numpy as np

from .backend import get_backend
from .codegen.plan import dtype_of
from .declare import quantities, refuse_unknown_quantity
from .errors import ArgumentError, closest, refuse


def _on_device(array) -> bool:
    return hasattr(array, "__cuda_array_interface__")


def fractions(name: str, given, species):
    """Fractions (ns, ...) of a composition X or Y that is written by name; anything else as it came.

    given: "CH4:1, O2:2", {"CH4": 1, "O2": array}, or a list of names for equal parts. Species that are not named have
    0; the amounts are divided by their sum. Raises ArgumentError, which names the species.
    """
    listed = isinstance(given, (list, tuple)) and given and all(isinstance(one, str) for one in given)
    if name not in ("X", "Y") or not (listed or isinstance(given, (str, dict))):
        return given
    wanted = f'wanted "{species[0]}:1, ..." or {{"{species[0]}": 1, ...}}'
    if isinstance(given, str):
        given = [part.strip() for part in given.replace(";", ",").split(",") if part.strip()]
    pairs = list(given.items()) if isinstance(given, dict) else [_pair(one) for one in given]
    refuse(not pairs, f"'{name}': nothing came, {wanted}.")
    amounts: dict = {}
    for key, value in pairs:
        refuse(key not in species, f"'{name}': no species {key!r} in this mixture{closest(key, species)}; {wanted}.")
        refuse(key in amounts, f"'{name}': species {key!r} is given more than once.")
        try:
            amounts[key] = np.asarray(value, dtype=float)
        except (TypeError, ValueError):
            raise ArgumentError(f"'{name}': {key!r} is {value!r}, wanted a number; {wanted}.") from None
        wrong = ~(np.isfinite(amounts[key]) & (amounts[key] >= 0))
        refuse(wrong.any(), f"'{name}': {key!r} is {value!r}, wanted no negative amount.")
    try:
        total = sum(amounts.values())
    except ValueError:
        shapes = ", ".join(f"{key} {value.shape}" for key, value in amounts.items())
        raise ArgumentError(f"'{name}': amounts of different shapes: {shapes}.") from None
    refuse(not np.all(total > 0), f"'{name}': the amounts sum to 0.")
    out = np.zeros((len(species), *np.shape(total)))
    for key, value in amounts.items():
        out[species.index(key)] = value / total
    return out


def _pair(text):
    """("CH4", "1") of "CH4:1" or "CH4=1"; ("CH4", 1) of a name alone."""
    key, colon, value = text.replace("=", ":").rpartition(":")
    return (key.strip(), value.strip()) if colon else (text, 1.0)


def call(mixture, names, arrays, backend, precision, kernel=None, update=False) -> dict:
    """Run a program on named arrays; returns {name: array} for `names`.

    kernel: the name of the one to run; None: those that lead from the arrays to `names`. update: what is both given and
    asked for is made anew, by a kernel that updates it. Shapes, units and errors: see Mixture.properties. backend: a
    Backend, its name, or None (that of the arrays).
    """
    refuse_unknown_quantity([*names, *arrays])
    arrays = {name: fractions(name, given, mixture.names) for name, given in arrays.items()}
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
        rows, per = mixture.rows(name), quantities[name].per
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
    made = names if kernel or update else [x for x in names if x not in inputs]
    out = dict(inputs)
    if made:
        what = dict(kernels=[kernel]) if kernel else dict(outputs=made, given=list(arrays))
        program = mixture.program(**what, backend=backend, precision=precision)
        rows_of = {name: mixture.rows(name) for name in program.reads + program.writes}
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


REACTORS = {"volume": "cv", "pressure": "cp"}  # kind: how its quantities end


def reactor(kind) -> str:
    """How the quantities of a kind of reactor end. Raises ArgumentError for another kind."""
    refuse(kind not in REACTORS, f"kind = {kind!r}{closest(str(kind), REACTORS)}; wanted {' or '.join(REACTORS)}.")
    return REACTORS[kind]


def react(mixture, state, dt, kind, last, backend, precision) -> dict:
    """See Mixture.react."""
    at = reactor(kind)
    arrays = {**{name: fractions(name, given, mixture.names) for name, given in state.items()}, f"dt_{at}": dt}
    names = [*state, f"status_{at}", f"steps_{at}"]
    refuse(last is not None and not hasattr(last, "argsort"), "last: wanted the array `steps` of a call before.")
    if last is not None:
        shape, rows = last.shape, {name: ((mixture.ns,) if quantities[name].per else ()) for name in (*arrays, *names)}
        order = last.reshape(-1).argsort()
        for name, given in arrays.items():
            whole = np.empty(rows[name] + shape) if not _on_device(last) else _like(last, rows[name] + shape)
            inner = np.shape(given)[len(rows[name]) :]
            try:
                missing = (1,) * (len(shape) - len(inner))
                whole[...] = given.reshape(rows[name] + missing + inner) if hasattr(given, "reshape") else given
            except ValueError:
                raise ArgumentError(f"'{name}': shape {np.shape(given)} does not fit last, {shape}.") from None
            arrays[name] = whole.reshape(*rows[name], -1)[..., order]
    out = call(mixture, names, arrays, backend, precision, update=True)
    if last is not None:
        back = order.argsort()
        out = {name: value[..., back].reshape(rows[name] + shape) for name, value in out.items()}
    return {name.removesuffix(f"_{at}"): value for name, value in out.items()}


def _like(array, shape):
    """An empty array beside one on a device."""
    return get_backend("cuda").arrays.empty(shape, array.dtype)
