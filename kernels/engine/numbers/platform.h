// The functions that point bodies call on any number type: select, any_of, all_of, at_least, at_most, Rows and others.
#pragma once

#include "engine/numbers/kernel.h"
#ifndef ON_DEVICE
#include <math.h>
#endif

// Threads may share the work of a point. Each then owns some species, whose results it writes:
//   FOR_OWN(s, count)          loop over the species that the thread owns
//   FOR_UNKNOWNS(i, count)     the same over species and temperature
//   over_owners(x, join)       join(join(x_1, x_2), x_3)... over the threads of a point; all of them get the result
//   sum_over_owners(x)         several sums of that kind
//   owned(count), own(s)       length of an array of what a thread owns; index of s in it
//   owns(s), of_owner(x, s)    whether the thread owns s; the number that the owner of s has
// A header that lets threads share points (gas/schedules) defines the loops, and these functions, before the others.
// By default a thread has a point to itself, and owns all species.
#ifndef FOR_OWN
#define FOR_OWN(s, count) FOR_SPECIES (s, count)
#define FOR_UNKNOWNS(i, count) UNROLL_BY(SPECIES_UNROLL + 1) for (int i = 0; i < (count); ++i)
template <class R, class Join> POINT_FN R over_owners(const R part, const Join &) { return part; }
template <class R, int N> POINT_FN void sum_over_owners(R (&)[N]) {}
POINT_FN constexpr int owned(const int count) { return count; }
POINT_FN int own(const int s) { return s; }
POINT_FN bool owns(int) { return true; }
template <class R> POINT_FN R of_owner(const R *x, const int s) { return x[s]; }
#endif

// sum = sum of term(s) over all species s. All threads of a point get it.
template <int COUNT, class R, class Term> POINT_FN void sum_over_species(R &sum, const Term &term) {
    sum = term(0);
    FOR_SPECIES (s, COUNT - 1) sum += term(s + 1);
}

// The same of x and x weight[s], where x = term(s).
template <int COUNT, class R, class Weight, class Term>
POINT_FN void sums_over_species(R &sum, R &weighted, const Weight *weight, const Term &term) {
    sum = term(0);
    weighted = sum * weight[0];
    FOR_SPECIES (s, COUNT - 1) {
        const R x = term(s + 1);
        weighted += x * weight[s + 1];
        sum += x;
    }
}

// Whether M is the mixture of a first pass over points (sorted.h), in which a point that needs more than its kind is
// put off, and a body has no code for that.
template <class M> constexpr bool IS_QUICK_PASS = false;

// Whether the points that share an instruction mostly agree on a condition, and a branch on it pays.
template <class R> constexpr bool NEIGHBOURS_AGREE = false;
// Whether the numbers of a point fill vectors, as neighbouring points do elsewhere: exp_all and log_all (alone.h).
template <class R> constexpr bool FILLS_VECTORS = false;
// Whether a number mostly waits for the one before, as at a point by itself (alone.h): chains are kept short then.
// Elsewhere neighbours fill the time, and few operations count.
template <class R> constexpr bool IN_CHAINS = false;
// Whether numbers of species lie so that they fill vectors: in_packs_of (alone.h).
template <class Species> constexpr bool SIDE_BY_SIDE = false;
// Numbers of an array to which `count` are stored; more where they are stored by packs (alone.h).
template <class R> constexpr int room_for(const int count) { return count; }
// The number of a species in a table; of several species: alone.h.
POINT_FN double of_species(const double *table, const int s) { return table[s]; }
POINT_FN float of_species(const float *table, const int s) { return table[s]; }

// Whether a body may keep an array of all species. On a GPU it may only where the array fits in registers and every
// loop over it is unrolled.
#if defined(ON_DEVICE) && !defined(SPECIES_HELD)
constexpr bool SPECIES_ARRAYS = false;
#else
constexpr bool SPECIES_ARRAYS = true;
#endif

