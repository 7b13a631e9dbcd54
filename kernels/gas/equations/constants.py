"""Constants and options of the cubic equations of state: a and b of the species, the shape of D, k_ij, volume
translation."""

from __future__ import annotations

import numpy as np

from ...engine.errors import MixtureError, refuse
from ..declare import constants, exclusion, fact, option
from ..records import Constants
from .records import BEND, CUBICS, Peneloux, Soave, refuse_wrong_signs, smooth_root

option(
    "root",
    {
        "gibbs": "The root of lower residual Gibbs energy, which is the stable one.",
        "vapour": "The largest root.",
        "liquid": "The smallest root $v > b$.",
        "largest": "Another name of `vapour`.",
    },
    "which of three roots v > b; vapour and largest both take the largest root",
)
option(
    "translation",
    {
        "none": "The volume is the equation's own.",
        "peneloux": r"$v = v_\mathrm{eq} - \sum_k x_k c_k$. $c_k$ is the file's `volume-translation`, else "
        r"$c_k = s\,(z - Z_{\mathrm{RA},k})\,R T_{c,k}/p_{c,k}$ with $s, z$ of the equation, and $Z_\mathrm{RA}$ of "
        r"the file or $0.29056 - 0.08775\,\omega_k$ (Yamada & Gunn 1973). Peneloux, Rauzy & Freze 1982; originals not "
        "seen.",
        "fitted": "As `peneloux`, but $c_k$ meets the measured liquid density of the file where it gives one.",
    },
    "shift of the volume of a cubic equation",
    switch="translated",
)
option(
    "alpha",
    {
        "smooth": r"As `published` up to $x = \kappa\,(\sqrt{T/T_c} - 1) = \frac34$, which is 951 K for N2; above, "
        r"$\sqrt{\alpha} = \frac14/(1 + y + y^2 + y^3)$ with $y = 4 x - 3$. Three times continuously "
        r"differentiable, positive, falling and convex for $\kappa > 0$. Own form.",
        "published": r"$\sqrt{\alpha} = |1 + \kappa\,(1 - \sqrt{T/T_c})|$, with a kink at $T_c (1 + 1/\kappa)^2$, "
        r"1388 K for N2, where $h$ jumps. Peng-Robinson: $\kappa = 0.37464 + 1.54226\,\omega - 0.26992\,\omega^2$ "
        r"for $\omega \le 0.491$, else $\kappa = 0.379642 + 1.48503\,\omega - 0.164423\,\omega^2 + "
        r"0.016666\,\omega^3$. Robinson & Peng 1978; original not seen.",
        "cantera": r"As `published`, above $\omega = 0.491$ with $0.374642 + 1.487503\,\omega$ in front, as Cantera "
        "3.2 has it.",
        "pr76": r"As `published`, with the first $\kappa$ for every $\omega$. Peng & Robinson 1976; original not seen.",
    },
    "Soave's alpha: smooth at every T, as published, as Cantera 3.2 codes Peng-Robinson's, or of 1976",
    renamed={"pr78": "published"},
)
option(
    "mixing",
    {
        "vdw": r"$a = \sum_{ij} x_i x_j \sqrt{a_i a_j}\,(1 - k_{ij})$, $b = \sum_i x_i b_i$.",
        "pseudocritical": r"$a = \sum_{ij} x_i x_j\,a_{ij}$, $a_{ij}$ of the pair's own critical point: "
        r"$T_{c,ij} = \sqrt{T_{c,i} T_{c,j}}\,(1 - k_{ij})$, $p_{c,ij} = Z_{ij} R T_{c,ij}/V_{ij}$, "
        r"$V_{ij} = \frac18 (V_{c,i}^{1/3} + V_{c,j}^{1/3})^3$, $Z_{ij} = \frac12 (Z_{c,i} + Z_{c,j})$, "
        r"$\omega_{ij} = \frac12 (\omega_i + \omega_j)$. Miller, Harstad & Bellan 2001; original not seen.",
    },
    "a of a mixture: k_ij on sqrt(a_i a_j), or each pair's own critical point",
)


