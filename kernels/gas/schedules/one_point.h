// A point program as a C function of a single point, for loops of the host's own. `real` and `Mixture` are defined
// before this file, and the program P of packs.py after it. The mixture's constants lie in the library, so the function
// needs no other argument than the point's numbers. It writes nothing but its results: any thread may call it.
#pragma once
#include <fenv.h>
#include <string.h>
#include "engine/numbers/launch.h"

typedef number<real>::stored stored;
constexpr long ROW = 1; // numbers from one row of intermediates to the next

template <int POINTS, bool WRITE> static inline void ask_ahead(const stored *, long, int, int, int) {}

// The layer's arithmetic, whatever the host has set: no traps, subnormal numbers. The host's state is back at the end.
struct Arithmetic {
#if defined(__x86_64__)
    static constexpr unsigned PLAIN = 0x1f80;
    const unsigned host = __builtin_ia32_stmxcsr();
    Arithmetic() { __builtin_ia32_ldmxcsr(PLAIN); }
    ~Arithmetic() { __builtin_ia32_ldmxcsr(host); }
#else
    fenv_t host;
    Arithmetic() { feholdexcept(&host), fesetenv(FE_DFL_ENV); }
    ~Arithmetic() { fesetenv(&host); }
#endif
};

static Mixture mixture;

extern "C" void frame_constants(const void *from) { memcpy((void *)&mixture, from, sizeof mixture); }

// array: the place of each argument of the program.
template <class P> static inline void run_point(stored *const *array) {
    long stride[P::COUNT];
    for (int a = 0; a < P::COUNT; ++a) stride[a] = 1;
    stored scratch[P::SCRATCH];
    P::composed(mixture, scratch);
    P::stages(mixture, array, stride, scratch, 1);
}
