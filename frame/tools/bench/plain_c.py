"""A contraction as loops of C, as somebody writes them who has no layer: sequential, with OpenMP, with OpenACC.

The statements are those of the cheapest order of evaluation, so all sides do the same operations. Nelson et al.
2015, section VI, have four: sequential code; OpenMP, with the loop over the outermost index in parallel; OpenACC
`naive`, directives without a decomposition, sums in memory; OpenACC `tuned`, loops on the axes of threads and blocks
that a search found, sums in a scalar.

OpenACC is measured on a GPU or not at all: a compiler that makes code for one (gcc with its offload compiler for nvptx)
writes an executable, which refuses to run on a host. The executable may be made on another machine.
"""

from __future__ import annotations

import dataclasses
import math
import os
import pathlib
import shutil
import subprocess
import tempfile

import cffi
import numpy as np

from kernels.contractions import fold
from kernels.contractions.expression import Reference, Statement, Term
from kernels.contractions.organisations.axes import NONE, Axes, Decomposition
from kernels.contractions.plan import Program
from kernels.engine.backend import cache
from kernels.engine.backend.cpu import processor

from ...errors import BackendError
from . import fortran

SEQUENTIAL, OPENMP, NAIVE, TUNED = KINDS = ("sequential C", "OpenMP", "OpenACC naive", "OpenACC tuned")
# -Ofast without what it does to the whole process when it links.
FLAGS = "-O3 -march=native -fno-math-errno -fno-trapping-math -fno-signed-zeros -fassociative-math -std=gnu11".split()
FOR_DEVICES = (
    "-O3 -ffast-math -std=gnu11 -fopenacc -foffload=nvptx-none -foffload-options=nvptx-none=-misa=sm_80".split()
)
NOT_ON_A_DEVICE = 3  # exit status of an executable that found none

ffi = cffi.FFI()
ffi.cdef("void run(double *const *at);")


