// Production by a large mechanism on a GPU, where the warps of a block share species and reactions (schedules/block.h).
//
// The data of a point lie in shared memory. Indices and branches are the same for all lanes of a warp. Reactions go in
// portions: their rates wait in shared memory until the rates of each species are added up, in the order of a table. If
// directions are apart there are twice as many portions, and a rate has a second row for the reverse direction.
//
// A warp waits for memory and for its own results more than for arithmetic units. So a lane has two points, and takes
// two species, two reactions of a kind, and four rates of a sum at a time.
#pragma once
#include "gas/kinetics/rates.h"

// A number of 32 bits and a number of 20, packed into a double
struct Word {
    unsigned low, from;

    POINT_FN Word(const double x) : low(low_word(x)), from(high_word(x)) {}
    POINT_FN unsigned high() const { return from - 0x43300000u; }
};

// A step's row of the tables, in shared memory.
struct alignas(16) CrewStep {
    double A, b, E;
    double left;  // rows of two reactants
    double right; // rows of two products, and flags
    double more;  // numbers that few steps need
};

// Rows of shared memory: D and I of each species in turns, D and I of a factor 1 and a product 0, colliders, logarithms
// of the first colliders; then intermediate results.
template <class M> struct CrewRows {
    static constexpr int ONE = 2 * M::NS;
    static constexpr int ZERO = ONE + 2;
    static constexpr int THIRD = ZERO + 1;
    static constexpr int LN_THIRD = THIRD + M::RATE_COLLIDERS;
    static constexpr int RATES = LN_THIRD + M::RATE_LOGS;
    static constexpr int WEIGHTED = RATES;
    static constexpr int REST = WEIGHTED + M::RATE_WEIGHTED;
};

struct alignas(16) TwoDoubles {
    double v[2];
};

// The work of a warp in a portion: its steps, then lists of the rates to add up. It is copied to shared memory while
// the portion before is computed.
template <bool APART, class M> struct CrewBlocks {
    static constexpr int SIZE = APART ? M::RATE_BLOCK_APART : M::RATE_BLOCK; // doubles
    static constexpr int LISTS = APART ? M::RATE_LISTS_APART : M::RATE_LISTS;

    const double *from;
    double *to;

    POINT_FN CrewBlocks(const M &m, const int rank) : to(crew_bytes<M::CREW_ROWS>() + 2 * SIZE * rank) {
        if constexpr (APART) from = m.reaction_steps_apart + SIZE * rank;
        else from = m.reaction_steps + SIZE * rank;
    }

    POINT_FN void start(const int portion) const {
        const TwoDoubles *const source = (const TwoDoubles *)(from + portion * (SIZE * CREW));
        TwoDoubles *const there = (TwoDoubles *)(to + (portion & 1) * SIZE);
        UNROLL_BY(1)
        for (int i = threadIdx.x & 31; i < SIZE / 2; i += 32) copy_async(there + i, source + i);
    }

    POINT_FN const double *arrived(const int portion) const {
        copies_done();
        __syncwarp();
        return to + (portion & 1) * SIZE;
    }
};

// Lists of rows, one after another, each of at least four. Four rows are loaded at a time, and the words of the next
// four.
struct CrewLists {
    const TwoDoubles *at;
    TwoDoubles ahead;

    POINT_FN CrewLists(const double *from) : at((const TwoDoubles *)from), ahead(*at) {}

    // Adds the rows of a list to `sum`, each with its sign.
    template <class R> POINT_FN R added(const CrewMemory &s, R sum) {
        const auto one = [](const unsigned sign) { return from_words(0x3ff00000u | (sign & 0x80000000u), 0); };
        R second = R(0.0);
        bool last;

        UNROLL_BY(1)
        do {
            const Word now[2] = {ahead.v[0], ahead.v[1]};
            ahead = *++at;
            last = now[0].low & 0x20000000u;
            UNROLL
            for (int j = 0; j < 2; ++j) {
                sum += one(now[j].low) * (s[now[j].low]);
                second += one(now[j].low << 1) * (s[now[j].high()]);
            }
        } while (!last);

        return sum + second;
    }
};

