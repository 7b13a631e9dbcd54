"""What the README shows runs when pasted."""
import re
import subprocess
import sys

import pytest

import hosts
from hosts import ROOT

TEXT = (ROOT/"README.md").read_text()


@pytest.mark.parametrize("name", ("new_style", "old_style"))
def test_fortran_program(name, tmp_path):
    """Program and compile line as printed; rho of CH4 and O2 at 300 K, 100 bar lies between 0.9 and 1.3 of the ideal gas."""
    hosts.library()
    program = next(p for p in re.findall(r"```fortran\n(.*?)```", TEXT, re.S) if f"program {name}" in p)
    line = next(c for c in re.findall(r"```sh\n(.*?)```", TEXT, re.S) if f"{name}.f90" in c)
    source, binary = tmp_path/f"{name}.f90", tmp_path/name
    source.write_text(program)
    line = line.replace(f" {name}.f90", f" {source}").replace(f"-o {name}", f"-o {binary}").replace(f"./{name}", str(binary))
    line = line.replace("-Jbuild", f"-J{tmp_path}")
    done = subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    numbers = [float(x) for x in done.stdout.split()]
    if name == "new_style":
        assert numbers[0] == 0
        numbers = numbers[1:]
        assert 1e-5 < numbers[1] < 3e-5                          # dilute O2 20.7, CH4 11.1 uPa s
    W = 1/(0.2/16.043e-3 + 0.8/31.998e-3)
    assert 0.9 < numbers[0]/(1e7*W/(8.31446*300)) < 1.3


def test_python_lines(tmp_path):
    code = re.findall(r"```python\n(.*?)```", TEXT, re.S)[0]
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "(10, 5)" in done.stdout, done.stdout + done.stderr


def test_named_files_and_quantities_exist():
    from kernels import OPTIONS, quantities

    for path in re.findall(r"`((?:examples|fortran_stub|tests|build)/[\w./]+)`", TEXT):
        if not path.startswith("build/"):
            assert (ROOT/path.rstrip("/")).exists(), path
    for row in re.findall(r"(?m)^\| `([\w ]+)` \| ", TEXT):
        known = set(quantities) | set(OPTIONS)
        assert all(n in known or n.startswith("FRAME_") for n in row.split()), row
    for option, values in OPTIONS.items():
        if option != "mixing":
            assert all(f"`{v}`" in TEXT for v in values), option
