"""The kernels of the project: importing this package declares them."""

from . import ideal_gas
from .equations import constants, cubic, ideal_equation
from .transport import chung, lucas, ideal_transport, diffusion
from . import inversion, derivatives, jacobian, kinetics, reactor, library
