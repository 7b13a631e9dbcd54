"""Team kernels: leagues, teams, lanes, scratch, tokens. Bodies use team.h.

Declaration:
declare.py    team_kernel, which declares a kernel
policies.py   the items for which a body is called: League, Range, MDRange, Scan
words.py      reads the texts of arrays;  results.py  of results
items.py      the C++ of the policies
layouts.py    order and tiles, as they follow from the layout of the arrays

Launch:
bound.py      puts a kernel on its arrays
operands.py   checks the arrays
room.py       memory beside them
render.py     writes the C++

dual.py       pairs of arrays of the host and a device
tune.py       the search for tiles and teams
"""

from .declare import team_kernel
from .dual import DualView
from .policies import League, MDRange, Range, Scan, Sizes
from .room import UniqueToken

__all__ = ["DualView", "League", "MDRange", "Range", "Scan", "Sizes", "UniqueToken", "team_kernel"]
