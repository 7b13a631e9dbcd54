"""Compiled kernels on disk. An entry is one file and its checksum. If several ranks need the same entry, one makes it
and the others wait.

The key of an entry holds everything that decides the machine code: source, headers, flags, compiler and processor. A
broken entry (a full disk, a killed job) is made again. A process remembers the sources that did not compile, and does
not try them again. Folder: FRAME_CACHE, else ~/.cache/castles-frame. What lies there is run: it has to belong to the
user, and nobody else may write to it, unless FRAME_CACHE_SHARED=1 says that it is shared on purpose.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import hashlib
import os
import pathlib
import platform
import re
import stat
import sys
import time
import warnings
from collections.abc import Callable

from ..errors import BackendError, CompileError, refuse

_waits: set[pathlib.Path] = set()  # locks that this process has said that it waits for: one line is enough
SAID_AFTER, LONGEST_WAIT = 1.0, 600.0  # seconds of waiting for another process that compiles an entry


def shared() -> bool:
    """Whether FRAME_CACHE_SHARED=1 says that others may write to the folder."""
    return os.environ.get("FRAME_CACHE_SHARED") == "1"


def folder(named: str | None = None) -> pathlib.Path:
    """The cache's folder, made if it does not exist. named: FRAME_CACHE, unless given; "": the user's own. Raises
    BackendError where it cannot be made, or is another's or open to others."""
    named = os.environ.get("FRAME_CACHE", "") if named is None else named
    try:
        default = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "castles-frame"
        path = pathlib.Path(named or default.expanduser())
        path.mkdir(mode=0o777 if shared() else 0o700, parents=True, exist_ok=True)
        facts = path.stat()
    except (OSError, RuntimeError) as error:  # RuntimeError: a user without a home
        raise BackendError(
            f"cannot make the kernel cache folder {named or default} ({error}); set FRAME_CACHE to a writable one."
        ) from None
    wrong = ""
    if facts.st_uid != os.geteuid():
        wrong = f"belongs to user {facts.st_uid}, this process to {os.geteuid()}"
    elif facts.st_mode & 0o022:
        wrong = f"has mode {facts.st_mode & 0o7777:04o} (chmod go-w would mend that)"
    if wrong and not shared():
        raise BackendError(
            f"the kernel cache folder {path} {wrong}: whoever may write there could have programs of his own run here. "
            "Set FRAME_CACHE to a folder of your own, or FRAME_CACHE_SHARED=1 where it is shared on purpose."
        )
    return path


LIBRARY = ".so"  # entries that the system's loader maps; others are read as data


def forbids_programs(path: pathlib.Path) -> bool:
    """Whether the file system is mounted `noexec`: the loader then refuses libraries there."""
    return bool(os.statvfs(path).f_flag & os.ST_NOEXEC)


def runnable_folder() -> pathlib.Path:
    """The cache's folder; where it is mounted noexec, the user's own, with a warning. Raises BackendError where that is
    mounted so, too."""
    where = folder()
    if not forbids_programs(where):
        return where

    own = folder("")
    refuse(
        forbids_programs(own),
        f"the kernel cache folder {where} is on a file system mounted noexec: no compiled kernel can be loaded from "
        "it. Set FRAME_CACHE to a folder where programs may run.",
        BackendError,
    )
    warnings.warn(
        f"the kernel cache folder {where} is on a file system mounted noexec, from which no kernel can be loaded: "
        f"{own} is used. Set FRAME_CACHE to a folder where programs may run.",
        stacklevel=2,
    )
    return own


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
        own = shared() or path.stat().st_uid == os.geteuid()  # another may have left it when the folder was open
        return own and check.read_text().split("\n")[0] == hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, UnicodeDecodeError):
        return False


def _lock(path: pathlib.Path) -> int | None:
    """The open lock, held until it is closed. None where it cannot be held (a file system without locks, something else
    of that name), or its holder is stopped or takes too long: the rename in `_make` is still atomic. Another user's
    can be read, and so waited for."""
    for flags in (os.O_RDWR | os.O_CREAT, os.O_RDONLY):
        with contextlib.suppress(OSError):
            handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
            try:
                if stat.S_ISREG(os.fstat(handle).st_mode):
                    if _held(handle, path):
                        return handle
                    os.close(handle)
                    return None
            except OSError:
                pass
            os.close(handle)
    return None


