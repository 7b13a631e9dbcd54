"""T from (h, p), (s, p), (e, rho), (p, rho) and p from (rho, T): round trips over the envelope, how many steps they
take, what is not found."""

import re

import numpy as np
import pytest
from conditioning import assert_close
from frame_host import Host, field, state
from hosts import ROOT
from kernel_cases import N, check_single, expected, mixture, near_saturation, states
from mixtures_for_tests import species_set
from reference import EPS, derivatives, species, value

import kernels
from examples.mini_solver.layer import declare
from frame.errors import StateError
from kernels import ArgumentError, registry

FAMILY = {
    "pr": {},
    "vapour": dict(root="vapour"),
    "liquid": dict(root="liquid"),
    "srk-translated": dict(equation="srk", translation="peneloux"),
    "pairs": dict(mixing="pseudocritical", alpha="published"),
    "rk": dict(equation="rk"),
    "vdw": dict(equation="vdw"),
    "rkpr": dict(equation="rkpr"),
}
KERNELS = sorted(name for name in derivatives.DERIVED if "temperature" in name and not name.startswith("mapped"))


ALONE = (
    (10, 300, "file", "pr"),
    (1, 100, "file", "pr"),
    (2, 100, "file", "srk-translated"),
    (10, 100, "dense", "pairs"),
    (2, 100, "dense", "rkpr"),
    (53, 40, "dense", "pr"),
)


@pytest.mark.parametrize(
    "name, ns, n, kij, family",
    [(name, *case) for name in KERNELS for case in ALONE if not name.startswith("ideal") or case[3] == "pr"],
)
@pytest.mark.quick(n=300)
def test_kernel_alone(name, ns, n, kij, family):
    """Against bisection in the oracle."""
    check_single(name, ns, n, kij, **FAMILY[family])


def pairs(mix, s):
    """Each inversion's given names and what T is to a change of the first of them, at states s."""
    q = mix.properties("h s e rho cp cv p_T", **s)
    return {
        "h": (dict(h=q["h"], p=s["p"]), q["cp"]),
        "s": (dict(s=q["s"], p=s["p"]), q["cp"] / s["T"]),
        "e": (dict(e=q["e"], rho=q["rho"]), q["cv"]),
        "p": (dict(p=s["p"], rho=q["rho"]), q["p_T"]),
    }


def error_of(name, q):
    """Bounds of what is given, at states of the oracle: of e and p those that the error of rho leaves, too."""
    of_rho = q.rho.err / q.rho.val.astype(float) ** 2
    if name == "p":
        return of_rho * np.abs(q.p_v.val).astype(float)
    return q.e.err + q.p.val.astype(float) * of_rho if name == "e" else getattr(q, name).err


@pytest.mark.parametrize(
    "ns, n, family",
    [
        (1, 5000, "pr"),
        (1, 5000, "vapour"),
        (2, 5000, "liquid"),
        (10, 0, "srk-translated"),
        (10, 5000, "pr"),
        (10, 1000, "pairs"),
        (53, 400, "pr"),
        (2, 2000, "rk"),
        (2, 2000, "vdw"),
        (10, 1000, "rkpr"),
    ],
)
@pytest.mark.quick(family="srk-translated")
def test_round_trip(ns, n, family):
    """T -> h -> T and so on: both evaluations of h are off by its bound at most, so T by twice that over cp, and by its
    own rounding."""
    s = {k: states(ns, n)[k] for k in "TpY"}
    mix, q = mixture(ns, **FAMILY[family]), expected(ns, n, transport=False, **FAMILY[family])

    for name, (given, slope) in pairs(mix, s).items():
        err = error_of(name, q)
        got = mix.properties("T unconverged", Y=s["Y"], **given)
        lost = np.isnan(got["T"]) | (got["unconverged"] != 0)

        assert not lost[~q.undecided].any(), (name, s["T"][lost], s["p"][lost])
        assert_close(
            got["T"], s["T"], N, scale=2 * err / slope + 4 * s["T"], what=f"NS={ns} T({name})", skip=q.undecided
        )


