"""The words tests are written in: `a_snooze(engine, attempts=4)`, `a_kept_message(engine)`, `people.ann()`."""

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Any
from uuid import uuid4

from sqlalchemy import Engine, insert, text

from snoozer.db.models import ConnectedMailbox, Snooze
from snoozer.mailboxes import inbox
from snoozer.notify.feeds.access import Kind, create
from snoozer.people import accounts, api_tokens
from snoozer.queue.reminder import Claim
from snoozer.timephrase.parse import parse

_numbers = itertools.count(1)

ANN = "ann@snoozer.example"
HOUR = timedelta(hours=1)


def now() -> datetime:
    """A clock for data, not for judging what the product does with time."""
    return datetime.now(UTC)


def a_claim(id: int, *, remind_at: datetime | None = None) -> Claim:
    """A claim as a worker holds it, of a row that no database has."""
    due = remind_at or now()
    return Claim(
        id=id,
        claim_token=uuid4(),
        user_email=ANN,
        message_id=f"<{id}@mail.example>",
        remind_at=due,
        scheduled_for=due,
        attempts=0,
        recurrence=None,
        zone=None,
        traceparent=None,
    )


def a_snooze(engine: Engine, **columns: Any) -> int:
    """Insert one row, due a minute ago unless `columns` say otherwise; returns its id."""
    values: dict[str, Any] = {
        "user_email": ANN,
        "message_id": f"<{next(_numbers)}@mail.example>",
        "subject": "Quarterly figures",
        "sender_email": "bob@mail.example",
        "remind_at": now() - timedelta(minutes=1),
        "zone": "UTC",
    } | columns
    if values.get("claimed_at") is not None:
        values = {
            "claimed_by": "another-worker",
            "claim_token": "5f3c1c52-7f1e-4a9b-9d3e-6a4f0a3f1b11",
            "lease_expires_at": values["claimed_at"] + timedelta(seconds=90),
        } | values
    with engine.begin() as connection:
        return int(connection.execute(insert(Snooze).values(**values).returning(Snooze.id)).scalar_one())


def asked_for(engine: Engine, phrase: str, *, zone: str = "Europe/Berlin", **columns: Any) -> int:
    """A snooze as the sheet would have saved it."""
    parsed = parse(phrase, now=now(), zone=zone, locale="en_GB")
    return a_snooze(
        engine,
        **{
            "remind_at": parsed.at,
            "wall_time": parsed.wall,
            "zone": parsed.zone,
            "time_kind": parsed.time_kind,
            "recurrence": parsed.recurrence.as_json() if parsed.recurrence else None,
            **columns,
        },
    )


def a_long_snooze(engine: Engine, **columns: Any) -> int:
    """A row that came in before there was a limit: 890 signs of three octets each, too long for the ledger's index."""
    message_id = "".join(chr(0x4E00 + (number * number * 7919) % 20_000) for number in range(890))
    with engine.begin() as connection:
        bucket = connection.execute(text("SELECT snooze_bucket(:email)"), {"email": columns.get("user_email", ANN)})
        values = {"message_id": message_id, "bucket": bucket.scalar_one()} | columns
        connection.execute(text("ALTER TABLE email_snoozes DISABLE TRIGGER email_snoozes_enter"))
    try:
        return a_snooze(engine, **values)
    finally:
        with engine.begin() as connection:
            connection.execute(text("ALTER TABLE email_snoozes ENABLE TRIGGER email_snoozes_enter"))


def the_row(engine: Engine, id: int) -> Any:
    """The row as it stands now, by column name."""
    with engine.connect() as connection:
        return connection.execute(text("SELECT * FROM email_snoozes WHERE id = :id"), {"id": id}).one()


def the_send(engine: Engine, snooze_id: int) -> Any:
    """The snooze's newest reminder in the ledger, or None."""
    with engine.connect() as connection:
        return connection.execute(
            text("SELECT * FROM reminder_sends WHERE snooze_id = :id AND channel = 'email' ORDER BY id DESC LIMIT 1"),
            {"id": snooze_id},
        ).first()


def the_events(engine: Engine, snooze_id: int) -> list[str]:
    """The kinds of the snooze's events, oldest first."""
    with engine.connect() as connection:
        rows = connection.execute(
            text("SELECT kind FROM snooze_events WHERE snooze_id = :id ORDER BY id"), {"id": snooze_id}
        )
        return list(rows.scalars())


def wait_until_a_session_waits(engine: Engine, *, who: Thread | None = None, how_many: int = 1) -> None:
    """Return when `how_many` statements wait for a lock that this test holds, or when the thread `who` has ended."""
    waits = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    end = time.monotonic() + 30
    with engine.connect() as watcher:
        while watcher.execute(waits).scalar_one() < how_many and (who is None or who.is_alive()):
            assert time.monotonic() < end, "no session waits"
            watcher.rollback()
            time.sleep(0.005)


def an_original(
    *,
    subject: str | None = "Hello",
    message_id: str | None = None,
    body: str = "How are you?",
    sender: str = "Bob <bob@mail.example>",
    headers: Sequence[str] = (),
) -> bytes:
    """The bytes of a simple message, with more `headers`."""
    number = next(_numbers)
    head = [f"Message-ID: {message_id or f'<original-{number}@mail.example>'}", f"From: {sender}", *headers]
    if subject is not None:
        head.append(f"Subject: {subject}")
    return ("\r\n".join([*head, "Date: Thu, 5 Mar 2026 10:20:00 +0000", "", f"{body} ({number})", ""])).encode()


def a_kept_message(engine: Engine, *, user_email: str = ANN, original: bytes | None = None, **parts: Any) -> int:
    """One message in the mailbox that Snoozer keeps, brought in through the use case."""
    with engine.begin() as connection:
        return inbox.store(connection, user_email=user_email, original=original or an_original(**parts)).id


def a_feed(engine: Engine, *, account_id: int = 1, kind: Kind = "calendar") -> str:
    """The secret of a new feed."""
    with engine.begin() as connection:
        made = create(connection, account_id=account_id, kind=kind, name="Phone", shows_subject=True)
    assert made is not None
    return made.secret


def a_mailbox(engine: Engine, *, account_id: int = 1, **columns: Any) -> int:
    """A connected mailbox that works, unless `columns` say otherwise; returns its id."""
    values = {
        "account_id": account_id,
        "address": ANN,
        "host": "imap.mail.example",
        "port": 993,
        "security": "tls",
        "username": f"ann-{next(_numbers)}",
        "secret": b"encrypted",
        "synced_at": now(),
    } | columns
    with engine.begin() as connection:
        return int(
            connection.execute(insert(ConnectedMailbox).values(**values).returning(ConnectedMailbox.id)).scalar_one()
        )


@dataclass(frozen=True)
class Person:
    """An account with a session and an API token."""

    id: int
    email: str
    session: str
    token: str

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


class People:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def ann(self, email: str = ANN, role: str = "user", zone: str = "Europe/Berlin") -> Person:
        """A person with an account, signed in somewhere and holding a token."""
        with self.engine.begin() as connection:
            account = accounts.create(connection, email=email, role=role, zone=zone)
            link = accounts.console_sign_in_token(connection, email=email)
            assert link is not None
            session = accounts.sign_in_by_link(connection, token=link, browser=None)
            token = api_tokens.create(connection, email=email)
            assert session is not None
            assert token is not None
            return Person(id=account.id, email=email, session=session, token=token.secret)

    def operator(self) -> Person:
        return self.ann("olga@snoozer.example", role="operator")
