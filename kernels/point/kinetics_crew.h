// Production by a large mechanism on a GPU by a crew (crew.h), whose warps share species and reactions. What a point
// needs lies in shared memory. Indices and branches are alike for a warp. The reactions go in portions, whose rates
// wait in shared memory until each species' are added up, in the table's order. A portion has two halves: where
// directions are apart, a half is a portion, and its reverse rates take the rows of the other one.
#pragma once

// Three numbers of 16 bits and one of four in the bits of a double that is a whole number
struct Word {
    unsigned low, high;
    POINT_FN Word(const double x) : low(low_word(x)), high(high_word(x)) {}
    POINT_FN int a() const { return low & 0xffff; }
    POINT_FN int b() const { return low >> 16; }
    POINT_FN int c() const { return high & 0xffff; }
    POINT_FN int d() const { return high >> 16 & 15; }
};

// A step's row of the tables
struct CrewStep {
    scalar A, b, E;
    Word first, second, third;
    template <class M>
    POINT_FN CrewStep(const M &m, const int i)
        : A(m.reaction_coefficients[3 * i]), b(m.reaction_coefficients[3 * i + 1]),
          E(m.reaction_coefficients[3 * i + 2]), first(m.reaction_steps[3 * i]), second(m.reaction_steps[3 * i + 1]),
          third(m.reaction_steps[3 * i + 2]) {}
};

// Rows: D and I of each species in turns, those of a factor 1 and of a product 0, colliders, logarithms of the first of
// these; then what is needed for a while.
template <class M> struct CrewRows {
    static constexpr int ONE = 2 * M::NS, ZERO = ONE + 2, THIRD = ZERO + 1, LN_THIRD = THIRD + M::RATE_COLLIDERS,
                         RATES = LN_THIRD + M::RATE_LOGS, WEIGHTED = RATES, REST = WEIGHTED + M::RATE_WEIGHTED;
};

template <bool APART, class M> POINT_FN const scalar *lists(const M &m) {
    if constexpr (APART) return m.reaction_sums_apart;
    else return m.reaction_sums;
}

// Three rows of a list
POINT_FN several listed(const CrewMemory &s, const scalar word) {
    const Word three(word);
    return (s[three.a()] + s[three.b()]) + s[three.c()];
}

