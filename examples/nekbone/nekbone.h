// Conjugate gradients of Nekbone with all vectors where the kernels run. An element has n x n x n points; mx, my, mz
// elements form a brick. Points of a face belong to two elements, of an edge to four, of a corner to eight.
#pragma once

// A point in its brick: the elements that have it, in each direction from low to high.
struct Shared {
    int n, low[3], high[3], at[3];
    bool inside;
    template <class M> POINT_FN Shared(const M &m, long e, int point) : n(int(m.n)) {
        const int place[3] = {int(e % m.mx), int(e / m.mx % m.my), int(e / m.mx / m.my)};
        const int many[3] = {int(m.mx), int(m.my), int(m.mz)};
        at[0] = point % n;
        at[1] = point / n % n;
        at[2] = point / n / n;
        inside = true;
        for (int d = 0; d < 3; ++d) {
            low[d] = at[d] == 0 && place[d] > 0 ? -1 : 0;
            high[d] = at[d] == n - 1 && place[d] < many[d] - 1 ? 1 : 0;
            inside = inside && !(at[d] == 0 && place[d] == 0) && !(at[d] == n - 1 && place[d] == many[d] - 1);
        }
    }
    POINT_FN int copies() const { return (1 + high[0] - low[0]) * (1 + high[1] - low[1]) * (1 + high[2] - low[2]); }
    POINT_FN int there(int d, int step) const { return step < 0 ? n - 1 : step > 0 ? 0 : at[d]; }
    // Of a field over the elements that have the point, always in the same order.
    template <class M, class F> POINT_FN scalar sum(const M &m, const F &field, long e) const {
        scalar total = 0;
        for (int z = low[2]; z <= high[2]; ++z)
            for (int y = low[1]; y <= high[1]; ++y)
                for (int x = low[0]; x <= high[0]; ++x)
                    total += field(e + x + m.mx * (y + m.my * z), there(2, z), there(1, y), there(0, x));
        return total;
    }
};

// p = r + (rho / rho_old) p
template <class M, class I> POINT_FN void nek_direction(const M &m, const I i) {
    m.p(i) = m.r(i) + m.p(i) * (m.rho(0) / m.rho_old(0));
}
// v = sum of w over the elements that have a point, always in the same order, so that all copies agree; plus p / 10,
// which makes the operator definite; 0 at the brick's ends. pap = <p, v>, each point once.
template <class M, class Team, class S> POINT_FN void nek_gather(const M &m, const Team &team, S &pap) {
    const long e = team.league_rank();
    team.for_each(m.n * m.n * m.n, [&](long point) {
        const Shared s(m, e, int(point));
        const scalar sum = s.sum(m, m.w, e);
        const scalar p = m.p(e, s.at[2], s.at[1], s.at[0]);
        const scalar v = s.inside ? sum + scalar(0.1) * p : scalar(0);
        m.v(e, s.at[2], s.at[1], s.at[0]) = v;
        pap += p * v / s.copies();
    });
}
// x += alpha p, r -= alpha v with alpha = rho / pap; rho_new = <r, r>, each point once
template <class M, class Team, class S> POINT_FN void nek_step(const M &m, const Team &team, S &rho_new) {
    const long e = team.league_rank();
    const scalar alpha = m.rho(0) / m.pap(0);
    team.for_each(m.n * m.n * m.n, [&](long point) {
        const Shared s(m, e, int(point));
        const int k = s.at[2];
        const int j = s.at[1];
        const int i = s.at[0];
        m.x(e, k, j, i) = m.x(e, k, j, i) + alpha * m.p(e, k, j, i);
        const scalar r = m.r(e, k, j, i) - alpha * m.v(e, k, j, i);
        m.r(e, k, j, i) = r;
        rho_new += r * r / s.copies();
    });
}
// r = the right side, summed over elements and shared out again; 0 at the ends. rho = <r, r>. x = p = 0
template <class M, class Team, class S> POINT_FN void nek_start(const M &m, const Team &team, S &rho) {
    const long e = team.league_rank();
    team.for_each(m.n * m.n * m.n, [&](long point) {
        const Shared s(m, e, int(point));
        const scalar sum = s.sum(m, m.f, e);
        const scalar r = s.inside ? sum / s.copies() : scalar(0);
        m.r(e, s.at[2], s.at[1], s.at[0]) = r;
        m.x(e, s.at[2], s.at[1], s.at[0]) = 0;
        m.p(e, s.at[2], s.at[1], s.at[0]) = 0;
        rho += r * r / s.copies();
    });
}
