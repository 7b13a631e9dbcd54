"""The demo from end to end: the Fortran host under mpirun, its comparison, its exit codes, its picture."""
import os
import re
import shutil
import subprocess
import sys

import pytest

from mixtures_for_tests import ROOT

STUB = ROOT/"fortran_stub"
SOURCES = [STUB/f"{name}.f90" for name in ("species_tables", "peng_robinson", "chung", "diffusion", "properties",
                                           "host_config", "host_field", "host_layer", "host_compare", "host_output", "host")]
# Open MPI as root in a container, on fewer cores than ranks, and without its warnings.
MPI_ENV = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
           "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_btl_base_warn_component_unused": "0",
           "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
QUANTITIES = "W Z rho h e cp cv gamma c rho_p rho_T h_p h_T h0 mu lam D".split()

pytestmark = pytest.mark.skipif(shutil.which("mpirun") is None or shutil.which("mpifort") is None, reason="needs an MPI for Fortran")


@pytest.fixture(scope="module")
def library():
    """build/libframe.so, made if it is not there."""
    path = ROOT/"build/libframe.so"
    if not path.exists():
        subprocess.run([sys.executable, "-m", "frame", "build"], cwd=ROOT, check=True)
    return path


@pytest.fixture(scope="module")
def host(library, tmp_path_factory):
    """The demo host, compiled as the Makefile does, bounds checked."""
    folder = tmp_path_factory.mktemp("host")
    subprocess.run(["mpifort", "-O1", "-fcheck=bounds", f"-J{folder}", "-o", folder/"demo_host", *SOURCES,
                    f"-L{library.parent}", "-lframe", f"-Wl,-rpath,{library.parent}"], check=True)
    return folder/"demo_host"


def run(host, folder, ranks=2, text=None, file=STUB/"demo.nml", **changes):
    """Run the host on a namelist, with some entries replaced; every run gets small blocks and its own output folder."""
    if text is None:
        text = file.read_text()
        for key, value in ({"cells": "18, 14, 3", "rank_more": "3, 0, 1", "grow": "-2, 1, 1", "chunk": "250",
                           "output": f"'{folder}/fields'"} | changes).items():
            text, found = re.subn(rf"(?m)^(\s*{key}\s*=)[^!\n]*", rf"\1 {value} ", text)
            assert found == 1 or key in changes, key
    (folder/"input.nml").write_text(text)
    return subprocess.run(["mpirun", "-n", str(ranks), host, folder/"input.nml"], cwd=ROOT, capture_output=True, text=True,
                          timeout=300, env={**os.environ, "FRAME_BACKEND": "cpu", "OMP_NUM_THREADS": "1", **MPI_ENV})


def table(out):
    """{quantity: (difference, tolerance)} of the comparison."""
    rows = re.findall(r"(?m)^  (\w+) +([\d.E+-]+) +([\d.E+-]+) +\d+ +\d+ +\d+ +\d+ +\d+", out)
    return {name: (float(d), float(t)) for name, d, t in rows}


@pytest.mark.parametrize("ranks, file", [(1, "demo.nml"), (2, "demo.nml"), (4, "demo.nml"), (2, "demo_h2_o2.nml"), (1, "demo_n2.nml")])
def test_demo_agrees(host, tmp_path, ranks, file):
    done = run(host, tmp_path, ranks, file=STUB/file)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = table(done.stdout)
    assert list(rows) == QUANTITIES
    assert all(d <= t < 1e-9 for d, t in rows.values()), rows       # a tolerance of a demo that says nothing would be larger
    assert len(list((tmp_path/"fields").glob("plane_*.bin"))) == ranks
    assert "ratio" in done.stdout and "thermal_viscous" in done.stdout.split("Timers")[1]
    roots = [int(n) for n in re.findall(r"two roots at (\d+) points", done.stdout)]
    assert len(roots) == 3
    if file == "demo_n2.nml":
        assert min(roots) > 0


@pytest.mark.parametrize("collection, missing", [("thermal", "mu lam D".split()), ("viscous", QUANTITIES[:14])])
def test_other_collections(host, tmp_path, collection, missing):
    done = run(host, tmp_path, collection=f"'{collection}'")
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(table(done.stdout)) == [name for name in QUANTITIES if name not in missing]


