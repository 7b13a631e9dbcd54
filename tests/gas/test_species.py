"""Species data: from arrays of a host, parts of a mixture, memory of pairs, units."""

import os
import warnings

import numpy as np
import pytest
from mixture_files import base, read
from mixtures_for_tests import ROOT, changed, species_set

from frame.entry import ENTRIES
from kernels import Mixture
from kernels.engine.errors import ArgumentError, MixtureError
from kernels.gas.species import SpeciesData, arrays, kinetic_theory
from kernels.gas.species.cantera_yaml import read_cantera_yaml
from kernels.gas.species.fields import FIELDS
from kernels.gas.species.units import Units, parse

ct = pytest.importorskip("cantera")
EPS = np.finfo(float).eps
CH4_O2 = ROOT / "examples/mixtures/ch4_o2.yaml"

NASA = [3.5, 0, 0, 0, 0, 0, 0]


# ---- memory


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


# ---- arrays of a host


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
        ({"W": [20.0, 0.03]}, r"species 'A': W is 20, wanted 5e-07 to 2 kg/mol"),
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
        ({"p_ref": "1 bar"}, r"p_ref is '1 bar', wanted one positive pressure"),
        ({"p_ref": [1e5, 1e5]}, r"p_ref is \[100000.0, 100000.0\], wanted one positive pressure"),
        ({"T_fit": 300.0}, r"T_fit is 300.0, wanted two ascending temperatures"),
        ({"T_fit": ("a", "b")}, r"T_fit is \('a', 'b'\), wanted two ascending temperatures"),
        ({"T_fit": [[1.0], [2.0, 3.0]]}, r"T_fit is \[\[1.0\], .*, wanted two ascending temperatures"),
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


CALORIE = 4.184  # J


@pytest.mark.parametrize(
    "thermo, message",
    [
        ({"model": "constant-cp", "cp0": "29 J/kmol/K"}, "cp of N2 is 0.0034879 R at 20 K, wanted 2.5 R"),
        ({"model": "constant-cp", "cp0": "29 kJ/mol/K"}, "cp of N2 is 3487.9 R at 600 K, wanted 8 R or less"),
        (
            {"model": "Shomate", "data": [[29 / CALORIE, 0, 0, 0, 0, 0, 0]]},
            "cp of N2 is 0.833628 R at 200 K, wanted 2.5",
        ),
        ({"model": "NASA7", "data": [[3.5 * CALORIE, 0, 0, 0, 0, 0, 0]]}, "cp of N2 is 14.644 R at 600 K, wanted 8 R"),
        ({"model": "NASA7", "data": [[3.5, -0.01, 0, 0, 0, 0, 0]]}, "cp of N2 is -26.5 R at 3000 K, wanted 2.5 R"),
        (
            {"model": "NASA9", "data": [[3.5, 0, 0, 0, 0, 0, 0, 0, 0]]},
            "cp of N2 is 3.88889e-07 R at 3000 K, wanted 2.5 R",
        ),
    ],
)
def test_heat_capacities_that_no_gas_has_are_told(tmp_path, thermo, message):
    """Other units, other columns, a polynomial that falls below 0: one line with species, value, temperature, bound."""
    data = base()
    if thermo["model"] != "constant-cp":
        thermo = {"temperature-ranges": [200.0, 3000.0], **thermo}
    data["species"][1]["thermo"] = thermo

    with pytest.warns(UserWarning, match=f"no gas has the heat capacity of N2: {message}") as told:
        read(tmp_path, data)
    assert len(told) == 1


def test_heat_capacities_of_real_gases_are_not_told():
    """All species that the package brings, atoms and electronic states among them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*no gas has the heat capacity")
        Mixture.from_names(Mixture.known_names())


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


def of_file(mix: Mixture) -> dict:
    """The arguments of from_arrays that give the species of a mixture again."""
    species = mix.species
    fields = ("W", "omega", "nasa_low", "nasa_high", "T_mid", "Tc", "pc", "kij")
    return dict(names=species.names) | {name: getattr(species, name) for name in fields}


def table_forms(names, array) -> dict:
    """An array as tables by species: other species too, other order, other letters."""
    pd, xr = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    turned = [*names[::-1], "XE"]
    rows = np.concatenate([array[::-1], array[:1] * np.nan])
    series = pd.Series if array.ndim == 1 else pd.DataFrame
    return {
        "dict": dict(zip(turned, rows)),
        "pandas": series(rows, index=[name.lower() for name in turned]),
        "xarray": xr.DataArray(rows, dims=("species", "k")[: array.ndim], coords={"species": turned}),
    }


@pytest.mark.parametrize("form", ["dict", "pandas", "xarray"])
@pytest.mark.parametrize("field", ["W", "Tc", "nasa_low"])
def test_arrays_by_species_go_by_names(form, field):
    """They were taken by position."""
    given = of_file(Mixture.from_yaml(CH4_O2))
    table = table_forms(given["names"], np.asarray(given[field]))[form]
    found = SpeciesData.from_arrays(**given | {field: table, "names": " ".join(given["names"])})

    assert found.names == given["names"] and np.array_equal(getattr(found, field), given[field])


def test_matrices_by_species_go_by_names():
    pd = pytest.importorskip("pandas")
    given = of_file(Mixture.from_yaml(CH4_O2, kij={"CH4/O2": 0.1, "CH4/CO2": 0.2}))
    names = given["names"]
    kij = pd.DataFrame(given["kij"], names, names)
    for table in (kij, kij.loc[list(names[::-1])], kij.loc[:, list(names[::-1])]):
        assert np.array_equal(SpeciesData.from_arrays(**given | {"kij": table}).kij, given["kij"])


def test_numbers_that_a_table_lacks():
    pd = pytest.importorskip("pandas")
    given = of_file(Mixture.from_yaml(CH4_O2))
    Tc = pd.Series(given["Tc"], list(given["names"]))

    for table, words in (
        (Tc.drop("O2"), "Tc of species 'O2' is missing"),
        (Tc.drop("O2").to_dict(), "Tc of species 'O2' is missing"),
        (pd.concat([Tc, Tc]), "Tc: a species comes twice"),
        (Tc.rename(index={"O2": "o2", "CO2": "O_2"}), "Tc of species 'CO2' is missing"),
        (np.ma.array(Tc, mask=np.arange(10) == 1), "Tc of 'O2' is masked, wanted a number"),
    ):
        with pytest.raises(MixtureError, match=words):
            SpeciesData.from_arrays(**given | {"Tc": table})
