"""Numbers that the plain and the compiled kernels agree on."""

from __future__ import annotations

import sys

SYMMETRY_TOL = 1e-8
UNIT_ROUNDOFF = 2.0**-53
SMALLEST_NORMAL = sys.float_info.min  # below it floats lose digits
LANES = 64  # matrices that the compiled code takes side by side
WIDTH = 8  # matrices whose factors are computed together
TOGETHER = 64  # such groups whose factors are added up by themselves: so many steps have the longest chain of sums
QUICK = 2.0**10  # up to such a sum of squares a quick bound on what a factor loses is good enough
LARGEST_JACOBI = 8  # up to here it is faster than tridiagonal QL, and so is a cheaper bound on rounding errors

# Where the statistics of a sum of logarithms are kept, see `riemdp.kernels.spectral.LogSum`.
SMALLEST, CONDITIONING, SQUARES, ASYMMETRY = range(4)
