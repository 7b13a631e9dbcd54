"""Commands for people: nothing on a host's path imports this folder."""

import kernels

# Arguments that several commands take.
BACKEND = dict(choices=("auto", "cpu", "cuda"), default=None, help="default: FRAME_BACKEND, else auto")
REGISTER = dict(metavar="FILE", action="append", default=[], help="declarations of the host's own kernels")


def model_options(given) -> dict[str, str]:
    """{option: value} of the model options that a command line gives; the others are the mixture's to choose."""
    chosen = {name: getattr(given, name, None) for name in kernels.OPTIONS}
    return {name: value for name, value in chosen.items() if value is not None}
