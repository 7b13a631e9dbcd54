"""The demo from end to end: the Fortran host under mpirun, its comparison, its exit codes, its picture."""

import os
import re
import subprocess
import sys

import hosts
import numpy as np
import pytest
from hosts import ROOT

STUB = ROOT / "fortran_stub" / "demo"
SOURCES = hosts.makefile_list("HOST")
QUANTITIES = "W Z rho h e cp cv gamma c rho_p rho_T h_p h_T h0 mu lam D D/tol".split()


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """The demo host as the Makefile compiles it, with bounds checked."""
    if hosts.OPENMPI.missing:
        pytest.skip(hosts.OPENMPI.missing)

    library = hosts.library()
    folder = tmp_path_factory.mktemp("host")

    subprocess.run(
        [
            hosts.OPENMPI.compiler,
            "-O1",
            "-fcheck=bounds",
            f"-J{folder}",
            "-o",
            folder / "demo_host",
            *SOURCES,
            f"-L{library.parent}",
            "-lframe",
            f"-Wl,-rpath,{library.parent}",
        ],
        check=True,
    )

    return folder / "demo_host"


def run(host, folder, ranks=2, text=None, file=STUB / "demo.nml", **changes):
    """Run the host on a namelist with some entries replaced. Every run has small blocks and its own output folder."""
    if text is None:
        text = file.read_text()
        for key, value in (
            {
                "cells": "18, 14, 3",
                "rank_more": "3, 0, 1",
                "grow": "-2, 1, 1",
                "chunk": "250",
                "output": f"'{folder}/fields'",
            }
            | changes
        ).items():
            text, found = re.subn(rf"(?m)^(\s*{key}\s*=)[^!\n]*", rf"\1 {value} ", text)
            assert found == 1 or key in changes, key

    (folder / "input.nml").write_text(text)

    return hosts.run(host, folder / "input.nml", ranks=ranks, mpi=hosts.OPENMPI, OMP_NUM_THREADS="1")


def table(out):
    """{quantity: (difference, tolerance)} of the comparison; the difference of D itself has none."""
    rows = re.findall(r"(?m)^  ([\w/]+) +([\d.E+-]+) +([\d.E+-]+|see D/tol) +\d+ +\d+ +\d+ +\d+ +\d+", out)
    return {name: (float(d), None if t == "see D/tol" else float(t)) for name, d, t in rows}


@pytest.mark.parametrize(
    "ranks, file", [(1, "demo.nml"), (2, "demo.nml"), (4, "demo.nml"), (2, "demo_h2_o2.nml"), (1, "demo_n2.nml")]
)
@pytest.mark.quick(ranks=2, file="demo.nml")
def test_demo_agrees(host, tmp_path, ranks, file):
    done = run(host, tmp_path, ranks, file=STUB / file)

    assert done.returncode == 0, done.stdout + done.stderr

    rows = table(done.stdout)

    assert list(rows) == QUANTITIES
    assert rows.pop("D/tol")[0] <= 1
    assert rows.pop("D")[1] is None
    assert all(d <= t < 1e-9 for d, t in rows.values()), rows  # a tolerance too wide to check anything would be a fault
    assert len(list((tmp_path / "fields").glob("plane_*.bin"))) == ranks
    assert "ratio" in done.stdout and "thermal_viscous" in done.stdout.split("Timers")[1]

    roots = [int(n) for n in re.findall(r"two roots at (\d+) points", done.stdout)]

    assert len(roots) == 3

    if file == "demo_n2.nml":
        assert max(roots) > 0


@pytest.mark.parametrize("collection, missing", [("thermal", "mu lam D D/tol".split()), ("viscous", QUANTITIES[:14])])
def test_other_collections(host, tmp_path, collection, missing):
    done = run(host, tmp_path, collection=f"'{collection}'")
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(table(done.stdout)) == [name for name in QUANTITIES if name not in missing]


@pytest.mark.parametrize("collection, reserve, blocks", [("thermal_viscous", 1, 3), ("viscous", 1.5, 2)])
def test_block_calls(host, tmp_path, collection, reserve, blocks):
    """A call for each block. The blocks grow to 1.5 and 2.2 times the size of the first. A block with
    many values at each point is copied; one with few is worked on where it lies."""
    done = run(host, tmp_path, calls="'blocks'", collection=f"'{collection}'", grow="2, 1, 1", reserve=reserve)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"memory of {blocks} blocks" in done.stdout
    assert ("block in" in done.stdout.split("Timers")[1]) == (collection == "thermal_viscous")


