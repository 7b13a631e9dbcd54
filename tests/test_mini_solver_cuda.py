"""The mini solver's CUDA: every stencil kernel compiles for sm_90; a run on the device (`pytest -m gpu`) or, without one, on the
stand-in that executes the CUDA C++ on the CPU, agrees with the CPU backend. About 40 s.
"""
import ctypes
import types

import numpy as np
import pytest

from cuda_on_cpu import DEVICE
from examples.mini_solver import flow as flow_module, ranks, stencil
from examples.mini_solver.case import Case
from examples.mini_solver.errors import CaseError
from kernels import Mixture, declare, emit, get_backend, organise
from kernels.backend import cuda, nvrtc
from mixtures_for_tests import species_set
from test_gpu import STAND_IN, be  # noqa: F401  be: the backend: the stand-in, or a GPU with -m gpu
from test_mini_solver_kernels import states

ARCH = "sm_90"
# Takahashi's factor is tabulated in single precision: it would differ by 1e-7, and the flow by more than rounding
MIXTURE = {"file": "examples/mixtures/ch4_o2.yaml", "species": ["CH4", "O2"], "options": {"takahashi": "off"}}
LAYER = "0.5*(1 - tanh((y - 0.5e-3 + 5e-5*sin(2*pi*x/2e-3))/1e-4))"


def sources():
    for ns in (1, 10, 53):
        for conservative in (0, 1):
            for dimensions, viscous, source, order, dissipation in ((3, 1, 0, 6, 1), (2, 0, 1, 4, 2), (1, 1, 1, 6, 0)):
                switches = dict(ORDER=order, DISSIPATION=dissipation, CONSERVATIVE=conservative, VISCOUS=viscous, SOURCE=source,
                                DIMENSIONS=dimensions)
                yield ns, switches


@pytest.mark.parametrize("name", sorted(stencil.KERNELS))
def test_stencils_compile_for_a_device(name):
    seen = set()
    for ns, switches in sources():
        text, folders = stencil.cuda_source(name, switches, np.full(ns, 1/0.028))
        if text in seen or ns == 53 and not switches["CONSERVATIVE"]:
            continue                                        # a second time the same, or the same length
        cubin, log = nvrtc.compile_cubin(text, ARCH, [*cuda.flags(folders), nvrtc.REPORT], name=f"{name}.cu")
        assert cubin.startswith(b"\x7fELF") and "error" not in log
        r = nvrtc.resources(log)["stencil_run"]
        seen.add(text)
        # species arrays of 10 and fewer live in registers; a few values may be parked
        assert r["registers"] <= 255 and (ns > 10 or r["spill_stores"] <= 512), (name, ns, switches, r)
    assert seen


@pytest.mark.parametrize("ns, kij", [(1, "none"), (10, "dense"), (10, "sparse"), (53, "low_rank")])
def test_point_kernels_compile_for_a_device(ns, kij):
    flow_module.declare()
    mix = Mixture(species_set(ns, kij))
    for name, kernel in declare.kernels.items():
        if name.startswith("flow_"):
            source, folders, _ = cuda.program_source(emit.plan([kernel], None, mix, organise.default([kernel], mix)))
            cubin, log = nvrtc.compile_cubin(source, ARCH, [*cuda.flags(folders), nvrtc.REPORT], name=f"{name}.cu")
            r = nvrtc.resources(log)["frame_run"]
            # up to 24 species rho_k is held in registers; the default organisation gives them fewer than these sums would take
            assert cubin.startswith(b"\x7fELF") and (ns > 24 or r["spill_stores"] <= 160), (name, r)


def case(scheme, viscous=True, **boundary):
    return Case(dict(
        mixture=MIXTURE, domain=dict(cells=[16, 12, 8], upper=[2e-3, 1e-3, 1e-3]), time={"steps": 10},
        initial=dict(p=1e7, X={"O2": LAYER, "CH4": "rest"}, T=f"300 - 180*{LAYER}", u=f"40 - 60*{LAYER}", v="0.3*sin(2*pi*x/2e-3)",
                     w="0.3*sin(2*pi*z/1e-3)"),
        boundary=boundary, numerics=dict(scheme=scheme, viscous=viscous)))


