"""A stand-in for CuPy that runs the layer's CUDA on the CPU, thread by thread, where there is no GPU.

It has the parts of CuPy that kernels/engine/backend/cuda.py uses. The CUDA C++ itself is the real one: g++ compiles
the source that NVRTC gets, with blockIdx and threadIdx as variables. Memory is checked as on a device: a pageable
address in a kernel or an asynchronous copy is an error, and copies name their direction. Streams do their work at once
or, with `lag`, as late or as early as their events allow.
"""

import collections
import contextlib
import ctypes
import fcntl
import functools
import mmap
import os
import random
import re
import shutil
import subprocess
import tempfile
import threading
import time
import types
import weakref

import numpy as np

from kernels.engine.backend import cache, cuda

PREFIX = """#define __CUDACC_RTC__
#define FRAME_STAND_IN
#include <math.h>
#include <sched.h>
#include <string.h>
#include <ucontext.h>
#define __global__
#define __device__
#define __constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
struct Index { int x, y, z; };
static Index blockIdx, gridDim, blockDim, threadIdx;
struct alignas(16) double2 { double x, y; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
template <class T> static inline void __stcs(T *to, T value) { *to = value; }
#define __shared__
alignas(128) double shared_memory[32*1024];
static const int unknown_at_first = [] { for (double &x : shared_memory) x = __builtin_nan(""); return 0; }();
// Threads that meet at barriers are fibres: each runs up to its barrier, then gives way to the next one of its block.
// Two blocks of teams (team.h) run at the same time, in turns.
enum { READY, AT_BARRIER, AT_WARP, AT_PART, ENDED };
constexpr int MOST = 1024, IN_FLIGHT = 2;
struct Fibre { ucontext_t context; int state; unsigned mask; };
static Fibre fibre[IN_FLIGHT*MOST];
static ucontext_t block_loop;
static int running = -1;
static void **arguments;
static inline void give_way(int state = READY, unsigned mask = 0) {
    fibre[running].state = state, fibre[running].mask = mask;
    swapcontext(&fibre[running].context, &block_loop);
}
static inline void __syncthreads() { give_way(AT_BARRIER); }
static inline void named_barrier(int id, int threads) { give_way(AT_PART, unsigned(id) << 16 | threads); }
static inline void __syncwarp(unsigned mask = ~0u) { give_way(AT_WARP, mask); }
// What a warp does together: each lane shows its values, all meet, each takes what it wants, all meet.
static double shown[IN_FLIGHT*MOST][3];
template <class T> static inline T __shfl_sync(unsigned mask, T value, int lane) {
    memcpy(shown[running], &value, sizeof value);
    __syncwarp(mask);
    memcpy(&value, shown[(running & ~31) + (lane & 31)], sizeof value);
    __syncwarp(mask);
    return value;
}
static inline int __all_sync(unsigned mask, int here) {
    shown[running][0] = here;
    __syncwarp(mask);
    int all = 1;
    for (int lane = 0; lane < 32 && (running & ~31 & MOST - 1) + lane < blockDim.x; ++lane)
        if (mask >> lane & 1) all &= shown[(running & ~31) + lane][0] != 0;
    __syncwarp(mask);
    return all;
}
template <class T> static inline T __shfl_xor_sync(unsigned mask, T value, int bits) {
    return __shfl_sync(mask, value, (running & 31) ^ bits);
}
template <class T> static inline T __shfl_up_sync(unsigned mask, T value, int by) {
    const int lane = running & 31;
    return __shfl_sync(mask, value, lane < by ? lane : lane - by);
}
// mma.sync m16n8k4, float64: the fragments as the PTX manual lays them out
static inline void matrix_unit(double (&c)[4], const double (&a)[2], double b) {
    const int warp = running & ~31, row = (running & 31) >> 2, column = running & 3;
    shown[running][0] = a[0], shown[running][1] = a[1], shown[running][2] = b;
    __syncwarp();
    for (int r = 0; r < 2; ++r) for (int q = 0; q < 2; ++q) for (int k = 0; k < 4; ++k)
        c[2*r + q] += shown[warp + 4*row + k][r]*shown[warp + 4*(2*column + q) + k][2];
    __syncwarp();
}
// the same of TF32, which takes the 11 leading digits of a number
static inline double leading(float x) {
    int bits;
    memcpy(&bits, &x, 4), bits &= ~0x1fff, memcpy(&x, &bits, 4);
    return x;
}
static inline void matrix_unit(float (&c)[4], const float (&a)[2], float b) {
    double sums[4] = {c[0], c[1], c[2], c[3]};
    matrix_unit(sums, {leading(a[0]), leading(a[1])}, leading(b));
    for (int i = 0; i < 4; ++i) c[i] = float(sums[i]);
}
static inline int min(int a, int b) { return a < b ? a : b; }
// Fibres change at barriers alone, so that nothing comes between.
template <class T> static inline T atomicExch(T *at, T value) { const T old = *at; *at = value; return old; }
template <class T> static inline T atomicMax(T *at, T x) { return atomicExch(at, x > *at ? x : *at); }
template <class T> static inline T atomicAdd(T *at, T x) { return atomicExch(at, T(*at + x)); }
template <class T> static inline T atomicOr(T *at, T x) { return atomicExch(at, *at | x); }
template <class T> static inline T atomicAnd(T *at, T x) { return atomicExch(at, *at & x); }
template <class T> static inline T atomicCAS(T *at, T wanted, T x) { return atomicExch(at, *at == wanted ? x : *at); }
static inline void __threadfence() {}
template <class T> static inline T __ldcg(const T *at) { return *at; }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __float_as_int(float x) { int bits; memcpy(&bits, &x, 4); return bits; }
static inline float __int_as_float(int bits) { float x; memcpy(&x, &bits, 4); return x; }
static inline long long __double_as_longlong(double x) { long long bits; memcpy(&bits, &x, 8); return bits; }
// the cached load of what nothing writes: from global memory alone
static inline float __ldg(const float *at) { return *at; }
static inline long __ldg(const long *at) { return *at; }
static inline float4 __ldg(const float4 *at) { return *at; }
static inline double2 __ldg(const double2 *at) { return *at; }
static inline double __ldg(const double *at) {
    return at >= shared_memory && at < shared_memory + 32*1024 ? __builtin_nan("") : *at;
}
static inline void __threadfence_system() { __sync_synchronize(); }
static inline void __nanosleep(unsigned) {
    sched_yield();
    if (running >= 0) give_way();
}
static inline double __longlong_as_double(long long bits) { double x; memcpy(&x, &bits, 8); return x; }
"""
# engine/numbers/launch.h takes this in place of its own: launch_<kernel>(grid, rows, threads, addresses of record and
# items), and record_<kernel>(), the record's size. TEAMS: threads of a block wait for each other at barriers, so they
# are fibres.
KERNELS = """
static long launch_items;
template <class Work> static void run_threads(int gx, int gy, int bx, const Work &work) {
    gridDim = {gx, gy, 1}, blockDim = {bx, 1, 1};
    for (int y = 0; y < gy; ++y) for (int x = 0; x < gx; ++x) for (int t = 0; t < bx; ++t) {
        blockIdx = {x, y, 0}, threadIdx = {t, 0, 0};
        work();
    }
}
static void (*thread_of_team)();
static const char *problem;
static void run_fibre() { thread_of_team(); fibre[running].state = ENDED; }
// One block of those in flight: its place in the grid, its shared memory while another one runs.
struct Block { Index at; bool live; double shared[32*1024]; };
static void begin(Block &b, int slot, int x, int y, int bx, int shared) {
    static char stack[IN_FLIGHT*MOST][65536];
    b.at = {x, y, 0}, b.live = true;
    memset(b.shared, 0xff, shared);      // NaN
    for (int t = slot*MOST; t < slot*MOST + bx; ++t) {
        ucontext_t &c = fibre[t].context;
        getcontext(&c);
        c.uc_stack.ss_sp = stack[t], c.uc_stack.ss_size = sizeof stack[t], c.uc_link = &block_loop;
        makecontext(&c, run_fibre, 0);
        fibre[t].state = READY;
    }
}
// All threads up to their next barrier, the last one first in every other block; then those go on whose partners have
// come, or have ended. Returns whether any moved.
static bool round(Block &b, int slot, int bx) {
    const bool backwards = (b.at.x + b.at.y) & 1;
    bool moved = false, all = true, ended = false;
    b.live = false;
    blockIdx = b.at;
    for (int k = 0; k < bx; ++k) {
        const int t = backwards ? bx - 1 - k : k, f = slot*MOST + t;
        if (fibre[f].state != READY) continue;
        threadIdx = {t, 0, 0}, running = f, moved = true;
        swapcontext(&block_loop, &fibre[f].context);
    }
    running = -1;
    for (int id = 0; id < 16; ++id) { // barriers of parts: as many threads as they were told
        int here = 0;
        unsigned told = 0;
        for (int t = 0; t < bx; ++t)
            if (fibre[slot*MOST + t].state == AT_PART && fibre[slot*MOST + t].mask >> 16 == id)
                ++here, told = fibre[slot*MOST + t].mask & 0xffff;
        for (int t = 0; t < bx && here && here == told; ++t)
            if (fibre[slot*MOST + t].state == AT_PART && fibre[slot*MOST + t].mask >> 16 == id)
                fibre[slot*MOST + t].state = READY, moved = true;
    }
    for (int t = 0; t < bx; ++t) {
        const Fibre &own = fibre[slot*MOST + t];
        b.live |= own.state != ENDED, ended |= own.state == ENDED;
        all &= own.state == ENDED || own.state == AT_BARRIER;
        bool met = own.state == AT_WARP;
        for (int l = t & ~31; l < bx && l < (t & ~31) + 32 && met; ++l) {
            const Fibre &other = fibre[slot*MOST + l];
            if (own.mask >> (l & 31) & 1)
                met = other.state == ENDED || other.state == AT_WARP && other.mask == own.mask;
        }
        for (int l = t & ~31; l < bx && l < (t & ~31) + 32 && met; ++l)
            if (own.mask >> (l & 31) & 1 && fibre[slot*MOST + l].state == AT_WARP)
                fibre[slot*MOST + l].state = READY, moved = true;
    }
    if (all && b.live && !(ended && TOGETHER))
        for (int t = 0; t < bx; ++t)
            if (fibre[slot*MOST + t].state == AT_BARRIER) fibre[slot*MOST + t].state = READY, moved = true;
    return moved || !b.live;
}
static void run_teams(int gx, int gy, int bx, int shared) {
    static Block block[IN_FLIGHT];
    const int slots = TOGETHER && shared <= 48*1024 ? IN_FLIGHT : 1;
    gridDim = {gx, gy, 1}, blockDim = {bx, 1, 1};
    memset(shared_memory, 0xff, sizeof shared_memory);
    for (int s = 0; s < slots; ++s) block[s].live = false;
    for (long next = 0, left = 1; left && !problem;) {
        left = 0;
        bool moved = false;
        for (int s = 0; s < slots; ++s) {
            Block &b = block[s];
            if (!b.live && next < (long)gx*gy) begin(b, s, next % gx, next / gx, bx, shared), ++next;
            if (!b.live) continue;
            memcpy(shared_memory, b.shared, shared);
            moved |= round(b, s, bx);
            memcpy(b.shared, shared_memory, shared);
            left += b.live || next < (long)gx*gy;
        }
        if (left && !moved) problem = "threads wait at a barrier that others of their block or warp do not reach";
    }
}
#ifdef TEAMS
#define RUN(name, Record) \\
    thread_of_team = [] { name(*(const Record *)arguments[0], launch_items); }; run_teams(gx, gy, bx, shared)
#else
#define RUN(name, Record) run_threads(gx, gy, bx, [] { name(*(const Record *)arguments[0], launch_items); })
#endif
#define KERNEL(name, Record, ...) \\
    static void name(const Record &a, const long items); \\
    extern "C" long record_##name() { return sizeof(Record); } \\
    extern "C" const char *launch_##name(int gx, int gy, int bx, int shared, void **given) { \\
        arguments = given, launch_items = *(const long *)given[1], problem = 0; \\
        RUN(name, Record); \\
        return problem; \\
    } \\
    static void name(const Record &a, const long items)
"""
KINDS = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}


