"""Air up to 20000 K, as in re-entry, with polynomials of nine coefficients: inversions, equilibria with ions and
electrons, and reactors go as far as the polynomials of all species."""

from pathlib import Path

import numpy as np
import pytest
from ruamel.yaml import YAML

from kernels import Mixture, get_backend

ct = pytest.importorskip("cantera")
AIR = Path(ct.__file__).parent / "data" / "airNASA9.yaml"
IDEAL = dict(equation="ideal")
PLASMA = "N2:0.5, O2:0.1, NO:0.05, N:0.15, O:0.15, N+:0.02, O+:0.005, NO+:0.005, N2+:0.005, O2+:0.002, e-:0.032"
COLD_AIR = "N2:0.79, O2:0.21"
REACTIONS = [
    {"equation": "N2 + M <=> N + N + M", "rate-constant": ["3.0e+22 cm^3/mol/s", -1.6, "225000 cal/mol"]},
    {"equation": "O2 + M <=> O + O + M", "rate-constant": ["1.0e+22 cm^3/mol/s", -1.5, "118000 cal/mol"]},
    {"equation": "N2 + O <=> NO + N", "rate-constant": ["6.4e+17 cm^3/mol/s", -1.0, "76300 cal/mol"]},
    {"equation": "NO + O <=> O2 + N", "rate-constant": ["8.4e+12 cm^3/mol/s", 0.0, "38600 cal/mol"]},
]  # of the size of Park's


@pytest.fixture(scope="module")
def air():
    return Mixture.from_yaml(AIR, **IDEAL)


def five_species(folder, last=None, reactions=()):
    """A file of N2, O2, NO, N and O. last: where the polynomials of NO end [K]; None: with those of the others."""
    yaml = YAML(typ="safe", pure=True)
    data = yaml.load(AIR.read_text())
    data["phases"][0] |= {"species": ["N2", "O2", "NO", "N", "O"], "elements": ["N", "O"]}

    if reactions:
        data["phases"][0]["kinetics"] = "gas"
        data["reactions"] = list(reactions)

    if last:
        NO = next(species for species in data["species"] if species["name"] == "NO")["thermo"]
        NO["temperature-ranges"] = NO["temperature-ranges"][:2] + [last]
        NO["data"] = NO["data"][:2]

    path = folder / "air.yaml"
    with open(path, "w") as out:
        yaml.dump(data, out)
    return path


def test_temperatures_come_back(air):
    """T from h, s, e or rho of that T. The values are sums of terms a thousand times as large: 1e-12 of T."""
    T = np.linspace(300.0, 19900.0, 99)
    q = air.properties("h s e rho", T=T, p=1e4, X=PLASMA)

    for given in (
        dict(h=q["h"], p=1e4),
        dict(s=q["s"], p=1e4),
        dict(e=q["e"], rho=q["rho"]),
        dict(rho=q["rho"], p=1e4),
    ):
        back = air.properties("T unconverged", X=PLASMA, **given)
        assert not back["unconverged"].any(), list(given)
        np.testing.assert_allclose(back["T"], T, rtol=1e-12)


@pytest.mark.parametrize(
    "given", ("h p", "e rho", "s p", "p rho"), ids=lambda given: "from " + given.replace(" ", " and ")
)
def test_beyond_the_end_nothing_is_found(air, given):
    q = air.properties("h s e rho", T=19000.0, p=1e4, X=PLASMA) | {"p": 1e4}
    beyond = {name: q[name] for name in given.split()}
    beyond[given[0]] = 2 * q[given[0]]
    with pytest.warns(RuntimeWarning, match="NaN at 1 of 1"):
        got = air.properties("T unconverged", X=PLASMA, **beyond)

    assert np.isnan(got["T"]) and got["unconverged"] == 2


def test_searches_of_two_phases_go_as_far():
    """Dense air of a mixture that may be two phases: T of every pair comes back up to 20000 K, to 1e-10, where searches
    in brackets end. It was NaN above 6000 K, or another T."""
    others = "NO N O N+ O+ NO+ N2+ O2+ e-".split()
    mix = Mixture.from_yaml(AIR, without=others, equation="pr", critical="fill", phases="equilibrium")
    T, X = np.array([90.0, 3000.0, 6100.0, 19900.0]), [0.79, 0.21]
    q = mix.properties("T p h s e rho Y phases_status", T=T, p=np.array([3e5, 1e7, 1e7, 1e8]), X=X)

    for given in ("h p", "e rho", "s p", "p rho"):
        back = mix.properties("T phases_status", Y=q["Y"], **{name: q[name] for name in given.split()})
        np.testing.assert_array_equal(back["phases_status"], q["phases_status"], err_msg=given)
        np.testing.assert_allclose(back["T"], T, rtol=1e-10, err_msg=given)


