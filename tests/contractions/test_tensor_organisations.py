"""An organisation is one class: from its verbs follow the choice, `explain`, the table, the search and the launch."""

import dataclasses
import functools
import math
import re
from typing import ClassVar

import numpy as np
import pytest

from kernels import Contraction, get_backend
from kernels.contractions import named, organisations, search, table
from kernels.contractions.evaluate import evaluate
from kernels.contractions.organisations import Organisation, Unable
from kernels.contractions.organisations.base import words
from kernels.contractions.organisations.staged import Staged, measured
from kernels.contractions.plan import nest
from kernels.contractions.space import Candidate, Space
from kernels.contractions.ways import levels_of
from kernels.engine.errors import ArgumentError, VariantUnsuitable

TEXT, SIZES = "o[c f] = d[c p] x[c f p]", dict(f=4, p=8)


@dataclasses.dataclass(frozen=True)
class Blocking:
    """A group of numbers, as organisations with many numbers have them."""

    rows: int = 2
    whole: bool = False


@dataclasses.dataclass(frozen=True)
class Einsum(Organisation):
    """NumPy's einsum, without a kernel: what a library's matrix product is to this room."""

    NAMES: ClassVar[tuple[str, ...]] = ("einsum",)

    blocking: Blocking = Blocking()
    threads: int = 1

    @classmethod
    def candidates(cls, p):
        return [cls()] if all(not s.function for s in p.statements) else []

    def serves(self, p):
        return "one statement" if len(p.statements) > 1 else ""

    def price(self, p, least=math.inf):
        return 0.25 / self.threads

    def render(self, p, headers=(), folders=(), quick=False):
        return None

    def launch(self, plan, arrays, values, n):
        if self.threads > 2:
            raise VariantUnsuitable("einsum: two threads at most.")

        e = plan.expression

        def run():
            fresh = {name: a[:n] if name in e.outputs else a for name, a in arrays.items()}
            for name, found in zip(e.outputs, evaluate(e, fresh, np.einsum)):
                arrays[name][:n] = found

        return run

    def moves(self, p):
        return {"rows": (1, 2, 4), "whole": (False, True), "threads": (1, 2, 4)}

    def moved(self, name, value):
        if name == "rows" and value == 4:
            raise Unable("no four rows")
        return self.changed(**{name: value})


@pytest.fixture
def einsum(monkeypatch):
    """The class in the list of an otherwise unchanged house."""
    monkeypatch.setitem(organisations.KINDS, "packs", (*organisations.KINDS["packs"], Einsum))
    organisations.family.cache_clear()
    yield Einsum
    organisations.family.cache_clear()


def test_a_class_in_the_list_is_all_that_an_organisation_needs(einsum):
    """Chosen by its price, told by explain, named by users with its numbers, launched, refused with its own words."""
    plan = Contraction(TEXT, SIZES, backend="cpu")
    assert isinstance(plan.how, einsum) and plan.compile() is None
    assert re.search(r"organisation einsum: [\d.]+ us an entry, [\d.]+ times bytes alone  <- chosen", plan.explain())

    plan.compile_ahead()

    rng = np.random.default_rng(0)
    arrays = {"d": rng.random((3, 8)), "x": rng.random((3, 4, 8)), "o": np.full((3, 4), np.nan)}
    plan.bind(arrays)()
    wanted = (arrays["d"][:, None] * arrays["x"]).sum(axis=2)

    assert np.allclose(arrays["o"], wanted, rtol=8 * np.finfo(float).eps)  # eight terms

    named = Contraction(TEXT, SIZES, backend="cpu", how="einsum rows=4 whole=1 threads=2")
    assert named.how == einsum(Blocking(4, True), 2)
    assert table.written(named.how) == "einsum rows=4 whole=1 threads=2"

    with pytest.raises(VariantUnsuitable, match="two threads at most"):
        Contraction(TEXT, SIZES, backend="cpu", how="einsum threads=4").bind(arrays)
    with pytest.raises(ArgumentError, match="does not serve it, wanted one statement"):
        two = "v[c f] = x[c f p] d[c p]; o[c f] = v[c f] v[c f]"
        Contraction(two, SIZES, backend="cpu", how="einsum threads=2", local="v")


def test_the_search_takes_its_numbers(einsum):
    """Its coordinates, what cannot serve left out, and the fastest of it and the others, as a row of the table."""
    space = Space(Contraction(TEXT, SIZES, backend="cpu"))
    usual = next(c for c in space.defaults if c.how.name == "einsum")
    near = {c.how for c in space.neighbours(usual) if c.order == usual.order}

    assert near == {einsum(Blocking(1)), einsum(Blocking(2, True)), einsum(threads=2)}
    assert space.moved(usual, "rows", 4) is None
    assert space.price(Candidate(0, einsum(threads=2))) == 0.125

    make = functools.partial(Contraction, TEXT, SIZES, backend="cpu", quick=True)
    found = search.search(make, 20, search.Settings(evaluations=3))
    assert any(c.how.name == "einsum" and o.seconds for c, o in found.outcomes.items())
    assert table.read(found.row.how, organisations.family("packs").kinds) == found.best.how


