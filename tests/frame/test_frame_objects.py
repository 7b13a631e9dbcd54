"""Frame, TVProperties, TVImpl from Python: the record of filled and stale views, Q and its rows, check mode, timers,
life cycle."""

import gc
import re
import resource
import sys
from pathlib import Path

import numpy as np
import pytest
from hosts import OWN_KERNEL, ROOT

import kernels
from frame.config import Config
from frame.devices.spread import device_for, numa_node, spread
from frame.errors import ArgumentError, BackendError, FrameError, MixtureError, StateError, status_of, text_of
from frame.frame import Frame
from frame.impl.staleness import Filling
from frame.report import table
from frame.stripe import IN, INOUT, Field

MIXTURES = ROOT / "examples" / "mixtures"
COLLECTIONS = kernels.registry.collections
BACKENDS = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


class Host:
    """A frame and the calls of a host in the old style, for contiguous arrays (nx, ny, nz[, variables]) without
    fringe."""

    def __init__(self, ns=1, nq=6, chunk=24, mixture="n2", backend="cpu", turbulent=0, **options):
        self.frame = Frame()
        self.frame.set_option("backend", backend)
        for name, value in options.items():
            self.frame.set_option(name, value)
        self.frame.initialize(-1, chunk, ns, nq, turbulent)
        if mixture:
            self.frame.load_mixture(str(MIXTURES / f"{mixture}.yaml"), "")
        self.impl = self.frame.properties.impl

    def _arguments(self, array, first, last):
        nx, ny, nz, variables = (*array.shape, 1)[:4]
        return (
            array.ctypes.data,
            nx,
            ny,
            nz,
            1,
            nx,
            1,
            ny,
            1,
            nz,
            1,
            variables,
            first,
            last or min(nx * ny * nz, self.impl.chunk),
        )

    def put(self, tag, array, first=1, last=0):
        assert array.flags.f_contiguous
        self.frame.populate_input(tag, *self._arguments(array, first, last))

    def get(self, tag, array, first=1, last=0):
        self.frame.populate_output(tag, *self._arguments(array, first, last))
        return array

    def launch(self, tag, n=24):
        self.frame.launch(tag, n)


def field(value, shape=(4, 3, 2)):
    return np.full(shape, float(value), order="F")


def state(ns=1, extra=5, T=300.0, shape=(4, 3, 2)):
    """Q of a pure or evenly mixed gas at 10 MPa."""
    Q = np.zeros((*shape, ns + extra), order="F")
    Q[..., 0], Q[..., 1], Q[..., 4], Q[..., 5 : 5 + ns] = 1e7, 30.0, T, 1 / ns
    return Q


@pytest.fixture
def host():
    return Host()


# ---- safe_launch --------------------------------------------------------------------------------------------------


def test_unknown_names_come_with_the_list(host):
    with pytest.raises(ArgumentError, match="unknown kernel or collection 'thermic', did you mean 'thermal'"):
        host.launch("thermic")
    with pytest.raises(ArgumentError, match="unknown tag 'RHO', did you mean 'rho'"):
        host.put("RHO", field(1))


@pytest.mark.parametrize("n", [0, -1, 25, 2**30])
def test_n_active_outside_the_chunk(host, n):
    host.put("Q", state())
    with pytest.raises(ArgumentError, match=rf"nActive = {n}, wanted 1..24 .*%VAL"):
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
    host.put("T", field(300)), host.put("p", field(1e7)), host.put("Y", field(1))
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
    host.put("Q", state()), host.put("u", u), host.put("T", T)
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
    host.launch("thermal"), host.launch("viscous")
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
    host.put("Q", state()), host.launch("thermal")
    with pytest.raises(ArgumentError, match="'rho' has 1 variable, 6 given"):
        host.get("rho", state())


def test_in_out_start_value():
    host = Host(nq=1, mixture=None)
    host.frame.register_kernel(str(OWN_KERNEL))
    T = 250 + np.arange(24.0).reshape((4, 3, 2), order="F") * 9
    host.put("rho", field(1.2)), host.put("e", np.asfortranarray(T * (690 + 0.045 * T))), host.put("T", field(300.0))
    host.launch("air_ideal_gas")
    # 4 rounded operations in e, 4 in the last Newton step, condition 1: 16 eps
    np.testing.assert_allclose(host.get("T", field(np.nan)), T, rtol=16 * np.finfo(float).eps)
    host.launch("air_ideal_gas")  # its own result is the start value
    host.put("rho", field(1.3))
    with pytest.raises(StateError, match="'T' is stale: 'rho' was changed after 'air_ideal_gas'"):
        host.get("T", field(0))


@pytest.mark.parametrize("file", ["", "none.py", "x" * 1000, "a\0b", "/dev/zero"])
def test_no_file_of_kernels(host, file):
    with pytest.raises(ArgumentError, match="no kernel declaration file '/"):
        host.frame.register_kernel(file)


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
    with pytest.raises(StateError, match="before a mixture: call frame_tvproperties_loadmixture"):
        host.launch("thermal")


