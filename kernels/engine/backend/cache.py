"""Compiled kernels on disk. An entry is a file with a checksum. If several ranks need the same entry, a single rank
compiles it and the others wait.

The key of an entry depends on all that decides the machine code: source, headers, flags, compiler and processor. A
broken entry (full disk, killed job) is compiled again. A process remembers sources that did not compile, and does not
try them again.

Folder: FRAME_CACHE, else ~/.cache/castles-frame. Its files are executed. So it has to belong to the user, and nobody
else may write to it, unless FRAME_CACHE_SHARED=1 says that it is shared on purpose.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
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
from collections.abc import Iterator

from ..errors import BackendError, CompileError, refuse
from .announce import Announcer

_token = os.urandom(4).hex()  # of this process and of those that it forks
_waits: set[pathlib.Path] = set()  # locks for which this process has reported that it waits
announcer: Announcer | None = None  # reports compilations; None: no reports are wanted
SAID_AFTER = 1.0  # seconds until a process reports that it waits for another that compiles an entry
LONGEST_WAIT = 600.0  # seconds until it compiles the entry itself


def shared() -> bool:
    """Whether FRAME_CACHE_SHARED=1 says that others may write to the folder."""
    return os.environ.get("FRAME_CACHE_SHARED") == "1"


def folder(named: str | None = None) -> pathlib.Path:
    """The folder of the cache; it is created if it does not exist.

    named: a path; "": the user's default folder; None: FRAME_CACHE, else the default. Raises BackendError if the folder
    cannot be created, belongs to another user, or can be written by others.
    """
    named = os.environ.get("FRAME_CACHE", "") if named is None else named
    try:
        default = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "castles-frame"
        path = _absolute(pathlib.Path(named or default.expanduser()))
        path.mkdir(mode=0o777 if shared() else 0o700, parents=True, exist_ok=True)
        facts = path.stat()
    except (OSError, RuntimeError) as error:  # RuntimeError: a user without a home
        raise BackendError(
            f"cannot make the kernel cache folder {named or default} ({error}); set FRAME_CACHE to a writable one."
        ) from None

    # Owner and permissions.
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


@functools.lru_cache(None)
def _absolute(path: pathlib.Path) -> pathlib.Path:
    """The path as it was when it was first asked for: a host may go to another folder, and the kernels stay."""
    return path.absolute()


LIBRARY = ".so"  # suffix of entries that the system's loader maps; other entries are read as data


def forbids_programs(path: pathlib.Path) -> bool:
    """Whether the file system is mounted `noexec`: the loader then refuses libraries there."""
    return bool(os.statvfs(path).f_flag & os.ST_NOEXEC)


def runnable_folder() -> pathlib.Path:
    """The folder of the cache; the user's default folder, with a warning, if that is mounted noexec.

    Raises BackendError if both are mounted noexec.
    """
    where = folder()
    if not forbids_programs(where):
        return where

    default = folder("")
    refuse(
        forbids_programs(default),
        f"the kernel cache folder {where} is on a file system mounted noexec: no compiled kernel can be loaded from "
        "it. Set FRAME_CACHE to a folder where programs may run.",
        BackendError,
    )

    warnings.warn(
        f"the kernel cache folder {where} is on a file system mounted noexec, from which no kernel can be loaded: "
        f"{default} is used. Set FRAME_CACHE to a folder where programs may run.",
        stacklevel=2,
    )

    return default


def key(*parts) -> str:
    """Name of the entry for these parts (bytes, or objects with a text): 32 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()[:32]


_INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.M)
_COMPUTED = re.compile(r"^\s*#\s*include\s+\w.*", re.M)
_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


def included(source: str, folders) -> list[pathlib.Path]:
    """All files that `source` includes, directly or through other files, in the order in which they are found.

    A "name" is looked for beside the including file, then, like a <name>, in `folders`. A name that is not found is
    left to the compiler.
    """
    found: dict[pathlib.Path, None] = {}
    search = [pathlib.Path(folder) for folder in folders]

    def follow(text, here):
        for quoted, bracketed in _INCLUDE.findall(text):
            places = [*here, *search] if quoted else search
            path = _first_file(places, quoted or bracketed)
            if path is not None and path not in found:
                found[path] = None
                follow(path.read_text(), [path.parent])

    follow(source, [])
    return list(found)


def _first_file(folders, name: str) -> pathlib.Path | None:
    """The first file of this name in the folders; None if there is none."""
    for folder in folders:
        path = (folder / name).resolve()
        if path.is_file():
            return path
    return None


