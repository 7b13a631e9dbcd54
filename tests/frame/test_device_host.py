"""Hosts whose arrays live on the device: block calls work on them in place, in the order of the host's stream."""

# ruff: noqa: F811  the fixture of device_for_tests.py is an argument here
import ctypes.util
import glob
import re
import subprocess
import sys

import numpy as np
import pytest
from device_for_tests import be, is_gpu  # noqa: F401  be is a fixture
from hosts import BUILD, MODULE, ROOT, SOURCES, library, run
from kernel_cases import states
from mixtures_for_tests import species_set

import kernels
from frame.impl import Sizes
from frame.stripe import Field
from frame.tvproperties import TVProperties

CH4_O2 = str(ROOT / "examples" / "mixtures" / "ch4_o2.yaml")
NS, SHAPE, NOWHERE = 10, (6, 5, 4), (None,) * 4
NAMES = "T p Y rho h mu".split()


class Host:
    """Fortran arrays of a block, each on the device as one piece of memory."""

    def __init__(self, be, shape=SHAPE, chunk=50, nq=1, dtype=np.float64):
        self.be, self.shape = be, shape
        self.properties = TVProperties(be, Sizes(chunk, NS, nq), {})
        self.properties.impl.set_mixture(kernels.Mixture(species_set(NS)))
        self.properties.set_stream(0)
        points = int(np.prod(shape))
        given = states(NS, points)
        rows = {"Y": given["Y"], "T": given["T"][None], "p": given["p"][None]}
        rows |= {name: np.full((1, points), np.nan) for name in ("rho", "h", "mu")}
        self.arrays = {name: be.from_host(np.ascontiguousarray(rows[name]), np.dtype(dtype)) for name in NAMES}

    def field(self, name, shape=None, lower=1):
        array, size = self.arrays[name], self.arrays[name].dtype.itemsize
        shape = (shape or self.shape) + ((NS,) if name == "Y" else ())
        strides = tuple(int(s) for s in size * np.cumprod((1, *shape[:-1])))

        return Field(
            name, name in ("rho", "h", "mu"), self.be.address(array), shape, strides, (lower,) * len(shape), size
        )

    def block(self, lo=NOWHERE, hi=NOWHERE, names=NAMES):
        return self.properties.block_of_fields("thermal_viscous", [self.field(name) for name in names], lo, hi)

    def result(self, name):
        return self.be.to_host(self.arrays[name])[0]


def expected(be, host, names="rho h mu"):
    """The results for arrays. names: of a block call; the program is then the block call's, to the last bit."""
    given = {name: be.to_host(host.arrays[name]) for name in ("T", "p", "Y")}
    return kernels.Mixture(species_set(NS)).properties(
        names, T=given["T"][0], p=given["p"][0], Y=given["Y"], backend=be
    )


def watched(be, work):
    """work()'s result, the kernels that it queued, the streams and the waits (the stand-in alone can tell)."""
    cupy = be.arrays
    if is_gpu(be):
        return work(), None, None

    del cupy.calls[:], cupy.streams[:]
    done = work()

    return done, list(cupy.calls), set(cupy.streams)


def test_whole_arrays_are_worked_on_in_place(be):
    host = Host(be)
    host.block()  # makes the program
    host.arrays["rho"][...] = np.nan
    again, calls, _ = watched(be, host.block)

    assert calls is None or calls == ["frame_run"]  # no copy, no wait, no chunks

    for name, wanted in expected(be, host).items():
        np.testing.assert_array_equal(host.result(name), wanted)

    host.arrays["T"][...] = 450.0
    _, calls, _ = watched(be, again)

    assert calls is None or calls == ["frame_run"]
    np.testing.assert_array_equal(host.result("rho"), expected(be, host)["rho"])


def test_until_a_stream_is_named_a_call_waits_for_its_results(be):
    host = Host(be)
    host.block()
    host.properties.impl.waits = True
    again, calls, _ = watched(be, host.block)

    assert calls is None or calls == ["frame_run", "wait"]

    _, calls, _ = watched(be, again)

    assert calls is None or calls == ["frame_run", "wait"]