def test_another_mixture_makes_results_stale(host):
    host.put("Q", state()), host.launch("thermal")
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


# ---- chains: a launch that overwrites what another launch's results came from ---------------------------------------

CHAIN_STATE = dict(T=320.0, p=9e6, u=30.0, v=-4.0, w=2.0)
# collections that need no more than T, p, Y and what other collections make; sources come first
FORWARD = ("thermal", "thermal_viscous", "rho_h_from_T_p", "rho_h0_from_T_p", "gamma_jacobian_properties")
INVERSE = ("T_from_h_p", "T_from_s_p", "T_from_e_rho", "p_from_rho_T", "phase_flag_from_rho_T")
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
        host.launch(first), host.launch(second)
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
    host.launch("rho_h_from_T_p"), host.launch("T_from_h_p")
    with pytest.raises(StateError, match="'rho' is stale: 'T' was changed after 'rho_h_from_T_p' computed it"):
        host.get("rho", field(0))
    host.get("h", field(0)), host.get("T", field(0))
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
        host.launch("rho_h_from_T_p"), host.launch("T_from_h_p")
    gc.collect()
    assert sum(isinstance(o, Filling) for o in gc.get_objects()) <= before + 4


# ---- blocks and threads -------------------------------------------------------------------------------------------


def several(host, **fields):
    for tag, value in fields.items():
        host.put(tag, value)


def test_another_array_begins_another_block():
    host = Host(nq=1)
    T, p, Y, other = field(300), field(1e7), field(1), field(310)
    several(host, T=T, p=p, Y=Y), host.launch("thermal")
    T[...] = 305
    host.put("T", T), host.launch("thermal")  # the same array: the same block
    host.put("p", other)  # by mistake, or of another block
    with pytest.raises(StateError, match="'T' holds another block's points .'p' has been filled from another array"):
        host.launch("thermal")
    with pytest.raises(StateError, match="'rho' is stale: 'thermal' computed it for another block .'p' has been"):
        host.get("rho", field(0))
    several(host, Y=Y, T=T)  # what several blocks share is named for each
    host.launch("thermal")
    host.put("T", T, 1, 12)  # other points of the same array
    with pytest.raises(StateError, match="'p' is stale: it holds stripe 1..24, wanted 1..12"):
        host.launch("thermal", 12)


def test_other_bounds_are_another_block():
    host = Host(nq=1)
    T, p, Y = field(300, (6, 3, 2)), field(1e7, (6, 3, 2)), field(1, (6, 3, 2))
    for lo, hi in ((1, 4), (3, 6)):
        for tag, a in (("T", T), ("p", p), ("Y", Y)):
            host.frame.populate_input(tag, a.ctypes.data, 6, 3, 2, lo, hi, 1, 3, 1, 2, 1, 1, 1, 24)
        host.launch("thermal")
    host.frame.populate_input("T", T.ctypes.data, 6, 3, 2, 1, 4, 1, 3, 1, 2, 1, 1, 1, 24)
    with pytest.raises(StateError, match="'p' holds another block's points"):
        host.launch("thermal")


def test_arrays_of_a_block_have_their_own_geometry():
    """T with a fringe, p without: only the points that are selected count."""
    host = Host(nq=1)
    T = field(300, (6, 5, 4))
    for _ in range(2):
        host.frame.populate_input("T", T.ctypes.data, 6, 5, 4, 2, 5, 2, 4, 2, 3, 1, 1, 1, 24)
        several(host, p=(p := field(1e7)), Y=(Y := field(1)))
        host.launch("thermal")
    assert (host.get("rho", field(0)) > 0).all() and p is not Y


def test_what_no_launch_used_may_come_first_or_from_two_arrays():
    host = Host(nq=1, turbulent=1)
    blocks = [dict(muT=field(3e-5), T=field(300 + 10 * b), p=field(1e7), Y=field(1)) for b in range(2)]
    for block in blocks:  # nothing reads muT: T begins the second block, and muT was filled for it already
        several(host, **block), host.launch("thermal")
        np.testing.assert_array_equal(host.get("muT", field(0)), block["muT"])
    again = blocks[0]["T"].copy(order="F")
    several(host, **blocks[0])
    host.put("T", again)  # no launch since: a better start value of the same block
    host.launch("thermal")


def test_a_row_of_q_may_have_an_array_of_its_own(host):
    Q, T = state(), [field(310), field(320)]
    host.put("Q", Q), host.put("T", T[0]), host.launch("thermal")
    T[0][...] = 315
    host.put("T", T[0]), host.launch("thermal")  # T of Newton's iteration
    host.put("T", T[1])
    with pytest.raises(StateError, match="'p' holds another block's points .'T' has been filled from another array"):
        host.launch("thermal")
    host.put("Q", Q), host.launch("thermal")
    host.put("T", T[1])  # of another block, as far as anyone can tell: Q's own T was used
    with pytest.raises(StateError, match="'p' holds another block's points"):
        host.launch("thermal")


