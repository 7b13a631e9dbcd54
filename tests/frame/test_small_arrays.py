"""Small arrays of a host in one buffer: their places, and a buffer that is not written before its copy has ended."""

import sys

import cuda_on_cpu
import numpy as np
import pytest

from frame.impl.small_arrays import Small, SmallArrays
from kernels.engine.backend import cuda

REAL, SINGLE = np.dtype("f8"), np.dtype("f4")


@pytest.fixture(params=[None, 0, 1, 2, 3])
def backend(request, monkeypatch):
    """The stand-in of a device; with a number its streams have paces of their own."""
    monkeypatch.setitem(sys.modules, "cupy", cuda_on_cpu.make(lag=request.param))
    return cuda.CudaBackend(0)


def test_each_array_has_its_place(backend):
    """Read, read and written, written, and without elements; types of 4 and 8 bytes; arrays of the host with gaps."""
    wanted = [
        Small("written", (2, 3), REAL, read=False, written=True),
        Small("both", (5,), SINGLE, read=True, written=True),
        Small("read", (3, 2), REAL, read=True, written=False),
        Small("nothing", (0, 4), REAL, read=True, written=True),
    ]
    small = SmallArrays(backend, wanted)
    gaps = np.arange(12.0).reshape(3, 4)[:, ::2]
    hosts = {
        "written": np.full((2, 3), np.nan),
        "both": np.arange(5, dtype=SINGLE),
        "read": gaps,
        "nothing": np.empty((0, 4)),
    }
    small.put(hosts)()
    backend.synchronize()
    assert np.array_equal(small.arrays["read"], gaps) and np.array_equal(small.arrays["both"], np.arange(5))

    small.arrays["written"][...] = 7.0
    small.arrays["both"][...] = 2 * small.arrays["both"]
    small.get()
    backend.synchronize()
    small.unpack(hosts)()
    assert np.all(hosts["written"] == 7.0) and np.array_equal(hosts["both"], 2 * np.arange(5))


def test_a_buffer_is_written_again_when_its_copy_has_ended(backend):
    """A call whose results stay on the device, on a stream of the host's, returns before its copies are done."""
    small = SmallArrays(backend, [Small("a", (3,), REAL, read=True, written=False)])
    host = {"a": np.zeros(3)}
    put, results = small.put(host), backend.empty((5, 3))
    runtime, address = backend.arrays.cuda.runtime, backend.address(small.arrays["a"])

    with backend.arrays.cuda.Stream() as stream:
        for k in range(5):
            host["a"][:] = k
            put()
            target = backend.address(results) + k * host["a"].nbytes
            runtime.memcpyAsync(target, address, host["a"].nbytes, runtime.memcpyDeviceToDevice, stream.ptr)
        stream.synchronize()

    assert np.array_equal(backend.to_host(results), np.repeat(np.arange(5.0), 3).reshape(5, 3))
