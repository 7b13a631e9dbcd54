#!/bin/sh
# What equation mapped with viscosity residual costs beside Peng-Robinson with Chung's, 10 and 50 species.
#   sh tests/gpu_models.sh       after `make setup`, or with .carry/ of `make gpu-carry`   60 s
# The rows belong into benchmarks/results/models-h200.json and the table of docs/figures/properties.md.
set -u
cd "$(dirname "$0")/.."
. tests/gpu_setup.sh

nvidia-smi --query-gpu=name,compute_mode --format=csv,noheader
"$python" -m frame bench models --backend cuda --ns 10,50 --points 1000000 --repeats 7 --json "$out/models.json" || failed=1
exit $failed
