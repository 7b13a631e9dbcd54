"""benchmarks/taylor_green.py: our side of the comparison with PyFR, and PyFR's where it is installed."""

import json
import re
import subprocess
import sys

import pytest
from hosts import ROOT


def compared(folder, *arguments):
    done = subprocess.run(
        [
            sys.executable,
            str(ROOT / "benchmarks/taylor_green.py"),
            "--backend",
            "cpu",
            "--json",
            str(folder / "out.json"),
            *arguments,
        ],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, json.loads((folder / "out.json").read_text())["rows"]


@pytest.mark.full
def test_ours_against_the_reference(tmp_path):
    text, rows = compared(tmp_path, "--ours", "central", "central, PR N2", "--cells", "16", "--times", "1", "2")
    assert [r["solver"] for r in rows] == ["mini solver, central", "mini solver, central, PR N2"]

    for row in rows:
        # 0.9 % of the energy has been dissipated by then, by a flow of a few modes; compressibility is M^2 of the
        # velocity
        assert row["kinetic"][2] == pytest.approx(0.123917, rel=1e-3) and 0.123917 < row["kinetic"][1] < 0.125
        assert row["rate"] == pytest.approx(
            max(16**3 * row["stages"] * n / t for n, t in zip(row["steps"], row["seconds"]))
        )

    # nitrogen at 1 bar and 300 K: Z is 0.9998, gamma 1.401
    assert rows[0]["kinetic"][2] == pytest.approx(rows[1]["kinetic"][2], rel=1e-4)
    printed = [float(x) for x in re.findall(r"-, ([-+][\d.e-]+) \(", text)]
    assert printed == pytest.approx([r["kinetic"][2] / 0.123917 - 1 for r in rows], rel=0.06)  # two digits


def test_beside_pyfr(tmp_path):
    pytest.importorskip("pyfr")
    text, rows = compared(tmp_path, "--ours", "central", "--pyfr", sys.executable, "--cells", "16", "--times", "0.5")
    assert (
        rows[1]["stages"] == 3
        and rows[1]["kinetic"][1] == pytest.approx(rows[0]["kinetic"][1], rel=1e-3)
        and "NOT" not in text
    )


def test_odd_sizes_are_refused(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks/taylor_green.py"), "--cells", "30"], capture_output=True, text=True
    )
    assert done.returncode == 2 and "multiples of 4" in done.stderr
