"""The CUDA backend: programs and their arrays, refusals, facts, time."""

# ruff: noqa: F811  the fixture `be` is an argument here

import os
import subprocess
import sys

import numpy as np
import pytest
from conditioning import assert_close
from device_for_tests import be, bound  # noqa: F401
from kernel_cases import mixture, project_kernels, states
from mixtures_for_tests import ROOT, species_set
from states import random_states

from kernels import Mixture, get_backend
from kernels.engine.errors import ArgumentError, BackendError


def test_bits_do_not_depend_on_the_place(be):
    """A point has the same bits in one launch of all, in stripes of 37 points, and in rows of another length."""
    mix, n = Mixture(species_set(10)), 333
    T, p, Y = random_states(10, n, seed=24)
    program = mix.program(outputs=("rho", "mu", "D"), given=("T", "p", "Y"), backend=be)

    def run(first, last):
        arrays = bound(be, program, last - first, {"T": T[first:last], "p": p[first:last], "Y": Y[:, first:last]})
        program.bind(arrays)(last - first)
        return [be.to_host(arrays[a])[:, : last - first] for a in ("rho", "mu", "D")]

    whole = run(0, n)
    parts = [np.concatenate(part, axis=1) for part in zip(*(run(i, min(i + 37, n)) for i in range(0, n, 37)))]
    for a, b in zip(whole, parts):
        assert np.array_equal(a, b) and np.isfinite(a).all()


def test_only_the_first_n_points_are_written(be):
    mix = Mixture(species_set(2))
    program = mix.program(outputs=("rho",), given=("T", "p", "Y"), backend=be)
    T, p, Y = random_states(2, 150, seed=25)
    arrays = bound(be, program, 150, {"T": T, "p": p, "Y": Y})
    run = program.bind(arrays)
    run(70)
    rho = be.to_host(arrays["rho"])[0]

    assert np.isfinite(rho[:70]).all() and np.isnan(rho[70:]).all()
    with pytest.raises(ArgumentError, match="the arrays hold"):
        run(be.pad(150) + 1)


def test_two_mixtures_keep_their_constants(be):
    """Programs of equal source have their own constants."""
    one, other = Mixture(species_set(10)), Mixture(species_set(10, "dense"))
    state = dict(T=200.0, p=1e7, Y=np.full(10, 0.1))
    third = Mixture(species_set(10).with_fit_range(200.0, 3000.0))
    first = {m: m.properties("rho D", **state, backend=be) for m in (one, other, third)}
    again = {m: m.properties("rho D", **state, backend=be) for m in (one, other, third)}

    for m in first:
        assert all(np.array_equal(first[m][q], again[m][q]) for q in ("rho", "D"))
        # 10 species, k_ij: some 50 roundings, far from the critical point
        assert_close(
            first[m]["rho"], m.properties("rho", **state, backend="cpu")["rho"], 50, scale=np.abs(first[m]["rho"])
        )

    assert not np.array_equal(first[one]["D"], first[third]["D"])


def test_device_arrays_stay_on_the_device(be):
    mix = Mixture(species_set(10))
    T, p, Y = random_states(10, 60, seed=26)
    host = mix.properties("rho D", T=T, p=p, Y=Y, backend=be)
    made = mix.properties("rho D", T=be.from_host(T), p=be.from_host(p), Y=be.from_host(Y))

    for name in host:
        assert isinstance(made[name], be.arrays.ndarray)
        assert np.array_equal(be.to_host(made[name]), host[name])


def test_refusals(be):
    with pytest.raises(BackendError, match="device 99 asked for"):
        get_backend("cuda", device=99)
    with pytest.raises(ArgumentError, match="'wide' is for the CPU"):
        Mixture(species_set(1)).properties("rho", T=300.0, p=1e5, Y=[1.0], backend=be, precision="wide")


def test_facts(be):
    facts = be.describe()
    assert facts["arch"].startswith("sm_") and facts["devices"] >= 1 and "MPS" in facts


def test_time_between_marks(be):
    first = be.mark()
    mix = Mixture(species_set(10))
    mix.properties("rho", T=np.full(1000, 300.0), p=np.full(1000, 1e6), Y=np.full((10, 1000), 0.1), backend=be)
    last = be.mark()
    assert 0 < be.elapsed(first, last) < 100


