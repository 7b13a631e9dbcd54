"""Chemical equilibrium: its conditions, what is conserved, Cantera, bits, devices, the calls from Python."""

import warnings

import numpy as np
import pytest
from device_for_tests import be  # noqa: F401
from mixtures_for_tests import ROOT

from kernels import Mixture, get_backend
from kernels.engine.errors import ArgumentError
from kernels.gas.equilibria.equilibria import components

MECHANISMS = ROOT / "examples/mechanisms"
IDEAL, REAL, MAPPED = dict(equation="ideal"), dict(equation="pr"), dict(equation="mapped")
HELD = {"TP": "T p", "TV": "T rho", "HP": "h p", "UV": "e rho", "SP": "s p", "SV": "s rho"}


def mixture(name="h2_o2", **options):
    return Mixture.from_yaml(MECHANISMS / f"{name}.yaml", "real", **options)


def states(mix, n, seed=1):
    """T, p and X: pure species, a few species of any amounts, traces down to 1e-12; a quarter of them cold."""
    rng = np.random.default_rng(seed)
    T = rng.uniform(300, 4000, n)
    T[::4] = rng.uniform(300, 900, T[::4].size)
    X = np.zeros((mix.ns, n))
    for i in range(n):
        some = rng.choice(mix.ns, rng.integers(1, 5), replace=False)
        X[some, i] = 10 ** rng.uniform(-12, 0, some.size) if i % 3 else rng.uniform(0, 1, some.size)
    return T, 10 ** rng.uniform(4, 7, n), X / X.sum(0)


def atoms_of(mix):
    """(elements, species)"""
    atoms = mix.species.atoms
    elements = sorted({e for name in mix.names for e in atoms[name]})
    return np.array([[atoms[name].get(e, 0.0) for name in mix.names] for e in elements])


def residuals(mix, out):
    """By points: the largest |mu_k/RT - sum_e a_ke pi_e| of species above 1e-100, with the pi_e that fit best."""
    T, p, X = out["T"], out["p"], out["X"]
    g = mix.properties("g_Y", T=T, p=p, X=X)["g_Y"] * mix.species.W[:, None] / (8.31446261815324 * T)
    A, left = atoms_of(mix), np.zeros(T.size)
    for i in range(T.size):
        there = X[:, i] > 1e-100
        pi = np.linalg.lstsq(A[:, there].T, g[there, i], rcond=None)[0]
        left[i] = np.abs(g[there, i] - A[:, there].T @ pi).max()
    return left


@pytest.mark.filterwarnings("ignore:T = ", "ignore:no chemical")
@pytest.mark.parametrize("options", (IDEAL, REAL, MAPPED), ids=("ideal", "pr", "mapped"))
@pytest.mark.parametrize("held", HELD)
@pytest.mark.quick(held="HP", options=[MAPPED])
@pytest.mark.quick(held="TP", options=[IDEAL])
def test_potentials_balance(held, options):
    """Conditions of an equilibrium: mu_k = sum_e a_ke pi_e for every species that is there, the given atoms, and the
    two numbers that are held. mu/RT is of the order of 100 and has 1e-13 of it; real gases stop at steps of 1e-11."""
    mix = mixture(**options)
    T, p, X = states(mix, 300)
    came = mix.properties(f"{HELD[held]} Y", T=T, p=p, X=X)
    out = mix.equilibrate(held, T=T, p=p, X=X)

    found = out["status"] == 0
    assert found.mean() > 0.93  # the others are hotter than 6000 K, or denser than the equation's b
    found &= out["T"] > 300  # colder water at a given density is a vapour that no pressure holds
    found &= out["p"] <= 1e9  # from T and p equation mapped gives NaN above
    out = {name: value[..., found] for name, value in out.items()}
    assert residuals(mix, out).max() < 1e-9

    A = atoms_of(mix) / mix.species.W
    assert (np.abs(A @ out["Y"] - A @ came["Y"][:, found]) <= 1e-13 * (A @ came["Y"][:, found]) + 1e-20).all()

    again = mix.properties(HELD[held].replace("T", "W"), T=out["T"], p=out["p"], Y=out["Y"])
    for name in HELD[held].split():
        size = {"h": 1e6, "e": 1e6, "s": 1e3}.get(name, 0.0)
        if name in again:
            assert (np.abs(again[name] - came[name][found]) <= 1e-9 * (np.abs(came[name][found]) + size)).all(), name