// Whether a part that few points take is a function of its own.
#if defined(ON_DEVICE) && defined(SPECIES_HELD)
constexpr bool RARE_APART = true;
#else
constexpr bool RARE_APART = false;
#endif

constexpr double SQRT2 = 1.41421356237309504880;
constexpr double LN2 = 0.69314718055994530942, LOG2E = 1.44269504088896340736;
#ifndef FRAME_GAS_CONSTANT                  // a source defines it for a host that has a number of its own
#define FRAME_GAS_CONSTANT 8.31446261815324 // CODATA 2018 (exact: k_B N_A)
#endif
constexpr double R_UNIVERSAL = FRAME_GAS_CONSTANT; // J/mol/K

#ifdef FRAME_FLOAT_ARRAYS // outside: the type of the elements of a program's input and output arrays
typedef float outside;
#else
typedef double outside;
#endif
// scalar: the type of constants and of the values in packs and points. SMALLEST keeps divisors away from zero. WHOLE:
// how far from 1 a sum of fractions may be.
#ifdef FRAME_SINGLE
typedef float scalar;
constexpr double SMALLEST = 1e-36, WHOLE = 1e-5;
constexpr bool IN_SINGLE = true;
#else
typedef double scalar;
constexpr double SMALLEST = 1e-300, WHOLE = 1e-6;
constexpr bool IN_SINGLE = false;
#endif

// ---- scalar number types; pack.h overloads these names for packs
POINT_FN double select(bool condition, double yes, double no) { return condition ? yes : no; }
POINT_FN double larger(double a, double b) { return a > b ? a : b; } // b where a or b is NaN
POINT_FN double smaller(double a, double b) { return a < b ? a : b; }
POINT_FN bool any_of(bool condition) { return condition; }
POINT_FN bool all_of(bool condition) { return condition; }
POINT_FN double table_row(const double *table, double row) { return table[int(row)]; }
// Tables of cubics in single precision. two_cubics evaluates the cubic at `line` and the one that follows it, at x.
struct alignas(16) Cubic {
    float c[4];
};

POINT_FN float narrow(double x) { return float(x); }
POINT_FN double widen(float x) { return x; }
POINT_FN float larger(float a, float b) { return a > b ? a : b; }
POINT_FN float smaller(float a, float b) { return a < b ? a : b; }
constexpr int CUBICS_A_WINDOW = 19, CUBIC_WINDOWS = 512;
// window_of: the window in which above/below < 1 lies, and x, the distance from its middle. row_of: the row before a
// number >= 0, and `share`, the distance from that row. NaN gives some window and some row.
POINT_FN int window_of(double above, double below, float &x) {
    const double along = smaller(CUBIC_WINDOWS * (above / below), CUBIC_WINDOWS - 0.001);
    const int window = int(along);
    x = float(along - window - 0.5);
    return window;
}

POINT_FN int row_of(float number, float &share) {
    const int row = int(number);
    share = number - float(row);
    return row;
}

POINT_FN int table_index(int window, int row) { return window * CUBICS_A_WINDOW + row; }
POINT_FN float rough_quotient(float a, float b) { return a / b; }
POINT_FN float reciprocal(float x) { return 1.0f / x; }
POINT_FN double rough_quotient(double a, double b) { return a / b; }
POINT_FN float cubic_at(const Cubic &a, float x) { return a.c[0] + x * (a.c[1] + x * (a.c[2] + x * a.c[3])); }
POINT_FN void two_cubics(const double *table, int line, float x, float &here, float &behind) {
    const Cubic *const from = (const Cubic *)table + line, first = from[0], second = from[1];
    here = cubic_at(first, x);
    behind = cubic_at(second, x);
}

POINT_FN double floor_small(double x) { return floor(x); }
POINT_FN void load(const double *address, double &x) { x = *address; }
POINT_FN void store(double *address, double x) { *address = x; }
POINT_FN double flipped(double x, double sign) { return copysign(1.0, sign) * x; } // -x where sign is negative
// Starts of iterations, exact here; packs and a point by itself (alone.h) have rough ones. A function that is no
// template, as theirs, is preferred to a template.
template <int = 0> POINT_FN double two_thirds_start(double x) {
    const double root = cbrt(x);
    return root * root;
}

