"""A frame from Python, and the calls that a host makes."""

import numpy as np
import pytest
from hosts import ROOT

from frame.frame import Frame
from frame.stripe import Field

MIXTURES = ROOT / "examples" / "mixtures"
BACKENDS = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


class Host:
    """A frame and the calls of a host in the old style, for contiguous arrays (nx, ny, nz[, variables]) without
    fringe."""

    def __init__(self, ns=1, nq=6, chunk=24, mixture="n2", backend="cpu", turbulent=0, **options):
        self.frame = Frame()
        self.frame.set_option("backend", backend)
        for name, value in options.items():
            self.frame.set_option(name, value)

        self.frame.initialize(-1, chunk, ns, nq, turbulent)
        if mixture:
            self.frame.load_mixture(str(MIXTURES / f"{mixture}.yaml"), "")

        self.impl = self.frame.properties.impl

    def _arguments(self, array, first, last):
        """Address, extents, bounds of all points and variables, and the stripe."""
        nx, ny, nz, variables = (*array.shape, 1)[:4]
        extents = (nx, ny, nz)
        bounds = (1, nx, 1, ny, 1, nz, 1, variables)
        stripe = (first, last or min(nx * ny * nz, self.impl.chunk))

        return (array.ctypes.data, *extents, *bounds, *stripe)

    def put(self, tag, array, first=1, last=0):
        assert array.flags.f_contiguous
        self.frame.populate_input(tag, *self._arguments(array, first, last))

    def get(self, tag, array, first=1, last=0):
        self.frame.populate_output(tag, *self._arguments(array, first, last))
        return array

    def launch(self, tag, n=24):
        self.frame.launch(tag, n)


def field(value, shape=(4, 3, 2)):
    return np.full(shape, float(value), order="F")


def state(ns=1, extra=5, T=300.0, shape=(4, 3, 2)):
    """Q of a pure or evenly mixed gas at 10 MPa."""
    Q = np.zeros((*shape, ns + extra), order="F")
    Q[..., 0], Q[..., 1], Q[..., 4], Q[..., 5 : 5 + ns] = 1e7, 30.0, T, 1 / ns
    return Q


def several(host, **fields):
    for tag, value in fields.items():
        host.put(tag, value)


def whole(name, array, way):
    """An array as the Fortran module describes it. way: also whether it is an output."""
    return Field(name, int(way), array.ctypes.data, array.shape, array.strides, (1,) * array.ndim, 8)


def asked(host, collection, inputs, **outputs):
    """A block call in the new style; inputs and outputs by name, arrays (4, 3, 2[, ns])."""
    fields = [
        whole(name, array, name in outputs and array is outputs[name])
        for name, array in (*inputs.items(), *outputs.items())
    ]
    host.frame.block_of_fields(collection, fields, (None,) * 4, (None,) * 4)


def of_species(value, shape=(4, 3, 2)):
    return np.full((*shape, 10), float(value), order="F")
