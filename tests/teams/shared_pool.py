"""Two kernels of a host with a pool of ids of global scope."""

from kernels import team_kernel

POOL = {"pool": "shared 64"}
team_kernel("take_ids", header="shared_pool.h", arrays="id(n):whole", writes="id", range="n", tokens=POOL)
team_kernel("give_ids", header="shared_pool.h", arrays="id(n):whole", range="n", tokens=POOL)
