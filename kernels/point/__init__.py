"""The kernels of the project: importing this package declares them."""
from . import (ideal_gas, cubic, ideal_equation, chung, lucas, ideal_transport, diffusion,  # noqa: F401  (order: collections come last)
               inversion, derivatives, jacobian, library)  # noqa: F401
