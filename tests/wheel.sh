#!/bin/sh
# The new user's way, from a wheel: build it, install it into a clean environment outside the checkout, make libframe,
# write the examples out, compile and run the README's Fortran programs, call from Python. Prints the seconds of each
# step. Then other packages called frame and kernels stand in front, and the message has to say so.
#   sh tests/wheel.sh [python3]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
python=${1:-$root/.venv/bin/python}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
begin=$(date +%s)
step() { echo "wheel: $(($(date +%s) - begin)) s: $*"; }
fail() { echo "wheel: $*" >&2; exit 1; }
unset PYTHONPATH FRAME_PYTHON || :

# A copy of what git knows: no build folder of the checkout gets into the wheel.
mkdir "$work/source"
git -C "$root" ls-files -z | (cd "$root" && xargs -0 sh -c 'for f; do [ ! -f "$f" ] || printf "%s\n" "$f"; done' sh) > "$work/list"
tar -C "$root" -cf - -T "$work/list" | tar -C "$work/source" -xf -
"$python" -m pip wheel -q --disable-pip-version-check --no-deps -w "$work" "$work/source"
step "wheel $(basename "$work"/castles_frame-*.whl)"

"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install -q --disable-pip-version-check "$work"/castles_frame-*.whl
step "installed"

mkdir "$work/user"
cd "$work/user"
python=$work/venv/bin/python FRAME_CACHE=$work/cache
export FRAME_CACHE
mkdir -m 700 "$FRAME_CACHE"
case $($work/venv/bin/castles-frame --version) in "castles-frame "[0-9]*) ;; *) fail "no version" ;; esac
$python -m frame examples . > written
for name in examples fortran_stub; do
    (cd "$work/source" && find $name -type f) | sort > wanted
    grep "^$name/" written | sort > got
    diff wanted got || fail "pyproject.toml, data-files: not every file of $name is in the wheel"
done
if $python -m frame examples . > again 2>&1; then fail "examples were overwritten"; fi
grep -q "there already" again || fail "no message: $(cat again)"
$python -m frame build
[ -f build/libframe.so ] && [ -f build/frame.h ] && [ -f build/frame_interface.f90 ] || fail "build/ is not whole"
step "libframe built, examples written"

# As pasted from the README and the rules, with the module that `build` wrote.
$python - "$work/source/README.md" "$work/source/docs/reference/fortran.md" << 'PY'
import re, sys
blocks = re.findall(r"```fortran\n(.*?)```", "".join(open(page).read() for page in sys.argv[1:]), re.S)
for style in ("new_style", "old_style"):
    (text,) = [b for b in blocks if f"program {style}" in b]
    open(f"{style}.f90", "w").write(text)
PY
gfortran -Jbuild build/frame_interface.f90 new_style.f90 -o new_style -Lbuild -lframe "-Wl,-rpath,$PWD/build"
gfortran old_style.f90 -o old_style -Lbuild -lframe "-Wl,-rpath,$PWD/build"
./new_style > new.txt
./old_style > old.txt
$python - << 'PY'
import kernels
mix = kernels.Mixture.from_yaml("examples/mixtures/ch4_o2.yaml")
Y = [0.2, 0.8] + 8 * [0.0]
q = mix.properties("rho mu", T=300.0, p=1e7, Y=Y)
stat, rho, mu = open("new.txt").read().split()
assert stat == "0" and abs(float(rho) / q["rho"] - 1) < 1e-11 and abs(float(mu) / q["mu"] - 1) < 1e-11, (rho, mu, q)
assert abs(float(open("old.txt").read()) / q["rho"] - 1) < 1e-11
PY
step "both Fortran programs agree with Python"

site=$($python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
for name in kernels frame; do
    mkdir -p other/$name
    echo > other/$name/__init__.py
done
said() {    # the text that has to be in the output of a command that fails
    wanted=$1
    shift
    if "$@" > said.txt 2>&1; then fail "no error: $*"; fi
    grep -q "$wanted" said.txt || fail "$* said: $(cat said.txt)"
}
mkdir one two
mv other/kernels one/
mv other/frame two/
said "finds $PWD/one/kernels/__init__.py, not the package of castles-frame" env PYTHONPATH="$PWD/one" $python -m frame info
said "finds $PWD/one/kernels/__init__.py, not the package of castles-frame" env PYTHONPATH="$PWD/one" $python -c 'import frame'
said "finds $PWD/two/frame/__init__.py, not the package of castles-frame" env PYTHONPATH="$PWD/two" "$work/venv/bin/castles-frame" info
echo "$PWD/two" > "$site/other.pth" # what an environment puts in front of site-packages
sed -i '1s/^/import sys; sys.path.insert(0, "/; 1s/$/")/' "$site/other.pth"
said "found $PWD/two/frame/__init__.py, another package of that name" ./new_style
rm "$site/other.pth"
step "other packages of these names are told by file"
echo "1 passed in $(($(date +%s) - begin)).00s"
