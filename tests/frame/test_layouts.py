"""Arrays of a host's layout: species in arrays of their own, a number for a field. The bits are those of 4-D arrays."""

# ruff: noqa: F811  the fixture of device_for_tests.py is an argument here
import re
import subprocess

import numpy as np
import pytest
from device_for_tests import be  # noqa: F401  be is a fixture
from frame_host import Host, field, of_species, whole
from hosts import BUILD, ROOT, SOURCES, compile_with_module, library, run
from kernel_cases import states
from mixtures_for_tests import species_set

import kernels
from frame.errors import ArgumentError, StateError
from frame.frame import Frame
from frame.impl import Sizes, block_calls
from frame.stripe import IN, INOUT, OUT, Field
from frame.tvproperties import TVProperties

NS, SHAPE, NOWHERE = 10, (4, 3, 2), (None,) * 4
FEW = 5  # species whose slabs are worked on in place


@pytest.fixture
def host():
    return Host(ns=NS, nq=1, mixture="ch4_o2", chunk=7)


def state():
    """T, p, and Y as a list of arrays and as one array."""
    rng = np.random.default_rng(3)
    T = np.asfortranarray(rng.uniform(300, 2000, SHAPE))
    p = field(5e6)
    Y = np.asfortranarray(rng.dirichlet(np.ones(NS), SHAPE))
    apart = [np.asfortranarray(Y[..., s]) for s in range(NS)]
    return T, p, Y, apart


def block(host, collection, *fields, lo=NOWHERE, hi=NOWHERE):
    host.frame.block_of_fields(collection, list(fields), lo, hi)


def wanted(host, names="rho"):
    T, p, Y, _ = state()
    made = {}
    for name in names.split():
        made[name] = of_species(np.nan) if kernels.quantities[name].per else field(np.nan)
    fields = [whole(name, array, OUT) for name, array in made.items()]
    block(host, "thermal_viscous", whole("T", T, IN), whole("p", p, IN), whole("Y", Y, IN), *fields)
    return made


def test_species_in_and_out(host):
    """All inputs and outputs, in an order that mixes them."""
    T, p, _, apart = state()
    D, rho = [field(np.nan) for _ in range(NS)], field(np.nan)
    fields = [whole("T", T, IN)]
    for s in range(NS):
        fields += [whole("Y", apart[s], IN), whole("D", D[s], OUT)]
    block(host, "thermal_viscous", *fields, whole("rho", rho, OUT), whole("p", p, IN))

    both = wanted(host, "rho D")
    np.testing.assert_array_equal(rho, both["rho"])
    for s in range(NS):
        np.testing.assert_array_equal(D[s], both["D"][..., s])


def test_loops_over_chunks(host):
    T, p, _, apart = state()
    rho = field(np.nan)
    for first in range(1, 25, 7):
        last = min(first + 6, 24)
        inputs = [whole("T", T, IN), *[whole("Y", y, IN) for y in apart], whole("p", p, IN)]
        host.frame.put(inputs, NOWHERE, NOWHERE, first, last)
        host.frame.launch("thermal", last - first + 1)
        host.frame.get([whole("rho", rho, OUT)], NOWHERE, NOWHERE, first, last)

    np.testing.assert_array_equal(rho, wanted(host)["rho"])


def reacting_host():
    mix = kernels.Mixture.from_yaml("examples/mechanisms/h2_o2.yaml", equation="ideal")
    host = Host(ns=9, nq=1, mixture=None)
    host.frame.use_mixture(mix)
    return host


def reacting_state():
    """T, p and Y of hydrogen and oxygen in nitrogen with some radicals."""
    Y = np.zeros((*SHAPE, 9), order="F")
    Y[..., 0], Y[..., 1], Y[..., 5], Y[..., 8] = 0.03, 0.22, 1e-4, 0.7499
    return {"T": field(1400), "p": field(1e5), "Y": Y}


