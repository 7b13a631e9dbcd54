"""Cubic equation of state of a mixture, any of records.py: one-fluid rules, every derivative analytic.

Everything is per kg. Volume translation (option translation) shifts v by a constant of the composition: Z, vol, rho, h,
rho_p, rho_T, h_p and c follow it; e, s, cp, cv and the choice of the root do not change.
"""

import pathlib

import numpy as np

from ...declare import Constants, constants as provided, exclusion, option, point_kernel, quantity
from ...errors import MixtureError
from ...species import GAS_CONSTANT as R
from .records import BY_SPECIES, CUBICS, FAMILY

HERE = pathlib.Path(__file__).parent

quantity("a_mix", "Pa m6/kg2", "attraction parameter a(T) of the mixture")
quantity("a_T", "Pa m6/kg2/K", "first temperature derivative of a_mix")
quantity("a_TT", "Pa m6/kg2/K2", "second temperature derivative of a_mix")
quantity("b_mix", "m3/kg", "covolume of the mixture")
quantity(
    "shift_mix",
    "m3/kg",
    "volume translation of the mixture: v of the equation of state less this is the specific volume; 0 without",
)
quantity("Z", "1", "compressibility factor p vol/(R_s T)")
quantity("vol", "m3/kg", "specific volume")
quantity("v_free", "m3/kg", "free volume v - b of the equation of state, before translation")
quantity("inv_free", "kg/m3", "1/v_free")
quantity("inv_D", "kg2/m6", "1/D, D = (v + delta1 b)(v + delta2 b)")
quantity(
    "inv_centred", "kg/m3", "1/(v + (delta1 + delta2) b/2), v before translation: halfway between the poles of 1/D"
)
quantity("v_mol", "m3/mol", "molar volume")
quantity("rho", "kg/m3", "density")
quantity("p_v_attractive", "Pa kg/m3", "part of p_v that a_mix brings")
quantity("p_v_repulsive", "Pa kg/m3", "part of p_v that b_mix brings, and the ideal gas")
quantity("p_v", "Pa kg/m3", "dp/dv at constant T, Y; specific volume")
quantity("p_T", "Pa/K", "dp/dT at constant specific volume, Y")
quantity("v_p", "m3/kg/Pa", "dv/dp at constant T, Y; 1/p_v")
quantity("cubic_L", "kg/m3", "integral of dv/D from v to infinity")
quantity("e", "J/kg", "internal energy")
quantity("s", "J/kg/K", "entropy")
quantity("cv", "J/kg/K", "heat capacity at constant volume")
quantity("cp", "J/kg/K", "heat capacity at constant pressure")
quantity("gamma", "1", "cp/cv")
quantity("rho_p", "kg/m3/Pa", "d rho/dp at constant T, Y")
quantity("rho_T", "kg/m3/K", "d rho/dT at constant p, Y")
quantity("h_p", "J/kg/Pa", "dh/dp at constant T, Y")
quantity("h_T", "J/kg/K", "dh/dT at constant p, Y")
quantity("c", "m/s", "speed of sound")
quantity(
    "phase_flag",
    "1",
    "0: the only root v > b; of several 1: the smallest (a liquid), 2: the largest (a vapour); 3: unstable, dp/dv >= 0",
)
quantity("Tc_mix", "K", "pseudo-critical temperature")
quantity("pc_mix", "Pa", "pseudo-critical pressure")
quantity("vc_mix", "m3/mol", "pseudo-critical molar volume")

quantity("delta_mix", "1", "delta_1 of the mixture, where it is one of each species")

CUBIC = "the equation's own (records.py; originals not seen)"
KIJ = "one_minus_kij? kij_factor? kij_sign? kij_first? kij_second? kij_value?"
DELTA = "delta_numbers?"
ALPHA = "g_mass? q_mass? alpha_numbers?"
PAIRS = f"b_mass {ALPHA} shift_mass? pair_constant? pair_linear? pair_square? {KIJ}"


def shared(name, reads, writes, source, valid, **more):
    """What holds for every equation of state."""
    point_kernel(name, header=HERE / "cubic.h", reads=reads, writes=writes, source=source, valid=valid, packs=4, **more)


def kernel(name, reads, writes, source, valid, **more):
    shared(name, reads, writes, source, valid, when={"equation": FAMILY}, **more)


