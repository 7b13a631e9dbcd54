"""Benches of the papers: Barracuda's tables, Intrepid's surfaces, CUDA by hand, the profiler's table of cache hits."""

import json
import pathlib
import re
import shutil
import subprocess

import gpu_species_ncu
import numpy as np
import pytest
from device_for_tests import be  # noqa: F401  the fixture: a stand-in, or with -m gpu the device

from frame.errors import BackendError, FrameError
from frame.tools.bench import barracuda, intrepid, plain_c, published, species_by_hand
from frame.tools.cli import main
from kernels import get_backend
from kernels.engine.backend import cuda
from kernels.engine.backend.base import Source

needs_gcc = pytest.mark.skipif(not shutil.which("gcc"), reason="plain C needs gcc")
EPS = np.finfo(float).eps
machine_code = cuda.machine_code  # the real one: the stand-in puts another in its place


# ---- plain C --------------------------------------------------------------------------------------------------------


def little(case: barracuda.Case, extent: int, entries: int = 1) -> barracuda.Case:
    """A case of the paper with other extents."""
    sizes = dict.fromkeys(case.sizes, extent)
    return barracuda.Case(case.name, case.text, sizes, entries, case.options, case.plain)


def of_the_paper(*names: str) -> list[barracuda.Case]:
    """Cases whose names begin so."""
    return [case for case in barracuda.cases(4) if case.name.startswith(names)]


@needs_gcc
@pytest.mark.parametrize("kind", plain_c.KINDS)
@pytest.mark.parametrize("name", ["Eqn.(1)", "Lg3 ", "Lg3t", "TCE_ex N = 10", "S1_4", "D1_2", "D2_9"])
@pytest.mark.quick(name=["Eqn.(1)", "Lg3t", "D1_2"])
def test_loops_in_c_are_right(name, kind):
    """Each side against einsum; OpenACC without its directives. Temporaries and outputs start as NaN."""
    (case,) = of_the_paper(name)
    case = little(case, 4, 3 if case.plain["batch"] else 4)
    sides = barracuda.Sides(case, conditions(get_backend("cpu", threads=1)), print)

    arrays = sides.fresh()
    program = sides.plain.program
    plain_c.on_a_host(plain_c.Loops(program, case.entries, threads=2), kind, arrays)()

    assert sides.check(kind, [arrays[x] for x in sides.plan.expression.outputs]) < 10 * EPS


def conditions(backend, evaluations=0) -> barracuda.Conditions:
    """A round, two threads, no OpenACC."""
    return barracuda.Conditions(backend, 1, 2, evaluations, 60.0, None, {}, None)


def test_what_the_directives_say():
    """Naive: sums in memory. Tuned: gangs and vectors of the decomposition, the sum in a scalar."""
    (case,) = of_the_paper("D1_2")
    loops = plain_c.Loops(case.plan(get_backend("cpu", threads=1), plain=True).program, 1)
    naive, tuned = loops.text(plain_c.NAIVE), loops.text(plain_c.TUNED)
    assert "gang" not in naive and "T3[" in naive and "double sum" not in naive
    assert re.search(r"gang collapse\(2\)", tuned) and re.search(r"vector collapse\(2\)", tuned)
    assert "vector_length(256)" in tuned and "double sum" in tuned


@needs_gcc
@pytest.mark.parametrize("kind", [plain_c.NAIVE, plain_c.TUNED])
def test_openacc_compiles_and_wants_a_device(kind, tmp_path, monkeypatch):
    """The program's directives are C that gcc takes. Where it runs without an NVIDIA device it says so; a compiler
    without offloading is refused."""
    (case,) = of_the_paper("Lg3t")
    program = case.plan(get_backend("cpu", threads=1), plain=True).program
    loops = plain_c.Loops(program, case.entries)
    file = tmp_path / "program.c"
    file.write_text(plain_c.device_text(loops, kind))
    made = tmp_path / "program"
    subprocess.run(
        ["gcc", "-fopenacc", "-foffload=disable", "-std=gnu11", "-Wall", "-Werror", file, "-o", made], check=True
    )

    monkeypatch.setattr(plain_c, "executable", lambda *_: made)
    arrays = {a.name: np.zeros(loops.numbers(a.name)) for a in program.arguments}
    with pytest.raises(BackendError, match="no NVIDIA device"):
        plain_c.on_a_device(loops, kind, arrays, tmp_path, 1)

    monkeypatch.undo()
    monkeypatch.setattr(
        plain_c.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess((), 0, "mkoffload\n", "")
    )
    with pytest.raises(BackendError, match="no compiler here makes OpenACC code for a GPU"):
        plain_c.offload_compiler()


