"""The layer below the solver: a Frame has backend, device by rank, mixture, property launches and timers.

The solver's stencils are sources of its own, compiled by the same Frame (`frame.compile`). Its point kernels
(kernels/flow.py) are declared as a host's own kernels are.
"""

import collections
import pathlib

import kernels
from frame import Frame

DECLARATIONS = pathlib.Path(__file__).resolve().parent / "kernels" / "flow.py"


def declare():
    """Declare the solver's point kernels, once in a process."""
    if "flow_state" not in kernels.registry.kernels:
        kernels.load_declarations(DECLARATIONS)


def of_equation(kernel: str, mixture) -> str:
    """The name of a kernel of kernels/flow.py for the mixture's equation."""
    equation = mixture.options["equation"]
    return f"{equation}_{kernel}" if equation in ("ideal", "mapped") else kernel


def open_frame(backend="auto", comm=None) -> Frame:
    """A Frame whose device is chosen by the rank on the node when the first flow begins.

    backend: "auto" (FRAME_BACKEND, else a GPU if there is one), "cpu" or "cuda". comm: mpi4py communicator of all
    ranks that compute, or None; with a communicator all ranks have to call it. Errors: BackendError, ArgumentError.
    """
    declare()
    frame = Frame()

    # The solver's arrays stay on the device: the rule of `auto` is for hosts that copy theirs.
    frame.set_option("placement", "device")
    if backend != "auto":
        frame.set_option("backend", backend)
    frame.set_parameter("timers", 1)

    if comm is not None:
        frame.set_communicator(comm.py2f())

    return frame


def begin(frame, mixture):
    """Initialise the Frame, unless a flow before has done so, and use this mixture."""
    if frame.backend is None:
        views = 1  # point: the solver launches on arrays of its own
        frame.initialize(-1, views, mixture.ns, mixture.ns + 5, 0)

    frame.use_mixture(mixture)


def seconds(frame) -> collections.Counter:
    """{part of a step: seconds} since the timers began."""
    return collections.Counter({name: timer.seconds for name, timer in frame.timers.items()})


def restart_timers(frame):
    """All timers from zero."""
    frame.set_parameter("timers", 0)
    frame.set_parameter("timers", 1)
