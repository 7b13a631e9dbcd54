// Production by a large mechanism on a GPU by a crew (crew.h), whose warps share species and reactions. What a point
// needs lies in shared memory. Indices and branches are alike for a warp. The reactions go in portions, whose rates
// wait in shared memory until each species' are added up, in the table's order. A portion has two halves: where
// directions are apart, a half is a portion, and its reverse rates take the rows of the other one.
#pragma once

// A number of 32 bits and one of 20, of a double that is a whole number
struct Word {
    unsigned low, from;
    POINT_FN Word(const double x) : low(low_word(x)), from(high_word(x)) {}
    POINT_FN unsigned high() const { return from - 0x43300000u; }
};

// A step's row of the tables, in shared memory: A, b, E; rows of two reactants; of two products, and flags; what few
// steps need
struct alignas(16) CrewStep {
    double A, b, E, left, right, more;
};

// Rows: D and I of each species in turns, those of a factor 1 and of a product 0, colliders, logarithms of the first of
// these; then what is needed for a while.
template <class M> struct CrewRows {
    static constexpr int ONE = 2 * M::NS, ZERO = ONE + 2, THIRD = ZERO + 1, LN_THIRD = THIRD + M::RATE_COLLIDERS,
                         RATES = LN_THIRD + M::RATE_LOGS, WEIGHTED = RATES, REST = WEIGHTED + M::RATE_WEIGHTED;
};

struct alignas(16) TwoDoubles {
    double v[2];
};

