"""Points that react over a step: CVODE, equilibrium, what is conserved, order, bits, bad points."""

import re
import time
import warnings

import mechanisms_for_tests as mechanisms
import numpy as np
import pytest
from device_for_tests import be, bound, is_gpu  # noqa: F401
from frame_host import Host
from test_reactor import FEW, PRESSED, ids, states as reactor_states

from frame import stripe as stripes
from frame.impl import launchers
from frame.tools.bench import kinetics as bench
from frame.tools.validate import delays
from kernels import Mixture, set_constant
from kernels.engine.errors import ArgumentError
from kernels.engine.registry import declared
from kernels.gas import launches
from kernels.gas.kinetics import elimination
from kernels.gas.program import Program, Wanted

pytestmark = pytest.mark.usefixtures("plain_tolerances")

ct = pytest.importorskip("cantera")
IDEAL, REAL = dict(equation="ideal"), dict(critical="fill")
SHIFTED = dict(equation="srk", translation="peneloux", critical="fill")
AIR, OXYGEN = "H2:2, O2:1, N2:3.76", "H2:2, O2:1"
OF_LANES = mechanisms.path(mechanisms.OF_LANES)


def mixture(**options):
    return Mixture.from_yaml("h2o2.yaml", takahashi="off", **options)


def burning(n=48, p=1e6, X=OXYGEN, kind="volume"):
    """T, p, Y along an ignition, by CVODE: before, through and after it."""
    gas, reactor, net = cvode(1100.0, p, X, kind)
    out = []

    for t in np.linspace(0, 2.5 * delay_of(1100.0, p, X, kind), n):
        if t > 0:
            net.advance(t)
        out.append((reactor.T, reactor.phase.P, *np.maximum(reactor.Y, 0)))

    T, p, *Y = np.array(out).T
    return T, p, np.array(Y) / np.sum(Y, 0)


def cvode(T, p, X, kind, file="h2o2.yaml"):
    gas = ct.Solution(str(file))
    if isinstance(X, str):
        gas.TPX = T, p, X
    else:
        gas.TPY = T, p, X

    kinds = {"volume": ct.IdealGasReactor, "pressure": ct.IdealGasConstPressureReactor}
    reactor = kinds[kind](gas, clone=False)
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol = 1e-11, 1e-20

    return gas, reactor, net


def delay_of(T, p, X, kind="volume", file="h2o2.yaml"):
    """When CVODE has T 400 K above its start."""
    _, reactor, net = cvode(T, p, X, kind, file)
    before = at = (0.0, T)
    while at[1] < T + 400:
        before, at = at, (net.step(), reactor.T)
    return np.interp(T + 400, (before[1], at[1]), (before[0], at[0]))


@pytest.mark.parametrize("kind", ["volume", "pressure"])
@pytest.mark.quick(kind="pressure")
def test_the_same_as_cvode(kind):
    """T, p, Y after 1e-6 s of states along an ignition, H2/O2 at 10 bar: at rtol 1e-4 within 1e-5, at 1e-6 within 1e-7
    and 1e-6; next to ignition, where the delay's error counts, 100 times that."""
    mix, (T, p, Y) = mixture(**IDEAL), burning(kind=kind)
    wanted = []

    for i in range(T.size):
        _, reactor, net = cvode(T[i], p[i], Y[:, i], kind)
        net.advance(1e-6)
        wanted.append((reactor.T, reactor.phase.P, *reactor.Y))

    T1, p1, *Y1 = np.array(wanted).T
    for rtol, plain in ((1e-4, 1e-5), (1e-6, 1e-6)):
        set_constant("react_rtol", rtol)
        got = mix.react(T, p, Y, 1e-6, kind=kind)
        assert (got["status"] == 0).all()

        limit = plain * np.where(np.abs(T1 - T) > 100, 100, 1)
        assert (np.abs(got["T"] / T1 - 1) <= limit).all()
        assert (np.abs(got["p"] / p1 - 1) <= limit).all()
        assert (np.abs(got["Y"] - Y1) <= limit).all()


