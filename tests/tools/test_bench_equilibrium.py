"""`bench equilibrium`: chemical equilibrium beside Cantera."""

import pytest
from bench_cases import ran

from frame.tools.bench import equilibrium, report
from kernels import BackendError, get_backend


def launched(subject):
    launch = subject.launch("HP", get_backend("cpu"))
    launch.work()
    return launch


def test_equilibrium(capsys, monkeypatch):
    """A row for each mechanism and kind, checked beside Cantera first: wrong values are not timed."""
    pytest.importorskip("cantera")
    monkeypatch.setattr(equilibrium, "FUELS", {"h2_o2.yaml": "H2"})
    monkeypatch.setattr(equilibrium, "KINDS", ("HP",))

    size = ["--backend", "cpu", "--points", "32", "--repeats", "1"]
    (row,), shown = ran(capsys, "equilibrium", *size)

    assert tuple(row) == report.KEYS and row["case"] == "HP, h2_o2.yaml" and row["rival"] == "Cantera"
    assert row["max_rel_diff"] < 1e-6 and "0 of 32 not found" in shown

    monkeypatch.setattr(equilibrium, "TOLERANCE_X", 0.0)
    subject = equilibrium.Subject("h2_o2.yaml", 32)
    rival = equilibrium.Cantera(subject, "HP")

    with pytest.raises(BackendError, match="Nothing was timed"):
        rival.check(*subject.result(launched(subject), "HP"))
