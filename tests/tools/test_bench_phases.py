"""`bench phases`: rows, refusal of wrong values."""

import numpy as np
import pytest
from bench_cases import ran
from device_for_tests import be  # noqa: F401  the fixture: a stand-in, or with -m gpu the device

from frame.tools.bench import phase_gases, phase_rivals, phase_targets, phases, report, timing
from frame.tools.cli import main


def test_phases(capsys):
    """A row for each call and rival, both kinds of states; the flash is checked beside those rivals. A field's step
    beside one phase."""
    size = ["--backend", "cpu", "--ns", "2", "--points", "300", "--repeats", "1"]
    rows, shown = ran(capsys, "phases", *size)
    rivals = [rival for rival in phase_rivals.RIVALS if rival.is_installed()]
    field = [row for row in rows if row["case"].startswith("field")]

    assert [row["case"] for row in field] == ["field, T p", "field, e rho", "field, thermal, one phase"]
    assert all(row["rival"] == "thermal, one phase" and row["ratio"] > 0 for row in field[:2])
    assert "other phases than cold: T p 0, e rho 0" in shown

    rows = [row for row in rows if row not in field]
    assert {row["case"] for row in rows} == {f"{c}, {k}" for c in phases.CALLS for k in ("random", "ordered")}
    for call in phases.CALLS:
        for kind in ("random", "ordered"):
            beside = [row["rival"] for row in rows if row["case"] == f"{call}, {kind}" and row["rival"]]
            assert beside == [rival.name for rival in rivals if rival.call == call]

    for row in rows:
        assert tuple(row) == report.KEYS and row["ns"] == 2 and row["seconds"] > 0
        of_two = row["case"].partition(",")[0] in phases.OF_TWO  # two-phase points alone
        assert (row["points"] == 300) != of_two
        if of_two:
            most = 1e-5 if row["rival"] else phases.TOLERANCE_T  # ThermoPack's search ends by its own tolerance
            assert row["max_rel_diff"] < most and 100 < row["points"] < 250
    beside = [row for row in rows if row["rival"]]
    assert all(row["ratio"] > 0 and row["max_rel_diff"] < 1e-3 for row in beside)
    assert "0 not found" in shown and "<= 300 ns a point" in shown


def test_gas_of_a_bench():
    """All species are there with both equations. Equation `mapped` has states of two phases, and no rival."""
    for gas in phase_gases.GASES.values():
        assert gas(max(phases.NS)).mixture().ns == max(phases.NS)

    gas = phase_gases.Mapped(2)
    found = gas.mixture().properties("phases_status", backend="cpu", **gas.states(64, "random"))
    assert gas.rivals("Tp cold") == [] and 0.2 < found["phases_status"].mean() < 0.8


def test_alkanes_of_a_bench():
    """All points at the published state: beta by ThermoPack with these constants, 0.703522418; random states have one
    phase and two. Timed from nothing alone, beside the rivals of Tp."""
    gas = phase_gases.Alkanes()
    mixture = gas.mixture()
    one_state, random = gas.KINDS
    np.testing.assert_allclose(mixture.properties("beta", **gas.states(8, one_state))["beta"], 0.703522418, atol=1e-7)
    two = mixture.properties("phases_status", backend="cpu", **gas.states(64, random))["phases_status"]
    assert gas.CALLS == ("Tp cold",) and 0.05 < two.mean() < 0.5


def test_slope_of_alpha():
    """1978's slope at the omega found is 1976's: written out at 0.574; below 0.491 both are the same equation."""
    omega = phase_rivals.equal_slope(0.574)
    slope = 0.379642 + 1.48503 * omega - 0.164423 * omega**2 + 0.016666 * omega**3
    assert slope == pytest.approx(0.37464 + 1.54226 * 0.574 - 0.26992 * 0.574**2, rel=1e-12)
    assert phase_rivals.equal_slope(0.04) == 0.04