template <int = 0> POINT_FN double inverse_root_start(double x) { return 1.0 / sqrt(x); }

#ifdef FRAME_WIDE // ahead of the templates below: argument-dependent look-up finds no functions of built-in types
#include "engine/numbers/wide.h"
#endif

template <class R> struct number { // how a number type lies in memory
    static constexpr int lanes = 1;
    static constexpr bool wide = false;
    typedef R stored;
    typedef float narrow; // a value read from a table in single precision
    typedef int index;    // and an index into such a table
};

#ifdef FRAME_WIDE
template <> struct number<wide> {
    static constexpr int lanes = 1;
    static constexpr bool wide = true;
    typedef __float128 stored;
    typedef float narrow;
    typedef int index;
};
#endif

// Bounds that keep NaN, unlike fmin and fmax.
template <class R> POINT_FN R at_least(R x, double floor) { return larger(R(floor), x); }
template <class R> POINT_FN R at_most(R x, double ceiling) { return smaller(R(ceiling), x); }
// a < b for numbers >= 0; their last digits are not compared. Threads compare integers, which leaves the units for
// doubles free. NaN gives either answer.
template <class R> POINT_FN auto roughly_less(R a, R b) { return a < b; }
// A bounded index into a table. NaN and negative numbers become 0; the values beside the index carry the NaN.
template <class R> POINT_FN R bounded_index(R x, double ceiling) { return larger(at_most(x, ceiling), R(0.0)); }
// use(pack_of) for each pack of a value; pack_of(x) is that pack of x. Values of several packs: pack.h.
template <class Use, class R> POINT_FN void one_by_one(const Use &use, R) {
    use([](auto &x) -> auto & { return x; });
}

template <class R> POINT_FN R square(R x) { return x * x; }
// by a condition on a constant, the same at all points; of several species: alone.h
template <class R> POINT_FN R either(const bool condition, const R yes, const R no) { return condition ? yes : no; }
// Powers, written with functions that every number type has. Packs and threads have faster ones.
template <class R> POINT_FN R inverse(R x) { return 1.0 / x; }
// x_i = 1/x_i: by a single division, or a division each where chains are kept short
template <class R> POINT_FN void invert_all(R (&x)[4]) {
    if constexpr (IN_CHAINS<R>) {
        UNROLL
        for (int i = 0; i < 4; ++i) x[i] = 1.0 / x[i];
    } else {
        const R first = x[0] * x[1];
        const R second = x[2] * x[3];
        const R inv = 1.0 / (first * second);
        const R inv_first = inv * second;
        const R inv_second = inv * first;
        const R old[] = {x[0], x[1], x[2], x[3]};
        x[0] = inv_first * old[1];
        x[1] = inv_first * old[0];
        x[2] = inv_second * old[3];
        x[3] = inv_second * old[2];
    }
}

template <class R> POINT_FN R inverse_root(R x) { return 1.0 / sqrt(x); }
// a/b of a step that others follow: rough at a point by itself (alone.h), by 6e-5 of it
template <class R> POINT_FN R quotient_start(const R a, const R b) { return a / b; }

// sqrt(x) and 1/sqrt(x): the second first, or both from the root where chains are kept short
template <class R> POINT_FN void root_and_inverse(const R x, R &root, R &inverse) {
    if constexpr (IN_CHAINS<R>) {
        root = sqrt(x);
        inverse = root / x;
    } else {
        inverse = inverse_root(x);
        root = x * inverse;
    }
}

