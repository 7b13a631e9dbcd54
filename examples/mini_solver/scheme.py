"""The numerics of a case, as the parts of the solver and its stencil kernels read them."""

import dataclasses

from .errors import wanted


@dataclasses.dataclass(frozen=True)
class Scheme:
    """The numerics of a case, as the parts of the solver read them."""

    conservative: bool  # apec; else double flux
    frozen: bool  # double flux: gamma_c stays over the stages of a step
    viscous: bool
    limited: bool
    phases: bool  # vapour and liquid in equilibrium
    source: bool  # of manufactured solutions

    @classmethod
    def of(cls, case, mixture, source):
        """Errors: CaseError for numerics that do not serve the mixture."""
        numerics = case.numerics
        conservative = numerics["scheme"] == "apec"
        frozen = not conservative and numerics["freeze"] == "step"

        phases = mixture.options["phases"] == "equilibrium"
        if phases:
            _refuse_for_phases(case)

        return cls(conservative, frozen, numerics["viscous"], numerics["limiter"], phases, source)

    def switches(self, case) -> dict:
        """Compile-time numbers of the stencil kernels."""
        numerics = case.numerics
        return {
            "ORDER": numerics["order"],
            "DISSIPATION": ("none", "sensor", "always").index(numerics["dissipation"]),
            "CONSERVATIVE": self.conservative,
            "VISCOUS": self.viscous,
            "SOURCE": self.source,
            "PHASES": self.phases,
            "DIMENSIONS": case.dimensions,
            "METRICS": case.stretched,
            "AXISYMMETRIC": case.axisymmetric,
        }


def _refuse_for_phases(case):
    """CaseError for what is not there with phases in equilibrium."""
    said = "[mixture] options: phases = 'equilibrium'"

    wanted(
        case.numerics["scheme"] == "apec",
        f"{said} needs [numerics] scheme = 'apec': a cell's phases follow from its energy, which double_flux does not "
        "conserve.",
    )
    wanted(case.initial["rho"] == "", f"{said} needs T and p in [initial]: from rho the phases are not found.")
    wanted(
        case.chemistry["kind"] == "none",
        f"{said}: its cells do not react; [chemistry] kind = '{case.chemistry['kind']}', wanted 'none'.",
    )
