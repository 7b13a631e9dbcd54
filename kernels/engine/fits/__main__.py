"""python -m kernels.engine.fits [name ...]"""

import sys

from . import atan, atanh, exponentials, logarithms, powers, roots

FAMILIES = (exponentials, logarithms, roots, powers, atanh, atan)


def sets_of(families) -> list:
    """The sets of coefficients of these modules."""
    sets: list = []
    for family in families:
        sets += family.SETS
    return sets


def main(names, families=FAMILIES) -> int:
    """Prints the sets whose names begin with a text in `names`, or all sets. Returns the exit status: 1 without such a
    set."""
    known = sets_of(families)
    wanted = [fit for fit in known if not names or fit.name.startswith(tuple(names))]

    for fit in wanted:
        print(f"{fit.name}: kernels/{fit.header}", *fit.lines(), sep="\n  ")
    if not wanted:
        print("known sets:", *(fit.name for fit in known), sep="\n  ", file=sys.stderr)

    return 0 if wanted else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