def test_optional_inputs_of_another_block_are_not_used():
    host = Host(nq=1)
    one = dict(T=field(300), p=field(1e7), Y=field(1))
    several(host, **one, u=field(30), v=field(0), w=field(0)), host.launch("thermal")
    assert (host.get("h0", field(0)) != 0).all()
    several(host, **{tag: a.copy(order="F") for tag, a in one.items()}), host.launch("thermal")
    with pytest.raises(StateError, match="'h0' is stale: 'thermal' computed it for another block"):
        host.get("h0", field(0))


def test_a_block_call_takes_no_input_of_an_earlier_call():
    host = Host(nq=1)
    several(host, T=field(300), p=field(1e7), Y=field(1))
    with pytest.raises(StateError, match="'thermal' cannot run: 'p' was never filled"):
        asked(host, "thermal", {"T": field(300), "Y": field(1)}, rho=field(0))


def test_python_threads_have_their_own_views(host):
    """Programs are compiled once; mixture, timers and check mode are everyone's."""
    import gc
    import threading

    host.frame.set_parameter("timers", 1)
    host.put("Q", state()), host.launch("thermal")
    told, sets = [], []

    def work(T):
        impl = host.frame.properties.impl
        sets.append(id(impl))
        with pytest.raises(StateError, match="'rho' was never filled by this thread, another thread filled its own"):
            host.get("rho", field(0))
        host.put("Q", state(T=T)), host.launch("thermal")
        told.append((T, host.get("rho", field(0))[0, 0, 0], next(iter(impl.launchers.values())).program))

    threads = [threading.Thread(target=work, args=(T,)) for T in (400.0, 500.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 2 and {id(program) for *_, program in told} == {
        id(launcher.program) for launcher in host.impl.launchers.values()
    }
    rho = {T: value for T, value, _ in told} | {300.0: host.get("rho", field(0))[0, 0, 0]}
    assert rho[300.0] > rho[400.0] > rho[500.0] and id(host.impl) not in sets
    assert host.impl.timers["thermal"].calls == 3
    told.clear(), gc.collect()
    assert list(host.impl.threads) == [host.impl]  # theirs went with them


# ---- views and Q --------------------------------------------------------------------------------------------------


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
    host.put("Q", state()), host.launch("thermal")
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
    host.put("Q", Q), host.launch("thermal")
    rho = host.get("rho", field(0))
    bad = np.zeros((4, 3, 2), bool)
    bad[1, 1, 1] = bad[2, 0, 0] = bad[3, 2, 0] = True
    assert np.isnan(rho[bad]).all()
    np.testing.assert_array_equal(rho[~bad], clean[~bad])


# ---- block calls --------------------------------------------------------------------------------------------------


def test_block_call_is_the_chunk_loop():
    host = Host(chunk=7)
    Q, shape = state(shape=(6, 5, 4)), (6, 5, 4)
    Q[..., 4] += np.arange(120).reshape(shape)
    names = [*kernels.collections["thermal"].outputs, "h0"]  # all outputs: another set of them is another program
    wanted = {name: field(0, shape) for name in names}
    for first in range(1, 121, 7):
        last = min(first + 6, 120)
        host.put("Q", Q, first, last), host.launch("thermal", last - first + 1)
        for name in names:
            host.get(name, wanted[name], first, last)
    all_of_it = np.zeros((*shape, len(names) + 1), order="F")
    place = (*shape, 1, 6, 1, 5, 1, 4)
    host.frame.block("thermal", "Q", Q.ctypes.data, ", ".join(names), all_of_it.ctypes.data, *place, 6, len(names) + 1)
    for row, name in enumerate(names):
        np.testing.assert_array_equal(all_of_it[..., row], wanted[name], err_msg=name)
    assert (all_of_it[..., -1] == 0).all()
    out = np.zeros((*shape, 3), order="F")
    with pytest.raises(ArgumentError, match="outTags: 'rho,c,h,e' needs at least 4 variables, the array has 3"):
        host.frame.block("thermal", "Q", Q.ctypes.data, "rho,c,h,e", out.ctypes.data, *shape, 1, 6, 1, 5, 1, 4, 6, 3)
    with pytest.raises(ArgumentError, match="SptX"):
        host.frame.block("thermal", "Q", Q.ctypes.data, "rho", out.ctypes.data, *shape, 1, 7, 1, 5, 1, 4, 6, 3)


def test_a_failed_block_call_leaves_nothing_behind():
    """The stripes of its chunks do not count as stripes of the host, even when it stops half-way."""
    host = Host(chunk=7)
    Q, shape = state(shape=(6, 5, 4)), (6, 5, 4)
    Q[3, 1, 0, 4] = np.nan  # the tenth point, in the second chunk
    out = field(0, shape)
    host.frame.set_parameter("check", 1)
    with pytest.raises(StateError, match=r"'T' = nan K at point \(i, j, k\) = \(4, 2, 1\)"):
        host.frame.block("thermal", "Q", Q.ctypes.data, "rho", out.ctypes.data, *shape, 1, 6, 1, 5, 1, 4, 6, 1)
    assert (out.ravel(order="F")[:7] > 0).all() and (out.ravel(order="F")[7:] == 0).all()
    with pytest.raises(StateError, match="no inputs yet"):
        host.launch("thermal", 7)
    with pytest.raises(StateError, match="'rho' was never filled"):
        host.get("rho", out, 1, 7)


def test_block_call_without_points_still_names_what_is_wrong():
    host = Host(chunk=7)
    Q, out, shape = state(shape=(6, 5, 4)), np.full((6, 5, 4, 3), -1.0, order="F"), (6, 5, 4)
    none = (4, 3, 1, 5, 1, 4, 6, 3)
    host.frame.block("thermal", "Q", Q.ctypes.data, "rho, c", out.ctypes.data, *shape, *none)
    assert (out == -1).all() and not host.impl.launchers
    with pytest.raises(ArgumentError, match="unknown kernel or collection 'thermall'.*did you mean 'thermal'"):
        host.frame.block("thermall", "Q", Q.ctypes.data, "rho, c", out.ctypes.data, *shape, *none)
    with pytest.raises(ArgumentError, match="rhoo"):
        host.frame.block("thermal", "Q", Q.ctypes.data, "rhoo", out.ctypes.data, *shape, *none)


def whole(name, array, way):
    """An array as the Fortran module describes it. way: also whether it is an output."""
    return Field(name, int(way), array.ctypes.data, array.shape, array.strides, (1,) * array.ndim, 8)


def asked(host, collection, inputs, **outputs):
    """A block call in the new style; inputs and outputs by name, arrays (4, 3, 2[, ns])."""
    fields = [
        whole(name, array, name in outputs and array is outputs[name])
        for name, array in (*inputs.items(), *outputs.items())
    ]
    host.frame.block_of_fields(collection, fields, (None,) * 4, (None,) * 4)


def test_an_array_that_a_block_call_reads_and_writes(tmp_path):
    """frame_inout: for a kernel that updates a quantity in place."""
    (tmp_path / "warmed.h").write_text(
        "template <class M, class R> POINT_FN void warmed(const M &, R &T, const R p) { T = T + 1e-5 * p; }\n"
    )
    (tmp_path / "warmed.py").write_text(
        "from kernels import point_kernel\n"
        'point_kernel("warmed", header="warmed.h", reads="T p", writes="T", source="test", valid="everywhere")\n'
    )
    kernels.load_declarations(tmp_path / "warmed.py")
    host, T, p = Host(chunk=7), field(300.0), field(1e7)
    T += np.arange(24).reshape(T.shape)
    wanted = T + 1e-5 * p
    host.frame.block_of_fields("warmed", [whole("T", T, INOUT), whole("p", p, IN)], (None,) * 4, (None,) * 4)
    np.testing.assert_array_equal(T, wanted)
    kernels.registry.kernels.pop("warmed")  # the registry belongs to the process


def computed(host):
    """Outputs of the launches so far: one set of names for each."""
    return {frozenset(view.name for view in launcher.writes) for launcher in host.impl.launchers.values()}


def of_species(value, shape=(4, 3, 2)):
    return np.full((*shape, 10), float(value), order="F")


@pytest.mark.parametrize("style", ["old", "new"])
@pytest.mark.parametrize("check", [0, 1])
def test_block_call_computes_what_it_is_asked_for(style, check):
    """rho and mu of thermal_viscous: one program for these two, the same for any order of the names. The results have
    the bits of Mixture.properties: the same kernels on the same inputs."""
    host = Host(ns=10, nq=15, mixture="ch4_o2")
    host.frame.set_parameter("check", check)
    Q, shape = state(ns=10), (4, 3, 2)
    Q[..., 4] += np.arange(24).reshape(shape)
    out = {name: field(np.nan) for name in ("rho", "mu")}
    for order in (("rho", "mu"), ("mu", "rho")):
        if style == "new":
            asked(host, "thermal_viscous", {"Q": Q}, **{name: out[name] for name in order})
        else:
            both = np.full((*shape, 2), np.nan, order="F")
            host.frame.block(
                "thermal_viscous",
                "Q",
                Q.ctypes.data,
                ",".join(order),
                both.ctypes.data,
                *shape,
                1,
                4,
                1,
                3,
                1,
                2,
                15,
                2,
            )
            for row, name in enumerate(order):
                out[name] = both[..., row]
        assert computed(host) == {frozenset(("rho", "mu"))} and len(host.impl.launchers) == 1
        Y = np.moveaxis(Q[..., 5:], -1, 0)
        wanted = host.impl.mixture.properties("rho mu", T=Q[..., 4], p=Q[..., 0], Y=Y, backend="cpu")
        for name, values in wanted.items():
            np.testing.assert_array_equal(out[name], values, err_msg=name)
    host.put("Q", Q), host.launch("thermal_viscous")  # a launch by name still makes the whole list
    assert {*kernels.collections["thermal_viscous"].outputs, "h0"} in computed(host)


def test_block_call_makes_what_the_collection_does_not_list():
    host = Host(ns=10, nq=15, mixture="ch4_o2")
    Q, out, h0 = state(ns=10), of_species(np.nan), field(np.nan)
    asked(host, "thermal_viscous", {"Q": Q}, h_Y=out, h0=h0)
    assert computed(host) == {frozenset(("h_Y", "h0"))}
    given = dict(T=Q[..., 4], p=Q[..., 0], Y=np.moveaxis(Q[..., 5:], -1, 0))
    wanted = host.impl.mixture.properties("h h_Y", **given, backend="cpu")
    # other kernels in the program: the compiler may contract other products into FMA; h is a sum of terms far above h
    scale = np.abs(wanted["h_Y"]).max()
    np.testing.assert_allclose(np.moveaxis(out, -1, 0), wanted["h_Y"], rtol=0, atol=100 * np.finfo(float).eps * scale)
    np.testing.assert_allclose(h0, wanted["h"] + 0.5 * 30.0**2, rtol=0, atol=100 * np.finfo(float).eps * scale)


def test_block_call_names_what_cannot_be_made():
    host = Host(ns=10, nq=1, mixture="ch4_o2")
    T, p, Y, out = field(300), field(1e7), of_species(0.1), field(-1)
    with pytest.raises(ArgumentError, match="'h0' cannot be computed from T, p, Y: missing u .m/s., v .m/s., w .m/s."):
        asked(host, "thermal", {"T": T, "p": p, "Y": Y}, rho=out, h0=out)
    with pytest.raises(StateError, match="'thermal' cannot run: 'p' was never filled"):
        asked(host, "thermal", {"T": T, "Y": Y}, rho=out)
    with pytest.raises(ArgumentError, match="kernel 'molar_mass' makes W, R_s, not rho"):
        asked(host, "molar_mass", {"Y": Y}, rho=out)
    with pytest.raises(ArgumentError, match="without outputs"):
        asked(host, "thermal", {"T": T, "p": p, "Y": Y})
    twice = [whole(n, a, n == "rho") for n, a in (("T", T), ("p", p), ("Y", Y), ("p", p), ("rho", out))]
    with pytest.raises(ArgumentError, match="gets 'p' twice"):
        host.frame.block_of_fields("thermal", twice, (None,) * 4, (None,) * 4)
    assert (out == -1).all()
    with pytest.raises(StateError, match="before a mixture: call frame_tvproperties_loadmixture"):
        asked(Host(nq=1, mixture=None), "thermal", {"T": T}, rho_Y=out)


def test_block_call_updates_in_place_before_it_uses():
    """mu alone of 'air' belongs to the T of the input; if T is an output too, in any order, mu belongs to the new T."""
    host = Host(nq=1, mixture=None)
    host.frame.register_kernel(str(OWN_KERNEL))
    T = 250 + np.arange(24.0).reshape((4, 3, 2), order="F") * 9
    inputs = {"rho": field(1.2), "e": np.asfortranarray(T * (690 + 0.045 * T)), "T": field(300.0)}
    sutherland = lambda T: 1.458e-6 * T**1.5 / (T + 110.4)
    for names in (("mu", "T"), ("T", "mu"), ("mu",)):
        out = {name: field(np.nan) for name in names}
        asked(host, "air", inputs, **out)
        # 8 rounded operations and a power, with condition 1.5 at most, of a T that is right to 16 eps
        at = T if "T" in names else field(300.0)
        np.testing.assert_allclose(out["mu"], sutherland(at), rtol=32 * np.finfo(float).eps, err_msg=str(names))
        if "T" in names:
            np.testing.assert_allclose(out["T"], T, rtol=16 * np.finfo(float).eps)


def test_block_of_fields_with_different_sizes():
    host = Host()
    a, b = field(1, (4, 3, 2)), field(1, (4, 3, 1))
    fields = [whole("T", a, False), whole("rho", b, True)]
    with pytest.raises(ArgumentError, match="different shapes of points: 'T' 4 x 3 x 2, 'rho' 4 x 3 x 1"):
        host.frame.block_of_fields("thermal", fields, (None,) * 4, (None,) * 4)


# ---- check mode ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value, row, words",
    [
        (np.nan, 4, "'T' = nan K"),
        (-5.0, 4, r"'T' = -5.0 K at point \(i, j, k\) = \(3, 2, 2\) of rank 0, wanted > 0"),
        (0.0, 0, "'p' = 0.0 Pa"),
        (np.inf, 1, "'u' = inf"),
        (0.5, 5, "'Y' sums to 0.5 over the species at"),
        (np.nan, 5, "'Y' = nan"),
        (-0.5, 5, "'Y' = -0.5 1 at point .*, wanted 0 or more"),
    ],
)
def test_check_of_inputs(host, value, row, words):
    host.frame.set_parameter("check", 1.0)
    Q = state()
    host.put("Q", Q)
    Q[2, 1, 1, row] = value
    with pytest.raises(StateError, match=words) as error:
        host.put("Q", Q)
    assert "(i, j, k) = (3, 2, 2)" in str(error.value) and "rank 0" in str(error.value) and status_of(error.value) == 4


def test_check_counts_points_in_the_hosts_block():
    """With a fringe and a later stripe, the indices are those of the host's array."""
    host = Host(nq=1, chunk=10)
    host.frame.set_parameter("check", 1)
    T = field(300, (8, 7, 6))
    T[3, 4, 5] = np.nan  # Fortran (4, 5, 6)
    at = ((4 - 3) + (5 - 2) * 4 + (6 - 4) * 4 * 5) + 1  # in the selection 3..6, 2..6, 4..6
    with pytest.raises(StateError, match=r"\(4, 5, 6\)"):
        host.frame.populate_input("T", T.ctypes.data, 8, 7, 6, 3, 6, 2, 6, 4, 6, 1, 1, at - 4, at + 5)


def test_check_of_results_names_the_kernel(tmp_path):
    (tmp_path / "root.h").write_text(
        "#pragma once\ntemplate <class M, class R> POINT_FN void shifted_root(const M &, const R T, R &mu)"
        " { mu = sqrt(T - 300.0); }\n"
    )
    (tmp_path / "root.py").write_text(
        "from kernels import point_kernel\npoint_kernel('shifted_root', header='root.h', reads='T', writes='mu', "
        "source='test', valid='T >= 300')\n"
    )
    host = Host(nq=1)
    host.frame.register_kernel(str(tmp_path / "root.py"))
    T = field(310)
    T[0, 2, 1] = 299
    host.put("T", T)
    host.launch("shifted_root")
    assert np.isnan(host.get("mu", field(0))[0, 2, 1])
    host.frame.set_parameter("check", 1)
    with pytest.raises(
        StateError,
        match=r"kernel 'shifted_root' in launch 'shifted_root' gave 'mu' = -?nan at point \(i, j, k\) = \(1, 3, 2\) "
        r"of rank 0; there T = 299.0",
    ):
        host.launch("shifted_root")
    host.frame.set_parameter("check", 0)
    host.launch("shifted_root")
    kernels.registry.kernels.pop("shifted_root")  # the registry belongs to the process


@pytest.mark.parametrize("T", [10000.0, 9000.0])
def test_check_names_the_range_that_was_left(T):
    """N2's polynomials end at 5000 K. Beyond, they give a negative cp; c is then NaN, not negative."""
    host = Host()
    Q, c = state(), field(1)
    Q[1, 2, 0, 4] = T
    host.put("Q", Q)
    host.launch("thermal")
    host.get("c", c)
    assert np.argwhere(np.isnan(c)).tolist() == [[1, 2, 0]] and (host.get("gamma", field(1))[~np.isnan(c)] > 1).all()
    host.frame.set_parameter("check", 1)
    with pytest.raises(
        StateError, match=rf"'c[pv]' = -.* at point \(i, j, k\) = \(2, 3, 1\) of rank 0; there .*T = {T}"
    ) as error:
        host.launch("thermal")
    assert str(error.value).endswith("T is outside 300 to 5000 K, the range of the polynomials of N2.")


def test_mixtures_that_come_and_go_leave_no_memory():
    """A library is loaded once: each load kept 7.5 KB. What Python itself keeps differs by some 100 KB."""
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


# ---- timers -------------------------------------------------------------------------------------------------------


def test_timers_by_name(host, capsys):
    host.put("Q", state())
    host.frame.report()
    assert "timers are off" in capsys.readouterr().out and host.impl.timers is None
    host.frame.set_parameter("timers", 1)
    for _ in range(600):  # more than the marks that are kept
        host.put("Q", state()), host.launch("thermal", 10)
    timer = host.impl.timers["thermal"]
    assert (timer.calls, timer.points) == (600, 6000) and 0 < timer.seconds < 60
    host.frame.report()
    out = capsys.readouterr().out
    assert "put Q" in out and "thermal" in out and "600" in out
    host.frame.set_parameter("timers", 0)
    assert host.impl.timers is None


def test_report_over_ranks():
    kernel, copy = (0, "kernels"), (5 * 10**9, "copies in")
    ranks = [{"a": (1, 10, 1.0, *kernel), "b": (2, 20, 3.0, *copy)}, {"a": (3, 30, 2.0, *kernel)}]
    text = table(ranks, "cpu")
    rows = [line.split() for line in text.splitlines()]
    assert ["ranks", "a", "4", "1.000000", "1.500000", "2.000000"] in rows
    assert ["ranks", "b", "2", "0.000000", "1.500000", "3.000000"] in rows  # rank 1 never launched it
    assert ["0", "a", "1", "10", "1.000000", "100000000.0", "-"] in rows and "link" not in text
    with_link = [line.split() for line in table(ranks, "cuda", (5e9, 1e9)).splitlines()]
    # 5 GB in 3 s across a link of 5 GB/s
    assert ["0", "b", "2", "20", "3.000000", "150000000.0", "1.67", "33", "%"] in with_link


# ---- life cycle and configuration ---------------------------------------------------------------------------------


def test_life_cycle():
    host = Host()
    with pytest.raises(StateError, match="twice"):
        host.frame.initialize(-1, 10, 1, 6, 0)
    host.frame.finalize()
    host.frame.finalize()
    with pytest.raises(StateError, match="initialize first"):
        _ = host.frame.properties
    host.frame.set_option("backend", "cpu")
    host.frame.initialize(-1, 99, 2, 7, 0)
    assert host.frame.properties.impl.chunk == 99


def test_options_too_late(host):
    with pytest.raises(StateError, match="'backend' has to be set before frame_initialize"):
        host.frame.set_option("backend", "cpu")
    with pytest.raises(StateError, match="'root' has to be set before the mixture"):
        host.frame.set_option("root", "vapour")
    with pytest.raises(ArgumentError, match="unknown option 'rot'"):
        host.frame.set_option("rot", "vapour")
    host.frame.set_option("root", "gibbs")  # the value in force already
    with pytest.raises(StateError, match="'threads' has to be set before"):
        host.frame.set_parameter("threads", 2)


def test_model_options_reach_the_mixture():
    host = Host(root="vapour", chung="published", takahashi="off")
    assert {k: host.frame.properties.mixture.options[k] for k in ("root", "chung", "takahashi", "alpha")} == {
        "root": "vapour",
        "chung": "published",
        "takahashi": "off",
        "alpha": "pr78",
    }
    with pytest.raises(ArgumentError, match="root"):
        Host(root="upper")


@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda c: c.set_option("rot", "gibbs"),
            "unknown option 'rot', did you mean 'root'; known: backend, precision, calls, last_species, placement, "
            "equation, root",
        ),
        (lambda c: c.set_option("backend", "gpu"), "wanted one of auto, cuda, cpu"),
        (
            lambda c: c.set_option("chung", "polefre"),
            "option 'chung' is 'polefre', wanted one of polefree, published, cantera",
        ),
        (
            lambda c: c.set_parameter("timer", 1.0),
            "unknown parameter 'timer', did you mean 'timers'; known: timers, check, queue, threads",
        ),
        (lambda c: c.set_parameter("timers", 0.5), "whole number 0..1.*%VAL"),
        (lambda c: c.set_parameter("threads", float("nan")), "whole number 1..4096"),
        (lambda c: c.set_parameter("check", 6.9e-310), "%VAL"),  # an address read as a double
    ],
)
def test_settings_that_make_no_sense(call, words):
    with pytest.raises(ArgumentError, match=words):
        call(Config({}))


