/* A C host whose arrays lie on the device: cudaMalloc, a stream of its own, block calls.
 *
 *     device LIBCUDART MIXTURE NX NY NZ CALLS
 *
 * Prints: results of a call on host arrays and on device arrays (they have to be the same), the time that a call takes
 * to return, and the time of all calls until the stream is done. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "frame.h"

enum { NS = 10, IN = 2 + NS, OUT = 3, BATCHES = 20 };

static void *cuda_symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        printf("no %s\n", name);
        exit(1);
    }
    return found;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

int main(int argc, char **argv) {
    void *cudart = argc > 6 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*allocate)(void **, size_t), (*copy)(void *, const void *, size_t, int), (*make_stream)(void **, unsigned);
    int (*wait)(void *), nx, ny, nz, calls, batch, i, s;
    size_t n, t;
    double *in, *out, *back, *device_in, *device_out, begin, queued, done, least_queued = 0, least_done = 0;
    void *stream;
    if (!cudart) {
        puts(argc > 6 ? dlerror() : "device LIBCUDART MIXTURE NX NY NZ CALLS");
        return 1;
    }
    nx = atoi(argv[3]), ny = atoi(argv[4]), nz = atoi(argv[5]), calls = atoi(argv[6]);
    *(void **)&allocate = cuda_symbol(cudart, "cudaMalloc");
    *(void **)&copy = cuda_symbol(cudart, "cudaMemcpy");
    *(void **)&make_stream = cuda_symbol(cudart, "cudaStreamCreateWithFlags");
    *(void **)&wait = cuda_symbol(cudart, "cudaStreamSynchronize");

    n = (size_t)nx * ny * nz;
    in = malloc(8 * n * IN), out = calloc(n * OUT, 8), back = calloc(n * OUT, 8);
    for (t = 0; t < n; t++) {
        in[t] = 250.0 + (t % 997), in[n + t] = 5e6 + 1e4 * (t % 1009);
        for (s = 0; s < NS; s++) in[(2 + s) * n + t] = 1.0 / NS;
    }
    frame_initialize_(-1, 65536, NS, 1, 0);
    frame_tvproperties_loadmixture_(argv[2], "");
#define BLOCK(from, to) \
    frame_castles_block_("thermal", "T,p,Y", from, "rho,h,c", to, nx, ny, nz, 1, nx, 1, ny, 1, nz, IN, OUT)
    BLOCK(in, out);

    if (make_stream(&stream, 1) || allocate((void **)&device_in, 8 * n * IN) ||
        allocate((void **)&device_out, 8 * n * OUT))
        return 2;
    copy(device_in, in, 8 * n * IN, 1);
    frame_setstream_((intptr_t)stream);
    BLOCK(device_in, device_out);
    wait(stream);
    copy(back, device_out, 8 * n * OUT, 2);
    printf("same %d\n", !memcmp(out, back, 8 * n * OUT));

    for (batch = 0; batch < BATCHES; batch++) { /* the shortest counts: others work on this machine, too */
        begin = now();
        for (i = 0; i < calls; i++) BLOCK(device_in, device_out);
        queued = now() - begin;
        wait(stream);
        done = now() - begin;
        if (!batch || queued < least_queued) least_queued = queued;
        if (!batch || done < least_done) least_done = done;
    }
    printf("call %.3f us\n", 1e6 * least_queued / calls);
    printf("pace %.5f ns a point\n", 1e9 * least_done / calls / n);
    frame_finalize_();
    return 0;
}
