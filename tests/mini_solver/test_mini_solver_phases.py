"""The mini solver with vapour and liquid in equilibrium: its point kernels, boundaries, bits, files and refusals. The
boiling shock tube and the closed box are checks of `verify` (test_mini_solver.py runs them)."""

import copy
import io
import shutil

import numpy as np
import pytest
from mini_solver_runs import changed_case, restart_of, run, same
from mixtures_for_tests import ROOT

from examples.mini_solver.__main__ import main
from examples.mini_solver.case import Case
from examples.mini_solver.errors import CaseError, FlowError
from examples.mini_solver.flow import Flow
from examples.mini_solver.layer import declare
from examples.mini_solver.properties import TO_PARTIALS, TO_WAVES
from examples.mini_solver.restart import read_restart, refuse_restart
from examples.mini_solver.run import Run
from examples.mini_solver.verify import tools
from kernels import FrameError, Mixture

h5py = pytest.importorskip("h5py")

FILE = "examples/mixtures/ch4_o2.yaml"
MIXTURE = {"file": FILE, "species": ["CH4", "O2"], "options": {"phases": "equilibrium"}}
X = np.array([0.6, 0.4])


def mixture(**options):
    declare()
    return Mixture(Mixture.from_yaml(ROOT / FILE).species.subset(["CH4", "O2"]), **options)


@pytest.fixture(scope="module")
def states():
    """{name: values} of 240 states of CH4/O2 at 20 bar, from liquid to gas, as a flow keeps them."""
    T = np.linspace(112.0, 180.0, 240)
    found = mixture(phases="equilibrium").properties(
        "T p rho e Y ln_kappa eta phases_status", T=T, p=np.full_like(T, 2e6), X=X
    )
    found["rho_k"] = found["rho"] * found["Y"]
    found["e_vol"] = found["rho"] * found["e"]

    return found


def flow_properties(mix, state):
    """The quantities of cells at a state, as the flow computes them."""
    program = mix.program(
        kernels=[*TO_WAVES, *TO_PARTIALS],
        outputs="e_vol cv_vol gamma_c gamma_eq gruneisen eps_k h_carried",
        backend="cpu",
    )
    n = state["T"].size
    arrays = {name: np.ascontiguousarray(state[name]).reshape(-1, n) for name in program.reads}
    arrays |= {name: np.full((mix.ns if name in ("eps_k", "h_carried") else 1, n), np.nan) for name in program.writes}
    program.bind(arrays)(n)

    return {name: arrays[name][0] if len(arrays[name]) == 1 else arrays[name] for name in program.writes}


# ---- point kernels
def test_one_phase_is_as_without_the_option(states):
    """The same equation at the same T and rho_k: 1e-11 for p, a difference of terms a hundred times as large in the
    liquid, which rho c^2/p and eps_k divide by."""
    one = states["phases_status"] == 0
    assert 20 < one.sum() < 220
    state = {name: values[..., one] for name, values in states.items()}

    found = flow_properties(mixture(phases="equilibrium"), state)
    names = "e_vol cv_vol gamma_c gruneisen eps_k h_Y"
    wanted = mixture().properties(names, T=state["T"], rho_k=state["rho_k"])

    for name in names.split():
        size = np.abs(wanted[name]).max() if name in ("eps_k", "h_Y") else np.abs(wanted[name])
        ours = found["h_carried" if name == "h_Y" else name]
        assert (np.abs(ours - wanted[name]) <= 1e-11 * size).all(), name

    assert np.allclose(found["gamma_eq"], found["gamma_c"], rtol=1e-12)


def test_two_phases_by_differences_of_the_flash(states):
    """eps of the whole is d(rho e)/drho at constant p and composition, the Grueneisen coefficient dp/d(rho e) at
    constant density. Central differences of the flash: its errors of 1e-11 over steps of 1e-5, and their squares."""
    mix, two = mixture(phases="equilibrium"), states["phases_status"] == 1
    state = {name: values[..., two] for name, values in states.items()}
    state = {name: values[..., 2:-2] for name, values in state.items()}  # away from the boundaries
    found = flow_properties(mix, state)

    assert (found["eps_k"][0] == found["eps_k"][1]).all()

    h = 1e-5
    low, high = (mix.properties("rho e", T=state["T"] * (1 + s * h), p=state["p"], X=X) for s in (-1, 1))
    eps = (high["rho"] * high["e"] - low["rho"] * low["e"]) / (high["rho"] - low["rho"])

    assert np.allclose(found["eps_k"][0], eps, rtol=1e-5)

    step = 1e-5 * np.abs(state["e"])
    low, high = (mix.properties("p", e=state["e"] + s * step, rho=state["rho"], Y=state["Y"])["p"] for s in (-1, 1))
    assert np.allclose(found["gruneisen"], (high - low) / (2 * step * state["rho"]), rtol=1e-5)

    sound = mix.properties("c c_frozen", T=state["T"], p=state["p"], X=X)
    for name, c in (("gamma_eq", "c"), ("gamma_c", "c_frozen")):
        assert np.allclose(found[name], state["rho"] * sound[c] ** 2 / state["p"], rtol=1e-9), name
    assert (found["gamma_eq"] < found["gamma_c"]).all()


