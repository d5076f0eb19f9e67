# %% [markdown]
# # Growth: how a shape changes with age
#
# 800 leaves, each an outline of 24 points and of an age from 0 to 30 days. Young ones are
# narrow and smooth, old ones wide and lobed. A private geodesic says how they grow, and a
# band how well that is known. The leaves are made up.

# %%
import matplotlib.pyplot as plt
import numpy as np

import riemdp as rd

rng = np.random.default_rng(7)
n, k = 800, 24
angle = np.pi / 2 + 2 * np.pi * np.arange(k) / k


def leaf(age):
    """Outlines, as complex numbers, of leaves of some days."""
    grown = np.asarray(age, dtype=float)[..., None] / 30
    radius = 1 + 0.2 * grown * np.cos(5 * (angle - np.pi / 2)) + 0.2 * np.sin(angle)
    return radius * ((0.6 + 0.35 * grown) * np.cos(angle) + 1j * np.sin(angle))


def points(outline):
    """Complex numbers as points of the plane."""
    return np.stack([outline.real, outline.imag], axis=-1)


age = rng.uniform(0, 30, n)
noise = 0.05 * (rng.normal(size=(n, k)) + 1j * rng.normal(size=(n, k)))
X = points(leaf(age) + noise)  # (800, 24, 2)

# %% [markdown]
# ## One release
#
# The public ball is around an oval, from a textbook, and has radius 0.5; bounds of the age
# are public too. A part of the budget finds a private radius of what is left over.

# %%
space = rd.KendallShapes(k)
oval = space.project(points(np.sin(angle) * 1j + 0.8 * np.cos(angle)))
ball = rd.Ball(space, oval, radius=0.5)
fit = rd.private_regression(X, age, ball, rd.GDP(1.0), t_bounds=(0.0, 30.0), adapt=True)
print("share of the variance that age explains:", round(fit.r_squared, 2))
print(f"a leaf of 30 days is known to {float(fit.band(30.0)):.3f}")

# %% [markdown]
# ## What was released
#
# Orange: the private leaf of each age. Dashed: the leaf that the records were made from,
# which nobody knows of real ones.

# %%
def draw(ax, shape, like, **style):
    """A closed outline, turned as another one is."""
    w = shape[:, 0] + 1j * shape[:, 1]
    inner = (like.conj() * w).sum()
    w = np.append(w, w[0]) * inner.conj() / abs(inner)
    ax.plot(w.real, w.imag, **style)


days = [0, 10, 20, 30]
figure, axes = plt.subplots(1, 4, figsize=(7.5, 2.0), layout="constrained")
for ax, day, shape in zip(axes, days, fit.predict(days), strict=True):
    draw(ax, shape, leaf(day), color="#D55E00", linewidth=3)
    true = space.project(points(leaf(day)))
    draw(ax, true, leaf(day), color="black", linestyle="--", linewidth=1)
    ax.set_title(f"{day} days")
    ax.set(aspect="equal", xlim=(-0.36, 0.36), ylim=(-0.32, 0.32))
    ax.set_axis_off()
figure
