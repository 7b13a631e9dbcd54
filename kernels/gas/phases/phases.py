"""Vapour and liquid in equilibrium (option phases = equilibrium): the state of a point, one phase or two, from T and p,
e, p or T and rho, or h or s and p, and its properties.

The state is handed on as vol, ln_kappa, eta and phases_status. A host keeps ln_kappa and eta of each point and gives
them to the next call, which then starts warm. Two phases at most; solids and third phases are not looked for.
"""

import numpy as np

from ..declare import collection, constants, exclusion, option, point_kernel, quantity
from ..equations.constants import _record, as_factors, low_rank
from ..equations.cubic import DELTA
from ..equations.derivatives import PAIRS
from ..equations.records import ROOTS, VolumeMap
from ..records import Constants, Report
from ..registry import registry
from ..species.interactions import note_of_unknown
from ..thermal.ideal_gas import NASA

option(
    "phases",
    {
        "single": "The mixture is one phase: a root of the equation of state.",
        "equilibrium": "The mixture is one phase or two, vapour and liquid in equilibrium: equal $T$, $p$ and "
        r"fugacities $f_i$ of each species. Stability: Michelsen 1982; split: Newton's method in $\ln K_i$, "
        r"$K_i = y_i/x_i$; of $e, \rho$; $h, p$; and $p, \rho$: Newton's method on the Helmholtz energy in "
        r"$\ln(v_i/l_i)$, the free volumes and $T$. "
        "Originals not seen.",
    },
    "one phase, or vapour and liquid in equilibrium",
    switch="",
)
option(
    "phases_check",
    {
        "off": "A split is taken as it was found.",
        "on": "Each phase of a split is tested for stability, too: `phases_status` is 3 where a third phase would "
        "lower the Gibbs energy. The two phases are kept.",
    },
    "whether the phases of a split are tested for a third; on in check mode",
    switch="phases_check",
    in_check_mode="on",
)
exclusion(
    lambda options: options["phases"] == "equilibrium" and options["equation"] not in ROOTS,
    "option phases = 'equilibrium' needs an equation of state with a cubic, one of " + ", ".join(ROOTS) + "; "
    "equation = '{equation}' came.",
)
exclusion(
    lambda options: options["phases"] == "equilibrium" and options["root"] != "gibbs",
    "option phases = 'equilibrium' chooses the root of each phase by its Gibbs energy: root = '{root}' came, wanted "
    "'gibbs'.",
)

for name, unit, what, *per in (
    ("beta", "1", "share of the vapour in the amount of substance; one phase: 1 where v/b is above critical, else 0"),
    ("beta_mass", "1", "share of the vapour in the mass"),
    ("beta_volume", "1", "share of the vapour in the volume"),
    ("rho_l", "kg/m3", "density of the liquid, the phase of higher density; one phase: rho"),
    ("rho_v", "kg/m3", "density of the vapour; one phase: rho"),
    ("Y_l", "1", "mass fractions in the liquid; one phase: Y", "ns"),
    ("Y_v", "1", "mass fractions in the vapour; one phase: Y", "ns"),
    ("phases_steps", "1", "evaluations of a phase that the state took; 1: one phase by an earlier test or by its T"),
    ("c_frozen", "m/s", "speed of sound at common T and p without transfer between the phases"),
    (
        "F_nn",
        "1/mol2",
        "second derivatives of the residual Helmholtz energy over RT in the amounts, of one mole as one phase",
        "ns*ns",
    ),
    ("c_wood", "m/s", "speed of sound with each phase on its own isentrope (Wood)"),
):
    quantity(name, unit, what, *per)
quantity(
    "phases_status",
    "1",
    "0: one phase, 1: two, 2: not found, results are NaN, 3: two where a third would lower the Gibbs energy "
    "(phases_check; always but from T and p; from a start where it is seen), 4: energy and density of three phases, "
    "results are NaN",
    reports=(
        Report(2, "no state of one or two phases was found: results are NaN"),
        Report(3, "a third phase would lower the Gibbs energy: results are those of the two", fails=False),
        Report(4, "energy and density are those of three phases, which are not computed: results are NaN"),
    ),
)
quantity(
    "ln_kappa",
    "1",
    "ln of the ratio of amounts of each species in the two phases of the iteration; with one phase 0, or what the last "
    "test of stability found. Kept by a host, start of the next call",
    "ns",
    carried=True,
)
quantity(
    "eta",
    "1",
    "ln of the ratio of the two phases' volumes above the least (b of a cubic); with one phase 0, or 1e4 and more: how "
    "far the last test of stability holds. Kept with ln_kappa",
    carried=True,
)

