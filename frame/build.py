"""Make libframe.so, frame.h and the Fortran module from the table in entry.py.

The shim is C: exported functions in front of static `extern "Python"` ones (cffi's embedding). It links no MPI and uses
no option that changes floating point for the host. The interpreter that builds the library also runs inside it later.
The library serves hosts of every Fortran compiler. The module is compiled by the compiler of the host.
"""

from __future__ import annotations

import compileall
import contextlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

from .entry import ENTRIES, LINES_SIZE, TAG_SIZE, TEXT_SIZE, WAIT, Arg, Entry
from .errors import BackendError, refuse
from .shipped import BUILD
from .stripe import LOGICAL, WHOLE

HERE = pathlib.Path(__file__).resolve().parent
TEMPLATES = HERE / "templates"
RANKS = 7  # of the arrays that the module takes; block calls know 5
# The symbols of the module begin with this text. The record of an array depends on RANKS: a host that was compiled with
# another module finds no symbol, and the loader reports it.
SYMBOL = f"framec{RANKS}_"
# Kinds of elements: letters in the names of procedures, type in the module, bytes, what is added to `way`
REALS = (
    ("4", "real(single)", "4_c_int", 0),
    ("8", "real(c_double)", "8_c_int", 0),
)
OTHERS = (  # for team kernels: no copies to views and back
    ("i4", "integer(c_int32_t)", "4_c_int", WHOLE),
    ("i8", "integer(c_int64_t)", "8_c_int", WHOLE),
    ("l", "logical", "int(storage_size(.true.)/8, c_int)", LOGICAL),
)
OF_REALS = "  subroutine frame_put_{n}"  # from here on a template is for real numbers only

_C = {
    "int": "int {0}",
    "double": "double {0}",
    "handle": "intptr_t {0}",
    "doubles": "double *{0}",
    "address": "double *{0}",
    "block": "double *{0}",
    "tag": "const char *{0}",
    "text": "const char *{0}",
    "lines": "const char *{0}",
    "addresses": "void *const *{0}",
    "ints": "const int *{0}",
    "fields": "const struct frame_field *{0}, int {0}_n",
    "corner": "const int64_t *{0}",
    "number": "int *{0}",
    "words": "char *{0}",
    "function": "intptr_t *{0}",
}
_PYTHON = {
    **_C,
    "doubles": "intptr_t {0}",
    "address": "intptr_t {0}",
    "block": "intptr_t {0}",
    "addresses": "const intptr_t *{0}",
    "number": "intptr_t {0}",
    "words": "intptr_t {0}",
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
    "function": 'frame_check_list("{0}", {0}, (int)sizeof *{0})',
}
_PASS = {  # to Python
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
    "function": "(intptr_t){0}",
}

FIELD = f"""struct frame_field {{
    char tag[{TAG_SIZE}]; int way; int rank; int size; int problem;
    intptr_t address; int64_t extent[{RANKS}]; int64_t stride[{RANKS}]; int64_t lower[{RANKS}];
}};
"""


def _list(args, table, first=""):
    parts = ([first] if first else []) + [table[a.kind].format(a.name) for a in args]
    return ", ".join(parts) or "void"


def _wrapped(head: str, items: list[str], tail: str, indent: str = "    ") -> str:
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
        if arg.kind in _CHECK:
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
# Functions of shim.c that the Python side calls: result and name, parameters.
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
    """C of the library: declarations of both sides, shim.c, and the entry points of the table."""
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
            (TEMPLATES / "shim.c").read_text(),
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
        lines.append(_wrapped(f"int frame_{e.name}_(", [_C[a.kind].format(a.name) for a in e.args] or ["void"], ");"))

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


# ---- the Fortran module -------------------------------------------------------------------------------------------

