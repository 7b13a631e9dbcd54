"""`python -m frame info`: backends and tools of this machine; for a mixture all species constants with origins, and
warnings about constants that look wrong."""

from collections import Counter

import kernels

from ..config import Config
from ..errors import MixtureError
from . import machine, tables_in_use
from .mixture_report import report


def reactions(species) -> str:
    """Number of reactions of each kind, or the reason why there are no reactions."""
    try:
        kinds = Counter(r.kind for r in species.mechanism.reactions)
    except MixtureError as error:
        return str(error)

    return f"{kinds.total()}: {', '.join(f'{n} {kind}' for kind, n in kinds.most_common())}"


COMMAND = dict(help="list backends, compilers, devices, MPI, cache; for a mixture its constants, options, checks")
NEEDS_MIXTURE = False
ARGUMENTS: dict[str, dict] = {}


def main(given, mixture: kernels.Mixture | None) -> None:
    """Prints what is known of the mixture if the command names a mixture, then the lines of the machine."""
    if mixture is not None:
        _print(_of_mixture(given.mixture, mixture))
        print(report(mixture))
        print("\nthis machine")

    rows = machine.rows(Config())
    if mixture is None:
        defaults = ", ".join(f"{k} {v[0]}" for k, v in kernels.OPTIONS.items())
        rows.append(("model options", f"{defaults} (the defaults; --mixture FILE shows more)"))

    # Long tables of measured times come last.
    rows += tables_in_use.placement_table(Config(), mixture.ns if mixture else 10)
    rows += tables_in_use.launch_table(mixture)
    rows += tables_in_use.organisation_table()
    _print(rows)


def _of_mixture(file, mixture: kernels.Mixture) -> list[tuple[str, str]]:
    """(name, value) of a mixture's facts."""
    return [
        ("mixture", f"{file}: {mixture.ns} species: {' '.join(mixture.names)}"),
        *mixture.facts.items(),
        ("model options", ", ".join(f"{k} {v}" for k, v in mixture.options.items())),
        ("reactions", reactions(mixture.species)),
        *(("note", note) for note in mixture.notes),
        *(("lacks", reason) for reason in dict.fromkeys(mixture.constants.lacks.values())),
    ]


def _print(rows) -> None:
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:{width}}  {value}")