def test_numbers_by_name():
    """In every organisation names differ, groups are flat in texts, and a change of a number leaves the others."""
    for style in ("packs", "threads"):
        for kind in organisations.family(style).all:
            known = words(kind)
            assert len(known) == len(set(known)) and "name" not in known

    how = measured("team", 4, 9)
    for word in words(Staged).values():
        other = how.changed(**{word.name: how.value(word.name)})
        assert other == how

    changed = how.changed(ring=3, tight=True)
    assert (changed.copies.ring, changed.memory.tight) == (3, True)
    assert changed.changed(ring=how.copies.ring, tight=how.memory.tight) == how

    target = get_backend("cuda", arch="sm_90")
    with pytest.raises(ArgumentError, match="organisation 'flat': 'threads=' is missing"):
        Contraction(TEXT, SIZES, backend=target, how="flat near=2")
    with pytest.raises(ArgumentError, match="'lanes=2'; wanted some of threads, near, jam"):
        Contraction(TEXT, SIZES, backend=target, how="flat threads=64 lanes=2")


@pytest.mark.parametrize("columns, along", [(256, True), (130, True), (64, False)])
def test_long_rows_of_an_outer_product_are_done_one_by_one(columns, along):
    """T[e a c] += t[a] v[e c]: a tile of one row where a row has a kilobyte or more. One product and one sum: 2 eps of
    the terms."""
    text, sizes = "T[e a c] += t[a] v[e c]", dict(a=16, c=columns)
    plan = Contraction(text, sizes, backend="cpu", how="rows", quick=True)
    assert ("TILE = {1, 4}" in plan.source.text) == along

    rng = np.random.default_rng(columns)
    arrays = {a.name: rng.random(plan.shape(a.name, 3)) for a in plan.program.arguments}
    wanted = arrays["T"] + arrays["t"][:, None] * arrays["v"][:, None]
    plan.bind(arrays, 3)()

    np.testing.assert_allclose(arrays["T"], wanted, rtol=2 * np.finfo(float).eps)


@pytest.mark.parametrize("k", range(1, 10))
def test_outer_products_write_line_by_line(k):
    """Whatever the order of the output's indices, a row of a tile lies right behind the one before: rows 32 kB apart,
    which share a set of the cache, took twice the time."""
    text = named.TEXTS[f"s1_{k}"]
    plan = Contraction(text.text, dict.fromkeys("abcef", 16), backend=get_backend("cpu"), how="rows", **text.options)
    level = levels_of(nest(plan.program, plan.program.statements[0]), "ALONG", 8)

    assert level.column.step[0] == 1
    assert level.row.step[0] == level.column.extent


def test_rows_lie_near_each_other():
    """Rows that lie thousands of numbers apart are a page each: triples with rows e, d took three times as long."""
    sizes = dict(a=24, b=12, c=12, d=24, e=12, g=24)
    text = "C[f e d c b a] = A[b g e d] B[f c g a]"
    plan = Contraction(text, sizes, backend=get_backend("cpu"), how="rows")
    level = levels_of(nest(plan.program, plan.program.statements[0]), "ALONG", 8)

    assert level.row.step[0] == sizes["a"]


def test_locals_of_all_entries_that_no_block_has_room_for():
    """A team keeps what all entries share in shared memory; it does not serve a text that has too much of it."""
    backend, text = get_backend("cuda", arch="sm_90"), "t[j k] = y[j r] z[k r]; o[i j k] = x[i r] t[j k]"
    options = dict(backend=backend, batch="i", local="t")

    for extent, served in ((20, True), (2000, False)):
        plan = Contraction(text, dict(j=extent, k=extent, r=4), **options)
        assert ("team" in [how.name for _, how, _ in plan.candidates]) == served

    with pytest.raises(ArgumentError, match="no organisation 'team' here"):
        Contraction(text, dict(j=2000, k=2000, r=4), how="team", **options)


OUT_OF_RANGE = {
    "cpu": {
        "direct rows=0": "rows=1 or more",
        "direct rows=-48": "rows=1 or more",
        "direct rows=72": "rows=48 or a multiple",
        "direct depth=0": "depth=1 or more",
        "library rank=-1": "rank=0 or more",
        "rows ways=3": "ways=along",
        "rows ways=along:along": "ways=along",
        "lanes ways=along": "ways=lanes",
    },
    "cuda": {
        "flat threads=0": "threads=1 to 1024",
        "flat threads=-1": "threads=1 to 1024",
        "team threads=100000": "threads=1 to 1024",
        "flat threads=256 each=0": "each=1 or more",
        "stages warps=0": "warps=1 or more",
        "library rank=-1": "rank=0 or more",
    },
}


@pytest.mark.parametrize("name, how", [(name, how) for name, some in OUT_OF_RANGE.items() for how in some])
def test_numbers_out_of_range(name, how):
    backend = get_backend("cpu") if name == "cpu" else get_backend("cuda", arch="sm_90")
    wanted = re.escape(f"does not serve it, wanted {OUT_OF_RANGE[name][how]}")
    with pytest.raises(ArgumentError, match=wanted):
        Contraction("o[e a c] = x[e a b] y[b c]", dict(a=9, b=12, c=10), backend=backend, how=how, entries=100)
