// Peng-Robinson mixture. Molar: a [Pa m6/mol2], b, v [m3/mol]. Numbers in brackets: PHYSICS items in the declarations.
#pragma once
#include "pairs.h"
#include "ideal_gas.h"

// sqrt(a_i) = |g_i - q_i s| with s = sqrt(T), g = sqrt(a_c)(1 + kappa), q = sqrt(a_c) kappa/sqrt(Tc), so that a, a', a''
// follow from the sums yKy, yKz, zKz with y_i = n_i |g_i - q_i s| and z_i = n_i q_i sign(g_i - q_i s), n_i = Y_i/W_i:
// a = W^2 yKy,  a' = -W^2 yKz/s,  a'' = W^2 (zKz + yKz/s)/(2T). Where kappa < 0 (omega below -0.22: helium) the constants
// are -g and -q, so that q is positive: y is the same, and copysign gives z its sign.
template <class M, class R, class Species>
POINT_FN void pr_mixture(const M &m, const R T, const Species &Y, const R W, R &a_mix, R &a_T, R &a_TT, R &b_mix) {
    const R root_T = sqrt(known_temperature(T)), inv_root = 1.0/root_T;
    R b = Y[0]*m.b_mass[0], yy, yz, zz;
    FOR_SPECIES(s, M::NS - 1) b += Y[s + 1]*m.b_mass[s + 1];
    attraction_sums(m, [&](int s, R &y, R &z) {
        const R n = Y[s], root_a = m.pr_g_mass[s] - m.pr_q_mass[s]*root_T;
        y = n*fabs(root_a);
        z = copysign(R(m.pr_q_mass[s]), root_a)*n;
    }, yy, yz, zz);
    const R W2 = W*W;
    a_mix = W2*yy;
    a_T = -W2*yz*inv_root;
    a_TT = W2*(zz + yz*inv_root)*(0.5*inv_root*inv_root);
    b_mix = W*b;
}

// Pseudo-critical state: the mixture's a with alpha = 1, then as for a pure substance.
template <class M, class R, class Species>
POINT_FN void critical_state(const M &m, const Species &Y, const R W, R &Tc_mix, R &pc_mix, R &vc_mix) {
    R b = Y[0]*m.b_mass[0], yy, yz, zz;
    FOR_SPECIES(s, M::NS - 1) b += Y[s + 1]*m.b_mass[s + 1];
    attraction_sums(m, [&](int s, R &y, R &z) { y = Y[s]*m.root_ac_mass[s]; z = R(0.0); }, yy, yz, zz);
    b *= W;
    Tc_mix = W*W*yy*(m.omega_b[0]/(m.omega_a[0]*R_UNIVERSAL))/b;
    pc_mix = (m.omega_b[0]*R_UNIVERSAL)*Tc_mix/b;
    vc_mix = (m.omega_vc[0]*R_UNIVERSAL)*Tc_mix/pc_mix;
}

// One Newton step on Z^3 + c2 Z^2 + c1 Z + c0; a step that is no longer small (multiple root) is not taken.
template <class R> POINT_FN R polished(const R Z, const R c2, const R c1, const R c0) {
    const R step = (((Z + c2)*Z + c1)*Z + c0)/((3.0*Z + 2.0*c2)*Z + c1);
    return Z - select(fabs(step) < 1e-6*(1.0 + fabs(Z)), step, R(0.0));
}

// Z: the outer root of the depressed cubic t^3 - 3 e t = g by three Halley steps from a bound (cubic convergence: a
// start within 30 % gives 1e-13 or better, the polish does the rest), the other two by deflation.
template <class M, class R>
POINT_FN void pr_compressibility(const M &, const R T, const R p, const R a_mix, const R b_mix, R &Z) {
    const R inv_RT = 1.0/(R_UNIVERSAL*T);
    const R B = b_mix*select(p > 0.0, p, R(NOT_A_NUMBER))*inv_RT, A = a_mix*p*inv_RT*inv_RT;
    const R c2 = B - 1.0, c1 = A - 2.0*B - 3.0*B*B, c0 = -B*(A - B - B*B);
    const R centre = c2*(-1.0/3.0), e = (c2*c2 - 3.0*c1)*(1.0/9.0), f = ((centre + c2)*centre + c1)*centre + c0;
    const R g = fabs(f), g23 = square(cbrt_start(g));
    R t = select(e >= 0.0, sqrt(at_least(3.0*e + g23, 0.0)), g/at_least(g23 - 3.0*e, 1e-280));
    UNROLL for (int step = 0; step < (number<R>::wide ? 6 : 3); ++step) {
        const R t2 = t*t, F = t*(t2 - 3.0*e) - g, slope = 3.0*(t2 - e);
        t -= F*slope/at_least(slope*slope - 3.0*t*F, 1e-280);
    }
    const R outer = copysign(t, -f), discriminant = 12.0*e - 3.0*t*t;
    R root = centre + outer;
    const auto three = discriminant >= 0.0;
    if (any_of(three)) {
        const R width = sqrt(at_least(discriminant, 0.0));
        const R far = centre - 0.5*(outer + copysign(width, outer));
        const R largest = larger(root, far), smallest = smaller(root, far);
        if constexpr (M::root_vapour) root = select(three, largest, root);
        else {
            const R z = polished(smallest, c2, c1, c0), Zv = polished(largest, c2, c1, c0);
            const auto liquid_exists = three && z > B;
            root = select(three, largest, root);
            if constexpr (M::root_liquid) root = select(liquid_exists, z, root);
            else if (any_of(liquid_exists)) {
                // g(Zl) - g(Zv) of the residual Gibbs energies, g = Z - 1 - ln(Z - B) - A/(2 sqrt2 B) ln(...)
                const R Zl = select(liquid_exists, z, Zv);
                const R big = 1.0 + SQRT2, small = 1.0 - SQRT2;
                const R difference = (Zl - Zv) - log((Zl - B)/(Zv - B))
                    - A/(2.0*SQRT2*B)*log((Zl + big*B)*(Zv + small*B)/((Zl + small*B)*(Zv + big*B)));
                root = select(liquid_exists && difference < 0.0, z, root);
            }
        }
    }
    Z = polished(root, c2, c1, c0);
    if constexpr (number<R>::wide) Z = polished(polished(Z, c2, c1, c0), c2, c1, c0);
}

