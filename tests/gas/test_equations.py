"""Equations of state as records: a further one costs a record here and a line in the oracle; what is missing is an
error; Redlich-Kwong phases of Cantera; RKPR against another code."""

import dataclasses
import re
from io import StringIO
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from conditioning import assert_close
from kernel_cases import THERMAL, N, compare, mixture, states
from mixtures_for_tests import CANTERA_NAMES, changed, species_set
from reference import EPS, LD, cubic, derivatives, evaluate, oracle, species, value
from ruamel.yaml import YAML

from kernels import ArgumentError, Mixture, MixtureError, get_backend, registry
from kernels.engine.errors import CompileError
from kernels.gas.equations import records
from kernels.gas.equations.records import CUBICS, Cubic, General, Peneloux, Soave
from kernels.gas.species.cantera_yaml import read_cantera_yaml

PARTIAL = "v_Y h_Y e_Y ln_phi g_Y s_Y rho_Y eps_k e_p e_T s_p s_T"

# ---- a further equation: the D of Harmens 1977 (original not seen), v^2 + 3 b v - 2 b^2, with an alpha of Heyen's
# kind, exp(c (1 - Tr)), c = 0.9 + 1.6 omega (made up)

DELTAS = (3 + np.sqrt(LD(17))) / 2, (3 - np.sqrt(LD(17))) / 2
OMEGA_A, OMEGA_B, Z_C = cubic.critical_constants(*DELTAS)


def _f(T, Tc, sp, alpha):
    half = ((LD("0.9") + LD("1.6") * sp.omega) / 2)[:, None]
    f = np.exp(half * (1 - T / Tc))
    return f, -half / Tc * f, half * half / (Tc * Tc) * f


RECORD = Cubic(
    name="harmens",
    delta_1=float(DELTAS[0]),
    delta_2=float(DELTAS[1]),
    omega_a=float(OMEGA_A),
    omega_b=float(OMEGA_B),
    Z_c=float(Z_C),
    alpha=General(
        constants={"inv_Tc": lambda sp: 1 / sp.Tc, "half": lambda sp: (0.9 + 1.6 * sp.omega) / 2},
        text="""root = exp(half * (1.0 - T * inv_Tc));
root_T = -half * inv_Tc * root;
root_TT = -half * inv_Tc * root_T;""",
    ),
    translation=None,
    needs=("Tc", "pc", "omega"),
    formula="test",
    source="test",
    valid="test",
)


@pytest.fixture
def harmens(monkeypatch):
    monkeypatch.setitem(cubic.EQUATIONS, "harmens", cubic._one(*DELTAS, 3, -2, OMEGA_A, OMEGA_B, Z_C, _f))
    with registry.temporary():
        records.add(RECORD)
        yield dict(equation="harmens")

    records.FAMILY.remove("harmens")
    del CUBICS["harmens"]


def test_a_further_cubic_costs_one_record(harmens):
    """Every thermal quantity and every derivative, against the oracle with its one line more; density is its own."""
    data, s = species_set(2), states(2, 1000)
    mix = Mixture.from_species(data, **harmens)
    q = evaluate(data, s["T"], s["p"], s["Y"], velocity=[s[c] for c in "uvw"], transport=False, **harmens)

    compare(THERMAL, mix.properties(THERMAL, **s), q, "harmens")
    made = derivatives.of_state(q, species.arrays(data, tracked=True), {**oracle.OPTIONS, **harmens})
    made.undecided = q.undecided

    compare(PARTIAL, mix.properties(PARTIAL, **s), made, "harmens")
    h, plain = (m.properties("h rho", T=s["T"], p=s["p"], Y=s["Y"]) for m in (mix, mixture(2)))
    assert (np.abs(h["rho"] / plain["rho"] - 1) > 0.01).mean() > 0.2

    back = mix.properties("T unconverged", h=h["h"], p=s["p"], Y=s["Y"])
    good = ~q.undecided & (np.abs(back["T"] / s["T"] - 1) < 1e-9)
    assert good.mean() > 0.99 and (back["unconverged"] == 0).mean() > 0.99


