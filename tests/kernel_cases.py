"""Common part of the kernel tests: mixtures by NS, k_ij and options; oracle results for states, computed once;
comparisons."""

from functools import lru_cache
from pathlib import Path

import numpy as np
from conditioning import assert_close
from mixtures_for_tests import species_set
from reference import EPS, Tracked, cubic, derivatives, evaluate, oracle, residual, single, species, value
from reference.options import spelled_out
from states import grid, random_states

import kernels
from kernels import Mixture
from kernels.gas.equations.records import CUBICS
from kernels.gas.species.kinetic_theory import binary_fit, friction_fit, viscosity_fit

# n of assert_close. The bound is that of the textbook sums in doubles, with functions good to 1 ulp. The kernels' sums
# are shorter; their exp, log and cbrt are good to about 1 ulp (2 on a GPU). Twice the bound leaves room for a compiler
# that contracts differently. The largest ratio seen is about 0.5 of the bound.
N = 2
TABLE_ERROR = 2e-7  # absolute, of the kernels' table of Takahashi's rows (its docstring); added to the bound of D
THERMAL = (
    "W Z rho h e s cp cv gamma c rho_p rho_T h_p h_T h0 X Y cp_ig h_ig s_ig R_s a_mix a_T a_TT b_mix shift_mix vol "
    "v_mol v_free inv_free inv_D inv_centred p_v p_T v_p cubic_L residual_entropy phase_flag Tc_mix pc_mix vc_mix"
)
MAPPED = "map_0 map_1 map_2 map_3 map_I shift_w shift_T shift_TT p_v_attractive p_v_repulsive"  # of equation mapped
ENHANCED = "lam_background susceptibility l_mean pv_mean"  # of enhancement = critical
TRANSPORT = "mu lam D D_mole D_mass D_lewis D_schmidt D_ij"
DENSE = {"equation": tuple(CUBICS), "viscosity": ("chung", "lucas", "residual")}  # values that oracle.evaluate knows
PROJECT = Path(kernels.__file__).resolve().parent / "gas"


def project_kernels():
    """The kernels that this project declares; hosts and other tests may add their own to the registry."""
    return {name: k for name, k in kernels.registry.kernels.items() if k.header.is_relative_to(PROJECT)}


def of_reactions(kernel):
    """Whether it needs a mixture that has reactions, also a solver's own, or one whose atoms are known."""
    return kernel.header.name in ("rates.h", "reactor.h", "equilibria.h") or any(
        "reaction_" in name for name in kernel.constants
    )


@lru_cache(None)
def mixture(ns, kij="file", **options):
    return Mixture.from_species(species_set(ns, kij), **dict(options))


@lru_cache(None)
def fit(ns, model="kinetic"):
    data = species_set(ns)
    return (binary_fit if model == "cantera" else friction_fit)(data, *data.T_fit)


def velocity(n):
    return np.random.default_rng(n).uniform(-500, 500, (3, n))


@lru_cache(8)
def states(ns, n, seed=0):
    """T, p, Y and u, v, w as a dict; n = 0: the grid instead of random states."""
    T, p, Y = grid(ns) if n == 0 else random_states(ns, n, seed)
    return dict(T=T, p=p, Y=Y, **dict(zip("uvw", velocity(T.size))))


@lru_cache(8)
def expected(ns, n, kij="file", transport=True, pairs=True, **options):
    """The oracle at states(ns, n)."""
    s = states(ns, n)
    return evaluate(
        species_set(ns, kij),
        s["T"],
        s["p"],
        s["Y"],
        velocity=[s[c] for c in "uvw"],
        transport=transport,
        fit=fit(ns, options.get("diffusion", "kinetic")) if pairs else None,
        table_error=TABLE_ERROR,
        **dict(options),
    )


