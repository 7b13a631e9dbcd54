"""Calls of programs on whole arrays of NumPy or CuPy: checks of shapes, broadcasting, copies."""

from __future__ import annotations

import re
import warnings

import numpy as np

from ..engine.backend import get_backend
from ..engine.backend.base import on_device
from ..engine.errors import ArgumentError, StateError, closest, refuse
from ..engine.values import real_array, refuse_type
from . import check
from .plan import dtype_of
from .registry import registry
from .resolve import resolve, unserved
from .species import NoSpecies
from .species.names import own_name

WHOLE = 1e-6  # a sum of fractions this near to 1 counts as 1, as in the kernels
ROUNDED = 1e-3  # mass fractions of files and of float32 sum to 1 within this; a forgotten species is further off
STATE = ("T", "p", "Y", "X")  # the usual variables; of several arrays that contradict each other, another is named
AMOUNT = re.compile(r"([:=]\s*[^\s:=,;]+)\s+(?=[^\s,;])")  # an amount with a blank and the next name behind it
COLDEST, HOTTEST = 20.0, 6000.0  # K: the inversions' bracket; beyond the species' own ranges models hold this far


def fractions(name: str, given, species):
    """Fractions (ns, ...) of a composition X or Y that is written by name; anything else as it came.

    given: "CH4:1, O2:2", {"CH4": 1, "O2": array}, or a list of names for equal parts. Species that are not named have
    0; the amounts are divided by their sum. A species may have other letters, or another usual name as for
    Mixture.from_names. Raises ArgumentError, which names the species.
    """
    listed = isinstance(given, (list, tuple)) and given and all(isinstance(one, str) for one in given)
    if name not in ("X", "Y") or not (listed or isinstance(given, (str, dict))):
        return given

    wanted = f'wanted "{species[0]}:1, ..." or {{"{species[0]}": 1, ...}}'
    if isinstance(given, str):
        given = _parts(given, species)
    pairs = list(given.items()) if isinstance(given, dict) else [_pair(one) for one in given]
    refuse(not pairs, f"'{name}': nothing came, {wanted}.")

    amounts: dict = {}
    for key, value in pairs:
        own = own_name(key, species)
        if own is None:
            raise ArgumentError(f"'{name}': no species {key!r} in this mixture{closest(key, species)}; {wanted}.")
        refuse(own in amounts, f"'{name}': species {own!r} is given more than once.")
        amounts[own] = _amount(name, key, value, wanted)

    try:
        total = sum(amounts.values())
    except ValueError:
        shapes = ", ".join(f"{key} {np.shape(value)}" for key, value in amounts.items())
        raise ArgumentError(f"'{name}': amounts of different shapes: {shapes}.") from None

    refuse(not np.all(total > 0), f"'{name}': the amounts sum to 0.")
    masked = any(isinstance(value, np.ma.MaskedArray) for value in amounts.values())
    out = (np.ma.zeros if masked else np.zeros)((len(species), *np.shape(total)))
    for key, value in amounts.items():
        out[species.index(key)] = value / total

    return out


def _amount(name: str, key: str, value, wanted: str):
    """An amount of a species, finite and not negative where it is not masked."""
    try:
        values = real_array(f"{name}: {key}", float(value) if isinstance(value, str) else value)
    except ArgumentError:
        raise
    except ValueError:
        raise ArgumentError(f"'{name}': {key!r} is {value!r}, wanted a number; {wanted}.") from None

    values = np.ma.array(values, mask=np.ma.getmaskarray(value)) if isinstance(value, np.ma.MaskedArray) else values

    wrong = ~(np.isfinite(values) & (values >= 0))
    refuse(np.ma.filled(wrong, False).any(), f"'{name}': {key!r} is {value!r}, wanted no negative amount.")

    return values


def _parts(text: str, species) -> list[str]:
    """["CH4:1", "O2:2"] of "CH4:1, O2:2", or with a semicolon or a blank behind an amount. A comma within the name of a
    species, as in "C8H18,n-octane:1", divides nothing."""
    text = AMOUNT.sub(r"\1,", text)
    parts: list[str] = []
    for word in text.replace(";", ",").split(","):
        for k in range(len(parts)):
            whole = ",".join([*parts[k:], word])
            has_amount = any(mark in part for part in parts[k:] for mark in ":=")
            if not has_amount and _pair(whole)[0].strip() in species:
                parts[k:] = [whole]
                break
        else:
            parts.append(word)

    return [part.strip() for part in parts if part.strip()]


