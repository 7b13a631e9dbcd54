#!/bin/sh
# make gpu-carry: collect what tests/gpu_*.sh need on a GPU machine without network that has only CuPy and gcc: wheels
# for its Python (GPU_PYTHON, default 3.12), the Fortran hosts compiled for any recent x86-64, Open MPI, libgfortran.
# All of it goes into .carry/, which git ignores; send it along with the working tree.
set -eu
cd "$(dirname "$0")/.."
carry=.carry
rm -rf $carry
mkdir -p $carry/wheels $carry/lib $carry/modules $carry/openmpi/bin

# PyFR and those of its packages that the machine lacks are for tests/gpu_taylor_green.sh.
.venv/bin/python -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: \
    --python-version "${GPU_PYTHON:-3.12}" --implementation cp \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_24_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
    --platform manylinux_2_5_x86_64 --platform manylinux1_x86_64 -d $carry/wheels \
    cffi pycparser ruamel.yaml f90nml mpi4py cantera pyfr gimmik mako platformdirs pytools rtree siphash24

# Linked against this machine's libframe; on the GPU machine it finds the one built there, in build/.
# shellcheck disable=SC2086
for host in demo_host castles nekbone; do
    case $host in
    demo_host) sources=$HOST ;;
    castles) sources=$CASTLES ;;
    nekbone) sources=$NEKBONE ;;
    esac
    mpifort.openmpi -O3 -march=x86-64-v3 -J $carry/modules $sources -o $carry/$host -Lbuild -lframe -Wl,-rpath,'$ORIGIN/../build'
done
rm -r $carry/modules

# Open MPI: launcher, plugins, help texts, and every library that these and the host need, except the C library's own.
plugins=$(ompi_info --path pkglibdir | sed 's/.*: *//')
data=$(ompi_info --path pkgdatadir | sed 's/.*: *//')
prefix=$(ompi_info --path prefix | sed 's/.*: *//')
cp -L "$prefix/bin/orterun" $carry/openmpi/bin/mpirun
cp -L "$prefix/bin/orted" $carry/openmpi/bin/orted
for name in "$plugins" "$data"; do
    mkdir -p "$carry/openmpi/${name#"$prefix"/}"
    cp -rL "$name/." "$carry/openmpi/${name#"$prefix"/}/"
done
# Plugins for fabrics and schedulers of clusters depend on many system libraries; one node needs only shared memory and
# TCP.
inside=$carry/openmpi/${plugins#"$prefix"/}
for plugin in ofi ucx openib psm psm2 slurm flux jsm romio321 treematch monitoring; do rm -f "$inside"/*_$plugin.so; done
for file in $carry/demo_host $carry/castles $carry/nekbone $carry/openmpi/bin/* "$inside"/*.so; do ldd "$file" 2>/dev/null || :; done |
    sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' | sort -u |
    grep -vE '/(libframe|libpython[0-9.]*|libc|libm|libdl|librt|libpthread|libresolv|libutil|libmvec|libgcc_s|libstdc\+\+|ld-linux-x86-64)\.so' |
    while read -r library; do cp -L "$library" $carry/lib/; done
du -sh $carry | sed 's/\t/ in /'
