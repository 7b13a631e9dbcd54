#pragma once

// Calls that are no part of the body's code
template <class M> __attribute__((noinline)) void add_one(const M &m) { atomic_add(m.counts(0), 1); }

template <class M, class Team> POINT_FN void each_calls(const M &m, const Team &) { add_one(m); }
