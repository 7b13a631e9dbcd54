"""Every code block of the README and of docs/ runs as it stands, but for those in `text`; and sentences stay short.

Python blocks of a page are one program. A block after a line that begins with a file's name in backticks is that file.
Fortran, C and C++ are written to the file that the next sh block compiles. Commands that other tests or CI run are in
ELSEWHERE.
"""

import os
import re
import statistics
import subprocess
import sys

import hosts
import pytest
from hosts import ROOT

import kernels

PAGES = sorted(ROOT.glob("docs/**/*.md")) + [ROOT / "README.md"]
ELSEWHERE = {
    "make demo": "tests/frame/test_demo.py",
    "make test": "CI",
    "pip install castles_frame-*.whl": "tests/wheel.sh",
    "python -m frame build": "tests/wheel.sh",
    ".venv/bin/python -m frame build": "tests/wheel.sh",
    "python -m frame examples .": "tests/wheel.sh",
}
TESTED = {"kernel_language.md": "tests/gas/test_kernel_language.py", "own_kernel.md": "test_the_page_of_an_own_kernel"}
LANGUAGES = {"python", "fortran", "c", "cpp", "sh", "text", "{toctree}", "{eval-rst}"}
MADE = {"entry_points.md", "commands.md", "reference/options.md", ".svg"}  # by docs/conf.py
WORDS = 25  # of a sentence on average


def blocks(page):
    """(line before, language, text) of each block."""
    found = re.findall(r"(?m)^(?:(\S[^\n]*)\n+)?```(\S+)\n(.*?)^```$", page.read_text(), re.S | re.M)
    assert {language for _, language, _ in found} <= LANGUAGES, page
    return found


def name_of(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [p for p in PAGES if p.name not in {*TESTED, *MADE} and blocks(p)], ids=name_of)
@pytest.mark.long(
    page=[
        "chemistry.md",
        "cluster.md",
        "equilibrium.md",
        "inputs.md",
        "mechanisms.md",
        "models.md",
        "tensor_expressions.md",
        "two_phases.md",
        "validate.md",
    ]
)
def test_blocks_run(page, tmp_path, monkeypatch):
    hosts.library()
    monkeypatch.chdir(tmp_path)
    for name in ("build", "examples", "fortran_stub", ".venv"):
        (tmp_path / name).symlink_to(ROOT / name)
    env = {**os.environ, "FRAME_BACKEND": "cpu", "FRAME_ACCURACY": "", "PYTHONPATH": str(ROOT)}  # as users run them
    script, source = "", ""

    for before, language, text in blocks(page):
        if named := re.match(r"`([\w.]+)`", before):
            (tmp_path / named[1]).write_text(text)
        elif language == "python":
            script += text
        elif language in ("fortran", "c", "cpp"):
            source = text
        elif language == "sh":
            for line in filter(None, (line.split("  #")[0].strip() for line in text.splitlines())):
                if line in ELSEWHERE or line.startswith("mpirun"):
                    continue
                if compiled := re.match(r"(?:gfortran|gcc|g\+\+) .*?(\w+\.(?:f90|c|cpp)) -o", line):
                    hosts.need("gfortran")
                    (tmp_path / compiled[1]).write_text(source)
                    line = line.replace("-Jbuild", f"-J{tmp_path}")

                done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, env=env)
                assert done.returncode == 0, line + done.stdout + done.stderr

    if script:
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_of_an_own_kernel(tmp_path):
    """The two files of the page make a kernel whose constant can be set."""
    for before, _, text in blocks(ROOT / "docs/howto/own_kernel.md"):
        if named := re.match(r"`([\w.]+)`", before):
            (tmp_path / named[1]).write_text(text)

    script = (
        "import kernels; kernels.load_declarations('air.py'); kernels.set_constant('MU0', 1.5e-6)\n"
        "mix = kernels.Mixture.from_yaml('examples/mixtures/n2.yaml')\n"
        "mu = mix.kernel('my_viscosity')(T=300.0)['mu']\n"
        "assert abs(mu / (1.5e-6 * 300**1.5 / 410.4) - 1) < 1e-14, mu"
    )

    (tmp_path / "examples").symlink_to(ROOT / "examples")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, env=env)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", [p for p in PAGES if p.name not in {"names.md"} | MADE], ids=name_of)
def test_sentences_are_short_and_links_lead_somewhere(page):
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#\s]+)", re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.S)):
        path = page.parent / target
        assert target.startswith("http") or path.exists() or str(path).endswith(tuple(MADE)), target
    prose = re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.S)
    prose = "\n".join(line for line in prose.splitlines() if not line.startswith(("|", "#", "!")))
    sentences = [s.split() for s in re.split(r"(?<=[.:;?])\s|\n\s*\n|\n- ", prose) if s.strip()]

    assert statistics.mean(map(len, sentences)) <= WORDS, page
    assert len(page.read_text().splitlines()) <= 150 or page.name != "README.md"


def test_every_variable_is_on_the_page():
    """The variables that sources read are those of the page."""
    read = set()
    for folder in ("frame", "kernels"):
        for file in [*(ROOT / folder).rglob("*.py"), *(ROOT / folder).rglob("*.c")]:
            asked = r"(?:environ(?:\.get\(|\[)|environment\.get\(|getenv\()\s*\"(FRAME_\w+)"
            read |= set(re.findall(asked, file.read_text()))

    page = set(re.findall(r"FRAME_[A-Z_]+", (ROOT / "docs/reference/environment.md").read_text()))
    assert read and read == page


def test_every_public_name_is_in_the_reference():
    """The names of the package `kernels` are documented by autodoc, or explained in a sentence."""
    pages = "".join(page.read_text() for page in (ROOT / "docs/reference/python").glob("*.md"))
    assert {name for name in kernels.__all__ if not re.search(rf"kernels\.{name}\b", pages)} == set()


def test_formulas_in_parts_are_whole(monkeypatch):
    """The parts of an option's formulas have all of its text, and brackets close in the part where they open."""
    pytest.importorskip("latex2mathml")
    monkeypatch.syspath_prepend(ROOT / "docs")
    from formulas import parts

    options = kernels.registry.options.values()
    texts = re.findall(r"\$([^$]+)\$", " ".join(text for option in options for _, text in option.about))
    assert len(texts) > 50

    for text in texts:
        found = parts(text)
        assert "".join(found).split() == text.split()
        assert all(part.count(a) == part.count(b) for part in found for a, b in ("{}", "()")), text
