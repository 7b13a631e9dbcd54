// A(i, j) = 1000 i + j, and how often an entry is written
template <class M, class I, class J, class S>
POINT_FN void mdrange(const M &m, const I i, const J j, S &total, S &count) {
    const auto value = 1000.0 * as_number(i) + as_number(j);
    m.A(i, j) = value;
    m.written(i, j) += 1.0;
    total += value, count += 1.0;
}
