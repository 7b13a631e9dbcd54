"""`bench models`: rows of both sides, refusal of wrong values."""

from types import SimpleNamespace

import pytest
from bench_cases import SMALL, ran

from frame.tools.bench import models, report, timing
from kernels import get_backend


def test_models(capsys):
    rows, shown = ran(capsys, "models", *SMALL, "--ns", "2", "--cases", "thermal,viscous")

    cases = ["thermal, k_ij dense", "viscous, k_ij dense", "viscous, k_ij dense, enhancement = critical"]
    assert [row["case"] for row in rows] == cases
    assert [row["rival"] for row in rows] == [*2 * ["equation = pr, viscosity = chung"], "enhancement = none"]
    for row in rows:
        assert tuple(row) == report.KEYS
        assert row["seconds"] > 0 and row["ratio"] > 0 and row["max_rel_diff"] < 1e-12
    assert "equation = mapped, viscosity = residual" in shown


def test_wrong_values_are_refused(monkeypatch):
    """Ours, which are read first, off by 1e-8."""
    right, factors = timing.Launch.results, iter((1 + 1e-8, 1.0))

    def wrong(self, n):
        factor = next(factors)
        return {name: value * factor for name, value in right(self, n).items()}

    monkeypatch.setattr(timing.Launch, "results", wrong)
    given = SimpleNamespace(precision="double", repeats=1)
    with pytest.raises(timing.WrongValues, match="thermal, k_ij dense, NS = 2: '.*' differs by 1.0e-08"):
        models.measure(models.CASES[0], 2, "dense", 500, "random", given, get_backend("cpu"))
