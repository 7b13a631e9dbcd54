#!/bin/sh
# compute-sanitizer over the copies of a host's arrays and every collection, on a machine with an NVIDIA GPU: addresses,
# races in shared memory, reads of what nothing has written.
#   sh tests/gpu_link_sanitize.sh [memcheck racecheck initcheck]
# Logs go to $OUT (default build/gpu_link_sanitize); LIMIT: seconds a tool. The first run compiles the kernels.
set -u
cd "$(dirname "$0")/.."
. tests/gpu_setup.sh
begun=$(date +%s)
"$python" tests/gpu_link_kernels.py compile > "$out/compile.txt" 2>&1 || { tail -n 15 "$out/compile.txt"; exit 1; }
printf '%-10s %s s\n' compiled $(($(date +%s) - begun))
[ $# -gt 0 ] || set -- memcheck racecheck initcheck
for tool in "$@"; do
    begun=$(date +%s)
    timeout "${LIMIT:-60}" compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 20 \
        "$python" tests/gpu_link_kernels.py run > "$out/$tool.txt" 2>&1
    code=$?
    [ $code = 0 ] || failed=1
    printf '%-10s exit %s, %s s: %s; %s\n' "$tool" $code $(($(date +%s) - begun)) \
        "$(grep 'calls ran' "$out/$tool.txt")" "$(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$out/$tool.txt" | tail -n 1)"
    [ $code = 0 ] || tail -n 15 "$out/$tool.txt"
done
exit $failed
