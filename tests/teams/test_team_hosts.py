"""Team kernels that hosts call: Fortran, C and Python, the page for authors, the tools."""

import argparse
import pathlib
import re
import sys

import numpy as np
from hosts import BUILD, ROOT, compiled, library, run
from team_cases import HOST_KERNEL
from test_interop import told

import kernels
from frame.impl import Sizes, TVImpl, teams
from frame.stripe import Field
from frame.tools import names, precompile


def test_a_fortran_host_calls_a_team_kernel_by_its_name():
    done = run(compiled("teams.f90"), HOST_KERNEL)
    got = told(done)
    for call in ("register", "init", "run", "again", "finalize"):
        assert got[call] == (0, ""), got[call]

    assert re.findall(r"^(.*) right = *(.*)$", done.stdout, re.M) == [("run", "T T T"), ("again", "T T T")]

    for call, words in {
        "lo": "team kernel 'rows' takes no lo and hi.",
        "extent": "array 'x', extent M: 100, wanted 101.",
        "section": "array 'A', extent M: neighbours are 16 bytes apart, wanted 8: contiguous, the last index fastest.",
        "in": "'y' is written, so it is given by frame_out.",
        "shared": "'y' is written and shares memory with 'largest'.",
        "unknown": "has no array 'z'; it has A, x, y, largest, total, factor, team, vector.",
        "missing": "array 'y' is missing.",
        "launch": "'rows' is a team kernel, which works on whole arrays: call frame_block('rows', ",
    }.items():
        assert got[call][0] == 3 and words in got[call][1], got[call]


BY_ADDRESS = """
import ctypes, sys
import numpy as np
frame = ctypes.CDLL(sys.argv[1])
A, x = np.arange(12.0).reshape(4, 3), np.ones(3)
y, largest, total = np.full(4, np.nan), np.full(4, np.nan), np.full(1, np.nan)
arrays = [A, x, y, largest, total]
names, extents = b"A, x, y, largest, total", [3, 4, 3, 4, 4, 1]
addresses = (ctypes.c_void_p * 5)(*[a.ctypes.data for a in arrays])
assert frame.frame_registerkernel_(sys.argv[2].encode()) == 0
assert frame.frame_initialize_(-1, 1, 1, 1, 0) == 0
def call(tag=b"rows", names=names, extents=extents, size=8):
    return frame.frame_team_(tag, names, addresses, 5, (ctypes.c_int * len(extents))(*extents), len(extents), size)
for _ in range(2):
    assert call() == 0
    assert (y == A.sum(1)).all() and (largest == A.max(1)).all() and total == A.sum()
    A *= -2
text = ctypes.create_string_buffer(400)
for wrong in (dict(tag=b"row"), dict(names=names.replace(b"x", b"z")), dict(extents=[3, 4, 3, 5, 4, 1]),
              dict(extents=[3, 4]), dict(size=2), dict(extents=[3, 4, 3, 4, 4, 2])):
    frame_status = call(**wrong)
    frame.frame_lasterror_(text, 399)
    print(frame_status, text.value.decode().strip())
"""


def test_a_team_kernel_by_names_and_addresses(tmp_path):
    """As C and old-style Fortran call it; the second call repeats the first with other values."""
    done = run(sys.executable, "-c", BY_ADDRESS, library(), HOST_KERNEL, FRAME_ON_ERROR="return")
    assert done.returncode == 0, done.stdout + done.stderr

    lines = done.stdout.strip().splitlines()

    for line, words in zip(
        lines,
        (
            "unknown team kernel 'row', did you mean 'rows'",
            "team kernel 'rows': no array 'z'; it has A, x, y, largest, total",
            "array 'y', extent N: 5, wanted 4",
            "2 extents, wanted 6: 2 of 'A', 1 of 'x'",
            "bytes = 2, wanted 8 or 4",
            "'total'",
        ),
    ):
        assert line.startswith("3 ") and words in line, line

    source = tmp_path / "old.f90"
    source.write_text(OLD_STYLE)
    done = run(compiled(source), HOST_KERNEL)

    assert done.stdout.split() == ["3.0", "12.0", "15.0"], done.stdout + done.stderr


OLD_STYLE = """program old
  use, intrinsic :: iso_c_binding
  implicit none
  real(8), target :: A(3, 2) = reshape([0d0, 1d0, 2d0, 3d0, 4d0, 5d0], [3, 2]), x(3) = 1, y(2), largest(2), total(1)
  character(300) :: file
  type(c_ptr) :: at(5)
  integer :: extents(6) = [3, 2, 3, 2, 2, 1]
  call get_command_argument(1, file)
  call frame_registerkernel(trim(file)//char(0))
  call frame_initialize(%VAL(-1), %VAL(1), %VAL(1), %VAL(1), %VAL(0))
  at = [c_loc(A), c_loc(x), c_loc(y), c_loc(largest), c_loc(total)]
  call frame_team('rows'//char(0), 'A, x, y, largest, total'//char(0), at, %VAL(5), extents, %VAL(6), %VAL(8))
  print '(3f6.1)', y, total
  call frame_finalize()
end program
"""


