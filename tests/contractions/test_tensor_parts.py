"""Bits of tensor expressions: the same for an entry in any batch, in any part of it, by any thread and store."""

import numpy as np
import pytest
from tensor_cases import LG3, ax, empty, nekbone, organisations, run

from kernels import Contraction, get_backend
from kernels.contractions import named
from kernels.contractions.organisations import library_costs


@pytest.mark.parametrize("how", ["rows", "lanes"])
def test_bits_do_not_depend_on_batch_chunk_launch_or_threads(how):
    """Nor does a NaN in one entry, or an infinity, reach another. Entries may lie further apart than they are long."""
    n, batch = 5, 21
    arrays, sizes = nekbone(n, batch)
    arrays["u"][3] = np.nan
    arrays["u"][9, 1, 2, 3] = np.inf
    plans = [
        Contraction(named.LG3, sizes, backend=get_backend("cpu", threads=t), how=how, constant="D") for t in (1, 3)
    ]
    whole = run(plans[0], {**arrays, **empty(plans[0], batch)}, batch)
    assert np.array_equal(whole["ur"], run(plans[1], {**arrays, **empty(plans[1], batch)}, batch)["ur"], equal_nan=True)
    sane = np.isfinite(whole["ur"]).all(axis=(1, 2, 3))
    assert list(np.flatnonzero(~sane)) == [3, 9]

    for first, count in ((0, 1), (2, 3), (4, 9), (20, 1), (7, 0)):
        spaced = np.full((2 * count, n, n, n), np.nan)
        spaced[::2] = arrays["u"][first : first + count]
        part = {"D": arrays["D"], "u": spaced[::2], **empty(plans[0], count)}
        run_part = plans[0].bind(part, count)

        for _ in range(2):
            run_part()
            assert np.array_equal(part["us"], whole["us"][first : first + count], equal_nan=True)


def check_parts(backend, n, batch):
    """By every organisation: an entry has the same bits in any batch, at any place of it. One NaN reaches what einsum
    says that it reaches, and nothing else."""
    arrays, sizes = nekbone(n, batch)
    arrays["u"][1, 0, n - 1, 1] = np.nan
    rng = np.random.default_rng(n)
    fields = {"a": rng.random((batch, n, 2 * n)) - 0.5, "b": rng.random((batch, n + 1, 2 * n)) - 0.5}
    fields["a"][1, 1, 2] = np.nan
    slopes = {name: np.einsum(text, arrays["D"], arrays["u"]) for name, text in LG3.items()}
    field = "o[c l r] = a[c l p] b[c r p]"

    for text, extents, given, wanted, options in (
        (named.LG3, sizes, arrays, slopes, named.TEXTS["lg3"].options),
        (named.AX, sizes, arrays, {"w": ax(arrays)}, named.TEXTS["ax"].options),
        (field, dict(l=n, r=n + 1, p=2 * n), fields, {"o": np.einsum("clp,crp->clr", *fields.values())}, {}),
    ):
        for plan in organisations(text, extents, backend, **options):
            whole = run(plan, {**given, **empty(plan, batch)}, batch)
            for name, x in wanted.items():
                assert np.array_equal(np.isnan(whole[name]), np.isnan(x)), (str(plan.how), name)
            for first, count in ((0, 1), (1, batch - 1), (batch - 2, 2)):
                part = {k: a if k == "D" else a[first : first + count] for k, a in given.items()}
                found = run(plan, {**part, **empty(plan, count)}, count)
                for name, x in whole.items():
                    assert np.array_equal(found[name], x[first : first + count], equal_nan=True), (str(plan.how), name)


def test_parts_of_a_batch_have_the_bits_of_the_whole(stand_in):
    check_parts(stand_in, 4, 5)


def test_outputs_past_the_caches(monkeypatch):
    """Streaming stores change no bit; an entry that is no multiple of a cache line is stored as always; one has a
    page."""
    for n, ways in ((4, ("rows", "lanes")), (3, ("rows",)), (8, ("rows",))):
        arrays, sizes = nekbone(n, 9)
        for how in ways:
            plan = Contraction(named.LG3, sizes, backend="cpu", how=how, constant="D", quick=True)
            held = {name: plan.backend.empty(plan.shape(name, 9)) for name in plan.expression.outputs}
            results = []
            for limit in (1 << 40, 0):
                monkeypatch.setattr(library_costs, "STREAMED", limit)
                for a in held.values():
                    a[...] = np.nan

                plan.bind({"D": arrays["D"], "u": arrays["u"], **held}, 9)()
                results.append({name: a.copy() for name, a in held.items()})

            assert all(np.array_equal(results[0][name], results[1][name]) for name in held)
            assert not np.isnan(results[0]["ut"]).any()
