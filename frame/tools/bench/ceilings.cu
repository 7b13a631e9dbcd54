// What this device can do at most. ceilings.py writes a kernel for each function: NAME, TYPE and EXPRESSION are filled
// in. Eight independent chains a thread, each function maps its chain into itself.
extern "C" __global__ void pace_NAME(double *out, const long passes) {
    const long t = blockIdx.x * (long)blockDim.x + threadIdx.x;
    TYPE x[8], sum = TYPE(0.0);
    for (int i = 0; i < 8; ++i) x[i] = TYPE(0.5 + 0.01 * i + 1e-9 * t);
    for (long pass = 0; pass < passes; ++pass)
        for (int i = 0; i < 8; ++i) x[i] = EXPRESSION;
    for (int i = 0; i < 8; ++i) sum += x[i];
    out[t] = sum;
}
