"""Roots of the cubic against the NumPy oracles: its plane, the flag of the phase, saturation, the critical point."""

import numpy as np
import pytest
from conditioning import assert_close
from kernel_cases import N, compare, mixture, near_saturation
from mixtures_for_tests import species_set
from reference import Tracked, cubic, evaluate, single, value

from kernels.gas.equations.records import FAMILY


@pytest.mark.parametrize(
    "rule, equation",
    [(r, e) for r in ("gibbs", "vapour", "liquid") for e in ("pr", "srk")] + [("gibbs", "vdw"), ("gibbs", "rkpr")],
)
@pytest.mark.quick(rule="gibbs", equation=["pr", "rkpr"])
@pytest.mark.quick(rule="liquid", equation="srk")
def test_the_cubic_over_its_whole_plane(rule, equation):
    """A step of Halley from the fitted start and a step on the cubic itself suffice. A = a p/(RT)^2 and B = b p/RT
    cover all fluids and more, densely around the critical point and the fold that ends in it."""
    random = np.random.default_rng(4)
    delta = {"delta_mix": random.uniform(0.43, 7, 40000)} if cubic.by_species(equation) else {}
    eos = cubic.shape(equation, *(v[20000:].astype(cubic.LD) for v in delta.values()))
    B = np.exp(random.uniform(np.log(1e-9), np.log(20), 20000))
    A = B * np.exp(random.uniform(np.log(1e-3), np.log(60), 20000))

    # the double roots: B from u by f = f' = 0, here by scaling the critical point and moving off it
    near = np.exp(random.uniform(-1, 0.3, 20000))
    A = np.concatenate(
        [
            A,
            np.asarray(eos.omega_a, float)
            * near
            * (1 + np.exp(random.uniform(np.log(1e-8), 0, 20000)) * random.choice([-1, 1], 20000)),
        ]
    )

    B = np.concatenate([B, np.asarray(eos.omega_b, float) * near**0.5])
    T, R_s, p = np.full(A.size, 300.0), np.full(A.size, 300.0), np.full(A.size, 1e7)
    a, b = A * (R_s * T) ** 2 / p, B * R_s * T / p
    mix = mixture(1, root=rule, equation=equation)
    got = mix.kernel("cubic_root")(T=T, p=p, R_s=R_s, a_mix=a, b_mix=b, shift_mix=np.zeros(A.size), **delta)
    inputs = dict(T=T, p=p, R_s=R_s, a_mix=a, b_mix=b, shift_mix=0 * b, **delta)
    inputs = {k: Tracked(v, exact=True) for k, v in inputs.items()}
    wanted = single.THERMAL["cubic_root"](None, {"root": rule, "equation": equation, "translation": "none"}, **inputs)
    skip = wanted.pop("undecided")

    assert skip.mean() < 0.1
    for name, v in wanted.items():
        assert_close(got[name], v, N, what=name, skip=skip)


@pytest.mark.parametrize("equation", ("pr", "srk"))
@pytest.mark.parametrize("root", ("gibbs", "vapour", "liquid"))
@pytest.mark.quick(root="gibbs", equation="pr")
@pytest.mark.quick(root="liquid", equation="srk")
def test_phase_flag_by_all_roots_of_the_cubic(root, equation):
    """At T and p: eigenvalues of the companion matrix of the cubic in v say how many roots there are and which of them
    was taken."""
    T, p = near_saturation()
    random = np.random.default_rng(6)

    T, p = (
        np.concatenate([T, random.uniform(70, 140, 3000)]),
        np.concatenate([p, np.exp(random.uniform(np.log(1e4), np.log(8e6), 3000))]),
    )

    mix = mixture(1, root=root, equation=equation, translation="peneloux")
    q = mix.properties("phase_flag a_mix b_mix v_free R_s", T=T, p=p, Y=np.ones((1, T.size)))
    eos, wanted, clear = cubic.EQUATIONS[equation], np.empty(T.size), np.empty(T.size, bool)
    first, second = float(eos.delta1), float(eos.delta2)

    for i, (RT, P, a, b, free) in enumerate(zip(q["R_s"] * T, p, q["a_mix"], q["b_mix"], q["v_free"])):
        s, t = (first + second) * b, first * second * b * b  # D = v^2 + s v + t; p D (v - b) - RT D + a (v - b) = 0
        v = np.roots([P, P * (s - b) - RT, P * (t - b * s) - RT * s + a, -P * t * b - RT * t - a * b])
        distances = np.sort(np.abs(v[:, None] - v) / np.abs(v).max(), axis=None)
        near = distances[3]  # 0 three times, then how close two roots are

        v = np.sort(v[(np.abs(v.imag) < 1e-5 * np.abs(v)) & (v.real > b)].real)
        wanted[i] = 0
        if v.size > 1:
            wanted[i] = 1 if abs(v[0] - b - free) < abs(v[-1] - b - free) else 2
        clear[i] = near > 1e-4 and v.size in (1, 3)

    assert clear.mean() > 0.95 and (q["phase_flag"] == wanted)[clear].all()
    assert {0, *{"gibbs": (1, 2), "vapour": (2,), "liquid": (1,)}[root]} == set(wanted[clear])


