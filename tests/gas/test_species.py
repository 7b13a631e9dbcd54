"""Species data: values read from Cantera YAML against Cantera itself, and the refused files with their messages."""

import copy
import json
import os
import random
import re
import time
import warnings

import numpy as np
import pytest
from mixtures_for_tests import KIJ, ROOT, changed, species_set, write_yaml
from ruamel.yaml import YAML

from frame.entry import ENTRIES
from kernels.engine.errors import ArgumentError, MixtureError
from kernels.gas.species import GAS_CONSTANT, SpeciesData, arrays, kinetic_theory, nasa7
from kernels.gas.species.cantera_yaml import gas_phases, read_cantera_yaml
from kernels.gas.species.fields import FIELDS
from kernels.gas.species.units import Units, parse

ct = pytest.importorskip("cantera")
SHIPPED = sorted((ROOT / "examples/mixtures").glob("*.yaml"))
EPS = np.finfo(float).eps

BASE = """
phases:
- name: gas
  thermo: Peng-Robinson
  transport: high-pressure-Chung
  species: [CO2, N2]
species:
- name: CO2
  composition: {C: 1, O: 2}
  critical-parameters: {critical-temperature: 304.13, critical-pressure: 7.3773e+06, acentric-factor: 0.22394,
                        critical-molar-volume: 0.094118}
  equation-of-state: {model: Peng-Robinson, binary-a: {N2: 2.4e+05}}
  thermo: &thermo
    model: NASA7
    temperature-ranges: [200.0, 1000.0, 3500.0]
    data: [[3.5, 0, 0, 0, 0, -1000.0, 4.0], [3.5, 0, 0, 0, 0, -1000.0, 4.0]]
  transport: {model: gas, geometry: linear, well-depth: 244.0, diameter: 3.763, polarizability: 2.65,
              rotational-relaxation: 2.1, acentric-factor: 0.22394}
  real-gas: {association-factor: 0.0, diffusion-volume: 26.9}
- name: N2
  composition: {N: 2}
  critical-parameters: {critical-temperature: 126.19, critical-pressure: 3.3958e+06, acentric-factor: 0.0372}
  thermo: *thermo
"""


def base():
    return json.loads(json.dumps(YAML(typ="safe", pure=True).load(BASE)))  # without parts shared by both species


def read(tmp_path, data, phase=None, name="mix.yaml"):
    if not isinstance(data, (str, bytes)):
        with open(tmp_path / name, "w") as out:
            YAML(typ="safe", pure=True).dump(data, out)
    elif isinstance(data, str):
        (tmp_path / name).write_text(data)
    else:
        (tmp_path / name).write_bytes(data)

    return read_cantera_yaml(tmp_path / name, phase)


# ---- against Cantera ------------------------------------------------------------------------------------------------


