"""Failures on a real GPU: a rank that is killed, CUDA's service that dies, memory that cannot
be pinned, a device whose memory is full. tests/frame/test_link_faults.py and test_mps.py have the same with stand-ins.

python tests/gpu_faults.py           20 s: a line for each case; exit code 1 where a rank hangs, says nothing or has a
                                     wrong number
python tests/gpu_faults.py rank S    a rank: block calls on pinned and pageable arrays for S seconds, each result
                                     compared with the first; it ends by the layer's status and what the layer says
"""

import ctypes
import mmap
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
from mixtures_for_tests import ROOT

from frame.devices import mps
from frame.errors import status_of, text_of
from frame.frame import Frame
from frame.stripe import IN, OUT, Field

POINTS, CHUNK, NOWHERE = 2**18, 2**17, (None,) * 4
PATIENCE = 40  # seconds: the driver tells a client of a dead service within some


class Calls:
    """Density of nitrogen, on arrays that are pinned and others that are not."""

    def __init__(self, communicator=None):
        self.frame = Frame()
        if communicator is not None:
            self.frame.set_communicator(communicator)
        self.frame.initialize(-1, CHUNK, 1, 1, 0)
        self.frame.load_mixture(str(ROOT / "examples/mixtures/n2.yaml"), "")
        self.fields, self.rho = [], []

        for pinned in (True, False):
            arrays = [np.linspace(300, 900, POINTS), np.full(POINTS, 1e6), np.ones(POINTS), np.zeros(POINTS)]
            self.rho.append(arrays[3])
            named = zip(("T", "p", "Y", "rho"), (IN, IN, IN, OUT), arrays)
            self.fields.append([Field(name, way, a.ctypes.data, a.shape, (8,), (1,), 8) for name, way, a in named])
            for array in arrays * pinned:
                self.frame.pin(array.ctypes.data, array.size)
            self.fields[-1].append(arrays)  # which stay

        self.first = None

    def once(self):
        for (*fields, _), rho in zip(self.fields, self.rho):
            rho[:] = np.nan
            self.frame.block_of_fields("thermal", fields, NOWHERE, NOWHERE)

            if self.first is None:
                state = dict(T=np.linspace(300, 900, POINTS), p=np.full(POINTS, 1e6), Y=np.ones((1, POINTS)))
                self.first = rho.copy()
                wanted = self.frame.properties.mixture.properties("rho", backend="cpu", **state)["rho"]

                np.testing.assert_allclose(self.first, wanted, rtol=1e-13)  # another exp and log: some roundings

            if not np.array_equal(rho, self.first):
                raise ValueError("WRONG NUMBERS")


def rank(seconds: float) -> int:
    try:
        calls, count = Calls(), 0
        calls.once()
        print("ready", flush=True)
        begin = time.monotonic()

        while time.monotonic() - begin < seconds:
            calls.once()
            count += 1

        print(f"right: {count} calls", flush=True)
        calls.frame.finalize()
    except AssertionError as error:
        print(f"WRONG NUMBERS {error}", flush=True)
        os._exit(1)
    except Exception as error:
        print(f"status {status_of(error)}: {text_of(error)}", flush=True)
        os._exit(status_of(error))  # finalize would ask a device that has failed

    return 0


class Rank:
    def __init__(self, seconds: float, environment):
        self._process = subprocess.Popen(
            [sys.executable, __file__, "rank", str(seconds)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "FRAME_BACKEND": "cuda", **environment},
        )

        self.said: list[str] = []
        self._reader = threading.Thread(target=lambda: self.said.extend(iter(self._process.stdout.readline, "")))
        self._reader.start()

    def ready(self) -> None:
        begin = time.monotonic()
        while not any(line.startswith("ready") for line in self.said):
            if self._process.poll() is not None or time.monotonic() - begin > 60:
                raise SystemExit(f"a rank did not start: {self.said}")
            time.sleep(0.02)

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)

    def end(self) -> tuple[bool, str]:
        """(whether it ended as it should, how): with right numbers, or with one message of the layer's."""
        begin = time.monotonic()
        try:
            code = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            return False, "HANGS"

        self._reader.join()
        lines = [line.strip() for line in self.said if not line.startswith("ready")]
        told = [line for line in lines if line.startswith(("right", "status", "WRONG"))]
        how = " | ".join(lines)[:600] or "nothing"
        fine = len(told) == 1 and (told[0].startswith("right") if code == 0 else told[0].startswith("status 4"))

        return fine and "Traceback" not in how, f"exit {code} after {time.monotonic() - begin:.1f} s: {how}"


