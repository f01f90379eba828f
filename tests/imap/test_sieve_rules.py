"""The Sieve rules of the guide put messages away as they come in, on a real Pigeonhole."""

import re
import shutil
import smtplib
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine

from snoozer.resources import resource_folder
from snoozer.settings import Settings
from tests.conftest import missing
from tests.factories import People, an_original
from tests.imap import dovecot
from tests.imap.watched import Place, watched

pytestmark = pytest.mark.dovecot

GUIDE = resource_folder("docs") / "guide" / "people.md"
RULES = re.findall(r"```sieve\n(.*?)```", GUIDE.read_text(), re.DOTALL)
MESSAGES: dict[str, dict[str, Any]] = {
    "newsletter": {"headers": ["List-Id: News <news.example.org>"]},
    "invoice": {"sender": "billing@shop.example"},
    "Weekly report": {},
    "chat": {"sender": "notifications@chat.example"},
    "bulk": {"headers": ["Precedence: bulk"]},
}


@pytest.fixture
def place(engine: Engine, settings: Settings, people: People) -> Iterator[tuple[Place, dovecot.Dovecot]]:
    if shutil.which("sievec") is None:
        missing("dovecot-sieve")
    [rules] = RULES
    with (
        dovecot.running(separator="/", sieve=rules) as server,
        watched(engine, settings, people.ann(), port=server.imap_port, username="ann", delimiter="/") as place,
    ):
        place.settings = place.settings.model_copy(update={"mailbox_poll": 7200.0})
        yield place, server


def test_each_rule_of_the_guide_puts_away_what_it_is_for(place: tuple[Place, dovecot.Dovecot]) -> None:
    ann, server = place
    ann.start()
    ann.eventually(lambda: ann.rows("SELECT 1 FROM mailboxes WHERE synced_at IS NOT NULL"))
    with smtplib.LMTP("127.0.0.1", server.lmtp_port, local_hostname="test.example") as client:
        for subject, parts in {"for now": {}, **MESSAGES}.items():
            client.sendmail("carl@mail.example", ["ann"], an_original(subject=subject, **parts))
    ann.eventually(lambda: ann.asleep() == len(MESSAGES))
    assert [row.subject for row in ann.rows("SELECT subject FROM email_snoozes ORDER BY subject")] == sorted(MESSAGES)
    assert len(ann.program.uids("INBOX")) == 1
