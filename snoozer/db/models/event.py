from datetime import datetime
from typing import Any

from sqlalchemy import Index, text
from sqlalchemy.orm import Mapped, mapped_column

from snoozer.db.models.base import Base


class Event(Base):
    """The paper trail: failures, recoveries and whatever a person did. Append-only; no addresses, no subjects."""

    __tablename__ = "snooze_events"

    id: Mapped[int] = mapped_column(primary_key=True)
    snooze_id: Mapped[int]
    at: Mapped[datetime] = mapped_column(server_default=text("clock_timestamp()"))
    kind: Mapped[str]
    actor: Mapped[str]
    route: Mapped[str]
    detail: Mapped[dict[str, Any]] = mapped_column(server_default=text("'{}'"))

    __table_args__ = (Index("ix_snooze_events_snooze", "snooze_id", "id"),)


class HousekeepingRun(Base):
    """When each chore last finished, whoever ran it."""

    __tablename__ = "housekeeping_runs"

    chore: Mapped[str] = mapped_column(primary_key=True)
    finished_at: Mapped[datetime]


class ServerStart(Base):
    """When housekeeping first met the database server since its process started. One row: the start it last met."""

    __tablename__ = "server_starts"

    started_at: Mapped[datetime] = mapped_column(primary_key=True)
    met_at: Mapped[datetime]