def test_the_first_polynomial_that_ends_ends_the_search(tmp_path):
    """At 9000 K where those of NO do. Polynomials that end below 6000 K are extrapolated that far."""
    assert Mixture.from_yaml(five_species(tmp_path), **IDEAL).species.T_end == 20000.0
    assert Mixture.from_yaml(five_species(tmp_path, 5000.0), **IDEAL).species.T_end == 6000.0

    mix = Mixture.from_yaml(five_species(tmp_path, 9000.0), **IDEAL)
    h = mix.properties("h", T=[8999.0, 9001.0], p=1e5, X=COLD_AIR)["h"]
    with pytest.warns(RuntimeWarning, match="NaN at 1 of 2"):
        got = mix.properties("T unconverged", h=h, p=1e5, X=COLD_AIR)

    assert got["T"][0] == pytest.approx(8999.0, rel=1e-12) and got["unconverged"].tolist() == [0, 2]


def test_a_constant_heat_capacity_far_up(tmp_path):
    """h = cp0 (T - T0); 1e5 K is the highest temperature that files may have."""
    (tmp_path / "argon.yaml").write_text(
        "phases: [{name: gas, thermo: ideal-gas, species: [AR]}]\nspecies:\n- {name: AR, composition: {Ar: 1}, "
        "thermo: {model: constant-cp, cp0: 20.786 J/mol/K, T0: 300 K, T-min: 10.0, T-max: 1.0e+5}}\n"
    )
    argon = Mixture.from_yaml(tmp_path / "argon.yaml", **IDEAL)
    T = np.array([21.0, 3000.0, 0.9999e5])
    got = argon.properties("T unconverged", h=20.786 / argon.species.W[0] * (T - 300), p=1e5)

    np.testing.assert_allclose(got["T"], T, rtol=1e-12)
    assert not got["unconverged"].any()


@pytest.mark.parametrize("T, p", ((7000.0, 1e4), (12000.0, 1e3), (19000.0, 1e5)))
def test_plasma_in_equilibrium_as_cantera_has_it(air, T, p):
    gas = ct.Solution(AIR)
    gas.TPX = T, p, COLD_AIR
    gas.equilibrate("TP", rtol=1e-12)
    out = air.equilibrate("TP", T=T, p=p, X=COLD_AIR)

    np.testing.assert_allclose(out["X"], gas.X, rtol=1e-8, atol=1e-12)
    assert out["h"] == pytest.approx(gas.h, rel=1e-10)

    # Back from the energies of this state
    rho, Y = out["rho"], out["Y"]
    q = air.properties("e s", T=T, p=p, Y=Y)

    for held, state in {
        "HP": dict(h=out["h"], p=p),
        "UV": dict(e=q["e"], rho=rho),
        "SP": dict(s=q["s"], p=p),
        "SV": dict(s=q["s"], rho=rho),
    }.items():
        back = air.equilibrate(held, X=COLD_AIR, **state)
        assert back["T"] == pytest.approx(T, rel=1e-9), held
        np.testing.assert_allclose(back["Y"], Y, rtol=1e-6, atol=1e-12)


def test_beyond_the_end_there_is_no_equilibrium(air):
    with pytest.warns(RuntimeWarning, match="1 would be beyond 20 to 20000 K"):
        out = air.equilibrate("HP", h=1e10, p=1e5, X=COLD_AIR)
    assert out["status"] == 2


@pytest.mark.parametrize("kind", ("pressure", "volume"))
@pytest.mark.long(kind=["pressure"])
def test_a_reactor_as_cantera_has_it(tmp_path, kind):
    """Air behind a shock at 11000 K dissociates. Relative tolerance 1e-4 of the layer, 1e-9 of Cantera."""
    path = five_species(tmp_path, reactions=REACTIONS)
    gas = ct.Solution(path)
    gas.TPX = 11000.0, 2e4, COLD_AIR
    of_cantera = ct.IdealGasConstPressureReactor if kind == "pressure" else ct.IdealGasReactor
    reactor = of_cantera(gas, clone=False)
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol = 1e-9, 1e-15
    times = np.array([1e-7, 1e-6, 1e-5])
    wanted = []

    for t in times:
        net.advance(t)
        wanted.append([reactor.T, *gas.Y])

    out = Mixture.from_yaml(path, **IDEAL).react(11000.0, 2e4, X=COLD_AIR, dt=times, kind=kind)
    assert not out["status"].any()
    np.testing.assert_allclose(np.vstack([out["T"], out["Y"]]).T, wanted, rtol=3e-4, atol=1e-6)


@pytest.mark.parametrize("results, given", (("T", "h p Y"), ("T", "e rho Y"), ("T", "p rho Y"), ("Y_eq", "h p Y")))
@pytest.mark.long(given=["h p Y", "p rho Y"])
def test_compiles_for_a_gpu(air, results, given):
    """NVRTC, sm_90."""
    air.program(results, given, backend=get_backend("cuda", arch="sm_90"))