def test_environment():
    config = Config({"FRAME_BACKEND": "cpu", "FRAME_THREADS": "3", "FRAME_TIMERS": "1", "FRAME_CHECK": "1"})
    assert (config.backend, config.threads, config.timers, config.check) == ("cpu", 3, True, True)
    assert (Config({}).backend, Config({}).threads, Config({}).timers, Config({}).check) == ("auto", 1, False, False)
    with pytest.raises(ArgumentError, match="FRAME_TIMERS is yes"):
        Config({"FRAME_TIMERS": "yes"})


def test_ranks_are_spread_over_devices_near_their_cores(tmp_path):
    for ranks, devices, wanted in (
        ([-1] * 6, [-1] * 4, [0, 1, 2, 3, 0, 1]),  # nobody tells: by rank on the node
        ([0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 2, 3]),
        ([1, 1, 0, 0], [0, 0, 1, 1], [2, 3, 0, 1]),
        ([0, 0, 0, 0], [0, 1], [0, 0, 1, 1]),  # even, though one is far
        ([1, 0, -1], [0, 1], [1, 0, 0]),
        ([0, 1, 0, 1, 0, 1, 0, 1], [1, 0], [1, 0, 1, 0, 1, 0, 1, 0]),
        ([3], [0, 1, 2, 3], [3]),
    ):
        found = spread(ranks, devices)
        assert found == wanted
        load = [found.count(d) for d in range(len(devices))]
        assert max(load) - min(load) <= 1
    for node, cores in ((0, "0-3,8-11"), (1, "4-7,12-15")):
        (tmp_path / f"node{node}").mkdir()
        (tmp_path / f"node{node}" / "cpulist").write_text(cores + "\n")
    assert [numa_node(c, tmp_path) for c in ({0, 9}, {4, 15}, {3, 4}, {99}, set())] == [0, 1, -1, -1, -1]
    assert numa_node({0}, tmp_path / "nowhere") == -1


