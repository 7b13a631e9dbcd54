"""Quantities of the layer in fields, pictures and at probes of the mini solver."""

import io

import numpy as np
import pytest

from examples.mini_solver.case import Case
from examples.mini_solver.errors import CaseError
from examples.mini_solver.fields import unit
from examples.mini_solver.flow import Flow
from examples.mini_solver.pictures import look
from examples.mini_solver.run import Run
from kernels import Mixture, get_backend

h5py = pytest.importorskip("h5py")

R = 8.31446261815324  # J/mol/K
LAYER = dict(
    mixture={"file": "examples/mixtures/ch4_o2.yaml", "species": ["CH4", "O2"], "options": {"equation": "ideal"}},
    domain=dict(cells=[12, 8], upper=[1e-3, 1e-3]),
    initial=dict(p=5e6, T="300 + 50*x/1e-3", X={"CH4": "0.2 + 0.6*y/1e-3", "O2": "rest"}, u=5),
    boundary=dict(y="slip_wall"),
    time={"steps": 2},
)
BOILING = dict(
    LAYER,
    mixture=dict(LAYER["mixture"], options={"phases": "equilibrium"}),
    initial=dict(p=2e6, T="115 + 60*x/1e-3", X={"CH4": 0.6, "O2": 0.4}),
    numerics=dict(scheme="apec"),
)


def run(case, folder, restart=None, **output):
    Run(Case(dict(case, output=output)), folder=folder, restart=restart, out=io.StringIO())()


def datasets(path) -> dict:
    with h5py.File(path) as file:
        return {name: data[...] for name, data in file.items()}


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def flow(request):
    get_backend(request.param)
    return Flow(Case(dict(LAYER, parallel={"backend": request.param})))


def test_laws_of_an_ideal_gas_hold_between_fields(flow):
    found = flow.fields(["rho", "p", "T", "Y_CH4", "Y_O2", "Z", "c", "gamma", "X_O2", "W"])
    W = {"CH4": 16.043e-3, "O2": 31.998e-3}  # kg/mol, to the 1e-4 by which tables differ
    moles = {name: found[f"Y_{name}"] / W[name] for name in W}
    both = moles["CH4"] + moles["O2"]

    np.testing.assert_allclose(found["Z"], 1.0, rtol=1e-13)
    np.testing.assert_allclose(found["X_O2"], moles["O2"] / both, rtol=3e-4)
    np.testing.assert_allclose(found["p"], found["rho"] * R / found["W"] * found["T"], rtol=1e-12)
    np.testing.assert_allclose(found["c"] ** 2, found["gamma"] * found["p"] / found["rho"], rtol=1e-12)


def test_states_of_two_phases_are_those_of_their_energy():
    """h = e + p/rho, and a mixture of two phases carries the slower sound."""
    flow = Flow(Case(BOILING))
    found = flow.fields(["phases_status", "e_vol", "p", "rho", "h", "c", "c_frozen", "beta_mass"])
    two = found["phases_status"] == 1

    assert two.any() and not two.all()

    np.testing.assert_allclose(found["h"] * found["rho"], found["e_vol"] + found["p"], rtol=1e-9)
    assert (found["c"][two] < found["c_frozen"][two]).all()
    np.testing.assert_allclose(found["c"][~two], found["c_frozen"][~two], rtol=1e-9)


def test_files_have_them_with_units_and_a_run_that_goes_on_may_ask_for_others(tmp_path):
    probes = [[2e-4, 7e-4], [8e-4, 3e-4]]
    run(LAYER, tmp_path, fields=1, history=1, probes=probes, quantities=["cp", "X_CH4"], precision="double")
    mix = Mixture.from_yaml("examples/mixtures/ch4_o2.yaml", equation="ideal")

    last = datasets(tmp_path / "fields-00000002.h5")
    Y = np.zeros((mix.ns, last["T"].size))
    Y[[mix.names.index("CH4"), mix.names.index("O2")]] = last["Y_CH4"], last["Y_O2"]
    wanted = mix.properties("cp", T=last["T"], p=last["p"], Y=Y)["cp"]

    np.testing.assert_allclose(last["cp"], wanted, rtol=1e-12)
    with h5py.File(tmp_path / "fields-00000002.h5") as file:
        assert file["cp"].attrs["units"] == "J/kg/K"

    # A probe reads the cell in which it lies: rows of 12 cells
    before = datasets(tmp_path / "history.h5")
    cells = [5 * 12 + 2, 2 * 12 + 9]
    np.testing.assert_array_equal(before["probe_cp"][-1], last["cp"][cells])

    more = dict(LAYER, time={"steps": 4})
    run(more, tmp_path, restart=tmp_path / "restart.h5", history=1, probes=probes, quantities=["X_CH4", "mu"])
    after = datasets(tmp_path / "history.h5")

    assert [*after["step"]] == [0, 1, 2, 3, 4]
    assert np.isnan(after["probe_mu"][:3]).all() and (after["probe_mu"][3:] > 0).all()
    assert np.isnan(after["probe_cp"][3:]).all() and np.isfinite(after["probe_X_CH4"]).all()


@pytest.mark.parametrize(
    "name, told",
    [
        ("cpp", "unknown field 'cpp'.*omega_OH"),
        ("omega_OH", "unknown field 'omega_OH'"),  # no such species
        ("gamma_jacobian", "unknown field 'gamma_jacobian'"),  # a matrix
        ("dU_frozen", "unknown field 'dU_frozen'"),
        ("c_frozen", "'c_frozen' cannot be computed from T, p, Y.*not there for"),
        (3, "wanted names"),
    ],
)
@pytest.mark.parametrize("key", ["frame", "quantities"])
def test_names_without_numbers_are_refused_before_anything_is_compiled(tmp_path, monkeypatch, key, name, told):
    monkeypatch.setattr(Flow, "_make_parts", lambda flow: pytest.fail("kernels were compiled"))
    with pytest.raises(CaseError, match=told):
        run(LAYER, tmp_path, **{key: ["rho", name]})
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["T", "mach", "Y_O2", "Y_methane"])
def test_fields_of_the_flow_are_no_quantities_of_the_layer(tmp_path, name):
    with pytest.raises(CaseError, match=f"quantities: '{name}' is a field of the flow"):
        run(LAYER, tmp_path, quantities=["c", name])


def test_what_a_flow_holds_constant_is_shown(tmp_path):
    """A viscosity of the case, not that of the layer."""
    case = dict(LAYER, numerics=dict(viscous=True), transport=dict(mu=3e-5, lam=0.05, D=1e-7))
    case["boundary"] = dict(y="slip_wall")
    run(case, tmp_path, fields=2, history=1, probes=[[2e-4, 7e-4]], quantities=["mu", "cp"], precision="double")

    assert (datasets(tmp_path / "fields-00000002.h5")["mu"] == 3e-5).all()
    assert (datasets(tmp_path / "history.h5")["probe_mu"] == 3e-5).all()


def test_units_and_labels():
    assert unit("c") == unit("mean_u") == "m/s" and unit("omega_OH") == "kg/m3/s" and unit("Y_OH") == "1"
    assert look("omega_OH", unit("omega_OH")).label == "omega_OH [kg/m3/s]"
    assert look("Z", unit("Z")).label == "Z [-]"
