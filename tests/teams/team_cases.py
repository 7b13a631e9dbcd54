"""Shared by the tests of team kernels: backends, the kernels of teams.h."""

import contextlib
import functools
import pathlib
import sys

import cuda_on_cpu
import numpy as np
import pytest
from hosts import ROOT

from kernels import League, Range, get_backend, team_kernel
from kernels.engine import backend as backends
from kernels.engine.backend import cuda
from kernels.engine.backend.entry import PACKS, THREADS
from kernels.teams.render import render

HEADER = pathlib.Path(__file__).with_name("teams.h")
JOINS = HEADER.with_name("joins.h")
HOST_KERNEL = ROOT / "examples/own_kernel/rows.py"
EXERCISES = ROOT / "examples" / "hierarchy"
MACHINE_CODE = cuda.machine_code
EPS = np.finfo(float).eps


@contextlib.contextmanager
def on_stand_in(programs):
    """The backend that runs CUDA on the CPU. programs: a folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupy", cuda_on_cpu.make())
        patch.setattr(backends, "_made", functools.cache(backends._made.__wrapped__))
        patch.setattr(cuda, "machine_code", cuda_on_cpu.compiler(programs))
        yield get_backend("cuda")


def is_stand_in(be):
    return getattr(be.arrays, "__version__", "") == "stand-in"


def kernel(name, over, header=HEADER, **more):
    return team_kernel(name, over, header=header, **more)


def compiled_for(declared, where):
    """The machine code of a declared kernel of a thousand indices. where: "cpu", or an architecture, by NVRTC."""
    entry = PACKS if where == "cpu" else THREADS
    sized = declared.sized([1000] * len(declared.items.extents), entry.in_blocks, lambda _: 1000)
    source = render([sized], entry, np.float64, quick=True)
    if where == "cpu":
        return get_backend("cpu").compile(source)
    return MACHINE_CODE(source, where)


def assert_arrays(be, arrays, **wanted):
    """The arrays of a launch have these values, to the last bit."""
    for name, values in wanted.items():
        np.testing.assert_array_equal(be.to_host(arrays[name]), values, err_msg=name)


# members x lanes: parts of warps, whole ones, several, and a last one that is not whole
TEAMS = [(1, 1), (3, 1), (1, 8), (3, 16), (8, 4), (1, 32), (33, 1), (40, 2), (5, 16), (128, 1), (4, 32)]
LEVELS = [
    kernel(
        f"levels_{team}x{vector}",
        League("E", team=team, vector=vector),
        body="levels",
        arrays="v(E,n) out(E,5) prefix(E,n) twice(E,n)",
        writes="out prefix twice",
        results="total squares",
    )
    for team, vector in TEAMS
]
NEAR = {
    name: kernel(
        f"shifted_{name}",
        League("1", team=32 if name == "narrow" else 64, scratch={"team 0": "s(n)"}),
        body="shifted_without" if name == "without" else "shifted_with",
        arrays="v(n) out(n)",
        writes="out",
    )
    for name in ("with", "without", "narrow")
}
ONE_WRITES = kernel("one_writes", League("E", team=64, scratch={"team 0": "s(1)"}), arrays="out(E,n)", writes="out")
ASTRAY = kernel("astray", League("1", team=64), arrays="out(1)", writes="out")
PARTS = {
    body: kernel(
        body, League("1", team=16, vector=8, scratch={"team 0": "s(P,n)"}), arrays="v(n) out(P,n)", writes="out"
    )
    for body in ("two_parts", "four_parts", "parts_without")
}
ATOMICS = kernel(
    "atomics", Range("n"), arrays="real(3) whole(4):whole taken(n):whole bins(n)", writes="real whole taken bins"
)
POOL = kernel("pool", Range("n"), arrays="id(n):whole", writes="id", tokens={"ids": None})
FLAT = kernel("flat_sum", Range("n"), arrays="v(n)", numbers="factor:real", results="total")
