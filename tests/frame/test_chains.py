"""Launches that overwrite the inputs of earlier launches."""

import gc

import numpy as np
import pytest
from frame_host import MIXTURES, Host, field, several, state

import kernels
from frame.errors import StateError
from frame.impl.staleness import Filling

COLLECTIONS = kernels.registry.collections
CHAIN_STATE = dict(T=320.0, p=9e6, u=30.0, v=-4.0, w=2.0)
# collections that need no more than T, p, Y and what other collections make; sources come first
FORWARD = ("thermal", "thermal_viscous", "rho_h_from_T_p", "rho_h0_from_T_p", "gamma_jacobian_properties")
INVERSE = ("T_from_h_p", "T_from_s_p", "T_from_e_rho", "T_from_p_rho", "p_from_rho_T", "phase_flag_from_rho_T")
OTHERS = ("viscous", "critical_state_of_mixture", "phase_flag_from_T_p", "sound_speed_from_slopes")
CHAINED = (*FORWARD, *INVERSE, *OTHERS)


@pytest.fixture(scope="module")
def chain_values():
    """Every input and output of the collections at one state, each by a call of its own."""
    mix = kernels.Mixture.from_yaml(str(MIXTURES / "n2.yaml"))
    wanted = {q for name in CHAINED for q in (*COLLECTIONS[name].given, *COLLECTIONS[name].outputs)}
    given = {**CHAIN_STATE, "Y": np.ones((1, 1))}
    names = sorted(wanted - {*given, "unconverged"})

    return {**given, **mix.properties(names, **given), "unconverged": np.zeros(1)}


@pytest.mark.parametrize("first", CHAINED)
def test_every_chain_of_two_collections(first, chain_values):
    """B reads what A wrote and what the host has put, on one stripe: no refusal, and the results have the values of
    separate calls. Results of A that B did not overwrite, and whose inputs it did not, remain; its inputs too."""
    host = Host(nq=1)

    for second in CHAINED:
        host.impl.staleness.empty()
        a, b = COLLECTIONS[first], COLLECTIONS[second]
        put = [q for q in dict.fromkeys((*a.given, *b.given)) if q in a.given or q not in a.outputs]

        for name in put:
            host.put(name, field(np.ravel(chain_values[name])[0]))

        host.launch(first)
        host.launch(second)
        overwritten = {*b.outputs} & {*a.given}
        left = set(a.outputs) if not overwritten else set(a.outputs) & set(b.given)

        for name in sorted({*b.outputs, *b.given, *left}):
            values = np.ravel(chain_values[name])
            if name == "D":
                continue  # of one species: 0/0 is left to its own tests
            # an inversion stops at 1e-12 of T; heat capacities near the critical point magnify that tenfold
            scale = max(abs(values[0]), 1e-300)
            np.testing.assert_allclose(host.get(name, field(np.nan)) / scale, values[0] / scale, rtol=0, atol=1e-9)

        host.launch(second)  # again, on what it left


def test_a_new_input_after_a_chain_makes_both_ends_stale():
    host, p = Host(nq=1), field(1e7)
    several(host, T=field(300), p=p, Y=field(1))
    host.launch("rho_h_from_T_p")
    host.launch("T_from_h_p")

    with pytest.raises(StateError, match="'rho' is stale: 'T' was changed after 'rho_h_from_T_p' computed it"):
        host.get("rho", field(0))

    host.get("h", field(0))
    host.get("T", field(0))
    p[...] = 2e7
    host.put("p", p)

    for name in ("h", "T"):
        with pytest.raises(StateError, match=f"'{name}' is stale: 'p' was changed"):
            host.get(name, field(0))


def test_steps_without_a_put_keep_no_history(host):
    host.put("Q", state())
    gc.collect()
    before = sum(isinstance(o, Filling) for o in gc.get_objects())
    for _ in range(20):
        host.launch("rho_h_from_T_p")
        host.launch("T_from_h_p")

    gc.collect()

    assert sum(isinstance(o, Filling) for o in gc.get_objects()) <= before + 4
