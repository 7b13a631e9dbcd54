"""Organisations of CUDA launches: every candidate gives the same values, and the table that tuning writes gives back
what was measured to be fastest.

On the stand-in that runs CUDA on the CPU (cuda_on_cpu): times mean nothing there, values do.
"""

import types

import pytest
from device_for_tests import be  # noqa: F401  the backend: the stand-in, or a GPU with -m gpu

from frame.tools import cli, tables_in_use
from frame.tools.bench import inputs, organisations
from kernels import Mixture, get_backend, registry, resolve
from kernels.engine.errors import ArgumentError, BackendError
from kernels.engine.tune import Outcome
from kernels.gas import launches
from kernels.gas.plan import Launch
from kernels.gas.program import Program, Wanted
from kernels.gas.records import Running
from kernels.gas.schedules import schedule_of_plan

FEW = {
    3: [Launch(64, blocks=4, pairs=2), Launch(64, blocks=4, pairs=5, constants="shared")],
    27: [
        Launch(64, hold="reload", unroll=4, blocks=4, pairs=10, constants="shared"),
        Launch(64, hold="shared", unroll=10, blocks=2, pairs="units", constants="shared"),
        Launch(32, hold="reload", unroll=4, blocks=1, pairs=10, constants="shared", persistent=True),
        Launch(32, hold="shared", unroll=10, blocks=1, pairs="units", constants="shared", persistent=True),
    ],
}


@pytest.mark.parametrize("ns", FEW)
@pytest.mark.parametrize("takahashi", ["off", "smooth"])
@pytest.mark.quick(takahashi="smooth", ns=3)
def test_the_written_table_gives_back_what_was_measured(be, ns, takahashi, tmp_path, monkeypatch, capsys):  # noqa: F811
    """For the mixture it was measured with; for other species, structures and sweeps nothing changes."""
    mix = inputs.mixture(ns, "dense", takahashi=takahashi)
    monkeypatch.setattr(launches, "candidates", lambda n: FEW[n])
    monkeypatch.setattr(organisations.kernels, "get_backend", lambda name: be)
    file = tmp_path / "deep" / "launches.csv"
    given = types.SimpleNamespace(backend=None, points=130, collections=["viscous"], out=file)
    organisations.tune(given, mix)
    said = capsys.readouterr().out

    assert said.count("Gpoint/s") == len(FEW[ns]) + 1 and "left out" not in said, said
    assert f"set FRAME_LAUNCHES={file}" in said

    fastest = said.splitlines()[2].split("Gpoint/s")[1].split("  (in force)")[0].strip()

    def how(mixture, name="viscous", precision="double"):
        c = registry.collections[name]
        return launches.chosen(resolve(c.outputs, c.given, mixture.options), mixture, precision, be.product)

    others = [inputs.mixture(ns, "none", takahashi=takahashi), inputs.mixture(ns + 1, "dense", takahashi=takahashi)]
    asked = [
        *((o, "viscous", "double") for o in others),
        (mix, "thermal_viscous", "double"),
        (mix, "viscous", "single"),
    ]

    before = [how(*one) for one in asked]
    monkeypatch.setenv("FRAME_LAUNCHES", str(file))

    assert launches.text(how(mix)) == fastest
    assert [how(*one) for one in asked] == before

    c = registry.collections["viscous"]
    assert launches.text(Program(mix, Wanted(c.outputs, c.given), backend=be).plan.how) == fastest

    row = launches.read(file)[0]
    assert (row.device, row.compiler, row.ns) == (be.product, be.compiler, ns) and len(row.date) == 10
    assert launches.read(file)[1:] == launches.read(launches.COMMITTED)

    if ns == 3:
        organisations.tune(given, mix)  # measured anew: the row is replaced
    assert len(launches.read(file)) == len(launches.read(launches.COMMITTED)) + 1

    monkeypatch.setattr(tables_in_use.kernels, "get_backend", lambda name: be)
    told = dict(tables_in_use.launch_table(mix))

    assert str(file) in told["launches"] and "FRAME_LAUNCHES" in told["launches"]
    assert told["  viscous"].startswith(f"line 2, of {ns} species: threads=") and "line 2," not in told["  thermal"]