@pytest.mark.gpu
def test_shapes_broadcast_on_the_device():
    import cupy

    mix = Mixture(species_set(10))
    T, Y = np.linspace(100, 3000, 24).reshape(2, 3, 4), np.full((10, 1, 4), 0.1)
    host = mix.properties("rho X", T=T, p=1e7, Y=Y, backend="cuda")
    device = mix.properties("rho X", T=cupy.asarray(T), p=1e7, Y=cupy.asarray(Y))

    assert host["rho"].shape == (2, 3, 4) and host["X"].shape == (10, 2, 3, 4)
    for name in host:
        assert np.array_equal(cupy.asnumpy(device[name]), host[name])


@pytest.mark.gpu
def test_ranks_that_start_at_once_share_one_compilation(tmp_path):
    """Four processes, one empty cache, one device: one cubin, equal bits."""
    code = (
        "import numpy as np, sys; sys.path[:0] = %r; from kernels import Mixture; from mixtures_for_tests import "
        "species_set;"
        "r = Mixture(species_set(10)).properties('rho mu', T=np.linspace(90, 3000, 500), p=1e7, Y=np.full(10, 0.1), "
        "backend='cuda');"
        "print(r['rho'].tobytes().hex()[:2000], r['mu'].tobytes().hex()[:2000])"
    ) % [str(ROOT), str(ROOT / "tests")]

    env = {**os.environ, "FRAME_CACHE": str(tmp_path)}
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=env) for _ in range(4)]
    texts = {process.communicate()[0] for process in running}

    assert len(texts) == 1 and len(texts.pop()) > 1000
    assert all(process.returncode == 0 for process in running)
    assert len(list(tmp_path.glob("*.cubin"))) == 1


def inputs_of_a_host(n):
    """State, start values, velocities, conserved variables and changes of vectors, which no kernel makes."""
    have = dict(states(10, n))
    have |= mixture(10).properties("rho e", T=have["T"], p=have["p"], Y=have["Y"], backend="cpu")
    rho, u, v, w = (have[name] for name in ("rho", "u", "v", "w"))

    return have | dict(
        T_start=np.full(n, 400.0),
        V_p=np.full(n, 50.0),
        muT=np.full(n, 1e-4),
        dQ=np.ones((14, n)),
        dU=np.ones((14, n)),
        rhoY=rho * have["Y"],
        rhoY_but_last=(rho * have["Y"])[:-1],
        rhou=rho * u,
        rhov=rho * v,
        rhow=rho * w,
        rhoE=rho * (have["e"] + (u * u + v * v + w * w) / 2),
    )


# Small differences of large terms: pressure of a liquid at given density, and integrals over a volume map whose terms
# have both signs, here in states of another equation
DIFFERENCES = {("cubic_pressure", "p"), ("cubic_pressure", "Z"), ("mapped_departure", "cubic_L")}


@pytest.mark.gpu
def test_every_kernel_alone():
    """Each declared kernel on the results of the collections, against the CPU. Diffusion without Takahashi's table: the
    place in it is computed in single precision, so that both backends are within 2e-7 of the formula
    (test_against_oracle_and_cpu), but not of each other."""
    have = inputs_of_a_host(2000)
    for name, kernel in project_kernels().items():
        if kernel.header.name in ("rates.h", "reactor.h", "equilibria.h") or kernel.phases == "equilibrium":
            # in tests of their own
            continue
        mix = mixture(
            10,
            takahashi="off" if "diffusion" in name else "smooth",
            **{option: values[0] for option, values in kernel.when},
        )

        missing = [r for r in kernel.reads if r not in have]
        if missing:
            have.update(mix.properties(missing, **{k: have[k] for k in ("T", "p", "Y", "u", "v", "w")}, backend="cpu"))
        on_cpu, on_gpu = (mix.kernel(name)(backend=b, **{r: have[r] for r in kernel.reads}) for b in ("cpu", "cuda"))

        for w in kernel.writes:
            # With equal inputs the results differ by some 50 roundings and by functions good to 1 or 2 ulp. The worst
            # sums, h of NASA-7 and a_T, cancel to a hundredth. A wrong formula differs in the first digits.
            part = 1e-2 if (name, w) in DIFFERENCES else 1e-6
            size = np.abs(on_cpu[w]) + part * np.nanmax(np.abs(on_cpu[w]))
            assert_close(on_gpu[w], on_cpu[w], 5000, scale=size, what=f"{name} {w}")