def against_cantera(data, gas):
    assert data.names == tuple(gas.species_names)
    np.testing.assert_allclose(data.W * 1e3, gas.molecular_weights, rtol=1e-12)
    assert data.p_ref == gas.reference_pressure

    for k, species in enumerate(gas.species()):
        gas.TPX = 300.0, 1e5, {species.name: 1.0}

        # a round trip through a and b: a few roundings
        np.testing.assert_allclose(
            [data.Tc[k], data.pc[k]], [gas.critical_temperature, gas.critical_pressure], rtol=32 * EPS
        )
        for T in (250.0, 999.0, 1001.0, 2900.0):
            cp, h, s = nasa7((data.nasa_low if T <= data.T_mid[k] else data.nasa_high)[k], T)
            terms = np.abs((data.nasa_low if T <= data.T_mid[k] else data.nasa_high)[k]) * T ** np.array(
                [0, 1, 2, 3, 4, -1, 0]
            )
            R = ct.gas_constant
            assert abs(cp - species.thermo.cp(T) / R) < 16 * EPS * terms[:5].sum()  # 5 terms, up to 3 roundings each
            assert abs(h - species.thermo.h(T) / R / T) < 16 * EPS * terms[:6].sum()
            assert abs(s - species.thermo.s(T) / R) < 16 * EPS * (terms.sum() + terms[0] * np.log(T))

        assert data.T_min[k] == species.thermo.min_temp and data.T_max[k] == species.thermo.max_temp
        transport = species.transport
        assert ("atom", "linear", "nonlinear")[data.geometry[k]] == transport.geometry

        for mine, theirs, unit in (
            ("diameter", "diameter", 1),
            ("well_depth", "well_depth", 1 / ct.boltzmann),
            ("dipole", "dipole", ct.light_speed * 1e21),
            ("polarizability", "polarizability", 1),
            ("rotational_relaxation", "rotational_relaxation", 1),
            ("omega", "acentric_factor", 1),
        ):
            np.testing.assert_allclose(getattr(data, mine)[k], getattr(transport, theirs) * unit, rtol=8 * EPS)

    rng = np.random.default_rng(1)
    for _ in range(5):  # the pseudo-critical temperature holds every a_ij: sum x_i x_j a_ij / sum x_i b_i
        x = rng.dirichlet(np.ones(data.ns))
        gas.TPX = 300.0, 1e5, x
        a = x @ (np.sqrt(np.outer(data.a, data.a)) * (1 - data.kij)) @ x
        Tc = a / (x @ data.b) * 0.0777960739038885 / 0.45723552892138218 / GAS_CONSTANT
        np.testing.assert_allclose(Tc, gas.critical_temperature, rtol=1e-13)  # ns^2 positive terms, ns <= 53


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_shipped_file_reads_as_in_cantera(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # jumps of polynomials and wrong acentric factors would warn
        data, phase = read_cantera_yaml(path)

    gas = ct.Solution(str(path))
    assert (phase, gas.thermo_model, gas.transport_model) == (path.stem, "Peng-Robinson", "high-pressure-Chung")

    against_cantera(data, gas)
    gas.TP = 300.0, 1e6
    assert gas.viscosity > 0 and gas.thermal_conductivity > 0


@pytest.mark.parametrize("ns", [2, 10, 53])
@pytest.mark.parametrize("kij", KIJ)
@pytest.mark.quick(ns=[2, 10])
@pytest.mark.quick(kij="dense")
def test_written_set_reads_as_in_cantera(ns, kij, tmp_path):
    data = species_set(ns, kij)
    path = write_yaml(data, tmp_path / "set.yaml")
    again, _ = read_cantera_yaml(path)
    np.testing.assert_allclose(again.kij, data.kij, rtol=0, atol=8 * EPS)  # 1 - a_ij/sqrt(a_i a_j)
    against_cantera(again, ct.Solution(str(path)))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_shipped_numbers_have_sources_and_make_sense(path):
    data, _ = read_cantera_yaml(path)
    text = path.read_text()

    for line in (
        "critical-parameters:",
        "critical-molar-volume:",
        "dipole:",
        "diffusion-volume:",
        "thermo:  ",
        "transport:  ",
    ):
        found = re.findall(rf"^ +{line}.*$", text, re.M)
        assert len(found) >= data.ns and all("#" in f for f in found), line

    assert all("#" in f for f in re.findall(r"^      \w+: .*$", text, re.M))  # each binary-a has its k_ij in a comment
    assert dict(zip(data.names, data.kappa_assoc)).get("H2O", 0.076) == 0.076

    Zc = data.pc * data.Vc / (GAS_CONSTANT * data.Tc)
    assert np.all((0.22 < Zc) & (Zc < 0.31))  # range of all fluids, from water (0.229) to hydrogen (0.303)

    data.require("Vc", "dipole", "diameter", "well_depth", "polarizability", "fuller_volume")
    assert data.T_fit == (80.0, 3500.0)


def test_shipped_mixtures_are_those_asked_for():
    names = {path.stem: read_cantera_yaml(path)[0].names for path in SHIPPED}
    assert names["n2"] == ("N2",)
    assert {"O2", "H2", "H2O"} <= set(names["h2_o2"])
    assert {"CH4", "O2", "CO2", "H2O", "CO", "H2"} <= set(names["ch4_o2"]) and len(names["ch4_o2"]) >= 10


# ---- forms of the file -----------------------------------------------------------------------------------------------


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


# ---- what is refused
# ---------------------------------------------------------------------------------------------------


def put(*path_and_value):
    *path, last, value = path_and_value

    def change(data):
        for key in path:
            data = data[key]
        if value is None:
            del data[last]
        else:
            data[last] = value

    return change


CO2, N2 = ("species", 0), ("species", 1)
CRIT, TRAN = "critical-parameters", "transport"
NASA = [3.5, 0, 0, 0, 0, 0, 0]
HOSTILE = {
    "no phases": (put("phases", None), r"mix.yaml: phases is missing, wanted a list of phases"),
    "phases no list": (put("phases", 3), r"phases: got 3, wanted a list"),
    "phase no map": (put("phases", 0, 3), r"phase 1: got 3, wanted a map"),
    "no gas": (
        put("phases", 0, "thermo", "plasma"),
        r"phase 'gas': thermo is 'plasma', wanted a gas: 'Peng-Robinson', ",
    ),
    "no thermo": (put("phases", 0, "thermo", None), r"phase 'gas': thermo is None, wanted a gas: 'Peng-Robinson', "),
    "twice listed": (put("phases", 0, "species", ["N2", "N2"]), r"phase 'gas': species 'N2' is listed more than once"),
    "unknown species": (
        put("phases", 0, "species", ["XY"]),
        r"phase 'gas': species 'XY' is not defined in section 'species'",
    ),
    "empty species": (put("phases", 0, "species", []), r"phase 'gas': species: got \[\], wanted 'all' or a list"),
    "no such file": (
        put("phases", 0, "species", [{"no.yaml/species": "all"}]),
        r"no.yaml: cannot be read \(No such file",
    ),
    "no such section": (put("phases", 0, "species", [{"zoo": "all"}]), r"mix.yaml: zoo is missing"),
    "defined twice": (lambda d: d["species"].append(d["species"][0]), r"species 'CO2' is defined more than once"),
    "no name": (put(*CO2, "name", None), r"species, entry 1: name is missing"),
    "no composition": (put(*CO2, "composition", None), r"species 'CO2': composition is missing"),
    "no atoms": (put(*CO2, "composition", {}), r"species 'CO2': composition: got \{\}, wanted elements"),
    "unknown element": (
        put(*CO2, "composition", {"Xx": 1}),
        r"species 'CO2': composition: element 'Xx' has no atomic weight",
    ),
    "count text": (put(*CO2, "composition", {"C": "one"}), r"'CO2': composition: C: got 'one', wanted a number"),
    "no thermo data": (put(*N2, "thermo", None), r"species 'N2': thermo is missing, wanted NASA7"),
    "Shomate": (
        put(*N2, "thermo", "model", "Shomate"),
        r"species 'N2': thermo: model is 'Shomate', wanted 'NASA7' or 'NASA9'",
    ),
    "NASA9 of 7 numbers": (
        put(*N2, "thermo", "model", "NASA9"),
        r"species 'N2': thermo: data: got 7 coefficients, wanted 9 finite numbers",
    ),
    "6 coefficients": (
        put(*N2, "thermo", "data", [NASA[:6], NASA]),
        r"'N2': thermo: data: got 6 coefficients, wanted 7",
    ),
    "one row": (put(*N2, "thermo", "data", [NASA]), r"'N2': thermo: data: got .* wanted 2 lists of 7"),
    "nan coefficient": (
        put(*N2, "thermo", "data", [NASA, [float("nan"), *NASA[1:]]]),
        r"thermo: data: got nan, wanted 7 finite",
    ),
    "text coefficient": (
        put(*N2, "thermo", "data", [NASA, ["x", *NASA[1:]]]),
        r"thermo: data: got 'x', wanted 7 finite",
    ),
    "ranges": (
        put(*N2, "thermo", "temperature-ranges", [200.0]),
        r"thermo: temperature-ranges: got \[200.0\], wanted 2 or 3",
    ),
    "descending": (
        put(*N2, "thermo", "temperature-ranges", [3500.0, 1000.0, 200.0]),
        r"'N2': T_min, T_mid, T_max are 3500, 1000, 200",
    ),
    "p_ref differs": (
        put(*N2, "thermo", "reference-pressure", 1e5),
        r"different reference-pressure \[100000.0, 101325.0\]",
    ),
    "no critical": (put(*N2, CRIT, None), r"species 'N2': critical-parameters is missing, wanted critical-temperature"),
    "no Tc": (
        put(*N2, CRIT, "critical-temperature", None),
        r"'N2': critical-parameters: critical-temperature is missing",
    ),
    "no omega": (put(*N2, CRIT, "acentric-factor", None), r"'N2': critical-parameters: acentric-factor is missing"),
    "negative Tc": (
        put(*N2, CRIT, "critical-temperature", -126.2),
        r"critical-temperature: got -126.2, wanted a positive",
    ),
    "zero pc": (
        put(*N2, CRIT, "critical-pressure", 0),
        r"'N2': critical-parameters: critical-pressure: got 0, wanted a positive",
    ),
    "pc in bar": (put(*N2, CRIT, "critical-pressure", 33.9), r"species 'N2': pc is 33.9, wanted 1000 to 1e\+10 Pa"),
    "nan pc": (
        put(*N2, CRIT, "critical-pressure", float("nan")),
        r"critical-pressure: got nan, wanted a finite number in Pa",
    ),
    "inf omega": (put(*N2, CRIT, "acentric-factor", float("inf")), r"acentric-factor: got inf, wanted a finite number"),
    "bool Tc": (put(*N2, CRIT, "critical-temperature", True), r"critical-temperature: got True, wanted a number in K"),
    "wrong kind": (put(*N2, CRIT, "critical-pressure", "34 bar*m"), r"got '34 bar\*m', wanted a unit of the kind Pa"),
    "unknown unit": (put(*N2, CRIT, "critical-pressure", "34 furlong"), r"critical-pressure: unknown unit 'furlong'"),
    "Vc": (put(*CO2, CRIT, "critical-molar-volume", 94.1), r"'CO2': .*volume: got 94.1, which is 0.0941 m3/mol in"),
    "units": (put("units", {"length": "kg"}), r"mix.yaml: units: length: kg: wanted one of"),
    "units kind": (put("units", {"lengths": "m"}), r"mix.yaml: units: lengths: m: wanted one of mass, length"),
    "units text": (put("units", "SI"), r"mix.yaml: units are 'SI', wanted a map"),
    "a without b": (
        lambda d: (put(*N2, "equation-of-state", {"model": "Peng-Robinson", "a": 1e5})(d), put(*N2, CRIT, None)(d)),
        r"species 'N2': equation-of-state: b is missing",
    ),
    "negative a": (
        put(*N2, "equation-of-state", {"model": "Peng-Robinson", "a": -1e5, "b": 0.03, "acentric-factor": 0.1}),
        r"species 'N2': equation-of-state: a: got -100000.0, wanted a positive number",
    ),
    "a list": (
        put(*N2, "equation-of-state", {"model": "Peng-Robinson", "a": [1e5, 0], "b": 0.03, "acentric-factor": 0.1}),
        r"equation-of-state: a: got \[100000.0, 0\], wanted a number in Pa\*m\^6/kmol\^2",
    ),
    "eos text": (put(*N2, "equation-of-state", "PR"), r"species 'N2': equation-of-state: got 'PR', wanted a map"),
    "pair unknown": (
        put(*CO2, "equation-of-state", "binary-a", {"AR": 1.0}),
        r"'CO2': .*binary-a: species 'AR' is not in the phase",
    ),
    "pair itself": (put(*CO2, "equation-of-state", "binary-a", {"CO2": 1.0}), r"binary-a: names the species itself"),
    "pair unit": (
        put(*CO2, "equation-of-state", "binary-a", {"N2": 0.24}),
        r"kij of 'CO2' and 'N2' is \S+, wanted -0.9 to 0.9",
    ),
    "pair twice": (
        put(*N2, "equation-of-state", {"model": "Peng-Robinson", "binary-a": {"CO2": 2.3e5}}),
        r"'N2': .*binary-a: CO2: got 0.23 Pa m6/mol2, but 'CO2' gives another value",
    ),
    "transport model": (put(*CO2, TRAN, "model", "ionized"), r"'CO2': transport: model is 'ionized', wanted 'gas'"),
    "geometry": (
        put(*CO2, TRAN, "geometry", "ring"),
        r"'CO2': transport: geometry is 'ring', wanted atom, linear or nonlinear",
    ),
    "no diameter": (
        put(*CO2, TRAN, "diameter", None),
        r"species 'CO2': transport: diameter is missing, wanted a number",
    ),
    "diameter in m": (
        put(*CO2, TRAN, "diameter", 3.7e-10),
        r"species 'CO2': diameter is 3.7e-20, wanted 1e-11 to 1e-08 m",
    ),
    "well depth": (put(*CO2, TRAN, "well-depth", -244.0), r"species 'CO2': well_depth is -244, wanted 0.1"),
    "dipole": (put(*CO2, TRAN, "dipole", -1.0), r"species 'CO2': dipole is -1, wanted 0 to 30 debye"),
    "kappa": (put(*CO2, "real-gas", "association-factor", -0.1), r"species 'CO2': kappa_assoc is -0.1"),
    "liquid without density": (
        put(*CO2, "real-gas", {"liquid-density": {"temperature": 250.0}}),
        r"'CO2': real-gas: liquid-density: density is missing",
    ),
    "liquid of no density": (
        put(*CO2, "real-gas", {"liquid-density": {"temperature": 250.0, "density": -1.0}}),
        r"species 'CO2': liquid is \[250.0, 101325.0, -1.0\], wanted a temperature \[K\], a pressure \[Pa\] and a "
        r"density",
    ),
    "misspelt": (
        put(*CO2, "real-gas", {"diffusion_volume": 2}),
        r"'CO2': real-gas: unknown key 'diffusion_volume', wanted some of",
    ),
    "fit range": (
        put("phases", 0, "real-gas", {"diffusion-fit-range": [200]}),
        r"diffusion-fit-range: got \[200\], wanted two",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_file(case, tmp_path):
    change, message = HOSTILE[case]
    data = base()
    change(data)

    with pytest.raises(MixtureError, match=message) as caught:
        read(tmp_path, data)
    assert caught.type is MixtureError and caught.value.status == 3
    assert ("no.yaml" if case == "no such file" else "mix.yaml") in str(caught.value)


@pytest.mark.parametrize(
    "text, message",
    [
        ("phases: [", r"mix.yaml: is not valid YAML: .*line"),
        ("phases:\n\t- name: x", r"mix.yaml: is not valid YAML"),
        ("a: 1\na: 2\n", r"mix.yaml: is not valid YAML: .*duplicate key"),
        ("", r"mix.yaml: got nothing, wanted a map"),
        ("- 1\n- 2\n", r"mix.yaml: got list, wanted a map"),
        ("!!python/object/apply:os.system ['true']", r"mix.yaml: is not valid YAML: .*tag"),
        (b"\xff\xfe\x00phases", r"mix.yaml: is not a text file"),
        ("[" * 1500, r"mix.yaml: is not valid YAML"),
    ],
)
def test_not_a_mixture_file(text, message, tmp_path):
    with pytest.raises(MixtureError, match=message):
        read(tmp_path, text)


def test_missing_file_directory_and_phase(tmp_path):
    with pytest.raises(MixtureError, match=r"nothing.yaml: cannot be read \(No such file or directory\)"):
        read_cantera_yaml(tmp_path / "nothing.yaml")
    with pytest.raises(MixtureError, match=r"cannot be read \(no regular file"):
        read_cantera_yaml(tmp_path)
    with pytest.raises(MixtureError, match=r"mix.yaml: has no phase 'liquid', wanted one of 'gas'"):
        read(tmp_path, BASE, "liquid")


LAUGHS = "".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]\n" for k in range(1, 10))
MERGED = "".join(f"a{k}: &a{k}\n  <<: [{', '.join([f'*a{k - 1}'] * 10)}]\n" for k in range(1, 10))


@pytest.mark.parametrize(
    "text",
    [
        "a0: &a0 [x, x]\n" + LAUGHS + "phases: *a9\n",
        BASE + "a0: &a0 [x, x]\n" + LAUGHS + "elements: *a9\n",
        BASE + "a0: &a0 {x: 1}\n" + MERGED,
        "phases: &p [*p]\n",
        "phases: &p [{name: *p, thermo: Peng-Robinson}]\n",
    ],
)
def test_aliases_without_end(text, tmp_path):
    """Each stands for 1e10 items, or for itself; without a limit: 5 GB, and no end."""
    begin = time.process_time()
    with pytest.raises(MixtureError, match="mix.yaml: is not valid YAML: its aliases stand for too much"):
        read(tmp_path, text)
    assert time.process_time() - begin < 1


@pytest.mark.parametrize("part", ["1.5, ", "[], ", "&a 1, ", "x ", "\n  "])
def test_a_file_that_is_too_long(part, tmp_path, recwarn):
    """Half a million of anything would take 20 s. Anchors of equal names would each be printed with the text around."""
    begin = time.process_time()
    with pytest.raises(MixtureError, match=r"cannot be read \(more than 300000 words and lines beside its reactions"):
        read(tmp_path, BASE + "more: [" + 500_000 * part + "1]\n")
    assert time.process_time() - begin < 1

    read(tmp_path, BASE + "more: [" + 500 * part + "1]\n")
    assert not recwarn.list


EQUATION = "- equation: A <=> B  # comment\n  rate-constant: {A: 1e5,\n    b: 0}\n\n"
ENDS = (
    ("reactions:\n" + EQUATION, "not: [closed\n"),
    ("\ngas-reactions: # all\n" + EQUATION * 3 + "  \n# end\n", "not: [closed\n"),
    ("reactions:\n" + EQUATION.replace("1e5", "&a 1"), "not: [closed, *a\n"),  # read: it may be referred to
    ("reactions: [{equation: A <=> B}]\n", "not: [closed\n"),
)


@pytest.mark.parametrize("reactions, broken", ENDS)
def test_reactions_are_passed_over(reactions, broken, tmp_path):
    """Nothing else changes: not the data, and not the line of an error behind them."""
    plain, name = read(tmp_path, BASE)
    for text in (reactions + BASE, BASE + reactions, BASE + reactions.rstrip(), BASE + reactions + "more: 1\n"):
        data, _ = read(tmp_path, text)
        assert data.names == plain.names and np.array_equal(data.kij, plain.kij)

    line = (BASE + reactions + broken).count("\n")
    with pytest.raises(MixtureError, match=rf"mix.yaml: is not valid YAML: .*line {line + 1}, "):
        read(tmp_path, BASE + reactions + broken)
    with pytest.raises(MixtureError, match="but found another document"):  # a mark of the next document is no item
        read(tmp_path, BASE + reactions + "---\n" + BASE)


def test_many_reactions_take_no_time(tmp_path):
    begin = time.process_time()
    read(tmp_path, BASE + "reactions:\n" + EQUATION * 50_000)  # 4 MB
    assert time.process_time() - begin < 1


@pytest.mark.parametrize(
    "text, message",
    [
        (
            BASE.replace("  species:", "  elements: [C]\n  species:", 1) + "elements: 3\n",
            "elements: got 3, wanted a list",
        ),
        (BASE.replace("7.3773e+06", "1 bar^999999999"), "CO2': critical-parameters: critical-pressure: got '1 bar"),
        (BASE.replace("7.3773e+06", "1 bar^x"), "'x' in 'bar\\^x' is no power"),
        (BASE.replace("7.3773e+06", "1e308 TPa"), "wanted a finite number in Pa"),
        (BASE.replace("7.3773e+06", "0x" + "F" * 5000), "critical-pressure: .*4300 digits"),
        (BASE.replace("7.3773e+06", "59:" * 20000 + "0"), r"critical-pressure: got '.{1,80}, wanted a number"),
        (BASE.replace("- [3.5", "- [0x" + "F" * 400).replace("[[3.5", "[[0x" + "F" * 400), "data: got .{1,80}, wanted"),
        ("phases: !!bool x", "is not valid YAML"),
        ("phases: !!float ''", "is not valid YAML"),
        ("? {a: b}\n: 4\n", "is not valid YAML"),
        ("a: 2001-13-45", "is not valid YAML: month must be"),
    ],
)
def test_numbers_and_types_that_make_no_sense(text, message, tmp_path):
    with pytest.raises(MixtureError, match=message) as caught:
        read(tmp_path, text)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "text", ["root:$6$secret:1:\n", "password: secret\npassword: secret\n", "- [secret\n", "secret"]
)
def test_messages_do_not_quote_a_file_that_is_no_mixture(text, tmp_path):
    with pytest.raises(MixtureError) as caught:
        read(tmp_path, text)
    assert "secret" not in str(caught.value)


def test_files_without_end(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "large").touch()
    os.truncate(tmp_path / "large", 2**24 + 1)

    for file in ("/dev/zero", tmp_path / "fifo", tmp_path / "large"):
        with pytest.raises(MixtureError, match=r"cannot be read \(no regular file, or larger than 16 MiB\)"):
            read_cantera_yaml(file)


ODD = (None, -1, 0, 1e999, "", "x", "3 bar^999999999", [], {}, [[]], {"a": 1}, True, 2**4000, "nan bar", "all", {1: 2})
SIGNS = ["[", "]", "{", ":", "\n", "\t", "&a ", "*a ", "<<: ", "!!int ", "? ", "- ", "0x", "---\n", ".nan", "'", "\0"]


def test_mutated_copies_of_the_examples(tmp_path):
    """Whatever a file holds, it is read, or refused by MixtureError within a second."""
    chance, tree = random.Random(1), YAML(typ="safe", pure=True).load(SHIPPED[-1].read_text())
    text = SHIPPED[-1].read_text()

    def places(node, path=()):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
            yield (*path, key)
            yield from places(value, (*path, key))

    for case in range(150):
        if case % 2:
            data = copy.deepcopy(tree)
            *path, last = chance.choice(list(places(data)))
            node = data
            for key in path:
                node = node[key]
            node[last] = copy.deepcopy(chance.choice(ODD))
        else:
            at, end = chance.randrange(len(text)), chance.randrange(40)
            data = text[:at] + chance.choice(SIGNS) + text[at + end :]

        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                read(tmp_path, data)
            except MixtureError as error:
                assert len(str(error)) < 1000, data

        assert time.process_time() - begin < 2, data  # the dump of the tree is in it


# ---- memory ---------------------------------------------------------------------------------------------------------


def test_memory_of_pairs_is_checked_before_it_is_taken(monkeypatch):
    """4000 species: the fit of all pairs at once took 90 GB, and the system ended the process."""
    monkeypatch.setattr(arrays, "free_memory", lambda: 2.0**32)
    rows = np.full((4000, 7), 3.5)
    with pytest.raises(MixtureError, match="pairs of 4000 species take 6.0 GiB, 4.0 GiB are free"):
        SpeciesData.from_arrays([f"s{k}" for k in range(4000)], 0.03, 0.1, rows, rows, 1000.0, Tc=300.0, pc=5e6)


def test_free_memory_is_that_of_the_machine_or_less():
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 2**20 < arrays.free_memory() <= machine


def test_pairs_are_fitted_in_slabs(monkeypatch):
    data = species_set(10)
    for fit in (kinetic_theory.friction_fit, kinetic_theory.binary_fit):
        whole = fit(data, 200.0, 3000.0)
        monkeypatch.setattr(kinetic_theory, "SLAB", 7)
        # a product of matrices of another size may round otherwise, and the fit's condition number is some 1e5
        np.testing.assert_allclose(fit(data, 200.0, 3000.0), whole, rtol=1e-9)
        monkeypatch.undo()


# ---- arrays of a host -----------------------------------------------------------------------------------------------

ARRAYS = {
    "names": ["A", "B"],
    "W": [0.02, 0.03],
    "omega": 0.1,
    "nasa_low": [NASA, NASA],
    "nasa_high": [NASA, NASA],
    "T_mid": 1000.0,
    "Tc": [300.0, 200.0],
    "pc": 5e6,
}


def test_from_arrays_spreads_scalars_and_recovers_tc():
    data = SpeciesData.from_arrays(**ARRAYS)
    assert data.pc.tolist() == [5e6, 5e6] and np.isnan(data.Vc).all() and not data.kij.any()
    other = SpeciesData.from_arrays(**(ARRAYS | {"Tc": None, "pc": None}), a=data.a, b=data.b)
    np.testing.assert_allclose([other.Tc, other.pc], [data.Tc, data.pc], rtol=8 * EPS)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"names": []}, r"species names are \(\), wanted at least one"),
        ({"names": ["A", ""]}, r"wanted at least one non-empty string"),
        ({"names": ["A", "A"]}, r"species 'A' given more than once"),
        ({"W": [0.02]}, r"W has shape \(1,\), wanted \(2,\) for 2 species"),
        ({"W": [20.0, 0.03]}, r"species 'A': W is 20, wanted 0.0005 to 2 kg/mol"),
        ({"W": ["x", 1]}, r"W is not an array of numbers"),
        ({"omega": np.nan}, r"species 'A': omega is nan"),
        ({"Tc": [300.0, np.nan]}, r"species 'B': Tc is nan"),
        ({"Tc": [300.0, -1.0]}, r"species 'B': Tc is -1, wanted 1 to 10000 K"),
        ({"pc": 0.0}, r"species 'A': pc is 0, wanted"),
        ({"pc": None}, r"pc is missing, wanted Tc and pc, or a and b"),
        ({"a": 0.3}, r"b is missing, wanted Tc and pc, or a and b"),
        ({"a": -0.3, "b": 3e-5}, r"species 'A': a is -0.3"),
        ({"nasa_low": [NASA]}, r"nasa_low has shape \(1, 7\), wanted \(2, 7\)"),
        ({"nasa_high": [NASA, [np.inf, *NASA[1:]]]}, r"species 'B': nasa_high is \[inf, .*wanted 7 finite"),
        ({"T_mid": 100.0}, r"species 'A': T_min, T_mid, T_max are 200, 100, 3500 K, wanted ascending"),
        ({"kij": np.zeros(2)}, r"kij has shape \(2,\), wanted \(2, 2\)"),
        ({"kij": [[0, 0.1], [0.2, 0]]}, r"kij of 'A' and 'B' is 0.1 one way and 0.2 the other"),
        ({"kij": [[0.1, 0], [0, 0]]}, r"kij of 'A' and 'A' is 0.1 .* zero diagonal"),
        ({"kij": [[0, np.nan], [np.nan, 0]]}, r"kij of 'A' and 'B' is nan, wanted -0.9 to 0.9"),
        ({"kij": [[0, 1.5], [1.5, 0]]}, r"kij of 'A' and 'B' is 1.5, wanted -0.9 to 0.9"),
        ({"geometry": [0, 3]}, r"geometry is \[0, 3\], wanted 0 \(atom\)"),
        ({"Vc": [1e-4, -1e-4]}, r"species 'B': Vc is -0.0001, wanted"),
        ({"p_ref": -1.0}, r"p_ref is -1.0, wanted one positive pressure"),
        ({"T_fit": (300.0,)}, r"T_fit is \(300.0,\), wanted two ascending temperatures"),
        ({"T_fit": (3000.0, 300.0)}, r"T_fit is \(3000.0, 300.0\), wanted two ascending temperatures"),
        ({"color": 3}, r"unknown field 'color'; optional fields are Vc, dipole"),
    ],
)
def test_hostile_arrays(change, message):
    with pytest.raises(MixtureError, match=message) as caught:
        SpeciesData.from_arrays(**(ARRAYS | change), where="host")
    assert str(caught.value).startswith("host: ") and isinstance(caught.value, (ArgumentError, ValueError))


