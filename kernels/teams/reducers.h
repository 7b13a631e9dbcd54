// Reducers: how the values of many threads become a single one. A reducer has a neutral element, and join(a, b), which
// sets a to a and b together; b comes from higher indices. A body gives values to an accumulator, whose declared
// reducer joins them: total += x of a sum, most.join(x) of every reducer, least.join(x, i) of one that keeps an index.
// No accumulator can be read, assigned or joined in another way.
//
//   Sum  Product  Min  Max  MinMax         of real and whole numbers; NaN stays
//   MinLoc  MaxLoc  MinMaxLoc              with the smallest index of the value; the index of a NaN
//   AllOf  AnyOf                           of conditions: 1 or 0
//   BitAnd  BitOr  BitXor                  of whole numbers
//   struct Own : Reducer { neutral, join } a host's own, of Several<scalar, N> or Several<long, N>
#pragma once

// ---- values
template <class T> struct Located { // a number and its index; -1: there is none
    T value;
    long at;
};

template <class T> struct Extremes {
    T least, most;
};

template <class T, int N> struct Several {
    T v[N];
};

template <class A, class B> constexpr bool SAME = false;
template <class A> constexpr bool SAME<A, A> = true;

// Whether f(a, ...) is a call. Errors in a function with `auto` among its arguments are told as ever.
template <class X> X &&unevaluated();
template <class CALLED, class F, class... A> struct CallOf {
    static constexpr bool value = false;
};

template <class F, class... A> struct CallOf<decltype(void(unevaluated<const F &>()(unevaluated<A>()...))), F, A...> {
    static constexpr bool value = true;
};

template <class F, class... A> using CanCall = CallOf<void, F, A...>;

// Of a lambda that is a call, of which CanCall may ask whether it can be made. A CPU asks of each body: with packs of
// indices, with single ones.
#define ASKED_CALL(...) \
    ->decltype((void)__VA_ARGS__) { __VA_ARGS__; }
#ifdef ON_DEVICE
#define BODY_CALL(...) \
    { __VA_ARGS__; }
#else
#define BODY_CALL(...) ASKED_CALL(__VA_ARGS__)
#endif

template <class X> struct HasNoFraction {
    static constexpr bool value = X(0.5) == X(0);
};

template <> struct HasNoFraction<bool> {
    static constexpr bool value = true;
};

// The value of what a body gives.
template <class T> struct Made {
    template <class X> POINT_FN static T of(X x) {
        static_assert((!SAME<T, long> && !SAME<T, int> && !SAME<T, bool>) || HasNoFraction<X>::value,
                      "whole numbers are given a real one");
        return T(x);
    }
};

template <class T> struct Made<Located<T>> {
    template <class X> POINT_FN static Located<T> of(X x, long at) { return {Made<T>::of(x), at}; }
};

template <class T> struct Made<Extremes<T>> {
    template <class... X> POINT_FN static Extremes<T> of(X... x) { return {Made<T>::of(x...), Made<T>::of(x...)}; }
};

template <class T, int N> struct Made<Several<T, N>> {
    template <class... X> POINT_FN static Several<T, N> of(X... x) {
        static_assert(sizeof...(X) == N, "as many values as the result has numbers");
        return {{Made<T>::of(x)...}};
    }
};

// ---- reducers
struct Reducer {
    static constexpr char SIGN = ' ';      // of the assignment that a body may write, such as +=
    static constexpr bool PACKS = false;   // join takes packs of real numbers, too
    static constexpr bool VECTORS = false; // and the compiler's vectors of whole numbers
};

