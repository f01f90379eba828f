"""The form that connects a mailbox: it keeps the typed values, but never the password."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Self, cast

from snoozer.mailboxes import autoconfig
from snoozer.mailboxes.imap.connection import Login, Server
from snoozer.people import accounts
from snoozer.runtime.outbound import MAX_HOST_LENGTH
from snoozer.translations import gettext as _
from snoozer.web.forms import one_line

if TYPE_CHECKING:
    from snoozer.mailboxes.discovery import Discovery

MAX_USERNAME_LENGTH = 320
MAX_PASSWORD_LENGTH = 1_000

SECURITIES = {"tls": "TLS", "starttls": "STARTTLS", "plain": "None"}


@dataclass(frozen=True, kw_only=True)
class ServerForm:
    """Fields as they were typed, and a sentence for each that is wrong. `origin` is how the server was found."""

    address: str = ""
    host: str = ""
    port: str = "993"
    security: str = "tls"
    username: str = ""
    origin: str | None = None
    errors: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, posted: Mapping[str, str]) -> Self:
        """The fields of a form that was posted, each checked."""
        form = cls(
            address=one_line(posted.get("address"), max_length=MAX_USERNAME_LENGTH) or "",
            host=(one_line(posted.get("host"), max_length=MAX_HOST_LENGTH) or "").lower().rstrip("."),
            port=posted.get("port", "").strip()[:5],
            security=posted.get("security", ""),
            username=one_line(posted.get("username"), max_length=MAX_USERNAME_LENGTH) or "",
        )
        return replace(form, errors=dict(_errors(form, posted.get("password", ""))))

    @classmethod
    def for_address(cls, address: str, found: "Discovery") -> Self:
        """The form with the server that was found, or with the usual one to try by hand."""
        server = found.server
        if server is None:
            return cls(address=address, host=f"imap.{address.rpartition('@')[2]}", username=address)
        return cls(
            address=address,
            host=server.host,
            port=str(server.port),
            security=server.security,
            username=autoconfig.username(server.username, address),
            origin=server.origin,
        )

    @property
    def server(self) -> Server:
        """The server of a form without errors."""
        return Server(self.host, int(self.port), cast(Literal["tls", "starttls", "plain"], self.security))

    def login(self, password: str) -> Login:
        """The login of a form without errors."""
        return Login(self.username, password)


def password_error(password: str) -> str | None:
    """A sentence if the text cannot be a password at a mail server."""
    if not password:
        return _("Type the password.")
    if len(password) > MAX_PASSWORD_LENGTH or not password.isprintable():
        return _("That is not a password: it is too long, or holds a character that cannot be typed.")
    return None


def _errors(form: ServerForm, password: str) -> list[tuple[str, str]]:
    errors = []
    try:
        accounts.normalize(form.address)
    except accounts.InvalidAddress as error:
        errors.append(("address", str(error)))
    if not form.host or " " in form.host:
        errors.append(("host", _("Type the name of the server, as in imap.example.org.")))
    if not (form.port.isascii() and form.port.isdigit() and 0 < int(form.port) < 65_536):
        errors.append(("port", _("A port is a number: 993 with TLS, 143 with STARTTLS.")))
    if form.security not in SECURITIES:
        errors.append(("security", _("Choose one of %(names)s.", names=", ".join(SECURITIES.values()))))
    if not form.username:
        errors.append(("username", _("Type the user name; often it is the whole address.")))
    if wrong := password_error(password):
        errors.append(("password", wrong))
    return errors
