"""Copies between a host and a device wait for what they need and for nothing else; timers and traces see them."""

import json

import numpy as np
import pytest
from link_cases import NOWHERE, arrays, block, check

from frame.stripe import IN, OUT, Field


def test_a_pinned_work_array_may_be_used_again_at_once(frame):
    """The default: populate has read its array when it returns, fetch has written it."""
    work, out = np.zeros(60), np.zeros(60)

    for array in (work, out):
        frame.pin(array.ctypes.data, array.size)

    one = lambda name, array, way: Field(name, way, array.ctypes.data, array.shape, (8,), (1,), 8)
    fractions = Field("Y", IN, work.ctypes.data, (30, 2), (8, 240), (1, 1), 8)

    for n in range(5):
        work[:30] = 300 + n
        frame.put([one("T", work[:30], IN)], NOWHERE, NOWHERE, 0, 0)
        work[:30], work[30:] = 0.25, 0.75
        frame.put([fractions], NOWHERE, NOWHERE, 0, 0)
        work[:] = np.nan
        frame.launch("copies", 30)
        frame.get([one("p", out[:30], OUT)], NOWHERE, NOWHERE, 0, 0)

        assert (out[:30] == 2 * (300 + n)).all()

    for array in (work, out):
        frame.unpin(array.ctypes.data, array.size)


def test_an_input_that_is_fetched_may_be_filled_again(frame):
    """In a queue: the next filling of the view is behind the copy out of it."""
    frame.set_parameter("queue", 1)
    given, back = np.zeros((5, 40)), np.zeros((5, 40))

    for array in (given, back):
        frame.pin(array.ctypes.data, array.size)

    for n in range(5):
        given[n] = 300 + n
        one = lambda array, way: [Field("T", way, array[n].ctypes.data, (40,), (8,), (1,), 8)]
        frame.put(one(given, IN), NOWHERE, NOWHERE, 0, 0)
        frame.get(one(back, OUT), NOWHERE, NOWHERE, 0, 0)

    frame.wait()

    assert np.array_equal(back, given)

    for array in (given, back):
        frame.unpin(array.ctypes.data, array.size)


def test_no_wait_in_a_queue(frame):
    """With parameter queue, a loop over chunks waits once, in frame_wait. Without it, once where an input is read and
    once where an output is written, whatever lies between."""
    if not hasattr(frame.backend.arrays, "calls"):
        pytest.skip("looks into the stand-in")

    rng, calls = np.random.default_rng(5), frame.backend.arrays.calls
    made, box, points = arrays(frame, rng, "pinned", box=(8, 8, 4), fringe=0)

    def loop():
        del calls[:]

        for first in range(1, points + 1, 64):
            for name in ("T", "Y"):
                frame.put([made[name].field(IN)], NOWHERE, NOWHERE, first, first + 63)
            frame.launch("copies", 64)
            for name in ("p", "X"):
                frame.get([made[name].field(OUT)], NOWHERE, NOWHERE, first, first + 63)

        return calls.count("wait")

    assert loop() == 4 * points // 64

    frame.set_parameter("queue", 1)

    assert loop() == 0

    frame.wait()

    for array in made.values():
        array.release()


@pytest.mark.parametrize("starts, launches", [((0, 20, 40), 1), ((0, 8, 4), 3)])
@pytest.mark.parametrize("timers", [0, 1])
def test_fetches_in_a_queue_are_one_launch(frame, starts, launches, timers):
    """Fetches of the same points into separate arrays. For overlapping arrays the last fetch counts. Timers ask for
    each."""
    frame.set_parameter("queue", 1)
    frame.set_parameter("timers", timers)
    given, out = np.arange(1.0, 21), np.full(60, np.nan)

    for array in (given, out):
        frame.pin(array.ctypes.data, array.size)

    one = lambda array, way: [Field("T", way, array.ctypes.data, array.shape, (8,), (1,), 8)]
    frame.put(one(given, IN), NOWHERE, NOWHERE, 0, 0)
    calls, wanted = getattr(frame.backend.arrays, "calls", None), out.copy()

    if calls:
        del calls[:]

    for start in starts:
        frame.get(one(out[start : start + 20], OUT), NOWHERE, NOWHERE, 0, 0)
        wanted[start : start + 20] = given

    frame.wait()

    np.testing.assert_array_equal(out, wanted)

    if calls:
        assert calls.count("scatter_8") == (3 if timers else launches)

    for array in (given, out):
        frame.unpin(array.ctypes.data, array.size)