def _pair(text):
    """("CH4", "1") of "CH4:1" or "CH4=1"; ("CH4", 1) of a name alone."""
    key, colon, value = text.replace("=", ":").rpartition(":")
    return (key.strip(), value.strip()) if colon else (text, 1.0)


def call(mixture, names, arrays, backend, precision, depth=3, explained=False) -> dict:
    """The quantities `names` at the states of named arrays: {name: array}.

    backend: a Backend, its name, or None (that of the arrays). depth: frames from here to the user, for warnings; None:
    no warnings. explained: the caller says why results are NaN. Shapes, units and errors: see Mixture.properties.
    """
    refuse("X" in arrays and "Y" in arrays, "both X and Y were given: they may contradict each other; give one.")
    state = State.of_call(mixture, names, arrays, backend, precision)
    state.explained = explained
    state.normalise()

    # The program, if there is anything to compute.
    mixture = state.mixture
    computed = _computed(names, arrays)
    program = None

    if computed:
        given = list(arrays)
        computed += mixture.statuses_beside(computed, given)
        program = mixture.program(outputs=computed, given=given, backend=state.backend, precision=precision)
    refuse_surplus(mixture, names, arrays, program.reads if program else ())

    out = dict(state.inputs)
    if program:
        out |= state.run(program, limited=True)
        if depth:
            state.warn(depth + 1)

    return {name: state.handed_back(name, out[name]) for name in names}


def _computed(names, arrays) -> list[str]:
    """The quantities of a call that are not given. A start that is carried from call to call is updated, asked for or
    not."""
    carried = [name for name in arrays if registry.quantities[name].carried]
    computed = [name for name in names if name not in arrays or name in carried]
    return computed + [name for name in carried if name not in computed]


def call_kernel(mixture, name: str, arrays, backend, precision) -> dict:
    """The formula of a single kernel on named arrays, as they are: {name: array} of all that it writes. backend,
    errors: as `call`."""
    names = list(registry.kernels[name].for_options(mixture.options).writes)
    state = State.of_call(mixture, names, arrays, backend, precision)
    program = state.mixture.program(kernels=[name], backend=state.backend, precision=precision)
    return _results(state, program, names, depth=5)


def call_updating(mixture, names, arrays, backend, precision) -> dict:
    """As `call`, by a kernel that updates what is both given and asked for, as a reactor does."""
    state = State.of_call(mixture, names, arrays, backend, precision)
    program = state.mixture.program(outputs=names, given=list(arrays), backend=state.backend, precision=precision)
    return _results(state, program, names, depth=6)


def _results(state: State, program, names, depth: int) -> dict:
    """The results of a program, without the checks of `call`: a kernel is called for its formula, and a reactor has a
    status at each point."""
    out = state.run(program, limited=False)
    state.warn(depth)
    return {name: state.handed_back(name, out[name]) for name in names}


