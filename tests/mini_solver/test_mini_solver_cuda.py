"""The mini solver's CUDA: every stencil kernel compiles for sm_90; a run on the device (`pytest -m gpu`) or, without
one, on the stand-in that executes the CUDA C++ on the CPU, agrees with the CPU backend. About 40 s.
"""

import concurrent.futures
import ctypes
import glob
import itertools
import math
import os
import shutil
import subprocess
import sys
import threading
import types

import numpy as np
import pytest
from cuda_on_cpu import DEVICE, shared_folder
from mini_solver_runs import restart_of, same
from mixtures_for_tests import ROOT, species_set
from test_gpu import STAND_IN, be  # noqa: F401  be: the backend: the stand-in, or a GPU with -m gpu
from test_mini_solver_kernels import states

from examples.mini_solver import clock, flow as flow_module, formulas, mailboxes, moves, ranks, stencil
from examples.mini_solver.case import Case
from examples.mini_solver.errors import CaseError, FlowError
from examples.mini_solver.expression import FUNCTIONS, Expression
from kernels import Mixture, get_backend
from kernels.engine.backend.base import Shape, Source
from kernels.engine.backend.record import layout, record, structure
from kernels.gas import declare

TARGET = get_backend("cuda", arch="sm_90")
# Takahashi's factor is tabulated in single precision: it would differ by 1e-7, and the flow by more than rounding
MIXTURE = {"file": "examples/mixtures/ch4_o2.yaml", "species": ["CH4", "O2"], "options": {"takahashi": "off"}}
LAYER = "0.5*(1 - tanh((y - 0.5e-3 + 5e-5*sin(2*pi*x/2e-3))/1e-4))"


SWITCHES = {  # dimensions, viscous, source, order, dissipation, metrics, axisymmetric
    "3d": (3, 1, 0, 6, 1, 0, 0),
    "2d": (2, 0, 1, 4, 2, 0, 0),
    "1d": (1, 1, 1, 6, 0, 0, 0),
    "metrics": (3, 1, 0, 6, 1, 1, 0),
    "axis": (2, 1, 0, 6, 1, 1, 1),
}


def stencil_cases():
    for header in sorted({kernel[0] for kernel in stencil.KERNELS.values()}):
        for ns, conservative in ((1, 0), (1, 1), (10, 0), (10, 1), (53, 1)):
            for name in ("3d", "2d", "1d", *(("metrics",) if conservative else ("axis",)) * (ns == 10)):
                yield pytest.param(header, ns, conservative, name, id=f"{header}-{ns}-{conservative}-{name}")


@pytest.mark.parametrize("header, ns, conservative, switches", list(stencil_cases()))
@pytest.mark.quick(ns=10, conservative=0, switches=["3d", "axis"])
@pytest.mark.quick(header="convective.h", ns=53, switches="2d")
@pytest.mark.quick(header="update.h", switches=["axis", "metrics"])
def test_stencils_compile_for_a_device(header, ns, conservative, switches):
    dimensions, viscous, source, order, dissipation, metrics, axisymmetric = SWITCHES[switches]
    given = dict(
        ORDER=order,
        DISSIPATION=dissipation,
        CONSERVATIVE=conservative,
        VISCOUS=viscous,
        SOURCE=source,
        DIMENSIONS=dimensions,
        METRICS=metrics,
        AXISYMMETRIC=axisymmetric,
    )
    names = [name for name, kernel in stencil.KERNELS.items() if kernel[0] == header]
    report = TARGET.compile(stencil.source(names[0], given, np.full(ns, 1 / 0.028))).report
    for name in names:
        r = report[f"{name}_box"]
        # Species arrays of 10 and fewer live in registers; a few values may be parked. More may be in `bounds`, whose
        # six blocks a multiprocessor were the fastest on an H200 with what 80 registers leave over (TILES).
        most = 1024 if name == "bounds" else 512
        assert r["registers"] <= 255 and (ns > 10 or r["spill_stores"] <= most), (name, r)


def test_moves_and_the_clock_compile_for_a_device():
    found = {**TARGET.compile(moves.SOURCE).report, **TARGET.compile(clock.SOURCE).report}
    assert set(found) == {"move_boxes", "signal_neighbours", "next_step"}
    assert all(r["spill_stores"] == 0 for r in found.values())
    assert max(moves.MOVES.itemsize, layout(clock.MEMBERS).itemsize) + 8 <= 4096  # what a launch can take along