class Cublas:
    """Products by columns: C = alpha op(A) op(B) + beta C, op the transpose where asked for."""

    def __init__(self):
        for letter, dtype in KINDS.items():
            setattr(self, f"{letter}gemm", functools.partial(self._product, dtype))
            setattr(self, f"{letter}gemmStridedBatched", functools.partial(self._strided, dtype))
            setattr(self, f"{letter}gemmBatched", functools.partial(self._table, dtype))

    @staticmethod
    def _matrix(dtype, at, rows, columns, line):
        assert line >= max(rows, 1), "lines overlap"
        raw = (ctypes.c_char * ((line * (columns - 1) + rows) * np.dtype(dtype).itemsize)).from_address(at)
        flat = np.frombuffer(raw, dtype)
        strides = [np.dtype(dtype).itemsize, line * np.dtype(dtype).itemsize]
        return np.lib.stride_tricks.as_strided(flat, (rows, columns), strides)

    def _product(self, dtype, handle, turn_a, turn_b, m, n, k, alpha, a, line_a, b, line_b, beta, c, line_c):
        def number(at):
            return np.frombuffer((ctypes.c_char * np.dtype(dtype).itemsize).from_address(at), dtype)[0]

        left = self._matrix(dtype, a, k, m, line_a).T if turn_a else self._matrix(dtype, a, m, k, line_a)
        right = self._matrix(dtype, b, n, k, line_b).T if turn_b else self._matrix(dtype, b, k, n, line_b)
        out = self._matrix(dtype, c, m, n, line_c)
        old = number(beta) * out if number(beta) else 0  # beta 0: the old values are not read
        out[...] = number(alpha) * (left @ right) + old

    def _strided(self, dtype, handle, ta, tb, m, n, k, alpha, a, la, sa, b, lb, sb, beta, c, lc, sc, count):
        size = np.dtype(dtype).itemsize
        for i in range(count):
            at = (a + i * sa * size, b + i * sb * size, c + i * sc * size)
            self._product(dtype, handle, ta, tb, m, n, k, alpha, at[0], la, at[1], lb, beta, at[2], lc)

    def _table(self, dtype, handle, ta, tb, m, n, k, alpha, a, la, b, lb, beta, c, lc, count):
        tables = [(ctypes.c_long * count).from_address(at) for at in (a, b, c)]
        for at in zip(*tables):
            self._product(dtype, handle, ta, tb, m, n, k, alpha, at[0], la, at[1], lb, beta, at[2], lc)


