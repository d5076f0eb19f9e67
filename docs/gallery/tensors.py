# %% [markdown]
# # Diffusion tensors along a tract
#
# Water in the brain moves along nerve fibres. At nine places of a tract, each of 120
# people has a tensor: a 3 x 3 matrix, drawn as an ellipse that is long where water moves
# fast. All nine mean tensors are published at once, in one release.
# The people are made up.

# %%
import matplotlib.pyplot as plt
import numpy as np

import riemdp as rd

rng = np.random.default_rng(1)
places, people = 9, 120
bend = np.linspace(np.pi, 0, places)  # the tract is a bridge
zero, one = np.zeros(places), np.ones(places)
along = [np.sin(bend), -np.cos(bend), zero]
across = [np.cos(bend), np.sin(bend), zero]
frames = np.array([along, across, [zero, zero, one]]).transpose(2, 0, 1)
atlas = frames.transpose(0, 2, 1) @ np.diag([1.6, 0.5, 0.4]) @ frames  # in µm²/ms

# %% [markdown]
# Each person's tensors differ a little from a public atlas, and by more in the middle.

# %%
tensor_space = rd.SPDLogEuclidean(3)
logs = tensor_space.log(atlas, np.eye(3))
own = rng.normal(size=(people, places, 3, 3)) * (0.1 + 0.1 * np.sin(bend))[:, None, None]
own = (own + own.swapaxes(-1, -2)) / 2
slower = -0.5 * np.sin(bend)[:, None, None] * np.diag([1.0, 0.0, 0.0])  # in this group
X = tensor_space.exp(logs + slower + own, np.eye(3))

# %% [markdown]
# ## One release of nine tensors
#
# All tensors of a person together are one point of a *product* of nine spaces. The ball
# is around the atlas, and its radius is chosen without a look at these people.

# %%
space = rd.Product(*[tensor_space] * places)
records = X.reshape(people, -1)
ball = rd.Ball(space, center=atlas.reshape(-1), radius=2.5)
release = rd.private_mean(records, ball, rd.GDP(1.0))
private = release.value.reshape(places, 3, 3)
print(release.guarantee)

# %% [markdown]
# ## The picture
#
# Water moves more slowly at the top of the bridge than the atlas says, and the private
# means show it.

# %%
exact = rd.frechet_mean(records, space).point.reshape(places, 3, 3)  # NOT private
turn = np.linspace(0, 2 * np.pi, 100)
circle = np.stack([np.cos(turn), np.sin(turn)])
centers = 5 * np.stack([np.cos(bend), np.sin(bend)], axis=1)
styles = [
    (atlas, "public atlas", {"color": "0.65", "linestyle": "--"}),
    (exact, "exact mean (NOT private)", {"color": "black", "linewidth": 2}),
    (private, "private mean, mu = 1", {"color": "#D55E00", "linewidth": 2}),
]

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for tensors, label, style in styles:
    for i, (center, tensor) in enumerate(zip(centers, tensors, strict=True)):
        x, y = center[:, None] + 0.75 * tensor[:2, :2] @ circle
        ax.plot(x, y, label=label if i == 0 else None, **style)
ax.set_aspect("equal")
ax.set_axis_off()
ax.legend(loc="lower center", frameon=False)
figure
