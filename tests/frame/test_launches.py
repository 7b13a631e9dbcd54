"""Launches by name: inputs that are missing or stale, other mixtures, kernels of the host's own."""

import gc
import re
import resource
from pathlib import Path

import numpy as np
import pytest
from frame_host import MIXTURES, Host, asked, field, of_species, state
from hosts import OWN_KERNEL, ROOT, compiled, run

import kernels
from frame.errors import ArgumentError, BadNumber, StateError, UndeclaredError

EPS = np.finfo(float).eps


def test_unknown_names_come_with_the_list(host):
    with pytest.raises(ArgumentError, match="unknown kernel or collection 'thermic', did you mean 'thermal'"):
        host.launch("thermic")
    with pytest.raises(ArgumentError, match="unknown tag 'RHO', did you mean 'rho'"):
        host.put("RHO", field(1))
    with pytest.raises(ArgumentError, match="unknown tag 'temperature', did you mean 'T'"):
        host.put("temperature", field(1))


@pytest.mark.parametrize("n", [0, -1, 25, 2**30])
def test_n_active_outside_the_chunk(host, n):
    host.put("Q", state())
    with pytest.raises(BadNumber, match=rf"nActive = {n}, wanted 1..24 "):
        host.launch("thermal", n)


def test_nothing_populated(host):
    with pytest.raises(StateError, match="'thermal' has no inputs yet: populate"):
        host.launch("thermal")


def test_missing_inputs_are_all_named(host):
    host.put("mu", field(1))

    with pytest.raises(StateError) as error:
        host.launch("thermal")
    assert (
        "'T' was never filled" in str(error.value)
        and "'p' was never" in str(error.value)
        and "'Y' was never" in str(error.value)
    )


def test_what_makes_a_missing_input_is_named():
    host = Host(nq=1)
    host.put("T", field(300))
    host.put("p", field(1e7))
    host.put("Y", field(1))

    with pytest.raises(StateError, match="'rho' was never filled: populate it or launch 'thermal'"):
        host.launch("viscous")


def test_an_input_of_another_stripe_is_stale(host):
    Q = state(shape=(8, 3, 2))
    host.put("Q", Q, 1, 24)
    host.launch("thermal")
    host.put("T", np.ascontiguousarray(Q[..., 4]).reshape(8, 3, 2).copy(order="F"), 25, 48)

    with pytest.raises(StateError, match="'p' holds another block's points .'T' has been filled from another array"):
        host.launch("thermal")

    host.put("Q", Q, 25, 48)
    host.launch("thermal")


def test_more_points_than_populated(host):
    host.put("Q", state(), 1, 10)
    with pytest.raises(StateError, match="holds 10 points, 24 wanted"):
        host.launch("thermal", 24)
    host.launch("thermal", 10)


def test_populating_an_input_makes_what_came_from_it_stale(host):
    u, T = field(3.0), field(300.0)
    host.put("Q", state())
    host.put("u", u)
    host.put("T", T)
    host.launch("thermal")
    out = host.get("rho", field(np.nan))
    u[...] = 7.0
    host.put("u", u)  # h0 depends on u, rho does not

    np.testing.assert_array_equal(host.get("rho", field(np.nan)), out)

    with pytest.raises(StateError, match="'h0' is stale: 'u' was changed after 'thermal' computed it"):
        host.get("h0", field(0))

    T[...] = 400.0
    host.put("T", T)

    for action in (lambda: host.get("rho", field(0)), lambda: host.launch("viscous")):
        with pytest.raises(StateError, match="'rho'.* is stale: 'T' was changed"):
            action()

    host.launch("thermal")

    assert (host.get("rho", field(np.nan)) < out).all()


def test_staleness_goes_through_a_chain(host):
    host.put("Q", state())
    host.launch("thermal")
    host.launch("viscous")
    host.put("p", field(2e7))  # mu depends on rho, and rho on p

    with pytest.raises(StateError, match="'mu' is stale"):
        host.get("mu", field(0))


def test_output_that_was_never_computed(host):
    host.put("Q", state())

    with pytest.raises(StateError, match="'rho' was never filled: populate it or launch 'thermal'"):
        host.get("rho", field(0))

    host.launch("thermal", 20)

    with pytest.raises(StateError, match="'rho' is stale|holds 20 points"):
        host.get("rho", field(0), 1, 24)


