"""What `snoozer up` runs with: what the user set in the environment, and Snoozer's own defaults for the rest."""

import json
import secrets
from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from snoozer import settings
from snoozer.dev import ports
from snoozer.dev.secure_file import write_private
from snoozer.settings import UP_FILE, Settings

OWNER = "you@snoozer.example"
MAIL_FROM = "Snoozer <snoozer@snoozer.example>"
SECRET_FILE = "secret"  # noqa: S105 - a file's name


class Surroundings(BaseSettings):
    """What has to be known before the settings can be: the home folder, and whether there is a display."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)

    home: Path = Field(default=Path(".snoozer"), alias="SNOOZER_HOME")
    display: str = Field(default="", alias="DISPLAY")
    wayland_display: str = Field(default="", alias="WAYLAND_DISPLAY")


def of_the_user(home: Path) -> Settings:
    """The settings of the environment alone: what an earlier `snoozer up` wrote must not count as the user's wish.

    Call it under the lock of the home. Raises SettingsRefused.
    """
    forget(home)
    return settings.load()


def write(home: Path, given: Settings, *, database_url: str, port: int, inbound_port: int, sink_port: int) -> Settings:
    """Write what every other command on this machine is to find (mode 0600), and return it together with `given`.

    What the user set wins over Snoozer's own defaults. Raises SettingsRefused when the whole makes no sense.
    """
    own_url = f"http://{ports.HOST}:{port}"
    sink_url = f"smtp://{ports.HOST}:{sink_port}"
    found = {
        # As psql and pg_dump want it, without the name of our driver.
        "DATABASE_URL": given.database_url.get_secret_value().replace("+psycopg", "", 1) or database_url,
        "SECRET_KEY": ",".join(given.keys) or _secret(home),
        "BASE_URL": given.base_url if "base_url" in given.model_fields_set else own_url,
        "SMTP_URL": given.smtp_url.get_secret_value() or sink_url,
        "MAIL_FROM": given.mail_from or MAIL_FROM,
        "PORT": port,
        "SNOOZER_INBOUND_PORT": inbound_port,
        "SNOOZER_SINK": wants_sink(given),
    }
    write_private(home / UP_FILE, json.dumps(found, indent=2) + "\n")
    return settings.load().require("database_url", "secret_key", "smtp_url", "mail_from")


def wants_sink(given: Settings) -> bool:
    """Whether mail goes to Snoozer's own sink: not when the user named a mail server."""
    return not given.smtp_url.get_secret_value()


def forget(home: Path) -> None:
    """Nothing runs (any more): other commands are to say so, rather than to knock at a database that is gone."""
    (home / UP_FILE).unlink(missing_ok=True)


def _secret(home: Path) -> str:
    """A random key ring, the same at every start: a new one would break the links in mail that is on its way."""
    file = home / SECRET_FILE
    if not file.exists():
        write_private(file, secrets.token_urlsafe(48) + "\n")
    return file.read_text().strip()
