"""Python as its users write it: compositions by name, types, shapes, check mode, messages that say what was meant."""

import shutil
import warnings

import numpy as np
import pytest
from mixtures_for_tests import species_set
from tensor_cases import on_stand_in

from kernels import ArgumentError, Mixture, SpeciesData, StateError, set_constant
from kernels.gas.composition import fractions

SPECIES = ("CH4", "O2", "CO2")


# ---- compositions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given, wanted",
    [
        ("CH4:1, O2:2", [1 / 3, 2 / 3, 0]),
        ("O2=0.25; CO2 : 0.75", [0, 0.25, 0.75]),
        ("CO2", [0, 0, 1]),
        ({"CH4": 1, "O2": 3}, [0.25, 0.75, 0]),
        (["CH4", "CO2"], [0.5, 0, 0.5]),
        (("O2:3", "CH4:1"), [0.25, 0.75, 0]),
        ({"CH4": [1.0, 3.0], "O2": 1}, [[0.5, 0.75], [0.5, 0.25], [0, 0]]),
    ],
)
@pytest.mark.parametrize("name", ["X", "Y"])
def test_compositions_by_name(name, given, wanted):
    np.testing.assert_allclose(fractions(name, given, SPECIES), wanted, rtol=1e-15)


@pytest.mark.parametrize(
    "given, wanted",
    [
        ("C8H18,n-octane:1, O2:3", [0.25, 0.75, 0]),
        ("O2:1, C8H18,n-octane", [0.5, 0.5, 0]),
        ("O2; C3,a,b: 3", [0, 0.25, 0.75]),
        ("C3,a,b=1,C8H18,n-octane=1", [0.5, 0, 0.5]),
    ],
)
def test_names_with_commas(given, wanted):
    """Cantera's nasa_gas.yaml has such names."""
    assert fractions("X", given, ("C8H18,n-octane", "O2", "C3,a,b")).tolist() == wanted


def test_other_inputs_stay_as_they_are():
    array = np.full((3, 4), 1 / 3)
    assert fractions("X", array, SPECIES) is array and fractions("X", [0.2, 0.3, 0.5], SPECIES) == [0.2, 0.3, 0.5]
    assert fractions("T", 300.0, SPECIES) == 300.0


@pytest.mark.parametrize(
    "given, words",
    [
        ("CH3:1", "'X': no species 'CH3' in this mixture, did you mean 'CH4'.*; wanted \"CH4:1, ...\""),
        ("CH5:1", "no species 'CH5' in this mixture, did you mean 'CH4'.*; wanted"),
        ("CH4:one", "'CH4' is 'one', wanted a number"),
        ("CH4:-1", "'CH4' is '-1', wanted a finite amount, 0 or more"),
        ("CH4:nan", "'CH4' is 'nan', wanted a finite amount, 0 or more"),
        ("CH4:0", "the amounts sum to 0"),
        ("", "nothing came, wanted"),
        ("CH4:1, CH4:2", "species 'CH4' is given more than once"),
        ({"CH4": np.ones(2), "O2": np.ones(3)}, r"amounts of different shapes: CH4 \(2,\), O2 \(3,\)"),
    ],
)
def test_compositions_that_make_no_sense(given, words):
    with pytest.raises(ArgumentError, match=words):
        fractions("X", given, SPECIES)


def test_a_pure_species_needs_no_composition():
    """A number, arrays, bubble points: the bits are those with Y = [1]."""
    pure = Mixture.from_names("CO2", phases="equilibrium")
    for p in (3e6, np.array([3e6, 5e6])):
        found, wanted = pure.properties("rho cp", T=280.0, p=p), pure.properties("rho cp", T=280.0, p=p, Y=[1.0])
        assert all((found[name] == wanted[name]).all() for name in wanted)
    assert pure.bubble_p(T=280.0) == pure.bubble_p(T=280.0, X=[1.0])

    two = Mixture.from_names("CO2 N2", phases="equilibrium")
    with pytest.raises(ArgumentError, match="missing Y .or X."):
        two.properties("rho", T=280.0, p=3e6)
    with pytest.raises(ArgumentError, match="the composition X or Y of CO2, N2 is missing"):
        two.bubble_p(T=280.0)


