"""What the cubic equations of state make of the species: a and b, k_ij, volume translation; and their options."""

from __future__ import annotations

import numpy as np

from ...declare import Constants, constants, exclusion, option
from ...errors import MixtureError
from ...species import CRITICAL, GAS_CONSTANT as R, OMEGA_A, OMEGA_B, OMEGA_VC

option("equation", "pr srk", "equation of state", needs={"pr": CRITICAL, "srk": CRITICAL})
option("root", "gibbs vapour liquid largest", "which of three roots v > b; vapour and largest are one rule")
option("translation", "none peneloux fitted", "shift of the volume of a cubic equation", switch="translated")
option("alpha", "pr78 cantera", "alpha of heavy species with Peng-Robinson: published, or as Cantera 3.2 codes it")
option("mixing", "vdw pseudocritical", "a of a mixture: k_ij on sqrt(a_i a_j), or each pair's own critical point")
exclusion(
    lambda o: o["equation"] == "ideal" and o["translation"] != "none",
    "option translation = '{translation}' shifts the volume of a cubic equation; with equation = 'ideal' wanted "
    "'none'.",
)
exclusion(
    lambda o: o["equation"] == "ideal" and o["mixing"] != "vdw",
    "option mixing = '{mixing}' is a rule for a of a cubic equation; with equation = 'ideal' wanted 'vdw'.",
)
exclusion(
    lambda o: o["equation"] != "pr" and o["alpha"] == "cantera",
    "option alpha = 'cantera' is Cantera's Peng-Robinson; with equation = '{equation}' wanted 'pr78'.",
)

# equation: Omega_a, Omega_b, Z at the critical point, and Peneloux's c = slope (Z_0 - Z_RA) R Tc/pc (originals not
# seen). Peng-Robinson's c: Jhaveri & Youngren 1988 give such a form; numbers as other codes have them. Soave 1972;
# Peneloux, Rauzy & Freze 1982.
CUBICS = {
    "pr": (OMEGA_A, OMEGA_B, OMEGA_VC, 0.50033, 0.25969),
    "srk": (1 / (9 * (np.cbrt(2) - 1)), (np.cbrt(2) - 1) / 3, 1 / 3, 0.40768, 0.29441),
}


def alpha_slope(omega, which: str, equation: str = "pr"):
    """kappa_i(omega). pr: Peng & Robinson 1976 up to 0.491, Robinson & Peng 1978 above (`cantera`: as Cantera 3.2 codes
    it); srk: Soave 1972 (original not seen)."""
    if equation == "srk":
        return 0.480 + omega * (1.574 - 0.176 * omega)
    low = 0.37464 + omega * (1.54226 - 0.26992 * omega)
    if which == "cantera":
        high = 0.374642 + omega * (1.487503 + omega * (-0.164423 + 0.016666 * omega))
    else:
        high = 0.379642 + omega * (1.48503 + omega * (-0.164423 + 0.016666 * omega))
    return np.where(omega <= 0.491, low, high)


def liquid_volume(equation, a, b, T, p):
    """Smallest volume > b [m3/mol] of p = R T/(v - b) - a/D at T [K], p [Pa], D = v^2 + 2 b v - b^2 (pr) or v (v + b)
    (srk)."""
    s, t = (2 * b, -b * b) if equation == "pr" else (b, 0.0)
    v = np.roots([p, p * (s - b) - R * T, p * (t - b * s) - R * T * s + a, -p * t * b - R * T * t - a * b])
    v = v.real[(np.abs(v.imag) < 1e-9 * np.abs(v)) & (v.real > b)].min()
    for _ in range(2):  # the cubic's coefficients cancel where p is small, this form does not
        D = (v + s) * v + t
        v -= (R * T / (v - b) - a / D - p) / (a * (2 * v + s) / D**2 - R * T / (v - b) ** 2)
    return v


def _parameters(species, options):
    """Omega_a, Omega_b, Z at the critical point; a [Pa m6/mol2], b [m3/mol] and kappa of each species."""
    species.refuse_without_critical()
    # the pseudo-critical state of an ideal gas is Peng-Robinson's
    equation = "pr" if options["equation"] == "ideal" else options["equation"]
    omega_a, omega_b, Zc, *_ = CUBICS[equation]
    # a and b as given are Peng-Robinson's; another equation's follow from the critical point that belongs to them
    a, b = species.a, species.b
    if equation != "pr":
        a, b = omega_a * (R * species.Tc) ** 2 / species.pc, omega_b * R * species.Tc / species.pc
    return (omega_a, omega_b, Zc), a, b, alpha_slope(species.omega, options["alpha"], equation)


def cubic(species, options) -> Constants:
    """a and b of each species, per mass."""
    (omega_a, omega_b, Zc), a, b, kappa = _parameters(species, options)
    root_ac = np.sqrt(a)
    values = dict(b_mass=b / species.W, omega_a=[omega_a], omega_b=[omega_b], omega_vc=[Zc])
    if options["mixing"] == "vdw":
        values |= dict(
            root_ac_mass=root_ac / species.W,
            g_mass=np.where(kappa < 0, -1, 1) * (1 + kappa) * root_ac / species.W,
            q_mass=root_ac * np.abs(kappa) / np.sqrt(species.Tc) / species.W,
        )
    return Constants(values)


