"""The host-facing layer: Fortran blocks in, named views on a device, kernels by name, Fortran blocks out."""

import importlib.util
import pathlib
from typing import TYPE_CHECKING

_FOLDER = pathlib.Path(__file__).resolve().parent.parent
_found = importlib.util.find_spec("kernels")
_place = _found and (_found.origin or str(list(_found.submodule_search_locations or [])))
# Not imported here: `python -m frame bench` sets the number of NumPy's threads first.
if not _place or not _place.endswith(".py") or "castles-frame" not in pathlib.Path(_place).read_text(errors="replace"):
    raise ImportError(
        f"`import kernels` finds {_place or 'nothing'}, not the package of castles-frame, which belongs in {_FOLDER}. "
        f"Where it is another package: pip uninstall kernels, then install castles-frame again; or put {_FOLDER} first "
        "on PYTHONPATH."
    )


__all__ = ["Frame"]


if TYPE_CHECKING:
    from .frame import Frame

    __version__: str
else:  # unseen by type checkers, which would take any name for an attribute

    def __getattr__(name):
        if name == "__version__":
            import kernels

            return kernels.__version__

        if name == "Frame":
            from .frame import Frame

            return Frame

        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
