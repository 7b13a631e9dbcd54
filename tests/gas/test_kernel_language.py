"""docs/howto/kernel_language.md is right: its functions, what does not compile, and its example."""

import re
import subprocess
import sys

import numpy as np
import pytest
from device_for_tests import be  # noqa: F401
from hosts import ROOT, compiled, run
from own_kernels_for_tests import ABOUT, CPU, SM_90, message, own, value

import kernels
from kernels import Mixture, NoSpecies, Program, Wanted

PAGE = (ROOT / "docs/howto/kernel_language.md").read_text()

pytestmark = pytest.mark.usefixtures("registry")


def rows(title: str) -> list[list[str]]:
    """The cells of the table below this heading, without its head."""
    part = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| `")]
    return [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


FUNCTIONS = [re.match("`(.*?)`", row[0])[1] for row in rows("Functions")]
WRONG = [[cell.strip("`") for cell in row] for row in rows("What does not compile")]
MEANT = {  # in NumPy, with x and y in 0.1 .. 0.45
    "sqrt(x)": np.sqrt,
    "cbrt(x)": np.cbrt,
    "exp(x)": np.exp,
    "expm1(x)": np.expm1,
    "log(x)": np.log,
    "pow(x, y)": lambda x, y: x**y,
    "pow(x, 3)": lambda x: x**3,
    "min(x, y)": np.minimum,
    "max(x, y)": np.maximum,
    "at_least(x, 0.3)": lambda x: np.maximum(x, 0.3),
    "at_most(x, 0.3)": lambda x: np.minimum(x, 0.3),
    "larger(x, y)": np.fmax,
    "smaller(x, y)": np.fmin,
    "fabs(x)": np.abs,
    "copysign(x, y)": np.copysign,
    "floor_small(x)": np.floor,
    "square(x)": np.square,
    "inverse(x)": lambda x: 1 / x,
    "inverse_root(x)": lambda x: x**-0.5,
    "inverse_fourth_root(x)": lambda x: x**-0.25,
    "inverse_two_thirds(x)": lambda x: x ** (-2 / 3),
    "two_to(x, y)": lambda x, y: 2 ** (x * y),
    "two_to_less_one(x, y)": lambda x, y: 2 ** (x * y) - 1,
    "atanh_over_root(x)": lambda x: np.arctanh(np.sqrt(x)) / np.sqrt(x),
    "select(x < y, x, y)": np.minimum,
    "select(x < y && !(x > 0.2), x, 2.0)": lambda x, y: np.where((x < y) & (x <= 0.2), x, 2.0),
    "R(any_of(x < y) ? 1.0 : 2.0)": None,
    "R(all_of(x < 9.0) ? 1.0 : 2.0)": lambda x: np.ones_like(x),
    # what the text says of plain numbers, and of the two languages' other spellings
    "pow(x, 0.7)": lambda x: x**0.7,
    "pow(10.0, x)": lambda x: 10.0**x,
    "pow(x, -2)": lambda x: x**-2.0,
    "min(x, 0.3)": lambda x: np.minimum(x, 0.3),
    "max(0.3, x)": lambda x: np.maximum(x, 0.3),
    "min(0.3, 0.4) + 0.0 * x": lambda x: 0.3 + 0 * x,
    "select(x > y, 1.0, x)": lambda x, y: np.where(x > y, 1.0, x),
    "select(!(x <= y) || x >= 0.4, x, y)": lambda x, y: np.where(~(x <= y) | (x >= 0.4), x, y),
    "changed(x, y)": lambda x, y: (((x + 1.0) - y) * 2.0 / y + x) * x / 4.0 - 1.0,
    "law(x)": np.square,
    "plain(x)": lambda x: 0.4 + 0.3 + 0.09 + 0.3**0.5 + 0.3 + 0 * x,
    "R(R_UNIVERSAL * LN2 * SQRT2) + 0.0 * x": lambda x: 8.31446261815324 * np.log(2) * np.sqrt(2) + 0 * x,
}
CHANGED = """template <class R> POINT_FN R changed(const R x, const R y) {
    R z = x;
    z += 1.0, z -= y, z *= 2.0, z /= y, z += x, z *= x, z /= 4.0, z -= 1.0;
    return z;
}
template <class R> POINT_FN R law(const R x) { return x * x; }
template <class R> POINT_FN R plain(const R x) { // numbers as constants are, which are float in single precision
    const scalar a = 0.3, b = 0.4;
    return 0.0 * x + (max(a, b) + min(a, 0.5) + pow(a, 2) + pow(a, 0.5) + select(a < b, a, b));
}
"""


