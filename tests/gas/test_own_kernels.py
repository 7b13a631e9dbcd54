"""Own kernels of a host: constants set at run time, arguments that are guarded, errors
that say where, a cache that sees every file. The page of the language: test_kernel_language.py."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from device_for_tests import be, is_gpu  # noqa: F401
from hosts import BUILD, ROOT, compiled, library, run
from own_kernels_for_tests import ABOUT, CPU, HEAD, SM_90, message, own, value
from test_cache import counted  # noqa: F401
from test_interop import told

import kernels
from kernels import ArgumentError, Mixture, NoSpecies, Program, StateError, Wanted
from kernels.engine.errors import CompileError

VISCOSITY = "    mu = m.MU0 * T / m.T0 + (m.weight[0] + m.weight[1] + m.weight[2]);\n}\n"
CONSTANTS = """from kernels import constant, point_kernel
constant("MU0", "Pa s", "viscosity at T0")
constant("T0", "K", "temperature of MU0", default=300.0)
constant("weight", "1", "summands", count=3)
"""
DECLARED = f"""
point_kernel("viscosity", header="viscosity.h", reads="T", writes="mu", constants="MU0 T0 weight", {ABOUT})
"""


pytestmark = pytest.mark.usefixtures("registry")


# ---- constants that a host sets ------------------------------------------------------------------------------------


@pytest.fixture
def viscosity(tmp_path):
    (tmp_path / "viscosity.h").write_text(HEAD.format("viscosity") + VISCOSITY)
    (tmp_path / "viscosity.py").write_text(CONSTANTS + DECLARED)
    return tmp_path / "viscosity.py"


def test_a_fortran_host_sets_constants(viscosity, counted):  # noqa: F811
    """mu = MU0 T/T0 + the weights' sum, T = 300; by launches, in a block call of two chunks, after finalize."""
    second = viscosity.with_name("second.py")
    second.write_text(CONSTANTS.replace("300.0", "100.0") + DECLARED)
    compiler, runs = counted
    cache = {"FRAME_CACHE": str(viscosity.parent / "cache"), "FRAME_CXX": str(compiler)}
    done = run(compiled("constants.f90"), viscosity, second, **cache)
    got = told(done)

    assert got["early"][0] == 3 and "unknown constant 'MU0'" in got["early"][1]
    assert "register the kernels first" in got["early"][1]

    assert got["not set"] == (
        4,
        "frame_launch: 'viscosity' reads the constant 'MU0' [Pa s], which was never set and has no default: call "
        "frame_setconstant('MU0', ...) first.",
    )
    for call in ("register", "init", "one", "several", "old", "old several", "again"):
        assert got[call] == (0, ""), got[call]

    for call, words in {
        "unknown": "unknown constant 'MU00', did you mean 'MU0'; known: gas_constant, Pr_t, Sc_t, react_rtol, "
        "react_atol, react_most, MU0, T0, weight.",
        "one for several": "constant 'weight' [1]: one number came, wanted an array of 3.",
        "too few": "constant 'weight' [1]: an array of 2 came, wanted an array of 3.",
        "several for one": "constant 'MU0' [Pa s]: an array of 1 came, wanted one number.",
        "nan": "constant 'MU0' [Pa s]: nan came, wanted finite numbers.",
    }.items():
        assert got[call][0] == 3 and words in got[call][1], got[call]

    values = {m[1]: [float(x) for x in m[2].split()] for m in re.finditer(r"^(.+?) = (.*)$", done.stdout, re.M)}
    assert values == {
        "launch": [113.0],
        "changed": [114.0],
        "block": [114.0, 114.0],
        "block changed": [117.0, 117.0],
        "old changed": [11.0],
        "unchanged": [11.0],
        "after finalize": [11.0],
        "declared otherwise": [16.0],  # T0 has its new default, MU0 and weight keep their values
    }

    assert runs() == 2  # the program and the marshal