def test_a_trace_leaves_what_diffuses_bounded():
    """1e-10 of hydrogen over boiling oxygen: its partial volume at given T, p is 1e10 times the vapour's."""
    species = Mixture.from_yaml(ROOT / "examples/mixtures/h2_o2.yaml").species.subset(["O2", "H2"])
    declare()
    mix = Mixture(species, phases="equilibrium")
    Y = np.array([[1 - 1e-10], [1e-10]])

    boiling = mix.properties("e rho", T=np.array([115.0]), p=2e6, Y=Y)
    state = mix.properties(
        "T p ln_kappa eta phases_status h_Y", e=boiling["e"], rho=0.97 * boiling["rho"], Y=Y, T_start=np.array([115.0])
    )
    assert state["phases_status"] == 1 and np.abs(state["h_Y"][1]) > 1e11

    found = flow_properties(mix, state | {"rho_k": 0.97 * boiling["rho"] * Y})
    assert (np.abs(found["eps_k"]) < 3e6).all() and (np.abs(found["h_carried"]) < 6e6).all()


def test_temperature_of_energy_from_its_own_and_from_another_start(states):
    mix = mixture(phases="equilibrium")
    program = mix.program(kernels=["equilibrium_flow_temperature_e"], backend="cpu")
    n = states["T"].size

    for off, cold in ((1.0, False), (1.01, False), (1.2, True)):
        arrays = {name: np.array(states[name]).reshape(-1, n) for name in program.reads}
        arrays["T"] *= off
        if cold:
            arrays["ln_kappa"][...] = arrays["eta"][...] = 0.0
        arrays |= {name: np.full((1, n), np.nan) for name in program.writes if name not in arrays}
        program.bind(arrays)(n)

        # 1e-9 whatever the start: 1e-11 is where Newton's method ends, p of a liquid has a hundred times the error
        assert np.array_equal(arrays["phases_status"][0], states["phases_status"])
        assert np.allclose(arrays["T"][0], states["T"], rtol=1e-10, atol=0)
        assert np.allclose(arrays["p"][0], states["p"], rtol=1e-9, atol=0)


# ---- flows
def stream(cells, boundary, **more):
    initial = dict(T=152.0, p=2e6, u=20.0, X={"CH4": 0.6, "O2": "rest"})
    return tools.flow_of([cells], [0.0], [1.0], initial, 1.0, MIXTURE, boundary, scheme="apec", **more)


@pytest.mark.parametrize("given", ["T", "h"])
@pytest.mark.quick(given="h")
def test_a_stream_of_two_phases_between_an_inlet_and_an_outlet(given):
    """Nothing changes: what the boundaries find from T or h and p is the state inside. After 30 steps p and u are off
    by 1e-9 at most: the enthalpy and the flash have 1e-11."""
    h = float(mixture(phases="equilibrium").properties("h", T=152.0, p=2e6, X=X)["h"])
    inlet = dict(
        kind="inlet", velocity=[20.0, 0, 0], X={"CH4": 0.6, "O2": 0.4}, **{given: 152.0 if given == "T" else h}
    )
    f = stream(16, {"x_low": inlet, "x_high": {"kind": "outlet", "p": 2e6}})

    assert (f.field("phases_status") == 1).all()

    f.take(30)
    assert tools.off("p", 2e6)(f) < 1e-9 and tools.off("u", 20.0)(f) < 1e-8 and tools.off("T", 152.0)(f) < 1e-9


