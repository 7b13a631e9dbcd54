"""Tensor expressions of a host: from compiled Fortran and C programs, by ctypes, on a CPU and on the stand-in of a CUDA
device; extents, kinds and layouts that do not fit; arrays of the device in place."""

# ruff: noqa: F811  the fixture of device_for_tests.py is an argument here
import concurrent.futures
import re
import subprocess
import sys

import numpy as np
import pytest
from device_for_tests import be, is_gpu  # noqa: F401  be is a fixture
from hosts import BUILD, COMPILERS, MPIS, ROOT, SOURCES, compile_with_module, compiled, library, need, run

from frame.contractions import Contractions
from frame.impl import Sizes
from frame.stripe import IN, INOUT, OUT, Field
from frame.tvproperties import TVProperties
from kernels import Contraction, get_backend
from kernels.contractions import intrepid
from kernels.contractions.organisations.sweep import Way
from kernels.contractions.text import parse
from kernels.engine.errors import ArgumentError

LG3 = "ur(i,j,k,e) = D(i,l) u(l,j,k,e); us(i,j,k,e) = D(j,l) u(i,l,k,e); ut(i,j,k,e) = D(k,l) u(i,j,l,e); constant D"


@pytest.fixture(scope="module", params=["cpu", "cuda"])
def where(request, tmp_path_factory):
    """(first argument of a host, its environment)"""
    if request.param == "cpu":
        return "-", {}
    folder = str(tmp_path_factory.mktemp("cuda"))
    return SOURCES / "stand_in.py", {"FRAME_BACKEND": "cuda", "STAND_IN": folder}


def check_values(done, ranks=1):
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(re.findall(r"rank (\d+) wrong: (\d+)", done.stdout)) == [(str(r), "0") for r in range(ranks)], (
        done.stdout
    )
    assert len(re.findall(r"(?m): 0 of \d+$", done.stdout)) == 27 * ranks  # one line a case, none left out
    assert len(re.findall(r" +\d+ lg3 +7 ", done.stdout)) == ranks  # timers know its name


@pytest.mark.quick(where="cpu")
def test_values_against_plain_loops(where):
    """Lg3, Lg3t, Eqn. (1) with +=, four of Intrepid's; old style; sections; real(4); a constant that changes."""
    file, environment = where
    check_values(run(compiled("contractions.f90", "-O0"), file, "values", FRAME_TIMERS="1", **environment))


ERRORS = {
    "no term": "'bad': tensor expression 'w(i) =': a term is missing",
    "division": "'/' means nothing here",
    "a map": "is a map: name the file of C++ that has its function, in a line 'header FILE'",
    "a local": "'b' is named local but is not in the text",
    "two batches": "wanted one batch, once",
    "the same text": "",
    "another text": "'lg3': it was registered with another text before",
    "unknown": "unknown contraction 'lg4', did you mean 'lg3'; registered: lg3",
    "missing": "'lg3': array 'ut' is missing",
    "too many": "array 'g' is not in the text, or local; it has D, u, ur, us, ut",
    "twice": "array 'us' is given twice",
    "out for in": "array 'u' is given by frame_out, wanted frame_in: the text reads it",
    "in for out": "array 'ut' is given by frame_in, wanted frame_out: the text assigns it",
    "inout for out": "array 'ut' is given by frame_inout, wanted frame_out",
    "kind": "array 'D' is real(4), wanted real(8) as 'u' is",
    "rank": "array 'u' has 1 dimensions (250), wanted 4: u(l,j,k,e)",
    "extent": "array 'D', index 'l': extent 6, wanted 5 as 'u' has it",
    "one extent": "array 'D' is not contiguous: neighbours along index 'l' are 48 bytes apart, wanted 40",
    "batch": "array 'ut', index 'e': extent 3, wanted 2 as 'u' has it",
    "every other": "array 'u' is not contiguous: neighbours along index 'l' are 16 bytes apart, wanted 8",
    "a part": "array 'u' is not contiguous: neighbours along index 'j' are 80 bytes apart, wanted 40",
    "backwards": "array 'D' is not contiguous: neighbours along index 'l' are -40 bytes apart, wanted 40",
    "components": "array 'u' is not contiguous: neighbours along index 'l' are 16 bytes apart",
    "one array twice": "output 'us' and array 'ut' share memory",
    "overlap": "output 'ut' and array 'u' share memory",
    "batch 0": "",
    "batch 0 and extent": "array 'D', index 'l': extent 6, wanted 5",
    "intrepid": "'contractFieldFieldVector': array 'out', index 'r': extent 5, wanted 3 as 'right' has it",
    "intrepid rank": "array 'field' has 2 dimensions (5, 5), wanted 3: field(p,f,c)",
    "old: missing": "array 'ut' is missing",
    "old: addresses": "5 names in 'u, D, ur, us, ut', 4 addresses",
    "old: extents": "17 extents, wanted 18: 4 of 'u', 2 of 'D', 4 of 'ur'",
    "old: bytes": "bytes = 2, wanted 8 or 4",
    "old: unknown": "array 'utt' is not in the text",
    "old: negative": "array 'ut' has the extents 5, 5, -5, 2, wanted 0 or more",
    "old: null": "array 'D' has the address 0x0, wanted an array by reference",
    "old: extent": "array 'ut', index 'e': extent 3, wanted 2 as 'u' has it",
}


