"""A function of one point: the numbers of the whole program, from any thread, for the mixture that it was made for."""

# ruff: noqa: F811  the fixture of device_for_tests.py is an argument here
import platform
import threading

import cffi
import numpy as np
import pytest
import test_kinetics
from device_for_tests import be  # noqa: F401  be is a fixture
from hosts import OWN_KERNEL, ROOT
from kernel_cases import TABLE_ERROR
from mixtures_for_tests import kij_matrix, species_set
from ruamel.yaml import YAML

import kernels
from kernels import ArgumentError, Mixture, PointFunction, StateError
from kernels.engine.backend import cuda, nvrtc
from kernels.engine.backend.base import Shape, Source
from kernels.engine.backend.cpu import vector_bytes
from kernels.engine.backend.record import record, structure
from kernels.gas.point import device_source

ffi = cffi.FFI()
EPS = np.finfo(float).eps
N = 60
MIXTURES = {"ideal": ("mechanisms/h2_o2.yaml", "ideal"), "real": ("mixtures/ch4_o2_4.yaml", "pr")}
CASES = {
    "thermal": ("T p Y", "rho h c cp"),
    "transport": ("T p Y rho", "mu lam D"),
    "inversion": ("e rho Y", "T p"),
    "rates": ("T p Y rho", "omega"),
    "slopes": ("T p Y", "ln_phi v_Y h_Y"),
}


def mixture(kind):
    file, equation = MIXTURES[kind]
    return Mixture.from_yaml(ROOT / "examples" / file, equation=equation)


def called(function, given):
    """Results (outputs..., N) of a function for arrays by name, point by point."""
    rows = np.concatenate([np.atleast_2d(given[name]) for name in function.given]).T.copy()
    made = np.full((rows.shape[0], function.sizes[1]), np.nan)
    call = ffi.cast("void (*)(const double *, double *)", function.address)
    for point, results in zip(rows, made):
        call(ffi.from_buffer("double[]", point), ffi.from_buffer("double[]", results))

    return made.T


def states(mix):
    rng = np.random.default_rng(7)
    given = {"T": rng.uniform(300, 3000, N), "p": rng.uniform(1e5, 1e7, N), "Y": rng.dirichlet(np.ones(mix.ns), N).T}
    return given | mix.properties("rho e", **given)


@pytest.mark.parametrize(
    "kind, case", [("ideal", case) for case in CASES] + [("real", c) for c in CASES if c != "rates"]
)
@pytest.mark.quick(kind="ideal", case=["thermal", "rates"])
@pytest.mark.quick(kind="real", case=["thermal", "inversion"])
def test_the_numbers_of_a_program(kind, case):
    """The same bodies in the same order; exp and log are the C library's, which differ by 1 ulp, and the compiler fuses
    otherwise. Largest amplification: E/T of a rate, a mixture's p near its critical point; 2000 eps of the largest."""
    mix = mixture(kind)
    given, outputs = (names.split() for names in CASES[case])
    s = states(mix)
    got = called(PointFunction(mix, outputs, given), s)

    wanted = mix.properties(CASES[case][1], **{name: s[name] for name in given})
    wanted = np.concatenate([np.atleast_2d(wanted[name]) for name in outputs])
    bound = np.full(len(wanted), 2000 * EPS)
    if "D" in outputs:  # looks up a table in single precision, whose index is rounded otherwise
        bound[-mix.ns :] = TABLE_ERROR

    assert np.isfinite(got).all()
    assert np.all(np.abs(got - wanted).max(1) <= bound * np.abs(wanted).max(1))


def of_species(ns, kij="none", **options):
    """A mixture of the first ns of 53 species, with a k_ij of this kind."""
    data = species_set(53)
    some = data.subset(list(data.names)[:ns])
    return Mixture.from_species(some, kij=kij_matrix(ns, kij), **options)


