"""Calls for vapour and liquid in equilibrium: what is told, refused and served, to Python and to hosts."""

import warnings

import numpy as np
import pytest
from frame_host import Host, whole
from kernel_cases import project_kernels
from phases_for_tests import (
    PRODUCTS,
    SPRAY,
    flash,
    mixture,
    results,
    species,
)

from frame.stripe import IN, INOUT, OUT
from kernels import ArgumentError, Mixture, StateError, registry

# ---- what a caller is told


def test_points_without_a_state_are_told(monkeypatch):
    """An energy that no temperature has: count, first point and inputs in a warning, though the status was not asked
    for. NaN in is NaN out without one. Check mode raises."""
    mix, q = mixture(SPRAY), results(SPRAY)
    e, rho, Y = q["e"][:6].reshape(2, 3).copy(), q["rho"][:6].reshape(2, 3), q["Y"][:, :6].reshape(2, 2, 3)
    e[0, 2], e[1, 1] = -1e9, -1e9
    said = r"'phases_status' = 2\) at 2 of 6 points; the first is point \[0, 2\], there e = -1000000000.0, rho = "

    with pytest.warns(RuntimeWarning, match=said) as told:
        found = mix.properties("T", e=e, rho=rho, Y=Y)
    assert list(found) == ["T"] and (np.isnan(found["T"]) == (e == -1e9)).all()
    assert len(told) == 1

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mix.properties("T", e=np.where(e < -1e8, np.nan, e), rho=rho, Y=Y)

    monkeypatch.setenv("FRAME_CHECK", "1")
    with pytest.raises(StateError, match=said):
        mix.properties("T", e=e, rho=rho, Y=Y)


def test_a_wrong_sum_is_told_once():
    """Fractions that sum to 1.1: one warning, of the sum. Another told of the state that was not found."""
    q = results(SPRAY)
    Y = q["Y"][:, :3].copy()
    Y[0, 1] += 0.1
    with pytest.warns(RuntimeWarning, match=r"'Y' sums to 1.1 over the species at point \[1\]") as told:
        T = mixture(SPRAY).properties("T", e=q["e"][:3], rho=q["rho"][:3], Y=Y)["T"]
    assert len(told) == 1 and (np.isnan(T) == [False, True, False]).all()


def test_check_mode_names_the_point_of_a_block():
    """In a host's block as in Python; phases_status is not among the arrays of the call."""
    host = Host(ns=2, nq=7, mixture=None)
    host.frame.properties._use(mixture(SPRAY), "test")
    q, shape = results(SPRAY), (3, 2, 2)
    e, rho = (np.asfortranarray(q[name][:12].reshape(shape)) for name in ("e", "rho"))
    Y = np.asfortranarray(np.moveaxis(q["Y"][:, :12].reshape(2, *shape), 0, -1))
    out = np.zeros(shape, order="F")
    fields = [whole(name, array, IN) for name, array in dict(e=e, rho=rho, Y=Y).items()]
    call = ("phases_from_e_rho", [*fields, whole("beta", out, OUT)], (None,) * 4, (None,) * 4)

    host.frame.block_of_fields(*call)
    assert not np.isnan(out).any()
    e[1, 0, 1] = -1e9
    host.frame.block_of_fields(*call)
    assert np.argwhere(np.isnan(out)).tolist() == [[1, 0, 1]]

    host.frame.set_parameter("check", 1)
    with pytest.raises(StateError, match=r"'phases_status' = 2\) at 1 of 12 .*\(i, j, k\) = \(2, 1, 2\) of rank 0"):
        host.frame.block_of_fields(*call)


