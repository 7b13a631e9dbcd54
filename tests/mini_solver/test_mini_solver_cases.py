"""Cases of the mini solver: those that are shipped, wrong ones, random damage, formulas, the command's words."""

import copy
import io
import re

import numpy as np
import pytest
from mini_solver_runs import SMALL, changed_case, restart_of, small
from mixtures_for_tests import ROOT

from examples.mini_solver.__main__ import main, split
from examples.mini_solver.case import Case
from examples.mini_solver.changes import change
from examples.mini_solver.effects import without_effect
from examples.mini_solver.errors import CaseError, FlowError
from examples.mini_solver.expression import Expression
from examples.mini_solver.flow import Flow
from examples.mini_solver.mixtures import untranslated
from examples.mini_solver.run import Run
from examples.mini_solver.verify.tools import lost
from kernels import ArgumentError, Mixture
from kernels.engine.errors import FrameError, MixtureError

CASES = sorted((ROOT / "examples/mini_solver/cases").glob("*.toml"))


def test_misuse_of_boundaries_and_schemes_is_told(tmp_path):
    def lines(**data):
        out = io.StringIO()
        base = dict(mixture={"file": "examples/mixtures/n2.yaml"}, time={"steps": 3}, output={"report": 1})
        assert Run(Case(base | data), folder=tmp_path, out=out, overwrite=True)() == 0

        return out.getvalue()

    wrong = lines(
        domain=dict(cells=[16], upper=[1.0]),
        initial=dict(T=300, p=5e6, u=30),
        boundary={"x": "supersonic_outlet"},
    )

    assert (
        "warning: [boundary] x_low: flow enters through 1 faces of kind supersonic_outlet" in wrong
        and "x_high" not in wrong
    )
    tube = dict(rho="where(x < 0.5, 800.0, 80.0)", p="where(x < 0.5, 60e6, 6e6)")
    apec = dict(scheme="apec", dissipation="always")
    closed = dict(domain=dict(cells=[40], upper=[1.0]), boundary={"x": "slip_wall"})
    assert "warning: rho c^2/p changes by a factor of" in lines(initial=tube, numerics=apec, **closed)
    assert "warning" not in lines(initial=tube, **closed)
    assert "warning" not in lines(initial=dict(T="300 - 5*sin(2*pi*x)", p=5e6), numerics=apec, **closed)


def test_a_mixture_beside_the_case_file(tmp_path, monkeypatch):
    """The file beside the case comes before one of that name in the working folder."""
    (tmp_path / "case").mkdir()
    text = (ROOT / "examples/mixtures/n2.yaml").read_text()
    (tmp_path / "case/mine.yaml").write_text(text)
    (tmp_path / "mine.yaml").write_text("nothing")
    case = '[mixture]\nfile = "mine.yaml"\n[domain]\ncells = [6]\nupper = [1.0]\n[initial]\nT = 300\np = 5e6\n'
    (tmp_path / "case/it.toml").write_text(case + "[time]\nsteps = 1\n")
    monkeypatch.chdir(tmp_path)
    assert Case.from_file("case/it.toml").make_mixture().names == ("N2",)


def brought(**mixture) -> Case:
    """A case of few cells with this section [mixture]."""
    return Case(
        dict(
            mixture=mixture,
            domain=dict(cells=[6], upper=[1.0]),
            initial=dict(T=300, p=5e6),
            boundary={"x": "periodic"},
            time={"steps": 1},
        )
    )


def test_species_without_a_file_are_those_the_layer_brings():
    """The same numbers as those of the shipped file, copies as tracers included, by a usual name of a species."""
    mix = brought(species=["N2", "methane", "N2"]).make_mixture()
    wanted = Mixture.from_yaml(ROOT / "examples/mixtures/ch4_o2.yaml").species.subset(["CH4"])

    assert mix.names == ("N2", "CH4", "N2_2")
    assert mix.species.Tc[0] == mix.species.Tc[2]
    np.testing.assert_array_equal(mix.species.Tc[1:2], wanted.Tc)


