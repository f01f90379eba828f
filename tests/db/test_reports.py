"""A mail system returns a reminder that it had accepted: that is recorded once, no mail comes of it, and an address
that takes or wants none gets none until its person says otherwise."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from snoozer.delivery.chores import chores
from snoozer.delivery.chores.returns import side_work
from snoozer.operators import chunks, pauses
from snoozer.settings import Settings
from tests.db import archived
from tests.db.digests import accept, deferred, gathered, listed
from tests.db.pipelines import deliver
from tests.factories import ANN, HOUR, People, a_snooze, now, the_row
from tests.mail.reports import NO_REPORTS, REPORTS, a_report, about
from tests.mail_doors import DOMAIN, MailDoors, mail_doors
from tests.web.reminders import a_sent_reminder

KEPT = ["250 2.0.0 Kept"]
GONE = REPORTS["Postfix, no such user"].mail
EVENTS = {"bounced": "bounced", "delayed": "delivery delayed", "complained": "complained"}


@pytest.fixture
def doors(engine: Engine, settings: Settings, people: People) -> Iterator[MailDoors]:
    people.ann(zone="UTC")
    with mail_doors(engine, settings) as doors:
        yield doors


def suspended(engine: Engine) -> list[int]:
    with engine.connect() as connection:
        marked = "SELECT id FROM pauses WHERE kind = 'invalid' AND value = :ann AND ended_at IS NULL"
        return list(connection.execute(text(marked), {"ann": ANN}).scalars())


def take_mail_again(engine: Engine) -> None:
    [pause] = suspended(engine)
    with engine.begin() as connection:
        pauses.resume(connection, id=pause, actor="user:1", reason="it does")
    chunks.work(engine)


def does_nothing(doors: MailDoors) -> bool:
    tables = ("snooze_events", "messages", "mail_acts", "pauses")
    with doors.engine.connect() as connection:
        return not side_work(connection).due and not any(doors.rows(f"SELECT 1 FROM {name}") for name in tables)  # noqa: S608


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_recorded_once_and_makes_no_mail(doors: MailDoors, name: str) -> None:
    written, id = REPORTS[name], a_sent_reminder(doors.engine)
    before = doors.rows("SELECT * FROM reminder_sends")
    for _ in range(3):
        assert doors.report(written.mail, id) == KEPT
    [event] = doors.rows("SELECT * FROM snooze_events")
    assert (event.snooze_id, event.kind, event.actor, event.route) == (id, EVENTS[written.kind], "mail", "report")
    assert event.detail["code"] == written.code
    assert written.piece in event.detail["text"]
    assert "@mail.example" not in str(event.detail)
    assert doors.rows("SELECT * FROM reminder_sends") == before, "what was sent stays sent"
    assert doors.rows("SELECT id FROM messages") + doors.rows("SELECT id FROM mail_acts") == []
    with doors.engine.connect() as connection:
        assert side_work(connection).due == frozenset()
    assert bool(suspended(doors.engine)) == written.stops
    marks = [("mail", "mark_invalid")] if written.stops else []
    assert doors.rows("SELECT actor, act FROM audit_log") == marks


@pytest.mark.parametrize("name", NO_REPORTS)
def test_other_mail_to_such_an_address_does_nothing(doors: MailDoors, name: str) -> None:
    id = a_sent_reminder(doors.engine)
    mail_from = "ben@mail.example" if name == "a person" else ""
    assert doors.report(NO_REPORTS[name], id, mail_from=mail_from) == KEPT
    assert does_nothing(doors)


def test_an_address_that_was_not_made_here_is_refused_and_a_report_about_nothing_does_nothing(doors: MailDoors) -> None:
    id = a_sent_reminder(doors.engine)
    local_part = doors.answer_address(id, action="bounce").partition("@")[0]
    for forged in (f"b+{local_part[3:]}a", f"r+{local_part[2:]}", "b+", f"b+{'a' * 61}"):
        assert doors.deliver(GONE, f"{forged}@{DOMAIN}", mail_from="")[0].startswith("550 5.1.1")
    asleep = a_snooze(doors.engine, remind_at=now() + HOUR)
    unknown = doors.answer_address(id, now(), action="bounce")
    assert doors.report(GONE, asleep) == KEPT, "no reminder of it left"
    assert doors.deliver(GONE, unknown, mail_from="") == KEPT
    assert doors.deliver(GONE, f"b@{DOMAIN}", mail_from="") == KEPT, "only complaints come there"
    assert does_nothing(doors)


def test_the_same_report_twice_at_once_counts_once(doors: MailDoors) -> None:
    id = a_sent_reminder(doors.engine)
    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(lambda number: doors.report(GONE, id), range(8))] == [KEPT] * 8
    assert len(doors.rows("SELECT id FROM snooze_events")) == 1
    assert len(suspended(doors.engine)) == 1


def test_a_suspended_address_gets_no_reminder_until_its_person_says_so(doors: MailDoors) -> None:
    engine = doors.engine
    doors.report(GONE, a_sent_reminder(engine))
    id = a_snooze(engine)
    promise = the_row(engine, id).remind_at
    assert deliver(engine) == []
    row = the_row(engine, id)
    assert (row.inactive, row.outcome, row.scheduled_for, row.attempts) == (True, None, promise, 0)
    state = "SELECT its.state, its.why FROM email_snoozes AS s, snooze_state(s, 1) AS its WHERE s.id = :id"
    with engine.connect() as connection:
        assert connection.execute(text(state), {"id": id}).one() == ("paused", "operator_pause")
    take_mail_again(engine)
    assert [held.id for held in deliver(engine)] == [id]


def test_only_a_reminder_that_left_since_suspends_the_address_again(doors: MailDoors) -> None:
    engine = doors.engine
    first, second = (a_sent_reminder(engine, promised=now() - timedelta(minutes=age)) for age in (9, 5))
    doors.report(GONE, first)
    take_mail_again(engine)
    doors.report(GONE, second)
    assert suspended(engine) == [], "it left before the person confirmed the address"
    assert len(doors.rows("SELECT id FROM snooze_events WHERE kind = 'bounced'")) == 2
    doors.report(GONE, a_sent_reminder(engine, promised=now()))
    assert len(suspended(engine)) == 1


def test_a_report_about_an_archived_reminder_is_recorded(doors: MailDoors) -> None:
    id = archived.sent(doors.engine)
    address = doors.answer_address(id, action="bounce")
    chores.archive(doors.engine, config=archived.RETENTION)
    assert doors.rows("SELECT id FROM email_snoozes") == []
    assert doors.deliver(GONE, address, mail_from="") == KEPT
    assert doors.rows("SELECT snooze_id FROM snooze_events WHERE kind = 'bounced'") == [(id,)]


def test_each_reminder_of_a_digest_that_is_returned_says_so(doors: MailDoors) -> None:
    ids = deferred(doors.engine, 4)
    digest = gathered(doors.engine)
    accept(doors.engine, [digest])
    assert sorted(listed(digest.send)) == sorted(ids)
    assert doors.report(GONE, digest.claim.id) == KEPT
    returned = doors.rows("SELECT snooze_id FROM snooze_events WHERE kind = 'bounced' ORDER BY snooze_id")
    assert returned == [(id,) for id in sorted(ids)]


def test_a_complaint_finds_its_reminder_by_the_mail_that_it_returns(doors: MailDoors) -> None:
    id = a_sent_reminder(doors.engine)
    sender = doors.answer_address(id, action="bounce")
    fields = "Feedback-Type: abuse\nVersion: 1\nUser-Agent: x/1\n"
    assert doors.deliver(a_report(fields, form="feedback-report"), f"b@{DOMAIN}", mail_from="fbl@x.example") == KEPT
    assert does_nothing(doors)
    complaint = a_report(f"{fields}Original-Mail-From: <{sender}>", form="feedback-report")
    assert doors.deliver(complaint, f"b@{DOMAIN}", mail_from="fbl@x.example") == KEPT
    assert doors.rows("SELECT snooze_id, kind FROM snooze_events") == [(id, "complained")]
    assert len(suspended(doors.engine)) == 1


def test_delays_are_counted_by_their_codes_and_suspend_nothing(doors: MailDoors) -> None:
    id = a_sent_reminder(doors.engine)
    for code in ("4.4.1", "4.4.1", "4.2.2"):
        assert doors.report(a_report(about("delayed", code)), id) == KEPT
    assert len(doors.rows("SELECT id FROM snooze_events WHERE kind = 'delivery delayed'")) == 2
    assert suspended(doors.engine) == []
