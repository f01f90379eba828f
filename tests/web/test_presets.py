"""Presets are phrases: own ones are parsed before they are saved, and recent phrases are offered again."""

import re
from html import unescape
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from tests.factories import a_kept_message
from tests.web.page_forms import shown_reading


def offered(ann: FlaskClient) -> list[str]:
    """Returns the labels of the form's preset buttons that can be pressed."""
    page = ann.get("/when/offers").text
    return [
        unescape(re.sub(r"<[^>]+>", "", label))
        for label in re.findall(r'<button name="preset"[^>]*><b>(.*?)</b>', page)
    ]


def save(ann: FlaskClient, *pairs: tuple[str, str], act: str = "save") -> Any:
    data = {"label": [label for label, _ in pairs], "phrase": [phrase for _, phrase in pairs], "act": act}
    return ann.post("/settings/presets", data=data)


def shown(page: str) -> list[tuple[str, str]]:
    labels = re.findall(r'name="label" value="([^"]*)"', page)
    phrases = re.findall(r'name="phrase" value="([^"]*)"', page)
    return [(unescape(label), unescape(phrase)) for label, phrase in zip(labels, phrases, strict=True)]


LUNCH, WEEKLY, NIGHT = ("After lunch", "tomorrow 1pm"), ("Mondays", "every monday 9am"), ("Late", "tonight at 23:59")


def test_own_presets_are_offered_in_their_order_with_their_meaning(ann: FlaskClient) -> None:
    assert save(ann, LUNCH, WEEKLY).status_code == 303
    assert offered(ann) == ["After lunch", "Mondays"]
    page = ann.get("/settings").text
    assert shown(page) == [LUNCH, WEEKLY]
    assert "Tomorrow 13:00" in page
    assert "Every Monday at 09:00" in page


@pytest.mark.parametrize(
    ("act", "left"),
    [
        ("up:1", [WEEKLY, LUNCH, NIGHT]),
        ("down:1", [LUNCH, NIGHT, WEEKLY]),
        ("remove:0", [WEEKLY, NIGHT]),
        ("up:0", [LUNCH, WEEKLY, NIGHT]),
        ("down:9", [LUNCH, WEEKLY, NIGHT]),
        ("remove:²", [LUNCH, WEEKLY, NIGHT]),
    ],
)
def test_presets_are_moved_and_removed_without_scripts(ann: FlaskClient, act: str, left: list[tuple[str, str]]) -> None:
    save(ann, LUNCH, WEEKLY, NIGHT)
    assert save(ann, LUNCH, WEEKLY, NIGHT, act=act).status_code == 303
    assert shown(ann.get("/settings").text) == left


def test_adding_a_row_keeps_what_was_typed(ann: FlaskClient) -> None:
    page = save(ann, LUNCH, ("Typed", "friday 2pm"), act="add")
    assert page.status_code == 200
    assert shown(page.text) == [LUNCH, ("Typed", "friday 2pm"), ("", "")]
    assert save(ann, LUNCH, ("", "friday 2pm"), ("", "")).status_code == 303
    assert shown(ann.get("/settings").text) == [LUNCH, ("friday 2pm", "friday 2pm")]


@pytest.mark.parametrize("phrase", ["soonish", "yesterday", "until they reply", "", "tomorrow or friday", "x" * 300])
def test_a_refused_phrase_has_its_error_beside_the_field_and_nothing_is_saved(ann: FlaskClient, phrase: str) -> None:
    before = offered(ann)
    refused = save(ann, LUNCH, ("Mine", phrase))
    assert refused.status_code == 422
    assert shown(refused.text) == [LUNCH, ("Mine", phrase)]
    assert refused.text.count('aria-invalid="true"') == 1
    assert refused.text.count('aria-invalid="true" autofocus') == 1
    assert offered(ann) == before


def test_of_two_errors_the_first_has_the_focus(ann: FlaskClient) -> None:
    refused = save(ann, LUNCH, ("Mine", "soonish"), ("Too", "soonish"))
    assert re.findall(r'aria-label="What time (\d)[^>]*autofocus', refused.text) == ["2"]


