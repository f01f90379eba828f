"""The mailbox: shown as plain text, moved on request only, private to its account."""

import re
from email.message import EmailMessage
from html import unescape

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.mail import message_parser
from snoozer.mail.message_parser import AttachedPart
from tests.db.links import DAILY
from tests.factories import HOUR, a_kept_message, a_snooze, an_original, now, the_row
from tests.mail.calendars import EVENT, a_mail, calendar
from tests.web.letters import PIXEL, a_letter
from tests.web.page_forms import press_undo


def folder_of(engine: Engine, id: int) -> tuple[str, bool]:
    with engine.connect() as connection:
        row = connection.execute(text("SELECT folder, unread FROM messages WHERE id = :id"), {"id": id}).one()
        return row.folder, row.unread


def html_mail() -> bytes:
    return (
        b"From: Mallory <m@evil.example>\r\nSubject: =?utf-8?q?=3Cscript=3Ealert=281=29=3C/script=3E?=\r\n"
        b"Content-Type: text/html; charset=utf-8\r\n\r\n"
        b"<p>Hello</p><script>alert(2)</script><img src=https://evil.example/pixel.gif onerror=alert(3)>"
        b"<a href='javascript:alert(4)'>go</a><form action=https://evil.example><input></form>\r\n"
    )


def test_a_message_in_html_is_shown_as_text_and_loads_nothing(ann: FlaskClient, engine: Engine) -> None:
    page = ann.get(f"/mailbox/{a_kept_message(engine, original=html_mail())}").text
    assert "Hello" in page
    for markup in ("<script>alert", "<img", 'javascript:alert(4)"', "https://evil.example/pixel.gif", 'action="https'):
        assert markup not in page


