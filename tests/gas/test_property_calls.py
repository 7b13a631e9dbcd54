"""Calls of Mixture.properties: compositions, shapes, the same bits anywhere, wrong points and wrong calls."""

import numpy as np
import pytest
from kernel_cases import compare, expected, mixture, near_saturation, same, states
from mixtures_for_tests import changed, species_set
from reference import evaluate, value

from kernels import ArgumentError, Mixture, get_backend


def test_mole_fractions_in():
    s = states(10, 500)
    X = value(expected(10, 500, transport=False).X).astype(float)
    got = mixture(10).properties("rho h W Y", T=s["T"], p=s["p"], X=X)
    q = evaluate(species_set(10), s["T"], s["p"], X=X, transport=False)
    compare("rho h W Y", got, q, "X=")


def test_reference_pressure_of_the_entropies():
    data = changed(species_set(10), p_ref=1e5)
    s = states(10, 200)
    got = Mixture.from_species(data).properties("s", T=s["T"], p=s["p"], Y=s["Y"])
    compare("s", got, evaluate(data, s["T"], s["p"], s["Y"], transport=False), "p_ref = 1 bar")


EVERYTHING = "W Z rho h e s cp cv gamma c rho_p rho_T h_p h_T mu lam D"


@pytest.mark.parametrize("ns", (1, 2, 10))
@pytest.mark.quick(ns=10)
def test_bit_identical_for_any_place_chunk_and_threads(ns):
    """Neighbours of other temperature ranges and numbers of roots included: a pack may take short cuts, not other
    results."""
    T, p, Y = (states(ns, 1000)[k] for k in ("T", "p", "Y"))
    if ns == 1:
        near = near_saturation()
        T, p, Y = np.concatenate([T, near[0]]), np.concatenate([p, near[1]]), np.ones((1, 1000 + near[0].size))

    mix = mixture(ns)
    whole = mix.properties(EVERYTHING, T=T, p=p, Y=Y)
    order = np.random.default_rng(0).permutation(T.size)
    back = np.argsort(order)
    shuffled = mix.properties(EVERYTHING, T=T[order], p=p[order], Y=Y[:, order])

    assert same(whole, {k: np.ascontiguousarray(v[..., back]) for k, v in shuffled.items()})

    for size in (*range(1, 20), 64, 75, 129, 250):
        first = mix.properties(EVERYTHING, T=T[:size], p=p[:size], Y=Y[:, :size])
        assert same(first, {k: np.ascontiguousarray(v[..., :size]) for k, v in whole.items()}), f"chunk of {size}"

    for threads in (2, 3):
        assert same(whole, mix.properties(EVERYTHING, T=T, p=p, Y=Y, backend=get_backend("cpu", threads=threads)))


@pytest.mark.parametrize(
    "names", ("rho", "c", "h cp", "s", "mu", "lam D", "D", "W Z rho h e cp cv gamma c rho_p rho_T h_p h_T")
)
@pytest.mark.quick(names=["h cp", "lam D", "mu", "rho", "s"])
def test_a_subset_of_the_names_gives_the_same(names):
    """Fusion must not change values beyond the order of contraction that the compiler picks: 1/8 of the bound."""
    s = {k: states(10, 1000)[k] for k in ("T", "p", "Y")}
    whole = mixture(10).properties(EVERYTHING, **s)
    part = mixture(10).properties(names, **s)
    q = expected(10, 1000)

    for name in names.split():
        bound = 2.2e-16 * getattr(q, name).err
        assert (np.abs(part[name] - whole[name]) / bound).max() < 0.125, name


def test_one_name_and_names_in_any_order():
    s = {k: states(2, 50)[k] for k in ("T", "p", "Y")}
    out = mixture(2).properties(["h", "rho", "T"], **s)
    assert list(out) == ["h", "rho", "T"] and (out["T"] == s["T"]).all()
    assert same({"rho": out["rho"]}, mixture(2).properties("rho", **s))


