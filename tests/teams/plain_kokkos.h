#pragma once

template <class M, class I> POINT_FN void plain_kokkos(const M &m, const I i) { m.h(i) = Kokkos::abs(m.x(i)); }
