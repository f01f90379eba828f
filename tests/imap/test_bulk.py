"""Acts on many messages of a connected mailbox: nothing is lost or half saved, whatever happens between the list, the
act and the moves, and one Undo gives all of it back."""

import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from flask.testing import FlaskClient

from snoozer.web import create_app
from snoozer.web.mailboxes.mail.opening import close_connections
from tests.db.links import DAILY
from tests.factories import HOUR, an_original, now
from tests.imap.conftest import BOTH
from tests.imap.mailboxes import MailServer
from tests.imap.proxy import Proxy
from tests.imap.watched import Place
from tests.web.bulk_forms import fields_of, post, toast
from tests.web.page_forms import press_undo

both = pytest.mark.parametrize("mail_server", BOTH, indirect=True)
dovecot = pytest.mark.parametrize("mail_server", BOTH[:1], indirect=True)

LATER = {"at": (now() + 50 * HOUR).isoformat()}
SETTLED = "SELECT 1 FROM messages WHERE place = '{0}' AND wanted = '{0}' AND moving_to IS NULL"


@pytest.fixture
def ann(place: Place) -> Iterator[FlaskClient]:
    app = create_app(engine=place.engine, settings=place.settings)
    app.config["WTF_CSRF_ENABLED"] = False
    client = app.test_client()
    client.set_cookie("snoozer_session", place.person.session)
    yield client
    close_connections(app)


class Listing:
    """A page of the mailbox as a browser shows it: what it posts, and the rows to choose from, by their subjects."""

    def __init__(self, ann: FlaskClient, place: Place, query: str = "", *, folder: str | None = None) -> None:
        path = f"/mailboxes/{place.mailbox_id}/mail"
        if folder is not None:
            [query] = set(
                re.findall(rf'href="{path}(\?folder=[^"]+)"[^>]*><svg.*?</svg><bdi>{folder}</bdi>', ann.get(path).text)
            )
        self.page = ann.get(path + query).text
        self.fields = fields_of(self.page)
        subjects = re.findall(r'class="row-title"[^>]*>([^<]*)<', self.page)
        self.rows = dict(zip(subjects, re.findall(r'name="row" value="([^"]+)"', self.page), strict=True))

    def chosen(self, *subjects: str, **also: Any) -> dict[str, Any]:
        return {**self.fields, "row": [self.rows[unescape(subject)] for subject in subjects], **also}


def url(place: Place, act: str) -> str:
    return f"/bulk/mailboxes/{place.mailbox_id}/{act}"


def deliver(place: Place, *names: str) -> list[tuple[bytes, str, frozenset[str]]]:
    """Returns what is in the inbox then."""
    for name in names:
        place.program.deliver(an_original(subject=name, message_id=f"<{name}@mail.example>"), flags=r"(\Flagged)")
    return place.program.shown("INBOX")


def settled(place: Place, where: str, count: int) -> None:
    place.eventually(lambda: len(place.rows(SETTLED.format(where))) == count)


@both
def test_what_is_chosen_is_snoozed_or_done_and_one_undo_takes_each_back(ann: FlaskClient, place: Place) -> None:
    before = deliver(place, "a", "b", "c", "d")
    archive = place.folder("Archive")
    snoozed = ann.post(url(place, "snooze"), data=Listing(ann, place).chosen("a", "b", **LATER), follow_redirects=True)
    assert toast(snoozed.text).startswith("2 messages are asleep until")
    assert set(Listing(ann, place).rows) == {"c", "d"}, "nothing was moved yet, and they have left the list"
    place.start()
    place.eventually(lambda: place.asleep() == 2)
    form = Listing(ann, place).chosen("c", "d")
    done = ann.post(url(place, "done"), data=form, follow_redirects=True)
    assert toast(done.text) == post(ann, url(place, "done"), form) == "2 messages are done."
    settled(place, "aside", 2)
    assert (place.program.count("INBOX"), place.program.count(archive), place.program.count(place.snoozed)) == (0, 2, 2)
    asleep = Listing(ann, place, folder="Snoozed")
    assert post(ann, url(place, "snooze"), asleep.chosen("a", at=(now() + 70 * HOUR).isoformat())).startswith(
        "1 message"
    )
    assert toast(press_undo(ann, done.text).text) == "2 messages are as they were."
    assert toast(press_undo(ann, snoozed.text).text) == (
        "1 message is as it was. 1 could not be undone: 1 has changed meanwhile."
    )
    place.eventually(lambda: place.program.count("INBOX") == 3)
    woken = ann.post(url(place, "wake"), data=Listing(ann, place, folder="Snoozed").chosen("a"), follow_redirects=True)
    assert toast(woken.text) == "1 message comes back now."
    settled(place, "home", 4)
    assert [message[:2] for message in place.program.shown("INBOX")] == [message[:2] for message in before]
    assert all(r"\Flagged" in message[2] for message in place.program.shown("INBOX"))


