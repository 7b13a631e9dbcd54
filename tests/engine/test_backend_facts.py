"""Facts of devices, and that products ask the backend for them.

Numbers: CUDA C++ Programming Guide, technical specifications by compute capability.
"""

import re

import pytest
from hosts import ROOT

from kernels import get_backend
from kernels.engine.backend.facts import REFERENCE, of_capability

KIB = 1024
PRODUCTS = ("gas", "teams", "marshal")
# Questions for a backend's name or style, and numbers of a device
QUESTIONS = re.compile(r"\.style [=!]=|\.name [=!]= \"(cpu|cuda)\"|\b(227|228|113|99|163) \* 1024|\b65536\b|is_cuda")


@pytest.mark.parametrize("arch, of_block, resident", [("sm_80", 163, 164), ("sm_86", 99, 100), ("sm_90", 227, 228)])
def test_blocks_side_by_side_share_a_multiprocessors_memory(arch, of_block, resident):
    """The system takes 1 KiB of each block."""
    facts = get_backend("cuda", arch=arch).facts
    assert facts.shared_for(1) == of_block * KIB
    for blocks in (2, 3, 5):
        most = facts.shared_for(blocks)
        assert blocks * (most + KIB) <= resident * KIB < blocks * (most + KIB + 1)


def test_a_block_of_the_reference_device():
    assert REFERENCE == of_capability(90) and REFERENCE.warp == 32
    assert REFERENCE.resident_blocks(threads=256, shared=0) == 8
    assert REFERENCE.resident_blocks(threads=128, shared=100 * KIB) == 2


def test_an_unknown_device_has_no_known_shared_memory():
    assert of_capability(61).shared_of_block == 0 and of_capability(61).generation == 6


def test_a_thread_of_a_cpu_works_by_itself():
    cpu, device = get_backend("cpu"), get_backend("cuda", arch="sm_90")
    assert (cpu.sharing(256), device.sharing(256)) == (1, 256)
    assert (cpu.shared_memory, cpu.generation, cpu.in_warps) == (0, 0, False)
    assert device.in_warps and device.generation == 9


@pytest.mark.parametrize("product", PRODUCTS)
def test_no_product_asks_on_which_backend_it_is(product):
    for file in (ROOT / "kernels" / product).rglob("*.py"):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            assert not QUESTIONS.search(line), f"{file.name}, line {number}: {line.strip()}"


@pytest.mark.parametrize("product", ["gas", "teams", "contractions", "marshal"])
def test_products_import_the_engine_and_not_each_other(product):
    others = {"gas", "teams", "contractions", "marshal"} - {product}
    imports = re.compile(rf"from (\.\.+|kernels\.)({'|'.join(sorted(others))})\b")
    for file in (ROOT / "kernels" / product).rglob("*.py"):
        assert not imports.search(file.read_text()), file
