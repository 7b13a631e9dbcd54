"""Warnings about a mixture: constants that look wrong or contradict each other, places where formulas change."""

import numpy as np

from kernels.gas.equations.constants import alpha_kinks
from kernels.gas.species.reactions import Chebyshev, LinearBurke, Plog

from ..errors import MixtureError

JUMP = 1e-4  # jump of cp/R, h/RT, s/R between two polynomials from which a warning is given
T_LOW, T_HIGH = 80.0, 3500.0  # K, the range of temperatures that is checked


def grouped(pairs) -> list[str]:
    """Lines "A, B: text" from pairs (species, text). Each text appears once."""
    names_by_text: dict[str, list[str]] = {}
    for name, text in pairs:
        names_by_text.setdefault(text, []).append(name)
    return [f"{', '.join(names)}: {text}" for text, names in names_by_text.items()]


def polynomial_checks(species) -> list[str]:
    """Warnings: jumps between polynomials, ranges that do not cover T_LOW to T_HIGH, impossible heat capacities."""
    out = []
    for s, name in enumerate(species.names):
        # Jumps.
        for quantity, T, low, high in species.jumps(s, JUMP):
            out.append(
                (name, f"{quantity} jumps by {high - low:.2g} (from {low:.6g}) at {T:g} K, where two ranges meet")
            )

        # Ranges.
        ends = []
        if species.T_min[s] > T_LOW:
            ends.append(f"below {species.T_min[s]:g} K")
        if species.T_max[s] < T_HIGH:
            ends.append(f"above {species.T_max[s]:g} K")
        if ends:
            out.append((name, f"polynomials are extrapolated {' and '.join(ends)}"))

        # Heat capacities: no molecule has less than an atom.
        grid = np.geomspace(T_LOW, T_HIGH, 400)
        cp = species.polynomial(s, grid)[0]
        bad = grid[cp < 2.5 * (1 - 5e-3)]
        if bad.size:
            where = f"between {bad.min():.4g} and {bad.max():.4g} K"
            out.append((name, f"ideal-gas cp/R falls to {cp.min():.3g} {where}, less than an atom's 2.5"))

    return grouped(out)


def reaction_checks(species) -> list[str]:
    """Ranges of temperature and pressure of tabulated reactions, and jumps of reverse rates.

    Empty if the species have no reactions, or reactions that cannot be read.
    """
    try:
        reactions = species.mechanism.reactions
    except MixtureError:
        return []

    # Ranges.
    equations_by_range: dict[str, list[str]] = {}
    for reaction in reactions:
        rates = reaction.rate.rates if isinstance(reaction.rate, LinearBurke) else [reaction.rate]
        for text in dict.fromkeys(map(_range_of, rates)):
            if text:
                equations_by_range.setdefault(text, []).append(reaction.equation)

    out = [f"{text}: {_some(equations)}" for text, equations in equations_by_range.items()]

    # Jumps.
    jumps = reverse_jumps(species)
    large = [f"{equation} {100 * jump:+.2g} % at {T:g} K" for jump, T, equation in jumps if abs(jump) > JUMP]
    if large:
        out.append(f"reverse rates jump where polynomials of species meet: {_some(large)}")
    elif jumps:
        jump, T, equation = jumps[0]
        out.append(
            f"reverse rates jump by {abs(jump):.1e} or less where polynomials of species meet (at {T:g} K: {equation})"
        )

    return out


def _range_of(rate) -> str:
    """The range of a P-log or Chebyshev rate, and the rule beyond it; "" for other rates."""
    if isinstance(rate, Chebyshev):
        (T0, T1), (p0, p1) = rate.temperatures, rate.pressures
        beyond = "beyond, the polynomials as they are, or the values at the ends (chebyshev = clamp)"
        return f"Chebyshev, {T0:g} to {T1:g} K, {p0 / 1e5:.4g} to {p1 / 1e5:.4g} bar; {beyond}"

    if isinstance(rate, Plog):
        p0, p1 = rate.pressures[0], rate.pressures[-1]
        return f"P-log, {p0 / 1e5:.4g} to {p1 / 1e5:.4g} bar; beyond, the values at the ends"

    return ""


def reverse_jumps(species) -> list[tuple[float, float, str]]:
    """Jumps of reverse rates: (relative jump, temperature [K], equation) of reversible reactions, largest first.

    k_r = k_f exp(sum nu g/RT) (R T/p_ref)^(sum nu), and g/RT jumps where two polynomials of a species meet.
    """
    # Jumps of g/RT = h/RT - s/R of each species (ns,), by temperature.
    steps: dict[float, np.ndarray] = {}
    for s in range(species.ns):
        for quantity, T, below, above in species.jumps(s, 0.0):
            sign = {"h/RT": 1.0, "s/R": -1.0}.get(quantity, 0.0)
            steps.setdefault(T, np.zeros(species.ns))[s] += sign * (above - below)

    # Jumps of the rates.
    out = []
    for T, step in steps.items():
        for reaction in species.mechanism.reactions:
            if reaction.reversible:
                exponent = sum(nu * step[s] for s, nu in reaction.net.items())
                out.append((float(np.expm1(exponent)), T, reaction.equation))

    return sorted([jump for jump in out if jump[0]], key=lambda jump: -abs(jump[0]))