def every_function(folder, packs):
    """A kernel that gives the value of each function, declared."""
    body = (
        "template <class M, class R, class S> POINT_FN void functions(const M &, const R x, const R y, S &values) {\n"
    )
    body += "".join(f"    values.set({k}, {written});\n" for k, written in enumerate(MEANT)) + "}\n"
    declared = "quantity('x', '1', 'test'); quantity('y', '1', 'test'); quantity('values', '1', 'test', per='ns')\n"
    declared += f"point_kernel('functions', header='own.h', reads='x y', writes='values', packs={packs}, {ABOUT})\n"
    own(folder, "functions", CHANGED + body, declared, head="#pragma once\n{:.0}")


def test_the_page_lists_functions_that_are_tested():
    assert set(FUNCTIONS) <= set(MEANT) and len(FUNCTIONS) >= 25


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("packs", [1, 4])
def test_every_function_of_the_page(be, tmp_path, packs, precision):  # noqa: F811
    """Values within 8 units in the last place, and 2 + 2 |y log x| of pow; also where x is NaN."""
    if packs == 4 and be.style == "threads":
        pytest.skip("a thread has one point")
    every_function(tmp_path, packs)
    x, y = (g.ravel() for g in np.meshgrid(np.linspace(0.1, 0.45, 12), np.linspace(0.11, 0.44, 12)))
    x[:2] = np.nan
    made = Mixture(NoSpecies(len(MEANT))).kernel("functions")(backend=be, precision=precision, x=x, y=y)["values"]
    eps = np.finfo(np.float32 if precision == "single" else np.float64).eps

    for got, (written, meant) in zip(made, MEANT.items()):
        if meant is None:
            continue

        wanted = meant(*([x] if re.search(r"\by\b", written) is None else [x, y]))
        if written in ("select(x < y, x, y)", "R(all_of(x < 9.0) ? 1.0 : 2.0)"):  # say nothing of NaN
            got, wanted = got[2 * 16 :], wanted[2 * 16 :]
        cancelled = 8 if written.startswith(("changed", "expm1", "two_to_less_one", "log")) else 1

        np.testing.assert_allclose(got, wanted, rtol=16 * cancelled * eps, atol=0, err_msg=written)


def test_pow_at_its_ends(be, tmp_path):  # noqa: F811
    own(tmp_path / "a", "ends", "    mu = pow(T, 0.5);\n")
    own(tmp_path / "b", "whole", "    mu = pow(T, 3) + pow(T, -1);\n")
    T = np.array([0.0, -1.0, np.nan, 1e-300, 1e300, 4.0])
    np.testing.assert_allclose(value("ends", be, T=T)["mu"], [0, np.nan, np.nan, 1e-150, 1e150, 2], rtol=1e-12)
    np.testing.assert_allclose(value("whole", be, T=np.array([-2.0, 3.0]))["mu"], [-8.5, 27 + 1 / 3], rtol=1e-15)


@pytest.mark.parametrize("precision", ["mixed", "scalar", "wide", "count"])
def test_every_function_on_the_other_number_types(tmp_path, precision):
    every_function(tmp_path, 1)
    x = np.linspace(0.1, 0.45, 5)
    got = Mixture(NoSpecies(len(MEANT))).kernel("functions")(backend=CPU, precision=precision, x=x, y=x[::-1])["values"]

    for row, (written, meant) in zip(got, MEANT.items()):
        if meant is not None:
            wanted = meant(*([x, x[::-1]] if re.search(r"\by\b", written) else [x]))
            np.testing.assert_allclose(row, wanted, rtol=1e-5 if precision == "mixed" else 1e-13, err_msg=written)


