"""Errors of the solver, for a user to read."""

from kernels import FrameError
from kernels.engine.errors import closest


class CaseError(FrameError, ValueError):
    """A case file, restart file or command line that cannot be used; the message names the key, the value and the
    wanted values."""


class NoWay(CaseError):
    """A way of exchange that these ranks do not have; all of them get it together."""


class FlowError(FrameError):
    """The flow left what the equation of state or the scheme can follow: a cell, its state and its neighbours are
    named."""


def wanted(fits, message):
    """CaseError with this message unless the input fits."""
    if not fits:
        raise CaseError(message)


def check_known(names, known, what, where=""):
    """CaseError for the first name that is not known. what: how the message begins. where: its place."""
    for name in names:
        wanted(name in known, f"{what} '{name}'{where}{closest(name, known, 1)}; known: {', '.join(known)}.")


class OutputError(FrameError):
    """Results cannot be written: a full disk, a folder without permission, a file in a folder's place."""
