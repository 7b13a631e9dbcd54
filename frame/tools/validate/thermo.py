"""Against the cubic equations of the Python package thermo, with the mixture's own constants and k_ij."""

from . import others
from .others import Code, comparable, compare_departures

SUBSET = 5000  # thermo takes 30 microseconds to milliseconds a state
CLASSES = {"pr": "PR78MIX", "srk": "SRKMIX", "rk": "RKMIX", "vdw": "VDWMIX"}
# The same formulas in doubles; thermo evaluates departures as differences of terms, over the pairs.
TOLERANCE = 256.0


def missing(mixture) -> str | None:
    """Why thermo cannot be compared with, or None."""
    return others.missing(mixture, CLASSES, "thermo")


def run(job):
    """Rows against thermo's cubic equations at our T, molar volume and mole fractions."""
    from thermo import eos_mix

    mixture = comparable(job.mixture, mixing="vdw")
    species = mixture.species
    kind = getattr(eos_mix, CLASSES[mixture.options["equation"]])
    constants = dict(
        Tcs=species.Tc.tolist(), Pcs=species.pc.tolist(), omegas=species.omega.tolist(), kijs=species.kij.tolist()
    )

    def evaluate(T, v, X, p):
        state = kind(T=T, V=v, zs=X, **constants)

        # thermo names the phase of a root by a rule of its own: our root has our volume.
        phases = [s for s in ("l", "g") if getattr(state, f"V_{s}", None) is not None]
        s = min(phases, key=lambda s: abs(getattr(state, f"V_{s}") - v))

        own = {"H": "H_dep", "S": "S_dep", "Cv": "Cv_dep", "Cp": "Cp_dep", "p_T": "dP_dT", "p_v": "dP_dV"}

        return {"p": state.P} | {name: getattr(state, f"{attribute}_{s}") for name, attribute in own.items()}

    why = (
        f"tolerance {TOLERANCE:g} eps of the conditioned scale: the same formulas ({kind.__name__}) in doubles, in "
        "another order; left out: phase changes, some sqrt(alpha) < 0.02"
    )
    return compare_departures(job, mixture, Code("thermo", evaluate, job.subset(SUBSET), TOLERANCE, why))
