"""CHEMKIN mechanisms (chemistry, thermodynamic and transport data) to Cantera YAML, by Cantera's own converter."""

import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

from ..errors import ArgumentError, MixtureError, refuse

SPECIES = re.compile(r"^\s*SPEC", re.IGNORECASE | re.MULTILINE)  # a section's first word
# What CHEMKIN reads and Cantera's converter does not: reactions that go on behind &, Fortran's exponents of double
# precision, the mark with which editors begin a file.
REACTIONS = re.compile(r"^[ \t]*REAC.*?(?:^[ \t]*END\b|\Z)", re.IGNORECASE | re.MULTILINE | re.DOTALL)
CONTINUED = re.compile(r"&[ \t]*(?:![^\n]*)?\n")
DOUBLE = re.compile(r"(?<![\w.])([+-]?(?:\d+\.\d*|\.\d+))[dD](?=[+-]?\d+\b)")
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

    no_species = not SPECIES.search(text_of(given.convert))
    refuse(no_species, f"--convert {given.convert}: has no section SPECIES; wanted CHEMKIN chemistry.")

    refuse(new.suffix not in (".yaml", ".yml"), f"--output {new}: wanted a name that ends in .yaml.", ArgumentError)
    refuse(new.exists(), f"{new} is there already; nothing was written. Name another file by --output.", ArgumentError)
    refuse(not new.parent.is_dir(), f"--output {new}: no such folder.", ArgumentError)

    with tempfile.TemporaryDirectory(dir=new.parent) as folder:
        made = pathlib.Path(folder) / "converted.yaml"
        _run(given, made, pathlib.Path(folder))
        made.rename(new)

    return new


def text_of(path: pathlib.Path) -> str:
    """The text of a CHEMKIN file in UTF-8 or Latin-1, with plain line ends, as the converter reads it."""
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = REACTIONS.sub(lambda section: CONTINUED.sub(" ", section[0]), text)
    return DOUBLE.sub(r"\1E", text)


def _run(given, made: pathlib.Path, folder: pathlib.Path) -> None:
    """Runs the converter as a process, on copies of the files in `folder`. Raises MixtureError."""
    command = [sys.executable, "-m", "cantera.ck2yaml", "--no-validate", f"--output={made}"]

    for flag, option in (("convert", "input"), ("thermo", "thermo"), ("transport", "transport")):
        path = getattr(given, flag)
        if path:
            copy = folder / flag / path.name
            copy.parent.mkdir()
            copy.write_text(text_of(path), encoding="utf-8")
            command.append(f"--{option}={copy}")

    if given.permissive:
        command.append("--permissive")

    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode or not made.is_file():
        raise MixtureError(f"{given.convert} was not converted: {said(done.stdout + done.stderr)}")


def said(text: str) -> str:
    """The words of the converter without banners; of a traceback the last line only."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if any(line.startswith("Traceback") for line in lines):
        lines = lines[-1:]
    kept = [line for line in lines if not line.startswith(NOISE)]

    return "\n  ".join(kept) or "no reason given."