kernel(
    "cubic_mixture",
    "T Y",
    "a_mix a_T a_TT b_mix shift_mix",
    CUBIC + "; mixing by pseudo-critical pairs: Miller, Harstad & Bellan 2001 (original not seen)",
    "T > 0",
    constants=PAIRS,
    note="pr, srk: sqrt(alpha_i alpha_j) = |f_i||f_j|: f_i changes sign at T = Tc (1 + 1/kappa)^2, 1388 K for N2",
)
point_kernel(
    "cubic_delta",
    header=HERE / "cubic.h",
    packs=4,
    reads="Y",
    writes="delta_mix",
    source="Cismondi & Mollerup 2005 (original not seen), delta_1 = sum(X_i delta_1i)",
    valid="everywhere",
    constants="delta_numbers",
    when={"equation": BY_SPECIES},
)
shared(
    "critical_state",
    "Y R_s delta_mix?",
    "Tc_mix pc_mix vc_mix",
    CUBIC + ", inverted for a mixture with alpha = 1",
    "everywhere",
    constants=f"b_mass root_ac_mass? pair_critical? omega_a? omega_b? omega_vc? {KIJ}",
    note="a pseudo-critical point, not the mixture's true one; of an ideal gas Peng-Robinson's",
)
kernel(
    "cubic_root",
    "T p R_s a_mix b_mix shift_mix delta_mix?",
    "Z vol v_free",
    CUBIC + ", cubic in p (v - b)/(R T)",
    "T > 0, p > 0",
    alone=True,
    note="of three roots v > b the one of lower residual Gibbs energy, or as option root says",
)
kernel(
    "cubic_reciprocals",
    "b_mix v_free vol delta_mix?",
    "rho inv_free inv_D inv_centred",
    "definitions; rho = 1/vol",
    "v > b",
)
shared("molar_volume", "W vol", "v_mol", "definition, W vol", "everywhere")
kernel(
    "cubic_pressure_slopes",
    "T R_s a_mix a_T b_mix v_free inv_free inv_D delta_mix?",
    "p_v_attractive p_v_repulsive p_v p_T v_p",
    CUBIC + ", differentiated",
    "v > b",
)
kernel(
    "cubic_phase_flag",
    "T p R_s a_mix b_mix v_free p_v delta_mix?",
    "phase_flag",
    CUBIC + ", roots counted by the discriminant",
    "v > b",
    note="of T and p the root that the option root takes, which is stable; of rho and T also what lies inside the "
    "spinodal",
)
kernel("cubic_departure", "b_mix inv_centred delta_mix?", "cubic_L", CUBIC + ", departure integral", "v > b")
kernel("cubic_enthalpy", "T R_s h_ig Z a_mix a_T cubic_L", "h", CUBIC + ", departure function", "v > b")
kernel("cubic_entropy", "T p R_s s_ig v_free a_T cubic_L", "s", CUBIC + ", departure function", "v > b")
kernel("cubic_cv", "T R_s cp_ig a_TT cubic_L", "cv", CUBIC + ", departure function", "v > b")
kernel("heat_capacity_p", "T cv p_T v_p", "cp", "cp - cv = -T p_T^2/p_v", "p_v < 0")
shared(
    "heat_capacity_ratio", "cp cv p_v vol", "gamma c", "cp/cv; c^2 = gamma dp/d rho at constant T, Y", "cv > 0, p_v < 0"
)
shared("density_slopes", "rho p_T v_p", "rho_p rho_T", "implicit differentiation of p(T, v)", "p_v < 0")
kernel(
    "enthalpy_slopes",
    "T a_T b_mix shift_mix v_free inv_D p_v_attractive p_v_repulsive v_p cp",
    "h_p h_T",
    "h_p = v - T v_T, h_T = cp",
    "p_v < 0",
)
shared("internal_energy", "p vol h", "e", "definition, h - p vol", "everywhere")


# ---- constants


option("root", "gibbs vapour liquid largest", "which of three roots; vapour and largest are the same rule")
option("translation", "none peneloux fitted", "volume translation", switch="translated")
option("alpha", "pr78 cantera", "alpha(T) of Peng-Robinson above omega 0.491")
option("mixing", "vdw pseudocritical", "a of a pair of species: by k_ij, or from the pair's own critical point")


def _record(options):
    return CUBICS.get(options["equation"])


exclusion(
    lambda o: o["translation"] != "none" and not (_record(o) and _record(o).translation),
    "option translation = '{translation}' shifts the volume of a cubic equation that has one; with equation = "
    "'{equation}' wanted 'none'.",
)
exclusion(
    lambda o: o["mixing"] != "vdw" and not (_record(o) and _record(o).soave),
    "option mixing = '{mixing}' is a rule for a of a cubic equation with Soave's alpha; with equation = '{equation}' "
    "wanted 'vdw'.",
)
exclusion(
    lambda o: o["alpha"] != "pr78" and not (_record(o) and _record(o).soave and o["alpha"] in _record(o).alpha.others),
    "option alpha = '{alpha}' is Cantera's Peng-Robinson; with equation = '{equation}' wanted 'pr78'.",
)


