"""Nekbone, the third host: plain Fortran and a tensor expression give the known answer on any number of ranks, for both
rules of the boundary; bad input is refused. The example with all vectors on the device finds the same."""

import contextlib
import importlib
import re
import shutil
import site
import subprocess
import sys

import hosts
import numpy as np
import pytest
from hosts import ROOT
from tensor_cases import on_stand_in

from kernels import get_backend, registry
from kernels.teams.render import render

STUB = ROOT / "fortran_stub" / "nekbone"


@pytest.fixture(scope="module")
def nekbone(tmp_path_factory):
    """The program as the Makefile compiles it, with bounds checked."""
    if hosts.OPENMPI.missing:
        pytest.skip(hosts.OPENMPI.missing)

    library = hosts.library()
    folder = tmp_path_factory.mktemp("nekbone")
    command = [hosts.OPENMPI.compiler, "-O1", "-fcheck=bounds", f"-J{folder}", "-o", folder / "nekbone"]
    command += [*hosts.makefile_list("NEKBONE"), f"-L{library.parent}", "-lframe", f"-Wl,-rpath,{library.parent}"]
    subprocess.run(command, check=True)

    return folder / "nekbone"


def run(program, folder, ranks=1, file="nekbone.nml", environment=None, **changes):
    text = (STUB / file).read_text()
    for key, value in changes.items():
        text, found = re.subn(rf"(?m)^(\s*{key}\s*=)[^!\n]*", rf"\1 {value} ", text)
        assert found == 1, key

    (folder / "input.nml").write_text(text)
    return hosts.run(
        program, folder / "input.nml", ranks=ranks, mpi=hosts.OPENMPI if ranks > 1 else None, **(environment or {})
    )


def norms(out):
    """[of plain, of layer], each {iteration: norm}"""
    parts = re.split(r"(?m)^(?:plain|layer|device): time", out)[1:]
    return [{int(k): float(x) for k, x in re.findall(r"iteration +(\d+): norm +(\S+)", part)} for part in parts]


