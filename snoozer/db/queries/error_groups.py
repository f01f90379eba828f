"""Cases that failed alike: the groups of the newest ones by the fingerprint of their error.

The groups are found among the newest `WINDOW` cases; the figures of each are then read from all of its cases, through
the index of fingerprints, up to `MAX_COUNTED`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ARRAY, Connection, Select, Text, cast, func, literal, select, true

from snoozer.db.models import Snooze
from snoozer.db.queries import Found, columns
from snoozer.db.queries.case_filter import Filter, error_fingerprint, recipient_domain
from snoozer.db.queries.cases import MAX_COUNTED

WINDOW = 4_000
MAX_GROUPS = 30
SAMPLES = 3
HOURS = 24


@dataclass(frozen=True, kw_only=True)
class CaseGroup:
    """Cases with the same fingerprint. `text` holds no addresses; `cases` is `MAX_COUNTED` + 1 for more, and `people`
    counts the people of the newest `MAX_COUNTED`.

    `hours` are the cases of each of the last 24 hours, the oldest hour first; `samples` the newest cases.
    """

    fingerprint: str
    text: str
    cases: int
    people: int
    first: datetime
    last: datetime
    hours: Sequence[int]
    samples: Sequence[Found]


def groups(connection: Connection, filter: Filter) -> list[CaseGroup]:
    """The groups among the newest `WINDOW` cases, the largest first, at most `MAX_GROUPS`."""
    wanted = _wanted(filter)
    figures = connection.execute(_figures(filter, wanted)).all()
    found = [row.fingerprint for row in figures]
    if not found:
        return []
    hours = _hours(connection, filter, found)
    samples = _samples(connection, filter, found)
    return [
        CaseGroup(
            **row._mapping,
            text=samples[row.fingerprint][0].text,
            hours=hours.get(row.fingerprint, [0] * HOURS),
            samples=samples[row.fingerprint],
        )
        for row in figures
        # A case may have been decided between the two statements.
        if row.fingerprint in samples
    ]


def _wanted(filter: Filter) -> Any:
    """The fingerprints to show, as a table."""
    if filter.reason is not None:
        return select(literal(filter.reason).label("fingerprint")).cte("wanted")
    newest = (
        select(error_fingerprint.label("fingerprint"))
        .where(*filter.conditions())
        .order_by(Snooze.finished_at.desc(), Snooze.id.desc())
        .limit(WINDOW)
        .cte("newest")
    )
    largest = select(newest.c.fingerprint).group_by(newest.c.fingerprint)
    return largest.order_by(func.count().desc(), newest.c.fingerprint).limit(MAX_GROUPS).cte("wanted")


def _figures(filter: Filter, wanted: Any) -> Select[Any]:
    alike = _alike(filter, wanted)
    newest = alike.with_only_columns(Snooze.user_email, Snooze.finished_at)
    counted = newest.order_by(Snooze.finished_at.desc(), Snooze.id.desc()).limit(MAX_COUNTED + 1).subquery()
    oldest = alike.with_only_columns(Snooze.finished_at).order_by(Snooze.finished_at, Snooze.id).limit(1)
    figures = select(
        func.count().label("cases"),
        func.count(counted.c.user_email.distinct()).label("people"),
        func.max(counted.c.finished_at).label("last"),
    ).lateral("figures")
    return (
        select(
            wanted.c.fingerprint,
            figures.c.cases,
            figures.c.people,
            oldest.scalar_subquery().label("first"),
            figures.c.last,
        )
        .join_from(wanted, figures, true())
        .where(figures.c.cases > 0)
        .order_by(figures.c.cases.desc(), wanted.c.fingerprint)
    )


def _hours(connection: Connection, filter: Filter, fingerprints: Sequence[str]) -> dict[str, list[int]]:
    """How many cases each group has of the last 24 hours, by the hour."""
    wanted = _listed(fingerprints)
    ago = func.floor(func.extract("epoch", func.now() - Snooze.finished_at) / 3600).label("ago")
    recent = (
        _alike(filter, wanted)
        .with_only_columns(ago, func.count().label("cases"))
        .where(Snooze.finished_at > func.now() - timedelta(hours=HOURS))
        .group_by(ago)
        .lateral("recent")
    )
    found: dict[str, list[int]] = {}
    for row in connection.execute(select(wanted.c.fingerprint, recent).join_from(wanted, recent, true())):
        hours = found.setdefault(row.fingerprint, [0] * HOURS)
        hours[HOURS - 1 - min(max(int(row.ago), 0), HOURS - 1)] += row.cases
    return found


def _samples(connection: Connection, filter: Filter, fingerprints: Sequence[str]) -> dict[str, list[Found]]:
    """The newest cases of each group."""
    wanted = _listed(fingerprints)
    newest = (
        _alike(filter, wanted)
        .with_only_columns(
            *columns(Snooze, "id user_email finished_at"), func.snooze_error_text(Snooze.last_error).label("text")
        )
        .order_by(Snooze.finished_at.desc(), Snooze.id.desc())
        .limit(SAMPLES)
        .lateral("newest")
    )
    rows = select(wanted.c.fingerprint, newest).join_from(wanted, newest, true())
    found: dict[str, list[Found]] = {}
    for row in connection.execute(rows.order_by(newest.c.finished_at.desc(), newest.c.id.desc())):
        found.setdefault(row.fingerprint, []).append(row)
    return found


def _listed(fingerprints: Sequence[str]) -> Any:
    return select(func.unnest(cast(fingerprints, ARRAY(Text))).label("fingerprint")).subquery("wanted")


def _alike(filter: Filter, wanted: Any) -> Select[Any]:
    """The cases of the filter that have the fingerprint of a row of `wanted`, which represents its group."""
    others = replace(filter, reason=None, error_class=None, domain=None)
    alike = select(Snooze.id).where(*others.conditions(), error_fingerprint == wanted.c.fingerprint)
    if filter.domain is not None:
        # Nearly all cases may be in an organisation's own domain: through its index each group would read them all.
        alike = alike.where(func.coalesce(recipient_domain == filter.domain, False))
    return alike.correlate(wanted)
