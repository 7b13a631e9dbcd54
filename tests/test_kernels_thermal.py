"""Thermal kernels against the NumPy oracles: through Mixture.properties, and each one alone."""
import numpy as np
import pytest

from kernel_cases import THERMAL, TRANSPORT, check_single, compare, expected, mixture, project_kernels, relaxed, states
from kernels import ArgumentError, Mixture, get_backend
from mixtures_for_tests import KIJ, changed, species_set
from reference import evaluate, peng_robinson, single, species, value

SIZES = (1, 2, 10, 53)
RANDOM = 10000


@pytest.mark.parametrize("n", (RANDOM, 0), ids=("random", "grid"))
@pytest.mark.parametrize("ns", SIZES)
def test_every_name(ns, n):
    got = mixture(ns).properties(THERMAL, **states(ns, n))
    compare(THERMAL, got, expected(ns, n, transport=False), f"NS={ns}")


@pytest.mark.parametrize("kij", [k for k in KIJ if k != "file"])
@pytest.mark.parametrize("ns", (2, 10, 53))
def test_every_structure_of_kij(ns, kij):
    names = "rho h s cp c a_mix a_T a_TT Tc_mix pc_mix"
    given = {k: v for k, v in states(ns, 2000).items() if k in "TpY"}
    got = mixture(ns, kij).properties(names, **given)
    compare(names, got, expected(ns, 2000, kij, False), f"NS={ns} k_ij {kij}")


def test_kij_structures_are_told_apart():
    """The tests above must have gone by four different ways of summing."""
    assert {mixture(53, kij).structure for kij in ("none", "sparse", "low_rank", "dense")} == {"none", "sparse", "lowrank", "dense"}


@pytest.mark.parametrize("options", (dict(root="vapour"), dict(root="liquid"), dict(alpha="cantera"), dict(mixing="vdw")),
                         ids=lambda o: "-".join(map(str, *o.items())))
@pytest.mark.parametrize("ns", (1, 53))
def test_options(ns, options):
    """NS = 53 holds species heavy enough for the branch of alpha above omega = 0.491."""
    data = species_set(ns)
    if "alpha" in options:
        data = changed(data, omega=np.where(np.arange(ns) % 2 == 0, 0.6, data.omega))
    s = states(ns, 2000)
    names = "Z rho h e s cp cv c rho_p rho_T h_p h_T"
    got = Mixture.from_species(data, **options).properties(names, T=s["T"], p=s["p"], Y=s["Y"])
    q = evaluate(data, s["T"], s["p"], s["Y"], transport=False, **options)
    compare(names, got, q, f"NS={ns} {options}")
    if "root" in options:
        other = evaluate(data, s["T"], s["p"], s["Y"], transport=False)
        assert (np.abs(value(q.rho)/value(other.rho) - 1) > 0.01).sum() > 5, "no state has two roots: nothing was tested"


def test_negative_slope_of_alpha():
    """Helium (omega = -0.39) has kappa < 0: its a grows with T, and a' of the mixture has terms of both signs."""
    data = changed(species_set(2), omega=[-0.39, 0.2239])
    s = states(2, 2000)
    names = "Z rho h e s cp cv c rho_p rho_T h_p h_T a_mix a_T a_TT"
    got = Mixture.from_species(data).properties(names, T=s["T"], p=s["p"], Y=s["Y"])
    compare(names, got, evaluate(data, s["T"], s["p"], s["Y"], transport=False), "omega < -0.22")


def near_saturation():
    """N2 from 80 to 120 K on both sides of where the two roots have the same Gibbs energy, down to a relative 1e-9."""
    sp = species.arrays(species_set(1))
    T = np.linspace(80, 120, 46).astype(peng_robinson.LD)
    a, _, _, b = peng_robinson.mixture_ab(T, np.ones((1, 46), peng_robinson.LD), sp)
    RT = species.R*T
    low, high = np.full(46, 1e4).astype(T.dtype), np.full(46, 3.4e6).astype(T.dtype)
    for _ in range(80):
        p = np.sqrt(low*high)
        A, B = a*p/RT**2, b*p/RT
        small, large = peng_robinson.roots(A, B)
        gap = peng_robinson.residual_gibbs(A, B, large) - peng_robinson.residual_gibbs(A, B, small)
        only_vapour = (small == large) & (small/B > 1)
        vapour = np.where(small == large, only_vapour, gap < 0)
        low, high = np.where(vapour, p, low), np.where(vapour, high, p)
    away = np.array([-1e-2, -1e-4, -1e-6, 1e-6, 1e-4, 1e-2])
    return np.repeat(T, 6).astype(float), (p[:, None]*(1 + away)).ravel().astype(float)


