"""Exercise 9: exercise 8 without the barrier. `--backend stand-in` finds it: scratch is NaN there until it is written.

On a GPU the threads of a warp may happen to be in time; a CPU's team is one thread, which needs no barrier.
"""

from common import WrongResult, kernels_of, main
from scratch_field import DECLARED, scratch_field, sums

scratch_race = kernels_of(__file__)("scratch_race", **DECLARED)


def exercise(backend, E=20, Q=16, V=64, nrepeat=0, quick=False):
    sums(scratch_field, backend, E, Q, V, nrepeat, quick)
    print("scratch_race, with the barrier: nothing is found")
    try:
        sums(scratch_race, backend, E, Q, V, nrepeat, quick)
    except WrongResult as error:
        print(f"scratch_race, without it: {error}")
        return True
    print(f"scratch_race, without it: nothing is found by {backend}")
    return False


if __name__ == "__main__":
    main(exercise)
