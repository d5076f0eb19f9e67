# %% [markdown]
# # Modes: how leaves vary
#
# 2,000 leaves, each an outline of 24 points. The mean leaf is one answer; how leaves differ
# from it is another. One release gives both: with Gaussian noise the second costs nothing.
# The leaves are made up: they vary in the depth of their lobes and in their width.

# %%
import numpy as np

import riemdp as rd
from riemdp import plots

rng = np.random.default_rng(4)
n, k = 2000, 24
angle = np.pi / 2 + 2 * np.pi * np.arange(k) / k


def leaf(lobes, width):
    """Outlines, as complex numbers, with lobes of a depth."""
    radius = 1 + lobes * np.cos(5 * (angle - np.pi / 2)) + 0.2 * np.sin(angle)
    return radius * (width * np.cos(angle) + 1j * np.sin(angle))


lobes, width = rng.normal(0.16, 0.11, (n, 1)), rng.normal(0.8, 0.07, (n, 1))
z = leaf(lobes, width) + 0.02 * (rng.normal(size=(n, k)) + 1j * rng.normal(size=(n, k)))
X = np.stack([z.real, z.imag], axis=-1)  # (2000, 24, 2)

# %% [markdown]
# ## One release
#
# The public ball is around an oval, from a textbook, and has radius 0.4.

# %%
space = rd.KendallShapes(k)
oval = leaf(0.0, 0.8)
ball = rd.Ball(space, space.project(np.stack([oval.real, oval.imag], axis=-1)), radius=0.4)
summary = rd.private_summary(X, ball, rd.GDP(1.0))
print("root mean square distance to the mean:", round(summary.dispersion, 3))

# %% [markdown]
# ## Which modes are real
#
# Noise makes modes of its own, up to a height that is known. Those that are higher are
# beyond noise; `summary.modes()` gives only them.

# %%
modes = summary.modes()
for variance, ratio in zip(modes.variances, modes.ratios, strict=True):
    print(f"standard deviation {np.sqrt(variance):.3f}, {ratio:.0%} of the variance")

# %% [markdown]
# Without privacy, for the curator's eyes only: how far is the first mode off?

# %%
coords = space.coordinates(space.log(space.project(X), summary.value), summary.value)
exact = np.linalg.eigh(np.cov(coords.T))[1][:, -1]  # NOT private
found = space.coordinates(modes.directions[:1], summary.value)[0]
print(f"{np.degrees(np.arccos(min(abs(exact @ found), 1.0))):.0f} degrees")

# %% [markdown]
# ## The picture
#
# The mean leaf, and what lies two standard deviations from it along each mode.

# %%
figure = plots.plot_summary(summary, size=(10, 4.4))
figure
