"""The exercises of examples/hierarchy: small on a CPU and on the stand-in, at their own sizes on a GPU."""

import importlib
import json

import numpy as np
import pytest
from team_cases import EXERCISES, HEADER, MACHINE_CODE, is_stand_in

import kernels
from kernels.engine.backend import cache
from kernels.engine.backend.entry import THREADS
from kernels.teams.render import render

FILES = ("matrix_vector", "scratch", "primitives", "tokens", "contractions9")
SMALL = {  # sizes of the exercises, and of the stand-in where it takes longer
    "yax_flat": dict(N=300, M=50),
    "yax_atomic": dict(N=30, M=40),
    "yax_layout": dict(N=70, M=40),
    "yax_attempts": dict(N=30, M=40),
    "yax_team": dict(N=30, M=300),
    "yax_rows_first": dict(N=5, M=300),
    "yax_sweep": dict(N=70, M=40),
    "yax_vector": dict(E=7),
    "quiz": {},
    "scratch_field": dict(E=7),
    "field_variants": dict(E=7, Q=5),
    "scratch_levels": dict(E=3),
    "slicing": dict(N=3, M=13),
    "unique_token_pool": dict(N=3000, M=64),
    "unique_token_team": dict(E=20),
    "mdrange": dict(N=37, M=29),
    "mdrange_tuned": dict(N=37, M=29),
    "subview": dict(N=5, M=9, E=12),
    "scan": {},
    "scan_range": dict(N=5000),
    "single": dict(E=5),
    "scatter": dict(N=20000),
    "nested_adjoint": dict(N=30, M=45),
    "contractions9": dict(N=2, M=5, E=3),
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.quick(
    name=[
        "mdrange",
        "scan",
        "scatter",
        "scratch_field",
        "scratch_levels",
        "unique_token_pool",
        "unique_token_team",
        "yax_vector",
    ]
)
@pytest.mark.quick(
    be="cpu",
    name=[
        "contractions9",
        "mdrange",
        "scan",
        "scatter",
        "scratch_field",
        "scratch_levels",
        "subview",
        "unique_token_pool",
        "unique_token_team",
        "yax_vector",
    ],
)
def test_exercise(be, name):
    (exercise,) = (getattr(module, name) for module in map(importlib.import_module, FILES) if hasattr(module, name))
    if be.style == "packs" or is_stand_in(be):
        exercise(be, **SMALL[name], nrepeat=1, quick=True)
    else:
        exercise(be)


def test_an_exercise_that_is_wrong_raises():
    common = importlib.import_module("common")
    with pytest.raises(common.WrongResult, match="x: .*wanted"):
        common.check("x", 1.0, 2.0)
    with pytest.raises(common.WrongResult, match="read before written"):
        common.check("x", np.nan, 2.0)


OF_JOINS = ("atomics", "members", "ranges", "reducers", "scans")
BODIES = {
    "teams": ("team_cases",),
    "strangers": ("test_team_strangers",),
    "joins": tuple([f"test_team_{law}" for law in OF_JOINS]),
    "ported": ("test_team_ported",),
    "ported_teams": ("test_team_ported",),
    "more_ported": ("test_team_more_ported",),
    "more_ported_teams": ("test_team_more_ported",),
}


@pytest.mark.parametrize("name", [*FILES, *BODIES])
@pytest.mark.quick(name=["contractions9", "tokens", "joins"])
def test_sources_compile_for_a_device(name):
    """NVRTC, sm_90; a thread spills 64 bytes at most, no more than a few numbers."""
    for module in BODIES.get(name, (name,)):
        importlib.import_module(module)

    folder = HEADER.parent if name in BODIES else EXERCISES
    declared = [k for k in kernels.registry.team_kernels.values() if k.header == folder / f"{name}.h"]
    declared = [k.sized([1000] * len(k.items.extents), True, lambda _: 1000) for k in declared]
    path = MACHINE_CODE(render(declared, THREADS, np.float64), "sm_90")
    found = json.loads(cache.report(path))
    assert set(found) == {f"run_{k.name}" for k in declared} != set()
    assert {name: told for name, told in found.items() if told["spill_stores"] > 64} == {}
