"""Properties: what the equation of state and the transport models give at every cell, by the layer's programs."""

import math

from kernels import resolve

from .layer import of_equation

# With phases in equilibrium: what a cell keeps beside T and p for the next search of its state, and what fields show.
KEPT = ("ln_kappa", "eta", "phases_status")
AMOUNTS = ("beta", "beta_mass", "beta_volume", "rho_l", "rho_v")

# Kernels from a cell's state to waves, to partial properties, to the amounts and compositions of both phases.
TO_WAVES = ("flow_composition", "flow_volume", "equilibrium_thermal", "internal_energy", "equilibrium_flow_waves")
TO_PARTIALS = ("equilibrium_partial_properties", "equilibrium_flow_partials")
TO_AMOUNTS, TO_COMPOSITIONS = "equilibrium_amounts", "equilibrium_compositions"


def kept_rows(ns) -> dict:
    """{name: rows} of what a cell keeps."""
    return {"ln_kappa": ns, "eta": 1, "phases_status": 1}


class Properties:
    """Launches over a whole block, fringe included. scheme: a Scheme (scheme.py)."""

    def __init__(self, block, scheme):
        self.block, self.scheme = block, scheme
        frame, mixture = block.frame, block.frame.mixture
        a, box, points = block.arrays, (), block.size
        if block.span != block.extent:  # rows take whole lines of memory: what lies behind their cells is left out
            box, points = (*block.extent[:2], *block.stride), math.prod(block.extent)

        def program(renamed=(), **asked):
            run = frame.bind({**a, **dict(renamed)}, box, timer="properties", **asked)
            return lambda: run(points)

        def together(*asked):
            """A launch for several (outputs, inputs). Outputs of each are inputs of the next, and stay in registers."""
            names, made = [], []
            for outputs, given in asked:
                if outputs:
                    names += [kernel.name for kernel in resolve(outputs, given, mixture.options)]
                    made += outputs

            return program(kernels=list(dict.fromkeys(names)), outputs=made)

        thermal, mechanical = ["T", "rho_k"], ["p", "rho_k"]
        state = ["e_vol", "cv_vol", "gamma_c", "gruneisen"]
        partials = ["h_Y", "eps_k"] if "h_Y" in a else []

        varying = self._hold_constants(a) if scheme.viscous else []
        renewed = [] if block.case.numerics["transport"] == "step" else varying

        if scheme.phases:
            self._bind_phases(program, state, varying, renewed)
            return

        def rest(transport):
            return ((partials, thermal), (transport, ["T", *mechanical]))

        self.of_pressure = together((["T"], mechanical))  # T
        everything = (state, thermal) if scheme.conservative else (["T", *state], mechanical)

        self._of_step = together(everything, *rest(varying))
        if scheme.conservative:
            self._temperature_e = program(kernels=[of_equation("flow_temperature_e", mixture)])
            self._pressure = program({"p_eos": a["p"]}, outputs=["p_eos"], given=thermal)

        # within a step gamma_c may be frozen: convection then needs nothing beyond it and p
        if scheme.frozen:
            self._of_stage = together((["T", "gruneisen"], mechanical), *rest(renewed)) if partials else None
        else:
            self._of_stage = together(everything, *rest(renewed))

    def _hold_constants(self, a) -> list[str]:
        """Write the transport properties that the case holds constant; returns the others."""
        constant = {name: value for name, value in self.block.case.transport.items() if value}
        if self.block.frame.mixture.ns == 1:
            constant.setdefault("D", 0.0)
        for name, value in constant.items():
            a[name][...] = value

        return [name for name in ("mu", "lam", "D") if name not in constant]

    def _bind_phases(self, program, state, varying, renewed):
        """Launches with phases in equilibrium. The cell's state is found once, from its energy (of_energy); all other
        launches read it. program: as in __init__."""
        options = self.block.frame.mixture.options
        known = ["T", "p", "rho", "Y", "vol", *AMOUNTS, "Y_l", "Y_v", "phases_status"]

        def of_state(transport):
            kernels, outputs = [*TO_WAVES, *TO_PARTIALS], [*state, "gamma_eq", "h_carried", "eps_k", *transport]
            if transport:
                laws = [kernel.name for kernel in resolve(transport, known, options)]
                kernels += [TO_AMOUNTS, TO_COMPOSITIONS, *laws]
            return program({"h_carried": self.block.arrays["h_Y"]}, kernels=kernels, outputs=outputs)

        self._of_step, self._of_stage = of_state(varying), of_state(renewed)
        self._amounts = program(kernels=[*TO_WAVES[:2], TO_AMOUNTS], outputs=list(AMOUNTS))
        self._temperature_e, self._pressure = program(kernels=["equilibrium_flow_temperature_e"]), None
        self.of_pressure = lambda: None  # T is part of the state

    def __call__(self, stage=False):
        """Everywhere. stage: within a step."""
        run = self._of_stage if stage else self._of_step
        if run:
            run()

    def of_energy(self):
        """T and p of the energy that a stage has left, and the phases."""
        self._temperature_e()
        if self._pressure:
            self._pressure()

    def of_amounts(self):
        """AMOUNTS of both phases, which nothing but output reads."""
        self._amounts()
