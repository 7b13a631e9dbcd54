"""The scale of errors: how well the inputs determine a result q.

    scale(q) = |q| + sum_k |q(perturbed by a relative d) - q|/d

The sum is over perturbations of the temperature, of the pressure, of all mass fractions (random signs) and of all
species constants (random signs, several times). Rounding inputs and constants once changes q by about eps scale. So an
evaluation that loses a few roundings of intermediate results stays within a few eps scale. The scale is right also for
results near zero, near the critical point and for cancelling polynomials. It needs no knowledge of the formula.
"""

import numpy as np

EPS = float(np.finfo(np.float64).eps)
MOVE = 2.0**-22  # relative perturbation: truncation error 2e-7, rounding error eps/MOVE = 1e-9 of q
JUMP = 1e-3  # relative change of the density by MOVE from which a point is on a phase change
REPEATS = 3  # random sign patterns of the constants: with a single pattern two terms may cancel


def moved(mixture, random, by=MOVE):
    """A copy of the mixture with all real constants multiplied by 1 +- by.

    Integers (indices, signs) are not perturbed, nor are tables in single precision, whose error is stated.
    """

    def move(value):
        is_integer = (value == np.round(value)).all()
        if is_integer:
            return value
        return value * (1 + by * random.choice([-1.0, 1.0], value.shape))

    return mixture.moved(move)


def _moved_states(states, random):
    """Yields (name, states with perturbed T, p or Y)."""
    signs = random.choice([-1.0, 1.0], states["Y"].shape)
    Y = states["Y"] * (1 + MOVE * signs)
    yield "T", {**states, "T": states["T"] * (1 + MOVE)}
    yield "p", {**states, "p": states["p"] * (1 + MOVE)}
    yield "Y", {**states, "Y": Y / Y.sum(0)}


def scales(mixture, names, states, backend="cpu", seed=5):
    """({name: scale}, undecided): arrays with the shapes of the quantities, and a mask (n,) of states with a phase
    change within MOVE."""
    random = np.random.default_rng(seed)
    names = list(dict.fromkeys([*names, "rho"]))
    base = mixture.properties(names, backend=backend, **states)
    total = {name: np.abs(v) for name, v in base.items()}
    undecided = np.zeros(states["T"].shape, bool)

    # Perturbed runs: three of the state, REPEATS of the constants.
    runs = [(mixture, s) for _, s in _moved_states(states, random)]
    runs += [(moved(mixture, random), states) for _ in range(REPEATS)]

    for number, (mix, given) in enumerate(runs):
        near = mix.properties(names, backend=backend, **given)
        weight = 1 / MOVE if number < 3 else 1 / (MOVE * np.sqrt(REPEATS))
        with np.errstate(invalid="ignore"):
            undecided |= ~(np.abs(near["rho"] - base["rho"]) <= JUMP * np.abs(base["rho"]))
            for name in names:
                total[name] += np.abs(near[name] - base[name]) * weight

    return total, undecided