class State:
    """The arrays of one call. device: whether any of them is on a device; then results are, too.

    inputs: {name: array of the program's type}, all on the device, or all on the host.
    shape: of the points, to which all broadcast.
    points: where a value belongs, and which points are masked.
    notes: of temperatures beyond the models' ranges and of points without a result, for warnings. explained: others say
    why results are NaN.

    Raises ArgumentError, which names the array, for types, units and shapes.
    """

    def __init__(self, mixture, arrays, backend, dtype, device: bool):
        self.mixture, self.backend, self.dtype = mixture, backend, dtype
        self._device, self._xp = device, backend.arrays if device else np
        self.inputs: dict = {}
        self.shape: tuple[int, ...] = ()
        self.notes: list[str] = []
        self.explained = False
        self._masks: list = []
        self._masked = False  # whether a masked array came: then such arrays are handed back

        for name, given in arrays.items():
            self._take(name, _stacked(fractions(name, given, mixture.names)))

        refuse(device and self._masked, "masked arrays were given beside arrays on a device, which have no masks.")
        self.size = int(np.prod(self.shape))
        self.points = check.Points(self.shape, self._hidden())

    @classmethod
    def of_call(cls, mixture, names, arrays, backend, precision) -> State:
        """The state of a call, with the mixture of the mode and the backend of the arrays if none is named."""
        registry.refuse_unknown_quantity([*names, *arrays])
        refuse(not names, "no quantities asked for.")

        device = any(on_device(array) for array in arrays.values())
        backend = get_backend(backend or ("cuda" if device else "cpu"))
        refuse(device and not backend.apart, f"arrays on a device were given, but backend is '{backend}'.")

        return cls(mixture.in_check_mode if check.is_on() else mixture, arrays, backend, dtype_of(precision), device)

    def _take(self, name: str, given) -> None:
        rows, per = self.mixture.rows(name), registry.quantities[name].per
        array = self._numbers(name, given)
        refuse(
            per and (array.ndim == 0 or array.shape[0] != rows),
            f"'{name}': shape {tuple(array.shape)}, wanted ({rows}, ...): one row for each of {per} = {rows}.",
        )

        shape = tuple(array.shape[1:] if per else array.shape)
        try:
            self.shape = np.broadcast_shapes(self.shape, shape)
        except ValueError:
            raise ArgumentError(
                f"'{name}': shape {shape} after the species axis does not broadcast with {self.shape} of the arrays "
                "before it."
            ) from None

        self.inputs[name] = array
        self._take_mask(name, given, bool(per))

    def _numbers(self, name: str, given):
        if on_device(given):
            refuse_type(name, given.dtype)
        else:
            given = real_array(name, given, self.dtype, registry.quantities[name].unit)
        return self.backend.from_host(given, self.dtype) if self._device else given

    def _take_mask(self, name: str, given, per: bool) -> None:
        """A point is masked where any of its values is."""
        if not isinstance(given, np.ma.MaskedArray):
            return

        self._masked = True
        mask = np.ma.getmaskarray(given)
        self._masks.append(mask.any(axis=0) if per else mask)

    def _hidden(self):
        """(points,) true where a point is masked; None where no mask came."""
        hidden = np.zeros(self.shape, bool)
        for mask in self._masks:
            hidden |= mask
        return hidden.reshape(-1) if self._masked else None

    def normalise(self) -> None:
        """X is divided by its sum, and Y by a sum that is off by rounding; see Mixture.properties. Notes the first Y
        that is further off: it stays as it came, and kernels make NaN of it. Notes the first negative fraction."""
        for name in ("X", "Y"):
            if name in self.inputs:
                self.inputs[name] = self._divided(name)
                self._note_negative(name)

    def _divided(self, name: str):
        """Fractions divided by their sum, where it is not 1 within WHOLE: others keep their bits."""
        array = self.inputs[name]
        total = array.sum(axis=0, dtype=np.float64)
        off = abs(total - 1) > WHOLE
        if not off.any():
            return array

        if name == "Y":
            far = abs(total - 1) > ROUNDED
            self._note_sum(name, total, far & (abs(total) < np.inf))
            off = off & ~far
        else:
            self._note_sum(name, total, ~((total > 0) & (total < np.inf)) & (total == total))

        total = self._xp.where((total > 0) & (total < np.inf), total, np.nan)
        with np.errstate(all="ignore"):
            return self._xp.where(off, array / total, array).astype(self.dtype)

    def _note_sum(self, name: str, total, far) -> None:
        """Notes the first point whose sum over the species is wrong."""
        if not far.any():
            return

        total, far = (self._flat(values, False)[None, :] for values in (total, far))
        found = self.points.first(far)

        if found:
            wanted = "a positive and finite sum: results are NaN there."
            if name == "Y":
                wanted = (
                    f"1 within {ROUNDED:g}: results are NaN there; give amounts by name, {{species: mass}}, or divide "
                    "by the sum."
                )
            self.notes.append(
                f"'{name}' sums to {float(total[found]):.9g} over the species at {self.points.place(found[1])}, wanted "
                f"{wanted}"
            )

    def _note_negative(self, name: str) -> None:
        """Notes the first fraction that is more negative than rounding. Arrays that came from a device are not looked
        at: the call would wait for them."""
        array = self.inputs[name]
        if self._device or not array.size or array.min() >= -ROUNDED:  # false for NaN
            return

        fractions = self._flat(array, True)
        found = self.points.first(fractions < -ROUNDED)
        if found:
            species, point = found
            self.notes.append(
                f"'{name}' of {self.mixture.names[species]} is {float(fractions[found]):g} at "
                f"{self.points.place(point)}, wanted 0 or more: the results there are those of no mixture."
            )

    def _flat(self, array, per: bool) -> np.ndarray:
        """On the host, for all points: (rows, points), or (points,)."""
        array = self.backend.to_host(array) if self._device else np.asarray(array)
        return self._spread(np, array, per).reshape((len(array), self.size) if per else (self.size,))

    def _spread(self, xp, array, per: bool):
        if not per:
            return xp.broadcast_to(array, self.shape)
        missing = (1,) * (len(self.shape) - array.ndim + 1)
        return xp.broadcast_to(array.reshape(len(array), *missing, *array.shape[1:]), (len(array), *self.shape))

    def run(self, program, limited: bool) -> dict:
        """{name: array} of the program's results. limited: T outside the range of the models becomes NaN.

        Raises StateError in check mode."""
        bound = {}
        for name in program.writes:
            if name not in program.reads:
                bound[name] = self.backend.empty((self.mixture.rows(name), self.size), self.dtype)

        for name in program.reads:
            bound[name] = self._bound(name, copied=name in program.writes, limited=limited)

        checked = check.is_on()
        given = {name: self._on_host(bound[name]) for name in program.reads} if checked else {}
        for name, values in given.items():
            check.check_input(name, values, self.points)

        if self.size:
            program.bind(bound)(self.size)

        if checked:
            made = {name: self._on_host(bound[name]) for name in program.writes}
            self.notes += check.check_results(program, made, given, self.points, self.mixture.species)
        elif limited:
            self._note_reports(program, bound)
            self._note_nan(program, bound)

        return {name: self._shaped(name, bound[name]) for name in program.writes}

    def _note_reports(self, program, bound: dict) -> None:
        """Notes of points that statuses report, but for those whose inputs are not numbers: NaN in is NaN out."""
        for name in program.writes:
            for report in registry.quantities[name].reports:
                there = bound[name] == report.value
                if not there.any():
                    continue

                given = {read: bound[read] for read in program.reads if read not in program.writes}
                for values in given.values():
                    there &= np.isfinite(values).all(axis=0)
                inputs = {read: self._on_host(values) for read, values in given.items()}
                self.notes += check.reported(name, report, self._on_host(there), self.points, inputs)

    def _note_nan(self, program, bound: dict) -> None:
        """Notes results that are NaN where all inputs are numbers, unless another note has told of NaN: a pressure
        below 0, a density that the equation of state does not reach. Arrays that came from a device are not looked at:
        the call would wait for them. NumPy's functions of CuPy's arrays are CuPy's."""
        if self.explained or self._device or self.notes or not self.size:
            return

        plain = [name for name in program.writes if not registry.quantities[name].reports]
        filled = [name for name in plain if bound[name].size]  # a mechanism may have no reactions
        names = [name for name in filled if np.isnan(bound[name].min())]  # the least of any NaN is NaN
        if not names:
            return

        there = np.isnan(bound[names[0]]).any(axis=0)
        for name in names[1:]:
            there |= np.isnan(bound[name]).any(axis=0)

        given = {name: bound[name] for name in program.reads if name not in program.writes}
        for values in given.values():
            there &= np.isfinite(values).all(axis=0)

        inputs = {name: self._on_host(values) for name, values in given.items()}
        self.notes += check.not_a_number(names, self._on_host(there)[None, :], self.points, inputs)

    def warn(self, depth: int) -> None:
        """The notes as warnings. depth: frames from here to the user."""
        for note in self.notes:
            warnings.warn(note, RuntimeWarning, stacklevel=depth)

    def _on_host(self, array) -> np.ndarray:
        return np.array(self.backend.to_host(array))

    def _bound(self, name: str, copied: bool, limited: bool):
        """(rows, points), contiguous, where the backend works. copied: the program writes it, and the caller keeps
        what it gave."""
        array = self.inputs[name]
        if name == "T" and limited:
            array = self._limited(array)

        xp, per = self.backend.arrays, bool(registry.quantities[name].per)
        there = xp.ascontiguousarray(self._spread(xp, self.backend.from_host(array, self.dtype), per))
        return (there.copy() if copied else there).reshape(self.mixture.rows(name), self.size)

    def _limited(self, T):
        """T with NaN outside the range of the models. Notes such points, and points that are hotter than the
        polynomials of a species that is there."""
        species = self.mixture.species
        if isinstance(species, NoSpecies):
            return T

        low, high = min(COLDEST, species.T_min.min()), max(HOTTEST, species.T_max.max())
        left = (T < low) | (T > high)

        if left.any():
            noted = self._note(
                T, left, f"outside {low:g} to {high:g} K, the range of the models: results are NaN there"
            )
            if noted and check.is_on():
                raise StateError(f"check: input {self.notes[-1]}")
            return self._xp.where(left, np.nan, T).astype(self.dtype)

        self._note_extrapolation(T)
        return T

    def _note_extrapolation(self, T) -> None:
        species = self.mixture.species
        fractions = self.inputs.get("Y", self.inputs.get("X"))
        if fractions is None:
            return

        for s in np.argsort(species.T_max):
            hot = T > species.T_max[s]
            if not hot.any():
                return

            hot = hot & (fractions[s] != 0)
            if hot.any():
                end = f"above {species.T_max[s]:g} K, where the polynomials of {species.names[s]} end"
                self._note(T, hot, f"{end}: they are extrapolated")
                return

    def _note(self, T, wrong, text: str) -> bool:
        """Keep a note of the first such point that is not masked; whether there is one."""
        T, wrong = (self._flat(values, False)[None, :] for values in (T, wrong))
        found = self.points.first(wrong)

        if found:
            place = self.points.place(found[1])
            self.notes.append(f"T = {float(T[found]):g} K at {place} is {text}.")

        return bool(found)

    def _shaped(self, name: str, array):
        return array.reshape((len(array), *self.shape) if registry.quantities[name].per else self.shape)

    def handed_back(self, name: str, array):
        """As the caller's arrays are: on a device, on the host, or masked."""
        if self._device:
            return array

        array = self.backend.to_host(array) if on_device(array) else array
        if not self._masked:
            return array

        whole = self._spread(np, array, bool(registry.quantities[name].per))
        hidden = self.points.hidden.reshape(self.shape)
        return np.ma.array(whole, mask=np.broadcast_to(hidden, whole.shape))


