"""Declarations: quantities, point kernels, options, constants, collections; how kernels join by the names they read and
write.

A declaration says everything about a kernel except its formula, which stands once, as a C++ function template
over the number type, in the header named here. Emitter, views, tests, timers and tables read these records.
"""

from __future__ import annotations

import contextvars
import dataclasses
import importlib.util
import pathlib
from collections.abc import Callable

import numpy as np

from .errors import ArgumentError

PER = {
    "": lambda ns: 1,
    "ns": lambda ns: ns,
    "ns*ns": lambda ns: ns * ns,
    "nq": lambda ns: ns + 4,
    "nq*nq": lambda ns: (ns + 4) ** 2,
}


@dataclasses.dataclass(frozen=True)
class Quantity:
    """A named field: one value a point, or `ns`, `ns*ns`, `nq` or `nq*nq` values a point with nq = ns + 4 variables of
    a flow solver."""

    name: str
    unit: str
    what: str
    per: str = ""

    def rows(self, ns: int) -> int:
        return PER[self.per](ns)


@dataclasses.dataclass(frozen=True)
class PointKernel:
    """One quantity, or the few that fall out of one sweep over the species, at one point.

    reads, writes: quantity names in the order of the C++ arguments; a name in both is updated in place.
    order: the reads with those marked `?` that are only read where some kernel for the same options makes them; else
    the body gets an Absent in their place.
    constants: names of the mixture constants that the body uses as members of its first argument.
    packs: on the CPU a value is so many, 1, 2 or 4, what was measured to be fastest; 4 are 2 in sweeps over more than
    10 species, and so is whatever looks up a table in single precision.
    alone: on the CPU it is a loop over points of its own: so long that the processor does not look beyond it.
    given: names that must be given, not computed, for it to be taken, while what it writes is not: what an inversion
    starts from. Without this T would follow from h and h from T.
    sweeps: what it asks of a GPU's registers beyond one value at a time, which decides how a launch is organised:
    "pairs" (sums over pairs of species whose terms depend on the state), "viscosities" (numbers of each species are
    held), "states" (whole states are alive at once), "root" (the equation of state is solved).
    instead: ((name, others), ...): where a GPU's matrix units multiply by `name`, the constants `others` are not read.
    double_only: why it is refused where the arithmetic is single precision; empty where it is not.
    """

    name: str
    header: pathlib.Path
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    constants: tuple[str, ...]
    source: str
    valid: str
    note: str = ""
    when: tuple[tuple[str, tuple[str, ...]], ...] = ()
    packs: int = 1
    alone: bool = False
    given: tuple[str, ...] = ()
    double_only: str = ""
    sweeps: str = ""
    instead: tuple[tuple[str, tuple[str, ...]], ...] = ()
    order: tuple[str, ...] = ()

    def serves(self, options: dict) -> bool:
        """Whether this kernel is the one for these model options (`when` lists the values it is for)."""
        return all(options.get(key) in values for key, values in self.when)

    def for_options(self, options: dict) -> PointKernel:
        """This kernel as these options have it: with those of its optional reads that are made."""
        if len(self.reads) == len(self.order):
            return self
        made = {name for k in kernels.values() if k.serves(options) for name in k.writes}
        reads = tuple(name.rstrip("?") for name in self.order if name[-1] != "?" or name[:-1] in made)
        return dataclasses.replace(self, reads=reads)


@dataclasses.dataclass(frozen=True)
class Collection:
    """A named set of outputs, computed from `given` in one launch. optional: names used as well where the caller has
    them. aliases: other names that hosts launch it by, in any case."""

    name: str
    given: tuple[str, ...]
    outputs: tuple[str, ...]
    what: str = ""
    optional: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Option:
    """A choice between models. values: the first is the default. what: one line for people. switch: of the compiled
    code; None: one for each value, `name_value`; a name: one, true where the value is not the default; "": none.
    needs: species fields that a value cannot do without."""

    name: str
    values: tuple[str, ...]
    what: str
    switch: str | None = None
    needs: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def switches(self, value: str) -> dict[str, bool]:
        if self.switch is None:
            return {f"{self.name}_{known}": known == value for known in self.values}
        return {self.switch: value != self.values[0]} if self.switch else {}


@dataclasses.dataclass(frozen=True)
class SpeciesNumber:
    """A positive number of each species that a mixture may be given, with its default."""

    name: str
    default: float
    what: str


