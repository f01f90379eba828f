"""Triage: finding cases, and views that are sent to a colleague, without an address of a person in any URL or log."""

import html
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import md5
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Connection, Engine, text

from snoozer.db import case_views
from snoozer.db.queries import cases as case_queries
from snoozer.db.queries import error_groups
from snoozer.db.queries.case_filter import Filter
from snoozer.web.operators import cases as case_pages
from tests.factories import HOUR, People, a_snooze, now
from tests.web.cases import an_uncertain_case, page, visible_text

WHO = "Secret.Person@private.example"
HOSTILE = "<script>alert(1)</script>\u202egnp.exe\u2066\u0007 </bdi>' \"><svg onload=x> " + "long" * 2500


def found(client: FlaskClient, **form: str) -> str:
    """Where the form leads."""
    answer = client.post("/admin/cases/find", data=form)
    assert answer.status_code == 303, visible_text(answer.text)
    location: str = answer.headers["Location"]
    assert "secret" not in location.lower()
    assert "@" not in location
    return location


def listed(client: FlaskClient, path: str) -> set[int]:
    return {int(id) for id in re.findall(r'type="checkbox" name="id" value="(\d+)"', page(client, path))}


def fingerprint(client: FlaskClient, id: int) -> str:
    shown = page(client, f"/admin/cases?message={id}")
    [found, *_] = re.findall(r"Fingerprint <code>([0-9a-f]{32})", shown)
    return str(found)


@pytest.fixture
def cases(a_case: Callable[..., int]) -> dict[str, int]:
    return {
        "one": a_case(user_email=WHO, message_id="<secret-1@private.example>"),
        "two": a_case(user_email=WHO, last_error="rcpt: 451 4.7.1 later", finished_at=now() - 30 * HOUR),
        "other": a_case(message_id="<secret-1@private.example>"),
    }


def test_a_snooze_is_found_by_its_number(operator: FlaskClient, cases: dict[str, int], engine: Engine) -> None:
    asleep = a_snooze(engine, remind_at=now() + HOUR)
    for typed in (str(asleep), f"#{asleep}", f"  {asleep} "):
        assert found(operator, q=typed) == f"/admin/cases/{asleep}"


def test_a_snooze_is_found_by_the_message_id_of_its_reminder(operator: FlaskClient, engine: Engine) -> None:
    id = an_uncertain_case(engine)
    with engine.connect() as connection:
        message_id = connection.execute(text("SELECT reminder_message_id FROM reminder_sends")).scalar_one()
    for typed in (message_id, message_id.strip("<>")):
        assert found(operator, q=typed) == f"/admin/cases/{id}"


def test_cases_are_found_by_their_message_by_its_hash_and_by_their_error(
    operator: FlaskClient, cases: dict[str, int]
) -> None:
    alike = {cases["one"], cases["other"]}
    digits = md5(b"<secret-1@private.example>", usedforsecurity=False).hexdigest()
    for typed in ("<secret-1@private.example>", "secret-1@private.example", digits, digits.upper()):
        assert listed(operator, found(operator, q=typed)) == alike
    assert digits in page(operator, f"/admin/cases/{cases['one']}")
    assert listed(operator, found(operator, q=fingerprint(operator, cases["other"]))) == alike


def test_cases_are_found_by_an_address_in_full_and_by_its_domain(operator: FlaskClient, cases: dict[str, int]) -> None:
    theirs = {cases["one"], cases["two"]}
    assert listed(operator, found(operator, q=WHO)) == theirs
    assert listed(operator, found(operator, whom=WHO)) == theirs
    assert listed(operator, found(operator, whom=str(cases["two"]))) == theirs
    assert listed(operator, f"/admin/cases?person={cases['two']}") == theirs
    where = operator.post("/admin/cases/find", data={"q": "Private.Example"}).headers["Location"]
    assert listed(operator, where) == theirs
    shown = page(operator, found(operator, q=WHO))
    assert "person S…@p…" in visible_text(shown)
    assert "private" not in shown
    assert "Secret" not in shown


