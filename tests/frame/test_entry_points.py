"""The entry points from compiled Fortran programs at 1, 2 and 4 ranks, and the files generated from the table."""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
from hosts import BUILD, MPIS, OWN_KERNEL, ROOT, compiled, library, run

import kernels
from frame import build
from frame.entry import ENTRIES
from frame.frame import Frame

MIXTURES = ROOT / "examples" / "mixtures"
NS = {"n2": 1, "h2_o2": 3, "ch4_o2": 10}
UNTOUCHED = -999.0


def species_of(name: str) -> int:
    return kernels.Mixture.from_yaml(MIXTURES / f"{name}.yaml").ns


# ---- what is generated --------------------------------------------------------------------------------------------


def test_the_module_lies_beside_the_library():
    """Hosts compile it from there, also those of an installation."""
    assert (library().parent / "frame_interface.f90").read_text() == build.fortran_module()


def test_the_module_fits_fortrans_lines():
    assert max(map(len, build.fortran_module().splitlines())) <= 132


def test_every_row_is_served_and_exported():
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", str(library())], capture_output=True, text=True, check=True
    ).stdout.split()

    for entry in ENTRIES:
        assert callable(getattr(Frame, entry.serves)), entry.name
        # a row for a collection: if its own name is a name of a collection too, it is the same one
        assert not entry.launches or kernels.registry.name_of(entry.serves) in (entry.launches, entry.serves)
        assert not entry.launches or entry.launches in (*kernels.registry.collections, *kernels.registry.kernels)

        if entry.old:
            name = f"frame_{entry.name}"
            assert {name, f"{name}_", f"{name}__", name.upper()} <= set(symbols)

    assert {"frame_lasterror_", "frame_laststatus_", "FRAME_LASTERROR"} <= set(symbols)


def test_the_header_has_every_symbol():
    library()
    text = (BUILD / "frame.h").read_text()
    assert all(f"int frame_{e.name}_(" in text for e in ENTRIES if e.old)


# ---- a host's own kernels, every style, haloed blocks -------------------------------------------------------------


def check_own_kernel(done, ranks):
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(re.findall(r"rank (\d+) wrong values: (\d+)", done.stdout)) == [(str(r), "0") for r in range(ranks)]
    for name in ("air", "air_ideal_gas", "air_sutherland", "put rho", "get mu"):
        assert len(re.findall(rf" +\d+ {name} +\d+ +\d+ ", done.stdout)) == ranks, done.stdout


def test_own_kernel_serial():
    check_own_kernel(run(compiled("blocks.f90"), OWN_KERNEL), 1)


def test_own_kernel_optimised_host():
    """-O3 and link-time optimisation with the module: the compiler must not assume that arrays are unchanged."""
    check_own_kernel(run(compiled("blocks.f90", "-O3"), OWN_KERNEL), 1)


@pytest.mark.parametrize("mpi", MPIS, ids=lambda m: m.name)
@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.quick(ranks=2, mpi="mpich")
def test_own_kernel_under_mpi(mpi, ranks):
    done = run(compiled("blocks.f90", mpi=mpi), OWN_KERNEL, mpi=mpi, ranks=ranks)
    check_own_kernel(done, ranks)
    assert (len(re.findall(r" +ranks air +\d+ +[\d.]+ +[\d.]+ +[\d.]+", done.stdout)) == 1) == (ranks > 1)


# ---- a mixture through Q ------------------------------------------------------------------------------------------


def read_results(path: pathlib.Path) -> dict:
    with open(path, "rb") as file:
        ns, nq, nx, ny, nz, *fringe = np.fromfile(file, np.int32, 11)

        data = {
            "ns": ns,
            "nq": nq,
            "inside": tuple(slice(a, m - b) for a, b, m in zip(fringe[:3], fringe[3:], (nx, ny, nz))),
        }

        for name, variables in (("Q", nq), ("rho", 1), ("h", 1), ("c", 1), ("h0", 1), ("mu", 1), ("D", ns)):
            data[name] = np.fromfile(file, np.float64, nx * ny * nz * variables).reshape(
                (nx, ny, nz, variables), order="F"
            )

        assert not file.read(1)
    return data