_F_C = {
    "int": "integer(c_int), value :: {0}",
    "double": "real(c_double), value :: {0}",
    "handle": "integer(c_intptr_t), value :: {0}",
    "tag": "character(kind=c_char), intent(in) :: {0}(*)",
    "text": "character(kind=c_char), intent(in) :: {0}(*)",
    "lines": "character(kind=c_char), intent(in) :: {0}(*)",
    "doubles": "real(c_double), intent({2}) :: {0}(*)",
    "corner": "integer(c_int64_t), intent(in) :: {0}(4)",
    "fields": "type(frame_field), intent(in) :: {0}(*)\n      integer(c_int), value :: {0}_n",
    "number": "integer(c_int), intent(out) :: {0}",
    "words": "character(kind=c_char), intent(out) :: {0}(*)",
    "function": "integer(c_intptr_t), intent(out) :: {0}",
}
_F = {
    "int": "integer, intent(in) :: {0}",
    "double": "real(c_double), intent(in) :: {0}",
    "handle": "integer(c_intptr_t), intent(in) :: {0}",
    "tag": "character(*), intent(in) :: {0}",
    "text": "character(*), intent(in) :: {0}",
    "lines": "character(*), intent(in) :: {0}",
    "doubles": "real(c_double), intent({2}) :: {0}({1})",
    "number": "integer, intent(out) :: {0}",
    "words": "character(*), intent(out) :: {0}",
    "function": "procedure(frame_point), pointer, intent(out) :: {0}",
}
_F_PASS = {
    "int": "int({0}, c_int)",
    "tag": "trim({0})//c_null_char",
    "text": "trim({0})//c_null_char",
    "lines": "trim({0})//c_null_char",
    "number": "answer",
    "function": "address",
}


def _declare(table, arg: Arg) -> str:
    text = table[arg.kind].format(arg.name, ", ".join(arg.dims), arg.intent)
    return text.replace(" ::", ", optional ::") if arg.optional and table is _F else text


def _f_pass(arg: Arg) -> str:
    return f"text_or_empty({arg.name})" if arg.optional else _F_PASS.get(arg.kind, "{0}").format(arg.name)


def _f_interface(e: Entry) -> str:
    names = ["keep"]
    for arg in e.args:
        names.append(arg.name)
        if arg.kind == "fields":
            names.append(f"{arg.name}_n")

    lines = [
        _f_wrapped(f"    function c_{e.name}(", names, ") &"),
        f"        bind(c, name='{SYMBOL}{e.name}') result(status)",
        "      import",
        "      integer(c_int), value :: keep",
    ]

    lines += ["      " + _declare(_F_C, arg) for arg in e.args]
    lines += ["      integer(c_int) :: status", "    end function"]
    return "\n".join(lines)


def _f_wrapped(head, items, tail):
    return _wrapped(head, items, tail, "        ").replace("\n", " &\n")


def _f_procedure(e: Entry) -> str:
    number = e.answer if e.answer and e.answer.kind == "number" else None
    words = e.answer if e.answer and e.answer.kind == "words" else None
    function = e.answer if e.answer and e.answer.kind == "function" else None

    # The host's variable gives the length of a text answer.
    args, passed = list(e.args), list(map(_f_pass, e.args))
    if words:
        length = [a.name for a in e.args].index(words.dims[0])
        passed[length] = f"len({words.name}, kind=c_int)"
        del args[length]

    lines = [f"  ! {e.doc}", _f_wrapped(f"  subroutine frame_{e.fortran}(", [*(a.name for a in args), "stat"], ")")]
    order = sorted(args, key=lambda a: bool(a.dims))  # sizes before the arrays that use them
    lines += [f"    {_declare(_F, a)}" + (f"   ! {a.doc}" if a.doc else "") for a in order]
    lines += ["    integer, intent(out), optional :: stat", "    integer(c_int) :: status"]

    # After a failure the answer is 0, or blank. The host's integers may have another kind than C's.
    if number:
        lines += ["    integer(c_int) :: answer", "    answer = 0"]
    if words:
        lines += [f"    {words.name} = ''"]
    if function:
        lines += ["    integer(c_intptr_t) :: address", "    address = 0", f"    nullify ({function.name})"]

    lines += [_f_wrapped(f"    status = c_{e.name}(", ["keep(present(stat))", *passed], ")")]
    if number:
        lines += [f"    {number.name} = answer"]
    if function:
        lines += [f"    if (address /= 0) call c_f_procpointer(transfer(address, c_null_funptr), {function.name})"]
    lines += ["    if (present(stat)) stat = status", "  end subroutine"]

    return "\n".join(lines)


