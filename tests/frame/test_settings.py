"""Life cycle, options, environment, statuses."""

import re

import numpy as np
import pytest
from frame_host import MIXTURES, Host, asked, field
from hosts import ROOT

import kernels
from frame import Frame
from frame.config import VARIABLES, Config, misspelt
from frame.errors import ArgumentError, BackendError, FrameError, MixtureError, StateError, status_of, text_of


def test_life_cycle():
    host = Host()

    with pytest.raises(StateError, match="twice"):
        host.frame.initialize(-1, 10, 1, 6, 0)

    host.frame.finalize()
    host.frame.finalize()

    with pytest.raises(StateError, match="initialize first"):
        _ = host.frame.properties

    host.frame.set_option("backend", "cpu")
    host.frame.initialize(-1, 99, 2, 7, 0)

    assert host.frame.properties.impl.chunk == 99


def test_options_too_late(host):
    with pytest.raises(StateError, match="'backend' has to be set before frame_initialize"):
        host.frame.set_option("backend", "cpu")
    with pytest.raises(StateError, match="'root' has to be set before the mixture"):
        host.frame.set_option("root", "vapour")
    with pytest.raises(ArgumentError, match="unknown option 'rot'"):
        host.frame.set_option("rot", "vapour")

    host.frame.set_option("root", "gibbs")  # the value in force already

    with pytest.raises(StateError, match="'threads' has to be set before"):
        host.frame.set_parameter("threads", 2)


def test_model_options_reach_the_mixture():
    host = Host(root="vapour", chung="published", takahashi="off")

    assert {k: host.frame.properties.mixture.options[k] for k in ("root", "chung", "takahashi", "alpha")} == {
        "root": "vapour",
        "chung": "published",
        "takahashi": "off",
        "alpha": "smooth",
    }

    with pytest.raises(ArgumentError, match="root"):
        Host(root="upper")
    with pytest.raises(ArgumentError, match="'pr78' has another name, 'published'"):
        Host(alpha="pr78")


def test_the_gas_constant_of_the_host():
    """It is set before the mixture, and stays for the next one; p = rho R_s T of the host's tables."""
    host = Host(mixture=None)
    with kernels.registry.temporary():
        with pytest.raises(
            ArgumentError, match=r"\[J/mol/K\]: 8314.3 came, which seems to be in J/kmol/K, wanted 8.31"
        ):
            host.frame.set_constant("gas_constant", 8314.3)
        host.frame.set_constant("gas_constant", 8.3143)
        host.frame.load_mixture(str(MIXTURES / "n2.yaml"), "")
        assert host.frame.mixture.species.R == 8.3143

        host.frame.set_constant("gas_constant", 8.3143)  # the value in force already
        with pytest.raises(StateError, match="'gas_constant' has to be set before the mixture is loaded"):
            host.frame.set_constant("gas_constant", 8.3145)
        with pytest.raises(ArgumentError, match="1.987 came, which seems to be in cal/mol/K"):
            host.frame.set_constant("gas_constant", 1.987)


def test_a_word_for_several_options(capfd):
    """accuracy = cantera, as frame_setoption sets it: a line of the start says what it stands for."""
    host = Host(accuracy="cantera")
    options = host.frame.properties.mixture.options

    assert (options["alpha"], options["chung"], options["takahashi"]) == ("cantera", "cantera", "table")
    assert "libframe: accuracy = cantera stands for alpha = cantera, " in capfd.readouterr().err

    with pytest.raises(
        ArgumentError, match="accuracy = 'cantera' stands for chung = 'cantera', and chung = 'published'"
    ):
        Host(accuracy="cantera", chung="published")


def test_the_start_says_what_the_default_is(capfd, monkeypatch):
    monkeypatch.delenv("FRAME_ACCURACY")
    host = Host()

    assert host.frame.properties.mixture.options["equation"] == "mapped"
    said = capfd.readouterr().err
    assert "libframe: accuracy = nearest stands for equation = mapped, viscosity = residual" in said
    assert "liquid densities within some 1 %" in said


def test_a_block_call_with_the_default(monkeypatch):
    """Liquid nitrogen at 90 K, 10 bar: density by Span et al. 2000, viscosity by Lemmon & Jacobsen 2004, as CoolProp
    8.0.0 has them. e = h - p/rho, and T comes back from e and rho."""
    monkeypatch.delenv("FRAME_ACCURACY")
    host, Y = Host(), np.ones((4, 3, 2, 1), order="F")
    T, p = field(90), field(1e6)
    rho, mu, h, again = (field(np.nan) for _ in range(4))

    asked(host, "thermal_viscous", dict(T=T, p=p, Y=Y), rho=rho, mu=mu, h=h)
    asked(host, "T_from_e_rho", dict(e=h - p / rho, rho=rho, Y=Y), T=again)

    np.testing.assert_allclose(rho, 747.58, rtol=0.01)
    np.testing.assert_allclose(mu, 104.23e-6, rtol=0.02)
    np.testing.assert_allclose(again, T, rtol=1e-9)


