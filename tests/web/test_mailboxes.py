"""Connected mailboxes in the settings: what was typed is kept, the password never; a person sees only their own."""

import re
from threading import BoundedSemaphore
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, text

from snoozer.mailboxes import problems, registry
from snoozer.mailboxes.imap.connection import Login, Server
from snoozer.people import accounts
from snoozer.settings import Settings
from snoozer.web import create_app
from snoozer.web.mailboxes.connected import checks
from tests.factories import ANN, HOUR, People, a_mailbox, now

PASSWORD = "wordpass-of-a-test"
FORM = {
    "address": "ann@mail.example",
    "host": "imap.no-such-domain.invalid",
    "port": "993",
    "security": "tls",
    "username": "ann@mail.example",
    "password": PASSWORD,
}
CONNECT, FIND = "/settings/mailboxes/connect", "/settings/mailboxes/find"


def rows(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM mailboxes")).scalar_one())


CHOICES = {"brings_back": "return", "flag": "keyword", "keyword": "$Later", "flag_time": "Next week"}


def chosen(engine: Engine) -> tuple[object, ...]:
    columns = "brings_back, snooze_flag, snooze_flag_time, flagged_noted_at, state, fence"
    with engine.connect() as connection:
        return tuple(connection.execute(text(f"SELECT {columns} FROM mailboxes")).one())  # noqa: S608


def test_what_is_chosen_for_a_mailbox_is_kept_and_shown(ann: FlaskClient, engine: Engine) -> None:
    """Its process loses it, so that another choice holds within moments; a pause goes on."""
    id = a_mailbox(engine, state="paused", problem="login", problem_since=now(), owner="x", owned_until=now())
    page = ann.get(f"/settings/mailboxes/{id}").text
    assert re.search(r'id="brings_back-both"[^>]* checked', page)
    assert re.search(r'id="flag-off"[^>]* checked', page)
    assert "<option selected>Tomorrow</option>" in page
    assert ann.post(f"/settings/mailboxes/{id}/choices", data=CHOICES).location == f"/settings/mailboxes/{id}"
    assert chosen(engine) == ("return", "$Later", "Next week", None, "paused", 1)
    page = ann.get(f"/settings/mailboxes/{id}").text
    assert re.search(r'id="brings_back-return"[^>]* checked', page)
    assert "Messages in the inbox that already have $Later stay as they are" in page
    with engine.begin() as connection:
        connection.execute(text("UPDATE mailboxes SET flagged_noted_at = now(), flagged_uidvalidity = 1"))
        connection.execute(text("INSERT INTO mailbox_flagged VALUES (:id, 7), (:id, 8)"), {"id": id})
    assert "2 messages in the inbox carried it before" in ann.get(f"/settings/mailboxes/{id}").text
    ann.post(f"/settings/mailboxes/{id}/choices", data=CHOICES | {"brings_back": "both"})
    assert chosen(engine)[3] is not None, "the same flag is not noted anew"
    ann.post(f"/settings/mailboxes/{id}/choices", data=CHOICES | {"flag": "star"})
    assert chosen(engine)[:4] == ("return", r"\Flagged", "Next week", None)
    ann.post(f"/settings/mailboxes/{id}/choices", data=CHOICES | {"flag": "off"})
    assert chosen(engine)[1:3] == (None, None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"brings_back": "neither"},
        {"brings_back": ""},
        {"flag": "colour"},
        {"keyword": ""},
        {"keyword": "two words"},
        {"keyword": r"\\Seen"},
        {"keyword": "x" * 61},
        {"keyword": "$forwarded"},
        {"flag_time": "Never"},
    ],
)
def test_a_choice_that_is_none_is_refused_with_a_sentence(
    ann: FlaskClient, engine: Engine, wrong: dict[str, str]
) -> None:
    id = a_mailbox(engine)
    answer = ann.post(f"/settings/mailboxes/{id}/choices", data=CHOICES | wrong)
    assert answer.status_code == 422
    assert 'class="error"' in answer.text
    assert chosen(engine)[:2] == ("both", None)


def test_a_person_without_a_mailbox_is_offered_to_connect_one(ann: FlaskClient) -> None:
    assert 'href="/settings/mailboxes"' in ann.get("/settings").text
    page = ann.get("/settings/mailboxes").text
    assert "No mailbox is connected" in page
    assert f'href="{CONNECT}"' in page
    assert 'name="address"' in ann.get(CONNECT).text


