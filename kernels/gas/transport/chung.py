"""Chung's dense-gas viscosity and conductivity."""

import functools

import numpy as np

from ..declare import constants, option, point_kernel, quantity
from ..few_squares import Form
from ..records import Constants
from ..species import OMEGA_VC

option(
    "viscosity",
    {
        "chung": r"$\mu = 26.69\,F_c \sqrt{M T}/(\sigma^2\,\Omega_v)$ in micropoise at low pressure, times "
        r"$1/G_2 + E_6\,y$ and plus $36.344\,\sqrt{M T_c}\,V_c^{-2/3}\,E_7\,y^2 G_2 "
        r"e^{E_8 + E_9/T^* + E_{10}/T^{*2}}$ for the dense fluid, $y = V_c/(6 v)$; the conductivity alike. Chung, "
        "Ajlan, Lee & Starling 1988 as in Poling, Prausnitz & O'Connell, 5th ed., 9-6.18 to 9-6.23 and 10-5.5 to "
        "10-5.8; original not seen."
    },
    "viscosity; the laws of dilute gases also give the conductivity",
)
option(
    "chung",
    {
        "polefree": r"As published, but in $E_1 \ldots E_{10}$ with $\omega' = \max(\omega, 0)$, $\kappa' = 0$, "
        r"$\mu_r$ below the pole of $E_1 E_4 + E_2 + E_3 = 0$, and $E_2 \ge 0$, $B_7 \ge 0$: positive everywhere.",
        "published": r"The coefficients as printed. $\mu$ passes through infinity where $E_1 E_4 + E_2 + E_3$ or $G_2$ "
        r"passes through 0: in O2/H2 between $x_{\mathrm{H_2}} = 0.34$ and $0.40$.",
        "cantera": r"As published, with Cantera's $E_6$ and $B_1$, and the real gas's $c_v$ in the conductivity.",
    },
    "Chung's rules: without poles in composition, as published, as in Cantera",
)

# Name, unit, meaning. Chung's method works in angstrom, g/mol and K; only mu, lam, eta0 and fill_m are in SI.
for name, unit, meaning in (
    ("mu", "Pa s", "viscosity"),
    ("lam", "W/m/K", "thermal conductivity"),
    ("sigma_m", "A", "Chung's collision diameter of the mixture (angstrom)"),
    ("eps_m", "K", "Chung's well depth over k of the mixture"),
    ("omega_m", "1", "acentric factor of the mixture, Chung's rule"),
    ("M_m", "g/mol", "Chung's pseudo molar mass (g/mol)"),
    ("mu_r4", "1", "reduced dipole moment to the fourth"),
    ("kappa_m", "1", "association factor of the mixture"),
    ("inv_eps_m", "1/K", "1/eps_m"),
    ("inv_M_m", "mol/g", "1/M_m"),
    ("scale_m", "(g/mol)^(1/2)/A2", "sqrt(M_m)/sigma_m^2"),
    (
        "unit_m",
        "(g K/mol)^(1/2)/A2",
        "sqrt(M_m eps_m)/sigma_m^2, to which the dense part of the viscosity is proportional",
    ),
    ("fill_m", "m3/kg", "Chung's y divided by the density: a sixth of the critical volume, per mass"),
    ("T_star", "1", "reduced temperature T/eps_m"),
    ("inv_T_star", "1", "eps_m/T"),
    ("root_m", "(g K/mol)^(1/2)/A2", "sqrt(M_m T)/sigma_m^2"),
    ("eta0", "Pa s", "low-pressure viscosity"),
    ("fill", "1", "Chung's y = rho_mol Vc_m/6"),
    ("gap3", "1", "(1 - y)^3"),
):
    quantity(name, unit, meaning)

POLING = "Chung et al. 1988 in Poling, Prausnitz & O'Connell 5th ed., "
NOT_SEEN = " (equation numbers as cited by other codes; original not seen)"
POLAR = "omega_m mu_r4 kappa_m"  # the three parameters of the coefficients E_i and B_i
DENSE = " eta0 fill gap3"  # low-pressure viscosity, y, (1 - y)^3
VALID = "rho Vc/6 < 1, 0.3 <= T_star <= 100; chung published and cantera: where the result is positive"
# Options with which Chung's conductivity is used. The viscosity laws of dilute gases bring a conductivity of their own.
CONDUCTIVITY = {"viscosity": "chung lucas"}

kernel = functools.partial(point_kernel, header="gas/transport/chung.h", packs=4)