def at_end(mix, held, T, p, came):
    """The value of the held quantity in equilibrium at a temperature T, at the same pressure or density."""
    name = HELD[held].split()[0]
    T = np.full(p.size, T)
    if held.endswith("P"):
        end = mix.equilibrate("TP", T=T, p=p, Y=came["Y"])
    else:
        end = mix.equilibrate("TV", T=T, rho=came["rho"], Y=came["Y"])
    return mix.properties(name, T=T, p=end["p"], Y=end["Y"])[name]


@pytest.mark.filterwarnings("ignore:T = ", "ignore:no chemical", "ignore:invalid value")
@pytest.mark.parametrize("options", (IDEAL, REAL), ids=("ideal", "pr"))
@pytest.mark.parametrize("held", ("HP", "UV", "SP", "SV"))
@pytest.mark.long(options=[REAL])
def test_what_has_no_equilibrium(held, options):
    """Every point without a result, and its reason. 2: at 6000 K the equilibrium holds less than came. 3: between two
    temperatures that are the same to 1e-9 the equilibria hold less and more: vapour and liquid. 1: the products are
    denser than the equation permits, so that they have no positive pressure."""
    mix = mixture(**options)
    T, p, X = states(mix, 500)
    came = mix.properties(f"{HELD[held].split()[0]} rho Y", T=T, p=p, X=X)
    wanted = came[HELD[held].split()[0]]
    status = mix.equilibrate(held, T=T, p=p, X=X)["status"]

    assert np.array_equal(status == 2, wanted > at_end(mix, held, 5999.99, p, came))
    assert (status == 0).mean() > 0.93

    between = status == 3
    part = {"Y": came["Y"][:, between], "rho": came["rho"][between]}
    low, high = np.full(between.sum(), 20.1), np.full(between.sum(), 3000.0)
    for _ in range(36 if between.any() else 0):
        middle = 0.5 * (low + high)
        parts = mix.equilibrate("TP", T=middle, p=p[between], Y=part["Y"])
        less = mix.properties("s", T=middle, p=p[between], Y=parts["Y"])["s"] < wanted[between]
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    if between.any():
        assert held == "SP"
        ends = []
        for at in (low, high):
            parts = mix.equilibrate("TP", T=at, p=p[between], Y=part["Y"])
            ends.append(mix.properties("s", T=at, p=p[between], Y=parts["Y"])["s"])
        assert (high - low < 1e-6).all() and (ends[1] - ends[0] > 10.0).all()  # J/kg/K

    dense = status == 1
    if dense.any():
        assert options is REAL and held in ("UV", "SV")
        ideal = mixture(**IDEAL)
        hot = np.full(dense.sum(), 3000.0)
        made = ideal.equilibrate("TV", T=hot, rho=came["rho"][dense], Y=came["Y"][:, dense])["Y"]
        assert not (mix.properties("p", T=hot, rho=came["rho"][dense], Y=made)["p"] > 0).any()


def test_traces():
    """Water at 300 K: hydrogen of 2 H2O = 2 H2 + O2, x^3/2 = K. GRI-Mech's polynomials give the K."""
    mix = mixture(**IDEAL)
    out = mix.equilibrate("TP", T=300.0, p=101325.0, X="H2O:1")
    g = []
    for name in ("H2O", "H2", "O2"):
        _, h, s = mix.species.polynomial(mix.names.index(name), 300.0)
        g.append(h - s)
    K = np.exp(2 * g[0] - 2 * g[1] - g[2]) * mix.species.p_ref / 101325.0
    x = np.array([out["X"][mix.names.index(n)] for n in ("H2", "O2")])
    assert x[0] < 1e-25 and np.allclose(x, np.cbrt(2 * K) * np.array([1.0, 0.5]), rtol=1e-9)


def test_absent_elements():
    mix = mixture(**IDEAL)
    out = mix.equilibrate("HP", T=1000.0, p=1e5, X="H2:1, H:0.01")
    assert (out["Y"][[mix.names.index(n) for n in ("O2", "H2O", "OH", "N2")]] == 0).all()

    alone = Mixture.from_names("N2", equation="ideal").equilibrate("UV", T=500.0, p=1e5, X="N2:1")
    assert alone["T"] == pytest.approx(500.0, rel=1e-12) and alone["p"] == pytest.approx(1e5, rel=1e-12)