def test_reactors_in_place():
    """frame_react updates T, p and the species where they lie."""
    host = reacting_host()
    results = []

    for is_apart in (False, True):
        T, p, here = reacting_state().values()
        parts = [np.asfortranarray(here[..., s]) for s in range(9)] if is_apart else [here]
        fields = [whole("T", T, IN)._replace(way=INOUT), whole("p", p, IN)._replace(way=INOUT)]
        fields += [whole("Y", part, IN)._replace(way=INOUT) for part in parts]
        host.frame.react("volume", fields, 2e-5, NOWHERE, NOWHERE)
        results.append((T, p, np.stack(parts, -1) if is_apart else here))

    assert (results[0][0] > 1400.5).all()
    for one, other in zip(*results):
        np.testing.assert_array_equal(one, other)


def test_without_the_last_species():
    """With option last_species = sum, ns - 1 arrays are enough."""
    host = Host(ns=NS, nq=1, mixture="ch4_o2", last_species="sum")
    T, p, Y, apart = state()
    one, other = field(np.nan), field(np.nan)
    begin = [whole("T", T, IN), whole("p", p, IN)]
    block(host, "thermal", *begin, *[whole("Y", y, IN) for y in apart[:-1]], whole("rho", one, OUT))
    block(host, "thermal", *begin, whole("Y", Y[..., :-1], IN), whole("rho", other, OUT))

    assert np.isfinite(one).all()
    np.testing.assert_array_equal(one, other)


def test_by_symbols(host):
    """frame_castles_arrays: an array for each name, in a box; no other point is written."""
    T, p, _, apart = state()
    rho, D = field(np.nan), of_species(np.nan)
    arrays = [T, *apart, p, D, rho]
    addresses = [array.ctypes.data for array in arrays]
    names, box = ",".join(["T", *["Y"] * NS, "p"]), (1, 4, 2, 3, 1, 2)
    host.frame.block_of_arrays("thermal_viscous", names, "D, rho", addresses, len(arrays), *SHAPE, *box)

    both = wanted(host, "rho D")
    np.testing.assert_array_equal(rho[:, 1:], both["rho"][:, 1:])
    np.testing.assert_array_equal(D[:, 1:], both["D"][:, 1:])
    assert np.isnan(rho[:, 0]).all() and np.isnan(D[:, 0]).all()

    with pytest.raises(ArgumentError, match=f"14 names in .*, {len(arrays) - 1} addresses"):
        host.frame.block_of_arrays("thermal", names, "D, rho", addresses[1:], len(arrays) - 1, *SHAPE, *box)
    with pytest.raises(ArgumentError, match="SptX, EptX = 0, 4"):
        host.frame.block_of_arrays("thermal", names, "D, rho", addresses, len(arrays), *SHAPE, 0, *box[1:])


def test_reactors_by_symbols():
    """frame_castles_react: as frame_react, bit for bit, with dt by value, and with an array of it; a call repeats."""
    host = reacting_host()
    box = (1, 4, 1, 3, 1, 2)

    by_fields = reacting_state()
    fields = [whole(name, array, IN)._replace(way=INOUT) for name, array in by_fields.items()]
    host.frame.react("volume", fields, 2e-5, NOWHERE, NOWHERE)(3e-5)

    for has_array in (False, True):
        by_symbols = reacting_state()
        dt, status, steps = field(2e-5), field(np.nan), field(np.nan)
        arrays = {**by_symbols, "status": status, "steps": steps}
        if has_array:
            arrays["dt"] = dt
        addresses = [array.ctypes.data for array in arrays.values()]
        call = host.frame.react_arrays(
            "volume", ",".join(arrays), addresses, len(arrays), 0 if has_array else 2e-5, *SHAPE, *box
        )
        dt[:] = 3e-5
        call(0 if has_array else 3e-5)

        assert (status == 0).all() and (steps >= 1).all()
        for name, array in by_symbols.items():
            np.testing.assert_array_equal(array, by_fields[name])


