"""Reaction rates: each kernel alone against the oracle, the options, laws, Cantera, quadruple precision, bad states."""

from functools import lru_cache

import mechanisms_for_tests as mechanisms
import numpy as np
import pytest
from device_for_tests import be  # noqa: F401
from frame_host import Host
from kernel_cases import project_kernels
from mixtures_for_tests import ROOT
from reference import kinetics

import kernels
from kernels import Mixture
from kernels.gas.kinetics.plain import WRITTEN
from kernels.gas.plan import Launch
from kernels.gas.planning import make_plan
from kernels.gas.program import Program, Wanted
from kernels.gas.schedules import BLOCK
from kernels.gas.species import GAS_CONSTANT

# Of the gross rates. exp of sums up to 300 loses 300 eps; enthalpy and entropy cancel in g, and g over a reaction.
# The largest seen is 1.5e-13, of reverse rates at 300 K.
LIMIT = 1e-11
CLOSE = 2e-13  # the median of single rates
RATES = {  # kernel: what of the oracle it writes
    "net_production": "omega_mol",
    "gross_production": "creation destruction",
    "reaction_rates": "rate_f rate_r rate_net",
    "equilibrium_constants": "Kc",
    "mass_production": "omega",
    "activity_coefficients": "ln_gamma",
    "chemical_heat": "heat_release",
    "chemical_time": "tau_chem",
}
# two programs for every test of a mixture
SOME = "omega_mol rate_f rate_r rate_net heat_release"
ALL = f"{SOME} omega creation destruction tau_chem rho Kc"


@lru_cache(None)
def mixture(**options):
    phase = "ideal" if options.get("equation") == "ideal" else "real"
    return Mixture.from_yaml(mechanisms.path(), phase, **options)


@lru_cache(None)
def states(n=400, ns=7, coldest=250.0):
    """T, p, Y: some species absent, some of 1e-18."""
    rng = np.random.default_rng(5)
    T, p = rng.uniform(coldest, 3500.0, n), 10 ** rng.uniform(3.5, 7.6, n)
    Y = rng.dirichlet(np.full(ns, 0.5), n).T
    Y[:, ::7] = 0
    Y[:2, ::7] = 0.5
    Y[3, ::14] = 1e-18

    return T, p, np.ascontiguousarray(Y / Y.sum(0))


def oracle(mix, T, p, Y, clamp=False, form=None):
    """The oracle's rates at the densities, fugacities and enthalpies of other kernels. form: as the option kinetics;
    None: the mixture's."""
    real = mix.options["equation"] != "ideal"
    have = mix.properties(["rho", "h_Y", "Z", "ln_phi"], T=T, p=p, Y=Y)
    C = have["rho"] * (Y / mix.species.W[:, None])
    gamma = np.exp(np.asarray(have["ln_phi"], np.longdouble)) * have["Z"] if real else None
    q = kinetics.evaluate(mix.species.mechanism, mix.species, T, p, C, gamma, form or mix.options["kinetics"], clamp)
    q.rho, q.h_Y = have["rho"], have["h_Y"]
    q.heat_release = -(q.h_Y * q.omega).sum(0)
    gone, there = q.destruction, Y > 1e-6
    times = np.where(there & (gone > 0), q.rho * Y / np.where(gone > 0, gone, 1), 1e30)
    q.tau_chem = times.min(0)
    if real:
        q.ln_gamma = np.log(gamma)

    return q