def check_errors(done):
    assert done.returncode == 0 and "wrong: 0" in done.stdout, done.stdout + done.stderr  # no array was written
    told = {m[1]: (m[2], m[3]) for m in re.finditer(r"(?m)^(.+?): status (\d) ?(.*)$", done.stdout)}
    assert set(told) == set(ERRORS)

    for case, words in ERRORS.items():
        status, message = told[case]
        assert status == ("3" if words else "0") and words in message, (case, told[case])
        assert case == "unknown" or not words or re.search(r"contraction '(bad|lg3|contract\w+)': ", message), message


def test_what_does_not_fit_is_status_3(where):
    file, environment = where
    check_errors(run(compiled("contractions.f90", "-O0"), file, "errors", FRAME_ON_ERROR="return", **environment))


def test_without_stat_an_error_ends_the_run():
    done = run(compiled("contractions.f90", "-O0"), "-", "errors")  # the first old-style call
    assert done.returncode == 73 and "frame_contract: contraction 'lg3': array 'ut' is missing" in done.stderr


@pytest.mark.full
def test_another_compiler(tmp_path):
    done, host = compile_with_module("flang", tmp_path, "contractions.f90", "-O0")
    assert done.returncode == 0, done.stderr
    done = run(host, "-", "all", FRAME_ON_ERROR="return", FRAME_TIMERS="1")
    check_values(done)
    check_errors(done)


@pytest.mark.parametrize("mpi", MPIS, ids=lambda m: m.name)
@pytest.mark.quick(mpi="openmpi")
def test_under_mpi(mpi):
    """Each rank has its own numbers."""
    check_values(
        run(compiled("contractions.f90", "-O0", mpi=mpi), "-", "values", mpi=mpi, ranks=2, FRAME_TIMERS="1"), 2
    )


def test_from_c(tmp_path):
    command = [
        "gcc",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{library().parent}",
        SOURCES / "contract.c",
        "-o",
        tmp_path / "host",
    ]
    subprocess.run([*command, f"-L{BUILD}", "-lframe", f"-Wl,-rpath,{BUILD}"], check=True)
    done = run(tmp_path / "host")
    # C[2][1][4] = sum (3 - j)(2 - 2 j + 4)
    assert done.stdout == "status 0 wrong 0 last 28\n", done.stdout + done.stderr


PREPARED = """
import sys
import numpy as np
from frame.frame import Frame
from frame.stripe import Field, IN, OUT
frame, rng, at = Frame(), np.random.default_rng(0), int(sys.argv[1])
frame.set_option("backend", "cpu")
frame.register_contraction("lg3", sys.argv[2])
frame.initialize(-1, 1, 1, 1, 0)
room = lambda *s: np.full(int(np.prod(s)) + 8, np.nan)[at:][: int(np.prod(s))].reshape(s)
D, u = rng.random((5, 5)), room(3, 5, 5, 5)
u[...] = rng.random(u.shape)
out = [room(3, 5, 5, 5) for _ in "rst"]
fields = [Field(name, way, a.ctypes.data, a.shape[::-1], a.strides[::-1], (1,) * a.ndim, 8)
          for name, way, a in zip(("D", "u", "ur", "us", "ut"), (IN, IN, OUT, OUT, OUT), (D, u, *out))]
frame.contract("lg3", fields)
assert np.allclose(out[1], np.einsum("lj,ekli->ekji", D, u), rtol=1e-14, atol=0)
"""


