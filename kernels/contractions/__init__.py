"""Tensor expressions: texts of statements over named indices, compiled like every other family of kernels.

text.py reads a text, orders.py finds the cheapest evaluation, plan.py makes loops. organisations/ has the ways in which
loops go to lanes, threads and warps, one class a file; render_*.py write the C++ for them, around packs.h, threads.h,
stages.h and outer/*.h. ways.py decides how a statement goes to packs; stages/ plans for matrix units, and access.py
says where a plan reads its arrays. contraction.py is what callers use. intrepid.py and named.py
hold contractions that are known by a name. search.py looks for the fastest organisation, table.py reads the table of
what was found.
"""

from .contraction import Contraction, contract
from .free import FreeContraction

__all__ = ["Contraction", "FreeContraction", "contract"]