template <class M, class R, class Species> struct CrewReacting {
    const M &m;
    const Species &Y;
    const R T, rho, ln_T, inv_T, ln_p;
    const CrewMemory s;
    typedef CrewRows<M> At;
    // what a step does, as in kinetics_crew.py
    enum { EXPONENT = 1, THIRD = 2, FALLOFF = 4, PLOG = 8, CHEBYSHEV = 16, OTHER = 32, REACTANT = 64, PRODUCT = 128 };

    // T^b exp(-E/T)
    POINT_FN R exponential(const scalar b, const scalar E) const {
        const R x = b * ln_T - E * inv_T;
        if constexpr (M::RATES_BOUNDED) return exp_within(x);
        return exp(x);
    }
    POINT_FN R falloff(const int i) const {
        const scalar *f = m.reaction_falloffs + 15 * i, *base = m.reaction_exponents + 2 * M::falloff_base(i);
        const R ln_Pr = reduced_pressure(f, ln_T, inv_T, s[At::LN_THIRD + M::falloff_collider(i)]);
        R ln_k = base[0] * ln_T - base[1] * inv_T;
        const int form = whole_number(f[7]);
        if (form == 3) ln_k = ln_k + ln_of_sri(f + 8, T, ln_T, inv_T, ln_Pr);
        else if (form > 0) ln_k = ln_k + ln_blending(ln_centre(form, f + 8, T, inv_T), ln_Pr);
        return f[0] * exp(ln_k) / (1.0 + exp_within(f[6] < 1 ? -ln_Pr : ln_Pr)); // Pr/(1 + Pr), or 1/(1 + Pr)
    }
    // of a step: A, b, E; or A and the place in a table
    POINT_FN R coefficient(const CrewStep &of, const int flags) const {
        const int place = of.third.c();
        R k = R(of.A);
        if (flags & EXPONENT) k = k * exponential(of.b, of.E);
        if constexpr (M::RATE_FALLOFFS > 0)
            if (flags & FALLOFF) k = k * falloff(place);
        if constexpr (M::RATE_PLOGS > 0)
            if (flags & PLOG) {
                const scalar *at = m.reaction_plogs + place;
                k = k * plog_rate(at, ln_T, inv_T, ln_p);
            }
        if constexpr (M::RATE_CHEBYSHEVS > 0)
            if (flags & CHEBYSHEV) {
                const scalar *at = m.reaction_chebyshevs + place;
                k = k * chebyshev_rate<M>(at, inv_T, ln_p);
            }
        return k;
    }
    POINT_FN R concentration(const int k) const { return rho * (Y[k] * m.inv_W[k]); }
    // prod of concentrations, as `factors` of a thread has it
    POINT_FN R powers(const scalar *term, const int count, R product) const {
        UNROLL_BY(1)
        for (int t = 0; t < count; ++t, term += 3) {
            const R x = concentration(whole_number(term[0]));
            product = factor_of(x, term, product);
        }
        return product;
    }
    POINT_FN void species(const int rank) const {
        R rest = R(0.0);
        UNROLL_BY(2)
        for (int k = rank; k < M::NS; k += CREW) {
            const R C = concentration(k), L = potential<true>(m, T, ln_T, inv_T, k),
                    I = exp_within(at_most(at_least(-L, -FARTHEST), FARTHEST));
            s.set(2 * k, C / I), s.set(2 * k + 1, I);
            const int place = M::collider_place(k);
            if (place < M::RATE_WEIGHTED) s.set(At::WEIGHTED + place, C);
            else rest += C;
        }
        s.set(At::REST + rank, rest);
        if (rank == 0) s.set(At::ONE, R(1.0)), s.set(At::ONE + 1, R(1.0)), s.set(At::ZERO, R(0.0));
    }
    POINT_FN void colliders(const int rank) const {
        R rest = R(0.0);
        UNROLL
        for (int i = 0; i < CREW; ++i) rest += s[At::REST + i];
        UNROLL_BY(1)
        for (int j = rank; j < M::RATE_COLLIDERS; j += CREW) {
            const scalar *w = m.reaction_colliders + j * M::NS;
            R sum = w[M::collider_species(M::RATE_WEIGHTED)] * rest;
            UNROLL_BY(4)
            for (int t = 0; t < M::RATE_WEIGHTED; ++t) sum += w[M::collider_species(t)] * s[At::WEIGHTED + t];
            s.set(At::THIRD + j, sum);
            if (j < M::RATE_LOGS) s.set(At::LN_THIRD + j, log(at_least(sum, SMALLEST)));
        }
    }
    template <bool APART> POINT_FN void other(const scalar *row, R k, const int to, const int apart) const {
        const OtherReaction o = other_reaction(row);
        const int third = whole_number(row[3]);
        if (third < M::RATE_COLLIDERS) k = k * s[At::THIRD + third];
        const R there = powers(o.f, o.forward, k);
        R back = R(0.0);
        if (row[4] > 0) {
            R ln = row[5] + row[6] * inv_T;
            UNROLL_BY(1)
            for (int t = 0; t < o.net; ++t)
                ln += o.n[2 * t + 1] * potential<true>(m, T, ln_T, inv_T, whole_number(o.n[2 * t]));
            back = powers(o.r, o.reverse, k * exp(at_most(ln, REVERSE)));
        }
        if constexpr (!APART) {
            UNROLL_BY(1)
            for (int t = 0; t < o.net; ++t) s.set(to + t, o.n[2 * t + 1] * (there - back));
            return;
        }
        UNROLL_BY(1)
        for (int t = 0; t < o.left + o.right; ++t) {
            const scalar nu = o.l[2 * t + 1]; // those of the right stand behind those of the left
            const bool left = t < o.left;
            s.set(to + t, nu * (left ? back : there)), s.set(to + t + apart, nu * (left ? there : back));
        }
    }
    // apart: where directions are, how far the row of the reverse rate lies from that of the forward one; of an `other`,
    // that of what is consumed from that of what is made
    template <bool APART> POINT_FN void step(const CrewStep &now, const int apart) const {
        const Word first = now.first, second = now.second, third = now.third;
        const int flags = first.d() | second.d() << 4, to = third.a(), last = third.b(), a = first.a(), b = first.b();
        R scale = coefficient(now, flags);
        if constexpr (M::RATE_OTHERS > 0)
            if (flags & OTHER) {
                other<APART>(m.reaction_others + last, scale, to, apart);
                return;
            }
        R before = s[a] * s[b], after = s[first.c()] * s[second.a()];
        if (flags & THIRD) scale = scale * s[last];
        scale = scale * (s[a + 1] * s[b + 1]);
        if (flags & REACTANT) {
            const int c = second.b();
            scale = scale * s[c + 1], before = before * s[c];
        }
        if (flags & PRODUCT) after = after * s[second.c()];
        if constexpr (!APART) s.set(to, scale * (before - after));
        else s.set(to, scale * before), s.set(to + apart, scale * after);
    }
};

