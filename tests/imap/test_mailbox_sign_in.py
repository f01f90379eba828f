"""A mailbox that is signed in to at its provider: connected, watched, refreshed, withdrawn, and signed in to again."""

import logging
import re
import subprocess
import urllib.request
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit

import pytest
from flask.testing import FlaskClient
from pydantic import SecretStr
from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

from snoozer.mailboxes import registry
from snoozer.mailboxes.imap import ImapError
from snoozer.mailboxes.imap.connection import Connect
from snoozer.runtime import encryption
from snoozer.settings import Settings
from snoozer.web import create_app
from tests.conftest import missing
from tests.db.schema_file import pg_dump
from tests.factories import People, Person, an_original
from tests.imap import dovecot, oauth_provider
from tests.imap.dovecot import Dovecot
from tests.imap.oauth_provider import CLIENT_ID, CLIENT_SECRET, Provider
from tests.imap.watched import MailProgram, Place

pytestmark = pytest.mark.dovecot

BEGIN, FINISH = "/settings/mailboxes/sign-in", "/settings/mailboxes/sign-in/finish"
ADDRESS = "ann@gmail.com"


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


@pytest.fixture(scope="module")
def running_provider() -> Iterator[Provider]:
    with oauth_provider.running() as provider:
        yield provider


@pytest.fixture(scope="module")
def mail_server_with_tokens(running_provider: Provider) -> Iterator[Dovecot]:
    if not dovecot.is_installed():
        missing("dovecot-imapd")
    with dovecot.running(introspection_url=running_provider.introspection_url) as server:
        yield server


@pytest.fixture
def provider(running_provider: Provider) -> Provider:
    """As new, with no tokens given out."""
    for name, value in vars(Provider(port=running_provider.port)).items():
        setattr(running_provider, name, value)
    return running_provider


@pytest.fixture
def here(settings: Settings, provider: Provider, mail_server_with_tokens: Dovecot) -> Settings:
    return settings.model_copy(
        update={
            "allow_private_mailboxes": True,
            "mailbox_poll": 1.0,
            "oauth_google_client_id": CLIENT_ID,
            "oauth_google_client_secret": SecretStr(CLIENT_SECRET),
            "oauth_google_authorize_url": f"{provider.url}/authorize",
            "oauth_google_token_url": f"{provider.url}/token",
            "oauth_google_imap_url": f"imap://127.0.0.1:{mail_server_with_tokens.imap_port}",
        }
    )


@pytest.fixture
def ann(people: People) -> Person:
    return people.ann()


@pytest.fixture
def browser(engine: Engine, here: Settings, ann: Person) -> FlaskClient:
    return a_browser(engine, here, ann)


def a_browser(engine: Engine, settings: Settings, person: Person) -> FlaskClient:
    app = create_app(engine=engine, settings=settings)
    app.config["WTF_CSRF_ENABLED"] = False
    client = app.test_client()
    client.set_cookie("snoozer_session", person.session)
    return client


def at_provider(url: str) -> str:
    """The person consents or not; returns where the provider leads back to, below the site."""
    try:
        urllib.request.build_opener(_Stay).open(url, timeout=10)
    except HTTPError as answer:
        with answer:
            back = urlsplit(answer.headers["Location"])
    assert back.path == BEGIN
    return f"{back.path}?{back.query}"


def led_to(page: str) -> str:
    found = re.search(r'<a class="button primary" href="([^"]+)"', page)
    assert found is not None, page
    return unescape(found[1])


def begin(browser: FlaskClient, *, address: str = ADDRESS) -> str:
    """Returns the path to which the provider leads back."""
    return at_provider(led_to(browser.post(BEGIN, data={"address": address, "provider": "google"}).text))


def finish(browser: FlaskClient, back: str) -> Any:
    query = {name: values[0] for name, values in parse_qs(urlsplit(back).query).items()}
    return browser.post(FINISH, data={"state": query["state"], "code": query["code"]})


def the_row(engine: Engine) -> Any:
    with engine.connect() as connection:
        return connection.execute(text("SELECT * FROM mailboxes")).one()


