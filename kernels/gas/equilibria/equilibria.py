"""Chemical equilibrium of all species of a mixture, from two numbers of the state and the mass fractions.

The amounts of the elements stay; reactions need not be there. Ideal gases and cubic equations, one phase.
"""

import numpy as np

from ...engine.errors import MixtureError
from ..declare import collection, constants, point_kernel, quantity
from ..equations.cubic import DELTA
from ..equations.derivatives import PAIRS
from ..equations.records import ROOTS
from ..records import Constants
from ..registry import registry
from ..thermal.ideal_gas import END, NASA

QUANTITIES = ("T_eq", "p_eq", "Y_eq", "status_eq", "steps_eq")
for name, unit, what, *per in (
    ("T_eq", "K", "temperature in chemical equilibrium"),
    ("p_eq", "Pa", "pressure in chemical equilibrium"),
    ("Y_eq", "1", "mass fractions in chemical equilibrium", "ns"),
    (
        "status_eq",
        "1",
        "0: equilibrium found; results are NaN: 1 not found, 2 T beyond the range, 3 between vapour and liquid",
    ),
    ("steps_eq", "1", "steps of Newton's method that the equilibrium took"),
):
    quantity(name, unit, what, *per)

OWN = "equilibrium_formulas equilibrium_first equilibrium_atoms"
ROUNDED = 1e-9  # smaller numbers of a formula are a 0 that was rounded
TYPICAL = 1500.0  # K, at which the first components are stable; any will do


def components(formulas, order) -> tuple[np.ndarray, list[int]]:
    """Formulas (ns, elements) as sums of those of components (ns, components), and the species that are components.

    order: species by preference. Each is a component if those before it do not make it."""
    left = np.array(formulas, float)
    columns: list[int] = []
    chosen: list[int] = []
    for species in order:
        free = np.abs(np.delete(left[species], columns))
        if free.max(initial=0.0) < ROUNDED:
            continue

        others = [c for c in range(left.shape[1]) if c not in columns]
        column = others[int(np.argmax(free))]
        share = left[:, column] / left[species, column]
        left = left - share[:, None] * left[species]
        left[:, column] = share
        left[np.abs(left) < ROUNDED] = 0.0
        columns.append(column)
        chosen.append(species)

    return left[:, columns], chosen


def stable_first(species, atoms) -> np.ndarray:
    """Species (ns,) by their Gibbs energy for each atom, the least first: mostly what a flame ends as."""
    energy = []
    for k in range(species.ns):
        _, h, s = species.polynomial(k, TYPICAL)
        energy.append(h - s)

    return np.argsort(np.array(energy) / np.abs(atoms).sum(1))


def formulas(species, options) -> Constants:
    """Atoms of each element in each species, as equilibria read them. Raises MixtureError for species whose composition
    is not known."""
    lacking = [name for name in species.names if not species.atoms.get(name)]
    if lacking:
        raise MixtureError(
            f"species {', '.join(lacking[:12])}: which atoms they have is not known; equilibrate needs it. Read the "
            "mixture from a file or from names."
        )

    elements = list(dict.fromkeys(e for name in species.names for e in species.atoms[name]))
    atoms = np.array([[species.atoms[name].get(e, 0.0) for e in elements] for name in species.names])
    rows, first = components(atoms, stable_first(species, atoms))

    # Charge, as electrons, may be negative: a sum of 0 leaves no species out
    counted = atoms[:, (atoms >= 0).all(axis=0)]
    return Constants(
        {
            "equilibrium_formulas": rows.reshape(-1),
            "equilibrium_first": np.array(first, float),
            "equilibrium_atoms": counted.T.reshape(-1),
        },
        sizes={"EQUILIBRIUM_COMPONENTS": rows.shape[1], "EQUILIBRIUM_ELEMENTS": counted.shape[1]},
    )


constants(OWN, formulas)

SUMS = " ".join(name for name in registry.kernels["cubic_mixture"].constants if name not in PAIRS.split())
SOURCE = (
    "least Gibbs or Helmholtz energy; Newton's method in ln n: Gordon & McBride 1994, NASA RP-1311 (original not seen)"
)
RESULTS = "Y_eq status_eq steps_eq"


def kernel(given, writes):
    """Two kernels, ideal_equilibrate_{given} and cubic_...: their constants differ."""
    of_cubic = f" {PAIRS} {SUMS} {DELTA} map_numbers? map_tiles?"

    for equation, when, own in (("ideal", "ideal", ""), ("cubic", ROOTS, of_cubic)):
        point_kernel(
            f"{equation}_equilibrate_{given.replace(' ', '_')}",
            header="gas/equilibria/equilibria.h",
            reads=f"{given} Y",
            writes=f"{writes} {RESULTS}",
            constants=f"W inv_p_ref {NASA} {OWN}{own}",
            source=SOURCE,
            valid=f"p > 0; T from 20 to {END}; one gas phase",
            when={"equation": when},
            given=given,
            sweeps="states",
            alone=True,
            double_only="it ends where a step is below 1e-7, and rounding to single precision moves traces by more",
        )


for given, writes, what in (
    ("T p", "", "temperature and pressure"),
    ("T rho", "p_eq", "temperature and density"),
    ("h p", "T_eq", "enthalpy and pressure"),
    ("e rho", "T_eq p_eq", "internal energy and density"),
    ("s p", "T_eq", "entropy and pressure"),
    ("s rho", "T_eq p_eq", "entropy and density"),
):
    kernel(given, writes)
    collection(
        f"equilibrate_{given.replace(' ', '_')}",
        given=f"{given} Y",
        outputs=f"{writes} {RESULTS}",
        what=f"chemical equilibrium at constant {what}",
    )
