"""What the solver raises for a user to read."""

from kernels.errors import FrameError


class CaseError(FrameError, ValueError):
    """A case file, restart file or command line that cannot be used; the message names the key, what came, what was
    wanted."""


class NoWay(CaseError):
    """A way of exchange that these ranks do not have; all of them get it together."""


class FlowError(FrameError):
    """The flow left what the equation of state or the scheme can follow: a cell, its state and its neighbours are
    named."""