@pytest.mark.parametrize(
    "mixture, words",
    [
        ({}, r"\[mixture\]: give file .*; none of them came"),
        ({"file": "n2.yaml", "ideal_gas": {"gamma": 1.4}}, "one of them; file and ideal_gas came"),
        ({"species": ["C4H10"]}, "species 'C4H10' may be any of NC4H10, IC4H10"),
        ({"species": ["CH4"], "phase": "gas"}, r"\[mixture\] phase = 'gas': belongs to a file, and no file is given"),
        ({"species": ["CH4"], "without": ["O2"]}, r"\[mixture\] without = \['O2'\]: belongs to a file"),
    ],
)
def test_mixtures_without_a_source(mixture, words):
    with pytest.raises((CaseError, ArgumentError), match=words):
        brought(**mixture).make_mixture()


def test_shipped_cases_are_read():
    """All of them; make test starts those whose programs compile soon."""
    assert all(Case.from_file(path).make_mixture().names for path in CASES)


def duct(tmp_path, boundary, **initial):
    """The lines of a run of three steps between these boundaries."""
    data = dict(
        mixture={"file": "examples/mixtures/n2.yaml"},
        domain=dict(cells=[16], upper=[1.0]),
        initial=dict(T=300, p=5e6) | initial,
        boundary=boundary,
        time={"steps": 3},
        output={"report": 1, "last": False},
    )
    out = io.StringIO()
    assert Run(Case(data), folder=tmp_path, out=out)() == 0

    return out.getvalue()


def test_a_boundary_that_cannot_be_met_is_named(tmp_path):
    """Sound is some 360 m/s fast: 500 m/s through sides for slower flow, 100 m/s through a side for faster flow."""
    fast, slow = [500.0, 0, 0], [100.0, 0, 0]
    given = dict(T=300.0, p=5e6)
    right = {"x_low": dict(kind="supersonic_inlet", velocity=fast, **given), "x_high": "supersonic_outlet"}
    assert "warning" not in duct(tmp_path, right, u=500)

    text = duct(tmp_path, right | {"x_high": {"kind": "outlet", "p": 5e6}}, u=500)
    assert "x_high: flow leaves faster than sound through 1 faces of kind outlet" in text and "x_low" not in text

    text = duct(tmp_path, right | {"x_low": dict(kind="inlet", T=300.0, velocity=fast)}, u=500)
    assert "x_low: flow enters faster than sound through 1 faces of kind inlet" in text and "x_high" not in text

    subsonic = {"x_low": dict(kind="supersonic_inlet", velocity=slow, **given), "x_high": {"kind": "outlet", "p": 5e6}}
    assert "x_low: flow enters slower than sound through 1 faces of kind supersonic_inlet" in duct(
        tmp_path, subsonic, u=100
    )


def test_an_inlet_without_a_state_is_named(tmp_path):
    """An enthalpy that no temperature gives: the side is named, not the cell beside it."""
    inlet = dict(kind="inlet", h=-1e9, velocity=[30.0, 0, 0])
    with pytest.raises(FlowError, match=r"\[boundary\] x_low: cannot be met: 1 faces have no state"):
        duct(tmp_path, {"x_low": inlet, "x_high": {"kind": "outlet", "p": 5e6}}, u=30)


@pytest.mark.parametrize("path", CASES, ids=lambda p: p.stem)
@pytest.mark.quick(
    path=["interface_n2.toml", "shear_layer_long.toml", "shear_layer_lox_ch4.toml", "shock_tube_n2.toml", "sod_n2.toml"]
)
def test_shipped_cases_start(path):
    """Each shipped case is read, set up on a coarse grid and takes three steps."""
    case = Case.from_file(path)
    data = copy.deepcopy(case.data)
    data["domain"]["cells"] = [min(n, 24) for n in data["domain"]["cells"]]
    f = Flow(Case(data, path.parent, path.stem))
    for _ in range(3):
        f.step()
    assert all(np.isfinite(f.field(n)).all() for n in ("rho", "p", "T", "u"))


