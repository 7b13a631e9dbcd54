"""What `explain` says about the choice, on texts of TCCG: prices as times, the bound, and the reason."""

import math
import re

import pytest

from frame.tools.bench import tccg
from kernels import ComplexContraction, Contraction, get_backend
from kernels.contractions import table
from kernels.contractions.organisations import library_costs

NAMES = ("ab-ac-cb", "abc-bda-dc", "abcd-dbea-ec", "abcd-aebf-dfce", "abcdef-dega-gfbc")
SIZES = dict(zip("abcdefg", (24, 20, 16, 12, 18, 14, 10)))
LINE = re.compile(r"organisation (\w+).*: ([\d.]+) us an entry, ([\d.]+) times (\w+) alone(  <- chosen)?$", re.M)
BOUND = re.compile(r"bound of an entry on (.+): bytes alone ([\d.]+) us \(.*\), flops alone ([\d.]+) us")
DIGITS = 6e-3  # three digits of a number: off by 1 of 200 at most


def planned(name, style, **options):
    backend = get_backend("cpu") if style == "packs" else get_backend("cuda", arch="sm_90")
    return Contraction(tccg.text(name), {i: SIZES[i] for i in {*name} - {"-"}}, backend=backend, **options)


def expected(name, batch):
    """(bytes, flops) of an entry in double precision, from the indices."""
    arrays = name.split("-")
    own = [math.prod(SIZES[i] for i in indices if i != batch) for indices in arrays if batch in indices]
    every = {i for indices in arrays for i in indices if i != batch}
    return 8 * sum(own), 2 * math.prod(SIZES[i] for i in every)


@pytest.mark.parametrize("style, model", [("packs", "one core"), ("threads", "an H100")])
@pytest.mark.parametrize("name", NAMES)
def test_times_bound_and_reason(name, style, model):
    """The bound from bytes and flops alone; a time for each organisation; the lowest is chosen, and why."""
    plan = planned(name, style)
    told, rates = plan.explain(), library_costs.rates(style, "float64")

    found, by_bytes, by_flops = BOUND.search(told).groups()
    moved, flops = expected(name, plan.expression.batch)
    assert found == model
    assert float(by_bytes) == pytest.approx(moved / rates.memory * 1e6, rel=DIGITS)
    assert float(by_flops) == pytest.approx(flops / rates.flops["float64"] * 1e6, rel=DIGITS)

    lines = LINE.findall(told)
    assert [how for how, *_ in lines] == [how.name for _, how, _ in plan.candidates]
    times = [float(time) for _, time, *_ in lines]
    assert times == sorted(times) and len(times) > 1

    # Beside the bound, which is the longer of both.
    longer = "bytes" if float(by_bytes) > float(by_flops) else "flops"
    for _, time, ratio, name_, _ in lines:
        assert name_ == longer
        assert float(ratio) == pytest.approx(float(time) / max(float(by_bytes), float(by_flops)), rel=3 * DIGITS)

    assert [bool(mark) for *_, mark in lines] == [True] + [False] * (len(lines) - 1)
    reason = re.search(r"chosen: (\w+), because its estimate is the lowest, ([\d.]+) of the time of (\w+); (\w+)", told)
    assert reason.group(1, 3, 4) == (lines[0][0], lines[1][0], longer)
    assert float(reason[2]) == pytest.approx(times[0] / times[1], rel=0.06)  # two digits


@pytest.mark.parametrize("name", ["ab-ac-cb", "abcd-aebf-dfce"])
def test_the_time_of_a_library_is_that_of_its_model(name):
    """A price goes to seconds and back: the library's own model has seconds."""
    plan = planned(name, "threads", how="library")
    how, p = plan.how, plan.program
    seconds = how.price(p) * library_costs.unit("threads", p)
    time = next(float(time) for name_, time, *_ in LINE.findall(plan.explain()) if name_ == "library")
    assert plan.seconds == seconds and time == pytest.approx(seconds * 1e6, rel=DIGITS)


def test_other_reasons(tmp_path, monkeypatch):
    """The caller's choice, a single organisation, a row of the table."""
    usual = planned("abcd-dbea-ec", "packs")
    other = next(how.name for _, how, _ in usual.candidates if how.name != usual.how.name)
    told = planned("abcd-dbea-ec", "packs", how=other).explain()
    assert f"because the caller or the text names it; the model would take {usual.how.name}." in told
    assert [how for how, *_, mark in LINE.findall(told) if mark] == [other]
    told = planned("abcd-dbea-ec", "packs", how=usual.how.name).explain()
    assert "because the caller or the text names it, as the model would." in told

    text, sizes = "o[e i k] = a[e i j] b[j k]", dict(i=128, j=128, k=128)
    told = ComplexContraction(text, sizes, backend="cpu").explain()
    assert "chosen: library, because no other organisation serves it." in told
    assert f"an entry: {8 * 128**3} flops" in told  # four products and four sums of real numbers for each term
    products, parts = (float(re.search(f"{x}: ([\\d.]+) us", told)[1]) for x in ("complex numbers", "their copies"))
    assert 0 < products < parts

    monkeypatch.setattr(table, "in_force", lambda: "some.csv")
    monkeypatch.setattr(usual, "row", table.Row._make([None] * len(table.Row._fields))._replace(line=7, order=0))
    assert f"chosen by some.csv, line 7: {usual.how}, order 0" in usual.explain()
