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
import shutil
import subprocess
import sys
import sysconfig

from .c_text import FIELD, TEMPLATES, c_header, c_source, python_declarations, shim_declarations
from .errors import BackendError, refuse
from .fortran_text import fortran_module
from .shipped import BUILD

HERE = pathlib.Path(__file__).resolve().parent


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
