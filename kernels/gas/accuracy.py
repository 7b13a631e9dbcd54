"""Option accuracy: one word in place of several options, and the place where a mixture's models are chosen together."""

from ..engine.errors import ArgumentError
from .declare import option, preset

# Cantera's phase Peng-Robinson with transport high-pressure-Chung; the tests and `validate --against cantera` compare.
CANTERA = {
    "alpha": "cantera",
    "mixing": "vdw",
    "translation": "none",
    "viscosity": "chung",
    "chung": "cantera",
    "diffusion": "cantera",
    "takahashi": "table",
    "kinetics": "fugacity",
}
# By equation of state. Cantera's transport of an ideal gas and of Redlich-Kwong are fits of its own: here D alone is
# the same.
AS_CANTERA = {
    "pr": CANTERA,
    "rk": {"diffusion": "cantera", "takahashi": "off", "kinetics": "fugacity"},
    "ideal": {"diffusion": "cantera", "takahashi": "off"},
}
# Fitted to reference equations of state and transport: species of fluids.csv, others by correlations.
REFERENCE = {"equation": "mapped", "viscosity": "residual", "cold_cp": "fitted"}


def spelled(options: dict) -> str:
    """Options as a page names them."""
    return ", ".join(f"`{key} = {value}`" for key, value in options.items())


option(
    "accuracy",
    {
        "chosen": "Each option as it is given, else its default.",
        "cantera": "Stands for the options that reproduce Cantera 3.2. "
        + "; ".join(f"`equation = {equation}`: {spelled(options)}" for equation, options in AS_CANTERA.items())
        + ".",
        "reference": f"Stands for {spelled(REFERENCE)}: what comes closest to reference equations, of liquids too.",
    },
    "one word for several options: as chosen one by one, as Cantera 3.2, or closest to reference equations",
    switch="",
)


def as_cantera(options: dict) -> dict:
    """{option: value} of Cantera's models at the equation of these options. Raises ArgumentError for an equation that
    Cantera does not have."""
    equation = options["equation"]
    if equation not in AS_CANTERA:
        raise ArgumentError(
            f"option accuracy = 'cantera': Cantera has no equation = '{equation}'; wanted {', '.join(AS_CANTERA)}."
        )
    return AS_CANTERA[equation]


preset("accuracy", "cantera", as_cantera)
preset("accuracy", "reference", lambda options: REFERENCE)
