#!/bin/sh
# The mini solver on a machine with an NVIDIA GPU: its GPU tests, then three cases for 10 steps on cuda and on the CPU,
# equal to 1e-12, then point steps per second at larger sizes. Logs and a table go to $OUT (default build/gpu_solver).
#   sh tests/gpu_solver.sh          after `make setup`, or with .carry/wheels where there is no network (h5py is not needed)
# SIZES="64 128"  TESTS=1     about four minutes, most of it compiling
set -u
cd "$(dirname "$0")/.."
. tests/gpu_setup.sh

timeout 500 "$python" tests/gpu_solver.py --sizes ${SIZES:-64 128} --json "$out/solver.json" > "$out/solver.txt" 2> "$out/solver.log" || failed=1
cat "$out/solver.txt"
tail -n 5 "$out/solver.log"
if [ "${TESTS:-1}" = 1 ]; then
    timeout 240 "$python" -m pytest -q -p no:cacheprovider -m gpu tests/mini_solver/test_mini_solver_cuda.py \
        tests/mini_solver/test_mini_solver_exchange.py > "$out/pytest.log" 2>&1 || failed=1
    tail -n 4 "$out/pytest.log"
fi
exit $failed
