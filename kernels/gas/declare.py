"""Declarations of quantities, point kernels, options, facts, constants and collections; and the search for the kernels
that lead from given quantities to wanted ones.

A declaration says everything about a kernel except its formula. The formula stands once, in the header named in the
declaration, as a C++ function template over the number type. Code generation, views, tests, timers and tables read
these records.
"""

from __future__ import annotations

import contextvars
import dataclasses
import importlib.util
import os
import pathlib
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..engine.errors import ArgumentError, StateError, closest, refuse
from ..engine.values import real_array

PER = {
    "": lambda ns, nr: 1,
    "ns": lambda ns, nr: ns,
    "ns*ns": lambda ns, nr: ns * ns,
    "nq": lambda ns, nr: ns + 4,
    "nq*nq": lambda ns, nr: (ns + 4) ** 2,
    "nr": lambda ns, nr: nr,
    "nz": lambda ns, nr: ns + 1,
    "nz*nz": lambda ns, nr: (ns + 1) ** 2,
}


@dataclasses.dataclass(frozen=True)
class Quantity:
    """A named field. per: "" (one value at each point), or the number of values at each point: "ns", "ns*ns", "nq",
    "nq*nq", "nr", "nz" or "nz*nz"; nq = ns + 4 is the number of variables of a flow solver, nr the number of reactions,
    nz = ns + 1 the number of unknowns of a reactor."""

    name: str
    unit: str
    what: str
    per: str = ""

    def rows(self, ns: int, nr: int = 0) -> int:
        """Number of values at each point for ns species and nr reactions."""
        return PER[self.per](ns, nr)


When = tuple[tuple[str, Sequence[str]], ...]  # ((option, the values it may have), ...)


class Conditional:
    """What is for some model options only: those whose values `when` lists."""

    when: When

    def serves(self, options: dict) -> bool:
        """Whether this is for these model options."""
        return all(options.get(key) in values for key, values in self.when)


@dataclasses.dataclass(frozen=True)
class PointKernel(Conditional):
    """A formula at one point: one quantity, or several that one sweep over the species gives.

    reads, writes: quantity names in the order of the C++ arguments. A name in both is updated in place.
    order: the reads in full. Those marked `?` are read only where some kernel for the same options makes them;
    otherwise the body gets an Absent in their place.
    constants: names of the mixture constants that the body reads as members of its first argument.
    packs: how many packs form one value on the CPU: 1, 2 or 4, whichever was measured to be fastest. 4 become 2 in
    sweeps over more than 10 species, and a kernel that looks up a table in single precision has 2.
    alone: on the CPU the kernel has its own loop over points: it is so long that the processor cannot overlap it with
    the next kernel.
    given: names that must be given, not computed, for this kernel to be chosen; what it writes must not be given. These
    are the inputs of an inversion. Without this rule T would follow from h, and h from T.
    sweeps: the kernel's need of GPU registers beyond one value at a time; it decides how a launch is organised: "pairs"
    (sums over pairs of species whose terms depend on the state), "viscosities" (numbers of each species are held),
    "states" (whole states are held at once), "production" (so are rates of reactions), "root" (the equation of state is
    solved).
    instead: ((name, others), ...): where a GPU's matrix units multiply by `name`, the constants `others` are not read.
    double_only: the reason why the kernel is refused in single precision; empty where it is not refused.
    """

    name: str
    header: pathlib.Path
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    constants: tuple[str, ...]
    source: str
    valid: str
    note: str = ""
    when: When = ()
    packs: int = 1
    alone: bool = False
    given: tuple[str, ...] = ()
    double_only: str = ""
    sweeps: str = ""
    instead: tuple[tuple[str, tuple[str, ...]], ...] = ()
    order: tuple[str, ...] = ()

    def for_options(self, options: dict) -> PointKernel:
        """This kernel for these options: its optional reads are kept where some kernel makes them."""
        if len(self.reads) == len(self.order):
            return self
        made = {name for k in kernels.values() if k.serves(options) for name in k.writes}
        reads = tuple(name.rstrip("?") for name in self.order if name[-1] != "?" or name[:-1] in made)
        return dataclasses.replace(self, reads=reads)