PAGEABLE, PINNED, DEVICE = range(3)
TOTAL = 2**30  # bytes of the device
PACES = (0, 0.02, 0.3, 1)  # how often a stream with `lag` works ahead; neighbours differ


# -fno-gnu-unique: a device has no common place for statics of the same name
COMMAND = ("g++", "-std=c++17", "-O1", "-fno-strict-aliasing", "-Wno-unknown-pragmas", "-fPIC", "-fno-gnu-unique")


@contextlib.contextmanager
def locked(path):
    """One process goes on, the others wait for it."""
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def shared_folder(base):
    """Where the stand-in's programs of this run of pytest lie, for all its processes. base: pytest's getbasetemp()."""
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "stand_in"
    folder.mkdir(exist_ok=True)
    return folder


def compile_for_cpu(source, path, folders):
    """A shared object with launch_<kernel> for each kernel of the CUDA source."""
    text = "\n".join([source.text, *(file.read_text() for file in cache.included(source.text, folders))])
    teams = "#define TEAMS\n" if re.search(r"shared_memory\[|__shfl|matrix_unit", text) else ""

    # A device lets threads end before others meet at a barrier; those of a team end together.
    teams += f"constexpr bool TOGETHER = {str('for_league' in text).lower()};\n"
    file = path.with_suffix(".cpp")
    file.write_text('#include "prefix.h"\n' + teams + KERNELS + source.text)

    with locked(path.parent / "prefix.lock"):
        header = path.parent / "prefix.h"
        if not header.exists():  # and its precompiled form: 0.08 s less of the 0.2 s that a source takes
            header.write_text(PREFIX)
            subprocess.run([*COMMAND, "-x", "c++-header", str(header), "-o", f"{header}.gch"], check=True)

    where = [f"-I{folders[0]}", *(f"-idirafter{f}" for f in folders[1:])]
    subprocess.run([*COMMAND, *where, "-shared", "-o", str(path), str(file)], check=True)


