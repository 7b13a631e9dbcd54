"""Views: Q and the views that are rows of Q, the last mass fraction, points without a number."""

import numpy as np
import pytest
from frame_host import BACKENDS, MIXTURES, Host, asked, field, of_species, several, state

import kernels
from frame.errors import ArgumentError, StateError


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("extra", [5, 6])
def test_q_and_its_rows_are_one_memory(backend, extra):
    host = Host(ns=1, nq=1 + extra, backend=backend)
    Q = np.asfortranarray(np.random.default_rng(1).random((4, 3, 2, 1 + extra)))
    host.put("Q", Q)

    for row, name in enumerate(("p", "u", "v", "w", "T", "Y")):
        np.testing.assert_array_equal(host.get(name, field(np.nan)), Q[..., row])

    host.put("T", field(77.0))
    Q[..., 4] = 77

    np.testing.assert_array_equal(host.get("Q", np.zeros_like(Q)), Q)


def test_q_from_its_parts_alone():
    host = Host()
    for name, value in (("p", 1e7), ("u", 1), ("v", 2), ("w", 3), ("T", 300)):
        host.put(name, field(value))

    with pytest.raises(StateError, match="'Q' cannot be used: its 'Y' was never filled"):
        host.get("Q", state())

    host.put("Y", field(1))

    assert host.get("Q", state())[0, 0, 0].tolist() == [1e7, 1, 2, 3, 300, 1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_last_mass_fraction(backend):
    ns = kernels.Mixture.from_yaml(MIXTURES / "h2_o2.yaml").ns
    host = Host(ns=ns, nq=ns + 4, mixture="h2_o2", backend=backend)
    rng = np.random.default_rng(2)
    Q = np.asfortranarray(rng.random((4, 3, 2, ns + 4)) / ns)
    host.put("Q", Q)
    wanted = np.ones((4, 3, 2))

    for s in range(ns - 1):
        wanted -= Q[..., 5 + s]  # species by species, as the layer does it: equal to the bit

    Y = host.get("Y", np.zeros((4, 3, 2, ns), order="F"))

    np.testing.assert_array_equal(Y[..., :-1], Q[..., 5:])
    np.testing.assert_array_equal(Y[..., -1], wanted)
    np.testing.assert_array_equal(host.get("Q", np.zeros_like(Q)), Q)

    other = np.asfortranarray(rng.random((4, 3, 2, ns - 1)) / ns)
    host.put("Y", other)  # the same for the view Y

    assert np.abs(host.get("Y", Y).sum(axis=-1) - 1).max() < ns * np.finfo(float).eps


def test_one_species_less_has_to_be_said():
    """ns - 1 mass fractions: refused, unless the host has said that the last one is 1 less their sum: by an option, or
    by nq = ns + 4."""
    nine = of_species(0.0)[..., :9]
    nine[..., 0], nine[..., 1] = 0.2, 0.7
    whole_Y = np.concatenate([nine, np.full((4, 3, 2, 1), 0.1)], axis=-1)
    inputs = dict(T=field(300), p=field(1e7))
    host = Host(ns=10, nq=15, mixture="ch4_o2")

    for call in (
        lambda: asked(host, "thermal", inputs | dict(Y=nine), rho=field(np.nan)),
        lambda: host.put("Y", np.asfortranarray(nine)),
    ):
        with pytest.raises(ArgumentError, match=r"'Y' has .*frame_setoption\('last_species', 'sum'\) before"):
            call()

    wanted = field(np.nan)
    asked(host, "thermal", inputs | dict(Y=whole_Y), rho=wanted)

    for nq, options in ((15, dict(last_species="sum")), (14, {})):
        host, rho = Host(ns=10, nq=nq, mixture="ch4_o2", **options), field(np.nan)
        asked(host, "thermal", inputs | dict(Y=nine), rho=rho)
        np.testing.assert_allclose(rho, wanted, rtol=100 * np.finfo(float).eps)  # 0.1 from a sum: 2 eps, condition < 10

    with pytest.raises(StateError, match="has to be set before frame_initialize"):
        host.frame.set_option("last_species", "given")

    host.frame.set_parameter("check", 1)

    with pytest.raises(StateError, match=r"'Y' \(variable 10\) = -0.[78].*, 1 less the sum of the species given"):
        asked(host, "thermal", inputs | dict(Y=2 * nine), rho=rho)


def test_a_small_q_is_a_plain_view():
    host = Host(ns=1, nq=3)
    Q = np.asfortranarray(np.arange(72.0).reshape(4, 3, 2, 3))
    host.put("Q", Q)

    np.testing.assert_array_equal(host.get("Q", np.zeros_like(Q)), Q)
    with pytest.raises(StateError, match="'T' was never filled"):
        host.get("T", field(0))


def test_changing_block_sizes_reallocates_nothing(host):
    host.put("Q", state())
    host.launch("thermal")
    before = {name: id(view.matrix) for name, view in host.impl.views.items()}
    runs = {name: id(launcher.run) for name, launcher in host.impl.launchers.items()}

    for shape in ((2, 2, 2), (24, 1, 1), (1, 1, 1), (9, 7, 5)):
        host.put("Q", state(shape=shape))
        host.launch("thermal", min(24, int(np.prod(shape))))
        host.get("rho", field(0, shape))

    assert before == {name: id(view.matrix) for name, view in host.impl.views.items()}
    assert runs == {name: id(launcher.run) for name, launcher in host.impl.launchers.items()}


@pytest.mark.parametrize("model", [0, 1, 7, -3])
def test_eddy_viscosity(model, registry):
    """Any number of a turbulence model: the effective transport properties after thermal_viscous, by their definition,
    with the constants' defaults and with the host's."""
    host, muT = Host(turbulent=model, nq=1), 3e-5
    several(host, muT=field(muT), T=field(300), p=field(1e7), Y=field(1))
    host.launch("thermal_viscous")
    mu, lam, cp = (host.get(name, field(0)) for name in ("mu", "lam", "cp"))

    for prandtl in (0.9, 0.5):
        kernels.set_constant("Pr_t", prandtl)
        host.launch("effective_transport")
        np.testing.assert_allclose(host.get("mu_eff", field(0)), mu + muT, rtol=2.3e-16)  # one rounding
        np.testing.assert_allclose(
            host.get("lam_eff", field(0)), lam + cp * muT / prandtl, rtol=9e-16
        )  # four roundings

    kernels.set_constant("Pr_t", 0.9)


@pytest.mark.parametrize("backend", BACKENDS)
def test_not_a_number_flows_through_and_stays_at_its_point(backend):
    host = Host(backend=backend)
    Q = state()
    clean = host.put("Q", Q) or host.launch("thermal") or host.get("rho", field(0))
    Q[1, 1, 1, 4], Q[2, 0, 0, 4], Q[3, 2, 0, 5] = np.nan, -5.0, 0.5
    host.put("Q", Q)
    host.launch("thermal")
    rho = host.get("rho", field(0))
    bad = np.zeros((4, 3, 2), bool)
    bad[1, 1, 1] = bad[2, 0, 0] = bad[3, 2, 0] = True

    assert np.isnan(rho[bad]).all()
    np.testing.assert_array_equal(rho[~bad], clean[~bad])
