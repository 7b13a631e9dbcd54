"""Names that a declaration gives to C++: of quantities, constants, arrays, numbers, bodies."""

from __future__ import annotations

import re

from .errors import refuse

# Words of C++20 that look like names. `and`, `or`, `not` and their kin are operators.
TAKEN = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class
    compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype
    default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline
    int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public
    register reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch
    template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile
    wchar_t while xor xor_eq
    """.split()
)


def is_name(text: str) -> bool:
    """Whether C++ takes a text as a name of its user's."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) is not None and text not in TAKEN


def refuse_others(where: str, *names: str) -> None:
    """Raises ArgumentError for a name that C++ does not take. where: the declaration, as messages name it."""
    for name in names:
        refuse(
            not is_name(name), f"{where}: '{name}' is no name in C++: letters, digits and _, and no word of its own."
        )
