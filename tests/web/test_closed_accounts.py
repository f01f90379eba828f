"""A closed account: the links in its mails snooze nothing more and say why; what was accepted still comes back."""

from collections.abc import Callable
from threading import Thread

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.people import accounts
from snoozer.settings import Settings
from tests.factories import ANN, People, the_events, wait_until_a_session_waits
from tests.web.reminders import a_link, a_sent_reminder

WHY = "The account of this reminder is closed"


def live(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM email_snoozes WHERE NOT inactive")).scalar_one())


@pytest.fixture
def close(engine: Engine, people: People) -> Callable[[], None]:
    people.ann()

    def close() -> None:
        with engine.begin() as connection:
            accounts.close(connection, email=ANN)

    return close


def instant(client: FlaskClient, path: str) -> dict[str, str]:
    """What the button of the proposed time posts."""
    page = client.get(f"{path}/tomorrow").text
    return {"preset": page.split('name="preset" value="')[1].split('"')[0].replace("&#43;", "+")}


@pytest.mark.parametrize("email", [ANN, ANN.upper()], ids=["as in the account", "in capitals"])
def test_no_link_of_a_closed_account_snoozes(
    client: FlaskClient, engine: Engine, settings: Settings, close: Callable[[], None], email: str
) -> None:
    id = a_sent_reminder(engine, user_email=email)
    path = a_link(engine, settings, id)
    posted = instant(client, path)
    close()
    for data in (posted, {"phrase": "in 3 days"}, {"phrase": "in 3 days", "act": "snooze"}, {}):
        answer = client.post(f"{path}/again", data=data)
        assert answer.status_code == 403
        assert WHY in answer.text
    assert live(engine) == 0
    assert the_events(engine, id) == []


def test_the_page_of_a_closed_account_says_why_and_offers_no_time(
    client: FlaskClient, engine: Engine, settings: Settings, close: Callable[[], None]
) -> None:
    path = a_link(engine, settings, a_sent_reminder(engine))
    assert WHY not in client.get(path).text
    close()
    for act in ("", "/done", "/tomorrow", "/again"):
        page = client.get(path + act)
        assert page.status_code == 200
        assert WHY in page.text
        assert f'<form method="post" action="{path}/again"' not in page.text
    with engine.begin() as connection:
        accounts.reopen(connection, email=ANN)
    assert client.post(f"{path}/again", data=instant(client, path)).status_code == 303
    assert live(engine) == 1


def test_done_and_undo_still_act(
    client: FlaskClient, engine: Engine, settings: Settings, close: Callable[[], None]
) -> None:
    first, second = a_sent_reminder(engine), a_sent_reminder(engine)
    path = a_link(engine, settings, second)
    client.post(f"{path}/again", data=instant(client, path))
    close()
    for act in ("done", "undo"):
        assert client.post(f"{a_link(engine, settings, first)}/{act}").status_code == 303
    assert client.post(f"{path}/undo").status_code == 303
    assert (the_events(engine, first), the_events(engine, second)) == (["done", "undone"], ["again", "undone"])
    assert live(engine) == 0


def test_an_account_that_is_closed_at_this_moment_is_closed_before_or_after_the_snooze(
    client: FlaskClient, engine: Engine, settings: Settings, close: Callable[[], None]
) -> None:
    id = a_sent_reminder(engine)
    path = a_link(engine, settings, id)
    data = instant(client, path)
    answers: list[int] = []
    with engine.begin() as connection:
        accounts.close(connection, email=ANN)
        pressing = Thread(target=lambda: answers.append(client.post(f"{path}/again", data=data).status_code))
        pressing.start()
        wait_until_a_session_waits(engine, who=pressing)
    pressing.join()
    assert answers == [403]
    assert live(engine) == 0


def test_an_address_without_an_account_keeps_its_links(client: FlaskClient, engine: Engine, settings: Settings) -> None:
    path = a_link(engine, settings, a_sent_reminder(engine, user_email="raw@insert.example"))
    assert client.post(f"{path}/again", data=instant(client, path)).status_code == 303
    assert live(engine) == 1
