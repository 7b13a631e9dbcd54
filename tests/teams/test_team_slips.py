"""Bodies that a compiler refuses: kernel, file, line and likely cause, from a CPU's compiler and from a device's."""

import pytest
from team_cases import compiled_for, kernel

import kernels
from kernels import League, Range
from kernels.engine.errors import CompileError

BACKENDS = ("cpu", "sm_90")
LINE_3 = "kernel 'slips' (slips.h, line 3)"
LOOP = "whose function takes an index"
LAYERS = "'slips' (slips.h): static assertion"  # NVRTC names no line of what a lambda calls
of_backends = pytest.mark.parametrize("backend", BACKENDS)


def message_of(folder, backend, over, arguments, statement, **more) -> str:
    """The layer's report of a compiler's error, for a body of a single statement."""
    types = ", ".join([f"class {kind}" for kind in ("M", *arguments)])
    takes = ", ".join(["const M &m", *arguments.values()])
    text = f"template <{types}> POINT_FN void slips({takes}) {{\n    {statement};\n}}\n"
    return message_of_text(folder, backend, over, text, **more)


def message_of_text(folder, backend, over, text, **more) -> str:
    header = folder / "slips.h"
    header.write_text(f"#pragma once\n{text}")
    with kernels.registry.temporary():
        slips = kernel("slips", over, header=header, **more)
        with pytest.raises(CompileError) as told:
            compiled_for(slips, backend)

    return str(told.value)


@of_backends
@pytest.mark.parametrize(
    "statement, words",
    [
        ("m.x(i) = 1.0", "an input is written"),
        ("m.k(i) = 1", "an input is written"),
        ("if (s > 1.0) s += 1.0", "neither read nor assigned"),
        ("s = m.x(i)", "neither read nor assigned"),
        ("s *= m.x(i)", "this result is no product: result.join(x) gives a value to its reducer"),
        ("s += m.x[i]", "an element of an array of a team kernel is m.v(i)"),
        ("s += m.z(i)", "an array or a number that the declaration does not name"),
        ("s += m.x(i, i)", "as many indices as the array has dimensions"),
    ],
)
def test_slips_that_the_compiler_explains(tmp_path, backend, statement, words):
    """A CPU refuses what a device refuses, although a pack that is read is an object there, which could be assigned."""
    arguments = {"I": "const I i", "S": "S &s"}
    told = message_of(tmp_path, backend, Range("n"), arguments, statement, arrays="x(n) k(n):int32", results="s")
    assert LINE_3 in told and words in told


@of_backends
@pytest.mark.parametrize(
    "statement, words",
    [
        ("team.team_barrier()", "docs/howto/kokkos.md has those of Kokkos with their names here"),
        ("parallel_for(TeamThreadRange(team, 3), [&](int) {})", "docs/howto/kokkos.md has it with its name here"),
        ("KOKKOS_ASSERT(m.n > 0)", "docs/howto/kokkos.md has it with its name here"),
        ("team.for_vector(m.n, [&](auto i) { m.k(i) = std::max(m.x(i), 0.0); })", "all without std::"),
        ("team.for_each(3, [&](int i, int j) { m.k(i) = j; })", LOOP),
        ("double s; reduce(team.each(3), [&](int i) { return m.x(i); }, s)", LOOP),
        ("double s; reduce(3, [&](int i, double &t) { t += m.x(i); }, s)", LOOP),
        ("m.b(0) = 1.0", "scratch is had by a team or a member"),
        ("team.member().scratch(m.b)(0) = 1.0", "scratch of a team is had by the team"),
        ("scan(team.each(3), [&](long i, auto &s) { s += 1; })", "`bool last` in a scan"),
        ("atomic_add(m.x(0), 1.0)", "an atomic changes an element of an array in `writes`"),
        ("int most; reduce(team.each(3), [&](int i, auto &s) { s += m.k(i); }, most, Max())", "this result is no sum"),
        ("long s; reduce(team.each(3), [&](int i, auto &t) { t += m.x(i); }, s)", "whole numbers are given a real one"),
    ],
)
def test_slips_in_teams(tmp_path, backend, statement, words):
    """With the line of the body, also where the error is in what it calls."""
    league, team = League("1", team=8, scratch={"team 0": "b(4)"}), {"Team": "const Team &team"}
    told = message_of(tmp_path, backend, league, team, statement, arrays="x(n) k(n):int32", writes="k")
    assert words in told and (LINE_3 in told or (backend != "cpu" and LAYERS in told))


@of_backends
@pytest.mark.parametrize("statement", ["m.k(i) = m.x(i)", "m.x(i) = 1.0", "atomic_add(m.x(i), 1.0)"])
def test_slips_of_scattered_arrays(tmp_path, backend, statement):
    arrays = "x(n):scatter k(n):int32"
    told = message_of(tmp_path, backend, Range("n"), {"I": "const I i"}, statement, arrays=arrays, writes="k")
    assert LINE_3 in told and "marked :scatter is only added to" in told


@of_backends
@pytest.mark.parametrize(
    "body, words",
    [
        (
            "void other(const M &m, const I i)",
            "kernel 'slips': slips.h has no body of this name; functions there: other",
        ),
        ("void slips(const M &m)", "kernel 'slips' (slips.h, line 3): its body does not take what"),
    ],
)
def test_a_body_that_is_not_as_declared(tmp_path, backend, body, words):
    text = f"// void slips(\ntemplate <class M, class I> POINT_FN {body} {{}}\n"
    assert words in message_of_text(tmp_path, backend, Range("n"), text, arrays="x(n)")
