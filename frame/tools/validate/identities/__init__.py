"""Laws that results must obey among themselves, with any equation of state and transport model.

To add a law, add a line to LAWS of one_state.py, derivatives.py or limits.py.
"""

from ..report import Row
from . import derivatives, limits, lines, one_state, saturation


def run(job) -> list[Row]:
    """Rows of all laws."""
    return [row for laws in (one_state, derivatives, limits, saturation, lines) for row in laws.rows(job)]
