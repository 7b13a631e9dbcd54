"""xarray and pandas in and out: the values of plain arrays, labels, units, refusals; neither is imported unasked."""

import subprocess
import sys

import numpy as np
import pytest

from kernels import Mixture
from kernels.engine.errors import ArgumentError


def mixture():
    return Mixture.from_names("CH4 O2 CO2 H2O CO H2 OH", equation="ideal")


T, P = np.linspace(400.0, 1200.0, 4), np.array([1e5, 1e6, 1e7])


def test_xarray():
    xr = pytest.importorskip("xarray")
    mix = mixture()
    T_x = xr.DataArray(T, dims="x", coords={"x": [0.0, 0.1, 0.2, 0.3]}, attrs={"units": "K"})
    p_y = xr.DataArray(P, dims="y")
    X = {"CH4": 1.0, "O2": xr.DataArray(np.linspace(1, 3, 4), dims="x", coords={"x": T_x.x})}
    out = mix.properties("rho h X", T=T_x, p=p_y, X=X)
    plain = mix.properties(
        "rho h X", T=T[:, None], p=P, X={"CH4": 1.0, "O2": np.linspace(1, 3, 4)[:, None] * np.ones(3)}
    )
    assert isinstance(out, xr.Dataset) and out["rho"].dims == ("x", "y") and out["X"].dims == ("species", "x", "y")
    assert out["rho"].attrs["units"] == "kg/m3" and list(out["X"].species.values) == list(mix.names)
    assert all(np.array_equal(out[name], np.broadcast_to(plain[name], out[name].shape)) for name in plain)

    # X by coordinate, in another order; a Dataset as it came back
    again = mix.properties("rho", T=T_x, p=p_y, X=out["X"].isel(species=[1, 0]))
    assert np.allclose(again["rho"], out["rho"], rtol=1e-14)
    burnt = mix.equilibrate("HP", T=T_x, p=p_y, X=out["X"])
    assert burnt["T"].attrs["units"] == "K" and (burnt["T"] > T_x).all() and burnt["status"].dims == ("x", "y")

    for text, given in (
        ("came in degC", dict(T=T_x.assign_attrs(units="degC"), p=1e5, X="O2:1")),
        (
            "coordinates of the arrays differ",
            dict(T=T_x, p=xr.DataArray(T, dims="x", coords={"x": [1, 2, 3, 4]}), X="O2:1"),
        ),
        ("no species 'Xe'", dict(T=T_x, p=1e5, X=out["X"].assign_coords(species=[*mix.names[:-1], "Xe"]))),
    ):
        with pytest.raises(ArgumentError, match=text):
            mix.properties("rho", **given)


def test_pandas():
    pd = pytest.importorskip("pandas")
    mix = mixture()
    table = pd.DataFrame({"T": T, "p": 1e5}, index=list("abcd"))
    X = pd.DataFrame({"O2": [2.0, 3, 4, 5], "CH4": 1.0}, index=table.index)
    out = mix.properties("rho cp Y", **table, X=X)
    plain = mix.properties("rho cp Y", T=T, p=1e5, X={"CH4": np.ones(4), "O2": X["O2"].to_numpy()})
    assert list(out.index) == list("abcd") and out.attrs["units"]["cp"] == "J/kg/K"
    assert np.array_equal(out["rho"], plain["rho"]) and np.allclose(out["Y_O2"], plain["Y"][1], rtol=1e-15)

    burnt = mix.equilibrate("TP", **table, X=X)
    assert {"T", "X_CO2", "status"} <= set(burnt.columns) and (burnt["status"] == 0).all()
    with pytest.raises(ArgumentError, match="index differs"):
        mix.properties("rho", T=table["T"], p=table["p"].reset_index(drop=True), X="O2:1")