def alpha_slope(omega, which: str, equation: str):
    """kappa_i(omega) of an equation with Soave's alpha; NaN of any other, whose sqrt(alpha) has no zero."""
    record = CUBICS[equation]
    return record.alpha.slope(omega, which) if record.soave else np.full(np.shape(omega), np.nan)


def kij_structure(kij: np.ndarray):
    """How to sum with k_ij at least cost: (kind, rank, number of pairs, eigenvalues, factors). Costs in FMA a point."""
    ns = len(kij)
    first, second = np.nonzero(np.tril(kij, -1))
    if not first.size:
        return "none", 0, 0, None, (first, second)
    value, vector = np.linalg.eigh(kij)
    keep = np.abs(value) > 1e-13 * np.abs(value).max()
    cost = {"dense": ns * (ns - 1), "lowrank": (2 * ns + 6) * int(keep.sum()), "sparse": 16 * first.size}
    kind = min(cost, key=cost.get)
    return kind, int(keep.sum()), first.size, (value[keep], vector[:, keep]), (first, second)


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


def shape(record):
    """delta_1 + delta_2 and delta_1 delta_2, the coefficients of D; rounding that square roots leave is cleared."""
    return round(record.delta_1 + record.delta_2, 15), round(record.delta_1 * record.delta_2, 15)


def constants(species, options) -> Constants:
    """Of the cubic equation that option `equation` names; of an ideal gas, Peng-Robinson's for the pseudo-critical
    state alone. a [Pa m6/mol2] and b [m3/mol] per mass of the species. Raises MixtureError where Tc, pc, omega or a
    measured critical volume are missing that the equation needs."""
    record = CUBICS.get(options["equation"], CUBICS["pr"])
    for field in record.needs:
        if np.isnan(getattr(species, field)).any():
            lacking = ", ".join(np.array(species.names)[np.isnan(getattr(species, field))])
            raise MixtureError(f"species {lacking} without critical properties ({field})")
    of, (a, b), made = record.of_species(species), record.ab(species), Constants()
    made.values["b_mass"] = b / species.W
    if record.by_species:
        made.values["delta_numbers"] = np.stack([of["delta_1"] / species.W, 1 / species.W])
    else:
        made.values |= dict(omega_a=[of["omega_a"]], omega_b=[of["omega_b"]], omega_vc=[of["Z_c"]])
        made.numbers |= dict(delta_1=record.delta_1, delta_2=record.delta_2)
        made.numbers |= dict(zip(("delta_sum", "delta_product"), shape(record)))
    if options["translation"] != "none":
        made.values["shift_mass"] = _shift(record, species, options, a, b, made.notes) / species.W
    pairs = None
    if options["mixing"] == "pseudocritical":
        pairs = _pseudocritical(record, species, options, made.notes)
    elif record.name == "rk" and species.rk_a is not None:
        pairs = _of_a_phase(species)
    if pairs:
        kind, names = "pairs", ("pair_constant", "pair_linear", "pair_square", "pair_critical")
        made.pairs |= dict(zip(names, pairs))
        made.values["pair_rows"] = np.stack(pairs[:3])
    else:
        kind = _half_sums(record, species, options, np.sqrt(a), made)
    made.sizes |= {f"kij_{known}": kind == known for known in ("none", "sparse", "lowrank", "dense")}
    made.sizes |= dict(deltas_by_species=record.by_species, alpha_general=not record.soave, by_pairs=kind == "pairs")
    return made


def _half_sums(record, species, options, root_ac, made) -> str:
    """a of sqrt(a_i) and k_ij: constants of each species and of the structure of k_ij, whose name is returned."""
    made.values["root_ac_mass"] = root_ac / species.W
    if record.soave:
        kappa = record.alpha.slope(species.omega, options["alpha"])
        made.values["g_mass"] = np.where(kappa < 0, -1, 1) * (1 + kappa) * root_ac / species.W
        made.values["q_mass"] = root_ac * np.abs(kappa) / np.sqrt(species.Tc) / species.W
    else:
        rows = [root_ac / species.W, *(make(species) for make in record.alpha.constants.values())]
        made.values["alpha_numbers"] = np.stack(rows)
        made.members = _root_attraction(record.alpha)
    kind, rank, pairs, eigen, (first, second) = kij_structure(species.kij)
    if kind == "dense":
        made.pairs["one_minus_kij"] = 1 - species.kij
    if kind in ("dense", "sparse"):
        made.values["kij_rows"] = 1 - species.kij
    if kind == "lowrank":
        made.sizes["KIJ_RANK"] = rank
        made.values["kij_sign"] = np.sign(eigen[0])
        made.values["kij_factor"] = (eigen[1] * np.sqrt(np.abs(eigen[0]))).T
    if kind == "sparse":
        made.sizes["KIJ_PAIRS"] = pairs
        made.values |= dict(kij_first=first, kij_second=second, kij_value=species.kij[first, second])
    return kind


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