@pytest.mark.parametrize("start", ("cold", "hot", "none", "beyond"))
def test_any_start_leads_there(start):
    s = {k: states(10, 4000)[k] for k in "TpY"}
    mix, q = mixture(10), expected(10, 4000, transport=False)
    T_start = {"cold": 60.0, "hot": 5000.0, "none": np.nan, "beyond": 1e7}[start]

    for name, (given, slope) in pairs(mix, s).items():
        err = error_of(name, q)
        got = mix.properties("T unconverged", Y=s["Y"], T_start=T_start, **given)
        assert_close(
            got["T"], s["T"], N, scale=2 * err / slope + 4 * s["T"], what=f"T({name}) from {start}", skip=q.undecided
        )
        assert not got["unconverged"][~q.undecided].any()


def near_critical(mix, Y, rng):
    """States around the pseudo-critical point, down to 1e-7 of Tc, below it in the region of three roots; cold ones
    too."""
    c = mix.properties("Tc_mix pc_mix", Y=Y)
    n = Y.shape[1]
    T = c["Tc_mix"] * (1 + np.exp(rng.uniform(np.log(1e-7), np.log(0.4), n)) * rng.choice([-1, 1], n))
    return np.clip(T, 30, 5900), np.clip(c["pc_mix"] * np.exp(rng.uniform(-1, 0.2, n)), 1e5, 5e7)


@pytest.fixture
def counting(tmp_path):
    """A kernel of a host's own that counts the evaluations of h that the iteration makes; the number allowed."""
    header = kernels.registry.kernels["temperature_from_h_p"].header
    (tmp_path / "steps.h").write_text(f'''#include "{header}"
template <class M, class R, class Species>
POINT_FN void steps_h_p(const M &m, const R h, const R p, const Species &Y, const R R_s, const R T_start, R &steps) {{
    R T, unconverged, count = R(0.0);
    temperature_of(m, h, T_start, [&](const R at, R &value, R &slope) {{
        CubicState<R> s;
        cubic_state(m, at, p, Y, pair_sums<M, R>(m, Y), R_s, s);
        cubic_enthalpy(m, at, R_s, s.h_ig, s.Z, s.a, s.a_T, s.L, value);
        slope = s.cp;
        count += 1.0;
    }}, T, unconverged);
    steps = count;
}}
''')

    (tmp_path / "steps.py").write_text("""from kernels import point_kernel, quantity, registry
quantity("steps", "1", "evaluations")
point_kernel("steps_h_p", header="steps.h", reads="h p Y R_s T_start", writes="steps",
             constants=registry.kernels["temperature_from_h_p"].constants, source="test", valid="everywhere")
""")
    with registry.temporary():
        kernels.load_declarations(tmp_path / "steps.py")
        yield int(re.search(r"T_STEPS = (\d+)", header.read_text())[1])


def test_the_steps_suffice(counting):
    """The worst of 120 000 points, from the worst starts, takes less than half of what is allowed. A jump is found by
    halving alone: ln(6000/20) = 5.7 in log T down to 1e-11 takes log2(5.7e11) = 39, and the steps of Newton's before
    that."""
    rng = np.random.default_rng(0)
    most = 0

    for ns, options in ((1, {}), (10, {}), (1, dict(root="vapour")), (10, dict(root="liquid", equation="srk"))):
        s = {k: v.copy() for k, v in states(ns, 10000, 11).items() if k in "TpY"}
        mix = mixture(ns, **options)
        s["T"][::2], s["p"][::2] = (v[::2] for v in near_critical(mix, s["Y"], rng))
        q = mix.properties("h R_s", **s)

        for start in (60.0, 5000.0, np.exp(rng.uniform(np.log(80), np.log(3500), 10000))):
            given = dict(h=q["h"], p=s["p"], Y=s["Y"], T_start=start)
            count = mix.kernel("steps_h_p")(R_s=q["R_s"], precision="scalar", **given)["steps"]
            got = mix.properties("unconverged", **given)["unconverged"]

            assert (got < 2).all() and (got == 0).mean() > 0.999
            most = max(most, count[got == 0].max())

    assert most <= counting // 2, most
    h, p, Y = between_phases()[:3]
    count = mixture(1).kernel("steps_h_p")(
        h=h, p=p, Y=Y, R_s=mixture(1).properties("R_s", Y=Y)["R_s"], T_start=300.0, precision="scalar"
    )["steps"]

    assert count.max() < counting, count.max()