def translation(species, options) -> Constants:
    """Peneloux's c of each species, per mass: as given, else by correlation; `fitted`: so that v of the equation less c
    is the volume of the measured liquid, where one is given."""
    _, a, b, kappa = _parameters(species, options)
    equation, notes = options["equation"], []
    *_, slope, zero = CUBICS[equation]
    Z_RA = 0.29056 - 0.08775 * species.omega  # Yamada & Gunn 1973 (original not seen)
    unknown = ~np.isfinite(species.volume_translation)
    shift = np.where(unknown, slope * (zero - Z_RA) * R * species.Tc / species.pc, species.volume_translation)
    if options["translation"] == "fitted":
        measured = np.isfinite(species.liquid).all(1)
        for s in np.flatnonzero(measured):
            T, p, rho = species.liquid[s]
            alpha = (1 + kappa[s] * (1 - np.sqrt(T / species.Tc[s]))) ** 2
            volume = liquid_volume(equation, a[s] * alpha, b[s], T, p)
            if volume > 3 * b[s]:  # 3.9 b at the critical point
                raise MixtureError(
                    f"species {species.names[s]!r}: the equation of state has no liquid at {T:g} K, {p:g} Pa, where "
                    "liquid-density is given."
                )
            shift[s] = volume - species.W[s] / rho
        unknown &= ~measured
        notes.append(f"volume translation fitted to a liquid density of {species.named(measured)}.")
    if unknown.any():
        notes.append(f"no volume translation given for {species.named(unknown)}: by correlation from Tc, pc, omega.")
    return Constants({"shift_mass": shift / species.W}, notes=notes)


def pseudocritical_pairs(species, options) -> Constants:
    """a_ij(T) = (g_ij - q_ij sqrt(T))^2 of each pair's own Tc, pc, omega (Miller, Harstad & Bellan 2001; original
    not seen): a quadratic in sqrt(T) whose coefficients, per mass of both, are constant matrices."""
    (omega_a, *_), *_ = _parameters(species, options)
    Vc, notes = species.critical_volumes()
    root, Zc = np.cbrt(Vc), species.pc * Vc / (R * species.Tc)
    Tc = np.sqrt(species.Tc[:, None] * species.Tc) * (1 - species.kij)
    pc = 0.5 * (Zc[:, None] + Zc) * R * Tc / ((root[:, None] + root) ** 3 / 8)
    kappa = alpha_slope(0.5 * (species.omega[:, None] + species.omega), options["alpha"], options["equation"])
    critical = omega_a * (R * Tc) ** 2 / pc / (species.W[:, None] * species.W)
    g, q = 1 + kappa, kappa / np.sqrt(Tc)
    coefficients = critical * g * g, critical * g * q, critical * q * q
    said = "a of every pair from its own Tc, pc, omega; k_ij stands in the pair's Tc, sqrt(Tc_i Tc_j) (1 - k_ij)."
    return Constants(
        {"pair_rows": np.stack(coefficients)},
        dict(zip(("pair_constant", "pair_linear", "pair_square"), coefficients), pair_critical=critical),
        notes=[said, *notes],
    )


def kij_structure(kij: np.ndarray):
    """How to sum with k_ij at least cost: (kind, eigenvalues, factors). Costs in FMA a point."""
    ns, pairs = len(kij), np.count_nonzero(np.tril(kij, -1))
    if not pairs:
        return "none", None, None
    value, vector = np.linalg.eigh(kij)
    keep = np.abs(value) > 1e-13 * np.abs(value).max()
    cost = {"dense": ns * (ns - 1), "lowrank": (2 * ns + 6) * int(keep.sum()), "sparse": 16 * pairs}
    return min(cost, key=cost.get), value[keep], vector[:, keep]


def interaction(species, options) -> Constants:
    """k_ij in the form in which they are summed; none where pairs have their own critical points."""
    made, kij = Constants(), species.kij
    kind, value, vector = ("pairs", None, None) if options["mixing"] == "pseudocritical" else kij_structure(kij)
    made.sizes = {f"kij_{known}": known == kind for known in ("none", "sparse", "lowrank", "dense")}
    if kind == "dense":
        made.pairs["one_minus_kij"] = 1 - kij
    if kind in ("dense", "sparse"):
        made.values["kij_rows"] = 1 - kij
    if kind == "lowrank":
        made.sizes["KIJ_RANK"] = value.size
        made.values |= dict(kij_sign=np.sign(value), kij_factor=(vector * np.sqrt(np.abs(value))).T)
    if kind == "sparse":
        first, second = np.nonzero(np.tril(kij, -1))
        made.sizes["KIJ_PAIRS"] = first.size
        made.values |= dict(kij_first=first, kij_second=second, kij_value=kij[first, second])
    return made


constants("b_mass omega_a omega_b omega_vc root_ac_mass g_mass q_mass", cubic)
constants("shift_mass", translation, when={"translation": "peneloux fitted"})
constants(
    "pair_constant pair_linear pair_square pair_critical pair_rows",
    pseudocritical_pairs,
    when={"mixing": "pseudocritical"},
)
constants("one_minus_kij kij_rows kij_sign kij_factor kij_first kij_second kij_value", interaction)
