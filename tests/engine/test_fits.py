"""The coefficients in the headers: each set has the error that its comment states, and its maker finds it again."""

import pytest

from kernels.engine.fits.__main__ import FAMILIES, sets_of
from kernels.engine.fits.maker import Fit, Table
from kernels.gas.fits import cubic_start, takahashi
from kernels.gas.fits.__main__ import FAMILIES as GAS

SETS = sets_of((*FAMILIES, *GAS))

FITS = [pytest.param(one, id=one.name) for one in SETS if isinstance(one, Fit)]
MADE = [pytest.param(one, id=one.name) for one in SETS if isinstance(one, Fit) and one.make]
TABLES = [pytest.param(one, id=one.name) for one in SETS if isinstance(one, Table)]


@pytest.mark.parametrize("one", FITS)
def test_error_is_the_stated_one(one):
    """Two digits are stated: 5 % is their rounding."""
    assert one.largest_error(one.committed()) == pytest.approx(one.stated(), rel=0.05)


@pytest.mark.parametrize("one", MADE)
def test_maker_finds_the_set_again(one):
    """At every point of the interval the two errors differ by less than 1 % of the largest one; by 5 % where that comes
    near the rounding of the coefficients, of which one may be rounded differently."""
    committed, made = one.committed(), one.made()
    largest = one.largest_error(committed)
    assert len(made) == len(committed)
    assert one.apart(committed, made) < (0.05 if one.single or largest < 1e-15 else 0.01) * largest


@pytest.mark.parametrize("one", TABLES)
def test_tables_are_the_nearest_doubles(one):
    assert one.committed() == one.made()


def test_start_of_the_cubic_with_rough_roots():
    assert cubic_start.as_in_packs(1) == pytest.approx(0.0032, rel=0.05)
    assert 0.009 < cubic_start.as_in_packs(-1) < 0.01


def test_takahashi_cubics():
    """2e-7 is what the docstring says and other tests allow."""
    assert 1e-8 < takahashi.largest_error() < 2e-7
