"""python -m frame fit N2/C12H26: k_ij from bubble and dew points; points of a file and of CoolProp; what is refused."""

import csv

import numpy as np
import pytest

from frame.tools import cli
from frame.tools.fit import fit_kij, pair, pair_points
from kernels import ArgumentError, Mixture

NAMES = ("N2", "NC12H26")
KIJ = 0.187
T = np.repeat([344.0, 420.0, 520.0, 593.0], 6)
X = np.tile(np.linspace(0.05, 0.55, 6), 4)


def mixture(kij=0.0, equation="pr", names=NAMES):
    return Mixture.from_names(names, phases="equilibrium", equation=equation, kij={"/".join(names): kij})


def bubble_points(equation="pr"):
    """T, p, x of bubble points of the model itself; some of the compositions have none at 593 K."""
    p = mixture(KIJ, equation).bubble_p(T, [X, 1 - X])
    there = np.isfinite(p)
    return T[there], p[there], X[there]


@pytest.mark.parametrize("equation", ["pr", "mapped"])
def test_a_known_kij_comes_back(equation):
    """From points of the model itself. d ln p/d k_ij is 1 or so, and p is found to 1e-8: k_ij to 1e-8."""
    found = fit_kij(mixture(0.05, equation), *bubble_points(equation))

    assert found.kij == pytest.approx(KIJ, abs=1e-8) and found.error < 1e-8
    assert found.used.all() and found.after.mean < 1e-8
    assert found.before.mean > found.given.mean > 0.05 and found.kij_given == 0.05
    assert found.equation == equation and found.pairs == {"N2/NC12H26": found.kij}


def test_dew_points():
    """Below the critical point and retrograde: the upper one is taken where it is the nearer."""
    model, y = mixture(KIJ), np.array([0.7, 0.8, 0.9, 0.85, 0.9])
    T = np.array([450.0, 500.0, 560.0, 600.0, 560.0])
    p = model.dew_p(T, [y, 1 - y])
    p[3:] = model.bubble_p(T[3:], [y[3:], 1 - y[3:]])  # upper dew points
    assert (p[3:] > 2 * model.dew_p(T[3:], [y[3:], 1 - y[3:]])).all()

    found = fit_kij(mixture(), T, p, y=y)
    assert found.kij == pytest.approx(KIJ, abs=1e-6) and found.after.largest < 1e-6


def test_noise():
    """Points with errors of 2 %: k_ij is off by its standard error or so, which falls as 1/sqrt(n)."""
    T, p, x = (np.repeat(each, 4) for each in bubble_points())
    noisy = p * np.exp(0.02 * np.random.default_rng(1).normal(size=p.size))

    found, few = fit_kij(mixture(), T, noisy, x), fit_kij(mixture(), T[::4], noisy[::4], x[::4])
    assert abs(found.kij - KIJ) < 3 * found.error and 5e-4 < found.error < 3e-3
    assert found.error == pytest.approx(few.error / 2, rel=0.4)
    assert found.after.mean == pytest.approx(0.02 * np.sqrt(2 / np.pi), rel=0.3)


def test_an_outlier_pulls_no_harder_than_its_neighbours():
    T, p, x = bubble_points()
    p[3] *= 1.5
    found = fit_kij(mixture(), T, p, x)
    assert found.kij == pytest.approx(KIJ, abs=0.005) and found.after.worst == 3


def test_y_is_compared():
    """The vapour of a bubble point by the model itself, 1e-5: y moves by that over 1e-7 of p; then 0.01 off."""
    T, p, x = bubble_points()
    model = mixture(KIJ)
    moles = model.properties("Y_v", T=T, p=p * (1 - 1e-7), X=[x, 1 - x])["Y_v"] / model.species.W[:, None]
    y = moles[0] / moles.sum(0)

    y[0], y[1] = np.nan, y[1] - 0.01
    found = fit_kij(mixture(), T, p, x, y)
    assert np.isnan(found.y[0]) and found.y[1] == pytest.approx(0.01, abs=1e-5)
    np.testing.assert_allclose(found.y[2:], 0, atol=1e-5)


def test_points_without_a_boundary_are_counted(capsys, tmp_path):
    """Above the model's critical point, and of a pure species: not fitted, and named."""
    T, p, x = bubble_points()
    T, p, x = np.append(T, [600.0, 650.0, 400.0]), np.append(p, [3e7, 4e6, 5e3]), np.append(x, [0.9, 0.95, 0.0])

    found = fit_kij(mixture(), T, p, x)
    assert found.kij == pytest.approx(KIJ, abs=1e-8)
    assert list(np.flatnonzero(found.after.missing)) == [T.size - 3, T.size - 2] and found.used.sum() == T.size - 3

    path = written(tmp_path, dict(T=T, p=p, x_N2=x))
    assert cli.main(["fit", "N2/C12H26", "--data", str(path), "--equation", "pr"]) == 0
    out = capsys.readouterr().out
    assert f"by {T.size - 3} of {T.size} points" in out
    assert f"the model has no boundary: point {T.size - 2} (600 K, x_N2 = 0.9), point {T.size - 1}" in out
    assert f"not fitted, pure or at an end: point {T.size} (400 K, x_N2 = 0)" in out