def compare(mix, got, q):
    """Every rate against the gross rates, Kc and times relative to themselves."""
    W = mix.species.W[:, None]
    scales = dict(
        omega_mol=q.gross,
        omega=q.gross * W,
        creation=q.creation,
        destruction=q.destruction,
        rate_f=q.rate_f,
        rate_r=q.rate_r,
        rate_net=np.maximum(np.abs(q.rate_f), np.abs(q.rate_r)),
        Kc=q.Kc,
        tau_chem=q.tau_chem,
        heat_release=(np.abs(q.h_Y) * q.gross * W).sum(0),
        ln_gamma=1.0,
        rho=q.rho,
    )

    for name, value in got.items():
        wanted = getattr(q, name)

        # 1e-200: products of exponentials that small underflow, and count as 0
        error = np.abs(value - wanted) / np.maximum(np.abs(scales[name]), 1e-200)
        assert error.max() < LIMIT, (name, float(error.max()), np.unravel_index(error.argmax(), error.shape))
        if name in ("rate_f", "rate_r", "Kc"):
            assert np.median(error) < CLOSE, name


def test_every_kernel_of_rates_is_here():
    declared = {name for name, kernel in project_kernels().items() if kernel.header.name == "rates.h"}
    assert declared == set(RATES)


@pytest.mark.parametrize("name", RATES)
def test_kernel_alone(name):
    """With every kind of reaction; `consistent` rates of Peng-Robinson."""
    mix, (T, p, Y) = mixture(), states()
    q = oracle(mix, T, p, Y)
    have = dict(T=T, p=p, Y=Y, rho=q.rho, h_Y=q.h_Y, **mix.properties("Z ln_phi", T=T, p=p, Y=Y))
    have |= {key: getattr(q, key).astype(float) for key in ("omega_mol", "omega", "destruction", "ln_gamma")}
    reads = kernels.registry.kernels[name].for_options(mix.options).reads
    got = mix.kernel(name)(**{key: have[key] for key in reads})

    assert set(got) == set(RATES[name].split())
    compare(mix, got, q)


@pytest.mark.parametrize(
    "options",
    [
        dict(equation="ideal"),
        dict(equation="ideal", chebyshev="clamp"),
        dict(kinetics="fugacity", alpha="cantera"),
        dict(kinetics="concentration"),
        dict(equation="srk", translation="peneloux"),
        dict(equation="rk"),
        dict(equation="mapped"),
    ],
    ids=lambda options: "-".join(options.values()),
)
@pytest.mark.quick(options=[{"equation": "ideal", "chebyshev": "clamp"}, {"kinetics": "fugacity", "alpha": "cantera"}])
def test_options(options):
    """Also with a translated volume: C is that of the translated density, and gamma C R T the same fugacity."""
    mix, (T, p, Y) = mixture(**options), states()
    names = ALL if mix.options["equation"] == "ideal" else SOME
    if "chebyshev" in options:
        names = "rate_f"

    got = mix.properties(names, T=T, p=p, Y=Y)
    compare(mix, got, oracle(mix, T, p, Y, options.get("chebyshev") == "clamp"))


def test_as_a_loop_over_tables(monkeypatch):
    """How mechanisms of more than WRITTEN reactions run; here one that is otherwise written out: the same rates."""
    mix, (T, p, Y) = mixture(kinetics="concentration"), states()
    written = mix.properties(SOME, T=T, p=p, Y=Y)
    monkeypatch.setattr("kernels.gas.kinetics.plain.WRITTEN", mix.nr - 1)

    looped = Mixture.from_yaml(mechanisms.path(), "real", kinetics="concentration").properties(SOME, T=T, p=p, Y=Y)

    for name in SOME.split():
        scale = np.abs(written[name]).max() if name in ("omega_mol", "rate_net", "heat_release") else written[name]
        assert (np.abs(looped[name] - written[name]) <= 1e-12 * np.abs(scale) + 1e-200).all(), name


