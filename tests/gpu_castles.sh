#!/bin/sh
# The small flow solver (fortran_stub/castles/*.f90) on a machine with an NVIDIA GPU: whole runs with plain Fortran
# properties and with the layer's, with 4, 10 and 20 species on 1, 2 and 4 ranks that share one GPU. One line for each
# run; logs in $OUT (default build/gpu_castles).
#   sh tests/gpu_castles.sh         after `make castles`, or with .carry/ of `make gpu-carry` where there is no network
# SPECIES="4 10 20"  RANKS="1 2 4"  CELLS="64, 48, 32"  STEPS=1  BACKEND=cuda     some 100 s (estimate)
set -u
cd "$(dirname "$0")/.."
. tests/gpu_setup.sh
begun=$(date +%s)

castles=build/castles
[ -x $castles ] || castles=.carry/castles
"$python" -m frame build > "$out/build.log" 2>&1 || { cat "$out/build.log"; exit 1; }

said() { sed -n "s/^ *$1 *\([0-9.][0-9.]*\).*/\1/p" "$out/step.log"; }
reached() { sed -n "s/^Amdahl: with the properties that much faster .*reached *\([0-9.]*\) %/\1/p" "$out/step.log"; }
difference() { sed -n 's/; tolerance.*//; s/^Largest differences: //p' "$out/step.log" | grep -o '[0-9.]*E[-+][0-9]*' | sort -g | tail -n 1; }
# of the layer's run: seconds in total and in properties
spent() { sed -n '/^properties = frame/,$s/.*slowest rank *\([0-9.]*\);.*properties *\([0-9.]*\),.*/\1 s, properties \2 s/p' "$out/step.log" | tail -n 1; }

: > "$out/castles.log"
echo "castles, cells ${CELLS:-64, 48, 32}, ${STEPS:-1} steps, backend ${BACKEND:-cuda}"
echo "species ranks  whole run  properties  share before  of Amdahl  largest difference  the layer's run"
for species in ${SPECIES:-4 10 20}; do
    file=castles_$species.nml
    [ "$species" != 10 ] || file=castles.nml
    sed -e "s/^\( *cells *= *\)[^!]*/\1${CELLS:-64, 48, 32} /" -e "s/^\( *steps *= *\)[0-9]*/\1${STEPS:-1}/" \
        -e "s/^\( *chunk *= *\)[0-9]*/\1${CHUNK:-131072}/" "fortran_stub/castles/$file" > "$out/$file"
    for ranks in ${RANKS:-1 2 4}; do
        # shellcheck disable=SC2086
        if timeout 90 env FRAME_BACKEND="${BACKEND:-cuda}" $mpi -n "$ranks" "$castles" "$out/$file" > "$out/step.log" 2>&1; then told=; else
            told=" FAILED"
            failed=1
        fi
        { echo "==== $species species, $ranks ranks$told"; cat "$out/step.log"; } >> "$out/castles.log"
        printf '%7s %5s %10s %11s %11s %% %8s %% %19s  %s%s\n' "$species" "$ranks" "$(said 'Whole application, fortran over frame:')" \
            "$(said 'Properties alone:')" "$(said 'Share of property time in fortran:')" "$(reached)" \
            "$(difference)" "$(spent)" "$told"
        [ -z "$told" ] || tail -n 15 "$out/step.log"
    done
done
rm -f "$out/step.log"
echo "$(($(date +%s) - begun)) s in all"
exit $failed
