"""Properties of a gas on a device: against the oracles and the CPU, every option, derivatives, inversions."""

# ruff: noqa: F811  the fixture `be` is an argument here

import numpy as np
import pytest
from conditioning import assert_close
from device_for_tests import be, bound, is_gpu  # noqa: F401
from kernel_cases import N, compare, expected, mixture, states
from mixtures_for_tests import changed, species_set
from reference import derivatives, diffusion as diffusion_oracle, oracle, species, value
from states import impossible_states

from frame.tools.bench import inputs
from kernels import Mixture

NAMES = "phase_flag W Z rho h e s cp cv gamma c rho_p rho_T h_p h_T h0 X mu lam D D_mass"


@pytest.mark.parametrize("ns", [1, 2, 10, 53])
@pytest.mark.quick(ns=10)
def test_against_oracle_and_cpu(be, ns):
    """Thermal and viscous properties at random states: against the oracle, and against the CPU backend."""
    n = 400
    if is_gpu(be):
        n = 10_000 if ns < 20 else 2000  # the oracle's pairs at NS = 53 take gigabytes

    on_cpu, on_gpu = (mixture(ns).properties(NAMES, **states(ns, n), backend=b) for b in ("cpu", be))
    q = expected(ns, n)
    print(f"NS={ns}, error over bound:", {k: f"{r:.2f}" for k, r in compare(NAMES, on_gpu, q, f"NS={ns} cuda").items()})

    for name in NAMES.split():
        # each is within N of the oracle's bound
        assert_close(
            on_gpu[name],
            on_cpu[name],
            2 * N,
            scale=getattr(q, name).err,
            what=f"NS={ns} cuda-cpu {name}",
            skip=q.undecided,
        )


@pytest.mark.parametrize("kij", ["none", "dense", "low_rank", "sparse"])
@pytest.mark.parametrize("ns", [2, 10, 53])
@pytest.mark.quick(ns=53)
def test_every_structure_of_kij(be, ns, kij):
    names = "rho h cp c Tc_mix"
    got = mixture(ns, kij).properties(names, **{k: states(ns, 300)[k] for k in "TpY"}, backend=be)
    compare(names, got, expected(ns, 300, kij, False), f"NS={ns} {kij} cuda")


@pytest.mark.parametrize(
    "option",
    [
        "root=vapour",
        "root=liquid",
        "equation=srk",
        "translation=peneloux",
        "mixing=pseudocritical alpha=published",
        "alpha=cantera",
        "chung=published",
        "chung=cantera",
        "diffusion=fuller",
        "diffusion=cantera",
        "viscosity=lucas",
        "equation=mapped viscosity=residual",
        "equation=mapped viscosity=residual enhancement=critical",
        "cold_cp=fitted",
        "takahashi=table",
        "takahashi=off",
    ],
)
@pytest.mark.long(option=["root=liquid", "root=vapour", "takahashi=off", "translation=peneloux"])
@pytest.mark.long(option=["chung=cantera", "diffusion=cantera"])
def test_every_option(be, option):
    options = dict(word.split("=") for word in option.split())
    got = mixture(10, **options).properties("rho cp mu lam D", **{k: states(10, 300)[k] for k in "TpY"}, backend=be)
    compare("rho cp mu lam D", got, expected(10, 300, **options), f"{option} cuda")


@pytest.mark.parametrize("ns", [2, 10, 53])
@pytest.mark.quick(ns=10)
def test_pseudocritical_pairs(be, ns):
    """All of thermal, partial properties and an inversion; 53 species go through the matrix units."""
    names, options = "rho h cp c Tc_mix", dict(mixing="pseudocritical", alpha="published")
    mix, s = mixture(ns, "dense", **options), {k: states(ns, 100)[k] for k in "TpY"}
    q = expected(ns, 100, "dense", False, **options)

    compare(names, mix.properties(names, **s, backend=be), q, f"NS={ns} pairs cuda")
    partial = derivatives.of_state(
        q, species.arrays(species_set(ns, "dense"), tracked=True), {**oracle.OPTIONS, **options}
    )
    partial.undecided = q.undecided

    compare(
        "v_Y h_Y ln_phi rho_Y", mix.properties("v_Y h_Y ln_phi rho_Y", **s, backend=be), partial, f"NS={ns} pairs cuda"
    )
    h = mix.properties("h", **s)["h"]
    on = [mix.properties("T", h=h, p=s["p"], Y=s["Y"], backend=b)["T"] for b in ("cpu", be)]
    scale = s["T"] + q.h.err / np.abs(value(q.cp)).astype(float)

    assert_close(on[1], on[0], 4 * N, scale=scale, what=f"NS={ns} pairs T of h", skip=q.undecided)