def test_the_start_says_what_arrays_of_a_host_get(capfd, monkeypatch):
    """Arrays have no names: Peng-Robinson with the host's own critical data, and a line says why."""
    monkeypatch.delenv("FRAME_ACCURACY")
    host, one = Host(mixture=None), np.ones(1)
    polynomial = np.asfortranarray(np.eye(7)[:, :1] * 3.5)
    host.frame.populate_preos(
        1, one * 0.028, one * 126.2, one * 3.4e6, one * 0.037, np.zeros((1, 1)), polynomial, polynomial, one * 1000
    )

    assert host.frame.properties.mixture.options["equation"] == "pr"
    said = capfd.readouterr().err
    assert "accuracy = nearest stands for the defaults (no species has a row of fluids.csv by its name" in said
    assert "the critical data given count" in said


@pytest.mark.parametrize(
    "call, words",
    [
        (
            lambda c: c.set_option("rot", "gibbs"),
            "unknown option 'rot', did you mean 'root'; known: backend, precision, calls, last_species, placement, "
            "cold_cp, equation, root",
        ),
        (lambda c: c.set_option("backend", "gpu"), "wanted one of auto, cuda, cpu"),
        (
            lambda c: c.set_option("chung", "polefre"),
            "option 'chung' is 'polefre', wanted one of polefree, published, cantera, did you mean 'polefree'",
        ),
        (
            lambda c: c.set_parameter("timer", 1.0),
            "unknown parameter 'timer', did you mean 'timers'; known: timers, check, queue, threads",
        ),
        (lambda c: c.set_parameter("timers", 0.5), "whole number 0..1"),
        (lambda c: c.set_parameter("threads", float("nan")), "whole number 1..4096"),
        (lambda c: c.set_parameter("check", 6.9e-310), "whole number 0..1"),  # an address read as a double
    ],
)
def test_settings_that_make_no_sense(call, words):
    with pytest.raises(ArgumentError, match=words):
        call(Config({}))


def test_environment():
    config = Config({"FRAME_BACKEND": "cpu", "FRAME_THREADS": "3", "FRAME_TIMERS": "1", "FRAME_CHECK": "1"})
    assert (config.backend, config.threads, config.timers, config.check) == ("cpu", 3, True, True)
    assert (Config({}).backend, Config({}).threads, Config({}).timers, Config({}).check) == ("auto", 1, False, False)
    with pytest.raises(ArgumentError, match="FRAME_TIMERS is yes"):
        Config({"FRAME_TIMERS": "yes"})


def test_variables_that_nobody_reads(capfd, monkeypatch):
    """A name that is like one of the layer's; a host may have variables of its own. The page has all that are read."""
    wanted = ["FRAME_THREAD is set, and is not read, did you mean 'FRAME_THREADS'?"]
    given = {"FRAME_THREAD": "4", "FRAME_COLOUR": "red", "FRAMES_WAIT": "1", "WAIT": "1", "FRAME_WAIT": "1"}
    assert misspelt(given) == wanted and misspelt(dict.fromkeys(VARIABLES, "")) == []

    monkeypatch.setenv("FRAME_THREAD", "4")
    frame = Frame()
    frame.initialize(-1, 16, 1, 1, 0)
    frame.finalize()
    assert f"libframe: {wanted[0]}\n" in capfd.readouterr().err

    page = (ROOT / "docs/reference/environment.md").read_text()
    assert sorted(VARIABLES) == sorted(set(re.findall(r"`(FRAME_[A-Z_]+)`", page)))

    with pytest.raises(ArgumentError, match="FRAME_ON_ERROR is 'Return', wanted one of abort, return"):
        Config({"FRAME_ON_ERROR": "Return"})


def test_a_trace_lies_where_the_host_started(tmp_path, monkeypatch):
    """A host may go to another folder before frame_finalize, which writes the file."""
    monkeypatch.chdir(tmp_path)
    assert Config({"FRAME_TRACE": "trace.json"}).trace == str(tmp_path / "trace.json")
    assert Config({}).trace == ""


def test_statuses_of_exceptions():
    assert [
        status_of(e)
        for e in (
            ArgumentError(""),
            MixtureError(""),
            StateError(""),
            BackendError(""),
            FrameError(""),
            ValueError(""),
            SystemExit(0),
            KeyboardInterrupt(),
        )
    ] == [3, 3, 4, 4, 4, 4, 4, 4]

    assert text_of(ArgumentError("what, got, wanted")) == "what, got, wanted"

    try:
        raise KeyError("deep inside")
    except KeyError as error:
        assert text_of(error).startswith("KeyError: 'deep inside'\nTraceback") and "test_settings.py" in text_of(error)