@pytest.mark.quick(frame=[0, 2])
def test_a_block_call_waits_once_and_pins_nothing(frame, monkeypatch):
    if not hasattr(frame.backend.arrays, "calls"):
        pytest.skip("looks into the stand-in")

    rng, cupy = np.random.default_rng(6), frame.backend.arrays

    for where in ("pinned", "pageable"):
        made, box, _ = arrays(frame, rng, where, box=(10, 10, 10), fringe=0)
        again = block(frame, made, box)
        refuse = lambda *a: pytest.fail("a range was pinned")

        with monkeypatch.context() as patch:
            patch.setattr(cupy.cuda.runtime, "hostRegister", refuse)
            patch.setattr(cupy.cuda, "alloc_pinned_memory", refuse)
            patch.setattr(cupy, "empty", refuse)
            del cupy.calls[:]
            again()

        if where == "pinned":
            assert cupy.calls.count("wait") == 1
            assert cupy.calls.count("frame_run") == -(-1000 // 32)
            # by copy engines, but for arrays on pages that were pinned for another one
            assert 0 < cupy.calls.count("copy") <= 6 * -(-1000 // 32)

        for array in made.values():
            array.release()


@pytest.mark.parametrize("where", ["pinned", "pageable"])
@pytest.mark.quick(frame=[0, 2])
def test_timers_and_a_trace(frame, where, tmp_path, capsys):
    """Each part of a block call has its name and its track; spans of one piece follow one another; bytes are those of
    the arrays; the report has the link's rate. With timers the numbers stay right."""
    watch, rng = frame.properties.impl.watch, np.random.default_rng(8)
    frame.set_parameter("timers", 1)
    watch.trace(str(tmp_path / "trace.json"))
    made, box, _ = arrays(frame, rng, where, box=(10, 10, 10), fringe=0)
    before = {name: a.flat.copy() for name, a in made.items()}
    block(frame, made, box)
    pieces = -(-1000 // 32)
    names = {"block in": 24000, "copies": 0, "block out": 24000}
    names |= {"block pack": 24000, "block unpack": 24000} if where == "pageable" else {}
    timers = frame.properties.impl.timers

    for name, nbytes in names.items():
        calls = pieces * (2 if name == "block pack" else 1)  # its beginning and its end
        assert (timers[name].calls, timers[name].points, timers[name].nbytes) == (calls, 1000, nbytes), name

    frame.report()
    told = capsys.readouterr().out

    assert "block wait" in told and "of link" in told and "GB/s to the device" in told

    watch.write(3)
    events = json.loads((tmp_path / "trace.3.json").read_text())["traceEvents"]
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}

    assert all(e["pid"] == 3 for e in events)

    spans = {name: [e for e in events if e["name"] == name] for name in names}

    assert {name: tracks[found[0]["tid"]] for name, found in spans.items()} == {
        "block in": "copies in",
        "copies": "kernels",
        "block out": "copies out",
        **dict.fromkeys(["block pack", "block unpack"] if where == "pageable" else [], "host"),
    }

    for into, kernel, out in zip(*(spans[name] for name in ("block in", "copies", "block out"))):
        assert 0 <= into["ts"] <= kernel["ts"] <= out["ts"] and into["args"]["points"] <= 32

    check(frame, made, before)