// What a warp does in a portion: its steps, then lists of the rates that it adds up. It is copied to shared memory a
// portion ahead.
template <bool APART, class M> struct CrewBlocks {
    static constexpr int SIZE = APART ? M::RATE_BLOCK_APART : M::RATE_BLOCK, // doubles
        LISTS = APART ? M::RATE_LISTS_APART : M::RATE_LISTS;
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

// Lists of rows, one behind the other, each with four at least. Four are on their way at a time, and the words of the
// next four.
struct CrewLists {
    const TwoDoubles *at;
    TwoDoubles ahead;
    POINT_FN CrewLists(const double *from) : at((const TwoDoubles *)from), ahead(*at) {}
    // adds a list's rows to `sum`, each with its sign
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
                sum += one(now[j].low) * s[now[j].low];
                second += one(now[j].low << 1) * s[now[j].high()];
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
    // what a step does, as in kinetics_crew.py: bits of the row of its first product
    enum : unsigned {
        EXPONENT = 1u << 24,
        THIRD = 2 * EXPONENT,
        FALLOFF = 4 * EXPONENT,
        PLOG = 8 * EXPONENT,
        CHEBYSHEV = 16 * EXPONENT,
        OTHER = 32 * EXPONENT,
        REACTANT = 64 * EXPONENT,
        PRODUCT = 128 * EXPONENT,
        RARE = 254 * EXPONENT
    };

    // T^b exp(-E/T)
    POINT_FN R exponential(const scalar b, const scalar E) const {
        const R x = b * ln_T - E * inv_T;
        if constexpr (M::RATES_BOUNDED) return exp_within(x);
        return exp(x);
    }
    // b, E: of the limit that it is a multiple of
    POINT_FN R falloff(const int i, const scalar b, const scalar E, const R ln_third) const {
        const scalar *f = m.reaction_falloffs + 15 * i;
        const R ln_Pr = reduced_pressure(f, ln_T, inv_T, ln_third),
                share = 1.0 + exp_within(f[6] < 1 ? -ln_Pr : ln_Pr); // Pr/(1 + Pr) is 1/share, or 1/(1 + Pr)
        R ln_k = b * ln_T - E * inv_T;
        const int form = whole_number(f[7]);
        if (form == 1) { // as ln_centre has it; two exponentials, that neither has to wait
            R centre = f[8] + (f[9] * exp(-f[10] * T) + f[11] * exp(-f[12] * T));
            if (f[13] > 0) centre += f[13] * exp(-f[14] * inv_T);
            ln_k = ln_k + ln_blending(log(at_least(centre, SMALLEST)), ln_Pr);
        } else if (form == 2) ln_k = ln_k + ln_blending(ln_centre(form, f + 8, T, inv_T), ln_Pr);
        else if (form == 3) ln_k = ln_k + ln_of_sri(f + 8, T, ln_T, inv_T, ln_Pr);
        return f[0] * exp(ln_k) / share;
    }
    // what a rate coefficient has but A and an exponential; place: in its table; third: row of a falloff's collider
    POINT_FN R tabled_coefficient(const CrewStep &of, const unsigned flags, const int place,
                                  const unsigned third) const {
        R k = R(1.0);
        if constexpr (M::RATE_FALLOFFS > 0)
            if (flags & FALLOFF) k = falloff(place, of.b, of.E, s[third]);
        if constexpr (M::RATE_PLOGS > 0)
            if (flags & PLOG) {
                const scalar *at = m.reaction_plogs + place;
                k = plog_rate(at, ln_T, inv_T, ln_p);
            }
        if constexpr (M::RATE_CHEBYSHEVS > 0)
            if (flags & CHEBYSHEV) {
                const scalar *at = m.reaction_chebyshevs + place;
                k = chebyshev_rate<M>(at, inv_T, ln_p);
            }
        return k;
    }
    POINT_FN R concentration(const int k) const { return rho * (Y[k] * m.inv_W[k]); }
    // what reactants count with
    POINT_FN R activity(const int k) const {
        if constexpr (is_given<Gamma>::value && M::kinetics_fugacity) return s[2 * k] * s[2 * k + 1];
        return concentration(k);
    }
    // prod of these, as `factors` of a thread has it
    POINT_FN R powers(const scalar *term, const int count, R product) const {
        UNROLL_BY(1)
        for (int t = 0; t < count; ++t, term += 3) {
            const R x = activity(whole_number(term[0]));
            product = factor_of(x, term, product);
        }
        return product;
    }
    // L_k, in which ln gamma_k may be; that is with the warp that owns the species
    POINT_FN R logarithm_of_potential(const int k) const {
        if constexpr (is_given<Gamma>::value && !M::kinetics_fugacity) return -log(s[2 * k + 1]);
        return potential<true>(m, T, ln_T, inv_T, k);
    }
    POINT_FN void species(const int rank) const { // in the rows of D and I lie concentrations and ln gamma
        R rest = R(0.0);
        UNROLL_BY(2)
        for (int k = rank; k < M::NS; k += CREW) {
            const R C = s[2 * k];
            R L = potential<true>(m, T, ln_T, inv_T, k), c = C;
            if constexpr (is_given<Gamma>::value) {
                if constexpr (M::kinetics_fugacity) c = C * exp(s[2 * k + 1]);
                else L += s[2 * k + 1];
            }
            const R I = exp_within(at_most(at_least(-L, -FARTHEST), FARTHEST));
            s.set(2 * k, c / I), s.set(2 * k + 1, I);
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
            const scalar *w = m.reaction_weights + j * (M::RATE_WEIGHTED + 1);
            R sum = w[M::RATE_WEIGHTED] * rest;
            UNROLL_BY(4)
            for (int t = 0; t < M::RATE_WEIGHTED; ++t) sum += w[t] * s[At::WEIGHTED + t];
            s.set(At::THIRD + j, sum);
            if (j < M::RATE_LOGS) s.set(At::LN_THIRD + j, log(at_least(sum, SMALLEST)));
        }
    }
    // leaves its rates times nu from the row `to` on: net ones, or where directions are APART, of each species on a
    // side what is made, then of each what is consumed
    template <bool APART> POINT_FN void other(const scalar *row, R k, const unsigned to) const {
        const OtherReaction o = other_reaction(row);
        const int third = whole_number(row[3]);
        if (third < M::RATE_COLLIDERS) k = k * s[At::THIRD + third];
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
            const int sides = o.left + o.right; // the terms of the right stand behind those of the left
            UNROLL_BY(1)
            for (int t = 0; t < sides; ++t) {
                const scalar nu = o.l[2 * t + 1];
                const bool left = t < o.left;
                s.set(to + t, nu * (left ? back : there)), s.set(to + sides + t, nu * (left ? there : back));
            }
        }
    }
    template <bool APART>
    POINT_FN void leave(const R scale, const R before, const R after, const unsigned to, const unsigned reverse) const {
        if constexpr (!APART) s.set(to, scale * (before - after));
        else s.set(to, scale * before), s.set(reverse, scale * after);
    }
    // to: the row for its rate, reverse: for that of the other direction, where they are APART
    template <bool APART> POINT_FN void step(const CrewStep &now, const unsigned to, const unsigned reverse) const {
        const Word left(now.left), right(now.right);
        const unsigned a = left.low, b = left.high(), flags = right.low;
        R scale = R(now.A);
        if (flags & EXPONENT) scale = scale * exponential(now.b, now.E);
        R before = s[a] * s[b], after = s[right.low] * s[right.high()];
        if (flags & RARE) {
            const Word more(now.more);
            const unsigned third = more.low & 0xffff, sides = more.high();
            if (flags & (FALLOFF | PLOG | CHEBYSHEV))
                scale = scale * tabled_coefficient(now, flags, more.low >> 16, third);
            if constexpr (M::RATE_OTHERS > 0)
                if (flags & OTHER) {
                    other<APART>(m.reaction_others + third, scale, a);
                    return;
                }
            if (flags & THIRD) scale = scale * s[third];
            if (flags & REACTANT) {
                const unsigned c = sides & 1023;
                scale = scale * s[c + 1], before = before * s[c];
            }
            if (flags & PRODUCT) after = after * s[sides >> 10];
        }
        leave<APART>(scale * (s[a + 1] * s[b + 1]), before, after, to, reverse);
    }
    // Two steps at a time, so that a warp need not wait for each result: what the one leaves would keep back what the
    // other reads. False where they are not of one kind, or do more that is rare than to count with a collider. The
    // rows of the second are ON behind those of the first.
    template <bool APART, unsigned ON>
    POINT_FN bool two_steps(const CrewStep *now, const unsigned to, const unsigned reverse) const {
        const unsigned flags = Word(now[0].right).low;
        if ((flags ^ Word(now[1].right).low) >> 24 || flags & (RARE & ~THIRD)) return false;
        R scale[2] = {R(now[0].A), R(now[1].A)}, before[2], after[2];
        const auto times = [&](const auto &of) {
            UNROLL
            for (int j = 0; j < 2; ++j) scale[j] = scale[j] * of(j);
        };
        if (flags & EXPONENT) times([&](const int j) { return exponential(now[j].b, now[j].E); });
        if (flags & THIRD) times([&](const int j) { return s[Word(now[j].more).low & 0xffff]; });
        UNROLL
        for (int j = 0; j < 2; ++j) {
            const Word left(now[j].left), right(now[j].right);
            before[j] = s[left.low] * s[left.high()], after[j] = s[right.low] * s[right.high()];
            scale[j] = scale[j] * (s[left.low + 1] * s[left.high() + 1]);
        }
        UNROLL
        for (int j = 0; j < 2; ++j) leave<APART>(scale[j], before[j], after[j], to + j * ON, reverse + j * ON);
        return true;
    }
};

