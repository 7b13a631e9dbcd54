"""Makes plans: kernels of a launch, and the constants that they read, laid out as the launch's schedule wants them."""

from __future__ import annotations

import dataclasses
import typing

import numpy as np

from ..engine.errors import ArgumentError, MixtureError, VariantUnsuitable, refuse
from ..engine.registry import declared
from .pair_layouts import UPPER, laid_out, panel_rows, tiles
from .plan import ALONE, ON_DEVICE, Launch, Plan
from .records import EQUILIBRIUM, Constants, PointKernel
from .registry import registry
from .schedules import Schedule, schedule_of
from .schedules.schedule import has_constant


def make_plan(kernels, outputs, mixture, how: Launch | None = None, precision: str = "double", name: str = "") -> Plan:
    """Join kernels by names.

    kernels: PointKernel records, each behind the kernels that make its inputs. outputs: names to keep; None: everything
    they write. how: None for a CPU. Raises ArgumentError for a kernel that this mixture or precision cannot serve,
    VariantUnsuitable for a launch that cannot run the kernels.
    """
    how = _fit_for_branches(how, kernels)
    schedule = schedule_of(how, kernels)
    _refuse_unsuitable(kernels, mixture, how, schedule, precision)

    # Names: what is read from outside, what is kept.
    reads, made = _read_from_outside(kernels)
    if outputs is None:
        outputs = [name for kernel in kernels for name in kernel.writes]
    writes = tuple(dict.fromkeys(name for name in outputs if name in made))

    # Constants, and what is known to the compiler.
    pairs = how.pairs if how else panel_rows(mixture.ns)
    constants = PlannedConstants(mixture, schedule, pairs, precision)
    for kernel in kernels:
        constants.add(kernel)

    known = Known.of(mixture, kernels, pairs, constants.makers)

    return Plan(
        name=name,
        kernels=tuple(kernels),
        reads=reads,
        writes=writes,
        sizes=known.sizes,
        flags=known.flags,
        values=constants.in_precision(),
        tables=tuple(constants.tables),
        how=how,
        precision=precision,
        numbers=known.numbers,
        R=mixture.species.R,
        members="".join(maker.members for maker in constants.makers),
        pieces=tuple(known.pieces),
    )


class Known(typing.NamedTuple):
    """Numbers and texts that the compiler knows, by name."""

    sizes: dict[str, int]
    flags: dict[str, bool]
    numbers: dict[str, float]
    pieces: list[tuple[str, str]]  # text of C++

    @classmethod
    def of(cls, mixture, kernels, pairs, makers: list[Constants]) -> Known:
        """All that a mixture tells the compiler: by its species, reactions and options, and by the models that compute
        its constants. pairs: as in PlannedConstants."""
        known = cls(
            sizes={"NS": mixture.ns, "PANEL": pairs if isinstance(pairs, int) else 4}, flags={}, numbers={}, pieces=[]
        )
        if any(_touches_reactions(kernel) for kernel in kernels):
            known.sizes["NR"] = mixture.nr

        for option, value in mixture.options.items():
            known.flags.update(registry.options[option].switches(value))

        for maker in makers:
            for name, value in maker.sizes.items():
                if isinstance(value, bool):
                    known.flags[name] = value
                else:
                    known.sizes[name] = value
            known.numbers.update(maker.numbers)
            known.pieces.extend(maker.pieces.items())

        return known


def _touches_reactions(kernel: PointKernel) -> bool:
    """Whether a kernel reads or writes a number of each reaction."""
    return any(registry.quantities[q].per == "nr" for q in kernel.reads + kernel.writes)


def _fit_for_branches(how: Launch | None, kernels) -> Launch | None:
    """Panels in place of matrix units, which need all lanes of a warp: points of two phases part in branches."""
    parts = any(kernel.phases == EQUILIBRIUM for kernel in kernels)
    return dataclasses.replace(how, pairs=4) if how and how.pairs == "units" and parts else how


def _refuse_unsuitable(kernels, mixture, how, schedule: Schedule, precision: str) -> None:
    names = ", ".join(kernel.name for kernel in kernels)
    refuse(
        schedule.on_device and precision not in ON_DEVICE,
        f"precision '{precision}' is for the CPU; a device has {', '.join(ON_DEVICE)}.",
    )
    refuse(
        not schedule.serves(kernels, mixture),
        f"hold '{how and how.hold}': {schedule.sharers} cannot share the work of {names} here.",
        VariantUnsuitable,
    )

    for kernel in kernels:
        refuse(
            precision == "single" and kernel.running.double_only,
            f"kernel '{kernel.name}' has no single precision: {kernel.running.double_only}; precision 'mixed' has it.",
        )


