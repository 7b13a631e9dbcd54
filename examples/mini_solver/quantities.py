"""Quantities of the layer in fields, pictures and at probes, beside what the flow carries itself: `c`, `mu`,
`heat_release`, or `omega_OH`, that of a species. `python -m frame names` lists them."""

import dataclasses

import kernels
from kernels import ArgumentError, resolve
from kernels.engine.errors import closest

from .errors import CaseError, wanted

OF_PRESSURE, OF_ENERGY = ("T", "p", "Y"), ("e", "rho", "Y")  # what a state is given by; with phases by its energy


@dataclasses.dataclass(frozen=True)
class Column:
    """A number for each cell: a quantity, or the part of it of the species with this index."""

    quantity: str
    species: int | None = None

    def of(self, found: dict):
        """These numbers of what the layer has found: {quantity: array}."""
        values = found[self.quantity]
        return values if self.species is None else values[self.species]


class Quantities:
    """The quantities that a mixture has. phases: vapour and liquid may be in equilibrium."""

    def __init__(self, mixture, phases):
        self.mixture = mixture
        self.given = OF_ENERGY if phases else OF_PRESSURE

    def find(self, name) -> Column | None:
        """The numbers of a name; None where it names none."""
        if name in kernels.quantities and not kernels.quantities[name].per:
            return Column(name)

        for at in [k for k, letter in enumerate(name) if letter == "_"]:
            quantity, species = kernels.quantities.get(name[:at]), self.mixture.find(name[at + 1 :])
            if quantity and species and quantity.per == "ns":
                return Column(quantity.name, self.mixture.names.index(species))
        return None

    def check(self, names, what, own):
        """CaseError for a name that this mixture has no numbers for. what: how the message begins. own: names of the
        flow's own fields."""
        for name in names:
            column = self.find(name)
            wanted(
                column,
                f"{what} '{name}'{closest(name, own, 1)}; known: {', '.join(own)}, and quantities of the layer, such "
                "as c, mu, heat_release, or of a species omega_OH (`python -m frame names`).",
            )
            try:
                resolve([column.quantity], list(self.given), self.mixture.options)
            except ArgumentError as error:
                raise CaseError(f"{what} '{name}': {error}") from None

    def values(self, names, state, backend) -> dict:
        """{name: array} at states: {input: array} of `given`, with arrays of a backend."""
        columns = {name: self.find(name) for name in names}
        asked = list(dict.fromkeys(column.quantity for column in columns.values()))
        found = self.mixture.properties(asked, backend=backend, **state)

        return {name: column.of(found) for name, column in columns.items()}


def unit_of(name) -> str:
    """The unit of a name as in `Quantities.find`; empty where no quantity begins it."""
    parts = name.split("_")
    for count in range(len(parts), 0, -1):
        quantity = kernels.quantities.get("_".join(parts[:count]))
        if quantity:
            return quantity.unit
    return ""
