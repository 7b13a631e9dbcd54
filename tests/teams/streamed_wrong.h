#pragma once

template <class M, class I> POINT_FN void streamed_read(const M &m, const I i) { m.a(i) = m.a(i) + m.b(i); }
template <class M, class I> POINT_FN void streamed_added(const M &m, const I i) {
    m.a(i) += m.b(i); // the wrong line
}