template <class M, class R>
POINT_FN void molar_volume(const M &, const R T, const R p, const R Z, R &v_mol) { v_mol = Z*(R_UNIVERSAL*T)/p; }

template <class M, class R>
POINT_FN void density(const M &, const R W, const R v_mol, R &rho) { rho = W/v_mol; }

template <class M, class R>
POINT_FN void pr_pressure_slopes(const M &, const R T, const R a_mix, const R a_T, const R b_mix, const R v_mol, R &p_v, R &p_T) {
    const R inv_free = 1.0/(v_mol - b_mix), inv_D = 1.0/(v_mol*v_mol + b_mix*(2.0*v_mol - b_mix));
    p_v = 2.0*a_mix*(v_mol + b_mix)*(inv_D*inv_D) - (R_UNIVERSAL*T)*(inv_free*inv_free);
    p_T = R_UNIVERSAL*inv_free - a_T*inv_D;
}

// L = ln[(v + (1 + sqrt2) b)/(v + (1 - sqrt2) b)]/(2 sqrt2 b), the integral of dv/(v^2 + 2 b v - b^2) from v to infinity
template <class M, class R>
POINT_FN void pr_log(const M &, const R b_mix, const R v_mol, R &pr_L) {
    pr_L = log((v_mol + (1.0 + SQRT2)*b_mix)/(v_mol + (1.0 - SQRT2)*b_mix))/(2.0*SQRT2*b_mix);
}

template <class M, class R>
POINT_FN void pr_enthalpy(const M &, const R T, const R W, const R h_ig, const R Z, const R a_mix, const R a_T, const R pr_L, R &h) {
    h = h_ig + ((R_UNIVERSAL*T)*(Z - 1.0) + (T*a_T - a_mix)*pr_L)/W;
}

template <class M, class R>
POINT_FN void pr_entropy(const M &, const R W, const R s_ig, const R Z, const R b_mix, const R v_mol, const R a_T, const R pr_L, R &s) {
    s = s_ig + (R_UNIVERSAL*log(Z*(1.0 - b_mix/v_mol)) + a_T*pr_L)/W;
}

template <class M, class R>
POINT_FN void pr_cv(const M &, const R T, const R W, const R cp_ig, const R a_TT, const R pr_L, R &cv) {
    cv = cp_ig + (T*a_TT*pr_L - R_UNIVERSAL)/W;
}

template <class M, class R>
POINT_FN void heat_capacity_p(const M &, const R T, const R W, const R cv, const R p_v, const R p_T, R &cp) {
    cp = cv - T*p_T*p_T/(p_v*W);
}

template <class M, class R>
POINT_FN void heat_capacity_ratio(const M &, const R cp, const R cv, R &gamma) { gamma = cp/cv; }

template <class M, class R>
POINT_FN void density_slopes(const M &, const R W, const R v_mol, const R p_v, const R p_T, R &rho_p, R &rho_T) {
    const R shared = W/(v_mol*v_mol*p_v);
    rho_p = -shared;
    rho_T = shared*p_T;
}

// h_p = (v p_v + T p_T)/p_v with the ideal-gas parts, which cancel, taken out by hand
template <class M, class R>
POINT_FN void enthalpy_slopes(const M &, const R T, const R W, const R a_mix, const R a_T, const R b_mix, const R v_mol, const R p_v, const R cp,
                              R &h_p, R &h_T) {
    const R inv_free = 1.0/(v_mol - b_mix), inv_D = 1.0/(v_mol*v_mol + b_mix*(2.0*v_mol - b_mix));
    h_p = (2.0*a_mix*v_mol*(v_mol + b_mix)*(inv_D*inv_D) - T*a_T*inv_D - (R_UNIVERSAL*T)*b_mix*(inv_free*inv_free))/(p_v*W);
    h_T = cp;
}

// c^2 = (d p/d rho)_s = gamma/rho_p
template <class M, class R>
POINT_FN void sound_speed(const M &, const R gamma, const R rho_p, R &c) { c = sqrt(gamma/rho_p); }

template <class M, class R>
POINT_FN void internal_energy(const M &, const R p, const R rho, const R h, R &e) { e = h - p/rho; }