@pytest.mark.parametrize("name", delays.CASES)
@pytest.mark.quick(name=["H2 in O2, 10 bar", "H2 in air, 1 bar", "H2 in air, 10 bar"])
def test_ignition_delay(name, tmp_path):
    """From gas without radicals. The larger mechanisms solve sparse systems."""
    mechanism, X, T, p = delays.CASES[name]
    file = dict(bench.files(tmp_path))[mechanism]
    mix = Mixture.from_yaml(file, equation="ideal", takahashi="off")
    wanted, Y = delays.of_cvode(file, X, T, p)
    for rtol, limit in delays.LIMITS.items():
        assert abs(delays.off(mix, wanted, Y, T, p, rtol)) < limit


def test_delays_as_rows_of_validate(monkeypatch):
    name = "H2 in O2, 10 bar"
    monkeypatch.setattr(delays, "CASES", {name: delays.CASES[name]})
    loose, tight = delays.rows()

    assert loose.passed and tight.passed and 0 < tight.worst < loose.worst
    assert tight.name == f"delay of {name}, 0.0004616 s; rtol 1e-06"
    assert declared.constants.value_of("react_rtol")[0] == 1e-4


def test_equilibrium_is_cantera_s():
    """After a second: `equilibrate` at the same e and v, or h and p."""
    mix, gas = mixture(**IDEAL), ct.Solution("h2o2.yaml")
    set_constant("react_rtol", 1e-6)

    for kind, pair in (("volume", "UV"), ("pressure", "HP")):
        gas.TPX = 1200.0, 1e6, AIR
        got = mix.react(1200.0, 1e6, gas.Y[:, None], np.array([1.0]), kind=kind)
        gas.equilibrate(pair, rtol=1e-12)

        assert got["status"] == 0

        # energy is kept to about rtol RT
        np.testing.assert_allclose(got["T"], gas.T, rtol=1e-6)
        np.testing.assert_allclose(got["p"], gas.P, rtol=1e-6)
        np.testing.assert_allclose(got["Y"][:, 0], gas.Y, atol=1e-6)


@pytest.mark.parametrize("options", [REAL, SHIFTED], ids=ids)
@pytest.mark.quick(options={"critical": "fill"})
def test_equilibrium_of_a_real_gas(options):
    """After a second the chemical potentials of every reaction balance, by another kernel: entropy is at its
    maximum."""
    mix = mixture(**options)
    out = mix.react(1200.0, 3e7, "H2:0.112, O2:0.888", np.array([1.0]))
    assert out["status"] == 0

    state = {name: out[name] for name in ("T", "p", "Y")}
    g = mix.properties("g_Y", **state)["g_Y"][:, 0] * mix.species.W / (8.314462618 * out["T"])

    for reaction in mix.species.mechanism.reactions:
        names = [mix.names[s] for s in reaction.net]
        if not {"AR", "N2"} & set(names):
            assert abs(sum(nu * g[s] for s, nu in reaction.net.items())) < 1e-5, names  # rtol of Y


@pytest.mark.parametrize(
    "kind, options",
    [("volume", IDEAL), ("volume", REAL), ("pressure", IDEAL), ("pressure", SHIFTED)],
    ids=["volume-ideal", "volume-pr", "pressure-ideal", "pressure-srk"],
)
@pytest.mark.quick(options=[{"critical": "fill"}, {"equation": "ideal"}])
def test_what_a_closed_reactor_keeps(kind, options):
    """Elements to rounding; density, or pressure's bits; energy or enthalpy to 10 rtol of RT a step's worth."""
    kept(mixture(**options), burning(24, X=AIR), kind)


