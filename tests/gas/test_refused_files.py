"""Mixture files that are refused, each with its message."""

import pytest
from mixture_files import BASE, base, read

from kernels.engine.errors import MixtureError
from kernels.gas.species.cantera_yaml import read_cantera_yaml


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
    "model of thermo": (
        put(*N2, "thermo", "model", "Einstein"),
        r"species 'N2': thermo: model is 'Einstein', wanted one of NASA7, NASA9, Shomate, constant-cp, piecewise-Gibbs",
    ),
    "Gibbs energies without 298.15 K": (
        put(*N2, "thermo", {"model": "piecewise-Gibbs", "data": {300: 0.0, 400: -1e7}}),
        r"'N2': thermo: data: got \{300: 0.0, .* wanted 2 to 9 temperatures in K, 298.15 among them",
    ),
    "Shomate of three ranges": (
        put(*N2, "thermo", {"model": "Shomate", "temperature-ranges": [200, 500, 1000, 6000], "data": [NASA] * 3}),
        r"thermo: temperature-ranges: got .* wanted 2 or 3 temperatures in K",
    ),
    "no cp0": (
        put(*N2, "thermo", {"model": "constant-cp", "h0": 0}),
        r"species 'N2': thermo: cp0 is missing, wanted a number in J/kmol/K",
    ),
    "negative cp0": (
        put(*N2, "thermo", {"model": "constant-cp", "cp0": "-30 J/mol/K"}),
        r"species 'N2': thermo: cp0: got '-30 J/mol/K', wanted a positive number",
    ),
    "T0 of zero": (
        put(*N2, "thermo", {"model": "constant-cp", "T0": 0}),
        r"species 'N2': thermo: T0: got 0, wanted a positive number",
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
    "diameter in m": (
        put(*CO2, TRAN, "diameter", 3.7e-10),
        r"species 'CO2': diameter is 3.7e-20, wanted 1e-11 to 1e-07 m",
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
    assert str(caught.value).count("no.yaml" if case == "no such file" else "mix.yaml") == 1  # where, once


@pytest.mark.parametrize(
    "text, message",
    [
        ("phases: [", r"mix.yaml: is not valid YAML: .*line"),
        ("phases: [{name: x, species: [AR", r"expected ',' or '\]', but got '<stream end>', line 1, column"),
        (
            "phases:\n\t- name: x",
            r"is not valid YAML: found a tab that cannot start any token, line 2, column 1",
        ),
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
