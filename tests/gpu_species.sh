#!/bin/sh
# The species loops on a machine with an NVIDIA GPU: their GPU tests, then the hall of fame at the talk's sizes, float64 and
# float32. Rows, tables and pictures go to $OUT (default build/gpu_species).
#   sh tests/gpu_species.sh          after `make setup`, or with .carry/wheels where there is no network
# NS="8 16 32 50 64"  TYPES="float64 float32"  TESTS=1     about five minutes a type, one for the tests
set -u
cd "$(dirname "$0")/.."
. tests/gpu_setup.sh

# The benchmark comes first, so that it is done if time runs out. Each size has its own process, so that its memory is
# freed.
for dtype in ${TYPES:-float64 float32}; do
    for ns in ${NS:-64 16 8 32 50}; do
        name=$out/species-$dtype-$ns
        if timeout 150 "$python" -m frame bench species-loops --backend cuda --ns "$ns" --type "$dtype" --json "$name.json" \
            --markdown "$name.md" --png "$name.png" > "$name.txt" 2> "$name.log"; then :; else
            echo "species-loops $dtype NS=$ns FAILED"
            tail -n 5 "$name.log"
            failed=1
        fi
        # the heads of the tables; the eight lines of the talk are in the files
        sed -n '2,14p' "$name.txt"
    done
done
if [ "${TESTS:-1}" = 1 ]; then
    timeout 240 "$python" -m pytest -q -p no:cacheprovider -m gpu tests/contractions/test_species_loops.py > "$out/pytest.log" 2>&1 || failed=1
    tail -n 4 "$out/pytest.log"
fi
echo "---- best of each layout"
grep -h "% of copy" "$out"/species-*.txt
grep -h "left out" "$out"/species-*.log | cut -c1-160 | sort | uniq -c | sort -rn | head -n 12
exit $failed
