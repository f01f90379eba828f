"""Every route of the API × who asks × what the token may do. The routes come from the URL map: one without an entry
in SCOPES is red, so none is opened by forgetting it."""

from datetime import timedelta

import pytest
from flask import Flask
from sqlalchemy import Engine, text
from werkzeug.routing import Rule
from werkzeug.test import TestResponse

from snoozer.db.scopes import ALL_SCOPES, Scope
from snoozer.people import accounts, api_tokens
from snoozer.settings import Settings
from snoozer.web import create_app
from tests.factories import ANN, HOUR, People, a_snooze, now
from tests.web.problems import is_problem

BOB, EVE = "bob@snoozer.example", "eve@snoozer.example"
# The scope of each endpoint, written here and in the route: they are compared. None is open to everybody.
SCOPES: dict[str, Scope | None] = {
    "api.describe": None,
    "api.browse": Scope.SNOOZES_READ,
    "api.create": Scope.SNOOZES_WRITE,
    "api.show": Scope.SNOOZES_READ,
    "api.change": Scope.SNOOZES_WRITE,
    "api.cancel": Scope.SNOOZES_WRITE,
    "api.read": Scope.SNOOZES_READ,
    "api.browse_events": Scope.SNOOZES_READ,
    "api.browse_sends": Scope.SNOOZES_READ,
    "api.wake": Scope.SNOOZES_WRITE,
    "api.done": Scope.SNOOZES_WRITE,
    "api.skip": Scope.SNOOZES_WRITE,
    "api.pause": Scope.SNOOZES_WRITE,
    "api.resume": Scope.SNOOZES_WRITE,
    "api.set_end": Scope.SNOOZES_WRITE,
    "api.undo": Scope.SNOOZES_WRITE,
    "api.change_many": Scope.SNOOZES_WRITE,
    "api.undo_many": Scope.SNOOZES_WRITE,
    "api.browse_mailboxes": Scope.MAILBOXES_READ,
    "api.show_mailbox": Scope.MAILBOXES_READ,
    "api.show_settings": Scope.SETTINGS_READ,
    "api.show_presets": Scope.SETTINGS_READ,
    "api.show_day": Scope.SETTINGS_READ,
    "api.change_settings": Scope.SETTINGS_WRITE,
    "api.set_presets": Scope.SETTINGS_WRITE,
    "api.reset_presets": Scope.SETTINGS_WRITE,
    "api.set_day": Scope.SETTINGS_WRITE,
    "api.list_webhooks": Scope.WEBHOOKS_READ,
    "api.get_webhook": Scope.WEBHOOKS_READ,
    "api.list_deliveries": Scope.WEBHOOKS_READ,
    "api.create_webhook": Scope.WEBHOOKS_WRITE,
    "api.change_webhook": Scope.WEBHOOKS_WRITE,
    "api.delete_webhook": Scope.WEBHOOKS_WRITE,
    "api.rotate_secret": Scope.WEBHOOKS_WRITE,
    "api.test_webhook": Scope.WEBHOOKS_WRITE,
    "api.resend_delivery": Scope.WEBHOOKS_WRITE,
}
PLACEHOLDERS = {"<row:id>": "1", "<uuid:id>": "00000000-0000-4000-8000-000000000001"}
UNKNOWN = {"Authorization": "Bearer snz_made-up"}


@pytest.fixture
def site(engine: Engine, settings: Settings) -> Flask:
    unlimited = {"failed_tokens_per_minute": 0, "token_requests_per_minute": 0, "requests_per_minute": 0}
    return create_app(engine=engine, settings=settings.model_copy(update=unlimited))


def routes(app: Flask) -> list[tuple[Rule, str]]:
    """Every route of the API and its method; what ends a snooze comes last."""
    return [
        (rule, method)
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/api/")
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"})
    ]


def bearer(engine: Engine, *scopes: Scope, email: str = ANN, end: timedelta | None = None) -> dict[str, str]:
    with engine.begin() as connection:
        made = api_tokens.create(connection, email=email, scopes=scopes, expires_at=now() + end if end else None)
    assert made is not None
    return {"Authorization": f"Bearer {made.secret}"}


def ask(app: Flask, rule: Rule, method: str, headers: dict[str, str]) -> TestResponse:
    path = rule.rule
    for placeholder, value in PLACEHOLDERS.items():
        path = path.replace(placeholder, value)
    assert "<" not in path, f"{rule.rule}: add a value for its placeholder"
    body = {"when": "tomorrow 9am"} | ({"message_id": "<matrix@mail.example>"} if method == "POST" else {})
    return app.test_client().open(path, method=method, headers=headers, json=body if method != "GET" else None)


def anns_snoozes(engine: Engine) -> str:
    with engine.connect() as connection:
        stored = text("SELECT string_agg(s::text, ',' ORDER BY id) FROM email_snoozes s WHERE user_email = :ann")
        return str(connection.execute(stored, {"ann": ANN}).scalar_one())


def test_each_route_has_an_entry(site: Flask) -> None:
    assert [rule.endpoint for rule, _ in routes(site) if rule.endpoint not in SCOPES] == []


def test_who_has_no_valid_token_gets_401_everywhere(site: Flask, engine: Engine, people: People) -> None:
    people.ann()
    a_snooze(engine, remind_at=now() + HOUR)
    before = anns_snoozes(engine)
    revoked, eve = people.ann(BOB), people.ann(EVE)
    with engine.begin() as connection:
        api_tokens.revoke(connection, which=revoked.token)
        accounts.close(connection, email=EVE)
    refused = [
        ({}, "no_token"),
        ({"Authorization": "Basic YTpi"}, "no_token"),
        (UNKNOWN, "bad_token"),
        (revoked.bearer, "bad_token"),
        (eve.bearer, "bad_token"),
        (bearer(engine, *ALL_SCOPES, end=-timedelta(seconds=1)), "token_expired"),
    ]
    for rule, method in routes(site):
        for headers, code in refused:
            answer = ask(site, rule, method, headers)
            if SCOPES[rule.endpoint] is None:
                assert answer.status_code == 200, rule.rule
            else:
                is_problem(answer, 401, code)
                assert answer.headers["WWW-Authenticate"].startswith('Bearer realm="snoozer"'), rule.rule
    assert anns_snoozes(engine) == before


def test_a_token_does_what_its_one_scope_says_and_nothing_else(site: Flask, engine: Engine, people: People) -> None:
    people.ann()
    a_snooze(engine, remind_at=now() + HOUR)
    tokens = {scope: bearer(engine, scope) for scope in ALL_SCOPES}
    for rule, method in routes(site):
        wanted = SCOPES[rule.endpoint]
        before = anns_snoozes(engine)
        for scope in (scope for scope in ALL_SCOPES if wanted is not None and scope != wanted):
            answer = ask(site, rule, method, tokens[scope])
            assert is_problem(answer, 403, "insufficient_scope")["scope"] == wanted, rule.rule
            assert f'scope="{wanted}"' in answer.headers["WWW-Authenticate"], rule.rule
        assert anns_snoozes(engine) == before, rule.rule
        allowed = ask(site, rule, method, {} if wanted is None else tokens[wanted])
        assert allowed.status_code not in {401, 403}, rule.rule
        assert allowed.status_code < 500, rule.rule
