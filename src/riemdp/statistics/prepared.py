"""A query, planned once: what a rehearsal prepares is what the release uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from riemdp.accounting.guarantee import Guarantee
from riemdp.accounting.unit import assumptions, counted
from riemdp.errors import InputError
from riemdp.io.values import Value
from riemdp.kernels.threads import one_blas_thread
from riemdp.privacy.bounded import Bounded
from riemdp.privacy.ledger import Ledger
from riemdp.privacy.reservation import ENTROPY, Reservation, reserved
from riemdp.releases.drawn import Drawn
from riemdp.releases.plan import Plan
from riemdp.releases.recorded import recorded
from riemdp.releases.release import Release, Stage
from riemdp.statistics.adaptive import Adaptive, adaptive_for
from riemdp.statistics.chance import Exact, Seeded
from riemdp.statistics.query import Query
from riemdp.statistics.worth import Doubt, Subject, doubts_about, nothing_adapted


@dataclass(frozen=True)
class Prepared:
    """All that is decided about a release before any record is read: by one plan, or by rounds of adaptation."""

    query: Query
    how: Plan | Adaptive

    @property
    def mechanism(self) -> str:
        """The one that was chosen; that of rounds may be 'auto', and then depends on what they find."""
        return self.how.mechanism if isinstance(self.how, Plan) else self.query.mechanism

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What mechanism and statistic suppose beyond what every release does; rounds of adaptation are linear."""
        if isinstance(self.how, Adaptive):
            return self.how.assumptions
        return replace(self.query, mechanism=self.mechanism).suppositions

    @property
    def guarantee(self) -> Guarantee:
        """The one asked for, with all that it supposes."""
        return self.query.guarantee.with_assumptions(*assumptions(self.query.unit), ENTROPY, *self.assumptions)

    @property
    def doubts(self) -> list[Doubt]:
        """What public numbers say against the release."""
        query, how = self.query, self.how

        def predict(n: int, promise: Guarantee) -> float:
            return replace(query, n=n, guarantee=promise, adapt=False).plan().expected_error

        error = how.expected_error if isinstance(how, Plan) else how.error_without_luck
        in_vain = bool(query.adapt) and isinstance(how, Plan)
        found = doubts_about(Subject(query.n, query.unit), predict, query.guarantee, query.ball.radius, error)
        return [*found, nothing_adapted(query.unit)] if in_vain else found

    def release(self, records: Bounded, ledger: Ledger | None = None, note: str = "") -> Release:
        """One reservation for all stages, then all of them."""
        with reserved(self.guarantee, self._description, ledger, note, self.query.unit) as paid:
            return self.under(paid, records)

    def release_of(self, value: Callable[[], Any], ledger: Ledger | None, note: str) -> Release:
        """The release of a private value that is computed elsewhere; of one plan."""
        assert isinstance(self.how, Plan)
        with reserved(self.guarantee, self._description, ledger, note, self.query.unit) as paid:
            return self._recorded(paid, value, self.how)

    @property
    def _description(self) -> str:
        text = f"{self.query.statistic_name} of {counted(self.query.n, self.query.unit)}, {self.mechanism}"
        if isinstance(self.how, Plan):
            return text
        return f"{text}, {self.how.rounds or ''} rounds of adaptation".replace("  ", " ")

    def under(self, paid: Reservation, records: Bounded) -> Release:
        """The release, of what was reserved for it."""
        how = self.how
        if isinstance(how, Plan):
            return self._recorded(paid, lambda: self.query.law(how).value(records), how)
        with one_blas_thread():
            last = how.run(records, Exact(paid))
        return self._completed(last.drawn, paid, last.plan, last.query, last.stages)

    def _recorded(self, paid: Reservation, value: Callable[[], Any], plan: Plan) -> Release:
        return self._completed(paid.draw(value, self.query.law(plan)), paid, plan, self.query)

    def _completed(
        self, drawn: Drawn, paid: Reservation, plan: Plan, query: Query, stages: tuple[Stage, ...] = ()
    ) -> Release:
        """The draw on record, with what its statistic makes of the rest of it; `query` is the one that it answers."""
        release = recorded(drawn, paid, plan, stages=stages, **self._facts)
        return query.law(plan).statistic.completed(release, drawn.noisy)

    @property
    def _facts(self) -> dict[str, Any]:
        query = self.query
        return {"ball": query.ball, "statistic": query.statistic_name, "n": query.n, "kind": query.kind}

    def simulate(self, records: Bounded, rng: np.random.Generator, size: int) -> Value:
        """Seeded draws (size, ...) of what `release` might release."""
        if isinstance(self.how, Plan):
            law = self.query.law(self.how)
            return law.simulate(law.value(records), rng, size)
        with one_blas_thread():
            draws = [self.how.run(records, Seeded(rng)).drawn.points for _ in range(size)]
        return np.concatenate(draws)


def prepare(query: Query) -> Prepared:
    """Plan, from public things alone, and refuse whatever a release would."""
    return Prepared(query, adaptive_for(query) or query.plan())


def require_ledger(ledger: Any) -> None:
    """Raise an InputError unless it is a ledger, or none."""
    if ledger is not None and not isinstance(ledger, Ledger):
        raise InputError(f"ledger = {ledger!r}: pass a Ledger.")
