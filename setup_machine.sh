#!/bin/sh
# Sets up what `make demo` (level demo) or `make test` (level test) needs: compilers, MPI, a Python that can be
# embedded, and .venv with the project in it. `make lint` (level lint) and `make docs` (level docs) need no compiler
# and no MPI.
# Safe to run again: when nothing changed it only checks.
#   sh setup_machine.sh [demo|test|lint|docs]        PYTHON=/path/to/python3 chooses the interpreter
# FRAME_BACKEND=cuda, or a working nvidia-smi, adds CuPy for the driver's CUDA version.
set -eu
level=${1:-demo}
cd "$(dirname "$0")"
say() { echo "setup: $*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

# A Python fit for embedding: version, venv with pip, headers, and a libpython that can be loaded.
fit_python='
import ctypes, os, sys, sysconfig
import ensurepip, venv
assert sys.version_info >= (3, 10), "older than 3.10"
include = sysconfig.get_paths()["include"]
assert os.path.exists(os.path.join(include, "Python.h")), "no Python.h in " + include
lib = sysconfig.get_config_var("INSTSONAME")
path = os.path.join(sysconfig.get_config_var("LIBDIR"), lib)
assert ".so" in lib, "built without a shared libpython"
ctypes.CDLL(path if os.path.exists(path) else lib)
print(os.path.realpath(sys.executable))'
find_python() {
    python=
    for p in ${PYTHON:-python3 /usr/bin/python3 python3.13 python3.12 python3.11 python3.10}; do
        if python=$("$p" -c "$fit_python" 2>/dev/null); then return 0; fi
    done
    return 1
}

# 1. Programs and libraries of the system. Programs that only some tests need may be missing: these tests are then
# skipped.
needed() {
    find_python || echo "python3 python3-venv python3-dev"
    case $level in lint | docs) return 0 ;; esac
    if have g++ && have gcc; then :; else echo "g++"; fi
    have gfortran || echo "gfortran"
    have mpirun || echo "openmpi-bin"
    have mpifort || echo "libopenmpi-dev"
}
for_some_tests() {
    [ "$level" = test ] || return 0
    have mpifort.mpich || echo "mpich libmpich-dev"         # one libframe has to serve both MPIs
    have flang-22 || have flang-new-22 || have flang || echo "flang-22"    # and hosts of another Fortran compiler
    [ "$(uname -m)" = x86_64 ] || return 0
    if have aarch64-linux-gnu-g++ && have qemu-aarch64; then :; else echo "g++-aarch64-linux-gnu qemu-user"; fi
}
missing() { { needed; for_some_tests; } | tr '\n' ' '; }

as_root=none
if [ "$(id -u)" = 0 ]; then as_root=; elif have sudo && sudo -n true 2>/dev/null; then as_root="sudo -n"; fi
install() {
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $1 >/dev/null
}
if [ -n "$(missing)" ] && have apt-get && [ "$as_root" != none ]; then
    say "installing $(missing)"
    $as_root apt-get update -qq || :         # programs that are still missing are reported below
    install "$(needed | tr '\n' ' ')" || :
    for_some_tests | while read -r packages; do install "$packages" </dev/null || :; done
fi
for_some_tests | while read -r packages; do
    say "the tests that need it will be skipped; to run them: apt-get install $packages"
done
missing=$(needed | tr '\n' ' ')
if [ -n "$missing" ]; then
    say "missing here, as Debian's package names: $missing"
    say "install them, for example:  sudo apt-get install $missing"
    case "$missing" in *python3*) say "(a python3 >= 3.10 with venv, headers and a shared libpython; PYTHON=... names one)" ;; esac
    exit 1
fi

# 2. The virtual environment. It is made again if its interpreter is gone or unfit.
if ! .venv/bin/python -c "$fit_python" >/dev/null 2>&1; then
    find_python || { say "no fit python3 (set PYTHON=...)"; exit 1; }
    say "virtual environment .venv from $python"
    rm -rf .venv
    "$python" -m venv .venv
fi

# 3. The project in it. The stamp records the extras and the pyproject.toml of this installation; level test includes
# level demo.
extras=mpi,plot,critical stamp=.venv/ready
[ "$level" != test ] || extras=mpi,plot,critical,test
[ "$level" != lint ] || extras=lint stamp=.venv/ready_lint
[ "$level" != docs ] || extras=docs stamp=.venv/ready_docs
gpu=
if [ "$level" = lint ] || [ "$level" = docs ]; then :
elif [ "${FRAME_BACKEND:-}" = cuda ] || { have nvidia-smi && nvidia-smi -L >/dev/null 2>&1; }; then
    cuda=$(nvidia-smi 2>/dev/null | sed -n 's/.*CUDA Version: *\([0-9]*\).*/\1/p' | head -n 1)
    if [ "${cuda:-13}" -ge 13 ]; then gpu=,cuda; else gpu=,cuda12; fi
fi
sum=$(cksum < pyproject.toml | tr ' ' -)
if ! grep -qsx -e "$extras$gpu $sum" -e "mpi,plot,critical,test$gpu $sum" $stamp; then
    say "installing the project and its dependencies [$extras$gpu] into .venv"
    pip=".venv/bin/python -m pip install -q --disable-pip-version-check --root-user-action=ignore"
    $pip -e ".[$extras$gpu]"
    if [ "$level" = test ]; then
        $pip --only-binary feos,si-units -e ".[peers]" || say "no wheel of feos for this machine: its test will be skipped"
    fi
    echo "$extras$gpu $sum" > $stamp
fi