@pytest.mark.parametrize("names", ["rho cp c", "mu lam"])  # with a'', without
def test_equation_mapped_by_matrix_units(be, names):
    """As on the CPU. 1e-11: sums over 13 species in another order, times 100 where the slopes of a liquid cancel."""
    mix = inputs.mixture(13, "dense", takahashi="off", equation="mapped", viscosity="residual")
    given = {q: inputs.states(13, 150, "smooth")[q] for q in "TpY"}
    program = mix.program(outputs=names, given="T p Y", backend=be)
    assert program.plan.how.pairs == "units"

    on_cpu, on_gpu = (mix.properties(names, **given, backend=b) for b in ("cpu", be))
    for name in names.split():
        np.testing.assert_allclose(on_gpu[name], on_cpu[name], rtol=1e-11)


@pytest.mark.parametrize("viscosity", ["residual", "chung"])
def test_sums_over_species_by_matrix_units(be, viscosity):
    """50 species, whose sums and few squares the units form: as on the CPU. A point has the same bits beside other
    neighbours, also between the T_mid of two species. 1e-13: s+ of a liquid has some 30 roundings, and mu 15 times its
    error."""
    equation = "mapped" if viscosity == "residual" else "pr"
    data = inputs.species(50, "dense")
    data = changed(data, T_mid=np.where(np.arange(50) % 7 == 0, 1300.0, data.T_mid))
    mix = Mixture(data, equation=equation, viscosity=viscosity, takahashi="off", diffusion="fuller")
    given = {q: inputs.states(50, 96)[q] for q in "TpY"}
    given["rho"] = mix.properties("rho", **given, backend="cpu")["rho"]
    program = mix.program(outputs="mu lam D", given="T p Y rho", backend=be)
    assert program.plan.how.pairs == "units" and f"{viscosity}_squares" in program.plan.values

    on_cpu, on_gpu = (mix.properties("mu lam D", **given, backend=b) for b in ("cpu", be))
    order = np.random.default_rng(0).permutation(96)
    moved = mix.properties("mu lam D", **{q: value[..., order] for q, value in given.items()}, backend=be)
    for name in on_cpu:
        np.testing.assert_allclose(on_gpu[name], on_cpu[name], rtol=1e-13)
        np.testing.assert_array_equal(moved[name], on_gpu[name][..., order])


@pytest.mark.parametrize("ns", [13, 20])
@pytest.mark.parametrize("diffusion", ["kinetic", "fuller"])
@pytest.mark.quick(diffusion="fuller", ns=13)
def test_friction_by_matrix_units(be, ns, diffusion):
    """D without Takahashi for 13 species and more, with its matrices outside of the struct for `kinetic`, as on the
    CPU. All terms are positive."""
    mix = inputs.mixture(ns, "none", takahashi="off", diffusion=diffusion)
    given = {q: inputs.states(ns, 150, "smooth")[q] for q in "TpY"}
    program = mix.program(outputs=("D", "mu"), given=("T", "p", "Y"), backend=be)

    assert program.plan.how.pairs == "units" and "friction_tiles" in program.plan.values
    on_cpu, on_gpu = (mix.properties("D", **given, backend=b)["D"] for b in ("cpu", be))
    np.testing.assert_allclose(on_gpu, on_cpu, rtol=1e-13)

    if (ns, diffusion) != (13, "kinetic"):
        return

    # a box of 9 x 4 x 4 points in arrays of 12 x 5 x 5: the same bits, for which lanes read each other's points
    box, shape = np.s_[:, 1:5, :4, 2:11], (5, 5, 12)
    arrays = {a: np.full((program.plan.rows(a), *shape), -1.0) for a in program.plan.arguments}
    for name, values in given.items():
        arrays[name][box] = np.reshape(values[..., :144], (-1, 4, 4, 9))
    there = {a: be.from_host(array.reshape(len(array), -1)) for a, array in arrays.items()}
    first = 60 + 2
    program.bind({a: array[:, first:] for a, array in there.items()}, (9, 4, 1, 12, 60))(144)

    for name, wanted in mix.properties("D mu", **given, backend=be).items():
        got = be.to_host(there[name]).reshape(-1, *shape)
        np.testing.assert_array_equal(got[box].reshape(len(got), -1), np.reshape(wanted, (len(got), -1))[:, :144])
        got[box] = -1.0
        assert (got == -1.0).all()