def test_properties_take_them():
    """W of CH4 + 2 O2, and over a field of dilutions."""
    mix = Mixture.from_species(species_set(10))
    W = dict(zip(mix.names, mix.species.W))
    wanted = (W["CH4"] + 2 * W["O2"]) / 3

    assert mix.properties("W", X="CH4:1, O2:2")["W"] == pytest.approx(wanted, rel=1e-14)

    got = mix.properties(["W"], X={"CH4": 1, "O2": [2.0, 0.0]})["W"]
    np.testing.assert_allclose(got, [wanted, W["CH4"]], rtol=1e-14)
    # W_O2 times the reciprocal of W_O2: the reciprocal and the product are rounded.
    found = mix.kernel("mass_fractions")(X="O2")["Y"]
    np.testing.assert_allclose(found, [0, 1, *[0] * 8], rtol=2 * np.finfo(float).eps, atol=0)


# ---- numbers --------------------------------------------------------------------------------------------------------

T, p = 300.0, 1e5


@pytest.fixture(scope="module")
def mix():
    return Mixture.from_species(species_set(10))


@pytest.fixture(scope="module")
def Y(mix):
    fractions = np.zeros(mix.ns)
    fractions[:2] = 0.2, 0.8
    return fractions


def density(mix, Y, **changes):
    return mix.properties("rho", **{"T": T, "p": p, "Y": Y, **changes})["rho"]


@pytest.mark.parametrize(
    "wrong, words",
    [
        (300 + 1j, "'T': type complex128, wanted real numbers: the imaginary part would be lost"),
        (np.array([300 + 1e-20j]), "'T': type complex128"),
        (np.array([300], np.complex64), "'T': type complex64"),
        (True, "'T': type bool, wanted numbers"),
        ("300", "'T': type <U3, wanted numbers, not text"),
        (["300", "400"], "wanted numbers, not text"),
        (np.datetime64("2020-01-01"), "not dates"),
        (None, "'T' is None, wanted numbers"),
        ([300, None], "'T': type object, wanted numbers"),
        ([[300, 400], [500]], "'T': wanted numbers"),
        ({}, "'T': type object"),
        (2**60, "'T': a whole number above 2\\^53"),
        (np.longdouble(300), "'T': type .*, wanted float64: digits would be lost"),
    ],
)
def test_types_that_are_refused(wrong, words, mix, Y):
    """By name at every door: nothing is cast silently."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ArgumentError, match=words):
            density(mix, Y, T=wrong)


POLYNOMIAL = [[3.5, 0, 0, 0, 0, 0, 0]]
WITHOUT_W = dict(names=["a"], omega=0.0, nasa_low=POLYNOMIAL, nasa_high=POLYNOMIAL, T_mid=1000.0, Tc=100.0, pc=1e6)


@pytest.mark.parametrize(
    "door",
    [
        lambda mix, Y: density(mix, Y * 1j),
        lambda mix, Y: mix.properties("W", X={"CH4": 1j}),
        lambda mix, Y: mix.kernel("molar_mass")(Y=Y * 1j),
        lambda mix, Y: mix.react(1000.0, p, Y * 1j, dt=1e-6),
        lambda mix, Y: mix.react(1000.0, p, Y, dt=1e-6j),
        lambda mix, Y: mix.react(1000.0, p, Y, dt=1e-6j, last=np.zeros(3)),
        lambda mix, Y: set_constant("react_rtol", 1e-4 + 0j),
        lambda mix, Y: Mixture.from_species(mix.species, lewis=1 + 0j),
        lambda mix, Y: SpeciesData.from_arrays(**WITHOUT_W, W=[0.03 + 0j]),
    ],
)
def test_complex_numbers_are_refused_at_every_door(door, mix, Y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ArgumentError, match="complex"):
            door(mix, Y)


def test_types_that_are_taken(mix, Y):
    """Each holds 300 exactly, so that results have the same bits."""
    wanted = density(mix, Y)
    for same in (300, np.int32(300), np.float16(300), np.array(300.0, ">f8"), np.array([[300.0]]).T, [300.0]):
        assert np.array_equal(np.ravel(density(mix, Y, T=same)), [wanted])
    pandas = pytest.importorskip("pandas")
    assert np.array_equal(density(mix, Y, T=pandas.Series([300.0, 300.0])), [wanted, wanted])


def test_layouts_of_arrays(mix, Y):
    """Fortran's order, negative steps and read-only arrays give the bits of a plain array."""
    fields = np.linspace(200.0, 900.0, 12).reshape(3, 4)
    wanted = density(mix, Y[:, None, None], T=fields)
    locked = fields.copy()
    locked.flags.writeable = False
    for same in (np.asfortranarray(fields), fields[::-1, ::-1].copy()[::-1, ::-1], locked, fields.astype(">f8")):
        assert np.array_equal(density(mix, Y[:, None, None], T=same), wanted)

    assert density(mix, Y[:, None], T=np.zeros(0)).shape == (0,)


