"""python -m frame validate: a reduced sweep passes, every comparison can fail, pictures and files are written."""

import importlib.util
import json

import numpy as np
import pytest
from mixtures_for_tests import species_set
from validate_cases import CH4_O2, FOUR, H2_O2, N2, VDW, job

from frame.tools import cli, validate
from frame.tools.validate import cantera, report, scale, states, wide
from frame.tools.validate.identities import derivatives, lines, one_state, saturation
from kernels import ArgumentError, Mixture, get_backend


@pytest.mark.parametrize(
    "file, against, states, options",
    (
        (CH4_O2, ["identities", "wide", "cantera"], 20000, {}),
        (FOUR, ["identities", "wide"], 5000, {}),
        (N2, ["identities", "wide", "cantera"], 5000, {}),
        (N2, ["identities"], 2000, VDW),
        (N2, ["identities", "wide"], 2000, VDW),
    ),
    ids=("CH4/O2", "four species", "N2", "laws by van der Waals", "N2 by van der Waals"),
)
@pytest.mark.quick(against=[["identities"]])
@pytest.mark.full
def test_sweep(file, against, states, options):
    """The kernels' laws, their arithmetic in quadruple precision, and Cantera."""
    pytest.importorskip("cantera")
    rows = validate.run(
        validate.Job(Mixture.from_yaml(file, **options), file, states=states, backend=get_backend("cpu")),
        against=against,
        say=lambda text: None,
    )
    judged = [row for row in rows if row.tolerance is not None]

    assert len(judged) > 40
    assert all(row.passed for row in judged), [
        f"{r.against} {r.name}: {r.worst:.3g} of {r.tolerance:.3g} at {r.place()}" for r in judged if not r.passed
    ]

    # most states are judged: beside a critical point, which one state in eight is within 1e-3 of, a phase change or a
    # junction of polynomials (derivatives) nothing is determined
    for row in judged:
        assert row.left_out <= 0.2 * (row.count + row.left_out), row.name


PSEUDOCRITICAL = dict(mixing="pseudocritical", alpha="published", translation="fitted")


@pytest.mark.parametrize(
    "file, options",
    (
        (N2, dict(equation="ideal", viscosity="sutherland", takahashi="off")),
        (N2, dict(root="liquid", chung="published")),
        (N2, dict(equation="srk", translation="peneloux", viscosity="lucas")),
        (FOUR, PSEUDOCRITICAL),
        (CH4_O2, PSEUDOCRITICAL),
    ),
    ids=lambda given: "-".join(given.values()) if isinstance(given, dict) else given.stem,
)
@pytest.mark.quick(options={"equation": "ideal", "viscosity": "sutherland", "takahashi": "off"})
@pytest.mark.full
def test_other_models(file, options):
    against = ["identities", *["wide"] * ("lucas" in options.values() or "mixing" in options)]
    rows = validate.run(
        validate.Job(Mixture.from_yaml(file, **options), file, states=2000, backend=get_backend("cpu")),
        against=against,
        say=lambda text: None,
    )

    assert [row.name for row in rows if not row.passed] == []


# ---- the states


def test_states_cover_what_they_are_for():
    mix = Mixture.from_yaml(CH4_O2)
    s = states.draw(mix, 20000)

    assert s["T"].shape == s["p"].shape == (20000,) and s["Y"].shape == (10, 20000)
    assert (s["T"] >= 80).all() and (s["T"] <= 3500).all() and (s["p"] >= 0.1e5).all() and (s["p"] <= 500e5).all()

    np.testing.assert_allclose(s["Y"].sum(0), 1, rtol=1e-14)
    present = (s["Y"] > 0).sum(0)

    assert (present == 1).mean() > 0.1 and (present == 2).mean() > 0.1 and (present == 10).mean() > 0.3
    assert (((s["Y"] > 0) & (s["Y"] < 1e-6)).any(0)).mean() > 0.1

    # both roots exist at every state of that kind, and at few of the others
    liquid, vapour = (
        states.with_root(mix, root).properties("rho", **{k: s[k] for k in "TpY"})["rho"]
        for root in ("liquid", "vapour")
    )
    three, kind = liquid > vapour * (1 + 1e-9), s["kind"] == states.KINDS.index("roots")

    assert kind.sum() == 4000 and three[kind].all() and three[~kind].mean() < 0.2

    near = s["kind"] == states.KINDS.index("critical")
    at = mix.properties("Tc_mix", Y=s["Y"])["Tc_mix"]

    assert (np.abs(s["T"] / at - 1)[near] < 0.01).mean() > 0.4

    again = states.draw(mix, 20000)
    assert all((s[k] == again[k]).all() for k in s) and (s["T"] != states.draw(mix, 20000, seed=2)["T"]).any()


