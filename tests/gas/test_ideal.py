"""The ideal-gas family: NASA-9 polynomials, the ideal equation of state, dilute transport; against NumPy and against
Cantera."""

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from conditioning import assert_close
from kernel_cases import N, check_single, mixture, oracle_species, states
from mixtures_for_tests import CANTERA_NAMES, changed, species_set
from reference import EPS, Tracked, ideal, ideal_gas, value
from ruamel.yaml import YAML

from kernels import ArgumentError, Mixture, MixtureError
from kernels.gas.species import SpeciesData, nasa7, nasa9
from kernels.gas.species.kinetic_theory import species_viscosity, viscosity_fit

ct = pytest.importorskip("cantera")
DATA = Path(ct.__file__).parent / "data"
IDEAL = dict(equation="ideal", takahashi="off")


@pytest.fixture(scope="module")
def air9(tmp_path_factory):
    """Five neutral species of Cantera's airNASA9.yaml, three ranges each, without transport data."""
    data = YAML(typ="safe", pure=True).load((DATA / "airNASA9.yaml").read_text())
    data["phases"][0] |= {"species": ["N2", "O2", "NO", "N", "O"], "elements": ["N", "O"]}
    path = tmp_path_factory.mktemp("air") / "air9.yaml"
    with open(path, "w") as out:
        YAML(typ="safe", pure=True).dump(data, out)

    return path


@lru_cache(None)
def gri(**options):
    return Mixture.from_yaml(DATA / "gri30.yaml", **{**IDEAL, "viscosity": "sutherland", **dict(options)})


GETTERS = {name: CANTERA_NAMES[name] for name in "rho h e s cp cv c".split()}


def coefficients(data, T):
    """Nine of each species at T."""
    if data.nasa9 is None:
        return np.pad(np.where((T <= data.T_mid)[:, None], data.nasa_low, data.nasa_high), ((0, 0), (2, 0)))
    return [rows[np.searchsorted(breaks[1:-1], T, side="right")] for rows, breaks in zip(data.nasa9, data.T_break)]


def compare_with_cantera(gas, mix, T_range):
    """Same polynomials, summed in another order: some ten roundings of each term |Y c_k T^k|, which cancel (nine
    coefficients: 100 times)."""
    data = mix.species
    rng = np.random.default_rng(0)

    for T in np.exp(rng.uniform(*np.log(T_range), 40)):
        gas.TPY = T, np.exp(rng.uniform(np.log(1e3), np.log(1e7))), rng.dirichlet(np.full(mix.ns, 0.3))
        got = mix.properties([*GETTERS, "Z", "h_p", "rho_p", "rho_T", "h_T"], T=T, p=gas.P, Y=gas.Y)
        terms = [np.abs(row) @ [1 / T**2, 1 / T, 1, T, T**2, T**3, T**4, 1 / T, 1] for row in coefficients(data, T)]
        cp = (gas.Y * 8.314463 / data.W) @ terms * max(1, np.log(T))
        size = dict(rho=0, h=T * cp, e=T * cp, s=cp, cp=cp, cv=cp, c=gas.sound_speed * cp / gas.cv_mass)

        for name, attribute in GETTERS.items():
            expected = getattr(gas, attribute)
            assert abs(got[name] - expected) <= 16 * EPS * max(abs(expected), size[name]), (name, T)

        assert got["Z"] == 1 and got["h_p"] == 0 and got["h_T"] == got["cp"]
        np.testing.assert_allclose(got["rho_p"], gas.density / gas.P, rtol=8 * EPS)
        np.testing.assert_allclose(got["rho_T"], -gas.density / T, rtol=8 * EPS)


def test_gri30_as_cantera_has_it():
    compare_with_cantera(ct.Solution(str(DATA / "gri30.yaml")), gri(), (250, 3400))


def test_nasa9_as_cantera_has_it(air9):
    compare_with_cantera(ct.Solution(str(air9)), Mixture.from_yaml(air9, **IDEAL), (210, 19000))


