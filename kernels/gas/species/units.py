"""Units in Cantera YAML files. A value is a number in the default units of the file, or text with a unit, such as
"3.45 bar*L^2/mol^2"."""

import math
import reprlib

from ...engine.errors import refuse
from .gas_constant import GAS_CONSTANT

_shown = reprlib.Repr()
_shown.maxlevel, _shown.maxlist, _shown.maxdict, _shown.maxstring, _shown.maxother = 3, 8, 8, 60, 60

# name: (factor to units of kg, m, s, K, kmol; powers of (kg, m, s, K, kmol))
_BASE = {
    "kg": (1.0, (1, 0, 0, 0, 0)),
    "g": (1e-3, (1, 0, 0, 0, 0)),
    "m": (1.0, (0, 1, 0, 0, 0)),
    "micron": (1e-6, (0, 1, 0, 0, 0)),
    "angstrom": (1e-10, (0, 1, 0, 0, 0)),
    "Å": (1e-10, (0, 1, 0, 0, 0)),
    "s": (1.0, (0, 0, 1, 0, 0)),
    "min": (60.0, (0, 0, 1, 0, 0)),
    "hr": (3600.0, (0, 0, 1, 0, 0)),
    "K": (1.0, (0, 0, 0, 1, 0)),
    "kmol": (1.0, (0, 0, 0, 0, 1)),
    "kgmol": (1.0, (0, 0, 0, 0, 1)),
    "mol": (1e-3, (0, 0, 0, 0, 1)),
    "gmol": (1e-3, (0, 0, 0, 0, 1)),
    "mole": (1e-3, (0, 0, 0, 0, 1)),
    "molec": (1 / 6.02214076e26, (0, 0, 0, 0, 1)),
    "J": (1.0, (1, 2, -2, 0, 0)),
    "cal": (4.184, (1, 2, -2, 0, 0)),
    "erg": (1e-7, (1, 2, -2, 0, 0)),
    "eV": (1.602176634e-19, (1, 2, -2, 0, 0)),
    "N": (1.0, (1, 1, -2, 0, 0)),
    "dyn": (1e-5, (1, 1, -2, 0, 0)),
    "Pa": (1.0, (1, -1, -2, 0, 0)),
    "bar": (1e5, (1, -1, -2, 0, 0)),
    "atm": (101325.0, (1, -1, -2, 0, 0)),
    "L": (1e-3, (0, 3, 0, 0, 0)),
    "l": (1e-3, (0, 3, 0, 0, 0)),
    "liter": (1e-3, (0, 3, 0, 0, 0)),
    "cc": (1e-6, (0, 3, 0, 0, 0)),
    "1": (1.0, (0, 0, 0, 0, 0)),
}
_PREFIX = {
    "T": 1e12,
    "G": 1e9,
    "M": 1e6,
    "k": 1e3,
    "h": 1e2,
    "d": 1e-1,
    "c": 1e-2,
    "m": 1e-3,
    "u": 1e-6,
    "n": 1e-9,
    "p": 1e-12,
    "f": 1e-15,
}
_AVOGADRO_KMOL = 6.02214076e26
_KINDS = {
    "mass": "kg",
    "length": "m",
    "time": "s",
    "quantity": "kmol",
    "pressure": "Pa",
    "energy": "J",
    "temperature": "K",
}
_IGNORED = ("current",)
_PER_KMOL, _KELVIN = (1, 2, -2, 0, -1), (0, 0, 0, 1, 0)


def short(value, limit=60):
    """The value as a short text for a message. The time does not depend on the size of the value."""
    try:
        text = _shown.repr(value)
    except ValueError:  # a number of more than 4300 digits
        text = f"a long {type(value).__name__}"
    return text if len(text) <= limit else text[:limit] + "..."


def _tokens(text):
    """[(name, power)] for the factors of a unit. '/' applies to the next factor only, as in Cantera."""
    sign, out, word = 1, [], ""
    for c in text + "*":
        if c not in "*/":
            word += c
            continue

        name, _, power = word.partition("^")
        try:
            out.append((name.strip(), sign * float(power) if power else sign))
        except ValueError:
            raise ValueError(f"{short(power)} in {short(text)} is no power") from None

        sign, word = (-1 if c == "/" else 1), ""

    return out


def _power(scale, power):
    """scale^power; infinite if it overflows."""
    try:
        return scale**power
    except ArithmeticError:
        return math.inf  # `convert` refuses the result