@pytest.mark.parametrize("ns, kij", [(1, "none"), (10, "dense"), (10, "sparse"), (53, "low_rank")])
@pytest.mark.quick(ns=[1, 10])
def test_point_kernels_compile_for_a_device(ns, kij):
    flow_module.declare()
    mix = Mixture(species_set(ns, kij))
    for name in declare.kernels:
        if name.startswith("flow_"):
            r = mix.program(kernels=[name], backend=TARGET).module.report["frame_run"]
            # up to 24 species rho_k is held in registers; the default organisation gives them fewer than these sums
            # would take
            assert ns > 24 or r["spill_stores"] <= 160, (name, r)


COUNTED = """#include "engine/numbers/box.h"
template <class R, class A> POINT_FN void count_cell(const A &a, const int t, int) { a.cells[t] += 1.0; }
template <class R, class A> POINT_FN void count_face(const A &a, const int d, const int t, int) {
    a.cells[t] += 1.0 + 9.0 * d;
}
template <class R, class A> POINT_FN bool is_third(const A &a, const int t, int) {
    a.cells[t] += 1.0;
    return t % 3 == 0;
}
template <class R, class A> POINT_FN bool is_third_face(const A &a, const int d, const int t, int) {
    a.cells[t] += 1.0;
    return (t + d) % 3 == 0;
}
BOX_KERNEL(count_cells, Counted, count_cell, 128)
FACE_BOX_KERNEL(count_faces, Counted, count_face, 128)
BOX_KERNEL_THEN(count_thirds, Counted, is_third, count_cell, 128)
FACE_BOX_KERNEL_THEN(count_third_faces, Counted, is_third_face, count_face, 128)
"""


@pytest.mark.parametrize("wanted", [(5, 1, 1), (7, 0, 0), (4, 3, 0), (0, 0, 7)])
def test_a_device_takes_every_cell_of_a_box_once(be, wanted):  # noqa: F811
    """Boxes that fit no tile, thin ones, one cell; and the wider boxes of a kernel over faces. A second body takes the
    cells that asked for it."""
    members = f"cells:address {stencil.BOX} {stencil.FACES}"
    text = COUNTED.replace("template", structure("Counted", members, {"cells": "double *"}) + "template", 1)
    module, n = be.compile(Source("counted", text)), (40, 23, 19)
    cells = be.empty((n[2], n[1], n[0]))
    number = np.arange(math.prod(n)).reshape(n[::-1])
    box = [
        ((0, 0, 0), n),
        ((3, 3, 3), (37, 20, 16)),
        ((5, 0, 2), (6, 23, 3)),
        ((39, 22, 18), n),
        ((1, 2, 3), (34, 3, 18)),
    ]
    wider = [(0, 0, 0, 0, 0), (0, 3, 1, 2, 1), (0, 3, 1, 2, 16), (1, 2, 0, 1, 0)]
    for (lo, hi), (first, last, below, above, before) in itertools.product(box, wider):
        if first < last and (min(lo) < 3 or any(h + 3 > m for h, m in zip(hi, n))):
            continue
        exact, thirds = np.zeros((2, n[2], n[1], n[0]))
        for d in range(first, last) if last else [0]:
            ends = [(x - below * (c == d), h + above * (c == d)) for c, (x, h) in enumerate(zip(lo, hi))]
            inside = tuple(slice(*e) for e in ends[::-1])
            exact[inside] += 1.0 + 9.0 * d
            thirds[inside] += 1.0 + (1.0 + 9.0 * d) * ((number[inside] + d) % 3 == 0)
        size = [h - x for x, h in zip(lo, hi)]
        for d in range(first, last):
            size[d] += (below if d else before) + above
        how, items = stencil.tiling(tuple(size), wanted)
        filled = record(members, cells=be.address(cells), lo=lo, hi=hi, stride=(1, n[0], n[0] * n[1]), **how)
        for name, value in {"from": first, "to": last, "below": below, "above": above, "before": before}.items():
            filled[name] = value

        for names, wanted_counts in (
            (("count_cells", "count_faces"), exact),
            (("count_thirds", "count_third_faces"), thirds),
        ):
            cells[...] = 0.0
            module.launch(names[last > 0], Shape(128, shared=8 + 24 * 128), filled, items)
            assert np.array_equal(be.to_host(cells), wanted_counts), (names, lo, hi, first, last)


def case(scheme, viscous=True, **boundary):
    return Case(
        dict(
            mixture=MIXTURE,
            domain=dict(cells=[16, 12, 8], upper=[2e-3, 1e-3, 1e-3]),
            time={"steps": 10},
            initial=dict(
                p=1e7,
                X={"O2": LAYER, "CH4": "rest"},
                T=f"300 - 180*{LAYER}",
                u=f"40 - 60*{LAYER}",
                v="0.3*sin(2*pi*x/2e-3)",
                w="0.3*sin(2*pi*z/1e-3)",
            ),
            boundary=boundary,
            numerics=dict(scheme=scheme, viscous=viscous),
            output=dict(averages=1),
        )
    )


