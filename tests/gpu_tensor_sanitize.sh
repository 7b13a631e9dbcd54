#!/bin/sh
# compute-sanitizer over the kernels of `bench tensor`, and of products by tiles and with copies, on a machine with an
# NVIDIA GPU: addresses, races in shared memory, reads of what nothing has written.
#   sh tests/gpu_tensor_sanitize.sh [memcheck racecheck initcheck]
# Logs go to $OUT (default build/gpu_tensor_sanitize); LIMIT: seconds a tool. WAYS=chosen: without the organisations that
# only tuning would take; WAYS=products: nothing but products by tiles and with copies.
set -u
cd "$(dirname "$0")/.."
. tests/gpu_setup.sh
"$python" tests/gpu_tensor_kernels.py compile "${WAYS:-all}" || exit 1
[ $# -gt 0 ] || set -- memcheck racecheck initcheck
for tool in "$@"; do
    begun=$(date +%s)
    timeout "${LIMIT:-300}" compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 20 \
        "$python" tests/gpu_tensor_kernels.py run "${WAYS:-all}" > "$out/$tool.txt" 2>&1
    code=$?
    [ $code = 0 ] || failed=1
    printf '%-10s exit %s, %s s: %s; %s\n' "$tool" $code $(($(date +%s) - begun)) \
        "$(grep 'kernels ran' "$out/$tool.txt")" "$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$out/$tool.txt" | tail -n 1)"
done
exit $failed
