"""The oracle of each value of each option of a mixture.

tests/gas/test_options.py walks the declared options: a value without a row here fails, and so does a row whose oracle
cannot tell the value from another value.
"""

import dataclasses
from collections.abc import Callable

from .cubic import EQUATIONS


@dataclasses.dataclass(frozen=True)
class Alone:
    """The value is seen in these kernels, each compared alone with the oracle that single.py or derivatives.py has."""

    kernels: tuple[str, ...]
    species: int = 10
    states: int = 1000
    same_as: str = ""  # another value of the option that is the same rule

    # Further options of the mixture, without which the value has no effect.
    beside: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True)
class Rates:
    """The value is seen in these quantities of a mechanism, compared with kinetics.py."""

    quantities: str
    beside: tuple[tuple[str, str], ...] = ()


@dataclasses.dataclass(frozen=True)
class Data:
    """The value says where species data come from: published numbers of ethanol, or None where they are refused."""

    Tc: float | None  # K
    pc: float | None  # Pa
    omega: float | None


@dataclasses.dataclass(frozen=True)
class Phases:
    """The value is seen in the density of a mixture inside its dome: of one phase, or of two by phases.py."""

    two: bool


@dataclasses.dataclass(frozen=True)
class ThirdPhase:
    """The value is seen in phases_status of a split with an unstable phase."""

    status: int


@dataclasses.dataclass(frozen=True)
class TwoPhaseViscosity:
    """The value is seen in the viscosity of two phases. whole(mu_v, mu_l, w, a): the rule, w and a the vapour's shares
    of the mass and of the volume."""

    whole: Callable


CUBIC = Alone(("cubic_mixture", "cubic_pressure_slopes"))
TRANSLATED = Alone(("cubic_mixture",))
ROOT = Alone(("cubic_root",), species=1, states=3000)
COLD = Alone(("ideal_gas", "ideal_gas_entropy"))
CHUNG = Alone(("chung_mixture", "chung_viscosity"))
PAIRS = Alone(("binary_diffusion",))
REAL = Rates("omega_mol rate_f rate_r rate_net heat_release")
IDEAL = Rates("rate_f", beside=(("equation", "ideal"),))

MAPPED_RESIDUAL = (("equation", "mapped"), ("viscosity", "residual"))

# Options that a word of option accuracy stands for with Peng-Robinson, from Cantera's page of its phase and transport.
WORDS = {
    "chosen": {},
    "cantera": {
        "alpha": "cantera",
        "mixing": "vdw",
        "translation": "none",
        "viscosity": "chung",
        "chung": "cantera",
        "diffusion": "cantera",
        "takahashi": "table",
        "kinetics": "fugacity",
    },
    "reference": {"equation": "mapped", "viscosity": "residual", "cold_cp": "fitted", "enhancement": "critical"},
    "nearest": {"equation": "mapped", "viscosity": "residual", "cold_cp": "fitted"},  # of species with rows
}


def spelled_out(options):
    """The options with those that option accuracy stands for in its place."""
    plain = {key: value for key, value in options.items() if key != "accuracy"}
    return WORDS[options.get("accuracy", "chosen")] | plain


ORACLES = {
    **{("equation", name): CUBIC for name in EQUATIONS},  # of cubic.py
    ("equation", "rkpr"): dataclasses.replace(CUBIC, kernels=(*CUBIC.kernels, "cubic_delta")),
    ("equation", "mapped"): Alone(("mapped_mixture", "mapped_pressure_slopes", "cubic_delta")),
    ("equation", "ideal"): Alone(("ideal_equation",)),
    ("root", "gibbs"): ROOT,
    ("root", "vapour"): ROOT,
    ("root", "liquid"): ROOT,
    ("root", "largest"): dataclasses.replace(ROOT, same_as="vapour"),
    ("translation", "none"): TRANSLATED,
    ("translation", "peneloux"): TRANSLATED,
    ("translation", "fitted"): TRANSLATED,
    ("alpha", "smooth"): Alone(("cubic_mixture",), species=53),
    ("alpha", "published"): Alone(("cubic_mixture",), species=53),
    ("alpha", "cantera"): Alone(("cubic_mixture",), species=53),
    ("accuracy", "chosen"): Alone(("cubic_mixture", "chung_mixture", "chung_viscosity"), species=53),
    ("accuracy", "cantera"): Alone(("cubic_mixture", "chung_mixture", "chung_viscosity"), species=53),
    ("accuracy", "reference"): Alone(("mapped_mixture", "mapped_pressure_slopes", "critical_enhancement")),
    ("accuracy", "nearest"): Alone(("mapped_mixture", "mapped_pressure_slopes", "residual_conductivity")),
    ("cold_cp", "polynomial"): COLD,
    ("cold_cp", "fitted"): COLD,
    ("alpha", "pr76"): Alone(("cubic_mixture",), species=53),
    ("mixing", "vdw"): Alone(("cubic_mixture", "critical_state")),
    ("mixing", "pseudocritical"): Alone(("cubic_mixture", "critical_state"), beside=(("alpha", "published"),)),
    ("viscosity", "chung"): Alone(("chung_viscosity",)),
    ("viscosity", "lucas"): Alone(("lucas_viscosity",)),
    ("viscosity", "residual"): Alone(("residual_viscosity",), beside=(("equation", "mapped"),)),
    ("enhancement", "none"): Alone(("residual_conductivity",), beside=MAPPED_RESIDUAL),
    ("enhancement", "critical"): Alone(
        ("residual_background", "enhancement_means", "critical_susceptibility", "critical_enhancement"),
        beside=MAPPED_RESIDUAL,
    ),
    ("viscosity", "sutherland"): Alone(("wilke_transport",)),
    ("viscosity", "powerlaw"): Alone(("wilke_transport",)),
    ("chung", "polefree"): CHUNG,
    ("chung", "published"): CHUNG,
    ("chung", "cantera"): CHUNG,
    ("diffusion", "kinetic"): PAIRS,
    ("diffusion", "fuller"): PAIRS,
    ("diffusion", "cantera"): PAIRS,
    ("takahashi", "smooth"): PAIRS,
    ("takahashi", "table"): PAIRS,
    ("takahashi", "off"): PAIRS,
    ("kinetics", "consistent"): REAL,
    ("kinetics", "fugacity"): REAL,
    ("kinetics", "concentration"): REAL,
    ("chebyshev", "extrapolate"): IDEAL,
    ("chebyshev", "clamp"): IDEAL,
    ("phases", "single"): Phases(False),
    ("phases", "equilibrium"): Phases(True),
    ("phases_check", "off"): ThirdPhase(1),
    ("phases_check", "on"): ThirdPhase(3),
    ("two_phase_viscosity", "mcadams"): TwoPhaseViscosity(lambda mu_v, mu_l, w, a: 1 / (w / mu_v + (1 - w) / mu_l)),
    ("two_phase_viscosity", "dukler"): TwoPhaseViscosity(lambda mu_v, mu_l, w, a: a * mu_v + (1 - a) * mu_l),
    # Ethanol: Schroeder et al. 2014, J. Phys. Chem. Ref. Data 43, 043102 (original not seen, as in CoolProp).
    ("critical", "file"): Data(None, None, None),
    ("critical", "fill"): Data(514.71, 6.268e6, 0.646),
}
