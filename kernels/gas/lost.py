"""A warning of points at which nothing was found."""

from __future__ import annotations

import warnings

import numpy as np

from ..engine.backend.base import on_device


def reasons_of(species, why: dict[int, str]) -> dict[int, str]:
    """{status: reason}, with the end of the temperatures for {T_end}."""
    return {status: reason.format(T_end=f"{species.T_end:g}") for status, reason in why.items()}


def warn_of_lost(what: str, status, why: dict[int, str], known=None, stacklevel: int = 3) -> None:
    """A RuntimeWarning with the number of points whose status is not 0, the first of them, and why, if there are any.

    what: was not found. why: {status: reason}. known: function of the statuses, on the host, that is true at points
    that the caller has warned of already. stacklevel: as of warnings.warn, from here. Points that a mask hides do not
    count.
    """
    if on_device(status):
        if not bool((status > 0.5).any()):
            return
        status = status.get()

    shown = np.ma.filled(np.ma.asarray(status), 0.0)
    lost = shown > 0.5
    if known is not None:
        lost &= ~known(shown)
    if not lost.any():
        return

    reasons = []
    for value, reason in why.items():
        count = int((lost & (shown == value)).sum())
        if count:
            reasons.append(f"{count} {reason}")

    where = "the point" if not lost.ndim else f"point [{', '.join(map(str, np.argwhere(lost)[0]))}]"
    warnings.warn(
        f"no {what} found at {int(lost.sum())} of {lost.size} points, first at {where}: results are NaN there. "
        f"Why: {', '.join(reasons)}.",
        RuntimeWarning,
        stacklevel=stacklevel,
    )