def test_colliders_that_count_each_species_otherwise(tmp_path):
    """No two species alike in one, one species alone in another: [M] is the sum over species."""
    own = dict(zip(("H2", "O2", "H2O", "OH", "H", "O", "HO2"), (2.0, 3.0, 4.0, 0.0, 6.0, 7.0, 8.0)))
    lines = "- equation: 2 H {0} <=> H2 {0}\n  rate-constant: [1e18, -1, 0]\n"
    text = lines.format("+ M") + f"  efficiencies: {{{', '.join(f'{k}: {v}' for k, v in own.items())}}}\n"
    (tmp_path / "own.yaml").write_text(mechanisms.text(text + lines.format("+ H2O")))
    mix, (T, p, Y) = Mixture.from_yaml(tmp_path / "own.yaml", "ideal", equation="ideal"), states()
    out = mix.properties("rate_f rho", T=T, p=p, Y=Y)
    C = out["rho"] * Y / mix.species.W[:, None]
    e = np.array([[own[name] for name in mix.names], [name == "H2O" for name in mix.names]], float)
    k = np.array([r.rate.at(T) for r in mix.species.mechanism.reactions])

    np.testing.assert_allclose(out["rate_f"], k * (e @ C) * C[mix.names.index("H")] ** 2, rtol=LIMIT, atol=1e-200)


def test_mass_and_elements_are_kept():
    mix, (T, p, Y) = mixture(equation="ideal"), states()
    out = mix.properties(ALL, T=T, p=p, Y=Y)
    gross = out["creation"] + out["destruction"]

    assert (np.abs(out["omega"].sum(0)) <= 1e-14 * gross.sum(0)).all()  # 41 reactions, each rounded once or twice
    atoms = mix.species.mechanism.composition.T
    each = atoms @ (gross / mix.species.W[:, None])

    assert (np.abs(atoms @ out["omega_mol"]) <= 1e-14 * each).all()
    assert (np.abs(out["creation"] - out["destruction"] - out["omega"]) <= 1e-13 * gross).all()


@pytest.mark.parametrize(
    "options",
    [dict(equation="ideal"), {}, dict(kinetics="fugacity", alpha="cantera"), dict(equation="mapped")],
    ids=str,
)
@pytest.mark.long(options=[{"equation": "ideal"}, {}])
def test_forward_and_reverse_agree_at_equilibrium(options):
    """By the mixture's own Gibbs energy: if g_Y W of every molecule is the sum of its atoms' potentials, each
    reversible reaction stands still; with `concentration` of a real gas none does."""
    mix = mixture(**options)
    X, T, p = equilibrium(mix, 2800.0, 2e7)
    Y = X * mix.species.W / (X @ mix.species.W)
    rates = mix.properties(ALL if options.get("equation") == "ideal" else SOME, T=T, p=p, Y=Y)
    both = [r.number for r in mix.species.mechanism.reactions if r.reversible and r.net]
    f, r = (rates[name][both] for name in ("rate_f", "rate_r"))

    np.testing.assert_allclose(r, f, rtol=1e-9)  # Newton's method below stops there

    if not options:
        other = mixture(kinetics="concentration").properties(SOME, T=T, p=p, Y=Y)
        apart = np.abs(other["rate_r"][both] / other["rate_f"][both] - 1)
        assert 1e-3 < apart.max() < 0.2


def equilibrium(mix, T, p):
    """Mole fractions where sum_e a_ke lambda_e = g_k, by Newton's method on ln n and lambda with phi from before."""
    atoms, W = mix.species.mechanism.composition, mix.species.W
    RT, total = GAS_CONSTANT * T, atoms.T @ np.full(mix.ns, 1 / mix.ns)
    X = np.full(mix.ns, 1 / mix.ns)

    for _ in range(60):
        out = mix.properties("g_Y", T=T, p=p, X=X)
        base = out["g_Y"] * W / RT - np.log(X)  # g0/RT + ln(phi p/p_ref)
        n = X.copy()
        lam = np.linalg.lstsq(atoms, base + np.log(X), rcond=None)[0]

        for _ in range(200):
            # element potentials and total moles: n_k = N exp(lambda.a_k - base_k)
            x = np.exp(np.minimum(atoms @ lam - base, 50))
            N = total[0] / (atoms[:, 0] @ x)
            residual = np.append(atoms.T @ x * N - total, x.sum() - 1)
            slope = np.zeros((len(residual), len(lam) + 1))
            slope[:-1, :-1] = N * atoms.T @ (x[:, None] * atoms)
            slope[:-1, -1] = atoms.T @ x
            slope[-1, :-1] = x @ atoms
            step = np.linalg.lstsq(slope, -residual, rcond=None)[0]
            lam = lam + np.clip(step[:-1], -2, 2)
            if np.abs(step[:-1]).max() < 1e-14:
                break

        n = x / x.sum()
        if np.abs(n - X).max() < 1e-15:
            break
        X = n

    return X, T, p