def connected(engine: Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM mailboxes")).scalar_one())


def test_a_mailbox_is_connected_by_a_sign_in_without_a_password(
    browser: FlaskClient, engine: Engine, here: Settings, provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="snoozer")
    offer = browser.post("/settings/mailboxes/find", data={"address": ADDRESS}).text
    assert "Sign in with Google" in offer
    assert "Use a password instead" in offer
    leaving = browser.post(BEGIN, data={"address": ADDRESS, "provider": "google"})
    url = led_to(leaving.text)
    assert leaving.headers["Refresh"] == f"0; url={url}"
    asked = parse_qs(urlsplit(url).query)
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["access_type"] == ["offline"]
    assert CLIENT_SECRET not in url
    back = at_provider(url)
    page = browser.get(back)
    assert "Connect this mailbox" in page.text
    assert ADDRESS in page.text
    assert (connected(engine), provider.tokens) == (0, []), "coming back is a GET, and does nothing"
    answer = finish(browser, back)
    row = the_row(engine)
    assert answer.location == f"/settings/mailboxes/{row.id}"
    assert (row.login_method, row.username, row.host, row.state) == ("google", ADDRESS, "127.0.0.1", "active")
    assert encryption.decrypt(here.keys, row.secret) == provider.tokens[0].refresh_token
    shown = browser.get(answer.location).text
    assert "by sign-in at Google, without a password" in shown
    assert 'type="password"' not in shown
    url = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    dump = subprocess.run([pg_dump(), url], capture_output=True, text=True, check=True).stdout
    for secret in provider.secrets():
        assert secret not in dump + caplog.text + shown


def test_a_sign_in_is_finished_once_and_in_its_own_browser(
    browser: FlaskClient, engine: Engine, here: Settings, people: People, provider: Provider
) -> None:
    """A stranger's link would connect the stranger's mailbox to Ann's account."""
    other_session = a_browser(engine, here, people.ann())
    bob = a_browser(engine, here, people.ann("bob@snoozer.example"))
    back = begin(browser)
    for stranger in (bob, other_session):
        assert "This sign-in is over" in stranger.get(back).text
        assert "This sign-in is over" in finish(stranger, back).text
    for path in (BEGIN, f"{BEGIN}?state=&code=x", f"{BEGIN}?state=%00&code=x", f"{BEGIN}?state={'x' * 999}&code=x"):
        assert "This sign-in is over" in browser.get(path).text
    assert provider.tokens == []
    assert finish(browser, back).status_code == 303
    given_out = len(provider.tokens)
    assert "This sign-in is over" in finish(browser, back).text
    assert "This sign-in is over" in browser.get(back).text
    assert (connected(engine), len(provider.tokens)) == (1, given_out)


def test_a_sign_in_that_is_too_old_is_over(browser: FlaskClient, engine: Engine, provider: Provider) -> None:
    back = begin(browser)
    with engine.begin() as connection:
        connection.execute(text("UPDATE mailbox_sign_ins SET created_at = created_at - INTERVAL '16 minutes'"))
    assert "This sign-in is over" in finish(browser, back).text
    begin(browser)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM mailbox_sign_ins")).scalar_one() == 1, "it is forgotten"


def test_who_answers_no_at_the_provider_is_asked_for_nothing_more(
    browser: FlaskClient, engine: Engine, provider: Provider
) -> None:
    provider.consents = False
    assert "The provider gave Snoozer no access" in browser.get(begin(browser)).text
    assert connected(engine) == 0


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        ((400, "invalid_grant"), "This sign-in is over"),
        ((401, "invalid_client"), "does not accept this Snoozer as a program"),
        ((503, "anything"), "does not answer to sign-ins"),
        ((302, "anything"), "does not answer to sign-ins"),
        ((200, "temporarily_unavailable"), "does not answer to sign-ins"),
    ],
)
def test_a_provider_that_refuses_the_code_is_one_sentence(
    browser: FlaskClient, engine: Engine, provider: Provider, failure: tuple[int, str], words: str
) -> None:
    back = begin(browser)
    provider.failure = failure
    answer = finish(browser, back)
    assert answer.status_code == 422
    assert words in answer.text
    assert connected(engine) == 0


def test_an_account_of_another_address_is_not_connected(
    browser: FlaskClient, engine: Engine, provider: Provider
) -> None:
    """The person chooses another account at the provider than the one whose address was typed."""
    url = led_to(browser.post(BEGIN, data={"address": ADDRESS, "provider": "google"}).text)
    answer = finish(browser, at_provider(url.replace("ann%40", "bob%40")))
    assert "did not accept the sign-in for this address" in answer.text
    assert connected(engine) == 0


def test_a_provider_that_is_not_configured_is_not_offered(
    engine: Engine, settings: Settings, ann: Person, provider: Provider
) -> None:
    browser = a_browser(engine, settings, ann)
    assert "Sign in with" not in browser.post("/settings/mailboxes/find", data={"address": ADDRESS}).text
    for name in ("google", "microsoft", "", "nope"):
        assert browser.post(BEGIN, data={"address": ADDRESS, "provider": name}).status_code == 404


@pytest.fixture
def place(browser: FlaskClient, engine: Engine, here: Settings, ann: Person) -> Iterator[Place]:
    """Connected by a sign-in, with one message; it is not watched yet."""
    assert finish(browser, begin(browser)).status_code == 303
    row = the_row(engine)
    program = MailProgram(row.port, ADDRESS)
    program.empty("INBOX", "Snoozed")
    program.deliver(an_original(message_id="<a@mail.example>"))
    place = Place(engine, here, ann, program, row.id, "", ADDRESS)
    try:
        yield place
    finally:
        place.stop()
        program.close()


