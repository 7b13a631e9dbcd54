"""Words of the table of entry points (entry.py): arguments, answers, limits that the shim checks.

Kinds of arguments:
  int      C int by value, checked against low..high (this catches a forgotten %VAL)
  double   C double by value
  handle   an address, handle or number of bytes by value, 64 bits; 0 is allowed
  pointer  an address of the host's memory or of a device's by value; type(c_ptr) in the module. In frame.h memory of
           a pointer, of an address, of a block and of doubles is const if the intent is "in"
  doubles  double array by reference of the shape `dims` (Fortran order), arrives in Python as a NumPy array
  address  double array by reference whose shape the other arguments give, arrives in Python as an integer
  tag      a name by reference, up to 63 characters, ended by char(0) or a blank
  text     a file name, a list of names or a value by reference, up to 1023 characters, ended by char(0)
  lines    a text of several lines by reference, up to 16383 characters, ended by char(0)
  addresses, ints  arrays of addresses and of C ints by reference of the length `dims`, arrive in Python as lists
  fields   arrays with their names, extents, strides and lower bounds (new style only)
  corner   up to four Fortran indices, each may be not given (new style only)

Kinds of answers. An entry has at most one answer, after the inputs; the method returns it:
  number   an integer, written to a C int by reference
  words    a text, written to characters by reference, filled up with blanks; `dims` names the argument behind it that
           is the number of characters; the Fortran module takes it from the variable
  place    an address, written to a `void *` by reference; type(c_ptr) in the module
  function the address of a C function of a point, written to an intptr_t by reference; in the module a procedure
           pointer
"""

from __future__ import annotations

import dataclasses

from .errors import BadNumber

MOST = 2**31 - 1
EXTENT = 2**20  # largest extent: far above any block, below the addresses that a forgotten %VAL passes
CHUNK = 2**28
CELLS = 2**28  # of a rank: more than its memory holds the arrays of, and less than most numbers that came by mistake
VARIABLES = 65536

TAG_SIZE, TEXT_SIZE, LINES_SIZE = 64, 1024, 16384
ANSWERS = ("number", "words", "place", "function")


@dataclasses.dataclass(frozen=True)
class Arg:
    """An argument of an entry point."""

    name: str
    kind: str  # of the list above
    doc: str = ""
    low: int = 1  # smallest number that the shim lets pass
    high: int = MOST  # largest
    dims: tuple[str, ...] = ()  # of an array: the arguments that give its shape
    intent: str = "in"  # as in Fortran
    optional: bool = False  # in the Fortran module; for kind text only


@dataclasses.dataclass(frozen=True)
class Entry:
    """An entry point."""

    name: str  # after `frame_`
    args: tuple[Arg, ...]
    serves: str  # the method behind it, of Frame or, if Frame has no such method, of TVProperties
    doc: str
    needs_initialize: bool = True
    short: str | None = None  # name in the Fortran module, after `frame_`; "": the module has a hand-written procedure
    old: bool = True  # whether hosts call it by symbol; the other entry points are reached through the module only
    launches: str = ""  # the collection or kernel that the method launches
    needs_python: bool = True  # False: it returns at once if no call has started Python yet
    own: bool = False  # templates/shim_calls.c has own_NAME, which calls Python and keeps the state of the shim
    repeats: bool = False  # the method returns the bound call, for repetition with the same arguments
    joins: str = ""  # argument with a communicator: a rank whose Python did not start tells the other ranks
    meets: bool = False  # ranks meet in the method: it checks the numbers, so that a rank with a wrong one comes, too
    varies: tuple[str, ...] = ()  # neighbouring arguments that the bound call takes at each repetition

    @property
    def said(self) -> str:
        """The name in messages: `pin` also for `pin_array`, which is behind frame_pin of the module."""
        return self.name.removesuffix("_array").removesuffix("_fields")

    @property
    def fortran(self) -> str:
        return self.name if self.short is None else self.short

    def wrong_number(self, *values: int) -> BadNumber | None:
        """The error for the first of the arguments that is out of its range. values: of all arguments, in order."""
        for arg, value in zip(self.args, values):
            if arg.kind == "int" and not arg.low <= value <= arg.high:
                return BadNumber(f"{arg.name} = {value}, wanted {arg.low}..{arg.high}.")

        return None

    @property
    def answer(self) -> Arg | None:
        """The argument that the method returns."""
        for argument in self.args:
            if argument.kind in ANSWERS:
                return argument

        return None


def integer(name, doc, low=1, high=MOST):
    """A C int that the shim checks against low..high."""
    return Arg(name, "int", doc, low, high)


def answered_text(name, doc):
    """An answer that is a text, with its length."""
    return Arg(name, "words", doc, dims=("n",), intent="out"), integer("n", f"characters of {name}", 1, CHUNK)


def extents(most_x=EXTENT):
    """nx, ny, nz of the host's array; 0 where a rank has no points.

    most_x: CELLS where an unstructured code may have all its cells in x.
    """
    found = []
    for axis, most in (("x", most_x), ("y", EXTENT), ("z", EXTENT)):
        found.append(integer(f"n{axis}", f"extent of the array in {axis}, fringe included", 0, most))

    return tuple(found)


def bounds(*axes, most_x=EXTENT):
    """Inclusive Fortran bounds. stripe.py knows the block and checks the bounds against it.

    axes: (name, meaning of an index) pairs.
    """
    found = []
    for axis, index in axes:
        most = most_x if axis == "X" else EXTENT
        found.append(integer(f"Spt{axis}", f"first selected {index}", -most, most))
        found.append(integer(f"Ept{axis}", f"last selected {index}", -most, most))

    return tuple(found)