@pytest.mark.parametrize("file", ["demo.nml", "demo_h2_o2.nml"])
@pytest.mark.quick(file="demo_h2_o2.nml")
def test_model_options_reach_both_sides(host, tmp_path, file):
    done = run(
        host,
        tmp_path,
        file=STUB / file,
        root="'vapour'",
        alpha="'cantera'",
        mixing="'vdw'",
        chung="'published'",
        diffusion="'fuller'",
        takahashi="'table'",
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_diffusion_where_all_but_one_species_are_traces(host, tmp_path):
    """Both sides have the same floor of traces, 1e-20 mol/kg. Takahashi's table is off: its allowed error of 6e-7 would
    hide a difference."""
    done = run(host, tmp_path, 1, cells="30, 100, 2", chunk="4000", steps="1", takahashi="'off'")
    assert done.returncode == 0, done.stdout + done.stderr
    assert table(done.stdout)["D"][0] < 1e-13


def test_a_difference_ends_every_rank(host, tmp_path):
    """With tolerances far below a rounding the run has to fail, and has to name the quantity and the place."""
    done = run(host, tmp_path, tolerance_factor="1e-9")
    assert done.returncode == 1
    assert re.search(r"(?m)^  rho .* ABOVE", done.stdout) and "NOT within the tolerances" in done.stdout


@pytest.mark.parametrize(
    "text, says",
    [
        ("&FrameInputs chunnk = 3 /", "chunnk"),
        ("&FrameInputs n_species = 10\n", "no end"),
        ("", "no group &FrameInputs"),
        (
            "&FrameInputs n_species = 1, Y_oxygen = 1, Y_fuel = 1, Y_products = 1, Y_wall = 1, chung = 'chong' /",
            "polefree published cantera",
        ),
        (
            "&FrameInputs n_species = 1, Y_oxygen = 1, Y_fuel = 1, Y_products = 1, Y_wall = 1, mixing = 'wilson' /",
            "mixing = 'wilson', wanted one of: vdw",
        ),
        ("&FrameInputs n_species = 1, Y_oxygen = 1, Y_fuel = -1, Y_products = 1, Y_wall = 1 /", "Y_fuel"),
        (
            "&FrameInputs n_species = 1, chunk = 0, Y_oxygen = 1, Y_fuel = 1, Y_products = 1, Y_wall = 1 /",
            "chunk = 0, wanted at least 1",
        ),
        (
            "&FrameInputs n_species = 1, calls = 'points', Y_oxygen = 1, Y_fuel = 1, Y_products = 1, Y_wall = 1 /",
            "calls = 'points', wanted one of: chunks blocks",
        ),
        (
            "&FrameInputs n_species = 1, reserve = 0.9, Y_oxygen = 1, Y_fuel = 1, Y_products = 1, Y_wall = 1 /",
            "reserve",
        ),
        (
            "&FrameInputs n_species = 1, cells = 4, 4, 4, grow = -2, 0, 0, Y_oxygen = 1, Y_fuel = 1, Y_products = 1, "
            "Y_wall = 1 /",
            "without points",
        ),
    ],
)
def test_a_bad_namelist_ends_every_rank(host, tmp_path, text, says):
    done = run(host, tmp_path, text=text)
    assert done.returncode == 2 and says in done.stdout, done.stdout + done.stderr


def test_missing_files(host, tmp_path):
    done = hosts.run(host, tmp_path / "none.nml", ranks=2, mpi=hosts.OPENMPI)
    assert done.returncode == 2 and "none.nml" in done.stdout
    done = run(host, tmp_path, mixture="'none.yaml'")
    assert done.returncode == 73 and "none.yaml" in done.stdout + done.stderr  # 70 + status 3, bad argument


def test_picture(host, tmp_path):
    pytest.importorskip("matplotlib")

    assert run(host, tmp_path).returncode == 0

    subprocess.run([sys.executable, STUB / "plot_fields.py", tmp_path / "fields", tmp_path / "fields.png"], check=True)

    assert (tmp_path / "fields.png").read_bytes().startswith(b"\x89PNG")

    other = subprocess.run(
        [sys.executable, STUB / "plot_fields.py", tmp_path / "empty"], capture_output=True, text=True
    )

    assert other.returncode != 0 and "run the demo host first" in other.stderr


FEW = (("gfortran",), ("flang",), ("gfortran", "-O0", "-fcheck=all", "-ffpe-trap=invalid,zero,overflow"))
ALL = (
    ("gfortran", "-O3", "-flto"),
    ("gfortran", "-fdefault-real-8"),
    ("gfortran", "-fdefault-integer-8"),
    ("gfortran", "-fdefault-real-8", "-fdefault-integer-8", "-fdefault-double-8"),
    ("gfortran", "-O3", "-march=native", "-ffast-math"),
    ("gfortran", "-fno-underscoring", "-fsecond-underscore"),
    ("flang", "-O3"),
    ("flang", "-O0", "-fdefault-real-8", "-fdefault-integer-8"),
)


@pytest.mark.parametrize("options", [FEW, FEW[:1] + ALL], ids=["few", "all"])
@pytest.mark.parametrize("style", ["old_style", "new_style"])
@pytest.mark.quick(
    options=(("gfortran",), ("flang",), ("gfortran", "-O0", "-fcheck=all", "-ffpe-trap=invalid,zero,overflow"))
)
def test_readme_programs_as_pasted(tmp_path, style, options, monkeypatch):
    """The README's Fortran, by its own compile line, runs and prints the density that its Python finds. Another
    compiler and other options in that line: the same digits."""
    hosts.library()
    readme = (ROOT / {"new_style": "README.md", "old_style": "docs/reference/fortran.md"}[style]).read_text()
    (source,) = re.findall(rf"```fortran\n(program {style}\n.*?)```", readme, re.S)
    (line,) = re.findall(rf"```sh\n(gfortran [^\n]* -o {style} [^\n]*)\n```", readme)
    (tmp_path / f"{style}.f90").write_text(source)
    monkeypatch.chdir(tmp_path)

    for name in ("build", "examples", "fortran_stub"):  # read by the compile line and the program, not written
        (tmp_path / name).symlink_to(ROOT / name)

    printed = {}

    for number, (compiler, *flags) in enumerate(options):
        (tmp_path / str(number)).mkdir()
        command = " ".join([hosts.need(compiler), *flags])
        command = line.replace("-Jbuild", f"-J{tmp_path / str(number)}").replace("gfortran", command)
        env = {**os.environ, "FRAME_BACKEND": "cpu"}
        out = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=env)

        assert out.returncode == 0, out.stdout + out.stderr

        printed[command] = out.stdout

    assert len(set(printed.values())) == 1, printed

    from kernels import Mixture

    want = Mixture.from_yaml("examples/mixtures/ch4_o2.yaml").properties("rho", T=300, p=1e7, Y=[0.2, 0.8] + 8 * [0.0])[
        "rho"
    ]

    assert any(abs(float(word) - want) < 1e-9 * want for word in out.stdout.split()), out.stdout


