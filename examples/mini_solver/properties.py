"""Properties: what the equation of state and the transport models give at every cell, by the layer's programs."""

import math

from kernels import registry

from .layer import of_equation


class Properties:
    """Launches over a whole block, fringe included. scheme: a Scheme (flow.py)."""

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
            """One launch for several (outputs, inputs). Outputs of the first are inputs of the next, in registers."""
            asked = [(outputs, given) for outputs, given in asked if outputs]
            names = [kernel.name for pair in asked for kernel in registry.resolve(*pair, mixture.options)]
            return program(kernels=list(dict.fromkeys(names)), outputs=[name for made, _ in asked for name in made])

        thermal, mechanical = ["T", "rho_k"], ["p", "rho_k"]
        state = ["e_vol", "cv_vol", "gamma_c", "gruneisen"]
        partials = ["h_Y", "eps_k"] if "h_Y" in a else []

        varying = []
        if scheme.viscous:
            constant = {name: value for name, value in block.case.transport.items() if value}
            if mixture.ns == 1:
                constant.setdefault("D", 0.0)
            for name, value in constant.items():
                a[name][...] = value
            varying = [name for name in ("mu", "lam", "D") if name not in constant]

        renewed = [] if block.case.numerics["transport"] == "step" else varying

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

    def __call__(self, stage=False):
        """Everywhere. stage: within a step."""
        run = self._of_stage if stage else self._of_step
        if run:
            run()

    def of_energy(self):
        """T and p of the energy that a stage has left."""
        self._temperature_e()
        self._pressure()