def test_any_shape_after_the_species_axis():
    s = {k: states(10, 60)[k] for k in ("T", "p", "Y")}
    flat = mixture(10).properties("rho X", **s)
    T, p, Y = s["T"].reshape(3, 4, 5), s["p"].reshape(3, 4, 5), s["Y"].reshape(10, 3, 4, 5)
    cube = mixture(10).properties("rho X", T=T, p=p, Y=Y)

    assert cube["rho"].shape == (3, 4, 5) and cube["X"].shape == (10, 3, 4, 5)
    assert (cube["rho"].ravel() == flat["rho"]).all() and (cube["X"].reshape(10, -1) == flat["X"]).all()

    fortran = mixture(10).properties("rho", T=np.asfortranarray(T), p=p, Y=np.asfortranarray(Y))
    assert (fortran["rho"] == cube["rho"]).all()

    strided = mixture(10).properties("rho", T=s["T"][::3], p=s["p"][::3], Y=s["Y"][:, ::3])
    assert (strided["rho"] == flat["rho"][::3]).all()

    one = mixture(10).properties("rho X", T=s["T"][7], p=s["p"][7], Y=s["Y"][:, 7])
    assert one["rho"].shape == () and one["rho"] == flat["rho"][7] and one["X"].shape == (10,)

    same_p = mixture(10).properties("rho", T=s["T"], p=1e7, Y=s["Y"][:, :1])
    assert (
        same_p["rho"]
        == mixture(10).properties("rho", T=s["T"], p=np.full(60, 1e7), Y=np.repeat(s["Y"][:, :1], 60, 1))["rho"]
    ).all()

    assert mixture(10).properties("rho", T=np.zeros(0), p=1e5, Y=np.zeros((10, 0)))["rho"].shape == (0,)
    none = mixture(10).properties("D X", T=np.zeros((2, 0)), p=1e5, Y=np.zeros((10, 1, 1)))
    assert none["D"].shape == none["X"].shape == (10, 2, 0)


