"""A rank of several that share the GPUs of a node: mpirun -n 8 python tests/gpu_several.py

Rank 0 prints which device each rank has taken, and fails where the shares are not even, where a rank is far from its
device though one nearby has room, or where a rank has wrong numbers.
"""

import os
import sys

from gpu_faults import Calls
from mpi4py import MPI

from frame.devices.spread import numa_node
from kernels.engine.backend import device_nodes

if __name__ == "__main__":
    os.environ["FRAME_BACKEND"] = "cuda"
    comm = MPI.COMM_WORLD
    calls = Calls(comm.py2f())
    for _ in range(3):
        calls.once()
    mine = (calls.frame.backend.device, numa_node(os.sched_getaffinity(0)))
    everyone, fine = comm.gather(mine), True
    if everyone is not None:
        nodes = device_nodes()
        counts = [sum(device == d for device, _ in everyone) for d in range(len(nodes))]
        far = [rank for rank, (device, node) in enumerate(everyone) if node in nodes and nodes[device] != node]
        room = [rank for rank in far if counts[nodes.index(everyone[rank][1])] < max(counts)]
        fine = max(counts) - min(counts) <= 1 and not room
        print(f"NUMA nodes of the devices {nodes}; ranks a device {counts}; numbers right", flush=True)
        print(
            "rank: device, NUMA node of its cores: " + "; ".join(f"{r}: {d}, {n}" for r, (d, n) in enumerate(everyone))
        )
        print("as wanted" if fine else f"NOT AS WANTED: ranks {far} are far from their device", flush=True)
    calls.frame.finalize()
    sys.exit(not comm.bcast(fine))