def test_root_switches_at_saturation():
    T, p = near_saturation()
    Y = np.ones((1, T.size))
    got = mixture(1).properties("rho Z", T=T, p=p, Y=Y)
    q = evaluate(species_set(1), T, p, Y, transport=False)
    assert not q.undecided.any()
    compare("rho Z", got, q, "saturation")
    rho = got["rho"].reshape(-1, 6)
    assert (rho[:, 3] > 1.2*rho[:, 2]).mean() > 0.9, "the six pressures do not straddle the jump in density"


def test_critical_point_and_spinodal():
    """Where the cubic has a double or triple root the density is only known to a power of eps: the bound says how well."""
    data = species_set(1)
    T = np.concatenate([np.full(41, data.Tc[0]), np.linspace(0.9, 1, 41)*data.Tc[0]])
    p = np.concatenate([data.pc[0]*(1 + np.linspace(-1e-3, 1e-3, 41)), np.full(41, data.pc[0])])
    Y = np.ones((1, T.size))
    got = mixture(1).properties("rho Z", T=T, p=p, Y=Y)
    q = evaluate(data, T, p, Y, transport=False)
    # eps^(1/3) in Z at the triple root itself, where first-order bounds end
    worst = np.abs(got["Z"]/value(q.Z) - 1).astype(float)
    assert worst.max() < 50*np.finfo(float).eps**(1/3)
    far = np.abs(p/data.pc[0] - 1) + np.abs(T/data.Tc[0] - 1) > 1e-4
    ratio = np.abs(got["Z"] - q.Z.val).astype(float)/(2.2e-16*q.Z.err)
    assert ratio[far].max() <= 2


# -- each kernel alone

def test_every_registered_kernel_has_an_oracle():
    assert set(project_kernels()) == set(single.THERMAL) | set(single.TRANSPORT)


SPECIES_KERNELS = [name for name, k in project_kernels().items() if name in single.THERMAL and k.constants]


@pytest.mark.parametrize("name", sorted(single.THERMAL))
def test_kernel_alone(name):
    check_single(name, 10, 2000)


@pytest.mark.parametrize("ns", (1, 2, 53))
@pytest.mark.parametrize("name", SPECIES_KERNELS)
def test_species_kernel_alone(name, ns):
    check_single(name, ns, 1000)


@pytest.mark.parametrize("root", ("vapour", "liquid"))
def test_compressibility_alone(root):
    check_single("pr_compressibility", 1, 3000, root=root)


# -- calling

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


def same(a, b):
    return all(a[k].shape == b[k].shape and (a[k].view(np.int64) == b[k].view(np.int64)).all() for k in a)


EVERYTHING = "W Z rho h e s cp cv gamma c rho_p rho_T h_p h_T mu lam D"


@pytest.mark.parametrize("ns", (1, 2, 10))
def test_bit_identical_for_any_place_chunk_and_threads(ns):
    """Neighbours of other temperature ranges and numbers of roots included: a pack may take short cuts, not other results."""
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


@pytest.mark.parametrize("names", ("rho", "c", "h cp", "s", "mu", "lam D", "D", "W Z rho h e cp cv gamma c rho_p rho_T h_p h_T"))
def test_a_subset_of_the_names_gives_the_same(names):
    """Fusion must not change values beyond the order of contraction that the compiler picks: 1/8 of the bound."""
    s = {k: states(10, 1000)[k] for k in ("T", "p", "Y")}
    whole = mixture(10).properties(EVERYTHING, **s)
    part = mixture(10).properties(names, **s)
    q = expected(10, 1000)
    for name in names.split():
        bound = 2.2e-16*getattr(q, name).err
        assert (np.abs(part[name] - whole[name])/bound).max() < 0.125, name


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
    assert (same_p["rho"] == mixture(10).properties("rho", T=s["T"], p=np.full(60, 1e7), Y=np.repeat(s["Y"][:, :1], 60, 1))["rho"]).all()
    assert mixture(10).properties("rho", T=np.zeros(0), p=1e5, Y=np.zeros((10, 0)))["rho"].shape == (0,)
    none = mixture(10).properties("D X", T=np.zeros((2, 0)), p=1e5, Y=np.zeros((10, 1, 1)))
    assert none["D"].shape == none["X"].shape == (10, 2, 0)


