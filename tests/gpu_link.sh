#!/bin/sh
# Copies between a host and one GPU: tests of every path, figures behind the constants, and the bench's table.
#   sh tests/gpu_link.sh          where there is no network with .carry/ of `make gpu-carry`
# RANKS="1,8"                                                                  about 240 s; results in $out
set -u
cd "$(dirname "$0")/.."
. tests/gpu_setup.sh
"$python" -m pytest -q -p no:cacheprovider -m gpu -n 1 tests/frame/test_link*.py tests/frame/test_stripe.py > "$out/tests.log" 2>&1 || failed=1
tail -n 3 "$out/tests.log"
"$python" tests/gpu_link.py > "$out/figures.log" 2>&1 || failed=1
tail -n 60 "$out/figures.log"
for way in auto off; do
    "$python" -m frame bench blocks --backend cuda --ns 10 --fringes 0,3 --shapes 32x32x32,64x64x64,128x128x128 --ranks "${RANKS:-1,8}" \
        --mps $way --repeats 3 --seconds 0.1 --json "$out/blocks_$way.json" > "$out/blocks_$way.log" 2>&1 || failed=1
    tail -n 30 "$out/blocks_$way.log"
done
"$python" -m frame bench blocks --backend cuda --ns 10 --fringes 0 --shapes 80x80x80 --ranks 1,8 --memory pinned --ways block,loop,queue \
    --chunks 12288,131072 --repeats 3 --seconds 0.1 --json "$out/loops.json" > "$out/loops.log" 2>&1 || failed=1
tail -n 20 "$out/loops.log"
exit $failed
