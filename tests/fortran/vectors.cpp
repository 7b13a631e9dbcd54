// A C++ host of cells in one long list: a std::vector for each species, then one for all inputs and one for all
// outputs. The list is longer than 2^20 in one step, and a rank that has no cells passes vectors without memory.
// Against a function of one point. Prints the steps that are wrong.
#include "frame.h"
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

typedef std::vector<double> Cells;

// Whether made is expected: the same bodies, but exp and log of the C library
static bool differs(double made, double expected) { return !(std::fabs(made / expected - 1) < 1e-13); }

int main() {
    const int ns = 9;
    intptr_t address = 0;
    frame_initialize_(-1, 4096, ns, ns + 5, 0);
    frame_setoption_("equation", "ideal");
    frame_tvproperties_loadmixture_("examples/mechanisms/h2_o2.yaml", "");
    frame_getpoint_("T, p, Y", "rho, h", &address);
    const auto thermal = (void (*)(const double *, double *))address;

    for (const int n : {100, 0, 1100000, 77}) {
        Cells T(n), p(n, 3e6), rho(n, NAN), h(n, NAN);
        std::vector<Cells> Y(ns, Cells(n)), X(ns, Cells(n, NAN));
        for (int i = 0; i < n; ++i) T[i] = 500 + i % 1500, Y[0][i] = 0.05, Y[1][i] = 0.3, Y[8][i] = 0.65;

        std::string inputs = "T, p", outputs = "rho, h";
        std::vector<void *> arrays{T.data(), p.data()};
        for (Cells &y : Y) inputs += ", Y", arrays.push_back(y.data());
        for (Cells *made : {&rho, &h}) arrays.push_back(made->data());
        for (Cells &x : X) outputs += ", X", arrays.push_back(x.data());
        const int status = frame_castles_arrays_("thermal", inputs.c_str(), outputs.c_str(), arrays.data(),
                                                 int(arrays.size()), n, 1, 1, 1, n, 1, 1, 1, 1);

        Cells all(T), out(size_t(n) * 2, NAN);
        all.insert(all.end(), p.begin(), p.end());
        for (const Cells &y : Y) all.insert(all.end(), y.begin(), y.end());
        const int status_of_block = frame_castles_block_("thermal", "T, p, Y", all.data(), "rho, h", out.data(), n, 1,
                                                         1, 1, n, 1, 1, 1, 1, 2 + ns, 2);

        int wrong = 0;
        for (int i = 0; i < n; ++i) {
            double given[2 + ns] = {T[i], p[i]}, made[2], sum = 0;
            for (int s = 0; s < ns; ++s) given[2 + s] = Y[s][i], sum += X[s][i];
            thermal(given, made);
            wrong += differs(rho[i], made[0]) || differs(h[i], made[1]) || differs(sum, 1);
            wrong += out[i] != rho[i] || out[n + i] != h[i];
        }
        std::printf("%d: status %d %d, wrong %d\n", n, status, status_of_block, wrong);
    }
    return frame_finalize_();
}
