"""Parts of CHEMKIN files that Cantera's converter drops in silence: read as they are meant, or refused with the
line."""

import numpy as np
import pytest

from frame.errors import MixtureError
from frame.tools import cli
from frame.tools.chemkin_text import Text
from kernels import Mixture
from kernels.gas.species.reactions import Arrhenius

HEAD = "ELEMENTS\nH O C N CL\nEND\nSPECIES\nH O2 HO2 H2 OH O\nEND\nREACTIONS\n"
FIRST_REACTION = HEAD.count("\n") + 1
CAL = 4.184 / 8.31446261815324  # K for cal/mol
COEFFICIENTS = (
    " 2.50000286E+00-5.65334214E-09 3.63251723E-12-9.19949720E-16 7.95260746E-20    2\n"
    " 2.54736589E+04-4.46698494E-01 2.50000000E+00 0.00000000E+00 0.00000000E+00    3\n"
    " 0.00000000E+00 0.00000000E+00 2.54736599E+04-4.46682853E-01                   4\n"
)


def entry(name, composition, middle="  1000.00") -> str:
    """Thermodynamic data of a species. composition: columns 25 to 44; middle: 66 to 79."""
    return f"{name:<24}{composition:<20}G   200.000  6000.000{middle:<14}1\n{COEFFICIENTS}"


THERMO = "THERMO ALL\n 200.0 1000.0 6000.0\n" + "".join(
    entry(name, composition)
    for name, composition in (
        ("H", "H   1"),
        ("O", "O   1"),
        ("O2", "O   2"),
        ("HO2", "H   1O   2"),
        ("H2", "H   2"),
        ("OH", "O   1H   1         G"),  # the phase stands a column early
    )
)


def converted(folder, chemistry, thermo=THERMO, *flags) -> Mixture:
    """The mixture of CHEMKIN files. Raises AssertionError if they are refused."""
    pytest.importorskip("cantera")
    (folder / "chem.inp").write_text(chemistry)
    (folder / "therm.dat").write_text(thermo)
    new = folder / "new.yaml"
    new.unlink(missing_ok=True)

    arguments = ["--convert", str(folder / "chem.inp"), "--thermo", str(folder / "therm.dat"), "-o", str(new)]
    assert cli.main(["mechanisms", *arguments, *flags]) == 0
    return Mixture.from_yaml(new, equation="ideal")


def test_several_data_on_a_line(tmp_path):
    """The numbers are those of the text; A in cm, mol and s."""
    mix = converted(
        tmp_path,
        HEAD
        + "H+O2(+M)=HO2(+M) 5.E12 .4 0.\n LOW/6.E20 -1.7 500./ TROE/.5 30. 90000. 5000./ H2/2.5/ O2/.8/ ! all\n"
        + "H+O2=O+OH 1.E14 0. 15000.\n PLOG /1. 2.E13 .5 100./PLOG/10. 4.E13 .25 200./ DUP\n"
        + "H+O2=O+OH 3.+10 1.0 0. ! twice\n DUPLICATE\n"
        + "H2+O=>H+OH 1.E10 0. 0.\n FORD/H2 .5/ FORD/O 1.5/\nEND\n",
    )

    falloff, plog, again, orders = mix.species.mechanism.reactions
    assert falloff.rate.form == "Troe" and falloff.rate.numbers == (0.5, 30.0, 90000.0, 5000.0)
    assert falloff.rate.low == Arrhenius(pytest.approx(6e8), -1.7, pytest.approx(500 * CAL))
    assert falloff.collider.of == {mix.names.index("H2"): 2.5, mix.names.index("O2"): 0.8}

    assert plog.rate.pressures == (101325.0, 1013250.0) and plog.duplicate
    assert plog.rate.terms[1] == (Arrhenius(pytest.approx(4e7), 0.25, pytest.approx(200 * CAL)),)
    assert again.rate == Arrhenius(pytest.approx(3e4), 1.0, 0.0)
    assert orders.orders == {mix.names.index("H2"): 0.5, mix.names.index("O"): 1.5}


AVOGADRO = 6.02214076e23  # 1/mol
REVERSED = {
    "H+O2=O+OH": (2, 2),
    "H2+O2 <=> H+H + O2": (2, 3),
    "H+O+M=OH+M": (3, 2),
    "M+H2=M+H+H": (2, 3),
    "HO2=H+O2": (1, 2),
}  # orders


