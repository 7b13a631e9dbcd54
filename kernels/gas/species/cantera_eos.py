"""The map `equation-of-state` of species in Cantera's format: a and b of a species, and of pairs."""

from __future__ import annotations

import math

import numpy as np

from .cantera_file import Node
from .units import short as _short

PENG_ROBINSON, RK, IDEAL = "Peng-Robinson", "Redlich-Kwong", "ideal-gas"  # thermo models of gas phases
CUBICS = (PENG_ROBINSON, RK)
CUBIC = "model a b acentric-factor binary-a volume-translation units note".split()  # keys of their maps
RK_A = ("Pa*m^6/kmol^2*K^0.5", "Pa*m^6/kmol^2/K^0.5")  # units of a0, a1
RK_OMEGA_A, RK_OMEGA_B = 1 / (9 * (2 ** (1 / 3) - 1)), (2 ** (1 / 3) - 1) / 3


def eos_of(node, model=PENG_ROBINSON):
    """The equation-of-state map of a species for this model; an empty map if there is none."""
    models = node.data.get("equation-of-state")
    if models is None:
        models = []
    elif not isinstance(models, list):
        models = [models]

    for data in models:
        block = Node(data, f"{node.where}: equation-of-state", node.units)
        if block.data.get("model") == model:
            if model in CUBICS:
                block.spelt(*CUBIC)
            return block
    return Node({}, node.where, node.units)


def _rk_a(block, key):
    """(a0 [Pa m6 K^0.5/mol2], a1 [Pa m6/K^0.5/mol2]) from a number a0 or a list [a0, a1]; a1 is 0 by default."""
    value = block.need(key, "a number or [a0, a1]")
    parts = value if isinstance(value, list) else [value]
    block.refuse(len(parts) not in (1, 2), f"{key}: got {_short(value)}, wanted a number or [a0, a1].")

    a = [0.0, 0.0]
    for k, part in enumerate(parts):
        try:
            a[k] = block.units.convert(part, RK_A[k]) * 1e-6
        except ValueError as error:
            block.fail(f"{key}: {error}.")
    return tuple(a)


def rk_critical(eos):
    """Critical point (Tc [K], pc [Pa]) of p = R T/(v - b) - (a0 + a1 T)/(sqrt(T) v (v + b)).

    Tc solves a0 + a1 Tc = k Tc^1.5 with k = (Omega_a/Omega_b) R b.
    """
    a0, a1 = _rk_a(eos, "a")
    eos.refuse(not a0 > 0, f"a: got {_short(eos.data['a'])}, wanted a positive number.")
    b = eos.positive("b", "m^3/kmol") * 1e-3
    k = RK_OMEGA_A / RK_OMEGA_B * eos.units.R * b

    Tc = (a0 / k) ** (2 / 3)
    if a1:
        # Newton's method on a convex function, from above the root: every step comes closer.
        Tc = 4 * max(Tc, (a1 / k) ** 2)
        for _ in range(60):
            Tc -= (k * Tc**1.5 - a1 * Tc - a0) / (1.5 * k * Tc**0.5 - a1)

    return Tc, RK_OMEGA_B * eos.units.R * Tc / b


def binary_rk(phase, known, nodes, data):
    """(k_ij (ns, ns), a_ij (2, ns, ns)) of a Redlich-Kwong phase. a_ij is None unless some a depends on T.

    Cross terms follow Cantera: sqrt(a0_i a0_j), sqrt(a1_i a1_j), or binary-a.
    """
    names, ns = data.names, len(nodes)

    # a0 and a1 of the pure species: from the file, else from Tc and pc.
    pure = np.zeros((2, ns))
    pure[0] = RK_OMEGA_A * data.R**2 * data.Tc**2.5 / data.pc
    for s, node in enumerate(nodes):
        eos = eos_of(node, RK)
        if eos.has("a") and eos.has("b"):
            pure[:, s] = _rk_a(eos, "a")

    # Pairs.
    with np.errstate(invalid="ignore"):
        a = np.sqrt(pure[:, :, None] * pure[:, None])
    a[:, range(ns), range(ns)] = pure
    for i, j, value in _pairs(known, nodes, RK, _rk_a):
        a[:, i, j] = a[:, j, i] = value
    for i, j in np.argwhere(np.isnan(a[1])):
        phase.fail(
            f"a1 of {names[i]!r} and {names[j]!r} have different signs, of which there is no square root: wanted a "
            "binary-a."
        )

    if a[1].any():
        return np.zeros((ns, ns)), a
    return 1 - a[0] / np.sqrt(pure[0][:, None] * pure[0]), None


def binary(known, nodes, a):
    """k_ij (ns, ns) = 1 - a_ij/sqrt(a_i a_j) from binary-a."""

    def read(pairs, other):
        return pairs.number(other, "Pa*m^6/kmol^2") * 1e-6

    kij = np.zeros((len(nodes), len(nodes)))
    for i, j, value in _pairs(known, nodes, PENG_ROBINSON, read):
        kij[i, j] = kij[j, i] = 1 - value / math.sqrt(a[i] * a[j])
    return kij


def _pairs(known, nodes, model, read):
    """Yields (i, j, value) for each binary-a. Either species of a pair may have it.

    known: Names of the phase. read(node, name): value of a key. Pairs with a species that the mixture leaves out are
    skipped. Raises MixtureError if both species have a binary-a, with different values.
    """
    found: dict = {}
    index = {node.data["name"]: s for s, node in enumerate(nodes)}
    for i, node in enumerate(nodes):
        pairs = eos_of(node, model).child("binary-a")
        for other in [key for key in pairs.data if key != "units"]:
            name = known.find(other)
            pairs.refuse(name is None, known.absent(other))
            pairs.refuse(name == node.data["name"], "names the species itself, wanted another one.")
            if name not in index:
                continue

            j = index[name]
            value = read(pairs, other)
            got = ", ".join(f"{number:g}" for number in np.ravel(value))
            text = f"{other}: got {got} Pa m6/mol2, but {other!r} gives another value for the same pair."
            pairs.refuse(found.setdefault((min(i, j), max(i, j)), value) != value, text)
            yield i, j, value
