"""Compiled kernels on disk. An entry is one file and its checksum. If several ranks need the same entry, one makes it
and the others wait.

The key of an entry holds everything that decides the machine code: source, headers, flags, compiler and processor. A
broken entry (a full disk, a killed job) is made again. Folder: FRAME_CACHE, else ~/.cache/castles-frame. A process
remembers the sources that did not compile, and does not try them again.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import pathlib
import platform
import re

from ..errors import BackendError, CompileError


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


_INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.M)
_COMPUTED = re.compile(r"^\s*#\s*include\s+\w.*", re.M)
_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


def included(source: str, folders) -> list[pathlib.Path]:
    """Every file that `source` includes by name, directly or through another file. A "name" is looked for beside the
    file that includes it, then, as a <name>, in `folders`. A name that is not found is left to the compiler."""
    found: dict[pathlib.Path, None] = {}

    def follow(text, here):
        for quoted, bracketed in _INCLUDE.findall(text):
            for folder in (*here * bool(quoted), *map(pathlib.Path, folders)):
                path = (folder / (quoted or bracketed)).resolve()
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
    """The texts that decide the machine code of `source`: its own and those of all files it includes. Where the
    folders lie does not matter."""
    files = included(source, folders)
    for number, folder in enumerate(folders):
        source = source.replace(f'"{folder}/', f'"{number}/')
    return [essence(source), *(essence(path.read_text()) for path in files)]


def computed(texts) -> str:
    """An `#include` without a file's name, which `included` cannot follow; "" where there is none."""
    return next((found.group() for text in texts if (found := _COMPUTED.search(text))), "")


class MoreIncluded(Exception):
    """The compiler reads files that `included` does not find; their names are noted now."""


def noted(key_of_found: str, folders) -> pathlib.Path:
    """Where such names are noted: for sources of this key whose own headers lie in these folders."""
    searched = [os.environ.get(name) for name in ("CPATH", "CPLUS_INCLUDE_PATH")]
    return folder() / f"{key(key_of_found, *folders, *searched)}.includes"


def with_noted(key_of_found: str, file: pathlib.Path) -> str:
    """The key that holds also what the files are that `note` wrote down."""
    paths = map(pathlib.Path, file.read_text().splitlines() if file.is_file() else ())
    more = [path.read_bytes() if path.is_file() else b"" for path in paths]
    return key(key_of_found, *more) if more else key_of_found


def note(file: pathlib.Path, rule: pathlib.Path, known) -> None:
    """Write down which files the compiler's own list, a make rule, has beyond those that are known. Raises MoreIncluded
    where they were not noted before."""
    words = re.split(r"(?<!\\)\s+", rule.read_text().replace("\\\n", " ").partition(": ")[2].strip())
    paths = [pathlib.Path(word.replace("\\ ", " ").replace("$$", "$")).resolve() for word in words]
    more = "".join(f"{path}\n" for path in paths if path not in known)
    if more and not (file.is_file() and file.read_text() == more):
        part = file.with_name(f"{file.name}.{platform.node()}.{os.getpid()}")
        part.write_text(more)
        part.replace(file)
        raise MoreIncluded


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


_failed: dict[str, str] = {}  # entry: the compiler's words


def entry(name: str, suffix: str, make) -> pathlib.Path:
    """Path of the entry `name`. If it does not exist or its checksum is wrong, `make(path)` writes it. `make` may
    return a text, which is kept beside the entry (see `report`). Raises BackendError where the folder cannot be
    written, and the same CompileError again for what `make` refused before."""
    where = folder()
    path, check = where / (name + suffix), where / (name + ".sha256")
    if _sound(path, check):
        return path
    if name in _failed:
        raise CompileError(_failed[name])
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
    except CompileError as error:
        _failed[name] = str(error)
        raise
    except OSError as error:
        raise BackendError(
            f"cannot write the kernel cache entry {path} ({error}); set FRAME_CACHE to a writable folder."
        ) from error
    return path


def report(path: pathlib.Path) -> str:
    """The text that `make` returned for this entry."""
    return path.with_suffix(".sha256").read_text().partition("\n")[2]
