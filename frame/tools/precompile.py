"""`python -m frame compile`: fill the kernel cache on a login node, for compute nodes without a compiler."""

import argparse
import concurrent.futures
import functools
import itertools
import math
import os
import sys

import kernels
from kernels.engine.backend import cache
from kernels.engine.registry import split
from kernels.teams.render import ahead_of_extents, render

from ..config import PRECISIONS
from ..errors import closest, refuse
from ..impl import Sizes, TVImpl
from ..impl.launchers import variants
from . import BACKEND, REGISTER, texts
from .progress import clear, progress

MOST = 256  # kernels of one contraction whose extents are ranges


def _asked(text: str) -> tuple[str, frozenset[str]]:
    """'thermal=rho,h' -> ('thermal', {'rho', 'h'})."""
    name, found, outputs = text.partition("=")
    if not found or not outputs:
        raise argparse.ArgumentTypeError(f"'{text}', wanted NAME=OUT,OUT such as thermal=rho,h")
    return name, frozenset(split(outputs))


def _known(name: str) -> str:
    """The collection or kernel of this name or alias. Errors: ArgumentError for an unknown one."""
    found = kernels.registry.name_of(name)
    known = [*kernels.collections, *kernels.registry.kernels, *kernels.registry.team_kernels]
    meant, listed = closest(name, known), ", ".join(kernels.collections)
    refuse(found not in known, f"--only: unknown collection or kernel '{name}'{meant}; known collections: {listed}.")
    return found


def _contraction(asked: tuple[str, str], backend, dtype: str) -> str:
    """Compiles a (contraction, extents): extents such as i=12,j=8..12, or 12 for all indices; all extents of a range.
    Returns the lines to print."""
    text, sizes = asked
    text, options = texts.text_of(text)
    script = kernels.contractions.text.read(text, **options)
    e = script.expression

    lines = []
    for extents in _extents(script, texts.ranges_of(sizes)):
        kernels.contractions.Contraction(text, extents, dtype, backend=backend, **options).compile_ahead()
        lines.append(f"{backend}  {e}: {', '.join(f'{i} = {x}' for i, x in extents.items())}")
    return "\n".join(lines)


def _extents(script, told: dict[str, range]) -> list[dict[str, int]]:
    """All extents that an expression is compiled for: every combination of the ranges. Raises ArgumentError."""
    ranges = {index: allowed for index, allowed in script.extents.items() if "" not in told} | told
    tops = {index: allowed[-1] for index, allowed in ranges.items()}
    known = texts.extents_of(script.expression, tops)
    known.pop(script.expression.batch or "", None)

    choices = [ranges.get(index, ranges.get("", (extent,))) for index, extent in known.items()]
    many = math.prod(map(len, choices))
    kernels.engine.errors.refuse(many > MOST, f"--contraction: the ranges have {many} combinations, at most {MOST}.")
    return [dict(zip(known, chosen)) for chosen in itertools.product(*choices)]


def _with_boxes(launcher) -> None:
    """Compiles the launch for block calls of boxes too, which a CPU uses."""
    program = launcher.program
    if program.near or program.small:
        program.has_boxed()
    if program.near:
        program.has_boxed("uneven")


COMMAND = dict(help="fill the kernel cache, for compute nodes without a compiler")
NEEDS_MIXTURE = False
ARGUMENTS = {
    "--ns": dict(type=int, default=1, help="without a mixture: the host's number of species (default: 1)"),
    "--backend": BACKEND,
    "--arch": dict(help="cuda without a device: the target, such as sm_90"),
    "--register": REGISTER,
    "--precision": dict(choices=PRECISIONS, default="double", help="the host's option precision (default: double)"),
    "--kernels": dict(action="store_true", help="compile each single kernel too, not only the collections"),
    "--only": dict(nargs="+", metavar="NAME", help="compile these collections and kernels only (default: all)"),
    "--contraction": dict(
        nargs=2,
        metavar=("TEXT|NAME|FILE", "i=12,j=8"),
        action="append",
        default=[],
        help="compile a host's tensor expression for these extents (12: of every index but the batch's; i=8..12: each)",
    ),
    "--block": dict(
        metavar="NAME=OUT,OUT",
        type=_asked,
        action="append",
        default=[],
        help="compile the program of a block call too: its collection and its outputs",
    ),
}


