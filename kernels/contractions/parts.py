"""Real and imaginary parts of complex arrays: copied apart, and side by side again, for calls that come again.

    take = splitter(backend, array);  take(array, real, imaginary)
    leave = joiner(backend, array);   leave(array, real, imaginary)

for arrays that lie as this one. A kernel goes once through the memory of contiguous arrays on a CPU (parts_packs.h);
NumPy copies each part by itself.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from ..engine.backend.base import Source
from ..engine.backend.record import record, structure

MEMBERS = "whole:address real:address imaginary:address count:whole"
PLACES = dict(whole=0, real=1, imaginary=2)
BLOCK = 1 << 14  # of parts_packs.h
FEW = 1 << 13  # numbers that NumPy copies as fast: a launch takes 3 us
SINGLE = "complex64"
# Seconds of a real number that is copied from a complex array in the caches, or there: by NumPy, and of a byte of it by
# a kernel
BY_NUMPY, BYTE = 3e-10, 2.5e-11


def splitter(backend, array) -> Callable[..., None]:
    """run(whole, real, imaginary)"""
    return _launch(backend, "split", array) or _split


def joiner(backend, array) -> Callable[..., None]:
    """run(whole, real, imaginary)"""
    return _launch(backend, "join", array) or _join


def seconds_of_copies(numbers: float, size: int) -> float:
    """The model's time on a core for so many real numbers of so many bytes, beside memory."""
    return numbers * (BY_NUMPY if numbers < 2 * FEW else BYTE * size)


def _split(whole, real, imaginary) -> None:
    real[...] = whole.real
    imaginary[...] = whole.imag


def _join(whole, real, imaginary) -> None:
    whole.real[...] = real
    whole.imag[...] = imaginary


def _launch(backend, name: str, array):
    """run(whole, real, imaginary) by a kernel; None: NumPy copies the parts."""
    if backend.memory == "device" or array.size < FEW or not array.flags.c_contiguous:
        return None
    module = _module(backend, array.dtype.name)
    held = record(MEMBERS, count=array.size)
    run = module.again(name, held, PLACES, -(-array.size // BLOCK))
    return lambda *arrays: run(arrays)


@functools.lru_cache(None)
def _module(backend, dtype: str):
    return backend.compile(source(dtype))


def source(dtype: str) -> Source:
    """The kernels for numbers of a type, complex64 or complex128."""
    lines = [
        *(["#define FRAME_SINGLE"] if dtype == SINGLE else []),
        '#include "engine/numbers/pack.h"',
        structure("Arguments", MEMBERS),
        '#include "contractions/parts_packs.h"',
        "",
    ]
    return Source("parts", "\n".join(lines), title="parts", spelled_vectors=True)
