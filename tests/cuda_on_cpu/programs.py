"""CUDA C++ compiled by g++: a shared object with launch_<kernel> for each kernel. Programs are kept from one run of the
tests to the next, beside the kernel cache, for all checkouts."""

import contextlib
import fcntl
import itertools
import os
import pathlib
import re
import shutil
import subprocess

from kernels.engine.backend import cache, cuda

HERE = pathlib.Path(__file__).resolve().parent
# -fno-gnu-unique: a device has no common place for statics of the same name
NUMBERS = itertools.count()  # of the copies of this process, whose threads compile at once
COMMAND = ("g++", "-std=c++17", "-O1", "-fno-strict-aliasing", "-Wno-unknown-pragmas", "-fPIC", "-fno-gnu-unique")


@contextlib.contextmanager
def locked(path):
    """A context that a single process enters at a time."""
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def shared_folder(base):
    """Where programs lie that this run of pytest loads, for all its processes. base: pytest's getbasetemp()."""
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "stand_in"
    folder.mkdir(exist_ok=True)
    return folder


def compile_for_cpu(source, path, folders):
    """A shared object with launch_<kernel> for each kernel of the CUDA source."""
    text = "\n".join([source.text, *(file.read_text() for file in cache.included(source.text, folders))])
    teams = "#define TEAMS\n" if re.search(r"shared_memory\[|__shfl|matrix_unit", text) else ""

    # A device lets threads end before others meet at a barrier; those of a team end together.
    teams += f"constexpr bool TOGETHER = {str('for_league' in text).lower()};\n"
    file = path.with_name(f"{path.stem}.cpp")
    file.write_text('#include "device.h"\n' + teams + (HERE / "launch.h").read_text() + source.text)

    with locked(path.parent / "device.lock"):
        header = path.parent / "device.h"
        if not header.exists():  # and its precompiled form: 0.08 s less of the 0.2 s that a source takes
            shutil.copy(HERE / "device.h", header)
            subprocess.run([*COMMAND, "-x", "c++-header", str(header), "-o", f"{header}.gch"], check=True)

    where = [f"-I{folders[0]}", *(f"-idirafter{f}" for f in folders[1:])]
    subprocess.run([*COMMAND, *where, "-shared", "-o", str(path), str(file)], check=True)
    file.unlink()


def kept_folder():
    """Where programs stay: a folder for this stand-in and this g++."""
    texts = [(HERE / name).read_text() for name in ("device.h", "launch.h", "programs.py")]
    folder = cache.folder() / "stand_in" / cache.key(*texts, pathlib.Path(shutil.which("g++")).resolve())[:8]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def compiler(folder):
    """The replacement of kernels.engine.backend.cuda.machine_code; several processes may share the folder, where the
    programs lie that are loaded."""
    kept = kept_folder()

    def machine_code(source, arch):
        folders = [cuda.HERE, *source.folders]
        key = cache.key(*cache.texts(source.text, folders))[:24]
        path = kept / f"{key}.so"

        with locked(path.with_suffix(".lock")):
            if not path.exists():
                made = kept / f"{key}-{os.getpid()}.so"
                compile_for_cpu(source, made, folders)
                made.rename(path)

        # a copy: a file is loaded only once, and each Program has its own constants
        copy = folder / f"{key}-{os.getpid()}-{next(NUMBERS)}.so"
        copy.with_suffix(".sha256").write_text("\n")  # in place of the report
        return shutil.copy(path, copy)

    return machine_code
