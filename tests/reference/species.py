"""The species data that the oracles read, as longdouble or Tracked arrays."""

from types import SimpleNamespace

import numpy as np

from .tracked import LD, Tracked, value

R = LD("8.31446261815324")  # J/mol/K, exact by the SI of 2019
OMEGA_A = LD("0.45723552892138218")
OMEGA_B = LD("0.0777960739038885")
ZC = LD("0.307401308698703833")
P_REF = LD(101325)  # Pa, reference pressure of the NASA polynomials in Cantera's files

FIELDS = (
    "W",
    "Tc",
    "pc",
    "omega",
    "a",
    "b",
    "kij",
    "Vc",
    "dipole",
    "kappa_assoc",
    "nasa_low",
    "nasa_high",
    "T_mid",
    "T_min",
    "fuller_volume",
    "volume_translation",
    "liquid",
)


def arrays(data, tracked=False):
    """The numeric fields of a SpeciesData-like object, plus ns, in the number type of the oracle."""
    out = SimpleNamespace(ns=len(data.W), names=tuple(data.names))
    for name in FIELDS:
        field = np.asarray(getattr(data, name, np.full((out.ns, 3) if name == "liquid" else out.ns, np.nan)), dtype=LD)
        setattr(out, name, Tracked(field) if tracked else field)

    own = getattr(data, "rk_a", None)  # of a Redlich-Kwong phase
    out.rk_a = None if own is None else [Tracked(a) if tracked else np.asarray(a, LD) for a in own]
    out.p_ref = LD(getattr(data, "p_ref", P_REF))
    out.dipole_known = np.isfinite(value(out.dipole))
    out.dipole = np.where(np.isnan(value(out.dipole)), LD(0), out.dipole)  # unknown counts as none
    out.one = Tracked(LD(1), exact=True) if tracked else LD(1)

    return out


def subset(data, index):
    """The same record for some of its species, in the order of `index`."""
    index = list(index)
    out = SimpleNamespace(names=tuple(data.names[i] for i in index), p_ref=getattr(data, "p_ref", float(P_REF)))

    for name in FIELDS:
        field = np.asarray(getattr(data, name, np.full((len(data.W), 3) if name == "liquid" else len(data.W), np.nan)))
        out.__dict__[name] = field[np.ix_(index, index)] if name == "kij" else field[index]

    fit = getattr(data, "binary_fit", None)
    if fit is not None:
        out.binary_fit = np.asarray(fit)[:, index][:, :, index]
    return out
