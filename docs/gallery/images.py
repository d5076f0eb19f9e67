# %% [markdown]
# # Images: what sets handwritten digits apart
#
# An image becomes a covariance matrix of its pixels' features: position, ink, edges. The
# mean matrix of each digit is published. The 1,797 digits come with scikit-learn.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import riemdp as rd

digits = load_digits()
images = np.pad(digits.images / 16, ((0, 0), (2, 2), (2, 2)))
X = rd.covariance_descriptors(images, eta=1e-3)  # (1797, 9, 9)

# %% [markdown]
# ## A ball that holds every image there can be
#
# Every feature has a bounded range, so the eigenvalues have proven bounds.

# %%
space = rd.SPDLogEuclidean(9)
ball = rd.Ball.from_eigenvalue_bounds(space, *rd.descriptor_eigenvalue_bounds(1, eta=1e-3))
model = rd.PrivateMDM(ball=ball, guarantee=rd.GDP(1.0), adapt=True)
model.fit(X, digits.target)
print(model.guarantee_)

# %% [markdown]
# ## The picture
#
# Above, average images; below, what sets the mean matrix of each digit apart from that of
# all: purple for more, orange for less. The top two rows are for this picture only.

# %%
exact = np.stack([rd.frechet_mean(X[digits.target == d], space).point for d in range(10)])
averages = [digits.images[digits.target == d].mean(axis=0) for d in range(10)]
rows = {"average image\n(NOT private)": averages}
both = {"exact mean\n(NOT private)": exact, "private mean\nmu = 1": model.means_}
for name, means in both.items():
    logs = space.log(means, np.eye(9))
    rows[name] = logs - logs.mean(axis=0)

figure, axes = plt.subplots(3, 10, figsize=(10, 3.4), layout="constrained")
for ax, (name, pictures) in zip(axes, rows.items(), strict=True):
    colours = {"cmap": "PuOr", "vmin": -0.8, "vmax": 0.8}
    look = {"cmap": "Greys"} if name.startswith("average") else colours
    for digit in range(10):
        ax[digit].imshow(pictures[digit], **look)
        ax[digit].set(xticks=[], yticks=[])
    ax[0].set_ylabel(name, rotation=0, ha="right", va="center")
figure
