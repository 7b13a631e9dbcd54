"""Arrays of a block call that share memory: decided exactly, against all elements of small arrays by brute force; and
what a call does then."""

import itertools

import numpy as np
import pytest
from frame_host import Host, field, of_species, whole

from frame.errors import ArgumentError
from frame.overlap import refuse_overlaps, share_memory
from kernels.marshal import Block

NOWHERE = (None,) * 4


def elements(block):
    """{byte: points that it belongs to} and whether an element occurs twice."""
    bytes_of, twice = {}, False

    for t, index in enumerate(itertools.product(*(range(n) for n in block.n[:3][::-1]))):
        for v in range(block.n[3]):
            place = (*index[::-1], v)
            at = block.first + block.size * sum(i * s for i, s in zip(place, block.strides))
            for byte in range(at, at + block.size):
                twice = twice or byte in bytes_of
                bytes_of.setdefault(byte, set()).add(t)

    return bytes_of, twice


def steps(block):
    return [(n, s * block.size) for n, s in zip(block.n[:3], block.strides) if n > 1]


def refused(inputs, outputs):
    try:
        refuse_overlaps("call", inputs, outputs)
    except ArgumentError:
        return True
    return False


@pytest.mark.parametrize("seed", range(8))
def test_against_every_byte(seed):
    rng = np.random.default_rng(seed)
    found = {True: 0, False: 0}

    for _ in range(150):
        n = tuple(int(rng.integers(1, 4)) for _ in range(3))
        strides = tuple(int(rng.integers(-6, 13)) for _ in range(3))
        blocks = []

        for _ in range(2):
            size = int(rng.choice([8, 8, 8, 4]))
            own = strides if rng.random() < 0.8 else tuple(rng.permutation(strides))
            own = tuple(int(s) * (2 if size == 4 and rng.random() < 0.5 else 1) for s in own)
            n_var, step = int(rng.integers(1, 4)), int(rng.integers(1, 30))
            address = 10**6 + 4 * int(rng.integers(0, 40))
            blocks.append(Block(address, (0,) * 4, (*own, step), (0,) * 4, (*n, n_var), size=size))

        out, other = blocks
        (own, twice), (others, _) = elements(out), elements(other)
        common = own.keys() & others.keys()

        assert share_memory(out, other) == bool(common)

        elsewhere = any(len(own[byte] | others[byte]) > 1 for byte in common)
        same = steps(out) == steps(other)  # else any common byte is refused, also one of the same point
        wrong = twice or (elsewhere if same else bool(common))

        assert refused([("in", other)], [("out", out)]) == wrong

        found[wrong] += 1

    assert min(found.values()) > 10


def call(host, fields, collection="thermal"):
    host.frame.block_of_fields(collection, [whole(*f) for f in fields], NOWHERE, NOWHERE)


def test_an_output_over_an_input_of_other_points():
    """One number further, in a block of many chunks: refused, nothing is written. In place: the values of separate
    arrays."""
    host = Host(chunk=7)
    w = np.linspace(200, 300, 25)
    T, p, Y, rho = w[:24], field(5e6, (24,)), field(1, (24,)), field(np.nan, (24,))
    state = [("p", p, 0), ("Y", Y, 0)]
    call(host, [("T", T, 0), *state, ("rho", rho, 1)])
    before = w.copy()

    for shifted in (w[1:], w[1:][::-1]):
        with pytest.raises(ArgumentError, match="output 'rho' shares memory with the input 'T' of other points"):
            call(host, [("T", T, 0), *state, ("rho", shifted, 1)])
        np.testing.assert_array_equal(w, before)

    call(host, [("T", T, 0), *state, ("rho", T, 1)])

    np.testing.assert_array_equal(T, rho)


def test_two_outputs_in_one_array():
    host, q = Host(chunk=7), field(-1, (24, 3))
    state = [("T", field(300, (24,)), 0), ("p", field(5e6, (24,)), 0), ("Y", field(1, (24,)), 0)]

    with pytest.raises(ArgumentError, match="outputs 'rho' and 'h' share memory"):
        call(host, [*state, ("rho", q[:, 0], 1), ("h", q[:, 0], 1)])
    assert (q == -1).all()

    call(host, [*state, ("rho", q[:, 0], 1), ("h", q[:, 2], 1)])

    assert (q[:, 0] > 0).all() and (q[:, 1] == -1).all() and (q[:, 2] != -1).all()


def test_components_that_lie_between_each_other():
    """AoS q(variable, i, j, k): T, p, Y and the results are interleaved, and one lies over an input."""
    host = Host(ns=10, nq=1, chunk=7, mixture="ch4_o2")
    T, p, Y = field(300.0) + np.arange(24).reshape((4, 3, 2)), field(1e7), of_species(0.1)
    rho, h = field(np.nan), field(np.nan)
    call(host, [("T", T, 0), ("p", p, 0), ("Y", Y, 0), ("rho", rho, 1), ("h", h, 1)])
    q = np.full((14, 4, 3, 2), np.nan, order="F")
    q[0], q[1], q[2:12] = T, p, np.moveaxis(Y, -1, 0)
    inputs = [("T", q[0], 0), ("p", q[1], 0), ("Y", np.moveaxis(q[2:12], 0, -1), 0)]
    call(host, [*inputs, ("rho", q[12], 1), ("h", q[1], 1)])

    np.testing.assert_array_equal(q[12], rho)
    np.testing.assert_array_equal(q[1], h)
    np.testing.assert_array_equal(q[0], T)


def test_updates_in_place_are_no_overlap():
    host = Host(chunk=7)
    h, p, Y = field(3e5), field(1e7), field(1)
    T = field(300.0)
    call(host, [("h", h, 0), ("p", p, 0), ("Y", Y, 0), ("T_start", T, 0), ("T", T, 1)], "T_from_h_p")
    assert (T != 300).all() and np.isfinite(T).all()
