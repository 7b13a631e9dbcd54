"""fluids.csv: every row has its substance, its molar mass and a critical point near the measured one."""

import csv
import dataclasses

import numpy as np
import pytest
from mixtures_for_tests import ROOT

from frame.tools.fit import model, report
from kernels import Mixture, MixtureError
from kernels.gas.species import fluids
from kernels.gas.species.atomic_weights import ATOMIC_WEIGHT
from kernels.gas.species.critical import shipped, table

ROWS = fluids.fluids()
N2 = ROOT / "examples/mixtures/n2.yaml"


def test_columns_are_the_fields():
    """The head of the table and the fields of Fluid are the same names in the same order."""
    lines = [line for line in fluids.TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]

    assert next(csv.reader(lines)) == [field.name for field in dataclasses.fields(fluids.Fluid)]


def test_every_fluid_has_a_species():
    """Each row is some species' row, and each named fluid is a row."""
    assert set(fluids.names().values()) == set(ROWS) == {*fluids.SUBSTANCES, *fluids.OTHERS}


@pytest.mark.parametrize("name", fluids.SUBSTANCES)
def test_the_critical_point_is_the_substances(name):
    """Tc and pc of a row against critical_points.csv: 0.2 % and 2 %, what reference equations of a fluid differ by."""
    measured, _ = shipped()[fluids.SUBSTANCES[name]]
    row = ROWS[name]

    assert row.Tc == pytest.approx(measured["Tc"], rel=2e-3)
    assert row.pc == pytest.approx(measured["pc"], rel=2e-2)


def test_a_species_has_its_row():
    """By the names of mechanisms, in either case; another formula under that name has none, nor has an isomer."""
    assert fluids.fluid_of("CH4", 16.043e-3) is ROWS["CH4"]
    assert fluids.fluid_of("ar", 39.948e-3) is ROWS["Ar"]
    assert fluids.fluid_of("NC7H16", 100.2e-3) is ROWS["nC7"]
    assert fluids.fluid_of("c12h26", 170.33e-3) is ROWS["nC12"]
    assert fluids.fluid_of("air", 28.965e-3) is ROWS["Air"]

    assert fluids.fluid_of("CH4", 17.05e-3) is None
    assert fluids.fluid_of("IC4H10", 58.12e-3) is None
    assert fluids.fluid_of("OH", 17.007e-3) is None


def test_molar_masses_are_those_of_the_formulas():
    """The rows' molar masses against the atomic weights of the layer, within what makes a species the same."""
    for (name, atoms), substance in table().items():
        fluid = fluids.names().get(name)
        if fluid and substance.cas in fluids.SUBSTANCES.values():
            W = 1e-3 * sum(count * ATOMIC_WEIGHT[element] for element, count in atoms)
            assert fluids.fluid_of(name, W) is ROWS[fluid]


# ---- tables of users


def user_table(path, **changes):
    """A table with one row: nitrogen's, changed."""
    from frame.tools.fit import table

    table.write(path, [dataclasses.replace(ROWS["N2"], **changes)])
    return path


def test_a_users_table_is_read(tmp_path):
    """By keyword and by the phase's key: the row of the file counts, by the species' or the substance's name."""
    text = N2.read_text()
    own = user_table(tmp_path / "own.csv", fluid="n2", P0=-0.4)
    file = tmp_path / "n2.yaml"
    file.write_text(text.replace("    diffusion-fit-range", "    fluids: own.csv\n    diffusion-fit-range", 1))

    plain = Mixture.from_yaml(N2, equation="mapped")
    by_keyword = Mixture.from_yaml(N2, equation="mapped", fluids=own)
    by_key = Mixture.from_yaml(file, equation="mapped")
    at = dict(T=90.0, p=5e6, Y=[1.0], backend="cpu")
    rho = [mixture.properties("rho", **at)["rho"] for mixture in (plain, by_keyword, by_key)]

    # C grows by b (0.63 - 0.40): v falls by that, at the same root.
    row = ROWS["N2"]
    cubic = model.Cubic(*report.parameters(row)[:2])
    v = plain.species.W[0] / np.array(rho)
    assert v[0] - v[1] == pytest.approx(cubic.b * (-0.4 - row.P0), rel=1e-9) and v[1] == v[2]
    assert by_key.species.subset(["N2"]).own_fluids["N2"].P0 == -0.4 and not plain.species.own_fluids


@pytest.mark.parametrize(
    "row, species, M", [("Ethanol", "C2H5OH", 0.046069), ("IsoButane", "IC4H10", 0.058124), ("R744", "CO2", None)]
)
def test_a_row_under_another_name_of_the_substance(tmp_path, row, species, M):
    """As `python -m frame fit Ethanol` names it; not under a name that nobody knows."""
    own = user_table(tmp_path / "own.csv", fluid=row, M=M or ROWS["CO2"].M)
    plain = Mixture.from_names(species)
    if M is None:
        with pytest.raises(MixtureError, match="rows R744; wanted a row with the name of a species: CO2"):
            plain.species.with_fluids(own)
    else:
        assert plain.species.with_fluids(own).own_fluids[species].fluid == row


def test_a_formula_of_isomers_takes_no_row_of_one_of_them(tmp_path):
    own = fluids.read(user_table(tmp_path / "own.csv", fluid="Isobutane"))
    assert fluids._of_its_substance("C4H10", own) is None
    assert fluids._of_its_substance("IC4H10", own) is own["Isobutane"]


def test_a_users_table_counts_for_transport(tmp_path):
    own = user_table(tmp_path / "own.csv", sigma=2 * ROWS["N2"].sigma)
    models = dict(equation="mapped", viscosity="residual")
    plain, wide = (Mixture.from_yaml(N2, **models, **more) for more in ({}, dict(fluids=own)))
    ratio = plain.constant("residual_sizes").array / wide.constant("residual_sizes").array
    assert ratio == pytest.approx(0.5**1.5, rel=1e-15)


@pytest.mark.parametrize(
    "changes, text",
    (
        (dict(fluid="O2"), "rows O2; wanted a row with the name of a species: N2"),
        (dict(M=0.032), "M = 0.032.*'N2' has"),
    ),
    ids=("name", "mass"),
)
def test_a_users_table_that_does_not_fit(tmp_path, changes, text):
    with pytest.raises(MixtureError, match=text):
        Mixture.from_yaml(N2, equation="mapped", fluids=user_table(tmp_path / "own.csv", **changes))
