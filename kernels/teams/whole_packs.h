// Whole numbers in packs on a CPU: indices, and what is read at them. Operators among them, and comparisons.
#pragma once

template <class X> struct WholePack {
    typedef X Number; // of a lane
    static constexpr bool value = false;
    static constexpr bool IS_INDEX = false;
    static constexpr bool IS_FULL = true;
    static constexpr bool IS_COUNTED = false; // how many lanes take part
};

template <class T> struct WholePack<ChosenWhole<T>> : WholePack<T> {
    typedef T Number;
    static constexpr bool value = true;
};

template <bool FULL> struct WholePack<Lanes<FULL>> {
    typedef long Number;
    static constexpr bool value = true;
    static constexpr bool IS_INDEX = true;
    static constexpr bool IS_FULL = FULL;
    static constexpr bool IS_COUNTED = true;
};

template <class T, bool FULL> struct WholePack<Whole<T, FULL>> {
    typedef T Number;
    static constexpr bool value = true;
    static constexpr bool IS_INDEX = false;
    static constexpr bool IS_FULL = FULL;
    static constexpr bool IS_COUNTED = true;
};

template <class T, class I> struct WholePack<Elements<T, I>> {
    typedef T Number;
    static constexpr bool value = std::is_integral<T>::value;
    static constexpr bool IS_INDEX = false;
    static constexpr bool IS_FULL = I::IS_FULL;
    static constexpr bool IS_COUNTED = true;
};

// A pack of whole numbers with another one, or with a number. Sums and products of indices are indices: see Lanes.
template <class A, class B> struct WholePair {
    static constexpr bool a = WholePack<A>::value;
    static constexpr bool b = WholePack<B>::value;
    static constexpr bool value = (a && (b || std::is_integral<B>::value)) || (b && std::is_integral<A>::value);
    static constexpr bool OF_INDICES = !(a && !WholePack<A>::IS_INDEX) && !(b && !WholePack<B>::IS_INDEX);
    static constexpr bool OF_UNSIGNED = IS_WIDE_UNSIGNED<A> || IS_WIDE_UNSIGNED<B>;
    static constexpr bool IS_FULL = WholePack<A>::IS_FULL && WholePack<B>::IS_FULL;
    static constexpr bool IS_COUNTED = WholePack<A>::IS_COUNTED || WholePack<B>::IS_COUNTED;
};

// What C++ makes of two of their numbers: a product of two int is an int, as on a device.
template <class A, class B>
using BothNumber = decltype(typename WholePack<A>::Number() + typename WholePack<B>::Number());
template <class N, class A, class B, class Pair = WholePair<A, B>>
using WholeOf = typename std::conditional<Pair::IS_COUNTED, Whole<N, Pair::IS_FULL>, ChosenWhole<N>>::type;
template <class A, class B> using BothWhole = WholeOf<BothNumber<A, B>, A, B>;
// Of a shift: the type of its left number.
template <class A> using ShiftedNumber = decltype(+typename WholePack<A>::Number());
// Where numbers of type N are counted: unsigned ones begin again behind the largest, signed ones have room.
template <class N> using RoomOf = typename std::conditional<std::is_unsigned<N>::value, N, long>::type;

template <class X> POINT_FN const X &whole_of(const X &x) { return x; }
template <class T, class I> POINT_FN auto whole_of(const Elements<T, I> &x) { return x.all(); }
template <class X> POINT_FN int lanes_of(const X &) { return VECTOR_LANES; }
template <bool FULL> POINT_FN int lanes_of(const Lanes<FULL> &x) { return x.count; }
template <class T, bool FULL> POINT_FN int lanes_of(const Whole<T, FULL> &x) { return x.count; }

template <class T, bool FULL> POINT_FN void count_lanes(Whole<T, FULL> &x, int count) { x.count = count; }
template <class T> POINT_FN void count_lanes(ChosenWhole<T> &, int) {}

// f(a, b) of each lane, numbers of type N; beyond the last one f is asked only if it has a value of any two numbers
template <class N, bool ANY, class A, class B, class F> POINT_FN auto each_of(const A &a, const B &b, const F &f) {
    typedef RoomOf<N> Room;
    const int count = lanes_of(a) < lanes_of(b) ? lanes_of(a) : lanes_of(b);
    WholeOf<N, A, B> c;
    count_lanes(c, count);
    for (int l = 0; l < VECTOR_LANES; ++l)
        c.lane[l] =
            N(WholePair<A, B>::IS_FULL || ANY || l < count ? f(Room(lane_of(a, l)), Room(lane_of(b, l))) : Room(0));
    return c;
}

#define WITH_WHOLE(OP, NUMBER, ANY, WHICH) \
    template <class A, class B, typename std::enable_if<WHICH, int>::type = 0> \
    POINT_FN auto operator OP(const A &a, const B &b) { \
        return each_of<NUMBER, ANY>(whole_of(a), whole_of(b), [](auto x, auto y) { return x OP y; }); \
    }
#define BOTH_NUMBER BothNumber<A, B>
#define OF_READ (WholePair<A, B>::value && !WholePair<A, B>::OF_INDICES)
#define OF_ANY (WholePair<A, B>::value)
// Not of an index and a number: see Lanes
#define OF_PRODUCT \
    (OF_READ || (OF_ANY && (WholePair<A, B>::OF_UNSIGNED || (WholePack<A>::value && WholePack<B>::value))))
WITH_WHOLE(+, BOTH_NUMBER, true, OF_READ)
WITH_WHOLE(-, BOTH_NUMBER, true, OF_READ)
WITH_WHOLE(*, BOTH_NUMBER, true, OF_PRODUCT)
WITH_WHOLE(/, BOTH_NUMBER, false, OF_ANY)
WITH_WHOLE(%, BOTH_NUMBER, false, OF_ANY)
WITH_WHOLE(&, BOTH_NUMBER, true, OF_ANY)
WITH_WHOLE(|, BOTH_NUMBER, true, OF_ANY)
WITH_WHOLE(^, BOTH_NUMBER, true, OF_ANY)
WITH_WHOLE(<<, ShiftedNumber<A>, true, OF_ANY)
WITH_WHOLE(>>, ShiftedNumber<A>, true, OF_ANY)
#undef BOTH_NUMBER
#undef WITH_WHOLE
#undef OF_PRODUCT

template <class A, typename std::enable_if<WholePack<A>::value && !WholePack<A>::IS_INDEX, int>::type = 0>
POINT_FN auto operator-(const A &a) {
    return 0 - a;
}

template <class A, typename std::enable_if<WholePack<A>::value, int>::type = 0> POINT_FN auto operator~(const A &a) {
    return a ^ -1;
}

// A condition for each lane
#define COMPARES(OP) \
    template <class A, class B, typename std::enable_if<OF_ANY, int>::type = 0> \
    POINT_FN vmask operator OP(const A &a, const B &b) { \
        const vec yes = each_of<BothNumber<A, B>, true>( \
            whole_of(a), whole_of(b), [](auto x, auto y) { return RoomOf<BothNumber<A, B>>(x OP y); }); \
        return yes > 0.5; \
    }
COMPARES(==)
COMPARES(!=)
COMPARES(<)
COMPARES(>)
COMPARES(<=)
COMPARES(>=)
#undef COMPARES
#undef OF_ANY
#undef OF_READ
