"""Reactions in the mini solver: what a cell keeps, ignition beside Cantera, order of the splitting, bits, failures."""

import io
import json
import shutil

import numpy as np
import pytest
from device_for_tests import be  # noqa: F401
from mini_solver_runs import flow_on, restart_of, run, same
from mixtures_for_tests import ROOT

from examples.mini_solver import verify
from examples.mini_solver.__main__ import main
from examples.mini_solver.case import Case
from examples.mini_solver.errors import CaseError, FlowError
from examples.mini_solver.flow import Flow
from examples.mini_solver.layer import declare
from examples.mini_solver.run import Run
from examples.mini_solver.verify import with_cantera
from kernels import get_backend

SHIPPED = ROOT / "examples/mechanisms/h2_o2.yaml"

pytestmark = pytest.mark.usefixtures("plain_tolerances")

ONE = """
phases:
- name: one
  thermo: Peng-Robinson
  species: [{{{species}/species: [H2, O2, H2O]}}]
  kinetics: bulk
  reactions: all
reactions:
- equation: 2 H2 + O2 => 2 H2O
  rate-constant: {{A: 2.0e+09, b: 0.0, Ea: 100 kJ/mol}}
  orders: {{H2: 1.0, O2: 1.0}}
"""


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """A mechanism of one reaction, made up, which burns hot hydrogen in a microsecond."""
    path = tmp_path_factory.mktemp("one") / "one.yaml"
    path.write_text(ONE.format(species=ROOT / "examples/mixtures/h2_o2.yaml"))
    return path


def data(file, initial, end, cells=(16,), chemistry=(), equation="pr", **numerics):
    return dict(
        mixture={"file": str(file), "options": {"equation": equation, "takahashi": "off", "kinetics": "fugacity"}},
        domain=dict(cells=list(cells), upper=[1e-3] * len(cells)),
        initial=initial,
        time=dict(end=end),
        numerics=numerics,
        chemistry={"kind": "volume"} | dict(chemistry),
    )


WAVE = {
    "T": "1500 + 200*sin(2*pi*x/1e-3)",
    "p": 1e6,
    "u": 50.0,
    "X": {"H2": "0.4 + 0.1*cos(2*pi*x/1e-3)", "O2": "rest"},
}


def atoms(f):
    """Amount of each element in the domain, mol."""
    return f.sums()[: f.ns] @ f.chemistry.atoms()


@pytest.mark.parametrize("scheme, equation", [("double_flux", "pr"), ("apec", "pr"), ("apec", "ideal")])
@pytest.mark.long(scheme="apec")
def test_a_cell_keeps_its_mass_momentum_energy_and_atoms(one, scheme, equation):
    """To rounding, cell by cell, while thousands of kelvins are released; and a cold cell its bits."""
    wave = WAVE | {"T": "where(x < 3e-4, 180, 1800)"}
    f = Flow(Case(data(one, wave, 1.0, scheme=scheme, equation=equation)))
    names = ("rho", "u", "p", "T", "e_vol", *(f"Y_{n}" for n in f.mixture.names))
    before = {name: f.field(name)[0, 0] for name in names}
    momentum = f.block.host(f.block.interior("momentum")[0])

    f.chemistry.hold()
    f.clock.hold(4e-6)
    f._react()

    after = {name: f.field(name)[0, 0] for name in names}
    hot = before["T"] > 1000

    assert (after["T"][hot] > before["T"][hot] + 300).all() and (after["Y_H2O"][hot] > 0.1).all()
    for name in names:
        np.testing.assert_array_equal(after[name][~hot], before[name][~hot], name)

    # Sums of three terms. The terms of the energy include energies of formation, some e_vol.
    eps = np.finfo(float).eps
    np.testing.assert_allclose(after["rho"], before["rho"], rtol=8 * eps)
    np.testing.assert_array_equal(f.block.host(f.block.interior("momentum")[0]), momentum)
    np.testing.assert_allclose(after["u"], before["u"], rtol=8 * eps)

    parts = np.abs(before["e_vol"]) + before["rho"] * 5e6  # J/kg, of the heat content at 3000 K
    assert (np.abs(after["e_vol"] - before["e_vol"]) < 32 * eps * parts).all()

    def Y(at):
        return np.array([at[f"Y_{n}"] for n in f.mixture.names]).T @ f.chemistry.atoms()

    np.testing.assert_allclose(Y(after), Y(before), rtol=1e-13)


def test_a_flow_that_burns_keeps_what_it_should(one):
    """apec, with its limiter: energy too, over the steps of a flow that releases heat."""
    f = Flow(Case(data(one, WAVE, 8e-7, scheme="apec", time_step=1e-8)))
    start, elements = f.sums(), atoms(f)
    f.take(80)
    sums = f.sums()
    eps = 2e-16 * 80  # a rounding a step that all cells may share

    assert f.field("T").max() > 2500
    assert abs(sums[: f.ns].sum() / start[: f.ns].sum() - 1) < 4 * eps
    assert abs(sums[f.ns] / start[f.ns] - 1) < 100 * eps  # of p, some 50 times rho u^2
    assert abs(sums[-2] - start[-2]) < 4 * eps * start[-1]
    assert (np.abs(atoms(f) / elements - 1) < 4 * eps).all()