def test_a_filled_cache_serves_contractions_without_a_compiler(tmp_path):
    """`python -m frame compile --contraction`, then a host whose PATH has no compiler; arrays at any address."""
    cache, nowhere, text = tmp_path / "cache", tmp_path / "bin", LG3
    nowhere.mkdir()
    bare = {"PATH": str(nowhere), "FRAME_CACHE": str(cache), "PYTHONPATH": str(ROOT)}
    (tmp_path / "host.py").write_text(PREPARED)
    host = (sys.executable, tmp_path / "host.py")
    done = run(*host, 0, text, **bare)
    assert done.returncode and "python -m frame compile" in done.stderr
    command = (sys.executable, "-m", "frame", "compile", "--backend", "cpu", "--contraction", text)
    filled = run(*command, "i=5,j=5,k=5,l=5", FRAME_CACHE=str(cache), PYTHONPATH=str(ROOT))
    assert filled.returncode == 0 and "cpu  ur[e k j i]" in filled.stdout and "i = 5" in filled.stdout, filled.stderr

    for at in (0, 1):
        done = run(*host, at, text, **bare)
        assert done.returncode == 0, done.stderr
    for sizes, why in (("5,m=3", "extent of m: no such index"), ("i=5", "extent of index '[jkl]' is not told")):
        done = run(*command, sizes, FRAME_CACHE=str(cache), PYTHONPATH=str(ROOT))
        assert done.returncode == 1 and re.search(why, done.stderr), done.stderr


def test_compiled_ahead_is_all_that_binding_asks_for(monkeypatch):
    """An outer product, whose arrays may lie anywhere: afterwards no source is compiled that was not before."""
    backend = get_backend("cpu")
    made = [Contraction("o[y x] = a[x] b[y]", dict(x=3, y=4), backend=backend, point="t", layout="left", quick=True)]
    compiled_sources = []
    true = type(backend).compile
    monkeypatch.setattr(type(backend), "compile", lambda self, s: compiled_sources.append(s.text) or true(self, s))
    made[0].compile_ahead()
    ahead = set(compiled_sources)
    # the default and the naive one; for rows of different lengths a sweep, in all its ways
    assert len(ahead) == 2 + len(Way.every(factors=2))

    for at, longer in ((0, 0), (1, 0), (0, 5)):
        shapes = {"a": (3, 16 + longer), "b": (4, 16), "o": (4, 3, 16)}
        arrays = {k: np.ones(np.prod(s) + 8)[at:][: np.prod(s)].reshape(s) for k, s in shapes.items()}
        made[0].bind(arrays, 16)()
        assert np.all(arrays["o"] == 1)

    assert set(compiled_sources) == ahead


CTYPES = f"""
import ctypes, sys
import numpy as np
frame = ctypes.CDLL(sys.argv[1])
rng = np.random.default_rng(0)
D, u = rng.random((4, 4)), rng.random((3, 4, 4, 4))
out = [np.full(u.shape, np.nan) for _ in "rst"]
arrays = [u, D, *out]
addresses = (ctypes.c_void_p * 5)(*[a.ctypes.data for a in arrays])
extents = [n for a in arrays for n in a.shape[::-1]]
assert frame.frame_registercontraction_(b"lg3", b"{LG3}") == 0
assert frame.frame_initialize_(-1, 1, 1, 1, 0) == 0
for _ in range(2):
    assert frame.frame_contract_(b"lg3", b"u,D,ur,us,ut", addresses, 5, (ctypes.c_int * 18)(*extents), 18, 8) == 0
    for text, found in zip(("li,ekjl->ekji", "lj,ekli->ekji", "lk,elji->ekji"), out):
        assert np.allclose(found, np.einsum(text, D, u), rtol=1e-14, atol=0)
    u *= 3
    D += 1
extents[3] = 2
assert frame.frame_contract_(b"lg3", b"u,D,ur,us,ut", addresses, 5, (ctypes.c_int * 18)(*extents), 18, 8) == 3
text = ctypes.create_string_buffer(200)
frame.frame_lasterror_(text, 199)
print(text.value.decode().strip())
"""


