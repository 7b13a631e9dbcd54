"""C of libframe and its header, from the table in entry.py and the shim in templates/.

An entry point is three functions: the checks and the call of Python, the symbol for hosts, the symbol for the module.
"""

from __future__ import annotations

import pathlib

from .config import WAIT
from .entry import ENTRIES
from .entry_words import LINES_SIZE, TAG_SIZE, TEXT_SIZE, Entry

TEMPLATES = pathlib.Path(__file__).resolve().parent / "templates"
RANKS = 7  # of the arrays that the module takes; block calls know 5
# The symbols of the module begin with this text. The record of an array depends on RANKS: a host that was compiled with
# another module finds no symbol, and the loader reports it.
SYMBOL = f"framec{RANKS}_"

_C = {
    "int": "int {0}",
    "double": "double {0}",
    "handle": "intptr_t {0}",
    "pointer": "{1}void *{0}",
    "doubles": "{1}double *{0}",
    "address": "{1}double *{0}",
    "block": "{1}double *{0}",
    "tag": "const char *{0}",
    "text": "const char *{0}",
    "lines": "const char *{0}",
    "addresses": "void *const *{0}",
    "ints": "const int *{0}",
    "fields": "const struct frame_field *{0}, int {0}_n",
    "corner": "const int64_t *{0}",
    "number": "int *{0}",
    "words": "char *{0}",
    "place": "void **{0}",
    "function": "intptr_t *{0}",
}
_PYTHON = {
    **_C,
    "pointer": "intptr_t {0}",
    "doubles": "intptr_t {0}",
    "address": "intptr_t {0}",
    "block": "intptr_t {0}",
    "addresses": "const intptr_t *{0}",
    "number": "intptr_t {0}",
    "words": "intptr_t {0}",
    "place": "intptr_t {0}",
    "function": "intptr_t {0}",
}
_CHECK = {
    "int": 'frame_check_int("{0}", {0}, {1}, {2})',
    "tag": 'frame_copy_tag("{0}", {0}, {0}_copy)',
    "text": 'frame_copy_text("{0}", {0}, {0}_copy, FRAME_TEXT, "")',
    "lines": 'frame_copy_text("{0}", {0}, {0}_copy, FRAME_LINES, "\\n\\r\\t")',
    "addresses": 'frame_check_list("{0}", {0}, (int)sizeof *{0})',
    "ints": 'frame_check_list("{0}", {0}, (int)sizeof *{0})',
    "doubles": 'frame_check_array("{0}", {0})',
    "address": 'frame_check_array("{0}", {0})',
    "block": 'frame_check_block("{0}", {0}, nx, ny, nz)',
    "fields": "frame_check_fields({0}, {0}_n)",
    "number": 'frame_check_number("{0}", {0})',
    "words": 'frame_check_pointer("{0}", {0})',
    "place": 'frame_check_list("{0}", {0}, (int)sizeof *{0})',
    "function": 'frame_check_list("{0}", {0}, (int)sizeof *{0})',
}
_PASS = {  # to Python
    "pointer": "(intptr_t){0}",
    "tag": "{0}_copy",
    "text": "{0}_copy",
    "lines": "{0}_copy",
    "addresses": "(const intptr_t *){0}",
    "doubles": "(intptr_t){0}",
    "address": "(intptr_t){0}",
    "block": "(intptr_t){0}",
    "fields": "{0}, {0}_n",
    "number": "(intptr_t){0}",
    "words": "(intptr_t){0}",
    "place": "(intptr_t){0}",
    "function": "(intptr_t){0}",
}

FIELD = f"""struct frame_field {{
    char tag[{TAG_SIZE}]; int way; int rank; int size; int problem;
    intptr_t address; int64_t extent[{RANKS}]; int64_t stride[{RANKS}]; int64_t lower[{RANKS}];
}};
"""


def _list(args, table, first=""):
    parts = ([first] if first else []) + [_declared(a, table) for a in args]
    return ", ".join(parts) or "void"


def _declared(arg, table) -> str:
    """An argument of a C function. Memory that the layer only reads is const: hosts in C++ pass const vectors."""
    return table[arg.kind].format(arg.name, "const " if arg.intent == "in" else "")


def wrapped(head: str, items: list[str], tail: str, indent: str = "    ") -> str:
    """A declaration, with line breaks before column 120."""
    lines, line = [], head
    for i, item in enumerate(items):
        item += "," if i + 1 < len(items) else tail
        if len(line) + len(item) + 1 > 118:
            lines.append(line.rstrip())
            line = indent
        line += item if line.endswith(("(", indent)) else " " + item

    return "\n".join([*lines, line if items else head + tail])


def python_declarations(storage: str) -> str:
    """Declarations of the functions behind the shim: static for C, extern "Python" for cffi."""
    return "".join(f"{storage} int py_{e.name}({_list(e.args, _PYTHON)});\n" for e in ENTRIES)


def _c_int(value: int) -> str:
    return "(-2147483647 - 1)" if value == -(2**31) else str(value)


