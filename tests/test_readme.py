"""Files and options that the pages name are there. (tests/frame/test_demo.py pastes and runs README's programs.)"""

import re

import pytest
from hosts import ROOT
from ruamel.yaml import YAML

import kernels
from frame.config import PRECISIONS
from kernels import OPTIONS

FOLDERS = ("benchmarks", "docs", "examples", "fortran_stub", "frame", "kernels", "tests")
PATH = rf"(?<![\w./-])((?:{'|'.join(FOLDERS)})/[\w./-]*[\w/])"  # from the root
PAGES = sorted(page for folder in ("docs", "examples", "kernels") for page in (ROOT / folder).rglob("*.md"))
AUTHORS = "The authors of castles-frame"
MADE = {"frame.h"}  # by python -m frame build
GENERATED = (
    "docs/reference/entry_points.md",
    "docs/reference/commands.md",
    "docs/reference/options.md",
)  # by make docs


@pytest.mark.parametrize("name, least", (("README.md", 4), ("ARCHITECTURE.md", 20), ("CONTRIBUTING.md", 15)))
def test_named_files_exist(name, least):
    """Paths from the root, and in the two pages for developers also names of sources without a folder."""
    text = (ROOT / name).read_text()
    paths = set(re.findall(PATH, text))
    assert len(paths) >= least and [p for p in sorted(paths) if not (ROOT / p).exists()] == []

    if name in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
        there = {path.name for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")} | MADE
        made = set(re.findall(r"new file `([\w.]+)`", text))  # by who follows a recipe
        assert set(re.findall(r"[\w-]+\.(?:py|h|c|csv|f90)\b", text)) <= there | made


def test_files_named_on_the_other_pages_exist():
    pages = [page for page in PAGES if str(page.relative_to(ROOT)) not in GENERATED]
    missing = {}

    for page in pages:
        for path in re.findall(PATH, page.read_text()):
            is_there = (ROOT / path).exists() or (page.parent / path).exists()
            is_pattern = "FILE" in path or "NAME" in path
            if not is_there and not is_pattern:
                missing[path] = page.name

    assert len(pages) > 20 and missing == {}


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
