"""Numerics of the layer: point kernels, collections, mixtures, backends. Knows nothing of Fortran, MPI or Frame.

from kernels import Mixture
mix = Mixture.from_yaml("examples/mixtures/ch4_o2.yaml")
out = mix.properties("rho h cp", T=300.0, p=1e7, Y=Y)
"""

from typing import TYPE_CHECKING

from .contractions import ComplexContraction, Contraction, FreeContraction, contract
from .contractions.as_numpy import einsum, tensordot, transpose
from .engine.backend import get_backend
from .engine.errors import ArgumentError, BackendError, FrameError, MixtureError, StateError
from .engine.registry import declared
from .engine.timers import timed
from .gas import models  # noqa: F401  declares the project's kernels
from .gas.declare import (
    collection,
    constant,
    constants,
    option,
    point_kernel,
    quantity,
)
from .gas.mixture import Mixture
from .gas.plan import dtype_of
from .gas.point import PointFunction
from .gas.program import Program, Wanted
from .gas.records import Constants
from .gas.registry import registry
from .gas.resolve import resolve
from .gas.species import NoSpecies, SpeciesData
from .teams import DualView, League, MDRange, Range, Scan, Sizes, UniqueToken, team_kernel

__version__ = "1.0.0rc1"
DISTRIBUTION = "castles-frame"  # frame/__init__.py looks for this name: the package index has another `kernels`

# Declarations, and the calls by which a host uses them
quantities = registry.quantities
collections = registry.collections
load_declarations = declared.load
set_constant = declared.constants.set

__all__ = [
    "ArgumentError",
    "BackendError",
    "ComplexContraction",
    "Constants",
    "Contraction",
    "DualView",
    "FreeContraction",
    "FrameError",
    "League",
    "MDRange",
    "Mixture",
    "MixtureError",
    "NoSpecies",
    "OPTIONS",
    "PointFunction",
    "Program",
    "Range",
    "Scan",
    "Sizes",
    "SpeciesData",
    "StateError",
    "UniqueToken",
    "Wanted",
    "collection",
    "collections",
    "constant",
    "constants",
    "contract",
    "dtype_of",
    "einsum",
    "get_backend",
    "load_declarations",
    "option",
    "point_kernel",
    "quantities",
    "quantity",
    "registry",
    "resolve",
    "set_constant",
    "team_kernel",
    "tensordot",
    "timed",
    "transpose",
]


if TYPE_CHECKING:
    OPTIONS: dict[str, tuple[str, ...]]
else:  # unseen by type checkers, which would take any name for an attribute

    def __getattr__(name):
        if name == "OPTIONS":  # option: its values, the first is the default; as declared by now
            return {known.name: known.values for known in registry.options.values()}
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
