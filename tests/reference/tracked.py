"""Numbers that carry a running bound of the rounding error a float64 evaluation would make.

A Tracked holds `val` (longdouble) and `err` (float64, in units of the float64 eps): after each operation
err = first-order propagated error + |result|. A sum therefore gets the familiar sum |terms|, and a root of the
cubic its condition number. So a test can ask for |kernel - val| <= n eps err with a small n, near the critical
point as well as in a hot gas. Wilkinson's running error analysis; Higham, Accuracy and Stability
of Numerical Algorithms, section 3.3 (book not at hand).
"""

import numpy as np

LD = np.longdouble
EPS = float(np.finfo(np.float64).eps)


def _f(x):
    return np.abs(np.asarray(x).astype(np.float64))


class Tracked:
    """val: longdouble array; err: float64 array of the same shape, >= 0, in units of eps."""

    __array_priority__ = 100

    def __init__(self, val, err=None, exact=False):
        self.val = np.asarray(val, dtype=LD)
        if err is None:
            err = np.zeros(self.val.shape) if exact else _f(self.val)
        err = np.asarray(err, dtype=np.float64)
        self.err = err if err.shape == self.val.shape else np.broadcast_to(err, self.val.shape)

    # -- shape
    shape = property(lambda self: self.val.shape)
    ndim = property(lambda self: self.val.ndim)

    def __len__(self):
        return len(self.val)

    def __getitem__(self, key):
        return Tracked(self.val[key], self.err[key])

    def sum(self, axis=None):
        # each addend may take part in n - 1 roundings, but the bound of blocked or pairwise sums is far lower
        total = np.abs(self.val).sum(axis).astype(np.float64)
        return Tracked(self.val.sum(axis), self.err.sum(axis) + 2 * total)

    def __repr__(self):
        return f"Tracked({self.val!r}, err={self.err!r})"

    # -- arithmetic
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if method != "__call__" or kwargs or ufunc not in _RULES:
            if method == "__call__" and ufunc in _COMPARE and not kwargs:
                return ufunc(*[value(x) for x in inputs])
            return NotImplemented

        with np.errstate(all="ignore"):
            return _RULES[ufunc](*[lift(x) for x in inputs])

    def __array_function__(self, func, types, args, kwargs):
        if func is np.where:
            cond, a, b = args
            a, b = lift(a), lift(b)
            return Tracked(np.where(value(cond), a.val, b.val), np.where(value(cond), a.err, b.err))

        if func is np.stack:
            items = [lift(x) for x in args[0]]
            return Tracked(np.stack([x.val for x in items]), np.stack([np.broadcast_to(x.err, x.shape) for x in items]))

        return NotImplemented

    def __add__(self, o):
        return np.add(self, o)

    def __radd__(self, o):
        return np.add(o, self)

    def __sub__(self, o):
        return np.subtract(self, o)

    def __rsub__(self, o):
        return np.subtract(o, self)

    def __mul__(self, o):
        return np.multiply(self, o)

    def __rmul__(self, o):
        return np.multiply(o, self)

    def __truediv__(self, o):
        return np.divide(self, o)

    def __rtruediv__(self, o):
        return np.divide(o, self)

    def __matmul__(self, o):
        return np.matmul(self, o)

    def __rmatmul__(self, o):
        return np.matmul(o, self)

    def __pow__(self, k):
        return np.power(self, k)

    def __neg__(self):
        return Tracked(-self.val, self.err)

    def __abs__(self):
        return Tracked(np.abs(self.val), self.err)

    def __lt__(self, o):
        return self.val < value(o)

    def __gt__(self, o):
        return self.val > value(o)

    def __le__(self, o):
        return self.val <= value(o)

    def __ge__(self, o):
        return self.val >= value(o)


def value(x):
    """The plain array in x, Tracked or not."""
    return x.val if isinstance(x, Tracked) else np.asarray(x)


def lift(x):
    """x as a Tracked; literals and arrays that are exactly small integers or halves carry no error."""
    if isinstance(x, Tracked):
        return x
    x = np.asarray(x, dtype=LD)
    exact = x.ndim == 0 and np.isfinite(x) and float(x) * 2 == np.rint(float(x) * 2)
    return Tracked(x, exact=bool(exact))


def _add(a, b):
    r = a.val + b.val
    return Tracked(r, a.err + b.err + _f(r))


def _sub(a, b):
    r = a.val - b.val
    return Tracked(r, a.err + b.err + _f(r))


def _mul(a, b):
    r = a.val * b.val
    return Tracked(r, _f(a.val) * b.err + _f(b.val) * a.err + _f(r))


def _div(a, b):
    r = a.val / b.val
    return Tracked(r, (a.err + _f(r) * b.err) / _f(b.val) + _f(r))


def _pow(a, k):
    r = a.val**k.val
    with np.errstate(all="ignore"):
        slope = np.where(a.val == 0, 0, k.val * r / np.where(a.val == 0, 1, a.val))
    if k.val.ndim == 0 and k.err == 0 and abs(float(k.val)) <= 4:  # products and roots, not exp(k log)
        return Tracked(r, _f(slope) * a.err + 2 * _f(r))

    log = np.where(a.val > 0, np.log(np.where(a.val > 0, a.val, 1)), 0)
    return Tracked(r, _f(slope) * a.err + _f(r) * (2 + _f(k.val * log)) + _f(r * log) * k.err)


def _matmul(a, b):
    r = a.val @ b.val
    big = _f(a.val) @ _f(b.val)
    return Tracked(r, _f(a.val) @ b.err + a.err @ _f(b.val) + 2 * big)


def _unary(function, slope):
    def rule(a):
        r = function(a.val)
        carried = np.where(a.err == 0, 0, _f(slope(a.val, r)) * a.err)  # sqrt of an exact zero is exact
        return Tracked(r, carried + _f(r))

    return rule


def _max(a, b):
    return np.where(a.val >= b.val, a, b)


def _min(a, b):
    return np.where(a.val <= b.val, a, b)


_RULES = {
    np.add: _add,
    np.subtract: _sub,
    np.multiply: _mul,
    np.divide: _div,
    np.power: _pow,
    np.matmul: _matmul,
    np.negative: lambda a: -a,
    np.absolute: abs,
    np.maximum: _max,
    np.minimum: _min,
    np.square: lambda a: _mul(a, a),
    np.sqrt: _unary(np.sqrt, lambda a, r: 0.5 / r),
    np.cbrt: _unary(np.cbrt, lambda a, r: r / (3 * a)),
    np.exp: _unary(np.exp, lambda a, r: r),
    np.expm1: _unary(np.expm1, lambda a, r: r + 1),
    np.log: _unary(np.log, lambda a, r: 1 / a),
    np.arctan: _unary(np.arctan, lambda a, r: 1 / (1 + a * a)),
    np.log1p: _unary(np.log1p, lambda a, r: 1 / (1 + a)),
    np.sign: lambda a: Tracked(np.sign(a.val), exact=True),
}
_COMPARE = {np.less, np.greater, np.less_equal, np.greater_equal, np.equal, np.not_equal, np.isnan, np.isfinite}
