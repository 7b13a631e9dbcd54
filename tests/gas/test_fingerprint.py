"""Mixtures that compute the same have the same fingerprint: in another process, from a file with other comments."""

import os
import subprocess
import sys

import pytest
from mixtures_for_tests import ROOT

from kernels import Mixture
from kernels.gas.fingerprint import fingerprint

H2_O2 = ROOT / "examples" / "mechanisms" / "h2_o2.yaml"
CODE = "import sys; from kernels import Mixture; from kernels.gas.fingerprint import fingerprint; print(fingerprint("
CODE += "Mixture.from_yaml(sys.argv[1])))"


def changed(tmp_path, old, new):
    """The fingerprint of the mechanism with another text in the file."""
    text = H2_O2.read_text()
    assert old in text
    path = tmp_path / "changed.yaml"
    path.write_text(text.replace(old, new, 1))

    return fingerprint(Mixture.from_yaml(path))


@pytest.fixture(scope="module")
def usual():
    return fingerprint(Mixture.from_yaml(H2_O2))


@pytest.mark.parametrize("seed", ["1", "2"])
def test_another_process_has_the_same(usual, seed):
    """Sets of texts have another order there."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, H2_O2],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == usual


def test_comments_do_not_count(usual, tmp_path):
    assert changed(tmp_path, "\nspecies:", "\n# a comment\nspecies:") == usual


@pytest.mark.parametrize(
    "old, new",
    [
        ("3.818e+12", "3.819e+12"),  # of a rate
        ("well-depth: 38.0", "well-depth: 38.1"),
    ],
)
def test_a_number_of_the_file_counts(usual, tmp_path, old, new):
    assert changed(tmp_path, old, new) != usual


@pytest.mark.parametrize("options", [dict(equation="srk"), dict(lewis=1.1), dict(kij={"H2/O2": 0.1})])
def test_options_count(usual, options):
    assert fingerprint(Mixture.from_yaml(H2_O2, **options)) != usual


def test_reactions_that_cannot_be_read_are_no_error(usual, tmp_path):
    assert changed(tmp_path, "{A: 3.818e+12, b", "{A: much, b") != usual
