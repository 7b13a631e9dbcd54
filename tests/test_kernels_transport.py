"""Transport kernels against the NumPy oracles: through Mixture.properties, and each one alone."""
import numpy as np
import pytest

from conditioning import assert_close
from kernel_cases import N, TABLE_ERROR, check_single, compare, expected, fit, mixture, mixture_inputs, oracle_species, states
from kernels import ArgumentError, Mixture, registry
from mixtures_for_tests import changed, species_set
from reference import LD, Tracked, diffusion, evaluate, single, value


@pytest.mark.parametrize("ns, n", ((1, 10000), (2, 10000), (10, 10000), (1, 0), (2, 0), (10, 0), (53, 0)))
def test_every_name(ns, n):
    names = "mu lam D D_ij" if ns < 53 else "mu lam D"
    got = mixture(ns).properties(names, **{k: states(ns, n)[k] for k in "TpY"})
    compare(names, got, expected(ns, n), f"NS={ns}")


def test_viscosity_and_conductivity_of_53_species():
    got = mixture(53).properties("mu lam", **{k: states(53, 10000)[k] for k in "TpY"})
    compare("mu lam", got, expected(53, 10000, pairs=False), "NS=53")


def test_diffusion_of_53_species():
    """1000 states: the oracle takes 1378 pairs of each in longdouble."""
    got = mixture(53).properties("D D_ij", **{k: states(53, 1000)[k] for k in "TpY"})
    compare("D D_ij", got, expected(53, 1000), "NS=53")


OPTIONS = (dict(chung="published"), dict(chung="cantera"), dict(takahashi="table"), dict(takahashi="off"), dict(diffusion="fuller"),
           dict(diffusion="fuller", takahashi="off"), dict(diffusion="fuller", takahashi="table", chung="cantera", alpha="cantera"),
           dict(root="liquid"), dict(root="vapour"))


@pytest.mark.parametrize("ns", (1, 2, 10))
@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(o.values()))
def test_options(ns, options):
    s = {k: states(ns, 2000)[k] for k in "TpY"}
    got = mixture(ns, **options).properties("mu lam D D_ij", **s)
    q = expected(ns, 2000, **options)
    compare("mu lam D D_ij", got, q, f"NS={ns} {options}")


@pytest.mark.parametrize("form", ("published", "cantera"))
def test_forms_differ(form):
    a, b = value(expected(10, 2000).mu), value(expected(10, 2000, chung=form).mu)
    assert (np.abs(a/b - 1) > 0.01).mean() > 0.1


def test_given_density():
    """With rho given the equation of state is not asked: half the density in, its viscosity out."""
    s = {k: states(10, 300)[k] for k in "TpY"}
    q = expected(10, 300)
    rho = 0.5*value(q.rho).astype(float)
    got = mixture(10).properties("mu lam", **s, rho=rho)
    options = dict(chung="polefree")
    inputs = {**mixture_inputs(q), "rho": rho}
    for name, kernel in (("mu", "chung_viscosity"), ("lam", "chung_conductivity")):
            # the inputs were rounded once, from sums that the kernel rounds in its own way: 8 roundings each
        exact = {k: Tracked(inputs[k], 8*np.abs(inputs[k])) for k in registry.kernels[kernel].reads}
        wanted = single.TRANSPORT[kernel](oracle_species(10), options, **exact)[name]
        # n = 8: inputs of the entry were rounded once more, and mu_r4 and omega_m may cancel
        assert_close(got[name], wanted, 8, what=f"{name} at given rho")


@pytest.mark.parametrize("name", sorted(single.TRANSPORT))
def test_kernel_alone(name):
    check_single(name, 10, 2000)


@pytest.mark.parametrize("ns", (1, 2, 53))
@pytest.mark.parametrize("name", ("chung_mixture", "binary_diffusion", "mixture_diffusion"))
def test_species_kernel_alone(name, ns):
    check_single(name, ns, 300)


@pytest.mark.parametrize("form", ("published", "cantera"))
@pytest.mark.parametrize("name", ("chung_viscosity", "chung_mixture"))
def test_chung_forms_alone(name, form):
    check_single(name, 10, 2000, chung=form)


def test_zero_density_is_the_dilute_limit():
    """(1 - exp(-E4 y))/y and its like at y = 0, and just above it."""
    q = expected(10, 300)
    inputs = mixture_inputs(q)
    for kernel, name in (("chung_viscosity", "mu"), ("chung_conductivity", "lam")):
        reads = {k: inputs[k] for k in registry.kernels[kernel].reads}
        limit = mixture(10).kernel(kernel)(**{**reads, "rho": 0*inputs["rho"]})[name]
        near = mixture(10).kernel(kernel)(**{**reads, "rho": 1e-9 + 0*inputs["rho"]})[name]
        assert np.isfinite(limit).all()
        # d ln/dy is below 100, y = rho Vc/(6 W) below 1e-10 here; rounding: the bound of mu and lam
        bound = getattr(q, name).err/np.abs(value(getattr(q, name)).astype(float))
        assert (np.abs(near/limit - 1) <= 1e-8 + 4*2.2e-16*bound).all()
        if name == "mu":
            np.testing.assert_allclose(limit, inputs["eta0"], rtol=1e-3)       # 36.344 and 26.69 agree to 5 digits