template <class R> POINT_FN R inverse_fourth_root(R x) { return 1.0 / sqrt(sqrt(x)); }
// c_0 + c_1 x + c_2 x^2 + ... in pairs: (c_0 + c_1 x) + x^2 (c_2 + c_3 x) + ... (Estrin's scheme)
template <class R, int N> POINT_FN R in_pairs(const R x, const R (&c)[N]) {
    if constexpr (N == 1) return c[0];
    else {
        R half[(N + 1) / 2];
        half[(N - 1) / 2] = c[N - 1]; // the last of an odd number
        for (int k = 0; k < N / 2; ++k) half[k] = c[2 * k] + x * c[2 * k + 1];
        return in_pairs(x * x, half);
    }
}

// The same by Horner's scheme, or in pairs where chains are kept short
template <class R, class First, class Second, class... More>
POINT_FN R polynomial(const R x, const First c_0, const Second c_1, const More... more) {
    if constexpr (IN_CHAINS<R>) {
        const R c[] = {R(c_0), R(c_1), R(more)...};
        return in_pairs(x, c);
    } else if constexpr (sizeof...(More) == 0) return c_0 + x * c_1;
    else return c_0 + x * polynomial(x, c_1, more...);
}

// atanh(sqrt(w))/sqrt(w) = 1 + w q(w) for 0 <= w <= 1/2; q is interpolated at Chebyshev points
// (fits/atanh.py: relative error 8e-17; in single precision 7e-9).
template <class R> POINT_FN R atanh_over_root(R w) {
    const R w2 = w * w;
    if constexpr (IN_SINGLE) {
        const R even = 0.33333333 + w2 * (0.14301536 + w2 * (0.12197567 + w2 * (0.57763499 + w2 * 0.67559262)));
        const R odd = 0.19999699 + w2 * (0.10795217 + w2 * (-0.090651369 - w2 * 0.78514688));
        return 1.0 + w * (even + w * odd);
    }
    if constexpr (IN_CHAINS<R>) { // of a thin gas w is small: the series as it is, whose next term is below 1e-19
        if (all_of(w < 1.0 / 1024)) return polynomial(w, 1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11);
    }
    const R even = polynomial(w2, 0.3333333333333334, 0.14285714289234905, 0.09090925691372133, 0.0667674887095401,
                              0.06696910695418518, 0.6578236180746505, 8.772267647030702, 40.35748192943202,
                              49.85035525102195, 7.62722932289126);
    const R odd = polynomial(w2, 0.19999999999985282, 0.11111110777993315, 0.07691804772084451, 0.0574111714749272,
                             -0.060455571140087226, -2.6150770515827872, -21.709744458799758, -54.08237546659234,
                             -28.302405205750368);
    return 1.0 + w * (even + w * odd);
}

// atan(sqrt(w))/sqrt(w) = 1 + w q(w) for 0 <= w <= tan(pi/8)^2; q is interpolated at Chebyshev points
// (fits/atan.py: relative error 7e-18).
template <class R> POINT_FN R atan_over_root(const R w) {
    const R w2 = w * w;
    const R even = polynomial(w2, -0.3333333333333333, -0.14285714284666542, -0.09090904578123903, -0.06664511447381948,
                              -0.0508544973794026, -0.01917688711906226);
    const R odd = polynomial(w2, 0.1999999999999552, 0.11111111015256361, 0.07692183190826087, 0.0585814891280221,
                             0.03923165829558719);
    return 1.0 + w * (even + w * odd);
}

// atan(x) for x >= 0: the angle is halved twice
template <class R> POINT_FN R arctangent(const R x) {
    const R half = x / (1.0 + sqrt(1.0 + x * x));
    const R quarter = half / (1.0 + sqrt(1.0 + half * half));
    return 4.0 * (quarter * atan_over_root(quarter * quarter));
}

template <class Exponent, class R> POINT_FN R power(Exponent, R x) {
    return exp(Exponent::value * log(x));
} // 1/16 <= x < 4096, |exponent| < 1
template <class R> POINT_FN R inverse_two_thirds(R x) { return square(1.0 / cbrt(x)); } // x^(-2/3), 1/16 <= x < 4096
template <class R> POINT_FN R two_to(R a, R b) {
    return exp(LN2 * (a * b));
} // 2^(a b); threads and packs of AVX-512 do not round the product a b
template <class R> POINT_FN R two_to_less_one(R a, R b) { return expm1(LN2 * (a * b)); }
// is_whole: whether fractions with this sum are a composition. not_whole: 0 where they are, else NaN.
template <class R> POINT_FN auto is_whole(const R sum) {
    const R off = sum - 1.0;
    return off < WHOLE && off > -WHOLE;
}