GOOD = dict(
    mixture={"file": "examples/mixtures/ch4_o2.yaml", "species": ["CH4", "O2"]},
    domain={"cells": [8, 8], "upper": [1.0, 1.0]},
    initial={"T": 300, "p": 1e7, "X": {"CH4": 1}},
    time={"steps": 1},
)


@pytest.mark.parametrize(
    "change, told",
    [
        ({"extra": {}}, "unknown section or key 'extra'"),
        ({"domain.cells": [8, 2]}, "4 or more"),
        ({"domain.cells": "8"}, "wanted 1 to 3 whole numbers"),
        ({"domain.cells": [10**6, 10**6]}, "takes .* GiB, the machine has"),
        ({"boundary": {"x": {"kind": ["wall"]}}}, "wanted one of"),
        ({"initial.X": {"CH4": float("inf"), "O2": "rest"}}, "wanted a finite number"),
        ({"domain.upper": [1.0]}, "wanted 2 numbers"),
        ({"domain.upper": [1.0, -1.0]}, "lower < upper"),
        ({"domain.upper": [1.0, "a"]}, "wanted 2 numbers"),
        ({"numerics.scheme": "magic"}, "wanted one of double_flux, apec"),
        ({"numerics.scheme": "doubleflux"}, "did you mean 'double_flux'"),
        ({"numerics.order": 5}, "wanted one of 4, 6"),
        ({"numerics.order": "4"}, "order = '4'; wanted one of 4, 6"),
        ({"numerics.cfl": -1}, "a positive number"),
        ({"numerics.cfl": 1.1}, "unstable beyond 1.09"),
        ({"numerics.cfl": 1.4, "numerics.runge_kutta": "ssp43"}, "unstable beyond 1.36"),
        ({"numerics.time_step": 1.0}, r"time_step = 1 s is CFL .* at the start"),
        ({"initial.T": 5}, "lowest temperature 5 K; the models end at 20 K"),
        ({"initial.T": "300 + t"}, "has t, but this formula is of x, y, z alone"),
        ({"numerics.schema": "apec"}, "unknown key 'schema', did you mean 'scheme'"),
        ({"boundary": {"x": "inlte"}}, "kind 'inlte', did you mean 'inlet'"),
        ({"output.frame_limits": {"T": [1, 2]}}, "'T' is not drawn"),
        (
            {"boundary": {"x_low": [{"kind": "wall"}, {"kind": "slip_wall"}], "x_high": "wall"}},
            "the others need 'where'",
        ),
        (
            {"boundary": {"x_low": [{"kind": "wall", "where": "y < 0.5"}], "x_high": "wall"}},
            "the last boundary of a side takes",
        ),
        (
            {
                "boundary": {
                    "x_low": {"kind": "inlet", "T": 300, "velocity": ["-10*y", 0, 0], "X": {"O2": 1}},
                    "x_high": "wall",
                }
            },
            "points out of the domain",
        ),
        (
            {
                "boundary": {
                    "x_low": [{"kind": "outlet", "p": 1e7, "where": "abs(y - 0.5e-3) < 1e-6"}, {"kind": "wall"}],
                    "x_high": "wall",
                }
            },
            "x_low number 1 has no face",
        ),
        ({"numerics.viscous": 1}, "true or false"),
        ({"numerics.cfll": 1}, "unknown key 'cfll', did you mean 'cfl'; known: scheme"),
        ({"mixture.file": "nowhere.yaml"}, "nowhere.yaml': not found"),
        ({"mixture.species": ["CH4", "Xe"]}, "Xe"),
        ({"mixture.options": {"root": "solid"}}, "root"),
        ({"mixture.options": {"translation": "peneloux"}}, "translation = 'peneloux'"),
        (
            {"mixture.options": {"mixing": "pseudocritical", "alpha": "published"}},
            "mixing = 'pseudocritical'; the solver's kernels know 'vdw' only",
        ),
        ({"mixture.ideal_gas": {"gamma": 1.4}}, "one of them"),
        ({"initial.T": "300 +"}, "is not an expression"),
        ({"initial.T": "__import__('os')"}, "only the functions|not allowed|unknown name"),
        ({"initial.T": "x.real"}, "not allowed"),
        ({"initial.T": "[1, 2]"}, "not allowed"),
        ({"initial.T": "theta"}, "unknown name 'theta'"),
        ({"initial.T": "1/x*0 + log(-1)"}, "not finite"),
        ({"initial.T": -5}, "wanted positive"),
        ({"initial.rho": 5}, "two of T, p and rho"),
        ({"domain.stretch": {"z": "s"}}, "unknown direction 'z' in 2-D"),
        ({"domain.stretch": {"x": "-s"}}, "stretch x: the formula falls from -0 at s = 0 to -1"),
        ({"domain.stretch": {"x": "s + 0.5*sin(6*pi*s)"}}, "the width of cell . would be -.* wanted a formula that"),
        ({"domain.stretch": {"x": "y"}}, "unknown name 'y'"),
        ({"domain.stretch": {"x": ["s"]}}, "a finite number or an expression in s"),
        ({"domain.axisymmetric": True}, "y: periodic and periodic, around an axis; the axis itself wants"),
        ({"domain.axisymmetric": True, "domain.lower": [0, -1]}, "lower is -1 m in y, wanted 0 or more"),
        ({"domain.axisymmetric": True, "domain.lower": [0, 0.5]}, "a radius is not periodic"),
        ({"domain.axisymmetric": True, "domain.cells": [8], "domain.upper": [1.0]}, "wanted 2 directions"),
        (
            {"domain.axisymmetric": True, "boundary": {"y": "slip_wall"}, "initial.w": 3},
            "a velocity of 3 around the axis",
        ),
        ({"initial.X": {"Xe": 1}}, "'Xe' is not in the mixture"),
        ({"initial.X": {"CH5": 1}}, "which has CH4, O2, did you mean 'CH4'"),
        ({"initial.X": {"ch4": 1, "CH4": 0}}, "species 'CH4' is given more than once"),
        ({"mixture": {"ideal_gas": {"gama": 1.4}}}, "unknown key 'gama', did you mean 'gamma'"),
        ({"boundary": {"x": {"knd": "wall"}}}, "x_low: unknown key 'knd', did you mean 'kind'"),
        ({"boundary": {"x": {"T": 300.0}}}, "x_low: 'kind' is missing"),
        ({"initial.X": {"CH4": 0.5}}, 'sum 1; of one species "rest" may stand'),
        ({"initial.X": {"CH4": "rest", "O2": "rest"}}, "wanted for one species"),
        ({"initial.X": {"CH4": 1.5, "O2": "rest"}}, "fractions range"),
        ({"initial.X": {}}, "X or Y is missing"),
        ({"boundary": {"z": "periodic"}}, "unknown side 'z' in 2-D"),
        ({"boundary": {"x": "wallpaper"}}, "kind 'wallpaper'"),
        ({"boundary": {"x_low": "slip_wall"}}, "wanted both or none"),
        ({"boundary": {"x": "slip_wall", "x_low": "wall"}}, "both 'x' and 'x_low'"),
        ({"boundary": {"x_low": {"kind": "inlet", "velocity": [1, 0, 0]}, "x_high": "supersonic_outlet"}}, "T or h"),
        (
            {"boundary": {"x_low": {"kind": "inlet", "T": 300, "velocity": [1, 0]}, "x_high": "supersonic_outlet"}},
            "wanted 3 numbers",
        ),
        (
            {"boundary": {"x_low": {"kind": "inlet", "T": 300, "velocity": [1, 0, 0]}, "x_high": "supersonic_outlet"}},
            "X or Y is missing",
        ),
        ({"boundary": {"x_low": "supersonic_outlet", "x_high": {"kind": "outlet"}}}, "'p' is missing"),
        ({"time": {}}, "give end"),
        ({"time.steps": -1}, "0 or more"),
        ({"parallel.ranks": [2, 2]}, "makes 4 ranks; the run has 1"),
        ({"parallel.backend": "gpu"}, "backend = 'gpu', did you mean 'cuda'; wanted one of"),
        ({"output.frame": ["enstrophy"]}, "unknown field 'enstrophy'"),
        ({"output.report": "often"}, "whole number"),
    ],
)
def test_a_wrong_case_is_told(change, told):
    with pytest.raises(FrameError, match=told):
        Run(Case(changed_case(GOOD, change)), out=io.StringIO())


