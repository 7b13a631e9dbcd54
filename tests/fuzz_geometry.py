"""Random geometries through libframe: ranks, kinds, strides, lower bounds, boxes, fringes, stripes, empty ranges.

  .venv/bin/python tests/fuzz_geometry.py --calls 100000            also --compiler flang, --seed, --only NUMBER

Each call fills arrays in memory of its own, in which every page without a selected element is out of bounds
(PROT_NONE): a read or a write outside of the array ends the run, and its number is told. Elements that are not selected
are NaN; a result that one of them got into is wrong. After the call each byte is compared. Calls go by the symbols
(`old`: put, launch, get, block) and by the module (`copied`: frame_put, frame_get; `block`), some with a box that the
arrays do not contain (`refused`): status 3, and nothing is written. Prints how many calls of each kind came out right.
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import mmap
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(os.environ.get("FRAME_TEST_BUILD") or ROOT / "build")  # set by sanitize.py
MODULE = BUILD / "frame_interface.f90"
NAMES, INPUTS = ("T", "Y", "p", "X"), 2
MOST_ARRAYS = 8  # of a call: T, p, and an array for each of three species of Y and X
ARENA = 24 * mmap.PAGESIZE
SETTINGS = [(1, 37), (2, 8), (3, 1000)]  # species, chunk
CALLS_OF_A_SETTING = 200
PROT_NONE, PROT_ALL = 0, mmap.PROT_READ | mmap.PROT_WRITE
DONE, BAD_ARGUMENT = 0, 3


# ---- the Fortran side: pointers with the bounds and strides that Python asks for ----------------------------------

HOST = """
module fuzz
  use, intrinsic :: iso_c_binding
  use frame_interface
  implicit none
  type, bind(c) :: place
    type(c_ptr) :: address
    integer(c_int) :: size, rank, whole(5), start(5), step(5), count(5), lower(5)
  end type
contains
  function tag_of(n) result(tag)
    integer, intent(in) :: n
    character(1) :: tag
    character(1), parameter :: tags(4) = ['T', 'Y', 'p', 'X']
    tag = tags(n)
  end function

  function block(m, places, names, n, lo, hi) bind(c, name='fuzz_block') result(status)
    integer(c_int), value :: m                        ! arrays
    type(place), intent(in) :: places(m)
    integer(c_int), intent(in) :: names(m)            ! of each array; several of Y or X: a species each
    integer(c_int), value :: n                        ! bounds given; 0: neither lo nor hi
    integer(c_int), intent(in) :: lo(3), hi(3)
    integer(c_int) :: status
    type(frame_field) :: f(m)
    integer :: i, stat
    do i = 1, m
      f(i) = field(places(i), names(i))
    end do
    if (n > 0) then
      call frame_block('copies', f, int(lo(:n)), int(hi(:n)), stat)
    else
      call frame_block('copies', f, stat=stat)
    end if
    status = stat
  end function

  function field(a, n) result(f)
    type(place), intent(in) :: a
    integer, intent(in) :: n
    type(frame_field) :: f
{pointers}
    select case (10*a%size + a%rank)
{fields}
    end select
  end function

  function copied(a, n, bounds, lo, hi, first, last) bind(c, name='fuzz_copied') result(status)
    type(place), intent(in) :: a
    integer(c_int), value :: n, bounds, first, last
    integer(c_int), intent(in) :: lo(3), hi(3)
    integer(c_int) :: status
    integer :: stat
{pointers}
    select case (10*a%size + a%rank)
{copies}
    end select
    status = stat
  end function