def _without(key, plain, has):
    """A test of options: option `key` has a value other than `plain`, and the equation of state does not offer it.

    has(record, value): whether the equation of this record offers the value.
    """

    def excluded(options):
        value = options[key]
        if value == plain:
            return False

        record = CUBICS.get(options["equation"])
        return record is None or not has(record, value)

    return excluded


exclusion(
    _without("translation", "none", lambda record, value: isinstance(record.translation, Peneloux)),
    "option translation = '{translation}' shifts the volume of a cubic equation that has such a correlation; with "
    "equation = '{equation}' wanted 'none'.",
)
exclusion(
    _without("mixing", "vdw", lambda record, value: record.soave),
    "option mixing = '{mixing}' is a rule for a of a cubic equation with Soave's alpha; with equation = '{equation}' "
    "wanted 'vdw'.",
)
exclusion(
    _without("alpha", "smooth", lambda record, value: record.soave and value in ("published", *record.alpha.others)),
    "option alpha = '{alpha}': published is Soave's alpha of pr and srk, cantera and pr76 are of Peng-Robinson; with "
    "equation = '{equation}' wanted 'smooth'.",
)
exclusion(
    lambda options: options["alpha"] == "smooth" and options["mixing"] == "pseudocritical",
    "option mixing = 'pseudocritical' has a_ij of pairs as published; with alpha = '{alpha}' wanted mixing = 'vdw', or "
    "alpha = 'published'.",
)


def alpha_slope(omega, which: str, equation: str):
    """kappa_i(omega) of an equation with Soave's alpha. NaN for other equations."""
    alpha = CUBICS[equation].alpha if equation in CUBICS else None
    if isinstance(alpha, Soave):
        return alpha.slope(omega, which)
    return np.full(np.shape(omega), np.nan)


def alpha_kinks(species, options) -> np.ndarray:
    """T [K] (ns,) at which sqrt(alpha) passes through zero and its slope jumps. NaN: at no T."""
    if options["alpha"] == "smooth" or options["mixing"] == "pseudocritical":
        return np.full(species.ns, np.nan)

    kappa = alpha_slope(species.omega, options["alpha"], options["equation"])
    with np.errstate(divide="ignore"):
        return species.Tc * (1 + 1 / kappa) ** 2


def alpha_bends(species, options) -> np.ndarray:
    """T [K] (ns,) from which the smooth form of Soave's alpha is not the published one. NaN: at no T."""
    if options["alpha"] != "smooth":
        return np.full(species.ns, np.nan)

    kappa = alpha_slope(species.omega, "smooth", options["equation"])
    with np.errstate(divide="ignore"):
        return np.where(kappa > 0, species.Tc * (1 + BEND / kappa) ** 2, np.nan)


def shape(record):
    """delta_1 + delta_2 and delta_1 delta_2, the coefficients of D. Rounded to 15 digits, so that Peng-Robinson's
    square roots give 2 and -1."""
    total = round(record.delta_1 + record.delta_2, 15)
    product = round(record.delta_1 * record.delta_2, 15)
    return total, product


def liquid_volume(record, a, b, T, p, R):
    """Smallest volume > b [m3/mol] of p = R T/(v - b) - a/D at T [K], p [Pa], D = (v + delta_1 b)(v + delta_2 b); R in
    J/mol/K."""
    total, product = shape(record)
    s, t = total * b, product * b * b

    # Roots of the cubic in v; D = v^2 + s v + t.
    v = np.roots([p, p * (s - b) - R * T, p * (t - b * s) - R * T * s + a, -p * t * b - R * T * t - a * b])
    is_real = np.abs(v.imag) < 1e-9 * np.abs(v)
    v = v.real[is_real & (v.real > b)].min()

    # Two Newton steps on p(v) itself: the coefficients of the cubic cancel at low pressure.
    for _ in range(2):
        D = (v + s) * v + t
        v -= (R * T / (v - b) - a / D - p) / (a * (2 * v + s) / D**2 - R * T / (v - b) ** 2)
    return v