def _stacked(given):
    """A list of masked arrays as one masked array; anything else as it came."""
    masked = isinstance(given, (list, tuple)) and any(isinstance(part, np.ma.MaskedArray) for part in given)
    return np.ma.stack([np.ma.asarray(part) for part in given]) if masked else given


def has_composition(arrays) -> bool:
    """Whether one of the inputs has a number for each species: X, Y, or what they follow from, as rho_k."""
    known = registry.quantities
    return any(name in ("X", "Y") or (name in known and known[name].per == "ns") for name in arrays)


def refuse_surplus(mixture, names, arrays, read) -> None:
    """Raise ArgumentError for an array that is not read, and whose values follow from the others: both may contradict
    each other. An array that is independent of the others, such as a velocity, may come and is not used. So may inputs
    of a collection that has the names, such as p of `viscous` beside rho and T."""
    surplus = [name for name in arrays if name not in read]
    for known in registry.collections.values() if surplus and read else ():
        if set(known.given) <= set(arrays) and set(known.outputs).intersection(names):
            surplus = [name for name in surplus if name not in known.given]

    for name in sorted(surplus, key=lambda name: name in STATE):
        others = [other for other in arrays if other != name]
        try:
            resolve([name], others, mixture.options)
        except ArgumentError:
            continue
        raise ArgumentError(
            f"'{name}' was given beside {', '.join(others)}, from which it follows: they may contradict each other; "
            "leave one out."
        )