def test_species_in_other_letters_and_by_usual_names(tmp_path):
    """As compositions of the layer take them: in the initial state, at sides, also with formulas of t, and in subsets
    of a file."""
    fields = []
    for one, other in (("CH4", "O2"), ("ch4", "oxygen")):
        inlet = dict(kind="inlet", T=300, velocity=[1, 0, 0], X={one: "0.1 + 0*t", other: "rest"})
        data = GOOD | dict(
            mixture={"file": "examples/mixtures/ch4_o2.yaml", "species": [other, one]},
            initial={"T": 300, "p": 1e7, "X": {one: 0.5, other: "rest"}},
            boundary={"x_low": inlet, "x_high": {"kind": "outlet", "p": 1e7}},
            output={"last": False},
        )
        run = Run(Case(data), folder=tmp_path, out=io.StringIO())
        assert run() == 0 and run.flow.mixture.names == ("O2", "CH4")
        fields.append([run.flow.field(name) for name in ("Y_CH4", "Y_O2", "rho", "T")])

    for named, otherwise in zip(*fields):
        assert np.array_equal(named, otherwise)


def test_random_damage_gives_a_message_and_nothing_else(tmp_path):
    """A shipped case with characters lost, doubled or swapped: it is read, or refused with the project's own error."""
    text = (ROOT / "examples/mini_solver/cases/shear_layer_lox_ch4.toml").read_text()
    random, outcomes = np.random.default_rng(4), {"read": 0, "refused": 0}
    for _n in range(400):
        damaged = list(text)
        for _ in range(random.integers(1, 4)):
            at = int(random.integers(len(damaged)))
            damaged[at : at + 1] = [[], damaged[at] * 2, chr(int(random.integers(32, 127)))][
                int(random.integers(3))
            ] or []

        path = tmp_path / "damaged.toml"
        path.write_text("".join(damaged))

        try:
            Case.from_file(path)
            outcomes["read"] += 1
        except FrameError:
            outcomes["refused"] += 1

    assert min(outcomes.values()) > 20, outcomes


