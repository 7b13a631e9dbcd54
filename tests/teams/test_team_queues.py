"""Launches in queues: in order within each, at the same time between them, errors at the wait."""

import numpy as np
import pytest
from team_cases import JOINS, assert_arrays, is_stand_in, kernel

from kernels import BackendError, League, Range, get_backend

MEETS = kernel(
    "meets",
    League("1", team=32),
    header=JOINS,
    arrays="here(2):whole met(2):whole",
    writes="here met",
    numbers="own patience",
    source="not reproducible: atomics",
)
IN_ORDER = kernel("in_order", Range("n"), header=JOINS, arrays="x(n)", writes="x", numbers="factor:real")
HALF_WAITS = kernel(
    "half_waits_queued", League("E", team=8), header=JOINS, body="half_waits", arrays="out(E)", writes="out"
)
PATIENCE = 2_000_000_000  # turns of a loop, some seconds


def test_a_queue_works_in_order(be):
    """Launches that do not commute, a hundred of each, begun behind work of the default queue."""
    queue, arrays = be.queue(), be.placed(x=np.zeros(1000))
    first, second = (IN_ORDER.bind(arrays, be, quick=True, factor=factor) for factor in (0.5, 0.25))

    arrays["x"][...] = 3.0
    wanted = 3.0

    for _ in range(100):
        first(queue)
        second(queue)
        wanted = 0.25 * (0.5 * wanted + 1) + 1

    queue.wait()
    assert_arrays(be, arrays, x=np.full(1000, wanted))


def test_kernels_of_two_queues_run_at_the_same_time(be):
    """Each waits until the other one has begun."""
    if is_stand_in(be):
        pytest.skip("the stand-in's streams work one after the other")

    arrays = be.placed(here=np.zeros(2, np.int64), met=np.zeros(2, np.int64))
    for own in (0, 1):  # loaded, and without patience
        MEETS.bind(arrays, be, quick=True, own=own, patience=0)()
    arrays["here"][...] = 0
    be.synchronize()

    queues = [be.queue(), be.queue()]
    runs = [MEETS.bind(arrays, be, quick=True, own=own, patience=PATIENCE) for own in (0, 1)]

    for run, queue in zip(runs, queues):
        run(queue)
    for queue in queues:
        queue.wait()
    assert list(be.to_host(arrays["met"])) == [1, 1]


def test_a_result_waits_for_its_queue(be):
    from test_team_reducers import GIVEN, values

    v, w = values(5000, 3)
    run = GIVEN.bind(be.placed(v=v, w=w), be, quick=True)

    run(be.queue())
    assert run.value("sum") == v.sum()


def test_an_error_comes_with_the_wait():
    be = get_backend("cpu")
    queue, out = be.queue(), {"out": np.zeros(3)}
    HALF_WAITS.bind(out, be, quick=True)(queue)

    with pytest.raises(BackendError, match="joins.h:[0-9]+: 4 of 8 members wait for the others"):
        queue.wait()
    queue.wait()
