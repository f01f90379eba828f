"""Settings: read once from the environment, frozen, and rejected with one sentence if they are invalid.

There are three sources, the first takes precedence: the environment, files of these names in `/run/secrets`, where
container platforms put secrets, and `up.json` in `SNOOZER_HOME`, which `snoozer up` writes so that every other command
on the machine finds its database. That file is read only if no other account could have written it.
"""

import json
import os
import stat
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypedDict
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, InitSettingsSource, NoDecode, SecretsSettingsSource, SettingsConfigDict
from pydantic_settings import PydanticBaseSettingsSource as Source

from snoozer.db.url import parse_url
from snoozer.mail.sender_settings import SenderSettings
from snoozer.mail.smtp.url import SmtpServer, is_loopback, is_private
from snoozer.mailboxes.inbound.settings import InboundSettings
from snoozer.people.limits import Limits
from snoozer.people.oidc.registration import OidcSettings
from snoozer.queue.reminder import UncertainPolicy
from snoozer.runtime import failpoint, oauth_clients, secret_keys
from snoozer.runtime.failpoint import FailpointHook
from snoozer.runtime.oauth_clients import Client, Registration
from snoozer.telemetry import configuration
from snoozer.telemetry.configuration import Config, LogFormat

if TYPE_CHECKING:
    from snoozer.runtime.oauth import Providers

UP_FILE, DEFAULT_HOME = "up.json", Path(".snoozer")
SECRETS_FOLDER = Path("/run/secrets")

_FOREIGN = "{} belongs to another user; run this command as the one who runs `snoozer up`, or set another SNOOZER_HOME"

Need = Literal["database_url", "secret_key", "smtp_url", "mail_from", "base_url"]
Channel = Literal["ntfy", "gotify", "slack", "teams", "telegram", "apprise"]
Policy = Literal["auto", "verify", "resend", "hold"]
Seconds = Annotated[float, Field(gt=0, le=86_400)]


class SettingsError(Exception):
    """The settings are invalid or incomplete; the text is one sentence for people."""


class TelemetryConfig(TypedDict):
    config: Config
    metrics_port: int | None
    dead_after: timedelta


def _parse_otel(value: Any) -> Any:
    """Parse the variables OTEL_… if no value is given."""
    given = {name: os.environ[name] for name in os.environ if name.startswith("OTEL_")}
    return configuration.parse(given) if value is None else value


