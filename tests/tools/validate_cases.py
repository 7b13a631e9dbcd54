"""Shared by the tests of `python -m frame validate`: mixtures, a job."""

from mixtures_for_tests import ROOT

from frame.tools import validate
from frame.tools.reference_fluids import REGIONS
from kernels import get_backend

CH4_O2, FOUR, H2_O2, N2 = (
    ROOT / "examples/mixtures" / f"{name}.yaml" for name in ("ch4_o2", "ch4_o2_4", "h2_o2", "n2")
)
LIQUID = REGIONS["liq"]
VDW = dict(equation="vdw", diffusion="fuller", takahashi="off")


def job(mixture, file=N2, n=2000):
    return validate.Job(mixture, str(file), None, n, 3, get_backend("cpu"))
