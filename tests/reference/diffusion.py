"""Binary diffusion at low pressure, Takahashi's pressure correction, mixture-averaged coefficients.

Takahashi, J. Chem. Eng. Japan 7 (1974) 417 (original not seen; the table as several codes have it). Fuller, Schettler
& Giddings 1966, Poling 11-4.4. Modes of the correction: "off"; "table": exactly 1 below Pr = 0.1, as Cantera;
"smooth": a row Pr = 0 with value 1, linear from there to the row 0.1, so continuous; negative brackets count as 0, and
the factor is at least 0.01. In mode "table" a negative factor becomes 1e-20.
"""

import numpy as np

from .tracked import EPS, LD, Tracked, value

FLOOR = LD("1e-20")
LOWEST = LD("0.01")
TABLE = [
    [LD(number) for number in line.split()]
    for line in """
0.1 1.01 0.038042 1.52267 0 1
0.2 1.01 0.067433 2.16794 0 1
0.3 1.01 0.098317 2.42910 0 1
0.4 1.01 0.137610 2.77605 0 1
0.5 1.01 0.175081 2.98256 0 1
0.6 1.01 0.216376 3.11384 0 1
0.8 1.01 0.314051 3.50264 0 1
1.0 1.02 0.385736 3.07773 0.141211 13.45454
1.2 1.02 0.514553 3.54744 0.278407 14
1.4 1.02 0.599184 3.61216 0.372683 10.00900
1.6 1.02 0.557725 3.41882 0.504894 8.57519
1.8 1.03 0.593007 3.18415 0.678469 10.37483
2.0 1.03 0.696001 3.37660 0.665702 11.21674
2.5 1.04 0.790770 3.27984 0 1
3.0 1.05 0.502100 3.39031 0.602907 6.19043
4.0 1.06 0.837452 3.23513 0 1
5.0 1.07 0.890390 3.13001 0 1
""".strip().splitlines()
]


def _not_negative(x):
    return np.where(value(x) < 0, 0 * x, x) if not isinstance(x, Tracked) else Tracked(np.maximum(x.val, 0), x.err)


def row_value(Tr, row, mode="table"):
    """(DP)_R of the rows numbered `row` (integers, shape of Tr) of the table."""
    _, D0, A, B, C, E = (np.array(column)[row] for column in zip(*TABLE))
    first, second = 1 - A * Tr ** (-B), 1 - C * Tr ** (-E)
    if mode == "smooth":
        first, second = _not_negative(first), _not_negative(second)
    return D0 * first * second


def takahashi(Tr, Pr, mode, table_error=0.0):
    """The factor on p D_ij; Tr, Pr arrays of one shape.

    table_error: absolute error that a kernel may make that tabulates the rows; joins the bound of a Tracked result of
    mode smooth, which is continuous in it.
    """
    if mode == "off":
        return 1 + 0 * Tr
    if mode not in ("table", "smooth"):
        raise ValueError(f"takahashi {mode!r}")

    knots = np.array([row[0] for row in TABLE])
    high = np.clip(np.searchsorted(knots, value(Pr), side="right"), 1, len(TABLE) - 1)
    low = high - 1
    f_low, f_high = row_value(Tr, low, mode), row_value(Tr, high, mode)
    weight = (Pr - knots[low]) / (knots[high] - knots[low])
    out = np.where(value(Pr) < knots[-1], f_low + (f_high - f_low) * weight, f_high)
    first = LD(1) if mode == "table" else 1 + (f_low - 1) * (Pr / knots[0])  # f_low is row 0.1 there
    out = np.where(value(Pr) < knots[0], first, out)
    if mode == "table":
        return np.where(value(out) < 0, FLOOR, out)
    if isinstance(out, Tracked):
        return Tracked(np.maximum(out.val, LOWEST), out.err + table_error / EPS)

    return np.maximum(out, LOWEST)


def _polynomial(x, coefficients):
    total = coefficients[len(coefficients) - 1]
    for k in range(len(coefficients) - 2, -1, -1):
        total = total * x + coefficients[k]
    return total


