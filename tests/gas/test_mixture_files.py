"""Forms of a mixture file: units, elements, encodings, phases, what is left out. Values against Cantera itself."""

import contextlib
import copy

import numpy as np
import pytest
from mixture_files import BASE, base, read
from ruamel.yaml import YAML

from kernels import Mixture
from kernels.engine.errors import ArgumentError, MixtureError
from kernels.gas.species import GAS_CONSTANT
from kernels.gas.species.cantera_yaml import gas_phases, read_cantera_yaml

ct = pytest.importorskip("cantera")
EPS = np.finfo(float).eps


def test_fields_of_the_base_file(tmp_path):
    data, phase = read(tmp_path, BASE)
    assert phase == "gas" and data.names == ("CO2", "N2")
    assert data.Vc[0] == pytest.approx(94.118e-6, rel=4 * EPS) and np.isnan(data.Vc[1])
    assert data.geometry.tolist() == [1, -1] and data.dipole[0] == 0 and np.isnan(data.dipole[1])
    assert data.fuller_volume[0] == 26.9 and np.isnan(data.fuller_volume[1]) and np.isnan(data.liquid).all()
    assert data.T_fit == (200.0, 3500.0)
    assert data.kij[0, 1] == data.kij[1, 0] == pytest.approx(1 - 0.24 / np.sqrt(data.a[0] * data.a[1]), abs=2 * EPS)
    assert not data.Tc.flags.writeable and not data.kij.flags.writeable


def test_volume_translation(tmp_path):
    """Read from the equation of state or, if it has none, from critical-parameters; unknown where neither has it."""
    data = base()
    assert np.isnan(read(tmp_path, data)[0].volume_translation).all()

    data["species"][1]["critical-parameters"]["volume-translation"] = -4.3e-3
    assert read(tmp_path, data)[0].volume_translation[1] == pytest.approx(-4.3e-6, rel=4 * EPS)

    data["species"][0]["critical-parameters"]["volume-translation"] = 1.0
    data["species"][0]["equation-of-state"]["volume-translation"] = "-1.9 cm^3/mol"
    assert read(tmp_path, data)[0].volume_translation[0] == pytest.approx(-1.9e-6, rel=4 * EPS)

    data["species"][0]["equation-of-state"]["volume-translation"] = -1.9
    with pytest.raises(
        MixtureError, match=r"species 'CO2': volume_translation is -0.0019, wanted -0.001 to 0.001 m3/mol"
    ):
        read(tmp_path, data)


@pytest.mark.parametrize(
    "units, pc, Vc, a_ij",
    [
        ({"length": "cm", "quantity": "mol"}, 7.3773e6, 94.118, 2.4e11),
        ({"length": "cm", "quantity": "mol", "pressure": "bar"}, 73.773, 94.118, 2.4e6),
        ({"quantity": "mol", "activation-energy": "cal/mol"}, "73.773 bar", "94.118 cm^3/mol", "0.24 Pa*m^6/mol^2"),
        ({}, "7.3773 MPa", "0.094118 m^3/kmol", "2.4 bar*m^6/kmol/kmol"),
        ({}, "7377300", "94.118 L/kmol", "2.4 bar*L^2/mol^2"),
    ],
)
def test_units_give_the_same_data(tmp_path, units, pc, Vc, a_ij):
    reference, _ = read(tmp_path, BASE)
    data = base()
    data["units"] = units
    critical = data["species"][0]["critical-parameters"]
    critical |= {"critical-pressure": pc, "critical-molar-volume": Vc}
    data["species"][1]["critical-parameters"]["critical-pressure"] = "3.3958 MPa"
    data["species"][0]["equation-of-state"]["binary-a"]["N2"] = a_ij
    got, _ = read(tmp_path, data)
    for field in ("Tc", "pc", "Vc", "a", "b"):
        np.testing.assert_allclose(getattr(got, field), getattr(reference, field), rtol=16 * EPS)

    np.testing.assert_allclose(got.kij, reference.kij, rtol=0, atol=16 * EPS)

    if pc != "7377300":  # Cantera accepts only a number here
        gas = ct.Solution(str(tmp_path / "mix.yaml"), transport_model=None)
        gas.TPX = 300.0, 1e5, [0.5, 0.5]
        x = np.full(2, 0.5)
        a = x @ (np.sqrt(np.outer(got.a, got.a)) * (1 - got.kij)) @ x

        np.testing.assert_allclose(
            a / (x @ got.b) * 0.0777960739038885 / 0.45723552892138218 / GAS_CONSTANT,
            gas.critical_temperature,
            rtol=64 * EPS,
        )


