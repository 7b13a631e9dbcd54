// Atomics: what both kinds of backend share. For each operation OP of the list below, on int, long, float and double:
//
//   atomic_OP(at, x)         changes the element. `at` may be elements at a pack of indices, or there is an index in
//                            front, atomic_OP(i, at, x): a single element, to which each lane of i brings its x
//   atomic_fetch_OP(at, x)   returns the value before      atomic_OP_fetch(at, x)   the value behind
//   atomic_inc(at), atomic_dec(at); atomic_load, atomic_store, atomic_exchange, atomic_compare_exchange(at, wanted, x)
//   atomic(view)(i) += x     a view of which every access is atomic: = += -= *= /= &= |= ^= ++ --, and reading
#pragma once

// atomic_by(operation, at, b): of the value a at `at`; a backend has faster ones for some.
template <class OPERATION, class T> POINT_FN T atomic_by(OPERATION, T &at, T b) {
    return atomic_change(at, [&](T a) { return OPERATION::of(a, b); });
}

#define ATOMIC(name) \
    template <class T, class X> POINT_FN T atomic_fetch_##name(T &at, const X &x) { \
        return atomic_by(Atomic_##name(), at, Made<T>::of(x)); \
    } \
    template <class T, class X> POINT_FN T atomic_##name##_fetch(T &at, const X &x) { \
        const T b = Made<T>::of(x); \
        return Atomic_##name::of(atomic_by(Atomic_##name(), at, b), b); \
    } \
    template <class T, class X> POINT_FN void atomic_##name(T &at, const X &x) { \
        atomic_bring(Atomic_##name(), at, x); \
    } \
    template <class T, class X> POINT_FN void atomic_##name(long, T &at, const X &x) { atomic_##name(at, x); } \
    ATOMIC_IN_PACKS(name) \
    ATOMIC_IN_CHECKS(name)

#ifdef CHECK_SCRATCH
template <class E> struct CheckedElement;
#define ATOMIC_OF_CHECKED(name) \
    template <class E, class X> POINT_FN auto name(const CheckedElement<E> &at, const X &x) { \
        at.changed(); \
        return name(at.at, x); \
    }
#define ATOMIC_IN_CHECKS(name) \
    ATOMIC_OF_CHECKED(atomic_##name) \
    ATOMIC_OF_CHECKED(atomic_fetch_##name) \
    ATOMIC_OF_CHECKED(atomic_##name##_fetch)
#else
#define ATOMIC_IN_CHECKS(name)
#endif
ATOMIC(add)
ATOMIC(sub)
ATOMIC(mul)
ATOMIC(div)
ATOMIC(min)
ATOMIC(max)
ATOMIC(and)
ATOMIC(or)
ATOMIC(xor)
ATOMIC(lshift)
ATOMIC(rshift)
ATOMIC(inc_mod) // from x on it begins again with 0
ATOMIC(dec_mod) // from 0 on it begins again with x
#undef ATOMIC
// An element, elements at a pack of indices, or an element of checked scratch
template <class T> POINT_FN void atomic_inc(T &&at) { atomic_add(static_cast<T &&>(at), 1); }
template <class T> POINT_FN void atomic_dec(T &&at) { atomic_sub(static_cast<T &&>(at), 1); }
template <class T> POINT_FN auto atomic_fetch_inc(T &&at) { return atomic_fetch_add(static_cast<T &&>(at), 1); }
template <class T> POINT_FN auto atomic_fetch_dec(T &&at) { return atomic_fetch_sub(static_cast<T &&>(at), 1); }

// ---- a view of which every access is atomic
// Changes of `at`: of a single element, and of the elements at a pack of indices (atomics_packs.h)
#define ATOMIC_CHANGES \
    template <class X> POINT_FN void operator+=(const X &x) const { atomic_add(at, x); } \
    template <class X> POINT_FN void operator-=(const X &x) const { atomic_sub(at, x); } \
    template <class X> POINT_FN void operator*=(const X &x) const { atomic_mul(at, x); } \
    template <class X> POINT_FN void operator/=(const X &x) const { atomic_div(at, x); } \
    template <class X> POINT_FN void operator&=(const X &x) const { atomic_and(at, x); } \
    template <class X> POINT_FN void operator|=(const X &x) const { atomic_or(at, x); } \
    template <class X> POINT_FN void operator^=(const X &x) const { atomic_xor(at, x); } \
    POINT_FN void operator++() const { atomic_add(at, 1); } \
    POINT_FN void operator++(int) const { atomic_add(at, 1); } \
    POINT_FN void operator--() const { atomic_sub(at, 1); } \
    POINT_FN void operator--(int) const { atomic_sub(at, 1); }

template <class T> struct AtomicElement {
    T &at;
    POINT_FN operator T() const { return atomic_load(at); }
    template <class X> POINT_FN void operator=(const X &x) const { atomic_store(at, x); }
    ATOMIC_CHANGES
};

template <class T> POINT_FN AtomicElement<T> atomic_element(T &at) { return {at}; }
template <class V> struct AtomicView {
    V view;
    template <class... I> POINT_FN auto operator()(const I &...i) const { return atomic_element(view(i...)); }
};

template <class V> POINT_FN AtomicView<V> atomic(const V &view) { return {view}; }