def check_results(path, mixture, same=None):
    """The fringe is unchanged, the interior as from kernels.Mixture. `same`: results that have to be equal to the
    bit."""
    got = read_results(path)
    ns, nq, inside = got["ns"], got["nq"], got["inside"]
    Q = got["Q"][inside].reshape(-1, nq, order="F").T
    Y = Q[5 : 5 + ns] if nq >= ns + 5 else np.vstack([Q[5:], 1 - Q[5:].sum(axis=0)])
    wanted = mixture.properties("rho h c mu D", T=Q[4], p=Q[0], Y=Y, backend="cpu")
    wanted["h0"] = wanted["h"] + 0.5 * (Q[1] ** 2 + Q[2] ** 2 + Q[3] ** 2)
    scale = {**wanted, "h": np.abs(wanted["h"]).max(), "h0": np.abs(wanted["h"]).max()}  # h crosses zero

    for name in ("rho", "h", "c", "h0", "mu", "D"):
        field = got[name]
        outside = np.ones(field.shape[:3], bool)
        outside[inside] = False

        assert (field[outside] == UNTOUCHED).all(), name

        values = field[inside].reshape(-1, field.shape[3], order="F").T.reshape(np.shape(wanted[name]))

        # the same kernels in other programs: the compiler may contract other products into FMA, and Y_ns is summed in
        # another order; 1e-11 allows for the condition of rho near the critical ridge (1e3 here)
        np.testing.assert_array_less(np.abs(values - wanted[name]), 1e-11 * np.abs(scale[name]) + 1e-300, err_msg=name)

        if same is not None:
            np.testing.assert_array_equal(field, same[name], err_msg=name)

    return got


