"""python -m frame names: its page agrees with the declarations. Each run is its own process, because other tests
declare kernels too."""

import os
import re
import subprocess
import sys

import pytest
from hosts import ROOT
from kernel_cases import project_kernels
from test_inversions import SEEDS

from kernels import OPTIONS, ArgumentError, quantities, registry, resolve


def printed(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "frame", "names", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr

    return done.stdout


def rows(text, heading):
    """Cells of the table of a section, with the first column as key."""
    lines = text.split(f"## {heading}\n")[1].split("\n## ")[0].splitlines()
    cells = [
        [cell.strip() for cell in line[1:-1].replace("\\|", "!").split("|")] for line in lines if line.startswith("| ")
    ]
    return {row[0]: row for row in cells[2:]}


@pytest.fixture(scope="module")
def page():
    return printed()


def test_the_file_is_what_the_declarations_say(page):
    assert (ROOT / "docs/reference/names.md").read_text() == page, "python -m frame names > docs/reference/names.md"


def test_everything_declared_is_there(page):
    single, collections, known = (rows(page, heading) for heading in ("Kernels", "Collections", "Quantities"))
    assert set(single) == set(project_kernels())
    for name, kernel in project_kernels().items():
        _, makes, reads, source, valid, used = single[name]
        assert (
            reads.split() == list(kernel.reads)
            and source == kernel.source.replace("|", "!")
            and valid.startswith(kernel.valid.replace("|", "!"))
        )
        assert all(f"{w} [{quantities[w].unit}]" in makes for w in kernel.writes)
        assert used

    for name in SEEDS:
        row = next(row for row in collections.values() if name in row[2].split())
        assert registry.name_of(name) == row[0] and row[5].split()

    for kernel in project_kernels().values():
        assert {*kernel.reads, *kernel.writes} <= set(known)


def test_a_kernels_row_names_the_collections_that_it_is_part_of(page):
    """With the default options, or with those changed that it needs; a kernel is `by itself` if that gives none."""
    used = {name: row[5] for name, row in rows(page, "Kernels").items()}
    defaults = registry.checked_options({})

    for option in registry.options.values():
        for value in option.values:
            try:
                options = registry.checked_options({option.name: value})
            except ArgumentError:  # a value that needs another option changed with it
                continue

            for collection in registry.collections.values():
                try:
                    order = resolve(collection.outputs, collection.given, options)
                except ArgumentError:
                    continue

                for kernel in (kernel for kernel in order if kernel.name in used):
                    assert used[kernel.name] != "by itself"

                    named = collection.name in re.findall(r"\w+", used[kernel.name])
                    assert named or options != defaults, (kernel.name, collection.name)

    alone = {name for name, text in used.items() if text == "by itself"}
    assert alone
    for collection in registry.collections.values():
        needed = {"phases": "equilibrium"} if collection.name.startswith("phases_from") else {}
        order = resolve(collection.outputs, collection.given, defaults | needed)
        assert not alone & {kernel.name for kernel in order}


def test_options_choose_the_kernels():
    told = rows(printed("--equation", "ideal", "--viscosity", "sutherland"), "Collections")
    assert "ideal_equation" in told["thermal"][5].split() and "wilke_transport" in told["viscous"][5].split()
    assert {"pr", "srk", "ideal"} <= set(OPTIONS["equation"])


def test_a_hosts_own_kernels_are_listed_on_request(page):
    text = printed("--register", "examples/own_kernel/air.py")
    more = set(rows(text, "Kernels")) - set(rows(page, "Kernels"))

    assert more and text != page
