"""Copies between a host and a device: every path gives the right numbers and leaves all other bytes alone."""

import numpy as np
import pytest
from hosts import OWN_KERNEL, ROOT
from link_cases import MEMORY, NOWHERE, arrays, arrays_apart, block, check, check_apart, chunks

from frame.impl import block_calls
from frame.stripe import IN, OUT, Field


@pytest.mark.parametrize("where", MEMORY)
@pytest.mark.long(frame=[0, 1, 3], where=["inputs pageable", "mixed"])
@pytest.mark.long(frame=[1, 3])
def test_block_calls(frame, where):
    """Random boxes in random fringes, smaller and larger than what is under way; each call twice."""
    rng = np.random.default_rng([3, MEMORY.index(where)])

    for _ in range(8):
        made, box, _ = arrays(frame, rng, where)
        before = {name: a.flat.copy() for name, a in made.items()}
        again = block(frame, made, box)
        again()
        check(frame, made, before)


@pytest.mark.parametrize("sparse", [False, True])
def test_pageable_arrays_by_one_launch_a_piece(frame, sparse):
    """The launch reads and writes the pinned buffers: nothing is copied between them and the device, and a piece's
    buffer is not packed before its launch has read it."""
    rng, calls = np.random.default_rng([17, sparse]), getattr(frame.backend.arrays, "calls", [])

    for n in range(8):
        made, box, points = arrays(frame, rng, "pageable", box=(10, 10, 10) if n < 2 else None, sparse=sparse)
        before = {name: a.flat.copy() for name, a in made.items()}
        again = block(frame, made, box, "straight")

        for name in ("p", "X"):
            made[name].values[made[name].inside] = np.nan

        del calls[:]
        again()

        if calls:
            assert {*calls} == {"frame_run", "wait"} and calls.count("frame_run") == -(-points // 32)

        check(frame, made, before)

    # Other ranks would wait for launches that wait for the link: copy engines.
    frame.properties.impl.shared.turns = True
    made, box, points = arrays(frame, rng, "pageable", box=(10, 10, 10), sparse=sparse)
    before = {name: a.flat.copy() for name, a in made.items()}
    del calls[:]
    block(frame, made, box, "straight")

    assert not calls or "copy" in calls

    check(frame, made, before)


@pytest.mark.parametrize("where", MEMORY)
@pytest.mark.quick(frame=0, where=["device", "mixed", "outputs pageable", "pageable", "pinned"])
@pytest.mark.quick(frame=[0, 2], where=["mixed", "outputs pageable"])
def test_sections_of_larger_arrays(frame, where):
    """Steps in every dimension, forwards and backwards, by block calls and, queued or not, chunk by chunk."""
    rng = np.random.default_rng([13, MEMORY.index(where)])

    for queue in (0, 1):
        frame.set_parameter("queue", queue)
        for _ in range(3):
            made, box, points = arrays(frame, rng, where, sparse=True)
            before = {name: a.flat.copy() for name, a in made.items()}

            if queue:
                chunks(frame, made, box, points)
            else:
                block(frame, made, box)()

            check(frame, made, before)


@pytest.mark.parametrize("where", MEMORY)
@pytest.mark.parametrize("calls", ["block", "stripes"])
@pytest.mark.quick(frame=[0, 2], where=["pageable", "pinned", "device", "mixed"])
def test_an_array_for_each_species(frame, where, calls):
    """Inputs and outputs in arrays of their own, in memory of one kind or of several: all points and no others."""
    rng = np.random.default_rng([23, MEMORY.index(where)])

    for round in range(6):
        made, box = arrays_apart(frame, rng, where)
        before = {name: array.flat.copy() for name, array in made.items()}
        lo, hi, points = (1, 1, 1, None), (*map(int, box), None), int(np.prod(box))
        inputs = [made[name].field(IN) for name in ("T", "Y1", "Y2")]
        outputs = [made[name].field(OUT) for name in ("X1", "p", "X2")]

        if calls == "block":
            frame.block_of_fields(("copies", "straight")[round % 2], [*inputs, *outputs], lo, hi)()
        else:
            frame.set_parameter("queue", round % 2)
            for first in range(1, points + 1, 100):
                last = min(first + 99, points)
                frame.put(inputs, lo, hi, first, last)
                frame.launch("copies", last - first + 1)
                frame.get(outputs, lo, hi, first, last)
            frame.wait()

        check_apart(made, before)


@pytest.mark.parametrize("where", ["pageable", "pinned", "device"])
@pytest.mark.quick(frame=[0, 2])
def test_what_is_read_and_written(frame, where):
    """T comes in as the start value and goes out as the result: the next piece's start waits for it."""
    frame.register_kernel(str(OWN_KERNEL))
    arrays = {name: np.zeros(1000) for name in ("rho", "e", "T")}
    arrays["rho"][:], arrays["e"][:], arrays["T"][:] = 1.2, np.linspace(2e5, 5e5, 1000), 300
    backend = frame.backend
    held = {n: backend.from_host(a) if where == "device" else a for n, a in arrays.items()}
    address = {n: backend.address(a) if where == "device" else a.ctypes.data for n, a in held.items()}
    fields = [Field(n, IN, address[n], a.shape, (8,), (1,), 8) for n, a in arrays.items()]

    for f in fields * (where == "pinned"):
        frame.pin_array([f])

    frame.block_of_fields("air", [*fields, fields[2]._replace(way=OUT)], NOWHERE, NOWHERE)
    arrays["T"] = backend.to_host(held["T"]) if where == "device" else arrays["T"]
    wanted = (np.sqrt(690.0**2 + 2 * 0.09 * arrays["e"]) - 690.0) / 0.09

    # 8 rounded operations on either side, none of which amplifies an error
    np.testing.assert_allclose(arrays["T"], wanted, rtol=16 * np.finfo(float).eps)

    for f in fields * (where == "pinned"):
        frame.unpin_array([f])


@pytest.mark.parametrize("queue", [0, 1])
@pytest.mark.parametrize("where", MEMORY)
@pytest.mark.quick(frame=[0, 2])
def test_stripe_calls(frame, where, queue):
    """Chunk by chunk; the host overwrites a pinned array as soon as it may."""
    rng = np.random.default_rng([4, MEMORY.index(where)])
    frame.set_parameter("queue", queue)

    for _ in range(3):
        made, box, points = arrays(frame, rng, where)
        before = {name: a.flat.copy() for name, a in made.items()}
        chunks(frame, made, box, points)
        check(frame, made, before)


@pytest.mark.parametrize("where", ["pinned", "host's own"])
@pytest.mark.parametrize("whole", [False, True])
def test_arrays_that_a_launch_reaches_across_the_link(frame, where, whole):
    """A box of pinned arrays, and small whole ones, are worked on where they are: one launch, one wait, no copy. A box
    after frame_unpin is not."""
    low, high = ((1, 1, 1), (10, 9, 8)) if whole else ((2, 3, 1), (9, 8, 7))
    made, _, _ = arrays(frame, np.random.default_rng(14), where, box=(10, 9, 8), fringe=0)
    before = {name: a.flat.copy() for name, a in made.items()}
    fields = [made[n].field(IN) for n in ("T", "Y")] + [made[n].field(OUT) for n in ("p", "X")]
    again = frame.block_of_fields("straight", fields, (*low, None), (*high, None))

    for array in made.values():
        array.inside = tuple(slice(a - 1, b) for a, b in zip(low, high))

    calls = getattr(frame.backend.arrays, "calls", [])

    for where_now in (where, "pageable"):
        for name in ("p", "X"):
            made[name].flat[...] = np.nan

        del calls[:]
        again()

        if calls and where_now == where and (not whole or block_calls.COPIED_FROM):
            assert calls == ["frame_run", "wait"]

        check(frame, made, before)

        for array in made.values():
            array.where = "pageable"


@pytest.mark.quick(frame=0)
def test_what_the_sanitizers_look_at(frame):
    """The program of gpu_link_sanitize.sh, on fewer copies and two collections of one species."""
    import gpu_link_kernels as looked_at

    if not hasattr(frame.backend.arrays, "calls"):
        pytest.skip("looks into the stand-in")

    frame.set_parameter("queue", 1)

    assert looked_at.copies(frame, 1) == 4 * len(MEMORY)

    for name in ("thermal", "T_from_s_p"):
        looked_at.run(name, frame.backend, str(ROOT / "examples/mixtures/n2.yaml"))
