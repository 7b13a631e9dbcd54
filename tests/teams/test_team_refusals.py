"""Declarations, arrays, numbers and bodies that are refused, with the words of each message."""

import numpy as np
import pytest
from team_cases import FLAT, HEADER, LEVELS, POOL, kernel

import kernels
from kernels import ArgumentError, League, MDRange, Range, Sizes, team_kernel
from kernels.engine.errors import CompileError


@pytest.mark.parametrize(
    "more, words",
    [
        (dict(arrays="v(n", over=Range("n")), "'v.n', wanted words such as A.N,M."),
        (
            dict(array="v(n)", over=Range("n")),
            "takes no 'array', did you mean 'arrays': wanted arrays, writes",
        ),
        (
            dict(arrays="v(n):middle", over=Range("n")),
            "'v' is marked .'middle'., wanted left, scatter, stream, or one of int32",
        ),
        (dict(arrays="v(n)", writes="w", over=Range("n")), "writes .'w'., which are not among its arrays"),
        (dict(arrays="v(n)", over="n"), "over 'n', wanted a League, Range, MDRange or Scan"),
        (dict(over=MDRange("I J", tile=(8,))), "tile .8,. for 2 extents, wanted as many"),
        (dict(over=MDRange("I J", tile=(64, 32))), "1024 together at most"),
        (dict(over=MDRange("I J", tile=(8, 8), order="up")), "order 'up', wanted right or left"),
        (dict(over=League("1", scratch={"team 2": "s(4)"})), "scratch of 'team 2', wanted team 0, team 1"),
        (dict(over=League("1"), numbers="n:long"), "a number is marked .'long'., wanted real or whole"),
        (dict(over=League("1"), arrays="v(n)", numbers="v"), "the name 'v' is there twice"),
        (dict(over=Range("n"), arrays="n(n)"), "'n' is an extent, m.n, and something else"),
        (dict(over=League("n"), arrays="v(n,s)", scratch={"team 0": "s(4)"}), "takes no 'scratch'"),
        (
            dict(over=League("n", scratch={"team 0": "s(4)"}), arrays="v(n,s)"),
            "'s' is an extent, m.s, and something else",
        ),
        (dict(over=Range("n"), arrays="v(n,int)"), "'int' is no name in C"),
        (dict(over=League("1", vector=3)), "members of 3 lanes; wanted 1, 2, 4, 8, 16 or 32"),
        (dict(over=League("1", team=512, vector=4)), "512 members of 4 lanes; wanted .*1024"),
        (dict(over=League("1"), header="none.h"), "none.h' does not exist"),
        (dict(over=Range("n m"), arrays="v(n,m)"), "'refused', range: 'n m', wanted numbers, names and"),
        (dict(over=League("n +"), arrays="v(n)"), "'refused', league: 'n .', wanted numbers, names and"),
        (dict(over=Range("1:"), arrays="v(n)"), "'refused', range: '', wanted numbers, names and"),
        (
            dict(over=Range("n"), arrays="int(n)"),
            "'int' is no name in C.+: letters, digits and _, and no word of its own",
        ),
        (dict(over=Range("n"), arrays="v(n)", numbers="new:real"), "'new' is no name in C"),
        (dict(over=Range("n"), arrays="v(n)", results="or"), "'or' is no name in C"),
        (dict(over=Range("n"), arrays="v(n)", body="a b"), "'a b' is no name in C"),
    ],
)
def test_declarations_that_are_refused(more, words):
    with pytest.raises(ArgumentError, match=words):
        team_kernel("refused", **{"header": HEADER, **more})


def test_a_name_that_is_taken():
    with pytest.raises(ArgumentError, match="team kernel 'flat_sum': the name is taken"):
        kernel("flat_sum", Range("n"), arrays="v(n)")
    with pytest.raises(ArgumentError, match="team kernel 'thermal': the name is taken"):
        kernel("thermal", League("1"))


GOOD = dict(v=np.ones((3, 5)), out=np.zeros((3, 5)), prefix=np.zeros((3, 5)), twice=np.zeros((3, 5)))


@pytest.mark.parametrize(
    "more, words",
    [
        (dict(v=None), "array 'v' is missing"),
        (dict(w=np.zeros(3)), "has no array 'w'; it has v, out, prefix, twice, total, squares"),
        (dict(v=[1.0]), "'v' is list, wanted an array"),
        (dict(v=np.ones(3)), "array 'v' has 1 dimensions .3,., wanted 2: .E, n."),
        (dict(v=np.ones((3, 5), int)), "type int64, wanted float64 or float32"),
        (dict(twice=np.ones((3, 5), np.float32)), "array 'twice' has type float32, wanted float64"),
        (dict(prefix=np.zeros((3, 6))), "array 'prefix', extent n: 6, wanted 5"),
        (dict(out=np.zeros((3, 4))), "array 'out', extent 5: 4, wanted 5"),
        (dict(v=np.ones((3, 10))[:, ::2]), "array 'v', extent n: neighbours are 16 bytes apart, wanted 8"),
        (
            dict(v=np.ones((5, 3)).T),
            "extent n: neighbours are 24 bytes apart, .* the last index fastest; declared as v",
        ),
        (dict(prefix=GOOD["out"], out=GOOD["out"]), "'out' is written and shares memory with 'prefix'"),
        (dict(v=np.float64(1)), "'v' is float64, wanted an array"),
        (dict(v=np.ones((3, 5), complex)), "type complex128, wanted float64 or float32"),
        (dict(twice=np.ones((3, 5), complex)), "array 'twice' has type complex128, wanted float64"),
        (dict(v=np.ma.array(np.ones((3, 5)))), "array 'v' is masked, and a kernel reads no masks"),
        (dict(total=np.zeros(2)), "result 'total' has shape .2,., type float64, wanted .1,., float64"),
    ],
)
def test_arrays_that_are_refused(more, words):
    arrays = {name: a for name, a in {**GOOD, **more}.items() if a is not None}
    with pytest.raises(ArgumentError, match=words):
        LEVELS[0].bind(arrays, "cpu")


