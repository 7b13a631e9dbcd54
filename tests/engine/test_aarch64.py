"""The CPU kernels on 64-bit ARM: compiled for NEON, 2 lanes, and run in an emulator. Skipped where either is missing.

About 5 seconds. Figures on such a processor would be another matter: an emulator tells nothing about speed.
"""

import platform
import shutil
import subprocess

import numpy as np
import pytest
from kernel_cases import TABLE_ERROR, N, compare
from mixtures_for_tests import species_set
from reference import evaluate
from states import random_states

from kernels import Mixture, registry, resolve
from kernels.engine.backend import cpu
from kernels.gas import planning
from kernels.gas.plan import LARGE
from kernels.gas.schedules import render
from kernels.gas.schedules.text import folders
from kernels.gas.species.kinetic_theory import friction_fit

COMPILER, EMULATOR = "aarch64-linux-gnu-g++", "qemu-aarch64"
pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or not (shutil.which(COMPILER) and shutil.which(EMULATOR)),
    reason=f"needs an x86_64 with {COMPILER} and {EMULATOR} (Debian: g++-aarch64-linux-gnu qemu-user)",
)
POINTS = 203  # a whole block of 128 and a part of one, an odd number; by two threads
DRIVER = """
#include <stdio.h>
static long *part(FILE *file, long count)       // the next `count` words of 8 bytes, aligned as the layer's own arrays
{
    long *words = (long *)aligned_alloc(64, (8*count + 63)/64*64 + 64);
    if (!words || fread(words, 8, count, file) != (size_t)count) exit(3);
    return words;
}
int main(int argc, char **argv)
{
    FILE *in = fopen(argv[1], "rb"), *out = fopen(argv[2], "wb");
    if (argc != 3 || !in || !out) return 2;
    const long *head = part(in, 4);             // words of constants, constants that stand apart, arrays, points
    long *constants = part(in, head[0]);
    for (long k = 0; k < head[1]; ++k) {
        const long *what = part(in, 2);         // place of its pointer, length
        constants[what[0]] = (long)part(in, what[1]);
    }
    const long *rows = part(in, head[2]);
    double *row[10000];
    long count = 0;
    for (long a = 0; a < Program::COUNT; ++a) {
        double *array = (double *)part(in, rows[a]*head[3]);
        for (long r = 0; r < rows[a]; ++r) row[count++] = array + r*head[3];
    }
    const Arguments<Program::COUNT> given = {(const Mixture *)constants, row};
    if (frame_run(&given, head[3], 2)) return 4;
    for (long r = 0; r < count; ++r) fwrite(row[r], 8, head[3], out);
    return fclose(out);
}
"""


def build(folder, compiler, plan, *flags):
    """The plan's generated source with the driver behind it, as a static program."""
    (folder / "kernel.cpp").write_text(render(plan).text + DRIVER)
    program = folder / compiler
    own = [flag for flag in cpu.FLAGS if flag not in ("-shared", "-fPIC")]
    include = [cpu.HERE, *folders(plan)]

    subprocess.run(
        [compiler, *own, *flags, *(f"-I{f}" for f in include), "-static", folder / "kernel.cpp", "-o", program],
        check=True,
    )

    return program


def words(*values):
    return np.array(values, np.int64).tobytes()


def results(command, folder, plan, given):
    """Names to arrays (rows, points): what the program writes; outputs start as NaN."""
    n = given["T"].size
    arrays = {a: np.full((plan.rows(a), n), np.nan) for a in plan.arguments}
    for name in plan.reads:
        arrays[name][...] = given[name]
    direct, apart, place = b"", [], 0

    for name, _ in plan.constants:
        values = plan.values[name]
        if values.size > LARGE:
            apart.append(words(place, values.size) + values.tobytes())
            values = np.zeros(1)
        direct, place = direct + values.tobytes(), place + values.size

    (folder / "in").write_bytes(
        words(place, len(apart), len(arrays), n)
        + direct
        + b"".join(apart)
        + words(*(a.shape[0] for a in arrays.values()))
        + b"".join(a.tobytes() for a in arrays.values())
    )

    subprocess.run([*command, folder / "in", folder / "out"], check=True, timeout=120)
    flat = np.fromfile(folder / "out")
    ends = np.cumsum([a.size for a in arrays.values()])
    assert flat.size == ends[-1]

    return {
        name: part.reshape(arrays[name].shape)
        for name, part in zip(arrays, np.split(flat, ends[:-1]))
        if name in plan.writes
    }


@pytest.mark.parametrize("collection, ns", [("thermal", 10), ("viscous", 4)])
@pytest.mark.quick(ns=4)
def test_neon(tmp_path, collection, ns):
    """Against the oracle, by its bound, as the native kernels are; and the lanes' code by itself: with contraction to
    FMA off, which SSE2 does not have, 2 lanes of NEON give what 2 lanes of SSE2 give, to the bit."""
    data = species_set(10, "dense")
    if ns == 4:
        data = data.subset(["CH4", "O2", "CO2", "H2O"])
    mix, c = Mixture(data), registry.collections[collection]
    plan = planning.make_plan(resolve(c.outputs, c.given, mix.options), c.outputs, mix)

    assert collection == "thermal" or any(length > LARGE for _, length in plan.constants)  # Takahashi's table
    T, p, Y = random_states(ns, POINTS)
    given = dict(T=T, p=p, Y=Y)
    given["rho"] = mix.properties("rho", **given)["rho"]

    def by(compiler, *flags, runner=()):
        return results([*runner, build(tmp_path, compiler, plan, *flags)], tmp_path, plan, given)

    got = by(COMPILER, runner=[EMULATOR])
    want = evaluate(data, T, p, Y, fit=friction_fit(data, *data.T_fit), table_error=TABLE_ERROR)

    compare(
        " ".join(got),
        {name: value if name in ("D", "Y", "X") else value[0] for name, value in got.items()},
        want,
        "NEON",
        N,
    )
    neon = by(COMPILER, "-ffp-contract=off", runner=[EMULATOR])
    sse2 = by("g++", "-march=x86-64", "-ffp-contract=off")
    for name in got:
        assert np.array_equal(neon[name], sse2[name], equal_nan=True), name