def test_dense_limit_is_not_hidden():
    """y >= 1 is outside the model: whatever comes out there, it must not reach a neighbour."""
    inputs = mixture_inputs(expected(10, 300))
    reads = {k: inputs[k].copy() for k in registry.kernels["chung_viscosity"].reads}
    clean = mixture(10).kernel("chung_viscosity")(**reads)["mu"]
    reads["rho"][7] = 1e6
    got = mixture(10).kernel("chung_viscosity")(**reads)["mu"]
    assert (np.delete(got, 7) == np.delete(clean, 7)).all()


def test_takahashi_is_continuous_by_default_and_steps_in_table():
    """D p across Pr = 0.1 of a pure species: no jump in mode smooth; 1 to about 1.01 in mode table."""
    data = species_set(1)
    p = 0.1*data.pc[0]*(1 + np.array([-1e-12, 1e-12]))
    T, Y = np.full(2, 20*data.Tc[0]), np.ones((1, 2))
    smooth, table = (mixture(1, takahashi=mode).properties("D", T=T, p=p, Y=Y)["D"][0]*p for mode in ("smooth", "table"))
    assert abs(smooth[1]/smooth[0] - 1) < 1e-10
    assert 0.005 < table[1]/table[0] - 1 < 0.0101
    off = mixture(1, takahashi="off").properties("D", T=T, p=p, Y=Y)["D"][0]*p
    assert abs(off[0]/table[0] - 1) < 1e-14            # exactly 1 below Pr = 0.1: same products, one factor


def test_takahashi_table_error():
    """The factor of mode smooth against the formula, N2: within the error that its table states."""
    data = species_set(1)
    Tr = np.exp(np.linspace(np.log(0.5), np.log(60), 3001))
    knots = np.array([row[0] for row in diffusion.TABLE], float)
    for Pr in (0.02, *knots, *(knots[1:] + knots[:-1])/2, 7.0):
        given = dict(T=Tr*data.Tc[0], p=Pr*data.pc[0], Y=np.ones((1, Tr.size)))
        got = mixture(1).properties("D", **given)["D"][0]/mixture(1, takahashi="off").properties("D", **given)["D"][0]
        exact = diffusion.takahashi(Tracked(Tr, 4*Tr), Tracked(np.full(Tr.size, Pr)), "smooth", TABLE_ERROR)
        assert_close(got, exact, N, what=f"Pr = {Pr}")
        plain = value(diffusion.takahashi(Tr.astype(LD), np.full(Tr.size, Pr, LD), "smooth")).astype(float)
        assert np.abs(got - plain).max() < TABLE_ERROR


def test_pure_species_has_a_limit():
    """D_k at Y_k = 1 exactly and at 1 - 1e-13: finite, and the same to 1e-9 (x enters Tr and Pr of the pairs)."""
    ns = 10
    for k in range(ns):
        Y = np.zeros((ns, 2))
        Y[k] = 1
        Y[:, 1] = 1e-14
        Y[k, 1] = 1 - 9e-14
        D = mixture(ns, takahashi="off").properties("D", T=np.full(2, 900.0), p=np.full(2, 1e6), Y=Y)["D"]
        assert np.isfinite(D).all()
        others = np.arange(ns) != k
        assert (np.abs(D[others, 0]/D[others, 1] - 1) < 1e-9).all()
        # the pure species itself diffuses against traces: which traces decides, 1/1e20 of each here, 1/1e14 by mass there
        assert 0.2 < D[k, 0]/D[k, 1] < 5


def test_unknown_critical_volume_falls_back():
    data = changed(species_set(10), Vc=np.where(np.arange(10) % 2 == 0, np.nan, species_set(10).Vc))
    s = {k: states(10, 200)[k] for k in "TpY"}
    got = Mixture.from_species(data).properties("mu lam", **s)
    compare("mu lam", got, evaluate(data, **s, fit=fit(10), table_error=TABLE_ERROR), "Vc unknown")


def test_association_and_dipole_matter_where_given():
    data = changed(species_set(10), kappa_assoc=np.linspace(0, 0.1, 10), dipole=np.linspace(0, 2, 10))
    s = {k: states(10, 500)[k] for k in "TpY"}
    s["T"] = np.maximum(s["T"], 350)                    # in a cold liquid the published form overflows with this much
    for form in ("polefree", "published"):
        got = Mixture.from_species(data, chung=form).properties("mu lam", **s)
        compare("mu lam", got, evaluate(data, **s, fit=fit(10), table_error=TABLE_ERROR, chung=form), f"association, {form}")


def test_missing_diffusion_data_is_told():
    data = changed(species_set(10), fuller_volume=np.full(10, np.nan))
    with pytest.raises(ArgumentError) as caught:
        Mixture.from_species(data, diffusion="fuller").properties("D", **{k: states(10, 5)[k] for k in "TpY"})
    assert "Fuller" in str(caught.value) and species_set(10).names[0] in str(caught.value)
    got = Mixture.from_species(data, diffusion="fuller").properties("rho mu", **{k: states(10, 5)[k] for k in "TpY"})
    assert np.isfinite(got["mu"]).all()


def test_tolerance_is_what_the_module_says():
    """A relative error of 1e-11 in mu of N2 gas must be seen by these tests."""
    q = expected(1, 0)
    wrong = value(q.mu).astype(float)*(1 + 1e-11)
    with pytest.raises(AssertionError):
        assert_close(wrong, q.mu, N)