@pytest.mark.parametrize("kind", ["volume", "pressure"])
@pytest.mark.parametrize("equation", ["rkpr", "mapped"])
@pytest.mark.quick(kind="volume", equation="mapped")
def test_what_one_with_a_shape_by_species_keeps(equation, kind, tmp_path):
    """delta_1 moves with the composition, with equation mapped the volume map too. Its p ends below 1e9 Pa."""
    file = tmp_path / "few.yaml"
    file.write_text(mechanisms.text(FEW))
    T, p, Y = reactor_states(24, dense=equation == "mapped")
    kept(Mixture.from_yaml(file, "real", equation=equation), (T, np.minimum(p, 1e8), Y), kind)


def kept(mix, state, kind):
    T, p, Y = state
    before = mix.properties("rho e h", T=T, p=p, Y=Y)
    out = mix.react(T, p, Y, 1e-5, kind=kind)
    assert (out["status"] == 0).all() and (out["steps"] > 0).all()
    after = mix.properties("rho e h R_s", T=out["T"], p=out["p"], Y=out["Y"])
    atoms = mix.species.mechanism.composition / mix.species.W[:, None]
    np.testing.assert_allclose(atoms.T @ out["Y"], atoms.T @ Y, rtol=1e-12, atol=1e-12)
    RT = after["R_s"] * out["T"]

    if kind == "volume":
        np.testing.assert_allclose(after["rho"], before["rho"], rtol=1e-11)
        assert (np.abs(after["e"] - before["e"]) < 1e-3 * RT).all()
    else:
        np.testing.assert_array_equal(out["p"], p)
        assert (np.abs(after["h"] - before["h"]) < 1e-3 * RT).all()


def test_order():
    """The error of a single step is of order 5: half the step has a 32nd of it."""
    mix = mixture(**IDEAL)
    state, dt = (1500.0, 1e6, "H2:0.1, O2:0.88, H:0.01, OH:0.01"), 2.5e-10 * 0.5 ** np.arange(4)
    set_constant("react_rtol", 1e-10)
    set_constant("react_atol", 1e-16)
    exact = mix.react(*state, dt)["T"]
    set_constant("react_rtol", 1.0)
    set_constant("react_atol", 1.0)
    once = mix.react(*state, dt)

    assert (once["steps"] == 1).all()
    error = np.abs(once["T"] - exact)
    assert (np.log2(error[:-1] / error[1:]) > 4.5).all(), error


SPARSE = {
    "ideal": ("ideal", IDEAL),
    "concentration": ("real", dict(kinetics="concentration")),
    "pr": ("real", {}),
    "srk-peneloux": ("real", dict(equation="srk", translation="peneloux")),
}


@pytest.mark.parametrize("phase, options", SPARSE.values(), ids=SPARSE)
@pytest.mark.full
def test_sparse_systems_are_the_dense_ones(phase, options, monkeypatch, tmp_path):
    """Rates that go with third bodies, with p and with fugacities: steps over which the fastest modes decay. Both
    eliminate without pivoting; rounding grows with the conditions of d - J, up to 1e4, from 1e-15."""
    T, p, Y = reactor_states(16)
    file = tmp_path / "few.yaml"
    file.write_text(mechanisms.text(FEW + PRESSED.lstrip()))

    for kind in ("volume", "pressure"):
        found = []
        for share in (0.0, 1e9):
            monkeypatch.setattr(elimination, "DENSE", 0)
            monkeypatch.setattr(elimination, "SPARSER", share)
            mix = Mixture.from_yaml(file, phase, **options)
            assert (mix.constant("reaction_elimination").array.size > 1) == (share > 0)
            found.append(mix.react(T, p, Y, 1e-8, kind=kind))

        dense, sparse = found
        assert (sparse["steps"] == dense["steps"]).all() and (sparse["status"] == 0).all()
        assert np.abs(dense["T"] / T - 1).max() > 1e-3  # something happened

        for name in ("T", "p"):
            np.testing.assert_allclose(sparse[name], dense[name], rtol=1e-11)
        np.testing.assert_allclose(sparse["Y"], dense["Y"], atol=1e-11)


