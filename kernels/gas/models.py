"""The kernels of the project: importing this package declares them."""

from .thermal import ideal_gas
from .equations import constants, cubic, ideal_equation
from .transport import chung, lucas, ideal_transport, diffusion, turbulence
from .thermal import inversion, derivatives, jacobian
from .phases import phases
from .kinetics import rates as kinetics
from .reactors import reactor
from . import collections as library