class InCelsius:
    """As libraries of units have it: an array, and a unit that NumPy drops."""

    units = "degree_Celsius"

    def __array__(self, dtype=None, copy=None):
        return np.array(27.0)


def test_units_are_refused(mix, Y):
    with pytest.raises(ArgumentError, match="'T': came in degree_Celsius, wanted plain numbers in K"):
        density(mix, Y, T=InCelsius())


# ---- compositions as arrays -----------------------------------------------------------------------------------------


def test_moles_as_an_array_are_divided_by_their_sum(mix):
    """As by name, and as Cantera's TPX; at each point. Fractions within 1e-6 keep their bits."""
    moles = np.zeros((mix.ns, 2))
    moles[0], moles[1] = 1.0, (2.0, 0.0)
    got = mix.properties("rho X", T=T, p=p, X=moles)
    wanted = mix.properties("rho X", T=T, p=p, X={"CH4": 1, "O2": [2.0, 0.0]})

    assert all(np.array_equal(got[name], wanted[name]) for name in got)

    near = wanted["X"] * (1 + 1e-8)
    assert np.array_equal(mix.properties("X", X=near)["X"], near)

    for wrong, total in ((np.zeros(mix.ns), "0"), (-moles[:, 0], "-3"), (moles[:, 0] / 0.0, "inf")):
        wrong = np.where(np.isnan(wrong), 0.0, wrong)
        with pytest.warns(RuntimeWarning, match=f"'X' sums to {total} over the species.*, wanted a positive"):
            assert np.isnan(mix.properties("rho", T=T, p=p, X=wrong)["rho"])


@pytest.mark.parametrize("name", ["X", "Y"])
def test_negative_fractions_are_told(mix, name):
    """They are computed with as they are; what advection leaves, up to 1e-3, needs no warning, nor what is masked."""
    parts = np.zeros((mix.ns, 3))
    parts[0], parts[1] = (0.2, 1.2, 1.0005), (0.8, -0.2, -0.0005)
    with pytest.warns(RuntimeWarning, match=rf"'{name}' of O2 is -0.2 at point \[1\], wanted 0 or more"):
        many = mix.properties("rho", T=T, p=p, **{name: parts})["rho"]
    with pytest.warns(RuntimeWarning, match=f"'{name}' of O2 is -0.2 at the point, wanted 0 or more"):
        one = mix.properties("rho", T=T, p=p, **{name: parts[:, 1]})["rho"]
    assert one == many[1]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mix.properties("rho", T=T, p=p, **{name: parts[:, [0, 2]]})
        mix.properties("rho", T=T, p=p, **{name: parts[:, 2]})
        mix.properties("rho", T=np.ma.array([T, T, T], mask=[False, True, False]), p=p, **{name: parts})


def test_a_text_with_blanks(mix):
    """Cantera's texts may have blanks between species."""
    wanted = mix.properties("X", X={"CH4": 1, "O2": 2})["X"]
    for text in ("CH4:1 O2:2", "CH4: 1 O2: 2", "CH4:1\nO2:2\n", "CH4=1 ; O2=2", "CH4:1 , O2:2"):
        assert np.array_equal(mix.properties("X", X=text)["X"], wanted)
    with pytest.raises(ArgumentError, match="no species 'CH4 1' in this mixture"):
        mix.properties("X", X="CH4 1, O2 2")


