"""BENCHMARKS.md: one section a machine and backend, found by its heading; a run makes its own anew and leaves the
others."""

from __future__ import annotations

import datetime
import os
import pathlib
import platform
import subprocess

import numpy as np

from ...shipped import ROOT

HEAD = """# Benchmarks

Each section is written by `python -m frame bench all --markdown` on the machine in its heading; \
run there again, it is replaced.
"""


def merged(text: str, section: str) -> str:
    """The page with this section (its first line is its `## ` heading) instead of the one of the same heading, or
    behind all."""
    heading = section.partition("\n")[0]
    sections = ["## " + part.strip() + "\n" for part in ("\n" + text).split("\n## ")[1:]]
    at = next((k for k, old in enumerate(sections) if old.partition("\n")[0] == heading), len(sections))
    sections[at : at + 1] = [section.strip() + "\n"]
    return "\n".join([HEAD, *sections])


def write(file: pathlib.Path, section: str) -> None:
    """Put a machine's section into the page `file`, in place of its former one."""
    file.write_text(merged(file.read_text() if file.is_file() else "", section))


def part(name: str, facts: list[str], table: str, notes: str) -> str:
    """One bench of a section."""
    return (
        "\n\n".join(text for text in (f"### {name}", "\n".join(f"- {fact}" for fact in facts), table, notes) if text)
        + "\n"
    )


def section(heading: str, facts: list[str], command: str, parts: list[str]) -> str:
    """A machine's section: what it is and what ran there, then the benches' parts, each with a `### ` heading."""
    lines = [
        *facts,
        f"Python {platform.python_version()}, NumPy {np.__version__}; {_system()}",
        f"this project: {_commit()}",
        f"{datetime.date.today().isoformat()}: `{command}`",
        f"processes on the machine, mean of the last 5 minutes: {os.getloadavg()[1]:.1f} (this run is about 1)",
    ]
    return "\n".join([f"## {heading}", "", *(f"- {line}" for line in lines), "", *parts])


def command(arguments: str) -> str:
    """The command line as it was given, with the variables of the layer that were set."""
    variables = [
        f"{name}={value}"
        for name, value in sorted(os.environ.items())
        if name in ("FRAME_BACKEND", "FRAME_CXX", "CXX", "FC", "FRAME_ARCH")
    ]
    return " ".join([*variables, "python -m frame", arguments])


def _system() -> str:
    try:
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, Linux {platform.release()}"
    except (OSError, KeyError):
        return f"{platform.system()} {platform.release()}"


def _commit() -> str:
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return f"commit {done.stdout.strip()}" if not done.returncode else "not a git checkout"
