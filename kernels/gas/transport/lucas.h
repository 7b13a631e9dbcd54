// Lucas' viscosity of gas mixtures at low and high pressure. Equation numbers: Poling, Prausnitz & O'Connell, 5th ed.
// (formulas as in several codes; original not seen).
#pragma once

// mu = Z2 F_P F_Q/xi, xi the inverse viscosity:
//   Z1 = [0.807 Tr^0.618 - 0.357 exp(-0.449 Tr) + 0.340 exp(-4.058 Tr) + 0.018] F_P0 F_Q0     (9-4.15 to 9-4.18)
//   Z2 = Z1 times a function of Tr, Pr above the critical temperature; else a function of Tr, Pr   (9-6.3 to 9-6.16)
//   F_P, F_Q: corrections for polar and for quantum gases; they change with Z2/Z1
// Mixtures: Tc, Zc, Vc, F_P0, F_Q0 are means by mole fractions (9-5.17 to 9-5.23). Option chung = cantera has 0.6990
// instead of 6.990, as Cantera does.
template <class M, class R, class Species>
POINT_FN void lucas_viscosity(const M &m, const R T, const R p, const Species &Y, const R W, R &mu) {
    // Pseudo-critical state, and the low-pressure correction for polar gases, F_P0 = 1 + polar.
    R Tc = R(0.0), Zc = R(0.0), Vc = R(0.0), omega = R(0.0), polar = R(0.0);
    FOR_SPECIES (s, M::NS) {
        const R x = Y[s] * m.inv_W[s] * W;
        Tc += x * m.lucas_Tc[s];
        Zc += x * m.lucas_Zc[s];
        Vc += x * m.lucas_Vc[s];
        omega += x * m.lucas_omega[s];
        polar += x * (m.lucas_polar[s] + m.lucas_polar_warm[s] * fabs(0.89 + T * m.lucas_tenth_over_Tc[s]));
    }

    // Low-pressure correction for quantum gases, F_Q0 = A (1 + quantum). A differs from 1 if the mole fraction of the
    // heaviest species, `heavy`, lies between 0.05 and 0.7.
    R quantum = R(0.0);
    for (int k = 0; k < M::LUCAS_QUANTUM; ++k) {
        const int s = int(m.lucas_quantum[4 * k]);
        const R away = T * m.lucas_quantum[4 * k + 1] - 12.0;
        const R power = exp(log(at_least(away * away, SMALLEST)) * m.lucas_quantum[4 * k + 2]);
        quantum += Y[s] * m.inv_W[s] * W * (m.lucas_quantum[4 * k + 3] * (1.0 + copysign(0.00385 * power, away)) - 1.0);
    }
    const int heaviest = int(m.lucas_heaviest[0]);
    const R heavy = Y[heaviest] * m.inv_W[heaviest] * W;
    const R FP = 1.0 + polar;
    const R FQ = (1.0 + quantum) * select(heavy > 0.05 && heavy < 0.7, R(m.lucas_heaviest[1]), R(1.0));

    // Reduced state and low-pressure viscosity.
    const R r = 1.0 / (Tc * Zc);
    const R Tr = T * (r * Zc);
    const R Pr = p * (Vc * (r * (1.0 / R_UNIVERSAL))); // pc = R Tc Zc/Vc
    const R ln_Tr = log(Tr);
    const R ln_Pr = log(Pr);
    const R Z1 = (0.807 * exp(0.618 * ln_Tr) - 0.357 * exp(-0.449 * Tr) + 0.340 * exp(-4.058 * Tr) + 0.018) * FP * FQ;

    // Z2/Z1 above the critical temperature. The correlation ends at T_r = 40, where the correction is small.
    const R Th = at_most(at_least(Tr, 1.0), 40.0);
    const R ln_Th = log(Th);
    const R inv_Th = 1.0 / Th;
    const R a = 1.245e-3 * inv_Th * exp(5.1726 * exp(-0.3286 * ln_Th));
    const R b = a * (1.6553 * Th - 1.2723);
    const R c = 0.4489 * inv_Th * exp(3.0578 * exp(-37.7332 * ln_Th));
    const R d = 1.7368 * inv_Th * exp(2.2310 * exp(-7.6351 * ln_Th));
    const R f = 0.9425 * exp(-0.1853 * exp(0.4489 * ln_Th));
    const R hot = 1.0 + a * exp(1.3088 * ln_Pr) / (b * exp(f * ln_Pr) + 1.0 / (1.0 + c * exp(d * ln_Pr)));

    // Below the critical temperature: vapour, up to the vapour pressure of Lee & Kesler 1975.
    const R cold_Tr = at_most(Tr, 1.0);
    const R ln_cold = at_most(ln_Tr, 0.0);
    const R Pc = at_most(Pr, 1.0);
    const R ln_Pc = at_most(ln_Pr, 0.0);
    const R alpha = 3.262 + 14.98 * exp(5.508 * ln_Pc);
    const R beta = 1.390 + 5.746 * Pc;
    const R cold = 0.600 + 0.760 * exp(alpha * ln_Pc) +
                   ((M::chung_cantera ? 0.6990 : 6.990) * exp(beta * ln_Pc) - 0.6) * (1.0 - cold_Tr);

    // ln of the reduced vapour pressure
    const R inv_cold = 1.0 / cold_Tr;
    const R sixth = square(cold_Tr * square(cold_Tr));
    const R ln_vapour = 5.92714 - 6.09648 * inv_cold - 1.28862 * ln_cold + 0.169347 * sixth +
                        omega * (15.2518 - 15.6875 * inv_cold - 13.4721 * ln_cold + 0.43577 * sixth);

    const auto gas = Tr > 1.0;
    const R Z2 = select(gas, Z1 * hot, cold);
    const R ratio = select(gas, hot, cold / Z1);

    // F_P, F_Q at this pressure, with Y = Z2/Z1: F_P = [1 + (F_P0 - 1) Y^-3]/F_P0, F_Q alike.
    const R inv_ratio = 1.0 / ratio;
    const R ln_ratio = log(ratio);
    const R high_P = 1.0 + (FP - 1.0) * (inv_ratio * inv_ratio * inv_ratio);
    const R high_Q = 1.0 + (FQ - 1.0) * (inv_ratio - 0.007 * square(ln_ratio * ln_ratio));

    // 1/xi = (M^3 pc^4/(R Tc N_A^2))^(1/6), pc = p/Pr
    constexpr double avogadro = 6.02214076e23;
    const R pc = p / Pr;
    const R inv_xi = sqrt(W) * square(cbrt(pc)) / cbrt(avogadro * sqrt(R_UNIVERSAL * Tc));
    const R value = Z2 * high_P * high_Q * inv_xi / (FP * FQ);
    mu = select(Pr <= 100.0 && (gas || ln_Pr < ln_vapour), value, R(NOT_A_NUMBER));
}
