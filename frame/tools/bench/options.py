"""Options that several benches take, as arguments of argparse."""

from __future__ import annotations

from ...errors import FrameError

ONE_CORE = dict(choices=("cpu", "cuda"), default="cpu", help="one core (cpu), or a GPU")
JSON = dict(metavar="FILE", help="rows as JSON; -: to standard output, the table to standard error")


def rounds(default: int) -> dict:
    """The option for the number of rounds of works that are timed in turns."""
    return dict(type=int, default=default, help=f"turns that medians are taken of ({default})")


def refuse_below(given, **least: float) -> None:
    """Raises FrameError for an option whose number is below its least; None: it was not given."""
    for name, wanted in least.items():
        value = getattr(given, name)
        if value is not None and not value >= wanted:
            raise FrameError(f"--{name.replace('_', '-')} {value}, wanted {wanted} or more.")


def add(parser, options: dict[str, dict]) -> None:
    """Adds options {name: arguments} to a parser."""
    for name, arguments in options.items():
        parser.add_argument(name, **arguments)
