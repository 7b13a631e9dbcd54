"""python -m frame plot: the figures, and the refused arguments."""

import dataclasses
import re

import numpy as np
import pytest
from mixtures_for_tests import ROOT

from frame.tools import cli, plot
from kernels import ArgumentError, Mixture, get_backend
from kernels.gas.species import fluids

pytest.importorskip("matplotlib")
import matplotlib

CH4_O2, N2 = (str(ROOT / "examples/mixtures" / f"{name}.yaml") for name in ("ch4_o2", "n2"))


def drawn(tmp_path, monkeypatch, *arguments, mixture=CH4_O2):
    """The figure of the command, before it is closed."""
    import matplotlib.pyplot as plt

    kept = []
    monkeypatch.setattr(plt, "close", kept.append)
    out = tmp_path / "new" / "figure.png"

    assert cli.main(["plot", "--mixture", mixture, "--backend", "cpu", "--out", str(out), *arguments]) == 0
    assert matplotlib.image.imread(out).std() > 0.05  # not an empty page

    return kept[0]


def test_isobars(tmp_path, monkeypatch):
    figure = drawn(
        tmp_path,
        monkeypatch,
        "--x",
        "T=90:400",
        "--at",
        "p=50e5,100e5",
        "--what",
        "cp,mu",
        "--from",
        "O2",
        "--points",
        "50",
    )
    cp, mu = figure.axes

    assert cp.get_xlabel() == "temperature T [K]" and "kJ/kg/K" in cp.get_ylabel() and "µPa s" in mu.get_ylabel()
    assert [text.get_text() for text in cp.get_legend().get_texts()] == ["p = 50 bar", "p = 100 bar"]

    mix = Mixture.from_yaml(CH4_O2)
    Y = np.zeros((10, 50))

    Y[1] = 1
    for line, p in zip(cp.get_lines(), (50e5, 100e5)):
        x, y = line.get_data()
        np.testing.assert_allclose(y * 1e3, mix.properties("cp", T=x, p=p, Y=Y)["cp"], rtol=1e-12)

    assert mu.get_yscale() == "log" and cp.get_xscale() == "linear"


@pytest.mark.parametrize("kind", "XY")
def test_mixing_line(kind, tmp_path, monkeypatch):
    figure = drawn(
        tmp_path,
        monkeypatch,
        "--x",
        f"{kind}_H2O",
        "--from",
        "CO2:2,CH4",
        "--at",
        "T=900",
        "--what",
        "rho,X:CO2",
        "--points",
        "11",
    )
    x, rho = figure.axes[0].get_lines()[0].get_data()
    mix = Mixture.from_yaml(CH4_O2)
    amounts = np.zeros((10, 11))
    start = (
        np.array([1, 2]) / 3
        if kind == "X"
        else np.array([1, 2]) * mix.species.W[[0, 2]] / (np.array([1, 2]) @ mix.species.W[[0, 2]])
    )
    amounts[[0, 2]] = start[:, None] * (1 - x)
    amounts[3] = x
    np.testing.assert_allclose(rho, mix.properties("rho", T=900.0, p=100e5, **{kind: amounts})["rho"], rtol=1e-12)

    assert ("mole" if kind == "X" else "mass") in figure.axes[
        0
    ].get_xlabel() and "p = 100 bar" in figure._suptitle.get_text()


def test_map_with_the_ridge(tmp_path, monkeypatch):
    figure = drawn(
        tmp_path,
        monkeypatch,
        "--x",
        "T=90:300",
        "--y",
        "p=5e5:200e5",
        "--what",
        "cp,rho,lam,h",
        "--points",
        "60",
        mixture=N2,
    )
    axes = [axis for axis in figure.axes if axis.get_xlabel()]

    assert len(axes) == 4 and all(axis.get_yscale() == "log" for axis in axes)
    assert {text.get_text() for text in axes[0].get_legend().get_texts()} == {
        "largest cp at constant p",
        "pseudo-critical point",
    }
    for axis in axes:
        crest, spot = axis.get_lines()[:2]
        assert len(crest.get_xdata()) > 10 and spot.get_xdata()[0] == pytest.approx(126.192, rel=1e-9)


