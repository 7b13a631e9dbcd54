// <y|Ax>, a thread a row
template <class M, class I, class S> POINT_FN void yax_flat(const M &m, const I row, S &total) {
    S sum(0.0);
    for (long j = 0; j < m.M; ++j) sum += m.A(row, j) * m.x(j);
    total += m.y(row) * sum;
}
