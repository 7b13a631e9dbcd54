"""The kernels of the project: importing this package declares them."""

from .thermal import ideal_gas
from .equations import constants, cubic, ideal_equation, mapped_numbers
from .transport import chung, lucas, residual, enhancement, ideal_transport, diffusion, turbulence, similarity
from .thermal import conserved
from .equations import inversion, derivatives, mapped
from .thermal import jacobian
from .phases import phases, transport as phase_transport
from .kinetics import rates as kinetics
from .reactors import reactor
from .equilibria import equilibria
from . import accuracy
from . import collections as library