def test_ridge_is_where_cp_is_largest():
    """Above the critical pressure of N2, cp rises below the ridge and falls above it; the ridge ends at the critical
    point."""
    mix = Mixture.from_yaml(N2)
    p = np.array([20e5, 34.5e5, 50e5, 100e5])
    (T, at), (Tc, pc) = plot.ridge(mix, np.ones(1), np.linspace(90, 300, 50), p, "cpu")

    assert (at == p[1:]).all() and abs(pc - 33.958e5) < 1 and abs(T[0] - Tc) < 1
    for t, value in zip(T, at):
        cp = mix.properties("cp", T=t + np.array([-0.5, 0, 0.5]), p=value, Y=np.ones((1, 3)))["cp"]
        assert cp[1] > cp[0] and cp[1] > cp[2]

    none, _ = plot.ridge(mix, np.ones(1), np.linspace(1000, 2000, 50), p, "cpu")
    assert none.size == 0


@pytest.mark.parametrize(
    "arguments, words",
    [
        ("--x T=3 --what cp", "wanted LOW:HIGH"),
        ("--x T=300:100 --what cp", "two ascending"),
        ("--x X_N2 --what cp", "species 'N2' is not in the mixture"),
        ("--x Z --what cp", "wanted T, p, X_"),
        ("--x T --what D", "wanted D:<species>"),
        ("--x T --what foo", "no such quantity"),
        ("--x T --what rho:O2", "wanted a quantity with one value a point"),
        ("--x T --y T --what cp", "two different variables"),
        ("--x T --at T=3 --what cp", "an axis already"),
        ("--x T --at p=50bar --what cp", "positive numbers"),
        ("--x T --at q=3 --what cp", "wanted T=... or p=..."),
        ("--x X_O2 --from O2:1 --what cp", "ends in the same composition"),
        ("--x T --from O2:a --what cp", "'O2' is 'a', wanted a number"),
        ("--x X_O2 --y Y_H2 --what cp", "only one of the two"),
        ("--x T --to O2 --what cp", "belongs to a mixing line"),
        ("--x p=0:1e5 --what cp", "has to be positive"),
        ("--x X_O2=0.5:1.5 --what cp", "goes from 0 to 1"),
        ("--x T --what cp --points 1", "wanted 2 or more"),
        ("--x T --what cp --points 0", "--points 0: wanted 2 or more"),
        ("--x T --y p --what cp --out a.jpeg", "ends in .png"),
        ("--x T --y X_O2 --at p=1e5,2e5 --what cp", "a map takes one value"),
    ],
)
def test_refused(arguments, words, tmp_path, capsys):
    given = ["plot", "--mixture", CH4_O2, "--out", str(tmp_path / "a.png"), *arguments.split()]
    assert cli.main(given) == 1
    assert words in capsys.readouterr().err and not (tmp_path / "a.png").exists()


def test_composition():
    mix = Mixture.from_yaml(CH4_O2)
    W = mix.species.W
    Y = plot.composition("CH4:1,O2:2", mix, False, "--from")
    np.testing.assert_allclose(Y[:2], np.array([1, 2]) * W[:2] / (W[0] + 2 * W[1]), rtol=1e-15)
    np.testing.assert_array_equal(plot.composition("methane:1,oxygen:2", mix, False, "--from"), Y)
    np.testing.assert_allclose(plot.composition("CH4:1,O2:3", mix, True, "--from")[:2], [0.25, 0.75], rtol=1e-15)
    with pytest.raises(ArgumentError, match="sum to 0"):
        plot.composition("CH4:0", mix, False, "--from")


def test_maps_of_errors(tmp_path, monkeypatch):
    """Errors against the reference equation are those of the layer's values; solid states are blank."""
    pytest.importorskip("CoolProp")
    import matplotlib.pyplot as plt

    from frame.tools import accuracy

    kept, panels = [], []
    monkeypatch.setattr(accuracy, "GRID", (12, 8))
    monkeypatch.setattr(plt, "close", kept.append)
    draw = accuracy._draw
    monkeypatch.setattr(
        accuracy, "_draw", lambda plt, shown, columns: panels.extend(shown) or draw(plt, shown, columns)
    )
    out = tmp_path / "new" / "maps.png"

    arguments = f"plot accuracy --mixture {N2} --models default --what rho,cp --backend cpu --out {out}"
    assert cli.main(arguments.split()) == 0

    assert matplotlib.image.imread(out).std() > 0.05 and len(kept) == 1
    assert [(panel.fluid, panel.model, panel.quantity) for panel in panels] == [
        ("N2", "default", "rho"),
        ("N2", "default", "cp"),
    ]
    (panel, _), mixture = panels, Mixture.from_yaml(N2)
    state = accuracy.Reference("N2").at(panel.T[6], panel.p[3])
    rho = mixture.properties("rho cp", T=panel.T[6], p=panel.p[3], Y=[1.0], backend="cpu")["rho"]
    assert panel.errors[6, 3] == pytest.approx(100 * abs(rho / state[2] - 1), rel=1e-9)
    assert np.isnan(panel.errors[0, -1])  # solid at 1000 bar