def _record(species, options):
    """Record of the equation of state; Peng-Robinson's for an ideal gas, which needs it for the pseudo-critical state.

    Raises MixtureError if a species lacks a field that the equation needs.
    """
    record = CUBICS.get(options["equation"], CUBICS["pr"])
    for field in record.needs:
        species.refuse(np.isnan(getattr(species, field)), f"critical properties ({field})")
    return record


def cubic(species, options) -> Constants:
    """a and b of each species, per mass, and the shape of D, which the compiler knows if all species share it.

    Raises MixtureError if a species lacks a field that the equation needs.
    """
    record = _record(species, options)
    critical = record.of_species(species)
    a, b = record.ab(species)
    root_ac = np.sqrt(a)

    result = Constants({"b_mass": b / species.W}, sizes=dict(deltas_by_species=record.by_species, mapped=record.mapped))

    # The shape of D: rows of delta_1 and of moles per mass, or numbers in the source.
    if record.by_species:
        result.values["delta_numbers"] = np.stack([critical["delta_1"] / species.W, 1 / species.W])
    else:
        result.values["omega_a"] = [critical["omega_a"]]
        result.values["omega_b"] = [critical["omega_b"]]
        result.values["omega_vc"] = [critical["Z_c"]]

        total, product = shape(record)
        result.numbers = dict(delta_1=record.delta_1, delta_2=record.delta_2, delta_sum=total, delta_product=product)

    # alpha: Soave's, as sqrt(a_i) = g_i - q_i sqrt(T), or any other, as C++ text with its constants.
    result.sizes["alpha_general"] = not record.soave
    result.sizes["alpha_bends"] = record.soave and options["alpha"] == "smooth"
    if options["mixing"] == "vdw":
        result.values["root_ac_mass"] = root_ac / species.W

    if not record.soave:
        result.values["alpha_numbers"] = _alpha_numbers(record.alpha, species, root_ac / species.W)
        result.members = _root_attraction(record.alpha)
        result.pieces = {f"equation '{record.name}', text of its alpha": record.alpha.text}
    elif options["mixing"] == "vdw":
        kappa = record.alpha.slope(species.omega, options["alpha"])
        if options["alpha"] == "smooth":
            result.values |= _bends(species, kappa, root_ac / species.W)
            result.notes += _checked_signs(species, kappa)
        else:
            sign = np.where(kappa < 0, -1, 1)  # q_i is never negative; attraction.h says why
            result.values["g_mass"] = sign * (1 + kappa) * root_ac / species.W
            result.values["q_mass"] = root_ac * np.abs(kappa) / np.sqrt(species.Tc) / species.W
    return result


def _bends(species, kappa, root_ac):
    """Constants of Soave's smooth alpha, by name, for kappa (ns,) and sqrt(a_c)/W (ns,): sqrt(a_i) = g - q s below the
    bend, s = sqrt(T); its size there and 1/size; bend_T, the lowest T at which a species bends, less a margin for
    rounding."""
    size = root_ac * (1 - BEND)
    bends = kappa > 0
    bend_T = species.Tc[bends] * (1 + BEND / kappa[bends]) ** 2

    return {
        "g_mass": (1 + kappa) * root_ac,
        "q_mass": root_ac * kappa / np.sqrt(species.Tc),
        "bend_size": size,
        "bend_inverse": 1 / size,
        "bend_T": [0.9999 * bend_T.min(initial=1e30)],
    }