def test_polynomials_that_do_not_meet_are_told_not_refused():
    high = [[3.6, 0, 0, 0, 0, -100.0, -0.1 * np.log(1000.0)], NASA]  # h and s are continuous, cp is not
    with pytest.warns(UserWarning, match=r"species 'A': cp/R jumps from 3.5 to 3.6 at T_mid = 1000 K"):
        SpeciesData.from_arrays(**(ARRAYS | {"nasa_high": high}))


def test_a_liquid_density(tmp_path):
    data = base()
    data["species"][0]["real-gas"]["liquid-density"] = {
        "temperature": 250.0,
        "pressure": "17.85 bar",
        "density": "1.046 g/cm^3",
    }

    np.testing.assert_allclose(read(tmp_path, data)[0].liquid, [[250.0, 17.85e5, 1046.0], [np.nan] * 3], rtol=4 * EPS)
    del data["species"][0]["real-gas"]["liquid-density"]["pressure"]
    assert read(tmp_path, data)[0].liquid[0, 1] == 101325.0


def test_two_acentric_factors_are_told(tmp_path):
    data = base()
    data["species"][0]["transport"]["acentric-factor"] = 0.3
    with pytest.warns(UserWarning, match=r"'CO2': transport: acentric-factor 0.3 differs from 0.22394"):
        assert read(tmp_path, data)[0].omega[0] == 0.22394


