"""Team kernels: leagues, teams, lanes, scratch, tokens. Bodies use team.h.

declare.py declares them: policies.py has what a body is called for, words.py and results.py read the texts of a
declaration, items.py has the C++ of the policies, layouts.py the order and the tiles that follow from how arrays lie.
bound.py puts a kernel on its arrays: operands.py checks these, room.py has the memory beside them, render.py writes the
C++. dual.py has pairs of arrays of the host and a device, tune.py the search for tiles and teams.
"""

from .declare import team_kernel
from .dual import DualView
from .policies import League, MDRange, Range, Scan, Sizes
from .room import UniqueToken

__all__ = ["DualView", "League", "MDRange", "Range", "Scan", "Sizes", "UniqueToken", "team_kernel"]
