"""Compiles the Fortran and C hosts of tests/fortran and runs them as a user would, serial or under an MPI."""

from __future__ import annotations

import dataclasses
import functools
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("FRAME_TEST_BUILD") or ROOT / "build")  # set by sanitize.py
SOURCES = ROOT / "tests" / "fortran"
OWN_KERNEL = ROOT / "examples" / "own_kernel" / "air.py"
MODULE = BUILD / "frame_interface.f90"
FORTRAN = os.environ.get("FC", "gfortran")
FLANG = next(filter(shutil.which, ("flang-22", "flang-new-22", "flang")), "flang-22")
COMPILERS = {"gfortran": FORTRAN, "flang": FLANG}
FREE_FORM = {"gfortran": ("-ffree-line-length-none", "-fallow-argument-mismatch"), "flang": ()}
TIMEOUT = 240  # a host that hangs is a failure, not a stuck test run


@dataclasses.dataclass(frozen=True)
class Mpi:
    """compiler, launcher, and the arguments that let the launcher start more ranks than cores, as root."""

    name: str
    compiler: str
    launcher: str
    arguments: tuple[str, ...] = ()

    @property
    def missing(self) -> str:
        return (
            ""
            if shutil.which(self.compiler) and shutil.which(self.launcher)
            else f"{self.name} is not installed ({self.compiler}, {self.launcher})"
        )


MPIS = (
    Mpi("openmpi", "mpifort.openmpi", "mpirun.openmpi", ("--oversubscribe",)),
    Mpi("mpich", "mpifort.mpich", "mpiexec.mpich"),
)
OPENMPI, MPICH = MPIS


def makefile_list(name: str) -> list[pathlib.Path]:
    """Source files that the Makefile names in this variable, in its order. The module is that of `library()`."""
    told = subprocess.run(
        ["make", "-s", "--no-print-directory", f"--eval=print-it:; @echo $({name})", "print-it"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    words = [ROOT / word for word in told.stdout.split()]
    return [MODULE if word.name == MODULE.name else word for word in words]


def newest(*files) -> float:
    return max(pathlib.Path(f).stat().st_mtime for f in files)


@functools.lru_cache(None)
def library() -> pathlib.Path:
    """libframe.so, built when it is missing or older than its sources."""
    made = BUILD / "libframe.so"
    folder = ROOT / "frame"

    source = [
        folder / "entry.py",
        folder / "build.py",
        folder / "c_text.py",
        folder / "fortran_text.py",
        *(folder / "templates").iterdir(),
    ]
    if not made.exists() or not (BUILD / "frame_interface.o").exists() or made.stat().st_mtime < newest(*source):
        command = [sys.executable, "-m", "frame", "build", "--folder", BUILD]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    return made


@functools.lru_cache(None)
def compiled(source: str, *flags: str, mpi: Mpi | None = None) -> pathlib.Path:
    """The executable of a host: the given flags, the module and libframe, which comes last (--as-needed would drop
    it)."""
    library()
    compiler = FORTRAN if mpi is None else mpi.compiler
    if mpi is not None and mpi.missing:
        pytest.skip(mpi.missing)
    if shutil.which(compiler) is None:
        pytest.skip(f"no Fortran compiler ({compiler})")
    folder = BUILD / "tests"
    folder.mkdir(parents=True, exist_ok=True)

    name = "_".join(
        [
            pathlib.Path(source).stem,
            *(f.strip("-").replace("=", "_").replace(",", "_") for f in flags),
            mpi.name if mpi else "serial",
        ]
    )

    made = folder / name
    file, part = SOURCES / source, made.with_name(f"{made.name}.{os.getpid()}")  # test files run at the same time

    if not made.exists() or made.stat().st_mtime < newest(file, *SOURCES.glob("*.inc"), BUILD / "frame_interface.o"):
        done = subprocess.run(
            [
                compiler,
                "-cpp",
                "-g",
                "-ffree-line-length-none",
                "-fallow-argument-mismatch",
                *(flags or ("-O1",)),
                *(["-DWITH_MPI"] if mpi else []),
                f"-I{BUILD}",
                str(file),
                str(BUILD / "frame_interface.o"),
                "-o",
                str(part),
                f"-L{BUILD}",
                "-lframe",
                f"-Wl,-rpath,{BUILD}",
            ],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        part.replace(made)

    return made


def need(compiler: str) -> str:
    """The command of a Fortran compiler. Without it a test is skipped; in CI, which installs it, the test fails."""
    command = COMPILERS[compiler]
    if shutil.which(command) is None and not os.environ.get("CI"):
        pytest.skip(f"{compiler} is not installed ({command})")
    return command


def compile_with_module(compiler: str, folder: pathlib.Path, source, *flags: str, mpi: Mpi | None = None):
    """Compile the module and a host with the same flags in one command, in a folder of its own: compilers write their
    .mod files under the same name. Returns the finished command and the executable."""
    made = folder / pathlib.Path(source).stem
    command = [need(compiler), "-cpp", *FREE_FORM[compiler], *flags, MODULE, SOURCES / source, "-o", made]
    command += [f"-L{library().parent}", "-lframe", f"-Wl,-rpath,{BUILD}"]

    if mpi is not None:
        command += mpi_by_header(mpi) if compiler == "flang" else [*asked(mpi, "compile"), *asked(mpi, "link")]
        command += ["-DWITH_MPI"]

    return subprocess.run(command, cwd=folder, capture_output=True, text=True), made


def asked(mpi: Mpi, what: str) -> list[str]:
    """Options that an MPI's own compiler command would add."""
    if mpi.missing:
        pytest.skip(mpi.missing)
    option = {"openmpi": f"-showme:{what}", "mpich": f"-{what}_info"}[mpi.name]
    words = subprocess.run([mpi.compiler, option], capture_output=True, text=True, check=True).stdout.split()
    return [w for w in words if w.startswith(("-I", "-L", "-l"))]


def mpi_by_header(mpi: Mpi) -> list[str]:
    """For a compiler that cannot read the MPI's Fortran module. Open MPI's whole mpif.h has an MPI_SIZEOF that flang 22
    does not take, so a part of it has to do."""
    header = {"openmpi": "mpif-handles.h", "mpich": "mpif.h"}[mpi.name]
    libraries = [w for w in asked(mpi, "link") if not w.startswith("-lmpi_use")]
    return [f'-DMPIF="{header}"', *asked(mpi, "compile"), *libraries]


def run(
    program, *arguments, ranks: int = 1, mpi: Mpi | None = None, cwd=None, **environment: str
) -> subprocess.CompletedProcess:
    """Run a host. Environment: FRAME_BACKEND=cpu and the given variables; None removes a variable."""
    env = {
        **os.environ,
        "FRAME_BACKEND": "cpu",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_btl_base_warn_component_unused": "0",
    }

    for name in ("FRAME_ON_ERROR", "FRAME_CHECK", "FRAME_TIMERS", "FRAME_THREADS"):
        env.pop(name, None)
    env.update({k: v for k, v in environment.items() if v is not None})
    for name in (k for k, v in environment.items() if v is None):
        env.pop(name, None)
    command = [str(program), *map(str, arguments)]
    if mpi is not None:
        command = [mpi.launcher, *mpi.arguments, "-n", str(ranks), *command]

    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=TIMEOUT, cwd=cwd)