@pytest.mark.parametrize("typed", ["Secret.Person", "no.one@private.example", "9" * 19, "0", "x" * 3000, "\x00", "%"])
def test_what_is_not_found_stays_in_the_field(operator: FlaskClient, typed: str) -> None:
    answer = operator.post("/admin/cases/find", data={"q": typed})
    assert answer.status_code == 404
    assert "Nothing was found by that." in visible_text(answer.text)


def test_the_form_leads_to_an_address_with_the_whole_filter(operator: FlaskClient, cases: dict[str, int]) -> None:
    reason = fingerprint(operator, cases["one"])
    where = found(
        operator,
        reason=reason,
        domain="@Private.Example",
        whom=WHO,
        within="24h",
        latest="2099-01-02T10:00",
        **{"class": "5xx"},
    )
    fields = parse_qs(urlsplit(where).query)
    assert set(fields) == {"reason", "domain", "person", "since", "until", "class"}
    # Olga's zone is Europe/Berlin.
    assert fields["until"] == ["2099-01-02T09:00:00Z"]
    assert fields["since"] == ["1d"]
    assert listed(operator, where) == {cases["one"]}
    shown = page(operator, where)
    assert 'value="2099-01-02T10:00"' in shown
    assert re.search(r'<option value="1d" selected>', shown)
    without = html.unescape(re.search(r'href="([^"]+)" aria-label="Without this class"', shown).group(1))  # type: ignore[union-attr]
    assert "class=" not in without
    assert "reason=" in without


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ({"whom": "someone@nowhere.example"}, "No snooze is of a person with that address."),
        ({"whom": "Secret.Person"}, "No snooze is of a person with that address."),
        ({"whom": "99999"}, "There is no snooze with that number."),
        ({"domain": "a b"}, "A domain is what stands behind the @"),
        ({"earliest": "yesterday"}, "A time is a day and an hour"),
        ({"latest": "9999-12-31T23:59"}, "A time is an instant"),
        ({"within": "soon"}, "A time is an instant"),
        ({"class": "6xx"}, "A class of errors is one of"),
    ],
)
def test_the_form_explains_what_it_cannot_mean_and_keeps_what_was_typed(
    operator: FlaskClient, cases: dict[str, int], form: dict[str, str], sentence: str
) -> None:
    answer = operator.post("/admin/cases/find", data=form)
    assert answer.status_code == 422
    assert sentence in visible_text(answer.text)
    [(name, value)] = form.items()
    if name not in {"class", "within"}:
        assert f'name="{name}"' in answer.text
        assert f'value="{value}"' in answer.text


def test_an_address_that_means_nothing_is_refused(operator: FlaskClient) -> None:
    for query in ("reason=x", "person=ann@snoozer.example", "since=yesterday", "class=7xx", "domain=a@b"):
        assert operator.get(f"/admin/cases?{query}").status_code == 400, query
    assert operator.get("/admin/cases?after=zz").status_code == 404