REACTORS = {"volume": "cv", "pressure": "cp"}  # kind: how its quantities end


LOST = {  # why a reactor has no end, by status
    1: "took too many steps (constant react_most)",
    2: "needed too small steps",
    4: "left 200 to 6000 K",
    5: "not a state that reacts (T outside 200 to 6000 K, Y below -1e-8, dt below 0, or not a number)",
}


def reactor(kind, mixture, precision) -> str:
    """How the quantities of a kind of reactor end. Raises ArgumentError for another kind, and for a mixture or a
    precision that no reactor serves."""
    refuse(kind not in REACTORS, f"kind = {kind!r}{closest(str(kind), REACTORS)}; wanted {' or '.join(REACTORS)}.")
    at = REACTORS[kind]
    wrong = unserved(f"status_{at}", mixture.options)
    refuse(wrong, f"react is not available with {wrong}.")

    if precision == "single":
        makers = [kernel for kernel in registry.kernels.values() if f"status_{at}" in kernel.writes]
        raise ArgumentError(
            f"react is not available with precision = 'single': {makers[0].double_only}; precision 'mixed' has it."
        )
    return at


def react(mixture, state, dt, kind, last, backend, precision) -> dict:
    """See Mixture.react."""
    at = reactor(kind, mixture, precision)
    arrays = {**{name: fractions(name, given, mixture.names) for name, given in state.items()}, f"dt_{at}": dt}
    names = [*state, f"status_{at}", f"steps_{at}"]
    for name, given in arrays.items():
        _refuse_types(name.removesuffix(f"_{at}"), given)
    refuse(
        getattr(mixture.species, "reactions", None) is None,
        "react: the species have no reactions; wanted a mixture from a file whose phase has `kinetics`, as "
        "examples/mechanisms/h2_o2.yaml.",
    )
    refuse(last is not None and not hasattr(last, "argsort"), "last: wanted the array `steps` of a call before.")

    order = None
    if last is not None:
        order = Order(mixture, last, names)
        arrays = {name: order.sorted(name, _stacked(given)) for name, given in arrays.items()}

    out = call_updating(mixture, names, arrays, backend, precision)
    if order:
        out = {name: order.put_back(name, value) for name, value in out.items()}
    return {name.removesuffix(f"_{at}"): value for name, value in out.items()}


