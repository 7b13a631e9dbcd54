"""A run from case file to summary: the loop, output, signals, failures.

report.py      what it tells
results.py     the folder of its results
restart.py     files from which it goes on
fields.py      fields and averages for ParaView
history.py     integrals and probes
pictures.py    frames, a film
files.py       HDF5 from the blocks of all ranks
"""

import contextlib
import math
import pathlib
import signal
import sys

from .errors import FlowError, OutputError, check_known
from .fields import AverageFile, FieldFiles, output_names
from .flow import Flow
from .history import History
from .pictures import Frames
from .report import Report
from .restart import RESTART, read_restart, write_restart
from .results import prepare, writes

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Run:
    """A case being computed. restart: file to start from; folder: of its results; out: where lines go on rank 0;
    overwrite: results of an earlier run in the folder are given up."""

    def __init__(self, case, comm=None, restart=None, folder=None, out=sys.stdout, overwrite=False):
        self.case = case
        self.folder = pathlib.Path(folder or case.output["folder"] or f"build/mini_solver/{case.name}")
        self.flow = flow = Flow(case, comm)
        known = [*output_names(flow), "u", "v", "w", "mach", "rho", *(f"Y_{n}" for n in flow.mixture.names)]
        check_known(case.output["frame"], list(dict.fromkeys(known)), "[output] frame: unknown field")
        flow.balance.start = flow.sums()
        if restart:
            read_restart(flow, restart)
        if writes(case):
            prepare(flow, self.folder, bool(restart), overwrite)
        self.fields = FieldFiles(flow, self.folder, bool(restart))
        self.frames = Frames(flow, self.folder, case.output, bool(restart))
        self.history = History(flow, self.folder, bool(restart))
        self.averages = AverageFile(flow, self.folder) if flow.averages else None
        self.report = Report(flow, out)
        self.asked_to_stop, self._kept = False, None

    def __call__(self) -> int:
        """Exit status: 0 done, 3 stopped by a signal with a restart written."""
        f, c, report = self.flow, self.case, self.report
        old = {s: signal.signal(s, self._stop) for s in SIGNALS}
        report.announce()

        try:
            report.line()
            self._write(start=True)

            while not self._done():
                if self._stopping():
                    self._write_sums()
                    self._keep()
                    where = self.folder / RESTART
                    report.say(f"stopped at step {f.steps}, t = {f.time:.6e} s; continue with --restart {where}")

                    return 3

                target = self._target()
                f.advance(self._ahead(target[0]), *target)
                if c.output["report"] and f.steps % c.output["report"] == 0 or self._done():
                    report.line()
                self._write()
                report.after_step()

            if c.output["restart"]:
                self._keep()
        except FlowError:
            with contextlib.suppress(OutputError):
                self.history.write(f)  # rows of the flow before it failed
            raise
        finally:
            for s, handler in old.items():
                signal.signal(s, handler)

        report.summary(self._files)

        return 0

    def _files(self):
        """A line for each kind of file that was written."""
        film = self.frames.animate()
        if film:
            yield f"pictures: {film}"
        if self.fields.written:
            yield f"fields: {self.folder / 'fields.xmf'}"
        if self.history.rows:
            yield f"history: {self.history.path}"
        if self.averages and self.flow.averages.weight:
            yield f"averages: {self.averages.path} over {self.flow.averages.weight:g} s"

    def _stop(self, number, frame):
        self.asked_to_stop = True

    def _stopping(self):
        """Whether any rank was asked to stop: all then stop at the same step."""
        return self.flow.ranks.smallest([-float(self.asked_to_stop)])[0] < 0

    def _done(self):
        f, t = self.flow, self.case.time
        return bool(t["steps"] and f.steps >= t["steps"]) or f.time >= t["end"] * (1 - 1e-12)

    def _target(self):
        """(time at which the next steps end, time from which on they have): the end of the run or a time of output."""
        o, t, end = self.case.output, self.flow.time, self.case.time["end"]
        targets = [(end, end * (1 - 1e-12))]
        for step in (o[key] for key in ("fields_time", "frames_time") if o[key]):
            number = math.floor(t / step)

            def reached(n, step=step):
                return n * step * (1 - 5e-10)  # half of what _due takes for the same time

            while t >= reached(number):
                number += 1
            targets.append((number * step, reached(number)))

        return min(targets)

    def _ahead(self, until):
        """How many steps there are before the host has something to do, or as far as is known before this time."""
        o, f, t = self.case.output, self.flow, self.case.time
        every = [o[key] for key in ("report", "restart", "fields", "frames", "history", "averages") if o[key]]
        left = [n - f.steps % n for n in every] + [t["steps"] - f.steps] * bool(t["steps"]) + self.report.next_step()
        if f.dt > 0 and math.isfinite(until):  # a step more, in case they become shorter
            left.append(math.ceil(min((until - f.time) / f.dt, 1e9)) + 1)

        return max(1, min([f.queue, *left]))

    def _due(self, what, start):
        o, f = self.case.output, self.flow
        if start:
            return bool(o[what] or o[f"{what}_time"])
        if o[what] and (f.steps % o[what] == 0):
            return True
        step = o[f"{what}_time"]

        return bool(step) and abs(f.time / step - round(f.time / step)) < 1e-9 * max(1, f.time / step)

    def _keep(self):
        """Write a restart file, at most one of each state: so the file before it is of an earlier state."""
        if self._kept != self.flow.steps:
            write_restart(self.flow, self.folder)
            self._kept = self.flow.steps

    def _write_sums(self):
        """Write the history and the averages: files that are written as a whole."""
        self.history.write(self.flow)
        if self.averages:
            self.averages.write(self.flow)

    def _write(self, start=False):
        f, o = self.flow, self.case.output

        fields, frames = (self._due(what, start) for what in ("fields", "frames"))
        restart = o["restart"] and not start and f.steps % o["restart"] == 0
        history = o["history"] and f.steps % o["history"] == 0 and f.steps not in self.history.rows.get("step", ())
        with f.frame.timed("output"):
            if fields or frames or history or f.chemistry and (restart or self._done()):
                f.check()  # nothing of a flow that has failed is written
            if history:
                self.history.add(f)
            if f.averages and f.averages.due():
                f.averages.add()
            if restart or self._done():
                self._write_sums()
            if fields:
                self.fields.write(f)
            if frames:
                self.frames.write(f)
            if restart:
                self._keep()


def main(case, comm=None, restart=None, folder=None, overwrite=False) -> int:
    """Run a case; messages for the user on stderr. A rank that fails ends all; the last restart file stays."""
    rank = comm.rank if comm is not None else 0
    try:
        run = Run(case, comm, restart, folder, overwrite=overwrite)
        status = run()
        run.flow.close()
        return status
    except FlowError as error:  # raised on every rank
        if rank == 0:
            print(f"the run failed: {error}", file=sys.stderr, flush=True)
        return 1