def test_maps_of_a_fluid_of_the_users_own(tmp_path, monkeypatch):
    """A name of CoolProp with its row in the user's table: nitrogen's, under another name."""
    pytest.importorskip("CoolProp")
    from frame.tools import accuracy
    from frame.tools.fit import table

    monkeypatch.setattr(accuracy, "GRID", (10, 6))
    own = tmp_path / "own.csv"
    table.write(own, [dataclasses.replace(fluids.fluids()["N2"], fluid="Nitrogen")])

    backend = get_backend("cpu")
    (mine,) = accuracy.maps(None, ["Nitrogen"], ["mapped"], ["rho"], backend, own)
    (known,) = accuracy.maps(None, ["N2"], ["mapped"], ["rho"], backend)
    np.testing.assert_allclose(mine.errors, known.errors, atol=1e-3)  # percent: nine digits of the table
    (without,) = accuracy.maps(None, ["Krypton"], ["mapped"], ["rho"], backend)
    assert np.nanmedian(without.errors) < 1.5  # by correlation, with the reference's liquid density


@pytest.mark.parametrize(
    "arguments, text",
    (
        ("plot --x T --what rho", "--mixture is needed"),
        (f"plot --mixture {N2} --what rho", "--x is needed"),
        (f"plot --mixture {N2} --x T", "--what is needed"),
        ("plot accuracy --what h", "--what h: no reference"),
        ("plot accuracy --fluids N3", "fluid 'N3' is not in CoolProp"),
        ("plot accuracy --models fited", "unknown model.*fitted"),
    ),
    ids="mixture x what quantity fluid model".split(),
)
def test_what_a_picture_needs(arguments, text, capsys):
    if "accuracy" in arguments:
        pytest.importorskip("CoolProp")
    assert cli.main([*arguments.split(), "--out", "never.png"]) == 1
    assert re.search(text, capsys.readouterr().err)


def in_equilibrium(names):
    """Species of ch4_o2.yaml with two phases."""
    return Mixture(Mixture.from_yaml(CH4_O2).species.subset(names), phases="equilibrium")


@pytest.mark.full
def test_phases_of_a_pair(tmp_path, monkeypatch):
    """The boundary ends in the critical point; a drawn bubble point is the liquid, and a dew point the vapour, of the
    flash of a feed between them."""
    arguments = "phases --from CH4:1,O2:3 --at T=120,160 --at p=2e6 --points 12".split()
    edge, p_x, T_x = drawn(tmp_path, monkeypatch, *arguments).axes
    mix = in_equilibrium(["CH4", "O2"])

    # Over T and p.
    bubble, dew, critical = (line.get_data() for line in edge.get_lines())
    wanted = mix.critical_point([0.25, 0.75])
    assert (critical[0][0], critical[1][0]) == (wanted["T"], wanted["p"] / 1e5)
    assert bubble[0][-1] == dew[0][-1] == wanted["T"] and (np.diff(bubble[0]) > 0).all()
    out = mix.properties(
        "phases_status beta", T=bubble[0][5], p=1e5 * bubble[1][5] * np.array([0.999, 1.001]), X="CH4:1,O2:3"
    )
    assert list(out["phases_status"]) == [1, 0] and out["beta"][0] < 0.01
    assert edge.get_xlabel() == "temperature T [K]" and edge.get_ylabel() == "pressure p [bar]"

    # Over x. The search has 8 digits of p, the slope dx/d ln p is below 10: 1e-6 is ample.
    lines = p_x.get_lines()
    assert [line.get_label() for line in lines[:2]] == ["bubble, T = 120 K", "dew, T = 120 K"] and len(lines) == 4
    for (x, y), key, fixed, by in (
        (lines[0].get_data(), "p", {"T": 120.0}, 1e5),
        (T_x.get_lines()[0].get_data(), "T", {"p": 2e6}, 1.0),
    ):
        dew = (lines[1] if key == "p" else T_x.get_lines()[1]).get_data()[1]
        for k in range(1, 11):
            # A feed a little richer in vapour than the bubble point.
            found = mix.properties("Y_l phases_status", X=[x[k] - 1e-4, 1 - x[k] + 1e-4], **{key: by * y[k]}, **fixed)
            share = found["Y_l"] / mix.species.W
            assert found["phases_status"] == 1
            np.testing.assert_allclose(share[0] / share.sum(), x[k], atol=1e-6)

            found = mix.properties("Y_v phases_status", X=[x[k] + 1e-4, 1 - x[k] - 1e-4], **{key: by * dew[k]}, **fixed)
            share = found["Y_v"] / mix.species.W
            assert found["phases_status"] == 1
            np.testing.assert_allclose(share[0] / share.sum(), x[k], atol=1e-6)
    assert p_x.get_xlabel() == "CH4 [mole fraction]" and T_x.get_ylabel() == "temperature T [K]"

    # O2 is above its critical temperature, 154.6 K: no boundary next to it.
    assert np.isnan(lines[2].get_ydata()[0]) and np.isfinite(lines[2].get_ydata()[-1])


