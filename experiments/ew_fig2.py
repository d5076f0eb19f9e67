"""EW Figure 2: mu-GDP means of 5 x 5 descriptors of retinal images, classes 1 and 2, affine-invariant metric.

The ball of the paper has radius 30.9. "Riemannian Laplace" and "footpoint I" are as printed, drawn exactly. The paper's
footpoint is a Riemannian Laplace mean of 5 % of the images for 10 % of the budget: that law does not exist at any mu
shown here, so it is given the larger epsilon that uniform subsampling allows. "Adaptive ball" is private_mean(...,
adapt=True) in the same ball. Bands: two standard errors. Data: OCT images of OCTMNIST's source, a quarter as many.
"""

from ew_common import OCT, draw_retina, retina
from harness import Figure, main

FIGURE = Figure(
    "ew_fig2",
    "EW Figure 2, retinal images",
    lambda quick, track: retina((1, 2), quick, track),
    draw_retina,
    data=(OCT,),
)

if __name__ == "__main__":
    main(FIGURE)