def parse(text):
    """(factor to SI with kmol, powers of (kg, m, s, K, kmol)) of a unit such as "Pa*m^6/kmol^2".

    Raises ValueError for an unknown unit.
    """
    factor, powers = 1.0, [0.0] * 5
    for name, power in _tokens(text):
        if name in _BASE:
            scale, dims = _BASE[name]
        elif name[:1] in _PREFIX and name[1:] in _BASE:
            scale, dims = _BASE[name[1:]]
            scale *= _PREFIX[name[0]]
        else:
            raise ValueError(f"unknown unit {short(name)} in {short(text)}")
        factor *= _power(scale, power)
        powers = [p + power * d for p, d in zip(powers, dims)]

    return factor, tuple(powers)


def _over_R(unit, R):
    """Factor from a unit of activation energies to K. The unit: energy per amount, temperature, or energy per molecule.
    R: J/kmol/K. Raises ValueError for another unit."""
    factor, powers = parse(unit)
    of_kind = {_PER_KMOL: 1 / R, _KELVIN: 1.0, tuple(_BASE["J"][1]): _AVOGADRO_KMOL / R}
    refuse(powers not in of_kind, f"unit {short(unit)}, wanted one such as J/mol, K or eV", ValueError)
    return factor * of_kind[powers]


class Units:
    """The default units at a place of a file.

    factors: {unit name of _KINDS: factor to SI with kmol}. activation: factor from activation energies to K; None:
    activation energies are energies per amount. R: the molar gas constant, J/mol/K, by which they become temperatures.
    """

    def __init__(self, factors=None, activation=None, R=GAS_CONSTANT):
        self.R = R
        self.factors = factors or dict.fromkeys(_KINDS.values(), 1.0)
        self.activation = activation

    def inside(self, block):
        """The Units inside `block`, a part of the file; the block may have a map `units`. Raises ValueError for a bad
        map."""
        chosen = block.get("units") if isinstance(block, dict) else None
        if chosen is None:
            return self

        refuse(
            not isinstance(chosen, dict),
            f"units are {short(chosen)}, wanted a map such as {{length: cm, quantity: mol}}",
            ValueError,
        )

        factors, activation = dict(self.factors), self.activation
        for kind, unit in chosen.items():
            if kind in _IGNORED:
                continue
            if kind == "activation-energy":
                activation = _over_R(str(unit), 1e3 * self.R)
                continue

            refuse(
                kind not in _KINDS or parse(str(unit))[1] != parse(_KINDS[kind])[1],
                f"units: {kind}: {unit}: wanted one of {', '.join(_KINDS)} with a unit of its kind",
                ValueError,
            )

            factors[_KINDS[kind]] = parse(str(unit))[0]

        return Units(factors, activation, self.R)

    def energy_over_R(self, value):
        """An activation energy over R [K], from a number or text with or without a unit. Raises ValueError."""
        text, _, given = str(value).strip().partition(" ")
        if given.strip() and not isinstance(value, bool):
            return self.convert(text, "1") * _over_R(given.strip(), 1e3 * self.R)

        factor = self.activation
        if factor is None:
            factor = self.factors["J"] / self.factors["kmol"] / (1e3 * self.R)
        return self.convert(value, "1") * factor

    def convert(self, value, unit):
        """A number in `unit` (of K, Pa, m, kmol), from a number or text with or without a unit.

        Raises ValueError if `value` is not a finite number, or has a unit of another kind.
        """
        text, _, given = str(value).strip().partition(" ")
        refuse(
            isinstance(value, bool) or not isinstance(value, (int, float, str)),
            f"got {short(value)}, wanted a number in {unit}",
            ValueError,
        )

        try:
            number = float(text)
        except ValueError:
            raise ValueError(f"got {short(value)}, wanted a number, or a number and a unit such as {unit}") from None

        # A unit in the text, else the default units.
        if given.strip():
            factor, powers = parse(given.strip())
            other = any(abs(a - b) > 1e-9 for a, b in zip(powers, parse(unit)[1]))  # orders may be fractions
            refuse(other, f"got {short(value)}, wanted a unit of the kind {unit}", ValueError)
            number *= factor
        else:
            for name, power in _tokens(unit):
                number *= _power(self.factors.get(name, 1.0), power)

        refuse(not math.isfinite(number), f"got {short(value)}, wanted a finite number in {unit}", ValueError)
        return number
