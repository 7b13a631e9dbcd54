"""`python -m frame mechanisms`: phases that load, the column omega, CHEMKIN files by Cantera's converter."""

import mechanisms_for_tests as mechanisms
import pytest
from mixtures_for_tests import ROOT

from frame.tools import chemkin, cli
from kernels import Mixture
from kernels.gas.species.cantera_yaml import cantera_data

# Hydrogen and oxygen of TM-4513's data, one reaction with a third body and one without.
CHEMISTRY = """ELEMENTS
H O
END
SPECIES
H2 H O2
END
REACTIONS
H2+M=H+H+M  4.577E+19 -1.40 1.0438E+05
H2/2.5/ O2/1.0/
H2+O2=>H+H+O2  1.0E+10 0.0 9.0E+04
END
"""
THERMO = """THERMO ALL
   200.000  1000.000  6000.000
H2                TPIS78H   2               G   200.000  6000.000  1000.00     1
 2.93286579E+00 8.26607967E-04-1.46402335E-07 1.54100359E-11-6.88804432E-16    2
-8.13065597E+02-1.02432887E+00 2.34433112E+00 7.98052075E-03-1.94781510E-05    3
 2.01572094E-08-7.37611761E-12-9.17935173E+02 6.83010238E-01                   4
H                 L 5/93H   1               G   200.000  6000.000  1000.00     1
 2.50000286E+00-5.65334214E-09 3.63251723E-12-9.19949720E-16 7.95260746E-20    2
 2.54736589E+04-4.46698494E-01 2.50000000E+00 0.00000000E+00 0.00000000E+00    3
 0.00000000E+00 0.00000000E+00 2.54736599E+04-4.46682853E-01                   4
O2                TPIS89O   2               G   200.000  6000.000  1000.00     1
 3.66096083E+00 6.56365523E-04-1.41149485E-07 2.05797658E-11-1.29913248E-15    2
-1.21597725E+03 3.41536184E+00 3.78245636E+00-2.99673415E-03 9.84730200E-06    3
-9.68129508E-09 3.24372836E-12-1.06394356E+03 3.65767573E+00                   4
END
"""
TRANSPORT = """H2                 1    38.000     2.920     0.000     0.790   280.000
H                  0   145.000     2.050     0.000     0.000     0.000
O2                 1   107.400     3.458     0.000     1.600     3.800
"""


def test_reactions_by_kind_and_refusals_by_name(tmp_path, capsys):
    """A folder without a flag. A file that is no mechanism is reported; the other files are read."""
    text = mechanisms.path().read_text()
    (tmp_path / "good.yaml").write_text(text)
    (tmp_path / "plasma.yaml").write_text(text.replace("type: Chebyshev", "type: two-temperature-plasma"))
    (tmp_path / "broken.yaml").write_text("phases: [")
    (tmp_path / "chem.inp").write_text(CHEMISTRY)

    assert cli.main(["mechanisms", str(tmp_path)]) == 0

    told = capsys.readouterr().out
    good = [line for line in told.splitlines() if line.startswith("| good.yaml | ideal ")]

    assert len(good) == 1 and "41 reactions: " in good[0] and "falloff Troe" in good[0] and "P-log" in good[0]
    assert "3 linear Burke" in good[0] and "3 Blowers-Masel" in good[0]
    assert "| plasma.yaml | ideal | ideal-gas | 7 species | " in told
    assert "\nplasma.yaml, ideal, omega: " in told and "two-temperature-plasma' is not read" in told
    assert "not read: broken.yaml: " in told and f"--convert {tmp_path / 'chem.inp'}" in told


def test_what_a_refused_phase_has_with_the_options_that_it_needs(tmp_path, capsys):
    """Electrons of a real gas are refused by name; without them, as the message says, there are species. The reactions
    are those of the ideal gas."""
    pytest.importorskip("cantera")
    assert cli.main(["mechanisms", str(cantera_data() / "gri30_ion.yaml")]) == 0

    told = capsys.readouterr().out
    assert "| 56 species | refused | 331 reactions: " in told
    assert "gri30_ion.yaml, gas, real: " in told and 'With without=["E"]: 55 species' in told


def test_no_kinetics_is_no_refusal(tmp_path, capsys):
    shipped = ROOT / "examples/mixtures/n2.yaml"
    path = tmp_path / "none.yaml"
    path.write_text(
        f"phases: [{{name: gas, thermo: ideal-gas, kinetics: none, species: [{{{shipped}/species: all}}]}}]\n"
    )

    assert cli.main(["mechanisms", str(path)]) == 0
    assert capsys.readouterr().out.count("no reactions") == 1


