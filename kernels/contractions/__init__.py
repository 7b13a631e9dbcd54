"""Tensor expressions: texts of statements over named indices, compiled like every other family of kernels.

text.py reads; orders.py finds the cheapest evaluation; plan.py makes loops; render_packs.py with packs.h and
render_threads.py with threads.h write them for a CPU and for CUDA; contraction.py is what callers use. intrepid.py and
named.py hold contractions that are known by a name; outer/ the organisations of outer products at a point. search.py
looks for the fastest organisation, organisations.py has the table of what was found.
"""

from .contraction import Contraction, contract

__all__ = ["Contraction", "contract"]