@pytest.mark.parametrize(
    "head, units, number",
    (("", "UNITS/MOLECULES/", AVOGADRO), ("MOLECULES", "", AVOGADRO), ("", "", 1.0)),
    ids=("molecules of each", "molecules of all", "mol"),
)
def test_a_rate_of_its_own_for_the_reverse(head, units, number, tmp_path):
    """REV makes two reactions. A in cm, mol or molecules, and s: that of each direction by its own order."""
    chemistry = HEAD.replace("REACTIONS", f"REACTIONS {head}")
    for equation, (ahead, back) in REVERSED.items():
        efficiencies = "H2/2.5/ O2/.8/" if "M" in equation else ""
        chemistry += (
            f"{equation} {1e13 / number ** (ahead - 1):.12e} .5 1000. ! one\n"
            f" rev / {2e14 / number ** (back - 1):.12e} -.5 2000. / {units} {efficiencies}\n"
        )
    mix = converted(tmp_path, chemistry + "H2+O=H+OH 1 0 0\nREV/0 0 0/\nEND\n")

    *reactions, alone = mix.species.mechanism.reactions
    assert not any(reaction.reversible for reaction in (*reactions, alone)) and len(reactions) == 2 * len(REVERSED)
    for one, other, equation in zip(reactions[::2], reactions[1::2], REVERSED):
        orders = REVERSED[equation]
        assert (one.reactants, one.products) == (other.products, other.reactants)
        assert one.rate == rate(1e13, orders[0], 0.5, 1000.0) and other.rate == rate(2e14, orders[1], -0.5, 2000.0)
        if "M" in equation:
            assert one.collider.of == other.collider.of == {mix.names.index("H2"): 2.5, mix.names.index("O2"): 0.8}


def test_units_of_the_energy_of_a_reaction(tmp_path):
    """UNITS has six words for energies, in lower case and with blanks too; it stands alone or beside other data."""
    R = 8.31446261815324  # J/mol/K
    joules = {"JOULES": 1.0, "kjoules": 1e3, "EVOLTS": 96485.33212, "KELVINS": R, "CAL": 4.184, "kcal": 4184.0}  # 1/mol
    chemistry = HEAD
    for word in joules:
        chemistry += f"H+O2=O+OH 1.E14 0. 3. ! {word}\n UNITS / {word}/ DUP\n"
        chemistry += f"H+O2=O+OH 1.E14 0. 3.\nDUP\nunits/{word}/ !\n"
    mix = converted(tmp_path, chemistry + "END\n")

    energies = [reaction.rate.E for reaction in mix.species.mechanism.reactions]
    np.testing.assert_allclose(energies, np.repeat([3 * joule / R for joule in joules.values()], 2), rtol=1e-6)


def rate(size, order, b, E) -> Arrhenius:
    """In SI; size in cm, mol and s, E in cal/mol."""
    return Arrhenius(pytest.approx(size * 1e-6 ** (order - 1), rel=1e-6), b, pytest.approx(E * CAL))


def test_a_fifth_element_and_the_temperature_beside_it(tmp_path):
    """Columns 74 to 78. With letters there the converter takes the default temperature, and loses the element."""
    thermo = THERMO + entry("X", "C   1H   2N   1O   2", " 1382.00CL  3") + entry("Y", "H   1", " 1382.00G")
    mix = converted(tmp_path, HEAD.replace("H O2", "H X Y O2") + "END\n", thermo)

    x, y = mix.names.index("X"), mix.names.index("Y")
    weights = 12.011 + 2 * 1.008 + 14.007 + 2 * 15.999 + 3 * 35.45  # g/mol, IUPAC 2018
    assert mix.species.W[x] == pytest.approx(weights * 1e-3, rel=1e-5)  # five digits are given
    assert mix.species.T_mid[x] == mix.species.T_mid[y] == 1382.0


@pytest.mark.parametrize(
    "given, wanted",
    [
        ("", "300.0 1000.0 5000.0"),
        ("! of here\n\n 250. 900. 4000.\n", "250. 900. 4000."),
        ("000300.000001200.000006000.00\n", "000300.000 001200.000 006000.00"),
    ],
    ids=["none", "behind a comment", "columns without blanks"],
)
def test_default_temperatures(given, wanted, tmp_path):
    """They stand where the converter looks for them: in the line behind the keyword."""
    (tmp_path / "chem.inp").write_text(HEAD)
    (tmp_path / "therm.dat").write_text("THERMO ALL\n" + given + entry("H", "H   1"))
    thermo = Text(tmp_path / "therm.dat", Text(tmp_path / "chem.inp"))

    thermo.rewrite()

    assert str(thermo).split("\n")[:2] == ["THERMO ALL", wanted]


