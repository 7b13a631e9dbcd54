"""`python -m frame COMMAND`: build, examples, info, compile, contraction, validate, plot, bench, tune and others."""

import argparse
import contextlib
import os
import pathlib
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence

import kernels
from kernels.engine.registry import split

from .. import build, shipped
from ..errors import FrameError, refuse
from . import bench, contraction, fit, info, mechanisms, model_options, names, plot, point, precompile, validate
from .bench import organisations, species_loops, tensor_tune

MODULES = {
    "info": info,
    "mechanisms": mechanisms,
    "compile": precompile,
    "contraction": contraction,
    "point": point,
    "validate": validate,
    "plot": plot,
    "fit": fit,
    "names": names,
}

MIXTURE, MODELS = "mixture", "models of the mixture"  # groups of options that several commands have


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command. Exit status: 0 done; 1 refused (message on stderr) or a validation failed; 2 wrong usage;
    130 stopped by Ctrl-C.

    arguments: default sys.argv.
    """
    parser = _parser()
    given, rest = parser.parse_known_args(arguments)
    if rest:
        print(_not_known(given, rest), file=sys.stderr)
        return 2
    given.said = shlex.join(sys.argv[1:] if arguments is None else arguments)

    try:
        with _warnings_of(given.command):
            return _run(given)
    except FrameError as error:
        print(f"python -m frame {given.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"python -m frame {given.command}: stopped by Ctrl-C.", file=sys.stderr)
        return 130  # as shells have it
    except BrokenPipeError:  # what reads our lines, such as `head`, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a folder or file of the user's that cannot be written or read
        place = f"{error.filename}: " if error.filename else ""
        print(f"python -m frame {given.command}: {place}{error.strerror or error}.", file=sys.stderr)
        return 1


def _run(given) -> int:
    """The exit status of the command's module or function."""
    if given.command in MODULES:
        return MODULES[given.command].main(given, _mixture(given)) or 0

    other_commands = {"build": _build, "examples": _examples, "bench": bench.main, "tune": _tune}
    return other_commands[given.command](given) or 0


@contextlib.contextmanager
def _warnings_of(command: str) -> Iterator[None]:
    """Warnings as lines of the command, without the place in our sources from which they came."""
    before = warnings.formatwarning
    warnings.formatwarning = lambda message, *_: f"python -m frame {command}: {message}\n"
    try:
        yield
    finally:
        warnings.formatwarning = before


def _not_known(given, rest: Sequence[str]) -> str:
    """The message about arguments that the command does not take."""
    command = f"python -m frame {given.command}"
    has_mixture = getattr(given, "mixture", "none") is None  # an option of the command, not given yet
    files = [word for word in rest if word.endswith((".yaml", ".yml"))]
    wanted = f"a mixture is named by --mixture {files[0]}; " if has_mixture and files else ""
    return f"{command}: unknown arguments: {shlex.join(rest)}; {wanted}`{command} --help` lists what it takes."


def _parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(prog="python -m frame", description="Real-gas properties for Fortran flow codes.")
    parser.add_argument("--version", action="version", version=f"{kernels.DISTRIBUTION} {kernels.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)

    make = commands.add_parser("build", help="make libframe.so, frame.h and the Fortran module")
    make.add_argument("--folder", type=pathlib.Path, help="folder of the results (default: build)")

    examples = commands.add_parser("examples", help="write the example mixtures, hosts and namelists into a folder")
    examples.add_argument("folder", type=pathlib.Path, help="it need not be there")

    # Commands with a module each.
    for name, module in MODULES.items():
        command = commands.add_parser(name, **module.COMMAND)
        for flag, settings in module.ARGUMENTS.items():
            command.add_argument(flag, **settings)
        if module.NEEDS_MIXTURE is not None:
            _add_mixture(command, required=module.NEEDS_MIXTURE)

    # bench, tune
    bench.add(commands)
    tune = commands.add_parser(
        "tune",
        help="verify, then time variants of a mixture's CUDA launches, of the species loops, or of tensor expressions; "
        "write the fastest",
    )
    species_loops.add_choice(tune)
    tune.add_argument(
        "--out",
        metavar="FILE",
        type=pathlib.Path,
        help="where what was found is written (default: build/launches.csv, or build/organisations.csv)",
    )
    tune.add_argument("--collections", type=split, metavar="NAME,NAME", help="with --mixture (default: all of T, p)")
    _add_mixture(tune, required=False)

    kinds = tune.add_subparsers(dest="what", metavar="tensor")
    tensor_tune.add_arguments(kinds.add_parser("tensor", help="search for the fastest organisation of contractions"))

    return parser


def _substance(text: str) -> tuple[str, str]:
    """("NAME", "CAS") of "NAME=CAS"."""
    name, equals, cas = text.rpartition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r}: wanted NAME=CAS, or NAME=estimate")
    return name, cas


def _add_mixture(parser, required: bool) -> None:
    """Adds the options that choose a mixture and its models, behind the command's own. The line of usage names the
    command's own, which are what was asked for."""
    own = parser.format_usage().removeprefix("usage: ").strip().replace("%", "%%")
    parser.usage = f"{own} {'--mixture FILE' if required else '[--mixture FILE]'} [--MODEL VALUE ...]"

    mixture = parser.add_argument_group(MIXTURE)
    mixture.add_argument(
        "--mixture", metavar="FILE", required=required, help="Cantera YAML; or species of the package: CH4,O2"
    )
    mixture.add_argument("--phase", help="phase of the file (default: the first gas)")
    mixture.add_argument("--without", type=split, default=[], metavar="NAME,NAME", help="species that are left out")
    mixture.add_argument(
        "--substance",
        type=_substance,
        action="append",
        default=[],
        metavar="NAME=CAS",
        help="critical fill: CAS number of a species that its name does not tell, or 'estimate'",
    )

    mixture.add_argument(
        "--fluid-table", metavar="FILE.csv", help="parameters of fluids for equation mapped, from `python -m frame fit`"
    )

    mixture.add_argument("--gas-constant", type=float, metavar="R", help="of the host, J/mol/K (default: CODATA 2018)")

    models = parser.add_argument_group(MODELS)
    for option in kernels.registry.options.values():
        text = f"{option.what} (default: {option.values[0]})"
        models.add_argument(f"--{option.name}", choices=option.values, help=text)


def _mixture(given):
    """The mixture that the options name; None without --mixture."""
    if getattr(given, "mixture", None) is None:
        return None

    options: dict = model_options(given)
    if given.fluid_table:
        options["fluids"] = given.fluid_table
    if given.gas_constant is not None:
        options["gas_constant"] = given.gas_constant
    if given.substance:
        options["critical"] = dict(given.substance)

    if _is_file(given.mixture):
        return kernels.Mixture.from_yaml(given.mixture, phase=given.phase, without=given.without, **options)

    refuse(
        bool(given.phase or given.without),
        f"--mixture {given.mixture}: there is no such file, and species of the package have no --phase, no --without.",
    )
    return kernels.Mixture.from_names(given.mixture, **options)


def _is_file(mixture: str) -> bool:
    """Whether --mixture names a file, not species of the package."""
    return pathlib.Path(mixture).suffix.lower() in (".yaml", ".yml") or os.path.exists(mixture)


def _build(given) -> None:
    build.build(given.folder or shipped.BUILD)


def _examples(given) -> None:
    for file in shipped.write(given.folder):
        print(file)


def _tune(given) -> None:
    if given.what == "tensor":
        tensor_tune.main(given)
    elif given.mixture:
        organisations.tune(given, _mixture(given))
    else:
        species_loops.tune(given)
