"""A host that registers this file works on the stand-in of a CUDA device (cuda_on_cpu); STAND_IN: a folder."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import cuda_on_cpu

from kernels.engine.backend import cuda

sys.modules["cupy"] = cuda_on_cpu.make()
cuda.machine_code = cuda_on_cpu.compiler(pathlib.Path(os.environ["STAND_IN"]))
