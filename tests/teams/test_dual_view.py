"""Pairs of arrays of the host and the device: each side is as its last writer left it, with no copy too many."""

import numpy as np
import pytest

from kernels import ArgumentError, DualView, StateError


@pytest.mark.parametrize("order", ["C", "F"])
def test_each_side_sees_what_the_other_wrote(be, order):
    pair = DualView(np.array(np.arange(12.0).reshape(3, 4), order=order), be)
    apart = be.memory == "device"
    assert (pair.device is pair.host) != apart
    assert not pair.need_sync("host") and not pair.need_sync("device")
    np.testing.assert_array_equal(be.to_host(pair.sync("device")), np.arange(12.0).reshape(3, 4))

    for turn in range(3):
        pair.host[1, 2] = -turn
        pair.modify("host")
        assert pair.need_sync("device") == apart and not pair.need_sync("host")
        assert be.to_host(pair.sync("device"))[1, 2] == -turn and not pair.need_sync("device")

        pair.device[...] = pair.device + 1.0
        pair.modify("device")
        assert pair.need_sync("host") == apart
        assert pair.sync("host")[1, 2] == 1 - turn and pair.sync("host")[0, 0] == turn + 1


def test_two_writers_are_told(be):
    pair = DualView(np.zeros(3), be)
    pair.modify("host")
    if be.memory == "host":
        pair.modify("device")  # the same array
    else:
        with pytest.raises(StateError, match="device was written, and host before it: sync.'device'. comes between"):
            pair.modify("device")


def test_pairs_that_are_refused():
    for wrong in ([1.0], np.zeros((4, 4))[::2, ::2]):
        with pytest.raises(ArgumentError, match="wanted a contiguous array of NumPy"):
            DualView(wrong, "cpu")
    with pytest.raises(ArgumentError, match="side 'gpu', wanted host or device"):
        DualView(np.zeros(3), "cpu").sync("gpu")