def test_readme_python_as_pasted():
    (source,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    out = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True)
    assert out.returncode == 0 and "(10, 5)" in out.stdout, out.stdout + out.stderr


@pytest.mark.parametrize("style", ["old_style", "new_style"])
def test_example_programs(tmp_path, style, monkeypatch):
    """Each compiles as its first lines say, and prints the values that Python finds for the same states."""
    library = hosts.library()
    sources = [ROOT / "examples/call_from_fortran" / f"{style}.f90"]

    if style == "new_style":
        sources.insert(0, hosts.MODULE)

    subprocess.run(
        [
            hosts.FORTRAN,
            f"-J{tmp_path}",
            *sources,
            "-o",
            tmp_path / style,
            f"-L{library.parent}",
            "-lframe",
            f"-Wl,-rpath,{library.parent}",
        ],
        check=True,
    )

    monkeypatch.chdir(ROOT)
    out = hosts.run(tmp_path / style)

    assert out.returncode == 0, out.stdout + out.stderr

    rows = [[float(v) for v in line.split()] for line in out.stdout.splitlines() if re.match(r"^ +\d+\.\d +\d", line)]

    assert len(rows) == 6

    from kernels import Mixture

    j = np.arange(2, 8)
    Y = np.zeros((10, 6))
    Y[0], Y[1] = 1 - j / 9, j / 9
    want = Mixture.from_yaml(ROOT / "examples/mixtures/ch4_o2.yaml").properties(
        "rho h c", T=150 + 20.0 * (j + 1), p=1e7, Y=Y
    )

    for column, name, digits in ((1, "rho", 5e-5), (2, "h", 10), (3, "c", 5e-4)):
        # half a unit of the last printed digit (h: es14.5, values of up to 5e6), and the roundings of the two programs
        assert np.abs(np.array(rows)[:, column] - want[name]).max() <= 5 * digits, name