def test_a_c_host_sets_constants(viscosity, tmp_path):
    library()
    host = tmp_path / "host"
    source = [str(ROOT / "tests/fortran/constants.c"), "-o", str(host), f"-I{BUILD}", f"-L{BUILD}", "-lframe"]
    subprocess.run(["cc", *source, f"-Wl,-rpath,{BUILD}"], check=True)
    done = run(host, viscosity, FRAME_ON_ERROR="return")

    assert done.stdout.splitlines()[:2] == ["mu 113", "status 3"], done.stdout + done.stderr
    assert "constant 'weight' [1]: an array of 2 came, wanted an array of 3." in done.stdout


@pytest.mark.parametrize("precision", ["double", "mixed", "single"])
def test_a_bound_program_follows(be, viscosity, precision):  # noqa: F811
    """Also what is recorded (a graph on a GPU). The constants of a second program stay its own."""
    kernels.load_declarations(viscosity)
    kernels.set_constant("weight", [1.0, 2.0, 4.0])
    program = Program(Mixture(NoSpecies(1)), Wanted(kernels=["viscosity"]), backend=be, precision=precision)
    views = {name: be.empty(be.pad(4), program.dtype) for name in ("T", "mu")}
    views["T"][...] = 300.0
    work = program.bind(views)

    with pytest.raises(StateError, match="reads the constant 'MU0' .Pa s., which was never set"):
        work(4)
    results = []
    recorded = None

    for mu0, t0 in ((2.0, 300.0), (3.0, 300.0), (3.0, 150.0), (0.5, 150.0)):
        kernels.set_constant("MU0", mu0)
        kernels.set_constant("T0", np.float64(t0))

        if recorded is None:
            work(4)
            recorded = be.record(lambda: work(4))
        elif t0 == 300.0:
            work(4)
        else:
            recorded()

        results.append(float(be.to_host(views["mu"])[3]))

    assert results == [9.0, 10.0, 13.0, 8.0]
    kernels.constant("another", "1", "declared after the program was bound")
    kernels.set_constant("MU0", 1.0)
    work(4)

    assert float(be.to_host(views["mu"])[3]) == 9.0


def test_declarations_of_constants():
    for bad, words in (
        (dict(name="not a name"), "'not a name' is no name in C"),
        (dict(name="new"), "'new' is no name in C"),
        (dict(name="W"), "taken by the mixture's constants"),
        (dict(name="NS"), "taken by the mixture's constants"),
        (dict(count=0), "count = 0, wanted 1 to 2048"),
        (dict(count=3, default=[1.0, 2.0]), "an array of 2 came, wanted an array of 3"),
        (dict(default="much"), "wanted numbers"),
    ):
        with pytest.raises(ArgumentError, match=words):
            kernels.constant(**{"name": "K", "unit": "1", "what": "test", **bad})

    kernels.constant("K", "1", "test", default=1.0)
    kernels.constant("K", "1", "test", default=1.0)
    with pytest.raises(ArgumentError, match="constant 'K' is already declared"):
        kernels.constant("K", "1", "test", default=2.0)


@pytest.mark.parametrize("name", ["my rho", "2rho", "int", "class", "rho-2", ""])
def test_names_that_are_none_in_cpp(name):
    with pytest.raises(ArgumentError, match=f"quantity: '{name}' is no name in C"):
        kernels.quantity(name, "1", "a test")
    with pytest.raises(ArgumentError, match=f"kernel: '{name}' is no name in C"):
        kernels.point_kernel(name, header="own.h", reads="T", writes="mu", source="test", valid="everywhere")


# ---- arguments -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", [CPU, SM_90], ids=str)
def test_swapped_arguments_do_not_compile(tmp_path, backend):
    swapped = "template <class M, class R> POINT_FN void swapped(const M &, R &mu, const R T) { mu = T; }\n"
    own(tmp_path / "a", "swapped", swapped, head="{:.0}")

    assert message("swapped", backend) == (
        "kernel 'swapped' (own.h, line 1): its body does not take what the declaration says: it reads T and writes mu, "
        "in this order, after the constants `const M &m`; inputs are const."
    )
    rows = (
        "template <class M, class A, class B> POINT_FN void rows(const M &, A &X, const B &Y) {\n X.set(0, Y[0]);\n}\n"
    )
    declared = f"point_kernel('rows', header='own.h', reads='Y', writes='X', {ABOUT})\n"
    own(tmp_path / "b", "rows", rows, declared, head="{:.0}")

    assert re.match(r"kernel 'rows' \(own.h, line 2\): .*Likely: an input is written", message("rows", backend))


