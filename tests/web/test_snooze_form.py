"""The snooze form: nothing is saved before its reading was shown, and nothing typed is lost."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from tests.factories import a_kept_message, a_snooze
from tests.web.page_forms import shown_reading


def snoozes(engine: Engine) -> list[object]:
    with engine.connect() as connection:
        return list(connection.execute(text("SELECT * FROM email_snoozes")).all())


def test_a_typed_phrase_is_saved_only_after_its_reading_was_shown(ann: FlaskClient, engine: Engine) -> None:
    path = f"/mailbox/{a_kept_message(engine)}/snooze"
    read = ann.post(path, data={"phrase": "in 3 days", "note": "ask Bob"})
    assert read.status_code == 200
    assert "Europe/Berlin" in read.text
    assert "in 3 days" in read.text
    assert ">ask Bob</textarea>" in read.text
    assert snoozes(engine) == []
    unseen = ann.post(path, data={"phrase": "in 3 days", "act": "snooze"})
    assert unseen.status_code == 200
    assert snoozes(engine) == []
    saved = ann.post(path, data={"phrase": "in 3 days", "note": "ask Bob", "act": "snooze", **shown_reading(read)})
    assert saved.status_code == 303
    assert len(snoozes(engine)) == 1


def test_a_phrase_changed_after_the_reading_is_read_again(ann: FlaskClient, engine: Engine) -> None:
    path = f"/mailbox/{a_kept_message(engine)}/snooze"
    read = ann.post(path, data={"phrase": "in 3 days"})
    again = ann.post(path, data={"phrase": "in 4 days", "act": "snooze", **shown_reading(read)})
    assert again.status_code == 200
    assert snoozes(engine) == []


def test_a_button_pressed_after_midnight_does_not_mean_another_day_unasked(ann: FlaskClient, engine: Engine) -> None:
    path = f"/mailbox/{a_kept_message(engine)}/snooze"
    shown_yesterday = (datetime.now(UTC) + timedelta(hours=2)).isoformat()
    answer = ann.post(path, data={"preset": f"in 30 hours|{shown_yesterday}"})
    assert answer.status_code == 200
    assert "Nothing was saved yet" in answer.text
    assert snoozes(engine) == []


def test_every_usual_time_saves_what_it_shows(ann: FlaskClient, engine: Engine) -> None:
    sheet = ann.get(f"/mailbox/{a_kept_message(engine)}/snooze").text
    offers = re.findall(r'name="preset" value="([^"]+)\|([^"|]+)"', sheet)
    assert len(offers) >= 4
    for phrase, at in offers:
        path = f"/mailbox/{a_kept_message(engine)}/snooze"
        assert ann.post(path, data={"preset": unescape(f"{phrase}|{at}")}).status_code == 303
        with engine.connect() as connection:
            saved = connection.execute(
                text("SELECT remind_at FROM email_snoozes ORDER BY id DESC LIMIT 1")
            ).scalar_one()
        assert abs(saved - datetime.fromisoformat(at)) < timedelta(minutes=2)


@pytest.mark.parametrize("phrase", ["yesterday 8am", "soonish", "", "31 feb", "x" * 5000, "\x00", "<b>"])
def test_an_unreadable_phrase_has_its_error_beside_the_field_and_stays(
    phrase: str, ann: FlaskClient, engine: Engine
) -> None:
    answer = ann.post(f"/mailbox/{a_kept_message(engine)}/snooze", data={"phrase": phrase, "act": "snooze"})
    assert answer.status_code == 422
    assert 'aria-invalid="true"' in answer.text
    assert 'class="error"' in answer.text
    assert "<b>" not in answer.text.split('id="phrase"')[1].split(">")[0]
    assert snoozes(engine) == []


def test_what_is_refused_has_the_focus_on_every_page_with_a_sheet(ann: FlaskClient, engine: Engine) -> None:
    paths = (f"/mailbox/{a_kept_message(engine)}/snooze", f"/snoozes/{a_snooze(engine)}/time", "/add")
    for path in paths:
        for phrase in ("", "tomorow"):
            refused = ann.post(path, data={"subject": "Call", "phrase": phrase, "act": "read"})
            [field] = re.findall(r"<input [^>]*autofocus[^>]*>", refused.text)
            assert 'name="phrase"' in field, path
            assert 'aria-invalid="true"' in field, path


def test_suggestions_are_buttons_that_show_their_reading(ann: FlaskClient, engine: Engine) -> None:
    path = f"/mailbox/{a_kept_message(engine)}/snooze"
    refused = ann.post(path, data={"phrase": "nex week"})
    suggestion = re.search(r'name="suggestion" value="([^"]+)"', refused.text)
    assert suggestion is not None
    read = ann.post(path, data={"phrase": "nex week", "suggestion": unescape(suggestion.group(1))})
    assert read.status_code == 200
    assert shown_reading(read)["seen_phrase"] == unescape(suggestion.group(1))


def test_the_other_reading_is_one_button(ann: FlaskClient, engine: Engine) -> None:
    path = f"/mailbox/{a_kept_message(engine)}/snooze"
    read = ann.post(path, data={"phrase": "3/4/2031"})
    assert "could also mean" in read.text
    other = re.search(r'name="at" value="([^"]+)"', read.text)
    assert other is not None
    assert ann.post(path, data={"phrase": "3/4/2031", "at": unescape(other.group(1))}).status_code == 303
    with engine.connect() as connection:
        saved = connection.execute(text("SELECT remind_at FROM email_snoozes")).scalar_one()
    assert saved == datetime.fromisoformat(unescape(other.group(1)))


def test_a_note_that_is_too_long_is_refused_and_kept(ann: FlaskClient, engine: Engine) -> None:
    path = f"/mailbox/{a_kept_message(engine)}/snooze"
    read = ann.post(path, data={"phrase": "in 3 days"})
    note = "n" * 2001
    answer = ann.post(path, data={"phrase": "in 3 days", "act": "snooze", "note": note, **shown_reading(read)})
    assert answer.status_code == 422
    assert note in answer.text
    assert "the limit is 2000" in answer.text
    assert re.search(r"<textarea [^>]*autofocus", answer.text)
    assert len(re.findall("autofocus", answer.text)) == 1
    assert snoozes(engine) == []
    assert ann.post(path, data={"phrase": "in 3 days", "act": "snooze", **shown_reading(answer)}).status_code == 303


def test_the_preview_reads_and_never_writes(ann: FlaskClient) -> None:
    assert "Europe/Berlin" in ann.get("/when/preview", query_string={"phrase": "tomorrow 8am"}).text
    assert "suggestion" in ann.get("/when/preview", query_string={"phrase": "tomorow"}).text
