"""Reminders with faults: counters say what SQL says, and no subject, address or token is in what leaves the processes.

SNOOZER_STORM=1 makes them a thousand; else they are a sample.
"""

import os
import re
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
from sqlalchemy import Engine, text

from tests.factories import People, a_snooze, now
from tests.mail.scripted_server import EOF, RESET, USUAL, ScriptedServer
from tests.otlp import Collector, collect_telemetry, last_sums
from tests.process.conftest import TIMEOUT, Field
from tests.web.live_site import LiveSite, live_site

FULL = os.environ.get("SNOOZER_STORM") == "1"
REMINDERS = 1000 if FULL else 60
POLL = 0.1
# In subjects; a server quotes the first of them, as it quotes addresses.
WORD, TOPIC = "canary4711", "topic9317"
NAME = "finch0815"
ADDRESS = f"{NAME}@mail.example"
FAULTS = {
    "rcpt": [f"550 5.1.1 <{ADDRESS}> is unknown here, {WORD}", f"451 4.2.2 <{ADDRESS}> is full, {WORD}"],
    "dot": [f"554 5.6.0 {WORD} is spam of {ADDRESS}", f"452 4.3.1 {WORD} later", EOF, RESET, f"421 {WORD} bye"],
}
USUAL_SHARE = 0.8
# No worker is declared dead because this machine is slow.
UNTROUBLED = {
    "SNOOZER_BREAKER_THRESHOLD": "100000",
    "SNOOZER_METRICS_PORT": "21800",
    "SNOOZER_WORKER_DEAD_SECONDS": "6",
    "SNOOZER_LEASE_SECONDS": "12",
}
TOKEN = re.compile(r"http://snoozer\.example/\w+/([\w.~-]{16,})")


def troubled(rng: Random) -> dict[str, str | list[str]]:
    """A script with faults among the usual replies, and usual ones at its end."""
    return {
        phase: [
            *(USUAL[phase] if rng.random() < USUAL_SHARE else rng.choice(faults) for _ in range(REMINDERS)),
            USUAL[phase],
        ]
        for phase, faults in FAULTS.items()
    }


def number(engine: Engine, query: str) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text(query)).scalar_one())


def enter(engine: Engine, *, lost: int) -> None:
    """The reminders, all due; so many are held by a worker that is gone."""
    for count in range(REMINDERS):
        gone = {"claimed_at": now(), "claimed_by": "gone-1-0123abcd", "lease_expires_at": now()} if count < lost else {}
        a_snooze(
            engine,
            user_email=f"{NAME}+{count % 20}@mail.example",
            message_id=f"<{TOPIC}-{count}@mail.example>",
            subject=f"{WORD} {TOPIC} {count}",
            sender_email=ADDRESS,
            note=TOPIC,
            **gone,
        )


@contextmanager
def running(place: Field, *commands: Sequence[str], **settings: str) -> Iterator[list[str]]:
    """These commands until the end of the block; the list then has what each wrote to standard error."""
    started, written = [place.start(*command, **settings) for command in commands], list[str]()
    try:
        yield written
    finally:
        for process in started:
            process.terminate()
        for process in started:
            written.append(process.communicate(timeout=TIMEOUT)[1])
            assert process.returncode == 0, written[-1]


def until_all_are_over(engine: Engine) -> None:
    ends = time.monotonic() + TIMEOUT * (5 if FULL else 1)
    while number(engine, "SELECT count(*) FROM email_snoozes WHERE NOT inactive"):
        assert time.monotonic() < ends, "some are not over"
        time.sleep(POLL)


@pytest.mark.parametrize("policy", ["resend", "hold"])
def test_counters_are_what_the_ledger_and_the_events_say(place: Field, policy: str) -> None:
    engine = place.engine
    enter(engine, lost=5)
    with collect_telemetry() as collector, ScriptedServer(troubled(Random(policy))) as server:
        settings = {"SMTP_URL": f"smtp://127.0.0.1:{server.port}", "SNOOZER_UNCERTAIN_POLICY": policy}
        with running(place, ("worker", "--processes", "2"), ("clock",), **settings, **UNTROUBLED, **collector.settings):
            until_all_are_over(engine)
    sums = {name: total(collector, name) for name in COUNTERS}
    of_workers = "SELECT count(*) FROM snooze_events WHERE actor LIKE 'worker:%' AND kind IN "
    sent = number(engine, "SELECT count(*) FROM reminder_sends WHERE state = 'sent'")
    assert sums["queue.processed"] == number(engine, "SELECT count(*) FROM email_snoozes WHERE outcome = 'sent'") > 0
    assert total(collector, "queue.processed", verdict="sent") == sent
    assert total(collector, "reminders.lateness") == sent
    copies_in_flight = total(collector, "queue.failed", **{"error.type": "copy_in_flight"})
    assert sums["queue.failed"] - copies_in_flight == number(engine, f"{of_workers} ('failed', 'retired')") > 0
    assert sums["queue.retired"] == number(engine, "SELECT count(*) FROM snooze_events WHERE kind = 'retired'") > 0
    recovered = number(engine, "SELECT count(*) FROM snooze_events WHERE kind = 'recovered'")
    assert sums["queue.stale_recovered"] == recovered == 5
    assert total(collector, "queue.stale_recovered", worker="gone") == 5
    uncertain = total(collector, "queue.failed", verdict="uncertain")
    uncertain += total(collector, "queue.failed", verdict="uncertain_case")
    assert uncertain == number(engine, f"{of_workers} ('uncertain')") > 0
    endings = ("queue.processed", "queue.failed", "queue.lost_ownership", "queue.handed_back")
    assert sums["queue.claimed"] == sum(sums[name] for name in endings) == total(collector, "queue.wait")