def test_targets_beside_rows():
    """Reached and not, each kind of target; those whose rows a run has not are left out."""
    warm, cold, field = "UV warm, random", "Tp cold, random", "field, T p"
    rows = [
        report.Row.timed("phases", warm, 2, 1000, "cpu", 0.4e-3),
        report.Row.timed("phases", cold, 2, 1000, "cpu", 1e-3).beside("thermo", 1e3, 1e-7),
        report.Row.timed("phases", field, 4, 1000, "cpu", 1e-3).beside(phases.ONE_PHASE, 1e7),
    ]
    rows[0].max_rel_diff = 1e-8
    targets = [
        phase_targets.Pace(warm, 2, 0.3e-6),
        phase_targets.Pace(warm, 10, 0.3e-6),
        phase_targets.Faster(warm, 2, 1000, "thermo", cold),
        phase_targets.Faster(warm, 2, 1000, "feos", cold),
        phase_targets.Units(field, 4, 12),
        phase_targets.Exact(warm, 2, 1e-7, "T"),
        phase_targets.Exact(cold, 2, 1e-8, "beta", "thermo"),
    ]

    head, *lines = phase_targets.beside(rows, 1, targets)
    assert head[-1] == "reached"
    assert [line[2:] for line in lines] == [
        ["0", "1", "no"],
        ["<= 300 ns a point", "400 ns", "no"],
        [">= 1000", "2500", "yes"],
        ["<= 12", "10.0", "yes"],
        ["<= 1e-07", "1.0e-08", "yes"],
        ["<= 1e-08", "1.0e-07", "no"],
    ]


@pytest.fixture
def phase_subject():
    """64 random states of two species with their results at T, p."""
    state = phases.Gas(2).states(64, "random")
    found = phases.Gas(2).mixture().properties(f"vol beta {phases.STATE}", backend="cpu", **state)
    return phases.Subject(phases.Gas(2), "random", state, found)


class Flash(phase_rivals.Rival):
    """A rival that is the layer, with an error of beta, or with one phase everywhere."""

    name, tolerance = "flash", 1e-5

    def __init__(self, off=0.0, one=False):
        self.off, self.one = off, one

    def flash(self, *given):
        T, p, X = given
        return phases.Gas(2).mixture().properties("beta phases_status", T=T, p=p, X=X, backend="cpu")

    def read(self, found):
        return found["phases_status"] == 1 and not self.one, 1 - found["beta"] + self.off


def test_phases_of_a_device_are_compared(phase_subject):
    """A GPU's results beside the CPU's: here the CPU's own, then with an error in vol, then with another status."""
    assert phases.check_on_cpu(phase_subject) < 1e-12
    right = phase_subject.found
    for name, wrong in (("vol", right["vol"] * (1 + 1e-5)), ("phases_status", 1 - right["phases_status"])):
        phase_subject.found = {**right, name: wrong}
        with pytest.raises(timing.WrongValues, match="Nothing was timed"):
            phases.check_on_cpu(phase_subject)


@pytest.mark.full
def test_phases_that_differ_are_refused(phase_subject):
    """Another number of phases, another beta, a start that is lost. A share of the other phase is no difference."""
    assert phases.check_rival(phase_subject, Flash(off=1e-7)).error == pytest.approx(1e-7, rel=1e-3)
    for wrong in (Flash(one=True), Flash(off=1e-3)):
        with pytest.raises(timing.WrongValues, match="NS = 2, random: flash has another number of phases"):
            phases.check_rival(phase_subject, wrong)

    T = np.array([300.0, 400.0])
    right = {"phases_status": np.ones(2), "T": T}
    assert phases.check_warm(phase_subject, T, right) == (1.0, 0.0)
    for wrong in (
        {"T": T * (1 + 1e-6)},
        {"phases_status": np.array([1.0, 2.0])},
        {"phases_status": np.full(2, 2.0)},
        {"T": T * np.nan},
    ):
        with pytest.raises(timing.WrongValues, match="found again, T off by"):
            phases.check_warm(phase_subject, T, {**right, **wrong})


@pytest.mark.parametrize(
    "arguments, words",
    [
        ("--ns 1,2", "--ns [1]: bench phases wants 2 to 10"),
        ("--ns 11", "--ns [11]"),
        ("--mixture a.yaml", "--mixture: bench phases has species of its own"),
    ],
)
def test_phases_refuses(arguments, words, capsys):
    assert main(["bench", "phases", *arguments.split()]) == 1
    assert words in capsys.readouterr().err


def test_work_of_phases_on_a_device(be):  # noqa: F811
    """Inputs are put back before a launch, results have the points alone. The program of one phase, beside the CPU."""
    state = phases.Gas(2).states(300, "ordered")
    work = phases.Work(phases.CALLS["thermal, one phase"].program(phases.Gas(2), be), state)
    work.arrays["T"][...] = np.nan

    found = work.results()
    wanted = phases.Gas(2).mixture("single").properties(list(found), backend="cpu", **state)
    assert found.keys() == set(phases.CALLS["thermal, one phase"].outputs.split()) and work.seconds() > 0
    for name, values in found.items():
        assert values.shape == (300,)
        np.testing.assert_allclose(values, wanted[name], rtol=1e-8)  # c and slopes near the ridge amplify rounding
