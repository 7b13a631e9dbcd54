"""Arrays of every geometry through the Fortran module, from hosts of several compilers, and what must not compile."""

import re
import subprocess
import sys

import pytest
from hosts import COMPILERS, MODULE, MPIS, OWN_KERNEL, ROOT, SOURCES, compile_with_module, library, need, run

COPIES = SOURCES / "copies.py"
PLAIN = {"gfortran": ("-O1",), "flang": ("-O1",)}
OPTIONS = [
    ("gfortran", "-O0", "-g", "-fcheck=all", "-Wall"),
    ("gfortran", "-O3", "-flto"),
    ("gfortran", "-O3", "-march=native", "-ffast-math"),
    ("gfortran", "-O1", "-ffpe-trap=invalid,zero,overflow"),
    ("gfortran", "-O1", "-fdefault-real-8"),
    ("gfortran", "-O1", "-freal-4-real-8"),
    ("gfortran", "-O1", "-fdefault-integer-8"),
    ("gfortran", "-O1", "-fdefault-real-8", "-fdefault-integer-8", "-fdefault-double-8"),
    ("gfortran", "-O1", "-fPIC", "-frecursive", "-finit-real=snan"),
    ("gfortran", "-O1", "-fno-automatic", "-fcheck=all", "-finit-real=snan", "-finit-derived"),
    ("flang", "-O0"),
    ("flang", "-O3"),
    ("flang", "-O0", "-fdefault-integer-8", "-fdefault-real-8"),
]
LOST = (
    "components alone",
    "components and first",
    "sections of these alone",
    "sections of these",
)  # gfortran: refused, and nothing written


def told(done) -> dict:
    """{case: (wrong values, status, message)}"""
    assert done.returncode == 0, done.stdout + done.stderr

    return {
        m[1]: (int(m[2]), int(m[3]), m[4]) for m in re.finditer(r"(?m)^(.+?): (\d+) status (\d) ?(.*)$", done.stdout)
    }


def check(done, compiler, ranks=1):
    assert re.findall(r"(?m)^all: (.*)$", done.stdout) == ["0"] * ranks, done.stdout + done.stderr

    got = told(done)

    assert len(got) > 60 and not any(wrong for wrong, _, _ in got.values())

    for case in LOST:
        assert got[case][1] == (3 if compiler == "gfortran" else 0), got[case]

    assert "bounds (1:5), which do not contain the box (0:5)" in got["a box outside"][2]
    assert "'p' 3 x 2 x 1" in got["other shapes"][2]
    assert "overlaps one that is pinned" in got["pin a part"][2]
    assert "was not made by frame_in or frame_out" in got["a field forgotten"][2]

    return got


@pytest.mark.parametrize("flags", [(name, *PLAIN[name]) for name in COMPILERS] + OPTIONS, ids=" ".join)
@pytest.mark.quick(
    flags=[
        ("flang", "-O0", "-fdefault-integer-8", "-fdefault-real-8"),
        ("gfortran", "-O0", "-g", "-fcheck=all", "-Wall"),
    ]
)
def test_every_geometry(flags, tmp_path):
    """Options are those of the host and of the module."""
    compiler, *flags = flags
    done, host = compile_with_module(compiler, tmp_path, "geometry.f90", *flags)

    assert done.returncode == 0, done.stderr

    got = check(run(host, COPIES), compiler)

    if compiler == "gfortran":
        for case in LOST[:2]:
            assert "point at all of it, T => cells(:)%T, and pass the pointer with its first element" in got[case][2]
        assert "pass its first element too, as in frame_in('T', T, first=T(1))" in got[LOST[2]][2]
        assert "does not begin at the element given as first" in got[LOST[3]][2]


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("mpi", MPIS, ids=lambda m: m.name)
@pytest.mark.quick(mpi="openmpi", compiler="gfortran")
def test_every_geometry_under_mpi(compiler, mpi, tmp_path):
    done, host = compile_with_module(compiler, tmp_path, "geometry.f90", *PLAIN[compiler], mpi=mpi)
    assert done.returncode == 0, done.stderr
    for ranks in (1, 2, 4):
        check(run(host, COPIES, mpi=mpi, ranks=ranks), compiler, ranks)