def test_masks_of_boundaries_and_delays():
    """A masked point is masked in the result, needs no number, and is nothing to warn of."""
    mixed = Mixture.from_names("CH4 N2", phases="equilibrium", equation="pr")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cold = np.ma.array([100.0, np.nan, 900.0], mask=[False, True, True])
        found = mixed.bubble_p(cold, [0.9, 0.1])
        parts = np.ma.array([[0.9, np.nan], [0.1, 0.5]], mask=[[False, True], [False, False]])
        others = mixed.bubble_p(100.0, parts)
    assert found.mask.tolist() == [False, True, True] and found[0] == mixed.bubble_p(100.0, [0.9, 0.1])
    assert others.mask.tolist() == [False, True] and others[0] == found[0]

    burning = Mixture.from_yaml("examples/mechanisms/h2_o2.yaml", "ideal", equation="ideal", takahashi="off")
    state = dict(p=1e6, X="H2:2, O2:1")
    found = burning.ignition_delay(T=np.ma.array([1500.0, np.nan], mask=[False, True]), **state)
    assert found.mask.tolist() == [False, True] and found[0] == burning.ignition_delay(T=1500.0, **state)


def test_mass_fractions_that_are_off(mix, Y):
    """By rounding: divided by the sum. By more: NaN at that point, and said: a species may have been forgotten."""
    # 1e-15: a division and a product, of numbers whose sum of 1 has an error of 1 rounding
    assert density(mix, Y * 1.0005) == pytest.approx(density(mix, Y), rel=1e-15)
    with pytest.warns(RuntimeWarning, match=r"'Y' sums to 0.8 over the species at point \[1\], wanted 1 within 0.001"):
        got = density(mix, np.stack([Y, np.where(Y == 0.2, 0, Y)], axis=1))
    assert got[0] == density(mix, Y) and np.isnan(got[1])
    assert np.isnan(density(mix, Y * np.nan))


# ---- what the models do not hold for --------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [1e5, 6001.0, 19.0, -1.0])
def test_temperatures_outside_the_models(wrong, mix, Y):
    with pytest.warns(RuntimeWarning, match=rf"T = {wrong:g} K at point \[1\] is outside 20 to 6000 K"):
        got = mix.properties("rho W T", T=[T, wrong], p=p, Y=Y[:, None])
    assert np.isnan(got["rho"][1]) and got["rho"][0] == density(mix, Y)
    assert np.isfinite(got["W"]).all() and got["T"].tolist() == [T, wrong]  # W does not hang on T; T is as it came


@pytest.mark.parametrize(
    "given",
    [
        dict(T=300.0, p=-1e5),
        dict(T=300.0, p=0.0),
        dict(T=300.0, p=np.inf),
        dict(T=300.0, rho=1e5),
        dict(h=1e12, p=1e5),
        dict(h=-np.inf, p=1e5),
    ],
)
def test_states_that_the_models_do_not_reach(given, mix, Y):
    """Results are NaN, with one warning, as numbers and in arrays; a neighbour that is a state is not meant. An input
    that is NaN, or lies below a mask, says so by itself. c of an unstable state is NaN beside a p that is not."""
    name = list(given)[1]
    said = r"'cp': NaN at 1 of 1 points, which the models do not reach; the first is the point, there "

    for _ in range(2):  # the first call of one state binds, the second runs what was bound
        with pytest.warns(RuntimeWarning, match=rf"{said}.*{name} = ") as warned:
            assert np.isnan(mix.properties("T W cp", **given, Y=Y)["cp"])
        assert len(warned) == 1

    bad = {key: [300.0 if key == "T" else 1e5, value] for key, value in given.items()}
    if name != "rho":  # 1e5 kg/m3 is too dense for any point
        with pytest.warns(RuntimeWarning, match=r"at 1 of 2 points.*the first is point \[1\]"):
            got = mix.properties("cp", **bad, Y=Y[:, None])["cp"]
        assert np.isfinite(got[0])


