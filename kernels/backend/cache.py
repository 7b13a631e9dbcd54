"""Compiled kernels on disk. An entry is one file and its checksum. If several ranks need the same entry, one makes it
and the others wait.

The key of an entry holds everything that decides the machine code: source, headers, flags, compiler and processor. A
broken entry (a full disk, a killed job) is made again. Folder: FRAME_CACHE, else ~/.cache/castles-frame.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import pathlib
import platform
import re

from ..errors import BackendError


def folder() -> pathlib.Path:
    """The cache's folder, made if it does not exist. Raises BackendError where it cannot be made."""
    named = os.environ.get("FRAME_CACHE")
    path = (
        pathlib.Path(named)
        if named
        else pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "castles-frame"
    )
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BackendError(
            f"cannot make the kernel cache folder {path} ({error}); set FRAME_CACHE to a writable one."
        ) from None
    return path


def key(*parts) -> str:
    """Name of the entry for these parts (bytes, or anything with a text): 32 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:32]


_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


def included(source: str, folders) -> list[pathlib.Path]:
    """Every file that `source` includes by "name", directly or through another file. A name is looked for beside the
    file that includes it, then in `folders`. A name that is not found is left to the compiler."""
    found: dict[pathlib.Path, None] = {}

    def follow(text, here):
        for name in _INCLUDE.findall(text):
            for folder in (*here, *map(pathlib.Path, folders)):
                path = (folder / name).resolve()
                if path.is_file():
                    if path not in found:
                        found[path] = None
                        follow(path.read_text(), (path.parent,))
                    break

    follow(source, ())
    return list(found)


def essence(text: str) -> str:
    """The C++ text that decides the machine code: without comments, extra blanks and empty lines."""
    plain = _COMMENT.sub(lambda m: m.group() if m.group().startswith('"') else " ", text)
    return "\n".join(" ".join(line.split()) for line in plain.splitlines() if line.strip())


def texts(source: str, folders) -> list[str]:
    """The texts that decide the machine code of `source`: its own and those of all files it includes."""
    return [essence(source), *(essence(path.read_text()) for path in included(source, folders))]


def _sound(path: pathlib.Path, check: pathlib.Path) -> bool:
    try:
        return check.read_text().split("\n")[0] == hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return False


@contextlib.contextmanager
def _locked(path: pathlib.Path):
    with open(path, "w") as handle:
        with contextlib.suppress(OSError):  # a file system without locks: the rename in `entry` is still atomic
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def entry(name: str, suffix: str, make) -> pathlib.Path:
    """Path of the entry `name`. If it does not exist or its checksum is wrong, `make(path)` writes it. `make` may
    return a text, which is kept beside the entry (see `report`). Raises BackendError where the folder cannot be
    written."""
    where = folder()
    path, check = where / (name + suffix), where / (name + ".sha256")
    if _sound(path, check):
        return path
    try:
        with _locked(where / (name + ".lock")):
            if _sound(path, check):  # another rank made it while this one waited
                return path
            own = f"{name}.{platform.node()}.{os.getpid()}"  # unique, also on a shared file system without locks
            part, part_check = where / (own + suffix), where / (own + ".sha256")
            try:
                told = make(part) or ""
                part_check.write_text(hashlib.sha256(part.read_bytes()).hexdigest() + "\n" + told)
                os.replace(part, path)
                os.replace(part_check, check)
            finally:
                part.unlink(missing_ok=True)
                part_check.unlink(missing_ok=True)
    except OSError as error:
        raise BackendError(
            f"cannot write the kernel cache entry {path} ({error}); set FRAME_CACHE to a writable folder."
        ) from error
    return path


def report(path: pathlib.Path) -> str:
    """The text that `make` returned for this entry."""
    return path.with_suffix(".sha256").read_text().partition("\n")[2]
