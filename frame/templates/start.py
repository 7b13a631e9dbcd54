# Runs inside libframe, once, when the first entry point is called. build.py fills in FRAME_ROOT and FRAME_BUILD.
import os
import signal  # noqa: F401  its import takes SIGINT: done now, so that the shim can give SIGINT back to the host
import sys

# NumPy's BLAS would start one thread per core in every rank. It reads this when NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
from _libframe import ffi, lib

# For messages about packages that are missing.
WHOSE_PYTHON = ""
if not lib.frame_owns_python():
    WHOSE_PYTHON = (
        f"The host has started Python {sys.version.split()[0]} of {sys.prefix} itself, so its packages count, and not "
        "those of the interpreter that libframe was built with: install what is missing there."
    )

try:
    ours = os.path.join(FRAME_ROOT, "frame", "__init__.py")
    if os.path.isfile(ours) and FRAME_ROOT not in sys.path:
        sys.path.insert(0, FRAME_ROOT)
    import frame

    if os.path.isfile(ours) and os.path.realpath(frame.__file__ or "") != os.path.realpath(ours):
        raise ImportError(
            f"`import frame` found {frame.__file__ or list(frame.__path__)}, another package of that name; libframe "
            f"was built with {ours}. Remove the other one, such as: {sys.executable} -m pip uninstall frame"
        )
    from frame.embedded import serve

    serve(ffi, lib, FRAME_BUILD, WHOSE_PYTHON)
except BaseException as error:
    text = f"Python {sys.executable} started, but {type(error).__name__}: {error}"
    if isinstance(error, ImportError) and WHOSE_PYTHON:
        text += f". {WHOSE_PYTHON}"
    lib.frame_set_error(text.encode("utf-8", "replace"))
    raise