@pytest.mark.parametrize(
    "names, dt, words",
    [
        ("T,p,Y", -1e-6, "dt is -1e-06, wanted 0 s or more"),
        ("T,p,Y", np.nan, "dt is nan, wanted 0 s or more"),
        ("T,p,Y,dt", 1e-6, "dt came as a number and as a field"),
        ("T,p,Y,rho", 1e-6, "got rho; wanted T, p, Y, dt, status, steps"),
        ("T,Y", 1e-6, "'p' is missing"),
    ],
)
def test_reactors_by_symbols_that_do_not_fit(names, dt, words):
    host = reacting_host()
    arrays = {**reacting_state(), "dt": field(1e-6), "rho": field(1)}
    addresses = [arrays[name].ctypes.data for name in names.split(",")]
    with pytest.raises(ArgumentError, match=re.escape(words)):
        host.frame.react_arrays("volume", names, addresses, len(addresses), dt, *SHAPE, 1, 4, 1, 3, 1, 2)


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda f: f[:-1], "array for 'Y' has 9 species, wanted 10"),
        (lambda f: [*f, f[-1]], "'Y' came as 11 arrays, wanted 10"),
        (lambda f: [whole("Y", of_species(0.1), IN)] * 2, "'Y' came as 2 arrays, wanted 10, an array for each"),
        (
            lambda f: [*f[:-1], whole("Y", field(0, (4, 3, 3)), IN)],
            "'Y' select different shapes of points: the f",
        ),
        (lambda f: [*f, whole("T", field(1), IN)], "gets 'T' twice: which of the arrays counts"),
        (lambda f: [*f, whole("rho", field(1), OUT)], "gets 'rho' twice"),
    ],
)
def test_lists_that_do_not_fit(host, change, words):
    T, p, _, apart = state()
    rho = field(np.nan)
    fields = change([whole("Y", y, IN) for y in apart])
    with pytest.raises(ArgumentError, match=words):
        block(host, "thermal", whole("T", T, IN), whole("p", p, IN), *fields, whole("rho", rho, OUT))
    assert np.isnan(rho).all()


def test_overlaps_of_species(host):
    """Species over a species of the same points is fine; over another point, or over each other, is not."""
    T, p, _, apart = state()
    inputs = [whole("T", T, IN), whole("p", p, IN), *[whole("Y", y, IN) for y in apart]]
    D = [field(np.nan) for _ in range(NS)]

    with pytest.raises(ArgumentError, match="of the output 'D' are one number in memory"):
        block(host, "thermal_viscous", *inputs, *[whole("D", D[min(s, 8)], OUT) for s in range(NS)])
    with pytest.raises(ArgumentError, match="'D' and 'rho' share memory"):
        block(host, "thermal_viscous", *inputs, *[whole("D", d, OUT) for d in D], whole("rho", D[4], OUT))

    shifted = whole("D", apart[3], OUT)
    ahead = np.zeros(25)
    ahead[:24] = apart[3].ravel(order="F")
    inputs[5] = inputs[5]._replace(address=ahead.ctypes.data)
    shifted = shifted._replace(address=ahead.ctypes.data + 8)
    with pytest.raises(ArgumentError, match="'D' shares memory with the input 'Y' of other points"):
        block(host, "thermal_viscous", *inputs, shifted, *[whole("D", d, OUT) for d in D[1:]])

    both = wanted(host, "D")["D"]
    inputs = [whole("T", T, IN), whole("p", p, IN), *[whole("Y", y, IN) for y in apart]]
    block(host, "thermal_viscous", *inputs, *[whole("D", y, OUT) for y in apart])
    for s in range(NS):
        np.testing.assert_array_equal(apart[s], both[..., s])


def rows_apart(rng, rows, box, fringe, dtype):
    """Arrays (nx, ny, nz) within a fringe, one for each row, at random distances in memory of their own.
    Returns (memory, views of the whole arrays, in an order that is not that of memory)."""
    shape = tuple(np.array(box) + 2 * np.array(fringe))
    points = int(np.prod(shape))
    gaps = rng.integers(1, 40, rows)
    starts = np.cumsum(gaps) + points * np.arange(rows)
    memory = np.full(starts[-1] + points + 1, np.nan, dtype)
    views = [memory[start : start + points].reshape(shape, order="F") for start in rng.permutation(starts)]
    return memory, views