def _read_from_outside(kernels) -> tuple[tuple[str, ...], set[str]]:
    """(names that no kernel before their reader makes, names that kernels make)"""
    made: set[str] = set()
    reads: list[str] = []

    for kernel in kernels:
        reads += [name for name in kernel.reads if name not in made and name not in reads]
        made.update(kernel.writes)

    return tuple(reads), made


@dataclasses.dataclass
class PlannedConstants:
    """The constants that kernels read, as the struct holds them."""

    mixture: typing.Any
    schedule: Schedule
    pairs: int | str  # rows of a panel of a pair matrix, or "units"
    precision: str
    values: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    wide: list[str] = dataclasses.field(default_factory=list)  # doubles in any precision
    tables: list[str] = dataclasses.field(default_factory=list)  # in single precision
    makers: list[Constants] = dataclasses.field(default_factory=list)  # whose sizes and members are needed too

    def add(self, kernel: PointKernel) -> None:
        """Add the constants that a kernel reads. Raises ArgumentError if the mixture lacks one."""
        spared = self._spared(kernel)
        for marked in self.schedule.constants(kernel):
            name, optional = marked.rstrip("?"), marked.endswith("?")
            if name in self.values or name in spared:
                continue

            if name in declared.constants.declared:
                self.values[name] = declared.constants.value_of(name)
                continue

            try:
                found = self.mixture.constant(name)
            except MixtureError as error:
                raise ArgumentError(f"kernel '{kernel.name}' cannot be used with this mixture: {error}.") from None

            if found is not None and all(found.of is not known for known in self.makers):
                self.makers.append(found.of)

            if found is not None and found.kind is not None:
                self._lay_out(name, found)
            elif not optional:
                registry.refuse_undeclared_constant(kernel.name, name)
                raise ArgumentError(
                    f"kernel '{kernel.name}' needs the mixture constant '{name}', which this mixture does not have."
                )

    def _spared(self, kernel: PointKernel) -> set[str]:
        """Constants that are not read where matrix units multiply by another constant."""
        spared: set[str] = set()
        if self.pairs == "units" and self.mixture.ns > 1:
            for name, others in kernel.running.instead.items():
                if has_constant(self.mixture, name):
                    spared.update(others)

        return spared

    @property
    def _for_units(self) -> bool:
        """Whether matrix units multiply by the pair matrices."""
        return self.pairs == "units"

    def _lay_out(self, name: str, found) -> None:
        """Add a constant in the layout that kernels read. A constant that they do not read here is left out."""
        layouts = {
            "pairs": self._add_pairs,
            "rows": self._add_rows,
            "unit_rows": self._add_unit_rows,
            "upper": self._add_upper,
            "tables": self._add_table,
        }
        add = layouts.get(found.kind, self._add_as_it_is)
        add(name, found.array)

    def _add_as_it_is(self, name: str, array: np.ndarray) -> None:
        self.values[name] = array

    def _add_pairs(self, name: str, array: np.ndarray) -> None:
        """A symmetric pair matrix (ns, ns), or several of them, which only matrix units read."""
        if self._for_units:
            self.wide.append(name)  # units of less than doubles lose too much
        elif array.ndim != 2:
            return

        self.values[name] = laid_out(array, self.pairs)
        if self.precision == ALONE:
            self.values[name] = np.concatenate([self.values[name], array.ravel()])

    def _add_rows(self, name: str, array: np.ndarray) -> None:
        """Rows that matrix units multiply by (SUMS_BY_UNITS of pairs.h), else plain rows."""
        has_tiles = self._for_units and self.precision != "single"
        self.values[name] = tiles(array) if has_tiles else array.ravel()

    def _add_unit_rows(self, name: str, array: np.ndarray) -> None:
        """Rows that only matrix units read."""
        if self._for_units and self.precision != "single":
            self.values[name] = tiles(array)

    def _add_upper(self, name: str, array: np.ndarray) -> None:
        """The upper triangle of a pair matrix, which only matrix units read."""
        if self._for_units:
            self.values[name] = tiles(array, UPPER)
            self.wide.append(name)

    def _add_table(self, name: str, array: np.ndarray) -> None:
        """A table of numbers in the launch's precision. Constants are doubles: two single numbers take one's place."""
        table = array.swapaxes(0, 1) if self.schedule.on_device else array
        dtype = np.float32 if self.precision == "single" else np.float64
        self.values[name] = np.ascontiguousarray(table).reshape(-1).view(dtype)
        self.tables.append(name)

    def in_precision(self) -> dict[str, np.ndarray]:
        """The values in the type that the struct has them in."""
        if self.precision != "single":
            return self.values
        return {
            name: np.asarray(value, np.float64 if name in self.wide else np.float32)
            for name, value in self.values.items()
        }
