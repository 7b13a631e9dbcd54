// What the operations of atomics.h make of the value a and an operand b.
#pragma once

#define OPERATION(name, result) \
    struct Atomic_##name { \
        template <class T> POINT_FN static T of(T a, T b) { return T(result); } \
    };
OPERATION(add, a + b)
OPERATION(sub, a - b)
OPERATION(mul, a *b)
OPERATION(div, a / b)
OPERATION(min, b < a ? b : a)
OPERATION(max, b > a ? b : a)
OPERATION(and, a &b)
OPERATION(or, a | b)
OPERATION(xor, a ^ b)
OPERATION(lshift, a << b)
OPERATION(rshift, a >> b)
OPERATION(inc_mod, a >= b ? T(0) : T(a + 1))
OPERATION(dec_mod, a == T(0) || a > b ? b : T(a - 1))
#undef OPERATION