def kinetic_pD(T, coefficients, model="kinetic"):
    """p D_ij [Pa m2/s] from a fit: "kinetic" T^1.5/(sum_k c_k T^(-k/4)), "cantera" T^1.5 sum_k c_k (ln T)^k; (terms,
    ...)."""
    if model == "cantera":
        return T * np.sqrt(T) * _polynomial(np.log(T), coefficients)
    return T * np.sqrt(T) / _polynomial(1 / np.sqrt(np.sqrt(T)), coefficients)


def fuller_pD(T, W_i, W_j, S_i, S_j):
    """p D_ij [Pa m2/s] of Fuller's correlation; W [kg/mol], S diffusion volumes."""
    M_ij = 2 / (1 / (1000 * W_i) + 1 / (1000 * W_j))
    in_cm2_bar = LD("0.00143") * T ** LD("1.75") / (np.sqrt(M_ij) * (np.cbrt(S_i) + np.cbrt(S_j)) ** 2)
    return in_cm2_bar * LD("1e-4") * LD("1e5")


def binary(T, p, X, sp, model="kinetic", mode="smooth", coefficients=None, table_error=0.0):
    """D_ij (ns, ns, n) [m2/s], coefficients (terms, ns, ns) of the fit for models "kinetic" and "cantera"; table_error:
    see takahashi."""
    i, j = np.tril_indices(sp.ns)
    if model in ("kinetic", "cantera"):
        pD = kinetic_pD(T, coefficients[:, i, j][:, :, None], model)
    elif model == "fuller":
        W, S = sp.W[:, None], sp.fuller_volume[:, None]
        pD = fuller_pD(T, W[i], W[j], S[i], S[j])
    else:
        raise ValueError(f"diffusion {model!r}")

    x = np.maximum(X, FLOOR)
    y_i, y_j = x[i] / (x[i] + x[j]), x[j] / (x[i] + x[j])
    Tc, pc = sp.Tc[:, None], sp.pc[:, None]
    factor = takahashi(T / (y_i * Tc[i] + y_j * Tc[j]), p / (y_i * pc[i] + y_j * pc[j]), mode, table_error)
    place = np.empty((sp.ns, sp.ns), int)
    place[i, j] = place[j, i] = np.arange(len(i))

    return (factor * pD / p)[place]


def mixture_averaged(X, D, sp):
    """D_k (ns, n) = sum_{j!=k} x_j W_j / (M sum_{j!=k} x_j/D_kj), x floored at 1e-20 in both sums; one species: D_11.

    Equal to (M - x_k W_k)/(M sum ...) and free of its 0/0 at a pure species.
    """
    if sp.ns == 1:
        return D[0]

    x = np.maximum(X, FLOOR)
    M = (X * sp.W[:, None]).sum(0)
    out = []

    for k in range(sp.ns):
        others = [j for j in range(sp.ns) if j != k]
        top = (x[others] * sp.W[others][:, None]).sum(0)
        out.append(top / (M * (x[others] / D[k, others]).sum(0)))

    return np.stack(out)


def _others(values):
    return np.stack([values[[j for j in range(len(values)) if j != k]].sum(0) for k in range(len(values))])


def mole_averaged(X, D, sp):
    """(1 - x_k)/sum_{j!=k} x_j/D_kj, x floored at 1e-20; one species: D_11."""
    if sp.ns == 1:
        return D[0]
    x = np.maximum(X, FLOOR)
    rest = _others(x)
    return np.stack([rest[k] / sum(x[j] / D[k, j] for j in range(sp.ns) if j != k) for k in range(sp.ns)])


def mass_gradient(X, D, sp):
    """1/(sum_{j!=k} x_j/D_kj + x_k/(sum_{j!=k} x_j W_j) sum_{j!=k} x_j W_j/D_kj), x floored at 1e-20; one species:
    D_11."""
    if sp.ns == 1:
        return D[0]

    x = np.maximum(X, FLOOR)
    rest = _others(x * sp.W[:, None])
    out = []

    for k in range(sp.ns):
        others = [j for j in range(sp.ns) if j != k]
        out.append(
            1 / (sum(x[j] / D[k, j] for j in others) + x[k] / rest[k] * sum(x[j] * sp.W[j] / D[k, j] for j in others))
        )

    return np.stack(out)
