"""`python -m frame bench`: rows are whole, wrong values stop it, counts and fits are right. No speed is judged here."""
import json

import numpy as np
import pytest

from frame.bench import ceilings, expressions, fortran, inputs, properties, report, scaling
from frame.cli import main
from kernels import Mixture, collections, counting
from mixtures_for_tests import species_set
from test_gpu import be  # noqa: F401  the fixture: a stand-in, or with -m gpu the device

SMALL = ["--backend", "cpu", "--points", "1500", "--repeats", "1"]


def ran(capsys, *arguments):
    """(rows, what went to standard error) of a bench with --json -."""
    status = main(["bench", *arguments, "--json", "-"])
    out, err = capsys.readouterr()
    assert status == 0, err
    return json.loads(out), err


def test_properties(capsys):
    rows, shown = ran(capsys, "properties", *SMALL, "--ns", "3", "--cases", "thermal,viscous")
    assert {row["rival"] for row in rows} == {"gfortran -O3", "gfortran -Ofast", "NumPy expressions"} and rows[0]["ns"] == 3
    assert len({row["case"] for row in rows}) == 3
    for row in rows:
        assert tuple(row) == report.KEYS
        assert all(row[key] is not None for key in report.KEYS) and row["bench"] == "properties" and row["backend"] == "cpu"
        assert row["ratio"] == pytest.approx(row["points_per_s"]/row["rival_points_per_s"]) and row["ratio"] > 0
        assert row["seconds"]*row["points_per_s"] == pytest.approx(row["points"])
        assert row["bound_fraction"] == pytest.approx(row["points_per_s"]/row["bound"]) and row["bound_fraction"] > 0
        assert 0 < row["max_rel_diff"] < properties.TOLERANCE_TAKAHASHI
        assert row["case"] in shown


def test_keys_are_those_agreed_on():
    assert " ".join(report.KEYS) == ("bench case ns points backend seconds points_per_s rival rival_points_per_s ratio bound "
                                     "bound_fraction max_rel_diff")


@pytest.mark.parametrize("factor", (1 + 1e-6, np.nan))
def test_wrong_values_are_refused(capsys, monkeypatch, factor):
    """A rival (or ours) that computes something else is not a rival: no row is made, and the quantity is named."""
    right = fortran.Fortran.prepare

    def wrong(self, mixture, collection, state):
        work, results = right(self, mixture, collection, state)

        def spoilt():
            work()
            results["c"][7] *= factor
        return spoilt, results

    monkeypatch.setattr(fortran.Fortran, "prepare", wrong)
    assert main(["bench", "properties", *SMALL, "--ns", "3", "--cases", "thermal", "--json", "-"]) == 1
    out, err = capsys.readouterr()
    assert not out and "'c' differs" in err and "point 7" in err and "Nothing was timed" in err


def test_the_other_root_is_borne_at_few_points_only():
    """Codes part where two roots tie; one such point in thousands says nothing, many do."""
    n = 5000
    state = {"T": np.full(n, 300.0)}
    ours = {"rho": np.full(n, 100.0), "Z": np.full(n, 0.9)}
    rival = {name: value.copy() for name, value in ours.items()}
    rival["rho"][3], rival["Z"][3] = 700.0, 0.1
    assert properties.difference(ours, rival, state, "case", 1e-9, 1e-9) == 0
    rival["rho"][:50] = 700.0
    with pytest.raises(properties.WrongValues, match="'rho' differs by more than 0.001 at 50 of 5000"):
        properties.difference(ours, rival, state, "case", 1e-9, 1e-9)
    with pytest.raises(properties.WrongValues, match="no quantity in common"):
        properties.difference(ours, {}, state, "case", 1e-9, 1e-9)


def test_mixture_of_a_file_and_markdown(capsys):
    file = str(inputs.SHIPPED.parent / "n2.yaml")
    assert main(["bench", "properties", *SMALL, "--mixture", file, "--cases", "thermal", "--markdown"]) == 0
    text = capsys.readouterr().out
    assert "## properties, backend cpu" in text and "GFLOP/s" in text and "Fortran" in text
    assert sum(line.startswith("| thermal") for line in text.split("\n")) == 3


@pytest.mark.parametrize("arguments, message", [
    (["--ns", "4", "--mixture", "x.yaml"], "give one of the two"), (["--ns", "61"], "wanted 1 to 60"),
    (["--cases", "nothing"], "thermal_viscous"), (["--repeats", "0"], "1 or more")], ids=lambda a: a[0] if isinstance(a, list) else "")
def test_wrong_usage_is_refused(capsys, arguments, message):
    assert main(["bench", "properties", "--backend", "cpu", *arguments]) == 1
    assert message in capsys.readouterr().err


