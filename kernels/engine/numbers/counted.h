// A double that counts the operations done to it: running a kernel on it gives the kernel's operation counts. CPU only,
// one thread. A fused multiply-add counts as two. At each point only the branch that is taken counts.
#pragma once
#include "engine/numbers/launch.h"

// In the order of KINDS in counting.py.
enum { ADD, MULTIPLY, DIVIDE, ROOT, EXP, LOG, CUBE_ROOT, START, CHOICE, TABLE, NARROW, NARROW_DIVIDE, KINDS };
static double operations[KINDS];
struct counted {
    double v;
    counted() {}
    counted(double x) : v(x) {}
};

// For intermediates in single precision of results in double (Takahashi's factor). Their operations take another time
// than those in double and have counters of their own.
struct counted_narrow {
    double v;
    counted_narrow() {}
    counted_narrow(double x) : v(x) {}
};

static inline counted tally(int kind, double result) {
    ++operations[kind];
    return counted(result);
}

static inline bool chosen(bool result) {
    ++operations[CHOICE];
    return result;
}

#define BINARY(T, op, kind) \
    static inline T operator op(T a, T b) { return T(tally(kind, a.v op b.v).v); } \
    static inline T operator op(T a, double b) { return T(tally(kind, a.v op b).v); } \
    static inline T operator op(double a, T b) { return T(tally(kind, a op b.v).v); }
BINARY(counted, +, ADD)
BINARY(counted, -, ADD)
BINARY(counted, *, MULTIPLY)
BINARY(counted, /, DIVIDE)
BINARY(counted_narrow, +, NARROW)
BINARY(counted_narrow, -, NARROW)
BINARY(counted_narrow, *, NARROW)
BINARY(counted_narrow, /, NARROW_DIVIDE)
#undef BINARY
// A change of sign is free: the compiler merges it with a neighbouring operation.
static inline counted operator-(counted a) { return counted(-a.v); }
static inline counted &operator+=(counted &a, counted b) { return a = a + b; }
static inline counted &operator-=(counted &a, counted b) { return a = a - b; }
static inline counted &operator*=(counted &a, counted b) { return a = a * b; }
#define COMPARE(op) \
    static inline bool operator op(counted a, counted b) { return chosen(a.v op b.v); } \
    static inline bool operator op(counted a, double b) { return chosen(a.v op b); }
COMPARE(<)
COMPARE(>)
COMPARE(<=)
COMPARE(>=)
#undef COMPARE
static inline counted select(bool c, counted yes, counted no) { return tally(CHOICE, c ? yes.v : no.v); }
static inline counted larger(counted a, counted b) { return tally(CHOICE, a.v > b.v ? a.v : b.v); }
static inline counted smaller(counted a, counted b) { return tally(CHOICE, a.v < b.v ? a.v : b.v); }
static inline counted fabs(counted x) { return tally(CHOICE, __builtin_fabs(x.v)); }
static inline counted copysign(counted size, counted sign) { return tally(CHOICE, __builtin_copysign(size.v, sign.v)); }
static inline counted floor_small(counted x) { return tally(CHOICE, __builtin_floor(x.v)); }
static inline counted sqrt(counted x) { return tally(ROOT, __builtin_sqrt(x.v)); }
static inline counted exp(counted x) { return tally(EXP, __builtin_exp(x.v)); }
static inline counted expm1(counted x) { return tally(EXP, __builtin_expm1(x.v)); }
static inline counted log(counted x) { return tally(LOG, __builtin_log(x.v)); }
static inline counted cbrt(counted x) { return tally(CUBE_ROOT, __builtin_cbrt(x.v)); }
static inline counted flipped(counted x, counted sign) { return tally(CHOICE, __builtin_copysign(1.0, sign.v) * x.v); }
static inline counted two_thirds_start(counted x) {
    const double root = __builtin_cbrt(x.v);
    return tally(START, root * root);
}

static inline counted inverse_root_start(counted x) { return tally(START, 1.0 / __builtin_sqrt(x.v)); }
static inline counted table_row(const double *table, counted row) { return tally(TABLE, table[int(row.v)]); }
static inline counted_narrow larger(counted_narrow a, counted_narrow b) {
    return tally(CHOICE, a.v > b.v ? a.v : b.v).v;
}

static inline counted_narrow smaller(counted_narrow a, counted_narrow b) {
    return tally(CHOICE, a.v < b.v ? a.v : b.v).v;
}

static inline counted_narrow narrow(counted x) { return x.v; }
static inline counted widen(counted_narrow x) { return x.v; }
static inline int window_of(counted above, counted below, counted_narrow &x) {
    const counted along = smaller(double(CUBIC_WINDOWS) * (above / below), counted(CUBIC_WINDOWS - 0.001)),
                  window = floor_small(along);
    x = narrow(along - window - 0.5);
    return int(window.v);
}

static inline int row_of(counted_narrow number, counted_narrow &share) {
    const double row = tally(CHOICE, __builtin_floor(number.v)).v;
    share = number - row;
    return int(row);
}

static inline counted_narrow reciprocal(counted_narrow x) { return 1.0 / x; }
static inline counted_narrow rough_quotient(counted_narrow a, counted_narrow b) { return a / b; }
static inline counted rough_quotient(counted a, counted b) { return a / b; }
static inline void two_cubics(const double *table, int line, counted_narrow x, counted_narrow &here,
                              counted_narrow &behind) {
    const Cubic *from = (const Cubic *)table + line;
    here = cubic_at(from[0], float(x.v));
    behind = cubic_at(from[1], float(x.v));
    operations[NARROW] += 12, operations[TABLE] += 8;
}

static inline void load(const double *address, counted &x) { x.v = *address; }
static inline void store(double *address, counted x) { *address = x.v; }

template <> struct number<counted> {
    static constexpr int lanes = 1;
    static constexpr bool wide = false;
    typedef double stored;
    typedef counted_narrow narrow;
    typedef int index;
};

// Writes the counts to `into` and sets them to zero.
struct Counts {
    double *into;
};

KERNEL(frame_counts, Counts) {
    (void)items, (void)threads;
    for (int k = 0; k < KINDS; ++k) record->into[k] = operations[k], operations[k] = 0;
    return 0;
}