@dataclasses.dataclass(frozen=True)
class Collection:
    """A named set of outputs, computed from `given` in one launch. optional: names that are also used where the caller
    gives them. aliases: other names by which hosts launch it, in upper or lower case."""

    name: str
    given: tuple[str, ...]
    outputs: tuple[str, ...]
    what: str = ""
    optional: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Option:
    """A choice between models.

    values: the first is the default. what: one line of description. switch: the compile-time switches; None: one for
    each value, `name_value`; a name: one switch, true where the value is not the default; "": no switch. needs: the
    species fields that a value requires. about: formula and source of each value, in Markdown with $LaTeX$.
    """

    name: str
    values: tuple[str, ...]
    what: str
    switch: str | None = None
    needs: When = ()
    about: When = ()

    def switches(self, value: str) -> dict[str, bool]:
        """{switch: on} for this value."""
        if self.switch is None:
            return {f"{self.name}_{known}": known == value for known in self.values}
        return {self.switch: value != self.values[0]} if self.switch else {}


@dataclasses.dataclass(frozen=True)
class SpeciesNumber:
    """A positive number for each species that may be given to a mixture, with its default."""

    name: str
    default: float
    what: str


@dataclasses.dataclass
class Constants:
    """What a model computes from the species, once for a mixture. Bodies find all of it in their first argument `m`.

    values: name -> vector of doubles (or what NumPy makes one of), read as `m.name[i]`.
    pairs: name -> matrix over pairs, laid out for each backend by codegen: symmetric (ns, ns) for quadratic forms, or
    (terms, ns, ns) with zeros on the diagonal for products with vectors.
    tables: name -> (windows, rows, 4) in single precision, the cubics of each window.
    sizes: name -> int or bool known to the compiler, `M::name`. numbers: name -> double known to the compiler.
    members: C++ text of static members of the struct `M`: functions of one species or of the mixture.
    notes: lines that `python -m frame info` prints.
    """

    values: dict[str, Any] = dataclasses.field(default_factory=dict)
    pairs: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    tables: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    sizes: dict[str, int] = dataclasses.field(default_factory=dict)
    numbers: dict[str, float] = dataclasses.field(default_factory=dict)
    members: str = ""
    notes: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Settable:
    """A constant whose value a host sets at run time: a number, or `count` of them. default: None where the host has to
    set it. range: the smallest and the largest value that it may have, None where all finite ones make sense."""

    name: str
    unit: str
    what: str
    default: tuple[float, ...] | None
    count: int | None
    range: tuple[float, float] | None = None

    @property
    def size(self) -> int:
        return 1 if self.count is None else self.count


@dataclasses.dataclass(frozen=True)
class Provider(Conditional):
    """The function that makes the constants of these names: `make(species, options)` returns Constants."""

    names: tuple[str, ...]
    make: Callable[..., Constants]
    when: When = ()
    at_once: bool = False  # called, and raises, when the mixture is made


RESERVED = ("NS", "NR", "PANEL")  # of the struct in which bodies find constants
quantities: dict[str, Quantity] = {}
options: dict[str, Option] = {}
species_numbers: dict[str, SpeciesNumber] = {}
exclusions: list[tuple[Callable[[dict], bool], str]] = []
fallbacks: list[tuple[str, str, Callable]] = []
facts: dict[str, Callable] = {}
providers: list[Provider] = []
kernels: dict[str, PointKernel] = {}
collections: dict[str, Collection] = {}
settable: dict[str, Settable] = {}
team_kernels: dict[str, Any] = {}  # tensor/team.py declares them
MOST_NUMBERS = 2048  # of one settable constant
_values: dict[str, np.ndarray] = {}  # of settable constants, those that were set
users: weakref.WeakSet = weakref.WeakSet()  # programs that hold values of settable constants
_aliases: dict[str, str] = {}  # alias of a collection, in lower case -> its name
_loaded: set[str] = set()  # names that declaration files of hosts declared
_replaceable: set[str] = set()  # those of them that may be declared again, and otherwise
_folder: contextvars.ContextVar[pathlib.Path] = contextvars.ContextVar(
    "folder of the declarations", default=pathlib.Path(__file__).resolve().parents[1]
)


