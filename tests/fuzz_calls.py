"""Calls of libframe's symbols with arguments that make no sense, in sequences that make some.

  .venv/bin/python tests/fuzz_calls.py --calls 100000           also --seed, --only NUMBER (of a sequence)

Each sequence has a process of its own. A call may end in any status; what must not happen: the process ends or hangs, a
status without a message or a message without a status, or a message that is a Python exception's and not ours. Numbers
of points and variables are small or far too large, so that the arrays, which are larger, are never too short. Prints
how many calls ended in which status.
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import os
import pathlib
import random
import re
import signal
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("FRAME_TEST_BUILD") or ROOT / "build")  # set by sanitize.py
sys.path.insert(0, str(ROOT))
from frame.entry import ENTRIES  # noqa: E402  found by the line above

CALLS, NS, NQ, CHUNK, TIMEOUT = 300, 4, 9, 16, 60  # of a sequence; seconds
OLD = {
    e.name: e for e in ENTRIES if e.old and not e.launches
}  # launches by name are `launch` with a longer compilation
MIXTURE, KERNEL = "examples/mixtures/ch4_o2_4.yaml", "tests/fortran/copies.py"
BOX = (4, 4, 4, 1, 4, 1, 4, 1, 4)
ARRAY = np.full(2_000_000, 0.25)  # 9 x 9 x 9 points of 10 variables are far less
AT = ARRAY.ctypes.data
PLACES, EXTENTS = np.array([AT, AT + 8 * 10**6]), np.array([9, 9], np.int32)  # of two arrays
MANY = np.arange(16) * 8 * 10**5 + AT  # addresses of arrays
TWO = (PLACES.ctypes.data, 2, EXTENTS.ctypes.data, 2, 8)
INT = (-1, 0, 1, 2, 3, 5, 9, 2**31 - 1, -(2**31))
DOUBLE = (0.0, 1.0, -1.0, 0.5, float("nan"), float("inf"), 1e308, 5e-324)
TAG = (
    "",
    "T",
    "t",
    "Y",
    "p",
    "X",
    "Q",
    "rho",
    "copies",
    "nonsense",
    "x" * 100,
    " T",
    "%s%n",
    "T,p",
    "__class__",
    "W",
    "kij",
)
TEXT = (
    "",
    MIXTURE,
    KERNEL,
    "README.md",
    "/",
    "/dev/zero",
    "/proc/self/mem",
    "no.yaml",
    "no.py",
    "x" * 1000,
    "x" * 5000,
)
TEXT += (
    "T,Y",
    "T,,Y",
    "T,T,Y",
    " , ",
    "p,X",
    "X",
    "T;Y",
    "a\x01b",
    "\xff\xfe",
    "liquid",
    "cpu",
    "-1",
    "../" * 99,
    "examples",
)
ADDRESS = (0, 5, AT + 3)  # none, a number by value, an array that is not aligned
RAW = re.compile(r"\b(?!MemoryError)[A-Z]\w*(Error|Exception|Warning)\b: ")
RIGHT = {  # arguments that are in order
    "initialize": (-1, CHUNK, NS, NQ, 0),
    "setcomm": (0,),
    "setstream": (0,),
    "setoption": ("root", "liquid"),
    "setparameter": ("check", 1.0),
    "registerkernel": (KERNEL,),
    "setconstant": ("MU0", 1.0),
    "setconstants": ("weight", AT, 3),
    "tvproperties_loadmixture": (MIXTURE, ""),
    "tvproperties_populatepreosshareddata": (NS, *[AT] * 8),
    "tvproperties_populatechungshareddata": (NS, *[AT] * 4),
    "getspecies": ("W", AT, NS),
    "version": (AT, 40),
    "getnumber": ("ns", AT),
    "getname": ("species", 1, AT, 40),
    "getpoint": ("T,p,Y", "rho", AT),
    "launch": ("copies", CHUNK),
    "castles_block": ("copies", "T,Y", AT, "p,X", AT + 8 * 10**6, *BOX, 1 + NS, 1 + NS),
    "castles_arrays": ("copies", "T,Y,Y,Y,Y", "p,X", MANY.ctypes.data, 7, *BOX),
    "registercontraction": ("twice", "b[i] = 2 a[i]"),
    "contract": ("twice", "a,b", *TWO),
    "team": ("rows", "A,y", *TWO),
    "pin": (AT, 100),
    "unpin": (AT, 100),
}
# An entry without arguments in order is left alone.
CALLED = [name for name, entry in OLD.items() if "stripe" in name or len(RIGHT.get(name, ())) == len(entry.args)]
ROWS = {"T": 1, "p": 1, "Y": NS, "X": NS, "Q": NQ}
C = {"int": ctypes.c_int, "double": ctypes.c_double, "handle": ctypes.c_int64}
WRONG = {"int": INT, "double": DOUBLE, "handle": (0, 1, -1), "tag": TAG, "text": TEXT, "lines": TEXT}


def call(library, chance: random.Random, said) -> int:
    """A call with some wrong arguments. Returns its status. Raises AssertionError."""
    name = chance.choice([*CALLED, *["castles_populateinputstripe", "castles_populateoutputstripe", "launch"] * 4])
    if name == "finalize" and chance.random() < 0.8:
        name = "initialize"
    entry, arguments = OLD[name], RIGHT.get(name, ())

    if "stripe" in name:
        tag = chance.choice("TY" if "input" in name else "pX")
        arguments = (tag, AT, *BOX, 1, ROWS[tag], 1, CHUNK)

    passed: list = []
    count = min(len(arguments), chance.choice((0, 0, 1, 1, 1, 4)))
    wrong = chance.sample(range(len(arguments)), count)

    for number, (argument, value) in enumerate(zip(entry.args, arguments)):
        if number in wrong:
            value = chance.choice(WRONG.get(argument.kind, ADDRESS))
        if isinstance(value, str):
            passed.append(ctypes.c_char_p(value.encode("latin1")))
        else:
            passed.append(C.get(argument.kind, ctypes.c_void_p)(value))

    said(f"{name} {[p.value for p in passed]}"[:900])
    status = getattr(library, f"frame_{name}_")(*passed)
    text = ctypes.create_string_buffer(4000)
    library.frame_lasterror_(text, 3999)
    message = text.value.decode(errors="replace").strip()
    assert status in range(6), f"status {status}"
    assert bool(message) == bool(status), f"status {status} with the message '{message}'"
    assert not RAW.search(message), message

    return status


def sequence(seed: int, number: int, calls: int, told: int) -> None:
    chance, library = random.Random(f"{seed} {number}"), ctypes.CDLL(str(BUILD / "libframe.so"))
    statuses = collections.Counter()
    said = lambda text: os.pwrite(told, text.encode(errors="replace").ljust(1000), 0)
    for name in ("initialize", "registerkernel", "tvproperties_loadmixture")[: chance.randrange(6)]:
        getattr(library, f"frame_{name}_")(*(a.encode() if isinstance(a, str) else a for a in RIGHT[name]))
    for _ in range(calls):
        statuses[call(library, chance, said)] += 1
    said(repr(dict(statuses)))


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="this one sequence, as a failure names it")
    given = parser.parse_args(arguments)
    os.environ.update(FRAME_BACKEND="cpu", FRAME_ON_ERROR="return")
    os.chdir(ROOT)
    told, statuses, wrong = os.memfd_create("told"), collections.Counter(), 0

    for number in range(-(-given.calls // CALLS)) if given.only is None else [given.only]:
        sys.stdout.flush()
        child = os.fork()

        if not child:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            try:
                sequence(given.seed, number, CALLS, told)
            except AssertionError as error:
                print(error, flush=True)
                os._exit(1)
            os._exit(0)

        end, status = time.monotonic() + TIMEOUT, None
        while status is None and time.monotonic() < end:
            done, found = os.waitpid(child, os.WNOHANG)
            status = found if done else time.sleep(0.01)

        if status is None:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

        last = os.pread(told, 1000, 0).decode(errors="replace").strip()
        if status == 0:
            statuses.update(eval(last))
        else:
            wrong += 1
            why = "hangs"
            if status is not None:
                why = f"signal {status}" if os.WIFSIGNALED(status) else "is wrong"

            print(f"{why}: {last}\nagain: --seed {given.seed} --only {number}", flush=True)

    print(f"{sum(statuses.values())} calls; statuses: {dict(sorted(statuses.items()))}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
