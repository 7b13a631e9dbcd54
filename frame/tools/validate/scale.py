"""How well a result is determined by its input: the scale that errors are measured in.

    scale(q) = |q| + sum_k |q(inputs and constants moved by a relative d) - q|/d

over the temperature, the pressure, all mass fractions (random signs) and all species constants (random signs, several
times). eps scale is what rounding inputs and constants once does to q; an evaluation that loses no more than a few
roundings of its intermediates stays within a few eps scale. It follows a quantity through zero, to the critical point
and through cancelling polynomials, and needs no knowledge of the formula, so it holds for any kernel.
"""

import numpy as np

EPS = float(np.finfo(np.float64).eps)
MOVE = 2.0**-22  # the change is first order up to 2e-7, and known to eps/MOVE = 1e-9 of q
JUMP = 1e-3  # relative change of the density under MOVE: the point lies on a phase change, not beside it
REPEATS = 3  # draws of signs for the constants: one alone may let two terms cancel


def moved(mixture, random, by=MOVE):
    """A copy of the mixture with every real constant multiplied by 1 +- by; whole numbers (indices, signs) stay, and so
    do tables in single precision, whose own error is stated."""

    def move(value):
        whole = (value == np.round(value)).all()
        return value if whole else value * (1 + by * random.choice([-1.0, 1.0], value.shape))

    return mixture.moved(move)


def _moved_states(states, random):
    signs = random.choice([-1.0, 1.0], states["Y"].shape)
    Y = states["Y"] * (1 + MOVE * signs)
    yield "T", {**states, "T": states["T"] * (1 + MOVE)}
    yield "p", {**states, "p": states["p"] * (1 + MOVE)}
    yield "Y", {**states, "Y": Y / Y.sum(0)}


def scales(mixture, names, states, backend="cpu", seed=5):
    """({name: scale}, undecided): arrays like the quantities; undecided (n,) is True where a phase change lies within
    MOVE."""
    random = np.random.default_rng(seed)
    names = list(dict.fromkeys([*names, "rho"]))
    base = mixture.properties(names, backend=backend, **states)
    total = {name: np.abs(v) for name, v in base.items()}
    undecided = np.zeros(states["T"].shape, bool)
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
