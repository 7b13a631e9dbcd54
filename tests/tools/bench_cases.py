"""Shared by the tests of `python -m frame bench`: a small size, ceilings that take no time, a run of the command."""

import json

import numpy as np
import pytest

from frame.tools.bench import ceilings
from frame.tools.cli import main

SMALL = ["--backend", "cpu", "--points", "1500", "--repeats", "1"]


@pytest.fixture
def briefly(monkeypatch):
    """The machine's ceilings, measured for a fiftieth of the time: no figure is judged."""
    measure = ceilings.measure
    monkeypatch.setattr(ceilings, "measure", lambda backend, effort=0.02: measure(backend, effort))


def ran(capsys, *arguments):
    """(rows, text of standard error) of a bench with --json -."""
    status = main(["bench", *arguments, "--json", "-"])
    out, err = capsys.readouterr()

    assert status == 0, err

    return json.loads(out), err


def array_functions(be, monkeypatch):
    """Gives a stand-in the array functions of NumPy that the expressions call."""
    for name in ("where", "maximum", "sqrt", "log", "sign", "cos", "arccos", "cbrt", "copyto"):
        if not hasattr(be.arrays, name):
            monkeypatch.setattr(be.arrays, name, getattr(np, name), raising=False)
