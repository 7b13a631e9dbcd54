"""Exceptions of the layer. `status` is the number that the Fortran entry points return to the host."""


class FrameError(Exception):
    """Base class of all errors that the layer raises."""

    status = 4


class ArgumentError(FrameError, ValueError):
    """The caller passed a name, shape, bound or value that cannot be used."""

    status = 3


class MixtureError(ArgumentError):
    """A mixture file or species data that cannot be used."""


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
