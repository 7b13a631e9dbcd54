"""Team kernels: leagues, teams, lanes, scratch, tokens. Bodies use team.h.

declare.py declares them: words.py reads the texts of a declaration, items.py has what a body is called for, layouts.py
the order and the tiles that follow from how arrays lie. bound.py puts a kernel on its arrays: operands.py checks these,
room.py has the memory beside them, render.py writes the C++. results.py has the reducers of results, dual.py pairs of
arrays of the host and a device, tune.py the search for tiles and teams.
"""

from .declare import team_kernel
from .dual import DualView
from .room import UniqueToken

__all__ = ["DualView", "UniqueToken", "team_kernel"]