@pytest.mark.parametrize("way", ["e rho", "p rho"])
def test_a_part_of_a_start_is_refused_to_a_host(way):
    """It would not count, and each call begin from nothing: a name is missing, or an array comes as an input only."""
    host = Host(ns=2, nq=7, mixture=None)
    host.frame.properties._use(mixture(SPRAY), "test")
    arrays = {name: np.ones((3, 2, 2), order="F") for name in (*way.split(), "T_start", "eta", "T")}
    arrays |= {name: np.ones((3, 2, 2, 2), order="F") for name in ("Y", "ln_kappa")}
    state = [whole(name, arrays[name], IN) for name in (*way.split(), "Y")]
    T_start, T = whole("T_start", arrays["T_start"], IN), whole("T", arrays["T"], OUT)
    ln_kappa, eta = (whole(name, arrays[name], INOUT) for name in ("ln_kappa", "eta"))
    name = f"phases_from_{way.replace(' ', '_')}"

    for start, said in (
        ([ln_kappa, eta], "got the start 'ln_kappa, eta' without 'T_start'"),
        ([ln_kappa, T_start], "got the start 'ln_kappa' without 'eta'"),
        ([whole("eta", arrays["eta"], IN)], "got the start 'eta' without 'T_start, ln_kappa'"),
        ([*(whole(each, arrays[each], IN) for each in ("ln_kappa", "eta")), T_start], "ask for it, too"),
    ):
        with pytest.raises(ArgumentError, match=said):
            host.frame.block_of_fields(name, [*state, *start, T], (None,) * 4, (None,) * 4)


def test_third_phases_are_told_in_check_mode(monkeypatch):
    """Cold water in gases: check mode tests the phases, and the results stay."""
    mix, state = mixture(PRODUCTS), dict(T=225.0, p=2e6, X=np.array([0.3, 0.0, 0.4, 0.3]))
    plain = mix.properties("rho beta phases_status", **state)
    assert plain["phases_status"] == 1

    monkeypatch.setenv("FRAME_CHECK", "1")
    with pytest.warns(RuntimeWarning, match=r"a third phase would .* \('phases_status' = 3\) at 1 of 1 points"):
        found = mix.properties("rho beta phases_status", **state)
    assert found["phases_status"] == 3
    assert found["rho"] == plain["rho"] and found["beta"] == plain["beta"]


def test_three_phases_are_told():
    """Energy and density of water, liquid and gaseous carbon dioxide: between the two states of two phases on either
    side of the jump at 290 K. Two phases that are not stable are kept, status 3; nothing says 0 or 1."""
    mix, X = mixture(PRODUCTS), np.array([0.0, 0.0, 0.6, 0.4])
    low, high = 4.5e6, 6e6
    for _ in range(50):
        p = (low + high) / 2
        dense = flash(mix, T=290.0, p=p, X=X)["rho"] > 400
        low, high = (low, p) if dense else (p, high)

    gas, liquid = (flash(mix, T=290.0, p=p, X=X) for p in (low, high))
    assert gas["phases_status"] == liquid["phases_status"] == 1 and liquid["rho"] > 2 * gas["rho"]

    share = np.array([0.3, 0.6])
    v, e = ((1 - share) * a + share * b for a, b in ((1 / gas["rho"], 1 / liquid["rho"]), (gas["e"], liquid["e"])))
    Y = np.repeat(gas["Y"][:, None], 2, 1)
    with pytest.warns(RuntimeWarning, match="third phase|three phases"):
        found = flash(mix, e=e, rho=1 / v, Y=Y)
    assert np.isin(found["phases_status"], (3, 4)).all()


# ---- what is served


def test_nothing_of_one_phase_is_handed_out():
    """Quantities of one phase alone are refused by name; kernels for one phase and for two say so."""
    mix = mixture(SPRAY)
    for name in ("D_mole", "D_mass", "Le", "a_mix", "omega", "inv_D", "cubic_L"):
        with pytest.raises(ArgumentError, match="not there for phases = 'equilibrium'|cannot be computed"):
            mix.properties(name, T=400.0, p=1e6, Y=[0.5, 0.5])
    with pytest.raises(ArgumentError, match="'beta' cannot be computed .*not there for phases = 'single'"):
        Mixture(species(SPRAY)).properties("beta", T=400.0, p=1e6, Y=[0.5, 0.5])
    with pytest.raises(ArgumentError, match="cannot be computed"):
        mix.properties("h", Y=[0.5, 0.5], s=1000.0, rho=10.0)

    composition = "molar_mass mole_fractions mass_fractions ideal_gas ideal_gas_entropy cubic_delta critical_state"
    definitions = (
        "total_enthalpy molar_volume internal_energy chemical_potentials density_in_composition "
        "energy_in_partial_density partial_entropies entropy_slopes preconditioning no_preconditioning "
        "sound_speed_from_density_and_enthalpy gamma_matrix gamma_inverse_matrix gamma_product gamma_inverse_product "
        "effective_viscosity effective_conductivity effective_diffusion density_of_partial_densities "
        "fractions_of_partial_densities fractions_of_all_but_the_last velocity_of_momentum energy_of_total_energy "
        "compressibilities joule_thomson gibbs_energy"
    )
    served = {name for name, kernel in project_kernels().items() if kernel.phases == "any"}
    assert served == {*composition.split(), "mapped_critical_state", *definitions.split()}


