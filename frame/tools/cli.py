"""python -m frame build | info | compile | validate | plot | bench | tune."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

import kernels
from kernels.backend import cache
from kernels.codegen import emit, organise

from ..config import PRECISIONS, Config
from ..errors import FrameError
from . import bench, info, names, plot, validate
from .bench import organisations, species_loops


def main(arguments=None) -> int:
    """Exit status: 0 done, 1 the layer refused (message on stderr) or a validation failed, 2 wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m frame", description="Real-gas properties for Fortran flow codes.")
    commands = parser.add_subparsers(dest="command", required=True)

    build = commands.add_parser("build", help="make libframe.so, frame.h and the Fortran module")
    build.add_argument("--folder", type=pathlib.Path, help="where to (default: build/)")
    build.add_argument(
        "--module",
        action="store_true",
        help="write fortran_stub/interface/frame_interface.f90 from the table, and nothing else",
    )

    told = commands.add_parser(
        "info",
        help="what is there: backends, compilers, devices, MPI, cache; of a mixture its constants, options, checks",
    )
    _add_mixture(told, required=False)

    fill = commands.add_parser("compile", help="fill the kernel cache, for compute nodes without a compiler")
    _add_mixture(fill, required=True)
    fill.add_argument(
        "--backend", choices=("auto", "cpu", "cuda"), default=None, help="default: FRAME_BACKEND, else auto"
    )
    fill.add_argument("--arch", help="cuda without a device: the target, such as sm_90")
    fill.add_argument(
        "--register", metavar="FILE", action="append", default=[], help="declarations of the host's own kernels"
    )
    fill.add_argument(
        "--precision", choices=PRECISIONS, default="double", help="as option precision of the host (default: double)"
    )
    fill.add_argument("--kernels", action="store_true", help="each single kernel too, not the collections alone")

    validate.add(commands, _add_mixture)
    plot.add(commands, _add_mixture)
    names.add(commands, _add_mixture)

    bench.add(commands)
    learn = commands.add_parser(
        "tune",
        help="verify, then time all variants of a mixture's CUDA launches, or of the species loops; keep the fastest",
    )
    species_loops.add_arguments(learn, bench=False)
    _add_mixture(learn, required=False)
    learn.add_argument(
        "--collections", type=lambda t: t.split(","), metavar="NAME,NAME", help="with --mixture (default: all of T, p)"
    )

    given = parser.parse_args(arguments)
    given.said = shlex.join(sys.argv[1:] if arguments is None else arguments)
    try:
        run = {
            "build": _build,
            "info": _info,
            "compile": _compile,
            "names": _names,
            "bench": bench.main,
            "tune": _tune,
            "validate": lambda given: validate.main(given, _mixture),
            "plot": lambda given: plot.main(given, _mixture),
        }
        return run[given.command](given) or 0
    except FrameError as error:
        print(f"python -m frame {given.command}: {error}", file=sys.stderr)
        return 1


def _add_mixture(parser, required: bool) -> None:
    parser.add_argument("--mixture", metavar="FILE", required=required, help="Cantera YAML")
    parser.add_argument("--phase", help="phase of the file (default: the first)")
    for option in kernels.registry.options.values():
        said = f"{option.what} (default: {option.values[0]})"
        parser.add_argument(f"--{option.name}", choices=option.values, help=said)


def _mixture(given):
    options = {o: getattr(given, o) for o in kernels.OPTIONS if getattr(given, o) is not None}
    return kernels.Mixture.from_yaml(given.mixture, phase=given.phase, **options)


def _build(given) -> None:
    from .. import build

    if given.module:
        build.MODULE_SOURCE.write_text(build.fortran_module())
        print(build.MODULE_SOURCE)
    else:
        build.build(given.folder or build.BUILD)


def _tune(given) -> None:
    if given.mixture:
        organisations.tune(given, _mixture(given))
    else:
        species_loops.tune(given)


def _names(given) -> None:
    names.main(given, {key: getattr(given, key) or value for key, value in names.PLAIN.items()})


# ---- info ---------------------------------------------------------------------------------------------------------


def _first_line(*command: str) -> str:
    """What a program says of its version; 'none' when it is not there."""
    if shutil.which(command[0]) is None:
        return "none"
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
    return next((line for line in lines if any(c.isdigit() for c in line)), "present, no version told")


def _count(pattern: str) -> int:
    return len(list(cache.folder().glob(pattern)))


def _cuda() -> list[tuple[str, str]]:
    from kernels.backend import cuda

    if importlib.util.find_spec("cupy") is None:
        return [("backend cuda", "no: CuPy is not installed"), ("MPS", cuda.mps())]

    try:
        count = cuda.device_count()
        if not count:
            return [("backend cuda", "no: no CUDA device is visible"), ("MPS", cuda.mps())]
        rows = [("backend cuda", f"yes, {count} device{'s' * (count > 1)}")]
        for device in range(count):
            told = kernels.get_backend("cuda", device=device).describe()
            facts = (f"{k} {v}" for k, v in told.items() if k not in ("name", "device", "devices", "MPS"))
            rows.append((f"device {device}", ", ".join(facts)))
        return [*rows, ("MPS", cuda.mps())]
    except FrameError as error:
        return [("backend cuda", f"no: {error}"), ("MPS", cuda.mps())]


