#!/bin/sh
# The papers' own comparisons on a machine with an NVIDIA GPU: Barracuda's tables with its search, OpenACC where there are
# executables, Nekbone from Fortran, Intrepid's surfaces, the species loops with occupancy and cache hits. Records and
# tables go to $OUT (default build/gpu_seeds).
#   sh tests/gpu_seeds.sh           PARTS="barracuda openacc S1 D1 D2 nekbone intrepid species ncu"
#                                   some 600 s in all
# CARRIED=folder with nekbone, and with openacc/ of `bench barracuda --openacc FOLDER --compile-only` on another machine
set -u
cd "$(dirname "$0")/.."
. tests/gpu_setup.sh
begun=$(date +%s)
carried=${CARRIED:-build}
told() { echo "== $1: $(($(date +%s) - begun)) s"; }
bench() {
    name=$1
    shift
    timeout 280 "$python" -m frame bench "$@" --backend cuda --record "$out/$name.json" > "$out/$name.txt" 2> "$out/$name.log" || {
        echo "$name FAILED"
        tail -n 5 "$out/$name.log"
        failed=1
    }
    told "$name"
}

openacc=
[ ! -d "$carried/openacc" ] || openacc="--openacc $carried/openacc"
tuned=
[ ! -f "${TUNED:-none}" ] || tuned="--tuned $TUNED"

for part in ${PARTS:-barracuda openacc S1 D1 D2 nekbone intrepid species ncu}; do
    # shellcheck disable=SC2086
    case $part in
    barracuda) bench barracuda barracuda --cases 'Eqn|Lg3|TCE|S1_1|D1_1|D2_1' --rounds 3 --search "${SEARCH:-60}" --seconds "${SECONDS_EACH:-8}" ;;
    openacc) bench openacc barracuda --cases 'Eqn|Lg3|TCE|S1_1|D1_1|D2_1' --rounds 2 $openacc $tuned ;;
    S1 | D1 | D2) bench "triples-$part" barracuda --cases "$part" --rounds 2 $openacc $tuned ;;
    nekbone)
        timeout 60 "$python" -m frame build > "$out/build.log" 2>&1 || tail -n 3 "$out/build.log"
        bench nekbone barracuda --cases Nekbone --nekbone "$carried/nekbone" --launcher "$mpi -n 1"
        ;;
    intrepid) bench intrepid intrepid --mb "${MEMORY:-1,10,100,1000}" --points "${POINTS:-8,64,512}" ;;
    species)
        for ns in ${NS:-8 16 32 50 64}; do
            bench "species-$ns" species-loops --ns "$ns" --rounds 5 --points $((134217728 / ns / ns / 2048 * 2048))
        done
        grep -h "% of copy" "$out"/species-*.txt
        ;;
    ncu) NS="${NS:-8 64}" timeout 200 sh tests/gpu_species_ncu.sh || failed=1 ;;
    esac
done
exit $failed
