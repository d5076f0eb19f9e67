# %% [markdown]
# # Directions: where birds fly
#
# 800 birds set out, each in a direction of its own: a unit vector, a point of the sphere.
# Their mean direction is published. The birds are made up.

# %%
import numpy as np

import riemdp as rd
from riemdp.plots import plot_release

rng = np.random.default_rng(3)
south_west = np.array([-0.6, -0.7, 0.4])  # east, north, up
X = south_west + 0.35 * rng.normal(size=(800, 3))  # of any length: only directions count

# %% [markdown]
# ## The public ball
#
# It is known that these birds leave for the south: within 80 degrees, or 1.4 rad.

# %%
space = rd.Sphere(2)
ball = rd.Ball(space, center=[0.0, -1.0, 0.0], radius=1.4)

# %% [markdown]
# The ball is wide and the birds fly close together. With `adapt=True` a part of the
# budget finds a smaller ball, privately, and the error follows the spread of the data.

# %%
release = rd.private_mean(X, ball, rd.GDP(0.5), adapt=True)
east, north, up = release.value
bearing = np.degrees(np.arctan2(east, north)) % 360
print(f"mean bearing: {bearing:.0f} degrees")
print(f"predicted error: {np.degrees(release.expected_error):.1f} degrees")

# %% [markdown]
# ## The picture
#
# It is made of the release alone, so it may be published with it.

# %%
figure = plot_release(release)
figure