def test_the_device_of_a_rank():
    assert [device_for(-1, rank, 4) for rank in range(6)] == [0, 1, 2, 3, 0, 1]
    assert [device_for(2, rank, 4) for rank in range(3)] == [2, 2, 2]
    with pytest.raises(ArgumentError, match=r"device_id = 4, wanted -1 \(by rank on the node\) or 0..3"):
        device_for(4, 0, 4)
    with pytest.raises(BackendError, match="no CUDA device is visible; set FRAME_BACKEND=cpu"):
        device_for(-1, 0, 0)


# ---- species data -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tag, size", [("W", 1), ("kij", 1), ("nasa_low", 7), ("binary_fit", 5), ("T_mid", 1)])
def test_get_species(host, tag, size):
    species, out = host.frame.properties.mixture.species, np.full(size, np.nan)
    host.frame.get_species(tag, out, size)
    if tag == "binary_fit":
        from kernels.gas.species.kinetic_theory import friction_fit

        coefficients = out.reshape(5, -1, order="F")
        np.testing.assert_array_equal(
            coefficients[:4].ravel(order="F"), friction_fit(species, *species.T_fit).ravel(order="F")
        )
        assert not coefficients[4].any()
    else:
        np.testing.assert_array_equal(out, getattr(species, tag).ravel())
    with pytest.raises(ArgumentError, match=f"n = {size + 1} values, wanted {size}"):
        host.frame.get_species(tag, np.zeros(size + 1), size + 1)
    with pytest.raises(ArgumentError, match="unknown species data 'mass'; known: W Tc"):
        host.frame.get_species("mass", out, size)