def test_by_ctypes():
    """The second call repeats the first on the same arrays, with other values."""
    done = run(sys.executable, "-c", CTYPES, library(), FRAME_ON_ERROR="return")
    assert "array 'ur', index 'e': extent 3, wanted 2 as 'u' has it" in done.stdout, done.stdout + done.stderr


def sums(printed):
    (line,) = re.findall(r"(?m)^sums(.*)$", printed)
    return [float(word) for word in line.split()]


def test_the_page_as_pasted(capsys, tmp_path):
    """Python's program and Fortran's, by its own compile line and by another compiler in it, find the same. The page's
    other programs in Python run."""
    page = (ROOT / "docs/howto/tensor_expressions.md").read_text()
    (python, *others), (fortran,) = (re.findall(rf"```{x}\n(.*?)```", page, re.S) for x in ("python", "fortran"))
    for other in others:
        exec(compile(other, "page", "exec"), {})
    capsys.readouterr()

    (line,) = re.findall(r"```sh\n(gfortran [^\n]*)\n```", page)
    exec(compile(python, "page", "exec"), {})
    printed = capsys.readouterr().out
    assert "<- chosen" in printed
    (tmp_path / "tensor_expressions.f90").write_text(fortran)
    library()

    for name in ("build", "fortran_stub"):
        (tmp_path / name).symlink_to(ROOT / name)
    for compiler in COMPILERS:
        (tmp_path / compiler).mkdir()
        command = line.replace("-Jbuild", f"-J{tmp_path / compiler}").replace("gfortran", need(compiler))
        done = run("sh", "-c", command, cwd=tmp_path)
        # sums of 1e5 positive squares: some 1e5 roundings, each of which is as likely up as down
        np.testing.assert_allclose(sums(done.stdout), sums(printed), rtol=1e-12, err_msg=done.stderr)


@pytest.mark.parametrize("name", intrepid.NAMES)
def test_intrepids_names_have_the_order_of_fortran(name):
    """The page's table for Scalar; Vector and Tensor have their indices in front of p."""
    page = (ROOT / "docs/howto/tensor_expressions.md").read_text()
    rank = next(r for r in ("Scalar", "Vector", "Tensor") if name.endswith(r))
    (row,) = re.findall(rf"\| `{name.removesuffix(rank)}Scalar` (.*)", page)
    wanted = [f"{array}({indices})" for array, indices in re.findall(r"`(\w+)\(([pcflr,]+)\)`", row)]
    front = {"Scalar": "", "Vector": "i,", "Tensor": "j,i,"}[rank]

    for add in (False, True):
        e = parse(intrepid.text(name, {}, add))
        (statement,) = e.statements
        told = [f"{r.name}({','.join(reversed(r.indices))})" for r in (*statement.terms[0].factors, statement.out)]
        assert told == [word.replace("(p", f"({front}p") for word in wanted] and statement.add == add and e.batch == "c"


# ---- on a device ----------------------------------------------------------------------------------------------------


class Host:
    """Arrays of Lg3 by name, on the device or on the host."""

    def __init__(self, be, n=4, batch=6, on_host=()):
        self.be, rng = be, np.random.default_rng(0)
        self.numbers = {"D": rng.random((n, n)), "u": rng.random((batch, n, n, n))}
        self.numbers |= {name: np.full((batch, n, n, n), np.nan) for name in ("ur", "us", "ut")}
        self.arrays = {k: a.copy() if k in on_host else be.from_host(a) for k, a in self.numbers.items()}
        self.on_host = on_host
        self.contractions = Contractions()
        self.contractions.register("lg3", LG3)
        self.impl = TVProperties(be, Sizes(1, 1), {}).impl
        self.impl.waits = False

    def field(self, name, way):
        a = self.arrays[name]
        at = a.ctypes.data if name in self.on_host else self.be.address(a)
        return Field(name, way, at, a.shape[::-1], a.strides[::-1], (1,) * a.ndim, 8)

    def call(self):
        fields = [self.field(x, IN) for x in ("u", "D")] + [self.field(x, OUT) for x in ("ur", "us", "ut")]
        return self.contractions.run("lg3", fields, self.impl)

    def check(self):
        D, u = self.numbers["D"], self.numbers["u"]
        self.be.synchronize()
        for name, text in (("ur", "li,ekjl->ekji"), ("us", "lj,ekli->ekji"), ("ut", "lk,elji->ekji")):
            got = self.arrays[name] if name in self.on_host else self.be.to_host(self.arrays[name])
            # sums of 4 positive products: 4 K eps, K = 5
            assert np.allclose(got, np.einsum(text, D, u), rtol=20 * 2**-52, atol=0), name


