"""What every request needs from its app: the engine, the settings, one transaction per action."""

from collections.abc import Iterator
from contextlib import contextmanager

from flask import Flask, current_app
from sqlalchemy import Connection, Engine

from snoozer.settings import Settings

_KEY = "snoozer"


def furnish(app: Flask, *, engine: Engine, settings: Settings) -> None:
    """Hand the app what its routes will ask for."""
    app.extensions[_KEY] = (engine, settings)


def engine() -> Engine:
    found: Engine = current_app.extensions[_KEY][0]
    return found


def settings() -> Settings:
    found: Settings = current_app.extensions[_KEY][1]
    return found


@contextmanager
def transaction() -> Iterator[Connection]:
    """One action: everything in it is committed at its end, or nothing is."""
    with engine().begin() as connection:
        yield connection
