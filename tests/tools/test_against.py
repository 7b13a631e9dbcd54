"""benchmarks/against.py: sizes of differences, and differences that changed.toml allows."""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))

import against
import against_cases

STATES = {"T": np.array([100.0, 200.0, 300.0]), "p": np.full(3, 1e5)}


def test_any_nan_equals_any_nan():
    one = np.array([[1.0, np.nan, 3.0]])
    other = one.copy()
    other.view(np.int64)[0, 1] ^= 1  # another NaN

    assert np.isnan(other[0, 1]) and against.difference(one, other, STATES) is None


def test_steps_between_numbers_are_counted():
    for dtype in (np.float64, np.float32):
        old = np.array([[1.0, 2.0, -3.0]], dtype)
        new = old.copy()
        for _ in range(3):
            new[0, 2] = np.nextafter(new[0, 2], dtype(0))
        row = against.difference(old, new, STATES)

        assert (row["points"], row["ulp"]) == (1, 3) and "T 300" in row["first"]
        assert np.isclose(row["relative"], 3 * (2 * np.finfo(dtype).eps) / 3, rtol=1e-5)

    row = against.difference(np.array([0.0, 1.0, -1e-300]), np.array([-0.0, 1.0, 1e-300]), STATES)
    assert row["points"] == 2 and row["relative"] == 2 and row["ulp"] > 1e17  # of both signs
    assert against.difference(old, np.full_like(old, np.nan), STATES)["relative"] == np.inf
    assert against.difference(old, old.astype(np.float16), STATES)["relative"] == np.inf
    assert against.difference(old, None, STATES)["relative"] == np.inf


def test_a_named_change_has_a_largest_size():
    change = {"key": "NS 10, srk*", "quantity": "rho_*", "largest": 1e-15, "reason": "why"}
    row = {"key": "NS 10, srk, thermodynamics, double", "quantity": "rho_p", "relative": 1e-15}

    assert against.reason(row, [change]) == "why"

    for other in ({"relative": 2e-15}, {"quantity": "rho"}, {"key": "NS 1, srk, thermodynamics, double"}):
        assert not against.reason(row | other, [change])


def test_cases_bring_what_they_start_from():
    keys = {case["key"]: case for case in against_cases.chosen(["NS 4, srk, from h p Y, double"], quick=False)}
    assert set(keys) == {"NS 4, srk, thermodynamics, double", "NS 4, srk, from h p Y, double"}

    first, second = keys.values()
    assert not first["base"] and second["base"] == first["file_name"]