def test_scale_is_the_condition():
    """rho of a dilute gas: T, p, W and R each once: 1 + 1 + 1 + some; at a zero of h it does not vanish; at the
    critical point it is large."""
    mix = Mixture.from_species(species_set(1))
    one = {"T": np.array([1000.0]), "p": np.array([1e3]), "Y": np.ones((1, 1))}
    size, undecided = scale.scales(mix, ["rho", "h", "cp"], one)
    rho = mix.properties("rho", **one)["rho"]

    assert not undecided[0] and 2.9 < size["rho"][0] / rho[0] < 8

    T = np.array([298.15])
    h, cp = (mix.properties(n, T=T, p=1e3, Y=np.ones((1, 1)))[n][0] for n in ("h", "cp"))
    zero = T - h / cp
    size, _ = scale.scales(mix, ["h"], {"T": zero, "p": np.array([1e3]), "Y": np.ones((1, 1))})

    assert size["h"][0] > 0.9 * cp * zero[0]

    sp = mix.species
    size, undecided = scale.scales(mix, ["rho"], {"T": sp.Tc, "p": sp.pc * (1 + 1e-9), "Y": np.ones((1, 1))})

    assert undecided[0] or size["rho"][0] > 1e4 * (sp.pc * sp.W / (8.3 * sp.Tc))[0]


# ---- every comparison can fail


def test_a_wrong_law_fails(monkeypatch):
    laws = {"e = h + p/rho": ("e h rho", lambda q: q["h"] - q["e"] + q["p"] / q["rho"])}
    monkeypatch.setattr(one_state, "LAWS", laws)
    mix = Mixture.from_yaml(N2)

    assert [row.name for row in one_state.rows(job(mix)) if not row.passed] == ["e = h + p/rho"]

    monkeypatch.setattr(derivatives, "LAWS", {"dh/dT = cv": ("h", "T", lambda q: q["cv"], lambda q: q["cv"])})
    failed = [row for row in derivatives.rows(job(mix, n=300)) if not row.passed]

    assert [row.name for row in failed] == ["dh/dT = cv"] and failed[0].median > 1e-3


class _Wrong(Mixture):
    """A mixture whose double-precision cp and D are off by a relative 1e-11 and 1e-5."""

    def __init__(self, mixture):
        self.__dict__.update(vars(mixture))
        self.mixture = mixture

    def properties(self, names, precision="double", **given):
        out = self.mixture.properties(names, precision=precision, **given)
        if precision == "double":
            out = {k: v * (1 + {"cp": 1e-11, "D": 1e-5}.get(k, 0.0)) for k, v in out.items()}
        return out


@pytest.mark.full
def test_an_inexact_kernel_fails():
    mix = Mixture.from_yaml(N2)
    assert {row.name for row in wide.run(job(mix, n=500)) if not row.passed} == set()
    assert {row.name for row in wide.run(job(_Wrong(mix), n=500)) if not row.passed} == {"cp", "D"}


@pytest.mark.full
def test_another_model_than_canteras_fails(monkeypatch):
    pytest.importorskip("cantera")
    mix = Mixture.from_yaml(N2)
    monkeypatch.setattr(cantera, "CANTERA", {**cantera.CANTERA, "chung": "published"})
    failed = {row.name for row in cantera.run(job(mix, n=300)) if not row.passed}

    assert failed == {"mu", "lam"}