WALLS = dict(y_low={"kind": "wall", "T": 130.0}, y_high={"kind": "outlet", "p": 1e7})
INLET = dict(x_low={"kind": "inlet", "h": 0.0, "velocity": [40, 0, 0], "X": {"O2": 0.5, "CH4": 0.5}}, x_high={"kind": "outlet", "p": 1e7})


@pytest.mark.parametrize("scheme, viscous, boundary", [("double_flux", True, WALLS), ("apec", True, {}), ("double_flux", False, INLET)])
def test_a_run_on_the_device_agrees_with_the_cpu(be, scheme, viscous, boundary):        # noqa: F811
    if "x_low" in boundary:
        boundary = {**boundary, "x_low": {**boundary["x_low"], "h": enthalpy()}}
    fields = {}
    for name, backend in (("cpu", get_backend("cpu")), ("cuda", be)):
        f = flow_module.Flow(case(scheme, viscous, **boundary), backend=backend)
        for _ in range(10):
            f.step()
        fields[name] = {n: f.field(n) for n in ("rho", "u", "v", "w", "p", "T", "Y_O2")}
    # what rounding differs in, after 10 steps: 1e-12 of each field's size, of the speed for its components
    speed = max(np.abs(fields["cpu"][n]).max() for n in "uvw")
    for name, expected in fields["cpu"].items():
        assert np.isfinite(expected).all()
        assert np.abs(fields["cuda"][name] - expected).max() <= 1e-12*(speed if name in "uvw" else np.abs(expected).max()), name


def enthalpy():
    mix = Case(dict(mixture=MIXTURE, domain=dict(cells=[4], upper=[1.0]), initial=dict(T=300, p=1e7), time={"steps": 1})).make_mixture()
    return float(mix.properties("h", T=np.array([200.0]), p=1e7, X=np.full((2, 1), 0.5))["h"][0])


@pytest.mark.parametrize("ns, kij", [(10, "sparse"), (53, "dense")])
def test_point_kernels_on_the_device(be, ns, kij):        # noqa: F811
    """In registers, and with the pairs of species on matrix units; points that do not fill a warp."""
    flow_module.declare()
    mix = Mixture(species_set(ns, kij))
    T, _, rho_k = states(ns, 41)
    values = mix.properties("p_eos e_vol cv_vol gamma_c gruneisen h_Y eps_k", T=T, rho_k=rho_k, backend="cpu")
    found = mix.properties(list(values), T=T, rho_k=rho_k, backend=be)
    for name, value in values.items():
        # two orders of the same sums; p of a liquid is the difference of terms that are up to 1000 times larger
        scale = 1e-10*(np.abs(value) + (values["cv_vol"]*T if name in ("p_eos", "e_vol") else np.abs(value).max(0)))
        assert (np.abs(found[name] - value) <= scale).all(), name
    p = values["p_eos"]
    assert np.abs(mix.properties("T", p=p, rho_k=rho_k, backend=be)["T"]/T - 1).max() < 1e-10
    start = T*np.random.default_rng(1).uniform(0.75, 1.25, T.size)
    assert np.abs(mix.kernel("flow_temperature_e")(e_vol=values["e_vol"], rho_k=rho_k, T=start, backend=be)["T"]/T - 1).max() < 1e-11


