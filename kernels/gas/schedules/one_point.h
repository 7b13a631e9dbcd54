// A point program as a C function of a single point, for loops of the host's own. `real` and `Mixture` are defined
// before this file, and the function after it (one_point.py). The mixture's constants lie in the library, so the
// function needs no other argument than the point's numbers. It writes nothing but its results: any thread may call it.
//
// The text for a device has the constants as words, CONSTANTS, for code that a host compiles and links by itself.
#pragma once
#include "engine/numbers/launch.h"
#ifdef ON_DEVICE
#define HOSTS_FN extern "C" __device__
#else
#include "gas/thermal/coefficient_rows.h"
#include <fenv.h>
#include <string.h>
#define HOSTS_FN extern "C"
#endif

// The layer's arithmetic, whatever the host has set: no traps, subnormal numbers. The host's state is back at the end,
// its flags of exceptions too. Writing the register waits for all arithmetic before it, so it is written only if it
// differs; on AMD's processors (SSE4A) reading it waits longer, by 3 to 6 ns of a point on Zen 4.
struct Arithmetic {
#if defined(ON_DEVICE)
    POINT_FN Arithmetic() {}
#elif defined(__x86_64__)
    static constexpr unsigned PLAIN = 0x1f80;
    static constexpr unsigned FLAGS = 0x3f;
#ifdef __SSE4A__
    static constexpr bool READ_AGAIN = false;
#else
    static constexpr bool READ_AGAIN = true;
#endif
    const unsigned host = __builtin_ia32_stmxcsr();
    Arithmetic() {
        if ((host & ~FLAGS) != PLAIN) __builtin_ia32_ldmxcsr(PLAIN);
    }
    ~Arithmetic() {
        if (!READ_AGAIN || __builtin_ia32_stmxcsr() != host) __builtin_ia32_ldmxcsr(host);
    }
#else
    fenv_t host;
    Arithmetic() { feholdexcept(&host), fesetenv(FE_DFL_ENV); }
    ~Arithmetic() { fesetenv(&host); }
#endif
};

#ifdef ON_DEVICE
static __device__ const unsigned long long constants[] = {CONSTANTS}; // the bytes of a Mixture
typedef Mixture PointMixture;
POINT_FN const Mixture &the_mixture() { return *(const Mixture *)constants; }
#else
// With tables of another order, for species side by side
struct HIDDEN PointMixture : Mixture {
    NasaRows<Mixture> rows;
};

static PointMixture mixture;
extern "C" void frame_constants(const void *from) {
    memcpy((void *)static_cast<Mixture *>(&mixture), from, sizeof(Mixture));
    mixture.rows.fill(mixture);
}
static inline const PointMixture &the_mixture() { return mixture; }
#endif