REFUSED = {
    "an efficiency without M": ("H+O2=O+OH 1 0 0\n H2/2.0/\n", 1, "H2/2.0/ of H+O2=O+OH: an efficiency, but the"),
    "EXCI": ("H+O2=O+OH 1 0 0\n EXCI/11.5/\n", 1, "EXCI/11.5/ of H+O2=O+OH: no species, and no auxiliary datum"),
    "SRI of 4": ("H+O2(+M)=HO2(+M) 1 0 0\nLOW/1 0 0/\nSRI/.5 1 2 3/\n", 2, "SRI/.5 1 2 3/ has 4 values, wanted 3 or 5"),
    "PLOG of 5": ("H+O2=O+OH 1 0 0\n! \nPLOG/1 1 0 0 7/\n", 2, "PLOG/1 1 0 0 7/ has 5 values, wanted 4"),
    "LOW twice": ("H+O2(+M)=HO2(+M) 1 0 0\nLOW/1 0 0/ LOW/2 0 0/\n", 1, "has LOW more than once"),
    "TROE alone": ("H+O2+M=HO2+M 1 0 0\nTROE/.5 1 2/\n", 1, "TROE/.5 1 2/: H+O2+M=HO2+M has no LOW or HIGH"),
    "TCHEB alone": ("H+O2=HO2 1 0 0\nTCHEB/300 2000/ PCHEB/.1 1/\n", 1, "has no CHEB"),
    "a surface": ("END\nSITE/pt/ SDEN/2.7e-9/\npt(s)\n", 1, "surfaces are not read"),
    "REV beside LOW": ("H+O2(+M)=HO2(+M) 1 0 0\nLOW/1 0 0/\nREV/1 0 0/\n", 2, "=HO2(+M) stands beside LOW: which rate"),
    "REV beside PLOG": (
        "H+O2=O+OH 1 0 0\nREV/1 0 0/\nPLOG/1 1 0 0/\n",
        1,
        "REV/1 0 0/ of H+O2=O+OH stands beside PLOG",
    ),
    "REV of =>": ("H+O2=>O+OH 1 0 0\nREV/1 0 0/\n", 1, "REV/1 0 0/: H+O2=>O+OH has no reverse; wanted = or <=>"),
    "no rate": ("H+O2=O+OH\n", 0, "'H+O2=O+OH': wanted A, b and E behind the equation"),
    "two numbers": ("H+O2=O+OH 1 0\n", 0, "'H+O2=O+OH 1 0': wanted A, b and E"),
    "DUP in front": ("DUP\nH+O2=O+OH 1 0 0\n", 0, "DUP stands in front of the first reaction"),
    "no values": ("H+O2=O+OH 1 0 0\nREV\n", 1, "REV// has 0 values, wanted 3"),
    "no number": ("H+O2=O+OH 1 0 0\nREV/1.x12 0 0/\n", 1, "REV/1.x12 0 0/: '1.x12' is no number"),
    "a word too many": ("H+O2=O+OH 1 0 0\n REV/1 0 0 0/\n", 1, "REV/1 0 0 0/ has 4 values, wanted 3"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_the_converter_would_drop_is_refused(what, tmp_path):
    reactions, line, words = REFUSED[what]
    path = tmp_path / "chem.inp"
    path.write_text(HEAD + reactions + "END\n")

    with pytest.raises(MixtureError) as raised:
        Text(path).rewrite()
    assert f"chem.inp, line {FIRST_REACTION + line}: " in str(raised.value) and words in str(raised.value)


@pytest.mark.parametrize(
    "composition, middle, words",
    [
        ("C1  H   1", "", "got 'C1  H'"),
        ("H 1.5", "", "got 'H 1.5'"),
        ("C   1  H   2", "", "got '  H  '"),
        ("H   1", "  1OOO.00", "got '  1OOO.00 ' in columns 66 to 75"),
        ("H\t1", "", "a tab among data"),
    ],
)
def test_columns_that_are_misread(composition, middle, words, tmp_path):
    """Only of species that the mechanism has: data of others may be anything."""
    (tmp_path / "chem.inp").write_text(HEAD)
    bad = entry("OH", composition, middle or "  1000.00")
    (tmp_path / "therm.dat").write_text("THERMO ALL\n 200. 1000. 6000.\n" + bad.replace("OH", "XX") + bad)
    chemistry = Text(tmp_path / "chem.inp")

    with pytest.raises(MixtureError) as raised:
        Text(tmp_path / "therm.dat", chemistry).rewrite()
    assert "therm.dat, line 7: OH: " in str(raised.value) and words in str(raised.value)


def test_the_converter_s_lines_are_those_of_the_file(tmp_path, capsys):
    """Lines that were joined and data that were set apart in front of the fault count as they stand."""
    pytest.importorskip("cantera")
    wrong = HEAD + "H+O2(+M)=&\nHO2(+M) 1 0 0\nLOW/1 0 0/ TROE/.5 1 2/ H2/2/\nH+O2=O+XX 1 0 0\nEND\n"
    (tmp_path / "chem.inp").write_text(wrong)
    (tmp_path / "therm.dat").write_text(THERMO)

    assert (
        cli.main(["mechanisms", "--convert", str(tmp_path / "chem.inp"), "--thermo", str(tmp_path / "therm.dat")]) == 1
    )
    assert f"in chem.inp starting on line {FIRST_REACTION + 3}:" in capsys.readouterr().err


@pytest.mark.parametrize("empty", ["THERMO\nEND\n", "THERMO ALL\n! nothing here\n\n"])
def test_a_section_of_thermodynamic_data_without_any(tmp_path, empty):
    """The data are in the other file, as those of the ammonia mechanism of Glarborg's group."""
    chemistry = HEAD.replace("REACTIONS", f"{empty}REACTIONS") + "H+O2=O+OH 1.0E+13 0.0 100.0\nEND\n"
    assert len(converted(tmp_path, chemistry).species.mechanism.reactions) == 1
