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
    """The circuit breaker of one mail server, shared by all workers. `opened_at` is its last failure while it is open,
    `away_since` the first one. One that an operator tripped is open until an operator resets it. `last_success_at`
    is, to some seconds, when it last worked: it accepted a mail, or refused one recipient; `last_failure_at` is when it
    could last not be used."""

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
    """When each chore last finished, on any clock."""

    __tablename__ = "housekeeping_runs"
    chore: Mapped[str] = mapped_column(primary_key=True)
    finished_at: Mapped[datetime]


class QueueMinute(Base):
    """What happened in so many `seconds`: minutes of the last day, hours of the month before. The percentiles are those
    of the lateness, in seconds; `due` and `oldest_due` were measured at its end."""

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


class AcceptedTimeline(Base):
    """A database that workers may go on with, as it was accepted; the latest row counts."""

    __tablename__ = "accepted_timelines"
    id: Mapped[int] = mapped_column(primary_key=True)
    system_identifier: Mapped[int | None]
    database_oid: Mapped[int | None]
    timeline: Mapped[str | None]
    accepted_at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))
    accepted_by: Mapped[str]