def _checked_signs(species, kappa):
    """Raise MixtureError by refuse_wrong_signs from 0.05 to 60 Tc. Returns a note on species that are exempt."""
    t = np.geomspace(0.05, 60, 400)
    x = kappa[:, None] * (np.sqrt(t) - 1)
    x_t = kappa[:, None] / (2 * np.sqrt(t))
    x_tt = -x_t / (2 * t)
    F, F_x, F_xx = smooth_root(x)

    falls = ~(kappa <= 0)
    names = [name for name, falling in zip(species.names, falls) if falling]
    refuse_wrong_signs(names, t, F[falls], (F_x * x_t)[falls], (F_xx * x_t**2 + F_x * x_tt)[falls])

    if falls.all():
        return []
    return [f"kappa <= 0 of {species.named(~falls)}: alpha does not fall with T, as the correlation has it."]


def _alpha_numbers(alpha, species, root_ac) -> np.ndarray:
    """Rows of the constants of alpha, and of sqrt(a_c) gain/W behind them where the text does not have it in its own;
    root_ac: sqrt(a_c)/W (ns,)."""
    size = root_ac * alpha.gain(species)
    rows = []
    for name, of_species in alpha.constants.items():
        rows.append(of_species(species) * (size if name in alpha.scaled else 1.0))
    return np.stack(rows if alpha.scaled else [*rows, size])


def _root_attraction(alpha) -> str:
    """C++ function of the struct of constants: sqrt(a_i) of a species, per mass, and its two derivatives in T."""
    numbers = "".join(
        f"    const auto {name} = of_species(m.alpha_numbers + {row} * M::NS, s);\n"
        for row, name in enumerate(alpha.constants)
    )
    sized = f"""    const auto size = of_species(m.alpha_numbers + {len(alpha.constants)} * M::NS, s);
    root = root * size, root_T = root_T * size, root_TT = root_TT * size;
"""
    return f"""template <class M, class R, class S>
static POINT_FN void root_attraction(const M &m, const R T, const S s, R &root, R &root_T, R &root_TT) {{
{numbers}{alpha.text}
{"" if alpha.scaled else sized}}}
"""


def translation(species, options) -> Constants:
    """Peneloux's volume translation c of each species, per mass.

    c is the number of the input file, else it follows from Peneloux's correlation. translation = fitted: c of a species
    with a measured liquid density moves the volume of the equation of state to the measured volume.

    Raises MixtureError if the equation has no liquid at the measured state.
    """
    record = _record(species, options)
    notes = []

    has_Z_RA = np.isfinite(species.Z_RA)
    by_correlation = ~np.isfinite(species.volume_translation)
    shift = peneloux_shift(species, record.translation)

    # Fit to measured liquid densities.
    if options["translation"] == "fitted":
        measured = np.isfinite(species.liquid).all(1)
        kappa = record.alpha.slope(species.omega, options["alpha"])
        for s in np.flatnonzero(measured):
            shift[s] = _fitted_translation(species, record, kappa, s)
        by_correlation &= ~measured
        notes.append(f"volume translation fitted to a liquid density of {species.named(measured)}.")

    if by_correlation.any():
        notes.append(
            f"no volume translation given for {species.named(by_correlation)}: by correlation from Tc, pc, omega."
        )
    if (by_correlation & has_Z_RA).any():
        notes.append(f"that correlation has the Z_RA of the input for {species.named(by_correlation & has_Z_RA)}.")

    return Constants({"shift_mass": shift / species.W}, notes=notes)


def peneloux_shift(species, translation: Peneloux):
    """c [m3/mol] (ns,) of the input file, else of Peneloux's correlation; Z_RA of the file, else of Yamada & Gunn 1973
    (original not seen)."""
    Z_RA = np.where(np.isfinite(species.Z_RA), species.Z_RA, 0.29056 - 0.08775 * species.omega)
    correlated = translation.slope * (translation.zero - Z_RA) * species.R * species.Tc / species.pc

    return np.where(np.isfinite(species.volume_translation), species.volume_translation, correlated)


