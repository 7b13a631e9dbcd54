"""A state from plain numbers: the bits of the call with arrays, its errors, and nothing stale."""

import copy
import threading

import numpy as np
import pytest

import kernels
from kernels import Mixture, constant, point_kernel, set_constant
from kernels.engine.errors import ArgumentError, StateError
from kernels.engine.registry import declared
from kernels.gas import one_state

NAMES = "rho h cp mu lam D X phase_flag"


def mixture(**options):
    return Mixture.from_yaml("examples/mixtures/ch4_o2.yaml", **options)


@pytest.fixture
def taken(monkeypatch):
    """How often the short way gave the answer."""
    count = [0]
    plain = one_state.BoundState.__call__

    def counted(self, arrays):
        found = plain(self, arrays)
        count[0] += found is not None
        return found

    monkeypatch.setattr(one_state.BoundState, "__call__", counted)
    return count


@pytest.mark.parametrize("options", ({}, dict(equation="ideal")), ids=("pr", "ideal"))
@pytest.mark.long(options=[{}])
def test_bits_of_arrays(options, taken):
    mix = mixture(**options)
    Y = np.zeros(mix.ns)
    Y[:2] = 0.2, 0.8
    names = NAMES.replace(" X", "") if options else NAMES

    for given in (
        dict(Y=Y),
        dict(Y="CH4:1, O2:4"),
        dict(Y={"CH4": 1, "O2": 4.0}),
        dict(Y=Y[::-1].copy()),
        dict(Y=np.where(Y > 0, Y, 1e-9)),
    ):
        for T, p in ((300.0, 1e5), (np.float64(150.0), 10_000_000)):
            one = mix.properties(names, T=T, p=p, **given)
            other = mix.properties(names, T=np.array([T]), p=p, **given)
            assert list(one) == list(other)

            for name in one:
                assert one[name].dtype == np.float64 and one[name].shape == other[name].shape[:-1]
                assert np.array_equal(one[name], other[name][..., 0]), name

    assert taken[0] == 10

    X = np.arange(1.0, mix.ns + 1)
    one, other = mix.properties("rho", T=300, p=1e5, X=X), mix.properties("rho", T=[300], p=1e5, X=X)
    assert one["rho"] == other["rho"][0] and taken[0] == 11


def test_from_other_variables(taken):
    mix = mixture()
    h = mix.properties("h", T=400.0, p=1e6, Y="O2:1")["h"]
    assert mix.properties("T", h=float(h), p=1e6, Y="O2:1")["T"] == pytest.approx(400.0, rel=1e-12)
    assert taken[0] == 2


def test_results_are_the_callers(taken):
    """The next call leaves them as they are."""
    mix = mixture()
    first = mix.properties("rho X", T=300.0, p=1e5, Y="O2:1")
    kept = copy.deepcopy(first)
    mix.properties("rho X", T=900.0, p=1e5, Y="CH4:1")

    assert all(np.array_equal(first[name], kept[name]) for name in kept) and taken[0] == 2


def test_what_other_calls_get_is_what_this_gets(taken, monkeypatch):
    mix = mixture()
    mix.properties("rho", T=300.0, p=1e5, Y="O2:1")
    with pytest.raises(ArgumentError, match="no species 'O3'"):
        mix.properties("rho", T=300.0, p=1e5, Y="O3:1")
    with pytest.raises(ArgumentError, match="did you mean"):
        mix.properties("roh", T=300.0, p=1e5, Y="O2:1")
    with pytest.raises(ArgumentError, match="'h' was given beside"):
        mix.properties("rho", T=300.0, p=1e5, Y="O2:1", h=1e5)
    with pytest.raises(ArgumentError, match="truth values"):
        mix.properties("rho", T=True, p=1e5, Y="O2:1")
    with pytest.warns(RuntimeWarning, match="T = 7000 K"):
        assert np.isnan(mix.properties("rho", T=7000.0, p=1e5, Y="O2:1")["rho"])
    Y = np.full(mix.ns, 0.2)
    with pytest.warns(RuntimeWarning, match="'Y' sums to"):
        assert np.isnan(mix.properties("rho", T=300.0, p=1e5, Y=Y)["rho"])
    monkeypatch.setenv("FRAME_CHECK", "1")

    with pytest.raises(StateError, match="'p'"):
        mix.properties("rho", T=300.0, p=-1.0, Y="O2:1")


@pytest.fixture
def forgotten():
    """The declarations of a test are gone after it."""
    yield
    kernels.registry.kernels.pop("one_state_twice", None)
    declared.constants.declared.pop("one_state_factor", None)


def test_settings_are_never_stale(tmp_path, monkeypatch, taken, forgotten):
    """A constant that is set, threads, precision, a copy with moved constants."""
    (tmp_path / "twice.h").write_text(
        "template <class M, class R> POINT_FN void one_state_twice(const M &m, const R rho, R &v_p) "
        "{ v_p = rho * m.one_state_factor; }\n"
    )
    constant("one_state_factor", "1", "for a test", 2.0)
    point_kernel(
        "one_state_twice",
        header=tmp_path / "twice.h",
        reads="rho",
        writes="v_p",
        constants="one_state_factor",
        source="a test",
        valid="everywhere",
        given="rho",
    )
    mix = mixture(equation="ideal")

    assert mix.properties("v_p", rho=3.0)["v_p"] == 6.0
    set_constant("one_state_factor", 5.0)
    assert mix.properties("v_p", rho=3.0)["v_p"] == 15.0 and taken[0] == 2

    state = dict(T=300.0, p=1e5, Y="O2:1")
    before = mix.properties("rho", **state)["rho"]
    monkeypatch.setenv("FRAME_THREADS", "2")

    assert mix.properties("rho", **state)["rho"] == before
    assert mix.properties("rho", precision="mixed", **state)["rho"].dtype == np.float32

    heavier = mix.moved(lambda array: 1.01 * array)
    assert heavier.properties("rho", **state)["rho"] != before and mix.properties("rho", **state)["rho"] == before


def test_threads(taken):
    """Calls of several threads do not write into each other's state."""
    mix = mixture(equation="ideal")
    T = np.linspace(300, 2000, 400)
    wanted = mix.properties("rho h", T=T, p=1e5, Y="O2:1")
    wrong = []

    def work():
        for i in range(T.size):
            found = mix.properties("rho h", T=float(T[i]), p=1e5, Y="O2:1")
            if found["rho"] != wanted["rho"][i] or found["h"] != wanted["h"][i]:
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not wrong