def test_components_without_reactions():
    """Rows that depend on each other are left out: CH4 and O2 have C, H and O, and two components."""
    rows, first = components([[1, 4, 0], [0, 0, 2]], [1, 0])
    assert first == [1, 0] and np.array_equal(rows, [[0, 1], [1, 0]])
    mix = Mixture.from_names("CH4 O2", equation="ideal")
    out = mix.equilibrate("TP", T=2000.0, p=1e5, X="CH4:1, O2:3")
    assert np.allclose(out["X"], [0.25, 0.75], rtol=1e-14)


@pytest.mark.filterwarnings("ignore:T = ")
@pytest.mark.parametrize("options", (dict(accuracy="cantera"), IDEAL), ids=("real", "ideal"))
@pytest.mark.parametrize("name, X", (("h2_o2", "H2:2, O2:1"), ("ch4_o2", "CH4:1, O2:1.5")))
@pytest.mark.parametrize("held", ("TP", "HP", "UV", "SP"))
@pytest.mark.quick(held="HP")
def test_cantera(held, name, X, options):
    """Every shipped mechanism, ideal and real: 1e-6 in T, 1e-8 in X."""
    ct = pytest.importorskip("cantera")
    file, phase = str(MECHANISMS / f"{name}.yaml"), "ideal" if options is IDEAL else "real"
    mix, gas = Mixture.from_yaml(file, phase, **options), ct.Solution(file, phase)
    T, p = np.array([300.0, 1000.0, 3000.0]), np.array([1e5, 3e6, 1e7])
    out = mix.equilibrate(held, T=T, p=p, X=X)
    for i in range(T.size):
        gas.TPX = T[i], p[i], X
        gas.equilibrate(held, rtol=1e-9, max_steps=5000)
        assert abs(out["T"][i] / gas.T - 1) < 1e-6 and np.abs(out["X"][:, i] - gas.X).max() < 1e-8