def test_species_arrays_that_cannot_be():
    host = Host(mixture=None)
    one = np.ones(1)
    good = dict(
        W=one * 0.028,
        Tc=one * 126.2,
        pc=one * 3.4e6,
        omega=one * 0.037,
        kij=np.zeros((1, 1)),
        nasa_low=np.asfortranarray(np.eye(7)[:, :1] * 3.5),
        nasa_high=np.asfortranarray(np.eye(7)[:, :1] * 3.5),
        T_mid=one * 1000,
    )
    with pytest.raises(ArgumentError, match="ns = 2, frame_initialize was told ns = 1"):
        host.frame.populate_preos(2, *good.values())
    with pytest.raises(MixtureError, match="species data of the host.*pc"):
        host.frame.populate_preos(1, *{**good, "pc": -one}.values())
    with pytest.raises(MixtureError, match="nasa_high is .*, wanted 7 finite numbers, with a heat capacity"):
        host.frame.populate_preos(1, *{**good, "nasa_high": np.zeros((7, 1), order="F")}.values())
    host.frame.populate_preos(1, *good.values())
    host.put("Q", state())
    host.launch("thermal")  # works before the Chung data are passed
    with pytest.raises(ArgumentError, match="Fuller diffusion volume"):
        host.launch("viscous")
    host.frame.populate_chung(1, one * 9e-5, one * 0, one * 0, one * 18.5)
    host.launch("thermal"), host.launch("viscous")
    assert (host.get("mu", field(0)) > 0).all()


