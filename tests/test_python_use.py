"""Python as its users write it: compositions by name, messages that say what was meant, progress, announcements."""

import io

import numpy as np
import pytest
from mixtures_for_tests import species_set

from frame.frame import Frame
from frame.tools.progress import progress, time_left
from kernels import ArgumentError, Mixture
from kernels.arrays import fractions
from kernels.backend import cache

SPECIES = ("CH4", "O2", "CO2")


# ---- compositions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given, wanted",
    [
        ("CH4:1, O2:2", [1 / 3, 2 / 3, 0]),
        ("O2=0.25; CO2 : 0.75", [0, 0.25, 0.75]),
        ("CO2", [0, 0, 1]),
        ({"CH4": 1, "O2": 3}, [0.25, 0.75, 0]),
        (["CH4", "CO2"], [0.5, 0, 0.5]),
        (("O2:3", "CH4:1"), [0.25, 0.75, 0]),
        ({"CH4": [1.0, 3.0], "O2": 1}, [[0.5, 0.75], [0.5, 0.25], [0, 0]]),
    ],
)
@pytest.mark.parametrize("name", ["X", "Y"])
def test_compositions_by_name(name, given, wanted):
    np.testing.assert_allclose(fractions(name, given, SPECIES), wanted, rtol=1e-15)


def test_other_inputs_stay_as_they_are():
    array = np.full((3, 4), 1 / 3)
    assert fractions("X", array, SPECIES) is array and fractions("X", [0.2, 0.3, 0.5], SPECIES) == [0.2, 0.3, 0.5]
    assert fractions("T", 300.0, SPECIES) == 300.0


@pytest.mark.parametrize(
    "given, words",
    [
        ("CH3:1", "'X': no species 'CH3' in this mixture, did you mean 'CH4'.*; wanted \"CH4:1, ...\""),
        ("ch4:1", "no species 'ch4' in this mixture, did you mean 'CH4'; wanted"),
        ("CH4:one", "'CH4' is 'one', wanted a number"),
        ("CH4:-1", "'CH4' is '-1', wanted no negative amount"),
        ("CH4:nan", "'CH4' is 'nan', wanted no negative amount"),
        ("CH4:0", "the amounts sum to 0"),
        ("", "nothing came, wanted"),
        ("CH4:1, CH4:2", "species 'CH4' is given more than once"),
        ({"CH4": np.ones(2), "O2": np.ones(3)}, r"amounts of different shapes: CH4 \(2,\), O2 \(3,\)"),
    ],
)
def test_compositions_that_make_no_sense(given, words):
    with pytest.raises(ArgumentError, match=words):
        fractions("X", given, SPECIES)


def test_properties_take_them():
    """W of CH4 + 2 O2, and over a field of dilutions."""
    mix = Mixture.from_species(species_set(10))
    W = dict(zip(mix.names, mix.species.W))
    wanted = (W["CH4"] + 2 * W["O2"]) / 3
    assert mix.properties("W", X="CH4:1, O2:2")["W"] == pytest.approx(wanted, rel=1e-14)
    got = mix.properties(["W"], X={"CH4": 1, "O2": [2.0, 0.0]})["W"]
    np.testing.assert_allclose(got, [wanted, W["CH4"]], rtol=1e-14)
    assert mix.kernel("mass_fractions")(X="O2")["Y"].tolist() == [0, 1, *[0] * 8]