class Settings(SenderSettings, InboundSettings, OidcSettings, Limits, BaseSettings):
    """All settings of a process. Seconds are decimals; secrets are not shown in a repr."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)

    database_url: SecretStr = Field(default=SecretStr(""), alias="DATABASE_URL")
    secret_key: Annotated[tuple[SecretStr, ...], NoDecode] = Field(default=(), alias="SECRET_KEY")
    base_url: str = Field(default="http://127.0.0.1:8000", alias="BASE_URL")
    front_door_url: str = Field(default="", alias="SNOOZER_FRONT_DOOR_URL", pattern=r"^(https?://[^\s?#@]+)?$")
    smtp_url: SecretStr = Field(default=SecretStr(""), alias="SMTP_URL")
    port: int = Field(default=8000, alias="PORT", ge=1, le=65_535)

    # The Snoozer of a person's commands; without an address it is BASE_URL.
    client_url: str = Field(default="", alias="SNOOZER_URL")
    client_token: SecretStr = Field(default=SecretStr(""), alias="SNOOZER_TOKEN")

    home: Path = Field(default=DEFAULT_HOME, alias="SNOOZER_HOME")
    pg_bin: Path | None = Field(default=None, alias="SNOOZER_PG_BIN")
    pgbouncer: bool = Field(default=False, alias="SNOOZER_PGBOUNCER")
    largest_message: int = Field(default=25 * 1024 * 1024, alias="SNOOZER_LARGEST_MESSAGE_BYTES", ge=65_536)
    metrics_port: int | None = Field(default=None, alias="SNOOZER_METRICS_PORT", ge=1, le=65_535)
    ping_url: SecretStr = Field(default=SecretStr(""), alias="SNOOZER_PING_URL")
    trusted_proxies: int = Field(default=0, alias="SNOOZER_TRUSTED_PROXIES", ge=0, le=5)
    sink: bool = Field(default=False, alias="SNOOZER_SINK")
    # Under `snoozer up` only: the port of its IMAP server, 0 if it has none.
    sample_imap_port: int | None = Field(default=None, alias="SNOOZER_SAMPLE_IMAP_PORT", ge=0, le=65_535)
    allow_private_mailboxes: bool = Field(default=False, alias="SNOOZER_ALLOW_PRIVATE_MAILBOXES")
    allow_private_push_services: bool = Field(default=False, alias="SNOOZER_ALLOW_PRIVATE_PUSH_SERVICES")
    channels: Annotated[tuple[Channel, ...], NoDecode] = Field(default=(), alias="SNOOZER_CHANNELS")
    allow_private_webhooks: bool = Field(default=False, alias="SNOOZER_ALLOW_PRIVATE_WEBHOOKS")
    insecure_transport: Literal["refuse", "allow"] = Field(default="refuse", alias="SNOOZER_INSECURE_TRANSPORT")

    oauth_google_client_id: str = Field(default="", alias="SNOOZER_OAUTH_GOOGLE_CLIENT_ID")
    oauth_google_client_secret: SecretStr = Field(default=SecretStr(""), alias="SNOOZER_OAUTH_GOOGLE_CLIENT_SECRET")
    oauth_google_authorize_url: str | None = Field(default=None, alias="SNOOZER_OAUTH_GOOGLE_AUTHORIZE_URL")
    oauth_google_token_url: str | None = Field(default=None, alias="SNOOZER_OAUTH_GOOGLE_TOKEN_URL")
    oauth_google_imap_url: str | None = Field(default=None, alias="SNOOZER_OAUTH_GOOGLE_IMAP_URL")
    oauth_microsoft_client_id: str = Field(default="", alias="SNOOZER_OAUTH_MICROSOFT_CLIENT_ID")
    oauth_microsoft_client_secret: SecretStr = Field(
        default=SecretStr(""), alias="SNOOZER_OAUTH_MICROSOFT_CLIENT_SECRET"
    )
    oauth_microsoft_authorize_url: str | None = Field(default=None, alias="SNOOZER_OAUTH_MICROSOFT_AUTHORIZE_URL")
    oauth_microsoft_token_url: str | None = Field(default=None, alias="SNOOZER_OAUTH_MICROSOFT_TOKEN_URL")
    oauth_microsoft_imap_url: str | None = Field(default=None, alias="SNOOZER_OAUTH_MICROSOFT_IMAP_URL")

    lease: Seconds = Field(default=90, alias="SNOOZER_LEASE_SECONDS")
    heartbeat: Seconds = Field(default=3, alias="SNOOZER_HEARTBEAT_SECONDS")
    sweep: Seconds = Field(default=5, alias="SNOOZER_SWEEP_SECONDS")
    poll: Seconds = Field(default=1, alias="SNOOZER_POLL_SECONDS")
    backoff: Seconds = Field(default=60, alias="SNOOZER_BACKOFF_SECONDS")
    worker_dead: Seconds = Field(default=10, alias="SNOOZER_WORKER_DEAD_SECONDS")
    mailbox_poll: Seconds = Field(default=60, alias="SNOOZER_MAILBOX_POLL_SECONDS")
    refused_for: float = Field(default=259_200, alias="SNOOZER_REFUSED_SECONDS", gt=0, le=2_592_000)
    deadline: Seconds = Field(default=720, alias="SNOOZER_DEADLINE_SECONDS")
    uncertain_hold: float = Field(default=600, alias="SNOOZER_UNCERTAIN_HOLD_SECONDS", ge=0, le=31_536_000)
    uncertain_policy: Policy = Field(default="auto", alias="SNOOZER_UNCERTAIN_POLICY")
    breaker_threshold: int = Field(default=5, alias="SNOOZER_BREAKER_THRESHOLD", ge=1)
    breaker_cooldown: Seconds = Field(default=8, alias="SNOOZER_BREAKER_COOLDOWN_SECONDS")
    cutover: Literal["shadow", "on"] = Field(default="on", alias="SNOOZER_CUTOVER")
    failover: Literal["wait", "continue"] = Field(default="wait", alias="SNOOZER_FAILOVER")

    archive_after_days: int = Field(default=35, alias="SNOOZER_ARCHIVE_AFTER_DAYS", ge=31, le=3650)
    keep_months: int = Field(default=24, alias="SNOOZER_KEEP_MONTHS", ge=1, le=1200)

    log_format: LogFormat = Field(default="text", alias="SNOOZER_LOG_FORMAT")
    # The variables with this prefix configure telemetry.
    otel: Annotated[Config, BeforeValidator(_parse_otel)] = Field(default=None, alias="OTEL_", validate_default=True)

    failpoints: bool = Field(default=False, alias="SNOOZER_FAILPOINTS")
    failpoint: str = Field(default="", alias="SNOOZER_FAILPOINT")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: Source,
        env_settings: Source,
        dotenv_settings: Source,
        file_secret_settings: Source,
    ) -> tuple[Source, ...]:
        sources = [init_settings, env_settings, InitSettingsSource(settings_cls, init_kwargs=_read_up_file())]
        if SECRETS_FOLDER.is_dir():
            sources.insert(2, SecretsSettingsSource(settings_cls, secrets_dir=SECRETS_FOLDER))
        return tuple(sources)

    @field_validator("secret_key", "channels", mode="before")
    @classmethod
    def _list(cls, value: Any) -> Any:
        return tuple(one.strip() for one in value.split(",") if one.strip()) if isinstance(value, str) else value

    @field_validator("database_url", mode="before")
    @classmethod
    def _database_url(cls, value: Any) -> Any:
        return parse_url(value) if isinstance(value, str) and value else value

    @field_validator("base_url")
    @classmethod
    def _base_url(cls, value: str) -> str:
        if set(value) & set("?#@"):
            raise ValueError("BASE_URL is a host and perhaps a path, without user, password, ? and #")
        return _valid_url(value, setting="BASE_URL")

    @model_validator(mode="after")
    def _times_fit_together(self) -> Self:
        if self.heartbeat * 2 > self.worker_dead:
            raise ValueError(
                f"SNOOZER_WORKER_DEAD_SECONDS ({self.worker_dead:g}) must be at least twice "
                f"SNOOZER_HEARTBEAT_SECONDS ({self.heartbeat:g}), or one late heartbeat declares a live worker dead"
            )
        if self.lease <= self.heartbeat * 2:
            raise ValueError("SNOOZER_LEASE_SECONDS must be more than twice SNOOZER_HEARTBEAT_SECONDS")
        return self

    @model_validator(mode="after")
    def _sign_ins_are_whole(self) -> Self:
        # Raises ValueError if a sign-in is half configured.
        _ = self._oauth_clients
        self.check_oidc()
        return self

    @property
    def oauth_providers(self) -> "Providers":
        """The configured providers at which people sign in to their mailboxes."""
        # Imported here: only the web and `snoozer mailbox` sign in there, and it doubles the time of reading settings.
        from snoozer.runtime.oauth import Providers

        return Providers(self._oauth_clients, allow_private=self.allow_private_mailboxes)

    @property
    def _oauth_clients(self) -> list[Client]:
        google = Registration(
            client_id=self.oauth_google_client_id,
            client_secret=self.oauth_google_client_secret.get_secret_value(),
            authorize_url=self.oauth_google_authorize_url,
            token_url=self.oauth_google_token_url,
            imap_url=self.oauth_google_imap_url,
        )
        microsoft = Registration(
            client_id=self.oauth_microsoft_client_id,
            client_secret=self.oauth_microsoft_client_secret.get_secret_value(),
            authorize_url=self.oauth_microsoft_authorize_url,
            token_url=self.oauth_microsoft_token_url,
            imap_url=self.oauth_microsoft_imap_url,
        )
        found = (
            oauth_clients.configured("google", google, allow_private=self.allow_private_mailboxes),
            oauth_clients.configured("microsoft", microsoft, allow_private=self.allow_private_mailboxes),
        )
        return [client for client in found if client is not None]

    @property
    def keys(self) -> tuple[str, ...]:
        """The secrets of the key ring, newest first."""
        return tuple(key.get_secret_value() for key in self.secret_key)

    @property
    def uncertainty(self) -> UncertainPolicy:
        """The policy for uncertain sends. `auto` is `verify` if the recipient's own mailbox is connected and
        watched, and `resend` otherwise."""
        verifies = self.uncertain_policy in ("auto", "verify")
        return UncertainPolicy(
            hold=timedelta(seconds=self.uncertain_hold),
            for_operator=self.uncertain_policy == "hold",
            lookups=2 if verifies else 0,
            lookup_interval=timedelta(seconds=self.uncertain_hold / 2 if verifies else 0),
            only_connected=self.uncertain_policy == "auto",
        )

    @property
    def failpoint_hook(self) -> FailpointHook | None:
        """To be called at each step: fires at the step that SNOOZER_FAILPOINT names. None without SNOOZER_FAILPOINTS.
        Raises SettingsError."""
        if not self.failpoints or not self.failpoint:
            return None
        try:
            return failpoint.parse(self.failpoint)
        except failpoint.InvalidFailpoint as error:
            raise SettingsError(str(error)) from None

    @property
    def telemetry(self) -> TelemetryConfig:
        """The arguments of telemetry.start."""
        dead_after = timedelta(seconds=self.worker_dead)
        return {"config": self.otel, "metrics_port": self.metrics_port, "dead_after": dead_after}

    @property
    def local_links_warning(self) -> str | None:
        """A warning that links lead to this machine only, because BASE_URL is not set; None if it is set."""
        if "base_url" in self.model_fields_set:
            return None
        return f"BASE_URL is not set: links in mails lead to {self.base_url}, which opens on this machine only"

    @property
    def insecure_mail(self) -> str | None:
        """A problem with outgoing mail, if it leaves without TLS to another machine; else None."""
        server = SmtpServer.from_url(self.smtp_url.get_secret_value())
        if server.security != "plain" or is_loopback(server.host):
            return None
        return f"SMTP_URL sends mail without TLS to {server.host}, and everybody on the way can read and change it"

    @property
    def insecure_pages(self) -> str | None:
        """A problem with the address of the pages, if it is http:// with a public name; else None."""
        address = urlsplit(self.base_url)
        if address.scheme == "https" or is_private(address.hostname or ""):
            return None
        return "BASE_URL begins with http://, and everybody on the way can read the sessions and the links in mails"

    def require(self, *names: Need) -> Self:
        """These settings. Raises SettingsError, stating what to set, if a named setting is missing."""
        try:
            for name in names:
                _NEEDED[name](self)
        except ValueError as error:
            raise SettingsError(str(error)) from None
        return self