#ifdef ON_DEVICE
#define UNBOUNDED __longlong_as_double(0x7ff0000000000000LL)
#else
#define UNBOUNDED __builtin_inf()
#endif
POINT_FN void largest(double &x) { x = UNBOUNDED; }
POINT_FN void largest(float &x) { x = float(UNBOUNDED); }
POINT_FN void largest(long &x) { x = 0x7fffffffffffffff; }
POINT_FN void largest(int &x) { x = 0x7fffffff; }
POINT_FN void smallest(double &x) { x = -UNBOUNDED; }
POINT_FN void smallest(float &x) { x = float(-UNBOUNDED); }
POINT_FN void smallest(long &x) { x = -0x7fffffffffffffff - 1; }
POINT_FN void smallest(int &x) { x = -0x7fffffff - 1; }
template <class T> POINT_FN T chosen(bool c, T yes, T no) { return c ? yes : no; }

struct Sum : Reducer {
    static constexpr char SIGN = '+';
    static constexpr bool PACKS = true, VECTORS = true;
    template <class T> POINT_FN static void neutral(T &x) { x = T(0); }
    template <class T> POINT_FN static void join(T &a, T b) { a = a + b; }
};

struct Product : Reducer {
    static constexpr char SIGN = '*';
    static constexpr bool PACKS = true, VECTORS = true;
    template <class T> POINT_FN static void neutral(T &x) { x = T(1); }
    template <class T> POINT_FN static void join(T &a, T b) { a = a * b; }
};

struct Min : Reducer {
    static constexpr bool PACKS = true;
    template <class T> POINT_FN static void neutral(T &x) { largest(x); }
    template <class T> POINT_FN static void join(T &a, T b) { a = chosen(b < a || !(b >= b), b, a); }
};

struct Max : Reducer {
    static constexpr bool PACKS = true;
    template <class T> POINT_FN static void neutral(T &x) { smallest(x); }
    template <class T> POINT_FN static void join(T &a, T b) { a = chosen(b > a || !(b >= b), b, a); }
};

// With an index: NaN before all numbers, then the best value, then the smallest index (-1 is the largest here).
template <class BEST> struct WithIndex : Reducer {
    template <class T> POINT_FN static void neutral(Located<T> &x) { BEST::neutral(x.value), x.at = -1; }
    template <class T> POINT_FN static void join(Located<T> &a, Located<T> b) {
        const bool a_nan = !(a.value >= a.value);
        const bool b_nan = !(b.value >= b.value);
        const bool earlier = (unsigned long)b.at < (unsigned long)a.at;
        T best = a.value;
        BEST::join(best, b.value);
        const bool same = a.value == b.value || (a_nan && b_nan);
        const bool better = b_nan ? !a_nan : !a_nan && best != a.value;
        if (better || (same && earlier)) a = b;
    }
};

typedef WithIndex<Min> MinLoc;
typedef WithIndex<Max> MaxLoc;

template <class LEAST, class MOST> struct BothEnds : Reducer {
    template <class T> POINT_FN static void neutral(Extremes<T> &x) { LEAST::neutral(x.least), MOST::neutral(x.most); }
    template <class T> POINT_FN static void join(Extremes<T> &a, const Extremes<T> &b) {
        LEAST::join(a.least, b.least), MOST::join(a.most, b.most);
    }
};

typedef BothEnds<Min, Max> MinMax;
typedef BothEnds<MinLoc, MaxLoc> MinMaxLoc;

struct AllOf : Reducer {
    static constexpr char SIGN = '&';
    template <class T> POINT_FN static void neutral(T &x) { x = T(1); }
    template <class T> POINT_FN static void join(T &a, T b) { a = a && b; }
};

struct AnyOf : Reducer {
    static constexpr char SIGN = '|';
    template <class T> POINT_FN static void neutral(T &x) { x = T(0); }
    template <class T> POINT_FN static void join(T &a, T b) { a = a || b; }
};

struct BitAnd : Reducer {
    static constexpr char SIGN = '&';
    static constexpr bool VECTORS = true;
    template <class T> POINT_FN static void neutral(T &x) { x = T(~T(0)); }
    template <class T> POINT_FN static void join(T &a, T b) { a &= b; }
};

struct BitOr : Reducer {
    static constexpr char SIGN = '|';
    static constexpr bool VECTORS = true;
    template <class T> POINT_FN static void neutral(T &x) { x = T(0); }
    template <class T> POINT_FN static void join(T &a, T b) { a |= b; }
};