def between_phases():
    """N2 at pressures where it boils: h of no state, p, Y, and h on both sides."""
    T, p = near_saturation()
    T, p = T.reshape(-1, 6)[:, 2:4], p.reshape(-1, 6)[:, 2:4]  # a part in 1e6 on either side of the saturation pressure
    q = mixture(1).properties("h rho", T=T.ravel(), p=p.ravel(), Y=np.ones((1, T.size)))
    h, rho = q["h"].reshape(-1, 2), q["rho"].reshape(-1, 2)
    two = rho[:, 1] > 1.2 * rho[:, 0]

    assert two.sum() > 30

    return h[two].mean(1), p[two].mean(1), np.ones((1, two.sum())), h[two], T[two, 0]


def test_between_two_phases_the_boiling_point_is_found_and_told():
    """No state has this h; T is where the two roots have the same Gibbs energy, and unconverged says 1."""
    h, p, Y, sides, T = between_phases()
    for start in ({}, dict(T_start=100.0), dict(T_start=2000.0)):
        got = mixture(1).properties("T unconverged", h=h, p=p, Y=Y, **start)
        assert (got["unconverged"] == 1).all()
        np.testing.assert_allclose(got["T"], T, rtol=1e-5)

        below, above = (mixture(1).properties("h", T=got["T"] * (1 + d), p=p, Y=Y)["h"] for d in (-1e-9, 1e-9))
        assert (below < h).all() and (h < above).all()

        # a metastable liquid exists: with root = vapour or liquid the jump is elsewhere
    assert (np.abs(mixture(1, root="vapour").properties("T", h=h, p=p, Y=Y)["T"] / T - 1) > 1e-4).any()


def test_where_a_published_attraction_changes_sign_h_jumps():
    """N2 in CO2 at 1388 K: a' jumps with |f|, and h with it; the gap is at the temperature itself."""
    mix = mixture(10, alpha="published")
    sp = mix.species
    one, other = mix.names.index("N2") if "N2" in mix.names else 0, 1
    kappa = 0.37464 + 1.54226 * sp.omega[one] - 0.26992 * sp.omega[one] ** 2
    zero = sp.Tc[one] * (1 + 1 / kappa) ** 2
    Y = np.zeros((10, 1))
    Y[one], Y[other] = 0.5, 0.5
    low, high = (mix.properties("h cp", T=[zero * (1 + d)], p=3e7, Y=Y) for d in (-1e-10, 1e-10))
    gap = high["h"] - low["h"]

    assert gap > 1e-3 * low["cp"], "no jump: nothing was tested"
    got = mix.properties("T unconverged", h=low["h"] + 0.5 * gap, p=3e7, Y=Y)
    assert got["unconverged"] == 1 and abs(got["T"] / zero - 1) < 1e-9

    for h, T in ((low["h"], zero * (1 - 1e-10)), (high["h"], zero * (1 + 1e-10))):
        back = mix.properties("T unconverged", h=h, p=3e7, Y=Y)
        assert back["unconverged"] == 0 and abs(back["T"] / T - 1) < 1e-12