def load() -> Settings:
    """The settings of this process. Raises SettingsError."""
    try:
        return Settings()
    except ValidationError as error:
        raise SettingsError(_sentence(error)) from None
    except PermissionError as error:
        if Path(str(error.filename)).parent == SECRETS_FOLDER:
            raise SettingsError(
                f"This user may not read {error.filename}; give the file to the user of Snoozer"
            ) from None
        raise SettingsError(_FOREIGN.format(_up_file())) from None
    except (OSError, ValueError) as error:
        raise SettingsError(f"{_up_file()} cannot be read ({error}); stop `snoozer up` and start it again") from None


def names_database() -> bool:
    """Whether the caller named a database in the environment."""
    return bool(os.environ.get("DATABASE_URL"))


def home() -> Path:
    """SNOOZER_HOME, which is known before the other settings: one of their sources lies in it."""
    return Path(os.environ.get("SNOOZER_HOME") or DEFAULT_HOME)


def has_display() -> bool:
    """Whether a browser can open a window here."""
    return sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _up_file() -> Path:
    return home() / UP_FILE


def _read_up_file() -> dict[str, Any]:
    """The settings that `snoozer up` wrote; empty if it does not run. Raises SettingsError for a file of another
    account, which could otherwise choose our database."""
    try:
        file = _up_file().open(encoding="utf-8")
    except FileNotFoundError:
        return {}
    with file:
        _check_own(_up_file(), os.fstat(file.fileno()), owners={os.geteuid()})
        _check_own(home(), home().stat(), owners={os.geteuid(), 0})
        found = json.load(file)
    if not isinstance(found, dict):
        raise ValueError("it holds no JSON object")
    return found


