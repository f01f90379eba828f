"""Reminders for an address that is not ASCII go to a server with SMTPUTF8; without it each is a case, at once."""

from pathlib import Path

import pytest
from sqlalchemy import Engine

from snoozer.delivery.claiming import Delivery
from tests.db.pipelines import a_pipeline, reap_all
from tests.db.transitions import claim, sendable
from tests.factories import ANN, People, a_snooze, the_row
from tests.mail.composed import opened, reminder
from tests.mail.scripted_server import ScriptedServer

OFFER = "250-x\r\n250 SMTPUTF8"
MANY = 60


@pytest.fixture
def müller(people: People) -> str:
    people.ann(ANN)
    people.ann("Müller@Bücher.example")
    return "müller@xn--bcher-kva.example"


def deliver(engine: Engine, server: ScriptedServer, folder: Path, addresses: list[str]) -> list[int]:
    ids = [a_snooze(engine, user_email=address) for address in addresses]
    with a_pipeline(engine, server, folder, concurrency=4, compose=reminder) as (pipeline, _):
        pipeline.submit([Delivery(claim=held, send=sendable(engine, held)[0]) for held in claim(engine)])
        reap_all(pipeline)
    return ids


def test_it_gets_its_reminder_where_the_server_takes_it(engine: Engine, tmp_path: Path, müller: str) -> None:
    with ScriptedServer(ehlo=OFFER) as server:
        [id] = deliver(engine, server, tmp_path, [müller])
        [mail] = server.received
    assert the_row(engine, id).outcome == "sent"
    assert mail.rcpt_to == ("TO:<müller@xn--bcher-kva.example>",)
    assert mail.mail_from.endswith("SMTPUTF8")
    assert mail.data.isascii()
    assert opened(mail.data)["To"] == "undisclosed-recipients:;"


def test_without_it_each_is_a_case_and_the_server_is_not_blamed(engine: Engine, tmp_path: Path, müller: str) -> None:
    addresses = [müller.replace("müller", f"müller{number}") for number in range(MANY)]
    with ScriptedServer() as server:
        *cases, sent = deliver(engine, server, tmp_path, [*addresses, ANN])
        assert len(server.received) == 1
    assert the_row(engine, sent).outcome == "sent"
    rows = [the_row(engine, id) for id in cases]
    assert {(row.outcome, row.attempts) for row in rows} == {("retired", 1)}
    assert {row.last_error for row in rows} == {"rcpt: 553 5.6.7 The mail server does not offer SMTPUTF8."}
