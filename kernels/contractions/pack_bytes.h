// Bytes of a CPU's widest vectors. VECTOR_BYTES of engine/numbers/pack.h is the same for its own number types.
#pragma once

#if defined(__AVX512F__)
#define PACK_BYTES 64
#elif defined(__AVX__)
#define PACK_BYTES 32
#else
#define PACK_BYTES 16 // SSE2, NEON
#endif
