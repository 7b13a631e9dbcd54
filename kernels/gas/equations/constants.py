"""What the cubic equations of state make of the species: a and b, the shape of D, k_ij, volume translation; and their
options."""

from __future__ import annotations

import numpy as np

from ...engine.errors import MixtureError, refuse
from ..declare import Constants, constants, exclusion, fact, option
from ..species import GAS_CONSTANT as R
from .records import CUBICS, Soave

option(
    "root",
    {
        "gibbs": "The root of lower residual Gibbs energy, which is the stable one.",
        "vapour": "The largest root.",
        "liquid": "The smallest root $v > b$.",
        "largest": "Another name of `vapour`.",
    },
    "which of three roots v > b; vapour and largest are one rule",
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
        "pr78": r"$\sqrt{\alpha} = |1 + \kappa\,(1 - \sqrt{T/T_c})|$; $\kappa = 0.37464 + 1.54226\,\omega - "
        r"0.26992\,\omega^2$ for $\omega \le 0.491$, else $\kappa = 0.379642 + 1.48503\,\omega - 0.164423\,\omega^2 + "
        r"0.016666\,\omega^3$. Robinson & Peng 1978; original not seen.",
        "cantera": r"The same, above $\omega = 0.491$ with $0.374642 + 1.487503\,\omega$ in front, as Cantera 3.2 has "
        "it.",
    },
    "alpha of heavy species with Peng-Robinson: published, or as Cantera 3.2 codes it",
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
    """Whether options have a value of `key` other than the plain one with an equation that does not have it."""

    def excluded(options):
        record, value = CUBICS.get(options["equation"]), options[key]
        return value != plain and not (record and has(record, value))

    return excluded


exclusion(
    _without("translation", "none", lambda record, value: record.translation),
    "option translation = '{translation}' shifts the volume of a cubic equation that has such a correlation; with "
    "equation = '{equation}' wanted 'none'.",
)
exclusion(
    _without("mixing", "vdw", lambda record, value: record.soave),
    "option mixing = '{mixing}' is a rule for a of a cubic equation with Soave's alpha; with equation = '{equation}' "
    "wanted 'vdw'.",
)
exclusion(
    _without("alpha", "pr78", lambda record, value: record.soave and value in record.alpha.others),
    "option alpha = '{alpha}' is Cantera's Peng-Robinson; with equation = '{equation}' wanted 'pr78'.",
)


def alpha_slope(omega, which: str, equation: str):
    """kappa_i(omega) of an equation with Soave's alpha; NaN of any other, whose sqrt(alpha) has no zero."""
    alpha = CUBICS[equation].alpha if equation in CUBICS else None
    if isinstance(alpha, Soave):
        return alpha.slope(omega, which)
    return np.full(np.shape(omega), np.nan)


def shape(record):
    """delta_1 + delta_2 and delta_1 delta_2, the coefficients of D; rounding that square roots leave is cleared."""
    return round(record.delta_1 + record.delta_2, 15), round(record.delta_1 * record.delta_2, 15)


def liquid_volume(record, a, b, T, p):
    """Smallest volume > b [m3/mol] of p = R T/(v - b) - a/D at T [K], p [Pa], D = (v + delta_1 b)(v + delta_2 b)."""
    total, product = shape(record)
    s, t = total * b, product * b * b
    v = np.roots([p, p * (s - b) - R * T, p * (t - b * s) - R * T * s + a, -p * t * b - R * T * t - a * b])
    v = v.real[(np.abs(v.imag) < 1e-9 * np.abs(v)) & (v.real > b)].min()
    for _ in range(2):  # the cubic's coefficients cancel where p is small, this form does not
        D = (v + s) * v + t
        v -= (R * T / (v - b) - a / D - p) / (a * (2 * v + s) / D**2 - R * T / (v - b) ** 2)
    return v


def _record(species, options):
    """The equation's record; the pseudo-critical state of an ideal gas is Peng-Robinson's. Raises MixtureError where
    the species lack what it needs."""
    record = CUBICS.get(options["equation"], CUBICS["pr"])
    for field in record.needs:
        species.refuse(np.isnan(getattr(species, field)), f"critical properties ({field})")
    return record


