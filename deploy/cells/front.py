"""The door of several Snoozers, which are called cells: it knows the cell of each address, and nothing else.

People type their address on its page and are led to the sign-in page of their cell; Postfix asks where mail goes, as a
socketmap. `store` enters the addresses of a cell into the directory. If an address is not in it, a keyed rendezvous
hash chooses a cell that takes new people, so doors agree without talking to each other.

The form stores its choice, so that a cell that is added later moves nobody. A question of Postfix stores nothing. The
directory holds keyed hashes and no addresses. Every address has a cell, whether or not there is an account.
"""

import hashlib
import hmac
import logging
import os
import re
import socketserver
import sqlite3
import sys
import tomllib
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import Annotated
from urllib.parse import urlencode

import click
from flask import Flask, Response, redirect, render_template_string, request
from flask.typing import ResponseReturnValue
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from snoozer.mail.headers import account_address
from snoozer.resources import resource_folder
from snoozer.runtime import secret_keys
from snoozer.translations import LANGUAGES, speaking, use_in_templates
from snoozer.translations import gettext as _

MAX_BODY_BYTES = 4096
MAX_QUESTION_BYTES = 1000
# Postfix closes a connection after 10 seconds without a question.
IDLE_SECONDS = 60
LOCK_SECONDS = 2.0

_CREATE = "CREATE TABLE IF NOT EXISTS placed (address BLOB PRIMARY KEY, cell TEXT NOT NULL) WITHOUT ROWID"
_FIND = "SELECT cell FROM placed WHERE address = ?"
# It writes a known address, too: the time that it takes does not tell who is known.
_PLACE = "INSERT INTO placed VALUES (?, ?) ON CONFLICT (address) DO UPDATE SET cell = placed.cell RETURNING cell"
_STORE = "INSERT INTO placed VALUES (?, ?) ON CONFLICT (address) DO UPDATE SET cell = excluded.cell"

# It looks like the pages to which it leads: their stylesheet, and their classes.
_PAGE = """{% from 'macros/icons.html' import mark %}<!doctype html>
<html lang="{{ language }}" data-theme="auto"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>{{ _('Sign in') }} · Snoozer</title>
<link rel="icon" href="/static/snoozer.svg" type="image/svg+xml"><link rel="stylesheet" href="/static/snoozer.css">
<body class="narrow"><main><div class="centre">{{ mark() }}<h1>{{ _('Put it away. Get it back.') }}</h1>
<form class="card" method="post"><div class="field"><label for="email">{{ _('Your mail address') }}</label>
<input id="email" name="email" inputmode="email" autocapitalize="none" spellcheck="false" autocomplete="email" required
 autofocus maxlength="254" value="{{ email }}"{% if error %} aria-invalid="true" aria-describedby="error"{% endif %}>
{% if error %}<p class="error" id="error"><span>{{ error }}</span></p>{% endif %}</div>
<button class="primary">{{ _('Continue') }}</button></form></div></main></html>
"""

log = logging.getLogger("snoozer.front")


class Misconfigured(click.ClickException):
    """The door cannot start; the text is one sentence for people."""


class Cell(BaseModel):
    """A Snoozer: its BASE_URL, and where its `snoozer inbound` listens, as Postfix writes it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: Annotated[str, Field(pattern=r"^https?://[^\s?#@;,]+$")]
    lmtp: Annotated[str, Field(pattern=r"^(inet:\S+:\d+|unix:\S+)$")]
    takes_new: bool = True


class Cells(BaseModel):
    """cells.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    domains: frozenset[Annotated[str, Field(pattern=r"^[a-z0-9.-]+$")]]
    separator: Annotated[str, Field(pattern=r"^[+=-]?$")] = ""
    cells: dict[Annotated[str, Field(pattern=r"^[a-z0-9-]+$")], Cell]

    @model_validator(mode="after")
    def _takes_somebody(self) -> "Cells":
        if not any(cell.takes_new for cell in self.cells.values()):
            raise ValueError("no cell takes new people")
        return self


