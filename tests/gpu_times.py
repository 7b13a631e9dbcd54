"""Times on a CUDA device: collections on device-resident data, copies between a host's block and the device, a launch.

python tests/gpu_times.py [points]      medians of 20 launches between device events, after 3 that warm up
"""

import statistics
import sys
import time

import numpy as np
from mixtures_for_tests import species_set
from states import random_states

from kernels import Mixture, get_backend, registry
from kernels.marshal import Block, Marshal


def seconds(be, work, repeats=20):
    """Median device seconds of work()."""
    for _ in range(3):
        work()
    marks = [be.mark()]

    for _ in range(repeats):
        work()
        marks.append(be.mark())

    return statistics.median(be.elapsed(a, b) for a, b in zip(marks, marks[1:]))


def wall_seconds(be, work, repeats=7):
    """Median seconds on the host's clock of work() and what it queued."""
    times = []
    for _ in range(repeats + 2):
        be.synchronize()
        start = time.perf_counter()
        work()
        be.synchronize()
        times.append(time.perf_counter() - start)

    return statistics.median(times[2:])


def collections(
    be,
    points,
    cases=((1, "none"), (10, "none"), (10, "dense"), (53, "none"), (53, "dense")),
    names=("thermal", "viscous", "thermal_viscous"),
):
    cpu = get_backend("cpu")
    print(
        f"{'collection':<17}{'NS':>4} "
        f"{'k_ij':<6}{'Gpoint/s':>9}{'GB/s':>7}{'B/point':>8}{'worst difference from the CPU':>31}"
    )

    for name in names:
        c = registry.collections[name]
        for ns, kij in cases:
            mix, n = Mixture(species_set(ns, kij), equation="pr"), points if ns < 20 else points // 4
            T, p, Y = random_states(ns, 4096, seed=31)
            many = -(-n // 4096)
            state = {"T": np.tile(T, many)[:n], "p": np.tile(p, many)[:n], "Y": np.tile(Y, many)[:, :n]}
            if "rho" in c.given:
                state["rho"] = np.tile(mix.properties("rho", T=T, p=p, Y=Y, backend=cpu)["rho"], many)[:n]
            program = mix.program(outputs=c.outputs, given=c.given, backend=be)

            arrays = {
                a: be.from_host(np.ascontiguousarray(state[a]).reshape(-1, n))
                if a in state
                else be.empty((program.plan.rows(a), n))
                for a in program.plan.arguments
            }

            run = program.bind(arrays)
            t = seconds(be, lambda: run(n))
            size = 8 * sum(program.plan.rows(a) for a in program.plan.arguments)

            check = mix.properties(
                list(program.writes), backend=cpu, **{a: state[a][..., :4096] for a in program.reads}
            )
            worst = max(
                (relative(be.to_host(arrays[w])[:, :4096].reshape(check[w].shape), check[w]), w) for w in program.writes
            )

            print(
                f"{name:<17}{ns:>4} "
                f"{kij:<6}{n / t * 1e-9:>9.3f}{n * size / t * 1e-9:>7.0f}{size:>8}{f'{worst[0]:.1e} ({worst[1]})':>31}",
                flush=True,
            )


def relative(got, expected):
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.nanmax(np.abs(got - expected) / np.maximum(np.abs(expected), 1e-300)))