BROKEN = {  # name: (field, value at the point)
    "T = NaN": ("T", np.nan),
    "T < 0": ("T", -300.0),
    "T = 0": ("T", 0.0),
    "T = inf": ("T", np.inf),
    "p = NaN": ("p", np.nan),
    "p < 0": ("p", -1e5),
    "p = 0": ("p", 0.0),
    "Y = NaN": ("Y", np.nan),
    "sum(Y) = 1.1": ("Y", None),
    "Y < 0": ("Y", -0.2),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_point_is_nan_and_alone(fault):
    """Every quantity that depends on the broken field is NaN at that point; every other point keeps its bits."""
    field, bad = BROKEN[fault]
    s = {k: states(10, 40)[k].copy() for k in ("T", "p", "Y")}
    names = EVERYTHING + " D_ij"
    clean = mixture(10).properties(names, **s)
    k = 13

    if field != "Y":
        s[field][k] = bad
    elif bad is None:
        s["Y"][:, k] *= 1.1
    else:
        s["Y"][2, k] = bad

    got = mixture(10).properties(names, **s)
    others = np.arange(40) != k

    for name, v in got.items():
        assert (v[..., others] == clean[name][..., others]).all(), f"{name}: a neighbour changed"
        if name == "W" and field != "Y":
            assert v[k] == clean["W"][k]
        else:
            assert np.isnan(v[..., k]).all(), f"{fault}: {name} = {v[..., k]}"


@pytest.mark.parametrize("composition", ("Y", "X"))
@pytest.mark.quick(composition="Y")
def test_one_species_is_all_there_is_or_nothing(composition):
    """With one species, quantities of the composition are computed once. A point whose fraction is not 1 is NaN in all
    names, as with more species, and changes no other point. Amounts X are divided by their sum."""
    T, p = np.linspace(200, 2500, 300), np.geomspace(1e4, 3e7, 300)
    one, names = np.ones((1, 300)), " ".join(n for n in (EVERYTHING + " D_ij").split() if n != composition)
    clean = mixture(1).properties(names, **{"T": T, "p": p, composition: one})
    bad = {8: np.nan, 150: -1.0}

    if composition == "Y":
        bad |= {7: 0.5, 299: 1.01}
    else:
        one[0, 7] = 0.5

    for k, wrong in bad.items():
        one[0, k] = wrong
    got = mixture(1).properties(names, **{"T": T, "p": p, composition: one})
    others = np.setdiff1d(np.arange(300), list(bad))

    for name in names.split():
        assert np.isfinite(clean[name]).all() and (got[name][..., others] == clean[name][..., others]).all(), name
        assert np.isnan(got[name][..., list(bad)]).all(), name

    W = float(species_set(1).W[0])
    assert (clean["W"] == clean["W"][0]).all() and abs(clean["W"][0] / W - 1) < 4 * np.finfo(float).eps


def test_wrong_calls_are_refused():
    mix = mixture(10)
    s = {k: states(10, 40)[k] for k in ("T", "p", "Y")}

    refused = [
        ("enthalpy", s, "enthalpy"),
        ("", s, "quantit"),
        ("rho", {**s, "tau": s["T"]}, "tau"),
        ("rho", {"T": s["T"], "Y": s["Y"]}, "p"),
        ("rho", {"T": s["T"], "p": s["p"]}, "Y"),
        ("rho", {**s, "Y": s["Y"][:9]}, "10"),
        ("rho", {**s, "T": s["T"][:39]}, "39"),
        ("rho", {**s, "Y": np.float64(1)}, "Y"),
        ("h0", s, "u"),
        ("rho", {**s, "T": None}, "T"),
        ("rho", {**s, "T": "hot"}, "T"),
        ("rho", {**s, "p": 1j}, "p"),
    ]
    for names, arrays, word in refused:
        with pytest.raises(ArgumentError) as caught:
            mix.properties(names, **arrays)
        assert word in str(caught.value), str(caught.value)

    for call in (
        lambda: mix.kernel("no_such"),
        lambda: mix.kernel("internal_energy")(h=1.4),
        lambda: mix.kernel("internal_energy")(h=1.4, p=1e5, vol=1.0, T=300.0),
        lambda: mix.properties("rho", **s, backend="abacus"),
        lambda: mix.properties("rho", **s, precision="half"),
        lambda: Mixture.from_species(species_set(1), root="lowest"),
        lambda: Mixture.from_species(species_set(1), roots="gibbs"),
    ):
        with pytest.raises(ArgumentError):
            call()


def test_no_points():
    out = mixture(10).properties("rho D", T=np.zeros(0), p=1e5, Y=np.zeros((10, 0)))
    assert out["rho"].shape == (0,) and out["D"].shape == (10, 0)


def test_mole_fractions_that_do_not_sum_to_one():
    """The kernel makes NaN of them, at that point; `properties` divides amounts of moles by their sum first."""
    s = states(10, 5)
    X = s["Y"].copy()  # any composition
    X[:, 2] *= 1.01
    Y = mixture(10).kernel("mass_fractions")(X=X)["Y"]

    assert np.isnan(Y[:, 2]).all() and np.isfinite(np.delete(Y, 2, axis=1)).all()

    clean, got = (mixture(10).properties("rho mu", T=s["T"], p=s["p"], X=x) for x in (s["Y"], X))
    for name in clean:
        assert (np.delete(got[name], 2) == np.delete(clean[name], 2)).all()
        # fractions differ by 3 roundings; densities and viscosities of dense states by 1e4 times as much
        assert got[name][2] == pytest.approx(clean[name][2], rel=1e4 * 3 * 2.2e-16)


def test_both_compositions_are_refused():
    """X and Y together could contradict each other."""
    s = {k: states(10, 5)[k] for k in ("T", "p", "Y")}
    with pytest.raises(ArgumentError):
        mixture(10).properties("rho", **s, X=s["Y"])


def test_a_bound_program_refuses_what_it_cannot_read():
    """Before anything is launched: what is no array, and a number of points that the arrays do not have."""
    mix = mixture(10)
    program = mix.program(outputs="rho", given="T p Y", backend="cpu")
    arrays = dict(T=np.full(4, 300.0), p=np.full(4, 1e7), Y=np.full((10, 4), 0.1), rho=np.full(4, np.nan))

    for wrong, text in (
        (dict(T=[300.0] * 4), "array 'T' is list, wanted an array of float64"),
        (dict(p=1e7), "array 'p' is float, wanted an array of float64"),
    ):
        with pytest.raises(ArgumentError, match=text):
            program.bind(arrays | wrong)

    both = mix.program(outputs="rho h", given="T p Y", backend="cpu")
    with pytest.raises(ArgumentError, match="results 'rho' and 'h' have the same array"):
        both.bind(arrays | dict(h=arrays["rho"]))

    launch = program.bind(arrays)
    for points in (-1, 5):
        with pytest.raises(ArgumentError, match=f"{points} points asked for, the arrays hold 4"):
            launch(points)
    assert np.isnan(arrays["rho"]).all()
    launch(4)
    assert (arrays["rho"] > 0).all()
