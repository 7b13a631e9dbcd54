"""A run from case file to summary: progress, output, signals, failures."""

import math
import os
import pathlib
import signal
import sys
import time

import numpy as np

from . import output
from .case import AXES
from .errors import FlowError, check_known
from .flow import RUNGE_KUTTA, SAMPLE, Flow

SIGNALS = (signal.SIGINT, signal.SIGTERM)
SETTLED = (100, 1000)  # steps after which memory is looked at: by then a run and its libraries have what they need


def resident() -> float:
    """Memory of this process that is in use [MiB]; 0 where the system does not tell."""
    try:
        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


class Run:
    """A case being computed. restart: file to start from; out: where lines go on rank 0."""

    def __init__(self, case, comm=None, restart=None, folder=None, out=sys.stdout, backend=None):
        self.case, self.out = case, out
        self.folder = pathlib.Path(folder or case.output["folder"] or f"build/mini_solver/{case.name}")
        self.flow = flow = Flow(case, comm, backend)
        known = [*output.output_names(flow), "u", "v", "w", "mach", "rho", *(f"Y_{n}" for n in flow.mixture.names)]
        check_known(case.output["frame"], list(dict.fromkeys(known)), "[output] frame: unknown field")
        flow.start_sums = flow.sums()
        if restart:
            output.read_restart(flow, restart)
        self.fields = output.FieldFiles(flow, self.folder, bool(restart))
        self.frames = output.Frames(flow, self.folder, case.output["frame"], case.output["frame_ms"], bool(restart))
        self.asked_to_stop = False
        self._momentum_scale = flow.momentum_scale()
        self._changes, self._memory = {}, []  # largest changes of what should stay; memory, for the summary

    def say(self, text=""):
        if self.flow.ranks.rank == 0:
            print(text, file=self.out, flush=True)

    # ---- the head and the lines
    def announce(self):
        f, c = self.flow, self.case
        n = c.numerics
        lines = [
            f"{c.title}",
            f"  {' x '.join(map(str, c.cells[: f.dimensions]))} cells, {f.ns} species "
            f"({', '.join(f.mixture.names[:8])}), {f.ranks.size} rank{'s' if f.ranks.size > 1 else ''} as "
            f"{' x '.join(map(str, f.ranks.grid[: f.dimensions]))}, backend {f.backend}, "
            f"exchange: {f.exchange.traffic()}",
            f"  {n['scheme']}, order {n['order']}, dissipation {n['dissipation']}, {n['runge_kutta']}, CFL {n['cfl']}"
            + (", viscous" if f.viscous else ", inviscid"),
            "  dE: change of the total energy since the start, over sum(rho cv T)"
            + ("" if f.conservative else "; the price of double flux"),
            f"{'step':>8} {'t [s]':>12} {'dt [s]':>10} {'CFL':>5} {'p min .. max [MPa]':>20} "
            f"{'T min .. max [K]':>19} {'d rho/dt':>9} {'dmass':>9} {'dE':>9} {'points/s':>9} {'left':>8}",
        ]
        if f.viscous:
            lines.insert(
                3,
                "  mixture-averaged D for gradients of mole fractions, with correction velocity; no Soret effect, no "
                "pressure diffusion, no thermodynamic factor",
            )
        self.say("\n".join(lines))

    def line(self, began, steps_began):
        f = self.flow
        sums = f.sums()
        p, T, rho = (f.field(name) for name in ("p", "T", "rho"))
        change = math.nan
        if self._last_rho is not None:
            change = float(np.abs(rho - self._last_rho).max()) / max(f.time - self._last_time, 1e-300)
        self._last_rho, self._last_time = rho, f.time
        low_p, high_p, low_T, high_T, change = f.ranks.smallest([p.min(), -p.max(), T.min(), -T.max(), -change])
        mass = float(np.abs(sums[: f.ns] - f.start_sums[: f.ns]).max() / f.start_sums[: f.ns].sum())
        self._watch(sums, mass)
        energy = float((sums[-2] - f.start_sums[-2]) / f.start_sums[-1])
        took, done = time.perf_counter() - began, f.steps - steps_began
        rate = done * float(np.prod(self.case.cells)) / took if done else 0.0
        self.say(
            f"{f.steps:8d} {f.time:12.5e} {f.dt:10.3e} {f.cfl:5.2f} {low_p * 1e-6:9.4f} .. {-high_p * 1e-6:7.4f} "
            f"{low_T:8.2f} .. {-high_T:7.2f} "
            f"{-change if np.isfinite(change) else 0:9.2e} {mass:9.1e} {energy:9.1e} {rate:9.2e} "
            f"{self._left(took, done):>8}"
        )

    def _watch(self, sums, mass):
        """Keep the largest changes of the sums that the sides of this case should not change."""
        f, sides = self.flow, self.case.boundary
        kinds = {d: {s["kind"] for s in pair} for d, pair in sides.items()}
        everywhere = set().union(*kinds.values())
        still = all(not s.get("T") and not any(s.get("velocity", ())) for pair in sides.values() for s in pair)
        changes = {}
        if everywhere <= {"periodic", "slip_wall", "wall"}:
            changes["mass of a species"] = mass
        for c in range(f.dimensions):
            if kinds[c] == {"periodic"} and everywhere <= {"periodic", "slip_wall"}:
                moved = abs(float(sums[f.ns + c] - f.start_sums[f.ns + c]))
                changes[f"momentum in {AXES[c]}"] = moved / max(self._momentum_scale, 1e-300)
        if everywhere <= {"periodic", "slip_wall", "wall"} and still:
            changes["energy"] = abs(float((sums[-2] - f.start_sums[-2]) / f.start_sums[-1]))
        self._changes = {k: max(v, self._changes.get(k, 0.0)) for k, v in changes.items()}

    def _left(self, took, done):
        if not done:
            return "-"
        f, t = self.flow, self.case.time
        parts = []
        if t["steps"]:
            parts.append((t["steps"] - f.steps) / done)
        if math.isfinite(t["end"]) and f.time > self._time_began:
            parts.append((t["end"] - f.time) / (f.time - self._time_began))
        seconds = max(min(parts, default=0.0), 0.0) * took
        return (
            f"{seconds:.0f} s"
            if seconds < 600
            else f"{seconds / 60:.0f} min"
            if seconds < 36000
            else f"{seconds / 3600:.0f} h"
        )

    # ---- the loop
    def __call__(self) -> int:
        """Exit status: 0 done, 3 stopped by a signal with a restart written."""
        f, c = self.flow, self.case
        old = {s: signal.signal(s, self._stop) for s in SIGNALS}
        self._last_rho, self._last_time, self._time_began = None, f.time, f.time
        self.announce()
        began, steps_began = time.perf_counter(), f.steps
        try:
            self.line(began, steps_began)
            self._write(start=True)
            while not self._done():
                if self._stopping():
                    output.write_restart(f, self.folder / "restart.h5")
                    self.say(
                        f"stopped at step {f.steps}, t = {f.time:.6e} s; continue with --restart "
                        f"{self.folder / 'restart.h5'}"
                    )
                    return 3
                f.step(self._limit())
                if c.output["report"] and f.steps % c.output["report"] == 0 or self._done():
                    self.line(began, steps_began)
                self._write()
                if f.steps - steps_began in SETTLED:
                    self._memory.append(
                        f"{float(f.ranks.total([resident()])[0]):.1f} MiB after {f.steps - steps_began} steps"
                    )
            if c.output["restart"]:
                output.write_restart(f, self.folder / "restart.h5")
        finally:
            for s, handler in old.items():
                signal.signal(s, handler)
        self._summary(time.perf_counter() - began, f.steps - steps_began)
        return 0

    def _stop(self, number, frame):
        self.asked_to_stop = True

    def _stopping(self):
        """Whether any rank was asked to stop: all then stop at the same step."""
        return self.flow.ranks.smallest([-float(self.asked_to_stop)])[0] < 0

    def _done(self):
        f, t = self.flow, self.case.time
        return bool(t["steps"] and f.steps >= t["steps"]) or f.time >= t["end"] * (1 - 1e-12)

    def _limit(self):
        """Steps end at the end of the run and at the times of output."""
        o, t = self.case.output, self.flow.time
        steps = [o[key] for key in ("fields_time", "frames_time") if o[key]]
        limits = [(math.floor(t / step * (1 + 1e-12) + 1e-9) + 1) * step - t for step in steps]
        return min([self.case.time["end"] - t, *limits])

    def _due(self, what, start):
        o, f = self.case.output, self.flow
        if start:
            return bool(o[what] or o[f"{what}_time"])
        if o[what] and (f.steps % o[what] == 0):
            return True
        step = o[f"{what}_time"]
        return bool(step) and abs(f.time / step - round(f.time / step)) < 1e-9 * max(1, f.time / step)

    def _write(self, start=False):
        f, o = self.flow, self.case.output
        with f.timed("output"):
            if self._due("fields", start):
                self.fields.write(f)
            if self._due("frames", start):
                self.frames.write(f)
            if o["restart"] and not start and f.steps % o["restart"] == 0:
                output.write_restart(f, self.folder / "restart.h5")

    def _summary(self, took, steps):
        f = self.flow
        memory = float(f.ranks.total([resident()])[0])  # before the pictures are put together
        if f.ranks.rank == 0:
            gif = self.frames.animate()
            if gif:
                self.say(f"pictures: {gif}")
            if self.fields.written:
                self.say(f"fields: {self.folder / 'fields.xmf'}")
        f.collect_times()
        if self._changes:
            self.say(
                "largest change since the start: "
                + ", ".join(f"{k} {v:.1e}" for k, v in self._changes.items())
                + ("" if f.conservative or "energy" not in self._changes else " (double flux does not conserve energy)")
            )
        if self._memory:
            self.say(f"memory: {', '.join(self._memory)}, {memory:.1f} MiB at the end")
        points = float(np.prod(self.case.cells)) * steps
        stages = len(RUNGE_KUTTA[self.case.numerics["runge_kutta"]])
        self.say(
            f"{steps} steps in {took:.2f} s, {points / max(took, 1e-9):.3e} point steps/s ({stages} stages a step)"
        )
        total = sum(f.seconds.values())
        if f.graphed and steps > SAMPLE:
            self.say(
                f"  timed: every {SAMPLE}th step, launched kernel by kernel and counted for those between, which as "
                "CUDA graphs take less:"
            )
        for name, seconds in f.seconds.most_common():
            self.say(f"  {name:<12} {seconds:9.3f} s {100 * seconds / max(total, 1e-12):5.1f} %")


def main(case, comm=None, restart=None, folder=None) -> int:
    """Run a case; messages for the user on stderr. A rank that fails ends all; the last restart file stays."""
    rank = comm.rank if comm is not None else 0
    try:
        run = Run(case, comm, restart, folder)
        status = run()
        run.flow.close()
        return status
    except FlowError as error:  # raised on every rank
        if rank == 0:
            print(f"the run failed: {error}", file=sys.stderr, flush=True)
        return 2
