"""Progress of long commands on a line of the terminal: the present item and an estimate of the remaining time."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def time_left(seconds: float) -> str:
    """A time in words: "40 s", "3 min", "2 h"."""
    for size, unit in ((5400, "h"), (90, "min")):
        if seconds >= size:
            return f"{seconds / (3600 if unit == 'h' else 60):.0f} {unit}"

    return f"{seconds:.0f} s"


def clear(to=None) -> None:
    """Clears the line of `progress`, before other text is printed."""
    to = sys.stderr if to is None else to
    if to.isatty():
        to.write("\r\x1b[K")
        to.flush()


class Line:
    """A line of the terminal with the state of a command. Each text replaces the last. Nothing is written if standard
    error is no terminal."""

    def show(self, text: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()

    def clear(self) -> None:
        clear()


def progress(what: str, items: Iterable[Item], name=str, clock=time.monotonic, to=None) -> Iterator[Item]:
    """Yields the items, each after a line such as "compile 3/17 thermal, about 40 s left" on standard error.

    Each line replaces the last. Nothing is written if standard error is no terminal. name(item): text for an item.
    """
    to = sys.stderr if to is None else to
    known: Sequence[Item] = list(items)
    if not known or not to.isatty():
        yield from known
        return

    begin = clock()
    for done, item in enumerate(known):
        left = f", about {time_left((clock() - begin) / done * (len(known) - done))} left" if done else ""
        to.write(f"\r\x1b[K{what} {done + 1}/{len(known)} {name(item)}{left}")
        to.flush()

        try:
            yield item
        finally:
            clear(to)
