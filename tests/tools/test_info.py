"""python -m frame info --mixture: constants with their origin, checks, poles; critical properties that are missing in a
file."""

import dataclasses
import warnings

import mechanisms_for_tests as mechanisms
import numpy as np
import pytest
from mixtures_for_tests import ROOT, changed, species_set
from ruamel.yaml import YAML

from frame.tools import cli, mixture_checks, mixture_report
from kernels import Mixture, MixtureError
from kernels.gas.species.cantera_yaml import read_cantera_yaml

CH4_O2 = ROOT / "examples/mixtures/ch4_o2.yaml"
RADICALS = ("OH", "H", "O", "HO2")


def without(tmp_path, species, keys=None):
    """The shipped file without critical-parameters (or some of its keys) of some species."""
    yaml = YAML(typ="safe", pure=True)
    data = yaml.load(CH4_O2.read_text())

    for entry in data["species"]:
        if entry["name"] in species:
            for key in keys or list(entry["critical-parameters"]):
                del entry["critical-parameters"][key]
            if not entry["critical-parameters"]:
                del entry["critical-parameters"]

    path = tmp_path / "stripped.yaml"
    with open(path, "w") as out:
        yaml.dump(data, out)
    return path


@pytest.mark.parametrize("command", [["examples"], ["build", "--folder"]])
def test_a_folder_that_cannot_be_made(command, tmp_path, capsys):
    """The command prints a line that names the folder, and no traceback."""
    (tmp_path / "file").touch()
    assert cli.main([*command, str(tmp_path / "file/folder")]) == 1
    told = capsys.readouterr().err
    assert f"python -m frame {command[0]}: {tmp_path / 'file'}" in told and told.count("\n") == 1


@pytest.mark.parametrize(
    "words, wanted",
    [
        ("info mine.yaml", "unknown arguments: mine.yaml; a mixture is named by --mixture mine.yaml; `python"),
        ("validate --mixture a.yaml b.yaml", "unknown arguments: b.yaml; `python -m frame validate --help` lists"),
        ("build --foldr x", "unknown arguments: --foldr x; `python -m frame build --help` lists"),
    ],
)
def test_arguments_that_a_command_does_not_take(words, wanted, capsys):
    """Nothing runs; the message says how a mixture is named, where a file came by itself."""
    assert cli.main(words.split()) == 2
    assert wanted in capsys.readouterr().err


def test_species_of_the_package_need_no_file(capsys):
    assert cli.main(["info", "--mixture", "methane,CO₂", "--equation", "srk"]) == 0
    text = capsys.readouterr().out
    assert "CH4" in text and "CO2" in text

    for words, wanted in {
        "CH4,R134a": "no species 'R134a' in the package",
        "nowhere.yaml": "nowhere.yaml: cannot be read",
        "CH4 --phase gas": "--mixture CH4: there is no such file, and species of the package have no --phase",
    }.items():
        assert cli.main(["info", "--mixture", *words.split()]) == 1
        assert wanted in capsys.readouterr().err


def test_report(capsys):
    assert cli.main(["info", "--mixture", str(CH4_O2), "--chung", "published", "--alpha", "published"]) == 0

    told = capsys.readouterr().out
    for words in (
        "CO2      44.0090  304.128   73.773   0.2239      94.12  0.2746",
        "k_ij of 6 of 45 pairs: H2/CO2 -0.1622",
        "polynomials are extrapolated below 200 K",
        "H2/O2 at X_H2 = 0.3868",
        "CO2 1774 K, HO2 1821 K, O2 1836 K, CH4 2401 K",
    ):
        assert words in told, words

    plain = mixture_report.report(Mixture.from_yaml(CH4_O2)).replace("note", "")
    assert "poles" not in plain and "passes through zero" not in plain


@pytest.mark.parametrize(
    "options, words",
    [
        ({}, "inside the two-phase region of a mixture the result is a single phase"),
        (dict(root="vapour"), "root vapour: the gas wherever the equation has one"),
        (dict(equation="ideal"), "it never condenses"),
        (dict(phases="equilibrium"), "two phases at most"),
    ],
)
def test_what_happens_below_the_critical_point(options, words):
    assert words in mixture_report.report(Mixture.from_yaml(CH4_O2, **options))