def test_a_record_with_a_field_missing_is_an_error():
    fields = {f.name: getattr(RECORD, f.name) for f in dataclasses.fields(RECORD)}
    for name in fields:
        with pytest.raises(TypeError, match=name):
            Cubic(**{k: v for k, v in fields.items() if k != name})
        if name != "translation":  # which an equation may be without
            with pytest.raises((ArgumentError, TypeError), match=name):
                Cubic(**{**fields, name: None})

    for wrong, said in (
        (dict(delta_1=9.0, delta_2=-0.9), "one nearer to delta_2"),
        (dict(delta_1=-0.5, delta_2=0.5), "one between -1 and delta_1"),
        (dict(delta_1=records.rkpr_delta_1, delta_2=max, omega_a=max, omega_b=max, Z_c=max), "by_delta_1"),
        (dict(alpha="soave"), "Soave or General"),
        (dict(name="a b"), "letters"),
    ):
        with pytest.raises(ArgumentError, match=f"equation.*{said}"):
            Cubic(**{**fields, **wrong})

    for part, given in ((Soave, dict(others={})), (General, dict(text="")), (Peneloux, dict(slope=1.0))):
        with pytest.raises(TypeError, match="missing"):
            part(**given)

    with pytest.raises(ArgumentError, match="'pr': the name is taken"):
        records.add(dataclasses.replace(RECORD, name="pr"))


@pytest.mark.parametrize("backend", ["cpu", "sm_90"])
@pytest.mark.parametrize(
    "line, right, wrong",
    [
        (2, "inv_Tc * root;", "inv_Tcc * root;"),
        (3, "root_T;", "root_T"),
        (1, "exp(half *", "exp(&half *"),
    ],
)
@pytest.mark.quick(line=2)
def test_a_slip_in_the_text_of_an_equation_is_reported_there(harmens, backend, line, right, wrong):
    """By the line of the record's text, and not of the header whose body calls it."""
    alpha = dataclasses.replace(RECORD.alpha, text=RECORD.alpha.text.replace(right, wrong))
    slip = dataclasses.replace(RECORD, alpha=alpha)
    target = get_backend("cpu") if backend == "cpu" else get_backend("cuda", arch=backend)

    with mock.patch.dict(CUBICS, harmens=slip), pytest.raises(CompileError) as refusal:
        Mixture.from_species(species_set(2), **harmens).program("rho", "T p Y", backend=target)
    assert str(refusal.value).startswith(f"equation 'harmens', text of its alpha, line {line}: "), refusal.value


def test_every_record_says_where_it_is_from():
    assert len(CUBICS) >= 5
    for record in CUBICS.values():
        assert re.search(r"\b(18|19|20)\d\d\b", record.source) and record.valid, record.name


@pytest.mark.parametrize("name", sorted({*CUBICS, *cubic.EQUATIONS}))
def test_every_record_has_an_oracle_and_a_row_of_the_page(name):
    page = (Path(__file__).parents[2] / "docs/explanation/models.md").read_text()

    assert name in CUBICS, f"'{name}': no such record is declared"
    assert name in cubic.EQUATIONS, f"'{name}': wanted a line of EQUATIONS in tests/reference/cubic.py"
    assert f"\n| `{name}` | " in page, f"'{name}': wanted a row in docs/explanation/models.md"


# ---- other codes

# ThermoPack 2.2.3, CH4 and CO2 with its own Tc, pc, omega and k_ij = 0: X of CH4, v [m3/mol], T [K]; p [Pa], ln phi,
# residual h [J/mol] for each equation
CRITICAL = dict(Tc=[190.555, 304.2], pc=[4598837.0, 7376500.0], omega=[0.01131, 0.225])
STATES = ((0.4, 5e-4, 350.0), (0.9, 5e-5, 180.0), (0.2, 2e-3, 1500.0))
THERMOPACK = {
    "vdw": (
        (5135425.267236652, (-0.05681393791049949, -0.1525955850099603), -958.1059823694876),
        (118176009.91295831, (0.4750204157922049, -1.1992594003281027), -436.33872211004484),
        (6288479.270489885, (0.012971756854812, 0.0070556840130571175), -62.85859745706315),
    ),
    "rk": (
        (5172742.4195868205, (-0.039493155836995086, -0.15960710118554822), -1107.7560988590797),
        (8954290.991980895, (-1.0966459194684184, -3.291260108789885), -7177.738072352284),
        (6293530.922269966, (0.012138004424516069, 0.00838666849760017), 5.273640244366861),
    ),
    "srk": (
        (5235337.460739331, (-0.031228703711901673, -0.14879090737701617), -1225.8090872319353),
        (8210150.205551278, (-1.0315130886165491, -3.5697454636976467), -7223.049094360735),
        (6329915.861662929, (0.015104790893618159, 0.015080087204434989), 193.05727710437526),
    ),
    "pr": (
        (5129571.822646616, (-0.051476547412276474, -0.16778548291370576), -1276.7924468689382),
        (2029247.2726893798, (0.10037445750154994, -2.1973351066618623), -6918.2704718662335),
        (6317901.585327689, (0.012827142461883767, 0.01322915685520698), 115.9597302101248),
    ),
}