def test_a_time_that_means_nothing_at_this_hour_may_be_kept(ann: FlaskClient) -> None:
    own = (LUNCH, ("This morning", "this morning"), ("Later", "later today"), ("Tonight", "tonight"))
    assert save(ann, *own).status_code == 303
    assert shown(ann.get("/settings").text) == list(own)


def test_what_has_passed_or_comes_twice_is_grey_and_the_others_keep_their_keys(ann: FlaskClient) -> None:
    save(ann, LUNCH, ("Same", "tomorrow 13:00"), ("Mondays", "every monday 9am"))
    assert offered(ann) == ["After lunch", "Mondays"]
    buttons = re.findall(r'<button( disabled)?[^>]*data-key="(\d)"><b>(.*?)</b>', ann.get("/when/offers").text)
    assert buttons == [("", "1", "After lunch"), (" disabled", "2", "Same"), ("", "3", "Mondays")]


def test_none_at_all_is_refused_and_the_usual_ones_come_back(ann: FlaskClient, engine: Engine) -> None:
    usual = shown(ann.get("/settings").text)
    save(ann, LUNCH)
    assert save(ann, LUNCH, act="remove:0").status_code == 422
    emptied = save(ann, ("", ""), ("", ""))
    assert emptied.status_code == 422
    assert shown(emptied.text) == [("", "")]
    assert "Take the usual ones back" in emptied.text
    assert shown(save(ann, ("", ""), act="add").text) == [("", "")]
    assert offered(ann) == ["After lunch"]
    assert ann.post("/settings/presets", data={"act": "reset"}).status_code == 303
    assert shown(ann.get("/settings").text) == usual
    save(ann, *usual)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM account_presets")).scalar_one() == 0


def test_labels_are_escaped_and_long_ones_are_cut(ann: FlaskClient) -> None:
    save(ann, ("<script>alert(1)</script>" * 9, "tomorrow 1pm"), *[("Many", "in 5 days")] * 30)
    page = ann.get("/settings").text
    assert "<script>alert" not in page
    assert len(shown(page)) == 12
    assert "<script>alert" not in ann.get("/when/offers").text


def test_the_last_three_typed_phrases_are_offered_newest_first(ann: FlaskClient, engine: Engine) -> None:
    for phrase in ("in 4 days", "in 5 days at  noon", "in 6 days", "tomorrow", "in 7 hours"):
        path = f"/mailbox/{a_kept_message(engine)}/snooze"
        read = ann.post(path, data={"phrase": phrase})
        assert ann.post(path, data={"phrase": phrase, "act": "snooze", **shown_reading(read)}).status_code == 303
    lately = re.findall(r'class="recent".*?<b>(.*?)</b>', ann.get("/when/offers").text)
    assert lately == ["in 7 hours", "in 6 days", "in 5 days at noon"]


def test_a_preset_that_was_pressed_is_not_a_typed_phrase(ann: FlaskClient, engine: Engine) -> None:
    sheet = ann.get("/when/offers").text
    preset = re.search(r'name="preset" value="([^"]+)"', sheet)
    assert preset is not None
    ann.post(f"/mailbox/{a_kept_message(engine)}/snooze", data={"preset": unescape(preset.group(1))})
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM account_phrases")).scalar_one() == 0


def test_only_the_newest_phrases_are_kept(ann: FlaskClient, engine: Engine) -> None:
    for days in range(2, 14):
        path = f"/mailbox/{a_kept_message(engine)}/snooze"
        read = ann.post(path, data={"phrase": f"in {days} days"})
        ann.post(path, data={"phrase": f"in {days} days", "act": "snooze", **shown_reading(read)})
    with engine.connect() as connection:
        kept = connection.execute(text("SELECT phrase FROM account_phrases ORDER BY used_at DESC")).scalars().all()
    assert list(kept) == [f"in {days} days" for days in range(13, 5, -1)]
