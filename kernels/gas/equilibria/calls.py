"""Mixture.equilibrate and Mixture.mixture_of: chemical equilibrium, mixtures of a fuel and an oxidizer, on arrays."""

from __future__ import annotations

import numpy as np

from ...engine.backend.base import on_device
from ...engine.errors import ArgumentError, closest, is_one_of, refuse
from ...engine.values import real_array
from ..arrays import call
from ..composition import fractions
from ..labelled import plain_composition
from ..lost import reasons_of, warn_of_lost
from ..state import range_of_models

# The quantities that stay constant
HELD = {
    "TP": ("T", "p"),
    "TV": ("T", "rho"),
    "HP": ("h", "p"),
    "UV": ("e", "rho"),
    "SP": ("s", "p"),
    "SV": ("s", "rho"),
}
STATE = ("T", "p", "rho", "h", "e", "s", "X", "Y")  # of these a user gives two, and X or Y
WHY = {  # by status
    1: "not found (the input is no state, or denser than the equation permits)",
    2: "would be beyond 20 to {T_end} K",
    3: "between vapour and liquid: no single phase",
}
NEEDS = {"C": 1.0, "H": 0.25, "S": 1.0, "O": -0.5}  # molecules of O2 for an atom: CO2, H2O, SO2


def equilibrate(mixture, held, state: dict, backend, precision) -> dict:
    """See Mixture.equilibrate."""
    key = str(held).upper()
    refuse(key not in HELD, f"held = {held!r}{closest(key, HELD)}; wanted one of {', '.join(HELD)}.")
    names = HELD[key]
    for name in state:
        wrong = name not in STATE
        refuse(wrong, f"'{name}' is no part of a state{closest(name, STATE)}; wanted {', '.join(STATE)}.")
    refuse(("X" in state) == ("Y" in state), "the composition: give one of X and Y.")
    refuse(
        len(state) != 3,
        f"equilibrate at constant {' and '.join(names)}: {', '.join(n for n in state if n not in 'XY') or 'no state'} "
        "came; wanted two of T, p, rho, h, e, s, and X or Y.",
    )

    # The quantities that are held, at the given state. Where they are NaN, the status says why
    how = dict(backend=backend, precision=precision, depth=4, explained=True)
    silent = how | dict(depth=None)  # behind a call that has warned of what came
    wanted = [name for name in (*names, "Y") if name not in state]
    start = dict(state)
    if wanted:
        start |= call(mixture, wanted, state, **how)

    made = ["Y_eq", "status_eq", "steps_eq"]
    made += ["T_eq"] if "T" not in names else []
    made += ["p_eq"] if "p" not in names else []
    out = call(mixture, made, {name: start[name] for name in (*names, "Y")}, **(silent if set(wanted) - {"Y"} else how))

    # The state that follows; given numbers take the shape of the results
    end = {"Y": out["Y_eq"]}
    for name in ("T", "p"):
        end[name] = out[f"{name}_eq"] if f"{name}_eq" in out else (start[name] + 0.0 * out["status_eq"])[...]
    more = call(mixture, ["X", "rho", "h"], end, **silent)

    species = mixture.species
    told = (lambda status: _out_of_range(species, state["T"], status.shape)) if "T" in state else None
    warn_of_lost("chemical equilibrium", out["status_eq"], reasons_of(species, WHY), told, stacklevel=4)
    return {**end, **more, "status": out["status_eq"], "steps": out["steps_eq"]}


def _out_of_range(species, T, shape) -> np.ndarray:
    """Mask of the points whose T is outside the range of the models. `call` has warned of them."""
    host: np.ndarray = np.ma.filled(np.ma.asarray(T.get() if on_device(T) else T, float), np.nan)
    low, high = range_of_models(species)
    return np.broadcast_to((host < low) | (host > high), shape)


def mixture_of(mixture, fuel, oxidizer, phi, basis: str) -> np.ndarray:
    """See Mixture.mixture_of."""
    refuse(not is_one_of(basis, ("mole", "mass")), f"basis = {basis!r}; wanted 'mole' or 'mass'.")
    phi = real_array("phi", phi)
    refuse(not (np.isfinite(phi).all() and (phi >= 0).all()), f"phi = {phi!r}; wanted numbers of 0 or more.")

    parts = [_moles(mixture, name, given, basis) for name, given in (("fuel", fuel), ("oxidizer", oxidizer))]
    needed = _oxygen(mixture)
    of_fuel, of_oxidizer = (float(needed @ part) for part in parts)
    refuse(of_fuel <= 0, f"fuel = {fuel!r} needs no oxygen: phi has no meaning.")
    refuse(of_oxidizer >= 0, f"oxidizer = {oxidizer!r} has no oxygen to give: phi has no meaning.")

    share = of_fuel / -of_oxidizer  # moles of oxidizer for one of fuel at phi = 1
    shape = (-1,) + (1,) * phi.ndim
    X = phi * parts[0].reshape(shape) + share * parts[1].reshape(shape)
    return X / X.sum(0)


def _moles(mixture, name, given, basis) -> np.ndarray:
    """Mole fractions (ns,) of a composition: a species' name, text, dict or array; amounts of moles or of mass."""
    try:
        amounts = real_array(name, fractions("X", plain_composition(mixture, given), mixture.names))
    except ArgumentError as error:
        raise ArgumentError(str(error).replace("'X'", f"'{name}'")) from None
    good = amounts.shape == (mixture.ns,) and np.isfinite(amounts).all() and (amounts >= 0).all() and amounts.sum() > 0
    refuse(not good, f"{name} = {given!r}; wanted {mixture.ns} amounts, or a composition by name.")
    if basis == "mass":
        amounts = amounts / mixture.species.W
    return amounts / amounts.sum()


def _oxygen(mixture) -> np.ndarray:
    """Moles of O2 (ns,) that a mole of each species takes to become CO2, H2O, SO2 and N2; negative where it gives."""
    atoms = mixture.species.atoms
    lacking = [name for name in mixture.names if not atoms.get(name)]
    refuse(lacking, f"species {', '.join(lacking[:12])}: which atoms they have is not known; read them from a file.")
    return np.array(
        [sum(NEEDS.get(element, 0.0) * count for element, count in atoms[name].items()) for name in mixture.names]
    )
