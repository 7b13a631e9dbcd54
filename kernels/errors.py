"""Exceptions of the layer. `status` is what the Fortran entry points hand to the host."""


class FrameError(Exception):
    """Base class: something the layer could not do."""

    status = 4


class ArgumentError(FrameError, ValueError):
    """A name, shape, bound or value that the caller passed is not usable."""

    status = 3


class MixtureError(ArgumentError):
    """A mixture file or species data that cannot be used."""


class StateError(FrameError):
    """A kernel met a state outside its validity, found in check mode."""


class BackendError(FrameError):
    """No compiler, no device, or a kernel that did not compile."""


class VariantUnsuitable(FrameError):
    """A strategy says that it cannot serve this device, shape or memory: a tuner goes on with the next."""
