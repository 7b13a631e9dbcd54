// Functions of packs that C++ and CUDA have of numbers, on a CPU: of real numbers beside those of pack.h, and of whole
// numbers. What a body calls on a device is here, too, with the same results at the ends of its range.
#pragma once
#include <math.h>

// ---- of real numbers, lane by lane
#define OF_EACH_LANE(name) \
    POINT_FN vec name(const vec &x) { \
        vec y; \
        for (int l = 0; l < VECTOR_LANES; ++l) y.v[l] = scalar(::name(x.v[l])); \
        return y; \
    }
OF_EACH_LANE(sin)
OF_EACH_LANE(cos)
OF_EACH_LANE(tan)
OF_EACH_LANE(asin)
OF_EACH_LANE(acos)
OF_EACH_LANE(atan)
OF_EACH_LANE(sinh)
OF_EACH_LANE(cosh)
OF_EACH_LANE(tanh)
OF_EACH_LANE(asinh)
OF_EACH_LANE(acosh)
OF_EACH_LANE(atanh)
OF_EACH_LANE(exp2)
OF_EACH_LANE(log2)
OF_EACH_LANE(log10)
OF_EACH_LANE(log1p)
OF_EACH_LANE(erf)
OF_EACH_LANE(erfc)
OF_EACH_LANE(tgamma)
OF_EACH_LANE(lgamma)
OF_EACH_LANE(floor)
OF_EACH_LANE(ceil)
OF_EACH_LANE(trunc)
OF_EACH_LANE(round)
OF_EACH_LANE(rint)
OF_EACH_LANE(nearbyint)
OF_EACH_LANE(logb)
OF_EACH_LANE(rsqrt)
#undef OF_EACH_LANE

#define OF_TWO_LANES(name) \
    POINT_FN vec name(const vec &x, const vec &y) { \
        vec z; \
        for (int l = 0; l < VECTOR_LANES; ++l) z.v[l] = scalar(::name(x.v[l], y.v[l])); \
        return z; \
    }
OF_TWO_LANES(pow)
OF_TWO_LANES(atan2)
OF_TWO_LANES(hypot)
OF_TWO_LANES(fmod)
OF_TWO_LANES(remainder)
OF_TWO_LANES(fdim)
OF_TWO_LANES(nextafter)
#undef OF_TWO_LANES

POINT_FN vec fma(const vec &x, const vec &y, const vec &z) {
    vec sum;
    for (int l = 0; l < VECTOR_LANES; ++l) sum.v[l] = scalar(::fma(x.v[l], y.v[l], z.v[l]));
    return sum;
}

POINT_FN vec &operator/=(vec &a, const vec &b) { return a = a / b; }
POINT_FN vec operator+(const vec &a) { return a; }

// ---- questions about real numbers
POINT_FN vmask operator==(const vec &a, const vec &b) { return a <= b && a >= b; }
POINT_FN vmask operator!=(const vec &a, const vec &b) { return !(a == b); }
constexpr double LARGEST_NUMBER = IN_SINGLE ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
POINT_FN vmask isnan(const vec &x) { return !(x <= x); }
POINT_FN vmask isinf(const vec &x) { return fabs(x) > LARGEST_NUMBER; }
POINT_FN vmask isfinite(const vec &x) { return fabs(x) <= LARGEST_NUMBER; }
POINT_FN vmask signbit(const vec &x) { return copysign(vec(1.0), x) < 0.0; }

// The number where the other one is NaN
POINT_FN vec fmax(const vec &x, const vec &y) { return select(x <= x, larger(y, x), y); }
POINT_FN vec fmin(const vec &x, const vec &y) { return select(x <= x, smaller(y, x), y); }
POINT_FN vec max(const vec &x, const vec &y) { return fmax(x, y); }
POINT_FN vec min(const vec &x, const vec &y) { return fmin(x, y); }
POINT_FN vec abs(const vec &x) { return fabs(x); }

// ---- of whole numbers
#define WITH_WHOLE(A, B) typename std::enable_if<WholePair<A, B>::value, int>::type = 0
template <class A, class B, WITH_WHOLE(A, B)> POINT_FN auto max(const A &a, const B &b) {
    return each_of<BothNumber<A, B>, true>(whole_of(a), whole_of(b), [](auto x, auto y) { return max(x, y); });
}