class Post:
    """Ranks of one process: messages lie here until all have sent. MPI matches them by tag, NCCL by the order between two ranks."""

    NCCL_FLOAT64 = 8
    available, NcclError = True, RuntimeError

    def __init__(self, be):          # noqa: F811
        self.be, self.sent, self.wanted, self.grouped = be, {}, [], 0
        self.arrays = {}

    def rank(self, number, size):
        return types.SimpleNamespace(
            rank=number, size=size, allgather=lambda x: [x]*size, bcast=lambda x: x,
            Isend=lambda a, to, tag: self.put((number, to, tag), a), Irecv=lambda a, of, tag: self.wanted.append(((of, number, tag), a)) or self)

    def put(self, key, array):
        self.sent.setdefault(key, []).append(np.array(array))
        return self

    def Wait(self):
        self.deliver()

    def deliver(self):
        for key, into in self.wanted:
            value = self.sent[key].pop(0)
            into[...] = value.reshape(into.shape)
        self.wanted.clear()

    def get_unique_id(self):
        return b"id"

    def NcclCommunicator(self, size, name, number):
        def at(address, count):
            assert self.grouped and self.be.cp.memory.kind(address) == DEVICE
            return np.ctypeslib.as_array((ctypes.c_double*count).from_address(address))
        return types.SimpleNamespace(send=lambda p, n, kind, to, stream: self.put((number, to), at(p, n)),
                                     recv=lambda p, n, kind, of, stream: self.wanted.append(((of, number), at(p, n))))

    def groupStart(self):
        self.grouped += 1

    def groupEnd(self):
        self.grouped -= 1


@pytest.mark.parametrize("way", ["cuda_mpi", "staged", "nccl"])
@pytest.mark.parametrize("grid", [(2, 1, 1), (1, 2, 2), (2, 3, 1), (1, 1, 4)])
def test_fringes_hold_the_neighbours_cells_by_every_way(be, way, grid, monkeypatch):        # noqa: F811
    """Ranks that are neighbours twice (two in a periodic direction), once, and at a wall; corners too."""
    if be.cp.__version__ != STAND_IN:
        pytest.skip("messages between ranks of one process: on the stand-in")
    size, cells = int(np.prod(grid)), (8, 9, 12)
    post = Post(be)
    monkeypatch.setattr(be.cp.cuda, "nccl", post, raising=False)
    given = Case(dict(mixture=MIXTURE, domain=dict(cells=list(cells), upper=[1.0]*3), time={"steps": 1}, initial=dict(T=300, p=1e7, X={"O2": 1}),
                      boundary={"y": "slip_wall"}, parallel={"ranks": list(grid)}))
    everywhere = np.random.default_rng(1).random((2, *cells[::-1]))
    padded = np.pad(everywhere, ((0, 0), (3, 3), (0, 0), (3, 3)), "wrap")
    padded = np.pad(padded, ((0, 0), (0, 0), (3, 3), (0, 0)), constant_values=np.nan)       # walls: not the exchange's business
    blocks, exchanges = [], []
    for number in range(size):
        r = ranks.Ranks(given, post.rank(number, size))
        array = be.empty((2, *(n + 6 for n in r.cells[::-1])))
        at = tuple(slice(f, f + n) for f, n in zip(r.first[::-1], r.cells[::-1]))
        array[:, 3:-3, 3:-3, 3:-3] = everywhere[(slice(None), *at)]
        blocks.append((r, array))
        exchanges.append(ranks.Exchange(r, array, be, way))
    assert {e.way for e in exchanges} == {way} and {"staged", "nccl"} <= set(ranks.ways(be))
    for d in range(3):
        waiting = [e.start(d) for e in exchanges]
        post.deliver()
        for e, w in zip(exchanges, waiting):
            e.finish(d, w)
    assert not any(post.sent.values())                       # every message was taken
    for r, array in blocks:
        wanted = padded[(slice(None), *(slice(f, f + n + 6) for f, n in zip(r.first[::-1], r.cells[::-1])))]
        known = np.isfinite(wanted)
        assert known.sum() >= np.prod(r.cells) and np.array_equal(np.asarray(array)[known], wanted[known])


def test_nccl_that_is_not_there_is_told(be):        # noqa: F811
    if be.cp.__version__ != STAND_IN:
        pytest.skip("a machine that has it")
    r = ranks.Ranks(case("apec"), Post(be).rank(0, 2))
    with pytest.raises(CaseError, match="CuPy finds no NCCL"):
        ranks.Exchange(r, be.empty((2, 10, 18, 22)), be, "nccl")