@both
def test_all_that_match_are_those_of_the_list_and_go_to_the_inbox_and_back(ann: FlaskClient, place: Place) -> None:
    place.program.create(place.folder("Work"))
    for name in ("Bill 1", "Bill 2", "Letter"):
        place.program.deliver(an_original(subject=name), folder=place.folder("Work"))
    work = Listing(ann, place, folder="Work")
    found = Listing(ann, place, f"?folder={work.fields['folder']}&q=subject:Bill")
    place.program.deliver(an_original(subject="Bill 3"), folder=place.folder("Work"))
    answer = ann.post(url(place, "inbox"), data={**found.fields, "all": "1"}, follow_redirects=True)
    assert toast(answer.text) == "2 messages go to your inbox."
    assert set(Listing(ann, place, folder="Work").rows) == {"Letter", "Bill 3"}
    place.start()
    settled(place, "home", 2)
    assert (place.program.count("INBOX"), place.program.count(place.folder("Work"))) == (2, 2)
    press_undo(ann, answer.text)
    settled(place, "aside", 2)
    assert (place.program.count("INBOX"), place.program.count(place.folder("Work"))) == (0, 4)
    no_bound = {name: value for name, value in found.fields.items() if name != "bound"}
    assert ann.post(url(place, "inbox"), data={**no_bound, "all": "1"}).status_code == 404


@dovecot
def test_what_another_program_took_meanwhile_is_named_and_the_others_are_done(ann: FlaskClient, place: Place) -> None:
    deliver(place, "a", "b", "c")
    listing = Listing(ann, place)
    place.program.mark_deleted("INBOX", uids="1")
    assert post(ann, url(place, "done"), listing.chosen("a", "b", "c")) == (
        "2 messages are done. 1 was not changed: 1 is not there any more."
    )
    # Seen by the act, and taken before the process moves it.
    place.program.create("Work")
    place.program.move("INBOX", "Work", uids="2")
    place.start()
    settled(place, "aside", 1)
    place.eventually(lambda: len(place.rows("SELECT 1 FROM messages")) == 1)
    assert [place.program.count(name) for name in ("INBOX", "Work", "Archive")] == [0, 1, 1]


@dovecot
@pytest.mark.parametrize("command", [b"EXAMINE", b"FETCH"])
def test_nothing_is_saved_where_the_line_is_lost_while_messages_are_looked_at(
    ann: FlaskClient, place: Place, mail_server: MailServer, command: bytes
) -> None:
    before = deliver(place, "a", "b")
    chosen = Listing(ann, place).chosen("a", "b", **LATER)
    lost: list[bytes] = []

    def cut(line: bytes) -> bytes | None:
        if command in line:
            lost.append(line)
            proxy.cut()
        return None

    with Proxy(mail_server.port, on_command=cut) as proxy:
        place.lead_to(proxy.port)
        for act in ("snooze", "done"):
            assert ann.post(url(place, act), data=chosen).status_code == 503
    assert lost
    for table in ("email_snoozes", "messages", "bulk_acts"):
        assert place.rows(f"SELECT 1 FROM {table}") == []  # noqa: S608
    assert place.program.shown("INBOX") == before
    place.lead_to(mail_server.port)
    assert post(ann, url(place, "done"), chosen) == "2 messages are done.", "the same form may be sent again"


@dovecot
@pytest.mark.parametrize("without", [(), ("MOVE",), ("MOVE", "UIDPLUS")], ids=["moved", "copied", "copied, no UIDs"])
def test_moves_whose_line_is_lost_in_the_middle_are_finished_once(
    ann: FlaskClient, place: Place, mail_server: MailServer, without: tuple[str, ...]
) -> None:
    before = deliver(place, "a", "b", "c", "d")
    listing = Listing(ann, place)
    cuts: list[bytes] = []

    def cut(line: bytes) -> bytes | None:
        if b" OK " in line and (b"Move completed" in line or b"Copy completed" in line) and len(cuts) < 3:
            cuts.append(line)
            return None
        return line

    with Proxy(mail_server.port, on_reply=cut) as proxy:
        place.lead_to(proxy.port)
        done = ann.post(url(place, "done"), data=listing.chosen("a", "b"), follow_redirects=True)
        assert post(ann, url(place, "snooze"), listing.chosen("c", "d", **LATER)).startswith("2 messages")
        place.start(without=without)
        settled(place, "aside", 2)
        settled(place, "snoozed", 2)
        press_undo(ann, done.text)
        settled(place, "home", 2)
        place.stop()
    assert len(cuts) == 3
    left = [*place.program.shown("INBOX"), *place.program.shown("Snoozed"), *place.program.shown("Archive")]
    assert sorted(left) == before


