"""Properties: what the equation of state and the transport models give at every cell, by the layer's programs."""

import pathlib

import kernels

DECLARATIONS = pathlib.Path(__file__).resolve().parent / "kernels" / "flow.py"


def declare():
    if "flow_state" not in kernels.registry.kernels:
        kernels.load_declarations(DECLARATIONS)


class Properties:
    """Launches over a whole block, fringe included. scheme: a Scheme (flow.py)."""

    def __init__(self, block, mixture, scheme, timers):
        self.block, self.scheme, self.timers = block, scheme, timers
        self._frozen_transport = block.case.numerics["transport"] == "step"
        a = block.arrays

        def program(renamed=(), **asked):
            run = mixture.program(**asked, backend=block.backend).bind({**a, **dict(renamed)})
            return lambda: run(block.size)

        thermal, mechanical = dict(given=["T", "rho_k"]), dict(given=["p", "rho_k"])
        state = ["e_vol", "cv_vol", "gamma_c", "gruneisen"]
        self.of_pressure = program(outputs=["T"], **mechanical)  # T
        if scheme.conservative:
            self._state = program(outputs=state, **thermal)
        else:
            self._state = program(outputs=["T", *state], **mechanical)
        self._slopes = program(outputs=["T", "gruneisen"], **mechanical)  # stages: gamma_c stays frozen
        self._partials = program(outputs=["h_Y", "eps_k"], **thermal) if "h_Y" in a else None
        if scheme.conservative:
            self._temperature_e = program(kernels=["flow_temperature_e"])
            self._pressure = program({"p_eos": a["p"]}, outputs=["p_eos"], **thermal)
        if scheme.viscous:
            constant = {name: value for name, value in block.case.transport.items() if value}
            if mixture.ns == 1:
                constant.setdefault("D", 0.0)
            for name, value in constant.items():
                a[name][...] = value
            varying = [name for name in ("mu", "lam", "D") if name not in constant]
            self._transport = program(outputs=varying, given=["T", "p", "rho_k"]) if varying else None

    def __call__(self, stage=False):
        """Everywhere. stage: within a step, where gamma_c may be frozen."""
        scheme = self.scheme
        with self.timers.timed("state"):
            if stage and scheme.frozen and self._partials is None:
                return  # convection needs nothing beyond p and gamma_c
            (self._slopes if stage and scheme.frozen else self._state)()
            if self._partials:
                self._partials()
        if scheme.viscous and self._transport and not (stage and self._frozen_transport):
            with self.timers.timed("transport"):
                self._transport()

    def of_energy(self):
        """T and p of the energy that a stage has left."""
        with self.timers.timed("state"):
            self._temperature_e()
            self._pressure()
