"""Records of declarations of the gas: quantities, kernels, collections, options, constants of models.

A declaration says everything about a kernel except its formula. The formula stands once, in the header named in the
declaration, as a C++ function template over the number type. Code generation, views, tests, timers and tables read
these records. They are made by the functions in declare.py and kept by registry.py.
"""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

# Values at each point, by the word `per` of a quantity, for ns species and nr reactions
PER: dict[str, Callable[[int, int], int]] = {
    "": lambda ns, nr: 1,
    "ns": lambda ns, nr: ns,
    "ns-1": lambda ns, nr: max(ns - 1, 1),  # of a single species there is a number, which nobody reads
    "ns*ns": lambda ns, nr: ns * ns,
    "nq": lambda ns, nr: ns + 4,  # variables of a flow solver
    "nq*nq": lambda ns, nr: (ns + 4) ** 2,
    "nr": lambda ns, nr: nr,
    "nz": lambda ns, nr: ns + 1,  # unknowns of a reactor
    "nz*nz": lambda ns, nr: (ns + 1) ** 2,
}


@dataclasses.dataclass(frozen=True)
class Report:
    """A value of a status that is reported: in Python by a warning, in check mode by point."""

    value: int
    what: str  # words for messages
    fails: bool = True  # the point has no result: check mode raises. Otherwise it warns


@dataclasses.dataclass(frozen=True)
class Quantity:
    """A named field."""

    name: str
    unit: str
    what: str
    per: str = ""  # values at each point: a key of PER; "" is one value
    carried: bool = False  # a start that a caller keeps between calls: asked for and given, it is updated
    reports: tuple[Report, ...] = ()  # of a status; computed and read even where nobody asks for it

    def rows(self, ns: int, nr: int = 0) -> int:
        """Number of values at each point for ns species and nr reactions."""
        return PER[self.per](ns, nr)


When = tuple[tuple[str, Sequence[str]], ...]  # ((option, the values it may have), ...)


class Conditional:
    """A declaration for some model options only: those whose values `when` lists."""

    when: When

    def serves(self, options: dict) -> bool:
        """Whether the declaration is for these model options."""
        return all(options.get(key) in values for key, values in self.when)


SINGLE, EQUILIBRIUM, ANY = PHASES = ("single", "equilibrium", "any")  # of PointKernel.phases


@dataclasses.dataclass(frozen=True)
class Running:
    """How the body of a kernel is run. No result depends on that, but for the precision that it refuses."""

    # On a CPU: how many packs form one value: 1, 2 or 4, whichever was measured to be fastest. 4 become 2 in sweeps
    # over more than 10 species, and a kernel that looks up a table in single precision has 2.
    packs: int = 1
    # On a CPU: whether the kernel has a loop over points for itself. Its body is then so long that the processor cannot
    # overlap points.
    alone: bool = False
    # On a CPU: a body NAME_short serves points that need little. It works on so many packs at a time, and returns
    # whether it has served all of them; else the body NAME computes them. 0: there is none.
    short: int = 0

    # Values that it holds in a GPU's registers, beyond one at a time; a key of the table of launches. "pairs":
    # sums over pairs of species whose terms depend on the state. "viscosities": numbers of each species. "states":
    # whole states. "production": rates of reactions beside states. "root": the equation of state is solved.
    # Empty: the kernel costs what its formula costs.
    sweeps: str = ""

    # The input by which points are sorted into kinds of similar work. The header has KINDS_OF_<NAME>, their number, and
    # kind_of_<name>(x). Points of one kind are computed side by side.
    kinds: str = ""

    double_only: str = ""  # why it is refused in single precision; empty: it is not

    # {name: others}: where a GPU's matrix units multiply by `name`, the constants `others` are not read.
    instead: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict, hash=False)

    # Scalars that it writes and can leave out: where nothing reads them the body gets an Absent, and does less.
    spare: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class PointKernel(Conditional):
    """A formula at one point: a quantity, or several that the same sweep over the species gives.

    reads and writes are names in the order of the C++ arguments. A name in both is updated in place.
    """

    name: str
    header: pathlib.Path
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    constants: tuple[str, ...]  # of the mixture, members of the body's first argument
    source: str
    valid: str
    note: str = ""
    when: When = ()

    # Names that must be given, not computed, for this kernel to be chosen; its results must not be given. These are the
    # inputs of an inversion. Without this rule T would follow from h, and h from T.
    given: tuple[str, ...] = ()

    # Option `phases` of the mixtures that the kernel serves. "single": its formula is that of one phase. "any": it
    # holds for two phases in equilibrium, too. So no mixture in equilibrium gets a value of one phase unawares.
    phases: str = SINGLE

    running: Running = Running()

    # All reads. A name marked `?` is read only if some kernel for the same options makes it; otherwise the body gets an
    # Absent in its place.
    order: tuple[str, ...] = ()

    # {name: kernel} of the registry, in which the makers of optional reads are looked up
    among: Mapping[str, PointKernel] = dataclasses.field(default_factory=dict, compare=False, repr=False)

    def serves(self, options: dict) -> bool:
        """Whether the kernel is for these model options."""
        return self.phases in (ANY, options.get("phases", SINGLE)) and super().serves(options)

    def for_options(self, options: dict) -> PointKernel:
        """This kernel for these options: an optional read is kept if some kernel makes it."""
        return self.reading(made_by(kernel for kernel in self.among.values() if kernel.serves(options)))

    def reading(self, made: set[str]) -> PointKernel:
        """This kernel where other kernels make the quantities `made`: of its optional reads these are kept."""
        if len(self.reads) == len(self.order):
            return self

        reads = tuple(name.rstrip("?") for name in self.order if name[-1] != "?" or name[:-1] in made)
        return dataclasses.replace(self, reads=reads)


