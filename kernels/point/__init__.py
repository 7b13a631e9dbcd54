"""The kernels of the project: importing this package declares them."""
from . import ideal_gas, peng_robinson, chung, diffusion, library  # noqa: F401  (order: collections come last)
