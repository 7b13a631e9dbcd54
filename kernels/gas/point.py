"""A C function of one point, compiled for a mixture: for loops of a host's own."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import cffi
import numpy as np

from ..engine.backend import get_backend
from ..engine.backend.cache import key
from ..engine.errors import refuse
from ..engine.registry import declared
from . import plan as plans, planning, structure
from .arrays import refuse_surplus
from .composition import refuse_both
from .resolve import resolve
from .schedules import one_point

if TYPE_CHECKING:
    from .mixture import Mixture

ffi = cffi.FFI()
TAKES_CONSTANTS = "void (*)(const void *from)"
_made: list[PointFunction] = []  # a host may call a function as long as it runs


class PointFunction:
    """void function(const double *given, double *made): quantities of one point from others.

    given, outputs: names in the order in which their numbers lie. A quantity of each species has ns numbers, and so on.
    The function is `pure` in Fortran's sense, and any number of threads may call it at once. It computes for this
    mixture, also when another is loaded, and stays until the process ends. Out of range its results are NaN.

    address: of the function. sizes: numbers of `given` and of `made`. Errors: ArgumentError for an unknown name, a name
    that comes twice, an input that may contradict the others as in Mixture.properties, or an output that cannot be
    computed; BackendError without a compiler; StateError for a constant
    that the host has not set.
    """

    def __init__(self, mixture: Mixture, outputs: Iterable[str], given: Iterable[str]) -> None:
        self.given, self.outputs = tuple(given), tuple(outputs)
        self.plan = plan = _planned(mixture, self.outputs, self.given, plans.ALONE)
        self.settable = tuple(name for name in plan.values if name in declared.constants.declared)
        declared.constants.require(self.settable, "a function of a point")
        self.sizes = sum(map(plan.rows, self.given)), sum(map(plan.rows, self.outputs))

        # A library for each mixture: the constants lie in it.
        self._backend = get_backend("cpu", threads=1)
        digest = key(*[values.tobytes() for values in plan.values.values()])
        layout = one_point.PointLayout(_place(plan, self.given), _place(plan, self.outputs))
        self._module = self._backend.compile(one_point.render_point(plan, layout, f"FRAME_DIGEST {digest}"))
        self.refresh()
        self.address = self._module.address("frame_point")

        if self.settable:
            declared.constants.users.add(self)
        _made.append(self)

    def refresh(self) -> None:
        """Copy the present values of the constants into the library."""
        data, self._keep = structure.filled_structure(self.plan, self._backend)
        take = ffi.cast(TAKES_CONSTANTS, self._module.address("frame_constants"))
        take(ffi.from_buffer(data))


def device_source(mixture, outputs, given, name: str = "frame_point") -> str:
    """CUDA C++ of `extern "C" __device__ void name(const double *given, double *made)`, for a device's code of the
    host's own. It includes headers by their paths from the folder of this package, `kernels`.

    Arguments and errors: as PointFunction; ArgumentError for a name that is none in C, and for a mixture that has
    constants of more than 2048 numbers.
    """
    given, outputs = tuple(given), tuple(outputs)
    plan = _planned(mixture, outputs, given, "scalar")
    refuse(not re.fullmatch(r"[A-Za-z_]\w*", name), f"the function's name is '{name}', wanted a name in C.")
    large = [constant for constant, size in plan.constants if size > plans.LARGE]
    refuse(
        bool(large),
        f"a device's function of a point takes constants of up to {plans.LARGE} numbers; {', '.join(large)} has more.",
    )

    data, _ = structure.filled_structure(plan, get_backend("cpu", threads=1))
    words = ", ".join([f"{word:#x}" for word in data.view(np.uint64).tolist()])
    layout = one_point.PointLayout(_place(plan, given), _place(plan, outputs), name)
    return one_point.render_point(plan, layout, f"CONSTANTS {words}").text


def _planned(mixture, outputs, given, precision: str) -> plans.Plan:
    """The plan of a function. Raises ArgumentError for names that come twice, inputs that may contradict each other and
    outputs that cannot be computed."""
    _refuse_twice(given)
    _refuse_twice(outputs)
    refuse_both(given)
    refuse(not outputs, "a function of a point without outputs: nothing to compute.")

    kernels = resolve(outputs, given, mixture.options)
    plan = planning.make_plan(kernels, outputs, mixture, None, precision, "point")
    copied = [name for name in outputs if name not in plan.writes]
    refuse(bool(copied), f"{', '.join(copied)} came as input and as output: nothing to compute.")
    refuse_surplus(mixture, outputs, given, plan.reads)
    return plan


def _place(plan: plans.Plan, names) -> dict[str, int]:
    """{name: place of its first number}"""
    sizes = map(plan.rows, names)
    return dict(zip(names, itertools.accumulate(sizes, initial=0)))


def _refuse_twice(names) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    refuse(bool(twice), f"{', '.join(twice)} came twice in '{', '.join(names)}'.")