def test_nasa9_against_the_oracle_with_a_mixed_file(air9):
    """Three ranges and one side by side, at every break and beside it; and the same polynomials written with 7 or 9
    numbers."""
    data = Mixture.from_yaml(air9, **IDEAL).species
    rows, T_break = data.nasa9.copy(), data.T_break.copy()
    rows[0], T_break[0] = rows[0, :1], [200, 6000, 6000, 6000]  # one range, repeated

    data = SpeciesData.from_arrays(
        data.names,
        data.W,
        np.nan,
        None,
        None,
        None,
        Tc=np.nan,
        pc=np.nan,
        nasa9=rows,
        T_break=T_break,
        without_critical=True,
    )

    T = np.concatenate(
        [np.geomspace(150, 20000, 200), *(b * (1 + np.array([-1e-15, 0, 1e-15])) for b in (1000.0, 6000.0))]
    )
    rng = np.random.default_rng(1)
    Y, p = rng.dirichlet(np.ones(5), T.size).T, np.full(T.size, 3e5)
    got = Mixture.from_species(data, **IDEAL).properties("cp_ig h_ig s_ig", T=T, p=p, Y=Y)
    W = Tracked(data.W)
    Y, T, p = (Tracked(v, exact=True) for v in (Y, T, p))
    cp, h, s = ideal.nasa9(T, Tracked(rows), Tracked(T_break))
    X, M = ideal_gas.mole_fractions(Y, W)
    R = ideal.R
    mixing = (X * np.log(X)).sum(0) + np.log(p / 101325)

    for name, expected in (
        ("cp_ig", (X * cp).sum(0) * R / M),
        ("h_ig", (X * h).sum(0) * T * R / M),
        ("s_ig", ((X * s).sum(0) - mixing) * R / M),
    ):
        assert_close(got[name], expected, N, what=name)


def with_jumps(path, nine=()):
    """Three gases of GRI-Mech whose polynomials jump by some 3 % where they meet, each at a temperature of its own.
    Those of `nine` are written with nine coefficients."""
    data = YAML(typ="safe", pure=True).load((DATA / "gri30.yaml").read_text())
    species = [s for s in data["species"] if s["name"] in ("N2", "O2", "AR")]

    for k, one in enumerate(species):
        thermo = one["thermo"]
        thermo["temperature-ranges"][1] = (800.0, 1000.0, 1200.0)[k]
        thermo["data"][1] = [1.03 * c for c in thermo["data"][1]]
        if one["name"] in nine:
            thermo |= {"model": "NASA9", "data": [[0.0, 0.0, *row] for row in thermo["data"]]}
        one["equation-of-state"] = {"model": "ideal-gas"}

    phase = dict(data["phases"][0], species=[s["name"] for s in species], elements=["N", "O", "Ar"], kinetics="none")
    phase = {key: phase[key] for key in ("name", "thermo", "elements", "species", "transport")}
    with open(path, "w") as out:
        YAML(typ="safe", pure=True).dump({"units": data["units"], "phases": [phase], "species": species}, out)

    return path


@pytest.mark.filterwarnings("ignore:.*jumps from")
@pytest.mark.parametrize("nine", ((), ("N2",)), ids=("seven coefficients", "one of nine"))
def test_where_polynomials_meet(tmp_path, nine):
    """At T_mid of each species and at the numbers next to it Cantera's polynomial is taken: the lower one of seven, the
    upper one of nine. Packs of one temperature and of several; alone (h_Y, lam of a pure gas) and in sums."""
    path = with_jumps(tmp_path / "jumps.yaml", nine)
    with pytest.warns(UserWarning, match="jumps from"):
        mix = Mixture.from_yaml(path, **IDEAL, viscosity="sutherland")
    assert (mix.species.nasa9 is not None) == bool(nine)

    gas = ct.Solution(str(path))
    at = np.array([side for T in (800.0, 1000.0, 1200.0) for side in (np.nextafter(T, 0), T, np.nextafter(T, 9999))])
    rng = np.random.default_rng(2)

    # 64 points are whole packs of any kind; then all temperatures side by side, in any order
    T = np.concatenate([np.repeat(at, 64), rng.permuted(np.tile(at, 64))])
    for Y in (np.array([0.2, 0.5, 0.3]), *np.eye(3)):
        got = mix.properties("cp h s h_Y mu lam", T=T, p=2e5, Y=Y[:, None])
        expected = {name: np.zeros(at.size) for name in ("cp", "h", "s")} | {"h_Y": np.zeros((3, at.size))}

        for k, here in enumerate(at):
            gas.TPY = here, 2e5, Y
            expected["cp"][k], expected["h"][k], expected["s"][k] = gas.cp_mass, gas.enthalpy_mass, gas.entropy_mass
            expected["h_Y"][:, k] = gas.partial_molar_enthalpies / gas.molecular_weights

        place = np.searchsorted(at, T)
        for name, theirs in expected.items():
            scale = 4e3 * (1200 if name in ("h", "h_Y") else 1)  # cp T; jumps are a hundredth of it
            assert (np.abs(got[name] - theirs[..., place]) <= 256 * EPS * scale).all(), (name, Y)

        if Y.max() == 1:
            eucken = got["mu"] * (expected["cp"][place] + 1.25 * 8.31446261815324 / (Y @ mix.species.W))
            np.testing.assert_allclose(got["lam"], eucken, rtol=64 * EPS)