@pytest.mark.parametrize("name", NS)
@pytest.mark.parametrize("extra", [4, 5, 7])
@pytest.mark.quick(extra=[5, 7], name="ch4_o2")
def test_mixture_through_q(name, extra, tmp_path):
    """The last mass fraction is formed by the layer (nq = ns + 4), given, or followed by the host's own variables."""
    file = MIXTURES / f"{name}.yaml"
    done = run(compiled("mixture.f90"), file, species_of(name), extra, 70, tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr

    check_results(tmp_path / "out.0", kernels.Mixture.from_yaml(file))


def test_bits_do_not_depend_on_chunk_and_threads(tmp_path):
    file, ns = MIXTURES / "ch4_o2.yaml", species_of("ch4_o2")
    mixture, first = kernels.Mixture.from_yaml(file), None

    for chunk, threads in ((1000, "1"), (1, "1"), (17, "2"), (128, "3")):
        done = run(compiled("mixture.f90"), file, ns, 5, chunk, tmp_path / "out", FRAME_THREADS=threads)
        assert done.returncode == 0, done.stdout + done.stderr
        got = check_results(tmp_path / "out.0", mixture, first)
        first = first or got


@pytest.mark.parametrize("mpi", MPIS, ids=lambda m: m.name)
@pytest.mark.parametrize("ranks", [1, 2, 4])
@pytest.mark.quick(ranks=2)
def test_mixture_under_mpi(mpi, ranks, tmp_path):
    """Every rank has its own field; rank 0 has to give the bits of the serial run."""
    file, ns = MIXTURES / "h2_o2.yaml", species_of("h2_o2")
    mixture = kernels.Mixture.from_yaml(file)

    assert run(compiled("mixture.f90"), file, ns, 5, 64, tmp_path / "serial").returncode == 0

    serial = read_results(tmp_path / "serial.0")
    done = run(
        compiled("mixture.f90", mpi=mpi), file, ns, 5, 33, tmp_path / "out", mpi=mpi, ranks=ranks, FRAME_TIMERS="1"
    )

    assert done.returncode == 0, done.stdout + done.stderr

    for rank in range(ranks):
        check_results(tmp_path / f"out.{rank}", mixture, serial if rank == 0 else None)

    assert len(re.findall(r" +\d+ thermal ", done.stdout)) == ranks


def test_species_arrays_of_the_host(tmp_path):
    """populatepreosshareddata and populatechungshareddata with the data from getspecies: thermal as from the file, to
    the bit (the same constants, the same program); mu as well, to rounding; D by Fuller."""
    file, ns = MIXTURES / "ch4_o2.yaml", species_of("ch4_o2")

    assert run(compiled("mixture.f90"), file, ns, 5, 64, tmp_path / "file").returncode == 0

    done = run(compiled("mixture.f90"), "arrays", file, ns, 5, 64, tmp_path / "out")

    assert done.returncode == 0, done.stdout + done.stderr

    a, b = read_results(tmp_path / "file.0"), read_results(tmp_path / "out.0")

    for name in ("rho", "h", "c", "h0", "mu"):
        # thermal is the same program; viscous is another one (Fuller), in which FMA may be contracted differently. mu
        # is a chain of some 100 operations: 100 eps
        np.testing.assert_allclose(
            b[name], a[name], rtol=0 if name != "mu" else 100 * np.finfo(float).eps, atol=0, err_msg=name
        )

    inside = b["inside"]

    assert (b["D"][inside] > 0).all() and not np.array_equal(a["D"], b["D"])


# ---- hostile mixtures ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, words",
    [
        (None, "cannot be read"),
        ("phases: [", "YAML"),
        ("{}", "phases"),
        ("phases: &p [*p]", "its aliases stand for too much, or for themselves"),
        ("phases: [{name: gas, thermo: ideal-gas, species: [N2]}]\nspecies: []", "is not defined"),
    ],
)
def test_a_mixture_file_that_cannot_be_used_is_status_3(text, words, tmp_path):
    file = tmp_path / "mix.yaml"
    if text is not None:
        file.write_text(text)

    done = run(compiled("mixture.f90"), file, 1, 5, 8, tmp_path / "out")

    assert done.returncode == 73 and "frame_loadmixture" in done.stderr
    assert str(file) in done.stderr and words in done.stderr


def test_another_number_of_species_is_status_3(tmp_path):
    done = run(compiled("mixture.f90"), MIXTURES / "n2.yaml", 2, 5, 8, tmp_path / "out")
    assert done.returncode == 73 and "has 1 species (N2), frame_initialize was told ns = 2" in done.stderr


@pytest.mark.parametrize(
    "name, value, words",
    [("FRAME_BACKEND", "gpu", "wanted one of auto, cuda, cpu"), ("FRAME_THREADS", "none", "FRAME_THREADS")],
)
def test_environment_that_makes_no_sense(name, value, words, tmp_path):
    done = run(compiled("mixture.f90"), MIXTURES / "n2.yaml", 1, 5, 8, tmp_path / "out", **{name: value})
    assert done.returncode == 73 and words in done.stderr and "Traceback" not in done.stderr


def test_no_device_is_a_clear_error(tmp_path):
    done = run(
        compiled("mixture.f90"),
        MIXTURES / "n2.yaml",
        1,
        5,
        8,
        tmp_path / "out",
        FRAME_BACKEND="cuda",
        CUDA_VISIBLE_DEVICES="",
    )
    assert (
        done.returncode == 74
        and "frame_initialize" in done.stderr
        and ("device" in done.stderr or "CuPy" in done.stderr)
    )


# ---- the command line ---------------------------------------------------------------------------------------------


