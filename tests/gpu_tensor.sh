#!/bin/sh
# Tensor expressions on a machine with an NVIDIA GPU: their GPU tests, the species loops beside those of an older tree,
# tuning of the benchmarks, the table of defaults and of tuned ones, Nekbone. Logs in $OUT (default build/gpu_tensor).
#   sh tests/gpu_tensor.sh          after `make setup`, or with .carry/wheels where there is no network
# OLD=folder of an older tree's packages    SECONDS_EACH=12 of tuning a contraction
set -u
cd "$(dirname "$0")/.."
. tests/gpu_setup.sh
begun=$(date +%s)
told() { echo "== $1: $(($(date +%s) - begun)) s"; }

timeout 60 "$python" -m frame build > "$out/build.log" 2>&1 || { tail -3 "$out/build.log"; failed=1; }
timeout 150 "$python" -m pytest -q -p no:cacheprovider -m gpu tests/contractions/test_contractions.py tests/teams \
    tests/contractions/test_tensor_devices.py tests/contractions/test_tensor_stages.py tests/contractions/test_species_loops.py > "$out/pytest.log" 2>&1 || failed=1
tail -n 6 "$out/pytest.log"
told tests

# In turns: old, new, old, new; the best of each layout over the copy of the same run.
if [ -d "${OLD:-none}" ]; then
    for turn in 1 2; do
        for tree in "$OLD" "$root"; do
            for ns in 16 50; do
                (cd "$tree" && PYTHONPATH=$tree timeout 60 "$python" -m frame bench species-loops --backend cuda --ns $ns --rounds 5) \
                    2> /dev/null | grep "% of copy" | sed "s|^|$turn $(basename "$tree") |"
            done
        done
    done | tee "$out/species.txt"
    told "species loops"
fi

cases='Lg3 n = 12|Lg3t n = 12|Ax 6 factors n = 12|Ax g = J n = 12|Eqn.(1)|FieldField|DataField'
timeout 240 "$python" -m frame tune tensor --cases "$cases" --backend cuda --seconds "${SECONDS_EACH:-12}" --evaluations 40 \
    --out "$out/organisations.csv" --journal "$out/journal.jsonl" > "$out/tune.txt" 2>&1 || failed=1
grep -E "measured|fastest|left out" "$out/tune.txt" | cut -c1-160
told tuning
for table in none "$out/organisations.csv"; do
    [ $table = none ] || export FRAME_ORGANISATIONS="$table"
    timeout 90 "$python" -m frame bench tensor --backend cuda --cases "$cases" --rounds 7 --json "$out/bench-$(basename "$table").json" |
        grep -E "chosen|^case" | cut -c1-110
done
unset FRAME_ORGANISATIONS
told benchmarks
timeout 60 "$python" examples/nekbone/nekbone.py --backend cuda --elements 10,10,10 --points 12 | tee "$out/nekbone.txt"
told nekbone
exit $failed