def test_a_real_gas_becomes_ideal_at_low_pressure():
    T, _, Y = states()
    p = np.full(T.shape, 1.0)
    real = mixture().properties(SOME, T=T, p=p, Y=Y)
    ideal = mixture(equation="ideal").properties(ALL, T=T, p=p, Y=Y)
    for name in ("rate_f", "rate_r"):
        np.testing.assert_allclose(real[name], ideal[name], rtol=1e-6)  # a p/(RT)^2, of 1e-4 m3/mol, at 1 Pa


def test_precise_in_quadruple():
    """The body in quadruple precision, which knows nothing of rounding in its exponentials."""
    mix, (T, p, Y) = mixture(), states()
    some = dict(T=T[:40], p=p[:40], Y=Y[:, :40])
    q = oracle(mix, *some.values())
    wide = mix.properties(SOME, backend="cpu", precision="wide", **some)
    compare(mix, wide, q)


def test_states_that_are_none_give_nan_there_only():
    mix, (T, p, Y) = mixture(equation="ideal"), states()
    T, p, Y = T.copy(), p.copy(), Y.copy()
    before = mix.properties(ALL, T=T, p=p, Y=Y)
    T[3], p[10], Y[0, 17], T[25] = -5.0, np.nan, 2.0, np.nan
    after = mix.properties(ALL, T=T, p=p, Y=Y)
    bad = [3, 10, 17, 25]

    for name in ALL.split():
        if name != "Kc":  # of T alone
            assert np.isnan(after[name][..., bad]).all(), name
        np.testing.assert_array_equal(np.delete(after[name], bad, -1), np.delete(before[name], bad, -1))


def test_cold_liquids_do_not_react():
    """LOX with hydrogen at 60 to 150 K, radicals absent: rates are 0 to rounding, and finite."""
    mix = mixture()
    T, p = np.linspace(60.0, 150.0, 20), np.full(20, 1e7)
    X = np.zeros((7, 20))
    X[0], X[1] = np.linspace(0, 1, 20), 1 - np.linspace(0, 1, 20)
    W = mix.species.W[:, None]
    out = mix.properties(SOME, T=T, p=p, Y=X * W / (X * W).sum(0))

    assert all(np.isfinite(v).all() for v in out.values())
    assert np.abs(out["omega_mol"]).max() < 1e-12


def test_a_negative_concentration_keeps_its_sign():
    """Whole orders multiply: rates are smooth through 0, for implicit solvers."""
    mix, n = mixture(equation="ideal"), 21
    Y = np.zeros((7, n))
    Y[4] = np.linspace(-1e-6, 1e-6, n)
    Y[1], Y[0] = 0.5, 0.5 - Y[4]
    rate = mix.properties(ALL, T=1500.0, p=1e6, Y=Y)["rate_f"][0]  # H + O2

    np.testing.assert_allclose(np.diff(rate), np.diff(rate).mean(), rtol=1e-4)
    assert rate[0] < 0 < rate[-1]


@pytest.mark.parametrize(
    "phase, options", [("ideal", dict(equation="ideal")), ("real", dict(kinetics="fugacity", alpha="cantera"))]
)
def test_rates_are_cantera_s(phase, options):
    ct = pytest.importorskip("cantera")
    path = mechanisms.path(mechanisms.CANTERAS[phase])
    mix, gas = Mixture.from_yaml(path, phase, **options), ct.Solution(str(path), phase)
    same_as_cantera(mix, gas, *states(150))