def test_nan_is_told_beside_other_notes():
    """Ice at 80 K, whose cv is negative, so that c is none, beside a point that is hotter than the polynomials."""
    mix = Mixture.from_names(["H2O"], accuracy="nearest")
    hot = pytest.warns(RuntimeWarning, match="polynomials of H2O end")
    cold = pytest.warns(RuntimeWarning, match=r"'c': NaN at 1 of 2 points, .* T = 80.0")
    with hot, cold:
        mix.properties("c", T=np.array([80.0, 5000.0]), p=1e7, X={"H2O": 1.0})


def test_results_that_are_nan_for_a_reason_of_their_own(mix, Y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mix.properties("rho", T=300.0, p=[np.nan, 1e5], Y=Y[:, None])
        mix.properties("rho", T=300.0, p=np.ma.array([-1.0, 1e5], mask=[True, False]), Y=Y[:, None])
        mix.properties("rho", T=np.zeros(0), p=-1.0, Y=Y[:, None])


def test_amounts_without_a_sum_are_told_where_nothing_is_computed(mix):
    with pytest.warns(RuntimeWarning, match="'X' sums to 0 over the species at the point"):
        assert np.isnan(mix.properties("X", X=np.zeros(mix.ns))["X"]).all()


@pytest.mark.parametrize("kernel, name", (("molar_mass", "Y"), ("mass_fractions", "X")))
def test_a_kernel_by_itself_tells_of_fractions_that_do_not_sum_to_one(kernel, name, mix, Y):
    """It takes them as they are, so that the bound is that of the kernels."""
    off = np.array(Y)[:, None] * [1.0, 1.001, np.nan]
    with pytest.warns(RuntimeWarning, match=rf"NaN at 1 of 3 points.*point \[1\].*'{name}' sums to 1.001 over"):
        got = mix.kernel(kernel)(**{name: off})
    for values in got.values():
        assert np.isnan(values[..., 1:]).all() and np.isfinite(values[..., 0]).all()


def test_polynomials_that_are_extrapolated(mix, Y):
    """Above the end of a species that is there: the formula's own value, with a warning."""
    end = mix.species.T_max[:2].min()
    with pytest.warns(RuntimeWarning, match=f"above {end:g} K, where the polynomials of .* end: they are extrapolated"):
        got = mix.properties("h_ig", T=end + 100, Y=Y)["h_ig"]
    assert got == mix.kernel("ideal_gas")(T=end + 100, Y=Y)["h_ig"]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mix.properties("h_ig", T=end, Y=Y)
        mix.properties("h_ig", T=50.0, Y=Y)  # cold liquids: documented, and no warning


def test_masks_come_back(mix, Y):
    """A point is masked in the results where any of its inputs is; the others have the bits of a call without it."""
    hot = np.ma.array([300.0, 1e20, 400.0], mask=[False, True, False])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what lies below a mask is nothing to warn of
        got = mix.properties("rho X", T=hot, p=p, Y=Y[:, None])

    assert got["rho"].mask.tolist() == [False, True, False] and got["X"].mask[4].tolist() == [False, True, False]
    assert np.array_equal(got["rho"].compressed(), density(mix, Y[:, None], T=np.array([300.0, 400.0])))

    parts = np.ma.array(np.stack([Y, 5 * Y], axis=1))
    parts[3, 1] = np.ma.masked

    assert density(mix, parts).mask.tolist() == [False, True]
    assert density(mix, Y[:, None], p=[np.ma.array(p), np.ma.masked]).mask.tolist() == [False, True]

    pressure = mix.properties("T p rho", T=T, p=np.ma.array([p, p], mask=[False, True]), Y=Y[:, None])
    assert all(pressure[name].mask.tolist() == [False, True] for name in pressure)

    named = mix.properties("W", X={"CH4": np.ma.array([1.0, -1.0], mask=[False, True])})["W"]
    assert named.mask.tolist() == [False, True] and named[0] == mix.species.W[0]


@pytest.mark.skipif(not shutil.which("g++"), reason="the stand-in needs g++")
def test_arrays_of_a_device(tmp_path):
    """On the stand-in: the same rules, and results on the device."""
    mix = Mixture.from_species(species_set(2), equation="ideal")
    with on_stand_in(tmp_path) as device:
        there = lambda values: device.from_host(np.asarray(values, float))
        moles = np.array([[1.0, 2.0], [3.0, 0.0]])

        with pytest.warns(RuntimeWarning, match=r"T = 100000 K at point \[1\]"):
            got = mix.properties("rho X T", T=there([300.0, 1e5]), p=p, X=there(moles))
        assert all(hasattr(array, "__cuda_array_interface__") for array in got.values())

        host = {name: np.array(device.to_host(array)) for name, array in got.items()}

        with pytest.warns(RuntimeWarning, match=r"'Y' sums to 2 over the species at point \[1\]"):
            mix.properties("rho", T=there([300.0, 300.0]), p=p, Y=there([[1.0, 1.0], [0.0, 1.0]]))
        with pytest.raises(ArgumentError, match="'T': type complex128"):
            mix.properties("rho", T=device.from_host(np.ones(2, complex), complex), p=p, X="O2")
        with pytest.raises(ArgumentError, match="masked arrays were given beside arrays on a device"):
            mix.properties("rho", T=there([300.0]), p=np.ma.array([p]), X={mix.names[0]: 1})

    np.testing.assert_array_equal(host["X"], moles / moles.sum(axis=0))

    wanted = mix.properties("rho", T=300.0, p=p, X=moles[:, 0], backend="cpu")["rho"]
    # 8 roundings: two divisions and a product, of sums of two
    assert host["rho"][0] == pytest.approx(wanted, rel=8 * 2.2e-16) and np.isnan(host["rho"][1])
    assert host["T"].tolist() == [300.0, 1e5]


@pytest.mark.parametrize(
    "names, more, words",
    [
        ("rho", dict(h=5e5), "'h' was given beside T, p, Y, from which it follows"),
        ("h", dict(h=5e5), "'h' was given beside T, p, Y"),
        ("rho", dict(rho=1.0), "'rho' was given beside T, p, Y"),
        ("rho cp", dict(W=0.03), "'W' was given beside"),
    ],
)
def test_surplus_inputs_are_refused(names, more, words, mix, Y):
    with pytest.raises(ArgumentError, match=words):
        mix.properties(names, T=T, p=p, Y=Y, **more)


@pytest.mark.parametrize("more, first", [("T", "'T'"), ("u v w", "'u'"), ("e", "'e'")])
def test_what_follows_from_conserved_variables_is_refused_beside_them(more, first, mix, Y):
    """rhoE did not count beside T, and rhou not beside u."""
    state = mix.properties("rho e", T=T, p=p, Y=Y)
    rho, zero = state["rho"], 0.0
    given = dict(rhoY=rho * Y, rhou=rho * 200.0, rhov=zero, rhow=zero, rhoE=rho * (state["e"] + 200.0**2 / 2))

    assert mix.properties("h0 T", **given)["T"] == pytest.approx(T, rel=1e-12)
    with pytest.raises(ArgumentError, match=f"{first} was given beside rhoY.*, from which it follows"):
        mix.properties("h0 T", **given, **dict.fromkeys(more.split(), 400.0))


def test_independent_inputs_may_come(mix, Y):
    assert density(mix, Y, u=5.0, v=0.0) == density(mix, Y)
    assert mix.properties("W", T=T, p=p, Y=Y)["W"] == mix.properties("W", Y=Y)["W"]


# ---- check mode -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes, words",
    [
        (dict(T=[[300.0, np.nan]]), r"check: input 'T' = nan K at point \[0, 1\], wanted a finite number"),
        (dict(p=[[p, p], [-1.0, p]]), r"check: input 'p' = -1.0 Pa at point \[1, 0\], wanted > 0"),
        (dict(T=[[300.0, 1e5]]), r"check: input T = 100000 K at point \[0, 1\] is outside 20 to 6000 K"),
    ],
)
def test_check_mode_names_inputs(changes, words, mix, Y, monkeypatch):
    monkeypatch.setenv("FRAME_CHECK", "1")
    with pytest.raises(StateError, match=words):
        density(mix, Y[:, None, None], **changes)
    assert np.isfinite(density(mix, Y * 1.0001))  # divided by the sum before it is checked


