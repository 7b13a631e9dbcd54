"""Averages: means in time and fluctuations of the primitive fields, gathered on the device (kernels/averages.h)."""

import numpy as np

ORDER = ("rho", "u", "v", "w", "p", "T")  # of the means' rows; mass fractions come behind
SHEAR = (("u", "v"), ("u", "w"), ("v", "w"))


def arrays(ns) -> dict:
    """{name: rows} of the arrays that averages need."""
    means = len(ORDER) + ns
    return {"mean": means, "moments": means + len(SHEAR) + 4 + ns}


class Averages:
    """Sums over time at each cell. A state counts for the time since the state before it; the first state counts for
    the time since `began`.

    every: steps between two states. began: averages leave out the time before [s]. weight: averaged time [s]. until:
    time of the last state [s].
    """

    def __init__(self, flow, bind, every, began):
        self.flow, self.every, self._from = flow, every, began
        self._average = bind("average")
        self.begin(flow.time)

    def begin(self, time):
        """Anew, from this time on [s]."""
        self.weight, self.began = 0.0, max(self._from, time)
        self.until = self.began
        for name in arrays(self.flow.ns):
            self.flow.block.arrays[name][...] = 0.0

    def due(self) -> bool:
        return self.flow.steps % self.every == 0 and self.flow.time > self.until

    def add(self):
        """Add the present state. The host does not wait."""
        time, block = self.flow.time - self.until, self.flow.block
        share = time / (self.weight + time)
        self._average(*block.box(), share=share, weight=self.weight * share)
        self.weight, self.until = self.weight + time, self.flow.time

    # ---- restart
    def numbers(self) -> dict:
        return dict(averages_began=self.began, averages_until=self.until, averages_weight=self.weight)

    def state(self) -> dict:
        """The state for a restart, on the host."""
        block = self.flow.block
        return {name: block.host(block.interior(name)) for name in arrays(self.flow.ns)}

    def set_state(self, state, numbers):
        """Go on from a `state` and its `numbers`; begin anew where the case leaves out a part of their time."""
        if self._from > numbers["averages_began"]:
            self.begin(float(numbers["averages_until"]))
            return

        block = self.flow.block
        for name in arrays(self.flow.ns):
            block.put(block.interior(name), state[name])
        self.began, self.until, self.weight = (float(numbers[name]) for name in self.numbers())

    # ---- results
    def fields(self, names) -> dict:
        """For each of the fields rho, u, ..., Y_<species> that is named: mean_, rms_ (of the fluctuation), favre_
        (weighted by density; not of rho and p), and cov_<a>_<b>, the mean product of the fluctuations of two velocities
        [m2/s2]."""
        state, ns, species = self.state(), self.flow.ns, self.flow.mixture.names
        rows = [*ORDER, *(f"Y_{name}" for name in species)]
        mean, moments = state["mean"], state["moments"] / max(self.weight, 1e-300)
        with_rho = dict(zip(("u", "v", "w", "T", *rows[-ns:]), moments[-4 - ns :]))
        out = {f"mean_{name}": mean[rows.index(name)] for name in names}
        out |= {f"rms_{name}": np.sqrt(moments[rows.index(name)]) for name in names}
        out |= {f"favre_{n}": mean[rows.index(n)] + with_rho[n] / mean[0] for n in names if n in with_rho}

        for row, (a, b) in enumerate(SHEAR, len(rows)):
            if a in names and b in names:
                out[f"cov_{a}_{b}"] = moments[row]

        return out
