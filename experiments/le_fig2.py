"""LE Figure 2: private class means of 9 x 9 and 11 x 11 descriptors of medical images.

Full lines use the paper's ball (Theorem 5), dashed ones the tight ball of the same descriptors. The OCT images are
of OCTMNIST's source, a quarter as many; PathMNIST is a sample of 10 % of its test split, so that errors are far
larger than the paper's. Bands hold 95 % of single releases.
"""

from harness import Figure, main
from le_common import OCT, PATH, class_means, draw_class_means

FIGURE = Figure(
    "le_fig2",
    "LE Figure 2, class means of medical images",
    lambda quick, track: class_means((PATH, OCT), quick, track),
    draw_class_means,
    data=(PATH.file, OCT.file),
)

if __name__ == "__main__":
    main(FIGURE)
