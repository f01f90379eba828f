from datetime import datetime
from uuid import UUID

from sqlalchemy import Integer, text
from sqlalchemy.orm import Mapped, mapped_column

from snoozer.db.models.base import Base


class Worker(Base):
    """One incarnation of a worker process; its id is never used again."""

    __tablename__ = "workers"
    id: Mapped[str] = mapped_column(primary_key=True)
    state: Mapped[str] = mapped_column(server_default="alive")
    started_at: Mapped[datetime]
    heartbeat_at: Mapped[datetime]
    stopped_at: Mapped[datetime | None]
    version: Mapped[str | None]
    host: Mapped[str | None]
    batch_size: Mapped[int | None] = mapped_column(Integer)
    concurrency: Mapped[int | None] = mapped_column(Integer)


class CircuitBreaker(Base):
    """The circuit breaker of one mail server, shared by all workers. While it is open, `opened_at` is the time of the
    last failure and `away_since` that of the first. A breaker tripped by an operator stays open until an operator
    resets it. `last_success_at` is, within some seconds, when the server last worked: it accepted a mail, or refused
    one recipient; `last_failure_at` is when it last could not be used."""

    __tablename__ = "circuit_breakers"
    server: Mapped[str] = mapped_column(primary_key=True)
    state: Mapped[str] = mapped_column(server_default="closed")
    failures: Mapped[int] = mapped_column(Integer, server_default="0")
    last_failure: Mapped[str | None]
    opened_at: Mapped[datetime | None]
    probe_token: Mapped[UUID | None]
    probe_at: Mapped[datetime | None]
    updated_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    refuses_everybody: Mapped[bool] = mapped_column(server_default=text("false"))
    away_since: Mapped[datetime | None]
    closed_at: Mapped[datetime | None]
    last_success_at: Mapped[datetime | None]
    last_failure_at: Mapped[datetime | None]
    tripped_at: Mapped[datetime | None]
    tripped_by: Mapped[str | None]
    trip_reason: Mapped[str | None]


class HousekeepingRun(Base):
    """When each chore last finished, run by any clock."""

    __tablename__ = "housekeeping_runs"
    chore: Mapped[str] = mapped_column(primary_key=True)
    finished_at: Mapped[datetime]


class QueueMinute(Base):
    """Statistics of a span of `seconds`: minutes for the last day, hours for the month before. The percentiles are of
    the lateness, in seconds; `due` and `oldest_due` were measured at the end of the span."""

    __tablename__ = "queue_minutes"
    seconds: Mapped[int] = mapped_column(Integer, primary_key=True)
    starts_at: Mapped[datetime] = mapped_column(primary_key=True)
    sent: Mapped[int] = mapped_column(Integer)
    retried: Mapped[int] = mapped_column(Integer)
    failed: Mapped[int] = mapped_column(Integer)
    p50: Mapped[float | None]
    p99: Mapped[float | None]
    due: Mapped[int | None] = mapped_column(Integer)
    oldest_due: Mapped[float | None]


class ServerStart(Base):
    """When housekeeping first saw the database server since the server's start. One row: the latest start."""

    __tablename__ = "server_starts"
    started_at: Mapped[datetime] = mapped_column(primary_key=True)
    met_at: Mapped[datetime]


class Definition(Base):
    """A function or view that `snoozer migrate` made: the hash of its file, and of the server's text for it."""

    __tablename__ = "definitions"
    name: Mapped[str] = mapped_column(primary_key=True)
    source: Mapped[str]
    present: Mapped[str]


class AcceptedTimeline(Base):
    """A database that workers may continue with, as it was accepted; the latest row counts."""

    __tablename__ = "accepted_timelines"
    id: Mapped[int] = mapped_column(primary_key=True)
    system_identifier: Mapped[int | None]
    database_oid: Mapped[int | None]
    timeline: Mapped[str | None]
    accepted_at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))
    accepted_by: Mapped[str]