struct BitXor : Reducer {
    static constexpr char SIGN = '^';
    static constexpr bool VECTORS = true;
    template <class T> POINT_FN static void neutral(T &x) { x = T(0); }
    template <class T> POINT_FN static void join(T &a, T b) { a ^= b; }
};

// A function c = f(a, b) of a body as a reducer; the neutral element is a value.
template <class F, class T> struct By : Reducer {
    F f;
    T none;
    POINT_FN By(const F &f, T none) : f(f), none(none) {}
    POINT_FN void neutral(T &x) const { x = none; }
    POINT_FN void join(T &a, T b) const { a = f(a, b); }
};

// A reducer as it is; a function with its neutral element as a reducer.
template <class R, class T> POINT_FN auto reducer_of(const R &r, T none) {
    if constexpr (__is_base_of(Reducer, R)) return r;
    else return By<R, T>(r, none);
}

// ---- accumulators: what a body gives its values to
#define ACCUMULATES \
    template <class X> POINT_FN void operator+=(const X &x) { \
        static_assert(R::SIGN == '+', "this result is no sum: result.join(x) gives a value to its reducer"); \
        join(x); \
    } \
    template <class X> POINT_FN void operator-=(const X &x) { *this += 0L - x; } /* unsigned numbers, too */ \
    POINT_FN void operator++() { *this += 1; } \
    POINT_FN void operator++(int) { *this += 1; } \
    template <class X> POINT_FN void operator*=(const X &x) { \
        static_assert(R::SIGN == '*', "this result is no product: result.join(x) gives a value to its reducer"); \
        join(x); \
    } \
    template <class X> POINT_FN void operator&=(const X &x) { \
        static_assert(R::SIGN == '&', \
                      "this result is not joined by and: result.join(x) gives a value to its reducer"); \
        join(x); \
    } \
    template <class X> POINT_FN void operator|=(const X &x) { \
        static_assert(R::SIGN == '|', "this result is not joined by or: result.join(x) gives a value to its reducer"); \
        join(x); \
    } \
    template <class X> POINT_FN void operator^=(const X &x) { \
        static_assert(R::SIGN == '^', \
                      "this result is not joined by xor: result.join(x) gives a value to its reducer"); \
        join(x); \
    }

// Of a thread. USE: what notes that it is used.
struct Unnoted {
    POINT_FN void used() const {}
};

template <class R, class T, class USE = Unnoted> struct Accumulator {
    R reducer;
    T value;
    USE use;
    POINT_FN explicit Accumulator(const R &reducer = R(), const USE &use = USE()) : reducer(reducer), use(use) {
        this->reducer.neutral(value);
    }
    Accumulator(const Accumulator &) = delete;
    template <class... X> POINT_FN void join(const X &...x) {
        use.used();
        reducer.join(value, Made<T>::of(x...));
    }
    ACCUMULATES
};

// Of a scan: before the last pass what is given, in the last pass also readable, all that came before.
template <class R, class T> struct ScanAccumulator {
    R reducer;
    T value;
    POINT_FN ScanAccumulator(const R &reducer, const T &value) : reducer(reducer), value(value) {}
    ScanAccumulator(const ScanAccumulator &) = delete;
    POINT_FN operator T() const { return value; }
    template <class... X> POINT_FN void join(const X &...x) { reducer.join(value, Made<T>::of(x...)); }
    ACCUMULATES
};

// The sum of a scan as a plain number that f reads and writes. Where f takes an `int`, the upper bits of a sum of 64
// bits are kept beside it.
template <class A, class F> struct TakesPlain;
template <template <class, class> class A, class R, class T, class F> struct TakesPlain<A<R, T>, F> {
    static constexpr bool AN_INT = SAME<R, Sum> && SAME<T, long> && CanCall<F, int &>::value;
    static constexpr bool value = AN_INT || CanCall<F, T &>::value;
};

