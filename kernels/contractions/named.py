"""Texts of contractions that are known by a name, for arrays that lie as their sources have them.

`TEXTS` holds Text(text, options of Contraction, source). Extents are a caller's: NAMES of the triples kernels may all
differ.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Text(NamedTuple):
    """An expression by name. options: of parse; source: where it comes from."""

    text: str
    options: dict
    source: str


NEKBONE = "Nekbone (CESAR proxy app); i is the fastest index of u(i,j,k,e)"
BARRACUDA = "Nelson et al. 2015"
TRIPLES = "NWChem, CCSD(T) triples; read from its Fortran"

LG3 = """ur[e k j i] = D[i l] u[e k j l]
us[e k j i] = D[j l] u[e k l i]
ut[e k j i] = D[k l] u[e l j i]"""
LG3T = "w[e k j i] = D[l i] ur[e k j l] + D[l j] us[e k l i] + D[l k] ut[e l j i]"
FACTORS = """wr[e k j i] = g1 ur + g2 us + g3 ut
ws[e k j i] = g2 ur + g4 us + g5 ut
wt[e k j i] = g3 ur + g5 us + g6 ut"""
ONE_FACTOR = "wr[e k j i] = g ur; ws[e k j i] = g us; wt[e k j i] = g ut"  # no element is turned or stretched
BACK = LG3T.replace("ur", "wr").replace("us", "ws").replace("ut", "wt")
AX, AX_ONE = "\n".join([LG3, FACTORS, BACK]), "\n".join([LG3, ONE_FACTOR, BACK])

TEXTS = {
    "lg3": Text(LG3, dict(batch="e", constant="D"), NEKBONE),
    "lg3t": Text(LG3T, dict(batch="e", constant="D"), NEKBONE),
    "ax": Text(AX, dict(batch="e", constant="D", local="ur us ut wr ws wt"), NEKBONE),
    "ax_one": Text(AX_ONE, dict(batch="e", constant="D", local="ur us ut wr ws wt"), NEKBONE),
    "eqn1": Text("V[e i j k] = A[l k] B[m j] C[n i] U[e l m n]", dict(batch="e", constant="A B C"), BARRACUDA),
    "eqn1_add": Text("V[e i j k] += A[l k] B[m j] C[n i] U[e l m n]", dict(batch="e", constant="A B C"), BARRACUDA),
    "tce_ex": Text("S[a b i j] = A[a c i k] B[b e f l] C[d f j k] D[c d e l]", dict(batch="a"), BARRACUDA),
}

# T3[y1 y2 y3 x1 x2 x3] of a kernel, and its sign: letters a b c = h1 h2 h3, d e f = p4 p5 p6, g = h7 or p7.
ARRANGED = {
    "s1": ("t1[a d] v2[e f b c]", "defabc defbac defbca edfabc edfbac edfbca efdabc efdbac efdbca", "+-+-+-+-+"),
    "d1": ("t2[a e d g] v2[g f b c]", "defabc defbac defbca fdeabc fdebac fdebca dfeabc dfebac dfebca", "-+--+-+-+"),
    "d2": ("t2[b a d g] v2[e f c g]", "defabc defcab defacb edfabc edfcab edfacb efdabc efdcab efdacb", "--+++---+"),
}


def triples(kind: str, numbers=range(1, 10)) -> str:
    """The statements of kernels `kind`_1 to `kind`_9 (s1, d1, d2), all into T3, whose indices are d e f a b c in each.
    The batch index is d."""
    product, results, signs = ARRANGED[kind]
    lines = []
    for k in numbers:
        rename = str.maketrans(results.split()[k - 1], "defabc")
        lines.append(f"T3[d e f a b c] {signs[k - 1]}= {product.translate(rename)}")
    return "\n".join(lines)


def all_triples() -> str:
    """All 27 statements, where all extents are equal; the operands of a kind are named after it: s1_t1, s1_v2, ..."""
    return "\n".join(re.sub(r"\b([tv]\d)", rf"{kind}_\1", triples(kind)) for kind in ARRANGED)


for _kind in ARRANGED:
    for _k in range(1, 10):
        TEXTS[f"{_kind}_{_k}"] = Text(triples(_kind, (_k,)), dict(batch="d"), TRIPLES)
