"""python -m kernels.fits [name ...]"""

import sys

from . import atanh, cubic_start, exponentials, logarithms, powers, roots, takahashi

FAMILIES = (exponentials, logarithms, roots, powers, atanh, cubic_start, takahashi)
SETS = [one for family in FAMILIES for one in family.SETS]


def main(names) -> int:
    """Print the sets whose names begin with one of `names`, or all sets. Returns the exit status, 1 when there is none
    of these names."""
    wanted = [one for one in SETS if not names or one.name.startswith(tuple(names))]
    for one in wanted:
        print(f"{one.name}: kernels/{one.header}", *one.lines(), sep="\n  ")
    if not wanted:
        print("known sets:", *(one.name for one in SETS), sep="\n  ", file=sys.stderr)
    return 0 if wanted else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
