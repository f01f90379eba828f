"""A stop by an operator comes first, for every operator, and no page blames the mail server for it."""

import re
from collections.abc import Callable

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.cli.database_findings import database_findings
from snoozer.settings import Settings
from tests.factories import HOUR, a_snooze, now
from tests.web.cases import page, visible_text
from tests.web.overviews import SECOND, a_breaker, all_is_well, troubles_of, verdict, waits

WHY = "The relay is moved"
ADMIN_PAGES = ("/admin/cases", "/admin/operations", "/admin/pauses", "/admin/mailboxes", "/admin/audit")
BLAMES = ("has not been taking mail", "refused every reminder", "No worker has taken", "not going out")

Stop = Callable[[FlaskClient, Engine], None]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Pages read the state of delivery each time."""
    return settings.model_copy(update={"poll": 0.0})


def mail_server(operator: FlaskClient, engine: Engine) -> None:
    answer = operator.post("/admin/breakers/trip", data={"server": "mail.example:25", "reason": WHY})
    assert answer.status_code == 303


def pause(**form: str) -> Stop:
    def begin(operator: FlaskClient, engine: Engine) -> None:
        assert operator.post("/admin/pauses", data={"why": WHY, **form}).status_code == 303

    return begin


STOPS: dict[str, Stop] = {
    "mail server": mail_server,
    "everything": pause(kind="all"),
    "reminders by mail": pause(kind="channel", channel="mail"),
    "people at snoozer.example": pause(kind="domain", domain="snoozer.example"),
    "priority 0": pause(kind="class", priority="0"),
}


@pytest.mark.parametrize("what", STOPS)
def test_the_stop_of_an_operator_comes_first_with_its_reason_and_is_resumed_there(
    operator: FlaskClient, viewer: FlaskClient, engine: Engine, what: str
) -> None:
    all_is_well(engine)
    a_breaker(engine)
    waits(engine)
    for path in ADMIN_PAGES:
        assert "Stopped by operators" not in operator.get(path).text
    STOPS[what](operator, engine)
    _, first, _ = verdict(operator)
    assert re.search(r"operator \d+ (stopped|paused)", first.lower()), first
    assert re.search(r"at \d\d:\d\d", first), first
    assert WHY in first
    for path in ADMIN_PAGES:
        shown, seen = page(operator, path), page(viewer, path)
        assert WHY in visible_text(shown)
        assert '<summary class="button">Resume…</summary>' in shown
        assert WHY in visible_text(seen)
        assert "Resume…" not in seen
        assert not any(blame in visible_text(shown) for blame in BLAMES)
    markup = page(operator, "/admin")
    form = re.search(
        r'<form method="post" action="(/admin/(?:breakers/reset|pauses/\d+/resume))">(.*?)</form>', markup, re.S
    )
    assert form is not None
    fields = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form[2]))
    [reason] = re.findall(r'name="(reason|why)"', form[2])
    assert operator.post(form[1], data={**fields, reason: "Done"}).status_code == 303
    assert not {"paused", "mail server tripped"} & set(troubles_of(operator))
    assert "Stopped by operators" not in operator.get("/admin/cases").text


@pytest.mark.parametrize("what", ["mail server", "everything", "reminders by mail"])
def test_it_says_how_many_reminders_of_how_many_people_wait_and_since_when(
    operator: FlaskClient, engine: Engine, what: str
) -> None:
    """No claim is made, so none is set aside."""
    all_is_well(engine)
    a_breaker(engine)
    waits(engine)
    STOPS[what](operator, engine)
    _, first, _ = verdict(operator)
    assert re.search(r"; 3 reminders of 1 person wait, the oldest since \d\d:\d\d; nothing is lost\.$", first), first
    assert 'class="verdict bad"' in page(operator, "/admin")


def test_a_pause_of_notifications_keeps_no_reminder_waiting(operator: FlaskClient, engine: Engine) -> None:
    all_is_well(engine)
    pause(kind="channel", channel="push")(operator, engine)
    assert "wait" not in verdict(operator)[1]


@pytest.mark.parametrize("what", [what for what in STOPS if what != "priority 0"])
def test_persons_pages_do_not_blame_the_mail_server_for_it(
    operator: FlaskClient, ann: FlaskClient, engine: Engine, what: str
) -> None:
    all_is_well(engine)
    a_breaker(engine)
    id = a_snooze(engine, remind_at=now() - HOUR, created_at=now() - 2 * HOUR)
    STOPS[what](operator, engine)
    for path in ("/", "/mailbox", "/settings", f"/snoozes/{id}"):
        shown = visible_text(page(ann, path))
        assert "An operator of this Snoozer paused them" in shown, path
        assert not any(blame in shown for blame in BLAMES), path
        assert WHY not in shown


@pytest.mark.parametrize("what", STOPS)
def test_the_doctor_names_the_operator_too(
    operator: FlaskClient, engine: Engine, settings: Settings, what: str
) -> None:
    all_is_well(engine)
    a_breaker(engine)
    STOPS[what](operator, engine)
    with engine.connect() as connection:
        found = [one for one in database_findings(connection, settings) if one.check in {"breaker", "pauses"}]
    assert [one.verdict for one in found] == ["wrong"]
    assert re.match(r"Operator( \d+)? (stopped|paused)", found[0].says)
    assert "takes no mail" not in found[0].says


def test_a_stopped_server_that_another_replaced_stops_no_reminders(
    operator: FlaskClient, ann: FlaskClient, engine: Engine
) -> None:
    all_is_well(engine)
    a_breaker(engine)
    mail_server(operator, engine)
    a_breaker(engine, server="new.example:25", last_success_at=now() + SECOND)
    assert 'class="banner"' not in page(ann, "/")


@pytest.mark.parametrize("was_away", [False, True])
def test_a_reset_says_that_the_mail_server_was_away_only_if_it_was(
    operator: FlaskClient, engine: Engine, was_away: bool
) -> None:
    """The ledger gives the reason for late reminders by it."""
    all_is_well(engine)
    a_breaker(engine, **({"state": "open", "failures": 5, "away_since": now() - HOUR} if was_away else {}))
    mail_server(operator, engine)
    operator.post("/admin/breakers/reset", data={"server": "mail.example:25", "reason": "Done"})
    with engine.connect() as connection:
        closed = connection.execute(text("SELECT closed_at IS NOT NULL FROM circuit_breakers")).scalar_one()
    assert closed is was_away
