"""Views of one block after another, and of several threads."""

import gc

import numpy as np
import pytest
from frame_host import Host, asked, field, several, state

from frame.errors import StateError


def test_another_array_begins_another_block():
    host = Host(nq=1)
    T, p, Y, other = field(300), field(1e7), field(1), field(310)
    several(host, T=T, p=p, Y=Y)
    host.launch("thermal")
    T[...] = 305
    host.put("T", T)
    host.launch("thermal")  # the same array: the same block
    host.put("p", other)  # by mistake, or of another block

    with pytest.raises(StateError, match="'T' holds another block's points .'p' has been filled from another array"):
        host.launch("thermal")
    with pytest.raises(StateError, match="'rho' is stale: 'thermal' computed it for another block .'p' has been"):
        host.get("rho", field(0))

    several(host, Y=Y, T=T)  # what several blocks share is named for each
    host.launch("thermal")
    host.put("T", T, 1, 12)  # other points of the same array

    with pytest.raises(StateError, match="'p' is stale: it holds stripe 1..24, wanted 1..12"):
        host.launch("thermal", 12)


def test_other_bounds_are_another_block():
    host = Host(nq=1)
    T, p, Y = field(300, (6, 3, 2)), field(1e7, (6, 3, 2)), field(1, (6, 3, 2))

    for lo, hi in ((1, 4), (3, 6)):
        for tag, a in (("T", T), ("p", p), ("Y", Y)):
            host.frame.populate_input(tag, a.ctypes.data, 6, 3, 2, lo, hi, 1, 3, 1, 2, 1, 1, 1, 24)
        host.launch("thermal")

    host.frame.populate_input("T", T.ctypes.data, 6, 3, 2, 1, 4, 1, 3, 1, 2, 1, 1, 1, 24)

    with pytest.raises(StateError, match="'p' holds another block's points"):
        host.launch("thermal")


def test_arrays_of_a_block_have_their_own_geometry():
    """T with a fringe, p without: only the points that are selected count."""
    host = Host(nq=1)
    T = field(300, (6, 5, 4))

    for _ in range(2):
        host.frame.populate_input("T", T.ctypes.data, 6, 5, 4, 2, 5, 2, 4, 2, 3, 1, 1, 1, 24)
        several(host, p=(p := field(1e7)), Y=(Y := field(1)))
        host.launch("thermal")

    assert (host.get("rho", field(0)) > 0).all() and p is not Y


def test_what_no_launch_used_may_come_first_or_from_two_arrays():
    host = Host(nq=1, turbulent=1)
    blocks = [dict(muT=field(3e-5), T=field(300 + 10 * b), p=field(1e7), Y=field(1)) for b in range(2)]

    for block in blocks:  # nothing reads muT: T begins the second block, and muT was filled for it already
        several(host, **block)
        host.launch("thermal")
        np.testing.assert_array_equal(host.get("muT", field(0)), block["muT"])

    again = blocks[0]["T"].copy(order="F")
    several(host, **blocks[0])
    host.put("T", again)  # no launch since: a better start value of the same block
    host.launch("thermal")


def test_a_row_of_q_may_have_an_array_of_its_own(host):
    Q, T = state(), [field(310), field(320)]
    host.put("Q", Q)
    host.put("T", T[0])
    host.launch("thermal")
    T[0][...] = 315
    host.put("T", T[0])
    host.launch("thermal")  # T of Newton's iteration
    host.put("T", T[1])

    with pytest.raises(StateError, match="'p' holds another block's points .'T' has been filled from another array"):
        host.launch("thermal")

    host.put("Q", Q)
    host.launch("thermal")
    host.put("T", T[1])  # of another block, as far as anyone can tell: Q's own T was used

    with pytest.raises(StateError, match="'p' holds another block's points"):
        host.launch("thermal")


def test_optional_inputs_of_another_block_are_not_used():
    host = Host(nq=1)
    one = dict(T=field(300), p=field(1e7), Y=field(1))
    several(host, **one, u=field(30), v=field(0), w=field(0))
    host.launch("thermal")

    assert (host.get("h0", field(0)) != 0).all()

    several(host, **{tag: a.copy(order="F") for tag, a in one.items()})
    host.launch("thermal")

    with pytest.raises(StateError, match="'h0' is stale: 'thermal' computed it for another block"):
        host.get("h0", field(0))


def test_a_block_call_takes_no_input_of_an_earlier_call():
    host = Host(nq=1)
    several(host, T=field(300), p=field(1e7), Y=field(1))
    with pytest.raises(StateError, match=r"a block call of 'thermal' lacks frame_in\('p', ...\)\."):
        asked(host, "thermal", {"T": field(300), "Y": field(1)}, rho=field(0))


def test_python_threads_have_their_own_views(host):
    """Programs are compiled once; mixture, timers and check mode are everyone's."""
    import threading

    host.frame.set_parameter("timers", 1)
    host.put("Q", state())
    host.launch("thermal")
    told, sets = [], []

    def work(T):
        impl = host.frame.properties.impl
        sets.append(id(impl))

        with pytest.raises(StateError, match="'rho' was never filled by this thread, another thread filled its own"):
            host.get("rho", field(0))

        host.put("Q", state(T=T))
        host.launch("thermal")
        told.append((T, host.get("rho", field(0))[0, 0, 0], next(iter(impl.launchers.values())).program))

    threads = [threading.Thread(target=work, args=(T,)) for T in (400.0, 500.0)]

    for thread in threads:
        thread.start()

    for thread in threads:
        thread.join()

    assert len(told) == 2 and {id(program) for *_, program in told} == {
        id(launcher.program) for launcher in host.impl.launchers.values()
    }

    rho = {T: value for T, value, _ in told} | {300.0: host.get("rho", field(0))[0, 0, 0]}

    assert rho[300.0] > rho[400.0] > rho[500.0] and id(host.impl) not in sets
    assert host.impl.timers["thermal"].calls == 3

    told.clear()
    gc.collect()

    assert list(host.impl.threads) == [host.impl]  # theirs went with them
