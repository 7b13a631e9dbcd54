"""Lucas' viscosity (option viscosity = lucas)."""

import numpy as np

from ..declare import constants, option, point_kernel
from ..records import Constants
from . import chung

# Q of the quantum gases, by name in capital letters.
QUANTUM = {"HE": 1.38, "H2": 0.76, "D2": 0.52}

option(
    "viscosity",
    {
        "lucas": r"Gases at any pressure: $\mu\,\xi = Z_2\,F_P\,F_Q$ with $Z_2$ of $T_r$, $p_r$ and the low-pressure "
        r"$\mu\,\xi$; critical state of the mixture by mole fractions. Liquids give NaN. Lucas 1980 as in Poling, "
        "Prausnitz & O'Connell, 5th ed., 9-4.15 to 9-4.18 and 9-6.3 to 9-6.16; original not seen."
    },
)

point_kernel(
    "lucas_viscosity",
    header="gas/transport/lucas.h",
    reads="T p Y W",
    writes="mu",
    constants="inv_W lucas_Tc lucas_Zc lucas_Vc lucas_omega lucas_polar lucas_polar_warm lucas_tenth_over_Tc "
    "lucas_quantum lucas_heaviest",
    source="Lucas 1980 in Poling, Prausnitz & O'Connell 5th ed., 9-4.15 to 9-4.18, 9-5.17 to 9-5.23, 9-6.3 to 9-6.16 "
    "(as in several codes; original not seen); vapour pressure: Lee & Kesler 1975",
    valid="gas: T_r > 1, or p below the vapour pressure; P_r <= 100",
    when={"viscosity": "lucas"},
    note="liquids give NaN; above T_r = 40 the pressure correction is that of 40. As published it has steps: at T_r = "
    "1; and, if the heaviest species weighs more than 9 times the lightest, where its "
    "mole fraction crosses 0.05 and 0.7",
)


def lucas(species, options) -> Constants:
    """Critical state, polar correction and quantum correction of each species, for `lucas_viscosity`.

    Raises MixtureError if a species has no critical properties.
    """
    species.refuse_without_critical()
    Tc, pc, W = species.Tc, species.pc, species.W
    Vc, *_ = chung.volumes(species, options)
    Zc = pc * Vc / (species.R * Tc)

    # Polar correction F_P - 1, from the reduced dipole moment mu_r (pc in bar).
    mu_r = 52.46 * np.nan_to_num(species.dipole) ** 2 * (pc * 1e-5) / Tc**2
    departure = 30.55 * np.maximum(0.292 - Zc, 0) ** 1.72

    # Quantum correction. A row: species, 1/Tc [1/K], 1/M [mol/g], 1.22 Q^0.15.
    quantum = [s for s, name in enumerate(species.names) if name.upper() in QUANTUM]
    factors: list = []
    for s in quantum:
        Q = QUANTUM[species.names[s].upper()]
        factors.append((s, 1 / Tc[s], 1e-3 / W[s], 1.22 * Q**0.15))

    # Factor A of F_Q in mixtures of very different molar masses. The kernel asks for the mole fraction.
    heaviest = np.argmax(W)
    ratio = W.max() / W.min()
    factor_A = 1 - 0.01 * ratio**0.87 if ratio > 9 else 1.0

    values = dict(
        lucas_Tc=Tc,
        lucas_Zc=Zc,
        lucas_Vc=Vc,
        lucas_omega=species.omega,
        lucas_tenth_over_Tc=0.1 / Tc,
        lucas_polar=np.where((mu_r >= 0.022) & (mu_r < 0.075), departure, 0),
        lucas_polar_warm=np.where(mu_r >= 0.075, departure, 0),
        lucas_quantum=factors or [0.0],
        lucas_heaviest=[heaviest, factor_A],
    )

    named = ", ".join(species.names[s] for s in quantum) or "none"
    note = f"Lucas' viscosity: liquids give NaN; quantum gases (He, H2, D2 by name): {named}; has steps, as published."
    return Constants(values, sizes={"LUCAS_QUANTUM": len(quantum)}, notes=[note])


constants(
    "lucas_Tc lucas_Zc lucas_Vc lucas_omega lucas_polar lucas_polar_warm lucas_tenth_over_Tc lucas_quantum "
    "lucas_heaviest",
    lucas,
    when={"viscosity": "lucas"},
)
