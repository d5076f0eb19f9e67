# %% [markdown]
# # Shapes: the mean outline of leaves
#
# 500 leaves, each an outline of 40 points. A *shape* is what remains when position, size
# and rotation are removed. What does the mean leaf look like, and how far could noise
# have moved it? The leaves are made up.

# %%
import matplotlib.pyplot as plt
import numpy as np

import riemdp as rd

rng = np.random.default_rng(2)
n, k = 500, 40
angle = np.pi / 2 + 2 * np.pi * np.arange(k) / k


def leaf(lobes, width):
    """Outlines, as complex numbers, with lobes of a depth."""
    radius = 1 + lobes * np.cos(5 * (angle - np.pi / 2)) + 0.2 * np.sin(angle)
    return radius * (width * np.cos(angle) + 1j * np.sin(angle))


lobes, width = rng.normal(0.16, 0.04, (n, 1)), rng.normal(0.8, 0.05, (n, 1))
z = leaf(lobes, width) + 0.03 * (rng.normal(size=(n, k)) + 1j * rng.normal(size=(n, k)))
X = np.stack([z.real, z.imag], axis=-1)  # (500, 40, 2)

# %% [markdown]
# ## The public ball
#
# An oval, from a textbook. Leaves are taken to lie within 0.4 of it; one that does not is
# moved to the rim of the ball.

# %%
space = rd.KendallShapes(k)
oval = leaf(0.0, 0.8)
ball = rd.Ball(space, space.project(np.stack([oval.real, oval.imag], axis=-1)), radius=0.4)

# %%
release = rd.private_mean(X, ball, rd.GDP(0.5))
print("predicted error:", round(release.expected_error, 3))

# %% [markdown]
# ## What else might have been released
#
# `rd.simulate` draws from the same law, with a seed. It uses the records without spending
# anything, so it is for the curator's eyes only.

# %%
cloud = np.asarray(rd.simulate(X, ball, rd.GDP(0.5), size=60, seed=0))  # NOT private
exact = rd.frechet_mean(X, space).point  # NOT private


def draw(ax, shape, **style):
    """A closed outline, turned as the oval is."""
    w = shape[:, 0] + 1j * shape[:, 1]
    inner = (oval.conj() * w).sum()
    w = np.append(w, w[0]) * inner.conj() / abs(inner)
    ax.plot(w.real, w.imag, **style)


figure, axes = plt.subplots(1, 2, figsize=(7, 3.8), layout="constrained")
for outline in space.project(X[:60]):
    draw(axes[0], outline, color="#767676", linewidth=0.5, alpha=0.5)
draw(axes[0], exact, color="black", linewidth=2)
for outline in cloud:
    draw(axes[1], outline, color="#56B4E9", linewidth=0.5, alpha=0.5)
draw(axes[1], release.value, color="#D55E00", linewidth=2)
axes[0].set_title("exact mean, and records\n(NOT private)")
axes[1].set_title("private mean, mu = 0.5,\nand what it might have been")
for ax in axes:
    ax.set_aspect("equal")
    ax.set_axis_off()
figure
