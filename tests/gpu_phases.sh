#!/bin/sh
# Phase equilibrium on a machine with an NVIDIA GPU: programs compiled side by side, tests, random states of several
# mixtures, times, compute-sanitizer.
#   sh tests/gpu_phases.sh
# Logs and JSON go to $OUT (default build/gpu_phases); LIMIT: seconds of a step.
set -u
cd "$(dirname "$0")/.."
. tests/gpu_setup.sh
limit=${LIMIT:-120}

# step NAME COMMAND ...: its time, its exit status and the lines that it printed last
step() {
    name=$1 begun=$(date +%s)
    shift
    timeout "$limit" "$@" > "$out/$name.txt" 2>&1
    code=$?
    [ $code = 0 ] || failed=1
    printf '%s: exit %s, %s s\n' "$name" $code $(($(date +%s) - begun))
    tail -n "${lines:-40}" "$out/$name.txt"
}

lines=3 step compile "$python" tests/gpu_phases_kernels.py compile
lines=60 step bench "$python" -m frame bench phases --backend cuda --record "$out/phases-gpu.json"
lines=30 step validate "$python" -m frame validate --against phases --states 1000000 --backend cuda --json "$out/validate.json"
lines=15 step tests "$python" -m pytest -m gpu -q -p no:cacheprovider tests/gas/test_phases_on_device.py
for tool in memcheck initcheck; do
    lines=6 step $tool compute-sanitizer --tool $tool --error-exitcode 9 --print-limit 20 "$python" tests/gpu_phases_kernels.py run
done
exit $failed