def compare(names, got, q, what, n=N):
    """Every name against the oracle q; D_ij as the kernel's (ns*ns, n). Returns the largest ratio to the bound by
    name."""
    ratios = {}
    for name in names.split():
        reference = getattr(q, name)
        if name == "D_ij":
            reference = flat_pairs(reference)
        ratios[name] = assert_close(got[name], reference, n, what=f"{what} {name}", skip=q.undecided)

        # An infinite bound checks nothing. D has no zero, so a bound as large as D checks nothing either.
        bound, size = reference.err[..., ~q.undecided], np.abs(value(reference)[..., ~q.undecided]).astype(float)
        unchecked = bound * n * EPS >= size if name.startswith("D") else np.isinf(bound)
        assert unchecked.mean() <= (0.001 if name.startswith("D") else 1e-9), f"{what} {name}"

    assert q.undecided.sum() <= 1 + 0.001 * q.undecided.size, (
        f"{what}: {q.undecided.sum()} states lie on a fold of the cubic or on saturation"
    )
    return ratios


def flat_pairs(D):
    return Tracked(D.val.reshape(-1, *D.shape[2:]), D.err.reshape(-1, *D.shape[2:]))


def mixture_inputs(q, form="polefree"):
    """Every quantity that a kernel reads, as float64 arrays, from an oracle result. form: Chung's form."""
    out = {name: getattr(q, name) for name in f"{THERMAL} T p u v w mu lam".split()}
    out |= {
        name: getattr(q, name) for name in ("D", "delta_mix", *MAPPED.split(), *ENHANCED.split()) if hasattr(q, name)
    }
    out.update(single.chung_inputs(q.T, q.rho, q.W, q.chung, form))
    if hasattr(q, "scaling"):
        out.update(residual.inputs(q.T, q.rho, q.W, q.residual_entropy, q.scaling))
    repulsive = -q.R_s * q.T * q.inv_free * q.inv_free
    out["muT"] = (
        np.random.default_rng(4).uniform(0, 100, q.T.shape) * value(q.mu) if hasattr(q, "mu") else 0 * value(q.T)
    )
    if not hasattr(q, "p_v_repulsive"):
        out.update(p_v_repulsive=repulsive, p_v_attractive=q.p_v - repulsive)

    return {name: value(v).astype(np.float64) for name, v in out.items()}


def derived_inputs(q, sp, options):
    """Further inputs of kernels: partial properties from the oracle, and a host's own numbers."""
    out = {name: value(v).astype(np.float64) for name, v in vars(derivatives.of_state(q, sp, options)).items()}
    random, (ns, n) = np.random.default_rng(3), q.Y.shape
    rho, Y = value(q.rho).astype(float), value(q.Y).astype(float)
    out |= {"rhoY": rho * Y, "rhoY_but_last": (rho * Y)[: max(ns - 1, 1)]}
    for name, velocity_component in zip(("rhou", "rhov", "rhow"), (q.u, q.v, q.w)):
        out[name] = rho * value(velocity_component).astype(float)
    out["rhoE"] = rho * random.uniform(-1e6, 1e7, n)
    out["T_start"] = out["V_p"] = random.uniform(20, 3000, n)
    out["rho_p_prime"] = value(q.rho_p).astype(float) * random.uniform(1, 1e3, n)
    out["dQ"] = random.normal(size=(ns + 4, n)) * np.r_[1e5, 10, 10, 10, 30, np.full(ns - 1, 1e-2)][:, None]
    out["dU"] = random.normal(size=(ns + 4, n)) * np.r_[1, 100, 100, 100, 1e6, np.full(ns - 1, 1e-1)][:, None]

    return out


def oracle_species(ns, kij="file", model="kinetic"):
    """species.arrays, tracked, with the diffusion fit in the form of the single-kernel entries."""
    sp = species.arrays(species_set(ns, kij), tracked=True)
    sp.table_error = TABLE_ERROR
    sp.fit = Tracked(fit(ns, model), np.abs(fit(ns, model)))
    data = species_set(ns, kij)

    sp.viscosity = {
        law: [Tracked(v, exact=True) for v in viscosity_fit(data, law, *data.T_fit)]
        for law in ("sutherland", "powerlaw")
    }

    return sp


