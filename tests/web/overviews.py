"""What the operator's overview is tested with: a queue that is well, and what is wrong with one."""

import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

from flask.testing import FlaskClient
from sqlalchemy import Engine, insert, text

from snoozer.db.models import CircuitBreaker, Send
from snoozer.queue import workers
from snoozer.queue.workers import Description
from tests.factories import a_snooze, now, the_row
from tests.web.cases import page, visible_text

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


def a_worker(engine: Engine, id: str = "ant-1", *, silent: timedelta = -HOUR, runs: timedelta = HOUR) -> str:
    """A worker of release 1.2.3 whose last heartbeat was so long ago. One ahead of time is not silent while a slow
    machine runs the test."""
    description = Description(version="1.2.3", host="ant", batch_size=50, concurrency=8)
    with engine.begin() as connection:
        workers.register(connection, id=id, description=description)
        moved = text("UPDATE workers SET heartbeat_at = now() - :silent, started_at = now() - :runs WHERE id = :id")
        connection.execute(moved, {"silent": silent, "runs": runs, "id": id})
    return id


def housekeeping(engine: Engine, *, chore: str = "recover", ago: timedelta = -HOUR) -> None:
    """The clock did this chore so long ago."""
    with engine.begin() as connection:
        ran = text(
            "INSERT INTO housekeeping_runs AS run VALUES (:chore, now() - :ago)"
            " ON CONFLICT (chore) DO UPDATE SET finished_at = EXCLUDED.finished_at"
        )
        connection.execute(ran, {"chore": chore, "ago": ago})


def overdue_chore(engine: Engine) -> None:
    housekeeping(engine, chore="minutes", ago=timedelta(minutes=6))


def refused_sweep(engine: Engine) -> None:
    """The clock runs, and the database refuses its sweep."""
    housekeeping(engine, ago=HOUR)
    housekeeping(engine, chore="refused: sweep", ago=timedelta(minutes=1))


def all_is_well(engine: Engine) -> None:
    """One worker and the clock run, and nothing waits."""
    a_worker(engine)
    housekeeping(engine)


def a_breaker(engine: Engine, **columns: Any) -> None:
    with engine.begin() as connection:
        connection.execute(
            insert(CircuitBreaker).values(**{"server": "mail.example:25", "updated_at": now()} | columns)
        )


def waits(engine: Engine, *, reminders: int = 3, ago: timedelta = 2 * MINUTE) -> None:
    """So many reminders are due, and wait for a worker."""
    for _ in range(reminders):
        a_snooze(engine, remind_at=now() - ago)


def sent(engine: Engine, *, ago: timedelta, late: timedelta = timedelta(0), reply: timedelta = SECOND / 10) -> None:
    """A reminder that the server took so long ago, so late, and so long after the dot."""
    at = now() - ago
    id = a_snooze(engine, remind_at=at - late, inactive=True, outcome="sent", finished_at=at)
    row = the_row(engine, id)
    with engine.begin() as connection:
        connection.execute(
            insert(Send).values(
                snooze_id=id,
                user_email=row.user_email,
                message_id=row.message_id,
                scheduled_for=at - late,
                bucket=row.bucket,
                reminder_message_id=f"<{uuid4()}@snoozer.example>",
                state="sent",
                claim_token=uuid4(),
                zone="UTC",
                bytes_sha256="0" * 64,
                reserved_at=at - reply,
                dot_authorised_at=at - reply,
                sent_at=at,
                smtp_code=250,
            )
        )


def verdict(client: FlaskClient) -> tuple[str, str, list[str]]:
    """The kind of what is wrong, the first sentence, and the others."""
    markup = page(client, "/admin")
    found = re.search(r'<section id="verdict".*?data-kind="([^"]*)".*?<h2[^>]*>(.*?)</h2>(.*?)</section>', markup, re.S)
    assert found is not None
    others = [visible_text(one) for one in re.findall(r'<p class="trouble">(.*?)</p>', found[3], re.S)]
    return found[1], visible_text(found[2]), others


def troubles_of(client: FlaskClient) -> list[str]:
    """The kinds of all that is wrong, in the order of the page."""
    return re.findall(r'<div class="remedy" data-kind="([^"]*)"', page(client, "/admin"))


def part(client: FlaskClient, id: str) -> str:
    """The text of one part of the page."""
    found = re.search(rf'<section id="{id}"(.*?)</section>', page(client, "/admin"), re.S)
    assert found is not None, id
    return visible_text(f"<section{found[1]}")