def _check_own(path: Path, found: os.stat_result, *, owners: set[int]) -> None:
    if found.st_uid not in owners:
        raise SettingsError(_FOREIGN.format(path))
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SettingsError(f"Other accounts of this machine may write to {path}; run: chmod go-w {path}")


def _sentence(error: ValidationError) -> str:
    first = error.errors()[0]
    where = str(first["loc"][0]) if first["loc"] else ""
    what = first["msg"].removeprefix("Value error, ")
    return what if where.lower() in what.lower() else f"{where}: {what[:1].lower()}{what[1:]}"


def _valid_url(address: str, *, setting: str) -> str:
    """The address without a trailing slash. Raises ValueError with one sentence for people."""
    if not address.lower().startswith(("http://", "https://")):
        raise ValueError(f"{setting} must start with http:// or https://, as in https://snooze.example.org")
    if not address.isprintable() or " " in address:
        raise ValueError(f"{setting} holds a blank or another character that no address on the web can hold")
    try:
        host = urlsplit(address).hostname
    except ValueError:
        host = None
    if not host:
        raise ValueError(f"{setting} names no host, as in https://snooze.example.org")
    return address.rstrip("/")


def _need_database(settings: Settings) -> None:
    if not settings.database_url.get_secret_value():
        raise ValueError(
            f"No database: set DATABASE_URL, or start `snoozer up` with the same SNOOZER_HOME ({settings.home})"
        )


