"""A connected mailbox on its page: read at a real server, changed on request only, private to its account."""

import itertools
import re
from collections.abc import Callable, Iterator
from email.message import EmailMessage

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.mailboxes.read.mailbox import Attachment
from snoozer.settings import Settings
from snoozer.web import create_app
from snoozer.web.mailboxes.mail import untrusted_content
from snoozer.web.mailboxes.mail.opening import close_connections
from snoozer.web.mailboxes.mail.untrusted_content import (
    FRAME_POLICY,
    MAX_PICTURE_BYTES,
    MAX_PICTURES,
    file_name,
    pictures_of,
)
from tests.conftest import missing
from tests.factories import People
from tests.imap import dovecot
from tests.imap.dovecot import Dovecot
from tests.imap.watched import Place, watched
from tests.web.letters import FILE_NAME, a_conversation, a_letter, a_newsletter, with_files
from tests.web.page_forms import press_undo

pytestmark = pytest.mark.dovecot

AT = {"at": "2031-05-01T08:00:00+00:00"}
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[Dovecot]:
    if not dovecot.is_installed():
        missing("dovecot")
    with dovecot.running() as running:
        yield running


@pytest.fixture
def place(engine: Engine, settings: Settings, people: People, server: Dovecot) -> Iterator[Place]:
    """Ann's mailbox, connected and empty."""
    name = f"reader{next(_numbers)}"
    with watched(engine, settings, people.ann(), port=server.imap_port, username=name) as place:
        yield place


@pytest.fixture
def app(engine: Engine, place: Place) -> Iterator[Flask]:
    app = create_app(engine=engine, settings=place.settings)
    app.config["WTF_CSRF_ENABLED"] = False
    yield app
    close_connections(app)


@pytest.fixture
def ann(app: Flask, place: Place) -> FlaskClient:
    client = app.test_client()
    client.set_cookie("snoozer_session", place.person.session)
    return client


@pytest.fixture
def listed(ann: FlaskClient, place: Place) -> Callable[..., dict[str, str]]:
    """`listed("?q=word")`: the paths of the messages on a page, by their subjects, in order."""

    def read(query: str = "") -> dict[str, str]:
        page = ann.get(f"/mailboxes/{place.mailbox_id}/mail{query}")
        assert page.status_code == 200, page.text
        found = re.findall(r'<a class="row-title" href="([^"]+)"[^>]*>([^<]*)</a>', page.text)
        return {subject: path for path, subject in found}

    return read


Listed = Callable[..., dict[str, str]]


def folder_query(page: str, name: str) -> str:
    """The query of the link to a folder."""
    found = re.search(rf'href="[^"?]+(\?folder=[^"]+)"[^>]*><svg.*?</svg><bdi>{name}</bdi>', page)
    assert found is not None
    return found.group(1)


def test_a_folder_is_listed_newest_first_with_its_conversations(ann: FlaskClient, place: Place, listed: Listed) -> None:
    for original in [bytes(a_letter("Old")), *a_conversation(), with_files()]:
        place.program.deliver(original)
    place.program.deliver(bytes(a_letter("Filed")), folder="Archive", flags=r"(\Seen)")
    assert list(listed()) == ["Offer", "Re: Rooms in May", "Old"]
    page = ann.get(f"/mailboxes/{place.mailbox_id}/mail").text
    assert "3 messages" in page
    assert "5 unread" in page
    assert "Has attachments" in page
    assert "Kept by Snoozer" in ann.get("/mailbox").text, "the switch is on both"
    assert list(listed(folder_query(page, "Archive"))) == ["Filed"]
    conversation = ann.get(listed()["Re: Rooms in May"]).text
    assert conversation.index("Conversation") < conversation.index(">Rooms in May<")