def cubic(species, options) -> Constants:
    """a and b of each species, per mass; what the compiler knows of the equation."""
    record = _record(species, options)
    of, (a, b) = record.of_species(species), record.ab(species)
    root_ac = np.sqrt(a)
    made = Constants({"b_mass": b / species.W}, sizes=dict(deltas_by_species=record.by_species))
    if record.by_species:
        made.values["delta_numbers"] = np.stack([of["delta_1"] / species.W, 1 / species.W])
    else:
        made.values |= dict(omega_a=[of["omega_a"]], omega_b=[of["omega_b"]], omega_vc=[of["Z_c"]])
        made.numbers = dict(delta_1=record.delta_1, delta_2=record.delta_2)
        made.numbers |= dict(zip(("delta_sum", "delta_product"), shape(record)))
    made.sizes["alpha_general"] = not record.soave
    if options["mixing"] == "vdw":
        made.values["root_ac_mass"] = root_ac / species.W
    if not record.soave:
        rows = [root_ac / species.W, *(make(species) for make in record.alpha.constants.values())]
        made.values["alpha_numbers"] = np.stack(rows)
        made.members = _root_attraction(record.alpha)
        made.pieces = {f"equation '{record.name}', text of its alpha": record.alpha.text}
    elif options["mixing"] == "vdw":
        kappa = record.alpha.slope(species.omega, options["alpha"])
        made.values |= dict(
            g_mass=np.where(kappa < 0, -1, 1) * (1 + kappa) * root_ac / species.W,
            q_mass=root_ac * np.abs(kappa) / np.sqrt(species.Tc) / species.W,
        )
    return made


def _root_attraction(alpha) -> str:
    """sqrt(a_i) of a species per mass, with its derivatives in T, as a C++ function of the struct of constants."""
    numbers = "".join(
        f"    const scalar {name} = m.alpha_numbers[{row} * M::NS + s];\n"
        for row, name in enumerate(alpha.constants, 1)
    )
    return f"""template <class M, class R>
static POINT_FN void root_attraction(const M &m, const R T, int s, R &root, R &root_T, R &root_TT) {{
{numbers}{alpha.text}
    const scalar size = m.alpha_numbers[s];
    root = root * size, root_T = root_T * size, root_TT = root_TT * size;
}}
"""


def translation(species, options) -> Constants:
    """Peneloux's c of each species, per mass: as given, else by correlation; `fitted`: so that v of the equation less c
    is the volume of the measured liquid, where one is given."""
    record, notes = _record(species, options), []
    (a, b), kappa = record.ab(species), record.alpha.slope(species.omega, options["alpha"])
    # as given, else of Yamada & Gunn 1973 (original not seen)
    Z_RA = np.where(np.isfinite(species.Z_RA), species.Z_RA, 0.29056 - 0.08775 * species.omega)
    unknown, own = ~np.isfinite(species.volume_translation), record.translation
    shift = np.where(unknown, own.slope * (own.zero - Z_RA) * R * species.Tc / species.pc, species.volume_translation)
    if options["translation"] == "fitted":
        measured = np.isfinite(species.liquid).all(1)
        for s in np.flatnonzero(measured):
            T, p, rho = species.liquid[s]
            alpha = (1 + kappa[s] * (1 - np.sqrt(T / species.Tc[s]))) ** 2
            volume = liquid_volume(record, a[s] * alpha, b[s], T, p)
            refuse(
                volume > 3 * b[s],  # 3.9 b at the critical point
                f"species {species.names[s]!r}: the equation of state has no liquid at {T:g} K, {p:g} Pa, where "
                "liquid-density is given.",
                MixtureError,
            )
            shift[s] = volume - species.W[s] / rho
        unknown &= ~measured
        notes.append(f"volume translation fitted to a liquid density of {species.named(measured)}.")
    if unknown.any():
        notes.append(f"no volume translation given for {species.named(unknown)}: by correlation from Tc, pc, omega.")
        own_Z_RA = unknown & np.isfinite(species.Z_RA)
        if own_Z_RA.any():
            notes.append(f"that correlation has the Z_RA of the input for {species.named(own_Z_RA)}.")
    return Constants({"shift_mass": shift / species.W}, notes=notes)


