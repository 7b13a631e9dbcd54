"""TVImpl: the named views of a thread on the device, and all work on them.

staleness.py    which view holds current values; no arrays, no devices
views.py        named arrays on the device
launchers.py    compiled kernels and collections by name
copies.py       stripe calls: host's array -> view, view -> host's array
block_calls.py  block calls: checks, and launches that work on the host's arrays in place
pieces.py       block calls through the views, piece by piece, copies beside kernels
teams.py        team kernels on arrays of a host
memory.py       bound calls, and when they are forgotten
shared.py       state that all threads of a frame share
state.py        state of a single thread
tvimpl.py       TVImpl, which puts these together
"""

from .shared import Sizes
from .tvimpl import TVImpl

__all__ = ["Sizes", "TVImpl"]