# ---- Barracuda ------------------------------------------------------------------------------------------------------


def test_every_row_of_the_paper():
    """Table I: Eqn.(1), Lg3, Lg3t, TCE_ex, and nine each of S1, D1, D2, with the operations that the paper counts."""
    cases = {case.name: case for case in barracuda.cases(1)}
    assert len(cases) == 5 + 27
    cpu = get_backend("cpu", threads=1)
    flops = {  # and the numbers of the output: `+=` counts an addition for each
        "Eqn.(1) n = 10": (6 * 10**4, 10**3),
        "Lg3 n = 12": (6 * 12**4, 0),
        "Lg3t n = 12": (6 * 12**4 + 2 * 12**3, 0),
        "TCE_ex N = 16": (6 * 16**6, 0),
        "S1_1 N = 16": (2 * 16**6, 16**6),
        "D2_5 N = 16": (2 * 16**7, 16**6),
    }
    for name, (wanted, numbers) in flops.items():
        assert 0 <= cases[name].plan(cpu, plain=True).flops - wanted <= numbers, name


@needs_gcc
def test_the_command(capsys, tmp_path):
    """Sides are checked, then timed; the file has the rows, the text the paper's figures beside ours."""
    file, kept = tmp_path / "rows.json", tmp_path / "run.json"
    command = ["bench", "barracuda", "--cases", "Eqn|Lg3 ", "--elements", "3", "--rounds", "1", "--threads", "2"]
    assert main([*command, "--json", str(file), "--record", str(kept)]) == 0
    told = capsys.readouterr().out

    rows = json.loads(file.read_text())
    assert rows == json.loads(kept.read_text())["rows"]
    sides = ("sequential C", "OpenMP", "layer", "einsum")
    assert [(row["case"][:3], row["side"]) for row in rows] == [(case, s) for case in ("Eqn", "Lg3") for s in sides]
    assert all(row["seconds"] > 0 and row["gflops"] > 0 and row["max_rel_diff"] < 200 * EPS for row in rows)
    assert all(row["speedup"] == 1 for row in rows if row["side"] == "sequential C")
    assert "Lg3: paper, GTX 980: 42.74 GF/s, 23.7 times one core; search 324.8 s; here" in told
    assert "Eqn.(1): paper" in told


def hosts_einsum(backend):
    """numpy.einsum for the arrays of a stand-in."""

    def einsum(text, *arrays, **options):
        return backend.arrays.asarray(np.einsum(text, *map(np.asarray, arrays), **options))

    return einsum


@needs_gcc
@pytest.mark.full
def test_both_searches_on_a_device(be, monkeypatch):  # noqa: F811
    """On the stand-in of a GPU: copies apart, SURF over Barracuda's pool, the layer's own search. OpenACC is left out
    by name where nothing makes it."""
    (case,) = of_the_paper("Eqn.(1)")
    if not hasattr(be.arrays, "einsum"):  # the stand-in has kernels and copies only
        monkeypatch.setattr(be.arrays, "einsum", hosts_einsum(be), raising=False)
    how = barracuda.Conditions(be, 1, 2, 3, 60.0, pathlib.Path("/nowhere"), {}, None)
    said = []
    rows = barracuda.Sides(little(case, 3), how, said.append).measure()
    by_side = {row["side"]: row for row in rows}

    layer = by_side["layer"]
    assert layer["with_copies"] > 0 < layer["copy_in"] and layer["pinned"] > 0 < layer["copy_out"]
    (line,) = published.beside(rows)
    assert line.startswith("Eqn.(1): paper, GTX 980: 1.99 GF/s, 0.63 times one core; search 3556.0 s; here ")
    assert re.search("; with copies .+ GF/s, .+ times one core; pinned .+ GF/s, .+ times one core; SURF here", line)
    assert by_side["SURF"]["evaluations"] == 3 and by_side["SURF"]["search_seconds"] > 0
    assert "axes" in by_side["SURF"]["how"] and by_side["own search"]["evaluations"] == 3
    assert not any("OpenACC" in side for side in by_side) and any("OpenACC naive is left out" in text for text in said)


