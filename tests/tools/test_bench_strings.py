"""`bench tensor --strings`: users' strings of einsum are whole, checked and measured."""

import json

import numpy as np
import pytest

from frame.errors import FrameError
from frame.tools import cli
from frame.tools.bench import device_strings, strings
from frame.tools.bench.clocks import host_seconds, processor_seconds
from frame.tools.bench.string_cases import OTHERS, STRINGS, String
from frame.tools.bench.strings import TYPES, Call


def test_strings_are_those_of_many_fields():
    """Each names the extents of its indices, how its arrays lie, and their types; fields have several each."""
    for s in (*STRINGS, *OTHERS, *device_strings.STRINGS):
        operands, _, _ = s.text.partition("->")
        letters = {*s.text.replace("...", "")} - {*",->"}
        assert letters <= {word.split("=")[0] for word in s.extents.split()}, s
        assert set(s.types) <= set(TYPES) and len(s.lie) in (0, operands.count(",") + 1), s
    assert len(STRINGS) > 100 and len({s.field for s in STRINGS}) > 9
    assert {*"CFTN G0".replace(" ", "")} >= set("".join(s.lie for s in STRINGS))


@pytest.mark.parametrize("lie", ["CF", "TN", "G0", "FC"])
@pytest.mark.parametrize("letter", TYPES)
def test_arrays_lie_as_they_are_meant(lie, letter):
    """And their values are ours: checked beside numpy.einsum in double precision."""
    call = Call(String("matrices", "...ij,...jk->...ik", "...=2 i=3 j=4 k=5", lie), TYPES[letter])
    assert [a.shape for a in call.operands] == [(2, 3, 4), (2, 4, 5)]
    for a, kind in zip(call.operands, lie):
        assert a.dtype == TYPES[letter]
        assert a.flags.c_contiguous == (kind == "C") and a.flags.f_contiguous == (kind in "FT")
    assert 0 <= call.check() <= 4 + strings.ROUNDINGS


def test_a_wrong_value_is_not_timed(monkeypatch):
    monkeypatch.setattr(strings, "einsum", lambda *given: np.einsum(*given) + 1e-6)
    with pytest.raises(FrameError, match="ij,j->i, float64: off by .* eps, wanted 20 at most"):
        strings.measure(Call(String("matrices", "ij,j->i", "i=3 j=4"), "float64"), 1)


def test_a_row_of_a_device_has_both_clocks():
    """With NumPy in CuPy's place."""
    call = device_strings.DeviceCall(String("matrices", "ij,jk->ik", "i=30 j=40 k=50", "TC"), "float32", np)
    row = device_strings.measure(call, (processor_seconds, host_seconds), 2)
    assert row["ratio"] == row["rival_seconds"] / row["seconds"]
    assert row["call_ratio"] == row["call_rival_seconds"] / row["call_seconds"]
    assert row["rival"] == row["call_rival"] == "cupy" and row["how"] in (*strings.ORGANISATIONS, "numpy")
    assert "ij,jk->ik TC" in device_strings.table([row])


def test_the_command(capsys):
    """A row for each type, with the best rival and the fastest of our organisations."""
    cli.main(["bench", "tensor", "--strings", "--cases", "ij,j->i", "--rounds", "1", "--json", "-"])

    told = capsys.readouterr()
    rows = json.loads(told.out)
    assert {row["dtype"] for row in rows} == {*TYPES.values()} and "geometric mean" in told.err
    for row in rows:
        assert row["ratio"] == pytest.approx(row["rival_seconds"] / row["seconds"])
        assert row["fastest_seconds"] <= row["seconds"] and row["how"] in (*strings.ORGANISATIONS, "numpy")

    assert cli.main(["bench", "tensor", "--strings", "--cases", "nothing of the kind"]) == 1