def test_arrays_of_the_device_are_worked_on_in_place(be):
    host, calls = Host(be), be.arrays.calls if not is_gpu(be) else []
    again = host.call()
    host.check()
    del calls[:]
    host.arrays["u"] *= 2
    host.numbers["u"] *= 2
    again()
    assert is_gpu(be) or calls == ["contraction"]  # no copy, and no wait once the host has named its stream
    host.check()
    host.impl.waits = True
    del calls[:]
    again()
    assert is_gpu(be) or calls == ["contraction", "wait"]


@pytest.mark.parametrize("on_host", [("u",), ("D", "ur"), ("u", "D", "ur", "us", "ut")], ids=" ".join)
def test_arrays_of_the_host_go_to_the_device_and_back(be, on_host):
    """Some or all of them; twice with other values. Such a call waits for its results."""
    host = Host(be, on_host=on_host)
    again = host.call()
    host.check()

    for name in on_host:
        if name in ("D", "u"):
            host.arrays[name] += 1
            host.numbers[name] += 1

    again()
    host.check()


def test_small_arrays_of_the_host_go_together(be):
    """One copy to the device and one back, whatever their number, and a single wait."""
    host = Host(be, on_host=("u", "D", "ur", "us", "ut"))
    again, calls = host.call(), be.arrays.calls if not is_gpu(be) else []
    del calls[:]
    again()
    host.check()
    # the first wait is for the buffer, which is free; the last one is of the check
    assert is_gpu(be) or calls[:-1] == ["wait", "copy", "contraction", "copy", "wait"]


def test_small_arrays_of_two_threads(be):
    """Each thread has its own buffers: their calls, in turns and side by side, do not mix."""
    hosts = [Host(be, batch=batch, on_host=("u", "D", "ur", "us", "ut")) for batch in (6, 5)]
    hosts[1].arrays["u"] *= 3
    hosts[1].numbers["u"] *= 3

    def work(host):
        for _ in range(20):
            for name in ("ur", "us", "ut"):
                host.arrays[name][...] = np.nan
            host.call()
            host.check()

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(work, host) for host in hosts]:
            done.result()


def test_one_plan_for_small_and_large_batches(be):
    """What is small is decided for each call: arrays of 2 kB, of 4 MB, and of 2 kB again."""
    host = Host(be, on_host=("u", "D", "ur", "us", "ut"))
    for batch in (6, 8200, 6):
        other = Host(be, batch=batch, on_host=host.on_host)
        host.arrays, host.numbers = other.arrays, other.numbers
        host.call()
        host.check()


@pytest.mark.parametrize("pinned_first", [True, False])
def test_one_plan_for_pinned_and_pageable_arrays(be, monkeypatch, pinned_first):
    """Arrays that go together where they are pageable, and one by one where they are pinned, have other memory."""
    monkeypatch.setattr("frame.impl.small_arrays.SMALL", 0)
    everything = ("u", "D", "ur", "us", "ut")
    host = Host(be, on_host=everything)
    for pinned in (pinned_first, not pinned_first):
        other = Host(be, on_host=everything)
        host.arrays, host.numbers = other.arrays, other.numbers
        host.arrays["u"] += pinned
        host.numbers["u"] += pinned
        held = []
        for name in everything if pinned else ():
            room = np.zeros(host.arrays[name].size + 1024)[512:-512].reshape(host.arrays[name].shape)
            room[...] = host.arrays[name]
            host.arrays[name] = room
            be.pin(room.ctypes.data, room.nbytes)
            held.append(room)

        host.call()
        host.check()
        for room in held:
            be.unpin(room.ctypes.data, room.nbytes)