def test_what_was_typed_is_in_no_log(
    operator: FlaskClient, cases: dict[str, int], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    for form in ({"q": WHO}, {"whom": WHO}, {"q": "<secret-1@private.example>"}, {"q": "no.one@private.example"}):
        where = operator.post("/admin/cases/find", data=form).headers.get("Location")
        if where:
            operator.get(where)
    assert "private" not in caplog.text
    assert "Secret" not in caplog.text


def test_pages_lead_in_both_directions_with_the_filter(operator: FlaskClient, a_case: Callable[..., int]) -> None:
    ids = {a_case(finished_at=now() - timedelta(minutes=minute)) for minute in range(120)}
    a_case(user_email="someone@else.example")
    onward: str | None = "/admin/cases?domain=snoozer.example"
    seen: list[int] = []
    pages: list[tuple[str, set[int]]] = []
    while onward:
        shown = page(operator, onward)
        rows = listed(operator, onward)
        seen += rows
        pages.append((shown, rows))
        link = re.search(r'href="([^"]+)" rel="next"', shown)
        onward = html.unescape(link.group(1)) if link else None
    assert (len(seen), set(seen)) == (120, ids)
    back = re.search(r'href="([^"]+)" rel="prev"', pages[2][0])
    assert back
    assert listed(operator, html.unescape(back.group(1))) == pages[1][1]
    assert 'rel="prev"' not in pages[0][0]


def test_a_view_is_kept_by_its_name_and_only_its_operator_sees_it(
    app: Flask, operator: FlaskClient, people: People, cases: dict[str, int]
) -> None:
    fields = {"class": "4xx", "since": "7d"}
    answer = operator.post("/admin/cases/views", data={"name": " Greylisted \u202e today ", **fields})
    shown = page(operator, answer.headers["Location"])
    assert "Saved as Greylisted today." in visible_text(shown)
    assert re.search(r'href="/admin/cases\?since=7d&amp;class=4xx" aria-current="page"><bdi>Greylisted today', shown)
    assert listed(operator, "/admin/cases?since=7d&class=4xx") == {cases["two"]}
    id = re.search(r"/admin/cases/views/(\d+)/delete", shown)
    assert id
    vera = app.test_client()
    vera.set_cookie("snoozer_session", people.ann("vera@snoozer.example", role="viewer").session)
    assert "Greylisted" not in page(vera)
    refused = vera.post(f"/admin/cases/views/{id.group(1)}/delete")
    assert "You have no such view any more." in visible_text(page(vera, refused.headers["Location"]))
    operator.post("/admin/cases/views", data={"name": "Greylisted today", "class": "5xx"})
    again = page(operator)
    assert again.count("<bdi>Greylisted today") == 1
    assert 'href="/admin/cases?class=5xx"' in again
    gone = operator.post(f"/admin/cases/views/{id.group(1)}/delete")
    assert "Deleted the view Greylisted today." in visible_text(page(operator, gone.headers["Location"]))
    assert "<bdi>Greylisted" not in page(operator)


def test_a_view_holds_no_address_and_there_are_not_too_many(
    operator: FlaskClient, engine: Engine, cases: dict[str, int]
) -> None:
    operator.post("/admin/cases/views", data={"name": f"of {WHO}", "person": str(cases["one"])})
    with engine.connect() as connection:
        view = connection.execute(text("SELECT name, filter FROM case_views")).one()
    assert tuple(view) == ("of …@…", {"person": str(cases["one"])})
    with engine.begin() as connection:
        for number in range(case_views.MAX_VIEWS):
            case_views.save(connection, account_id=1, name=f"view {number}", filter=Filter(error_class="5xx"))
    refused = operator.post("/admin/cases/views", data={"name": "one more", "class": "5xx"})
    assert "Not saved: you have 50 views already." in visible_text(page(operator, refused.headers["Location"]))
    assert "needs a name" in visible_text(
        page(operator, operator.post("/admin/cases/views", data={"name": "\u200b"}).headers["Location"])
    )


def test_a_figure_that_is_not_read_in_time_is_missing_and_the_rest_comes(
    operator: FlaskClient, cases: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(connection: Connection, *_: object, **__: object) -> None:
        connection.execute(text("SELECT pg_sleep(30)"))

    monkeypatch.setattr(case_pages, "QUERY_SECONDS", 0.05)
    monkeypatch.setattr(error_groups, "groups", slow)
    monkeypatch.setattr(case_queries, "count", slow)
    shown = visible_text(page(operator))
    assert "The errors were not read in time." in shown
    assert "not counted in time" in shown
    assert f"Case {cases['one']}" in shown
    monkeypatch.setattr(case_queries, "page", slow)
    assert "The cases were not read in time" in visible_text(page(operator))


def test_a_sparkline_says_in_words_what_it_shows(operator: FlaskClient, a_case: Callable[..., int]) -> None:
    for minutes in (5, 6, 200):
        a_case(finished_at=datetime.now(UTC) - timedelta(minutes=minutes))
    shown = page(operator)
    assert 'aria-label="Within 24 hours 3, at most 2 in an hour, 2 in the last one"' in shown
    svg = re.search(r'<svg class="spark".*?</svg>', shown, re.S)
    assert svg
    assert svg.group(0).count("h3V19z") == 2
    assert "style" not in svg.group(0)


def test_hostile_texts_are_text_on_every_page_and_a_long_one_is_cut(
    operator: FlaskClient, engine: Engine, a_case: Callable[..., int]
) -> None:
    id = a_case(
        user_email=f"\u202e{HOSTILE[:60]}@{HOSTILE[:60]}",
        sender_email=HOSTILE,
        subject=HOSTILE,
        last_error=f"rcpt: 550 {HOSTILE}",
        last_error_at=now(),
        message_id=HOSTILE[:900],
    )
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO snooze_events (snooze_id, kind, actor, route, detail)"
                " VALUES (:id, :x, :x, :x, jsonb_build_object(CAST(:x AS text), CAST(:x AS text)))"
            ),
            {"id": id, "x": HOSTILE},
        )
    operator.post("/admin/cases/views", data={"name": HOSTILE, "class": "5xx"})
    found_pages = [
        page(operator),
        page(operator, f"/admin/cases?person={id}"),
        page(operator, f"/admin/cases?reason={fingerprint(operator, id)}"),
        page(operator, f"/admin/cases/{id}"),
        operator.post("/admin/cases/find", data={"q": HOSTILE}).text,
        operator.post("/admin/cases/find", data={"domain": HOSTILE, "whom": HOSTILE}).text,
    ]
    for shown in found_pages:
        outside = shown.replace(html.escape(HOSTILE[:1000], quote=True), "")
        assert "<script>alert" not in outside
        assert "<svg onload" not in outside
        assert "</bdi>&#39;" not in re.sub(r"<bdi>.*?</bdi>", "", outside)
    for shown in found_pages[:4]:
        assert re.findall(".{60}[\u202e\u2066\u0007].{9}", shown) == []
        assert "long" * 1000 not in shown


