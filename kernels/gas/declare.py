"""The words by which models and hosts declare: quantity, point_kernel, collection, option, constants, constant, ...

Each checks what came, makes a record (records.py) and adds it to the registry (registry.py).
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

from ..engine.constants import Settable
from ..engine.cpp_names import refuse_others
from ..engine.errors import closest, refuse
from ..engine.registry import declared, split
from .records import (
    ANY,
    PER,
    PHASES,
    SINGLE,
    Collection,
    Constants,
    Exclusion,
    Fallback,
    Names,
    Option,
    PointKernel,
    Preset,
    Provider,
    Quantity,
    Report,
    Running,
    SpeciesNumber,
    When,
)
from .registry import RESERVED, registry

HERE = pathlib.Path(__file__).resolve().parent  # of the project's own headers


def _condition(when) -> When:
    """{option: values} as pairs; a list that may grow stays the list."""
    given = (when or {}).items()
    return tuple((key, values if isinstance(values, Names) else split(values)) for key, values in given)


# ---- quantities and kernels


def quantity(
    name: str, unit: str, what: str, per: str = "", *, carried: bool = False, reports: tuple[Report, ...] = ()
) -> Quantity:
    """Declare a field. per: "" (one value at each point), or the number of values at each point: "ns", "ns-1",
    "ns*ns", "nq", "nq*nq", "nr", "nz" or "nz*nz"; nq = ns + 4 is the number of variables of a flow solver, nr the
    number of reactions, nz = ns + 1 the number of unknowns of a reactor. carried, reports: see Quantity. Raises
    ArgumentError if the name has another unit or shape."""
    refuse_others("quantity", name)
    refuse(per not in PER, f"quantity '{name}': per = {per!r}, wanted one of {tuple(PER)}.")
    return registry.add_quantity(Quantity(name, unit, what, per, carried, reports))


def point_kernel(
    name: str,
    *,
    header: str | os.PathLike[str],
    reads: str | Sequence[str],
    writes: str | Sequence[str],
    constants: str | Sequence[str] = "",
    source: str,
    valid: str,
    note: str = "",
    when: dict | None = None,
    given: str | Sequence[str] = "",
    phases: str = "",
    **running: Any,
) -> PointKernel:
    """Declare a kernel; the arguments are the fields of PointKernel. running: the fields of Running, such as packs = 4.

    header: a path, relative to the declaration file if one is being loaded, else to the package `kernels`. Lists of
    names may be strings with blanks.
    when = {option: value or values} for which the kernel is. phases: left out, a kernel of the project is for one
    phase, and a kernel of a host's own for any mixture. Raises ArgumentError for a header that does not exist,
    quantities that are not declared, a name that is taken, or an unknown argument.
    """
    refuse_others("kernel", name)
    reads, path = split(reads), declared.header_of(name, header)
    refuse(phases and phases not in PHASES, f"kernel '{name}': phases = {phases!r}, wanted one of {PHASES}.")
    new = PointKernel(
        name=name,
        header=path,
        reads=tuple(read for read in reads if not read.endswith("?")),
        writes=split(writes),
        constants=split(constants),
        source=source,
        valid=valid,
        note=note,
        when=_condition(when),
        given=split(given),
        phases=phases or (SINGLE if path.is_relative_to(HERE) else ANY),
        running=_running(name, **running),
        order=reads,
        among=registry.kernels,
    )

    registry.add_kernel(new)
    return new


def _running(name: str, *, instead: dict | None = None, spare: str | Sequence[str] = "", **fields: Any) -> Running:
    """How the kernel of this name is run. Raises ArgumentError for a field that Running does not have."""
    known = [field.name for field in dataclasses.fields(Running)]
    for field in fields:
        like = closest(field, known)
        refuse(field not in known, f"kernel '{name}': unknown argument '{field}'{like}; wanted {', '.join(known)}.")

    others = {multiplied: split(constants) for multiplied, constants in (instead or {}).items()}
    return Running(instead=others, spare=split(spare), **fields)


def collection(name, *, given, outputs, what="", optional="", aliases=()) -> None:
    """Declare a collection; the arguments are the fields of Collection, lists of names may be strings with blanks.
    Raises ArgumentError for quantities that are not declared, or a name that is taken."""
    new = Collection(name, split(given), split(outputs), what, split(optional), split(aliases))
    registry.add_collection(new)


# ---- options of a mixture


def option(
    name: str,
    about: dict[str, str],
    what: str = "",
    *,
    switch: str | None = None,
    needs: dict | None = None,
    renamed: dict[str, str] | None = None,
    in_check_mode: str = "",
    by_environment: Callable[[], str] | None = None,
    yields_to: str = "",
) -> None:
    """Declare a choice between models, beside the model that reads it.

    about: {value: its formula and source, Markdown with $LaTeX$}, from which the manual's page of options is made; the
    first value is the default. A second declaration adds its values: so a model in another file adds its own. switch:
    see Option. needs = {value: species fields that must be known}: a Mixture raises MixtureError where one is unknown.
    renamed = {a value's name of an earlier release: its name now}, for the error. in_check_mode: the value that check
    mode takes. by_environment, yields_to: of an option whose values are presets, see Option.
    """
    refuse(
        not isinstance(about, dict) or not all(isinstance(text, str) and text for text in about.values()),
        f"option '{name}': {about!r} came, wanted a dictionary: each value with its formula and source.",
    )

    old = registry.options.get(name) or Option(name, (), what, switch)
    texts = dict(old.about) | about

    registry.options[name] = dataclasses.replace(
        old,
        values=tuple(texts),
        about=tuple(texts.items()),
        needs=tuple(dict(old.needs + _condition(needs)).items()),
        renamed=old.renamed | (renamed or {}),
        in_check_mode=in_check_mode or old.in_check_mode,
        by_environment=by_environment or old.by_environment,
        yields_to=split(yields_to) or old.yields_to,
    )


def exclusion(excluded: Callable[[dict], bool], say: str) -> None:
    """Declare that options with `excluded(options)` true cannot be combined. say: the text of the ArgumentError; it may
    have options in braces: "translation = '{translation}' shifts a cubic's volume"."""
    registry.exclusions[say] = Exclusion(excluded, say)


def fallback(name: str, value: str, serves: Callable) -> None:
    """Declare the value of an option that a Mixture takes in place of the default if its caller gives none and
    `serves(options, species)` is true: the species have the data for it and not for the default."""
    registry.fallbacks[name, value] = Fallback(name, value, serves)


def preset(name: str, value: str, choose: Callable[[dict, Any], tuple[dict, str]]) -> None:
    """Declare that `value` of option `name` stands for other options. See Preset. An option that is given beside it
    with another value is an ArgumentError, unless `value` is the default: then what is given counts."""
    registry.presets[name, value] = Preset(name, value, choose)


def fact(name: str, of: Callable[..., str]) -> None:
    """Declare what a model chooses by the species: of(mixture) -> a word. Rows of the table of launches can ask for it
    as for an option, bodies for crews too; `python -m frame info` prints it."""
    registry.facts[name] = of


def species_number(name: str, default: float, what: str) -> None:
    """Declare a positive number that a Mixture takes beside its options: one for all species, one for each, or by name.
    The functions that make constants find it in `options` as an array (ns,)."""
    registry.species_numbers[name] = SpeciesNumber(name, default, what)


# ---- constants


def constants(names, make: Callable[..., Constants], *, when=None, at_once=False) -> None:
    """Declare the function that makes the constants of these names (one string with blanks, or a list).

    make(species, options) -> Constants is called once for a mixture, when a kernel first reads one of the names;
    options also holds the declared numbers of each species, as arrays (ns,). It may leave out names that kernels mark
    with `?`; it may not make others. It raises MixtureError where the species lack data: the kernel that reads the
    constant is then refused with that text. at_once: it is called, and raises, when the mixture is made.
    when = {option: value or values}: as for kernels. Raises ArgumentError where a name already has a function for the
    same options.
    """
    registry.add_provider(Provider(split(names), make, _condition(when), at_once))


def constant(
    name: str,
    unit: str,
    what: str,
    default=None,
    *,
    count: int | None = None,
    range: tuple[float, float] | None = None,
    other_units: dict[str, float] | None = None,
) -> Settable:
    """Declare a constant whose value the host sets by name, at any time and without a compilation: set_constant, or
    frame_setconstant. A body reads it as `m.name`, or `m.name[i]` where it has `count` values. default: without one, a
    launch before it was set is refused. range: (smallest, largest) value that makes sense.
    other_units: {unit: factor from `unit` to it}, which the message about a value out of range names. Raises
    ArgumentError for a name that is taken, or values that do not fit."""
    taken = name in RESERVED or any(name in known.names for known in registry.providers.values())
    refuse(taken, f"constant '{name}': the name is taken by the mixture's constants.")
    return declared.constants.declare(name, unit, what, default, count, range, other_units)
