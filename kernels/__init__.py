"""Numerics of the layer: point kernels, collections, mixtures, backends. Knows nothing of Fortran, MPI or Frame.

from kernels import Mixture
mix = Mixture.from_yaml("examples/mixtures/ch4_o2.yaml")
out = mix.properties("rho h cp", T=300.0, p=1e7, Y=Y)
"""

from . import (
    declare as registry,
    point,  # noqa: F401  declares the project's kernels
)
from .backend import get_backend
from .codegen.plan import dtype_of
from .declare import collection, collections, load_declarations, point_kernel, quantities, quantity
from .errors import ArgumentError, BackendError, FrameError, MixtureError, StateError
from .mixture import OPTIONS, Mixture
from .program import Program
from .species import SpeciesData

__all__ = [
    "ArgumentError",
    "BackendError",
    "FrameError",
    "Mixture",
    "MixtureError",
    "OPTIONS",
    "Program",
    "SpeciesData",
    "StateError",
    "collection",
    "collections",
    "dtype_of",
    "get_backend",
    "load_declarations",
    "point_kernel",
    "quantities",
    "quantity",
    "registry",
]
