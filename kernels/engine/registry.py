"""The registry: all declarations of a process.

Every product keeps its declarations in stores of the one registry, `declared`: a dictionary for each kind, by name.
So what concerns all kinds is here: names that hosts launch, files of declarations and what they may declare again,
constants that a host sets, and declarations for a while.
"""

from __future__ import annotations

import contextlib
import contextvars
import importlib.util
import os
import pathlib
import sys
from typing import Any

from .constants import SettableConstants
from .errors import ArgumentError, refuse

KERNELS = pathlib.Path(__file__).resolve().parents[1]  # where headers lie by a relative path: the package `kernels`

# Where headers lie by a relative path while a declaration file is loaded: beside it.
_folder: contextvars.ContextVar[pathlib.Path] = contextvars.ContextVar("folder of the declarations", default=KERNELS)


def folder_of_program() -> pathlib.Path:
    """Where the file lies whose code called the package; the working directory, if that code is in no file."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == KERNELS.name:
        frame = frame.f_back
    file = frame.f_globals.get("__file__")
    return pathlib.Path(file).resolve().parent if file else pathlib.Path.cwd()


def split(names, what="names", such="rho cp") -> tuple[str, ...]:
    """Names in one text with blanks or commas, or in a list, as a tuple. Raises ArgumentError for anything else.
    what, such: of the message, which names they are and an example."""
    if isinstance(names, str):
        return tuple(names.replace(",", " ").split())

    try:
        listed = tuple(names)
    except TypeError:
        listed = (names,)
    wrong = [name for name in listed if not isinstance(name, str)]
    refuse(wrong, f"{what} {names!r}: wanted a text such as '{such}', or a list of texts.")
    return listed


class Registry:
    """Declarations by kind and name.

    stores: {kind: {name: declaration}}. constants: those that a host sets at run time.
    """

    def __init__(self):
        self.stores: dict[str, dict] = {}
        self._launched: list[str] = []  # kinds whose names hosts launch: these share one set of names
        self._of_files: list[str] = []  # kinds whose names a declaration file may bring

        # {name that a declaration file brought: whether it may be declared again, and otherwise}
        self._again: dict[str, bool] = self.store("names of declaration files", of_files=False)
        self.constants = SettableConstants(self)

    def store(self, kind: str, *, launched: bool = False, of_files: bool = True) -> dict[Any, Any]:
        """A new, empty store.

        launched: hosts launch by these names, so that a name is not in two such stores. of_files: a name that a
        declaration file brings may be declared otherwise after `allow_again`.
        """
        self.stores[kind] = {}
        if launched:
            self._launched.append(kind)
        if of_files:
            self._of_files.append(kind)

        return self.stores[kind]

    # ---- names
    def taken(self, kind: str, new) -> bool:
        """Whether the name of a declaration belongs to a different one of its kind, which may not be declared again."""
        known = self.stores[kind].get(new.name, new)
        return known != new and not self.may_change(new.name)

    def launches(self, name: str, but: str) -> bool:
        """Whether hosts launch something by this name, of another kind than `but`."""
        return any(name in self.stores[kind] for kind in self._launched if kind != but)

    def may_change(self, name: str) -> bool:
        """Whether a declaration file brought this name, and it may be declared otherwise now."""
        return self._again.get(name, False)

    def keep(self, kind: str, new) -> None:
        """Keep a declaration under its name."""
        self.stores[kind][new.name] = new
        if new.name in self._again:
            self._again[new.name] = False

    def allow_again(self) -> None:
        """Names that declaration files brought may be declared again from now on, and otherwise. Until then the
        declarations stay."""
        self._again.update(dict.fromkeys(self._again, True))

    # ---- files of declarations
    def header_of(self, name: str, header) -> pathlib.Path:
        """The path of a kernel's header, which is relative to the declaration file that is being loaded; else to the
        package `kernels`, or to the program that declares it. Raises ArgumentError if there is no such file."""
        folder = _folder.get()
        folders = [folder, folder_of_program()] if folder == KERNELS else [folder]

        for folder in folders:
            path = (folder / header).resolve()
            if path.is_file():
                return path
        raise ArgumentError(f"kernel '{name}': header {str(path)!r} does not exist.")

    def load(self, path: str | os.PathLike[str]) -> list[str]:
        """Run a host's declaration file; returns the names of the kernels and collections that it added, sorted.
        Raises ArgumentError if there is no such file, or it fails."""
        refuse(not os.path.isfile(path), f"no kernel declaration file {os.path.abspath(path)!r}.")
        path = pathlib.Path(path).resolve()
        spec = importlib.util.spec_from_file_location(f"declared_{path.stem}", path)
        if spec is None or spec.loader is None:
            raise ArgumentError(f"kernel declaration file {str(path)!r}: wanted a Python file, with the ending .py.")

        launched, names = self._names(self._launched), self._names(self._of_files)
        failed = True

        outside = _folder.set(path.parent)
        try:
            spec.loader.exec_module(importlib.util.module_from_spec(spec))
            failed = False
        except ArgumentError:
            raise
        except Exception as error:
            raise ArgumentError(
                f"kernel declaration file {str(path)!r} failed: {type(error).__name__}: {error}"
            ) from error
        finally:
            _folder.reset(outside)
            for name in self._names(self._of_files) - names:
                self._again[name] = failed  # a file that failed may be mended and loaded again

        return sorted(self._names(self._launched) - launched)

    def _names(self, kinds) -> set[str]:
        return set().union(*(self.stores[kind] for kind in kinds))

    # ---- for a while
    @contextlib.contextmanager
    def temporary(self):
        """A context. Declarations and values of constants within it are undone at its end."""
        before = {kind: dict(store) for kind, store in self.stores.items()}
        try:
            yield self
        finally:
            for kind, store in self.stores.items():
                store.clear()
                store.update(before.get(kind, {}))
            self.constants.drop_undeclared()


declared = Registry()
