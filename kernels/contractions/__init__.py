"""Tensor expressions: texts of statements over named indices, compiled like every other family of kernels.

text.py reads a text, einsum.py NumPy's strings, barracuda.py files of TCR. orders.py and paths.py find the cheapest
evaluation, plan.py makes loops. organisations/ has the ways in which loops go to lanes, threads and warps, one class a
file; render_*.py write the C++ for them, around packs.h, threads.h, stages.h and outer/*.h; stages/ plans for matrix
units. contraction.py is what callers use, paired.py the same for complex arrays, call.py does all in one call.
intrepid.py and named.py hold contractions that are known by a name. search.py looks for the fastest organisation,
table.py reads the table of what was found.
"""

from .call import contract
from .contraction import Contraction
from .paired import ComplexContraction

__all__ = ["ComplexContraction", "Contraction", "contract"]
