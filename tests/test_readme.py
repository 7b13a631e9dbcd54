"""What README, ARCHITECTURE and CONTRIBUTING name is there. (tests/test_demo.py pastes and runs README's programs.)"""

import re

import pytest
from hosts import ROOT
from ruamel.yaml import YAML

import kernels
from frame.config import PRECISIONS
from kernels import OPTIONS

FOLDERS = ("benchmarks", "examples", "fortran_stub", "frame", "kernels", "tests")
AUTHORS = "The authors of castles-frame"
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


def test_named_options_exist():
    text = (ROOT / "docs/howto/options.md").read_text()
    named = re.findall(r'`(\w+)="(\w+)"`', text)
    assert len(named) > 8
    for option, value in named:
        assert value in {**OPTIONS, "precision": PRECISIONS}[option], (option, value)
    assert all(f"`{value}`" in text or ("precision", value) in named for value in PRECISIONS)


def test_pages_have_the_version():
    citation = YAML(typ="safe").load(ROOT / "CITATION.cff")
    assert citation["version"] == kernels.__version__ and citation["authors"] == [{"name": AUTHORS}]
    assert f"\n## [{kernels.__version__}]\n" in (ROOT / "CHANGELOG.md").read_text()