def test_no_reactions_are_rates_of_zero(tmp_path):
    """`reactions: none`, as Cantera; the same where the species left out take all of them along."""
    (tmp_path / "none.yaml").write_text(mechanisms.text("").replace("reactions: all", "reactions: none"))
    mix = Mixture.from_yaml(tmp_path / "none.yaml", "ideal", equation="ideal", takahashi="off")
    Y = np.full(mix.ns, 1 / mix.ns)
    out = mix.properties("omega creation heat_release tau_chem rate_f J_cv", T=[1500.0, 300.0], p=1e5, Y=Y)

    assert mix.nr == 0 and out["rate_f"].shape == (0, 2)
    np.testing.assert_allclose(out["tau_chem"], 1e30)

    for name in ("omega", "creation", "heat_release", "J_cv"):
        np.testing.assert_array_equal(out[name], 0)
    after = mix.react(1500.0, 1e5, Y, dt=1e-6)

    assert after["status"] == 0 and after["T"] == pytest.approx(1500.0)
    np.testing.assert_allclose(after["Y"], Y, rtol=1e-15)

    without = [name for name in mechanism_names() if name not in ("H2", "HO2")]
    left = Mixture.from_yaml(mechanisms.path(), "ideal", equation="ideal", without=without)
    assert left.nr == 0 and all("left out" in note for note in left.species.mechanism.notes)


@pytest.mark.parametrize("without", [(), ("C2H4", "C2H5", "C2H6", "C2H3", "C2H2")], ids=["a loop", "written out"])
def test_an_inert_collider_stays(without, monkeypatch):
    """CH2(S) + N2 <=> CH2 + N2: N2 is neither made nor consumed, to the last bit, also in slopes.

    Compiled as for users: a product and a sum in one rounding would show."""
    monkeypatch.delenv("FRAME_CXXFLAGS", raising=False)
    mix = Mixture.from_yaml(ROOT / "examples/mechanisms/ch4_o2.yaml", equation="ideal", without=list(without))
    assert (mix.nr > WRITTEN) == (not without)

    T, p, Y = states(40, mix.ns)
    n = mix.names.index("N2")
    out = mix.properties("omega creation omega_T omega_Y", T=T, p=p, Y=Y)

    assert out["creation"][n].max() > 0
    for name in ("omega", "omega_T"):
        assert np.isfinite(out[name]).all() and not out[name][n].any()
    assert not out["omega_Y"].reshape(mix.ns, mix.ns, -1)[n].any()


def mechanism_names():
    return Mixture.from_yaml(mechanisms.path(), "ideal", equation="ideal").names


def test_gri30_is_cantera_s():
    """53 species, 325 reactions: several panels of colliders, tables outside the struct of constants."""
    ct = pytest.importorskip("cantera")
    mix = Mixture.from_yaml("gri30.yaml", equation="ideal", takahashi="off")
    same_as_cantera(mix, ct.Solution("gri30.yaml"), *states(60, 53))


@pytest.mark.parametrize("w", ["30 kcal/mol", "4.184e9 J/mol"])
def test_bond_energies_of_blowers_masel(w, tmp_path):
    """Files have an arbitrary large one, since it matters little; V - 2w of the textbook's form then cancels."""
    rate = f"type: Blowers-Masel\n  rate-constant: [5.1e4, 2.67, 6.29 kcal/mol, {w}]"
    (tmp_path / "one.yaml").write_text(mechanisms.text(f"- equation: O + H2 <=> H + OH\n  {rate}\n"))
    mix, (T, p, Y) = Mixture.from_yaml(tmp_path / "one.yaml", "ideal", equation="ideal"), states(60)
    compare(mix, mix.properties("rate_f rate_r", T=T, p=p, Y=Y), oracle(mix, T, p, Y))


