#!/bin/sh
# What a Fortran host sees of one GPU that its ranks share: the demo and block calls of 80^3 points, by CUDA's service and
# in turns, beside as many CPU cores; then what `auto` takes, beside the faster side.
#   sh tests/gpu_tables.sh [demo] [blocks]       after `make demo`, or with .carry/ of `make gpu-carry`   240 s, 150 s
# STEPS=1: of the demo, 110 s (default: 3)
set -u
cd "$(dirname "$0")/.."
. tests/gpu_setup.sh
begun=$(date +%s)
[ -x build/demo_host ] || cp -L .carry/demo_host build/
"$python" -m frame build > "$out/build.log" 2>&1 || { cat "$out/build.log"; exit 1; }
nvidia-smi --query-gpu=name,compute_mode --format=csv,noheader
# demo CHUNK RANKS BACKEND MPS CALLS
demo() {
    sed "s/^\( *chunk *= *\)[0-9]*/\1$1/; s/^\( *steps *= *\)[0-9]*/\1${STEPS:-3}/; s/^\( *calls *= *\)'[a-z]*'/\1'$5'/" fortran_stub/demo/demo.nml > "$out/demo.nml"
    # shellcheck disable=SC2086
    if timeout 40 env FRAME_BACKEND="$3" FRAME_MPS="$4" $mpi -n "$2" build/demo_host "$out/demo.nml" > "$out/step.log" 2>&1; then told=; else
        told=FAILED failed=1
        tail -n 5 "$out/step.log"
    fi
    cat "$out/step.log" >> "$out/demo.log"
    awk -v what="demo, $2 ranks, $3, FRAME_MPS=$4, $5, chunk $1" -v ranks="$2" -v told="$told" '
        /^ *layer / { ns = $(NF - 5) / ranks }
        /^Result/ { result = $0 }
        END { printf "%-58s %7.2f ns a point   %s%s\n", what, ns, result, told }' "$out/step.log"
}
blocks() {
    name=$1
    shift
    timeout 90 "$python" -m frame bench blocks --fringes 0 --ns 10 --repeats 3 --seconds 0.04 --json "$out/$name.json" "$@" \
        > "$out/$name.log" 2> "$out/$name.err" || { failed=1; tail -n 3 "$out/$name.err"; }
    grep -vE '^(backend|Time)|^$' "$out/$name.log"
    echo "($(($(date +%s) - begun)) s)"
}
[ $# -gt 0 ] || set -- demo blocks
for part in "$@"; do
    case $part in
    demo)
        for ranks in 1 16; do demo 12288 $ranks cpu off chunks; done
        for ranks in 1 4 8; do
            for chunk in 32768 12288; do
                demo $chunk $ranks cuda off chunks
                [ $ranks = 1 ] || [ $ranks$chunk = 412288 ] || demo $chunk $ranks cuda auto chunks
            done
        done
        for mps in auto off; do demo 12288 8 cuda $mps blocks; done
        ;;
    blocks)
        gpu="--backend cuda --no-cpu --shapes 80x80x80 --memory pinned,pageable"
        # shellcheck disable=SC2086
        {
            blocks cpu --backend cpu --shapes 64x64x64 --ranks 1,4,8,16
            blocks service $gpu --ranks 1,4,8,16 --ways block,loop
            blocks turns $gpu --ranks 4,8 --ways block,loop --mps off
            blocks service_chunks $gpu --ranks 8 --chunks 32768 --ways block,loop
            blocks turns_chunks $gpu --ranks 8 --chunks 32768 --ways block,loop --mps off
            "$python" tests/gpu_rule.py "$out" || failed=1
        }
        ;;
    esac
done
exit $failed