@pytest.mark.parametrize(
    "fault", ("h = NaN", "h too high", "h too low", "p < 0", "p = NaN", "sum(Y) = 1.1", "rho beyond 1/b", "rho < 0")
)
def test_nothing_found_is_nan_and_told(fault):
    """At that point alone: every other keeps its bits."""
    s = {k: states(10, 40)[k].copy() for k in "TpY"}
    mix, k = mixture(10), 13
    q = mix.properties("h e rho", **s)
    dense = "rho" in fault
    given = dict(e=q["e"], rho=q["rho"], Y=s["Y"]) if dense else dict(h=q["h"], p=s["p"], Y=s["Y"])
    clean = mix.properties("T unconverged", **given)
    given = {name: v.copy() for name, v in given.items()}

    name, bad = {
        "h = NaN": ("h", np.nan),
        "h too high": ("h", q["h"][k] + 3e8),
        "h too low": ("h", q["h"][k] - 3e8),
        "p < 0": ("p", -1e5),
        "p = NaN": ("p", np.nan),
        "sum(Y) = 1.1": ("Y", given["Y"][:, k] * 1.1),
        "rho beyond 1/b": ("rho", 1e5),
        "rho < 0": ("rho", -1.0),
    }[fault]

    given[name][..., k] = bad
    got = mix.properties("T unconverged", **given)
    assert np.isnan(got["T"][k]) and got["unconverged"][k] == 2

    for name in got:
        assert (np.delete(got[name], k) == np.delete(clean[name], k)).all()
    assert (clean["unconverged"] == 0).all()


def test_a_point_does_not_depend_on_its_neighbours():
    """Packs go on until their last lane is done; the lanes done before keep their bits."""
    s = {k: states(10, 500)[k] for k in "TpY"}
    mix = mixture(10)

    for name, (given, _) in pairs(mix, s).items():
        given["Y"] = s["Y"]
        whole = mix.properties("T", **given)["T"]
        order = np.random.default_rng(0).permutation(500)
        moved = mix.properties("T", **{k: v[..., order] for k, v in given.items()})["T"]

        assert (moved == whole[order]).all()
        assert all(
            mix.properties("T", **{k: v[..., i : i + 1] for k, v in given.items()})["T"] == whole[i]
            for i in range(0, 500, 37)
        ), name


def test_everything_follows_from_energy_and_density():
    """T, p, c and the rest from (e, rho, Y) as from (T, p, Y), without a root: conditioned as T and p are."""
    names = "p c h s cp Z rho_p"
    s = {k: states(10, 2000)[k] for k in "TpY"}
    mix, q = mixture(10), expected(10, 2000, transport=False)
    base = mix.properties(names + " e rho", **s)
    got = mix.properties("T " + names, e=base["e"], rho=base["rho"], Y=s["Y"])

    # p is conditioned by T p_T/p and 1/(rho_p R_s T), at most some 10 here, each of some 100 roundings: 1e-12; in
    # liquids far worse
    smooth = ~q.undecided & (value(q.Z) > 0.6) & (value(q.rho_p).astype(float) * value(q.T * q.R_s).astype(float) < 3)
    assert smooth.sum() > 1000

    for name in names.split():
        scale = np.abs(base[name]) + (1e6 if name == "h" else 0)
        assert (np.abs(got[name] - base[name]) / scale)[smooth].max() < 1e-11, name

    assert "cubic_root" not in mix.program(("c",), ("e", "rho", "Y")).kernels


def test_pressure_of_any_density():
    """Between the spinodals too, where no p, T state lies: the isotherm itself."""
    T, rho = np.full(400, 110.0), np.linspace(1, 1000, 400)
    got = mixture(1).properties("p", T=T, rho=rho, Y=np.ones((1, 400)))["p"]
    sp, o = (
        species.arrays(species_set(1)),
        {"equation": "pr", "translation": "none", "alpha": "smooth", "mixing": "vdw"},
    )
    wanted = derivatives.helmholtz_side(T.astype(np.longdouble), rho.astype(np.longdouble)[None], sp, o)[0]
    terms = np.abs(wanted) + 2 * value(rho * 296.8 * T / (1 - rho / 1167))

    assert (np.abs(got - wanted) <= 30 * EPS * terms).all()
    assert (np.diff(got) < 0).any() and (got < 0).any(), "no loop: nothing was tested"


def test_density_of_pressure_is_the_root_of_pressure_of_density():
    s = {k: states(10, 2000)[k] for k in "TpY"}
    q = expected(10, 2000, transport=False)
    rho = mixture(10).properties("rho", **s)["rho"]
    p = mixture(10).properties("p", T=s["T"], Y=s["Y"], rho=rho)["p"]

    # rounding of p(T, rho), and that of rho through dp/drho
    slope = 1 / np.abs(value(q.rho_p).astype(float))
    terms = (
        s["p"]
        + value(q.a_mix * q.inv_D).astype(float) * 2
        + slope * (q.rho.err + 4 * rho * value(q.inv_free * q.vol).astype(float))
    )

    assert (np.abs(p - s["p"]) <= 8 * EPS * terms)[~q.undecided].all()


