"""Search for organisations of contractions: strategies, journal, verification, the table and its command.

What a strategy finds is compared on a made-up landscape, so that no clock has a part in it.
"""

import copy
import dataclasses
import functools
import itertools
import json
import math
import re

import numpy as np
import pytest

from frame.tools import cli, tables_in_use
from kernels import Contraction, get_backend
from kernels.contractions import named, search, table as organisations
from kernels.contractions.forest import Forest
from kernels.contractions.organisations import family
from kernels.contractions.organisations.library import HostLibrary
from kernels.contractions.organisations.sweep import Sweeps
from kernels.contractions.space import Space
from kernels.engine.errors import ArgumentError, FrameError

TEXT, SIZES = "o[c f] = d[c p] x[c f p]", dict(f=3, p=9)


class Landscape:
    """Times of made-up candidates: two organisations with four numbers of their own, which have to do with each other;
    flat near the best, as measured ones are. The model's price is right about organisations only."""

    VALUES = (range(2), range(6), range(5), range(4), range(4))

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.best = [rng.integers(len(v)) for v in self.VALUES]
        self.weight = rng.uniform(0.05, 0.4, 5)
        self.rng = rng
        self.all = list(itertools.product(*self.VALUES))
        self.defaults = [(0, 3, 2, 2, 2), (1, 3, 2, 2, 2)]
        self.least = min(map(self.time, self.all))

    def time(self, c):
        away = [abs(x - b) for x, b in zip(c, self.best)]
        bent = abs(c[1] - self.best[1] + c[2] - self.best[2])
        return 1 + sum(w * a for w, a in zip(self.weight, away)) + 0.3 * bent + 0.01 * (hash(c) % 5)

    def neighbours(self, c):
        for d, values in enumerate(self.VALUES):
            for x in (c[d] - 1, c[d] + 1):
                if x in values:
                    yield (*c[:d], x, *c[d + 1 :])

    def random(self, rng):
        return self.all[rng.integers(len(self.all))]

    def price(self, c):
        return 1.0 + c[0]

    def features(self, c):
        return tuple(map(float, c))


class Counted:
    """measure() for a landscape; how many it takes until one is within a twentieth of the best."""

    def __init__(self, space, budget, enough=False):
        self.space, self.left, self.enough, self.known, self.taken = space, budget, enough, {}, math.inf
        self.batch_size = search.BATCH

    @property
    def spent(self):
        return self.left <= 0 or self.enough and self.taken < math.inf

    def __call__(self, candidates):
        for c in candidates:
            if c not in self.known and self.left > 0:
                self.left -= 1
                self.known[c] = self.space.time(c)
                if self.known[c] <= 1.05 * self.space.least:
                    self.taken = min(self.taken, len(self.known))

        return [self.known.get(c, math.nan) for c in candidates]


def first_of(space):
    """`search.first` asks organisations for their names, which these have not."""
    return [*space.defaults, *(c for s in space.defaults for c in space.neighbours(s))][: search.SEEDS]


def test_what_strategies_need(monkeypatch):
    """Evaluations until the best is found but for a twentieth, of 960 candidates: medians of 9 landscapes. Random picks
    need some 960/(candidates that good); the surrogate has to need less than half of what they need, and so do moves.
    A budget that was spent ends all three."""
    monkeypatch.setattr(search, "first", first_of)
    taken = {}
    for name in ("moves", "forest", "random"):
        strategy, counts = search.STRATEGIES[name], []
        for seed in range(9):
            space = Landscape(seed)
            measure = Counted(space, 600, enough=True)
            strategy(space, measure, np.random.default_rng(seed))
            counts.append(min(measure.taken, 600))
            few = Counted(space, 10)
            strategy(space, few, np.random.default_rng(seed))
            assert len(few.known) == 10 and few.spent
        taken[name] = float(np.median(counts))

    print(taken)
    assert taken["forest"] < 0.5 * taken["random"] and taken["moves"] < 0.5 * taken["random"], taken


def test_moves_end_where_nothing_is_gained(monkeypatch):
    monkeypatch.setattr(search, "first", first_of)
    space = Landscape(3)
    measure = Counted(space, 10**6)
    search.moves(space, measure)
    assert len(measure.known) < len(space.all) / 2
    best = min(measure.known, key=measure.known.get)
    assert all(c in measure.known for c in space.neighbours(best))


