"""Types for users' checkers: a file as users write it under mypy --strict, without errors of its own or of ours."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import kernels

ROOT = pathlib.Path(kernels.__file__).resolve().parent.parent

FILE = """
import numpy as np
from numpy.typing import NDArray

from frame import Frame
from kernels import OPTIONS, Contraction, Mixture, SpeciesData, contract, set_constant, timed


def density(mix: Mixture, T: NDArray[np.float64], Y: NDArray[np.float64]) -> NDArray[np.float64]:
    return mix.properties("rho h", T=T, p=1e7, Y=Y)["rho"]


def after(mix: Mixture, dt: float) -> NDArray[np.float64]:
    set_constant("react_rtol", 1e-6)
    new = mix.react(1500.0, 1e5, {"CH4": 0.2, "O2": 0.8}, dt, kind="pressure")
    return new["T"]


def burnt(mix: Mixture, phi: NDArray[np.float64]) -> NDArray[np.float64]:
    X = mix.mixture_of("CH4", "O2:1, N2:3.76", phi)
    delay = mix.ignition_delay(1500.0, 1e6, X=X, kind="pressure", criterion=400.0)
    return mix.equilibrate("HP", T=300.0, p=1e5, X=X)["T"] + delay


def product(a: NDArray[np.float64], b: NDArray[np.float64]) -> None:
    c = contract("ij,jk->ik", a, b)
    Contraction("c[i k] = a[i j] b[j k]", dict(i=2, j=3, k=4)).bind(dict(a=a, b=b, c=c))(1)


def boiling(mix: Mixture) -> float:
    return float(mix.bubble_T(1e5, "CH4:1, O2:2")) + mix.critical_point([0.5, 0.5])["T"]


def masses(mix: Mixture) -> float:
    return float(mix.species.W.sum())


mix = Mixture.from_yaml("mix.yaml", equation="srk", lewis={"O2": 1.1})
with timed() as times:
    program = mix.program("rho", "T p Y")
    vol = mix.kernel("internal_energy")(p=1e5, vol=1.0, h=1.0)["e"]
print(OPTIONS["equation"][0], mix.ns, mix.notes, times, program.reads, vol.shape, Frame, SpeciesData.from_arrays)
"""


def checked(folder, text: str) -> str:
    """Messages of mypy --strict about a user's file. Our packages are found in the checkout, since mypy does not follow
    the hook of an editable installation; messages about them are left out."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed here: `make lint` installs it")

    user = folder / "user.py"
    user.write_text(text)
    command = ["-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", str(folder / "cache"), str(user)]
    where = {**os.environ, "MYPYPATH": str(ROOT)}
    told = subprocess.run([sys.executable, *command], cwd=folder, env=where, capture_output=True, text=True)
    return told.stdout + told.stderr


def test_a_users_file_is_accepted(tmp_path):
    assert checked(tmp_path, FILE).startswith("Success")


MISTAKES = {
    "mix.property('rho')": '"Mixture" has no attribute "property"',
    "from kernels import Mixtures": 'has no attribute "Mixtures"',
    "mix.react(1500.0, 1e5, 'O2:1', 1e-6, kind='isochoric')": "expected \"Literal['volume', 'pressure']\"",
    "mix.equilibrate('HT', T=300.0, p=1e5, X='O2:1')": "expected \"Literal['TP', 'TV', 'HP', 'UV', 'SP', 'SV']\"",
    "n: int = mix.properties('rho', T=300.0, p=1e5, Y='O2:1')": "Incompatible types in assignment",
}


def test_mistakes_are_found(tmp_path):
    told = checked(tmp_path, "\n".join([FILE, *MISTAKES]))
    first = FILE.count("\n") + 2

    for number, words in enumerate(MISTAKES.values(), first):
        assert any(f"user.py:{number}:" in line and words in line for line in told.splitlines()), (words, told)


def test_pyright_accepts_it_too(tmp_path):
    """In strict mode, where pyright is installed (pip install pyright)."""
    pyright = shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not installed here: pip install pyright")

    (tmp_path / "user.py").write_text(FILE)
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT)], "include": ["user.py"]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [pyright, "--pythonpath", sys.executable]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert told.returncode == 0 and "0 errors, 0 warnings" in told.stdout, told.stdout + told.stderr


@pytest.mark.parametrize("package", ["kernels", "frame"])
def test_the_packages_say_that_they_have_types(package):
    assert (ROOT / package / "py.typed").is_file()
    assert '"py.typed"' in (ROOT / "pyproject.toml").read_text()
