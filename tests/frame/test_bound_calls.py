"""Bound calls: one memory, one rule for forgetting (frame/impl/memory.py)."""

import types

import pytest

import kernels
from frame.impl.memory import KEPT, Bound, Memory
from frame.impl.shared import Shared, Sizes
from frame.tvproperties import TVProperties

HERE = types.SimpleNamespace(arrays=[types.SimpleNamespace(range=(4096, 8192))])  # a field of the host in one array


class Backend:
    """The part of a backend that a bound call asks: which memory is pinned, and whether that has changed."""

    pins = 0
    held = False

    def pad(self, n):
        return n

    def pinned(self, low, high):
        return self.held


class Call:
    """A bound call that counts how often it was bound and run."""

    def __init__(self, monkeypatch, blocks=()):
        monkeypatch.setattr("frame.impl.shared.Marshal", lambda backend: None)
        self.shared = Shared(Backend(), Sizes(10, 1))
        self.reach = "shared"
        self.bound, self.ran, self.asked = 0, [], 0
        self.call = Bound(self.shared, self._reach, lambda: self._bind(list(blocks)))

    def _reach(self, block):
        self.asked += 1
        return self.reach

    def _bind(self, blocks):
        self.bound += 1
        return lambda *values: self.ran.append(values), blocks


def test_a_repetition_binds_nothing(monkeypatch):
    made = Call(monkeypatch)
    made.call(1, 2)
    made.call(3, 4)
    assert made.bound == 1 and made.ran == [(1, 2), (3, 4)]


@pytest.mark.parametrize("change", ["mixture, views, kernels, buffers", "pinned memory", "check mode"])
def test_each_condition_binds_once_more(monkeypatch, change):
    made = Call(monkeypatch)
    made.call()

    if change == "pinned memory":
        made.shared.backend.pins += 1
    elif change == "check mode":
        made.shared.switch_check(True)
    else:
        made.shared.change()

    made.call()
    made.call()

    assert made.bound == 2 and len(made.ran) == 3


def test_memory_that_the_host_pinned_itself_is_asked_for_at_each_call(monkeypatch):
    made = Call(monkeypatch, [HERE])
    before = made.asked
    made.call()
    made.call()

    assert made.bound == 1 and made.asked == before + 2

    made.reach = "no"
    made.call()

    assert made.bound == 2

    before = made.asked
    made.call()

    assert made.asked == before  # pageable memory stays staged


def test_memory_that_the_layer_pinned_is_not_asked_for(monkeypatch):
    monkeypatch.setattr(Backend, "held", True)
    made = Call(monkeypatch, [HERE])
    before = made.asked
    made.call()
    assert made.asked == before


def test_a_call_that_cannot_be_bound_again_raises_and_does_not_run(monkeypatch):
    made = Call(monkeypatch)
    made.call()

    def fail():
        raise kernels.ArgumentError("no view")

    made.call._bind = fail
    made.shared.change()

    for _ in range(2):
        with pytest.raises(kernels.ArgumentError, match="no view"):
            made.call()

    assert len(made.ran) == 1


def test_the_memory_has_an_end():
    memory = Memory()
    for number in range(KEPT + 1):
        memory.keep(("block", number), print)
    assert 1 <= len(memory) <= KEPT and ("block", KEPT) in memory


@pytest.mark.parametrize("change", ["mixture", "free", "packing threads"])
def test_threads_forget_together(change):
    properties = TVProperties(kernels.get_backend("cpu"), Sizes(32, 1), {})
    threads = [properties.impl, properties.impl.twin()]

    for thread in threads:
        thread.memory.keep("a call", print)

    if change == "mixture":
        properties.impl.set_mixture(kernels.Mixture(kernels.NoSpecies(1)))
    elif change == "free":
        properties.impl.free()
    else:
        properties.impl.pack_with(2)

    assert not any(thread.memory for thread in threads)


def test_threads_that_come_later_have_the_settings_of_all():
    first = TVProperties(kernels.get_backend("cpu"), Sizes(32, 1), {}).impl
    first.pack_with(3)
    first.queue(True)
    first.set_mixture(kernels.Mixture(kernels.NoSpecies(1)))
    later = first.twin()

    assert later.marshal._packers == 3 and later.mixture is first.mixture
    assert later.views is not first.views and later.memory is not first.memory and later.check is first.check