# ---- messages -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mix():
    return Mixture.from_species(species_set(10))


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda m: m.properties("rho", T=300.0, P=1e5, X="O2"), "unknown quantity 'P', did you mean 'p'"),
        (lambda m: m.properties("rho", T=300.0, pressure=1e5, X="O2"), "unknown quantity 'pressure', did you mean 'p'"),
        (lambda m: m.properties("density", T=300.0, p=1e5, X="O2"), "unknown quantity 'density', did you mean 'rho'"),
        (lambda m: m.properties("viscosity", T=300.0), "unknown quantity 'viscosity', did you mean 'mu'"),
        (lambda m: m.properties("rho_Tt", T=300.0), "unknown quantity 'rho_Tt', did you mean 'rho_T'"),
        (lambda m: m.properties("xyzzy_q", T=300.0), "unknown quantity 'xyzzy_q'; `python -m frame names` lists all"),
        (lambda m: m.properties("rho", T=300.0, X="O2"), r"'rho' cannot be computed from T, X: missing p \[Pa\]"),
        (
            lambda m: m.program("rho h0", "T p Y"),
            r"'h0' cannot be computed from T, p, Y: missing u \[m/s\], v \[m/s\], w",
        ),
        (lambda m: m.program(), "nothing asked for: name outputs"),
        (
            lambda m: m.program(["rho"]),
            r"'rho' cannot be computed from nothing: missing .*T \[K\].*p \[Pa\]",
        ),
        (lambda m: m.program(kernels=["molar_mas"]), "unknown kernel 'molar_mas', did you mean 'molar_mass'"),
        (lambda m: m.kernel("molar_mas"), "unknown kernel 'molar_mas', did you mean 'molar_mass'"),
        (
            lambda m: m.kernel("enthalpy_slopes")(h=1.0),
            r"kernel 'enthalpy_slopes' reads .*; missing .*\[.*; it does not read h",
        ),
        (
            lambda m: Mixture.from_species(m.species, equaton="pr"),
            "unknown model option 'equaton', did you mean 'equation'",
        ),
        (lambda m: Mixture.from_species(m.species, equation="PR"), "option equation = 'PR'; wanted one of pr, srk"),
        (
            lambda m: Mixture.from_species(m.species, lewis={"CH3": 1.0}),
            "no species 'CH3' in this mixture, did you mean 'CH4'",
        ),
    ],
)
def test_messages_say_what_was_meant(call, words, mix):
    """And none lists a hundred names."""
    with pytest.raises(ArgumentError, match=words) as caught:
        call(mix)
    assert len(str(caught.value)) < 400


# ---- progress and announcements -------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_with_time_left():
    """10 s for each of four: nothing is known before the first is done, then 30, 20, 10 s are left."""
    seconds, to = iter([0.0, 10.0, 20.0, 30.0]), Terminal()
    assert list(progress("compile", "abcd", clock=lambda: next(seconds), to=to)) == list("abcd")
    lines = [line.replace("\x1b[K", "") for line in to.getvalue().split("\r") if line.replace("\x1b[K", "")]
    left = [f"compile {k}/4 {name}" for k, name in enumerate("abcd", 1)]
    assert lines == [left[0], *(f"{text}, about {s} s left" for text, s in zip(left[1:], (30, 20, 10)))]
    assert to.getvalue().endswith("\r\x1b[K")  # and no trace of it stays
    assert [time_left(s) for s in (59, 300, 7200)] == ["59 s", "5 min", "2 h"]


def test_no_progress_where_nobody_looks():
    to = io.StringIO()
    assert list(progress("compile", range(3), to=to)) == [0, 1, 2] and to.getvalue() == ""


def test_the_first_compilation_is_announced_on_rank_0(tmp_path, monkeypatch, capsys):
    """One line for however many kernels, before the first is made; none where they lie in the cache, none elsewhere."""
    monkeypatch.setenv("FRAME_CACHE", str(tmp_path / "cache"))
    for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cache, "announce", None)

    def step(*entries):
        host = Frame()
        monkeypatch.setattr(cache, "announce", host._compiling)
        for entry in entries:
            cache.entry(entry, ".txt", lambda path: path.write_text("made") and None)
        return capsys.readouterr().err

    told = step("first", "second")
    assert told.count("\n") == 1 and told.startswith("frame: compiling kernels, ") and str(tmp_path / "cache") in told
    assert step("first", "second") == ""
    monkeypatch.setenv("PMI_RANK", "1")
    assert step("third") == ""
