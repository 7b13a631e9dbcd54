// What the operations of atomics.h make of the value a and an operand b.
#pragma once

// Operations whose operands can be joined before one thread changes the element: (a op b) op c = a op join(b, c)
#define JOINED(name, result) \
    struct name { \
        static constexpr bool CAN_JOIN = true; \
        template <class T> POINT_FN static T join(T b, T c) { return T(result); } \
    };
JOINED(Summed, b + c)
JOINED(Least, b != b || c < b ? c : b) // NaN changes nothing
JOINED(Most, b != b || c > b ? c : b)
JOINED(EachBit, b &c)
JOINED(AnyBit, b | c)
JOINED(OddBits, b ^ c)
#undef JOINED
struct InTurn {
    static constexpr bool CAN_JOIN = false;
};

#define OPERATION(name, OPERANDS, result) \
    struct Atomic_##name : OPERANDS { \
        template <class T> POINT_FN static T of(T a, T b) { return T(result); } \
    };
OPERATION(add, Summed, a + b)
OPERATION(sub, Summed, a - b)
OPERATION(mul, InTurn, a *b)
OPERATION(div, InTurn, a / b)
OPERATION(min, Least, b < a ? b : a)
OPERATION(max, Most, b > a ? b : a)
OPERATION(and, EachBit, a &b)
OPERATION(or, AnyBit, a | b)
OPERATION(xor, OddBits, a ^ b)
OPERATION(lshift, InTurn, a << b)
OPERATION(rshift, InTurn, a >> b)
OPERATION(inc_mod, InTurn, a >= b ? T(0) : T(a + 1))
OPERATION(dec_mod, InTurn, a == T(0) || a > b ? b : T(a - 1))
#undef OPERATION