WALLS = dict(y_low={"kind": "wall", "T": 130.0}, y_high={"kind": "outlet", "p": 1e7})
AROUND = dict(  # an axis
    x_low={"kind": "inlet", "T": 200.0, "velocity": [40, 0, 0], "X": {"O2": 0.5, "CH4": 0.5}},
    x_high={"kind": "outlet", "p": 1e7},
    y_low="slip_wall",
    y_high={"kind": "wall", "T": 300.0},
)
INLET = dict(
    x_low={
        "kind": "inlet",
        "h": 0.0,
        "velocity": ["40*minimum(0.6 + t/1e-6, 1)", "sin(1e6*t)", 0],
        "X": {"O2": "0.5 + 1e4*t*cos(1e6*z)", "CH4": "rest"},
    },
    x_high={"kind": "outlet", "p": "1e7 + 1e9*t"},
    y_low={"kind": "wall", "T": "200 + 1e8*t", "velocity": ["where(t > 2e-7, 5, 1)", 0, 0]},
    y_high="slip_wall",
)


@pytest.mark.parametrize(
    "scheme, viscous, boundary",
    [("double_flux", True, WALLS), ("apec", True, {}), ("double_flux", False, INLET), ("apec", True, AROUND)],
)
@pytest.mark.quick(boundary={"y_low": {"kind": "wall", "T": 130.0}, "y_high": {"kind": "outlet", "p": 10000000.0}})
def test_a_run_on_the_device_agrees_with_the_cpu(be, scheme, viscous, boundary):  # noqa: F811
    if boundary is INLET:  # an inlet that lets waves out beside one that holds its velocity
        held = {**boundary["x_low"], "h": f"{enthalpy()} + 1e9*t"}
        boundary = {**boundary, "x_low": [{**held, "where": "y < 0.5e-3", "sigma": 0.27}, held]}
    fields = {}
    for name, backend in (("cpu", get_backend("cpu")), ("cuda", be)):
        given = case(scheme, viscous, **boundary)
        if boundary is AROUND:
            domain = dict(
                cells=[16, 12], upper=[2e-3, 1e-3], axisymmetric=True, stretch={"x": "exp(s)", "y": "tanh(s)"}
            )
            start = {k: 0 if k == "w" else v for k, v in given.data["initial"].items()}
            given = Case({**given.data, "domain": domain, "initial": start})
        f = flow_module.Flow(given, backend=backend)
        for _ in range(10):
            f.step()
            f.averages.add()
        names = ("rho", "u", "v", "w", "p", "T", "Y_O2")
        fields[name] = {n: f.field(n) for n in names} | f.averages.fields(names)
    # what rounding differs in, after 10 steps: 1e-12 of each field's size, of the speed for its components
    speed = max(np.abs(fields["cpu"][n]).max() for n in "uvw")
    for name, expected in fields["cpu"].items():
        assert np.isfinite(expected).all()
        kind, _, of = name.partition("_") if name.startswith(("mean", "favre", "rms", "cov")) else ("", "", name)
        size = speed if of[0] in "uvw" else np.abs(fields["cpu"][of]).max()
        found = fields["cuda"][name]
        if kind == "rms":  # what is known of a square is its root times the field's size
            expected, found, size = expected**2, found**2, size * expected.max()
        elif kind == "cov":
            size = speed * max(fields["cpu"][f"rms_{n}"].max() for n in "uvw")
        assert np.abs(found - expected).max() <= 1e-12 * size, name


@pytest.mark.parametrize(
    "scheme, viscous, boundary, graphed",
    [
        ("double_flux", True, {"y": "slip_wall"}, True),
        (
            "apec",
            True,
            {"y_low": {"kind": "wall", "velocity": [3.0, 0, 0]}, "y_high": {"kind": "outlet", "p": 1e7}},
            True,
        ),
        (
            "double_flux",
            True,
            {
                "y_low": {"kind": "wall", "T": "130 + 10*sin(1e7*t)", "velocity": ["3*sin(1e7*t)", 0, 0]},
                "y_high": WALLS["y_high"],
            },
            True,
        ),
    ],
)
@pytest.mark.quick(
    boundary={
        "y_low": {"kind": "wall", "T": "130 + 10*sin(1e7*t)", "velocity": ["3*sin(1e7*t)", 0, 0]},
        "y_high": {"kind": "outlet", "p": 10000000.0},
    }
)
def test_a_step_as_a_graph_gives_the_same_bits(be, scheme, viscous, boundary, graphed, monkeypatch):  # noqa: F811
    """Every value of a step has to come from its launches, the length of the step too."""
    states, flows, reads = [], [], []
    to_host = be.to_host
    monkeypatch.setattr(be, "to_host", lambda array: reads.append(1) or to_host(array))
    for watch in (True, None):
        f = flow_module.Flow(case(scheme, viscous, **boundary), backend=be)
        f.replay.watch = watch
        if watch:
            for _ in range(20):
                f.step()
        else:  # and the host reads nothing between them
            before = len(reads)
            assert f.advance(20) == 20 and len(reads) == before + 1
        states.append(f.state())
        flows.append(f)
    assert all(np.array_equal(states[0][k], states[1][k]) and np.isfinite(states[0][k]).all() for k in "UQ")
    replay = flows[1].replay
    assert replay.able == graphed and not replay.note and (replay.recorded is not None) == graphed
    for f in flows:
        f.timers.collect()
        assert min(f.timers.seconds[n] for n in ("flux", "update", "viscous", "time step")) > 0


