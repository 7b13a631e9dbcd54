// Scratch of a CPU's threads. All of it lies in one range of addresses, so that an atomic operation sees by the address
// alone that no other thread can come to its element: the members of a team are one thread.
#pragma once
#include <stddef.h>
#include <sys/mman.h>

constexpr size_t ROOM = 256 * 1024; // bytes of a thread: level 0, and level 1 where both fit
constexpr size_t COUNT = 64;        // of them at its end: how many lanes are at work, see lanes.h
constexpr int ROOMS = 1024;

// The rooms of this library; their pages take memory when they are touched. No address lies in them before that.
static char *rooms = (char *)(size_t(1) << (8 * sizeof(size_t) - 1));
static unsigned char room_taken[ROOMS];

// Where they begin. `const`: a loop asks once, although it changes memory, since the address is fixed before a body
// runs.
__attribute__((const, noinline)) static const char *begin_of_rooms() { return rooms; }

POINT_FN bool of_this_thread(const void *at) {
    return __builtin_expect(size_t((const char *)at - begin_of_rooms()) < ROOM * ROOMS, true);
}

// Lanes at work where an element lies in scratch of this thread
POINT_FN int count_in_room(const void *at) {
    const size_t room = size_t((const char *)at - begin_of_rooms()) / ROOM;
    return *(const int *)(begin_of_rooms() + (room + 1) * ROOM - COUNT);
}

inline bool have_rooms() {
    static char *const found =
        (char *)mmap(nullptr, ROOM * ROOMS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found == MAP_FAILED) return false;
    __atomic_store_n(&rooms, found, __ATOMIC_RELAXED);
    return true;
}

// Scratch of so many bytes while this object lives: a room, or other memory where that is too large or none is free.
// There atomic operations are as on arrays.
struct Arena {
    char *memory = nullptr;
    int room = -1;
    Arena(size_t bytes, int thread) {
#ifndef CHECK_SCRATCH
        if (bytes > 0 && bytes <= ROOM - COUNT && have_rooms())
            for (int k = 0; k < ROOMS && room < 0; ++k)
                if (!__atomic_test_and_set(room_taken + (thread + k) % ROOMS, __ATOMIC_ACQUIRE))
                    room = (thread + k) % ROOMS;
#endif
        if (room >= 0) memory = rooms + room * ROOM, count_in((int *)(memory + ROOM - COUNT));
        else if (bytes > 0) memory = (char *)aligned_alloc(64, bytes);
    }
    ~Arena() {
        if (room >= 0) leave();
        else free(memory);
    }
    void leave() const {
        count_in(nullptr);
        __atomic_clear(room_taken + room, __ATOMIC_RELEASE);
    }
    // Where this thread keeps how many lanes are at work; null: not in a room
    static void count_in([[maybe_unused]] int *place) {
#ifdef COUNTS_LANES
        lanes_at_work = place ? place : &count_of_thread;
        *lanes_at_work = 1;
#endif
    }
    Arena(const Arena &) = delete;
};
