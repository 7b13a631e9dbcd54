#!/bin/sh
# Everything on a machine with an NVIDIA GPU, in one go: build, tests, the Fortran host on 1, 2 and 4 ranks, times.
#   sh tests/gpu_session.sh          after `make setup`, or with .carry/ of `make gpu-carry` where there is no network
# Logs go to $OUT (default build/gpu_session); the last output is a table of results and times. BACKENDS="cpu cuda"
# RANKS="1 2 4"  POINTS=1000000
set -u
cd "$(dirname "$0")/.."
. tests/gpu_setup.sh
: > "$out/session.log"
summary=$out/summary.txt
: > "$summary"

# step NAME SECONDS command...: run it, keep its output, note the outcome
step() {
    name=$1 limit=$2
    shift 2
    begun=$(date +%s)
    if timeout "$limit" "$@" > "$out/step.log" 2>&1; then told=ok; else told="FAILED ($?)"; failed=1; fi
    took=$(($(date +%s) - begun))
    { echo "==== $name: $told, $took s"; cat "$out/step.log"; } >> "$out/session.log"
    printf '%-34s %-14s %4s s\n' "$name" "$told" "$took" >> "$summary"
    [ "$told" = ok ] || tail -n 15 "$out/step.log"
}

# The host: built here, or carried.
host=build/demo_host
[ -x $host ] || host=.carry/demo_host

demo() {        # BACKEND RANKS NAMELIST REMARK
    # shellcheck disable=SC2086
    step "demo $1, ranks $2$4" 150 env FRAME_BACKEND="$1" $mpi -n "$2" $host "$3"
    sed -n 's/^ *\(plain Fortran  .*\|layer  .*\|ratio  .*\|Result.*\)/    \1/p' "$out/step.log" >> "$summary"
}

step "nvidia-smi" 60 nvidia-smi
step "build libframe" 120 "$python" -m frame build
step "info" 120 "$python" -m frame info --mixture examples/mixtures/ch4_o2.yaml
cat "$out/step.log"
case " ${BACKENDS:-cpu cuda} " in *" cuda "*)
    step "pytest -m gpu" 480 "$python" -m pytest -q -m gpu --durations=8 tests
    tail -n 3 "$out/step.log" >> "$summary"
esac
for ranks in ${RANKS:-1 2 4}; do
    for backend in ${BACKENDS:-cpu cuda}; do demo "$backend" "$ranks" fortran_stub/demo/demo.nml ""; done
done
sed 's/^\( *chunk *= *\)[0-9]*/\1131072/' fortran_stub/demo/demo.nml > build/demo_large_chunk.nml
for backend in ${BACKENDS:-cpu cuda}; do demo "$backend" 1 build/demo_large_chunk.nml ", chunk 131072"; done
case " ${BACKENDS:-cpu cuda} " in *" cuda "*)
    step "times" 300 "$python" tests/gpu_times.py "${POINTS:-1000000}"
    cp "$out/step.log" "$out/times.txt"
    cat "$out/times.txt"
esac
rm -f "$out/step.log"
echo "---- summary"
cat "$summary"
exit $failed