def test_beside_thermo():
    """Bubble pressures of the fitted model by thermo's Peng-Robinson of 1976; 1e-6, where its search ends."""
    thermo = pytest.importorskip("thermo", reason="the package thermo is not installed")
    from frame.tools.bench.phase_rivals import Thermo

    names = ("CO2", "CH4")
    measured = Mixture.from_names(names, phases="equilibrium", equation="pr", alpha="pr76", kij={"CO2/CH4": 0.1})
    T, x = np.array([230.0, 240.0, 250.0, 260.0]), np.array([0.95, 0.9, 0.85, 0.8])
    p = measured.bubble_p(T, [x, 1 - x])
    plain = Mixture.from_names(names, phases="equilibrium", equation="pr", alpha="pr76", kij={"CO2/CH4": 0.0})

    found = fit_kij(plain, T, p, x)
    flasher = Thermo(plain.species.with_kij(found.pairs)).flasher
    assert thermo and found.kij == pytest.approx(0.1, abs=1e-8)
    for k in range(T.size):
        assert flasher.flash(T=T[k], VF=0, zs=[x[k], 1 - x[k]]).P == pytest.approx(p[k], rel=1e-6)


# ---- files


def written(tmp_path, columns):
    path = tmp_path / "points.csv"
    with path.open("w") as file:
        out = csv.writer(file)
        out.writerow(columns)
        out.writerows(zip(*[[repr(float(v)) for v in column] for column in columns.values()]))

    return path


@pytest.mark.parametrize("name", ["x_N2", "x_C12H26", "x_dodecane"])
def test_a_file_is_read(tmp_path, name):
    """By the name of either species, as Mixture.from_names reads it; both, too."""
    T, p, x = bubble_points()
    share = x if name == "x_N2" else 1 - x
    both = {"y_NC12H26": np.full(x.size, 0.01), "y_N2": np.full(x.size, 0.99)}

    points = pair_points.read(written(tmp_path, {"T": T, "p": p, name: share} | both), NAMES)
    np.testing.assert_allclose(points.x, x, rtol=1e-14)
    np.testing.assert_array_equal(points.y, 0.99)
    assert points.bubble.all() and points.source == "points of points.csv"


@pytest.mark.parametrize(
    "lines, text",
    (
        ("T,p,x_O2\n1,2,3\n", "column 'x_O2' is unknown.*T, p, x_N2, x_NC12H26, y_N2, y_NC12H26, in SI units"),
        ("T,p\n300,1e5\n", "no column x_N2 or x_NC12H26 or y_N2"),
        ("p,x_N2\n1e5,0.1\n", "no column T"),
        ("T,p,x_N2,x_N2\n1,2,3,4\n", "came twice"),
        ("T,p,x_C12H26,x_NC12H26\n1,2,3,4\n", "came twice"),
        ("T,p,x_N2\n300,1e5\n", "point 1: 2 values came, wanted 3"),
        ("T,p,x_N2\n300,high,0.1\n", "point 1: p is 'high', wanted a number"),
        ("T,p,x_N2\n300,,0.1\n", "point 1: p is blank, wanted a number in Pa"),
        ("T,p,x_N2\n300,1e5,0.1\n300,1e5,\n", "point 2: neither x nor y came"),
        ("T,p,x_N2\n300,1e5,35\n", "point 1: x_N2 = 35 came, wanted 0 to 1, a mole fraction"),
        ("T,p,x_N2,x_C12H26\n300,1e5,0.1,0.8\n", r"point 1: x_N2 \+ x_NC12H26 = 0.9 came, wanted 1"),
        ("T,p,x_N2\n-20,1e5,0.1\n", "point 1: T = -20 came, wanted 1 to 6000; the unit is K"),
        ("T,p,x_N2\n300,-1e5,0.1\n", "point 1: p = -100000 came, wanted a positive number; the unit is Pa"),
        ("T,p,x_N2\n300,inf,0.1\n", "point 1: p = inf came"),
        ("T,p,x_N2\n", "no points came, only names"),
        ("", "no column T, p"),
    ),
    ids=(
        "species fractions lacking twice spellings short text blank neither percent sum celsius sign inf names empty"
    ).split(),
)
def test_wrong_files_are_named(tmp_path, lines, text):
    path = tmp_path / "wrong.csv"
    path.write_text(lines)
    with pytest.raises(ArgumentError, match=f"wrong.csv.*{text}"):
        pair_points.read(path, NAMES)


@pytest.mark.parametrize("factor", [1e-5, 1e-3, 1e3], ids="bar kPa mPa".split())
def test_pressures_in_another_unit(factor):
    """Refused, with the factor, which is right but for what k_ij changes."""
    T, p, x = bubble_points()
    with pytest.raises(ArgumentError, match="no k_ij .* comes near these points: .*Look at the units") as error:
        fit_kij(mixture(), T, factor * p, x)

    said = float(str(error.value).split("pressures are ")[1].split(" times")[0])
    assert 0.3 < said * factor < 3