# ---- parts of a mixture
# -----------------------------------------------------------------------------------------------


def test_subset_keeps_everything_in_the_order_asked():
    data = species_set(10, "dense")
    names = ["H2O", "CH4", "HO2"]
    part, pick = data.subset(names), [data.index(n) for n in names]
    numbers = [field.name for field in FIELDS if field.shape[0] == "ns" and field.name != "kij"]
    for field in (name for name in numbers if getattr(data, name) is not None):
        np.testing.assert_array_equal(getattr(part, field), getattr(data, field)[pick])

    np.testing.assert_array_equal(part.kij, data.kij[np.ix_(pick, pick)])
    assert part.names == tuple(names) and part.T_fit == data.T_fit and not part.Tc.flags.writeable


def test_subset_keeps_the_arrays_of_a_phase():
    """Along both dimensions over the species."""
    own = np.arange(200.0).reshape(2, 10, 10)
    part = changed(species_set(10, "dense"), rk_a=own).subset(["CO2", "CH4"])
    np.testing.assert_array_equal(part.rk_a, own[:, [2, 0]][..., [2, 0]])


@pytest.mark.parametrize("call", ["tvproperties_populatepreosshareddata", "tvproperties_populatechungshareddata"])
def test_a_host_hands_over_arrays_of_the_table(call):
    """Under the table's names, with its units and shapes; Fortran has the other order of dimensions."""
    (entry,) = (entry for entry in ENTRIES if entry.name == call)
    by_host = {field.host: field for field in FIELDS if field.host}

    for argument in (argument for argument in entry.args if argument.kind == "doubles"):
        field = by_host[argument.name]
        assert argument.dims == field.shape[::-1], argument.name
        assert argument.name.startswith("nasa") or f"[{field.unit}" in argument.doc or argument.name == "fuller"