def test_a_forest_learns_steps_and_products():
    """Better than the mean by far on points it has not seen, and exact where all answers are one."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (300, 4)).astype(float)
    y = np.where(X[:, 0] > 2, 10.0, 1.0) + X[:, 1] * X[:, 2]
    made = Forest(0).fit(X[:200], y[:200])
    left = np.mean((made.predict(X[200:]) - y[200:]) ** 2)
    assert left < 0.1 * y.var()
    assert np.all(Forest(0).fit(X[:9], np.full(9, 7.0)).predict(X) == 7.0)


# ---- candidates ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_candidates_as_text_and_back(stand_in, where):
    """Every neighbour of every default, and 30 random candidates: their lines give them back; none is there twice; each
    can be rendered."""
    backend = stand_in if where == "cuda" else get_backend("cpu")
    seen = set()
    for text, sizes in (
        (TEXT, dict(f=4, p=8)),
        ("v[e i j] = a[i k] b[j l] u[e k l]; w[e j] = v[e i j] v[e i j]", dict.fromkeys("ijkl", 4)),
        ("o[y x t] = a[x t] b[y t]; batch t", dict(x=9, y=9)),
    ):
        plan = Contraction(text, sizes, backend=backend)
        space, rng = Space(plan), np.random.default_rng(0)
        made = [c for d in space.defaults for c in space.neighbours(d)] + [space.random(rng) for _ in range(30)]
        assert len({len(space.features(c)) for c in made}) == 1

        for c in dict.fromkeys((*space.defaults, *made)):
            line = organisations.written(c.how)
            assert organisations.read(line, plan.family.kinds) == c.how
            assert space.price(c) > 0 and math.isfinite(space.price(c))
            assert "contraction" in plan.render(space.programs[c.order], c.how).text
            seen.add(c.how.name)

    wanted = family("threads" if where == "cuda" else "packs").kinds
    rare = "warp occupancy stays orbits lines stages tiles slices team later columns"
    assert set(wanted) - seen <= set(rare.split())
    for line, why in (
        ("rings threads=4", "organisation 'rings'; wanted one of"),
        (f"{next(iter(wanted))} threads=four colour=2", "'(threads=four|colour=2)'"),
    ):
        with pytest.raises(ArgumentError, match=why):
            organisations.read(line, wanted)


def test_random_candidates_are_right(stand_in):
    """On the stand-in, each against einsum on five entries; what a device cannot hold says so."""
    for text, sizes, seed in ((TEXT, dict(f=4, p=8), 0), ("o[c l r] = a[c l p] b[c r p]", dict(l=5, r=6, p=8), 1)):
        plan = Contraction(text, sizes, backend=stand_in, quick=True)
        space, rng, case = Space(plan), np.random.default_rng(seed), search.Case(plan, 5)
        for c in {space.random(rng) for _ in range(5)}:
            case.check(Contraction(text, sizes, backend=stand_in, quick=True, order=c.order, how=c.how))


# ---- the search -----------------------------------------------------------------------------------------------------


def found(journal=None, evaluations=5, entries=50, **more):
    make = functools.partial(Contraction, TEXT, SIZES, backend="cpu", quick=True)
    settings = search.Settings(evaluations=evaluations, **more)
    return search.search(make, entries, settings, search.Tools(journal=journal))


def test_a_journal_goes_on(tmp_path):
    """The second search measures nothing that the first one did; a line that was cut off is taken away; another number
    of entries is another kernel; what tune did not write is refused."""
    file = tmp_path / "journal.jsonl"
    first = found(search.Journal(file))
    assert (first.measured, first.known) == (5, 0)
    lines = file.read_text()
    assert len(lines.splitlines()) == 6 and json.loads(lines.splitlines()[0])["entries"] == 50
    file.write_text(lines + '{"kernel": "cut o')
    second = found(search.Journal(file), evaluations=3)
    assert (second.measured, second.known) == (3, 5) and len(second.outcomes) == 8
    assert file.read_text().startswith(lines) and len(file.read_text().splitlines()) == 9
    assert found(search.Journal(file), evaluations=1, entries=51).known == 0
    file.write_text("a note of mine\n")

    with pytest.raises(ArgumentError, match="journal.jsonl, line 1: JSONDecodeError.*not written by tune"):
        search.Journal(file)


def test_what_is_wrong_is_left_out(monkeypatch):
    """An organisation computes something else, another does not compile, a third leaves out the last entry. None is
    timed, and the journal says why. If none is right, none is found."""
    true = Contraction.render
    broken = {"lanes": ("items - b", "items - 1 - b"), "folded": ("number = 1.0", "number = 1.001")}

    def render(plan, program, how):
        made = true(plan, program, how)
        old, new = broken.get(how.name, ("", ""))
        assert old in made.text
        return dataclasses.replace(made, text=made.text.replace(old, new) if old else made.text)

    monkeypatch.setattr(Contraction, "render", render)
    made = found(evaluations=4)
    by_name = {c.how.name: o for c, o in made.outcomes.items()}
    assert made.best.how.name in (
        "rows",
        "library",
        "sweep",
    )  # all right; the machine decides
    assert by_name["folded"].seconds is None and "off by" in by_name["folded"].why
    assert by_name["lanes"].seconds is None and "off by nan" in by_name["lanes"].why
    broken |= {"rows": ("KERNEL", "no_such_thing KERNEL"), "folded": ("KERNEL", "nor_this KERNEL")}
    for kind in (HostLibrary, Sweeps):  # nothing of theirs is rendered here
        monkeypatch.setattr(kind, "candidates", classmethod(lambda cls, p: []))

    with pytest.raises(FrameError, match="no organisation is right: (CompileError|FrameError: off by nan)"):
        found(evaluations=3)


@pytest.mark.parametrize("method", ["forest", "random"])
def test_other_methods_and_devices(stand_in, method):
    """On the stand-in of a GPU: compiled ahead, verified, timed; the row names the fastest."""
    make = functools.partial(Contraction, TEXT, SIZES, backend=stand_in, quick=True)
    made = search.search(make, 7, search.Settings(method, seconds=60, evaluations=3, seed=1))
    assert made.measured == 3 and made.row.seconds > 0 and made.row.key.dtype == "float64"
    again = make(order=made.row.order, how=made.row.how)
    assert again.how == made.best.how


def test_a_batch_extent_that_is_compiled_in():
    """The triples kernels, whose operands have the batch index in several places, then take this number of entries
    only."""
    text, sizes = named.triples("d1", (1, 4)), dict.fromkeys("abcefg", 3)
    make = functools.partial(Contraction, text, sizes, backend="cpu", batch="d", quick=True)
    two = search.Settings(evaluations=2)
    assert search.search(make, 3, two).measured == 2

    with pytest.raises(ArgumentError, match="4 entries, wanted 3"):
        search.search(make, 4, two)


def test_budgets_and_methods_are_checked():
    for more, why in (
        (dict(evaluations=0), "budget"),
        (dict(seconds=0.0), "budget"),
        (dict(method="guess"), "method 'guess', wanted one of moves"),
    ):
        with pytest.raises(ArgumentError, match=why):
            found(**more)


# ---- the table and the command --------------------------------------------------------------------------------------


RENAMED, RENAMED_SIZES = "v[e i] = a[e j] b[e i j]", dict(i=3, j=9)  # TEXT under other names


def tuned(folder) -> tuple[int, list[str], object]:
    """(exit status, command line, table) of `tune tensor` for TEXT."""
    table = folder / "table.csv"
    search = ["--backend", "cpu", "--evaluations", "3", "--entries", "50"]
    files = ["--out", str(table), "--journal", str(folder / "journal.jsonl")]
    command = ["tune", "tensor", TEXT, "--size", "f=3,p=9", *search, *files]
    return cli.main(command), command, table


def on_cpu(*words, **more):
    """The plan of the renamed text."""
    return Contraction(RENAMED, RENAMED_SIZES, *words, backend="cpu", **more)


def test_tune_writes_a_row(tmp_path, monkeypatch, capsys):
    """In front of the rows that were in force. No folder decides: the table counts where FRAME_ORGANISATIONS names it.
    A second search measures nothing again."""
    monkeypatch.delenv("FRAME_ORGANISATIONS", raising=False)
    status, command, table = tuned(tmp_path)
    said = capsys.readouterr().out

    assert status == 0
    assert re.search(r"3 measured in [0-9.]+ s, 0 known", said)
    assert f"set FRAME_ORGANISATIONS={table}" in said
    assert on_cpu().row is None

    _, *committed = organisations.rows(table).values()
    assert [r.key for r in committed] == list(organisations.rows(organisations.COMMITTED))

    assert cli.main(command) == 0
    assert "3 known" in capsys.readouterr().out


def test_a_row_is_in_force_for_its_kernel(tmp_path, monkeypatch):
    """Under any names, for no other type or organisation; the first of two rows. info and explain name it."""
    monkeypatch.delenv("FRAME_ORGANISATIONS", raising=False)
    *_, table = tuned(tmp_path)
    default = on_cpu()
    row, *_ = organisations.rows(table).values()
    other = next(c for c in Space(default).defaults if c.how.name != default.how.name)
    first = row._replace(order=other.order, how=organisations.written(other.how))

    organisations.write(table, [first, row])
    monkeypatch.setenv("FRAME_ORGANISATIONS", str(table))
    monkeypatch.setenv("FRAME_BACKEND", "cpu")

    plan = on_cpu()
    assert plan.how == other.how
    assert f"{table}, line 2" in plan.explain()
    assert on_cpu("float32").row is None
    assert on_cpu(how=default.how.name).how == default.how

    said = str(tables_in_use.organisation_table())
    assert f"{table} (FRAME_ORGANISATIONS): 1 tensor expressions" in said and first.how in said


def test_a_table_that_cannot_be_read(tmp_path, monkeypatch):
    *_, table = tuned(tmp_path)
    table.write_text(table.read_text().replace("float64", "float64,"))
    organisations.rows.cache_clear()
    monkeypatch.setenv("FRAME_ORGANISATIONS", str(table))
    with pytest.raises(ArgumentError, match="table.csv, line 2.*wanted the columns"):
        on_cpu()

    monkeypatch.setenv("FRAME_ORGANISATIONS", str(tmp_path / "none.csv"))
    with pytest.raises(ArgumentError, match="no table of organisations .*none.csv"):
        on_cpu()


@pytest.mark.parametrize(
    "words, why",
    [
        ([], "wanted a text or a name, or --cases"),
        (["lg3", "--cases", "Lg3"], "wanted a text or a name, or --cases"),
        (["lg3", "--size", "4", "--entries", "0"], "--entries 0, wanted 1 or more"),
        (["lg3", "--size", "i=4"], "the extent of index '[jkl]' is not told"),
        (["lg3", "--size", "4,x=3"], "extent of x: no such index"),
        (["--cases", "nothing"], "known: Lg3 n = 12"),
        (["o[e i] = ", "--size", "4"], "tensor expression"),
    ],
)
def test_what_the_command_refuses(words, why, tmp_path, capsys):
    options = ["--backend", "cpu", "--out", str(tmp_path / "t.csv"), "--journal", str(tmp_path / "j")]
    assert cli.main(["tune", "tensor", *words, *options]) == 1
    assert re.search(why, capsys.readouterr().err)
    assert not (tmp_path / "t.csv").exists()


def test_the_committed_table_is_sound():
    """It has its columns, and every row names an organisation that can be read."""
    assert organisations.COMMITTED.read_text().splitlines()[0] == ",".join(organisations.COLUMNS)
    for row in organisations.rows(organisations.COMMITTED).values():
        assert organisations.read(row.how, family("packs").kinds | family("threads").kinds)
        assert row.key.generator == organisations.GENERATOR and row.seconds <= row.default * 1.02


def test_a_committed_row_is_taken_on_its_device(monkeypatch):
    """D1_1 in float32 on an H200; on another device, or for other extents, the model chooses."""
    monkeypatch.delenv("FRAME_ORGANISATIONS", raising=False)
    target = copy.copy(get_backend("cuda", arch="sm_90"))
    t = named.TEXTS["d1_1"]
    make = lambda n=16: Contraction(t.text, dict.fromkeys("abcefg", n), "float32", backend=target, **t.options)
    assert make().row is None and make().how.name == "stages"
    monkeypatch.setattr(target, "product", "NVIDIA H200")
    monkeypatch.setattr(type(target), "compiler", "nvrtc 13.0")
    assert make().how.name == "flat" and "organisations.csv, line" in make().explain()
    assert make(11).row is None