def alone(name, ns, n, kij="file", **options):
    """Inputs and outputs of kernel `name` by itself, by its declared arguments, at n states."""
    record = kernels.registry.kernels[name]
    options = {**{key: values[0] for key, values in dict(record.when).items()}, **options}
    mix = mixture(ns, kij, **options)
    record, options = record.for_options(mix.options), spelled_out(options)

    # Only inputs are taken from the oracle of everything, which has a cubic equation and dense-gas transport.
    known = {key: value for key, value in options.items() if value in DENSE.get(key, (value,)) and key != "kinetics"}
    q = expected(ns, n, kij, True, "D" in record.reads, **known)
    have = mixture_inputs(q, options.get("chung", "polefree"))
    if set(record.reads) - set(have):
        have |= derived_inputs(q, species.arrays(species_set(ns, kij), tracked=True), {**oracle.OPTIONS, **known})

    inputs = {key: have[key] for key in record.reads}
    got = mix.kernel(name)(**inputs)
    assert set(got) == set(record.writes)

    return inputs, got


def assert_as_oracle(name, ns, inputs, got, kij="file", **options):
    """AssertionError where outputs of kernel `name` are not those of its oracle entry with these options."""
    record = kernels.registry.kernels[name]
    options = spelled_out({**{key: values[0] for key, values in dict(record.when).items()}, **options})
    entry = {**single.THERMAL, **single.TRANSPORT, **derivatives.DERIVED}[name]

    options = {**oracle.OPTIONS, **options}
    sp = oracle_species(ns, kij, options["diffusion"])
    sp.cold = oracle.cold(options)
    wanted = entry(
        sp,
        options,
        **{key: Tracked(v, exact=True) for key, v in inputs.items()},
    )

    skip = wanted.pop("undecided", None)
    assert set(wanted) == set(got)

    out = {}
    for key, v in wanted.items():
        v = flat_pairs(v) if key == "D_ij" else v
        out[key] = assert_close(got[key], v, N, what=f"kernel {name} NS={ns} {key}", skip=skip)

    return out


def check_single(name, ns, n, kij="file", **options):
    """Kernel `name` alone, by its declared arguments, at n states against its oracle entry."""
    inputs, got = alone(name, ns, n, kij, **options)
    return assert_as_oracle(name, ns, inputs, got, kij, **options)


def near_saturation():
    """N2 from 80 to 120 K on both sides of where the two roots have the same Gibbs energy, down to a relative 1e-9."""
    sp = species.arrays(species_set(1))
    T = np.linspace(80, 120, 46).astype(cubic.LD)
    a, _, _, b = cubic.mixture_ab(T, np.ones((1, 46), cubic.LD), sp)
    RT = species.R * T
    low, high = np.full(46, 1e4).astype(T.dtype), np.full(46, 3.4e6).astype(T.dtype)

    for _ in range(80):
        p = np.sqrt(low * high)
        A, B = a * p / RT**2, b * p / RT
        small, large = cubic.roots(A, B)
        gap = cubic.residual_gibbs(A, B, large) - cubic.residual_gibbs(A, B, small)
        only_vapour = (small == large) & (small / B > 1)
        vapour = np.where(small == large, only_vapour, gap < 0)
        low, high = np.where(vapour, p, low), np.where(vapour, high, p)

    away = np.array([-1e-2, -1e-4, -1e-6, 1e-6, 1e-4, 1e-2])
    return np.repeat(T, 6).astype(float), (p[:, None] * (1 + away)).ravel().astype(float)


def same(a, b) -> bool:
    """Whether the arrays of `a` have the same names, shapes and bits in `b`."""
    return all(a[k].shape == b[k].shape and (a[k].view(np.int64) == b[k].view(np.int64)).all() for k in a)
