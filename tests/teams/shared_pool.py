"""Two kernels of a host with a pool of ids of global scope."""

from kernels import Range, team_kernel

POOL = {"pool": "shared 64"}
team_kernel("take_ids", Range("n"), header="shared_pool.h", arrays="id(n):whole", writes="id", tokens=POOL)
team_kernel("give_ids", Range("n"), header="shared_pool.h", arrays="id(n):whole", tokens=POOL)