@pytest.mark.full
def test_linear_burke_as_published_is_cantera_s():
    """Ammonia of Alzueta 2023 with the mixture rule: 42 species, 281 reactions, six of them by it, as loops."""
    ct = pytest.importorskip("cantera")
    file, phase = "example_data/ammonia-CO-H2-Alzueta-2023.yaml", "linear-Burke"
    mix = Mixture.from_yaml(file, phase, equation="ideal", takahashi="off")
    same_as_cantera(mix, ct.Solution(file, phase), *states(60, 42))


def same_as_cantera(mix, gas, T, p, Y):
    out = mix.properties(ALL if mix.options["equation"] == "ideal" else SOME, T=T, p=p, Y=Y)
    W = mix.species.W

    for i in range(T.size):
        gas.TPY = T[i], p[i], Y[:, i]
        made, gone = gas.creation_rates * 1e3, gas.destruction_rates * 1e3
        gross = made + gone
        dn = (gas.product_stoich_coeffs - gas.reactant_stoich_coeffs).sum(0)
        enthalpies = np.abs(gas.partial_molar_enthalpies / 1e3)

        theirs = dict(
            omega_mol=(gas.net_production_rates * 1e3, gross),
            creation=(made * W, gross * W),
            destruction=(gone * W, gross * W),
            heat_release=(gas.heat_release_rate, enthalpies @ gross),
            rate_f=(gas.forward_rates_of_progress * 1e3, None),
            rate_r=(gas.reverse_rates_of_progress * 1e3, None),
            Kc=(gas.equilibrium_constants * 1e3**dn, None),
        )
        for name in theirs.keys() & out.keys():
            got, (wanted, scale) = out[name][..., i], theirs[name]
            error = np.abs(got - wanted) / np.maximum(np.abs(wanted if scale is None else scale), 1e-200)
            assert error.max() < LIMIT, (name, i, float(error.max()))


def test_cuda(be):  # noqa: F811
    """The CUDA source: on the stand-in, and with `pytest -m gpu` on a device."""
    mix, (T, p, Y) = mixture(), states()
    some = dict(T=T[:130], p=p[:130], Y=Y[:, :130])
    names = f"{SOME} creation tau_chem Kc"
    compare(mix, mix.properties(names, backend=be, **some), oracle(mix, *some.values()))


def in_a_crew(backend, mix, outputs, points, precision="double", **state):
    """Values by a launch whose warps share the work of a point."""
    how = Launch(256, "crew", unroll=points)
    program = Program(mix, Wanted(outputs.split(), [*state]), backend=backend, how=how, precision=precision)
    n = state["T"].size
    rows = {name: program.plan.rows(name) for name in program.plan.arguments}
    arrays = {name: np.full((count, backend.pad(n)), np.nan, program.dtype) for name, count in rows.items()}
    for name, value in state.items():
        arrays[name][:, :n] = value
    arrays = {name: backend.from_host(array, program.dtype) for name, array in arrays.items()}
    program.bind(arrays)(n)

    return {name: backend.to_host(arrays[name])[:, :n].astype(float) for name in program.writes}


@pytest.mark.parametrize("points, portions", [(1, 1), (2, 2)])
def test_crew(be, points, portions, monkeypatch):  # noqa: F811
    """Every kind of reaction by warps that share them, in one portion and in several; a part of a warp's points too."""
    mix, (T, p, Y) = mixture(equation="ideal"), states()
    sizes = mix.constant("reaction_steps").of.sizes
    assert sizes["RATE_PORTIONS"] == 1

    if portions > 1:
        monkeypatch.setattr("kernels.gas.kinetics.crew.rooms", lambda: (46000, 227 * 1024))
        mix = Mixture.from_yaml(mechanisms.path(), "ideal", equation="ideal")
        assert mix.constant("reaction_steps").of.sizes["RATE_PORTIONS"] == portions

    some = dict(T=T[:77], p=p[:77], Y=np.ascontiguousarray(Y[:, :77]))
    q = oracle(mix, *some.values())
    some["rho"] = q.rho

    compare(mix, in_a_crew(be, mix, "omega omega_mol heat_release", points, **some), q)
    compare(mix, in_a_crew(be, mix, "omega creation destruction tau_chem", points, **some), q)

    bad = {name: value.copy() for name, value in some.items()}
    bad["T"][3], bad["Y"][2, 40] = np.nan, np.nan
    for values in in_a_crew(be, mix, "omega tau_chem", points, **bad).values():
        assert np.isnan(values[:, [3, 40]]).all() and not np.isnan(np.delete(values, [3, 40], 1)).any()