def test_a_case_shows_what_happened_in_one_order(operator: FlaskClient, engine: Engine) -> None:
    id = an_uncertain_case(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE email_snoozes SET finished_at = now() + INTERVAL '10 minutes'"))
        for hours, kind, detail in (
            (1, "dismissed", '{"reason": "a@b.example"}'),
            (-1, "edited", '{"note": "SECRET"}'),
        ):
            connection.execute(
                text(
                    "INSERT INTO snooze_events (snooze_id, at, kind, actor, route, detail)"
                    " VALUES (:id, now() + :hours * INTERVAL '1 hour', :kind, 'operator:1', 'admin', :detail)"
                ),
                {"id": id, "hours": hours, "kind": kind, "detail": detail},
            )
    shown = visible_text(page(operator, f"/admin/cases/{id}"))
    story = shown[shown.index("What happened") :]
    steps = ["dismissed", "became a case", "uncertain", "end authorised", "prepared", "snoozed", "edited"]
    assert sorted(steps, key=lambda step: story.index(f" {step} ")) == steps
    assert "dismissed by operator 1, through admin reason: …@…" in story
    assert "SECRET" not in story


def test_a_case_leads_to_those_beside_it_in_the_list_one_came_from(
    operator: FlaskClient, a_case: Callable[..., int]
) -> None:
    first, other, third = (
        a_case(last_error=error, finished_at=now() - n * HOUR)
        for n, error in ((1, "550 no"), (2, "451 later"), (3, "550 no"))
    )
    for query, expected in (("", other), ("?class=5xx", third)):
        shown = page(operator, f"/admin/cases/{first}{query}")
        assert f'rel="next" href="/admin/cases/{expected}{query}"' in shown
        assert 'rel="prev"' not in shown
    assert f'rel="prev" href="/admin/cases/{first}?class=5xx"' in page(operator, f"/admin/cases/{third}?class=5xx")
    assert 'class="back" href="/admin/cases?class=5xx"' in page(operator, f"/admin/cases/{third}?class=5xx")
    assert f'href="/admin/cases/{first}?class=5xx"' in page(operator, "/admin/cases?class=5xx")
    assert operator.get(f"/admin/cases/{first}?class=7xx").status_code == 400


def test_a_row_that_is_not_finished_has_none_beside_it(operator: FlaskClient, engine: Engine) -> None:
    shown = page(operator, f"/admin/cases/{a_snooze(engine)}")
    assert "data-beside" not in shown