def _info(given) -> None:
    from ..build import BUILD

    config = Config()
    cpu = kernels.get_backend("cpu", threads=config.threads).describe()
    library = BUILD / "libframe.so"
    try:
        mpi4py = importlib.metadata.version("mpi4py")
    except importlib.metadata.PackageNotFoundError:
        mpi4py = "not installed: a host that calls frame_setcomm needs it"
    rows = [
        ("python", f"{sys.version.split()[0]}, {sys.executable}"),
        ("libframe", f"{library}" if library.exists() else "not built: python -m frame build"),
        ("FRAME_BACKEND", config.backend),
        ("backend cpu", ", ".join(f"{k} {v}" for k, v in cpu.items() if k != "name")),
        *_cuda(),
        ("Fortran", _first_line(os.environ.get("FC") or "gfortran", "--version")),
        ("C", _first_line(os.environ.get("CC") or "cc", "--version")),
        ("mpirun", _first_line("mpirun", "--version")),
        ("MPICH", _first_line("mpiexec.mpich", "--version")),
        ("mpi4py", mpi4py),
        ("timers, check", f"{'on' if config.timers else 'off'}, {'on' if config.check else 'off'}"),
        ("kernel cache", f"{cache.folder()}, {_count('*.so')} for CPUs, {_count('*.cubin')} for GPUs"),
        ("collections", ", ".join(kernels.collections)),
    ]
    if given.mixture:
        mixture = _mixture(given)
        rows += [
            ("mixture", f"{given.mixture}: {mixture.ns} species: {' '.join(mixture.names)}"),
            ("k_ij", mixture.structure),
            ("model options", ", ".join(f"{k} {v}" for k, v in mixture.options.items())),
            *(("note", note) for note in mixture.notes),
            *(("lacks", reason) for reason in dict.fromkeys(mixture.lacks.values())),
        ]
    else:
        defaults = ", ".join(f"{k} {v[0]}" for k, v in kernels.OPTIONS.items())
        rows.append(("model options", f"{defaults} (the defaults; --mixture FILE shows more)"))
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:{width}}  {value}")
    if given.mixture:
        print(info.report(mixture))


# ---- compile ------------------------------------------------------------------------------------------------------


class _ForArch:
    """Stands for a CUDA backend where there is no device: compiles for one architecture and cannot run."""

    name = "cuda"

    def __init__(self, arch: str):
        self.arch = arch

    def pad(self, n):
        return n

    def empty(self, shape, dtype=float):
        import numpy as np

        return np.empty(shape, dtype)

    def resident(self, array):
        return 0, array

    def plan(self, joined, outputs, mixture, precision="double"):
        return emit.plan(joined, outputs, mixture, organise.default(joined, mixture, precision), precision)

    def compile(self, plan, name):
        from kernels.backend.cuda import program_code

        return program_code(plan, self.arch, name)

    def prepare(self, code, constants, plan, arrays):
        return None


def _compile(given) -> None:
    from ..tvimpl import TVImpl

    mixture = _mixture(given)
    added = [name for file in given.register for name in kernels.load_declarations(file)]
    if given.arch:
        from kernels.backend.cuda import marshal_code

        backend = _ForArch(given.arch)
        marshal_code(given.arch)
    else:
        backend = kernels.get_backend(given.backend)
        _marshal(backend)
    names = [*kernels.collections, *(a for a in added if a not in kernels.collections)]
    if given.kernels:
        names += [
            k.name for k in kernels.registry.kernels.values() if k.serves(mixture.options) and k.name not in names
        ]
    impl = TVImpl(backend, 1, mixture.ns, 1, precision=given.precision)
    impl.set_mixture(mixture)
    for name in names:
        try:
            for more in impl.variants(name):
                impl.launcher(name, more)
            print(f"{backend.name}  {name}")
        except kernels.ArgumentError as error:
            print(f"left out: {name}: {error}", file=sys.stderr)
    print(f"kernel cache: {cache.folder()}")


def _marshal(backend) -> None:
    """The copies in and out, by doing one."""
    import numpy as np

    from kernels.marshal import Block

    host = np.zeros(1)
    block = Block(host.ctypes.data, (1, 1, 1, 1), (1, 1, 1, 1), (0, 0, 0, 0), (1, 1, 1, 1))
    view = backend.empty((1, backend.pad(1)))
    backend.gather(block, 0, 1, view)
    backend.scatter(block, 0, 1, view)
