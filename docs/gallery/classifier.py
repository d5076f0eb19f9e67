# %% [markdown]
# # A classifier, with and without privacy
#
# Which hand did somebody think of moving? A new covariance matrix gets the class whose
# mean is nearest. How good is that if the class means are private? One matrix of each of
# 300 people, who are made up.

# %%
import matplotlib.pyplot as plt
import numpy as np

import riemdp as rd

rng = np.random.default_rng(4)
labels = np.repeat(["left", "right"], 150)
sources = rng.normal(size=(300, 3, 60))
sources[:150, 0] *= 0.85  # the hand that is thought of calms one source
sources[150:, 1] *= 0.85
signals = (np.eye(3) + 0.4) @ sources
covariances = signals @ signals.transpose(0, 2, 1) / 60
scaled = 3 * covariances / np.trace(covariances, axis1=1, axis2=2)[:, None, None]
X = 0.9 * scaled + 0.1 * np.eye(3)  # eigenvalues between 0.1 and 2.8, whatever the signal

# %%
space = rd.SPDLogEuclidean(3)
ball = rd.Ball.from_eigenvalue_bounds(space, 0.1, 2.8)
known = np.arange(300) % 2 == 0  # the others are tried


def score(mu, private_labels):
    """Share of new matrices that are named rightly. NOT private, of records of people."""
    classes = ["left", "right"] if private_labels else None
    asked = {"private_labels": private_labels, "classes": classes}
    model = rd.PrivateMDM(ball=ball, guarantee=rd.GDP(mu), **asked)
    return model.fit(X[known], labels[known]).score(X[~known], labels[~known])


# %% [markdown]
# ## Twenty fits of each
#
# Every fit spends. Here nobody is hurt; with records of people one fits once.

# %%
strengths = [0.2, 0.5, 1.0, 2.0, 5.0]
scores = {
    private_labels: [[score(mu, private_labels) for _ in range(20)] for mu in strengths]
    for private_labels in (False, True)
}
hands = np.array(["left", "right"])
means = [rd.frechet_mean(X[known & (labels == hand)], space).point for hand in hands]
nearest = hands[np.argmin([space.dist(mean, X[~known]) for mean in means], axis=0)]
exact = np.mean(nearest == labels[~known])  # NOT private

# %%
figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
ax.axhline(exact, color="black", label="exact means (NOT private)")
looks = [(False, "#D55E00", "public"), (True, "#0072B2", "private")]
for private_labels, colour, name in looks:
    low, middle, high = np.quantile(scores[private_labels], [0.1, 0.5, 0.9], axis=1)
    ax.plot(strengths, middle, "o-", color=colour, label=f"private means, labels {name}")
    ax.fill_between(strengths, low, high, color=colour, alpha=0.2, linewidth=0)
ax.axhline(0.5, color="0.6", linestyle=":", label="chance")
ax.set(xscale="log", xticks=strengths, xticklabels=strengths, ylim=(0.45, 1))
ax.set(xlabel="mu (less is a stronger promise)", ylabel="named rightly")
ax.minorticks_off()
ax.legend(frameon=False, loc="lower right")
figure