def test_options_that_do_not_fit():
    for options, text in (
        (dict(equation="ideal"), "needs an equation of state with a cubic, one of pr, srk, .*mapped; .*'ideal' came"),
        (dict(equation="mapped", root="liquid"), "root = 'liquid' came, wanted 'gibbs'"),
        (dict(root="vapour"), "root = 'vapour' came, wanted 'gibbs'"),
    ):
        with pytest.raises(ArgumentError, match=text):
            Mixture(species(SPRAY), phases="equilibrium", **options)


def test_collections_give_equilibrium_values():
    """thermal, the inversions and Gamma keep their names: at a two-phase state c is that of equilibrium."""
    mix, state = mixture(SPRAY), dict(T=400.0, p=1e6, Y=np.array([0.3, 0.7]))
    q = mix.properties([*registry.collections["thermal"].outputs, "beta", "e"], **state)
    assert 0 < q["beta"] < 1
    np.testing.assert_allclose(q["c"], mix.properties("c", e=q["e"], rho=q["rho"], Y=state["Y"])["c"], rtol=1e-8)

    both = mix.properties("gamma_jacobian gamma_inverse", u=30.0, v=0.0, w=0.0, **state)
    G, I = (both[k].reshape(6, 6) for k in ("gamma_jacobian", "gamma_inverse"))
    np.testing.assert_allclose(I @ G, np.eye(6), atol=1e-9 * (np.abs(I) @ np.abs(G)).max())

    for name, given in (("T_from_h_p", dict(h=q["h"], p=1e6)), ("T_from_e_rho", dict(e=q["e"], rho=q["rho"]))):
        back = mix.properties(list(registry.collections[name].outputs), Y=state["Y"], **given)
        np.testing.assert_allclose(back["T"], 400.0, rtol=1e-10)
        assert back["unconverged"] == 0


def test_a_block_call_carries_its_start():
    """phases_from_e_rho from a host: ln_kappa and eta in place, 0 before the first call. The second call finds the same
    state in some three steps."""
    host = Host(ns=2, nq=7, mixture=None)
    host.frame.properties._use(mixture(SPRAY), "test")
    q, shape = results(SPRAY), (4, 3, 2)
    two = np.flatnonzero(q["phases_status"] == 1)[:24]
    e, rho = (np.asfortranarray(q[name][two].reshape(shape)) for name in ("e", "rho"))
    Y = np.asfortranarray(np.moveaxis(q["Y"][:, two].reshape(2, *shape), 0, -1))
    carried = {"ln_kappa": np.zeros((*shape, 2), order="F"), "eta": np.zeros(shape, order="F")}
    T = np.full(shape, 400.0, order="F")

    for steps in (1e9, 9):
        out = {name: np.full(shape, np.nan, order="F") for name in ("T", "p", "beta", "phases_steps")}
        fields = [whole(name, array, IN) for name, array in dict(e=e, rho=rho, Y=Y, T_start=T).items()]
        fields += [whole(name, array, INOUT) for name, array in carried.items()]
        fields += [whole(name, array, OUT) for name, array in out.items()]
        host.frame.block_of_fields("phases_from_e_rho", fields, (None,) * 4, (None,) * 4)

        np.testing.assert_allclose(out["T"].ravel(), q["T"][two], rtol=1e-9)
        np.testing.assert_allclose(out["p"].ravel(), q["p"][two], rtol=1e-6)
        np.testing.assert_allclose(out["beta"].ravel(), q["beta"][two], atol=1e-8)
        assert (out["phases_steps"] <= steps).all()
        T = out["T"]

    with pytest.raises(ArgumentError, match="ask for it, too .*frame_inout"):
        fields = [whole(name, array, IN) for name, array in dict(e=e, rho=rho, Y=Y, T_start=T, **carried).items()]
        host.frame.block_of_fields("phases_from_e_rho", [*fields, whole("p", out["p"], OUT)], (None,) * 4, (None,) * 4)