def _refuse_types(name: str, given) -> None:
    """Raise ArgumentError for numbers of a type that is not taken."""
    if hasattr(given, "dtype"):
        refuse_type(name, given.dtype)
    else:
        real_array(name, given)


class Order:
    """Points sorted by the effort of a call before, so that neighbours need similar effort. last: steps, by point.
    In check mode points keep their places: messages name them."""

    def __init__(self, mixture, last, names):
        self.mixture, self.last, self.shape = mixture, last, tuple(last.shape)
        self.order = np.arange(last.size) if check.is_on() else np.ma.getdata(last).reshape(-1).argsort()
        self.back = self.order.argsort()

    def _rows(self, name: str) -> tuple[int, ...]:
        return (self.mixture.ns,) if registry.quantities[name].per else ()

    def sorted(self, name: str, given):
        """(rows, points), or (points,), in this order. Raises ArgumentError where the shape does not fit."""
        rows = self._rows(name)
        if on_device(given):
            refuse_type(name, given.dtype)
        else:
            masked = isinstance(given, np.ma.MaskedArray)
            values = real_array(name, given, unit=registry.quantities[name].unit)
            given = np.ma.array(values, mask=np.ma.getmaskarray(given)) if masked else values

        inner = tuple(given.shape[len(rows) :])
        refuse(
            len(inner) > len(self.shape) or given.shape[: len(rows)] != rows,
            f"'{name}': shape {given.shape} does not fit last, {self.shape}.",
        )

        if on_device(self.last):
            whole = _like(self.last, rows + self.shape)
        else:
            whole = np.empty(rows + self.shape)
            whole = np.ma.array(whole) if isinstance(given, np.ma.MaskedArray) else whole

        missing = (1,) * (len(self.shape) - len(inner))
        try:
            whole[...] = given.reshape(rows + missing + inner)
        except ValueError:
            raise ArgumentError(f"'{name}': shape {given.shape} does not fit last, {self.shape}.") from None

        return whole.reshape(*rows, -1)[..., self.order]

    def put_back(self, name: str, value):
        """The same in the points' own order and shape."""
        return value[..., self.back].reshape(self._rows(name) + self.shape)


def _like(array, shape):
    """An empty array beside one on a device."""
    return get_backend("cuda").arrays.empty(shape, array.dtype)
