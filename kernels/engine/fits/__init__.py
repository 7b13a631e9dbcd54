"""Where the coefficients in the headers come from. Each set is computed anew and compared with the set in its header;
its largest error is found.

    python -m kernels.engine.fits [name ...]

prints the sets whose names begin with one of the names given, or all sets. tests/engine/test_fits.py checks the
headers.
"""
