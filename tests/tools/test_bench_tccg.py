"""`bench tccg`: its rival libxsmm in every way and packing against numpy.einsum, and what first calls take."""

import pathlib

import numpy as np
import pytest

from frame.errors import BackendError
from frame.tools.bench import ceilings, first_calls, tccg, tensor, xsmm_products
from kernels import get_backend
from kernels.contractions import table
from kernels.engine.backend import cpu

TILES = dict(a=130, b=70, c=300)  # several tiles along all three, the last ones shorter
SMALL = dict(zip("abcdef", (5, 3, 4, 2, 6, 7)))
has_libxsmm = pytest.mark.skipif(
    not pathlib.Path("/usr/include/libxsmm.h").is_file(), reason="libxsmm is not installed"
)


def product(name, sizes, dtype="float64"):
    """(the rival's product, its output, the right values) of whole numbers, which any order of sums adds exactly."""
    backend, rng = get_backend("cpu", threads=1), np.random.default_rng(0)
    out, left, right = (indices[::-1] for indices in name.split("-"))
    inner = {index: extent for index, extent in sizes.items() if index in name and index != out[0]}
    case = tensor.Case(name, tccg.text(name), inner, sizes[out[0]], {}, (), dtype)

    plan = case.plan(backend)
    arrays = {}
    for array, indices in (("A", left), ("B", right)):
        arrays[array] = rng.integers(-3, 4, [sizes[i] for i in indices]).astype(dtype)
    made = np.full([sizes[i] for i in out], np.nan, dtype)
    wanted = np.einsum(f"{left},{right}->{out}", arrays["A"], arrays["B"])
    return xsmm_products.Product(plan, arrays, made, case.entries), made, wanted


@has_libxsmm
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["ab-ac-cb", "abc-bda-dc", "abcd-aebf-fdec", "ab-acd-dbc"])
def test_every_way_of_libxsmm(name, dtype):
    found, out, wanted = product(name, TILES if name == "ab-ac-cb" else SMALL, dtype)
    count = 0
    for way, packing in found._candidates():
        out[...] = np.nan
        found._bound(way, *packing)()
        assert np.array_equal(out, wanted), (way, packing)
        count += 1
    assert count > 1

    out[...] = np.nan
    found.fastest()()
    assert np.array_equal(out, wanted)


def test_without_libxsmm(monkeypatch, tmp_path):
    """The rival says that its header is missing; the bench goes on without it."""
    (tmp_path / "xsmm_products.h").write_text("#include <a_library_that_is_not_there.h>\n")
    monkeypatch.setattr(xsmm_products, "HERE", tmp_path)
    with pytest.raises(BackendError, match="a_library_that_is_not_there"):
        product("ab-ac-cb", SMALL)


def test_vectors_of_the_prices_are_the_processors():
    """As a compiled kernel counts them; named targets by their definition."""
    assert cpu.vector_bytes(cpu.target()) == 8 * ceilings.lanes(get_backend("cpu", threads=1))
    assert [cpu.vector_bytes(f"x86-64{level}") for level in ("", "-v2", "-v3", "-v4")] == [16, 16, 32, 64]


def test_first_calls():
    row = first_calls.measured("ab-ac-cb", SMALL, "float64", "cpu")
    assert 0 < row["first_processor_seconds"] and 0 < row["first_seconds"]
    assert f"longest {row['first_seconds']:.2f} s" in first_calls.table([row])


def test_a_device_that_the_table_knows(monkeypatch):
    """All organisations have a plan, although the table's choice has another order of evaluation."""
    backend = get_backend("cuda", arch="sm_90")
    known = table.rows(table.in_force()).values()
    device, compiler = next((row.key.device, row.key.compiler) for row in known)
    monkeypatch.setattr(backend, "product", device)
    monkeypatch.setattr(type(backend), "compiler", compiler)

    found = 0
    for case in tensor.device_cases():
        if case.name in {row.case for row in known}:
            plans = tensor.ways(case, backend)
            assert len(plans) == len(plans[0].candidates)
            found += plans[0].row is not None
    assert found