def _fitted_translation(species, record, kappa, s):
    """c [m3/mol] of species s: the volume of the equation of state less the measured volume of the liquid.

    Raises MixtureError if the equation has no liquid at the measured state.
    """
    T, p, rho = species.liquid[s]
    a, b = record.ab(species)
    alpha = (1 + kappa[s] * (1 - np.sqrt(T / species.Tc[s]))) ** 2

    volume = liquid_volume(record, a[s] * alpha, b[s], T, p, species.R)
    refuse(
        volume > 3 * b[s],  # 3.9 b at the critical point
        f"species {species.names[s]!r}: the equation of state has no liquid at {T:g} K, {p:g} Pa, where "
        "liquid-density is given.",
        MixtureError,
    )
    return volume - species.W[s] / rho


def _pseudocritical(species, options):
    """a_ij(T) = (g_ij - q_ij sqrt(T))^2 from the critical point of each pair.

    Miller, Harstad & Bellan 2001 (original not seen). Returns matrices (ns, ns), the coefficients of 1, -2 sqrt(T) and
    T, and a_ij at alpha = 1; and notes.
    """
    record, R = _record(species, options), species.R
    Vc, notes = species.critical_volumes()

    # Critical point and kappa of each pair.
    root = np.cbrt(Vc)
    Zc = species.pc * Vc / (R * species.Tc)
    Tc = np.sqrt(species.Tc[:, None] * species.Tc) * (1 - species.kij)
    pc = 0.5 * (Zc[:, None] + Zc) * R * Tc / ((root[:, None] + root) ** 3 / 8)
    kappa = record.alpha.slope(0.5 * (species.omega[:, None] + species.omega), options["alpha"])

    # a_ij at alpha = 1, per mass, and its factors g and q.
    critical = record.omega_a * (R * Tc) ** 2 / pc / (species.W[:, None] * species.W)
    g = 1 + kappa
    q = kappa / np.sqrt(Tc)

    note = "a of every pair from its own Tc, pc, omega; k_ij stands in the pair's Tc, sqrt(Tc_i Tc_j) (1 - k_ij)."
    return (critical * g * g, critical * g * q, critical * q * q, critical), [note, *notes]


def _of_a_phase(species):
    """a_ij(T) = (a0_ij + a1_ij T)/sqrt(T) of a Redlich-Kwong phase whose file gives a_ij.

    Returns matrices (ns, ns), per mass: a0, zero, a1, and a_ij at sqrt(Tc_i Tc_j); and notes.
    """
    a0, a1 = species.rk_a / (species.W[:, None] * species.W)
    Tc = np.sqrt(species.Tc[:, None] * species.Tc)
    return (a0, np.zeros_like(a0), a1, (a0 + a1 * Tc) / np.sqrt(Tc)), ["a of every pair as the phase gives it."]


# Ways to sum a over the pairs with k_ij: k_ij = 0, a list of pairs, a few eigenvectors, the full matrix.
STRUCTURES = "none", "sparse", "lowrank", "dense"


def low_rank(kij: np.ndarray):
    """(eigenvalues (rank,), eigenvectors (ns, rank)) of k_ij (ns, ns) without those that are 0, but for rounding."""
    value, vector = np.linalg.eigh(kij)
    keep = np.abs(value) > 1e-13 * np.abs(value).max()
    return value[keep], vector[:, keep]


def as_factors(value: np.ndarray, vector: np.ndarray):
    """(signs (rank,), factors (rank, ns)) of k_ij = sum_r sign_r factor_ri factor_rj, from `low_rank`."""
    return np.sign(value), (vector * np.sqrt(np.abs(value))).T


def kij_structure(kij: np.ndarray):
    """The cheapest way to sum over pairs with k_ij (ns, ns).

    Returns (one of STRUCTURES, eigenvalues (rank,), eigenvectors (ns, rank)).
    """
    ns = len(kij)
    pairs = int(np.count_nonzero(np.tril(kij, -1)))
    if not pairs:
        return "none", None, None

    value, vector = low_rank(kij)
    rank = value.size

    # Fused multiply-adds at each point.
    cost = {"dense": ns * (ns - 1), "lowrank": (2 * ns + 6) * rank, "sparse": 16 * pairs}
    return min(cost, key=cost.__getitem__), value, vector


