"""Runs tests with shim, marshal, kernels and hosts compiled for the sanitizers of addresses and undefined behaviour.

  make sanitize          or .venv/bin/python tests/sanitize.py [arguments of pytest; tests among them replace TESTS]

Wrappers of gcc, g++ and gfortran come first on PATH; what they make goes to build/sanitize, with a cache of its own.
Each process writes what it finds to a file, and one finding fails the command, whatever the tests say. Before the tests
come errors made on purpose: the command fails too if one of them is not found. A -k of yours replaces LEFT_OUT.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "sanitize"
FLAGS = "-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined,float-cast-overflow"
MORE = {
    "gcc": "",
    "cc": "",
    "gfortran": "-fno-sanitize=null",  # its own code for an absent optional array takes addresses within it
    "g++": "-fno-sanitize-address-use-after-scope",  # kernels would take four times as long to compile
}
RUNTIMES = ("libasan.so", "libubsan.so")  # come first in a process whose program has none, such as Python
# Both runtimes export the function that names the file of reports, so each call of it reaches the first one alone.
REPORTS = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
__attribute__((constructor)) static void name_file(void) {
    void *runtime = dlopen("libubsan.so.1", RTLD_NOW | RTLD_NOLOAD);
    void (*set)(const char *) = runtime ? (void (*)(const char *))dlsym(runtime, "__sanitizer_set_report_path") : 0;
    if (set && getenv("UNDEFINED_FILE")) set(getenv("UNDEFINED_FILE"));
}
"""
TESTS = """
frame/test_stripe.py
frame/test_link.py::test_block_calls[0-pageable]
frame/test_link.py::test_stripe_calls[0-pageable-0]
frame/test_slabs.py::test_slabs_on_a_cpu
frame/test_block_calls.py
frame/test_chains.py
frame/test_check_mode.py
frame/test_devices.py
frame/test_launches.py
frame/test_other_blocks.py
frame/test_settings.py
frame/test_species_data.py
frame/test_views.py
frame/test_threads.py
frame/test_interop.py
frame/test_communicators.py
gas/test_kernel_language.py
gas/test_own_kernels.py
frame/test_device_host.py
frame/test_geometry.py::test_every_geometry
frame/test_geometry.py::test_random_geometries[gfortran]
frame/test_entry_points.py::test_own_kernel_serial
frame/test_entry_points.py::test_species_arrays_of_the_host
frame/test_entry_points.py::test_bits_do_not_depend_on_chunk_and_threads
gas/test_precision.py::test_every_collection
gas/test_kernels_thermal.py::test_every_name[53-random]
gas/test_kernels_transport.py::test_every_name[10-2000]
contractions/test_species_loops.py::test_on_the_cpu
contractions/test_species_loops.py::test_on_two_threads
contractions/test_tensor_values.py::test_random_expressions
contractions/test_tensor_values.py::test_nekbone_in_whole_numbers
contractions/test_tensor_values.py::test_locals_shared_by_the_batch_and_symmetric_operands
contractions/test_tensor_parts.py::test_bits_do_not_depend_on_batch_chunk_launch_or_threads
contractions/test_tensor_values.py::test_point_layouts_and_functions_of_a_host
""".split()
LEFT_OUT = {  # part of a test's name: why
    "test_tags_without_an_end": "the host's own error; the shim reads up to 63 characters of a name without an end",
    "come_and_go_leave_no_memory": "what is freed is kept for a while, to find late uses of it",
    "test_a_forked_child_calls_on": "a fork while a thread allocates: this allocator stays locked in the child",
    "flang": "has no sanitizers",
    "test_every_geometry and not O1]": "other options of the host change nothing in the layer",
    "test_on_the_cpu and not 3-": "another number in the same program",
    "test_nekbone and not 7-5": "another number in the same program",
    "test_every_collection and cuda and not thermal]": "one is enough: the bodies are those of the CPU",
    # NVRTC does not find its own libraries in such a process.
    **dict.fromkeys(
        (
            "for_a_gpu",
            "cuda_variant_compiles",
            "cuda_organisation_compiles",
            "test_swapped_arguments_do_not_compile",
            "test_a_helper_and_a_header_of_its_own",
            "test_what_does_not_compile_and",
            "test_the_pages_example",
        ),
        "compiles for CUDA",
    ),
}