def test_a_search_is_asked_of_the_server(ann: FlaskClient, place: Place, listed: Listed) -> None:
    for subject in ('Blue "quoted" back\\slash', "Grüße", "Red"):
        place.program.deliver(bytes(a_letter(subject)))
    assert list(listed("?q=Red")) == ["Red"]
    assert list(listed("?q=subject:Grüße")) == ["Grüße"]
    for query in ('Blue "quoted', 'x"\\', "a%0d%0aLOGOUT", "from:no-one", "%00"):
        assert set(listed(f"?q={query}")) <= {"Blue &#34;quoted&#34; back\\slash", "Grüße", "Red"}
    assert "Nothing was found" in ann.get(f"/mailboxes/{place.mailbox_id}/mail?q=zebra").text


def test_a_page_has_fifty_and_leads_to_the_older_ones(ann: FlaskClient, place: Place, listed: Listed) -> None:
    for number in range(52):
        place.program.deliver(bytes(a_letter(f"Number {number:02}")))
    assert list(listed())[::49] == ["Number 51", "Number 02"]
    older = re.search(r'href="([^"]+)" rel="next"', ann.get(f"/mailboxes/{place.mailbox_id}/mail").text)
    assert older is not None
    page = ann.get(older.group(1).replace("&amp;", "&")).text
    assert re.findall(r'class="row-title" [^>]*>([^<]*)<', page) == ["Number 01", "Number 00"]
    assert "To the newest" in page


def test_reading_marks_nothing_until_the_page_posts(ann: FlaskClient, place: Place, listed: Listed) -> None:
    place.program.deliver(bytes(a_letter("Hello")))
    path = listed()["Hello"]
    for end in ("", "?view=html", "/original", "/snooze"):
        assert ann.get(path + end).status_code == 200
    assert place.program.messages("INBOX")[0][2] == frozenset()
    ann.post(f"{path}/read")
    assert place.program.messages("INBOX")[0][2] == {r"\Seen"}
    assert "Mark as unread" in ann.get(path).text
    ann.post(f"{path}/unread")
    assert place.program.messages("INBOX")[0][2] == frozenset()


def test_done_archives_and_can_be_undone(ann: FlaskClient, place: Place, listed: Listed) -> None:
    place.program.deliver(bytes(a_letter("Hello")))
    done = ann.post(f"{listed()['Hello']}/done", follow_redirects=True)
    assert (place.program.count("INBOX"), place.program.count("Archive")) == (0, 1)
    assert "The inbox is clear" in done.text
    press_undo(ann, done.text)
    assert (place.program.count("INBOX"), place.program.count("Archive")) == (1, 0)


def test_a_message_is_snoozed_moved_and_woken(ann: FlaskClient, place: Place, listed: Listed) -> None:
    place.program.deliver(bytes(a_letter("Hello")))
    place.start()
    path = listed()["Hello"]
    asked = ann.post(f"{path}/snooze", data={"phrase": "in 3 days", "act": "read"})
    assert "Europe/Berlin" in asked.text
    flashed = ann.post(f"{path}/snooze", data=AT, follow_redirects=True)
    assert "Asleep until" in flashed.text
    assert listed() == {}, "it is gone from the inbox at once"
    place.eventually(lambda: place.asleep() == 1)
    snoozed = folder_query(flashed.text, "Snoozed")
    page = ann.get(f"/mailboxes/{place.mailbox_id}/mail{snoozed}").text
    assert re.search(r"Thursday 1 May 2031.*10:00", page, re.DOTALL), "the hour below the heading of its day"
    woken = ann.post(f"{listed(snoozed)['Hello']}/inbox", follow_redirects=True)
    assert "It goes back to where it was." in woken.text
    place.eventually(lambda: place.program.count("INBOX") == 1)
    assert place.program.count(place.snoozed) == 0


def test_a_changed_time_keeps_what_a_reply_does(ann: FlaskClient, place: Place, listed: Listed) -> None:
    place.program.deliver(bytes(a_letter("Hello")))
    path = listed()["Hello"]
    ann.post(f"{path}/snooze", data={**AT, "reply_policy": "until_reply", "reply_scope": "thread", "note": "Call"})
    page = ann.get(f"{path}/snooze").text
    assert '<option value="until_reply" selected>' in page
    assert '<option value="thread" selected>' in page
    assert ">Call<" in page


