"""Measures of the house: air and words of its sources, rooms and the arrows between them, questions about backends.

    python tests/house.py                       this checkout
    python tests/house.py FOLDER [FOLDER ...]   other checkouts, one table for each
    python tests/house.py --json FILE           the numbers in a file too

A room is a folder with Python files, an arrow is an import from one room into another, and the floors are the rooms
of the longest path along arrows. tests/test_house.py holds the rules that must not be broken.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import io
import json
import pathlib
import re
import sys
import tokenize

PRODUCT = ("frame", "kernels")
PARTS = ("kernels", "frame", "examples", "tests")
WORDS = ("of", "that", "where", "one", "its", "what")

# Questions about a backend, which only kernels/engine may ask. Each pattern is one way of asking.
QUESTIONS = {
    "name of the backend": r"""backend(?:\.name)?\s*[!=]=\s*["'](?:cuda|cpu)["']""",
    "style of its sources": r"""\bstyle\s*[!=]=\s*["'](?:packs|threads)["']|\[[\w.]*\bstyle\]""",
    "where its memory is": r"""\.memory\s*[!=]=\s*["'](?:host|device)["']""",
    "type of the backend": r"""isinstance\([^)]*(?:Backend|Cuda|Cpu)\b""",
    "type of its arrays": r"""hasattr\([^)]*["'](?:__cuda_array_interface__|device)["']|__cuda_array_interface__""",
    "generation of the device": r"""\.generation\b|compute_capability""",
    "its driver": r"""\bhas_driver\(""",
    "bytes of shared memory as a number": r"""\b(?:227|228|99|100|164|48)\s*\*\s*1024\b""",
}

# Rooms that stand beside each other and know nothing of each other.
PRODUCTS = ("kernels/gas", "kernels/contractions", "kernels/teams")


@dataclasses.dataclass
class Part:
    """Counts in the Python sources of a folder."""

    files: int = 0
    lines: int = 0
    comment_lines: int = 0
    body_lines: int = 0  # lines of functions below the docstring
    blank_lines: int = 0  # empty lines among them
    filled_lines: int = 0  # lines of code that are not empty, without docstrings and comments
    characters: int = 0  # on these lines
    statements: int = 0
    comprehensions: int = 0
    nested_conditionals: int = 0  # conditional expressions inside another one
    words: int = 0  # of docstrings and comments
    found: dict[str, int] = dataclasses.field(default_factory=lambda: dict.fromkeys(WORDS, 0))

    def row(self) -> dict[str, float]:
        """The columns of the table."""

        def share(count, all_of, scale=100.0):
            return round(scale * count / max(all_of, 1), 1)

        columns = {
            "files": self.files,
            "lines": self.lines,
            "blank %": share(self.blank_lines, self.body_lines),
            "chars/line": share(self.characters, self.filled_lines, 1),
            "compr./100": share(self.comprehensions, self.statements),
            "comment %": share(self.comment_lines, self.lines),
            "nested if": self.nested_conditionals,
        }

        for word in WORDS:
            columns[word] = share(self.found[word], self.words, 1000)

        return columns


@dataclasses.dataclass
class Module:
    """A Python file: its place from the root, its text and its tree."""

    path: pathlib.Path
    text: str
    tree: ast.Module

    @property
    def room(self) -> str:
        return self.path.parent.as_posix()


# ---- reading ------------------------------------------------------------------------------------------------------