KERNEL = '''
import pathlib, sys
from kernels import Mixture, NoSpecies, load_declarations
folder = pathlib.Path(sys.argv[1])
(folder / "own.h").write_text("""#pragma once
template <class M, class R, class S> POINT_FN void planted(const M &m, const S &Y, R &mu) {{ {body} }}
""")
(folder / "own.py").write_text("""from kernels import constant, point_kernel
constant("THREE", "1", "known at run time alone", default=3.0)
point_kernel("planted", header="own.h", reads="Y", writes="mu", constants="THREE", source="none", valid="nowhere")
""")
load_declarations(folder / "own.py")
Mixture(NoSpecies(2)).kernel("planted")(backend="cpu", Y=[[0.5] * 3] * 2)
'''
BLOCK = """
import ctypes, numpy, sys
frame, field = ctypes.CDLL(sys.argv[2]), numpy.ones(1000)
at = ctypes.c_void_p(field.ctypes.data)
assert frame.frame_initialize_(-1, 64, 1, 1, 0) == 0
assert frame.frame_castles_populateinputstripe_(b"T", at, 10, 10, 10, *(1, 10) * 3, 1, 1, 1, 64) == 0
frame.frame_castles_populate{}stripe_(b"T", at, 100, 10, 10, 100, 100, *(1, 10) * 2, 1, 1, 1, 64)
"""
PLANTED = {  # what is wrong: (program, what has to be found)
    "a kernel reads beyond the last species": (
        KERNEL.format(body="mu = Y[int(m.THREE)];"),
        r"(heap|stack)-buffer-overflow(.|\n)*READ of size(.|\n)*planted<",
    ),
    "a kernel writes beyond an array of its own": (
        KERNEL.format(body="R few[3], *at = few; at[int(m.THREE)] = Y[0]; mu = few[2];"),
        r"stack-buffer-overflow(.|\n)*WRITE of size(.|\n)*planted<",
    ),
    "a kernel makes a whole number of one that is too large": (
        KERNEL.format(body="mu = R(double(int(1e20 * m.THREE)));"),
        "3e[+]20 is outside the range of representable values of type 'int'",
    ),
    "the host's array is shorter than it says, and read": (
        BLOCK.format("input"),
        r"heap-buffer-overflow(.|\n)*READ of size(.|\n)*marshal",
    ),
    "the host's array is shorter than it says, and written": (
        BLOCK.format("output"),
        r"heap-buffer-overflow(.|\n)*WRITE of size(.|\n)*marshal",
    ),
}


def prepare() -> dict[str, str]:
    """Make the wrappers; returns the environment in which everything is compiled and run with the sanitizers."""
    shutil.rmtree(FOLDER / "bin", ignore_errors=True)
    (FOLDER / "bin").mkdir(parents=True)

    for name, more in MORE.items():
        real, wrapper = shutil.which(name), FOLDER / "bin" / name
        if not real:
            sys.exit(f"{name} is not on PATH; install it.")
        wrapper.write_text(f'#!/bin/sh\nunset LD_PRELOAD\nexec {real} "$@" {FLAGS} {more}\n')
        wrapper.chmod(0o755)

    asked = lambda name: subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True).stdout
    runtimes = [asked(name).strip() for name in RUNTIMES]
    if not all(map(os.path.isabs, runtimes)):
        sys.exit(f"gcc has no sanitizers here ({', '.join(RUNTIMES)}); install libasan and libubsan of its version.")
    file, reports = FOLDER / "reports.c", FOLDER / "reports.so"
    file.write_text(REPORTS)
    subprocess.run(["gcc", "-shared", "-fPIC", file, "-o", reports, "-ldl"], check=True)
    (FOLDER / "cache").mkdir(mode=0o700, exist_ok=True)

    return {
        **os.environ,
        "PATH": f"{FOLDER / 'bin'}:{os.environ['PATH']}",
        "LD_PRELOAD": " ".join([*runtimes, str(reports)]),
        "PYTHONMALLOC": "malloc",  # Python's own has no room between what it gives
        "FRAME_TEST_BUILD": str(FOLDER),
        "FRAME_CACHE": str(FOLDER / "cache"),
        "FRAME_BACKEND": "cpu",
        "FRAME_ON_ERROR": "return",
    }


def run(command: list, environment: dict[str, str], folder: pathlib.Path, **how):
    """A command whose processes write what they find to `folder`. Returns the finished command and the reports."""
    folder.mkdir()
    options = {
        # Python keeps what it holds to its end. A launcher that uses what it has freed goes on; ours ends at a finding.
        "ASAN_OPTIONS": f"detect_leaks=0:halt_on_error=0:log_path={folder}/address",
        "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={folder}/address",  # the function above: of the other runtime
        "UNDEFINED_FILE": f"{folder}/undefined",
    }

    done = subprocess.run(command, env={**environment, **options}, cwd=ROOT, text=True, **how)
    texts = [path.read_text(errors="replace") for path in sorted(folder.iterdir())]
    found = [text for text in texts if re.search(r"ERROR: |runtime error: ", text)]  # others only warn

    # A launcher has the runtimes too. Open MPI's sometimes uses what it has freed, far from any line of ours.
    ours = [text for text in found if str(ROOT) in text]
    if len(ours) < len(found):
        print(f"{len(found) - len(ours)} processes found something in programs of others.")
    return done, ours


def main(arguments: list[str]) -> int:
    environment = prepare()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        made, _ = run([sys.executable, "-m", "frame", "build", "--folder", FOLDER], environment, folder / "build")
        if made.returncode:
            return 1

        for number, (wrong, (program, pattern)) in enumerate(PLANTED.items()):
            own = folder / f"planted{number}"
            own.mkdir()
            command = [sys.executable, "-c", program, own, FOLDER / "libframe.so"]
            done, found = run(command, environment, own / "found", capture_output=True)

            if not any(re.search(pattern, text) for text in found):
                print(f"NOT FOUND, though made on purpose: {wrong}.", *found, done.stdout, done.stderr, sep="\n")
                return 1

            print(f"found, as it should: {wrong}", flush=True)

        del environment["FRAME_BACKEND"], environment["FRAME_ON_ERROR"]
        chosen = [] if any(".py" in word for word in arguments) else [f"tests/{name}" for name in TESTS]
        without = " or ".join(f"({words})" for words in LEFT_OUT)

        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-m",
            "not gpu",
            "-p",
            "no:cacheprovider",
            "-k",
            f"not ({without})",
        ]

        done, found = run([*command, *chosen, *arguments], environment, folder / "found")
        print(*found, f"{len(found)} processes found something.", sep="\n")
        return int(bool(found or done.returncode))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