def main(given, mixture: kernels.Mixture | None) -> int:
    """Compiles the collections and programs that the options name, and prints their names.

    Without a mixture: only kernels of the host and tensor expressions. Returns the exit status, 2 if the options name
    nothing. Raises ArgumentError for a block call whose outputs cannot be computed.
    """
    if mixture is None and not given.register and not given.contraction:
        print(
            "python -m frame compile: error: give some of --mixture FILE, --register FILE, --contraction TEXT SIZES",
            file=sys.stderr,
        )
        return 2

    added = []
    for file in given.register:
        added += kernels.load_declarations(file)
    backend = kernels.get_backend(given.backend, arch=given.arch)
    _contractions(given, backend)
    names = _names(given, mixture, added)

    impl = TVImpl(backend, Sizes(1, mixture.ns if mixture else given.ns), precision=given.precision)
    _ = impl.marshal.packer  # with a GPU, pageable arrays are packed by the CPU
    if mixture:
        impl.set_mixture(mixture)

    teams = kernels.registry.team_kernels
    _teams([name for name in names if name in teams], backend, kernels.dtype_of(given.precision))
    _launchers([name for name in names if name not in teams], impl)
    _block_calls(given.block, impl)

    print(f"kernel cache: {cache.folder()}")
    return 0


def _contractions(given, backend) -> None:
    """Compiles the tensor expressions."""
    contraction = functools.partial(_contraction, backend=backend, dtype=kernels.dtype_of(given.precision).name)
    with concurrent.futures.ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        for line in pool.map(contraction, given.contraction):
            print(line, flush=True)


def _names(given, mixture, added: list[str]) -> list[str]:
    """The collections and kernels to compile. added: kernels of the host."""
    if given.only:
        return [_known(name) for name in given.only]
    if not mixture:
        return added

    names = dict.fromkeys([*kernels.collections, *added])
    if given.kernels:
        names.update(dict.fromkeys(k.name for k in kernels.registry.kernels.values() if k.serves(mixture.options)))
    return list(names)


def _teams(names: list[str], backend, dtype) -> None:
    """Compiles team kernels, those of a header that share a source ahead_of_extents."""
    teams = kernels.registry.team_kernels
    groups = []
    for name in names:
        groups += ahead_of_extents(teams[name], backend.entry)

    for group in {(group[0].name, group[0].items.has_long_packs): group for group in groups}.values():
        backend.compile(render(group, backend.entry, dtype))
        print(f"{backend}  {' '.join(k.name for k in group)}")


def _launchers(names: list[str], impl: TVImpl) -> None:
    """Compiles collections and kernels; reports those that the mixture lacks data for."""
    for name in progress("compile", names):
        try:
            for more in variants(name):
                _with_boxes(impl.launcher(name, more))
            clear()
            print(f"{impl.backend}  {name}", flush=True)
        except (kernels.ArgumentError, kernels.StateError) as error:
            clear()
            print(f"left out: {name}: {error}", file=sys.stderr)


def _block_calls(blocks, impl: TVImpl) -> None:
    """Compiles the programs of block calls: (collection, outputs). Some outputs need optional inputs."""
    for name, outputs in progress("compile", blocks, name=lambda block: block[0]):
        compiled, refused = False, None
        for more in variants(name, asked=True):
            try:
                _with_boxes(impl.launcher(name, more, outputs))
                compiled = True
            except (kernels.ArgumentError, kernels.StateError) as error:
                refused = error
        if refused and not compiled:
            raise refused

        clear()
        print(f"{impl.backend}  {name}: {' '.join(sorted(outputs))}", flush=True)