def compiler(folder):
    """The replacement of kernels.engine.backend.cuda.machine_code; several processes may share the folder."""

    def machine_code(source, arch):
        folders = [cuda.HERE, *source.folders]
        key = cache.key(*cache.texts(source.text, folders))[:24]
        path = folder / f"{key}.so"

        with locked(path.with_suffix(".lock")):
            if not path.exists():
                made = folder / f"{key}-{os.getpid()}.so"
                compile_for_cpu(source, made, folders)
                made.rename(path)

        # a copy: a file is loaded only once, and each Program has its own constants
        copy = folder / f"{key}-{os.getpid()}-{len(list(folder.iterdir()))}.so"
        copy.with_suffix(".sha256").write_text("\n")  # in place of the report
        return shutil.copy(path, copy)

    return machine_code


class Memory:
    """The addresses that the device can reach, and the kind of each."""

    def __init__(self):
        self.ranges = {}

    def add(self, address, size, kind):
        self.ranges[address, kind] = size

    def kind(self, address):
        return max(
            (kind for (start, kind), size in self.ranges.items() if start <= address < start + size), default=PAGEABLE
        )


def own_pages(size):
    """Bytes on pages that nothing else lies on: a host that pins whole pages has none of them."""
    raw = np.empty(size + 2 * 4096, np.uint8)
    return raw[-raw.ctypes.data % 4096 :][:size]


