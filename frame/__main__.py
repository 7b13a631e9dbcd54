import os
import sys

if "bench" in sys.argv[1:2]:  # measured on one core: NumPy's BLAS has to be told before NumPy is imported
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from .tools.cli import main  # noqa: E402

sys.exit(main())