@dataclass(frozen=True, kw_only=True)
class Directory:
    """The cell of each address, which is in the spelling of accounts."""

    file: Path
    key: bytes
    cells: Cells

    def find(self, *addresses: str) -> str:
        """The cell of the first address that is stored, or else the one chosen for the last address. Raises
        sqlite3.Error."""
        with closing(self._open()) as connection:
            for address in addresses:
                row = connection.execute(_FIND, (self._hash("address", address),)).fetchone()
                if row is not None and row[0] in self.cells.cells:
                    return str(row[0])
        return self._choose(addresses[-1])

    def place(self, address: str) -> str:
        """The cell of the address, stored unless the directory takes no writes. Raises sqlite3.Error."""
        try:
            with closing(self._open()) as connection, connection:
                place = (self._hash("address", address), self._choose(address))
                stored = str(connection.execute(_PLACE, place).fetchone()[0])
        except sqlite3.Error as error:
            log.warning("an address was not stored: %s", type(error).__name__)
            return self.find(address)
        return stored if stored in self.cells.cells else self._choose(address)

    def store(self, addresses: Iterable[str], *, cell: str) -> None:
        """These addresses belong to this cell from now on. Raises sqlite3.Error, and has then stored none."""
        with closing(self._open()) as connection, connection:
            connection.executemany(_STORE, ((self._hash("address", address), cell) for address in addresses))

    def create(self) -> None:
        with closing(self._open()) as connection, connection:
            connection.execute(_CREATE)

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self.file, timeout=LOCK_SECONDS)

    def _choose(self, address: str) -> str:
        taking = [name for name, cell in self.cells.cells.items() if cell.takes_new]
        return max(taking, key=lambda name: self._hash(f"cell {name}", address))

    def _hash(self, purpose: str, address: str) -> bytes:
        return hmac.digest(self.key, f"{purpose}\0{address}".encode(), hashlib.sha256)


def directory() -> Directory:
    """The directory that the environment names. Raises Misconfigured."""
    key = os.environ.get("FRONT_SECRET_KEY", "")
    file = Path(os.environ.get("FRONT_CELLS", "cells.toml"))
    found = Path(os.environ.get("FRONT_DIRECTORY", "directory.sqlite"))
    try:
        secret_keys.validate([key] if key else [])
        made = Directory(file=found, key=key.encode(), cells=Cells(**tomllib.loads(file.read_text("utf-8"))))
        made.create()
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Misconfigured(f"{file}: {where}: {first['msg']}") from None
    except sqlite3.Error as error:
        raise Misconfigured(f"The directory {found} cannot be used: {error}") from None
    except (OSError, TypeError, ValueError) as error:
        raise Misconfigured(f"{error}".replace("SECRET_KEY", "FRONT_SECRET_KEY")) from None
    return made


def from_environment() -> Flask:
    """The door's WSGI application."""
    try:
        return create_app(directory())
    except Misconfigured as error:
        sys.exit(f"front: {error.message}")


def create_app(people: Directory) -> Flask:
    app = Flask("front", static_folder=resource_folder("static"), template_folder=resource_folder("templates"))
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    use_in_templates(app.jinja_env)
    # Browsers apply form-action to the redirect after the form, too.
    targets = " ".join(sorted(cell.base_url for cell in people.cells.cells.values()))

    @app.get("/")
    def page(email: str = "", error: str = "") -> str:
        with speaking(_language()):
            return render_template_string(_PAGE, language=_language(), email=email, error=error and _(error))

    @app.post("/")
    def lead() -> ResponseReturnValue:
        given = request.form.get("email", "")
        address = account_address(given)
        if address is None:
            return page(given, "That is not a mail address. It looks like ann@example.org."), 422
        cell = people.cells.cells[people.place(address)]
        return redirect(f"{cell.base_url.rstrip('/')}/sign-in?{urlencode({'email': address})}", code=303)

    @app.get("/healthz")
    def health() -> str:
        people.find("health@snoozer.invalid")
        return "ok\n"

    @app.errorhandler(sqlite3.Error)
    def unavailable(error: sqlite3.Error) -> ResponseReturnValue:
        log.error("the directory does not answer: %s", type(error).__name__)
        return "This page does not work at the moment. Try again in a minute.\n", 503, {"Content-Type": "text/plain"}

    @app.after_request
    def secure(response: Response) -> Response:
        response.headers["Content-Security-Policy"] = (
            f"default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self' {targets}; "
            "frame-ancestors 'none'; base-uri 'none'"
        )
        response.headers["Cache-Control"] = "no-store"
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["X-Robots-Tag"] = "noindex, nofollow"
        response.vary.add("Accept-Language")
        return response

    return app