def _f_generics() -> str:
    """Generic names over every kind and rank. frame_in_8_3, say, is frame_in of real(8) arrays of rank 3."""
    lines = []
    of_numbers = _f_names("number.f90.in")
    for name in _f_names("specific.f90.in"):
        lines += [f"  interface {name}"]
        lowest = 0 if name in of_numbers else 1
        others = [] if name in ("frame_put", "frame_get") else OTHERS
        for s, *_ in (*REALS, *others):
            lines += [_f_wrapped("    module procedure", [f"{name}_{s}_{r}" for r in range(lowest, RANKS + 1)], "")]
        lines += ["  end interface"]

    return "\n".join(lines)


def _f_names(template: str) -> list[str]:
    """The generic names that the procedures of a template stand behind."""
    return re.findall(r"(?m)^  (?:function|subroutine) (\w+)_\{n\}", (TEMPLATES / template).read_text())


def _f_number(kind) -> str:
    """The procedures behind the generic names for numbers of a kind, from the template number.f90.in."""
    letters, type_, size, mark = kind
    text = (TEMPLATES / "number.f90.in").read_text()
    return text.format(n=f"{letters}_0", type=type_, bytes=size, mark=mark)


def _f_specific(kind, rank: int) -> str:
    """The procedures behind the generic names for a kind and a rank of arrays, from the template specific.f90.in."""

    def element(step=0):
        return f"array({', '.join(f'low({d})' + ' + 1' * (d == step) for d in range(1, rank + 1))})"

    strides = (
        f"    if (field%extent({d}) > 1) field%stride({d}) = &\n        place(c_loc({element(d)})) - field%address"
        for d in range(1, rank + 1)
    )
    letters, type_, size, mark = kind
    text = (TEMPLATES / "specific.f90.in").read_text()
    if mark:
        text = text[: text.index(OF_REALS)]

    return text.format(
        n=f"{letters}_{rank}",
        type=type_,
        bytes=size,
        mark=mark,
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
        specifics.append(_f_number(kind))
        specifics += [_f_specific(kind, rank) for rank in range(1, RANKS + 1)]

    parts = {
        "!@GENERICS": _f_generics(),
        "!@SPECIFICS": "".join(specifics),
        "!@PUBLIC": "\n".join([f"  public :: frame_{entry.fortran}" for entry in by_name]),
        "!@INTERFACES": "\n".join([_f_interface(entry) for entry in called]),
        "!@PROCEDURES": "\n\n".join([_f_procedure(entry) for entry in by_name]),
    }

    text = (TEMPLATES / "frame_interface.f90").read_text()
    for mark, part in parts.items():
        text = text.replace(mark, part)
    return text


# ---- compiling ----------------------------------------------------------------------------------------------------


def _run(command: list[str], what: str, folder: pathlib.Path | None = None) -> None:
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if done.returncode:
        raise BackendError(
            f"{what} failed (status {done.returncode}): {' '.join(command)}\n{(done.stdout + done.stderr)[-3000:]}"
        )


def _compiler() -> str:
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and shutil.which(name):
            return name
    raise BackendError("no C compiler found (looked for $CC, cc, gcc, clang); install gcc.")


def shim_source(path: pathlib.Path) -> None:
    """Write the whole C source, cffi's part included."""
    import cffi

    ffi = cffi.FFI()
    ffi.cdef(FIELD + python_declarations('extern "Python"') + shim_declarations())
    ffi.embedding_api("")
    ffi.set_source("_libframe", c_source())
    places = f"FRAME_ROOT, FRAME_BUILD = {str(HERE.parent)!r}, {str(path.parent.resolve())!r}\n"

    ffi.embedding_init_code(places + (TEMPLATES / "start.py").read_text())
    with contextlib.redirect_stdout(io.StringIO()):  # emit_c_code prints a line for each file
        ffi.emit_c_code(str(path))


def build(folder: pathlib.Path = BUILD, fortran: bool = True, say=print) -> pathlib.Path:
    """Build libframe.so into `folder`, with frame.h, frame_interface.f90 and, when a Fortran compiler is there, its
    .mod and .o.

    Errors: BackendError when there is no compiler, no shared libpython, or a compilation fails.
    """
    _refuse_python()
    folder.mkdir(parents=True, exist_ok=True)

    source = folder / "libframe.c"
    shim_source(source)
    (folder / "frame.h").write_text(c_header())
    module = folder / "frame_interface.f90"
    module.write_text(fortran_module())

    library = folder / "libframe.so"
    _compile_library(source, library)
    say(f"{library}")
    _libmpi_name(folder)

    for package in ("frame", "kernels"):  # byte code made once here, not by every rank
        compileall.compile_dir(str(HERE.parent / package), quiet=2)
    if fortran:
        _compile_module(module, say)
    return library


def _refuse_python() -> None:
    """Raises BackendError for an interpreter that cannot be embedded."""
    refuse(
        not sysconfig.get_config_var("Py_ENABLE_SHARED"),
        f"{sys.executable} has no shared libpython; use an interpreter that has one (Debian: python3 with "
        "python3-dev).",
        BackendError,
    )
    refuse(
        not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists(),
        f"Python.h is not in {sysconfig.get_path('include')}; install the Python headers (Debian: python3-dev).",
        BackendError,
    )


def _compile_library(source: pathlib.Path, library: pathlib.Path) -> None:
    v = sysconfig.get_config_var
    fresh = library.with_name(f"libframe.{os.getpid()}.so")
    command = [_compiler(), "-shared", "-fPIC", "-O2", "-Wall", "-Wno-unused-function"]

    # The interpreter that it will run.
    command += [f'-DFRAME_BUILD_PYTHON="{sys.executable}"', f'-DFRAME_LIBPYTHON="{v("INSTSONAME")}"']
    command += [f"-I{sysconfig.get_path('include')}", str(source), "-o", str(fresh)]

    command += ["-Wl,-soname,libframe.so", "-Wl,-z,nodelete"]  # nodelete: fork's handlers point into it
    for place in dict.fromkeys((v("LIBDIR"), v("LIBPL"))):
        if place:
            command.append(f"-L{place}")

    command += [f"-Wl,-rpath,{v('LIBDIR')}", f"-lpython{v('LDVERSION')}", "-lpthread", "-ldl", "-lm"]

    _run(command, "compiling libframe")
    fresh.replace(library)  # a running host keeps the old file


def _compile_module(module: pathlib.Path, say) -> None:
    """The module for gfortran or $FC; other compilers' users compile it themselves."""
    compiler, folder = os.environ.get("FC") or "gfortran", module.parent
    if not shutil.which(compiler):
        say(f"no Fortran compiler ({compiler}): frame_interface.mod not made; compile {module} with the host's own.")
        return

    command = [compiler, "-O2", "-fPIC", "-c", module.name, "-o", "frame_interface.o"]
    _run(command, "compiling frame_interface.f90", folder)  # every compiler writes frame_interface.mod where it runs
    say(f"{folder / 'frame_interface.o'}, frame_interface.mod")


def _libmpi_name(folder: pathlib.Path) -> None:
    """Make an empty libmpi.so.12. The mpi4py wheel needs that name, but Debian's MPICH is called libmpich.so.12. mpi.py
    loads the empty library first, and the symbols then come from the MPICH that the host has loaded."""
    (folder / "mpich").mkdir(exist_ok=True)
    fresh = folder / "mpich" / f"libmpi.{os.getpid()}.so"
    _run(
        [_compiler(), "-shared", "-fPIC", "-x", "c", "/dev/null", "-Wl,-soname,libmpi.so.12", "-o", str(fresh)],
        "making libmpi.so.12",
    )
    fresh.replace(folder / "mpich" / "libmpi.so.12")
