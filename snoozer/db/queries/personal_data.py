"""All data stored about one person, read in pages by the export; each page is its own transaction."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, func, select, true

from snoozer.db.models import (
    ApiToken,
    ArchivedSend,
    ArchivedSnooze,
    ConnectedMailbox,
    Event,
    Identity,
    MailboxMessage,
    MessageOriginal,
    OwnAddress,
    PushDevice,
    PushSend,
    SavedDayShape,
    Send,
    Session,
    Snooze,
    StoredFeed,
    TypedPhrase,
    UserPreset,
    WebhookDelivery,
    WebhookEndpoint,
    is_kept_by,
    promised_time,
)
from snoozer.db.models.state import state_of
from snoozer.db.queries import Found

Ids = Sequence[int]

_archived: Any = ArchivedSnooze


@dataclass(frozen=True, kw_only=True)
class Section:
    """A table of which each row of a person is one record: the type of the record, the table, and its columns. Messages
    that Snoozer keeps are of another type than those in connected mailboxes."""

    type: str
    model: Any
    columns: tuple[str, ...]
    is_kept: bool | None = None


# Besides the account itself, and its snoozes with their sends and events. A new table with a person's data needs an
# entry here, or a reason in tests/db/test_personal_data.py.
SECTIONS = (
    Section(type="address", model=OwnAddress, columns=("email", "gets_mail", "verified_at")),
    Section(type="preset", model=UserPreset, columns=("position", "label", "phrase")),
    Section(type="phrase", model=TypedPhrase, columns=("phrase", "used_at")),
    Section(
        type="day",
        model=SavedDayShape,
        columns=(
            *("working_days", "work_from", "work_until", "quiet_from", "quiet_until", "quiet_until_off"),
            *("rests_on_days_off", "away_from", "back_on"),
        ),
    ),
    Section(type="session", model=Session, columns=("device", "created_at", "seen_at", "expires_at")),
    Section(type="identity", model=Identity, columns=("issuer", "subject", "created_at")),
    Section(
        type="api_token",
        model=ApiToken,
        columns=("name", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at"),
    ),
    Section(type="feed", model=StoredFeed, columns=("kind", "name", "shows_subject", "created_at", "used_at")),
    Section(
        type="mailbox",
        model=ConnectedMailbox,
        columns=(
            *("address", "host", "port", "security", "username", "login_method", "state", "problem"),
            *("brings_back", "reads_asleep", "snooze_flag", "snooze_flag_time", "created_at"),
        ),
    ),
    Section(
        type="mailbox_message",
        model=MailboxMessage,
        is_kept=False,
        columns=("message_id", "home", "place", "wanted", "folder", "returns_at", "arrived_at"),
    ),
    Section(
        type="kept_message",
        model=MailboxMessage,
        is_kept=True,
        columns=(
            *("id", "message_id", "sha256", "subject", "sender_name", "sender_email", "sent_at", "folder", "unread"),
            *("arrived_at", "returns_at", "return_path"),
        ),
    ),
    Section(
        type="device",
        model=PushDevice,
        columns=(
            *("id", "name", "service", "shows_subject", "problem", "failures", "quiet_until", "sent_at", "created_at"),
        ),
    ),
    Section(
        type="push",
        model=PushSend,
        columns=(
            *("device_id", "snooze_id", "scheduled_for", "state", "attempts", "created_at", "marked_at"),
            *("finished_at", "status", "reason"),
        ),
    ),
    Section(
        type="webhook",
        model=WebhookEndpoint,
        columns=(
            *("id", "url", "events", "shows_subject", "is_on", "off_reason", "off_at", "failures", "delivered_at"),
            "created_at",
        ),
    ),
    Section(
        type="webhook_delivery",
        model=WebhookDelivery,
        columns=(
            *("id", "endpoint_id", "event", "snooze_id", "repeats", "scheduled_for", "remind_at", "reference"),
            *("subject", "occurred_at", "state", "attempts", "tried_at", "finished_at", "status", "reason", "answer"),
        ),
    ),
)


def section_ids(connection: Connection, section: Section, *, account_id: int, user_email: str) -> Ids:
    """The ids of a person's rows; empty for a table without ids, which `section_rows` reads whole."""
    if not hasattr(section.model, "id"):
        return ()
    return _ids(connection, _of_person(select(section.model.id), section, account_id, user_email))


def section_rows(
    connection: Connection, section: Section, *, account_id: int, user_email: str, ids: Ids = ()
) -> Sequence[Found]:
    """A person's rows: those with these ids, or all of a table without ids."""
    columns = [getattr(section.model, name) for name in section.columns]
    rows = _of_person(select(*columns), section, account_id, user_email)
    key = list(section.model.__table__.primary_key.columns)
    if hasattr(section.model, "id"):
        rows = rows.where(section.model.id.in_(ids))
    return connection.execute(rows.order_by(*key)).all()