def compared_with_blocks(mix, case):
    """The numbers of a function beside those of a program, by the bound of the test above."""
    given, outputs = (names.split() for names in CASES[case])
    s = states(mix)
    got = called(PointFunction(mix, outputs, given), s)
    wanted = mix.properties(CASES[case][1], **{name: s[name] for name in given})
    wanted = np.concatenate([np.atleast_2d(wanted[name]) for name in outputs])

    assert np.isfinite(got).all()
    assert np.all(np.abs(got - wanted).max(1) <= 2000 * EPS * np.abs(wanted).max(1))


@pytest.mark.parametrize("case", ["thermal", "inversion", "slopes"])
@pytest.mark.parametrize("kij", ["none", "dense", "low_rank", "sparse"])
@pytest.mark.parametrize("ns", [1, 2, 3, 7, 17, 53])
@pytest.mark.quick(ns=[3, 17], kij=["dense", "sparse"], case=["thermal", "slopes"])
def test_species_side_by_side(ns, kij, case):
    """Species fill vectors, for any number of species left over and for each way to sum over pairs with k_ij."""
    compared_with_blocks(of_species(ns, kij), case)


@pytest.mark.parametrize("case", ["thermal", "inversion", "slopes"])
@pytest.mark.parametrize("names", ["CH4 CO2", "CH4 O2 CO2 H2O N2 CO H2 C2H6 C3H8"])
@pytest.mark.parametrize(
    "options",
    [
        dict(equation="pr", alpha="published"),
        dict(equation="pr", alpha="published", mixing="pseudocritical"),
        dict(equation="pr", translation="peneloux"),
        dict(equation="srk"),
        dict(equation="rk"),
        dict(equation="vdw"),
        dict(equation="rkpr"),
    ],
    ids=lambda options: "-".join(options.values()),
)
@pytest.mark.quick(names="CH4 CO2", case="thermal")
def test_equations_side_by_side(options, names, case):
    """Each form of alpha, of the volume and of a_ij."""
    data = Mixture.from_names(names).species
    compared_with_blocks(Mixture.from_species(data.with_kij(kij_matrix(data.ns, "dense")), **options), case)


@pytest.mark.parametrize("case", ["thermal", "inversion", "slopes"])
@pytest.mark.parametrize("names", ["N2", "O2 CH4", "CH4 O2 CO2", "N2 O2 Ar CO2 CO H2 C2H6"])
@pytest.mark.parametrize("kij", ["none", "dense"])
def test_mapped_side_by_side(names, kij, case):
    """Equation `mapped`: sums of the map, and its own alpha."""
    data = Mixture.from_names(names, equation="mapped").species
    mix = Mixture.from_species(data, kij=kij_matrix(data.ns, kij), equation="mapped")
    compared_with_blocks(mix, case)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="vectors of x86")