FUZZED = dict(
    GOOD,
    initial={"T": "300 + 20*x", "p": 1e7, "u": 30.0, "X": {"CH4": 0.5, "O2": "rest"}, "constants": {"k": 2.0}},
    numerics={"cfl": 0.5, "viscous": False, "scheme": "double_flux", "threshold": 0.4},
    boundary={
        "x_low": {"kind": "inlet", "T": 300.0, "velocity": [30, 0, 0], "X": {"CH4": 0.5, "O2": 0.5}},
        "x_high": {"kind": "outlet", "p": 1e7, "sigma": 0.3},
        "y": {"kind": "wall", "T": 310.0},
    },
    time={"steps": 2},
    parallel={"ranks": [1, 1]},
    output={"report": 1, "frame": ["rho"]},
)


WRONG = (
    -1,
    0,
    1,
    3,
    5,
    1e-300,
    1e300,
    -1e9,
    10**30,
    float("nan"),
    float("inf"),
    True,
    None,
    "",
    "x",
    "nonsense",
    "1/0*x",
    "exp(1e9)",
    "x(",
    "rest",
    [],
    [0],
    [1, 2, 3, 4],
    [-1.0, 1.0],
    [10**6, 10**6],
    ["a", 1],
    [[1], 2],
    {},
    {"kind": "outlet"},
    {"CH4": 1},
    {"O2": "rest", "CH4": "2*x"},
    {"a": {"b": 1}},
)


def places(data):
    """Every place in a nested table: (table, key)."""
    for key, value in data.items():
        yield data, key
        if isinstance(value, dict):
            yield from places(value)