@dataclasses.dataclass(frozen=True)
class Loops:
    """A program with its extents, as C. how: the decomposition of OpenACC `tuned`."""

    program: Program
    entries: int  # of the batch
    how: Axes | None = None
    threads: int = 1  # of OpenMP

    @property
    def sizes(self) -> dict[str, int]:
        """The extent of each index, the batch's among them."""
        batch = self.program.batch
        return self.program.sizes | ({batch: self.entries} if batch else {})

    @property
    def temporaries(self) -> list[str]:
        """Names of the arrays that are no arguments."""
        return [a.name for a in self.program.arrays.values() if a.kind != "argument"]

    def numbers(self, name: str) -> int:
        """Numbers of an array, the batch counted."""
        array = self.program.arrays[name]
        return math.prod(self.entries if x is None else x for x in array.extents)

    @property
    def arguments(self) -> list[str]:
        """Names of the arrays that `run` takes, in its order."""
        return [a.name for a in self.program.arguments]

    # ---- text
    def text(self, kind: str) -> str:
        """The function run(at)."""
        lines = ["#include <math.h>", "void run(double *const *at) {"]
        for place, name in enumerate(self.arguments):
            lines.append(f"double *restrict const {name} = at[{place}];")

        if kind in (SEQUENTIAL, OPENMP):
            lines += self._on_a_host(kind)
        else:
            for place, name in enumerate(self.temporaries, len(self.arguments)):
                lines.append(f"double *restrict const {name} = at[{place}];")
            for o, part in zip(self._operations(), self._parts()):
                lines += self._naive(o) if kind == NAIVE else self._tuned(o, part)

        return "\n".join([*lines, "}", ""])

    def _operations(self) -> list[tuple[Statement, Term, bool]]:
        """(statement, term, whether it is added to what is there)"""
        found = []
        for s in self.program.statements:
            for place, term in enumerate(s.terms):
                found.append((s, term, s.add or place > 0))
        return found

    def _on_a_host(self, kind: str) -> list[str]:
        """All statements for an entry, entry by entry; without a batch, statement by statement."""
        batch, parallel = (
            self.program.batch,
            [f"#pragma omp parallel for num_threads({self.threads})"] * (kind == OPENMP),
        )
        once = [o for o in self._operations() if self.program.once(o[0])]
        each = [o for o in self._operations() if not self.program.once(o[0])]
        shared = [name for name in self.temporaries if self.program.arrays[name].kind == "shared" or not batch]
        own = [name for name in self.temporaries if name not in shared]

        lines = [f"static double {name}[{self.numbers(name)}];" for name in shared]
        for o in once if batch else [*once, *each]:
            lines += [*parallel, *self._nest(o, o[0].out.indices)]
        if not batch:
            return lines

        lines += [*parallel, f"for (long {batch} = 0; {batch} < {self.entries}; ++{batch}) {{"]
        lines += [f"double {name}[{self.program.arrays[name].size}];" for name in own]
        for o in each:
            lines += self._nest(o, [i for i in o[0].out.indices if i != batch], own)
        return [*lines, "}"]

    def _nest(self, o, indices, own=()) -> list[str]:
        """Loops over the output with the sum in a scalar."""
        s, term, add = o
        to = self._at(s.out, own)
        return [
            *(self._loop(i) for i in indices),
            "{",
            f"double sum = {to if add else '0'};",
            *(self._loop(i) for i in term.sums(s.out)),
            f"sum += {self._product(term, own)};",
            f"{to} = sum;",
            "}",
        ]

    def _naive(self, o) -> list[str]:
        """Directives on the outermost loop, sums in memory."""
        s, term, add = o
        loops, arrays = [self._loop(i) for i in s.out.indices], self._present(s, term)
        to, lines = self._at(s.out), []
        if not add:
            lines += [f"#pragma acc parallel loop {arrays}", *loops, f"{to} = 0;"]
        sums = [self._loop(i) for i in term.sums(s.out)]
        return [*lines, f"#pragma acc parallel loop {arrays}", *loops, *sums, f"{to} += {self._product(term)};"]

    def _tuned(self, o, part: Decomposition) -> list[str]:
        """Gangs for blocks, vectors for threads, as the decomposition has them; the sum in a scalar."""
        s, term, add = o
        batch = [i for i in s.out.indices if i == self.program.batch]
        loops = [i for i in s.out.indices if i not in batch and self.sizes[i] > 1]  # as the decomposition counts them
        x, y, block_x, block_y = part.axes
        blocks = [*batch, *(loops[place] for place in (block_y, block_x) if place != NONE)]
        threads = [loops[place] for place in (y, x) if place != NONE]
        inner = [i for i in s.out.indices if i not in blocks and i not in threads]

        # The loops on axes.
        length = max(32, min(1024, -(-math.prod(self.sizes[i] for i in threads) // 32) * 32))  # whole warps
        lines = [f"#pragma acc parallel vector_length({length}) {self._present(s, term)}", "{"]
        if blocks:
            lines += [f"#pragma acc loop gang collapse({len(blocks)})", *map(self._loop, blocks)]
        if threads:
            lines += [f"#pragma acc loop vector collapse({len(threads)})", *map(self._loop, threads)]

        # The work of a thread.
        to = self._at(s.out)
        lines += ["{", *(f"#pragma acc loop seq\n{self._loop(i)}" for i in inner), "{"]
        lines += [f"double sum = {to if add else '0'};"]
        lines += [f"#pragma acc loop seq\n{self._loop(i)}" for i in term.sums(s.out)]
        return [*lines, f"sum += {self._product(term)};", f"{to} = sum;", "}", "}", "}"]

    def _parts(self) -> list[Decomposition]:
        """The decomposition of each operation: the search's, or the usual one."""
        how = self.how or next(iter(Axes.candidates(self.program)), None)
        if not isinstance(how, Axes):
            raise BackendError(f"no decomposition serves '{self.program.expression}'.")
        return how.parts

    def _present(self, s: Statement, term: Term) -> str:
        names = dict.fromkeys([s.out.name, *(f.name for f in term.factors)])
        return f"present({', '.join(f'{name}[0:{self.numbers(name)}]' for name in names)})"

    def _loop(self, index: str) -> str:
        return f"for (long {index} = 0; {index} < {self.sizes[index]}; ++{index})"

    def _product(self, term: Term, own=()) -> str:
        words = [self._at(f, own) for f in term.factors]
        if term.number != 1 or not words:
            words.insert(0, repr(float(term.number)))
        return " * ".join(words)

    def _at(self, r: Reference, own=()) -> str:
        """A number of an array; a temporary of one entry has no batch index."""
        indices = [i for i in r.indices if r.name not in own or i != self.program.batch]
        steps = fold.dense(indices, self.sizes)
        return f"{r.name}[{' + '.join(f'{i} * {step}L' for i, step in steps.items()) or '0'}]"


# ---- on a host ------------------------------------------------------------------------------------------------------


def compiler() -> tuple[str, str]:
    """Path and version line of the C compiler (CC, else gcc). Raises BackendError if there is none."""
    name = os.environ.get("CC") or "gcc"
    path = shutil.which(name)
    if path is None:
        raise BackendError(f"plain C is compiled here, and '{name}' is not on PATH: install gcc, or set CC.")
    version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout.partition("\n")[0]
    return path, version


def on_a_host(loops: Loops, kind: str, arrays: dict[str, np.ndarray]):
    """work() of sequential C or of OpenMP, for contiguous arrays by name. Raises BackendError. Of OpenACC it is the
    loops without their directives, which tests check."""
    program, version = compiler()
    text, flags = loops.text(kind), [*FLAGS, *["-fopenmp"] * (kind == OPENMP)]

    def make(path):
        file = path.with_suffix(".c")
        file.write_text(text)
        fortran.run([program, *flags, "-shared", "-fPIC", file, "-o", path, "-lm"], f"{kind} of a contraction")
        file.unlink()

    key = cache.key(text, " ".join(flags), version, processor("native"))
    library = ffi.dlopen(str(cache.entry(f"plain-c-{key}", ".so", make)))
    held = [arrays[name] for name in loops.arguments]
    held += [np.full(loops.numbers(name), np.nan) for name in loops.temporaries]
    at = ffi.new("double *[]", [ffi.cast("double *", a.ctypes.data) for a in held])
    return lambda keep=held: library.run(at)


# ---- on a device ----------------------------------------------------------------------------------------------------

MAIN = """
#include <openacc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
static const long NUMBERS[] = {%(numbers)s};
enum { ARRAYS = %(arrays)d, ARGUMENTS = %(arguments)d };

/* program INPUT OUTPUT ROUNDS: all arguments from a file and back; seconds with copies, then seconds of each round. */
int main(int count, char **words) {
    int on_host = 1;
    if (acc_get_num_devices(acc_device_nvidia) < 1) return %(none)d;
    acc_init(acc_device_nvidia);
#pragma acc parallel copyout(on_host)
    on_host = acc_on_device(acc_device_host);
    if (on_host || count < 4) return %(none)d;

    double *at[ARRAYS];
    FILE *file = fopen(words[1], "rb");
    for (int k = 0; k < ARRAYS; ++k) {
        at[k] = malloc(NUMBERS[k] * sizeof(double));
        if (k < ARGUMENTS && fread(at[k], sizeof(double), NUMBERS[k], file) != (size_t)NUMBERS[k]) return 4;
    }
    fclose(file);

    for (int turn = 0; turn < 2; ++turn) { /* the first one makes the device ready */
        const double begin = now();
        for (int k = 0; k < ARGUMENTS; ++k) acc_copyin(at[k], NUMBERS[k] * sizeof(double));
        for (int k = ARGUMENTS; k < ARRAYS; ++k) acc_create(at[k], NUMBERS[k] * sizeof(double));
        run(at);
        for (int k = %(outputs)d; k < ARGUMENTS; ++k) acc_update_self(at[k], NUMBERS[k] * sizeof(double));
        if (turn == 0) { /* the outputs of one run */
            file = fopen(words[2], "wb");
            for (int k = %(outputs)d; k < ARGUMENTS; ++k) fwrite(at[k], sizeof(double), NUMBERS[k], file);
            fclose(file);
        } else printf("%%.9g\\n", now() - begin);
        for (int k = 0; turn == 0 && k < ARRAYS; ++k) acc_delete(at[k], NUMBERS[k] * sizeof(double));
    }
    for (int round = 0; round < atoi(words[3]); ++round) {
        const double begin = now();
        run(at);
        printf("%%.9g\\n", now() - begin);
    }
    return 0;
}
"""


def device_text(loops: Loops, kind: str) -> str:
    """The whole program of OpenACC."""
    names = [*loops.arguments, *loops.temporaries]
    outputs = len(loops.program.expression.inputs)
    return loops.text(kind) + MAIN % dict(
        numbers=", ".join(str(loops.numbers(name)) for name in names),
        arrays=len(names),
        arguments=len(loops.arguments),
        outputs=outputs,
        none=NOT_ON_A_DEVICE,
    )


def offload_compiler() -> str:
    """Path of a gcc that makes code for NVIDIA's devices. Raises BackendError."""
    program, _ = compiler()
    found = subprocess.run([program, "-print-prog-name=accel/nvptx-none/mkoffload"], capture_output=True, text=True)
    path = found.stdout.strip()
    if not os.path.isabs(path):
        raise BackendError("no compiler here makes OpenACC code for a GPU: wanted gcc with gcc-offload-nvptx.")
    return program


def executable(loops: Loops, kind: str, folder: pathlib.Path) -> pathlib.Path:
    """The program of OpenACC in a folder, compiled there unless it is there. Raises BackendError."""
    text = device_text(loops, kind)
    path = folder / f"openacc-{cache.key(text, ' '.join(FOR_DEVICES))[:16]}"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        file = path.with_suffix(".c")
        program = offload_compiler()
        file.write_text(text)
        fortran.run([program, *FOR_DEVICES, file, "-o", path, "-lm"], f"{kind} of a contraction")
    return path


@dataclasses.dataclass(frozen=True)
class DeviceRun:
    """Times that an executable measured."""

    outputs: list[np.ndarray]  # of one run
    with_copies: float  # seconds
    rounds: list[float]  # seconds of each


def on_a_device(loops: Loops, kind: str, arrays: dict[str, np.ndarray], folder: pathlib.Path, rounds: int) -> DeviceRun:
    """Runs an executable on the machine's GPU. Raises BackendError without a GPU or without an executable. Libraries of
    another machine's compiler may lie in the folder's `lib`."""
    path = executable(loops, kind, folder)
    with tempfile.TemporaryDirectory() as place:
        given, made = pathlib.Path(place) / "in", pathlib.Path(place) / "out"
        with open(given, "wb") as file:
            for name in loops.arguments:
                file.write(np.ascontiguousarray(arrays[name], float).tobytes())

        environment = {**os.environ, "LD_LIBRARY_PATH": f"{folder / 'lib'}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
        command = [str(path), str(given), str(made), str(rounds + 1)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
        if done.returncode == NOT_ON_A_DEVICE:
            raise BackendError(
                f"{kind}: no NVIDIA device, or its plugin of libgomp is missing; a host is not measured."
            )
        if done.returncode:
            raise BackendError(f"{kind}: status {done.returncode}: {done.stderr.strip()[:300]}")

        with_copies, _, *times = map(float, done.stdout.split())
        numbers, outputs = np.fromfile(made), []
        for name in loops.program.expression.outputs:
            part, numbers = np.split(numbers, [loops.numbers(name)])
            outputs.append(part.reshape(arrays[name].shape))
    return DeviceRun(outputs, with_copies, times)
