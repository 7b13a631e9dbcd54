"""Launches on a device whose rows lie anywhere: the bits of those on rows of one array, by every schedule."""

# ruff: noqa: F811  the fixture `be` is an argument here

import mechanisms_for_tests as mechanisms
import numpy as np
import pytest
from device_for_tests import be, bound, is_gpu  # noqa: F401
from kernel_cases import mixture, states

from frame.tools.bench import phases
from kernels import Mixture
from kernels.engine.backend.base import Rows
from kernels.gas import program as programs
from kernels.gas.plan import Launch
from kernels.gas.program import Program, Wanted

CASES = {  # outputs, precision, launch
    "registers": ("rho h c rho_Y", "double", None),
    "reload": ("mu lam D", "double", Launch(64, "reload", 4)),
    "matrix units": ("mu lam D", "double", Launch(64, "shared", 4, 2, "units", "shared")),
    "mixed": ("X D", "mixed", None),
}
RATES = {"queue": Launch(64), "lanes": Launch(64, "lanes", pairs=3, constants="shared")}
GAPS = np.array([3, 40, 0, 17, 5])  # numbers between rows


def lain_anywhere(be, array):
    """(memory, Rows) of the rows of an array, in the order last to first, at uneven distances."""
    rows, points = array.shape
    gaps = np.resize(GAPS, rows)
    first = np.cumsum(gaps + points) - points
    memory = be.from_host(np.full(int(first[-1]) + points, np.nan), array.dtype)
    places = first[::-1]
    for place, row in zip(places, array):
        memory[int(place) : int(place) + points] = row

    begin = be.address(memory)
    return memory, Rows([begin + int(place) * array.itemsize for place in places], points, array.dtype)


def taken_together(be, memory, rows: Rows):
    """The numbers of rows that lie anywhere, as one array of the host."""
    held, begin = np.asarray(be.to_host(memory)), be.address(memory)
    firsts = [(address - begin) // rows.dtype.itemsize for address in rows.addresses]
    return np.stack([held[first : first + rows.points] for first in firsts])


def check(be, program, given, n, box=()):
    """Both launches, of n points of a box of the arrays, write the same bits, and nothing beside the points."""
    arrays = bound(be, program, given["T"].size, given)
    arrays = {name: be.from_host(np.asarray(be.to_host(a)), program.dtype) for name, a in arrays.items()}
    apart = {name: lain_anywhere(be, a) for name, a in arrays.items()}
    assert program.schedule.apart(rows for _, rows in apart.values())

    program.bind(arrays, box)(n)
    program.bind({name: rows for name, (_, rows) in apart.items()}, box)(n)
    for name in program.writes:
        wanted = np.asarray(be.to_host(arrays[name]))
        found = taken_together(be, *apart[name])
        np.testing.assert_array_equal(found, wanted, err_msg=name)
        assert np.isfinite(wanted).any(), name


@pytest.mark.parametrize("box", [(), (5, 3, 2, 12, 40)], ids=["whole", "box"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.quick(case=["registers", "matrix units"])
def test_rows_that_lie_anywhere(be, case, box):
    outputs, precision, how = CASES[case]
    n = 6000 if is_gpu(be) else 300
    given = {name: states(10, n)[name] for name in "TpY"}
    program = Program(mixture(10), Wanted(outputs.split(), tuple(given)), backend=be, precision=precision, how=how)
    check(be, program, given, n // 4, box)


@pytest.mark.full
def test_points_that_are_sorted(be):
    """By what they carry: of one phase, and of two."""
    gas, n = phases.Gas(2), 60
    given = gas.states(n, "random")
    given |= {"ln_kappa": np.zeros((2, n)), "eta": np.zeros(n)}
    outputs = ("rho", "beta", "Y_l", "ln_kappa", "eta")
    program = Program(gas.mixture(), Wanted(outputs, tuple(given)), backend=be)
    assert program.schedule.name == "sorted"
    check(be, program, given, n)


@pytest.mark.parametrize("how", RATES)
@pytest.mark.quick(how="queue")
def test_reactors(be, how):
    """Points that take unequal times, by a queue, and by lanes that share a point."""
    mix, n = Mixture.from_yaml(mechanisms.path(mechanisms.OF_LANES), "ideal", equation="ideal"), 40
    Y = np.random.default_rng(0).dirichlet(np.ones(mix.ns), n).T
    given = {"T": np.linspace(900, 1800, n), "p": np.full(n, 1e5), "Y": Y, "dt_cv": np.full(n, 1e-7)}
    outputs = ("T", "p", "Y", "status_cv", "steps_cv")
    program = Program(mix, Wanted(outputs, tuple(given)), backend=be, how=RATES[how])
    assert program.schedule.name == how
    check(be, program, given, n)


def test_addresses_of_many_rows_fit_no_record(be, monkeypatch):
    program = Program(mixture(2), Wanted(["rho"], ("T", "p", "Y")), backend=be)
    memory = be.from_host(np.zeros(100))
    anywhere = Rows.apart([be.address(memory) + 8 * k * k for k in range(3)], 1, program.dtype)
    assert program.takes_apart([anywhere])

    monkeypatch.setattr(programs, "MOST_ROWS", 4)  # T, p, Y and rho have five
    assert not program.takes_apart([anywhere])
    assert program.takes_apart([Rows.apart([be.address(memory)], 1, program.dtype)])