@pytest.mark.parametrize("file", ("gri30.yaml", "airNASA9.yaml", "SiF4_NH3_mec.yaml"))
@pytest.mark.long(file=["airNASA9.yaml", "SiF4_NH3_mec.yaml"])
def test_mechanisms_of_cantera(file):
    """Mixtures of all species, of halves and of single ones; nine coefficients, ions, other elements."""
    ct = pytest.importorskip("cantera")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mix = Mixture.from_yaml(file, equation="ideal", without="e-" if "air" in file else ())
        there = [s for s in ct.Species.list_from_file(file) if s.name in mix.names]
        gas = ct.Solution(thermo="ideal-gas", species=there)
        X = np.eye(mix.ns)[:, [0, mix.ns // 2]]
        X = np.concatenate([X, np.ones((mix.ns, 1)), np.arange(mix.ns)[:, None] % 2 + 1e-9], axis=1)
        out = mix.equilibrate("TP", T=2500.0, p=1e6, X=X)

    assert (out["status"] == 0).all()
    for i in range(X.shape[1]):
        gas.TPX = 2500.0, 1e6, dict(zip(mix.names, X[:, i]))
        gas.equilibrate("TP", rtol=1e-9, max_steps=5000)
        for name, x in zip(mix.names, out["X"][:, i]):
            assert abs(x - gas[name].X[0]) < 1e-8, name


def test_bits_do_not_depend_on_neighbours():
    mix = mixture(**IDEAL)
    T, p, X = states(mix, 40)
    Y = mix.properties("Y", X=X)["Y"]
    whole = mix.properties("Y_eq", T=T, p=p, Y=Y)["Y_eq"]
    for i in range(0, 40, 7):
        alone = mix.properties("Y_eq", T=T[i], p=p[i], Y=Y[:, i])["Y_eq"]
        assert (alone == whole[:, i]).all()


@pytest.mark.parametrize("options", (IDEAL, REAL), ids=("ideal", "pr"))
@pytest.mark.long(options=[REAL])
def test_cuda(be, options):  # noqa: F811
    """The CUDA source, on the stand-in or a device."""
    mix = mixture(**options)
    T, p, X = states(mix, 20)
    Y = mix.properties("Y", X=X)["Y"]
    given = dict(h=mix.properties("h", T=np.minimum(T, 2500), p=p, X=X)["h"], p=p, Y=Y)
    here, there = (mix.properties("T_eq Y_eq", backend=b, **given) for b in ("cpu", be))
    for name in here:
        assert np.allclose(here[name], there[name], rtol=1e-8, atol=1e-12, equal_nan=True), name


@pytest.mark.parametrize("given", ("T p", "h p", "e rho"))
@pytest.mark.long(given=["h p", "e rho"])
def test_compiles_for_a_gpu(given):
    """NVRTC, sm_90: it wants constants where g++ takes members of an argument."""
    target = get_backend("cuda", arch="sm_90")
    mixture(**IDEAL).program("Y_eq status_eq", f"{given} Y", backend=target)


# ---- calls from Python


def test_state_that_comes_as_what_is_held():
    mix = mixture(**IDEAL)
    h = mix.properties("h", T=400.0, p=1e5, X="H2:2, O2:1")["h"]
    one = mix.equilibrate("HP", h=h, p=1e5, X="H2:2, O2:1")
    other = mix.equilibrate("hp", T=400.0, p=1e5, X={"H2": 2, "O2": 1})
    assert all(np.array_equal(one[name], other[name]) for name in one)
    assert set(one) == {"T", "p", "rho", "h", "X", "Y", "status", "steps"}


def test_shapes_broadcast():
    mix = mixture(**IDEAL)
    X = mix.mixture_of("H2", "O2:1, N2:3.76", phi=np.linspace(0.5, 2, 4))
    out = mix.equilibrate("HP", T=np.linspace(300, 600, 3)[:, None], p=1e5, X=X)
    assert out["T"].shape == (3, 4) and out["Y"].shape == (mix.ns, 3, 4)
    assert (np.diff(out["T"], axis=0) > 0).all()
    assert np.array_equal(mix.equilibrate("TV", T=2000.0, p=1e5, X=X)["rho"].shape, (4,))


def test_not_found_is_nan_and_reported():
    mix = mixture(**IDEAL)
    with pytest.warns(
        RuntimeWarning, match=r"no chemical equilibrium found at 1 of 2 points, first at point \[1\].*1 not found"
    ) as warned:
        out = mix.equilibrate("HP", T=3000.0, p=np.array([1e5, -1.0]), X="H2:1, O2:1")
    assert np.isnan(out["T"][1]) and np.isnan(out["Y"][:, 1]).all() and out["status"][1] == 1
    assert np.isfinite(out["T"][0]) and len(warned) == 1


def test_refused():
    mix = mixture(**IDEAL)
    for text, given in (
        ("held = 'HT'", dict(held="HT", T=300, p=1e5, X="O2:1")),
        ("T came; wanted two of", dict(held="HP", T=300, X="O2:1")),
        ("give one of X and Y", dict(held="HP", T=300, p=1e5)),
        ("'pressure' is no part of a state; wanted T, p, rho", dict(held="HP", T=300, pressure=1e5)),
    ):
        with pytest.raises(ArgumentError, match=text):
            mix.equilibrate(given.pop("held"), **given)

    arrays = mix.species.subset(mix.names, [f"{name}*" for name in mix.names])
    object.__setattr__(arrays, "atoms", {})
    with pytest.raises(ArgumentError, match="which atoms they have is not known"):
        Mixture(arrays, equation="ideal").equilibrate("TP", T=300, p=1e5, X={"O2*": 1})


@pytest.mark.parametrize("basis", ("mole", "mass"))
def test_mixture_of(basis):
    ct = pytest.importorskip("cantera")
    mix = Mixture.from_yaml(MECHANISMS / "ch4_o2.yaml", "ideal", equation="ideal")
    gas = ct.Solution(str(MECHANISMS / "ch4_o2.yaml"), "ideal")
    phi = np.array([0.0, 0.4, 1.0, 3.0])
    fuel, air = "CH4:3, CO:1, O2:0.1", "O2:1, N2:3.76, H2O:0.1"
    X = mix.mixture_of(fuel, air, phi, basis=basis)
    for i in range(phi.size):
        gas.set_equivalence_ratio(phi[i], fuel, air, basis=basis)
        assert np.allclose(X[:, i], gas.X, rtol=1e-12, atol=1e-15)

    for text, *parts in (("needs no oxygen", "N2", "O2"), ("no oxygen to give", "CH4", "N2"), ("'fuel'", "CH5", "O2")):
        with pytest.raises(ArgumentError, match=text):
            mix.mixture_of(*parts)


@pytest.mark.parametrize("held", ["TP", "HP", "TV"])
def test_a_temperature_out_of_range_is_said_once(held):
    mix = mixture(**IDEAL)
    with pytest.warns(RuntimeWarning, match=r"T = -5 K at point \[0\] is outside 20 to 6000 K") as warned:
        out = mix.equilibrate(held, T=np.array([-5.0, 2000.0]), p=1e5, X="H2:1, O2:1")

    assert len(warned) == 1 and warned[0].filename == __file__
    assert np.isnan(out["Y"][:, 0]).all() and np.isfinite(out["Y"][:, 1]).all()