def test_a_series_of_a_composition():
    """A Series of X or Y has a species in each row, in any order, everywhere where a composition comes."""
    pd = pytest.importorskip("pandas")
    mix = mixture()
    others = mix.names[2:]
    X = pd.Series([2.0, 1.0, *(0.0 for _ in others)], index=["O2", "CH4", *others])
    amounts = {"CH4": 1.0, "O2": 2.0}

    for given in (X, X.iloc[:2]):
        out = mix.properties("rho Y", T=300.0, p=1e5, X=given)
        plain = mix.properties("rho Y", T=300.0, p=1e5, X=amounts)
        assert all(np.array_equal(out[name], plain[name]) for name in plain)

        # Points with labels: their index, not that of the species
        T_points = pd.Series(T, index=list("abcd"))
        table = mix.properties("rho", T=T_points, p=1e5, X=given)
        assert list(table.index) == list("abcd")
        assert np.array_equal(table["rho"], mix.properties("rho", T=T, p=1e5, X=amounts)["rho"])

        burnt = mix.equilibrate("HP", T=300.0, p=1e5, X=given)
        assert np.array_equal(burnt["T"], mix.equilibrate("HP", T=300.0, p=1e5, X=amounts)["T"])

    fuel = pd.Series([2.0, 1.0], index=["CO", "CH4"])
    assert np.array_equal(mix.mixture_of(fuel, "O2:1"), mix.mixture_of({"CH4": 1.0, "CO": 2.0}, "O2:1"))

    # Another quantity of each species, and kernels by themselves
    Y = pd.Series([0.8, 0.2], index=["O2", "CH4"])
    plain = np.array([0.2, 0.8, 0, 0, 0, 0, 0])
    molar_mass = mix.kernel("molar_mass")
    assert np.array_equal(molar_mass(Y=Y)["W"], molar_mass(Y={"CH4": 0.2, "O2": 0.8})["W"])
    assert np.array_equal(molar_mass(Y=pd.DataFrame([Y, Y]))["W"], molar_mass(Y=plain[:, None] * [1, 1])["W"])
    flow = dict(rhou=0.0, rhov=0.0, rhow=0.0, rhoE=1e5)
    found = mix.properties("T", rhoY=Y * 3.0, **flow)["T"]
    assert np.array_equal(found, mix.properties("T", rhoY=plain * 3.0, **flow)["T"])

    for wrong, text in (
        (pd.Series([0.2, 0.8]), "'Y': no species '0' in this mixture; wanted its species' names in the index"),
        (pd.Series([0.2, 0.8], index=["O2", "CH5"]), "no species 'CH5' in this mixture, did you mean 'CH4'"),
        (pd.Series([0.2, 0.8], index=["CH4", "CH4"]), "species 'CH4' comes twice"),
        (pd.DataFrame({"CH4": [0.2], 5: [0.8]}), "no species '5' in this mixture; wanted its species' names in the c"),
    ):
        with pytest.raises(ArgumentError, match=text):
            mix.properties("rho", T=300.0, p=1e5, Y=wrong)


def test_boundaries_of_two_phases():
    """Labels and masks of T, p and X as in `properties`: species by name, results with the labels."""
    pd, xr = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    mix = Mixture.from_names("CH4 N2", phases="equilibrium", equation="pr")
    plain = mix.bubble_p(np.array([100.0, 110.0]), [0.9, 0.1])
    X = pd.Series([0.1, 0.9], index=["N2", "CH4"])

    assert np.array_equal(mix.bubble_p(100.0, X), plain[0])
    table = mix.bubble_p(pd.Series([100.0, 110.0], index=["a", "b"]), X)
    assert list(table.index) == ["a", "b"] and np.array_equal(table, plain)
    frame = pd.DataFrame({"N2": [0.1, 0.1], "CH4": [0.9, 0.9]}, index=["a", "b"])
    assert np.array_equal(mix.bubble_p(pd.Series([100.0, 110.0], index=["a", "b"]), frame), plain)

    grid = xr.DataArray([[0.1, 0.9]], dims=("x", "species"), coords={"species": ["N2", "CH4"]})
    found = mix.bubble_p(xr.DataArray([100.0, 110.0], dims="t"), grid)
    assert found.dims == ("t", "x") and found.attrs["units"] == "Pa" and np.array_equal(found[:, 0], plain)

    assert mix.critical_point(X) == mix.critical_point([0.9, 0.1])
    assert np.array_equal(mix.envelope(X, points=3)["p_high"], mix.envelope([0.9, 0.1], points=3)["p_high"])


def test_neither_is_imported_unasked():
    code = (
        "import sys; from kernels import Mixture; "
        "Mixture.from_names('O2 N2', equation='ideal').properties('rho', T=[300.0], p=1e5, X='O2:1'); "
        "print([m for m in ('xarray', 'pandas') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
