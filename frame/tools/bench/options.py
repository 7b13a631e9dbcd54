"""Options that several benches take, as arguments of argparse."""

from __future__ import annotations

ONE_CORE = dict(choices=("cpu", "cuda"), default="cpu", help="one core (cpu), or a GPU")
JSON = dict(metavar="FILE", help="rows as JSON; -: to standard output, the table to standard error")


def rounds(default: int) -> dict:
    """The option for the number of rounds of works that are timed in turns."""
    return dict(type=int, default=default, help=f"turns that medians are taken of ({default})")


def add(parser, options: dict[str, dict]) -> None:
    """Adds options {name: arguments} to a parser."""
    for name, arguments in options.items():
        parser.add_argument(name, **arguments)
