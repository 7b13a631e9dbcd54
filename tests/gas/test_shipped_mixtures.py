"""Mixtures that are shipped or written: every number as Cantera reads it."""

import re
import warnings

import numpy as np
import pytest
from mixture_files import SHIPPED
from mixtures_for_tests import KIJ, species_set, write_yaml

from kernels.gas.species import GAS_CONSTANT, nasa7
from kernels.gas.species.cantera_yaml import read_cantera_yaml

ct = pytest.importorskip("cantera")
EPS = np.finfo(float).eps


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
