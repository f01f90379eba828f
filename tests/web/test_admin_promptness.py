"""With the default settings, the overview says an outage within fifteen seconds, and no longer than that after its
end. `tests/process/test_ten_outages.py` measures both."""

from datetime import timedelta

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.db import overview
from snoozer.mailboxes.sync import silence, watcher
from snoozer.settings import Settings
from snoozer.web.operators.reading import SHARED_SECONDS
from snoozer.web.operators.trouble import Limits
from tests.factories import a_snooze, now
from tests.web.overviews import SECOND, a_breaker, all_is_well, sent, verdict

PROMISED = 15.0
# Until a page shows new figures: they are this old at most, and then they are read and fetched.
PAGE = SHARED_SECONDS + 1.0
DEFAULTS = {name: field.default for name, field in Settings.model_fields.items()}
CLOCK = Limits(
    dead_after=timedelta(seconds=DEFAULTS["worker_dead"]), sweep=timedelta(seconds=DEFAULTS["worker_dead"] / 5)
)
NAMED_AFTER = {
    "a lost worker": DEFAULTS["worker_dead"],
    "a silent clock": CLOCK.clock.total_seconds(),
    "a frozen mail server": overview.SLOW.total_seconds() + DEFAULTS["poll"],
    "a silent mailbox": silence.ASK_AFTER_SECONDS + silence.ANSWER_SECONDS + watcher.ASK_SECONDS,
    "a lock": overview.LONG_WAIT.total_seconds() + DEFAULTS["poll"],
}
GONE = {
    "a lost worker": DEFAULTS["heartbeat"],
    "a silent clock": CLOCK.sweep.total_seconds(),
    # A probe failed just before the end, and the next one waits for a poll, too.
    "a mail server": DEFAULTS["breaker_cooldown"] + 2 * DEFAULTS["poll"],
    "a silent mailbox": 2 * watcher.ASK_SECONDS,
}


@pytest.mark.parametrize("outage", NAMED_AFTER)
def test_it_is_named_in_time(outage: str) -> None:
    assert NAMED_AFTER[outage] + PAGE <= PROMISED


@pytest.mark.parametrize("outage", GONE)
def test_its_end_is_seen_in_time(outage: str) -> None:
    assert GONE[outage] + PAGE <= PROMISED


@pytest.mark.parametrize(("has_sent", "kind"), [(False, "mail server frozen"), (True, "well")])
def test_new_claims_do_not_hide_a_frozen_mail_server(
    has_sent: bool, kind: str, operator: FlaskClient, engine: Engine
) -> None:
    """A fourth of the claims need not be old."""
    all_is_well(engine)
    a_breaker(engine)
    a_snooze(engine, claimed_by="ant-1", claimed_at=now() - 12 * SECOND, remind_at=now())
    for _ in range(20):
        a_snooze(engine, claimed_by="ant-1", claimed_at=now() - SECOND, remind_at=now())
    if has_sent:
        sent(engine, ago=SECOND)
    assert verdict(operator)[0] == kind
