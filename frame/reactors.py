"""Reactors of a host: the fields and the time of frame_react, as the block call of a kind of reactor takes them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels.marshal import Block

from . import stripe as stripes
from .errors import refuse
from .stripe import Field

OF_KIND = ("dt", "status", "steps")  # fields whose views belong to the kind of reactor
WAYS = {"dt": stripes.IN, "status": stripes.OUT}  # of arrays that a host lists by names; the others are updated
ABSENT, NEGATIVE = -1, -2  # in place of a time, from the Fortran module


def number(dt: float, has_array: bool) -> float:
    """The time of a host that cannot leave it out: 0 where an array of times came. Errors: ArgumentError for a negative
    time and NaN."""
    refuse(not dt >= 0, f"dt is {dt:g}, wanted 0 s or more.")
    return ABSENT if has_array and dt == 0 else dt


class Time:
    """The time over which the points of these fields react: a number for all points, or a field.

    dt: s, ABSENT or NEGATIVE. Errors: ArgumentError unless there is a time, once.
    """

    def __init__(self, dt: float, fields: list[Field]):
        self._is_field = any(field.name == "dt" for field in fields)
        self._number = np.array([dt])  # the kernels read it at each call
        self.set(dt)

    def set(self, dt: float) -> None:
        """The time of the next call. Errors: as above."""
        refuse(dt == NEGATIVE or dt != dt, "dt is negative or NaN, wanted 0 s or more.")
        refuse(dt == ABSENT and not self._is_field, "dt is missing: wanted a number, dt=1d-6, or frame_in('dt', dt).")
        refuse(dt != ABSENT and self._is_field, "dt came as a number and as a field; wanted one of them.")
        self._number[0] = dt

    def beside(self, fields: list[Field]) -> list[Field]:
        """The fields with that of the time: for a number an array of the points of T, all elements of which are it."""
        if self._is_field:
            return list(fields)

        like = next(field for field in fields if field.name == "T")
        address = self._number.ctypes.data if like.address else 0
        steps = (0,) * len(like.stride)
        return [*fields, like._replace(name="dt", way=stripes.IN, address=address, stride=steps, size=8)]


class Parts(NamedTuple):
    """The selections of a reactor's block call, (view, block) each."""

    inputs: list[tuple[str, Block]]
    outputs: list[tuple[str, Block]]
    order: list[tuple[str, Block]]  # steps of the call before: points of similar effort are worked on side by side


def check(fields: list[Field]) -> None:
    """Raises ArgumentError unless T, p and Y are updated and no field is there that a reactor does not have."""
    by_name = {field.name: field for field in fields}
    for name in ("T", "p", "Y"):
        refuse(name not in by_name, f"'{name}' is missing: wanted frame_inout('{name}', {name}).")
        way = by_name[name].way
        refuse(way != stripes.INOUT, f"'{name}' is updated: wanted frame_inout('{name}', {name}).")

    strange = ", ".join(sorted(set(by_name) - {"T", "p", "Y", *OF_KIND}))
    refuse(strange, f"got {strange}; wanted T, p, Y, dt, status, steps.")


def named(fields: list[Field], at: str) -> list[Field]:
    """The fields under the names of the views. at: how the quantities of the kind end."""
    found = []
    for field in fields:
        name = f"{field.name}_{at}" if field.name in OF_KIND else field.name
        found.append(field._replace(name=name))

    return found


def parts(selections: list[tuple[Field, Block]], at: str) -> Parts:
    """Inputs, outputs and order of a call. selections: of the named fields."""
    found = Parts([], [], [])
    for field, block in selections:
        if field.way != stripes.OUT:
            (found.order if field.name == f"steps_{at}" else found.inputs).append((field.name, block))
        if field.way != stripes.IN:
            found.outputs.append((field.name, block))

    return found