@dovecot
def test_an_undo_in_the_middle_of_a_move_brings_the_message_home(ann: FlaskClient, place: Place) -> None:
    deliver(place, "a")
    done = ann.post(url(place, "done"), data=Listing(ann, place).chosen("a"), follow_redirects=True)
    # The process has moved it, and was lost before it wrote that down.
    place.program.move("INBOX", "Archive")
    place.run(
        "UPDATE messages SET moving_to = 'aside', target_folder = 'Archive', target_uidvalidity = 1, target_uidnext = 1"
    )
    press_undo(ann, done.text)
    place.start()
    settled(place, "home", 1)
    assert [place.program.count(name) for name in ("INBOX", "Archive")] == [1, 0]


@dovecot
@pytest.mark.parametrize("alone", [False, True], ids=["many", "alone"])
def test_what_repeats_comes_back_from_the_archive_at_its_next_time(ann: FlaskClient, place: Place, alone: bool) -> None:
    deliver(place, "a")
    place.start()
    post(ann, url(place, "snooze"), Listing(ann, place).chosen("a", **LATER))
    place.eventually(lambda: place.asleep() == 1)
    recurrence = json.dumps(DAILY).replace(":", r"\:")
    place.run(f"UPDATE email_snoozes SET recurrence = '{recurrence}', zone = 'UTC'")  # noqa: S608
    place.make_due()
    settled(place, "home", 1)
    place.run("UPDATE email_snoozes SET remind_at = clock_timestamp() + INTERVAL '1 hour', scheduled_for = NULL")
    if alone:
        [key] = Listing(ann, place).rows.values()
        assert post(ann, f"/mailboxes/{place.mailbox_id}/mail/{key}/done", {}) == "Done."
    else:
        assert post(ann, url(place, "done"), Listing(ann, place).chosen("a")) == "1 message is done."
    settled(place, "aside", 1)
    place.make_due()
    settled(place, "home", 1)
    assert [place.program.count(name) for name in ("INBOX", "Archive")] == [1, 0]


@dovecot
def test_copies_of_one_message_are_each_their_own(ann: FlaskClient, place: Place) -> None:
    original = an_original(subject="twice", message_id="<twice@mail.example>")
    for _ in range(3):
        place.program.deliver(original)
    rows = re.findall(r'name="row" value="([^"]+)"', (listing := Listing(ann, place, "?q=twice")).page)
    assert post(ann, url(place, "snooze"), {**listing.fields, "row": rows[:2], **LATER}).startswith("2 messages")
    assert post(ann, url(place, "done"), {**listing.fields, "row": rows[2:]}) == "1 message is done."
    assert len(place.rows("SELECT DISTINCT message_id FROM messages")) == 3
    place.start()
    settled(place, "snoozed", 2)
    settled(place, "aside", 1)


@dovecot
def test_what_is_asleep_goes_back_and_what_is_paused_can_be_woken(ann: FlaskClient, place: Place) -> None:
    deliver(place, "a", "b")
    place.start()
    assert post(ann, url(place, "snooze"), Listing(ann, place).chosen("a", "b", **LATER)).startswith("2 messages")
    place.eventually(lambda: place.asleep() == 2)
    place.run("UPDATE email_snoozes SET inactive = TRUE WHERE subject = 'b'")
    asleep = Listing(ann, place, folder="Snoozed")
    assert list(asleep.rows) == ["a", "b"]
    assert post(ann, url(place, "wake"), asleep.chosen("b")) == "1 message comes back now."
    settled(place, "home", 1)
    back = ann.post(url(place, "inbox"), data=asleep.chosen("a"), follow_redirects=True)
    assert toast(back.text) == "1 message goes back to where it was."
    settled(place, "home", 2)
    press_undo(ann, back.text)
    settled(place, "snoozed", 1)
    assert place.program.count("INBOX") == 1