@pytest.mark.parametrize("equation", ["pr", "rkpr", "ideal"])
@pytest.mark.parametrize("ns", [1, 10, 53])
def test_a_derived_number_costs_what_its_formula_costs(ns, equation):
    """Slopes of e and s hold no numbers of the species: thermal is organised with them as it is without."""
    mix, thermal = inputs.mixture(ns, "none", equation=equation), registry.collections["thermal"]

    def how(*more):
        order = resolve([*thermal.outputs, *more], thermal.given, mix.options)
        return launches.chosen(order, mix, "double", "NVIDIA H200")

    assert how("e_p", "e_T", "s_p", "s_T") == how()
    assert how("h_Y") != how() or ns == 53


def test_a_wrong_organisation_is_left_out(be, monkeypatch):  # noqa: F811
    mix, c = inputs.mixture(3, "none", takahashi="off"), registry.collections["viscous"]
    monkeypatch.setattr(launches, "candidates", lambda n: [Launch(64, blocks=4)])
    right = Program.bind

    def wrong(self, arrays):
        run = right(self, arrays)
        if self.plan.how.threads != 64 or "mu" not in arrays:
            return run

        def spoilt(n):
            run(n)
            arrays["mu"][...] = arrays["mu"] * 1.001

        return spoilt

    monkeypatch.setattr(Program, "bind", wrong)
    outcomes = organisations.tune_collection(be, mix, c, 130)
    assert [o.seconds is None for o in outcomes] == [False, True] and "differ by 1.0e-03" in outcomes[1].why


def test_collections_that_sweep_alike_share_the_best():
    """The least product of times; what is wrong in one is never taken."""
    a, b, c = (Launch(threads) for threads in (32, 64, 128))
    several = [
        [Outcome(a, 1.0), Outcome(b, 2.0), Outcome(c, 0.1)],
        [Outcome(b, 1.0), Outcome(a, 4.0), Outcome(c, None)],
    ]

    assert organisations.best(several) == b
    with pytest.raises(BackendError, match="nothing is written"):
        organisations.best([[Outcome(a, 1.0)], [Outcome(a, None)]])


def table(*rows):
    made = []
    for sweeps, when, ns, threads, device in rows:
        conditions = tuple((k, tuple(v.split("|"))) for k, v in (word.split("=") for word in when.split()))
        made.append(launches.Row(frozenset(sweeps.split()), conditions, ns, Launch(threads), device, "", ""))
    return made


def test_the_rules_of_the_table():
    """The first that serves, then the device, then the nearest number of species."""
    rows = table(
        ("only pairs", "", 10, 1, "A"),
        ("pairs", "precision=single", 4, 2, "A"),
        ("pairs", "", 4, 3, "A"),
        ("pairs", "", 16, 4, "A"),
        ("pairs", "", 16, 7, "B"),
        ("", "k_ij=none|dense", 10, 5, "B"),
        ("", "", 10, 6, "A"),
    )

    def threads(sweeps, ns, precision="double", k_ij="none", device="A"):
        mixture = types.SimpleNamespace(ns=ns, options={}, facts={"k_ij": k_ij})
        kernel = types.SimpleNamespace(name="k", running=Running(sweeps=sweeps), reads=(), writes=())
        return launches.chosen([kernel], mixture, precision, device, rows).threads

    assert threads("pairs", 10) == 1 and threads("pairs root", 10) == 4
    assert threads("pairs", 11, "single") == 2
    assert [threads("pairs", ns) for ns in (1, 7, 8, 9, 100)] == [3, 3, 4, 4, 4]  # 8 is as near to 4 as to 16
    assert threads("", 10, device="B") == 5 and threads("", 10, k_ij="sparse", device="B") == 6
    assert threads("pairs", 4, device="B") == 7  # the only one of the device that is for such programs
    assert threads("pairs", 4, "single", device="B") == 2  # for these there is one of another device
    assert threads("pairs", 4, device="C") == 3 and threads("root", 10) == 5
    with pytest.raises(ArgumentError, match="no row for sweeps none"):
        launches.chosen([], types.SimpleNamespace(ns=1, options={}, facts={}), table=rows[:4])