def test_undo_of_a_snooze_leads_back_to_this_mailbox(ann: FlaskClient, place: Place, listed: Listed) -> None:
    place.program.deliver(bytes(a_letter("Hello")))
    snoozed = ann.post(f"{listed()['Hello']}/snooze", data=AT, follow_redirects=True)
    undone = press_undo(ann, snoozed.text)
    assert undone.request.path == f"/mailboxes/{place.mailbox_id}/mail"
    assert "Cancelled." in undone.text


def test_html_is_shown_in_a_document_that_runs_and_loads_nothing(
    ann: FlaskClient, place: Place, listed: Listed
) -> None:
    place.program.deliver(a_newsletter())
    path = listed()["Summer in the mountains"]
    text, page, frame = (ann.get(path + end) for end in ("", "?view=html", "/html"))
    assert "<iframe" not in text.text
    assert "frame-src" not in text.headers["Content-Security-Policy"]
    assert f'<iframe class="message-frame" src="{path}/html" sandbox="allow-popups' in page.text
    assert page.headers["Content-Security-Policy"].endswith("frame-src 'self'")
    assert frame.headers["Content-Security-Policy"] == FRAME_POLICY
    assert frame.headers["X-Frame-Options"] == "SAMEORIGIN"
    assert frame.headers["X-DNS-Prefetch-Control"] == "off"
    assert frame.text.count('src="data:image/gif;base64,') == 1
    assert 'href="https://club.example/huts?a=1" target="_blank" rel="noopener noreferrer"' in frame.text or (
        'rel="noopener noreferrer" target="_blank"' in frame.text
    )
    for left_out in ("<script", "onload", "127.0.0.1:9", "<form", "<input", "cid:"):
        assert left_out not in frame.text
    assert "A picture from elsewhere" in frame.text


def pictures(count: int) -> tuple[str, list[Attachment]]:
    """A page, and what its server says of its pictures."""
    parts = [
        Attachment(part=f"p{number}", name="x.gif", type="image/gif", size=3, content_id=f"c{number}")
        for number in range(count)
    ]
    return "".join(f"<img src='cid:{part.content_id}'>" for part in parts), parts


def test_pictures_are_few_and_small_and_soon_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    html, parts = pictures(MAX_PICTURES + 1)
    assert len(pictures_of(html, parts, read=lambda _: b"GIF")) == MAX_PICTURES
    large = b"x" * (MAX_PICTURE_BYTES + 1)
    assert list(pictures_of(html, parts[:2], read=lambda part: large if part.part == "p0" else b"GIF")) == ["c1"]
    monkeypatch.setattr(untrusted_content, "PICTURES_SECONDS", -1.0)
    assert pictures_of(html, parts, read=lambda _: b"GIF") == {}


def test_files_are_saved_and_never_opened(ann: FlaskClient, place: Place, listed: Listed) -> None:
    original = with_files()
    place.program.deliver(original)
    path = listed()["Offer"]
    links = re.findall(rf'href="({path}/parts/[^"]+)"', ann.get(path).text)
    offer, page = (ann.get(link) for link in links)
    assert (offer.data, page.data.strip()) == (b"%PDF-1.7 offer", b"<script>alert(3)</script>")
    whole = ann.get(f"{path}/original")
    assert whole.data == place.program.messages("INBOX")[0][0]
    for answer in (offer, page, whole):
        assert answer.mimetype == "application/octet-stream"
        assert answer.headers["Content-Disposition"].startswith("attachment; filename=")
        assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"
    assert "filename*=UTF-8''Angebot%20f%C3%BCr%20M%C3%A4rz%20cod.exe.pdf" in offer.headers["Content-Disposition"]
    assert ann.get(f"{path}/parts/i9").status_code == 404


