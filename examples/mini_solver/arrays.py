"""The arrays of a block by name, as the numerics of its case and the parts of the solver need them."""

from . import averages, chemistry, limiter
from .case import AXES
from .clock import ROWS as CLOCK_ROWS
from .properties import AMOUNTS, kept_rows


def allocate(block, case, scheme, ns):
    """Make the arrays of a block, and names for rows of them."""
    block.allocate(rows(case, scheme, ns))
    a, backend = block.arrays, block.backend

    a["rho_k"] = a["Q"][:ns]
    a["p"] = a["Q"][ns + 3]
    if scheme.conservative:
        a["T"] = a["Q"][ns + 4]
    if scheme.phases:
        eta = place_of_eta(ns)
        a["ln_kappa"] = a["Q"][eta - ns : eta]
        a["eta"], a["phases_status"] = a["Q"][eta : eta + 2]
    if scheme.limited:
        a["asks"] = a["shares"][-1]

    a["clock"] = backend.empty((len(CLOCK_ROWS),))
    a["length"] = a["clock"][:1]  # of a step
    a["rate"] = backend.empty((1 + scheme.viscous,))  # the largest [1/s]


def place_of_eta(ns: int) -> int:
    """The row of Q that has eta."""
    return 2 * ns + 5


def rows(case, scheme, ns) -> dict:
    """{name: rows} of the arrays over the block."""
    searched = sum(kept_rows(ns).values()) if scheme.phases else 0
    found = {
        "Q": ns + 4 + scheme.conservative + searched,
        "momentum": 3 + scheme.conservative,  # and energy
        "U0": ns + 4,
        "gamma_c": 1,
        "e_vol": 1,
        "cv_vol": 1,
        "gruneisen": 1,
    }

    # Arrays of the scheme.
    found |= {"kept": 2 + searched} if scheme.conservative else {"T": 1}
    if scheme.phases:
        found |= {"gamma_eq": 1, "phases_steps": 1} | dict.fromkeys(AMOUNTS, 1)
    if scheme.conservative or scheme.viscous or scheme.source:
        found |= {"h_Y": ns, "eps_k": ns}
    if scheme.viscous:
        found |= {"mu": 1, "lam": 1, "D": ns}
    if scheme.source:
        found |= {"source": ns + 4}

    # Arrays of the parts.
    if scheme.limited:
        found |= limiter.arrays(ns, case.dimensions)
    if case.chemistry["kind"] != "none":
        found |= chemistry.arrays(ns)
    if case.output["averages"]:
        found |= averages.arrays(ns)
    if case.axisymmetric:
        found |= {"around": 2}

    # Arrays of each direction.
    for axis in AXES[: case.dimensions]:
        found[f"flux_{axis}"] = ns + 5
        if scheme.viscous:
            found[f"viscous_{axis}"] = ns + 4

    return found
