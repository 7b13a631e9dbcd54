"""Search for the fastest organisation of one contraction on one machine.

The model orders candidates; the best of them, one of each organisation at least, are measured; then moves along one
coordinate at a time start from the best three, until two rounds gain no hundredth. A candidate is compiled ahead, by
threads, verified on a small ragged case, then timed. What was found stands in a journal, a line of JSON for each
candidate: a search that was ended goes on from there. At the end the best few and the model's choice run in turns.

`forest` (SURF: a surrogate of extra trees chooses what is measured next) and `random` are other ways to choose.
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
from typing import Any, NamedTuple

import numpy as np

from ..engine import tune
from ..engine.backend import cache
from ..engine.errors import ArgumentError, FrameError, VariantUnsuitable, refuse
from . import table
from .contraction import Contraction
from .evaluate import evaluate, worst
from .forest import Forest
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
METHODS = ("moves", "forest", "random")


class Outcome(NamedTuple):
    """seconds: None where it was left out, which `why` tells. error: over the size of the terms."""

    seconds: float | None
    error: float = 0.0
    why: str = ""


class Found(NamedTuple):
    """best: the fastest candidate; seconds: its median in the last turns; default: the model's, in the same turns.
    measured: how many candidates were timed in this run; known: how many the journal had; outcomes: of all."""

    best: Candidate
    seconds: float
    default: float
    measured: int
    known: int
    row: table.Row
    outcomes: dict


# ---- strategies: which candidates are measured ----------------------------------------------------------------------
# space: defaults, neighbours, random, price, features. measure(candidates) -> seconds of each, inf where it was left
# out, NaN where the budget was spent. All end by themselves or when `measure` says that nothing is left.


def moves(space, measure, rng=None) -> None:
    """From the best candidates to their neighbours, the cheapest by the model first, until nothing gets better."""
    seeds = first(space)
    known = _with_times(measure(seeds), seeds, {})
    patience, best = 0, min(known.values(), default=math.inf)
    gone: set = set()
    while known and patience < PATIENCE and not measure.spent:
        starts = sorted(known, key=known.__getitem__)[:STARTS]
        near = [c for s in starts for c in space.neighbours(s) if c not in known and c not in gone]
        near = sorted(dict.fromkeys(near), key=space.price)
        if not near:
            break
        gone.update(near)
        _with_times(measure(near), near, known)
        now = min(known.values())
        patience = patience + 1 if now > best * (1 - GAIN) else 0
        best = min(best, now)


def first(space) -> list:
    """Seeds: the default of each organisation, then those that the model likes best, their neighbours among them."""
    by_name: dict[str, Any] = {}
    for c in space.defaults:
        by_name.setdefault(c.how.name, c)
    must = list(by_name.values())
    least = min(space.price(c) for c in must)
    near = [c for s in space.defaults[:STARTS] for c in space.neighbours(s)]
    likely = [c for c in dict.fromkeys((*space.defaults, *near)) if c not in must]
    likely = sorted((c for c in likely if space.price(c) <= FAR_OFF * least), key=space.price)
    return [*must, *likely][:SEEDS]


def randomly(space, measure, rng) -> None:
    """Candidates drawn at random, as a search to compare the others with."""
    seen: set = set()
    for _ in range(100):
        batch = [c for c in dict.fromkeys(space.random(rng) for _ in range(2 * BATCH)) if c not in seen][:BATCH]
        seen.update(batch)
        if measure.spent or not batch:
            return
        measure(batch)


def forest(space, measure, rng) -> None:
    """A model of the times by extra trees says which candidates to measure next."""
    pool = list(dict.fromkeys([*space.defaults, *(space.random(rng) for _ in range(POOL))]))
    begin = [*first(space)[:BATCH], *(pool[k] for k in rng.permutation(len(pool))[:BATCH])]
    known = _with_times(measure(begin), begin, {})
    tried = set(begin)
    while not measure.spent:
        open_ = [c for c in dict.fromkeys((*pool, *_around(space, known))) if c not in tried]
        if not open_ or not known:
            return
        features = [space.features(c) for c in known]
        model = Forest(int(rng.integers(1 << 30))).fit(features, np.log(list(known.values())))
        order = np.argsort(model.predict([space.features(c) for c in open_]))
        batch = [open_[k] for k in order[:BATCH]]
        tried.update(batch)
        _with_times(measure(batch), batch, known)


def _around(space, known):
    best = sorted(known, key=known.__getitem__)[:STARTS]
    return [c for s in best for c in space.neighbours(s)]


def _with_times(seconds, candidates, known) -> dict:
    known.update({c: s for c, s in zip(candidates, seconds) if math.isfinite(s)})
    return known


STRATEGIES = {"moves": moves, "forest": forest, "random": randomly}


# ---- journal --------------------------------------------------------------------------------------------------------


class Journal:
    """Outcomes by kernel and candidate, in a file of JSON lines; path None: in memory only. A last line that was cut
    off is taken away."""

    def __init__(self, path=None):
        self.path = pathlib.Path(path) if path else None
        self.known: dict[str, dict[str, Outcome]] = {}
        if not self.path or not self.path.is_file():
            return
        text = self.path.read_text()
        whole = text[: text.rfind("\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                told = json.loads(line)
                if "candidate" in told:
                    outcome = Outcome(told["seconds"], told["error"], told["why"])
                    self.known.setdefault(told["kernel"], {})[told["candidate"]] = outcome
                elif "text" not in told:
                    raise KeyError("candidate")
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ArgumentError(
                    f"journal {self.path}, line {number}: {type(error).__name__} {error}; it was not written by tune."
                ) from None
        if whole != text:
            self.path.write_text(whole)

    def of(self, key: table.Key, entries: int) -> str:
        """The name of a kernel there; a line of its own tells once what it stands for."""
        told = {**key._asdict(), "entries": entries, "source": sources()}
        name = cache.key(*told.values())[:16]
        if name not in self.known:
            self.known[name] = {}
            self._line({"kernel": name, **told})
        return name

    def add(self, kernel: str, candidate: str, outcome: Outcome) -> None:
        self.known[kernel][candidate] = outcome
        self._line({"kernel": kernel, "candidate": candidate, **outcome._asdict()})

    def _line(self, told) -> None:
        if self.path:
            with open(self.path, "a") as file:
                file.write(json.dumps(told) + "\n")


@functools.lru_cache(None)
def sources() -> str:
    """What tells apart the generators that times were measured with: all that makes the kernels' text."""
    here = pathlib.Path(__file__).parent
    numbers = here.parent / "engine/numbers"
    files = sorted((*here.rglob("*.py"), *here.rglob("*.h"), *here.glob("*.csv"), *numbers.glob("*.h")))
    kept = [f for f in files if f != table.COMMITTED]
    return cache.key(*(f.read_bytes() for f in kept))[:12]


