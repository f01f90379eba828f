"""The first sentence of the overview names what is wrong, the worst first."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.db import overview
from snoozer.db.queries import metrics
from snoozer.queue import breaker
from snoozer.web.operators import remedies, trouble
from tests.factories import a_mailbox, a_snooze, now
from tests.web.cases import an_uncertain_case, page
from tests.web.overviews import (
    HOUR,
    MINUTE,
    SECOND,
    a_breaker,
    a_worker,
    all_is_well,
    housekeeping,
    overdue_chore,
    part,
    refused_sweep,
    sent,
    troubles_of,
    verdict,
    waits,
)


def test_where_nothing_is_wrong_it_says_so(operator: FlaskClient, engine: Engine) -> None:
    all_is_well(engine)
    assert verdict(operator) == ("well", "All is well: no reminder was due in the last hour; nothing waits.", [])
    for late in (1, 2):
        sent(engine, ago=2 * MINUTE, late=late * SECOND)
    assert (
        verdict(operator)[1] == "All is well: 2 reminders were sent in the last hour, all within 2.00 s; nothing waits."
    )


def held_for_long(engine: Engine) -> None:
    """A worker that is heard of got nowhere with what it claimed."""
    for ago in (12, 14, 16):
        a_snooze(engine, claimed_by="ant-1", claimed_at=now() - ago * SECOND)


def refusing(engine: Engine) -> None:
    waits(engine)
    a_breaker(engine, state="open", failures=5, away_since=now() - MINUTE, last_failure="connection refused")


def refusing_everybody(engine: Engine) -> None:
    refusing(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE circuit_breakers SET refuses_everybody = TRUE"))


def frozen(engine: Engine) -> None:
    waits(engine)
    a_breaker(engine, state="open", failures=5, away_since=now() - MINUTE, last_failure="no answer: timed out")


def frozen_since_seconds(engine: Engine) -> None:
    a_breaker(engine)
    held_for_long(engine)


def slow(engine: Engine) -> None:
    frozen_since_seconds(engine)
    sent(engine, ago=SECOND)


def slow_to_reply(engine: Engine) -> None:
    a_breaker(engine)
    for _ in range(3):
        sent(engine, ago=5 * SECOND, reply=3 * SECOND)


def tripped(engine: Engine) -> None:
    waits(engine)
    a_breaker(engine, state="open", tripped_at=now(), tripped_by="operator:7", trip_reason="Moved", away_since=now())


def stopped_while_idle(engine: Engine) -> None:
    a_breaker(engine, state="open", tripped_at=now(), tripped_by="operator:7", trip_reason="Moved", away_since=now())


def no_clock(engine: Engine) -> None:
    housekeeping(engine, ago=MINUTE)


def never_a_clock(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM housekeeping_runs"))


def half_of_the_workers_are_frozen(engine: Engine) -> None:
    a_worker(engine, "bee-1", silent=MINUTE)
    a_snooze(engine, claimed_by="bee-1", claimed_at=now() - 2 * SECOND)


def all_workers_are_frozen(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE workers SET heartbeat_at = now() - INTERVAL '30 seconds'"))


def no_worker(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM workers"))


def backlog_grows(engine: Engine) -> None:
    waits(engine, reminders=30)
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO queue_minutes (seconds, starts_at, sent, retried, failed, due)"
                " VALUES (60, now() - INTERVAL '6 minutes', 0, 0, 0, 2)"
            )
        )


def unwatched(engine: Engine) -> None:
    a_mailbox(engine)


def silent_mailbox(engine: Engine) -> None:
    a_mailbox(engine, owner="m", owned_until=now() + HOUR, problem="gone", problem_since=now())


def uncertain(engine: Engine) -> None:
    an_uncertain_case(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET outcome = 'cancelled'"))


def new_case(engine: Engine) -> None:
    a_snooze(engine, inactive=True, outcome="retired", finished_at=now(), attempts=5)


def old_case(engine: Engine) -> None:
    a_snooze(engine, inactive=True, outcome="retired", finished_at=now() - 3 * HOUR, attempts=5)


def newer_release(engine: Engine) -> None:
    a_snooze(engine, schema_version=2)


# With its day if that is not today, as just after midnight.
HH = r"(?:\d+ \w{3} )?\d\d:\d\d"
WAIT = f"3 reminders of 1 person wait, the oldest since {HH}"


@pytest.mark.parametrize(
    ("wrong", "kind", "sentence"),
    [
        (refusing, "mail server refusing", "The SERVER is refusing since HH; WAIT; nothing is lost."),
        (refusing_everybody, "mail server refusing", "The SERVER refuses every reminder since HH; WAIT; …"),
        (frozen, "mail server frozen", "The SERVER does not answer since HH; WAIT; nothing is lost."),
        (frozen_since_seconds, "mail server frozen", "The SERVER has not answered for …: 3 reminders are in delivery…"),
        (slow, "mail server slow", "The SERVER is slow: 3 reminders are in delivery since HH or later; …"),
        (slow_to_reply, "mail server slow", "The SERVER is slow: it takes 3.00 s to accept a reminder; …"),
        (tripped, "mail server tripped", "Nothing is sent by mail.example:25 since operator 7 stopped it at HH …"),
        (no_clock, "clock", "The clock has been silent since HH, for 1 min…"),
        (never_a_clock, "clock", "The clock has never run (start it with: snoozer clock); …"),
        (refused_sweep, "chore", "The database refuses the clock its chore “sweep” since HH: its log names the error."),
        (overdue_chore, "chore", "The clock runs, and its chore “minutes” was last done at HH: its log says …"),
        (half_of_the_workers_are_frozen, "workers lost", "1 of 2 workers stopped answering (bee-1 at HH); 1 …"),
        (all_workers_are_frozen, "no workers", "The only worker stopped answering at HH; nothing waits; …"),
        (no_worker, "no workers", "No worker runs (start one with: snoozer worker); nothing waits; …"),
        (backlog_grows, "backlog", "The backlog grows: 30 reminders are due, …; some minutes ago 2 were."),
        (waits, "backlog", "Reminders go out late: 3 reminders are due, the oldest for 2 min…"),
        (unwatched, "mailboxes unwatched", "1 of 1 mailboxes is watched by no process (start one with: …)."),
        (silent_mailbox, "mailboxes", "1 of 1 mailbox has had no answer of its server since HH; what is due …"),
        (uncertain, "uncertain", "1 reminder may have been sent, and it is not known, the first since HH."),
        (new_case, "cases new", "1 case waits for a decision, 1 of them in the last hour."),
        (old_case, "cases", "1 case waits for a decision."),
        (newer_release, "deferred", "1 reminder is due that only a newer release can send."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_in_the_first_sentence(
    operator: FlaskClient,
    engine: Engine,
    people: object,
    wrong: Callable[[Engine], None],
    kind: str,
    sentence: str,
) -> None:
    all_is_well(engine)
    assert verdict(operator)[0] == "well"
    wrong(engine)
    found = verdict(operator)
    assert found[0] == kind
    known = re.escape(sentence).replace("SERVER", r"mail server mail\.example:25").replace("WAIT", WAIT)
    known = known.replace("HH", HH)
    assert re.fullmatch(known.replace("…", ".*"), found[1]), found[1]


def test_the_worst_comes_first_and_the_rest_follows(operator: FlaskClient, engine: Engine) -> None:
    refusing(engine)
    never_a_clock(engine)
    new_case(engine)
    kind, first, others = verdict(operator)
    assert kind == "no workers"
    assert first.startswith("No worker runs")
    assert [one.split()[1] for one in others] == ["mail", "go", "clock", "case"]


def a_lost_worker(engine: Engine) -> None:
    a_worker(engine, "bee-1", silent=MINUTE)


@pytest.mark.parametrize(
    ("wrong", "kinds", "look"),
    [
        ([a_lost_worker], ["workers lost"], "notice"),
        ([a_lost_worker, old_case], ["workers lost", "cases"], "notice"),
        ([a_lost_worker, no_clock], ["clock", "workers lost"], "bad"),
        ([a_lost_worker, unwatched, refusing], ["mail server refusing", "mailboxes unwatched", "workers lost"], "bad"),
        ([half_of_the_workers_are_frozen, no_clock, old_case], ["workers lost", "clock", "cases"], "bad"),
        ([uncertain, no_clock, slow], ["mail server slow", "clock", "uncertain"], "bad"),
        ([stopped_while_idle, old_case], ["mail server tripped", "cases"], "notice"),
        ([tripped, no_worker, old_case], ["mail server tripped", "no workers", "cases"], "bad"),
    ],
)
def test_troubles_are_sorted_by_their_harm(
    operator: FlaskClient, engine: Engine, wrong: list[Callable[[Engine], None]], kinds: list[str], look: str
) -> None:
    """Reminders that are late now, then those at risk, then decisions; an operator's act explains the rest."""
    all_is_well(engine)
    for cause in wrong:
        cause(engine)
    shown = troubles_of(operator)
    assert [kind for kind in shown if kind not in {"backlog"}] == kinds
    assert f'class="verdict {look}"' in page(operator, "/admin")