def copies(be):
    """A block of 128^3 points and 12 variables, fringe 3, whole and in chunks, useful bytes a second."""
    shape, fringe, variables = (134, 134, 134), 3, 12
    field = np.zeros((*shape, variables), order="F")
    field[...] = np.random.default_rng(1).random((*shape, 1))
    strides = tuple(s // 8 for s in field.strides)
    inner = tuple(s - 2 * fringe for s in shape)
    device = be.from_host(field.reshape(-1, order="F"))
    print(f"{'block to stripe, GB/s':<34}{'chunk':>9}{'in':>8}{'out':>8}")

    for where in ("pageable", "pinned", "device"):
        address = device.data.ptr if where == "device" else field.ctypes.data
        block = Block(
            address,
            (*shape, variables),
            strides,
            (fringe,) * 3 + (0,),
            (*inner, variables),
            on_device=where == "device",
        )

        if where == "pinned":
            start = time.perf_counter()
            be.arrays.cuda.runtime.hostRegister(field.ctypes.data, field.nbytes, 0)
            took = time.perf_counter() - start
            print(f"pinning {field.nbytes / 2**20:.0f} MiB took {took * 1e3:.1f} ms")

        for chunk in (16384, 131072, block.points):
            view = be.empty((variables, be.pad(chunk)))
            pieces = [(s, min(chunk, block.points - s)) for s in range(0, block.points, chunk)]
            useful = 8e-9 * block.points * variables
            into = wall_seconds(be, lambda: [Marshal(be).gather(block, s, c, view) for s, c in pieces])
            out = wall_seconds(be, lambda: [Marshal(be).scatter(block, s, c, view) for s, c in pieces])
            print(f"{where:<34}{chunk:>9}{useful / into:>8.1f}{useful / out:>8.1f}", flush=True)

    be.arrays.cuda.runtime.hostUnregister(field.ctypes.data)
    impl_times(be, (134, 134, 134), 3)


def impl_times(be, shape, fringe):
    """The block call, and the chunk loop of the old style, on pageable arrays and on ones that the host has pinned; T,
    p, Y in, rho, h, c, mu, lam, D out: NS = 10, Takahashi off, so that copies count. All three have to give the same
    bits."""
    from frame.impl import Sizes, TVImpl

    ns, names = 10, ("rho", "h", "c", "mu", "lam", "D")
    T, p = np.full(shape + (1,), 900.0, order="F"), np.full(shape + (1,), 1e7, order="F")
    Y = np.full(shape + (ns,), 1 / ns, order="F")
    results = [np.zeros(shape + (ns if n == "D" else 1,), order="F") for n in names]
    inner = tuple(s - 2 * fringe for s in shape)

    def block(field):
        return Block(
            field.ctypes.data,
            field.shape,
            tuple(s // 8 for s in field.strides),
            (fringe,) * 3 + (0,),
            (*inner, field.shape[3]),
        )

    points, given, wanted = (
        block(T).points,
        [("T", block(T)), ("p", block(p)), ("Y", block(Y))],
        [(n, block(f)) for n, f in zip(names, results)],
    )

    first = None

    def loop(impl):
        for start in range(1, points + 1, impl.chunk):
            end = min(start + impl.chunk - 1, points)
            for name, b in given:
                impl.populate_input(name, b, start, end)
            impl.safe_launch("thermal_viscous", end - start + 1)
            for name, b in wanted:
                impl.populate_output(name, b, start, end)

    print(f"{'thermal_viscous, NS = 10':<34}{'chunk':>9}{'ns/point':>9}{'GB/s':>8}")
    for held in (False, True):
        began = time.perf_counter()
        if held:
            for f in (T, p, Y, *results):
                be.pin(f.ctypes.data, f.nbytes)
            size = sum(f.nbytes for f in (T, p, Y, *results))
            print(f"pinning these {size / 2**20:.0f} MiB took {(time.perf_counter() - began) * 1e3:.1f} ms")

        for chunk in (16384, 131072, 1048576):
            impl = TVImpl(be, Sizes(chunk, ns))
            impl.set_mixture(Mixture(species_set(ns), equation="pr", takahashi="off"))

            for what, work in (
                ("block call", lambda: impl.block("thermal_viscous", given, wanted)),
                ("chunk loop", lambda: loop(impl)),
            ):
                for f in results:
                    f[...] = np.nan
                t = wall_seconds(be, work, 5)
                first = first or [f.tobytes() for f in results]
                same = all(f.tobytes() == b for f, b in zip(results, first))
                label = what + (", pinned once" if held else ", pageable") + ("" if same else ", OTHER BITS")

                print(
                    f"{label:<34}{chunk:>9}{t / points * 1e9:>9.1f}{8e-9 * points * (12 + 15) / t:>8.1f}",
                    flush=True,
                )

    for f in (T, p, Y, *results):
        be.unpin(f.ctypes.data, f.nbytes)


def device_boxes(be, inner=128, fringe=3, calls=20):
    """Block calls on arrays of the device: whole arrays, which are worked on in place, and the inner points of larger
    ones, which are copied on the device. NS = 10; rho, h, mu out."""
    from frame.impl import Sizes
    from frame.stripe import Field
    from frame.tvproperties import TVProperties

    ns, nowhere = 10, (None,) * 4
    print(f"{'block call on the device, NS = 10':<34}{'points':>9}{'ns/point':>9}{'GB/s':>8}")

    for what, ghosts in (("whole arrays", 0), ("the inner points of larger ones", fringe)):
        edge = inner + 2 * ghosts
        shape, n = (edge,) * 3, edge**3
        properties = TVProperties(be, Sizes(131072, ns), {})
        properties.impl.set_mixture(Mixture(species_set(ns), equation="pr"))
        properties.set_stream(0)
        rows = {"T": np.full((1, n), 900.0), "p": np.full((1, n), 1e7), "Y": np.full((ns, n), 1 / ns)}
        rows |= {name: np.zeros((1, n)) for name in ("rho", "h", "mu")}
        arrays = {name: be.from_host(row) for name, row in rows.items()}
        strides = (8, 8 * edge, 8 * edge**2, 8 * n)

        fields = [
            Field(
                name,
                name in ("rho", "h", "mu"),
                be.address(array),
                shape + ((ns,) if name == "Y" else ()),
                strides[: 4 if name == "Y" else 3],
                (1,) * (4 if name == "Y" else 3),
                8,
            )
            for name, array in arrays.items()
        ]

        box = ((1 + ghosts,) * 3 + (None,), (inner + ghosts,) * 3 + (None,)) if ghosts else (nowhere, nowhere)
        work = lambda: [properties.block_of_fields("thermal_viscous", fields, *box) for _ in range(calls)]
        t = wall_seconds(be, work) / calls
        print(
            f"{what:<34}{inner**3:>9}{t / inner**3 * 1e9:>9.4f}{8e-9 * inner**3 * (2 + ns + 3) / t:>8.0f}", flush=True
        )


def launch(be):
    mix = Mixture(species_set(1), equation="pr")
    program = mix.program(outputs=("rho",), given=("T", "p", "Y"), backend=be)
    run = program.bind({a: be.from_host(np.full((program.plan.rows(a), 32), 300.0)) for a in program.plan.arguments})
    for name, work in (("one launch from Python", lambda: run(32)), ("one mark", be.mark)):
        print(f"{name:<34}{wall_seconds(be, lambda: [work() for _ in range(1000)]) * 1e3:>9.2f} us")


if __name__ == "__main__":
    backend = get_backend("cuda")
    print(", ".join(f"{k} {v}" for k, v in backend.describe().items()))
    launch(backend)
    copies(backend)
    device_boxes(backend)
    n_points = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    collections(backend, n_points)