def test_wrong_number_of_variables(host):
    with pytest.raises(ArgumentError, match="'Q' has 6 variables, 5 given"):
        host.put("Q", state()[..., :5].copy(order="F"))
    with pytest.raises(ArgumentError, match="'T' has 1 variable, 6 given"):
        host.put("T", state())

    host.put("Q", state())
    host.launch("thermal")

    with pytest.raises(ArgumentError, match="'rho' has 1 variable, 6 given"):
        host.get("rho", state())


@pytest.mark.usefixtures("registry")
def test_in_out_start_value():
    host = Host(nq=1, mixture=None)
    host.frame.register_kernel(str(OWN_KERNEL))
    rho = field(1.2)  # kept: an array at another address would be another block
    T = 250 + np.arange(24.0).reshape((4, 3, 2), order="F") * 9
    host.put("rho", rho)
    host.put("e", np.asfortranarray(T * (690 + 0.045 * T)))
    host.put("T", field(300.0))
    host.launch("air_ideal_gas")

    # 4 rounded operations in e, 4 in the last Newton step, condition 1: 16 eps
    np.testing.assert_allclose(host.get("T", field(np.nan)), T, rtol=16 * np.finfo(float).eps)

    host.launch("air_ideal_gas")  # its own result is the start value
    rho[...] = 1.3
    host.put("rho", rho)

    with pytest.raises(StateError, match="'T' is stale: 'rho' was changed after 'air_ideal_gas'"):
        host.get("T", field(0))


@pytest.mark.parametrize("file", ["", "none.py", "x" * 1000, "a\0b", "/dev/zero"])
def test_no_file_of_kernels(host, file):
    with pytest.raises(ArgumentError, match="no kernel declaration file '/"):
        host.frame.register_kernel(file)


@pytest.mark.usefixtures("registry")
def test_a_hosts_own_update_in_place_stays_out_of_what_others_ask():
    """air_ideal_gas also makes p, from rho, e and a start value of T that it overwrites."""
    kernels.load_declarations(OWN_KERNEL)
    mix = kernels.Mixture.from_yaml(str(MIXTURES / "ch4_o2.yaml"))

    assert "air_ideal_gas" not in mix.program(("p",), ("rho", "e", "T", "Y")).kernels
    assert mix.program(("p", "T"), ("rho", "e", "T")).kernels == ("air_ideal_gas",)
    with pytest.raises(ArgumentError, match=r"missing (T \[K\] \(or|rho_k)"):  # rho_k: with the mini-solver
        mix.program(("rho",), ("p", "Y"))


def test_a_kernel_that_needs_a_mixture_before_there_is_one():
    host = Host(mixture=None)
    host.put("Q", state())
    with pytest.raises(StateError, match="before a mixture: call frame_loadmixture"):
        host.launch("thermal")


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("mixture", [None, "n2"])
def test_a_constant_that_nobody_declares(mixture, tmp_path):
    """No mixture would have it: the message names the constant that is most like it, and no call of a mixture."""
    (tmp_path / "own.h").write_text(
        "template <class M, class R> POINT_FN void own_viscosity(const M &m, const R T, R &mu) { mu = m.MUO * T; }\n"
    )
    (tmp_path / "own.py").write_text(
        "from kernels import constant, point_kernel\n"
        "constant('MU0', 'Pa s/K', '-', 1.0)\n"
        "point_kernel('own_viscosity', header='own.h', reads='T', writes='mu', constants='MUO', source='', valid='')\n"
    )
    host = Host(nq=1, mixture=mixture)
    host.frame.register_kernel(str(tmp_path / "own.py"))
    host.put("T", field(300))

    with pytest.raises(UndeclaredError, match="reads the constant 'MUO', which nobody declares, did you mean 'MU0'"):
        host.launch("own_viscosity")


def test_another_mixture_makes_results_stale(host):
    host.put("Q", state())
    host.launch("thermal")
    host.frame.load_mixture(str(MIXTURES / "n2.yaml"), "")

    with pytest.raises(StateError, match="'rho' is stale: 'thermal' computed it for the mixture before"):
        host.get("rho", field(0))

    host.launch("thermal")  # the species are the same