def test_ranges_of_reactions(capsys):
    """Ranges of P-log and Chebyshev rates, in the units of the tables. A mixture without such rates has no line."""
    assert cli.main(["info", "--mixture", str(mechanisms.path()), "--phase", "ideal", "--equation", "ideal"]) == 0

    told = capsys.readouterr().out
    for words in (
        "41: ",
        "P-log, 0.1013 to 10 bar; beyond, the values at the ends: HO2 + O <=> OH + O2\n",
        "P-log, 1.013 to 50.66 bar; beyond, the values at the ends: O + H + H2 <=> OH + H2\n",
        "Chebyshev, 290 to 3000 K, 0.01013 to 101.3 bar; beyond, the polynomials as they are",
        "Chebyshev, 300 to 2500 K, 0.1 to 10 bar; ",
        "P-log, 0.1013 to 30.4 bar; beyond, the values at the ends: H + H2O (+M) <=> H2 + OH (+M)\n",
        "reverse rates jump by ",
    ):
        assert words in told, words

    assert "Chebyshev," not in mixture_report.report(Mixture.from_yaml(CH4_O2))


def test_jumps_of_reverse_rates():
    """The jumps of rate_r at T_mid of a species whose entropy jumps by 0.01 R there; forward rates do not jump, but
    those that go with heats of reaction."""
    mix = Mixture.from_yaml(
        mechanisms.path((mechanisms.REACTIONS, mechanisms.MIXED)), "ideal", equation="ideal", takahashi="off"
    )
    species = mix.species
    high = species.nasa_high.copy()
    at = mix.names.index("OH")
    high[at, 6] += 0.01
    wrong = dataclasses.replace(species, nasa_high=high)
    jumps = mixture_checks.reverse_jumps(wrong)
    jump, T, _ = jumps[0]

    assert T == species.T_mid[at] and jump == pytest.approx(np.expm1(0.03), rel=1e-4)  # 3 OH <=> H2O + O2 + H

    out = Mixture.from_species(wrong, equation="ideal", takahashi="off").properties(
        "rate_f rate_r", T=T * np.array([1, 1 + 1e-12]), p=1e6, Y=np.full((7, 2), 1 / 7)
    )
    with np.errstate(invalid="ignore"):  # reactions that do not go back
        across = {name: out[name][:, 1] / out[name][:, 0] - 1 for name in out}
    equations = [r.equation for r in species.mechanism.reactions]

    for found, _, equation in jumps:
        if abs(found) > 1e-3:
            k = equations.index(equation)
            assert across["rate_r"][k] == pytest.approx(found, rel=1e-4) and abs(across["rate_f"][k]) < 1e-9

    told = mixture_report.report(Mixture(wrong, equation="ideal"))
    assert "reverse rates jump where polynomials of species meet: " in told


def test_poles_are_where_viscosity_jumps():
    """On the two sides of a pole the published viscosity of a dense fluid is huge and of opposite sign."""
    mix = Mixture.from_yaml(CH4_O2, chung="published")
    (text,) = mixture_checks.poles(mix)
    at = float(text.partition("H2/O2 at X_H2 = ")[2].partition(";")[0])
    x = at + np.array([-1e-3, -1.2e-4, 1.2e-4, 1e-3])
    X = np.zeros((10, 4))
    X[mix.names.index("H2")], X[mix.names.index("O2")] = x, 1 - x
    mu = mix.properties("mu", T=np.full(4, 150.0), p=100e5, X=X)["mu"]

    assert (np.sign(mu[[1, 2]]) != np.sign(mu[[2, 1]])).all() and np.abs(mu[[1, 2]]).min() > 3 * np.abs(
        mu[[0, 3]]
    ).max()


def test_estimated_radicals_are_the_shipped_ones(tmp_path):
    """The rule is that of the shipped file, whose values have four digits or more."""
    path = without(tmp_path, RADICALS)
    with pytest.raises(MixtureError, match="species 'OH': critical-parameters is missing.*critical = fill"):
        read_cantera_yaml(path)
    mix, shipped = Mixture.from_yaml(path, critical="fill"), Mixture.from_yaml(CH4_O2)
    for name in RADICALS:
        s = mix.names.index(name)
        for field in ("Tc", "pc", "omega", "Vc"):
            np.testing.assert_allclose(getattr(mix.species, field)[s], getattr(shipped.species, field)[s], rtol=1e-4)
            assert mix.species.origin[name][field].startswith("estimated: Tc = 1.2593 eps/k")

    assert all(
        any(note.startswith(f"{name}: Tc, pc, omega, Vc not in the file") for note in mix.notes) for name in RADICALS
    )
    assert mix.species.origin["CH4"] == {} and shipped.species.origin["OH"] == {}

    told = mixture_report.report(mix)
    assert "100.744*" in told and "OH: Tc, pc, omega, Vc: estimated: Tc = 1.2593 eps/k" in told
    assert "; hydroxyl has no measured critical point" in told
    assert mix.species.subset(["OH", "CH4"]).origin["OH"] == mix.species.origin["OH"]


