"""Who gets what at which route, and where redirects lead. Both matrices are made from the URL map: a new route is in
them, and one of a new blueprint fails until it is known who may use it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine, text
from werkzeug.routing import Rule
from werkzeug.test import TestResponse
from werkzeug.wrappers import Response

from snoozer.db import mailbox_store
from snoozer.db.models import metadata
from snoozer.people import accounts
from snoozer.settings import Settings
from tests.factories import ANN, HOUR, People, Person, a_kept_message, a_mailbox, a_snooze, an_original, now
from tests.push_service import Subscription, subscribe
from tests.web.reminders import a_link, a_sent_reminder
from tests.webhook_receiver import an_endpoint

BOB = "bob@snoozer.example"
# Who may use the routes of a blueprint. "link": the holder of a signed link from a mail.
ACCESS = {
    None: "everybody",  # static files
    "health": "everybody",
    "setup": "link",
    "sign_in": "everybody",
    "organisation_sign_in": "everybody",
    "reminder_links": "link",
    "snoozes": "person",
    "occurrences": "person",
    "mailbox": "person",
    "settings": "person",
    "personal_data": "person",
    "day_shape": "person",
    "deletion": "person",
    "mailboxes": "person",
    "bulk": "person",
    "search_suggestions": "person",
    "mailbox_sign_in": "person",
    "devices": "person",
    "own_addresses": "person",
    "feeds": "person",
    "programs": "person",
    "api_description": "everybody",
    "webhooks": "person",
    "push": "link",
    "pwa": "everybody",
    "share": "everybody",
    "live": "person",
    "dev_mail": "person",
    "admin": "operator",
    "admin_breakers": "operator",
    "admin_cases": "operator",
    "admin_case_views": "operator",
    "admin_operations": "operator",
    "admin_pauses": "operator",
    "admin_mailboxes": "operator",
    "admin_runbook": "operator",
    "admin_audit": "operator",
    "admin_confirmation": "operator",
    "admin_accounts": "admin",
    "api": "token",
}
EXCEPTIONS = {
    "settings.choose_theme": "everybody",  # A cookie of this browser.
    "settings.choose_keys": "everybody",
    "settings.choose_language": "everybody",
    "api.describe": "everybody",
    "feeds.calendar": "link",
    "feeds.returned": "link",
    "push.open_message": "person",
    "deletion.sign_out_first": "everybody",  # Its answer is the sign-in page.
}
# Enough of each form that no route refuses it for its fields alone.
FORM = {
    "phrase": "tomorrow 9am",
    "subject": "Lease",
    "note": "ask",
    "email": ANN,
    "code": "12345678",
    "theme": "dark",
    "keys": "on",
    "zone": "Europe/Berlin",
    "locale": "en_GB",
    "act": "dismiss",
    "kind": "channel",
    "channel": "push",
    "id": "3",
    "why": "because",
    "until": "2099-01-01T00:00:00+00:00",
    "at": "2099-01-01T08:00:00+00:00",
    "remind_at": "2099-01-01T08:00:00+00:00",
    "brings_back": "both",
    "promise": "2099-01-01T08:00:00+00:00",
    "event": "1",
    "end": "10 times",
    "flag": "off",
    "working_day": "1",
    "work_from": "09:00",
    "work_until": "17:00",
    "row": "1",
    "as_of": "2026-01-01T08:00:00+00:00",
    "page_id": "00000000-0000-4000-8000-000000000002",
}
JSON = {
    "POST": {"message_id": "<matrix@mail.example>", "when": "tomorrow 9am"},
    "PATCH": {"when": "tomorrow 9am"},
    "PUT": {"presets": [{"phrase": "tomorrow 9am"}]},
}


@dataclass(frozen=True)
class Who:
    """An identity: the cookies and headers of its requests, and what of the site it may use."""

    may: frozenset[str]
    session: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    owns: bool = False
    closed: bool = False


@dataclass(frozen=True)
class Place:
    """Ann's things: a live snooze, a kept message, a case and a captured mail, each found as number 1 (the case as 3),
    and the token of a link in her mail."""

    engine: Engine
    people: People
    token: str

    def path(self, rule: Rule) -> str:
        path = rule.rule
        values = {
            **{"<row:id>": "1", "<row:key>": "1", "<act>": "tomorrow", "<path:filename>": "snoozer.css"},
            **{"<row:mailbox_id>": "1", "<key>": "SU5CT1g.1.1", "<part>": "i0", "<secret>": "no-such-secret"},
            "<uuid:id>": "00000000-0000-4000-8000-000000000001",
        }
        token = self.token if rule.endpoint.startswith("reminder_links.") else "no-such-token"
        for placeholder, value in {**values, "<token>": token}.items():
            path = path.replace(placeholder, value)
        assert "<" not in path, f"{rule.rule}: add a value for its placeholder"
        return path


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Without the limit of refused tokens: each route with one counts."""
    return settings.model_copy(update={"failed_tokens_per_minute": 0})