def _some(texts, most=5) -> str:
    """The first texts, and the number of the others."""
    more = len(texts) - most
    others = f" and {more} more" if more > 0 else ""
    return ", ".join(texts[:most]) + others


def constant_checks(species) -> list[str]:
    """Warnings about constants that contradict each other. Usual causes: a wrong unit, a misplaced digit, a number of
    another species."""
    Zc = species.pc * species.Vc / (species.R * species.Tc)
    sigma = 0.809e-10 * np.cbrt(species.Vc * 1e6)
    depth = species.Tc / 1.2593
    with np.errstate(invalid="ignore"):
        size, well = species.diameter / sigma, species.well_depth / depth

    out = []
    for s, name in enumerate(species.names):
        omega = species.omega[s]
        is_atom = species.diameter[s] > 0 and species.geometry[s] == 0

        checks = (
            (
                _outside(Zc[s], 0.2, 0.35),
                f"pc Vc/(R Tc) = {Zc[s]:.3g}, fluids have 0.22 to 0.31: check Tc, pc and Vc and their units",
            ),
            (
                _outside(size[s], 0.75, 1.33),
                f"Lennard-Jones diameter is {size[s]:.2f} of 0.809 Vc^(1/3): check sigma [A] and Vc",
            ),
            (_outside(well[s], 0.4, 2.5), f"well depth is {well[s]:.2f} of Tc/1.2593: check eps/k [K] and Tc"),
            (
                _outside(omega, -0.4, 1.2),
                f"acentric factor {omega:.3g}: outside -0.4 (helium) to 1.2, where its correlations end",
            ),
            (is_atom and species.dipole[s] > 0, f"an atom with a dipole of {species.dipole[s]:g} debye"),
        )
        for wrong, text in checks:
            if wrong:
                out.append((name, text))

    return grouped(out)


def _outside(value, low, high) -> bool:
    """Whether a known value is outside a range. NaN: unknown."""
    return bool(np.isfinite(value)) and not low <= value <= high


def alpha_zeros(mixture) -> list[str]:
    """Temperatures at which sqrt(alpha) passes through zero between T_LOW and T_HIGH: a kink in a'."""
    species = mixture.species
    if mixture.options["equation"] == "ideal":
        return []
    T = alpha_kinks(species, mixture.options)

    zeros = []
    for name, T_zero in sorted(zip(species.names, T), key=lambda pair: pair[1]):
        if T_LOW < T_zero < T_HIGH:
            zeros.append(f"{name} {T_zero:.0f} K")

    if not zeros:
        return []
    return [
        "sqrt(alpha) passes through zero, where h of the real gas jumps; alpha = smooth has no such place: "
        + ", ".join(zeros)
    ]


def poles(mixture) -> list[str]:
    """Poles of the published Chung viscosity, E1 E4 + E2 + E3 = 0: mole fractions in binary mixtures, for all T, p."""
    if mixture.options["chung"] == "polefree" or mixture.options["viscosity"] != "chung":
        return []

    x = np.linspace(0, 1, 2001)

    found = []
    for i in range(mixture.ns):
        for j in range(i):
            # The binary line from species j to species i.
            X = np.zeros((mixture.ns, x.size))
            X[i], X[j] = x, 1 - x
            q = mixture.properties("omega_m mu_r4 kappa_m", X=X, backend="cpu")
            w, d4, k = q["omega_m"], q["mu_r4"], q["kappa_m"]

            # E_i of Table 9-6, see kernels/gas/transport/chung.h.
            E1 = 6.324 + 50.412 * w - 51.680 * d4 + 1189.0 * k
            E4 = 6.623 + 38.096 * w - 8.464 * d4 + 31.42 * k
            E23 = 1.210e-3 + 5.283 + (254.209 - 1.154e-3) * w - (168.48 + 6.257e-3) * d4 + (3898.0 + 0.03728) * k
            f = E1 * E4 + E23

            # Sign changes, by linear interpolation.
            at = np.flatnonzero(f[:-1] * f[1:] < 0)
            where = [f"{x[n] - f[n] * (x[n + 1] - x[n]) / (f[n + 1] - f[n]):.4f}" for n in at]
            if where:
                found.append(f"{mixture.names[i]}/{mixture.names[j]} at X_{mixture.names[i]} = {', '.join(where)}")

    if not found:
        return []
    return [f"viscosity has poles in composition on {len(found)} of the binary lines: {'; '.join(found)}"]