def test_nine_of_seven_are_the_same():
    """0, 0, a0 .. a6 is the seven-coefficient polynomial."""
    seven = species_set(2)
    nine = np.stack([np.pad(c, ((0, 0), (2, 0))) for c in (seven.nasa_low, seven.nasa_high)], 1)

    data = SpeciesData.from_arrays(
        seven.names,
        seven.W,
        seven.omega,
        None,
        None,
        None,
        Tc=seven.Tc,
        pc=seven.pc,
        kij=seven.kij,
        nasa9=nine,
        T_break=np.stack([seven.T_min, seven.T_mid, seven.T_max], 1),
    )

    s = {k: states(2, 500)[k] for k in "TpY"}
    names = "rho h s e cp cv c"
    a, b = (Mixture.from_species(d).properties(names, **s) for d in (changed(seven, T_fit=None), data))
    q = mixture(2).properties("h cp s", **s)

    for name in names.split():  # a few roundings apart, of numbers that are at most the formation enthalpy, or cp
        assert (
            np.abs(a[name] - b[name]) <= 64 * EPS * (np.abs(q["h"]) + 1e7 if name in "he" else np.abs(a[name]))
        ).all(), name

    assert Mixture.from_species(data.subset(["CO2"])).constant("nasa9").of.sizes["NASA9_RANGES"] == 2
    for below, above, T in ((nine[0, 0], seven.nasa_low[0], 300.0),):
        np.testing.assert_allclose(nasa9(below, T), nasa7(above, T), rtol=8 * EPS)


@pytest.mark.parametrize("ns", (1, 2, 10))
@pytest.mark.parametrize("law", ("sutherland", "powerlaw"))
def test_transport_alone(law, ns):
    check_single("wilke_transport", ns, 1000, viscosity=law)


def test_transport_through_properties_with_given_laws():
    """Air's three gases by Sutherland's law as tables give it, one of them fitted: mixture by Wilke and Mathur as
    written."""
    data = species_set(10)
    laws = np.full((10, 3), np.nan)
    laws[0], laws[1] = (1.027e-5, 273.0, 198.0), (1.919e-5, 273.0, 139.0)

    data = SpeciesData.from_arrays(
        data.names,
        **{
            f: getattr(data, f)
            for f in (
                "W",
                "omega",
                "nasa_low",
                "nasa_high",
                "T_mid",
                "Tc",
                "pc",
                "diameter",
                "well_depth",
                "dipole",
                "polarizability",
                "T_fit",
            )
        },
        sutherland=laws,
    )

    s = {k: states(10, 300)[k] for k in "TpY"}
    mix = Mixture.from_species(data, **IDEAL, viscosity="sutherland")
    (fitted,) = (note for note in mix.notes if "fitted" in note)

    assert "CH4" not in fitted and "CO2" in fitted
    got = mix.properties("mu lam", **s)
    factor, constant = viscosity_fit(data, "sutherland", *data.T_fit)
    for k in (0, 1):
        factor[k], constant[k] = laws[k, 0] * (laws[k, 1] + laws[k, 2]) / laws[k, 1] ** 1.5, laws[k, 2]
    sp = oracle_species(10)
    X, _ = ideal_gas.mole_fractions(Tracked(s["Y"], exact=True), sp.W)
    T = Tracked(s["T"], exact=True)
    mu = ideal.species_viscosity(T, "sutherland", Tracked(factor), Tracked(constant))
    cp = ideal_gas.nasa(T, sp)[0] * ideal.R / sp.W[:, None]

    assert_close(got["mu"], ideal.wilke(X, sp.W, mu), 2 * N, what="mu")  # the factors were rounded twice more
    assert_close(got["lam"], ideal.mathur(X, sp.W, mu, cp), 2 * N, what="lam")

    # a pure gas: its own law, and Eucken's conductivity
    pure = mix.properties("mu lam cp", T=273.0, p=1e5, Y=np.eye(10)[0])
    np.testing.assert_allclose(pure["mu"], 1.027e-5, rtol=16 * EPS)
    np.testing.assert_allclose(
        pure["lam"], 1.027e-5 * (pure["cp"] + 1.25 * 8.31446261815324 / data.W[0]), rtol=32 * EPS
    )