end module
"""


def host_source() -> str:
    pointers, fields, copies = [], [], []
    for size, real in ((4, "c_float"), (8, "c_double")):
        for rank in range(1, 6):
            name, shape = f"a{size}{rank}", ",".join(":" * rank)
            pointers.append(f"    real({real}), pointer :: w{name}({shape}), {name}({shape})")

            section = (
                ", ".join(
                    f"a%start({d}):a%start({d}) + (a%count({d}) - 1)*a%step({d}):a%step({d})"
                    for d in range(1, rank + 1)
                )
                .replace("), a%", "), &\n          a%")
                .replace(", a%start", ", &\n          a%start")
            )

            lower = ", ".join(f"a%lower({d}):" for d in range(1, rank + 1))
            point = (
                f"    case ({10 * size + rank})\n      call c_f_pointer(a%address, w{name}, a%whole(:{rank}))\n"
                f"      {name}({lower}) => w{name}( &\n          {section})\n"
            )

            fields.append(
                f"{point}      if (n <= {INPUTS}) then\n        f = frame_in(tag_of(n), {name})\n      else\n"
                f"        f = frame_out(tag_of(n), {name})\n      end if"
            )

            copies.append(
                f"{point}      if (n <= {INPUTS}) then\n"
                f"        call frame_put(tag_of(n), {name}, int(lo(:bounds)), int(hi(:bounds)), first, last, stat)\n"
                f"      else\n"
                f"        call frame_get(tag_of(n), {name}, int(lo(:bounds)), int(hi(:bounds)), first, last, stat)\n"
                f"      end if"
            )

    parts = {"pointers": pointers, "fields": fields, "copies": copies}
    return HOST.format(**{k: "\n".join(v) for k, v in parts.items()})


class Place(ctypes.Structure):
    _fields_ = [
        ("address", ctypes.c_void_p),
        ("size", ctypes.c_int),
        ("rank", ctypes.c_int),
        *((name, ctypes.c_int * 5) for name in ("whole", "start", "step", "count", "lower")),
    ]


def load(compiler: str, folder: pathlib.Path):
    (folder / "fuzz.f90").write_text(host_source())
    command = [compiler, "-O1", "-g", "-fPIC", "-shared", MODULE, "fuzz.f90", "-o", "libfuzz.so"]
    command += [f"-L{BUILD}", "-lframe", f"-Wl,-rpath,{BUILD}"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(BUILD / "libframe.so"), ctypes.RTLD_GLOBAL), ctypes.CDLL(str(folder / "libfuzz.so"))


# ---- memory -------------------------------------------------------------------------------------------------------

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Arena:
    """Memory for one array, between pages that cannot be touched."""

    def __init__(self):
        self.low = libc.mmap(None, ARENA + 2 * mmap.PAGESIZE, PROT_NONE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        self.low += mmap.PAGESIZE
        self.protect(0, ARENA // mmap.PAGESIZE, PROT_ALL)
        self.bytes = np.ctypeslib.as_array((ctypes.c_uint8 * ARENA).from_address(self.low))

    def protect(self, first, pages, what):
        assert libc.mprotect(self.low + first * mmap.PAGESIZE, pages * mmap.PAGESIZE, what) == 0

    def close(self, offsets, size):
        """Only pages that hold a byte of these elements stay open."""
        used = np.zeros(ARENA // mmap.PAGESIZE + 1, bool)
        used[offsets // mmap.PAGESIZE] = used[(offsets + size - 1) // mmap.PAGESIZE] = True
        edges = np.flatnonzero(np.diff(used[:-1].astype(np.int8), prepend=1, append=1))
        for first, end in zip(edges[::2], edges[1::2]):
            self.protect(int(first), int(end - first), PROT_NONE)

    def open(self):
        self.protect(0, ARENA // mmap.PAGESIZE, PROT_ALL)


class Array:
    """A section of a random Fortran array somewhere in an arena. box: its shape in space; rows: variables. plain: of an
    old-style call. simple: real(8), without steps and gaps, as kernels on a CPU work on where it lies."""

    def __init__(self, rng, arena, box, rows, lo, fringes, plain, simple):
        for attempt in range(100):
            if self._try(rng, arena, box, rows, lo, fringes, plain, simple, wide=attempt < 20):
                return
        raise RuntimeError("no place in the arena")

    def _try(self, rng, arena, box, rows, lo, fringes, plain, simple, wide):
        self.arena, self.rows = arena, rows
        simple = simple or plain
        self.size = 8 if simple else int(rng.choice([4, 8]))
        low = rng.integers(0, 3, len(box)) if fringes else np.zeros(len(box), int)
        high = rng.integers(0, 3, len(box)) if fringes else low
        count = [*(np.array(box) + low + high)]

        if plain or len(box) == 3:
            count += [rows] if plain or rng.random() < 0.5 or rows == 1 else [[1, rows], [rows, 1]][rng.integers(2)]
            if len(count) == 4 and rows == 1 and not plain and rng.random() < 0.6:
                count = count[:3]
        elif rows > 1:
            count += [rows]

        count = np.array(count, int)
        rank = len(count)
        step = np.ones(rank, int) if simple else rng.choice([1, 1, 1, 2, 3, -1, -2], rank)
        if rank == 5:
            step[3:] = 1
        spare = np.zeros((2, rank), int) if simple else rng.integers(0, 3, (2, rank)) * (rng.random(rank) < 0.5)
        if rank == 5:
            spare[:, 3:] = 0
        if not simple and wide and rng.random() < 0.2:  # gaps of pages
            spare[1, rng.integers(0, min(rank, 3))] += 600
        whole = np.maximum((count - 1) * abs(step) + 1, 1) + spare.sum(axis=0)
        total = int(np.prod(whole)) * self.size
        if total > ARENA:
            return False

        start = spare[0] + np.where(step < 0, np.maximum(count - 1, 0) * -step, 0)  # zero-based
        space = [int(rng.integers(0, (ARENA - total) // 4 + 1)) * 4, 0, ARENA - total][rng.integers(3)]
        self.base = space // self.size * self.size
        self.lower = np.ones(rank, int)
        self.lower[: len(box)] = np.array(lo) - low
        self.low, self.high, self.count, self.whole, self.start, self.step = low, high, count, whole, start, step
        index = []

        for d in range(rank):
            first = int(low[d]) if d < len(box) else 0
            n = box[d] if d < len(box) else count[d]
            index.append(start[d] + step[d] * (first + np.arange(n)))

        strides = self.size * np.cumprod([1, *whole[:-1]])
        offset = np.full([1] * rank, self.base)
        for d in range(rank):
            offset = offset + (index[d] * strides[d]).reshape([-1 if e == d else 1 for e in range(rank)])

        # (rows, points), points with x fastest
        self.offsets = offset.reshape((-1, rows), order="F").T.copy()
        return True

    @property
    def dtype(self):
        return np.float64 if self.size == 8 else np.float32

    def values(self):
        """Values of the selected elements, (rows, points)."""
        return self.arena.bytes[self.offsets[..., None] + np.arange(self.size)].copy().view(self.dtype)[..., 0]

    def set(self, values):
        raw = np.ascontiguousarray(values, self.dtype)[..., None].view(np.uint8)
        self.arena.bytes[self.offsets[..., None] + np.arange(self.size)] = raw.reshape(*values.shape, self.size)

    def place(self) -> Place:
        five = lambda v: (ctypes.c_int * 5)(*map(int, v))
        return Place(
            self.arena.low + self.base,
            self.size,
            len(self.count),
            five(self.whole),
            five(self.start + 1),
            five(self.step),
            five(self.count),
            five(self.lower),
        )


# ---- calls --------------------------------------------------------------------------------------------------------

three = lambda v: (ctypes.c_int * 3)(*map(int, v), *[0] * (3 - len(v)))


class Fuzz:
    def __init__(self, seed, libraries):
        self.seed, (self.frame, self.host) = seed, libraries
        self.arenas = [Arena() for _ in range(MOST_ARRAYS)]
        self.setting = None

    def begin(self, setting):
        if setting != self.setting:
            self.setting, (self.ns, self.chunk) = setting, setting
            self.frame.frame_finalize_()
            assert self.frame.frame_initialize_(-1, self.chunk, self.ns, 1, 0) == 0

            file = ROOT / "tests" / "fortran" / "copies.py"
            assert self.frame.frame_registerkernel_(str(file).encode()) == 0, self.message()

    def message(self):
        text = ctypes.create_string_buffer(1000)
        self.frame.frame_lasterror_(text, 999)
        return text.value.decode().rstrip()

    def call(self, number: int) -> str:
        rng = np.random.default_rng([self.seed, number])
        self.begin(SETTINGS[number // CALLS_OF_A_SETTING % len(SETTINGS)])
        kind = ["old", "copied", "block", "block", "refused"][rng.integers(5)]
        plain = kind == "old"
        rank = 3 if plain else int(rng.integers(1, 4))
        simple = kind == "block" and rng.random() < 0.4
        box = [int(n) for n in rng.integers(1, 12 if simple else 6, rank)]
        if not plain and rng.random() < 0.05:
            box[rng.integers(rank)] = 0
        lo = rng.integers(-4, 5, rank)
        given = plain or kind in ("refused", "copied") or rng.random() < (0.3 if simple else 0.7)  # lo and hi
        rows = {"T": 1, "Y": self.ns, "p": 1, "X": self.ns}

        # old: the variables of both inputs, and of both outputs, may lie in one array: castles_block
        pieces = []  # (name, its rows) of each array
        for name in NAMES:
            apart = kind in ("block", "refused") and rows[name] > 1 and rng.random() < 0.4
            parts = [slice(s, s + 1) for s in range(rows[name])] if apart else [slice(0, rows[name])]
            pieces += [(name, part) for part in parts]

        arrays = []
        for (_, part), arena in zip(pieces, self.arenas):
            arrays.append(Array(rng, arena, box, part.stop - part.start, lo, given, plain, simple))
        self.names = [NAMES.index(name) + 1 for name, _ in pieces]
        points = int(np.prod(box))
        T = rng.integers(1, 2000, (1, points)).astype(float)
        Y = rng.integers(0, 300, (self.ns, points)) / 1024
        Y[-1] = 1 - Y[:-1].sum(axis=0)  # exact; where the sum is not 1 the results are NaN
        for arena in self.arenas:
            arena.bytes[:] = 0xFF  # NaN

        for (name, part), array in zip(pieces, arrays):
            if name in "TY":
                array.set((T if name == "T" else Y)[part])

        before = [arena.bytes.copy() for arena in self.arenas]
        done = np.ones(points, bool)  # points that the call computes
        for array in arrays:
            array.arena.close(array.offsets.ravel(), array.size)

        try:
            status = getattr(self, kind)(rng, arrays, box, lo, given, done)
        finally:
            for array in arrays:
                array.arena.open()

        wanted = BAD_ARGUMENT if kind == "refused" and points else DONE
        assert status == wanted, f"{kind}: status {status}, wanted {wanted}: {self.message()}"

        results = {"p": 2 * T, "X": 3 * Y}
        for (name, part), array, old in zip(pieces, arrays, before):
            if name in results and status == DONE:
                got, result = array.values(), results[name][part]
                assert np.array_equal(got[:, done], result[:, done]), f"{kind}: {name} is wrong"
                keep = array.offsets[:, done][..., None] + np.arange(array.size)
                old[keep] = array.arena.bytes[keep]
            assert np.array_equal(old, array.arena.bytes), f"{kind}: more of {name} than selected was written"

        return kind

    def stripe(self, rng, box, done):
        points = int(np.prod(box))
        first = int(rng.integers(1, points + 1))
        last = min(points, first + int(rng.integers(0, self.chunk)))
        done[:] = False
        done[first - 1 : last] = True

        return first, last

    def old(self, rng, arrays, box, lo, given, done):
        first, last = self.stripe(rng, box, done)
        frame, status = self.frame, []

        for name, array in zip(NAMES, arrays):
            bounds = [int(x) for low, n in zip(array.low, box) for x in (low + 1, low + n)]
            shape = [int(n) for n in array.count[:3]]
            if name == "p":
                status.append(frame.frame_launch_(b"copies", last - first + 1))
            call = (
                frame.frame_castles_populateinputstripe_ if name in "TY" else frame.frame_castles_populateoutputstripe_
            )
            address = ctypes.c_void_p(array.arena.low + array.base)
            status.append(call(name.encode(), address, *shape, *bounds, 1, array.rows, first, last))

        return max(status)

    def copied(self, rng, arrays, box, lo, given, done):
        points, status = int(np.prod(box)), []
        first, last = self.stripe(rng, box, done) if points else (0, 0)

        for n, array in enumerate(arrays, 1):
            if n == INPUTS + 1 and points:
                status.append(self.frame.frame_launch_(b"copies", last - first + 1))
            low, high = array.low + 1, array.low + np.array(box)
            place = array.place()
            arguments = (n, len(box), three(low), three(high))
            if first:
                status.append(self.host.fuzz_copied(ctypes.byref(place), *arguments, first, last))

        return max(status, default=DONE)

    def block(self, rng, arrays, box, lo, given, done):
        return self.called(arrays, len(box) if given else 0, lo, lo + box - 1)

    def called(self, arrays, bounds, lo, hi):
        """Status of a block call."""
        places = (Place * len(arrays))(*(a.place() for a in arrays))
        names = (ctypes.c_int * len(arrays))(*self.names)
        return self.host.fuzz_block(len(arrays), places, names, bounds, three(lo), three(hi))

    def refused(self, rng, arrays, box, lo, given, done):
        """The box reaches beyond one of the arrays by one."""
        d, array = rng.integers(len(box)), arrays[rng.integers(len(arrays))]
        lo, hi = lo.copy(), lo + box - 1

        if rng.random() < 0.5:
            lo[d] = array.lower[d] - 1
        else:
            hi[d] = array.lower[d] + array.count[d]

        if np.any(hi < lo) or not all(box):
            return DONE if not all(box) else BAD_ARGUMENT

        name = self.names[[a is array for a in arrays].index(True)]
        alone = [int(np.prod(a.count)) == a.rows for a, other in zip(arrays, self.names) if other == name]
        if name <= INPUTS and all(alone):  # a number, which counts at all points
            return BAD_ARGUMENT

        return self.called(arrays, len(box), lo, hi)


def main(arguments=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=100000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="this one call, as a failure names it")
    parser.add_argument("--compiler", default="gfortran", help="command of the Fortran compiler of the host")
    told = parser.parse_args(arguments)
    os.environ.update(FRAME_BACKEND="cpu", FRAME_ON_ERROR="return")
    number = mmap.mmap(-1, 8)  # shared: which call a dead process was at
    at = np.frombuffer(number, np.int64)
    begin = time.perf_counter()
    child = os.fork()

    if not child:
        with tempfile.TemporaryDirectory() as folder:
            fuzz, right = Fuzz(told.seed, load(told.compiler, pathlib.Path(folder))), collections.Counter()
            for n in range(told.calls) if told.only is None else [told.only]:
                at[0] = n
                right[fuzz.call(n)] += 1

            print(f"{sum(right.values())} calls right: {dict(sorted(right.items()))}", flush=True)

        sys.stderr.flush()
        os._exit(0)

    _, status = os.waitpid(child, 0)
    print(f"{told.compiler}, seed {told.seed}, {time.perf_counter() - begin:.0f} s")

    if status:
        why = f"ended by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "is wrong"
        print(f"call {at[0]} {why}; again: --seed {told.seed} --only {at[0]}")

    return int(status != 0)


if __name__ == "__main__":
    sys.exit(main())
