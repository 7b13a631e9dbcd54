// The sum over v(at, :, a:b), a row of the part a thread
template <class M, class I, class S> POINT_FN void subview_sum(const M &m, const I j, S &total) {
    const auto s = subview(m.v, m.at, ALL, part(m.a, m.b));
    for (long k = 0; k < s.extent[1]; ++k) total += s(j, k);
}