def described(name, array, way, fringe):
    """An array with a fringe as the Fortran module describes it: point 1 is the first behind the fringe."""
    lower = tuple([1 - width for width in fringe])
    return Field(name, way, array.ctypes.data, array.shape, array.strides, lower, array.itemsize)


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    "box, fringe",
    [
        ((300, 1, 1), (0, 0, 0)),
        ((8, 8, 4), (0, 0, 0)),
        ((3, 30, 5), (3, 2, 1)),
        ((37, 9, 3), (3, 2, 1)),
        ((64, 5, 2), (3, 2, 1)),
    ],
)
def test_species_apart_in_place(box, fringe, threads, precision, monkeypatch, registry):
    """Arrays at uneven distances in memory are worked on where they lie, whole and as slabs: the bits of 4-D arrays,
    and no other number is written."""
    frame, rng = Frame(), np.random.default_rng(12)
    monkeypatch.setattr(frame, "_choose_backend", lambda *_: kernels.get_backend("cpu", threads=threads))
    frame.set_option("precision", precision)
    frame.initialize(-1, 128, FEW, 1, 0)
    frame.register_kernel(str(SOURCES / "copies.py"))
    monkeypatch.setattr(block_calls, "PieceLoop", lambda *a: pytest.fail("not in place"))

    dtype = np.dtype({"double": "f8", "single": "f4"}[precision])
    inside = tuple([slice(width, width + n) for width, n in zip(fringe, box)])
    memory, together = {}, {}
    for name, rows in (("T", 1), ("Y", FEW), ("p", 1), ("X", FEW)):
        memory[name] = rows_apart(rng, rows, box, fringe, dtype)
        together[name] = np.full((*memory[name][1][0].shape, rows), np.nan, dtype, order="F")

    memory["T"][1][0][inside] = rng.uniform(300, 2000, box)
    Y = rng.dirichlet(np.ones(FEW), box)
    for s, array in enumerate(memory["Y"][1]):
        array[inside] = Y[..., s]
    for name in "TY":
        for s, array in enumerate(memory[name][1]):
            together[name][..., s] = array

    before = {name: held.copy() for name, (held, _) in memory.items()}
    lo, hi = (1, 1, 1, None), (*box, None)
    apart, four = [], []
    for name, way in (("T", IN), ("Y", IN), ("p", OUT), ("X", OUT)):
        apart += [described(name, array, way, fringe) for array in memory[name][1]]
        whole_array = together[name] if name in "YX" else together[name][..., 0]
        four.append(described(name, whole_array, way, (*fringe, 0)[: whole_array.ndim]))
    frame.block_of_fields("straight", apart, lo, hi)
    frame.block_of_fields("straight", four, lo, hi)
    frame.finalize()

    np.testing.assert_array_equal(memory["p"][1][0][inside], 2 * memory["T"][1][0][inside])
    for name in "pX":
        for s, array in enumerate(memory[name][1]):
            assert np.isfinite(array[inside]).all()
            np.testing.assert_array_equal(array, together[name][..., s])
            array[inside] = np.nan
    for name, (held, _) in memory.items():
        np.testing.assert_array_equal(held, before[name])


def within(rng, values):
    """(an array with a random fringe of NaN around these values, backwards in y at times; the values' section; the
    fringe)"""
    fringe = [(int(a), int(b)) for a, b in rng.integers(0, 4, (3, 2))]
    held = np.full([n + a + b for n, (a, b) in zip(values.shape, fringe)], np.nan, order="F")
    array = held[:, ::-1] if rng.random() < 0.3 else held
    inside = array[tuple(slice(a, a + n) for n, (a, _) in zip(values.shape, fringe))]
    inside[...] = values
    return array, inside, tuple(a for a, _ in fringe)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("box", [(5, 3, 2), (9, 1, 7), (32, 5, 3), (33, 4, 2), (64, 3, 9), (200, 1, 1)], ids=str)
