// A call of a kernel that comes again with arrays of NumPy's: whether they are as they were, and the launch. Python
// asks an array for its type, extents, steps and address one by one, which takes longer than a small kernel.
#pragma once
#include <stdint.h>
#include <string.h>

// NumPy's array object as its binary interface has it (numpy/ndarraytypes.h, PyArrayObject_fields), behind Python's
// head
struct Array {
    char *data;
    int dimensions;
    intptr_t *extents, *steps; // steps in bytes
    void *base;
    intptr_t dtype; // the object's address
    int flags;
};
constexpr int WRITEABLE = 0x0400, ALIGNED = 0x0100; // of whole numbers, as NumPy's dot wants its output
constexpr int WITHOUT_GAPS = 0x0001 | 0x0002;       // rows or columns one behind the other
constexpr int LINE = 64;
constexpr int MOST = 6;
constexpr int MOST_BYTES = 4096; // of a record

// What a call knows, one number after the other: bytes of Python's head, kernel (0: none), record, its bytes, items,
// how many arrays; then of each array Known, its extents and its steps.
struct Known {
    intptr_t place; // of its address in the record
    intptr_t dtype;
    intptr_t on_line;       // whether it begins on a cache line; -1: no matter
    intptr_t first, beyond; // its bytes, from the address of the first number
    intptr_t written;
    intptr_t dimensions;
};

static const Array &array_at(const intptr_t object, const intptr_t head) { return *(const Array *)(object + head); }

static bool is_known(const Array &a, const Known &known, const intptr_t *extents) {
    if (a.dtype != known.dtype || a.dimensions != known.dimensions) return false;
    if (known.on_line >= 0 && known.on_line != ((uintptr_t)a.data % LINE == 0)) return false;
    if (known.written && (~a.flags & (WRITEABLE | ALIGNED))) return false;
    const intptr_t *steps = extents + known.dimensions;
    // No memcmp: behind it, a kernel that loads numbers one by one took Zen 4 five times as long
    for (int k = 0; k < a.dimensions; ++k)
        if (a.extents[k] != extents[k] || a.steps[k] != steps[k]) return false;
    return true;
}

// 0: launched; 1: an array is another, or an output shares memory with another array; 2: what the kernel answers
static int launched(const intptr_t *told, const intptr_t *objects) {
    const auto kernel = (int (*)(const void *, long, int))told[1];
    const intptr_t bytes = told[3], count = told[5];
    alignas(LINE) char record[MOST_BYTES];
    memcpy(record, (const void *)told[2], bytes);

    const char *first[MOST], *beyond[MOST];
    bool written[MOST];
    const intptr_t *at = told + 6;
    for (int k = 0; k < count; ++k) {
        const Known &known = *(const Known *)at;
        const intptr_t *extents = at + sizeof(Known) / sizeof(intptr_t);
        const Array &a = array_at(objects[k], told[0]);
        if (!is_known(a, known, extents)) return 1;

        first[k] = a.data + known.first;
        beyond[k] = a.data + known.beyond;
        written[k] = known.written;
        for (int other = 0; other < k; ++other)
            if ((written[k] || written[other]) && first[k] < beyond[other] && first[other] < beyond[k]) return 1;
        if (known.place >= 0) memcpy(record + known.place, &a.data, sizeof(a.data));
        at = extents + 2 * known.dimensions;
    }
    return kernel && kernel(record, told[4], 1) ? 2 : 0;
}

typedef const intptr_t Object;
extern "C" int array_call_1(Object *told, Object a) { return launched(told, &a); }
extern "C" int array_call_2(Object *told, Object a, Object b) {
    Object objects[] = {a, b};
    return launched(told, objects);
}
extern "C" int array_call_3(Object *told, Object a, Object b, Object c) {
    Object objects[] = {a, b, c};
    return launched(told, objects);
}
extern "C" int array_call_4(Object *told, Object a, Object b, Object c, Object d) {
    Object objects[] = {a, b, c, d};
    return launched(told, objects);
}
extern "C" int array_call_5(Object *told, Object a, Object b, Object c, Object d, Object e) {
    Object objects[] = {a, b, c, d, e};
    return launched(told, objects);
}
extern "C" int array_call_6(Object *told, Object a, Object b, Object c, Object d, Object e, Object f) {
    Object objects[] = {a, b, c, d, e, f};
    return launched(told, objects);
}
// What an array says: whether it lies in memory as this file has it
extern "C" void array_facts(const intptr_t object, const intptr_t head, intptr_t *facts) {
    const Array &a = array_at(object, head);
    *facts++ = (intptr_t)a.data, *facts++ = a.dimensions, *facts++ = a.dtype, *facts++ = !!(a.flags & WRITEABLE);
    for (int k = 0; k < a.dimensions; ++k) *facts++ = a.extents[k], *facts++ = a.steps[k];
}

template <class Number> static double magnitude_of(const char *data, const intptr_t count) {
    double most = 0;
    for (intptr_t k = 0; k < count; ++k) {
        Number a;
        memcpy(&a, data + k * sizeof(a), sizeof(a));
        const double size = a < 0 ? -(double)a : (double)a;
        most = size > most ? size : most;
    }
    return most;
}
// The largest magnitude of whole numbers, whose type has so many bytes, less than none if it has a sign; -1: an array
// with gaps
extern "C" double array_magnitude(const intptr_t object, const intptr_t head, const int bytes) {
    const Array &a = array_at(object, head);
    if (!(a.flags & WITHOUT_GAPS)) return -1;
    intptr_t count = 1;
    for (int k = 0; k < a.dimensions; ++k) count *= a.extents[k];
    switch (bytes) {
    case 1:
        return magnitude_of<uint8_t>(a.data, count);
    case 2:
        return magnitude_of<uint16_t>(a.data, count);
    case 4:
        return magnitude_of<uint32_t>(a.data, count);
    case 8:
        return magnitude_of<uint64_t>(a.data, count);
    case -1:
        return magnitude_of<int8_t>(a.data, count);
    case -2:
        return magnitude_of<int16_t>(a.data, count);
    case -4:
        return magnitude_of<int32_t>(a.data, count);
    case -8:
        return magnitude_of<int64_t>(a.data, count);
    }
    return -1;
}