def _need_smtp(settings: Settings) -> None:
    if not settings.smtp_url.get_secret_value():
        raise ValueError("SMTP_URL is not set; it looks like smtp+starttls://user:password@mail.example.org:587")
    _refuse_insecure(settings, settings.insecure_mail, "use smtps:// or smtp+starttls://")


def _refuse_insecure(settings: Settings, problem: str | None, remedy: str) -> None:
    if problem and settings.insecure_transport == "refuse":
        raise ValueError(f"{problem}; {remedy}, or set SNOOZER_INSECURE_TRANSPORT=allow where that is meant")


def _need_base_url(settings: Settings) -> None:
    """Mail that leaves this machine needs links that open elsewhere; with a local mail server BASE_URL is optional."""
    if settings.local_links_warning and not is_loopback(SmtpServer.from_url(settings.smtp_url.get_secret_value()).host):
        raise ValueError(
            "BASE_URL is not set, and links in mails must lead to the pages; it looks like https://snooze.example.org"
        )
    _refuse_insecure(settings, settings.insecure_pages, "serve them by https://")


_NEEDED: Mapping[Need, Callable[[Settings], None]] = {
    "database_url": _need_database,
    "secret_key": lambda settings: secret_keys.validate(settings.keys),
    "smtp_url": _need_smtp,
    "mail_from": lambda settings: settings.check_sender(),
    "base_url": _need_base_url,
}