def test_a_withdrawn_sign_in_pauses_the_mailbox_and_a_new_one_loses_nothing(
    place: Place, browser: FlaskClient, provider: Provider, here: Settings
) -> None:
    place.start()
    place.program.move("INBOX", "Snooze.Tomorrow")
    place.eventually(lambda: place.asleep() == 1)
    first = bytes(the_row(place.engine).secret)
    assert provider.refreshes == 1, "one access token serves until it ends"
    # It ends, and with it the session: another one is made from the refresh token, which is replaced.
    provider.expire_access_tokens()
    place.stop()
    place.start()
    place.eventually(
        lambda: provider.refreshes == 2 and is_synced(place) and bytes(the_row(place.engine).secret) != first
    )
    provider.withdraw()
    place.stop()
    place.make_due()
    place.start()
    place.eventually(lambda: the_row(place.engine).state == "paused")
    assert place.problem() == "sign_in"
    asked = "SELECT subject FROM email_snoozes WHERE message_id LIKE '%@password.snoozer.invalid>'"
    assert place.rows(asked) == [("Sign in again to ann@gmail.com in Snoozer's settings",)]
    assert place.program.count("Snoozed") == 1
    assert "Sign in again" in browser.get("/").text
    path = f"/settings/mailboxes/{place.mailbox_id}"
    assert "Sign in again with Google" in browser.get(path).text
    assert browser.post(f"{path}/password", data={"password": "x"}).status_code == 404
    again = finish(browser, at_provider(led_to(browser.post(f"{path}/sign-in").text)))
    assert again.location == path
    place.eventually(lambda: place.program.count("INBOX") == 1)
    place.eventually(lambda: place.rows("SELECT state, problem FROM mailboxes") == [("active", None)])
    assert place.program.count("Snoozed") == 0
    assert len(place.rows(asked)) == 1


def is_synced(place: Place) -> bool:
    """Everything in the mailbox was read by the process that owns it now."""
    return bool(place.rows("SELECT 1 FROM mailboxes WHERE owner IS NOT NULL AND problem IS NULL"))


def test_a_provider_that_is_away_pauses_nothing(place: Place, provider: Provider) -> None:
    provider.failure = (503, "anything")
    place.start()
    place.eventually(lambda: place.problem() == "oauth_away")
    provider.failure = None
    place.eventually(lambda: place.problem() is None)
    assert the_row(place.engine).state == "active"


def connect_to(row: Any) -> Connect:
    return registry.connector(registry.server_of(row), allow_private=True)


def logins(place: Place) -> registry.Logins:
    return registry.Logins(place.engine, key_ring=place.settings.keys, providers=place.settings.oauth_providers)


def test_two_processes_that_refresh_in_turn_do_not_lose_the_sign_in(place: Place, provider: Provider) -> None:
    """Each refresh token works once, and the row that a process has read may hold one that was used."""
    row, first, second = the_row(place.engine), logins(place), logins(place)
    tokens = {first.login(row).access_token, second.login(row).access_token, first.login(row).access_token}
    assert None not in tokens
    assert provider.refreshes == 3
    with registry.open_mailbox(row, second, connect=connect_to(row)) as mailbox:
        assert mailbox.select("INBOX").exists == 1


def test_an_access_token_is_replaced_before_it_ends_or_when_the_server_refuses_it(
    place: Place, provider: Provider
) -> None:
    row, process = the_row(place.engine), logins(place)
    provider.lifetime = 0
    assert process.login(row) != process.login(row), "it is not used at its end"
    provider.lifetime = 3_600
    known = process.login(row)
    assert process.login(row) == known
    provider.expire_access_tokens()
    with registry.open_mailbox(row, process, connect=connect_to(row)) as mailbox:
        assert mailbox.select("INBOX").exists == 1
    assert process.login(row) != known


def test_a_refresh_token_that_cannot_be_stored_at_once_is_not_lost(place: Place, provider: Provider) -> None:
    """The provider has replaced it, and accepts the stored one no longer."""
    row, process = the_row(place.engine), logins(place)
    place.run("ALTER TABLE mailboxes ADD CONSTRAINT is_away CHECK (FALSE) NOT VALID")
    for _ in range(2):
        with pytest.raises(SQLAlchemyError):
            process.login(row)
    place.run("ALTER TABLE mailboxes DROP CONSTRAINT is_away")
    assert process.login(row).access_token == provider.tokens[-1].access_token
    assert logins(place).login(row).access_token == provider.tokens[-1].access_token


def test_a_refresh_token_under_an_older_key_is_stored_under_the_newest(place: Place, provider: Provider) -> None:
    ring = ("k7#Vw2!pQz9$Lm4&Xt6*", *place.settings.keys)
    process = registry.Logins(place.engine, key_ring=ring, providers=place.settings.oauth_providers)
    process.login(the_row(place.engine))
    assert encryption.is_current(ring, bytes(the_row(place.engine).secret))
    gone = registry.Logins(place.engine, key_ring=ring[1:], providers=place.settings.oauth_providers)
    with pytest.raises(ImapError) as raised:
        gone.login(the_row(place.engine))
    assert raised.value.code == "sign_in"