def test_a_wall_with_a_temperature_boils_what_is_beside_it():
    """Liquid of one species between two walls, of which one is hot: heat comes in, mass stays, vapour appears."""
    mix = {"file": "examples/mixtures/n2.yaml", "options": {"phases": "equilibrium"}}
    sides = {"x_low": {"kind": "wall", "T": 140.0}, "x_high": "wall"}
    f = tools.flow_of([12], [0.0], [2e-6], dict(T=100.0, p=8e5), 1.0, mix, sides, scheme="apec", viscous=True)
    start, before = f.sums(), f.field("T").copy()
    f.take(400)

    came = f.sums()[-2] - start[-2]
    assert tools.lost(f, start) < 1e-13 and came > 0
    assert abs(came - f.balance.passed()[-1]) < 1e-12 * start[-1]
    assert f.field("T")[0, 0, 0] > before[0, 0, 0] + 0.1


def test_any_number_of_queued_steps_gives_the_same_bits():
    """A step of length 0 keeps p, T and what starts the next search."""
    initial = dict(T="140 + 20*sin(2*pi*x)", p=2e6, u=20.0, X={"CH4": 0.6, "O2": "rest"})
    states = []

    for queue in (1, 7):
        f = tools.flow_of([24], [0.0], [1.0], initial, 1.0, MIXTURE, scheme="apec")
        f.queue = queue

        for end in (1e-3, 2.5e-3):
            while f.time < end * (1 - 1e-12):
                f.advance(queue, end, end * (1 - 1e-12))

        states.append(f.state())

    assert {0.0, 1.0} <= set(f.field("phases_status").ravel())
    assert same(*states)


JET = """
[mixture]
file = "examples/mixtures/ch4_o2.yaml"
species = ["CH4", "O2"]
options.phases = "equilibrium"
[domain]
cells = [18, 14]
upper = [2e-3, 1e-3]
[initial]
p = 20e5
T = "150 + 10*sin(2*pi*y/1e-3)"
X = {CH4 = "0.6 + 0.2*cos(2*pi*x/2e-3)", O2 = "rest"}
[[boundary.x_low]]
kind = "inlet"
where = "y < 0.5e-3"
velocity = [20.0, 0, 0]
T = 120.0
Y = {O2 = 1.0}
[[boundary.x_low]]
kind = "wall"
T = 170.0
[boundary.x_high]
kind = "outlet"
p = 20e5
[boundary.y]
kind = "slip_wall"
[numerics]
scheme = "apec"
viscous = true
[time]
steps = 24
[output]
report = 12
restart = 24
fields = 12
frames = 12
frame = ["beta_volume", "T"]
"""


@pytest.fixture(scope="module")
def one_rank(tmp_path_factory):
    """(case file, folder of its results on one rank, lines of the run)."""
    folder = tmp_path_factory.mktemp("jet")
    case, out = folder / "jet.toml", io.StringIO()
    case.write_text(JET)

    assert Run(Case.from_file(case), folder=folder / "one", out=out)() == 0

    return case, folder / "one", out.getvalue()


@pytest.mark.skipif(not shutil.which("mpirun"), reason="needs mpirun")
@pytest.mark.full
def test_the_same_bits_on_any_number_of_ranks_and_across_restarts(one_rank, tmp_path):
    """Two ranks go half the way and four the rest; four go all of it: the restart has what starts the searches."""
    pytest.importorskip("mpi4py")
    case, folder, _ = one_rank
    one = restart_of(folder)

    assert one["Q"].shape[0] == 3 + 2 + 2 + 2  # velocity, p and T, ln_kappa, eta and phases_status
    assert {0.0, 1.0} <= set(one["Q"][-1].ravel())

    assert run(case, "--folder", tmp_path / "half", "--set", "time.steps=12", ranks=2).returncode == 0
    for words in ((tmp_path / "half", "--restart", tmp_path / "half/restart.h5"), (tmp_path / "four",)):
        done = run(case, "--folder", *words, ranks=4)
        assert done.returncode == 0, done.stderr
        assert same(one, restart_of(words[0]))

    with h5py.File(folder / "fields-00000024.h5") as a, h5py.File(tmp_path / "four/fields-00000024.h5") as b:
        assert list(a) == list(b) and all(np.array_equal(a[name][:], b[name][:]) for name in a)