@pytest.mark.parametrize(
    "arch, react, rates", [("sm_90", "lanes", "crew"), ("sm_80", "shared", "crew"), ("sm_86", "shared", "shared")]
)
def test_a_device_with_less_shared_memory_has_a_thread_a_point(monkeypatch, arch, react, rates):
    """GRI-3.0 needs 224 KiB for a block of lanes, 112 for a crew. No compiler is needed: the plan says how."""
    there = get_backend("cuda", arch=arch)
    monkeypatch.setattr(there, "compile", lambda source: None)
    monkeypatch.delenv("FRAME_LAUNCHES", raising=False)
    mixture = Mixture.from_yaml("gri30.yaml", equation="ideal", takahashi="off")

    for name, hold in (("react_volume", react), ("kinetics", rates)):
        c = registry.collections[name]
        plan = Program(mixture, Wanted(c.outputs, c.given), backend=there).plan
        assert plan.launch.hold == hold and schedule_of_plan(plan).shape(plan).shared <= there.shared_memory, (
            name,
            plan.launch,
        )
        asked = Program(mixture, Wanted(c.outputs, c.given), backend=there, how=Launch(256, "reload")).plan
        assert asked.launch == Launch(256, "reload")

    rows = launches.read(launches.COMMITTED)
    kernels = resolve(["omega"], ["T", "p", "rho", "Y"], mixture.options)
    first, tight = (launches.serving(kernels, mixture, table=rows, memory=memory) for memory in (0, 1024))

    assert tight == first  # where none fits, the launch says what it needs and what there is


def test_tables_come_back_and_are_checked(tmp_path, monkeypatch):
    """A table that is read and written again has the same text. A wrong line is named."""
    rows, file = launches.read(launches.COMMITTED), tmp_path / "t.csv"
    launches.write(file, rows)
    assert file.read_text() == launches.COMMITTED.read_text()

    lines = file.read_text().splitlines()
    lines[3] = lines[3].replace(",True,", ",No,")
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("\n".join(lines))
    monkeypatch.setenv("FRAME_LAUNCHES", str(wrong))

    with pytest.raises(ArgumentError, match="wrong.csv, line 4: 'No'; wanted the columns sweeps, when, ns"):
        launches.read(launches.in_force())
    monkeypatch.setenv("FRAME_LAUNCHES", str(tmp_path / "none.csv"))
    with pytest.raises(ArgumentError, match="no table of launches"):
        launches.read(launches.in_force())

    facts = {"precision", "k_ij", "crew", "lanes"}
    assert {key for row in rows for key, _ in row.when} <= {*Mixture(inputs.species(1)).options, *facts}


def test_candidates_fit_a_multiprocessor():
    for ns in (1, 4, 12, 13, 24, 25, 53):
        hows = launches.candidates(ns)
        assert len(set(hows)) == len(hows) and all(how.threads * how.blocks <= 1024 for how in hows)


def test_unknown_collection(monkeypatch):
    given = types.SimpleNamespace(backend=None, points=None, collections=["thermic"], out=None)
    monkeypatch.setattr(organisations.kernels, "get_backend", lambda name: types.SimpleNamespace(style="threads"))
    with pytest.raises(ArgumentError, match="thermic.*known: .*thermal"):
        organisations.tune(given, None)

    monkeypatch.undo()
    assert cli.main(["tune", "--mixture", "examples/mixtures/n2.yaml", "--backend", "cpu"]) == 1