@pytest.mark.parametrize("seed, count", ((4, 100), (3, 300)))
@pytest.mark.quick(count=100)
def test_random_values_give_a_message_or_a_flow(tmp_path, seed, count):
    """Values of any kind anywhere in a case, keys lost or invented: a run that ends, or the project's own error, told
    in words."""
    random, outcomes = np.random.default_rng(seed), {"ran": 0, "refused": 0, "failed": 0}
    for _n in range(count):
        data = copy.deepcopy(FUZZED)
        for _ in range(random.integers(1, 3)):
            everywhere = list(places(data))

            table, key = everywhere[random.integers(len(everywhere))]
            match random.integers(6):
                case 0:
                    del table[key]
                case 1:
                    table[f"{key}_"] = table.pop(key)
                case 2 | 3 if isinstance(table[key], float):
                    table[key] *= 10 ** random.uniform(-2, 1)
                case _:
                    table[key] = WRONG[random.integers(len(WRONG))]

        try:
            outcomes[
                "ran"
                if Run(Case(copy.deepcopy(data)), folder=tmp_path, out=io.StringIO(), overwrite=True)() == 0
                else "failed"
            ] += 1
        except FlowError:
            outcomes["failed"] += 1
        except FrameError as error:
            assert len(str(error)) > 20, data
            outcomes["refused"] += 1
        except Exception as error:
            raise AssertionError(f"{type(error).__name__}: {error} from {data}") from error

    assert outcomes["ran"] > count / 30 and outcomes["refused"] > count / 3, outcomes


def test_the_command_tells_and_exits(tmp_path, capsys):
    assert main([str(tmp_path / "none.toml")]) == 1
    assert "No such file" in capsys.readouterr().err
    (tmp_path / "bad.toml").write_text("[domain\n")
    assert main([str(tmp_path / "bad.toml")]) == 1
    assert "not TOML" in capsys.readouterr().err
    assert main(["verify", "--only", "nothing"]) == 1
    assert "known: interface" in capsys.readouterr().err


def test_ctrl_c_before_the_first_step_is_a_line(tmp_path, capsys, monkeypatch):
    """While kernels are compiled, say: no traceback through the compiler's wrapper."""

    def interrupted(*_given, **_more):
        raise KeyboardInterrupt

    monkeypatch.setattr("examples.mini_solver.run.Flow", interrupted)
    case = ROOT / "examples/mini_solver/cases/sod_n2.toml"

    assert main([str(case), "--folder", str(tmp_path / "out")]) == 3
    assert capsys.readouterr().err == "python -m examples.mini_solver: stopped by Ctrl-C.\n"


def test_a_case_file_of_another_editor(tmp_path):
    """A mark of the byte order, ends of lines of another system, and a title in UTF-8 whatever the locale is."""
    path = tmp_path / "case.toml"
    text = 'title = "Düse"\n' + SMALL.format(steps=1, restart=0, scheme="apec")
    path.write_bytes(text.replace("\n", "\r\n").encode("utf-8-sig"))
    assert Case.from_file(path).title == "Düse"


def test_help_is_of_the_command_that_was_asked_for(capsys):
    """The options of a case do not stand in the help of verify and scaling, nor the other way round."""
    known = {"--help": ("--restart", "--quick"), "verify --help": ("--quick", "--restart")}
    known["--quick verify --help"] = known["verify --help"]
    known["scaling --help"] = "--steps", "--overwrite"
    for words, (shown, left_out) in known.items():
        with pytest.raises(SystemExit, match="0"):
            main(words.split())
        text = capsys.readouterr().out
        assert shown in text and left_out not in text, words

    assert split(["a.toml", "--folder", "verify"]) == ("", ["a.toml", "--folder", "verify"])