def test_what_may_be_given_instead_is_named():
    declare()  # a host's kernels are further ways, and hide none
    with pytest.raises(ArgumentError, match=r"missing T .K. \(or .*\be and rho\b.*\bh\b.*\bs\b.*\)"):
        mixture(10).properties("rho", p=1e6, Y=np.full(10, 0.1))
    with pytest.raises(ArgumentError, match=r"missing p"):
        mixture(10).properties("c", T=300.0, Y=np.full(10, 0.1))

    # T and p are given: nothing is inverted, whatever else is given
    assert (
        mixture(10).program(("cp",), ("T", "p", "Y", "rho", "h")).kernels
        == mixture(10).program(("cp",), ("T", "p", "Y")).kernels
    )


# ---- from a host

SEEDS = (
    "prEOSThermalProperties",
    "prEOSViscousProperties",
    "prEOSCalcSoundSpeed",
    "eosGammaJacobianProperties",
    "eosThermalAndViscousProperties",
    "eosCalcRhoH0FromTP",
    "eosRhoHFromTPProp",
    "prEOSCalcTFromHP",
    "prEOSCriticalState",
    "chungCalcTransProp",
)


def test_a_host_inverts_with_and_without_a_start():
    host = Host(ns=2, nq=7, mixture=None)
    host.frame.properties._use(mixture(2), "test")
    Q = state(ns=2)
    host.put("Q", Q)
    host.launch("thermal")
    h, e, rho = (host.get(name, field(np.nan)) for name in ("h", "e", "rho"))
    host.put("h", h)
    host.frame.eostfromhp(24)

    np.testing.assert_allclose(host.get("T", field(np.nan)), Q[..., 4], rtol=1e-12)
    assert (host.get("unconverged", field(np.nan)) == 0).all()

    host.put("T_start", field(500.0))
    host.frame.eostfromhp(24)

    assert ("T_from_h_p", ("T_start",)) in host.impl.launchers and ("T_from_h_p", ()) in host.impl.launchers
    np.testing.assert_allclose(host.get("T", field(np.nan)), Q[..., 4], rtol=1e-12)

    host.put("e", e), host.put("rho", rho)
    host.frame.eostfromerho(24)
    np.testing.assert_allclose(host.get("p", field(np.nan)), Q[..., 0], rtol=1e-10)

    h[1, 2, 1] = np.nan
    host.put("h", h)  # the same array: the same block
    host.frame.eostfromhp(24)
    told = host.get("unconverged", field(np.nan))

    assert told[1, 2, 1] == 2 and np.count_nonzero(told) == 1 and np.isnan(host.get("T", field(np.nan))).sum() == 1
    host.frame.set_parameter("check", 1)
    host.put("Q", Q)

    with pytest.raises(StateError, match=r"temperature_from_h_p.*'T' = nan.*\(2, 3, 2\)"):
        host.impl.views["h"].matrix[0, :24] = h.ravel(order="F")
        host.frame.eostfromhp(24)


@pytest.mark.parametrize("name", (*SEEDS, "eosPhaseFlag", "eosPhaseFlagFromRhoT"))
@pytest.mark.quick(name=["eosPhaseFlag", "prEOSCalcTFromHP"])
def test_routines_are_launched_by_the_names_that_solvers_use(name):
    """Each in lower case, as Fortran passes it, and as written: the collection behind it, with the same results."""
    host = Host(ns=2, nq=7, mixture=None)
    host.frame.properties._use(mixture(2), "test")

    for tag in (name.lower(), name):
        collection = registry.collections[registry.name_of(tag)]
        host.put("Q", state(ns=2))
        made = mixture(2).properties(
            [q for q in collection.given if q not in "TpYuvw"] or ["T"], T=300.0, p=1e7, Y=[0.5, 0.5]
        )

        for q, v in made.items():
            if q != "T":
                host.put(q, field(v))

        host.launch(tag)
        given = {**dict(T=300.0, p=1e7, Y=np.array([0.5, 0.5]), u=30.0, v=0.0, w=0.0), **made}
        if set(collection.outputs) & {"T", "p"}:
            given = {q: given[q] for q in collection.given}
        wanted = mixture(2).properties(list(collection.outputs), **{q: given[q] for q in collection.given})

        for q in collection.outputs:
            got = host.impl.views[q].matrix[:, :24]
            np.testing.assert_allclose(
                got, np.broadcast_to(np.reshape(wanted[q], (-1, 1)), got.shape), rtol=1e-13, err_msg=f"{tag} {q}"
            )