def test_one_file_and_one_without_reactions(capsys):
    assert cli.main(["mechanisms", str(ROOT / "examples/mixtures/h2_o2.yaml")]) == 0
    assert "| 7 species | 7 species, all in the file | no reactions |" in capsys.readouterr().out


def files(folder, chemistry=CHEMISTRY) -> list[str]:
    """The three files, as arguments."""
    arguments = []
    for flag, name, text in (
        ("--convert", "chem.inp", chemistry),
        ("--thermo", "therm.dat", THERMO),
        ("--transport", "tran.dat", TRANSPORT),
    ):
        (folder / name).write_text(text)
        arguments += [flag, str(folder / name)]

    return arguments


def test_chemkin_becomes_a_cantera_file(tmp_path, capsys):
    pytest.importorskip("cantera")
    new = tmp_path / "mine.yaml"

    assert cli.main(["mechanisms", *files(tmp_path), "-o", str(new)]) == 0

    told = capsys.readouterr().out
    assert f"written: {new}" in told and "2 reactions: " in told and "no transport" not in told
    assert cli.main(["mechanisms", *files(tmp_path), "-o", str(new)]) == 1
    assert "is there already; nothing was written" in capsys.readouterr().err


@pytest.mark.parametrize(
    "written",
    [
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("REACTIONS", "! \xe9tude\nREACTIONS").encode("latin-1"),
        lambda text: text.replace("=>H+H+O2", "=> & ! goes on\nH+H+O2").encode(),
        lambda text: text.replace("1.0E+10", "1.0D+10").encode(),
        lambda text: text.replace("=>H+H+O2  ", "=>H+H+O2\t").replace("REACTIONS", "reactions").encode(),
    ],
    ids=["mark of UTF-8", "lines of Windows", "Latin-1", "continued", "Fortran's exponent", "tabs and letters"],
)
def test_layouts_of_chemkin_files(written, tmp_path):
    """The same reactions as in the plain layout."""
    pytest.importorskip("cantera")
    arguments = files(tmp_path)
    assert cli.main(["mechanisms", *arguments, "-o", str(tmp_path / "plain.yaml")]) == 0

    (tmp_path / "chem.inp").write_bytes(written(CHEMISTRY))
    assert written(CHEMISTRY) != CHEMISTRY.encode()
    assert cli.main(["mechanisms", *arguments, "-o", str(tmp_path / "other.yaml")]) == 0

    mixtures = [Mixture.from_yaml(tmp_path / f"{name}.yaml", equation="ideal") for name in ("plain", "other")]
    plain, other = (mix.species.mechanism.reactions for mix in mixtures)
    assert mixtures[0].names == mixtures[1].names
    assert [(r.reactants, r.products, r.rate) for r in plain] == [(r.reactants, r.products, r.rate) for r in other]


def test_the_converter_s_errors_are_passed_on(tmp_path, capsys):
    """With file and line; nothing is written."""
    pytest.importorskip("cantera")
    wrong = CHEMISTRY.replace("H2+O2=>H+H+O2", "H2+O2=>H+H+OX")
    before = {"chem.inp", "therm.dat", "tran.dat"}

    assert cli.main(["mechanisms", *files(tmp_path, wrong)]) == 1

    told = capsys.readouterr().err
    assert "was not converted" in told and "in chem.inp starting on line 10" in told and "Traceback" not in told
    assert {path.name for path in tmp_path.iterdir()} == before


def test_a_folder_without_files(tmp_path, capsys):
    assert cli.main(["mechanisms", str(tmp_path)]) == 1
    assert f"no Cantera file in {tmp_path}" in capsys.readouterr().out


def test_what_is_refused(tmp_path, capsys, monkeypatch):
    for arguments, words in (
        (["--thermo", "x"], "--thermo belongs to --convert"),
        ([str(tmp_path), "--folder", str(tmp_path)], "given twice"),
        ([str(tmp_path / "none")], "no such folder or file"),
        ([str(tmp_path), "--convert", "x"], "two things"),
        (["--convert", str(tmp_path / "none.inp")], "none.inp: no such file"),
        (["--convert", str(ROOT / "README.md")], "README.md: has no section SPECIES; wanted CHEMKIN chemistry"),
    ):
        assert cli.main(["mechanisms", *arguments]) == 1
        assert words in capsys.readouterr().err, arguments

    monkeypatch.setattr(chemkin.importlib.util, "find_spec", lambda name: None)
    assert cli.main(["mechanisms", *files(tmp_path)]) == 1
    assert "needs the converter of Cantera, which is not installed" in capsys.readouterr().err
