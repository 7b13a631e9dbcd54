"""Tensor expressions: texts of statements over named indices, compiled like every other family of kernels.

expression.py has the statements, text.py and statement_reader.py read a text, einsum.py NumPy's strings, barracuda.py
files of TCR. orders.py and paths.py find the cheapest evaluation, plan.py makes loops, fold.py finds matrix products.
organisations/ has the ways in which loops go to lanes, threads, warps or a library, one class a file; render_*.py
write the C++ for them, around packs.h, threads.h, stages.h, direct.h, direct_packs.h and outer/*.h. ways.py decides
how a statement goes to packs; stages/ plans for matrix units, direct_plan.py for tiles of a product; access.py says
where a plan reads its arrays.

contraction.py is what callers use, free.py the same with extents of the arrays, paired.py with complex arrays, call.py
does all in a single call. intrepid.py and named.py hold contractions that are known by a name. search.py looks for the
fastest organisation, table.py reads the table of results.
"""

from .call import contract
from .contraction import Contraction
from .free import FreeContraction
from .paired import ComplexContraction

__all__ = ["ComplexContraction", "Contraction", "FreeContraction", "contract"]