// Each species' production by the warp that owns it: take(k, rate) of all that is made, where directions are apart, else
// of the net; then, where they are, of all that is consumed by take_consumed.
template <bool APART, class M, class R, class Species, class Take, class TakeConsumed>
POINT_FN void production(const M &m, const R T, const R p, const R rho, const Species &Y, const Take &take,
                         const TakeConsumed &take_consumed) {
    static_assert(CREW == M::CREW_WARPS, "the portions are made for so many warps");
    typedef CrewRows<M> At;
    const int rank = crew_rank();
    const R known = reacting_temperature(T);
    const CrewMemory s = crew_memory();
    const CrewReacting<M, R, Species> crew{m, Y, known, rho, log(known), 1.0 / known, log(p), s};
    crew_barrier(); // what a kernel before this one left may still be read
    crew.species(rank);
    crew_barrier();
    crew.colliders(rank);
    crew_barrier();
    constexpr int OWN = (M::NS + CREW - 1) / CREW, PORTIONS = APART ? 2 * M::RATE_PORTIONS : M::RATE_PORTIONS;
    const scalar *const sums = lists<APART>(m);
    R made[OWN], gone[APART ? OWN : 1];
    UNROLL
    for (int i = 0; i < OWN; ++i) {
        made[i] = 0.0 * (rho * crew.inv_T);
        if constexpr (APART) gone[i] = made[i];
    }
    UNROLL_BY(1)
    for (int portion = 0; portion < PORTIONS; ++portion) {
        const int from = CREW * portion + rank, stride = CREW * PORTIONS,
                  apart = !APART ? 0 : portion < M::RATE_PORTIONS ? M::RATE_HALF : -M::RATE_HALF;
        CrewStep next(m, from < M::RATE_STEPS ? from : 0); // read ahead
        UNROLL_BY(1)
        for (int i = from; i < M::RATE_STEPS; i += stride) {
            const CrewStep now = next;
            if (i + stride < M::RATE_STEPS) next = CrewStep(m, i + stride);
            crew.template step<APART>(now, apart);
        }
        crew_barrier();
        UNROLL
        for (int i = 0; i < OWN; ++i) {
            const int j = i * CREW + rank;
            if (j < M::NS) {
                const Word list(sums[portion * M::NS + j]);
                R more = made[i];
                UNROLL_BY(2)
                for (int e = list.a(); e < list.b(); ++e) more += listed(s, sums[e]);
                if constexpr (APART) {
                    made[i] = more;
                    more = gone[i];
                    UNROLL_BY(2)
                    for (int e = list.b(); e < list.c(); ++e) more += listed(s, sums[e]);
                    gone[i] = more;
                } else {
                    UNROLL_BY(2)
                    for (int e = list.b(); e < list.c(); ++e) more -= listed(s, sums[e]);
                    made[i] = more;
                }
            }
        }
        crew_barrier();
    }
    const auto to_owners = [&](const auto &rates, const auto &take) {
        UNROLL
        for (int i = 0; i < OWN; ++i) {
            const int j = i * CREW + rank;
            if (j < M::NS) s.set(At::RATES + M::summed_species(j), rates[i]);
        }
        crew_barrier();
        FOR_OWN (k, M::NS) take(k, s[At::RATES + k]);
    };
    to_owners(made, take);
    if constexpr (APART) {
        crew_barrier();
        to_owners(gone, take_consumed);
    }
}

template <class M, class R, class Species, class Gamma, class Out>
POINT_FN void net_production(const M &m, const R T, const R p, const R rho, const Species &Y, const Gamma &,
                             Out &omega_mol) {
    static_assert(!is_given<Gamma>::value, "a crew works on ideal gases");
    production<false>(m, T, p, rho, Y, [&](const int k, const R &rate) { omega_mol.set(k, rate); }, Absent());
}

template <class M, class R, class Species, class Gamma, class OutC, class OutD>
POINT_FN void gross_production(const M &m, const R T, const R p, const R rho, const Species &Y, const Gamma &,
                               OutC &creation, OutD &destruction) {
    static_assert(!is_given<Gamma>::value, "a crew works on ideal gases");
    production<true>(
        m, T, p, rho, Y, [&](const int k, const R &rate) { creation.set(k, rate * m.W[k]); },
        [&](const int k, const R &rate) { destruction.set(k, rate * m.W[k]); });
}
