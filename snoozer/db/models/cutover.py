"""Jobs of another scheduler: imported jobs, and jobs whose sends a shadow compares."""

from datetime import datetime

from sqlalchemy import ARRAY, DateTime, Index, SmallInteger, text
from sqlalchemy.orm import Mapped, mapped_column

from snoozer.db.models.base import Base


class ImportedJob(Base):
    """A job, and the snooze that it became. `seen_at` is when an import last found it in its source."""

    __tablename__ = "imported_jobs"
    source: Mapped[str] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(primary_key=True)
    snooze_id: Mapped[int]
    user_email: Mapped[str]
    due_at: Mapped[datetime]
    seen_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    withdrawn_at: Mapped[datetime | None]

    __table_args__ = (Index("ix_imported_jobs_user", "user_email"),)


class ShadowJob(Base):
    """One time at which a job is due at the old scheduler: when a worker would have claimed it, and when it was
    sent."""

    __tablename__ = "shadow_jobs"
    source: Mapped[str] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(primary_key=True)
    due_at: Mapped[datetime] = mapped_column(primary_key=True)
    user_email: Mapped[str]
    priority: Mapped[int] = mapped_column(SmallInteger, server_default=text("0"))
    serialization_key: Mapped[str | None]
    noticed_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    seen_at: Mapped[datetime] = mapped_column(server_default=text("now()"))
    gone_at: Mapped[datetime | None]
    would_send_at: Mapped[datetime | None]
    sent_at: Mapped[list[datetime]] = mapped_column(ARRAY(DateTime(timezone=True)), server_default=text("'{}'"))

    __table_args__ = (
        Index(
            "ix_shadow_jobs_due",
            "source",
            "due_at",
            postgresql_where=text("would_send_at IS NULL AND gone_at IS NULL"),
        ),
        Index("ix_shadow_jobs_user", "user_email"),
    )