def test_keys_of_a_case_by_the_command(tmp_path, capsys):
    case = small(tmp_path, restart=1)
    changes = ("time.steps=1", "numerics.time_step=1e-9", "output.report=1")
    assert main([str(case), "--folder", str(tmp_path / "out"), *(w for c in changes for w in ("--set", c))]) == 0
    state = restart_of(tmp_path / "out")
    assert state["steps"] == 1 and state["dt"] == 1e-9

    for text, told in (
        ("numerics.scheme=apec", "texts in quotes"),
        ("numerics=1", "wanted a table"),
        ("time.steps.more=1", "not a table"),
        ("numerics.cfll=1", "unknown key 'cfll'"),
    ):
        assert main([str(case), "--set", text]) == 1
        assert told in capsys.readouterr().err


def test_a_key_of_the_command_replaces_the_whole_value():
    """A table in the place of a table: nothing of the case's own is left in it."""
    data = {"mixture": {"species": ["N2"], "options": {"equation": "pr"}}, "boundary": {"x_low": {"sigma": 0.3}}}
    change(data, ['mixture.options={viscosity="chung"}', 'boundary.x_low={kind="wall"}', 'initial."X=Y"=1'])
    assert data == {
        "mixture": {"species": ["N2"], "options": {"viscosity": "chung"}},
        "boundary": {"x_low": {"kind": "wall"}},
        "initial": {"X=Y": 1},
    }
    for text in ("", "time.steps", "# time.steps=1", "time.steps=1\ntime.end=2"):
        with pytest.raises(CaseError, match="wanted section.key=value"):
            change({}, [text])


SOME = {"domain": dict(cells=[6], upper=[1.0]), "initial": dict(T=300, p=5e6), "mixture": {"species": ["N2"]}}
IDLE = {  # section: ({key: value}, what makes it count)
    "numerics": [
        ({"freeze": "stage", "scheme": "apec"}, {"scheme": "double_flux"}),
        ({"threshold": 0.3, "dissipation": "always"}, {"dissipation": "sensor"}),
        ({"transport": "step"}, {"viscous": True}),
        ({"cfl": 0.3, "time_step": 1e-9}, {"time_step": 0.0}),
    ],
    "chemistry": [({"rtol": 1e-3}, {"kind": "volume"})],
    "output": [
        ({"probes": [[0.5]]}, {"history": 1}),
        ({"averages_from": 1.0}, {"averages": 1}),
        ({"precision": "double"}, {"fields_time": 1.0}),
        ({"quantities": ["c"]}, {"fields": 1}),
        ({"frame": ["T"]}, {"frames": 1}),
    ],
}


@pytest.mark.parametrize("section, keys, needed", [(name, *pair) for name, pairs in IDLE.items() for pair in pairs])
def test_keys_without_effect_are_told(section, keys, needed):
    """By name, with the key that they need; not where that key is there, or is off by the case itself."""
    key = next(iter(keys))
    case = Case({**SOME, "time": {"steps": 1}, section: keys})
    (told,) = without_effect(case)
    assert told.startswith(f"[{section}] {key}: no effect; wanted [{section}] ") and next(iter(needed)) in told
    assert not list(without_effect(Case({**SOME, "time": {"steps": 1}, section: keys | needed})))


def test_a_key_whose_switch_is_off_is_not_told():
    off = {"frames": 0, "frame": ["T"], "history": 0, "probes": [[0.5]]}
    numerics = {"viscous": False, "transport": "step"}
    case = Case({**SOME, "time": {"steps": 1}, "output": off, "numerics": numerics, "transport": {"mu": 1e-5}})
    assert not list(without_effect(case))


def test_expressions_are_formulas_only():
    e = Expression("a*sin(x) + where(y > 0, 1, 2)", {"a": 2.0}, "here")
    x, y = np.linspace(0, 1, 5).reshape(1, 1, 5), np.array([-1.0, 1.0]).reshape(1, 2, 1)
    assert np.allclose(e([x, y, np.zeros((1, 1, 1))]), 2 * np.sin(x) + np.where(y > 0, 1, 2))


