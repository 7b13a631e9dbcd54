#!/bin/sh
# Cache hits, achieved occupancy and registers of every organisation of the species loops, by NVIDIA's ncu, on a machine
# with a GPU whose counters may be read. A table for each size; rows in $OUT (default build/gpu_species_ncu).
#   sh tests/gpu_species_ncu.sh     NS="8 16 32 50 64"  TYPES=float64  NCU=ncu
set -u
cd "$(dirname "$0")/.."
. tests/gpu_setup.sh

ncu=${NCU:-ncu}
if ! command -v "$ncu" > /dev/null; then
    echo "left out: no $ncu on this machine; it comes with the CUDA toolkit, or as Nsight Compute"
    exit 0
fi
metrics=$("$python" -c 'import sys; sys.path.insert(0, "tests"); import gpu_species_ncu as m; print(",".join(m.METRICS))')

for dtype in ${TYPES:-float64}; do
    for ns in ${NS:-8 16 32 50 64}; do
        name=$out/ncu-$dtype-$ns
        if timeout 300 "$ncu" --csv --clock-control none --metrics "$metrics" --kernel-name regex:contraction --target-processes all \
            "$python" tests/gpu_species_ncu.py run "$ns" "$dtype" "$name-order.json" > "$name.csv" 2> "$name.log" \
            && "$python" tests/gpu_species_ncu.py table "$name.csv" "$name-order.json" "$name.json" > "$name.txt"; then
            cat "$name.txt"
        else
            echo "ncu $dtype NS=$ns FAILED"
            grep -h -i "==ERROR==\|permission" "$name.csv" "$name.log" | head -n 3
            failed=1
        fi
    done
done
exit $failed
