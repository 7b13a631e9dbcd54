#!/bin/sh
# What equation mapped with viscosity residual costs beside Peng-Robinson with Chung's, 10 and 50 species; then thermal of
# 50 species with 2, 3 and 4 blocks on a multiprocessor, which leave 255, 168 and 128 registers to a thread.
#   sh tests/gpu_models.sh       after `make setup`, or with .carry/ of `make gpu-carry`   150 s
# The fastest of the second part belongs into kernels/gas/schedules/launches.csv, the first into
# benchmarks/results/models-h100.json and the table of docs/explanation/figures.md.
set -u
cd "$(dirname "$0")/.."
. tests/gpu_setup.sh
table=kernels/gas/schedules/launches.csv
row='only root,equation=mapped precision=double|mixed,50,128,shared,10,'

nvidia-smi --query-gpu=name,compute_mode --format=csv,noheader
grep -q "^$row" $table || { echo "no such row in $table: $row"; exit 1; }

"$python" -m frame bench models --backend cuda --ns 10,50 --points 1000000 --repeats 7 --json "$out/models.json" || failed=1

for blocks in 2 3 4; do
    sed "s/^\($row\)[0-9]*/\1$blocks/" $table > "$out/launches_$blocks.csv"
    echo "blocks $blocks"
    FRAME_LAUNCHES="$out/launches_$blocks.csv" "$python" -m frame bench models --backend cuda --ns 50 --kij dense \
        --cases thermal --points 1000000 --repeats 7 --json "$out/blocks_$blocks.json" | grep 'k_ij' || failed=1
done
exit $failed