@pytest.mark.parametrize("equation", THERMOPACK)
def test_as_thermopack_has_it(equation):
    """Pressure, fugacity coefficients and departure. Its Omega_a and Omega_b of van der Waals have fewer digits, which
    the liquid's cancellation raises to 7e-12; SRK's m of omega and those of RK and PR are the same."""
    data = changed(species_set(2, "none"), **{name: np.array(v) for name, v in CRITICAL.items()})
    alpha = "published" if CUBICS[equation].soave else "smooth"
    mix = Mixture.from_species(data, equation=equation, alpha=alpha)

    for (x, v, T), (p, ln_phi, h) in zip(STATES, THERMOPACK[equation]):
        X = np.array([x, 1 - x])
        q = mix.properties("p ln_phi h h_ig W", T=T, rho=(X * data.W).sum() / v, Y=X * data.W / (X * data.W).sum())
        assert abs(q["p"] / p - 1) < 5e-11
        np.testing.assert_allclose(q["ln_phi"], ln_phi, rtol=5e-11, atol=5e-11)
        assert abs((q["h"] - q["h_ig"]) * q["W"] - h) < 5e-11 * 8.3 * T


# yaeos 4.5.4, RKPR with this delta_1 and k: X of CH4, v [m3/mol], T [K]; p [Pa], ln phi, residual h [J/mol]
YAEOS = (
    (0.4, 5e-4, 350.0, 5197917.898340879, (-0.03160982441580654, -0.15955054842543703), -1214.5997989178932),
    (0.9, 5e-5, 180.0, 8127367.87787452, (-1.0225660441489335, -3.5742064656624564), -7232.142869876627),
    (0.2, 2e-3, 1500.0, 6312581.00400078, (0.013700728219414166, 0.011894853666976457), 84.87685755792297),
)


def test_rkpr_as_yaeos_has_it():
    """CH4, CO2: pressure, fugacity coefficients and departure. Its gas constant has ten digits; the dense state is 30
    times as sensitive as its terms are."""
    mix = mixture(2, "none", equation="rkpr")
    W = mix.species.W

    for x, v, T, p, ln_phi, h in YAEOS:
        X = np.array([x, 1 - x])
        given = dict(T=T, rho=(X * W).sum() / v, Y=X * W / (X * W).sum())
        q = mix.properties("p ln_phi h h_ig W", **given)

        assert abs(q["p"] / p - 1) < 1e-9
        np.testing.assert_allclose(q["ln_phi"], ln_phi, rtol=1e-9, atol=1e-10)
        assert abs((q["h"] - q["h_ig"]) * q["W"] - h) < 1e-8 * 8.3 * T


def test_beyond_the_correlations_of_rkpr_their_end_is_taken():
    """Hydrogen's Z_c of 0.303 is more than the equation can have."""
    data = species_set(10)
    delta, Z = records.rkpr_delta_1(data), records.rkpr_Z_c(data)
    at = data.names.index("H2")

    assert Z[at] == 0.338426 and delta[at] == 0.428363 and (delta >= 0.428363).all() and (Z[:2] < 0.338426).all()

    # the correlation gives back the Z_c it is a fit to, within its 1 %
    np.testing.assert_allclose(records.rkpr_own_Z_c(delta), Z, rtol=1e-2)


# ---- Redlich-Kwong phases


ct = pytest.importorskip("cantera")


def phase(tmp_path, **changes):
    """A small phase in bar, cm, mol: CO2 and H2O with a = a0 + a1 T, N2 with a number, O2 with critical parameters."""
    gri = YAML(typ="safe", pure=True).load((Path(ct.__file__).parent / "data/gri30.yaml").read_text())["species"]
    entries = {e["name"]: {k: e[k] for k in ("name", "composition", "thermo", "transport")} for e in gri}
    units = {"length": "cm", "quantity": "mol", "pressure": "bar"}

    eos = {
        "CO2": {"a": [7.54e7, -4.13e4], "b": 27.80, "binary-a": {"H2O": [7.897e7, 0.0], "N2": 3.2e7}},
        "H2O": {"a": [1.7458e8, -8.0e4], "b": 18.18},
        "N2": {"a": "1.55976e7 bar*cm^6*K^0.5/mol^2", "b": "26.8 cm^3/mol"},
    }

    for name, block in (eos | changes).items():
        entries[name]["equation-of-state"] = {"model": "Redlich-Kwong", "units": units, **block}
    entries["O2"]["critical-parameters"] = {"critical-temperature": 154.581, "critical-pressure": "50.43 bar"}
    chosen = [entries[name] for name in (*eos, "O2")]
    gas = {"name": "gas", "thermo": "Redlich-Kwong", "elements": ["C", "O", "H", "N"], "species": [*eos, "O2"]}
    text = StringIO()
    YAML(typ="safe", pure=True).dump({"phases": [gas], "species": chosen}, text)
    path = tmp_path / "rk.yaml"
    path.write_text(text.getvalue())

    return path


