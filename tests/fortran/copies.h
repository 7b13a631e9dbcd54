#pragma once
// Values that tell at once from which point and which species they come.
template <class M, class R, class Fractions, class Out, class Square>
POINT_FN void copies(const M &, const R T, const Fractions &Y, R &p, Out &X, Square &D_ij) {
    p = 2.0 * T;
    FOR_SPECIES (s, M::NS) X.set(s, 3.0 * Y[s]);
    FOR_SPECIES (i, M::NS)
        FOR_SPECIES (j, M::NS) D_ij.set(i * M::NS + j, Y[i] + 4.0 * Y[j]);
}

// The same without what nobody asks for: a launch that can work on the host's arrays.
template <class M, class R, class Fractions, class Out>
POINT_FN void straight(const M &, const R T, const Fractions &Y, R &p, Out &X) {
    p = 2.0 * T;
    FOR_SPECIES (s, M::NS) X.set(s, 3.0 * Y[s]);
}