def test_rows_of_q_are_found_in_place(be):
    host = Host(be, nq=NS + 5)
    given = [be.to_host(host.arrays[name]) for name in ("p", "T", "Y")]
    points = host.arrays["T"].shape[1]
    Q = np.concatenate([given[0], np.zeros((3, points)), given[1], given[2]])
    host.arrays["Q"] = be.from_host(np.ascontiguousarray(Q))
    size, shape = 8, (*SHAPE, NS + 5)
    q = Field("Q", False, be.address(host.arrays["Q"]), shape, (8, 48, 240, 960), (1,) * 4, size)
    fields = [q, host.field("rho"), host.field("mu")]
    call = lambda: host.properties.block_of_fields("thermal_viscous", fields, NOWHERE, NOWHERE)
    call()
    again, calls, _ = watched(be, call)

    assert again is not None and (calls is None or calls == ["frame_run"])

    for name, wanted in expected(be, host, "rho mu").items():
        np.testing.assert_array_equal(host.result(name), wanted)


BOX = (2, 2, 1, None), (5, 4, 4, None)  # of SHAPE


@pytest.mark.parametrize("how", ["in place", "copied"])
def test_a_box_within_larger_arrays(be, how):
    """The same box of arrays of one shape is worked on in place; one array of another shape, and all are copied on the
    device. Neither waits, and the rest of the arrays stays."""
    host = Host(be)
    fields = [host.field(name) for name in NAMES]

    if how == "copied":
        inner = be.to_host(host.arrays["T"]).reshape(SHAPE, order="F")[:, 1:4, :]
        host.arrays["T"] = be.from_host(inner.reshape(1, -1, order="F").copy())
        fields[0] = host.field("T", (6, 3, 4))
        fields[0] = fields[0]._replace(lower=(1, 2, 1))

    call = lambda: host.properties.block_of_fields("thermal_viscous", fields, *BOX)
    call()
    host.arrays["rho"][...] = -1.0
    again, calls, _ = watched(be, call)

    for _ in range(2):
        assert calls is None or (calls == ["frame_run"] if how == "in place" else "wait" not in calls)

        rho = host.result("rho").reshape(SHAPE, order="F")
        inside = np.zeros(SHAPE, bool)
        inside[1:5, 1:4, :] = True

        assert (rho[~inside] == -1).all()

        whole = Host(be)

        np.testing.assert_array_equal(rho[inside], expected(be, whole)["rho"].reshape(SHAPE, order="F")[inside])

        host.arrays["rho"][...] = -1.0
        _, calls, _ = watched(be, again)


@pytest.mark.parametrize("case", ["shared memory", "single precision", "check mode"])
def test_what_cannot_be_in_place_goes_through_the_views(be, case):
    host = Host(be, dtype=np.float32 if case == "single precision" else np.float64)

    if case == "shared memory":
        host.arrays["rho"] = host.arrays["T"]  # the result takes the place of the input

    host.properties.impl.shared.switch_check(case == "check mode")
    wanted = expected(be, host, "rho")["rho"]
    _, calls, _ = watched(be, lambda: host.block(names=["T", "p", "Y", "rho"]))

    assert calls is None or [name for name in calls if name.startswith("gather")]

    tolerance = 1e-4 if case == "single precision" else 0  # rho is stiff in T near saturation: 1e-7 times some hundreds

    np.testing.assert_allclose(host.result("rho"), wanted, rtol=tolerance)


def test_a_new_mixture_forgets_what_repeats_calls(be):
    host = Host(be)
    host.properties.impl.memory.keep("a call", host.block())
    host.properties.impl.set_mixture(kernels.Mixture(species_set(NS), equation="srk"))
    assert not host.properties.impl.memory