@pytest.mark.parametrize("precision", ["double", "mixed", "single"])
def test_every_function_of_the_page_compiles_for_a_gpu(tmp_path, precision):
    every_function(tmp_path, 1)
    Program(Mixture(NoSpecies(len(MEANT))), Wanted(kernels=["functions"]), backend=SM_90, precision=precision)


WRONG_HEAD = """#pragma once
template <class M, class R, class S> POINT_FN void page_{}(const M &m, const R T, R &mu, S &mu_k) {{
    R x = T, y = 2.0 * T;
    (void)x, (void)y, (void)m;
"""


@pytest.mark.parametrize("number", range(len(WRONG)), ids=[written for written, _ in WRONG])
def test_what_does_not_compile_and_what_to_write_instead(tmp_path, number):
    def declared(name):
        return (
            "from kernels import constant\nquantity('mu_k', '1', 'test', per='ns')\nconstant('MU0', '1', 'test', 1.0)\n"
            f"point_kernel('page_{name}', header='own.h', reads='T', writes='mu mu_k', constants='MU0', {ABOUT})\n"
        )

    wrong, right = WRONG[number]
    own(tmp_path / "wrong", "wrong", f"    {wrong}\n}}\n", declared("wrong"), head=WRONG_HEAD)
    assert re.match(r"kernel 'page_wrong' \(own.h, line 5\): .*Likely: ", message("page_wrong"))

    own(tmp_path / "right", "right", f"    {right}\n}}\n", declared("right"), head=WRONG_HEAD)
    Program(Mixture(NoSpecies(3)), Wanted(kernels=["page_right"]), backend=CPU)
    Program(Mixture(NoSpecies(3)), Wanted(kernels=["page_right"]), backend=SM_90)


def test_the_pages_example(tmp_path, monkeypatch):
    """Its header, its declaration and the Python line for each constant."""
    for name, text in re.findall(r"```(?:cpp|python)\n(?://|#) (\S+)\n(.*?)```", PAGE, re.S):
        (tmp_path / name).write_text(text)
    kernels.load_declarations(tmp_path / "viscosity.py")
    kernels.set_constant("MU0", 2.0)
    kernels.set_constant("weight", [1.0, 2.0, 3.0])
    mix, Y = Mixture(NoSpecies(3)), np.array([0.5, 0.25, 0.25])
    for backend in (CPU, SM_90):
        program = Program(mix, Wanted(kernels=["shares"]), backend=backend)
    got = mix.kernel("shares")(backend="cpu", T=600.0, Y=Y)
    mu = 2.0 * (600.0 / 273.15) ** 0.7

    np.testing.assert_allclose(got["mu"], mu, rtol=1e-14)
    np.testing.assert_allclose(got["mu_k"], Y * mu * [1.0, 2.0, 3.0], rtol=1e-14)
    assert program.settable == ("MU0", "T0", "EXPONENT", "weight")


def test_the_pages_fortran(tmp_path):
    """The calls of the example as they stand there, in a host; and its row among the names."""
    calls = re.search(r"```fortran\n(.*?)```", PAGE, re.S)[1]
    for name, text in re.findall(r"```(?:cpp|python)\n(?://|#) (\S+)\n(.*?)```", PAGE, re.S):
        (tmp_path / name).write_text(text)

    (tmp_path / "page.f90").write_text(
        "program page\nuse frame_interface\nreal(8) :: mu0 = 2, weight(3) = 1\n"
        "real(8), target :: T(4), Y(4, 3), mu(4)\n"
        f"T = 273.15d0\nY = 1\ncall frame_initialize(-1, 8, 3, 1, 0)\n{calls}print '(f6.3)', mu\nend program\n"
    )

    done = run(compiled(str(tmp_path / "page.f90")), cwd=tmp_path)
    assert done.stdout.split() == ["2.000"] * 4, done.stdout + done.stderr

    command = [sys.executable, "-m", "frame", "names", "--register", str(tmp_path / "viscosity.py")]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout

    assert "| weight | 1 | 3 | of each species | has to be set |" in listed
    assert "| T0 | K |  | temperature of MU0 | 273.15 |" in listed
