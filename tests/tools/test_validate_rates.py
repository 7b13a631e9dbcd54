"""`python -m frame validate` of mechanisms: rates and thermodynamics beside Cantera's, and each comparison can fail."""

import json

import mechanisms_for_tests as mechanisms
import pytest
from mixtures_for_tests import ROOT

from frame.tools import cli, validate
from frame.tools.validate import cantera, cantera_rates, delays, mechanism
from kernels import Mixture, get_backend

RATES = cantera_rates.NAMES.split()


@pytest.mark.full
def test_rates_of_all_files_of_a_folder(tmp_path, capsys, monkeypatch):
    """`validate --against cantera`: each kind of reaction, of an ideal and of a real gas. Refusals are reported.
    Ignition delays come last; here a single delay."""
    pytest.importorskip("cantera")
    text = mechanisms.path().read_text()
    (tmp_path / "every_kind.yaml").write_text(mechanisms.path(mechanisms.CANTERAS["real"]).read_text())
    (tmp_path / "heats.yaml").write_text(text.replace("name: ideal", "name: other"))
    (tmp_path / "refused.yaml").write_text(text.replace("type: Chebyshev", "type: two-temperature-plasma"))
    monkeypatch.setattr(cantera_rates, "cantera_data", lambda: tmp_path)
    delay = "H2 in O2, 10 bar"
    monkeypatch.setattr(delays, "CASES", {delay: delays.CASES[delay]})
    asked = ["validate", "--against", "cantera", "--states", "150", "--backend", "cpu", "--json", "-"]

    assert cli.main(asked) == 0

    out, told = capsys.readouterr()
    *rows, loose, tight = json.loads(out)["rows"]

    assert all(row["quantity"].startswith(f"delay of {delay}") and row["passed"] for row in (loose, tight))

    names = []
    for phase in ("every_kind.yaml ideal", "every_kind.yaml real", "heats.yaml other"):
        names += [f"{name} of {phase}" for name in RATES]
    assert [row["quantity"] for row in rows] == names
    assert all(row["passed"] and row["states"] > 140 and row["worst"] > 0 for row in rows)
    assert "7 species, 37 reactions" in told and "7 species, 41 reactions" in told
    assert told.count("left out: refused.yaml") == 2 and "two-temperature-plasma" in told
    assert "left out: heats.yaml real: Blowers-Masel rates go with heats of reaction of the real gas" in told
    assert cli.main(["validate", "--backend", "cpu"]) == 1
    assert "--mixture FILE is needed" in capsys.readouterr().err


def test_another_rate_than_canteras_fails(monkeypatch):
    """A multiplier 1e-10 off, in one falloff reaction of 34."""
    ct = pytest.importorskip("cantera")
    given = validate.Job(
        Mixture.from_yaml(mechanisms.path(), "ideal", equation="ideal"),
        str(mechanisms.path()),
        "ideal",
        150,
        3,
        get_backend("cpu"),
    )

    assert [row.name for row in cantera.run(given) if row.passed] == RATES

    class Wrong(ct.Solution):
        def __init__(self, *args):
            super().__init__(*args)
            self.set_multiplier(self.multiplier(7) * (1 + 1e-10), 7)

    monkeypatch.setattr(ct, "Solution", Wrong)
    failed = {row.name for row in cantera.run(given) if not row.passed}

    assert {"rate_f", "rate_r"} <= failed and "Kc" not in failed


THERMODYNAMICS = ["p at our rho", *mechanism.GETTERS]


@pytest.mark.parametrize("phase", ["real", "ideal"])
def test_a_mechanism_of_one_s_own(phase, capsys):
    """`validate --mechanism FILE --phase P`: thermodynamics and rates of the shipped hydrogen."""
    pytest.importorskip("cantera")
    file = ROOT / "examples/mechanisms/h2_o2.yaml"
    asked = ["validate", "--mechanism", str(file), "--phase", phase, "--states", "150", "--backend", "cpu"]

    assert cli.main([*asked, "--json", "-"]) == 0

    out, told = capsys.readouterr()
    rows = json.loads(out)["rows"]

    assert [row["quantity"] for row in rows] == [*THERMODYNAMICS, *RATES]
    assert all(row["passed"] and row["states"] > 140 and row["worst"] > 0 for row in rows)
    assert f"phase '{phase}': 9 species, 23 reactions" in told and "14 of 14 within tolerance" in told


def test_phases_that_cannot_be_compared_are_reported(tmp_path, capsys):
    """A phase that the layer refuses, and a phase that Cantera refuses; the phase between is compared. Status 1."""
    pytest.importorskip("cantera")
    species = "species: [{h2o2.yaml/species: [H2, O2, H2O, H, O, OH, HO2, H2O2, N2, AR]}], kinetics: bulk"
    plasma = "{equation: H + O2 <=> OH + O, type: two-temperature-plasma, rate-constant: [1.0, 0.0, 0.0]}"
    path = tmp_path / "three.yaml"
    path.write_text(
        f"""
phases:
- {{name: plasma, thermo: ideal-gas, {species}, reactions: [plasma]}}
- {{name: good, thermo: ideal-gas, {species}, reactions: [h2o2.yaml/reactions]}}
- {{name: strange, thermo: ideal-gas, {species}, reactions: [h2o2.yaml/reactions], transport: none-such}}
plasma:
- {plasma}
"""
    )
    asked = ["validate", "--mechanism", str(path), "--states", "100", "--backend", "cpu"]

    assert cli.main(asked) == 1

    told = capsys.readouterr().out
    assert "not compared: phase 'plasma': the layer cannot read it: " in told and "two-temperature" in told
    assert "not compared: phase 'strange': Cantera cannot read it: " in told and "none-such" in told
    assert "phase 'good': 10 species, 29 reactions" in told and "14 of 14 within tolerance" in told