# ---- the command


def test_the_command(tmp_path, capsys):
    """k_ij, its deviations and what to paste; both ways to paste lead to the same mixture."""
    T, p, x = bubble_points()
    path, picture = written(tmp_path, dict(T=T, p=p, x_C12H26=1 - x)), tmp_path / "p_x.png"
    arguments = ["--data", str(path), "--equation", "pr", "--plot", str(picture)]

    assert cli.main(["fit", "N2/C12H26", *arguments]) == 0
    out = capsys.readouterr().out
    assert 'Python: kij={"N2/NC12H26": 0.187}' in out and "k_ij = 0.18700 +- " in out
    assert f"{T.size} bubble and 0 dew points, 344 to 593 K" in out
    assert picture.read_bytes()[:4] == b"\x89PNG"

    # The line of a file
    a = float(out.split("binary-a: {N2: ")[1].split(" Pa")[0])
    species = mixture().species
    assert 1 - a / np.sqrt(species.a[0] * species.a[1]) == pytest.approx(KIJ, abs=1e-7)


def test_a_pair_of_a_mixture_file(capsys):
    """Species in the file's names, in the order of the command; k_ij of the file stands beside 0 and the new one."""
    pytest.importorskip("CoolProp", reason="the package CoolProp is not installed")
    arguments = ["--from", "coolprop", "--equation", "pr", "--mixture", "examples/mixtures/ch4_o2.yaml"]
    assert cli.main(["fit", "CO2/CH4", *arguments]) == 0
    out = capsys.readouterr().out
    assert "CO2/CH4, equation pr: CoolProp" in out and "Kunz-JCED-2012" in out

    # Published k_ij of this pair are 0.09 to 0.11
    kij = float(out.split('kij={"CO2/CH4": ')[1].split("}")[0])
    assert 0.09 < kij < 0.12
    before, *_, after = map(float, out.split("mean, percent")[1].splitlines()[0].split())
    assert before > 10 and after < 2.5


def test_isotherms():
    T = np.array([300.0, 300.2, 310.0, 310.0, 310.0, 320.0])
    points = pair_points.Points.of(T, 1e5, 0.5)
    assert pair.isotherms(points) == [300.0, 310.0, 320.0]


@pytest.mark.parametrize(
    "arguments, text",
    (
        (["N2/C12H26"], "give --from coolprop or --data"),
        (["N2/XY", "--data", "x.csv"], "no species 'XY' in the package"),
        (["N2/N2", "--data", "x.csv"], "'N2' is named more than once"),
        (["N2/O2/CO2", "--data", "x.csv"], "'N2/O2/CO2', wanted a pair of species such as 'N2/O2'"),
        (["N2/C12H26", "--data", "nowhere.csv"], "nowhere.csv: cannot be read"),
        (["N2/C12H26", "--data", "x.csv", "--Tc", "300"], "--Tc: belongs to a single fluid; N2/C12H26 is a pair"),
        (["N2/C12H26", "--data", "x.csv", "--equation", "ideal"], "needs an equation of state with a cubic"),
        (["N2/C12H26", "--data", "x.csv", "--plot", "x.txt"], "--plot x.txt: wanted a file that ends in .png"),
        (["N2", "--data", "x.csv", "--equation", "pr"], "--equation: belongs to two species"),
        (["N2/C12H26", "--from", "coolprop"], "CoolProp has no mixture of Nitrogen and n-Dodecane that was fitted"),
        (["H2/O2", "--from", "coolprop"], "fitted to measurements: its numbers are those of a rule"),
        (["N2/OH", "--from", "coolprop"], "species 'OH' is not in CoolProp"),
    ),
    ids="neither unknown same three file fluid ideal picture single lacking rule radical".split(),
)
def test_refused(arguments, text, capsys):
    if "coolprop" in arguments:
        pytest.importorskip("CoolProp", reason="the package CoolProp is not installed")
    assert cli.main(["fit", *arguments]) == 1
    assert text in capsys.readouterr().err


def test_mixtures_that_have_no_kij():
    single = Mixture.from_names("N2 O2", equation="pr")
    three = Mixture.from_names("N2 O2 AR", equation="pr", phases="equilibrium")
    with pytest.raises(ArgumentError, match="wanted phases = 'equilibrium'; 'single' came"):
        fit_kij(single, 100.0, 1e6, 0.5)
    with pytest.raises(ArgumentError, match="k_ij is of two species; the mixture has 3: N2, O2, AR"):
        fit_kij(three, 100.0, 1e6, 0.5)
    with pytest.raises(ArgumentError, match="all points are of a pure species"):
        fit_kij(mixture(), 400.0, 1e6, [0.0, 1.0])
    with pytest.raises(ArgumentError, match=r"shapes do not fit each other: T \(2,\), p \(3,\)"):
        fit_kij(mixture(), [300.0, 310.0], [1e6] * 3, 0.1)