def header_of(name: str, header) -> pathlib.Path:
    """The path of a kernel's header, which stands relative to the declaration file that is being loaded, else to this
    folder. Raises ArgumentError where there is none."""
    path = (_folder.get() / header).resolve()
    refuse(not path.is_file(), f"kernel '{name}': header {str(path)!r} does not exist.")
    return path


def add_team_kernel(new) -> None:
    """Keep a declared team kernel by its name. Raises ArgumentError for a name that is taken."""
    known = team_kernels.get(new.name, new)
    taken = new.name in kernels or new.name in collections or (known != new and new.name not in _replaceable)
    refuse(taken, f"team kernel '{new.name}': the name is taken.")
    _replaceable.discard(new.name)
    team_kernels[new.name] = new


def _split(names) -> tuple[str, ...]:
    return tuple(names.split()) if isinstance(names, str) else tuple(names)


class Names(list[str]):
    """A list of an option's values that may grow after kernels were declared for it."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # a list has none; records that hold this one need it


def _condition(when) -> When:
    return tuple((key, v if isinstance(v, Names) else _split(v)) for key, v in (when or {}).items())


def quantity(name: str, unit: str, what: str, per: str = "") -> Quantity:
    """Declare a field. Raises ArgumentError where it is already declared with another unit or shape."""
    refuse(per not in PER, f"quantity '{name}': per = {per!r}, wanted one of {tuple(PER)}.")
    new = Quantity(name, unit, what, per)
    known = new if name in _replaceable else quantities.get(name, new)
    refuse(
        (known.unit, known.per) != (unit, per),
        f"quantity '{name}' [{unit}, per {per or 'point'}] is already declared as [{known.unit}, per "
        f"{known.per or 'point'}].",
    )
    _replaceable.discard(name)
    quantities[name] = known
    return known


def option(
    name: str, about: dict[str, str], what: str = "", *, switch: str | None = None, needs: dict | None = None
) -> None:
    """Declare a choice between models, beside the model that reads it.

    about: {value: its formula and source, Markdown with $LaTeX$}, from which the manual's page of options is made; the
    first value is the default. A second declaration adds its values: so a model in another file adds its own. switch:
    see Option. needs = {value: species fields that must be known}: a Mixture raises MixtureError where one is unknown.
    """
    refuse(
        not isinstance(about, dict) or not all(isinstance(text, str) and text for text in about.values()),
        f"option '{name}': {about!r} came, wanted a dictionary: each value with its formula and source.",
    )
    old = options.get(name) or Option(name, (), what, switch)
    texts = dict(old.about) | about
    options[name] = dataclasses.replace(
        old,
        values=tuple(texts),
        about=tuple(texts.items()),
        needs=tuple(dict(old.needs + _condition(needs)).items()),
    )


def exclusion(excluded: Callable[[dict], bool], say: str) -> None:
    """Declare that options with `excluded(options)` true cannot be combined. say: the text of the ArgumentError; it may
    have options in braces: "translation = '{translation}' shifts a cubic's volume"."""
    exclusions.append((excluded, say))


def fallback(name: str, value: str, serves: Callable) -> None:
    """Declare the value of an option that a Mixture takes in place of the default where its caller gives none and
    `serves(options, species)` is true: the species have the data for it and not for the default."""
    fallbacks.append((name, value, serves))


def with_fallbacks(given: dict, species) -> dict:
    """The options that were given, and those that the species make necessary."""
    chosen = checked_options(given)
    found = {name: value for name, value, serves in fallbacks if name not in given and serves(chosen, species)}
    return found | given


def fact(name: str, of: Callable[..., str]) -> None:
    """Declare what a model chooses by the species: of(mixture) -> a word. Rows of the table of launches can ask for it
    as for an option, and schedules too; `python -m frame info` prints it."""
    facts[name] = of


def species_number(name: str, default: float, what: str) -> None:
    """Declare a positive number that a Mixture takes beside its options: one for all species, one for each, or by name.
    The functions that make constants find it in `options` as an array (ns,)."""
    species_numbers[name] = SpeciesNumber(name, default, what)


def species_values(key: str, given, names) -> np.ndarray:
    """Positive numbers (ns,) from `given`: one number for all species, ns numbers, or {species name: number} with the
    default for the others. key: name of the declared number. Raises ArgumentError."""
    if isinstance(given, dict):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ArgumentError(f"{key}: no species {unknown[0]!r} in this mixture{closest(unknown[0], names)}.")
        given = [given.get(name, species_numbers[key].default) for name in names]
    numbers = real_array(key, given)
    try:
        values = np.broadcast_to(numbers, (len(names),))
    except ValueError:
        raise ArgumentError(
            f"{key} = {given!r}; wanted a number, {len(names)} numbers, or numbers by species name."
        ) from None
    refuse(not (np.isfinite(values) & (values > 0)).all(), f"{key} = {given!r}; wanted positive numbers.")
    return values


def constants(names, make: Callable[..., Constants], *, when=None, at_once=False) -> None:
    """Declare the function that makes the constants of these names (one string with blanks, or a list).

    make(species, options) -> Constants is called once for a mixture, when a kernel first reads one of the names;
    options also holds the declared numbers of each species, as arrays (ns,). It may leave out names that kernels mark
    with `?`; it may not make others. It raises MixtureError where the species lack data: the kernel that reads the
    constant is then refused with that text. at_once: it is called, and raises, when the mixture is made.
    when = {option: value or values}: as for kernels. Raises ArgumentError where a name already has a function for the
    same options.
    """
    new = Provider(_split(names), make, _condition(when), at_once)
    for old in list(providers):
        if (old.names, old.make.__module__, old.make.__qualname__) == (new.names, make.__module__, make.__qualname__):
            providers.remove(old)  # the file was loaded again
            continue
        taken = [name for name in new.names if name in old.names]
        apart = any(key in dict(old.when) and not set(values) & set(dict(old.when)[key]) for key, values in new.when)
        if taken and not apart:
            raise ArgumentError(f"constant '{taken[0]}' is already made by {old.make.__module__}.{old.make.__name__}.")
    providers.append(new)


def constant(
    name: str,
    unit: str,
    what: str,
    default=None,
    *,
    count: int | None = None,
    range: tuple[float, float] | None = None,
) -> Settable:
    """Declare a constant whose value the host sets by name, at any time and without a compilation: set_constant, or
    frame_setconstant. A body reads it as `m.name`, or `m.name[i]` where it has `count` values. default: without one, a
    launch before it was set is refused. range: (smallest, largest) value that makes sense. Raises ArgumentError for a
    name that is taken, or values that do not fit."""
    new = Settable(name, unit, what, None, count, _checked_range(name, range))
    taken = name in RESERVED or any(name in known.names for known in providers)
    refuse(
        taken or not name.isidentifier(),
        f"constant '{name}': the name is taken by the mixture's constants, or is no name in C++.",
    )
    refuse(not 1 <= new.size <= MOST_NUMBERS, f"constant '{name}': count = {count}, wanted 1 to {MOST_NUMBERS}.")
    if default is not None:
        new = dataclasses.replace(new, default=tuple(_checked(new, default).tolist()))
    known = settable.get(name, new)
    refuse(known != new and name not in _replaceable, f"constant '{name}' is already declared as {known}.")
    if known != new:
        _values.pop(name, None)
        for program in [program for program in users if name in program.settable]:
            users.discard(program)  # programs of the former one keep its values
    _replaceable.discard(name)
    settable[name] = new
    return new


def _checked_range(name: str, given) -> tuple[float, float] | None:
    if given is None:
        return None
    try:
        low, high = (float(bound) for bound in given)
    except (TypeError, ValueError):
        low = high = np.nan
    refuse(not low <= high, f"constant '{name}': range = {given!r}, wanted (smallest, largest).")
    return low, high


def _checked(known: Settable, value) -> np.ndarray:
    numbers = np.array(real_array(known.name, value, unit=known.unit))
    wanted = "one number" if known.count is None else f"an array of {known.count}"
    came = f"an array of {' x '.join(map(str, numbers.shape))}" if numbers.ndim else "one number"
    refuse(came != wanted, f"constant '{known.name}' [{known.unit}]: {came} came, wanted {wanted}.")
    finite = np.isfinite(numbers).all()
    refuse(not finite, f"constant '{known.name}' [{known.unit}]: {numbers} came, wanted finite numbers.")
    if known.range is not None:
        low, high = known.range
        outside = numbers.reshape(-1)[((numbers < low) | (numbers > high)).reshape(-1)].tolist()
        came = ", ".join(map(repr, outside[:4]))
        refuse(outside, f"constant '{known.name}' [{known.unit}]: {came} came, wanted {low:g} to {high:g}.")
    return numbers.reshape(-1)


def set_constant(name: str, value) -> None:
    """Set a declared constant, in SI. The next launch of every program that reads it has the new value, also of those
    that are bound or recorded. Raises ArgumentError for an unknown name, another number of values, NaN, infinity, or a
    value outside the range that the constant declares."""
    refuse(
        name not in settable,
        f"unknown constant '{name}'{closest(name, settable)}; known: {', '.join(settable) or 'none'}. For one of a "
        "host's own kernels, register the kernels first.",
    )
    numbers = _checked(settable[name], value)
    if not np.array_equal(numbers, value_of(name)):
        _values[name] = numbers
        for program in list(users):
            program.refresh()


def value_of(name: str) -> np.ndarray:
    """The values of a settable constant now; NaN where it has none."""
    known = settable[name]
    return _values.get(name, np.array(known.default or [np.nan] * known.size))


def require_values(names, reader: str) -> None:
    """Raises StateError where one of these settable constants has no value."""
    unset = [name for name in names if name not in _values and settable[name].default is None]
    if unset:
        raise StateError(
            f"'{reader}' reads the constant '{unset[0]}' [{settable[unset[0]].unit}], which was never set and has no "
            f"default: call frame_setconstant('{unset[0]}', ...) first."
        )


def checked_options(given: dict) -> dict[str, str]:
    """{option: value} for all options, with defaults for those not given. ArgumentError names an unknown option or
    value and lists the known ones, or says why values cannot be combined."""
    for key, value in given.items():
        refuse(key not in options, f"unknown model option '{key}'{closest(key, options)}; known: {', '.join(options)}.")
        refuse(
            value not in options[key].values,
            f"option {key} = {value!r}; wanted one of {', '.join(options[key].values)}.",
        )
    chosen = {key: given.get(key, known.values[0]) for key, known in options.items()}
    for excluded, say in exclusions:
        refuse(excluded(chosen), say.format(**chosen))
    return chosen


def point_kernel(
    name,
    *,
    header,
    reads,
    writes,
    constants="",
    source,
    valid,
    note="",
    when=None,
    packs=1,
    alone=False,
    given="",
    double_only="",
    sweeps="",
    instead=None,
) -> PointKernel:
    """Declare a kernel; the arguments are the fields of PointKernel.

    header: a path, relative to the declaration file if one is being loaded, else to this folder. Lists of names may be
    strings with blanks.
    when = {option: value or values} for which the kernel is. Raises ArgumentError for a header that does not exist,
    quantities that are not declared, or a name that is taken.
    """
    new = PointKernel(
        name,
        header_of(name, header),
        tuple(name for name in _split(reads) if not name.endswith("?")),
        _split(writes),
        _split(constants),
        source,
        valid,
        note,
        _condition(when),
        packs,
        alone,
        _split(given),
        double_only,
        sweeps,
        tuple((k, _split(v)) for k, v in (instead or {}).items()),
        _split(reads),
    )
    unknown = [q for q in new.reads + new.writes + new.given if q not in quantities]
    refuse(
        unknown, f"kernel '{name}' uses undeclared quantities {unknown}: declare each with quantity(name, unit, what)."
    )
    refuse(not new.writes, f"kernel '{name}' writes nothing.")
    known = kernels.get(name, new)
    refuse(known != new and name not in _replaceable, f"kernel '{name}' is already declared in {known.header}.")
    _replaceable.discard(name)
    kernels[name] = new
    return new


def collection(name, *, given, outputs, what="", optional="", aliases=()) -> None:
    """Declare a collection; the arguments are the fields of Collection, lists of names may be strings with blanks.
    Raises ArgumentError for quantities that are not declared, or a name that is taken."""
    new = Collection(name, _split(given), _split(outputs), what, _split(optional), _split(aliases))
    unknown = [q for q in new.given + new.outputs + new.optional if q not in quantities]
    refuse(unknown, f"collection '{name}' uses undeclared quantities {unknown}.")
    taken = name in kernels or collections.get(name, new) != new and name not in _replaceable
    refuse(taken, f"collection '{name}': the name is taken.")
    for alias in (a.lower() for a in new.aliases):
        refuse(
            alias in kernels or alias in collections or _aliases.setdefault(alias, name) != name,
            f"collection '{name}': its other name '{alias}' is taken.",
        )
    _replaceable.discard(name)
    collections[name] = new


def name_of(tag: str) -> str:
    """The collection with this alias, or the tag itself where it is no alias."""
    return _aliases.get(tag.lower(), tag)


def load_declarations(path) -> list[str]:
    """Run a host's declaration file; returns the names of the kernels and collections it added. Raises ArgumentError
    where there is no such file, or it fails."""
    refuse(not os.path.isfile(path), f"no kernel declaration file {os.path.abspath(path)!r}.")
    path = pathlib.Path(path).resolve()
    before, all_before = {*kernels, *collections, *team_kernels}, _names()
    spec = importlib.util.spec_from_file_location(f"declared_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ArgumentError(f"kernel declaration file {str(path)!r}: wanted a Python file, with the ending .py.")
    module = importlib.util.module_from_spec(spec)
    before_folder = _folder.set(path.parent)
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        _replaceable.update(_names() - all_before)  # the file may be mended and loaded again
        if isinstance(error, ArgumentError) or not isinstance(error, Exception):
            raise
        raise ArgumentError(f"kernel declaration file {str(path)!r} failed: {type(error).__name__}: {error}") from error
    finally:
        _loaded.update(_names() - all_before)
        _folder.reset(before_folder)
    return sorted({*kernels, *collections, *team_kernels} - before)


def _names() -> set[str]:
    return {*kernels, *collections, *quantities, *settable, *team_kernels}


def allow_again() -> None:
    """What declaration files declared may be declared again from now on, and otherwise. Until then it stays."""
    _replaceable.update(_loaded)


def resolve(outputs, given, options) -> list[PointKernel]:
    """The kernels that lead from `given` to `outputs`, in an order in which the inputs of each are known.

    Several kernels may write a name. Chosen is the first declared that is for these options and whose inputs can be
    computed; kernels with `given` names are tried before the others, those with the most first. A kernel that updates a
    name in place is chosen only where this name is both given and among the outputs: other inputs are never changed. If
    all its reads are given, it runs first, and the other kernels read the updated values.
    Raises ArgumentError, which names the missing quantities.
    """
    makers: dict[str, list[PointKernel]] = {}
    order: list[PointKernel] = []
    for kernel in sorted((k.for_options(options) for k in kernels.values()), key=lambda k: -len(k.given)):
        updates = set(kernel.reads) & set(kernel.writes)
        if (
            kernel.serves(options)
            and updates <= set(given) & set(outputs)
            and (not kernel.given or set(kernel.given) <= set(given) and not set(kernel.writes) & set(given))
        ):
            for name in kernel.writes:
                makers.setdefault(name, []).append(kernel)
            if updates and set(kernel.reads) <= set(given):
                order.append(kernel)
    have = set(given).union(*(kernel.writes for kernel in order))
    missing: set[str] = set()  # quantities that no kernel can compute, for the message

    def make(name, underway) -> bool:
        if name in have:
            return True
        able = [k for k in makers.get(name, ()) if k not in underway]
        for kernel in able:
            mark, known = len(order), set(have)
            found = [make(read, underway | {kernel}) for read in kernel.reads]  # no early exit: the message names all
            if all(found):
                if kernel not in order:
                    order.append(kernel)
                    have.update(kernel.writes)
                return True
            del order[mark:]
            have.clear()
            have.update(known)
        if name not in makers or not able and name in ("X", "Y"):  # X and Y are made from each other
            missing.add(name)
        return False

    refuse_unknown_quantity([*outputs, *given])
    for name in outputs:
        missing.clear()
        if not make(name, frozenset()):
            if missing & {"X", "Y"}:
                missing = missing - {"X", "Y"} | {"Y (or X)"}
            missing = {with_unit(lack) + _instead(lack, options) + _other_options(lack, options) for lack in missing}
            came = ", ".join(given) or "nothing"
            if not missing:
                raise ArgumentError(f"'{name}' cannot be computed from {came} together{_ways(given, options)}.")
            raise ArgumentError(f"'{name}' cannot be computed from {came}: missing {', '.join(sorted(missing))}.")
    return order


LISTED = "; `python -m frame names` lists all"


def with_unit(name) -> str:
    """A quantity's name with its unit, as "T [K]", for messages."""
    known = quantities.get(name)
    return f"{name} [{known.unit}]" if known and known.unit != "1" else name


