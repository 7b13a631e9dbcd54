// Some exercises as plain C++ with OpenMP: what the team kernels are timed beside by
// `python -m frame bench hierarchy`, compiled with the same options. Orders of accesses without a team kernel, too.

// <y|Ax>: threads over rows, vectors over columns
extern "C" void twin_yax_team(int threads, long N, long M, const double *y, const double *A, const double *x,
                              double *total) {
    double all = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : all)
    for (long i = 0; i < N; ++i) {
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (long j = 0; j < M; ++j) sum += A[i * M + j] * x[j];
        all += y[i] * sum;
    }
    *total = all;
}

// <y|Ax> of each element: threads over elements
extern "C" void twin_yax_vector(int threads, long E, long N, long M, const double *y, const double *A, const double *x,
                                double *result, double *total) {
    double all = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : all)
    for (long e = 0; e < E; ++e) {
        double element = 0;
        for (long i = 0; i < N; ++i) {
            double row = 0;
#pragma omp simd reduction(+ : row)
            for (long j = 0; j < M; ++j) row += A[(e * N + i) * M + j] * x[e * M + j];
            element += y[e * N + i] * row;
        }
        result[e] = element;
        all += element;
    }
    *total = all;
}

// contractDataFieldScalar: threads over elements
extern "C" void twin_scratch_field(int threads, long E, long Q, long V, const double *A, const double *B,
                                   double *result, double *total) {
    double all = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : all)
    for (long e = 0; e < E; ++e)
        for (long q = 0; q < Q; ++q) {
            double sum = 0;
#pragma omp simd reduction(+ : sum)
            for (long i = 0; i < V; ++i) sum += A[(e * Q + q) * V + i] * B[e * V + i];
            result[e * Q + q] = sum;
            all += sum;
        }
    *total = all;
}

// A histogram: a copy a thread
extern "C" void twin_scatter(int threads, long n, long bins, const long *bin, long *histogram) {
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : histogram[ : bins])
    for (long i = 0; i < n; ++i) ++histogram[bin[i]];
}

// contractFieldFieldScalar: threads over elements and pairs of left rows, which share what they read of the right field
extern "C" void twin_slicing(int threads, long C, long L, long R, long P, const double *left, const double *right,
                             double *out) {
#pragma omp parallel for collapse(2) schedule(static) num_threads(threads)
    for (long c = 0; c < C; ++c)
        for (long l = 0; l < L; l += 2) {
            const long next = l + 1 < L ? l + 1 : l;
            for (long r = 0; r < R; ++r) {
                double first = 0, second = 0;
#pragma omp simd reduction(+ : first, second)
                for (long p = 0; p < P; ++p) {
                    first += left[(c * L + l) * P + p] * right[(c * R + r) * P + p];
                    second += left[(c * L + next) * P + p] * right[(c * R + r) * P + p];
                }
                out[(c * L + l) * R + r] = first;
                out[(c * L + next) * R + r] = second;
            }
        }
}

// contractDataFieldScalar in the order of accesses that lanes over elements have, of arrays row by row
extern "C" void order_right(int threads, long E, long Q, long V, const double *A, const double *B, double *result) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (long e = 0; e < E - E % 8; e += 8)
        for (long q = 0; q < Q; ++q) {
            double sum[8] = {0};
            for (long i = 0; i < V; ++i)
                for (int l = 0; l < 8; ++l) sum[l] += A[((e + l) * Q + q) * V + i] * B[(e + l) * V + i];
            for (int l = 0; l < 8; ++l) result[(e + l) * Q + q] = sum[l];
        }
}

// the same of arrays whose first index is the fastest
extern "C" void order_left(int threads, long E, long Q, long V, const double *A, const double *B, double *result) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (long e = 0; e < E - E % 8; e += 8)
        for (long q = 0; q < Q; ++q) {
            double sum[8] = {0};
            for (long i = 0; i < V; ++i)
#pragma omp simd
                for (int l = 0; l < 8; ++l) sum[l] += A[e + l + E * (q + Q * i)] * B[e + l + E * i];
            for (int l = 0; l < 8; ++l) result[e + l + E * q] = sum[l];
        }
}

// A(i, j) = 1000 i + j row by row, and a count that lies column by column: in tiles of 64 lines of each
extern "C" void order_across(int threads, long N, long M, double *A, double *written) {
    constexpr long T = 64;
#pragma omp parallel for collapse(2) schedule(static) num_threads(threads)
    for (long i0 = 0; i0 < N; i0 += T)
        for (long j0 = 0; j0 < M; j0 += T)
            for (long i = i0; i < (i0 + T < N ? i0 + T : N); ++i)
#pragma omp simd
                for (long j = j0; j < (j0 + T < M ? j0 + T : M); ++j) {
                    A[i * M + j] = 1000.0 * i + j;
                    written[i + N * j] += 1;
                }
}