def _shift(record, species, options, a, b, notes):
    """Peneloux's c [m3/mol] of each species: as given, else by correlation; `fitted`: so that v of the equation less c
    is the volume of the measured liquid, where one is given."""
    Z_RA = 0.29056 - 0.08775 * species.omega  # Yamada & Gunn 1973 (original not seen)
    unknown, own = ~np.isfinite(species.volume_translation), record.translation
    shift = np.where(unknown, own.slope * (own.zero - Z_RA) * R * species.Tc / species.pc, species.volume_translation)
    if options["translation"] == "fitted":
        kappa = record.alpha.slope(species.omega, options["alpha"])
        measured = np.isfinite(species.liquid).all(1)
        for s in np.flatnonzero(measured):
            T, p, rho = species.liquid[s]
            alpha = (1 + kappa[s] * (1 - np.sqrt(T / species.Tc[s]))) ** 2
            volume = liquid_volume(record, a[s] * alpha, b[s], T, p)
            if volume > 3 * b[s]:  # 3.9 b at the critical point
                raise MixtureError(
                    f"species {species.names[s]!r}: the equation of state has no liquid at {T:g} K, {p:g} Pa, where "
                    "liquid-density is given."
                )
            shift[s] = volume - species.W[s] / rho
        unknown &= ~measured
        notes.append(f"volume translation fitted to a liquid density of {_named(species, measured)}.")
    if unknown.any():
        notes.append(f"no volume translation given for {_named(species, unknown)}: by correlation from Tc, pc, omega.")
    return shift


def _named(species, mask):
    return ", ".join(n for n, there in zip(species.names, mask) if there) or "no species"


def _pseudocritical(record, species, options, notes):
    """a_ij(T) = (g_ij - q_ij sqrt(T))^2 of each pair's own Tc, pc, omega (Miller, Harstad & Bellan 2001; original not
    seen): the coefficients of 1, -2 sqrt(T), T, and a_ij at alpha = 1; (ns, ns), per mass of both."""
    Vc = np.where(np.isfinite(species.Vc), species.Vc, CUBICS["pr"].Z_c * R * species.Tc / species.pc)
    root, Zc = np.cbrt(Vc), species.pc * Vc / (R * species.Tc)
    Tc = np.sqrt(species.Tc[:, None] * species.Tc) * (1 - species.kij)
    pc = 0.5 * (Zc[:, None] + Zc) * R * Tc / ((root[:, None] + root) ** 3 / 8)
    kappa = record.alpha.slope(0.5 * (species.omega[:, None] + species.omega), options["alpha"])
    critical = record.omega_a * (R * Tc) ** 2 / pc / (species.W[:, None] * species.W)
    g, q = 1 + kappa, kappa / np.sqrt(Tc)
    notes.append(
        "a of every pair from its own Tc, pc, omega; k_ij stands in the pair's Tc, sqrt(Tc_i Tc_j) (1 - k_ij)."
    )
    return critical * g * g, critical * g * q, critical * q * q, critical


def _of_a_phase(species):
    """a_ij(T) = (a0_ij + a1_ij T)/sqrt(T) of a Redlich-Kwong phase that gives its own: a0, nothing, a1, and a_ij at
    sqrt(Tc_i Tc_j); (ns, ns), per mass of both."""
    a0, a1 = species.rk_a / (species.W[:, None] * species.W)
    Tc = np.sqrt(species.Tc[:, None] * species.Tc)
    return a0, np.zeros_like(a0), a1, (a0 + a1 * Tc) / np.sqrt(Tc)


provided(
    "b_mass delta_numbers omega_a omega_b omega_vc shift_mass root_ac_mass g_mass q_mass alpha_numbers pair_constant "
    "pair_linear pair_square pair_critical pair_rows one_minus_kij kij_rows kij_sign kij_factor kij_first kij_second "
    "kij_value",
    constants,
)
