// Bodies for test_team_ported.py: loops over indices, ported from Kokkos.
#pragma once

// bins of a hash: products and shifts of unsigned numbers of 64 bits
template <class M, class I> POINT_FN void hashed(const M &m, const I i) {
    const auto first = (m.key(i) + 0x9E3779B97F4A7C15UL) * 0xBF58476D1CE4E5B9UL;
    const auto mixed = (first ^ (first >> 31)) % 64;
    m.bin(i) = mixed;
    m.of_index(i) = i * 0x9E3779B97F4A7C15UL >> 60;
    m.large(i) = first > 0x8000000000000000UL;
    m.most(i) = max(first, 5UL) / 3;
}

// unsigned numbers of 32 bits among signed ones; shifts have the type of their left number
template <class M, class I> POINT_FN void of_32_bits(const M &m, const I i) {
    const auto k = m.k(i);
    m.f(0, i) = k / 3u, m.f(1, i) = k % 5u, m.f(2, i) = k < 5u, m.f(3, i) = k + 1u, m.f(4, i) = k * 3u;
    m.f(5, i) = k >> 2u, m.f(6, i) = k << m.shift, m.f(7, i) = max(k, 7u), m.f(8, i) = 1L << (k & 31);
    m.f(9, i) = (k ^ 0xF0F0u) >> 28;
}

// what sums and scattered arrays lose: numbers without a sign, of either length, and real ones
template <class M, class I, class S, class R> POINT_FN void subtracted(const M &m, const I i, S &sum, R &real) {
    sum -= m.k(i) & 7u, sum -= 5u, sum -= 3UL;
    m.count(m.k(i) & 3) -= 2u;
    real -= m.x(i), real -= 0.5;
}

// whole numbers that real ones change, and numbers of 32 bits that those of 64 bits change
template <class M, class I> POINT_FN void changed_by_others(const M &m, const I i) {
    m.k(i) *= 1.5, m.j(i) += 0.5, m.x(i) += 0.1, m.big(i) -= 0.25;
}

// offsets as size_t
template <class M, class I> POINT_FN void flattened(const M &m, const I i) {
    const size_t columns = size_t(m.M);
    Real<I> sum(0.0);
    for (size_t j = 0; j < columns; ++j) sum += m.a(i * columns + j) * m.x(j);
    m.y(i) = sum;
}

// Jacobi's sweep of seven points, and the largest change with its place
template <class M, class I, class J, class K, class S>
POINT_FN void sweep(const M &m, const I i, const J j, const K k, S &change) {
    const auto around =
        m.u(i - 1, j, k) + m.u(i + 1, j, k) + m.u(i, j - 1, k) + m.u(i, j + 1, k) + m.u(i, j, k - 1) + m.u(i, j, k + 1);
    const Real<decltype(i + j + k)> next = (around + m.f(i, j, k)) * (1.0 / 6);
    m.v(i, j, k) = next;
    change.join(fabs(next - m.u(i, j, k)), (i * m.J + j) * m.K + k);
}

// y = a x + b y, and y.y, x.y, the largest y with its place in one go
template <class M, class I, class YY, class XY, class MOST>
POINT_FN void fused(const M &m, const I i, YY &yy, XY &xy, MOST &most) {
    const Real<I> y = m.a * m.x(i) + m.b * m.y(i);
    m.y(i) = y;
    yy += y * y, xy += m.x(i) * y;
    most.join(y, i);
}

// Thomas' method, a line each: neighbours along the lines
template <class M, class I> POINT_FN void lines(const M &m, const I l) {
    Real<I> c = m.c(0, l) / m.b(0, l), d = m.d(0, l) / m.b(0, l);
    m.work(0, l) = c, m.x(0, l) = d;
    for (long i = 1; i < m.n; ++i) {
        const Real<I> pivot = 1.0 / (m.b(i, l) - m.a(i, l) * c);
        c = m.c(i, l) * pivot;
        d = (m.d(i, l) - m.a(i, l) * d) * pivot;
        m.work(i, l) = c, m.x(i, l) = d;
    }
    for (long i = m.n - 2; i >= 0; --i) {
        d = m.x(i, l) - m.work(i, l) * d;
        m.x(i, l) = d;
    }
}

// complex numbers by pairs, the parts side by side; the sum of the products
template <class M, class I, class RE, class IM> POINT_FN void complex_pairs(const M &m, const I i, RE &re, IM &im) {
    const Real<I> a = m.z(i, 0), b = m.z(i, 1), c = m.w(i, 0), d = m.w(i, 1);
    m.z(i, 0) = a * c - b * d, m.z(i, 1) = a * d + b * c;
    re += m.z(i, 0), im += m.z(i, 1);
}

// six indices: an array whose dimensions are in another order, counts of what falls together, the least with its place
template <class M, class A, class B, class C, class D, class E, class F, class S, class LEAST>
POINT_FN void of_six(const M &m, const A a, const B b, const C c, const D d, const E e, const F f, S &sum,
                     LEAST &least) {
    const auto x = m.x(f, b, d, a, c, e);
    m.y(a, b, c, d, e, f) = x;
    atomic_add(m.count(a + b + c, d), 1);
    sum += x;
    least.join(x, ((((a * m.B + b) * m.C + c) * m.D + d) * m.E + e) * m.F + f);
}

// particles into cells: how many, where each cell begins, and the places, in any order within a cell
template <class M> POINT_FN void cell_counts(const M &m, long p) { atomic_inc(m.count(int(m.x(p) * m.cells))); }
template <class M, class S> POINT_FN void cell_begins(const M &m, int c, S &sum, bool last) {
    if (last) m.begin(c) = m.next(c) = sum;
    sum += m.count(c);
}
template <class M> POINT_FN void into_cells(const M &m, long p) {
    const long at = atomic_fetch_add(m.next(int(m.x(p) * m.cells)), 1);
    m.particle(at) = p;
}

// sums of numbers of 32 bits, of either length
template <class M, class I, class S, class L> POINT_FN void single_sums(const M &m, const I i, S &sum, L &most) {
    Real<I> three(0.0);
    for (int k = 0; k < 3; ++k) three += m.x(i) * m.x(i);
    sum += three;
    most.join(m.x(i), i);
}

// columns of an array in Fortran's order, through a part of a part
template <class V> POINT_FN auto sum_of(const V &v) {
    scalar sum = 0;
    for (long k = 0; k < v.extent(0); ++k) sum += v(k);
    return sum;
}
template <class M> POINT_FN void columns_of_complex_parts(const M &m, long j) {
    const auto inner = subview(m.u, part(1, m.I - 1), ALL, 1);
    m.sum(j) = sum_of(subview(inner, ALL, j)) + sum_of(subview(subview(inner, part(1, 3), ALL), ALL, j));
}

// conditions over indices, which may be none
template <class M, class I, class ALL_OF, class ANY, class LEAST, class BITS>
POINT_FN void conditions(const M &m, const I i, ALL_OF &all, ANY &any, LEAST &least, BITS &bits) {
    all &= m.x(i) > 0.0, any |= m.x(i) > 2.0;
    least.join(m.x(i));
    bits &= m.k(i);
}