def test_a_restart_of_an_earlier_release_is_tested_anew(one_rank, tmp_path):
    """Its marks of one phase have other meanings; states of two phases stay."""
    case, folder, _ = one_rank
    path = tmp_path / "earlier.h5"
    shutil.copy(folder / "restart.h5", path)
    with h5py.File(path, "r+") as file:
        del file.attrs["mixture"]
        eta, two = file["Q"][-2], file["Q"][-1] == 1
        file["Q"][-2] = np.where(two, eta, 6e4 + file["Q"][4])  # a mark, and T
        T = file["Q"][4]

    flow = Flow(Case.from_file(case))
    refuse_restart(flow, path)
    read_restart(flow, path)
    found = flow.state()["Q"][-2]
    assert two.any() and np.array_equal(found[two], eta[two])
    np.testing.assert_allclose(found[~two], 1e4 + T[~two], rtol=1e-14)

    flow.step(1e-9)


def test_fields_and_lines_of_two_phases(one_rank):
    _, folder, lines = one_rank
    assert "2-phase" in lines and "vapour and liquid in equilibrium" in lines

    with h5py.File(folder / "fields-00000024.h5") as file:
        status, beta = file["phases_status"][:], file["beta_volume"][:]
        assert file["rho_l"].attrs["units"] == "kg/m3" and file["beta"].attrs["units"] == "1"

        two = status == 1
        assert 0 < two.sum() < two.size and (beta[two] > 0).all() and (beta[two] < 1).all()
        assert set(beta[~two]) <= {0.0, 1.0}

        # rho = beta rho_v + (1 - beta) rho_l, in single precision
        mean = beta * file["rho_v"][:] + (1 - beta) * file["rho_l"][:]
        assert np.allclose(mean, file["rho"][:], rtol=1e-5)

    row = lines.splitlines()[
        -1 - next(n for n, text in enumerate(lines.splitlines()[::-1]) if text.startswith("      24"))
    ]
    assert int(row.split()[-3]) == two.sum()


def test_a_cell_without_a_state_ends_the_run_and_is_named():
    """An energy below that of any temperature: rank, cell and the number of such cells are in the message."""
    f = stream(20, {})
    f.step()
    state = f.state()
    state["U"][-1][0, 0, 8:10] -= 3e9
    f.set_state(state["U"], state["Q"])

    with pytest.raises(
        FlowError, match=r"rank 0, cell \([6-9], 0, 0\) .*one of \d+ without a state(.|\n)*phases_status"
    ):
        for _ in range(3):
            f.step()


# ---- refusals
GOOD = dict(
    mixture=MIXTURE,
    domain={"cells": [8], "upper": [1.0]},
    initial={"T": 140, "p": 2e6, "X": {"CH4": 1}},
    numerics={"scheme": "apec"},
    time={"steps": 1},
)


@pytest.mark.parametrize(
    "change, told",
    [
        ({"numerics.scheme": "double_flux"}, "needs .numerics. scheme = 'apec'"),
        ({"initial": {"rho": 100.0, "p": 2e6, "X": {"CH4": 1}}}, "needs T and p in .initial."),
        ({"chemistry": {"kind": "volume"}}, "its cells do not react"),
        (
            {"mixture.options": {"phases": "equilibrium", "equation": "ideal"}},
            "needs an equation of state with a cubic",
        ),
        ({"mixture.options": {"phases": "equilibrium", "root": "vapour"}}, "root = 'vapour' came"),
        ({"mixture.options": {"phases": "two"}}, "'two'"),
        (
            {"mixture.options": {"phases": "equilibrium", "viscosity": "lucas"}, "numerics.viscous": True},
            "phases = 'equilibrium'",
        ),
        ({"output.frame": ["beta_volum"]}, "did you mean 'beta_volume'"),
    ],
)
def test_a_wrong_case_is_told(change, told):
    with pytest.raises(FrameError, match=told):
        Run(Case(changed_case(GOOD, change)), out=io.StringIO())


def test_fields_of_phases_are_unknown_without_the_option(tmp_path, capsys):
    data = copy.deepcopy(GOOD)
    data["mixture"] = {"file": FILE, "species": ["CH4", "O2"]}
    f = Flow(Case(data))

    with pytest.raises(CaseError, match="unknown field 'beta_volume'"):
        f.field("beta_volume")

    path = tmp_path / "wrong.toml"
    path.write_text(JET.replace('"apec"', '"double_flux"'))
    assert main([str(path), "--folder", str(tmp_path)]) == 1

    told = capsys.readouterr().err.splitlines()[-1]
    assert "[mixture] options: phases = 'equilibrium' needs [numerics] scheme = 'apec'" in told
