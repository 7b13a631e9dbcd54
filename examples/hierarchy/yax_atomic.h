// <y|Ax>, an atomic for every element; whole numbers are exact in any order
template <class M, class I> POINT_FN void yax_atomic(const M &m, const I element) {
    each_lane(element, [&](long k) {
        const long row = k / m.M, j = k % m.M;
        atomic_add(m.total(0), m.y(row) * m.A(row, j) * m.x(j));
    });
}