@pytest.mark.parametrize(
    ("name", "saved"),
    [
        (FILE_NAME, "Angebot für März cod.exe.pdf"),
        ("../../etc/passwd", "etc-passwd"),
        ("C:\\Users\\x.txt", "C-Users-x.txt"),
        ('a"b\r\nSet-Cookie: x=1.txt', "a-b Set-Cookie- x=1.txt"),
        (".htaccess", "htaccess"),
        ("x" * 300 + ".pdf", "x" * 116 + ".pdf"),
        ("\u200b\u202e. ", "attachment"),
        ("", "attachment"),
    ],
)
def test_a_strangers_file_name_is_only_a_name(name: str, saved: str) -> None:
    assert file_name(name) == saved


def test_a_message_or_a_folder_that_is_gone_has_a_page(ann: FlaskClient, place: Place, listed: Listed) -> None:
    place.program.deliver(bytes(a_letter("Hello")))
    path = listed()["Hello"]
    place.program.move("INBOX", "Archive")
    for answer in (
        ann.get(path),
        ann.get(f"{path}/html"),
        ann.post(f"{path}/done"),
        ann.post(f"{path}/snooze", data=AT),
    ):
        assert answer.status_code == 404
        assert "another program has moved or deleted it" in answer.text
    assert "To the inbox" in ann.get(path).text
    missing_folder = ann.get(f"/mailboxes/{place.mailbox_id}/mail?folder=Tm9wZQ")
    assert (missing_folder.status_code, "There is no such folder" in missing_folder.text) == (404, True)
    assert ann.get(f"/mailboxes/{place.mailbox_id}/mail/nonsense").status_code == 404
    assert place.rows("SELECT 1 FROM email_snoozes") == []


def test_a_server_that_is_away_has_a_page_and_changes_nothing(ann: FlaskClient, place: Place, listed: Listed) -> None:
    place.program.deliver(bytes(a_letter("Hello")))
    path = listed()["Hello"]
    place.lead_to(1)
    list_page = f"/mailboxes/{place.mailbox_id}/mail?q=hello"
    for answer in (ann.get(list_page), ann.get(path), ann.post(f"{path}/done"), ann.post(f"{path}/snooze", data=AT)):
        assert answer.status_code == 503
        assert answer.headers["Retry-After"]
        assert "Nothing answers at 127.0.0.1, port 1." in answer.text
    assert f'href="{list_page}">Try again' in ann.get(list_page).text
    assert "Nothing was changed." in ann.post(f"{path}/done").text
    assert ann.get(f"{path}/html").headers["Content-Security-Policy"] == FRAME_POLICY
    assert ann.get("/mailbox").status_code == 200
    assert place.rows("SELECT 1 FROM email_snoozes") == []


def test_a_paused_mailbox_is_not_signed_in_to_and_asks_for_its_password(ann: FlaskClient, place: Place) -> None:
    place.lead_to(1)
    place.run("UPDATE mailboxes SET state = 'paused', problem = 'login', problem_since = clock_timestamp()")
    answer = ann.get(f"/mailboxes/{place.mailbox_id}/mail")
    assert (answer.status_code, "Enter the password" in answer.text) == (503, True)
    assert "Nothing answers" not in answer.text, "it would where the server were asked"
    assert f"/settings/mailboxes/{place.mailbox_id}" in answer.text


def test_texts_of_strangers_are_escaped(ann: FlaskClient, place: Place, listed: Listed) -> None:
    attack = "<img src=x onerror=alert(1)>"
    letter = a_letter(attack, sender=f'"{attack}" <m@evil.example>')
    part = EmailMessage()
    part.set_content("x")
    letter.add_attachment(b"x", maintype="text", subtype="plain", filename=f"{attack}.txt")
    place.program.deliver(bytes(letter))
    [path] = listed().values()
    for page in (ann.get(f"/mailboxes/{place.mailbox_id}/mail?q={attack}"), ann.get(path), ann.get(f"{path}/snooze")):
        assert "&lt;img" in page.text
        assert "<img" not in page.text