def test_quadruple_precision_takes_the_same_steps():
    """Rounding grows along an ignition with its fastest mode, here by e^10 or so from 1e-15."""
    mix, state = mixture(**IDEAL), (np.array([1000.0, 1500.0, 2000.0]), 1e6, "H2:0.11, O2:0.88, H:0.01", 1e-7)
    here, wide = mix.react(*state), mix.react(*state, backend="cpu", precision="wide")
    np.testing.assert_array_equal(here["steps"], wide["steps"])
    np.testing.assert_allclose(here["T"], wide["T"], rtol=1e-10)
    np.testing.assert_allclose(here["Y"], wide["Y"], atol=1e-10)


def test_bits_of_a_point_are_its_own():
    """Any order, any neighbours, any shape; points that cannot react have their status and are NaN."""
    mix, (T, p, Y) = mixture(**IDEAL), burning()
    plain = mix.react(T, p, Y, 1e-6)

    for shift in (1, 3, 11):
        out = mix.react(*(np.roll(x, shift, -1) for x in (T, p, Y)), 1e-6)
        for name in plain:
            np.testing.assert_array_equal(np.roll(out[name], -shift, -1), plain[name], name)

    last = mix.react(T.reshape(6, 8), p.reshape(6, 8), Y.reshape(-1, 6, 8), 1e-6, last=plain["steps"].reshape(6, 8))
    for name in plain:
        np.testing.assert_array_equal(last[name].reshape(plain[name].shape), plain[name], name)
    T, p, Y, dt = T.copy(), p.copy(), Y.copy(), np.full(T.size, 1e-6)
    bad = [2, 9, 17, 20, 25, 33, 40]
    T[2], T[9], T[17], p[20], Y[3, 25], Y[0, 33], dt[40] = 19.0, 6100.0, np.nan, -1.0, np.nan, -1e-7, np.nan
    Y[3, 33] += 1e-7 - Y[:, 33].sum() + 1 - 1e-7
    out = mix.react(T, p, Y, dt)

    assert (out["status"][bad] == 5).all() and np.isnan(out["T"][bad]).all() and np.isnan(out["Y"][:, bad]).all()
    for name in plain:
        np.testing.assert_array_equal(np.delete(out[name], bad, -1), np.delete(plain[name], bad, -1), name)
    still = mix.react(T[:2], p[:2], Y[:, :2], 0.0)

    np.testing.assert_array_equal(still["Y"], Y[:, :2])
    assert (still["steps"] == 0).all()


COLD = {  # moles, T, p, dt: radicals that warm a gas from below 200 K, and a liquid without reactions
    "radicals": ("H:0.02, O2:0.5, H2:0.48", 150.0, 1e6, 1e-4),
    "hydroxyl": ("OH:0.05, H2:0.5, O2:0.45", 120.0, 1e6, 1e-5),
    "liquid": ("O2:0.99, H2:0.01", 90.0, 5e6, 1e-3),
}


@pytest.mark.parametrize("options", [IDEAL, REAL], ids=["ideal", "real"])
@pytest.mark.parametrize("case", COLD)
@pytest.mark.quick(options=IDEAL)
def test_cold_points_react_by_the_rates_at_200_K(options, case):
    """Beside BDF over the derivatives f_cv; react_rtol is 1e-4 of a change of some 300 K."""
    integrate = pytest.importorskip("scipy.integrate")
    X, T, p, dt = COLD[case]
    mix = mixture(**options)
    Y = np.array(mix.properties("Y", X=X)["Y"])
    rho = float(mix.properties("rho", T=T, p=p, Y=Y)["rho"])

    def f(t, z):
        density = z[:-1].sum()
        return mix.properties("f_cv", T=z[-1], rho=density, Y=z[:-1] / density)["f_cv"]

    size = np.append(np.full(mix.ns, 1e-14 * rho), 1e-6)
    wanted = integrate.solve_ivp(f, (0, dt), np.append(rho * Y, T), "BDF", rtol=1e-8, atol=size).y[:, -1]
    out = mix.react(T, p, Y, dt)

    assert out["status"] == 0 and (out["steps"] == 1) == (case == "liquid")
    assert out["T"] == pytest.approx(wanted[-1], abs=0.02)
    np.testing.assert_allclose(out["Y"], wanted[:-1] / rho, atol=1e-5)