def essence(text: str) -> str:
    """The C++ text that decides the machine code: without comments, extra blanks and empty lines."""
    plain = _COMMENT.sub(lambda m: m.group() if m.group().startswith('"') else " ", text)
    return "\n".join(" ".join(line.split()) for line in plain.splitlines() if line.strip())


def texts(source: str, folders) -> list[str]:
    """The texts that decide the machine code of `source`: the source, then all files it includes.

    The paths of the folders do not count.
    """
    files = included(source, folders)
    for number, folder in enumerate(folders):
        source = source.replace(f'"{folder}/', f'"{number}/')
    return [essence(source), *(essence(path.read_text()) for path in files)]


def computed(texts) -> str:
    """The first `#include` of a macro, which `included` cannot follow; "" if there is none."""
    for text in texts:
        found = _COMPUTED.search(text)
        if found:
            return found.group()
    return ""


class MoreIncluded(Exception):
    """The compiler reads files that `included` does not find. Their names have just been noted."""


def noted(key_of_found: str, folders) -> pathlib.Path:
    """The file with the names that `note` writes, for sources of this key with headers in these folders."""
    searched = [os.environ.get(name) for name in ("CPATH", "CPLUS_INCLUDE_PATH")]
    return folder() / f"{key(key_of_found, *folders, *searched)}.includes"


def with_noted(key_of_found: str, file: pathlib.Path) -> str:
    """The key of a source with the contents of the files that `note` wrote down."""
    if not file.is_file():
        return key_of_found

    contents = []
    for line in file.read_text().splitlines():
        path = pathlib.Path(line)
        contents.append(path.read_bytes() if path.is_file() else b"")

    return key(key_of_found, *contents) if contents else key_of_found


def note(file: pathlib.Path, rule: pathlib.Path, known) -> None:
    """Writes down the files in the compiler's list (a make rule) that are not in `known`.

    Raises MoreIncluded if they were not noted before.
    """
    words = re.split(r"(?<!\\)\s+", rule.read_text().replace("\\\n", " ").partition(": ")[2].strip())
    paths = [pathlib.Path(word.replace("\\ ", " ").replace("$$", "$")).resolve() for word in words]
    more = "".join(f"{path}\n" for path in paths if path not in known)

    if more and not (file.is_file() and file.read_text() == more):
        part = file.with_name(f"{file.name}.{platform.node()}.{_process()}")
        part.write_text(more)
        part.replace(file)
        raise MoreIncluded


def _process() -> str:
    """A name of this process. Containers may share a host name and have equal process numbers."""
    return f"{os.getpid()}-{_token}"


def _sound(path: pathlib.Path, check: pathlib.Path) -> bool:
    """Whether an entry exists, has the right checksum, and belongs to the user (another user may have left it)."""
    try:
        trusted = shared() or path.stat().st_uid == os.geteuid()
        return trusted and check.read_text().split("\n")[0] == hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, UnicodeDecodeError):
        return False


def _lock(path: pathlib.Path) -> int | None:
    """Handle of the lock, held until it is closed.

    None if the lock cannot be held (a file system without locks, another kind of file with this name), or if its holder
    is stopped or takes too long. The rename in `_make` is atomic in any case. A lock of another user is opened for
    reading, which is enough to wait for it.
    """
    for flags in (os.O_RDWR | os.O_CREAT, os.O_RDONLY):
        handle = _opened(path, flags)
        if handle is None:
            continue

        try:
            if _held(handle, path):
                return handle
            is_late = True
        except OSError:  # no locks in this way
            is_late = False

        os.close(handle)
        if is_late:
            return None

    return None


def _opened(path: pathlib.Path, flags: int) -> int | None:
    """Handle of a plain file; None if it cannot be opened, or is another kind of file."""
    try:
        handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    except OSError:
        return None

    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle

    os.close(handle)
    return None


