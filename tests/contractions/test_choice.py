"""Options of a contraction: fields of Reading and of Choice, given as keywords."""

import dataclasses

import pytest

from kernels import ComplexContraction, Contraction, FreeContraction
from kernels.contractions.choice import CHOICE, READING, Choice, Reading, sorted_out
from kernels.engine.errors import ArgumentError

TEXT = "o[e i k] = a[e i j] b[e j k]"
KINDS = [
    lambda **options: Contraction(TEXT, dict(i=2, j=3, k=4), backend="cpu", **options),
    lambda **options: ComplexContraction(TEXT, dict(i=2, j=3, k=4), backend="cpu", **options),
    lambda **options: FreeContraction(TEXT, backend="cpu", **options),
]


def test_keywords_are_sorted_by_the_fields():
    reading, choice = sorted_out(dict(batch="e", how="direct", constant="b", entries=72))
    assert reading == Reading(batch="e", constant="b")
    assert choice == Choice(how="direct", entries=72)
    assert not set(READING) & set(CHOICE)
    assert {*READING, *CHOICE} == {f.name for kind in (Reading, Choice) for f in dataclasses.fields(kind)}


@pytest.mark.parametrize("make", KINDS)
def test_an_option_that_is_none_is_refused_by_name(make):
    with pytest.raises(ArgumentError, match=r"no option 'entry', did you mean 'entries'"):
        make(entry=72)


def test_options_reach_the_plan():
    plan = Contraction(TEXT, dict(i=2, j=3, k=4), backend="cpu", batch="e", how="direct", entries=72, quick=True)
    assert plan.expression.batch == "e" and plan.how.name == "direct"
    assert plan.entries == 72 and plan.quick