@pytest.mark.parametrize("which", ["cpu", "cuda"])
@pytest.mark.quick(which="cuda")
def test_takahashi_of_pairs(be, which, any_temperature):
    """The tabulated factor of pairs in any ratio, most of them where it is steep, against the formula. To the table's
    own 2e-7 comes an error of position: reduced temperature and pressure of a pair are known to a few roundings of
    single precision, and between two rows the factor changes by up to 1."""
    mix, bare = mixture(10), mixture(10, takahashi="off")
    random, n = np.random.default_rng(7), 40_000 if which == "cpu" or is_gpu(be) else 1500
    Y = random.dirichlet(np.full(10, 0.2), n).T
    k = random.integers(0, 10, n)
    Tc, pc = mix.constant("Tc").array, mix.constant("pc").array
    T, p = random.uniform(0.6, 2.5, n) * Tc[k], random.uniform(0.05, 6, n) * pc[k]
    backend = "cpu" if which == "cpu" else be
    got, low, X = (
        m.properties(q, T=T, p=p, Y=Y, backend=backend)[q] for m, q in ((mix, "D_ij"), (bare, "D_ij"), (mix, "X"))
    )
    x = np.maximum(X, 1e-20)

    for i in range(10):
        for j in range(i + 1):
            y = x[i] / (x[i] + x[j])
            exact = diffusion_oracle.takahashi(
                T / (y * Tc[i] + (1 - y) * Tc[j]), p / (y * pc[i] + (1 - y) * pc[j]), "smooth"
            )
            assert np.abs(got[10 * i + j] / low[10 * i + j] - exact).max() < 6e-7, (i, j)


@pytest.mark.parametrize("ns", [10, 13])
@pytest.mark.quick(ns=13)
def test_states_beyond_the_ends_of_takahashi_table(be, ns, any_temperature):
    """On a GPU too no temperature and no pressure leads out of the table. Results are compared with the formula in
    quadruple precision; the factor is 0.01 or more, with an error of 6e-7."""
    mix, (T, p, Y) = inputs.mixture(ns, "none"), impossible_states(ns)
    for name in ("D", "D_ij"):
        exact = mix.properties(name, T=T, p=p, Y=Y, backend="cpu", precision="wide")[name]
        assert np.abs(mix.properties(name, T=T, p=p, Y=Y, backend=be)[name] / exact - 1).max() < 6e-5, name