def test_an_alias_is_unique():
    with registry.temporary(), pytest.raises(ArgumentError, match="'preosthermalproperties' is taken"):
        kernels.collection("another", given="T p Y", outputs="rho", aliases="prEOSThermalProperties")


# ---- ideal gases


def nine(data):
    """The same species with nine coefficients in two ranges."""
    rows = np.stack([np.pad(c, ((0, 0), (2, 0))) for c in (data.nasa_low, data.nasa_high)], 1)
    rows[:, :, 1] = 50.0  # K: 1/T in cp, ln T in h

    return kernels.SpeciesData.from_arrays(
        data.names,
        data.W,
        data.omega,
        None,
        None,
        None,
        Tc=data.Tc,
        pc=data.pc,
        kij=data.kij,
        nasa9=rows,
        T_break=np.stack([data.T_min, data.T_mid, data.T_max], 1),
    )


def starts(tmp_path):
    """A kernel of a host's own: the starts for e and h of an ideal gas."""
    (tmp_path / "starts.h").write_text("""#include "gas/equations/inversion.h"
template <class M, class R, class Species>
POINT_FN void ideal_starts(const M &m, const R e, const R h, const Species &Y, const R R_s, R &of_e, R &of_h) {
    of_e = ideal_start(IdealGasAt<M, R, Species>(m, Y, lower_range(m, e, Y, R_s)), e, R_s);
    of_h = ideal_start(IdealGasAt<M, R, Species>(m, Y, lower_range(m, h, Y, R(0.0))), h, R(0.0));
}
""")
    (tmp_path / "starts.py").write_text("""from kernels import point_kernel, quantity, registry
for name in ("of_e", "of_h"):
    quantity(name, "K", "start")
point_kernel("ideal_starts", header="starts.h", reads="e h Y R_s", writes="of_e of_h",
             constants=registry.kernels["ideal_temperature_from_e"].constants, source="test", valid="everywhere")
""")
    kernels.load_declarations(tmp_path / "starts.py")


def test_a_single_step_is_left_for_ideal_gases(tmp_path):
    """The start is within 1e-9 of T: the step of Newton's method that ends the iteration. All species of H2 and O2 have
    both ranges from 200 or 300 to 3500 K; three steps of Halley's method leave 6e-12 at most, two leave 2e-6."""
    mix = kernels.Mixture.from_yaml(ROOT / "examples/mechanisms/h2_o2.yaml", equation="ideal")
    rng = np.random.default_rng(3)
    T = rng.uniform(250, 3500, 4000)
    Y = rng.dirichlet(np.full(mix.ns, 0.3), 4000).T
    given = mix.properties("e h R_s", T=T, p=1e5, Y=Y)

    with registry.temporary():
        starts(tmp_path)
        got = mix.kernel("ideal_starts")(Y=Y, precision="scalar", **given)

    for name in ("of_e", "of_h"):
        assert np.abs(got[name] / T - 1).max() < 1e-9, name