@pytest.mark.quick(box=[(5, 3, 2), (32, 5, 3)], threads=3)
def test_arrays_of_different_extents_in_place(box, threads, monkeypatch):
    """A box of arrays with fringes of their own is worked on where it lies: the bits of calls through the views, and no
    other number is written."""
    frame, rng = Frame(), np.random.default_rng(5)
    monkeypatch.setattr(frame, "_choose_backend", lambda *_: kernels.get_backend("cpu", threads=threads))
    frame.initialize(-1, 64, NS, 1, 0)
    frame.set_option("equation", "pr")
    frame.load_mixture(str(ROOT / "examples/mixtures/ch4_o2.yaml"), "")

    Y = rng.dirichlet(np.ones(NS), box)
    given = [("T", rng.uniform(300, 2000, box)), ("p", np.full(box, 5e6)), *[("Y", Y[..., s]) for s in range(NS)]]
    inputs = [(name, *within(rng, values)) for name, values in given]

    results = []
    for is_in_place in (True, False):
        outputs = [(name, *within(rng, np.full(box, -1.0))) for name in ("rho", "h", "c")]
        fields = [described(name, array, IN, fringe) for name, array, _, fringe in inputs]
        fields += [described(name, array, OUT, fringe) for name, array, _, fringe in outputs]
        with monkeypatch.context() as patch:
            if is_in_place:
                patch.setattr(block_calls, "PieceLoop", lambda *a: pytest.fail("not in place"))
            else:
                patch.setattr(block_calls.BlockCalls, "_in_place", lambda *a: None)
            frame.block_of_fields("thermal", fields, (1, 1, 1, None), (*box, None))

        assert all(np.isnan(array).sum() == array.size - inside.size for _, array, inside, _ in outputs)
        results.append(np.array([inside for _, _, inside, _ in outputs]))

    frame.finalize()
    assert (results[0][0] > 0).all()
    np.testing.assert_array_equal(*results)


# ---- a number for a field


@pytest.mark.parametrize("extent", [(), (1,), (1, 1, 1)])
@pytest.mark.parametrize("with_box", [False, True])
def test_one_number_for_a_field(host, extent, with_box):
    """p of a low-Mach code, as a number or as an array of one element; a new value counts in the next call."""
    T, _, Y, _ = state()
    number, rho = np.full(extent, 5e6), field(np.nan)
    p = Field("p", IN, number.ctypes.data, extent, (8,) * len(extent), (1,) * len(extent), 8)
    lo, hi = ((1, 1, 2, None), (4, 3, 2, None)) if with_box else (NOWHERE, NOWHERE)
    box = np.s_[..., 1] if with_box else np.s_[...]

    def call():
        block(host, "thermal", whole("T", T, IN), p, whole("Y", Y, IN), whole("rho", rho, OUT), lo=lo, hi=hi)

    call()
    np.testing.assert_array_equal(rho[box], wanted(host)["rho"][box])
    assert np.isnan(rho).sum() == (12 if with_box else 0)

    before = rho.copy()
    number[...] = 6e6
    call()
    assert (rho[box] > before[box]).all()


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("fringes", [False, True])
@pytest.mark.parametrize("box", [(5, 3, 2), (65, 3, 9), (70, 70, 2), (300, 1, 1)], ids=str)
@pytest.mark.quick(box=[(5, 3, 2), (70, 70, 2)])
def test_numbers_beside_arrays_in_place(box, fringes, kind, monkeypatch):
    """p and Y as numbers, in kinds of their own: the arrays are worked on where they lie, whole, or in boxes with a
    fringe of their own each. The bits are those of arrays in place of the numbers, and new values count at once."""
    frame, rng = Frame(), np.random.default_rng(8)
    monkeypatch.setattr(frame, "_choose_backend", lambda *_: kernels.get_backend("cpu", threads=2))
    frame.initialize(-1, 64, NS, 1, 0)
    frame.set_option("equation", "pr")
    frame.load_mixture(str(ROOT / "examples/mixtures/ch4_o2.yaml"), "")
    monkeypatch.setattr(block_calls, "PieceLoop", lambda *a: pytest.fail("not in place"))

    def held(values):
        return within(rng, values)[::2] if fringes else (np.asfortranarray(values), (0, 0, 0))

    def call(p, Y, out):
        fields = [described("T", *T[:1], IN, T[1]), p, *Y, described("rho", *out[:1], OUT, out[1])]
        frame.block_of_fields("thermal", fields, (1, 1, 1, None), (*box, None))
        inside = [slice(low, low + n) for low, n in zip(out[1], box)]
        return out[0][tuple(inside)].copy()

    def number(name, memory):
        return Field(name, IN, memory.ctypes.data, (), (), (), memory.itemsize)

    T = held(rng.uniform(300, 2000, box))
    p, Y = np.array(5e6, kind), rng.dirichlet(np.ones(NS)).astype(kind)
    Y[-1] = 1 - Y[:-1].astype(float).sum()
    results = []
    for pressure in (5e6, 7e6):
        p[...] = pressure
        out = held(np.full(box, -1.0))
        results.append(call(number("p", p), [number("Y", Y[s : s + 1]) for s in range(NS)], out))

        arrays = [np.full(box, float(value), order="F") for value in (p, *Y)]
        whole_arrays = [described("Y", array, IN, (0, 0, 0)) for array in arrays[1:]]
        wanted_rho = call(described("p", arrays[0], IN, (0, 0, 0)), whole_arrays, held(np.full(box, -1.0)))
        np.testing.assert_array_equal(results[-1], wanted_rho)

    frame.finalize()
    assert (results[1] > results[0]).all()