def _held(handle: int, path: pathlib.Path) -> bool:
    """Takes the lock when its holder is done. False if the holder is stopped, or not done within LONGEST_WAIT.

    After SAID_AFTER a line reports the wait, once in a process; with an announcer only where that speaks. The text of
    the lock is node and process of the holder.
    """
    begin = time.monotonic()
    is_quiet = announcer is not None and not announcer.speaks()

    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(OSError):  # a lock of another user is open for reading only
                os.ftruncate(handle, 0)
                os.pwrite(handle, f"{platform.node()} {os.getpid()}".encode(), 0)
            return True

        waited = time.monotonic() - begin
        holder = os.pread(handle, 200, 0).decode("utf-8", "replace") or "unknown"
        late = waited > LONGEST_WAIT or (waited > SAID_AFTER and _is_stopped(holder))

        if late or (waited > SAID_AFTER and not _waits and not is_quiet):
            action = "is not done, so this process compiles it too" if late else "is waited for"
            sys.stderr.write(
                f"frame: kernel {path.stem}: the process that compiles it (node and number: {holder}) {action}\n"
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
    """Whether an open file is still the file at a path."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except OSError:
        return False


@contextlib.contextmanager
def _locked(path: pathlib.Path) -> Iterator[int | None]:
    """Holds the lock, if it can be held, and takes its file away at the end. Yields what `_lock` returns."""
    held = _lock(path)
    try:
        yield held
    finally:
        if held is not None:
            with contextlib.suppress(OSError):
                if _is_at(held, path):
                    path.unlink()
            os.close(held)


def _make(where: pathlib.Path, name: str, suffix: str, make) -> pathlib.Path:
    """Compiles the entry, or waits until another process has compiled it. Raises OSError if the folder cannot be
    written."""
    path, check = where / (name + suffix), where / (name + ".sha256")
    if _sound(path, check):
        return path

    kernel = name.rpartition("-")[0] or name  # without the key
    with announcer.compiling(kernel, where) if announcer else contextlib.nullcontext():
        _make_alone(path, check, make)

    return path


def _make_alone(path: pathlib.Path, check: pathlib.Path, make, is_due=None) -> None:
    """Writes the entry and its checksum while no other process does. is_due: see `renewed`."""
    where, name, suffix = path.parent, check.stem, path.suffix
    lock = check.with_suffix(".lock")

    # Files before the rename, with names of this process, also on a shared file system without locks.
    node_files = f"{name}.{platform.node()}."
    part = where / f"{node_files}{_process()}{suffix}"
    part_check = where / f"{node_files}{_process()}.sha256"

    with _locked(lock) as held:
        # Another process may have compiled it during the wait.
        if _sound(path, check) and not (is_due and is_due(path)):
            return

        # Files left by a process of this node that was killed.
        if held is not None and _is_at(held, lock):
            for left in where.glob(glob.escape(node_files) + "*"):
                left.unlink(missing_ok=True)

        try:
            text = make(part) or ""
            part_check.write_text(hashlib.sha256(part.read_bytes()).hexdigest() + "\n" + text)
            os.replace(part, path)
            os.replace(part_check, check)
        finally:
            for left in (part, part_check):
                with contextlib.suppress(OSError):
                    left.unlink()


_failed: dict[str, str] = {}  # {entry: message of the compiler}


def entry(name: str, suffix: str, make) -> pathlib.Path:
    """Path of the entry `name`. If it does not exist or its checksum is wrong, `make(path)` writes it.

    `make` may return a text, which is kept beside the entry (see `report`). If the folder cannot be written, the user's
    default folder takes the entry. Raises BackendError if that cannot be written either; CompileError, the same at each
    call, if `make` raised it.
    """
    refuse(name in _failed, _failed.get(name, ""), CompileError)
    where = runnable_folder() if suffix == LIBRARY else folder()

    try:
        return _make(where, name, suffix, make)
    except CompileError as error:
        _failed[name] = str(error)
        raise
    except OSError as error:
        refusal = error

    # The folder cannot be written.
    default = folder("")
    try:
        if default.samefile(where):
            raise refusal
        if not _sound(default / (name + suffix), default / (name + ".sha256")):
            warnings.warn(
                f"the kernel cache folder {where} cannot be written ({refusal}): {default} is used.", stacklevel=2
            )
        return _make(default, name, suffix, make)
    except OSError as error:
        raise BackendError(
            f"cannot write the kernel cache entry {default / (name + suffix)} ({error}); set FRAME_CACHE to a writable "
            "folder."
        ) from error


def renewed(name: str, suffix: str, make, is_due) -> pathlib.Path:
    """As `entry`. An entry for which is_due(path) is true is made anew; the old one serves where that is impossible."""
    path = entry(name, suffix, make)
    if is_due(path):
        with contextlib.suppress(BackendError, CompileError, OSError):
            _make_alone(path, path.with_suffix(".sha256"), make, is_due)
    return path


def report(path: pathlib.Path) -> str:
    """The text that `make` returned for this entry."""
    return path.with_suffix(".sha256").read_text().partition("\n")[2]