def test_ignition_of_a_uniform_box_is_cantera_s():
    """H2/O2 at 10 bar, Peng-Robinson; Cantera's results are kept in a file."""
    assert all(passed for *_, passed in verify.run("ignition", quick=True))


def test_an_ideal_gas_ignites_as_cantera_s():
    """At constant volume, past the delay: T and p of the burnt gas, which has come to rest, to react's rtol of 1e-4."""
    ct = pytest.importorskip("cantera")
    X = {"H2": 0.6, "O2": 0.3, "N2": 0.1}
    f = Flow(Case(data(SHIPPED, {"T": 1400.0, "p": 1e6, "X": X}, 6e-6, cells=(4,), equation="ideal")))
    while f.time < 6e-6:
        f.step()
    gas = ct.Solution(str(SHIPPED), "ideal")
    gas.TPX = 1400.0, 1e6, X
    reactor = ct.IdealGasReactor(gas, clone=False)
    net = ct.ReactorNet([reactor])
    net.rtol, net.atol = 1e-9, 1e-16
    net.advance(f.time)

    assert f.field("T").min() > 3000
    np.testing.assert_allclose(f.field("T")[0, 0], reactor.T, rtol=1e-4)
    np.testing.assert_allclose(f.field("p")[0, 0], reactor.phase.P, rtol=1e-4)


def test_the_kept_results_are_cantera_s():
    """All numbers of the ignition, to the tolerance of its integration, 1e-10, times the growth of errors."""
    pytest.importorskip("cantera")
    kept, again = with_cantera.kept()["ignition"], with_cantera.ignition()
    for name in ("t", "T", "p"):
        np.testing.assert_allclose(again[name], kept[name], rtol=1e-6)


class Unsplit(Flow):
    """All of the reactions before the flow: first order."""

    def _step(self):
        self.clock.tick()
        self.chemistry(1.0)
        self.fill()
        self.properties()
        self.stages()


@pytest.mark.parametrize("kind, lowest, highest", [(Flow, 1.8, 2.3), (Unsplit, 0.8, 1.2)], ids=["strang", "first"])
@pytest.mark.quick(lowest=1.8)
def test_order_of_the_splitting(one, kind, lowest, highest):
    """Smooth waves that release heat, by steps of a half, a quarter, an eighth. The test also recognises a splitting of
    first order. Van der Waals: the energy of a Peng-Robinson mixture jumps where Soave's sqrt(alpha) of a
    species changes its sign (O2: 1830 K), by 3e-4 of RT here, and no integration of smooth rates sees that."""
    fields = []
    for steps in (64, 128, 256, 512):
        numerics = dict(scheme="apec", equation="vdw", limiter=False, dissipation="none", time_step=8e-7 / steps)
        f = kind(Case(data(one, WAVE, 1.0, chemistry={"rtol": 1e-10}, **numerics)))
        f.take(steps)
        fields.append([f.field(name)[0, 0] for name in ("T", "p", "Y_H2O")])

    assert fields[-1][0].max() > 2500

    for a, b, c, d in zip(*fields):
        e = [np.sqrt(np.mean((x - y) ** 2)) for x, y in ((a, b), (b, c), (c, d))]
        orders = np.log2([e[0] / e[1], e[1] / e[2]])
        assert lowest < orders[1] < highest, orders


def burning(one, scheme, steps=6, restart=3, **more):
    """In two directions, with transport, a wall and an outlet; cold and hot cells."""
    given = data(one, WAVE | {"T": "where(y < 2e-4, 200, 1700)"}, 1.0, (11, 8), scheme=scheme, viscous=True)
    given["boundary"] = {"y_low": {"kind": "wall", "T": 300.0}, "y_high": {"kind": "outlet", "p": 1e6}}
    given["time"] = {"steps": steps}
    given["output"] = {"report": 2, "restart": restart}

    return given | more


def as_file(path, given):
    lines = []
    for section, keys in given.items():
        lines += [f"[{section}]", *(f"{key} = {toml(value)}" for key, value in keys.items())]
    path.write_text("\n".join(lines) + "\n")

    return path


def toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(v)}" for key, v in value.items()) + "}"
    return json.dumps(value)