def test_kinetic_viscosities_and_their_fits():
    """Chapman-Enskog against Cantera, which evaluates a polynomial fitted to the same: 0.5 %. The laws fitted to it are
    as far off as their forms are, not arithmetic: over 300 to 3000 K Sutherland's at most 5.2 % (H2O; median 3.3 %), a
    power law 8.9 % (CH2CO; 6.9 %)."""
    gas = ct.Solution(str(DATA / "gri30.yaml"), transport_model="mixture-averaged")
    data = gri().species
    T = np.array([300.0, 500, 1000, 2000, 3000])
    mu = species_viscosity(data, T)

    for k, t in enumerate(T):
        gas.TP = t, 1e5
        np.testing.assert_allclose(mu[:, k], gas.species_viscosities, rtol=5e-3)

    for law, limit in (("sutherland", 0.06), ("powerlaw", 0.10)):
        error = value(ideal.species_viscosity(T, law, *viscosity_fit(data, law, 300, 3000))).astype(float) / mu - 1
        assert 0.01 < np.abs(error).max() < limit, law


def test_wilke_as_cantera_has_it():
    """The mixture rule by itself: laws that pass through Cantera's species viscosities at 1000 K."""
    gas = ct.Solution(str(DATA / "gri30.yaml"), transport_model="mixture-averaged")
    gas.TPY = 1000.0, 1e5, np.random.default_rng(3).dirichlet(np.full(53, 0.3))
    data = gri().species
    fields = ("W", "omega", "nasa_low", "nasa_high", "T_mid", "Tc", "pc")

    data = SpeciesData.from_arrays(
        data.names,
        **{f: getattr(data, f) for f in fields},
        without_critical=True,
        power_law=np.stack([gas.species_viscosities, np.full(53, 1000.0), np.full(53, 0.7)], 1),
    )

    got = Mixture.from_species(data, **IDEAL, viscosity="powerlaw").properties("mu", T=1000.0, p=1e5, Y=gas.Y)["mu"]
    np.testing.assert_allclose(got, gas.viscosity, rtol=1e-13)  # 53^2 terms, each good to some eps


def test_diffusion_as_cantera_has_it():
    gas = ct.Solution(str(DATA / "gri30.yaml"), transport_model="mixture-averaged")
    gas.TPY = 700.0, 2e5, np.random.default_rng(4).dirichlet(np.full(53, 0.5))
    np.testing.assert_allclose(
        gri(diffusion="cantera").properties("D", T=700.0, p=2e5, Y=gas.Y)["D"], gas.mix_diff_coeffs, rtol=1e-11
    )  # two fits of powers of ln T


def test_what_an_ideal_mixture_lacks_is_told(air9):
    mix = Mixture.from_yaml(air9, equation="ideal")
    s = dict(T=300.0, p=1e5, Y=np.eye(5)[0])

    for name, reason in (
        ("mu", "viscosity law 'sutherland' and transport data"),
        ("Tc_mix", "critical properties"),
        ("D", "transport data|critical properties"),
    ):
        with pytest.raises(ArgumentError, match=reason):
            mix.properties(name, **s)

    with pytest.raises(ArgumentError, match="viscosity law 'powerlaw'"):
        Mixture.from_yaml(air9, equation="ideal", viscosity="powerlaw").properties("mu", **s)
    with pytest.raises(MixtureError, match=r"species 'N2': critical temperature \(Tc, K\) is missing; equation pr"):
        Mixture.from_species(mix.species)

    with pytest.raises(
        MixtureError, match="critical = fill looks them up or estimates them; equation = ideal needs none"
    ):
        Mixture.from_yaml(air9)


