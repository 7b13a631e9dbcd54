"""The functions of kernels/thread.h and of the CPU's packs that replace division, roots, exp and log. They are good to
a few units in the last place over the range of the point bodies, against numpy's long double, and give NaN where the
argument is NaN.

On the stand-in the first 20 bits of the special function unit come from single precision; on a GPU (-m gpu) from the
unit.
"""

import pathlib
import platform

import numpy as np
import pytest
from device_for_tests import be, bound  # noqa: F401
from mixtures_for_tests import species_set

import kernels

HEADER = """#pragma once
struct ProbeExponent { static constexpr double value = -0.14874; };
template <class M, class R>
POINT_FN void math_probe(const M &, const R math_a, const R math_b, R &math_quotient, R &math_reciprocal, R &math_root,
                         R &math_exp, R &math_expm1, R &math_log, R &math_cbrt, R &math_atanh, R &math_inverse_root,
                         R &math_inverse_fourth_root, R &math_power, R &math_inverse, R &math_inverse_two_thirds,
                         R &math_two_to, R &math_two_to_less_one, R &math_arctangent) {
    math_quotient = math_a/math_b;
    math_reciprocal = 1.0/math_a;
    math_root = sqrt(math_a);
    math_exp = exp(math_b);
    math_expm1 = expm1(math_b);
    math_log = log(math_a);
    math_cbrt = cbrt(math_a);
    math_atanh = atanh_over_root(at_most(math_a, 0.5));
    math_inverse = inverse(math_a);
    math_inverse_root = inverse_root(math_a);
    math_inverse_fourth_root = inverse_fourth_root(math_a);
    const R bounded = at_most(at_least(math_a, 0.0625), 4095.0);
    math_power = power(ProbeExponent(), bounded);
    math_inverse_two_thirds = inverse_two_thirds(bounded);
    math_two_to = two_to(math_b, R(0.5));
    math_two_to_less_one = two_to_less_one(math_b, R(0.5));
    math_arctangent = arctangent(at_most(math_a, 1e6));
}
"""
DECLARATION = """from kernels import point_kernel, quantity
WRITES = "math_quotient math_reciprocal math_root math_exp math_expm1 math_log math_cbrt math_atanh math_inverse_root "
WRITES += "math_inverse_fourth_root math_power math_inverse math_inverse_two_thirds math_two_to "
WRITES += "math_two_to_less_one math_arctangent"
for name in f"math_a math_b {WRITES}".split():
    quantity(name, "1", "test of the number type")
point_kernel("math_probe", header="math_probe.h", reads="math_a math_b", source="test", valid="everywhere",
             writes=WRITES)
"""
# largest error in units in the last place of the result: of a thread; of a pack, whose quotients and square roots are
# correctly rounded
ULPS = {
    "math_quotient": 1.0,
    "math_reciprocal": 1.5,
    "math_root": 1.0,
    "math_exp": 2,
    "math_expm1": 2.5,
    "math_log": 2,
    "math_cbrt": 4,
    "math_atanh": 1.5,
    "math_inverse_root": 3,
    "math_inverse_fourth_root": 3,
    "math_power": 4,
    "math_inverse": 1.5,
    "math_inverse_two_thirds": 3,
    "math_two_to": 2,
    "math_two_to_less_one": 2.5,
    "math_arctangent": 4,
}  # roots and their quotient; tables that the compiler for the GPU evaluates in double
SINGLE_ULPS = {"math_exp": 3, "math_two_to": 3, "math_two_to_less_one": 20, "math_power": 6}
PACK_ULPS = {
    "math_quotient": 0.501,
    "math_reciprocal": 0.501,
    "math_root": 0.501,
    "math_exp": 1.5,
    "math_expm1": 2.5,
    "math_log": 2,
    "math_cbrt": 1.5,
    "math_atanh": 1.5,
    "math_inverse_root": 1.5,
    "math_inverse_fourth_root": 2,
    "math_power": 2.5,
    "math_inverse": 1.5,
    "math_inverse_two_thirds": 4,
    "math_two_to": 1.5,
    "math_two_to_less_one": 2.5,
    "math_arctangent": 4,
}
WIDTHS = (
    {"native": "", "x86-64-v4": "avx512dq", "x86-64-v3": "avx2", "x86-64": "sse2"}
    if platform.machine() == "x86_64"
    else {"native": ""}
)


@pytest.fixture(scope="module")
def probe(tmp_path_factory):
    folder = tmp_path_factory.mktemp("math")
    (folder / "math_probe.h").write_text(HEADER)
    (folder / "math_probe.py").write_text(DECLARATION)

    with kernels.registry.temporary():
        kernels.load_declarations(folder / "math_probe.py")
        yield "math_probe"