template <class M, class R, class Species, class Gamma> struct CrewReacting {
    const M &m;
    const Species &Y;
    const R T, rho, ln_T, inv_T, ln_p;
    const CrewMemory s;
    typedef CrewRows<M> At;

    // The kind of a step, as in crew.py: bits of the word with its first product
    enum : unsigned {
        EXPONENT = 1u << 24,
        THIRD = 2 * EXPONENT,
        FALLOFF = 4 * EXPONENT,
        TABLED = 8 * EXPONENT,
        OTHER = 16 * EXPONENT,
        REACTANT = 32 * EXPONENT,
        PRODUCT = 64 * EXPONENT,
        RARE = 126 * EXPONENT
    };

    // T^b exp(-E/T)
    POINT_FN R exponential(const scalar b, const scalar E) const {
        const R x = b * ln_T - E * inv_T;
        if constexpr (M::RATES_BOUNDED) return exp_within(x);
        return exp(x);
    }

    // N falloffs at a time; returns false if they are not Troe's. b, E of a step: of the reference limit
    template <int N> POINT_FN bool troe(const CrewStep *of, R (&k)[N]) const {
        const scalar *f[N];
        R ln_Pr[N], centre[N], share[N];

        UNROLL
        for (int j = 0; j < N; ++j) {
            const Word more(of[j].more);
            f[j] = m.reaction_falloffs + 15 * (more.low >> 16);
            if (whole_number(f[j][7]) != 1) return false;
            ln_Pr[j] = reduced_pressure(f[j], ln_T, inv_T, s[more.low & 0xffff]);
        }

        // The centre, as in ln_centre; share: over Pr/(1 + Pr), or 1/(1 + Pr).
        bool cold = false;
        UNROLL
        for (int j = 0; j < N; ++j) {
            centre[j] = f[j][8] + (f[j][9] * exp(-f[j][10] * T) + f[j][11] * exp(-f[j][12] * T));
            share[j] = 1.0 + exp_within(f[j][6] < 1 ? -ln_Pr[j] : ln_Pr[j]);
            cold = cold || f[j][13] > 0;
        }
        if (cold) {
            UNROLL
            for (int j = 0; j < N; ++j) centre[j] += f[j][13] * exp(-f[j][14] * inv_T);
        }
        UNROLL
        for (int j = 0; j < N; ++j) centre[j] = log(at_least(centre[j], SMALLEST));

        UNROLL
        for (int j = 0; j < N; ++j)
            k[j] = f[j][0] * exp(of[j].b * ln_T - of[j].E * inv_T + ln_blending(centre[j], ln_Pr[j])) / share[j];
        return true;
    }

    // A falloff of any form
    POINT_FN R falloff(const CrewStep &of) const {
        R k[1];
        if (troe(&of, k)) return k[0];

        const Word more(of.more);
        const scalar *f = m.reaction_falloffs + 15 * (more.low >> 16);
        const R ln_Pr = reduced_pressure(f, ln_T, inv_T, s[more.low & 0xffff]);

        R ln_k = of.b * ln_T - of.E * inv_T;
        const int form = whole_number(f[7]);
        if (form == 3) ln_k = ln_k + ln_of_sri(f + 8, T, ln_T, inv_T, ln_Pr);
        else if (form > 0) ln_k = ln_k + ln_blending(ln_centre(form, f + 8, T, inv_T), ln_Pr);
        return f[0] * exp(ln_k) / (1.0 + exp_within(f[6] < 1 ? -ln_Pr : ln_Pr));
    }

    struct Concentrations {
        const CrewReacting &of;
        POINT_FN R operator[](const int k) const { return of.concentration(k); }
    };

    // Factor of a rate coefficient beside A and an exponential
    POINT_FN R tabled_coefficient(const CrewStep &of, const unsigned flags) const {
        const int place = Word(of.more).low >> 16;
        R k = R(1.0);
        if constexpr (M::RATE_FALLOFFS > 0)
            if (flags & FALLOFF) k = falloff(of);
        if constexpr (M::RATES_TABLED > 0)
            if (flags & TABLED) {
                const scalar *at = m.reaction_tabled + place;
                k = tabled_rate(m, at, rate_state(T, ln_T, inv_T, ln_p, Concentrations{*this}));
            }
        return k;
    }

    POINT_FN R concentration(const int k) const { return rho * (Y[k] * m.inv_W[k]); }

    // Concentration, or fugacity over RT, of a reactant
    POINT_FN R activity(const int k) const {
        if constexpr (is_given<Gamma>::value && M::kinetics_fugacity) return s[2 * k] * s[2 * k + 1];
        return concentration(k);
    }

    // Product of powers of activities, as `factors` of a thread
    POINT_FN R powers(const scalar *term, const int count, R product) const {
        UNROLL_BY(1)
        for (int t = 0; t < count; ++t, term += 3) {
            const R x = activity(whole_number(term[0]));
            product = factor_of(x, term, product);
        }
        return product;
    }

    // The potential L_k, with ln gamma_k if rates have it. Only the warp that owns a species has its ln gamma
    POINT_FN R logarithm_of_potential(const int k) const {
        if constexpr (is_given<Gamma>::value && !M::kinetics_fugacity) return -log(s[2 * k + 1]);
        return potential<true>(m, T, ln_T, inv_T, k);
    }

    // D and I of N species from k on, whose rows hold concentrations and ln gamma. Returns the sum of the
    // concentrations that have no weight of their own.
    template <int N> POINT_FN R species_from(const int k) const {
        R C[N], c[N], L[N], rest = R(0.0);

        // Loads.
        UNROLL
        for (int i = 0; i < N; ++i) {
            const int own = k + i * CREW;
            C[i] = c[i] = s[2 * own];
            L[i] = potential<true>(m, T, ln_T, inv_T, own);
            if constexpr (is_given<Gamma>::value) {
                if constexpr (M::kinetics_fugacity) c[i] = C[i] * exp(s[2 * own + 1]);
                else L[i] += s[2 * own + 1];
            }
        }

        UNROLL
        for (int i = 0; i < N; ++i) {
            const R I = exp_within(at_most(at_least(-L[i], -FARTHEST), FARTHEST));
            L[i] = I;
            c[i] = c[i] / I;
        }

        // Stores.
        UNROLL
        for (int i = 0; i < N; ++i) {
            const int own = k + i * CREW;
            const int place = M::collider_place(own);
            s.set(2 * own, c[i]), s.set(2 * own + 1, L[i]);
            if (place < M::RATE_WEIGHTED) s.set(At::WEIGHTED + place, C[i]);
            else rest += C[i];
        }
        return rest;
    }

    POINT_FN void fill_species(const int rank) const {
        R rest = R(0.0);
        int k = rank;
        if constexpr (M::NS > CREW) {
            UNROLL_BY(1)
            for (; k + CREW < M::NS; k += 2 * CREW) rest += species_from<2>(k);
        }
        if (k < M::NS) rest += species_from<1>(k);
        s.set(At::REST + rank, rest);
        if (rank == 0) s.set(At::ONE, R(1.0)), s.set(At::ONE + 1, R(1.0)), s.set(At::ZERO, R(0.0));
    }

    POINT_FN void colliders(const int rank) const {
        R rest = R(0.0);
        UNROLL
        for (int i = 0; i < CREW; ++i) rest += s[At::REST + i];

        UNROLL_BY(1)
        for (int j = rank; j < M::RATE_COLLIDERS; j += CREW) {
            const scalar *w = m.reaction_weights + j * (M::RATE_WEIGHTED + 1);
            R sum = w[M::RATE_WEIGHTED] * rest;
            UNROLL_BY(4)
            for (int t = 0; t < M::RATE_WEIGHTED; ++t) sum += w[t] * s[At::WEIGHTED + t];
            s.set(At::THIRD + j, sum);
            if (j < M::RATE_LOGS) s.set(At::LN_THIRD + j, log(at_least(sum, SMALLEST)));
        }
    }

    // A reaction with any number of species and any orders. Stores its rates times nu from the row `to` on: net rates;
    // if directions are APART, for each species of a side its creation, then for each its destruction
    template <bool APART> POINT_FN void other(const scalar *row, R k, const unsigned to) const {
        const OtherReaction o = other_reaction(row);
        const int third = whole_number(row[3]);
        if (third < M::RATE_COLLIDERS) k = k * s[At::THIRD + third];

        // Forward and reverse rate.
        const R there = powers(o.f, o.forward, k);
        R back = R(0.0);
        if (row[4] > 0) {
            R ln = row[5] + row[6] * inv_T;
            UNROLL_BY(1)
            for (int t = 0; t < o.net; ++t) ln += o.n[2 * t + 1] * logarithm_of_potential(whole_number(o.n[2 * t]));
            back = powers(o.r, o.reverse, k * exp(at_most(ln, REVERSE)));
        }

        if constexpr (!APART) {
            UNROLL_BY(1)
            for (int t = 0; t < o.net; ++t) s.set(to + t, o.n[2 * t + 1] * (there - back));
        } else {
            const int sides = o.left + o.right; // first the terms of the left side, then of the right
            UNROLL_BY(1)
            for (int t = 0; t < sides; ++t) {
                const scalar nu = o.l[2 * t + 1];
                const bool left = t < o.left;
                s.set(to + t, nu * (left ? back : there)), s.set(to + sides + t, nu * (left ? there : back));
            }
        }
    }

    // Stores the net rate in its row; if directions are APART, the forward rate there and the reverse rate apart
    template <bool APART> POINT_FN void leave(const R scale, const R before, const R after, const unsigned to) const {
        if constexpr (!APART) s.set(to, scale * (before - after));
        else s.set(to, scale * before), s.set(to + M::RATE_REVERSE, scale * after);
    }

    template <bool APART> POINT_FN void step(const CrewStep &now, const unsigned to) const {
        const Word left(now.left), right(now.right);
        const unsigned a = left.low;
        const unsigned b = left.high();
        const unsigned flags = right.low;

        R scale = R(now.A);
        if (flags & EXPONENT) scale = scale * exponential(now.b, now.E);
        R before = s[a] * s[b];
        R after = s[right.low] * s[right.high()];

        if (flags & RARE) {
            const Word more(now.more);
            const unsigned sides = more.high();
            if (flags & (FALLOFF | TABLED)) scale = scale * tabled_coefficient(now, flags);
            if constexpr (M::RATE_OTHERS > 0)
                if (flags & OTHER) {
                    other<APART>(m.reaction_others + sides, scale, a);
                    return;
                }
            if (flags & THIRD) scale = scale * s[more.low & 0xffff];
            if (flags & REACTANT) {
                const unsigned c = sides & 1023;
                scale = scale * s[c + 1];
                before = before * s[c];
            }
            if (flags & PRODUCT) after = after * s[sides >> 10];
        }

        leave<APART>(scale * (s[a + 1] * s[b + 1]), before, after, to);
    }

    // Two steps at a time. All loads come before the stores, so that a warp does not wait for each result. Returns
    // false if the steps are of different kinds, or of a rare kind. Falloffs are Troe's.
    template <bool APART> POINT_FN bool two_steps(const CrewStep *now, const unsigned to) const {
        const unsigned flags = Word(now[0].right).low;
        if ((flags ^ Word(now[1].right).low) >> 24 || flags & (RARE & ~(THIRD | FALLOFF))) return false;

        // Rate coefficients, times third bodies.
        R scale[2] = {R(now[0].A), R(now[1].A)};
        R before[2];
        R after[2];
        const auto times = [&](const auto &of) {
            UNROLL
            for (int j = 0; j < 2; ++j) scale[j] = scale[j] * of(j);
        };
        if (flags & EXPONENT) times([&](const int j) { return exponential(now[j].b, now[j].E); });
        if constexpr (M::RATE_FALLOFFS > 0)
            if (flags & FALLOFF) {
                R k[2];
                if (!troe(now, k)) return false;
                times([&](const int j) { return k[j]; });
            }
        if (flags & THIRD) times([&](const int j) { return s[Word(now[j].more).low & 0xffff]; });

        // Times reactants and products.
        UNROLL
        for (int j = 0; j < 2; ++j) {
            const Word left(now[j].left), right(now[j].right);
            before[j] = s[left.low] * s[left.high()];
            after[j] = s[right.low] * s[right.high()];
            scale[j] = scale[j] * (s[left.low + 1] * s[left.high() + 1]);
        }

        UNROLL
        for (int j = 0; j < 2; ++j) leave<APART>(scale[j], before[j], after[j], to + j);
        return true;
    }
};