def test_another_order_of_species_makes_mass_fractions_stale(tmp_path):
    """T and p keep their meaning; Y, put by itself or in Q, does not."""
    text = (MIXTURES / "ch4_o2.yaml").read_text()
    order = re.search(r"species: \[(.*)\]", text)
    turned = tmp_path / "turned.yaml"
    turned.write_text(text.replace(order.group(1), ", ".join(order.group(1).split(", ")[::-1])))

    for nq, put in ((1, ["T", "p", "Y"]), (14, ["Q"]), (15, ["Q"])):
        host = Host(ns=10, nq=nq, mixture="ch4_o2")
        Q = state(10)[..., : max(nq, 14)]
        values = dict(T=field(300.0), p=field(1e7), Y=of_species(0.1), Q=Q.copy(order="F"))

        for name in put:
            host.put(name, values[name])

        host.launch("thermal")
        host.frame.load_mixture(str(turned), "")

        with pytest.raises(StateError, match="'Y' is stale: it holds values for the species of the mixture before"):
            host.launch("thermal")

        host.put(put[-1], values[put[-1]])
        host.launch("thermal")
        host.get("rho", field(0))


def test_mixtures_in_turn_have_their_own_numbers(tmp_path):
    """Two orders of species, loaded in turn, also after finalize: the bits of each are those of its first load. Species
    in the other order are the same gas, within 100 eps of the largest rate."""
    straight = ROOT / "examples" / "mechanisms" / "h2_o2.yaml"
    order = "H2, O2, H2O, OH, H, O, HO2, H2O2, N2"
    turned = tmp_path / "turned.yaml"
    turned.write_text(straight.read_text().replace(order, ", ".join(order.split(", ")[::-1])))
    host = Host(ns=9, nq=1, chunk=7, mixture=None, equation="ideal")

    Y = np.asfortranarray(np.random.default_rng(4).dirichlet(np.ones(9), (4, 3, 2)))
    inputs = dict(T=field(1500), p=field(1e6))

    def results(file, Y):
        host.frame.load_mixture(str(file), "")
        rho, omega = field(np.nan), np.full_like(Y, np.nan)
        asked(host, "thermal", inputs | {"Y": Y}, rho=rho)
        asked(host, "kinetics", inputs | {"rho": rho, "Y": Y}, omega=omega)
        return rho, omega

    first = {file: results(file, Y) for file in (straight, turned)}
    assert (first[straight][0] != first[turned][0]).any()

    rho, omega = results(turned, np.asfortranarray(Y[..., ::-1]))
    np.testing.assert_allclose(rho, first[straight][0], rtol=4 * EPS)
    np.testing.assert_allclose(omega[..., ::-1], first[straight][1], rtol=0, atol=100 * EPS * np.abs(omega).max())

    host.frame.finalize()
    host.frame.set_option("backend", "cpu")
    host.frame.set_option("equation", "ideal")
    host.frame.initialize(-1, 7, 9, 1, 0)
    for file in (turned, straight, turned):
        for one, other in zip(results(file, Y), first[file]):
            np.testing.assert_array_equal(one, other)


def test_mixtures_that_come_and_go_in_a_fortran_host(tmp_path):
    """As above, by the module, with single precision between two starts: 4 eps, 100 eps, and float's rounding, 1e-7 a
    step of some ten."""
    straight = ROOT / "examples" / "mechanisms" / "h2_o2.yaml"
    order = "H2, O2, H2O, OH, H, O, HO2, H2O2, N2"
    turned = tmp_path / "turned.yaml"
    turned.write_text(straight.read_text().replace(order, ", ".join(order.split(", ")[::-1])))

    done = run(compiled("reload.f90"), straight, turned)
    assert done.returncode == 0, done.stdout + done.stderr
    got = dict(line.split(": ") for line in done.stdout.splitlines())

    for law in ("another order changes", "reloads", "another start", "double again"):
        assert got[law] == "0", law

    rho, omega = map(float, got["turned round"].split())
    assert rho <= 4 * EPS and omega <= 100 * EPS
    assert 1e-9 < float(got["single precision"]) < 1e-6


def test_mixtures_that_come_and_go_leave_no_memory():
    """A library is loaded once: each load kept 7.5 KB. Python's own memory varies by some 100 KB."""
    host = Host(ns=1, chunk=8)

    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    def change(times):
        for _ in range(times):
            host.frame.load_mixture(str(MIXTURES / "n2.yaml"), "")
            host.frame.properties.impl.launcher("rho_h_from_T_p")

        gc.collect()
        return resident(), len(Path("/proc/self/maps").read_text().splitlines())

    before, mapped = change(30)
    grown = []

    for _ in range(3):  # what leaks does so each time
        after, mapped_after = change(50)
        grown.append(after - before)
        before = after

    assert mapped_after <= mapped + 2 and min(grown) < 50 * 4000
