#!/bin/sh
# The mini solver on 1, 2, 4, ... GPUs of one machine, strong and weak scaling, one process for each GPU: table on the
# screen, scaling.json in $OUT (default build/gpu_scaling). Ranks have to give the same bits. On 2 GPUs some 100 s, half
# of it compiling (an estimate).
#   sh tests/gpu_scaling.sh         after `make setup`, or with .carry/ of `make gpu-carry` where there is no network
# GPUS=2 (default: all)  CELLS=128  STEPS=10  WAYS="ipc cuda_mpi staged nccl" (default: all that are there)
set -u
cd "$(dirname "$0")/.."
. tests/gpu_setup.sh
begun=$(date +%s)
gpus=${GPUS:-$(nvidia-smi --list-gpus | wc -l)}

export NCCL_NVLS_ENABLE=${NCCL_NVLS_ENABLE:-0}      # only sums over many GPUs use multicast
# Kernels are compiled once, by one process; others find them in the cache.
# shellcheck disable=SC2086
if ! timeout 150 $mpi -n 1 "$python" -m examples.mini_solver scaling --backend cuda --cells 16 --steps 1 > "$out/warm.log" 2>&1; then
    tail -n 5 "$out/warm.log"
    exit 1
fi
echo "first use, compiling: $(($(date +%s) - begun)) s"
# shellcheck disable=SC2086,SC2046
timeout 150 $mpi -n "$gpus" "$python" -m examples.mini_solver scaling --backend cuda --cells "${CELLS:-128}" --steps "${STEPS:-10}" \
    --json "$out/scaling.json" $(for way in ${WAYS:-all}; do printf -- '--exchange %s ' "$way"; done) \
    > "$out/scaling.txt" 2> "$out/scaling.log" || failed=1
cat "$out/scaling.txt"
if [ $failed = 0 ]; then
    echo "ms a step on rank 0:"
    "$python" -c 'import json, sys
for r in json.load(open(sys.argv[1]))["rows"]:
    print(" ", r["kind"], r["ranks"], r["exchange_way"] + ":", f"graph {1e3*r['"'step'"']:.3f}, launched {1e3*r['"'launched'"']:.3f}:" if r["graph"] else r["note"],
          ", ".join(f"{k} {v:.3f}" for k, v in r["ms"].items()))' "$out/scaling.json"
else
    grep -v "^ *$" "$out/scaling.log" | head -n 40
fi
echo "$(($(date +%s) - begun)) s in all"
exit $failed
