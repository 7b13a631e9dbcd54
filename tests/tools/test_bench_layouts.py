"""`bench layouts`: species apart and conserved variables beside 4-D arrays."""

# ruff: noqa: F811  the fixture of device_for_tests.py is an argument here
import numpy as np
import pytest
from bench_cases import ran
from device_for_tests import be  # noqa: F401

import kernels
from frame.tools.bench import conserved_fortran, equilibrium, layouts, report
from frame.tools.bench.timing import WrongValues
from kernels import get_backend

SIZE = ["--points", "216", "--repeats", "1"]


def test_layouts(capsys):
    """A row for each task and layout; a field for each species stands beside the 4-D array, and conserved variables
    beside a Fortran code's own way, whose T and p were compared before."""
    rows, shown = ran(capsys, "layouts", "--backend", "cpu", *SIZE)

    assert len(rows) == 2 * len(layouts.TASKS) + 1 and tuple(rows[0]) == report.KEYS
    assert rows[-1]["rival"] == conserved_fortran.NAME and layouts.CONSERVED in rows[-1]["case"]
    assert all(row["points"] == 216 for row in rows)
    assert [row["rival"] for row in rows[:2]] == [None, "4-D arrays"] and rows[-3]["rival"] == "e, rho, Y"
    assert "6^3 points" in shown


@pytest.mark.full
def test_on_a_device(capsys, be):
    """The same on memory of the host, pinned memory and memory of the device."""
    rows, _ = ran(capsys, "layouts", "--backend", "cuda", *SIZE)
    assert len(rows) == 6 * len(layouts.TASKS)
    assert sum("pinned" in row["case"] for row in rows) == sum("device" in row["case"] for row in rows) == 8


def test_wrong_values_are_not_timed():
    class Wrong:
        def result(self, name):
            return np.full(3, np.nan)

    calls = {(name, layout): Wrong() for name in layouts.TASKS for layout in ("array", "apart")}
    with pytest.raises(WrongValues, match="differs between layouts"):
        layouts.check(calls, {})


def test_a_rival_with_another_temperature_is_not_timed(monkeypatch):
    """Its T comes from the energy, so a wrong energy shows."""
    mixture = kernels.Mixture.from_yaml(layouts.FILE, equation="ideal")
    state = layouts.states(mixture, 8)
    layouts.fortran_rival(mixture, state)

    state["rhoE"] = 1.01 * state["rhoE"]
    with pytest.raises(WrongValues, match="T of the Fortran rival"):
        layouts.fortran_rival(mixture, state)


def test_equilibrium_on_a_device(be, monkeypatch):
    """A device's equilibria are compared with the CPU's."""
    subject = equilibrium.Subject("h2_o2.yaml", 32)
    launch = subject.launch("HP", get_backend("cuda"))
    launch.work()
    assert equilibrium.check_device(subject, launch, "HP") < 1e-9

    monkeypatch.setattr(equilibrium, "TOLERANCE_X", -1.0)
    with pytest.raises(WrongValues, match="from the CPU's"):
        equilibrium.check_device(subject, launch, "HP")