def test_statuses_of_exceptions():
    assert [
        status_of(e)
        for e in (
            ArgumentError(""),
            MixtureError(""),
            StateError(""),
            BackendError(""),
            FrameError(""),
            ValueError(""),
            SystemExit(0),
            KeyboardInterrupt(),
        )
    ] == [3, 3, 4, 4, 4, 4, 4, 4]
    assert text_of(ArgumentError("what, got, wanted")) == "what, got, wanted"
    try:
        raise KeyError("deep inside")
    except KeyError as error:
        assert text_of(error).startswith("KeyError: 'deep inside'\nTraceback") and "test_frame_objects.py" in text_of(
            error
        )


def test_importing_needs_neither_cupy_nor_mpi4py():
    import subprocess
    import sys

    code = "import frame.frame, frame.embedded, sys; assert not {'cupy', 'mpi4py'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.fixture
def driver_without_cupy(monkeypatch, tmp_path):
    """A machine with an NVIDIA driver whose Python has no CuPy."""
    from kernels.engine import backend

    (tmp_path / "nvidiactl").touch()
    monkeypatch.setattr(backend, "DRIVER", (str(tmp_path / "nvidiactl"),))
    monkeypatch.setitem(sys.modules, "cupy", None)  # its import fails
    monkeypatch.delenv("FRAME_BACKEND", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    backend._devices_for_auto.cache_clear()
    yield
    backend._devices_for_auto.cache_clear()


def test_auto_without_cupy_says_once_that_it_takes_the_cpu(driver_without_cupy):
    """A run on the CPU of a GPU machine must be noticed, from Python and from a host."""
    with pytest.warns(RuntimeWarning, match="takes the CPU.*needs CuPy.*install the project's extra 'cuda'"):
        assert kernels.get_backend("auto", threads=1).memory == "host"
    kernels.engine.backend._devices_for_auto.cache_clear()
    frame = Frame()
    with pytest.warns(RuntimeWarning, match="takes the CPU.*needs CuPy.*install the project's extra 'cuda'") as told:
        for _ in range(2):
            frame.initialize(-1, 24, 1, 6, 0)
            assert frame.backend.memory == "host"
            frame.finalize()
    assert len(told) == 1


def test_cuda_without_cupy_is_an_error(driver_without_cupy):
    frame = Frame()
    frame.set_option("backend", "cuda")
    with pytest.raises(BackendError, match="needs CuPy.*install the project's extra 'cuda'"):
        frame.initialize(-1, 24, 1, 6, 0)


def test_auto_without_a_driver_says_nothing(monkeypatch, driver_without_cupy, recwarn):
    monkeypatch.setattr(kernels.engine.backend, "DRIVER", ("/nowhere/nvidiactl",))
    assert kernels.get_backend("auto", threads=1).memory == "host" and not list(recwarn)