def test_status_of_what_does_not_end():
    mix, (T, p, Y) = mixture(**IDEAL), burning()
    set_constant("react_most", 5)
    out = mix.react(T, p, Y, 1e-6)
    over = out["status"] == 1

    assert 0 < over.sum() and set(out["status"]) <= {0.0, 1.0}
    assert np.isnan(out["T"][over]).all() and (out["steps"][over] == 5).all()

    set_constant("react_most", declared.constants.declared["react_most"].default[0])
    hot = mix.react(5500.0, 1e7, "H:1", np.array([1e-3]))  # recombination brings T above 6000 K
    assert hot["status"] == 4 and np.isnan(hot["p"])


def test_mass_fractions_that_are_off():
    """As in properties: divided by a sum that is off by rounding; further off, said and not a number there alone."""
    mix = mixture(**IDEAL)
    Y = np.array(mix.properties("Y", X="H2:2, O2:1")["Y"])
    right = mix.react(1200.0, 1e5, Y, 1e-5)
    near = mix.react(1200.0, 1e5, 1.0005 * Y, 1e-5)
    assert near["T"] == pytest.approx(right["T"], rel=1e-12) and near["Y"] == pytest.approx(right["Y"], rel=1e-9)

    off = Y[:, None] * [1.0, 1.01]
    with (
        pytest.warns(RuntimeWarning, match="1 not a state.*sum of 1"),
        pytest.warns(RuntimeWarning, match=r"'Y' sums to 1.01 over the species at point \[1\]"),
    ):
        out = mix.react(1200.0, 1e5, off, 1e-5)
    assert out["T"][0] == right["T"] and out["status"].tolist() == [0, 5]


def test_refused():
    mix = mixture(**IDEAL)
    with pytest.raises(ArgumentError, match="kind = 'volum', did you mean 'volume'"):
        mix.react(1e3, 1e5, "H2:1", 1e-6, kind="volum")
    with pytest.raises(ArgumentError, match="react is not available with precision = 'single': .*'mixed' has"):
        mix.react(1e3, 1e5, "H2:1", 1e-6, precision="single")
    with pytest.raises(ArgumentError, match="react is not available with phases = 'equilibrium'[.]"):
        mixture(phases="equilibrium", **REAL).react(1e3, 1e5, "H2:1", 1e-6)


@pytest.mark.parametrize("kind", ["volume", "pressure"])
@pytest.mark.parametrize(
    "given, words",
    [
        (dict(last=np.ones(2)), "last: shape (2,), wanted that of the points, (3,)"),
        (dict(last=np.ones((3, 1))), "last: shape (3, 1), wanted that of the points, (3,)"),
        (dict(last=[1, 1, 1]), "last: wanted the array `steps` of a call before"),
        (dict(dt=np.ones(4)), "'dt': points of shape (4,) do not fit those of (3,) before it"),
        (dict(dt="1e-6"), "'dt': type <U4, wanted numbers"),
        (dict(p=np.ones(2)), "'p': points of shape (2,) do not fit those of (3,) before it"),
    ],
)
def test_arrays_that_do_not_fit(kind, given, words):
    """Named as the caller has them: dt, not the view dt_cv."""
    state = dict(T=np.full(3, 1e3), p=1e5, Y="H2:1", dt=1e-6)
    with pytest.raises(ArgumentError, match=re.escape(words)):
        mixture(**IDEAL).react(**state | given, kind=kind)


LARGE = {
    "100": ("nDodecane_Reitz.yaml", "c12h26:1, o2:18.5, oh:0.01"),
    "1268": ("example_data/n-hexane-NUIG-2015.yaml", "CH4:1, O2:2, OH:0.01, CH3:0.01"),
}