def _held(handle: int, path: pathlib.Path) -> bool:
    """Take the lock, after its holder is done. False where the holder is stopped, or not done within LONGEST_WAIT. A
    line says after a second, once in a process, what is waited for. The lock's text is its holder's node and
    process."""
    begin = time.monotonic()
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(OSError):  # another user's lock is open for reading alone
                os.ftruncate(handle, 0)
                os.pwrite(handle, f"{platform.node()} {os.getpid()}".encode(), 0)
            return True
        waited = time.monotonic() - begin
        holder = os.pread(handle, 200, 0).decode("utf-8", "replace") or "unknown"
        late = waited > LONGEST_WAIT or (waited > SAID_AFTER and _is_stopped(holder))
        if late or (waited > SAID_AFTER and not _waits):
            does = "is not done, so this process compiles it too" if late else "is waited for"
            sys.stderr.write(
                f"frame: kernel {path.stem}: the process that compiles it (node and number: {holder}) {does}\n"
            )
            sys.stderr.flush()
            _waits.add(path)
        if late:
            return False
        time.sleep(min(0.05, 0.002 + waited / 10))


def _is_stopped(holder: str) -> bool:
    """Whether the holder of a lock is a process of this node that a signal or a debugger has stopped."""
    node, _, number = holder.rpartition(" ")
    if node != platform.node() or not number.isdigit():
        return False
    try:
        state = pathlib.Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state in ("T", "t")


def _is_at(handle: int, path: pathlib.Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except OSError:
        return False


def _make(where: pathlib.Path, name: str, suffix: str, make) -> pathlib.Path:
    """Make the entry, or wait until another process has made it. Raises OSError where the folder cannot be written."""
    path, check, lock = where / (name + suffix), where / (name + ".sha256"), where / (name + ".lock")
    own = f"{name}.{platform.node()}."  # with the process unique, also on a shared file system without locks
    part, part_check = (where / f"{own}{os.getpid()}{kind}" for kind in (suffix, ".sha256"))
    if _sound(path, check):
        return path
    held = _lock(lock)
    try:
        if _sound(path, check):  # another process made it while this one waited
            return path
        if held is not None and _is_at(held, lock):
            for left in where.glob(glob.escape(own) + "*"):  # half made by a process of this node that was killed
                left.unlink(missing_ok=True)
        try:
            told = make(part) or ""
            part_check.write_text(hashlib.sha256(part.read_bytes()).hexdigest() + "\n" + told)
            os.replace(part, path)
            os.replace(part_check, check)
        finally:
            for left in (part, part_check):
                with contextlib.suppress(OSError):
                    left.unlink()
    finally:
        if held is not None:
            with contextlib.suppress(OSError):
                if _is_at(held, lock):
                    lock.unlink()
            os.close(held)
    return path


_failed: dict[str, str] = {}  # entry: the compiler's words
announce: Callable[[pathlib.Path], None] | None = None  # called with the folder before an entry is made or waited for


def entry(name: str, suffix: str, make) -> pathlib.Path:
    """Path of the entry `name`. If it does not exist or its checksum is wrong, `make(path)` writes it. `make` may
    return a text, which is kept beside the entry (see `report`). Where the folder cannot be written, the user's own
    takes the entry. Raises BackendError where that cannot be written either, and the same CompileError again for what
    `make` refused before."""
    refuse(name in _failed, _failed.get(name, ""), CompileError)
    where = folder() if suffix != LIBRARY else runnable_folder()
    if announce is not None and not _sound(where / (name + suffix), where / (name + ".sha256")):
        announce(where)
    try:
        return _make(where, name, suffix, make)
    except CompileError as error:
        _failed[name] = str(error)
        raise
    except OSError as error:
        told = error
    own = folder("")
    try:
        if own.samefile(where):
            raise told
        if not _sound(own / (name + suffix), own / (name + ".sha256")):
            warnings.warn(f"the kernel cache folder {where} cannot be written ({told}): {own} is used.", stacklevel=2)
        return _make(own, name, suffix, make)
    except OSError as error:
        raise BackendError(
            f"cannot write the kernel cache entry {own / (name + suffix)} ({error}); set FRAME_CACHE to a writable "
            "folder."
        ) from error


def report(path: pathlib.Path) -> str:
    """The text that `make` returned for this entry."""
    return path.with_suffix(".sha256").read_text().partition("\n")[2]
