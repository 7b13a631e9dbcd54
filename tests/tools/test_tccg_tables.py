"""Tables of `bench tccg`: like is held against like."""

import json

import pytest

from frame.errors import ArgumentError
from frame.tools.bench import tccg, tensor
from frame.tools.cli import main


def row(case, name, seconds, ratio=None, ours=True, chosen=False, dtype="float64", share=0.8):
    """A row as the bench makes it."""
    flops = {"flops_per_s": 1e12, "dtype": dtype, "share": share}
    return {"case": case, "name": name, "seconds": seconds, "ratio": ratio, "ours": ours, "chosen": chosen, **flops}


ROWS = [
    row("ab-ac-cb", "library", 1.0, 2.0, chosen=True),
    row("ab-ac-cb", "direct", 0.5, 4.0),
    row("ab-ac-cb", tensor.ANY_ORDER, 0.25, 0.5),
    row("ab-ac-cb", "einsum", 2.0, 1.0, ours=False),
    row("abc-acd-db", "library", 1.0, 8.0, chosen=True),
    row("abc-acd-db", tensor.ANY_ORDER, 1.0, 2.0),
]


def test_ratios_by_side():
    """The chosen organisation in the text's order has its mean, the result in any order another."""
    headings, cells = tccg.groups(ROWS)
    assert cells == (
        "coupled clusters, 2",
        "float64",
        "library 2",
        "1 to 1",
        "0.80 to 0.80 (0.80)",
        "2.00 to 8.00 (4.00)",
        "0.50 to 2.00 (1.00)",
    )
    assert len(headings) == len(cells)


def test_the_summary_counts_rows_below_a_rival():
    in_order, any_order, within, miss = tccg.summary(ROWS)
    assert in_order.endswith("geometric mean 4.00, least 2.00, 0 of 2 below 0.97")
    assert any_order.endswith("geometric mean 1.00, least 0.50, 1 of 2 below 0.97")
    assert within.endswith("all but 1")
    assert miss == "ab-ac-cb float64: library takes 2.00 times as long as direct"


def test_the_summary_names_rows_that_have_room():
    """Far from the bound, and no faster than the rival: one alone is no reason."""
    near, far = (row("ab-ac-cb", "library", 1.0, 1.05, chosen=True, share=share) for share in (0.95, 0.85))
    faster = row("abc-acd-db", "direct", 1.0, 1.2, chosen=True, share=0.5)
    room = "below 0.9 of the bound and 1.1 times the best rival's pace: 1"
    assert room in tccg.summary([far, faster]) and "ab-ac-cb float64: 0.85 of the bound, 1.05x" in tccg.summary([far])
    assert not any("bound" in line for line in tccg.summary([near, faster]))


def test_rivals_in_order_are_rivals():
    """Every case names its rivals that write the text's order; views are among the others."""
    for rivals in (tccg.HOST_RIVALS, tccg.DEVICE_RIVALS):
        for case in tccg.cases(["ab-ac-cb"], 1, ("float64",), rivals):
            assert case.in_order and set(case.in_order) < set(case.rivals) and "einsum" not in case.in_order


def test_tables_of_a_recorded_run(tmp_path, capsys):
    facts = dict(machine="a machine", backend="cuda", commit="abc", date="2026-11-26", command=None)
    file = tmp_path / "run.json"
    file.write_text(json.dumps({**facts, "rows": ROWS}))
    assert main(["bench", "tccg", "--of", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "a machine, commit abc" in shown and "coupled clusters, 2" in shown and "all but 1" in shown

    with pytest.raises(ArgumentError):
        tccg.results.read(tmp_path / "none.json")