// Each species' production by the warp that owns it: take(k, rate) of all that is made, where directions are apart,
// else of the net; then, where they are, of all that is consumed by take_consumed.
template <bool APART, class M, class R, class Species, class Gamma, class Take, class TakeConsumed>
POINT_FN void production(const M &m, const R T, const R p, const R rho, const Species &Y, const Gamma &ln_gamma,
                         const Take &take, const TakeConsumed &take_consumed) {
    static_assert(CREW == M::CREW_WARPS, "the portions are made for so many warps");
    typedef CrewRows<M> At;
    const int rank = crew_rank();
    crew_barrier(); // what a kernel before this one left may still be read
    const CrewBlocks<APART, M> blocks(m, rank);
    blocks.start(0);
    const CrewMemory s = crew_memory();
    // all that comes from far away first, to the rows of D and I
    FOR_OWN (k, M::NS) {
        s.set(2 * k, rho * (Y[k] * m.inv_W[k]));
        if constexpr (is_given<Gamma>::value) s.set(2 * k + 1, ln_gamma[k]);
    }
    const R known = reacting_temperature(T);
    const CrewReacting<M, R, Species, Gamma> crew{m, Y, known, rho, log(known), 1.0 / known, log(p), s};
    crew.species(rank);
    crew_barrier();
    crew.colliders(rank);
    crew_barrier();
    constexpr int OWN = (M::NS + CREW - 1) / CREW, PORTIONS = APART ? 2 * M::RATE_PORTIONS : M::RATE_PORTIONS;
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
        // a portion takes every so manieth eight of the steps, halves of it take turns
        const bool second = APART && portion >= M::RATE_PORTIONS;
        constexpr unsigned ON = APART ? 2 * CREW : CREW; // rows from a step's to that of the warp's next
        unsigned to = At::RATES + rank + (second ? CREW : 0);
        const unsigned reverse = second ? -CREW : CREW; // from there
        const double *const lists = block + CrewBlocks<APART, M>::LISTS;
        const CrewStep *now = (const CrewStep *)block;
        UNROLL_BY(1)
        for (int i = CREW * portion + rank; i < M::RATE_STEPS;) {
            int count = 2;
            if (i + CREW * PORTIONS >= M::RATE_STEPS || !crew.template two_steps<APART, ON>(now, to, to + reverse)) {
                crew.template step<APART>(*now, to, to + reverse);
                count = 1;
            }
            now += count, to += count * ON, i += count * (CREW * PORTIONS);
        }
        crew_barrier();
        CrewLists listed(lists);
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

template <class M, class R, class Species, class Gamma, class Out>
POINT_FN void net_production(const M &m, const R T, const R p, const R rho, const Species &Y, const Gamma &ln_gamma,
                             Out &omega_mol) {
    const auto take = [&](const int k, const R &rate) { omega_mol.set(k, rate); };
    production<false>(m, T, p, rho, Y, ln_gamma, take, Absent());
}

template <class M, class R, class Species, class Gamma, class OutC, class OutD>
POINT_FN void gross_production(const M &m, const R T, const R p, const R rho, const Species &Y, const Gamma &ln_gamma,
                               OutC &creation, OutD &destruction) {
    production<true>(
        m, T, p, rho, Y, ln_gamma, [&](const int k, const R &rate) { creation.set(k, rate * m.W[k]); },
        [&](const int k, const R &rate) { destruction.set(k, rate * m.W[k]); });
}
