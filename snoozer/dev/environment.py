"""The settings of `snoozer up`: the user's environment, and defaults for the rest."""

import json
import os
import secrets
import tempfile
from pathlib import Path

from snoozer import settings
from snoozer.dev import ports
from snoozer.settings import UP_FILE, Settings

OWNER = "you@snoozer.example"
MAIL_FROM = "Snoozer <snoozer@snoozer.example>"
# The domain of the addresses that act, while all mail stays on this machine.
LOCAL_DOMAIN = "snooze.localhost"


def load_user_settings(home: Path) -> Settings:
    """The settings of the environment alone, with no earlier run's file. The home is locked. Raises SettingsError."""
    remove_up_file(home)
    return settings.load()


def write_up_file(
    home: Path,
    given: Settings,
    *,
    database_url: str,
    port: int,
    inbound_port: int,
    sink_port: int,
    imap_port: int = 0,
    allow_private_mailboxes: bool = True,
) -> Settings:
    """Write the settings that every other command on this machine finds (mode 0600), and return them.

    The user's settings override the defaults of `snoozer up`. `imap_port` is the port of the sample mailbox, 0 if there
    is none. Raises SettingsError if the result is invalid.
    """
    found = {
        # In the form that psql and pg_dump expect, without the name of our driver.
        "DATABASE_URL": given.database_url.get_secret_value().replace("+psycopg", "", 1) or database_url,
        "SECRET_KEY": ",".join(given.keys) or _secret(home),
        "BASE_URL": given.base_url if "base_url" in given.model_fields_set else f"http://{ports.HOST}:{port}",
        "SMTP_URL": given.smtp_url.get_secret_value() or f"smtp://{ports.HOST}:{sink_port}",
        "MAIL_FROM": given.mail_from or MAIL_FROM,
        "PORT": port,
        "SNOOZER_INBOUND_PORT": inbound_port,
        "SNOOZER_INBOUND_DOMAIN": given.inbound_domain or ("" if given.smtp_url.get_secret_value() else LOCAL_DOMAIN),
        "SNOOZER_SINK": not given.smtp_url.get_secret_value(),
        "SNOOZER_INSECURE_TRANSPORT": given.insecure_transport,
        "SNOOZER_ALLOW_PRIVATE_MAILBOXES": allow_private_mailboxes,
        "SNOOZER_SAMPLE_IMAP_PORT": imap_port,
    }
    write_private(home / UP_FILE, json.dumps(found, indent=2) + "\n")
    return settings.load().require("database_url", "secret_key", "smtp_url", "mail_from")


def remove_up_file(home: Path) -> None:
    """Remove the file: other commands then report that no database is set, instead of connecting to a stopped one."""
    (home / UP_FILE).unlink(missing_ok=True)


def write_private(path: Path, text: str) -> None:
    """Write a file with mode 0600. A reader sees either the old text or the new one, even after a crash."""
    # mkstemp creates its file with mode 0600.
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _secret(home: Path) -> str:
    """A random key, the same at every start: a new one would break the links in mail already sent."""
    file = home / "secret"
    if not file.exists():
        write_private(file, secrets.token_urlsafe(48) + "\n")
    return file.read_text().strip()