def test_one_composition_for_a_field(host):
    """Y(ns), and ns numbers apart."""
    T, p, _, _ = state()
    Y, all_of_it = np.full(NS, 0.1), of_species(0.1)
    everywhere, one, other = field(np.nan), field(np.nan), field(np.nan)
    begin = [whole("T", T, IN), whole("p", p, IN)]
    block(host, "thermal", *begin, whole("Y", all_of_it, IN), whole("rho", everywhere, OUT))
    block(host, "thermal", *begin, whole("Y", Y, IN), whole("rho", one, OUT))
    numbers = [Field("Y", IN, Y.ctypes.data + 8 * s, (), (), (), 8) for s in range(NS)]
    block(host, "thermal", *begin, *numbers, whole("rho", other, OUT))

    np.testing.assert_array_equal(one, everywhere)
    np.testing.assert_array_equal(other, everywhere)


def test_an_output_is_no_number(host):
    T, p, Y, _ = state()
    with pytest.raises(ArgumentError, match="different shapes of points"):
        block(host, "thermal", whole("T", T, IN), whole("p", p, IN), whole("Y", Y, IN), whole("rho", np.zeros(1), OUT))


def test_check_mode_names_the_species(host):
    T, p, _, apart = state()
    apart[2][1, 2, 0] = np.nan
    host.frame.set_parameter("check", 1)
    with pytest.raises(StateError, match=r"'Y' \(variable 3\) = nan 1 at point \(i, j, k\) = \(2, 3, 1\)"):
        fields = [whole("Y", y, IN) for y in apart]
        block(host, "thermal", whole("T", T, IN), whole("p", p, IN), *fields, whole("rho", field(0), OUT))


# ---- on a device


@pytest.mark.parametrize("even", [True, False])
def test_species_on_a_device(be, even):
    """Arrays are worked on in place, wherever they lie, like the rows of one array."""
    n = 120
    properties = TVProperties(be, Sizes(50, NS), {})
    properties.impl.set_mixture(kernels.Mixture(species_set(NS)))
    given = states(NS, n)
    held = {name: be.from_host(given[name].copy()) for name in ("T", "p")}
    memory = be.from_host(np.full(NS * (n + 8) + 64, np.nan))
    rho = be.from_host(np.full(n, np.nan))

    fields = [Field(name, IN, be.address(held[name]), (n,), (8,), (1,), 8) for name in held]
    for s in range(NS):
        first = s * (n + 8) + (8 if not even and s == 4 else 0)
        memory[first : first + n] = be.from_host(given["Y"][s].copy())
        fields.append(Field("Y", IN, be.address(memory) + 8 * first, (n,), (8,), (1,), 8))
    fields.append(Field("rho", OUT, be.address(rho), (n,), (8,), (1,), 8))

    call = properties.block_of_fields("thermal", fields, NOWHERE, NOWHERE)
    names = getattr(be.arrays, "calls", None)
    if names is not None:
        del names[:]
        call()
        assert "gather_8" not in names and "frame_run" in names, names

    wanted = kernels.Mixture(species_set(NS)).properties("rho", **{k: given[k] for k in "TpY"}, backend=be)["rho"]
    np.testing.assert_array_equal(be.to_host(rho), wanted)


