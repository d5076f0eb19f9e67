"""Plans as what `plan` returns: a list that shows itself as a table."""

from __future__ import annotations

from collections.abc import Iterable

from riemdp.accounting.guarantee import Guarantee
from riemdp.balls import Ball
from riemdp.display import shown, text_of
from riemdp.releases.plan import Plan


@shown
class PlanTable(list[Plan]):
    """What each mechanism would do for a guarantee with n records in a ball, best first: a list of `Plan`."""

    __repr__ = text_of

    def __init__(
        self, plans: Iterable[Plan], ball: Ball, n: int, guarantee: Guarantee, *, is_shaped: bool = False
    ) -> None:
        super().__init__(plans)
        self.ball, self.n, self.guarantee = ball, n, guarantee
        self.is_shaped = is_shaped  # in an ellipsoid, which the ball holds
