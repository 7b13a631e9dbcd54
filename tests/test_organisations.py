"""Organisations of CUDA launches: every candidate gives the default's values, and what tuning keeps is what is
compiled.

On the stand-in that runs CUDA on the CPU (cuda_on_cpu.py): times mean nothing there, values do.
"""

import pytest
from test_gpu import be  # noqa: F401  the backend: the stand-in, or a GPU with -m gpu

from frame.tools.bench import inputs, organisations
from kernels import declare
from kernels.codegen import organise, tune
from kernels.errors import ArgumentError


@pytest.fixture
def notes(tmp_path, monkeypatch):
    monkeypatch.setattr(tune, "FILE", str(tmp_path / "tuned.json"))


FEW = {
    3: [organise.Launch(64, points=2, blocks=4, pairs=2), organise.Launch(64, blocks=4, pairs=5, constants="shared")],
    27: [
        organise.Launch(64, hold="reload", unroll=4, blocks=4, pairs=10, constants="shared"),
        organise.Launch(64, hold="shared", unroll=10, blocks=2, pairs="units", constants="shared"),
        organise.Launch(32, hold="reload", unroll=4, blocks=1, pairs=10, constants="shared", persistent=True),
        organise.Launch(32, hold="shared", unroll=10, blocks=1, pairs="units", constants="shared", persistent=True),
    ],
}


@pytest.mark.parametrize("ns", FEW)
@pytest.mark.parametrize("takahashi", ["off", "smooth"])
def test_what_tuning_keeps_is_used(be, ns, takahashi, notes, monkeypatch):  # noqa: F811
    mix = inputs.mixture(ns, "dense", takahashi=takahashi)
    monkeypatch.setattr(organise, "candidates", lambda n: FEW[n])
    c = declare.collections["viscous"]
    records = declare.resolve(c.outputs, c.given, mix.options)
    lines = list(organisations.tune_collection(be, mix, c, 130))
    assert len([line for line in lines if "Gpoint/s" in line]) == len(FEW[ns]) + 1 and not any(
        "left out" in line for line in lines
    ), lines
    kept = organise.chosen(be.product, be.compiler, records, c.outputs, mix)
    assert kept in [*FEW[ns], organise.default(records, mix)]
    assert be.plan(records, c.outputs, mix).how == kept
    other = inputs.mixture(ns, "none", takahashi=takahashi)
    assert organise.chosen(be.product, be.compiler, records, c.outputs, other) == organise.default(records, other)


def test_a_wrong_organisation_is_left_out(be, notes, monkeypatch):  # noqa: F811
    mix, c = inputs.mixture(3, "none", takahashi="off"), declare.collections["viscous"]
    monkeypatch.setattr(organise, "candidates", lambda n: [organise.Launch(64, blocks=4)])
    right = be.prepare

    def wrong(code, constants, plan, arrays):
        run = right(code, constants, plan, arrays)
        if plan.how.threads != 64 or "mu" not in arrays:
            return run

        def spoilt(n):
            run(n)
            arrays["mu"][...] = arrays["mu"] * 1.001

        return spoilt

    monkeypatch.setattr(be, "prepare", wrong)
    lines = list(organisations.tune_collection(be, mix, c, 130))
    assert sum("left out" in line and "differ by 1.0e-03" in line for line in lines) == 1, lines


def test_texts_come_back():
    for ns in (1, 12, 13, 24, 25, 53):
        for how in organise.candidates(ns):
            assert organise.launch(organise.text(how)) == how
    assert organise.launch("threads=128 lanes=3") is None
    assert all(how.threads * how.blocks <= 1024 for ns in (4, 53) for how in organise.candidates(ns))


def test_unknown_collection():
    from frame.tools import cli

    class Given:
        backend, points, collections = None, None, ["thermic"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(organisations.kernels, "get_backend", lambda name: type("B", (), {"name": "cuda"}))
        with pytest.raises(ArgumentError, match="thermic.*known: .*thermal"):
            organisations.tune(Given, None)
    assert cli.main(["tune", "--mixture", "examples/mixtures/n2.yaml", "--backend", "cpu"]) == 1