def test_phase_flag_at_a_given_density():
    """Along isotherms through the two-phase region: unstable exactly where the pressure falls with density, liquids
    under tension included."""
    mix, n = mixture(10), 4000
    Y = np.zeros((10, n))
    Y[0], Y[1] = 0.3, 0.7
    rho = np.linspace(1, 900, n)

    for T in (90.0, 120.0, 150.0, 190.0):
        q = mix.properties("p phase_flag", T=T, rho=rho, Y=Y)
        falls = np.diff(q["p"]) < 0
        unstable = q["phase_flag"] == 3
        inner = np.flatnonzero(unstable[:-1] == unstable[1:])  # but the intervals in which it changes

        assert (falls[inner] == unstable[inner]).all() and inner.size >= n - 3

        if T < 170:
            first, last = np.flatnonzero(unstable)[[0, -1]]
            assert set(q["phase_flag"][:first]) <= {0, 2} and set(q["phase_flag"][last + 1 :]) == {0, 1}
            assert (q["phase_flag"][q["p"] <= 0] % 2 == 1).all() and ((q["p"] <= 0) & (q["phase_flag"] == 1)).any()
        else:
            assert (q["phase_flag"] == 0).all()

    bad = mix.properties("phase_flag", T=np.array([-1.0, 300, 300]), rho=np.array([1.0, -1, 5000]), Y=Y[:, :3])[
        "phase_flag"
    ]
    assert np.isnan(bad).all()


def test_departure_integral_of_a_thin_gas():
    """L -> 1/v at v >> b: full relative precision, where ln(1 + small) of a rounded ratio would keep none."""
    for equation in FAMILY:
        b, free = np.full(200, 1e-3), np.logspace(-6, 12, 200)
        delta = {"delta_mix": np.random.default_rng(1).uniform(0.43, 7, 200)} if cubic.by_species(equation) else {}
        eos = cubic.shape(equation, *(v.astype(cubic.LD) for v in delta.values()))
        got = mixture(1, equation=equation).kernel("cubic_departure")(
            b_mix=b, inv_centred=(1 / (free + (1 + (eos.delta1 + eos.delta2) / 2) * b)).astype(float), **delta
        )["cubic_L"]
        exact = cubic.departure_log(free.astype(cubic.LD) + b, b.astype(cubic.LD), eos)

        # a division, a logarithm of 3 eps (its argument's two roundings), three products, and 1/b as handed in
        assert np.abs(got / exact - 1).max() < 8 * 2.2e-16


def test_root_switches_at_saturation():
    T, p = near_saturation()
    Y = np.ones((1, T.size))
    got = mixture(1).properties("rho Z", T=T, p=p, Y=Y)
    q = evaluate(species_set(1), T, p, Y, transport=False)

    assert not q.undecided.any()
    compare("rho Z", got, q, "saturation")

    rho = got["rho"].reshape(-1, 6)
    assert (rho[:, 3] > 1.2 * rho[:, 2]).mean() > 0.9, "the six pressures do not straddle the jump in density"


def test_critical_point_and_spinodal():
    """Where the cubic has a double or triple root the density is only known to a power of eps: the bound says how
    well."""
    data = species_set(1)
    T = np.concatenate([np.full(41, data.Tc[0]), np.linspace(0.9, 1, 41) * data.Tc[0]])
    p = np.concatenate([data.pc[0] * (1 + np.linspace(-1e-3, 1e-3, 41)), np.full(41, data.pc[0])])
    Y = np.ones((1, T.size))
    got = mixture(1).properties("rho Z", T=T, p=p, Y=Y)
    q = evaluate(data, T, p, Y, transport=False)

    # eps^(1/3) in Z at the triple root itself, where first-order bounds end
    worst = np.abs(got["Z"] / value(q.Z) - 1).astype(float)
    assert worst.max() < 50 * np.finfo(float).eps ** (1 / 3)

    far = np.abs(p / data.pc[0] - 1) + np.abs(T / data.Tc[0] - 1) > 1e-4
    ratio = np.abs(got["Z"] - q.Z.val).astype(float) / (2.2e-16 * q.Z.err)
    assert ratio[far].max() <= 2
