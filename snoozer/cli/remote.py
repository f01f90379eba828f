"""Shared parts of people's commands: their Snoozer by HTTP, exit codes, and their output."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import click

from snoozer import settings
from snoozer.cli.console import refuse
from snoozer.client import ApiError, Client, Failed, Snooze, Unreachable, WaitTooLong
from snoozer.mail.smtp.url import is_private

# The total time that a command waits for a server that is away or throttles.
LONGEST_WAIT = 30.0


@contextmanager
def connected() -> Iterator[Client]:
    """A client for SNOOZER_URL with SNOOZER_TOKEN. A temporary failure ends in one sentence and code 1, a refusal in
    code 2."""
    token = settings.load().client_token.get_secret_value()
    if not token or not (token.isascii() and token.isprintable()):
        refuse("SNOOZER_TOKEN is not set to a token; make one in the settings of your Snoozer.")
    try:
        with Client(address(), token, longest_wait=LONGEST_WAIT) as client:
            yield client
    except (Unreachable, WaitTooLong, Failed) as error:
        click.echo(f"snoozer: {_sentence(error)}", err=True)
        sys.exit(1)
    except ApiError as error:
        refuse(_sentence(error))


def address() -> str:
    """SNOOZER_URL, unless it is no address of a Snoozer, or everybody on the way could read a token."""
    config = settings.load()
    url = config.client_url or config.base_url
    parts = urlsplit(url)
    if parts.scheme == "http" and not is_private(parts.hostname or "") and config.insecure_transport == "refuse":
        refuse("SNOOZER_URL begins with http://, and everybody on the way can read the token; use https://.")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        refuse("SNOOZER_URL is not the address of a Snoozer, such as https://snooze.example.org.")
    return url


def in_words(snooze: Snooze) -> str:
    """The snooze in one line."""
    late = "  A reminder was on its way already, so it may still arrive." if snooze.may_arrive else ""
    return f"{snooze.id}  {printable(snooze.subject or 'No subject')}  {printable(snooze.reading)}{late}"


def as_json(snooze: Snooze) -> str:
    """The snooze as one line of JSON."""
    return snooze.model_dump_json(exclude_unset=True)


def printable(text: str) -> str:
    """Text of strangers, safe for a terminal."""
    return "".join(character if character.isprintable() else "·" for character in text)


def _sentence(error: ApiError) -> str:
    return f"{' '.join(printable(str(error)).split()).rstrip('.')}."