def snooze_ids(connection: Connection, *, user_email: str, waiting: bool = False) -> Ids:
    """The ids of a person's snoozes, live and archived; with `waiting` only of snoozes that have not returned yet. A
    row that is archived later keeps its id."""
    live = select(Snooze.id).where(Snooze.user_email == user_email)
    if waiting:
        return _ids(connection, live.where(Snooze.outcome.is_(None)))
    archived = _ids(connection, select(_archived.id).where(_archived.user_email == user_email))
    return array("q", sorted({*_ids(connection, live), *archived}))


def snoozes(connection: Connection, *, ids: Ids, user_email: str) -> Sequence[Found]:
    """These snoozes in the order of their ids, from the live table or the archive."""
    found = {row.id: row for model in (ArchivedSnooze, Snooze) for row in _snoozes(connection, model, ids, user_email)}
    return [found[id] for id in sorted(found)]


def sends(connection: Connection, *, ids: Ids, user_email: str) -> Sequence[Found]:
    """The ledger's entries for these snoozes, the oldest promise first."""
    found = {row.id: row for model in (ArchivedSend, Send) for row in _sends(connection, model, ids, user_email)}
    return sorted(found.values(), key=lambda row: (row.snooze_id, row.scheduled_for, row.id))


def events(connection: Connection, *, ids: Ids) -> Sequence[Found]:
    """The events of these snoozes, oldest first."""
    rows = select(Event.snooze_id, Event.at, Event.kind, Event.actor, Event.route, Event.detail)
    return connection.execute(rows.where(Event.snooze_id.in_(ids)).order_by(Event.snooze_id, Event.id)).all()


@dataclass(frozen=True, kw_only=True)
class Counts:
    """The amount of a person's data: snoozes that have not returned, finished snoozes, kept messages."""

    waiting: int
    finished: int
    kept: int


def counts(connection: Connection, *, user_email: str) -> Counts:
    """How much the export holds."""
    waiting = select(func.count()).where(Snooze.user_email == user_email, Snooze.outcome.is_(None))
    finished = select(func.count()).where(Snooze.user_email == user_email, Snooze.outcome.is_not(None))
    archived = select(func.count()).where(_archived.user_email == user_email)
    kept = select(func.count()).where(is_kept_by(user_email))
    row = connection.execute(
        select(
            waiting.scalar_subquery().label("waiting"),
            (finished.scalar_subquery() + archived.scalar_subquery()).label("finished"),
            kept.scalar_subquery().label("kept"),
        )
    ).one()
    return Counts(**row._mapping)


def zones(connection: Connection, *, user_email: str) -> list[str]:
    """The zones of the snoozes that have not returned yet."""
    rows = select(Snooze.zone).where(
        Snooze.user_email == user_email, Snooze.outcome.is_(None), Snooze.zone.is_not(None)
    )
    return sorted(zone for zone in connection.execute(rows.distinct()).scalars() if zone)


def original(connection: Connection, *, id: int, user_email: str) -> Found | None:
    """A kept message with its bytes, and where it is; None if it is gone."""
    row = select(*MailboxMessage.__table__.columns, MessageOriginal.original)
    return connection.execute(
        row.where(MailboxMessage.id == id, MessageOriginal.id == MailboxMessage.id, is_kept_by(user_email))
    ).first()


def kept_ids(connection: Connection, *, user_email: str) -> Ids:
    """The ids of a person's kept messages."""
    return _ids(connection, select(MailboxMessage.id).where(is_kept_by(user_email)))


def _ids(connection: Connection, rows: Select[int]) -> Ids:
    return array("q", sorted(connection.execute(rows).scalars()))


def _of_person(
    rows: Select[*tuple[Any, ...]], section: Section, account_id: int, user_email: str
) -> Select[*tuple[Any, ...]]:
    if section.is_kept is not None:
        rows = rows.where(section.model.is_kept == section.is_kept)
    if hasattr(section.model, "account_id"):
        return rows.where(section.model.account_id == account_id)
    return rows.where(section.model.user_email == user_email)


def _snoozes(connection: Connection, model: Any, ids: Ids, user_email: str) -> Sequence[Found]:
    its = state_of(model)
    rows = select(*model.__table__.columns, *its.c, promised_time(model).label("promise")).join(its, true())
    return connection.execute(rows.where(model.id.in_(ids), model.user_email == user_email)).all()


def _sends(connection: Connection, model: Any, ids: Ids, user_email: str) -> Sequence[Found]:
    rows = select(*model.__table__.columns).where(model.snooze_id.in_(ids), model.user_email == user_email)
    return connection.execute(rows).all()