def modules(root: pathlib.Path, folder: str) -> list[Module]:
    """The Python files below a folder of a checkout."""
    found = []
    for file in sorted((root / folder).rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        found.append(Module(file.relative_to(root), text, ast.parse(text)))

    return found


def docstrings(tree: ast.Module) -> list[ast.Constant]:
    """The docstrings of a file, its classes and functions."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue

        first = node.body[0] if node.body else None
        is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        if is_text and isinstance(first.value.value, str):
            found.append(first.value)

    return found


def comments(text: str) -> list[tokenize.TokenInfo]:
    """The comments of a file."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [token for token in tokens if token.type == tokenize.COMMENT]


# ---- air and words ------------------------------------------------------------------------------------------------


def measure(files: list[Module]) -> Part:
    """Air and words of some files."""
    part = Part()
    for module in files:
        _count_file(part, module)

    return part


def _count_file(part: Part, module: Module) -> None:
    lines = module.text.splitlines()
    texts = docstrings(module.tree)
    notes = comments(module.text)

    part.files += 1
    part.lines += len(lines)

    # Lines of prose: docstrings, and comments with a line of their own.
    prose = set()
    for text in texts:
        prose.update(range(text.lineno, text.end_lineno + 1))

    for note in notes:
        if note.line.lstrip().startswith("#"):
            part.comment_lines += 1
            prose.add(note.start[0])

    # Lines of code.
    for number, line in enumerate(lines, 1):
        if line.strip() and number not in prose:
            part.filled_lines += 1
            part.characters += len(line)

    # Bodies of functions; a line of a nested function counts once.
    inside = set()
    for node in ast.walk(module.tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inside.update(range(node.body[0].lineno, node.end_lineno + 1))

    inside -= {number for text in texts for number in range(text.lineno, text.end_lineno + 1)}
    part.body_lines += len(inside)
    part.blank_lines += sum(not lines[number - 1].strip() for number in inside)

    _count_tree(part, module.tree, {id(text) for text in texts})

    for text in texts:
        _count_words(part, text.value)
    for note in notes:
        _count_words(part, note.string)


def _count_tree(part: Part, tree: ast.Module, texts: set[int]) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            is_text = isinstance(node, ast.Expr) and id(node.value) in texts
            part.statements += not is_text

        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            part.comprehensions += 1

        elif isinstance(node, ast.IfExp):
            parts = (node.test, node.body, node.orelse)
            part.nested_conditionals += any(isinstance(inner, ast.IfExp) for inner in parts)


def _count_words(part: Part, text: str) -> None:
    words = re.findall(r"[a-z]+", text.lower())
    part.words += len(words)
    for word in WORDS:
        part.found[word] += words.count(word)


# ---- rooms and arrows ---------------------------------------------------------------------------------------------


def imports(module: Module, known: set[str]) -> set[str]:
    """The files, as paths from the root, that a file imports, also inside functions and for type checkers."""
    found = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.add(_file_of(alias.name.split("."), known))

        elif isinstance(node, ast.ImportFrom):
            start = list(module.path.parent.parts)
            start = start[: len(start) - node.level + 1] if node.level else []
            package = start + (node.module.split(".") if node.module else [])

            for alias in node.names:
                inner = _file_of([*package, alias.name], known)
                found.add(inner or _file_of(package, known))

    return {path for path in found if path} - {module.path.as_posix()}


def _file_of(parts: list[str], known: set[str]) -> str | None:
    """The file of a dotted name, of those of the checkout."""
    path = "/".join(parts)
    for file in (f"{path}.py", f"{path}/__init__.py"):
        if file in known:
            return file

    return None


def arrows(files: list[Module]) -> dict[str, set[str]]:
    """file -> the files that it imports."""
    inner = [module for module in files if module.path.name != "__main__.py"]  # doors of commands belong to no room
    known = {module.path.as_posix() for module in inner}
    return {module.path.as_posix(): imports(module, known) for module in inner}


def between_rooms(graph: dict[str, set[str]], room=None) -> dict[str, set[str]]:
    """room -> the rooms that its files import; `room` names the room of a file, its folder if left out."""
    room = room or (lambda file: file.rpartition("/")[0])
    rooms: dict[str, set[str]] = {room(file): set() for file in graph}
    for file, others in graph.items():
        rooms[room(file)].update(room(other) for other in others)
    for name, others in rooms.items():
        others.discard(name)

    return rooms


def inside(graph: dict[str, set[str]], folder: str) -> dict[str, set[str]]:
    """Arrows between the folders in a folder, and the files that lie there beside them."""
    below = folder + "/"
    inner = {
        file: {other for other in others if other.startswith(below)}
        for file, others in graph.items()
        if file.startswith(below)
    }
    return between_rooms(inner, lambda file: file.removeprefix(below).split("/")[0])


def folder_of(file: str) -> str:
    """The folder of a file, at most two folders deep."""
    return "/".join(file.split("/")[:-1][:2])


def product_of(file: str) -> str:
    """The large room of a file: a product or the engine, frame, frame/tools."""
    folder = folder_of(file)
    is_inside_frame = folder.startswith("frame/") and folder != "frame/tools"
    return "frame" if is_inside_frame else folder


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of nodes that lead to each other."""
    reached = {node: _reached(graph, node) for node in graph}
    groups = []

    for node in sorted(graph):
        group = sorted({other for other in reached[node] if node in reached[other]} | {node})
        if len(group) > 1 and group not in groups:
            groups.append(group)

    return groups


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    ahead = [start]

    while ahead:
        for other in graph[ahead.pop()]:
            if other not in found:
                found.add(other)
                ahead.append(other)

    return found


def floors(graph: dict[str, set[str]]) -> int:
    """Rooms on the longest path; a circle of rooms counts as one room."""
    groups = circles(graph)
    name = {node: node for node in graph}
    for group in groups:
        name.update(dict.fromkeys(group, group[0]))

    merged: dict[str, set[str]] = {name[node]: set() for node in graph}
    for node, others in graph.items():
        merged[name[node]].update(name[other] for other in others if name[other] != name[node])

    heights: dict[str, int] = {}

    def height(node):
        if node not in heights:
            heights[node] = 1 + max(map(height, merged[node]), default=0)
        return heights[node]

    return max(map(height, merged), default=0)


def headers(root: pathlib.Path) -> dict[str, set[str]]:
    """C++ header of the kernels -> the headers of the kernels that it includes, as paths from the root."""
    graph = {}
    for file in sorted((root / "kernels").rglob("*.h")):
        included = re.findall(r'(?m)^\s*#\s*include\s+"([^"]+)"', file.read_text(encoding="utf-8"))
        places = [folder / name for name in included for folder in (root / "kernels", file.parent)]
        graph[file.relative_to(root).as_posix()] = {
            place.resolve().relative_to(root.resolve()).as_posix() for place in places if place.is_file()
        }

    return graph


def upward(graph: dict[str, set[str]]) -> list[str]:
    """Arrows that the house does not have: kernels to frame, engine to a product, a product to another one, marshalling
    to a product, and the host's path to frame/tools."""
    found = []
    for file, others in sorted(graph.items()):
        for other in sorted(others):
            if _is_upward(file, other):
                found.append(f"{file} -> {other}")

    return found


def _is_upward(file: str, other: str) -> bool:
    source, target = product_of(file), product_of(other)
    if source.startswith("kernels") and target.startswith("frame"):
        return True

    if source in ("kernels/engine", "kernels/marshal"):
        return target in PRODUCTS

    if source in PRODUCTS:
        return target in PRODUCTS and target != source

    is_host_path = source.startswith("frame") and source != "frame/tools"
    return is_host_path and target == "frame/tools"


# ---- questions about backends -------------------------------------------------------------------------------------


def questions(root: pathlib.Path) -> dict[str, list[str]]:
    """kind of question -> places outside the engine, as `path:line`. frame/tools, which shows backends to people and
    compares them, is left out."""
    found: dict[str, list[str]] = {kind: [] for kind in QUESTIONS}
    for folder in PRODUCT:
        for file in sorted((root / folder).rglob("*.py")):
            path = file.relative_to(root).as_posix()
            if path.startswith(("kernels/engine/", "kernels/backend/", "frame/tools/")):
                continue

            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                for kind, pattern in QUESTIONS.items():
                    if re.search(pattern, line):
                        found[kind].append(f"{path}:{number}")

    return found


# ---- everything ---------------------------------------------------------------------------------------------------


def survey(root: pathlib.Path) -> dict:
    """All measures of a checkout.

    Raises NotADirectoryError if the folder is no checkout, SyntaxError if a file is not Python.
    """
    root = root.resolve()
    for folder in PRODUCT:
        if not (root / folder).is_dir():
            raise NotADirectoryError(f"{root} has no folder {folder}/; wanted a checkout of this project.")

    parts = {}
    sources = []

    for folder in PARTS:
        files = modules(root, folder)
        if folder in PRODUCT:
            sources += files

        names = dict.fromkeys(folder_of(m.path.as_posix()) for m in files)
        for name in names:
            parts[name] = measure([m for m in files if folder_of(m.path.as_posix()) == name])

    graph = arrows(sources)
    folders = between_rooms(graph)
    products = between_rooms(graph, product_of)
    asked = questions(root)

    return {
        "parts": {name: part.row() for name, part in parts.items()},
        "statements": measure(sources).statements,
        "rooms": len(folders),
        "arrows": sum(map(len, folders.values())),
        "floors": floors(folders),
        "circles": circles(folders),
        "product rooms": len(products),
        "product arrows": sum(map(len, products.values())),
        "product floors": floors(products),
        "product circles": circles(products),
        "circles of files": circles(graph),
        "circles of headers": circles(headers(root)),
        "upward arrows": upward(graph) + upward(headers(root)),
        "backend questions": {kind: len(places) for kind, places in asked.items()},
        "backend questions at": asked,
    }


def table(found: dict) -> str:
    """The measures as text."""
    columns = list(next(iter(found["parts"].values())))
    width = max(map(len, found["parts"])) + 2
    lines = ["".ljust(width) + "".join(f"{column:>12}" for column in columns)]
    for name, row in found["parts"].items():
        lines.append(name.ljust(width) + "".join(f"{row[column]:>12}" for column in columns))

    lines += ["", "words: per 1000 words of docstrings and comments", ""]
    lines.append(f"statements in {' and '.join(PRODUCT)}: {found['statements']}")
    lines.append(f"folders: {found['rooms']} rooms, {found['arrows']} arrows, {found['floors']} floors")
    lines.append(
        f"products: {found['product rooms']} rooms, {found['product arrows']} arrows, {found['product floors']} floors"
    )

    for name in ("circles", "product circles", "circles of files", "circles of headers", "upward arrows"):
        lines.append(f"{name}: {len(found[name])}")
        lines += [f"    {item if isinstance(item, str) else ' <-> '.join(item)}" for item in found[name]]

    asked = found["backend questions"]
    lines.append(f"backend questions outside the engine, without frame/tools: {sum(asked.values())}")
    lines += [f"    {count:4d}  {kind}" for kind, count in asked.items()]

    return "\n".join(lines)


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("folders", nargs="*", type=pathlib.Path, help="checkouts to measure; default: this one")
    parser.add_argument("--json", type=pathlib.Path, help="file for the numbers")
    given = parser.parse_args(arguments)

    surveys = {}
    for folder in given.folders or [here]:
        try:
            surveys[str(folder)] = survey(folder)
        except (OSError, SyntaxError) as error:
            parser.error(str(error))
        print(f"{folder}\n\n{table(surveys[str(folder)])}\n")

    if given.json:
        given.json.write_text(json.dumps(surveys, indent=1) + "\n")

    return 0


if __name__ == "__main__":
    sys.exit(main())