# ---- constants
OWN = "phase_b phase_Tc phase_ln_pc phase_wilson phase_ln_rest phase_ln_trace phase_hot phase_critical phase_one_root"
VECTORS = "phase_sign? phase_factor?"  # of k_ij: k_ij = sum_r sign_r factor_ri factor_rj
HEAVY_REST = 1e-3  # share of the other species in a trial phase that is rich in one
TRACE = 1e-12  # share of a trial phase, by Wilson's K, below which a species does not count
HOT = 1.02  # T/Tc of a species above which it has no part in two phases up to 30 MPa: 1.004 is the most of cubics
HOT_MAPPED = 0.2  # k_ij times that is added with equation mapped: 1.059 is the most for argon and dodecane, k_ij = 0.3
HOT_QUANTUM = 1.2  # with equation mapped beside H2, He or Ne: 1.169 is the most, for dodecane
QUANTUM = 50.0  # K: Tc of these
HOT_KIJ = 0.3  # k_ij up to which that was tried
NEVER = 1e9
VECTORS_ALWAYS = 3  # 1, b, sqrt(a); each eigenvector of k_ij is one more
SPECIES_A_VECTOR = 2.0  # least number of species for each vector: fewer are faster by their matrix
ONE_ROOT = 0.99  # of a/(b R T) of the critical isotherm: the rest is for roundings of Omega_a, Omega_b
GROWS_FROM = 0.42  # delta_1 from which a/(b R T) of the critical isotherm grows with it: its least is at 0.414


def phase_numbers(species, options) -> Constants:
    """Molar constants of the species for phase equilibrium: b, Wilson's ln K, critical volume in units of b.

    Raises MixtureError if a species lacks a field that the equation needs.
    """
    record = _record(species, options)
    critical = record.of_species(species)
    of = record.translation.of_species(species) if isinstance(record.translation, VolumeMap) else species
    omega = np.where(np.isfinite(species.omega), species.omega, 0.0)  # some equations do without

    values = {
        "phase_b": record.ab(species)[1],
        "phase_Tc": of.Tc,
        "phase_ln_pc": np.log(of.pc),
        "phase_wilson": 5.373 * (1 + omega),
        "phase_ln_rest": [np.log(HEAVY_REST / species.ns)],
        "phase_ln_trace": [np.log(TRACE)],
        "phase_hot": hot_ratio(of.Tc, species.kij, record.mapped) * of.Tc,
        "phase_critical": [np.mean(critical["Z_c"] / critical["omega_b"])],
        "phase_one_root": [_one_root(record, critical)],
    }
    if record.by_species:
        values["phase_delta"] = critical["delta_1"]

    uses_kij = options["mixing"] == "vdw"
    count = few_vectors(species, options, record)
    if count > VECTORS_ALWAYS:
        values["phase_sign"], values["phase_factor"] = as_factors(*low_rank(species.kij))
    notes = note_of_unknown(species.names, species.kij) if uses_kij else []
    return Constants(values, sizes={"PHASE_VECTORS": count}, notes=notes)


def few_vectors(species, options, record) -> int:
    """Number of vectors by which the equations of the amounts are solved (few_vectors.h), or 0: the matrix is written
    down. That serves few species, and k_ij of high rank."""
    has_vectors = options["mixing"] == "vdw" and not record.by_species and not record.mapped
    if not has_vectors or (options["equation"] == "rk" and species.rk_a is not None):
        return 0

    value, _ = low_rank(species.kij)
    count = VECTORS_ALWAYS + value.size
    return count if species.ns >= SPECIES_A_VECTOR * count else 0


def hot_ratio(Tc, kij, is_mapped: bool):
    """T/Tc of the species above which they have no part in two phases at pressures up to 30 MPa, whatever the others.
    Bounds by dense scans over the pairs of all fluids, of which the tests repeat some; NEVER beyond the k_ij tried.
    """
    if np.max(kij) > HOT_KIJ:
        return NEVER
    if not is_mapped:
        return HOT
    if len(Tc) > 1 and np.min(Tc) < QUANTUM:
        return HOT_QUANTUM
    return HOT + HOT_MAPPED * np.maximum(np.max(kij, axis=1), 0.0)


def _one_root(record, critical) -> float:
    """a/(b R T) of a mixture below which the equation has a single root at any p. 0 where no such bound is known: where
    species have a delta_1 each, below GROWS_FROM."""
    if record.by_species and np.min(critical["delta_1"]) < GROWS_FROM:
        return 0.0
    return ONE_ROOT * np.min(critical["omega_a"] / critical["omega_b"])


constants(f"{OWN} phase_delta phase_sign phase_factor", phase_numbers, when={"phases": "equilibrium"})

# ---- kernels
SUMS = " ".join(name for name in registry.kernels["cubic_mixture"].constants if name not in PAIRS.split())
STATE = "T p Y vol ln_kappa eta phases_status"
SINGLE = "its tolerances, 1e-8 in ln f, are below the rounding of single precision"
NEWTON = "Michelsen 1982, Rachford & Rice 1952 (originals not seen); Newton's method"


