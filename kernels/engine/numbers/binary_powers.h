// Tables of sixteen numbers for 2^x and x^a; they keep the polynomials short. Packs of AVX-512 look them up within
// registers. Threads of a GPU read them from one line of memory.
#pragma once

struct Sixteen {
    double at[16];
};

// 2^x = 2^n 2^(j/16) 2^f with x = n + j/16 + f, |f| <= 1/32. In 1.5*2^48 + x the unit in the last place is 1/16: its
// low four bits are j.
constexpr double SIXTEENTHS = 1.5 * (1LL << 48);
constexpr Sixteen ROOTS_OF_TWO = {{1.0, 1.0442737824274138, 1.0905077326652577, 1.1387886347566916, 1.189207115002721,
                                   1.241857812073484, 1.2968395546510096, 1.3542555469368927, 1.4142135623730951,
                                   1.4768261459394993, 1.5422108254079407, 1.6104903319492543, 1.681792830507429,
                                   1.7562521603732995, 1.8340080864093424, 1.9152065613971474}};
// binary logarithm of 2^(j/16) divided by its double above: what the rounding of the table lost
constexpr Sixteen LOST_IN_ROOTS = {{0.0, 1.1814687944889186e-16, -4.030762245465049e-17, 1.1291358427388442e-16,
                                    4.830810003324493e-17, 5.411338755317555e-17, 2.823727173974899e-17,
                                    8.203857878088789e-17, -9.861987250874697e-17, -3.4034755435046924e-17,
                                    7.436847846534485e-17, 2.213297620457818e-17, 7.033369914725411e-17,
                                    2.4316441556717945e-17, 2.5826072121629267e-17, -7.999838669414994e-17}};
// 2^f = 1 + f (c0 + c1 f + ...). The first set is for 2^f (fits/exponentials.py: error 1.5e-17), the second for
// 2^f - 1 (fits/exponentials.py: relative error 3.5e-17).
constexpr double TWO_TO[6] = {0.6931471805599457,   0.24022650695910094,   0.05550410865663929,
                              0.009618129106131895, 0.0013333781576905016, 0.00015403788504571653};
constexpr double TWO_TO_LESS_ONE[7] = {0.6931471805599453,    0.24022650695910086,   0.05550410866482162,
                                       0.009618129106525682,  0.0013333558144851053, 0.00015403756245514235,
                                       1.5252957449429326e-05};

// x^a = 2^(a k) c^-a (1 + r)^a with x = 2^k m, 1 <= m < 2, m = (1 + r)/c. The first four bits of m give c and c^-a.
// The last four bits of the stored exponent of x give 2^(a k), k from -4 to 11. (1 + r)^a is the binomial series in r,
// |r| <= 1/33. Its ninth power is replaced by the polynomial of lower degree that is nearest to it; the tenth power is
// the first one left out (fits/powers.py: error of x^(-2/3) 2.5e-16, of x^-0.14874 1.7e-17).
struct PowerTables {
    Sixteen of_exponent, c, of_c;
    double series[9];
};

constexpr long double exp_of(long double x) {
    long double sum = 1;
    for (int n = 40; n > 0; --n) sum = 1 + x / n * sum;
    return sum;
}

constexpr long double log1p_of(long double x) { // 2 atanh(x/(2 + x))
    const long double s = x / (2 + x);
    long double sum = 0;
    for (int n = 79; n > 0; n -= 2) sum = 1 / (long double)(n) + s * s * sum;
    return 2 * s * sum;
}

constexpr PowerTables power_tables(long double a) {
    PowerTables t = {};
    for (int j = 0; j < 16; ++j) {
        const int k = (j + 1) % 16 < 12 ? (j + 1) % 16 : j - 15;
        t.of_exponent.at[j] = double(exp_of(a * k * 0.693147180559945309417232121458L));
        t.c.at[j] = double(1 / (1 + (j + 0.5L) / 16));
        t.of_c.at[j] = double(exp_of(a * log1p_of(1 / (long double)(t.c.at[j]) - 1)));
    }
    long double term = 1;
    for (int n = 1; n < 10; ++n) {
        term *= (a - (n - 1)) / n;
        if (n < 9) t.series[n] = double(term);
    }

    // the Chebyshev polynomial 256 x^9 - 576 x^7 + 432 x^5 - 120 x^3 + 9 x in x = 33 r
    double factor = double(term) / 256;
    t.series[7] += 576 * (factor /= 33 * 33);
    t.series[5] -= 432 * (factor /= 33 * 33);
    t.series[3] += 120 * (factor /= 33 * 33);
    t.series[1] -= 9 * (factor /= 33 * 33);
    return t;
}