def test_a_calendar_is_shown_in_the_zone_of_the_person_with_its_file(ann: FlaskClient, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET zone = 'Asia/Tokyo', locale = 'en_GB'"))
    when = "DTSTART:20300305T130000Z\r\nDTEND:20300305T140000Z"
    id = a_kept_message(engine, original=a_mail(calendar(when)))
    page = " ".join(unescape(re.sub(r"<[^>]+>", " ", ann.get(f"/mailbox/{id}").text)).split())
    assert "What Budget talk When Tuesday 5 March 2030, 22:00 – 23:00 Where Room 4, second floor" in page
    assert "Bring the figures" in page
    assert "BEGIN:VCALENDAR" not in page
    file = ann.get(f"/mailbox/{id}/parts/i0")
    assert file.data.decode() == EVENT.format(when=when)


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_an_event_at_either_end_of_time_is_shown_in_any_zone(ann: FlaskClient, engine: Engine, zone: str) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE accounts SET zone = :zone"), {"zone": zone})
    for day in ("00010101", "00011231", "00020101", "99981231", "99991231"):
        for start in (f":{day}T000000Z", f":{day}T235959Z", f";TZID={zone}:{day}T000000", f";VALUE=DATE:{day}"):
            for end in (f"DTEND{start}", "DURATION:P1D", "DURATION:P99999D"):
                id = a_kept_message(engine, original=a_mail(calendar(f"DTSTART{start}\r\n{end}")))
                assert "Budget talk" in ann.get(f"/mailbox/{id}").text, (start, end)


def test_a_hint_stands_beside_the_first_messages_until_one_was_snoozed(ann: FlaskClient, engine: Engine) -> None:
    assert "in 2 minutes" not in ann.get("/mailbox").text, "nothing is there to choose"
    a_kept_message(engine)
    assert "in 2 minutes" in ann.get("/mailbox").text
    assert "in 2 minutes" not in ann.get("/mailbox?q=hello").text
    a_snooze(engine, remind_at=now() + HOUR)
    assert "in 2 minutes" not in ann.get("/mailbox").text


def test_the_kept_mailbox_is_searched(ann: FlaskClient, engine: Engine) -> None:
    for subject in ("Invoice 7", "Lunch", "The <b>invoice</b>"):
        a_kept_message(engine, original=an_original(subject=subject))
    page = ann.get("/mailbox?q=invoice").text
    assert "“invoice” in Inbox" in page
    assert ("Invoice 7" in page, "The &lt;b&gt;invoice&lt;/b&gt;" in page, "Lunch" in page) == (True, True, False)
    assert "Nothing was found" in ann.get("/mailbox?folder=done&q=invoice").text


def test_a_large_message_is_read_once_for_all_of_its_pictures(
    ann: FlaskClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    letter = a_letter("Pictures")
    letter.add_alternative("".join(f"<img src='cid:p{number}@x'>" for number in range(3)), subtype="html")
    page = letter.get_payload(1)
    assert isinstance(page, EmailMessage)
    for number in range(3):
        page.add_related(PIXEL, "image", "gif", cid=f"<p{number}@x>")
    id, read, parse = a_kept_message(engine, original=bytes(letter)), list[int](), message_parser.parse_attachments

    def counted(original: bytes) -> list[AttachedPart]:
        read.append(len(original))
        return parse(original)

    monkeypatch.setattr(message_parser, "parse_attachments", counted)
    assert ann.get(f"/mailbox/{id}/html").text.count('src="data:image/gif;base64,') == 3
    assert len(read) == 1


def test_to_and_cc_are_shown_and_a_long_list_is_behind_its_count(ann: FlaskClient, engine: Engine) -> None:
    attack = "<img src=x onerror=alert(1)>"
    many = ", ".join(f"person-{n}@mail.example" for n in range(120))
    letter = a_letter("Plans", To=f'Ann <ann@snoozer.example>, "{attack}" <m@mail.example>', Cc=many)
    page = ann.get(f"/mailbox/{a_kept_message(engine, original=bytes(letter))}").text
    assert "To: <bdi>Ann</bdi> &lt;<bdi>ann@snoozer.example</bdi>&gt;, <bdi>&lt;img" in page
    assert "<img" not in page
    assert "Cc: <bdi>person-0@mail.example</bdi>" in page
    before, _, folded = page.partition("<summary>117 more in Cc</summary>")
    assert ("person-2@" in before, "person-3@" in before, "person-3@" in folded) == (True, False, True)
    assert "20 more are in the original." in folded
    endless = bytes(a_letter("Plans", To=", ".join(f"person-{n}@mail.example" for n in range(2_000))))
    assert "The list goes on in the original." in ann.get(f"/mailbox/{a_kept_message(engine, original=endless)}").text
    without = ann.get(f"/mailbox/{a_kept_message(engine)}").text
    assert "To:" not in without
    assert "Cc:" not in without


def test_web_addresses_in_a_text_are_links_and_nothing_of_it_is_markup(ann: FlaskClient, engine: Engine) -> None:
    body = "<b>https://mail.example/a?b=1&c='2'.</b> javascript:alert(1) https://bank.example@evil.example/"
    page = ann.get(f"/mailbox/{a_kept_message(engine, original=an_original(body=body))}").text
    url = "https://mail.example/a?b=1&amp;c=&#39;2"
    link = f'<a href="{url}" dir="ltr" rel="noopener noreferrer nofollow">{url}</a>'
    assert f"&lt;b&gt;{link}&#39;.&lt;/b&gt; javascript:alert(1) https://bank.example@evil.example/" in page


def test_opening_a_message_changes_nothing_until_its_page_posts(ann: FlaskClient, engine: Engine) -> None:
    id = a_kept_message(engine)
    ann.get(f"/mailbox/{id}")
    ann.head(f"/mailbox/{id}")
    assert folder_of(engine, id) == ("inbox", True)
    ann.post(f"/mailbox/{id}/read")
    assert folder_of(engine, id) == ("inbox", False)
    ann.post(f"/mailbox/{id}/unread")
    assert folder_of(engine, id) == ("inbox", True)


def test_the_original_comes_back_byte_for_byte_and_no_browser_opens_it(ann: FlaskClient, engine: Engine) -> None:
    original = html_mail()
    answer = ann.get(f"/mailbox/{a_kept_message(engine, original=original)}/original")
    assert answer.data == original
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Content-Disposition"].startswith("attachment; filename=")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]


def test_an_act_and_its_undo_lead_back_to_the_folder_the_search_and_the_page(ann: FlaskClient, engine: Engine) -> None:
    ids = [a_kept_message(engine, subject=f"Letter {number}") for number in range(60)]
    older = re.search(r'href="(/mailbox\?q=Letter&amp;after=[^"]+)" rel="next"', ann.get("/mailbox?q=Letter").text)
    assert older is not None
    page = unescape(older[1])
    here = re.search(r'name="here" value="([^"]+)"', ann.get(page).text)
    assert here is not None
    answer = ann.post(f"/mailbox/{ids[0]}/done", data={"here": unescape(here[1])})
    assert answer.location == page
    undone = press_undo(ann, ann.get(answer.location).text)
    assert undone.history[-1].location == page
    assert folder_of(engine, ids[0])[0] == "inbox"


def test_taking_a_sleeping_message_back_ends_its_snooze(ann: FlaskClient, engine: Engine) -> None:
    id = a_kept_message(engine)
    ann.post(f"/mailbox/{id}/snooze", data={"at": "2031-05-01T08:00:00+00:00"})
    assert folder_of(engine, id)[0] == "snoozed"
    page = ann.get("/mailbox?folder=asleep").text
    assert "Thursday 1 May 2031</h2>" in page
    assert ">10:00</span>" in page
    taken = ann.post(f"/mailbox/{id}/inbox", follow_redirects=True)
    assert folder_of(engine, id)[0] == "inbox"
    with engine.connect() as connection:
        assert connection.execute(text("SELECT outcome FROM email_snoozes")).scalar_one() == "cancelled"
    press_undo(ann, taken.text)
    assert folder_of(engine, id)[0] == "snoozed"


def test_undoing_done_does_not_end_what_repeats(ann: FlaskClient, engine: Engine) -> None:
    id = a_kept_message(engine, message_id="<m@x>")
    snooze = a_snooze(engine, message_id="<m@x>", recurrence=DAILY, remind_at=now() + HOUR)
    done = ann.post(f"/mailbox/{id}/done", follow_redirects=True)
    press_undo(ann, done.text)
    assert (folder_of(engine, id)[0], the_row(engine, snooze).outcome) == ("inbox", None)
    with engine.begin() as connection:
        connection.execute(text("UPDATE messages SET folder = 'snoozed'"))
    taken = ann.post(f"/mailbox/{id}/inbox", follow_redirects=True)
    assert "That ended its repetition: every day at" in taken.text
    assert the_row(engine, snooze).outcome == "cancelled"


def test_what_came_back_is_on_top_with_its_time(ann: FlaskClient, engine: Engine) -> None:
    old = a_kept_message(engine, subject="Old one")
    a_kept_message(engine, subject="New one")
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE messages SET returned = TRUE, surfaced_at = clock_timestamp() WHERE id = :id"),
            {"id": old},
        )
    page = ann.get("/mailbox").text
    assert page.index("Old one") < page.index("New one")
    assert "Back since" in page


def test_a_message_without_subject_or_sender_has_a_stand_in(ann: FlaskClient, engine: Engine) -> None:
    id = a_kept_message(engine, original=b"X-Nothing: here\r\n\r\nBody\r\n")
    for page in (ann.get("/mailbox").text, ann.get(f"/mailbox/{id}").text):
        assert "(no subject)" in page
        assert "(no sender)" in page


def test_every_message_of_the_corpus_has_a_page(ann: FlaskClient, engine: Engine, messages: dict[str, bytes]) -> None:
    for name, original in messages.items():
        id = a_kept_message(engine, original=original)
        page = ann.get(f"/mailbox/{id}")
        assert page.status_code == 200, name
        assert "<h1></h1>" not in page.text
        assert ann.get(f"/mailbox/{id}/original").data == original
    assert ann.get("/mailbox").status_code == 200


def test_a_text_that_is_cut_is_called_cut(ann: FlaskClient, engine: Engine) -> None:
    long = b"Subject: Long\r\n\r\n" + b"word " * 300_000
    assert "The text is cut here" in ann.get(f"/mailbox/{a_kept_message(engine, original=long)}").text
    assert "The text is cut here" not in ann.get(f"/mailbox/{a_kept_message(engine)}").text


def test_a_reminder_that_came_back_is_in_no_folder(ann: FlaskClient, engine: Engine) -> None:
    a_kept_message(engine, subject="Shown")
    a_kept_message(engine, subject="A reminder")
    with engine.begin() as connection:
        connection.execute(text("UPDATE messages SET folder = 'reminders' WHERE subject = 'A reminder'"))
    for folder in ("inbox", "asleep", "done"):
        assert "A reminder" not in ann.get(f"/mailbox?folder={folder}").text
    assert ann.get("/mailbox?folder=reminders").status_code == 404


def test_an_unknown_folder_is_not_found(ann: FlaskClient) -> None:
    assert ann.get("/mailbox?folder=trash").status_code == 404


def test_an_empty_inbox_shows_what_to_do_first(ann: FlaskClient, engine: Engine) -> None:
    assert "No mail here yet" in ann.get("/mailbox").text
    id = a_kept_message(engine, original=an_original())
    ann.post(f"/mailbox/{id}/snooze", data={"at": "2031-05-01T08:00:00+00:00"})
    assert "The inbox is clear" in ann.get("/mailbox").text