def test_pinned_and_large_arrays_of_the_host(be):
    """Pinned by the host, and 2 MB each, which the call pins for its time."""
    everything = ("u", "D", "ur", "us", "ut")
    for host, pinned in ((Host(be, on_host=everything), True), (Host(be, 8, 520, everything), False)):
        for name in everything if pinned else ():
            host.arrays[name] = np.zeros(host.arrays[name].size + 1024)[512:-512].reshape(host.arrays[name].shape)
            host.arrays[name][...] = host.numbers[name]
            be.pin(host.arrays[name].ctypes.data, host.arrays[name].nbytes)

        host.call()
        host.check()
        for name in everything if pinned else ():
            be.unpin(host.arrays[name].ctypes.data, host.arrays[name].nbytes)


def test_sections_that_lie_between_each_other(be):
    """Variables of one array as input and output, and an accumulated one; no other number is touched."""
    whole = np.arange(4 * 3 * 5.0).reshape(4, 3, 5)
    contractions = Contractions()
    contractions.register("add", "b(i,e) += 2 a(i,e)")
    impl = TVProperties(be, Sizes(1, 1), {}).impl
    wanted = whole.copy()
    wanted[:, 2] += 2 * wanted[:, 0]

    for on_device in (False, True):
        array = be.from_host(whole) if on_device else whole.copy()
        at = be.address(array) if on_device else array.ctypes.data
        field = lambda name, way, v, at=at: Field(name, way, at + 40 * v, (5, 4), (8, 120), (1, 1), 8)
        contractions.run("add", [field("a", IN, 0), field("b", INOUT, 2)], impl)
        be.synchronize()
        assert np.array_equal(be.to_host(array) if on_device else array, wanted)

        for bad in (INOUT, 0), (INOUT, 1):  # the same section, one that begins inside
            clash = field("b", *bad)._replace(address=at + 16 * bad[1])
            with pytest.raises(ArgumentError, match="output 'b' and array 'a' share memory"):
                contractions.run("add", [field("a", IN, 0), clash], impl)


def test_one_address_with_and_without_gaps(be):
    """An array of the device, the other of the host: what is kept for the next call knows strides."""
    whole = np.arange(60.0).reshape(4, 3, 5)
    contractions, impl = Contractions(), TVProperties(be, Sizes(1, 1), {}).impl
    contractions.register("copy", "b(i,e) = a(i,e)")
    array, b = be.from_host(whole), np.full((4, 5), np.nan)
    out = Field("b", OUT, b.ctypes.data, (5, 4), (8, 40), (1, 1), 8)

    for step, wanted in ((40, whole.reshape(12, 5)[:4]), (120, whole[:, 0])):
        given = Field("a", IN, be.address(array), (5, 4), (8, step), (1, 1), 8)
        contractions.run("copy", [given, out], impl)
        assert np.array_equal(b, wanted)


def test_a_file_of_tcr_in_place_of_a_text(tmp_path):
    """Fortran's lines are short."""
    file = tmp_path / "sums.tcr"
    file.write_text("access: linearize\nvariables:\nx: (2..9)\nS: (2..9)\noperations:\nS: (i) += 2 * x: (i)\n")
    contractions, x, S = Contractions(), np.arange(3.0), np.ones(3)
    contractions.register("sums", str(file))
    fields = [Field(n, w, v.ctypes.data, (3,), (8,), (1,), 8) for n, w, v in (("x", IN, x), ("S", INOUT, S))]
    contractions.run("sums", fields, TVProperties(get_backend("cpu"), Sizes(1, 1), {}).impl)
    assert S.tolist() == [1, 3, 5]
    with pytest.raises(ArgumentError, match="contraction 'no': tensor expression '.*none.tcr'"):
        contractions.register("no", str(tmp_path / "none.tcr"))


def test_an_organisation_that_no_backend_has():
    """It is told when the text is registered, not at the first call."""
    with pytest.raises(
        ArgumentError, match="contraction 'a': no organisation 'direkt', did you mean 'direct'; known: r"
    ):
        Contractions().register("a", "o(i) = x(i); how direkt rows=48")


