#!/bin/sh
# The exercises of examples/hierarchy on a machine with an NVIDIA GPU, at their own sizes, values checked; then
# compute-sanitizer over some of them at small sizes. Logs in $OUT (default build/gpu_hierarchy); some 260 s.
set -u
cd "$(dirname "$0")/.."
. tests/gpu_setup.sh
begun=$(date +%s)

file_of() { grep -l "^def $1(" examples/hierarchy/*.py; }
exercise() { timeout 120 "$python" "$(file_of "$1")" "$1" --backend cuda ${2:-} >> "$out/exercises.log" 2>&1 || { echo "failed: $1"; failed=1; }; }
for name in yax_flat yax_atomic yax_layout yax_team yax_rows_first yax_vector quiz scratch_field scratch_race scratch_levels slicing \
    unique_token_pool unique_token_team mdrange subview scan single scatter nested_adjoint contractions9; do
    exercise $name
done
exercise yax_team "-N 262144"
cat "$out/exercises.log"
echo "exercises: $(($(date +%s) - begun)) s"
timeout 120 "$python" tests/gpu_teams.py > "$out/teams.log" 2>&1 || { echo "failed: gpu_teams.py"; failed=1; }
cat "$out/teams.log"

if [ -n "${SANITIZER=$(command -v compute-sanitizer)}" ]; then
    check() {
        timeout 100 "$SANITIZER" --tool "$1" --error-exitcode 9 "$python" "$(file_of "$2")" "$2" --backend cuda -nrepeat 1 \
            $3 > "$out/$1-$2.log" 2>&1 && echo "$1 $2: nothing found" || { echo "$1 $2: status $?"; tail -3 "$out/$1-$2.log"; failed=1; }
    }
    for tool in memcheck racecheck initcheck; do
        check $tool yax_team "-N 50 -M 100"
        check $tool scratch_field "-E 50"
        check $tool scan ""
        check $tool scatter "-N 30000"
    done
    check memcheck unique_token_pool "-N 30000 -M 4096"
    check memcheck scratch_levels "-E 20"
    check racecheck scratch_levels "-E 4"
    check racecheck slicing "-N 4 -M 13"
    check racecheck contractions9 "-N 3 -M 5 -E 3"
    check memcheck contractions9 "-N 3 -M 5 -E 3"
fi
echo "all: $(($(date +%s) - begun)) s"
exit $failed
