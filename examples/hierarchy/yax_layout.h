// <y|Ax>, a thread a row, for either layout of A
template <class M, class I, class S> POINT_FN void yax_layout(const M &m, const I row, S &total) {
    S sum(0.0);
    UNROLL_BY(8) // loads ahead of the sum
    for (long j = 0; j < m.M; ++j) sum += m.A(row, j) * m.x(j);
    total += m.y(row) * sum;
}