@pytest.mark.parametrize("protocol", [True, False])
def test_work_goes_to_the_stream_of_the_host(be, protocol, monkeypatch):
    """protocol: as CuPy 14 takes a stream; else as CuPy 13 does."""
    if hasattr(be.arrays.cuda.Stream, "from_external") and not protocol:
        monkeypatch.delattr(be.arrays.cuda.Stream, "from_external")

    host = Host(be)
    host.block()
    cuda = be.arrays.cuda
    stream = cuda.Stream(non_blocking=True) if is_gpu(be) else cuda.ExternalStream(77, 0)

    try:
        be.set_stream(stream.ptr)
        _, _, streams = watched(be, host.block)
        assert be.stream == stream.ptr and (streams is None or streams == {stream.ptr})
        be.synchronize()
        np.testing.assert_array_equal(host.result("rho"), expected(be, host)["rho"])
    finally:
        be.set_stream(0)

    assert be.stream == 0


@pytest.mark.parametrize("directives", ["openacc", "openmp"])
def test_the_examples_of_hosts_with_directives(tmp_path, directives):
    """gfortran runs the host's own regions on the CPU, where device addresses are the host's. CUDA Fortran needs
    nvfortran, which is not here."""
    library()
    sources = [MODULE, ROOT / "examples" / "device_host" / f"{directives}.f90"]
    link = ["-o", "host", f"-L{BUILD}", "-lframe", f"-Wl,-rpath,{BUILD}"]
    subprocess.run(["gfortran", f"-f{directives}", *sources, *link], cwd=tmp_path, check=True)
    done = run(tmp_path / "host", cwd=ROOT)
    wanted = kernels.Mixture.from_yaml(CH4_O2).properties("rho", T=300.0, p=1e7, Y=[0.2, 0.8] + 8 * [0.0])["rho"]

    assert done.returncode == 0 and np.isclose(float(done.stdout), wanted, rtol=1e-12), done.stdout + done.stderr


def cudart():
    """NVIDIA's runtime library: of the system, or of CuPy's wheels."""
    wheels = [path for folder in sys.path for path in glob.glob(f"{folder}/nvidia/**/libcudart.so*", recursive=True)]

    return [
        *wheels,
        *glob.glob("/usr/local/cuda*/lib64/libcudart.so*"),
        *filter(None, [ctypes.util.find_library("cudart")]),
    ]


def resident_pace(points):
    """Nanoseconds a point of the same program, launched from Python on arrays of its own."""
    backend = kernels.get_backend("cuda")
    mixture = kernels.Mixture.from_yaml(CH4_O2)
    program = mixture.program(("rho", "h", "c"), ("T", "p", "Y"), backend=backend)
    t = np.arange(points)  # the states of device.c
    given = {"T": 250.0 + t % 997, "p": 5e6 + 1e4 * (t % 1009), "Y": np.full((NS, points), 1 / NS)}
    rows = {a: given.get(a, np.zeros(points)).reshape(program.plan.rows(a), points) for a in program.plan.arguments}
    run = program.bind({a: backend.from_host(np.ascontiguousarray(row)) for a, row in rows.items()})
    times = []

    for _ in range(20):
        begin = backend.mark()
        for _ in range(50):
            run(points)
        times.append(backend.elapsed(begin, backend.mark()) / 50 / points)

    return 1e9 * min(times)


@pytest.mark.gpu
def test_a_c_host_with_cuda_malloc(tmp_path):
    """A call costs the host a launch, 10 us, and the device works as if its arrays were its own."""
    found, made = cudart(), tmp_path / "device"

    if not found:
        pytest.skip("no libcudart.so on this machine")

    library()
    link = ["-o", str(made), f"-L{BUILD}", "-lframe", f"-Wl,-rpath,{BUILD}", "-ldl"]
    subprocess.run(["gcc", "-O2", f"-I{BUILD}", str(SOURCES / "device.c"), *link], check=True)

    def host(*size):
        command = [str(made), found[0], CH4_O2, *map(str, size)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=200)
        assert "same 1" in done.stdout, done.stdout + done.stderr
        return [float(x) for x in re.search(r"call (\S+) us\npace (\S+)", done.stdout).groups()]

    call = min(host(16, 16, 16, 100)[0] for _ in range(5))  # other tests run on the same cores
    _, pace = host(256, 256, 16, 50)
    wanted = resident_pace(256 * 256 * 16)
    print(f"call {call:.2f} us; {pace:.4f} ns a point, resident {wanted:.4f}: {wanted / pace:.3f}")

    assert call < 10 and pace < wanted / 0.95