class Array(np.ndarray):
    """Stand-in for cupy.ndarray: the address is data.ptr."""

    @property
    def data(self):
        return types.SimpleNamespace(ptr=self.ctypes.data)

    @property
    def __cuda_array_interface__(self):
        return self.__array_interface__


class Pinned(np.ndarray):
    """Stand-in for cupy.cuda.PinnedMemoryPointer: an address and a buffer."""

    @property
    def ptr(self):
        return self.ctypes.data


def make(lag=None):
    """The module to stand in for cupy. lag: a seed; each stream then has a pace of its own, from as late as its events
    allow to as early: a host sees it that forgets to wait, or an event. Not for programs that use arrays while work is
    under way."""
    memory, calls, streams = Memory(), [], []
    luck = None if lag is None else random.Random(lag)

    class CUDARuntimeError(RuntimeError):
        pass

    class CUDADriverError(RuntimeError):
        pass

    class OutOfMemoryError(MemoryError):
        pass

    def empty(shape, dtype=np.float64):
        if np.prod(shape, dtype=float) * np.dtype(dtype).itemsize > TOTAL:
            raise OutOfMemoryError

        array = own_pages(int(np.prod(shape)) * np.dtype(dtype).itemsize).view(dtype).reshape(shape).view(Array)
        array[...] = np.nan if np.issubdtype(dtype, np.floating) else 0
        memory.add(array.ctypes.data, max(array.nbytes, 1), DEVICE)
        keep.append(array)  # kept, so that an address is not reused and a range never changes its kind

        return array

    keep, recorded = [], []

    def asarray(value, dtype=None):
        if (
            isinstance(value, Array)
            and memory.kind(value.ctypes.data) == DEVICE
            and (dtype is None or value.dtype == dtype)
        ):
            return value

        if hasattr(value, "__cuda_array_interface__") and not isinstance(value, np.ndarray):  # memory of the device
            assert memory.kind(value.__cuda_array_interface__["data"][0]) == DEVICE, "no address of the device"
            return np.asarray(value).view(Array)

        everything()
        out = empty(np.shape(value), dtype or getattr(value, "dtype", np.float64))
        value = np.asarray(value, dtype or getattr(value, "dtype", np.float64))
        refuse_half_pinned(value.ctypes.data, value.nbytes)
        out[...] = value

        return out

    def asnumpy(array, out):
        everything()
        refuse_half_pinned(out.ctypes.data, out.nbytes)
        np.copyto(out, array)
        return out

    def refuse_half_pinned(address, size):
        """As the driver: memory of the host that is pinned only in part, or in two parts, is refused."""
        pinned = [min(address + size, a + s) - max(address, a) for a, s in registered.items()]
        if 0 < max(pinned, default=0) < size:
            raise CUDARuntimeError("cudaErrorInvalidValue: invalid argument")

    def copy(to, source, size, kind, stream=0):
        copy_2d(to, size, source, size, size, 1, kind, stream)

    def copy_2d(to, to_pitch, source, source_pitch, width, height, kind, stream=0):
        assert width <= min(to_pitch, source_pitch) or height == 1
        wanted = {1: (False, True), 2: (True, False), 3: (True, True)}[kind]
        found = memory.kind(source), memory.kind(to)
        assert (found[0] == DEVICE, found[1] == DEVICE) == wanted, f"a copy of direction {kind} between kinds {found}"
        calls.append("copy")
        for host, pitch in ((source, source_pitch),) * (kind == 1) + ((to, to_pitch),) * (kind == 2):
            refuse_half_pinned(host, (height - 1) * pitch + width)

        def go():
            for row in range(height):
                ctypes.memmove(to + row * to_pitch, source + row * source_pitch, width)

        queue(stream, go)

    # Memory in a file: other processes open it by its name (the handle)
    files, opened = {}, {}

    def malloc(size):
        folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
        prefix = os.environ.get("STAND_IN_MEMORY", "stand-in-")
        file = tempfile.NamedTemporaryFile(prefix=prefix, dir=folder)  # noqa: SIM115  open until it is freed
        file.write(b"\xff" * size)  # NaN
        file.flush()
        address = mapped(file.name)
        files[address] = file

        return address

    def mapped(name):
        with open(name, "r+b") as file:
            view = mmap.mmap(file.fileno(), 0)
        address = ctypes.addressof(ctypes.c_char.from_buffer(view))
        opened[address] = view
        memory.add(address, len(view), DEVICE)

        return address

    def unmap(address):
        opened.pop(address)
        memory.ranges.pop((address, DEVICE))

    def free(address):
        unmap(address)
        files.pop(address).close()

    def get_handle(address):
        return files[address].name.encode().ljust(64, b"\0")

    def open_handle(handle):
        try:
            return mapped(handle.rstrip(b"\0").decode())
        except OSError as error:
            raise CUDARuntimeError(f"cudaErrorInvalidValue: {error}") from None

    registered = {}

    def register(address, size, flags):
        if any(a < address + size and address < a + s for a, s in registered.items()):
            raise CUDARuntimeError("cudaErrorHostMemoryAlreadyRegistered")
        registered[address] = size
        memory.add(address, size, PINNED)

    def unregister(address):
        del registered[address], memory.ranges[address, PINNED]

    runtime = types.SimpleNamespace(
        CUDARuntimeError=CUDARuntimeError,
        memcpyHostToDevice=1,
        memcpyDeviceToHost=2,
        memcpyDeviceToDevice=3,
        memcpyAsync=copy,
        getDeviceCount=lambda: 1,
        getDeviceProperties=lambda d: {
            "major": 9,
            "minor": 0,
            "name": b"stand-in",
            "totalGlobalMem": TOTAL,
            "sharedMemPerBlockOptin": 227 * 1024,
            "multiProcessorCount": 2,
        },
        setDevice=lambda d: None,
        memGetInfo=lambda: (TOTAL // 2, TOTAL),
        deviceGetPCIBusId=lambda d: "0000:00:00.0",
        deviceGetAttribute=lambda attribute, d: 0,
        driverGetVersion=lambda: 13000,
        runtimeGetVersion=lambda: 13000,
        memcpy=copy,
        malloc=malloc,
        free=free,
        memset=lambda address, value, size: ctypes.memset(address, value, size),
        ipcGetMemHandle=get_handle,
        ipcOpenMemHandle=open_handle,
        ipcCloseMemHandle=unmap,
        memcpy2DAsync=copy_2d,
        streamSynchronize=lambda s: synchronize(s),
        hostRegister=register,
        hostUnregister=unregister,
        pointerGetAttributes=lambda a: types.SimpleNamespace(type=memory.kind(a)),
    )

    def alloc_pinned_memory(size):
        block = own_pages(size).view(Pinned)
        memory.add(block.ctypes.data, size, PINNED)
        keep.append(block)
        return block

    # ---- streams: work in order, and waits for a place in another one's work
    all_streams = weakref.WeakValueDictionary()
    here = threading.local()

    def current():
        return getattr(here, "stack", [Stream.null])[-1]

    def force(stream, place):
        """Run a stream's work up to this place, and what that waits for."""
        while stream.done < place and stream.work:
            item = stream.work.popleft()
            force(*item) if isinstance(item, tuple) else item()
            stream.done += 1

    def advance(stream):
        """Run what waits for nothing that is not done."""
        while stream.work:
            item = stream.work[0]
            if isinstance(item, tuple):
                if item[0].done < item[1]:
                    return
            else:
                item()

            stream.work.popleft()
            stream.done += 1

    def everything():
        for stream in list(all_streams.values()):
            force(stream, stream.given)

    def queue(ptr, item):
        stream = all_streams.get(ptr)
        if luck is None or stream is None or not ptr:  # the default stream is in order with the others
            if luck is not None:
                everything()
            if not isinstance(item, tuple):
                item()
            return

        stream.work.append(item)
        stream.given += 1

        for other in list(all_streams.values()):
            if luck.random() < other.pace:
                advance(other)

    def synchronize(ptr):
        calls.append("wait")
        stream = all_streams.get(ptr)

        if stream is None or not ptr:
            everything()
        else:
            force(stream, stream.given)

    class Event:
        def __init__(self, disable_timing=False):
            self.time, self.place = None, None

        def record(self, stream=None):
            stream = stream or current()
            self.time, self.place = time.perf_counter(), (stream, stream.given)

        def synchronize(self):
            calls.append("wait")
            if self.place:
                force(*self.place)

    class Stream:
        def __init__(self, non_blocking=False, ptr=None):
            self.ptr = id(self) if ptr is None else ptr
            self.work, self.given, self.done = collections.deque(), 0, 0
            self.pace = PACES[(len(all_streams) - 1 + (lag or 0)) % len(PACES)]
            all_streams[self.ptr] = self

        def begin_capture(self):
            recorded.append([])

        def end_capture(self):
            launches = recorded.pop()
            return types.SimpleNamespace(upload=lambda: None, launch=lambda: [run() for run in launches])

        def __enter__(self):
            here.stack = [*getattr(here, "stack", [Stream.null]), self]
            return self

        def __exit__(self, *error):
            here.stack = here.stack[:-1]

        def synchronize(self):
            synchronize(self.ptr)

        def wait_event(self, event):
            if event.place and event.place[0] is not self:
                queue(self.ptr, event.place)

        def use(self):
            here.stack = [self]

        @classmethod
        def from_external(cls, foreign):
            version, address = foreign.__cuda_stream__()
            assert version == 0
            return ExternalStream(address, 0)

    class ExternalStream(Stream):
        def __init__(self, ptr, device):
            super().__init__(ptr=ptr)

    Stream.null = Stream(ptr=0)

    class Module:
        def load_file(self, path):
            self.library = ctypes.CDLL(path)

        def get_global_var(self, name):
            address = ctypes.addressof(ctypes.c_char.in_dll(self.library, name))
            memory.add(address, 60 * 1024, DEVICE)
            return address

        def get_function(self, name):
            run, size = self.library["launch_" + name], self.library["record_" + name]
            size.restype, run.restype = ctypes.c_long, ctypes.c_char_p
            address = ctypes.cast(run, ctypes.c_void_p).value
            functions[address] = name, run, size()
            return types.SimpleNamespace(ptr=address)

    functions = {}

    def launch_kernel(function, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra):
        assert 0 < gx < 2**31 and 0 < gy < 2**16 and (gz, by, bz, extra) == (1, 1, 1, 0) and 0 < bx <= 1024, (
            "not a grid"
        )
        name, run, size = functions[function]
        calls.append(name)
        streams.append(stream)
        record, items = (ctypes.c_void_p * 2).from_address(arguments)
        held = ctypes.create_string_buffer(ctypes.string_at(record, size), size)  # copied at the launch
        count = ctypes.c_long.from_buffer_copy(ctypes.string_at(items, 8))
        given = (ctypes.c_void_p * 2)(ctypes.addressof(held), ctypes.addressof(count))

        def go(keep=(held, count)):
            problem = run(gx, gy, bx, shared, given)
            assert not problem, f"{name}: {problem.decode()}"

        recorded[-1].append(go) if recorded else queue(stream, go)

    pool = types.SimpleNamespace(free_all_blocks=lambda: None)
    cuda = types.SimpleNamespace(
        runtime=runtime,
        driver=types.SimpleNamespace(
            CUDADriverError=CUDADriverError,
            funcSetAttribute=lambda *_: None,
            launchKernel=launch_kernel,
            occupancyMaxActiveBlocksPerMultiprocessor=lambda function, threads, shared: 1,
        ),
        Module=Module,
        Event=Event,
        Stream=Stream,
        ExternalStream=ExternalStream,
        alloc_pinned_memory=alloc_pinned_memory,
        memory=types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
        get_current_stream=current,
        cublas=Cublas(),
        device=types.SimpleNamespace(get_cublas_handle=lambda: 1),
        get_elapsed_time=lambda a, b: 1e3 * (b.time - a.time),
    )

    module = types.ModuleType("cupy")
    module.__dict__.update(
        cuda=cuda,
        float64=np.float64,
        empty=empty,
        asarray=asarray,
        asnumpy=asnumpy,
        calls=calls,
        streams=streams,
        memory=memory,
        registered=registered,
        array=lambda a, order=None: asarray(np.array(a)),
        ascontiguousarray=lambda a: asarray(np.ascontiguousarray(a)),
        broadcast_to=lambda a, s: np.broadcast_to(a, s, subok=True),
        where=lambda c, a, b: asarray(np.where(c, a, b)),
        get_default_memory_pool=lambda: pool,
        ndarray=Array,
        get_default_pinned_memory_pool=lambda: pool,
        __version__="stand-in",
    )

    return module
