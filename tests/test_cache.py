"""The cache of compiled kernels on the CPU: one compilation among ranks that start at once, broken entries, folders
that cannot be written."""

import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import sys

import numpy as np
import pytest
from hosts import ROOT

from kernels.backend import cpu

PROGRAM = """
import numpy as np
from kernels import Mixture, get_backend
from kernels.marshal import Block, Marshal
mix = Mixture.from_yaml("examples/mixtures/n2.yaml")
print(mix.properties("rho", T=300.0, p=1e7, Y=[1.0], backend="cpu")["rho"])
backend, host = get_backend("cpu"), np.arange(8.0)
view = backend.empty((1, backend.pad(8)))
Marshal(backend).gather(Block(host.ctypes.data, (8, 1, 1, 1), (1, 8, 8, 8), (0, 0, 0, 0), (8, 1, 1, 1)), 0, 8, view)
print(view[0, :8].tolist() == host.tolist())
"""


def start(folder, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "FRAME_CACHE": str(folder), **environment},
    )


def finish(process) -> str:
    out, err = process.communicate()
    assert process.returncode == 0 and out.endswith("True\n"), out + err
    return out


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A cache that holds a program and the marshal, and the output of PROGRAM."""
    folder = tmp_path_factory.mktemp("filled")
    return folder, finish(start(folder))


@pytest.fixture
def counted(tmp_path):
    """A compiler that counts its runs: (its path, function that returns the count)."""
    log, wrapper = tmp_path / "runs", tmp_path / "counted-g++"
    wrapper.write_text(f'#!/bin/sh\necho run >> {log}\nexec {shutil.which(cpu.compiler())} "$@"\n')
    wrapper.chmod(0o755)
    return wrapper, lambda: log.read_text().count("run") if log.exists() else 0


def test_processes_that_start_at_once_compile_once(tmp_path, counted):
    compiler, runs = counted
    started = [start(tmp_path / "cache", FRAME_CXX=str(compiler)) for _ in range(4)]
    assert len({finish(process) for process in started}) == 1
    assert runs() == 2  # the program and the marshal
    finish(start(tmp_path / "cache", FRAME_CXX=str(compiler)))
    assert runs() == 2  # a filled cache starts no compiler
    assert not [
        f
        for f in (tmp_path / "cache").iterdir()
        if f.suffix not in (".so", ".sha256", ".lock") and "compiler-" not in f.name
    ]


def seal(path: pathlib.Path) -> None:
    """Write the checksum of the present content."""
    path.with_suffix(".sha256").write_text(hashlib.sha256(path.read_bytes()).hexdigest())


@pytest.mark.parametrize(
    "harm",
    [
        lambda so: so.write_bytes(so.read_bytes()[:100]),
        lambda so: so.write_bytes(b""),
        lambda so: so.unlink(),
        lambda so: so.with_suffix(".sha256").unlink(),
        lambda so: so.with_suffix(".sha256").write_text("?"),
        lambda so: (so.write_bytes(b"of another system"), seal(so)),
    ],
    ids=["truncated", "empty", "gone", "no checksum", "other checksum", "not loadable"],
)
def test_a_broken_entry_is_rebuilt(filled, harm, tmp_path):
    folder, wanted = filled
    copy = tmp_path / "cache"
    shutil.copytree(folder, copy)
    entries = sorted(copy.glob("*.so"))
    assert [e.name.split("-")[0] for e in entries] == ["marshal", "rho"]
    for entry in entries:
        harm(entry)
    assert finish(start(copy)) == wanted
    for entry in entries:
        assert entry.with_suffix(".sha256").read_text().split("\n")[0] == hashlib.sha256(entry.read_bytes()).hexdigest()


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    """/proc/sys refuses new files from root too."""
    (tmp_path / "file").touch()
    for folder in ("/proc/sys/kernel", tmp_path / "file"):
        process = start(folder)
        _, err = process.communicate()
        assert process.returncode == 1 and "BackendError" in err and str(folder) in err and "set FRAME_CACHE" in err, (
            err
        )


def test_a_named_target_is_the_same_on_every_processor(monkeypatch):
    """Compute nodes with another processor find the kernels that a login node compiled for FRAME_ARCH."""
    monkeypatch.setenv("FRAME_ARCH", "x86-64-v3")
    assert cpu.processor.__wrapped__(cpu.target()) == platform.machine()
    monkeypatch.setenv("FRAME_ARCH", "native")
    native = cpu.processor.__wrapped__(cpu.target())
    monkeypatch.delenv("FRAME_ARCH")
    assert cpu.processor.__wrapped__(cpu.target()) == native != platform.machine()


WIDTHS = """
import sys
import numpy as np
from kernels import Mixture
T, p = np.meshgrid(np.linspace(300, 3000, 37), [1e5, 1e7])
Y = np.full((10, 1, 1), 0.1)
out = Mixture.from_yaml("examples/mixtures/ch4_o2.yaml").properties("rho h cp c mu lam D", T=T, p=p, Y=Y, backend="cpu")
np.savez(sys.argv[1], **out)
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the targets are those of x86-64")
def test_every_width_of_vectors_agrees(tmp_path):
    """SSE2, AVX2 and this processor's vectors give the same results up to the rounding of FMA, which SSE2 does not
    have. The states are away from the critical ridge; 1e-10 is 1e6 roundings. D contains Takahashi's factor, between
    0.5 and 1 here. Its table is within 2e-7, and a place near the end of a window may fall into the next one, since
    division differs between widths."""
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    got = {}
    for target in ("native", "x86-64", "x86-64-v3"):
        if target == "x86-64-v3" and "avx2" not in flags:
            continue
        subprocess.run(
            [sys.executable, "-c", WIDTHS, tmp_path / f"{target}.npz"],
            cwd=ROOT,
            check=True,
            env={**os.environ, "FRAME_ARCH": target, "FRAME_CACHE": str(tmp_path)},
        )
        got[target] = np.load(tmp_path / f"{target}.npz")
        for name, values in got["native"].items():
            scale = np.abs(values).max() if name == "h" else np.abs(values)  # h crosses zero
            assert (np.abs(got[target][name] - values) <= (1e-6 if name == "D" else 1e-10) * scale).all(), (
                target,
                name,
            )