# ---- measuring ------------------------------------------------------------------------------------------------------


class Measure:
    """measure(candidates) -> seconds. Within a budget of `evaluations` and `seconds`; `told(done, best)` after each."""

    def __init__(self, plan: Contraction, make, entries: int, clock, journal: Journal, seconds, evaluations, told):
        self.plan, self.make, self.entries, self.clock, self.told = plan, make, entries, clock, told
        self.journal, self.kernel = journal, journal.of(plan.key, entries)
        self.until, self.left = time.monotonic() + seconds, evaluations
        self.done = self.taken = 0
        self.best = math.inf
        self.outcomes: dict[Candidate, Outcome] = {}
        self.small, self.large = Case(plan, small_case(plan)), Case(plan, entries, checked=False)

    @property
    def spent(self) -> bool:
        return self.left <= 0 or time.monotonic() >= self.until

    def __call__(self, candidates) -> list[float]:
        known = self.journal.known[self.kernel]
        fresh = [c for c in dict.fromkeys(candidates) if str(c) not in known]
        for c in candidates:
            if str(c) in known:
                self.taken += c not in self.outcomes
                self._note(c, known[str(c)])
        fresh = fresh[: max(self.left, 0)] if not self.spent else []
        for at in range(0, len(fresh), BATCH):  # a batch is compiled by all cores, then timed by itself
            if not self.spent:
                self._batch(fresh[at : at + BATCH])
        return [self._seconds(c) for c in candidates]

    def _seconds(self, c) -> float:
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
            with contextlib.suppress(FrameError):  # whoever prepares it gets to hear
                plans[c] = self.make(c)
                plans[c].compile()

        with concurrent.futures.ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
            list(pool.map(ahead, batch))
        for c in batch:
            self.left -= 1
            if time.monotonic() >= self.until:
                return
            outcome = self._one(plans.get(c) or self._made(c))
            self.journal.add(self.kernel, str(c), outcome)
            self._note(c, outcome)
            self.done += 1
            self.told(self, c, outcome)

    def _made(self, c):
        try:
            return self.make(c)
        except FrameError as error:
            return error

    def _one(self, plan) -> Outcome:
        try:
            if isinstance(plan, FrameError):
                raise plan
            report = getattr(plan.compile(), "report", {}).get("contraction", {})
            spills = report.get("spill_stores", 0) + report.get("spill_loads", 0)
            refuse(spills > SPILLS, f"{spills} bytes of registers spilled.", VariantUnsuitable)
            error = self.small.check(plan)
            return Outcome(self.timed([self.large.bind(plan)], ROUNDS)[0], error)
        except VariantUnsuitable as reason:
            return Outcome(None, 0.0, f"unsuitable: {reason}")
        except FrameError as error:
            return Outcome(None, 0.0, f"{type(error).__name__}: {str(error).splitlines()[0]}")

    def timed(self, runs, rounds: int) -> list[float]:
        """Medians, in turns; after one that warms up. What is far off is timed once."""
        times: list[list[float]] = [[] for _ in runs]
        for turn in range(rounds + 1):
            for run, found in zip(runs, times):
                if turn < 2 or found[1] < HOPELESS * self.best:
                    found.append(self.clock(run))
        return [statistics.median(found[1:]) for found in times]


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
    """Random inputs for n entries, outputs, and what has to be in them. Values of a text with a map, which has no
    oracle here, are those of the first plan that is checked: the model's choice."""

    def __init__(self, plan: Contraction, n: int, checked: bool = True):
        self.backend, self.n = plan.backend, n
        e, be, rng = plan.expression, plan.backend, np.random.default_rng(0)
        self.names, self.host = e.outputs, {}
        self.arrays = {}
        for a in plan.program.arguments:
            host = rng.random(plan.shape(a.name, n), dtype=plan.dtype) - plan.dtype.type(0.5)
            if a.name in e.symmetric:
                *_, i, j = (k for k in range(host.ndim) if k != a.place)
                host = host + np.swapaxes(host, i, j)
            self.arrays[a.name] = be.empty(host.shape, plan.dtype)
            self.arrays[a.name][...] = be.from_host(host, plan.dtype)
            if checked:
                self.host[a.name] = host.astype(float)
        self.old = {x: self.host[x] if x in e.updated else None for x in self.names if checked}
        self.wanted: list | None = None
        if checked and not any(s.function for s in e.statements):
            einsum = lambda text, *x: np.einsum(text, *x, optimize=True)
            fresh = lambda turn: {x: turn(a).copy() for x, a in self.host.items()}
            self.wanted = evaluate(e, fresh(lambda a: a), einsum)
            self.sizes = evaluate(e, fresh(abs), einsum, abs)

    def bind(self, plan):
        return plan.bind(self.arrays, self.n)

    def check(self, plan) -> float:
        """The error over the size of the terms. Raises FrameError."""
        for x in self.names:
            self.arrays[x][...] = np.nan if self.old[x] is None else self.backend.from_host(self.old[x], plan.dtype)
        self.bind(plan)()
        found = [self.backend.to_host(self.arrays[x]).astype(float) for x in self.names]
        if self.wanted is None:
            self.wanted, self.sizes = found, [abs(x) for x in found]
        return worst(found, self.wanted, self.sizes, float(np.finfo(plan.dtype).eps))


