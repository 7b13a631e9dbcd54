"""A stand-in for CuPy that runs the layer's CUDA on the CPU, thread by thread, where there is no GPU.

It has the parts of CuPy that kernels/engine/backend/cuda.py uses. The CUDA C++ itself is the real one: g++ compiles
the source that NVRTC gets, with blockIdx and threadIdx as variables (device.h, launch.h, programs.py). Memory is
checked as on a device (memory.py): a pageable address in a kernel or an asynchronous copy is an error, and copies name
their direction. Streams do their work at once or, with `lag`, as late or as early as their events allow (streams.py).
"""

from .memory import DEVICE
from .module import make
from .programs import compiler, shared_folder

__all__ = ["DEVICE", "compiler", "make", "shared_folder"]
