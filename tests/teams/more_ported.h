// Bodies for test_team_more_ported.py: ranges and scans, ported from Kokkos.
#pragma once

// red and black points of Gauss and Seidel's sweep; one colour at a time
template <class M, class S> POINT_FN void of_a_colour(const M &m, int i, int j, S &change) {
    if ((i + j) % 2 != m.colour) return;
    const double old = m.u(i, j);
    m.u(i, j) = 0.25 * (m.u(i - 1, j) + m.u(i + 1, j) + m.u(i, j - 1) + m.u(i, j + 1) + m.f(i, j));
    change.join(fabs(m.u(i, j) - old));
}

// Jacobi's sweep in four dimensions, and in five
template <class M, class I, class J, class K, class L>
POINT_FN void sweep_of_four(const M &m, const I i, const J j, const K k, const L l) {
    m.v(i, j, k, l) = 0.125 * (m.u(i - 1, j, k, l) + m.u(i + 1, j, k, l) + m.u(i, j - 1, k, l) + m.u(i, j + 1, k, l) +
                               m.u(i, j, k - 1, l) + m.u(i, j, k + 1, l) + m.u(i, j, k, l - 1) + m.u(i, j, k, l + 1));
}
template <class M, class S> POINT_FN void sweep_of_five(const M &m, int a, int b, int c, int d, int e, S &sum) {
    double around = 0;
    for (int step = -1; step <= 1; step += 2)
        around += m.u(a + step, b, c, d, e) + m.u(a, b + step, c, d, e) + m.u(a, b, c + step, d, e) +
                  m.u(a, b, c, d + step, e) + m.u(a, b, c, d, e + step);
    m.v(a, b, c, d, e) = around;
    sum += around;
}

// the scalar product of complex numbers, by a reducer of the user's
struct ComplexSum : Reducer {
    template <class T> POINT_FN static void neutral(Several<T, 2> &x) { x.v[0] = x.v[1] = 0; }
    template <class T> POINT_FN static void join(Several<T, 2> &a, const Several<T, 2> &b) {
        a.v[0] += b.v[0], a.v[1] += b.v[1];
    }
};
template <class M, class I, class S> POINT_FN void scalar_product(const M &m, const I i, S &dot) {
    const auto a = m.z(i, 0), b = m.z(i, 1), c = m.w(i, 0), d = m.w(i, 1);
    dot.join(a * c + b * d, a * d - b * c);
}

// the first of the least numbers, the last of them, the first of the largest
template <class M, class I, class LEAST, class LAST, class BOTH>
POINT_FN void with_ties(const M &m, const I i, LEAST &least, LAST &last, BOTH &both) {
    least.join(m.k(i), i);
    last.join(m.k(i), m.n - 1 - i);
    both.join(m.k(i), i);
}

// triangles of a marching method: how many each cell has, where they begin, and they
template <class M> POINT_FN int corners_of(const M &m, int c) {
    int code = 0;
    for (int k = 0; k < 3; ++k)
        if (m.x(c + k) > m.level) code |= 1 << k;
    return code;
}
template <class M> POINT_FN void counted_cells(const M &m, int c) {
    const int code = corners_of(m, c);
    int many = 0;
    for (int bit = 0; bit < 3; ++bit) many += (code >> bit) & 1;
    m.count(c) = code == 7 ? 0 : many;
}
template <class M> POINT_FN void begins_of_cells(const M &m, const int c, long &sum, const bool last) {
    const int own = m.count(c);
    if (last) m.begin(c) = sum;
    sum += own;
}
template <class M> POINT_FN void filled_cells(const M &m, int c) {
    long at = m.begin(c);
    const int code = corners_of(m, c);
    for (int k = 0; k < 3; ++k) {
        if (code == 7) break;
        if (!(code & (1 << k))) continue;
        m.cell(at) = c, m.corner(at) = k;
        at++;
    }
}

// keys into an open hash table
template <class M, class S> POINT_FN void inserted(const M &m, const int i, S &fresh) {
    const int key = m.key(i);
    unsigned slot = unsigned(key) * 2654435761u % unsigned(m.slots);
    while (true) {
        const int before = atomic_compare_exchange(m.table(slot), -1, key);
        if (before == -1) {
            ++fresh;
            break;
        }
        if (before == key) break;
        slot = (slot + 1) % m.slots;
    }
    atomic_add(m.count(slot), 1);
}

// from the other end; every third from an end on
template <class M, class I> POINT_FN void reversed(const M &m, const I i) {
    const auto r = m.n - 1 - i;
    m.y(r) = m.x(i);
    m.z(i) = m.x(r) - 2.0 * i;
    m.k(r) = i;
    m.past(i) = m.x(r);
}
template <class M, class I> POINT_FN void by_threes(const M &m, const I i) {
    m.y(3 * i + 1) = m.x(3 * i) + m.x(3 * i + 2);
    m.k(m.n - 1 - 3 * i) = 3 * i;
}

// random numbers of 64 bits without a sign
template <class M, class S> POINT_FN void shifted_by_xor(const M &m, const long i, S &hits) {
    unsigned long x = m.seed(i);
    int inside = 0;
    for (int k = 0; k < 10; ++k) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        const double u = (x >> 11) * 0x1p-53;
        inside += u < 0.25;
    }
    m.seed(i) = x;
    m.inside(i) = inside;
    hits += inside;
}
template <class M, class I> POINT_FN void mixed_in_packs(const M &m, const I i) {
    const auto a = m.seed(i) ^ (m.seed(i) << 13UL);
    const auto b = a * 0x2545F4914F6CDD1DUL;
    m.seed(i) = b ^ (b >> 32);
    m.inside(i) = (b >> 60) % 10u;
}

// flags that are read, set and counted
template <class M, class S, class ANY> POINT_FN void flagged(const M &m, const int i, S &count, ANY &any) {
    const bool is_large = m.x(i) > m.bound, was = m.flag(i);
    bool changed = is_large != was;
    if (!changed) {
        m.changed(i) = false;
        return;
    }
    m.flag(i) = is_large;
    m.changed(i) = changed;
    count += changed;
    any |= is_large && changed;
}

// weights into bins, moments of each
template <class M, class I> POINT_FN void weighed(const M &m, const I i) {
    const auto bin = m.k(i) % m.bins;
    m.sum(bin) += m.x(i);
    m.squares(bin) += m.x(i) * m.x(i);
    m.count(bin) += 1;
    m.sum(0) -= 0.5;
}

// rows of an array in Fortran's order, through parts that a function takes
template <class V, class W> POINT_FN scalar product_of(const V &a, const W &b) {
    scalar sum = 0;
    for (int k = 0; k < a.extent(0); k++) sum += a(k) * b(k);
    return sum;
}
template <class M> POINT_FN void rows_of_left(const M &m, const int i) {
    const auto row = subview(m.A, i, ALL);
    const auto inner = subview(row, part(1, m.M - 1));
    const auto column = subview(m.A, ALL, i % m.M);
    m.y(i) = product_of(row, m.x) + product_of(inner, inner);
    m.z(i) = column(m.N - 1) + product_of(subview(m.B, ALL, i, 1), subview(m.B, ALL, i, 0));
}

// functions of a body's own that keep views, in and out of packs
template <class M, class I> POINT_FN void by_own_functions(const M &m, const I i) {
    const auto x = m.x;
    const auto &y = m.y;
    const double half = 0.5;
    const auto mean = [=](const auto k) { return half * (x(k) + x(m.n - 1 - k)); };
    const auto twice = [&](auto value) { return value + value; };
    y(i) = twice(mean(i)) + mean(m.n - 1 - i);
}