template <class A, class B, WITH_WHOLE(A, B)> POINT_FN auto min(const A &a, const B &b) {
    return each_of<BothNumber<A, B>, true>(whole_of(a), whole_of(b), [](auto x, auto y) { return min(x, y); });
}

template <class A, WITH_WHOLE(A, A)> POINT_FN auto operator+(const A &a) { return whole_of(a); }
template <class A, WITH_WHOLE(A, A)> POINT_FN auto abs(const A &a) { return max(a, 0 - a); }

// C: vmask, or bool where all lanes share the condition
template <class C, class A, class B> POINT_FN auto chosen_whole(const C &condition, const A &yes, const B &no) {
    const auto a = whole_of(yes);
    const auto b = whole_of(no);
    BothWhole<A, B> c;
    count_lanes(c, lanes_of(a) < lanes_of(b) ? lanes_of(a) : lanes_of(b));
    for (int l = 0; l < VECTOR_LANES; ++l)
        c.lane[l] = lane_of(condition, l) ? long(lane_of(a, l)) : long(lane_of(b, l));
    return c;
}

template <class A, class B, WITH_WHOLE(A, B)> POINT_FN auto select(vmask condition, const A &yes, const B &no) {
    return chosen_whole(condition, yes, no);
}

template <class A, class B, WITH_WHOLE(A, B)> POINT_FN auto select(bool condition, const A &yes, const B &no) {
    return chosen_whole(condition, yes, no);
}

// Two whole numbers, the same for all lanes
template <class A, class B,
          typename std::enable_if<std::is_integral<A>::value && std::is_integral<B>::value, int>::type = 0>
POINT_FN auto select(vmask condition, A yes, B no) {
    ChosenWhole<decltype(yes + no)> c;
    for (int l = 0; l < VECTOR_LANES; ++l) c.lane[l] = lane_of(condition, l) ? long(yes) : long(no);
    return c;
}

// ---- whole numbers as conditions: those of logical arrays
POINT_FN vmask truth_of(vmask condition) { return condition; }
template <class A, WITH_WHOLE(A, A)> POINT_FN vmask truth_of(const A &a) { return a != 0; }

template <class A, WITH_WHOLE(A, A)> POINT_FN vmask operator!(const A &a) { return a == 0; }

template <class C, class A, class B, WITH_WHOLE(C, C)> POINT_FN auto select(const C &c, const A &yes, const B &no) {
    return select(truth_of(c), yes, no);
}

// Two conditions, not both of them masks
template <class A, class B> struct ConditionPair {
    static constexpr bool a = SAME<A, vmask>, b = SAME<B, vmask>,
                          value = (a || WholePack<A>::value) && (b || WholePack<B>::value) && !(a && b);
};

#define WITH_CONDITIONS(A, B) typename std::enable_if<ConditionPair<A, B>::value, int>::type = 0
template <class A, class B, WITH_CONDITIONS(A, B)> POINT_FN vmask operator&&(const A &a, const B &b) {
    return truth_of(a) && truth_of(b);
}

template <class A, class B, WITH_CONDITIONS(A, B)> POINT_FN vmask operator||(const A &a, const B &b) {
    return truth_of(a) || truth_of(b);
}
#undef WITH_CONDITIONS

// A condition that all lanes share beside one of each lane
POINT_FN vmask operator&&(bool a, vmask b) { return a ? b : b && !b; }
POINT_FN vmask operator||(bool a, vmask b) { return a ? b || !b : b; }
POINT_FN vmask operator&&(vmask a, bool b) { return b && a; }
POINT_FN vmask operator||(vmask a, bool b) { return b || a; }
template <class A, WITH_WHOLE(A, A)> POINT_FN vmask operator&&(bool a, const A &b) { return a && truth_of(b); }
template <class A, WITH_WHOLE(A, A)> POINT_FN vmask operator||(bool a, const A &b) { return a || truth_of(b); }
template <class A, WITH_WHOLE(A, A)> POINT_FN vmask operator&&(const A &a, bool b) { return b && truth_of(a); }
template <class A, WITH_WHOLE(A, A)> POINT_FN vmask operator||(const A &a, bool b) { return b || truth_of(a); }

POINT_FN vmask operator==(vmask a, vmask b) { return (a && b) || !(a || b); }
POINT_FN vmask operator!=(vmask a, vmask b) { return !(a == b); }
#undef WITH_WHOLE