def test_without_a_fortran_compiler(capsys, monkeypatch):
    monkeypatch.setenv("FC", "no-such-compiler")
    fortran.compiler.cache_clear()
    try:
        assert main(["bench", "properties", *SMALL, "--ns", "1"]) == 1
        assert "'no-such-compiler' is not on PATH: install gfortran" in capsys.readouterr().err
    finally:
        fortran.compiler.cache_clear()


def test_scaling_is_drawn(capsys, tmp_path):
    rows, shown = ran(capsys, "properties", *SMALL, "--ns", "3", "--cases", "thermal", "--scaling", str(tmp_path / "fit.png"))
    assert (tmp_path / "fit.png").read_bytes()[:4] == b"\x89PNG"
    assert {row["bench"] for row in rows} == {"properties", "scaling"} and "flops counted" in shown


def test_launch(capsys):
    rows, _ = ran(capsys, "launch", *SMALL)
    what = {row["case"] for row in rows}
    assert {"launch of one kernel from Python", "warm start of Python, first result", "eosthermalproperties, from Fortran"} <= what
    for row in rows:
        assert tuple(row) == report.KEYS and row["seconds"] > 0 and row["bench"] == "launch"
        assert (row["ratio"] is None) == (row["rival"] is None)


# ---- what the bounds are made of

def test_operations_of_a_formula():
    """c = sqrt(gamma/rho_p); h_T = cp beside h_p, a plain copy, costs nothing."""
    mix = Mixture(species_set(1))
    cost = counting.cost(mix, ["c"], {"gamma": np.full(100, 1.4), "rho_p": np.full(100, 1e-5)})
    assert {kind: count for kind, count in cost.operations.items() if count} == {"divide": 1, "root": 1}
    assert cost.bytes == 3*8 and cost.flops == 0


def test_operations_grow_as_the_sums_do():
    """Without k_ij the equation of state is linear in NS; with a dense one a pair costs 2 multiply-adds or a little more."""
    def flops(ns, kij):
        state = inputs.states(ns, 64)
        state["T"] = np.full(64, 2500.0)              # one branch of the polynomials
        return counting.cost(inputs.mixture(ns, kij), collections["thermal"].outputs, state).flops

    few, more, most = (np.array([flops(ns, kij) for kij in ("none", "dense")]) for ns in (10, 30, 50))
    second = most - 2*more + few
    assert abs(second[0]) < 1 and 4*20**2*0.9 < second[1] < 5*20**2
    assert flops(50, "dense") > 2*flops(50, "lowrank") > 2*flops(50, "none")


def test_cubic_fit():
    """Known coefficients come back; none is negative, whatever the times."""
    ns = np.array(scaling.NS)
    assert scaling.cubic(ns, 1e-9*(8 + 2*ns + 0.5*ns**2.0 + 1e-3*ns**3.0)) == pytest.approx([8e-9, 2e-9, 5e-10, 1e-12], rel=1e-6)
    assert scaling.cubic(ns, 1e-9*(5 + 3*ns)) == pytest.approx([5e-9, 3e-9, 0, 0], abs=1e-18)
    assert (scaling.cubic(ns, 1e-9*(50 - 0.1*ns)) >= 0).all()


def test_species_of_any_number():
    """Species s is the same at every NS; the constants are those of the parent to 10 %."""
    most = inputs.species(60)
    assert len(set(most.names)) == 60 and inputs.species(1).names == ("CH4",)
    for ns in (1, 10, 33):
        assert np.array_equal(inputs.species(ns).Tc, most.Tc[:ns])
    assert np.all(np.abs(most.Tc[10:20]/most.Tc[:10] - 1) < 0.1) and np.any(most.Tc[10:20] != most.Tc[:10])
    for kij, structure in (("none", "none"), ("dense", "dense"), ("lowrank", "lowrank"), ("sparse", "sparse")):
        assert inputs.mixture(50, kij, takahashi="off").structure == structure


def test_rivals_on_a_device(be, monkeypatch):  # noqa: F811
    """Unfused launches and array expressions against the fused launch; on a stand-in array functions are NumPy's."""
    for name in ("where", "sqrt", "log", "sign", "cos", "arccos", "cbrt"):
        if not hasattr(be.cp, name):
            monkeypatch.setattr(be.cp, name, getattr(np, name), raising=False)
    roofs = ceilings.measure(be, 1e-3)
    assert roofs.flops > 0 and all(rate > 0 for rate in roofs.rates.values())
    rivals = [properties.Unfused(be), expressions.Cupy(be)]
    case = properties.CASES[0]
    rows = properties.measure(case, inputs.mixture(3, "dense", takahashi="off"), "dense", be, 200, 1, roofs, rivals)
    assert rows[0].rival.startswith("unfused, ") and rows[1].rival == "CuPy expressions"
    assert all(row.ratio > 0 and row.bound > 0 and row.max_rel_diff < properties.TOLERANCE for row in rows)
