"""What README, ARCHITECTURE and CONTRIBUTING name is there. (tests/test_demo.py pastes and runs README's programs.)"""

import re

import pytest
from hosts import ROOT

from frame.config import PRECISIONS
from kernels import OPTIONS, quantities

FOLDERS = ("benchmarks", "examples", "fortran_stub", "frame", "kernels", "tests")
MADE = {"frame.h"}  # by python -m frame build


@pytest.mark.parametrize("name, least", (("README.md", 4), ("ARCHITECTURE.md", 20), ("CONTRIBUTING.md", 15)))
def test_named_files_exist(name, least):
    """Paths from the root, and in the two pages for developers also names of sources without a folder."""
    text = (ROOT / name).read_text()
    paths = set(re.findall(rf"(?<![\w./-])((?:{'|'.join(FOLDERS)})/[\w./]*[\w/])", text))
    assert len(paths) >= least and [p for p in sorted(paths) if not (ROOT / p).exists()] == []
    if name in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
        there = {path.name for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")} | MADE
        assert set(re.findall(r"[\w-]+\.(?:py|h|c|csv|f90)\b", text)) <= there


def test_named_quantities_and_options_exist():
    text = (ROOT / "docs/howto/options.md").read_text()
    for row in re.findall(r"(?m)^\| `([\w ]+)` \| ", text):
        known = set(quantities) | set(OPTIONS) | {"precision"}
        assert all(n in known for n in row.split()), row
    for option, values in {**OPTIONS, "precision": PRECISIONS}.items():
        assert all(f"`{v}`" in text for v in values), option