REDLICH_KWONG = """
phases: [{name: gas, thermo: Redlich-Kwong, species: [CO2, CH4]}]
species:
- name: CO2
  composition: {C: 1, O: 2}
  thermo: &cp {model: constant-cp, cp0: 37 J/mol/K}
  critical-parameters: {critical-temperature: 304.2, critical-pressure: 7.39e6, acentric-factor: 0.228}
- name: CH4
  composition: {C: 1, H: 4}
  thermo: *cp
  critical-parameters: {critical-temperature: 190.7, critical-pressure: 4.63e6, acentric-factor: 0.011}
"""


def test_critical_points_of_redlich_kwong_phases(tmp_path, capsys):
    """Cantera's a and b, from Tc and pc, have the error of its constants of 12 digits."""
    pytest.importorskip("cantera")
    (tmp_path / "rk.yaml").write_text(REDLICH_KWONG)
    asked = ["validate", "--mechanism", str(tmp_path / "rk.yaml"), "--states", "200", "--backend", "cpu"]

    assert cli.main(asked) == 0
    assert "7 of 7 within tolerance" in capsys.readouterr().out


def test_thermodynamics_other_than_cantera_s_fail(tmp_path, capsys, monkeypatch):
    """An enthalpy of formation of one species 1e-9 off: h and e, Kc and reverse rates."""
    ct = pytest.importorskip("cantera")
    text = (ROOT / "examples/mechanisms/h2_o2.yaml").read_text()

    assert "-30293.7267" in text

    (tmp_path / "off.yaml").write_text(text.replace("-30293.7267", "-30293.727"))
    other = ct.Solution(str(tmp_path / "off.yaml"), "ideal")
    monkeypatch.setattr(ct, "Solution", lambda *args: other)
    file = str(ROOT / "examples/mechanisms/h2_o2.yaml")
    asked = ["validate", "--mechanism", file, "--phase", "ideal", "--states", "150", "--backend", "cpu", "--json", "-"]

    assert cli.main(asked) == 1

    failed = {row["quantity"] for row in json.loads(capsys.readouterr().out)["rows"] if not row["passed"]}
    assert {"h", "e", "Kc", "rate_r"} <= failed and not {"p at our rho", "cp", "cv", "c", "rate_f"} & failed


def test_what_validate_of_a_mechanism_refuses(tmp_path, capsys):
    (tmp_path / "none.yaml").write_text("phases: [{name: w, thermo: liquid-water-IAPWS95}]\n")
    (tmp_path / "broken.yaml").write_text("phases: [")
    shipped = str(ROOT / "examples/mechanisms/h2_o2.yaml")

    for arguments, words in (
        ([shipped, "--phase", "reel"], "no gas phase 'reel', did you mean 'real'"),
        ([shipped, "--mixture", shipped], "both given"),
        ([shipped, "--against", "wide"], "with cantera only"),
        ([shipped, "--states", "5"], "wanted 100 or more"),
        ([str(tmp_path / "none.yaml")], "has no gas phase"),
        ([str(tmp_path / "broken.yaml")], "is not valid YAML"),
        ([str(tmp_path / "nowhere.yaml")], "cannot be read"),
    ):
        assert cli.main(["validate", "--backend", "cpu", "--mechanism", *arguments]) == 1
        assert words in capsys.readouterr().err, arguments


NINE = """
phases:
- name: air
  thermo: ideal-gas
  species: [{airNASA9.yaml/species: [N2, O2, NO, N, O]}]
  kinetics: bulk
reactions:
- {equation: N2 + O <=> NO + N, rate-constant: [1.8e+11, 0.0, 3.19e+8]}
- {equation: N + O2 <=> NO + O, rate-constant: [9.0e+6, 1.0, 2.72e+7]}
- {equation: O2 + M <=> 2 O + M, rate-constant: [1.2e+14, -1.0, 4.98e+8], efficiencies: {N2: 0.5}}
"""


def test_rates_with_polynomials_of_nine_coefficients(tmp_path):
    pytest.importorskip("cantera")
    (tmp_path / "nine.yaml").write_text(NINE)
    rows = cantera_rates.sweep(lambda text: None, 100, 1, get_backend("cpu"), tmp_path)

    assert [row.name for row in rows if row.passed] == [f"{name} of nine.yaml air" for name in RATES]


@pytest.mark.parametrize(
    "file",
    (
        *("h2o2", "gri30", "gri30_highT", "air", "ohn", "ptcombust", "SiF4_NH3_mec", "nDodecane_Reitz"),
        *("example_data/ammonia-CO-H2-Alzueta-2023", "example_data/n-hexane-NUIG-2015"),
    ),
)
@pytest.mark.quick(file="air")
def test_rates_of_canteras_mechanisms(file, tmp_path):
    pytest.importorskip("cantera")
    path = cantera_rates.cantera_data() / f"{file}.yaml"
    (tmp_path / path.name).symlink_to(path)
    rows = cantera_rates.sweep(lambda text: None, 100, 1, get_backend("cpu"), tmp_path)

    assert len(rows) >= len(RATES)
    assert all(row.passed for row in rows), [f"{r.name}: {r.worst:.3g} at {r.place()}" for r in rows if not r.passed]
