"""Chung's dense-gas viscosity and conductivity."""
from ..declare import point_kernel, quantity

quantity("mu", "Pa s", "viscosity")
quantity("lam", "W/m/K", "thermal conductivity")
quantity("sigma_m", "A", "Chung's collision diameter of the mixture (angstrom)")
quantity("eps_m", "K", "Chung's well depth over k of the mixture")
quantity("omega_m", "1", "acentric factor of the mixture, Chung's rule")
quantity("M_m", "g/mol", "Chung's pseudo molar mass (g/mol)")
quantity("mu_r4", "1", "reduced dipole moment to the fourth")
quantity("kappa_m", "1", "association factor of the mixture")
quantity("T_star", "1", "reduced temperature T/eps_m")
quantity("Omega_v", "1", "viscosity collision integral")
quantity("Fc", "1", "Chung's low-pressure factor")
quantity("eta0", "Pa s", "low-pressure viscosity")

POLING = "Chung et al. 1988 in Poling, Prausnitz & O'Connell 5th ed., "
MIXTURE = "sigma_m eps_m omega_m M_m mu_r4 kappa_m"
NOT_SEEN = " (equation numbers as cited by other codes; original not seen)"

point_kernel("chung_mixture", header="chung.h", reads="Y W", writes=MIXTURE,
             constants="chung_sigma15 chung_eps chung_omega chung_dipole chung_kappa chung_eps_sigma chung_root_M chung_half_root_M_diagonal",
             source=POLING + "9-5.25 to 9-5.44" + NOT_SEEN, valid="everywhere")
point_kernel("chung_dilute", header="chung.h", reads="T " + MIXTURE, writes="T_star Omega_v Fc eta0",
             source=POLING + "9-4.3, 9-4.10, 9-4.11" + NOT_SEEN, valid="0.3 <= T_star <= 100 (fit of the collision integral)")
point_kernel("chung_viscosity", header="chung.h", reads="rho W " + MIXTURE + " T_star Omega_v Fc", writes="mu",
             source=POLING + "9-6.18 to 9-6.23, Table 9-6" + NOT_SEEN, valid="rho Vc/6 < 1",
             note="published form has poles in composition space (E1 E4 + E2 + E3 = 0); the default bounds omega, mu_r4, kappa in E_i only and has none")
point_kernel("chung_conductivity", header="chung.h", reads="rho W cp_ig " + MIXTURE + " T_star eta0", writes="lam",
             source=POLING + "10-5.5 to 10-5.8, Table 10-3" + NOT_SEEN, valid="rho Vc/6 < 1", when={"chung": "polefree published"})
point_kernel("chung_conductivity_cantera", header="chung.h", reads="rho W cv " + MIXTURE + " T_star eta0", writes="lam",
             source="Cantera 3.2 high-pressure-Chung, with its departures from the book", valid="rho Vc/6 < 1", when={"chung": "cantera"})