@pytest.mark.skipif(not shutil.which("mpirun"), reason="needs mpirun")
@pytest.mark.parametrize("scheme, numbers", [("double_flux", (3,)), ("double_flux", (2, 4)), ("apec", (2, 3))])
@pytest.mark.full
def test_the_same_bits_on_any_number_of_ranks_and_across_restarts(one, tmp_path, scheme, numbers):
    pytest.importorskip("mpi4py"), pytest.importorskip("h5py")
    case = as_file(tmp_path / "burns.toml", burning(one, scheme))
    half = as_file(tmp_path / "half.toml", burning(one, scheme, steps=3))
    whole, parts = tmp_path / "one", tmp_path / "parts"

    assert main([str(case), "--folder", str(whole)]) == 0
    assert main([str(half), "--folder", str(parts)]) == 0
    assert main([str(case), "--folder", str(parts), "--restart", str(parts / "restart.h5")]) == 0
    assert same(restart_of(whole), restart_of(parts))

    for ranks in numbers:
        done = run(case, "--folder", tmp_path / f"r{ranks}", ranks=ranks)
        assert done.returncode == 0, done.stderr
        assert same(restart_of(whole), restart_of(tmp_path / f"r{ranks}"))


@pytest.mark.parametrize("scheme", ["double_flux", "apec"])
@pytest.mark.full
def test_any_number_of_queued_steps_gives_the_same_bits(one, scheme):
    ends, states = [2e-7, 2.01e-7, 5e-7], []
    for queue in (1, 3, 50):
        f = Flow(Case(burning(one, scheme)))
        f.queue = queue

        for end in ends:
            while f.time < end * (1 - 1e-12):
                f.advance(queue, end, end * (1 - 1e-12))

        states.append(f.state() | {"time": f.time, "steps": f.steps})

    assert same(states[0], states[1]) and same(states[0], states[2]) and states[0]["steps"] > 5


def test_a_cell_that_cannot_be_integrated_ends_the_run_and_is_named(one, tmp_path):
    """By place and state; the same with queued steps; and nothing of it is written, not by its last step either."""
    told, given = [], data(one, WAVE, 1.0, chemistry={"rtol": 1e-6}, time_step=4e-8)
    words = r"step 3: .*cell \(\d+, 0, 0\) .*status 1: it took more than most = 3 steps.* T 1\d\d\d.*H2O 0.0"

    for queue in (1, 20):
        f = Flow(Case(given))
        f.queue = queue
        f.take(2)
        f.chemistry.given["most"] = 3

        with pytest.raises(FlowError, match=words) as caught:
            f.take(100)
        told.append((str(caught.value), f.time, f.steps))

    assert told[0] == told[1]
    given["chemistry"]["most"] = 3
    given["time"], given["output"] = {"steps": 1}, {"restart": 1, "report": 0}

    with pytest.raises(FlowError, match="status 1"):
        Run(Case(given), folder=tmp_path, out=io.StringIO())()
    assert restart_of(tmp_path)["steps"] == 0  # the state before the failed step
    assert not (tmp_path / "restart-before.h5").exists()


def test_what_is_refused(one):
    given = data(one, WAVE, 1.0)
    for change, told in (
        ({"kind": "volum"}, "did you mean 'volume'"),
        ({"coldest": 100.0}, "coldest = 100 K; rates end at 200"),
        ({"atol": 1e-6}, "does not ignite"),
        ({"most": 0}, "wanted 1 step or more"),
    ):
        with pytest.raises(CaseError, match=told):
            Case(given | {"chemistry": {"kind": "volume"} | change})

    given["mixture"]["file"] = "examples/mixtures/h2_o2.yaml"
    with pytest.raises(CaseError, match="kind = 'volume': .* the species have no reactions"):
        Flow(Case(given))

    plain = Case(data(one, WAVE, 1.0, chemistry={"kind": "none"}))
    assert plain.digest() != Case(data(one, WAVE, 1.0)).digest() and Flow(plain).chemistry is None


def test_the_reactor_compiles_for_a_device(one):
    declare()
    mix, target = Case(data(one, WAVE, 1.0)).make_mixture(), get_backend("cuda", arch="sm_90")
    assert mix.program(kernels=["cell_reactor"], backend=target).module.report["frame_run"]["registers"] <= 255


@pytest.mark.parametrize("scheme", ["double_flux", "apec"])
@pytest.mark.quick(scheme="apec")
def test_on_a_device(one, be, scheme):  # noqa: F811
    """The CUDA sources: on the stand-in, and with `pytest -m gpu` on a device. A cell's steps may differ by rounding,
    and its result then by react's tolerance. Steps that are queued as a graph have the bits of single launches."""
    here = Flow(Case(burning(one, scheme)))
    there, graph = (flow_on(be, Case(burning(one, scheme))) for _ in range(2))
    there.replay.watch = True

    for f in (here, there):
        for _ in range(8):
            f.step()

    assert graph.advance(8) == 8 and graph.replay.recorded is not None and not graph.replay.note
    for name in ("T", "p", "rho", "Y_H2O"):
        np.testing.assert_allclose(there.field(name), here.field(name), rtol=1e-6)
    assert same(there.state(), graph.state())