def test_only_what_is_absent_is_filled(tmp_path):
    path = without(tmp_path, ("OH",), ["critical-pressure", "acentric-factor"])
    data = read_cantera_yaml(path, choices={})[0]
    s = data.names.index("OH")

    assert set(data.origin["OH"]) == {"pc", "omega"}
    assert data.Tc[s] == 100.74 or data.Tc[s] == read_cantera_yaml(CH4_O2)[0].Tc[s]

    with pytest.raises(MixtureError, match="'OH': critical-parameters: critical-pressure is missing"):
        read_cantera_yaml(path)


def test_a_radical_without_any_data_is_estimated(tmp_path):
    """A radical that substances.csv does not know either, without transport data: from its composition, and roughly."""
    yaml = YAML(typ="safe", pure=True)
    data = yaml.load(without(tmp_path, ("OH",)).read_text().replace("name: OH", "name: OX"))

    for entry in data["species"]:
        if entry["name"] == "OX":
            del entry["transport"]

    data["phases"][0]["species"] = "all"
    with open(tmp_path / "bare.yaml", "w") as out:
        yaml.dump(data, out)
    with pytest.warns(UserWarning, match="properties of 1 of .* species are estimated, .*: OX."):
        species = read_cantera_yaml(tmp_path / "bare.yaml", choices={})[0]
    words = species.estimated()["OX"]

    assert "a radical (odd number of electrons)" in words and "within a factor of two" in words
    assert "the file has no transport data" in species.origin["OX"]["well_depth"]


def test_looked_up_in_the_package_itself(tmp_path):
    pytest.importorskip("chemicals")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = read_cantera_yaml(without(tmp_path, ("CO2", "H2O", *RADICALS)), choices={})[0]

    shipped = read_cantera_yaml(CH4_O2)[0]
    for name in ("CO2", "H2O"):
        s = data.names.index(name)
        for field in ("Tc", "pc", "omega"):
            np.testing.assert_allclose(getattr(data, field)[s], getattr(shipped, field)[s], rtol=2e-3)
            assert "chemicals" in data.origin[name][field]

    assert all("estimated" in data.origin[name]["Tc"] for name in RADICALS)


SUSPECT = {  # error: (field, factor), message
    "Vc in L/mol read as m3/kmol, of another fluid": ("Vc", 2.0, "pc Vc/(R Tc) = 0.549"),
    "diameter of another species": ("diameter", 1.6, "Lennard-Jones diameter is 1.6"),
    "well depth in another unit": ("well_depth", 8.3, "well depth is"),
}


@pytest.mark.parametrize("case", SUSPECT)
def test_suspect_constants(case):
    field, factor, words = SUSPECT[case]
    data = species_set(2)
    value = getattr(data, field).copy()
    value[1] *= factor
    (line,) = [text for text in mixture_checks.constant_checks(changed(data, **{field: value})) if words in text]

    assert line.startswith("CO2: ")
    assert mixture_checks.constant_checks(data) == []


def test_constants_that_are_absent_are_not_suspect(tmp_path):
    """An ideal gas of a file without critical properties: `lacks` says so, nothing contradicts."""
    (tmp_path / "n2.yaml").write_text(
        "phases: [{name: gas, thermo: ideal-gas, species: [N2]}]\n"
        "species:\n"
        "- {name: N2, composition: {N: 2}, thermo: {model: constant-cp, cp0: 29.1 kJ/kmol/K}}\n"
    )
    species = read_cantera_yaml(tmp_path / "n2.yaml", models=("ideal-gas",))[0]
    assert np.isnan(species.omega).all() and mixture_checks.constant_checks(species) == []


@pytest.mark.filterwarnings("ignore:species data")
def test_polynomials_that_do_not_meet():
    data = species_set(2)
    high = data.nasa_high.copy()
    high[0, 0] += 5e-3
    found = mixture_checks.polynomial_checks(changed(data, nasa_high=high))

    assert any(text.startswith("CH4: cp/R jumps by 0.005 ") and "1000 K" in text for text in found)

    low = data.nasa_low.copy()
    low[1, 1] -= 0.02

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = mixture_checks.polynomial_checks(changed(data, nasa_low=low))

    assert any("CO2: ideal-gas cp/R falls to" in text for text in found)


def test_ctrl_c_is_a_line(monkeypatch, capsys):
    """A long search or a compilation that a user ends: no traceback."""

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.MODULES["info"], "main", interrupted)
    assert cli.main(["info"]) == 130
    assert capsys.readouterr().err == "python -m frame info: stopped by Ctrl-C.\n"