@dataclasses.dataclass
class Constants:
    """What a model makes of the species, once for a mixture. Bodies find all of it in their first argument `m`.

    values: name -> vector of doubles (or what becomes one), `m.name[i]`.
    pairs: name -> matrix over pairs, laid out for each backend by codegen: symmetric (ns, ns) for quadratic forms, or
    (terms, ns, ns) with zeros on the diagonal, which is multiplied by vectors.
    tables: name -> (windows, rows, 4) in single precision, cubics of each window.
    sizes: name -> int or bool known to the compiler, `M::name`. numbers: name -> double known to the compiler.
    members: C++ text, static members of the struct behind `M`: functions of one species or of the mixture.
    notes: lines for people, in `python -m frame info`.
    """

    values: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    pairs: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    tables: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    sizes: dict[str, int] = dataclasses.field(default_factory=dict)
    numbers: dict[str, float] = dataclasses.field(default_factory=dict)
    members: str = ""
    notes: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Provider:
    """Who makes the constants of these names: `make(species, options)` returns Constants."""

    names: tuple[str, ...]
    make: Callable[..., Constants]
    when: tuple[tuple[str, tuple[str, ...]], ...] = ()

    serves = PointKernel.serves


quantities: dict[str, Quantity] = {}
options: dict[str, Option] = {}
species_numbers: dict[str, SpeciesNumber] = {}
exclusions: list[tuple[Callable[[dict], bool], str]] = []
providers: list[Provider] = []
kernels: dict[str, PointKernel] = {}
collections: dict[str, Collection] = {}
_aliases: dict[str, str] = {}  # other name of a collection, in lower case -> its name
_folder: contextvars.ContextVar[pathlib.Path | None] = contextvars.ContextVar(
    "folder of the declarations", default=None
)


def _split(names) -> tuple[str, ...]:
    return tuple(names.split()) if isinstance(names, str) else tuple(names)


class Names(list):
    """Values of an option that kernels are for, those added later too."""

    __hash__ = object.__hash__


def _condition(when) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((key, v if isinstance(v, Names) else _split(v)) for key, v in (when or {}).items())


def quantity(name: str, unit: str, what: str, per: str = "") -> Quantity:
    """Declare a field. Declaring it again with another unit or shape is an error."""
    new = Quantity(name, unit, what, per)
    old = quantities.get(name)
    if per not in PER:
        raise ArgumentError(f"quantity '{name}': per = {per!r}, wanted one of {tuple(PER)}.")
    if old is not None and (old.unit, old.per) != (unit, per):
        raise ArgumentError(
            f"quantity '{name}' [{unit}, per {per or 'point'}] is already declared as [{old.unit}, per "
            f"{old.per or 'point'}]."
        )
    return quantities.setdefault(name, new)


def option(name: str, values, what: str = "", *, switch: str | None = None, needs: dict | None = None) -> Option:
    """Declare a choice between models, beside the model that reads it.

    values: names with blanks, or a list; the first is the default. Declared again, it has these values, too: a model
    in a file of its own adds its own value. switch: see Option. needs = {value: species fields that must be known}:
    a Mixture of other species raises MixtureError.
    """
    old = options.get(name) or Option(name, (), what, switch)
    values = tuple(dict.fromkeys(old.values + _split(values)))
    options[name] = dataclasses.replace(old, values=values, needs=tuple(dict(old.needs + _condition(needs)).items()))
    return options[name]


def exclusion(excluded: Callable[[dict], bool], say: str) -> None:
    """Declare that values of options do not go together: where `excluded(options)` is true. `say` is the error's text
    and may name options in braces: "translation = '{translation}' shifts a cubic's volume"."""
    exclusions.append((excluded, say))


def species_number(name: str, default: float, what: str) -> SpeciesNumber:
    """Declare a positive number that a Mixture takes beside its options: one for all species, one for each, or by
    name. A provider of constants finds it in `options` as an array (ns,)."""
    species_numbers[name] = SpeciesNumber(name, default, what)
    return species_numbers[name]


def constants(names, make: Callable[..., Constants], *, when=None) -> Provider:
    """Declare who makes the constants that kernels ask for by these names (one string with blanks, or a list).

    make(species, options) -> Constants is called once for a mixture, when a kernel asks for one of the names; options
    also holds the declared numbers, as arrays. It may make fewer than its names (kernels mark those with `?`), never
    others. It raises MixtureError where the species lack data: the kernel that asked is then refused with that text.
    when = {option: value or values}: as for kernels. Raises ArgumentError where another provider of a name serves the
    same options.
    """
    new = Provider(_split(names), make, _condition(when))
    for old in list(providers):
        if (old.names, old.make.__module__, old.make.__qualname__) == (new.names, make.__module__, make.__qualname__):
            providers.remove(old)  # the file was loaded again
            continue
        taken = [name for name in new.names if name in old.names]
        apart = any(key in dict(old.when) and not set(values) & set(dict(old.when)[key]) for key, values in new.when)
        if taken and not apart:
            raise ArgumentError(f"constant '{taken[0]}' is already made by {old.make.__module__}.{old.make.__name__}.")
    providers.append(new)
    return new