def test_free_extents_of_a_host_compile_once(monkeypatch):
    """A line `free`: eight sizes, and what is compiled (copies) is the same for all."""
    contractions, backend, texts = Contractions(), get_backend("cpu"), []
    compile_ = type(backend).compile
    monkeypatch.setattr(
        type(backend), "compile", lambda self, source: texts.append(source.text) or compile_(self, source)
    )
    contractions.register("chain", "W(p,q) = x(s,p) * y(s,q) * z(s); free")
    impl = TVProperties(backend, Sizes(1, 1), {}).impl

    for n in range(2, 10):
        x, y, z = np.ones((n, n + 1)), np.full((n + 2, n + 1), 2.0), np.arange(n + 1.0)
        W = np.full((n + 2, n), np.nan)
        given = [
            Field(k, way, a.ctypes.data, a.shape[::-1], a.strides[::-1], (1,) * a.ndim, 8)
            for k, way, a in (("x", IN, x), ("y", IN, y), ("z", IN, z), ("W", OUT, W))
        ]
        contractions.run("chain", given, impl)
        assert (W == n * (n + 1)).all()  # 2 (0 + 1 + ... + n)
    assert len(set(texts)) <= 2


def test_texts_stay_until_finalize():
    contractions = Contractions()
    contractions.register("a", "o(i) = x(i)")
    contractions.register("a", "o(i)=x(i)   # the same")

    with pytest.raises(ArgumentError, match="contraction 'a': it was registered with another text"):
        contractions.register("a", "o(i) = 2 x(i)")

    contractions.finalize()
    contractions.register("a", "o(i) = 2 x(i)")
    contractions.finalize()
    o, x = np.zeros(3), np.ones(3)
    fields = [Field(n, w, v.ctypes.data, (3,), (8,), (1,), 8) for n, w, v in (("o", OUT, o), ("x", IN, x))]
    contractions.run("a", fields, TVProperties(get_backend("cpu"), Sizes(1, 1), {}).impl)
    assert o.tolist() == [2, 2, 2]

    with pytest.raises(ArgumentError, match="it was registered with another text"):  # used since
        contractions.register("a", "o(i) = 3 x(i)")
    with pytest.raises(ArgumentError, match="this name is Intrepid's"):
        contractions.register(intrepid.NAMES[0], "o(i) = x(i)")


def test_organisation_order_and_map_from_a_host(tmp_path):
    """Lines of the text ask for what Python gives as arguments: how, order, and the header of a map's function."""
    header = tmp_path / "pair_value.h"
    header.write_text("template <class A, class B> POINT_FN auto pair_value(A a, B b) { return a * b + 2.0 * a; }\n")
    contractions, impl = Contractions(), TVProperties(get_backend("cpu"), Sizes(1, 1), {}).impl
    contractions.register("pairs", f"header {header}; map q(i,e) = pair_value(a(i,e), b(i,e))")
    contractions.register("chain", "batch e; how lanes; order 1; o(i,e) = A(i,j) B(j,k) C(k,l) b(l,e)")

    rng = np.random.default_rng(0)
    a, b, q, o = rng.random((4, 3)), rng.random((4, 3)), np.full((4, 3), np.nan), np.full((4, 3), np.nan)
    A, B, C = rng.random((3, 3, 3))
    field = lambda n, w, v: Field(n, w, v.ctypes.data, v.shape[::-1], v.strides[::-1], (1, 1), 8)
    contractions.run("pairs", [field("a", IN, a), field("b", IN, b), field("q", OUT, q)], impl)
    np.testing.assert_allclose(q, a * b + 2 * a, rtol=4 * 2**-52)

    inputs = [field(n, IN, v) for n, v in (("A", A), ("B", B), ("C", C), ("b", b))]
    contractions.run("chain", [*inputs, field("o", OUT, o)], impl)
    np.testing.assert_allclose(o, b @ (C @ B @ A), rtol=4 * 30 * 2**-52)  # positive sums of 27 terms
    (plan,) = [p for p in contractions._plans.values() if p.expression.outputs == ("o",)]
    assert plan.how.name == "lanes" and plan.program is plan.programs[1]

    with pytest.raises(ArgumentError, match="registered with another text"):
        contractions.register("chain", "batch e; how rows; order 1; o(i,e) = A(i,j) B(j,k) C(k,l) b(l,e)")
    with pytest.raises(ArgumentError, match="contraction 'bad': .*is a map: name the file of C"):
        contractions.register("bad", "map q(i,e) = pair_value(a(i,e), b(i,e))")
    contractions.register("lost", "header nowhere.h; map q(i,e) = pair_value(a(i,e), b(i,e))")
    with pytest.raises(ArgumentError, match="contraction 'lost': header '.*nowhere.h' is no file"):
        contractions.run("lost", [field("a", IN, a), field("b", IN, b), field("q", OUT, q)], impl)
