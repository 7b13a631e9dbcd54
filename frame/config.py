"""The settings that a user or host can change: environment variables, frame_setoption, frame_setparameter."""

from __future__ import annotations

import os

import kernels

from .devices import mps, placement, rule
from .errors import ArgumentError, BadNumber, UnknownName, closest, refuse

WAIT = 3600  # seconds for which a rank waits for others in a collective call, unless FRAME_WAIT says otherwise

# Values of option `backend`, and the sides that each value admits.
GPU, CPU = placement.SIDES
BACKENDS = {"auto": (GPU, CPU), "cuda": (GPU,), "cpu": (CPU,)}
PRECISIONS = ("double", "mixed", "single")
LAST_SPECIES = ("given", "sum")  # the last mass fraction is given, or it is 1 less the sum of the others
# Options that initialize reads.
FIRST = {
    "backend": tuple(BACKENDS),
    "precision": PRECISIONS,
    "calls": rule.CALLS,
    "last_species": LAST_SPECIES,
    "placement": placement.MODES,
}
ON_ERROR = ("abort", "return")  # what a failed call does where the host has not asked for its status
PREFIX = "FRAME_"
# Variables of the environment that the layer reads: docs/reference/environment.md explains them.
VARIABLES = (
    *("FRAME_ACCURACY", "FRAME_ARCH", "FRAME_BACKEND", "FRAME_CACHE", "FRAME_CACHE_SHARED", "FRAME_CALLS"),
    *("FRAME_CHECK", "FRAME_CXX", "FRAME_CXXFLAGS", "FRAME_LAUNCHES", "FRAME_MPS", "FRAME_ON_ERROR"),
    *("FRAME_ORGANISATIONS", "FRAME_PLACEMENT", "FRAME_PYTHON", "FRAME_RATES", "FRAME_THREADS", "FRAME_TIMERS"),
    *("FRAME_TRACE", "FRAME_WAIT"),
)
PARAMETERS = {"timers": (bool, 0, 1), "check": (bool, 0, 1), "queue": (bool, 0, 1), "threads": (int, 1, 4096)}


class Config:
    """The settings. The first values come from the environment; the calls override them. Errors: ArgumentError."""

    def __init__(self, environment=os.environ):
        self.backend = _choice("FRAME_BACKEND", environment.get("FRAME_BACKEND"), tuple(BACKENDS))
        self.calls = _choice("FRAME_CALLS", environment.get("FRAME_CALLS"), rule.CALLS)
        self.mps = _choice("FRAME_MPS", environment.get("FRAME_MPS"), mps.MODES)
        self.placement = _choice("FRAME_PLACEMENT", environment.get("FRAME_PLACEMENT"), placement.MODES)

        _choice("FRAME_ON_ERROR", environment.get("FRAME_ON_ERROR"), ON_ERROR)  # the shim reads it

        self.timers = _switch("FRAME_TIMERS", environment.get("FRAME_TIMERS"))
        self.check = _switch("FRAME_CHECK", environment.get("FRAME_CHECK"))

        threads = environment.get("FRAME_THREADS")
        self.threads = _whole("FRAME_THREADS", threads or "1", 1, 4096)
        self.threads_given = bool(threads)  # else a rank packs with as many threads as it owns cores

        # Seconds for which a rank waits for others in a collective call; 0: for good.
        self.wait = _whole("FRAME_WAIT", environment.get("FRAME_WAIT") or str(WAIT), 0, 10**6)

        self.trace = environment.get("FRAME_TRACE") or ""  # file
        if self.trace and not os.path.isdir(os.path.dirname(self.trace) or "."):
            raise ArgumentError(f"FRAME_TRACE is '{self.trace}', and its folder is not there.")
        self.trace = self.trace and os.path.abspath(self.trace)  # the host may go to another folder

        # Set by calls only.
        self.queue = False
        self.precision = PRECISIONS[0]
        self.last_species = LAST_SPECIES[0]
        self.model: dict[str, str] = {}  # options of the mixture

    def admits(self, side: str) -> bool:
        """Whether ranks may compute on this side, GPU or CPU."""
        return side in BACKENDS[self.backend]

    @property
    def leaves_side_open(self) -> bool:
        """Whether the layer chooses between GPU and CPU."""
        return self.admits(GPU) and self.admits(CPU)

    def set_option(self, name: str, value: str) -> None:
        """Set an option of FIRST or of the model. Errors: ArgumentError for an unknown name or value."""
        self.check_option(name, value)
        if name in FIRST:
            setattr(self, name, value)
        else:
            self.model[name] = value

    @staticmethod
    def check_option(name: str, value: str) -> None:
        """Check a name and its value. Errors: ArgumentError for an unknown name or value."""
        known = {**FIRST, **kernels.OPTIONS}
        meant = closest(name, known)
        refuse(name not in known, f"unknown option '{name}'{meant}; known: {', '.join(known)}.", UnknownName)
        if name in kernels.OPTIONS:
            now = kernels.registry.options[name].renamed.get(value)
            refuse(now is not None, f"option '{name}': '{value}' has another name, '{now}'.")
        _one_of(f"option '{name}'", value, known[name])

    def set_parameter(self, name: str, value: float) -> None:
        """Set timers, check or queue (0 or 1), or threads (1 to 4096). Errors: ArgumentError for an unknown name or
        value."""
        known = ", ".join(PARAMETERS)
        meant = closest(name, PARAMETERS)
        refuse(name not in PARAMETERS, f"unknown parameter '{name}'{meant}; known: {known}.", UnknownName)

        kind, low, high = PARAMETERS[name]
        setattr(self, name, kind(_whole(f"parameter '{name}'", value, low, high)))
        if name == "threads":
            self.threads_given = True


def misspelt(environment=os.environ) -> list[str]:
    """A sentence for each variable that nobody reads and whose name is like one that the layer reads. Others may be the
    host's own."""
    known = [name.removeprefix(PREFIX) for name in VARIABLES]
    found = []

    for name in sorted(environment):
        if not name.startswith(PREFIX) or name in VARIABLES:
            continue
        meant = closest(name.removeprefix(PREFIX), known, 1).replace("'", f"'{PREFIX}", 1)
        if meant:
            found.append(f"{name} is set, and is not read{meant}?")

    return found


def _choice(name: str, value: str | None, known) -> str:
    """The value of a variable; if it is not set, the first known value."""
    return _one_of(name, value or known[0], known)


def _switch(name: str, value: str | None) -> bool:
    return bool(_whole(name, value or "0", 0, 1))


def _one_of(what: str, value: str, known) -> str:
    if value not in known:
        raise ArgumentError(f"{what} is '{value}', wanted one of {', '.join(known)}{closest(value, known)}.")
    return value


def _whole(what: str, value, low: int, high: int) -> int:
    try:
        number = float(value)
    except ValueError:
        number = float("nan")

    kind = BadNumber if what.startswith("parameter") else ArgumentError
    refuse(number not in range(low, high + 1), f"{what} is {value}, wanted a whole number {low}..{high}.", kind)
    return int(number)