def test_check_mode_names_kernel_and_point(mix, Y, monkeypatch):
    """1/rho below the covolume: no pressure. A kernel by itself is checked, too."""
    monkeypatch.setenv("FRAME_CHECK", "1")
    with pytest.raises(
        StateError, match=r"check: kernel 'cubic_pressure' gave 'p' = nan at point \[1\]; there .*rho = "
    ):
        mix.properties("p", T=T, rho=[1.0, 1e5], Y=Y[:, None])

    with pytest.raises(StateError, match="check: input 'Y' sums to 0.5 over the species at the point"):
        mix.kernel("molar_mass")(Y=Y / 2)
    hidden = np.ma.array([1.0, 1e5], mask=[False, True])
    assert mix.properties("p", T=T, rho=hidden, Y=Y[:, None])["p"].mask.tolist() == [False, True]

    monkeypatch.setenv("FRAME_CHECK", "yes")
    with pytest.raises(ArgumentError, match="FRAME_CHECK = 'yes'; wanted 0 or 1"):
        density(mix, Y)


def test_names_with_blanks_or_commas(mix, Y):
    """As those of species, and on the command line."""
    known = mix.properties(["rho", "cp"], T=T, p=p, Y=Y)
    for names in ("rho cp", "rho,cp", "rho, cp "):
        for state in (dict(T=T, p=p, Y=Y), dict(T=[T], p=p, Y=Y[:, None])):
            assert mix.properties(names, **state) == known
    assert mix.program(outputs="rho, cp", given="T,p,Y").writes == mix.program(outputs="rho cp", given="T p Y").writes


