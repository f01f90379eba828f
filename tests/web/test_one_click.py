"""List-Unsubscribe (RFC 8058): one POST of a mail program stops the series or the digests alone, and can be undone."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.mail import links
from snoozer.queue.reminder import Send
from snoozer.settings import Settings
from snoozer.snoozes import acts
from snoozer.snoozes.acts import By, Cancel
from tests.db.digests import OVER, accept, deferred, gathered
from tests.db.links import DAILY, in_flight, link_in, sent_and_gone_on
from tests.factories import HOUR, a_snooze, now, the_events, the_row
from tests.mail.composed import opened, reminder
from tests.web.reminders import a_link, a_sent_reminder

ONE_CLICK = {"List-Unsubscribe": "One-Click"}


def the_path(send: Send, settings: Settings) -> str:
    """The path that the mail names, as a mail program finds it."""
    mail = opened(reminder(send, keys=settings.keys, base_url="https://snoozer.example"))
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    named = re.fullmatch(r"<https://snoozer\.example(/r/[\w-]+/stop)>", mail["List-Unsubscribe"])
    assert named is not None
    return named.group(1)


def gathers_over(engine: Engine) -> int | None:
    with engine.connect() as connection:
        found: int | None = connection.execute(text("SELECT gathers_over FROM day_shapes")).scalar_one()
    return found


def forms(page: str) -> list[tuple[str, str]]:
    return [(method, unescape(action)) for method, action in re.findall(r'<form method="(\w+)" action="([^"]+)"', page)]


def is_alive(row: Any) -> bool:
    return not row.inactive and row.outcome is None and row.recurrence is not None


def test_one_click_ends_this_series_alone_and_is_undone_on_the_page(
    client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    other = a_snooze(engine, remind_at=now() + HOUR, recurrence=DAILY)
    send = sent_and_gone_on(engine)
    assert send.repeats
    path, before = the_path(send, settings), the_row(engine, other)
    promised = the_row(engine, send.snooze_id).remind_at
    for agent in ("Mozilla/5.0", "SafeLinks"):
        for _ in range(3):
            assert "Stop the repetition?" in client.get(path, headers={"User-Agent": agent}).text
            assert client.head(path).status_code == 200
    assert is_alive(the_row(engine, send.snooze_id))
    for _ in range(3):
        answer = client.post(path, data=ONE_CLICK)
        # A mail program that clicks must not be redirected.
        assert answer.status_code == 200
        assert "The repetition is stopped" in answer.text
    assert the_row(engine, send.snooze_id).outcome == "cancelled"
    assert the_events(engine, send.snooze_id).count("cancelled") == 1
    assert the_row(engine, other) == before
    page = client.get(path).text
    assert [method for method, _ in forms(page)] == ["get", "post"]
    for _ in range(2):
        assert "Stop the repetition?" in client.post(forms(page)[1][1], follow_redirects=True).text
    assert is_alive(the_row(engine, send.snooze_id))
    assert the_row(engine, send.snooze_id).remind_at == promised
    assert the_events(engine, send.snooze_id).count("undone") == 1


def test_the_first_form_of_the_page_is_harmless(client: FlaskClient, engine: Engine, settings: Settings) -> None:
    send = sent_and_gone_on(engine)
    path = the_path(send, settings)
    (method, action), (post, stop) = forms(client.get(path).text)
    assert (method, action, post, stop) == ("get", path, "post", path)
    assert "Nothing was changed." in client.get(action, query_string={"keep": "1"}).text
    assert is_alive(the_row(engine, send.snooze_id))


def test_a_series_that_was_cancelled_on_a_page_is_not_brought_back_by_the_link(
    client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    send = sent_and_gone_on(engine)
    path = the_path(send, settings)
    client.post(path)
    client.post(f"{path}/undo")
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET outcome = 'cancelled', inactive = true, finished_at = now()"))
    assert "There is nothing to stop" in client.post(f"{path}/undo", follow_redirects=True).text
    assert the_row(engine, send.snooze_id).outcome == "cancelled"


def test_one_click_while_the_reminder_is_sent_stops_what_follows(
    client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    _, send = in_flight(engine)
    assert "The repetition is stopped" in client.post(the_path(send, settings), data=ONE_CLICK).text
    assert the_row(engine, send.snooze_id).outcome == "cancelled"


def test_a_reminder_that_does_not_repeat_has_nothing_to_stop(
    client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    id = a_sent_reminder(engine)
    path = f"{a_link(engine, settings, id)}/stop"
    before = the_row(engine, id)
    assert "There is nothing to stop" in client.get(path).text
    assert "There is nothing to stop" in client.post(path, data=ONE_CLICK).text
    assert client.post(f"{path}/undo").status_code == 303
    assert the_row(engine, id) == before
    assert the_events(engine, id) == []


def test_a_link_older_than_thirty_days_stops_nothing(client: FlaskClient, engine: Engine, settings: Settings) -> None:
    send = sent_and_gone_on(engine)
    path = the_path(send, settings)
    with engine.begin() as connection:
        connection.execute(
            text("UPDATE reminder_sends SET reserved_at = :at, dot_authorised_at = :at, sent_at = :at"),
            {"at": now() - timedelta(days=31)},
        )
    assert "more than 30 days old" in client.post(path, data=ONE_CLICK).text
    assert is_alive(the_row(engine, send.snooze_id))


def test_a_token_that_was_changed_stops_nothing(client: FlaskClient, engine: Engine, settings: Settings) -> None:
    send = sent_and_gone_on(engine)
    token = links.sign(link_in(send), keys=["another key"])
    assert client.post(f"/r/{token}/stop", data=ONE_CLICK).status_code == 404
    assert client.post(f"/r/{token}/stop/undo").status_code == 404
    assert is_alive(the_row(engine, send.snooze_id))


def test_one_click_in_a_digest_sends_reminders_singly_and_is_undone_on_the_page(
    client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    deferred(engine, OVER + 1, recurrence=DAILY)
    delivery = gathered(engine)
    accept(engine, [delivery])
    assert delivery.send is not None
    path, series = the_path(delivery.send, settings), the_row(engine, delivery.send.snooze_id)
    assert f"more than {OVER} reminders" in client.get(path).text
    assert gathers_over(engine) == OVER
    for _ in range(3):
        answer = client.post(path, data=ONE_CLICK)
        assert (answer.status_code, "Reminders come singly now" in answer.text) == (200, True)
    assert gathers_over(engine) is None
    assert the_row(engine, series.id).recurrence == DAILY
    assert is_alive(the_row(engine, series.id))
    assert the_events(engine, series.id).count("sent singly") == 1
    client.post(f"{path}/undo")
    assert gathers_over(engine) == OVER
    assert "in a mail of its own?" in client.get(path).text


@pytest.mark.parametrize("is_undone", [False, True])
def test_one_click_in_a_digest_hides_no_act_on_its_first_snooze_from_undo(
    is_undone: bool, client: FlaskClient, engine: Engine, settings: Settings
) -> None:
    """It is about all digests of the person, and is recorded with that snooze."""
    deferred(engine, OVER + 1, recurrence=DAILY)
    delivery = gathered(engine)
    accept(engine, [delivery])
    assert delivery.send is not None
    id = delivery.send.snooze_id
    by = By(the_row(engine, id).user_email, "site")
    with engine.begin() as connection:
        acts.act(connection, [id], Cancel(), by)
    path = the_path(delivery.send, settings)
    client.post(path, data=ONE_CLICK)
    if is_undone:
        client.post(f"{path}/undo")
    with engine.begin() as connection:
        (result,) = acts.undo(connection, [id], by)
    assert result.left is None
    assert is_alive(the_row(engine, id))
    assert gathers_over(engine) == (OVER if is_undone else None)
    # The page of the digest still takes back its own act.
    client.post(f"{path}/undo")
    assert gathers_over(engine) == OVER
    assert is_alive(the_row(engine, id))


@pytest.mark.parametrize("act", ["stop", "stop/undo"])
def test_only_a_post_acts(act: str, client: FlaskClient, engine: Engine, settings: Settings) -> None:
    send = sent_and_gone_on(engine)
    path = the_path(send, settings).removesuffix("stop") + act
    before = the_row(engine, send.snooze_id)
    for method in ("GET", "HEAD", "OPTIONS", "PUT", "DELETE"):
        client.open(path, method=method)
    assert the_row(engine, send.snooze_id) == before