def test_crew_of_falloffs_of_many_products(be, tmp_path):  # noqa: F811
    """They are none of the fast form; a rate coefficient has a row of its own in a table all the same."""
    low, high = "low-P-rate-constant: [3e24, -0.5, 40000]", "high-P-rate-constant: [4e18, 0.3, 50000]"
    falloff = "- equation: {}\n  type: falloff\n  " + low + "\n  " + high + "\n"
    text = falloff.format("2 HO2 (+M) <=> 2 OH + 2 O (+M)")
    text += falloff.format("H2O + HO2 (+M) <=> H + 2 OH + O (+M)") + "  Troe: {A: 0.6, T3: 120.0, T1: 2000.0}\n"
    (tmp_path / "own.yaml").write_text(mechanisms.text(text))
    mix, (T, p, Y) = Mixture.from_yaml(tmp_path / "own.yaml", "ideal", equation="ideal"), states(40)

    assert mix.constant("reaction_others").of.sizes["RATE_OTHERS"] == 2
    q = oracle(mix, T, p, Y)
    compare(mix, in_a_crew(be, mix, "omega", 2, T=T, p=p, Y=Y, rho=q.rho), q)


def test_crew_takes_two_steps_at_a_time(be):  # noqa: F811
    """A warp has several steps of one kind only where there are many reactions."""
    pytest.importorskip("cantera")  # has the file
    mix = Mixture.from_yaml("gri30.yaml", equation="ideal", takahashi="off")
    T, p, Y = states(40, mix.ns)
    q = oracle(mix, T, p, Y)
    compare(mix, in_a_crew(be, mix, "omega creation destruction", 2, T=T, p=p, Y=Y, rho=q.rho), q)


@pytest.mark.parametrize("kinetics", ["consistent", "fugacity", "concentration"])
def test_crew_of_a_real_gas(be, kinetics):  # noqa: F811
    """The warps share the sums of the equation of state too, and each has the fugacities of its species. Where points
    of a warp take different branches, its lanes stay together."""
    mix, (T, p, Y) = mixture(kinetics=kinetics), states()
    some = dict(T=T[:50], p=p[:50], Y=np.ascontiguousarray(Y[:, :50]))
    q = oracle(mix, *some.values())
    thermal = "rho cp h c rho_T h_p" if kinetics == "consistent" else "rho"
    got = in_a_crew(be, mix, f"omega heat_release tau_chem {thermal}", 2, **some)
    for name, wanted in mix.properties(thermal, **some).items():
        np.testing.assert_allclose(got.pop(name)[0], wanted, rtol=LIMIT, err_msg=name)

    compare(mix, got, q)


def test_crew_in_mixed_precision(be):  # noqa: F811
    """omega is made of omega_mol before that is rounded."""
    mix, (T, p, Y) = mixture(equation="ideal"), states()
    some = {name: value.astype(np.float32).astype(float) for name, value in dict(T=T[:40], p=p[:40]).items()}
    some |= dict(Y=Y[:, :40].astype(np.float32).astype(float), rho=oracle(mix, T, p, Y).rho[:40])
    some["rho"] = some["rho"].astype(np.float32).astype(float)
    wide = in_a_crew(be, mix, "omega omega_mol", 2, **some)

    for name, value in in_a_crew(be, mix, "omega omega_mol", 2, "mixed", **some).items():
        with np.errstate(over="ignore"):  # some rates are beyond single precision
            np.testing.assert_array_equal(value, wide[name].astype(np.float32), name)