def test_units_of_a_list_and_of_an_entry(tmp_path):
    data = base()
    data["species"].insert(0, {"units": {"length": "cm", "quantity": "mol"}})
    data["species"][1]["critical-parameters"]["critical-molar-volume"] = 94.118
    data["species"][1]["equation-of-state"]["binary-a"] = {"units": {"length": "m", "quantity": "kmol"}, "N2": 2.4e5}
    got, _ = read(tmp_path, data)

    assert got.Vc[0] == pytest.approx(94.118e-6, rel=4 * EPS)
    np.testing.assert_allclose(got.kij, read(tmp_path, BASE)[0].kij, rtol=0, atol=16 * EPS)


def test_a_and_b_go_before_critical_parameters_as_in_cantera(tmp_path):
    data = base()
    data["species"][0]["equation-of-state"] = [
        {"model": "Redlich-Kwong", "a": 1.0, "b": 1.0},
        {"model": "Peng-Robinson", "a": 3.958134e5, "b": 0.0266275, "acentric-factor": 0.22394},
    ]

    got, _ = read(tmp_path, data)
    gas = ct.Solution(str(tmp_path / "mix.yaml"), transport_model=None)
    gas.TPX = 300.0, 1e5, "CO2:1"

    np.testing.assert_allclose([got.Tc[0], got.pc[0]], [gas.critical_temperature, gas.critical_pressure], rtol=16 * EPS)
    np.testing.assert_allclose([got.a[0], got.b[0]], [0.3958134, 2.66275e-5], rtol=16 * EPS)
    assert got.Vc[0] == pytest.approx(94.118e-6)


def test_species_from_other_files_sections_and_elements(tmp_path):
    other = base()
    del other["phases"]

    data = {
        "phases": [
            {"name": "ideal", "thermo": "ideal-gas", "species": "all"},
            {"name": "real", "thermo": "Peng-Robinson", "species": [{"other.yaml/species": ["N2"]}, {"more": "all"}]},
        ],
        "more": [other["species"].pop(0)],
        "species": copy.deepcopy(other["species"]),
    }

    with open(tmp_path / "other.yaml", "w") as out:
        YAML(typ="safe", pure=True).dump(other, out)
    assert read(tmp_path, data)[0].names == ("N2", "CO2")  # the first Peng-Robinson phase
    assert ct.Solution(str(tmp_path / "mix.yaml"), "real").species_names == ["N2", "CO2"]
    assert read(tmp_path, data, "real")[1] == "real"

    data["phases"][1] |= {"elements": ["N"], "skip-undeclared-elements": True}
    assert read(tmp_path, data)[0].names == ("N2",)

    del data["phases"][1]["skip-undeclared-elements"]
    with pytest.raises(MixtureError, match="species 'CO2': composition: element 'C' is not among the phase's elements"):
        read(tmp_path, data)


