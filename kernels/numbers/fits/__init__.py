"""Where the coefficients in the headers come from: each set is made anew, compared with what stands in its header, and
its largest error is found.

    python -m kernels.numbers.fits [name ...]

prints the sets whose names begin so, all of them without a name. tests/test_fits.py holds the headers to it.
"""