# ---- messages -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda m: m.properties(None, T=300.0, p=1e5, X="O2"), "names None: wanted a text such as 'rho cp', or a list"),
        (lambda m: m.properties(3, T=[300.0], p=1e5, X="O2"), "names 3: wanted a text such as 'rho cp', or a list"),
        (lambda m: m.properties(["rho", b"cp"], T=300.0, p=1e5, X="O2"), "names .*b'cp'.*: wanted a text such as"),
        (lambda m: m.properties("rho", T=300.0, P=1e5, X="O2"), "unknown quantity 'P', did you mean 'p'"),
        (lambda m: m.properties("rho", T=300.0, pressure=1e5, X="O2"), "unknown quantity 'pressure', did you mean 'p'"),
        (lambda m: m.properties("density", T=300.0, p=1e5, X="O2"), "unknown quantity 'density', did you mean 'rho'"),
        (lambda m: m.properties("viscosity", T=300.0), "unknown quantity 'viscosity', did you mean 'mu'"),
        (lambda m: m.properties("rho_Tt", T=300.0), "unknown quantity 'rho_Tt', did you mean 'rho_T'"),
        (lambda m: m.properties("xyzzy_q", T=300.0), "unknown quantity 'xyzzy_q'; `python -m frame names` lists all"),
        (lambda m: m.properties("rho", T=300.0, X="O2"), r"'rho' cannot be computed from T, X: missing p \[Pa\]"),
        (
            lambda m: m.program("rho h0", "T p Y"),
            r"'h0' cannot be computed from T, p, Y: missing u \[m/s\], v \[m/s\], w",
        ),
        (lambda m: m.program(), "nothing asked for: name outputs"),
        (
            lambda m: m.program("T p", "h rho Y"),
            "'T' cannot be computed from h, rho, Y together; with Y, T is computed from e and rho, or from h and p, .*"
            "or from s and p; with Y, p is computed from rho and T",
        ),
        (
            lambda m: m.program(["rho"]),
            r"'rho' cannot be computed from nothing: missing .*T \[K\].*p \[Pa\]",
        ),
        (lambda m: m.program(kernels=["molar_mas"]), "unknown kernel 'molar_mas', did you mean 'molar_mass'"),
        (lambda m: m.kernel("molar_mas"), "unknown kernel 'molar_mas', did you mean 'molar_mass'"),
        (
            lambda m: m.kernel("enthalpy_slopes")(h=1.0),
            r"kernel 'enthalpy_slopes' reads .*; missing .*\[.*; it does not read h",
        ),
        (
            lambda m: Mixture.from_species(m.species, equaton="pr"),
            "unknown model option 'equaton', did you mean 'equation'",
        ),
        (
            lambda m: Mixture.from_species(m.species, equation="PR"),
            "option equation = 'PR', did you mean 'pr'; wanted one of pr, srk",
        ),
        (lambda m: Mixture.from_species(m.species, equation=["pr"]), "equation = .*'pr'.*; wanted one of pr, srk"),
        (lambda m: Mixture.from_names("O2", accuracy={"nearest"}), "option accuracy = .*; wanted one of nearest"),
        (lambda m: Mixture.from_names("O2", critical={}), "option critical = {}; wanted one of file, fill"),
        (lambda m: Mixture.from_yaml(b"n2.yaml"), "file b'n2.yaml': wanted its path"),
        (lambda m: Mixture.from_yaml("gri30.yaml", without=3), "names 3: wanted a text"),
        (lambda m: Mixture.from_yaml("gri30.yaml", ["gri30"]), r"has no phase .*gri30.*, wanted one of 'gri30'"),
        (lambda m: Mixture.from_species(m.species, equation="Peng-Robinson"), "did you mean 'pr'; wanted one of"),
        (lambda m: m.properties("rho", T=300.0, p=1e5, X="O2", backend="gpu"), "backend 'gpu', did you mean 'cuda'"),
        (
            lambda m: Mixture.from_species(m.species, lewis={"CH3": 1.0}),
            "no species 'CH3' in this mixture, did you mean 'CH4'",
        ),
    ],
)
def test_messages_say_what_was_meant(call, words, mix):
    """And none lists a hundred names."""
    with pytest.raises(ArgumentError, match=words) as caught:
        call(mix)
    assert len(str(caught.value)) < 400