GETTERS = {name: CANTERA_NAMES[name] for name in "rho h s cp cv c".split()}
CONSTANT = {"CO2": {"a": 7.54e7, "b": 27.80, "binary-a": {"H2O": 7.0e7}}, "H2O": {"a": 1.7458e8, "b": 18.18}}


@pytest.mark.parametrize("changes", ({}, CONSTANT), ids=("a0 + a1 T", "constant a"))
def test_same_as_cantera(tmp_path, changes):
    """Given T and our density, which leaves Cantera no choice of a root; bounds are those of the oracle."""
    path = phase(tmp_path, **changes)
    gas, mix = ct.Solution(str(path)), Mixture.from_yaml(path, equation="rk")
    assert (mix.facts["k_ij"] == "pairs") == (not changes)

    rng = np.random.default_rng(2)
    T, p = np.exp(rng.uniform(np.log(300), np.log(3000), 300)), np.exp(rng.uniform(np.log(1e5), np.log(3e7), 300))
    Y = rng.dirichlet(np.full(4, 0.5), 300).T
    data = species.arrays(mix.species, tracked=True)
    q = evaluate(mix.species, T, p, Y, transport=False, equation="rk")
    d = derivatives.of_state(q, data, {**oracle.OPTIONS, "equation": "rk"})
    got = mix.properties([*GETTERS, *PARTIAL.split()], T=T, p=p, Y=Y)
    for name in ("rho", "h", "s", "cp", "cv", "c", "v_Y", "h_Y", "ln_phi"):
        assert_close(got[name], getattr(q, name, None) or getattr(d, name), N, what=name, skip=q.undecided)
    theirs = {name: [] for name in (*GETTERS, "P", "v_Y")}

    for k in range(T.size):
        gas.TDY = T[k], got["rho"][k], Y[:, k]
        for name in (*GETTERS, "P"):
            theirs[name].append(getattr(gas, GETTERS.get(name, name)))
        theirs["v_Y"].append(gas.partial_molar_volumes / gas.molecular_weights)

    theirs = {name: np.array(v).T for name, v in theirs.items()}
    slope = value(q.rho_p).astype(float)
    assert (np.abs(theirs["P"] - p) <= 64 * EPS * (p + q.rho.err / slope))[~q.undecided].all()

    for name in (*GETTERS, "v_Y"):
        err = (getattr(q, name, None) or getattr(d, name)).err
        # its critical parameters give a with constants of 12 digits; O2 alone has them
        limit = 64 * EPS * err + 1e-11 * np.abs(theirs[name])
        assert (np.abs(got[name] - theirs[name]) <= limit)[..., ~q.undecided].all(), name


def test_a_phase_of_critical_parameters_is_the_record(tmp_path):
    """No a and b: those of the record; of a species with a(T) the critical point is the phase's own."""
    data = read_cantera_yaml(phase(tmp_path), models=("Redlich-Kwong",))[0]
    assert data.Tc[3] == 154.581 and data.pc[3] == pytest.approx(5.043e6) and np.isnan(data.omega).all()

    a0, a1 = data.rk_a[:, range(4), range(4)]
    a, b = CUBICS["rk"].ab(data)

    np.testing.assert_allclose((a0 + a1 * data.Tc) / np.sqrt(data.Tc), a, rtol=1e-13)
    np.testing.assert_allclose(b[:3], [27.8e-6, 18.18e-6, 26.8e-6], rtol=1e-14)

    small = data.subset(["H2O", "CO2"])
    assert (small.rk_a == data.rk_a[np.ix_((0, 1), (1, 0), (1, 0))]).all()


def test_what_a_phase_must_not_have(tmp_path):
    for changes, said in (
        ({"H2O": {"a": [1.7e8, 8e4], "b": 18.0}, "CO2": {"a": [7.5e7, -4e4], "b": 27.8}}, "different signs"),
        ({"N2": {"a": -1.0, "b": 26.8}}, "a: got -1.0, wanted a positive number"),
        ({"N2": {"a": [1.0, 2.0, 3.0], "b": 26.8}}, r"wanted a number or \[a0, a1\]"),
    ):
        with pytest.raises(MixtureError, match=said):
            read_cantera_yaml(phase(tmp_path, **changes), models=("Redlich-Kwong",))

    with pytest.raises(MixtureError, match="missing, .*equation = rk takes the Redlich-Kwong a and b"):
        Mixture.from_yaml(phase(tmp_path), equation="pr")
