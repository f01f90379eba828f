"""A real Postfix accepts every reminder, and returns some of them later, because their mailboxes do not exist.

SNOOZER_STORM=1 makes them 1,000 and 50 of them dead; else they are a sample.
"""

import os
from typing import Any

from sqlalchemy import text

from snoozer.operators import chunks, pauses
from tests.conftest import missing
from tests.factories import a_snooze, the_row
from tests.imap import server_process
from tests.mail_doors import DOMAIN
from tests.process import postfix
from tests.process.conftest import TIMEOUT, Field, wait
from tests.process.postfix import PEOPLE, a_postfix

ALL, DEAD = (1_000, 50) if os.environ.get("SNOOZER_STORM") == "1" else (60, 5)
WORDS = "User unknown in relay recipient table"


def rows(place: Field, statement: str) -> list[Any]:
    with place.engine.connect() as connection:
        return list(connection.execute(text(statement)).scalars())


def test_mail_that_bounces_later_is_recorded_and_its_address_suspended(place: Field) -> None:
    if postfix.program() is None:
        missing("Postfix")
    dead = {f"dead{number}@{PEOPLE}" for number in range(DEAD)}
    alive = {f"alive{number}@{PEOPLE}" for number in range(ALL - DEAD)}
    inbound = server_process.free_port()
    place.settings |= {"SNOOZER_INBOUND_DOMAIN": DOMAIN, "SNOOZER_INBOUND_PORT": str(inbound)}
    with a_postfix(mailboxes=sorted(alive), sink=place.sink.port, returns_to=DOMAIN, inbound=inbound) as relay:
        place.settings["SMTP_URL"] = f"smtp://127.0.0.1:{relay.port}"
        ids = {address: a_snooze(place.engine, user_email=address) for address in sorted(dead | alive)}
        processes = [place.start("inbound"), place.start("worker")]

        def bounced() -> list[int]:
            return rows(place, "SELECT snooze_id FROM snooze_events WHERE kind = 'bounced' ORDER BY id")

        wait(lambda: len(bounced()) >= DEAD and len(place.sink.accepted()) >= ALL - DEAD and relay.is_empty())
        assert sorted(bounced()) == sorted(ids[address] for address in dead)
        reasons = rows(place, "SELECT DISTINCT concat_ws(' ', detail ->> 'code', detail ->> 'text') FROM snooze_events")
        assert [reason[:6] for reason in reasons] == ["5.1.1 "]
        assert WORDS in reasons[0]
        assert rows(place, "SELECT DISTINCT state FROM reminder_sends") == ["sent"]
        assert {to for mail in place.sink.accepted() for to in mail["rcpt_to"]} == alive
        suspended = "SELECT value FROM pauses WHERE kind = 'invalid' AND ended_at IS NULL"
        assert set(rows(place, suspended)) == dead

        *held, other = (a_snooze(place.engine, user_email=f"{who}@{PEOPLE}") for who in ("dead0", "dead1", "alive0"))
        wait(lambda: place.is_sent(other) and all(the_row(place.engine, id).paused_by for id in held))
        with place.engine.begin() as connection:
            id = the_row(place.engine, held[0]).paused_by
            pauses.resume(connection, id=id, actor="user:1", reason="it takes mail")
        chunks.work(place.engine)
        wait(lambda: len(bounced()) == DEAD + 1)
        assert bounced()[-1] == held[0]
        wait(relay.is_empty)
        assert set(rows(place, suspended)) == dead
        assert the_row(place.engine, held[1]).outcome is None
        assert len(place.sink.accepted()) == ALL - DEAD + 1, "no report makes a mail"
        assert rows(place, "SELECT id FROM mail_acts") + rows(place, "SELECT id FROM messages") == []
        for process in processes:
            process.terminate()
            process.communicate(timeout=TIMEOUT)
