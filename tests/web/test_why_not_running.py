"""Why a row is not running: a sentence for every reason there is, each of a row that is like that."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.db import timeline
from snoozer.queue import breaker, workers
from snoozer.web.operators.explain import REASONS, TAKEN
from tests.db.every_state import STATES, a_digest, a_send
from tests.factories import HOUR, a_snooze, now
from tests.web.cases import page, visible_text

MINUTE = timedelta(minutes=1)


def a_worker(engine: Engine, id: str = "w1", *, dead: bool = False) -> None:
    with engine.begin() as connection:
        workers.register(connection, id=id)
        if dead:
            connection.execute(text("UPDATE workers SET state = 'dead', stopped_at = now() WHERE id = :id"), {"id": id})


def of_the_dead(engine: Engine) -> int:
    a_worker(engine, "gone", dead=True)
    return a_snooze(engine, claimed_at=now(), claimed_by="gone")


def freed(engine: Engine) -> int:
    id = STATES["key"](engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET behind_key = TRUE WHERE id = :id"), {"id": id})
        connection.execute(text("DELETE FROM email_snoozes WHERE id <> :id"), {"id": id})
    return id


def on_another_database(engine: Engine) -> int:
    with engine.begin() as connection:
        timeline.accept(connection, accepted_by="test")
        connection.execute(text("UPDATE accepted_timelines SET database_oid = 1"))
    return a_snooze(engine)


def without_a_worker(engine: Engine) -> int:
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM workers"))
    return a_snooze(engine)


def while_the_mail_server_is_away(engine: Engine) -> int:
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO circuit_breakers (server, state) VALUES ('mx.example:25', 'open')"))
    return a_snooze(engine)


def stopped_by_an_operator(engine: Engine) -> int:
    id = while_the_mail_server_is_away(engine)
    with engine.begin() as connection:
        breaker.trip(connection, server="mx.example:25", actor="operator:7", reason="Moved")
    return id


def listed_and_due(engine: Engine) -> int:
    id = a_snooze(engine, scheduled_for=now() - HOUR)
    a_digest(engine, id)
    return id


def uncertain_and_due(engine: Engine) -> int:
    id = a_snooze(engine, scheduled_for=now() - HOUR, last_error="no answer")
    a_send(engine, id, state="uncertain")
    return id


ROWS: dict[str, tuple[Callable[[Engine], int], str]] = {
    "sent": (STATES["sent"], "It is done: it was finished"),
    "cancelled": (STATES["cancelled"], "It was cancelled or dismissed"),
    "case": (STATES["case"], "It waits for your decision"),
    "owner_pause": (STATES["owner_pause"], "Its person paused it"),
    "operator_pause": (STATES["operator_pause"], "An operator paused it"),
    "database_pause": (STATES["database_pause"], "It was paused in the database"),
    "claimed": (STATES["held"], "Worker another-worker holds it"),
    "claimed_by_the_dead": (of_the_dead, "and is dead; the next sweep takes the claim back"),
    "claim_lapsed": (lambda engine: a_snooze(engine, claimed_at=now() - HOUR), "its lease ran out"),
    "spent": (STATES["spent"], "Its 5 attempts are spent"),
    "newer": (STATES["newer"], "was written by a newer release of Snoozer (form 2; this release knows 1)"),
    "key": (STATES["key"], "behind 1 of its serialization key"),
    "key_freed": (freed, "was behind others of its serialization key, which are gone"),
    "uncertain": (STATES["hold"], "may have been sent; whether it is sent again is decided in"),
    "digest": (STATES["digest"], "It is listed in the digest of snooze"),
    "rest": (STATES["rest"], "Its person's day lets nothing through (quiet hours)"),
    "retry": (STATES["retry"], "It could not be delivered; the next try is in"),
    "message": (STATES["message"], "its message is to be back first"),
    "asleep": (STATES["asleep"], "Its time has not come: it is promised for"),
    "other_database": (on_another_database, "this is another database than before"),
    "no_worker": (without_a_worker, "no worker is alive"),
    "mail_server": (while_the_mail_server_is_away, "the mail server mx.example:25 is left alone"),
    "mail_server_stopped": (
        stopped_by_an_operator,
        "operator 7 stopped sending by the mail server mx.example:25",
    ),
    "next": (a_snooze, "and next in line"),
    "next_alone": (lambda engine: a_snooze(engine, crash_count=2), "next in line. It lost its worker twice"),
    "next_uncertain": (uncertain_and_due, "may have been sent. It is next in line"),
    "next_digest": (listed_and_due, "next in line, and its worker looks whether that was sent"),
}


@pytest.mark.parametrize("reason", ROWS)
def test_every_reason_has_its_sentence(reason: str, operator: FlaskClient, engine: Engine) -> None:
    a_worker(engine)
    make, sentence = ROWS[reason]
    id = make(engine)
    shown = visible_text(page(operator, f"/admin/cases/{id}"))
    assert sentence in shown
    assert ("next in line" in shown) == (reason in TAKEN)


def test_the_table_is_whole() -> None:
    assert set(ROWS) == set(REASONS)