def test_model_options_reach_both_sides(host, tmp_path):
    done = run(host, tmp_path, root="'vapour'", alpha="'cantera'", chung="'published'", diffusion="'fuller'", takahashi="'table'")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_difference_ends_every_rank(host, tmp_path):
    """With tolerances far below a rounding the run has to fail, and has to say what and where."""
    done = run(host, tmp_path, tolerance_factor="1e-9")
    assert done.returncode == 1
    assert re.search(r"(?m)^  rho .* ABOVE", done.stdout) and "NOT within the tolerances" in done.stdout


@pytest.mark.parametrize("text, says", [
    ("&FrameInputs chunnk = 3 /", "chunnk"),
    ("&FrameInputs n_species = 10\n", "no end"),
    ("", "no group &FrameInputs"),
    ("&FrameInputs n_species = 1, Y_oxygen = 1, Y_fuel = 1, Y_products = 1, Y_wall = 1, chung = 'chong' /", "polefree published cantera"),
    ("&FrameInputs n_species = 1, Y_oxygen = 1, Y_fuel = -1, Y_products = 1, Y_wall = 1 /", "Y_fuel"),
    ("&FrameInputs n_species = 1, chunk = 0, Y_oxygen = 1, Y_fuel = 1, Y_products = 1, Y_wall = 1 /", "chunk = 0, wanted at least 1"),
    ("&FrameInputs n_species = 1, cells = 4, 4, 4, grow = -2, 0, 0, Y_oxygen = 1, Y_fuel = 1, Y_products = 1, Y_wall = 1 /",
     "without points"),
])
def test_a_bad_namelist_ends_every_rank(host, tmp_path, text, says):
    done = run(host, tmp_path, text=text)
    assert done.returncode == 2 and says in done.stdout, done.stdout + done.stderr


def test_missing_files(host, tmp_path):
    done = subprocess.run(["mpirun", "-n", "2", host, tmp_path/"none.nml"], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **MPI_ENV})
    assert done.returncode == 2 and "none.nml" in done.stdout
    done = run(host, tmp_path, mixture="'none.yaml'")
    assert done.returncode == 73 and "none.yaml" in done.stdout + done.stderr       # 70 + status 3, bad argument


def test_picture(host, tmp_path):
    pytest.importorskip("matplotlib")
    assert run(host, tmp_path).returncode == 0
    subprocess.run([sys.executable, STUB/"plot_fields.py", tmp_path/"fields", tmp_path/"fields.png"], check=True)
    assert (tmp_path/"fields.png").read_bytes().startswith(b"\x89PNG")
    other = subprocess.run([sys.executable, STUB/"plot_fields.py", tmp_path/"empty"], capture_output=True, text=True)
    assert other.returncode != 0 and "run the demo host first" in other.stderr


@pytest.mark.parametrize("style", ["old_style", "new_style"])
def test_programs_of_the_readme(library, tmp_path, style):
    """Each compiles as its first lines say, and both print the same densities."""
    sources = [ROOT/"examples/call_from_fortran"/f"{style}.f90"]
    if style == "new_style":
        sources.insert(0, STUB/"frame_interface.f90")
    subprocess.run(["gfortran", f"-J{tmp_path}", *sources, "-o", tmp_path/style, f"-L{library.parent}", "-lframe",
                    f"-Wl,-rpath,{library.parent}"], check=True)
    out = subprocess.run([tmp_path/style], cwd=ROOT, capture_output=True, text=True, env={**os.environ, "FRAME_BACKEND": "cpu"})
    assert out.returncode == 0, out.stdout + out.stderr
    rows = [[float(v) for v in line.split()] for line in out.stdout.splitlines() if re.match(r"^ +\d+\.\d +\d", line)]
    assert len(rows) == 6

    from kernels import Mixture                                  # the same states from Python
    import numpy as np
    j = np.arange(2, 8)
    Y = np.zeros((10, 6))
    Y[0], Y[1] = 1 - j/9, j/9
    want = Mixture.from_yaml(ROOT/"examples/mixtures/ch4_o2.yaml").properties("rho h c", T=150 + 20.0*(j + 1), p=1e7, Y=Y)
    for column, name, digits in ((1, "rho", 5e-5), (2, "h", 10), (3, "c", 5e-4)):
        # half a unit of the last digit printed (h: es14.5, values of up to 5e6), and the rounding of the two programs
        assert np.abs(np.array(rows)[:, column] - want[name]).max() <= 5*digits, name
