"""Search for the fastest organisation of one contraction on one machine.

The model orders candidates. The best of them, at least one of each organisation, are measured; then moves along one
coordinate at a time start from the best three, until two rounds gain less than a hundredth. A candidate is compiled
ahead, by threads, verified on a small ragged case, then timed. A journal has a line of JSON for each candidate: a
search that was ended goes on from there. At the end the best few and the model's choice run in turns.

`forest` (a surrogate of extra trees chooses what is measured next) and `random` are other ways to choose. `surf` is the
search of Nelson et al. 2015 over the pool that they search, see surf.py.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import datetime
import functools
import json
import math
import os
import pathlib
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..engine import tune
from ..engine.backend import cache
from ..engine.errors import ArgumentError, FrameError, VariantUnsuitable, refuse
from . import surf, table
from .contraction import Contraction
from .evaluate import evaluate, worst
from .forest import Forest
from .plan import Array
from .space import Candidate, Space

SEEDS, STARTS = 24, 3
FAR_OFF = 2.0  # times the least price: the model is sure enough that it is slower
GAIN, PATIENCE = 0.01, 2
ROUNDS, LAST_ROUNDS = 3, 9
HOPELESS = 2.0  # times the best: timed once
FINALISTS = 4
SPILLS = 64  # bytes a thread
RAGGED = 5  # entries of the small case: no multiple of the lanes of a pack, or of the teams of a block
POOL, BATCH = 300, 8  # candidates among which a surrogate chooses, and how many at once
METHODS = ("moves", "forest", "random", "surf")


class Outcome(NamedTuple):
    """Time and error of a candidate."""

    seconds: float | None  # of a run; None: left out
    error: float = 0.0  # over the size of the terms
    why: str = ""  # it was left out


class Found(NamedTuple):
    """Result of a search."""

    best: Candidate  # the fastest candidate
    seconds: float  # its median in the last turns
    default: float  # the median of the model's choice, in the same turns
    measured: int  # candidates that were timed in this run
    known: int  # candidates that the journal had
    row: table.Row  # for the table of organisations
    outcomes: dict  # of all candidates
    took: float  # seconds of the search, the last turns left out


class Settings(NamedTuple):
    """How a search chooses candidates, and what it may spend."""

    method: str = METHODS[0]
    seconds: float = 120.0
    evaluations: int = 60
    batch_size: int = BATCH  # candidates that a surrogate, or chance, chooses at once
    seed: int = 0  # of random numbers

    def check(self) -> None:
        """Raises ArgumentError for a method that is not there, and for an empty budget."""
        refuse(self.method not in METHODS, f"search: method '{self.method}', wanted one of {', '.join(METHODS)}.")
        refuse(
            self.evaluations < 1 or not self.seconds > 0,
            f"search: budget {self.seconds} s, {self.evaluations} evaluations, wanted more.",
        )
        refuse(self.batch_size < 1, f"search: batch size {self.batch_size}, wanted 1 or more.")


# ---- strategies: which candidates are measured ----------------------------------------------------------------------
# space: defaults, neighbours, random, price, features. measure(candidates) -> seconds of each, inf where it was left
# out, NaN where the budget was spent. All end by themselves or when `measure` says that nothing is left.


def moves(space, measure, rng=None) -> None:
    """From the best candidates to their neighbours, the cheapest by the model first, until nothing gets better."""
    seeds = first(space)
    known = _with_times(measure(seeds), seeds, {})
    patience, best = 0, min(known.values(), default=math.inf)
    seen: set = set()

    while known and patience < PATIENCE and not measure.spent:
        near = [c for c in _around(space, known) if c not in known and c not in seen]
        near = sorted(dict.fromkeys(near), key=space.price)
        if not near:
            break

        seen.update(near)
        _with_times(measure(near), near, known)

        now = min(known.values())
        patience = patience + 1 if now > best * (1 - GAIN) else 0
        best = min(best, now)


def first(space) -> list:
    """Seeds: the default of each organisation, then the candidates with the least price, neighbours among them."""
    by_name: dict[str, Any] = {}
    for c in space.defaults:
        by_name.setdefault(c.how.name, c)

    must = list(by_name.values())
    least = min(space.price(c) for c in must)

    near = [*space.defaults]
    for seed in space.defaults[:STARTS]:
        near += space.neighbours(seed)

    likely = [c for c in dict.fromkeys(near) if c not in must and space.price(c) <= FAR_OFF * least]
    return [*must, *sorted(likely, key=space.price)][:SEEDS]


def randomly(space, measure, rng) -> None:
    """Candidates drawn at random, as a search to compare the others with."""
    seen: set = set()
    for _ in range(100):
        drawn = dict.fromkeys(space.random(rng) for _ in range(2 * measure.batch_size))
        batch = [c for c in drawn if c not in seen][: measure.batch_size]
        seen.update(batch)
        if measure.spent or not batch:
            return
        measure(batch)


def forest(space, measure, rng) -> None:
    """A model of the times by extra trees says which candidates to measure next."""
    pool = list(dict.fromkeys([*space.defaults, *(space.random(rng) for _ in range(POOL))]))
    begin = [*first(space)[: measure.batch_size], *(pool[k] for k in rng.permutation(len(pool))[: measure.batch_size])]
    known = _with_times(measure(begin), begin, {})
    tried = set(begin)

    while not measure.spent:
        open_ = [c for c in dict.fromkeys((*pool, *_around(space, known))) if c not in tried]
        if not open_ or not known:
            return

        model = Forest(int(rng.integers(1 << 30)))
        model.fit([space.features(c) for c in known], np.log(list(known.values())))
        order = np.argsort(model.predict([space.features(c) for c in open_]))

        batch = [open_[k] for k in order[: measure.batch_size]]
        tried.update(batch)
        _with_times(measure(batch), batch, known)


def by_surf(space, measure, rng) -> None:
    """Algorithm 2 of Nelson et al. 2015 over Barracuda's pool; n_max is what the budget has left."""
    some = surf.pool(space, rng)
    surf.surf(some, surf.Binary(some), measure, rng, surf.Settings(measure.left, measure.batch_size))