FORMULAS = """sin(x) cos(y) tan(z) exp(-x) log(1+y) sqrt(t) tanh(x) sinh(x) cosh(y) arctan(x) abs(z) erf(x) floor(7*x)
where(x<y,1,-t) minimum(x,y) maximum(x,y) sign(z) sign(0*x) mod(z,0.3) mod(x,-0.2) hypot(x,y) heaviside(z,0.5)
heaviside(0*x,0.25) x+y-z*t/2 -x**2 +y//0.1 z%0.25 z%-0.25 2**-1*t (x<y)&(z>0) (x<=y)|(z>=0) ~(x<0.5) x==x x!=y
where(0<t<1,w,pi) 1e-3 w*t**0.5""".split()
NO_NUMBERS = "minimum(log(-1-x),5) maximum(5,log(-1-x)) sign(log(-1-x)) heaviside(log(-1-x),1) mod(log(-1-x),2)".split()


def test_a_formula_means_on_a_device_what_it_means_on_a_host(be):  # noqa: F811
    """Every function and operator of a formula of t, beside NumPy's. What is no number is not lost on its way."""
    assert all(any(name in f for f in FORMULAS) for name in FUNCTIONS)
    names = "x y z out".split()
    members = " ".join(f"{n}:address" for n in names) + " t:real given:address plane:whole"
    head = structure("Given", members, dict.fromkeys([*names, "given"], "double *"))
    every = FORMULAS + NO_NUMBERS
    said = "".join(f"    out[{k}] = {formulas.translated(f, {'w': 3.0}, 'here')};\n" for k, f in enumerate(every))
    text = f"""{formulas.head(2)}{head}#include "formulas.h"
POINT_FN void all_item(const Given &a, const long n) {{
    const double x = a.x[n], y = a.y[n], z = a.z[n], t = a.t;
    double *out = a.out + {len(every)} * n;
{said}}}
ITEM_KERNEL(all, Given, 64, all_item)
"""
    source = Source("formulas", text, (stencil.HERE,))
    values = np.random.default_rng(5).uniform(-1, 1, (3, 40))
    values[:2] = np.abs(values[:2])
    held, out = [be.from_host(row) for row in values], be.empty((40, len(every)))
    filled = record(members, **{n: be.address(a) for n, a in zip(names, [*held, out])}, t=0.7)
    be.compile(source).launch("all", Shape(64), filled, 40)
    rows = be.to_host(out).T
    for f, row in zip(NO_NUMBERS, rows[len(FORMULAS) :]):
        with pytest.raises(CaseError, match="is not finite everywhere"):
            Expression(f, {}, "here")(list(values))
        assert np.isnan(row).all(), f
    for f, row in zip(FORMULAS, rows):
        wanted = Expression(f, {"w": 3.0}, "here", True)(list(values), 0.7) if "0<t<1" not in f else np.full(40, 3.0)
        assert np.abs(row - wanted).max() <= 4e-15 * max(1, np.abs(wanted).max()), f
    with pytest.raises(CaseError, match="LShift in .*there is no word for it in a formula of t"):
        formulas.translated("t + (1 << 2)", {}, "here")


def test_a_formula_that_makes_no_sense_stops_a_device(be):  # noqa: F811
    """It is told as the host tells it; the queued steps behind it are not taken."""
    walls = WALLS | {"y_low": {"kind": "wall", "T": "130 - 1e9*t"}}
    f = flow_module.Flow(case("double_flux", True, **walls), backend=be)
    with pytest.raises(FlowError, match=r"y_low T: lowest value -?[\d.]+ K; the models end at 20 K"):
        f.take(40)
    assert f.time - f.dt <= 1.1e-7 < f.time


def enthalpy():
    mix = Case(
        dict(mixture=MIXTURE, domain=dict(cells=[4], upper=[1.0]), initial=dict(T=300, p=1e7), time={"steps": 1})
    ).make_mixture()
    return float(mix.properties("h", T=np.array([200.0]), p=1e7, X=np.full((2, 1), 0.5))["h"][0])


