"""Ignition delays as a call: Cantera's CVODE, shapes, what does not ignite, and react with amounts of moles."""

import numpy as np
import pytest

from kernels import Mixture, set_constant
from kernels.engine.errors import ArgumentError

pytestmark = pytest.mark.usefixtures("plain_tolerances")
AIR = "H2:2, O2:1, N2:3.76"


def mixture():
    return Mixture.from_yaml("examples/mechanisms/h2_o2.yaml", "ideal", equation="ideal", takahashi="off")


def by_cvode(T, p, kind):
    """(time of the steepest rise, time at T + 400 K) [s]."""
    ct = pytest.importorskip("cantera")
    gas = ct.Solution("examples/mechanisms/h2_o2.yaml", "ideal")
    gas.TPX = T, p, AIR
    kinds = {"volume": ct.IdealGasReactor, "pressure": ct.IdealGasConstPressureReactor}
    reactor = kinds[kind](gas, clone=False)
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol, net.max_steps = 1e-10, 1e-20, 100000

    # The slope is the reactor's own right-hand side, at CVODE's steps; between them a parabola
    t, Ts = [0.0], [T]
    while reactor.T < T + 1400:
        net.step()
        t.append(net.time)
        Ts.append(reactor.T)

    t, Ts = np.array(t), np.array(Ts)
    slope = np.diff(Ts) / np.diff(t)
    middle = 0.5 * (t[1:] + t[:-1])
    k = np.argmax(slope)
    fit = np.polyfit(middle[k - 2 : k + 3] - middle[k], slope[k - 2 : k + 3], 2)
    return middle[k] - fit[1] / (2 * fit[0]), np.interp(T + 400, Ts, t)


@pytest.mark.parametrize("kind", ("volume", "pressure"))
@pytest.mark.long(kind="pressure")
def test_cantera(kind):
    """5e-4 of the steepest rise, whose place CVODE's steps of 1e-2 of the delay show to that; 2e-5 of a rise of T."""
    set_constant("react_rtol", 1e-7)
    set_constant("react_atol", 1e-15)
    T = np.array([1000.0, 1400.0])
    mix = mixture()
    steepest = mix.ignition_delay(T=T, p=1e6, X=AIR, kind=kind)
    risen = mix.ignition_delay(T=T, p=1e6, X=AIR, kind=kind, criterion=400)

    for i in range(T.size):
        wanted = by_cvode(T[i], 1e6, kind)
        assert steepest[i] == pytest.approx(wanted[0], rel=5e-4)
        assert risen[i] == pytest.approx(wanted[1], rel=2e-5)


def test_shapes_and_what_does_not_ignite():
    mix = mixture()
    delay = mix.ignition_delay(T=np.array([[300.0], [1500.0]]), p=np.array([1e5, 1e6, 1e7]), X=AIR, longest=1e-3)
    assert delay.shape == (2, 3) and np.isnan(delay[0]).all()
    assert (np.diff(delay[1]) < 0).all() and (delay[1] > 0).all()

    for text, more in (
        ("criterion = -1; wanted 'slope', or a rise", dict(criterion=-1)),
        ("criterion = 'peak'; wanted 'slope', or a rise", dict(criterion="peak")),
        ("longest", dict(longest=0)),
        ("kind", dict(kind="mass")),
    ):
        with pytest.raises(ArgumentError, match=text):
            mix.ignition_delay(T=1500.0, p=1e6, X=AIR, **more)


def test_what_cannot_be_integrated_is_told(recwarn):
    """A temperature out of range has no delay, and says so; what does not ignite says nothing."""
    mix = mixture()
    assert np.isnan(mix.ignition_delay(T=600.0, p=1e5, X=AIR, longest=1e-3)) and not recwarn.list

    with pytest.warns(
        RuntimeWarning, match=r"no ignition delay found at 2 of 3 points, first at point \[1\].*not a state"
    ) as warned:
        delay = mix.ignition_delay(T=[1200.0, -5.0, np.inf], p=1e6, X=AIR, longest=1e-3)

    assert len(warned) == 1  # none of NumPy's own
    assert delay[0] < 1e-3 and np.isnan(delay[1:]).all()


def test_react_by_moles():
    mix = mixture()
    Y = mix.properties("Y", X=AIR)["Y"]
    one, other = mix.react(1500.0, 1e6, Y, 1e-6), mix.react(1500.0, 1e6, X=AIR, dt=1e-6)

    assert all(np.array_equal(one[name], other[name]) for name in one)
    with pytest.raises(ArgumentError, match="give one of X and Y"):
        mix.react(1500.0, 1e6, Y, 1e-6, X=AIR)
    with pytest.raises(ArgumentError, match="dt"):
        mix.react(1500.0, 1e6, X=AIR)