def refuse_unknown_quantity(names) -> None:
    """Raise ArgumentError for the first name that is no quantity, with those that are most like it, or whose
    description begins with that word."""
    for name in [name for name in names if name not in quantities]:
        word = str(name).lower().replace("_", " ")
        described = [q.name for q in quantities.values() if q.what.lower().startswith(word)][:3]
        meant = f", did you mean {' or '.join(map(repr, described))}" if described and len(word) > 3 else ""
        raise ArgumentError(f"unknown quantity '{name}'{meant or closest(name, quantities) or LISTED}.")


def refuse_unknown_kernel(names) -> None:
    """Raise ArgumentError for the first name that is no kernel, with those that are most like it."""
    for name in [name for name in names if name not in kernels]:
        raise ArgumentError(f"unknown kernel '{name}'{closest(name, kernels) or LISTED}.")


def _instead(name, options) -> str:
    """Text for the message: the names that may be given in the place of `name`, one shortest set for each inversion."""
    sets = {k.given for k in kernels.values() if k.given and name in k.writes and k.serves(options)}
    ways = sorted(" and ".join(way) for way in sets if not any(set(other) < set(way) for other in sets))
    return f" (or {', or '.join(ways)})" if ways else ""


def _ways(given, options) -> str:
    """Text for the message where nothing is missing, but no kernel takes the combination: what T and p, where they were
    not given, can be computed from."""
    plain = _of_temperature(options)
    text = ""
    for name in (name for name in ("T", "p") if name not in given):
        ways = set()
        for kernel in kernels.values():
            if kernel.given and name in kernel.writes and kernel.serves(options):
                reads = kernel.for_options(options).reads
                state = [read for read in reads if read in kernel.given or read in ("T", "p") or read not in plain]
                ways.add(" and ".join(state))

        starts = "T_start"  # no way of its own: where an iteration starts
        ways = {way for way in ways if starts not in way}
        text += f"; with Y, {name} is computed from {', or from '.join(sorted(ways))}" if ways else ""
    return text


def _of_temperature(options) -> set[str]:
    """The quantities that follow from T and a composition alone."""
    found, before = {"T", "X", "Y"}, 0
    while len(found) > before:
        before = len(found)
        for kernel in kernels.values():
            if kernel.serves(options) and set(kernel.for_options(options).reads) <= found:
                found.update(kernel.writes)
    return found


def _other_options(name, options) -> str:
    """Text for the message: the options for which no kernel makes `name`, where kernels for others do."""
    makers = [k for k in kernels.values() if name in k.writes]
    if not makers or any(k.serves(options) for k in makers):
        return ""
    wrong = {
        f"{key} = '{options.get(key)}'" for k in makers for key, values in k.when if options.get(key) not in values
    }
    return f" (not there for {', '.join(sorted(wrong))})"


def described(kernel: PointKernel) -> str:
    """One line for tables: the kernel's name, the quantities it writes and reads, and its source."""
    what = "; ".join(f"{w} [{quantities[w].unit}] {quantities[w].what}" for w in kernel.writes)
    return f"{kernel.name}: {what}; from {' '.join(kernel.reads)}; {kernel.source}"
