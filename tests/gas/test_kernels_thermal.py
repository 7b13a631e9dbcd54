"""Thermal kernels against the NumPy oracles: through Mixture.properties, each one alone, in other number types."""

import numpy as np
import pytest
from kernel_cases import THERMAL, TRANSPORT, check_single, compare, expected, mixture, project_kernels, states
from mixtures_for_tests import KIJ
from reference import derivatives, single

SIZES = (1, 2, 10, 53)
RANDOM = 10000


@pytest.mark.parametrize("n", (RANDOM, 0), ids=("random", "grid"))
@pytest.mark.parametrize("ns", SIZES)
@pytest.mark.long(ns=[2, 53], n=10000)
def test_every_name(ns, n):
    got = mixture(ns).properties(THERMAL, **states(ns, n))
    compare(THERMAL, got, expected(ns, n, transport=False), f"NS={ns}")


@pytest.mark.parametrize("kij", [k for k in KIJ if k != "file"])
@pytest.mark.parametrize("ns", (2, 10, 53))
@pytest.mark.quick(ns=10, kij="low_rank")
@pytest.mark.quick(ns=53, kij="dense")
def test_every_structure_of_kij(ns, kij):
    names = "rho h s cp c a_mix a_T a_TT Tc_mix pc_mix"
    given = {k: v for k, v in states(ns, 2000).items() if k in "TpY"}
    got = mixture(ns, kij).properties(names, **given)
    compare(names, got, expected(ns, 2000, kij, False), f"NS={ns} k_ij {kij}")


def test_kij_structures_are_told_apart():
    """The tests above must have gone by four different ways of summing."""
    assert {mixture(53, kij).facts["k_ij"] for kij in ("none", "sparse", "low_rank", "dense")} == {
        "none",
        "sparse",
        "lowrank",
        "dense",
    }


# ---- each kernel alone


def test_every_registered_kernel_has_an_oracle():
    # test_kinetics.py, test_reactor.py, test_equilibrium.py; of two phases: test_phases.py
    others = ("rates.h", "reactor.h", "equilibria.h")
    declared = {
        name
        for name, kernel in project_kernels().items()
        if kernel.header.name not in others and kernel.phases != "equilibrium"
    }
    oracles = {*single.THERMAL, *single.TRANSPORT, *derivatives.DERIVED}

    missing, gone = sorted(declared - oracles), sorted(oracles - declared)
    assert not missing, f"{missing}: wanted a row in tests/reference/single.py or derivatives.py"
    assert not gone, f"{gone}: no such kernel is declared"


SPECIES_KERNELS = [name for name, k in project_kernels().items() if name in single.THERMAL and k.constants]


@pytest.mark.parametrize("name", sorted(single.THERMAL))
def test_kernel_alone(name):
    check_single(name, 10, 2000)


@pytest.mark.parametrize("ns", (1, 2, 53))
@pytest.mark.parametrize("name", SPECIES_KERNELS)
@pytest.mark.quick(
    name=[
        "critical_state",
        "cubic_delta",
        "cubic_mixture",
        "ideal_gas",
        "ideal_gas_entropy",
        "mass_fractions",
        "molar_mass",
        "mole_fractions",
    ],
    ns=53,
)
def test_species_kernel_alone(name, ns):
    if (name, ns) != ("cubic_delta", 53):  # for which some of these have no critical volume
        check_single(name, ns, 1000)


@pytest.mark.parametrize("root", ("vapour", "liquid"))
def test_compressibility_alone(root):
    check_single("cubic_root", 1, 3000, root=root)


# ---- other number types


@pytest.mark.parametrize("ns", (1, 10))
@pytest.mark.quick(ns=1)
def test_wide_build_agrees(ns):
    """The same bodies in quadruple precision, rounded once: within the bound of the oracle and of the double build."""
    s = states(ns, 300)
    q = expected(ns, 300)
    names = " ".join(n for n in f"{THERMAL} {TRANSPORT}".split())
    wide = mixture(ns).properties(names, **s, precision="wide")
    double = mixture(ns).properties(names, **s)

    compare(names, wide, q, f"wide NS={ns}")

    for name in names.split():
        bound = getattr(q, name).err
        bound = bound.reshape(-1, 300) if name == "D_ij" else bound
        assert (np.abs(wide[name] - double[name]) <= 2 * 2.2e-16 * bound)[..., ~q.undecided].all(), name


def test_scalar_build_agrees():
    s = states(10, 300)
    q = expected(10, 300)

    compare(
        "rho h c mu lam",
        mixture(10).properties("rho h c mu lam", **{k: s[k] for k in "TpY"}, precision="scalar"),
        q,
        "scalar",
    )
