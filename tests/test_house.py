"""No circle of imports, no arrow upwards; and tests/house.py counts right."""

import functools
import json
import pathlib

import house
import pytest
from hosts import ROOT


@functools.lru_cache(None)
def graphs():
    """Imports between the files of frame and kernels, and includes between the headers of kernels."""
    files = [module for folder in house.PRODUCT for module in house.modules(ROOT, folder)]
    return house.arrows(files), house.headers(ROOT)


def test_no_circle():
    """Neither of files, nor of headers, nor of the large rooms."""
    files, headers = graphs()
    assert house.circles(files) == []
    assert house.circles(headers) == []
    assert house.circles(house.between_rooms(files, house.product_of)) == []


def test_no_circle_of_folders():
    """Whoever opens a folder finds what lies in it on floors: neither Python files nor headers tie two in a circle."""
    files, headers = graphs()
    graph = {file: files.get(file, set()) | headers.get(file, set()) for file in files | headers}
    folders = {parent.as_posix() for file in graph for parent in pathlib.PurePosixPath(file).parents}

    found = {folder: house.circles(house.inside(graph, folder)) for folder in folders - {"."}}
    assert {folder: circles for folder, circles in found.items() if circles} == {}


def test_no_arrow_upwards():
    files, headers = graphs()
    assert house.upward(files) == []
    assert house.upward(headers) == []


# ---- the measures -------------------------------------------------------------------------------------------------

FILE = '''"""Of that file."""


def f(x):
    """What it does."""
    # one step

    y = [a for a in x]

    return 1 if x else 2 if y else 3
'''


def checkout(tmp_path, **texts):
    """A small checkout: path with __ for / -> text."""
    for folder in ("kernels/engine", "kernels/gas", "kernels/teams", "frame/tools", "frame/impl"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "__init__.py").touch()

    (tmp_path / "frame/__init__.py").touch()
    (tmp_path / "kernels/__init__.py").touch()
    for name, text in texts.items():
        (tmp_path / name.replace("__", "/")).with_suffix(".py").write_text(text)

    return tmp_path


def test_air_and_words_are_counted(tmp_path):
    root = checkout(tmp_path, kernels__engine__a=FILE)
    row = house.survey(root)["parts"]["kernels/engine"]

    assert row["blank %"] == 40.0  # 2 of 5 lines between the docstring and the end
    assert row["compr./100"] == 33.3  # of def, assignment, return
    assert row["comment %"] == 10.0
    assert row["nested if"] == 1
    assert row["of"] == row["that"] == row["what"] == row["one"] == round(1000 / 8, 1)
    assert row["chars/line"] == round((9 + 22 + 36) / 3, 1)


@pytest.mark.parametrize(
    "source, target, is_upward",
    [
        ("kernels__gas__a", "frame", True),
        ("kernels__engine__a", "kernels.gas", True),
        ("kernels__teams__a", "kernels.gas", True),
        ("frame__a", "frame.tools", True),
        ("frame__tools__a", "frame", False),
        ("frame__a", "kernels.gas", False),
        ("kernels__gas__a", "kernels.engine", False),
        ("frame__tools__a", "frame.impl", False),
    ],
)
def test_arrows_are_found(source, target, is_upward, tmp_path):
    """Also imports inside functions."""
    root = checkout(tmp_path, **{source: f"def f():\n    import {target}\n"})
    found = house.survey(root)
    assert found["product arrows"] == 1 and found["product floors"] == 2
    assert bool(found["upward arrows"]) == is_upward


def test_circles_and_floors_are_found(tmp_path):
    root = checkout(
        tmp_path,
        kernels__gas__a="from ..engine import b\n",
        kernels__engine__b="from ..teams.c import x\n",
        kernels__teams__c="from ..gas import a\nx = 1\n",
        frame__d="from kernels import gas\n",
    )

    found = house.survey(root)
    assert found["circles"] == [["kernels/engine", "kernels/gas", "kernels/teams"]]
    assert len(found["circles of files"]) == 1
    assert found["floors"] == 2  # frame above the circle


def test_circles_of_folders_are_found(tmp_path):
    """Two folders of a folder, in a circle that no two files make."""
    root = checkout(
        tmp_path,
        kernels__engine__a="from ..gas import b\n",
        kernels__gas__b="",
        kernels__gas__c="from ..engine import d\n",
        kernels__engine__d="",
    )
    graph = house.arrows(house.modules(root, "kernels"))
    assert house.circles(graph) == []
    assert house.circles(house.inside(graph, "kernels")) == [["engine", "gas"]]


def test_imports_for_type_checkers_count(tmp_path):
    text = "import typing\nif typing.TYPE_CHECKING:\n    from frame import impl\nelse:\n    from ..teams import c\n"
    root = checkout(tmp_path, kernels__gas__a=text, kernels__teams__c="")
    found = house.survey(root)["upward arrows"]
    assert found == ["kernels/gas/a.py -> frame/impl/__init__.py", "kernels/gas/a.py -> kernels/teams/c.py"]


def test_questions_about_backends_are_counted(tmp_path):
    text = 'if backend.style == "packs":\n    room = 227 * 1024\n'
    root = checkout(tmp_path, kernels__gas__a=text, kernels__engine__a=text, frame__tools__a=text)
    found = house.survey(root)["backend questions at"]

    assert found["style of its sources"] == ["kernels/gas/a.py:1"]
    assert found["bytes of shared memory as a number"] == ["kernels/gas/a.py:2"]
    assert sum(map(len, found.values())) == 2


def test_the_command(tmp_path, capsys):
    root, file = checkout(tmp_path / "house", kernels__engine__a=FILE), tmp_path / "house.json"
    assert house.main([str(root), "--json", str(file)]) == 0

    numbers = json.loads(file.read_text())[str(root)]
    assert numbers["rooms"] == 7 and "7 rooms" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        house.main([str(tmp_path)])
    assert "has no folder frame/" in capsys.readouterr().err
