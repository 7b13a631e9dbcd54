import os
import sys

if "bench" in sys.argv[1:2]:  # bench measures on one core; NumPy's BLAS reads this when NumPy is imported
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from .tools.cli import main

sys.exit(main())
