"""Helpers for operators' pages: make cases, read pages, decide."""

import html
import re
from datetime import timedelta
from typing import Any

from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.operators import chunks
from snoozer.queue import ledger, queue
from snoozer.queue.reminder import UncertainPolicy
from snoozer.web import context
from tests.db.transitions import mark_uncertain_one, release_one
from tests.factories import HOUR, a_snooze, now

UNTIL = (now() + 365 * timedelta(days=1)).isoformat()
CANARY = "<img src=x onerror=alert(1)>"


def an_uncertain_case(engine: Engine, **columns: Any) -> int:
    """The final dot was sent, no reply came, and the policy leaves it to the operator."""
    id = a_snooze(engine, **columns)
    with engine.begin() as connection:
        claim = next(row for row in queue.claim(connection, worker="w1", batch_size=9, lease=HOUR) if row.id == id)
        policy = UncertainPolicy(hold=HOUR, for_operator=True)
        [send] = ledger.list_sendable(connection, worker="w1", ids=[id], domain="snoozer.example", uncertainty=policy)
        assert ledger.authorise(connection, dots=[(send, "0" * 64)], uncertainty=policy)
        assert mark_uncertain_one(connection, send)
        release_one(
            connection,
            claim,
            error="It may have been sent: connection lost",
            attempts_used=0,
            delay=HOUR,
            permanent=True,
        )
    return id


def page(client: FlaskClient, path: str = "/admin/cases") -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.get_data(as_text=True)


def visible_text(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def act(client: FlaskClient, act: str, **form: Any) -> str:
    """Acts on rows, lets the clock do it, and returns the text of the page that follows."""
    answer = client.post("/admin/operations", data={"act": act, "as_of": UNTIL, "why": "mended", **form})
    assert answer.status_code == 303, answer.get_data(as_text=True)
    with client.application.app_context():
        chunks.work(context.engine())
    return visible_text(page(client, answer.headers["Location"]))


def claimable(engine: Engine) -> list[int]:
    with engine.begin() as connection:
        return [claim.id for claim in queue.claim(connection, worker="w2", batch_size=100, lease=HOUR)]