def _language() -> str:
    return request.accept_languages.best_match(LANGUAGES) or LANGUAGES[0]


def answer(people: Directory, question: bytes) -> str:
    """The reply to Postfix's `NAME ADDRESS`: `OK lmtp:inet:…`, NOTFOUND for other domains, TEMP while the directory
    does not answer."""
    address = account_address(question.partition(b" ")[2].decode("utf-8", "replace")) or ""
    local, _at, domain = address.rpartition("@")
    if domain not in people.cells.domains:
        return "NOTFOUND "
    # A person may have added an address with the separator as it stands.
    user = local.partition(people.cells.separator)[0] if people.cells.separator else local
    try:
        cell = people.find(address, f"{user or local}@{domain}")
    except sqlite3.Error as error:
        log.error("the directory does not answer: %s", type(error).__name__)
        return "TEMP the directory does not answer"
    return f"OK lmtp:{people.cells.cells[cell].lmtp}"


class Socketmap(socketserver.ThreadingTCPServer):
    """Answers Postfix: a netstring for a question, and one for its reply (socketmap_table(5))."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, listen: tuple[str, int], people: Directory) -> None:
        self.people = people
        super().__init__(listen, _Questions)


class _Questions(socketserver.StreamRequestHandler):
    timeout = IDLE_SECONDS
    server: Socketmap

    def handle(self) -> None:
        try:
            while (question := _netstring(self.rfile)) is not None:
                reply = answer(self.server.people, question).encode()
                self.wfile.write(b"%d:%s," % (len(reply), reply))
        except OSError:
            return


def _netstring(stream: BufferedIOBase) -> bytes | None:
    """The next netstring; None at the end, or if it is none or too long."""
    length = b""
    while len(length) < 5 and (byte := stream.read(1)) not in {b":", b""}:
        length += byte
    if not re.fullmatch(rb"[0-9]{1,4}", length) or int(length) > MAX_QUESTION_BYTES:
        return None
    text = stream.read(int(length) + 1)
    return text[:-1] if len(text) == int(length) + 1 and text.endswith(b",") else None


@click.group(help=__doc__.partition("\n\n")[0] if __doc__ else "")
def main() -> None:
    logging.basicConfig(format="%(levelname)s %(message)s")


@main.command(help="Answer Postfix: transport_maps = socketmap:inet:HOST:PORT:cells")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", type=click.IntRange(0, 65535), default=8026, show_default=True)
def socketmap(host: str, port: int) -> None:
    try:
        server = Socketmap((host, port), directory())
    except OSError as error:
        raise Misconfigured(f"{host}:{port}: {error.strerror}") from None
    click.echo(f"Postfix may ask at {host}:{server.server_address[1]}.")
    server.serve_forever()


@main.command(help="Print the cell of EMAIL; it stores nothing.")
@click.argument("email")
def cell(email: str) -> None:
    click.echo(directory().find(*_read([email])))


@main.command(help="Store that the addresses on standard input, one a line, belong to CELL from now on.")
@click.argument("name", metavar="CELL")
@click.argument("file", type=click.File("r", encoding="utf-8"), default="-")
def store(name: str, file: Iterable[str]) -> None:
    people, addresses = directory(), _read(file)
    if name not in people.cells.cells:
        raise Misconfigured(f"There is no cell {name}; there are: {', '.join(people.cells.cells)}")
    people.store(addresses, cell=name)
    click.echo(f"{len(addresses):,} addresses belong to {name}.")


def _read(lines: Iterable[str]) -> Sequence[str]:
    """The addresses of these lines. Raises Misconfigured, without the text of a line."""
    found = [account_address(line) for line in lines]
    if None in found:
        raise Misconfigured(f"Line {found.index(None) + 1} holds no mail address; nothing was stored.")
    return [address for address in found if address is not None]


if __name__ == "__main__":
    main()