def test_an_output_that_is_forgotten_is_nan(be, tmp_path):  # noqa: F811
    """A value at each point, and several; an output that is updated in place keeps its values."""
    body = """template <class M, class R, class S, class T_k>
    POINT_FN void forgetful(const M &, const R T, R &p, const S &Y, R &mu, R &phase_flag, T_k &X) {
        X.set(1, Y[1] * T);
    }
    """

    declared = (
        f"point_kernel('forgetful', header='own.h', reads='T p Y', writes='p mu phase_flag X', {ABOUT})\n"
        f"point_kernel('kept', header='kept.h', reads='T Y', writes='Y', {ABOUT})\n"
    )

    (tmp_path / "kept.h").write_text(
        "#pragma once\ntemplate <class M, class R, class S> POINT_FN void kept(const M &, const R T, S &Y) {\n"
        "    Y.set(1, Y[0] * T);\n}\n"
    )

    own(tmp_path, "forgetful", body, declared, head="#pragma once\n{:.0}")
    got = value("forgetful", be, 3, T=2.0, p=3.0, Y=[0.5, 0.25, 0.25])

    assert got["p"] == 3.0 and np.isnan(got["mu"]) and np.isnan(got["phase_flag"])
    np.testing.assert_array_equal(got["X"], [np.nan, 0.5, np.nan])
    np.testing.assert_array_equal(value("kept", be, 3, T=2.0, Y=[0.5, 0.25, 0.25])["Y"], [0.5, 1.0, 0.25])


@pytest.mark.parametrize("ns", (9, 65))
def test_one_of_many_values_is_forgotten(be, tmp_path, ns):  # noqa: F811
    """More values than a word has bits, and more than have bits; reading one that is not set gives NaN."""
    body = "template <class M, class R, class Q> POINT_FN void many(const M &, const R T, Q &q, R &mu) {\n"
    body += f"    mu = q[70];\n    for (int i = 0; i < {ns * ns}; ++i)\n        if (i != 70) q.set(i, i * T);\n}}\n"
    declared = "quantity('q', '1', 'test', per='ns*ns')\n"
    declared += f"point_kernel('many', header='own.h', reads='T', writes='q mu', {ABOUT})\n"
    own(tmp_path, "many", body, declared, head="#pragma once\n{:.0}")
    program = Program(Mixture(NoSpecies(ns)), Wanted(kernels=["many"]), backend=be)
    views = {name: be.empty((program.plan.rows(name), be.pad(3))) for name in program.plan.arguments}
    views["T"][...], views["q"][...] = 2.0, 7.0
    program.bind(views)(3)
    wanted = 2.0 * np.arange(ns * ns)
    wanted[70] = np.nan

    np.testing.assert_array_equal(be.to_host(views["q"])[:, :3].T, [wanted] * 3)
    assert np.isnan(be.to_host(views["mu"])[0, :3]).all()


