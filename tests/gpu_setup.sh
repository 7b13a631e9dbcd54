# The common part of the scripts for a machine with an NVIDIA GPU. They read it (. tests/gpu_setup.sh) in the project's
# folder, after `make setup` or, where there is no network, with .carry/ of `make gpu-carry`. It sets: root, out (a
# folder, $OUT or build/<script>), failed, python, mpi (the launcher's words), FRAME_CACHE.
root=$PWD
out=${OUT:-build/$(basename "$0" .sh)}
mkdir -p "$out" build
failed=0

# Python and MPI: .venv and the machine's MPI, or a second .venv that adds the carried wheels to the packages of the
# machine's python3, and the carried launcher.
if [ -x .venv/bin/python ]; then
    python=$root/.venv/bin/python mpi=mpirun
else
    python=$root/build/gpu_venv/bin/python
    if [ ! -x "$python" ]; then
        python3 -m venv --without-pip build/gpu_venv
        site=$($python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
        python3 -c 'import sys; print("\n".join(p for p in sys.path if p.endswith("-packages")))' > "$site/machine.pth"
        echo "$root" > "$site/project.pth"
        for wheel in .carry/wheels/*.whl; do if [ -f "$wheel" ]; then "$python" -m zipfile -e "$wheel" "$site" || failed=1; fi; done
    fi
    # CuPy looks for NCCL in the loader's folders; a wheel of NCCL is not there
    nccl=$("$python" -c 'import nvidia.nccl; print(nvidia.nccl.__path__[0] + "/lib")' 2> /dev/null)
    carried=$root/.carry/openmpi
    mpi="env LD_LIBRARY_PATH=$root/.carry/lib:$nccl OPAL_PREFIX=$carried PATH=$carried/bin:$PATH $carried/bin/mpirun"
fi
# cuTENSOR of tests/gpu_cutensor.py
if [ -d .carry/cutensor ] && [ ! -d build/cutensor ]; then
    mkdir build/cutensor
    for file in .carry/cutensor/*.xz; do
        "$python" -c 'import lzma, sys; sys.stdout.buffer.write(lzma.open(sys.argv[1]).read())' "$file" \
            > "build/cutensor/$(basename "$file" .xz)" || failed=1
    done
fi
if [ -d build/cutensor ]; then export LD_LIBRARY_PATH="$root/build/cutensor:${LD_LIBRARY_PATH:-}"; fi
export FRAME_CACHE=${FRAME_CACHE:-$root/build/gpu_cache} PYTHONPATH=$root:$root/tests
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_btl_base_warn_component_unused=0
command -v ssh > /dev/null || export OMPI_MCA_plm_rsh_agent=false
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
if [ "$(id -u)" = 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
