"""A reply to a snoozed message ends the snooze, or brings it back at once, as its person chose; nothing else does."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import IntegrityError

from snoozer.cli import inbound
from snoozer.db import mailbox_store
from snoozer.mail.message_parser import parse_reply
from snoozer.mailboxes import inbox
from snoozer.mailboxes.inbound.lmtp_server import IncomingMail
from snoozer.queue.promise import ReminderTime
from snoozer.snoozes import replies
from snoozer.timephrase.parse import parse
from snoozer.timephrase.recurrence import Recurrence
from tests.acting import reschedule, snooze, undo
from tests.factories import ANN, People, a_mailbox, an_original, now, the_events, the_row
from tests.mail.answers import MACHINES, ODD_IDS, PEOPLE, an_answer

DAY = timedelta(days=1)


def a_mail(*, sender: str = "Ben <ben@mail.example>", written_at: datetime | None = None, **fields: Any) -> bytes:
    """A message with these header fields, their names with `_` for `-`."""
    lines = [f"Message-ID: <{uuid4().hex}@mail.example>", f"From: {sender}", "Subject: Re: Offer"]
    lines += [f"Date: {(written_at or now()):%d %b %Y %H:%M:%S +0000}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return "\r\n".join([*lines, "", "Yes.", ""]).encode()


def receive(engine: Engine, original: bytes, *, mail_from: str = "ben@mail.example") -> None:
    """The message comes in by the door for mail."""
    assert inbound.store(engine, IncomingMail(mail_from=mail_from, rcpt_to=(ANN,), original=original)) == [
        inbound.STORED
    ]


def a_waiting_snooze(
    engine: Engine, policy: str = "cancel_on_reply", *, message_id: str = "<offer@mail.example>", **columns: Any
) -> int:
    """A message asleep for three days, until a reply comes."""
    values: dict[str, Any] = {"remind_at": now() + 3 * DAY, "zone": "UTC", "reply_policy": policy} | columns
    time = ReminderTime(**values)
    with engine.begin() as connection:
        id, _ = snooze(connection, message_id=message_id, reminder_time=time)
        return id


def the_folder(engine: Engine, message_id: str = "<offer@mail.example>") -> str:
    with engine.connect() as connection:
        folder = "SELECT folder FROM messages WHERE message_id = :message_id"
        return str(connection.execute(text(folder), {"message_id": message_id}).scalar_one())


def the_detail(engine: Engine, id: int) -> Mapping[str, Any]:
    with engine.connect() as connection:
        detail = "SELECT detail FROM snooze_events WHERE snooze_id = :id ORDER BY id DESC LIMIT 1"
        return dict(connection.execute(text(detail), {"id": id}).scalar_one())


@pytest.fixture
def offer(engine: Engine, people: People) -> bytes:
    """A kept message, of a person with an account."""
    people.ann()
    original = an_original(message_id="<offer@mail.example>")
    receive(engine, original)
    return original


@pytest.mark.parametrize("field", ["In_Reply_To", "References"])
def test_a_reply_cancels_the_snooze_that_was_to_end_by_one(engine: Engine, offer: bytes, field: str) -> None:
    id = a_waiting_snooze(engine)
    assert the_folder(engine) == "snoozed"
    fields: dict[str, Any] = {field: "<other@mail.example> <offer@mail.example>"}
    receive(engine, a_mail(**fields))
    assert the_row(engine, id).outcome == "cancelled"
    assert the_folder(engine) == "inbox"
    assert the_events(engine, id) == ["cancelled"]
    assert set(the_detail(engine, id)) == {"why", "came", "before", "after", "places"}


def test_a_reply_brings_back_at_once_what_waits_for_one(engine: Engine, offer: bytes) -> None:
    id = a_waiting_snooze(engine, "until_reply")
    receive(engine, a_mail(In_Reply_To="<offer@mail.example>"))
    row = the_row(engine, id)
    assert (row.outcome, row.remind_at <= now()) == (None, True)
    assert the_events(engine, id) == ["replied"]
    with engine.begin() as connection:
        assert mailbox_store.return_due(connection, batch_size=10) == [id]
    assert the_folder(engine) == "inbox"


def test_a_reply_is_nothing_to_a_snooze_that_keeps_its_time(engine: Engine, offer: bytes) -> None:
    ids = [a_waiting_snooze(engine, "keep"), a_waiting_snooze(engine, message_id="<another@mail.example>")]
    before = [the_row(engine, id) for id in ids]
    receive(engine, a_mail(In_Reply_To="<offer@mail.example>"))
    assert [the_row(engine, id) for id in ids] == before


@pytest.mark.parametrize(
    "fields",
    [
        {"Auto_Submitted": "auto-replied"},
        {"Auto_Submitted": "auto-generated; owner=ann"},
        {"X_Autoresponder": "one answer a day"},
        {"X_Precedence": "auto_reply"},
        {"Precedence": "bulk"},
        {"Precedence": "auto_reply"},
        {"Precedence": "list"},
        {"Return_Path": "<>"},
        {"Content_Type": "multipart/report; report-type=delivery-status; boundary=x"},
        {"X_Snoozer_Instance": "snoozer.example"},
        {"sender": f"Ann <{ANN.upper()}>"},
        {"sender": "Ann <ann@work.example>"},
        {"sender": ""},
        {"In_Reply_To": "<another@mail.example>"},
    ],
    ids=str,
)
def test_what_is_no_reply_by_another_person_does_not_count(
    engine: Engine, offer: bytes, fields: dict[str, str]
) -> None:
    a_mailbox(engine, address="Ann@work.example")
    id = a_waiting_snooze(engine)
    values: dict[str, Any] = {"In_Reply_To": "<offer@mail.example>"} | fields
    receive(engine, a_mail(**values))
    assert (the_row(engine, id).outcome, the_events(engine, id)) == (None, [])


def test_a_bounce_that_only_its_envelope_names_as_one_does_not_count(engine: Engine, offer: bytes) -> None:
    id = a_waiting_snooze(engine)
    receive(engine, a_mail(In_Reply_To="<offer@mail.example>"), mail_from="")
    assert the_row(engine, id).outcome is None


@pytest.mark.parametrize(
    "fields", [{"Auto_Submitted": "no"}, {"Auto_Submitted": "no (typed)"}, {"X_Auto_Response_Suppress": "All"}], ids=str
)
def test_an_answer_of_a_person_counts_whatever_its_program_adds(
    engine: Engine, offer: bytes, fields: dict[str, Any]
) -> None:
    id = a_waiting_snooze(engine)
    receive(engine, a_mail(In_Reply_To="<offer@mail.example>", **fields))
    assert the_row(engine, id).outcome == "cancelled"


@pytest.mark.parametrize("policy", ["cancel_on_reply", "until_reply"])
@pytest.mark.parametrize("door", ["mail", "file"])
def test_no_answer_of_a_machine_ends_a_snooze_and_each_of_a_person_does(
    engine: Engine, offer: bytes, door: str, policy: str
) -> None:
    """By mail, and as files that a person adds. The answers come in together: one snooze waits for them all."""
    id = a_waiting_snooze(engine, policy)
    before = the_row(engine, id)

    def come_in(answers: dict[str, dict[str, str]]) -> None:
        originals = [
            an_answer({"Message-ID": f"<{uuid4().hex}@mail.example>"} | fields, to="<offer@mail.example>")
            for fields in answers.values()
        ]
        if door == "file":
            with engine.begin() as connection:
                inbox.store_each(connection, user_email=ANN, originals=originals)
        else:
            for original in originals:
                receive(engine, original)

    come_in(MACHINES)
    assert (the_row(engine, id), the_events(engine, id)) == (before, [])
    for name, fields in PEOPLE.items():
        come_in({name: fields})
        assert the_events(engine, id)[-1:] == ["cancelled" if policy == "cancel_on_reply" else "replied"], name
        with engine.begin() as connection:
            connection.execute(text("DELETE FROM email_snoozes"))
        id = a_waiting_snooze(engine, policy)


@pytest.mark.parametrize(("scope", "outcome"), [("message", None), ("thread", "cancelled")])
def test_a_reply_to_another_message_of_the_thread_counts_where_that_was_chosen(
    engine: Engine, people: People, scope: str, outcome: str | None
) -> None:
    people.ann()
    receive(engine, a_mail(References="<first@mail.example> <second@mail.example>", Message_ID="<x@mail.example>"))
    with engine.connect() as connection:
        message_id = connection.execute(text("SELECT message_id FROM messages")).scalar_one()
    id = a_waiting_snooze(engine, message_id=message_id, reply_scope=scope)
    receive(engine, a_mail(In_Reply_To="<first@mail.example>"))
    assert the_row(engine, id).outcome == outcome


@pytest.mark.parametrize("door", ["mail", "file"])
@pytest.mark.parametrize("name", ODD_IDS)
def test_a_reply_is_found_by_the_id_as_it_came(engine: Engine, people: People, name: str, door: str) -> None:
    """The smallest scope is enough, although such a message is kept under another id."""
    people.ann()
    written, named = ODD_IDS[name]
    fields = {"References": "<first@mail.example>", "Message-ID": written}
    receive(engine, an_answer(fields, to="<first@mail.example>"))
    with engine.connect() as connection:
        message_id = connection.execute(text("SELECT message_id FROM messages")).scalar_one()
    id = a_waiting_snooze(engine, message_id=message_id)
    answers = [an_answer({}, to="<first@mail.example>"), an_answer({"Message-ID": "<b@mail.example>"}, to=named)]
    for answer, outcome in zip(answers, (None, "cancelled"), strict=True):
        if door == "file":
            with engine.begin() as connection:
                inbox.store_each(connection, user_email=ANN, originals=[answer])
        else:
            receive(engine, answer)
        assert the_row(engine, id).outcome == outcome


def test_a_message_is_no_reply_to_its_own_thread(engine: Engine, people: People) -> None:
    """One that is snoozed a moment after it came is new in its inbox, too."""
    people.ann()
    original = a_mail(References="<first@mail.example>")
    receive(engine, original)
    head = parse_reply(original)
    assert head.message_id is not None
    id = a_waiting_snooze(engine, message_id=head.message_id, reply_scope="thread")
    with engine.begin() as connection:
        arrivals = [replies.Arrival(head=head, arrived_at=now())]
        assert replies.receive(connection, user_email=ANN, arrivals=arrivals, route="mailbox") == []
    assert the_row(engine, id).outcome is None


def test_a_reply_past_the_time_changes_nothing(engine: Engine, offer: bytes) -> None:
    """The reminder may be on its way already."""
    id = a_waiting_snooze(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET remind_at = now() - INTERVAL '1 minute'"))
    receive(engine, a_mail(In_Reply_To="<offer@mail.example>"))
    assert the_row(engine, id).outcome is None


def test_a_cancellation_by_a_reply_can_be_undone_and_only_a_later_reply_counts(engine: Engine, offer: bytes) -> None:
    id, began = a_waiting_snooze(engine), now()
    receive(engine, a_mail(In_Reply_To="<offer@mail.example>"))
    with engine.begin() as connection:
        assert undo(connection, id)
    row = the_row(engine, id)
    assert (row.outcome, row.reply_policy) == (None, "cancel_on_reply")
    assert row.reply_since > began
    receive(engine, a_mail(In_Reply_To="<offer@mail.example>"))
    assert the_row(engine, id).outcome == "cancelled"


def test_a_message_that_is_added_as_a_file_counts_by_its_date(engine: Engine, offer: bytes) -> None:
    id = a_waiting_snooze(engine)
    for written_at, outcome in ((now() - DAY, None), (now(), "cancelled")):
        with engine.begin() as connection:
            original = a_mail(In_Reply_To="<offer@mail.example>", written_at=written_at)
            inbox.store_each(connection, user_email=ANN, originals=[original])
        assert the_row(engine, id).outcome == outcome


def test_a_mail_that_is_delivered_again_is_one_reply(engine: Engine, offer: bytes) -> None:
    original, id = a_mail(In_Reply_To="<offer@mail.example>"), a_waiting_snooze(engine)
    receive(engine, original)
    again = a_waiting_snooze(engine)
    receive(engine, original)
    assert (the_row(engine, id).outcome, the_row(engine, again).outcome) == ("cancelled", None)


def test_a_new_time_keeps_the_policy_and_a_named_one_replaces_it(engine: Engine) -> None:
    id, later = a_waiting_snooze(engine), ReminderTime(remind_at=now() + 5 * DAY)
    since = the_row(engine, id).reply_since
    with engine.begin() as connection:
        assert reschedule(connection, id, later)
    assert a_waiting_snooze(engine, message_id="<offer@mail.example>") == id
    row = the_row(engine, id)
    assert (row.reply_policy, row.reply_since) == ("cancel_on_reply", since)
    anew = ReminderTime(remind_at=now() + 5 * DAY, reply_policy="until_reply", reply_scope="thread")
    with engine.begin() as connection:
        assert reschedule(connection, id, anew)
    row = the_row(engine, id)
    assert (row.reply_policy, row.reply_scope) == ("until_reply", "thread")
    assert row.reply_since > since


def test_a_reply_ends_a_whole_series_that_was_to_end_by_one(engine: Engine, offer: bytes) -> None:
    id = a_series(engine, "every day 9am", "cancel_on_reply")
    receive(engine, a_mail(In_Reply_To="<offer@mail.example>"))
    assert the_row(engine, id).outcome == "cancelled"


@pytest.mark.parametrize(
    ("phrase", "left"),
    [("every 2 weeks on tuesday 9am", 3), ("every day 9am 3 times", 2), ("every day 9am 1 times", 0)],
)
def test_a_reply_brings_back_this_occurrence_of_a_series_and_the_next_is_the_one_after_it(
    engine: Engine, offer: bytes, phrase: str, left: int
) -> None:
    id = a_series(engine, phrase, "until_reply")
    occurrences = first_dates(engine, id)
    receive(engine, a_mail(In_Reply_To="<offer@mail.example>"))
    assert the_row(engine, id).remind_at <= now()
    assert first_dates(engine, id)[:left] == occurrences[1 : left + 1]
    assert (the_row(engine, id).recurrence is None) == (left == 0)


def first_dates(engine: Engine, id: int) -> list[date]:
    """Of what repeats: at most four."""
    plain = the_row(engine, id).recurrence
    return [] if plain is None else list(islice(Recurrence.from_json(plain).dates(), 4))


def a_series(engine: Engine, phrase: str, policy: str) -> int:
    parsed = parse(phrase, now=now(), zone="UTC", locale="en_GB")
    assert parsed.at is not None
    assert parsed.recurrence is not None
    return a_waiting_snooze(engine, policy, remind_at=parsed.at, recurrence=parsed.recurrence.as_json())


@pytest.mark.parametrize("value", ["sometimes", ""])
@pytest.mark.parametrize("column", ["reply_policy", "reply_scope"])
def test_a_policy_that_is_none_is_refused(engine: Engine, column: str, value: str) -> None:
    id = a_waiting_snooze(engine)
    change = text(f"UPDATE email_snoozes SET {column} = :value WHERE id = :id")  # noqa: S608
    with pytest.raises(IntegrityError, match=column), engine.begin() as connection:
        connection.execute(change, {"value": value, "id": id})