def test_every_number_of_values(be, tmp_path):  # noqa: F811
    """Each `per` is written by one kernel and read by another, through registers, scratch and arrays."""
    kinds = {"": 1, "ns": 3, "ns*ns": 9, "nq": 7, "nq*nq": 49}
    written = [f"    q{k} = 2.0 * T;\n" for k in (0,)]
    read = ["    sum = q0;\n"]

    for k, rows in list(enumerate(kinds.values()))[1:]:
        written.append(f"    for (int i = 0; i < {rows}; ++i) q{k}.set(i, (i + 1.0) * T);\n")
        read.append(f"    for (int i = 0; i < {rows}; ++i) sum += q{k}[i];\n")

    types = ", ".join(f"class Q{k}" for k in range(1, 5))
    out = "".join(f", Q{k} &q{k}" for k in range(1, 5))
    head = f"template <class M, class R, {types}> POINT_FN void "
    body = f"{head}writer(const M &, const R T, R &q0{out}) {{\n{''.join(written)}}}\n"
    body += f"{head}reader(const M &, const R q0{out.replace(', Q', ', const Q')}, R &sum) {{\n{''.join(read)}}}\n"
    names = " ".join(f"q{k}" for k in range(5))
    declared = "".join(f"quantity('q{k}', '1', 'test', per='{per}')\n" for k, per in enumerate(kinds))
    declared += "quantity('sum', '1', 'test')\n"
    for name, reads, writes in (("writer", "T", names), ("reader", names, "sum")):
        declared += f"point_kernel('{name}', header='own.h', reads='{reads}', writes='{writes}', {ABOUT})\n"
    own(tmp_path, "writer", body, declared, head="#pragma once\n{:.0}")
    mix = Mixture(NoSpecies(3))
    got = mix.properties([*names.split(), "sum"], T=2.0, backend=be)
    for k, rows in list(enumerate(kinds.values()))[1:]:
        np.testing.assert_array_equal(got[f"q{k}"], 2.0 * np.arange(1, rows + 1))
    total = 4.0 + sum(rows * (rows + 1) for rows in list(kinds.values())[1:])

    assert got["sum"] == total == mix.properties("sum", T=2.0, backend=be)["sum"]


def test_one_species(be, tmp_path):  # noqa: F811
    """On a CPU what follows from the composition alone is computed once."""
    body = (
        "template <class M, class R, class S, class X_k> POINT_FN void alone(const M &, const S &Y, R &W, X_k &X) {\n"
    )
    body += "    W = 3.0 * Y[0];\n    X.set(0, 2.0 * Y[0]);\n}\n"
    after = "template <class M, class R, class S>\n"
    after += "POINT_FN void after(const M &, const R W, const S &X, const R T, R &mu) {\n"
    after += "    mu = T * (W + X[0]);\n}\n"
    declared = f"point_kernel('alone', header='own.h', reads='Y', writes='W X', {ABOUT})\n"
    declared += f"point_kernel('after', header='own.h', reads='W X T', writes='mu', {ABOUT})\n"
    own(tmp_path, "alone", body + after, declared, head="#pragma once\n{:.0}")
    program = Program(Mixture(NoSpecies(1)), Wanted(kernels=["alone", "after"], outputs=["mu", "X"]), backend=be)
    views = {name: be.empty(be.pad(3)) for name in program.plan.arguments}
    views["Y"][...], views["T"][...] = 1.0, 7.0
    program.bind(views)(3)

    assert be.to_host(views["mu"])[2] == 35.0 and be.to_host(views["X"])[2] == 2.0


def test_an_output_that_nobody_takes(be, tmp_path):  # noqa: F811
    """A name that another kernel made before stays as it is; the body that makes it again may read what it set."""
    body = "template <class M, class R, class S> POINT_FN void taken(const M &, const R T, S &X) {\n"
    body += "    FOR_SPECIES (s, M::NS) X.set(s, T);\n}\n"
    body += "template <class M, class R, class S> POINT_FN void lost(const M &, const R T, S &X, R &mu) {\n"
    body += "    FOR_SPECIES (s, M::NS) X.set(s, 2.0 * T);\n    mu = X[0] + X[1];\n}\n"
    declared = f"point_kernel('taken', header='own.h', reads='T', writes='X', {ABOUT})\n"
    declared += f"point_kernel('lost', header='own.h', reads='T', writes='X mu', {ABOUT})\n"
    own(tmp_path, "taken", body, declared, head="#pragma once\n{:.0}")
    program = Program(Mixture(NoSpecies(2)), Wanted(kernels=["taken", "lost"]), backend=be)
    views = {name: be.empty((program.plan.rows(name), be.pad(3))) for name in program.plan.arguments}
    views["T"][...] = 3.0
    program.bind(views)(3)

    assert be.to_host(views["X"])[:, 2].tolist() == [3.0, 3.0] and be.to_host(views["mu"])[0, 2] == 12.0


# ---- compiler errors -----------------------------------------------------------------------------------------------