@pytest.fixture
def place(engine: Engine, people: People, settings: Settings) -> Place:
    people.ann()
    an_endpoint(engine, account_id=1, url="https://hooks.example/1", keys=settings.keys)
    a_snooze(engine, remind_at=now() + HOUR, subject="secret of Ann")
    a_kept_message(engine, subject="secret of Ann")
    a_mailbox(engine, address="secret of Ann")
    subscribe(engine, Subscription("https://push.example/1"), account_id=1, keys=settings.keys)
    token = a_link(engine, settings, a_sent_reminder(engine)).removeprefix("/r/")
    a_snooze(engine, inactive=True, outcome="retired", finished_at=now(), last_error="550 secret of the case")
    with engine.begin() as connection:
        mailbox_store.save_captured(
            connection, mail_from="x@y", rcpt_to=ANN, original=an_original(subject="secret of Ann")
        )
    return Place(engine=engine, people=people, token=token)


def everybody(*more: str) -> frozenset[str]:
    return frozenset({"everybody", "link", *more})


def closed(place: Place) -> Person:
    ann = place.people.ann()
    with place.engine.begin() as connection:
        assert accounts.close(connection, email=ANN)
    return ann


def signed_out(place: Place) -> Who:
    return Who(may=everybody())


def person(place: Place) -> Who:
    return Who(may=everybody("person"), session=place.people.ann().session, owns=True)


def other_person(place: Place) -> Who:
    return Who(may=everybody("person"), session=place.people.ann(BOB).session)


def closed_account(place: Place) -> Who:
    ann = closed(place)
    return Who(may=everybody(), session=ann.session, headers=ann.bearer, closed=True)


def operator(place: Place) -> Who:
    return Who(may=everybody("person", "operator"), session=place.people.operator().session)


def mail_link(place: Place) -> Who:
    """With the token of the link everywhere that a session or an API token may stand."""
    return Who(may=everybody(), session=place.token, headers={"Authorization": f"Bearer {place.token}"})


def api_token(place: Place) -> Who:
    return Who(may=everybody("token"), headers=place.people.ann().bearer, owns=True)


def other_token(place: Place) -> Who:
    return Who(may=everybody("token"), headers=place.people.ann(BOB).bearer)


IDENTITIES: list[Callable[[Place], Who]] = [
    signed_out,
    person,
    other_person,
    closed_account,
    operator,
    mail_link,
    api_token,
    other_token,
]


def routes(app: Flask) -> Iterator[tuple[Rule, str]]:
    """Every route and method; what ends a session comes last."""
    rules = sorted(app.url_map.iter_rules(), key=lambda rule: ("sign_out" in rule.endpoint, rule.endpoint, rule.rule))
    for rule in rules:
        for method in sorted(
            (rule.methods or set()) - {"HEAD", "OPTIONS"}, key=["GET", "POST", "PUT", "PATCH", "DELETE"].index
        ):
            yield rule, method


def access(rule: Rule) -> str:
    blueprint, _, _ = rule.endpoint.rpartition(".")
    return EXCEPTIONS.get(rule.endpoint) or ACCESS[blueprint or None]


def api_body(path: str, method: str) -> object:
    """What is created, or a change; an act takes an object without fields."""
    return {} if method == "POST" and not path.endswith("/snoozes") else JSON.get(method)


def request(browser: FlaskClient, path: str, method: str, headers: dict[str, str]) -> TestResponse:
    if path.startswith("/api/"):
        return browser.open(path, method=method, headers=headers, json=api_body(path, method))
    return browser.open(path, method=method, headers=headers, data=FORM if method == "POST" else None)


def anns_rows(engine: Engine) -> str:
    """A digest of what belongs to Ann, or to a mail of hers, and her sessions without the times of her visits."""
    names = [table.name for table in metadata.sorted_tables if table.name not in {"sessions", "sign_ins"}]
    content = "SELECT coalesce(md5(string_agg(t::text, ',' ORDER BY t::text)), '') FROM {} t WHERE t::text ~ :ann"
    of_ann = "SELECT s.id::text FROM sessions s JOIN accounts a ON a.id = s.account_id WHERE a.email = :ann"
    everything = " UNION ALL ".join([*(content.format(name) for name in names), of_ann])
    with engine.connect() as connection:
        digests = connection.execute(text(everything), {"ann": ANN}).scalars().all()
    return " ".join([*digests[: len(names)], *sorted(digests[len(names) :])])