def test_subset_derives_a_fit_range_that_was_derived():
    data = changed(species_set(10), T_min=[300.0] + [200.0] * 9, T_fit=None)
    assert data.T_fit == (300.0, 3500.0) and data.subset(["O2", "H2O"]).T_fit == (200.0, 3500.0)
    assert data.with_fit_range(90, 2000).subset(["O2"]).T_fit == (90.0, 2000.0)


@pytest.mark.parametrize(
    "names, message",
    [
        (["CH4", "AR"], r"species 'AR' is not in the mixture, which has CH4, O2"),
        (["CH4", "CH4"], r"species 'CH4' given more than once"),
        ([], r"wanted at least one"),
    ],
)
def test_bad_subset(names, message):
    with pytest.raises(MixtureError, match=message):
        species_set(10).subset(names)


def test_require_names_species_and_field():
    data = changed(species_set(10), Vc=[1e-4] * 9 + [np.nan])
    with pytest.raises(
        MixtureError, match=r"species 'HO2': critical molar volume \(Vc, m3/mol\) is missing; Chung needs it"
    ):
        data.require("dipole", "Vc", purpose="Chung")


def test_units_parser():
    assert parse("bar*cm^6/mol^2")[0] == pytest.approx(1e5 * 1e-12 * 1e6, rel=8 * EPS)
    assert parse("J/mol/K") == (pytest.approx(1e3), (1.0, 2.0, -2.0, -1.0, -1.0))

    for unit, si in (
        ("bar*L^2/mol^2", "Pa*m^6/kmol^2"),
        ("cm^3/mol", "m^3/kmol"),
        ("MPa", "Pa"),
        ("kcal/mol", "J/kmol"),
        ("angstrom", "m"),
        ("dyn/cm^2", "Pa"),
        ("cc/molec", "m^3/kmol"),
        ("g/L", "kg/m^3"),
        ("erg/micron^3", "Pa"),
    ):
        assert parse(unit)[0] == pytest.approx(ct.UnitSystem().convert_to(f"1.0 {unit}", si), rel=8 * EPS)

    assert Units().inside({"units": {"energy": "J"}}).convert("3.0", "K") == 3.0


@pytest.mark.parametrize(
    "text", ["ELEMENTS\nH O\nEND\n", "! rates of 1995\n\n  species H2 O2 end\nREACTIONS\nH2+M=2H+M 1 0 0\nEND"]
)
def test_a_chemkin_file_is_recognised(tmp_path, text):
    """Read as YAML it is a text, or no YAML at all."""
    path = tmp_path / "chem.inp"
    path.write_text(text)
    with pytest.raises(MixtureError, match=f"a CHEMKIN file: python -m frame mechanisms --convert {path} "):
        read_cantera_yaml(path)
