// Scattered sums on CUDA: by atomics on the array, or, where it is small, on a copy of each block in shared memory,
// which begins as 0 and is added to the array when the block ends.
#pragma once

template <class V, class T, class X> POINT_FN void scatter_add(const Scatter<V> &, T &at, const X &x) {
    atomic_add(at, x);
}

// A block's copy of `count` numbers.
template <class T> struct CopyOfBlock {
    char *first;
    long count;
    POINT_FN T &at(long k) const { return ((T *)first)[k]; }
    POINT_FN void add(long k, T x) const { atomic_add(at(k), x); }
    POINT_FN T sum(long k) const { return at(k); }
};

// Shared memory adds 32 bits at a time. So the lower halves of all numbers come first, then the upper halves, to which
// a carry is added. Most additions have no carry: they add 0 to an upper half that no other lane of the warp changes. A
// branch instead would keep later loads of the thread waiting.
template <> struct CopyOfBlock<long> {
    char *first;
    long count;
    POINT_FN unsigned &lower(long k) const { return ((unsigned *)first)[k]; }
    POINT_FN unsigned &upper(long k) const { return ((unsigned *)first)[count + k]; }
    POINT_FN void add(long k, long x) const {
        const unsigned low = unsigned(x);
        const unsigned before = atomicAdd(&lower(k), low);
        const bool carry = before + low < low;
        const unsigned up = unsigned(x >> 32) + carry;
        const unsigned lane = threadIdx.x & 31;
        atomicAdd(&upper(up == 0 && lane < count ? lane : k), up);
    }
    POINT_FN long sum(long k) const { return long(word(upper(k)) << 32 | lower(k)); }
};

// An array of which each block has a copy, `offset` bytes into its shared memory
template <class V> struct ScatterInBlock {
    V view;
    long offset;

    typedef decltype(CopyOfBlock<typename V::Element>()) Copy;
    POINT_FN Copy copy() const {
        long count = 1;
        for (const long n : view.extent) count *= n;
        return {(char *)shared_memory + offset, count};
    }
    template <class... I> POINT_FN ScatterElement<ScatterInBlock, long> operator()(const I &...i) const {
        return {*this, &view(i...) - view.data};
    }

    // What all threads of a block do ahead of the body, and behind it
    POINT_FN void begin() const {
        unsigned *const words = (unsigned *)copy().first;
        const long count = copy().count * sizeof(typename V::Element) / 4;
        for (long k = threadIdx.x; k < count; k += blockDim.x) words[k] = 0;
        __syncthreads();
    }
    POINT_FN void contribute() const {
        __syncthreads();
        const Copy own = copy();
        for (long k = threadIdx.x; k < own.count; k += blockDim.x)
            if (const auto x = own.sum(k); x != 0) atomic_by(Atomic_add(), view.data[k], x);
    }
};

template <class V, class X> POINT_FN void scatter_add(const ScatterInBlock<V> &to, long k, const X &x) {
    to.copy().add(k, Made<typename V::Element>::of(x));
}