def c_entry(entry: Entry) -> str:
    """Three C functions for a row of the table: the checks and the call, the symbol for hosts, the symbol for the
    module."""
    name, args = entry.name, entry.args
    lines = ["int status;"]
    for arg in args:
        if arg.kind in ("tag", "text", "lines"):
            lines.append(f"char {arg.name}_copy[FRAME_{arg.kind.upper()}];")

    # Ready, then the checks, in the order of the arguments.
    if not entry.needs_python:
        lines.append("if (!frame_python_is_up) return FRAME_DONE;")
    tell = f"frame_agree({entry.joins}, 1); " if entry.joins else ""
    lines.append(f"if ((status = frame_ready({int(entry.needs_initialize)}))) {{ {tell}return status; }}")
    for arg in args:
        if arg.kind in _CHECK and not (entry.meets and arg.kind == "int"):
            check = _CHECK[arg.kind].format(arg.name, _c_int(arg.low), _c_int(arg.high))
            lines.append(f"if ((status = {check})) return status;")

    # The call.
    passed = ", ".join([_PASS.get(arg.kind, "{0}").format(arg.name) for arg in args])
    if entry.own:
        lines.append(f"return own_{name}({passed});")
    else:
        lines.append(f"return frame_from_python(py_{name}({passed}));")

    body = "".join([f"    {line}\n" for line in lines])
    text = f"\nstatic int do_{name}({_list(args, _C)})\n{{\n{body}}}\n"
    if entry.old:
        text += _exported(entry, f"frame_{name}_", "", "0")
    if entry.fortran or not entry.old:
        text += _exported(entry, f"{SYMBOL}{name}", "int keep", "keep")
    return text


def _exported(entry: Entry, symbol: str, first: str, keep: str) -> str:
    """A symbol of the library. first: an argument in front of the others. keep: whether a failure ends the host."""
    said = entry.fortran if first and entry.fortran else entry.said
    names = ", ".join([f"{a.name}, {a.name}_n" if a.kind == "fields" else a.name for a in entry.args])
    return (
        f"EXPORT int {symbol}({_list(entry.args, _C, first)})\n"
        "{\n"
        "    struct frame_guard guard;\n"
        f'    guard_enter(&guard, "frame_{said}", {int(bool(first))});\n'
        f"    return guard_leave(&guard, do_{entry.name}({names}), {keep});\n"
        "}\n"
    )


def c_aliases() -> str:
    """Aliases for the other spellings of a symbol by Fortran compilers: -fno-underscoring, -fsecond-underscore, upper
    case."""
    names = [e.name for e in ENTRIES if e.old] + ["lasterror", "laststatus"]
    lines = ["#define ALIAS(other, name) extern EXPORT __typeof__(name) other __attribute__((alias(#name)));"]
    for name in names:
        symbol = f"frame_{name}_"
        lines += [f"ALIAS({other}, {symbol})" for other in (symbol[:-1], symbol + "_", symbol[:-1].upper())]

    return "\n/* ---- the other manglings ---- */\n" + "\n".join(lines) + "\n"


# In front of everything else: the names of the system, the sizes of copied texts, a limit of time.
C_HEAD = f"""#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>
#define FRAME_TAG {TAG_SIZE}
#define FRAME_TEXT {TEXT_SIZE}
#define FRAME_LINES {LINES_SIZE}
#define FRAME_WAIT_SECONDS {WAIT}.0
"""
# The files of the shim, each with what those before it have.
SHIM = (
    "shim.c",
    "shim_python.c",
    "shim_ranks.c",
    "shim_threads.c",
    "shim_failures.c",
    "shim_arguments.c",
    "shim_calls.c",
)

# Functions of the shim that the Python side calls: result and name, parameters.
OF_SHIM = (
    ("void frame_set_error", "const char *text"),
    ("void frame_lock", "void"),
    ("void frame_unlock", "void"),
    ("int frame_agree", "int comm, int failed"),
    ("int frame_owns_python", "void"),
    ("int frame_is_by_module", "void"),
    ("void frame_end_all", "const char *text"),
)


def shim_declarations(storage: str = "") -> str:
    """Declarations of the functions of the shim that Python calls: static for C, plain for cffi."""
    return "".join([f"{storage}{function}({parameters});\n" for function, parameters in OF_SHIM])


def c_source() -> str:
    """C of the library: declarations of both sides, the shim, and the entry points of the table."""
    declarations = [
        C_HEAD,
        FIELD,
        shim_declarations("static "),
        python_declarations("static"),
    ]

    entries = [
        "\n/* ---- the entry points, from the table in entry.py ---- */\n",
        *[c_entry(entry) for entry in ENTRIES],
        "\n",
    ]

    return "".join(
        [
            *declarations,
            *[(TEMPLATES / name).read_text() for name in SHIM],
            *entries,
            (TEMPLATES / "after.c").read_text(),
            c_aliases(),
        ]
    )


def c_header() -> str:
    """The text of frame.h: the old-style symbols for C hosts."""
    lines = [
        "/* Generated from frame/entry.py by `python -m frame build`. Integers and doubles by value, arrays and names "
        "by reference;",
        " * each returns a status: 0 done, 1 Python could not start, 2 before initialize, 3 bad argument, 4 failed, 5 "
        "other arguments. */",
        "#ifndef FRAME_H",
        "#define FRAME_H",
        "#include <stdint.h>",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
    ]
    for e in ENTRIES:
        if not e.old:
            continue
        lines.append(f"/* {e.doc}")
        lines += [f" *   {a.name}: {a.doc}{' (' + ', '.join(a.dims) + ')' if a.dims else ''}" for a in e.args if a.doc]
        lines[-1] += " */"
        lines.append(wrapped(f"int frame_{e.name}_(", [_declared(a, _C) for a in e.args] or ["void"], ");"))

    lines += [
        "/* Message of this thread's last call, empty after a success, padded with blanks to n characters; returns its",
        " * length. */",
        "int frame_lasterror_(char *buf, int n);",
        "/* Status of this thread's last call. */",
        "int frame_laststatus_(int *status);",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "#endif",
        "",
    ]
    return "\n".join(lines)
