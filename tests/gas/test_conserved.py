"""Conserved variables: they lead back to the state that they were made of, in one launch, and by a host's own names."""

import numpy as np
import pytest
from hosts import ROOT

import kernels
from kernels import ArgumentError, Mixture, Program, Wanted

EPS = np.finfo(float).eps
N = 40
MOMENTA = ("rhou", "rhov", "rhow")


def mixture(equation="ideal"):
    if equation == "ideal":
        return Mixture.from_yaml(ROOT / "examples/mechanisms/h2_o2.yaml", equation="ideal")
    return Mixture.from_yaml(ROOT / "examples/mixtures/ch4_o2_4.yaml", equation=equation)


def state(mix):
    """T, p, Y, velocity, and what a solver keeps of them."""
    rng = np.random.default_rng(5)
    s = {"T": rng.uniform(500, 3000, N), "p": rng.uniform(1e5, 1e7, N), "Y": rng.dirichlet(np.ones(mix.ns), N).T}
    s |= dict(zip("uvw", rng.normal(scale=100, size=(3, N))))

    made = mix.properties("rho e", **{name: s[name] for name in "TpY"})
    s |= made
    s["rhoY"] = made["rho"] * s["Y"]
    s["rhoY_but_last"] = s["rhoY"][:-1]
    s |= {name: made["rho"] * s[component] for name, component in zip(MOMENTA, "uvw")}
    s["rhoE"] = made["rho"] * (made["e"] + 0.5 * (s["u"] ** 2 + s["v"] ** 2 + s["w"] ** 2))
    return s


GIVEN = {
    "all species": ("rhoY", *MOMENTA, "rhoE"),
    "density too": ("rho", "rhoY", *MOMENTA, "rhoE"),
    "but the last": ("rho", "rhoY_but_last", *MOMENTA, "rhoE"),
    "velocity": ("rhoY", "u", "v", "w", "rhoE"),
    "a start": ("rhoY", *MOMENTA, "rhoE", "T_start"),
}


@pytest.mark.parametrize("equation", ["ideal", "pr"])
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.quick(given=["all species", "but the last"])
def test_back_to_the_state(given, equation):
    """T by inversion of e: an error of n eps |terms of e| in e moves T by that over cv. The terms are rho E/rho and the
    kinetic energy, with 12 roundings on either side; the iteration ends where a step is below 1e-9 T, squared."""
    mix = mixture(equation)
    s = state(mix) | {"T_start": np.full(N, 900.0)}
    got = mix.properties("T p u v w unconverged", **{name: s[name] for name in GIVEN[given]})

    cv = mix.properties("cv", **{name: s[name] for name in "TpY"})["cv"]
    terms = np.abs(s["rhoE"] / s["rho"]) + s["u"] ** 2 + s["v"] ** 2 + s["w"] ** 2 + np.abs(s["e"]) + cv * s["T"]
    error = 24 * EPS * terms / cv + 1e-17 * s["T"]
    assert not got["unconverged"].any()
    assert np.all(np.abs(got["T"] - s["T"]) <= error)

    # p of (rho, T): its slope in T, at these temperatures at most 4 p/T; Y and rho with 8 roundings
    assert np.all(np.abs(got["p"] / s["p"] - 1) <= 4 * error / s["T"] + 64 * EPS)
    for name in "uvw":
        np.testing.assert_allclose(got[name], s[name], rtol=4 * EPS)


def test_one_launch_with_rates():
    mix = mixture()
    s = state(mix)
    given = GIVEN["all species"]
    program = Program(mix, Wanted(["T", "p", "omega"], given))
    assert {"density_of_partial_densities", "ideal_temperature_from_e", "net_production"} <= set(program.kernels)
    assert set(program.reads) == set(given)

    omega = mix.properties("omega", **{name: s[name] for name in given})["omega"]
    wanted = mix.properties("omega", **{name: s[name] for name in "TpY"})["omega"]
    # rates change by some 60 times a relative error of T: exponents E/T at 500 K
    assert np.abs(omega - wanted).max() <= 1e4 * EPS * np.abs(wanted).max()


def test_no_density_is_not_a_number():
    mix = mixture()
    s = state(mix)
    s["rhoY"] = 0 * s["rhoY"]
    got = mix.properties("T p u", **{name: s[name] for name in GIVEN["all species"]})
    assert all(np.isnan(values).all() for values in got.values())


@pytest.mark.parametrize(
    "names, words",
    [
        ("rhoY rhoE", r"e would follow from rhoE with u, v, w\."),
        ("rho rhoE u v w", r"missing Y \(or X\)"),
        # own kernels that a process has loaded (the mini-solver's) may add ways to T
        ("rhoY rhou rhov rhow", r"missing T \[K\] \(or e, or h, or .*s\)"),
    ],
)
def test_what_is_missing(names, words):
    mix = mixture()
    s = state(mix)
    with pytest.raises(ArgumentError, match=words):
        mix.properties("T p", **{name: s[name] for name in names.split()})


HEADER = """
template <class M, class R>
POINT_FN void internal_of_total(const M &, const R u, const R v, const R w, const R E_total, R &e) {
    e = E_total - 0.5 * (square(u) + square(v) + square(w));
}
template <class M, class R, class Densities, class Fractions>
POINT_FN void fractions_of(const M &, const Densities &rho_s, R &rho, Fractions &Y) {
    R sum = 0.0;
    FOR_SPECIES (s, M::NS) sum += rho_s[s];
    rho = sum;
    FOR_SPECIES (s, M::NS) Y.set(s, rho_s[s] * inverse(sum));
}
"""
DECLARATIONS = """
from kernels import collection, point_kernel, quantity
quantity("E_total", "J/kg", "total energy")
quantity("rho_s", "kg/m3", "partial densities", per="ns")
point_kernel("internal_of_total", header="own.h", reads="u v w E_total", writes="e", source="d", valid="all")
point_kernel("fractions_of", header="own.h", reads="rho_s", writes="rho Y", source="d", valid="all")
collection("all_of_it", given="rho_s u v w E_total", outputs="T p", what="of a host's own variables")
"""


def test_own_kernels_feed_an_inversion(registry, tmp_path):
    """A host's kernels make e, rho and Y; the built-in inversion follows in the same launch."""
    (tmp_path / "own.h").write_text(HEADER)
    (tmp_path / "own.py").write_text(DECLARATIONS)
    kernels.load_declarations(str(tmp_path / "own.py"))
    mix = mixture()
    s = state(mix)

    given = {"rho_s": s["rhoY"], "E_total": s["rhoE"] / s["rho"]} | {name: s[name] for name in "uvw"}
    got = mix.properties("T p", **given)
    wanted = mix.properties("T p", **{name: s[name] for name in GIVEN["all species"]})
    # rhoE/rho is rounded at another place: some roundings of e, as above
    np.testing.assert_allclose(got["T"], wanted["T"], rtol=200 * EPS)
    np.testing.assert_allclose(got["p"], wanted["p"], rtol=400 * EPS)


def test_names_that_were_given_are_preferred():
    """With e and rho given nothing new takes part: the kernels are those of before."""
    mix = mixture()
    names = [kernel.name for kernel in kernels.resolve(["T", "p"], ["e", "rho", "Y"], mix.options)]
    assert names == ["molar_mass", "ideal_temperature_from_e", "ideal_pressure"]