NEKBONE = """
plain: time [s]    0.113, of this the operator of the elements   0.071
  GF/s    3.478; of the operator alone    4.989; unknowns a second 1.405E+07 (inner points, each once)

layer: time [s]    0.147, of this the operator of the elements   0.082
  GF/s    2.686; of the operator alone    4.345; unknowns a second 1.085E+07 (inner points, each once)
frame: seconds by name, 1 rank, backend cuda
   rank name         calls        points     seconds  ns/point    GB/s
      0 copies in       61          3904    0.173305   70006.5    12.1
      0 ax              61          3904    0.003305   70006.5       -
"""
RESIDENT = """
device: time [s]  0.00680, copies before it  0.00100, of x behind it  0.00200
  GF/s 2310.500; unknowns a second 2.000E+10 (inner points, each once)
"""


def test_nekbone_with_copies_apart(tmp_path):
    """The program's own lines: times of all sides, the layer's timers by name, copies of arrays of the device."""
    program = tmp_path / "nekbone"
    program.write_text(
        "#!/bin/sh\nif grep -q \"method *= 'both'\" $1; then\n"
        f"test $FRAME_TIMERS = 1 || exit 1\ncat <<'END'{NEKBONE}END\n"
        f"else\ngrep -q \"method *= 'device'\" $1 || exit 1\ncat <<'END'{RESIDENT}END\nfi\n"
    )
    program.chmod(0o755)
    backend, said = get_backend("cpu"), []
    plain, layer, device = barracuda.nekbone(program, [], backend, said.append)
    assert (plain["seconds"], layer["operator_seconds"], layer["gflops"]) == (0.113, 0.082, 2.686)
    assert layer["timers"] == {"copies in": 0.173305, "ax": 0.003305}
    assert layer["speedup"] == pytest.approx(0.113 / 0.147)
    assert (device["seconds"], device["copy_in"], device["copy_out"]) == (0.0068, 0.001, 0.002)
    assert device["gflops"] == 2310.5

    assert barracuda.nekbone(tmp_path / "none", [], backend, said.append) == [] and "Nekbone is left out" in said[0]
    program.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(FrameError, match="status 1"):
        barracuda.nekbone(program, [], backend, said.append)


# ---- Intrepid -------------------------------------------------------------------------------------------------------


@needs_gcc
def test_intrepid_shares_the_work_by_the_sizes_of_a_case():
    """Where the compiler's time does not count. `special` of 5 points: 16 outputs of 8 lanes in a team."""
    case = intrepid.Case("contractFieldFieldScalar", 5, 0.01)
    how = intrepid.Conditions(get_backend("cpu", threads=1), 1, 1, None)
    random = np.random.default_rng(9)
    shapes = dict(left=(case.cells, case.left, 5), right=(case.cells, case.right, 5))
    arrays = {name: random.random(shape) for name, shape in shapes.items()}
    arrays["out"] = np.full((case.cells, case.left, case.right), np.nan)

    makers = dict(intrepid._teams(case, how, arrays))
    assert makers["slicing"].args[2].team == f"auto {case.right}"
    assert (makers["special"].args[2].team, makers["special"].keywords["outputs"]) == ("auto 16", 16)

    makers["special"]()()
    wanted = np.einsum("clk,crk->clr", arrays["left"], arrays["right"])
    np.testing.assert_allclose(arrays["out"], wanted, rtol=10 * np.finfo(float).eps)  # sums of five positive terms


@needs_gcc
@pytest.mark.parametrize("name", ["contractDataDataScalar", "contractFieldFieldTensor"])
@pytest.mark.quick(name="contractFieldFieldTensor")
def test_intrepid_by_every_method(name):
    """Values of every method are right; serial code has speedup 1; the memory is what was asked for."""
    case = intrepid.Case(name, 3, 0.05)
    rows = intrepid.measure(case, intrepid.Conditions(get_backend("cpu", threads=2), 1, 2, None, quick=True))
    methods = {row["method"] for row in rows}
    assert {"serial C", "OpenMP by hand", "flat", "teamstride", "layer", "einsum"} <= methods
    if "Tensor" in name:
        assert {"depth 1", "depth 2", "depth 3", "slicing", "adaptive", "tiling"} <= methods

    assert all(row["speedup"] > 0 and row["max_rel_diff"] < 1e-12 for row in rows)
    assert [row["speedup"] for row in rows if row["method"] == "serial C"] == [1]
    assert 0.5 * 0.05e6 < case.bytes <= 0.05e6
    assert "MB, P 3" in intrepid.surfaces(rows) and len(intrepid.beside_by_hand(rows)) == 1