def kernel(name, reads, writes, source, **more):
    """A kernel of phases.h, for cubic equations and those that map their root."""
    point_kernel(
        name,
        header="gas/phases/phases.h",
        reads=reads,
        writes=writes,
        source=source,
        when={"equation": ROOTS},
        phases="equilibrium",
        sweeps="states",
        alone=True,
        double_only=SINGLE,
        constants=f"{PAIRS} {SUMS} {DELTA} {NASA} h_mid? W inv_p_ref {OWN} {VECTORS} phase_delta? map_numbers? "
        "map_tiles?",
        **{"valid": "two phases at most, T of 50 to 2000 K, p > 0", **more},
    )


COUNTED = "phases_status phases_steps"
FOUND = f"ln_kappa eta {COUNTED}"
kernel("equilibrium_T_p", "T p Y", f"vol {FOUND}", NEWTON)
kernel("equilibrium_T_p_warm", "T p Y ln_kappa eta", f"ln_kappa eta vol {COUNTED}", NEWTON, kinds="eta", short=2)
kernel("equilibrium_rho_T", "rho T Y", f"p vol {FOUND}", NEWTON, given="rho T")
kernel("equilibrium_rho_T_warm", "rho T Y ln_kappa eta", f"ln_kappa eta p vol {COUNTED}", NEWTON, kinds="eta")
for given, state in (("e rho", "T p"), ("h p", "T"), ("s p", "T"), ("p rho", "T")):
    name, made = given.replace(" ", "_"), f"{state} vol unconverged"  # of the kernels; what they make beside FOUND
    alone = given if given == "p rho" else given.split()[0]  # p may come with other states
    kernel(f"equilibrium_{name}", f"{given} Y", f"{made} {FOUND}", NEWTON, given=alone)
    kernel(
        f"equilibrium_{name}_start",
        f"{given} Y T_start",
        f"{made} {FOUND}",
        NEWTON,
        given=f"{alone} T_start",
    )
    kernel(
        f"equilibrium_{name}_warm",
        f"{given} Y T_start ln_kappa eta",
        f"ln_kappa eta {made} {COUNTED}",
        NEWTON,
        kinds="eta",
        short=2 if given == "e rho" else 0,
    )
kernel("equilibrium_amounts", STATE, "beta beta_mass beta_volume rho_l rho_v", "definitions")
kernel("equilibrium_compositions", STATE, "Y_l Y_v", "definitions")
kernel(
    "equilibrium_thermal",
    STATE,
    "Z rho h s cp cv gamma c c_frozen c_wood p_T p_v v_p rho_p rho_T h_p h_T e_p e_T",
    "the phases' Helmholtz energies, differentiated at constant composition of the whole; c: phases in equilibrium",
    short=2,
)
kernel("equilibrium_phase_flag", STATE, "phase_flag", "definition, 4: two phases")
kernel(
    "equilibrium_partial_properties",
    STATE,
    "v_Y h_Y e_Y",
    "the phases' Helmholtz energies, differentiated in the masses of the whole",
)
kernel("equilibrium_fugacity", STATE, "ln_phi", "definition, ln(f_k/(X_k p)), the same in both phases")

kernel(
    "equilibrium_curvature",
    "T rho Y",
    "F_nn",
    "Heidemann & Khalil 1980 (original not seen): their zero is a critical point",
    valid="1/rho > b",
)

# ---- collections
RESULTS = "beta beta_mass beta_volume rho_l rho_v Y_l Y_v phases_status phases_steps ln_kappa eta"
collection(
    "phases_from_T_p",
    given="T p Y",
    outputs=RESULTS,
    optional="ln_kappa eta",
    what="vapour and liquid in equilibrium at T and p",
)
collection(
    "phases_from_e_rho",
    given="e rho Y",
    outputs=f"T p {RESULTS}",
    optional="T_start ln_kappa eta",
    what="the same from internal energy and density",
)
collection(
    "phases_from_h_p",
    given="h p Y",
    outputs=f"T {RESULTS}",
    optional="T_start ln_kappa eta",
    what="the same from enthalpy and pressure",
)
collection(
    "phases_from_s_p",
    given="s p Y",
    outputs=f"T {RESULTS}",
    optional="T_start ln_kappa eta",
    what="the same from entropy and pressure",
)
collection(
    "phases_from_p_rho",
    given="p rho Y",
    outputs=f"T {RESULTS}",
    optional="T_start ln_kappa eta",
    what="the same from pressure and density",
)
collection(
    "phases_from_rho_T",
    given="rho T Y",
    outputs=f"p {RESULTS}",
    optional="ln_kappa eta",
    what="the same from density and temperature",
)
