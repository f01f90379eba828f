"""Notifies viewers of the overview about new readings: by the streams of open lists, with their own query."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial

from flask import Flask, current_app
from sqlalchemy import Connection, Engine

from snoozer.db.list_changes import Answer, Changes, OpenList
from snoozer.db.queries import accounts as queries
from snoozer.settings import Settings
from snoozer.web.live.streams import Streams
from snoozer.web.operators.reading import SHARED_SECONDS, Figures

_FIGURES, _STREAMS = "snoozer-overview", "snoozer-overview-streams"


def init_app(app: Flask, *, engine: Engine, settings: Settings) -> None:
    read = Figures(engine, dead_after=timedelta(seconds=settings.worker_dead))
    app.extensions[_FIGURES] = read
    app.extensions[_STREAMS] = Streams(engine, find=partial(find, figures=read), poll=SHARED_SECONDS)


def figures() -> Figures:
    found: Figures = current_app.extensions[_FIGURES]
    return found


def streams() -> Streams:
    found: Streams = current_app.extensions[_STREAMS]
    return found


def find(connection: Connection, pages: Sequence[OpenList], *, figures: Figures) -> Answer:
    """Reads the figures once for all permitted viewers. For the stream, a viewer who lost permission is signed out."""
    accounts = queries.of_sessions(connection, token_hashes=[page.token_hash for page in pages])
    may = [page.token_hash in accounts and accounts[page.token_hash].may("view") for page in pages]
    seen = snapshot_of(figures.read(max_age=SHARED_SECONDS / 2).number) if any(may) else ""
    changes = [
        Changes(snapshot=seen if is_allowed else page.snapshot, is_signed_in=is_allowed, transaction_ids=None)
        for page, is_allowed in zip(pages, may, strict=True)
    ]
    return Answer(changes=changes, has_checkpoint=True)


def snapshot_of(number: int) -> str:
    """The snapshot of a reading for a page's script: a later reading has a larger number."""
    return f"1:{number}:"