@pytest.mark.full
def test_a_pole_is_found():
    mix = Mixture.from_yaml(H2_O2, chung="published")
    rows = {row.name: row for row in lines.rows(job(mix, H2_O2))}

    assert (
        rows["mu along O2/H2"].worst > 0.5 and rows["mu along O2/H2"].tolerance is None and rows["D along O2/H2"].passed
    )

    good = {row.name: row for row in lines.rows(job(Mixture.from_yaml(H2_O2), H2_O2))}
    assert all(row.passed for row in good.values()) and good["mu along O2/H2"].worst < 1e-5


def test_a_root_that_switches_elsewhere_fails(monkeypatch):
    """Saturation 0.1 % off in pressure."""
    mix = Mixture.from_species(species_set(1))
    assert all(row.passed for row in saturation.rows(job(mix)))

    right = saturation._switch
    monkeypatch.setattr(saturation, "_switch", lambda *args: 1.001 * right(*args))
    equal, slope = saturation.rows(job(mix))

    assert not equal.passed and slope.passed is False


# ---- rows, command


def test_rows_count_nan_as_infinite_and_nothing_as_failure():
    state = {"T": np.array([100.0, 200, 300]), "p": np.full(3, 1e5), "Y": np.eye(3)[:2]}
    row = report.Row("x", "q", 1.0, "relative").add(np.array([0.1, 0.5, 0.2]), 1.0, state)

    assert row.passed and row.worst == 0.5 and row.where["T"] == 200 and 0.18 < row.median < 0.22
    assert (row.where["Y"] == [0, 1]).all()

    row.add(np.array([np.nan, 0, 0]), 1.0, state, np.array([True, False, False]))
    assert row.passed and row.left_out == 1 and row.count == 5
    assert not row.add(np.array([np.nan, 0, 0]), 1.0, state).passed
    assert not report.Row("x", "q", 1.0, "relative").passed
    assert report.Row("x", "q", None, "relative").passed


@pytest.mark.parametrize("states, against, code", ((300, "wide", 0), (10, "wide", 1)))
def test_command(states, against, code, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    found = cli.main(
        [
            "validate",
            "--mixture",
            str(N2),
            "--against",
            against,
            "--backend",
            "cpu",
            "--states",
            str(states),
            "--json",
            str(tmp_path / "v.json"),
            "--plots",
            str(tmp_path / "maps"),
        ]
    )
    told = capsys.readouterr()

    assert found == code

    if code:
        assert "--states 10: wanted 100 or more" in told.err

        return

    assert "within tolerance" in told.out and "rho_p" in told.out and "left out" in told.out

    data = json.loads((tmp_path / "v.json").read_text())
    assert (
        data["species"] == ["N2"]
        and all(row["passed"] for row in data["rows"])
        and data["rows"][0]["worst_at"]["T"] > 0
    )


def test_command_fails_above_tolerance(monkeypatch, capsys):
    monkeypatch.setattr(wide, "TOLERANCE", 1e-3)
    assert cli.main(["validate", "--mixture", str(N2), "--against", "wide", "--backend", "cpu", "--states", "300"]) == 1
    assert "outside: wide: rho" in capsys.readouterr().out


def test_maps_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    mix = Mixture.from_yaml(N2)
    rows = wide.run(job(mix, n=1000))
    made = report.draw(rows, tmp_path, "N2")

    assert [path.name for path in made] == ["wide_eps_of_scale.png"] and made[0].stat().st_size > 20000


def test_what_is_not_there_is_named(capsys):
    absent = [
        name
        for name, module in (("thermo", "thermo"), ("coolprop", "CoolProp"), ("thermopack", "thermopack"))
        if not importlib.util.find_spec(module)
    ]
    names, left_out = validate.available(Mixture.from_yaml(N2))

    assert set(absent) <= set(left_out) and "identities" in names and "wide" in names
    for name in absent:
        with pytest.raises(ArgumentError, match=f"--against {name}: the Python package .* is not installed"):
            validate.available(Mixture.from_yaml(N2), [name])

    ideal = Mixture.from_yaml(N2, equation="ideal")
    with pytest.raises(ArgumentError, match="ideal phases differ"):
        validate.available(ideal, ["cantera"])