template <class R> POINT_FN R not_whole(const R sum) { return select(is_whole(sum), R(0.0), R(NOT_A_NUMBER)); }

// work(i) for i = 0 .. COUNT-1, where the type of i holds its value (i.value). Species arrays in registers need indices
// that the compiler knows, also in loops whose bounds depend on an outer index.
template <int I> struct Constant {
    static constexpr int value = I;
    POINT_FN constexpr operator int() const { return I; }
};

template <int...> struct Indices {}; // several of them in a type
template <int COUNT, int I = 0, class Work> POINT_FN void for_constants(const Work &work) {
    if constexpr (I < COUNT) {
        work(Constant<I>());
        for_constants<COUNT, I + 1>(work);
    }
}

// work(s) for the few species that have a number which the others lack (species_with in records.py): s is known to the
// compiler
template <class Few, class Work> POINT_FN void for_few(const Work &work) {
    for_constants<Few::COUNT>([&](auto i) INLINED { work(Constant<Few::species(decltype(i)::value)>()); });
}

// Whether a species is one of a few
template <class Few> POINT_FN bool is_among(const int s) {
    bool found = false;
    for_constants<Few::COUNT>([&](auto i) INLINED { found = found || s == Few::species(decltype(i)::value); });
    return found;
}

// sum x_s weight_s over all species
template <int NS, class R, class Species> POINT_FN void weighted_sum(R &sum, const scalar *weight, const Species &x) {
    sum_over_species<NS>(sum, [&](const int s) INLINED { return x[s] * weight[s]; });
}

// the same over few species
template <class Few, class R, class Species> POINT_FN R sum_of_few(const scalar *weight, const Species &x) {
    R sum = R(0.0);
    for_few<Few>([&](const auto s) INLINED { sum += x[s] * weight[s]; });
    return sum;
}

// The values at one point (or one pack of points) of several rows, points fastest in memory. Rows may lie anywhere.
template <class R> struct Rows {
    typename number<R>::stored *const *row;
    long t;
    bool past = false; // whether results go past the caches
    POINT_FN R operator[](int s) const {
        R x;
        load(row[s] + t, x);
        return x;
    }
    POINT_FN void set(int s, R x) const { store(row[s] + t, x); }
};

// The same of rows that lie `STRIDE` numbers apart.
template <class R, long STRIDE> struct EvenRows {
    typename number<R>::stored *base;
    POINT_FN R operator[](int s) const {
        R x;
        load(base + s * STRIDE, x);
        return x;
    }
    POINT_FN void set(int s, R x) const { store(base + s * STRIDE, x); }
};

// Matrices of many points are larger than the caches: a pack that is written past them takes its line of memory without
// reading it first. Memory that others read needs a fence after it (packs.h, which also finds out what goes past).
template <class R> POINT_FN void store_past(typename number<R>::stored *address, const R x) { store(address, x); }
template <class Out, class R> POINT_FN void set_past(Out &out, int s, const R x) { out.set(s, x); }
#ifndef ON_DEVICE
template <class R> POINT_FN void set_past(const Rows<R> &out, const int s, const R x) {
    if (out.past) store_past(out.row[s] + out.t, x);
    else out.set(s, x);
}
#endif

// Discards species values that are not among the outputs.
struct Discarded {
    template <class X> POINT_FN void set(int, X) const {}
};

// Stands for an optional quantity that this program does not compute.
struct Absent {};

// Species values held in registers; every index must be known to the compiler.
template <class R, int N> struct Held {
    R value[N];
    POINT_FN R operator[](int s) const { return value[s]; }
    POINT_FN void set(int s, R x) { value[s] = x; }
};