@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.quick(ranks=1)
def test_the_known_answer(nekbone, tmp_path, ranks):
    """The program checks it: within 1e-4 up to iteration 50, within 1e-2 at 100."""
    done = run(nekbone, tmp_path, ranks, file="nekbone_check.nml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("off the known answer") == done.stdout.count(": right.") == 2
    plain, layer = norms(done.stdout)
    assert list(plain) == list(layer) == [0, 1, 10, 20, 50, 100]
    assert abs(plain[50] / 4.850574e-4 - 1) < 1e-4  # also here: a check that cannot fail would be none
    assert "the same." in done.stdout and re.search(r"median of the turns: +\d+\.\d+ times as fast", done.stdout)
    assert all(float(x) > 0 for x in re.findall(r"GF/s +(\S+); of the operator alone +(\S+); unkn", done.stdout)[0])


def test_on_the_stand_in_of_a_device(nekbone, tmp_path):
    """The program's arrays are copied to the device and back, or are the device's. Its interpreter begins with the
    stand-in."""
    if not shutil.which("g++"):
        pytest.skip("the stand-in needs g++")

    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    (packages,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (packages / "paths.pth").write_text("\n".join(map(str, (*site.getsitepackages(), ROOT))))
    stand_in = hosts.SOURCES / "stand_in.py"
    # a line of a .pth file: Debian's Python has a sitecustomize.py of its own in front
    (packages / "stand_in.pth").write_text(f"import runpy; runpy.run_path({str(stand_in)!r})\n")
    environment = {"FRAME_BACKEND": "cuda", "STAND_IN": str(tmp_path)}
    environment["FRAME_PYTHON"] = str(tmp_path / "venv" / "bin" / "python")
    changes = dict(method="'all'", points=6, elements="3, 2, 2", iterations=10, repeats=1)
    done = run(nekbone, tmp_path, environment=environment, **changes)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("up to iteration 50: the same.") == 2, done.stdout
    assert list(tmp_path.glob("*.so"))  # kernels were compiled for the stand-in


def oracle(n, elements, iterations, shipped):
    """Norms by NumPy: points numbered through the whole brick, D from the polynomials themselves."""
    legendre = np.polynomial.legendre
    last = legendre.Legendre.basis(n - 1)
    x = np.concatenate([[-1.0], np.sort(last.deriv().roots().real), [1.0]])
    weight = 2 / (n * (n - 1) * last(x) ** 2)
    D = np.empty((n, n))

    for k in range(n):  # slopes of the polynomial that is 1 at point k and 0 at the others
        p = np.poly1d(np.poly(np.delete(x, k)))
        D[:, k] = (p.deriv() / p(x[k]))(x)

    mx, my, mz = elements
    grid = [m * (n - 1) + 1 for m in elements]
    e = np.arange(mx * my * mz)
    at = [(e // step % m)[:, None, None, None] * (n - 1) for step, m in ((1, mx), (mx, my), (mx * my, mz))]
    i = at[0] + np.arange(n)
    j = at[1] + np.arange(n)[:, None]
    k = at[2] + np.arange(n)[:, None, None]
    number = i + grid[0] * (j + grid[1] * k)
    wall = (i % (grid[0] - 1) == 0) | (j % (grid[1] - 1) == 0) | (k % (grid[2] - 1) == 0)
    wall = np.broadcast_to(wall, number.shape)
    late = wall & (e == 0)[:, None, None, None] if shipped else wall
    add = lambda u: np.bincount(number.ravel(), u.ravel())[number]
    share = 1 / add(np.ones(number.shape))
    w3 = weight[:, None, None] * weight[:, None] * weight
    square = ((np.arange(1, number.size + 1) ** 2 + 2**31) % 2**32 - 2**31).astype(float)
    f = add(np.sin(1e9 * np.cos(1e9 * square)).reshape(number.shape)) * share

    def operator(u):
        w = np.einsum("ai,al,ekjl,kja->ekji", D, D, u, weight[:, None, None] * weight[:, None] * weight, optimize=True)
        w += np.einsum("aj,al,ekli,kai->ekji", D, D, u, w3, optimize=True)
        w += np.einsum("ak,al,elji,aji->ekji", D, D, u, w3, optimize=True)
        w = add(w) + 0.1 * u
        return np.where(late, 0, w)

    r, p, rho, found = np.where(wall, 0, f), np.zeros(number.shape), 1.0, {}
    found[0] = np.sqrt((r * share * r).sum())
    for iteration in range(1, iterations + 1):
        old, rho = rho, (r * share * r).sum()
        p = r + (rho / old if iteration > 1 else 0) * p
        w = operator(p)
        r = r - rho / (w * share * p).sum() * w
        found[iteration] = np.sqrt((r * share * r).sum())

    return found


@pytest.mark.parametrize("mask", ["all", "shipped"])
def test_an_oracle_for_both_rules(nekbone, tmp_path, mask):
    """5 points (no constant of the plain Fortran), 3 x 2 x 2 elements, on ranks that have different numbers of them."""
    changes = dict(points=5, elements="3, 2, 2", iterations=10, repeats=1, mask=f"'{mask}'")
    wanted = oracle(5, (3, 2, 2), 10, mask == "shipped")
    for ranks in (1, 2) if mask == "all" else (1,):  # as shipped, the first element of each rank
        done = run(nekbone, tmp_path, ranks, **changes)
        assert done.returncode == 0, done.stdout + done.stderr
        for found in norms(done.stdout):
            # the right side has 1e9 cos: its last digits differ between libraries, 1e9 eps = 2e-7, averaged over 1500
            assert all(abs(found[k] / wanted[k] - 1) < 1e-5 for k in (0, 1, 10)), (found, wanted)


def test_one_method_alone(nekbone, tmp_path):
    changes = dict(points=5, elements="2, 2, 2", iterations=3, repeats=2)
    plain = run(nekbone, tmp_path, method="'plain'", **changes)
    layer = run(nekbone, tmp_path, method="'layer'", **changes)
    assert plain.returncode == layer.returncode == 0, plain.stderr + layer.stderr
    assert "layer" not in plain.stdout and norms(plain.stdout)[0] == pytest.approx(norms(layer.stdout)[0], rel=1e-5)
    device = run(nekbone, tmp_path, method="'device'", **changes)
    assert device.returncode == 0 and re.search(r"device: time \[s\] +\S+, copies before it", device.stdout), (
        device.stderr
    )
    assert norms(plain.stdout)[0] == pytest.approx(norms(device.stdout)[0], rel=1e-5)


@pytest.mark.parametrize(
    "changes, says",
    [
        (dict(method="'fast'"), "method = 'fast', wanted plain, layer, both, device or all"),
        (dict(method="'device'", mask="'shipped'"), "method = 'device' has mask = 'all' only"),
        (dict(mask="'none'"), "mask = 'none', wanted all or shipped"),
        (dict(points="1"), "points = 1, wanted 2 to 32"),
        (dict(elements="1, 1, 1"), "2 ranks cannot share 1 1 1 elements"),
        (dict(method="'all'", elements="2, 2, 2"), "method 'all' is for 1 rank"),
        (dict(iterations="0"), "iterations = 0, wanted at least 1"),
    ],
)
def test_bad_input(nekbone, tmp_path, changes, says):
    done = run(nekbone, tmp_path, 2 if re.search("share|rank", says) else 1, **changes)
    assert done.returncode == 2 and says in done.stdout, done.stdout + done.stderr


# ---- all vectors where the kernels run ------------------------------------------------------------------------------


@pytest.fixture(params=["cpu", "stand-in"])
def resident(request, tmp_path, monkeypatch):
    """(the example's module, a backend)"""
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "nekbone"))
    sys.modules.pop("nekbone", None)
    here = on_stand_in(tmp_path) if request.param == "stand-in" else contextlib.nullcontext(get_backend("cpu"))

    with registry.temporary(), here as be:
        yield importlib.import_module("nekbone"), be

    sys.modules.pop("nekbone", None)


def plain_norms(module, n, elements, iterations):
    """By numbers of the brick's points, and sums over the elements that have them."""
    E, (mx, my, mz) = int(np.prod(elements)), elements
    _, weight, D = module.lobatto(n)
    e, k, j, i = np.meshgrid(*(np.arange(x) for x in (E, n, n, n)), indexing="ij")
    x, y, z = ((m % b) * (n - 1) + a for m, b, a in ((e, mx, i), (e // mx, my, j), (e // mx // my, mz, k)))
    nx, ny, nz = (m * (n - 1) + 1 for m in elements)
    number = x + nx * (y + ny * z)
    inside = (x > 0) & (x < nx - 1) & (y > 0) & (y < ny - 1) & (z > 0) & (z < nz - 1)
    summed = lambda u: np.bincount(number.ravel(), u.ravel(), nx * ny * nz)[number]
    c = 1 / summed(np.ones(number.shape))
    cube = weight[:, None, None] * weight[:, None] * weight

    def operator(p):
        slopes = [np.einsum(t, D, p) * cube for t in ("il,ekjl->ekji", "jl,ekli->ekji", "kl,elji->ekji")]
        back = [np.einsum(t, D, s) for t, s in zip(("li,ekjl->ekji", "lj,ekli->ekji", "lk,elji->ekji"), slopes)]
        return np.where(inside, summed(sum(back)) + 0.1 * p, 0)

    r = np.where(inside, summed(module.right_side(number.size).reshape(number.shape)) * c, 0)
    p, rho, norms = np.zeros(r.shape), 1.0, [np.sqrt(np.sum(c * r * r))]
    for _ in range(iterations):
        rho, old = np.sum(c * r * r), rho
        p = r + p * (rho / old)
        w = operator(p)
        r = r - rho / np.sum(c * p * w) * w
        norms.append(np.sqrt(np.sum(c * r * r)))

    return norms


def test_resident_nekbone_beside_numpy(resident):
    """Three different numbers of elements; some steps, in which roundings (1e-16 of some 1e3 terms) grow little."""
    module, be = resident
    problem = module.Nekbone(4, (2, 3, 2), 6, be, quick=True)
    for _ in range(2):  # a second run begins anew
        problem.solve()
        np.testing.assert_allclose(problem.norms(), plain_norms(module, 4, (2, 3, 2), 6), rtol=1e-11)

    assert problem.unknowns == 5 * 8 * 5


def test_resident_kernels_compile_for_a_device(resident):
    """NVRTC, sm_90; no register is spilled."""
    module, be = resident
    if be.memory == "device":  # the stand-in has its own compiler
        return

    target = get_backend("cuda", arch="sm_90")
    for kernel in (module.DIRECTION, module.GATHER, module.STEP, module.START):
        (told,) = target.compile(render([kernel], target.entry, np.dtype("float64"))).report.values()
        assert told["spill_stores"] == told["spill_loads"] == 0, kernel.name


@pytest.mark.full
def test_resident_nekbone_as_a_program():
    """The known answer, and the figures; the rate of a copy from few bytes."""
    words = "--backend cpu --elements 2,2,2 --points 4 --iterations 3 --repeats 1".split()
    short = "import sys, nekbone; nekbone.copy_rate.__defaults__ = (1 << 18,); sys.exit(nekbone.main())"
    done = hosts.run(sys.executable, "-c", short, *words, PYTHONPATH=f"{ROOT}:{ROOT / 'examples/nekbone'}")
    assert done.returncode == 0 and ": right\n" in done.stdout, done.stdout + done.stderr
    assert re.search(r"[\d.e+]+ unknowns a second.*share [\d.]+", done.stdout, re.S)