def test_phases_without_fixed_values(tmp_path, monkeypatch):
    """A pair has both diagrams at values inside its boundary; the option phases may be left out or given."""
    figure = drawn(tmp_path, monkeypatch, *"phases --phases equilibrium --from CH4,O2 --points 5".split())
    assert len(figure.axes) == 3
    assert all(np.isfinite(line.get_ydata()).sum() > 2 for axis in figure.axes[1:] for line in axis.get_lines())


@pytest.mark.parametrize("composition", ["O2", "CH4:2,O2:2,CO2:1"])
def test_phases_of_other_numbers_of_species(composition, tmp_path, monkeypatch):
    """A panel only. Both curves of a pure species are its vapour pressure."""
    figure = drawn(tmp_path, monkeypatch, "phases", "--from", composition, "--points", "20")
    assert len([axis for axis in figure.axes if axis.get_visible()]) == 1
    bubble, dew, critical = (line.get_data() for line in figure.axes[0].get_lines())
    if composition == "O2":
        np.testing.assert_allclose(bubble[1], dew[1], rtol=1e-7)
        np.testing.assert_allclose([critical[0][0], critical[1][0]], [154.581, 50.43], rtol=1e-3)
    else:
        assert dew[0].max() > critical[0][0]  # above its critical temperature the mixture has two dew points


@pytest.mark.parametrize(
    "arguments, words",
    [
        ("", "--from is needed"),
        ("--from CH4:1,N2:1", "no species 'N2' in this mixture"),
        ("--from CH4:a", "'CH4' is 'a', wanted a number"),
        ("--from CH4,O2 --at x=0.5", "wanted T=... or p=..."),
        ("--from CH4,O2 --at T=-3", "positive numbers"),
        ("--from CH4 --at T=150", "belongs to the diagrams of two species; --from CH4 has 1"),
        ("--from CH4,O2 --points 2", "wanted 3 or more"),
        ("--from CH4,O2 --x T", "--x: does not belong"),
        ("--from CH4,O2 --what rho", "--what: does not belong"),
        ("--from CH4,O2 --fluids N2", "--fluids: does not belong"),
        ("--from CH4,O2 --equation ideal", "ideal"),
        ("--from CH4,O2 --out a.jpeg", "ends in .png"),
    ],
)
def test_phases_refuses(arguments, words, tmp_path, capsys):
    given = ["plot", "phases", "--mixture", CH4_O2, "--out", str(tmp_path / "a.png"), *arguments.split()]
    assert cli.main(given) == 1
    assert words in capsys.readouterr().err and not (tmp_path / "a.png").exists()


def test_phases_needs(monkeypatch, capsys):
    assert cli.main("plot phases --from CH4 --out never.png".split()) == 1
    assert "--mixture is needed" in capsys.readouterr().err
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert cli.main("plot phases --from CH4 --out never.png".split()) == 1
    assert "matplotlib, which is not installed: install the project's extra 'plot'" in capsys.readouterr().err