def test_reacting_without_reactions_is_refused_in_words_of_the_user(mix, Y):
    with pytest.raises(ArgumentError, match="react: the species have no reactions; wanted a mixture from a file"):
        mix.react(1000.0, p, Y, dt=1e-6)
    with pytest.raises(ArgumentError, match="the species have no reactions"):
        mix.ignition_delay(1000.0, p, Y)


WRONG = ([1], {"A": 1}, {1, 2}, None, 3, 1j, object(), np.zeros(2))
WORDS = {  # what wants a text: the word of its message
    "properties": (lambda m, b: m.properties(b, T=300.0, p=1e5, X="O2"), "names"),
    "kernel": (lambda m, b: m.kernel(b), "unknown kernel"),
    "rows": (lambda m, b: m.rows(b), "unknown quantity"),
    "react": (lambda m, b: m.react(1000.0, 1e5, X="O2", dt=1.0, kind=b), "kind = "),
    "mixture_of": (lambda m, b: m.mixture_of("CH4", "O2", basis=b), "basis = "),
    "ignition_delay": (lambda m, b: m.ignition_delay(1000.0, 1e5, X="O2", kind=b), "kind = "),
    "option": (lambda m, b: Mixture.from_species(m.species, root=b), "option root = "),
    "species": (lambda m, b: m.species.index(b), "species .* is not in the mixture"),
    "subset": (lambda m, b: m.species.subset([b]), "species .*: wanted a text"),
    "constant": (lambda m, b: set_constant(b, 1.0), "unknown constant"),
    "file": (lambda m, b: Mixture.from_yaml(b), "file .*: wanted its path"),
    "table of fluids": (lambda m, b: m.species.with_fluids(b), "table of fluids .*: wanted its path"),
    "from_species": (lambda m, b: Mixture.from_species(b), "wanted SpeciesData"),
    "T_fit": (lambda m, b: m.species.with_fit_range(b, b), "T_fit is .*, wanted two ascending"),
}


@pytest.mark.parametrize("place", WORDS)
def test_anything_in_place_of_a_word_is_refused_by_its_place(place, mix):
    """Lists, dicts, sets, numbers, arrays: no message of Python's on what cannot be hashed or iterated."""
    call, words = WORDS[place]
    for wrong in WRONG:
        with pytest.raises(ArgumentError, match=words):
            call(mix, wrong)
    assert mix.find([1]) is None and mix.find(None) is None