def _pseudocritical(species, options):
    """a_ij(T) = (g_ij - q_ij sqrt(T))^2 of each pair's own Tc, pc, omega (Miller, Harstad & Bellan 2001; original
    not seen): the coefficients of 1, -2 sqrt(T) and T, and a_ij at alpha = 1; and notes."""
    record = _record(species, options)
    Vc, notes = species.critical_volumes()
    root, Zc = np.cbrt(Vc), species.pc * Vc / (R * species.Tc)
    Tc = np.sqrt(species.Tc[:, None] * species.Tc) * (1 - species.kij)
    pc = 0.5 * (Zc[:, None] + Zc) * R * Tc / ((root[:, None] + root) ** 3 / 8)
    kappa = record.alpha.slope(0.5 * (species.omega[:, None] + species.omega), options["alpha"])
    critical = record.omega_a * (R * Tc) ** 2 / pc / (species.W[:, None] * species.W)
    g, q = 1 + kappa, kappa / np.sqrt(Tc)
    said = "a of every pair from its own Tc, pc, omega; k_ij stands in the pair's Tc, sqrt(Tc_i Tc_j) (1 - k_ij)."
    return (critical * g * g, critical * g * q, critical * q * q, critical), [said, *notes]


def _of_a_phase(species):
    """a_ij(T) = (a0_ij + a1_ij T)/sqrt(T) of a Redlich-Kwong phase that gives its own: a0, nothing, a1, and a_ij at
    sqrt(Tc_i Tc_j); and notes."""
    a0, a1 = species.rk_a / (species.W[:, None] * species.W)
    Tc = np.sqrt(species.Tc[:, None] * species.Tc)
    return (a0, np.zeros_like(a0), a1, (a0 + a1 * Tc) / np.sqrt(Tc)), ["a of every pair as the phase gives it."]


STRUCTURES = "none", "sparse", "lowrank", "dense"


def kij_structure(kij: np.ndarray):
    """How to sum with k_ij at least cost: (kind, eigenvalues, factors). Costs in FMA a point."""
    ns, pairs = len(kij), int(np.count_nonzero(np.tril(kij, -1)))
    if not pairs:
        return "none", None, None
    value, vector = np.linalg.eigh(kij)
    keep = np.abs(value) > 1e-13 * np.abs(value).max()
    cost = {"dense": ns * (ns - 1), "lowrank": (2 * ns + 6) * int(keep.sum()), "sparse": 16 * pairs}
    return min(cost, key=cost.__getitem__), value[keep], vector[:, keep]


def interaction(species, options) -> Constants:
    """How a of a mixture is summed: constant matrices over the pairs, per mass of both; or sqrt(a_i) with k_ij in the
    form that costs least."""
    made, kij, kind = Constants(), species.kij, "pairs"
    if options["mixing"] == "pseudocritical":
        matrices, made.notes = _pseudocritical(species, options)
    elif options["equation"] == "rk" and species.rk_a is not None:
        matrices, made.notes = _of_a_phase(species)
    else:
        kind, value, vector = kij_structure(kij)
    if kind == "pairs":
        made.values["pair_rows"] = np.stack(matrices[:3])
        made.pairs = dict(zip(("pair_constant", "pair_linear", "pair_square", "pair_critical"), matrices))
    made.sizes = {f"kij_{known}": known == kind for known in STRUCTURES}
    made.sizes["by_pairs"] = kind == "pairs"
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


def structure(mixture) -> str:
    """How k_ij enters the sums over pairs: one of STRUCTURES, or "pairs" (each pair has its own critical point)."""
    try:
        found = mixture.constant("kij_rows")
    except MixtureError:
        return "none"
    sizes = found.of.sizes if found else {"kij_none": True}
    return next((kind for kind in STRUCTURES if sizes[f"kij_{kind}"]), "pairs")


fact("k_ij", structure)
constants("b_mass delta_numbers omega_a omega_b omega_vc root_ac_mass g_mass q_mass alpha_numbers", cubic)
constants("shift_mass", translation, when={"translation": "peneloux fitted"}, at_once=True)
constants(
    "pair_constant pair_linear pair_square pair_critical pair_rows one_minus_kij kij_rows kij_sign kij_factor "
    "kij_first kij_second kij_value",
    interaction,
)