@pytest.mark.parametrize("address", ["", "ann", "ann@", "@mail.example", "ann@mail example", "<script>@x"])
def test_what_is_no_address_is_refused_and_stays_in_the_field(ann: FlaskClient, address: str) -> None:
    answer = ann.post(FIND, data={"address": address})
    assert answer.status_code == 422
    assert "That is not a mail address" in answer.text
    assert "<script>" not in answer.text.replace('<script src="', "")


def test_a_known_provider_is_named_with_what_it_wants(ann: FlaskClient) -> None:
    page = ann.post(FIND, data={"address": "Ann@gmail.com"}).text
    assert "This is a mailbox of <b>Gmail</b>" in page
    assert 'value="imap.gmail.com"' in page
    assert 'value="Ann@gmail.com"' in page
    assert "app password" in page
    assert '<details class="server">' in page, "what was found need not be looked at"


def test_a_provider_without_passwords_gets_no_password_field(ann: FlaskClient) -> None:
    page = ann.post(FIND, data={"address": "ann@hotmail.com"}).text
    assert "Microsoft accepts no passwords" in page
    assert 'type="password"' not in page


def test_an_address_without_a_server_is_filled_in_by_hand(ann: FlaskClient) -> None:
    page = ann.post(FIND, data={"address": "ann@no-such-domain.invalid"}).text
    assert "No server was found for this address" in page
    assert 'value="imap.no-such-domain.invalid"' in page
    assert "<details" not in page


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, "There is no server of the name imap.no-such-domain.invalid."),
        ({"host": "127.0.0.1"}, "leads to an address that is not public"),
        ({"host": "localhost"}, "leads to an address that is not public"),
        ({"host": "[::1]"}, "There is no server of the name"),
        ({"host": "169.254.169.254"}, "leads to an address that is not public"),
        ({"port": "25"}, "Port 25 is not one of a mailbox"),
        ({"security": "plain", "port": "143"}, "the password would travel in the clear"),
        ({"host": "outlook.office365.com"}, "accepts no passwords"),
        ({"host": ""}, "Type the name of the server"),
        ({"host": "a b"}, "Type the name of the server"),
        ({"port": "imap"}, "A port is a number"),
        ({"port": "0"}, "A port is a number"),
        ({"port": "70000"}, "A port is a number"),
        ({"port": "٩٩٣"}, "A port is a number"),
        ({"security": "none"}, "Choose one of"),
        ({"username": " "}, "Type the user name"),
        ({"password": ""}, "Type the password"),
        ({"password": "x" * 1001}, "That is not a password"),
        ({"password": "x\r\nA1 LOGOUT"}, "That is not a password"),
        ({"password": "x\0"}, "That is not a password"),
        ({"address": "ann"}, "That is not a mail address"),
    ],
    ids=lambda value: " ".join(value) or "a name" if isinstance(value, dict) else "",
)
def test_a_refusal_says_what_is_wrong_and_keeps_what_was_typed_but_the_password(
    ann: FlaskClient, engine: Engine, changed: dict[str, str], words: str
) -> None:
    answer = ann.post(CONNECT, data={**FORM, "username": "<ann> & co", **changed})
    assert answer.status_code == 422
    assert words in answer.text
    if "username" not in changed:
        assert 'value="&lt;ann&gt; &amp; co"' in answer.text
    assert changed.get("password", PASSWORD) not in answer.text or not changed.get("password", PASSWORD)
    assert answer.headers["Cache-Control"] == "no-store"
    assert rows(engine) == 0


def test_the_password_field_is_never_filled_and_never_completed(ann: FlaskClient, engine: Engine) -> None:
    id = a_mailbox(engine)
    for page in (ann.post(FIND, data={"address": "ann@gmail.com"}), ann.get(f"/settings/mailboxes/{id}")):
        field = page.text.split('type="password"')[1].split(">")[0]
        assert 'autocomplete="off"' in field
        assert "value=" not in field
        assert page.headers["Cache-Control"] == "no-store"


def test_every_problem_has_words_and_something_to_do(ann: FlaskClient, engine: Engine) -> None:
    codes = "name port refused_address unreachable certificate tls login throttled protocol gone quota denied secret"
    for code in (*codes.split(), "never heard of"):
        problem = problems.explain(code, host="imap.mail.example", port=993)
        assert problem.what.endswith(".")
        assert problem.remedy.endswith(".")
        id = a_mailbox(engine, problem=code, problem_since=now() - HOUR)
        assert problem.what in ann.get(f"/settings/mailboxes/{id}").text


