"""CHEMKIN mechanisms (chemistry, thermodynamic and transport data) to Cantera YAML, by Cantera's own converter."""

import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

from ..errors import ArgumentError, MixtureError, refuse
from .chemkin_text import Text

SUFFIXES = (".inp", ".mech", ".ck")  # usual endings of chemistry files
NOISE = ("***", "Please check", "https://", "for the correct Chemkin syntax", "Unable to convert mechanism", "INFO")
ONLY_WITH_CONVERT = ("thermo", "transport", "output", "permissive")
ARGUMENTS: dict[str, dict] = {
    "--convert": dict(
        type=pathlib.Path,
        metavar="FILE",
        help="a CHEMKIN mechanism (.inp): make a Cantera file of it by Cantera's converter, and show its rows",
    ),
    "--thermo": dict(type=pathlib.Path, metavar="FILE", help="with --convert: thermodynamic data of another file"),
    "--transport": dict(type=pathlib.Path, metavar="FILE", help="with --convert: transport data of another file"),
    "--output": dict(
        type=pathlib.Path, metavar="FILE", help="with --convert: the new file (default: as --convert, with .yaml)"
    ),
    "-o": dict(dest="output", type=pathlib.Path, metavar="FILE", help="the same"),
    "--permissive": dict(
        action="store_true", help="with --convert: pass over recoverable errors, such as thermodynamic data given twice"
    ),
}


def inputs(folder: pathlib.Path) -> list[pathlib.Path]:
    """The files of a folder that look like CHEMKIN chemistry."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())


def convert(given) -> pathlib.Path:
    """Write the Cantera file of given.convert, and return its path. given: the values of ARGUMENTS.

    Raises ArgumentError where Cantera or a file is missing, or the new file is there already; MixtureError with the
    converter's words, which have the line. Nothing is written then."""
    new = given.output or given.convert.with_suffix(".yaml")
    refuse(
        importlib.util.find_spec("cantera") is None,
        "--convert needs the converter of Cantera, which is not installed: pip install cantera.",
        ArgumentError,
    )

    for flag in ("convert", "thermo", "transport"):
        path = getattr(given, flag)
        refuse(path is not None and not path.is_file(), f"--{flag} {path}: no such file.", ArgumentError)

    chemistry = Text(given.convert, permissive=given.permissive)
    refuse(not chemistry.declared, f"--convert {given.convert}: has no section SPECIES; wanted CHEMKIN chemistry.")

    refuse(new.suffix not in (".yaml", ".yml"), f"--output {new}: wanted a name that ends in .yaml.", ArgumentError)
    refuse(new.exists(), f"{new} is there already; nothing was written. Name another file by --output.", ArgumentError)
    refuse(not new.parent.is_dir(), f"--output {new}: no such folder.", ArgumentError)

    texts = _texts(given, chemistry)
    with tempfile.TemporaryDirectory(dir=new.parent) as folder:
        made = pathlib.Path(folder) / "converted.yaml"
        _run(given, texts, made, pathlib.Path(folder))
        made.rename(new)

    return new


def _texts(given, chemistry: Text) -> dict[str, Text]:
    """{option of the converter: its file}, rewritten. Raises MixtureError."""
    texts = {"input": chemistry}
    ranges = ""
    if given.thermo:
        texts["thermo"] = Text(given.thermo, chemistry)
        ranges = texts["thermo"].ranges
    if given.transport:
        texts["transport"] = Text(given.transport, chemistry)

    for text in texts.values():
        text.rewrite(ranges)
    return texts


def _run(given, texts: dict[str, Text], made: pathlib.Path, folder: pathlib.Path) -> None:
    """Runs the converter as a process, on copies of the files in `folder`. Raises MixtureError."""
    command = [sys.executable, "-m", "cantera.ck2yaml", "--no-validate", f"--output={made}"]

    for option, text in texts.items():
        copy = folder / option / text.path.name
        copy.parent.mkdir()
        copy.write_text(str(text), encoding="utf-8")
        command.append(f"--{option}={copy}")

    if given.permissive:
        command.append("--permissive")

    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode or not made.is_file():
        words = said(done.stdout + done.stderr)
        for text in texts.values():
            words = _with_lines_of(text, words)
        raise MixtureError(f"{given.convert} was not converted: {words}")


def _with_lines_of(text: Text, words: str) -> str:
    """The converter's words with numbers of lines of the file instead of those of its copy."""
    where = re.compile(rf"(?<=in {re.escape(text.path.name)} starting on line )\d+")
    return where.sub(lambda found: str(text.number(int(found[0]))), words)


def said(text: str) -> str:
    """The words of the converter without banners; of a traceback the last line only."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if any(line.startswith("Traceback") for line in lines):
        lines = lines[-1:]
    kept = [line for line in lines if not line.startswith(NOISE)]

    return "\n  ".join(kept) or "no reason given."