@pytest.mark.parametrize("ns, kij", [(10, "sparse"), (53, "dense")])
@pytest.mark.quick(kij="sparse")
def test_point_kernels_on_the_device(be, ns, kij):  # noqa: F811
    """In registers, and with the pairs of species on matrix units; points that do not fill a warp."""
    flow_module.declare()
    mix = Mixture(species_set(ns, kij))
    T, _, rho_k = states(ns, 41)
    values = mix.properties("p_eos e_vol cv_vol gamma_c gruneisen h_Y eps_k", T=T, rho_k=rho_k, backend="cpu")
    found = mix.properties(list(values), T=T, rho_k=rho_k, backend=be)
    for name, value in values.items():
        # two orders of the same sums; p of a liquid is the difference of terms that are up to 1000 times larger
        scale = 1e-10 * (np.abs(value) + (values["cv_vol"] * T if name in ("p_eos", "e_vol") else np.abs(value).max(0)))
        assert (np.abs(found[name] - value) <= scale).all(), name
    p = values["p_eos"]
    assert np.abs(mix.properties("T", p=p, rho_k=rho_k, backend=be)["T"] / T - 1).max() < 1e-10
    start = T * np.random.default_rng(1).uniform(0.75, 1.25, T.size)
    assert (
        np.abs(
            mix.kernel("flow_temperature_e")(e_vol=values["e_vol"], rho_k=rho_k, T=start, backend=be)["T"] / T - 1
        ).max()
        < 1e-11
    )


class Post:
    """Ranks of one process: messages lie here until all have sent. MPI matches them by tag, NCCL by the order between
    two ranks."""

    NCCL_FLOAT64 = 8
    available, NcclError = True, RuntimeError

    def __init__(self, be):  # noqa: F811
        self.be, self.sent, self.wanted, self.grouped, self.ended = be, {}, [], 0, []
        self.meeting, self.said = None, {}

    def together(self, works):
        """Each in a thread of its own, so that they can meet; their results."""
        self.meeting = threading.Barrier(len(works), timeout=60)
        with concurrent.futures.ThreadPoolExecutor(len(works)) as pool:
            done = [pool.submit(w) for w in works]
            concurrent.futures.wait(done)
        self.meeting = None
        return [d.result() for d in done]

    def allgather(self, number, size, value):
        if self.meeting is None:
            return [value] * size
        self.said[number] = value
        self.meeting.wait()
        everyone = [self.said[n] for n in range(size)]
        self.meeting.wait()
        return everyone

    def rank(self, number, size):
        return types.SimpleNamespace(
            rank=number,
            size=size,
            allgather=lambda x: self.allgather(number, size, x),
            bcast=lambda x: x,
            Isend=lambda a, to, tag: self.put((number, to, tag), a),
            Irecv=lambda a, of, tag: self.wanted.append(((of, number, tag), a)) or self,
        )

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
            assert self.grouped and self.be.arrays.memory.kind(address) == DEVICE
            return np.ctypeslib.as_array((ctypes.c_double * count).from_address(address))

        return types.SimpleNamespace(
            send=lambda p, n, kind, to, stream: self.put((number, to), at(p, n)),
            recv=lambda p, n, kind, of, stream: self.wanted.append(((of, number), at(p, n))),
            destroy=lambda: self.ended.append(number),
        )

    def groupStart(self):
        self.grouped += 1

    def groupEnd(self):
        self.grouped -= 1


