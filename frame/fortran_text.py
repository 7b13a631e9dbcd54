"""The Fortran module frame_interface.f90, from the table in entry.py and the templates.

A row of the table gives an interface of the C symbol, and a procedure with Fortran's own arguments around it. Arrays
come through generic names, with a procedure for each kind and rank.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .c_text import RANKS, SYMBOL, TEMPLATES, wrapped
from .entry import ENTRIES
from .entry_words import Arg, Entry
from .stripe import LOGICAL, WHOLE


class Kind(NamedTuple):
    """A kind of elements."""

    letters: str  # in the names of procedures
    type: str  # in the module
    bytes: str
    mark: int  # added to `way`


REALS = (
    Kind("4", "real(single)", "4_c_int", 0),
    Kind("8", "real(c_double)", "8_c_int", 0),
)
OTHERS = (  # for team kernels: no copies to views and back
    Kind("i4", "integer(c_int32_t)", "4_c_int", WHOLE),
    Kind("i8", "integer(c_int64_t)", "8_c_int", WHOLE),
    Kind("l", "logical", "int(storage_size(.true.)/8, c_int)", LOGICAL),
)
OF_REALS = "  recursive subroutine frame_put_{n}"  # from here on a template is for real numbers only

# Arguments by their kind: in the interface of the C symbol, in the host's procedure, and from one to the other.
OF_C = {
    "int": "integer(c_int), value :: {0}",
    "double": "real(c_double), value :: {0}",
    "handle": "integer(c_intptr_t), value :: {0}",
    "pointer": "type(c_ptr), value :: {0}",
    "tag": "character(kind=c_char), intent(in) :: {0}(*)",
    "text": "character(kind=c_char), intent(in) :: {0}(*)",
    "lines": "character(kind=c_char), intent(in) :: {0}(*)",
    "doubles": "real(c_double), intent({2}) :: {0}(*)",
    "corner": "integer(c_int64_t), intent(in) :: {0}(4)",
    "fields": "type(frame_field), intent(in) :: {0}(*)\n      integer(c_int), value :: {0}_n",
    "number": "integer(c_int), intent(out) :: {0}",
    "words": "character(kind=c_char), intent(out) :: {0}(*)",
    "place": "type(c_ptr), intent(out) :: {0}",
    "function": "integer(c_intptr_t), intent(out) :: {0}",
}
OF_HOST = {
    "int": "integer, intent(in) :: {0}",
    "double": "real(c_double), intent(in) :: {0}",
    "handle": "integer(c_intptr_t), intent(in) :: {0}",
    "pointer": "type(c_ptr), intent(in) :: {0}",
    "tag": "character(*), intent(in) :: {0}",
    "text": "character(*), intent(in) :: {0}",
    "lines": "character(*), intent(in) :: {0}",
    "doubles": "real(c_double), intent({2}) :: {0}({1})",
    "number": "integer, intent(out) :: {0}",
    "words": "character(*), intent(out) :: {0}",
    "place": "type(c_ptr), intent(out) :: {0}",
    "function": "procedure(frame_point), pointer, intent(out) :: {0}",
}
PASSED = {
    "int": "as_c({0})",
    "tag": "trim({0})//c_null_char",
    "text": "trim({0})//c_null_char",
    "lines": "trim({0})//c_null_char",
    "number": "answer",
    "function": "address",
}


class Answer(NamedTuple):
    """How a procedure of the module receives an answer: lines before the call, and a line after it. {0}: the host's
    variable, which after a failure is 0, or blank. The host's integers may have another kind than C's."""

    before: tuple[str, ...]
    after: tuple[str, ...] = ()


ANSWERS = {
    "number": Answer(
        before=("    integer(c_int) :: answer", "    answer = 0"),
        after=("    {0} = answer",),
    ),
    "words": Answer(before=("    {0} = ''",)),
    "place": Answer(before=("    {0} = c_null_ptr",)),
    "function": Answer(
        before=("    integer(c_intptr_t) :: address", "    address = 0", "    nullify ({0})"),
        after=("    if (address /= 0) call c_f_procpointer(transfer(address, c_null_funptr), {0})",),
    ),
}


def _declare(table, arg: Arg) -> str:
    text = table[arg.kind].format(arg.name, ", ".join(arg.dims), arg.intent)
    return text.replace(" ::", ", optional ::") if arg.optional and table is OF_HOST else text


def _pass(arg: Arg) -> str:
    return f"text_or_empty({arg.name})" if arg.optional else PASSED.get(arg.kind, "{0}").format(arg.name)


def _interface(e: Entry) -> str:
    names = ["keep"]
    for arg in e.args:
        names.append(arg.name)
        if arg.kind == "fields":
            names.append(f"{arg.name}_n")

    lines = [
        _lines(f"    function c_{e.name}(", names, ") &"),
        f"        bind(c, name='{SYMBOL}{e.name}') result(status)",
        "      import",
        "      integer(c_int), value :: keep",
    ]

    lines += ["      " + _declare(OF_C, arg) for arg in e.args]
    lines += ["      integer(c_int) :: status", "    end function"]
    return "\n".join(lines)


def _lines(head, items, tail):
    return wrapped(head, items, tail, "        ").replace("\n", " &\n")


def _procedure(e: Entry) -> str:
    """The procedure that hosts call, around the C symbol."""
    args, passed = list(e.args), [_pass(arg) for arg in e.args]

    # The host's variable gives the length of a text answer.
    if e.answer and e.answer.kind == "words":
        length = [arg.name for arg in args].index(e.answer.dims[0])
        passed[length] = f"len({e.answer.name}, kind=c_int)"
        del args[length]

    names = [*(arg.name for arg in args), "stat"]
    lines = [f"  ! {e.doc}", _lines(f"  recursive subroutine frame_{e.fortran}(", names, ")")]
    for arg in sorted(args, key=lambda arg: bool(arg.dims)):  # sizes before the arrays that use them
        comment = f"   ! {arg.doc}" if arg.doc else ""
        lines.append(f"    {_declare(OF_HOST, arg)}{comment}")
    lines += ["    integer, intent(out), optional :: stat", "    integer(c_int) :: status"]

    answer = ANSWERS[e.answer.kind] if e.answer else Answer(())
    variable = e.answer.name if e.answer else ""
    lines += [line.format(variable) for line in answer.before]
    lines.append(_lines(f"    status = c_{e.name}(", ["keep(present(stat))", *passed], ")"))
    lines += [line.format(variable) for line in answer.after]
    lines += ["    if (present(stat)) stat = status", "  end subroutine"]

    return "\n".join(lines)


def _generics() -> str:
    """Generic names over every kind and rank. frame_in_8_3, say, is frame_in of real(8) arrays of rank 3."""
    lines = []
    of_numbers = _names("number.f90.in")
    for name in _names("specific.f90.in"):
        lines += [f"  interface {name}"]
        lowest = 0 if name in of_numbers else 1
        others = [] if name in ("frame_put", "frame_get") else OTHERS
        for kind in (*REALS, *others):
            behind = [f"{name}_{kind.letters}_{rank}" for rank in range(lowest, RANKS + 1)]
            lines.append(_lines("    module procedure", behind, ""))
        lines.append("  end interface")

    return "\n".join(lines)


def _names(template: str) -> list[str]:
    """The generic names that the procedures of a template stand behind."""
    return re.findall(r"(?m)^  recursive (?:function|subroutine) (\w+)_\{n\}", (TEMPLATES / template).read_text())


def _number(kind: Kind) -> str:
    """The procedures behind the generic names for numbers of a kind, from the template number.f90.in."""
    text = (TEMPLATES / "number.f90.in").read_text()
    return text.format(n=f"{kind.letters}_0", type=kind.type, bytes=kind.bytes, mark=kind.mark)


def _specific(kind: Kind, rank: int) -> str:
    """The procedures behind the generic names for a kind and a rank of arrays, from the template specific.f90.in."""

    def element(step=0):
        """The first element of the array, or the next in direction `step`."""
        indices = [f"low({d}) + 1" if d == step else f"low({d})" for d in range(1, rank + 1)]
        return f"array({', '.join(indices)})"

    strides = []
    for d in range(1, rank + 1):
        strides.append(f"    if (field%extent({d}) > 1) field%stride({d}) = &")
        strides.append(f"        place(c_loc({element(d)})) - field%address")

    text = (TEMPLATES / "specific.f90.in").read_text()
    if kind.mark:
        text = text[: text.index(OF_REALS)]

    return text.format(
        n=f"{kind.letters}_{rank}",
        type=kind.type,
        bytes=kind.bytes,
        mark=kind.mark,
        rank=rank,
        shape=", ".join(":" * rank),
        first=element(),
        strides="\n".join(strides),
    )


def fortran_module() -> str:
    """The text of frame_interface.f90: the template with the rows of the table and the procedures for every kind and
    rank of arrays filled in."""
    by_name = [entry for entry in ENTRIES if entry.fortran]
    called = [entry for entry in ENTRIES if entry.fortran or not entry.old]
    specifics = []

    for kind in (*REALS, *OTHERS):
        specifics.append(_number(kind))
        specifics += [_specific(kind, rank) for rank in range(1, RANKS + 1)]

    parts = {
        "!@GENERICS": _generics(),
        "!@SPECIFICS": "".join(specifics),
        "!@PUBLIC": "\n".join([f"  public :: frame_{entry.fortran}" for entry in by_name]),
        "!@INTERFACES": "\n".join([_interface(entry) for entry in called]),
        "!@PROCEDURES": "\n\n".join([_procedure(entry) for entry in by_name]),
    }

    text = (TEMPLATES / "frame_interface.f90").read_text()
    for mark, part in parts.items():
        text = text.replace(mark, part)
    return text
