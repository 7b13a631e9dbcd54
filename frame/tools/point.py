"""`python -m frame point`: CUDA C++ of a function of one point, for device code that a host compiles itself."""

from kernels.engine.registry import split
from kernels.gas.point import device_source

from ..errors import MixtureError, refuse

COMMAND = dict(help="print CUDA C++ of a function of one point, for device code of the host's own")
NEEDS_MIXTURE = True
ARGUMENTS = {
    "given": dict(metavar="NAME,NAME", help="inputs, in the order in which their numbers lie, such as T,p,Y"),
    "made": dict(metavar="NAME,NAME", help="outputs, such as rho,h"),
    "--name": dict(default="frame_point", help="of the function (default: frame_point)"),
}


def main(given, mixture) -> None:
    """Prints the source. Raises ArgumentError; see kernels.gas.point.device_source."""
    refuse(mixture is None, "--mixture is missing.", MixtureError)
    print(device_source(mixture, split(given.made), split(given.given), given.name))