def test_a_failure_is_compiled_once_and_told_again(tmp_path, counted, monkeypatch):  # noqa: F811
    compiler, runs = counted
    monkeypatch.setenv("FRAME_CXX", str(compiler))
    monkeypatch.setenv("FRAME_CACHE", str(tmp_path / "cache"))
    file = own(tmp_path / "own", "failing", "    mu = tanh(T);\n")
    first, second = message("failing"), message("failing")

    assert first == second and runs() == 1
    assert re.match(r"kernel 'failing' \(own.h, line 3\): no matching function for call to .tanh", first)
    assert "docs/howto/kernel_language.md lists those that do" in first

    file.with_name("own.h").write_text(HEAD.format("failing") + "    mu = 2.0 * T;\n}\n")
    assert value("failing")["mu"] == 600 and runs() == 2  # the mended body


def test_a_host_reads_which_line_is_wrong(viscosity):
    """The message arrives in Fortran, with the kernel first."""
    header = viscosity.with_suffix(".h")
    header.write_text(header.read_text().replace("m.T0", "m.T_0"))
    got = told(run(compiled("constants.f90"), viscosity, FRAME_CACHE=str(viscosity.parent / "cache")))
    status, text = got["not set"]

    assert status == 4 and text.startswith("frame_launch: kernel 'viscosity' (viscosity.h, line 3): "), text
    assert "T_0" in text and "Likely: a constant that `constants=` of the declaration does not name" in text


def test_a_helper_and_a_header_of_its_own_lead_to_the_kernel(tmp_path):
    tmp_path = tmp_path / "a folder's name"
    tmp_path.mkdir()
    helper = "#pragma once\ntemplate <class R> POINT_FN R helped(const R T) {\n    return tanh(T);\n}\n"
    (tmp_path / "helper.h").write_text(helper)
    head = '#pragma once\n#include "helper.h"\n' + HEAD.removeprefix("#pragma once\n")
    declared = "".join(
        f"point_kernel('{name}', header='own.h', reads='T', writes='mu', {ABOUT})\n" for name in ("plain", "calls")
    )
    body = "    mu = T;\n}\n" + HEAD.removeprefix("#pragma once\n").format("calls") + "    mu = helped(T);\n}\n"
    own(tmp_path, "plain", body, declared, head=head)
    for backend in (CPU, SM_90):
        assert re.match(r"kernel 'calls' \(own.h, line [67]\): ", message("calls", backend))


# ---- the cache and files -------------------------------------------------------------------------------------------

AGAIN = """
import sys, kernels
kernels.load_declarations(sys.argv[1])
print(float(kernels.Mixture(kernels.NoSpecies(1)).kernel(sys.argv[2])(T=1.0, backend="cpu")["mu"]))
"""


