"""A relay that refuses everybody: a handful of cases, and the rest is sent once it accepts mail again."""

from collections.abc import Iterator

import pytest
from sqlalchemy import text

from tests.mail.scripted_server import USUAL, ScriptedServer
from tests.process.conftest import TIMEOUT, Field, wait

DUE, WORKERS, MAX_CASES = 800, 2, 20
DENIED = "554 5.7.1 Relay access denied"


@pytest.fixture(params=["rcpt", "dot"])
def relay(request: pytest.FixtureRequest) -> Iterator[tuple[str, ScriptedServer]]:
    with ScriptedServer({request.param: DENIED}) as server:
        yield request.param, server


def test_a_relay_that_refuses_everybody_makes_few_cases(place: Field, relay: tuple[str, ScriptedServer]) -> None:
    phase, server = relay
    with place.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO email_snoozes (user_email, message_id, remind_at) "
                "SELECT 'p' || n || '@snoozer.example', '<' || n || '@mail.example>', now() "
                "FROM generate_series(1, :due) AS n"
            ),
            {"due": DUE},
        )
    place.settings = {
        "SMTP_URL": f"smtp://127.0.0.1:{server.port}",
        "SNOOZER_BREAKER_COOLDOWN_SECONDS": "2",
        "SNOOZER_BACKOFF_SECONDS": "2",
    }
    workers = [place.start("worker") for _ in range(WORKERS)]
    try:
        wait(lambda: number(place, "SELECT count(*) FROM snooze_events WHERE kind = 'failed'") >= 20)
        assert number(place, "SELECT count(*) FROM circuit_breakers WHERE refuses_everybody") == 1
        assert number(place, "SELECT sum(attempts) FROM email_snoozes WHERE outcome IS NULL") == 0
        server.answer(phase, USUAL[phase])
        wait(lambda: number(place, "SELECT count(*) FROM email_snoozes WHERE NOT inactive") == 0)
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.communicate(timeout=TIMEOUT)
    cases = number(place, "SELECT count(*) FROM email_snoozes WHERE outcome = 'retired'")
    assert 0 < cases <= MAX_CASES
    assert number(place, "SELECT count(*) FROM email_snoozes WHERE outcome = 'sent'") == DUE - cases


def number(place: Field, query: str) -> int:
    with place.engine.connect() as connection:
        return int(connection.execute(text(query)).scalar_one())
