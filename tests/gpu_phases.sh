#!/bin/sh
# Phase equilibrium on a machine with an NVIDIA GPU.
#   sh tests/gpu_phases.sh          builds the programs of NS species, checks values beside the CPU, measures; some 2 min
#   sh tests/gpu_phases.sh all      also random states of several mixtures, tests, compute-sanitizer; some 10 min
# NS: numbers of species (default "2 4"); LIMIT: seconds of a step (default 140, of all steps 600 with `all`).
# Logs and JSON go to $OUT (default build/gpu_phases). The exit status is 1 where a step fails.
set -u
cd "$(dirname "$0")/.."
. tests/gpu_setup.sh
what=${1:-bench}
numbers=${NS:-2 4}
case $what in
    bench) limit=${LIMIT:-140} ;;
    all) limit=${LIMIT:-600} numbers=${NS:-2 4 10} ;;
    *) echo "gpu_phases.sh: '$what' came, wanted nothing or 'all'" >&2; exit 2 ;;
esac

# step NAME LINES COMMAND ...: its time, its exit status and the lines that it printed last
step() {
    name=$1 lines=$2 begun=$(date +%s)
    shift 2
    timeout "$limit" "$@" > "$out/$name.txt" 2>&1
    code=$?
    [ "$code" = 0 ] || failed=1
    printf '%s: exit %s, %s s\n' "$name" "$code" $(($(date +%s) - begun))
    tail -n "$lines" "$out/$name.txt"
}

# What `compile` fills the cache with: the programs of the bench, or of all steps
step compile 3 "$python" tests/gpu_phases_kernels.py compile "$what" $numbers

# Values first: a GPU beside the CPU, T of e and rho, a step of a field beside the same from nothing
for ns in $numbers; do
    step "bench-$ns" 30 "$python" -m frame bench phases --backend cuda --ns "$ns" --repeats 3 --record "$out/phases-gpu-$ns.json"
done

if [ "$what" = all ]; then
    step validate 30 "$python" -m frame validate --against phases --states 1000000 --backend cuda --json "$out/validate.json"
    step tests 15 "$python" -m pytest -m gpu -q -p no:cacheprovider tests/gas/test_phases_on_device.py
    for tool in memcheck initcheck; do
        step $tool 6 compute-sanitizer --tool $tool --error-exitcode 9 --print-limit 20 "$python" tests/gpu_phases_kernels.py run
    done
fi
exit $failed
