"""Properties: what the equation of state and the transport models give at every cell, by the layer's programs."""

import math
import pathlib

import kernels
from kernels.gas.declare import resolve

DECLARATIONS = pathlib.Path(__file__).resolve().parent / "kernels" / "flow.py"


def declare():
    if "flow_state" not in kernels.registry.kernels:
        kernels.load_declarations(DECLARATIONS)


def of_equation(kernel: str, mixture) -> str:
    """The name of a kernel of kernels/flow.py for the mixture's equation."""
    return f"ideal_{kernel}" if mixture.options["equation"] == "ideal" else kernel


class Properties:
    """Launches over a whole block, fringe included. scheme: a Scheme (flow.py)."""

    def __init__(self, block, mixture, scheme, timers):
        self.block, self.scheme, self.timers = block, scheme, timers
        a, box, points = block.arrays, (), block.size
        if block.span != block.extent:  # rows take whole lines of memory: what lies behind their cells is left out
            box, points = (*block.extent[:2], *block.stride), math.prod(block.extent)

        def program(renamed=(), **asked):
            run = mixture.program(**asked, backend=block.backend).bind({**a, **dict(renamed)}, box)
            return lambda: run(points)

        def together(*asked):
            """One launch for several (outputs, given): what one of them makes the next need not read."""
            asked = [(outputs, given) for outputs, given in asked if outputs]
            names = [kernel.name for pair in asked for kernel in resolve(*pair, mixture.options)]
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
        rest = lambda transport: ((partials, thermal), (transport, ["T", *mechanical]))

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
            with self.timers.timed("properties"):
                run()

    def of_energy(self):
        """T and p of the energy that a stage has left."""
        with self.timers.timed("properties"):
            self._temperature_e()
            self._pressure()