def _around(space, known) -> list:
    """Neighbours of the best candidates."""
    found = []
    for c in sorted(known, key=known.__getitem__)[:STARTS]:
        found += space.neighbours(c)
    return found


def _with_times(seconds, candidates, known) -> dict:
    """`known` with the candidates that have a time."""
    for c, s in zip(candidates, seconds):
        if math.isfinite(s):
            known[c] = s
    return known


STRATEGIES = {"moves": moves, "forest": forest, "random": randomly, "surf": by_surf}


# ---- journal --------------------------------------------------------------------------------------------------------


class Journal:
    """Outcomes by kernel and candidate, in a file of JSON lines; path None: in memory only.

    A last line that was cut off is removed. Raises ArgumentError for a line that no search wrote.
    """

    def __init__(self, path=None):
        self.path = pathlib.Path(path) if path else None
        self.known: dict[str, dict[str, Outcome]] = {}
        if self.path and self.path.is_file():
            self._read(self.path)

    def _read(self, path: pathlib.Path) -> None:
        text = path.read_text()
        whole = text[: text.rfind("\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                self._take(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ArgumentError(
                    f"journal {path}, line {number}: {type(error).__name__} {error}; it was not written by tune."
                ) from None

        if whole != text:
            path.write_text(whole)

    def _take(self, row) -> None:
        """A line: an outcome, or what a kernel's name stands for."""
        if "candidate" in row:
            outcome = Outcome(row["seconds"], row["error"], row["why"])
            self.known.setdefault(row["kernel"], {})[row["candidate"]] = outcome
        elif "text" not in row:
            raise KeyError("candidate")

    def of(self, key: table.Key, entries: int) -> str:
        """The name of a kernel in the journal. Its first line says what the name stands for."""
        facts = {**key._asdict(), "entries": entries, "source": sources()}
        name = cache.key(*facts.values())[:16]
        if name not in self.known:
            self.known[name] = {}
            self._line({"kernel": name, **facts})

        return name

    def add(self, kernel: str, candidate: str, outcome: Outcome) -> None:
        self.known[kernel][candidate] = outcome
        self._line({"kernel": kernel, "candidate": candidate, **outcome._asdict()})

    def _line(self, row) -> None:
        if self.path:
            with open(self.path, "a") as file:
                file.write(json.dumps(row) + "\n")


@functools.lru_cache(None)
def sources() -> str:
    """A key for the generators that times were measured with: all files that decide the text of a kernel."""
    here = pathlib.Path(__file__).parent
    numbers = here.parent / "engine/numbers"

    files = [*here.rglob("*.py"), *here.rglob("*.h"), *here.glob("*.csv"), *numbers.glob("*.h")]
    kept = [f for f in sorted(files) if f != table.COMMITTED]
    return cache.key(*(f.read_bytes() for f in kept))[:12]


# ---- measuring ------------------------------------------------------------------------------------------------------


def _silent(measure, candidate, outcome) -> None:
    """No report."""


class Tools(NamedTuple):
    """Clock, journal and reports of a search."""

    clock: Callable | None = None  # clock(run) -> seconds of one run; None: the backend's own
    journal: Journal | None = None  # has the candidates of earlier searches; None: a new journal
    report: Callable = _silent  # report(measure, candidate, outcome), called after each candidate


DEFAULT, USUAL = Settings(), Tools()


class Measure:
    """measure(candidates) -> seconds of each; inf if it was left out, NaN if the budget was spent.

    plan: the model's choice. make(candidate) -> Contraction.
    """

    def __init__(self, plan: Contraction, make, entries: int, settings: Settings, tools: Tools):
        self.plan, self.make, self.entries = plan, make, entries
        self.clock = tools.clock or functools.partial(tune.seconds, plan.backend)
        self.report = tools.report
        self.journal = tools.journal or Journal()
        self.kernel = self.journal.of(plan.key, entries)

        self.until = time.monotonic() + settings.seconds
        self.left, self.batch_size = settings.evaluations, settings.batch_size
        self.done = self.taken = 0  # candidates that were timed here, that the journal had
        self.best = math.inf
        self.outcomes: dict[Candidate, Outcome] = {}
        self.small, self.large = Case(plan, small_case(plan)), Case(plan, entries, checked=False)

    @property
    def spent(self) -> bool:
        return self.left <= 0 or time.monotonic() >= self.until

    def __call__(self, candidates) -> list[float]:
        # Times that the journal has already.
        known = self.journal.known[self.kernel]
        for c in candidates:
            if str(c) in known:
                self.taken += c not in self.outcomes
                self._note(c, known[str(c)])

        # The others: a batch is compiled by all cores, then timed by itself.
        fresh = [c for c in dict.fromkeys(candidates) if str(c) not in known]
        fresh = [] if self.spent else fresh[: max(self.left, 0)]
        for at in range(0, len(fresh), self.batch_size):
            if not self.spent:
                self._batch(fresh[at : at + self.batch_size])

        return [self.seconds(c) for c in candidates]

    def seconds(self, c) -> float:
        """Seconds of a candidate: inf if it was left out, NaN if it was not measured."""
        if c not in self.outcomes:
            return math.nan
        found = self.outcomes[c].seconds
        return math.inf if found is None else found

    def _note(self, c, outcome: Outcome) -> None:
        self.outcomes[c] = outcome
        if outcome.seconds is not None:
            self.best = min(self.best, outcome.seconds)

    def _batch(self, batch) -> None:
        plans: dict[Candidate, Any] = {}

        def ahead(c):
            with contextlib.suppress(FrameError):  # `_made` raises it again
                plans[c] = self.make(c)
                plans[c].compile()

        with concurrent.futures.ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
            list(pool.map(ahead, batch))

        for c in batch:
            self.left -= 1
            if time.monotonic() >= self.until:
                return

            outcome = self._outcome(c, plans.get(c))
            self.journal.add(self.kernel, str(c), outcome)
            self._note(c, outcome)
            self.done += 1
            self.report(self, c, outcome)

    def _outcome(self, c, plan) -> Outcome:
        """A candidate compiled, verified and timed; or why it was left out."""
        try:
            plan = plan or self.make(c)
            _refuse_spills(plan)
            error = self.small.check(plan)
            return Outcome(self.timed([self.large.bind(plan)], ROUNDS)[0], error)
        except VariantUnsuitable as reason:
            return Outcome(None, 0.0, f"unsuitable: {reason}")
        except FrameError as error:
            return Outcome(None, 0.0, f"{type(error).__name__}: {str(error).splitlines()[0]}")

    def timed(self, runs, rounds: int) -> list[float]:
        """Medians of several runs, one after the other in each round; a round before warms up.

        A run that is far slower than the best is timed once.
        """
        times: list[list[float]] = [[] for _ in runs]
        for turn in range(rounds + 1):
            for run, found in zip(runs, times):
                if turn < 2 or found[1] < HOPELESS * self.best:
                    found.append(self.clock(run))

        return [statistics.median(found[1:]) for found in times]


def _refuse_spills(plan: Contraction) -> None:
    """Raises VariantUnsuitable for a kernel that has too few registers."""
    reports = getattr(plan.compile(), "report", {}).values()
    spills = max((report.get("spill_stores", 0) + report.get("spill_loads", 0) for report in reports), default=0)
    refuse(spills > SPILLS, f"{spills} bytes of registers spilled.", VariantUnsuitable)


def small_case(plan: Contraction) -> int:
    """Entries of the case that is verified; an array with the batch index in several places says how many."""
    e = plan.expression
    for a in plan.program.arguments:
        for r in e.references[a.name]:
            known = a.extents[r.indices.index(e.batch)] if a.mixed and e.batch in r.indices else None
            if known:
                return known

    return RAGGED if e.batch else 1


class Case:
    """Random inputs for n entries, outputs, and the right values of the outputs.

    A text with a map has no oracle here: the right values are those of the first plan that is checked, the model's
    choice.
    """

    def __init__(self, plan: Contraction, n: int, checked: bool = True):
        e = plan.expression
        self.backend, self.n, self.names = plan.backend, n, e.outputs
        self.arrays: dict[str, Any] = {}
        host: dict[str, np.ndarray] = {}  # in double precision
        rng = np.random.default_rng(0)

        for a in plan.program.arguments:
            numbers = _numbers_for(plan, a, n, rng)
            self.arrays[a.name] = self.backend.empty(numbers.shape, plan.dtype)
            self.arrays[a.name][...] = self.backend.from_host(numbers, plan.dtype)
            if checked:
                host[a.name] = numbers.astype(float)

        self.old = {x: host[x] if x in e.updated else None for x in self.names} if checked else {}
        self.wanted: list | None = None
        if checked and not any(s.function for s in e.statements):
            self.wanted = evaluate(e, {x: a.copy() for x, a in host.items()}, _einsum)
            self.sizes = evaluate(e, {x: abs(a) for x, a in host.items()}, _einsum, abs)

    def bind(self, plan):
        return plan.bind(self.arrays, self.n)

    def check(self, plan) -> float:
        """The error over the size of the terms. Raises FrameError."""
        for x in self.names:
            old = self.old[x]
            self.arrays[x][...] = np.nan if old is None else self.backend.from_host(old, plan.dtype)

        self.bind(plan)()

        found = [self.backend.to_host(self.arrays[x]).astype(float) for x in self.names]
        if self.wanted is None:
            self.wanted, self.sizes = found, [abs(x) for x in found]

        return worst(found, self.wanted, self.sizes, float(np.finfo(plan.dtype).eps))


def _numbers_for(plan: Contraction, a: Array, n: int, rng) -> np.ndarray:
    """Random numbers from -1/2 to 1/2 for an argument; symmetric where the text says so."""
    numbers = rng.random(plan.shape(a.name, n), dtype=plan.dtype) - plan.dtype.type(0.5)
    if a.name in plan.expression.symmetric:
        *_, i, j = (k for k in range(numbers.ndim) if k != a.place)
        numbers = numbers + np.swapaxes(numbers, i, j)

    return numbers


def _einsum(text: str, *arrays):
    return np.einsum(text, *arrays, optimize=True)


# ---- the search -----------------------------------------------------------------------------------------------------


def search(make, entries: int, settings: Settings = DEFAULT, tools: Tools = USUAL, case: str = "") -> Found:
    """Tune a contraction for this number of batch entries.

    make(order=, how=) -> Contraction, the model's choice without arguments: functools.partial(Contraction, text, sizes,
    backend=...). case: its name in the table. Raises ArgumentError for what is not there, FrameError where no candidate
    is right.
    """
    settings.check()
    refuse(entries < 1, f"search: {entries} entries, wanted 1 or more.")
    plan = make()
    entries = _entries(plan, entries)

    def at(c: Candidate) -> Contraction:
        return make(order=c.order, how=c.how)

    # The model's choice, then what the strategy asks for.
    space, begin = Space(plan), time.monotonic()
    measure = Measure(plan, at, entries, settings, tools)
    default = space.defaults[0]
    measure([default])
    STRATEGIES[settings.method](space, measure, np.random.default_rng(settings.seed))
    took = time.monotonic() - begin

    # The best few and the model's choice once more, in turns.
    last = _finalists(measure, default)
    times = dict(zip(last, measure.timed([measure.large.bind(at(c)) for c in last], LAST_ROUNDS)))

    best = min(last, key=times.__getitem__)
    usual = times.get(default, math.nan)
    if usual <= times[best] * (1 + GAIN):  # False for NaN
        best = default

    today = datetime.date.today().isoformat()
    name = case or str(plan.expression)
    row = table.Row(plan.key, best.order, table.written(best.how), name, entries, times[best], usual, today)
    return Found(best, times[best], usual, measure.done, measure.taken, row, measure.outcomes, took)


def _entries(plan: Contraction, entries: int) -> int:
    """Entries of the batch that are measured. Raises ArgumentError where another number is compiled in."""
    if any(a.mixed for a in plan.program.arguments):
        wanted = small_case(plan)
        refuse(entries != wanted, f"search: {entries} entries, wanted {wanted}, the extent that is compiled in.")

    return entries if plan.expression.batch else 1


def _finalists(measure: Measure, default: Candidate) -> list[Candidate]:
    """The fastest candidates, and the model's choice if it is right. Raises FrameError where none is right."""
    right = [c for c, outcome in measure.outcomes.items() if outcome.seconds is not None]
    refuse(not right, f"search: no organisation is right: {measure.outcomes[default].why}", FrameError)

    last = sorted(right, key=measure.seconds)[:FINALISTS]
    if default in right and default not in last:
        last.append(default)

    return last