def with_service(what: str, harm) -> bool:
    """Two ranks by a service of their own; harm(folder, ranks) comes when both work."""
    folder = mps.start([os.getpid()])
    try:
        ranks = [Rank(5, mps.environment(folder)) for _ in range(2)]
        for each in ranks:
            each.ready()
        left = harm(folder, ranks)
        ended = [each.end() for each in left]
    finally:
        mps.stop(folder)

    for fine, how in ended:
        print(f"{what}: {'' if fine else 'NOT AS WANTED: '}{how}", flush=True)
    return all(fine for fine, _ in ended)


def killed(folder, ranks):
    time.sleep(0.5)
    ranks[1].kill()
    return ranks[:1]


def dead_server(folder, ranks):
    for pid in mps._tell(folder, "get_server_list").stdout.split():
        os.kill(int(pid), signal.SIGKILL)
    return ranks


def dead_daemon(folder, ranks):
    """The ranks that work, and one that starts when the daemon is gone."""
    pid = int(pathlib.Path(folder, "nvidia-cuda-mps-control.pid").read_text())
    os.kill(pid, signal.SIGKILL)
    return [*ranks, Rank(2, mps.environment(folder))]


def refused(what: str, work, wanted: str) -> bool:
    """Whether work() raises one message of the layer's with these words."""
    try:
        work()
    except Exception as error:
        said = text_of(error)
        fine = wanted in said and "Traceback" not in said and status_of(error) == 4
        print(f"{what}: {'' if fine else 'NOT AS WANTED: '}status {status_of(error)}: {said}", flush=True)
        return fine

    print(f"{what}: NOT AS WANTED: nothing was refused", flush=True)
    return False


def alone() -> bool:
    calls = Calls()
    calls.once()
    gone = mmap.mmap(-1, 2**21)
    address = ctypes.addressof(ctypes.c_char.from_buffer(gone))
    libc = ctypes.CDLL(None)
    libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(2**21))  # nothing is there now
    fine = refused("memory that cannot be pinned", lambda: calls.frame.pin(address, 2**18), "refuses to pin")
    calls.once()
    held = calls.frame.backend
    free, _ = held._runtime.memGetInfo()
    block = held._runtime.malloc(free - 2**27)  # 128 MiB are left
    big = Frame()
    big._choose_backend = lambda device: held
    big.initialize(-1, 2**26, 10, 1, 0)
    fine &= refused("a device that is full", lambda: big.properties.impl.view("Y"), "no memory on device")
    held._runtime.free(block)
    calls.once()
    print("both, afterwards: right", flush=True)
    os._exit(not fine)  # the mapping that is gone must not be closed


def main() -> int:
    if sys.argv[1:2] == ["rank"]:
        return rank(float(sys.argv[2]))
    if sys.argv[1:2] == ["alone"]:
        return alone()

    try:
        fine = not subprocess.run([sys.executable, __file__, "alone"], timeout=60).returncode
    except subprocess.TimeoutExpired:
        print("alone: HANGS", flush=True)
        fine = False

    why = mps.hindrance()
    if why:
        print(f"without CUDA's service: {why}", flush=True)
        return 1

    for what, harm in (
        ("a rank is killed, the other", killed),
        ("the service's server is killed", dead_server),
        ("the service's daemon is killed", dead_daemon),
    ):
        fine &= with_service(what, harm)

    return not fine


if __name__ == "__main__":
    sys.exit(main())
