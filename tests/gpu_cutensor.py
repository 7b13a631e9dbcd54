"""Collects cuTENSOR, a rival of `bench tccg`, for a GPU machine that has no network.

    .venv/bin/python tests/gpu_cutensor.py [ARCHITECTURE]     90, the default: H100, H200

The library holds machine code for many GPUs, more than 300 MB. The code of all others is overwritten by zeros here, so
that the library keeps its size and its addresses, and is 45 MB when compressed. It lies in .carry/cutensor, from where
tests/gpu_setup.sh unpacks it; send .carry along with the working tree, after `make gpu-carry` or instead of it.
"""

from __future__ import annotations

import lzma
import pathlib
import struct
import subprocess
import sys
import tempfile
import zipfile

WHEEL = "cutensor-cu13"  # of CUDA 13, as CuPy on the GPU machine is
LIBRARIES = ("libcutensor.so.2", "libcutensorMg.so.2")
CARRIED = pathlib.Path(__file__).resolve().parents[1] / ".carry" / "cutensor"

# A container of device code: a head, then images of code, each with a head of its own (offsets in bytes).
MAGIC = 0xBA55ED50
CONTAINER = struct.Struct("<IHHQ")  # magic, version, size of this head, size of the rest
IMAGE = struct.Struct("<HHIQ")  # kind, version, size of this head, size of the code
ARCHITECTURE_AT = 28  # of an image's head, 4 bytes
MACHINE_CODE = 2  # a kind; the other is text that the driver compiles


def download(folder: pathlib.Path) -> pathlib.Path:
    """The wheel. Raises CalledProcessError where it cannot be fetched."""
    words = ["pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--platform", "manylinux2014_x86_64"]
    subprocess.run([sys.executable, "-m", *words, "-d", str(folder), WHEEL], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def without_other_code(library: bytes, architecture: int) -> tuple[bytearray, int]:
    """The library with zeros in the place of other GPUs' machine code, and the bytes of code that are kept."""
    trimmed = bytearray(library)
    kept = 0

    at = library.find(struct.pack("<I", MAGIC))
    while at >= 0:
        _, version, head, size = CONTAINER.unpack_from(library, at)
        if version == 1 and head == CONTAINER.size:
            kept += _clear(trimmed, at + head, size, architecture)
        at = library.find(struct.pack("<I", MAGIC), at + 4)
    return trimmed, kept


def _clear(library: bytearray, begin: int, size: int, architecture: int) -> int:
    """Overwrites the images of a container that are of another architecture; returns the bytes of the others."""
    kept = 0
    at = begin
    while at < begin + size:
        kind, _, head, code = IMAGE.unpack_from(library, at)
        (of,) = struct.unpack_from("<I", library, at + ARCHITECTURE_AT)

        if kind == MACHINE_CODE and of != architecture or of > architecture:
            library[at + head : at + head + code] = bytes(code)
        else:
            kept += code
        at += head + code
    return kept


def main() -> int:
    """Writes the libraries to .carry/cutensor."""
    architecture = int(sys.argv[1]) if len(sys.argv) > 1 else 90
    CARRIED.mkdir(parents=True, exist_ok=True)

    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(download(pathlib.Path(folder))) as wheel:
        for name in LIBRARIES:
            library, kept = without_other_code(wheel.read(f"cutensor/lib/{name}"), architecture)
            packed = lzma.compress(library)
            (CARRIED / f"{name}.xz").write_bytes(packed)
            sizes = [f"{size / 1e6:.0f} MB" for size in (len(library), kept, len(packed))]
            print("{}: {}, code of sm_{} {}, packed {}".format(name, sizes[0], architecture, *sizes[1:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
