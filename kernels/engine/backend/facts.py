"""Facts of a device that decide how a launch is organised: its warp, its memory near the threads, its registers.

Numbers: CUDA C++ Programming Guide, technical specifications by compute capability.
"""

from __future__ import annotations

import dataclasses

KIB = 1024


@dataclasses.dataclass(frozen=True)
class DeviceFacts:
    """Resources of a device for the threads of a launch. Memory in bytes."""

    generation: int  # major number of the compute capability
    warp: int  # threads that run in step
    threads_of_block: int  # at most
    threads_resident: int  # of a multiprocessor, at most
    registers: int  # of a multiprocessor, 32 bits each
    shared_of_block: int  # shared memory, at most
    shared_resident: int  # shared memory of a multiprocessor
    shared_reserved: int  # of each block, by the system
    constant: int  # constant memory that a source may fill

    def shared_for(self, blocks: int) -> int:
        """Shared memory that each of so many blocks may have side by side on a multiprocessor."""
        return min(self.shared_resident // blocks - self.shared_reserved, self.shared_of_block)

    def resident_blocks(self, threads: int, shared: int) -> int:
        """Blocks that a multiprocessor has room for, by threads and shared memory; registers are not counted."""
        by_threads = self.threads_resident // threads
        return min(by_threads, self.shared_of_block // max(shared + self.shared_reserved, 1))


# A CPU: a thread has all of its core, and no other to share work or memory near it.
CPU = DeviceFacts(
    generation=0,
    warp=1,
    threads_of_block=1,
    threads_resident=1,
    registers=0,
    shared_of_block=0,
    shared_resident=0,
    shared_reserved=0,
    constant=0,
)

# compute capability: KiB of shared memory of a block, of a multiprocessor; threads of a multiprocessor
_BY_CAPABILITY = {
    70: (96, 96, 2048),
    75: (64, 64, 1024),
    80: (163, 164, 2048),
    86: (99, 100, 1536),
    87: (163, 164, 1536),
    89: (99, 100, 1536),
    90: (227, 228, 2048),
    100: (227, 228, 2048),
    120: (99, 100, 1536),
}
_UNKNOWN = (0, 0, 2048)


def of_capability(number: int) -> DeviceFacts:
    """The facts of a device by 10 times its compute capability, such as 90. Shared memory of an unknown one is 0."""
    of_block, resident, threads = _BY_CAPABILITY.get(number, _UNKNOWN)
    return DeviceFacts(
        generation=number // 10,
        warp=32,
        threads_of_block=1024,
        threads_resident=threads,
        registers=64 * KIB,
        shared_of_block=of_block * KIB,
        shared_resident=resident * KIB,
        shared_reserved=1 * KIB if number >= 80 else 0,
        constant=60 * KIB,  # of 64 KiB, less what the compiler itself puts there
    )


# The device of the committed tables (H100, H200). Sources that do not know their device are organised for it.
REFERENCE = of_capability(90)