def test_an_ideal_gas_takes_nothing_from_a_cubic_equation():
    """Whatever is asked for is the ideal gas' own, or refused."""
    mix, s = mixture(10, equation="ideal"), {k: states(10, 50)[k] for k in "TpY"}
    q = mix.properties("R_s vol v_mol W Z p_v p_T v_p rho", **s)
    vol = q["R_s"] * s["T"] / s["p"]

    for name, wanted in dict(
        vol=vol, v_mol=q["W"] * vol, Z=1.0, p_v=-s["p"] / vol, p_T=s["p"] / s["T"], v_p=-vol / s["p"], rho=1 / vol
    ).items():
        np.testing.assert_allclose(q[name], wanted, rtol=8 * EPS, err_msg=name)

    for name in ("a_mix", "v_free", "inv_D", "cubic_L"):
        with pytest.raises(ArgumentError, match=f"'{name}' cannot be computed"):
            mix.properties(name, **s)

    with pytest.raises(ArgumentError, match="kernel 'cubic_root' is for"):
        mix.kernel("cubic_root")(**dict.fromkeys("T p R_s a_mix b_mix shift_mix".split(), 1.0))
    with pytest.raises(ArgumentError, match="option translation = 'peneloux'.*'ideal' wanted 'none'"):
        mixture(10, equation="ideal", translation="peneloux")


@pytest.mark.parametrize("fault", ({"T": np.nan}, {"T": -1.0}, {"T": np.inf}, {"p": 0.0}, {"p": np.nan}, {"Y": np.nan}))
def test_a_broken_point_is_nan_and_alone(fault):
    mix = mixture(10, equation="ideal", viscosity="sutherland")
    s = {k: states(10, 20)[k].copy() for k in "TpY"}
    names = "Z rho h e s cp cv gamma c rho_p rho_T h_p h_T"
    clean = mix.properties(names, **s)
    ((field, bad),) = fault.items()
    s[field][..., 7] = bad
    got = mix.properties(names + " mu lam", **s)

    for name in names.split():
        # h, cp of an ideal gas do not depend on the pressure, but a state without one has none
        assert np.isnan(got[name][7]), name
        assert (np.delete(got[name], 7) == np.delete(clean[name], 7)).all(), name

    if field != "p":
        assert np.isnan(got["mu"][7]) and np.isnan(got["lam"][7])


LETTERS = """
units: {length: cm, quantity: mol, energy: cal}
phases:
- {name: air, thermo: ideal-gas, species: [N2, NO, H2O, Ar, He]}
species:
- name: N2
  composition: {N: 2}
  thermo:
    model: NASA7
    temperature-ranges: [300.0, 1000.0, 5000.0]
    reference-pressure: 1 bar
    data:
    - [3.298677, 1.4082404e-03, -3.963222e-06, 5.641515e-09, -2.444854e-12, -1020.8999, 3.950372]
    - [2.92664, 1.4879768e-03, -5.68476e-07, 1.0097038e-10, -6.753351e-15, -922.7977, 5.980528]
- name: NO
  composition: {N: 1, O: 1}
  thermo:
    model: Shomate
    temperature-ranges: [298.0, 1200.0, 6000.0]
    reference-pressure: 1 bar
    data:
    - [23.83491, 12.58878, -1.139011, -1.497459, 0.214194, 83.35783, 237.1219]
    - [35.99169, 0.95717, -0.148032, 0.009974, -3.004088, 73.10787, 246.1619]
- name: H2O
  composition: {H: 2, O: 1}
  thermo:
    model: Shomate
    temperature-ranges: [500.0, 1700.0]
    reference-pressure: 1 bar
    data: [[30.092, 6.832514, 6.793435, -2.53448, 0.082139, -250.881, 223.3967]]
- name: Ar
  composition: {Ar: 1}
  thermo: {model: constant-cp, cp0: 4.968, s0: 154.84 J/mol/K, reference-pressure: 1 bar}
- name: He
  composition: {He: 1}
  thermo: {model: constant-cp, T0: 400 K, h0: 505.9, s0: 31.6, cp0: 20.8 J/mol/K, T-min: 9, reference-pressure: 1 bar}
"""


