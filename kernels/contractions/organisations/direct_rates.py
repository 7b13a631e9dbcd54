"""Rates of products by tiles on a device, with which direct.py prices them."""

from __future__ import annotations

from typing import NamedTuple


class Rates(NamedTuple):
    """Rates of products by tiles on a device, fitted to 336 times of TCCG's rows on an H100; `alone` of float32, `late`
    and how factors lie by products on an H200."""

    memory: float  # bytes a second
    cache: float  # bytes a second between multiprocessors and the second cache
    flops: float  # a second
    # Times the arithmetic's time
    along: float  # both factors run along the sum, in one order of its terms
    apart: float  # the same in two orders: one of them is copied in short runs
    singly: float  # for each other factor whose numbers are copied one by one
    narrow: float  # times the stores' time that is added if a lane stores less than 16 bytes
    wave: float  # seconds that a wave of blocks waits at its begin and its end
    alone: float  # seconds in which nothing else is done: the launch, the first numbers, the last ones
    late: float  # seconds more for each step by which a sum is shorter than the copies ahead
    overlap: float  # exponent of the norm of all times: 1, one after another; infinity, the longest alone


RATES = {
    "float64": Rates(
        memory=3.04e12,
        cache=6.73e12,
        flops=5.5e13,
        along=1.2,
        apart=1.6,
        singly=1.0,
        narrow=1.4,
        wave=3.4e-6,
        alone=3e-6,
        late=0.92e-6,
        overlap=2.1,
    ),
    "float32": Rates(
        memory=2.25e12,
        cache=5.62e12,
        flops=7.62e13,
        along=1.05,
        apart=1.5,
        singly=1.3,
        narrow=0.67,
        wave=0.0,
        alone=3.5e-6,
        late=0.0,
        overlap=2.05,
    ),
}
# Of sums that go straight to the output, fitted to the triples of TCCG on an H200.
STRAIGHT_RATES = {
    "float64": RATES["float64"]._replace(memory=3.9e12, cache=9e12, wave=0.0),
    "float32": RATES["float32"]._replace(memory=3.2e12, cache=9e12),
}