def test_each_trouble_has_its_next_act_and_its_heading_of_the_runbook(operator: FlaskClient) -> None:
    anchors = set(re.findall(r'<h2 id="([^"]+)"', operator.get("/admin/runbook").text))
    assert len(anchors) > 10
    for kind, remedy in remedies.REMEDIES.items():
        assert remedy.page in anchors, kind
        has_resume = kind in {"paused", "mail server tripped", "mail server stopped"}
        assert has_resume or remedy.command or remedy.endpoint, kind


def test_the_verdict_shows_the_next_act_of_each_trouble(operator: FlaskClient, engine: Engine) -> None:
    all_is_well(engine)
    tripped(engine)
    no_clock(engine)
    old_case(engine)
    markup = page(operator, "/admin")
    section = markup[markup.index('id="verdict"') : markup.index('id="now"')]
    assert section.count('href="/admin/runbook#') == len(troubles_of(operator))
    assert "<code>snoozer clock</code>" in section
    assert 'href="/admin/cases">Decide</a>' in section
    form = section[section.index("<details") : section.index("</details>")]
    assert 'action="/admin/breakers/reset"' in form
    assert 'name="server" value="mail.example:25"' in form
    operator.post("/admin/breakers/reset", data={"server": "mail.example:25", "reason": "It is back"})
    assert "mail server tripped" not in troubles_of(operator)