def test_numbers_and_formulas_that_are_refused():
    v = np.ones(3)
    with pytest.raises(ArgumentError, match="the number 'factor' is missing: give it, or declare constant"):
        FLAT.bind({"v": v}, "cpu")
    with pytest.raises(ArgumentError, match="has no number 'n'; it has factor"):
        FLAT.bind({"v": v}, "cpu", n=3, factor=1.0)
    with pytest.raises(ArgumentError, match=r"has no number 'team'; it has factor; sizes are given by Sizes.team=64"):
        FLAT.bind({"v": v}, "cpu", team=64, factor=1.0)

    for wrong, words in (
        (1j, "'factor': type complex128, wanted real"),
        ("1", "not text"),
        ([1.0], "is an array of shape"),
    ):
        with pytest.raises(ArgumentError, match=words):
            FLAT.bind({"v": v}, "cpu", factor=wrong)

    with pytest.raises(ArgumentError, match="read-only, and written"):
        frozen = np.zeros(3, np.int64)
        frozen.flags.writeable = False
        POOL.bind({"id": frozen}, "cpu")

    for text, words in {
        "n // (n - 3)": "division by zero",
        "k + 1": "'k' is not known; known: team, vector, n",
        "n ** 2": "wanted numbers, names and",
        "n - 9": "league of .-6., wanted 0 or more",
    }.items():
        try:
            wrong = kernel("wrong", League(text), body="astray", arrays="out(n)", writes="out")
            with pytest.raises(ArgumentError, match=words):
                wrong.bind({"out": v}, "cpu")
        finally:
            kernels.registry.team_kernels.pop("wrong", None)


def test_sizes_that_are_refused():
    """On a CPU too, whose code of a range does not depend on them."""
    for sizes, words in (
        (Sizes(tile=(8,)), r"tile .8,. for a range"),
        (Sizes(scratch={"team 0": "s(3)"}), "scratch is for leagues of teams"),
        (Sizes(team=2000), "2000 members of 1 lanes"),
        (Sizes(chunk=0), "chunk 0, wanted 1 or more"),
    ):
        with pytest.raises(ArgumentError, match=words):
            FLAT.bind({"v": np.ones(3)}, "cpu", sizes, factor=1.0)


def test_a_body_that_does_not_compile(tmp_path):
    (tmp_path / "slip.h").write_text(
        "template <class M, class Team> POINT_FN void slip(const M &m, const Team &team) {\n"
        "    team.for_vector(m.n, [&](auto i) { m.out(i) = thanh(m.v(i)); });\n}\n"
    )

    slip = team_kernel("slip", League("1"), header=tmp_path / "slip.h", arrays="v(n) out(n)", writes="out")
    try:
        with pytest.raises(CompileError, match=r"kernel 'slip' \(slip.h, line 2\)"):
            slip.bind({"v": np.zeros(3), "out": np.zeros(3)}, "cpu", quick=True)
    finally:
        kernels.registry.team_kernels.pop("slip")


@pytest.mark.parametrize(
    "statement, words",
    [
        ("m.out(i) = i == m.n - 1 ? 1.0 : 0.0", r"write select\(condition, a, b\)"),
        ("const long k = i; m.out(k) = 1.0", r"each_lane\(i, f\) calls f for"),
        ("scalar best = 0; m.out(i) = best; } struct View {", "a name that the layer's headers have, too"),
        ("auto x = m.out(i); x += 1.0; m.out(i) = x", r"write Real<I> x = m.v\(i\) for the one"),
    ],
)
def test_bodies_that_are_not_for_packs(statement, words, tmp_path):
    """The message has the way out."""
    (tmp_path / "ends.h").write_text(
        f"template <class M, class I> POINT_FN void ends(const M &m, const I i) {{\n    {statement};\n}};\n"
    )

    ends = team_kernel("ends", Range("n"), header=tmp_path / "ends.h", arrays="out(n)", writes="out")
    try:
        with pytest.raises(CompileError, match=rf"kernel 'ends' \(ends.h, line 2\): .*{words}"):
            ends.bind({"out": np.zeros(3)}, "cpu", quick=True)
    finally:
        kernels.registry.team_kernels.pop("ends")


def test_the_kernel_whose_body_does_not_compile_is_named(tmp_path):
    """Also where the compiler warns about another body of the same header first."""
    (tmp_path / "two.h").write_text(
        "template <class M> POINT_FN void warned(const M &m, const auto i) { m.v(i) = 1.0; }\n"
        "template <class M, class I> POINT_FN void broken(const M &m, const I i) { m.v(i) = m.none(i); }\n"
    )
    for body in ("warned", "broken"):
        new = kernel(f"{body}_of_two", Range("n"), header=tmp_path / "two.h", body=body, arrays="v(n)", writes="v")
    with pytest.raises(CompileError, match=r"kernel 'broken' \(two.h, line 2\): .*none"):
        new.bind({"v": np.ones(3)}, "cpu", quick=True)