def interaction(species, options) -> Constants:
    """Constants of the sum a = sum_ij Y_i Y_j a_ij: matrices over the pairs, per mass of both species; or k_ij in the
    form that costs least, for a_ij = sqrt(a_i a_j) (1 - k_ij)."""
    result = Constants()
    kij = species.kij

    if options["mixing"] == "pseudocritical":
        kind = "pairs"
        matrices, result.notes = _pseudocritical(species, options)
    elif options["equation"] == "rk" and species.rk_a is not None:
        kind = "pairs"
        matrices, result.notes = _of_a_phase(species)
    else:
        kind, value, vector = kij_structure(kij)

    # Numbers for the compiler.
    result.sizes = {f"kij_{structure}": structure == kind for structure in STRUCTURES}
    result.sizes["by_pairs"] = kind == "pairs"

    # Arrays for the kernels.
    if kind == "pairs":
        _add_matrices(result, matrices)
    elif kind == "dense":
        has_second_derivatives = not _record(species, options).soave or options["alpha"] == "smooth"
        _add_dense(result, kij, has_second_derivatives)
    elif kind == "lowrank":
        _add_low_rank(result, value, vector)
    elif kind == "sparse":
        _add_sparse(result, kij)

    return result


def _add_matrices(result: Constants, matrices) -> None:
    """The matrices of a_ij(T), and a_ij at alpha = 1, (ns, ns) each."""
    result.values["pair_rows"] = np.stack(matrices[:3])
    result.pairs = dict(zip(("pair_constant", "pair_linear", "pair_square", "pair_critical"), matrices))


def _add_dense(result: Constants, kij: np.ndarray, has_second_derivatives: bool) -> None:
    """1 - k_ij; its upper triangle for sums with a second derivative of each species."""
    result.pairs["one_minus_kij"] = 1 - kij
    if has_second_derivatives:
        result.upper["kij_upper"] = 1 - kij
    result.values["kij_rows"] = 1 - kij


def _add_low_rank(result: Constants, value: np.ndarray, vector: np.ndarray) -> None:
    """k_ij = sum_r sign_r factor_ri factor_rj, from eigenvalues (rank,) and eigenvectors (ns, rank)."""
    result.sizes["KIJ_RANK"] = value.size
    result.values["kij_sign"], result.values["kij_factor"] = as_factors(value, vector)


def _add_sparse(result: Constants, kij: np.ndarray) -> None:
    """The pairs with k_ij, as a list."""
    first, second = np.nonzero(np.tril(kij, -1))
    result.values["kij_rows"] = 1 - kij
    result.sizes["KIJ_PAIRS"] = first.size
    result.values["kij_first"] = first
    result.values["kij_second"] = second
    result.values["kij_value"] = kij[first, second]


def structure(mixture) -> str:
    """How k_ij enters the sums over pairs: one of STRUCTURES, or "pairs" (a_ij has matrices instead of k_ij)."""
    try:
        constant = mixture.constant("kij_rows")
    except MixtureError:
        return "none"
    if constant is None:
        return "none"

    sizes = constant.of.sizes
    for kind in STRUCTURES:
        if sizes[f"kij_{kind}"]:
            return kind
    return "pairs"


fact("k_ij", structure)
constants(
    "b_mass delta_numbers omega_a omega_b omega_vc root_ac_mass g_mass q_mass bend_size bend_inverse bend_T "
    "alpha_numbers",
    cubic,
)
constants("shift_mass", translation, when={"translation": "peneloux fitted"}, at_once=True)
constants(
    "pair_constant pair_linear pair_square pair_critical pair_rows one_minus_kij kij_upper kij_rows kij_sign "
    "kij_factor kij_first kij_second kij_value",
    interaction,
)