class Blocks:
    """A field of known numbers, cut into the blocks of ranks that live in this process."""

    def __init__(self, be, grid, way):  # noqa: F811
        self.cells, size, self.post = (8, 9, 12), int(np.prod(grid)), Post(be)
        be.arrays.cuda.nccl = self.post
        given = Case(
            dict(
                mixture=MIXTURE,
                domain=dict(cells=list(self.cells), upper=[1.0] * 3),
                time={"steps": 1},
                initial=dict(T=300, p=1e7, X={"O2": 1}),
                boundary={"y": "slip_wall"},
                parallel={"ranks": list(grid)},
            )
        )
        self.ranks = [ranks.Ranks(given, self.post.rank(n, size)) for n in range(size)]
        self.arrays = [be.empty((2, *(n + 6 for n in r.cells[::-1]))) for r in self.ranks]
        self.alarms = [be.empty((1,)) for r in self.ranks]
        make = [
            lambda r=r, a=a, alarm=alarm: ranks.Exchange(r, a, be, way, alarm)
            for r, a, alarm in zip(self.ranks, self.arrays, self.alarms)
        ]
        self.exchanges = self.post.together(make) if way in ("ipc", "auto") else [m() for m in make]

    def set(self, seed):
        """New numbers inside, NaN in the fringes; returns what `check` takes."""
        everywhere = np.random.default_rng(seed).random((2, *self.cells[::-1]))
        for number in range(len(self.ranks)):
            self.put(number, everywhere)
        return everywhere

    def put(self, number, everywhere):
        r = self.ranks[number]
        self.arrays[number][...] = np.nan
        at = tuple(slice(f, f + n) for f, n in zip(r.first[::-1], r.cells[::-1]))
        self.arrays[number][:, 3:-3, 3:-3, 3:-3] = everywhere[(slice(None), *at)]

    def check(self, number, everywhere):
        padded = np.pad(everywhere, ((0, 0), (3, 3), (0, 0), (3, 3)), "wrap")
        padded = np.pad(
            padded, ((0, 0), (0, 0), (3, 3), (0, 0)), constant_values=np.nan
        )  # walls: not the exchange's business
        r = self.ranks[number]
        wanted = padded[(slice(None), *(slice(f, f + n + 6) for f, n in zip(r.first[::-1], r.cells[::-1])))]
        known = np.isfinite(wanted)
        assert known.sum() >= np.prod(r.cells) and np.array_equal(np.asarray(self.arrays[number])[known], wanted[known])


@pytest.mark.parametrize("way", ["cuda_mpi", "staged", "nccl", "ipc"])
@pytest.mark.parametrize("grid", [(2, 1, 1), (1, 2, 2), (2, 3, 1), (1, 1, 4)])
def test_fringes_hold_the_neighbours_cells_by_every_way(be, way, grid, monkeypatch):  # noqa: F811
    """Ranks that are neighbours twice (two in a periodic direction), once, and at a wall; corners too."""
    monkeypatch.setattr(be.arrays.cuda, "nccl", None, raising=False)  # what Blocks puts there goes with the test
    if be.arrays.__version__ != STAND_IN:
        pytest.skip("messages between ranks of one process: on the stand-in")
    blocks = Blocks(be, grid, way)
    assert {e.way for e in blocks.exchanges} == {way} and {"ipc", "staged"} <= set(ranks.ways(be))
    for seed in range(3):  # both slots of the mailboxes, and the first again
        field = blocks.set(seed)
        for d in range(3):
            waiting = [e.start(d) for e in blocks.exchanges]
            blocks.post.deliver()
            for e, w in zip(blocks.exchanges, waiting):
                e.finish(d, w)
        for number in range(len(blocks.ranks)):
            blocks.check(number, field)
    assert not any(blocks.post.sent.values())  # every message was taken
    blocks.post.together([e.close for e in blocks.exchanges])
    assert sorted(blocks.post.ended) == (list(range(len(blocks.ranks))) if way == "nccl" else [])


def test_nccl_that_is_not_there_is_told(be):  # noqa: F811
    if be.arrays.__version__ != STAND_IN:
        pytest.skip("a machine that has it")
    r = ranks.Ranks(case("apec"), Post(be).rank(0, 2))
    with pytest.raises(CaseError, match="CuPy finds no NCCL"):
        ranks.Exchange(r, be.empty((2, 10, 18, 22)), be, "nccl")


def own_devices(monkeypatch, be):  # noqa: F811
    """A device for each rank, as far as can be seen."""
    numbers = itertools.count()
    monkeypatch.setattr(be.arrays.cuda.runtime, "deviceGetPCIBusId", lambda d: f"0000:{next(numbers):02x}:00.0")


def test_a_rank_ahead_of_its_neighbour_spoils_nothing(be, monkeypatch):  # noqa: F811
    """Device to device, one rank is up to one message ahead: what its neighbour has not unpacked yet stays."""
    if be.arrays.__version__ != STAND_IN:
        pytest.skip("messages between ranks of one process: on the stand-in")
    monkeypatch.setattr(be.arrays.cuda, "nccl", None, raising=False)
    own_devices(monkeypatch, be)
    blocks = Blocks(be, (1, 1, 2), "auto")
    fast, slow = blocks.exchanges
    assert fast.way == slow.way == "ipc" and fast.traffic() == "CUDA IPC"  # what auto takes where it can
    for d in (0, 1):  # nobody to wait for
        fast.fill(d), slow.fill(d)

    def start(number, field):
        blocks.put(number, field)
        blocks.exchanges[number].start(2)

    def finish(number, field):
        for d in (0, 1):
            blocks.exchanges[number].fill(d)
        blocks.exchanges[number].finish(2, [])

    def inside(number, field):
        """The fringe in z, of cells that are not in a corner."""
        r = blocks.ranks[number]
        wanted = np.pad(field, ((0, 0), (3, 3), (0, 0), (0, 0)), "wrap")[:, r.first[2] : r.first[2] + r.cells[2] + 6]
        assert np.array_equal(np.asarray(blocks.arrays[number])[:, :, 3:-3, 3:-3], wanted)

    fields = [np.random.default_rng(seed).random((2, *blocks.cells[::-1])) for seed in range(6)]
    start(0, fields[0]), start(1, fields[0])
    for n in range(5):
        finish(0, fields[n])
        inside(0, fields[n])
        start(0, fields[n + 1])  # sent before the neighbour unpacks the one before
        finish(1, fields[n])
        inside(1, fields[n])
        start(1, fields[n + 1])
    assert not fast.complaint() and not slow.complaint()
    blocks.post.together([e.close for e in blocks.exchanges])


