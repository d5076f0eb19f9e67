# %% [markdown]
# # EEG: the mean covariance of a group
#
# One covariance matrix of each of 600 people, four electrodes. Which electrodes swing
# together, on average? The answer may be published; nobody's own matrix is in it.
# The signals are made up, so that the exact mean can be shown as well.

# %%
import matplotlib.pyplot as plt
import numpy as np

import riemdp as rd

rng = np.random.default_rng(0)
names = ["F3", "F4", "P3", "P4"]
mixing = np.eye(4) + [
    [0.0, 0.6, 0.3, 0.1],
    [0.6, 0.0, 0.1, 0.3],
    [0.3, 0.1, 0.0, 0.6],
    [0.1, 0.3, 0.6, 0.0],
]
strength = rng.uniform(0.7, 1.4, size=(600, 4, 1))  # people differ
signals = mixing @ (strength * rng.normal(size=(600, 4, 200)))
covariances = signals @ signals.transpose(0, 2, 1) / 200

# %% [markdown]
# ## Bounds that hold whatever the signal was
#
# Noise must hide any one person, so there must be a limit to what a person's matrix can
# be. Scaled to trace 4 and shrunk by a tenth towards the identity, every matrix has its
# eigenvalues between 0.1 and 3.7. Each step looks at one matrix only.

# %%
scaled = 4 * covariances / np.trace(covariances, axis1=1, axis2=2)[:, None, None]
X = 0.9 * scaled + 0.1 * np.eye(4)
ball = rd.Ball.from_eigenvalue_bounds(rd.SPDAffine(4), 0.1, 3.7)

# %% [markdown]
# ## The release

# %%
release = rd.private_mean(X, ball, rd.GDP(1.0))
print(release.guarantee)
print("predicted error:", round(release.expected_error, 3))

# %% [markdown]
# ## Beside the exact mean
#
# The left matrix is for this picture only: of real people it must not be shown.

# %%
exact = rd.frechet_mean(X, ball.space).point  # NOT private
figure, axes = plt.subplots(1, 2, figsize=(7, 3.4), layout="constrained")
for ax, matrix, title in [
    (axes[0], exact, "exact mean (NOT private)"),
    (axes[1], release.value, "private mean, mu = 1"),
]:
    ax.imshow(matrix, cmap="Oranges", vmin=0, vmax=1.2)
    ax.set_title(title)
    ax.set_xticks(range(4), names)
    ax.set_yticks(range(4), names)
    for i, j in np.ndindex(4, 4):
        ax.text(j, i, f"{matrix[i, j]:.2f}", ha="center", va="center")
figure
