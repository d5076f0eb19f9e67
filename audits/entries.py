"""Every way to a release beside `private_mean`, for `torture.py`: with labels, times and ids as odd as records.

What is public is settled by the seed of a setting: how many classes, which options, who has how many records. Labels
and times are private: they come from the seed of a data set, and some of them are no labels or times at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import riemdp as rd
from riemdp.releases.release import Release

Array = np.ndarray[Any, np.dtype[Any]]

BOUNDS = [(-1.0, 1.0), (20.0, 90.0), (0.0, 1e-300), (-8e307, 8e307)]
ODD_TIMES: list[Any] = [0.5, -1e300, 1e308, np.nan, np.inf, -np.inf, 5e-324, None, "", "SECRET", 10**400, [1.0], {}, 2j]
ODD_LABELS: list[Any] = [0, 1, 2, 1.0, True, "1", None, np.nan, np.array([0, 1]), {}, 10**400, -7, np.float32(2)]


@dataclass(frozen=True)
class Case:
    """One attempt: what is public, and the records."""

    X: Array
    ball: rd.Ball
    guarantee: rd.Guarantee
    public: np.random.Generator
    private: np.random.Generator | None  # None: labels and times without fault

    @property
    def n(self) -> int:
        """Of records."""
        return len(self.X)

    def groups(self) -> list[Any] | None:
        """Nobody, or ids of whom some have several records and some are missing."""
        kind = self.public.random()
        if kind < 0.6:
            return None
        people = max(1, int(self.n * self.public.random()))
        who: list[Any] = [int(one) for one in self.public.integers(people, size=self.n)]
        return [None if self.public.random() < 0.1 else one for one in who] if kind < 0.8 else who

    def some(self, usual: list[Any], odd: list[Any]) -> list[Any]:
        """The usual ones, some or most of them replaced by odd ones."""
        if self.private is None:
            return usual
        share, rng = self.private.choice([0.0, 0.1, 1.0]), self.private
        return [odd[rng.integers(len(odd))] if rng.random() < share else one for one in usual]

    def labels(self, classes: int) -> list[Any]:
        """One of each record."""
        return self.some([place % classes for place in range(self.n)], ODD_LABELS)

    def times(self, bounds: tuple[float, float]) -> list[Any]:
        """One of each record."""
        return self.some(np.linspace(*bounds, self.n).tolist(), ODD_TIMES)


def _any(case: Case, *choices: Any) -> Any:
    return choices[int(case.public.integers(len(choices)))]


def summary(case: Case) -> Release:
    """With any second moments, adapted or not."""
    second, adapt = _any(case, "auto", "full", "diagonal", "trace"), _any(case, False, False, True)
    return rd.private_summary(case.X, case.ball, case.guarantee, second=second, adapt=adapt, groups=case.groups())


def median(case: Case) -> Release:
    """With any width."""
    width = _any(case, None, None, 1e-12 * case.ball.radius, 100 * case.ball.radius)
    return rd.private_median(case.X, case.ball, case.guarantee, width=width, groups=case.groups())


def regression(case: Case) -> Release:
    """On times of any size."""
    bounds, adapt = _any(case, *BOUNDS), _any(case, False, True)
    options: dict[str, Any] = {"t_bounds": bounds, "adapt": adapt, "groups": case.groups()}
    return rd.private_regression(case.X, case.times(bounds), case.ball, case.guarantee, **options)


def people(case: Case) -> Release:
    """A mean over people."""
    groups = case.groups() or [place // 2 for place in range(case.n)]
    return rd.private_mean(case.X, case.ball, case.guarantee, groups=groups, adapt=_any(case, False, True))


def ellipsoid(case: Case) -> Release:
    """A mean in a public shape, any part of which may be as narrow as is allowed."""
    dim = case.ball.space.dim
    lengths = 10.0 ** case.public.uniform(_any(case, -3.99, -1.0), 0, dim)
    turned = np.linalg.qr(case.public.standard_normal((dim, dim)))[0] * lengths
    place = rd.Ellipsoid(case.ball.space, case.ball.center, _any(case, lengths, turned), case.ball.radius)
    return rd.private_mean(case.X, place, case.guarantee, adapt=_any(case, False, True))


def _fitted(case: Case, model: Any, *labels: Any) -> Release:
    model.fit(case.X, *labels, groups=case.groups())
    made: Release = model.release_
    return made


def _linear(case: Case, kind: Any) -> Release:
    classes = _any(case, 2, 3, 7)
    weight, adapt = _any(case, None, {0: 1e-3}, {1: 1e6}), _any(case, True, False)
    model = kind(ball=case.ball, guarantee=case.guarantee, classes=range(classes), class_weight=weight, adapt=adapt)
    return _fitted(case, model, case.labels(classes))


def discriminant(case: Case) -> Release:
    """Of labels that are private."""
    return _linear(case, rd.PrivateLDA)


def logistic(case: Case) -> Release:
    """Of labels that are private."""
    return _linear(case, rd.PrivateLogisticRegression)


def nearest_mean(case: Case) -> Release:
    """Class means, of labels that are private."""
    classes = _any(case, 1, 2, 7)
    model = rd.PrivateMDM(ball=case.ball, guarantee=case.guarantee, private_labels=True, classes=range(classes))
    model.fit(case.X, case.labels(classes), groups=case.groups())
    return model.releases_[0]


def public_classes(case: Case) -> Release:
    """Class means, of labels that are public."""
    classes = min(_any(case, 1, 2, 7), case.n)
    model = rd.PrivateMDM(ball=case.ball, guarantee=case.guarantee, adapt=_any(case, False, False, True))
    model.fit(case.X, [place % classes for place in range(case.n)])
    return model.releases_[-1]


def sites(case: Case) -> Release:
    """Sums of one to three sites, with or without second moments."""
    parts, second = np.array_split(case.X, min(_any(case, 1, 2, 3), case.n)), _any(case, None, "full", "trace")
    sums = [rd.site_sum(X, case.ball, site=f"site {i}", study="torture", second=second) for i, X in enumerate(parts)]
    pooled = rd.private_mean_of_sums if second is None else rd.private_summary_of_sums
    return pooled(sums, case.guarantee)


def components(case: Case) -> Release:
    """Principal geodesics."""
    return _fitted(case, rd.PrivatePGA(ball=case.ball, guarantee=case.guarantee, adapt=_any(case, False, True)))


def tangent_space(case: Case) -> Release:
    """With what it makes of the records, which is not private, but may not raise either."""
    model = rd.PrivateTangentSpace(ball=case.ball, guarantee=case.guarantee)
    made = _fitted(case, model)
    model.transform(case.X)
    return made


ENTRIES: dict[str, Callable[[Case], Release]] = {
    make.__name__: make
    for make in (
        summary, median, regression, people, ellipsoid, discriminant, logistic, nearest_mean, public_classes, sites,
        components, tangent_space,
    )
}  # fmt: skip