def made_by(kernels: Iterable[PointKernel]) -> set[str]:
    """All quantities that some of the kernels write."""
    return {name for kernel in kernels for name in kernel.writes}


@dataclasses.dataclass(frozen=True)
class Collection:
    """A named set of outputs, computed in one launch."""

    name: str
    given: tuple[str, ...]
    outputs: tuple[str, ...]
    what: str = ""
    optional: tuple[str, ...] = ()  # names that are used, too, if the caller gives them
    aliases: tuple[str, ...] = ()  # other names by which hosts launch it, in upper or lower case


@dataclasses.dataclass(frozen=True)
class Option:
    """A choice between models."""

    name: str
    values: tuple[str, ...]  # the first is the default
    what: str
    # Compile-time switches. None: one for each value, `name_value`. A name: one switch, true unless the value is the
    # default. "": no switch.
    switch: str | None = None
    needs: When = ()  # the species fields that a value requires
    about: When = ()  # formula and source of each value, Markdown with $LaTeX$
    renamed: dict[str, str] = dataclasses.field(default_factory=dict, hash=False)  # a value's earlier name -> its name
    in_check_mode: str = ""  # the value that check mode takes; empty: the mixture's
    by_environment: Callable[[], str] | None = None  # () -> another default, or ""
    yields_to: tuple[str, ...] = ()  # options beside which, when they are given, the default has no effect

    def switches(self, value: str) -> dict[str, bool]:
        """{switch: on} for this value."""
        if self.switch is None:
            return {f"{self.name}_{known}": known == value for known in self.values}
        return {self.switch: value != self.values[0]} if self.switch else {}


class Names(list[str]):
    """A list of an option's values that may grow after kernels were declared for it."""

    __hash__ = object.__hash__  # type: ignore[assignment]  # a list has none; the records that hold it need one


@dataclasses.dataclass(frozen=True)
class SpeciesNumber:
    """A positive number for each species that may be given to a mixture."""

    name: str
    default: float
    what: str


@dataclasses.dataclass(frozen=True)
class Exclusion:
    """Options that cannot be combined."""

    excluded: Callable[[dict], bool]  # excluded(options): whether these are
    say: str  # text of the error; it may have options in braces


@dataclasses.dataclass(frozen=True)
class Fallback:
    """The value of an option that a mixture takes in place of the default where its species make this necessary."""

    option: str
    value: str
    serves: Callable[[dict, Any], bool]  # serves(options, species)


@dataclasses.dataclass(frozen=True)
class Preset:
    """A value of an option that stands for values of other options."""

    option: str
    value: str
    # choose(options, species): ({other option: value}, why, or ""). options: all, with defaults; species: None before
    # they are known
    choose: Callable[[dict, Any], tuple[dict, str]]


@dataclasses.dataclass
class Constants:
    """Numbers that a model computes once, from a mixture's species. Bodies find them in their first argument `m`."""

    values: dict[str, Any] = dataclasses.field(default_factory=dict)  # vectors of doubles, read as `m.name[i]`
    # Matrices over pairs, laid out for each backend by code generation: symmetric (ns, ns) for quadratic forms, or
    # (terms, ns, ns) with zeros on the diagonal for products with vectors
    pairs: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    # Rows (count, ns) of sums over the species: a GPU's matrix units read them by tiles, others as in `values`
    rows: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    # The same for matrix units alone; others read numbers of `values`
    unit_rows: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    # Symmetric matrices over pairs (ns, ns), of which a GPU's matrix units read the diagonal and what is beyond it
    upper: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    # (windows, rows, 4) in single precision, the cubics of each window
    tables: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    sizes: dict[str, int] = dataclasses.field(default_factory=dict)  # int or bool known to the compiler, `M::name`
    numbers: dict[str, float] = dataclasses.field(default_factory=dict)  # double known to the compiler
    # C++ text of static members of the struct `M`: functions of one species or of the mixture
    members: str = ""
    # {where it was written: C++} of the parts of `members` that people write; for a compiler's errors in them
    pieces: dict[str, str] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)  # lines that `python -m frame info` prints


FEW = """struct {name} {{
    static constexpr int COUNT = {count};
    static POINT_FN constexpr int species(const int i) {{
        constexpr int all[] = {{{species}}};
        return all[i];
    }}
}};
"""


def species_with(name: str, row: np.ndarray) -> str:
    """C++ list, as a member of the struct `M`, of the species whose number in a row (ns,) is not 0: `for_few<M::name>`
    loops over them."""
    species = np.flatnonzero(row)
    return FEW.format(name=name, count=len(species), species=", ".join(map(str, species)) or "0")


@dataclasses.dataclass(frozen=True)
class Provider(Conditional):
    """The function that makes the constants of these names: `make(species, options)` returns Constants."""

    names: tuple[str, ...]
    make: Callable[..., Constants]
    when: When = ()
    at_once: bool = False  # called, and raises, when the mixture is made

    @property
    def maker(self) -> str:
        """The function by module and name."""
        return f"{self.make.__module__}.{self.make.__name__}"