@pytest.fixture(params=WIDTHS)
def packs(request, monkeypatch):
    """The CPU backend for vectors of one width."""
    flags = pathlib.Path("/proc/cpuinfo").read_text() if WIDTHS[request.param] else ""
    if WIDTHS[request.param] not in flags:
        pytest.skip(f"this processor has no {WIDTHS[request.param]}")
    monkeypatch.setenv("FRAME_ARCH", request.param)
    return kernels.get_backend("cpu")


def run(be, a, b):  # noqa: F811
    program = kernels.Mixture(species_set(2)).program(kernels=["math_probe"], backend=be)
    arrays = bound(be, program, a.size, {"math_a": a, "math_b": b})
    program.bind(arrays)(a.size)
    return {name: be.to_host(arrays[name])[0, : a.size] for name in program.writes}


def check_units(be, ulps, precision="double"):  # noqa: F811
    random, n = np.random.default_rng(11), 20_000
    a = np.exp(random.uniform(np.log(1e-25), np.log(1e25), n))
    a[::4] = random.uniform(0.5, 2, a[::4].size)
    b = random.uniform(-50, 50, n)
    b[::5] = random.uniform(-1e-3, 1e-3, b[::5].size)

    if precision == "single":
        a, b = a.astype(np.float32), b.astype(np.float32)
        got = kernels.Mixture(species_set(2)).kernel("math_probe")(backend=be, precision=precision, math_a=a, math_b=b)
    else:
        got = run(be, a, b)

    x, y = a.astype(np.longdouble), b.astype(np.longdouble)
    bounded, exponent = np.clip(x, 0.0625, 4095), y * np.longdouble(0.5) * np.log(np.longdouble(2))

    want = {
        "math_quotient": x / y,
        "math_reciprocal": 1 / x,
        "math_root": np.sqrt(x),
        "math_exp": np.exp(y),
        "math_expm1": np.expm1(y),
        "math_log": np.log(x),
        "math_cbrt": np.cbrt(x),
        "math_atanh": np.arctanh(np.sqrt(np.minimum(x, 0.5))) / np.sqrt(np.minimum(x, 0.5)),
        "math_inverse_root": 1 / np.sqrt(x),
        "math_inverse_fourth_root": 1 / np.sqrt(np.sqrt(x)),
        "math_inverse": 1 / x,
        "math_power": bounded ** np.longdouble(-0.14874),
        "math_inverse_two_thirds": 1 / np.cbrt(bounded) ** 2,
        "math_two_to": np.exp(exponent),
        "math_two_to_less_one": np.expm1(exponent),
        "math_arctangent": np.arctan(np.minimum(x, 1e6)),
    }
    for name, wanted in want.items():
        error = np.abs(got[name] - wanted) / np.spacing(np.abs(wanted.astype(a.dtype)))
        print(f"{name}: {error.max():.2f} ulp")
        assert error.max() <= ulps[name], (name, float(error.max()), a[np.argmax(error)], b[np.argmax(error)])


def check_beyond_the_range(be):  # noqa: F811
    a, b = np.array([np.nan, 0.0, -1.0, 2.0, 2.0]), np.array([1.0, 1.0, 1.0, np.nan, -1000.0])
    got = run(be, a, b)
    for name in ("math_root", "math_log", "math_cbrt", "math_inverse_root", "math_inverse_fourth_root"):
        assert np.isnan(got[name][[0, 2]]).all(), name

    assert got["math_root"][1] == 0 and np.isnan(got["math_log"][1])
    for name in ("math_power", "math_inverse_two_thirds"):
        assert np.isnan(got[name][0]), name
    for name in ("math_two_to", "math_two_to_less_one"):
        assert np.isnan(got[name][3]), name

    assert 0 <= got["math_two_to"][4] < 1e-150 and got["math_two_to_less_one"][4] == -1
    assert (
        np.isnan(got["math_quotient"][[0, 3]]).all() and np.isnan(got["math_exp"][3]) and np.isnan(got["math_expm1"][3])
    )
    assert 0 <= got["math_exp"][4] < 1e-300 and got["math_expm1"][4] == -1


def test_units_in_the_last_place(be, probe):  # noqa: F811
    check_units(be, ULPS)


def test_units_in_the_last_place_in_single_precision(be, probe):  # noqa: F811
    """As in double, except for the compiler's library and for products rounded before an exponential: 25 ln 2 by 16
    units of the result."""
    check_units(be, ULPS | SINGLE_ULPS, "single")


def test_units_in_the_last_place_of_packs(packs, probe):
    check_units(packs, PACK_ULPS)


def test_beyond_the_range(be, probe):  # noqa: F811
    """NaN stays NaN; the root of 0 is 0, of a negative number NaN; the logarithm of a number <= 0 is NaN."""
    check_beyond_the_range(be)


def test_beyond_the_range_of_packs(packs, probe):
    check_beyond_the_range(packs)
