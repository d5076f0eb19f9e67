"""LE Figure 3: private class means of descriptors of everyday images.

As Figure 2. FashionMNIST is grey (the paper calls it RGB), hence 9 x 9 here; KMNIST is its test split.
"""

from harness import Figure, main
from le_common import CIFAR, FASHION, KMNIST, MNIST, class_means, draw_class_means

SETS = (MNIST, KMNIST, CIFAR, FASHION)
FIGURE = Figure(
    "le_fig3",
    "LE Figure 3, class means of everyday images",
    lambda quick, track: class_means(SETS, quick, track),
    draw_class_means,
    data=tuple(images.file for images in SETS),
)

if __name__ == "__main__":
    main(FIGURE)