def test_a_neighbour_that_never_sends_is_told(be, monkeypatch):  # noqa: F811
    if be.arrays.__version__ != STAND_IN:
        pytest.skip("messages between ranks of one process: on the stand-in")
    monkeypatch.setattr(be.arrays.cuda, "nccl", None, raising=False)
    monkeypatch.setattr(mailboxes, "PATIENCE", 100)
    blocks = Blocks(be, (1, 1, 2), "ipc")
    blocks.set(0)
    blocks.alarms[0][...] = 0.0
    blocks.exchanges[0].fill(2)
    assert blocks.exchanges[0].complaint() == (
        "rank 0 waited in vain for message 1 at its low side (from rank 1); it has seen 0."
    )
    assert np.isnan(blocks.alarms[0][0]) and not blocks.exchanges[1].complaint()
    blocks.post.together([e.close for e in blocks.exchanges])


def test_a_rank_that_never_tells_its_time_step_is_told(be, monkeypatch):  # noqa: F811
    """The others do not step; the complaint names it."""
    if be.arrays.__version__ != STAND_IN:
        pytest.skip("messages between ranks of one process: on the stand-in")
    monkeypatch.setattr(clock, "PATIENCE", 100)
    f, post = flow_module.Flow(case("double_flux", False), backend=be), Post(be)
    comms = [post.rank(n, 3) for n in range(3)]
    for comm in comms:
        comm.everyone = comm.allgather
    boards = post.together([lambda comm=comm: clock.Board(comm, be) for comm in comms])
    filled = record(clock.MEMBERS, clock=be.address(f.block.arrays["clock"]), rates=be.address(be.empty((1,))))
    for name, value in boards[2].words().items():
        filled[name] = value
    be.compile(clock.SOURCE).launch("next_step", Shape(1), filled, 1)
    assert f.clock.read().failed and f.clock.read().steps == 0 and not boards[1].complaint()
    assert boards[2].complaint() == ("rank 2 waited in vain for the time step of rank 0: for number 1, and has seen 0.")
    post.together([board.close for board in boards])


@pytest.mark.parametrize("what", ["export", "open", "node", "device"])
def test_where_one_rank_cannot_open_memory_all_go_another_way(be, monkeypatch, what):  # noqa: F811
    if be.arrays.__version__ != STAND_IN:
        pytest.skip("a machine that can")
    monkeypatch.setattr(be.arrays.cuda, "nccl", None, raising=False)
    runtime, calls = be.arrays.cuda.runtime, []

    def once(function, at):
        def call(*given):
            calls.append(given)
            if len(calls) == at:
                raise runtime.CUDARuntimeError("cudaErrorNotSupported: not here")
            return function(*given)

        return call

    if what != "device":
        own_devices(monkeypatch, be)
    told = ""
    if what == "node":
        nodes = iter("aab")
        monkeypatch.setattr(mailboxes, "node", lambda: next(nodes))
        told = "on another node"
    elif what != "device":
        name = {"export": "ipcGetMemHandle", "open": "ipcOpenMemHandle"}[what]
        monkeypatch.setattr(runtime, name, once(getattr(runtime, name), 2))
        told = f"{what}ing .*device 0: cudaErrorNotSupported"
    blocks = Blocks(be, (1, 1, 3), "auto")
    assert {e.way for e in blocks.exchanges} == {"staged"}
    calls.clear()
    if what == "node":
        nodes = iter("aab")
    if what == "device":  # but asked for, it is done
        assert {e.way for e in Blocks(be, (1, 1, 3), "ipc").exchanges} == {"ipc"}
        return
    with pytest.raises(CaseError, match=rf"exchange = 'ipc': rank \d, .*{told}.*choose 'staged'"):
        Blocks(be, (1, 1, 3), "ipc")


STAND_IN_RUN = """
import pathlib, sys
import cuda_on_cpu
sys.modules["cupy"] = cuda_on_cpu.make()
from kernels.engine.backend import cuda
cuda.machine_code = cuda_on_cpu.compiler(pathlib.Path({folder!r}))
from examples.mini_solver import __main__, flow
{text}
sys.exit(__main__.main({arguments!r}))
"""


