"""CUDA's multi-process service (MPS), for ranks of a node that share a device.

Without it the driver runs the ranks in turns, and each wait of a host costs the turns of the others. 8 ranks on an H200
that call chunk by chunk (32768 points) take 14 ns a point together, under MPS 3; on 8 cores of that host 27. The first
rank of a node starts the service for its job alone: private folders, no change of the device's settings, no root. A
watcher ends it after the last rank, however that rank ended.

Run as a program it is the watcher: mps.py FOLDER PID:START PID:START ...
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

MODES = ("auto", "off", "require")
CONTROL, SMI = "nvidia-cuda-mps-control", "nvidia-smi"
NOT_INITIALIZED = 3  # CUDA_ERROR_NOT_INITIALIZED
WAIT = 20  # seconds for the service to answer
COST = "they run in turns, several times slower where the host calls in small chunks"


def touched() -> bool:
    """Whether this process has started CUDA's driver: then it is too late for it to become a client."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return False

    return cuda.cuDeviceGetCount(ctypes.byref(ctypes.c_int())) != NOT_INITIALIZED


@functools.cache
def used() -> bool:
    """Whether the host itself uses a device: data may lie there. It is asked before the layer does, and once."""
    return in_use()


def in_use() -> bool:
    """Whether this process uses a device now: a context of CUDA's runtime exists. A driver that is started and not
    used, as by an MPI that knows CUDA, does not count."""
    if not touched():
        return False

    cuda = ctypes.CDLL("libcuda.so.1")
    count = ctypes.c_int()
    cuda.cuDeviceGetCount(ctypes.byref(count))

    for number in range(count.value):
        device, flags, active = ctypes.c_int(), ctypes.c_uint(), ctypes.c_int()
        cuda.cuDeviceGet(ctypes.byref(device), number)
        cuda.cuDevicePrimaryCtxGetState(device, ctypes.byref(flags), ctypes.byref(active))
        if active.value:
            return True

    return False


def _ask(*command: str) -> str:
    """The output of a program. Errors: OSError if the program is missing, fails or hangs."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=WAIT).stdout
    except subprocess.SubprocessError as error:
        raise OSError(f"{command[0]} failed ({error})") from None


def visible() -> int:
    """How many devices a process sees that has not started the driver yet."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    here = len(_ask(SMI, "-L").splitlines())
    return here if chosen is None else min(here, len([part for part in chosen.split(",") if part.strip()]))


def hindrance() -> str:
    """Why the service must not be started here; '' where it may."""
    for program in (CONTROL, SMI):
        if not shutil.which(program):
            return f"{program} is not installed"

    facts = _ask(SMI, "--query-gpu=compute_mode,mig.mode.current", "--format=csv,noheader").splitlines()
    for number, line in enumerate(facts):
        mode, _, mig = (part.strip() for part in line.partition(","))
        if mode != "Default":
            return f"compute mode of GPU {number} is {mode}, wanted Default"
        if mig == "Enabled":
            return f"GPU {number} is divided (MIG)"

    others = _ask(SMI, "--query-compute-apps=pid", "--format=csv,noheader").split()
    return f"another process uses a GPU (pid {others[0]})" if others else ""


def environment(folder) -> dict[str, str]:
    """Variables by which a process finds the service of this folder."""
    return {"CUDA_MPS_PIPE_DIRECTORY": str(folder), "CUDA_MPS_LOG_DIRECTORY": str(folder)}


def _tell(folder, order: str) -> subprocess.CompletedProcess:
    env = {**os.environ, **environment(folder)}
    return subprocess.run([CONTROL], input=order + "\n", capture_output=True, text=True, env=env, timeout=WAIT)


def answers() -> bool:
    """Whether the service that this process would use lives; True if the program is missing, and nobody can tell."""
    if not shutil.which(CONTROL):
        return True

    try:
        return not subprocess.run(
            [CONTROL], input="get_server_list\n", capture_output=True, text=True, timeout=WAIT
        ).returncode
    except subprocess.TimeoutExpired:
        return False


def _started(pid: int) -> str:
    """When a process began, in the kernel's ticks; '' where it is gone or a zombie. A number is given again, a pair of
    number and time is not."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""

    return "" if fields[0] in "ZX" else fields[19]


def start(pids) -> str:
    """Start the service for these processes; returns its folder. Errors: OSError."""
    folder = tempfile.mkdtemp(prefix="castles-frame-mps-")  # mode 0700
    try:
        env = {**os.environ, **environment(folder)}
        words = pathlib.Path(folder, "start.txt")
        with open(words, "w") as out:  # no pipe, which the daemon would hold open
            done = subprocess.run(
                [CONTROL, "-d"], stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env, timeout=WAIT
            )

        if done.returncode or _tell(folder, "get_server_list").returncode:
            raise OSError(f"{CONTROL} did not start: {words.read_text().strip() or 'no message'}")

        watch = [sys.executable, "-I", __file__, folder, *(f"{pid}:{_started(pid)}" for pid in pids)]
        none = subprocess.DEVNULL
        subprocess.Popen(watch, start_new_session=True, stdin=none, stdout=none, stderr=none)
    except (OSError, subprocess.SubprocessError) as error:
        stop(folder)
        raise OSError(str(error)) from None

    return folder


def stop(folder) -> None:
    """End the service of this folder and remove the folder. A service that is gone is no error."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        _tell(folder, "quit -t 5")
    shutil.rmtree(folder, ignore_errors=True)


def share(node, mode: str, wanted: bool, running: bool) -> str:
    """Let the ranks of a node share its devices through the service; collective over `node`.

    mode: of MODES. wanted: whether this rank may take a GPU. running: whether it reaches a service already. Returns a
    line for the user, "" if there is nothing to say; it begins with "no MPS" if ranks share a device without the
    service.
    """
    ranks = [_Rank(*facts) for facts in node.allgather((os.getpid(), touched(), running))]
    if not all(node.allgather(wanted and mode != "off" and node.size > 1)):
        return ""

    folder, said = None, ""
    if node.rank == 0:
        try:
            folder, said = _arrange(ranks)
        except OSError as error:
            said = f"no MPS: {node.size} ranks; {COST}: {error}"

    folder, said = node.bcast((folder, said))
    if folder:
        os.environ.update(environment(folder))
    return said


class _Rank(NamedTuple):
    """A process of the node."""

    pid: int
    begun: bool  # it has started CUDA's driver
    served: bool  # it reaches a service already


def _arrange(ranks: list[_Rank]) -> tuple[str | None, str]:
    """(folder of a service that was started for these ranks, or None; the line for the user). Errors: OSError."""
    devices = visible()
    if not devices or len(ranks) <= devices:
        return None, ""

    plural = "s" if devices > 1 else ""
    sharing = f"{len(ranks)} ranks share {devices} GPU{plural}"
    if all(rank.served for rank in ranks) and answers():
        return None, f"{sharing} by MPS, which was running"

    if any(rank.begun for rank in ranks):
        why = "the host used CUDA before frame_setcomm (call it first, before frame_initialize)"
    else:
        why = hindrance()

    if why:
        return None, f"no MPS: {sharing}; {COST}: {why}"

    return start([rank.pid for rank in ranks]), f"{sharing} by MPS, started for this job"


def watch(folder: str, known) -> None:
    """Wait for the last of these (pid, start) to go, then end the service."""
    while any(_started(int(pid)) == begun for pid, begun in known):
        time.sleep(0.5)
    stop(folder)


if __name__ == "__main__":
    watch(sys.argv[1], [part.split(":") for part in sys.argv[2:]])
