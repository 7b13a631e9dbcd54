"""Boxes of points are worked on where they lie on a CPU; threads that pack."""

import concurrent.futures
import os

import numpy as np
import pytest
from hosts import OWN_KERNEL
from link_cases import NS, Array, block, check

import kernels
from frame.frame import Frame
from frame.impl import block_calls
from frame.stripe import IN, OUT, Field
from kernels.marshal import LATER, PAST, Marshal, rows_block


@pytest.mark.parametrize("threads", [1, 3])
def test_slabs_on_a_cpu(threads, monkeypatch, registry, tmp_path):
    """Boxes and contiguous arrays are worked on where they lie, also by threads: values, and the bytes that stay. Other
    types and sections go through the views."""
    made, rng = Frame(), np.random.default_rng(14)
    monkeypatch.setattr(made, "_choose_backend", lambda *_: kernels.get_backend("cpu", threads=threads))
    made.initialize(-1, 128, NS, 1, 0)

    (tmp_path / "slab.h").write_text(
        "template <class M, class R, class In, class Out>\n"
        "POINT_FN void slab(const M &, const R T, const In &Y, R &p, Out &X) {\n"
        "    p = 2.0 * T;\n    FOR_SPECIES (s, M::NS) X.set(s, 3.0 * Y[s]);\n}\n"
    )

    declared = 'point_kernel("slab", header="slab.h", reads="T Y", writes="p X", source="test", valid="everywhere")'
    (tmp_path / "slab.py").write_text(f"from kernels import point_kernel\n\n{declared}\n")
    made.register_kernel(str(tmp_path / "slab.py"))
    views = []
    whole = block_calls.PieceLoop
    monkeypatch.setattr(block_calls, "PieceLoop", lambda *a: views.append(a) or whole(*a))

    for nx, fringe, sparse in [(n, f, False) for n in (1, 2, 3, 4, 5, 9, 32) for f in (0, 3)] + [(3, 3, True)]:
        for ny, nz in ((1, 1), (7, 5), (90, 11)):
            shape = (nx + fringe, ny + 2 * fringe, nz + fringe)
            low = np.array([fringe // 2, fringe, 0])
            given = {}

            for name in ("T", "Y", "p", "X"):
                array = Array(made, rng, name, (nx, ny, nz), "pageable", 0, sparse=sparse)

                if not sparse:
                    rows = () if name in "Tp" else (NS,)
                    array.flat = np.full(int(np.prod(shape)) * (NS if rows else 1), np.nan)
                    array.values, array.low = array.flat.reshape((*shape, *rows), order="F"), low
                    array.inside = tuple(slice(a, a + n) for a, n in zip(low, (nx, ny, nz)))
                    array.address = array.values.ctypes.data

                given[name] = array

            given["T"].values[given["T"].inside] = rng.integers(1, 2000, (nx, ny, nz))
            given["Y"].values[given["Y"].inside] = rng.integers(0, 1000, (nx, ny, nz, NS)) / 1024
            before = {name: a.flat.copy() for name, a in given.items()}
            del views[:]
            block(made, given, (nx, ny, nz), "slab")()
            check(made, given, before)
            assert bool(views) == sparse, (nx, fringe, ny, nz)

    made.finalize()


ITERATES = ', alone=True, sweeps="states"'


@pytest.mark.parametrize("more, fringe, in_place", [("", 0, True), (ITERATES, 0, False), (ITERATES, 3, True)])
def test_what_iterates_goes_chunk_by_chunk(more, fringe, in_place, monkeypatch, registry, tmp_path):
    """Contiguous arrays: in place, unless the kernel iterates over states. Threads then share each chunk. Slabs of two
    points in x are worked on in place, whatever the kernel does."""
    made = Frame()
    monkeypatch.setattr(made, "_choose_backend", lambda *_: kernels.get_backend("cpu", threads=1))
    made.initialize(-1, 128, NS, 1, 0)
    (tmp_path / "twice.h").write_text(
        "template <class M, class R> POINT_FN void twice_p(const M &, const R T, R &p) { p = 2.0 * T; }\n"
    )
    declared = f'point_kernel("twice_p", header="twice.h", reads="T", writes="p", source="t", valid="all"{more})'
    (tmp_path / "twice.py").write_text(f"from kernels import point_kernel\n\n{declared}\n")
    made.register_kernel(str(tmp_path / "twice.py"))

    loops = []
    whole = block_calls.PieceLoop
    monkeypatch.setattr(block_calls, "PieceLoop", lambda *a: loops.append(a) or whole(*a))
    shape = 2 + 2 * fringe, 15, 10
    T, p = np.arange(np.prod(shape, dtype=float)).reshape(shape, order="F"), np.full(shape, np.nan, order="F")
    fields = [
        Field(name, way, a.ctypes.data, shape, a.strides, (1, 1, 1), 8)
        for name, way, a in (("T", IN, T), ("p", OUT, p))
    ]
    made.block_of_fields("twice_p", fields, (1 + fringe, 1, 1, None), (2 + fringe, 15, 10, None))

    inside = slice(fringe, fringe + 2)
    assert bool(loops) != in_place and (p[inside] == 2 * T[inside]).all()
    assert np.isnan(p).sum() == 2 * fringe * 150
    made.finalize()


@pytest.mark.parametrize("precision", ["double", "mixed", "single"])
@pytest.mark.parametrize("threads", [1, 3])
def test_what_is_read_and_written_in_place_has_the_same_bits(threads, precision, monkeypatch, registry):
    """T in place, beside the loop over chunks: packs put together of lines, of one and of two points at a time, and the
    lines of a plane that are left over; contiguous arrays, of whole blocks of points and a rest; longer lines, which
    packs divide or not, and which are longer than a block."""
    made, rng = Frame(), np.random.default_rng(15)
    monkeypatch.setattr(made, "_choose_backend", lambda *_: kernels.get_backend("cpu", threads=threads))
    made.set_option("precision", precision)
    made.initialize(-1, 128, NS, 1, 0)
    made.register_kernel(str(OWN_KERNEL))
    dtype = np.dtype(np.float64 if precision == "double" else np.float32)
    ins, outs = ("rho", "e", "T"), ("T", "p")

    short = ((1, 45, 3, 3), (2, 37, 2, 3), (3, 20, 10, 3), (4, 5, 30, 3))
    for nx, ny, nz, fringe in (*short, (40, 11, 3, 0), (5, 33, 2, 3), (64, 3, 3, 3), (150, 3, 2, 3)):
        shape = (nx + 2 * fringe, ny, nz)
        arrays = {name: np.full(shape, 1.2, dtype, order="F") for name in ("rho", "e", "T", "p")}
        arrays["e"][...] = rng.uniform(2e5, 5e5, shape)
        arrays["T"][...] = 400
        other = {name: array.copy(order="F") for name, array in arrays.items()}

        def field(held, name, way, shape=shape):
            array = held[name]
            return Field(name, way, array.ctypes.data, shape, array.strides, (1, 1, 1), dtype.itemsize)

        lo, hi = (1 + fringe, 1, 1, None), (fringe + nx, ny, nz, None)

        with monkeypatch.context() as patch:
            patch.setattr(block_calls, "PieceLoop", lambda *a: pytest.fail("not in place"))
            fields = [field(arrays, n, IN) for n in ins] + [field(arrays, n, OUT) for n in outs]
            made.block_of_fields("air_ideal_gas", fields, lo, hi)

        points = nx * ny * nz

        for first in range(1, points + 1, 100):
            last = min(first + 99, points)
            for n in ins:
                made.put([field(other, n, IN)], lo, hi, first, last)
            made.launch("air_ideal_gas", last - first + 1)
            for n in outs:
                made.get([field(other, n, OUT)], lo, hi, first, last)

        for name, array in arrays.items():
            assert array.tobytes() == other[name].tobytes(), (name, nx)

    made.finalize()


def test_threads_that_pack():
    """Every number arrives: with more and fewer of them from one copy to the next, from two threads of the host at the
    same time, with another copy before the end of the first, and in a child that has none of them."""
    rng, points = np.random.default_rng(16), 40000
    host, backend = rng.random((3, points)), kernels.get_backend("cpu", threads=1)

    def packs(rounds):
        marshal = Marshal(backend)
        packed, others = backend.empty((3, 8192)), backend.empty((3, 8192))

        for n in range(rounds):
            marshal.pack_with(2 + n % 7)
            move = marshal.packer.moves("gather", [(rows_block(host), packed)], (PAST, LATER, PAST | LATER)[n % 3])
            other = marshal.packer.moves("gather", [(rows_block(host), others)], PAST)

            for first in range(0, points, 8192):
                count = min(8192, points - first)
                packed[...] = np.nan
                move.run(first, count)

                if n % 4 == 0:
                    other.run(first, count)
                    if not np.array_equal(others[:, :count], host[:, first : first + count]):
                        return False

                marshal.packer.finish()

                if not np.array_equal(packed[:, :count], host[:, first : first + count]):
                    return False

        return True

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert all(pool.map(packs, (40, 40)))

    child = os.fork()

    if not child:
        os._exit(0 if packs(2) else 1)

    assert os.waitpid(child, 0)[1] == 0