@pytest.mark.filterwarnings("ignore:.*extrapolated")
def test_heat_capacities_in_other_letters(tmp_path):
    """Shomate's equation and constant heat capacities beside NASA polynomials, in units of the file and of their own,
    against Cantera; at T_mid and next to it, too. 32 eps of the largest value: some ten roundings of terms that
    cancel by a factor of two at most."""
    path = tmp_path / "letters.yaml"
    path.write_text(LETTERS)
    mix = Mixture.from_yaml(path, **IDEAL)
    gas = ct.Solution(str(path))
    T = np.array([500.0, np.nextafter(1200.0, 0), 1200.0, np.nextafter(1200.0, 9999), 1699.0, 3000.0])

    for Y in (*np.eye(5), np.full(5, 0.2)):
        got = mix.properties("cp h s", T=T, p=2e5, Y=Y[:, None])
        gases = [(gas.cp_mass, gas.enthalpy_mass, gas.entropy_mass) for gas.TPY in ((here, 2e5, Y) for here in T)]

        for name, theirs in zip(("cp", "h", "s"), np.array(gases).T):
            np.testing.assert_allclose(got[name], theirs, rtol=0, atol=32 * EPS * np.abs(theirs).max(), err_msg=name)


GIBBS = """
phases: [{name: gas, thermo: ideal-gas, species: [A, B]}]
species:
- name: A
  composition: {O: 2}
  thermo:
    model: piecewise-Gibbs
    h0: 10 kJ/mol
    data: {298.15: 0 J/mol, 200: 2750 J/mol, 400: -3900 J/mol, 600: -13.8 kJ/mol, 1000: -39.6 kJ/mol, 2000: -125 kJ/mol}
- name: B
  composition: {O: 1}
  thermo: {model: piecewise-Gibbs, h0: 5000, dimensionless: true, data: {298.15: -20, 900: -25}, T-min: 210, T-max: 900}
"""


@pytest.mark.filterwarnings("ignore:.*extrapolated", "ignore:.*cp/R jumps")
def test_gibbs_energies_at_some_temperatures(tmp_path):
    """Against Cantera, and the energies of the file; at and next to its temperatures too. 64 eps of the largest value:
    a range's constants are differences of those before it, up to five."""
    path = tmp_path / "gibbs.yaml"
    path.write_text(GIBBS)
    mix = Mixture.from_yaml(path, **IDEAL)
    gas = ct.Solution(str(path))
    T = np.array([210.0, 298.15, np.nextafter(298.15, 0), 400.0, np.nextafter(400.0, 999), 600.0, 899.0, 1900.0])

    for Y in ([1.0, 0.0], [0.0, 1.0], [0.5, 0.5]):
        got = mix.properties("cp h s", T=T, p=1.01325e5, Y=np.array(Y)[:, None])
        gases = [(gas.cp_mass, gas.enthalpy_mass, gas.entropy_mass) for gas.TPY in ((here, 101325.0, Y) for here in T)]
        for name, theirs in zip(("cp", "h", "s"), np.array(gases).T):
            np.testing.assert_allclose(got[name], theirs, rtol=0, atol=64 * EPS * np.abs(theirs).max(), err_msg=name)

    g = mix.properties("g", T=[298.15, 400.0, 600.0], p=1.01325e5, X={"A": 1})["g"] * mix.species.W[0]
    np.testing.assert_allclose(g, [0.0, -3.9e3, -13.8e3], rtol=1e-13, atol=1e-9)


@pytest.mark.filterwarnings("error")
def test_a_constant_heat_capacity_has_no_end(tmp_path):
    """Without T-min and T-max it is the same at all temperatures of the models, and no warning speaks of a range."""
    path = tmp_path / "letters.yaml"
    path.write_text(LETTERS)
    argon = Mixture.from_yaml(path, **IDEAL, without=["N2", "NO", "H2O", "He"])

    cp = argon.properties("cp", T=[20.0, 300.0, 6000.0], p=1e5)["cp"]

    np.testing.assert_allclose(cp, 4.968 * 4.184 / argon.species.W[0], rtol=4 * EPS)
