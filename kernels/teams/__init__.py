"""Team kernels: leagues, teams, lanes, scratch, tokens. Bodies use team.h.

declare.py declares them, words.py reads the texts of declarations, render.py writes their C++, bound.py launches them.
"""

from .bound import UniqueToken
from .declare import team_kernel

__all__ = ["UniqueToken", "team_kernel"]