COUNTERS = (
    "queue.claimed",
    "queue.processed",
    "queue.failed",
    "queue.retired",
    "queue.stale_recovered",
    "queue.lost_ownership",
    "queue.handed_back",
)


def total(collector: Collector, name: str, **labels: str) -> float:
    """What a counter came to in all processes, for these labels."""
    found = last_sums(collector, name)
    return sum(value for known, value in found.items() if labels.items() <= dict(known).items())


def test_no_subject_address_or_token_leaves_the_processes(
    place: Field, people: People, postgres_url: str, tmp_path: Path
) -> None:
    person = people.ann(f"{NAME}@snoozer.example")
    enter(place.engine, lost=5)
    pages: list[str] = []
    with collect_telemetry() as collector, ScriptedServer(troubled(Random(1))) as server:
        exported = {**collector.settings, "OTEL_LOGS_EXPORTER": "otlp"}
        settings = {"SMTP_URL": f"smtp://127.0.0.1:{server.port}", "SNOOZER_LOG_FORMAT": "json"}
        settings |= UNTROUBLED | exported
        logs = [_killed(place, step, settings) for step in ("body", "dot")]
        web = {"SNOOZER_LOG_FORMAT": "json", **exported}
        with live_site(postgres_url, tmp_path, **web) as site:
            with running(place, ("worker", "--processes", "2"), ("clock",), **settings) as written:
                until_all_are_over(place.engine)
            tokens = {token for mail in server.received for token in TOKEN.findall(_unfolded(mail.data))}
            pages += [_visit(site, path, person.session) for path in (*_paths(tokens), "/admin", "/metrics")]
            assert site.request("/api/v1/snoozes", authorization=f"Bearer {person.token}")[0] == 200
            assert site.request("/api/v1/snoozes", authorization=f"Bearer {WORD}")[0] == 401
            assert site.request(f"/nowhere/{WORD}?q={WORD}", referer=f"http://{WORD}/")[0] == 404
    # What the killed ones had not exported is in the ledger alone.
    done = number(place.engine, "SELECT count(*) FROM email_snoozes WHERE outcome = 'sent'")
    assert 0 < total(collector, "queue.processed") <= done
    support = [_support(place, name) for name in ("failures", "oldest", "uncertain")]
    assert tokens
    assert all("queue_depth" in page for page in pages[-1:])
    secrets = {WORD, TOPIC, NAME, person.session, person.token, *tokens}
    places = {
        "telemetry": collector.everything.decode("utf-8", "replace"),
        "logs": "\n".join([*logs, *written, site.log.read_text()]),
        "metrics": pages[-1],
        "support": "\n".join(support),
        "audit": _audit_log(place.engine),
    }
    assert [name for name, content in places.items() if len(content) < 1000] == ["audit"]
    found = {(name, secret) for name, content in places.items() for secret in secrets if secret in content}
    # A reason is what the mail server replied, without addresses.
    assert found - {("support", WORD)} == set()


def _killed(place: Field, step: str, settings: dict[str, str]) -> str:
    """A worker that is killed at this step of one of the deliveries; returns its log."""
    killing = {"SNOOZER_FAILPOINTS": "1", "SNOOZER_FAILPOINT": f"{step}:kill:3"}
    ended = place.run("worker", "--batch", "5", **killing, **settings)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    return ended.stderr


def _unfolded(data: bytes) -> str:
    """The text of a mail, without the line ends of quoted-printable."""
    return re.sub(r"=\r\n", "", data.decode("ascii", "replace")).replace("=3D", "=")


def _paths(tokens: set[str]) -> list[str]:
    return [f"/r/{token}" for token in sorted(tokens)[:10]]


def _visit(site: LiveSite, path: str, session: str) -> str:
    status, page = site.request(path, cookie=f"snoozer_session={session}")
    assert status < 500, (path, page)
    return page


def _support(place: Field, name: str) -> str:
    ended = place.run("support", name)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def _audit_log(engine: Engine) -> str:
    with engine.connect() as connection:
        return str(connection.execute(text("SELECT json_agg(entry) FROM audit_log AS entry")).scalar_one())
