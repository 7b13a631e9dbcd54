/* A C host: frame.h, arrays by address. C[e i k] = A[i j] B[e j k], in C's order of indices. */
#include "frame.h"
#include <stdio.h>

enum { ELEMENTS = 3, I = 2, J = 4, K = 5 };
static float A[I][J], B[ELEMENTS][J][K], C[ELEMENTS][I][K];

int main(void) {
    void *const addresses[] = {A, B, C};
    /* the fastest index first */
    const int extents[] = {J, I, K, J, ELEMENTS, K, I, ELEMENTS};
    int e, i, j, k, wrong = 0, status;
    for (e = 0; e < ELEMENTS; e++)
        for (j = 0; j < J; j++)
            for (k = 0; k < K; k++) B[e][j][k] = (float)(e - 2 * j + k);
    for (i = 0; i < I; i++)
        for (j = 0; j < J; j++) A[i][j] = (float)(3 * i - j);
    status = frame_registercontraction_("product", "C[e i k] = A[i j] B[e j k]\nconstant A");
    status |= frame_initialize_(-1, 1, 1, 1, 0);
    status |= frame_contract_("product", "A, B, C", addresses, 3, extents, 8, 4);
    for (e = 0; e < ELEMENTS; e++)
        for (i = 0; i < I; i++)
            for (k = 0; k < K; k++) {
                float sum = 0;
                for (j = 0; j < J; j++) sum += A[i][j] * B[e][j][k];
                wrong += sum != C[e][i][k]; /* whole numbers: exact */
            }
    printf("status %d wrong %d last %g\n", status, wrong, (double)C[ELEMENTS - 1][I - 1][K - 1]);
    return frame_finalize_();
}
