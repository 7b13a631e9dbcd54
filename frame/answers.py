"""Entry points that answer: the number or the text that a method returns is written to the host's variable."""

from __future__ import annotations

from collections.abc import Callable

from .entry_words import Entry
from .errors import refuse


def answering(ffi, entry: Entry, method: Callable) -> Callable:
    """The method of an entry point. If the entry has an answer, the host's variable for it comes last: an address, and
    of a text the length.

    Errors: ArgumentError for a text that is longer than the host's variable, which then stays as it is.
    """
    answer = entry.answer
    if answer is None:
        return method

    def number(*values):
        *inputs, address = values
        value = method(*inputs)
        ffi.cast("int *", address)[0] = value  # OverflowError beyond 32 bits

    def words(*values):
        *inputs, address, room = values
        text = method(*inputs)
        written = text.encode("utf-8", "replace")
        refuse(
            len(written) > room,
            f"{answer.name} has {room} characters, wanted {len(written)} for '{text}'.",
        )
        # as Fortran assigns a text: filled up with blanks
        ffi.buffer(ffi.cast("char *", address), room)[:] = written.ljust(room)

    def address_of(*values):
        *inputs, address = values
        ffi.cast("intptr_t *", address)[0] = method(*inputs)

    return {"number": number, "words": words, "place": address_of, "function": address_of}[answer.kind]