def test_a_list_says_how_each_mailbox_does(ann: FlaskClient, engine: Engine) -> None:
    a_mailbox(engine, address="works@mail.example")
    a_mailbox(engine, address="new@mail.example", synced_at=None)
    a_mailbox(engine, address="old@mail.example", synced_at=None, created_at=now() - HOUR)
    a_mailbox(engine, address="away@mail.example", problem="unreachable", problem_since=now())
    a_mailbox(engine, address="paused@mail.example", state="paused", problem="login", problem_since=now())
    a_mailbox(engine, address="leaving@mail.example", state="leaving")
    page = ann.get("/settings/mailboxes").text
    cards = {card.split("@")[0].rpartition(">")[2]: card for card in page.split("<section")[1:]}
    for name, words in {
        "works": "Works",
        "new": "It is looked at within a minute",
        "old": "Tell an operator",
        "away": "Nothing answers at imap.mail.example, port 993.",
        "paused": "Enter the password",
        "leaving": "Being disconnected",
    }.items():
        assert words in cards[name], name


def test_every_page_says_that_a_mailbox_is_out_of_reach_until_it_is_over(ann: FlaskClient, engine: Engine) -> None:
    def shown() -> bool:
        pages = [ann.get(path).text for path in ("/", "/mailbox", "/add", "/settings", "/settings/mailboxes")]
        [found] = {"A mailbox of yours is out of reach" in page for page in pages}
        return found

    assert not shown()
    a_mailbox(engine, problem="unreachable", problem_since=now())
    assert not shown(), "a server may be away for a moment"
    id = a_mailbox(engine, problem="unreachable", problem_since=now() - HOUR)
    assert shown()
    assert f'href="/settings/mailboxes/{id}"' in ann.get("/").text
    with engine.begin() as connection:
        connection.execute(text("DELETE FROM mailboxes"))
    assert not shown()
    a_mailbox(engine, state="paused", problem="login", problem_since=now())
    assert shown()
    assert "Enter the password again" in ann.get("/").text


def test_disconnecting_leaves_the_rest_to_the_process_that_watches(ann: FlaskClient, engine: Engine) -> None:
    id = a_mailbox(engine)
    assert ann.post(f"/settings/mailboxes/{id}/disconnect").location == "/settings/mailboxes"
    with engine.connect() as connection:
        assert connection.execute(text("SELECT state FROM mailboxes")).scalar_one() == "leaving"
    page = ann.get("/settings/mailboxes").text
    assert "Being disconnected" in page
    assert "what is snoozed in it goes back first" in page


def test_one_whose_server_is_gone_for_good_is_forgotten_at_once(ann: FlaskClient, engine: Engine) -> None:
    id = a_mailbox(engine, problem="unreachable", problem_since=now())
    assert ann.post(f"/settings/mailboxes/{id}/forget").status_code == 404
    ann.post(f"/settings/mailboxes/{id}/disconnect")
    assert "Forget this mailbox now" in ann.get(f"/settings/mailboxes/{id}").text
    assert ann.post(f"/settings/mailboxes/{id}/forget").location == "/settings/mailboxes"
    assert "No mailbox is connected" in ann.get("/settings/mailboxes").text


def test_a_wrong_new_password_changes_nothing(ann: FlaskClient, engine: Engine) -> None:
    id = a_mailbox(engine, host="no-such-domain.invalid", state="paused", problem="login", problem_since=now())
    for password, words in (("", "Type the password"), (PASSWORD, "There is no server of the name")):
        answer = ann.post(f"/settings/mailboxes/{id}/password", data={"password": password})
        assert answer.status_code == 422
        assert words in answer.text
        assert PASSWORD not in answer.text
    with engine.connect() as connection:
        row = connection.execute(text("SELECT state, secret FROM mailboxes")).one()
    assert (row.state, bytes(row.secret)) == ("paused", b"encrypted")


