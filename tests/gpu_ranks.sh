#!/bin/sh
# Ranks that share one GPU: the demo, chunk by chunk, in turns (FRAME_MPS=off), by CUDA's multi-process service
# (FRAME_MPS=auto, which starts it), and on as many CPU cores. Nanoseconds a point over all ranks together.
#   sh tests/gpu_ranks.sh         after `make demo`, or with .carry/ of `make gpu-carry` where there is no network
# RANKS="1 4 8 16"  CHUNK=12288                                                240 s with these ranks
set -u
cd "$(dirname "$0")/.."
. tests/gpu_setup.sh
host=build/demo_host
[ -x $host ] || host=.carry/demo_host
"$python" -m frame build > "$out/build.log" 2>&1 || { cat "$out/build.log"; exit 1; }
sed "s/^\( *chunk *= *\)[0-9]*/\1${CHUNK:-12288}/" fortran_stub/demo/demo.nml > "$out/demo.nml"
nvidia-smi --query-gpu=name,compute_mode --format=csv,noheader
echo "demo, chunk ${CHUNK:-12288}, nanoseconds a point, all ranks together"
for ranks in ${RANKS:-1 4 8 16}; do
    for way in "cpu off" "cuda off" "cuda auto"; do
        # shellcheck disable=SC2086
        if timeout 90 env FRAME_BACKEND="${way% *}" FRAME_MPS="${way#* }" $mpi -n "$ranks" $host "$out/demo.nml" > "$out/step.log" 2>&1; then told=; else
            told=" FAILED"
            failed=1
            tail -n 15 "$out/step.log"
        fi
        { echo "==== $ranks ranks, $way$told"; cat "$out/step.log"; } >> "$out/ranks.log"
        awk -v ranks="$ranks" -v way="$way" -v told="$told" '
            /^libframe:.*MPS/ { said = $0 }
            /^ *layer / { ns = $(NF - 5) / ranks }
            /^Result/ { result = $0 }
            END { printf "%3d ranks, %-4s FRAME_MPS=%-5s %7.1f   %s %s%s\n", ranks, substr(way, 1, index(way, " ") - 1), substr(way, index(way, " ") + 1), ns, result, said, told }
        ' "$out/step.log"
    done
done
sleep 2
left=$(pgrep -fc nvidia-cuda-mps || :)
echo "processes of the service that are left: ${left:-0}; folders: $(ls -d "${TMPDIR:-/tmp}"/castles-frame-mps-* 2> /dev/null | wc -l)"
exit $failed
