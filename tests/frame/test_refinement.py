"""Adaptive refinement: blocks that change in size, number and fringe at every step. Values are right, memory stays
flat, nothing is compiled after the first steps, and no range stays pinned."""

import pathlib
import re

import numpy as np
import pytest
from hosts import OPENMPI, OWN_KERNEL, compiled, run
from link_cases import arrays, block, check

GROWTH = 1024  # kB: a leak of 100 bytes a block call would be more over 10 000 steps


def cached(folder):
    return sorted(p.name for p in pathlib.Path(folder).iterdir())


@pytest.mark.parametrize("steps", [400, 10000])
@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.quick(ranks=4, steps=400)
def test_a_host_on_the_cpu(ranks, steps, tmp_path):
    tmp_path.chmod(0o700)
    host = compiled("refine.f90", mpi=OPENMPI)

    for number in (5, steps):
        there = cached(tmp_path)
        done = run(host, OWN_KERNEL, number, mpi=OPENMPI, ranks=ranks, FRAME_CACHE=str(tmp_path))
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(re.findall(r"rank \d wrong values 0\b", done.stdout)) == ranks, done.stdout

    assert there == cached(tmp_path) and there  # the few first steps have compiled all

    early, late = (
        {int(rank): int(kilobytes) for rank, kilobytes in re.findall(rf"rank (\d) {when} kB (\d+)", done.stdout)}
        for when in ("early", "late")
    )

    assert len(late) == ranks and all(late[rank] - early[rank] < GROWTH for rank in late), (early, late)


@pytest.mark.parametrize("steps", [20, 300])
@pytest.mark.quick(frame=2, steps=20)
def test_a_device(frame, steps, monkeypatch):
    """After the first calls nothing is allocated, compiled or loaded on the device, and pinned buffers stay."""
    if not hasattr(frame.backend.arrays, "calls"):
        pytest.skip("looks into the stand-in")

    rng, cupy = np.random.default_rng(12), frame.backend.arrays

    for where in ("pageable", "pinned"):
        made, box, _ = arrays(frame, rng, where, box=(12, 12, 12))
        block(frame, made, box)
        for array in made.values():
            array.release()

    buffers = dict(frame.properties.impl.marshal.buffers)
    refuse = lambda *a: pytest.fail("something was made on the device")

    for _ in range(steps):
        for _ in range(int(rng.integers(1, 4))):
            made, box, _ = arrays(frame, rng, "mixed")
            before = {name: a.flat.copy() for name, a in made.items()}

            with monkeypatch.context() as patch:
                patch.setattr(cupy.cuda, "alloc_pinned_memory", refuse)
                patch.setattr(cupy.cuda, "Module", refuse)
                patch.setattr(cupy.cuda, "Stream", refuse)
                patch.setattr(cupy, "empty", refuse)
                block(frame, made, box)

            check(frame, made, before)

    after = frame.properties.impl.marshal.buffers

    assert after.keys() == buffers.keys() and all(after[name] is buffers[name] for name in buffers)
    assert not frame.properties.pinned and not cupy.registered
