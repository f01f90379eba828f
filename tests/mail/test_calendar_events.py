"""A calendar in a mail is shown as what, when and where, with its file to save; whatever is in it, nothing raises."""

from random import Random

import pytest

from snoozer.mail.calendar_events import MAX_EVENTS, events_in
from snoozer.mail.message_parser import parse, parse_attachments
from tests.mail.calendars import EVENT, UTC_TIMES, a_mail, calendar


def test_a_calendar_alone_is_what_when_and_where_with_its_file() -> None:
    original = a_mail(calendar())
    parsed = parse(original)
    assert parsed.text.splitlines() == [
        "Budget talk", "Where: Room 4, second floor", "", "Join: https://meet.example/abc", "Bring the figures",
    ]  # fmt: skip
    assert parsed.own_text == ""
    [file] = parse_attachments(original)
    assert (file.shown.name, file.content.decode()) == ("invite.ics", EVENT.format(when=UTC_TIMES))


@pytest.mark.parametrize("type", ["text/calendar", "application/ics", "text/x-vcalendar", "text/calendar; name=a.ics"])
def test_a_calendar_beside_a_text_is_shown_with_it(type: str) -> None:
    original = a_mail(("Content-Type: text/plain", "See you there."), calendar(type=type))
    parsed = parse(original)
    assert (parsed.own_text, [event.what for event in parsed.events]) == ("See you there.", ["Budget talk"])
    assert parsed.text.startswith("See you there.\n\nBudget talk\nWhere: Room 4")
    assert [one.name for one in parsed.attachments] == ["a.ics" if "name" in type else "invite.ics"]


def test_an_invitation_that_has_its_calendar_twice_is_shown_once() -> None:
    twice = (calendar(), calendar(type="application/ics; name=invite.ics"))
    parsed = parse(a_mail(("Content-Type: text/plain", "Hello"), *twice))
    assert len(parsed.events) == 1
    assert len(parsed.attachments) == 2


@pytest.mark.parametrize(
    ("when", "read"),
    [
        ("DTSTART:20261201T130000Z\r\nDURATION:PT1H30M", "2026-12-01 13:00:00+00:00 to 2026-12-01 14:30:00+00:00"),
        ("DTSTART;TZID=Europe/Berlin:20261201T130000", "2026-12-01 12:00:00+00:00"),
        ("DTSTART;TZID=W. Europe Standard Time:20261201T130000", "2026-12-01 12:00:00+00:00"),
        ('DTSTART;TZID="Room of Ann":20261201T130000', "2026-12-01 13:00:00 by Room of Ann"),
        ("DTSTART:20261201T130000", "2026-12-01 13:00:00"),
        ("DTSTART;VALUE=DATE:20261201\r\nDTEND;VALUE=DATE:20261202", "2026-12-01 to 2026-12-01"),
        ("DTSTART;VALUE=DATE:20261201\r\nDTEND;VALUE=DATE:20261204", "2026-12-01 to 2026-12-03"),
        (
            "DTSTART:20261201T230000Z\r\nDTEND:20261202T010000Z",
            "2026-12-01 23:00:00+00:00 to 2026-12-02 01:00:00+00:00",
        ),
        ("DTSTART:20261201T130000Z\r\nDTEND:20251201T130000Z", "2026-12-01 13:00:00+00:00"),
        ("DTSTART:20261201T130000Z\r\nDTEND;VALUE=DATE:20261202", "2026-12-01 13:00:00+00:00"),
    ],
)
def test_the_time_of_an_event_is_read_as_calendars_write_it(when: str, read: str) -> None:
    [event] = parse(a_mail(calendar(when))).events
    end, zone = f" to {event.end}" if event.end else "", f" by {event.zone}" if event.zone else ""
    assert f"{event.start}{end}{zone}" == read


@pytest.mark.parametrize("when", ["DTSTART:20261341T130000Z", "DTSTART:soon", "DTSTART:", "X-NOTHING:1"])
def test_an_event_without_a_readable_time_has_still_its_name_and_place(when: str) -> None:
    text = parse(a_mail(calendar(when))).text
    assert text.startswith("Budget talk\nWhere: Room 4, second floor\n")


def test_a_cancelled_event_says_so() -> None:
    header, content = calendar()
    for cancelled in (
        content.replace("METHOD:REQUEST", "METHOD:CANCEL"),
        content.replace("UID:u1", "UID:u1\r\nSTATUS:CANCELLED"),
    ):
        assert parse(a_mail((header, cancelled))).text.startswith("Cancelled: Budget talk\n")


def test_a_whole_calendar_is_a_file_and_no_text() -> None:
    many = "".join(f"BEGIN:VEVENT\nSUMMARY:{number}\nEND:VEVENT\n" for number in range(MAX_EVENTS + 1))
    file = ("Content-Type: text/calendar; name=all.ics", f"BEGIN:VCALENDAR\n{many}END:VCALENDAR\n")
    parsed = parse(a_mail(("Content-Type: text/plain", "All of them."), file))
    assert (parsed.text, parsed.events, [one.name for one in parsed.attachments]) == ("All of them.", (), ["all.ics"])


def test_what_only_claims_to_be_a_calendar_is_shown_as_text() -> None:
    parsed = parse(a_mail(("Content-Type: text/calendar", "Please come at three.")))
    assert (parsed.text, parsed.events) == ("Please come at three.", ())


def test_any_calendar_is_read_without_an_error() -> None:
    random, usual = Random(1), EVENT.format(when="DTSTART;TZID=Europe/Berlin:99991231T235959\r\nDURATION:P99999D")
    for _ in range(2_000):
        letters = list(usual)
        for _change in range(random.randrange(1, 30)):
            at = random.randrange(len(letters))
            letters[at : at + random.randrange(3)] = random.choice([*usual, "\0", "\x85", "99", ";TZID=", "BEGIN:"])
        events_in("".join(letters))
        parse(a_mail(("Content-Type: text/calendar", "".join(letters))))
