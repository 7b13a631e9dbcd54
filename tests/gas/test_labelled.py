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


def test_neither_is_imported_unasked():
    code = (
        "import sys; from kernels import Mixture; "
        "Mixture.from_names('O2 N2', equation='ideal').properties('rho', T=[300.0], p=1e5, X='O2:1'); "
        "print([m for m in ('xarray', 'pandas') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
