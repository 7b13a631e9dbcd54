"""The mini solver's CUDA: every stencil kernel compiles for sm_90; a run on the device (`pytest -m gpu`) or, without
one, on the stand-in that executes the CUDA C++ on the CPU, agrees with the CPU backend. About 40 s.
"""

import itertools
import math

import numpy as np
import pytest
from device_for_tests import STAND_IN, be  # noqa: F401  be: the backend: the stand-in, or a GPU with -m gpu
from mini_solver_runs import flow_on
from mixtures_for_tests import species_set
from test_mini_solver_kernels import states

from examples.mini_solver import clock, formulas, layer, moves, stencil
from examples.mini_solver.case import Case
from examples.mini_solver.errors import CaseError, FlowError
from examples.mini_solver.expression import FUNCTIONS, Expression
from kernels import Mixture, get_backend, registry
from kernels.engine.backend.base import Shape, Source
from kernels.engine.backend.record import layout, record, structure

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
    for header in sorted({kernel.header for kernel in stencil.KERNELS.values()}):
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
        PHASES=int(conservative and switches == "2d"),
    )

    names = [name for name, kernel in stencil.KERNELS.items() if kernel.header == header]
    report = TARGET.compile(stencil.source(names[0], given, np.full(ns, 1 / 0.028))).report

    for name in names:
        r = report[f"{name}_box"]
        # Species arrays of 10 and fewer live in registers; a few values may be parked. More may be in `bounds`, whose
        # six blocks a multiprocessor were the fastest on an H200 with what 80 registers leave over (Tile).
        most = 1024 if name == "bounds" else 512
        assert r["registers"] <= 255 and (ns > 10 or r["spill_stores"] <= most), (name, r)


def test_moves_and_the_clock_compile_for_a_device():
    found = {**TARGET.compile(moves.SOURCE).report, **TARGET.compile(clock.SOURCE).report}
    assert set(found) == {"move_boxes", "signal_neighbours", "next_step"}
    assert all(r["spill_stores"] == 0 for r in found.values())
    assert max(moves.MOVES.itemsize, layout(clock.MEMBERS).itemsize) + 8 <= 4096  # what a launch can take along


# Bytes that a thread may spill. What a smooth alpha takes beyond its bends is in a function of its own.
SPILLS = {"published": 160, "smooth": 64, "mapped": 0}


@pytest.mark.parametrize("model", SPILLS)
@pytest.mark.parametrize("ns, kij", [(1, "none"), (10, "dense"), (10, "sparse"), (53, "low_rank")])
@pytest.mark.quick(ns=[1, 10])
def test_point_kernels_compile_for_a_device(ns, kij, model):
    layer.declare()

    mix = Mixture(species_set(ns, kij), **(dict(equation=model) if model == "mapped" else dict(alpha=model)))
    for name, kernel in registry.kernels.items():
        if "flow_" in name and kernel.serves(mix.options):
            r = mix.program(kernels=[name], backend=TARGET).module.report["frame_run"]
            # up to 24 species rho_k is held in registers; the default organisation gives them fewer than these sums
            # would take
            assert ns > 24 or r["spill_stores"] <= SPILLS[model], (name, r)


@pytest.mark.full
def test_point_kernels_of_phases_compile_for_a_device():
    """The solver's own kernels beside the layer's kernels of two phases, which have the search for a state."""
    layer.declare()

    mix = Mixture(species_set(2), phases="equilibrium")
    names = [n for n, kernel in registry.kernels.items() if "flow_" in n and kernel.serves(mix.options)]
    assert {"flow_volume", "equilibrium_flow_temperature_e", "equilibrium_flow_waves"} < set(names)
    assert "flow_state" not in names  # of one phase

    for name in names:
        r = mix.program(kernels=[name], backend=TARGET).module.report["frame_run"]
        assert r["registers"] <= 255 and r["spill_stores"] <= 1024, (name, r)


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

        f = flow_on(backend, given)
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
        f = flow_on(be, case(scheme, viscous, **boundary))
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
        seconds = layer.seconds(f.frame)
        assert min(seconds[n] for n in ("flux", "update", "viscous", "time step")) > 0


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


@pytest.mark.full
def test_a_formula_that_makes_no_sense_stops_a_device(be):  # noqa: F811
    """It is told as the host tells it; the queued steps behind it are not taken."""
    walls = WALLS | {"y_low": {"kind": "wall", "T": "130 - 1e9*t"}}
    f = flow_on(be, case("double_flux", True, **walls))
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
    layer.declare()
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


@pytest.mark.full
def test_phases_on_a_device(be):  # noqa: F811
    """As on a CPU, 10 steps of a flow of CH4/O2 that boils between walls. 1e-9: a search ends within 1e-11, p of a
    liquid has a hundred times its error."""
    mixture = {**MIXTURE, "options": {"phases": "equilibrium"}}
    initial = dict(p=2e6, T="150 + 20*cos(pi*x)*cos(2*pi*y)", u="20*sin(pi*x)", X={"CH4": 0.6, "O2": "rest"})
    boundary = {"x": "slip_wall", "y_low": {"kind": "wall", "T": 160.0}, "y_high": {"kind": "outlet", "p": 2e6}}
    fields = []

    for backend in (get_backend("cpu"), be):
        given = dict(
            mixture=mixture,
            domain=dict(cells=[12, 10], upper=[1.0, 1.0]),
            initial=initial,
            boundary=boundary,
            numerics={"scheme": "apec"},
            time={"steps": 10},
        )
        f = flow_on(backend, Case(given))
        f.take(10)
        fields.append({name: f.field(name) for name in ("rho", "u", "p", "T", "beta_volume", "phases_status")})

    cpu, device = fields
    assert {0.0, 1.0} == set(cpu["phases_status"].ravel()) and np.array_equal(
        cpu["phases_status"], device["phases_status"]
    )
    for name, expected in cpu.items():
        assert np.abs(device[name] - expected).max() <= 1e-9 * np.abs(expected).max(), name
