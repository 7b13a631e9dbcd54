"""Rivals of tensor expressions, for `bench tensor`: einsum and matmul of NumPy, CuPy and torch, cuTENSOR, libxsmm.

A method of `Rivals` returns (work, results) for the arrays of a case: work() computes, results are what it wrote. All
serve NumPy, CuPy and torch alike; a library that a machine lacks raises BackendError.
"""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np

from kernels import Contraction
from kernels.contractions.evaluate import evaluate
from kernels.engine.backend.base import Shape, Source
from kernels.engine.backend.record import record

from ...errors import BackendError
from . import xsmm_products

HERE = pathlib.Path(__file__).resolve().parent
XSMM = Source(
    "xsmm",
    f'#include "{HERE / "tensor_xsmm.h"}"\n',
    libraries=xsmm_products.LIBRARIES,
)


def torch_module():
    """The module torch. Raises BackendError where it is not installed."""
    try:
        import torch
    except ImportError as error:
        raise BackendError(f"torch is not installed ({error}).") from None
    return torch


class Rivals:
    """The rivals of one plan, for its arrays of NumPy or CuPy."""

    def __init__(self, plan: Contraction, arrays, entries: int):
        self.plan, self.arrays, self.entries = plan, arrays, entries
        self.xp = plan.backend.arrays
        self.made = [plan.backend.empty(arrays[name].shape, plan.dtype) for name in plan.expression.outputs]

    # ---- einsum: statement by statement, as a user of the library writes it
    def _einsum(self, arrays, einsum, sign=lambda number: number):
        results: list = []

        def work():
            results[:] = evaluate(self.plan.expression, arrays, einsum, sign)

        return work, results

    def einsum(self):
        """NumPy's or CuPy's, whose result may be a view with its dimensions in another order of memory."""
        return self._einsum(self.arrays, lambda text, *x: self.xp.einsum(text, *x, optimize=True))

    def einsum_in_order(self):
        """NumPy's or CuPy's einsum, with the result in the order of memory that is asked for, as ours has it."""
        ordered = self.xp.ascontiguousarray
        return self._einsum(self.arrays, lambda text, *x: ordered(self.xp.einsum(text, *x, optimize=True)))

    def opt_einsum(self):
        try:
            from opt_einsum import contract
        except ImportError as error:
            raise BackendError(f"opt_einsum is not installed ({error}).") from None
        return self._einsum(self.arrays, contract)

    def sizes(self):
        """The sum of the terms' sizes, for arrays of sizes: no term is taken away."""
        return self._einsum(self.arrays, lambda text, *x: self.xp.einsum(text, *x, optimize=True), abs)

    def torch_einsum(self):
        """torch's, whose result may be a view with its dimensions in another order of memory."""
        torch = torch_module()
        return self._einsum(self.torch_arrays(), torch.einsum)

    def torch_in_order(self):
        """torch's einsum with the result in the order of memory that is asked for, as ours has it."""
        torch = torch_module()
        return self._einsum(self.torch_arrays(), lambda text, *x: torch.einsum(text, *x).contiguous())

    def torch_arrays(self):
        """The same memory as torch's tensors."""
        torch = torch_module()
        return {name: torch.as_tensor(a, device="cuda") for name, a in self.arrays.items()}

    # ---- matmul: arranged by hand
    def matmul(self):
        return self._matmul(self.xp, self.arrays, self.made)

    def torch_matmul(self):
        torch = torch_module()
        made = [torch.as_tensor(a, device="cuda") for a in self.made]
        return self._matmul(torch, self.torch_arrays(), made)

    def _matmul(self, xp, a, out):
        """Products of matrices that lie in memory as they are; what no product of matrices does is arithmetic of
        arrays."""
        e = self.plan.expression
        product = xp.matmul

        if "left" in a and len(e.outputs) == 1 and out[0].ndim == 3:
            turned = a["right"].swapaxes(1, 2)
            return (lambda: product(a["left"], turned, out=out[0])), out

        if "field" in a:
            return (lambda: product(a["field"], a["data"][:, :, None], out=out[0][:, :, None])), out
        if "left" in a:
            to = out[0][:, None, None]
            return (lambda: product(a["left"][:, None, :], a["right"][:, :, None], out=to)), out

        if "U" in a:
            return self._kron(xp, a, out)

        return self._nekbone(xp, a, out)

    def _nekbone(self, xp, a, out):
        """Lg3, Lg3t and Ax: three products of matrices for the slopes, three back."""
        product = xp.matmul
        D = a["D"]
        n, turned = len(D), D.T
        entries = self.entries

        def slopes(u, to):
            product(u.reshape(-1, n), turned, out=to[0].reshape(-1, n))
            product(D, u.reshape(entries * n, n, n), out=to[1].reshape(entries * n, n, n))
            product(D, u.reshape(entries, n, n * n), out=to[2].reshape(entries, n, n * n))

        def back(x, to, spare):
            product(x[0].reshape(-1, n), D, out=to.reshape(-1, n))
            product(turned, x[1].reshape(entries * n, n, n), out=spare.reshape(entries * n, n, n))
            to += spare
            product(turned, x[2].reshape(entries, n, n * n), out=spare.reshape(entries, n, n * n))
            to += spare

        if "ut" in self.plan.expression.outputs:
            return (lambda: slopes(a["u"], out)), out

        def like():
            return xp.empty_like(out[0])

        if "u" not in a:
            spare = like()
            return (lambda: back([a["ur"], a["us"], a["ut"]], out[0], spare)), out

        r, spare = [like() for _ in range(3)], like()
        rows = [["g"]] if "g" in a else [["g1", "g2", "g3"], ["g2", "g4", "g5"], ["g3", "g5", "g6"]]

        def whole():
            slopes(a["u"], r)
            if len(rows) == 1:
                w = [a["g"] * x for x in r]
            else:
                w = [a[f] * r[0] + a[g] * r[1] + a[h] * r[2] for f, g, h in rows]

            back(w, out[0], spare)

        return whole, out

    def _kron(self, xp, a, out):
        """Two matrix products: the first with C, the second with the Kronecker product of A and B."""
        n = len(a["A"])
        both = xp.einsum("lk,mj->lmjk", a["A"], a["B"]).reshape(n * n, n * n)
        both = both + 0 * both  # in order
        add = bool(self.plan.expression.updated)
        target: Any = self.arrays["V"] if add else None
        if add and not isinstance(out[0], type(target)):
            target = xp.as_tensor(target, device="cuda")

        def work():
            part = xp.matmul(a["U"].reshape(-1, n), a["C"]).reshape(-1, n * n, n)
            xp.matmul(part.swapaxes(1, 2), both, out=out[0].reshape(-1, n, n * n))
            if add:
                target[...] += out[0]

        return work, [target] if add else out

    # ---- libraries of contractions
    def cutensor(self):
        """A product of two arrays, added to the third, in one call."""
        try:
            from cupyx import cutensor
        except ImportError as error:
            raise BackendError(f"cuTENSOR does not load ({error}).") from None
        a = self.arrays
        if not getattr(cutensor, "available", True) or not hasattr(cutensor, "contraction"):
            raise BackendError("cuTENSOR does not load.")
        target = {name: a[name] for name in self.plan.expression.outputs}

        def work():
            for s in self.plan.expression.statements:
                for k, t in enumerate(s.terms):
                    x, y = t.factors
                    cutensor.contraction(
                        t.number,
                        a[x.name],
                        x.indices,
                        a[y.name],
                        y.indices,
                        float(s.add or k > 0),
                        target[s.out.name],
                        s.out.indices,
                    )

        return work, list(target.values())

    def _xsmm(self, function: str, inputs):
        module, be = self.plan.backend.compile(XSMM), self.plan.backend
        at = np.zeros(4, np.int64)
        at[: len(inputs)] = [be.address(x) for x in inputs]
        to = np.zeros(3, np.int64)
        to[: len(self.made)] = [be.address(x) for x in self.made]
        held = record("at:whole:4 out:whole:3", at=at, out=to)
        run = module.bind(function, Shape(), held, keep=(inputs, self.made))
        return (lambda: run(self.entries)), self.made

    def xsmm(self):
        """A product of two arrays, folded to products of matrices: the fastest of several ways, by a trial of each."""
        return xsmm_products.Product(self.plan, self.arrays, self.made[0], self.entries).fastest(), self.made

    def xsmm_lg3(self):
        D = self.arrays["D"]
        return self._xsmm("xsmm_lg3", [D, np.ascontiguousarray(D.T), self.arrays["u"]])

    def xsmm_fields(self):
        left, right = self.arrays["left"], self.arrays["right"]
        return self._xsmm(f"xsmm_fields_{left.shape[1]}_{left.shape[2]}", [left, right])

    def xsmm_eqn1(self):
        a = self.arrays
        turned = [np.ascontiguousarray(a[name].T) for name in "AB"]
        return self._xsmm("xsmm_eqn1", [*turned, a["C"], a["U"]])