@pytest.mark.parametrize(
    "kind, case", [("ideal", "thermal"), ("ideal", "rates"), ("real", "thermal"), ("real", "slopes")]
)
@pytest.mark.parametrize("target", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_vectors_of_every_width(target, kind, case, monkeypatch):
    """Species, colliders and rates fill vectors of 2, 4 or 8 doubles; what is left of 9 species, one. Roots of a cubic
    take packs of 4 with x86-64-v4, which is Intel's. The bound is that of the wider test."""
    if target == "x86-64-v4" and vector_bytes("native") < 64:
        pytest.skip("no AVX-512 here")

    mix = mixture(kind)
    given, outputs = (names.split() for names in CASES[case])
    s = states(mix)
    wanted = mix.properties(CASES[case][1], **{name: s[name] for name in given})
    wanted = np.concatenate([np.atleast_2d(wanted[name]) for name in outputs])

    monkeypatch.setenv("FRAME_ARCH", target)
    got = called(PointFunction(mix, outputs, given), s)
    assert np.isfinite(got).all()

    scale = np.abs(wanted).max() if case == "rates" else np.abs(wanted).max(1)
    assert np.all(np.abs(got - wanted).max(1) <= 2000 * EPS * scale)


@pytest.mark.parametrize("case, outputs", [("rates", ["omega"]), ("thermal", ["rho", "h", "c"])])
def test_a_mechanism_of_many_reactions(case, outputs):
    """121 reactions: a block call loops over tables, the function has them written out. 23 species: whole vectors, and
    seven species that are left."""
    mix = Mixture.from_yaml(ROOT / "examples/mechanisms/ch4_o2.yaml", equation="ideal")
    s, given = states(mix), CASES[case][0].split()
    got = called(PointFunction(mix, outputs, given), s)
    wanted = mix.properties(" ".join(outputs), **{name: s[name] for name in given})
    wanted = np.concatenate([np.atleast_2d(wanted[name]) for name in outputs])

    assert mix.nr == 121 and np.isfinite(got).all()
    scale = np.abs(wanted).max() if case == "rates" else np.abs(wanted).max(1)[:, None]
    assert np.all(np.abs(got - wanted) <= 2000 * EPS * scale)


@pytest.mark.parametrize(
    "options",
    [dict(equation="ideal"), dict(), dict(kinetics="fugacity", alpha="cantera")],
    ids=lambda o: "-".join(o) or "real",
)
@pytest.mark.quick(options={"equation": "ideal"})
def test_every_kind_of_reaction(options):
    """Their exponentials fill vectors together, in an order of its own (rates_alone.h). Against the oracle of all
    rates; from 250 K, with species that are absent."""
    mix, (T, p, Y) = test_kinetics.mixture(**options), test_kinetics.states()
    q = test_kinetics.oracle(mix, T, p, Y)
    outputs = ["rate_f", "rate_r", "rate_net", "omega"]
    got = called(PointFunction(mix, outputs, ["T", "p", "Y", "rho"]), dict(T=T, p=p, Y=Y, rho=q.rho))

    rows = np.cumsum([mix.rows(name) for name in outputs])[:-1]
    test_kinetics.compare(mix, dict(zip(outputs, np.split(got, rows))), q)


@pytest.mark.parametrize("outputs", ["Z_sum", "Z_sum X", "Z_sum Y_twice"])
def test_a_body_with_one_type_for_its_species(outputs, registry, tmp_path):
    """Two inputs, of which another kernel makes one, and two outputs, of which one is asked for: in a block call and in
    a function of one point."""
    (tmp_path / "own.h").write_text(
        "template <class M, class S, class O> POINT_FN void doubled(const M &, const S &Y, const S &X, O &a, O &b) {\n"
        "    FOR_SPECIES (s, M::NS) a.set(s, 2.0 * Y[s]), b.set(s, X[s]);\n}\n"
        "template <class M, class S, class R> POINT_FN void summed(const M &, const S &a, const S &b, R &sum) {\n"
        "    sum = R(0.0);\n    FOR_SPECIES (s, M::NS) sum += a[s] + b[s];\n}\n"
    )
    (tmp_path / "own.py").write_text(
        "from kernels import point_kernel, quantity\n"
        "quantity('Y_twice', '1', 'a', per='ns')\nquantity('X_again', '1', 'b', per='ns')\n"
        "quantity('Z_sum', '1', 'c')\nmore = dict(header='own.h', source='d', valid='all')\n"
        "point_kernel('doubled', reads='Y X', writes='Y_twice X_again', **more)\n"
        "point_kernel('summed', reads='Y_twice X_again', writes='Z_sum', **more)\n"
    )
    kernels.load_declarations(str(tmp_path / "own.py"))

    mix = mixture("ideal")
    Y = {"Y": states(mix)["Y"]}
    wanted = mix.properties(outputs, **Y)
    got = called(PointFunction(mix, outputs.split(), ["Y"]), Y)

    np.testing.assert_allclose(wanted["Z_sum"], 3.0, rtol=64 * EPS)
    for row, name in zip(np.split(got, np.cumsum([mix.rows(n) for n in outputs.split()])[:-1]), outputs.split()):
        np.testing.assert_allclose(row, np.atleast_2d(wanted[name]), rtol=64 * EPS)


def test_rates_with_nine_coefficients(tmp_path):
    """The same polynomials as NASA-9: species do not fill vectors then. Rates are those of seven coefficients."""
    yaml = YAML(typ="safe", pure=True)
    data = yaml.load((ROOT / "examples/mechanisms/h2_o2.yaml").read_text())
    for species in data["species"]:
        species["thermo"] |= {"model": "NASA9", "data": [[0.0, 0.0, *row] for row in species["thermo"]["data"]]}
    with open(tmp_path / "nine.yaml", "w") as out:
        yaml.dump(data, out)

    seven, nine = mixture("ideal"), Mixture.from_yaml(tmp_path / "nine.yaml", equation="ideal")
    s = states(seven)
    got, wanted = (called(PointFunction(mix, ["omega"], ["T", "p", "Y", "rho"]), s) for mix in (seven, nine))

    assert nine.constant("nasa9").of.sizes["NASA9_RANGES"] == 2
    assert np.all(np.abs(got - wanted).max(1) <= 2000 * EPS * np.abs(wanted).max())


@pytest.mark.parametrize("equation", ["pr", "srk", "rk", "vdw", "rkpr"])
@pytest.mark.quick(equation="pr")
def test_roots_from_thin_to_dense(equation):
    """A thin gas has a start of its own, from A = a p/(R T)^2: below 1/128 a step of Halley's follows, below 1/8 two.
    Pure nitrogen, from an ideal gas to a liquid, so that A comes to lie on both sides. The cubic of the function's own
    a and b, in long doubles, is at the root within a few eps of the sum of its terms: 4 for rounding of u and v - b, 16
    in a dense liquid, whose A and B are differences of large numbers. Blocks leave 11."""
    mix = Mixture.from_names("N2", equation=equation)
    T, p = (grid.ravel() for grid in np.meshgrid(np.geomspace(70, 3000, 60), np.geomspace(1e2, 1e9, 60)))
    given = {"T": T, "p": p, "Y": np.ones((1, T.size))}
    outputs = ["a_mix", "b_mix", "v_free", "R_s", "Z"] + ["delta_mix"] * (equation == "rkpr")
    got = dict(zip(outputs, called(PointFunction(mix, outputs, list(given)), given).astype(np.longdouble)))

    RT = got["R_s"] * T
    A, B, u = got["a_mix"] * p / RT**2, got["b_mix"] * p / RT, got["v_free"] * p / RT
    for edge in (1 / 128, 1 / 8):
        assert (A < edge).sum() > 100 and (A > edge).sum() > 100

    shapes = {"pr": (2, -1), "srk": (1, 0), "rk": (1, 0), "vdw": (0, 0)}
    if equation == "rkpr":
        other = (1 - got["delta_mix"]) / (1 + got["delta_mix"])
        sums, products = got["delta_mix"] + other, got["delta_mix"] * other
    else:
        sums, products = shapes[equation]

    terms = [u**3, ((2 + sums) * B - 1) * u**2, (A - (2 + sums) * B) * u, (1 + sums + products) * B**2 * (u - 1)]
    bound = np.where(A < 1 / 8, 4, 16) * EPS
    assert np.all(np.abs(sum(terms)) <= bound * sum(map(np.abs, terms)))

    # and it is the root of a block, also where there are three
    wanted = mix.properties("Z", **given)["Z"]
    assert np.all(np.abs(got["Z"] - wanted) <= 1e-6 * wanted)


@pytest.mark.parametrize("file", ["h2_o2", "ch4_o2"])
@pytest.mark.parametrize("energy", ["e", "h"])
def test_temperatures_by_few_steps(file, energy):
    """T of an ideal gas by three steps of Halley's method where the third is small, else by Newton's: below and above
    T_mid of each species, across it, and far outside the range of a start. The condition of T is below 2."""
    mix = Mixture.from_yaml(ROOT / f"examples/mechanisms/{file}.yaml", equation="ideal")
    rng = np.random.default_rng(5)
    n = 2000
    T = np.concatenate([rng.uniform(60, 5900, n), rng.uniform(950, 1050, n), rng.uniform(1350, 1450, n)])
    given = {"T": T, "p": np.full(T.size, 1e5), "Y": rng.dirichlet(np.full(mix.ns, 0.3), T.size).T}
    given |= mix.properties("rho e h", **given)

    names = {"e": ["e", "rho", "Y"], "h": ["h", "p", "Y"]}[energy]
    got = called(PointFunction(mix, ["T"], names), given)[0]
    wanted = mix.properties("T", **{name: given[name] for name in names})["T"]

    np.testing.assert_allclose(got, wanted, rtol=200 * EPS)


def test_cold_ranges_of_species():
    """Below the range of NASA's polynomials, on both sides of where each species' cold range ends."""
    mix = Mixture.from_yaml(ROOT / "examples/mechanisms/h2_o2.yaml", equation="ideal", cold_cp="fitted")
    s = states(mix) | {"T": np.linspace(60, 400, N)}
    assert mix.constant("T_cold").array.max() > 60

    got = called(PointFunction(mix, ["h", "cp"], ["T", "p", "Y"]), s)
    wanted = mix.properties("h cp", **{name: s[name] for name in "TpY"})
    for row, name in zip(got, ("h", "cp")):
        assert np.all(np.abs(row - wanted[name]) <= 2000 * EPS * np.abs(wanted[name]).max())


@pytest.mark.parametrize("kind", ["ideal", "real"])
def test_conserved_variables_without_the_last_species(kind):
    """T and p of rho, e and all partial densities but the last: what a host without the last species has."""
    mix = mixture(kind)
    s = states(mix)
    given = {"rho": s["rho"], "rhoY_but_last": (s["rho"] * s["Y"])[:-1], "e": s["e"]}
    function = PointFunction(mix, ["T", "p"], list(given))

    assert function.sizes == (mix.ns + 1, 2)
    for row, name in zip(called(function, given), "Tp"):
        np.testing.assert_allclose(row, s[name], rtol=2000 * EPS)  # as above


def test_names_in_any_order():
    mix = mixture("ideal")
    s = states(mix)
    straight = called(PointFunction(mix, ["rho", "X", "h"], ["T", "p", "Y"]), s)
    turned = called(PointFunction(mix, ["h", "rho", "X"], ["Y", "p", "T"]), s)

    np.testing.assert_array_equal(np.concatenate([turned[1:], turned[:1]]), straight)


def test_a_mixture_of_one_species():
    mix = Mixture.from_yaml(ROOT / "examples/mixtures/n2.yaml")
    given = {"T": np.linspace(90, 900, N), "p": np.full(N, 5e6), "Y": np.ones((1, N))}
    got = called(PointFunction(mix, ["rho", "h"], ["T", "p", "Y"]), given)
    wanted = mix.properties("rho h", **given)

    np.testing.assert_allclose(got[0], wanted["rho"], rtol=2000 * EPS)

    given["Y"][0, 3] = 0.9
    got = called(PointFunction(mix, ["rho", "h"], ["T", "p", "Y"]), given)
    assert np.isnan(got[:, 3]).all() and np.isfinite(np.delete(got, 3, 1)).all()


def test_out_of_range_is_not_a_number():
    mix = mixture("ideal")
    s = states(mix)
    s["T"][0], s["p"][1], s["Y"][0, 2] = -5.0, np.nan, 2.0
    got = called(PointFunction(mix, ["rho"], ["T", "p", "Y"]), s)

    assert np.isnan(got[0, :3]).all() and np.isfinite(got[0, 3:]).all()


def test_several_mixtures_at_once():
    """Each function has the constants of its mixture, also where the compiled text is the same."""
    file = ROOT / "examples/mechanisms/h2_o2.yaml"
    mix = Mixture.from_yaml(file, equation="ideal")
    turned = Mixture.from_species(mix.species.subset(list(mix.names)[::-1]), equation="ideal")
    s = states(mix)
    first, second = (PointFunction(m, ["rho"], ["T", "p", "Y"]) for m in (mix, turned))

    for m, function in ((mix, first), (turned, second), (mix, first)):
        wanted = m.properties("rho", **{name: s[name] for name in "TpY"})["rho"]
        np.testing.assert_allclose(called(function, s)[0], wanted, rtol=50 * EPS)

    assert not np.allclose(called(first, s), called(second, s))


def test_threads():
    """Eight threads in the same function: the bits of one thread. cffi gives Python's lock up in each call."""
    mix = mixture("real")
    s = states(mix)
    function = PointFunction(mix, ["rho", "h", "c"], ["T", "p", "Y"])
    wanted, wrong = called(function, s), []

    def work():
        for _ in range(20):
            if not np.array_equal(called(function, s), wanted):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not wrong


def test_a_kernel_that_updates_and_a_constant_that_changes(registry):
    """air.py of the examples reads a start in T and writes T; its constants are those of the moment."""
    kernels.load_declarations(str(OWN_KERNEL))
    mix = Mixture.from_yaml(ROOT / "examples/mixtures/n2.yaml")
    function = PointFunction(mix, ["T"], ["rho", "e", "T"])
    given = {"rho": np.full(N, 1.2), "e": np.linspace(2e5, 5e5, N), "T": np.full(N, 300.0)}
    wanted = (np.sqrt(690.0**2 + 2 * 0.09 * given["e"]) - 690.0) / 0.09

    np.testing.assert_allclose(called(function, given)[0], wanted, rtol=64 * EPS)  # as tests/frame/test_link.py
    assert (given["T"] == 300).all()


def test_a_constant_of_a_host(registry, tmp_path):
    (tmp_path / "own.h").write_text(
        "template <class M, class R>\n"
        "POINT_FN void scaled(const M &m, const R T, R &T_scaled) { T_scaled = m.SCALE * T; }\n"
    )
    (tmp_path / "own.py").write_text(
        "from kernels import constant, point_kernel, quantity\n"
        "constant('SCALE', '1', 'a factor')\nquantity('T_scaled', 'K', 'a multiple')\n"
        "point_kernel('scaled', header='own.h', reads='T', writes='T_scaled', constants='SCALE', source='d',\n"
        "             valid='all')\n"
    )
    kernels.load_declarations(str(tmp_path / "own.py"))
    mix = Mixture.from_yaml(ROOT / "examples/mixtures/n2.yaml")

    with pytest.raises(StateError, match="SCALE.*never set"):
        PointFunction(mix, ["T_scaled"], ["T"])

    kernels.set_constant("SCALE", 2.0)
    function = PointFunction(mix, ["T_scaled"], ["T"])
    T = {"T": np.linspace(1, 9, N)}

    np.testing.assert_array_equal(called(function, T)[0], 2 * T["T"])
    kernels.set_constant("SCALE", 3.0)
    np.testing.assert_array_equal(called(function, T)[0], 3 * T["T"])


@pytest.mark.parametrize(
    "given, outputs, words",
    [
        ("T q Y", "rho", "unknown quantity 'q'"),
        ("T Y", "rho", "missing p"),
        ("T p T Y", "rho", "T came twice in 'T, p, T, Y'"),
        ("T p Y", "rho rho", "rho came twice in 'rho, rho'"),
        ("T p Y", "T", "T came as input and as output"),
        ("T p Y", "h Y", "Y came as input and as output"),  # it stayed unwritten
        ("T p Y rho", "rho mu", "rho came as input and as output"),
        ("T p X Y", "rho", "both X and Y were given"),  # X did not count
        ("T p h Y", "rho", "'h' was given beside T, p, Y, from which it follows"),
        ("T p Y", "", "without outputs"),
    ],
)
def test_lists_that_make_no_function(given, outputs, words):
    with pytest.raises(ArgumentError, match=words):
        PointFunction(mixture("ideal"), outputs.split(), given.split())


def test_inputs_that_some_outputs_need_do_no_harm():
    """The same vector of a host serves several functions."""
    mix = mixture("ideal")
    given = {"T": np.full(N, 400.0), "p": np.full(N, 1e5), "Y": np.full((mix.ns, N), 1 / mix.ns), "u": np.ones(N)}
    W = called(PointFunction(mix, ["W"], [*given]), given)[0]

    np.testing.assert_array_equal(W, called(PointFunction(mix, ["W"], ["Y"]), given)[0])


# ---- for a device's code

RECORD = "given:address made:address"
LOOP = (
    structure("Points", RECORD)
    + """
ITEM_KERNEL(points, Points, 64, point_of)
"""
)
BODY = """
POINT_FN void point_of(const Points &a, const long item) {{
    {name}((const double *)a.given + item * {given}, (double *)a.made + item * {made});
}}
"""


def device_text(mix, outputs, given, name="frame_point"):
    """The function, and a kernel that calls it for each point; sizes of a point's numbers."""
    sizes = PointFunction(mix, outputs, given).sizes
    head, tail = LOOP.split("};\n")
    body = BODY.format(name=name, given=sizes[0], made=sizes[1])
    return device_source(mix, outputs, given, name) + f"\n{head}}};\n{body}{tail}", sizes


@pytest.mark.parametrize("kind, case", [("ideal", "thermal"), ("ideal", "rates"), ("real", "inversion")])
@pytest.mark.quick(kind="ideal", case="rates")
def test_a_device_calls_it(be, kind, case):
    """A kernel of the host's own, a thread a point: the numbers of the function on a CPU, up to its exp and log."""
    mix = mixture(kind)
    given, outputs = (names.split() for names in CASES[case])
    text, sizes = device_text(mix, outputs, given)
    s = states(mix)

    rows = np.concatenate([np.atleast_2d(s[name]) for name in given]).T.copy()
    held, made = be.from_host(rows.ravel()), be.from_host(np.full(N * sizes[1], np.nan))
    arguments = record(RECORD, given=be.address(held), made=be.address(made))
    be.compile(Source("points", text)).launch("points", Shape(64), arguments, N)

    got = be.to_host(made).reshape(N, sizes[1]).T
    wanted = called(PointFunction(mix, outputs, given), s)
    assert np.isfinite(got).all()
    assert np.all(np.abs(got - wanted).max(1) <= 2000 * EPS * np.abs(wanted).max(1))


@pytest.mark.parametrize("kind, case", [("ideal", "rates"), ("real", "inversion")])
def test_it_compiles_for_a_device(kind, case):
    """By NVRTC, with another name, and no more than a number is spilled."""
    given, outputs = (names.split() for names in CASES[case])
    text, _ = device_text(mixture(kind), outputs, given, "properties_at")
    flags = [*cuda.OPTIONS, f"--include-path={cuda.HERE}"]
    cubin, log = nvrtc.compile_cubin(text, "sm_90", flags, name="point.cu")

    assert cubin.startswith(b"\x7fELF") and nvrtc.resources(log)["points"]["spill_stores"] <= 8


def test_what_no_device_text_is_made_of():
    with pytest.raises(ArgumentError, match="name is '2nd', wanted a name in C"):
        device_source(mixture("ideal"), ["rho"], ["T", "p", "Y"], "2nd")
    with pytest.raises(ArgumentError, match="up to 2048 numbers; takahashi_cubics has more"):
        device_source(mixture("real"), ["D"], ["T", "p", "Y", "rho"])