BROKEN = {                                    # name: (field, value at the point)
    "T = NaN": ("T", np.nan), "T < 0": ("T", -300.0), "T = 0": ("T", 0.0), "T = inf": ("T", np.inf),
    "p = NaN": ("p", np.nan), "p < 0": ("p", -1e5), "p = 0": ("p", 0.0),
    "Y = NaN": ("Y", np.nan), "sum(Y) = 1.1": ("Y", None), "Y < 0": ("Y", -0.2),
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


def test_wrong_calls_are_refused():
    mix = mixture(10)
    s = {k: states(10, 40)[k] for k in ("T", "p", "Y")}
    refused = [
        ("enthalpy", s, "enthalpy"), ("", s, "quantit"), ("rho", {**s, "tau": s["T"]}, "tau"),
        ("rho", {"T": s["T"], "Y": s["Y"]}, "p"), ("rho", {"T": s["T"], "p": s["p"]}, "Y"),
        ("rho", {**s, "Y": s["Y"][:9]}, "10"), ("rho", {**s, "T": s["T"][:39]}, "39"), ("rho", {**s, "Y": np.float64(1)}, "Y"),
        ("h0", s, "u"), ("rho", {**s, "T": None}, "T"), ("rho", {**s, "T": "hot"}, "T"), ("rho", {**s, "p": 1j}, "p"),
    ]
    for names, arrays, word in refused:
        with pytest.raises(ArgumentError) as caught:
            mix.properties(names, **arrays)
        assert word in str(caught.value), str(caught.value)
    for call in (lambda: mix.kernel("no_such"), lambda: mix.kernel("sound_speed")(gamma=1.4),
                 lambda: mix.kernel("sound_speed")(gamma=1.4, rho_p=1e-5, T=300.0),
                 lambda: mix.properties("rho", **s, backend="abacus"), lambda: mix.properties("rho", **s, precision="half"), lambda: Mixture.from_species(species_set(1), root="lowest"),
                 lambda: Mixture.from_species(species_set(1), roots="gibbs")):
        with pytest.raises(ArgumentError):
            call()


def test_no_points():
    out = mixture(10).properties("rho D", T=np.zeros(0), p=1e5, Y=np.zeros((10, 0)))
    assert out["rho"].shape == (0,) and out["D"].shape == (10, 0)


def test_mole_fractions_that_do_not_sum_to_one():
    """X is held to the rule for Y: NaN at that point, nothing is normalised in silence."""
    s = states(10, 5)
    X = s["Y"].copy()                    # any composition
    X[:, 2] *= 1.01
    clean, got = (mixture(10).properties("rho mu", T=s["T"], p=s["p"], X=x) for x in (s["Y"], X))
    for name in clean:
        assert np.isnan(got[name][2]) and (np.delete(got[name], 2) == np.delete(clean[name], 2)).all()


def test_both_compositions_are_refused():
    """X and Y together could contradict each other."""
    s = {k: states(10, 5)[k] for k in ("T", "p", "Y")}
    with pytest.raises(ArgumentError):
        mixture(10).properties("rho", **s, X=s["Y"])


@pytest.mark.parametrize("ns", (1, 10))
def test_wide_build_agrees(ns):
    """The same bodies in quadruple precision, rounded once: within the bound of the oracle and of the double build."""
    s = states(ns, 300)
    q = expected(ns, 300)
    names = " ".join(n for n in f"{THERMAL} {TRANSPORT}".split())
    wide = mixture(ns).properties(names, **s, precision="wide")
    double = mixture(ns).properties(names, **s)
    compare(names, wide, q, f"wide NS={ns}")
    for name in names.split():
        bound = relaxed(name, getattr(q, name), q.b_mix).err
        bound = bound.reshape(-1, 300) if name == "D_ij" else bound
        assert (np.abs(wide[name] - double[name]) <= 2*2.2e-16*bound)[..., ~q.undecided].all(), name


def test_scalar_build_agrees():
    s = states(10, 300)
    q = expected(10, 300)
    compare("rho h c mu lam", mixture(10).properties("rho h c mu lam", **{k: s[k] for k in "TpY"}, precision="scalar"), q, "scalar")