@pytest.mark.parametrize(
    "include",
    ['#include "../elsewhere/number.inc"', "#include <number.inc>", "#define NAMED <number.inc>\n#include NAMED"],
    ids=["outside", "by the environment", "by a macro"],
)
def test_a_change_of_any_included_file_is_seen(tmp_path, include, monkeypatch):
    """In a process that starts later and in this one."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setenv("CPATH", str(elsewhere))
    monkeypatch.setenv("FRAME_CACHE", str(tmp_path / "cache"))
    (elsewhere / "number.inc").write_text("2.0\n")
    file = own(tmp_path / "own", "reading", f"    mu = T *\n{include}\n    ;\n")

    assert value("reading", T=1.0)["mu"] == 2.0
    (elsewhere / "number.inc").write_text("3.0 // other\n")
    done = subprocess.run([sys.executable, "-c", AGAIN, str(file), "reading"], capture_output=True, text=True, cwd=ROOT)

    assert done.stdout == "3.0\n", done.stderr
    assert value("reading", T=1.0)["mu"] == 3.0

    count = len(list((tmp_path / "cache").glob("*.so")))
    done = subprocess.run([sys.executable, "-c", AGAIN, str(file), "reading"], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout == "3.0\n" and len(list((tmp_path / "cache").glob("*.so"))) == count

    (tmp_path / "copy" / "elsewhere").mkdir(parents=True)
    (tmp_path / "copy" / "elsewhere" / "number.inc").write_text("4.0\n")
    monkeypatch.setenv("CPATH", str(tmp_path / "copy" / "elsewhere"))
    del kernels.registry.kernels["reading"]
    own(tmp_path / "copy" / "own", "reading", f"    mu = T *\n{include}\n    ;\n")

    assert value("reading", T=1.0)["mu"] == 4.0  # of the copy, not of the files that were noted first

    if "NAMED" in include:
        with pytest.raises(CompileError, match="'#include NAMED': NVRTC does not tell which file it reads"):
            Program(Mixture(NoSpecies(1)), Wanted(kernels=["reading"]), backend=SM_90)


@pytest.mark.parametrize("header", ["own.h", "pack.h", "math.h", "engine/numbers/platform.h"])
def test_headers_of_equal_names_do_not_clash(tmp_path, header, be):  # noqa: F811
    declared = "point_kernel('{}', header='" + header + "', reads='{}', writes='{}', " + ABOUT + ")\n"
    for name, reads, writes in (("first_own", "T", "mu"), ("second_own", "mu", "lam")):
        body = (
            f"template <class M, class R> POINT_FN void {name}(const M &, const R x, R &y) {{ y = 2.0 * sqrt(x); }}\n"
        )
        own(tmp_path / name, name, body, declared.format(name, reads, writes), "#pragma once\n{:.0}", header)

    program = Program(Mixture(NoSpecies(1)), Wanted(kernels=["first_own", "second_own"]), backend=be)
    views = {name: be.empty(be.pad(4)) for name in ("T", "mu", "lam")}
    views["T"][...] = 16.0
    program.bind(views)(4)

    assert be.to_host(views["lam"])[0] == 2 * np.sqrt(8.0)


def test_where_a_header_lies_is_not_in_the_key(tmp_path, counted, monkeypatch):  # noqa: F811
    compiler, runs = counted
    monkeypatch.setenv("FRAME_CXX", str(compiler))
    monkeypatch.setenv("FRAME_CACHE", str(tmp_path / "cache"))

    for folder in ("here", "there"):
        own(tmp_path / folder, "moved", "    mu = 2.0 * T;\n")
        assert value("moved")["mu"] == 600
        del kernels.registry.kernels["moved"]

    assert runs() == 1


def test_a_declaration_file_that_failed_may_be_mended(tmp_path):
    file = own(tmp_path, "half", "    mu = T;\n")
    del kernels.registry.kernels["half"]
    right = file.read_text()
    file.write_text(right.replace("'T'", "'p'") + "raise ValueError('and then')\n")

    with pytest.raises(ArgumentError, match="ValueError: and then"):
        kernels.load_declarations(file)
    file.write_text(right)
    kernels.load_declarations(file)

    assert kernels.registry.kernels["half"].reads == ("T",)


def test_without_a_mixture_the_cache_is_filled(viscosity):
    """And then serves a Fortran host that finds no compiler."""
    bare = {"PATH": str(viscosity.parent / "nowhere"), "FRAME_CACHE": str(viscosity.parent / "cache")}
    words = ["compile", "--register", str(viscosity), "--ns", "3", "--backend", "cpu", "--block", "viscosity=mu"]
    host = compiled("constants.f90")

    assert "install g++, or fill the cache" in told(run(host, viscosity, **bare))["init"][1]
    done = subprocess.run(
        [sys.executable, "-m", "frame", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "FRAME_CACHE": bare["FRAME_CACHE"]},
    )

    assert done.returncode == 0 and "cpu  viscosity\ncpu  viscosity: mu\n" in done.stdout, done.stdout + done.stderr
    done = run(host, viscosity, **bare)
    assert "launch =  1.13000E+02" in done.stdout and "block changed =  1.17" in done.stdout, done.stdout

    nothing = subprocess.run([sys.executable, "-m", "frame", "compile"], cwd=ROOT, capture_output=True, text=True)
    assert nothing.returncode == 2 and "give some of --mixture FILE, --register FILE, --contraction" in nothing.stderr
