"""python -m kernels.gas.fits [name ...]"""

import sys

from ...engine.fits.__main__ import main
from . import cubic_start, takahashi

FAMILIES = (cubic_start, takahashi)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], FAMILIES))
