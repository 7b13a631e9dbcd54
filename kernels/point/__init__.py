"""The kernels of the project: importing this package declares them."""

from . import ideal_gas  # noqa: F401  (order: collections come last)
from .equations import constants, cubic, ideal_equation  # noqa: F401
from .transport import chung, lucas, ideal_transport, diffusion  # noqa: F401
from . import inversion, derivatives, jacobian, library  # noqa: F401
