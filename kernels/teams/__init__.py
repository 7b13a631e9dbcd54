"""Team kernels: leagues, teams, lanes, scratch, tokens. Bodies use team.h; team.py declares and binds them."""

from .team import UniqueToken, team_kernel

__all__ = ["UniqueToken", "team_kernel"]