kernel(
    "chung_mixture",
    reads="Y W",
    writes="sigma_m eps_m omega_m M_m mu_r4 kappa_m inv_eps_m inv_M_m scale_m unit_m fill_m",
    constants="chung_rows chung_pair? chung_squares?",
    source=POLING + "9-5.25 to 9-5.44" + NOT_SEEN,
    valid="everywhere",
    when=CONDUCTIVITY,
)
kernel(
    "chung_dilute",
    reads="T eps_m omega_m mu_r4 kappa_m inv_eps_m scale_m",
    writes="T_star inv_T_star root_m eta0",
    source=POLING + "9-4.3, 9-4.10, 9-4.11" + NOT_SEEN,
    valid="0.3 <= T_star <= 100 (fit of the collision integral)",
    when=CONDUCTIVITY,
)
kernel(
    "chung_density",
    reads="rho fill_m",
    writes="fill gap3",
    source=POLING + "9-6.20" + NOT_SEEN,
    valid="rho Vc/6 < 1",
    when=CONDUCTIVITY,
)
kernel(
    "chung_viscosity",
    reads=POLAR + " unit_m inv_T_star" + DENSE,
    writes="mu",
    source=POLING + "9-6.18 to 9-6.23, Table 9-6" + NOT_SEEN,
    valid=VALID,
    when={"viscosity": "chung"},
    note="the published form has poles in composition space (E1 E4 + E2 + E3 = 0); the default bounds omega, mu_r4, "
    "kappa in E_i only and has no poles; it also takes E_2 >= 0: otherwise mu <= 0 in cold water. The other forms are "
    "negative on one side of their poles, and there outside their validity",
)
kernel(
    "chung_conductivity",
    reads="W cp_ig " + POLAR + " T_star inv_M_m root_m" + DENSE,
    writes="lam",
    source=POLING + "10-5.5 to 10-5.8, Table 10-3" + NOT_SEEN,
    valid=VALID,
    when={"chung": "polefree published"} | CONDUCTIVITY,
    note="the default takes B_7 >= 0: otherwise lam <= 0 in cold mixtures of hydrogen and water",
)
kernel(
    "chung_conductivity_cantera",
    reads="W cv " + POLAR + " T_star inv_M_m root_m" + DENSE,
    writes="lam",
    source="Cantera 3.2 high-pressure-Chung, with its departures from the book",
    valid=VALID,
    when={"chung": "cantera"} | CONDUCTIVITY,
)

# {value of option `chung`: note for readers of results}
NOTES = {
    "polefree": "Chung without composition poles (omega, dipole, association bounded in E_1..E_10), positive "
    "(E_2, B_7 >= 0).",
    "published": "Chung viscosity as published: it has poles in composition space (E1 E4 + E2 + E3 = 0).",
    "cantera": "Chung viscosity as in Cantera: it has poles in composition space.",
}


def volumes(species, options):
    """Critical volumes and association factors that the chosen form of Chung's rules uses.

    Returns (Vc [m3/mol] (ns,), association factors (ns,), notes). Option chung = cantera: Vc = 0.3074 R Tc/pc and no
    association, as Cantera 3.2 computes them.
    """
    if options["chung"] == "cantera":
        Vc = OMEGA_VC * species.R * species.Tc / species.pc
        no_association = np.zeros(species.ns)
        return Vc, no_association, ["Chung as in Cantera 3.2: Vc = 0.3074 R Tc/pc for all species, no association."]

    Vc, notes = species.critical_volumes()
    return Vc, species.kappa_assoc, notes


def chung(species, options) -> Constants:
    """Parameters of Chung's mixing rules: rows (5, ns), and the form of a matrix over pairs (ns, ns).

    They are divided by the molar masses, so that the kernels sum over mass fractions. Raises MixtureError if a species
    has no critical properties.
    """
    species.refuse_without_critical()
    Vc, association, notes = volumes(species, options)

    # Pure species: sigma [A] from Vc in cm3/mol, eps/k [K].
    W = species.W
    sigma = 0.809 * np.cbrt(Vc * 1e6)
    eps = species.Tc / 1.2593
    dipole = np.nan_to_num(species.dipole)

    # Pairs: eps_ij sigma_ij^2 sqrt(M_ij)/(W_i W_j), with geometric means and M_ij = 2 M_i M_j/(M_i + M_j) in g/mol.
    M = W * 1e3
    root_M_ij = np.sqrt(2 * M[:, None] * M / (M[:, None] + M))
    share = np.sqrt(eps) * sigma / W

    form = Form.of("chung", root_M_ij * share[:, None] * share)

    rows = [
        sigma**1.5,
        np.sqrt(eps) * sigma**1.5,
        species.omega * sigma**1.5,
        dipole**2 / sigma**1.5,
        np.sqrt(association),
    ]
    return Constants(
        pairs=form.pairs,
        rows={"chung_rows": np.stack(rows) / W, **form.rows},
        sizes=form.sizes,
        notes=[*notes, NOTES[options["chung"]]],
    )


constants("chung_rows chung_pair chung_squares", chung, when=CONDUCTIVITY)
