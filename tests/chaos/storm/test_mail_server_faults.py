"""Seven phases of SMTP, six ways to fail in each: row and ledger say exactly what happened, and then it arrives.

Each case is one snooze, one worker and one answer of the mail server that is not the usual one.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakes.smtp_server import EOF, STALL
from tests.chaos.storm.fleet import Fleet, until
from tests.chaos.storm.ground import Ground, Scene
from tests.chaos.storm.report import Report
from tests.mail.scripted_server import GARBAGE

TIMEOUT = 30.0
GREETING, MAIL = ("banner", "ehlo", "auth"), ("mail", "rcpt", "data")
FAULTS = {
    "4xx": "451 4.3.0 later",
    "5xx": "550 5.7.1 no",
    "421": "421 4.3.2 going down",
    "garbage": GARBAGE,
    "EOF": EOF,
    "stall": STALL,
}
CASES = [(phase, fault) for phase in (*GREETING, *MAIL, "dot") for fault in FAULTS]
# Every pause is longer than the test, so that what is seen is the outcome of exactly one attempt.
PATIENT = {
    "SNOOZER_BACKOFF_SECONDS": "600",
    "SNOOZER_UNCERTAIN_HOLD_SECONDS": "600",
    "SNOOZER_DEADLINE_SECONDS": "2",
    "SNOOZER_BREAKER_THRESHOLD": "1000",
}
NEXT = "UPDATE email_snoozes SET remind_at = now() WHERE NOT inactive AND snooze_keeps('promise')"
SEEN = """
SELECT
    snooze.outcome, snooze.inactive, snooze.attempts, snooze.crash_count, snooze.claimed_at, snooze.last_error,
    send.state, send.smtp_code, send.dot_authorised_at, COALESCE(send.resends, 0) AS resends, send.uncertain_at,
    send.refusals,
    ARRAY(SELECT kind FROM snooze_events AS event WHERE event.snooze_id = snooze.id ORDER BY event.id) AS events
FROM email_snoozes AS snooze
LEFT JOIN reminder_sends AS send ON send.snooze_id = snooze.id
"""


def expected(phase: str, fault: str) -> dict[str, Any]:
    """The row and the ledger after one attempt."""
    after = {"outcome": None, "inactive": False, "attempts": 0, "crash_count": 0, "claimed_at": None, "resends": 0}
    answered = fault in {"4xx", "5xx"} or (phase == "dot" and fault == "421")
    if phase in GREETING or not (answered or phase == "dot"):
        # The server is of no use, and the reminder has nothing to do with it: no attempt is spent.
        return after | {"state": None, "smtp_code": None, "events": ["failed"]}
    code = int(FAULTS[fault][:3]) if answered else None
    if fault == "5xx":
        return after | {
            **{"outcome": "retired", "inactive": True, "attempts": 1},
            **{"state": "failed", "smtp_code": code, "events": ["retired"]},
        }
    if answered:
        # A recipient who is refused for now is tried for days, and that is counted for itself.
        refusals = 0 if fault == "421" or phase == "mail" else 1
        spent = 1 if fault == "4xx" and phase == "mail" else 0
        return after | {
            **{"attempts": spent, "refusals": refusals},
            **{"state": "failed", "smtp_code": code, "events": ["failed"]},
        }
    return after | {"state": "uncertain", "smtp_code": None, "events": ["uncertain", "failed"]}


@pytest.fixture(scope="module")
def scene(ground: Ground, tmp_path_factory: pytest.TempPathFactory, seed: int) -> Iterator[Scene]:
    folder: Path = tmp_path_factory.mktemp("faults")
    (folder / "home").mkdir()
    with ground.scene(folder, seed=seed, think=0.0) as scene:
        yield scene


@pytest.fixture(scope="module")
def as_expected(report: Report) -> Iterator[list[str]]:
    began = time.time()
    passed: list[str] = []
    yield passed
    strikes = {"phase and fault": len(CASES)}
    seconds, all_of_them = time.time() - began, len(passed) == len(CASES)
    report.add("mail_server_faults", strikes=strikes, seconds=seconds, as_expected=len(passed), passed=all_of_them)


@pytest.mark.parametrize(("phase", "fault"), CASES)
def test_a_fault_leaves_exactly_this(scene: Scene, as_expected: list[str], phase: str, fault: str) -> None:
    scene.ask("TRUNCATE email_snoozes, reminder_sends, snooze_events, circuit_breakers CASCADE")
    accepted = scene.sink.order(heal=True, fault=[phase, FAULTS[fault], None])["accepted"]
    url = scene.environment["SMTP_URL"]
    login = {"SMTP_URL": url.replace("//", "//user:password@")} if phase == "auth" else {}
    fleet = scene.fleet(workers=1, settings={**PATIENT, **login})
    try:
        scene.load.pour(1)
        fleet.start()
        assert _tried(scene), "the worker did not try"
        [seen] = scene.ask(SEEN)
        wanted = expected(phase, fault)
        assert {name: seen[name] for name in wanted} == wanted
        assert (seen["dot_authorised_at"] is not None) == (phase == "dot")
        assert seen["last_error"]
        assert scene.sink.order(heal=True)["accepted"] == accepted
        if wanted["outcome"] is None:
            _goes_out_at_last(scene, fleet)
            assert scene.sink.order()["accepted"] == accepted + 1
    finally:
        fleet.close()
    as_expected.append(f"{fault} at {phase}")


def _tried(scene: Scene) -> bool:
    seen = "SELECT 1 FROM email_snoozes WHERE claimed_at IS NULL AND last_error IS NOT NULL"
    return until(lambda: bool(scene.ask(seen)), seconds=TIMEOUT)


def _goes_out_at_last(scene: Scene, fleet: Fleet) -> None:
    """The mail server is well again and the pause is over: it arrives, once."""
    scene.ask("UPDATE reminder_sends SET uncertain_at = uncertain_at - interval '601 seconds'")
    scene.ask(NEXT)
    assert scene.drained(seconds=TIMEOUT)
    [seen] = scene.ask(SEEN)
    assert (seen["outcome"], seen["state"]) == ("sent", "sent")