def test_the_table_of_names_has_it(rows):
    (line,) = [line for line in names.teams() if line.startswith("| rows ")]
    assert line == "| rows | league N | A(N,M) x(M) | y(N) largest(N) total | factor |  |"


def test_it_is_compiled_ahead(rows, capsys):
    """`python -m frame compile --register`, for a device that is not here too."""
    given = argparse.Namespace(
        only=None,
        register=[HOST_KERNEL],
        backend="cuda",
        arch="sm_90",
        kernels=False,
        ns=1,
        precision="double",
        block=[],
        contraction=[],
    )

    kernels.registry.team_kernels.pop("rows")
    assert precompile.main(given, None) == 0
    assert "cuda  rows\n" in capsys.readouterr().out


def blocks_of(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page, re.S)


def test_the_page_shows_what_runs(rows, monkeypatch):
    page = (ROOT / "docs/howto/team_kernels.md").read_text()
    declaration, call = blocks_of(page, "python")

    assert blocks_of(page, "cpp") == [HOST_KERNEL.with_suffix(".h").read_text()]
    assert declaration == HOST_KERNEL.read_text()

    monkeypatch.chdir(ROOT)
    exec(call, {})
    source = BUILD / "tests" / "call_rows.f90"
    source.parent.mkdir(parents=True, exist_ok=True)
    (text,) = blocks_of(page, "fortran")
    if not source.exists() or source.read_text() != text:
        source.write_text(text)
    done = run(compiled(source), cwd=ROOT)

    assert done.stdout.split() == "12.0 44.0 76.0 3.0 7.0 11.0 132.0".split(), done.stdout + done.stderr


def test_arrays_of_a_host_beside_a_device(be, rows):
    """Pageable ones are copied there and back at every call; those of the device are worked on where they are."""
    rng = np.random.default_rng(8)
    host = {n: np.asfortranarray(rng.integers(-9, 9, s).astype(float)) for n, s in (("A", (5, 7)), ("x", (5,)))}
    host |= {"y": np.zeros(7), "largest": np.zeros(7), "total": np.zeros(1)}

    def fields(arrays, address):
        return [
            Field(n, n not in ("A", "x"), address(a), a.shape, host[n].strides, (1,) * a.ndim, 8)
            for n, a in arrays.items()
        ]

    state = TVImpl(be, Sizes(1, 1)).state
    again = teams.bind(rows, fields(host, lambda a: a.ctypes.data), state)

    again()

    for _ in range(2):
        wanted = host["x"] @ host["A"]
        np.testing.assert_array_equal(host["y"], wanted)
        assert host["total"] == wanted.sum() and (host["largest"] == host["A"].max(0)).all()
        host["x"] *= -1
        again()

    there = be.placed(**host)
    there["y"][...] = 0
    teams.bind(rows, fields(there, lambda a: be.address(a)), state)()

    be.synchronize()

    np.testing.assert_array_equal(be.to_host(there["y"]), host["x"] @ host["A"])


def test_integers_logicals_and_numbers_of_a_fortran_host():
    """Beside its own sums; numbers and members of the team change from call to call. Elsewhere they are refused."""
    done = run(compiled("team_kinds.f90"), pathlib.Path(__file__).with_name("histogram.py"), FRAME_ON_ERROR="return")
    lines = done.stdout.strip().splitlines()
    assert [line.split() for line in lines[:3]] == [["T"] * 6] * 3, done.stdout + done.stderr

    for line, words in zip(
        lines[3:],
        (
            "array 'T' is integer, wanted real: only team kernels take others.",
            "'first' is a number, and is given with the extents [1000].",
        ),
    ):
        assert line.startswith("3 ") and words in line, line


def test_kernels_of_kokkos_users_from_fortran():
    """Scans, logical arrays, whole numbers and a sort beside the host's own loops, of 0 to 1009 indices; real(4)."""
    done = run(
        compiled("team_kokkos.f90"), pathlib.Path(__file__).with_name("kokkos_kernels.py"), FRAME_ON_ERROR="return"
    )
    *lines, shape, kind = done.stdout.strip().splitlines()
    assert len(lines) == 5 * 4 + 1 and all("F" not in line for line in lines), done.stdout + done.stderr
    assert "array 'value', extent n: 4, wanted 5." in shape
    assert "array 'place' has type int32, wanted int64." in kind


def test_kernels_of_a_fortran_host_share_a_pool_of_ids():
    """Global scope: what one call holds, the next one does not get, until another kernel has given it back."""
    done = run(compiled("shared_pool.f90"), pathlib.Path(__file__).with_name("shared_pool.py"))
    assert done.stdout.split() == ["T", "T"], done.stdout + done.stderr