def test_hot_real_gases_start_near_their_temperature(tmp_path):
    """T of the ideal gas with this e or h, where no T_start comes. At 1 MPa it is off by the departures over cv or cp,
    0.08 % at most here. A line from 300 K was off by up to 30 %."""
    (tmp_path / "starts.h").write_text("""#include "gas/equations/inversion.h"
template <class M, class R, class Species>
POINT_FN void real_starts(const M &m, const R e, const R h, const Species &Y, const R R_s, R &of_e, R &of_h) {
    of_e = start_of_energy(m, e, Y, R_s);
    of_h = start_of_enthalpy(m, h, Y);
}
""")
    (tmp_path / "starts.py").write_text("""from kernels import point_kernel, quantity, registry
for name in ("of_e", "of_h"):
    quantity(name, "K", "start")
point_kernel("real_starts", header="starts.h", reads="e h Y R_s", writes="of_e of_h",
             constants=registry.kernels["temperature_from_e_rho"].constants, source="test", valid="everywhere")
""")
    mix = kernels.Mixture.from_yaml(ROOT / "examples/mechanisms/h2_o2.yaml", equation="pr")
    rng = np.random.default_rng(3)
    T, Y = rng.uniform(1000, 2500, 2000), rng.dirichlet(np.ones(mix.ns), 2000).T
    given = mix.properties("e h R_s", T=T, p=1e6, Y=Y)

    with registry.temporary():
        kernels.load_declarations(tmp_path / "starts.py")
        got = mix.kernel("real_starts")(Y=Y, **given)

    for name in ("of_e", "of_h"):
        assert np.abs(got[name] / T - 1).max() < 2e-3, name


@pytest.mark.parametrize("equation", ("ideal", "pr"))
@pytest.mark.parametrize("coefficients", (7, 9))
@pytest.mark.quick(coefficients=9, equation="pr")
def test_ideal_gases_and_nine_coefficients(equation, coefficients):
    """Round trips, sums of partial properties, Gamma and its inverse: 1e-10 is far above rounding, 1e-16 of formation
    enthalpies over cp T."""
    data = species_set(10) if coefficients == 7 else nine(species_set(10))
    mix = kernels.Mixture.from_species(data, equation=equation)
    s = {k: v[..., ::5] for k, v in states(10, 5000).items()}  # each has one species in plenty at least
    low = s["T"] > 200  # far from folds and criticality for all
    s = {k: np.ascontiguousarray(v[..., low]) for k, v in s.items()}
    thermal = {k: s[k] for k in "TpY"}
    q = mix.properties("h s e rho cp vol v_Y h_Y e_Y g_Y ln_phi", **thermal)
    size = np.abs(q["h"]) + q["cp"] * s["T"]

    for given in (dict(h=q["h"], p=s["p"]), dict(s=q["s"], p=s["p"]), dict(e=q["e"], rho=q["rho"])):
        back = mix.properties("T unconverged", Y=s["Y"], **given)
        assert (np.abs(back["T"] - s["T"]) <= 1e-14 * (size / q["cp"] + s["T"]) * 20).all() and not back[
            "unconverged"
        ].any()

    np.testing.assert_allclose(mix.properties("p", rho=q["rho"], T=s["T"], Y=s["Y"])["p"], s["p"], rtol=1e-10)

    for name, whole in (("v_Y", q["vol"]), ("h_Y", q["h"]), ("e_Y", q["e"]), ("g_Y", q["h"] - s["T"] * q["s"])):
        weight = (s["Y"] * np.abs(q[name])).sum(0) + np.abs(whole)
        assert (np.abs((s["Y"] * q[name]).sum(0) - whole) <= 1e-12 * weight).all(), name

    if equation == "ideal":
        assert (q["ln_phi"] == 0).all()
        np.testing.assert_allclose(
            mix.properties("eps_k", **thermal)["eps_k"],
            q["h_Y"] - (q["cp"] * s["T"] * q["rho"]) * q["v_Y"],
            atol=1e-13 * size.max(),
        )

    both = mix.properties("gamma_jacobian gamma_inverse", **s)
    G, I = (both[k].reshape(14, 14, -1) for k in ("gamma_jacobian", "gamma_inverse"))
    unit, terms = np.einsum("ijn,jkn->ikn", I, G), np.einsum("ijn,jkn->ikn", np.abs(I), np.abs(G))

    assert (np.abs(unit - np.eye(14)[:, :, None]) <= 1e-12 * (terms + 1)).all()