@pytest.mark.parametrize("file, X", LARGE.values(), ids=LARGE)
@pytest.mark.full
def test_large_mechanisms(file, X):
    """Up to 1268 species, 5336 reactions: tables in seconds, and matrices of up to 100 MB a pack, which are not on the
    stack."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on polynomials that do not meet
        mix = Mixture.from_yaml(file, "nDodecane_IG" if "Reitz" in file else None, equation="ideal", takahashi="off")

    begin = time.process_time()
    fit = mix.constant("reaction_steps").of.sizes["CREW_ROWS"] > 0  # whether a GPU's warps could share points
    assert time.process_time() - begin < 20 and fit == (mix.ns < 130)

    T, p, dt = np.array([1500.0, 2000.0]), 1e6, 1e-13
    set_constant("react_rtol", 1e-8)
    gas = mix.properties("Y rho f_cv", T=T, p=p, X=X)
    out = mix.react(T, p, gas["Y"], dt)

    assert (out["status"] == 0).all()
    after = mix.properties("f_cv", T=out["T"], p=out["p"], Y=out["Y"])["f_cv"]
    mean = (gas["f_cv"] + after)[-1] / 2  # over so short a time it hardly changes

    np.testing.assert_allclose(out["T"] - T, mean * dt, rtol=2e-3)
    np.testing.assert_allclose(out["Y"].sum(0), 1, rtol=1e-12)


def test_cuda(be):  # noqa: F811
    """The CUDA source: on the stand-in, and with `pytest -m gpu` on a device. Steps may differ by rounding."""
    mix, (T, p, Y) = mixture(**IDEAL), burning(13)
    here, there = (mix.react(T, p, Y, 1e-6, backend=b) for b in ("cpu", be))

    assert (there["status"] == 0).all()
    np.testing.assert_allclose(there["T"], here["T"], rtol=1e-7)
    np.testing.assert_allclose(there["Y"], here["Y"], atol=1e-7)

    # Threads take one point after the other: its place does not matter.
    many = np.random.default_rng(3).integers(13, size=100_000 if is_gpu(be) else 700)
    again = mix.react(T[many], p[many], Y[:, many], 1e-6, backend=be)
    for name, value in there.items():
        np.testing.assert_array_equal(again[name], value[..., many], name)


def of_32_species(folder):
    """A mechanism with one unknown more than a warp has lanes, T, p, Y of five points."""
    mix = Mixture.from_yaml(dict(bench.files(folder))["CH4/O2"], equation="ideal", takahashi="off")
    Y = np.random.default_rng(7).dirichlet(np.full(mix.ns, 0.3), 5).T
    return mix, (np.array([1500.0, 2200, 2900, 1000, 1000]), np.full(5, 1e6), Y)


@pytest.mark.parametrize("kind", ["cv", "cp", "cv-32", "cp-32"])
@pytest.mark.full
def test_lanes_of_a_warp_share_a_point(be, kind, tmp_path):  # noqa: F811
    """As larger mechanisms react on a device; every kind of reaction at constant volume. A point's place does not
    matter, nor do bad ones beside it."""
    kind, larger = kind[:2], kind[2:]
    if larger:
        mix, (T, p, Y) = of_32_species(tmp_path)
    elif kind == "cv":
        mix, (T, p, Y) = Mixture.from_yaml(OF_LANES, "ideal", equation="ideal"), reactor_states(5)
    else:  # argon takes part in nothing
        mix, (T, p, Y) = mixture(**IDEAL), burning(5, X=AIR)

    T[3], Y[0, 4] = np.nan, -1.0
    dt = np.full(5, 1e-7)
    names = {"status": f"status_{kind}", "steps": f"steps_{kind}"}
    here = mix.react(T, p, Y, dt, kind={"cv": "volume", "cp": "pressure"}[kind], backend="cpu")
    outputs, given = ("T", "p", "Y", *names.values()), {"T": T, "p": p, "Y": Y, f"dt_{kind}": dt}
    how = launches.Launch(threads=64, hold="lanes", pairs=3, constants="shared")
    program = Program(mix, Wanted(outputs, tuple(given)), backend=be, how=how)
    many = np.random.default_rng(3).integers(5, size=20_000 if is_gpu(be) else 9)
    arrays = bound(be, program, many.size, {name: value[..., many] for name, value in given.items()})
    program.bind(arrays)(many.size)
    there = {name: be.to_host(arrays[names.get(name, name)])[:, : many.size] for name in here}

    assert (here["status"] == [0, 0, 0, 5, 5]).all() and (here["steps"][:3] > 0).all()

    for name, value in there.items():
        wanted = np.atleast_2d(here[name])[:, many]
        np.testing.assert_allclose(value, wanted, rtol=1e-7, atol=1e-9, err_msg=name)
        for k in range(5):
            own = value[:, many == k]
            assert np.array_equal(own, np.broadcast_to(own[:, :1], own.shape), equal_nan=True), name


@pytest.mark.parametrize("size", ["every-kind", "32"])
@pytest.mark.long(size="32")
def test_lanes_of_a_warp_share_matrices(be, size, tmp_path):  # noqa: F811
    """J_cv and implicit_cv as larger mechanisms have them on a device. Over a tenth of the reactions' fastest time the
    linear system is about a unit matrix. Results are then as exact as J and f: to the rounding of gross rates."""
    if size == "32":
        mix, (T, p, Y) = of_32_species(tmp_path)
    else:
        mix, (T, p, Y) = Mixture.from_yaml(OF_LANES, "ideal", equation="ideal"), reactor_states(5)

    state = {"T": T, **mix.properties("rho tau_slopes", T=T, p=p, Y=Y), "Y": Y}
    state["dt_cv"] = 0.1 * state.pop("tau_slopes")
    many = np.random.default_rng(3).integers(5, size=2000 if is_gpu(be) else 9)

    for name, given in (("J_cv", ("T", "rho", "Y")), ("implicit_cv", ("T", "rho", "Y", "dt_cv"))):
        own = {key: state[key] for key in given}
        wanted = mix.properties(name, **own)[name].reshape(mix.ns + 1, -1, 5)[..., many]  # rows of it
        how = launches.Launch(threads=64, hold="lanes", pairs=3, constants="shared")
        program = Program(mix, Wanted((name,), given), backend=be, how=how)
        arrays = bound(be, program, many.size, {key: x[..., many] for key, x in own.items()})
        program.bind(arrays)(many.size)
        got = be.to_host(arrays[name])[:, : many.size].reshape(wanted.shape)
        off = np.abs(got - wanted) / np.maximum(np.abs(wanted).max(1), np.abs(wanted[:-1]).max((0, 1)))[:, None]

        assert off.max() <= 1e-12, (name, off.max())


def test_a_block_of_a_host():
    """frame_react: a box of fields in place, dt a number or a field, in chunks, again with another dt: the bits of
    Mixture.react, and no other point is touched."""
    mix, host = mixture(**IDEAL), Host(ns=10, nq=15, mixture=None, equation="ideal", takahashi="off")
    host.frame.load_mixture("h2o2.yaml", "")
    react = host.frame.properties.react
    shape, box = (6, 4, 2), ((2, 1, None, None), (6, 4, None, None))
    inside = np.s_[1:6, 0:4]
    T0, p0, Y0 = (x.reshape(*x.shape[:-1], *shape, order="F") for x in burning())
    own = dict(T=T0, p=p0, Y=np.moveaxis(Y0, 0, -1))

    for dt in (1e-6, 3e-7):
        wanted = mix.react(T0, p0, Y0, dt)
        wanted["Y"] = np.moveaxis(wanted["Y"], 0, -1)
        for as_field in (False, True):
            arrays = {name: np.asfortranarray(value.copy()) for name, value in own.items()}
            arrays |= {name: np.full(shape, -7.0, order="F") for name in ("status", "steps")}
            fields = [field(n, stripes.INOUT if n in own else stripes.OUT, a) for n, a in arrays.items()]
            times = np.full(shape, dt, order="F")

            if as_field:
                react("volume", [*fields, field("dt", stripes.IN, times)], -1.0, *box)
            else:
                react("volume", fields, dt, *box)

            for name, got in arrays.items():
                np.testing.assert_array_equal(got[inside], wanted[name][inside], name)
                np.testing.assert_array_equal(got[:1], own[name][:1] if name in own else -7.0, name)

    fields = [field(n, stripes.INOUT, np.asfortranarray(own[n])) for n in own]
    for wrong, dt, words in (
        (fields[:2], 1e-6, "'Y' is missing: wanted frame_inout"),
        (fields, -1.0, "dt is missing"),
        (fields, -2.0, "dt is negative"),
        ([fields[0]._replace(way=stripes.IN), *fields[1:]], 1e-6, "'T' is updated"),
        ([*fields, field("rho", stripes.OUT, np.zeros(shape))], 1e-6, "got rho; wanted T, p, Y, dt"),
    ):
        with pytest.raises(ArgumentError, match=words):
            react("volume", wrong, dt, *box)


def test_points_of_a_block_by_their_last_steps(monkeypatch):
    """`steps` that come in: within a chunk the kernel has the points in their order; results are those of any order."""
    mix, host = mixture(**IDEAL), Host(ns=10, nq=15, mixture=None, chunk=32, equation="ideal", takahashi="off")
    host.frame.load_mixture("h2o2.yaml", "")
    seen, bound = [], launchers._Columns.__missing__

    def watched(self, first):
        run = bound(self, first)
        return lambda count: (seen.append(self.views["T"].matrix[0, first : first + count].copy()), run(count))

    monkeypatch.setattr(launchers._Columns, "__getitem__", watched, raising=False)
    T, p, Y = (x.copy() for x in burning())
    wanted = mix.react(T, p, Y, 1e-6)
    given = np.random.default_rng(1).permutation(T.size).astype(float)
    given[5] = np.nan  # of a cell that could not be integrated
    arrays = dict(T=T.copy(), p=p, Y=np.asfortranarray(Y.T), steps=given.copy())
    host.frame.properties.react(
        "volume", [field(n, stripes.INOUT, a) for n, a in arrays.items()], 1e-6, (None,) * 4, (None,) * 4
    )

    assert len(seen) == 2
    for first, found in zip((0, 32), seen):
        np.testing.assert_array_equal(found, T[first:][given[first : first + 32].argsort()])
    for name in ("T", "p", "steps"):
        np.testing.assert_array_equal(arrays[name], wanted[name], name)

    np.testing.assert_array_equal(arrays["Y"], wanted["Y"].T)


def field(name, way, array):
    return stripes.Field(name, way, array.ctypes.data, array.shape, array.strides, (1,) * array.ndim, 8)


STRANGE = {  # (T, p, dt), status of each point, and why
    "backwards": ((1500.0, 1e5, -1e-6), [5], "1 not a state that reacts"),
    "without an end": ((1500.0, 1e5, np.inf), [5], "1 not a state that reacts"),
    "without pressure": ((1500.0, 0.0, 1e-6), [5], "1 not a state that reacts.* p not positive"),
    "some": (([1500.0, -5.0, 1500.0], 1e5, [1e-6, 1e-6, np.nan]), [0, 5, 5], r"first at point \[1\].* 2 not a state"),
}


@pytest.mark.parametrize("case", STRANGE)
def test_points_without_an_end_are_said(case):
    """With the user's line; a point that a mask hides is none."""
    (T, p, dt), status, words = STRANGE[case]
    mix = mixture(**IDEAL)
    with pytest.warns(RuntimeWarning, match=f"no end of the reactions found.*{words}") as warned:
        out = mix.react(T, p, X=OXYGEN, dt=dt)
    assert np.array_equal(np.atleast_1d(out["status"]), status) and warned[0].filename == __file__ and len(warned) == 1

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hidden = mix.react(np.ma.array([1500.0, 100.0], mask=[False, True]), 1e5, X=OXYGEN, dt=1e-9)
    assert hidden["status"][0] == 0 and np.isfinite(hidden["T"][0])