def test_checks_have_a_quota_of_their_own(engine: Engine, settings: Settings, people: People) -> None:
    app = create_app(engine=engine, settings=settings.model_copy(update={"mailbox_checks_per_hour": 2}))
    app.config["WTF_CSRF_ENABLED"] = False
    browser = app.test_client()
    browser.set_cookie("snoozer_session", people.ann().session)
    private = {**FORM, "host": "127.0.0.1"}
    assert browser.post(FIND, data={"address": "ann@gmail.com"}).status_code == 200
    assert browser.post(CONNECT, data={**private, "password": ""}).status_code == 422, "not sent, not counted"
    assert browser.post(CONNECT, data=private).status_code == 422
    for path, data in ((CONNECT, private), (FIND, {"address": "ann@gmail.com"})):
        answer = browser.post(path, data=data)
        assert answer.status_code == 429
        assert int(answer.headers["Retry-After"]) >= 1
        assert PASSWORD not in answer.text


def test_more_checks_at_once_than_a_process_has_room_for_are_refused(
    ann: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "slots", BoundedSemaphore(1))
    checks.slots.acquire()
    assert "Several mailboxes are being checked" in ann.post(CONNECT, data=FORM).text
    assert ann.post(FIND, data={"address": "ann@mail.example"}).status_code == 503
    checks.slots.release()
    assert "There is no server of the name" in ann.post(CONNECT, data=FORM).text


def test_a_closed_account_connects_nothing(engine: Engine, people: People, settings: Settings) -> None:
    """The check takes a while, and the account may be closed meanwhile."""
    ann = people.ann()
    server, login = Server("imap.mail.example", 993, "tls"), Login("ann", PASSWORD)
    with engine.begin() as connection:
        accounts.close(connection, email=ANN)
    with engine.begin() as connection, pytest.raises(registry.NotConnected, match="closed"):
        registry.connect(connection, account_id=ann.id, address=ANN, server=server, login=login, key_ring=settings.keys)
    assert rows(engine) == 0


def page_of(engine: Engine, settings: Settings, people: People, path: str, **changes: object) -> str:
    app = create_app(engine=engine, settings=settings.model_copy(update=changes))
    client = app.test_client()
    client.set_cookie("snoozer_session", people.ann().session)
    return client.get(path).text


@pytest.mark.parametrize(("port", "is_named"), [(None, False), (0, True), (8143, False)])
def test_without_dovecot_the_trial_names_its_package_and_production_does_not(
    engine: Engine, settings: Settings, people: People, port: int | None, is_named: bool
) -> None:
    page = page_of(engine, settings, people, "/settings/mailboxes", sample_imap_port=port)
    assert "No mailbox is connected" in page
    assert ("dovecot-imapd" in page) == is_named


@pytest.mark.parametrize("path", ["/", "/settings/mailboxes/1"])
def test_the_sample_mailbox_is_shown_with_how_to_reach_it_and_without_its_password(
    engine: Engine, settings: Settings, people: People, path: str
) -> None:
    people.ann()
    a_mailbox(engine, host="127.0.0.1", port=8143, security="plain", username="you@snoozer.example")
    page = page_of(engine, settings, people, path, sample_imap_port=8143)
    for words in ("127.0.0.1, port 8143", "you@snoozer.example", "Tomorrow", "in the terminal where Snoozer runs"):
        assert words in page, words
    assert "in the terminal" not in page_of(engine, settings, people, path, sample_imap_port=None)


def test_operators_see_how_each_mailbox_does_and_no_address(
    operator: FlaskClient, engine: Engine, people: People
) -> None:
    zoe: dict[str, Any] = {"account_id": people.ann("zoe@snoozer.example").id, "address": "zoe@mail.example"}
    assert "No mailbox is connected" in operator.get("/admin/mailboxes").text
    a_mailbox(engine, owner="host-17", owned_until=now() + HOUR, **zoe)
    a_mailbox(engine, state="paused", synced_at=None, problem="login", problem_since=now(), **zoe)
    assert 'href="/admin/mailboxes"' in operator.get("/admin").text
    page = operator.get("/admin/mailboxes").text
    assert page.index("Mailbox 2") < page.index("Mailbox 1"), "those in trouble first"
    for words in ("paused, login since", "never looked at", "left alone while it is paused", "host-17", "z…@m…"):
        assert words in page
    assert "zoe@mail.example" not in page


def test_messages_are_read_while_asleep_by_choice(ann: FlaskClient, engine: Engine) -> None:
    path = f"/settings/mailboxes/{a_mailbox(engine)}"
    box = r'name="reads_asleep" value="on"( checked)?'
    for posted, is_on in (({"reads_asleep": "on"}, True), ({}, False)):
        assert ann.post(f"{path}/choices", data=CHOICES | posted).status_code == 303
        found = re.search(box, ann.get(path).text)
        assert found is not None
        assert bool(found[1]) == is_on