def test_the_default_models_are_the_layers(monkeypatch):
    """Without a choice: equation mapped where a species has a row; else Peng-Robinson, untranslated, as the solver's
    kernels need it."""
    monkeypatch.delenv("FRAME_ACCURACY")
    given = dict(domain=dict(cells=[8], upper=[1e-3]), initial=dict(T=300.0, p=1e6, X={"O2": 1.0}), time=dict(steps=1))
    file = str(ROOT / "examples/mixtures/ch4_o2.yaml")
    mixture = Case(given | {"mixture": {"file": file}}).make_mixture()
    assert mixture.options["equation"] == "mapped"

    translated = Mixture.from_names("CH4 O2", equation="pr", translation="fitted")
    assert untranslated(translated).options == {**translated.options, "translation": "none"}
    assert untranslated(mixture) is mixture


def test_a_flow_of_the_default_models(monkeypatch):
    """Cold O2 with H2O2, which is estimated, in warm H2 at 100 bar, five steps: p and u stay uniform, no mass is lost.
    The bounds are those of the verification."""
    monkeypatch.delenv("FRAME_ACCURACY")
    oxygen = "0.5*(tanh((x - 0.25)/0.02) - tanh((x - 0.75)/0.02))"
    mixture = {"file": str(ROOT / "examples/mechanisms/h2_o2.yaml"), "phase": "real", "species": ["O2", "H2", "H2O2"]}
    start = dict(
        p=1e7, u=60.0, T=f"300 - 180*{oxygen}", X={"O2": f"0.9*{oxygen}", "H2O2": f"0.1*{oxygen}", "H2": "rest"}
    )
    case = Case(dict(mixture=mixture, domain=dict(cells=[100], upper=[1.0]), initial=start, time=dict(steps=5)))

    flow = Flow(case)
    before = flow.sums()
    flow.take(5)

    assert flow.mixture.options["equation"] == "mapped" and "estimated: H2O2" in flow.mixture.words[0]
    assert np.abs(flow.field("p") / 1e7 - 1).max() < 1e-10 and np.abs(flow.field("u") / 60 - 1).max() < 1e-10
    assert lost(flow, before) < 1e-12


def test_options_decide_what_a_file_has_to_have(tmp_path):
    """Species without critical properties: an ideal gas flows; a real gas is refused, unless they are filled. `without`
    leaves a species out before it is read."""
    text = (ROOT / "examples/mechanisms/h2_o2.yaml").read_text()
    text = re.sub(r"  critical-parameters:.*?(?=  thermo:)", "", text, flags=re.S).replace(
        "- name: O\n", "- name: OX\n"
    )
    head, species = text.split("\nspecies:\n")
    path = tmp_path / "bare.yaml"
    path.write_text(head.replace("OH, H, O,", "OH, H, OX,") + "\nspecies:\n" + species.partition("\nreactions:")[0])
    given = dict(
        mixture={"file": str(path), "phase": "ideal", "species": ["O2", "N2"], "options": {"equation": "ideal"}},
        domain=dict(cells=[8], upper=[1e-3]),
        initial=dict(T="1000 + 100*sin(2*pi*x/1e-3)", p=1e5, u=20.0, X={"O2": 0.2, "N2": "rest"}),
        time=dict(steps=3),
    )

    flow = Flow(Case(given))
    flow.take(3)
    rho, T, p = (flow.field(name) for name in ("rho", "T", "p"))
    W = 0.2 * 31.998 + 0.8 * 28.014
    np.testing.assert_allclose(p, rho * 8.31446261815324 * T / (W * 1e-3), rtol=1e-5)  # of the atomic weights

    for options, words in (({}, "critical-parameters is missing"), ({"equation": "rk"}, "critical-parameters")):
        given["mixture"]["options"] = options
        with pytest.raises(MixtureError, match=words):
            Case(given).make_mixture()

    given["mixture"] |= {"options": {"critical": "fill"}, "without": ["OX", "HO2"]}
    assert Case(given).make_mixture().names == ("O2", "N2")
    given["mixture"]["without"] = ["XE"]
    with pytest.raises(MixtureError, match="no species 'XE' to leave out"):
        Case(given).make_mixture()
