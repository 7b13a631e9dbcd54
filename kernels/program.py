"""Program: kernels joined into one launch for one mixture on one backend."""

from __future__ import annotations

from . import declare
from .backend import get_backend
from .codegen import emit
from .errors import ArgumentError


class Program:
    """A compiled launch.

    outputs and given: the kernels that lead from the given names to the outputs. kernels: these by name instead, in an
    order in which each finds its inputs, everything they write kept. precision: "double"; "mixed" (arrays given and
    filled are float32, the arithmetic stays double: results are rounded once); "single" (the arithmetic is float32 too;
    inversions refuse it); on the CPU also "scalar" (no packs), "wide" (quadruple: the kernels as their own reference,
    results rounded to double) and "count" (counting.py). dtype: of the arrays.
    reads, writes, kernels: names. Raises ArgumentError when a name is unknown or cannot be made.
    """

    def __init__(self, mixture, outputs=None, given=None, kernels=None, backend=None, precision="double", name=None):
        self.backend = backend = get_backend(backend) if backend is None or isinstance(backend, str) else backend
        if kernels is not None:
            unknown = [k for k in kernels if k not in declare.kernels]
            if unknown:
                raise ArgumentError(f"unknown kernel '{unknown[0]}'; known: {', '.join(sorted(declare.kernels))}.")
            records = [declare.kernels[k].for_options(mixture.options) for k in kernels]
            unfit = [r for r in records if not r.serves(mixture.options)]
            if unfit:
                raise ArgumentError(
                    f"kernel '{unfit[0].name}' is for {dict(unfit[0].when)}, the mixture has {mixture.options}."
                )
        else:
            records = declare.resolve(outputs, given, mixture.options)
        self.dtype = emit.dtype_of(precision)
        self.plan = backend.plan(records, outputs, mixture, precision)
        if not self.plan.writes:
            raise ArgumentError(f"nothing to compute: {', '.join(outputs or ())} given already.")
        self.reads, self.writes = self.plan.reads, self.plan.writes
        self.kernels = tuple(r.name for r in records)
        self.name = name or (self.kernels[0] if len(self.kernels) == 1 else "+".join(self.writes))
        self._constants, self._resident = emit.pack_constants(self.plan, backend)
        self._code = backend.compile(self.plan, self.name)

    def bind(self, arrays):
        """Check names, shapes and types once; returns run(n), which launches for the first n points of the bound
        arrays."""
        missing = [a for a in self.plan.arguments if a not in arrays]
        if missing:
            raise ArgumentError(f"'{self.name}' needs {', '.join(self.plan.arguments)}; missing {', '.join(missing)}.")
        return self.backend.prepare(self._code, self._constants, self.plan, arrays)

    def __repr__(self):
        return f"Program({self.name}: {' '.join(self.reads)} -> {' '.join(self.writes)}; {len(self.kernels)} kernels on {self.backend.name})"
