// Notes in a library of what tells a body how many members its team has.
#pragma once

// Kernel K asks for the number. ANYONE: an atomic operation or a token; the probe of a kernel that has it can tell
// (team_probe.h). -K: the probe of kernel K begins here. Code that is not reached leaves no note.
struct Note {
    int kernel, place; // place: address of the code minus the address of this number
    const char *code() const { return (const char *)&place + place; }
};

constexpr int ANYONE = 0;

#define CAN_TELL(K) \
    asm volatile("1: .pushsection can_tell,\"a\"\n.balign 4\n.long %c0\n.long 1b - .\n.popsection" ::"i"(K))
#define OF_SECTION __attribute__((weak, visibility("hidden")))
extern "C" const Note __start_can_tell[] OF_SECTION, __stop_can_tell[] OF_SECTION;
extern "C" const char __start_team_probes[] OF_SECTION, __stop_team_probes[] OF_SECTION;
#undef OF_SECTION

// The kernel whose probe has this code; ANYONE: code beside the probes.
inline int probe_with(const char *code) {
    if (code < __start_team_probes || code >= __stop_team_probes) return ANYONE;
    const Note *last = nullptr;
    for (const Note *note = __start_can_tell; note != __stop_can_tell; ++note)
        if (note->kernel < 0 && note->code() <= code && (!last || note->code() > last->code())) last = note;
    return last ? -last->kernel : ANYONE;
}

inline bool can_tell(int kernel) {
#ifdef CALLS_OUT_OF_LINE // of bodies, whose atomics are not in the probe
    return true;
#endif
    for (const Note *note = __start_can_tell; note != __stop_can_tell; ++note)
        if (note->kernel == kernel || (note->kernel == ANYONE && probe_with(note->code()) == kernel)) return true;
    return false;
}
