// Symmetric systems (I + sqrt(A) C sqrt(A)) q = sqrt(A) beta whose C is of low rank, for y = q/sqrt(A):
//   y + C A y = beta,  A = diag(weights),  C = U c U^T,  U of N vectors u_r
// By the identity of Woodbury, made symmetric: with the factors G = U^T A U = L L^T,
//   T = I + L^T c L,  T p = L^-1 U^T A beta,  y = beta - U c L p
// in N^2 numbers and some N (N + 7)/2 products a species. T is positive definite where the whole matrix is. Nothing
// divides by a weight, so that a species which is not there has its y, too. Vectors that differ by a part d of
// themselves lose the part 1/d of the digits of y.
#pragma once
#include "gas/phases/curvature.h"

// Part of u_r^T A u_r below which a vector is a sum of those before, but for rounding errors
constexpr double DEPENDENT = 1e-15;

// Symmetric N x N by rows of the lower triangle
template <int N, class R> struct FewVectors {
    R c[lower(N, 0)];           // C in the vectors
    R L[lower(N, 0)], inv_L[N]; // the factor of G, and 1 over its diagonal; 0 for a dependent vector
    R T[lower(N, 0)], inv_D[N]; // the factors of T
    R c_L[N * N];               // c L
    MaskOf<R> definite;         // whether T is
};

template <int N, class R> POINT_FN void clear_vectors(FewVectors<N, R> &o) {
    UNROLL
    for (int i = 0; i < lower(N, 0); ++i) o.c[i] = o.L[i] = R(0.0);
}

// c += factor a a^T
template <int N, class R> POINT_FN void add_square(const R factor, const R *a, FewVectors<N, R> &o) {
    UNROLL
    for (int i = 0; i < N; ++i) {
        const R scaled = factor * a[i];
        UNROLL
        for (int j = 0; j <= i; ++j) o.c[lower(i, j)] += scaled * a[j];
    }
}

// G += weight u u^T of one species
template <int N, class R> POINT_FN void add_species(const R weight, const R *u, FewVectors<N, R> &o) {
    UNROLL
    for (int i = 0; i < N; ++i) {
        const R scaled = weight * u[i];
        UNROLL
        for (int j = 0; j <= i; ++j) o.L[lower(i, j)] += scaled * u[j];
    }
}

// L of G, in its place
template <int N, class R> POINT_FN void factorise_products(FewVectors<N, R> &o) {
    UNROLL
    for (int j = 0; j < N; ++j) {
        const R before = o.L[lower(j, j)];
        R square = before;
        UNROLL
        for (int k = 0; k < j; ++k) square -= o.L[lower(j, k)] * o.L[lower(j, k)];

        const auto apart = square > DEPENDENT * before;
        R root, inv_root;
        root_and_inverse(select(apart, square, R(1.0)), root, inv_root);
        o.L[lower(j, j)] = select(apart, root, R(0.0));
        o.inv_L[j] = select(apart, inv_root, R(0.0));

        UNROLL
        for (int i = j + 1; i < N; ++i) {
            R sum = o.L[lower(i, j)];
            UNROLL
            for (int k = 0; k < j; ++k) sum -= o.L[lower(i, k)] * o.L[lower(j, k)];
            o.L[lower(i, j)] = sum * o.inv_L[j];
        }
    }
}

// T with its factors, of c and G
template <int N, class R> POINT_FN void factorise_vectors(FewVectors<N, R> &o) {
    factorise_products(o);
    UNROLL
    for (int i = 0; i < N; ++i) {
        UNROLL
        for (int j = 0; j < N; ++j) {
            R sum = R(0.0);
            UNROLL
            for (int k = j; k < N; ++k) sum += o.c[k < i ? lower(i, k) : lower(k, i)] * o.L[lower(k, j)];
            o.c_L[i * N + j] = sum;
        }
    }

    UNROLL
    for (int i = 0; i < N; ++i) {
        UNROLL
        for (int j = 0; j <= i; ++j) {
            R sum = R(i == j ? 1.0 : 0.0);
            UNROLL
            for (int k = i; k < N; ++k) sum += o.L[lower(k, i)] * o.c_L[k * N + j];
            o.T[lower(i, j)] = sum;
        }
    }
    o.definite = factorise_symmetric<N>(o.T, o.inv_D);
}

// t = U^T A beta becomes -c L p: y = beta + U t
template <int N, class R> POINT_FN void solve_vectors(const FewVectors<N, R> &o, R *t) {
    R p[N];
    UNROLL
    for (int j = 0; j < N; ++j) {
        R sum = t[j];
        UNROLL
        for (int k = 0; k < j; ++k) sum -= o.L[lower(j, k)] * p[k];
        p[j] = sum * o.inv_L[j];
    }
    solve_symmetric<N>(o.T, o.inv_D, p);

    UNROLL
    for (int i = 0; i < N; ++i) {
        t[i] = R(0.0);
        UNROLL
        for (int j = 0; j < N; ++j) t[i] -= o.c_L[i * N + j] * p[j];
    }
}