def test_the_choice_beside_the_other_methods():
    """Ratios by hand: 2/1, and 1/4, which is named; methods of the host do not count on a device."""

    def row(case, method, seconds):
        return dict(case=case, points=8, megabytes=1.0, method=method, seconds=seconds, backend="cuda")

    rows = [row("a", "layer", 1.0), row("a", "flat", 2.0), row("a", "OpenMP by hand", 0.1)]
    rows += [row("b", "layer", 4.0), row("b", "teamstride", 1.0), row("b", "flat", 9.0)]
    head, *slower = intrepid.beside_the_others(rows)
    assert "fastest in 1 of 2, 0.71 times" in head and "slower by a tenth in 1" in head
    assert slower == ["b, P 8, 1 MB: 4.00 times teamstride"]


def test_a_method_that_is_wrong_is_refused(monkeypatch):
    case = intrepid.Case("contractDataFieldScalar", 4, 0.01)
    how = intrepid.Conditions(get_backend("cpu", threads=1), 1, 1, None, quick=True)
    run = intrepid.Run(case, how, np.ones((3, 1, 10)))
    with pytest.raises(FrameError, match="DataFieldScalar, mine: off by 1.0e-0[0-9]"):
        run.add("mine", lambda: None, lambda: np.ones((3, 1, 10)) * (1 + 1e-6), None)
    with pytest.raises(FrameError, match="off by nan"):
        run.add("mine", lambda: None, lambda: np.full((3, 1, 10), np.nan), None)


@pytest.mark.parametrize(
    "command, why",
    [
        (["barracuda", "--cases", "nothing"], "known: Eqn.(1) n = 10"),
        (["barracuda", "--rounds", "0"], "--rounds 0, wanted 1 or more"),
        (["barracuda", "--compile-only"], "wanted --openacc FOLDER"),
        (["intrepid", "--cases", "contract"], "known: DataDataScalar"),
        (["intrepid", "--threads", "0"], "--threads 0, wanted 1 or more"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_wrong_usage(command, why, capsys):
    assert main(["bench", *command]) == 1
    assert why in capsys.readouterr().err


# ---- CUDA by hand, the profiler -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "file, macros, functions",
    [
        (intrepid.EXERCISES / "by_hand.cu", "", {"flat", "slicing"}),
        (intrepid.EXERCISES / "twins.cu", "", {"yax_team", "yax_vector", "scratch_field"}),
        (
            species_by_hand.FILE,
            "#define NS 50\n#define JAM 5\n#define NUMBER double\n",
            {"naive_left", "jam_left", "naive_right"},
        ),
    ],
    ids=["intrepid", "hierarchy", "species"],
)
def test_cuda_by_hand_compiles(file, macros, functions, monkeypatch):
    """For sm_90, without spills."""
    monkeypatch.setattr(cuda, "machine_code", machine_code)
    report = get_backend("cuda", arch="sm_90").compile(Source("by_hand", macros + file.read_text())).report
    assert functions <= set(report)
    assert all(report[name]["spill_stores"] == 0 for name in functions)


def test_the_table_of_cache_hits(tmp_path, capsys):
    """A line of ncu's CSV for each metric of a launch; launches that are missing are told."""
    csv, order, out = tmp_path / "n.csv", tmp_path / "o.json", tmp_path / "t.json"
    head = '==PROF== Connected\n"ID","Kernel Name","Metric Name","Metric Value"\n'
    csv.write_text(
        head + '"0","contraction","l1tex__t_sector_hit_rate.pct","12.5"\n"0","contraction","dram__bytes.sum","1,024"\n'
        '"0","contraction","sm__other","7"\n"1","contraction","lts__t_sector_hit_rate.pct","50"\n'
    )
    order.write_text(json.dumps([{"label": "naive", "ns": 8}, {"label": "jam", "ns": 8}]))
    gpu_species_ncu.table_of(csv, order, out)
    assert json.loads(out.read_text()) == [
        {"label": "naive", "ns": 8, "l1_hits": 12.5, "dram_bytes": 1024.0},
        {"label": "jam", "ns": 8, "l2_hits": 50.0},
    ]
    assert "achieved_occupancy" in capsys.readouterr().out

    order.write_text("[]")
    with pytest.raises(SystemExit, match="2 launches of 'contraction', wanted 0"):
        gpu_species_ncu.table_of(csv, order, out)
