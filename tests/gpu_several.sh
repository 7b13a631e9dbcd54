#!/bin/sh
# Several GPUs of a machine: where ranks go, every path of copies on the second GPU, block calls, the demo and a
# reacting mixture on one and on all of them.
#   sh tests/gpu_several.sh         with .carry/ of `make gpu-carry` where there is no network
# GPUS=1,2  RANKS=1,2,8,16  SHAPES=64x64x64,128x128x128  LIMIT=130 (s, of the block calls)   about 200 s on two GPUs
set -u
cd "$(dirname "$0")/.."
. tests/gpu_setup.sh
begun=$(date +%s)
# step NAME SECONDS command...: its last lines, and how it ended
step() {
    name=$1 limit=$2
    shift 2
    timeout "$limit" "$@" > "$out/$name.log" 2>&1
    code=$?
    [ $code = 0 ] || failed=1
    echo "==== $name: exit $code, $(($(date +%s) - begun)) s since the start"
}
nvidia-smi --query-gpu=name,compute_mode,pci.bus_id --format=csv,noheader
step build 60 "$python" -m frame build
step info 40 "$python" -m frame info --mixture examples/mixtures/ch4_o2.yaml
head -n 25 "$out/info.log"
# shellcheck disable=SC2086
for ranks in 3 8 16; do
    step ranks_$ranks 60 $mpi -n $ranks "$python" tests/gpu_several.py
    tail -n 4 "$out/ranks_$ranks.log"
done
step bench "${LIMIT:-130}" "$python" -m frame bench blocks --backend cuda --ns 10 --fringes 0 --memory pinned --no-cpu --repeats 3 --seconds 0.04 \
    --shapes "${SHAPES:-64x64x64,128x128x128}" --ranks "${RANKS:-1,2,8,16}" --gpus "${GPUS:-1,2}" --json "$out/several.json"
tail -n 25 "$out/bench.log"
[ -x build/demo_host ] || cp -L .carry/demo_host build/
sed "s/^\( *calls *= *\)'[a-z]*'/\1'blocks'/" fortran_stub/demo/demo.nml > "$out/blocks.nml"
# shellcheck disable=SC2086
for devices in 0 "$(seq -s, 0 $(($(nvidia-smi -L | wc -l) - 1)))"; do
    for nml in fortran_stub/demo/demo.nml "$out/blocks.nml"; do
        step "demo_on_$devices" 40 env CUDA_VISIBLE_DEVICES="$devices" FRAME_BACKEND=cuda $mpi -n 8 build/demo_host "$nml"
        grep -E '^libframe|^ *layer  |^Result' "$out/demo_on_$devices.log"
    done
done
# shellcheck disable=SC2086
step react 120 $mpi -n "$(nvidia-smi -L | wc -l)" "$python" tests/gpu_react.py "$out/react.json"
tail -n 8 "$out/react.log"
step tests 90 "$python" -m pytest -q -p no:cacheprovider -m gpu -n 8 tests/frame/test_link*.py -k "second"
tail -n 3 "$out/tests.log"
exit $failed
