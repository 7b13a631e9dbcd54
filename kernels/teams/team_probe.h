// Whether a body can tell how many members its team has, where that number is not declared. It can by rank() and
// size(), and by an atomic operation or a token outside of work that is shared out: each member would come to it. The
// body is compiled once more for a team that leaves shared work out. This form is never called. What it still does with
// atomics is what each member does.
#pragma once

// ---- shared work that is left out
// The compiler has to expect that it changed everything that f refers to.
template <class F> POINT_FN void left_out(const F &f) { asm volatile("" ::"r"(&f) : "memory"); }
template <class T> POINT_FN void unknown(T &x) { asm volatile("" : "=m"(x)); }

struct LeftOut {}; // a range of the team

template <class F, class R, class T> POINT_FN void over_range(LeftOut, const F &f, T &sum, const R &) {
    left_out(f), unknown(sum);
}

template <class F, class R, class T> POINT_FN void scan_range(LeftOut, const F &f, T &x, const R &) {
    left_out(f), unknown(x);
}

template <int CHOSEN> struct PartOfProbe : PartOfOne<CHOSEN> {
    using PartOfOne<CHOSEN>::PartOfOne;
    template <class F> POINT_FN void for_each(long, const F &f) const { left_out(f); }
    template <class F> POINT_FN void for_vector(long, const F &f) const { left_out(f); }
};

// The team of one with work that is shared out left out.
template <class ONE> struct Probe : ONE {
    using ONE::ONE;
    POINT_FN LeftOut each(long) const { return {}; }
    POINT_FN LeftOut vector(long) const { return {}; }
    template <class F> POINT_FN void for_each(long, const F &f) const { left_out(f); }
    template <class F> POINT_FN void for_vector(long, const F &f) const { left_out(f); }
    template <class F> POINT_FN void single(const F &f) const { left_out(f); }
    template <class F, class V> POINT_FN void single(const F &f, V &value, const char *, int) const {
        left_out(f), unknown(value);
    }
    template <int PARTS, class F> POINT_FN void parts(const F &f) const {
        for (int k = 0; k < PARTS; ++k) f(PartOfProbe<ONE::KERNEL>(k));
    }
};

// The body in the section of the probes, with all that it calls. render.py writes the function: GCC does not put a
// template into a section.
#define TEAM_PROBE __attribute__((used, noinline, flatten, section("team_probes"))) static void
template <class ONE, class RESULTS, class Body>
POINT_FN void probe(long number, long teams, char *const (&level)[2], const Body &body) {
    CAN_TELL(-ONE::KERNEL);
    const Probe<ONE> team(number, teams, level);
    typename RESULTS::Accumulators results;
    of_thread(body)(team, results);
    left_out(results);
}
