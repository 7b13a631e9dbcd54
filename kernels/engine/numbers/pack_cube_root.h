// Cube root of positive normal numbers, of packs of doubles and of floats: the exponent is divided by three, a
// polynomial gives a start (in double precision fits/roots.py: error 1.2e-6, in single precision fits/roots.py:
// error 1.4e-6), and one step of Halley's method follows. pack.h and pack_single.h include it behind split_exponent.
#pragma once

constexpr int MANTISSA_BITS = sizeof(scalar) == sizeof(double) ? 52 : 23;

// start: cube root of the mantissa, times that of the exponent's rest. q: exponent divided by three. scaled: bits of x
// without 3 q in the exponent.
POINT_FN void cbrt_split(vec x, vec &start, lanes_i &q, lanes_i &scaled) {
    vec m;
    lanes_i e;
    split_exponent(x, m, e);
    vec k = to_number(e), third = nearest(k * (1.0 / 3.0), q), rest = k - third * 3.0;
    scaled = bits(x) - ((q + (q << 1)) << MANTISSA_BITS);
    start = (0.42168972671728805 + m * 1.0560153104736694) +
            (m * m) * ((-0.8360702136296013 + m * 0.5109662902775375) +
                       (m * m) * (-0.1795570628596505 + m * 0.02695496222151213));
    start = start * select(rest < -0.5, vec(0.793700525984099737376),
                           select(rest > 0.5, vec(1.259921049894873164767), vec(1.0)));
}

POINT_FN vec cbrt(vec x) {
    vec y;
    lanes_i q, scaled;
    cbrt_split(x, y, q, scaled);
    vec z = from_bits(scaled), y3 = y * y * y;
    y = y - y * ((y3 - z) / (y3 + y3 + z));
    return select(x > 0.0, from_bits(bits(y) + (q << MANTISSA_BITS)), vec(NOT_A_NUMBER));
}
