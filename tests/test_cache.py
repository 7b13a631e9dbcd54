"""The cache of compiled kernels on the CPU: one maker among ranks that start at once, broken entries, folders nobody can write."""
import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import sys

import pytest

from hosts import ROOT
from kernels.backend import cpu

PROGRAM = """
import numpy as np
from kernels import Mixture, get_backend
from kernels.marshal import Block
mix = Mixture.from_yaml("examples/mixtures/n2.yaml")
print(mix.properties("rho", T=300.0, p=1e7, Y=[1.0], backend="cpu")["rho"])
backend, host = get_backend("cpu"), np.arange(8.0)
view = backend.empty((1, backend.pad(8)))
backend.gather(Block(host.ctypes.data, (8, 1, 1, 1), (1, 8, 8, 8), (0, 0, 0, 0), (8, 1, 1, 1)), 0, 8, view)
print(view[0, :8].tolist() == host.tolist())
"""


def start(folder, **environment):
    return subprocess.Popen([sys.executable, "-c", PROGRAM], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "FRAME_CACHE": str(folder), **environment})


def finish(process) -> str:
    out, err = process.communicate()
    assert process.returncode == 0 and out.endswith("True\n"), out + err
    return out


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A cache with a program and the marshal in it, and what PROGRAM prints."""
    folder = tmp_path_factory.mktemp("filled")
    return folder, finish(start(folder))


@pytest.fixture
def counted(tmp_path):
    """A compiler that notes each of its runs: (its path, how often it ran)."""
    log, wrapper = tmp_path / "runs", tmp_path / "counted-g++"
    wrapper.write_text(f'#!/bin/sh\necho run >> {log}\nexec {shutil.which(cpu.compiler())} "$@"\n')
    wrapper.chmod(0o755)
    return wrapper, lambda: log.read_text().count("run") if log.exists() else 0


def test_processes_that_start_at_once_compile_once(tmp_path, counted):
    compiler, runs = counted
    started = [start(tmp_path / "cache", FRAME_CXX=str(compiler)) for _ in range(4)]
    assert len({finish(process) for process in started}) == 1
    assert runs() == 2                         # the program and the marshal
    finish(start(tmp_path / "cache", FRAME_CXX=str(compiler)))
    assert runs() == 2                         # a filled cache starts no compiler
    assert not [f for f in (tmp_path / "cache").iterdir() if f.suffix not in (".so", ".sha256", ".lock") and "compiler-" not in f.name]


def seal(path: pathlib.Path) -> None:
    """A checksum that fits what is there now."""
    path.with_suffix(".sha256").write_text(hashlib.sha256(path.read_bytes()).hexdigest())


@pytest.mark.parametrize("harm", [
    lambda so: so.write_bytes(so.read_bytes()[:100]), lambda so: so.write_bytes(b""), lambda so: so.unlink(),
    lambda so: so.with_suffix(".sha256").unlink(), lambda so: so.with_suffix(".sha256").write_text("?"),
    lambda so: (so.write_bytes(b"of another system"), seal(so)),
], ids=["truncated", "empty", "gone", "no checksum", "other checksum", "not loadable"])
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
        assert entry.with_suffix(".sha256").read_text() == hashlib.sha256(entry.read_bytes()).hexdigest()


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    """/proc/sys refuses new files from root too."""
    (tmp_path / "file").touch()
    for folder in ("/proc/sys/kernel", tmp_path / "file"):
        process = start(folder)
        _, err = process.communicate()
        assert process.returncode == 1 and "BackendError" in err and str(folder) in err and "set FRAME_CACHE" in err, err


def test_an_explicit_target_is_the_same_on_every_processor(monkeypatch):
    """What a login node compiles for FRAME_ARCH is found by compute nodes with another processor."""
    monkeypatch.setenv("FRAME_ARCH", "x86-64-v3")
    assert cpu.processor.__wrapped__() == platform.machine()
    monkeypatch.delenv("FRAME_ARCH")
    assert cpu.processor.__wrapped__() != platform.machine()