# ---- the search -----------------------------------------------------------------------------------------------------


def search(
    text: str,
    sizes,
    dtype="float64",
    *,
    entries: int,
    backend=None,
    method: str = METHODS[0],
    seconds: float = 120.0,
    evaluations: int = 60,
    journal: Journal | None = None,
    clock=None,
    told=lambda measure, candidate, outcome: None,
    seed: int = 0,
    case: str = "",
    **options,
) -> Found:
    """Tune one contraction for so many entries of its batch; text, sizes, dtype, options as Contraction takes them.

    seconds, evaluations: the budget. clock(run) -> seconds of one run; None: the backend's own. Raises ArgumentError
    for what is not there, FrameError where no candidate is right.
    """
    refuse(method not in METHODS, f"search: method '{method}', wanted one of {', '.join(METHODS)}.")
    refuse(evaluations < 1 or not seconds > 0, f"search: budget {seconds} s, {evaluations} evaluations, wanted more.")
    refuse(entries < 1, f"search: {entries} entries, wanted 1 or more.")
    make = functools.partial(Contraction, text, sizes, dtype, backend=backend, **options)
    plan = make()
    if any(a.mixed for a in plan.program.arguments):
        wanted = small_case(plan)
        refuse(entries != wanted, f"search: {entries} entries, wanted {wanted}, the extent that is compiled in.")
    if not plan.expression.batch:
        entries = 1
    space = Space(plan)
    clock = clock or (lambda run: tune.seconds(plan.backend, run))
    at = lambda c: make(order=c.order, how=c.how)
    measure = Measure(plan, at, entries, clock, journal or Journal(), seconds, evaluations, told)
    default = space.defaults[0]
    measure([default])
    STRATEGIES[method](space, measure, np.random.default_rng(seed))
    right = sorted((c for c, o in measure.outcomes.items() if o.seconds is not None), key=measure._seconds)
    refuse(not right, f"search: no organisation is right: {measure.outcomes[default].why}", FrameError)
    last = list(dict.fromkeys((*right[:FINALISTS], *([default] if default in right else []))))
    times = dict(zip(last, measure.timed([measure.large.bind(at(c)) for c in last], LAST_ROUNDS)))
    best = min(last, key=times.__getitem__)
    if default in times and times[default] <= times[best] * (1 + GAIN):
        best = default
    row = table.Row(
        plan.key,
        best.order,
        table.written(best.how),
        case or str(plan.expression),
        entries,
        times[best],
        times.get(default, math.nan),
        datetime.date.today().isoformat(),
    )
    return Found(best, times[best], times.get(default, math.nan), measure.done, measure.taken, row, measure.outcomes)