@pytest.mark.parametrize("nz", (2, NS - 1))
def test_species_first(host, nz):
    """A host with Y(ns, nx, ny, nz) passes a section for each species. The whole array is refused with that advice,
    also where its last extent is that of Y without the last species."""
    shape = (4, 3, nz)
    T, p = field(700, shape), field(5e6, shape)
    Y = np.asfortranarray(np.random.default_rng(3).dirichlet(np.ones(NS), shape).transpose(3, 0, 1, 2))
    behind = np.asfortranarray(np.moveaxis(Y, 0, -1))
    first, last = field(np.nan, shape), field(np.nan, shape)
    begin = [whole("T", T, IN), whole("p", p, IN)]

    block(host, "thermal", *begin, *[whole("Y", Y[s], IN) for s in range(NS)], whole("rho", first, OUT))
    block(host, "thermal", *begin, whole("Y", behind, IN), whole("rho", last, OUT))
    assert np.isfinite(last).all()
    np.testing.assert_array_equal(first, last)

    with pytest.raises(
        ArgumentError, match=r"Pass a section for each: \(frame_in\('Y', Y\(k, :, :, :\)\), k = 1, 10\)"
    ):
        block(host, "thermal", *begin, whole("Y", Y, IN), whole("rho", first, OUT))


# ---- from Fortran


@pytest.mark.parametrize(
    "flags", [("gfortran", "-O1", "-fopenmp"), ("gfortran", "-O1"), ("flang", "-O1")], ids=" ".join
)
@pytest.mark.quick(flags=[("gfortran", "-O1", "-fopenmp")])
def test_layouts_from_fortran(flags, tmp_path):
    compiler, *options = flags
    done, program = compile_with_module(compiler, tmp_path, "layouts.f90", *options)
    assert done.returncode == 0, done.stderr
    (tmp_path / "examples").symlink_to(ROOT / "examples")

    done = run(program, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    told = {
        m[1]: (int(m[2]), int(m[3]), m[4])
        for m in re.finditer(r"(?m)^(.+?): wrong (\d+) status (\d) ?(.*)$", done.stdout)
    }
    failed = {"no function", "an unknown name", "too many points"}
    assert len(told) == 12 and failed < told.keys()
    assert all(wrong == 0 and status == (3 if name in failed else 0) for name, (wrong, status, _) in told.items()), told

    # callers of the module pass no %VAL and end no names
    assert told["an unknown name"][2] == "frame_block: unknown tag 'Tt', did you mean 'T' or 'a_TT'."
    assert told["too many points"][2] == "frame_launch: nActive = 17, wanted 1..16 (nGridPoints)."


@pytest.mark.parametrize("flag", ["-O1", "-ffpe-trap=invalid,zero,overflow", "-ffast-math"])
@pytest.mark.quick(flag="-ffpe-trap=invalid,zero,overflow")
def test_floating_point_modes_of_a_host_that_calls_points(flag, tmp_path):
    """Traps, and subnormals flushed to zero: neither reaches the function, and it leaves no flags."""
    done, program = compile_with_module("gfortran", tmp_path, "point_modes.f90", flag)
    assert done.returncode == 0, done.stderr
    (tmp_path / "examples").symlink_to(ROOT / "examples")

    done = run(program, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    told = [line.split(":") for line in done.stdout.splitlines()]
    keeps = " F" if flag == "-ffast-math" else " T"
    assert len(told) == 6
    assert all(holds == (keeps if what == "the host keeps subnormals" else " T") for what, holds in told), done.stdout


# ---- from C++


def test_vectors_of_a_cpp_host(tmp_path):
    """All cells in x, more than 2^20 of them or none: a std::vector for each species, and one for all variables."""
    library()
    host = tmp_path / "host"
    source = [str(SOURCES / "vectors.cpp"), "-o", str(host), f"-I{BUILD}", f"-L{BUILD}", "-lframe"]
    subprocess.run(["c++", "-O1", "-Wall", "-Werror", *source, f"-Wl,-rpath,{BUILD}"], check=True)
    (tmp_path / "examples").symlink_to(ROOT / "examples")

    done = run(host, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [f"{n}: status 0 0, wrong 0" for n in (100, 0, 1100000, 77)]
