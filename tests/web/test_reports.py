"""The reason of a bounce stands where its person and operators ask whether the reminder was sent."""

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine

from snoozer.mail import links
from snoozer.mailboxes.inbound import reports
from snoozer.mailboxes.inbound.doors import Site
from snoozer.settings import Settings
from tests.factories import People, the_row
from tests.mail.reports import REPORTS, a_report, about
from tests.web.cases import page, visible_text
from tests.web.reminders import a_sent_reminder

WORDS = "550 5.1.1 <…@…>: Recipient address rejected: User unknown"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Pages read the state of delivery each time."""
    return settings.model_copy(update={"poll": 0.0})


def returned(engine: Engine, settings: Settings, mail: bytes) -> int:
    """A reminder that was sent, and about which a mail system reported."""
    id = a_sent_reminder(engine)
    promise = the_row(engine, id).scheduled_for
    address = links.sign_address(id, promise, keys=settings.keys, action="bounce")
    door = reports.find(local_part=address, site=Site(domain="in.example", keys=settings.keys))
    assert door is not None
    with engine.begin() as connection:
        door.receive(connection, original=mail, has_null_sender=True)
    return id


def test_its_person_reads_that_it_bounced_and_takes_back_that_the_address_is_dead(
    ann: FlaskClient, engine: Engine, settings: Settings
) -> None:
    id = returned(engine, settings, REPORTS["Postfix, no such user"].mail)
    shown = visible_text(page(ann, f"/snoozes/{id}"))
    assert shown.count(f"It did not arrive: a mail system returned it. {WORDS}") == 2, "at its time, and in its details"
    assert f"It did not arrive: a mail system returned it ({WORDS})." in shown
    for path in ("/", "/settings", f"/snoozes/{id}"):
        assert "No reminders are sent to your address Mail to it came back" in visible_text(page(ann, path))
    assert ann.post("/settings/mail-again").status_code == 303
    assert "No reminders are sent" not in visible_text(page(ann, "/"))


def test_its_person_reads_that_it_is_delayed(ann: FlaskClient, engine: Engine, settings: Settings) -> None:
    id = returned(engine, settings, a_report(about("delayed", "4.4.1", "smtp; 421 busy <script>")))
    shown = page(ann, f"/snoozes/{id}")
    assert "A mail system could not deliver it yet and goes on trying (4.4.1 421 busy &lt;script&gt;)." in shown
    assert "It did not arrive" not in shown
    assert "No reminders are sent to your address" not in shown


def test_an_operator_reads_that_it_bounced_and_which_addresses_take_no_mail(
    operator: FlaskClient, people: People, engine: Engine, settings: Settings
) -> None:
    people.ann()
    id = returned(engine, settings, REPORTS["Postfix, no such user"].mail)
    shown = visible_text(page(operator, f"/admin/cases/{id}"))
    assert "It bounced: a mail system returned it. 550 5.1.1" in shown
    assert "bounced by a mail system" in shown
    pauses = visible_text(page(operator, "/admin/pauses"))
    assert "A mail to it came back (5.1.1)" in pauses
    assert "1 address takes no mail" in visible_text(page(operator, "/admin"))
    assert operator.post("/admin/pauses/1/resume", data={"why": "a new mailbox"}).status_code == 303
    assert "takes no mail" not in visible_text(page(operator, "/admin"))


def test_a_program_reads_that_it_bounced(
    client: FlaskClient, people: People, engine: Engine, settings: Settings
) -> None:
    ann = people.ann()
    id = returned(engine, settings, REPORTS["Postfix, no such user"].mail)
    events = client.get(f"/api/v1/snoozes/{id}/events", headers=ann.bearer).get_json()["events"]
    assert [(one["kind"], one["by"], one["detail"]["code"], one["detail"]["text"]) for one in events] == [
        ("bounced", "mail", "5.1.1", WORDS)
    ]
