"""A password that its server refuses pauses the mailbox: every page and one mail say so, and the new one brings back
what was due meanwhile."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from snoozer.mailboxes import registry
from snoozer.web import create_app
from tests.factories import an_original
from tests.imap.dovecot import PASSWORD
from tests.imap.watched import Place, a_worker

pytestmark = pytest.mark.dovecot

PAGES = ("/", "/mailbox", "/add", "/settings", "/settings/mailboxes")
BACK = "SELECT 1 FROM messages WHERE returns_at IS NULL AND place = 'home'"


@pytest.fixture
def place(place: Place) -> Place:
    place.program.deliver(an_original(message_id="<a@mail.example>"))
    return place


def browser(place: Place) -> FlaskClient:
    app = create_app(engine=place.engine, settings=place.settings)
    app.config["WTF_CSRF_ENABLED"] = False
    client = app.test_client()
    client.set_cookie("snoozer_session", place.person.session)
    return client


def test_a_refused_password_is_on_every_page_and_in_one_mail_until_there_is_a_new_one(
    place: Place, tmp_path: Path
) -> None:
    client, settings_page = browser(place), f"/settings/mailboxes/{place.mailbox_id}"
    with a_worker(place, tmp_path) as sink:
        place.start(retry_sign_in=0.1)
        place.program.move("INBOX", place.folder("Snooze", "Tomorrow"))
        place.eventually(lambda: place.asleep() == 1)
        assert not any("out of reach" in client.get(page).text for page in PAGES)
        change_password(place, "changed at the server")
        place.eventually(lambda: place.rows("SELECT 1 FROM mailboxes WHERE state = 'paused'"))
        for page in PAGES:
            assert f'href="{settings_page}">Enter the password again' in client.get(page).text
        place.make_due()
        place.eventually(lambda: len(sink.accepted()) == 2)
        assert place.program.count("Snoozed") == 1
        assert client.post(f"{settings_page}/password", data={"password": "wrong, too"}).status_code == 422
        assert client.post(f"{settings_page}/password", data={"password": PASSWORD}).status_code == 303
        place.eventually(lambda: place.program.count("INBOX") == 1 and place.rows(BACK))
        asked = [mail["head"] for mail in sink.accepted() if "Enter the new password" in mail["head"]]
        assert (len(asked), len(sink.accepted())) == (1, 2), "the other one is the reminder"
    assert not any("out of reach" in client.get(page).text for page in PAGES)
    assert place.rows("SELECT count(*) FROM reminder_sends WHERE channel = 'mailbox'") == [(1,)]


def change_password(place: Place, password: str) -> None:
    """As if the one that Snoozer has were another."""
    with place.engine.begin() as connection:
        assert registry.change_password(
            connection,
            id=place.mailbox_id,
            account_id=place.person.id,
            password=password,
            key_ring=place.settings.keys,
        )
