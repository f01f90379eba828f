"""A reminder is in the language of its send, and in no other, whatever is spoken where it is written."""

import pytest

from snoozer.mail.notices import compose_notice
from snoozer.translations import speaking
from tests.mail.composed import PROMISED, Page, bodies, opened, reminder
from tests.mail.conftest import Sends


def test_a_german_reminder(a_send: Sends) -> None:
    mail = reminder(a_send(locale="de_DE", subject=None))
    text, html = bodies(mail)
    assert opened(mail)["Subject"] == "(kein Betreff)"
    assert "Du wolltest das wieder sehen: Freitag, 6. März 2026, 08:00 (Ortszeit Berlin)." in text
    for word in (
        "Erledigt:",
        "Morgen, Sa 08:00:",
        "Nächste Woche, Mo 9. März 08:00:",
        "Andere Zeit wählen:",
        "Deine Notiz:",
        "Von:",
    ):
        assert word in text
    assert '<html lang="de">' in html
    words = " ".join(" ".join(Page(html).words).split())
    assert "Du wolltest das wieder sehen: Freitag, 6. März 2026, 08:00 (Ortszeit Berlin)." in words
    for english in ("You", "Done", "Tomorrow", "Next week", "note", "time)", "Friday"):
        assert english not in words
        assert english not in text


def test_an_american_reminder_has_the_month_first(a_send: Sends) -> None:
    text, _ = bodies(reminder(a_send(locale="en_US")))
    assert "You asked to see this again Friday, March 6, 2026, 8:00 am (Berlin time)." in text


@pytest.mark.parametrize("locale", [None, "en_GB", "fr_FR", ""])
def test_what_has_no_language_of_ours_is_the_english_it_was(a_send: Sends, locale: str | None) -> None:
    assert reminder(a_send(locale=locale)) == reminder(a_send())


def test_the_language_of_the_process_changes_no_byte(a_send: Sends) -> None:
    english, german = reminder(a_send()), reminder(a_send(locale="de_DE"))
    with speaking("de"):
        assert reminder(a_send()) == english
        assert reminder(a_send(locale="de_DE")) == german
    assert english != german


def test_a_german_sign_in_mail() -> None:
    mail = compose_notice(
        "sign_in",
        {"link": "https://snoozer.example/sign-in/abc", "code": "12345678", "minutes": "10"},
        to="ann@example.com",
        mail_from="Snoozer <snoozer@snoozer.example>",
        instance="i-1",
        now=PROMISED,
        message_id="<sign-in.1@snoozer.example>",
        language="de",
    )
    text, html = bodies(mail)
    assert opened(mail)["Subject"] == "Bei Snoozer anmelden"
    assert "Beides gilt einmal, 10 Minuten lang." in text
    assert '<html lang="de">' in html
