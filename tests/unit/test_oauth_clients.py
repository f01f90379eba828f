"""The registration at a provider: whole or not at all, and nothing of it in clear text on the way."""

from pathlib import Path

import pytest

from snoozer import settings
from snoozer.mailboxes import mail_providers
from snoozer.runtime import oauth_clients
from snoozer.runtime.oauth_clients import Registration
from snoozer.settings import Settings, SettingsError

GOOGLE, MICROSOFT = "SNOOZER_OAUTH_GOOGLE", "SNOOZER_OAUTH_MICROSOFT"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SNOOZER_HOME", str(tmp_path))


def loaded(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Settings:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return settings.load()


def whole(prefix: str, **more: str) -> dict[str, str]:
    return {f"{prefix}_CLIENT_ID": "an-id", f"{prefix}_CLIENT_SECRET": "hush"} | {
        f"{prefix}_{name}": value for name, value in more.items()
    }


def test_nothing_is_offered_without_a_registration(monkeypatch: pytest.MonkeyPatch) -> None:
    providers = loaded(monkeypatch).oauth_providers
    assert [providers.find(name) for name in (*oauth_clients.NAMES, None, "", "password")] == [None] * 5


@pytest.mark.parametrize("prefix", [GOOGLE, MICROSOFT])
def test_half_a_registration_is_refused_with_one_sentence(monkeypatch: pytest.MonkeyPatch, prefix: str) -> None:
    with pytest.raises(SettingsError, match=f"{prefix}_CLIENT_SECRET is not set, and without it people cannot sign in"):
        loaded(monkeypatch, **{f"{prefix}_CLIENT_ID": "an-id"})
    monkeypatch.delenv(f"{prefix}_CLIENT_ID")
    with pytest.raises(SettingsError, match=f"{prefix}_CLIENT_ID is not set") as refused:
        loaded(monkeypatch, **{f"{prefix}_CLIENT_SECRET": "hush"})
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("AUTHORIZE_URL", "http://login.example/authorize", "must be an address that starts with https://"),
        ("TOKEN_URL", "http://login.example/token", "must be an address that starts with https://"),
        ("TOKEN_URL", "https://", "must be an address that starts with https://"),
        ("TOKEN_URL", "https://a b/", "must be an address that starts with https://"),
        ("TOKEN_URL", "https://login.example:x/", "must be an address that starts with https://"),
        ("IMAP_URL", "imap://mail.example", "must look like imaps://"),
        ("IMAP_URL", "mail.example", "must look like imaps://"),
        ("IMAP_URL", "imaps://ann:pw@mail.example", "must look like imaps://"),
    ],
)
def test_an_address_without_tls_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words) as refused:
        loaded(monkeypatch, **whole(GOOGLE, **{name: value}))
    assert f"{GOOGLE}_{name}" in str(refused.value)


def test_a_national_cloud_has_addresses_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = whole(MICROSOFT, TOKEN_URL="https://login.example/token", IMAP_URL="imaps://outlook.example")
    client = loaded(monkeypatch, **variables).oauth_providers.find("microsoft")
    assert client is not None
    assert (client.token_url, client.host, client.port, client.security) == (
        "https://login.example/token",
        "outlook.example",
        993,
        "tls",
    )
    assert "hush" not in repr(client)
    assert "hush" not in repr(settings.load())


def test_each_provider_is_reached_at_the_server_that_it_is_known_by() -> None:
    for name in oauth_clients.NAMES:
        client = oauth_clients.configured(name, Registration(client_id="x", client_secret="y"), allow_private=False)
        assert client is not None
        provider = mail_providers.of_server(client.host)
        assert provider is not None
        assert provider.oauth == name
        assert {client.authorize_url[:8], client.token_url[:8]} == {"https://"}