def test_a_lost_worker_in_whose_place_another_was_started_is_no_trouble(operator: FlaskClient, engine: Engine) -> None:
    all_is_well(engine)
    a_worker(engine, "bee-1", silent=MINUTE)
    a_worker(engine, "bee-2", runs=30 * SECOND)
    assert verdict(operator)[0] == "well"
    a_worker(engine, "bee-3", silent=40 * SECOND)
    assert verdict(operator)[0] == "workers lost"


def test_a_mail_server_that_is_not_used_any_more_is_no_trouble(operator: FlaskClient, engine: Engine) -> None:
    all_is_well(engine)
    a_breaker(engine, server="old.example:25", state="open", failures=5, updated_at=now() - 2 * HOUR)
    assert verdict(operator)[0] == "well"
    a_breaker(
        engine,
        state="open",
        tripped_at=now() - 3 * HOUR,
        tripped_by="operator:7",
        trip_reason="Moved",
        updated_at=now() - 2 * HOUR,
    )
    kind, first, _ = verdict(operator)
    assert kind == "mail server stopped", "one that an operator stopped is named until it is reset"
    assert re.fullmatch(
        r"mail\.example:25 is not used since operator 7 stopped it at .*, and nothing waits for it\.", first
    )


def test_lost_workers_hide_none_that_work(
    operator: FlaskClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (overview, trouble):
        monkeypatch.setattr(module, "MAX_WORKERS", 2)
    all_is_well(engine)
    for number in range(5):
        a_worker(engine, f"bee-{number}", silent=MINUTE)
    kind, first, _ = verdict(operator)
    assert kind == "workers lost"
    assert first.startswith("More than 2 workers stopped answering")
    shown = part(operator, "workers")
    assert "ant-1" in shown
    assert "There are more that were lost." in shown


def test_a_backlog_that_no_page_counts_grows_too(
    operator: FlaskClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond what a page counts, the minutes are compared with each other."""
    for module in (metrics, trouble):
        monkeypatch.setattr(module, "MAX_COUNTED", 2)
    all_is_well(engine)
    waits(engine, reminders=4)
    recorded = text(
        "INSERT INTO queue_minutes (seconds, starts_at, sent, retried, failed, due)"
        " VALUES (60, now() - CAST(:ago AS interval), 0, 0, 0, :due)"
    )
    with engine.begin() as connection:
        connection.execute(recorded, [{"ago": "6 minutes", "due": 20_000}, {"ago": "1 minute", "due": 50_000}])
    found = verdict(operator)[1]
    assert re.fullmatch(r"The backlog grows: 50,000 are due, .*; some minutes ago 20,000 were\.", found), found
    with engine.begin() as connection:
        connection.execute(text("UPDATE queue_minutes SET due = 20000"))
    assert verdict(operator)[1].startswith("Reminders go out late: 20,000 are due")


def test_claims_that_wait_for_locks_are_not_blamed_on_the_mail_server(
    operator: FlaskClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overview, "LONG_WAIT", timedelta(0))
    all_is_well(engine)
    held_for_long(engine)
    waits(engine)
    with engine.begin() as another:
        another.execute(text("SELECT id FROM email_snoozes FOR UPDATE")).all()
        kind, first, _ = verdict(operator)
    assert kind == "locks"
    assert re.fullmatch(
        r"The database is full of locks, and reminders are not claimed: process \d+ \(snoozer-tests\) has held some of "
        rf"the queue since {HH}; 6 reminders of 1 person wait, the oldest since {HH}; nothing is lost\.",
        first,
    )
    assert verdict(operator)[0] == "mail server frozen"


@pytest.mark.parametrize("tries", ["waits", "claimed", "none"])
def test_the_alarm_of_a_mail_server_stays_until_it_takes_a_mail(
    operator: FlaskClient, engine: Engine, tries: str
) -> None:
    """Between two tries, while the next one has just begun, and after its reminder was cancelled."""
    all_is_well(engine)
    failed = now() - 20 * SECOND
    a_breaker(
        engine, failures=1, last_failure="no answer: timed out", last_failure_at=failed, last_success_at=failed - HOUR
    )
    late = {"scheduled_for": now() - 2 * MINUTE, "last_error": "timed out", "last_error_at": failed}
    if tries == "waits":
        a_snooze(engine, remind_at=now() + MINUTE, **late)
    elif tries == "claimed":
        a_snooze(engine, remind_at=failed, claimed_by="ant-1", claimed_at=now() - SECOND, **late)
    kind, first, _ = verdict(operator)
    assert kind == "mail server frozen"
    assert re.match(rf"The mail server mail\.example:25 did not answer when it was last tried at {HH};", first), first
    assert troubles_of(operator) == ["mail server frozen"]
    with engine.begin() as connection:
        breaker.succeed(connection, server="mail.example:25", probe_token=None)
    assert verdict(operator)[0] == "well"


def test_a_mail_server_that_fails_while_its_breaker_is_closed_is_named(operator: FlaskClient, engine: Engine) -> None:
    """Nothing was due, the breaker was closed, and all was well, while what had failed waited for its next try."""
    all_is_well(engine)
    a_snooze(
        engine,
        remind_at=now() + MINUTE,
        scheduled_for=now() - MINUTE,
        last_error="connect: refused",
        last_error_at=now(),
    )
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM circuit_breakers"))
        connection.execute(
            text(
                "INSERT INTO circuit_breakers (server, failures, last_failure, last_failure_at, last_success_at) "
                "VALUES ('mx.example:25', 1, 'connect: refused', now(), now() - INTERVAL '1 hour')"
            )
        )
    _, shown, _ = verdict(operator)
    assert "The mail server mx.example:25 refused when it was last tried at" in shown
    assert re.search(f"1 reminder of 1 person waits since {HH}; nothing is lost", shown)
    assert "To be tried again 1 snooze" in part(operator, "now")