def check(answer: Response, *, wanted: str, who: Who, where: str) -> None:
    """Whether a route answered as it must to those who may use it, and as its blueprint refuses others."""
    to_sign_in = answer.status_code == 303 and answer.headers["Location"].startswith("/sign-in")
    if wanted in who.may:
        # 503: the server of the mailbox is away.
        assert answer.status_code < 500 or (answer.status_code == 503 and "/mailboxes/<row:mailbox_id>" in where), where
        # Links of a closed account may explain that they snooze nothing more.
        assert answer.status_code not in ({401} if who.closed and wanted == "link" else {401, 403}), where
        assert wanted == "everybody" or not to_sign_in, where
    elif wanted == "token":
        assert answer.status_code == 401, where
        assert "WWW-Authenticate" in answer.headers, where
    elif wanted in {"operator", "admin"} and "person" in who.may:
        assert answer.status_code == 403, where
    else:
        assert to_sign_in, where


@pytest.mark.parametrize("identity", IDENTITIES, ids=lambda identity: identity.__name__)
def test_each_route_is_open_to_those_it_is_for(identity: Callable[[Place], Who], app: Flask, place: Place) -> None:
    who = identity(place)
    before = anns_rows(place.engine)
    for rule, method in routes(app):
        where, wanted = f"{identity.__name__}: {method} {rule.rule}", access(rule)
        browser = app.test_client()
        if who.session is not None:
            browser.set_cookie("snoozer_session", who.session)
        with request(browser, place.path(rule), method, who.headers) as answer:
            check(answer, wanted=wanted, who=who, where=where)
            if (
                not who.owns
                and re.search("<row:(?:mailbox_)?id>", rule.rule)
                and wanted in {"person", "token"}
                and wanted in who.may
            ):
                # 303: back to the list, in which another person's row never was.
                assert answer.status_code == 404 or (method, answer.status_code) == ("POST", 303), where
            shown = answer.get_data(as_text=True)
            assert who.owns or wanted == "link" or "secret of Ann" not in shown, where
            assert "operator" in who.may or "secret of the case" not in shown, where
        acts = who.owns or wanted in {"link", "operator"}
        if not acts or wanted not in who.may:
            assert anns_rows(place.engine) == before, where
        else:
            before = anns_rows(place.engine)


# All at once: none of them may be believed. What `Host` says is tested with the known hosts.
FORWARDED = {
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Proto": "gopher",
    "X-Forwarded-Prefix": "//evil.example",
    "Forwarded": "host=evil.example;proto=https",
    "Referer": "http://evil.example/",
}


@pytest.mark.parametrize("signed_in", [False, True])
def test_no_forwarding_header_moves_a_redirect(signed_in: bool, app: Flask, place: Place) -> None:
    session = place.people.ann().session
    for rule, method in routes(app):
        browser = app.test_client()
        if signed_in:
            browser.set_cookie("snoozer_session", session)
        with request(browser, place.path(rule), method, FORWARDED) as answer:
            location = answer.headers.get("Location", "/")
            assert "Access-Control-Allow-Origin" not in answer.headers
            assert location.startswith("/"), (method, rule.rule)
            assert location[1:2] not in {"/", "\\"}, (method, rule.rule)
            if answer.mimetype in {"text/html", "application/json"}:
                assert "evil.example" not in answer.get_data(as_text=True), (method, rule.rule)


def test_no_route_takes_trace_or_lets_a_foreign_page_read_it(app: Flask, place: Place) -> None:
    browser = app.test_client()
    browser.set_cookie("snoozer_session", place.people.ann().session)
    for rule, _ in routes(app):
        assert browser.open(place.path(rule), method="TRACE").status_code == 405, rule.rule
        with browser.options(place.path(rule), headers={"Origin": "https://evil.example"}) as answer:
            assert not [name for name, _ in answer.headers if name.startswith("Access-Control-")], rule.rule


@pytest.mark.parametrize("target", ["//evil.example", "/\\evil.example"])
def test_no_field_that_names_a_page_leads_elsewhere(target: str, app: Flask, place: Place) -> None:
    """`next` and `here` are the fields that name a page to return to; each is sent to every form. More targets are
    tested with the function that all forms ask."""
    for rule, method in routes(app):
        if method == "POST" and not rule.rule.startswith("/api/"):
            browser = app.test_client()
            browser.set_cookie("snoozer_session", place.people.ann().session)
            answer = browser.post(place.path(rule), data={**FORM, "next": target, "here": target, "from": target})
            location = answer.headers.get("Location", "/")
            assert location.startswith("/"), rule.rule
            assert location[1:2] not in {"/", "\\"}, rule.rule