template <class A, class T, class F> POINT_FN void as_plain_number(T &sum, const F &f) {
    if constexpr (TakesPlain<A, F>::AN_INT) {
        const int before = int(sum);
        int own = before;
        f(own);
        sum += int(unsigned(own) - unsigned(before));
    } else f(sum);
}

template <class R, class T, class F> POINT_FN void with_plain_sum(ScanAccumulator<R, T> &sum, const F &f) {
    as_plain_number<ScanAccumulator<R, T>>(sum.value, f);
}

// What f(i, s, false) gives.
template <class F, class R, class T, class I> POINT_FN void given_by(const F &f, I i, T &x, const R &reducer) {
    ScanAccumulator<R, T> own(reducer, x);
    f(i, own, false);
    x = own.value;
}

// f(i, s, true) with all before in s; and what it gives is joined to x.
template <class F, class R, class T, class I> POINT_FN void last_pass(const F &f, I i, T &x, const R &reducer) {
    ScanAccumulator<R, T> own(reducer, x);
    f(i, own, true);
    x = own.value;
}

// ---- several results
template <class...> struct Tuple {
    static constexpr int COUNT = 0;
    Tuple() = default;
    template <class X> POINT_FN explicit Tuple(const X &) {}
    template <class F> POINT_FN void each(const F &) const {}
    template <class Other, class F> POINT_FN void with(Other &, const F &) const {}
};

template <class A, class... More> struct Tuple<A, More...> {
    static constexpr int COUNT = 1 + sizeof...(More);
    A head;
    Tuple<More...> tail;
    Tuple() = default;
    template <class X> POINT_FN explicit Tuple(const X &x) : head(x), tail(x) {}
    template <int K> POINT_FN auto &at() {
        if constexpr (K == 0) return head;
        else return tail.template at<K - 1>();
    }
    template <class F> POINT_FN void each(const F &f) { // f(a, 0), f(b, 1), ...
        int k = 0;
        each(f, k);
    }
    template <class F> POINT_FN void each(const F &f, int &k) {
        f(head, k++);
        if constexpr (sizeof...(More) > 0) tail.each(f, k);
    }
    template <class Other, class F> POINT_FN void with(Other &other, const F &f) { // f(a, other's a), ...
        f(head, other.head);
        if constexpr (sizeof...(More) > 0) tail.with(other.tail, f);
    }
};

// The results of a kernel: Result<reducer, value>...
template <class REDUCER, class VALUE> struct Result {
    typedef REDUCER R;
    typedef VALUE T;
};

template <class A, class...> struct FirstOf {
    typedef A type;
};

template <class... RESULT> struct Results {
    typedef typename FirstOf<RESULT..., void>::type Only;
    static constexpr int COUNT = sizeof...(RESULT);
    typedef Tuple<typename RESULT::T...> Values;
    typedef Tuple<Accumulator<typename RESULT::R, typename RESULT::T>...> Accumulators;
    template <class USE> using Noted = Tuple<Accumulator<typename RESULT::R, typename RESULT::T, USE>...>;
};

// Where a result goes: its values, and the indices at which they were found.
struct Place {
    void *values;
    long *at;
};

template <class T> POINT_FN void put(const Place &to, T x) { *(T *)to.values = x; }
template <class T> POINT_FN void put(const Place &to, Located<T> x) { put(to, x.value), *to.at = x.at; }
template <class T> POINT_FN void put(const Place &to, Extremes<T> x) {
    ((T *)to.values)[0] = x.least, ((T *)to.values)[1] = x.most;
}

template <class T> POINT_FN void put(const Place &to, Extremes<Located<T>> x) {
    put({(T *)to.values, to.at}, x.least), put({(T *)to.values + 1, to.at + 1}, x.most);
}

template <class T, int N> POINT_FN void put(const Place &to, Several<T, N> x) {
    for (int k = 0; k < N; ++k) ((T *)to.values)[k] = x.v[k];
}
