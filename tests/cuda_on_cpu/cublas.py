"""cuBLAS, played by NumPy: products by columns, as its manual has them."""

import ctypes
import functools

import numpy as np

KINDS = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}


class Cublas:
    """Products by columns: C = alpha op(A) op(B) + beta C, op the transpose where asked for."""

    def __init__(self):
        for letter, dtype in KINDS.items():
            setattr(self, f"{letter}gemm", functools.partial(self._product, dtype))
            setattr(self, f"{letter}gemmStridedBatched", functools.partial(self._strided, dtype))
            setattr(self, f"{letter}gemmBatched", functools.partial(self._table, dtype))

    @staticmethod
    def _matrix(dtype, at, rows, columns, line):
        assert line >= max(rows, 1), "lines overlap"
        raw = (ctypes.c_char * ((line * (columns - 1) + rows) * np.dtype(dtype).itemsize)).from_address(at)
        flat = np.frombuffer(raw, dtype)
        strides = [np.dtype(dtype).itemsize, line * np.dtype(dtype).itemsize]
        return np.lib.stride_tricks.as_strided(flat, (rows, columns), strides)

    def _product(self, dtype, handle, turn_a, turn_b, m, n, k, alpha, a, line_a, b, line_b, beta, c, line_c):
        def number(at):
            return np.frombuffer((ctypes.c_char * np.dtype(dtype).itemsize).from_address(at), dtype)[0]

        left = self._matrix(dtype, a, k, m, line_a).T if turn_a else self._matrix(dtype, a, m, k, line_a)
        right = self._matrix(dtype, b, n, k, line_b).T if turn_b else self._matrix(dtype, b, k, n, line_b)
        out = self._matrix(dtype, c, m, n, line_c)
        old = number(beta) * out if number(beta) else 0  # beta 0: the old values are not read
        out[...] = number(alpha) * (left @ right) + old

    def _strided(self, dtype, handle, ta, tb, m, n, k, alpha, a, la, sa, b, lb, sb, beta, c, lc, sc, count):
        size = np.dtype(dtype).itemsize
        for i in range(count):
            at = (a + i * sa * size, b + i * sb * size, c + i * sc * size)
            self._product(dtype, handle, ta, tb, m, n, k, alpha, at[0], la, at[1], lb, beta, at[2], lc)

    def _table(self, dtype, handle, ta, tb, m, n, k, alpha, a, la, b, lb, beta, c, lc, count):
        tables = [(ctypes.c_long * count).from_address(at) for at in (a, b, c)]
        for at in zip(*tables):
            self._product(dtype, handle, ta, tb, m, n, k, alpha, at[0], la, at[1], lb, beta, at[2], lc)
