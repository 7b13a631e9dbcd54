"""Exceptions of the layer, and what their messages share. `status` is the number that the Fortran entry points return
to the host."""

import difflib


class FrameError(Exception):
    """Base class of all errors that the layer raises."""

    status = 4


class ArgumentError(FrameError, ValueError):
    """The caller passed a name, shape, bound or value that cannot be used."""

    status = 3


class MixtureError(ArgumentError):
    """A mixture file or species data that cannot be used."""


class UndeclaredError(ArgumentError):
    """A name that a declaration uses and no declaration has: no other mixture would have it either."""


class StateError(FrameError):
    """A quantity is stale or was never filled, a call came out of order, or check mode found an invalid result."""


class BackendError(FrameError):
    """No compiler, no device, or a kernel that did not compile."""


class CompileError(BackendError):
    """The compiler refuses a source."""


class VariantUnsuitable(FrameError):
    """A way of execution cannot be used with this device, shape or memory; a tuner then tries the next one."""


def refuse(wrong, text: str, error: type[Exception] = ArgumentError) -> None:
    """Raise `error` with this text where something is wrong. The text is made in any case: it has to make sense."""
    if wrong:
        raise error(text)


# Words that are like another one by their letters, and Cantera's names of equations.
MEANT = {
    "gpu": "cuda",
    "peng-robinson": "pr",
    "soave-redlich-kwong": "srk",
    "redlich-kwong": "rk",
    "van-der-waals": "vdw",
    "ideal-gas": "ideal",
}


def is_one_of(word, known) -> bool:
    """Whether this is a text, and one of the known ones."""
    return isinstance(word, str) and word in known


def closest(name, known, most=3) -> str:
    """Text for the message on an unknown name: ", did you mean 'rho' or 'rho_p'" with those of the known names that are
    most like it, the case of letters aside; nothing where none is."""
    known, name = [str(other) for other in known], str(name)
    meant = MEANT.get(name.lower())
    if meant in known:
        return f", did you mean {meant!r}"

    same = [other for other in known if other.lower() == name.lower()]
    lower = {other.lower(): other for other in reversed(known)}
    like = same or [lower[other] for other in difflib.get_close_matches(name.lower(), lower, most)]
    return f", did you mean {' or '.join(map(repr, like))}" if like else ""