@pytest.mark.parametrize("which", ["cpu", "cuda"])
@pytest.mark.parametrize("ns", [5, 15, 26])
@pytest.mark.quick(ns=5)
@pytest.mark.quick(ns=[5, 15], which="cuda")
def test_what_is_unknown_leads_to_no_number(be, ns, which):
    """NaN, infinite or impossible T, p or one of Y: D_ij and D, whose factor comes from a table, are NaN there and
    nowhere else."""
    mix, n = inputs.mixture(ns, "none"), 64
    given = {q: inputs.states(ns, n)[q] for q in "TpY"}

    points = {
        3: ("T", np.nan),
        10: ("p", np.nan),
        17: ("Y", np.nan),
        24: ("T", -1.0),
        31: ("p", 0.0),
        38: ("T", np.inf),
        45: ("Y", np.inf),
    }

    for point, (name, bad) in points.items():
        given[name][..., point] = bad if name != "Y" else np.where(np.arange(ns) == ns // 2, bad, given["Y"][:, point])
    for name in ("D", "D_ij"):
        got = mix.properties(name, **given, backend="cpu" if which == "cpu" else be)[name]
        unknown = np.isnan(got).all(0) if name == "D" else np.isnan(got).any(0)
        assert {int(k) for k in np.flatnonzero(unknown)} == set(points), name
        assert np.isfinite(np.delete(got, list(points), axis=1)).all(), name


GIVEN = {"h": "h p Y", "s": "s p Y", "e": "e rho Y"}


@pytest.mark.parametrize("kij", ["none", "dense", "low_rank", "sparse"])
@pytest.mark.parametrize("ns", [2, 10, 53])
@pytest.mark.quick(ns=10, kij="low_rank")
def test_partial_properties_and_inversions(be, ns, kij):
    """The device against the CPU: each of them is within N of the oracle's bound, see test_derivatives.py,
    test_inversions.py."""
    n = 2000 if is_gpu(be) else 150
    mix, s = mixture(ns, kij), {k: states(ns, n)[k] for k in "TpY"}
    q = expected(ns, n, kij, False)
    d = derivatives.of_state(q, species.arrays(species_set(ns, kij), tracked=True), oracle.OPTIONS)
    names = "v_Y h_Y e_Y ln_phi g_Y rho_Y eps_k"
    d.undecided = q.undecided

    compare(names, mix.properties(names, **s, backend=be), d, f"NS={ns} {kij} cuda")
    base = mix.properties("h s e rho cp cv", **s)

    for name, slope in (("h", base["cp"]), ("s", base["cp"] / s["T"]), ("e", base["cv"])):
        have = {**s, **base}
        got = mix.properties("T unconverged", **{k: have[k] for k in GIVEN[name].split()}, backend=be)
        err = q.e.err + s["p"] / base["rho"] ** 2 * q.rho.err if name == "e" else getattr(q, name).err

        assert not got["unconverged"][~q.undecided].any()
        assert_close(
            got["T"],
            s["T"],
            N,
            scale=2 * err / slope + 4 * s["T"],
            what=f"NS={ns} {kij} T({name}) cuda",
            skip=q.undecided,
        )


@pytest.mark.parametrize("ns", [1, 10, 53])
@pytest.mark.quick(ns=53)
def test_gamma(be, ns):
    """Gamma times a vector, its inverse, and both as matrices, on the device. Tolerance: roundings of each term; terms
    as in test_derivatives.py."""
    n, nq = 60, ns + 4
    mix, s = mixture(ns), states(ns, n)
    dQ = np.random.default_rng(4).normal(size=(nq, n))
    both = mix.properties("gamma_jacobian gamma_inverse rho h h_p", **s, backend=be)
    G, I = (both[k].reshape(nq, nq, n) for k in ("gamma_jacobian", "gamma_inverse"))

    moved = np.abs(
        np.concatenate(
            [
                np.stack(
                    [np.ones(n), s["u"], s["v"], s["w"], both["h"] + (s["u"] ** 2 + s["v"] ** 2 + s["w"] ** 2) / 2]
                ),
                s["Y"][:-1],
            ]
        )
    )

    terms = np.abs(G) + 2 * moved[:, None] * np.abs(G[0])
    terms[4, 0] += both["rho"] * np.abs(both["h_p"]) + 1
    scale = (nq + 8) * 2.2e-16 * np.einsum("ijn,jkn->ikn", np.abs(I), terms)

    assert (np.abs(np.einsum("ijn,jkn->ikn", I, G) - np.eye(nq)[:, :, None]) <= scale).all()
    dU = mix.properties("dU", **s, dQ=dQ, backend=be)["dU"]
    assert (
        np.abs(dU - np.einsum("ijn,jn->in", G, dQ)) <= (nq + 8) * 2.2e-16 * np.einsum("ijn,jn->in", terms, np.abs(dQ))
    ).all()

    back = mix.properties("dQ", **s, dU=dU, backend=be)["dQ"]
    assert (np.abs(back - dQ) <= (nq + 8) * 2.2e-16 * np.einsum("ijn,jkn,kn->in", np.abs(I), terms, np.abs(dQ))).all()