@pytest.mark.parametrize("flags", [("flang", "-O2"), ("gfortran", "-O3", "-flto")], ids=" ".join)
@pytest.mark.long(flags=("flang", "-O2"))
def test_own_kernel(flags, tmp_path):
    """The host of test_entry_points.py, old style and new, with other compilers and options."""
    compiler, *flags = flags
    done, host = compile_with_module(compiler, tmp_path, "blocks.f90", *flags)

    assert done.returncode == 0, done.stderr

    got = run(host, OWN_KERNEL)

    assert got.returncode == 0 and "wrong values: 0" in got.stdout, got.stdout + got.stderr


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.quick(compiler="gfortran")
def test_random_geometries(compiler):
    """A part of what the script does by itself: guard pages, old style and new."""
    script = ROOT / "tests" / "fuzz_geometry.py"
    command = [sys.executable, script, "--calls", "1000", "--seed", "7", "--compiler", need(compiler)]
    library()
    done = subprocess.run(command, capture_output=True, text=True)

    assert done.returncode == 0 and "1000 calls right" in done.stdout, done.stdout + done.stderr[-3000:]


# ---- what does not compile ----------------------------------------------------------------------------------------

REFUSED = {
    "no target": ("real(8) :: x(5)", "print *, size([frame_in('T', x)])"),
    "no target to pin": ("real(8) :: x(5)", "call frame_pin(x)"),
    "no target at a component": (
        "type t; real(8), allocatable :: x(:); end type; type(t) :: s",
        "f = [frame_in('T', s%x)]",
    ),
    "an expression": ("real(8), target :: x(5)", "f = [frame_in('T', x + 1)]"),
    "a vector subscript": ("real(8), target :: x(5)", "f = [frame_out('T', x([1, 3]))]"),
    "complex numbers": ("complex(8), target :: x(5)", "f = [frame_in('T', x)]"),
    "integers to put": ("integer :: x(5)", "call frame_put('T', x)"),
    "a number without TARGET": ("real(8) :: x", "f = [frame_in('T', x)]"),
    "a literal": ("real(8), target :: x(5)", "f = [frame_in('T', 1d5)]"),
    "eight dimensions": ("real(8), target :: x(1, 1, 1, 1, 1, 1, 1, 1)", "f = [frame_in('T', x)]"),
    "first of another kind": ("real(8), target :: x(5); real(4) :: y", "f = [frame_in('T', x, y)]"),
    "an expression to get": ("real(8) :: x(5)", "call frame_get('T', x + 1)"),
}
SAYS = {
    "gfortran": r"There is no specific (function|subroutine) for the generic .frame_\w+.",
    "flang": r"No specific (function|subroutine) of generic 'frame_\w+' matches the actual arguments|is not definable|"
    r"the target '.*x' is not an object with POINTER or TARGET attributes|may not be a pointer target|"
    r"must be a designator or a call to a pointer-valued function",
}


@pytest.fixture(scope="module", params=COMPILERS)
def with_module(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    library()
    subprocess.run([need(request.param), "-c", MODULE], cwd=folder, check=True)
    return request.param, folder


def compiles(with_module, declaration, statement, *flags):
    compiler, folder = with_module
    source = f"program host\nuse frame_interface\n{declaration}\ntype(frame_field) :: f(1)\n{statement}\nend program\n"
    (folder / "host.f90").write_text(source)
    return subprocess.run([need(compiler), *flags, "-c", "host.f90"], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_compile(what, with_module):
    done = compiles(with_module, *REFUSED[what])
    assert done.returncode != 0 and re.search(SAYS[with_module[0]], done.stderr), done.stderr


def test_what_compiles_instead(with_module):
    """The same statements with the attribute."""
    for what in ("no target", "no target to pin", "no target at a component"):
        declaration, statement = REFUSED[what]
        declaration = declaration.replace("real(8) ::", "real(8), target ::").replace(
            "type(t) ::", "type(t), target ::"
        )
        done = compiles(with_module, declaration, statement)
        assert done.returncode == 0, done.stderr


def test_long_integers_in_the_host_alone_do_not_compile(with_module):
    """lo, hi and stat are of the default kind: host and module have to agree on it."""
    done = compiles(with_module, "integer :: stat", "call frame_finalize(stat)", "-fdefault-integer-8")
    assert done.returncode != 0 and "stat" in done.stderr


def test_the_module_is_standard_fortran(tmp_path):
    library()
    flags = ("-std=f2018", "-Wall", "-Wextra", "-pedantic", "-Werror", "-c")
    done = subprocess.run([need("gfortran"), *flags, MODULE], cwd=tmp_path, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr

    # Standard and on purpose: a pointer's bits are looked at, frame_put describes an array that it only reads, and
    # logicals of the default kind have an address.
    known = ("-Wno-pointer-component-transfer-arg", "-Wno-pointer-to-undefinable", "-Wno-interoperability")
    flags = ("-std=f2018", "-pedantic", "-Werror", *known, "-c")
    done = subprocess.run([need("flang"), *flags, MODULE], cwd=tmp_path, capture_output=True, text=True)

    assert done.returncode == 0 and not done.stderr, done.stderr
