"""`validate --against phases`: states in phase equilibrium that are not found are counted, by mixture and way."""

import numpy as np
import pytest

from frame.tools import cli
from frame.tools.validate import Job, phases, run
from kernels import ArgumentError, Mixture, get_backend

NAMES = "N2 NC12H26"


def test_all_states_are_found(capsys, monkeypatch):
    """A row for each way, of T and p and back; about a fifth of the states is two phases."""
    monkeypatch.setattr(phases, "MIXTURES", {NAMES: phases.MIXTURES[NAMES]})
    assert cli.main("validate --against phases --states 500 --backend cpu".split()) == 0

    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip().startswith(NAMES)]
    assert [line[2:4] for line in lines] == [["T", "p"], ["e", "rho"], ["h", "p"], ["s", "p"]]
    for line in lines:
        states, two, lost, lost_warm, third, _ = map(int, line[4:10])
        assert states == 500 and 50 < two < 250 and lost == lost_warm == third == 0


def test_states_that_are_not_found_are_counted():
    """Above 273 K they fail the row, those of three phases too. A state at another T is counted, and a split that a
    third phase would lower."""
    mixture = Mixture.from_names(NAMES, phases="equilibrium")
    state = {"T": np.array([200.0, 300.0, 400.0]), "p": np.full(3, 1e6), "Y": np.full((2, 3), 0.5)}
    row = phases.Found(mixture, "e rho")

    row.gather(state, np.array([2, 0, 1]), np.array([np.nan, 300.0, 401.0]))
    assert row.passed and row.counts == phases.Counts(states=3, two=1, lost=1, lost_warm=0, other=1)
    row.gather(state, np.array([3, 3, 0]), state["T"])
    assert row.passed and row.counts.third == 2 and row.counts.two == 3
    row.gather(state, np.array([0, 4, 1]), state["T"])
    assert not row.passed and row.counts.lost_warm == 1
    assert row.where["T"] == 300.0 and phases.table([row]).splitlines()[-1].startswith("X ")


def test_a_mixture_of_one_phase_is_refused():
    with pytest.raises(ArgumentError, match="--against phases: the mixture has no phase equilibrium"):
        run(Job(Mixture.from_names(NAMES), "", states=500, backend=get_backend("cpu")), against=["phases"])
