"""What `snoozer up` runs with."""

import json
import os
from pathlib import Path

import pytest

from snoozer import settings
from snoozer.dev import environment
from snoozer.settings import SettingsError


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DATABASE_URL", "SECRET_KEY", "BASE_URL", "SMTP_URL", "MAIL_FROM", "PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SNOOZER_HOME", str(tmp_path))


def written(home: Path) -> dict[str, object]:
    environment.write_up_file(
        home,
        environment.load_user_settings(home),
        database_url="postgresql://snoozer:x@127.0.0.1:5/postgres",
        port=8123,
        inbound_port=8024,
        sink_port=8025,
    )
    found: dict[str, object] = json.loads((home / "up.json").read_text())
    return found


def test_a_secret_is_read_from_its_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    folder.mkdir()
    (folder / "SECRET_KEY").write_text("a-key-of-enough-length-for-this\n")
    (folder / "POSTGRES_PASSWORD").write_text("of another program\n")
    monkeypatch.setattr(settings, "SECRETS_FOLDER", folder)
    assert settings.load().keys == ("a-key-of-enough-length-for-this",)
    monkeypatch.setenv("SECRET_KEY", "the-environment-comes-before-files")
    assert settings.load().keys == ("the-environment-comes-before-files",)


def test_the_persons_own_home_is_never_taken_for_snoozers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SNOOZER_HOME")
    assert settings.home() == Path(".snoozer")


def test_everything_has_a_default_and_the_secret_stays_the_same(tmp_path: Path) -> None:
    found = written(tmp_path)
    assert found["BASE_URL"] == "http://127.0.0.1:8123"
    assert found["SMTP_URL"] == "smtp://127.0.0.1:8025"
    assert found["SNOOZER_SINK"] is True
    assert written(tmp_path)["SECRET_KEY"] == found["SECRET_KEY"]


def test_what_an_earlier_start_wrote_is_not_taken_for_the_users_wish(tmp_path: Path) -> None:
    written(tmp_path)
    given = environment.load_user_settings(tmp_path)
    assert given.model_fields_set <= {"home"}


def test_the_environment_wins_and_is_written_for_the_other_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMTP_URL", "smtp+starttls://mail.example:587")
    monkeypatch.setenv("SECRET_KEY", "a-new-key-of-some-length,an-old-key-of-some-length")
    monkeypatch.setenv("DATABASE_URL", "postgres://u:p@db.example/snoozer")
    found = written(tmp_path)
    assert found["SMTP_URL"] == "smtp+starttls://mail.example:587"
    assert found["SNOOZER_SINK"] is False
    assert found["SECRET_KEY"] == "a-new-key-of-some-length,an-old-key-of-some-length"
    assert found["DATABASE_URL"] == "postgresql://u:p@db.example/snoozer"
    assert not (tmp_path / "secret").exists()


def test_a_sample_secret_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "change-me")
    with pytest.raises(SettingsError, match="sample value"):
        written(tmp_path)


@pytest.mark.parametrize(("mode", "what"), [(0o777, "home"), (0o770, "home"), (0o666, "file"), (0o620, "file")])
def test_a_file_that_others_may_write_chooses_no_database(tmp_path: Path, mode: int, what: str) -> None:
    written(tmp_path)
    path = {"home": tmp_path, "file": tmp_path / "up.json"}[what]
    path.chmod(mode)
    with pytest.raises(SettingsError, match="Other accounts of this machine may write") as refused:
        settings.load()
    assert f"chmod go-w {path}" in str(refused.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("foreign", ["up.json", "."])
def test_a_file_of_another_account_chooses_no_database(tmp_path: Path, foreign: str) -> None:
    """`.snoozer/up.json` of a foreign working folder sent commands to a foreign database."""
    written(tmp_path)
    os.chown(tmp_path / foreign, 65_534, 65_534)
    with pytest.raises(SettingsError, match="belongs to another user"):
        settings.load()


@pytest.mark.parametrize("text", ["[]", "{", "7"])
def test_a_file_that_is_cut_off_ends_in_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "up.json").write_text(text)
    with pytest.raises(SettingsError, match="cannot be read"):
        settings.load()