def command(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "frame", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


def test_info():
    done = command("info", "--mixture", MIXTURES / "ch4_o2.yaml", "--chung", "cantera")

    assert done.returncode == 0, done.stderr

    for words in (
        "backend cpu",
        "backend cuda",
        "kernel cache",
        "mpirun",
        "mpi4py",
        "10 species: CH4",
        "chung cantera",
        "0.3074 R Tc/pc",
    ):
        assert words in done.stdout


BLOCK_CALL = """
import sys
import numpy as np
from frame.frame import Frame
frame, data, out = Frame(), np.asfortranarray([[[[300.0, 1e7, 1.0]]]]), np.zeros((1, 1, 1, 2), order="F")
frame.set_option("backend", "cpu")
frame.initialize(-1, 8, 1, 1, 0)
frame.load_mixture(sys.argv[1], "")
place = (*[1] * 3, *[1, 1] * 3)
frame.block("thermal_viscous", "T, p, Y", data.ctypes.data, "mu, rho", out.ctypes.data, *place, 3, 2)
assert out.all()
"""


@pytest.mark.parametrize("only", ((), ("--only", "eosThermalProperties", "viscous")), ids=("all", "only"))
@pytest.mark.long(only=())
def test_a_filled_cache_serves_a_node_without_a_compiler(tmp_path, only):
    """python -m frame compile, then hosts without a compiler on PATH; with an empty cache the message tells the
    remedy."""
    file, cache, nowhere = MIXTURES / "n2.yaml", tmp_path / "cache", tmp_path / "bin"
    nowhere.mkdir()
    host = compiled("mixture.f90")
    bare = {"PATH": str(nowhere), "FRAME_CACHE": str(cache)}
    done = run(host, file, 1, 5, 8, tmp_path / "out", **bare)

    assert done.returncode == 74 and "python -m frame compile" in done.stderr

    asked = ("--block", "thermal_viscous=rho,mu", *only)
    filled = command("compile", "--mixture", file, "--backend", "cpu", *asked, FRAME_CACHE=str(cache))

    assert filled.returncode == 0 and "thermal_viscous: mu rho" in filled.stdout, filled.stderr
    assert ("T_from_h_p" in filled.stdout) is not bool(only)

    before = {f.name: f.stat().st_mtime_ns for f in cache.iterdir()}
    done = run(host, file, 1, 5, 8, tmp_path / "out", **bare)

    assert done.returncode == 0, done.stderr

    (tmp_path / "block.py").write_text(BLOCK_CALL)
    done = run(sys.executable, tmp_path / "block.py", file, **bare, PYTHONPATH=str(ROOT))

    assert done.returncode == 0, done.stderr
    assert {f.name: f.stat().st_mtime_ns for f in cache.iterdir() if not f.name.endswith(".lock")} == {
        n: t for n, t in before.items() if not n.endswith(".lock")
    }


def test_a_cache_that_others_may_write_is_status_4(tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    given = (compiled("mixture.f90"), MIXTURES / "n2.yaml", 1, 5, 8, tmp_path / "out")
    done = run(*given, FRAME_CACHE=str(cache), FRAME_CACHE_SHARED=None)

    assert (
        done.returncode == 74 and "has mode 0777 (chmod go-w" in done.stderr and "FRAME_CACHE_SHARED=1" in done.stderr
    )
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize(
    "arguments, status, words",
    [
        (("compile", "--mixture", "nothing.yaml"), 1, "nothing.yaml"),
        (("compile",), 2, "--mixture"),
        (("compile", "--mixture", "examples/mixtures/n2.yaml", "--only", "termal"), 1, "did you mean 'thermal'"),
        (("fly",), 2, "invalid choice"),
        (("compile", "--mixture", "examples/mixtures/n2.yaml", "--block", "thermal"), 2, "wanted NAME=OUT,OUT"),
        (("info", "--mixture", "examples/mixtures/n2.yaml", "--root", "upper"), 2, "--root"),
    ],
)
def test_wrong_usage(arguments, status, words):
    done = command(*arguments)
    assert done.returncode == status and words in done.stderr and "Traceback" not in done.stderr