// The production of each species, by the warp that owns it: take(k, net rate). If directions are APART: take(k,
// creation) of all species, then take_consumed(k, destruction).
template <bool APART, class M, class R, class Species, class Gamma, class Take, class TakeConsumed>
POINT_FN void production(const M &m, const R T, const R p, const R rho, const Species &Y, const Gamma &ln_gamma,
                         const Take &take, const TakeConsumed &take_consumed) {
    static_assert(CREW == M::CREW_WARPS, "the portions are made for so many warps");
    typedef CrewRows<M> At;
    const int rank = crew_rank();

    crew_barrier(); // the results of the kernel before may still be read
    const CrewBlocks<APART, M> blocks(m, rank);
    blocks.start(0);
    const CrewMemory s = crew_memory();

    // Loads from global memory first, into the rows of D and I.
    FOR_OWN (k, M::NS) {
        s.set(2 * k, rho * (Y[k] * m.inv_W[k]));
        if constexpr (is_given<Gamma>::value) s.set(2 * k + 1, ln_gamma[k]);
    }
    const R known = reacting_temperature(T);
    const CrewReacting<M, R, Species, Gamma> crew{m, Y, known, rho, log(known), 1.0 / known, log(p), s};
    crew.fill_species(rank);
    crew_barrier();
    crew.colliders(rank);
    crew_barrier();

    // Sums of the species that this warp adds up.
    constexpr int OWN = (M::NS + CREW - 1) / CREW;
    constexpr int PORTIONS = APART ? 2 * M::RATE_PORTIONS : M::RATE_PORTIONS;
    R made[OWN], gone[APART ? OWN : 1];
    UNROLL
    for (int i = 0; i < OWN; ++i) {
        made[i] = 0.0 * (rho * crew.inv_T);
        if constexpr (APART) gone[i] = made[i];
    }

    UNROLL_BY(1)
    for (int portion = 0; portion < PORTIONS; ++portion) {
        const double *block = blocks.arrived(portion);
        if (portion + 1 < PORTIONS) blocks.start(portion + 1);

        // Rates of this warp's steps.
        const Word head(*block);
        const CrewStep *now = (const CrewStep *)(block + 2);
        unsigned to = head.high();
        UNROLL_BY(1)
        for (int left = head.low; left > 0;) {
            int count = 2;
            if (left < 2 || !crew.template two_steps<APART>(now, to)) {
                crew.template step<APART>(*now, to);
                count = 1;
            }
            now += count;
            to += count;
            left -= count;
        }
        crew_barrier();

        // Their sums by species.
        CrewLists listed(block + CrewBlocks<APART, M>::LISTS);
        UNROLL
        for (int i = 0; i < OWN; ++i)
            if (i * CREW + rank < M::NS) {
                made[i] = listed.added(s, made[i]);
                if constexpr (APART) gone[i] = listed.added(s, gone[i]);
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

// The bodies of rates.h for points that a block shares. They are overloads for their number type, `several`.
template <class M, class Species, class Gamma, class Out>
POINT_FN void net_production(const M &m, const several T, const several p, const several rho, const Species &Y,
                             const Gamma &ln_gamma, Out &omega_mol) {
    const auto take = [&](const int k, const several &rate) { omega_mol.set(k, rate); };
    production<false>(m, T, p, rho, Y, ln_gamma, take, Absent());
}

template <class M, class Species, class Gamma, class OutC, class OutD>
POINT_FN void gross_production(const M &m, const several T, const several p, const several rho, const Species &Y,
                               const Gamma &ln_gamma, OutC &creation, OutD &destruction) {
    production<true>(
        m, T, p, rho, Y, ln_gamma, [&](const int k, const several &rate) { creation.set(k, rate * m.W[k]); },
        [&](const int k, const several &rate) { destruction.set(k, rate * m.W[k]); });
}
