"""What the README names is there. (tests/test_demo.py pastes and runs its programs.)"""

import re

from hosts import ROOT

from frame.config import PRECISIONS
from kernels import OPTIONS, quantities

TEXT = (ROOT / "README.md").read_text()


def test_named_files_and_quantities_exist():
    for path in re.findall(r"`((?:examples|fortran_stub|tests|build)/[\w./]+)`", TEXT):
        if not path.startswith("build/"):
            assert (ROOT / path.rstrip("/")).exists(), path
    for row in re.findall(r"(?m)^\| `([\w ]+)` \| ", TEXT):
        known = set(quantities) | set(OPTIONS) | {"precision"}
        assert all(n in known or n.startswith("FRAME_") for n in row.split()), row
    for option, values in {**OPTIONS, "precision": PRECISIONS}.items():
        assert all(f"`{v}`" in TEXT for v in values), option
