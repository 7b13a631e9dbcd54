"""Kernels of a host's own for tests: a declaration file beside its header, and the value that the kernel gives."""

import pathlib

import pytest

import kernels
from kernels import Mixture, NoSpecies, Program, Wanted
from kernels.engine.backend import cuda
from kernels.engine.errors import CompileError

ABOUT = "source='test', valid='everywhere'"
HEAD = "#pragma once\ntemplate <class M, class R> POINT_FN void {}(const M &m, const R T, R &mu) {{\n"
CPU = kernels.get_backend("cpu")
MACHINE_CODE = cuda.machine_code  # NVRTC's, also where the stand-in has taken its place


class Target(cuda.CudaTarget):
    def compile(self, source):
        return cuda.NotHere(source.name, MACHINE_CODE(source, self.arch))


SM_90 = Target("sm_90")


def own(folder: pathlib.Path, name: str, body: str, declaration: str = "", head: str = HEAD, header: str = "own.h"):
    """A declaration file with a kernel of T that gives mu, loaded; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / header).parent.mkdir(parents=True, exist_ok=True)
    (folder / header).write_text(head.format(name) + body + "}\n" * (head == HEAD))
    words = f"point_kernel('{name}', header='{header}', reads='T', writes='mu', {ABOUT})\n"
    (folder / "own.py").write_text("from kernels import point_kernel, quantity\n" + (declaration or words))
    kernels.load_declarations(folder / "own.py")

    return folder / "own.py"


def value(name, backend="cpu", ns=1, **given):
    return Mixture(NoSpecies(ns)).kernel(name)(backend=backend, **(given or {"T": 300.0}))


def message(name, backend=CPU, ns=3) -> str:
    """The first line of the error of a kernel that does not compile."""
    with pytest.raises(CompileError) as error:
        Program(Mixture(NoSpecies(ns)), Wanted(kernels=[name]), backend=backend)
    return str(error.value).split("\n")[0]
