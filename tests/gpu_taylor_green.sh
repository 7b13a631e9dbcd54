#!/bin/sh
# The mini solver and PyFR on one NVIDIA GPU: the Taylor-Green vortex on 64^3 points to t V/L = 6, to compare errors,
# and on 128^3 to t = 2, to compare the speed. Table on the screen, JSON in $OUT (default build/gpu_taylor_green). About
# a minute.
#   sh tests/gpu_taylor_green.sh        with PyFR in .venv, or with .carry/ of `make gpu-carry` where there is no network
set -u
cd "$(dirname "$0")/.."
. tests/gpu_setup.sh

# PyFR loads CUDA's libraries by names without a version. Only a toolkit has these names.
found() {        # NAME: prints the first libNAME.so* among the loader's libraries, Python's wheels, a toolkit
    { ldconfig -p | sed -n "s|.*=> \(.*/lib$1\.so[.0-9]*\)$|\1|p"
      "$python" -c 'import glob, sys; print(*(f for p in sys.path for f in glob.glob(f"{p}/nvidia/**/lib'"$1"'.so*", recursive=True)), sep="\n")'
      ls /usr/local/nvidia/lib64/lib"$1".so* /usr/local/cuda/lib64/lib"$1".so*; } 2> /dev/null | grep . | head -n 1
}
PYFR_CUDA_LIBRARY_PATH=$(found cuda) PYFR_NVRTC_LIBRARY_PATH=$(found nvrtc) PYFR_CUBLASLT_LIBRARY_PATH=$(found cublasLt)
export PYFR_CUDA_LIBRARY_PATH PYFR_NVRTC_LIBRARY_PATH PYFR_CUBLASLT_LIBRARY_PATH PYFR_CUDA_CACHE_DIR="$root/build/pyfr_cache"
begun=$(date +%s)

compare() {        # NAME SECONDS arguments...
    name=$out/$1 limit=$2
    shift 2
    if timeout "$limit" "$python" benchmarks/taylor_green.py --backend "${BACKEND:-cuda}" --pyfr "$mpi -n 1 $python" --json "$name.json" "$@" \
        > "$name.txt" 2> "$name.log"; then :; else failed=1; fi
    cat "$name.txt"
    [ $failed = 0 ] || { tail -n 15 "$name.log"; echo "CUDA's libraries: $PYFR_CUDA_LIBRARY_PATH $PYFR_NVRTC_LIBRARY_PATH $PYFR_CUBLASLT_LIBRARY_PATH"; }
}

# shellcheck disable=SC2086
compare small 70 --ours central "central, PR N2" --cells ${SMALL:-64}
# shellcheck disable=SC2086
compare large 70 --ours central "central, PR N2" --cells ${LARGE:-128} --times ${LARGE_TIMES:-2}
echo "$(($(date +%s) - begun)) s in all"
exit $failed