def in_processes(tmp_path_factory, number, *arguments, text="", ways=("ipc",)):
    """The solver's command on `number` ranks, each with a stand-in of its own, whose memory the others can open."""
    pytest.importorskip("mpi4py")
    if not shutil.which("mpirun") or not shutil.which("g++"):
        pytest.skip("needs mpirun and g++")
    folder = shared_folder(tmp_path_factory.getbasetemp())
    script = tmp_path_factory.mktemp("processes") / "run.py"
    script.write_text(
        STAND_IN_RUN.format(
            folder=str(folder), arguments=[*arguments, *(w for way in ways for w in ("--exchange", way))], text=text
        )
    )
    env = {
        **os.environ,
        "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    }
    memory = f"stand-in-{os.getpid()}-"  # no other run's on this machine
    done = subprocess.run(
        ["mpirun", "-n", str(number), sys.executable, str(script)],
        env=env | {"STAND_IN_MEMORY": memory},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
    )
    done.left = set(glob.glob(f"/dev/shm/{memory}*"))  # device memory that was not given back
    for path in done.left:
        os.unlink(path)
    return done


@pytest.mark.parametrize("most", (2, 4))
@pytest.mark.quick(most=2)
def test_ranks_in_processes_give_the_same_bits(tmp_path_factory, most):
    """1, 2 and 4 ranks, the last neighbours of each other twice in x and in z; every flow's memory is given back."""
    words = ("scaling", "--backend", "cuda", "--cells", "8", "--steps", "1")
    short = "import functools\nfrom examples.mini_solver import scaling\n"
    short += "scaling.ROUNDS = scaling.WARM = 1\nscaling.main = functools.partial(scaling.main, kinds=('strong',))"
    done = in_processes(tmp_path_factory, most, *words, text=short, ways=("ipc", "staged"))
    assert done.returncode == 0, done.stdout + done.stderr
    strong = [line.split() for line in done.stdout.split("weak:")[0].splitlines()[2:]]
    assert [(w[0], "CUDA IPC" in " ".join(w), w[-1]) for w in strong] == [
        ("1", False, "same"),
        ("2", True, "same"),
        ("2", False, "same"),
        *((("4", True, "same"), ("4", False, "same")) if most == 4 else ()),
    ]
    assert not done.left


JET = """
[mixture]
file = "examples/mixtures/ch4_o2.yaml"
species = ["CH4", "O2"]
[domain]
cells = [12, 10]
upper = [2e-3, 1e-3]
[initial]
p = 1e7
T = 300
X = {CH4 = 1}
[[boundary.x_low]]
kind = "inlet"
where = "abs(y - 0.5e-3) < 0.25e-3"
velocity = ["30*minimum(t/2e-7, 1)", "3*sin(1e6*t)", 0]
T = "200 + 20*cos(1e6*t)"
Y = {O2 = "1 - 0.2*sin(1e6*t)**2", CH4 = "rest"}
[[boundary.x_low]]
kind = "wall"
[boundary.x_high]
kind = "outlet"
p = "1e7 + 1e10*t"
[boundary.y]
kind = "wall"
[numerics]
viscous = true
[time]
steps = 8
[output]
restart = 10
"""


def test_formulas_of_t_on_ranks_in_processes(tmp_path_factory, tmp_path):
    """Queued steps, on 1 and 2 ranks: the same bits."""
    (tmp_path / "jet.toml").write_text(JET)
    for number in (1, 2):
        words = (str(tmp_path / "jet.toml"), "--backend", "cuda", "--folder", str(tmp_path / str(number)))
        done = in_processes(tmp_path_factory, number, *words, ways=("ipc",) * (number > 1))
        assert done.returncode == 0 and ("CUDA IPC" in done.stdout) == (number > 1), done.stdout + done.stderr
    one, two = (restart_of(tmp_path / name) for name in "12")
    assert same(one, two) and one["steps"] == 8


def test_a_rank_that_fails_ends_all(tmp_path_factory):
    """The others wait for its message on the device, where no MPI call ends the wait: the launcher ends the
    processes."""
    done = in_processes(
        tmp_path_factory,
        2,
        "scaling",
        "--backend",
        "cuda",
        "--cells",
        "8",
        "--steps",
        "1",
        text="""
advance = flow.Flow.advance
def tired(self, *given, **how):
    if self.ranks.rank == 1 and self.steps > 2:
        raise RuntimeError("this rank has had enough")
    return advance(self, *given, **how)
flow.Flow.advance = tired""",
    )
    assert done.returncode != 0 and "had enough" in done.stderr, done.stderr[-3000:]