def test_which_programs_are_for_crews(monkeypatch):
    """A crew takes programs whose kernels share their species values, if the mechanism has room in a block."""
    ideal, real = mixture(equation="ideal"), mixture()
    kernels_of = lambda mix, outputs, given: kernels.resolve(outputs.split(), given.split(), mix.options)
    given = "T p rho Y"

    assert BLOCK.serves(kernels_of(ideal, "omega", given), ideal)
    assert BLOCK.serves(kernels_of(ideal, "omega rho", "T p Y"), ideal)  # a density is a number of the point's
    assert BLOCK.serves(kernels_of(ideal, "omega heat_release", given), ideal)
    assert BLOCK.serves(kernels_of(ideal, "omega tau_chem", given), ideal)
    assert not BLOCK.serves(kernels_of(ideal, "omega rate_net", given), ideal)
    assert not BLOCK.serves(kernels_of(ideal, "omega", "T p rho X"), ideal)  # makes Y
    assert not BLOCK.serves(kernels_of(ideal, "rho", "T p Y"), ideal)
    assert BLOCK.serves(kernels_of(real, "omega", given), real)
    with pytest.raises(kernels.FrameError, match="cannot share the work of reaction_rates here"):
        make_plan(kernels_of(ideal, "rate_net", given), ["rate_net"], ideal, Launch(256, "crew"))

    monkeypatch.setattr("kernels.gas.kinetics.crew.rooms", lambda: (15000, 15000))
    large = Mixture.from_yaml(mechanisms.path(), "ideal", equation="ideal")
    assert not BLOCK.serves(kernels_of(large, "omega", given), large)


def test_from_a_host(tmp_path):
    """Collections and kernels by name, rates of every reaction in the last dimension; another mixture after."""
    reaction = "- equation: {}\n  rate-constant: [{}, 0, 15000]\n".format
    one, three = tmp_path / "one.yaml", tmp_path / "three.yaml"
    one.write_text(mechanisms.text(reaction("H + O2 <=> O + OH", 1e14)))

    three.write_text(
        mechanisms.text(
            reaction("H + O2 <=> O + OH", 2e14) + reaction("H2 + O <=> H + OH", 4e4) + reaction("2 OH <=> O + H2O", 3e4)
        )
    )

    host, n = Host(ns=7, nq=12, mixture=None, equation="ideal"), 24
    for path in (three, one):
        host.frame.load_mixture(str(path), "ideal")
        mix = Mixture.from_yaml(path, "ideal", equation="ideal")
        T, p, Y = (np.ascontiguousarray(x[..., :n]) for x in states())
        Q = np.zeros((4, 3, 2, 12), order="F")
        for place, row in zip((0, 4, *range(5, 12)), (p, T, *Y)):
            Q[..., place] = row.reshape((4, 3, 2), order="F")
        host.put("Q", Q)
        host.launch("thermal_kinetics")
        omega = host.get("omega", np.zeros((4, 3, 2, 7), order="F"))
        host.launch("reaction_rates")
        rates = host.get("rate_net", np.zeros((4, 3, 2, mix.nr), order="F"))
        wanted = mix.properties("omega rate_net", T=T, p=p, Y=Y)

        for got, name in ((omega, "omega"), (rates, "rate_net")):
            scale = np.abs(wanted[name]).max(0)
            error = np.abs(got.reshape((n, -1), order="F").T - wanted[name])
            assert (error <= 1e-11 * scale).all(), name

    with pytest.raises(kernels.ArgumentError):
        host.get("rate_net", np.zeros((4, 3, 2, 3), order="F"))
