# %% [markdown]
# # Muscles: a classifier of which every coefficient is private
#
# An armband with eight electrodes: which of five gestures is it? Each record is a covariance
# matrix, 8 x 8. How strong a gesture is varies more than what sets gestures apart, so the
# nearest mean is often wrong; a border between classes need not be. The records are made up.

# %%
import matplotlib.pyplot as plt
import numpy as np

import riemdp as rd

rng = np.random.default_rng(0)
n, k, classes = 4000, 8, 5
y = rng.integers(classes, size=n)
pattern = 0.35 * rng.normal(size=(classes, k))  # which electrode a gesture wakes
strength = rng.normal(size=(n, 1))
gains = np.exp((pattern[y] + strength + 0.25 * rng.normal(size=(n, k))) / 2)
mixing = np.eye(k) + 0.3 * np.eye(k, k=1)
signals = mixing @ (gains[:, :, None] * rng.normal(size=(n, k, 60)))
X = signals @ signals.transpose(0, 2, 1) / 60  # (4000, 8, 8)
known = np.arange(n) < 2500  # the others are tried

# %% [markdown]
# ## Nothing is tuned
#
# The public ball is wide: eigenvalues are between 1e-4 and 1e4, in whatever unit the
# amplifier has. Where the records are, and how they spread, a fit finds out by itself, for a
# part of its budget. Labels are private as well.

# %%
ball = rd.Ball.from_eigenvalue_bounds(rd.SPDAffine(k), 1e-4, 1e4)
five = {"classes": range(classes)}
kinds = {
    "logistic regression": (rd.PrivateLogisticRegression, five),
    "discriminant": (rd.PrivateLDA, five),
    "nearest mean (labels public)": (rd.PrivateMDM, {"adapt": True}),
}


def score(name, mu):
    """Share of new records that are named rightly. NOT private, of records of people."""
    kind, options = kinds[name]
    model = kind(ball=ball, guarantee=rd.GDP(mu), **options)
    return model.fit(X[known], y[known]).score(X[~known], y[~known])


strengths = [0.3, 0.5, 1.0, 2.0]
scores = {
    name: [np.mean([score(name, mu) for _ in range(3)]) for mu in strengths] for name in kinds
}
for name, values in scores.items():
    print(f"{name}: {values[2]:.0%} at mu = 1")

# %%
figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
looks = zip(kinds, ["#D55E00", "#0072B2", "#767676"], "o^s", strict=True)
for name, colour, marker in looks:
    ax.plot(strengths, scores[name], marker=marker, color=colour, label=name)
ax.axhline(1 / classes, color="0.6", linestyle=":")
ax.text(2.0, 1 / classes - 0.02, "chance", color="0.4", ha="right", va="top")
ax.set(xscale="log", xticks=strengths, xticklabels=strengths, ylim=(0, 1))
ax.set(xlabel="mu (less is a stronger promise)", ylabel="named rightly")
ax.minorticks_off()
ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 0.2))
figure