ISOTOPES = "isotopes: [{symbol: O, atomic-weight: 17.999}]\n"
NAMED = "elements: [{symbol: O, atomic-weight: 18.0}, {symbol: C, atomic-weight: 13.0}]\n"
ELEMENTS = {  # the phase's elements, the file's sections: molar masses of CO2 and N2 by Cantera 3.2
    "sections": ("[{default: [C, N]}, {isotopes: [O]}]", ISOTOPES),
    "another file": ("[{default: [C, N]}, {weights.yaml/isotopes: [O]}]", ""),
    "listed": ("[C, N, O]", NAMED),
    "default": ("[{default: [C, N, O]}]", NAMED),
    "a section of the name default": ("[{default: [C]}, {isotopes: [O]}, {elements: [N]}]",
        ISOTOPES + "default: [{symbol: C, atomic-weight: 14}]\nelements: [{symbol: N, atomic-weight: 15}]\n"),
    "not taken": ("", NAMED),
    "a weight of 0": ("[C, N, O]", NAMED.replace("18.0", "0")),
    "skipped": ("[{default: [N]}]\n  skip-undeclared-elements: true", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", ELEMENTS)
def test_atomic_weights_are_cantera_s(case, tmp_path):
    elements, sections = ELEMENTS[case]
    (tmp_path / "weights.yaml").write_text(ISOTOPES)
    taken = f"  elements: {elements}\n" if elements else ""
    got, _ = read(tmp_path, BASE.replace("  transport: high", f"{taken}  transport: high") + sections)
    gas = ct.Solution(str(tmp_path / "mix.yaml"), transport_model=None)

    assert got.names == tuple(gas.species_names)
    np.testing.assert_allclose(got.W * 1e3, gas.molecular_weights, rtol=4 * EPS)


@pytest.mark.parametrize(
    "elements, sections, message",
    [
        ("[C, N]", "", "'CO2': composition: element 'O' is not among the phase's elements"),
        ("[C, Xx]", "", "elements: 'Xx' has no atomic weight"),
        ("[{isotopes: [C]}]", ISOTOPES, "elements: 'C' is not in section 'isotopes'"),
        ("[{isotope: [O]}]", ISOTOPES, "elements: there is no section 'isotope'"),
        ("[{isotopes: all}]", ISOTOPES, "elements: isotopes: got 'all', wanted symbols"),
        ("[{default: [O]}, {isotopes: [O]}]", ISOTOPES, "elements: O has the weights 15.999 and 17.999"),
        ("[{isotopes: [O], default: [C]}]", ISOTOPES, "elements: got .*, wanted symbols, or sections"),
        ("O", ISOTOPES, "elements: got 'O', wanted symbols, or sections"),
    ],
)
def test_elements_that_are_refused(elements, sections, message, tmp_path):
    """As in Cantera."""
    text = BASE.replace("  transport: high", f"  elements: {elements}\n  transport: high") + sections
    with pytest.raises(MixtureError, match=message):
        read(tmp_path, text)
    with pytest.raises(ct.CanteraError):
        ct.Solution(str(tmp_path / "mix.yaml"), transport_model=None)


ENCODED = {
    "cp1252 in a comment": b"# rates 1995\x962003\n" + BASE.encode(),
    "byte that cp1252 lacks": b"# \x81\n" + BASE.encode(),
    "utf-8 with a mark": b"\xef\xbb\xbf" + BASE.encode(),
    "utf-16": BASE.encode("utf-16"),
    "lines of DOS": BASE.replace("\n", "\r\n").encode(),
    "lines of old Macs": BASE.replace("\n", "\r").encode(),
    "control characters": b"# a\0b\x0cc\x1b\n" + BASE.replace("CO2\n", "CO2\n  note: 'a\x01b'\n", 1).encode(),
    "C1 control character": "# a\x85b\u2028c\n".encode() + BASE.encode(),
    "directives": b"# a comment\n%YAML 1.2\n%TAG ! tag:example.org,2000:\n---\n" + BASE.encode(),
    "the directive of an older version": b"%YAML 1.1\n--- # of this\n" + BASE.encode(),
}


@pytest.mark.parametrize("case", ENCODED)
def test_encodings_and_directives(case, tmp_path):
    """Cantera reads each; the data are those of the plain file."""
    got, _ = read(tmp_path, ENCODED[case])
    assert got.names == ("CO2", "N2") and np.array_equal(got.kij, read(tmp_path, BASE, name="plain.yaml")[0].kij)


DOCUMENTS = {  # a file around BASE, and whether it has more than one document
    "mark in front": ("# a comment\n---\n{}", False),
    "mark of the end": ("{}...\n# done\n", False),
    "empty second": ("{}---\n\n# nothing\n", False),
    "second": ("{0}---\n{1}", True),
    "second is no YAML": ("---\n{}...\n%YAML 1.1\n---\na: [\n", True),
    "second is a word": ("{}--- word\n", True),
}


@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("case", DOCUMENTS)
def test_the_first_document_is_read(case, tmp_path):
    """As by Cantera; that there are more is told."""
    form, has_more = DOCUMENTS[case]
    text = form.format(BASE, BASE.replace("CO2", "CH4"))
    told = pytest.warns(UserWarning, match="mix.yaml: has several YAML documents; the first is read, as by Cantera")

    with told if has_more else contextlib.nullcontext():
        got, _ = read(tmp_path, text)

    assert got.names == ("CO2", "N2") and np.array_equal(got.kij, read(tmp_path, BASE, name="plain.yaml")[0].kij)
    assert ct.Solution(str(tmp_path / "mix.yaml"), transport_model=None).species_names == ["CO2", "N2"]


def test_a_document_that_is_empty_in_front(tmp_path):
    """Neither does Cantera read the one behind it."""
    with pytest.raises(MixtureError, match="got nothing, wanted a map"), pytest.warns(UserWarning, match="several"):
        read(tmp_path, "---\n---\n" + BASE)


def test_phases_without_a_name_or_with_a_number(tmp_path):
    phase = "- {thermo: ideal-gas, species: [N2]}\n"
    text = BASE.replace(
        "species:\n- name: CO2", f"{phase}- {{name: 12, thermo: ideal-gas, species: [N2]}}\nspecies:\n- name: CO2"
    )

    assert read(tmp_path, text)[1] == "gas"
    assert read(tmp_path, text, "12")[1] == "12" and read(tmp_path, text, "phase 2")[0].names == ("N2",)
    assert [name for name, _ in gas_phases(tmp_path / "mix.yaml")] == ["gas", "phase 2", "12"]


@pytest.mark.parametrize("units", ["", "units: {length: cm, quantity: mol}\n", "units: {quantity: mol}\n"])
def test_critical_volumes_as_in_cantera_s_data_base(units, tmp_path):
    """m3/kmol, also in a file of other units; with a unit, in that."""
    for volume in ("0.094118", "94.118 cm^3/mol", "9.4118e-05 m^3/mol"):
        text = BASE.replace("0.094118", volume).replace("2.4e+05", "0.24 Pa*m^6/mol^2")
        assert read(tmp_path, units + text)[0].Vc[0] == pytest.approx(94.118e-6, rel=4 * EPS)


def test_pairs_with_a_species_left_out(tmp_path):
    """A binary-a of theirs is passed over; letter case of a name is of no account."""
    for without, names in (("N2", ("CO2",)), ("CO2", ("N2",))):
        (tmp_path / "mix.yaml").write_text(BASE.replace("{N2: 2.4", "{n2: 2.4"))
        got, _ = read_cantera_yaml(tmp_path / "mix.yaml", without=[without])
        assert got.names == names and got.kij.tolist() == [[0.0]]

    np.testing.assert_array_equal(
        read(tmp_path, BASE.replace("{N2: 2.4", "{n2: 2.4"))[0].kij, read(tmp_path, BASE)[0].kij
    )


def test_soot_is_heavier_than_molecules(tmp_path):
    """A molar mass of atoms is taken; numbers in g/mol are refused all the same (test_hostile_arrays)."""
    got, _ = read(tmp_path, BASE.replace("composition: {C: 1, O: 2}", "composition: {C: 400}"))
    assert got.W[0] == pytest.approx(4.8044) and got.subset(["CO2"]).W[0] == got.W[0]


def test_own_atomic_weight_single_range_and_fit_range(tmp_path):
    data = base()
    data["elements"] = [{"symbol": "N15", "atomic-weight": 15.0}]

    data["species"][1] |= {
        "composition": {"N15": 2},
        "thermo": {
            "model": "NASA7",
            "temperature-ranges": [250.0, 2000.0],
            "data": [[3.5, 0, 0, 0, 0, 0, 0]],
            "reference-pressure": "1 atm",
        },
    }

    data["phases"][0] |= {"elements": ["C", "O", "N15"], "real-gas": {"diffusion-fit-range": [90, 2500.0]}}
    got, _ = read(tmp_path, data)

    assert got.W[1] == 0.03 and np.array_equal(got.nasa_low[1], got.nasa_high[1])
    assert (got.T_min[1], got.T_mid[1], got.T_max[1]) == (250.0, 2000.0, 2000.0)
    assert got.T_fit == (90.0, 2500.0)
    assert ct.Solution(str(tmp_path / "mix.yaml"), transport_model=None).max_temp == 2000.0


@pytest.mark.parametrize(
    "block, value, message",
    [
        ("critical-parameters", {"critical-temperature": 304.13}, "critical-pressure is missing"),
        ("critical-parameters", {"critical-temperature": "304 bar"}, "got '304 bar'"),
        ("equation-of-state", {"model": "Peng-Robinson", "a": 0, "b": 0, "acentric-factor": 0.2}, "a: got 0"),
        ("transport", {"model": "gas", "geometry": "linear", "well-depth": 244.0}, None),
    ],
)
def test_data_that_no_model_reads_are_not_asked_for(block, value, message, tmp_path):
    """An ideal gas needs no critical point, a density no diameter. Whatever reads them names the species."""
    data = base()
    data["species"][0][block] = value
    if message:
        with pytest.raises(MixtureError, match=f"'CO2'.*{message}"):
            read(tmp_path, data)
    else:
        read(tmp_path, data)

    mix = Mixture.from_yaml(tmp_path / "mix.yaml", equation="ideal")
    out = mix.properties("rho cp", T=500.0, p=1e5, X={"CO2": 1}, backend="cpu")
    assert out["rho"] == pytest.approx(1e5 * mix.species.W[0] / (GAS_CONSTANT * 500.0), rel=8 * EPS)
    assert out["cp"] == pytest.approx(3.5 * GAS_CONSTANT / mix.species.W[0], rel=8 * EPS)

    other = dict(viscosity="chung") if message else {}
    mix = Mixture.from_yaml(tmp_path / "mix.yaml", equation="ideal", **other)
    with pytest.raises(ArgumentError, match="species CO2.* without"):
        mix.properties("mu D", T=500.0, p=1e5, X={"CO2": 1}, backend="cpu")


@pytest.mark.parametrize(
    "place, key, meant",
    [
        ((), "unit", "units"),
        (("phases", 0), "rate-multiplier", "rate-multipliers"),
        (("phases", 0), "kinetic", "kinetics"),
        (("species", 0), "transports", "transport"),
        (("species", 0, "thermo"), "reference_pressure", "reference-pressure"),
        (("species", 0, "transport"), "polarisability", "polarizability"),
        (("species", 0, "transport"), "Rotational-Relaxation", "rotational-relaxation"),
        (("species", 0, "critical-parameters"), "volume-tanslation", "volume-translation"),
        (("species", 0, "equation-of-state"), "binary_a", "binary-a"),
    ],
)
def test_a_misspelt_key_is_refused(place, key, meant, tmp_path):
    """It would count as absent. Keys that resemble none are the author's own, as in Cantera."""
    data = base()
    node = data
    for step in place:
        node = node[step]

    read(tmp_path, data)
    node["sampled by"], node["notes"] = "an author", "by hand"
    read(tmp_path, data)
    node[key] = node.get(meant, 1.0)
    with pytest.raises(MixtureError, match=f"unknown key '{key}', did you mean '{meant}'"):
        read(tmp_path, data)


def test_notes_are_kept(tmp_path):
    data = base()
    data["species"][0]["note"] = "of the species"
    data["species"][0]["transport"]["note"] = "of the transport block"
    data["species"][0]["critical-parameters"]["source"] = "a handbook"

    assert read(tmp_path, data)[0].sources["CO2"] == {
        "species": "of the species",
        "transport": "of the transport block",
        "critical-parameters": "a handbook",
    }