def checked_options(given: dict) -> dict[str, str]:
    """All options with their values; ArgumentError names an unknown option or value and lists the known ones."""
    for key, value in given.items():
        if key not in options:
            raise ArgumentError(f"unknown model option '{key}'; known: {', '.join(options)}.")
        if value not in options[key].values:
            raise ArgumentError(f"option {key} = {value!r}; wanted one of {', '.join(options[key].values)}.")
    chosen = {key: given.get(key, known.values[0]) for key, known in options.items()}
    for excluded, say in exclusions:
        if excluded(chosen):
            raise ArgumentError(say.format(**chosen))
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
    """Declare a kernel. `header`: a path; relative to the folder of the declaration file that is being loaded, if one
    is. `when` = {option: value or values} it is for."""
    path = ((_folder.get() or pathlib.Path()) / header).resolve()
    if not path.is_file():
        raise ArgumentError(f"kernel '{name}': header {str(path)!r} does not exist.")
    new = PointKernel(
        name,
        path,
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
    if unknown:
        raise ArgumentError(
            f"kernel '{name}' uses undeclared quantities {unknown}: declare each with quantity(name, unit, what)."
        )
    if not new.writes:
        raise ArgumentError(f"kernel '{name}' writes nothing.")
    old = kernels.get(name)
    if old is not None and old != new:
        raise ArgumentError(f"kernel '{name}' is already declared in {old.header}.")
    kernels[name] = new
    return new


def collection(name, *, given, outputs, what="", optional="", aliases=()) -> Collection:
    """Declare a collection: the outputs wanted and the names that are given."""
    new = Collection(name, _split(given), _split(outputs), what, _split(optional), _split(aliases))
    unknown = [q for q in new.given + new.outputs + new.optional if q not in quantities]
    if unknown:
        raise ArgumentError(f"collection '{name}' uses undeclared quantities {unknown}.")
    if name in kernels or collections.get(name, new) != new:
        raise ArgumentError(f"collection '{name}': the name is taken.")
    for alias in (a.lower() for a in new.aliases):
        if alias in kernels or alias in collections or _aliases.setdefault(alias, name) != name:
            raise ArgumentError(f"collection '{name}': its other name '{alias}' is taken.")
    collections[name] = new
    return new


def name_of(tag: str) -> str:
    """The name behind what a host calls: a collection's by any of its aliases, else the tag itself."""
    return _aliases.get(tag.lower(), tag)


def load_declarations(path) -> list[str]:
    """Run a declaration file of the host's own; returns the names of the kernels and collections it added."""
    path = pathlib.Path(path).resolve()
    if not path.is_file():
        raise ArgumentError(f"no kernel declaration file {str(path)!r}.")
    before = set(kernels) | set(collections)
    spec = importlib.util.spec_from_file_location(f"declared_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    before_folder = _folder.set(path.parent)
    try:
        spec.loader.exec_module(module)
    except ArgumentError:
        raise
    except Exception as error:
        raise ArgumentError(f"kernel declaration file {str(path)!r} failed: {type(error).__name__}: {error}") from error
    finally:
        _folder.reset(before_folder)
    return sorted((set(kernels) | set(collections)) - before)


def resolve(outputs, given, options) -> list[PointKernel]:
    """The kernels that lead from `given` to `outputs`, in an order in which each finds its inputs.

    A name may have several makers; the first declared that serves the options and whose inputs can be had is taken,
    those that ask for given names before the others, the most demanding first. A kernel that updates a name in place is
    taken only where that name is both given and wanted: what was not asked for stays as it came. With all it reads
    given it comes first: others read what it has updated.
    Raises ArgumentError that names what is missing.
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
    missing: set[str] = set()  # what no kernel makes: for the message

    def make(name, underway) -> bool:
        if name in have:
            return True
        able = [k for k in makers.get(name, ()) if k not in underway]
        for kernel in able:
            mark, known = len(order), set(have)
            found = [make(read, underway | {kernel}) for read in kernel.reads]  # all are tried: each may be missing
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

    for name in outputs:
        if name not in quantities:
            raise ArgumentError(f"unknown quantity '{name}'; known: {', '.join(sorted(quantities))}.")
        missing.clear()
        if not make(name, frozenset()):
            if missing & {"X", "Y"}:
                missing = missing - {"X", "Y"} | {"Y (or X)"}
            missing = {lack + _instead(lack, options) for lack in missing}
            raise ArgumentError(
                f"'{name}' cannot be computed from {', '.join(given)}: missing {', '.join(sorted(missing))}."
            )
    return order


def _instead(name, options) -> str:
    """What may be given in place of a name: the fewest names of each kernel that inverts."""
    ways = {k.given for k in kernels.values() if k.given and name in k.writes and k.serves(options)}
    ways = sorted(" and ".join(way) for way in ways if not any(set(other) < set(way) for other in ways))
    return f" (or {', or '.join(ways)})" if ways else ""


def described(kernel: PointKernel) -> str:
    """One line for tables: name, what it makes, from what, by which source."""
    what = "; ".join(f"{w} [{quantities[w].unit}] {quantities[w].what}" for w in kernel.writes)
    return f"{kernel.name}: {what}; from {' '.join(kernel.reads)}; {kernel.source}"
