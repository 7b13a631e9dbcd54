"""A run from case file to summary: the loop, output, signals, failures.

report.py      lines on the screen
results.py     the folder of its results
restart.py     files from which a run continues
fields.py      fields and averages for ParaView and pyvista
history.py     integrals and probes
frames.py      frames, a film; artist.py has them drawn by a process, studio.py; pictures.py
files.py       HDF5 from the blocks of all ranks; writer.py writes while the flow goes on
"""

import contextlib
import math
import pathlib
import signal
import sys

from frame.streams import lose_what_nobody_reads

from .artist import Artist
from .errors import FlowError, OutputError
from .fields import AverageFile, FieldFiles
from .files import Files, hdf5
from .flow import Flow
from .frames import Frames, refuse_output
from .history import History
from .report import Report
from .restart import RESTART, read_restart, refuse_restart, write_restart
from .results import draws, prepare, refuse_earlier, writes

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Run:
    """A case being computed.

    restart: file to start from. folder: of its results. out: where lines go on rank 0, None: standard output.
    overwrite: results of an earlier run in the folder are given up.
    """

    def __init__(self, case, comm=None, restart=None, folder=None, out=None, overwrite=False):
        self.case = case
        self.folder = pathlib.Path(folder or case.output["folder"] or f"build/mini_solver/{case.name}")

        with contextlib.ExitStack() as stack:
            artist = stack.enter_context(Artist())
            if draws(case) and (comm is None or comm.rank == 0):
                artist.begin()  # it loads what it needs while the flow is set up

            def look(flow):  # before anything is compiled
                refuse_output(flow)
                if restart:
                    refuse_restart(flow, restart)
                if writes(case):
                    refuse_earlier(flow, self.folder, bool(restart) or overwrite)

            self.flow = flow = Flow(case, comm, look=look)
            flow.balance.start = flow.sums()
            if restart:
                read_restart(flow, restart)
            if writes(case):
                hdf5()
                stack.enter_context(prepare(flow, self.folder))

            self._make_files(Files(flow, artist), bool(restart))
            self._at_end = stack.pop_all()  # the artist leaves, and other runs may write into the folder

        self.report = Report(flow, out or sys.stdout)
        self.asked_to_stop = False
        self._kept = flow.steps if restart and self._is_last(restart) else None  # step of the last restart file

    def _make_files(self, files, continued):
        """The files of a run. continued: whether results of the run before stay."""
        self.files = files
        self.fields = FieldFiles(files, self.folder, continued)
        self.frames = Frames(files, self.folder, continued)
        self.history = History(files, self.folder, continued)
        self.averages = AverageFile(files, self.folder) if self.flow.averages else None

    def _is_last(self, restart) -> bool:
        """Whether this restart file is the last restart of the folder."""
        last = self.folder / RESTART
        return last.is_file() and last.samefile(restart)

    def __call__(self) -> int:
        """Exit status: 0 done, 3 stopped by a signal with a restart written. Raises FlowError, OutputError."""
        handlers = {number: signal.signal(number, self._stop) for number in SIGNALS if not _outlives(number)}
        try:
            status = self._loop()
        except FlowError:
            with contextlib.suppress(OutputError):
                self.history.write(self.flow)  # rows of the flow before it failed
                self.files.wait()
            raise
        finally:
            self._at_end.close()
            for number, handler in handlers.items():
                signal.signal(number, handler)

        if status == 0:
            self.report.summary(self._files)

        return status

    def _loop(self) -> int:
        """All steps, with their output. Returns the exit status."""
        flow, report = self.flow, self.report
        report.announce()
        report.line()
        self._write(start=True)

        while not self._done():
            if self._stopping():
                self._leave()
                return 3

            target = self._target()
            flow.advance(self._ahead(target[0]), *target)

            if self._every("report") or self._done():
                report.line()
            self._write()
            report.after_step()

        with flow.frame.timed("output"):
            self.frames.animate()
            self.files.wait()

        return 0

    def _files(self):
        """A line for each kind of file that was written."""
        if self.frames.film:
            step = self.frames.step
            yield f"pictures: {self.frames.film}" + (f", every {step} frames" if step > 1 else "")
        if self.fields.written:
            yield f"fields: {self.folder / self.fields.index}"
        if self.history.rows:
            yield f"history: {self.history.path}"
        if self.averages and self.flow.averages.weight:
            yield f"averages: {self.averages.path} over {self.flow.averages.weight:g} s"
        if self._kept is not None:
            yield f"restart: {self.folder / RESTART}, step {self._kept}"

    # ---- the end of a run
    def _stop(self, number, frame):
        self.asked_to_stop = True
        lose_what_nobody_reads()  # a line that waits for its reader keeps no run from its restart

    def _stopping(self):
        """Whether any rank was asked to stop: all then stop at the same step."""
        return self.flow.ranks.smallest([-float(self.asked_to_stop)])[0] < 0

    def _leave(self):
        """Write what the run needs to be continued."""
        flow, restart = self.flow, self.folder / RESTART
        self._write_sums()
        self._keep()
        self.files.wait()
        self.report.say(f"stopped at step {flow.steps}, t = {flow.time:.6e} s; continue with --restart {restart}")

    def _done(self):
        flow, time = self.flow, self.case.time
        return bool(time["steps"] and flow.steps >= time["steps"]) or flow.time >= time["end"] * (1 - 1e-12)

    # ---- when to look
    def _every(self, key) -> bool:
        """Whether `[output] key`, a number of steps, says that something is due now."""
        every = self.case.output[key]
        return bool(every) and self.flow.steps % every == 0

    def _target(self):
        """(time at which the next steps end, time from which on they have): the end of the run or a time of output."""
        o, t, end = self.case.output, self.flow.time, self.case.time["end"]
        targets = [(end, end * (1 - 1e-12))]

        for step in (o[key] for key in ("fields_time", "frames_time") if o[key]):
            number = math.floor(t / step)

            def reached(n, step=step):
                return n * step * (1 - 5e-10)  # half of the tolerance of _due

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

    def _due(self, key, first_or_last) -> bool:
        """Whether fields or frames are due: at the first and the last state, every so many steps or seconds."""
        o, time = self.case.output, self.flow.time
        step = o[f"{key}_time"]
        if first_or_last:
            return bool(o[key] or step)

        return self._every(key) or bool(step) and abs(time / step - round(time / step)) < 1e-9 * max(1, time / step)

    # ---- files
    def _keep(self):
        """Write a restart file, one for each state at most: so the file before it is of an earlier state."""
        if self._kept != self.flow.steps:
            write_restart(self.files, self.folder)
            self._kept = self.flow.steps

    def _write_sums(self):
        """Write the history and the averages: files that are written as a whole."""
        self.history.write(self.flow)
        if self.averages:
            self.averages.write(self.flow)

    def _write(self, start=False):
        """Write what is due at this state. Where restarts are asked for, the first state is kept too: a run that is
        killed can always go on. The last state is written in every form that the case has asked for."""
        flow, o = self.flow, self.case.output
        last = self._done()

        fields, frames = (self._due(key, start or last) for key in ("fields", "frames"))
        restart = bool(o["restart"]) and (start or self._every("restart")) or last and writes(self.case)
        history = (self._every("history") or last and o["history"]) and not self.history.has(flow.steps)

        with flow.frame.timed("output"):
            if fields or frames or history or flow.chemistry and restart:
                flow.check()  # nothing of a flow that has failed is written

            if history:
                self.history.add(flow)
            if flow.averages and flow.averages.due():
                flow.averages.add()

            if restart and not start:
                self._write_sums()
            if fields:
                self.fields.write(flow)
            if frames:
                self.frames.write(flow)
            if restart:
                self._keep()


def _outlives(number) -> bool:
    """Whether a run goes on when its terminal has gone, as `nohup` asks for."""
    return number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN


def main(case, comm=None, restart=None, folder=None, overwrite=False) -> int:
    """Run a case; messages for the user on stderr. If a rank fails, all end; the last restart file stays."""
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
